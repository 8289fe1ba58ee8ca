"""The dialect amdg: instructions of AMD GPUs in TTGIR, and the ops of rocdl that stand beside them (triton 3.9)."""

from __future__ import annotations

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.triton import amd_rules, casts, local, nvidia_rules
from halfulp.interp.dialects.triton.forms import I16_ATTR, Row, declare_rows, flag, number, truth
from halfulp.interp.dialects.triton.tt import CACHE, ORDERING, RMW
from halfulp.interp.dialects.triton.types import follows, mask_type
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition

amdg = d.Dialect("amdg", partial=True)
rocdl = d.Dialect("rocdl", partial=True)

_STRIDE = "(`stride` `=` $stride^)?"
_BARRIER, _OF_BARRIER = "(`,` `barrier` `=` $barrier^)?", "(`,` type($barrier)^)?"


def _same(type_: ty.Type) -> ty.Type:
    return type_


def _offsets(type_: ty.Type) -> ty.Type:
    """Return the type of the offsets of an access: 32-bit integers in the shape of what is loaded or stored."""
    return ty.with_element(type_, ty.I32)


def _at(value: str, *more: d.TypeRule) -> dict[str, tuple[d.TypeRule, ...]]:
    offsets = d.inferred_type("offsets", value, _offsets)
    return {"type_rules": (offsets, follows("mask", value, mask_type, "mask type matches the value's type"), *more)}


