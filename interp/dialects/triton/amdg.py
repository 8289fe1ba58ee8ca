"""The dialect amdg: instructions of AMD GPUs in TTGIR, and the ops of rocdl that stand beside them (triton 3.9)."""

from __future__ import annotations

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.triton.forms import I16_ATTR, Row, declare_rows, number
from halfulp.interp.dialects.triton.tt import CACHE, ORDERING, RMW
from halfulp.interp.dialects.triton.types import follows, mask_type
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition

amdg = d.Dialect("amdg", partial=True)
rocdl = d.Dialect("rocdl", partial=True)

_STRIDE = "(`stride` `=` $stride^)?"


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
        Row("in_thread_transpose", "src:tensor -> result:tensor", "$src attr-dict `:` type($src) `->` type($result)"),
        Row(
            "scaled_upcast_fp4",
            "input:tensor scale:tensor -> output:floats",
            "$input `scale` $scale attr-dict `:` type($input) `,` type($scale) `->` type($output)",
            (number("axis"),),
        ),
        Row(
            "scaled_upcast_fp8",
            "input:tensor scale:tensor -> output:floats",
            "$input `scale` $scale attr-dict `:` type($input) `,` type($scale) `->` type($output)",
        ),
    ),
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
        Row("sched.barrier", "", "custom<BareFlags>($mask) attr-dict", (d.Property("mask", SCHEDULED),)),
    ),
)
