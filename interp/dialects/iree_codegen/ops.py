"""IREE's codegen dialect (reference: its document, and release 3.13 where that is newer).

The document's enum of pipelines is read where an attribute of release 3.13 stands for the same; ``Custom``, which has
no successor, is kept as that word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import (
    Arity,
    AttributeConstraint,
    Dialect,
    EnumDefinition,
    Parameter,
    ParameterKind,
    Property,
    RegionSlot,
    Slot,
    Trait,
    TypeConstraint,
    TypeRule,
    same_type,
)
from halfulp.interp.dialects import iree_gpu as gpu
from halfulp.interp.dialects.iree_codegen import hints
from halfulp.interp.dialects.iree_codegen import memory as buffers
from halfulp.interp.dialects.iree_codegen.forms import (
    constraints_form,
    count_hint_parser,
    inner_tiled_parser,
    print_count_hint,
    print_inner_tiled,
    results_of,
)
from halfulp.interp.dialects.iree_codegen.inner_tiled import inner_tiled, inner_tiled_in_lanes
from halfulp.interp.dialects.linalg import ITERATOR_TYPE
from halfulp.interp.dialects.memref.ops import is_strided
from halfulp.interp.dialects.smt import INT, SMT_BOOL, SMT_INT
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.errors import VerifyError
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.executor import Constant, Control, Pure
from halfulp.interp.text.assembly import DYNAMIC
from halfulp.interp.text.nested import parts
from halfulp.interp.text.parameters import (
    ARRAY_ATTRIBUTE,
    DICTIONARY,
    INTEGER,
    INTEGERS,
    STRING,
    STRING_ATTRIBUTE,
    SYMBOL,
    TILING_LEVEL,
    TILING_LEVELS,
    attribute,
    flag,
    has_interface,
    keyword,
    nested,
)
from halfulp.interp.text.pipelines import problem_of_pipeline
from halfulp.semantics.matrix_units.kinds import Kind

iree_codegen = Dialect("iree_codegen")

_NAMESPACE = "::mlir::iree_compiler::IREE::Codegen::"

NULL_POINTER = ty.DialectType("iree_codegen", "null_pointer")
iree_codegen.types["null_pointer"] = lambda p: hints.NULL_POINTER

# --- attributes: floating point, microkernels, targets ----------------------------------------------------------------

DENORMAL_FP_MATH = iree_codegen.attribute(
    "denormal_fp_math",
    "`<` $value `>`",
    parameters=(
        Parameter(
            "value",
            keyword(EnumDefinition("Denormal mode for fp math", {"none": 0, "preserve-sign": 1, "positive-zero": 2})),
        ),
    ),
)
iree_codegen.attribute(
    "ukernel_descriptor",
    "`<` $ukernel_name `,` $kind `>`",
    parameters=(
        Parameter("ukernel_name", STRING),
        Parameter(
            "kind",
            keyword(EnumDefinition(f"{_NAMESPACE}UKernelArgumentKind", {"tensor": 0, "memref": 1, "bitcode": 2})),
        ),
    ),
)
iree_codegen.attribute("symbolic_ukernel_provider")
iree_codegen.attribute("workgroup_local")


def _at_most_three(name: str, message: str) -> Any:
    def verify(found: at.DialectAttr) -> str | None:
        return message if len(found[name] or ()) > 3 else None

    return verify


iree_codegen.attribute(
    "simple_target",
    "`<` (`max_workgroup_count` `=` `[` $max_workgroup_count^ `]`)? `>`",
    parameters=(Parameter("max_workgroup_count", INTEGERS, optional=True),),
    verify=_at_most_three("max_workgroup_count", "expected `max_workgroup_count` to have atmost 3 entries"),
)
iree_codegen.attribute(
    "export_config",
    "`<` `workgroup_size` `=` `[` $workgroup_size `]` `>`",
    parameters=(Parameter("workgroup_size", INTEGERS),),
    verify=_at_most_three("workgroup_size", "expected workgroup size to have atmost 3 entries"),
)

# --- attributes: pipelines --------------------------------------------------------------------------------------------

NO_PIPELINE = iree_codegen.attribute("no_pipeline", interfaces={"pipeline"})
VMVX_PIPELINE = iree_codegen.attribute("vmvx_pipeline", interfaces={"pipeline"})
TRANSFORM_PIPELINE = iree_codegen.attribute("transform_dialect_codegen", interfaces={"pipeline"})


def _verify_pipeline(found: at.DialectAttr) -> str | None:
    # IREE also asks whether it knows all passes and their options.
    problem = problem_of_pipeline(found["pipeline"])
    return None if problem is None else f"invalid pass pipeline specification: '{found['pipeline']}': {problem}"


PASS_PIPELINE = iree_codegen.attribute(
    "pass_pipeline",
    "`<` $pipeline `>`",
    parameters=(Parameter("pipeline", STRING),),
    verify=_verify_pipeline,
    interfaces={"pipeline"},
)
CUSTOM_PIPELINE = iree_codegen.attribute("custom_pipeline", interfaces={"pipeline"})
# The document's enum.
_WORDS = {
    "None": at.DialectAttr(NO_PIPELINE, ()),
    "VMVXDefault": at.DialectAttr(VMVX_PIPELINE, ()),
    "TransformDialectCodegen": at.DialectAttr(TRANSFORM_PIPELINE, ()),
    "Custom": at.DialectAttr(CUSTOM_PIPELINE, ()),
}


def _is_pipeline(found: at.Attribute) -> bool:
    return has_interface(found, "pipeline") or isinstance(found, at.OpaqueAttr)


def _read_pipeline(p: Any) -> at.Attribute:
    word = _WORDS.get(p.tokens[p.pos])
    if word is None:
        found: at.Attribute = p.attribute()
        return found
    p.pos += 1
    return word


def _read_checked_pipeline(p: Any) -> at.Attribute:
    start = p.pos
    found = _read_pipeline(p)
    if not _is_pipeline(found):
        p.error("custom op 'iree_codegen.smt.constraints' invalid kind of attribute specified", start)
    return found


def _spell_pipeline(found: at.Attribute, names: Any) -> str:
    return "Custom" if found == _WORDS["Custom"] else at.spell_nested(found, names)


def _verify_translation(found: at.DialectAttr) -> str | None:
    pipeline, sizes = found["passPipeline"], found["workgroupSize"] or ()
    if not _is_pipeline(pipeline):
        return "pass pipeline must implement PipelineAttrInterface"
    if found["codegenSpec"] is not None and getattr(pipeline, "definition", None) is not TRANSFORM_PIPELINE:
        return "transform dialect codegen spec requires transform dialect codegen pipeline"
    if len(sizes) > 3:
        return "workgroup size cannot have more than 3 entries"
    if any(size <= 0 for size in sizes):
        return "workgroup size value has to be greater than zero"
    return "subgroup size value cannot be negative" if found["subgroupSize"] < 0 else None


TRANSLATION_INFO = iree_codegen.attribute(
    "translation_info",
    "`<` `pipeline` `=` $passPipeline (`codegen_spec` `=` $codegenSpec^)? "
    "(`workgroup_size` `=` `[` $workgroupSize^ `]`)? (`subgroup_size` `=` $subgroupSize^)? (`,` $configuration^)? `>`",
    parameters=(
        Parameter("passPipeline", ParameterKind(_read_pipeline, _spell_pipeline)),
        Parameter("codegenSpec", SYMBOL, optional=True),
        Parameter("workgroupSize", INTEGERS, optional=True),
        Parameter("subgroupSize", INTEGER, optional=True, default=0),
        Parameter("configuration", DICTIONARY, optional=True),
    ),
    verify=_verify_translation,
    alias="translation",
)

# --- attributes: tile sizes -------------------------------------------------------------------------------------------

TILING_LEVELS_ATTR = iree_codegen.attribute(
    "lowering_config_levels", "$value", parameters=(Parameter("value", TILING_LEVELS),)
)
iree_codegen.attribute("lowering_config_level", "$value", parameters=(Parameter("value", TILING_LEVEL),))
LOWERING_CONFIG = iree_codegen.attribute(
    "lowering_config",
    "`<` `tile_sizes` `=` $tilingLevels `>`",
    parameters=(Parameter("tilingLevels", TILING_LEVELS),),
    alias="config",
    interfaces={"lowering_config"},
)
iree_codegen.attribute(
    "compilation_info",
    "`<` `lowering_config` `=` $loweringConfig `,` `translation_info` `=` $translationInfo `>`",
    parameters=(
        Parameter(
            "loweringConfig",
            attribute(lambda found: has_interface(found, "lowering_config") or isinstance(found, at.OpaqueAttr)),
        ),
        Parameter("translationInfo", nested(TRANSLATION_INFO)),
    ),
    alias="compilation",
)
ROOT_OP = iree_codegen.attribute("root_op", "`<` `set` `=` $set `>`", parameters=(Parameter("set", INTEGER),))

# --- attributes: swizzles ---------------------------------------------------------------------------------------------


def _verify_rotation(found: at.DialectAttr) -> str | None:
    row, access = found["row_width"], found["access_width"]
    # IREE divides by zero here.
    return None if access and row % access == 0 else "expected access width to divide row width"


def _verify_shuffle(found: at.DialectAttr) -> str | None:
    problem = _verify_rotation(found)
    if problem is not None:
        return problem
    row, access, stride, phase = found.values
    if phase is not None and phase > row // access:
        return "per_phase must be smaller than max_phase"
    if stride is not None and (not row or stride % row):
        return "expected row width to divide row stride"
    return None


_WIDTHS = (Parameter("row_width", INTEGER), Parameter("access_width", INTEGER))
ROTATE_ROWS = iree_codegen.attribute(
    "rotate_rows",
    "`<` $row_width `,` $access_width `>`",
    parameters=_WIDTHS,
    verify=_verify_rotation,
    interfaces={"swizzle"},
)
XOR_SHUFFLE = iree_codegen.attribute(
    "xor_shuffle",
    "`<` $row_width `,` $access_width (`,` $row_stride^)? (`,` $per_phase^)? `>`",
    parameters=(
        *_WIDTHS,
        Parameter("row_stride", INTEGER, optional=True),
        Parameter("per_phase", INTEGER, optional=True),
    ),
    verify=_verify_shuffle,
    interfaces={"swizzle"},
)

# --- attributes: distribution -----------------------------------------------------------------------------------------


def _verify_mapping(found: at.DialectAttr) -> str | None:
    wrong = found["delinearizedDim"] > 0 and found["id"] != "z"
    return f"illegal to use `delinearizationDim` for {found['id']}" if wrong else None


iree_codegen.attribute(
    "workgroup_mapping",
    "`<` $id (`` `:` `` $delinearizedDim^)? `>`",
    parameters=(
        Parameter("id", keyword(EnumDefinition(f"{_NAMESPACE}WorkgroupId", {"x": 0, "y": 1, "z": 2}))),
        Parameter("delinearizedDim", INTEGER, optional=True, default=0),
    ),
    verify=_verify_mapping,
)
iree_codegen.attribute("local_mapping", "`<` $dim `>`", parameters=(Parameter("dim", INTEGER),))
iree_codegen.attribute(
    "workgroup_scope",
    "(`<` $linearize^ `>`)?",
    parameters=(Parameter("linearize", flag("linearize"), optional=True, default=False),),
)

# --- attributes: knobs ------------------------------------------------------------------------------------------------

INT_KNOB = iree_codegen.attribute("smt.int_knob", "`<` $name `>`", parameters=(Parameter("name", STRING_ATTRIBUTE),))
ONE_OF_KNOB = iree_codegen.attribute(
    "smt.one_of_knob",
    "`<` $name `,` $options `>`",
    parameters=(Parameter("name", STRING_ATTRIBUTE), Parameter("options", ARRAY_ATTRIBUTE)),
)

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
    evaluate=Pure(buffers.extract_strided_metadata, raw=True),
)
iree_codegen.op(
    "fusion_barrier",
    "attr-dict $source `:` type($result)",
    operands={"source": c.RANKED_TENSOR},
    results={"result": c.RANKED_TENSOR},
    traits=(Trait.SAME_OPERANDS_AND_RESULT_TYPE,),
    evaluate=Pure(hints.identity, raw=True),
)
iree_codegen.op(
    "index_hint",
    "$input `(` $hint `)` attr-dict `:` type($input)",
    operands={"input": c.INDEX},
    results={"result": c.INDEX},
    properties=(Property("hint", c.ANY_ATTR),),
    evaluate=Pure(hints.index_hint, raw=True),
)
iree_codegen.op(
    "load_from_buffer",
    "$buffer attr-dict `:` type($buffer) `->` type($tensor)",
    operands={"buffer": STRIDED_MEMREF},
    results={"tensor": c.RANKED_TENSOR},
    verify=lambda op: _verify_copy(op.results[0].type, op.operands[0].type, "buffer and tensor"),
    evaluate=Pure(buffers.load_from_buffer, raw=True),
)
iree_codegen.op(
    "store_to_buffer",
    "$tensor `,` $buffer attr-dict `:` type($tensor) `into` type($buffer)",
    operands={"tensor": c.RANKED_TENSOR, "buffer": STRIDED_MEMREF},
    verify=lambda op: _verify_copy(op.operands[0].type, op.operands[1].type, "tensor and buffer"),
    evaluate=Pure(buffers.store_to_buffer, raw=True),
)
iree_codegen.op(
    "null_pointer", "attr-dict", results={"result": NULL_POINTER_TYPE}, evaluate=Constant(hints.null_pointer)
)
iree_codegen.op(
    "query_tile_sizes",
    "attr-dict $tensor_type `->` type($results)",
    results=(Slot("results", c.INDEX, Arity.VARIADIC),),
    properties=(Property("tensor_type", AttributeConstraint("Tensor type attribute", _is_tensor_type)),),
    evaluate=Pure(hints.query_tile_sizes, raw=True),
)
iree_codegen.op(
    "swizzle_hint",
    "$operand `[` $swizzle attr-dict `]` `:` type($result)",
    operands={"operand": RANKED_TENSOR_OR_MEMREF},
    results={"result": RANKED_TENSOR_OR_MEMREF},
    properties=(Property("swizzle", _with("swizzle", "swizzling descriptor attributes")),),
    traits=(Trait.SAME_OPERANDS_AND_RESULT_TYPE,),
    evaluate=Pure(buffers.swizzle_hint, raw=True),
)

# --- microkernels -----------------------------------------------------------------------------------------------------


def _is_integer_array(found: at.Attribute) -> bool:
    return isinstance(found, at.ArrayAttr) and all(c.INTEGER_64_ATTR.accepts(element) for element in found.elements)


def _verify_microkernel(op: Operation) -> str | None:
    """A tensor among the outputs comes out as the result of the same number; a buffer is written to."""
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


# Not in the document: any function of the target may be its body.
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
    # IREE does not ask, and reads past the end.
    wanted = sizes.codes.count(DYNAMIC)
    return None if wanted == len(op.operands) else f"expected {wanted} dynamic sizes, got {len(op.operands)}"


iree_codegen.op(
    "workgroup_count_hint",
    custom=(count_hint_parser, print_count_hint),
    operands=(Slot("sizes", c.INDEX, Arity.VARIADIC),),
    properties=(Property("static_sizes", c.INTEGER_64_ARRAY_ATTR),),
    verify=_verify_hint,
    evaluate=Pure(hints.nothing, raw=True),
)
iree_codegen.op(
    "yield",
    "attr-dict ($operands^ `:` type($operands))?",
    operands=(Slot("operands", c.ANY, Arity.VARIADIC),),
    traits=(Trait.TERMINATOR, Trait.RETURN_LIKE),
    evaluate=Control(hints.yielding),
)

# --- tile operations --------------------------------------------------------------------------------------------------


def operand_elements(kind: at.DialectAttr, row: Kind) -> tuple[ty.Type, ...]:
    """The element type of each operand, in the order of `Kind.operand_shapes`."""
    if row.block is None:
        return tuple(map(_scalar, row.types))
    scale = ty.F("f8E8M0FNU")
    return kind["lhs_elem_type"], kind["rhs_elem_type"], scale, scale, kind["acc_elem_type"]


def _scalar(name: str) -> ty.Type:
    return ty.IntegerType(int(name[1:])) if name[0] == "i" else ty.F(name)


def expected_tiles(kind: at.Attribute, semantics: at.Attribute) -> tuple[ty.VectorType, ...] | None:
    """What the semantics makes of the tile of each operand, before its permutation; None where that is not known."""
    row = gpu.kind_of(kind)
    if row is None or not isinstance(kind, at.DialectAttr) or not isinstance(semantics, at.DialectAttr):
        return None
    shapes = row.lane_shapes if semantics["distributed"] else row.operand_shapes
    if shapes is None:
        return None
    elements = operand_elements(kind, row)
    return tuple(ty.VectorType(shape, element) for shape, element in zip(shapes, elements, strict=True))


def _input_count(kind: at.DialectAttr) -> int:
    return 4 if kind.definition in (gpu.SCALED_MMA_LAYOUT, gpu.DATA_TILED_SCALED_MMA_LAYOUT) else 2


def _verify_tiled(op: Operation) -> str | None:
    return next(_problems_of_tiled(op), None)


def _problems_of_tiled(op: Operation) -> Iterator[str]:
    kind, semantics = op.properties["kind"], op.properties["semantics"]
    segments = op.properties["operandSegmentSizes"]
    maps, iterators = op.properties["indexing_maps"], op.properties["iterator_types"]
    assert isinstance(kind, at.DialectAttr)
    assert isinstance(semantics, at.DialectAttr)
    assert isinstance(segments, at.DenseArrayAttr)
    assert isinstance(maps, at.ArrayAttr)
    assert isinstance(iterators, at.ArrayAttr)
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
    """Whether every loop is used, and the scales go where their operand goes."""
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
    """Whether each operand's inner tile is what kind and semantics say, after its permutation."""
    kind, semantics = op.properties["kind"], op.properties["semantics"]
    expected = expected_tiles(kind, semantics)
    if expected is None:
        return
    assert isinstance(semantics, at.DialectAttr)
    opaque = semantics["opaque"]
    permutations = op.properties.get("permutations")
    for number, (value, tile, wanted) in enumerate(zip(op.operands, inner, expected, strict=True)):
        shape = wanted.shape
        if isinstance(permutations, at.ArrayAttr) and not opaque:
            permutation = permutations.elements[number]
            assert isinstance(permutation, at.DenseArrayAttr)
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


