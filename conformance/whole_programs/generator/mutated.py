"""Change programs that exist, with edits that keep most of them valid, and go on from those that show something new.

A table of edits (`EDITS`) changes a copy of a program: an op more on the way to an operand, another op of the same
types, constants and numbers of attributes at the ends of their ranges, another element type or size throughout the
function, flags, masks, optional operands, casts, regions around an op, functions apart. The verifier of halfulp decides
whether the result is a program.

`Mutants` is a pool of programs. A program after whose change a pass does what it has not done to another one (which ops
it removed, and which it made) stays in the pool, and is changed again.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from halfulp.conformance.files import read_whole
from halfulp.conformance.oracles.closed_programs import MARKER, text_of
from halfulp.conformance.oracles.oracle import ClosedProgram
from halfulp.conformance.whole_programs import rewrite
from halfulp.conformance.whole_programs.generator.grower import (
    FLOATS,
    INTEGERS,
    NAME,
    OTHER_FLOATS,
    OTHER_INTEGERS,
    RandomFunction,
    Unfit,
    cases,
    elementwise_ops,
    float_code,
    integer_code,
    random_properties,
)
from halfulp.conformance.whole_programs.op_search import run_here, without_unneeded_functions
from halfulp.conformance.whole_programs.printed import is_uninterpreted
from halfulp.conformance.whole_programs.rewrite import drop, put_before
from halfulp.conformance.whole_programs.validation import Inputs
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import codes_to_ints, ints_to_codes
from halfulp.interp.declare import declarations as d
from halfulp.interp.ir import affine_expressions as affine
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.errors import HalfulpError, InputError, LimitExceeded, internal_error
from halfulp.interp.ir.operations import (
    Block,
    Module,
    Operation,
    OpResult,
    Region,
    SSAValue,
    argument_types,
    captured,
    result_types,
)
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.loading import parse_module
from halfulp.interp.values.coerce import as_type
from halfulp.interp.verifier import KnownRules, verify

MOST_OPS = 80
"""Most ops of a program from a file."""

LONG_OPS = 25
"""A changed program has at most this number of ops, or as many as the program before."""

SEED_STEPS = 3_000
"""Most steps of the first run of a program from a file."""

# --- programs from files ----------------------------------------------------------------------------------------------


def programs_of(paths: Iterable[Path]) -> Iterator[Module]:
    """Yield the functions of MLIR files that halfulp runs, each in a module with those that it calls, as public ``@f``.

    ``paths``: files, and folders of files whose names end with .mlir. What halfulp cannot read or run is left out, such
    as tests of error messages. Raises InputError for a file that cannot be opened.
    """
    for path in paths:
        for file in sorted(path.rglob("*.mlir")) if path.is_dir() else [path]:
            try:
                text = read_whole(file).decode("utf-8", "replace")
            except OSError as error:
                raise InputError(f"cannot read '{file}': {error.strerror}") from None
            for part in text.split(MARKER):
                try:
                    module = parse_module(part, str(file))
                except HalfulpError:
                    continue
                yield from _functions_of(module)


def _functions_of(module: Module) -> Iterator[Module]:
    for op in module.body:
        if op.name != "func.func" or op.symbol_name is None or not op.regions[0].blocks:
            continue
        made = without_unneeded_functions(module, op.symbol_name)
        if any(captured(each) for each in made.body):  # by an op that no dialect has
            continue
        if (main := made.lookup(op.symbol_name)) is None or (main.symbol_name != NAME and made.lookup(NAME)):
            continue
        main.properties["sym_name"] = at.StringAttr(NAME)
        main.properties.pop("sym_visibility", None)
        try:  # what MLIR 22 does not have cannot be printed
            printed = parse_module(text_of(made), "<a program>")
        except HalfulpError:
            continue
        if runs(printed):
            yield printed


def runs(module: Module) -> bool:
    """Tell whether ``@f`` is a program to test passes with: halfulp knows what each op does, and a run ends."""
    main = module.lookup(NAME)
    if main is None or sum(1 for _ in main.walk()) > MOST_OPS or not (result_types(main) or _memories(main)):
        return False
    if is_uninterpreted(module, main):
        return False
    try:
        row = Inputs(1, ordinary=True, max_steps=SEED_STEPS).of(main, samples=True).row(0)
        with warnings.catch_warnings(action="ignore"):
            run_here(ClosedProgram(module, NAME, row))
    except HalfulpError as error:
        return isinstance(error, LimitExceeded)
    return True


def _memories(function: Operation) -> list[ty.Type]:
    return [type_ for type_ in argument_types(function) if isinstance(type_, ty.MemRefType)]


# --- edits ------------------------------------------------------------------------------------------------------------


class Draft:
    """A copy of a program that edits change in place."""

    def __init__(self, module: Module, rng: random.Random) -> None:
        self.rng = rng
        self.take(rewrite.module_with(module.body, module))

    def take(self, module: Module) -> None:
        """Go on with another module. ``main`` is its function."""
        self.module = module
        found = module.lookup(NAME)
        assert found is not None
        self.main = found

    def ops(self, fits: Callable[[Operation], object] = lambda op: True) -> list[Operation]:
        """Return the ops inside the function that fit, without those of bodies that no text shows."""
        main = self.main
        return [op for op in main.walk() if op is not main and not _has_implied_body(op.parent_op) and fits(op)]

    def some(self, fits: Callable[[Operation], object]) -> Operation:
        """Choose an op that fits. Raises Unfit if there is none."""
        chosen: Operation = self.choice(self.ops(fits))
        return chosen

    def choice(self, things: Sequence[Any]) -> Any:
        """Choose one. Raises Unfit if there is none."""
        if not things:
            raise Unfit
        return self.rng.choice(things)

    def visible(self, op: Operation) -> list[SSAValue]:
        """Return values that an op may use: arguments of the blocks around it, and results of ops before it there."""
        found: list[SSAValue] = []
        at_: Operation | None = op
        while at_ is not None and at_.parent is not None and at_ is not self.main:
            block = at_.parent
            found += block.arguments
            found += [result for other in block.operations[: block.operations.index(at_)] for result in other.results]
            at_ = at_.parent_op
        return found

    def value(self, op: Operation, type_: ty.Type, other: SSAValue | None = None) -> SSAValue:
        """Return a value of a type for an op: a visible one, not ``other``, or a new constant. Raises Unfit."""
        known = [each for each in self.visible(op) if each.type == type_ and each is not other]
        if known and self.rng.random() < 0.8:
            chosen: SSAValue = self.rng.choice(known)
            return chosen
        made = rewrite.constant(type_, *_random_codes(type_, self.rng))
        return put_before(op, made).results[0]

    def replace(self, old: SSAValue, new: SSAValue, but: Operation | None = None) -> None:
        """Replace all uses of a value, except those of one op."""
        rewrite.replace_uses(self.main, old, new, but)


def _has_implied_body(op: Operation | None) -> bool:
    """Tell whether the body of an op follows from its name: an op that linalg names."""
    return op is not None and op.name.startswith("linalg.") and op.name not in _WITH_BODIES


_WITH_BODIES = frozenset({"linalg.generic", "linalg.map", "linalg.reduce"})


def _after(op: Operation, made: Operation) -> Operation:
    assert op.parent is not None
    made.parent = op.parent
    op.parent.operations.insert(op.parent.operations.index(op) + 1, made)
    return made


def _made(name: str, operands: Sequence[SSAValue], results: Sequence[ty.Type], **properties: at.Attribute) -> Operation:
    definition = rewrite.definition_of(name)
    implied = {prop.name: prop.implied for prop in definition.properties if prop.implied is not None}
    return Operation(name, definition, list(operands), list(results), implied | properties)


def _random_codes(type_: ty.Type, rng: random.Random) -> tuple[Any, bool]:
    """Return codes for a constant, and whether they are one code for all elements. Raises Unfit if the type has no
    constants.
    """
    element = ty.element_type(type_)
    width = element_width(element)
    if width is None or not isinstance(element, ty.IntegerType | ty.IndexType | ty.FloatType):
        raise Unfit
    if isinstance(type_, ty.ShapedType):
        count = ty.element_count(type_)
        if isinstance(type_, ty.MemRefType) or count is None:
            raise Unfit
        if count <= 64 and rng.random() < 0.5:
            codes = [edge_code(element, rng) for _ in range(count)]
            return ints_to_codes(codes, width, tuple(size or 0 for size in ty.shape_of(type_) or ())), False
        return ints_to_codes([edge_code(element, rng)], width, ()), True
    return ints_to_codes([edge_code(element, rng)], width, ()), False


def edge_code(element: ty.Type, rng: random.Random) -> int:
    """Return a code of an element, mostly one at which ranges end. Of index, mostly a small number."""
    if isinstance(element, ty.IndexType):
        return rng.choice((0, 1, 2, 3, 4, 5, 7, 8)) if rng.random() < 0.9 else integer_code(64, rng)
    if isinstance(element, ty.FloatType):
        return float_code(element, rng)
    return integer_code(width_of(element), rng)


@cache
def _fitting(types: tuple[ty.Type, ...], result: ty.Type) -> tuple[tuple[str, int, tuple[ty.Type, ...]], ...]:
    """Return the elementwise ops that give a type and take one of some types: name, operand, types of operands."""
    found = []
    for op in elementwise_ops():
        for anchor in range(len(op.operands)):
            for type_ in types:
                made = cases(op.name, anchor, type_, (ty.element_type(result), ty.I1))
                found += [(op.name, anchor, operands) for operands, results in made if results == (result,)]
    return tuple(dict.fromkeys(found))


def _operands_of_numbers(op: Operation) -> list[int]:
    return [
        number for number, value in enumerate(op.operands) if element_width(ty.element_type(value.type)) is not None
    ]


def splice(draft: Draft) -> None:
    """Put an op on the way to an operand: the operand becomes the op's result, which has the same type."""
    op = draft.some(_operands_of_numbers)
    number = draft.choice(_operands_of_numbers(op))
    value = op.operands[number]
    name, anchor, types = draft.choice(_fitting((value.type,), value.type))
    operands = [value if k == anchor else draft.value(op, type_) for k, type_ in enumerate(types)]
    definition = rewrite.definition_of(name)
    made = Operation(name, definition, operands, [value.type], random_properties(definition, draft.rng, 0.2))
    op.operands[number] = put_before(op, made).results[0]


