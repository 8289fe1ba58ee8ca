"""The functions of MLIR's APFloat run-time library, as convert-arith-to-apfloat and convert-math-to-apfloat call them.

A function takes the number of a format in LLVM's enumeration, and codes in i64 with zeros above them, as the passes
give them. It returns what the library ``libmlir_apfloat_wrappers`` of MLIR 22 returns, whatever the profile of the run
is: profile `mlir22-runtime`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple, TypeVar

import numpy as np

from halfulp.fp_formats.formats import storage_dtype
from halfulp.interp.dialects.elementwise import elementwise_step
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, argument_types, result_types, undefined
from halfulp.interp.run.elementwise import ElementwiseStep
from halfulp.interp.run.frames import Run
from halfulp.interp.run.printing import show
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.spelling import printed
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import PROFILES

SEMANTICS: Mapping[str, int] = {
    "f16": 0,
    "bf16": 1,
    "f32": 2,
    "f64": 3,
    "f128": 4,
    "f8E5M2": 7,
    "f8E5M2FNUZ": 8,
    "f8E4M3": 9,
    "f8E4M3FN": 10,
    "f8E4M3FNUZ": 11,
    "f8E4M3B11FNUZ": 12,
    "f8E3M4": 13,
    "tf32": 14,
    "f8E8M0FNU": 15,
    "f6E3M2FN": 16,
    "f6E2M3FN": 17,
    "f4E2M1FN": 18,
    "f80": 19,
}
"""The formats in ``llvm::APFloatBase::Semantics``."""
_PREFIX = "_mlir_apfloat_"
_I1, _I8, _I32, _I64 = (ty.IntegerType(width) for width in (1, 8, 32, 64))


class _Op(NamedTuple):
    """The op that computes what a function returns."""

    name: str
    operands: tuple[ty.Type, ...]
    result: ty.Type
    predicate: int | None = None


Selectors = tuple[int, ...]
Chosen = TypeVar("Chosen")


class _Function(NamedTuple):
    """A function of the library. ``selectors``: the types of the arguments before the codes. ``arity``: the
    number of codes. ``ops``: the ops for some selectors; a comparison has one for each bit of the result.
    """

    selectors: tuple[ty.Type, ...]
    arity: int
    result: ty.Type
    ops: Callable[..., tuple[_Op, ...]]


def _type(number: int) -> ty.FloatType:
    """Return the format of a number. Raises KeyError for an unknown format, and Unsupported for one of more than 64
    bits.
    """
    found = _FORMATS[number]
    if ty.width_of(found) > 64:
        raise Unsupported(f"the APFloat run-time library takes codes of at most 64 bits, not those of {found}")
    return found


_FORMATS = {number: ty.F(name) for name, number in SEMANTICS.items()}


def _same(op: str, count: int, number: int) -> tuple[_Op, ...]:
    type_ = _type(number)
    return (_Op(op, (type_,) * count, type_),)


def _test(op: str, number: int) -> tuple[_Op, ...]:
    return (_Op(op, (_type(number),), _I1),)


_RELATION = (8, 9)
"""The predicates ueq and ugt of arith.cmpf, the bits of a comparison: 0 is less, 1 equal, 2 greater, 3 unordered."""


def _compare(number: int) -> tuple[_Op, ...]:
    return tuple(_Op("arith.cmpf", (_type(number),) * 2, _I1, predicate) for predicate in _RELATION)


def _convert(source: int, target: int) -> tuple[_Op, ...]:
    before, after = _type(source), _type(target)
    wider = ty.width_of(after) - ty.width_of(before)
    if not wider and before != after:
        raise Unsupported(f"no pass of MLIR 22 lets APFloat convert between formats of one width, {before} and {after}")
    name = "arith.extf" if wider > 0 else "arith.truncf" if wider < 0 else "arith.bitcast"
    return (_Op(name, (before,), after),)


def _integer(width: int) -> ty.IntegerType:
    """Return the type of integers of a width. Raises Unsupported for a width that no pass gives."""
    if not 0 < width <= 64:
        raise Unsupported(f"the passes of MLIR 22 give APFloat integers of 1 to 64 bits, not of {width}")
    return ty.IntegerType(width)


def _to_integer(number: int, width: int, unsigned: int) -> tuple[_Op, ...]:
    return (_Op("arith.fptoui" if unsigned else "arith.fptosi", (_type(number),), _integer(width)),)


def _from_integer(number: int, width: int, unsigned: int) -> tuple[_Op, ...]:
    # The library reads all 64 bits of an unsigned number.
    given = _I64 if unsigned else _integer(width)
    return (_Op("arith.uitofp" if unsigned else "arith.sitofp", (given,), _type(number)),)


_SAME = {
    "add": ("arith.addf", 2),
    "subtract": ("arith.subf", 2),
    "multiply": ("arith.mulf", 2),
    "divide": ("arith.divf", 2),
    "remainder": ("arith.remf", 2),
    "minimum": ("arith.minimumf", 2),
    "maximum": ("arith.maximumf", 2),
    "minnum": ("arith.minnumf", 2),
    "maxnum": ("arith.maxnumf", 2),
    "neg": ("arith.negf", 1),
    "abs": ("math.absf", 1),
    "fused_multiply_add": ("math.fma", 3),
}
_TESTS = {"isfinite": "math.isfinite", "isinfinite": "math.isinf", "isnormal": "math.isnormal", "isnan": "math.isnan"}


def _functions() -> Iterator[tuple[str, _Function]]:
    for name, (op, count) in _SAME.items():
        yield name, _Function((_I32,), count, _I64, partial(_same, op, count))
    for name, op in _TESTS.items():
        yield name, _Function((_I32,), 1, _I1, partial(_test, op))
    yield "compare", _Function((_I32,), 2, _I8, _compare)
    yield "convert", _Function((_I32, _I32), 1, _I64, _convert)
    yield "convert_to_int", _Function((_I32, _I32, _I1), 1, _I64, _to_integer)
    yield "convert_from_int", _Function((_I32, _I32, _I1), 1, _I64, _from_integer)


FUNCTIONS: Mapping[str, _Function] = {_PREFIX + name: function for name, function in _functions()}


@dataclass(eq=False)
class ApfloatStep:
    """The step of a call of one function of the library. The first arguments of the call, such as the number of the
    format, select the ops that it runs; they are made once for each selection.
    """

    call: Operation
    function: _Function
    settings: Settings
    _steps: dict[Selectors, list[ElementwiseStep]] = field(default_factory=dict)

    def run(self, run: Run, values: Sequence[Value]) -> tuple[Value, ...]:
        """Return the result. Raises UndefinedBehavior if the semantics number names no format,
        Unsupported for f80 and f128.
        """
        first = len(self.function.selectors)
        steps = self._of(tuple([_number(self.call, value) for value in values[:first]]))
        taken = [value.type for value in steps[0].op.operands]
        codes = [_narrowed(value, type_) for value, type_ in zip(values[first:], taken, strict=True)]
        results = [step.run(run, tuple(codes))[0] for step in steps]
        bits = [_widened(result, self.function.result, bit) for bit, result in enumerate(results)]
        return (bits[0] if len(bits) == 1 else self._union.run(run, tuple(bits))[0],)

    @cached_property
    def _union(self) -> ElementwiseStep:
        return self._step(_Op("arith.ori", (self.function.result,) * 2, self.function.result))

    def _of(self, selectors: Selectors) -> list[ElementwiseStep]:
        steps = self._steps.get(selectors)
        if steps is None:
            ops = _known(self.call, lambda: self.function.ops(*selectors))
            steps = self._steps[selectors] = [self._step(op) for op in ops]
        return steps

    def _step(self, op: _Op) -> ElementwiseStep:
        properties = None if op.predicate is None else {"predicate": at.IntegerAttr(op.predicate, _I64)}
        return elementwise_step(self.call, op.name, op.operands, op.result, self.settings, properties)


@dataclass(eq=False)
class PrintStep:
    """The step of a call of printApFloat, which prints as C's ``%g`` does."""

    call: Operation
    settings: Settings

    def run(self, run: Run, values: Sequence[Value]) -> tuple[Value, ...]:
        """Print a code. Raises UndefinedBehavior if the semantics number names no format, Unsupported for
        wide codes.
        """
        type_ = _known(self.call, lambda: _type(_number(self.call, values[0])))
        shown = _narrowed(values[1], type_)
        show(self.call, self.settings, printed(shown), (shown,))
        return ()


