"""The float formats, and the one code that rounds."""

from halfulp.fp_formats import spelling  # noqa: F401  notebooks show formats by it
