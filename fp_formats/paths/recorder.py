"""The `Machine` that notes NumPy calls on whole arrays, for `blocks` to run on a part of the elements at a time.

Equal calls are noted once. Words are in the smallest unsigned type that holds them, words of one bit in bools.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import storage_dtype
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.paths.words import F32, Word

Array = npt.NDArray[Any]
Function = Callable[..., Any]


class NotRecorded(Exception):
    """A description has a word of more than 64 bits."""


@dataclass(eq=False, slots=True)
class Node:
    """A value of a program: what ``function(*operands, out)`` writes; without a function an input, or a constant with
    this ``code``.

    ``width``: the bits of a word; 0 for a number. ``splat``: one element stands for all. ``base``: the node whose bits
    this one shows as another type. ``input``: the number of an input. ``reports``: the function also takes the list of
    refused elements, as its first argument.
    """

    number: int
    dtype: np.dtype[Any]
    width: int
    splat: bool
    function: Function | None = None
    operands: tuple[Node, ...] = ()
    base: Node | None = None
    code: int | None = None
    input: int = -1
    reports: bool = False

    @property
    def storage(self) -> Node:
        """The node that owns the bits."""
        return self.base or self


@dataclass(slots=True)
class Recorder:
    """Notes calls. ``refused``: the conditions under which elements are refused. ``settled``: numbers that are refused
    if they are NaNs, each with those that are NaNs only if it is one.
    """

    refused: dict[Node, None] = field(default_factory=dict)
    settled: dict[Node, tuple[Node, ...]] = field(default_factory=dict)
    _nodes: dict[Hashable, Node] = field(default_factory=dict)
    _smaller: dict[Node, tuple[Node, Node, Node, Node]] = field(default_factory=dict)
    _tables: dict[int, Function] = field(default_factory=dict)

    @property
    def calls(self) -> int:
        """The calls on blocks so far."""
        return sum(node.function is not None and not node.splat for node in self._nodes.values())

    # --- nodes ---

    def _node(self, key: Hashable, dtype: npt.DTypeLike, width: int, splat: bool, **rest: Any) -> Node:
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = Node(len(self._nodes), np.dtype(dtype), width, splat, **rest)
        return node

    def input(self, number: int, width: int, splat: bool) -> Word:
        """Return an input of codes of a width."""
        return self.word(self._node(("input", number), natural(width), width, splat, input=number))

    def word(self, node: Node) -> Word:
        """Return a node as a `Word`."""
        return Word(self, node, node.width)

    def call(
        self, function: Function, dtype: npt.DTypeLike, width: int, *operands: Node, reports: bool = False
    ) -> Node:
        """Return the result of a function of arrays, which writes it to its last argument."""
        dtype = np.dtype(dtype)
        key, splat = (function, dtype, width, operands), all(operand.splat for operand in operands)
        return self._node(key, dtype, width, splat, function=function, operands=operands, reports=reports)

    def shown(self, node: Node, dtype: npt.DTypeLike, width: int) -> Node:
        """Return the bits of a node as another type of the same size."""
        base, dtype = node.storage, np.dtype(dtype)
        if base.dtype == dtype and base.width == width:
            return base
        return self._node(("shown", base, dtype, width), dtype, width, node.splat, base=base)

    def unsigned(self, node: Node) -> Node:
        """Return the bits of a node as a word of whole bytes."""
        return self.shown(node, f"u{node.dtype.itemsize}", 8 * node.dtype.itemsize)

    def _cast(self, node: Node, dtype: npt.DTypeLike, width: int) -> Node:
        """Return the numbers of a node in another type."""
        return self.shown(node, dtype, width) if node.dtype == dtype else self.call(copy, dtype, width, node)

    def _cut(self, node: Node, width: int) -> Node:
        """Return the lowest bits of an integer as a word."""
        node = self.unsigned(node)
        if width < node.width:
            node = self.call(np.bitwise_and, node.dtype, node.width, node, self.constant((1 << width) - 1, node.width))
        return self.shown(node, natural(width), width)

    def _signed(self, node: Node) -> Node:
        """Return the signed number of a word."""
        whole = self.unsigned(node)
        bits, dtype = whole.width, f"i{whole.dtype.itemsize}"
        if node.width == bits:
            return self.shown(whole, dtype, bits)
        unused = self.constant(bits - node.width, bits)
        high = self.call(np.left_shift, whole.dtype, bits, whole, unused)
        return self.call(np.right_shift, dtype, bits, self.shown(high, dtype, bits), self.shown(unused, dtype, bits))

    # --- the machine ---

    def constant(self, code: int, width: int) -> Node:
        """See `Machine`."""
        return self._node(("constant", code, width), natural(width), width, True, code=code)

    def integer(self, name: str, a: Node, b: Node) -> Node:
        """See `Machine`."""
        width, bits = a.width, 8 * a.dtype.itemsize
        if name in _COMBINED:
            return self._combined(name, a, b)
        if width == 1:
            return self._of_bits(name, a, b)
        x, y = (self._signed(a), self._signed(b)) if name in _SIGNED else (a, b)
        return self._cut(self.call(_INTEGER[name], x.dtype, bits, x, y), width)

    def _of_bits(self, name: str, a: Node, b: Node) -> Node:
        """Return an operation on words of one bit: shifts are by 0, divisors are 1."""
        if name in ("add", "sub", "mul"):
            return self._combined("and" if name == "mul" else "xor", a, b)
        return self._combined("xor", a, a) if name in ("urem", "srem") else a

    def _combined(self, name: str, a: Node, b: Node) -> Node:
        """Return an operation on single bits; one with zeros is not needed."""
        for one, other in ((a, b), (b, a)):
            if one.code == 0:
                return one if name == "and" else other
        return self.call(_COMBINED[name], a.dtype, a.width, a, b)

    def relation(self, name: str, a: Node, b: Node) -> Node:
        """See `Machine`."""
        x, y = (self._signed(a), self._signed(b)) if name in ("s<", "s<=") else (a, b)
        found = self.call(_RELATIONS[name], np.bool_, 1, x, y)
        if name not in ("==", "!="):
            self._smaller[found] = a, b, x, y
        return found

    def choose(self, condition: Node, a: Node, b: Node) -> Node:
        """See `Machine`. The choice of the smaller or larger integer is an extremum; any other is made bit by bit."""
        if a is b:
            return a
        smaller = self._smaller.get(condition)
        if smaller is not None and smaller[:2] in ((a, b), (b, a)):
            x, y = smaller[2:]
            return self._cut(self.call(least if smaller[0] is a else largest, x.dtype, x.width, x, y), a.width)
        p, q, mask = a, b, condition
        if a.dtype != np.bool_:
            p, q = self.unsigned(a), self.unsigned(b)
            mask = self.call(np.negative, p.dtype, p.width, self._cast(condition, p.dtype, p.width))
        chosen = self._combined("xor", q, self._combined("and", self._combined("xor", p, q), mask))
        return self.shown(chosen, a.dtype, a.width)

    def resize(self, a: Node, width: int, signed: bool) -> Node:
        """See `Machine`."""
        size = storage_dtype(min(width, 64)).itemsize
        if width > 64:
            raise NotRecorded
        number = self._signed(a) if signed else a
        kind = "i" if signed else "u"
        wide = self._cast(number, f"{kind}{size}", 8 * size)
        return self.shown(wide, natural(width), width) if width > a.width and not signed else self._cut(wide, width)

    def real(self, code: Node, fmt: FloatFormat) -> Node:
        """See `Machine`."""
        return self.shown(code, _dtype(fmt), 0)

    def code(self, number: Node, fmt: FloatFormat) -> Node:
        """See `Machine`."""
        return self.unsigned(number)

    def arithmetic(self, name: str, x: Node, y: Node) -> Node:
        """See `Machine`."""
        return self.call(ARITHMETIC[name], x.dtype, 0, x, y)

    def ordered(self, name: str, x: Node, y: Node) -> Node:
        """See `Machine`."""
        return self.call(_RELATIONS[name], np.bool_, 1, x, y)

    def extremum(self, largest: bool, x: Node, y: Node) -> Node:
        """See `Machine`. NumPy's extremum of a NaN is a NaN."""
        # One search for zeros in a constant or an input is enough for all extrema with it.
        x, y = sorted((x, y), key=lambda node: (node.splat, node.storage.function is None))
        zeros = self.call(_search_zeros, np.bool_, 1, y)
        found = self.call(_MAXIMUM if largest else _MINIMUM, x.dtype, 0, x, y, zeros)
        self.refuse_nan(found, (x, y))
        return found

    def convert(self, x: Node, fmt: FloatFormat) -> Node:
        """See `Machine`."""
        return self._cast(x, _dtype(fmt), 0)

    def from_integer(self, a: Node, signed: bool, fmt: FloatFormat) -> Node:
        """See `Machine`."""
        return self._cast(self._signed(a) if signed else a, _dtype(fmt), 0)

    def to_integer(self, x: Node, width: int, signed: bool) -> Node:
        """See `Machine`."""
        size = storage_dtype(width).itemsize
        return self._cut(self._cast(x, f"{'i' if signed else 'u'}{size}", 8 * size), width)

    def look_up(self, table: Array, index: Node) -> Node:
        """See `Machine`."""
        taking = self._tables.setdefault(id(table), partial(take, table))
        return self.call(taking, table.dtype, 8 * table.dtype.itemsize, self._cast(index, np.intp, 64))

    def refuse(self, condition: Node) -> None:
        """See `Machine`."""
        if condition.code != 0:
            self.refused[condition] = None

    def refuse_nan(self, x: Node, implying: Sequence[Node]) -> None:
        """See `Machine`."""
        self.settled[x] = tuple(implying)


