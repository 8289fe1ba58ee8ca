"""The ops of IREE's codegen dialect (reference: its document, and release 3.13 where that is newer)."""

from __future__ import annotations

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import (
    Arity,
    AttributeConstraint,
    Property,
    RegionSlot,
    Slot,
    Trait,
    TypeConstraint,
)
from halfulp.interp.declare.parameters import has_interface
from halfulp.interp.declare.type_rules import same_type
from halfulp.interp.dialects.iree_codegen import hints
from halfulp.interp.dialects.iree_codegen import memory as buffers
from halfulp.interp.dialects.iree_codegen.attributes import (
    ROOT_OP,
    iree_codegen,
    is_pipeline,
    read_checked_pipeline,
    spell_pipeline,
)
from halfulp.interp.dialects.iree_codegen.constraint_rules import (
    inside_constraints,
    verify_assert,
    verify_constraints,
    verify_lookup,
)
from halfulp.interp.dialects.iree_codegen.forms import COUNT_HINT, INNER_TILED, constraints_form
from halfulp.interp.dialects.iree_codegen.inner_tiled import inner_tiled, inner_tiled_in_lanes
from halfulp.interp.dialects.iree_codegen.tiled_rules import TYPES_OF_OUTPUTS, one_tile, verify_tiled
from halfulp.interp.dialects.linalg.declaring import ITERATOR_TYPE
from halfulp.interp.dialects.memref.layouts import is_strided
from halfulp.interp.dialects.smt.ops import SMT_BOOL, SMT_INT
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import DYNAMIC
from halfulp.interp.ir.dialect_attributes import DialectAttr, ParameterKind
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Constant, OnFrames, OnValues

iree_codegen.types["null_pointer"] = lambda p: hints.NULL_POINTER

# --- constraints of types and attributes ------------------------------------------------------------------------------


def _is_ranked(type_: ty.Type) -> bool:
    return isinstance(type_, ty.TensorType | ty.MemRefType) and type_.shape is not None


STRIDED_MEMREF = TypeConstraint("strided memref of any type values", is_strided, c.MEMREF_KIND)
RANKED_TENSOR_OR_MEMREF = TypeConstraint("ranked tensor or memref of any type", _is_ranked)
TILED_RESULT = TypeConstraint(
    "ranked tensor or vector of any type values",
    lambda type_: isinstance(type_, ty.VectorType) or (isinstance(type_, ty.TensorType) and type_.shape is not None),
)
# The document has memrefs as well, which release 3.13 refuses.
TILED = TypeConstraint(TILED_RESULT.description, lambda type_: is_strided(type_) or TILED_RESULT.accepts(type_))
NULL_POINTER_TYPE = TypeConstraint(
    "Pseudo null-pointer type. Lowers to a null pointer.",
    lambda type_: type_ == hints.NULL_POINTER,
    builds=hints.NULL_POINTER,
)


def _with(word: str, description: str) -> AttributeConstraint:
    return AttributeConstraint(description, lambda found: has_interface(found, word))


def _is_tensor_type(found: at.Attribute) -> bool:
    return isinstance(found, at.TypeAttr) and isinstance(found.type, ty.TensorType)


def _are_iterators(found: at.Attribute) -> bool:
    return isinstance(found, at.ArrayAttr) and all(ITERATOR_TYPE.accepts(element) for element in found.elements)


def _are_permutations(found: at.Attribute) -> bool:
    return isinstance(found, at.ArrayAttr) and all(
        c.INTEGER_64_ARRAY_ATTR.accepts(element) for element in found.elements
    )


# --- ops on tensors and buffers ---------------------------------------------------------------------------------------


def _verify_metadata(op: Operation) -> str | None:
    source = op.operands[0].type
    assert isinstance(source, ty.MemRefType)
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
    fits = len(one) == len(two) and all(a is None or b is None or a == b for a, b in zip(one, two, strict=True))
    if fits and ty.element_type(tensor) == ty.element_type(buffer):
        return None
    return f"{order} shapes must be compatible and element types must match"


