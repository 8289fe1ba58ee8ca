"""The arith dialect: the 51 ops of MLIR 22, and what newer MLIR adds to it (reference: the arith dialect's document).

The tables read like that document; `halfulp.semantics` computes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from halfulp.fp_formats.policy import MLIR_ROUNDINGS
from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.arith.constants import constant_value
from halfulp.interp.dialects.elementwise import (
    bool_like,
    bool_result,
    element_of,
    elementwise,
    enum_of,
    fastmath_of,
    format_of,
    integer_cast,
    integer_flags,
    of_width,
    rounding_of,
    same_shape,
    shapes_agree,
)
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Type, decimal_text, narrowed
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.errors import UndefinedBehavior, Unsupported
from halfulp.interp.ir.operations import Operation, Rule, undefined
from halfulp.interp.ir.types import I1, ShapedType, spell_shape
from halfulp.interp.run.elementwise import chosen_marks
from halfulp.interp.run.evaluators import Constant, Elementwise, OnValues
from halfulp.interp.run.frames import Cast, Function, Run, decided, in_lanes, lift
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.op_parser import OpParser, OpPrinter
from halfulp.interp.values.lanes import alike, over_lanes
from halfulp.interp.values.value import Value
from halfulp.semantics import casts, floats, integer, kernel
from halfulp.semantics.kernel import Kernel

# --- forms ------------------------------------------------------------------------------------------------------------
#
# The custom form of `arith.select`, which MLIR writes by hand.


def _parse_select(p: OpParser, at: int, definition: d.OpDefinition) -> Operation:
    """Read ``%c, %a, %b : type``. Before the type stands the type of the condition, unless that is i1."""
    names = [p.operand_token()]
    for _ in range(2):
        p.expect(",")
        names.append(p.operand_token())
    attributes = p.optional_dictionary()
    p.expect(":")
    condition: Type = I1
    result = p.type()
    if p.take(","):
        condition, result = result, p.type()
    operands = [p.use(name, type) for name, type in zip(names, (condition, result, result), strict=True)]
    return p.placed(Operation(definition.name, definition, operands, (result,), {}, attributes), at)


def _print_select(printer: OpPrinter, operation: Operation) -> str:
    names = ", ".join(printer.name(value) for value in operation.operands)
    extra = f" {printer.dictionary(operation.attributes)}" if operation.attributes else ""
    result = operation.results[0].type
    condition = ""
    if isinstance(operation.operands[0].type, ShapedType) and isinstance(result, ShapedType):
        condition = f"{printer.type(operation.operands[0].type)}, "
    return f" {names}{extra} : {condition}{printer.type(result)}"


SELECT = d.CustomForm(_parse_select, _print_select)


# --- memrefs ----------------------------------------------------------------------------------------------------------
#
# The casts of arith on memrefs: the same memory with elements of another type.
#
# MLIR's document does not say what they do. Its lowering to the llvm dialect passes the memref on as it is where both
# elements have one width, and fails for `arith.index_cast` between others.


def _recast(op: Operation, settings: Settings) -> Function:
    """Return the function that views a memref with elements of another type of the same width."""
    from halfulp.interp.dialects.memref.evaluate import buffer_in

    type_ = narrowed(op.results[0].type, ty.MemRefType)
    widths = [settings.width(ty.element_type(value.type)) for value in (*op.operands, *op.results)]

    def view(run: Run, slots: tuple[Any, ...]) -> tuple[Any, ...]:
        buffer = buffer_in(op, slots[0], 0)
        if widths[0] != widths[1]:
            raise Unsupported(
                f"'{op.name}' of memory from elements of {widths[0]} bits to elements of {widths[1]} bits is "
                "not defined"
            )
        conflict = buffer.conflict(type_)
        if conflict:
            raise undefined(op, conflict)
        return (buffer.as_type(type_),)

    return view


RECAST = OnValues(_recast, raw=True)


# --- ops --------------------------------------------------------------------------------------------------------------

arith = d.Dialect("arith")

# --- enums ------------------------------------------------------------------------------------------------------------

FASTMATH = arith.enum(
    EnumDefinition(
        "Floating point fast math flags",
        {"none": 0, "reassoc": 1, "nnan": 2, "ninf": 4, "nsz": 8, "arcp": 16, "contract": 32, "afn": 64, "fast": 127},
        mnemonic="arith.fastmath",
        flags=True,
    )
)
OVERFLOW = arith.enum(
    EnumDefinition(
        "Integer overflow arith flags",
        {"none": 0, "nsw": 1, "nuw": 2},
        mnemonic="arith.overflow",
        flags=True,
        separator=", ",
    )
)
ROUNDING = EnumDefinition(
    "Floating point rounding mode",
    {mode.spelling: int(mode) for mode in MLIR_ROUNDINGS},
    storage_width=32,
)
CMPI_PREDICATE = EnumDefinition(
    "integer comparison predicate",
    {name: k for k, name in enumerate(["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])},
    storage_width=64,
)
CMPF_PREDICATE = EnumDefinition(
    "floating point comparison predicate",
    {
        name: k
        for k, name in enumerate(
            [
                "false",
                "oeq",
                "ogt",
                "oge",
                "olt",
                "ole",
                "one",
                "ord",
                "ueq",
                "ugt",
                "uge",
                "ult",
                "ule",
                "une",
                "uno",
                "true",
            ]
        )
    },
    storage_width=64,
)

_FASTMATH = d.Property("fastmath", FASTMATH, default=0)
_OPTIONAL_FASTMATH = d.Property("fastmath", FASTMATH, optional=True)
_ROUNDING_MODE = d.Property("roundingmode", ROUNDING, optional=True)
NEW_ROUNDING_MODE = d.Property("roundingmode", ROUNDING, optional=True, since=d.Schema.LLVM24)
_OVERFLOW_FLAGS = d.Property("overflowFlags", OVERFLOW, default=0)
_EXACT = d.Property("isExact", d.UNIT_ATTR, optional=True)
_NNEG = d.Property("nonNeg", d.UNIT_ATTR, optional=True, since=d.Schema.LLVM24)


# --- families ---------------------------------------------------------------------------------------------------------

_SAME = (d.Trait.ELEMENTWISE, d.Trait.SAME_OPERANDS_AND_RESULT_TYPE)
_COMMUTATIVE = (*_SAME, d.Trait.COMMUTATIVE)
_BITWISE = (*_COMMUTATIVE, d.Trait.IDEMPOTENT)


def _dimensions(type_: ty.Type) -> ty.Shape | None:
    """Return the shape of a tensor, None if it is unranked; anything else counts as a tensor without dimensions."""
    return ty.shape_of(type_) if isinstance(type_, ty.TensorType) else ()


_SAME_DIMENSIONS = d.TypeRule(
    "failed to verify that input and output have the same tensor dimensions",
    solve=lambda types, properties: None,
    holds=lambda types, properties: _dimensions(types["in"]) == _dimensions(types["out"]),
)


def _binary_integer(
    mnemonic: str, factory: Callable[..., Kernel], traits: tuple[d.Trait, ...] = _SAME, flags: str = ""
) -> d.OpDefinition:
    """Declare an op ``$lhs, $rhs : type`` on integers. ``flags``: "overflow", "exact" or none."""
    group = {"": "", "overflow": "(`overflow` `` $overflowFlags^)? ", "exact": "(`exact` $isExact^)? "}[flags]

    def build(op: Operation, settings: Settings) -> Kernel:
        return factory(settings.width(element_of(op.results[0])), **integer_flags(op, settings))

    return arith.op(
        mnemonic,
        f"$lhs `,` $rhs {group}attr-dict `:` type($result)",
        operands={"lhs": d.INTEGER_LIKE, "rhs": d.INTEGER_LIKE},
        results={"result": d.INTEGER_LIKE},
        properties={"": (), "overflow": (_OVERFLOW_FLAGS,), "exact": (_EXACT,)}[flags],
        traits=traits,
        named_results=_multiple_name if mnemonic == "muli" else (),
        evaluate=Elementwise(build),
    )


def _multiple_name(op: Operation) -> tuple[str, ...]:
    """Return MLIR's name for a constant times vector.vscale: ``c4_vscale``."""
    if not isinstance(op.results[0].type, ty.IndexType):
        return ()
    owners = [getattr(value, "owner", None) for value in op.operands]
    for one, other in (owners, owners[::-1]):
        if one is not None and other is not None and (one.name, other.name) == ("vector.vscale", "arith.constant"):
            value = other.properties.get("value")
            return (f"c{decimal_text(value.value)}_vscale",) if isinstance(value, at.IntegerAttr) else ()
    return ()


