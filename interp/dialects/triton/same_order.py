"""Whether two TTGIRs of a kernel add in the same order, by their layouts.

The two may differ in what changes no number by itself: layouts, the number of warps, copies. For each argument that a
kernel stores through, the sums that it depends on are compared one by one: each reduction and scan by the expressions
that it makes of the elements along its axis, each dot by its instruction and the order along K. Nothing is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from typing import NamedTuple

from halfulp.interp.dialects.triton import orders
from halfulp.interp.dialects.triton.combining import depends_on_order
from halfulp.interp.dialects.triton.compiling import inner_op
from halfulp.interp.dialects.triton.contraction import Contraction
from halfulp.interp.dialects.triton.instructions import instruction_of
from halfulp.interp.dialects.triton.layouts import Places, layout_of
from halfulp.interp.dialects.triton.local import element_of
from halfulp.interp.dialects.triton.rules import sizes_of
from halfulp.interp.dialects.triton.targets import Target, encoding_of, target_of
from halfulp.interp.dialects.triton.types import DescriptorType, MemDescType, PointerType
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import file_position
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import BlockArgument, Module, Operation, OpResult, SSAValue, argument_types
from halfulp.interp.run.evaluators import ArgumentUse
from halfulp.interp.run.settings import Settings

# --- expressions ------------------------------------------------------------------------------------------------------

_COMMUTATIVE = frozenset(("addf", "mulf", "addi", "muli", "maximumf", "minimumf", "maxnumf", "minnumf"))
Expression = int
"""The number of an expression; those from 0 on are elements, negative ones are combinations of two expressions."""


class _Expressions:
    """Rows that are expressions, for `orders`; equal expressions have the same number."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, Expression, Expression], Expression] = {}
        self._inner = ""
        self._fused = False

    def begin(self, inner: str, fused: bool) -> None:
        """Begin with the combinations of one op. ``fused``: whether combinations of two elements are fused."""
        self._inner, self._fused = inner, fused

    def take(self, state: list[Expression], rows: Places) -> list[Expression]:
        """Return some rows."""
        return [state[row] for row in rows]

    def join(self, states: Sequence[list[Expression]]) -> list[Expression]:
        """Return the rows of several states."""
        return [row for state in states for row in state]

    def combine(self, accumulators: list[Expression], elements: list[Expression]) -> list[Expression]:
        """Return the combinations of rows."""
        return [self._combined(one, other) for one, other in zip(accumulators, elements, strict=True)]

    def _combined(self, one: Expression, other: Expression) -> Expression:
        fused = self._fused and one >= 0 and other >= 0
        name = "fma" if fused else self._inner
        if not fused and name in _COMMUTATIVE and one > other:
            one, other = other, one
        return self._numbers.setdefault((name, one, other), -1 - len(self._numbers))


Signature = tuple[object, ...]


def _signature(
    op: Operation, known: _Expressions, target: Target, contraction: Contraction, settings: Settings
) -> Signature:
    """Return what the order of a sum is. Raises ValueError or an error of halfulp if it is not known."""
    if op.name not in ("tt.reduce", "tt.scan"):
        result = (op.results[0] if op.results else op.operands[2]).type
        encoding = result.encoding if isinstance(result, MemDescType) else encoding_of(result)
        a, b = (str(element_of(value.type)) for value in op.operands[:2])
        tile, model = instruction_of(op, encoding, target, settings, (a, b, str(element_of(result))))
        return "dot", tile.unit, tile.a, tile.b, tile.d, tile.shape[2], tile.order, model
    axis, type_ = op.number("axis"), op.operands[0].type
    encoding, element = encoding_of(type_), str(ty.element_type(type_))
    if not depends_on_order(op):
        return op.name, "any order"
    if encoding is None:
        raise ValueError(f"'{type_}' has no layout")
    along, inner = layout_of(encoding, sizes_of(type_)).along(axis), inner_op(op)
    product = contraction.product(op.operands[0], op) if inner == "addf" and len(op.operands) == 1 else None
    known.begin(inner, product is not None)
    leaves = list(range(sizes_of(type_)[axis]))
    if op.name == "tt.scan":
        reverse = bool(op.number("reverse"))
        scanned = orders.scanned(known, leaves, along, reverse)
        return "scan", inner, element, tuple(scanned)
    tree = orders.tree_of(along, target, inner, element, len(op.operands))
    whole = len(along.lanes) == along.all_lanes and len(op.operands) == 1
    found = orders.reduced(known, leaves, along, tree, target.shifts if whole else ())
    return "reduce", inner, element, len(leaves), tuple(found.state)


