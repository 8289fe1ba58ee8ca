"""The types of Triton and its constraints on types (`TritonTypes.td`, triton 3.9).

A value of type ``!tt.ptr<T>`` is 128 bits: the byte offset, and above it the number of an allocation of the run, 0 for
none. So a tensor of pointers moves like any other tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.triton import encodings
from halfulp.interp.dialects.triton.encodings import Context
from halfulp.interp.ir import attributes as at_
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import UnitAttr
from halfulp.interp.ir.base import Attribute, immutable, quoted
from halfulp.interp.ir.operations import Operation
from halfulp.interp.text.type_parser import TypeParser

Names = Mapping[object, str]
UNIT = UnitAttr()

# --- types ------------------------------------------------------------------------------------------------------------

SPACES = ("global", "descriptor", "constant")
"""The address spaces of pointers; the first is not written."""
POINTER_WIDTH = 128


@immutable
class PointerType(ty.DialectType):
    """``!tt.ptr<f32>``, ``!tt.ptr<f32, "constant">``: a pointer to elements of a type in an address space."""

    dialect: str = "tt"
    mnemonic: str = "ptr"
    element: ty.Type = ty.NoneType()
    space: str = SPACES[0]
    width: ClassVar[int | None] = POINTER_WIDTH

    @property
    def parts(self) -> tuple[Attribute | ty.Type, ...]:
        """The type of the elements."""
        return (self.element,)

    @property
    def pointee(self) -> ty.Type:
        """The type of the elements."""
        return self.element

    def inner(self, names: Names) -> str:
        """Return the text after ``!tt.ptr``, which ops print where only a pointer may stand."""
        space = "" if self.space == SPACES[0] else f", {quoted(self.space)}"
        return f"<{names.get(self.element) or self.element.spell(names)}{space}>"

    def spell(self, names: Names) -> str:
        """Return the text ``!tt.ptr<…>``."""
        return f"!tt.ptr{self.inner(names)}"


def _sizes(shape: tuple[int, ...]) -> str:
    return "".join(f"{size}x" for size in shape)


@immutable
class DescriptorType(ty.DialectType):
    """``!tt.tensordesc<64x64xf16>``: the description of a tensor in memory, with the shape and the elements of a block
    of it. ``layout``: the layout that the block has in shared memory. ``!ttng.tensordesc_im2col`` is another mnemonic.
    """

    dialect: str = "tt"
    mnemonic: str = "tensordesc"
    shape: tuple[int, ...] = ()
    element: ty.Type = ty.NoneType()
    layout: Attribute | None = None

    @property
    def parts(self) -> tuple[Attribute | ty.Type, ...]:
        """The type of the elements, and the layout."""
        return (self.element,) if self.layout is None else (self.element, self.layout)

    @property
    def pointee(self) -> ty.Type:
        """The type of the elements of the tensor, which is memory."""
        return self.element

    def inner(self, names: Names) -> str:
        """Return the text after the mnemonic."""
        layout = "" if self.layout is None else f", {self.layout.spell_nested(names)}"
        return f"<{_sizes(self.shape)}{names.get(self.element) or self.element.spell(names)}{layout}>"

    def spell(self, names: Names) -> str:
        """Return the text ``!tt.tensordesc<…>``."""
        return f"!{self.dialect}.{self.mnemonic}{self.inner(names)}"


def read_pointer(p: TypeParser) -> PointerType:
    """Read ``<f32>`` or ``<f32, 3>``."""
    p.expect("<")
    at = p.pos
    element = p.type()
    if isinstance(element, ty.ShapedType):
        p.error("pointer element type must be scalar", at)
    if not isinstance(element, ty.IntegerType | ty.FloatType):
        p.error("pointer types must point to integer or floating-point types", at)
    space = SPACES[0]
    if p.take(","):
        at = p.pos
        space = p.string()
        if space not in SPACES:
            p.error(f"expected an address space, one of: {', '.join(SPACES)}", at, hint=p.similar(space, SPACES))
    p.expect(">")
    return PointerType(element=element, space=space)


def _read_sizes(p: TypeParser) -> tuple[int, ...]:
    """Read ``2x3x``, up to the element type."""
    shape = []
    while p.tokens[p.pos][:1].isdigit():
        shape.append(p.dimension())
        p.dimension_separator()
    return tuple(shape)


def read_descriptor(p: TypeParser) -> DescriptorType:
    """Read ``<64x64xf16>`` or ``<64x64xf16, #layout>``."""
    p.expect("<")
    shape = _read_sizes(p)
    at = p.pos
    element = p.type()
    if isinstance(element, ty.TensorType):
        p.error(
            "tensor descriptors must not wrap tensor types; use !tt.tensordesc<shape x element-type[, layout]> instead",
            at,
        )
    layout = p.attribute() if p.take(",") else None
    p.expect(">")
    return DescriptorType(shape=shape, element=element, layout=layout)


