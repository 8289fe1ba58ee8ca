"""What is measured: an op or a function on element types, with its correctly rounded results and its exact ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from halfulp.conformance.comparing.exact_results import CONVERSIONS
from halfulp.conformance.comparing.op_case import OpCase, op_case, reference
from halfulp.fp_formats.codes import Codes, Mask
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths.fast_conversions import convert, from_integer
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.declare.build import property_of
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.math.families import row_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.ir.types import width_of
from halfulp.semantics.profile import SPEC, Profile

_FROM_UNSIGNED = "arith.uitofp"
_KEPT_BITS = 16


def wide_format(fmt: FloatFormat) -> FloatFormat | None:
    """Return a format with the range of ``fmt`` and at least 29 bits of precision more, in which results count as
    exact; None where there is none.
    """
    return next(
        (
            wide
            for wide in (FORMATS["f64"], FORMATS["f128"])
            if wide.precision >= fmt.precision + 29 and wide.emin <= fmt.emin and wide.emax >= fmt.emax
        ),
        None,
    )


@dataclass(frozen=True)
class Question:
    """An op or a function on element types: ``case``, under a profile.

    ``name``: as it was asked for. ``function``: the name of an elementary function, without its dialect; None for
    another op. ``result``: the format of the result. `question` makes it.
    """

    name: str
    case: OpCase
    function: str | None
    result: FloatFormat
    rounding: Rounding
    profile: Profile

    @property
    def operand_types(self) -> tuple[ty.Type, ...]:
        """Return the element types of the operands."""
        return self.case.operand_types

    @property
    def widths(self) -> tuple[int, ...]:
        """Return the widths of the operands' codes in bits."""
        return self.case.operand_widths

    @cached_property
    def wide(self) -> FloatFormat | None:
        """The format of `exact`; None where no format is wide enough."""
        return wide_format(self.result)

    @property
    def argument(self) -> FloatFormat | None:
        """Return the format of the only operand; None where there are several, or it is not a float."""
        first = self.operand_types[0]
        return first.format if len(self.operand_types) == 1 and isinstance(first, ty.FloatType) else None

    def expected(self, operands: Sequence[Codes]) -> tuple[Codes, Mask | None]:
        """Return the correctly rounded results, and the mask of those that are poison."""
        results = reference(self.case, operands, self.profile, opened=False)
        return results.bits[0], results.poison

    def exact(self, operands: Sequence[Codes]) -> Codes | None:
        """Return the real results, cut to the `wide` format: those of the same op on the same operands there. None
        where no format is wide enough.

        They are rounded toward zero, so that no result reaches a power of two, where the ulp is larger, from below.
        Those of all codes of a small format are kept: people measure many implementations of one function.
        """
        fmt = self.argument
        if fmt is not None and fmt.bits <= _KEPT_BITS and len(operands[0]) == 1 << fmt.bits:
            kept = _exact_results(self)
            return None if kept is None else np.asarray(kept[operands[0]])
        return self._exact(operands)

    def _exact(self, operands: Sequence[Codes]) -> Codes | None:
        wide = self.wide
        if wide is None:
            return None
        if self.case.op in CONVERSIONS:
            return self._widened(operands[0], self.operand_types[0], wide)
        return reference(self._in(wide), [self._taken(*each, wide) for each in self._columns(operands)]).bits[0]

    def _columns(self, operands: Sequence[Codes]) -> zip[tuple[Codes, ty.Type]]:
        return zip(operands, self.operand_types, strict=True)

    def _in(self, wide: FloatFormat) -> OpCase:
        types = [wide.name if isinstance(type_, ty.FloatType) else str(type_) for type_ in self.operand_types]
        properties = {name: value for name, value in self.case.properties if name not in ("rounding", "roundingmode")}
        if property_of(self.case.definition, "rounding") is not None:
            properties["rounding"] = Rounding.TOWARD_ZERO.spelling
        return op_case(self.case.op, types, **properties)

    def _taken(self, codes: Codes, type_: ty.Type, wide: FloatFormat) -> Codes:
        return self._widened(codes, type_, wide) if isinstance(type_, ty.FloatType) else codes

    def _widened(self, codes: Codes, type_: ty.Type, wide: FloatFormat) -> Codes:
        if isinstance(type_, ty.FloatType):
            return convert(type_.format, wide, codes, Rounding.TOWARD_ZERO).codes
        signed = self.case.op != _FROM_UNSIGNED
        return from_integer(wide, codes, width_of(type_), signed, Rounding.TOWARD_ZERO).codes

    def __str__(self) -> str:
        """Spell the question: ``exp bf16``, ``arith.truncf f32 -> bf16 rounding=upward``."""
        return f"{self.name}{str(self.case).removeprefix(self.case.op)}"


def question(
    op: str,
    type_: str,
    source: str | Sequence[str] | None = None,
    rounding: Rounding = Rounding.TO_NEAREST_EVEN,
    profile: Profile = SPEC,
    **properties: Any,
) -> Question:
    """Return the question of a function (``exp``, ``math.exp``, ``sigmoid``) or an op (``arith.addf``, ``addf``).

    ``type_``: the element type, for a cast that of the result. ``source``: the types of the operands, if they are
    others. ``properties``: those of the op.

    Raises Unsupported for an unknown name and for an op without one result of a float type, InputError for a rounding
    that the op does not have, and what the op raises for types and properties that it does not accept.
    """
    if rounding is Rounding.STOCHASTIC:
        raise InputError("there is no correct result to measure against if the rounding is stochastic")
    registry = default_registry()
    name = op if "." in op or registry.lookup(op) is not None else f"arith.{op}"
    definition = registry.require(op if registry.lookup(name) is None else name)
    if rounding is not Rounding.TO_NEAREST_EVEN:
        if property_of(definition, "rounding") is None:
            raise InputError(f"{op} has no rounding modes")
        properties["rounding"] = rounding.spelling
    spelled = [source] if isinstance(source, str) else None if source is None else list(source)
    types = type_ if spelled is None else spelled * len(definition.operands) if len(spelled) == 1 else spelled
    case = op_case(name, types, None if spelled is None else type_, **properties)
    (result, *more) = case.result_types
    if more or not isinstance(result, ty.FloatType):
        raise Unsupported(f"accuracy measures one result of a float type, but {case} has {', '.join(case.results)}")
    if not all(isinstance(each, ty.FloatType | ty.IntegerType) for each in case.operand_types):
        raise Unsupported(f"accuracy does not measure {case}: its operands are not all floats or integers")
    function = None if row_of(definition) is None else case.op.removeprefix("math.")
    return Question(op, case, function, result.format, rounding, profile)


@lru_cache(maxsize=16)
def _exact_results(asked: Question) -> Codes | None:
    """Return the exact results of all codes in order. They are shared: nobody writes to them."""
    assert asked.argument is not None
    codes = np.arange(1 << asked.argument.bits).astype(asked.argument.storage_dtype)
    return asked._exact((codes,))