iree_codegen.op(
    "extract_strided_metadata",
    "$source `:` type($source) `->` type(results) attr-dict",
    operands={"source": STRIDED_MEMREF},
    results=(
        Slot("base_buffer", TypeConstraint("strided memref of any type values of rank 0", _is_ranked)),
        Slot("offset", c.INDEX),
        Slot("sizes", c.INDEX, Arity.VARIADIC),
        Slot("strides", c.INDEX, Arity.VARIADIC),
    ),
    verify=_verify_metadata,
    named_results=_metadata_names,
    evaluate=OnValues(buffers.extract_strided_metadata, raw=True),
)
iree_codegen.op(
    "fusion_barrier",
    "attr-dict $source `:` type($result)",
    operands={"source": c.RANKED_TENSOR},
    results={"result": c.RANKED_TENSOR},
    traits=(Trait.SAME_OPERANDS_AND_RESULT_TYPE,),
    evaluate=OnValues(hints.identity, raw=True),
)
iree_codegen.op(
    "index_hint",
    "$input `(` $hint `)` attr-dict `:` type($input)",
    operands={"input": c.INDEX},
    results={"result": c.INDEX},
    properties=(Property("hint", c.ANY_ATTR),),
    evaluate=OnValues(hints.index_hint, raw=True),
)
iree_codegen.op(
    "load_from_buffer",
    "$buffer attr-dict `:` type($buffer) `->` type($tensor)",
    operands={"buffer": STRIDED_MEMREF},
    results={"tensor": c.RANKED_TENSOR},
    verify=lambda op: _verify_copy(op.results[0].type, op.operands[0].type, "buffer and tensor"),
    evaluate=OnValues(buffers.load_from_buffer, raw=True),
)
iree_codegen.op(
    "store_to_buffer",
    "$tensor `,` $buffer attr-dict `:` type($tensor) `into` type($buffer)",
    operands={"tensor": c.RANKED_TENSOR, "buffer": STRIDED_MEMREF},
    verify=lambda op: _verify_copy(op.operands[0].type, op.operands[1].type, "tensor and buffer"),
    evaluate=OnValues(buffers.store_to_buffer, raw=True),
)
iree_codegen.op(
    "null_pointer", "attr-dict", results={"result": NULL_POINTER_TYPE}, evaluate=Constant(hints.null_pointer)
)
iree_codegen.op(
    "query_tile_sizes",
    "attr-dict $tensor_type `->` type($results)",
    results=(Slot("results", c.INDEX, Arity.VARIADIC),),
    properties=(Property("tensor_type", AttributeConstraint("Tensor type attribute", _is_tensor_type)),),
    evaluate=OnValues(hints.query_tile_sizes, raw=True),
)
iree_codegen.op(
    "swizzle_hint",
    "$operand `[` $swizzle attr-dict `]` `:` type($result)",
    operands={"operand": RANKED_TENSOR_OR_MEMREF},
    results={"result": RANKED_TENSOR_OR_MEMREF},
    properties=(Property("swizzle", _with("swizzle", "swizzling descriptor attributes")),),
    traits=(Trait.SAME_OPERANDS_AND_RESULT_TYPE,),
    evaluate=OnValues(buffers.swizzle_hint, raw=True),
)

# --- microkernels -----------------------------------------------------------------------------------------------------


def _is_integer_array(found: at.Attribute) -> bool:
    return isinstance(found, at.ArrayAttr) and all(c.INTEGER_64_ATTR.accepts(element) for element in found.elements)


def _verify_microkernel(op: Operation) -> str | None:
    """Check the results: a tensor among the outputs has the result of the same number, and a buffer is written to."""
    segments = op.properties["operandSegmentSizes"]
    assert isinstance(segments, at.DenseArrayAttr)
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
        Slot("inputs", c.ANY, Arity.VARIADIC),
        Slot("outputs", RANKED_TENSOR_OR_MEMREF, Arity.VARIADIC),
        Slot("other_operands", c.ANY, Arity.VARIADIC),
    ),
    results=(Slot("results", c.ANY, Arity.VARIADIC),),
    properties=(
        Property("u_kernel_fn_name", c.STRING_ATTR),
        Property("fn_def_attrs", c.DICTIONARY_ATTR, optional=True),
        Property(
            "strided_dims",
            AttributeConstraint(
                "Array of 64-bit integer array attributes",
                lambda found: isinstance(found, at.ArrayAttr) and all(map(_is_integer_array, found.elements)),
            ),
            optional=True,
        ),
    ),
    traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
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
        Property("function_ref", c.FLAT_SYMBOL_REF_ATTR),
        Property("workgroup_size", c.INTEGER_64_ARRAY_ATTR, optional=True),
        Property("subgroup_size", c.INTEGER_64_ATTR, optional=True),
        Property("workgroup_local_memory", c.INDEX_ATTR, optional=True),
    ),
    regions=(RegionSlot("body"),),
    traits=(Trait.ISOLATED_FROM_ABOVE, Trait.SINGLE_BLOCK),
    implicit_terminator="iree_codegen.yield",
    verify=_verify_dispatch,
    verify_regions=_verify_counts,
)


