"""Reductions and scans: in the order of the layout for a target, else one element after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from halfulp.fp_formats.formats import Codes, Mask
from halfulp.interp.dialects.elements import combined, picked, rearranged
from halfulp.interp.dialects.structured.arrays import OnArrays, is_plain, plan_of
from halfulp.interp.dialects.structured.body import runs_on_arrays
from halfulp.interp.dialects.structured.evaluate import step_with_body
from halfulp.interp.dialects.structured.structure import PARALLEL, REDUCTION, Structure
from halfulp.interp.dialects.triton import orders
from halfulp.interp.dialects.triton.compiling import KernelCompiler, inner_op, opened
from halfulp.interp.dialects.triton.contraction import (
    Contraction,
    Fuse,
    Moved,
    Product,
    fuse,
    fused_step,
    moved_by,
    signed_by,
)
from halfulp.interp.dialects.triton.layouts import Along, Places, layout_of
from halfulp.interp.dialects.triton.rules import sizes_of
from halfulp.interp.dialects.triton.targets import Target, encoding_of, target_of
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, OpResult, SSAValue
from halfulp.interp.run.evaluators import Compiler, Elementwise, OnRawSlots, evaluator_of
from halfulp.interp.run.folding import running
from halfulp.interp.run.frames import Run, Step
from halfulp.interp.values.lanes import alike
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Kernel

# --- regions ----------------------------------------------------------------------------------------------------------


class _Region:
    """The region of a reduction or a scan, compiled: it combines accumulators with elements."""

    def __init__(self, op: Operation, compiler: Compiler, rank: int, along: int) -> None:
        """``rank``: the number of dimensions of the accumulators. ``along``: the number of dimensions that are folded:
        1, or 0 for one step on all elements.
        """
        half = len(op.operands)
        block = op.regions[0].blocks[0]
        parallel = [Dimension(number) for number in range(rank)]
        whole = [*parallel, Dimension(rank)][: rank + along]
        maps = (
            *[at.AffineMapAttr(len(whole), 0, tuple(whole))] * half,
            *[at.AffineMapAttr(len(whole), 0, tuple(parallel))] * half,
        )
        elements = [ty.element_type(value.type) for value in op.operands]
        sizes = (None,) * rank
        inputs = [SSAValue(ty.TensorType(sizes + (None,) * along, element)) for element in elements]
        inits = [SSAValue(ty.TensorType(sizes, element)) for element in elements]
        arguments = (*block.arguments[half:], *block.arguments[:half])
        structure = Structure(maps, (PARALLEL,) * rank + (REDUCTION,) * along, inputs, inits, block, arguments)
        plan = plan_of(structure)
        if plan is None or not runs_on_arrays(structure):
            raise Unsupported(
                f"halfulp does not evaluate '{op.name}' if its region has ops that do not work element by element",
                location=op.location,
                op=op.name,
            )
        self._arrays = OnArrays(op, structure, plan, compiler)
        self.outside = [(slot, type_) for slot, _, type_ in self._arrays.body.outside]

    def run(self, run: Run, values: Sequence[Value], first: Sequence[Value], captured: Sequence[Value]) -> list[Value]:
        """Return accumulators, which begin with ``first``, after they took the values."""
        return self._arrays.run(run, [*values, *first], captured)


class _Unclean(Exception):
    """An op of a region has a fault."""


class Link(NamedTuple):
    """An op of a region, its kernel, and the numbers of its operands: accumulators come first, then elements, then the
    results of the links.
    """

    op: Operation
    kernel: Kernel
    operands: tuple[int, ...]


Compute = Callable[[Link, Sequence[Codes]], Sequence[Codes]]
"""Returns the results of an op of a region."""


def _by_kernel(link: Link, operands: Sequence[Codes]) -> Sequence[Codes]:
    outcome = link.kernel.array(*operands)
    if outcome.faults:
        raise _Unclean
    return outcome.results


class Links(NamedTuple):
    """A region on codes alone. ``yields``: the numbers of what it returns."""

    links: Sequence[Link]
    yields: Sequence[int]

    def combine(
        self, accumulators: Sequence[Codes], elements: Sequence[Codes], compute: Compute = _by_kernel
    ) -> list[Codes]:
        """Return the combinations of accumulators with elements, both as arrays of codes. Raises _Unclean."""
        found = [*accumulators, *elements]
        for link in self.links:
            found += compute(link, [found[number] for number in link.operands])
        return [found[number] for number in self.yields]


def _on_codes(op: Operation, compiler: Compiler) -> Links | None:
    """Return the function of a region on codes alone, which takes less time than `_Region`; None if elements carry
    marks, or an op needs more than codes.
    """
    settings = compiler.settings
    if settings.marks_elements or settings.listeners or settings.random is not None:
        return None
    *inner, last = op.regions[0].blocks[0].operations
    numbers: dict[SSAValue, int] = {
        argument: number for number, argument in enumerate(op.regions[0].blocks[0].arguments)
    }
    links: list[Link] = []
    for each in inner:
        evaluator = evaluator_of(each)
        plain = isinstance(evaluator, Elementwise) and not evaluator.may_be_scalar
        if each.name == "arith.select":
            kernel: Kernel | None = evaluator.kernel
        else:
            kernel = compiler.kernel(each, evaluator) if plain else None
        simple = all(is_plain(value.type) for value in (*each.operands, *each.results))
        if kernel is None or kernel.notice is not None or not simple or not numbers.keys() >= set(each.operands):
            return None
        links.append(Link(each, kernel, tuple([numbers[value] for value in each.operands])))
        for result in each.results:
            numbers[result] = len(numbers)
    if not numbers.keys() >= set(last.operands):
        return None
    return Links(links, [numbers[value] for value in last.operands])


_ASSOCIATIVE = frozenset(
    f"arith.{name}" for name in ("maxnumf", "minnumf", "maximumf", "minimumf", "cmpf", "cmpi", "select")
)


def depends_on_order(op: Operation) -> bool:
    """Tell whether the order in which a region combines elements may change the result: it computes with floats."""
    for inner in op.regions[0].blocks[0].operations[:-1]:
        computes = any(isinstance(ty.element_type(result.type), ty.FloatType) for result in inner.results)
        if computes and inner.name not in _ASSOCIATIVE:
            return True
    return False


def _may_fuse(op: Operation) -> bool:
    """Tell whether LLVM may fuse products in a region into additions there."""
    names = [inner.name for inner in op.regions[0].blocks[0].operations]
    return "arith.mulf" in names and ("arith.addf" in names or "arith.subf" in names)


def _of_type(type_: ty.Type, value: Value) -> Value:
    return Value(type_, value.bits, value.poison, value.open, value.origins)


# --- in the order of a layout -----------------------------------------------------------------------------------------


class _Rows:
    """The rows of states for `orders`: each state is a value for each operand, [rows, other elements]."""

    def __init__(self, run: Run, region: _Region, captured: Sequence[Value]) -> None:
        self._run, self._region, self._captured = run, region, captured

    def take(self, state: list[Value], rows: Places) -> list[Value]:
        """Return some rows."""
        return [picked(value, (rows,), value.type) for value in state]

    def join(self, states: Sequence[list[Value]]) -> list[Value]:
        """Return the rows of several states, one state after the other."""
        return [combined(self._run, values, values[0].type, np.concatenate) for values in zip(*states, strict=True)]

    def combine(self, accumulators: list[Value], elements: list[Value]) -> list[Value]:
        """Return the combinations of rows."""
        return self._region.run(self._run, elements, accumulators, self._captured)


class _FusedRows(_Rows):
    """The rows of the sum of a product: a state begins with the product and its two factors. Its first additions are
    fused with the product of the accumulator.
    """

    def __init__(self, run: Run, region: _Region, captured: Sequence[Value], multiply_add: Fuse) -> None:
        super().__init__(run, region, captured)
        self._multiply_add = multiply_add

    def combine(self, accumulators: list[Value], elements: list[Value]) -> list[Value]:
        """Return the combinations of rows."""
        if len(accumulators) == 1:
            return super().combine(accumulators, elements)
        _, first, second = accumulators
        return [self._multiply_add(self._run, first, second, elements[0])]


class CodeRows:
    """The rows of states that are clean, as arrays of codes. ``compute``: computes an op of the region.
    ``multiply_add``: the op of the first additions of the sum of a product, fused, as in `_FusedRows`.
    """

    def __init__(self, links: Links, multiply_add: Link | None = None, compute: Compute = _by_kernel) -> None:
        self.links, self.multiply_add = links, multiply_add
        self._compute = compute

    def take(self, state: list[Codes], rows: Places) -> list[Codes]:
        """Return some rows."""
        return [codes[rows] for codes in state]

    def join(self, states: Sequence[list[Codes]]) -> list[Codes]:
        """Return the rows of several states, one state after the other."""
        return [np.concatenate(codes) for codes in zip(*states, strict=True)]

    def combine(self, accumulators: list[Codes], elements: list[Codes]) -> list[Codes]:
        """Return the combinations of rows. Raises _Unclean."""
        if self.multiply_add is None or len(accumulators) == 1:
            return self.links.combine(accumulators, elements, self._compute)
        return list(self._compute(self.multiply_add, [*accumulators[1:], elements[0]]))


class _Order:
    """The order that the layout of an op's operands gives, for a target."""

    def __init__(self, op: Operation, compiler: Compiler, target: Target) -> None:
        type_ = op.operands[0].type
        self.op, self.target = op, target
        self.axis = op.number("axis")
        shape = sizes_of(type_)
        self.kept = (*shape[: self.axis], *shape[self.axis + 1 :])
        encoding = encoding_of(type_)
        assert encoding is not None
        try:
            self.along: Along = layout_of(encoding, shape).along(self.axis)
        except ValueError as error:
            raise self.refused(str(error)) from None
        self.region = _Region(op, compiler, 2, 0)
        self.on_codes = _on_codes(op, compiler)
        fused = isinstance(compiler, KernelCompiler) and compiler.contraction is not None
        self.unsure = fused and _may_fuse(op)
        self.settings = compiler.settings

    def refused(self, why: str) -> Unsupported:
        """Return the error of a layout that cannot be followed."""
        return Unsupported(
            f"the order of '{self.op.name}' in the layout of '{self.op.operands[0].type}' is not known: {why}",
            location=self.op.location,
            op=self.op.name,
        )

    def follow(
        self, state: list[Value], rows: _Rows, clean: CodeRows | None, order: Callable[[Any, Any], Any]
    ) -> list[Value]:
        """Return the state that an order gives, on codes if all are clean. ``order``: is called with the rows and the
        state.
        """
        if clean is not None and all(value.poison is None for value in state):
            try:
                found = order(clean, [value.bits for value in state])
            except _Unclean:
                pass
            else:
                return [Value(value.type, codes) for value, codes in zip(state, found, strict=False)]
        made: list[Value] = order(rows, state)
        return made

    def rows(self, value: Value) -> Value:
        """Return a value as rows along the axis."""
        axis = self.axis + value.over_lanes
        size = value.shape[axis]
        type_ = ty.TensorType((None, None), value.element_type)

        def move(array: Any, trailing: tuple[int, ...]) -> Any:
            return np.moveaxis(array, axis, 0).reshape(size, -1, *trailing)

        return rearranged(value, type_, move)

    def columns(self, value: Value, type_: ty.Type, lanes: int) -> Value:
        """Return rows as a value of a type: the inverse of `rows`. ``lanes``: the number of lanes; 0 for a value that
        is not over lanes.
        """
        lead = (lanes,) if lanes else ()
        along = len(sizes_of(type_)) > len(self.kept)
        size = (value.shape[0],) if along else ()

        def move(array: Any, trailing: tuple[int, ...]) -> Any:
            whole = array.reshape((*size, *lead, *self.kept, *trailing))
            return np.moveaxis(whole, 0, len(lead) + self.axis) if along else whole

        return rearranged(value, type_, move)


