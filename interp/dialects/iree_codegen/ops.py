"""The ops of IREE's codegen dialect (reference: its document, and release 3.13 where that is newer)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from halfulp.fp_formats.formats import Mask
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.parameters import has_interface, nested
from halfulp.interp.dialects import iree_gpu
from halfulp.interp.dialects.elementwise import sizes_agree
from halfulp.interp.dialects.iree_codegen import tiled_rules
from halfulp.interp.dialects.iree_codegen.attributes import (
    PIPELINE,
    ROOT_OP,
    inside_constraints,
    iree_codegen,
    is_pipeline,
    verify_assert,
    verify_constraints,
    verify_lookup,
)
from halfulp.interp.dialects.iree_codegen.inner_tiled import inner_tiled, inner_tiled_in_lanes
from halfulp.interp.dialects.linalg.declaring import ITERATOR_TYPE
from halfulp.interp.dialects.memref.evaluate import buffer_in, living
from halfulp.interp.dialects.memref.rules import is_strided
from halfulp.interp.dialects.smt.ops import SMT_BOOL, SMT_INT
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import DYNAMIC
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.errors import UndefinedBehavior, Unsupported
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.ir.types import shape_conflict, spell_shape
from halfulp.interp.run.evaluators import Compiler, Constant, OnFrames, OnValues
from halfulp.interp.run.frames import Action, Function, Lanes, Run, in_lanes, lift
from halfulp.interp.run.settings import Settings, check_allocation, host_values
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.memref_layout import RotateRows, Swizzle, XorShuffle
from halfulp.interp.values.value import Value

# --- hints ------------------------------------------------------------------------------------------------------------
#
# The evaluation of the small ops of iree_codegen: barriers and hints return their operand unchanged.
#
# A hint on an index claims how the index varies over lanes. With ``Settings.check_hints``, a batch checks the claim
# over the lanes that execute the hint together. ``#iree_gpu.lane_constant<N>``: the index is the same in all lanes of a
# group of N consecutive ones; the first group begins at lane 0. ``#iree_gpu.lane_increment<N, step = S>``: it grows by
# S from each lane of a group to the next; with ``aligned``, it is a multiple of N in the first lane of a group. Lanes
# whose index is poison are not checked, since poison may be any number. The claims of other hints are not known here.

NULL_POINTER = ty.DialectType("iree_codegen", "null_pointer")
QUERY = "iree_codegen.query_tile_sizes"


def identity(op: Operation, settings: Settings) -> Function:
    """Return the function that returns the operands unchanged."""
    return lambda run, slots: slots


def nothing(op: Operation, settings: Settings) -> Function:
    """Return the function that does nothing, for an op that only informs listeners."""
    return lambda run, slots: ()


def null_pointer(op: Operation, compiler: Compiler) -> Value:
    """Return the only value of the type of null pointers. In Python it is None; it can only be passed on."""
    return Value(NULL_POINTER, np.array(None, object))


def yielding(op: Operation, compiler: Compiler) -> Action:
    """Return the action that ends a region that runs by itself, such as that of dispatch_config, with its results."""
    return compiler.returning(compiler.slots(op.operands))


def query_tile_sizes(op: Operation, settings: Settings) -> Function:
    """Return the function that runs query_tile_sizes: it returns the sizes that the user's function
    ``externals["iree_codegen.query_tile_sizes"]`` gives for the tensor type.
    """
    function = settings.externals.get(QUERY)
    wanted = op.prop("tensor_type", at.TypeAttr)
    types = [result.type for result in op.results]

    def query(run: Run, slots: tuple[Any, ...]) -> tuple[Any, ...]:
        if function is None:
            raise Unsupported(
                f"'{QUERY}' asks what only the target knows",
                hint=f"give a function that takes the tensor type and returns {len(types)} integers: "
                f'externals={{"{QUERY}": function}}',
            )
        sizes = function(wanted.type)
        if isinstance(sizes, list | np.ndarray):
            sizes = tuple(sizes)
        return host_values(sizes, types, f"the function bound to {QUERY}", settings)

    return query


# --- claims about lanes -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim of a hint: within each group of ``group`` lanes, an index grows by ``step`` from one lane to the next.
    ``aligned``: the index of the first lane of a group is a multiple of ``group``.
    """

    group: int
    step: int = 0
    aligned: bool = False

    @staticmethod
    def of(hint: at.Attribute) -> Claim | None:
        """Return the claim of a hint; None for an unknown hint. Raises Unsupported for groups without lanes."""
        claim = None
        if isinstance(hint, DialectAttr) and hint.definition is iree_gpu.LANE_CONSTANT:
            claim = Claim(hint["group_size"])
        elif isinstance(hint, DialectAttr) and hint.definition is iree_gpu.LANE_INCREMENT:
            claim = Claim(hint["group_size"], hint["step"], hint["aligned"])
        if claim is not None and claim.group < 1:
            raise Unsupported(f"the hint {hint} cannot be checked: its groups hold {claim.group} lanes")
        return claim

    def broken(self, index: Value | int, lanes: Lanes, width: int) -> tuple[Mask, str] | None:
        """Return the lanes in which the claim is wrong, and the problem of the first of them; None if the claim holds.

        ``width``: the bits of an index, which wraps.
        """
        numbers = lanes.numbers.astype(np.int64)
        spare = np.int64(64 - width)
        bits = np.broadcast_to(np.asarray(index.bits if isinstance(index, Value) else index, np.uint64), numbers.shape)
        clean = np.ones(numbers.shape, np.bool_)
        if isinstance(index, Value) and index.poison is not None:
            clean = np.broadcast_to(~index.poisoned, numbers.shape)
        values = (bits.view(np.int64) << spare) >> spare
        places = np.flatnonzero(clean)
        within = numbers % self.group
        bases = ((values - within * np.int64(self.step)) << spare) >> spare
        # Lanes ascend, so that the first place of a group is its first lane.
        _, first, group = np.unique(numbers[places] // self.group, return_index=True, return_inverse=True)
        reference = places[first[group]]
        differs = bases[places] != bases[reference]
        wrong = differs | (bases[places] % self.group != 0) if self.aligned else differs
        if not wrong.any():
            return None
        mask = np.zeros(numbers.shape, np.bool_)
        mask[places[wrong]] = True
        at_fault = int(np.argmax(wrong))
        lane, other = places[at_fault], reference[at_fault]
        if differs[at_fault]:
            return mask, f"{values[other]} in lane {numbers[other]}, but {values[lane]} in lane {numbers[lane]}"
        return mask, (
            f"{values[lane]} in lane {numbers[lane]}, so that the first lane of its group, "
            f"{numbers[lane] - within[lane]}, has {bases[lane]}, which is not a multiple of {self.group}"
        )


def index_hint(op: Operation, settings: Settings) -> Function:
    """Return the function that returns the index itself. In a batch whose settings check hints, it first compares all
    lanes, and raises UndefinedBehavior if the hint is wrong.
    """
    hint = op.properties["hint"]
    claim = Claim.of(hint) if settings.check_hints else None
    if claim is None:
        return identity(op, settings)

    def checked(run: Run, slots: tuple[Any, ...]) -> tuple[Any, ...]:
        broken = None if run.lanes is None else claim.broken(slots[0], run.lanes, settings.index_width)
        if broken is not None:
            mask, what = broken
            report = UndefinedBehavior(
                f"{op.name}: the hint {hint} does not hold: {what}", location=op.location, op=op.name
            )
            raise in_lanes(report, run.lanes, mask)
        return slots

    return checked


# --- memory -----------------------------------------------------------------------------------------------------------
#
# iree_codegen on buffers: copies between tensors and memrefs, the numbers of a memref, and swizzled memory.
#
# With the setting ``swizzle="physical"``, the memref that `swizzle_hint` returns is swizzled: elements and vectors that
# ops load from it or store to it directly are at their physical place, so that other users of the same memory see them
# permuted. The hint has no effect on a tensor, on a memref of another rank than 1, or on one whose elements are not
# contiguous. It also ends at memref.cast, memref.subview, load_from_buffer and store_to_buffer, and where its result
# passes through a call, a branch, a loop or a selection.

Slots = Sequence[Any]


def load_from_buffer(op: Operation, settings: Settings) -> Function:
    """Return the function that copies a memref into a tensor. The actual dimensions must fit both types."""
    type_ = op.results[0].type

    def load(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = living(op, slots[0], 0)
        conflict = shape_conflict(type_, buffer.shape)
        if conflict:
            raise undefined(op, conflict)
        check_allocation(type_, buffer.shape, settings)
        return (buffer.load(type_, run.origins),)

    return load


def store_to_buffer(op: Operation, settings: Settings) -> Function:
    """Return the function that copies a tensor into a memref of the same shape."""
    type_ = op.operands[0].type

    def store(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer, value = living(op, slots[1], 1), lift(slots[0], type_)
        if value.shape != buffer.shape:
            shapes = f"{spell_shape(value.shape)} into a memref of shape {spell_shape(buffer.shape)}"
            raise undefined(op, f"cannot store a tensor of shape {shapes}")
        buffer.store(value, run.origins)
        return ()

    return store


def extract_strided_metadata(op: Operation, settings: Settings) -> Function:
    """Return the function that splits a memref into its memory as a memref of rank 0, the offset, the sizes and the
    strides.

    The numbers are those of the buffer at run time, not those of its type. The offset is counted from the first element
    of the memory.
    """
    base = narrowed(op.results[0].type, ty.MemRefType)
    mask = (1 << settings.index_width) - 1

    def extract(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = buffer_in(op, slots[0], 0)
        start = Buffer(base, buffer.allocation, 0, (), ())
        return (start, *(number & mask for number in (buffer.offset, *buffer.shape, *buffer.strides)))

    return extract


def swizzle_hint(op: Operation, settings: Settings) -> Function:
    """Return the function that returns the operand itself, swizzled if the settings ask for it and it is possible. If a
    hint is applied to a hint, only the outer one counts.
    """
    swizzle = op.properties["swizzle"]
    if settings.swizzle == "hint" or not isinstance(op.operands[0].type, ty.MemRefType):
        return lambda run, slots: (slots[0],)
    assert isinstance(swizzle, DialectAttr)

    def swizzled(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = slots[0]
        if not isinstance(buffer, Buffer) or len(buffer.shape) != 1 or not buffer.is_contiguous:
            return (buffer,)
        return (replace(buffer, swizzle=_permutation(swizzle)),)

    return swizzled


def _permutation(found: DialectAttr) -> Swizzle:
    """Return the permutation of offsets of an attribute. Raises Unsupported for widths that do not make a
    permutation.
    """
    given = dict(zip([parameter.name for parameter in found.definition.parameters], found.values, strict=True))
    if found.definition.name == "iree_codegen.xor_shuffle":
        stride, phase = given.pop("row_stride"), given.pop("per_phase")
        given |= {
            "row_stride": given["row_width"] if stride is None else stride,
            "per_phase": 1 if phase is None else phase,
        }
    if any(number <= 0 for number in given.values()):
        raise Unsupported(f"elements cannot be moved by '{found}': its numbers must be positive")
    return RotateRows(**given) if len(given) == 2 else XorShuffle(**given)


# --- ops --------------------------------------------------------------------------------------------------------------

iree_codegen.types["null_pointer"] = lambda p: NULL_POINTER

# --- constraints of types and attributes ------------------------------------------------------------------------------


def _is_ranked(type_: ty.Type) -> bool:
    return isinstance(type_, ty.TensorType | ty.MemRefType) and type_.shape is not None


STRIDED_MEMREF = d.TypeConstraint("strided memref of any type values", is_strided, d.MEMREF_KIND)
RANKED_TENSOR_OR_MEMREF = d.TypeConstraint("ranked tensor or memref of any type", _is_ranked)
TILED_RESULT = d.TypeConstraint(
    "ranked tensor or vector of any type values",
    lambda type_: isinstance(type_, ty.VectorType) or (isinstance(type_, ty.TensorType) and type_.shape is not None),
)
# The document has memrefs as well, which release 3.13 refuses.
TILED = d.TypeConstraint(TILED_RESULT.description, lambda type_: is_strided(type_) or TILED_RESULT.accepts(type_))
NULL_POINTER_TYPE = d.TypeConstraint(
    "Pseudo null-pointer type. Lowers to a null pointer.",
    lambda type_: type_ == NULL_POINTER,
    builds=NULL_POINTER,
)


def _with(word: str, description: str) -> d.AttributeConstraint:
    return d.AttributeConstraint(description, lambda found: has_interface(found, word))


def _is_tensor_type(found: at.Attribute) -> bool:
    return isinstance(found, at.TypeAttr) and isinstance(found.type, ty.TensorType)


def _are_iterators(found: at.Attribute) -> bool:
    return isinstance(found, at.ArrayAttr) and all(ITERATOR_TYPE.accepts(element) for element in found.elements)


def _are_permutations(found: at.Attribute) -> bool:
    return isinstance(found, at.ArrayAttr) and all(
        d.INTEGER_64_ARRAY_ATTR.accepts(element) for element in found.elements
    )


# --- ops on tensors and buffers ---------------------------------------------------------------------------------------


def _verify_metadata(op: Operation) -> str | None:
    source = narrowed(op.operands[0].type, ty.MemRefType)
    base = ty.MemRefType((), source.element, None, source.memory_space)
    expected = [base, ty.INDEX, *([ty.INDEX] * (2 * len(source.shape or ())))]
    given = [result.type for result in op.results]
    if expected == given:
        return None
    inferred, written = (", ".join(f"'{type_}'" for type_ in types) for types in (expected, given))
    return f"inferred type(s) {inferred} are incompatible with return type(s) of operation {written}"


def _metadata_names(op: Operation) -> tuple[str | None, ...]:
    rank = (len(op.results) - 2) // 2
    sizes = ("sizes", *[None] * (rank - 1), "strides", *[None] * (rank - 1)) if rank else ()
    return ("base_buffer", "offset", *sizes)


def _verify_copy(tensor: ty.Type, buffer: ty.Type, order: str) -> str | None:
    one, two = ty.shape_of(tensor) or (), ty.shape_of(buffer) or ()
    if sizes_agree(one, two) and ty.element_type(tensor) == ty.element_type(buffer):
        return None
    return f"{order} shapes must be compatible and element types must match"


iree_codegen.op(
    "extract_strided_metadata",
    "$source `:` type($source) `->` type(results) attr-dict",
    operands={"source": STRIDED_MEMREF},
    results=(
        d.Slot("base_buffer", d.TypeConstraint("strided memref of any type values of rank 0", _is_ranked)),
        d.Slot("offset", d.INDEX),
        d.variadic("sizes", d.INDEX),
        d.variadic("strides", d.INDEX),
    ),
    verify=_verify_metadata,
    named_results=_metadata_names,
    evaluate=OnValues(extract_strided_metadata, raw=True),
)
iree_codegen.op(
    "fusion_barrier",
    "attr-dict $source `:` type($result)",
    operands={"source": d.RANKED_TENSOR},
    results={"result": d.RANKED_TENSOR},
    traits=(d.Trait.SAME_OPERANDS_AND_RESULT_TYPE,),
    evaluate=OnValues(identity, raw=True),
)
iree_codegen.op(
    "index_hint",
    "$input `(` $hint `)` attr-dict `:` type($input)",
    operands={"input": d.INDEX},
    results={"result": d.INDEX},
    properties=(d.Property("hint", d.ANY_ATTR),),
    evaluate=OnValues(index_hint, raw=True),
)
iree_codegen.op(
    "load_from_buffer",
    "$buffer attr-dict `:` type($buffer) `->` type($tensor)",
    operands={"buffer": STRIDED_MEMREF},
    results={"tensor": d.RANKED_TENSOR},
    verify=lambda op: _verify_copy(op.results[0].type, op.operands[0].type, "buffer and tensor"),
    evaluate=OnValues(load_from_buffer, raw=True),
)
iree_codegen.op(
    "store_to_buffer",
    "$tensor `,` $buffer attr-dict `:` type($tensor) `into` type($buffer)",
    operands={"tensor": d.RANKED_TENSOR, "buffer": STRIDED_MEMREF},
    verify=lambda op: _verify_copy(op.operands[0].type, op.operands[1].type, "tensor and buffer"),
    evaluate=OnValues(store_to_buffer, raw=True),
)
iree_codegen.op("null_pointer", "attr-dict", results={"result": NULL_POINTER_TYPE}, evaluate=Constant(null_pointer))
iree_codegen.op(
    "query_tile_sizes",
    "attr-dict $tensor_type `->` type($results)",
    results=(d.variadic("results", d.INDEX),),
    properties=(d.Property("tensor_type", d.AttributeConstraint("Tensor type attribute", _is_tensor_type)),),
    evaluate=OnValues(query_tile_sizes, raw=True),
)
iree_codegen.op(
    "swizzle_hint",
    "$operand `[` $swizzle attr-dict `]` `:` type($result)",
    operands={"operand": RANKED_TENSOR_OR_MEMREF},
    results={"result": RANKED_TENSOR_OR_MEMREF},
    properties=(d.Property("swizzle", _with("swizzle", "swizzling descriptor attributes")),),
    traits=(d.Trait.SAME_OPERANDS_AND_RESULT_TYPE,),
    evaluate=OnValues(swizzle_hint, raw=True),
)

# --- microkernels -----------------------------------------------------------------------------------------------------


def _is_integer_array(found: at.Attribute) -> bool:
    return isinstance(found, at.ArrayAttr) and all(d.INTEGER_64_ATTR.accepts(element) for element in found.elements)


def _verify_microkernel(op: Operation) -> str | None:
    """Return what is wrong with the results, or None. An output that is a tensor must have a result of the same number,
    and a buffer must be written to.
    """
    segments = op.prop("operandSegmentSizes", at.DenseArrayAttr)
    first, count = segments.values[:2]
    results = [result.type for result in op.results]
    tensors = [place for place in range(first, first + count) if isinstance(op.operands[place].type, ty.TensorType)]
    given, wanted = sum(isinstance(type_, ty.TensorType) for type_ in results), len(tensors)
    if given != wanted:
        return f"expected the number of tensor results ({given}) to be equal to the number of output tensors ({wanted})"
    for place in tensors:
        type_ = op.operands[place].type
        if place - first >= len(results):
            # IREE reads past the end here.
            return f"expected operand #{place} to have a corresponding result"
        result = results[place - first]
        if type_ != result:
            return f"expected type of operand #{place} ('{type_}') to match type of corresponding result ('{result}')"
    return None


# Not in the document. Any function of the target may be its body, so that it is not evaluated.
iree_codegen.op(
    "ukernel.generic",
    "attr-dict $u_kernel_fn_name (`ins` `(` $inputs^ `:` type($inputs) `)`)? "
    "(`outs` `(` $outputs^ `:` type($outputs) `)`)? (`(` $other_operands^ `:` type($other_operands) `)`)? "
    "(`fn_def_attrs` $fn_def_attrs^)? (`strided_dims` `(` $strided_dims^ `)`)? (`->` type($results)^)?",
    operands=(
        d.variadic("inputs", d.ANY),
        d.variadic("outputs", RANKED_TENSOR_OR_MEMREF),
        d.variadic("other_operands", d.ANY),
    ),
    results=(d.variadic("results", d.ANY),),
    properties=(
        d.Property("u_kernel_fn_name", d.STRING_ATTR),
        d.Property("fn_def_attrs", d.DICTIONARY_ATTR, optional=True),
        d.Property(
            "strided_dims",
            d.AttributeConstraint(
                "Array of 64-bit integer array attributes",
                lambda found: isinstance(found, at.ArrayAttr) and all(map(_is_integer_array, found.elements)),
            ),
            optional=True,
        ),
    ),
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=_verify_microkernel,
)

# --- workgroups -------------------------------------------------------------------------------------------------------


def _verify_dispatch(op: Operation) -> str | None:
    sizes = op.properties.get("workgroup_size")
    if isinstance(sizes, at.DenseArrayAttr) and not 1 <= len(sizes.codes) <= 3:
        return f"workgroup_size must have 1 to 3 entries, got {len(sizes.codes)}"
    return None


def _verify_counts(op: Operation) -> str | None:
    last = op.regions[0].blocks[0].operations[-1]
    if last.name != "iree_codegen.yield":
        return f"expects regions to end with 'iree_codegen.yield', found '{last.name}'"
    counts = last.operands
    if len(counts) != 3:
        return f"expected terminator to yield exactly 3 operands (workgroup count x, y, z), got {len(counts)}"
    for number, value in enumerate(counts):
        if value.type != ty.INDEX:
            return f"expected terminator operand #{number} to be index type, got '{value.type}'"
    return None


iree_codegen.op(
    "dispatch_config",
    "$function_ref (`workgroup_size` `=` $workgroup_size^)? (`subgroup_size` `=` $subgroup_size^)? "
    "(`workgroup_local_memory` `=` $workgroup_local_memory^)? $body attr-dict",
    properties=(
        d.Property("function_ref", d.FLAT_SYMBOL_REF_ATTR),
        d.Property("workgroup_size", d.INTEGER_64_ARRAY_ATTR, optional=True),
        d.Property("subgroup_size", d.INTEGER_64_ATTR, optional=True),
        d.Property("workgroup_local_memory", d.INDEX_ATTR, optional=True),
    ),
    regions=(d.RegionSlot("body"),),
    traits=(d.Trait.ISOLATED_FROM_ABOVE, d.Trait.SINGLE_BLOCK),
    implicit_terminator="iree_codegen.yield",
    verify=_verify_dispatch,
    verify_regions=_verify_counts,
)


def _verify_hint(op: Operation) -> str | None:
    sizes = op.prop("static_sizes", at.DenseArrayAttr)
    # IREE does not check this, and reads past the end.
    wanted = sizes.codes.count(DYNAMIC)
    return None if wanted == len(op.operands) else f"expected {wanted} dynamic sizes, got {len(op.operands)}"


iree_codegen.op(
    "workgroup_count_hint",
    custom=tiled_rules.COUNT_HINT,
    operands=(d.variadic("sizes", d.INDEX),),
    properties=(d.Property("static_sizes", d.INTEGER_64_ARRAY_ATTR),),
    verify=_verify_hint,
    evaluate=OnValues(nothing, raw=True),
)
iree_codegen.op(
    "yield",
    "attr-dict ($operands^ `:` type($operands))?",
    operands=(d.variadic("operands", d.ANY),),
    traits=(d.Trait.TERMINATOR, d.Trait.RETURN_LIKE),
    evaluate=OnFrames(yielding),
)

# --- tile operations --------------------------------------------------------------------------------------------------

iree_codegen.op(
    "inner_tiled",
    custom=tiled_rules.INNER_TILED,
    operands=(d.variadic("inputs", TILED), d.variadic("outputs", TILED)),
    results=(d.variadic("results", TILED_RESULT),),
    properties=(
        d.Property("indexing_maps", d.AFFINE_MAP_ARRAY_ATTR),
        d.Property("iterator_types", d.AttributeConstraint("Iterator type should be an enum.", _are_iterators)),
        d.Property("kind", _with("mma_kind", "buffer-like constant attribute values")),
        d.Property("semantics", _with("mma_semantics", "Attribute implementing InnerTiledSemanticsAttrInterface")),
        d.Property("permutations", d.AttributeConstraint("permutations", _are_permutations), optional=True),
    ),
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    type_rules=(tiled_rules.TYPES_OF_OUTPUTS,),
    verify=tiled_rules.verify_tiled,
    assume=tiled_rules.one_tile,
    evaluate=OnValues(inner_tiled, in_lanes=inner_tiled_in_lanes),
)

# --- constraints ------------------------------------------------------------------------------------------------------

iree_codegen.op(
    "smt.constraints",
    "`target` `=` $target `,` `pipeline` `=` $pipeline `,` ` ` `\n` `knobs` `=` $knobs `\n` "
    "`dims` `(` $problem_dims `)` attr-dict-with-keyword $body",
    operands=(d.variadic("problem_dims", d.INDEX),),
    properties=(
        d.Property(
            "target",
            d.AttributeConstraint(
                "Marks an operation as a tuner root op in a given set",
                lambda found: isinstance(found, DialectAttr) and found.definition is ROOT_OP,
                form=nested(ROOT_OP),
            ),
        ),
        d.Property("pipeline", d.AttributeConstraint("PipelineAttrInterface instance", is_pipeline, form=PIPELINE)),
        d.Property("knobs", d.DICTIONARY_ATTR),
    ),
    regions=(d.RegionSlot("body"),),
    traits=(d.Trait.ISOLATED_FROM_ABOVE, d.Trait.NO_TERMINATOR, d.Trait.SINGLE_BLOCK),
    verify=verify_constraints,
    # The constraints are for the choice of a configuration; `verdicts` evaluates them.
    evaluate=OnValues(nothing, raw=True),
)
iree_codegen.op(
    "smt.knob",
    "$name attr-dict `:` type($result)",
    results={"result": SMT_INT},
    properties=(d.Property("name", d.STRING_ATTR),),
    verify=inside_constraints,
)
iree_codegen.op(
    "smt.lookup",
    "$index $keys `->` $values attr-dict `:` type($result)",
    operands={"index": SMT_INT},
    results={"result": SMT_INT},
    properties=(
        d.Property("keys", d.INTEGER_64_ARRAY_ATTR),
        d.Property("values", d.INTEGER_64_ARRAY_ATTR),
    ),
    type_rules=(d.same_type("index", "result"),),
    verify=verify_lookup,
)
iree_codegen.op(
    "smt.assert",
    "$condition `,` $msg (`,` $printArgs^)? `:` type($condition) (`,` type($printArgs)^)? attr-dict",
    operands=(d.Slot("condition", SMT_BOOL), d.variadic("printArgs", SMT_INT)),
    properties=(d.Property("msg", d.STRING_ATTR),),
    verify=verify_assert,
)
