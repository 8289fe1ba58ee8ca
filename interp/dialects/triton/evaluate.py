"""What the ops of tt do, without a target: the sums of reductions and dots are those of the documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import FORMATS, Codes
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.dialects.elements import (
    Function,
    Operands,
    combined,
    data_movement,
    picked,
    rearranged,
    repeated,
    reshaped,
)
from halfulp.interp.dialects.elementwise import elementwise_step, enum_of, format_of
from halfulp.interp.dialects.structured.arrays import OnArrays, plan_of
from halfulp.interp.dialects.structured.body import runs_on_arrays
from halfulp.interp.dialects.structured.evaluate import step_with_body
from halfulp.interp.dialects.structured.structure import PARALLEL, REDUCTION, Structure
from halfulp.interp.dialects.triton import memory
from halfulp.interp.dialects.triton.rules import integer_of, order_of, sizes_of
from halfulp.interp.dialects.triton.types import PointerType
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, SSAValue, undefined, unsupported
from halfulp.interp.ir.types import code_layout
from halfulp.interp.run.evaluators import Compiler, Constant, Elementwise, OnRawSlots, OnValues
from halfulp.interp.run.frames import Run, Step
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics import casts, elementary, floats, integer
from halfulp.semantics.kernel import Kernel, Open, Outcome, Scalar
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.models import Unpublished, multiply_accumulate

# --- programs ---------------------------------------------------------------------------------------------------------


def _of_program(read: Callable[[memory.Program], tuple[int, int, int]]) -> OnValues:
    def build(op: Operation, settings: Settings) -> Function:
        axis = integer_of(op, "axis")
        return lambda run, operands: (read(memory.program_of(run))[axis],)

    return OnValues(build, raw=True)


PROGRAM_ID = _of_program(lambda program: program.place)
NUM_PROGRAMS = _of_program(lambda program: program.grid)
NOTHING = OnValues(lambda op, settings: lambda run, operands: ())


def _assert(op: Operation, settings: Settings) -> Function:
    message = op.prop("message", at.StringAttr).value

    def check(run: Run, operands: Operands) -> tuple[Any, ...]:
        (condition,) = operands
        if condition.poison is not None:
            raise undefined(op, "the condition is poison")
        if not condition.bits.all():
            where = [int(k) for k in np.argwhere(condition.bits == 0)[0]]
            raise undefined(op, f"the assertion fails{f' at element {where}' if where else ''}: {message}")
        return ()

    return check


ASSERT = OnValues(_assert)

# --- elements ---------------------------------------------------------------------------------------------------------


def _range(op: Operation, compiler: Compiler) -> Value:
    start, end = integer_of(op, "start"), integer_of(op, "end")
    return Value(op.results[0].type, np.arange(start, end, dtype=np.int64).astype(np.uint32))


MAKE_RANGE = Constant(_range)


def _fp_to_fp(op: Operation, settings: Settings) -> Kernel:
    rounding = Rounding.TOWARD_ZERO if enum_of(op, "rounding") == 0 else Rounding.TO_NEAREST_EVEN
    return casts.convert(format_of(op.operands[0]), format_of(op.results[0]), rounding, 0, settings.profile)


FP_TO_FP = Elementwise(_fp_to_fp)
BITCAST = Elementwise(lambda op, settings: casts.bitcast())
SQRT = Elementwise(
    lambda op, settings: elementary.unary(
        "sqrt", format_of(op.operands[0]), Rounding.TO_NEAREST_EVEN, 0, settings.profile
    )
)


def _division(op: Operation, settings: Settings) -> Kernel:
    return floats.binary("divide", format_of(op.operands[0]), Rounding.TO_NEAREST_EVEN, 0, settings.profile)


def _approximate_division(op: Operation, settings: Settings) -> Kernel:
    """Return the kernel of a division that is correctly rounded here, and that the language leaves open."""
    mark = np.uint8(Open.VALUE.value)
    kernel = _division(op, settings)
    return replace(kernel, open=lambda operands, results: np.full(results[0].shape, mark), opens=Open.VALUE.value)


DIVF, APPROX_DIVF = Elementwise(_division), Elementwise(_approximate_division)


def _high_half(op: Operation, settings: Settings) -> Kernel:
    halves = integer.mului_extended(settings.width(ty.element_type(op.operands[0].type)))

    def scalar(a: int, b: int) -> Scalar:
        found = halves.scalar(a, b)
        return found[1] if isinstance(found, tuple) else found

    return Kernel(scalar, lambda a, b: Outcome(halves.array(a, b).results[1:]))


MULHI = Elementwise(_high_half)


def _clamp(op: Operation, settings: Settings) -> Function:
    low, high = (
        ("arith.maximumf", "arith.minimumf") if enum_of(op, "propagateNan") else ("arith.maxnumf", "arith.minnumf")
    )
    type_ = op.results[0].type
    largest, smallest = (elementwise_step(op, name, (type_, type_), type_, settings) for name in (low, high))

    def clamp(run: Run, operands: Operands) -> tuple[Any, ...]:
        value, lowest, highest = operands
        (raised,) = largest.run(run, (value, lowest))
        return smallest.run(run, (raised, highest))

    return clamp


CLAMPF = OnValues(_clamp)


def _moved_pointer(op: Operation, settings: Settings) -> Kernel:
    element, offset = (ty.element_type(value.type) for value in op.operands)
    assert isinstance(element, PointerType)
    width = settings.width(offset)
    size = max(ty.width_of(element.element) // 8, 1)
    sign, mask = 1 << width >> 1, (1 << 64) - 1

    def scalar(pointer: int, code: int) -> Scalar:
        number = (code ^ sign) - sign
        return pointer >> 64 << 64 | (pointer + number * size & mask)

    def array(pointer: Codes, codes: Codes) -> Outcome:
        signed = codes.view(np.dtype(f"i{codes.dtype.itemsize}")).astype(np.int64)
        if width < 8 * codes.dtype.itemsize:
            signed = (signed ^ sign) - sign
        moved = np.empty(np.broadcast_shapes(pointer.shape, (*codes.shape, 2)), np.uint64)
        moved[...] = pointer
        moved[..., 0] += (signed * size).view(np.uint64)
        return Outcome((moved,))

    return Kernel(scalar, array)


ADDPTR = Elementwise(_moved_pointer)
PTR_TO_INT = OnValues(
    lambda op, settings: lambda run, operands: (memory.addresses(run, operands[0], op.results[0].type),)
)
INT_TO_PTR = OnValues(
    lambda op, settings: lambda run, operands: (memory.pointers_at(run, operands[0], op.results[0].type),)
)


def _by_user(name_of: Callable[[Operation], str], what: str) -> OnValues:
    """Return the evaluator of an op whose meaning a user's function gives, found by a name."""

    def build(op: Operation, settings: Settings) -> Function:
        name, types = name_of(op), [result.type for result in op.results]
        given = settings.externals.get(name)

        def call(run: Run, operands: Operands) -> tuple[Any, ...]:
            if given is None:
                raise unsupported(
                    op,
                    f"the meaning of {what} '{name}' is not known",
                    f"bind a Python function: externals={{{name!r}: f}}",
                )
            return run.host(given, operands, types, f"the function bound to {name!r}")

        return call

    return OnValues(build, external=name_of)