def read_im2col(p: TypeParser) -> DescriptorType:
    """Read the same, of a descriptor by which a convolution takes its rows."""
    at, plain = p.pos, read_descriptor(p)
    if len(plain.shape) != 2:
        p.error(f"TensorDescIm2ColType requires rank-2 shape, got rank {len(plain.shape)}", at)
    return DescriptorType("ttng", "tensordesc_im2col", plain.shape, plain.element, plain.layout)


# --- types of TTGIR ---------------------------------------------------------------------------------------------------


@immutable
class MemDescType(ty.DialectType):
    """``!ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>``: a block in shared or in tensor memory.

    ``whole``: the shape of the allocation that it is a part of, if that is another one.
    """

    dialect: str = "ttg"
    mnemonic: str = "memdesc"
    shape: tuple[int, ...] = ()
    element: ty.Type = ty.NoneType()
    encoding: Attribute = UNIT
    space: Attribute = UNIT
    mutable: bool = False
    whole: tuple[int, ...] = ()

    @property
    def parts(self) -> tuple[Attribute | ty.Type, ...]:
        """The type of the elements, the encoding and the memory space."""
        return (self.element, self.encoding, self.space)

    def inner(self, names: Names) -> str:
        """Return the text after ``!ttg.memdesc``."""
        element = names.get(self.element) or self.element.spell(names)
        words = [each.spell_nested(names) for each in (self.encoding, self.space)]
        words += ["mutable"] if self.mutable else []
        words += ["x".join(map(str, self.whole))] if self.whole != self.shape else []
        return f"<{_sizes(self.shape)}{element}, {', '.join(words)}>"

    def spell(self, names: Names) -> str:
        """Return the text ``!ttg.memdesc<…>``."""
        return f"!ttg.memdesc{self.inner(names)}"


ASYNC_TOKEN = ty.DialectType("ttg", "async.token")
WARP_TOKEN = ty.DialectType("nvws", "token")


@immutable
class ArefType(ty.DialectType):
    """``!nvws.aref<[!ttg.memdesc<…>]>``: buffers that groups of warps hand to each other."""

    dialect: str = "nvws"
    mnemonic: str = "aref"
    held: tuple[ty.Type, ...] = ()

    @property
    def parts(self) -> tuple[Attribute | ty.Type, ...]:
        """The types of the buffers."""
        return self.held

    def inner(self, names: Names) -> str:
        """Return the text after ``!nvws.aref``."""
        return f"<[{', '.join(names.get(each) or each.spell(names) for each in self.held)}]>"

    def spell(self, names: Names) -> str:
        """Return the text ``!nvws.aref<…>``."""
        return f"!nvws.aref{self.inner(names)}"


def read_aref(p: TypeParser) -> ArefType:
    """Read ``<[!ttg.memdesc<…>, …]>``."""
    for mark in "<[":
        p.expect(mark)
    held = tuple(p.until("]", p.type))
    p.expect(">")
    return ArefType(held=held)


