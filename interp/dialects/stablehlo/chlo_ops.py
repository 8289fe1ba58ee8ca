"""All ops of chlo."""

from halfulp.interp.dialects.stablehlo import ragged, scan  # noqa: F401
from halfulp.interp.dialects.stablehlo.chlo import chlo

__all__ = ["chlo"]
