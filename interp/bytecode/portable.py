"""Portable artifacts of StableHLO: VHLO in bytecode, from version 0.9 to the newest.

The ops of VHLO follow from the declarations of StableHLO's ops, whose structures are taken apart and whose defaults are
written out, and from one table of the changes since 0.9. The rules are those of `StablehloLegalizeToVhlo.cpp`,
`VhloLegalizeToStablehlo.cpp` and `VhloToVersion.cpp`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from halfulp.interp.bytecode.fields import wrong
from halfulp.interp.bytecode.numbering import order_of
from halfulp.interp.bytecode.vhlo_codes import (
    ATTRIBUTES,
    FIRST,
    LATEST,
    Version,
    VhloType,
    builtin_of,
    is_a,
    since_of,
    vhlo_attribute,
    vhlo_of,
    vhlo_type,
)
from halfulp.interp.bytecode.writer import write_bytecode
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare import parameters as kinds
from halfulp.interp.declare.registry import MODULES, Registry, default_registry
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import UnknownLoc, narrowed
from halfulp.interp.ir.dialect_attributes import DialectAttr, EnumAttr, ParameterKind
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.ir.operations import Block, Module, Operation, Region, SSAValue

PRODUCER = "StableHLO_v"
"""The beginning of the producer's name in a portable artifact. The version follows."""


def _type(type_: ty.Type) -> VhloType:
    made = vhlo_of(type_)
    if made is None:
        raise Unsupported(f"a portable artifact cannot hold the type '{type_}'")
    return made


def _builtin(type_: ty.Type) -> ty.Type:
    made = builtin_of(type_)
    if made is None:
        raise Unsupported(f"StableHLO has no type for '{type_}' of the artifact")
    return made


# --- defaults ---------------------------------------------------------------------------------------------------------
#
# The attributes of VHLO that StableHLO leaves out.


def _elements(shape: tuple[int, ...], element: ty.Type, codes: list[int]) -> at.DenseElementsAttr:
    """Return elements; equal ones are a splat, as MLIR keeps them."""
    array = np.array([code & (1 << 64) - 1 for code in codes], np.uint8 if element == ty.I1 else np.uint64)
    splat = bool(codes) and len(set(codes)) == 1
    type_ = ty.TensorType(shape, element)
    return at.DenseElementsAttr(type_, array[:1].reshape(()) if splat else array.reshape(shape), splat)


def _tensor(elements: at.DenseElementsAttr) -> DialectAttr:
    return vhlo_attribute("tensor", _type(elements.type), elements)


def _filled(value: int, *columns: int, element: ty.Type = ty.I64) -> Callable[[int], DialectAttr]:
    """Return a function that makes the elements for a number of dimensions, all with one value."""

    def make(count: int) -> DialectAttr:
        shape = (count, *columns)
        return _tensor(_elements(shape, element, [value] * int(np.prod(shape))))

    return make


def _i64(value: int) -> DialectAttr:
    return vhlo_attribute("integer", vhlo_type("i64_v1"), value & (1 << 64) - 1)


_FALSE, _EMPTY = vhlo_attribute("bool", 0), vhlo_attribute("array", ())
_NO_STRING, _NO_DICTIONARY = vhlo_attribute("string", ""), vhlo_attribute("dict", ())
_NO_TENSOR = _filled(0)(0)
_NONE = vhlo_attribute("type", vhlo_type("none_v1"))
_PRECISION = vhlo_attribute("precision", 0)
_ACCURACY = vhlo_attribute("result_accuracy", 0, 0, 0, vhlo_attribute("result_accuracy_mode", 0))
_ALGORITHM = (
    "lhs_precision_type", "rhs_precision_type", "accumulation_type", "lhs_component_count", "rhs_component_count",
    "num_primitive_operations", "allow_imprecise_accumulation",
)  # fmt: skip