class InLayout(NamedTuple):
    """A reduction or a scan in the order of a layout. ``links``, ``multiply_add``: those of its clean rows.
    ``product``: the product that its first additions take. ``follow``: what the order makes of rows and a state.
    """

    order: _Order
    links: Links | None
    multiply_add: Link | None
    product: Product | None
    follow: Callable[[Any, Any], Any]

    @property
    def clean(self) -> CodeRows | None:
        """The rows of clean states; None if there are none."""
        return None if self.links is None else CodeRows(self.links, self.multiply_add)


def in_layout(op: Operation, compiler: Compiler) -> InLayout | None:
    """Return a reduction or a scan in the order of the layout of its operand; None without a target. Raises Unsupported
    if the order is not known.
    """
    target = target_of(op)
    if target is None or encoding_of(op.operands[0].type) is None:
        return None
    order = _Order(op, compiler, target)
    along = order.along
    if op.name == "tt.scan":
        try:
            orders.parts_of(along)
        except ValueError as error:
            raise order.refused(str(error)) from None
        reverse = bool(op.number("reverse"))
        return InLayout(order, order.on_codes, None, None, lambda rows, s: orders.scanned(rows, s, along, reverse))
    element = str(ty.element_type(op.operands[0].type))
    tree = orders.tree_of(along, target, inner_op(op), element, len(op.operands))
    whole_wave = len(along.lanes) == along.all_lanes and len(op.operands) == 1
    shifts = target.shifts if whole_wave else ()
    product = compiler.product_of(op) if isinstance(compiler, KernelCompiler) else None
    product = product if along.registers or along.lanes else None
    first: Link | None = None
    if product is not None:
        step = fused_step(op, _rows_of(op), compiler.settings)
        first = Link(step.op, step.kernel, ())
    return InLayout(order, order.on_codes, first, product, lambda rows, s: orders.reduced(rows, s, along, tree, shifts))


