"""The dialect stablehlo: its types and its constraints on types.

The words are those of StableHLO's own verifier (`dialect/Base.td`, `Base.cpp`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare import parameters as kinds
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.elementwise import sizes_agree
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import immutable
from halfulp.interp.ir.dialect_attributes import AttributeDefinition, DialectAttr, Parameter, ParameterForm
from halfulp.interp.ir.operations import Operation

stablehlo = d.Dialect(
    "stablehlo",
    no_type="unknown stablehlo type: {mnemonic}",
    no_attribute="unknown StableHLO attribute",
)

# --- elements ---------------------------------------------------------------------------------------------------------


class Kind(Enum):
    """The classes of elements. An op has a meaning for each class that its declaration allows."""

    BOOLEAN = "boolean"
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "float"
    COMPLEX = "complex"
    QUANTIZED = "quantized"
    QUANTIZED_BY_AXIS = "quantized by axis"
    QUANTIZED_BY_BLOCK = "quantized by block"


_INTEGER_WIDTHS = (2, 4, 8, 16, 32, 64)
_STORAGE_WIDTHS = (2, 4, 8, 16, 32)
_FLOATS = frozenset(
    (
        "f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3FN", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E5M2",
        "f8E5M2FNUZ", "f8E8M0FNU", "bf16", "f16", "f32", "f64",
    )
)  # fmt: skip


def kind_of(element: ty.Type) -> Kind | None:
    """Return the class of an element type; None for one that StableHLO does not have."""
    if isinstance(element, ty.IntegerType):
        if element == ty.I1:
            return Kind.BOOLEAN
        if element.width not in _INTEGER_WIDTHS or element.signedness == "signed":
            return None
        return Kind.UNSIGNED if element.signedness == "unsigned" else Kind.SIGNED
    if isinstance(element, ty.FloatType):
        return Kind.FLOAT if element.format.name in _FLOATS else None
    if isinstance(element, ty.ComplexType):
        return Kind.COMPLEX if element.element in (ty.F("f32"), ty.F("f64")) else None
    if isinstance(element, ty.UniformQuantizedType):
        stored = element.storage is None and element.storage_width in _STORAGE_WIDTHS
        known = stored and element.storage_type_sign != "signed"
        if not known or not all(element.storage_min <= zero <= element.storage_max for zero in element.zero_points):
            return None
        if element.block_sizes is not None:
            return Kind.QUANTIZED_BY_BLOCK
        return Kind.QUANTIZED if element.axis is None else Kind.QUANTIZED_BY_AXIS
    return None


_WORDS = {
    "B": ("bool", {Kind.BOOLEAN}),
    "S": ("2/4/8/16/32/64-bit signless integer", {Kind.SIGNED}),
    "I": ("2/4/8/16/32/64-bit integer", {Kind.SIGNED, Kind.UNSIGNED}),
    "F": ("4/6/8/16/32/64-bit float", {Kind.FLOAT}),
    "f": ("32/64-bit float", {Kind.FLOAT}),
    "C": ("complex type with 32/64-bit float elements", {Kind.COMPLEX}),
    "Q": ("per-tensor integer quantized", {Kind.QUANTIZED}),
    "X": ("per-axis integer quantized", {Kind.QUANTIZED_BY_AXIS}),
    "N": ("index", set[Kind]()),
}
"""The letters for classes of elements, with the words of StableHLO and the classes."""


# --- bounds -----------------------------------------------------------------------------------------------------------
#
# A dimension that is not known may have a bound, in the encoding of a tensor: ``#stablehlo.bounds<3, ?>``.

Sizes = tuple[int | None, ...]


def _read_bounds(p: Any) -> tuple[Any, ...]:
    """Read ``<3, ?>``, or ``<bounds = [3, ?]>``, which is the same attribute under its name ``type_extensions``."""
    p.expect("<")
    wrapped = p.take("bounds")
    if wrapped:
        p.expect("=")
        p.expect("[")
    sizes = tuple(p.until("]" if wrapped else ">", lambda: None if p.take("?") else p.integer()))
    if wrapped:
        p.expect(">")
    return (sizes,)


def spelled_sizes(sizes: Sequence[int | None]) -> str:
    """Return the text of sizes as StableHLO's messages have them: ``2, ?``."""
    return ", ".join("?" if size is None else str(size) for size in sizes)


