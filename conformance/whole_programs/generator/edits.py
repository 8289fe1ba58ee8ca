"""Edits that change a program and keep most programs valid.

A table (`EDITS`) lists them: an op more on the way to an operand, another op of the same types, constants and numbers
of attributes at the ends of their ranges, another element type or size throughout the function, flags, masks, optional
operands, casts, regions around an op, functions apart; and those of `accesses`. The verifier of halfulp decides whether
the result is a program.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from halfulp.conformance.whole_programs import rewrite
from halfulp.conformance.whole_programs.generator.accesses import (
    as_complex,
    in_two_steps,
    number_as_operand,
    other_read,
    other_write,
    there_and_back,
)
from halfulp.conformance.whole_programs.generator.draft import (
    Draft,
    fitting_ops,
    new_op,
    numeric_operands,
    put_after,
    random_codes,
    spliced_ops,
    values_of,
)
from halfulp.conformance.whole_programs.generator.grower import (
    FLOATS,
    INTEGERS,
    OTHER_FLOATS,
    OTHER_INTEGERS,
    Unfit,
    random_properties,
)
from halfulp.conformance.whole_programs.rewrite import drop, put_before
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import codes_to_ints, ints_to_codes
from halfulp.interp.declare import declarations as d
from halfulp.interp.ir import affine_expressions as affine
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.operations import (
    Block,
    Module,
    Operation,
    OpResult,
    Region,
    SSAValue,
    captured,
)
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.values.coerce import as_type

# --- ops and constants ---------------------------------------------------------------------------------------------


def splice(draft: Draft) -> None:
    """Put an op on the way to an operand: the operand becomes the op's result, which has the same type."""
    op = draft.some(numeric_operands)
    number = draft.choice(numeric_operands(op))
    value = op.operands[number]
    name, anchor, types = draft.choice(fitting_ops((value.type,), value.type))
    operands = [value if k == anchor else draft.value(op, type_) for k, type_ in enumerate(types)]
    definition = rewrite.definition_of(name)
    made = Operation(name, definition, operands, [value.type], random_properties(definition, draft.rng, 0.2))
    op.operands[number] = put_before(op, made).results[0]


def _is_elementwise(op: Operation) -> bool:
    return op.definition in spliced_ops()


def other_op(draft: Draft) -> None:
    """Replace an elementwise op by another op of the same types."""
    op = draft.some(_is_elementwise)
    types = tuple(value.type for value in op.operands)
    fitting = fitting_ops(types, op.results[0].type)
    names = [name for name, anchor, taken in fitting if taken == types and name != op.name and not anchor]
    definition = rewrite.definition_of(draft.choice(names))
    made = Operation(
        definition.name, definition, op.operands, [op.results[0].type], random_properties(definition, draft.rng, 0.2)
    )
    put_before(op, made)
    draft.replace(op.results[0], made.results[0])
    drop(op)


def other_constant(draft: Draft) -> None:
    """Replace a constant by one at which ranges end."""
    op = draft.some(lambda op: op.name == "arith.constant")
    made = rewrite.constant(op.results[0].type, *random_codes(op.results[0].type, draft.rng))
    op.properties["value"] = made.properties["value"]


def constant_operand(draft: Draft) -> None:
    """Replace an operand by a constant."""
    op = draft.some(numeric_operands)
    number = draft.choice(numeric_operands(op))
    made = rewrite.constant(op.operands[number].type, *random_codes(op.operands[number].type, draft.rng))
    op.operands[number] = put_before(op, made).results[0]


def other_operand(draft: Draft) -> None:
    """Replace an operand by another value of its type, so that values are used twice and memory has two names."""
    op = draft.some(lambda op: op.operands)
    number = draft.rng.randrange(len(op.operands))
    value = op.operands[number]
    op.operands[number] = draft.choice(
        [each for each in draft.visible(op) if each.type == value.type and each is not value]
    )


def other_flags(draft: Draft) -> None:
    """Set, change or drop the flags and modes of an op."""
    op = draft.some(lambda op: op.definition is not None and any(map(_is_mode, op.definition.properties)))
    assert op.definition is not None
    chosen = random_properties(op.definition, draft.rng, draft.choice((0.0, 0.5, 1.0)))
    for prop in op.definition.properties:
        if _is_mode(prop):
            if prop.name in chosen:
                op.properties[prop.name] = chosen[prop.name]
            elif prop.optional:
                op.properties.pop(prop.name, None)


