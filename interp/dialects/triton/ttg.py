"""The dialect ttg: layouts and memory of the GPU stage (`TritonGPUOps.td`, `TritonGPUAttrDefs.td` of triton 3.9)."""

from __future__ import annotations

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare import parameters as kinds
from halfulp.interp.declare.operands import move_inherent
from halfulp.interp.dialects.regions import inside, parenthesised, types_text
from halfulp.interp.dialects.triton import (
    casts,
    encodings,
    forms,
    gpu_rules,
    local,
    partitions,
    result_layouts,
    types,
)
from halfulp.interp.dialects.triton.forms import Row, declare_rows, flag, number, truth
from halfulp.interp.dialects.triton.tt import CACHE, RMW, VOLATILE
from halfulp.interp.dialects.triton.types import follows, mask_type, pointee
from halfulp.interp.ir import attributes as at_
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.dialect_attributes import EnumDefinition, Parameter, ParameterKind
from halfulp.interp.ir.operations import Block, Operation, Region
from halfulp.interp.text.op_parser import Argument, OpParser, OpPrinter

ttg = d.Dialect("ttg", partial=True)
ttg.types.update({"memdesc": types.read_memdesc, "async.token": lambda p: types.ASYNC_TOKEN})

# --- encodings --------------------------------------------------------------------------------------------------------

_NUMBER, _NUMBERS, _TRUTH = kinds.INTEGER, kinds.INTEGER_ARRAY, kinds.BOOLEAN
_BASES = forms.BASES
_CTAS = Parameter("CGALayout", _BASES, optional=True)
"""How blocks of a cluster divide the tensor."""


def _encoding(mnemonic: str, alias: str | None, *parameters: Parameter, struct: str = "Struct") -> None:
    """``struct``: ``OpenStruct`` where Triton skips what it does not know."""
    form = f"`<` `{{` custom<{struct}>() `}}` `>`"
    ttg.attribute(mnemonic, form, parameters=parameters, alias=alias, verify=encodings.verify)


def _numbers(*names: str) -> tuple[Parameter, ...]:
    return tuple(Parameter(name, _NUMBER) for name in names)


def _lists(*names: str) -> tuple[Parameter, ...]:
    return tuple(Parameter(name, _NUMBERS) for name in names)


def _optional(name: str, kind: ParameterKind, default: object, shown: bool = False) -> Parameter:
    return Parameter(name, kind, optional=True, default=default, shown=shown)


_encoding("blocked", "blocked", *_lists("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order"), _CTAS)
_encoding("slice", None, *_numbers("dim"), Parameter("parent", kinds.ATTRIBUTE))
for _name in ("linear", "generic_linear"):
    _bases = (Parameter(name, _BASES) for name in ("register", "lane", "warp", "block"))
    _encoding(_name, _name, *_bases, struct="OpenStruct")
_encoding("dot_op", None, *_numbers("opIdx"), Parameter("parent", kinds.ATTRIBUTE), _optional("kWidth", _NUMBER, 0))
_encoding(
    "nvidia_mma",
    "mma",
    _optional("versionMajor", _NUMBER, 0, shown=True),
    _optional("versionMinor", _NUMBER, 0, shown=True),
    *_lists("warpsPerCTA"),
    _CTAS,
    *_lists("instrShape"),
    struct="OpenStruct",
)
_encoding(
    "amd_mfma",
    "mma",
    _optional("version", _NUMBER, 0, shown=True),
    *_lists("warpsPerCTA", "instrShape"),
    _optional("isTransposed", _TRUTH, False, shown=True),
    _CTAS,
    _optional("tilesPerWarp", _NUMBERS, None),
    _optional("elementBitWidth", _NUMBER, 32),
    struct="OpenStruct",
)
_encoding(
    "amd_wmma",
    "mma",
    _optional("version", _NUMBER, 0, shown=True),
    _optional("isTranspose", _TRUTH, False, shown=True),
    Parameter("ctaLayout", forms.layout("register", "warp", skip=True)),
    _CTAS,
    _optional("instrShape", _NUMBERS, (16, 16, 16)),
    struct="OpenStruct",
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
    _optional("rank", forms.NOT_TWO, None),
    _CTAS,
)
ttg.attribute(
    "padded_shared",
    "`<` $pads $offsets `>`",
    parameters=(Parameter("pads", forms.PADS), Parameter("offsets", forms.PADDED_OFFSETS)),
    alias="shared",
    verify=encodings.verify,
)
ttg.attribute(
    "shared_linear",
    "`<` $offsets `,` `alignment` `=` $alignment `>`",
    parameters=(Parameter("offsets", forms.SHARED_OFFSETS), *_numbers("alignment")),
    alias="shared",
    verify=encodings.verify,
)
_encoding(
    "partitioned_shared",
    "shared",
    *_numbers("numPartitions", "numGroups", "partitionDim"),
    Parameter("partitionLayout", kinds.ATTRIBUTE),
)
ttg.attribute("shared_memory", alias="smem")

