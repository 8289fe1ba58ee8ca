"""Combine elements by an op of arith, on behalf of an op of vector."""

from __future__ import annotations

from collections.abc import Mapping

from halfulp.fp_formats.codes import Mask
from halfulp.interp.dialects.combining import elementwise_step
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import Attribute
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.elementwise import Places
from halfulp.interp.run.folding import Fold, part
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

_PLACES = Places(None, 0)
# The op of arith on integers, and that on floats, of each combining kind.
_OPS: Mapping[str, tuple[str | None, str | None]] = {
    "add": ("addi", "addf"),
    "mul": ("muli", "mulf"),
    **{kind: (kind, None) for kind in ("minui", "minsi", "maxui", "maxsi")},
    **{kind: (None, kind) for kind in ("minnumf", "maxnumf", "minimumf", "maximumf")},
    **{kind: (f"{kind}i", None) for kind in ("and", "or", "xor")},
}


def is_supported(kind: str, element: ty.Type) -> bool:
    """Tell whether elements of a type can be combined by a kind."""
    return arith_name(kind, element) is not None


def arith_name(kind: str, element: ty.Type) -> str | None:
    """Return the op of arith that combines elements of a type by a kind; None if there is none."""
    integers, floats = _OPS[kind]
    if isinstance(element, ty.FloatType):
        return floats and f"arith.{floats}"
    return integers and f"arith.{integers}" if isinstance(element, ty.IntegerType | ty.IndexType) else None


class Combination:
    """The combination of two elements by a kind, on behalf of an op of vector.

    ``type_``: the type of the accumulator. ``order``: the order of additions of floats, as in `Fold`. ``properties``:
    those of the op of arith.
    """

    __slots__ = ("_fold", "_step")

    def __init__(
        self,
        op: Operation,
        kind: str,
        type_: ty.Type,
        settings: Settings,
        order: str = "sequential",
        properties: Mapping[str, Attribute] | None = None,
    ) -> None:
        name = arith_name(kind, ty.element_type(type_))
        if name is None:
            raise Unsupported(
                f"{op.name}: elements of type '{ty.element_type(type_)}' have no '{kind}'",
                location=op.location,
                op=op.name,
            )
        self._step = elementwise_step(op, name, (type_, type_), type_, settings, properties)
        self._fold = Fold(self._step, False, order)

    @property
    def needs_all(self) -> bool:
        """True if elements can only be combined all together."""
        return self._fold.needs_all

    @property
    def draws(self) -> bool:
        """True if combinations round by random bits of the run."""
        return self._fold.draws

    def pair(self, run: Run, one: Value, other: Value) -> Value:
        """Combine two values whose shapes broadcast."""
        return self._step.run_at(run, (one, other), _PLACES)[0]

    def fold(self, run: Run, first: Value | None, rows: Value) -> Value:
        """Combine values along the first axis of ``rows``, of which there is at least one, beginning with ``first``."""
        if first is None:
            first, rows = part(rows, 0), part(rows, slice(1, None))
        return self._fold(run, first, rows, lambda number: _PLACES)

    def fold_under_mask(self, run: Run, first: Value | None, rows: Value, taken: Mask) -> Value | None:
        """See `Fold.under_mask`."""
        return self._fold.under_mask(run, first, rows, taken, lambda number: _PLACES)