def natural(width: int) -> np.dtype[Any]:
    """Return the type of words of a width."""
    return np.dtype(np.bool_) if width == 1 else storage_dtype(width)


def _dtype(fmt: FloatFormat) -> np.dtype[Any]:
    return np.dtype(np.float32 if fmt == F32 else np.float64)


# --- functions of arrays ----------------------------------------------------------------------------------------------


def copy(a: Array, out: Array) -> None:
    """Write numbers in another type."""
    np.copyto(out, a, casting="unsafe")


def take(table: Array, index: Array, out: Array) -> None:
    """Look up entries of a table."""
    np.take(table, index, out=out, mode="wrap")


def least(a: Array, b: Array, out: Array) -> None:
    """Write the smaller numbers."""
    np.minimum(a, b, out=out)


def largest(a: Array, b: Array, out: Array) -> None:
    """Write the larger numbers."""
    np.maximum(a, b, out=out)


def _search_zeros(numbers: Array, out: Array) -> None:
    """Write to the first element whether any number is 0."""
    np.equal(numbers, 0, out)
    out[:1] = out.any()


def _extremum(operation: str, x: Array, y: Array, zeros: Array, out: Array) -> None:
    """Write extrema. ``zeros``: tells by its first element whether a number of ``y`` is 0."""
    if zeros.item(0):
        fast.extremum_of_numbers(operation, x.copy(), y.copy(), out)
    else:
        fast.EXTREMA[operation][0](x, y, out=out)


