"""Custom forms that IREE writes by hand.

IREE 3.13 writes properties in ``<…>`` and discardable attributes in ``{…}``. Older releases, and the dialect's
document, write all in ``{…}``. Both forms are read; the first is printed.
"""

from __future__ import annotations

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.declare.operands import SEGMENTS, move_inherent
from halfulp.interp.declare.parameters import read_parameters
from halfulp.interp.dialects.iree_codegen.tiled_rules import results_of
from halfulp.interp.ir.attributes import DenseArrayAttr, DictionaryAttr
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.dialect_attributes import AttributeDefinition, DialectAttr, ParameterKind
from halfulp.interp.ir.operations import Block, Operation, SSAValue
from halfulp.interp.ir.types import I32, INDEX
from halfulp.interp.text.mixed_lists import print_mixed, read_mixed
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter


def _discardable(printer: OpPrinter, operation: Operation) -> str:
    return f" {printer.dictionary(operation.attributes)}" if operation.attributes else ""


# --- iree_codegen.inner_tiled -----------------------------------------------------------------------------------------


def _inner_tiled_parser(definition: OpDefinition) -> CustomParse:
    """Return the parser of ``ins(%a, %b) outs(%c) <properties> {attributes} : types into types``."""

    def parse(p: OpParser, at: int) -> Operation:
        groups = [_operands_of(p, definition, word) for word in ("ins", "outs")]
        properties: dict[str, Attribute] = {}
        if p.take("<"):
            _properties(p, definition, properties)
        attributes = p.optional_dictionary()
        move_inherent(definition, properties, attributes)
        for prop in definition.properties:
            if not prop.optional and prop.name not in properties:
                p.error(f"properties dictionary is missing required attribute: {prop.name}", at)
        p.expect(":")
        types = [p.type_list()]
        p.keyword(definition, "into")
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
        # IREE takes them from the dictionary if they are a dense array, and removes them there in any case.
        segments = properties.get(SEGMENTS)
        if not isinstance(segments, DenseArrayAttr) or len(segments.values) != len(groups):
            properties[SEGMENTS] = DenseArrayAttr(I32, tuple(map(len, groups)))
        results = results_of(types[1])
        return p.placed(Operation(definition.name, definition, values, results, properties, attributes), at)

    return parse


def _operands_of(p: OpParser, definition: OpDefinition, word: str) -> list[int]:
    p.keyword(definition, word)
    p.expect("(")
    tokens = p.operand_tokens()
    p.expect(")")
    return tokens


def _properties(p: OpParser, definition: OpDefinition, properties: dict[str, Attribute]) -> None:
    """Read ``name = value, …>``."""
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


def _print_inner_tiled(printer: OpPrinter, operation: Operation) -> str:
    """Print what `_inner_tiled_parser` reads."""
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


INNER_TILED = CustomForm(_inner_tiled_parser, _print_inner_tiled)

# --- iree_codegen.workgroup_count_hint --------------------------------------------------------------------------------


def _count_hint_parser(definition: OpDefinition) -> CustomParse:
    """Return the parser of ``(%a, 4)``; the document's examples have the word ``sizes`` before it."""

    def parse(p: OpParser, at: int) -> Operation:
        p.take("sizes")
        names, sizes = read_mixed(p, "()", f"custom op '{definition.name}' expected integer value")
        values = [p.use(name, INDEX) for name in names]
        properties: dict[str, Attribute] = {"static_sizes": sizes}
        attributes = p.optional_dictionary()
        move_inherent(definition, properties, attributes)
        return p.placed(Operation(definition.name, definition, values, (), properties, attributes), at)

    return parse


def _print_count_hint(printer: OpPrinter, operation: Operation) -> str:
    """Print what `_count_hint_parser` reads, without ``sizes``."""
    sizes = operation.properties["static_sizes"]
    assert isinstance(sizes, DenseArrayAttr)
    return f"{print_mixed(printer, sizes, operation.operands, '()')}{_discardable(printer, operation)}"


COUNT_HINT = CustomForm(_count_hint_parser, _print_count_hint)

# --- iree_codegen.smt.constraints -------------------------------------------------------------------------------------


def constraints_form(target: AttributeDefinition, pipeline: ParameterKind) -> CustomForm:
    """Return the form ``target = <set = 0>, pipeline = #p, knobs = {…} dims(%m) attributes {…} { body }``."""

    def parser(definition: OpDefinition) -> CustomParse:
        def assigned(p: OpParser, word: str) -> None:
            p.keyword(definition, word)
            p.expect("=")

        def parse(p: OpParser, at: int) -> Operation:
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

    def print_(printer: OpPrinter, operation: Operation) -> str:
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

    return CustomForm(parser, print_)