_TYPES_OF_OUTPUTS = TypeRule(
    "results must have the types of the outputs",
    _solve_results,
    lambda types, properties: bool(types["results"] == results_of(types["outputs"])),
)


def _one_tile(properties: dict[str, at.Attribute], count: int) -> tuple[ty.Type, ...]:
    """What inner_tiled may leave out: without maps, it has no loops; without iterator types, the loops of the last map
    are parallel, the others reductions; it is neither distributed nor opaque; and it has one output.
    """
    kind = properties.get("kind")
    properties.setdefault("operandSegmentSizes", at.DenseArrayAttr(ty.I32, (max(0, count - 1), min(1, count))))
    row = None if kind is None else gpu.kind_of(kind)
    if row is not None:
        properties.setdefault("semantics", at.DialectAttr(gpu.MMA_SEMANTICS, (False, False)))
    if "iterator_types" not in properties:
        properties.setdefault("indexing_maps", at.ArrayAttr((at.AffineMapAttr(0, 0, ()),) * count))
    maps = properties.get("indexing_maps")
    last = maps.elements[-1] if isinstance(maps, at.ArrayAttr) and maps.elements else None
    words: list[str] = []
    if isinstance(last, at.AffineMapAttr):
        kept = {result.position for result in last.results if isinstance(result, Dimension)}
        words = ["parallel" if loop in kept else "reduction" for loop in range(last.dimensions)]
    iterators = [at.EnumAttr(ITERATOR_TYPE, ITERATOR_TYPE.cases[word]) for word in words]
    properties.setdefault("iterator_types", at.ArrayAttr(tuple(iterators)))
    return operand_elements(kind, row) if row is not None and isinstance(kind, at.DialectAttr) else ()