def read_memdesc(p: TypeParser) -> MemDescType:
    """Read ``<3x64x64xf16, #encoding, #space, mutable, 4x64x64>``; the last two may be left out."""
    at = p.pos
    p.expect("<")
    shape, element = _read_sizes(p), p.type()
    p.expect(",")
    encoding = p.attribute()
    p.expect(",")
    space = p.attribute()
    mutable, whole = False, shape
    while p.take(","):
        if p.take("mutable"):
            mutable = True
            continue
        sizes = [p.dimension()]
        while p.tokens[p.pos][:1] == "x":
            p.dimension_separator()
            sizes.append(p.dimension())
        whole = tuple(sizes)
    p.expect(">")
    if (problem := encodings.verify_memory(shape, element, encoding, space, whole)) is not None:
        p.error(problem, at)
    return MemDescType(shape=shape, element=element, encoding=encoding, space=space, mutable=mutable, whole=whole)


# --- constraints ------------------------------------------------------------------------------------------------------

Accepts = Callable[[ty.Type], bool]
_FLOATS = frozenset(("f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ", "f16", "bf16", "f32", "f64"))
_WIDTHS = frozenset((1, 4, 8, 16, 32, 64))


def is_float(type_: ty.Type) -> bool:
    """Tell whether a type is a float type of Triton."""
    return isinstance(type_, ty.FloatType) and type_.format.name in _FLOATS


def is_integer(type_: ty.Type) -> bool:
    """Tell whether a type is an integer type of Triton."""
    return isinstance(type_, ty.IntegerType) and type_.width in _WIDTHS and type_.signedness == "signless"


def is_pointer(type_: ty.Type) -> bool:
    """Tell whether a type is a pointer."""
    return isinstance(type_, PointerType)


def _is_f32(type_: ty.Type) -> bool:
    return type_ == ty.F("f32")


def _is_i64(type_: ty.Type) -> bool:
    return type_ == ty.I64


def _is_bool(type_: ty.Type) -> bool:
    return type_ == ty.I1


def _any_of(*tests: Accepts) -> Accepts:
    return lambda type_: any(test(type_) for test in tests)


def ranked_tensor(test: Accepts) -> Accepts:
    """Return a test for ranked tensors of elements that a test accepts."""
    return lambda type_: isinstance(type_, ty.TensorType) and type_.shape is not None and test(type_.element)


def _tensor(words: str, *tests: Accepts) -> d.TypeConstraint:
    return d.TypeConstraint(f"ranked tensor of {words} values", ranked_tensor(_any_of(*tests)))


def _like(words: str, *tests: Accepts) -> d.TypeConstraint:
    one = _any_of(*tests)
    return d.TypeConstraint(f"{words} or ranked tensor of {words} values", _any_of(one, ranked_tensor(one)))


