"""The attributes of StableHLO: its enumerations, dimension numbers, algorithms, accuracies and meshes.

The words and forms are those of `dialect/StablehloAttrs.td`, `StablehloEnums.td` and `StablehloOps.cpp`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare import parameters as kinds
from halfulp.interp.dialects.stablehlo.types import stablehlo
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import (
    AttributeDefinition,
    DialectAttr,
    EnumAttr,
    EnumDefinition,
    Parameter,
    ParameterForm,
    ParameterKind,
)
from halfulp.interp.ir.errors import ParseError
from halfulp.interp.text.op_parser import OpParser

# --- enumerations -----------------------------------------------------------------------------------------------------


def _enum(mnemonic: str, code: int, *names: str, first: int = 0, bare: bool = True) -> EnumDefinition:
    return stablehlo.enum(
        EnumDefinition(
            f"::mlir::stablehlo::{''.join(word.title() for word in mnemonic.split('_'))}",
            {name: number for number, name in enumerate(names, first)},
            mnemonic=f"stablehlo.{mnemonic}",
            bare=bare,
            code=code,
        )
    )


DIRECTION = _enum("comparison_direction", 2, "EQ", "NE", "GE", "GT", "LE", "LT")
COMPARISON_TYPE = _enum("comparison_type", 3, "NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")
PRECISION = _enum("precision", 8, "DEFAULT", "HIGH", "HIGHEST")
FFT_TYPE = _enum("fft_type", 6, "FFT", "IFFT", "RFFT", "IRFFT")
TRANSPOSE = _enum("transpose", 12, "TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
RNG_DISTRIBUTION = _enum("rng_distribution", 10, "UNIFORM", "NORMAL", first=1)
RNG_ALGORITHM = _enum("rng_algorithm", 9, "DEFAULT", "THREE_FRY", "PHILOX")
ACCURACY_MODE = _enum("result_accuracy_mode", 16, "DEFAULT", "HIGHEST", "TOLERANCE", bare=False)
API_VERSIONS = (
    "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI",
)  # fmt: skip
"""The versions of the interface of custom_call, by number."""

# --- plain attributes -------------------------------------------------------------------------------------------------


def i64_array(numbers: Sequence[int]) -> at.DenseArrayAttr:
    """Return an array attribute of signed numbers."""
    return at.DenseArrayAttr(ty.I64, tuple([number & (1 << 64) - 1 for number in numbers]))


def _at_least(least: int, type_: ty.IntegerType) -> d.AttributeConstraint:
    return d.AttributeConstraint(
        f"{type_.width}-bit signless integer attribute whose value is {'positive' if least else 'non-negative'}",
        lambda attribute: (
            isinstance(attribute, at.IntegerAttr) and attribute.type == type_ and attribute.value >= least
        ),
    )


COUNT, POSITIVE = _at_least(0, ty.I64), _at_least(1, ty.I64)
_NUMBER_32 = ParameterKind(lambda p: p.attribute(ty.I32), lambda value, names: str(value.value))
COUNT_32, POSITIVE_32 = (replace(_at_least(least, ty.I32), form=_NUMBER_32) for least in (0, 1))
I32_ATTR = d.AttributeConstraint(
    "32-bit signless integer attribute",
    lambda attribute: isinstance(attribute, at.IntegerAttr) and attribute.type == ty.I32,
)
F32_ATTR = d.AttributeConstraint(
    "32-bit float attribute",
    lambda attribute: isinstance(attribute, at.FloatAttr) and attribute.type == ty.F("f32"),
)
BOOLEAN_ARRAY = d.AttributeConstraint(
    "i1 dense array attribute",
    lambda attribute: isinstance(attribute, at.DenseArrayAttr) and attribute.element == ty.I1,
)
I64_ELEMENTS = d.AttributeConstraint(
    "64-bit signless integer elements attribute",
    lambda attribute: isinstance(attribute, at.DenseElementsAttr) and ty.element_type(attribute.type) == ty.I64,
)


def _array_of(words: str, accepts: Callable[[at.Attribute], bool]) -> d.AttributeConstraint:
    return d.AttributeConstraint(
        words, lambda attribute: isinstance(attribute, at.ArrayAttr) and all(map(accepts, attribute.elements))
    )


def _is_index_list(attribute: at.Attribute) -> bool:
    if not isinstance(attribute, at.DenseElementsAttr):
        return False
    return ty.element_type(attribute.type) == ty.INDEX and len(ty.shape_of(attribute.type) or ()) == 1


LAYOUTS = _array_of("Array of layout (1D tensor of index type) attributes", _is_index_list)
TILINGS = _array_of(
    "Array of tiling attributes",
    lambda tiling: isinstance(tiling, at.ArrayAttr) and all(map(_is_index_list, tiling.elements)),
)
SYMBOLS = _array_of(
    "flat symbol ref array attribute", lambda each: isinstance(each, at.SymbolRefAttr) and not each.nested
)
PRECISIONS = d.array_of_enum("Precision Config attribute", PRECISION)
BACKEND_CONFIG = d.AttributeConstraint(
    "string attribute or dictionary of named attribute values",
    lambda attribute: isinstance(attribute, at.StringAttr | at.DictionaryAttr),
)
API_VERSION = d.AttributeConstraint(
    "Custom call API version",
    lambda attribute: (
        isinstance(attribute, at.IntegerAttr)
        and attribute.type == ty.I32
        and attribute.value in range(len(API_VERSIONS))
    ),
)


def pairs_of(attribute: at.Attribute | None) -> list[tuple[int, ...]]:
    """Return the rows of a dense attribute with two dimensions, as tuples of numbers."""
    assert isinstance(attribute, at.DenseElementsAttr)
    return [tuple(map(int, row)) for row in attribute.array().astype("u8").view("i8")]


# --- structs ----------------------------------------------------------------------------------------------------------
#
# Attributes whose fields stand in any order, each with its name. A field without a value is not written.


def read_fields(p: Any, parameters: Sequence[Parameter]) -> tuple[Any, ...]:
    """Read ``name = value, …>`` and return the values of the parameters. Raises ParseError in StableHLO's words."""
    values: dict[str, Any] = {}
    by_name = {parameter.name: parameter for parameter in parameters}
    while not p.take(">"):
        name = p.tokens[p.pos]
        parameter = by_name.get(name)
        if parameter is None:
            p.error(f"expected one of: {', '.join(f'`{each}`' for each in by_name)}", hint=p.similar(name, by_name))
        assert parameter is not None
        p.pos += 1
        if name in values:
            p.error(f"duplicated `{name}` entry")
        p.expect("=")
        values[name] = parameter.kind.read(p)
        if not p.take(","):
            p.expect(">")
            break
    return tuple(values.get(parameter.name, parameter.default) for parameter in parameters)