def _number(call: Operation, value: Value) -> int:
    if value.poison is not None:
        raise undefined(call, "the number of a format, a width or a sign is poison")
    numbers = set(value.bits.reshape(-1).tolist())
    if len(numbers) != 1:
        raise Unsupported("lanes call it with different formats", location=call.location, op=call.name)
    return int(numbers.pop())


def _known(call: Operation, choose: Callable[[], Chosen]) -> Chosen:
    try:
        return choose()
    except KeyError as error:
        raise undefined(call, f"APFloat has no format of number {error}") from None
    except Unsupported as error:
        raise Unsupported(error.message, location=call.location, op=call.name) from None


def _narrowed(value: Value, type_: ty.Type) -> Value:
    """Return the low bits of integers of 64 bits as codes of a type."""
    width = ty.width_of(type_)
    bits = (value.bits & np.uint64((1 << width) - 1)).astype(storage_dtype(width))
    return Value(type_, bits, value.poison, value.open, value.origins)


def _widened(value: Value, type_: ty.Type, bit: int) -> Value:
    """Return a result as an integer with its bits from a given bit on, and zeros elsewhere."""
    dtype = storage_dtype(ty.width_of(type_))
    bits = np.left_shift(value.bits.astype(dtype), dtype.type(bit))
    return Value(type_, bits, value.poison, value.open, value.origins)


_PRINT = "printApFloat"


def apfloat_step(call: Operation, target: Operation, settings: Settings) -> ApfloatStep | PrintStep | None:
    """Return the step of a call of a function of the library; None if the name and the types are not those of one."""
    if target.symbol_name == _PRINT and (argument_types(target), result_types(target)) == ((_I32, _I64), ()):
        return PrintStep(call, settings)
    found = FUNCTIONS.get(target.symbol_name or "")
    if found is None:
        return None
    types = (*found.selectors, *(_I64,) * found.arity)
    if (types, (found.result,)) != (argument_types(target), result_types(target)):
        return None
    return ApfloatStep(call, found, replace(settings, profile=PROFILES["mlir22-runtime"]))