FLOAT_LIKE = _like("floating-point", is_float)
F32_LIKE = _like("32-bit float", _is_f32)
FLOAT_TENSOR = _tensor("floating-point", is_float)
INTEGER_LIKE = _like("integer", is_integer)
INTEGER_TENSOR = _tensor("integer", is_integer)
I64_LIKE = _like("64-bit signless integer", _is_i64)
BOOL_LIKE = _like("1-bit signless integer", _is_bool)
POINTER = d.TypeConstraint("ptr", is_pointer)
POINTER_LIKE = _like("ptr", is_pointer)
NUMBER_TENSOR = _tensor("floating-point or integer", is_float, is_integer)
SCALED_TENSOR = _tensor("floating-point or 8-bit signless integer", is_float, lambda type_: type_ == ty.IntegerType(8))
OFFSETS = _tensor(
    "16-bit signless integer or 32-bit signless integer", lambda type_: type_ in (ty.IntegerType(16), ty.I32)
)
TENSOR = _tensor("floating-point or integer or ptr", is_float, is_integer, is_pointer)
VALUE = d.TypeConstraint(
    " or ".join(each.description for each in (FLOAT_LIKE, INTEGER_LIKE, POINTER_LIKE)),
    _any_of(FLOAT_LIKE.accepts, INTEGER_LIKE.accepts, POINTER_LIKE.accepts),
)
I32 = d.TypeConstraint("32-bit signless integer", lambda type_: type_ == ty.I32)
I64 = d.TypeConstraint("64-bit signless integer", _is_i64)
_WIDE = ty.IntegerType(128)
I128 = d.TypeConstraint("128-bit signless integer", lambda type_: type_ == _WIDE, builds=_WIDE)
POINTER_TENSOR = _tensor("ptr", is_pointer)
BOOL_TENSOR = _tensor("1-bit signless integer", _is_bool)
_SHORT = ty.IntegerType(16)
I16 = d.TypeConstraint("16-bit signless integer", lambda type_: type_ == _SHORT, builds=_SHORT)
MEMDESC = d.TypeConstraint(
    "memory descriptor type (`::mlir::triton::gpu::MemDescType`) in Triton IR type system",
    lambda type_: isinstance(type_, MemDescType),
)
TOKEN = d.TypeConstraint("async token type", lambda type_: type_ == ASYNC_TOKEN, builds=ASYNC_TOKEN)
TENSOR_OR_MEMDESC = d.TypeConstraint(
    f"{TENSOR.description} or {MEMDESC.description}", _any_of(TENSOR.accepts, MEMDESC.accepts)
)
_PACKED = frozenset(map(ty.F, ("f8E4M3FN", "f8E5M2", "f16", "bf16", "f32")))
_PACKABLE = _PACKED | {ty.IntegerType(8), ty.F("f8E8M0FNU")}
PACKED = _tensor("packed arithmetic result element", lambda type_: type_ in _PACKED)
PACKABLE = _tensor("packed arithmetic operand element", lambda type_: type_ in _PACKABLE)
_HALVES = frozenset(map(ty.F, ("f16", "bf16")))
HALVES = _tensor("16-bit float or bfloat16 type", lambda type_: type_ in _HALVES)
AREF = d.TypeConstraint("", lambda type_: isinstance(type_, ArefType))
WARP_TOKENS = _tensor("", lambda type_: type_ == WARP_TOKEN)
BYTES = _tensor("8-bit signless integer", lambda type_: type_ == ty.IntegerType(8))
WORDS = _tensor("32-bit signless integer", lambda type_: type_ == ty.I32)
DESCRIPTOR = d.TypeConstraint(
    "Tensor descriptor type (`::mlir::triton::TensorDescType`) in Triton IR type system",
    lambda type_: isinstance(type_, DescriptorType),
)

# --- rules ------------------------------------------------------------------------------------------------------------


def pointee(type_: ty.Type) -> ty.Type:
    """Return the type of what is loaded through a pointer, or through each pointer of a tensor."""
    element = ty.element_type(type_)
    return ty.with_element(type_, element.element) if isinstance(element, PointerType) else type_


def mask_type(type_: ty.Type) -> ty.Type:
    """Return i1 in the shape of a type, with its encoding."""
    return ty.with_element(type_, ty.I1)


def pointer_to(type_: ty.Type) -> ty.Type:
    """Return the type of global pointers to values of a type, in its shape."""
    return ty.with_element(type_, PointerType(element=ty.element_type(type_)))


def follows(name: str, source: str, derive: Callable[[ty.Type], ty.Type], message: str) -> d.TypeRule:
    """Return the rule that an operand that may be left out has the type that ``derive`` returns for that of another."""

    def solve(types: dict[str, Any], properties: Mapping[str, Attribute]) -> None:
        if source in types:
            types.setdefault(name, (derive(types[source]),))

    def holds(types: Mapping[str, Any], properties: Mapping[str, Attribute]) -> bool:
        return all(type_ == derive(types[source]) for type_ in types[name])

    return d.TypeRule(f"failed to verify that {message}", solve, holds)


def same_shapes(*names: str) -> d.TypeRule:
    """Return the rule that values have one shape (`SameOperandsAndResultShape`)."""

    def holds(types: Mapping[str, Any], properties: Mapping[str, Attribute]) -> bool:
        return len({_shape(type_) for name in names for type_ in _each(types[name])}) < 2

    return d.TypeRule("requires the same shape for all operands and results", lambda types, properties: None, holds)


def same_elements(*names: str) -> d.TypeRule:
    """Return the rule that values have one element type (`SameOperandsAndResultElementType`)."""

    def holds(types: Mapping[str, Any], properties: Mapping[str, Attribute]) -> bool:
        return len({ty.element_type(type_) for name in names for type_ in _each(types[name])}) < 2

    return d.TypeRule(
        "requires the same element type for all operands and results", lambda types, properties: None, holds
    )


