"""The dialect ttng: instructions of NVIDIA GPUs in TTGIR (`TritonNvidiaGPUOps.td` of triton 3.9)."""

from __future__ import annotations

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare import parameters as kinds
from halfulp.interp.dialects.triton import encodings, forms, nvidia_rules, nvidia_units, partitions, types
from halfulp.interp.dialects.triton.forms import FALSE, Row, declare_rows, flag, number, truth
from halfulp.interp.dialects.triton.tt import (
    CACHE,
    DIMENSION,
    KIND,
    PRECISION,
    REDUCE_KIND,
    SUM_OF_DOT,
    VOLATILE,
    counted,
)
from halfulp.interp.ir.dialect_attributes import EnumDefinition, Parameter
from halfulp.interp.ir.operations import Rule

ttng = d.Dialect("ttng", partial=True)

ttng.types["tensordesc_im2col"] = types.read_im2col

# --- attributes -------------------------------------------------------------------------------------------------------

WAITED = counted("nvidia_gpu::TMEMWaitKind", 0, "load", "store")
PACKED = counted("nvidia_gpu::PackedArithOpKind", 0, "add", "sub", "mul", "fma", "min", "max")
REDUCTION = ttng.enum(
    EnumDefinition("::mlir::triton::nvidia_gpu::TMEMLoadReduceModifier", {"min": 1, "max": 2}, mnemonic="ttng.redOp")
)
_BLOCK_ORDER = EnumDefinition(
    "::mlir::triton::nvidia_gpu::TensorMemoryScalesBlockRepOrder", {"mnThenK": 0, "kThenMn": 1}
)
_CTAS = Parameter("CGALayout", forms.BASES, optional=True)


def _optional_truth(name: str) -> Parameter:
    return Parameter(name, kinds.BOOLEAN, optional=True, default=False)


ttng.attribute("tensor_memory")
ttng.attribute(
    "tensor_memory_encoding",
    "`<` custom<Struct>() `>`",
    parameters=(
        *(Parameter(name, kinds.INTEGER) for name in ("blockM", "blockN", "colStride")),
        _CTAS,
        _optional_truth("twoCTAs"),
        _optional_truth("fp4Padded"),
    ),
    alias="tmem",
    verify=encodings.verify,
)
ttng.attribute(
    "tensor_memory_scales_encoding",
    "`<` custom<Struct>() `>`",
    parameters=(
        _CTAS,
        Parameter("blockRepOrder", kinds.keyword(_BLOCK_ORDER), optional=True, default="mnThenK"),
    ),
    alias="tmem_scales",
    verify=encodings.verify,
)

# --- ops --------------------------------------------------------------------------------------------------------------