def _spell_fields(value: DialectAttr, names: Mapping[object, str]) -> str:
    pairs = (
        f"{parameter.name} = {parameter.kind.spell(given, names)}"
        for parameter, given in zip(value.definition.parameters, value.values, strict=True)
        if given != parameter.default
    )
    return f"<{', '.join(pairs)}>"


def fields(
    mnemonic: str, *parameters: Parameter, dialect: d.Dialect = stablehlo, code: int | None = None
) -> AttributeDefinition:
    """Declare an attribute whose parameters stand in any order, each after its name. ``code``: its number
    in bytecode.
    """

    def read(p: Any) -> tuple[Any, ...]:
        p.expect("<")
        return read_fields(p, parameters)

    definition = AttributeDefinition(
        name=f"{dialect.name}.{mnemonic}", form=ParameterForm(read, _spell_fields), parameters=parameters, code=code
    )
    dialect.attributes[mnemonic] = definition
    return definition


def lists(*names: str) -> tuple[Parameter, ...]:
    """Return parameters that are lists of numbers. An empty list may be left out of the text."""
    return tuple(
        Parameter(name, kinds.INTEGER_ARRAY, optional=True, default=(), encoded="signed numbers") for name in names
    )


def _number(name: str, **options: Any) -> Parameter:
    return Parameter(name, kinds.INTEGER, encoded="signed", **options)


def attribute_of(definition: AttributeDefinition, what: str) -> d.AttributeConstraint:
    """Return the constraint that an attribute is one of this definition. ``what``: StableHLO's words for it."""
    return d.AttributeConstraint(
        what, lambda attribute: isinstance(attribute, DialectAttr) and attribute.definition is definition
    )


