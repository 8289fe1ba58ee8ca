"""IREE's GPU dialect (release 3.13): the attributes that name tile operations, say how lanes share them, and configure
how code is made. Targets and encodings are kept as they are written.
"""

from __future__ import annotations

from halfulp.interp.declare import parameters as kinds
from halfulp.interp.declare.declarations import Dialect
from halfulp.interp.ir.attributes import ArrayAttr, Attribute
from halfulp.interp.ir.dialect_attributes import AttributeDefinition, DialectAttr, EnumDefinition, Parameter
from halfulp.semantics.matrix_units.kinds import KINDS, TileKind

# --- gpu --------------------------------------------------------------------------------------------------------------
#
# The gpu dialect: the attributes by which loops name what runs their iterations. None of its ops is known.

gpu = Dialect("gpu", partial=True)

_IDS = {name: number for number, name in enumerate(("x", "y", "z", *(f"linear_dim_{k}" for k in range(10))))}

for _mnemonic in ("block", "warpgroup", "warp", "thread", "lane"):
    gpu.enum(EnumDefinition("::mlir::gpu::MappingId", _IDS, mnemonic=f"gpu.{_mnemonic}"))

MASK = gpu.attribute("mask", "`<` $mask `>`", parameters=(Parameter("mask", kinds.INTEGER),))


# --- iree gpu ---------------------------------------------------------------------------------------------------------

iree_gpu = Dialect("iree_gpu", partial=True)

_NAMESPACE = "::mlir::iree_compiler::IREE::GPU::"


def _intrinsics(name: str, attribute: str) -> EnumDefinition:
    return EnumDefinition(
        f"{_NAMESPACE}{name}", {kind.name: kind.code for kind in KINDS.values() if kind.attribute == attribute}
    )


MMA_INTRINSIC = _intrinsics("MMAIntrinsic", "mma_layout")
VIRTUAL_MMA_INTRINSIC = _intrinsics("VirtualMMAIntrinsic", "virtual_mma_layout")
SCALED_MMA_INTRINSIC = _intrinsics("ScaledMMAIntrinsic", "scaled_mma_layout")

# --- tile operations --------------------------------------------------------------------------------------------------

_COL_MAJOR = Parameter("col_major", kinds.BOOLEAN, optional=True, default=False)


def _layout(mnemonic: str, intrinsic: EnumDefinition) -> AttributeDefinition:
    return iree_gpu.attribute(
        mnemonic,
        "`<` $intrinsic (`,` `col_major` `=` $col_major^)? `>`",
        parameters=(Parameter("intrinsic", kinds.keyword(intrinsic)), _COL_MAJOR),
        interfaces={"mma_kind"},
    )


MMA_LAYOUT = _layout("mma_layout", MMA_INTRINSIC)
VIRTUAL_MMA_LAYOUT = _layout("virtual_mma_layout", VIRTUAL_MMA_INTRINSIC)

_ELEMENT_TYPES = (
    Parameter("lhs_elem_type", kinds.TYPE),
    Parameter("rhs_elem_type", kinds.TYPE),
    Parameter("acc_elem_type", kinds.TYPE),
)
_COUNTS = tuple(
    Parameter(name, kinds.INTEGER, optional=True, default=1)
    for name in ("intrinsics_m", "subgroups_m", "intrinsics_n", "subgroups_n", "intrinsics_k", "subgroups_k")
)
_INTERLEAVING = tuple(
    Parameter(f"operands_interleaving_intrinsics_{dim}", kinds.INTEGER_ARRAY, optional=True) for dim in ("m", "n", "k")
)
_STRUCT = "`<` custom<Struct>() `>`"

SCALED_MMA_LAYOUT = iree_gpu.attribute(
    "scaled_mma_layout",
    _STRUCT,
    parameters=(Parameter("intrinsic", kinds.keyword(SCALED_MMA_INTRINSIC)), *_ELEMENT_TYPES, _COL_MAJOR),
    interfaces={"mma_kind"},
)
DATA_TILED_MMA_LAYOUT = iree_gpu.attribute(
    "data_tiled_mma_layout",
    _STRUCT,
    parameters=(Parameter("intrinsic", kinds.keyword(MMA_INTRINSIC)), *_COUNTS, *_INTERLEAVING),
    interfaces={"mma_kind"},
)
DATA_TILED_SCALED_MMA_LAYOUT = iree_gpu.attribute(
    "data_tiled_scaled_mma_layout",
    _STRUCT,
    parameters=(
        Parameter("intrinsic", kinds.keyword(SCALED_MMA_INTRINSIC)),
        *_ELEMENT_TYPES,
        *_COUNTS,
        *_INTERLEAVING,
        Parameter("unswizzled_operands", kinds.INTEGER_ARRAY, optional=True),
    ),
    interfaces={"mma_kind"},
)
MMA_SEMANTICS = iree_gpu.attribute(
    "mma_semantics",
    _STRUCT,
    parameters=(Parameter("distributed", kinds.BOOLEAN), Parameter("opaque", kinds.BOOLEAN)),
    interfaces={"mma_semantics"},
)


