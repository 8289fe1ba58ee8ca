"""The functions of mlir-runner's libraries that programs declare and call: printMemrefF32, printNewline and others.

They print what the libraries ``libmlir_runner_utils`` and ``libmlir_c_runner_utils`` of MLIR 22 print, except for
addresses: halfulp has none, and prints `ADDRESS` for each. A memref may also be a tensor, as before bufferization. The
functions that tell the time return 0, so that a program has the same results in each run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import UndefinedBehavior, Unsupported
from halfulp.interp.ir.operations import Operation, argument_types
from halfulp.interp.run.printing import show
from halfulp.interp.run.settings import External, Settings
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.memref_layout import row_major
from halfulp.interp.values.spelling import printed, printed_elements
from halfulp.interp.values.value import Value, retyped

ADDRESS = "0x1000"
"""The address that is printed for every memref."""

BYTE = ty.IntegerType(8)
"""The elements that are printed as `characters`."""
ELEMENTS: Mapping[str, ty.Type] = {
    "I8": BYTE,
    "I16": ty.IntegerType(16),
    "I32": ty.I32,
    "I64": ty.I64,
    "Ind": ty.INDEX,
    "F16": ty.F("f16"),
    "BF16": ty.F("bf16"),
    "F32": ty.F("f32"),
    "F64": ty.F("f64"),
    "C32": ty.ComplexType(ty.F("f32")),
    "C64": ty.ComplexType(ty.F("f64")),
}
_SHAPES = ("I8", "I32", "I64", "Ind", "F32", "F64", "C32", "C64")
"""Elements of memrefs whose shape alone can be printed."""
_RANKED = {"F32": range(5), **dict.fromkeys(("I8", "I32", "I64", "Ind", "F64", "C32", "C64"), range(1, 2))}
"""Elements of ranked memrefs that can be printed, with their ranks."""
_TEXTS = {"printNewline": "\n", "printComma": ", ", "printOpen": "( ", "printClose": " )"}
_SCALARS = {
    "printI64": (ty.I64, ty.IntegerType(64, "signed")),
    "printU64": (ty.I64, ty.IntegerType(64, "unsigned")),
    "printF16": (ty.IntegerType(16), ty.F("f16")),
    "printBF16": (ty.IntegerType(16), ty.F("bf16")),
    "printF32": (ty.F("f32"), ty.F("f32")),
    "printF64": (ty.F("f64"), ty.F("f64")),
}
"""The types of the arguments, and as which they are printed."""
INTERFACE = "_mlir_ciface_"
"""The start of the names of functions that take pointers to descriptors."""
_CLOCKS: Mapping[str, float | int] = {"rtclock": 0.0, "nanoTime": 0, f"{INTERFACE}nanoTime": 0}
"""Functions that tell the time, and what they return here."""
_TOLERANCES: Mapping[str, tuple[type[np.floating[Any]], float]] = {
    "F32": (np.float32, 1e-6),
    "F64": (np.float64, 1e-12),
}
"""The relative errors that verifyMemRef allows."""
_COMPLEX: Mapping[str, type[np.floating[Any]]] = {"C32": np.float32, "C64": np.float64}

Accepts = Callable[[ty.Type], bool]
Make = Callable[[Operation, Settings], External]
Numbers = Sequence[int]


def runner_function(call: Operation, target: Operation, settings: Settings) -> External | None:
    """Return the function of mlir-runner's libraries that a declaration names; None if there is none of that name.

    Raises Unsupported if the declaration has other types than the function.
    """
    name = target.symbol_name or ""
    found = _FUNCTIONS.get(name)
    if found is None:
        return None
    accepts, make = found
    types = argument_types(target)
    if len(types) != len(accepts) or not all(fits(type_) for fits, type_ in zip(accepts, types, strict=True)):
        given = ", ".join(f"'{type_}'" for type_ in types)
        raise Unsupported(
            f"'@{name}' of mlir-runner's library does not take ({given})", location=call.location, op=call.name
        )
    return make(call, settings)


def may_print(name: str) -> bool:
    """Tell whether a name is that of a library function that prints, in its original or its lowered form."""
    return name.removeprefix(INTERFACE).startswith("print")


# --- memrefs ----------------------------------------------------------------------------------------------------------


class Memref(NamedTuple):
    """The properties of a memref that the printing functions need. ``load``: a function that returns its elements."""

    offset: int
    sizes: Numbers
    strides: Numbers
    load: Callable[[], Value]

    def described(self, kind: str) -> str:
        """Return the line that the library prints about the layout."""
        sizes, strides = (", ".join(map(str, numbers)) for numbers in (self.sizes, self.strides))
        rank = len(self.sizes)
        return f"{kind} base@ = {ADDRESS} rank = {rank} offset = {self.offset} sizes = [{sizes}] strides = [{strides}]"


def _memref(given: Value | Buffer) -> Memref:
    if isinstance(given, Buffer):
        return Memref(given.offset, given.shape, given.strides, given.load)
    return Memref(0, given.shape, row_major(given.shape), lambda: given)


class OnMemrefs(NamedTuple):
    """A function of the library. ``rank``: the rank of the memrefs that it takes; None for unranked ones. ``arity``:
    how many memrefs it takes. ``call``: computes the result for an op, and returns it, or None if there is none.
    """

    element: ty.Type
    rank: int | None
    arity: int
    call: Callable[..., int | None]

    def of_program(self, call: Operation, settings: Settings) -> External:
        """Return the function for a call with memrefs as in ``call``, in a program whose memrefs are not
        lowered yet.
        """
        return lambda *given: self.call(call, settings, *map(_memref, given))

    def accepts(self, type_: ty.Type) -> bool:
        """Tell whether an operand may have a type."""
        if not isinstance(type_, ty.MemRefType | ty.TensorType) or type_.element != self.element:
            return False
        return type_.shape is None if self.rank is None else type_.shape is not None and len(type_.shape) == self.rank


def _print_shape(call: Operation, settings: Settings, memref: Memref) -> None:
    show(call, settings, f"{memref.described('Unranked Memref')}\n")


def _print_memref(call: Operation, settings: Settings, memref: Memref, kind: str) -> None:
    if 0 in memref.sizes:
        raise UndefinedBehavior(
            "the function reads the first element of a memref without elements", location=call.location, op=call.name
        )
    value = memref.load()
    texts = characters(value) if value.element_type == BYTE else list(printed_elements(value))
    rows = _rows(texts, value.shape, 1) if value.shape else f"[{texts[0]}]"
    show(call, settings, f"{memref.described(kind)} data = \n{rows}\n", (value,))


def characters(value: Value) -> list[str]:
    """Return each byte as one character, since C++ prints numbers of 8 bits as characters."""
    texts = [bytes([code]).decode("ascii", "surrogateescape") for code in codes_to_ints(value.bits, 8)]
    poisoned = value.poisoned.reshape(-1).tolist()
    return ["poison" if lost else text for text, lost in zip(texts, poisoned, strict=True)]


def _rows(texts: Sequence[str], shape: Numbers, depth: int) -> str:
    """Return the text of elements in brackets; ``depth``: the number of brackets around each part."""
    size = len(texts) // shape[0]
    if len(shape) == 1:
        parts, between = list(texts), ", "
    else:
        parts = [_rows(texts[k : k + size], shape[1:], depth + 1) for k in range(0, len(texts), size)]
        between = ", \n"
    return f"[{(between + ' ' * depth).join(parts)}]"


def _verify(call: Operation, settings: Settings, actual: Memref, expected: Memref, element: str) -> int:
    """Return the number of elements that differ, or -1 for other shapes."""
    if len(actual.sizes) and actual[:3] != expected[:3]:
        return -1
    values = [memref.load() for memref in (actual, expected)]
    for value in values:
        if value.poison is not None:
            raise UndefinedBehavior("an element that is compared is poison", location=call.location, op=call.name)
    equal = _equal(element, *values)
    return int(np.size(equal) - np.count_nonzero(equal))


def _equal(element: str, actual: Value, expected: Value) -> npt.NDArray[np.bool_]:
    """Compare elements as the library does: complex numbers as numbers, f16 and bf16 by their bits, f32 and f64 with a
    tolerance. Infinities and NaNs of f32 and f64 are never equal.
    """
    if element in _COMPLEX:
        parts = [value.bits.view(_COMPLEX[element]) for value in (actual, expected)]
        return np.asarray((parts[0] == parts[1]).all(axis=-1))
    if element not in _TOLERANCES:
        return np.asarray(actual.bits == expected.bits)
    dtype, epsilon = _TOLERANCES[element]
    numbers = [np.atleast_1d(value.bits).view(dtype) for value in (actual, expected)]
    with np.errstate(all="ignore"):
        near = abs(numbers[0] - numbers[1]) <= dtype(epsilon) * abs(numbers[1])
    return np.asarray(near & np.isfinite(numbers[0]) & np.isfinite(numbers[1]))


# --- scalars and punctuation ------------------------------------------------------------------------------------------


def _print_text(text: str, call: Operation, settings: Settings) -> External:
    return lambda: show(call, settings, text)


def _print_scalar(type_: ty.Type, call: Operation, settings: Settings) -> External:
    def print_(value: Value) -> None:
        shown = retyped(value, type_)
        show(call, settings, printed(shown), (shown,))

    return print_


def _tell_time(now: float | int, call: Operation, settings: Settings) -> External:
    return lambda: now


# --- the table --------------------------------------------------------------------------------------------------------


def _on_memrefs() -> Iterable[tuple[str, OnMemrefs]]:
    for name, element in ELEMENTS.items():
        yield f"printMemref{name}", OnMemrefs(element, None, 1, partial(_print_memref, kind="Unranked Memref"))
        yield f"verifyMemRef{name}", OnMemrefs(element, None, 2, partial(_verify, element=name))
    for name in _SHAPES:
        yield f"printMemrefShape{name}", OnMemrefs(ELEMENTS[name], None, 1, _print_shape)
    for name, ranks in _RANKED.items():
        for rank in ranks:
            yield (
                f"printMemref{rank}d{name}",
                OnMemrefs(ELEMENTS[name], rank, 1, partial(_print_memref, kind="Memref")),
            )


ON_MEMREFS: Mapping[str, OnMemrefs] = dict(_on_memrefs())


def _functions() -> Iterable[tuple[str, tuple[tuple[Accepts, ...], Make]]]:
    for name, text in _TEXTS.items():
        yield name, ((), partial(_print_text, text))
    for name, (taken, shown) in _SCALARS.items():
        yield name, ((taken.__eq__,), partial(_print_scalar, shown))
    for name, now in _CLOCKS.items():
        yield name, ((), partial(_tell_time, now))
    for name, function in ON_MEMREFS.items():
        yield name, ((function.accepts,) * function.arity, function.of_program)


_FUNCTIONS: Mapping[str, tuple[tuple[Accepts, ...], Make]] = dict(_functions())