def same_encodings(*names: str) -> d.TypeRule:
    """Return the rule that all tensors have one encoding (`SameOperandsAndResultEncoding`)."""

    def holds(types: Mapping[str, Any], properties: Mapping[str, Attribute]) -> bool:
        found = [type_ for name in names for type_ in _each(types[name]) if isinstance(type_, ty.TensorType)]
        return len({type_.encoding for type_ in found}) < 2

    return d.TypeRule("requires the same encoding for all operands and results", lambda types, properties: None, holds)


def _each(types: Any) -> tuple[ty.Type, ...]:
    return (types,) if isinstance(types, ty.Type) else tuple(types)


def _shape(type_: ty.Type) -> tuple[bool, ty.Shape | None]:
    return isinstance(type_, ty.ShapedType), ty.shape_of(type_)


_MOST_ELEMENTS = 1 << 20


def verify_sizes(op: Operation) -> str | None:
    """Check the sizes of the tensors of an op: powers of two, and at most 1,048,576 elements."""
    for value in (*op.operands, *op.results):
        type_ = value.type
        if not isinstance(type_, ty.TensorType):
            continue
        count = ty.element_count(type_) or 0
        if count > _MOST_ELEMENTS:
            return d.Unprefixed(
                f"Maximum allowed number of elements is {_MOST_ELEMENTS}, but {op.name} has more than that"
            )
        if count & count - 1 or not count:
            return d.Unprefixed(
                f"Number of elements must be power-of-two, but {op.name} doesn't follow the rule ({count}) elements"
            )
    return None


_WARPS, _LANES, _BLOCKS = "ttg.num-warps", "ttg.threads-per-warp", "ttg.num-ctas"
_MODULE = "builtin.module"


def _number(op: Operation, name: str) -> int | None:
    found = op.attributes.get(name)
    if not isinstance(found, at_.IntegerAttr):
        return None
    return -found.value if found.type == ty.I1 else found.value  # Triton reads the number as a signed one


def context_of(op: Operation) -> Context:
    """Return what the functions and modules around an op say about threads."""
    warps, inner, outer = None, op, op.parent_op
    while outer is not None:
        if warps is None:
            if outer.name == "ttg.warp_specialize.partitions":
                warps = _of_partition(inner, outer)
            elif outer.name in (_MODULE, "tt.func"):
                warps = _number(outer, _WARPS)
        if outer.name == _MODULE:
            break
        inner, outer = outer, outer.parent_op
    module = outer
    while warps is None and outer is not None:
        warps, outer = _number(outer, _WARPS), outer.parent_op
    if module is None:
        return Context(1, 32, warps)
    blocks, lanes = _number(module, _BLOCKS), _number(module, _LANES)
    return Context(1 if blocks is None else blocks, 32 if lanes is None else lanes, warps)


def _of_partition(op: Operation, partitions: Operation) -> int | None:
    """Return the number of warps of the partition that an op is in."""
    around, region = partitions.parent_op, None if op.parent is None else op.parent.parent
    counts = None if around is None else around.properties.get("partitionNumWarps")
    place = next((index for index, each in enumerate(partitions.regions) if each is region), 0)
    if not isinstance(counts, at_.DenseArrayAttr) or place >= len(counts.values):
        return None
    return int(counts.values[place])


def verify_layouts(op: Operation) -> str | None:
    """Check that the layouts of the operands and the results of an op fit the module."""
    context = None
    for number, value in enumerate((*op.operands, *op.results)):
        type_ = value.type
        if isinstance(type_, ty.TensorType) and type_.encoding is not None:
            context = context or context_of(op)
            shape = ty.static_shape(type_)
            problem = encodings.verify_tensor(type_.encoding, shape, context)
        elif isinstance(type_, MemDescType):
            context = context or context_of(op)
            problem = encodings.verify_blocks_of_memory(type_.encoding, context)
        else:
            continue
        if problem is not None:
            given = len(op.operands)
            which = f"Operand {number}" if number < given else f"Result {number - given}"
            which = "Result" if number >= given and len(op.results) == 1 else which
            return d.Unprefixed(f"{which} has an invalid layout: {problem}")
    return None