def _verify_hint(op: Operation) -> str | None:
    sizes = op.properties["static_sizes"]
    assert isinstance(sizes, at.DenseArrayAttr)
    # IREE does not check this, and reads past the end.
    wanted = sizes.codes.count(DYNAMIC)
    return None if wanted == len(op.operands) else f"expected {wanted} dynamic sizes, got {len(op.operands)}"


iree_codegen.op(
    "workgroup_count_hint",
    custom=COUNT_HINT,
    operands=(Slot("sizes", c.INDEX, Arity.VARIADIC),),
    properties=(Property("static_sizes", c.INTEGER_64_ARRAY_ATTR),),
    verify=_verify_hint,
    evaluate=OnValues(hints.nothing, raw=True),
)
iree_codegen.op(
    "yield",
    "attr-dict ($operands^ `:` type($operands))?",
    operands=(Slot("operands", c.ANY, Arity.VARIADIC),),
    traits=(Trait.TERMINATOR, Trait.RETURN_LIKE),
    evaluate=OnFrames(hints.yielding),
)

# --- tile operations --------------------------------------------------------------------------------------------------

iree_codegen.op(
    "inner_tiled",
    custom=INNER_TILED,
    operands=(Slot("inputs", TILED, Arity.VARIADIC), Slot("outputs", TILED, Arity.VARIADIC)),
    results=(Slot("results", TILED_RESULT, Arity.VARIADIC),),
    properties=(
        Property("indexing_maps", c.AFFINE_MAP_ARRAY_ATTR),
        Property("iterator_types", AttributeConstraint("Iterator type should be an enum.", _are_iterators)),
        Property("kind", _with("mma_kind", "buffer-like constant attribute values")),
        Property("semantics", _with("mma_semantics", "Attribute implementing InnerTiledSemanticsAttrInterface")),
        Property("permutations", AttributeConstraint("permutations", _are_permutations), optional=True),
    ),
    traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    type_rules=(TYPES_OF_OUTPUTS,),
    verify=verify_tiled,
    assume=one_tile,
    evaluate=OnValues(inner_tiled, in_lanes=inner_tiled_in_lanes),
)

# --- constraints ------------------------------------------------------------------------------------------------------

iree_codegen.op(
    "smt.constraints",
    custom=constraints_form(ROOT_OP, ParameterKind(read_checked_pipeline, spell_pipeline)),
    operands=(Slot("problem_dims", c.INDEX, Arity.VARIADIC),),
    properties=(
        Property(
            "target",
            AttributeConstraint(
                "Marks an operation as a tuner root op in a given set",
                lambda found: isinstance(found, DialectAttr) and found.definition is ROOT_OP,
            ),
        ),
        Property("pipeline", AttributeConstraint("PipelineAttrInterface instance", is_pipeline)),
        Property("knobs", c.DICTIONARY_ATTR),
    ),
    regions=(RegionSlot("body"),),
    traits=(Trait.ISOLATED_FROM_ABOVE, Trait.NO_TERMINATOR, Trait.SINGLE_BLOCK),
    verify=verify_constraints,
    # The constraints are for the choice of a configuration; `verdicts` evaluates them.
    evaluate=OnValues(hints.nothing, raw=True),
)
iree_codegen.op(
    "smt.knob",
    "$name attr-dict `:` type($result)",
    results={"result": SMT_INT},
    properties=(Property("name", c.STRING_ATTR),),
    verify=inside_constraints,
)
iree_codegen.op(
    "smt.lookup",
    "$index $keys `->` $values attr-dict `:` type($result)",
    operands={"index": SMT_INT},
    results={"result": SMT_INT},
    properties=(Property("keys", c.INTEGER_64_ARRAY_ATTR), Property("values", c.INTEGER_64_ARRAY_ATTR)),
    type_rules=(same_type("index", "result"),),
    verify=verify_lookup,
)
iree_codegen.op(
    "smt.assert",
    "$condition `,` $msg (`,` $printArgs^)? `:` type($condition) (`,` type($printArgs)^)? attr-dict",
    operands=(Slot("condition", SMT_BOOL), Slot("printArgs", SMT_INT, Arity.VARIADIC)),
    properties=(Property("msg", c.STRING_ATTR),),
    verify=verify_assert,
)
