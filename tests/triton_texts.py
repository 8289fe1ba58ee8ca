"""Small texts of Triton's dialects that triton 3.9 rejects, each with a part of its message.

A row is what stands before the module (layouts), what stands in the kernel, and the message: "" if Triton's has other
words. `text_of` makes the text of a row. `tests/conformance/oracles/test_libtriton.py` compares the rows with Triton's
library, and `tests/interp/dialects/triton/test_triton_text.py` with halfulp.
"""

from __future__ import annotations

from typing import Any

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


_TWO = ("cuda:100", 2)
"""The target and the number of blocks in a cluster of a row."""


def _cast(types: str) -> str:
    names = "%0" if types.count("!") == 1 else f"%0:{types.count('!')}"
    return f'{names} = "builtin.unrealized_conversion_cast"() : () -> ({types})\n    '


def _subslice(whole: str, offsets: str, part: str) -> tuple[str, str]:
    types = f"!ttg.memdesc<{whole}xf32, #s, #smem> -> !ttg.memdesc<{part}xf32, #s, #smem, {whole}>"
    return "", f"{_cast(types.partition(' ->')[0])}%1 = ttg.memdesc_subslice %0[{offsets}] : {types}"


def _reinterpret(source: str, result: str) -> tuple[str, str]:
    one, other = (f"!ttg.memdesc<{each}>" for each in (source, result))
    return "", f"{_cast(one)}%1 = ttg.memdesc_reinterpret %0 : {one} -> {other}"


def _barrier(op: str, type_: str = "1xi64", cga: str = "") -> tuple[str, str]:
    layout = f", CGALayout = [{cga}]" if cga else ""
    barrier = f"!ttg.memdesc<{type_}, #bar, #smem, mutable>"
    layouts = f"#bar = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [0]{layout}}}>"
    return layouts, _cast(barrier) + op.replace("BARRIER", barrier)


def _copy(shape: str, layout: str, places: str, offsets: str = "", flags: str = "") -> tuple[str, str]:
    types = (
        f"!tt.tensordesc<8x64xf16, #nv>, !ttg.memdesc<1xi64, #s1, #smem, mutable>, "
        f"!ttg.memdesc<{shape}xf16, {layout}, #smem, mutable>"
    )
    desc, barrier, result = types.split(", !")
    indices = ", ".join("%i" for _ in places.split(","))
    return (
        "#nv64 = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>",
        f"%o = arith.constant 1 : i16\n    {_cast(types)}ttng.async_tma_copy_global_to_local %0#0[{indices}]{offsets} %0#2, "
        f"%0#1, %on{flags} : {desc}, !{barrier} -> !{result}",
    )


def _slice(attributes: str, result: str) -> tuple[str, str]:
    source = "!ttg.memdesc<128x128xf32, #tmem, #tm, mutable>"
    part = f"!ttg.memdesc<{result}xf32, #tmem, #tm, mutable, 128x128>"
    return "", f"{_cast(source)}%1 = ttng.tmem_subslice %0 {{{attributes}}} : {source} -> {part}"


def _tmem_load(element: str, attributes: str, warps: str = "[4, 1]") -> tuple[str, str]:
    source = f"!ttg.memdesc<128x128x{element}, #tmem, #tm, mutable>"
    return (
        "#t = #ttg.blocked<{sizePerThread = [1, 128], threadsPerWarp = [32, 1], "
        f"warpsPerCTA = {warps}, order = [0, 1]}}>",
        f"{_cast(source)}%1 = ttng.tmem_load %0 {attributes} : {source} -> tensor<128x128x{element}, #t>",
    )


def _mma(element: str, total: str, stride: int, barrier: str = "", columns: int = 128) -> tuple[str, str]:
    a = f"!ttg.memdesc<128x{columns}x{element}, #nv, #smem>"
    d = f"!ttg.memdesc<128x128x{total}, #acc, #tm, mutable>"
    bar = "!ttg.memdesc<1xi64, #s1, #smem, mutable>"
    more = f", %0#2{barrier}" if barrier else ""
    return (
        f"#acc = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = {stride}>",
        f"{_cast(f'{a}, {d}, {bar}')}ttng.tc_gen5_mma %0#0, %0#0, %0#1, %on, %on{more} : {a}, {a}, {d}"
        f"{f', {bar}' if barrier else ''}",
    )