gluon = d.Dialect("gluon", partial=True)
for _name in ("auto_encoding", "coalesced_encoding"):
    gluon.attribute(_name)

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
_ALIKE = (types.same_shapes("src", "result"), types.same_elements("src", "result"))
_ENDS = (d.Trait.TERMINATOR, d.Trait.RETURN_LIKE)

declare_rows(
    ttg,
    (
        Row(
            "convert_layout",
            "src:tensor -> result:tensor",
            _VIEW,
            (flag("force_warp_shuffle"),),
            {"type_rules": _ALIKE, "verify": result_layouts.verify_convert},
        ),
        Row("async_wait", "asyncToken:token* -> retToken:token", "($asyncToken^)? attr-dict", (number("num"),)),
        Row("async_commit_group", "inputTokens:token* -> token:token", "(`tokens` $inputTokens^)? attr-dict"),
        Row(
            "async_copy_global_to_local",
            "src:ptrs result:mem mask:bools? other:value? -> token:token",
            "$src `,` $result (`mask` $mask^)? (`other` $other^)? attr-dict `:` type($src) `->` "
            "custom<Stripped>($result)",
            (CACHE, VOLATILE, number("contiguity", 1)),
            {**_COPIES, "verify": gpu_rules.verify_async_copy},
        ),
        Row(
            "local_alloc",
            "src:tensor? -> result:mem",
            "($src^)? attr-dict `:` functional-type(operands, results)",
            (number("alignment", optional=True),),
            {"verify": gpu_rules.verify_local_alloc},
        ),
        Row("local_dealloc", "src:mem", "$src attr-dict `:` type($src)"),
        Row(
            "memdesc_index",
            "src:mem index:i32 -> result:mem",
            "$src `[` $index `]` attr-dict `:` type($src) `->` type($result)",
            (),
            {"verify": gpu_rules.verify_index},
        ),
        Row(
            "memdesc_subslice",
            "src:mem -> result:mem",
            "$src `[` custom<Integers>($offsets) `]` attr-dict `:` type($src) `->` type($result)",
            (d.Property("offsets", d.INTEGER_ARRAY_ATTR),),
            {"verify": gpu_rules.verify_subslice},
        ),
        Row("memdesc_trans", "src:mem -> result:mem", _VIEW, (_ORDER,), {"verify": gpu_rules.verify_memory_trans}),
        Row("memdesc_reshape", "src:mem -> result:mem", _VIEW, (), {"verify": gpu_rules.verify_memory_reshape}),
        Row("memdesc_reinterpret", "src:mem -> result:mem", _VIEW, (), {"verify": gpu_rules.verify_reinterpret}),
        Row(
            "local_load",
            "src:mem token:token? -> result:tensor",
            "$src (`token` $token^)? attr-dict `:` type($src) `->` type($result)",
            (),
            {"verify": gpu_rules.verify_local_load},
        ),
        Row(
            "local_store",
            "src:tensor dst:mem",
            "$src `,` $dst attr-dict `:` type($src) `->` type($dst)",
            (),
            {"verify": gpu_rules.verify_local_store},
        ),
        Row(
            "local_gather",
            "src:mem indices:integers token:token? -> result:tensor",
            "$src `[` $indices `]` (`token` $token^)? attr-dict `:` type($src) `,` type($indices) `->` type($result)",
            (number("axis"),),
            {"verify": gpu_rules.verify_local_gather},
        ),
        Row(
            "local_scatter",
            "dst:mem values:tensor indices:integers token:token?",
            "$dst `[` $indices `]` `,` $values (`token` $token^)? attr-dict `:` type($dst) `,` type($indices) `,` "
            "type($values)",
            (number("axis"),),
            {"verify": gpu_rules.verify_local_scatter},
        ),
        Row(
            "local_atomic_scatter_rmw",
            "dst:mem values:tensor indices:integers mask:bools? -> result:tensor",
            "$atomic_rmw_op `,` $dst `[` $indices `]` `,` $values (`,` $mask^)? attr-dict `:` "
            "functional-type(operands, results)",
            (d.Property("atomic_rmw_op", RMW), number("axis")),
            {"verify": gpu_rules.verify_local_atomic},
        ),
        Row(
            "fp4_to_fp",
            "src:tensor -> result:floats",
            _VIEW,
            (number("axis"),),
            {"verify": result_layouts.verify_fp4},
        ),
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
    {**local.OF_TTG, "fp4_to_fp": casts.FP4_TO_FP},
    types.verify_layouts,
)

declare_rows(
    gluon,
    (Row("set_auto_layout", "src:tensor -> result:tensor", _VIEW),),
    {},
    types.verify_layouts,
)

# --- warps that do different work -------------------------------------------------------------------------------------

_NUM_WARPS = "partitionNumWarps"


def _parse_warps(p: OpParser, at: int, definition: d.OpDefinition) -> Operation:
    """Read ``(%captures) default {…} partition0(%arguments) num_warps(4) {…} … : (types) -> types``."""
    captures = parenthesised(p)
    attributes: dict[str, Attribute] = {}
    properties: dict[str, Attribute] = {}
    if p.take("attributes"):
        p.dictionary(attributes)
        move_inherent(definition, properties, attributes)
    p.keyword(definition, "default")
    default, start = p.region(definition.name), p.pos
    counts: list[int] = []
    regions: list[Region] = []
    while p.take(f"partition{len(counts)}"):
        p.expect("(")
        arguments = p.until(")", lambda: _argument(p))
        p.keyword(definition, "num_warps")
        p.expect("(")
        counts.append(p.integer())
        p.expect(")")
        regions.append(p.region(_PARTITIONS.name, arguments))
    p.expect(":")
    types = p.function_type()
    if len(types.inputs) != len(captures):
        p.wrong(definition.name, f"has {len(captures)} values, but {len(types.inputs)} types", at)
    values = [p.use(name, type_) for name, type_ in zip(captures, types.inputs, strict=True)]
    holder, block = Region(), Block()
    block.append(p.placed(Operation(_PARTITIONS.name, _PARTITIONS, values, (), {}, {}, regions), start))
    holder.append(block)
    properties[_NUM_WARPS] = at_.DenseArrayAttr(ty.I32, tuple(counts))
    regions = [default, holder]
    return p.placed(Operation(definition.name, definition, [], types.results, properties, attributes, regions), at)


def _argument(p: OpParser) -> Argument:
    token = p.operand_token()
    p.expect(":")
    type_ = p.type()
    return Argument(token, type_, p.deferrable_location() if p.tokens[p.pos] == "loc" else None)


def _print_warps(printer: OpPrinter, operation: Operation) -> str:
    default, holder = operation.regions
    (partitions,) = holder.blocks[0].operations
    shown = {name: value for name, value in operation.properties.items() if name != _NUM_WARPS} | operation.attributes
    text = f"({', '.join(map(printer.name, partitions.operands))})"
    text += f" attributes {printer.dictionary(shown)}" if shown else ""
    text += f"\n{printer.indent}default {printer.region(default, operation, entry_arguments=False)}"
    counts = operation.numbers(_NUM_WARPS)
    for number_, (region, count) in enumerate(zip(partitions.regions, counts, strict=True)):
        arguments = ", ".join(
            f"{printer.name(argument)}: {printer.type(argument.type)}{printer.location_of_argument(argument)}"
            for argument in region.blocks[0].arguments
        )
        text += f"\n{printer.indent}partition{number_}({arguments}) num_warps({count}) "
        text += printer.region(region, partitions, entry_arguments=False)
    types = [[value.type for value in values] for values in (partitions.operands, operation.results)]
    return f"{text} : {types_text(printer, types[0], bare=False)} -> {types_text(printer, types[1], bare=True)}"


def _verify_warps(op: Operation) -> str | None:
    """Check that there are as many numbers of warps as partitions."""
    if op.regions and not op.regions[0].blocks:
        return "region #0 ('defaultRegion') failed to verify constraint: region with at least 1 blocks"
    operations = op.regions[1].blocks[0].operations if len(op.regions) == 2 and op.regions[1].blocks else []
    if len(operations) != 1 or operations[0].name != "ttg.warp_specialize.partitions":
        return "expected to find only a `ttg.warp_specialize.partitions` op inside its second region"
    regions, counts = operations[0].regions, op.numbers(_NUM_WARPS)
    if len(counts) != len(regions):
        return f"has {len(regions)} partitions but `partitionNumWarps` has {len(counts)} elements"
    for place, count in enumerate(counts):
        if count < 1 or count & count - 1:
            return f"partition #{place} number of warps ({count}) must be a power of 2"
    starts = op.properties.get("warpGroupStartIds")
    if isinstance(starts, at_.DenseArrayAttr) and len(starts.values) != len(counts):
        return f"has {len(starts.values)} warp group start IDs but expected {len(counts)}"
    around = op.parent_op
    while around is not None and around.name != op.name:
        around = around.parent_op
    if around is not None:
        return "cannot be nested inside another `ttg.warp_specialize` op"
    warps = types.context_of(op).warps
    return (
        d.Unprefixed("warp-specialized kernels requires num_warps to be a multiple of 4") if (warps or 0) % 4 else None
    )


def _verify_yield(op: Operation) -> str | None:
    """Check that the default region returns what the op returns."""
    if (problem := inside("ttg.warp_specialize")(op)) is not None or op.parent_op is None:
        return problem
    given, expected = op.operands, op.parent_op.results
    if len(given) != len(expected):
        return f"has {len(given)} operands but parent op expected {len(expected)}"
    for number_, (one, other) in enumerate(zip(given, expected, strict=True)):
        if one.type != other.type:
            return f"operand #{number_} has type '{one.type}' but parent op expected '{other.type}'"
    return None


def _verify_partitions(op: Operation) -> str | None:
    """Check that each partition takes what the op captures."""
    captured = [value.type for value in op.operands]
    for place, region in enumerate(op.regions):
        if not region.blocks:
            return f"region #{place} ('partitionRegions') failed to verify constraint: region with at least 1 blocks"
        taken = [argument.type for argument in region.blocks[0].arguments]
        if len(taken) != len(captured):
            return f"partition region #{place} has {len(taken)} arguments but expected {len(captured)}"
        for index, (one, other) in enumerate(zip(taken, captured, strict=True)):
            if one != other:
                return (
                    f"partition region #{place} argument #{index} has type {one} but corresponding capture has type "
                    f"{other}"
                )
    return inside("ttg.warp_specialize")(op)


_PARTITIONS = ttg.op(
    "warp_specialize.partitions",
    operands=(d.variadic("explicitCaptures", d.ANY),),
    regions=(d.RegionSlot("partitionRegions", d.Arity.VARIADIC),),
    traits=(d.Trait.TERMINATOR, d.Trait.ISOLATED_FROM_ABOVE),
    verify=_verify_partitions,
)
ttg.op(
    "warp_specialize",
    custom=d.CustomForm(_parse_warps, _print_warps),
    evaluate=partitions.OF_TTG["warp_specialize"],
    results=(d.variadic("defaultPassthrough", d.ANY),),
    properties=(
        d.Property(_NUM_WARPS, d.INTEGER_ARRAY_ATTR),
        *(
            d.Property(name, d.INTEGER_ARRAY_ATTR, optional=True)
            for name in ("warpGroupStartIds", "requestedRegisters", "actualRegisters")
        ),
    ),
    regions=(d.RegionSlot("defaultRegion"), d.RegionSlot("partitionOpHolder")),
    verify=_verify_warps,
)
declare_rows(
    ttg,
    (
        Row(
            "warp_yield",
            "values:any*",
            "($values^)? attr-dict (`:` type($values)^)?",
            (),
            {"traits": _ENDS, "verify": _verify_yield},
        ),
        Row(
            "warp_return",
            "",
            "attr-dict",
            (),
            {"traits": _ENDS, "verify": inside("ttg.warp_specialize.partitions")},
        ),
    ),
    partitions.OF_TTG,
)
