"""All ops of StableHLO."""

from halfulp.interp.dialects.stablehlo import (  # noqa: F401
    algebra,
    calls,
    collectives,
    control,
    dynamic,
    elementwise,
    indexing,
    moving,
    products,
    reducing,
    windows,
)
from halfulp.interp.dialects.stablehlo.types import stablehlo

__all__ = ["stablehlo"]