def _is_elementwise(op: Operation) -> bool:
    return op.definition in elementwise_ops()


def other_op(draft: Draft) -> None:
    """Replace an elementwise op by another op of the same types."""
    op = draft.some(_is_elementwise)
    types = tuple(value.type for value in op.operands)
    fitting = _fitting(types, op.results[0].type)
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
    made = rewrite.constant(op.results[0].type, *_random_codes(op.results[0].type, draft.rng))
    op.properties["value"] = made.properties["value"]


def constant_operand(draft: Draft) -> None:
    """Replace an operand by a constant."""
    op = draft.some(_operands_of_numbers)
    number = draft.choice(_operands_of_numbers(op))
    made = rewrite.constant(op.operands[number].type, *_random_codes(op.operands[number].type, draft.rng))
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
    present = {ty.element_type(value.type) for op in draft.main.walk() for value in _values_of(op)}
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
            put_before(op, made := _made(_CASTS[op.name], op.operands, [op.results[0].type]))
            draft.replace(op.results[0], made.results[0])
            drop(op)


def other_size(draft: Draft) -> None:
    """Give a function another size in place of one, in all shapes, and in lists of sizes."""
    sizes = Counter(
        size for op in draft.main.walk() for value in _values_of(op) for size in ty.shape_of(value.type) or () if size
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


def _values_of(op: Operation) -> list[SSAValue]:
    return [*op.results, *(argument for block in op.blocks for argument in block.arguments)]


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
        return put_before(op, _made("vector.create_mask", given, [type_])).results[0]
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
    block.append(_made(end, op.results, []))
    return around


# --- more ops, regions and functions ----------------------------------------------------------------------------------


def casts(draft: Draft) -> None:
    """Put two casts on the way to an operand: to another width, and back."""
    op = draft.some(_operands_of_numbers)
    number = draft.choice(_operands_of_numbers(op))
    value = op.operands[number]
    element = ty.element_type(value.type)
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
    if isinstance(value.type, ty.ShapedType) and not isinstance(value.type, ty.VectorType | ty.TensorType):
        raise Unfit
    if not isinstance(element, ty.IndexType) and width_of(other) < width_of(element):
        pair = (pair[1], pair[0])
    between = put_before(op, _made(pair[0], [value], [ty.with_element(value.type, other)])).results[0]
    op.operands[number] = put_before(op, _made(pair[1], [between], [value.type])).results[0]


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
    otherwise.append(_made("scf.yield", others, []))
    _inside(draft, op, "scf.if", [condition], "scf.yield", others=[Region([otherwise] if others else [])])


def into_loop(draft: Draft) -> None:
    """Do an op, and what carries its results, a few times, or never."""
    op = draft.some(_is_plain)
    numbers = [
        put_before(op, rewrite.constant(ty.INDEX, ints_to_codes([number], 64, ()))).results[0]
        for number in (draft.choice((0, 1, 2)), draft.choice((0, 1, 2, 3)), draft.choice((1, 2)))
    ]
    carried = [draft.value(op, result.type) for result in op.results]
    types = [ty.INDEX, *(result.type for result in op.results)]
    around = _inside(draft, op, "scf.for", [*numbers, *carried], "scf.yield", types)
    inner = around.regions[0].blocks[0].arguments
    for number, value in enumerate(op.operands):
        fitting = [argument for argument in inner if argument.type == value.type]
        if fitting and draft.rng.random() < 0.7:
            op.operands[number] = draft.choice(fitting)


def twice(draft: Draft) -> None:
    """Do an op twice; the second one's results are used somewhere."""
    op = draft.some(lambda op: _is_plain(op) and op.results)
    copy = _after(op, rewrite.copied(op, {}))
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
    call = _made("func.call", values, [each.type for each in op.results], callee=at.SymbolRefAttr(name))
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
    into_branch: 1,
    into_loop: 1,
    twice: 0.5,
    without: 1,
    outlined: 0.1,
    other_result: 0.7,
}
"""The edits, and how often each is chosen. An edit raises Unfit if the program has no place for it."""