def _is_mode(prop: d.Property) -> bool:
    return isinstance(prop.kind, EnumDefinition) or (prop.optional and prop.kind is d.UNIT_ATTR)


# --- element types and sizes ------------------------------------------------------------------------------------------

_CASTS: Mapping[str, str] = {
    "arith.extf": "arith.truncf",
    "arith.truncf": "arith.extf",
    "arith.extsi": "arith.trunci",
    "arith.extui": "arith.trunci",
    "arith.trunci": "arith.extsi",
}
"""The opposite of each cast that changes the width of a type."""


def other_element(draft: Draft) -> None:
    """Give a function another element type in place of one, in all types and constants."""
    present = {ty.element_type(value.type) for op in draft.main.walk() for value in values_of(op)}
    old = draft.choice(sorted((one for one in present if isinstance(one, ty.IntegerType | ty.FloatType)), key=str))
    if isinstance(old, ty.FloatType):
        names = FLOATS if draft.rng.random() < 0.7 else OTHER_FLOATS
    else:
        names = ("i1", *INTEGERS) if draft.rng.random() < 0.8 else OTHER_INTEGERS
    new = as_type(draft.choice([name for name in names if name != str(old)]))

    def retype(type_: ty.Type) -> ty.Type:
        if type_ == old:
            return new
        if isinstance(type_, ty.ShapedType) and ty.element_type(type_) == old:
            return ty.with_element(type_, new)
        return type_

    _retyped(draft, retype)
    for op in draft.ops(lambda op: op.name in _CASTS):
        widths = [width_of(ty.element_type(value.type)) for value in (op.operands[0], op.results[0])]
        if op.operands[0].type == op.results[0].type:
            draft.replace(op.results[0], op.operands[0])
            drop(op)
        elif (widths[0] < widths[1]) != ("ext" in op.name):
            put_before(op, made := new_op(_CASTS[op.name], op.operands, [op.results[0].type]))
            draft.replace(op.results[0], made.results[0])
            drop(op)


def other_size(draft: Draft) -> None:
    """Give a function another size in place of one, in all shapes, and in lists of sizes."""
    sizes = Counter(
        size for op in draft.main.walk() for value in values_of(op) for size in ty.shape_of(value.type) or () if size
    )
    old: int = draft.choice(sorted(sizes))
    new: int = draft.choice(
        [size for size in (1, 2, 3, 4, 5, old - 1, old + 1, 2 * old) if 0 < size <= 16 and size != old]
    )

    def retype(type_: ty.Type) -> ty.Type:
        shape = ty.shape_of(type_)
        if shape is None or not isinstance(type_, ty.VectorType | ty.TensorType | ty.MemRefType):
            return type_
        changed: Any = tuple(new if size == old else size for size in shape)
        return replace(type_, shape=changed)

    _retyped(draft, retype, lambda number: new if number == old else number)


def _retyped(draft: Draft, retype: rewrite.Retype, renumber: Callable[[int], int] = lambda number: number) -> None:
    """Give all values and attributes of the module other types, and lists of sizes and indices other numbers."""
    module = draft.module
    tops = [rewrite.copied(op, {}, retype) for op in module.body]
    draft.take(Module(rewrite.module_around(tops).operation, module.source, module.resources))
    for op in draft.module.walk():
        for entries in (op.properties, op.attributes):
            for name, attribute in entries.items():
                entries[name] = _with_types(attribute, retype, renumber)