def _verify_bounds(bounds: DialectAttr, type_: ty.TensorType) -> str | None:
    sizes, shape, plain = bounds["bounds"], type_.shape or (), ty.TensorType(type_.shape, type_.element)
    if len(sizes) != len(shape):
        return f"Bounds length is {len(sizes)}, expected to be equal to rank({len(shape)}) of the tensor '{plain}'"
    for axis, (bound, size) in enumerate(zip(sizes, shape, strict=True)):
        if bound is not None and size is not None:
            return (
                f"Static dimension {axis} cannot have a bound, use ShapedType::kDynamic to indicate a missing bound in "
                f"tensor '{plain}'"
            )
    return None


_BOUNDS = AttributeDefinition(
    name="stablehlo.bounds",
    form=ParameterForm(_read_bounds, lambda value, names: f"<{spelled_sizes(value['bounds'])}>"),
    parameters=(Parameter("bounds", kinds.INTEGER_ARRAY, encoded="sizes"),),
    code=13,
    verify_encoding=_verify_bounds,
)
stablehlo.attributes["bounds"] = stablehlo.attributes["type_extensions"] = _BOUNDS


def bounds_of(type_: ty.Type) -> Sizes:
    """Return the bounds of the dimensions of a tensor; () if the type has none."""
    encoding = type_.encoding if isinstance(type_, ty.TensorType) else None
    if isinstance(encoding, DialectAttr) and encoding.definition is _BOUNDS:
        found: Sizes = encoding["bounds"]
        return found
    return ()


def tensor(sizes: Sequence[int | None], element: ty.Type, bounds: Sequence[int | None] = ()) -> ty.TensorType:
    """Return the type of a tensor. ``bounds``: the bounds of its dimensions; if all are None, the type has
    no bounds.
    """
    known = any(bound is not None for bound in bounds)
    return ty.TensorType(tuple(sizes), element, DialectAttr(_BOUNDS, (tuple(bounds),)) if known else None)


def _is_static_or_bounded(type_: ty.TensorType) -> bool:
    unknown = (type_.shape or ()).count(None)
    bounds = bounds_of(type_)
    return not unknown or (unknown == 1 and len(bounds) - bounds.count(None) == 1)


# --- constraints ------------------------------------------------------------------------------------------------------


def _rank(type_: ty.TensorType) -> int:
    return -1 if type_.shape is None else len(type_.shape)


def _is_static(type_: ty.TensorType) -> bool:
    return type_.shape is not None and None not in type_.shape


_SHAPES: Mapping[str, Callable[[ty.TensorType], bool]] = {
    "": lambda type_: True,
    "ranked": lambda type_: type_.shape is not None,
    "0D": lambda type_: type_.shape == (),
    "1D": lambda type_: _rank(type_) == 1,
    "statically shaped": _is_static,
    "statically shaped 1-dimensional": lambda type_: _is_static(type_) and _rank(type_) == 1,
    "statically shaped 1-dimensional integer": lambda type_: _is_static(type_) and _rank(type_) == 1,
    "statically shaped 2-dimensional integer": lambda type_: _is_static(type_) and _rank(type_) == 2,
    "statically shaped or single bounded dimension": lambda type_: (
        type_.shape is not None and _is_static_or_bounded(type_)
    ),
}
"""StableHLO's words for tensors of some shapes, and the condition."""


def _elements_accept(letters: str) -> Callable[[ty.Type], bool]:
    allowed = {kind for letter in letters for kind in _WORDS[letter][1]}
    wide = {ty.F("f32"), ty.F("f64")} if "f" in letters else None

    def accepts(element: ty.Type) -> bool:
        if isinstance(element, ty.IndexType):
            return "N" in letters
        return kind_of(element) in allowed and (wide is None or element in wide)

    return accepts


def _words_of(letters: str) -> str:
    return " or ".join(_WORDS[letter][0] for letter in letters)


SUB_CHANNEL = "halfulp.sub_channel"
"""The attribute of a module in which elementwise ops accept tensors that are quantised in blocks."""


def _in_blocks(type_: ty.Type) -> bool:
    return (
        isinstance(type_, ty.TensorType)
        and kind_of(type_.element) is Kind.QUANTIZED_BY_BLOCK
        and _is_static(type_)
        and ty.check_quantized_container(type_.element, type_.shape) is None
    )


_BLOCKS = d.Extension(
    SUB_CHANNEL,
    _in_blocks,
    "StableHLO has no sub-channel quantization. Elementwise ops, constants and casts accept it here if the module asks "
    f"for it: module attributes {{{SUB_CHANNEL}}} {{ ... }}",
)