iree_codegen.op(
    "inner_tiled",
    custom=(inner_tiled_parser, print_inner_tiled),
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
    type_rules=(_TYPES_OF_OUTPUTS,),
    verify=_verify_tiled,
    assume=_one_tile,
    evaluate=Pure(inner_tiled, in_lanes=inner_tiled_in_lanes),
)

# --- constraints ------------------------------------------------------------------------------------------------------

CONSTRAINTS = "iree_codegen.smt.constraints"


def knobs_in(found: at.Attribute) -> Iterator[tuple[str, at.DialectAttr]]:
    """Every knob inside an attribute, with its name."""
    stack: list[at.Attribute | ty.Type] = [found]
    while stack:
        thing = stack.pop()
        if isinstance(thing, at.DialectAttr) and thing.definition in (INT_KNOB, ONE_OF_KNOB):
            yield thing["name"].value, thing
        stack += parts(thing)


def _verify_constraints(op: Operation) -> str | None:
    block = op.regions[0].blocks[0]
    if len(block.arguments) != len(op.operands):
        return f"expected {len(op.operands)} block arguments but got {len(block.arguments)}"
    for number, argument in enumerate(block.arguments):
        if argument.type != INT:
            return f"block argument #{number} must be !smt.int but got '{argument.type}'"
    known = {name for name, _ in knobs_in(op.properties["knobs"])}
    seen: dict[str, Operation] = {}
    for inner in block.operations:
        if inner.name != "iree_codegen.smt.knob":
            continue
        name = inner.properties.get("name")
        text = name.value if isinstance(name, at.StringAttr) else ""
        if text in seen:
            first = seen[text]
            _fail(inner, f"duplicate knob name '{text}'", [(first.position or first.location, "first occurrence here")])
        if text not in known:
            _fail(inner, f"knob name '{text}' not found in knobs dict")
        seen[text] = inner
    return None