_DEFAULTS: Mapping[str, DialectAttr | Callable[[int], DialectAttr]] = {
    **dict.fromkeys(("sym_visibility", "infeed_config", "outfeed_config", "backend_config"), _NO_STRING),
    **dict.fromkeys(
        (
            "arg_attrs", "res_attrs", "called_computations", "operand_layouts", "result_layouts",
            "output_operand_aliases", "result_tilings", "layout",
        ),
        _EMPTY,
    ),
    **dict.fromkeys(
        (
            "use_global_device_ids", "has_dynamic_root", "lower", "has_side_effect", "indices_are_sorted",
            "unique_indices", "is_host_transfer", "is_stable",
        ),
        _FALSE,
    ),
    **dict.fromkeys(
        ("window_strides", "lhs_dilation", "rhs_dilation", "base_dilations", "window_dilations"), _filled(1)
    ),
    **dict.fromkeys(
        ("known_expanding_dimensions", "known_nonexpanding_dimensions", "source_target_pairs"), _NO_TENSOR
    ),
    **dict.fromkeys(_ALGORITHM, _NONE),
    "padding": _filled(0, 2),
    "window_reversal": _filled(0, element=ty.I1),
    "precision_config": vhlo_attribute("array", (_PRECISION, _PRECISION)),
    "channel_id": _i64(0),
    "compare_type": vhlo_attribute("comparison_type", 0),
    "composite_attributes": _NO_DICTIONARY,
    "version": _i64(0),
    "dimension": _i64(-1),
    "api_version": vhlo_attribute("api_version", 1),
    "result_accuracy": _ACCURACY,
}  # fmt: skip
"""What stands in VHLO for an attribute that StableHLO leaves out; in some cases it depends on the number of dimensions
of a window.
"""


def _is_default(name: str, value: at.Attribute) -> bool:
    """Tell whether StableHLO leaves an attribute out that VHLO has."""
    if name == "backend_config" and is_a(value, "dict"):
        return value == _NO_DICTIONARY
    if name == "precision_config" and is_a(value, "array"):
        return all(each == _PRECISION for each in value.values[0])  # type: ignore[attr-defined]
    default = _DEFAULTS.get(name)
    if is_a(value, "tensor") and callable(default):
        wanted, data = default(1).values[1], value.values[1]  # type: ignore[attr-defined]
        same = data.type.element == wanted.type.element and data.codes.size
        return bool(same and (data.codes.reshape(-1) == wanted.codes.reshape(-1)[0]).all())
    if is_a(value, "tensor") and default == _NO_TENSOR:
        return not value.values[1].codes.size  # type: ignore[attr-defined]
    if is_a(value, "integer") and isinstance(default, DialectAttr) and is_a(default, "integer"):
        return _integer(value) == _integer(default)
    return bool(value == default)


def _integer(value: at.Attribute) -> int:
    converted = narrowed(_of_vhlo(value), at.IntegerAttr)
    return converted.value


# --- versions ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Change:
    """A new version of an op: the version of StableHLO that brought it, the attributes that it added, with what they
    are for an older op, and those that it dropped. ``single``: older ops have one operand and one result. ``alone``:
    older ops have no regions.
    """

    since: Version
    added: Mapping[str, DialectAttr] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    single: bool = False
    alone: bool = False


_BATCHING = _Change((1, 1), dict.fromkeys(("operand_batching_dims", "start_indices_batching_dims"), _NO_TENSOR))
_VARIADIC = _Change((1, 5), single=True)
_PAIRS = _Change((1, 12), {"source_target_pairs": _NO_TENSOR})
_ACCURATE = _Change((1, 10), {"result_accuracy": _ACCURACY})
CHANGES: Mapping[str, _Change] = {
    "gather": _BATCHING,
    "dynamic_gather": _BATCHING,
    "scatter": _Change((1, 1), dict.fromkeys(("input_batching_dims", "scatter_indices_batching_dims"), _NO_TENSOR)),
    "all_gather": _VARIADIC,
    "all_reduce": _VARIADIC,
    "all_to_all": _VARIADIC,
    "dot_general": _Change((1, 6), dict.fromkeys(_ALGORITHM, _NONE)),
    "dynamic_conv": _Change((0, 20), dropped=("padding",)),
    "exponential": _Change((1, 9), {"result_accuracy": _ACCURACY}),
    **dict.fromkeys(
        (
            "cbrt", "cosine", "exponential_minus_one", "log", "log_plus_one", "logistic", "rsqrt", "sine", "sqrt",
            "tan", "tanh",
        ),
        _ACCURATE,
    ),
    "send": _PAIRS,
    "recv": _PAIRS,
    "composite": _Change((1, 14), alone=True),
    "custom_call": _Change((1, 18), {"result_tilings": _EMPTY}),
    "collective_broadcast": _Change((1, 20), {"has_dynamic_root": _FALSE}, single=True),
}  # fmt: skip
"""The ops that have changed since the first version. Each has done so once."""
SINCE: Mapping[str, Version] = {
    "collective_broadcast": (0, 16),
    "composite": (0, 19),
    "tan": (1, 4),
    "async_start": (1, 15),
    "async_done": (1, 15),
    "collective_reduce": (1, 19),
}
"""The ops that the first version did not have."""
_REDUCERS = frozenset(("all_reduce", "reduce", "reduce_scatter", "reduce_window", "scatter", "select_and_scatter"))
"""The ops whose results have the element types of their operands before 0.17."""

