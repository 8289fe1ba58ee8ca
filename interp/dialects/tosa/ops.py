"""All ops of tosa."""

from halfulp.interp.dialects.tosa import (  # noqa: F401
    control,
    conversions,
    elementwise,
    moving,
    reducing,
    shapes,
    windows,
)
from halfulp.interp.dialects.tosa.types import tosa

__all__ = ["tosa"]