def _fail(op: Operation, message: str, notes: Any = ()) -> None:
    raise VerifyError(f"'{op.name}' op {message}", location=op.position or op.location, op=op.name, notes=notes)


def _inside_constraints(op: Operation) -> str | None:
    parent = op.parent_op
    return None if parent is not None and parent.name == CONSTRAINTS else f"expects parent op '{CONSTRAINTS}'"


def _verify_lookup(op: Operation) -> str | None:
    keys, values = op.properties["keys"], op.properties["values"]
    assert isinstance(keys, at.DenseArrayAttr)
    assert isinstance(values, at.DenseArrayAttr)
    problem = _inside_constraints(op)
    if problem is not None:
        return problem
    if len(keys.codes) != len(values.codes):
        return f"keys and values must have the same size, got {len(keys.codes)} keys and {len(values.codes)} values"
    if not keys.codes:
        return "lookup table must be non-empty"
    seen: set[int] = set()
    for key in keys.values:
        if key in seen:
            return f"duplicate key {key} in lookup table"
        seen.add(key)
    return None


def _verify_assert(op: Operation) -> str | None:
    message = op.properties["msg"]
    assert isinstance(message, at.StringAttr)
    problem = _inside_constraints(op)
    if problem is not None:
        return problem
    count, given = message.value.count("{}"), len(op.operands) - 1
    return None if count == given else f"format string has {count} placeholder(s) but got {given} arg(s)"


