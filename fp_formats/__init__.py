"""The float formats, and the only code of halfulp that rounds numbers to them."""

from halfulp.fp_formats import spelling  # noqa: F401  notebooks show formats by it