def _binary_float(
    mnemonic: str,
    name: str,
    traits: tuple[d.Trait, ...] = _SAME,
    rounding: bool = False,
    zeros_open: bool = False,
    since: d.Schema = d.Schema.MLIR22,
) -> d.OpDefinition:
    """Declare an op ``$lhs, $rhs : type`` on floats, with fast-math flags and, in newer MLIR, a rounding mode."""

    def build(op: Operation, settings: Settings) -> Kernel:
        fmt = format_of(op.results[0])
        return floats.binary(name, fmt, rounding_of(op), fastmath_of(op), settings.profile, zeros_open)

    mode = "($roundingmode^)? " if rounding else ""
    return arith.op(
        mnemonic,
        f"$lhs `,` $rhs {mode}(`fastmath` `` $fastmath^)? attr-dict `:` type($result)",
        operands={"lhs": d.FLOAT_LIKE, "rhs": d.FLOAT_LIKE},
        results={"result": d.FLOAT_LIKE},
        properties=(_FASTMATH, NEW_ROUNDING_MODE) if rounding else (_FASTMATH,),
        traits=traits,
        evaluate=Elementwise(build),
        since=since,
    )


def _incompatible(op: Operation) -> str:
    operands = ", ".join(f"'{value.type}'" for value in op.operands)
    plural = "s" if len(op.operands) > 1 else ""
    return f"operand type{plural} {operands} and result type '{op.results[0].type}' are cast incompatible"