# --- dependences ------------------------------------------------------------------------------------------------------

_SUMS = frozenset(
    ("tt.reduce", "tt.scan", "tt.dot", "ttng.warp_group_dot", "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled")
)
_STORES = {
    "tt.store": 0, "tt.atomic_rmw": 0, "tt.atomic_cas": 0, "tt.atomic_store": 0, "tt.descriptor_store": 0,
    "amdg.buffer_store": 1, "amdg.buffer_atomic_rmw": 0, "ttng.async_tma_copy_local_to_global": 0,
}  # fmt: skip
"""The ops that write to the memory of an argument, with the number of the operand that points to it."""
_PURE_STORES = frozenset(name for name in _STORES if "atomic" not in name)
_READS = frozenset(("ttg.local_load", "ttng.tmem_load", "ttg.local_dealloc"))


def _points(type_: ty.Type) -> bool:
    """Tell whether values of a type point into memory: pointers, tensors of them, and descriptors."""
    return isinstance(type_, DescriptorType) or isinstance(ty.element_type(type_), PointerType)


def _around(value: BlockArgument) -> Operation | None:
    """Return the op in whose region a block argument is."""
    return None if value.block.parent is None else value.block.parent.parent


def argument_uses(kernel: Operation) -> list[ArgumentUse]:
    """Return how a kernel uses its arguments. Any op that takes a pointer, and is not known to store only, reads."""
    found = _Dependences(kernel)
    read: set[int] = set()
    for op in kernel.walk():
        for number, value in enumerate(op.operands):
            stores = op.name in _PURE_STORES and _STORES[op.name] == number
            if _points(value.type) and not stores and not any(_points(each.type) for each in op.results):
                read.update(found.arguments(value))
    return [
        ArgumentUse(type_.element, number in read, number in found.outputs)
        if isinstance(type_, PointerType)
        else ArgumentUse(None, True, False)
        for number, type_ in enumerate(argument_types(kernel))
    ]


class _Dependences:
    """Which sums of a kernel each of its outputs depends on."""

    def __init__(self, kernel: Operation) -> None:
        self._kernel = kernel
        self._ops = list(kernel.walk())
        self._writers: dict[Operation, list[Operation]] = {}
        self._stores: dict[int, list[Operation]] = {}
        for op in self._ops:
            views = bool(op.results) and isinstance(op.results[0].type, MemDescType)
            for value in op.operands:
                if isinstance(value.type, MemDescType) and not views and op.name not in _READS:
                    for root in self._allocations(value):
                        self._writers.setdefault(root, []).append(op)
            if op.name in _STORES:
                for number in self.arguments(op.operands[_STORES[op.name]]):
                    self._stores.setdefault(number, []).append(op)

    @property
    def outputs(self) -> list[int]:
        """The numbers of the arguments that the kernel stores through."""
        return sorted(self._stores)

    def sums(self, output: int) -> list[Operation]:
        """Return the sums that an output depends on, in the order of the text."""
        seen: set[Operation] = set()
        rest = list(self._stores[output])
        while rest:
            op = rest.pop()
            if op in seen:
                continue
            seen.add(op)
            for value in op.used_values:
                rest += self._makers(value)
        return [op for op in self._ops if op in seen and op.name in _SUMS]

    def _makers(self, value: SSAValue) -> Iterator[Operation]:
        """Yield the ops that a value depends on at once."""
        if isinstance(value.type, MemDescType):
            for root in self._allocations(value):
                yield from self._writers.get(root, ())
        if _points(value.type):
            for number in self.arguments(value):
                yield from self._stores.get(number, ())
        for source in self._sources(value):
            if isinstance(source, OpResult):
                yield source.owner
        if isinstance(value, OpResult):
            yield value.owner

    def _sources(self, value: SSAValue) -> list[SSAValue]:
        """Return the values that a value is, or is made of, one step back."""
        if isinstance(value, BlockArgument):
            around = _around(value)
            if around is None or around is self._kernel:
                return []
            if around.name != "scf.for" or value.index == 0:
                return [*around.operands, *self._yielded(around)]
            place = value.index - 1
            return [around.operands[3 + place], self._yielded(around)[place]]
        if not isinstance(value, OpResult):
            return []
        op = value.owner
        if op.name == "scf.for":
            return [*op.operands[:3], op.operands[3 + value.index], self._yielded(op)[value.index]]
        yielded = [
            block.operations[-1].operands[value.index]
            for region in op.regions
            for block in region.blocks
            if op.name == "scf.if"
        ]
        return [*op.operands, *yielded]

    @staticmethod
    def _yielded(op: Operation) -> list[SSAValue]:
        return [value for region in op.regions for value in region.blocks[-1].operations[-1].operands]

    def _back(self, value: SSAValue, kept: Callable[[ty.Type], bool]) -> Iterator[SSAValue]:
        """Yield a value and those that it is made of, as long as their types are such as ``kept`` keeps."""
        seen: set[SSAValue] = set()
        rest = [value]
        while rest:
            value = rest.pop()
            if value not in seen:
                seen.add(value)
                yield value
                rest += [source for source in self._sources(value) if kept(source.type)]

    def _allocations(self, value: SSAValue) -> list[Operation]:
        return [
            each.owner
            for each in self._back(value, lambda type_: isinstance(type_, MemDescType))
            if isinstance(each, OpResult) and each.owner.name in ("ttg.local_alloc", "ttng.tmem_alloc")
        ]

    def arguments(self, value: SSAValue) -> list[int]:
        """Return the numbers of the arguments that a pointer or a descriptor may point into."""
        found = []
        for each in self._back(value, _points):
            if isinstance(each, BlockArgument) and _points(each.type) and _around(each) is self._kernel:
                found.append(each.index)
            if isinstance(each, OpResult) and each.owner.name == "ttg.global_scratch_alloc":
                for op in self._ops:
                    if op.name == "ttng.tensormap_create" and op.operands[0] is each:
                        found += self.arguments(op.operands[1])
        return found


