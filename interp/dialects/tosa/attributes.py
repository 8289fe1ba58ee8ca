"""The enumerations and attributes of tosa (`TosaOpBase.td`)."""

from __future__ import annotations

from collections.abc import Callable

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare import parameters as kinds
from halfulp.interp.dialects.tosa.types import tosa
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition, Parameter, ParameterKind


def _enum(mnemonic: str, words: str, cases: dict[str, int]) -> EnumDefinition:
    return tosa.enum(EnumDefinition(words, cases, mnemonic=f"tosa.{mnemonic}"))


def _counted(*names: str) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


RESIZE_MODE = _enum("resize_mode", "Supported resize/upsampling strategies", {"NEAREST_NEIGHBOR": 1, "BILINEAR": 2})
NAN_MODE = _enum("nan_mode", "Supported NaN propagation strategies", {"PROPAGATE": 1, "IGNORE": 2})
ROUNDING_MODE = _enum(
    "rounding_mode", "Supported rounding modes", {"SINGLE_ROUND": 1, "INEXACT_ROUND": 2, "DOUBLE_ROUND": 3}
)
BLOCK_SIZE = _enum("block_size", "Block size for the block_scaled formats", {"BLOCK_SIZE_1": 1, "BLOCK_SIZE_32": 32})
PROFILE = _enum("prof", "supported TOSA profiles", {"pro_int": 1, "pro_fp": 2, "none": 0})
EXTENSION = _enum(
    "ext",
    "supported TOSA extensions",
    _counted(
        "none", "int16", "int4", "bf16", "fp8e4m3", "fp8e5m2", "fft", "variable", "controlflow", "doubleround",
        "inexactround", "dynamic", "mxfp", "int64", "mxfp_conv", "shape", "mx_common", "mx_fp4e2m1", "mx_fp6e2m3",
        "mx_fp6e3m2", "mx_fp8e4m3", "mx_fp8e5m2", "mx_int8",
    ),
)  # fmt: skip
LEVEL = _enum("level", "supported TOSA levels", {"none": 0, "8k": 1})
VERSION = _enum("specification_version", "TOSA specification version", {"1.0": 0, "1.1.draft": 1})

for _name, _fields in {
    "unary_quant": ("input_zp", "output_zp"),
    "conv_quant": ("input_zp", "weight_zp"),
    "matmul_quant": ("a_zp", "b_zp"),
    "pad_quant": ("input_zp",),
}.items():
    tosa.attribute(
        _name,
        "`<` custom<Struct>() `>`",
        parameters=tuple(Parameter(each, kinds.INTEGER) for each in _fields),
    )


tosa.attribute(
    "target_env",
    "`<` `specification_version` `=` $specification_version `,` `level` `=` $level `,` `profiles` `=` $profiles `,` "
    "`extensions` `=` $extensions `>`",
    parameters=(
        Parameter("specification_version", kinds.keyword(VERSION)),
        Parameter("level", kinds.keyword(LEVEL)),
        Parameter("profiles", kinds.bracketed(kinds.keyword(PROFILE))),
        Parameter("extensions", kinds.bracketed(kinds.keyword(EXTENSION))),
    ),
)


_ARRAY_FORM = ParameterKind(lambda p: p.array_values(ty.I64), lambda value, names: f"[{value.values_text()}]")
_I32_FORM = ParameterKind(lambda p: p.attribute(ty.I32), lambda value, names: str(value.value))


def _dense_i64(count: int) -> d.AttributeConstraint:
    return d.AttributeConstraint(
        f"i64 dense array attribute with exactly {count} elements",
        lambda attribute: (
            isinstance(attribute, at.DenseArrayAttr) and attribute.element == ty.I64 and len(attribute.codes) == count
        ),
        form=_ARRAY_FORM,
    )


def _is(kind: type[at.Attribute], type_: ty.Type) -> Callable[[at.Attribute], bool]:
    return lambda attribute: isinstance(attribute, kind) and getattr(attribute, "type", None) == type_


ARRAY_2, ARRAY_3, ARRAY_4, ARRAY_6 = (_dense_i64(count) for count in (2, 3, 4, 6))
I32_ATTR = d.AttributeConstraint("32-bit signless integer attribute", _is(at.IntegerAttr, ty.I32), form=_I32_FORM)
NUMBER_ATTR = d.AttributeConstraint(
    "arbitrary integer attribute or arbitrary float attribute",
    lambda attribute: isinstance(attribute, at.IntegerAttr | at.FloatAttr),
)
ACC_TYPES = (ty.I32, ty.IntegerType(48), ty.F("f16"), ty.F("f32"))
ACC_TYPE = d.AttributeConstraint(
    "type attribute of 32-bit signless integer or 48-bit signless integer or 16-bit float or 32-bit float",
    lambda attribute: isinstance(attribute, at.TypeAttr) and attribute.type in (*ACC_TYPES, ty.I64, ty.F("bf16")),
)
TYPE_ATTR = d.AttributeConstraint("any type attribute", lambda attribute: isinstance(attribute, at.TypeAttr))
ELEMENTS = d.AttributeConstraint(
    "constant vector/tensor attribute",
    lambda attribute: isinstance(
        attribute, at.DenseElementsAttr | at.DenseStringAttr | at.SparseElementsAttr | at.DenseResourceAttr
    ),
)
INDEX_ELEMENTS = d.AttributeConstraint(
    "index elements attribute",
    lambda attribute: isinstance(attribute, at.DenseElementsAttr) and ty.element_type(attribute.type) == ty.INDEX,
)

NAN_PROPERTY = d.Property("nan_mode", NAN_MODE, default=1)
LOCAL_BOUND = d.Property("local_bound", d.BOOL_ATTR, optional=True, elided=at.BoolAttr(False))
AXIS = d.Property("axis", I32_ATTR)


def flag(name: str) -> d.Property:
    """Return a property that is true or false."""
    return d.Property(name, d.BOOL_ATTR)
