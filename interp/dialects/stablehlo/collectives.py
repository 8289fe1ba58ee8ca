"""The ops of StableHLO in which processes exchange values: collectives, channels, feeds, and ops that are started and
awaited.

Processes form groups, by ``replica_groups``. The words are those of StableHLO's verifier (`dialect/TypeInference.cpp`,
`StablehloOps.cpp`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.stablehlo.attributes import (
    CHANNEL,
    COUNT,
    I64_ELEMENTS,
    POSITIVE,
    REPLICA_GROUPS,
    pairs_of,
)
from halfulp.interp.dialects.stablehlo.bodies import arguments_of, body_of, results_of_reducer, returned, verify_reducer
from halfulp.interp.dialects.stablehlo.grid import (
    CHANNELS,
    broadcast,
    exchanged,
    gathered,
    meeting,
    number_of_process,
    permuted,
    reduced,
    reduced_at_root,
    scattered,
)
from halfulp.interp.dialects.stablehlo.types import (
    A_FUTURE,
    A_TOKEN,
    ANY_TENSOR,
    FED,
    PLAIN_TENSOR,
    TOKEN,
    UI32_TENSOR,
    FutureType,
    bounds_of,
    compatible,
    elements_fit,
    future_of,
    not_inferred,
    operand_types,
    same_elements,
    shown_sizes,
    sizes_fit,
    stablehlo,
    tensor,
)
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.operations import Operation, all_of
from halfulp.interp.run.evaluators import Compiler, OnFrames, OnValues, moves, passing
from halfulp.interp.run.frames import Action

# --- groups -----------------------------------------------------------------------------------------------------------


def _channel(op: Operation) -> int:
    handle = op.properties.get("channel_handle")
    return int(handle["handle"]) if isinstance(handle, DialectAttr) else 0


def _verify_groups(op: Operation, same_size: bool, size: int | None = None) -> Unprefixed | None:
    """Check the groups of processes. ``same_size``: all groups have one size. ``size``: the size they must have."""
    groups = op.properties["replica_groups"]
    if not isinstance(groups, at.DenseElementsAttr):
        return None
    shape = ty.shape_of(groups.type) or ()
    if len(shape) != 2:
        return Unprefixed("replica groups should be a rank 2 tensor")
    if "use_global_device_ids" in op.properties and 0 in shape:
        return Unprefixed("if `use_global_device_ids` is set, the replica groups cannot be empty")
    seen = set[int]()
    for replica in (number for group in pairs_of(groups) for number in group):
        if replica == -1 and same_size:
            return Unprefixed("Invalid replica id -1")
        if replica in seen:
            return Unprefixed(f"replica id #{replica} seen more than once")
        if replica != -1:
            seen.add(replica)
    missing = next((number for number in range(len(seen)) if number not in seen), None)
    if missing is not None:
        return Unprefixed(f"replica id #{missing} not seen in replica groups")
    if size is not None and (not shape[0] or shape[1] != size):
        return Unprefixed(f"group size of replica_groups must be {size}")
    return None


def _verify_mesh(op: Operation, symbols: Mapping[str, Operation]) -> None:
    """Check that the mesh of the groups exists. Raises VerifyError."""
    groups = op.properties["replica_groups"]
    mesh = groups["mesh"] if isinstance(groups, DialectAttr) else None
    if isinstance(mesh, at.SymbolRefAttr) and mesh.root not in symbols:
        raise op.rule_broken(f"replica_groups: mesh symbol '{mesh.root}' not found")


def _positive_channel(op: Operation) -> Unprefixed | None:
    if "use_global_device_ids" not in op.properties or _channel(op) > 0:
        return None
    return Unprefixed(f"channel_id must be positive when useGlobalDeviceIds is set but got: {_channel(op)}")


def _verify_reducer_of(op: Operation, types: Sequence[ty.Type]) -> Unprefixed | None:
    """Check the body that combines elements of each of these types."""
    for type_ in types:
        found = verify_reducer(body_of(op), [type_], [ty.TensorType((), ty.element_type(type_))])
        if found is not None:
            return found
    return None


def _pairs(op: Operation) -> str | None:
    """Check that there are as many results as operands, with the same elements."""
    if len(op.operands) != len(op.results):
        return "requires the same number of operands and results"
    for number, (one, other) in enumerate(zip(op.operands, op.results, strict=True)):
        if not elements_fit(ty.element_type(one.type), ty.element_type(other.type)):
            return f"requires the same element type for operand and result at index {number}"
    return None


_GROUPS = d.Property("replica_groups", REPLICA_GROUPS)
_CHANNEL = d.Property("channel_handle", CHANNEL, optional=True)
_GLOBAL = d.Property("use_global_device_ids", d.UNIT_ATTR, optional=True)
_ROOT = d.Property("has_dynamic_root", d.UNIT_ATTR, optional=True)
_MANY = (d.variadic("operands", PLAIN_TENSOR),)
_MADE = (d.variadic("result", PLAIN_TENSOR),)

# --- collectives ------------------------------------------------------------------------------------------------------


def _verify_all_gather(op: Operation) -> str | None:
    found = _pairs(op) or _verify_groups(op, same_size=True)
    if found is not None:
        return found
    if "use_global_device_ids" in op.properties and _channel(op) < 0:
        return Unprefixed("channel_id cannot be negative when useGlobalDeviceIds is set")
    axis = op.number("all_gather_dim")
    for one, other in zip(op.operands, op.results, strict=True):
        given, made = ty.shape_of(one.type) or (), ty.shape_of(other.type) or ()
        if axis >= len(given):
            return Unprefixed("all_gather_dim must be a valid index of operand")
        if given[axis] == 0:
            return Unprefixed("dimension size of operand at 'all_gather_dim' cannot be zero")
        if len(made) != len(given):
            return Unprefixed("operand and result must have the same rank")
        if not all(sizes_fit(a, b) for k, (a, b) in enumerate(zip(given, made, strict=True)) if k != axis):
            return Unprefixed(
                "operand and result should have the same shape except for the dimension size at 'all_gather_dim'"
            )
        part, whole = given[axis], made[axis]
        if part is None or whole is None:
            return None
        if whole % part:
            return Unprefixed(
                f"result gather dimension has size {whole}, expected to be a multiple of operand gather dimension size "
                f"{part}"
            )
    return None


stablehlo.op(
    "all_gather",
    operands=_MANY,
    results=_MADE,
    properties=(d.Property("all_gather_dim", COUNT), _CHANNEL, _GROUPS, _GLOBAL),
    verify=_verify_all_gather,
    verify_symbols=_verify_mesh,
    evaluate=meeting(gathered),
)


def _verify_reduced(op: Operation) -> str | None:
    """Check the types of results whose elements are those that the body gives."""
    types = _data(op)
    elements = results_of_reducer(body_of(op), types)
    return not_inferred(op, *(ty.with_element(type_, elements[0]) for type_ in types))


def _data(op: Operation) -> list[ty.Type]:
    """Return the types of the operands without the one that names the root."""
    types = operand_types(op)
    return types[:-1] if "has_dynamic_root" in op.properties else types


stablehlo.op(
    "all_reduce",
    operands=_MANY,
    results=_MADE,
    properties=(_CHANNEL, _GROUPS, _GLOBAL),
    regions=(d.RegionSlot("computation"),),
    traits=(d.Trait.SINGLE_BLOCK,),
    verify=all_of(
        lambda op: _verify_groups(op, same_size=False),
        _positive_channel,
        lambda op: _verify_reducer_of(op, operand_types(op)),
    ),
    verify_regions=_verify_reduced,
    verify_symbols=_verify_mesh,
    evaluate=meeting(reduced),
)


def _verify_reduce_scatter(op: Operation) -> str | None:
    given, made = op.operands[0].type, op.results[0].type
    found = _verify_groups(op, same_size=True) or _verify_reducer_of(op, [given])
    if found is not None:
        return found
    one, other, axis = ty.shape_of(given) or (), ty.shape_of(made) or (), op.number("scatter_dimension")
    if len(one) != len(other):
        return Unprefixed("operand and result should have same rank")
    if axis >= len(one):
        return Unprefixed("scatter dim should be less than operand/result rank")
    found = _positive_channel(op)
    if found is not None:
        return found
    whole, part = one[axis], other[axis]
    if whole is None or part is None:
        return None
    for name, extent in (("result", part), ("operand", whole)):
        if not extent:
            return Unprefixed(f"{name} dimension size at scatter_dimension cannot be zero")
    if whole % part:
        return Unprefixed(
            f"operand scatter dimension has size {whole}, expected to be a multiple of result scatter dimension size "
            f"{part}"
        )
    for index, (size, second) in enumerate(zip(one, other, strict=True)):
        if index != axis and not sizes_fit(size, second):
            shown = shown_sizes(given)[index], shown_sizes(made)[index]
            return Unprefixed(f"non scatter dimensions should be same for operand ({shown[0]}) and result ({shown[1]})")
    (element,) = results_of_reducer(body_of(op), [given])
    if ty.element_type(made) != element:
        return Unprefixed(f"result element-type is expected to be '{element}', but got '{ty.element_type(made)}'")
    return None


stablehlo.op(
    "reduce_scatter",
    operands={"operand": PLAIN_TENSOR},
    results={"result": PLAIN_TENSOR},
    properties=(_CHANNEL, _GROUPS, d.Property("scatter_dimension", COUNT), _GLOBAL),
    regions=(d.RegionSlot("computation"),),
    verify=_verify_reduce_scatter,
    verify_symbols=_verify_mesh,
    evaluate=meeting(scattered),
)


def _verify_all_to_all(op: Operation) -> str | None:
    parts, split, joined = (op.number(name) for name in ("split_count", "split_dimension", "concat_dimension"))
    found = _pairs(op) or _verify_groups(op, same_size=True, size=parts)
    if found is not None:
        return found
    expected = []
    for type_ in operand_types(op):
        sizes, bounds = list(ty.shape_of(type_) or ()), list(bounds_of(type_))
        for name, axis in (("split_dimension", split), ("concat_dimension", joined)):
            if axis >= len(sizes):
                return Unprefixed(f"AllToAll {name} {axis} is out-of-bounds for input rank {len(sizes)}")
        whole = sizes[split]
        if whole is not None and whole % parts:
            return Unprefixed(f"split dimension has size {whole}, expected to be a multiple of split_count {parts}")
        for numbers in (sizes, bounds):
            if numbers and (number := numbers[split]) is not None:
                numbers[split] = number // parts
            if numbers and (number := numbers[joined]) is not None:
                numbers[joined] = number * parts
        expected.append(tensor(sizes, ty.element_type(type_), bounds))
    return not_inferred(op, *expected)


stablehlo.op(
    "all_to_all",
    operands=_MANY,
    results=_MADE,
    properties=(
        _CHANNEL,
        d.Property("concat_dimension", COUNT),
        _GROUPS,
        d.Property("split_count", POSITIVE),
        d.Property("split_dimension", COUNT),
    ),
    verify=_verify_all_to_all,
    verify_symbols=_verify_mesh,
    evaluate=meeting(exchanged),
)


def _verify_root(op: Operation) -> Unprefixed | None:
    """Check the operand that names the root of each of the others."""
    name = op.name.partition(".")[2]
    if "has_dynamic_root" not in op.properties:
        return None if op.operands else Unprefixed(f"{name} requires at least one data operand")
    if len(op.operands) < 2:
        return Unprefixed(f"{name} with has_dynamic_root=true requires at least two operands (data + root)")
    root, count = op.operands[-1].type, len(op.operands) - 1
    last = f"last operand of {name} with has_dynamic_root=true must"
    shape = ty.shape_of(root) or ()
    if ty.element_type(root) != ty.I32 or len(shape) != 1:
        return Unprefixed(f"{last} be a rank-1 i32 tensor, but got '{root}'")
    if shape[0] != count:
        return Unprefixed(
            f"{last} have the same number of elements as data operands ({count}), but got {shown_sizes(root)[0]}"
        )
    return None


def _verify_groups_of_broadcast(op: Operation) -> Unprefixed | None:
    groups = op.properties["replica_groups"]
    if not isinstance(groups, at.DenseElementsAttr):
        return None
    rank = len(ty.shape_of(groups.type) or ())
    if rank != 2:
        return Unprefixed(f"replica groups should be a rank 2 tensor,but instead it is of rank {rank}")
    seen = set[int]()
    for replica in (number for group in pairs_of(groups) for number in group):
        if replica < 0:
            return Unprefixed(f"replica_groups values must be positive, but was given {replica}")
        if replica in seen:
            return Unprefixed(f"replica id #{replica} seen more than once")
        seen.add(replica)
    return None


stablehlo.op(
    "collective_broadcast",
    operands=_MANY,
    results=_MADE,
    properties=(_CHANNEL, _ROOT, _GROUPS),
    verify=all_of(_verify_groups_of_broadcast, _verify_root, lambda op: not_inferred(op, *_data(op))),
    verify_symbols=_verify_mesh,
    evaluate=meeting(broadcast, alone=True),
)
stablehlo.op(
    "collective_reduce",
    operands=_MANY,
    results=_MADE,
    properties=(_CHANNEL, _ROOT, _GROUPS, _GLOBAL),
    regions=(d.RegionSlot("computation"),),
    traits=(d.Trait.SINGLE_BLOCK,),
    verify=all_of(
        lambda op: _verify_groups(op, same_size=False),
        _positive_channel,
        _verify_root,
        lambda op: _verify_reducer_of(op, _data(op)),
    ),
    verify_regions=_verify_reduced,
    verify_symbols=_verify_mesh,
    evaluate=meeting(reduced_at_root, alone=True),
)


def _verify_permutation(op: Operation) -> str | None:
    pairs = op.prop("source_target_pairs", at.DenseElementsAttr)
    shape = ty.shape_of(pairs.type) or ()
    found = same_elements(op)
    if found is not None:
        return found
    if len(shape) != 2:
        return Unprefixed(f"expect source_target_pairs attribute to be of rank 2, but got rank {len(shape)}")
    if shape[1] != 2:
        return Unprefixed(
            f"expect source_target_pairs attribute of shape (N, 2), but got ({', '.join(map(str, shape))})"
        )
    seen = set[int](), set[int]()
    for pair in pairs_of(pairs):
        for known, name, number in zip(seen, ("sources", "targets"), pair, strict=True):
            if number < 0:
                return Unprefixed("replica ids in source_target_pairs must be >= 0.")
            if number in known:
                return Unprefixed(f"duplicate {name} not allowed.")
            known.add(number)
    return not_inferred(op, *operand_types(op))


stablehlo.op(
    "collective_permute",
    operands={"operand": PLAIN_TENSOR},
    results={"result": PLAIN_TENSOR},
    properties=(_CHANNEL, d.Property("source_target_pairs", I64_ELEMENTS)),
    verify=_verify_permutation,
    evaluate=permuted,
)
stablehlo.op(
    "cross-replica-sum",
    operands={"operand": PLAIN_TENSOR},
    results={"result": PLAIN_TENSOR},
    properties=(d.Property("replica_groups", I64_ELEMENTS),),
    verify=compatible,
    evaluate=meeting(reduced),
)
for _axis, _mnemonic in enumerate(("replica_id", "partition_id")):
    stablehlo.op(
        _mnemonic,
        "attr-dict `:` type(results)",
        results={"result": UI32_TENSOR},
        verify=lambda op: not_inferred(op, ty.TensorType((), ty.IntegerType(32, "unsigned"))),
        evaluate=number_of_process(_axis),
    )

# --- ops that are started and awaited ---------------------------------------------------------------------------------

_STARTED = frozenset(
    f"stablehlo.{name}"
    for name in (
        "all_gather", "all_reduce", "all_to_all", "collective_broadcast", "collective_permute", "collective_reduce",
        "dynamic_slice", "dynamic_update_slice", "reduce_scatter", "slice",
    )
)  # fmt: skip


def _verify_start(op: Operation) -> str | None:
    block = body_of(op)
    if len(block.operations) != 2:
        return "region must contain exactly one operation and a return"
    if block.operations[0].name not in _STARTED:
        return "region must contain a collective or slice operation"
    arguments = arguments_of(block)
    if len(op.operands) != len(arguments):
        return f"number of operands ({len(op.operands)}) must match number of region arguments ({len(arguments)})"
    for number, (given, argument) in enumerate(zip(operand_types(op), arguments, strict=True)):
        if given != argument:
            return f"operand type '{given}' at index {number} must match region argument type '{argument}'"
    if len(returned(block)) != 1:
        return f"region must return exactly one value, but got {len(returned(block))}"
    return not_inferred(op, future_of(returned(block)))


def _verify_done(op: Operation) -> str | None:
    future = narrowed(op.operands[0].type, FutureType)
    if len(future.types) != 1:
        return f"future must have exactly one type parameter, but got {len(future.types)}"
    return not_inferred(op, future.types[0])


def _start(op: Operation, compiler: Compiler) -> Action:
    """Make the action of async_start: the region runs at once, and the future is its result."""
    block = body_of(op)
    body = compiler.region(op.regions[0], compiler.resume(op))
    return passing(moves(compiler.slots(op.operands), compiler.slots(block.arguments)), body)


stablehlo.op(
    "async_start",
    operands=_MANY,
    results={"result": A_FUTURE},
    regions=(d.RegionSlot("body"),),
    traits=(d.Trait.SINGLE_BLOCK, d.Trait.ISOLATED_FROM_ABOVE),
    verify_regions=_verify_start,
    evaluate=OnFrames(_start, no_lanes=True),
)
stablehlo.op(
    "async_done",
    operands={"operand": A_FUTURE},
    results={"result": PLAIN_TENSOR},
    verify=_verify_done,
    evaluate=OnValues(lambda op, settings: lambda run, operands: operands, raw=True, no_lanes=True),
)

# --- channels and feeds -----------------------------------------------------------------------------------------------


def _verify_channel(op: Operation, host: int, words: str) -> Unprefixed | None:
    """Check the type of a channel. ``host``: that of a channel from or to the host, and its ``words``."""
    handle = op.prop("channel_handle", DialectAttr)
    to_host = op.properties.get("is_host_transfer") == at.BoolAttr(True)
    if not to_host and handle["type"] != 1:
        return Unprefixed("channel_type should be DEVICE_TO_DEVICE when is_host_transfer is false")
    if to_host and handle["type"] != host:
        return Unprefixed(f"channel_type should be {words} when is_host_transfer is true")
    return None


def _verify_fed(op: Operation, all_but_last: str) -> Unprefixed | None:
    """Check that the results are tensors, and behind them a token. ``all_but_last``: StableHLO's words for the
    tensors.
    """
    types = [result.type for result in op.results]
    if not types:
        return Unprefixed("result is expected to be at least of size 1, but got 0")
    for type_ in types[:-1]:
        if not isinstance(type_, ty.TensorType):
            return Unprefixed(f"{all_but_last} expected to be of tensor type, but got '{type_}'")
    if types[-1] != TOKEN:
        return Unprefixed(f"last element of result types is expected to be of token type, but got '{types[-1]}'")
    return None


def _verify_infeed(op: Operation) -> str | None:
    found = _verify_fed(op, "all elements of result types, except the last element, are")
    layout = op.properties.get("layout")
    if found is not None or not isinstance(layout, at.ArrayAttr):
        return found
    count = len(op.results) - 1
    if len(layout.elements) != count:
        return Unprefixed(
            f"layout-attribute size must be {count} (which is the number of op-results - 1 (for token result)), but "
            f"got {len(layout.elements)}"
        )
    for each in layout.elements:
        if not isinstance(each, at.ArrayAttr):
            return Unprefixed(f"layout-attribute expected to have elements of type array, but got {each}")
        for leaf in each.elements:
            if not isinstance(leaf, at.IntegerAttr):
                return Unprefixed(
                    f"layout-attribute's leaf elements are expected to be of type integer, but got {leaf}"
                )
    return None


_EMPTY = at.StringAttr("")
_TO_HOST = d.Property("is_host_transfer", d.BOOL_ATTR, optional=True)
_SOURCES = d.Property("source_target_pairs", I64_ELEMENTS, optional=True)
_HANDLE = d.Property("channel_handle", CHANNEL)
_SENT = (d.variadic("inputs", ANY_TENSOR), d.Slot("token", A_TOKEN))

stablehlo.op(
    "infeed",
    operands={"token": A_TOKEN},
    results=(d.variadic("result", FED),),
    properties=(
        d.Property("infeed_config", d.STRING_ATTR, default=_EMPTY),
        d.Property("layout", d.ARRAY_ATTR, optional=True),
    ),
    verify=_verify_infeed,
    evaluate=CHANNELS["infeed"],
)
stablehlo.op(
    "outfeed",
    operands=_SENT,
    results={"result": A_TOKEN},
    properties=(d.Property("outfeed_config", d.STRING_ATTR, default=_EMPTY),),
    verify=lambda op: not_inferred(op, TOKEN),
    evaluate=CHANNELS["outfeed"],
)
stablehlo.op(
    "send",
    operands=_SENT,
    results={"result": A_TOKEN},
    properties=(_HANDLE, _TO_HOST, _SOURCES),
    verify=all_of(lambda op: _verify_channel(op, 2, "DEVICE_TO_HOST"), lambda op: not_inferred(op, TOKEN)),
    evaluate=CHANNELS["send"],
)
stablehlo.op(
    "recv",
    operands={"token": A_TOKEN},
    results=(d.variadic("result", FED),),
    properties=(_HANDLE, _TO_HOST, _SOURCES),
    verify=all_of(
        lambda op: _verify_channel(op, 3, "HOST_TO_DEVICE"),
        lambda op: _verify_fed(op, "everything but the last element of result types is"),
    ),
    evaluate=CHANNELS["recv"],
)