_EDITS, _WEIGHTS = tuple(EDITS), tuple(accumulate(EDITS.values()))

TRIES = 12
"""The most edits that are tried for one program."""


def mutant(module: Module, rng: random.Random, known: KnownRules | None = None) -> Module | None:
    """Return a program after one to four edits; None if it is too long, or not valid.

    Most ops whose results nothing uses any more are left out. ``known``: as for `verify`.
    """
    wanted = rng.choice((1, 1, 2, 2, 3, 4))
    most = max(LONG_OPS, sum(1 for _ in module.walk()))
    draft = Draft(module, rng)
    for edit in rng.choices(_EDITS, cum_weights=_WEIGHTS, k=TRIES):
        try:
            edit(draft)
        except (Unfit, ValueError):
            continue
        wanted -= 1
        if not wanted:
            break
    if rng.random() < 0.9:
        _without_unused(draft)
    if sum(1 for _ in draft.module.walk()) > most:
        return None
    try:
        verify(draft.module, known)
    except HalfulpError:
        return None
    return draft.module


def _without_unused(draft: Draft) -> None:
    """Drop ops that have results which nothing uses, and no memory."""
    used = Counter(value for op in draft.main.walk() for value in op.used_values)
    for op in reversed(draft.ops(lambda op: op.results)):
        values = [value for inner in op.walk() for value in (*inner.used_values, *inner.results)]
        if not any(used[result] for result in op.results) and not any(map(_is_memory, values)):
            used.subtract(value for inner in op.walk() for value in inner.used_values)
            drop(op)