def _with_types(attribute: at.Attribute, retype: rewrite.Retype, renumber: Callable[[int], int]) -> at.Attribute:
    match attribute:
        case at.TypeAttr(type=ty.FunctionType() as signature):
            inputs, results = (tuple(map(retype, types)) for types in (signature.inputs, signature.results))
            return at.TypeAttr(ty.FunctionType(inputs, results))
        case at.TypeAttr():
            return at.TypeAttr(retype(attribute.type))
        case at.IntegerAttr(type=ty.IndexType()):
            return replace(attribute, value=renumber(attribute.value))
        case at.IntegerAttr() | at.FloatAttr():
            type_ = retype(attribute.type)
            codes = ints_to_codes([_converted(attribute.code, attribute.type, type_)], width_of(type_), ())
            return rewrite.constant(type_, codes).properties["value"]
        case at.DenseElementsAttr(type=old):
            new = retype(old)
            assert isinstance(new, ty.TensorType | ty.VectorType | ty.MemRefType)
            if ty.shape_of(new) != ty.shape_of(old) and not attribute.splat:
                raise Unfit
            elements = ty.element_type(old), ty.element_type(new)
            if None in map(element_width, elements):
                raise Unfit
            sizes = tuple(size or 0 for size in ty.shape_of(old) or ())
            given = codes_to_ints(attribute.codes, width_of(elements[0]))
            made = [_converted(code, *elements) for code in given]
            codes = ints_to_codes(made, width_of(elements[1]), () if attribute.splat else sizes)
            return at.DenseElementsAttr(new, codes, attribute.splat)
        case at.DenseArrayAttr(element=ty.IntegerType(width=64)):
            return at.DenseArrayAttr(attribute.element, tuple(renumber(code) for code in attribute.codes))
        case at.ArrayAttr():
            return at.ArrayAttr(tuple(_with_types(each, retype, renumber) for each in attribute.elements))
    return attribute


def _converted(code: int, old: ty.Type, new: ty.Type) -> int:
    if isinstance(old, ty.FloatType) and isinstance(new, ty.FloatType):
        return scalar.convert(old.format, new.format, code).code
    return code & ((1 << width_of(new)) - 1)


# --- attributes -------------------------------------------------------------------------------------------------------


def other_numbers(draft: Draft) -> None:
    """Change one number, map or order in the properties of an op."""

    def changeable(op: Operation) -> list[str]:
        held = op.properties.items()
        return [name for name, each in held if name not in _COUNTS and isinstance(each, _NUMBERS) and name != "value"]

    op = draft.some(changeable)
    name = draft.choice(changeable(op))
    op.properties[name] = _changed(op.properties[name], draft)


_COUNTS = frozenset({"operandSegmentSizes", "resultSegmentSizes"})
_NUMBERS = (at.IntegerAttr, at.DenseArrayAttr, at.AffineMapAttr, at.ArrayAttr)


def _changed(attribute: at.Attribute, draft: Draft) -> at.Attribute:
    rng = draft.rng
    match attribute:
        case at.IntegerAttr(type=ty.IntegerType(width=1)):
            return replace(attribute, value=1 - abs(attribute.value))
        case at.IntegerAttr():
            return replace(attribute, value=draft.choice((attribute.value + 1, attribute.value - 1, 0, 1, 2)))
        case at.DenseArrayAttr():
            codes = list(attribute.codes)
            if len(codes) > 1 and rng.random() < 0.5:
                return at.DenseArrayAttr(attribute.element, tuple(_shuffled(codes, rng)))
            if codes:
                place = rng.randrange(len(codes))
                codes[place] = max(0, codes[place] + draft.choice((1, -1)))
            return at.DenseArrayAttr(attribute.element, tuple(codes))
        case at.AffineMapAttr():
            return _other_map(attribute, draft)
        case at.ArrayAttr():
            elements = list(attribute.elements)
            if len(elements) > 1 and rng.random() < 0.3:
                return at.ArrayAttr(tuple(_shuffled(elements, rng)))
            place = draft.choice(range(len(elements)))
            elements[place] = _changed(elements[place], draft)
            return at.ArrayAttr(tuple(elements))
    raise Unfit


def _shuffled(things: Sequence[Any], rng: random.Random) -> list[Any]:
    return rng.sample(things, len(things))


def _other_map(map_: at.AffineMapAttr, draft: Draft) -> at.AffineMapAttr:
    results = list(map_.results)
    if not results:
        raise Unfit
    if len(results) > 1 and draft.rng.random() < 0.5:
        return replace(map_, results=tuple(_shuffled(results, draft.rng)))
    place = draft.rng.randrange(len(results))
    inputs = [affine.Dimension(k) for k in range(map_.dimensions)] + [affine.Symbol(k) for k in range(map_.symbols)]
    number = affine.AffineConstant(draft.choice((0, 1, 2, 3)))
    ways: list[Callable[[], affine.AffineExpr]] = [
        lambda: affine.add(results[place], affine.AffineConstant(draft.choice((1, -1)))),
        lambda: number,
        lambda: draft.choice(inputs),
        lambda: affine.add(results[place], draft.choice(inputs)),
        lambda: affine.floordiv(results[place], affine.AffineConstant(2)),
        lambda: affine.modulo(results[place], affine.AffineConstant(2)),
        lambda: affine.multiply(draft.choice(inputs), affine.AffineConstant(draft.choice((0, 2, -1)))),
    ]
    results[place] = draft.choice(ways)()
    return replace(map_, results=tuple(results))