_DOT = fields(
    "dot",
    *lists(
        "lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions", "rhs_contracting_dimensions"
    ),
    code=5,
)
DOT = attribute_of(_DOT, "Attribute that models the dimension information for dot.")
_VECTOR = _number("index_vector_dim", optional=True, default=0)
_GATHER = fields(
    "gather",
    *lists(
        "offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims", "start_index_map"
    ),
    _VECTOR,
    code=7,
)
GATHER = attribute_of(_GATHER, "Attribute that models the dimension information for gather")
_SCATTER = fields(
    "scatter",
    *lists(
        "update_window_dims", "inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims",
        "scatter_dims_to_operand_dims",
    ),
    _VECTOR,
    code=11,
)  # fmt: skip
SCATTER = attribute_of(_SCATTER, "Attribute that models the dimension information for scatter")


def dot_numbers(**numbers: tuple[int, ...]) -> DialectAttr:
    """Return the attribute with the dimensions of a dot. ``numbers``: its lists of dimensions by name."""
    return DialectAttr(_DOT, tuple(numbers.get(parameter.name, ()) for parameter in _DOT.parameters))


# --- algorithms and precisions ----------------------------------------------------------------------------------------

_ALGORITHM = stablehlo.attribute(
    "dot_algorithm",
    "`<` `lhs_precision_type` `=` $lhs_precision_type `,` `rhs_precision_type` `=` $rhs_precision_type `,` "
    "`accumulation_type` `=` $accumulation_type `,` `lhs_component_count` `=` $lhs_component_count `,` "
    "`rhs_component_count` `=` $rhs_component_count `,` `num_primitive_operations` `=` $num_primitive_operations `,` "
    "`allow_imprecise_accumulation` `=` $allow_imprecise_accumulation `>`",
    parameters=(
        *(
            Parameter(name, kinds.TYPE, encoded="type")
            for name in ("lhs_precision_type", "rhs_precision_type", "accumulation_type")
        ),
        *map(_number, ("lhs_component_count", "rhs_component_count", "num_primitive_operations")),
        Parameter("allow_imprecise_accumulation", kinds.BOOLEAN, encoded="boolean"),
    ),
    code=15,
    verify=lambda value: algorithm_problem(value),
)
ALGORITHM = attribute_of(_ALGORITHM, "Attribute that models the algorithm constraints to use for computing dot.")
_F8 = frozenset(("f8E3M4", "f8E4M3", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E5M2FNUZ"))
_ALGORITHMS = frozenset(
    (
        ("f16", "f16", "f16", 1), ("f16", "f16", "f32", 1), ("bf16", "bf16", "bf16", 1), ("bf16", "bf16", "f32", 1),
        ("bf16", "bf16", "f32", 3), ("bf16", "bf16", "f32", 6), ("bf16", "bf16", "f32", 9), ("tf32", "tf32", "f32", 1),
        ("tf32", "tf32", "f32", 3), ("f32", "f32", "f32", 1), ("f64", "f64", "f64", 1),
    )
)  # fmt: skip
"""The types of both sides and of the sum, and the number of products, of the algorithms that exist (`Base.cpp`)."""


def algorithm_problem(value: DialectAttr) -> str | None:
    """Return what is wrong with the algorithm of a dot, or None."""
    left, right, total, lefts, rights, products, imprecise = value.values
    for words, count in (
        ("lhs component count", lefts),
        ("rhs component count", rights),
        ("num primitive operations", products),
    ):
        if count < 1:
            return f"{words} must be positive"
    names = str(left), str(right), str(total)
    small = names[0] in _F8 and names[1] in _F8 and names[2] == "f32" and products == 1
    if lefts == rights == 1 and (small or (not imprecise and (*names, products) in _ALGORITHMS)):
        return None
    return (
        f"dot algorithm not known to be supported on any hardware: {{lhs:'{left}', rhs:'{right}', accum:'{total}', "
        f"lhs_components:{lefts}, rhs_components:{rights}, primitive_ops:{products}, imprecise:{int(imprecise)}}}"
    )


@contextmanager
def custom_form(op: str) -> Iterator[None]:
    """Return a context manager for reading the custom form of an op. It puts the name of the op in front of errors of
    the dialect; errors of MLIR, which begin with "expected", are not changed.
    """
    try:
        yield
    except ParseError as error:
        if not error.message.startswith(("custom op", "expected", "unknown")):
            error.message = f"custom op '{op}' {error.message}"
        raise


def read_algorithm(p: OpParser) -> DialectAttr:
    """Read the parameters of an algorithm of a dot."""
    with custom_form("stablehlo.dot_general"):
        return kinds.read_parameters(p, _ALGORITHM)


def read_case(p: OpParser, enum: EnumDefinition, op: str) -> at.Attribute:
    """Read the case of an enumeration in the custom form of an op."""
    token = p.tokens[p.pos]
    if not (token[:1].isalpha() or token[:1] in ("_", '"')):
        p.wrong(op, "expected valid keyword or string")
    return enum.attribute(p.enum_keyword(enum, f"custom op '{op}' "))


def read_precision(p: OpParser, op: str) -> at.ArrayAttr:
    """Read ``[DEFAULT, HIGH]`` in the custom form of an op."""
    p.expect("[")
    return at.ArrayAttr(tuple(p.until("]", lambda: read_case(p, PRECISION, op))))


def spelled_precision(precision: at.ArrayAttr) -> str:
    """Return the text of precisions: ``[DEFAULT, HIGH]``."""
    return f"[{', '.join(each.keywords for each in precision.elements if isinstance(each, EnumAttr))}]"


# --- convolutions -----------------------------------------------------------------------------------------------------

CONVOLUTION_SIDES = (
    ("input", "batch", "feature"), ("kernel", "input_feature", "output_feature"), ("output", "batch", "feature"),
)  # fmt: skip
"""The arrays of a convolution, with the names of their two dimensions that are not spatial."""
_LETTERS = ("bf", "io", "bf")


def _read_convolution(p: Any) -> tuple[Any, ...]:
    p.expect("<")
    if p.take("raw"):
        return read_fields(p, _CONVOLUTION.parameters)
    values = read_dimensions(p)
    p.expect(">")
    return values


def _read_side(p: Any, letters: str) -> tuple[Any, ...]:
    """Read ``[b, 0, 1, f]``, and return the places of the two letters and of the numbers."""
    p.expect("[")
    places: dict[str, int] = {}
    numbers: dict[int, int] = {}
    index = 0
    while True:
        at_ = p.pos
        token = p.tokens[at_]
        expected = [letter for letter in letters if letter not in places]
        if token == "-" or token[:1].isdigit():
            number = p.integer()
            if number < 0:
                p.error(f"Unexpected dimension {number}", at_)
            if number in numbers:
                p.error(f"Duplicate entries for spatial dimension {number}", at_)
            numbers[number] = index
        else:
            word = kinds.identifier(p)
            if len(word) != 1 or not expected:
                p.error(f"Unexpected keyword {word}", at_)
            if word not in expected:
                p.error(f"Unexpected dimension {word}, expecting {', '.join(expected)}", at_)
            places[word] = index
        index += 1
        if not p.take(","):
            break
    missing = [letter for letter in letters if letter not in places]
    if missing:
        p.error(f"Expected dimensions {', '.join(missing)} not specified")
    p.expect("]")
    # A number may be as large as an integer: the first ones that are missing are found by counting those that are not.
    absent = [k for k in range(len(numbers) + 10) if k not in numbers and k < max(numbers, default=-1)][:10]
    if absent:
        p.error(f"Expected spatial dimensions {', '.join(map(str, absent))} not specified")
    return places[letters[0]], places[letters[1]], tuple(numbers[k] for k in sorted(numbers))


def read_dimensions(p: Any) -> tuple[Any, ...]:
    """Read ``[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`` and return the numbers of the dimensions."""
    values: tuple[Any, ...] = ()
    for side, letters in enumerate(_LETTERS):
        if side:
            p.expect(("x", "->")[side - 1])
        values += _read_side(p, letters)
    return values


def spelled_dimensions(value: DialectAttr) -> str:
    """Return the text that `read_dimensions` reads."""
    texts = []
    for side, letters in enumerate(_LETTERS):
        first, second, spatial = value.values[3 * side : 3 * side + 3]
        entries = {first: letters[0], second: letters[1], **{place: str(k) for k, place in enumerate(spatial)}}
        texts.append(f"[{', '.join(entries[k] for k in sorted(entries))}]")
    return f"{texts[0]}x{texts[1]}->{texts[2]}"


def _spell_convolution(value: DialectAttr, names: Mapping[object, str]) -> str:
    for side in range(3):
        first, second, spatial = value.values[3 * side : 3 * side + 3]
        if sorted((first, second, *spatial)) != list(range(len(spatial) + 2)):
            pairs = zip(value.definition.parameters, value.values, strict=True)
            return f"<raw {', '.join(f'{each.name} = {each.kind.spell(given, names)}' for each, given in pairs)}>"
    return f"<{spelled_dimensions(value)}>"


_CONVOLUTION = AttributeDefinition(
    name="stablehlo.conv",
    form=ParameterForm(_read_convolution, _spell_convolution),
    parameters=tuple(
        parameter
        for side, first, second in CONVOLUTION_SIDES
        for parameter in (
            _number(f"{side}_{first}_dimension", optional=True, default=0),
            _number(f"{side}_{second}_dimension", optional=True, default=0),
            *lists(f"{side}_spatial_dimensions"),
        )
    ),
    code=4,
)
stablehlo.attributes["conv"] = _CONVOLUTION
CONVOLUTION = attribute_of(_CONVOLUTION, "Structure of dimension information for conv op")


def convolution_numbers(values: tuple[Any, ...]) -> DialectAttr:
    """Return the attribute with the dimensions of a convolution."""
    return DialectAttr(_CONVOLUTION, values)


# --- accuracies -------------------------------------------------------------------------------------------------------

_F64 = FORMATS["f64"]
_ZERO = at.FloatAttr(0, ty.F("f64"))


def _read_double(p: Any) -> at.FloatAttr:
    at_, negative = p.pos, p.take("-")
    token = p.tokens[p.pos]
    if not token[:1].isdigit():
        p.error("expected floating point literal", at_)
    if "." not in token and not token.startswith("0x"):
        p.error("unexpected decimal integer literal for a floating point value", at_)
    p.pos += 1
    return at.FloatAttr(p.float_code(token, p.pos - 1, negative, ty.F("f64")), ty.F("f64"))


def _read_accuracy(p: Any) -> tuple[Any, ...]:
    p.expect("<")
    values: list[Any] = [_ZERO, _ZERO, 0]
    for place, name in enumerate(("atol", "rtol", "ulps")):
        if p.take(name):
            p.expect("=")
            values[place] = _read_double(p) if name != "ulps" else p.integer()
            p.expect(",")
    kinds.word(p, "mode")
    p.expect("=")
    at_ = p.pos
    mode = p.attribute()
    if not ACCURACY_MODE.accepts(mode):
        p.error("invalid kind of attribute specified", at_)
    p.expect(">")
    return (*values, mode)


def _spell_accuracy(value: DialectAttr, names: Mapping[object, str]) -> str:
    atol, rtol, ulps, mode = value.values
    numbers = [(name, number) for name, number in (("atol", atol), ("rtol", rtol)) if number.code]
    # A number in hexadecimal digits has no type here.
    parts = [f"{name} = {number.spell_untyped().removesuffix(' : f64')}" for name, number in numbers]
    parts += [f"ulps = {ulps}"] if ulps else []
    return f"<{', '.join([*parts, f'mode = {mode.spell(names)}'])}>"


def accuracy_problem(value: DialectAttr) -> str | None:
    """Return what is wrong with an accuracy, or None."""
    atol, rtol, ulps, mode = value.values
    if ulps < 0 or any(number.code >> 63 for number in (atol, rtol)):
        return "Negative tolerance"
    if mode.keywords != "TOLERANCE" and (ulps or atol.code or rtol.code):
        return f"Invalid tolerances for ResultAccuracyAttr with mode {mode.keywords}, must be all zero."
    return None


_DOUBLE = ParameterKind(_read_double, lambda value, names: str(value.spell_untyped()))
_ACCURACY = AttributeDefinition(
    name="stablehlo.result_accuracy",
    form=ParameterForm(_read_accuracy, _spell_accuracy),
    parameters=(
        Parameter("atol", _DOUBLE, encoded="f64"), Parameter("rtol", _DOUBLE, encoded="f64"), _number("ulps"),
        Parameter("mode", kinds.attribute(ACCURACY_MODE.accepts), encoded="attribute"),
    ),
    code=17,
    verify=accuracy_problem,
)  # fmt: skip
stablehlo.attributes["result_accuracy"] = _ACCURACY
ACCURACY = attribute_of(_ACCURACY, "The requested accuracy for transcendental unary ops.")
DEFAULT_ACCURACY = DialectAttr(_ACCURACY, (_ZERO, _ZERO, 0, ACCURACY_MODE.attribute(0)))

# --- processes --------------------------------------------------------------------------------------------------------

stablehlo.attribute(
    "output_operand_alias",
    "`<` `output_tuple_indices` `=` $output_tuple_indices `,` `operand_index` `=` $operand_index `,` "
    "`operand_tuple_indices` `=` $operand_tuple_indices `>`",
    parameters=(
        Parameter("output_tuple_indices", kinds.INTEGER_ARRAY, encoded="signed numbers"),
        _number("operand_index"),
        Parameter("operand_tuple_indices", kinds.INTEGER_ARRAY, encoded="signed numbers"),
    ),
    code=14,
)
_ALIAS = attribute_of(stablehlo.attributes["output_operand_alias"], "")
ALIASES = _array_of("Aliasing attribute for outputs and operands of CustomCall", _ALIAS.accepts)

_CHANNEL = stablehlo.attribute(
    "channel_handle",
    "`<` custom<Struct>() `>`",
    parameters=(_number("handle"), _number("type")),
    code=1,
)
CHANNEL = attribute_of(_CHANNEL, "two 64-bit integers 'handle' and 'type'")
_SUB_AXIS = stablehlo.attribute(
    "sub_axis_info",
    "`(` $pre_size `)` `` $size",
    parameters=(_number("pre_size"), _number("size")),
    code=19,
)
_AXIS = stablehlo.attribute(
    "axis_ref",
    "`<` custom<Struct>() `>`",
    parameters=(
        Parameter("name", kinds.STRING, encoded="string"),
        Parameter("sub_axis_info", kinds.nested(_SUB_AXIS), optional=True, encoded="attribute after a flag"),
    ),
    code=20,
)
_MESH_AXIS = stablehlo.attribute(
    "mesh_axis",
    "`<` custom<Struct>() `>`",
    parameters=(Parameter("name", kinds.STRING, encoded="string"), _number("size")),
    code=21,
)


def _is_elements(attribute: at.Attribute) -> bool:
    return isinstance(attribute, at.DenseElementsAttr)


_MESH = stablehlo.attribute(
    "mesh",
    "`<` `axes` `` `=` `` `[` $axes `]` (`,` `device_ids` `` `=` `` $device_ids^)? `>`",
    parameters=(
        Parameter("axes", kinds.list_of(kinds.nested(_MESH_AXIS)), encoded="array"),
        Parameter("device_ids", kinds.attribute(_is_elements), optional=True, encoded="attribute after a flag"),
    ),
    code=22,
)


def _mesh_problem(value: DialectAttr) -> str | None:
    mesh, axes = value.values
    if isinstance(mesh, at.SymbolRefAttr) and not mesh.nested:
        return None
    if not isinstance(mesh, DialectAttr) or mesh.definition is not _MESH:
        return "mesh must be a FlatSymbolRefAttr or MeshAttr"
    known = {axis["name"] for axis in mesh["axes"]}
    for axis in axes.elements:
        if not isinstance(axis, DialectAttr) or axis.definition is not _AXIS:
            return "expected AxisRefAttr in axes list"
        if axis["name"] not in known:
            return f"axis '{axis['name']}' not found in mesh definition"
    return None


_GROUPS = stablehlo.attribute(
    "replica_group_mesh_axes",
    "`<` custom<Struct>() `>`",
    parameters=(
        Parameter("mesh", kinds.ATTRIBUTE, encoded="attribute"),
        Parameter("axes", kinds.ARRAY_ATTRIBUTE, encoded="elements of an array"),
    ),
    verify=_mesh_problem,
    code=18,
)
_BY_MESH = attribute_of(_GROUPS, "mesh and axes based replica groups representation.")
REPLICA_GROUPS = d.AttributeConstraint(
    f"{I64_ELEMENTS.description} or {_BY_MESH.description}",
    lambda attribute: I64_ELEMENTS.accepts(attribute) or _BY_MESH.accepts(attribute),
)
