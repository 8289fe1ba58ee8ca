"""The rules of `iree_codegen.inner_tiled`: its types, maps and tiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from halfulp.interp.declare.declarations import CustomForm, OpDefinition, TypeRule
from halfulp.interp.declare.operands import SEGMENTS, move_inherent
from halfulp.interp.dialects import iree_gpu
from halfulp.interp.dialects.linalg.declaring import ITERATOR_TYPE
from halfulp.interp.dialects.regions import trailing_dictionary
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.attributes import DenseArrayAttr
from halfulp.interp.ir.base import Attribute, Type, narrowed
from halfulp.interp.ir.dialect_attributes import DialectAttr, EnumAttr
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.ir.types import I32, INDEX, MemRefType
from halfulp.interp.text.op_parser import OpParser, OpPrinter, print_mixed, read_mixed
from halfulp.semantics.matrix_units.kinds import TileKind


def results_of(outputs: Sequence[Type]) -> tuple[Type, ...]:
    """Return the types of the results. A memref has none, since memory is updated in place."""
    return tuple(type_ for type_ in outputs if not isinstance(type_, MemRefType))


def operand_elements(kind: DialectAttr, row: TileKind) -> tuple[ty.Type, ...]:
    """Return the element type of each operand, in the order of `TileKind.operand_shapes`."""
    if row.block is None:
        return tuple(map(_scalar, row.types))
    scale = ty.F("f8E8M0FNU")
    return kind["lhs_elem_type"], kind["rhs_elem_type"], scale, scale, kind["acc_elem_type"]


def _scalar(name: str) -> ty.Type:
    return ty.IntegerType(int(name[1:])) if name[0] == "i" else ty.F(name)


def expected_tiles(kind: at.Attribute, semantics: at.Attribute) -> tuple[ty.VectorType, ...] | None:
    """Return the tile type of each operand of an inner_tiled, before its permutation; None if it is not known.
    ``semantics``: the attribute that says whether the tiles are those of one lane.
    """
    row = iree_gpu.kind_of(kind)
    if row is None or not isinstance(kind, DialectAttr) or not isinstance(semantics, DialectAttr):
        return None
    shapes = row.lane_shapes if semantics["distributed"] else row.operand_shapes
    if shapes is None:
        return None
    elements = operand_elements(kind, row)
    return tuple(ty.VectorType(shape, element) for shape, element in zip(shapes, elements, strict=True))


def _input_count(kind: DialectAttr) -> int:
    return 4 if kind.definition in (iree_gpu.SCALED_MMA_LAYOUT, iree_gpu.DATA_TILED_SCALED_MMA_LAYOUT) else 2


def verify_tiled(op: Operation) -> str | None:
    """Return what is wrong with the maps and tiles of an inner_tiled, or None."""
    return next(_problems_of_tiled(op), None)


def _problems_of_tiled(op: Operation) -> Iterator[str]:
    kind, semantics = op.properties["kind"], op.properties["semantics"]
    segments = op.properties["operandSegmentSizes"]
    maps, iterators = op.prop("indexing_maps", at.ArrayAttr), op.prop("iterator_types", at.ArrayAttr)
    assert isinstance(kind, DialectAttr)
    assert isinstance(semantics, DialectAttr)
    assert isinstance(segments, at.DenseArrayAttr)
    types = [value.type for value in op.operands]
    for what, given, expected in zip(("inputs", "outputs"), segments.values, (_input_count(kind), 1), strict=True):
        if given != expected:
            yield f"number of {what} ({given}) doesn't match expected number from kind ({expected})"
    if kind.definition.dialect != semantics.definition.dialect:
        yield (
            f"kind attribute (dialect '{kind.definition.dialect}') and semantics attribute (dialect "
            f"'{semantics.definition.dialect}') must use the same dialect namespace"
        )
    if len(maps.elements) != len(types):
        yield "expected an indexing map for each operand"
    affine = [map for map in maps.elements if isinstance(map, at.AffineMapAttr)]
    shapes = [ty.shape_of(type_) or () for type_ in types]
    yield from _problems_of_maps(affine, shapes, len(iterators.elements))
    inner = [shape[len(map.results) :] for map, shape in zip(affine, shapes, strict=True)]
    permutations = op.properties.get("permutations")
    if isinstance(permutations, at.ArrayAttr):
        yield from _problems_of_permutations(permutations, types, inner)
    yield from _problems_of_tiles(op, inner)


def _problems_of_maps(
    maps: list[at.AffineMapAttr], shapes: list[tuple[int | None, ...]], iterators: int
) -> Iterator[str]:
    for number, (map, shape) in enumerate(zip(maps, shapes, strict=True)):
        if map.symbols:
            yield f"expected indexing map {number} to have no symbols"
        if map.dimensions != iterators:
            yield f"expected indexing map {number} to have {iterators} input dims"
        if len(map.results) >= len(shape):
            yield f"expected indexing map {number} to have fewer than {len(shape)} results"
        if not all(isinstance(result, Dimension) for result in map.results) or len(set(map.results)) < len(map.results):
            yield f"expected indexing map {number} to be a projected permutation"
    used = [[result.position for result in map.results if isinstance(result, Dimension)] for map in maps]
    if not _is_contraction(used, iterators):
        yield "failed to verify indexing maps"
    bounds: dict[int, int | None] = {}
    for dims, shape in zip(used, shapes, strict=True):
        for dim, size in zip(dims, shape, strict=False):
            if bounds.setdefault(dim, size) != size:
                yield "shape does not match iteration bounds"


def _is_contraction(used: list[list[int]], iterators: int) -> bool:
    """Tell whether every loop is used, and the scales have no loop that the operand that they scale lacks."""
    lhs, rhs, acc = set(used[0]), set(used[1]), set(used[-1])
    if lhs | rhs | acc != set(range(iterators)):
        return False
    return len(used) == 3 or (set(used[2]) <= lhs and set(used[3]) <= rhs)


def _problems_of_permutations(
    permutations: at.ArrayAttr, types: list[ty.Type], inner: list[tuple[int | None, ...]]
) -> Iterator[str]:
    if len(permutations.elements) != len(types):
        yield (
            f"mismatch between the number of permutations ({len(permutations.elements)}) and the number of operands "
            f"({len(types)})"
        )
    for number, (permutation, type_, tile) in enumerate(zip(permutations.elements, types, inner, strict=True)):
        assert isinstance(permutation, at.DenseArrayAttr)
        if len(permutation.codes) != len(tile):
            yield (
                f"permutation #{number} length {len(permutation.codes)} does not match the inner rank {len(tile)} of "
                f"the corresponding operand of type {type_}"
            )
        if sorted(permutation.values) != list(range(len(tile))):
            yield f"permutation #{number} is not a permutation vector"


def _problems_of_tiles(op: Operation, inner: list[tuple[int | None, ...]]) -> Iterator[str]:
    """Yield a message for each operand whose inner tile is not the one of kind and semantics after its permutation."""
    kind, semantics = op.properties["kind"], op.properties["semantics"]
    expected = expected_tiles(kind, semantics)
    if expected is None:
        return
    assert isinstance(semantics, DialectAttr)
    opaque = semantics["opaque"]
    permutations = op.properties.get("permutations")
    for number, (value, tile, wanted) in enumerate(zip(op.operands, inner, expected, strict=True)):
        shape = wanted.shape
        if isinstance(permutations, at.ArrayAttr) and not opaque:
            permutation = narrowed(permutations.elements[number], at.DenseArrayAttr)
            if len(permutation.codes) == len(shape):
                shape = tuple(shape[axis] for axis in permutation.values)
        element = ty.element_type(value.type)
        if element == wanted.element and _fits(tile, shape, opaque):
            continue
        yield (
            f"operand #{number} inner tile '{ty.TensorType(tile, element)}' is incompatible with expected MMA tile "
            f"type '{ty.VectorType(shape, wanted.element)}'"
        )


def _fits(tile: tuple[int | None, ...], shape: tuple[int, ...], opaque: bool) -> bool:
    if opaque:
        return None not in tile and prod(size or 0 for size in tile) == prod(shape)
    return [size for size in tile if size != 1] == [size for size in shape if size != 1]


def _solve_results(types: dict[str, Any], properties: Mapping[str, at.Attribute]) -> None:
    if "outputs" in types:
        types.setdefault("results", results_of(types["outputs"]))


TYPES_OF_OUTPUTS = TypeRule(
    "results must have the types of the outputs",
    _solve_results,
    lambda types, properties: bool(types["results"] == results_of(types["outputs"])),
)


def one_tile(properties: dict[str, at.Attribute], count: int) -> tuple[ty.Type, ...]:
    """Add the properties that an inner_tiled may omit to ``properties``, and return the element types of its ``count``
    operands.

    By default there is one output, the tile is not distributed, and its layout is not opaque. Without maps there are no
    loops. Without iterator types, the loops of the last map are parallel and the others are reductions.
    """
    kind = properties.get("kind")
    properties.setdefault("operandSegmentSizes", at.DenseArrayAttr(ty.I32, (max(0, count - 1), min(1, count))))
    row = None if kind is None else iree_gpu.kind_of(kind)
    if row is not None:
        properties.setdefault("semantics", DialectAttr(iree_gpu.MMA_SEMANTICS, (False, False)))
    if "iterator_types" not in properties:
        properties.setdefault("indexing_maps", at.ArrayAttr((at.AffineMapAttr(0, 0, ()),) * count))
    maps = properties.get("indexing_maps")
    last = maps.elements[-1] if isinstance(maps, at.ArrayAttr) and maps.elements else None
    words: list[str] = []
    if isinstance(last, at.AffineMapAttr):
        kept = {result.position for result in last.results if isinstance(result, Dimension)}
        words = ["parallel" if loop in kept else "reduction" for loop in range(last.dimensions)]
    iterators = [EnumAttr(ITERATOR_TYPE, ITERATOR_TYPE.cases[word]) for word in words]
    properties.setdefault("iterator_types", at.ArrayAttr(tuple(iterators)))
    return operand_elements(kind, row) if row is not None and isinstance(kind, DialectAttr) else ()


# --- forms ------------------------------------------------------------------------------------------------------------
#
# Custom forms that IREE writes by hand.
#
# IREE 3.13 writes properties in ``<…>`` and discardable attributes in ``{…}``. Older releases, and the dialect's
# document, write all in ``{…}``. Both forms are read; the first is printed.


# --- iree_codegen.inner_tiled -----------------------------------------------------------------------------------------


def _parse_inner_tiled(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    """Read ``ins(%a, %b) outs(%c) <properties> {attributes} : types into types``."""
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
        values += p.uses(definition.name, tokens, known, tokens[0] if tokens else None)
    # IREE takes them from the dictionary if they are a dense array, and removes them there in any case.
    segments = properties.get(SEGMENTS)
    if not isinstance(segments, DenseArrayAttr) or len(segments.values) != len(groups):
        properties[SEGMENTS] = DenseArrayAttr(I32, tuple(map(len, groups)))
    results = results_of(types[1])
    return p.placed(Operation(definition.name, definition, values, results, properties, attributes), at)


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
    """Print what `_parse_inner_tiled` reads."""
    properties = operation.properties
    segments = narrowed(properties[SEGMENTS], DenseArrayAttr)
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
    extra = trailing_dictionary(printer, operation)
    return f" ins({ins}) outs({outs}) <{written}>{extra} : {inputs} into {outputs}"


INNER_TILED = CustomForm(_parse_inner_tiled, _print_inner_tiled)

# --- iree_codegen.workgroup_count_hint --------------------------------------------------------------------------------


def _parse_count_hint(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    """Read ``(%a, 4)``; the document's examples have the word ``sizes`` before it."""
    p.take("sizes")
    names, sizes = read_mixed(p, "()", f"custom op '{definition.name}' expected integer value")
    values = [p.use(name, INDEX) for name in names]
    properties: dict[str, Attribute] = {"static_sizes": sizes}
    attributes = p.optional_dictionary()
    move_inherent(definition, properties, attributes)
    return p.placed(Operation(definition.name, definition, values, (), properties, attributes), at)


def _print_count_hint(printer: OpPrinter, operation: Operation) -> str:
    """Print what `_parse_count_hint` reads, without ``sizes``."""
    sizes = operation.prop("static_sizes", DenseArrayAttr)
    return f"{print_mixed(printer, sizes, operation.operands, '()')}{trailing_dictionary(printer, operation)}"


COUNT_HINT = CustomForm(_parse_count_hint, _print_count_hint)