def _verified(rule: Rule) -> dict[str, Rule]:
    return {"verify": rule}


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
            {"type_rules": (SUM_OF_DOT,), "verify": nvidia_units.verify_wgmma},
        ),
        Row(
            "warp_group_dot_wait",
            "inputs:operand* -> outputs:operand*",
            "$inputs attr-dict `:` type($inputs)",
            (number("pendings"), flag("warpGroupLocal")),
            {"type_rules": (d.same_type("inputs", "outputs"),), "verify": nvidia_units.verify_wait},
        ),
        Row(
            "init_barrier",
            "alloc:mem",
            "$alloc `,` $count attr-dict `:` type($alloc)",
            (number("count"),),
            _verified(nvidia_rules.verify_init),
        ),
        Row(
            "inval_barrier",
            "alloc:mem",
            "$alloc attr-dict `:` type($alloc)",
            (),
            _verified(nvidia_rules.barrier()),
        ),
        Row(
            "barrier_expect",
            "alloc:mem pred:i1",
            "$alloc `,` $size attr-dict `,` $pred `:` type($alloc)",
            (number("fromCTA", optional=True), number("size")),
            _verified(nvidia_rules.verify_expect),
        ),
        Row(
            "wait_barrier",
            "alloc:mem phase:i32 pred:i1? deps:mem*",
            "$alloc `,` $phase (`,` $pred^)? (`deps` $deps^)? attr-dict `:` type($alloc) (`,` type($deps)^)?",
            (),
            _verified(nvidia_rules.barrier()),
        ),
        Row(
            "arrive_barrier",
            "alloc:mem pred:i1?",
            "$alloc `,` $count (`,` $pred^)? attr-dict `:` type($alloc)",
            (number("count"), number("fromCTA", optional=True), number("multicastCTA", 0)),
            _verified(nvidia_rules.verify_arrive),
        ),
        Row(
            "async_copy_mbarrier_arrive", "barrier:mem", "$barrier attr-dict `:` type($barrier)", (flag("noIncrement"),)
        ),
        Row("fence_async_shared", "", "attr-dict", (truth("bCluster"),)),
        Row("fence_mbarrier_init_release_cluster", "", "attr-dict", (), _verified(nvidia_rules.verify_cluster)),
        Row(
            "cluster_barrier",
            "",
            "attr-dict",
            (truth("relaxed", FALSE),),
            _verified(nvidia_rules.verify_cluster_barrier),
        ),
        Row(
            "async_shared_store",
            "src:tensor dst:mem mbarrier:mem",
            "$src `,` $dst `,` $mbarrier attr-dict `:` type($src) `->` type($dst) `,` type($mbarrier)",
            (),
            _verified(nvidia_rules.verify_shared_store),
        ),
        Row(
            "async_tma_copy_global_to_local",
            "desc:desc coord:i32* offsets:i16* barrier:mem result:mem pred:i1",
            "$desc `[` $coord `]` (`offsets` `=` `[` $offsets^ `]`)? $result `,` $barrier `,` $pred attr-dict `:` "
            "type($desc) `,` type($barrier) `->` type($result)",
            (CACHE, VOLATILE, flag("multicast")),
            _verified(nvidia_rules.verify_tma_load),
        ),
        Row(
            "async_tma_copy_local_to_global",
            "desc:desc coord:i32* src:mem",
            "$desc `[` $coord `]` $src attr-dict `:` type($desc) `,` type($src)",
            (CACHE,),
            _verified(nvidia_rules.verify_tma_store),
        ),
        Row(
            "async_tma_reduce",
            "desc:desc coord:i32* src:mem",
            "$kind `,` $desc `[` $coord `]` $src attr-dict `:` type($desc) `,` type($src)",
            (d.Property("kind", REDUCE_KIND),),
            _verified(nvidia_rules.verify_tma_reduce),
        ),
        Row(
            "async_tma_gather",
            "desc:desc x_offsets:offsets y_offset:i32 barrier:mem result:mem pred:i1",
            "$desc `[` $x_offsets `,` $y_offset `]` $result `,` $barrier `,` $pred attr-dict `:` type(operands)",
            (CACHE, flag("multicast")),
            _verified(nvidia_rules.verify_tma_gather),
        ),
        Row(
            "async_tma_scatter",
            "desc:desc x_offsets:offsets y_offset:i32 src:mem",
            "$desc `[` $x_offsets `,` $y_offset `]` $src attr-dict `:` type(operands)",
            (CACHE,),
            _verified(nvidia_rules.verify_tma_scatter),
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
            _verified(nvidia_rules.verify_tensormap),
        ),
        Row("tensormap_fenceproxy_acquire", "desc_ptr:ptr", "$desc_ptr attr-dict `:` type($desc_ptr)"),
        Row(
            "tmem_subslice",
            "src:mem -> result:mem",
            "$src attr-dict `:` type($src) `->` type($result)",
            (number("dim", 1), number("offset")),
            _verified(nvidia_units.verify_tmem_slice),
        ),
        Row(
            "tmem_copy",
            "src:mem dst:mem",
            "$src `,` $dst attr-dict `:` type(operands)",
            (),
            _verified(nvidia_units.verify_tmem_copy),
        ),
        Row(
            "tmem_alloc",
            "src:tensor? -> result:mem token:token?",
            "($src^)? attr-dict `:` functional-type(operands, results)",
            (),
            _verified(nvidia_units.verify_tmem_alloc),
        ),
        Row(
            "tmem_load",
            "src:mem dep:token? -> result:tensor token:token? red:tensor?",
            "$src `` custom<Token>($dep, $token) attr-dict `:` type($src) `->` type($result) (`,` type($red)^)?",
            (
                d.Property("redOp", REDUCTION, optional=True),
                truth("abs", optional=True),
                truth("NaN", optional=True),
            ),
            _verified(nvidia_units.verify_tmem_load),
        ),
        Row(
            "tmem_store",
            "dst:mem dep:token? src:tensor pred:i1 -> token:token?",
            "$src `,` $dst `` custom<Token>($dep, $token) `,` $pred attr-dict `:` type($src) `->` type($dst)",
            (),
            _verified(nvidia_units.verify_tmem_store),
        ),
        Row("tmem_wait", "", "$kind attr-dict", (d.Property("kind", WAITED),)),
        Row(
            "tc_gen5_mma",
            "a:mem b:mem d:mem acc_dep:token? useD:i1 pred:i1 barriers:mem* barrier_preds:i1* -> token:token?",
            "$a `,` $b `,` $d `` custom<Token>($acc_dep, $token) `,` $useD `,` $pred "
            "`` custom<BarriersAndPredicates>($barriers, $barrier_preds) attr-dict `:` type($a) `,` type($b) `,` "
            "type($d) (`,` type($barriers)^)?",
            tuple(map(flag, ("is_async", "two_ctas", "multicast", "is_unsigned"))),
            _verified(nvidia_units.verify_mma),
        ),
        Row(
            "tc_gen5_mma_scaled",
            "a:mem b:mem d:mem acc_dep:token? a_scale:mem b_scale:mem useD:i1 pred:i1 barriers:mem* barrier_preds:i1* "
            "-> token:token?",
            "$a `,` $b `,` $d `` custom<Token>($acc_dep, $token) `,` $a_scale `,` $b_scale `,` $useD `,` $pred `lhs` "
            "`=` $a_type `rhs` `=` $b_type `` custom<BarriersAndPredicates>($barriers, $barrier_preds) attr-dict `:` "
            "type($a) `,` type($b) `,` type($d) `,` type($a_scale) `,` type($b_scale) (`,` type($barriers)^)?",
            (
                d.Property("a_type", KIND),
                d.Property("b_type", KIND),
                *map(flag, ("two_ctas", "multicast", "is_async")),
            ),
            _verified(nvidia_units.verify_scaled_mma),
        ),
        Row(
            "tc_gen5_commit",
            "barrier:mem pred:i1? descs:mem*",
            "$barrier (`,` $pred^)? (`descs` $descs^)? attr-dict `:` type($barrier) (`,` type($descs)^)?",
            (),
            _verified(nvidia_units.verify_commit),
        ),
        Row(
            "packed_arith",
            "operands:packable* -> result:packed",
            "$op_kind $operands attr-dict `:` functional-type($operands, $result)",
            (d.Property("op_kind", PACKED),),
            _verified(nvidia_units.verify_packed),
        ),
        Row(
            "clc_try_cancel_sync",
            "-> response:tensor",
            "attr-dict `:` type($response)",
            (),
            _verified(nvidia_units.verify_response),
        ),
        Row(
            "clc_try_cancel",
            "result:mem mbarrier:mem",
            "$result `,` $mbarrier attr-dict `:` type($result) `,` type($mbarrier)",
            (),
            _verified(nvidia_units.verify_cancel),
        ),
        Row(
            "clc_load_result",
            "src:mem -> clcResult:i128",
            "$src attr-dict `:` type($src) `->` type($clcResult)",
            (),
            _verified(nvidia_units.verify_cancelled),
        ),
        Row(
            "clc_is_canceled",
            "clcResult:i128 -> is_canceled:i1",
            "$clcResult attr-dict `:` type($clcResult) `->` type($is_canceled)",
        ),
        Row(
            "clc_get_program_id",
            "clcResult:i128 -> result:i32",
            "$clcResult `,` $dim attr-dict `:` type($clcResult) `->` type($result)",
            (d.Property("dim", DIMENSION),),
        ),
    ),
    partitions.OF_TTNG,
    types.verify_layouts,
)