def _rows_of(op: Operation) -> ty.Type:
    return ty.TensorType((None, None), ty.element_type(op.operands[0].type))


def _reduce_by_layout(op: Operation, compiler: Compiler, found: InLayout) -> Step:
    order, _, _, product, follow = found
    along, settings = order.along, compiler.settings
    types = [result.type for result in op.results]
    # A scalar that is stored is that of the first thread; else each thread goes on with its own copy.
    spread = any(map(_is_spread, op.results))
    in_memory = bool(along.warps) or spread
    factors: list[tuple[int, ty.Type]] = []
    moves: list[Moved] = []
    multiply_add: Fuse | None = None
    if product is not None:
        assert isinstance(compiler, KernelCompiler)
        together = compiler.together
        moves = [signed_by(product, settings, together), moved_by(product, settings, together)]
        multiply_add = fuse(op, _rows_of(op), settings)
        order.unsure |= compiler.hides(product) or (bool(along.registers) and Contraction.is_carried(product))
        factors = list(zip(compiler.slots(product.factors), [each.type for each in product.factors], strict=True))
    outside, clean = order.region.outside, found.clean

    def reduce(run: Run, values: Sequence[Value], captured: Sequence[Value]) -> Sequence[Value]:
        inner, given = captured[: len(outside)], captured[len(outside) :]
        values = alike(*values, *(move(run, each) for move, each in zip(moves, given, strict=True)))
        lanes = values[0].shape[0] if values[0].over_lanes else 0
        state = [order.rows(value) for value in values]
        rows = _Rows(run, order.region, inner)
        if multiply_add is not None:
            rows = _FusedRows(run, order.region, inner, multiply_add)
        copies: tuple[list[Value], int] | None = None
        ends: list[Value] = []
        if clean is not None:
            reduced = order.follow(state, rows, clean, lambda rows, s: follow(rows, s).state)
        else:
            reduced, copies, ends = follow(rows, state)
        made = [order.columns(value, type_, lanes) for value, type_ in zip(reduced, types, strict=True)]
        if not settings.track_open:
            return made
        if order.unsure:
            return [opened(value, settings) for value in made]
        differs = _differ(copies[0], copies[1], order, rows) if copies is not None and in_memory else None
        if spread and along.warps:
            apart = _apart([value.bits for value in ends])
            differs = apart if differs is None else differs | apart
        return made if differs is None or not differs.any() else _marked(order, made, differs)

    return step_with_body(op, compiler, reduce, [*outside, *factors])


