"""The fusion of products into additions, which LLVM does after TTGIR, and of which the text says nothing.

Within a basic block, an addition or subtraction of floats one of whose operands is a product becomes a fused
multiply-add, also if the product has other uses. Ops that only move elements between the two do not matter, since a
thread sees no movement.

If both operands are products, that with fewer uses is taken. If both have as many, the order of the operands decides.
It is not that of the text: the pass `reassociate` puts the operand of lower *rank* first. The rank of a value is that
of the last load (or other access to memory) that it depends on, plus the number of ops behind it. For GPUs of AMD the
other product is taken, and often LLVM computes the two as one vector, and fuses none: `unsure`.

Sources: machine code of triton 3.9 for kernels with all forms of such sums; LLVM's `DAGCombiner.cpp` (`visitFADD`,
`visitFSUB`) and `Reassociate.cpp` (`getRank`, `canonicalizeOperands`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from math import prod
from typing import Any, NamedTuple

from halfulp.interp.dialects.elements import Function, Operands, reshaped
from halfulp.interp.dialects.elementwise import elementwise_step
from halfulp.interp.dialects.triton.layouts import layout_of
from halfulp.interp.dialects.triton.rules import sizes_of
from halfulp.interp.dialects.triton.targets import Target, encoding_of
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import BlockArgument, Operation, OpResult, SSAValue
from halfulp.interp.run.elementwise import PointwiseStep
from halfulp.interp.run.evaluators import OnValues, evaluator_of
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

_MOVES = frozenset(f"tt.{name}" for name in ("splat", "unsplat", "broadcast", "expand_dims", "reshape", "trans")) | {
    "ttg.convert_layout"
}
_BRANCHING = {
    True: ("scf.", "cf.", "tt.atomic", "tt.call"),
    False: ("scf.", "cf.", "tt.atomic", "tt.call", "tt.load", "tt.store"),
}
"""The beginnings of the names of ops at which a basic block ends, for GPUs of NVIDIA and for others."""


class Product(NamedTuple):
    """A product that an addition takes. ``moves``: what moves its elements on the way, the first one first.
    ``negative``: whether the addition takes it with the other sign.
    """

    op: Operation
    moves: tuple[Operation, ...]
    negative: bool = False

    @property
    def factors(self) -> tuple[SSAValue, SSAValue]:
        """The two factors, whose elements move likewise."""
        first, second = self.op.operands
        return first, second


class Fused(NamedTuple):
    """An addition or subtraction with a product. ``operand``: the number of the operand that is the product. ``sure``:
    whether LLVM certainly takes this product.
    """

    product: Product
    operand: int
    sure: bool


# --- ranks ------------------------------------------------------------------------------------------------------------


class Rank(NamedTuple):
    """The rank of a value. ``accesses``: the number of accesses to memory up to the last one that the value depends on.
    ``low``, ``high``: the number of instructions behind that access, at least and at most.
    """

    accesses: int
    low: int
    high: int


_NO_RANK = Rank(0, 0, 0)
_ONE_INSTRUCTION = frozenset(
    [
        f"arith.{name}"
        for name in ("addf", "subf", "mulf", "divf", "maxnumf", "minnumf", "select", "addi", "muli", "subi")
    ]
    + ["math.absf", "math.fma", "math.floor", "math.ceil"]
)
_ACCESSES = frozenset(
    ("tt.load", "tt.store", "amdg.buffer_load", "amdg.buffer_store", "ttg.local_load", "ttg.local_store")
)
_LOADS = frozenset(("tt.load", "amdg.buffer_load"))
_MOST, _FEWEST = 8, -(1 << 20)
"""The most instructions behind one another that another op becomes, and the bound of those that are not known."""


class _Ranks:
    """The ranks of the values of a function, as far as they are known."""

    def __init__(self, function: Operation) -> None:
        self._function = function
        self._known: dict[SSAValue, Rank] = {}
        self._accesses: dict[Operation, int] = {}
        count = 0
        for op in function.walk():
            count += op.name in _ACCESSES
            self._accesses[op] = count

    @staticmethod
    def lower(one: Rank, other: Rank) -> bool | None:
        """Tell whether a rank is lower than another one; None if that is not known."""
        between = other.accesses - one.accesses  # each of them is at least one instruction
        if between >= 0 and one.high < between + other.low:
            return True
        return False if between <= 0 and other.high <= one.low - between else None

    def of(self, value: SSAValue) -> Rank:
        """Return the rank of a value."""
        if value not in self._known:
            self._known[value] = self._found(value)
        return self._known[value]

    def _found(self, value: SSAValue) -> Rank:
        if not isinstance(value, OpResult):
            assert isinstance(value, BlockArgument)
            around = value.block.parent.parent if value.block.parent is not None else None
            if around is None or around is self._function:
                return Rank(0, 2 + value.index, 2 + value.index)
            return Rank(self._accesses[around], _FEWEST, _MOST)
        op = value.owner
        if op.name == "arith.constant":
            return _NO_RANK
        if op.name == "tt.load":
            return Rank(self._accesses[op], 1, 1)
        if (op.name not in _MOVES and not op.name.startswith(("arith.", "math."))) or not _in_registers(op):
            return Rank(self._accesses[op], _FEWEST, _MOST)
        found = _NO_RANK
        for operand in op.operands:
            found = self._higher(found, self.of(operand))
        if op.name in ("arith.negf", "tt.splat", "tt.unsplat"):
            return found
        if op.name in _MOVES:  # the element may be that of another register, which has another rank
            return Rank(found.accesses, _FEWEST, found.high) if found.accesses else found
        return Rank(found.accesses, found.low + 1, found.high + (1 if op.name in _ONE_INSTRUCTION else _MOST))

    @staticmethod
    def _higher(one: Rank, other: Rank) -> Rank:
        if one.accesses > other.accesses:
            one, other = other, one
        less = other.accesses - one.accesses
        low = max(one.low, other.low) if not less else other.low
        return Rank(other.accesses, low, max(other.high, one.high - less))


class Contraction:
    """What LLVM fuses in one function for a target."""

    def __init__(self, function: Operation, target: Target) -> None:
        self._target = target
        self._users: dict[SSAValue, list[Operation]] = {}
        self._segments: dict[Operation, int] = {}
        self._ranks = _Ranks(function)
        for op in function.walk():
            for value in op.used_values:
                self._users.setdefault(value, []).append(op)
        segment = 0
        for op in function.walk():
            if op.name.startswith(_BRANCHING[target.is_cuda]):
                segment += 1
            self._segments[op] = segment

    # --- products ---

    def product(self, value: SSAValue, user: Operation) -> Product | None:
        """Return the product that a value is, as an op sees it in its basic block; None for any other value."""
        moves: list[Operation] = []
        negative = False
        while isinstance(value, OpResult):
            op = value.owner
            if op.parent is not user.parent or self._segments[op] != self._segments[user]:
                return None
            if op.name == "arith.mulf":
                element = str(ty.element_type(value.type))
                if element not in self._target.fused or self._leaves_loop(op):
                    return None
                return Product(op, tuple(moves[::-1]), negative)
            if op.name == "arith.negf":
                negative, value = not negative, op.operands[0]
                continue
            if not (_is_sum_of_one(op) or (op.name in _MOVES and _in_registers(op))):
                return None
            moves.append(op)
            value = op.operands[0]
        return None

    @staticmethod
    def _leaves_loop(op: Operation) -> bool:
        """Tell whether a product is the same in all iterations of its loop: LLVM computes it before the loop."""
        around, block = op.parent_op, op.parent
        if around is None or block is None or around.name not in ("scf.for", "scf.while"):
            return False
        outside = [value for value in op.operands if value not in block.arguments]
        return len(outside) == len(op.operands) and not any(
            isinstance(value, OpResult) and value.owner.parent is block for value in outside
        )

    def _uses(self, value: SSAValue, additions: bool = True) -> int:
        """Return the number of uses of an element in a thread. ``additions``: whether those by additions count."""
        count = 0
        for op in self._users.get(value, ()):
            if op.name in _MOVES:
                own, moved = (prod(sizes_of(each.type)) for each in (value, op.results[0]))
                count += max(moved // own, 1) * self._uses(op.results[0], additions)
            else:
                count += additions or op.name not in ("arith.addf", "arith.subf")
        return count

    def fused(self, op: Operation) -> Fused | None:
        """Return the product that an addition or subtraction takes; None if it takes none."""
        products = [self.product(value, op) for value in op.operands]
        found = [(number, product) for number, product in enumerate(products) if product is not None]
        if not found:
            return None
        sure = not any(self.hidden(product) for _, product in found) and not self.may_take_another(op)
        if len(found) > 1 and self._alike(*[product for _, product in found]):
            doubled = op.name == "arith.addf" and str(ty.element_type(op.results[0].type)) not in self._target.doubled
            return None if doubled else Fused(found[0][1], 0, sure)
        if len(found) > 1:
            chosen, ordered = self._chosen(op, [product.op.results[0] for _, product in found])
            sure = sure and ordered and not any(product.negative for _, product in found)
            found = [found[chosen]]
        number, product = found[0]
        return Fused(product, number, sure)

    def _chosen(self, op: Operation, products: Sequence[SSAValue]) -> tuple[int, bool]:
        """Return which of two products an addition or subtraction takes, and whether that is certain."""
        first, second = map(self._uses, products)
        if first != second:
            # Another addition that takes the product, and so is no use of it any more, may come before.
            others, more = (self._uses(product, additions=False) for product in products)
            return int(first > second), others != more and (others > more) == (first > second)
        preferred = self._target.preferred
        if any(map(self._has_sign, products)):  # an addition may have become a subtraction of the other one
            return preferred, False
        if op.name != "arith.addf":
            return preferred, True
        # The operand of lower rank is first; if both have the same one, that of the text.
        swapped = self._ranks.lower(*[self._ranks.of(product) for product in products[::-1]])
        return (1 - preferred if swapped else preferred), swapped is not None

    @staticmethod
    def _has_sign(product: SSAValue) -> bool:
        """Tell whether a product has a factor whose sign LLVM may move out of it, or two whose signs do not matter."""
        assert isinstance(product, OpResult)
        factors = product.owner.operands
        if all(_is_of("math.absf", factor) for factor in factors):
            return True
        return any(_is_constant(factor) or _is_of("arith.negf", factor) for factor in factors)

    @staticmethod
    def _alike(one: Product, other: Product) -> bool:
        return one[1:] == other[1:] and set(one.factors) == set(other.factors)

    @staticmethod
    def _of_loads(product: Product) -> bool:
        """Tell whether the factors are two f32 loads without a mask: LLVM makes no vector of such products."""
        first, second = product.factors
        return (
            not product.moves
            and first is not second
            and all(
                isinstance(value, OpResult)
                and value.owner.name in _LOADS
                and ty.element_type(value.type) == ty.F("f32")
                and len(value.owner.operands) == (2 if value.owner.name == "amdg.buffer_load" else 1)
                for value in product.factors
            )
        )

    @staticmethod
    def is_carried(product: Product) -> bool:
        """Tell whether a loop carries a factor: which of two such products of a thread LLVM takes is not known, since
        it depends on the order of the registers that the loop carries.
        """
        factors = map(_source, product.factors)
        return any(
            isinstance(each, BlockArgument) and each.block.parent is not None and _is_in_loop(each.block.parent.parent)
            for each in factors
        )

    def may_take_another(self, op: Operation) -> bool:
        """Tell whether an addition may take a product that the text does not show in its basic block."""
        return self.takes_combination(op) or self.crosses_iterations(op) or self.crosses_choices(op)

    @staticmethod
    def takes_combination(op: Operation) -> bool:
        """Tell whether an operand of an addition is what a reduction or scan by products combined last: LLVM may fuse
        that product too.
        """
        for value in op.operands:
            while isinstance(value, OpResult) and (value.owner.name in _MOVES or value.owner.name == "arith.negf"):
                value = value.owner.operands[0]
            if isinstance(value, OpResult) and value.owner.name in ("tt.reduce", "tt.scan"):
                last = value.owner.regions[0].blocks[0].operations[-1]
                if any(_is_of("arith.mulf", each) for each in last.operands):
                    return True
        return False

    def crosses_iterations(self, op: Operation) -> bool:
        """Tell whether an addition may take a product of another iteration, or of a loop before it, or whether the one
        that it takes may be hidden: LLVM writes the iterations of a loop one after the other if it knows how many there
        are, and may then compute the products of several as one vector.
        """
        around = op.parent_op
        while around is not None and not _is_unrolled(around):
            around = around.parent_op
        if around is not None:
            return any(_may_be_product(value, set()) for value in op.operands)
        through = (_source(value) for value in op.operands)
        return any(
            isinstance(value, OpResult) and _is_unrolled(value.owner) and _may_be_product(value, set())
            for value in through
        )

    def crosses_choices(self, op: Operation) -> bool:
        """Tell whether an addition may take a product from before a branch or out of one: LLVM may compute both ways
        and choose a result, and it moves what both ways begin with before the branch.
        """
        for value in map(_source, op.operands):
            if not isinstance(value, OpResult):
                continue
            made = value.owner
            if made.name == "scf.if":
                ends = [_source(region.blocks[-1].operations[-1].operands[value.index]) for region in made.regions]
                if all(_is_of("arith.mulf", end) for end in ends):
                    return True
            elif made.name == "arith.mulf" and self._only_choices(made, op):
                return True
        return False

    def _only_choices(self, made: Operation, op: Operation) -> bool:
        """Tell whether all that separates an op from an earlier one is ``scf.if``, at least one."""
        top, found = op, False
        while top.parent is not made.parent:
            around = top.parent_op
            if around is None or around.name != "scf.if":
                return False
            top, found = around, True
        assert made.parent is not None
        ops = made.parent.operations
        for each in ops[ops.index(made) : ops.index(top)]:
            if each.name.startswith(_BRANCHING[self._target.is_cuda]):
                inner = [one.name for one in each.walk()]
                if each.name != "scf.if" or any(
                    name.startswith(("scf.for", "scf.while", "tt.", "ttg.")) for name in inner
                ):
                    return False
                found = True
        return found

    def hidden(self, product: Product) -> bool:
        """Tell whether LLVM may have hidden a product: the product of a constant and a choice with a constant becomes a
        choice, and for AMD two products become a vector.
        """
        if any(map(_is_constant, product.factors)) and any(map(self._is_choice, product.factors)):
            return True
        if all(_is_of("math.absf", factor) for factor in product.factors):  # it becomes the magnitude of a product
            return product.factors[0] is not product.factors[1]
        if any(_is_of("arith.uitofp", factor) for factor in product.factors):  # of i1, it is a choice
            return True
        if self._is_used_elsewhere(product.op, product.op.results[0]):  # the addition may be moved behind a loop
            return True
        if self._target.is_cuda or product.op.parent is None:
            return False
        factors = set(product.factors)
        return product.op in self._paired or any(
            op is not product.op
            and op.name == "arith.mulf"
            and op.results[0].type == product.op.results[0].type
            and factors & set(op.operands)
            for op in product.op.parent.operations
        )

    def _is_used_elsewhere(self, made: Operation, value: SSAValue) -> bool:
        """Tell whether an element is also used in another basic block than that of the op that made it."""
        for op in self._users.get(value, ()):
            if op.parent is not made.parent or self._segments[op] != self._segments[made]:
                return True
            if op.name in _MOVES and self._is_used_elsewhere(made, op.results[0]):
                return True
        return False

    @cached_property
    def _paired(self) -> set[Operation]:
        """The products that are added to another one, which LLVM computes for AMD as one vector."""
        found: set[Operation] = set()
        for op in self._segments:
            if op.name in ("arith.addf", "arith.subf"):
                products = [self.product(value, op) for value in op.operands]
                pair = [each for each in products if each is not None]
                if len(pair) > 1 and not self._alike(*pair) and not all(map(self._of_loads, pair)):
                    found.update(each.op for each in pair)
        return found

    def _is_choice(self, value: SSAValue) -> bool:
        """Tell whether a value is a choice with a constant, as a load with a mask is for AMD."""
        if not isinstance(value, OpResult):
            return False
        op = value.owner
        if op.name == "arith.select":
            return any(map(_is_constant, op.operands[1:]))
        return not self._target.is_cuda and op.name in _LOADS and any(map(_is_constant, op.operands[-1:]))


def _stays(op: Operation) -> bool:
    """Tell whether LLVM leaves an op behind its branch: it accesses memory, takes several threads, or is a loop."""
    return op.name in _ACCESSES or op.name.startswith(("scf.for", "scf.while", "tt.atomic", "tt.call", "tt.reduce"))


_MOST_TRIPS = 128
"""The most iterations of a loop that LLVM may write one after the other."""


def _is_unrolled(op: Operation) -> bool:
    """Tell whether LLVM may write the iterations of a loop one after the other."""
    if op.name != "scf.for" or not all(map(_is_constant, op.operands[:3])):
        return False
    begin, end, step = (_number(value) for value in op.operands[:3])
    return end - begin <= _MOST_TRIPS * max(step, 1)


def _number(value: SSAValue) -> int:
    assert isinstance(value, OpResult)
    number = value.owner.properties.get("value")
    return number.value if isinstance(number, at.IntegerAttr) else 0


def _source(value: SSAValue) -> SSAValue:
    """Return the value whose elements were moved or negated."""
    while isinstance(value, OpResult) and (
        value.owner.name in _MOVES or value.owner.name == "arith.negf" or _is_sum_of_one(value.owner)
    ):
        value = value.owner.operands[0]
    return value


def _may_be_product(value: SSAValue, seen: set[SSAValue]) -> bool:
    """Tell whether a value may be a product, also one that a loop carries, whose iterations LLVM may write one after
    the other.
    """
    value = _source(value)
    if value in seen:
        return False
    seen.add(value)
    if isinstance(value, OpResult):
        if not _is_unrolled(value.owner):
            return value.owner.name == "arith.mulf"
        loop, number = value.owner, value.index
    else:
        assert isinstance(value, BlockArgument)
        around = value.block.parent.parent if value.block.parent is not None else None
        if around is None or not _is_unrolled(around) or not value.index:
            return False
        loop, number = around, value.index - 1
    yielded = loop.regions[0].blocks[0].operations[-1].operands[number]
    return _may_be_product(loop.operands[3 + number], seen) or _may_be_product(yielded, seen)


def _is_sum_of_one(op: Operation) -> bool:
    """Tell whether an op is a reduction of one element, which is the element itself."""
    if op.name != "tt.reduce" or len(op.operands) != 1:
        return False
    axis = op.properties["axis"]
    return isinstance(axis, at.IntegerAttr) and sizes_of(op.operands[0].type)[axis.value] == 1


def _is_in_loop(op: Operation | None) -> bool:
    return op is not None and op.name.startswith("scf.")


def _is_of(name: str, value: SSAValue) -> bool:
    """Tell whether an op of a name made a value."""
    return isinstance(value, OpResult) and value.owner.name == name


def _is_constant(value: SSAValue) -> bool:
    while isinstance(value, OpResult) and value.owner.name == "tt.splat":
        value = value.owner.operands[0]
    return isinstance(value, OpResult) and value.owner.name == "arith.constant"


def _in_registers(op: Operation) -> bool:
    """Tell whether an op moves no element to another thread."""
    if op.name != "ttg.convert_layout":
        return True
    layouts = []
    for value in (op.operands[0], op.results[0]):
        encoding = encoding_of(value.type)
        if encoding is None:
            return False
        try:
            layouts.append(layout_of(encoding, sizes_of(value.type)))
        except ValueError:
            return False
    return layouts[0].same_threads(layouts[1])


# --- evaluation -------------------------------------------------------------------------------------------------------


def _mover(op: Operation, settings: Settings, lanes: bool) -> Function:
    if _is_sum_of_one(op):
        type_ = op.results[0].type
        shape = sizes_of(type_)
        return lambda run, given: (reshaped(given[0], type_, (*given[0].shape[: given[0].over_lanes], *shape)),)
    evaluator = evaluator_of(op)
    found: Function = (lanes and evaluator.in_lanes(op, settings)) or evaluator.build(op, settings)
    return found


Moved = Callable[[Run, Value], Value]


def moved_by(product: Product, settings: Settings, lanes: bool = False) -> Moved:
    """Return the function that moves the elements of a factor as those of the product are moved. ``lanes``: whether
    values are over the lanes of a batch.
    """
    steps: list[Function] = [_mover(op, settings, lanes) for op in product.moves]

    def move(run: Run, value: Value) -> Value:
        for step in steps:
            (value,) = step(run, (value,))
        return value

    return move


def signed_by(product: Product, settings: Settings, lanes: bool = False) -> Moved:
    """Return the function that moves the elements of the first factor, and changes their signs if the product is taken
    with the other sign.
    """
    move = moved_by(product, settings, lanes)
    if not product.negative:
        return move
    last = product.moves[-1] if product.moves else product.op
    minus = negate(product.op, last.results[0].type, settings)
    return lambda run, value: minus(run, move(run, value))


Fuse = Callable[[Run, Value, Value, Value], Value]


def fused_step(op: Operation, type_: ty.Type, settings: Settings) -> PointwiseStep:
    """Return the step of a fused multiply-add on values of a type, as a part of an op."""
    return elementwise_step(op, "math.fma", (type_, type_, type_), type_, settings)


def fuse(op: Operation, type_: ty.Type, settings: Settings) -> Fuse:
    """Return the function of a fused multiply-add on values of a type, as a part of an op."""
    step = fused_step(op, type_, settings)

    def run_(run: Run, a: Value, b: Value, c: Value) -> Value:
        (found,) = step.run(run, (a, b, c))
        return found

    return run_


def negate(op: Operation, type_: ty.Type, settings: Settings) -> Callable[[Run, Value], Value]:
    """Return the function that changes the signs of values of a type, as a part of an op."""
    step = elementwise_step(op, "arith.negf", (type_,), type_, settings)

    def run_(run: Run, a: Value) -> Value:
        (found,) = step.run(run, (a,))
        return found

    return run_


def fused_evaluator(found: Fused, mark: Callable[[Value], Value]) -> OnValues:
    """Return the evaluator of an addition or subtraction that takes a product. ``mark``: is called for its result."""
    product, number, _ = found

    def build(op: Operation, settings: Settings, lanes: bool = False) -> Function:
        type_ = op.results[0].type
        move, multiply_add = moved_by(product, settings, lanes), fuse(op, type_, settings)
        first_move, minus = signed_by(product, settings, lanes), negate(op, type_, settings)
        of_factor, of_other = (op.name == "arith.subf" and number == place for place in (1, 0))

        def run_(run: Run, operands: Operands) -> tuple[Any, ...]:
            first, second, other = operands
            first = first_move(run, first)
            first = minus(run, first) if of_factor else first
            other = minus(run, other) if of_other else other
            return (mark(multiply_add(run, first, move(run, second), other)),)

        return run_

    def reads(op: Operation) -> Sequence[SSAValue]:
        return (*product.factors, op.operands[1 - number])

    return OnValues(build, reads=reads, in_lanes=partial(build, lanes=True))
