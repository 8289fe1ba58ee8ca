"""The dialect ttg: layouts and memory of the GPU stage (`TritonGPUOps.td`, `TritonGPUAttrDefs.td` of triton 3.9)."""

from __future__ import annotations

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare import parameters as kinds
from halfulp.interp.dialects.regions import inside
from halfulp.interp.dialects.triton import types
from halfulp.interp.dialects.triton.forms import Row, declare_rows, flag, number, truth
from halfulp.interp.dialects.triton.tt import CACHE, RMW, VOLATILE
from halfulp.interp.dialects.triton.types import follows, mask_type, pointee
from halfulp.interp.ir.dialect_attributes import EnumDefinition, Parameter, ParameterKind

ttg = d.Dialect("ttg", partial=True)
ttg.types.update({"memdesc": types.read_memdesc, "async.token": lambda p: types.ASYNC_TOKEN})

# --- encodings --------------------------------------------------------------------------------------------------------

_NUMBER, _NUMBERS, _TRUTH = kinds.INTEGER, kinds.INTEGER_ARRAY, kinds.BOOLEAN
_BASES = kinds.bracketed(kinds.INTEGER_ARRAY)
_CTAS = Parameter("CGALayout", _BASES, optional=True)
"""How blocks of a cluster divide the tensor."""


def _encoding(mnemonic: str, alias: str | None, *parameters: Parameter) -> None:
    ttg.attribute(mnemonic, "`<` `{` custom<Struct>() `}` `>`", parameters=parameters, alias=alias)


def _numbers(*names: str) -> tuple[Parameter, ...]:
    return tuple(Parameter(name, _NUMBER) for name in names)


def _lists(*names: str) -> tuple[Parameter, ...]:
    return tuple(Parameter(name, _NUMBERS) for name in names)


def _optional(name: str, kind: ParameterKind, default: object) -> Parameter:
    return Parameter(name, kind, optional=True, default=default)


_encoding("blocked", "blocked", *_lists("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order"), _CTAS)
_encoding("slice", None, *_numbers("dim"), Parameter("parent", kinds.ATTRIBUTE))
for _name in ("linear", "generic_linear"):
    _encoding(_name, _name, *(Parameter(name, _BASES) for name in ("register", "lane", "warp", "block")))
_encoding("dot_op", None, *_numbers("opIdx"), Parameter("parent", kinds.ATTRIBUTE), _optional("kWidth", _NUMBER, 0))
_encoding(
    "nvidia_mma", "mma", *_numbers("versionMajor", "versionMinor"), *_lists("warpsPerCTA"), _CTAS, *_lists("instrShape")
)
_encoding(
    "amd_mfma",
    "mma",
    *_numbers("version"),
    *_lists("warpsPerCTA", "instrShape"),
    Parameter("isTransposed", _TRUTH),
    _CTAS,
    _optional("tilesPerWarp", _NUMBERS, None),
    _optional("elementBitWidth", _NUMBER, 32),
)
for _name in ("swizzled_shared", "amd_rotating_shared"):
    _encoding(_name, "shared", *_numbers("vec", "perPhase", "maxPhase"), *_lists("order"), _CTAS)
_encoding(
    "nvmma_shared",
    "shared",
    *_numbers("swizzlingByteWidth"),
    Parameter("transposed", _TRUTH),
    *_numbers("elementBitWidth"),
    _optional("fp4Padded", _TRUTH, False),
    _CTAS,
)
ttg.attribute("shared_memory", alias="smem")

# --- ops --------------------------------------------------------------------------------------------------------------

SPACES = EnumDefinition(
    "::mlir::triton::gpu::AddrSpace",
    {"none": 0, "local": 1, "global_read": 2, "global_write": 4, "tensor_read": 8, "tensor_write": 16, "all": 31},
    storage_width=32,
    flags=True,
    separator="|",
)
_VIEW = "$src attr-dict `:` type($src) `->` type($result)"
_ORDER = d.Property("order", d.INTEGER_ARRAY_ATTR)
_COPIES = {
    "type_rules": (
        follows("mask", "src", mask_type, "infer mask type from src type"),
        follows("other", "src", pointee, "infer other type from src type"),
    )
}
_ENDS = (d.Trait.TERMINATOR, d.Trait.RETURN_LIKE)