def _is_spread(result: SSAValue) -> bool:
    """Tell whether several threads use a result: it is a tensor, or may become one or be carried by a loop."""
    if isinstance(result.type, ty.TensorType):
        return True
    assert isinstance(result, OpResult)
    top = result.owner
    reached: set[SSAValue] = {result}
    while top.parent_op is not None:
        top = top.parent_op
    for op in top.walk():
        if reached.isdisjoint(op.used_values):
            continue
        if (
            op.regions
            or op.name.startswith(("scf.", "cf."))
            or any(isinstance(each.type, ty.TensorType) for each in op.results)
        ):
            return True
        reached.update(op.results)
    return False


_MONOTONE = frozenset(("addf", "maxnumf", "minnumf", "maximumf", "minimumf"))
"""Ops whose result grows with each operand."""


def _apart(copies: Sequence[Codes]) -> Mask:
    """Tell where copies differ, the rows of arrays of codes."""
    return np.asarray(np.any([(bits != bits[:1]).any(axis=0) for bits in copies], axis=0))


def _differ(state: list[Value], lanes: int, order: _Order, rows: _Rows) -> Mask:
    """Tell where results depend on the lane of a warp whose copy goes on.

    ``state``: the copies, rows for [warps, lanes]. If the region is a function that grows, the least and the greatest
    copies give all results; else any difference counts.
    """
    copies = [value.bits.reshape(-1, lanes, *value.bits.shape[1:]) for value in state]
    differs = np.any([(bits != bits[:, :1]).any(axis=(0, 1)) for bits in copies], axis=0)
    if differs.any() and inner_op(order.op) in _MONOTONE:
        low, high = (
            orders.across_warps(rows, [_extreme(state[0], copies[0], pick)], len(copies[0]))[0].bits[:1]
            for pick in (np.argmin, np.argmax)
        )
        return np.asarray((low != high)[0])
    return np.asarray(differs)