EXTERN = _by_user(lambda op: op.prop("symbol", at.StringAttr).value, "the function")
ASM = _by_user(lambda op: op.prop("asm_string", at.StringAttr).value, "the assembly")

# --- moving -----------------------------------------------------------------------------------------------------------


def _moves(move: Callable[[Operation, Run, Operands], Value]) -> OnValues:
    return data_movement(lambda op, settings: lambda run, operands: (move(op, run, operands),))


def _splat(op: Operation, run: Run, operands: Operands) -> Value:
    type_, (value,) = op.results[0].type, operands
    return repeated(reshaped(value, value.type, ()) if value.shape else value, sizes_of(type_), type_)


def _resized(op: Operation, run: Run, operands: Operands) -> Value:
    type_ = op.results[0].type
    return reshaped(operands[0], type_, sizes_of(type_))


def _broadcast(op: Operation, run: Run, operands: Operands) -> Value:
    type_ = op.results[0].type
    shape = sizes_of(type_)
    return rearranged(operands[0], type_, lambda array, trailing: np.broadcast_to(array, shape + trailing))


def _trans(op: Operation, run: Run, operands: Operands) -> Value:
    order = order_of(op)

    def move(array: npt.NDArray[Any], trailing: tuple[int, ...]) -> npt.NDArray[Any]:
        rest = tuple(range(len(order), array.ndim))
        return array.transpose(order + rest)

    return rearranged(operands[0], op.results[0].type, move)


