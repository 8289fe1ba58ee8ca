"""Custom forms of the memref dialect, which MLIR writes by hand."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.interp.declare.declarations import CustomForm, OpDefinition
from halfulp.interp.declare.operands import move_inherent
from halfulp.interp.dialects.regions import trailing_dictionary
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import Attribute
from halfulp.interp.ir.operations import Operation, Region, SSAValue
from halfulp.interp.text.affine_parser import AffineParser
from halfulp.interp.text.op_parser import OpParser, OpPrinter

_UNIT = at.UnitAttr()


def _made(
    p: OpParser,
    at_: int,
    definition: OpDefinition,
    operands: Sequence[SSAValue],
    results: Sequence[ty.Type],
    regions: Sequence[Region] = (),
    properties: dict[str, Attribute] | None = None,
    attributes: dict[str, Attribute] | None = None,
) -> Operation:
    properties = {} if properties is None else properties
    attributes = {} if attributes is None else attributes
    move_inherent(definition, properties, attributes)
    return p.placed(
        Operation(definition.name, definition, list(operands), results, properties, attributes, regions), at_
    )


def _memref_type(p: OpParser, definition: OpDefinition) -> ty.MemRefType:
    at_ = p.pos
    type_ = p.type()
    if not isinstance(type_, ty.MemRefType) or type_.shape is None:
        p.wrong(definition.name, f"invalid kind of type specified: expected builtin.memref, but found '{type_}'", at_)
    return type_


def _bracketed(p: OpParser) -> list[int]:
    """Read ``[%i, %j]``, and return the tokens of the values."""
    p.expect("[")
    tokens = p.operand_tokens()
    p.expect("]")
    return tokens


def _element(printer: OpPrinter, values: Sequence[SSAValue]) -> str:
    """Print ``%m[%i, %j]``."""
    memref, *indices = map(printer.name, values)
    return f"{memref}[{', '.join(indices)}]"


# --- regions ----------------------------------------------------------------------------------------------------------


def _parse_scope(p: OpParser, at_: int, definition: OpDefinition) -> Operation:
    results = p.function_results() if p.take("->") else ()
    region = p.terminated(p.region(definition.name), "memref.alloca_scope.return", at_)
    return _made(p, at_, definition, (), results, [region], attributes=p.optional_dictionary())


def _print_scope(printer: OpPrinter, operation: Operation) -> str:
    types = ", ".join(printer.type(result.type) for result in operation.results)
    text = f"  -> ({types})" if types else " "
    region = printer.region(operation.regions[0], operation, entry_arguments=False, terminators=bool(types))
    return f"{text} {region}{trailing_dictionary(printer, operation)}"


# --- globals ----------------------------------------------------------------------------------------------------------


def _parse_global(p: OpParser, at_: int, definition: OpDefinition) -> Operation:
    prefix = f"custom op '{definition.name}' "
    properties: dict[str, Attribute] = {}
    if p.tokens[p.pos][:1] == '"':
        properties["sym_visibility"] = at.StringAttr(p.string())
    if p.take("constant"):
        properties["constant"] = _UNIT
    if p.tokens[p.pos][:1] != "@":
        p.error(f"{prefix}expected valid '@'-identifier for symbol name")
    properties["sym_name"] = at.StringAttr(p.symbol_reference().root)
    p.expect(":")
    type_ = p.type()
    if not isinstance(type_, ty.MemRefType) or type_.shape is None or None in type_.shape:
        p.error(f"{prefix}type should be static shaped memref, but got '{type_}'", at_)
    properties["type"] = at.TypeAttr(type_)
    if p.take("="):
        properties["initial_value"] = _UNIT if p.take("uninitialized") else _initial(p, type_, prefix, at_)
    if p.take("alignment"):
        p.expect("=")
        properties["alignment"] = p.attribute(ty.I64)
    attributes = p.optional_dictionary()
    return _made(p, at_, definition, (), (), (), properties, attributes)


def _initial(p: OpParser, type_: ty.MemRefType, prefix: str, at_: int) -> Attribute:
    value = p.attribute(ty.TensorType(type_.shape, type_.element))
    if not isinstance(value, at.DenseElementsAttr | at.DenseResourceAttr | at.SparseElementsAttr):
        p.error(f"{prefix}initial value should be a unit or elements attribute", at_)
    return value


def _print_global(printer: OpPrinter, operation: Operation) -> str:
    properties = operation.properties
    visibility, name, type_ = (properties.get(key) for key in ("sym_visibility", "sym_name", "type"))
    assert isinstance(name, at.StringAttr)
    assert isinstance(type_, at.TypeAttr)
    text = "" if visibility is None else f" {visibility}"
    text += " constant" if "constant" in properties else ""
    text += f" {at.SymbolRefAttr(name.value)} : {printer.type(type_.type)}"
    value = properties.get("initial_value")
    if isinstance(value, at.UnitAttr):
        text += " = uninitialized"
    elif value is not None:
        # The type is that of the global.
        text += f" = {printer.attribute(value)}".removesuffix(f" : {printer.type(getattr(value, 'type', type_.type))}")
    shown = dict(operation.attributes)
    alignment = properties.get("alignment")
    if alignment is not None and printer.newer and isinstance(alignment, at.IntegerAttr):
        text += f" alignment = {alignment.value}"
    elif alignment is not None:
        shown["alignment"] = alignment
    return text + (f" {printer.dictionary(shown)}" if shown else "")


# --- transpose --------------------------------------------------------------------------------------------------------


def _parse_transpose(p: OpParser, at_: int, definition: OpDefinition) -> Operation:
    source = p.operand_token()
    read = AffineParser(p)
    read.read()
    permutation = at.AffineMapAttr(read.dimensions, read.symbols, tuple(read.results))
    attributes = p.optional_dictionary()
    p.expect(":")
    source_type = _memref_type(p, definition)
    p.keyword(definition, "to")
    type_ = _memref_type(p, definition)
    properties: dict[str, Attribute] = {"permutation": permutation}
    operands = [p.use(source, source_type)]
    return _made(p, at_, definition, operands, (type_,), (), properties, attributes)


def _print_transpose(printer: OpPrinter, operation: Operation) -> str:
    map_ = operation.properties["permutation"]
    (source,), (result,) = operation.operands, operation.results
    text = str(map_)[len("affine_map<") : -1]
    types = f"{printer.type(source.type)} to {printer.type(result.type)}"
    return f" {printer.name(source)} {text}{trailing_dictionary(printer, operation)} : {types}"


# --- hints and transfers ----------------------------------------------------------------------------------------------


def read_hint(p: OpParser, definition: OpDefinition, at_: int) -> dict[str, Attribute]:
    """Read ``read, locality<3>, data`` of an op that begins at ``at_``, and return its three properties."""

    def word(names: tuple[str, str], problem: str) -> Attribute:
        token = p.tokens[p.pos]
        p.pos += 1
        if token not in names:
            p.wrong(definition.name, problem, at_)
        return at.BoolAttr(token == names[0])

    write = word(("write", "read"), "rw specifier has to be 'read' or 'write'")
    p.expect(",")
    p.keyword(definition, "locality")
    p.expect("<")
    locality = p.attribute(ty.I32)
    p.expect(">")
    p.expect(",")
    data = word(("data", "instr"), "cache type has to be 'data' or 'instr'")
    return {"isDataCache": data, "isWrite": write, "localityHint": locality}


def spell_hint(op: Operation) -> str:
    """Return the text of what `read_hint` reads."""
    write, locality, data = (op.number(name) for name in ("isWrite", "localityHint", "isDataCache"))
    return f"{'write' if write else 'read'}, locality<{locality}>, {'data' if data else 'instr'}"


def _parse_prefetch(p: OpParser, at_: int, definition: OpDefinition) -> Operation:
    memref = p.operand_token()
    indices = _bracketed(p)
    p.expect(",")
    properties = read_hint(p, definition, at_)
    p.expect(":")
    type_ = _memref_type(p, definition)
    operands = [p.use(memref, type_), *(p.use(token, ty.INDEX) for token in indices)]
    return _made(p, at_, definition, operands, (), (), properties)


def _print_prefetch(printer: OpPrinter, operation: Operation) -> str:
    type_ = printer.type(operation.operands[0].type)
    place = _element(printer, operation.operands)
    return f" {place}, {spell_hint(operation)}{trailing_dictionary(printer, operation)} : {type_}"


def _parse_dma_start(p: OpParser, at_: int, definition: OpDefinition) -> Operation:
    places: list[tuple[int, list[int]]] = []
    count = 0
    for number in range(3):
        if number == 2:
            count = p.operand_token()
            p.expect(",")
        memref = p.operand_token()
        places.append((memref, _bracketed(p)))
        if number < 2:
            p.expect(",")
    strides = p.operand_tokens() if p.take(",") else []
    if strides and len(strides) != 2:
        p.wrong(definition.name, "expected two stride related operands", at_)
    p.expect(":")
    types = p.type_list()
    if len(types) != 3:
        p.wrong(definition.name, "fewer/more types expected", at_)
    operands: list[SSAValue] = []
    for number, ((memref, indices), type_) in enumerate(zip(places, types, strict=True)):
        if number == 2:
            operands.append(p.use(count, ty.INDEX))
        operands += [p.use(memref, type_), *(p.use(token, ty.INDEX) for token in indices)]
    operands += [p.use(token, ty.INDEX) for token in strides]
    return _made(p, at_, definition, operands, ())


def _print_dma_start(printer: OpPrinter, operation: Operation) -> str:
    operands = operation.operands
    texts: list[str] = []
    types: list[str] = []
    start = 0
    for number in range(3):
        if number == 2:
            texts.append(printer.name(operands[start]))
            start += 1
        end = start + 1 + len(ty.shape_of(operands[start].type) or ())
        texts.append(_element(printer, operands[start:end]))
        types.append(printer.type(operands[start].type))
        start = end
    texts += map(printer.name, operands[start:])
    return f" {', '.join(texts)}{trailing_dictionary(printer, operation)} : {', '.join(types)}"


ALLOCA_SCOPE = CustomForm(_parse_scope, _print_scope)
GLOBAL = CustomForm(_parse_global, _print_global)
TRANSPOSE = CustomForm(_parse_transpose, _print_transpose)
PREFETCH = CustomForm(_parse_prefetch, _print_prefetch)
DMA_START = CustomForm(_parse_dma_start, _print_dma_start)
