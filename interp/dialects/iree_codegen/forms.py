"""Custom forms that IREE and the smt and affine dialects write by hand.

What an op reads from ``<…>`` or ``{…}``: IREE 3.13 keeps properties in the one and discardable attributes in the other;
older releases, and the dialect's document, have all in ``{…}``. Both are read, the first is printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfulp.interp.declare.declarations import AttributeDefinition, OpDefinition, ParameterKind
from halfulp.interp.declare.operands import SEGMENTS, move_inherent
from halfulp.interp.dialects.scf.forms import keyword_of
from halfulp.interp.ir.attributes import (
    AffineMapAttr,
    Attribute,
    DenseArrayAttr,
    DialectAttr,
    DictionaryAttr,
    IntegerAttr,
)
from halfulp.interp.ir.operations import Block, Operation, SSAValue
from halfulp.interp.ir.types import I32, I64, INDEX, IntegerType, MemRefType, Type
from halfulp.interp.text.assembly import DYNAMIC, CustomParse
from halfulp.interp.text.attribute_parser import integer_value
from halfulp.interp.text.parameters import read_parameters
from halfulp.interp.text.type_parser import is_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from halfulp.interp.text.parser import Parser
    from halfulp.interp.text.printer import Printer


def _dictionary(p: Parser) -> dict[str, Attribute]:
    return p.dictionary() if p.tokens[p.pos] == "{" else {}


def _discardable(printer: Printer, operation: Operation) -> str:
    return f" {printer.dictionary(operation.attributes)}" if operation.attributes else ""


# --- iree_codegen.inner_tiled -----------------------------------------------------------------------------------------


def inner_tiled_parser(definition: OpDefinition) -> CustomParse:
    """``ins(%a, %b) outs(%c) <properties> {attributes} : types into types``."""

    def parse(p: Parser, at: int) -> Operation:
        groups = [_operands_of(p, definition, word) for word in ("ins", "outs")]
        properties: dict[str, Attribute] = {}
        if p.take("<"):
            _properties(p, definition, properties)
        attributes = _dictionary(p)
        move_inherent(definition, properties, attributes)
        for prop in definition.properties:
            if not prop.optional and prop.name not in properties:
                p.error(f"properties dictionary is missing required attribute: {prop.name}", at)
        p.expect(":")
        types = [p.type_list()]
        keyword_of(p, definition, "into")
        types.append(p.type_list())
        values: list[SSAValue] = []
        for tokens, known in zip(groups, types, strict=True):
            if len(tokens) != len(known):
                p.error(
                    f"custom op '{definition.name}' number of operands and types do not match: got {len(tokens)} "
                    f"operands and {len(known)} types",
                    tokens[0] if tokens else None,
                )
            values += [p.use(token, type) for token, type in zip(tokens, known, strict=True)]
        # IREE takes them from the dictionary where they are of that kind, and drops them there in any case.
        segments = properties.get(SEGMENTS)
        if not isinstance(segments, DenseArrayAttr) or len(segments.values) != len(groups):
            properties[SEGMENTS] = DenseArrayAttr(I32, tuple(map(len, groups)))
        results = results_of(types[1])
        return p.placed(Operation(definition.name, definition, values, results, properties, attributes), at)

    return parse


def results_of(outputs: Sequence[Type]) -> tuple[Type, ...]:
    """The types of the results: memory is updated in place."""
    return tuple(type_ for type_ in outputs if not isinstance(type_, MemRefType))


def _operands_of(p: Parser, definition: OpDefinition, word: str) -> list[int]:
    keyword_of(p, definition, word)
    p.expect("(")
    tokens = p.operand_tokens()
    p.expect(")")
    return tokens


def _properties(p: Parser, definition: OpDefinition, properties: dict[str, Attribute]) -> None:
    """``name = value, …>``."""
    names = [prop.name for prop in definition.properties]
    while True:
        name = p.tokens[p.pos]
        if name not in names or name in properties:
            p.error(f"duplicate or unknown property '{name}'", hint=p.similar(name, names))
        p.pos += 1
        p.expect("=")
        properties[name] = p.attribute()
        if not p.take(","):
            break
    p.expect(">")


def print_inner_tiled(printer: Printer, operation: Operation) -> str:
    """As `inner_tiled_parser` reads it."""
    properties = operation.properties
    segments = properties[SEGMENTS]
    assert isinstance(segments, DenseArrayAttr)
    assert operation.definition is not None
    count = segments.values[0]
    groups = operation.operands[:count], operation.operands[count:]
    ins, outs = (", ".join(printer.name(value) for value in group) for group in groups)
    inputs, outputs = (", ".join(printer.type(value.type) for value in group) for group in groups)
    written = ", ".join(
        f"{prop.name} = {printer.attribute(properties[prop.name])}"
        for prop in operation.definition.properties
        if prop.name in properties
    )
    extra = _discardable(printer, operation)
    return f" ins({ins}) outs({outs}) <{written}>{extra} : {inputs} into {outputs}"


# --- iree_codegen.workgroup_count_hint --------------------------------------------------------------------------------


def count_hint_parser(definition: OpDefinition) -> CustomParse:
    """``(%a, 4)``; the document's examples have the word ``sizes`` before it."""

    def parse(p: Parser, at: int) -> Operation:
        p.take("sizes")
        p.expect("(")
        values: list[SSAValue] = []
        codes: list[int] = []
        while p.tokens[p.pos] != ")":
            if p.tokens[p.pos][:1] == "%":
                values.append(p.use(p.operand_token(), INDEX))
                codes.append(DYNAMIC)
            else:
                codes.append(p.integer(f"custom op '{definition.name}' expected integer value") & ((1 << 64) - 1))
            if not p.take(","):
                break
        p.expect(")")
        properties: dict[str, Attribute] = {"static_sizes": DenseArrayAttr(I64, tuple(codes))}
        attributes = _dictionary(p)
        move_inherent(definition, properties, attributes)
        return p.placed(Operation(definition.name, definition, values, (), properties, attributes), at)

    return parse


