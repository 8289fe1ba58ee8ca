"""VHLO's types and attributes: their codes in bytecode, the versions that they came with, and the builtin types.

VHLO is the dialect of portable artifacts: StableHLO, with a version in the name of every op, attribute and type. Names,
codes and versions are those of `dialect/VhloTypes.td`, `VhloAttrs.td`, `VhloEnums.td` and `VhloBytecode.cpp`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from halfulp.interp.bytecode.fields import (
    ATTRIBUTE,
    DOUBLE,
    OPTIONAL_ATTRIBUTE,
    SHAPE,
    STRING,
    SVARINT,
    TYPE,
    VARINT,
    Code,
    CodeSink,
    CodeSource,
    Field,
    list_of,
    read_bits,
    read_blob,
    read_elements,
    write_bits,
    write_elements,
    wrong,
)
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import immutable
from halfulp.interp.ir.dialect_attributes import (
    AttributeDefinition,
    DialectAttr,
    Parameter,
    ParameterForm,
    ParameterKind,
)

Version = tuple[int, int]
"""A version of StableHLO without its last number, in which nothing changes."""
FIRST: Version = (0, 9)
LATEST: Version = (1, 20)


# --- types ------------------------------------------------------------------------------------------------------------


@immutable
class VhloType(ty.DialectType):
    """A type of VHLO: its name and parameters. A list is a tuple, and an absent encoding is None."""

    values: tuple[Any, ...] = ()

    @property
    def parts(self) -> tuple[at.Attribute | ty.Type, ...]:
        """The attributes and types among the parameters, and in the lists among these."""
        return _parts(self.values)

    def spell(self, names: Mapping[object, str]) -> str:
        """Return a text of the type for error messages."""
        return f"!vhlo.{self.mnemonic}{_spelled(self.values, names)}"


def _parts(values: tuple[Any, ...]) -> tuple[at.Attribute | ty.Type, ...]:
    flat = (part for value in values for part in (value if isinstance(value, tuple) else (value,)))
    return tuple(part for part in flat if isinstance(part, at.Attribute | ty.Type))


def _spelled(values: tuple[Any, ...], names: Mapping[object, str]) -> str:
    def one(value: Any) -> str:
        if isinstance(value, tuple):
            return f"[{', '.join(map(one, value))}]"
        return value.spell(names) if isinstance(value, at.Attribute | ty.Type) else str(value)

    return f"<{', '.join(map(one, values))}>" if values else ""


def vhlo_type(mnemonic: str, *values: Any) -> VhloType:
    """Return the type of VHLO of that name."""
    return VhloType("vhlo", mnemonic, values)


def _plain() -> list[tuple[int, str, ty.Type, Version]]:
    """Return the code, the name, the builtin type and the first version of each type without parameters."""
    rows: list[tuple[int, str, ty.Type, Version]] = [
        (0, "bool_v1", ty.I1, FIRST),
        (9, "index_v1", ty.INDEX, FIRST),
        (22, "token_v1", ty.DialectType("stablehlo", "token"), FIRST),
        (26, "witness_v1", ty.DialectType("shape", "witness"), FIRST),
        (33, "none_v1", ty.NoneType(), (1, 6)),
        (34, "tf31_v1", ty.F("tf32"), (1, 6)),
    ]
    floats: tuple[tuple[Version, Mapping[int, str]], ...] = (
        (FIRST, {2: "bf16", 3: "f16", 4: "f32", 5: "f64", 6: "f8E4M3FN", 7: "f8E5M2"}),
        ((0, 10), {27: "f8E4M3FNUZ", 28: "f8E5M2FNUZ"}),
        ((0, 11), {29: "f8E4M3B11FNUZ"}),
        ((1, 7), {35: "f8E4M3", 36: "f8E3M4"}),
        ((1, 8), {37: "f4E2M1FN", 38: "f6E2M3FN", 39: "f6E3M2FN", 40: "f8E8M0FNU"}),
    )
    rows += [(code, f"{name}_v1", ty.F(name), since) for since, codes in floats for code, name in codes.items()]
    for first, lone, prefix, sign in ((10, 31, "i", "signless"), (15, 32, "ui", "unsigned")):
        codes = {4: first, 8: first + 1, 16: first + 2, 32: first + 3, 64: first + 4, 2: lone}
        rows += [
            (code, f"{prefix}{width}_v1", ty.IntegerType(width, sign), (1, 2) if width == 2 else FIRST)  # type: ignore[arg-type]
            for width, code in codes.items()
        ]
    return rows


_PLAIN = _plain()
_BUILTIN = {name: builtin for _, name, builtin, _ in _PLAIN}
_VHLO = {builtin: vhlo_type(name) for _, name, builtin, _ in _PLAIN}
_SINCE: Mapping[str, Version] = {
    **{name: since for _, name, _, since in _PLAIN},
    "quant_per_axis_v1": (0, 18),
    "buffer_v1": (1, 13),
    "future_v1": (1, 15),
}


def _row(code: int, name: str, *fields: Field, check: Callable[..., bool] = lambda *values: True) -> Code:
    return Code(
        code,
        VhloType,
        fields,
        lambda *values: vhlo_type(name, *values) if check(*values) else None,
        lambda t: t.values if t.mnemonic == name else None,
    )


def _all_types(*values: Any) -> bool:
    return all(
        isinstance(each, VhloType) for value in values for each in (value if isinstance(value, tuple) else [value])
    )


_TYPES = list_of(TYPE)
TYPES = (
    *(_row(code, name) for code, name, _, _ in _PLAIN),
    _row(1, "complex_v1", TYPE, check=_all_types),
    _row(8, "func_v1", _TYPES, _TYPES),
    Code(
        20,
        VhloType,
        (SHAPE, TYPE),
        lambda shape, element: vhlo_type("tensor_v1", shape, element, None),
        lambda t: t.values[:2] if t.mnemonic == "tensor_v1" and t.values[2] is None else None,
    ),
    Code(
        21,
        VhloType,
        (ATTRIBUTE, SHAPE, TYPE),
        lambda encoding, shape, element: vhlo_type("tensor_v1", shape, element, encoding),
        lambda t: (t.values[2], *t.values[:2]) if t.mnemonic == "tensor_v1" and t.values[2] is not None else None,
    ),
    _row(23, "tuple_v1", _TYPES),
    _row(24, "quant_v1", VARINT, TYPE, TYPE, DOUBLE, SVARINT, SVARINT, SVARINT),
    _row(25, "unranked_tensor_v1", TYPE),
    _row(30, "quant_per_axis_v1", VARINT, TYPE, TYPE, VARINT, SVARINT, SVARINT, list_of(DOUBLE), list_of(SVARINT)),
    _row(41, "buffer_v1", SHAPE, TYPE),
    _row(42, "future_v1", _TYPES),
)


@lru_cache(maxsize=1024)
def builtin_of(type: ty.Type) -> ty.Type | None:
    """Return the type of StableHLO that a type of VHLO stands for; None if there is none. A type of another dialect is
    returned as it is.
    """
    if not isinstance(type, VhloType):
        return type
    if type.mnemonic in _BUILTIN:
        return _BUILTIN[type.mnemonic]
    made = _builtin_with_parts(type)
    return None if made is None or wrong(made) is not None else made


def _builtin_with_parts(type: VhloType) -> ty.Type | None:
    values = type.values
    if type.mnemonic in ("quant_v1", "quant_per_axis_v1"):
        return _quantized(type)
    parts: list[Any] = [_converted(value, builtin_of) for value in values]
    if any(part is None or (isinstance(part, tuple) and None in part) for part in _required(type.mnemonic, parts)):
        return None
    match type.mnemonic:
        case "complex_v1":
            return ty.ComplexType(*parts) if isinstance(parts[0], ty.FloatType | ty.IntegerType) else None
        case "func_v1":
            return ty.FunctionType(*parts)
        case "tensor_v1":
            return ty.TensorType(values[0], parts[1], _bounds_of(values[2]))
        case "tuple_v1":
            return ty.TupleType(*parts)
        case "unranked_tensor_v1":
            return ty.TensorType(None, *parts)
        case "buffer_v1":
            return ty.MemRefType(values[0], parts[1])
    return future_of(parts[0])


def future_of(types: tuple[ty.Type, ...]) -> ty.Type:
    """Return the type ``!stablehlo.future<…>`` of values of these types."""
    from halfulp.interp.dialects.stablehlo.types import future_of as make

    return make(types)


def _required(mnemonic: str, parts: list[Any]) -> list[Any]:
    """Return the parts that must be types."""
    return parts[1:2] if mnemonic in ("tensor_v1", "buffer_v1") else parts


def _converted(value: Any, convert: Callable[[ty.Type], ty.Type | None]) -> Any:
    if isinstance(value, tuple):
        return tuple(convert(each) if isinstance(each, ty.Type) else each for each in value)
    return convert(value) if isinstance(value, ty.Type) else value


def _quantized(type: VhloType) -> ty.Type | None:
    flags, storage, expressed, *rest = type.values
    stored, real = builtin_of(storage), builtin_of(expressed)
    if not isinstance(stored, ty.IntegerType) or not isinstance(real, ty.FloatType) or flags > 1:
        return None
    if type.mnemonic == "quant_v1":
        scale, point, least, most = rest
        return ty.UniformQuantizedType(
            stored.width, bool(flags), least, most, real, (scale,), (point,), storage_type_sign=stored.signedness
        )
    axis, least, most, scales, points = rest
    if len(scales) != len(points):
        return None
    return ty.UniformQuantizedType(
        stored.width, bool(flags), least, most, real, scales, points, axis, storage_type_sign=stored.signedness
    )


@lru_cache(maxsize=1024)
def vhlo_of(type: ty.Type) -> VhloType | None:
    """Return the type of VHLO for a type of StableHLO, or None if there is none."""
    if type in _VHLO:
        return _VHLO[type]
    match type:
        case VhloType():
            return type
        case ty.ComplexType():
            return _made("complex_v1", type.element)
        case ty.FunctionType():
            return _made("func_v1", type.inputs, type.results)
        case ty.TensorType(shape=None):
            return _made("unranked_tensor_v1", type.element)
        case ty.TensorType():
            made = _made("tensor_v1", type.element)
            encoding = _extensions_of(type.encoding)
            if made is None or (type.encoding is not None and encoding is None):
                return None
            return vhlo_type("tensor_v1", type.shape, *made.values, encoding)
        case ty.MemRefType() if type.shape is not None and type.layout is None and type.memory_space is None:
            made = _made("buffer_v1", type.element)
            return made and vhlo_type("buffer_v1", type.shape, *made.values)
        case ty.TupleType():
            return _made("tuple_v1", type.elements)
        case ty.UniformQuantizedType(block_sizes=None, storage=None):
            head = _made("", ty.storage_type(type), type.expressed)
            if head is None:
                return None
            flags, low, high = int(type.storage_signed), type.storage_min, type.storage_max
            if type.axis is None:
                return vhlo_type("quant_v1", flags, *head.values, *type.scales, *type.zero_points, low, high)
            numbers = type.axis, low, high, type.scales, type.zero_points
            return vhlo_type("quant_per_axis_v1", flags, *head.values, *numbers)
        case ty.DialectType(dialect="stablehlo", mnemonic="future"):
            return _made("future_v1", type.parts)
    return None


def _bounds_of(encoding: at.Attribute | None) -> at.Attribute | None:
    if not is_a(encoding, "type_extensions"):
        return encoding
    from halfulp.interp.dialects.stablehlo.types import stablehlo

    assert isinstance(encoding, DialectAttr)
    return DialectAttr(stablehlo.attributes["bounds"], encoding.values)


def _extensions_of(encoding: at.Attribute | None) -> at.Attribute | None:
    if not isinstance(encoding, DialectAttr):
        return None
    if encoding.definition.name == "stablehlo.bounds":
        return vhlo_attribute("type_extensions", *encoding.values)
    return encoding if is_a(encoding, "type_extensions") else None


def _made(mnemonic: str, *parts: Any) -> VhloType | None:
    values = [_converted(part, vhlo_of) for part in parts]
    if any(value is None or (isinstance(value, tuple) and None in value) for value in values):
        return None
    return vhlo_type(mnemonic, *values)


# --- attributes -------------------------------------------------------------------------------------------------------


def _width(type: Any) -> int | None:
    builtin = builtin_of(type) if isinstance(type, VhloType) else None
    if isinstance(builtin, ty.IntegerType):
        return builtin.width
    return ty.INDEX_WIDTH if isinstance(builtin, ty.IndexType) else _float_width(builtin)


def _float_width(type: ty.Type | None) -> int | None:
    return type.format.bits if isinstance(type, ty.FloatType) else None


def _read_number(source: CodeSource, before: tuple[Any, ...]) -> int:
    width = _width(before[0])
    if width is None:
        source.cursor.fail(f"type '{before[0]}' has no numbers")
    return read_bits(source.cursor, width)


def _write_number(sink: CodeSink, code: int, before: tuple[Any, ...]) -> None:
    width = _width(before[0])
    assert width is not None
    write_bits(sink, code, width)


def _read_tensor(source: CodeSource, before: tuple[Any, ...]) -> at.DenseElementsAttr:
    """Read elements. Truth values are eight in a byte; before that, each had its own byte."""
    type = builtin_of(before[0])
    if not isinstance(type, ty.TensorType):
        source.cursor.fail(f"'{before[0]}' cannot be the type of elements")
    if type.element == ty.I1:
        cursor = source.cursor
        start, count = cursor.pos, ty.element_count(type) or 0
        data = read_blob(source, before)
        if len(data) == count > 1 and not data.translate(None, b"\0\1\xff"):
            codes = np.frombuffer(data, np.uint8) & 1
            return at.DenseElementsAttr(type, codes.reshape(ty.static_shape(type)))
        if data == b"\1" and count == 1:
            return at.DenseElementsAttr(type, np.array(1, np.uint8), True)
        cursor.pos = start
    return read_elements(source, (type,))


def _write_axis_info(sink: CodeSink, value: at.Attribute | None, before: tuple[Any, ...]) -> None:
    sink.varint(int(value is not None))
    if value is not None:
        sink.attribute(value)


def _read_pairs(source: CodeSource, before: tuple[Any, ...]) -> tuple[at.Attribute, ...]:
    return tuple([source.attribute() for _ in range(2 * source.cursor.count(2))])


def _write_pairs(sink: CodeSink, values: tuple[at.Attribute, ...], before: tuple[Any, ...]) -> None:
    sink.varint(len(values) // 2)
    for value in values:
        sink.attribute(value)


FIELDS: Mapping[str, Field] = {
    "attributes": list_of(ATTRIBUTE),
    "pairs": Field(_read_pairs, _write_pairs),
    "type": TYPE,
    "bits": Field(_read_number, _write_number),
    "double": Field(lambda source, _: read_bits(source.cursor, 64), lambda sink, value, _: write_bits(sink, value, 64)),
    "string": STRING,
    "tensor": Field(_read_tensor, lambda sink, value, _: write_elements(sink, value, (value.type,))),
    "signed": SVARINT,
    "signed numbers": list_of(SVARINT),
    "sizes": SHAPE,
    "axis info": Field(
        lambda source, _: source.attribute() if source.cursor.number(2, "a truth value") else None, _write_axis_info
    ),
    "perhaps": OPTIONAL_ATTRIBUTE,
}
"""How bytecode holds a parameter of an attribute of VHLO, by the word in its declaration."""

_FORM = ParameterForm(
    lambda p: p.error("halfulp does not read VHLO as text"), lambda a, names: _spelled(a.values, names)
)
ATTRIBUTES: dict[str, AttributeDefinition] = {}
"""The attributes of VHLO by their names without the version."""


def _kind(accepts: Callable[[Any], bool]) -> ParameterKind:
    return ParameterKind(_FORM.read, lambda value, names: str(value), accepts)


_ANY = _kind(lambda value: True)


def is_a(value: Any, *names: str) -> bool:
    """Tell whether a value is an attribute of VHLO with one of those names."""
    return isinstance(value, DialectAttr) and any(value.definition is ATTRIBUTES.get(name) for name in names)


def _declare(name: str, code: int, *parameters: tuple[Any, ...]) -> None:
    """Declare an attribute. Each parameter has a name, the word for its field, and perhaps a kind."""
    ATTRIBUTES[name] = AttributeDefinition(
        name=f"vhlo.{name}_v1",
        form=_FORM,
        parameters=tuple(
            Parameter(parameter, kind[0] if kind else _ANY, encoded=word) for parameter, word, *kind in parameters
        ),
        code=code,
    )


def _enum(name: str, code: int, cases: range) -> None:
    _declare(name, code, ("value", "number", _kind(lambda value: value in cases)))


_NAME = _kind(lambda value: is_a(value, "string"))


def _type_of(kind: Any) -> ParameterKind:
    return _kind(lambda value: isinstance(builtin_of(value), kind))


_declare("array", 1, ("value", "attributes"))
_declare("bool", 2, ("value", "number", _kind(lambda value: value < 2)))
_enum("comparison_direction", 3, range(6))
_enum("comparison_type", 4, range(5))
_enum("api_version", 5, range(5))
_declare("dict", 6, ("value", "pairs", _kind(lambda value: all(is_a(name, "string") for name in value[::2]))))
_enum("fft_type", 7, range(4))
_declare("float", 8, ("type", "type", _type_of(ty.FloatType)), ("value", "bits"))
_declare("integer", 9, ("type", "type", _type_of(ty.IntegerType | ty.IndexType)), ("value", "bits"))
_declare(
    "output_operand_alias",
    10,
    ("output_tuple_indices", "signed numbers"),
    ("operand_index", "signed"),
    ("operand_tuple_indices", "signed numbers"),
)
_enum("precision", 11, range(3))
_enum("rng_algorithm", 12, range(3))
_enum("rng_distribution", 13, range(1, 3))
_declare("string", 14, ("value", "string"))
_declare("tensor", 15, ("type", "type"), ("data", "tensor"))
_enum("transpose", 16, range(4))
_declare("type", 17, ("value", "type"))
_declare("type_extensions", 18, ("bounds", "sizes"))
_enum("result_accuracy_mode", 19, range(3))
_declare(
    "result_accuracy",
    20,
    ("atol", "double"),
    ("rtol", "double"),
    ("ulps", "signed"),
    ("mode", "attribute", _kind(lambda value: is_a(value, "result_accuracy_mode"))),
)
_declare("sub_axis_info", 21, ("pre_size", "signed"), ("size", "signed"))
_declare(
    "axis_ref",
    22,
    ("name", "attribute", _NAME),
    ("sub_axis_info", "axis info", _kind(lambda value: value is None or is_a(value, "sub_axis_info"))),
)
_declare(
    "replica_group_mesh_axes",
    23,
    ("mesh", "attribute", _kind(lambda value: is_a(value, "string", "mesh"))),
    ("axes", "attribute", _kind(lambda value: is_a(value, "array"))),
)
_declare("mesh_axis", 24, ("name", "attribute", _NAME), ("size", "signed"))
_declare(
    "mesh",
    25,
    ("axes", "attribute", _kind(lambda v: is_a(v, "array") and all(is_a(axis, "mesh_axis") for axis in v.values[0]))),
    ("device_ids", "perhaps", _kind(lambda value: value is None or is_a(value, "tensor"))),
)

_ATTRIBUTE_SINCE: Mapping[AttributeDefinition, Version] = {
    **{ATTRIBUTES[name]: (1, 9) for name in ("result_accuracy", "result_accuracy_mode")},
    **{
        ATTRIBUTES[name]: (1, 16)
        for name in ("sub_axis_info", "axis_ref", "replica_group_mesh_axes", "mesh_axis", "mesh")
    },
}


def vhlo_attribute(name: str, *values: Any) -> DialectAttr:
    """Return the attribute of VHLO of that name."""
    return DialectAttr(ATTRIBUTES[name], values)


@lru_cache(maxsize=4096)
def since_of(thing: at.Attribute | ty.Type) -> Version:
    """Return the first version of VHLO that has this attribute or type and everything in it."""
    if isinstance(thing, VhloType):
        return max([_SINCE.get(thing.mnemonic, FIRST), *map(since_of, thing.parts)])
    if isinstance(thing, DialectAttr) and thing.definition.dialect == "vhlo":
        parts = [part for part in thing.parts if not isinstance(part, at.DenseElementsAttr)]
        return max([_ATTRIBUTE_SINCE.get(thing.definition, FIRST), *map(since_of, parts)])
    return FIRST