# --- operands that need not be there, and masks -----------------------------------------------------------------------


def optional_operand(draft: Draft) -> None:
    """Give an op an operand that it may have, such as a mask, or take it away."""
    op = draft.some(_optional_slots)
    assert op.definition is not None
    number = draft.choice(_optional_slots(op))
    counts = _counts(op)
    place = sum(counts[:number])
    if counts[number]:
        del op.operands[place]
    else:
        accepts = op.definition.operands[number].constraint.accepts
        types = {each.type for each in draft.visible(op) if accepts(each.type)}
        types |= {each for each in map(_mask_type, (*op.operands, *op.results)) if each is not None and accepts(each)}
        type_ = draft.choice(sorted(types, key=str))
        value = _mask(draft, op, type_) if ty.element_type(type_) == ty.I1 else draft.value(op, type_)
        op.operands.insert(place, value)
    counts[number] = 1 - counts[number]
    if "operandSegmentSizes" in op.properties:
        op.properties["operandSegmentSizes"] = at.DenseArrayAttr(ty.I32, tuple(counts))


def _optional_slots(op: Operation) -> list[int]:
    slots = op.definition.operands if op.definition else ()
    if "operandSegmentSizes" not in op.properties and sum(slot.arity is not d.Arity.ONE for slot in slots) != 1:
        return []
    return [number for number, slot in enumerate(slots) if slot.arity is d.Arity.OPTIONAL]


def _counts(op: Operation) -> list[int]:
    assert op.definition is not None
    sizes = op.properties.get("operandSegmentSizes")
    if isinstance(sizes, at.DenseArrayAttr):
        return list(sizes.values)
    slots = op.definition.operands
    left = len(op.operands) - sum(slot.arity is d.Arity.ONE for slot in slots)
    return [1 if slot.arity is d.Arity.ONE else left for slot in slots]


def _mask_type(value: SSAValue) -> ty.Type | None:
    """Return the type of the masks of a vector; None for another value."""
    return replace(value.type, element=ty.I1) if isinstance(value.type, ty.VectorType) else None


def _mask(draft: Draft, op: Operation, type_: ty.Type) -> SSAValue:
    """Return a mask: of the first elements of each axis, or any value of its type."""
    shape = ty.shape_of(type_)
    if isinstance(type_, ty.VectorType) and shape and draft.rng.random() < 0.5:
        sizes = [draft.choice(range(size + 1)) for size in shape if size is not None]
        given = [put_before(op, rewrite.constant(ty.INDEX, ints_to_codes([size], 64, ()))).results[0] for size in sizes]
        return put_before(op, new_op("vector.create_mask", given, [type_])).results[0]
    return draft.value(op, type_)


def under_mask(draft: Draft) -> None:
    """Put an op on vectors under a mask."""
    op = draft.some(
        lambda op: (
            op.name.startswith("vector.")
            and not op.regions
            and op.parent_op is not None
            and op.parent_op.name != "vector.mask"
            and any(map(_mask_type, (*op.operands, *op.results)))
        )
    )
    types = [each for each in map(_mask_type, (*op.operands, *op.results)) if each is not None]
    mask = _mask(draft, op, draft.choice(types))
    _inside(draft, op, "vector.mask", [mask], "vector.yield")


def _inside(
    draft: Draft,
    op: Operation,
    name: str,
    operands: Sequence[SSAValue],
    end: str,
    arguments: Sequence[ty.Type] = (),
    others: Sequence[Region] = (),
) -> Operation:
    """Put an op into the first region of a new op, which has its results. The block there ends with ``end``."""
    block = Block()
    for type_ in arguments:
        block.add_argument(type_)
    around = Operation(
        name,
        rewrite.definition_of(name),
        list(operands),
        [each.type for each in op.results],
        {},
        regions=[Region([block]), *others],
    )
    put_before(op, around)
    drop(op)
    for old, new in zip(op.results, around.results, strict=True):
        draft.replace(old, new, but=op)
    block.append(op)
    block.append(new_op(end, op.results, []))
    return around