def elementwise_tensor_of(letters: str, shaped: str = "ranked") -> d.TypeConstraint:
    """Return the constraint as `tensor_of` does, for an op that may have elements quantised in blocks if its module
    asks for them.
    """
    extended = "Q" in letters
    return replace(tensor_of(letters, shaped), extension=_BLOCKS) if extended else tensor_of(letters, shaped)


def tensor_of(letters: str, shaped: str = "ranked") -> d.TypeConstraint:
    """Return the constraint for tensors whose elements are of these classes, which the message lists in this order.
    ``shaped``: StableHLO's words for the shapes.
    """
    accepts_element, accepts_shape = _elements_accept(letters), _SHAPES[shaped]

    def accepts(type_: ty.Type) -> bool:
        if not isinstance(type_, ty.TensorType) or not accepts_shape(type_) or not accepts_element(type_.element):
            return False
        element = type_.element
        by_axis = isinstance(element, ty.UniformQuantizedType) and element.axis is not None
        return not by_axis or ty.check_quantized_container(element, type_.shape) is None

    words = f"{shaped} tensor of {_words_of(letters)} values".strip()
    return d.TypeConstraint(words, accepts, d.RANKED_TENSOR.kind if shaped else d.TENSOR.kind)


def any_of(*constraints: d.TypeConstraint) -> d.TypeConstraint:
    """Return the constraint for a type that one of several constraints accepts."""
    return d.TypeConstraint(
        " or ".join(each.description for each in constraints),
        lambda type_: any(each.accepts(type_) for each in constraints),
    )


def _tuple_of(*constraints: d.TypeConstraint) -> d.TypeConstraint:
    """Return the constraint for tuples of types that one of several constraints accepts, and of such tuples."""
    leaf = any_of(*constraints)

    def accepts(type_: ty.Type) -> bool:
        open_: list[ty.Type] = [type_]
        if not isinstance(type_, ty.TupleType):
            return False
        while open_:
            each = open_.pop()
            if isinstance(each, ty.TupleType):
                open_.extend(each.elements)
            elif not leaf.accepts(each):
                return False
        return True

    return d.TypeConstraint(f"nested tuple with any combination of {leaf.description} values", accepts)