def print_count_hint(printer: Printer, operation: Operation) -> str:
    """As `count_hint_parser` reads it, without ``sizes``."""
    sizes = operation.properties["static_sizes"]
    assert isinstance(sizes, DenseArrayAttr)
    values = iter(operation.operands)
    texts = (
        printer.name(next(values)) if code == DYNAMIC else str(number)
        for code, number in zip(sizes.codes, sizes.values, strict=True)
    )
    return f"({', '.join(texts)}){_discardable(printer, operation)}"


# --- iree_codegen.smt.constraints -------------------------------------------------------------------------------------


def constraints_form(
    target: AttributeDefinition, pipeline: ParameterKind
) -> tuple[Callable[[OpDefinition], CustomParse], Callable[[Printer, Operation], str]]:
    """``target = <set = 0>, pipeline = #p, knobs = {…} dims(%m) attributes {…} { body }``."""

    def parser(definition: OpDefinition) -> CustomParse:
        def assigned(p: Parser, word: str) -> None:
            keyword_of(p, definition, word)
            p.expect("=")

        def parse(p: Parser, at: int) -> Operation:
            properties: dict[str, Attribute] = {}
            assigned(p, "target")
            at_target = p.pos
            properties["target"] = p.attribute() if p.tokens[p.pos][:1] == "#" else read_parameters(p, target)
            if getattr(properties["target"], "definition", None) is not target:
                p.error(f"custom op '{definition.name}' invalid kind of attribute specified", at_target)
            p.expect(",")
            assigned(p, "pipeline")
            properties["pipeline"] = pipeline.read(p)
            p.expect(",")
            assigned(p, "knobs")
            at_knobs = p.pos
            properties["knobs"] = p.attribute()
            if not isinstance(properties["knobs"], DictionaryAttr):
                p.error(f"custom op '{definition.name}' invalid kind of attribute specified", at_knobs)
            dims = [p.use(token, INDEX) for token in _operands_of(p, definition, "dims")]
            attributes: dict[str, Attribute] = {}
            if p.take("attributes"):
                p.dictionary(attributes)
            region = p.region(definition.name)
            if not region.blocks:
                region.append(Block())
            return p.placed(Operation(definition.name, definition, dims, (), properties, attributes, [region]), at)

        return parse

    def print_(printer: Printer, operation: Operation) -> str:
        properties = operation.properties
        root = properties["target"]
        assert isinstance(root, DialectAttr)
        dims = ", ".join(printer.name(value) for value in operation.operands)
        extra = f" attributes {printer.dictionary(operation.attributes)}" if operation.attributes else ""
        line = f"\n{printer.indent} "
        return (
            f" target = {root.spell_parameters(printer.names)}, "
            f"pipeline = {pipeline.spell(properties['pipeline'], printer.names)}, "
            f"{line}knobs = {printer.attribute(properties['knobs'])}{line}dims({dims}){extra} "
            f"{printer.region(operation.regions[0], operation)}"
        )

    return parser, print_


