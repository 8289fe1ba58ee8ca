"""The rules of the memref ops, in MLIR's words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

from halfulp.interp.declare.declarations import Trait, Unprefixed
from halfulp.interp.declare.operands import operand_sizes
from halfulp.interp.declare.registry import is_upstream
from halfulp.interp.dialects.elementwise import ATOMIC_KIND, COMBINING, Groups, groups_of
from halfulp.interp.dialects.regions import flow
from halfulp.interp.dialects.slices import Written, static_numbers, verify_inside, verify_written, written
from halfulp.interp.ir import affine_expressions as affine
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.operations import Operation, Rule
from halfulp.interp.values.memref_layout import Strides, strides_and_offset

# --- layouts ----------------------------------------------------------------------------------------------------------
#
# Layouts of memref types: which types views of a type have.

Shape = tuple[int | None, ...]


def is_strided(type_: ty.Type) -> bool:
    """Tell whether a type is a ranked memref whose elements lie at a sum of strides."""
    return isinstance(type_, ty.MemRefType) and type_.shape is not None and strides_and_offset(type_) is not None


def is_identity(type_: ty.MemRefType) -> bool:
    """Tell whether the layout of a type is the identity map. Other layouts that place elements one after the other do
    not count, as in MLIR.
    """
    layout = type_.layout
    return layout is None or (isinstance(layout, at.StridedLayoutAttr) and (layout.strides, layout.offset) == ((1,), 0))


def with_layout(type_: ty.MemRefType, shape: Shape, strides: Shape, offset: int | None) -> ty.MemRefType:
    """Return a memref type of these strides, with the element type and memory space of ``type_``."""
    return ty.MemRefType(shape, type_.element, at.StridedLayoutAttr(strides, offset), type_.memory_space)


def without_layout(type_: ty.MemRefType, shape: Shape) -> ty.MemRefType:
    """Return a memref type without layout, with the element type and memory space of ``type_``."""
    return ty.MemRefType(shape, type_.element, None, type_.memory_space)


def same_place(one: ty.MemRefType, other: ty.MemRefType) -> bool:
    """Tell whether two memref types are equal if the ways in which their layouts are written do not matter."""
    return (one.shape, one.element, one.memory_space, strides_and_offset(one)) == (
        other.shape,
        other.element,
        other.memory_space,
        strides_and_offset(other),
    )


def canonical_type(type_: ty.MemRefType) -> ty.MemRefType:
    """Return a strided type with the layout with which memref.transpose compares it.

    If the elements are contiguous, the type has no layout; otherwise the layout is a map. Strides that are equal to the
    identity map are not changed.
    """
    known = strides_and_offset(type_)
    if known is None or is_identity(type_):
        return type_
    shape = type_.shape or ()
    if known == strides_and_offset(without_layout(type_, shape)) and None not in shape:
        return without_layout(type_, shape)
    map_ = type_.layout if isinstance(type_.layout, at.AffineMapAttr) else _map_of(*known)
    return ty.MemRefType(shape, type_.element, map_, type_.memory_space)


def _map_of(strides: Sequence[int | None], offset: int | None) -> at.AffineMapAttr:
    """Return strides as a map, with a symbol for each unknown number, first for the offset."""
    symbols = 0

    def number(known: int | None) -> affine.AffineExpr:
        nonlocal symbols
        if known is not None:
            return affine.AffineConstant(known)
        symbols += 1
        return affine.Symbol(symbols - 1)

    place = number(offset)
    for axis, stride in enumerate(strides):
        place = affine.add(place, affine.multiply(affine.Dimension(axis), number(stride)))
    return at.AffineMapAttr(len(strides), symbols, (place,))


def equivalent(one: ty.MemRefType, other: ty.MemRefType) -> bool:
    """Tell whether two canonical types are equal, apart from the order of the sums in their maps."""
    terms = []
    for type_ in (one, other):
        map_ = type_.layout
        terms.append(_terms(map_.results[0]) if isinstance(map_, at.AffineMapAttr) and map_.results else map_)
    alike = (one.shape, one.element, one.memory_space) == (other.shape, other.element, other.memory_space)
    return alike and terms[0] == terms[1]


def _terms(expr: affine.AffineExpr) -> dict[int | None, affine.AffineExpr]:
    """Return the factor of each dimension in a sum, and under None the sum of the terms without a dimension."""
    if isinstance(expr, affine.Dimension):
        return {expr.position: affine.AffineConstant(1)}
    if expr.symbolic or not isinstance(expr, affine.Binary):
        return {None: expr} if expr != affine.AffineConstant(0) else {}
    found = _terms(expr.lhs)
    if expr.operator == "*":
        return {axis: affine.multiply(factor, expr.rhs) for axis, factor in found.items()}
    for axis, factor in _terms(expr.rhs).items():
        found[axis] = affine.add(found[axis], factor) if axis in found else factor
    return found


def compatible_strides(one: Strides | None, other: Strides | None) -> bool:
    """Tell whether two memrefs may have equal strides and offsets: the numbers that are known in both must be equal."""
    if one is None or other is None:
        return one == other
    pairs = zip((*one[0], one[1]), (*other[0], other[1]), strict=True)
    return all(a is None or b is None or a == b for a, b in pairs)


def viewed_type(type_: ty.MemRefType, lists: Written) -> ty.MemRefType | None:
    """Return the type of the view that a memref.subview makes, before any dimension is dropped; None if the source is
    not strided. ``lists``: the offsets, sizes and strides.
    """
    known = strides_and_offset(type_)
    if known is None:
        return None
    strides, offset = known
    for start, stride in zip(lists.offsets, strides, strict=True):
        offset = affine.known_sum(offset, affine.known_product(start, stride))
    return with_layout(type_, lists.sizes, tuple(map(affine.known_product, lists.strides, strides)), offset)


def reduced_types(type_: ty.MemRefType, rank: int) -> Iterator[ty.MemRefType]:
    """Yield the types that remain if dimensions of size 1 are dropped until ``rank`` dimensions are left."""
    shape = type_.shape or ()
    layout = narrowed(type_.layout, at.StridedLayoutAttr)
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    for dropped in combinations(ones, len(shape) - rank):
        kept = [axis for axis in range(len(shape)) if axis not in dropped]
        yield with_layout(
            type_, tuple(shape[axis] for axis in kept), tuple(layout.strides[axis] for axis in kept), layout.offset
        )


def expanded_strides(strides: Sequence[int | None], shape: Sequence[int | None], groups: Groups) -> Shape:
    """Return the strides of an expanded shape: the last dimension of each group has the stride of the group."""
    found: list[int | None] = [1] * len(shape)
    for stride, group in zip(strides, groups, strict=True):
        for axis in reversed(group):
            found[axis] = stride
            stride = affine.known_product(stride, shape[axis])
    return tuple(found)


def expanded_type(type_: ty.MemRefType, shape: Shape, groups: Groups) -> ty.MemRefType | None:
    """Return the type of an expanded memref; None if the source is not strided."""
    known = strides_and_offset(type_)
    if known is None:
        return None
    if is_identity(type_):
        return without_layout(type_, shape)
    return with_layout(type_, shape, expanded_strides(known[0], shape, groups), known[1])


def collapsed_strides(
    strides: Sequence[int | None], shape: Sequence[int | None], groups: Groups
) -> tuple[int | None, ...] | None:
    """Return the strides of a collapsed shape; None if the dimensions of a group certainly do not lie one after the
    other.

    A group has the stride of its last dimension whose size is not 1.
    """
    found: list[int | None] = []
    for group in groups:
        last = next((axis for axis in reversed(group[1:]) if shape[axis] != 1), group[0])
        found.append(strides[last] if shape[last] is not None or last == group[0] else None)
    for stride, group in zip(found, groups, strict=True):
        for axis in reversed(group[1:]):
            stride = affine.known_product(stride, shape[axis])
            before = strides[axis - 1]
            if shape[axis - 1] != 1 and stride is not None and before is not None and stride != before:
                return None
    return tuple(found)


def collapsed_type(type_: ty.MemRefType, shape: Shape, groups: Groups) -> ty.MemRefType | None:
    """Return the type of a collapsed memref; None if it has none."""
    if is_identity(type_):
        return without_layout(type_, shape)
    known = strides_and_offset(type_)
    strides = None if known is None else collapsed_strides(known[0], type_.shape or (), groups)
    return None if known is None or strides is None else with_layout(type_, shape, strides, known[1])


# --- rules ------------------------------------------------------------------------------------------------------------

_ALLOCATION_SCOPES = {
    "affine.for", "affine.parallel", "func.func", "memref.alloca_scope", "scf.for", "scf.forall", "scf.parallel",
}  # fmt: skip


def _memref(type_: ty.Type) -> ty.MemRefType:
    assert isinstance(type_, ty.MemRefType)
    return type_


def _rank(op: Operation, which: int) -> int:
    return len(ty.shape_of(op.operands[which].type) or ())


# --- memory -----------------------------------------------------------------------------------------------------------


def _dynamic_sizes(type_: ty.MemRefType, given: int) -> str | None:
    wanted = (type_.shape or ()).count(None)
    return None if given == wanted else f"incorrect number of dynamic sizes, has {given}, expected {wanted}"


def verify_alloc(op: Operation) -> str | None:
    """Return what is wrong with the numbers of sizes and symbols of memref.alloc, or None."""
    type_ = _memref(op.results[0].type)
    assert op.definition is not None
    dynamic, symbols = operand_sizes(op, op.definition) or (0, 0)
    problem = _dynamic_sizes(type_, dynamic)
    wanted = _symbols_of(type_)
    if problem is None and symbols != wanted:
        return f"symbol operand count does not equal memref symbol count: expected {wanted}, got {symbols}"
    return problem


def _symbols_of(type_: ty.MemRefType) -> int:
    """Return the number of sizes that a layout leaves dynamic."""
    if isinstance(type_.layout, at.StridedLayoutAttr):
        return (type_.layout.offset, *type_.layout.strides).count(None)
    return type_.layout.symbols if isinstance(type_.layout, at.AffineMapAttr) else 0


def verify_alloca(op: Operation) -> str | None:
    """Return what is wrong with memref.alloca, or None. It must be inside an op at whose end the memory is freed."""
    problem = verify_alloc(op)
    around = op.parent_op
    while problem is None and (around is None or around.name not in _ALLOCATION_SCOPES):
        if around is None:
            return "requires an ancestor op with AutomaticAllocationScope trait"
        if around.definition is None and is_upstream(around.name):
            # What traits an op of another dialect has is not known.
            break
        around = around.parent_op
    return problem


def verify_realloc(op: Operation) -> str | None:
    """Return what is wrong with the types of memref.realloc, or None."""
    source, result = _memref(op.operands[0].type), _memref(op.results[0].type)
    for word, type_ in (("source", source), ("result", result)):
        if not is_identity(type_):
            return Unprefixed(f"unsupported layout for {word} memref type '{type_}'")
    between = f"specified for source memref type '{source}' and result memref type '{result}'"
    if source.memory_space != result.memory_space:
        return Unprefixed(f"different memory spaces {between}")
    if source.element != result.element:
        return Unprefixed(f"different element types {between}")
    if result.shape == (None,) and len(op.operands) == 1:
        return Unprefixed(f"missing dimension operand for result type '{result}'")
    if result.shape != (None,) and len(op.operands) == 2:
        return Unprefixed(f"unnecessary dimension operand for result type '{result}'")
    return None


def verify_global(op: Operation) -> str | None:
    """Return what is wrong with the type, the initial value or the place of a memref.global, or None."""
    parent = op.parent_op
    if parent is not None and parent.definition is not None and Trait.SYMBOL_TABLE not in parent.definition.traits:
        return "symbol's parent must have the SymbolTable trait"
    type_ = op.prop("type", at.TypeAttr).type
    if not isinstance(type_, ty.MemRefType) or type_.shape is None or None in type_.shape:
        return f"type should be static shaped memref, but got '{type_}'"
    value = op.properties.get("initial_value")
    if value is None or isinstance(value, at.UnitAttr):
        return None
    if not isinstance(value, at.DenseElementsAttr | at.DenseResourceAttr | at.SparseElementsAttr):
        return f"initial value should be a unit or elements attribute, but got {value}"
    held = value.type
    if ty.element_type(held) != type_.element:
        return f"initial value element expected to be of type '{type_.element}', but was of type '{held.element}'"
    if ty.shape_of(held) != type_.shape:
        wanted, given = (", ".join(map(str, shape)) for shape in (type_.shape, ty.shape_of(held) or ()))
        return f"initial value shape expected to be {wanted} but was {given}"
    return None


def verify_get_global(op: Operation, symbols: Mapping[str, Operation]) -> None:
    """Raise VerifyError unless memref.get_global names a global of its type."""
    name = op.properties.get("name")
    if not isinstance(name, at.SymbolRefAttr):
        return
    target = symbols.get(name.root)
    if target is None or target.name != "memref.global":
        raise op.rule_broken(f"'{name.root}' does not reference a valid global memref")
    type_ = target.properties.get("type")
    result = op.results[0].type
    if isinstance(type_, at.TypeAttr) and type_.type != result:
        raise op.rule_broken(
            f"result type '{result}' does not match type '{type_.type}' of the global memref @{name.root}"
        )


def verify_assume_alignment(op: Operation) -> str | None:
    """Return an error message unless the alignment is a power of two."""
    alignment = op.prop("alignment", at.IntegerAttr)
    return "alignment must be power of 2" if alignment.value & (alignment.value - 1) else None


def verify_distinct_objects(op: Operation) -> str | None:
    """Return an error message unless the results have the types of the operands."""
    if [value.type for value in op.operands] != [result.type for result in op.results]:
        return "operand types and result types must match"
    return None if op.operands else "expected at least one operand"


# --- elements ---------------------------------------------------------------------------------------------------------


def verify_indices(which: int, what: str) -> Rule:
    """Return a function that verifies the number of indices: one for each dimension of operand ``which``, after which
    they follow. ``what``: the beginning of the message.
    """

    def verify(op: Operation) -> str | None:
        rank, given = _rank(op, which), len(op.operands) - which - 1
        problem = f"{what}, expected {rank} but got {given}"
        return None if given == rank else problem

    return verify


def verify_prefetch(op: Operation) -> str | None:
    """Return what is wrong with the number of indices of memref.prefetch, or None."""
    return None if len(op.operands) - 1 == _rank(op, 0) else "too few indices"


def verify_atomic(op: Operation) -> str | None:
    """Return an error message unless memref.atomic_rmw has an index per dimension, and its kind fits the elements."""
    if len(op.operands) - 2 != _rank(op, 1):
        return "expects the number of subscripts to be equal to memref rank"
    name = ATOMIC_KIND.names[op.number("kind")]
    wanted = COMBINING[name].elements if name in COMBINING else ""
    if wanted == "f" and not isinstance(op.operands[0].type, ty.FloatType):
        return f"with kind '{name}' expects a floating-point type"
    if wanted == "i" and not isinstance(op.operands[0].type, ty.IntegerType):
        return f"with kind '{name}' expects an integer type"
    return None


_EFFECTS = ("memref.", "func.call", "cf.assert", "vector.store", "vector.print", "affine.store", "linalg.")
_NO_EFFECTS = frozenset(
    f"memref.{name}"
    for name in (
        "cast", "collapse_shape", "dim", "expand_shape", "extract_aligned_pointer_as_index",
        "extract_strided_metadata", "get_global", "memory_space_cast", "rank", "reinterpret_cast", "subview",
        "transpose", "view", "atomic_yield",
    )
)  # fmt: skip


def verify_generic_atomic(op: Operation) -> str | None:
    """Return what is wrong with the argument and the ops of the body of memref.generic_atomic_rmw, or None."""
    block = op.regions[0].blocks[0]
    if len(block.arguments) != 1:
        return "expected single number of entry block arguments"
    if block.arguments[0].type != op.results[0].type:
        return "expected block argument of the same type result type"
    for inner in block.operations:
        if inner.name.startswith(_EFFECTS) and inner.name not in _NO_EFFECTS:
            raise inner.rule_broken(
                Unprefixed("body of 'memref.generic_atomic_rmw' should contain only operations with no side effects")
            )
    return None


def verify_atomic_yield(op: Operation) -> str | None:
    """Return an error message unless memref.atomic_yield ends memref.generic_atomic_rmw, and gives its type."""
    parent = op.parent_op
    if parent is None or parent.name != "memref.generic_atomic_rmw":
        return "expects parent op 'memref.generic_atomic_rmw'"
    wanted, given = parent.results[0].type, op.operands[0].type
    return None if given == wanted else f"types mismatch between yield op: '{given}' and its parent: '{wanted}'"


# --- regions ----------------------------------------------------------------------------------------------------------


def verify_alloca_scope(op: Operation) -> str | None:
    """Return an error message unless the region has no arguments."""
    blocks = op.regions[0].blocks
    return "region should have no arguments" if any(block.arguments for block in blocks) else None


def verify_alloca_scope_regions(op: Operation) -> str | None:
    """Return an error message unless the region gives the results."""
    last = op.regions[0].blocks[0].operations[-1]
    passed, taken = [value.type for value in last.operands], [result.type for result in op.results]
    return flow([(f"Operation {last.name}", passed, "parent", taken)])


def verify_alloca_scope_return(op: Operation) -> str | None:
    """Return an error message unless memref.alloca_scope.return stands inside memref.alloca_scope."""
    parent = op.parent_op
    inside = parent is not None and parent.name == "memref.alloca_scope"
    return None if inside else "expects parent op 'memref.alloca_scope'"


# --- copies -----------------------------------------------------------------------------------------------------------


def verify_copy(op: Operation) -> str | None:
    """Return an error message unless source and target of memref.copy have the same elements and fitting shapes."""
    one, other = (_memref(value.type) for value in op.operands)
    if one.element != other.element:
        return "requires the same element type for all operands"
    fits = one.shape is None or other.shape is None or len(one.shape) == len(other.shape)
    for a, b in zip(one.shape or (), other.shape or (), strict=False):
        fits = fits and (a is None or b is None or a == b)
    return None if fits else "requires the same shape for all operands"


def verify_dma_start(op: Operation) -> str | None:
    """Return what is wrong with the operands of memref.dma_start, which are one list, or None."""
    operands = op.operands
    if len(operands) < 4:
        return "expected at least 4 operands"
    at_ = 0
    least = 4
    for word in ("source", "destination", "tag"):
        type_ = operands[at_].type
        if not isinstance(type_, ty.MemRefType) or type_.shape is None:
            return f"expected {word} to be of memref type"
        rank = len(type_.shape)
        least += rank
        if len(operands) < least:
            return f"expected at least {least} operands"
        indices = operands[at_ + 1 : at_ + 1 + rank]
        if rank and any(value.type != ty.INDEX for value in indices):
            return f"expected {word} indices to be of index type"
        at_ += 1 + rank
        if word == "destination":
            if operands[at_].type != ty.INDEX:
                return "expected num elements to be of index type"
            at_ += 1
    extra = len(operands) - at_
    if extra not in (0, 2):
        return "incorrect number of operands"
    if extra and any(value.type != ty.INDEX for value in operands[at_:]):
        return "expected stride and num elements per stride to be of type index"
    return None


def verify_dma_wait(op: Operation) -> str | None:
    """Return what is wrong with the number of indices of memref.dma_wait, or None."""
    rank, given = _rank(op, 0), len(op.operands) - 2
    problem = "expected tagIndices to have the same number of elements as the tagMemRef rank"
    return None if given == rank else f"{problem}, expected {rank}, but got {given}"


# --- views ------------------------------------------------------------------------------------------------------------


def are_cast_compatible(one: ty.Type, other: ty.Type) -> bool:
    """Tell whether memref.cast may convert one memref type to another."""
    one, other = _memref(one), _memref(other)
    if one.element != other.element or one.memory_space != other.memory_space:
        return False
    if one.shape is None or other.shape is None:
        return True  # MLIR 22 refuses it if neither is ranked: `text.changes`
    if len(one.shape) != len(other.shape):
        return False
    fits = all(a is None or b is None or a == b for a, b in zip(one.shape, other.shape, strict=True))
    return fits and compatible_strides(strides_and_offset(one), strides_and_offset(other))


def _differ_in_space_only(one: ty.Type, other: ty.Type) -> bool:
    one, other = _memref(one), _memref(other)
    return (one.shape, one.element, one.layout) == (other.shape, other.element, other.layout)


def _verify_cast(compatible: Callable[[ty.Type, ty.Type], bool]) -> Rule:
    def verify(op: Operation) -> str | None:
        one, other = op.operands[0].type, op.results[0].type
        if compatible(one, other):
            return None
        return f"operand type '{one}' and result type '{other}' are cast incompatible"

    return verify


verify_cast = _verify_cast(are_cast_compatible)
verify_space_cast = _verify_cast(_differ_in_space_only)


def verify_subview(op: Operation) -> str | None:
    """Return what is wrong with the lists of memref.subview or its result, or None."""
    source, result = _memref(op.operands[0].type), _memref(op.results[0].type)
    assert op.definition is not None
    rank = len(source.shape or ())
    given = operand_sizes(op, op.definition) or [1, 0, 0, 0]
    lists = written(op)
    problem = verify_written(lists, rank, given[1:])
    if problem:
        return problem
    if source.memory_space != result.memory_space:
        return Unprefixed(
            f"different memory spaces specified for base memref type '{source}' and subview memref type '{result}'"
        )
    expected = viewed_type(source, lists)
    if expected is None:
        return Unprefixed(f"base type '{source}' is not strided")
    return _verify_reduced(expected, result) or verify_inside(lists, source.shape or ())


def _verify_reduced(expected: ty.MemRefType, result: ty.MemRefType) -> str | None:
    """Say why a result is not the expected type; it may have fewer dimensions of size 1."""
    shape, wanted = result.shape or (), expected.shape or ()
    if len(shape) > len(wanted):
        return Unprefixed(f"expected result rank to be smaller or equal to the source rank, but got '{result}'")
    if result.element != expected.element:
        return Unprefixed(f"expected result element type to be '{expected.element}', but got '{result}'")
    fitting = [expected, *reduced_types(expected, len(shape))]
    if any(same_place(result, type_) for type_ in fitting):
        return None
    what = "layout" if any(type_.shape == shape for type_ in fitting) else "sizes"
    return Unprefixed(
        f"expected result type to be '{expected}' or a rank-reduced version. (mismatch of result {what}), but got "
        f"'{result}'"
    )


def verify_reinterpret_cast(op: Operation) -> str | None:
    """Return what is wrong with the lists of memref.reinterpret_cast, or None. The type of the result must agree with
    them.
    """
    source, result = _memref(op.operands[0].type), _memref(op.results[0].type)
    assert op.definition is not None
    lists = written(op)
    given = operand_sizes(op, op.definition) or [1, 0, 0, 0]
    problem = verify_written(lists, len(result.shape or ()), given[1:], one_offset=True)
    if problem:
        return problem
    between = f"specified for source type '{source}' and result memref type '{result}'"
    if source.memory_space != result.memory_space:
        return Unprefixed(f"different memory spaces {between}")
    if source.element != result.element:
        return Unprefixed(f"different element types {between}")
    known = strides_and_offset(result)
    for axis, (size, wanted) in enumerate(zip(result.shape or (), lists.sizes, strict=True)):
        if size is not None and size != wanted:
            return Unprefixed(_instead("size", wanted, size, axis))
    if known is None:
        return Unprefixed(f"expected result type to have strided layout but found '{result}'")
    if known[1] is not None and known[1] != lists.offsets[0]:
        return Unprefixed(_instead("offset", lists.offsets[0], known[1]))
    for axis, (stride, wanted) in enumerate(zip(known[0], lists.strides, strict=True)):
        if stride is not None and stride != wanted:
            return Unprefixed(_instead("stride", wanted, stride, axis))
    return None


def _instead(what: str, wanted: int | None, given: int, axis: int | None = None) -> str:
    where = "" if axis is None else f" in dim = {axis}"
    return f"expected result type with {what} = {'dynamic' if wanted is None else wanted} instead of {given}{where}"


def verify_view(op: Operation) -> str | None:
    """Return what is wrong with the types of memref.view, or None."""
    source, result = _memref(op.operands[0].type), _memref(op.results[0].type)
    for word, type_ in (("base", source), ("result", result)):
        if not is_identity(type_):
            return Unprefixed(f"unsupported map for {word} memref type '{type_}'")
    if source.memory_space != result.memory_space:
        return Unprefixed(
            f"different memory spaces specified for base memref type '{source}' and view memref type '{result}'"
        )
    return _dynamic_sizes(result, len(op.operands) - 2)


def verify_reshape(op: Operation) -> str | None:
    """Return what is wrong with the types of memref.reshape, or None."""
    source, shape, result = (_memref(value.type) for value in (*op.operands, *op.results))
    if source.element != result.element:
        return "element types of source and destination memref types should be the same"
    if source.shape is not None and not is_identity(source):
        return "source memref type should have identity affine map"
    if result.shape is None:
        return None
    if not is_identity(result):
        return "result memref type should have identity affine map"
    assert shape.shape is not None
    if shape.shape[0] is None:
        return "cannot use shape operand with dynamic length to reshape to statically-ranked memref type"
    if shape.shape[0] != len(result.shape):
        return "length of shape operand differs from the result's memref rank"
    return None


def verify_transpose(op: Operation) -> str | None:
    """Return an error message unless the map of memref.transpose is a permutation that gives the type of the result."""
    source, result = _memref(op.operands[0].type), _memref(op.results[0].type)
    axes = permutation_of(op.prop("permutation", at.AffineMapAttr))
    if axes is None:
        return "expected a permutation map"
    shape = source.shape or ()
    if len(axes) != len(shape):
        return "expected a permutation map of same rank as the input"
    known = strides_and_offset(source)
    if known is None:
        return f"base type '{source}' is not strided"
    strides, offset = known
    expected = with_layout(
        source, tuple([shape[axis] for axis in axes]), tuple([strides[axis] for axis in axes]), offset
    )
    canonical = canonical_type(expected)
    if equivalent(canonical, canonical_type(result)):
        return None
    return f"result type '{result}' is not equivalent to the canonical transposed input type '{canonical}'"


def permutation_of(map_: at.AffineMapAttr) -> tuple[int, ...] | None:
    """Return the dimensions that a map returns, each once; None for another map."""
    axes = tuple([result.position for result in map_.results if isinstance(result, affine.Dimension)])
    return axes if sorted(axes) == list(range(map_.dimensions)) and len(axes) == len(map_.results) else None


# --- groups of dimensions ---------------------------------------------------------------------------------------------


def _verify_groups(collapsed: Sequence[int | None], expanded: Sequence[int | None], groups: Groups) -> str | None:
    if len(collapsed) != len(groups):
        return f"invalid number of reassociation groups: found {len(groups)}, expected {len(collapsed)}"
    following = 0
    for number, group in enumerate(groups):
        dynamic, size = False, 1
        for axis in group:
            if axis != following:
                return "reassociation indices must be contiguous"
            following += 1
            if axis >= len(expanded):
                return f"reassociation index {axis} is out of bounds"
            each = expanded[axis]
            dynamic = dynamic or each is None
            size *= each or 0
        if (collapsed[number] is None) != dynamic:
            return f"collapsed dim ({number}) must be dynamic if and only if reassociation group is dynamic"
        if not dynamic and size != collapsed[number]:
            return f"collapsed dim size ({collapsed[number]}) must equal reassociation group size ({size})"
    if not collapsed and any(size != 1 for size in expanded):
        return "rank 0 memrefs can only be extended/collapsed with/from ones"
    if collapsed and following != len(expanded):
        return f"expanded rank ({len(expanded)}) inconsistent with number of reassociation indices ({following})"
    return None


def verify_expand(op: Operation) -> str | None:
    """Return what is wrong with the groups of memref.expand_shape, its result and the output shape, or None."""
    source, result, groups = _memref(op.operands[0].type), _memref(op.results[0].type), groups_of(op)
    shape, target = source.shape or (), result.shape or ()
    if len(shape) > len(target):
        ranks = f"has source rank {len(shape)} and result rank {len(target)}"
        return f"{ranks}. This is not an expansion ({len(shape)} > {len(target)})."
    problem = _verify_groups(shape, target, groups)
    if problem:
        return problem
    expected = expanded_type(source, target, groups)
    if expected is None:
        return "invalid source layout map"
    if expected != result:
        return f"expected expanded type to be '{expected}' but found '{result}'"
    sizes, given = static_numbers(op, "output_shape"), len(op.operands) - 1
    if len(sizes) != len(target):
        return (
            f"expected number of static shape bounds to be equal to the output rank ({len(target)}) but found "
            f"{len(sizes)} inputs instead"
        )
    if given != sizes.count(None):
        return (
            "mismatch in dynamic dims in output_shape and static_output_shape: static_output_shape has "
            f"{sizes.count(None)} dynamic dims while output_shape has {given} values"
        )
    problem = _dynamic_sizes(result, given)
    for axis, (size, wanted) in enumerate(zip(target, sizes, strict=True)):
        if problem is None and size is not None and size != wanted:
            return f"invalid output shape provided at pos {axis}"
    return problem


def verify_collapse(op: Operation) -> str | None:
    """Return what is wrong with the groups of memref.collapse_shape or its result, or None."""
    source, result, groups = _memref(op.operands[0].type), _memref(op.results[0].type), groups_of(op)
    shape, target = source.shape or (), result.shape or ()
    if len(shape) < len(target):
        ranks = f"has source rank {len(shape)} and result rank {len(target)}"
        return f"{ranks}. This is not a collapse ({len(shape)} < {len(target)})."
    problem = _verify_groups(target, shape, groups)
    if problem:
        return problem
    expected = collapsed_type(source, target, groups)
    if expected is None:
        return "invalid source layout map or collapsing non-contiguous dims"
    if expected != result:
        return f"expected collapsed type to be '{expected}' but found '{result}'"
    return None


# --- metadata ---------------------------------------------------------------------------------------------------------


def verify_metadata(op: Operation) -> str | None:
    """Return an error message unless the results of memref.extract_strided_metadata fit its operand."""
    source = _memref(op.operands[0].type)
    rank = len(source.shape or ())
    expected = [without_layout(source, ()), *[ty.INDEX] * (1 + 2 * rank)]
    given = [result.type for result in op.results]
    if given == expected:
        return None
    wanted, found = (", ".join(f"'{type_}'" for type_ in types) for types in (expected, given))
    return f"inferred type(s) {wanted} are incompatible with return type(s) of operation {found}"