declare_rows(
    ttg,
    (
        Row("convert_layout", "src:tensor -> result:tensor", _VIEW, (flag("force_warp_shuffle"),)),
        Row("async_wait", "asyncToken:token* -> retToken:token", "($asyncToken^)? attr-dict", (number("num"),)),
        Row("async_commit_group", "inputTokens:token* -> token:token", "(`tokens` $inputTokens^)? attr-dict"),
        Row(
            "async_copy_global_to_local",
            "src:ptrs result:mem mask:bools? other:value? -> token:token",
            "$src `,` $result (`mask` $mask^)? (`other` $other^)? attr-dict `:` type($src) `->` "
            "custom<Stripped>($result)",
            (CACHE, VOLATILE, number("contiguity", 1)),
            _COPIES,
        ),
        Row(
            "local_alloc",
            "src:tensor? -> result:mem",
            "($src^)? attr-dict `:` functional-type(operands, results)",
            (number("alignment", optional=True),),
        ),
        Row("local_dealloc", "src:mem", "$src attr-dict `:` type($src)"),
        Row(
            "memdesc_index",
            "src:mem index:i32 -> result:mem",
            "$src `[` $index `]` attr-dict `:` type($src) `->` type($result)",
        ),
        Row(
            "memdesc_subslice",
            "src:mem -> result:mem",
            "$src `[` custom<Integers>($offsets) `]` attr-dict `:` type($src) `->` type($result)",
            (d.Property("offsets", d.INTEGER_ARRAY_ATTR),),
        ),
        Row("memdesc_trans", "src:mem -> result:mem", _VIEW, (_ORDER,)),
        Row("memdesc_reshape", "src:mem -> result:mem", _VIEW),
        Row("memdesc_reinterpret", "src:mem -> result:mem", _VIEW),
        Row(
            "local_load",
            "src:mem token:token? -> result:tensor",
            "$src (`token` $token^)? attr-dict `:` type($src) `->` type($result)",
        ),
        Row("local_store", "src:tensor dst:mem", "$src `,` $dst attr-dict `:` type($src) `->` type($dst)"),
        Row(
            "local_gather",
            "src:mem indices:integers token:token? -> result:tensor",
            "$src `[` $indices `]` (`token` $token^)? attr-dict `:` type($src) `,` type($indices) `->` type($result)",
            (number("axis"),),
        ),
        Row(
            "local_scatter",
            "dst:mem values:tensor indices:integers token:token?",
            "$dst `[` $indices `]` `,` $values (`token` $token^)? attr-dict `:` type($dst) `,` type($indices) `,` "
            "type($values)",
            (number("axis"),),
        ),
        Row(
            "local_atomic_scatter_rmw",
            "dst:mem values:tensor indices:integers mask:bools? -> result:tensor",
            "$atomic_rmw_op `,` $dst `[` $indices `]` `,` $values (`,` $mask^)? attr-dict `:` "
            "functional-type(operands, results)",
            (d.Property("atomic_rmw_op", RMW), number("axis")),
        ),
        Row("fp4_to_fp", "src:tensor -> result:floats", _VIEW, (number("axis"),)),
        Row(
            "global_scratch_alloc",
            "-> result:ptr",
            "attr-dict `:` type($result)",
            (number("alignment"), number("nbytes"), flag("shared_cluster_state"), flag("third_party_allocation")),
        ),
        Row(
            "predicate_stage",
            "iv:iv ub:iv step:iv -> result:i1",
            "$iv `,` $ub `,` $step `maxStage` $maxStage `stage` $stage attr-dict `:` type($iv) `->` type($result)",
            (number("maxStage"), number("stage")),
            {"type_rules": (d.same_type("iv", "ub", "step"),)},
        ),
        Row("mask", "pred:i1 -> result:any*", None, (), {"regions": (d.RegionSlot("region"),)}),
        Row(
            "mask.return",
            "result:any*",
            "$result attr-dict `:` type($result)",
            (),
            {"traits": _ENDS, "verify": inside("ttg.mask")},
        ),
        Row(
            "inline_asm",
            "args:any* -> result:value*",
            "$asm_string attr-dict ($args^)? `:` functional-type($args, $result)",
            (d.Property("asm_string", d.STRING_ATTR), d.Property("constraints", d.STRING_ATTR), truth("pure")),
        ),
        Row("barrier", "", "custom<BareFlags>($addrSpace) attr-dict", (d.Property("addrSpace", SPACES),)),
        Row("warp_id", "-> result:i32", "attr-dict", (flag("omitUniformHint"),)),
    ),
)
