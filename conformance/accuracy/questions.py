"""What is measured: a function or an op on element types, with its correctly rounded results and its exact ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from halfulp.conformance.comparing.exact_results import CONVERSIONS
from halfulp.conformance.comparing.op_case import OpCase, op_case, reference
from halfulp.fp_formats.codes import Codes, Mask
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths import elementary
from halfulp.fp_formats.paths.fast_conversions import convert, from_integer
from halfulp.fp_formats.policy import SPEC, Rounding
from halfulp.fp_formats.reals.functions import FUNCTIONS
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO
from halfulp.fp_formats.suggestions import did_you_mean
from halfulp.interp.declare.build import property_of
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError, Unsupported
from halfulp.interp.ir.types import width_of
from halfulp.interp.values.coerce import as_type
from halfulp.semantics.profile import SPEC as SPEC_PROFILE
from halfulp.semantics.profile import Profile

_UNSIGNED = ("arith.uitofp",)
_OF_TWO: Mapping[str, int] = dict.fromkeys((name for name in FUNCTIONS_OF_TWO if name != "rootn"), 2)
ARITIES: Mapping[str, int] = {**dict.fromkeys(FUNCTIONS, 1), **_OF_TWO}
"""The elementary functions by name, and their count of arguments."""


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
    """A function or an op on element types.

    ``name``: as it was asked for. ``function``: the elementary function, or None. ``case``: the op; None for a function
    that MLIR does not have in these types. ``operand_types``: the types of the operands. ``result``: the format of the
    result. `question` makes it.
    """

    name: str
    function: str | None
    case: OpCase | None
    operand_types: tuple[ty.Type, ...]
    result: FloatFormat
    rounding: Rounding = Rounding.TO_NEAREST_EVEN
    profile: Profile = SPEC_PROFILE

    @property
    def widths(self) -> tuple[int, ...]:
        """Return the widths of the operands' codes in bits."""
        return tuple(width_of(type_) for type_ in self.operand_types)

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
        if self.function is not None:
            found = self._of_function(operands, self.rounding, self.profile.arithmetic, self.result)
            return found.codes, found.poison
        assert self.case is not None
        results = reference(self.case, operands, self.profile, opened=False)
        return results.bits[0], results.poison

    def exact(self, operands: Sequence[Codes]) -> Codes | None:
        """Return the real results, cut to the `wide` format; None where no format is wide enough.

        They are rounded toward zero, so that no result reaches a power of two, where the ulp is larger, from below.
        """
        wide = self.wide
        if wide is None:
            return None
        if self.function is not None:
            return self._of_function(operands, Rounding.TOWARD_ZERO, SPEC, wide).codes
        assert self.case is not None
        if self.case.op in CONVERSIONS:
            return self._widened(operands[0], self.operand_types[0], wide)
        widened = [self._widened(codes, type_, wide) for codes, type_ in zip(operands, self.operand_types, strict=True)]
        properties = {name: value for name, value in self.case.properties if name not in ("rounding", "roundingmode")}
        if property_of(self.case.definition, "roundingmode") is not None:
            properties["rounding"] = Rounding.TOWARD_ZERO.spelling
        wider = op_case(self.case.op, wide.name, **properties)
        return reference(wider, widened, opened=False).bits[0]

    def _widened(self, codes: Codes, type_: ty.Type, wide: FloatFormat) -> Codes:
        if isinstance(type_, ty.FloatType):
            return convert(type_.format, wide, codes, Rounding.TOWARD_ZERO).codes
        assert self.case is not None
        signed = self.case.op not in _UNSIGNED
        return from_integer(wide, codes, width_of(type_), signed, Rounding.TOWARD_ZERO).codes

    def _of_function(self, operands: Sequence[Codes], rounding: Rounding, policy: Any, dst: FloatFormat) -> ArrayResult:
        assert self.function is not None
        call: Callable[..., ArrayResult] = elementary.unary if len(operands) == 1 else elementary.binary
        source = self.operand_types[0]
        assert isinstance(source, ty.FloatType)
        return call(self.function, source.format, *operands, rounding, policy, dst)

    def __str__(self) -> str:
        """Spell the question: ``exp bf16``, ``arith.truncf f32 -> bf16``."""
        types = tuple(map(str, self.operand_types))
        operands = types[:1] if len(set(types)) == 1 else types
        result = () if operands == (self.result.name,) else ("->", self.result.name)
        mode = () if self.rounding is Rounding.TO_NEAREST_EVEN else (self.rounding.spelling,)
        return " ".join((self.name, ", ".join(operands), *result, *mode))