def _cat(op: Operation, run: Run, operands: Operands) -> Value:
    return combined(run, operands, op.results[0].type, np.concatenate)


def _join(op: Operation, run: Run, operands: Operands) -> Value:
    axis = len(operands[0].shape)
    return combined(run, operands, op.results[0].type, lambda arrays: np.stack(arrays, axis))


def _split(op: Operation, settings: Settings) -> Function:
    types = [result.type for result in op.results]

    def split(run: Run, operands: Operands) -> tuple[Any, ...]:
        whole = operands[0]
        front = (slice(None),) * (len(whole.shape) - 1)
        return tuple([picked(whole, (*front, half), type_) for half, type_ in enumerate(types)])

    return split


SPLAT, RESHAPE, BROADCAST = _moves(_splat), _moves(_resized), _moves(_broadcast)
TRANS, CAT, JOIN, SPLIT = _moves(_trans), _moves(_cat), _moves(_join), data_movement(_split)


def _gather(op: Operation, settings: Settings) -> Function:
    axis, type_ = integer_of(op, "axis"), op.results[0].type

    def gather(run: Run, operands: Operands) -> tuple[Any, ...]:
        source, indices = operands
        if indices.poison is not None:
            raise undefined(op, "an index is poison")
        size = source.shape[axis]
        outside = indices.bits >= size
        if outside.any():
            where = [int(k) for k in np.argwhere(outside)[0]]
            raise undefined(op, f"the index at element {where} is outside of the size {size} along axis {axis}")
        places = list(np.indices(indices.shape, sparse=True))
        places[axis] = indices.bits.astype(np.intp)
        return (picked(source, tuple(places), type_),)

    return gather


GATHER = OnValues(_gather)


def _histogram(op: Operation, settings: Settings) -> Function:
    type_ = op.results[0].type
    if len(sizes_of(type_)) != 1:
        raise unsupported(op, f"a histogram of type '{type_}' is not run: it must have one dimension")
    (bins,) = sizes_of(type_)
    dtype, _ = code_layout(ty.element_type(type_))

    def count(run: Run, operands: Operands) -> tuple[Any, ...]:
        source, *masks = operands
        kept = masks[0].bits != 0 if masks else np.ones(source.shape, bool)
        if any(value.poison is not None for value in masks) or (
            source.poison is not None and source.poisoned[kept].any()
        ):
            raise undefined(op, "an element or the mask is poison")
        outside = kept & (source.bits >= bins)
        if outside.any():
            where = [int(k) for k in np.argwhere(outside)[0]]
            raise undefined(op, f"element {where} is {int(source.bits[tuple(where)])}, outside of the {bins} bins")
        return (Value(type_, np.bincount(source.bits[kept].astype(np.intp), minlength=bins).astype(dtype)),)

    return count


HISTOGRAM = OnValues(_histogram)

# --- memory -----------------------------------------------------------------------------------------------------------


Each = TypeVar("Each")


def _optional(op: Operation, operands: Sequence[Each]) -> list[Each | None]:
    """Return the operands by their places, None for one that is left out."""
    segments = op.properties.get("operandSegmentSizes")
    assert isinstance(segments, at.DenseArrayAttr)
    given = iter(operands)
    return [next(given) if count else None for count in segments.values]


def _load(op: Operation, settings: Settings) -> Function:
    access, type_ = memory.Access(op, op.operands[0].type, settings), op.results[0].type

    def load(run: Run, operands: Operands) -> tuple[Any, ...]:
        pointers, mask, other = _optional(op, operands)
        assert pointers is not None
        return (memory.load(access, run, pointers, mask, other, type_),)

    return load


def _store(op: Operation, settings: Settings) -> Function:
    access = memory.Access(op, op.operands[0].type, settings)

    def store(run: Run, operands: Operands) -> tuple[Any, ...]:
        pointers, value, *masks = operands
        memory.store(access, run, pointers, value, masks[0] if masks else None)
        return ()

    return store


def _atomic_load(op: Operation, settings: Settings) -> Function:
    access, type_ = memory.Access(op, op.operands[0].type, settings), op.results[0].type

    def load(run: Run, operands: Operands) -> tuple[Any, ...]:
        pointers, *masks = operands
        return (memory.load(access, run, pointers, masks[0] if masks else None, None, type_),)

    return load


