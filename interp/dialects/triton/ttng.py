"""The dialect ttng: instructions of NVIDIA GPUs in TTGIR (`TritonNvidiaGPUOps.td` of triton 3.9)."""

from __future__ import annotations

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.triton.forms import FALSE, Row, declare_rows, flag, number, truth
from halfulp.interp.dialects.triton.tt import CACHE, PRECISION, REDUCE_KIND, SUM_OF_DOT, VOLATILE

ttng = d.Dialect("ttng", partial=True)

_OF_SUM = {"type_rules": (SUM_OF_DOT,)}

_OF_BARRIER = "attr-dict `:` type($barrier)"

declare_rows(
    ttng,
    (
        Row(
            "warp_group_dot",
            "a:operand b:mem c:numbers useC:i1? -> d:numbers",
            "$a `,` $b `,` $c (`,` $useC^)? attr-dict `:` type($a) `*` type($b) `->` type($d)",
            (
                d.Property("inputPrecision", PRECISION, default=2),
                truth("isAsync", FALSE),
                number("maxNumImpreciseAcc", 0),
            ),
            _OF_SUM,
        ),
        Row(
            "warp_group_dot_wait",
            "inputs:operand* -> outputs:operand*",
            "$inputs attr-dict `:` type($inputs)",
            (number("pendings"), flag("warpGroupLocal")),
            {"type_rules": (d.same_type("inputs", "outputs"),)},
        ),
        Row("init_barrier", "alloc:mem", "$alloc `,` $count attr-dict `:` type($alloc)", (number("count"),)),
        Row("inval_barrier", "alloc:mem", "$alloc attr-dict `:` type($alloc)"),
        Row(
            "barrier_expect",
            "alloc:mem pred:i1",
            "$alloc `,` $size attr-dict `,` $pred `:` type($alloc)",
            (number("fromCTA", optional=True), number("size")),
        ),
        Row(
            "wait_barrier",
            "alloc:mem phase:i32 pred:i1? deps:mem*",
            "$alloc `,` $phase (`,` $pred^)? (`deps` $deps^)? attr-dict `:` type($alloc) (`,` type($deps)^)?",
        ),
        Row(
            "arrive_barrier",
            "alloc:mem pred:i1?",
            "$alloc `,` $count (`,` $pred^)? attr-dict `:` type($alloc)",
            (number("count"), number("fromCTA", optional=True), number("multicastCTA", 0)),
        ),
        Row(
            "async_copy_mbarrier_arrive", "barrier:mem", "$barrier attr-dict `:` type($barrier)", (flag("noIncrement"),)
        ),
        Row("fence_async_shared", "", "attr-dict", (truth("bCluster"),)),
        Row("fence_mbarrier_init_release_cluster", "", "attr-dict"),
        Row("cluster_barrier", "", "attr-dict", (truth("relaxed", FALSE),)),
        Row(
            "async_shared_store",
            "src:tensor dst:mem mbarrier:mem",
            "$src `,` $dst `,` $mbarrier attr-dict `:` type($src) `->` type($dst) `,` type($mbarrier)",
        ),
        Row(
            "async_tma_copy_global_to_local",
            "desc:desc coord:i32* offsets:i16* barrier:mem result:mem pred:i1",
            "$desc `[` $coord `]` (`offsets` `=` `[` $offsets^ `]`)? $result `,` $barrier `,` $pred attr-dict `:` "
            "type($desc) `,` type($barrier) `->` type($result)",
            (CACHE, VOLATILE, flag("multicast")),
        ),
        Row(
            "async_tma_copy_local_to_global",
            "desc:desc coord:i32* src:mem",
            "$desc `[` $coord `]` $src attr-dict `:` type($desc) `,` type($src)",
            (CACHE,),
        ),
        Row(
            "async_tma_reduce",
            "desc:desc coord:i32* src:mem",
            "$kind `,` $desc `[` $coord `]` $src attr-dict `:` type($desc) `,` type($src)",
            (d.Property("kind", REDUCE_KIND),),
        ),
        Row(
            "async_tma_gather",
            "desc:desc x_offsets:offsets y_offset:i32 barrier:mem result:mem pred:i1",
            "$desc `[` $x_offsets `,` $y_offset `]` $result `,` $barrier `,` $pred attr-dict `:` type(operands)",
            (CACHE, flag("multicast")),
        ),
        Row(
            "async_tma_scatter",
            "desc:desc x_offsets:offsets y_offset:i32 src:mem",
            "$desc `[` $x_offsets `,` $y_offset `]` $src attr-dict `:` type(operands)",
            (CACHE,),
        ),
        Row("async_tma_store_wait", "", "attr-dict", (number("pendings"), flag("read_only"))),
        Row(
            "reinterpret_tensor_descriptor",
            "rawDesc:ptr -> result:desc",
            "$rawDesc attr-dict `:` type($rawDesc) `to` type($result)",
        ),
        Row(
            "tensormap_create",
            "desc_ptr:ptr global_address:ptr box_dim:i32* global_dim:i32* global_stride:i64* element_stride:i32*",
            "$desc_ptr `,` $global_address `,` `[` $box_dim `]` `,` `[` $global_dim `]` `,` `[` $global_stride `]` "
            "`,` `[` $element_stride `]` attr-dict `:` functional-type(operands, results)",
            (number("elem_type"), number("fill_mode"), number("interleave_layout"), number("swizzle_mode")),
        ),
        Row("tensormap_fenceproxy_acquire", "desc_ptr:ptr", "$desc_ptr attr-dict `:` type($desc_ptr)"),
        Row(
            "tmem_subslice",
            "src:mem -> result:mem",
            "$src attr-dict `:` type($src) `->` type($result)",
            (number("dim", 1), number("offset")),
        ),
        Row("tmem_copy", "src:mem dst:mem", "$src `,` $dst attr-dict `:` type(operands)"),
    ),
)
