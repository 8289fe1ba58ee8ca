"""Dots: by the matrix unit of the target; without a target by the model of the settings, exact unless another is asked
for.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from halfulp.fp_formats.formats import FORMATS, Codes
from halfulp.fp_formats.paths import fast
from halfulp.interp.dialects.elements import Function, Operands
from halfulp.interp.dialects.triton.casts import unpacked
from halfulp.interp.dialects.triton.compiling import opened
from halfulp.interp.dialects.triton.exact_dots import recording
from halfulp.interp.dialects.triton.instructions import DROPPED, OTHER_MODEL, Instruction, instruction_of
from halfulp.interp.dialects.triton.local import TOKEN, OnSlots, element_of, read_slot, segmented, shape_of
from halfulp.interp.dialects.triton.rules import optional, sizes_of
from halfulp.interp.dialects.triton.targets import encoding_of, target_of
from halfulp.interp.dialects.triton.types import MemDescType
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, unsupported
from halfulp.interp.run.evaluators import Compiler, OnValues
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.lanes import alike
from halfulp.interp.values.value import Value
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.models import Unpublished, multiply_accumulate

# --- products ---------------------------------------------------------------------------------------------------------


def _multiplied(op: Operation, run: Run | None, instruction: Instruction, operands: Sequence[Codes], c: Codes) -> Codes:
    """Return A * B + C as the model of an instruction computes it. ``run``: where the products count as steps.

    Raises Unsupported if the model does not compute it.
    """
    a, b, *scales = operands
    tile, model = instruction
    if run is not None:
        run.charge(op, prod(a.shape) * b.shape[-1])
    if a.shape[-1] % max(len(tile.order or ()), tile.shape[2]):
        raise unsupported(op, f"a depth of {a.shape[-1]}, less than that of the instruction, is not run")
    of_a, of_b = scales or (None, None)
    try:
        return multiply_accumulate(model, tile, a, b, c, of_a, of_b)
    except Unpublished as error:
        raise unsupported(op, str(error), error.hint) from None
    except ValueError as error:
        raise unsupported(op, str(error)) from None


def _finished(op: Operation, run: Run, settings: Settings, codes: Codes, operands: Operands, mark: bool) -> Value:
    """Return a product with these codes. Poison in a row of A or in a column of B makes that row or column poison.
    ``mark``: whether the result is not determined; it is not either if an operand is not.
    """
    a, b, c = operands[:3]
    type_ = op.results[0].type if op.results else c.type
    ids = np.zeros(codes.shape, np.uint16)
    for value, along in ((a, -1), (b, -2), (c, None)):
        if value.poison is not None:
            found = value.poison if along is None else value.poison.max(axis=along, keepdims=True)
            ids = np.where(ids == 0, np.broadcast_to(found, ids.shape), ids)
    for value in operands[3:]:
        if value.poison is not None:
            ids = np.full(ids.shape, value.poison.max(), np.uint16)
    made = Value(type_, codes, ids, None, run.origins) if ids.any() else Value(type_, codes)
    mark = mark or any(value.open is not None and value.open.any() for value in operands)
    return opened(made, settings) if mark else made


def _check_elements(op: Operation) -> tuple[str, str, str]:
    """Return the names of the elements of A, B and C. Raises Unsupported for floats with integers."""
    elements = [element_of(value.type) for value in op.operands[:3]]
    a, b, c = (str(element) for element in elements)
    if len({isinstance(element, ty.FloatType) for element in elements}) > 1:
        raise unsupported(op, f"a product of '{a}' and '{b}' with a sum of '{c}' is not run")
    return a, b, c


class Dot:
    """A dot on codes. ``joins``: whether dots that follow one another along K, each of which adds to the result of the
    one before, are one dot: the unit adds its instructions to the same register.
    """

    def __init__(self, op: Operation, compiler: Compiler) -> None:
        settings, names = compiler.settings, _check_elements(op)
        target = target_of(op) if encoding_of(op.results[0].type) is not None else None
        if target is None:
            rows, columns = sizes_of(op.results[0].type)[-2:]
            shape = (rows, columns, shape_of(op.operands[0].type)[-1])
            tile = TileOp(op.name, names[0], names[1], names[2], names[2], shape)
            instruction = Instruction(tile, settings.model)
        else:
            instruction = instruction_of(op, encoding_of(op.results[0].type), target, settings, names)
        self.inexact = target is None and names[2] in FORMATS
        self._op, self._names, self._instruction = op, names, instruction
        self._promoted = _promotion(op, names)
        exact = names[2] in FORMATS and instruction.model == "exact"
        self.joins = target is not None and not self._promoted and not exact

    @property
    def key(self) -> Hashable:
        """What dots have in common that compute the same."""
        return self._instruction, self._names, self._promoted

    def codes(self, a: Codes, b: Codes, c: Codes, run: Run | None = None) -> Codes:
        """Return A * B + C. ``run``: where the products count as steps."""
        op, names, instruction = self._op, self._names, self._instruction
        sides = [
            _as_read(codes, name, own)
            for codes, name, own in zip((a, b), (instruction.tile.a, instruction.tile.b), names[:2], strict=True)
        ]
        if not self._promoted:
            return _multiplied(op, run, instruction, sides, c)
        codes = c
        for first in range(0, sides[0].shape[-1], self._promoted):
            part = slice(first, first + self._promoted)
            some = [sides[0][..., part], sides[1][..., part, :]]
            partial = _multiplied(op, run, instruction, some, np.zeros_like(c))
            codes = fast.add(FORMATS[names[2]], partial, codes).codes
        return codes


def _dot(op: Operation, compiler: Compiler) -> Function:
    settings, product, record = compiler.settings, Dot(op, compiler), recording(op, compiler)
    types = [value.type for value in op.operands]

    def dot(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        a, b, c, *used = [read_slot(op, run, slot, type_) for slot, type_ in zip(slots, types, strict=True)]
        a, b, c = alike(a, b, c)
        c = _if_used(c, used[0]) if used else c
        codes = product.codes(a.bits, b.bits, c.bits, run)
        made = _finished(op, run, settings, codes, (a, b, c), product.inexact)
        return (made if record is None else record(run, a, b, c, made),)

    return dot


def _if_used(c: Value, used: Value) -> Value:
    """Return C, or zeros if it takes no part in the sum."""
    return c if used.bits.any() else Value(c.type, np.zeros_like(c.bits))


def _as_read(codes: Codes, name: str, given: str) -> Codes:
    """Return the codes that a unit reads: of a narrower type it takes the high bits."""
    return codes if name == given or name not in DROPPED else codes >> DROPPED[name]


def _promotion(op: Operation, names: tuple[str, str, str]) -> int:
    """Return how many elements of K wgmma adds up before the sum is added to C in f32; 0 for all of them."""
    if op.name != "ttng.warp_group_dot" or FORMATS.get(names[0]) is None or FORMATS[names[0]].bits != 8:
        return 0
    most = op.number("maxNumImpreciseAcc")
    depth = shape_of(op.operands[1].type)[-2]
    if names[2] != "f32" or not 0 < most <= depth:
        return 0
    return max(most // _K_OF_F8, 1) * _K_OF_F8


_K_OF_F8 = 32
"""The elements of K of an instruction of wgmma on f8."""


_FORMATS = ("f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN", "bf16", "f16")
"""The formats of the kinds of dot_scaled, by their numbers."""
_BLOCK = 32
"""The elements of K that share a scale if no scale is given."""
_BLOCKS = (16, 32)


class _Scaling(NamedTuple):
    """The scales of a dot_scaled: their format, the elements of K that share one, and the code of 1."""

    format: str
    block: int
    one: int


def _scaling(op: Operation, depth: int) -> _Scaling:
    """Return how an op scales elements of this depth. Raises Unsupported for two sides with different scales."""
    found = set()
    for type_ in [value.type for value in optional(op, op.operands)[3:] if value is not None]:
        element, columns = str(ty.element_type(type_)), sizes_of(type_)[-1]
        name = {"i8": "f8E8M0FNU"}.get(element, element)
        if name not in _ONES or depth % columns or depth // columns not in _BLOCKS:
            raise unsupported(op, f"scales of type '{type_}' are not run, for a depth of {depth}")
        found.add(_Scaling(name, depth // columns, _ONES[name]))
    if len(found) > 1:
        raise unsupported(op, "sides with scales of different formats or for blocks of different sizes are not run")
    return found.pop() if found else _Scaling("f8E8M0FNU", _BLOCK, _ONES["f8E8M0FNU"])


_ONES = {"f8E8M0FNU": 127, "f8E4M3FN": 0x38}
"""The formats of scales, each with the code of 1."""


def _unpacked(op: Operation, value: Value, side: str, axis: int) -> tuple[str, Codes]:
    """Return the format of a side of dot_scaled and its codes, of which a byte may hold two along an axis."""
    name = _FORMATS[op.number(f"{side}_elem_type")]
    codes = value.bits
    if FORMATS[name].bits != 4:
        return name, codes
    return name, unpacked(codes, codes.ndim + axis)


def _scales(scale: Value | None, shape: tuple[int, ...], scaling: _Scaling) -> Codes:
    """Return the scales of a side, [rows, blocks of K]; 1 if it has none."""
    if scale is not None:
        return scale.bits
    return np.full((*shape[:-1], shape[-1] // scaling.block), scaling.one, np.uint8)


def _check_scaled(op: Operation) -> None:
    """Raise Unsupported for elements that are not of the kind of their side, and for shapes and scales that are no
    blocks of 16 or 32 elements with one scale of 8 bits.
    """
    a, b, c, *scales = [None if value is None else value.type for value in optional(op, op.operands)]
    assert a is not None
    assert b is not None
    assert c is not None
    of_b = sizes_of(b)
    sides = (("a", "lhs", a, sizes_of(a)), ("b", "rhs", b, (*of_b[:-2], of_b[-1], of_b[-2])))
    rows = []
    for (side, packing, type_, shape), scale in zip(sides, scales, strict=True):
        name = _FORMATS[op.number(f"{side}_elem_type")]
        packed = FORMATS[name].bits == 4
        if packed and not op.number(f"{packing}_k_pack"):
            raise unsupported(op, f"{packing}_k_pack = false is not run")
        depth = shape[-1] * (2 if packed else 1)
        if str(ty.element_type(type_)) not in ((name, "i8") if FORMATS[name].bits <= 8 else (name,)):
            raise unsupported(op, f"the elements of '{type_}' are not those of the kind {name}")
        block = _scaling(op, depth).block
        if depth % block:
            raise unsupported(op, f"a depth of {depth} is not run: it must be a multiple of {block}")
        needed = (*shape[:-1], depth // block)
        if scale is not None and sizes_of(scale) != needed:
            raise unsupported(op, f"scales of type '{scale}' are not run: their shape must be {list(needed)}")
        rows.append(shape[:-1])
    if rows[0][:-1] != rows[1][:-1] or sizes_of(c) != (*rows[0], rows[1][-1]):
        raise unsupported(op, "the shapes of the operands and of the result do not fit")


def _model_of_scaled(op: Operation, settings: Settings) -> str:
    """Return the model of a dot_scaled: that of the settings, else that of the target, if there is one. Raises
    Unsupported for a target whose unit nobody has published.
    """
    target = target_of(op) if encoding_of(op.results[0].type) is not None else None
    if target is None or settings.model != "exact":
        return settings.model
    if not target.model:
        raise unsupported(op, f"how {target.name} adds products with scales is not published", OTHER_MODEL)
    return target.model


def _dot_scaled(op: Operation, settings: Settings) -> Function:
    _check_scaled(op)
    model = _model_of_scaled(op, settings)

    def dot(run: Run, operands: Operands) -> tuple[Any, ...]:
        a, b, c, a_scale, b_scale = optional(op, operands)
        assert a is not None
        assert b is not None
        assert c is not None

        first, x = _unpacked(op, a, "a", -1)
        second, y = _unpacked(op, b, "b", -2)
        columns = np.swapaxes(y, -1, -2)
        scaling = _scaling(op, x.shape[-1])
        scales = _scales(a_scale, x.shape, scaling), np.swapaxes(_scales(b_scale, columns.shape, scaling), -1, -2)
        d, shape = str(c.element_type), (x.shape[-2], y.shape[-1], x.shape[-1])
        tile = TileOp(op.name, first, second, d, d, shape, 1, "mma", scaling.format, scaling.block)
        codes = _multiplied(op, run, Instruction(tile, model), (x, y, *scales), c.bits)
        given = tuple([value for value in (a, b, c, a_scale, b_scale) if value is not None])
        return (_finished(op, run, settings, codes, given, True),)

    return dot


# --- tensor memory ----------------------------------------------------------------------------------------------------


def _matrix_unit(scaled: bool) -> OnValues:
    """tcgen05: D lies in tensor memory, and takes part in the sum if the flag says so."""

    def build(op: Operation, compiler: Compiler) -> OnSlots:
        settings = compiler.settings
        target, places = target_of(op), segmented(op, op.operands)
        a, b, d = (places[number][0].type for number in range(3))
        if target is None:
            raise unsupported(op, "the module names no target")
        kinds = (str(element_of(a)), str(element_of(b)))
        if scaled:
            first, second = (_FORMATS[op.number(f"{side}_type")] for side in "ab")
            kinds = (first, second)
        encoding = d.encoding if isinstance(d, MemDescType) else None
        tile, model = instruction_of(op, encoding, target, settings, (*kinds, str(element_of(d))))
        instruction = Instruction(replace(tile, scale="f8E8M0FNU", block=_BLOCK) if scaled else tile, model)
        record = None if scaled else recording(op, compiler)
        # The models are those of one block. That two blocks add in the same way is likely, but not published.
        assumed = "two_ctas" in op.properties and tile.d in FORMATS

        def multiply(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
            given = segmented(op, slots)
            read = [
                read_slot(op, run, each[0], own[0].type)
                for number, (each, own) in enumerate(zip(given[:-2], places[:-2], strict=True))
                if number != _ORDERING
            ]
            x, y, c, *scales, used, wanted = read
            if wanted.bits.any():
                sides = _sides(op, (x, y), instruction, kinds, scales)
                c = _if_used(c, used)
                codes = _multiplied(op, run, instruction, sides, c.bits)
                made = _finished(op, run, settings, codes, (x, y, c, *scales), assumed)
                given[2][0].store(made if record is None else record(run, x, y, c, made))
            return (TOKEN,) * len(op.results)

        return multiply

    return OnValues(build, raw=True, no_lanes=True, of_module=True)


def _sides(
    op: Operation, values: Sequence[Value], instruction: Instruction, kinds: tuple[str, str], scales: Sequence[Value]
) -> list[Codes]:
    """Return the codes of A and B as the unit reads them, and those of their scales."""
    found = []
    for value, name, own, axis in zip(values, (instruction.tile.a, instruction.tile.b), kinds, (-1, -2), strict=True):
        codes = _as_read(value.bits, name, own)
        packed = FORMATS[own].bits == 4 if own in FORMATS else False
        found.append(unpacked(codes, codes.ndim + axis) if packed else codes)
    if scales:
        found += [scales[0].bits, np.swapaxes(scales[1].bits, -1, -2)]
    return found


_ORDERING = 3
"""The place of the token that an instruction waits for."""
MMA, SCALED_MMA = _matrix_unit(False), _matrix_unit(True)
DOT = OnValues(_dot, raw=True, of_module=True)
DOT_SCALED = OnValues(_dot_scaled)