_ELEMENTWISE = elementwise("out")


def _castable(allowed: Callable[[ty.Type, ty.Type], bool]) -> Rule:
    """Return the verifier of a cast, with or without a scale. ``allowed`` tells which element types go together."""

    def verify(op: Operation) -> str | None:
        given, made = op.operands[0].type, op.results[0].type
        encodings = [type_.encoding for type_ in (given, made) if isinstance(type_, ty.TensorType)]
        if (
            not allowed(ty.element_type(given), ty.element_type(made))
            or not shapes_agree(given, made)
            or encodings[:1] != encodings[-1:]
        ):
            return _incompatible(op)
        types = {**{str(index): operand.type for index, operand in enumerate(op.operands)}, "out": made}
        return next((rule.message for rule in _ELEMENTWISE if not rule.holds(types, {})), None)

    return verify


def _cast(
    mnemonic: str,
    source: Any,
    target: Any,
    build: Callable[[Operation, Settings], Kernel],
    allowed: Callable[[ty.Type, ty.Type], bool] = lambda source, target: True,
    group: str = "",
    properties: tuple[d.Property, ...] = (),
    since: d.Schema = d.Schema.MLIR22,
    on_memrefs: OnValues | None = None,
) -> d.OpDefinition:
    """Declare a cast ``$in : type to type``. ``allowed`` tells which element types go together."""
    return arith.op(
        mnemonic,
        f"$in {group}attr-dict `:` type($in) `to` type($out)",
        operands={"in": source},
        results={"out": target},
        properties=properties,
        traits=(d.Trait.ELEMENTWISE, d.Trait.SAME_OPERANDS_AND_RESULT_SHAPE),
        type_rules=(_SAME_DIMENSIONS, same_shape("in", "out")),
        verify=_castable(allowed),
        evaluate=Elementwise(build, on_memrefs=on_memrefs),
        since=since,
    )


def _width(type_: ty.Type) -> int:
    return type_.format.bits if isinstance(type_, ty.FloatType) else getattr(type_, "width", 0)


def _wider(source: ty.Type, target: ty.Type) -> bool:
    return _width(source) < _width(target)


def _narrower(source: ty.Type, target: ty.Type) -> bool:
    return _width(source) > _width(target)


def _one_is_index(source: ty.Type, target: ty.Type) -> bool:
    return isinstance(source, ty.IndexType) != isinstance(target, ty.IndexType)