# --- more ops, regions and functions ----------------------------------------------------------------------------------


def casts(draft: Draft) -> None:
    """Put two casts on the way to an operand: to another width, and back."""
    op = draft.some(numeric_operands)
    number = draft.choice(numeric_operands(op))
    value = op.operands[number]
    if isinstance(value.type, ty.ShapedType) and not isinstance(value.type, ty.VectorType | ty.TensorType):
        raise Unfit
    other, (first, second) = _pair_of_casts(draft, ty.element_type(value.type))
    between = put_before(op, new_op(first, [value], [ty.with_element(value.type, other)])).results[0]
    op.operands[number] = put_before(op, new_op(second, [between], [value.type])).results[0]


def cast_inside(draft: Draft) -> None:
    """Put two casts on the way to an input of an op with a body: one of the whole tensor, and one in the body."""
    op = draft.some(lambda op: op.name in ("linalg.generic", "linalg.map"))
    inputs = [n for n, each in enumerate(op.operands[:-1]) if isinstance(each.type, ty.TensorType)]
    number = draft.choice(inputs)
    value, block = op.operands[number], op.regions[0].blocks[0]
    if number >= len(block.arguments) or not block.operations:
        raise Unfit
    argument = block.arguments[number]
    element = argument.type
    other, (first, second) = _pair_of_casts(draft, element)
    op.operands[number] = put_before(op, new_op(first, [value], [ty.with_element(value.type, other)])).results[0]
    cast = put_before(block.operations[0], new_op(second, [argument], [element]))
    argument.type = other
    draft.replace(argument, cast.results[0], but=cast)


def _pair_of_casts(draft: Draft, element: ty.Type) -> tuple[ty.Type, tuple[str, str]]:
    """Return an element type of another width, and the names of a cast to it and of one back."""
    if isinstance(element, ty.FloatType):
        others, pair = (*FLOATS, *OTHER_FLOATS), ("arith.extf", "arith.truncf")
    elif isinstance(element, ty.IntegerType):
        others, pair = (*INTEGERS, *OTHER_INTEGERS), (draft.choice(("arith.extsi", "arith.extui")), "arith.trunci")
    elif isinstance(element, ty.IndexType):
        cast = draft.choice(("arith.index_cast", "arith.index_castui"))
        others, pair = ("i32", "i64", "i8"), (cast, cast)
    else:
        raise Unfit
    other = as_type(draft.choice([each for each in others if width_of(as_type(each)) != width_of(element)]))
    if not isinstance(element, ty.IndexType) and width_of(other) < width_of(element):
        pair = (pair[1], pair[0])
    return other, pair


def _is_plain(op: Operation) -> bool:
    """Tell whether an op can be moved into a region."""
    inside = op.parent_op is not None and op.parent_op.name != "vector.mask"
    return inside and op.definition is not None and d.Trait.TERMINATOR not in op.definition.traits


def into_branch(draft: Draft) -> None:
    """Do an op only if a condition holds."""
    op = draft.some(_is_plain)
    condition = draft.value(op, ty.I1)
    others = [draft.value(op, result.type) for result in op.results]
    otherwise = Block()
    otherwise.append(new_op("scf.yield", others, []))
    _inside(draft, op, "scf.if", [condition], "scf.yield", others=[Region([otherwise] if others else [])])


def into_loop(draft: Draft) -> None:
    """Do an op, and what carries its results, a few times, or never; in one loop, or in two of which one is inside."""
    op = draft.some(_is_plain)
    arguments: list[SSAValue] = []
    around = op
    for _ in range(draft.choice((1, 1, 2))):
        inner, around = around, _loop_around(draft, around)
        carried = around.regions[0].blocks[0].arguments
        arguments += carried
        if inner is not op:  # it carries on what the outer one carries; its bounds stay
            _with_arguments(draft, inner, carried[1:])
    _with_arguments(draft, op, arguments)