def _marked(order: _Order, results: Sequence[Value], differs: Mask) -> Sequence[Value]:
    """Return results with marks where they are not determined."""
    marks = differs.reshape(order.kept)
    found = []
    for result in results:
        fresh = opened(result, order.settings).open
        assert fresh is not None
        kept = np.zeros(marks.shape, np.uint8) if result.open is None else result.open
        found.append(Value(result.type, result.bits, result.poison, np.where(marks, fresh, kept), result.origins))
    return found


def _extreme(value: Value, copies: Codes, pick: Callable[..., Any]) -> Value:
    """Return the least or the greatest copy of each warp, [warps, other elements]."""
    top = copies.dtype.type(1 << 8 * copies.dtype.itemsize - 1)
    ordered = np.where(copies & top, ~copies, copies | top)
    where = np.expand_dims(pick(ordered, axis=1), 1)
    return Value(value.type, np.take_along_axis(copies, where, axis=1)[:, 0])


def _scan_by_layout(op: Operation, compiler: Compiler, found: InLayout) -> Step:
    order, follow, clean = found.order, found.follow, found.clean
    types, settings = [result.type for result in op.results], compiler.settings
    unsure = order.unsure or (isinstance(compiler, KernelCompiler) and compiler.product_of(op) is not None)

    def scan(run: Run, values: Sequence[Value], captured: Sequence[Value]) -> Sequence[Value]:
        rows, values = _Rows(run, order.region, captured), alike(*values)
        lanes = values[0].shape[0] if values[0].over_lanes else 0
        state = [order.rows(value) for value in values]
        scanned = order.follow(state, rows, clean, follow)
        made = [order.columns(value, type_, lanes) for value, type_ in zip(scanned, types, strict=True)]
        return [opened(value, settings) for value in made] if unsure else made

    return step_with_body(op, compiler, scan, order.region.outside)