def question(
    op: str,
    type_: str,
    source: str | Sequence[str] | None = None,
    rounding: Rounding = Rounding.TO_NEAREST_EVEN,
    profile: Profile = SPEC_PROFILE,
    **properties: Any,
) -> Question:
    """Return the question of a function (``exp``, ``math.exp``) or an op (``arith.addf``, ``addf``) on a type.

    ``type_``: the element type, for a cast that of the result. ``source``: for a cast, or a function with a result of
    another type, the type of the operands. ``properties``: those of the op.

    Raises InputError for an unknown name, an op whose results are not floats and properties of a function, and what the
    op raises for types that it does not accept.
    """
    if rounding is Rounding.STOCHASTIC:
        raise InputError("there is no correct result to measure against if the rounding is stochastic")
    function = op.removeprefix("math.")
    if function in ARITIES:
        if properties:
            raise InputError(f"{op} has no property {next(iter(properties))!r} here")
        return _of_function(op, function, type_, source, rounding, profile)
    registry = default_registry()
    name = op if registry.find(op) is not None or "." in op else f"arith.{op}"
    if registry.find(name) is None:
        known = (*ARITIES, *(f"math.{each}" for each in ARITIES), "arith.addf", "arith.mulf", "arith.divf")
        raise InputError(f"unknown function or op {op!r}", hint=did_you_mean(op, known))
    if rounding is not Rounding.TO_NEAREST_EVEN:
        properties["rounding"] = rounding.spelling
    operands = [source] if isinstance(source, str) else source
    case = op_case(
        name, type_ if operands is None else list(operands), None if operands is None else type_, **properties
    )
    (result, *more) = case.result_types
    if more or not isinstance(result, ty.FloatType):
        raise Unsupported(f"accuracy measures one result of a float type, but {case} has {', '.join(case.results)}")
    numeric = ty.FloatType | ty.IntegerType
    if not all(isinstance(each, numeric) for each in case.operand_types):
        raise Unsupported(f"accuracy does not measure {case}: its operands are not all floats or integers")
    return Question(op, None, case, case.operand_types, result.format, rounding, profile)


def _of_function(
    name: str,
    function: str,
    type_: str,
    source: str | Sequence[str] | None,
    rounding: Rounding,
    profile: Profile,
) -> Question:
    spelled = [source] if isinstance(source, str) else list(source or [type_])
    if len(set(spelled)) != 1:
        raise InputError(f"{name} takes operands of one type, not {', '.join(spelled)}")
    result, operand = as_type(type_), as_type(spelled[0])
    for each in (result, operand):
        if not isinstance(each, ty.FloatType):
            raise InputError(f"{name} of '{each}': give a float type, such as bf16")
    assert isinstance(result, ty.FloatType)
    operands = (operand,) * ARITIES[function]
    return Question(name, function, _case(function, operands, result), operands, result.format, rounding, profile)


def _case(function: str, operands: tuple[ty.Type, ...], result: ty.FloatType) -> OpCase | None:
    """Return the op of MLIR for a function; None where MLIR does not have it in these types."""
    if set(operands) != {result} or default_registry().find(f"math.{function}") is None:
        return None
    try:
        return op_case(f"math.{function}", str(result))
    except HalfulpError:
        return None
