"""Evaluation of the ops that combine elements: reductions, scans, contractions and products.

Elements are combined in the order of the reduced indices, the first dimension outermost, with the accumulator on the
left, unless the profile gives another order to the ops that do not fix it. A contraction rounds each product before it
is added, as a loop over arith.mulf and arith.addf does. A product with an accumulator is a fused multiply-add, as the
document of vector.outerproduct says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from halfulp.fp_formats.formats import Mask
from halfulp.fp_formats.paths.words import Word
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.dialects import elements as el
from halfulp.interp.dialects.elementwise import elementwise_op, elementwise_step, fastmath_of, format_of, neutral
from halfulp.interp.dialects.memref.evaluate import moves_elements
from halfulp.interp.dialects.vector.forms import indices_of, parts
from halfulp.interp.dialects.vector.memory import active_lanes
from halfulp.interp.dialects.vector.moves import integers, kind_of, spoiled, static_shape
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.attributes import AffineMapAttr, Attribute
from halfulp.interp.ir.operations import Operation, SSAValue, unsupported
from halfulp.interp.run.elementwise import Places, PointwiseStep
from halfulp.interp.run.evaluators import Elementwise, evaluator_of
from halfulp.interp.run.folding import Fold, part
from halfulp.interp.run.frames import Run
from halfulp.interp.run.limits import made_of
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value, retyped
from halfulp.semantics import floats
from halfulp.semantics.kernel import Kernel

if TYPE_CHECKING:
    from halfulp.interp.run.compiled.lowering import FunctionLowering, Memref

# --- folding ----------------------------------------------------------------------------------------------------------
#
# Combine elements by an op of arith, on behalf of an op of vector.

_PLACES = Places(None, 0)
# The op of arith on integers, and that on floats, of each combining kind.
_OPS: Mapping[str, tuple[str | None, str | None]] = {
    "add": ("addi", "addf"),
    "mul": ("muli", "mulf"),
    **{kind: (kind, None) for kind in ("minui", "minsi", "maxui", "maxsi")},
    **{kind: (None, kind) for kind in ("minnumf", "maxnumf", "minimumf", "maximumf", "minimumnumf", "maximumnumf")},
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
    """The way in which an op of vector combines two elements, by its combining kind.

    ``type_``: the type of the accumulator. ``order``: the order of additions of floats, as in `Fold`. ``properties``:
    the properties of the op of arith.
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
            raise unsupported(op, f"elements of type '{ty.element_type(type_)}' have no '{kind}'")
        self._step = elementwise_step(op, name, (type_, type_), type_, settings, properties)
        self._fold = Fold(self._step, False, order)

    @property
    def needs_all(self) -> bool:
        """True if the elements can only be combined all at once, since the order is not a sequence."""
        return self._fold.needs_all

    @property
    def draws(self) -> bool:
        """True if combinations round by random bits of the run."""
        return self._fold.draws

    def pair(self, run: Run, one: Value, other: Value) -> Value:
        """Combine two values whose shapes broadcast."""
        return self._step.run_at(run, (one, other), _PLACES)[0]

    def fold(self, run: Run, first: Value | None, rows: Value) -> Value:
        """Combine ``first`` with the values along the first axis of ``rows``, one after the other, and return the
        result. ``rows`` has at least one; without ``first``, its first one is the start.
        """
        if first is None:
            first, rows = part(rows, 0), part(rows, slice(1, None))
        return self._fold(run, first, rows, lambda number: _PLACES)

    def fold_under_mask(self, run: Run, first: Value | None, rows: Value, taken: Mask) -> Value | None:
        """Combine values under a mask, as `Fold.under_mask` does."""
        return self._fold.under_mask(run, first, rows, taken, lambda number: _PLACES)


# --- reductions -------------------------------------------------------------------------------------------------------

Operands = Sequence[Any]

_REASSOC = 1
_CHUNK = 1 << 16
"""The number of products of a contraction that are made together."""

# --- fused multiply-add -----------------------------------------------------------------------------------------------


def _fma(op: Operation, settings: Settings) -> Kernel:
    return floats.fma(format_of(op.results[0]), Rounding(0), fastmath_of(op), settings.profile)


FMA = Elementwise(_fma)

# --- reductions -------------------------------------------------------------------------------------------------------