# --- one after the other ----------------------------------------------------------------------------------------------


def _prefixes(op: Operation, links: Links, state: Sequence[Codes]) -> list[Codes]:
    """Return the accumulators after each row of clean elements [rows, others], in the order of the rows. Raises
    _Unclean.

    They are guessed: by NumPy's running sums, or as if the region were associative. Then one step for all rows tells
    whether each guess follows from the one before.
    """
    combine = links.combine
    guess = running(f"arith.{inner_op(op)}", ty.element_type(op.operands[0].type), state[0])
    found = [*state] if guess is None else [guess]
    step = 1
    while guess is None and step < len(state[0]):
        later = combine([codes[:-step] for codes in found], [codes[step:] for codes in found])
        found = [np.concatenate([codes[:step], rest]) for codes, rest in zip(found, later, strict=True)]
        step *= 2
    follows = combine([codes[:-1] for codes in found], [codes[1:] for codes in state])
    if all(np.array_equal(codes[1:], rest) for codes, rest in zip(found, follows, strict=True)):
        return found
    rows = [[codes[:1] for codes in state]]
    for place in range(1, len(state[0])):
        rows.append(combine(rows[-1], [codes[place : place + 1] for codes in state]))
    return [np.concatenate(each) for each in zip(*rows, strict=True)]


def in_sequence(op: Operation, compiler: Compiler) -> Links | None:
    """Return the region of a reduction or scan that combines one element after the other, on codes; None for the order
    of a layout, and if an op needs more than codes.
    """
    ordered = target_of(op) is not None and encoding_of(op.operands[0].type) is not None
    return None if ordered else _on_codes(op, compiler)


class _Folding:
    """A reduction or a scan that combines the elements along an axis one after the other."""

    def __init__(self, op: Operation, compiler: Compiler, along: int) -> None:
        shape = sizes_of(op.operands[0].type)
        self.axis = op.number("axis")
        self._kept = tuple(size for axis, size in enumerate(shape) if axis != self.axis)
        self._op = op
        self.region = _Region(op, compiler, len(self._kept), along)
        self._on_codes = _on_codes(op, compiler)

    def prefixes(self, run: Run, values: Sequence[Value], reverse: bool) -> list[Codes] | None:
        """Return the accumulators after each place of the axis, which is the first one, as codes; None if elements are
        not clean, or an op fails. ``reverse``: whether the last place comes first.
        """
        if self._on_codes is None or any(value.poison is not None for value in values):
            return None
        way = slice(None, None, -1 if reverse else 1)
        state = [np.moveaxis(value.bits, value.over_lanes + self.axis, 0)[way] for value in alike(*values)]
        flat = [codes.reshape(len(codes), -1) for codes in state]
        run.charge(self._op, flat[0].size)
        try:
            found = _prefixes(self._op, self._on_codes, flat)
        except _Unclean:
            return None
        return [codes.reshape(state[0].shape)[way] for codes in found]

    def at(self, value: Value, place: int) -> Value:
        """Return the elements at one place of the axis."""
        return self._part(value, (slice(None),) * (value.over_lanes + self.axis) + (place,), self._kept)

    def after(self, value: Value) -> Value:
        """Return the elements behind the first place of the axis, which becomes the last one."""
        lead, rank = int(value.over_lanes), len(self._kept)
        axis = lead + self.axis
        whole = rearranged(value, value.type, lambda array, trailing: np.moveaxis(array, axis, lead + rank))
        index = (slice(None),) * (lead + rank) + (slice(1, None),)
        return self._part(whole, index, (*self._kept, value.shape[axis] - 1))

    def _part(self, value: Value, index: tuple[Any, ...], shape: tuple[int, ...]) -> Value:
        return picked(value, index, ty.TensorType(shape, value.element_type))