# --- the comparison ---------------------------------------------------------------------------------------------------


class Verdict(NamedTuple):
    """Whether two kernels add in the same order what they store through an argument; None if that is not known.

    ``why``: the first difference in words; "" if there is none.
    """

    argument: int
    same: bool | None
    why: str


def same_order(one: Module, other: Module, settings: Settings | None = None) -> list[Verdict]:
    """Compare the kernels of two modules, one verdict for each argument that is stored through, in their order.

    The kernels must be the same but for layouts and the number of warps: this is not checked, other than by the number
    and kind of the sums. Raises Unsupported for a target that is not known.
    """
    settings = Settings() if settings is None else settings
    kernels = [next(op for op in module.walk() if op.name == "tt.func") for module in (one, other)]
    sides = [_Dependences(kernel) for kernel in kernels]
    targets = [target_of(kernel) for kernel in kernels]
    found = []
    for output in sorted({*sides[0].outputs, *sides[1].outputs}):
        if any(output not in side.outputs for side in sides):
            found.append(Verdict(output, None, "only one of the kernels stores through the argument"))
        elif targets[0] is None or targets[1] is None:
            found.append(Verdict(output, None, "a module names no target"))
        else:
            known = _Expressions()
            sums = []
            for side, target, kernel in zip(sides, (targets[0], targets[1]), kernels, strict=True):
                contraction = Contraction(kernel, target)
                sums.append([(op, known, target, contraction, settings) for op in side.sums(output)])
            found.append(Verdict(output, *_compared(sums)))
    return found


Sum = tuple[Operation, _Expressions, Target, Contraction, Settings]


def _place(op: Operation) -> str:
    """Return the file, line and column of an op."""
    place = file_position(op.location)
    return str(op.location) if place is None else f"{PurePath(place.file).name}:{place.line}:{place.column}"


def _compared(sums: Sequence[Sequence[Sum]]) -> tuple[bool | None, str]:
    if len(sums[0]) != len(sums[1]):
        return None, f"one kernel has {len(sums[0])} sums there, the other {len(sums[1])}"
    for pair in zip(*sums, strict=True):
        where = " and ".join(dict.fromkeys(_place(each[0]) for each in pair))
        try:
            first, second = (_signature(*each) for each in pair)
        except (ValueError, HalfulpError) as error:
            return None, f"the order of {pair[0][0].name} is not known: {error}"
        if first[:2] != second[:2]:
            return None, f"{pair[0][0].name} and {pair[1][0].name} differ at {where}"
        if first != second:
            return False, f"{pair[0][0].name} at {where}"
    return True, ""