@immutable
class FutureType(ty.DialectType):
    """The type ``!stablehlo.future<types>``: the results of an op that was started and may not have ended."""

    types: tuple[ty.Type, ...]

    @property
    def parts(self) -> tuple[ty.Type, ...]:
        """The types of the values."""
        return self.types

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``!stablehlo.future<…>``."""
        return f"!stablehlo.future<{', '.join(names.get(each) or each.spell(names) for each in self.types)}>"


def future_of(types: Sequence[ty.Type]) -> FutureType:
    """Return the type ``!stablehlo.future<…>`` of values of these types."""
    return FutureType("stablehlo", "future", tuple(types))


def _read_future(p: Any) -> ty.Type:
    start = p.pos
    p.expect("<")
    types = p.type_list()
    p.expect(">")
    for each in types:
        if not isinstance(each, ty.TensorType) or each.shape is None:
            p.error(f"future element type must be a ranked tensor, but got '{each}'", start)
    return future_of(types)


TOKEN = ty.DialectType("stablehlo", "token")
stablehlo.types["token"] = lambda p: TOKEN
stablehlo.types["future"] = _read_future

ANY_TENSOR = tensor_of("FBICQX")
PLAIN_TENSOR = tensor_of("FBICQ")
INTEGER_TENSOR = tensor_of("I")
TENSOR_BY_AXIS = tensor_of("X")
SHAPE = tensor_of("NI", "statically shaped 1-dimensional")
A_TOKEN = d.TypeConstraint("token", lambda type_: type_ == TOKEN, builds=TOKEN)
A_FUTURE = d.TypeConstraint("future", lambda type_: isinstance(type_, FutureType))
A_BUFFER = d.TypeConstraint(
    f"memref of {_words_of('FBICQ')} values",
    lambda type_: isinstance(type_, ty.MemRefType) and _elements_accept("FBICQ")(type_.element),
)
A_TUPLE = _tuple_of(PLAIN_TENSOR, A_BUFFER, TENSOR_BY_AXIS, A_TOKEN)
TENSOR_OR_TOKEN = any_of(PLAIN_TENSOR, A_TOKEN)
VALUE_OR_TOKEN = any_of(PLAIN_TENSOR, TENSOR_BY_AXIS, A_TOKEN)
VALUE_OR_BUFFER = any_of(VALUE_OR_TOKEN, A_BUFFER)
VALUE_OR_TUPLE = any_of(VALUE_OR_TOKEN, A_TUPLE)
ANY_VALUE = any_of(VALUE_OR_TUPLE, A_BUFFER)
FED = any_of(tensor_of("FBICQ", "statically shaped"), tensor_of("FBICQX", "statically shaped"), A_TOKEN)
_CALLED = tensor_of("FBICQX", "")
CALLED = any_of(_CALLED, A_BUFFER, A_TOKEN, _tuple_of(_CALLED, A_BUFFER, A_TOKEN), A_FUTURE)


def _tensor_of_exactly(element: ty.Type, words: str) -> d.TypeConstraint:
    return d.TypeConstraint(
        f"ranked tensor of {words} values",
        lambda type_: isinstance(type_, ty.TensorType) and type_.shape is not None and type_.element == element,
        d.RANKED_TENSOR.kind,
    )


I32_TENSOR = _tensor_of_exactly(ty.I32, "32-bit signless integer")
UI32_TENSOR = _tensor_of_exactly(ty.IntegerType(32, "unsigned"), "32-bit unsigned integer")

# --- types that go together -------------------------------------------------------------------------------------------


def shapes_fit(one: ty.Type, other: ty.Type) -> bool:
    """Tell whether two tensors may have the same shape at run time."""
    return sizes_agree(ty.shape_of(one), ty.shape_of(other))


def sizes_fit(one: int | None, other: int | None) -> bool:
    """Tell whether two dimensions may have the same size at run time. None: a size that is not known."""
    return one is None or other is None or one == other


def _within(type_: ty.Type, bounds: Sizes) -> bool:
    """Tell whether the known sizes of a tensor are within the bounds of another one."""
    sizes = ty.shape_of(type_) or ()
    return all(
        size is None or bound is None or size <= bound
        for size, bound in zip(sizes, bounds or (None,) * len(sizes), strict=True)
    )


def elements_fit(one: ty.Type, other: ty.Type) -> bool:
    """Tell whether two element types are the same, or are quantised types with the same storage and expressed types."""
    if isinstance(one, ty.UniformQuantizedType) and isinstance(other, ty.UniformQuantizedType):
        first, second = (
            (ty.storage_type(t), t.storage_signed, t.storage_min, t.storage_max, t.expressed, t.axis is None)
            for t in (one, other)
        )
        return first == second
    return one == other


def types_fit(one: ty.Type, other: ty.Type) -> bool:
    """Tell whether two types are compatible: the same elements, and shapes that may be the same at run time."""
    if not isinstance(one, ty.ShapedType) or not isinstance(other, ty.ShapedType):
        return elements_fit(ty.element_type(one), ty.element_type(other))
    if not shapes_fit(one, other) or not elements_fit(one.element, other.element):
        return False
    return _within(one, bounds_of(other)) and _within(other, bounds_of(one))


def all_fit(some: Sequence[ty.Type], others: Sequence[ty.Type]) -> bool:
    """Tell whether two lists of types have the same length, and the types are compatible in pairs."""
    return len(some) == len(others) and all(map(types_fit, some, others))


def listed(types: Sequence[ty.Type]) -> str:
    """Return the text of types as messages have them: each in quotes."""
    return ", ".join(f"'{type_}'" for type_ in types)


def shown_sizes(type_: ty.Type) -> tuple[int, ...]:
    """Return the sizes of a tensor as numbers in StableHLO's messages: -2^63 for a size that is not known."""
    return tuple([-(1 << 63) if size is None else size for size in ty.shape_of(type_) or ()])


def operand_types(op: Operation) -> list[ty.Type]:
    """Return the types of the operands."""
    return [value.type for value in op.operands]


# --- the most that is known of several types --------------------------------------------------------------------------

Extent = tuple[int | None, int | None]
"""The size and the bound of a dimension, as far as they are known."""
Merge = Callable[[int, Extent, Extent], "Extent | Unprefixed"]


def most_specific(axis: int, one: Extent, other: Extent) -> Extent | Unprefixed:
    """Return what two types together say about a dimension; the text of an error if they contradict each other."""
    sizes = [size for size, _ in (one, other) if size is not None]
    bounds = [bound for _, bound in (one, other) if bound is not None]
    if len(sizes) == 2 and sizes[0] != sizes[1]:
        return Unprefixed(f"Mismatched dimension sizes {sizes[0]} and {sizes[1]} in dimension {axis}")
    if sizes:
        if bounds and sizes[0] > bounds[0]:
            return Unprefixed(f"Mismatched dimension size {sizes[0]} and bound {bounds[0]} in dimension {axis}")
        return sizes[0], None
    return None, min(bounds, default=None)