# --- ops --------------------------------------------------------------------------------------------------------------

_STRUCTS: Mapping[tuple[str, str], str] = {
    ("convolution", "dimension_numbers"): "conv",
    ("dynamic_conv", "dimension_numbers"): "conv",
    ("gather", "dimension_numbers"): "gather",
    ("dynamic_gather", "dimension_numbers"): "gather",
    ("scatter", "scatter_dimension_numbers"): "scatter",
    ("dot_general", "dot_dimension_numbers"): "dot",
    ("dot_general", "algorithm"): "dot_algorithm",
}
"""The attributes that VHLO takes apart, by op and property."""
_SYMBOLS, _UNITS = ("callee", "decomposition"), ("use_global_device_ids", "has_dynamic_root")
_WIDE = ("send", "recv")
"""The ops with a type of channel."""
_FUNCTIONS = {"func": "func.func", "call": "func.call"}
_ABSENT = {"func": ("dlti", "no_inline"), "call": ("arg_attrs", "res_attrs", "no_inline")}
"""The attributes of functions and calls that VHLO does not have."""


def _stablehlo() -> d.Dialect:
    found: d.Dialect = default_registry().dialects["stablehlo"]
    return found


@dataclass(frozen=True)
class _Form:
    """How VHLO has an op. ``properties``: the names that stand for each property of StableHLO's op."""

    mnemonic: str
    definition: d.OpDefinition
    properties: Mapping[str, tuple[str, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes of the newest version of the op."""
        return tuple(name for names in self.properties.values() for name in names)


def _parts_of(mnemonic: str, name: str) -> tuple[str, ...]:
    struct = _STRUCTS.get((mnemonic, name))
    if struct is not None:
        return tuple(parameter.name for parameter in _stablehlo().attributes[struct].parameters)
    if name == "channel_handle":
        return ("channel_id", "channel_type") if mnemonic in _WIDE else ("channel_id",)
    return (name,)


@cache
def _forms() -> Mapping[str, _Form]:
    """Return the ops of VHLO by their names without the version."""
    known = {name.partition(".")[2]: op for name, op in _stablehlo().ops.items()}
    registry = default_registry()
    known |= {mnemonic: registry.require(name) for mnemonic, name in _FUNCTIONS.items()}
    return {
        mnemonic: _Form(
            mnemonic,
            op,
            {
                prop.name: _parts_of(mnemonic, prop.name)
                for prop in op.properties
                if prop.name not in _ABSENT.get(mnemonic, ())
            },
        )
        for mnemonic, op in known.items()
    }


def _attributes_at(form: _Form, number: int) -> tuple[str, ...]:
    """Return the attributes of a version of an op."""
    change = CHANGES.get(form.mnemonic)
    if change is None or number == 2:
        return form.names
    return (*(name for name in form.names if name not in change.added), *change.dropped)


@cache
def registry() -> Registry:
    """Return the known dialects and VHLO."""
    vhlo = d.Dialect("vhlo")
    vhlo.attributes.update({f"{name}_v1": definition for name, definition in ATTRIBUTES.items()})
    for mnemonic, form in _forms().items():
        for number in range(1, _newest(mnemonic) + 1):
            vhlo.op(
                f"{mnemonic}_v{number}",
                properties=tuple(d.Property(name, d.ANY_ATTR) for name in _attributes_at(form, number)),
                traits=(
                    *((d.Trait.ISOLATED_FROM_ABOVE,) if mnemonic == "func" else ()),
                    *((d.Trait.TERMINATOR,) if mnemonic == "return" else ()),
                ),
            )
    return Registry([vhlo], MODULES)


def _newest(mnemonic: str) -> int:
    return 2 if mnemonic in CHANGES else 1


# --- attributes and types ---------------------------------------------------------------------------------------------


def _to_vhlo(value: at.Attribute) -> DialectAttr:
    """Return the attribute of VHLO for one of StableHLO. Raises Unsupported if there is none."""
    match value:
        case EnumAttr() if (name := _mnemonic(value)) in ATTRIBUTES:
            return vhlo_attribute(name, value.value)
        case DialectAttr() if value.definition.dialect == "stablehlo":
            return _struct_to_vhlo(value)
        case at.IntegerAttr() if value.type == ty.I1:
            return vhlo_attribute("bool", value.value)
        case at.IntegerAttr():
            return vhlo_attribute("integer", _type(value.type), value.code)
        case at.FloatAttr():
            return vhlo_attribute("float", _type(value.type), value.code)
        case at.StringAttr(type=None):
            return vhlo_attribute("string", value.value)
        case at.SymbolRefAttr() if not value.nested:
            return vhlo_attribute("string", value.root)
        case at.ArrayAttr():
            return vhlo_attribute("array", tuple(map(_to_vhlo, value.elements)))
        case at.DictionaryAttr():
            pairs = (part for name, held in value.entries for part in (at.StringAttr(name), held))
            return vhlo_attribute("dict", tuple(map(_to_vhlo, pairs)))
        case at.TypeAttr():
            return vhlo_attribute("type", _type(value.type))
        case at.DenseElementsAttr() if isinstance(value.type, ty.TensorType):
            return _tensor(value)
        case at.DenseArrayAttr() if value.element in (ty.I64, ty.I1):
            return _tensor(_elements((len(value.codes),), value.element, list(value.codes)))
    raise Unsupported(f"a portable artifact cannot hold the attribute {value}")


def _mnemonic(value: EnumAttr) -> str:
    return str(value.definition.mnemonic).partition(".")[2]


def _struct_to_vhlo(value: DialectAttr) -> DialectAttr:
    name = value.definition.name.partition(".")[2]
    values = value.values
    match name:
        case "output_operand_alias" | "sub_axis_info":
            return vhlo_attribute(name, *values)
        case "result_accuracy":
            atol, rtol, ulps, mode = values
            return vhlo_attribute(name, atol.code, rtol.code, ulps, _to_vhlo(mode))
        case "axis_ref" | "mesh_axis":
            rest = values[1] if name == "mesh_axis" or values[1] is None else _to_vhlo(values[1])
            return vhlo_attribute(name, vhlo_attribute("string", values[0]), rest)
        case "mesh":
            ids = None if values[1] is None else _to_vhlo(values[1])
            return vhlo_attribute(name, vhlo_attribute("array", tuple(map(_to_vhlo, values[0]))), ids)
        case "replica_group_mesh_axes":
            return vhlo_attribute(name, *map(_to_vhlo, values))
    raise Unsupported(f"a portable artifact cannot hold the attribute {value}")


def _of_vhlo(value: at.Attribute) -> at.Attribute:
    """Return the attribute of StableHLO for one of VHLO; that of another dialect stays."""
    if not isinstance(value, DialectAttr) or value.definition.dialect != "vhlo":
        return value
    name = value.definition.name.removeprefix("vhlo.").removesuffix("_v1")
    values = value.values
    dialect = _stablehlo()
    if name in dialect.enums:
        return dialect.enums[name].attribute(values[0])
    match name:
        case "bool":
            return at.BoolAttr(bool(values[0]))
        case "api_version":
            return at.IntegerAttr(values[0], ty.I32)
        case "integer":
            type_ = _builtin(values[0])
            return at.IntegerAttr(at.integer_of_code(values[1], type_), type_)
        case "float":
            type_ = narrowed(_builtin(values[0]), ty.FloatType)
            return at.FloatAttr(values[1], type_)
        case "string":
            return at.StringAttr(values[0])
        case "array":
            return at.ArrayAttr(tuple(map(_of_vhlo, values[0])))
        case "dict":
            pairs = zip(values[0][::2], values[0][1::2], strict=True)
            return at.DictionaryAttr.of({key.values[0]: _of_vhlo(held) for key, held in pairs})
        case "type":
            return at.TypeAttr(_builtin(values[0]))
        case "tensor":
            return values[1]  # type: ignore[no-any-return]
    return _verified(DialectAttr(dialect.attributes[name], _struct_of_vhlo(name, values)))


def _verified(value: DialectAttr) -> DialectAttr:
    """Return an attribute. Raises Unsupported if it breaks its own rules."""
    if (problem := wrong(value)) is not None:
        raise Unsupported(f"the attribute {value} of the artifact: {problem}")
    return value


def _struct_of_vhlo(name: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    match name:
        case "result_accuracy":
            atol, rtol, ulps, mode = values
            return at.FloatAttr(atol, ty.F("f64")), at.FloatAttr(rtol, ty.F("f64")), ulps, _of_vhlo(mode)
        case "axis_ref":
            return values[0].values[0], None if values[1] is None else _of_vhlo(values[1])
        case "mesh_axis":
            return values[0].values[0], values[1]
        case "mesh":
            ids = None if values[1] is None else _of_vhlo(values[1])
            return tuple(map(_of_vhlo, values[0].values[0])), ids
        case "replica_group_mesh_axes":
            mesh = values[0]
            root = at.SymbolRefAttr(mesh.values[0]) if is_a(mesh, "string") else _of_vhlo(mesh)
            return root, _of_vhlo(values[1])
    return values


# --- properties -------------------------------------------------------------------------------------------------------


def _properties_to_vhlo(form: _Form, op: Operation) -> dict[str, at.Attribute]:
    """Return the attributes of the newest version of an op."""
    held = op.properties
    made: dict[str, at.Attribute] = {}
    for name, parts in form.properties.items():
        value = held.get(name)
        if value is None:
            continue
        if (form.mnemonic, name) in _STRUCTS or name == "channel_handle":
            assert isinstance(value, DialectAttr)
            made.update((part, _field(each)) for part, each in zip(parts, value.values, strict=False))
        elif name in _UNITS:
            made[name] = vhlo_attribute("bool", 1)
        elif name == "api_version":
            assert isinstance(value, at.IntegerAttr)
            made[name] = vhlo_attribute(name, value.value)
        else:
            made[name] = _to_vhlo(value)
    count = _dimensions(made)
    for name in form.names:
        if name in made:
            continue
        default = _DEFAULTS.get(name)
        if default is None:
            raise Unsupported(f"'{op.name}' has no '{name}', which a portable artifact must have", op=op.name)
        if name == "backend_config" and made.get("api_version") == vhlo_attribute("api_version", 4):
            default = _NO_DICTIONARY
        made[name] = default(count) if callable(default) else default
    return dict(sorted(made.items()))


def _dimensions(made: Mapping[str, at.Attribute]) -> int:
    """Return the number of dimensions of a window."""
    found = made.get("window_dimensions", made.get("input_spatial_dimensions"))
    return int(found.values[1].type.shape[0]) if isinstance(found, DialectAttr) else 0


def _field(value: Any) -> DialectAttr:
    """Return the attribute of VHLO for a field of a structure."""
    if isinstance(value, bool):
        return vhlo_attribute("bool", int(value))
    if isinstance(value, int):
        return _i64(value)
    if isinstance(value, tuple):
        return _tensor(_elements((len(value),), ty.I64, list(value)))
    return vhlo_attribute("type", _type(value))


def _properties_of_vhlo(form: _Form, given: Mapping[str, at.Attribute], name: str) -> dict[str, at.Attribute]:
    """Return StableHLO's attributes for those of the newest version of an op."""
    for each in form.names:
        if each not in given:
            raise Unsupported(f"'{name}' of the artifact has no attribute '{each}'", op=name)
    made: dict[str, at.Attribute] = {}
    for prop in form.definition.properties:
        parts = form.properties.get(prop.name, ())
        if not parts:
            continue
        values = [given[part] for part in parts]
        # The layouts are left out together.
        kept = parts[0].endswith("_layouts") and not given["operand_layouts"] == given["result_layouts"] == _EMPTY
        if prop.optional and not kept and _is_default(parts[0], values[0]):
            continue
        struct = _STRUCTS.get((form.mnemonic, prop.name))
        if struct is not None:
            wanted = _stablehlo().attributes[struct]
            fields = zip(wanted.parameters, values, strict=True)
            found = tuple(_value(each.kind, value, name) for each, value in fields)
            made[prop.name] = _verified(DialectAttr(wanted, found))
        elif prop.name == "channel_handle":
            numbers = [_number(value, name) for value in values]
            made[prop.name] = DialectAttr(_stablehlo().attributes["channel_handle"], (*numbers, 0)[:2])
        elif prop.name in _UNITS:
            if values[0] != _FALSE:
                made[prop.name] = at.UnitAttr()
        else:
            made[prop.name] = _property(prop, _of_vhlo(values[0]))
    return made


def _property(prop: d.Property, value: at.Attribute) -> at.Attribute:
    """Return an attribute as StableHLO's op has it: a symbol, or an array in the place of a tensor."""
    if prop.name in _SYMBOLS and isinstance(value, at.StringAttr):
        return at.SymbolRefAttr(value.value)
    if prop.name == "called_computations" and isinstance(value, at.ArrayAttr):
        return at.ArrayAttr(tuple(_symbol(each) for each in value.elements))
    if isinstance(value, at.DenseElementsAttr) and isinstance(prop.kind, d.AttributeConstraint):
        element = value.type.element
        if prop.kind.accepts(at.DenseArrayAttr(element, ())) and not prop.kind.accepts(value):
            return at.DenseArrayAttr(element, tuple(int(code) for code in value.array().reshape(-1)))
    return value


def _symbol(value: at.Attribute) -> at.Attribute:
    return at.SymbolRefAttr(value.value) if isinstance(value, at.StringAttr) else value


def _number(value: at.Attribute, op: str) -> int:
    converted = _of_vhlo(value)
    if not isinstance(converted, at.IntegerAttr):
        raise Unsupported(f"'{op}' has {value} in the place of a number", op=op)
    return converted.value


_CLASSES: Mapping[ParameterKind, type] = {
    kinds.INTEGER: int,
    kinds.INTEGER_ARRAY: tuple,
    kinds.BOOLEAN: bool,
    kinds.TYPE: ty.Type,
}


def _value(kind: ParameterKind, value: at.Attribute, op: str) -> Any:
    """Return the field of a structure for an attribute of VHLO."""
    converted = _of_vhlo(value)
    found: Any = None
    match converted:
        case at.IntegerAttr():
            found = bool(converted.value) if converted.type == ty.I1 else converted.value
        case at.TypeAttr():
            found = converted.type
        case at.DenseElementsAttr() if converted.type.element == ty.I64:
            found = tuple(at.integer_of_code(int(code), ty.I64) for code in converted.array().reshape(-1))
    if not isinstance(found, _CLASSES[kind]) or (kind is kinds.INTEGER and isinstance(found, bool)):
        raise Unsupported(f"'{op}' has the attribute {value} where another kind of attribute is expected", op=op)
    return found


# --- modules ----------------------------------------------------------------------------------------------------------


@dataclass
class _Head:
    """An op without its operands and regions."""

    name: str
    definition: d.OpDefinition | None
    properties: dict[str, at.Attribute]
    attributes: dict[str, at.Attribute]


def _rebuilt(
    module: Module,
    head: Callable[[Operation], _Head | None],
    convert: Callable[[ty.Type], ty.Type],
    strip: bool = False,
) -> Module:
    """Return a module with other ops. ``head`` returns the new op without its parts, or None for a cast that is left
    out. Regions, blocks and values correspond.
    """
    values: dict[SSAValue, SSAValue] = {}
    blocks: dict[Block, Block] = {}
    made: list[tuple[Operation, Operation]] = []
    aliases: dict[SSAValue, SSAValue] = {}
    stack: list[tuple[Iterator[Operation], Block | None]] = [(iter([module.operation]), None)]
    top: Operation | None = None
    while stack:
        ops, parent = stack[-1]
        op = next(ops, None)
        if op is None:
            stack.pop()
            continue
        try:
            built = head(op)
            results = [convert(result.type) for result in op.results]
        except Unsupported as error:
            error.location = error.location or op.location
            error.op = error.op or op.name
            raise
        if built is None:
            aliases.update(zip(op.results, op.operands, strict=True))
            continue
        place = UnknownLoc() if strip else op.place
        new = Operation(
            built.name,
            built.definition,
            None,
            results,
            built.properties,
            built.attributes,
            [Region() for _ in op.regions],
            location=place,
        )
        made.append((op, new))
        for old, result in zip(op.results, new.results, strict=True):
            result.name = old.name
            values[old] = result
        if parent is None:
            top = new
        else:
            parent.append(new)
        for region, copied in reversed(list(zip(op.regions, new.regions, strict=True))):
            for block in region.blocks:
                fresh = blocks[block] = Block(label=block.label)
                copied.append(fresh)
                for argument in block.arguments:
                    location = UnknownLoc() if strip else argument.location
                    values[argument] = fresh.add_argument(convert(argument.type), argument.name, location)
            stack += [(iter(block.operations), blocks[block]) for block in reversed(region.blocks)]
    for op, new in made:
        new.operands = [_value_of(operand, values, aliases) for operand in op.operands]
        new.successors = [
            (blocks[block], [_value_of(given, values, aliases) for given in passed]) for block, passed in op.successors
        ]
    assert top is not None
    return Module(top, None, module.resources)


def _value_of(value: SSAValue, values: Mapping[SSAValue, SSAValue], aliases: Mapping[SSAValue, SSAValue]) -> SSAValue:
    while value in aliases:
        value = aliases[value]
    return values[value]


def of_vhlo(module: Module) -> Module:
    """Return a module of VHLO, of any version, as a module of StableHLO. Raises Unsupported for a malformed
    artifact.
    """
    return _rebuilt(module, _head_of_vhlo, _builtin)


def _head_of_vhlo(op: Operation) -> _Head | None:
    attributes = {name: _of_vhlo(value) for name, value in op.attributes.items()}
    if not op.name.startswith("vhlo."):
        cast = op.name == "builtin.unrealized_conversion_cast" and len(op.operands) == len(op.results)
        if cast and all(
            _builtin(operand.type) == _builtin(result.type)
            for operand, result in zip(op.operands, op.results, strict=True)
        ):
            return None
        properties = {name: _of_vhlo(value) for name, value in op.properties.items()}
        found = None if op.definition is None else default_registry().find(op.name)
        return _Head(op.name, found, properties, attributes)
    mnemonic, _, number = op.name.removeprefix("vhlo.").rpartition("_v")
    form = _forms()[mnemonic]
    given = dict(op.properties)
    change = CHANGES.get(mnemonic)
    if change is not None and number == "1":
        given = {**{name: value for name, value in given.items() if name not in change.dropped}, **change.added}
    definition = form.definition
    if mnemonic == "return":
        around = None if op.parent is None or op.parent.parent is None else op.parent.parent.parent
        if around is not None and around.name in ("vhlo.func_v1", "func.func"):
            definition = default_registry().require("func.return")
    return _Head(definition.name, definition, _properties_of_vhlo(form, given, op.name), attributes)


def to_vhlo(module: Module, version: Version = LATEST, strip: bool = False) -> Module:
    """Return a module of StableHLO as a module of VHLO of this version. ``strip``: leave the locations out. Raises
    Unsupported if the version does not have something.
    """
    made = _rebuilt(module, lambda op: _head_to_vhlo(op, version), _type, strip)
    made.use_orders = _use_orders(made, version)
    return made


def _use_orders(module: Module, version: Version) -> dict[SSAValue, tuple[int, ...]]:
    """Return the orders of uses: StableHLO makes the newest version of every op first, from the outside to the inside,
    and then the older versions.
    """
    older = {f"vhlo.{mnemonic}_v1" for mnemonic, change in CHANGES.items() if version < change.since}
    uses: dict[SSAValue, list[tuple[bool, int]]] = {}
    place = 0
    for op in module.walk():
        for value in op.operands:
            uses.setdefault(value, []).append((op.name in older, place))
            place += 1
    ordered = ((value, sorted(places)) for value, places in uses.items())
    return {value: order_of([at for _, at in places]) for value, places in ordered if places != uses[value]}


def _head_to_vhlo(op: Operation, version: Version) -> _Head:
    dialect, _, mnemonic = op.name.partition(".")
    if op.name == "builtin.module":
        return _Head(op.name, op.definition, dict(op.properties), dict(op.attributes))
    form = _forms().get(mnemonic)
    if (
        form is None
        or op.definition is None
        or not (dialect == "stablehlo" or op.name in (*_FUNCTIONS.values(), "func.return"))
    ):
        raise Unsupported(f"a portable artifact cannot hold '{op.name}'", hint="it has ops of stablehlo and func only")
    for name in _ABSENT.get(mnemonic, ()):
        if name in op.properties:
            raise Unsupported(f"a portable artifact cannot hold '{name}' of '{op.name}'")
    properties = _properties_to_vhlo(form, op)
    attributes: dict[str, at.Attribute] = {name: _to_vhlo(value) for name, value in op.attributes.items()}
    number = _newest(mnemonic)
    change = CHANGES.get(mnemonic)
    since = SINCE.get(mnemonic, FIRST)
    if change is not None and version < change.since:
        number = 1
        for name, default in change.added.items():
            if properties.pop(name) != default:
                raise _too_new(f"'{name}' of '{op.name}'", change.since, version)
        if (change.single and len(op.operands) != 1) or (change.alone and op.regions):
            raise _too_new(
                f"'{op.name}' with {'regions' if change.alone else 'several operands'}", change.since, version
            )
        if "padding" in change.dropped:
            properties["padding"] = _filled(0, 2)(_dimensions(properties))
    if version < since:
        raise _too_new(f"'{op.name}'", since, version)
    _check_types(op, mnemonic, properties, version)
    for thing in (
        *properties.values(), *attributes.values(), *(_type(value.type) for value in (*op.operands, *op.results)),
    ):  # fmt: skip
        if version < (needed := since_of(thing)):
            raise _too_new(f"{thing}, which '{op.name}' has,", needed, version)
    definition = registry().require(f"vhlo.{mnemonic}_v{number}")
    return _Head(definition.name, definition, dict(sorted(properties.items())), attributes)


def _check_types(op: Operation, mnemonic: str, properties: Mapping[str, at.Attribute], version: Version) -> None:
    """Check what an older version of an op did not allow."""
    if mnemonic in _REDUCERS and version < (0, 17):
        pairs = zip(op.operands, op.results, strict=False)
        if any(_element(operand.type) != _element(result.type) for operand, result in pairs):
            raise _too_new(f"'{op.name}' with results of another element type", (0, 17), version)
    if mnemonic == "custom_call":
        typed = properties["api_version"] == vhlo_attribute("api_version", 4)
        if version < (1, 3) and (typed or is_a(properties["backend_config"], "dict")):
            raise _too_new(f"'{op.name}' with a dictionary as backend_config", (1, 3), version)
        if version < (1, 17) and any(_type(value.type).mnemonic == "future_v1" for value in op.operands):
            raise _too_new(f"'{op.name}' with a future", (1, 17), version)


def _element(type_: ty.Type) -> ty.Type:
    return type_.element if isinstance(type_, ty.TensorType) else type_


def _too_new(what: str, since: Version, version: Version) -> Unsupported:
    return Unsupported(
        f"{what} needs version {_spelled(since)} of StableHLO, but the artifact is for {_spelled(version)}",
        hint=f"write version {_spelled(since)} or a later one",
    )


# --- artifacts --------------------------------------------------------------------------------------------------------


def _spelled(version: Version) -> str:
    return f"{version[0]}.{version[1]}.0"


def version_of(text: str) -> Version:
    """Return the version in a text such as ``1.9.0``. Raises InputError for one that is not known."""
    number = "(0|[1-9][0-9]{0,3})"
    found = re.fullmatch(rf"{number}\.{number}\.{number}", text) if isinstance(text, str) else None
    if found is None:
        raise InputError(f"the version {text!r} of StableHLO is not three numbers, such as {_spelled(LATEST)}")
    version = int(found[1]), int(found[2])
    if not FIRST <= version <= LATEST:
        raise InputError(
            f"version {text} of StableHLO is not supported: artifacts have {_spelled(FIRST)} to {_spelled(LATEST)}"
        )
    return version


def _format_of(version: Version) -> int:
    """Return the version of bytecode in which a version of StableHLO writes."""
    steps = (((0, 9), 0), ((0, 11), 1), ((0, 13), 3), ((0, 14), 4))
    return next((number for last, number in steps if version <= last), 6)


def write_portable(module: Module, version: str = _spelled(LATEST), strip_debug_info: bool = False) -> bytes:
    """Write a module of StableHLO as a portable artifact of a version, such as ``1.9.0``: the bytes that StableHLO
    itself writes. ``strip_debug_info``: leave the locations out.

    Raises InputError for an unknown version, and Unsupported for what the version does not have.
    """
    number = version_of(version)
    return write_bytecode(to_vhlo(module, number, strip_debug_info), _format_of(number), producer=PRODUCER + version)