def _reduce_in_order(op: Operation, compiler: Compiler) -> Step:
    folding = _Folding(op, compiler, 1)
    depends, settings = depends_on_order(op), compiler.settings
    types = [result.type for result in op.results]
    only = sizes_of(op.operands[0].type)[folding.axis] == 1

    def opened_if(value: Value) -> Value:
        return opened(value, settings) if depends and not only else value

    def reduce(run: Run, values: Sequence[Value], captured: Sequence[Value]) -> Sequence[Value]:
        rows = None if only or len(values) == 1 else folding.prefixes(run, values, False)
        if rows is not None:
            return [opened_if(Value(type_, codes[-1])) for type_, codes in zip(types, rows, strict=True)]
        found = [folding.at(value, 0) for value in values]
        if not only:
            found = folding.region.run(run, [folding.after(value) for value in values], found, captured)
        return [opened_if(_of_type(type_, each)) for type_, each in zip(types, found, strict=True)]

    return step_with_body(op, compiler, reduce, folding.region.outside)


def _scan_in_order(op: Operation, compiler: Compiler) -> Step:
    folding = _Folding(op, compiler, 0)
    depends, settings = depends_on_order(op), compiler.settings
    types, axis = [result.type for result in op.results], folding.axis
    size = sizes_of(op.operands[0].type)[axis]
    reverse = bool(op.number("reverse"))
    order = range(size)[::-1] if reverse else range(size)

    def scan(run: Run, values: Sequence[Value], captured: Sequence[Value]) -> Sequence[Value]:
        where = axis + any(value.over_lanes for value in values)
        quick = folding.prefixes(run, values, reverse)
        if quick is not None:
            made = [Value(type_, np.moveaxis(codes, 0, where)) for type_, codes in zip(types, quick, strict=True)]
            return [opened(value, settings) for value in made] if depends else made
        rows: list[list[Value]] = [[] for _ in values]
        held: list[Value] = []
        for place in order:
            elements = [folding.at(value, place) for value in values]
            held = folding.region.run(run, elements, held, captured) if held else elements
            for row, value in zip(rows, held, strict=True):
                row.append(value)
        along = [row[::-1] if order.step < 0 else row for row in rows]
        made = [
            combined(run, row, type_, lambda arrays: np.stack(arrays, where))
            for row, type_ in zip(along, types, strict=True)
        ]
        return [opened(value, settings) for value in made] if depends else made

    return step_with_body(op, compiler, scan, folding.region.outside)


# --- evaluators -------------------------------------------------------------------------------------------------------

Build = Callable[[Operation, Compiler], Step]


def _by_target(by_layout: Callable[[Operation, Compiler, InLayout], Step], in_order: Build) -> OnRawSlots:
    def build(op: Operation, compiler: Compiler) -> Step:
        found = in_layout(op, compiler)
        return in_order(op, compiler) if found is None else by_layout(op, compiler, found)

    return OnRawSlots(build)


REDUCE, SCAN = _by_target(_reduce_by_layout, _reduce_in_order), _by_target(_scan_by_layout, _scan_in_order)