# --- smt --------------------------------------------------------------------------------------------------------------


def int_constant_parser(definition: OpDefinition) -> CustomParse:
    """``5``: of as many bits as it takes, but at least 64, as an unsigned attribute."""

    def parse(p: Parser, at: int) -> Operation:
        negative = p.take("-")
        token = p.tokens[p.pos]
        if not is_integer(token):
            p.error("expected integer value")
        p.pos += 1
        value = integer_value(token)
        width = max(64, value.bit_length() + 1)
        code = (-value if negative else value) & ((1 << width) - 1)
        attribute = IntegerAttr(code, IntegerType(width, "unsigned"))
        result = definition.results[0].constraint.builds
        assert result is not None
        return p.placed(Operation(definition.name, definition, [], (result,), {"value": attribute}, _dictionary(p)), at)

    return parse


def smt_integer(attribute: Attribute) -> int:
    """The number a constant of the smt dialect stands for: its bits are signed, whatever its type says."""
    assert isinstance(attribute, IntegerAttr)
    width = attribute.type.width if isinstance(attribute.type, IntegerType) else 64
    return attribute.code - (1 << width) if attribute.code >> (width - 1) else attribute.code


def print_int_constant(printer: Printer, operation: Operation) -> str:
    """The number, signed."""
    return f" {smt_integer(operation.properties['value'])}{_discardable(printer, operation)}"


def same_type_parser(definition: OpDefinition) -> CustomParse:
    """``%a, %b, %c : type``."""

    def parse(p: Parser, at: int) -> Operation:
        tokens = p.operand_tokens()
        attributes = _dictionary(p)
        p.expect(":")
        type = p.type()
        result = definition.results[0].constraint.builds
        assert result is not None
        operands = [p.use(token, type) for token in tokens]
        return p.placed(Operation(definition.name, definition, operands, (result,), {}, attributes), at)

    return parse


def print_same_type(printer: Printer, operation: Operation) -> str:
    """As `same_type_parser` reads it."""
    names = ", ".join(printer.name(value) for value in operation.operands)
    return f" {names}{_discardable(printer, operation)} : {printer.type(operation.operands[0].type)}"


# --- affine.apply -----------------------------------------------------------------------------------------------------


def apply_parser(definition: OpDefinition) -> CustomParse:
    """``#map(%dimensions)[%symbols]``."""

    def parse(p: Parser, at: int) -> Operation:
        at_map = p.pos
        map = p.attribute()
        if not isinstance(map, AffineMapAttr):
            p.error("invalid kind of attribute specified", at_map)
        p.expect("(")
        tokens = p.operand_tokens()
        p.expect(")")
        dimensions = len(tokens)
        if p.take("["):
            tokens += p.operand_tokens()
            p.expect("]")
        if dimensions != map.dimensions or len(tokens) - dimensions != map.symbols:
            p.error(f"custom op '{definition.name}' dimension or symbol index mismatch", at)
        operands = [p.use(token, INDEX) for token in tokens]
        results = (INDEX,) * len(map.results)
        return p.placed(Operation(definition.name, definition, operands, results, {"map": map}, _dictionary(p)), at)

    return parse


def print_apply(printer: Printer, operation: Operation) -> str:
    """As `apply_parser` reads it."""
    map = operation.properties["map"]
    assert isinstance(map, AffineMapAttr)
    names = [printer.name(value) for value in operation.operands]
    symbols = f"[{', '.join(names[map.dimensions :])}]" if len(names) > map.dimensions else ""
    return f" {printer.attribute(map)}({', '.join(names[: map.dimensions])}){symbols}{_discardable(printer, operation)}"