# --- constant ---------------------------------------------------------------------------------------------------------


def _verify_constant(op: Operation) -> str | None:
    type_ = op.results[0].type
    value = op.properties["value"]
    if isinstance(type_, ty.IntegerType) and type_.signedness != "signless":
        return "integer return type must be signless"
    elements = isinstance(
        value,
        at.DenseElementsAttr | at.DenseStringAttr | at.SparseElementsAttr | at.DenseResourceAttr | at.DenseArrayAttr,
    )
    if not elements and not isinstance(value, at.IntegerAttr | at.FloatAttr):
        return "value must be an integer, float, or elements attribute"
    if isinstance(type_, ty.VectorType) and any(type_.scalable) and not getattr(value, "splat", False):
        return "intializing scalable vectors with elements attribute is not supported unless it's a vector splat"
    return None


def _constant_name(op: Operation) -> tuple[str, ...]:
    """Name the result: ``true``, ``c5_i32``, ``c5`` for index, else ``cst``."""
    value = op.properties.get("value")
    if value is None:
        return ()
    if not isinstance(value, at.IntegerAttr):
        return ("cst",)
    if value.type == ty.I1:
        return ("true" if value.value else "false",)
    suffix = f"_{value.type}" if isinstance(value.type, ty.IntegerType) else ""
    return (f"c{decimal_text(value.value)}{suffix}",)


arith.op(
    "constant",
    "attr-dict $value",
    results={"result": d.ANY},
    properties=(d.Property("value", d.TYPED_ATTR),),
    traits=(d.Trait.CONSTANT_LIKE,),
    type_rules=(d.type_of_property("result", "value", "failed to verify that all of {value, result} have same type"),),
    verify=_verify_constant,
    named_results=_constant_name,
    evaluate=Constant(constant_value),
)

# --- integers ---------------------------------------------------------------------------------------------------------

_binary_integer("addi", integer.addi, _COMMUTATIVE, flags="overflow")
_binary_integer("subi", integer.subi, flags="overflow")
_binary_integer("muli", integer.muli, _COMMUTATIVE, flags="overflow")
_binary_integer("divsi", integer.divsi, flags="exact")
_binary_integer("divui", integer.divui, flags="exact")
_binary_integer("ceildivsi", integer.ceildivsi)
_binary_integer("ceildivui", integer.ceildivui)
_binary_integer("floordivsi", integer.floordivsi)
_binary_integer("remsi", integer.remsi)
_binary_integer("remui", integer.remui)
_binary_integer("andi", integer.andi, _BITWISE)
_binary_integer("ori", integer.ori, _BITWISE)
_binary_integer("xori", integer.xori, _COMMUTATIVE)
_binary_integer("shli", integer.shli, flags="overflow")
_binary_integer("shrsi", integer.shrsi, flags="exact")
_binary_integer("shrui", integer.shrui, flags="exact")
_binary_integer("maxsi", integer.maxsi, _COMMUTATIVE)
_binary_integer("maxui", integer.maxui, _COMMUTATIVE)
_binary_integer("minsi", integer.minsi, _COMMUTATIVE)
_binary_integer("minui", integer.minui, _COMMUTATIVE)


for _mnemonic, _names, _factory, _traits, _since in (
    ("addui_extended", ("sum", "overflow"), integer.addui_extended, (d.Trait.COMMUTATIVE,), d.Schema.MLIR22),
    ("subui_extended", ("diff", "borrow"), integer.subui_extended, (), d.Schema.LLVM24),
):
    _value, _carry = _names
    arith.op(
        _mnemonic,
        f"$lhs `,` $rhs attr-dict `:` type(${_value}) `,` type(${_carry})",
        operands={"lhs": d.INTEGER_LIKE, "rhs": d.INTEGER_LIKE},
        results={_value: d.INTEGER_LIKE, _carry: d.BOOL_LIKE},
        traits=(d.Trait.ELEMENTWISE, *_traits),
        type_rules=(
            d.same_type("lhs", "rhs", _value),
            d.derived_type(
                _carry, _value, bool_like, "all non-scalar operands/results must have the same shape and base type"
            ),
        ),
        evaluate=of_width(_factory),
        named_results=_names,
        since=_since,
    )

