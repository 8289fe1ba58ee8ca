"""What the ops of tt do, without a target: the sums of reductions and dots are those of the documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes
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
from halfulp.interp.dialects.triton import casts, libraries, memory
from halfulp.interp.dialects.triton.layouts import layout_of
from halfulp.interp.dialects.triton.rules import optional, order_of, sizes_of
from halfulp.interp.dialects.triton.targets import encoding_of, target_of
from halfulp.interp.dialects.triton.types import PointerType
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, undefined, unsupported
from halfulp.interp.ir.types import code_layout
from halfulp.interp.run.evaluators import Compiler, Constant, Elementwise, OnValues
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics import elementary, floats, integer
from halfulp.semantics.casts import bitcast
from halfulp.semantics.kernel import Kernel, Open, Outcome, Scalar

# --- programs ---------------------------------------------------------------------------------------------------------


def _place(op: Operation, settings: Settings) -> Function:
    axis = op.number("axis")
    return lambda run, operands: (memory.program_of(run).place[axis],)


def _places(op: Operation, settings: Settings) -> Function:
    """Return the function for programs that run together."""
    axis, type_ = op.number("axis"), op.results[0].type

    def places(run: Run, operands: Operands) -> tuple[Any, ...]:
        assert run.lanes is not None
        found = memory.places_of(run)[run.lanes.numbers, axis]
        return (Value(type_, found) if (found != found[0]).any() else int(found[0]),)

    return places


def _number_of_programs(op: Operation, settings: Settings) -> Function:
    axis = op.number("axis")
    return lambda run, operands: (memory.program_of(run).grid[axis],)


PROGRAM_ID = OnValues(_place, raw=True, in_lanes=_places)
NUM_PROGRAMS = OnValues(_number_of_programs, raw=True, in_lanes=_number_of_programs)


def _nothing(op: Operation, settings: Settings) -> Function:
    return lambda run, operands: ()


NOTHING = OnValues(_nothing, in_lanes=_nothing)


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
    start, end = op.number("start"), op.number("end")
    return Value(op.results[0].type, np.arange(start, end, dtype=np.int64).astype(np.uint32))


MAKE_RANGE = Constant(_range)


BITCAST = Elementwise(lambda op, settings: bitcast())
SQRT = Elementwise(
    lambda op, settings: elementary.unary(
        "sqrt", format_of(op.operands[0]), Rounding.TO_NEAREST_EVEN, 0, settings.profile
    )
)


def _division(op: Operation, settings: Settings) -> Kernel:
    return floats.binary("divide", format_of(op.operands[0]), Rounding.TO_NEAREST_EVEN, 0, settings.profile)


def _approximate_division(op: Operation, settings: Settings) -> Kernel:
    """Return the kernel of a division that is correctly rounded here, and that the language leaves open."""
    return _division(op, settings).opened()


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


CLAMPF = OnValues(_clamp, in_lanes=_clamp)


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


Known = Mapping[str, Callable[[Operation, Settings], Function]]


def _by_user(name_of: Callable[[Operation], str], what: str, known: Known) -> OnValues:
    """Return the evaluator of an op whose meaning a user's function gives, found by a name. ``known``: functions for
    some names, of which a user need not give any.
    """

    def build(op: Operation, settings: Settings) -> Function:
        name, types = name_of(op), [result.type for result in op.results]
        given = settings.externals.get(name)
        if given is None and name in known:
            return known[name](op, settings)

        def call(run: Run, operands: Operands) -> tuple[Any, ...]:
            if given is None:
                raise unsupported(
                    op,
                    f"the meaning of {what} '{name}' is not known",
                    f"bind a Python function: externals={{{name!r}: f}}",
                )
            return run.host(given, operands, types, f"the function bound to {name!r}")

        return call

    def in_lanes(op: Operation, settings: Settings) -> Function | None:
        name = name_of(op)
        return known[name](op, settings) if name in known and name not in settings.externals else None

    return OnValues(build, in_lanes=in_lanes, external=name_of)


EXTERN = _by_user(lambda op: op.prop("symbol", at.StringAttr).value, "the function", libraries.FUNCTIONS)
ASM = _by_user(lambda op: op.prop("asm_string", at.StringAttr).value, "the assembly", casts.ASSEMBLY)

# --- moving -----------------------------------------------------------------------------------------------------------


def _moves(move: Callable[[Operation, Run, Operands], Value]) -> OnValues:
    return data_movement(lambda op, settings: lambda run, operands: (move(op, run, operands),))


def _splat(op: Operation, run: Run, operands: Operands) -> Value:
    type_, (value,) = op.results[0].type, operands
    return repeated(reshaped(value, value.type, ()) if value.shape else value, sizes_of(type_), type_)


def _resized(op: Operation, run: Run, operands: Operands) -> Value:
    type_ = op.results[0].type
    return reshaped(operands[0], type_, sizes_of(type_))


def _may_reorder(op: Operation) -> bool:
    """Tell whether a reshape or a concatenation leaves each element in its register of a target. Any other one is
    row-major.
    """
    encodings = [encoding_of(value.type) for value in (*op.operands, *op.results)]
    free = op.name == "tt.cat" or "allow_reorder" in op.properties
    return free and None not in encodings and target_of(op) is not None


def _held(op: Operation, type_: ty.Type, copies: bool) -> npt.NDArray[np.intp]:
    """Return the element that each register holds: [registers, warps, lanes]. ``copies``: whether registers count that
    hold the elements of others.
    """
    encoding = encoding_of(type_)
    assert encoding is not None
    try:
        layout = layout_of(encoding, sizes_of(type_))
    except ValueError as error:
        raise unsupported(op, f"the layout of the elements is not known: {error}") from None
    register = layout.register if copies else tuple([basis for basis in layout.register if any(basis)])
    return replace(layout, register=register).elements(copies=True)


def _order(op: Operation) -> npt.NDArray[np.intp]:
    """Return which element of the operands, one behind the other, each element of the result is. The registers of the
    result are those of the operands (`ReshapeOpConversion` and `CatOpConversion` of ViewOpToLLVM.cpp).
    """
    copies, (result,) = op.name != "tt.cat", op.results
    starts = accumulate((prod(sizes_of(value.type)) for value in op.operands), initial=0)
    held = [_held(op, value.type, copies) + start for value, start in zip(op.operands, starts, strict=False)]
    where = _held(op, result.type, copies)
    if sum(len(each) for each in held) != len(where):
        raise unsupported(op, "elements that move between layouts with different numbers of registers are not run")
    source = np.concatenate(held)
    order = np.empty(where.max() + 1, np.intp)
    order[where.reshape(-1)] = source.reshape(-1)
    if (order[where] != source).any():
        raise unsupported(op, "several threads hold different elements for one element of the result")
    return order


def _reordered(order: npt.NDArray[np.intp], type_: ty.Type, value: Value) -> Value:
    shape = sizes_of(type_)

    def move(array: npt.NDArray[Any], trailing: tuple[int, ...]) -> npt.NDArray[Any]:
        lanes = array.shape[:1] if value.over_lanes else ()
        flat = array.reshape(*lanes, -1, *trailing)
        return flat.take(order, len(lanes)).reshape(lanes + shape + trailing)

    return rearranged(value, type_, move)


def _reshape(op: Operation, settings: Settings) -> Function:
    """Return the function of a reshape. One that may reorder leaves each element in its register of a target."""
    type_, order = op.results[0].type, _order(op) if _may_reorder(op) else None
    if order is None:
        return lambda run, operands: (_resized(op, run, operands),)
    return lambda run, operands: (_reordered(order, type_, operands[0]),)


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


def _cat(op: Operation, settings: Settings) -> Function:
    """Return the function of a concatenation; the registers of a target are one behind the other."""
    type_, order = op.results[0].type, _order(op) if _may_reorder(op) else None

    def cat(run: Run, operands: Operands) -> tuple[Any, ...]:
        whole = combined(run, operands, type_, np.concatenate)
        return (whole if order is None else _reordered(order, type_, whole),)

    return cat


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


SPLAT, BROADCAST = _moves(_splat), _moves(_broadcast)
_ROW_MAJOR, _ONE_BEHIND_THE_OTHER = _moves(_resized), data_movement(_cat)
RESHAPE = OnValues(
    _reshape,
    in_lanes=lambda op, settings: (_reshape if _may_reorder(op) else _ROW_MAJOR.in_lanes)(op, settings),
)
CAT = OnValues(
    _cat, in_lanes=lambda op, settings: None if _may_reorder(op) else _ONE_BEHIND_THE_OTHER.in_lanes(op, settings)
)
TRANS, JOIN, SPLIT = _moves(_trans), _moves(_join), data_movement(_split)


_OPEN = np.uint8(Open.VALUE.value)


def _gather(op: Operation, settings: Settings) -> Function:
    axis, type_ = op.number("axis"), op.results[0].type

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
        found = picked(source, tuple(places), type_)
        if settings.track_open and indices.open is not None:
            marks = np.where(np.broadcast_to(indices.open, indices.shape) != 0, _OPEN, np.uint8(0))
            own = np.uint8(0) if found.open is None else found.open
            found = Value(type_, found.bits, found.poison, marks | own, found.origins)
        return (found,)

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
        counts = np.bincount(source.bits[kept].astype(np.intp), minlength=bins).astype(dtype)
        unsure = settings.track_open and any(value.open is not None and np.any(value.open) for value in operands)
        return (Value(type_, counts, None, np.full(bins, _OPEN) if unsure else None),)

    return count


HISTOGRAM = OnValues(_histogram)

# --- memory -----------------------------------------------------------------------------------------------------------


def _load(op: Operation, settings: Settings) -> Function:
    access, type_ = memory.Access(op, op.operands[0].type, settings), op.results[0].type

    def load(run: Run, operands: Operands) -> tuple[Any, ...]:
        pointers, mask, other = optional(op, operands)
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
    combine, inexact = memory.combining_of(op, op.operands[1].type, settings)
    replace_, waves = _replacing(op, settings, combine, 1, inexact), waves_of_unsigned(op)
    if waves is None:
        return replace_
    extreme = np.minimum if memory.kind_of(op) == "min" else np.maximum

    def run_(run: Run, given: Operands) -> tuple[Any, ...]:
        pointers, value, *masks = given
        active = np.flatnonzero(masks[0].bits) if masks else np.arange(value.bits.size)
        keys = np.column_stack([waves[active], pointers.bits.reshape(-1, 2)[active].view(np.int64)])
        _, group = np.unique(keys, axis=0, return_inverse=True)
        group = group.reshape(-1)
        order = np.argsort(group, kind="stable")
        bits, codes = value.bits.reshape(-1).copy(), value.bits.reshape(-1)[active][order]
        if len(codes):
            starts = np.flatnonzero(np.diff(group[order], prepend=-1))
            bits[active] = extreme.reduceat(codes, starts)[group]
        combined_ = Value(value.type, bits.reshape(value.shape), value.poison, value.open, value.origins)
        return replace_(run, (pointers, combined_, *masks))

    return run_


_FEWEST_BITS = 32


def waves_of_unsigned(op: Operation) -> npt.NDArray[np.intp] | None:
    """Return the waves of the elements of an atomic op, as `LinearLayout.waves`, if the target first combines them as
    unsigned numbers; else None.
    """
    type_, target = op.operands[1].type, target_of(op)
    encoding = encoding_of(type_)
    if target is None or encoding is None or memory.kind_of(op) not in target.unsigned:
        return None
    top = op
    while top.parent_op is not None:
        top = top.parent_op
    used = any(value is result for each in top.walk() for value in each.used_values for result in op.results)
    if used or ty.width_of(ty.element_type(type_)) < _FEWEST_BITS:
        return None
    try:
        return layout_of(encoding, sizes_of(type_)).waves()
    except ValueError as error:
        raise unsupported(op, f"the layout of the elements is not known: {error}") from None


def _cas(op: Operation, settings: Settings) -> Function:
    return _replacing(op, settings, lambda old, given: given[1] if old == given[0] else old, 2, True)


LOAD, STORE = OnValues(_load, in_lanes=_load), OnValues(_store, in_lanes=_store)
ATOMIC_LOAD, RMW, CAS = map(OnValues, (_atomic_load, _rmw, _cas))
ATOMIC_STORE = OnValues(lambda op, settings: _replacing(op, settings, lambda old, given: given[0], 1, True))
