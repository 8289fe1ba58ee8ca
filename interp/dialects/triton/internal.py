"""The dialects tti, nvws and nvg of triton 3.9, and the barriers of nvvm: ops that its passes add.

Texts between passes have them. They are read, verified and printed; none is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.llvm.types import PointerType, StructType
from halfulp.interp.dialects.regions import inside
from halfulp.interp.dialects.triton import encodings, gpu_rules, types
from halfulp.interp.dialects.triton.forms import I32_ATTR, TRUE, Row, declare_rows, flag, number, truth
from halfulp.interp.dialects.triton.tt import ATOMIC_RULES, ORDERING, RMW, counted
from halfulp.interp.dialects.triton.types import ArefType, follows, mask_type, pointee, same_encodings, same_shapes
from halfulp.interp.ir import attributes as at_
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute, narrowed
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.operations import BlockArgument, Operation, OpResult, Region, SSAValue
from halfulp.interp.text.op_parser import OpParser, OpPrinter

# --- tti: ops of the sanitizers ---------------------------------------------------------------------------------------

tti = d.Dialect("tti")

MEMORY = counted("instrument::MemType", 0, "shared_mem", "tensor_mem")
_STORES = truth("isStore")
_MASK_OF_POINTEE = follows("mask", "ptr", mask_type, "mask type matches ptr type")
_OF_RESULT = d.derived_type("result", "ptr", pointee, "failed to verify that result matches ptr type")
_OF_VALUE = d.derived_type("value", "ptr", pointee, "failed to verify that value type matches ptr type")
_ALIKE = {"type_rules": (same_shapes("val", "result"), same_encodings("val", "result"))}
_OF_SCRATCH = "attr-dict `:` custom<Stripped>($scratch)"
_OF_LOCK = "$lock (`,` $pred^)? attr-dict `:` type($lock)"


def _verify_gather(op: Operation) -> str | None:
    """Check the types of a gather from shared memory at offsets."""
    return gpu_rules.verify_local_gather(op) or (
        None
        if len(op.operands) - 2 == len(gpu_rules.memdesc(op.operands[0]).shape)
        else d.Unprefixed("offset count must match source rank")
    )


def _verify_dot(op: Operation) -> str | None:
    """Check that the operands of a dot of i8 are those of one MMA of version 2."""
    given = [gpu_rules.encoding_of(value) for value in (*op.operands[:2], op.results[0])]
    parents = [encodings.parameter(each, "ttg.dot_op", "parent") for each in given[:2]] + given[2:]
    if None in parents[:2]:
        return d.Unprefixed("requires dot operand encodings for A and B")
    if any(encodings.parameter(parent, "ttg.nvidia_mma", "versionMajor") != 2 for parent in parents):
        return d.Unprefixed("requires NVIDIA MMAv2 operand and result layouts")
    return None if len(set(parents)) == 1 else d.Unprefixed("requires matching NVIDIA MMAv2 layouts")


declare_rows(
    tti,
    (
        Row(
            "experimental_assert_uniform",
            "condition:i1",
            "$condition `,` $message attr-dict-with-keyword",
            (d.Property("message", d.STRING_ATTR),),
        ),
        Row(
            "experimental_buffer_descriptors",
            "-> result:tensor",
            "$offsets `,` $lengths `,` $memType attr-dict `:` type($result)",
            (
                d.Property("lengths", d.INTEGER_ARRAY_ATTR),
                d.Property("memType", MEMORY),
                d.Property("offsets", d.INTEGER_ARRAY_ATTR),
            ),
        ),
        Row(
            "experimental_memdesc_to_i32",
            "memdesc:mem -> result:i32",
            "$memdesc attr-dict `:` custom<Stripped>($memdesc)",
        ),
        Row(
            "experimental_memory_offset_to_i32",
            "-> result:i32",
            "$offset `,` $memType attr-dict",
            (d.Property("memType", MEMORY), d.Property("offset", I32_ATTR)),
        ),
        Row("experimental_cluster_cta_id", "-> result:i32", "attr-dict `:` type($result)"),
        Row(
            "experimental_local_gather",
            "src:mem indices:integers offsets:i32* -> result:tensor",
            "$src `[` $indices `]` `offsets` `=` `[` $offsets `]` attr-dict `:` type($src) `,` type($indices) `->` "
            "type($result)",
            (number("axis"),),
            {"verify": _verify_gather},
        ),
        *(
            Row(f"experimental_gsan_{name}", "", "attr-dict")
            for name in ("init", "kernel_exit", "grid_dependency_wait")
        ),
        *(
            Row(f"experimental_gsan_cluster_barrier_{name}", "scratch:ptr", f"$scratch {_OF_SCRATCH}")
            for name in ("init", "sync")
        ),
        Row(
            "experimental_gsan_mbarrier_table_init",
            "scratch:ptr",
            f"$scratch `,` $capacity {_OF_SCRATCH}",
            (d.Property("capacity", I32_ATTR),),
        ),
        Row(
            "experimental_gsan_mbarrier_init",
            "scratch:ptr barrier:mem",
            f"$scratch `,` $barrier `,` $expectedCount {_OF_SCRATCH} `,` type($barrier)",
            (d.Property("expectedCount", I32_ATTR),),
        ),
        Row(
            "experimental_gsan_mbarrier_arrive",
            "scratch:ptr barrier:mem pred:i1",
            f"$scratch `,` $barrier `,` $pred `,` $count {_OF_SCRATCH} `,` type($barrier)",
            (
                number("count"),
                truth("multicast"),
                d.Property("multicastMasks", d.INTEGER_ARRAY_ATTR),
                truth("publishClock", TRUE),
                number("sourceBroadcastMask"),
            ),
        ),
        Row(
            "experimental_gsan_mbarrier_wait",
            "scratch:ptr barrier:mem phase:i32 pred:i1",
            f"$scratch `,` $barrier `,` $phase `,` $pred {_OF_SCRATCH} `,` type($barrier)",
        ),
        Row(
            "experimental_gsan_tensordesc_access",
            "desc:desc coords:i32* pred:i1?",
            "$desc `[` $coords `]` `,` $isStore (`,` $pred^)? attr-dict `:` type($desc)",
            (_STORES,),
        ),
        Row(
            "experimental_gsan_indexed_tensordesc_access",
            "desc:desc indices:integers offset:i32 pred:i1?",
            "$desc `[` $indices `,` $offset `]` `,` $isStore (`,` $pred^)? attr-dict `:` type($desc) `,` "
            "type($indices)",
            (_STORES,),
        ),
        Row(
            "experimental_gsan_atomic_tensordesc_access",
            "desc:desc coords:i32*",
            "$desc `[` $coords `]` `,` $sem `,` $scope attr-dict `:` type($desc)",
            ORDERING,
        ),
        Row(
            "experimental_gsan_tensor_access",
            "ptr:ptrlike mask:boollike?",
            "$ptr `,` $isStore (`,` $mask^)? attr-dict `:` type($ptr)",
            (_STORES,),
            {"type_rules": (_MASK_OF_POINTEE,)},
        ),
        Row(
            "experimental_gsan_atomic_load",
            "ptr:ptrlike mask:boollike? -> result:value",
            "$sem `,` $scope `,` $ptr (`,` $mask^)? attr-dict `:` functional-type(operands, $result)",
            ORDERING,
            {"type_rules": (_OF_RESULT, _MASK_OF_POINTEE)},
        ),
        Row(
            "experimental_gsan_atomic_store",
            "ptr:ptrlike value:value mask:boollike?",
            "$sem `,` $scope `,` $ptr `,` $value (`,` $mask^)? attr-dict `:` type($ptr)",
            ORDERING,
            {"type_rules": (_OF_VALUE, _MASK_OF_POINTEE)},
        ),
        Row(
            "experimental_gsan_atomic_poll",
            "ptr:ptrlike matched:boollike",
            "$sem `,` $scope `,` $ptr `,` $matched attr-dict `:` type($ptr)",
            ORDERING,
            {
                "type_rules": (
                    d.derived_type(
                        "matched", "ptr", mask_type, "failed to verify that matched type matches pointer shape"
                    ),
                )
            },
        ),
        Row(
            "experimental_gsan_atomic_rmw",
            "ptr:ptrlike val:value mask:boollike? -> result:value",
            "$atomic_rmw_op `,` $sem `,` $scope `,` $ptr `,` $val (`,` $mask^)? attr-dict `:` "
            "functional-type(operands, $result)",
            (d.Property("atomic_rmw_op", RMW), *ORDERING),
            {"type_rules": ATOMIC_RULES["rmw"]},
        ),
        Row(
            "experimental_gsan_atomic_cas",
            "ptr:ptrlike cmp:value val:value -> result:value",
            "$sem `,` $scope `,` $ptr `,` $cmp `,` $val attr-dict `:` functional-type(operands, $result)",
            ORDERING,
            {"type_rules": ATOMIC_RULES["cas"]},
        ),
        *(Row(f"experimental_lock_{name}", "lock:ptrlike pred:i1?", _OF_LOCK) for name in ("acquire", "release")),
        Row(
            "dot_i8",
            "a:bytes b:bytes c:words -> d:words",
            "$a `,` $b `,` $c `,` `aSigned` `=` $aSigned `,` `bSigned` `=` $bSigned attr-dict `:` type($a) `*` "
            "type($b) `->` type($d)",
            (truth("aSigned"), truth("bSigned")),
            {
                "type_rules": (
                    d.same_type("d", "c", message="failed to verify that result's type matches accumulator's type"),
                ),
                "verify": _verify_dot,
            },
        ),
        Row(
            "experimental_fpsan_embed",
            "val:floatlike -> result:integerlike",
            "$val attr-dict `:` functional-type(operands, $result)",
            (),
            _ALIKE,
        ),
        Row(
            "experimental_fpsan_unembed",
            "val:integerlike -> result:floatlike",
            "$val attr-dict `:` functional-type(operands, $result)",
            (),
            _ALIKE,
        ),
    ),
)

# --- nvws: buffers that groups of warps hand to each other ------------------------------------------------------------

nvws = d.Dialect("nvws")
nvws.types.update({"aref": types.read_aref, "token": lambda p: types.WARP_TOKEN})
_ASYNC = nvws.enum(
    EnumDefinition(
        "::mlir::triton::nvws::AsyncOp",
        {
            name: place
            for place, name in enumerate(("none", "tma_load", "tc5mma", "tmem_copy", "cp_async", "wgmma", "clc"))
        },
        mnemonic="nvws.async_op",
    )
)
_ASYNC_OPS = d.Property("async_ops", d.array_of_enum("array of async op attributes", _ASYNC))
_PARTITION, _OUTPUTS = "ttg.partition", "ttg.partition.outputs"


def _solve_buffers(found: dict[str, Any], properties: Mapping[str, Attribute]) -> None:
    if isinstance(aref := found.get("result"), ArefType):
        found.setdefault("buffers", aref.held)


_BUFFERS = d.TypeRule(
    "failed to verify that input types match Aref output type",
    _solve_buffers,
    lambda found, properties: tuple(found["buffers"]) == found["result"].held,
)


def _verify_create(op: Operation) -> str | None:
    """Check that the buffers have one number of parts, and that nothing else uses them."""
    sizes = {gpu_rules.memdesc(value).shape[:1] for value in op.operands}
    for user in _users(op):
        if user.name not in ("nvws.aref.create", "ttg.local_dealloc"):
            return d.Unprefixed("Aref buffer is used elsewhere, Aref cannot guarantee async safety")
    return d.Unprefixed("Leading dims of sliced aref inputs don't match.") if len(sizes) > 1 else None


def _users(op: Operation) -> Iterator[Operation]:
    """Yield the ops that take one of the operands of an op."""
    around = op
    while around.parent_op is not None and around.parent_op.parent_op is not None:
        around = around.parent_op
    given = set(map(id, op.operands))
    return (each for each in around.walk() if any(id(value) in given for value in each.operands))


def _verify_enter(op: Operation) -> str | None:
    """Check that the results are one part of each buffer that is referred to."""
    aref = narrowed(op.operands[0].type, ArefType)
    results = [result.type for result in op.results[:-1]]
    if len(results) != len(aref.held):
        return d.Unprefixed("Aref has different number of arguments than enter")
    for whole, part in zip(aref.held, results, strict=True):
        if not (isinstance(whole, types.MemDescType) and isinstance(part, types.MemDescType)):
            return d.Unprefixed("Slicing not Implemented for this type")
        scales = encodings.is_encoding(whole.encoding, "ttng.tensor_memory_scales_encoding")
        shape = whole.shape if scales else whole.shape[1:]
        end = " for TensorMemoryScalesEncodingAttr" if scales else ""
        if whole.element != part.element or len(shape) != len(part.shape):
            return d.Unprefixed(f"Ranks don't match{end}")
        if shape != part.shape:
            return d.Unprefixed(f"Dimensions don't match{end}")
    return None


def _partitions(op: Operation | None) -> frozenset[int]:
    """Return the partitions that an op belongs to."""
    found = None if op is None else op.attributes.get(_PARTITION)
    return frozenset(found.values) if isinstance(found, at_.DenseArrayAttr) else frozenset()


def _owners(value: SSAValue) -> frozenset[int]:
    """Return the partitions that own a value: those of the op that makes it, or of that result of it."""
    if isinstance(value, OpResult):
        op, place = value.owner, value.index
    else:
        assert isinstance(value, BlockArgument)
        region, place = value.block.parent, value.index - 1
        loop = None if region is None else region.parent
        if loop is None or loop.name != "scf.for" or place < 0 or _OUTPUTS not in loop.attributes:
            return frozenset()
        op = loop
    outputs = op.attributes.get(_OUTPUTS)
    if not _partitions(op) or not isinstance(outputs, at_.ArrayAttr):
        return _partitions(op)
    one = outputs.elements[place] if place < len(outputs.elements) else None
    return frozenset(one.values) if isinstance(one, at_.DenseArrayAttr) else frozenset()


def _verify_phi(op: Operation) -> str | None:
    """Check that each partition of the op owns one of the operands."""
    if not _partitions(op):
        return d.Unprefixed("requires a non-empty ttg.partition annotation")
    owners = [_owners(value) for value in op.operands]
    for name, found in zip(("local", "remote"), owners, strict=True):
        if not found:
            return d.Unprefixed(f"{name} operand must have partition ownership")
    if both := owners[0] & owners[1]:
        return d.Unprefixed(f"partition {min(both)} is owned by both phi operands")
    same = owners[0] | owners[1] == _partitions(op)
    return None if same else d.Unprefixed("operand partition union must exactly match the phi partition set")


def _parse_groups(p: OpParser, at: int, definition: d.OpDefinition) -> Operation:
    """Read ``partition0 num_warps(4) {…} partition1 …``."""
    attributes: dict[str, Attribute] = {}
    if p.take("attributes"):
        p.dictionary(attributes)
    counts: list[int] = []
    regions: list[Region] = []
    while p.take(f"partition{len(counts)}"):
        p.keyword(definition, "num_warps")
        p.expect("(")
        counts.append(p.integer())
        p.expect(")")
        regions.append(p.region(definition.name))
    properties: dict[str, Attribute] = {"numWarps": at_.DenseArrayAttr(ty.I32, tuple(counts))}
    return p.placed(Operation(definition.name, definition, [], (), properties, attributes, regions), at)


def _print_groups(printer: OpPrinter, operation: Operation) -> str:
    text = f" attributes {printer.dictionary(operation.attributes)}" if operation.attributes else ""
    counts = operation.numbers("numWarps")
    for place, (region, count) in enumerate(zip(operation.regions, counts, strict=True)):
        body = printer.region(region, operation, entry_arguments=False)
        text += f"\n{printer.indent}partition{place} num_warps({count}) {body}"
    return text


def _verify_groups(op: Operation) -> str | None:
    """Check that there are as many numbers of warps as regions, and that the first region returns the results."""
    if len(op.numbers("numWarps")) != len(op.regions):
        return d.Unprefixed("Must supply numWarps for each Warp Group.")
    if not op.results:
        return None
    if not op.regions:
        return d.Unprefixed("Must have at least one region when there are results.")
    last = op.regions[0].blocks[0].operations[-1]
    if last.name != "nvws.warp_group.yield":
        return d.Unprefixed(
            "When nvws.warp_group op has results, the first region should be terminated by nvws.warp_group.yield op."
        )
    if len(last.operands) == len(op.results):
        return None
    return d.Unprefixed(
        "Mismatch in the number of results returned by nvws.warp_group op and the number of the operands of the "
        "corresponding nvws.warp_group.yield op in the first region."
    )


_OF_OPERANDS = "attr-dict `:` type(operands)"
_IN_GROUP = inside("nvws.warp_group")

nvws.op(
    "warp_group",
    custom=d.CustomForm(_parse_groups, _print_groups),
    results=(d.variadic("results", d.ANY),),
    properties=(d.Property("numWarps", d.INTEGER_ARRAY_ATTR),),
    regions=(d.RegionSlot("partitionRegions", d.Arity.VARIADIC),),
    verify=_verify_groups,
)
declare_rows(
    nvws,
    (
        Row(
            "warp_group.yield",
            "values:any*",
            "($values^)? attr-dict (`:` type($values)^)?",
            (),
            {"traits": (d.Trait.TERMINATOR, d.Trait.RETURN_LIKE), "verify": _IN_GROUP},
        ),
        Row("warp_group.return", "", "attr-dict", (), {"traits": (d.Trait.TERMINATOR,), "verify": _IN_GROUP}),
        Row(
            "aref.create",
            "buffers:mem* -> result:aref",
            "$buffers attr-dict `:` custom<Stripped>($result)",
            (),
            {"type_rules": (_BUFFERS,), "verify": _verify_create},
        ),
        Row(
            "aref.phi",
            "local:any remote:any -> result:any",
            "$local `,` $remote attr-dict `:` type($result)",
            (),
            {"traits": (d.Trait.SAME_OPERANDS_AND_RESULT_TYPE,), "verify": _verify_phi},
        ),
        Row(
            "aref.buffer",
            "aref:aref token:token stage:i32? -> buffers:mem*",
            "$aref (`[` $stage^ `]`)? `,` $token attr-dict `:` custom<Stripped>($aref) `,` type($token) `->` "
            "type(results)",
        ),
        *(
            Row(
                f"aref.{name}.enter",
                "aref:aref stage:i32? phase:i32? -> buffers:mem* token:token",
                "$aref (`[` $stage^ `,` $phase `]`)? attr-dict `:` custom<Stripped>($aref) `->` type(results)",
                (),
                {"verify": _verify_enter},
            )
            for name in ("get", "put")
        ),
        *(
            Row(
                f"aref.{name}.exit",
                "aref:aref token:token stage:i32?",
                "$aref (`[` $stage^ `]`)? `,` $token $async_ops attr-dict `:` custom<Stripped>($aref) `,` type($token)",
                (_ASYNC_OPS,),
            )
            for name in ("get", "put")
        ),
        Row(
            "create_token",
            "-> result:tokens",
            "attr-dict `:` type($result)",
            (
                d.Property(
                    "loadType",
                    counted("nvws::TokenLoadType", 0, "none", "asyncLoadOp", "tmaLoadOp", "localStoreOp", "TmemLoadOp"),
                ),
                number("numBuffers"),
            ),
        ),
        *(
            Row(name, "token:tokens idx:i32 phase:i1", f"$token `,` $idx `,` $phase {_OF_OPERANDS}")
            for name in ("producer_acquire", "consumer_wait")
        ),
        *(
            Row(name, "token:tokens idx:i32", f"$token `,` $idx {_OF_OPERANDS}")
            for name in ("producer_commit", "consumer_release")
        ),
        Row("clc_try_cancel", "result:mem", "$result attr-dict `:` type($result)"),
        Row(
            "descriptor_load",
            "desc:desc indices:i32* result:mem",
            "$desc `[` $indices `]` $txCount $result oilist(`cacheModifier` `=` $cache | `evictionPolicy` `=` $evict) "
            f"{_OF_OPERANDS}",
            (
                d.Property("cache", counted("CacheModifier", 1, "none", "ca", "cg", "wb", "cs", "wt", "cv"), default=1),
                d.Property(
                    "evict", counted("EvictionPolicy", 1, "evict_normal", "evict_first", "evict_last"), default=1
                ),
                d.Property("txCount", I32_ATTR),
            ),
        ),
        Row(
            "descriptor_gather",
            "desc:desc x_offsets:words y_offset:i32 result:mem",
            f"$desc `[` $x_offsets `,` $y_offset `]` $txCount $result {_OF_OPERANDS}",
            (d.Property("txCount", I32_ATTR),),
        ),
    ),
)

# --- nvg: instructions of NVIDIA GPUs beside the llvm dialect ---------------------------------------------------------

nvg = d.Dialect("nvg")
_ELEMENTS = counted("nvgpu::WGMMAEltType", 0, "s8", "s32", "e4m3", "e5m2", "f16", "bf16", "tf32", "f32")
_LAYOUT = counted("nvgpu::WGMMALayout", 0, "row", "col")


def _space(number_: int) -> d.TypeConstraint:
    type_ = PointerType(space=number_)
    return d.TypeConstraint(f"LLVM pointer in address space {number_}", lambda found: found == type_, builds=type_)


_STRUCT = d.TypeConstraint("LLVM structure type", lambda type_: isinstance(type_, StructType))
_MATRIX = d.TypeConstraint("wgmma operand A/B type", lambda type_: isinstance(type_, StructType) or type_ == ty.I64)
_SCALAR = d.TypeConstraint("floating-point or integer", lambda type_: types.is_float(type_) or types.is_integer(type_))
for _name in ("cluster_id", "warp_group_barrier_id"):
    nvg.op(_name, "attr-dict", results={"result": types.I32})
nvg.op("tensor_memory_base", "attr-dict", results={"result": _space(6)})
nvg.op(
    "ld_acquire",
    "$sem `,` $scope `,` $addr (`,` $mask^)? attr-dict `:` functional-type($addr, $result)",
    operands=(d.Slot("addr", _space(1)), d.optional("mask", d.BOOL)),
    results={"result": _SCALAR},
    properties=ORDERING,
)
nvg.op(
    "wgmma_wait_group",
    "$input attr-dict `:` type($input)",
    operands={"input": _STRUCT},
    results={"output": _STRUCT},
    properties=(number("pendings"),),
    type_rules=(d.same_type("input", "output"),),
)
nvg.op(
    "wgmma",
    "$opA `,` $opB `,` $useC (`,` $opC^)? attr-dict `:` functional-type(operands, $res)",
    operands=(
        d.Slot("opA", _MATRIX),
        d.Slot("opB", _MATRIX),
        d.Slot("useC", d.BOOL),
        d.optional("opC", _STRUCT),
    ),
    results={"res": _STRUCT},
    properties=(
        *(d.Property(f"eltType{letter}", _ELEMENTS) for letter in "ABC"),
        number("k"),
        *(d.Property(f"layout{letter}", _LAYOUT) for letter in "AB"),
        number("m"),
        number("n"),
    ),
)

# --- nvvm: barriers of NVIDIA GPUs ------------------------------------------------------------------------------------

nvvm = d.Dialect("nvvm", partial=True)
declare_rows(
    nvvm,
    (
        Row(
            "barrier",
            "barrierId:i32? numberOfThreads:i32?",
            "(`id` `=` $barrierId^)? (`number_of_threads` `=` $numberOfThreads^)? attr-dict",
        ),
        *(Row(f"cluster.{name}", "", "attr-dict", (flag("aligned"),)) for name in ("arrive", "wait")),
    ),
)
