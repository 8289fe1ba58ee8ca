"""Small texts of Triton's dialects that triton 3.9 rejects, each with a part of its message.

A row is what stands before the module (layouts), what stands in the kernel, and the message. `text_of` makes the text of
a row. `tests/conformance/oracles/test_libtriton.py` compares the rows with Triton's library, and
`tests/interp/dialects/triton/test_triton_text.py` with halfulp.
"""

from __future__ import annotations

_LAYOUTS = """\
#b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#b1 = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#mma2 = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>
#mma3 = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#mfma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [4, 1], instrShape = [16, 16, 16], isTransposed = true}>
#wmma = #ttg.amd_wmma<{version = 1, isTranspose = false, ctaLayout = {warp = [[1, 0], [2, 0]]}}>
#wmma2 = #ttg.amd_wmma<{version = 2, isTranspose = false, ctaLayout = {warp = [[1, 0], [2, 0]]}}>
#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#s1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#nv = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#pad = #ttg.padded_shared<[64:+8] {order = [1, 0], shape = [8, 64]}>
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#scales = #ttng.tensor_memory_scales_encoding<>
#smem = #ttg.shared_memory
#tm = #ttng.tensor_memory
"""
_MODULE = 'module attributes {"ttg.num-ctas" = CTAS : i32, "ttg.num-warps" = 4 : i32, ttg.target = "TARGET", "ttg.threads-per-warp" = LANES : i32} {'
_ARGUMENTS = (
    "%p: !tt.ptr<f32>, %x: f32, %i: i32, %l: i64, %t: tensor<64x16xf32, #b>, %h: tensor<64x16xf16, #b>, "
    "%n: tensor<64x16xi32, #b>, %n1: tensor<128xi32, #b1>, %m: !ttg.memdesc<64x16xf32, #s, #smem, mutable>, "
    "%fixed: !ttg.memdesc<64x16xf32, #s, #smem>, %on: i1"
)


def text_of(layouts: str, body: str, target: str = "cuda:100", ctas: int = 1) -> str:
    """Return the text of a row."""
    module = _MODULE.replace("TARGET", target).replace("CTAS", str(ctas))
    module = module.replace("LANES", "64" if target.startswith("hip:gfx9") else "32")
    arguments = _ARGUMENTS if ctas == 1 and "32 :" in module else "%i: i32, %l: i64, %on: i1, %p: !tt.ptr<f32>, %x: f32"
    return f"{_LAYOUTS}{layouts}\n{module}\n  tt.func @f({arguments}) {{\n    {body}\n    tt.return\n  }}\n}}\n"


def _memory(type_: str) -> str:
    return f"%0 = ttg.local_alloc : () -> !ttg.memdesc<{type_}, mutable>"


def _dot_op(index: int, parent: str, width: int = 0) -> str:
    return f"#d = #ttg.dot_op<{{opIdx = {index}, parent = #{parent}, kWidth = {width}}}>"


def _padded(pads: str, offsets: str) -> str:
    return f"#d = #ttg.padded_shared<[{pads}] {{{offsets}}}>"