def _rows(value: Value, axes: Sequence[int]) -> Value:
    """Return a value with some axes, in row-major order, as one axis in front of the others."""
    rank = len(value.shape)
    kept = [axis for axis in range(rank) if axis not in axes]
    shape = (prod(value.shape[axis] for axis in axes), *(value.shape[axis] for axis in kept))
    return el.rearranged(
        value,
        ty.TensorType(shape, value.element_type),
        lambda array, trailing: array.transpose(*axes, *kept, *range(rank, array.ndim)).reshape(shape + trailing),
    )


def reduce_vector(op: Operation, settings: Settings, masked: bool = False) -> el.Function:
    """Return the function that runs vector.reduction. ``masked``: it is inside vector.mask, whose mask is one more
    operand. Only the flag ``reassoc`` permits another order than the sequence.
    """
    type_, kind = op.results[0].type, kind_of(op.properties["kind"])
    order = settings.profile.reduction_order if fastmath_of(op) & _REASSOC else "sequential"
    combination = Combination(op, kind, type_, settings, order, flags_of(op, type_))
    given = len(op.operands) > 1

    def reduced(run: Run, operands: Operands) -> tuple[Any, ...]:
        vector, first = operands[0], operands[1] if given else None
        lanes = active_lanes(op, operands[-1]) if masked else np.ones(vector.shape, np.bool_)
        if masked and combination.draws:
            row = el.reshaped(vector, ty.TensorType((vector.size,), type_), (vector.size,))
            total = combination.fold_under_mask(run, first, row, lanes.reshape(-1))
            return (neutral(arith_name(kind, type_) or "", type_) if total is None else retyped(total, type_),)
        rows = el.picked(vector, (lanes,), ty.TensorType((int(np.count_nonzero(lanes)),), type_))
        if first is None and not rows.size:
            return (neutral(arith_name(kind, type_) or "", type_),)
        return (retyped(combination.fold(run, first, rows), type_),)

    return reduced


def flags_of(op: Operation, type_: ty.Type) -> dict[str, at.Attribute]:
    """Return the properties of the op of arith that combines elements of a type for ``op``, such as its fast-math
    flags.
    """
    flags = op.properties.get("fastmath")
    return {} if flags is None or not isinstance(type_, ty.FloatType) else {"fastmath": flags}


def multi_reduce(op: Operation, settings: Settings, masked: bool = False) -> el.Function:
    """Return the function that runs vector.multi_reduction, which follows MLIR: along no axis it returns the source,
    and does not read the accumulator (llvm/llvm-project#188983). ``masked``: as for `reduce_vector`.
    """
    type_ = op.results[0].type
    order = settings.profile.reduction_order
    combination = Combination(op, kind_of(op.properties["kind"]), type_, settings, order)
    axes = integers(op.properties["reduction_dims"])

    def reduced(run: Run, operands: Operands) -> tuple[Any, ...]:
        source, result = operands[:2]
        along = sorted(axis for axis in set(axes) if 0 <= axis < len(source.shape))
        rows = _rows(source, along)
        if not masked:
            return (combination.fold(run, result, rows) if along else source,)
        bits = active_lanes(op, operands[-1]).astype(np.uint8)
        lanes = _rows(Value(ty.TensorType(source.shape, ty.I1), bits), along)
        for number in range(len(rows.bits)):
            one = part(rows, number)
            combined = combination.pair(run, result, one) if along else one
            result = chosen(run, lanes.bits[number] != 0, combined, result)
        return (retyped(result, type_),)

    return reduced


def chosen(run: Run, lanes: Mask, one: Value, other: Value) -> Value:
    """Return the elements of ``one`` in the lanes that the mask selects, and those of ``other`` in the rest."""
    part = el.picked(one, (lanes,), ty.TensorType((int(np.count_nonzero(lanes)),), one.element_type))
    return el.replaced(run, other, (lanes,), part)


def scan(op: Operation, settings: Settings) -> el.Function:
    """Return the function that runs vector.scan, which follows MLIR's lowering: an inclusive scan begins with the first
    element and does not read the initial value; the second result is the last slice of the first result.
    """
    type_, part_type = op.results[0].type, op.results[1].type
    combination = Combination(op, kind_of(op.properties["kind"]), part_type, settings)
    axis, inclusive = (op.number(name) for name in ("reduction_dim", "inclusive"))

    def scanned(run: Run, operands: Operands) -> tuple[Any, ...]:
        whole, initial = operands
        rows = _rows(whole, (axis,))
        count = len(rows.bits)
        last = part(rows, 0) if count and inclusive else initial
        parts = []
        for number in range(count):
            if number:
                last = combination.pair(run, last, part(rows, number if inclusive else number - 1))
            parts.append(last)
        if parts:
            whole = el.combined(run, parts, type_, lambda arrays: np.stack(arrays, axis))
        return retyped(whole, type_), retyped(last, part_type)

    return scanned