_MAXIMUM, _MINIMUM = partial(_extremum, "maximum"), partial(_extremum, "minimum")


def _quotient(a: Array, b: Array, out: Array) -> None:
    """Write signed quotients, rounded toward zero; NumPy rounds down."""
    np.floor_divide(a - np.fmod(a, b), b, out)


_INTEGER: dict[str, Function] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "shl": np.left_shift,
    "lshr": np.right_shift,
    "ashr": np.right_shift,
    "udiv": np.floor_divide,
    "sdiv": _quotient,
    "urem": np.remainder,
    "srem": np.fmod,
}
_SIGNED = ("ashr", "sdiv", "srem")
_COMBINED: dict[str, Function] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
_RELATIONS: dict[str, Function] = {
    "==": np.equal,
    "!=": np.not_equal,
    "u<": np.less,
    "u<=": np.less_equal,
    "s<": np.less,
    "s<=": np.less_equal,
    "<": np.less,
    "<=": np.less_equal,
}
ARITHMETIC: dict[str, Function] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
}
SLOW_ON_SPLATS = frozenset([least, largest, _MAXIMUM, _MINIMUM])
"""The functions for which NumPy takes several times longer if an operand is a single element."""
IN_PLACE = frozenset(
    [least, largest, _MAXIMUM, _MINIMUM, *ARITHMETIC.values(), *_COMBINED.values(), *_INTEGER.values()]
) - {_quotient}
"""The functions whose result may replace an operand."""