def _packed(operation: str, result: str, operands: str, layout: str = "#v") -> tuple[str, str]:
    types = [f"tensor<128x{each}, {layout}>" for each in operands.split(", ")]
    values = "".join(f"%o{k} = ub.poison : {each}\n    " for k, each in enumerate(types))
    names = ", ".join(f"%o{k}" for k in range(len(types)))
    return (
        "#v = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>",
        f"{values}%r = ttng.packed_arith {operation} {names} : ({', '.join(types)}) -> tensor<128x{result}, {layout}>",
    )


_ROW = "#ttg.blocked<{sizePerThread = [2, 1], threadsPerWarp = [16, 2], warpsPerCTA = [4, 1], order = [0, 1]}>"


def _dot(element: str, width: int, other: int, result: str = ", #mma2") -> tuple[str, str]:
    a, b = (
        f"tensor<16x16x{element}, #ttg.dot_op<{{opIdx = {k}, parent = #mma2, kWidth = {each}}}>>"
        for k, each in enumerate((width, other))
    )
    total = f"tensor<16x16xf32{result}>"
    values = "".join(f"%{name} = ub.poison : {type_}\n    " for name, type_ in zip("abc", (a, b, total), strict=True))
    return "", f"{values}%d = tt.dot %a, %b, %c : {a} * {b} -> {total}"


def _update(changes: str) -> tuple[str, str]:
    type_ = "!tt.tensordesc<8x64xf16, #pad>"
    return "", f"{_cast(type_)}%1 = amdg.update_tensor_descriptor %0{changes} : {type_}"


def _tdm(op: str, layout: str = "#pad") -> tuple[str, str]:
    types = "!tt.tensordesc<8x64xf16, #pad>", f"!ttg.memdesc<8x64xf16, {layout}, #smem, mutable>"
    return "", f"{_cast(', '.join(types))}%1 = amdg.{op} : {types[0]} -> {types[1]}"


def _scaled(a: str, scale: str) -> tuple[str, str]:
    rows, depth = a.split("x")
    types = f"tensor<{a}xi8>", f"tensor<{depth}x{rows}xi8>", "tensor<16x16xf32>", f"tensor<{scale}xi8>"
    values = "".join(f"%{name} = ub.poison : {each}\n    " for name, each in zip("abcs", types, strict=True))
    return (
        "",
        f"{values}%d = tt.dot_scaled %a scale %s, %b scale %s, %c lhs = e4m3 rhs = e4m3 {{fastMath = false}} : {types[0]}, "
        f"{types[3]} * {types[1]}, {types[3]} -> {types[2]}",
    )


