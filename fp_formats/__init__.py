"""What each float type is, and the one exact rounding core."""

from halfulp.fp_formats import display  # noqa: F401  notebooks show formats by it