for _mnemonic, _factory in (("mulsi_extended", integer.mulsi_extended), ("mului_extended", integer.mului_extended)):
    arith.op(
        _mnemonic,
        "$lhs `,` $rhs attr-dict `:` type($lhs)",
        operands={"lhs": d.INTEGER_LIKE, "rhs": d.INTEGER_LIKE},
        results={"low": d.INTEGER_LIKE, "high": d.INTEGER_LIKE},
        traits=(d.Trait.ELEMENTWISE, d.Trait.COMMUTATIVE),
        type_rules=(d.same_type("lhs", "rhs", "low", "high"),),
        evaluate=of_width(_factory),
        named_results=("low", "high"),
    )


def _cmpi(op: Operation, settings: Settings) -> Kernel:
    predicate = enum_of(op, "predicate")
    assert predicate is not None
    return integer.cmpi(settings.width(element_of(op.operands[0])), predicate)


_RESULT_OF_COMPARISON = bool_result("result", "lhs")

arith.op(
    "cmpi",
    "$predicate `,` $lhs `,` $rhs attr-dict `:` type($lhs)",
    operands={"lhs": d.INTEGER_LIKE, "rhs": d.INTEGER_LIKE},
    results={"result": d.BOOL_LIKE},
    properties=(d.Property("predicate", CMPI_PREDICATE),),
    traits=(d.Trait.ELEMENTWISE, d.Trait.SAME_TYPE_OPERANDS),
    type_rules=(_RESULT_OF_COMPARISON,),
    evaluate=Elementwise(_cmpi),
)

# --- floats -----------------------------------------------------------------------------------------------------------

_binary_float("addf", "add", _COMMUTATIVE, rounding=True)
_binary_float("subf", "subtract", rounding=True)
_binary_float("mulf", "multiply", _COMMUTATIVE, rounding=True)
_binary_float("divf", "divide", rounding=True)
_binary_float("remf", "remainder")
_binary_float("maximumf", "maximum", _COMMUTATIVE)
_binary_float("minimumf", "minimum", _COMMUTATIVE)
_binary_float("maxnumf", "maximum_number", _COMMUTATIVE, zeros_open=True)
_binary_float("minnumf", "minimum_number", _COMMUTATIVE, zeros_open=True)
# In the newer pair, -0 is less than +0, which is unspecified here.
_binary_float("maximumnumf", "maximum_number", _COMMUTATIVE, since=d.Schema.LLVM24)
_binary_float("minimumnumf", "minimum_number", _COMMUTATIVE, since=d.Schema.LLVM24)


def _unary_float(mnemonic: str, name: str, operand: str, since: d.Schema = d.Schema.MLIR22) -> d.OpDefinition:
    def build(op: Operation, settings: Settings) -> Kernel:
        return floats.unary(name, format_of(op.results[0]), fastmath_of(op), settings.profile)

    return arith.op(
        mnemonic,
        f"${operand} (`fastmath` `` $fastmath^)? attr-dict `:` type($result)",
        operands={operand: d.FLOAT_LIKE},
        results={"result": d.FLOAT_LIKE},
        properties=(_FASTMATH,),
        traits=_SAME,
        evaluate=Elementwise(build),
        since=since,
    )


_unary_float("negf", "negate", "operand")
_unary_float("flush_denormals", "flush", "operand", since=d.Schema.LLVM24)


def _cmpf(op: Operation, settings: Settings) -> Kernel:
    predicate = enum_of(op, "predicate")
    assert predicate is not None
    return floats.compare(predicate, format_of(op.operands[0]), fastmath_of(op), settings.profile)


arith.op(
    "cmpf",
    "$predicate `,` $lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($lhs)",
    operands={"lhs": d.FLOAT_LIKE, "rhs": d.FLOAT_LIKE},
    results={"result": d.BOOL_LIKE},
    properties=(_FASTMATH, d.Property("predicate", CMPF_PREDICATE)),
    traits=(d.Trait.ELEMENTWISE, d.Trait.SAME_TYPE_OPERANDS),
    type_rules=(_RESULT_OF_COMPARISON,),
    evaluate=Elementwise(_cmpf),
)

