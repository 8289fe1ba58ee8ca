"""The vector dialect (`VectorOps.td`): the ops that make vectors, take them apart and print them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Arity, Dialect, Property, Slot, Unprefixed
from halfulp.interp.declare.type_rules import TypeRule
from halfulp.interp.dialects.elements import Function, Operands, picked, repeated, replaced
from halfulp.interp.dialects.indices import DYNAMIC, element_at, numbers
from halfulp.interp.dialects.memref.evaluate import load_vector, store_vector
from halfulp.interp.dialects.memref.ops import MEMREF
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumAttr, EnumDefinition
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Pure
from halfulp.interp.run.frames import Run
from halfulp.interp.run.printing import show
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.element_layout import runtime_shape
from halfulp.interp.values.memref_layout import strides_and_offset
from halfulp.interp.values.printed import printed
from halfulp.interp.values.value import Value

vector = Dialect("vector", partial=True)

PUNCTUATION = vector.enum(
    EnumDefinition(
        "::mlir::vector::PrintPunctuation",
        {"no_punctuation": 0, "newline": 1, "comma": 2, "open": 3, "close": 4},
        mnemonic="vector.punctuation",
    )
)
_NEWLINE = 1
_PUNCTUATION_TEXT = ("", "\n", ", ", "( ", " )")

_POSITION = (Property("static_position", c.POSITION_ARRAY_ATTR),)
_DYNAMIC_POSITION = Slot("dynamic_position", c.INDEX, Arity.VARIADIC)


def _position(op: Operation, dynamic: Operands, settings: Settings) -> tuple[int, ...]:
    """Return the position that an op names: constants, with the operands in place of the dynamic ones."""
    written = op.properties["static_position"]
    assert isinstance(written, at.DenseArrayAttr)
    given = iter(numbers(op, dynamic, settings))
    return tuple(next(given) if number == DYNAMIC else number for number in written.values)


def _inside(op: Operation, whole: Value, position: tuple[int, ...]) -> tuple[int, ...]:
    return element_at(op, whole.shape[: len(position)], position)


def _extract(op: Operation, settings: Settings) -> Function:
    type_ = op.results[0].type
    inferred = _part_type(op.operands[0].type, _depth(op.properties))

    def extract(run: Run, operands: Operands) -> tuple[Any, ...]:
        whole = operands[0]
        part = picked(whole, _inside(op, whole, _position(op, operands[1:], settings)), inferred)
        return (part if inferred == type_ else _of_one_element(part, type_, op),)

    return extract


def _of_one_element(value: Value, type_: ty.Type, op: Operation) -> Value:
    """Return the function that turns a scalar into a vector of one element, or back."""
    shape = ty.shape_of(type_) or ()
    if any(type_.scalable for type_ in (value.type, type_) if isinstance(type_, ty.VectorType)):
        raise Unsupported(
            f"{op.name}: how many elements '{value.type}' gives '{type_}' is not known",
            location=op.location,
            op=op.name,
        )
    limbs = value.bits.shape[len(value.shape) :]
    sizes = tuple(size or 0 for size in shape)
    poison = None if value.poison is None else value.poison.reshape(sizes)
    open_ = None if value.open is None else value.open.reshape(sizes)
    return Value(type_, value.bits.reshape(sizes + limbs), poison, open_, value.origins)


def _insert(op: Operation, settings: Settings) -> Function:
    given = op.operands[0].type
    place = _part_type(op.operands[1].type, _depth(op.properties))

    def insert(run: Run, operands: Operands) -> tuple[Any, ...]:
        if given != place:
            # MLIR's verifier compares ranks only.
            raise Unsupported(
                f"{op.name}: what '{given}' does in the place of '{place}' is not defined",
                location=op.location,
                op=op.name,
            )
        part, whole = operands[:2]
        return (replaced(run, whole, _inside(op, whole, _position(op, operands[2:], settings)), part),)

    return insert


def _broadcast(op: Operation, settings: Settings) -> Function:
    """Return the function that adds leading axes, and repeats axes of one element."""
    type_ = op.results[0].type

    def broadcast(run: Run, operands: Operands) -> tuple[Any, ...]:
        shape = tuple(size for size in runtime_shape(type_, settings.vscale) or () if size is not None)
        check_allocation(type_, shape, settings)
        return (repeated(operands[0], shape, type_, len(operands[0].shape)),)

    return broadcast


def _print(op: Operation, settings: Settings) -> Function:
    literal, mark = op.properties.get("stringLiteral"), op.properties.get("punctuation")
    ending = _PUNCTUATION_TEXT[mark.value] if isinstance(mark, EnumAttr) else "\n"

    def print_(run: Run, operands: Operands) -> tuple[Any, ...]:
        if isinstance(literal, at.StringAttr):
            # As in C, the string ends before its first NUL. Punctuation follows values, not strings.
            show(op, settings, literal.value.partition("\0")[0])
        else:
            show(op, settings, "".join(map(printed, operands)) + ending, operands)
        return ()

    return print_


# --- declarations -----------------------------------------------------------------------------------------------------


def _part_type(whole: ty.Type, depth: int) -> ty.Type:
    """Return the type at a position of ``depth`` indices: a vector of the other dimensions, or an element."""
    assert isinstance(whole, ty.VectorType)
    if depth >= len(whole.shape):
        return whole.element
    return ty.VectorType(whole.shape[depth:], whole.element, whole.scalable[depth:] if whole.scalable else ())


def _depth(properties: Mapping[str, at.Attribute]) -> int:
    position = properties.get("static_position")
    return len(position.codes) if isinstance(position, at.DenseArrayAttr) else 0


def _part_of(part: str, whole: str, like: str, message: str) -> TypeRule:
    """Require of ``part``, unless its type is given, the type at the position in ``whole``. Its element type must be
    that of ``like``.
    """

    def solve(types: dict[str, Any], properties: Mapping[str, at.Attribute]) -> None:
        if whole in types and "static_position" in properties:
            types.setdefault(part, _part_type(types[whole], _depth(properties)))

    def holds(types: Mapping[str, Any], properties: Mapping[str, at.Attribute]) -> bool:
        return ty.element_type(types[part]) == ty.element_type(types[like])

    return TypeRule(f"failed to verify that {message} have same element type", solve, holds)


def _same(name: str, source: str) -> TypeRule:
    def solve(types: dict[str, Any], properties: Mapping[str, at.Attribute]) -> None:
        if source in types:
            types.setdefault(name, types[source])

    def holds(types: Mapping[str, Any], properties: Mapping[str, at.Attribute]) -> bool:
        return bool(types[name] == types[source])

    return TypeRule(f"failed to verify that all of {{{source}, {name}}} have same type", solve, holds)


def _broadcastable(op: Operation) -> str | None:
    source, target = op.operands[0].type, op.results[0].type
    assert isinstance(target, ty.VectorType)
    if ty.element_type(source) != target.element:
        return "failed to verify that source operand and result have same element type"
    if not isinstance(source, ty.VectorType):
        return "source type is not a vector" if isinstance(source, ty.ShapedType) else None
    if len(source.shape) > len(target.shape):
        return "source rank higher than destination rank"
    theirs = _dimensions(target)[len(target.shape) - len(source.shape) :]
    for ours, other in zip(_dimensions(source), theirs, strict=True):
        if ours not in ("1", other):
            return f"dimension mismatch ({ours} vs. {other})"
    return None


def _dimensions(type_: ty.VectorType) -> list[str]:
    """Spell the dimensions: a scalable one in square brackets."""
    flags = type_.scalable or (False,) * len(type_.shape)
    return [f"[{size}]" if flag else str(size) for size, flag in zip(type_.shape, flags, strict=True)]


def _verify_position(op: Operation) -> str | None:
    """Check that the position of vector.extract (-1 is poison) and vector.insert lies inside the vector, and that an
    inserted part has the rank of the replaced one; its shape may differ.
    """
    extract = op.name == "vector.extract"
    part = (op.results if extract else op.operands)[0].type
    if isinstance(part, ty.VectorType) and not part.shape:
        what = "result type" if extract else "source operand"
        return Unprefixed(f"expected a scalar instead of a 0-d vector as the {what}")
    whole = op.operands[0 if extract else 1].type
    written = op.properties["static_position"]
    assert isinstance(whole, ty.VectorType)
    assert isinstance(written, at.DenseArrayAttr)
    position = written.values
    if position.count(DYNAMIC) != len(op.operands) - (1 if extract else 2):
        return (
            "mismatch between dynamic and static positions (kDynamic marker but no corresponding dynamic position) "
            "-- this can only happen due to an incorrect fold/rewrite"
        )
    if len(position) > len(whole.shape):
        which = "vector" if extract else "dest vector"
        return f"expected position attribute of rank no greater than {which} rank"
    if not extract and isinstance(part, ty.VectorType) and len(part.shape) + len(position) != len(whole.shape):
        return "expected position attribute rank + source rank to match dest vector rank"
    if not extract and not isinstance(part, ty.VectorType) and len(position) != len(whole.shape):
        return "expected position attribute rank to match the dest vector rank"
    for number, (index, size) in enumerate(zip(position, whole.shape, strict=False), 1):
        if index not in (-1, DYNAMIC) and not 0 <= index < size:
            poison = " or poison (-1)" if extract else ""
            dest = "" if extract else "dest "
            return (
                f"expected position attribute #{number} to be a non-negative integer smaller than the corresponding "
                f"{dest}vector dimension{poison}"
            )
    return None


def _verify_extracted(op: Operation) -> str | None:
    """Check that the result has the type at the position; a vector of one element may stand for a scalar and vice
    versa.
    """
    result = op.results[0].type
    inferred = _part_type(op.operands[0].type, _depth(op.properties))
    for one, other in ((result, inferred), (inferred, result)):
        if isinstance(one, ty.VectorType) and one.shape == (1,) and one.element == other:
            return None
    if result == inferred:
        return None
    return f"inferred type(s) '{inferred}' are incompatible with return type(s) of operation '{result}'"


def _is_of_one_element(type_: ty.VectorType) -> bool:
    return not any(type_.scalable) and prod(type_.shape) == 1


def _verify_access(op: Operation) -> str | None:
    """Check for vector.load and vector.store that the vector's elements lie one after the other along the last
    dimension.
    """
    loads = op.name == "vector.load"
    base = op.operands[0 if loads else 1].type
    given = (op.results if loads else op.operands)[0].type
    assert isinstance(base, ty.MemRefType)
    assert isinstance(given, ty.VectorType)
    shape = base.shape or ()
    alignment = op.properties.get("alignment")
    if isinstance(alignment, at.IntegerAttr) and (alignment.value <= 0 or alignment.value.bit_count() != 1):
        return (
            "attribute 'alignment' failed to satisfy constraint: 64-bit signless integer attribute whose value is "
            "positive and whose value is a power of two > 0"
        )
    known = strides_and_offset(base)
    dense = known is not None and known[0][-1:] in ((), (1,))
    if not dense and not _is_of_one_element(given):
        return "most minor memref dim must have unit stride"
    if len(shape) < len(given.shape):
        memref, vector = ("destination", "result vector") if loads else ("source", "vector to store")
        return f"{memref} memref has lower rank than the {vector}"
    held = base.element
    if isinstance(held, ty.VectorType) and held != given:
        return f"base memref and {'result' if loads else 'valueToStore'} vector types should match"
    if given.element != (held.element if isinstance(held, ty.VectorType) else held):
        return f"base and {'result element types' if loads else 'valueToStore element type'} should match"
    indices = len(op.operands) - (1 if loads else 2)
    return None if indices == len(shape) else f"requires {len(shape)} indices"


def _verify_print(op: Operation) -> str | None:
    mark = op.properties.get("punctuation")
    marked = isinstance(mark, EnumAttr) and mark.value != _NEWLINE
    if "stringLiteral" in op.properties and (op.operands or marked):
        return "failed to verify that `source` or `punctuation` are not set when printing strings"
    return None


vector.op(
    "broadcast",
    "$source attr-dict `:` type($source) `to` type($vector)",
    operands={"source": c.ANY},
    results={"vector": c.VECTOR},
    verify=_broadcastable,
    evaluate=Pure(_broadcast),
)
vector.op(
    "extract",
    "$source `` custom<DynamicIndexList>($dynamic_position, $static_position) attr-dict "
    "`:` type($result) `from` type($source)",
    operands=(Slot("source", c.VECTOR), _DYNAMIC_POSITION),
    results={"result": c.ANY},
    properties=_POSITION,
    type_rules=(_part_of("result", "source", "source", "operand and result"),),
    verify=_verify_position,
    verify_regions=_verify_extracted,
    evaluate=Pure(_extract),
)
vector.op(
    "insert",
    "$valueToStore `,` $dest custom<DynamicIndexList>($dynamic_position, $static_position) attr-dict "
    "`:` type($valueToStore) `into` type($dest)",
    operands=(Slot("valueToStore", c.ANY), Slot("dest", c.VECTOR), _DYNAMIC_POSITION),
    results={"result": c.VECTOR},
    properties=_POSITION,
    type_rules=(_part_of("valueToStore", "dest", "result", "source operand and result"), _same("result", "dest")),
    verify=_verify_position,
    evaluate=Pure(_insert),
)


_INDICES = Slot("indices", c.INDEX, Arity.VARIADIC)
_ACCESS = (
    Property("alignment", c.INTEGER_64_ATTR, optional=True),
    Property("nontemporal", c.BOOL_ATTR, optional=True, elided=at.IntegerAttr(0, ty.I1)),
)
_CLAUSES = "newer(`alignment` `=` $alignment | `nontemporal` `=` $nontemporal)"
vector.op(
    "load",
    f"$base `[` $indices `]` {_CLAUSES} attr-dict `:` type($base) `,` type($result)",
    operands=(Slot("base", MEMREF), _INDICES),
    results={"result": c.VECTOR},
    properties=_ACCESS,
    verify=_verify_access,
    evaluate=Pure(load_vector, raw=True),
)
vector.op(
    "store",
    f"$valueToStore `,` $base `[` $indices `]` {_CLAUSES} attr-dict `:` type($base) `,` type($valueToStore)",
    operands=(Slot("valueToStore", c.VECTOR), Slot("base", MEMREF), _INDICES),
    properties=_ACCESS,
    verify=_verify_access,
    evaluate=Pure(store_vector, raw=True),
)
vector.op(
    "print",
    "($source^ `:` type($source))? oilist(`str` $stringLiteral | `punctuation` $punctuation) attr-dict",
    operands=(Slot("source", c.PRINTABLE, Arity.OPTIONAL),),
    properties=(
        Property("punctuation", PUNCTUATION, default=_NEWLINE),
        Property("stringLiteral", c.STRING_ATTR, optional=True),
    ),
    verify=_verify_print,
    evaluate=Pure(_print),
)
