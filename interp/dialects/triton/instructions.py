"""The instructions of matrix units that a dot becomes, by the layout of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.dialects.triton.targets import Target, encoding_of
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.operations import Operation, unsupported
from halfulp.interp.run.settings import Settings
from halfulp.semantics.matrix_units.kinds import TileOp


class Instruction(NamedTuple):
    """An instruction that computes a part of a dot. ``model``: the model of tile operations that it follows."""

    tile: TileOp
    model: str


class _Types(NamedTuple):
    """The element types of a dot, as the unit sees them."""

    a: str
    b: str
    d: str

    @property
    def integers(self) -> bool:
        return self.d not in FORMATS


_TF32, _BITS_OF_TF32 = "tf32", 19
DROPPED = {_TF32: 32 - _BITS_OF_TF32}
"""The low bits of f32 that a unit does not read, by the type that it takes."""
OTHER_MODEL = "name a model: mma='ieee' (--mma=ieee) adds them one after the other"
"""What to do without a model of the unit."""
_SATURATING, _WRAPPING = "custom:overflow=saturate,width=32", "exact"


def _tile(op: Operation, types: _Types, shape: tuple[int, int, int], unit: str, order: tuple[int, ...]) -> TileOp:
    own = order if order != tuple(range(len(order))) else None
    return TileOp(op.name, types.a, types.b, types.d, types.d, shape, 1, unit, "", 0, own)


def _width_of(name: str) -> int:
    """Return the bits that an element takes in a register of the unit."""
    return 32 if name == _TF32 else FORMATS[name].bits if name in FORMATS else int(name[1:])


def _k_width(op: Operation) -> int:
    """Return how many neighbours along K a lane holds; 0 if no operand says so."""
    encoding = encoding_of(op.operands[0].type)
    return encoding["kWidth"] if isinstance(encoding, DialectAttr) and encoding.definition.name == "ttg.dot_op" else 0


def _of_mma(op: Operation, encoding: DialectAttr, types: _Types, model: str) -> Instruction:
    """mma.sync: the four lanes of a row hold ``kWidth`` neighbours each, twice; each instruction takes as many of them
    as fit a register of 32 bits.
    """
    if types.a == "f64":
        return Instruction(_tile(op, types, (8, 8, 4), "mma", ()), model)
    each = 32 // _width_of(types.a)
    width = _k_width(op) or each
    if width % each:
        raise unsupported(op, f"a kWidth of {width} is not run for elements of type '{types.a}'")
    order = tuple(
        half * 4 * width + lane * width + part * each + place
        for part in range(width // each)
        for half in range(2)
        for lane in range(4)
        for place in range(each)
    )
    return Instruction(_tile(op, types, (16, 8, 8 * each), "mma", order), _SATURATING if types.integers else model)


def _of_wgmma(op: Operation, encoding: DialectAttr, types: _Types, model: str) -> Instruction:
    _, n, k = encoding["instrShape"]
    return Instruction(_tile(op, types, (64, n, k), "wgmma", ()), _WRAPPING if types.integers else model)


def _of_nvidia(op: Operation, encoding: DialectAttr, types: _Types, model: str) -> Instruction:
    return (_of_mma if encoding["versionMajor"] == _MMA else _of_wgmma)(op, encoding, types, model)


_MMA = 2


def _of_mfma(op: Operation, encoding: DialectAttr, types: _Types, model: str) -> Instruction:
    """MFMA: the lanes of a row hold ``kWidth`` neighbours each; an instruction takes its part of each lane."""
    m, n, k = encoding["instrShape"]
    lanes = 64 // m
    each = k // lanes
    width = _k_width(op) or each
    if width % each or m != n:
        raise unsupported(op, f"a kWidth of {width} is not run for the instruction {m}x{n}x{k}")
    order = tuple(
        lane * width + part * each + place
        for part in range(width // each)
        for lane in range(lanes)
        for place in range(each)
    )
    return Instruction(_tile(op, types, (m, n, k), "mfma", order), _WRAPPING if types.integers else model)


def _of_wmma(op: Operation, encoding: DialectAttr, types: _Types, model: str) -> Instruction:
    m, n, k = encoding["instrShape"]
    return Instruction(_tile(op, types, (m, n, k), "wmma", ()), _WRAPPING if types.integers else model)


_K_OF_TCGEN05 = {"f16": 16, "bf16": 16, _TF32: 8, "f4E2M1FN": 64}
"""The elements of K of an instruction of tcgen05; 32 for types of 8 bits."""


def _of_tcgen05(op: Operation, encoding: DialectAttr, types: _Types, model: str) -> Instruction:
    """tcgen05: two blocks of a cluster (`cta_group::2`) compute half of the rows each, in instructions of the depth of
    those of one block.
    """
    shape = (encoding["blockM"], encoding["blockN"], _K_OF_TCGEN05.get(types.a, 32))
    return Instruction(_tile(op, types, shape, "tcgen05", ()), _WRAPPING if types.integers else model)


_UNITS: Mapping[str, Callable[[Operation, DialectAttr, _Types, str], Instruction]] = {
    "ttg.nvidia_mma": _of_nvidia,
    "ttg.amd_mfma": _of_mfma,
    "ttg.amd_wmma": _of_wmma,
    "ttng.tensor_memory_encoding": _of_tcgen05,
}
_TF32_INPUTS = 0
"""The input precision tf32."""


def instruction_of(
    op: Operation, encoding: at.Attribute | None, target: Target, settings: Settings, names: tuple[str, str, str]
) -> Instruction:
    """Return the instruction of a dot whose A, B and D have these element types, and D this layout.

    Raises Unsupported for one of which no model is known, unless the settings name a model.
    """
    assert isinstance(encoding, DialectAttr)
    unit = _UNITS.get(encoding.definition.name)
    a, b, d = names
    given = settings.model if settings.model != "exact" else ""
    if unit is None:
        return _without_unit(op, target, _Types(a, b, d), given)
    precision = op.properties.get("inputPrecision")
    if a == b == "f32" and (target.is_cuda or getattr(precision, "value", None) == _TF32_INPUTS):
        a = b = _TF32
    types = _Types(a, b, d)
    model = given or target.model
    if not model and not types.integers:
        raise unsupported(
            op,
            f"how {target.name} adds the products of '{a}' and '{b}' to '{d}' is not published",
            OTHER_MODEL,
        )
    return unit(op, encoding, types, model)


def _without_unit(op: Operation, target: Target, types: _Types, given: str) -> Instruction:
    """Return the chain of fused multiply-adds, in the order of K, by which a thread computes its elements."""
    if not target.is_cuda and not {types.a, types.b, types.d} <= {"f32", "f64"}:
        raise unsupported(
            op, f"how {target.name} multiplies '{types.a}' and '{types.b}' without a matrix unit is not run"
        )
    tile = TileOp(op.name, types.a, types.b, types.d, types.d, (1, 1, 1), 1, "fma")
    return Instruction(tile, given or (_WRAPPING if types.integers else "ieee"))