# --- casts ------------------------------------------------------------------------------------------------------------


_INT = d.FIXED_WIDTH_INTEGER_LIKE
_FLOAT = d.FLOAT_LIKE

_cast("extsi", _INT, _INT, integer_cast(integer.extsi), _wider)
_cast("extui", _INT, _INT, integer_cast(integer.extui), _wider, "(`nneg` $nonNeg^)? ", (_NNEG,))
_cast(
    "trunci",
    _INT,
    _INT,
    integer_cast(integer.trunci),
    _narrower,
    "(`overflow` `` $overflowFlags^)? ",
    (_OVERFLOW_FLAGS,),
)


def _float_conversion(op: Operation, settings: Settings) -> Kernel:
    source, target = format_of(op.operands[0]), format_of(op.results[0])
    return casts.convert(source, target, rounding_of(op), fastmath_of(op), settings.profile)


_cast("extf", _FLOAT, _FLOAT, _float_conversion, _wider, "(`fastmath` `` $fastmath^)? ", (_OPTIONAL_FASTMATH,))
_cast(
    "truncf",
    _FLOAT,
    _FLOAT,
    _float_conversion,
    _narrower,
    "($roundingmode^)? (`fastmath` `` $fastmath^)? ",
    (_OPTIONAL_FASTMATH, _ROUNDING_MODE),
)
_cast(
    "convertf",
    _FLOAT,
    _FLOAT,
    _float_conversion,
    lambda source, target: _width(source) == _width(target) and source != target,
    "($roundingmode^)? (`fastmath` `` $fastmath^)? ",
    (_OPTIONAL_FASTMATH, _ROUNDING_MODE),
    since=d.Schema.LLVM24,
)


def _from_integer(signed: bool) -> Callable[[Operation, Settings], Kernel]:
    def build(op: Operation, settings: Settings) -> Kernel:
        width = settings.width(element_of(op.operands[0]))
        flags = integer_flags(op, settings)
        return casts.from_integer(width, signed, format_of(op.results[0]), settings.profile, **flags)

    return build


def _to_integer(signed: bool) -> Callable[[Operation, Settings], Kernel]:
    def build(op: Operation, settings: Settings) -> Kernel:
        return casts.to_integer(
            format_of(op.operands[0]), settings.width(element_of(op.results[0])), signed, settings.profile
        )

    return build


_cast("sitofp", _INT, _FLOAT, _from_integer(signed=True))
_cast("uitofp", _INT, _FLOAT, _from_integer(signed=False), group="(`nneg` $nonNeg^)? ", properties=(_NNEG,))
_cast("fptosi", _FLOAT, _INT, _to_integer(signed=True))
_cast("fptoui", _FLOAT, _INT, _to_integer(signed=False))


_cast(
    "bitcast",
    d.BITCASTABLE,
    d.BITCASTABLE,
    lambda op, settings: casts.bitcast(),
    lambda source, target: _width(source) == _width(target),
    on_memrefs=RECAST,
)
_cast(
    "index_cast",
    d.INDEX_CASTABLE,
    d.INDEX_CASTABLE,
    integer_cast(integer.index_cast),
    _one_is_index,
    on_memrefs=RECAST,
)
_cast(
    "index_castui",
    d.INDEX_CASTABLE,
    d.INDEX_CASTABLE,
    integer_cast(integer.index_castui),
    _one_is_index,
    "(`nneg` $nonNeg^)? ",
    (_NNEG,),
    on_memrefs=RECAST,
)

# --- scaling ----------------------------------------------------------------------------------------------------------


def _scaling(
    mnemonic: str, group: str, properties: tuple[d.Property, ...], allowed: Callable[[ty.Type, ty.Type], bool]
) -> d.OpDefinition:
    factory = casts.scaling_extf if mnemonic == "scaling_extf" else casts.scaling_truncf

    def build(op: Operation, settings: Settings) -> Kernel:
        source, scale = (format_of(operand) for operand in op.operands)
        return factory(source, scale, format_of(op.results[0]), rounding_of(op), fastmath_of(op), settings.profile)

    return arith.op(
        mnemonic,
        f"$in `,` $scale {group}attr-dict `:` type($in) `,` type($scale) `to` type($out)",
        operands={"in": d.FLOAT_LIKE, "scale": d.FLOAT_LIKE},
        results={"out": d.FLOAT_LIKE},
        properties=properties,
        traits=(d.Trait.ELEMENTWISE,),
        type_rules=(_SAME_DIMENSIONS,),
        verify=_castable(allowed),
        evaluate=Elementwise(build, may_be_scalar=frozenset({1})),
    )