def _replacing(op: Operation, settings: Settings, combine: memory.Update, operands: int, inexact: bool) -> Function:
    access = memory.Access(op, op.operands[0].type, settings)
    type_ = op.results[0].type if op.results else op.operands[1].type

    def run_(run: Run, given: Operands) -> tuple[Any, ...]:
        pointers, *values = given
        mask = values[operands] if len(values) > operands else None
        old = memory.update(access, run, pointers, values[:operands], mask, type_, combine, inexact)
        return (old,) if op.results else ()

    return run_


def _rmw(op: Operation, settings: Settings) -> Function:
    prop = op.definition.property_named("atomic_rmw_op") if op.definition is not None else None
    assert prop is not None
    kind = prop.kind.names[integer_of(op, "atomic_rmw_op")]  # type: ignore[union-attr]
    combine = memory.combining(op, kind, ty.element_type(op.operands[1].type), settings)
    return _replacing(op, settings, lambda old, given: combine(old, given[0]), 1, kind in ("fadd", "exch"))


def _cas(op: Operation, settings: Settings) -> Function:
    return _replacing(op, settings, lambda old, given: given[1] if old == given[0] else old, 2, True)


LOAD, STORE, ATOMIC_LOAD, RMW, CAS = map(OnValues, (_load, _store, _atomic_load, _rmw, _cas))
ATOMIC_STORE = OnValues(lambda op, settings: _replacing(op, settings, lambda old, given: given[0], 1, True))

# --- combining --------------------------------------------------------------------------------------------------------


class _Folding:
    """The region of a reduction or a scan, compiled: it combines accumulators with elements, in order along an axis."""

    def __init__(self, op: Operation, compiler: Compiler, along: int) -> None:
        """``along``: the number of dimensions that are folded: 1, or 0 for one step on all elements."""
        self._op = op
        half = len(op.operands)
        block = op.regions[0].blocks[0]
        shape = sizes_of(op.operands[0].type)
        self.axis = integer_of(op, "axis")
        self._kept = tuple(size for axis, size in enumerate(shape) if axis != self.axis)
        rank = len(self._kept)
        parallel = [Dimension(number) for number in range(rank)]
        whole = [*parallel, Dimension(rank)][: rank + along]
        maps = (
            *[at.AffineMapAttr(len(whole), 0, tuple(whole))] * half,
            *[at.AffineMapAttr(len(whole), 0, tuple(parallel))] * half,
        )
        self._elements = [ty.element_type(value.type) for value in op.operands]
        sizes = (None,) * rank
        inputs = [SSAValue(ty.TensorType(sizes + (None,) * along, element)) for element in self._elements]
        inits = [SSAValue(ty.TensorType(sizes, element)) for element in self._elements]
        elements = (*block.arguments[half:], *block.arguments[:half])
        structure = Structure(maps, (PARALLEL,) * rank + (REDUCTION,) * along, inputs, inits, block, elements)
        plan = plan_of(structure)
        if plan is None or not runs_on_arrays(structure):
            raise Unsupported(
                f"halfulp does not evaluate '{op.name}' if its region has ops that do not work element by element",
                location=op.location,
                op=op.name,
            )
        self._arrays = OnArrays(op, structure, plan, compiler)
        self.outside = [(slot, type_) for slot, _, type_ in self._arrays.body.outside]
        self._types = [ty.TensorType(self._kept, element) for element in self._elements]

    def run(self, run: Run, values: Sequence[Value], first: Sequence[Value], captured: Sequence[Value]) -> list[Value]:
        """Return accumulators, which begin with ``first``, after they took the values."""
        return self._arrays.run(run, [*values, *first], captured)

    def at(self, value: Value, place: int) -> Value:
        """Return the elements at one place of the axis."""
        return self._part(value, (slice(None),) * self.axis + (place,), self._kept)

    def after(self, value: Value) -> Value:
        """Return the elements behind the first place of the axis, which becomes the last one."""
        whole = rearranged(value, value.type, lambda array, trailing: np.moveaxis(array, self.axis, len(self._kept)))
        index = (slice(None),) * len(self._kept) + (slice(1, None),)
        return self._part(whole, index, (*self._kept, value.shape[self.axis] - 1))

    def _part(self, value: Value, index: tuple[Any, ...], shape: tuple[int, ...]) -> Value:
        return picked(value, index, ty.TensorType(shape, value.element_type))


_ASSOCIATIVE = frozenset(
    f"arith.{name}" for name in ("maxnumf", "minnumf", "maximumf", "minimumf", "cmpf", "cmpi", "select")
)


