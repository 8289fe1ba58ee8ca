"""IREE's CPU dialect (release 3.13): the attributes that name tile operations and pipelines. Others are kept as they
are written.
"""

from __future__ import annotations

from halfulp.interp.declare.declarations import Dialect, EnumDefinition, Parameter
from halfulp.interp.text.parameters import INTEGER, TYPE, keyword

iree_cpu = Dialect("iree_cpu", partial=True)

_NAMESPACE = "::mlir::iree_compiler::IREE::CPU::"

_INTRINSICS = """
None:0
MMA_X86_AVX2_FMA_1x8x1_F32_F32:1210 MMA_X86_AVX2_FMA_8x1x1_F32_F32:1211
MMA_X86_AVX512_1x8x1_F64_F64:1300 MMA_X86_AVX512_8x1x1_F64_F64:1301
MMA_X86_AVX512_1x16x1_F32_F32:1310 MMA_X86_AVX512_16x1x1_F32_F32:1311
MMA_X86_AVX512_1x16x1_F32_F16_CASTF32:1320 MMA_X86_AVX512_16x1x1_F32_F16_CASTF32:1321
MMA_X86_AVX512FP16_1x32x1_F16_F16:1322 MMA_X86_AVX512FP16_32x1x1_F16_F16:1323
MMA_X86_AVX512BF16_1x16x2_F32_BF16:1330 MMA_X86_AVX512BF16_16x1x2_F32_BF16:1331
MMA_X86_AVX512_1x16x2_I32_I16:13a0 MMA_X86_AVX512_16x1x2_I32_I16:13a1
MMA_X86_AVX512VNNI_1x16x2_I32_I16:13a2 MMA_X86_AVX512VNNI_16x1x2_I32_I16:13a3
MMA_X86_AVX512_1x16x2_I32_I8_CASTI16:13c0 MMA_X86_AVX512_16x1x2_I32_I8_CASTI16:13c1
MMA_X86_AVX512VNNI_1x16x2_I32_I8_CASTI16:13c2 MMA_X86_AVX512VNNI_16x1x2_I32_I8_CASTI16:13c3
MMA_X86_AVX512VNNI_1x16x4_I32_UI8_I8:13c4 MMA_X86_AVX512VNNI_16x1x4_I32_I8_UI8:13c5
MMA_X86_AVX512VNNI_16x16x2_I32_I8_CASTI16:13c6
MMA_ARM_SVE_FMLA_1x4VLx1_F32_F32:2210 MMA_ARM_SVE_FMLA_4VLx1x1_F32_F32:2211
MMA_GENERIC_SCALAR_1x1x1_REG8:f008 MMA_GENERIC_SCALAR_1x1x1_REG16:f010
"""

MMA_INTRINSIC = EnumDefinition(
    f"{_NAMESPACE}MMAIntrinsic",
    {name: int(code, 16) for name, _, code in (e.partition(":") for e in _INTRINSICS.split())},
)
LOWERING_PIPELINE = EnumDefinition(
    f"{_NAMESPACE}LoweringPipeline",
    {
        "Default": 0,
        "DoubleTilingExpert": 1,
        "ConvTileAndDecomposeExpert": 2,
        "Mmt4dTilingExpert": 3,
        "BufferOpsTileAndVectorize": 4,
        "DataTiling": 5,
        "LinalgExtTileAndVectorize": 6,
    },
)

MMA_SEMANTICS = iree_cpu.attribute("mma_semantics", "`<` `>`", interfaces={"mma_semantics"})
DATA_TILED_MMA_LAYOUT = iree_cpu.attribute(
    "data_tiled_mma_layout",
    "`<` custom<Struct>() `>`",
    parameters=(
        Parameter("intrinsic", keyword(MMA_INTRINSIC)),
        *(Parameter(f"intrinsics_{dim}", INTEGER, optional=True, default=1) for dim in ("m", "n", "k")),
        *(Parameter(f"{side}_type", TYPE, optional=True) for side in ("lhs", "rhs", "acc")),
    ),
    interfaces={"mma_kind"},
)
PIPELINE = iree_cpu.attribute(
    "pipeline",
    "`<` $value `>`",
    parameters=(Parameter("value", keyword(LOWERING_PIPELINE)),),
    interfaces={"pipeline"},
)
iree_cpu.attribute("ukernel_provider")
