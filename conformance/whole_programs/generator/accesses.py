"""Edits that put other ways to the same elements into a program, as texts.

A view of memory, or another shape, and the way back; a slice of a tensor that is inserted again; a read of a visible
value by another op, or in a larger part; a write; a number of an op as an operand; a cast in two steps; a sum of floats
as one of complex numbers. A row is the text of some ops on ``%x`` that ends with ``%r``: the parser makes the ops.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import NamedTuple

from halfulp.conformance.whole_programs import rewrite
from halfulp.conformance.whole_programs.generator.draft import Draft, new_op, numeric_operands
from halfulp.conformance.whole_programs.generator.grower import FLOATS, INTEGERS, OTHER_FLOATS, OTHER_INTEGERS, Unfit
from halfulp.conformance.whole_programs.rewrite import put_before
from halfulp.fp_formats.formats import ints_to_codes
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Block, Operation, SSAValue
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.loading import parse_module
from halfulp.interp.values.coerce import as_type

# --- texts ------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _parsed(arguments: str, body: str) -> Block | None:
    """Return the block of a function; None if its text is wrong."""
    try:
        module = parse_module(f"func.func @f({arguments}) {{\n{body}\nreturn\n}}", verify=False)
    except HalfulpError:
        return None
    return module.body[0].regions[0].blocks[0]


def _put(op: Operation, given: Mapping[str, SSAValue], body: str) -> SSAValue | None:
    """Put the ops of a text before an op, and return the last result. ``given``: values by their names in the text.

    Raises Unfit if the text is wrong.
    """
    block = _parsed(", ".join(f"%{name}: {value.type}" for name, value in given.items()), body)
    if block is None:
        raise Unfit
    values: dict[SSAValue, SSAValue] = dict(zip(block.arguments, given.values(), strict=True))
    last: SSAValue | None = None
    for each in block.operations[:-1]:
        made = put_before(op, rewrite.copied(each, values))
        last = made.results[-1] if made.results else None
    return last


def _replaced(draft: Draft, number: int, op: Operation, body: str, **more: SSAValue) -> None:
    """Put the ops of a text on the way to an operand, whose type stays."""
    old = op.operands[number]
    made = _put(op, {"x": old, **more}, body)
    if made is None or made.type != old.type:
        raise Unfit
    op.operands[number] = made


# --- there and back ---------------------------------------------------------------------------------------------------


class _Shaped(NamedTuple):
    """A type with static sizes, and how the texts name it: "vector", "tensor" or "memref"."""

    type: ty.VectorType | ty.TensorType | ty.MemRefType
    kind: str
    sizes: tuple[int, ...]

    def of(self, sizes: Sequence[int | None]) -> str:
        """Return the text of the type with other sizes, of which None is dynamic."""
        return str(replace(self.type, shape=tuple(sizes)))  # type: ignore[arg-type]


def _shaped(type_: ty.Type) -> _Shaped | None:
    sizes = ty.shape_of(type_)
    if not isinstance(type_, ty.VectorType | ty.TensorType | ty.MemRefType) or not sizes or None in sizes:
        return None
    if isinstance(type_, ty.MemRefType) and type_ != ty.MemRefType(type_.shape, type_.element):
        return None
    kind = "vector" if isinstance(type_, ty.VectorType) else "tensor" if isinstance(type_, ty.TensorType) else "memref"
    return _Shaped(type_, kind, tuple(size or 0 for size in sizes))


def _groups(rank: int, axis: int) -> str:
    """Return the reassociation that joins an axis and the next one, of ``rank`` axes."""
    found = [[k] for k in range(axis)] + [[axis, axis + 1]] + [[k] for k in range(axis + 2, rank)]
    return str(found)


def _cast(shaped: _Shaped, new: str) -> str:
    """A vector gets another shape, and its own again."""
    return f"%y = vector.shape_cast %x : {shaped.type} to {new}\n%r = vector.shape_cast %y : {new} to {shaped.type}"


def _split(shaped: _Shaped, rng: random.Random) -> str:
    """One axis becomes two, and one again."""
    axis = rng.randrange(len(shaped.sizes))
    size = shaped.sizes[axis]
    part = rng.choice([part for part in range(1, size + 1) if size % part == 0] or [1])
    sizes = [*shaped.sizes[:axis], size // part, part, *shaped.sizes[axis + 1 :]]
    new, groups = shaped.of(sizes), _groups(len(sizes), axis)
    if shaped.kind == "vector":
        return _cast(shaped, new)
    return (
        f"%y = {shaped.kind}.expand_shape %x {groups} output_shape {sizes} : {shaped.type} into {new}\n"
        f"%r = {shaped.kind}.collapse_shape %y {groups} : {new} into {shaped.type}"
    )


def _join(shaped: _Shaped, rng: random.Random) -> str:
    """Two axes become one, and two again."""
    rank = len(shaped.sizes)
    axis = rng.randrange(max(1, rank - 1))
    sizes = [*shaped.sizes[:axis], prod(shaped.sizes[axis : axis + 2]), *shaped.sizes[axis + 2 :]]
    new, groups = shaped.of(sizes), _groups(rank, axis)
    if shaped.kind == "vector":
        return _cast(shaped, new)
    return (
        f"%y = {shaped.kind}.collapse_shape %x {groups} : {shaped.type} into {new}\n"
        f"%r = {shaped.kind}.expand_shape %y {groups} output_shape {list(shaped.sizes)} : {new} into {shaped.type}"
    )


def _dynamic(shaped: _Shaped, rng: random.Random) -> str:
    """Some sizes are not known, and then they are."""
    new = shaped.of([None if rng.random() < 0.6 else size for size in shaped.sizes])
    return f"%y = {shaped.kind}.cast %x : {shaped.type} to {new}\n%r = {shaped.kind}.cast %y : {new} to {shaped.type}"


def _turned(shaped: _Shaped, rng: random.Random) -> str:
    """The axes change places, and back."""
    order = rng.sample(range(len(shaped.sizes)), len(shaped.sizes))
    back = [order.index(axis) for axis in range(len(order))]
    new = shaped.of([shaped.sizes[axis] for axis in order])
    return (
        f"%y = vector.transpose %x, {order} : {shaped.type} to {new}\n"
        f"%r = vector.transpose %y, {back} : {new} to {shaped.type}"
    )


def _part(shaped: _Shaped, rng: random.Random) -> str:
    """A part is taken out, and put at its place, or at another one. A part of a tensor may lose axes of size 1."""
    sizes = [rng.choice((1, size, rng.randint(1, max(size, 1)))) for size in shaped.sizes]
    rooms = [size - part for size, part in zip(shaped.sizes, sizes, strict=True)]
    first = [rng.randint(0, room) for room in rooms]
    second = first if rng.random() < 0.5 else [rng.randint(0, room) for room in rooms]
    ones, whole = [1] * len(sizes), shaped.type
    if shaped.kind == "vector":
        new = shaped.of(sizes)
        return (
            f"%y = vector.extract_strided_slice %x {{offsets = {first}, sizes = {sizes}, strides = {ones}}}"
            f" : {whole} to {new}\n"
            f"%r = vector.insert_strided_slice %y, %x {{offsets = {second}, strides = {ones}}} : {new} into {whole}"
        )
    new = shaped.of([size for size in sizes if size != 1 or rng.random() < 0.5])
    return (
        f"%y = tensor.extract_slice %x{first} {sizes} {ones} : {whole} to {new}\n"
        f"%r = tensor.insert_slice %y into %x{second} {sizes} {ones} : {new} into {whole}"
    )


def _row(shaped: _Shaped, rng: random.Random) -> str:
    """A part along the first axis is taken out, and put in again."""
    place, rest = rng.randrange(shaped.sizes[0] or 1), shaped.sizes[1:]
    new = shaped.of(rest) if rest else str(ty.element_type(shaped.type))
    return (
        f"%y = vector.extract %x[{place}] : {new} from {shaped.type}\n"
        f"%r = vector.insert %y, %x[{place}] : {new} into {shaped.type}"
    )


def _vector(shaped: _Shaped, rng: random.Random) -> str:
    """A tensor is read as a vector, and written again; a mask may leave out elements of the one or of the other."""
    element = ty.element_type(shaped.type)
    vector, mask = (f"vector<{'x'.join(map(str, shaped.sizes))}x{each}>" for each in (element, ty.I1))
    masked = rng.choice(("", "", "read", "write"))
    kept = [rng.randint(0, size) for size in shaped.sizes]
    first = [0] * len(kept) if 0 in kept else kept  # a constant mask that is empty along one axis is so along all
    indices = ", ".join(["%c"] * len(shaped.sizes))
    bounds = ", ".join(["true"] * len(shaped.sizes))
    masks = {name: ", %m" if name == masked else "" for name in ("read", "write")}
    return (
        f"%c = arith.constant 0 : index\n%p = arith.constant {'1.0' if isinstance(element, ty.FloatType) else 1}"
        f" : {element}\n%m = vector.constant_mask {first} : {mask}\n"
        f"%y = vector.transfer_read %x[{indices}], %p{masks['read']} {{in_bounds = [{bounds}]}}"
        f" : {shaped.type}, {vector}\n"
        f"%r = vector.transfer_write %y, %x[{indices}]{masks['write']} {{in_bounds = [{bounds}]}}"
        f" : {vector}, {shaped.type}"
    )


_Way = Callable[[_Shaped, random.Random], str]

WAYS: Mapping[str, Sequence[_Way]] = {
    "vector": (_split, _join, _turned, _part, _row),
    "tensor": (_split, _join, _dynamic, _part, _vector),
    "memref": (_split, _join, _dynamic),
}
"""By the kind of a type: ways to other types and back."""


def there_and_back(draft: Draft) -> None:
    """Give the elements of an operand another shape, and the old one again."""
    found = [
        (op, number, shaped)
        for op in draft.ops()
        for number, value in enumerate(op.operands)
        if (shaped := _shaped(value.type)) is not None
    ]
    op, number, shaped = draft.choice(found)
    _replaced(draft, number, op, draft.choice(WAYS[shaped.kind])(shaped, draft.rng))


# --- reads and writes -------------------------------------------------------------------------------------------------
#
# {S}: the type of the source %x, {T}: that of the result, {E}: its elements, {I}: indices of the source, {V}: a vector
# along the last axes of the source, {k}: a place in it.

READS: Mapping[tuple[str, bool], Sequence[str]] = {
    ("memref", False): (
        "%r = memref.load %x[{I}] : {S}",
        "%r = affine.load %x[{I}] : {S}",
        "%v = vector.load %x[{I}] : {S}, {V}\n%r = vector.extract %v{k} : {E} from {V}",
        "%v = affine.vector_load %x[{I}] : {S}, {V}\n%r = vector.extract %v{k} : {E} from {V}",
        "%p = ub.poison : {E}\n%v = vector.transfer_read %x[{I}], %p : {S}, {V}\n"
        "%r = vector.extract %v{k} : {E} from {V}",
    ),
    ("memref", True): (
        "%r = vector.load %x[{I}] : {S}, {T}",
        "%r = affine.vector_load %x[{I}] : {S}, {T}",
        "%p = ub.poison : {E}\n%r = vector.transfer_read %x[{I}], %p : {S}, {T}",
    ),
    ("tensor", False): ("%r = tensor.extract %x[{I}] : {S}",),
    ("tensor", True): ("%p = ub.poison : {E}\n%r = vector.transfer_read %x[{I}], %p : {S}, {T}",),
    ("vector", False): ("%r = vector.extract %x{k} : {E} from {S}",),
}
"""By the kind of the source, and whether the result is a vector: reads."""

WRITES: Mapping[bool, Sequence[str]] = {
    False: (
        "memref.store %v, %x[{I}] : {S}",
        "affine.store %v, %x[{I}] : {S}",
        "%b = vector.broadcast %v : {E} to {V}\nvector.store %b, %x[{I}] : {S}, {V}",
        "%b = vector.broadcast %v : {E} to {V}\naffine.vector_store %b, %x[{I}] : {S}, {V}",
    ),
    True: (
        "vector.store %v, %x[{I}] : {S}, {T}",
        "affine.vector_store %v, %x[{I}] : {S}, {T}",
        "vector.transfer_write %v, %x[{I}] : {T}, {S}",
    ),
}
"""By whether the written value is a vector: writes to memory."""


def _filled(draft: Draft, op: Operation, text: str, source: ty.Type, type_: ty.Type) -> tuple[dict[str, SSAValue], str]:
    """Return the text of a read or a write with its types and indices, and the values of the indices by their names."""
    rng, sizes = draft.rng, [size or 1 for size in ty.shape_of(source) or ()]
    visible = [value for value in draft.visible(op) if value.type == ty.INDEX]
    given: dict[str, SSAValue] = {}
    for axis, size in enumerate(sizes):
        if visible and rng.random() < 0.4:
            given[f"i{axis}"] = rng.choice(visible)
        else:
            place = ints_to_codes([rng.choice((0, 0, rng.randrange(size)))], 64, ())
            given[f"i{axis}"] = put_before(op, rewrite.constant(ty.INDEX, place)).results[0]
    rank = rng.randint(1, min(2, len(sizes))) if sizes else 0
    shape = [rng.choice((1, 2, size)) for size in sizes[len(sizes) - rank :]] or [1]
    element = ty.element_type(type_)
    along = sizes if isinstance(source, ty.VectorType) else shape
    names = {
        "S": source,
        "T": type_,
        "E": element,
        "I": ", ".join(f"%i{axis}" for axis in range(len(sizes))),
        "V": f"vector<{'x'.join(map(str, shape))}x{element}>",
        "k": [rng.randrange(size) for size in along],
    }
    return ({} if isinstance(source, ty.VectorType) else given), text.format_map(names)


def _is_source(value: SSAValue, element: ty.Type) -> bool:
    return (
        isinstance(value.type, ty.VectorType | ty.TensorType | ty.MemRefType) and ty.element_type(value.type) == element
    )


def other_read(draft: Draft) -> None:
    """Replace an operand by what is read from a visible tensor, vector or memory."""
    op = draft.some(numeric_operands)
    number = draft.choice([n for n in numeric_operands(op) if not isinstance(op.operands[n].type, ty.TensorType)])
    old = op.operands[number].type
    source = draft.choice([value for value in draft.visible(op) if _is_source(value, ty.element_type(old))])
    kind = {ty.VectorType: "vector", ty.TensorType: "tensor"}.get(type(source.type), "memref")
    text = draft.choice(READS.get((kind, isinstance(old, ty.VectorType)), ()))
    indices, body = _filled(draft, op, text, source.type, old)
    made = _put(op, {"x": source, **indices}, body)
    if made is None or made.type != old:
        raise Unfit
    op.operands[number] = made


def other_write(draft: Draft) -> None:
    """Write a visible value to visible memory, in front of an op."""
    op = draft.some(lambda op: op.name != "arith.constant")
    memory = draft.choice([value for value in draft.visible(op) if isinstance(value.type, ty.MemRefType)])
    element = ty.element_type(memory.type)
    written = [value for value in draft.visible(op) if ty.element_type(value.type) == element]
    value = draft.choice([v for v in written if not isinstance(v.type, ty.TensorType | ty.MemRefType)])
    text = draft.choice(WRITES[isinstance(value.type, ty.VectorType)])
    indices, body = _filled(draft, op, text, memory.type, value.type)
    _put(op, {"x": memory, "v": value, **indices}, body)


# --- numbers as operands ----------------------------------------------------------------------------------------------

DYNAMIC = -(1 << 63)
"""What stands in a list of static numbers where an operand has the number."""

SLICES = ("static_offsets", "static_sizes", "static_strides")


def number_as_operand(draft: Draft) -> None:
    """Let operands have offsets, sizes or strides of a slice: one, or several. The type of a part is then dynamic."""
    op = draft.some(lambda op: op.name in {"tensor.extract_slice", "tensor.insert_slice"})
    which = draft.rng.randrange(3)
    for done in range(draft.choice((1, 1, 2, 3))):
        try:
            op = _with_number_as_operand(draft, op, which)
        except Unfit:
            if not done:
                raise
            return


def _with_number_as_operand(draft: Draft, op: Operation, which: int) -> Operation:
    """Let an operand have one number of a list of `SLICES`. Return the op, or the one in its place."""
    segments = op.properties["operandSegmentSizes"]
    assert isinstance(segments, at.DenseArrayAttr)
    counts = list(segments.values)
    listed = op.properties[SLICES[which]]
    assert isinstance(listed, at.DenseArrayAttr)
    numbers = list(listed.values)
    axis = draft.choice([axis for axis, number in enumerate(numbers) if number != DYNAMIC])
    made = put_before(op, rewrite.constant(ty.INDEX, ints_to_codes([numbers[axis]], 64, ()))).results[0]
    slot = len(counts) - 3 + which
    op.operands.insert(sum(counts[:slot]) + numbers[:axis].count(DYNAMIC), made)
    counts[slot] += 1
    size, numbers[axis] = numbers[axis], DYNAMIC
    op.properties[SLICES[which]] = at.DenseArrayAttr(listed.element, tuple(code & ((1 << 64) - 1) for code in numbers))
    op.properties["operandSegmentSizes"] = at.DenseArrayAttr(ty.I32, tuple(counts))
    return _with_dynamic_part(draft, op, size) if which == 1 else op


def _with_dynamic_part(draft: Draft, op: Operation, size: int) -> Operation:
    """Make one axis of the part of a slice dynamic: one of those of a size. Return the op, or the one in its place."""
    part = op.operands[0] if op.name == "tensor.insert_slice" else op.results[0]
    shape = list(ty.shape_of(part.type) or ())
    shape[draft.choice([axis for axis, each in enumerate(shape) if each == size])] = None
    assert isinstance(part.type, ty.TensorType)
    new = replace(part.type, shape=tuple(shape))
    if op.name == "tensor.insert_slice":
        op.operands[0] = put_before(op, new_op("tensor.cast", [part], [new])).results[0]
        return op
    made = Operation(op.name, op.definition, op.operands, [new], dict(op.properties))
    put_before(op, made)
    cast = put_before(op, new_op("tensor.cast", made.results, [part.type]))
    draft.replace(part, cast.results[0])
    rewrite.drop(op)
    return made


# --- casts and complex numbers ----------------------------------------------------------------------------------------

TWO_STEPS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "arith.extsi": (("arith.extsi", "arith.extui"), (*INTEGERS, *OTHER_INTEGERS)),
    "arith.extui": (("arith.extui", "arith.extsi"), (*INTEGERS, *OTHER_INTEGERS)),
    "arith.trunci": (("arith.trunci",), (*INTEGERS, *OTHER_INTEGERS)),
    "arith.extf": (("arith.extf",), (*FLOATS, *OTHER_FLOATS)),
    "arith.truncf": (("arith.truncf",), (*FLOATS, *OTHER_FLOATS)),
}
"""By cast: the casts that may do the first step, and the elements between."""


def in_two_steps(draft: Draft) -> None:
    """Cast by way of a width between."""
    op = draft.some(lambda op: op.name in TWO_STEPS)
    firsts, elements = TWO_STEPS[op.name]
    old = op.operands[0]
    ends = sorted(width_of(ty.element_type(each.type)) for each in (old, op.results[0]))
    between = draft.choice([each for each in map(as_type, elements) if ends[0] < (element_width(each) or 0) < ends[1]])
    made = put_before(op, new_op(draft.choice(firsts), [old], [ty.with_element(old.type, between)]))
    op.operands[0] = made.results[0]


COMPLEX: Mapping[str, str] = {
    "arith.addf": "%z = complex.add %a, %b : {C}",
    "arith.subf": "%z = complex.sub %a, %b : {C}",
    "arith.negf": "%z = complex.neg %a : {C}",
}
"""By op on floats: the same on complex numbers."""

PARTS = ("0.0", "-0.0", "1.0")


def as_complex(draft: Draft) -> None:
    """Replace an op on floats by one on complex numbers, of which one part is used."""
    op = draft.some(lambda op: op.name in COMPLEX and isinstance(op.results[0].type, ty.FloatType))
    element, rng = op.results[0].type, draft.rng
    type_, one, two = f"complex<{element}>", rng.choice(PARTS), rng.choice(PARTS)
    constant = f"complex.constant [{one} : {element}, {two} : {element}] : {type_}"
    second = rng.choice((constant, f"complex.create %y, %y : {type_}"))
    part = rng.choice(("re", "re", "im"))
    body = (
        f"%a = complex.create %x, %y : {type_}\n%b = {second}\n"
        f"{COMPLEX[op.name].format(C=type_)}\n%r = complex.{part} %z : {type_}"
    )
    made = _put(op, {"x": op.operands[0], "y": op.operands[-1]}, body)
    if made is None:
        raise Unfit
    draft.replace(op.results[0], made)
    rewrite.drop(op)