def _depends_on_order(op: Operation) -> bool:
    """Tell whether the order in which a region combines elements may change the result: it computes with floats."""
    for inner in op.regions[0].blocks[0].operations[:-1]:
        computes = any(isinstance(ty.element_type(result.type), ty.FloatType) for result in inner.results)
        if computes and inner.name not in _ASSOCIATIVE:
            return True
    return False


def _opened(op: Operation, values: Sequence[Value], settings: Settings, result: bool) -> list[Value]:
    """Mark results as open if they depend on an order that the language leaves open."""
    if not (settings.track_open and result):
        return list(values)
    mark = np.uint8(Open.VALUE.value)
    return [Value(value.type, value.bits, value.poison, np.full(value.shape, mark), value.origins) for value in values]


def _reduce(op: Operation, compiler: Compiler) -> Step:
    folding = _Folding(op, compiler, 1)
    depends, settings = _depends_on_order(op), compiler.settings
    types = [result.type for result in op.results]
    only = sizes_of(op.operands[0].type)[folding.axis] == 1

    def reduce(run: Run, values: Sequence[Value], captured: Sequence[Value]) -> Sequence[Value]:
        found = [folding.at(value, 0) for value in values]
        if not only:
            found = folding.run(run, [folding.after(value) for value in values], found, captured)
        made = [Value(t, each.bits, each.poison, each.open, each.origins) for t, each in zip(types, found, strict=True)]
        return _opened(op, made, settings, depends and not only)

    return step_with_body(op, compiler, reduce, folding.outside)


def _scan(op: Operation, compiler: Compiler) -> Step:
    folding = _Folding(op, compiler, 0)
    depends, settings = _depends_on_order(op), compiler.settings
    types, axis = [result.type for result in op.results], folding.axis
    size = sizes_of(op.operands[0].type)[axis]
    order = range(size)[::-1] if integer_of(op, "reverse") else range(size)

    def scan(run: Run, values: Sequence[Value], captured: Sequence[Value]) -> Sequence[Value]:
        rows: list[list[Value]] = [[] for _ in values]
        held: list[Value] = []
        for place in order:
            elements = [folding.at(value, place) for value in values]
            held = folding.run(run, elements, held, captured) if held else elements
            for row, value in zip(rows, held, strict=True):
                row.append(value)
        along = [row[::-1] if order.step < 0 else row for row in rows]
        made = [
            combined(run, row, type_, lambda arrays: np.stack(arrays, axis))
            for row, type_ in zip(along, types, strict=True)
        ]
        return _opened(op, made, settings, depends)

    return step_with_body(op, compiler, scan, folding.outside)


REDUCE, SCAN = OnRawSlots(_reduce), OnRawSlots(_scan)

# --- dots -------------------------------------------------------------------------------------------------------------


def _product(
    op: Operation, settings: Settings, run: Run, names: tuple[str, str], operands: Sequence[Codes], c: Value
) -> Value:
    """Return A * B + C by the model of the settings: exact, rounded once, unless another is asked for. Raises
    Unsupported if the model does not compute this product.
    """
    a, b, *scales = operands
    d, shape = str(c.element_type), (a.shape[-2], b.shape[-1], a.shape[-1])
    block = ("f8E8M0FNU", _BLOCK) if scales else ("", 0)
    tile = TileOp(op.name, *names, d, d, shape, 1, "mma", *block)
    run.charge(op, prod(a.shape) * b.shape[-1])
    of_a, of_b = scales or (None, None)
    try:
        codes = multiply_accumulate(settings.mma, tile, a, b, c.bits, of_a, of_b)
    except Unpublished as error:
        raise unsupported(op, str(error), error.hint) from None
    except ValueError as error:
        raise unsupported(op, str(error)) from None
    return Value(c.type, codes)


def _whole(op: Operation, run: Run, operands: Operands, made: Callable[[], Value]) -> Value:
    """Return a product. Any poison makes all of it poison."""
    for value in operands:
        if value.poison is not None:
            poison = int(value.poison[value.poison != 0].flat[0])
            type_ = op.results[0].type
            dtype, trailing = code_layout(ty.element_type(type_))
            ids = np.full(sizes_of(type_), poison, np.uint16)
            return Value(type_, np.zeros(sizes_of(type_) + trailing, dtype), ids, None, run.origins)
    return made()