def kind_of(attribute: Attribute) -> TileKind | None:
    """Return the row of the table that an attribute names by itself; None for data-tiled ones and those of a CPU."""
    known = (MMA_LAYOUT, VIRTUAL_MMA_LAYOUT, SCALED_MMA_LAYOUT)
    if isinstance(attribute, DialectAttr) and attribute.definition in known:
        return KINDS[attribute["intrinsic"]]
    return None


# --- lanes ------------------------------------------------------------------------------------------------------------

LANE_CONSTANT = iree_gpu.attribute(
    "lane_constant", "`<` $group_size `>`", parameters=(Parameter("group_size", kinds.INTEGER),)
)
LANE_INCREMENT = iree_gpu.attribute(
    "lane_increment",
    "`<` $group_size custom<Options>($step, $aligned) `>`",
    parameters=(
        Parameter("group_size", kinds.INTEGER),
        Parameter("step", kinds.INTEGER, optional=True, default=1),
        Parameter("aligned", kinds.flag("aligned"), optional=True, default=False),
    ),
)
iree_gpu.attribute("lane_id", "`<` $dim `>`", parameters=(Parameter("dim", kinds.INTEGER),))
iree_gpu.attribute("subgroup_scope")
iree_gpu.attribute("lane_scope")

# --- configurations ---------------------------------------------------------------------------------------------------


def _pipeline(mnemonic: str, enum: str, cases: str) -> AttributeDefinition:
    definition = EnumDefinition(f"{_NAMESPACE}{enum}", {name: value for value, name in enumerate(cases.split())})
    return iree_gpu.attribute(
        mnemonic, "`<` $value `>`", parameters=(Parameter("value", kinds.keyword(definition)),), interfaces={"pipeline"}
    )


PIPELINE = _pipeline(
    "pipeline",
    "LoweringPipeline",
    "Default BaseLowering Distribute Vectorize VectorDistribute WinogradVectorize TileAndFuse",
)
SPIRV_PIPELINE = _pipeline(
    "spirv_pipeline",
    "SPIRVLoweringPipeline",
    "BaseLowering BaseDistribute BaseVectorize SubgroupReduce MatmulPromoteVectorize CooperativeMatrixVectorize "
    "WinogradVectorize",
)
REORDER_WORKGROUPS = iree_gpu.attribute(
    "reorder_workgroups_strategy",
    "`<` $value `>`",
    parameters=(
        Parameter(
            "value",
            kinds.keyword(EnumDefinition(f"{_NAMESPACE}ReorderWorkgroupsStrategy", {"None": 0, "Transpose": 1})),
        ),
    ),
)
PIPELINE_OPTIONS = iree_gpu.attribute(
    "pipeline_options",
    _STRUCT,
    parameters=(
        Parameter("prefetch_num_stages", kinds.INTEGER, optional=True),
        Parameter("no_reduce_shared_memory_bank_conflicts", kinds.BOOLEAN_ATTRIBUTE, optional=True),
        Parameter("use_igemm_convolution", kinds.BOOLEAN_ATTRIBUTE, optional=True),
        Parameter("reorder_workgroups_strategy", kinds.nested(REORDER_WORKGROUPS), optional=True),
    ),
)


def _verify_promotion(attribute: DialectAttr) -> str | None:
    config = attribute["attributes"].mapping
    types, operands = config.get("promotion_types"), config.get("promote_operands")
    if types is None:
        return None
    if operands is None:
        return "promotion_types requires promote_operands to be specified"
    if not isinstance(types, ArrayAttr):
        return "promotion_types must be an array"
    if isinstance(operands, ArrayAttr) and len(types.elements) != len(operands.elements):
        return "promote_operands and promotion_types must have the same length"
    if not all(kinds.has_interface(element, "promotion") for element in types.elements):
        return "promotion_types elements must implement IREE::GPU::PromotionAttr"
    return None


LOWERING_CONFIG = iree_gpu.attribute(
    "lowering_config",
    "`<` $attributes `>`",
    parameters=(Parameter("attributes", kinds.DICTIONARY),),
    verify=_verify_promotion,
    interfaces={"lowering_config"},
)
iree_gpu.attribute("derived_thread_config", interfaces={"promotion", "lowering_config"})
iree_gpu.attribute("use_global_load_dma", interfaces={"promotion", "lowering_config"})
iree_gpu.attribute(
    "promote_with_cache_swizzle",
    "`<` $copy_config `>`",
    parameters=(Parameter("copy_config", kinds.ATTRIBUTE),),
    interfaces={"promotion"},
)
iree_gpu.attribute(
    "swizzle_operand",
    _STRUCT,
    parameters=(Parameter("copy_config", kinds.ATTRIBUTE), Parameter("swizzle", kinds.with_interface("swizzle"))),
    interfaces={"promotion"},
)


def _verify_transpose(attribute: DialectAttr) -> str | None:
    return None if all(attribute.values) else "conditional_transpose must have non-zeros parameters"


iree_gpu.attribute(
    "conditional_transpose",
    "`<` $numXCDs `,` $numCUs `>`",
    parameters=(Parameter("numXCDs", kinds.INTEGER), Parameter("numCUs", kinds.INTEGER)),
    verify=_verify_transpose,
)