def _with_arguments(draft: Draft, op: Operation, arguments: Sequence[SSAValue]) -> None:
    """Let most operands of an op be arguments of the loops around it."""
    for number, value in enumerate(op.operands):
        fitting = [argument for argument in arguments if argument.type == value.type]
        if fitting and draft.rng.random() < 0.7:
            op.operands[number] = draft.choice(fitting)


def _loop_around(draft: Draft, op: Operation) -> Operation:
    """Put an op into a loop, which carries its results."""
    numbers = [
        put_before(op, rewrite.constant(ty.INDEX, ints_to_codes([number], 64, ()))).results[0]
        for number in (draft.choice((0, 1, 2)), draft.choice((0, 1, 2, 3)), draft.choice((1, 2)))
    ]
    carried = [draft.value(op, result.type) for result in op.results]
    types = [ty.INDEX, *(result.type for result in op.results)]
    return _inside(draft, op, "scf.for", [*numbers, *carried], "scf.yield", types)


def twice(draft: Draft) -> None:
    """Do an op twice; the second one's results are used somewhere."""
    op = draft.some(lambda op: _is_plain(op) and op.results)
    copy = put_after(op, rewrite.copied(op, {}))
    users = [other for other in draft.ops() if other is not copy and not set(op.results).isdisjoint(other.operands)]
    user = draft.choice(users)
    pairs = dict(zip(op.results, copy.results, strict=True))
    user.operands = [pairs.get(value, value) if isinstance(value, OpResult) else value for value in user.operands]


def without(draft: Draft) -> None:
    """Take an op away: another value of its type stands for each result."""
    op = draft.some(lambda op: _is_plain(op) and op.name != "arith.constant")
    for result in op.results:
        same = [value for value in op.operands if value.type == result.type]
        draft.replace(result, draft.rng.choice(same) if same else draft.value(op, result.type))
    drop(op)


def outlined(draft: Draft) -> None:
    """Move an op into a function of its own, which is called in its place."""
    op = draft.some(lambda op: _is_plain(op) and op.operands and not op.regions and op.name != "func.call")
    name = f"outlined{len(draft.module.body)}"
    values = captured(op)
    block = Block()
    inner = {value: block.add_argument(value.type) for value in values}
    copy = rewrite.copied(op, dict(inner))
    block.append(copy)
    made = rewrite.function(name, block, copy.results)
    made.properties["sym_visibility"] = at.StringAttr("private")
    draft.module.operation.regions[0].blocks[0].append(made)
    call = new_op("func.call", values, [each.type for each in op.results], callee=at.SymbolRefAttr(name))
    put_before(op, call)
    for old, new in zip(op.results, call.results, strict=True):
        draft.replace(old, new)
    drop(op)


def other_result(draft: Draft) -> None:
    """Return another value of the function, or one more."""
    end = draft.choice(draft.ops(lambda op: op.name == "func.return" and op.parent_op is draft.main))
    if len(draft.main.regions[0].blocks) != 1:
        raise Unfit
    value = draft.choice([each for each in draft.visible(end) if element_width(ty.element_type(each.type)) is not None])
    if isinstance(value.type, ty.MemRefType):
        raise Unfit
    end.operands = [*end.operands, value] if len(end.operands) < 3 else [value]
    inputs = tuple(argument.type for argument in draft.main.regions[0].blocks[0].arguments)
    results = tuple(each.type for each in end.operands)
    draft.main.properties["function_type"] = at.TypeAttr(ty.FunctionType(inputs, results))
    draft.main.properties.pop("res_attrs", None)


Edit = Callable[[Draft], None]

EDITS: Mapping[Edit, float] = {
    splice: 4,
    other_op: 3,
    other_constant: 2,
    constant_operand: 1,
    other_operand: 2,
    other_flags: 1,
    other_element: 2,
    other_size: 1,
    other_numbers: 3,
    optional_operand: 1.5,
    under_mask: 1.5,
    casts: 1,
    cast_inside: 0.5,
    there_and_back: 2,
    other_read: 1.5,
    other_write: 0.7,
    number_as_operand: 0.7,
    in_two_steps: 0.7,
    as_complex: 0.3,
    into_branch: 1,
    into_loop: 1,
    twice: 0.5,
    without: 1,
    outlined: 0.1,
    other_result: 0.7,
}
"""The edits, and how often each is chosen. An edit raises Unfit if the program has no place for it."""