def _dot(op: Operation, settings: Settings) -> Function:
    elements = [ty.element_type(value.type) for value in op.operands]
    names = tuple([str(element) for element in elements])
    if len({isinstance(element, ty.FloatType) for element in elements}) > 1:
        raise unsupported(op, f"a product of '{names[0]}' and '{names[1]}' with a sum of '{names[2]}' is not run")
    inexact = isinstance(elements[2], ty.FloatType)

    def dot(run: Run, operands: Operands) -> tuple[Any, ...]:
        a, b, c = operands

        def made() -> Value:
            return _product(op, settings, run, (names[0], names[1]), (a.bits, b.bits), c)

        return tuple(_opened(op, [_whole(op, run, operands, made)], settings, inexact))

    return dot


_FORMATS = ("f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN", "bf16", "f16")
"""The formats of the kinds of dot_scaled, by their numbers."""
_BLOCK = 32


_ONE = 127
"""The scale 1."""


def _unpacked(op: Operation, value: Value, side: str, axis: int) -> tuple[str, Codes]:
    """Return the format of a side of dot_scaled and its codes, of which a byte may hold two along an axis."""
    name = _FORMATS[integer_of(op, f"{side}_elem_type")]
    codes = value.bits
    if FORMATS[name].bits != 4:
        return name, codes
    pairs = np.stack([codes & 15, codes >> 4], axis=codes.ndim + axis + 1)
    shape = list(value.shape)
    shape[axis] *= 2
    return name, pairs.reshape(shape)


def _scales(scale: Value | None, shape: tuple[int, ...]) -> Codes:
    """Return the scales of a side, [rows, blocks of K]; 1 if it has none."""
    if scale is not None:
        return scale.bits
    return np.full((*shape[:-1], shape[-1] // _BLOCK), _ONE, np.uint8)


def _check_scaled(op: Operation) -> None:
    """Raise Unsupported for elements that are not of the kind of their side, and for shapes and scales that are no
    blocks of 32 elements with one scale of 8 bits.
    """
    a, b, c, *scales = [None if value is None else value.type for value in _optional(op, op.operands)]
    assert a is not None
    assert b is not None
    assert c is not None
    of_b = sizes_of(b)
    sides = (("a", "lhs", a, sizes_of(a)), ("b", "rhs", b, (*of_b[:-2], of_b[-1], of_b[-2])))
    rows = []
    for (side, packing, type_, shape), scale in zip(sides, scales, strict=True):
        name = _FORMATS[integer_of(op, f"{side}_elem_type")]
        packed = FORMATS[name].bits == 4
        if packed and not integer_of(op, f"{packing}_k_pack"):
            raise unsupported(op, f"{packing}_k_pack = false is not run")
        depth = shape[-1] * (2 if packed else 1)
        if str(ty.element_type(type_)) not in ((name, "i8") if FORMATS[name].bits <= 8 else (name,)):
            raise unsupported(op, f"the elements of '{type_}' are not those of the kind {name}")
        if depth % _BLOCK:
            raise unsupported(op, f"a depth of {depth} is not run: it must be a multiple of {_BLOCK}")
        needed = ty.TensorType((*shape[:-1], depth // _BLOCK), ty.IntegerType(8))
        if scale is not None and (sizes_of(scale), ty.element_type(scale)) != (needed.shape, needed.element):
            raise unsupported(op, f"scales of type '{scale}' are not run: they must be of type '{needed}'")
        rows.append(shape[:-1])
    if rows[0][:-1] != rows[1][:-1] or sizes_of(c) != (*rows[0], rows[1][-1]):
        raise unsupported(op, "the shapes of the operands and of the result do not fit")


def _dot_scaled(op: Operation, settings: Settings) -> Function:
    _check_scaled(op)

    def dot(run: Run, operands: Operands) -> tuple[Any, ...]:
        a, b, c, a_scale, b_scale = _optional(op, operands)
        assert a is not None
        assert b is not None
        assert c is not None

        def made() -> Value:
            first, x = _unpacked(op, a, "a", -1)
            second, y = _unpacked(op, b, "b", -2)
            columns = np.swapaxes(y, -1, -2)
            scales = _scales(a_scale, x.shape), np.swapaxes(_scales(b_scale, columns.shape), -1, -2)
            return _product(op, settings, run, (first, second), (x, y, *scales), c)

        return tuple(_opened(op, [_whole(op, run, operands, made)], settings, True))

    return dot


DOT, DOT_SCALED = OnValues(_dot), OnValues(_dot_scaled)