def _is_memory(value: SSAValue) -> bool:
    return isinstance(value.type, ty.MemRefType)


# --- the pool ---------------------------------------------------------------------------------------------------------


KEPT_RULES = 2_000
"""The number of programs after which the verifier forgets what it has seen, and its memory."""

SELDOM = 0.8
"""How often a program that only runs as a whole is left for another one: ten others run in the same time."""


def runs_whole(module: Module) -> bool:
    """Tell whether the ops of a function cannot run alone: it has memory, calls or branches."""
    ops = list(module.walk())
    branches = any(op.successors for op in ops)
    return branches or len(module.body) > 1 or any(_is_memory(value) for op in ops for value in _values_of(op))


@dataclass
class Mutants:
    """Programs that change, and what a pass did to them.

    ``seeds``: the programs to begin with; they are given to the pass as they are, first. ``kept``: those after whose
    change the pass did something new, the newest last. ``errors``: internal errors while a program was changed or
    verified; the program is left out.
    """

    seeds: Sequence[Module]
    kept: list[Module] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    _costly: set[Module] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._costly.update(filter(runs_whole, self.seeds))

    def functions(self, seed: int, count: int, first: int) -> Iterator[RandomFunction]:
        """Yield ``count`` programs. They depend on what the pass did to the ones before, so ``first`` is only the
        number of the first one.
        """
        rng, known = random.Random(f"mutated {seed} {first}"), KnownRules()
        for index in range(first, first + count):
            if index < len(self.seeds):
                yield RandomFunction(seed, index, self.seeds[index])
                continue
            if not index % KEPT_RULES:
                known = KnownRules()
            made = None
            while made is None:
                try:
                    made = mutant(self._chosen(rng), rng, known)
                except Exception as error:
                    self.errors[internal_error(error)] += 1
            yield RandomFunction(seed, index, made)

    def _chosen(self, rng: random.Random) -> Module:
        if not self.kept or rng.random() < 0.3:
            chosen = self.seeds
        else:
            chosen = self.kept[-20:] if rng.random() < 0.5 else self.kept
        found = rng.choice(chosen)
        if found in self._costly and rng.random() < SELDOM:
            found = rng.choice([each for each in chosen if each not in self._costly] or chosen)
        return found

    def learn(self, program: RandomFunction) -> None:
        """Keep a program to which the pass did something new."""
        self.kept.append(program.module)
        if runs_whole(program.module):
            self._costly.add(program.module)
