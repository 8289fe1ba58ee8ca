"""The dialect tosa: its types and its constraints on types.

The words are those of MLIR (`TosaTypesBase.td`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from halfulp.interp.declare import declarations as d
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute, immutable
from halfulp.interp.ir.operations import SSAValue

tosa = d.Dialect("tosa", no_attribute="unknown  attribute `{mnemonic}` in dialect `tosa`")

# --- types ------------------------------------------------------------------------------------------------------------


@immutable
class ShapeType(ty.DialectType):
    """``!tosa.shape<4>``: a list of that many sizes. At run time it is a tensor of index values."""

    dialect: str = "tosa"
    mnemonic: str = "shape"
    rank: int = 0

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``!tosa.shape<4>``."""
        return f"!tosa.shape<{self.rank}>"


@immutable
class MXInt8Type(ty.DialectType):
    """``!tosa.mxint8``: the 8-bit integers of OCP MX, which stand for multiples of 1/64."""

    dialect: str = "tosa"
    mnemonic: str = "mxint8"
    width: ClassVar[int | None] = 8


@immutable
class BlockScaledType(ty.DialectType):
    """``!tosa.block_scaled<BLOCK_SHAPE_32:f8E8M0FNU:f8E4M3FN>``: the elements of a tensor in blocks that share scales.

    ``scales``: the scale of each block, if they are constants.
    """

    dialect: str = "tosa"
    mnemonic: str = "block_scaled"
    block: str = "BLOCK_SHAPE_32"
    scale: ty.Type = ty.NoneType()
    value: ty.Type = ty.NoneType()
    scales: tuple[Attribute, ...] = ()

    @property
    def parts(self) -> tuple[Attribute | ty.Type, ...]:
        """The types of the scales and of the values."""
        return (self.scale, self.value)

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``!tosa.block_scaled<…>``."""
        types = ":".join(names.get(each) or each.spell(names) for each in (self.scale, self.value))
        scales = ", ".join(str(each).partition(" ")[0] for each in self.scales)
        return f"!tosa.block_scaled<{self.block}:{types}{f', {{{scales}}}' if scales else ''}>"


def _read_shape(p: Any) -> ty.Type:
    p.expect("<")
    at = p.pos
    rank = p.integer()
    if rank < 0:
        p.error(f"invalid rank (must be >= 0): {rank}", at)
    p.expect(">")
    return ShapeType(rank=rank)


def _read_block_scaled(p: Any) -> ty.Type:
    p.expect("<")
    at = p.pos
    block = p.tokens[at]
    if block != "BLOCK_SHAPE_32":
        p.error("expected ::mlir::tosa::BlockShape to be one of: BLOCK_SHAPE_32", at)
    p.pos += 1
    p.expect(":")
    at = p.pos
    scale = p.type()
    p.expect(":")
    value = p.type()
    if not (is_scale(scale) and is_micro_scaled(value)):
        p.error("a block-scaled type has scales of type f8E8M0FNU and micro-scaled values", at)
    scales: tuple[Attribute, ...] = ()
    if p.take(","):
        p.expect("{")
        scales = tuple(p.until("}", lambda: p.attribute(scale)))
    p.expect(">")
    return BlockScaledType(block=block, scale=scale, value=value, scales=scales)


MXINT8 = MXInt8Type()
tosa.types["shape"] = _read_shape
tosa.types["mxint8"] = lambda p: MXINT8
tosa.types["block_scaled"] = _read_block_scaled

# --- elements ---------------------------------------------------------------------------------------------------------

_STORED = frozenset((4, 8, 16, 32))
_MICRO_SCALED = frozenset(("f8E4M3FN", "f8E5M2", "f4E2M1FN", "f6E2M3FN", "f6E3M2FN"))


def is_quantized(element: ty.Type) -> bool:
    """Tell whether elements are of a quantised type."""
    return isinstance(element, ty.UniformQuantizedType | ty.AnyQuantizedType)


def is_integer(element: ty.Type) -> bool:
    """Tell whether elements are signless or unsigned integers."""
    return isinstance(element, ty.IntegerType) and element.signedness != "signed"


def is_float(element: ty.Type) -> bool:
    """Tell whether elements are floats."""
    return isinstance(element, ty.FloatType)


def is_micro_scaled(element: ty.Type) -> bool:
    """Tell whether elements can be the values of blocks that share a scale."""
    return element == MXINT8 or (isinstance(element, ty.FloatType) and element.format.name in _MICRO_SCALED)


def is_scale(element: ty.Type) -> bool:
    """Tell whether elements can be scales of blocks."""
    return element == ty.F("f8E8M0FNU")


def _is_number(element: ty.Type) -> bool:
    if isinstance(element, ty.UniformQuantizedType | ty.AnyQuantizedType):
        return element.storage_width in _STORED
    return is_integer(element) or is_float(element) or isinstance(element, MXInt8Type | BlockScaledType)


def _of_types(*types: ty.Type) -> Callable[[ty.Type], bool]:
    return lambda element: element in types


def stored(type_: ty.Type) -> ty.Type:
    """Return the element type of a tensor; for quantised elements, the type of the stored integers."""
    element = ty.element_type(type_)
    if isinstance(element, ty.UniformQuantizedType | ty.AnyQuantizedType):
        return ty.IntegerType(element.storage_width, "signless" if element.storage_signed else "unsigned")
    return element


def has_width(element: ty.Type, width: int) -> bool:
    """Tell whether elements are integers of this width, signless or not."""
    return isinstance(element, ty.IntegerType) and element.width == width


# --- constraints ------------------------------------------------------------------------------------------------------


def _tensor(
    words: str,
    element: Callable[[ty.Type], bool],
    ranks: Callable[[int], bool] = lambda rank: True,
    unranked: Callable[[ty.Type], bool] | None = None,
    ones: bool = False,
) -> d.TypeConstraint:
    """Return the constraint for a tensor without sizes of 0, or without a rank.

    ``unranked``: the elements of a tensor without a rank, if not all of ``element``. ``ones``: every size is 1.
    """
    loose = element if unranked is None else unranked

    def accepts(type_: ty.Type) -> bool:
        if not isinstance(type_, ty.TensorType):
            return False
        if type_.shape is None:
            return loose(type_.element)
        sizes = all(size == 1 for size in type_.shape) if ones else 0 not in type_.shape
        return sizes and ranks(len(type_.shape)) and element(type_.element)

    return d.TypeConstraint(words, accepts)


def _of_rank(*ranks: int) -> Callable[[int], bool]:
    return lambda rank: rank in ranks


def _never(element: ty.Type) -> bool:
    return False


_NUMBERS = "number values"
_INT_OR_FLOAT = "unsigned integer or signless integer or floating-point values"
_I32_OR_I64 = "32-bit signless integer or 64-bit signless integer values"
_INDEX = _of_types(ty.I32, ty.I64)


def _is_int_or_float(element: ty.Type) -> bool:
    return is_integer(element) or is_float(element)


def _scalar(
    words: str, element: Callable[[ty.Type], bool], loose_words: str = "", loose: Any = None
) -> d.TypeConstraint:
    return _tensor(
        f"tosa-conformant unranked tensor of {loose_words or words} or tosa-conformant scalar tensor of {words}",
        element,
        _of_rank(1),
        loose,
        ones=True,
    )


TENSOR = _tensor(f"tosa-conformant tensor of {_NUMBERS}", _is_number)
I1_TENSOR = _tensor("tosa-conformant tensor of 1-bit signless integer values", _of_types(ty.I1))
I32_OR_I64_TENSOR = _tensor(f"tosa-conformant tensor of {_I32_OR_I64}", _INDEX)
FLOAT_TENSOR = _tensor("tosa-conformant tensor of floating-point values", is_float)
AT_LEAST_1D = _tensor("tosa-conformant tensor of at least rank 1", _is_number, lambda rank: rank > 0)
AT_LEAST_2D = _tensor("tosa-conformant tensor of at least rank 2 of number values", _is_number, lambda rank: rank > 1)
TENSOR_1D, TENSOR_3D, TENSOR_4D, TENSOR_5D = (
    _tensor(f"{rank}-d tosa-conformant tensor", _is_number, _of_rank(rank)) for rank in (1, 3, 4, 5)
)
SCALAR = _scalar(_NUMBERS, _is_number, _INT_OR_FLOAT, _is_int_or_float)
SCALAR_INT_OR_FLOAT = _scalar(_INT_OR_FLOAT, _is_int_or_float)
SCALAR_I8 = _scalar("8-bit signless integer values", _of_types(ty.IntegerType(8)))
SCALAR_I32 = _scalar("32-bit signless integer values", _of_types(ty.I32))
MULTIPLIERS = _tensor(
    "1D tensor of 16-bit signless integer or 32-bit signless integer values",
    _of_types(ty.IntegerType(16), ty.I32), _of_rank(1), _never,
)  # fmt: skip
SHIFTS = _tensor("1D tensor of 8-bit signless integer values", _of_types(ty.IntegerType(8)), _of_rank(1), _never)
INDICES_2D = _tensor(
    f"tosa-conformant unranked tensor of number values or 2D tensor of {_I32_OR_I64}", _INDEX, _of_rank(2), _is_number
)


def _micro(what: str, element: Callable[[ty.Type], bool], rank: int) -> d.TypeConstraint:
    words = f"tosa-conformant unranked tensor of {what} values or {rank}D tensor of {what} values"
    return _tensor(words, element, _of_rank(rank))


_VALUES, _SCALES = "micro-scaling format number", "micro-scaling format scale number"
MX_VALUES_3D, MX_SCALES_3D = _micro(_VALUES, is_micro_scaled, 3), _micro(_SCALES, is_scale, 3)
MX_VALUES_4D, MX_SCALES_4D = _micro(_VALUES, is_micro_scaled, 4), _micro(_SCALES, is_scale, 4)
MX_VALUES = _tensor("tosa-conformant tensor of at least rank 1", is_micro_scaled, lambda rank: rank > 0)
MX_SCALES = _tensor("tosa-conformant tensor of at least rank 1", is_scale, lambda rank: rank > 0)

SHAPE = d.TypeConstraint("Shape with static rank and Index element type", lambda type_: isinstance(type_, ShapeType))


def _shape_of_rank(rank: int) -> d.TypeConstraint:
    return d.TypeConstraint(f"Tosa shape type of rank {rank}", lambda type_: type_ == ShapeType(rank=rank))


SHAPE_2, SHAPE_4 = _shape_of_rank(2), _shape_of_rank(4)


def _like(words: str, element: Callable[[ty.Type], bool]) -> d.TypeConstraint:
    def accepts(type_: ty.Type) -> bool:
        if isinstance(type_, ty.VectorType):
            return element(type_.element)
        return (TENSOR.accepts(type_) and element(ty.element_type(type_))) or element(type_)

    return d.TypeConstraint(words, accepts)


INT_LIKE = _like("signless-integer-like", is_integer)
INT8_LIKE = _like("signless-integer-8-bit-like", _of_types(ty.IntegerType(8)))

# --- shapes -----------------------------------------------------------------------------------------------------------

Sizes = Sequence[int | None]


def shape(value: SSAValue) -> tuple[int | None, ...] | None:
    """Return the sizes of a tensor, None for a size that is not known; None for a tensor without a rank."""
    return ty.shape_of(value.type)


def shown(sizes: Sizes) -> str:
    """Return the text of a list of sizes as MLIR's messages have it."""
    return ", ".join(str(-(1 << 63)) if size is None else str(size) for size in sizes)