REJECTED: tuple[tuple[str, str, str], ...] = (
    # The parameters of layouts.
    (_dot_op(2, "mma2", 2), "", "opIdx parameter can be 0 or 1, got: 2"),
    (_dot_op(0, "mma2"), "", "kWidth parameter is mandatory for Ampere or Hopper MMA parent"),
    (_dot_op(1, "mma3", 2), "", "opIdx parameter must be 0 for Hopper MMA parent"),
    (_dot_op(0, "b", 2), "", "kWidth parameter is not supported when the parent is a blocked layout"),
    (_dot_op(0, "mfma"), "", "kWidth parameter is mandatory for MFMA parent"),
    (_dot_op(0, "wmma", 4), "", "kWidth parameter must be 8/16 for WMMA v1"),
    (_dot_op(0, "wmma2", 2), "", "kWidth parameter must be 4/8/16 for WMMA v2"),
    ("#d = #ttg.slice<{dim = 2, parent = #b}>", "", "slice dim=2 must be less than the parent rank=2"),
    ("#d = #ttg.slice<{dim = 0, parent = #b1}>", "", "parent layout must have at least rank >= 2"),
    (
        "#d = #ttg.amd_mfma<{version = 5, warpsPerCTA = [1, 1], instrShape = [16, 16, 16], isTransposed = true}>",
        "",
        "version must be in the [0, 4] range",
    ),
    (
        "#d = #ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [16, 32, 16], isTransposed = true}>",
        "",
        "invalid (mDim, nDim) combination: (16, 32)",
    ),
    (
        "#d = #ttg.amd_wmma<{version = 2, isTranspose = false, ctaLayout = {warp = []}, instrShape = [16, 16, 64]}>",
        "",
        "invalid WMMA v2 instruction shape",
    ),
    (
        "#d = #ttg.blocked<{sizePerThread = [3], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>",
        "",
        "Every element in sizePerThread must be a power of two.",
    ),
    (
        "#d = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [1]}>",
        "",
        "order must be a permutation of 0..(rank-1), but was [1]",
    ),
    (
        "#d = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0], "
        "CGALayout = [[3]]}>",
        "",
        "After removing broadcast bases the CGA encoding must be a permutation matrix",
    ),
    (
        "#d = #ttg.linear<{register = [[1]], lane = [[1]], warp = [], block = []}>",
        "",
        "requires a permutation matrix layout after removing broadcast bases",
    ),
    ("#d = #ttg.linear<{register = [], lane = [], warp = [], block = []}>", "", "Empty Layout not supported"),
    (_padded("3:+1", "order = [0], shape = [8]"), "", "interval values must all be power of two"),
    (_padded("2:+3", "order = [0], shape = [8]"), "", "padding values must all be power of two"),
    (_padded("2:+1, 2:+2", "order = [0], shape = [8]"), "", "interval values cannot have duplicates"),
    (_padded("2:+1", "offset = [[1, 0], [3, 0]], block = []"), "", "Each offset basis must be 0 or a power of two."),
    (
        _padded("2:+1", "offset = [[1, 0], [1, 0]], block = []"),
        "",
        "Broadcasting in offset dimension is not supported.",
    ),
    (_padded("2:+1", "offset = [[1, 0], [2, 0]]"), "", "Expected basis of 'block' not found"),
    (
        "#d = #ttg.nvmma_shared<{swizzlingByteWidth = 16, transposed = false, elementBitWidth = 16}>",
        "",
        "swizzlingByteWidth must be 0, 32, 64, or 128",
    ),
    (
        "#d = #ttg.shared_linear<{offset = [[1], [1]]}, alignment = 16>",
        "",
        "After removing the zero bases the layout must be bijective",
    ),
    (
        "#d = #ttng.tensor_memory_encoding<blockM = 32, blockN = 64, colStride = 1>",
        "",
        "blockM must be 64 or 128 but got 32",
    ),
    (
        "#d = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1, twoCTAs = true, "
        "CGALayout = [[0, 1]]>",
        "",
        "twoCTAs layout requires the first CGALayout block basis to be [1, 0]",
    ),
    # The types of blocks of memory.
    ("", _memory("f32, #s1, #smem"), "rank 0 memdesc is not allowed"),
    ("", _memory("4x4xi4, #s, #smem"), "element type bit width must be 1 or at least 8; got 4"),
    ("", _memory("3x4xf32, #s, #smem"), "shape must have power-of-2 and non-zero dimensions; got 3, 4"),
    ("", _memory("4x4xf32, #smem, #smem"), "#ttg.shared_memory is not a valid encoding"),
    ("", _memory("2x2x4x4xf32, #s, #smem"), "rank must be equal to or one less than the shape size. Got 2 and 4"),
    ("", _memory("4x4xf32, #b, #smem"), "is not a valid encoding"),
    ("", _memory("4x4xf32, #s, #tm"), "memorySpace must be SharedMemorySpace for shared encoding."),
    ("", _memory("8x32xf16, #nv, #smem"), "is too small for the swizzle byte size 128"),
    ("", _memory("8x32xf16, #pad, #smem"), "Mismatch in expected shape for dimension 1. Expected: 32, got: 64"),
    ("", _memory("64x128xf32, #tmem, #tm"), "the tensor shape must be at least 128x128. Got 64, 128"),
    ("", _memory("128x128xi1, #tmem, #tm"), "tensor-memory element type bit width must be at least 8; got 1"),
    ("", _memory("2x128x4xi8, #scales, #tm"), "tensor-memory scale descriptors must have rank 2; got 3"),
    ("", "%0 = ub.poison : !tt.tensordesc<tensor<4x4xf32>>", "tensor descriptors must not wrap tensor types"),
    # The module around tensors.
    (
        "",
        '%0 = arith.constant dense<0.0> : tensor<64xf32, #b>\n    tt.print "a" {hex = false, isSigned = array<i32: 0>} '
        ": %0 : tensor<64xf32, #b>",
        "Layout has rank 2, but the tensor it's attached to has rank 1.",
    ),
    (
        "#d = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [8], order = [0]}>",
        "%0 = tt.splat %x : f32 -> tensor<64xf32, #d>",
        "Layout has 8 warps per CTA, but the context requires 4 warps per CTA.",
    ),
    (
        "#d = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>",
        "%0 = tt.splat %x : f32 -> tensor<64xf32, #d>",
        "Layout has 64 threads per warp, but the module specifies 32 threads per warp.",
    ),
    (
        "#d = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0], "
        "CGALayout = [[0]]}>",
        "%0 = tt.splat %x : f32 -> tensor<64xf32, #d>",
        "Layout has 2 CTAs per CGA, but the context requires 1 CTAs per CGA.",
    ),
    ("", "%0 = tt.splat %x : f32 -> tensor<64x16xf32, #s>", "Non-distributed layout is not allowed in tensor type."),
)