# --- contraction ------------------------------------------------------------------------------------------------------


def _spread(value: Value, dimensions: Sequence[int], order: Sequence[int]) -> Value:
    """Return a value whose axes are the dimensions ``order``; an axis has size 1 if its dimension is not in
    ``dimensions``.
    """
    rank = len(value.shape)
    places = [dimensions.index(dimension) for dimension in order if dimension in dimensions]
    shape = tuple(value.shape[dimensions.index(each)] if each in dimensions else 1 for each in order)
    whole = ty.TensorType(shape, value.element_type)
    return el.rearranged(
        value,
        whole,
        lambda array, trailing: array.transpose(*places, *range(rank, array.ndim)).reshape(shape + trailing),
    )


def _dimensions(map_: at.Attribute) -> list[int]:
    assert isinstance(map_, at.AffineMapAttr)
    return [expr.position for expr in map_.results if isinstance(expr, Dimension)]


def contract(op: Operation, settings: Settings, masked: bool = False) -> el.Function:
    """Return the function that runs vector.contract. ``masked``: as for `reduce_vector`.

    Narrower operands are extended first.
    """
    type_ = op.results[0].type
    element = ty.element_type(type_)
    maps = op.prop("indexing_maps", at.ArrayAttr)
    iterators = op.prop("iterator_types", at.ArrayAttr)
    left, right, target = map(_dimensions, maps.elements)
    dimensions = range(len(iterators.elements))
    reduced = [dimension for dimension in dimensions if dimension not in target]
    order = [*reduced, *target]
    flags = flags_of(op, element)
    multiply = Combination(op, "mul", type_, settings, properties=flags)
    of_sums = settings.profile.reduction_order
    combine = Combination(op, kind_of(op.properties["kind"]), type_, settings, of_sums, flags)

    def contracted(run: Run, operands: Operands) -> tuple[Any, ...]:
        factors = [_extended(op, run, value, element, settings) for value in operands[:2]]
        result: Value = operands[2]
        sides = [_spread(value, own, order) for value, own in zip(factors, (left, right), strict=True)]
        sizes = tuple(max(pair) for pair in zip(*(side.shape[: len(reduced)] for side in sides), strict=True))
        sides = [_repeated_rows(side, sizes) for side in sides]
        lanes = None
        if masked:
            bits = active_lanes(op, operands[-1]).astype(np.uint8)
            spread = _spread(Value(ty.TensorType(bits.shape, ty.I1), bits), dimensions, order)
            lanes = _repeated_rows(spread, sizes)
        many = max(1, _CHUNK // max(1, result.size))
        count = prod(sizes)
        run.charge(op, count * result.size)
        one_by_one = masked or settings.random is not None  # random bits go to the products and sums in their order
        step = 1 if one_by_one else count if combine.needs_all else many
        for start in range(0, count, max(1, step)):
            some = slice(start, start + step)
            products = multiply.pair(run, *(part(side, some) for side in sides))
            combined = combine.fold(run, result, products)
            result = combined if lanes is None else chosen(run, lanes.bits[start] != 0, combined, result)
        return (retyped(result, type_),)

    return contracted


def _repeated_rows(side: Value, sizes: tuple[int, ...]) -> Value:
    """Return a value with its first axes, repeated to these sizes, as one axis."""
    shape = side.shape[len(sizes) :]
    whole = el.repeated(side, (*sizes, *shape), ty.TensorType((*sizes, *shape), side.element_type), len(side.shape))
    rows = prod(sizes), *shape
    return el.reshaped(whole, ty.TensorType(rows, side.element_type), rows)


def _extended(op: Operation, run: Run, value: Value, element: ty.Type, settings: Settings) -> Value:
    """Return an operand with the element type of the accumulator: integers are extended as signed ones."""
    given = value.element_type
    if given == element:
        return value
    if isinstance(given, ty.FloatType) != isinstance(element, ty.FloatType) or ty.width_of(given) >= ty.width_of(
        element
    ):
        raise unsupported(op, f"the values of elements of type '{given}' as '{element}' are not defined")
    name = "arith.extf" if isinstance(element, ty.FloatType) else "arith.extsi"
    target = ty.with_element(value.type, element)
    return elementwise_step(op, name, (value.type,), target, settings).run(run, (value,))[0]


# --- products ---------------------------------------------------------------------------------------------------------


def outer_product(op: Operation, settings: Settings, masked: bool = False) -> el.Function:
    """Return the function that runs vector.outerproduct. ``masked``: as for `reduce_vector`.

    A lane that the mask leaves out has the value of the accumulator; without an accumulator it is poison.
    """
    type_, kind = op.results[0].type, kind_of(op.properties["kind"])
    element = ty.element_type(type_)
    given = len(op.operands) > 2
    fused = given and kind == "add" and isinstance(element, ty.FloatType)
    multiply = Combination(op, "mul", type_, settings)
    combine = Combination(op, kind, type_, settings)
    inner = Operation("vector.fma", None, [op.results[0]] * 3, [type_])
    inner.location = op.location
    together = PointwiseStep(inner, FMA, _fma(op, settings), settings, op) if fused else None

    def product(run: Run, operands: Operands) -> tuple[Any, ...]:
        shape = static_shape(type_, settings)
        tall = operands[0].shape + (1,) * (len(shape) - 1)
        column = el.reshaped(operands[0], ty.TensorType(tall, element), tall)
        factors = (
            el.repeated(column, shape, type_, len(shape)),
            el.repeated(operands[1], shape, type_, len(operands[1].shape)),
        )
        if together is not None:
            (result,) = together.run(run, (*factors, operands[2]))
        else:
            result = multiply.pair(run, *factors)
            if given:
                result = combine.pair(run, operands[2], result)
        return (_masked(op, run, settings, result, operands, given) if masked else result,)

    return product


def _masked(op: Operation, run: Run, settings: Settings, result: Value, operands: Operands, given: bool) -> Value:
    lanes = active_lanes(op, operands[-1])
    if given:
        return chosen(run, lanes, result, operands[2])
    where = np.asarray(~lanes)
    return spoiled(result, el.poison_ids(op, run, settings, where, "the mask leaves the element out"), where, run)


# --- words ------------------------------------------------------------------------------------------------------------
#
# The vector ops that compiled code covers, on machine words. All others are calls of the executor.


def moved(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of an op that only moves elements. To find where each element goes, the executor runs the
    op once on the numbers of the elements.
    """
    if any(isinstance(value.type, ty.IndexType) for value in op.operands[1:]):
        low.by_executor(op)  # a position that is not known
        return
    pool: list[Word] = []
    numbers = []
    for value in op.operands:
        words, type_ = low.elements(value), _numbered(value.type)
        codes = np.arange(len(pool), len(pool) + len(words), dtype=np.uint64)
        shape = ty.static_shape(type_)
        numbers.append(Value(type_, codes.reshape(shape)))
        pool += words
    inner = Operation(
        op.name,
        op.definition,
        [SSAValue(value.type) for value in numbers],
        [_numbered(result.type) for result in op.results],
        op.properties,
    )
    found = evaluator_of(op).build(inner, low.settings)(Run(low.settings), tuple(numbers))
    if any(value.poison is not None for value in found):
        low.by_executor(op)
        return
    taken = [[pool[int(number)] for number in value.bits.flat] for value in found]
    low.put(op, *[made_of(result.type, words) for result, words in zip(op.results, taken, strict=True)])


def _numbered(type_: ty.Type) -> ty.Type:
    return ty.with_element(type_, ty.I64)


# --- memory -----------------------------------------------------------------------------------------------------------


def load(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of vector.load and vector.store, whose elements lie along the last dimensions."""
    vector = op.operands[0].type if not op.results else op.results[0].type
    base = 0 if op.results else 1
    rank, depth = len(op.operands) - base - 1, len(ty.shape_of(vector) or ())
    axes = {rank - depth + axis: axis for axis in range(depth)}
    _transfer(op, low, base, low.words(op.operands[base + 1 :]), vector, axes)


def transfer(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of vector.transfer_read and vector.transfer_write on memory, without a mask."""
    base, first, _, mask = parts(op)
    map_ = op.prop("permutation_map", AffineMapAttr)
    masked = mask is not None or len(evaluator_of(op).reads(op)) > len(op.operands)
    if masked or not isinstance(op.operands[base].type, ty.MemRefType):
        low.by_executor(op)
        return
    vector = op.results[0].type if op.results else op.operands[0].type
    axes = {each.position: axis for axis, each in enumerate(map_.results) if isinstance(each, Dimension)}
    _transfer(op, low, base, low.words(op.operands[first : first + indices_of(op)]), vector, axes)


def _transfer(
    op: Operation, low: FunctionLowering, base: int, indices: Sequence[Word], vector: ty.Type, axes: dict[int, int]
) -> None:
    """Make the machine code of an op that moves a vector from or to memory. If an element is outside, the executor runs
    the op.

    ``axes``: the axis of the vector along which the index in a dimension of memory increases.
    """
    memory = op.operands[base].type
    if ty.element_type(memory) != ty.element_type(vector) or moves_elements(op, base, low.settings):
        low.by_executor(op)
        return
    place, shape = low.place(op.operands[base]), ty.shape_of(vector) or ()
    lengths = [shape[axes[dimension]] or 0 if dimension in axes else 1 for dimension in range(len(indices))]
    inside = _inside(place, indices, lengths)
    lanes = np.ndindex(*[size or 0 for size in shape])
    steps = [[(dimension, lane[axis]) for dimension, axis in axes.items()] for lane in lanes]

    def read() -> None:
        width = low.width(ty.element_type(vector))
        start = place.start(indices)
        low.put(op, made_of(vector, [place.load(place.moved(start, each), width) for each in steps]))

    def write() -> None:
        start = place.start(indices)
        for each, word in zip(steps, low.elements(op.operands[0]), strict=True):
            place.store(place.moved(start, each), word)

    low.program.writes |= not op.results
    low.quickly(op, inside, read if op.results else write)


def _inside(place: Memref, indices: Sequence[Word], lengths: Sequence[int]) -> Word:
    """Tell, as a word of one bit, whether so many elements, beginning at the indices, are inside."""
    inside: Word = place.emit.number(1, 1)
    for index, size, length in zip(indices, place.sizes, lengths, strict=True):
        inside = inside & ~index.less(0, signed=True) & index.at_most(size - length, signed=True)
    return inside


# --- combinations -----------------------------------------------------------------------------------------------------


def reduction(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of vector.reduction: it combines the accumulator with one element after the other."""
    order = low.settings.profile.reduction_order if fastmath_of(op) & _REASSOC else "sequential"
    words = low.elements(op.operands[0])
    first = [low.word(value) for value in op.operands[1:]]
    _fold(op, low, order, [[*first, *words]])


def multi_reduction(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of vector.multi_reduction: it combines the accumulator with the elements along some axes,
    in row-major order.
    """
    source, first = (low.elements(value) for value in op.operands)
    shape = ty.static_shape(op.operands[0].type)
    along = sorted(set(integers(op.properties["reduction_dims"])))
    if not along:
        low.by_executor(op)
        return
    kept = [axis for axis in range(len(shape)) if axis not in along]
    numbers = np.arange(len(source)).reshape(shape).transpose(*along, *kept).reshape(-1, len(first))
    columns = [[start, *(source[number] for number in column)] for start, column in zip(first, numbers.T, strict=True)]
    _fold(op, low, low.settings.profile.reduction_order, columns)


def _fold(op: Operation, low: FunctionLowering, order: str, columns: Sequence[Sequence[Word]]) -> None:
    """Make the machine code of a combination of the words of each column, from the first on."""
    type_ = op.results[0].type
    name = arith_name(kind_of(op.properties["kind"]), ty.element_type(type_))
    masked = len(evaluator_of(op).reads(op)) > len(op.operands)
    if name is None or masked or order != "sequential" or not all(columns):
        low.by_executor(op)
        return
    element = ty.element_type(type_)
    inner = elementwise_op(name, (element, element), element, flags_of(op, element))
    kernel = low.compiler.kernel(inner, evaluator_of(inner))
    if kernel.words is None or (low.settings.track_open and kernel.opens):
        low.by_executor(op)
        return

    def pair(one: Word, other: Word) -> Word:
        return low.combined(kernel, (one, other))[0]

    low.put(op, made_of(type_, [reduce(pair, column) for column in columns]))
