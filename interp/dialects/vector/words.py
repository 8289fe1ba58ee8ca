"""The vector ops that compiled code covers, on machine words. All others are calls of the executor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from halfulp.fp_formats.paths.words import Word
from halfulp.interp.dialects.combining import elementwise_op
from halfulp.interp.dialects.elementwise import fastmath_of
from halfulp.interp.dialects.memref.evaluate import moves_elements
from halfulp.interp.dialects.vector.attributes import integers, kind_of
from halfulp.interp.dialects.vector.folding import arith_name
from halfulp.interp.dialects.vector.reductions import flags_of
from halfulp.interp.dialects.vector.transfer_rules import indices_of, parts
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.attributes import AffineMapAttr
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.run.compiled.elements import made_of
from halfulp.interp.run.evaluators import evaluator_of
from halfulp.interp.run.frames import Run
from halfulp.interp.values.value import Value

if TYPE_CHECKING:
    from halfulp.interp.run.compiled.lowering import FunctionLowering
    from halfulp.interp.run.compiled.memref_addresses import Memref

_REASSOC = 1


def moved(op: Operation, low: FunctionLowering) -> None:
    """Lower an op that only moves elements. What the executor makes of their numbers tells where each goes."""
    if any(isinstance(value.type, ty.IndexType) for value in op.operands[1:]):
        low.by_executor(op)  # a position that is not known
        return
    pool: list[Word] = []
    numbers = []
    for value in op.operands:
        words, type_ = low.elements(value), _numbered(value.type)
        codes = np.arange(len(pool), len(pool) + len(words), dtype=np.uint64)
        shape = [size or 0 for size in ty.shape_of(type_) or ()]
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
    """Lower vector.load and vector.store, whose elements lie along the last dimensions."""
    vector = op.operands[0].type if not op.results else op.results[0].type
    base = 0 if op.results else 1
    rank, depth = len(op.operands) - base - 1, len(ty.shape_of(vector) or ())
    axes = {rank - depth + axis: axis for axis in range(depth)}
    _transfer(op, low, base, low.words(op.operands[base + 1 :]), vector, axes)


def transfer(op: Operation, low: FunctionLowering) -> None:
    """Lower vector.transfer_read and vector.transfer_write on memory, without a mask."""
    base, first, _, mask = parts(op)
    map_ = op.properties["permutation_map"]
    assert isinstance(map_, AffineMapAttr)
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
    """Lower an op that moves a vector from or to memory: where some element is outside, the executor runs it.

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
    """Tell, as a word of one bit, whether so many elements from the indices on are inside."""
    inside: Word = place.emit.number(1, 1)
    for index, size, length in zip(indices, place.sizes, lengths, strict=True):
        inside = inside & ~index.less(0, signed=True) & index.at_most(size - length, signed=True)
    return inside


# --- combinations -----------------------------------------------------------------------------------------------------


def reduction(op: Operation, low: FunctionLowering) -> None:
    """Lower vector.reduction: the elements one after the other, after the accumulator."""
    order = low.settings.profile.reduction_order if fastmath_of(op) & _REASSOC else "sequential"
    words = low.elements(op.operands[0])
    first = [low.word(value) for value in op.operands[1:]]
    _fold(op, low, order, [[*first, *words]])


def multi_reduction(op: Operation, low: FunctionLowering) -> None:
    """Lower vector.multi_reduction: the elements along some axes, in row-major order, after the accumulator."""
    source, first = (low.elements(value) for value in op.operands)
    shape = [size or 0 for size in ty.shape_of(op.operands[0].type) or ()]
    along = sorted(set(integers(op.properties["reduction_dims"])))
    kept = [axis for axis in range(len(shape)) if axis not in along]
    numbers = np.arange(len(source)).reshape(shape).transpose(*along, *kept).reshape(-1, len(first))
    columns = [[start, *(source[number] for number in column)] for start, column in zip(first, numbers.T, strict=True)]
    _fold(op, low, low.settings.profile.reduction_order, columns)


def _fold(op: Operation, low: FunctionLowering, order: str, columns: Sequence[Sequence[Word]]) -> None:
    """Lower a combination of the words of each column, from the first on."""
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