declare_rows(
    amdg,
    (
        Row(
            "buffer_load",
            "ptr:ptr offsets:integers stride:i32? mask:bools? other:tensor? -> result:tensor",
            f"$ptr `[` $offsets `]` (`,` $mask^)? (`,` $other^)? {_STRIDE} attr-dict `:` type($ptr) `->` type($result)",
            (CACHE, number("contiguity", 1)),
            _at("result", follows("other", "result", _same, "other type matches the result's type")),
        ),
        Row(
            "buffer_store",
            "value:tensor ptr:ptr offsets:integers stride:i32? mask:bools?",
            f"$value `,` $ptr `[` $offsets `]` (`,` $mask^)? {_STRIDE} attr-dict `:` type($ptr) `->` type($value)",
            (CACHE, number("contiguity", 1)),
            _at("value"),
        ),
        Row(
            "buffer_atomic_rmw",
            "ptr:ptr offsets:integers value:tensor stride:i32? mask:bools? -> result:tensor",
            "$atomic_rmw_op `,` $sem `,` $scope `,` $value `,` $ptr `[` $offsets `]` (`,` $mask^)? "
            f"{_STRIDE} attr-dict `:` type($ptr) `->` type($result)",
            (d.Property("atomic_rmw_op", RMW), *ORDERING),
            _at("result", d.same_type("value", "result")),
        ),
        Row(
            "in_thread_transpose",
            "src:tensor -> result:tensor",
            "$src attr-dict `:` type($src) `->` type($result)",
            (),
            {"verify": amd_rules.verify_transpose},
        ),
        Row(
            "scaled_upcast_fp4",
            "input:tensor scale:tensor -> output:halves",
            "$input `scale` $scale attr-dict `:` type($input) `,` type($scale) `->` type($output)",
            (number("axis"),),
            {"verify": amd_rules.verify_scaled_fp4},
        ),
        Row(
            "scaled_upcast_fp8",
            "input:tensor scale:tensor -> output:halves",
            "$input `scale` $scale attr-dict `:` type($input) `,` type($scale) `->` type($output)",
        ),
        Row(
            "buffer_load_to_local",
            "dest:mem ptr:ptr offsets:integers mask:bools? other:tensor? stride:i32? -> token:token",
            "$ptr `[` $offsets `]` (`mask` `=` $mask^)? (`other` `=` $other^)? (`stride` `=` $stride^)? `into` $dest "
            "attr-dict `:` type($ptr) `[` type($offsets) `]` type($other) `->` custom<Stripped>($dest)",
            (CACHE, number("contiguity", 1)),
            {"type_rules": (follows("mask", "offsets", mask_type, "infer mask shape from offsets"),)},
        ),
        Row(
            "buffer_atomic_cas",
            "ptr:ptr offsets:integers cmp:tensor val:tensor stride:i32? -> result:tensor",
            "$sem `,` $scope `,` $cmp `,` $val `,` $ptr `[` $offsets `]` (`stride` `=` $stride^)? attr-dict `:` "
            "type($ptr) `->` type($result)",
            ORDERING,
            {
                "type_rules": (
                    d.inferred_type("offsets", "result", _offsets),
                    d.same_type("cmp", "val", "result"),
                )
            },
        ),
        Row(
            "extract_slice",
            "source:ranked -> result:ranked",
            "$source $static_offsets attr-dict `:` type($source) `to` type($result)",
            (d.Property("static_offsets", d.INTEGER_64_ARRAY_ATTR),),
            {"verify": amd_rules.verify_extract},
        ),
        Row(
            "concat",
            "sources:tensor* -> result:ranked",
            "$sources attr-dict `:` type($sources) `->` type($result)",
            (),
            {"verify": amd_rules.verify_concat},
        ),
        Row("cond_barrier", "pred:i1", "$pred attr-dict"),
        Row(
            "local_load_packed_transposed",
            "src:mem token:token? -> result:tensor",
            "$src (`token` $token^)? attr-dict `:` type($src) `->` type($result)",
            (),
            {"verify": amd_rules.verify_packed_load},
        ),
        Row(
            "async_copy_local_to_global",
            "src:mem dst:ptrs mask:bools? -> token:token",
            "$src `,` $dst (`mask` $mask^)? attr-dict `:` type($src) `->` type($dst)",
            (CACHE, number("contiguity", 1)),
            {"type_rules": (follows("mask", "dst", mask_type, "infer mask type from dst type"),)},
        ),
        Row(
            "async_tdm_copy_global_to_local",
            "desc:desc result:mem barrier:mem? -> token:token",
            f"$desc `into` $result {_BARRIER} attr-dict `:` type($desc) {_OF_BARRIER} `->` type($result)",
            (CACHE, number("warp_used_hint", optional=True)),
            {"verify": amd_rules.verify_tdm_load},
        ),
        Row(
            "async_tdm_fused_copy_global_to_local",
            "descs:desc* dests:mem* -> token:token",
            "$descs `into` $dests attr-dict `:` type($descs) `->` type($dests)",
            (d.Property("warp_used_hints", d.INTEGER_ARRAY_ATTR), CACHE),
            {"verify": amd_rules.verify_tdm_fused},
            equal=True,
        ),
        Row(
            "async_tdm_copy_local_to_global",
            "desc:desc src:mem barrier:mem? -> token:token",
            f"$desc `from` $src {_BARRIER} attr-dict `:` type($src) {_OF_BARRIER} `->` type($desc)",
            (CACHE,),
            {"verify": amd_rules.verify_tdm_store},
        ),
        Row(
            "async_tdm_scatter",
            "desc:desc dst_row_indices:offsets src:mem barrier:mem? -> retToken:token",
            f"$desc `[` $dst_row_indices `]` `from` $src {_BARRIER} attr-dict `:` type($dst_row_indices) `,` "
            f"type($src) {_OF_BARRIER} `->` type($desc)",
            (),
            {"verify": amd_rules.verify_tdm_scatter},
        ),
        Row(
            "async_tdm_gather",
            "desc:desc src_row_indices:offsets dst:mem barrier:mem? -> token:token",
            f"$desc `[` $src_row_indices `]` `to` $dst {_BARRIER} attr-dict `:` type($src_row_indices) `,` type($dst) "
            f"{_OF_BARRIER} `->` type($desc)",
            (),
            {"verify": amd_rules.verify_tdm_gather},
        ),
        Row("async_tdm_wait", "asyncToken:token* -> retToken:token", "$asyncToken attr-dict", (number("num"),)),
        Row(
            "async_tdm_intrinsic_wait",
            "asyncToken:token* -> retToken:token",
            "($asyncToken^)? attr-dict",
            (number("count"),),
        ),
        Row("async_wait", "asyncToken:token* -> retToken:token", "($asyncToken^)? attr-dict", (number("num_inst"),)),
        Row(
            "tdm_prefetch",
            "desc:desc indices:i32* pred:i1 -> maybeOffsets:tensor?",
            "$desc `[` $indices `]` `,` $pred `,` `speculative` `=` $speculative (`returnOffsets` $returnOffsets^)? "
            "attr-dict `:` type($desc) (`->` type($maybeOffsets)^)?",
            (truth("speculative"), flag("returnOffsets")),
        ),
        Row(
            "update_tensor_descriptor",
            "desc:desc add_offsets:i32* set_bounds:i32* pred:i32? -> result:desc",
            "$desc oilist(`add_offsets` `=` `[` $add_offsets `]` | `set_bounds` `=` `[` $set_bounds `]` | `pred` `=` "
            "$pred) attr-dict `:` type($desc)",
            (flag("clamp_bounds"),),
            {"type_rules": (d.same_type("desc", "result"),), "verify": amd_rules.verify_update},
        ),
        Row(
            "init_barrier",
            "alloc:mem",
            "$alloc `,` $count attr-dict `:` type($alloc)",
            (number("count"),),
            {"verify": amd_rules.verify_init},
        ),
        Row(
            "wait_barrier",
            "alloc:mem phase:i32",
            "$alloc `,` $phase attr-dict `:` type($alloc)",
            (),
            {"verify": nvidia_rules.barrier()},
        ),
        Row(
            "arrive_barrier",
            "alloc:mem -> result:i32",
            "$alloc `,` $count attr-dict `:` type($alloc) `->` type($result)",
            (number("count"),),
            {"verify": amd_rules.verify_arrive},
        ),
        Row(
            "async_copy_mbarrier_arrive",
            "barrier:mem",
            "$barrier attr-dict `:` type($barrier)",
            (),
            {"verify": nvidia_rules.barrier("barrier")},
        ),
        *(
            Row(f"cluster_barrier_{name}", "", "attr-dict", (), {"verify": nvidia_rules.verify_cluster})
            for name in ("arrive", "wait")
        ),
    ),
    {**local.OF_AMDG, "scaled_upcast_fp4": casts.SCALED_FP4, "scaled_upcast_fp8": casts.SCALED_FP8},
)

# --- rocdl ------------------------------------------------------------------------------------------------------------

SCHEDULED = EnumDefinition(
    "::mlir::ROCDL::SchedGroupMask",
    {
        "none": 0,
        **{
            name: 1 << bit
            for bit, name in enumerate(
                (
                    "non_mem_non_sideeffect", "valu", "salu", "mfma_wmma", "all_vmem", "vmem_read", "vmem_write",
                    "all_ds", "ds_read", "ds_write", "transcendentals",
                )
            )
        },
    },
    storage_width=32,
    flags=True,
    separator="|",
)  # fmt: skip

declare_rows(
    rocdl,
    (
        Row("s.setprio", "", "$priority attr-dict", (d.Property("priority", I16_ATTR),)),
        Row("s.barrier", "", "attr-dict"),
        *(
            Row(f"{name}.id.{axis}", "-> res:i32", "attr-dict `:` type($res)")
            for name in ("workitem", "workgroup")
            for axis in "xyz"
        ),
        Row("barrier", "", "attr-dict"),
        Row("sched.barrier", "", "custom<BareFlags>($mask) attr-dict", (d.Property("mask", SCHEDULED),)),
    ),
    local.OF_ROCDL,
)