_scaling("scaling_extf", "(`fastmath` `` $fastmath^)? ", (_OPTIONAL_FASTMATH,), _wider)
_scaling(
    "scaling_truncf",
    "($roundingmode^)? (`fastmath` `` $fastmath^)? ",
    (_OPTIONAL_FASTMATH, _ROUNDING_MODE),
    _narrower,
)

# --- select -----------------------------------------------------------------------------------------------------------


def _verify_select(op: Operation) -> str | None:
    condition, result = op.operands[0].type, op.results[0].type
    if condition == ty.I1:
        return None
    if isinstance(result, ty.VectorType | ty.TensorType) and condition == ty.with_element(result, ty.I1):
        return None
    return "failed to verify that condition is signless i1 or has matching shape"


def _different_shapes(run: Run, *operands: Value) -> UndefinedBehavior:
    each = [value.shape[1:] if over_lanes(value) else value.shape for value in operands]
    shapes = " and ".join(f"'{spell_shape(shape)}'" for shape in each)
    report = UndefinedBehavior(f"arith.select: operands have different shapes at run time: {shapes}")
    return in_lanes(report, run.lanes)


def _select_words(op: Operation, low: Any) -> None:
    """Make the machine code of arith.select of scalars and vectors; a select of memrefs is left to the executor."""
    if isinstance(op.results[0].type, ty.MemRefType):
        low.by_executor(op)
    else:
        low.put_lanes(op, [(condition.choose(yes, no),) for condition, yes, no in low.lanes(op)])


def _select(op: Operation, settings: Settings) -> Callable[[Run, tuple[Any, ...]], tuple[Any, ...]]:
    condition_type, result_type = op.operands[0].type, op.results[0].type
    shaped = isinstance(result_type, ty.ShapedType)

    def choose(run: Run, slots: tuple[Any, ...]) -> tuple[Any, ...]:
        condition, yes, no = slots
        if condition.__class__ is int:
            chosen = yes if condition else no
            for arm in (yes, no):
                if isinstance(arm, Cast):
                    lift(arm, result_type)
            if shaped and isinstance(yes, Value) and isinstance(no, Value):
                arms = (yes, no) if run.lanes is None else alike(yes, no)
                if arms[0].shape != arms[1].shape:
                    raise _different_shapes(run, yes, no)
            return (chosen,)
        if isinstance(result_type, ty.MemRefType):
            return (yes if decided(condition, op) else no,)
        return (_choose(run, lift(condition, condition_type), lift(yes, result_type), lift(no, result_type)),)

    def _choose(run: Run, condition: Value, yes: Value, no: Value) -> Value:
        if run.lanes is not None:
            condition, yes, no = alike(condition, yes, no)
        if yes.shape != no.shape or (condition.shape and condition.shape != yes.shape[: len(condition.shape)]):
            raise _different_shapes(run, condition, yes, no)
        ids = kernel.select_poison(condition.bits, condition.poison, yes.poison, no.poison, yes.shape)
        bits = kernel.select(condition.bits, yes.bits, no.bits)
        return Value(
            yes.type, bits, ids, chosen_marks(settings, condition, yes, no), None if ids is None else run.origins
        )

    return choose


SELECTION = OnValues(_select, raw=True, words=_select_words, kernel=kernel.KERNEL)

arith.op(
    "select",
    custom=SELECT,
    operands={"condition": d.BOOL_LIKE, "true_value": d.ANY, "false_value": d.ANY},
    results={"result": d.ANY},
    traits=(d.Trait.ELEMENTWISE,),
    type_rules=(d.same_type("true_value", "false_value", "result"),),
    verify=_verify_select,
    evaluate=SELECTION,
)