iree_codegen.op(
    "smt.constraints",
    custom=constraints_form(ROOT_OP, ParameterKind(_read_checked_pipeline, _spell_pipeline)),
    operands=(Slot("problem_dims", c.INDEX, Arity.VARIADIC),),
    properties=(
        Property(
            "target",
            AttributeConstraint(
                "Marks an operation as a tuner root op in a given set",
                lambda found: isinstance(found, at.DialectAttr) and found.definition is ROOT_OP,
            ),
        ),
        Property("pipeline", AttributeConstraint("PipelineAttrInterface instance", _is_pipeline)),
        Property("knobs", c.DICTIONARY_ATTR),
    ),
    regions=(RegionSlot("body"),),
    traits=(Trait.ISOLATED_FROM_ABOVE, Trait.NO_TERMINATOR, Trait.SINGLE_BLOCK),
    verify=_verify_constraints,
    # What they say is for whoever chooses a configuration; `verdicts` evaluates them.
    evaluate=Pure(hints.nothing, raw=True),
)
iree_codegen.op(
    "smt.knob",
    "$name attr-dict `:` type($result)",
    results={"result": SMT_INT},
    properties=(Property("name", c.STRING_ATTR),),
    verify=_inside_constraints,
)
iree_codegen.op(
    "smt.lookup",
    "$index $keys `->` $values attr-dict `:` type($result)",
    operands={"index": SMT_INT},
    results={"result": SMT_INT},
    properties=(Property("keys", c.INTEGER_64_ARRAY_ATTR), Property("values", c.INTEGER_64_ARRAY_ATTR)),
    type_rules=(same_type("index", "result"),),
    verify=_verify_lookup,
)
iree_codegen.op(
    "smt.assert",
    "$condition `,` $msg (`,` $printArgs^)? `:` type($condition) (`,` type($printArgs)^)? attr-dict",
    operands=(Slot("condition", SMT_BOOL), Slot("printArgs", SMT_INT, Arity.VARIADIC)),
    properties=(Property("msg", c.STRING_ATTR),),
    verify=_verify_assert,
)