def least_specific(axis: int, one: Extent, other: Extent) -> Extent | Unprefixed:
    """Return what is known about a dimension whose type is one of two; the text of an error if there is no
    such type.
    """
    (size, bound), (second, limit) = one, other
    if size is not None and second is not None:
        if size != second:
            return Unprefixed(f"Mismatched dimension sizes {size} and {second} in dimension {axis}")
        return size, None
    if size is not None or second is not None:
        known, held = (size, limit) if size is not None else (second, bound)
        assert known is not None
        return None, None if held is None else max(known, held)
    return None, None if bound is None or limit is None else max(bound, limit)


def merged(types: Sequence[ty.Type], merge: Merge) -> ty.Type | Unprefixed:
    """Return the one type that `most_specific` or `least_specific` (``merge``) gives for several tensors, or tuples of
    tensors; the text of an error if there is none.
    """
    tuples = [type_ for type_ in types if isinstance(type_, ty.TupleType)]
    if tuples:
        if len(tuples) != len(types):
            return Unprefixed("Mismatched type kinds: either all types must be tuples, or no types must be tuples")
        if len({len(each.elements) for each in tuples}) > 1:
            return Unprefixed("Mismatched tuple sizes: all tuple sizes must be the same")
        parts = [merged(column, merge) for column in zip(*(each.elements for each in tuples), strict=True)]
        wrong = next((part for part in parts if isinstance(part, Unprefixed)), None)
        return wrong or ty.TupleType(tuple(part for part in parts if isinstance(part, ty.Type)))
    ranked = [type_ for type_ in types if isinstance(type_, ty.TensorType) and type_.shape is not None]
    if not ranked or (len(ranked) < len(types) and merge is least_specific):
        return next(type_ for type_ in types if type_ not in ranked)
    first = ranked[0]
    rank = len(first.shape or ())
    for other in ranked:
        if len(other.shape or ()) != rank:
            return Unprefixed(f"Mismatched ranks of types{rank} vs {len(other.shape or ())}")
    known: list[Extent] = list(zip(first.shape or (), bounds_of(first) or (None,) * rank, strict=True))
    for other in ranked[1:]:
        bounds = bounds_of(other) or (None,) * rank
        for axis, extent in enumerate(zip(other.shape or (), bounds, strict=True)):
            found = merge(axis, known[axis], extent)
            if isinstance(found, Unprefixed):
                return found
            known[axis] = found
    return tensor([size for size, _ in known], first.element, [bound for _, bound in known])


# --- rules ------------------------------------------------------------------------------------------------------------


def same_elements(op: Operation) -> str | None:
    """Return an error message unless all operands and results have the same element type."""
    first, *others = map(ty.element_type, op.types)
    return (
        None
        if all(other == first for other in others)
        else "requires the same element type for all operands and results"
    )


def compatible_elements(op: Operation) -> str | None:
    """Return an error message unless the element types of all operands and results are compatible."""
    first, *others = map(ty.element_type, op.types)
    if all(elements_fit(first, other) for other in others):
        return None
    return "requires compatible element types for all operands and results"


def same_shape(op: Operation) -> str | None:
    """Return an error message unless there are operands, and they and the results have the same shape."""
    if not op.operands:
        return "expected 1 or more operands, but found 0"
    if not op.results:
        return "expected 1 or more results, but found 0"
    first, *others = op.types
    if all(shapes_fit(first, other) for other in others):
        return None
    return "requires the same shape for all operands and results"


def elementwise_shape(op: Operation) -> str | None:
    """Return an error message as `same_shape` does, in MLIR's words for elementwise ops."""
    first, *others = op.types
    if all(shapes_fit(first, other) for other in others):
        return None
    return "all non-scalar operands/results must have the same shape and base type"


def compatible(op: Operation) -> str | None:
    """Return an error message unless the types of all operands and results are compatible, and the shape of the result
    agrees with what all operands together say.
    """
    first, *others = op.types
    if not all(types_fit(first, other) for other in others):
        return "requires compatible types for all operands and results"
    expected = merged(operand_types(op), most_specific)
    return expected if isinstance(expected, Unprefixed) else not_inferred(op, expected)


def not_inferred(op: Operation, *expected: ty.Type) -> str | None:
    """Return an error message unless the results of an op have the types ``expected``, which follow from
    its operands.
    """
    found = [result.type for result in op.results]
    if all_fit(expected, found):
        return None
    return f"inferred type(s) {listed(expected)} are incompatible with return type(s) of operation {listed(found)}"