REJECTED: tuple[tuple[str, str, str, *tuple[Any, ...]], ...] = (
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
    # Views of memory.
    (
        "",
        "%0 = ub.poison : !ttg.memdesc<4x64x16xf32, #s, #smem>\n    "
        "%1 = ttg.memdesc_index %0[%i] : !ttg.memdesc<4x64x16xf32, #s, #smem> -> !ttg.memdesc<64x8xf32, #s, #smem>",
        "result shape must equal to srcShape[1:]",
    ),
    (*_subslice("64x16", "0, 4", "64x8"), "The split offset may not touch the tile"),
    (*_subslice("64x16", "0, 16", "64x8"), "The split offset may not exceed the source shape"),
    (*_subslice("64x16", "8, 0", "64x8"), "A non zero offset found in a dimension that is not being split"),
    (
        "#q = #ttg.swizzled_shared<{vec = 2, perPhase = 1, maxPhase = 8, order = [1, 0]}>",
        "%0 = ub.poison : !ttg.memdesc<8x16xf32, #q, #smem>\n    %1 = ttg.memdesc_subslice %0[0, 0] : "
        "!ttg.memdesc<8x16xf32, #q, #smem> -> !ttg.memdesc<4x16xf32, #q, #smem, 8x16>",
        "We don't support splitting along the swizzling pattern",
    ),
    (
        *_reinterpret("64x16xf32, #s, #smem", "64x32xf32, #s, #smem"),
        "footprint (8192 bytes) exceeds the source view (4096 bytes)",
    ),
    (*_reinterpret("64x16xf32, #s, #smem", "64x16xf32, #s, #smem, mutable"), "must have the same mutability"),
    (
        *_reinterpret("64x16xf32, #s, #smem", "128x8xf32, #tmem, #tm"),
        "source and result must have the same memory space",
    ),
    (*_reinterpret("8x64xf16, #pad, #smem", "8x64xf16, #s, #smem"), "between padded and non-padded layouts"),
    (*_reinterpret("8x64xf16, #pad, #smem", "8x64xf32, #pad, #smem"), "with different padding pattern"),
    (
        *_reinterpret("64x4xf32, #s, #smem, 64x16", "64x4xf32, #s, #smem"),
        "footprint includes offsets not owned by the source subview (1024 bytes requested; 16 contiguous bytes available)",
    ),
    (
        *_reinterpret("128x64xf32, #tmem, #tm, 128x128", "128x128xf32, #tmem, #tm"),
        "footprint includes columns not owned by the source subview (128 columns requested; 64 contiguous columns",
    ),
    # Memory and tensors.
    ("", "%0 = ttg.local_alloc : () -> !ttg.memdesc<64x16xf32, #s, #smem>", "must have a mutable memdesc type"),
    ("", _memory("64x16xi1, #s, #smem"), "element type bit width must be a multiple of 8; got 1"),
    (
        "",
        "ttg.local_store %t, %fixed : tensor<64x16xf32, #b> -> !ttg.memdesc<64x16xf32, #s, #smem>",
        "immutable memory",
    ),
    ("", "%0 = ttg.local_load %m : !ttg.memdesc<64x16xf32, #s, #smem, mutable> -> tensor<64x32xf32, #b>", "must match"),
    ("", "%0 = ttg.local_load %m : !ttg.memdesc<64x16xf32, #s, #smem, mutable> -> tensor<64x16xf16, #b>", "must match"),
    (
        "",
        "%0 = ttg.local_gather %m[%n] {axis = 2 : i32} : !ttg.memdesc<64x16xf32, #s, #smem, mutable>, "
        "tensor<64x16xi32, #b> -> tensor<64x16xf32, #b>",
        "axis 2 is out of bounds for source rank 2",
    ),
    (
        "",
        "%0 = ttg.local_atomic_scatter_rmw add, %fixed[%n], %t {axis = 0 : i32} : (!ttg.memdesc<64x16xf32, #s, #smem>, "
        "tensor<64x16xf32, #b>, tensor<64x16xi32, #b>) -> tensor<64x16xf32, #b>",
        "Cannot store into immutable memory",
    ),
    # Warps that do different work.
    (
        "",
        "%0 = ttg.warp_specialize(%i)\ndefault {\n ttg.warp_yield\n}\npartition0(%a: i32) num_warps(4) {\n "
        "ttg.warp_return\n} : (i32) -> i32",
        "has 0 operands but parent op expected 1",
    ),
    (
        "",
        "%0 = ttg.warp_specialize(%i)\ndefault {\n ttg.warp_yield %l : i64\n}\npartition0(%a: i32) num_warps(4) {\n "
        "ttg.warp_return\n} : (i32) -> i32",
        "operand #0 has type 'i64' but parent op expected 'i32'",
    ),
    (
        "",
        "ttg.warp_specialize(%i) attributes {warpGroupStartIds = array<i32: 4, 8>}\ndefault {\n ttg.warp_yield\n}\n"
        "partition0(%a: i32) num_warps(4) {\n ttg.warp_return\n} : (i32) -> ()",
        "has 2 warp group start IDs but expected 1",
    ),
    (
        "",
        "ttg.warp_specialize()\ndefault {\n ttg.warp_specialize()\n default {\n ttg.warp_yield\n } : () -> ()\n "
        "ttg.warp_yield\n} : () -> ()",
        "cannot be nested inside another `ttg.warp_specialize` op",
    ),
    # Barriers.
    (*_barrier("ttng.init_barrier %0, 0 : BARRIER"), "count must be greater than or equal to 1"),
    (
        *_barrier("ttng.init_barrier %0, 1 : BARRIER", "2xi64"),
        "must be a descriptor of Nxi64 type with N <= number of CTAs",
    ),
    (
        *_barrier("ttng.wait_barrier %0, %i : BARRIER", "1xi32"),
        "must be a descriptor of Nxi64 type with N <= number of CTAs",
    ),
    (
        *_barrier("ttng.arrive_barrier %0, 1 {multicastCTA = 1 : i32} : BARRIER"),
        "multicast arrive requires num_ctas > 1",
    ),
    (
        *_barrier("ttng.arrive_barrier %0, 1 {fromCTA = 1 : i32} : BARRIER"),
        "fromCTA must be in the range [0, num_ctas - 1]",
    ),
    ("", "ttng.cluster_barrier", "requires ttg.num-ctas > 1"),
    ("", "ttng.fence_mbarrier_init_release_cluster", "requires ttg.num-ctas > 1"),
    (
        *_barrier("ttng.arrive_barrier %0, 1 {multicastCTA = 2 : i32} : BARRIER", cga="[1]"),
        "multicastCTA exceeds numCTAs - 1",
        *_TWO,
    ),
    (
        *_barrier("ttng.arrive_barrier %0, 1 {multicastCTA = 1 : i32} : BARRIER", cga="[0]"),
        "multicast barrier cga_layout must be [[1]], got [[0]]",
        *_TWO,
    ),
    (
        *_barrier("ttng.tc_gen5_commit %0 : BARRIER", cga="[0]"),
        "completion barrier cga_layout must be [[1]], got [[0]]",
        *_TWO,
    ),
    # Copies of the tensor memory accelerator.
    (*_copy("8x64", "#nv", "0"), "expected 2 coordinates, but got 1"),
    (*_copy("8x64", "#s", "0, 0"), "TMA descriptor must have NVMMA shared layout"),
    (*_copy("8x64", "#nv64", "0, 0"), "TMA descriptor layout must match shared layout"),
    (*_copy("16x64", "#nv", "0, 0"), "descriptor block and tensor must have the same number of elements"),
    (*_copy("8x64", "#nv", "0, 0", " offsets = [%o]"), "TILED mode does not support offsets"),
    (*_copy("8x64", "#nv", "0, 0", flags=" {multicast}"), "multicast requires the shared layout to broadcast"),
    (
        "",
        '%0:2 = "builtin.unrealized_conversion_cast"() : () -> (!tt.tensordesc<8x64xf16, #nv>, '
        "!ttg.memdesc<8x64xf16, #nv, #smem, mutable>)\n    ttng.async_tma_reduce inc, %0#0[%i, %i] %0#1 : "
        "!tt.tensordesc<8x64xf16, #nv>, !ttg.memdesc<8x64xf16, #nv, #smem, mutable>",
        "unsupported reduce kind inc for element type 'f16'",
    ),
    ("", "%0 = ub.poison : !ttng.tensordesc_im2col<2x8x64xf16, #nv>", "requires rank-2 shape, got rank 3"),
    # Tensor memory and its dots.
    (
        "",
        "%0 = ttng.tmem_alloc : () -> !ttg.memdesc<128x128xf32, #tmem, #tm, mutable>",
        "requires tcgen05 support",
        "cuda:90",
    ),
    (
        "",
        "%0 = ttng.tmem_alloc : () -> !ttg.memdesc<128x128xf32, #tmem, #tm, mutable>",
        "requires tcgen05 support",
        "cuda:120",
    ),
    ("", "%0 = ttng.tmem_alloc : () -> !ttg.memdesc<128x128xf32, #tmem, #tm>", "must have a mutable memdesc type"),
    (*_slice("N = 128 : i32", "128x64"), "requires attribute 'offset'"),
    (*_slice("offset = 96 : i32", "128x64"), "The split offset may not exceed the source shape"),
    (*_slice("dim = 2 : i32, offset = 0 : i32", "128x64"), "The slice dimension must be within the descriptor rank."),
    (*_slice("dim = 0 : i32, offset = 0 : i32", "128x64"), "The result must have the same size as the source"),
    (*_tmem_load("f32", "", "[1, 4]"), "'ttng.tmem_load' op result"),
    (*_tmem_load("f32", "{abs = true}"), "'abs' requires 'redOp' to be set"),
    (*_tmem_load("f32", "{redOp = #ttng.redOp<max>}"), "redOp is set but 'red' result is not present"),
    (
        *_mma("bf16", "f16", 2),
        "unsupported accumulator dtype for operand types 'bf16' and 'bf16', accumulator dtype is 'f16'",
    ),
    (*_mma("f16", "f32", 1, "[%on]"), "The op is synchronous but a barrier is present."),
    (*_mma("f16", "f32", 2), "bitwidth * colStride must be less than or equal"),
    # Packed arithmetic.
    (*_packed("add", "f32", "f32, f32, f32"), "add expects 2 operands but got 3"),
    (*_packed("fma", "f32", "f32, f32"), "fma expects 3 operands but got 2"),
    (*_packed("add", "f16", "f16, f32"), "unsupported add signature f16x2 <- (f16x2, f32x2)"),
    (*_packed("max", "f8E4M3FN", "f8E4M3FN, f8E4M3FN"), "unsupported max signature e4m3x4 <- (e4m3x4, e4m3x4)"),
    (*_packed("min", "f16", "f16, f16", "#b1"), "must provide a multiple of 2 unique elements per thread"),
    # Cancelling.
    ("", "%0 = ttng.clc_try_cancel_sync : tensor<4xi64, #b1>", "response must have shape [2]"),
    ("", "%0 = ttng.clc_try_cancel_sync : tensor<2xi32, #b1>", "response element type must be i64"),
    # The layouts of results, and of the operands of dots.
    (
        "",
        "%0 = tt.trans %t {order = array<i32: 1, 0>} : tensor<64x16xf32, #b> -> tensor<16x64xf32, #b>",
        "incompatible",
    ),
    (
        "",
        "%0 = tt.expand_dims %n1 {axis = 1 : i32} : tensor<128xi32, #b1> -> tensor<128x1xi32, #b>",
        "ExpandDimsOp operand encoding must be SliceEncodingAttr",
    ),
    ("", "%0 = tt.reshape %t : tensor<64x16xf32, #b> -> tensor<1024xf32, #b1>", "Expected result encoding"),
    (
        "",
        "%0 = tt.reshape %t : tensor<64x16xf32, #b> -> tensor<1024xf32>",
        "either (a) src and dst both have encodings",
    ),
    ("", "%0 = tt.join %t, %t : tensor<64x16xf32, #b> -> tensor<64x16x2xf32>", "result encoding must be specified"),
    (
        "",
        f"%0 = tt.join %n1, %n1 : tensor<128xi32, #b1> -> tensor<128x2xi32, {_ROW}>",
        "requires at least 2 elements per thread in the axis/last dimension",
    ),
    (
        "",
        f"%c = ub.poison : tensor<128x2xi32, {_ROW}>\n    %0:2 = tt.split %c : tensor<128x2xi32, {_ROW}> -> tensor<128xi32, #b1>",
        "requires at least 2 elements per thread in the axis/last dimension",
    ),
    (
        "",
        "%0 = tt.cat %n1, %n1 : tensor<128xi32, #b1> -> tensor<256xi32, #ttg.blocked<{sizePerThread = [1], "
        "threadsPerWarp = [32], warpsPerCTA = [4], order = [0], CGALayout = [[0]]}>>",
        "Layout has 2 CTAs per CGA",
    ),
    (
        "#w = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [2, 2], order = [1, 0]}>",
        "%0 = ttg.convert_layout %t {force_warp_shuffle} : tensor<64x16xf32, #b> -> tensor<64x16xf32, #w>",
        "force_warp_shuffle requires a conversion within one warp",
    ),
    (
        "",
        "%c = ub.poison : tensor<64x16xi8, #b>\n    %0 = ttg.fp4_to_fp %c {axis = 1 : i32} : tensor<64x16xi8, #b> -> "
        "tensor<64x32xf32, #b>",
        "only bf16 or f16 is supported for now",
    ),
    (
        "",
        "%c = ub.poison : tensor<64x16xi8, #b>\n    %0 = ttg.fp4_to_fp %c {axis = 1 : i32} : tensor<64x16xi8, #b> -> "
        "tensor<64x16xf16, #b>",
        "axis 1 dimension must be 2x source dimension (src=16, dst=16)",
    ),
    (
        "",
        "%c = ub.poison : tensor<64x16xi8, #b>\n    %0 = ttg.fp4_to_fp %c {axis = 1 : i32} : tensor<64x16xi8, #b> -> "
        "tensor<64x32xf16, #b>",
        "Src and Dst encodings are not compatible",
    ),
    (*_dot("f16", 2, 2, ""), "miss encoding of C operand"),
    (*_dot("f16", 2, 1), "mismatching kWidth between A and B operands"),
    (*_dot("f32", 1, 1), "unsupported MMA version"),
    (*_dot("f16", 2, 2, ", #b"), "mismatching MMA encoding"),
    # AMD.
    (
        "#a = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [16, 4], warpsPerCTA = [4, 1], order = [1, 0]}>",
        "%c = ub.poison : tensor<64x32xf32, #a>\n    %0 = amdg.extract_slice %c [0, 8] : tensor<64x32xf32, #a> to "
        "tensor<64x16xf32, #a>",
        "No source register holds the element for destination index [0, 8]",
        "hip:gfx942",
    ),
    (
        "",
        "%0 = amdg.in_thread_transpose %t : tensor<64x16xf32, #b> -> tensor<64x16xf16, #b>",
        "Expect input and output tensor to have same dtype",
    ),
    (
        "",
        "%0 = amdg.in_thread_transpose %t : tensor<64x16xf32, #b> -> tensor<64x16xf32, #ttg.blocked<{sizePerThread = [1, 2], "
        "threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>>",
        "Expect output layout to be transposed per thread",
    ),
    (
        "",
        "%0 = amdg.concat %t, %t : tensor<64x16xf32, #b>, tensor<64x16xf32, #b> -> tensor<64x16xf32, #b>",
        "Number of source tiles (2) doesn't match required count (1).",
    ),
    (*_update(""), "must provide at least one of add_offsets, set_bounds, or pred"),
    (*_update(" add_offsets = [%i]"), "expected 2 add_offsets to match descriptor rank, got 1"),
    (*_update(" set_bounds = [%i, %i] {clamp_bounds}"), "clamp_bounds requires add_offsets"),
    (
        *_tdm("async_tdm_copy_global_to_local %0#0 into %0#1 {warp_used_hint = 0 : i32}"),
        "must have at least one bit set",
    ),
    (
        *_tdm("async_tdm_copy_global_to_local %0#0 into %0#1 {warp_used_hint = 16 : i32}"),
        "sets bits beyond num_warps = 4",
    ),
    (*_tdm("async_tdm_copy_global_to_local %0#0 into %0#1 {warp_used_hint = 9 : i32}"), "is not axis-aligned: K = 2"),
    (
        *_tdm(
            "async_tdm_copy_global_to_local %0#0 into %0#1",
            "#ttg.padded_shared<[2:+2] {order = [1, 0], shape = [8, 64]}>",
        ),
        "is inconsistent with the shared memory allocation layout",
    ),
    (*_scaled("16x8", "16x1"), "scale factor must be 16 or 32. Got 8"),
    (*_scaled("16x32", "8x1"), "scales M dimension must match the operand M dimension"),
    (
        "",
        "%0 = ttg.convert_layout %t : tensor<64x16xf32, #b> -> tensor<64x32xf32, #b>",
        "requires the same shape for all operands and results",
    ),
    (
        "",
        "%0 = ttg.memdesc_trans %m {order = array<i32: 1, 2>} : !ttg.memdesc<64x16xf32, #s, #smem, mutable> -> "
        "!ttg.memdesc<16x64xf32, #s, #smem, mutable>",
        "order must be a permutation of [0, ..., rank - 1]",
    ),
    (
        "",
        "%0 = ttg.memdesc_trans %m {order = array<i32: 1, 0>} : !ttg.memdesc<64x16xf32, #s, #smem, mutable> -> "
        "!ttg.memdesc<16x64xf32, #s, #smem, mutable>",
        "",
    ),
    (
        "",
        "%0 = ttg.memdesc_reshape %m : !ttg.memdesc<64x16xf32, #s, #smem, mutable> -> "
        "!ttg.memdesc<64x32xf32, #s, #smem, mutable>",
        "number of src and dst elements of reshape must be the same",
    ),
    (
        "#d = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0], "
        "CGALayout = [[2]]}>",
        "",
        "After removing broadcast bases the CGA encoding must be a permutation matrix",
    ),
    (
        "#bar = #ttg.swizzled_shared<{vec = 2, perPhase = 1, maxPhase = 1, order = [0]}>",
        f"{_cast('!ttg.memdesc<1xi64, #bar, #smem, mutable>')}ttng.inval_barrier %0 : "
        "!ttg.memdesc<1xi64, #bar, #smem, mutable>",
        "barrier must have a contiguous shared-memory layout without subviews",
    ),
    (
        "#d = #ttg.nvidia_mma<{versionMajor = 5, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>",
        "",
        "versionMajor must be 2 (Ampere) or 3 (Hopper), got 5",
    ),
    (*_mma("f16", "f32", 1, columns=64), "to be equal to the second-to-last dimension of the second operand"),
    ("", "amdg.cluster_barrier_wait", "requires ttg.num-ctas > 1"),
)
