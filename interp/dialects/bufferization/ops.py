"""The bufferization dialect (`BufferizationOps.td`): between tensors and memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.operands import operand_groups
from halfulp.interp.dialects.elements import Function, Operands
from halfulp.interp.dialects.elementwise import sizes_agree
from halfulp.interp.dialects.memref.evaluate import buffer_in, living
from halfulp.interp.dialects.memref.memory import give_back
from halfulp.interp.dialects.memref.ops import ANY_MEMREF, refused
from halfulp.interp.dialects.slices import numbers
from halfulp.interp.dialects.tensor.ops import result_shape, unwritten
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.ir.types import shape_conflict, spell_shape
from halfulp.interp.run.evaluators import OnValues
from halfulp.interp.run.frames import Run, decided, lift
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.memref_layout import chosen_layout, layout_conflict, row_major, spanned
from halfulp.interp.values.value import Value, retyped

# --- evaluate ---------------------------------------------------------------------------------------------------------
#
# The evaluation of the bufferization dialect: tensors become memory, and memory tensors.
#
# A tensor is a value: what a program writes into the buffer of a tensor does not change the tensor. So both ways copy.

Slots = Sequence[Any]


def alloc_tensor(op: Operation, settings: Settings) -> Function:
    """Return the function that runs bufferization.alloc_tensor: a copy, or a tensor that was never written."""
    type_ = op.results[0].type
    sizes, copied, _ = map(len, operand_groups(op))

    def make(run: Run, operands: Operands) -> tuple[Any, ...]:
        if copied:
            return (operands[sizes],)
        shape = result_shape(op, type_, numbers(op, operands[:sizes], settings), settings)
        return (unwritten(op, run, type_, shape, settings),)

    return make


def _copied(op: Operation, type_: ty.Type, value: Value, run: Run, settings: Settings) -> Buffer:
    """Return a buffer of a type over new memory with these elements."""
    assert isinstance(type_, ty.MemRefType)
    shape = value.shape
    ranked = replace(type_, shape=shape) if type_.shape is None else type_
    layout = row_major(shape), 0
    conflict = layout_conflict(ranked, shape, layout)
    if conflict:
        try:
            layout = chosen_layout(ranked, shape)
        except TypeMismatch as error:
            raise undefined(op, error.message) from None
    strides, offset = layout
    size = (spanned(shape, strides, offset)[1],)
    check_allocation(type_, size, settings)
    memory = Buffer.allocate(ty.MemRefType(size, type_.element), size, op.name)
    made = memory.part(type_, offset, shape, strides, False)
    made.store(value, run.origins)
    return made


def to_buffer(op: Operation, settings: Settings) -> Function:
    """Return the function that runs bufferization.to_buffer."""
    source, type_ = op.operands[0].type, op.results[0].type

    def copy(run: Run, slots: Slots) -> tuple[Any, ...]:
        return (_copied(op, type_, lift(slots[0], source), run, settings),)

    return copy


def clone(op: Operation, settings: Settings) -> Function:
    """Return the function that runs bufferization.clone."""
    type_ = op.results[0].type

    def copy(run: Run, slots: Slots) -> tuple[Any, ...]:
        value = living(op, slots[0], 0).load(origins=run.origins)
        conflict = shape_conflict(type_, value.shape, settings.vscale)
        if conflict:
            raise undefined(op, conflict)
        return (_copied(op, type_, value, run, settings),)

    return copy


def to_tensor(op: Operation, settings: Settings) -> Function:
    """Return the function that runs bufferization.to_tensor."""
    type_ = op.results[0].type

    def read(run: Run, slots: Slots) -> tuple[Any, ...]:
        return (living(op, slots[0], 0).load(type_, run.origins),)

    return read


def materialize(op: Operation, settings: Settings) -> Function:
    """Return the function that runs bufferization.materialize_in_destination."""
    source, dest = (value.type for value in op.operands)

    def put(run: Run, slots: Slots) -> tuple[Any, ...]:
        value: Value = lift(slots[0], source)
        place = living(op, slots[1], 1) if isinstance(dest, ty.MemRefType) else lift(slots[1], dest)
        if place.shape != value.shape:
            raise undefined(
                op, f"the source has the shape {spell_shape(value.shape)}, the destination {spell_shape(place.shape)}"
            )
        if isinstance(place, Buffer):
            place.store(value, run.origins)
            return ()
        return (retyped(value, dest),)

    return put


def dealloc(op: Operation, settings: Settings) -> Function:
    """Return the function that runs bufferization.dealloc.

    It frees, once, the memory of each memref whose condition is true, unless a retained memref has the same memory. A
    retained memref gets the conditions of the memrefs that have its memory.
    """
    count = len(operand_groups(op)[0])

    def free(run: Run, slots: Slots) -> tuple[Any, ...]:
        conditions = [decided(slot, op) for slot in slots[count : 2 * count]]
        owned = [buffer_in(op, slot, which) for which, slot in enumerate(slots[:count])]
        retained = [buffer_in(op, slot, which) for which, slot in enumerate(slots[2 * count :], 2 * count)]
        pairs = list(zip(owned, conditions, strict=True))
        kept = {id(buffer.allocation) for buffer in retained}
        for buffer, condition in pairs:
            if condition and id(buffer.allocation) not in kept:
                kept.add(id(buffer.allocation))
                give_back(op, living(op, buffer, owned.index(buffer)))
        return tuple(
            int(any(condition and buffer.allocation is each.allocation for buffer, condition in pairs))
            for each in retained
        )

    return free


# --- rules ------------------------------------------------------------------------------------------------------------
#
# Rules of the ops of the bufferization dialect, in the words of MLIR.


def verify_alloc_tensor(op: Operation) -> str | None:
    """Return what is wrong with the sizes and the copied tensor of bufferization.alloc_tensor, or None."""
    sizes, copied, _ = map(len, operand_groups(op))
    type_ = op.results[0].type
    if copied and sizes:
        return d.Unprefixed("dynamic sizes not needed when copying a tensor")
    if copied and op.operands[sizes].type != type_:
        return d.Unprefixed("expected that `copy` and return type match")
    needed = sum(size is None for size in ty.shape_of(type_) or ())
    if not copied and sizes != needed:
        return f"incorrect number of dynamic sizes, has {sizes}, expected {needed}"
    return None


def verify_same_shape(op: Operation) -> str | None:
    """Return an error message unless a tensor and its buffer have the same shape and the same element type."""
    one, other = op.operands[0].type, op.results[0].type
    if ty.shape_of(one) != ty.shape_of(other):
        return d.Unprefixed("shapes do not match")
    if ty.element_type(one) != ty.element_type(other):
        return d.Unprefixed("element types do not match")
    return None


def verify_materialize(op: Operation) -> str | None:
    """Return what is wrong with the types and the flags of bufferization.materialize_in_destination, or None."""
    source, dest = (value.type for value in op.operands)
    if not isinstance(dest, ty.TensorType | ty.MemRefType):
        return "'dest' must be a tensor or a memref"
    if isinstance(dest, ty.TensorType):
        if len(op.results) != 1:
            return "tensor 'dest' implies exactly one tensor result"
        if op.results[0].type != dest:
            return "result and 'dest' types must match"
    elif op.results:
        return "memref 'dest' implies zero results"
    if "restrict" in op.properties and isinstance(dest, ty.TensorType):
        return "'restrict' is valid only for memref destinations"
    if ("writable" in op.properties) != isinstance(dest, ty.MemRefType):
        return "'writable' must be specified if and only if the destination is of memref type"
    one, other = ty.shape_of(source), ty.shape_of(dest)
    if (one is None) != (other is None):
        return "source/destination shapes are incompatible"
    if one is None or other is None:
        return None
    if len(one) != len(other):
        return "rank mismatch between source and destination shape"
    return None if sizes_agree(one, other) else "source/destination shapes are incompatible"


def verify_dealloc(op: Operation) -> str | None:
    """Return what is wrong with the numbers of operands and results of bufferization.dealloc, or None."""
    memrefs, conditions, retained = map(len, operand_groups(op))
    if memrefs != conditions:
        return "must have the same number of conditions as memrefs to deallocate"
    if len(op.results) != retained:
        return "must have the same number of updated conditions (results) as retained operands"
    return None


# --- rules of attributes ----------------------------------------------------------------------------------------------
#
# Attributes of the dialect on ops of any dialect, and on arguments of functions, in the words of MLIR.

_ALLOCATE_OR_FREE = frozenset((
    "bufferization.clone", "llvm.alloca", "memref.alloc", "memref.alloca", "memref.dealloc", "memref.realloc",
))  # fmt: skip


def wrong_op_attribute(op: Operation, name: str, _: at.Attribute) -> str | None:
    """Return what is wrong with an attribute of the dialect on an op, or None."""
    if name != "bufferization.manual_deallocation":
        return d.Unprefixed(f"attribute '\"{name}\"' not supported as an op attribute by the bufferization dialect")
    if op.name in _ALLOCATE_OR_FREE:
        return None
    return f"attribute '{name}' can be used only on ops that have an allocation and/or free side effect"


def wrong_argument_attribute(function: Operation, name: str, attribute: at.Attribute) -> str | None:
    """Return what is wrong with an attribute of the dialect on an argument of a function, or None."""
    problem = None
    if name == "bufferization.writable":
        if not d.BOOL_ATTR.accepts(attribute):
            problem = f"'{name}' is expected to be a boolean attribute"
        elif not function.regions[0].blocks:
            problem = f"'{name}' is invalid on external functions"
    elif name == "bufferization.access":
        if not isinstance(attribute, at.StringAttr):
            problem = f"'{name}' is expected to be a string attribute"
        elif attribute.value not in ("none", "read", "write", "read-write"):
            problem = f"invalid value for '{name}'"
    elif name == "bufferization.buffer_layout":
        if not isinstance(attribute, at.AffineMapAttr | at.StridedLayoutAttr):
            problem = f"'{name}' is expected to be a memref layout attribute"
    else:  # MLIR names the last of its attributes, and not the one that the function has
        problem = (
            "attribute 'bufferization.buffer_layout' not supported as a region arg attribute by the bufferization "
        )
        problem += "dialect"
    return None if problem is None else d.Unprefixed(problem)


# --- ops --------------------------------------------------------------------------------------------------------------

bufferization = d.Dialect("bufferization")
bufferization.attribute_rule = wrong_op_attribute
bufferization.argument_rule = wrong_argument_attribute

_TENSOR_LIKE = d.TypeConstraint("TensorLikeType instance", lambda type_: isinstance(type_, ty.TensorType))
_BUFFER_LIKE = d.TypeConstraint("BufferLikeType instance", ANY_MEMREF.accepts)
_ANY_MEMREF = d.TypeConstraint(ANY_MEMREF.description, ANY_MEMREF.accepts, d.TypeKind("", ANY_MEMREF.accepts))


def _flag(name: str) -> d.Property:
    return d.Property(name, d.UNIT_ATTR, optional=True)


bufferization.op(
    "alloc_tensor",
    "`(` $dynamic_sizes `)` (`copy` `(` $copy^ `)`)? (`size_hint` `` `=` `` $size_hint^)? attr-dict `:` type($result)",
    operands=(d.variadic("dynamic_sizes", d.INDEX), d.optional("copy", d.TENSOR), d.optional("size_hint", d.INDEX)),
    results={"result": d.TENSOR},
    properties=(d.Property("memory_space", d.ANY_ATTR, optional=True),),
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    type_rules=(d.inferred_type("copy", "result", lambda type_: (type_,)),),
    verify=verify_alloc_tensor,
    evaluate=OnValues(alloc_tensor),
)
bufferization.op(
    "clone",
    "$input attr-dict `:` type($input) `to` type($output)",
    operands={"input": _ANY_MEMREF},
    results={"output": _ANY_MEMREF},
    evaluate=OnValues(clone, raw=True),
)
bufferization.op(
    "dealloc",
    "(` ` `(` $memrefs^ `:` type($memrefs) `)` `if` ` ` `(` $conditions `)`)? "
    "(`retain` ` ` `(` $retained^ `:` type($retained) `)`)? attr-dict",
    operands=(d.variadic("memrefs", ANY_MEMREF), d.variadic("conditions", d.BOOL), d.variadic("retained", ANY_MEMREF)),
    results=(d.variadic("updatedConditions", d.BOOL),),
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    type_rules=(d.inferred_type("updatedConditions", "retained", lambda types: (ty.I1,) * len(types)),),
    verify=verify_dealloc,
    evaluate=OnValues(dealloc, raw=True, words=refused, no_lanes=True),
)
# What reads the tensor after it is wrong, and values do not show that.
bufferization.op(
    "dealloc_tensor",
    "$tensor attr-dict `:` type($tensor)",
    operands={"tensor": d.TENSOR},
    evaluate=OnValues(lambda op, settings: lambda run, operands: ()),
)
bufferization.op(
    "materialize_in_destination",
    "$source `in` (`restrict` $restrict^)? (`writable` $writable^)? $dest attr-dict "
    "`:` functional-type(operands, results)",
    operands={"source": d.TENSOR, "dest": d.ANY},
    results=(d.optional("result", d.TENSOR),),
    properties=(_flag("restrict"), _flag("writable")),
    verify=verify_materialize,
    evaluate=OnValues(materialize, raw=True),
)
bufferization.op(
    "to_buffer",
    "$tensor (`read_only` $read_only^)? attr-dict `:` type($tensor) `to` type($buffer)",
    operands={"tensor": _TENSOR_LIKE},
    results={"buffer": _BUFFER_LIKE},
    properties=(_flag("read_only"),),
    verify=verify_same_shape,
    evaluate=OnValues(to_buffer, raw=True),
)
bufferization.op(
    "to_tensor",
    "$buffer (`restrict` $restrict^)? (`writable` $writable^)? attr-dict `:` type($buffer) `to` type($result)",
    operands={"buffer": _BUFFER_LIKE},
    results={"result": _TENSOR_LIKE},
    properties=(_flag("restrict"), _flag("writable")),
    verify=verify_same_shape,
    evaluate=OnValues(to_tensor, raw=True),
)
