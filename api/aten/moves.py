"""Ops of PyTorch that move elements: copies, indices, joins, permutations, filled tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from halfulp.aten.bands import Array
from halfulp.aten.calls import Call, Exact, Expected, NotJudged, Within, array_of
from halfulp.aten.elementwise import Rule, promoted
from halfulp.aten.sums import places_along, sums_at
from halfulp.interp.values.coerce import is_tensor

VIEWS = (
    *("view", "_unsafe_view", "_reshape_alias", "reshape", "t", "transpose", "permute", "expand", "slice", "select"),
    *("squeeze", "unsqueeze", "detach", "alias", "split", "split_with_sizes", "unsafe_split", "unbind", "diagonal"),
    *("as_strided", "unfold", "lift_fresh", "real", "view_as_real", "view_as_complex", "flatten", "movedim", "narrow"),
    *("_conj", "_neg_view", "resolve_conj", "resolve_neg", "view_dtype", "chunk", "tensor_split", "swapaxes", "mT"),
    "_local_scalar_dense",
)
"""Ops whose results are other views of the memory of an argument, or numbers that are read. Nothing is computed."""

EMPTY = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted", "resize", "set")
"""Ops whose results hold nothing yet."""

RANDOM = (
    *("rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli", "normal"),
    *("uniform", "random", "exponential", "multinomial", "poisson", "geometric", "log_normal", "cauchy"),
)
"""Ops whose results are drawn at random."""


def moved(f: Callable[[Call], Array]) -> Rule:
    """Return the rule of an op that moves elements: its result has these elements."""

    def rule(call: Call) -> Sequence[Expected]:
        found = np.asarray(f(call))
        return [Exact([found if found.dtype == call.dtype else promoted(found, call.dtype)])]

    return rule


def filled(value: Callable[[Call], Any]) -> Rule:
    """Return the rule of a tensor that is full of one number, or of numbers in order."""

    def rule(call: Call) -> Sequence[Expected]:
        shape = tuple(call.results[0].shape)
        return [Exact([np.broadcast_to(promoted(np.asarray(value(call)), call.dtype), shape)])]

    return rule


def _arrays(call: Call, name: str) -> list[Array]:
    return [array_of(each) for each in call[name]]


def _same_type(arrays: Sequence[Array], dtype: Any) -> list[Array]:
    return [promoted(each, dtype) for each in arrays]


def _cat(call: Call) -> Array:
    arrays = [each for each in _arrays(call, "tensors") if each.ndim > 1 or each.size]
    return np.concatenate(_same_type(arrays, call.dtype), int(call["dim"] or 0))


def _stack(call: Call) -> Array:
    return np.stack(_same_type(_arrays(call, "tensors"), call.dtype), int(call["dim"] or 0))


def _key(call: Call) -> tuple[Any, ...]:
    given = call["indices"]
    key = [slice(None) if each is None else array_of(each) for each in given]
    used = [k for k, each in enumerate(given) if each is not None]
    if used and used != list(range(used[0], used[-1] + 1)):
        raise NotJudged("indices with gaps between them")
    return tuple(key)


def _along(call: Call, index: str = "index") -> tuple[Any, ...]:
    return places_along(call.array(index), int(call["dim"]) % max(call["self"].ndim, 1))


def _gather(call: Call) -> Array:
    found: Array = call.array("self")[_along(call)]
    return found


def _scatter(call: Call) -> Array:
    if call.has("reduce"):
        raise NotJudged("a scatter that reduces")
    out, key = call.array("self").copy(), _along(call)
    if is_tensor(call["src"]):
        out[key] = call.array("src")[tuple(slice(n) for n in call.array("index").shape)]
    else:
        out[key] = promoted(call.array("value"), out.dtype)
    return out


def index_put(call: Call) -> Sequence[Expected]:
    """Return self with values at places; with accumulate their sums, in any order."""
    key = _key(call)
    base = call.array("self")
    if not call["accumulate"]:
        out = base.copy()
        out[key] = promoted(call.array("values"), out.dtype)
        return [Exact([out])]
    x, values = call.band("self"), call.band("values")
    places = np.arange(base.size).reshape(base.shape)[key]
    spread = values.apply(lambda a: np.broadcast_to(a, places.shape).ravel())
    return [Within(sums_at(spread, places.ravel(), base.size).apply(lambda a: a.reshape(base.shape)) + x)]


def _pad(call: Call) -> Array:
    x, pad = call.array("self"), list(call["pad"])
    widths = [(0, 0)] * (x.ndim - len(pad) // 2) + [(pad[k], pad[k + 1]) for k in range(len(pad) - 2, -1, -2)]
    cut = tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(widths, x.shape, strict=True))
    value = promoted(np.asarray(call["value"] or 0), x.dtype)
    return np.pad(x[cut], [(max(a, 0), max(b, 0)) for a, b in widths], constant_values=value)


def _mirrored(mode: str) -> Callable[[Call], Array]:
    def pad(call: Call) -> Array:
        x, pads = call.array("self"), list(call["padding"])
        widths = [(0, 0)] * (x.ndim - len(pads) // 2) + [(pads[k], pads[k + 1]) for k in range(len(pads) - 2, -1, -2)]
        return np.pad(x, widths, mode=mode)  # type: ignore[call-overload, no-any-return]

    return pad


def _part(call: Call) -> tuple[Any, ...]:
    """Return the key of the part that a slice or a selection takes."""
    axis = int(call["dim"] or 0)
    rank = len(call["input_sizes"]) if call.has("input_sizes") else call["self"].ndim
    before = (slice(None),) * (axis % rank)
    if call.has("index"):
        return (*before, int(call["index"]))
    return (*before, slice(call["start"], call["end"], call["step"] or 1))


def _put_back(call: Call) -> Array:
    grad = call.array("grad_output")
    out = np.zeros(tuple(call["input_sizes"]), grad.dtype)
    out[_part(call)] = grad
    return out


def _with_part(call: Call) -> Array:
    out = call.array("self").copy()
    out[_part(call)] = call.array("src")
    return out


def _where(call: Call) -> Array:
    return np.where(
        call.array("condition"), promoted(call.array("self"), call.dtype), promoted(call.array("other"), call.dtype)
    )


def _masked(call: Call) -> Array:
    x = call.array("self")
    return np.where(call.array("mask"), promoted(call.array("value"), x.dtype), x)


def _rolled(call: Call) -> Array:
    axes = tuple(call["dims"]) if call["dims"] else None
    shifts = tuple(call["shifts"]) if axes else call["shifts"][0]
    return np.roll(call.array("self"), shifts, axes)


def _repeated(call: Call) -> Array:
    x, times = call.array("self"), list(call["repeats"])
    return np.tile(x.reshape((1,) * (len(times) - x.ndim) + x.shape), times)


def _numbers(call: Call) -> Array:
    start, step = call["start"] or 0, call["step"] or 1
    if not all(isinstance(each, int) for each in (start, step)):
        raise NotJudged("numbers in steps of floats")
    return start + step * np.arange(call.results[0].numel())


def ordered(call: Call) -> Sequence[Expected]:
    """Return the elements in order: results with the same elements, each at the place that the op names."""
    x = call.array("self")
    numbers = x.astype(np.float32) if x.dtype.kind == "V" else x
    places = np.asarray(call.results[-1].numpy())
    axis = int(call["dim"]) if call["dim"] is not None else -1
    down = bool(call["descending"] or (call.name == "topk" and call["largest"] is not False))
    if call.name == "topk" and call["sorted"] is False:
        raise NotJudged("elements in no order")
    order = np.sort(numbers, axis=axis)
    order = np.flip(order, axis) if down else order
    count = places.shape[axis] if places.ndim else 1
    if np.issubdtype(numbers.dtype, np.floating) and np.isnan(numbers).any():
        raise NotJudged("an order of NaNs")
    if not x.ndim:
        return [Exact([x]), None]
    order = np.take(order, np.arange(count), axis)
    taken = np.take_along_axis(numbers, places, axis)
    right = Exact([np.where(taken == order, places, -1)])
    return [right] if call.name == "argsort" else [Exact([order.astype(x.dtype)], True), right]


def _nearest(call: Call) -> Array:
    x = call.array("self")
    rank = x.ndim - 2
    for axis in range(2, 2 + rank):
        size, wanted = x.shape[axis], call.results[0].shape[axis]
        if wanted % size:
            raise NotJudged("sizes that are not multiples")
        x = np.repeat(x, wanted // size, axis)
    return x


def _shuffled(call: Call) -> Array:
    x, r = call.array("self"), int(call["upscale_factor"])
    *batch, channels, height, width = x.shape
    parts = x.reshape(*batch, channels // r**2, r, r, height, width)
    k = len(batch)
    moved_ = parts.transpose(*range(k), k, k + 3, k + 1, k + 4, k + 2)
    return moved_.reshape(*batch, channels // r**2, height * r, width * r)


TABLE: Mapping[str, Rule] = {
    "clone": moved(lambda call: call.array("self")),
    "contiguous": moved(lambda call: call.array("self")),
    "lift_fresh_copy": moved(lambda call: call.array("self")),
    "detach_copy": moved(lambda call: call.array("self")),
    "view_copy": moved(lambda call: call.array("self").reshape(tuple(call.results[0].shape))),
    "expand_copy": moved(lambda call: np.broadcast_to(call.array("self"), tuple(call.results[0].shape))),
    "permute_copy": moved(lambda call: call.array("self").transpose(tuple(call["dims"]))),
    "cat": moved(_cat),
    "stack": moved(_stack),
    "index": moved(lambda call: call.array("self")[_key(call)]),
    "index_put": index_put,
    "_unsafe_index_put": index_put,
    "_index_put_impl": index_put,
    "index_select": moved(lambda call: np.take(call.array("self"), call.array("index"), int(call["dim"]))),
    "take": moved(lambda call: call.array("self").ravel()[call.array("index")]),
    "embedding": moved(lambda call: call.array("weight")[call.array("indices")]),
    "gather": moved(_gather),
    "scatter": moved(_scatter),
    "where": moved(_where),
    "masked_fill": moved(_masked),
    "masked_select": moved(lambda call: call.array("self")[np.broadcast_to(call.array("mask"), call["self"].shape)]),
    "flip": moved(lambda call: np.flip(call.array("self"), tuple(call["dims"]))),
    "roll": moved(_rolled),
    "tril": moved(lambda call: np.tril(call.array("self"), int(call["diagonal"] or 0))),
    "triu": moved(lambda call: np.triu(call.array("self"), int(call["diagonal"] or 0))),
    "constant_pad_nd": moved(_pad),
    "reflection_pad1d": moved(_mirrored("reflect")),
    "reflection_pad2d": moved(_mirrored("reflect")),
    "replication_pad1d": moved(_mirrored("edge")),
    "replication_pad2d": moved(_mirrored("edge")),
    "repeat": moved(_repeated),
    "slice_backward": moved(_put_back),
    "select_backward": moved(_put_back),
    "slice_scatter": moved(_with_part),
    "select_scatter": moved(_with_part),
    "pixel_shuffle": moved(_shuffled),
    "upsample_nearest1d": moved(_nearest),
    "upsample_nearest2d": moved(_nearest),
    "nonzero": moved(lambda call: np.argwhere(call.array("self") != 0)),
    "sort": ordered,
    "argsort": ordered,
    "topk": ordered,
    "diag_embed": moved(lambda call: np.apply_along_axis(np.diag, -1, call.array("self"))),
    "zeros": filled(lambda call: 0),
    "zeros_like": filled(lambda call: 0),
    "new_zeros": filled(lambda call: 0),
    "zero": filled(lambda call: 0),
    "ones": filled(lambda call: 1),
    "ones_like": filled(lambda call: 1),
    "new_ones": filled(lambda call: 1),
    "full": filled(lambda call: call["fill_value"]),
    "full_like": filled(lambda call: call["fill_value"]),
    "new_full": filled(lambda call: call["fill_value"]),
    "fill": filled(lambda call: call.array("value")),
    "scalar_tensor": filled(lambda call: call["s"]),
    "arange": filled(_numbers),
    "eye": filled(lambda call: np.eye(*call.results[0].shape, dtype=np.float64)),
    "tril_indices": filled(lambda call: np.stack(np.tril_indices(call["row"], call["offset"] or 0, call["col"]))),
    "triu_indices": filled(lambda call: np.stack(np.triu_indices(call["row"], call["offset"] or 0, call["col"]))),
}
"""The rules of ops by their names."""
