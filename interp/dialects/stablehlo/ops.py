"""All ops of StableHLO."""

from halfulp.interp.dialects.stablehlo import calls, control, dynamic, elementwise, indexing, moving, reducing  # noqa: F401
from halfulp.interp.dialects.stablehlo.types import stablehlo

__all__ = ["stablehlo"]
