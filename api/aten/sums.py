"""Ops of PyTorch that add: reductions, products of matrices, convolutions, norms, softmax, attention, losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Literal

import numpy as np

from halfulp.aten.bands import TINY, Array, Axes, Band, Centers, gamma
from halfulp.aten.calls import Call, Exact, Expected, Inside, NotJudged, Within, blocks, compute
from halfulp.aten.elementwise import Rule, numbers_rounded, operand, rounded

# --- reductions -------------------------------------------------------------------------------------------------------


def looked(
    call: Call,
    f: Callable[..., Band],
    operands: Sequence[Band],
    kind: Literal["order", "approximation"] = "order",
    chosen: Callable[[Array], Band] | None = None,
    *,
    by_rows: bool = False,
    least: float = 0,
) -> Expected:
    """Return what a function of bands gives, and look first at its centers, which cost less: most results are as near
    to them as the rounding to 16 bits allows. ``chosen``: as of `Inside`. ``by_rows``: the function computes each entry
    of the first axis from those of the operands. ``least``: the relative radius that each result has.
    """

    def whole() -> Within:
        with np.errstate(all="ignore"):
            return Within(f(*operands), kind)

    if call.narrow or call.digits != 24 or (call.dtype == call.computed and not least):
        return whole

    def centers(cut: Any = ...) -> Array:
        with np.errstate(all="ignore"):
            return f(*[Centers(each.mid[cut], each.rad, each.digits) for each in operands]).mid

    at_once: list[Array] = []

    def part(cut: slice) -> tuple[Array, Array]:
        if not by_rows and not at_once:
            at_once.append(np.atleast_1d(centers()))
        mid = centers(cut) if by_rows else at_once[0][cut]
        return mid, np.abs(mid) * least if least else np.zeros(())

    return Inside(part, kind, whole, chosen)


def axes_of(call: Call, name: str = "dim") -> Axes:
    """Return the axes over which a call reduces: None for all."""
    given = call[name]
    if not call["self"].ndim:
        return None
    if given is None or (isinstance(given, list | tuple) and not given):
        return None
    return int(given) if isinstance(given, int) else tuple(given)


def _whole(array: Array) -> bool:
    return array.dtype.kind in "biu"


def total(call: Call) -> Sequence[Expected]:
    """Return a sum."""
    axes, keep = axes_of(call), bool(call["keepdim"])
    if _whole(call.array("self")):
        return [Exact([np.sum(call.array("self"), axis=axes, keepdims=keep, dtype=call.dtype)])]
    x = call.band("self")
    roundings = x.mid.size // max(call.results[0].numel(), 1) - 1
    return [looked(call, lambda x: x.sum(axes, keep), [x], least=gamma(max(roundings, 0), x.unit))]


def mean(call: Call) -> Sequence[Expected]:
    """Return a mean."""
    return [Within(call.band("self").mean(axes_of(call), bool(call["keepdim"])))]


def product(call: Call) -> Sequence[Expected]:
    """Return a product: each factor adds one rounding."""
    axes, keep = axes_of(call), bool(call["keepdim"])
    if _whole(call.array("self")):
        return [Exact([np.prod(call.array("self"), axis=axes, keepdims=keep, dtype=call.dtype)])]
    x = call.band("self")
    mid = np.prod(x.mid, axis=axes, keepdims=keep)
    count = x.mid.size // max(mid.size, 1)
    return [Within(Band.of(mid, x.digits).within(gamma(count, x.unit) * np.abs(mid) + TINY[x.digits]))]


def running_product(call: Call) -> Sequence[Expected]:
    """Return the products up to each element."""
    axis = int(call["dim"])
    if _whole(call.array("self")):
        return [Exact([np.cumprod(call.array("self"), axis=axis, dtype=call.dtype)])]
    x = call.band("self")
    mid = np.cumprod(x.mid, axis=axis)
    count = x.mid.shape[axis] if x.mid.ndim else 1
    return [Within(Band.of(mid, x.digits).within(gamma(count, x.unit) * np.abs(mid) + TINY[x.digits]))]


def total_of_numbers(call: Call) -> Sequence[Expected]:
    """Return a sum without the NaNs."""
    x = call.band("self")
    return [Within(x.where(~np.isnan(x.mid), 0.0).sum(axes_of(call), bool(call["keepdim"])))]


def running_sum(call: Call) -> Sequence[Expected]:
    """Return the sums up to each element."""
    axis = int(call["dim"])
    if _whole(call.array("self")):
        return [Exact([np.cumsum(call.array("self"), axis=axis, dtype=call.dtype)])]
    return [Within(call.band("self").cumsum(axis))]


def _variance(x: Band, axes: Axes, keep: bool, correction: float) -> tuple[Band, Band]:
    """Return the variance and the mean, as one pass after Welford or two passes compute them."""
    mean = x.mean(axes, True)
    centered = x.mid - mean.mid
    count = x.mid.size // max(mean.mid.size, 1)
    squares = np.sum(centered**2, axis=axes, keepdims=True)
    mid = squares / max(count - correction, 0) if count > correction else squares * np.nan
    # Chan, Golub, LeVeque, 1983: the relative error is at most about n · u · κ, κ² = 1 + mean² / variance.
    spread = np.sqrt(np.sum(x.mid**2, axis=axes, keepdims=True) * squares) / max(count - correction, 1)
    shift = gamma(count, x.unit) * np.sqrt(np.sum(x.mid**2, axis=axes, keepdims=True) / max(count, 1))
    rad = gamma(count + 4, x.unit) * (mid + 2 * spread) + shift**2
    found = Band(mid, np.nan_to_num(rad, nan=0.0), x.digits)
    shape = np.sum(x.mid, axis=axes, keepdims=keep).shape
    return found.apply(lambda a: a.reshape(shape)), mean.apply(lambda a: a.reshape(shape))


def variance(call: Call) -> Sequence[Expected]:
    """Return a variance or standard deviation, and for var_mean the mean."""
    correction = call["correction"]
    if correction is None:
        correction = 0 if call["unbiased"] is False else 1
    with np.errstate(all="ignore"):
        found, center = _variance(call.band("self"), axes_of(call), bool(call["keepdim"]), float(correction))
        first = found.sqrt() if call.name.startswith("std") else found
    return [Within(first), Within(center)]


def norm(call: Call) -> Sequence[Expected]:
    """Return the 1-, 2- or maximum norm."""
    order = call["ord"] if "ord" in call.arguments else call["p"]
    order = 2 if order is None else float(order)
    x, axes, keep = call.band("self"), axes_of(call), bool(call["keepdim"])
    if order == 2:
        return [Within((x * x).sum(axes, keep).sqrt())]
    if order == 1:
        return [Within(Band(np.abs(x.mid), x.rad, x.digits).sum(axes, keep))]
    if order == np.inf:
        return [Within(Band.of(np.max(np.abs(x.mid), axis=axes, keepdims=keep), x.digits))]
    raise NotJudged(f"the norm of order {order}")


def extreme(f: Callable[..., Array], index: Callable[..., Array]) -> Rule:
    """Return the rule of a maximum or minimum, over all elements or one axis, with the places of the elements."""

    def rule(call: Call) -> Sequence[Expected]:
        x = call.array("self")
        numbers = x.astype(np.float32) if x.dtype.kind == "V" else x
        if "dim" not in call.arguments or call["dim"] is None or call.name in ("amax", "amin"):
            return [
                Exact(
                    [np.asarray(f(numbers, axis=axes_of(call), keepdims=bool(call["keepdim"]))).astype(x.dtype)], True
                )
            ]
        axis, keep = int(call["dim"]), bool(call["keepdim"])
        wanted = np.asarray(f(numbers, axis=axis, keepdims=keep)).astype(x.dtype)
        return [Exact([wanted], True), _place(call, numbers, 1, axis, keep, index)]

    return rule


def _place(call: Call, numbers: Array, result: int, axis: int, keep: bool, index: Callable[..., Array]) -> Expected:
    """Return the places of extreme elements: those that were returned, if the elements there are as good."""
    found = np.asarray(call.results[result].numpy())
    best = index(numbers, axis=axis)
    places = found if keep else np.expand_dims(found, axis)
    ours = np.expand_dims(best, axis)
    same = np.take_along_axis(numbers, places, axis) == np.take_along_axis(numbers, ours, axis)
    return Exact([np.where(same, places, ours).reshape(found.shape)])


def place(index: Callable[..., Array]) -> Rule:
    """Return the rule of argmax or argmin: any of equal elements."""

    def rule(call: Call) -> Sequence[Expected]:
        x = call.array("self")
        numbers = x.astype(np.float32) if x.dtype.kind == "V" else x
        if call["dim"] is None:
            found = int(call.results[0])
            best = int(index(numbers))
            return [Exact([np.asarray(found if numbers.reshape(-1)[found] == numbers.reshape(-1)[best] else best)])]
        return [_place(call, numbers, 0, int(call["dim"]), bool(call["keepdim"]), index)]

    return rule


def truth(f: Callable[..., Array]) -> Rule:
    """Return the rule of all or any."""
    return lambda call: [
        Exact(
            [np.asarray(f(call.array("self"), axis=axes_of(call), keepdims=bool(call["keepdim"]))).astype(call.dtype)]
        )
    ]


# --- products ---------------------------------------------------------------------------------------------------------

MOST_PRODUCTS = 1 << 27
"""The products of f64 that are judged in one call: they are computed without a library."""


def multiplied(one: Band, other: Band) -> Band:
    """Return a product of matrices, or of vectors, in any order of additions. Raises NotJudged."""
    if one.digits == 53 and one.mid.size * other.mid.shape[-1] > MOST_PRODUCTS:
        raise NotJudged(f"more than {MOST_PRODUCTS} products of f64")
    return one @ other


def matrices(first: str, second: str) -> Rule:
    """Return the rule of a product of two matrices, of batches of them, or of a matrix and a vector."""

    def rule(call: Call) -> Sequence[Expected]:
        one, other = call.array(first), call.array(second)
        if _whole(one):
            return [Exact([np.matmul(one, other)])]
        return [_products(call, call.band(first), call.band(second), lambda found, move: found)]

    return rule


def _products(call: Call, one: Band, other: Band, end: Callable[[Band, Callable[[Array], Array]], Band]) -> Expected:
    """Return a product of matrices. ``end``: what follows, given a function that picks the elements of other tensors of
    the shape of the result.

    The bound needs a second product, of magnitudes. Few results need it: most are as near to the exact ones as the
    rounding to 16 bits allows, or as the magnitudes of the results themselves.
    """
    shape = tuple(call.results[0].shape)

    def chosen(places: Array) -> Band:
        *batch, row, column = np.unravel_index(places, shape)
        rows = one.apply(lambda a: a[(*batch, row)][:, None, :])
        columns = other.apply(lambda a: np.swapaxes(a, -1, -2)[(*batch, column)][:, :, None])
        return end(rows @ columns, lambda a: np.broadcast_to(a, shape)[(*batch, row, column)][:, None, None]).apply(
            np.ravel
        )

    def product(one: Band, other: Band) -> Band:
        return end(multiplied(one, other), lambda a: a).apply(lambda a: np.broadcast_to(a, shape))

    if min(one.mid.ndim, other.mid.ndim) < 2 or not one.mid.size:
        return Within(product(one, other))
    return looked(call, product, [one, other], "order", chosen, least=gamma(one.mid.shape[-1], one.unit))


def with_addend(addend: str, first: str, second: str, batches: bool = False) -> Rule:
    """Return the rule of beta · addend + alpha · first · second."""

    def rule(call: Call) -> Sequence[Expected]:
        alpha, beta = (1.0 if call[name] is None else float(call[name]) for name in ("alpha", "beta"))
        count = call.array(first).shape[-1]

        def end(found: Band, move: Callable[[Array], Array]) -> Band:
            found = found if alpha == 1 else found * alpha
            if beta == 0:
                return found
            other = call.band(addend).apply(move)
            return _beside(found, other if beta == 1 else other * beta, count)

        if not count and beta != 1:  # a product of a tensor and a number
            dtype = call.computed
            factors = numbers_rounded([np.asarray(beta, dtype), operand(call, addend, dtype)], call)
            products = [compute("arith.mulf", *each) for each in factors]
            # Some kernels do not read the addend if beta is 0.
            return rounded([*products, np.zeros_like(products[0])] if beta == 0 else products, call)
        one, other = call.band(first), call.band(second)
        if batches:
            return [Within(end(multiplied(one, other).sum(0), lambda a: a))]
        return [_products(call, one, other, end)]

    return rule


def _beside(products: Band, addend: Band, count: int) -> Band:
    """Return sums of so many products and an addend, which may be added first or between two products."""
    found = products + addend
    return found if isinstance(found, Centers) else found.within(gamma(count, products.unit) * addend.size)


def outer(call: Call) -> Sequence[Expected]:
    """Return the products of all pairs."""
    return [Within(call.band("self").apply(lambda a: a[:, None]) * call.band("vec2"))]


def linear(call: Call) -> Sequence[Expected]:
    """Return x · weightᵀ + bias."""
    name = "self" if "self" in call.arguments else "input"
    found = multiplied(call.band(name), call.band("weight").apply(np.transpose))
    count = call.array(name).shape[-1]
    return [Within(_beside(found, call.band("bias"), count) if call.has("bias") else found)]


# --- convolutions -----------------------------------------------------------------------------------------------------


def _pair(value: Any, rank: int) -> tuple[int, ...]:
    values = tuple(value) if isinstance(value, list | tuple) else (value,)
    return values * rank if len(values) == 1 else values


def _windows(x: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Array:
    """Return the windows of an array (…, spatial): (…, places, kernel), without a copy."""
    rank = len(kernel)
    spatial = x.shape[-rank:]
    places = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(spatial, kernel, stride, dilation, strict=True)]
    strides = x.strides[-rank:]
    moved = [a * s for a, s in zip(strides, stride, strict=True)]
    inside = [a * d for a, d in zip(strides, dilation, strict=True)]
    return np.lib.stride_tricks.as_strided(
        x, (*x.shape[:-rank], *places, *kernel), (*x.strides[:-rank], *moved, *inside), writeable=False
    )


def _padded(x: Array, padding: Sequence[int], value: float = 0.0) -> Array:
    widths = [(0, 0)] * (x.ndim - len(padding)) + [(p, p) for p in padding]
    return np.pad(x, widths, constant_values=value) if any(padding) else np.ascontiguousarray(x)


@np.errstate(all="ignore")
def _convolved(
    x: Band, weight: Band, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int
) -> Band:
    """Return a convolution, each result a sum of products in any order."""
    kernel = weight.mid.shape[2:]
    rank = len(kernel)
    batch, outputs = x.mid.shape[0], weight.mid.shape[0]
    windows = x.apply(lambda a: _windows(_padded(a, padding), kernel, stride, dilation))
    places = windows.mid.shape[2 : 2 + rank]
    inputs = weight.mid.shape[1]
    order = (1, 0, *range(2, 2 + rank), *range(2 + rank, 2 + 2 * rank))

    def columns(a: Array) -> Array:  # (groups, batch · places, inputs · kernel)
        parts = a.transpose(order).reshape(groups, inputs, batch * int(np.prod(places)), -1)
        return parts.transpose(0, 2, 1, 3).reshape(groups, batch * int(np.prod(places)), -1)

    def rows(a: Array) -> Array:  # (groups, inputs · kernel, outputs of the group)
        return a.reshape(groups, outputs // groups, -1).transpose(0, 2, 1)

    found = multiplied(windows.apply(columns), weight.apply(rows))

    def back(a: Array) -> Array:
        parts = a.reshape(groups, batch, *places, outputs // groups)
        return np.moveaxis(np.moveaxis(parts, -1, 1).reshape(outputs, batch, *places), 0, 1)

    return found.apply(back)


def _shape_of(call: Call, rank: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    return _pair(call["stride"], rank), _pair(call["padding"], rank), _pair(call["dilation"], rank)


def _spread(x: Array, stride: Sequence[int]) -> Array:
    """Return an array with zeros between its elements."""
    shape = [(n - 1) * s + 1 for n, s in zip(x.shape[2:], stride, strict=True)]
    wide = np.zeros((*x.shape[:2], *shape), x.dtype)
    key: Any = (..., *(slice(None, None, s) for s in stride))
    wide[key] = x
    return wide


def _transposed(
    x: Band,
    weight: Band,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    shape: Sequence[int],
) -> Band:
    """Return a transposed convolution, which is the gradient of a convolution for its argument of a shape."""
    kernel = weight.mid.shape[2:]
    rank = len(kernel)

    def flipped(a: Array) -> Array:  # (inputs, outputs / groups, kernel) to (outputs, inputs / groups, kernel)
        parts = a.reshape(groups, a.shape[0] // groups, *a.shape[1:]).swapaxes(1, 2)
        return np.flip(parts.reshape(-1, a.shape[0] // groups, *kernel), tuple(range(2, 2 + rank)))

    edges = [d * (k - 1) - p for k, d, p in zip(kernel, dilation, padding, strict=True)]
    wide = x.apply(lambda a: _spread(a, stride))
    # Output sizes that the stride leaves open are filled with zeros at the end.
    ends = [
        n - (m + 2 * e - d * (k - 1)) + e
        for n, m, e, d, k in zip(shape, wide.mid.shape[2:], edges, dilation, kernel, strict=True)
    ]

    def placed(a: Array) -> Array:
        widths = [(0, 0), (0, 0), *((max(e, 0), max(f, 0)) for e, f in zip(edges, ends, strict=True))]
        cut = tuple(slice(max(-e, 0), n - max(-f, 0)) for e, f, n in zip(edges, ends, a.shape[2:], strict=True))
        return np.pad(a[(slice(None), slice(None), *cut)], widths)

    ones = (1,) * rank
    return _convolved(wide.apply(placed), weight.apply(flipped), ones, (0,) * rank, dilation, groups)


def convolution(call: Call) -> Sequence[Expected]:
    """Return a convolution, forward or transposed, with its bias."""
    x, weight = call.band("input"), call.band("weight")
    rank = weight.mid.ndim - 2
    if x.mid.ndim != rank + 2:
        raise NotJudged("a convolution without batches")
    stride, padding, dilation = _shape_of(call, rank)
    groups = int(call["groups"] or 1)
    if call["transposed"]:
        found = _transposed(x, weight, stride, padding, dilation, groups, call.results[0].shape[2:])
    else:
        found = _convolved(x, weight, stride, padding, dilation, groups)
    if call.has("bias"):
        bias = call.band("bias").apply(lambda a: a.reshape(-1, *(1,) * rank))
        found = _beside(found, bias, weight.mid.size // max(bias.mid.size, 1))
    return [Within(found)]


def convolution_backward(call: Call) -> Sequence[Expected]:
    """Return the gradients of a convolution for its argument, its weights and its bias."""
    grad, x, weight = call.band("grad_output"), call.band("input"), call.band("weight")
    rank = weight.mid.ndim - 2
    stride, padding, dilation = _shape_of(call, rank)
    groups = int(call["groups"] or 1)
    if call["transposed"]:
        raise NotJudged("the gradient of a transposed convolution")
    wanted = call["output_mask"]
    found: list[Expected] = [None, None, None]
    if wanted[0]:
        found[0] = Within(_transposed(grad, weight, stride, padding, dilation, groups, x.mid.shape[2:]))
    if wanted[1]:
        found[1] = Within(_weight_gradient(grad, x, weight.mid.shape, stride, padding, dilation, groups))
    if wanted[2]:
        found[2] = Within(grad.sum((0, *range(2, 2 + rank))))
    return found


def _weight_gradient(
    grad: Band,
    x: Band,
    shape: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Band:
    kernel, rank = shape[2:], len(shape) - 2
    windows = x.apply(lambda a: _windows(_padded(a, padding), kernel, stride, dilation))
    places = grad.mid.shape[2:]
    windows = windows.apply(lambda a: a[(slice(None), slice(None), *(slice(n) for n in places))])
    count = grad.mid.shape[0] * int(np.prod(places))

    def rows(a: Array) -> Array:  # (groups, outputs of the group, batch · places)
        return np.moveaxis(a, 1, 0).reshape(groups, shape[0] // groups, count)

    def columns(a: Array) -> Array:  # (groups, batch · places, inputs of the group · kernel)
        parts = np.moveaxis(a, 1, 0).reshape(groups, shape[1], count, -1)
        return parts.transpose(0, 2, 1, 3).reshape(groups, count, -1)

    del rank
    return multiplied(grad.apply(rows), windows.apply(columns)).apply(lambda a: a.reshape(shape))


def average_pool(call: Call) -> Sequence[Expected]:
    """Return the means of windows."""
    kernel = _pair(call["kernel_size"], 2)
    stride = _pair(call["stride"], 2) if call["stride"] else kernel
    padding = _pair(call["padding"] or 0, 2)
    if call["ceil_mode"] or call["divisor_override"] or (any(padding) and call["count_include_pad"] is False):
        raise NotJudged("windows of several sizes")
    x = call.band("self")
    windows = x.apply(lambda a: _windows(_padded(a, padding), kernel, stride, (1, 1)))
    return [Within((windows.sum((-2, -1)) * (1.0 / (kernel[0] * kernel[1]))).rounded())]


def adaptive_pool(call: Call) -> Sequence[Expected]:
    """Return the means of windows of one size, whose number is given."""
    x = call.band("self")
    sizes = _pair(call["output_size"], 2)
    kernel = tuple(n // m for n, m in zip(x.mid.shape[-2:], sizes, strict=True))
    if any(n % m for n, m in zip(x.mid.shape[-2:], sizes, strict=True)):
        raise NotJudged("windows of several sizes")
    windows = x.apply(lambda a: _windows(np.ascontiguousarray(a), kernel, kernel, (1, 1)))
    return [Within((windows.sum((-2, -1)) * (1.0 / (kernel[0] * kernel[1]))).rounded())]


def largest_pool(call: Call) -> Sequence[Expected]:
    """Return the largest elements of windows, and not their places."""
    kernel = _pair(call["kernel_size"], 2)
    stride = _pair(call["stride"], 2) if call["stride"] else kernel
    if call["ceil_mode"]:
        raise NotJudged("windows of several sizes")
    x = call.array("self")
    numbers = _padded(x.astype(np.float64), _pair(call["padding"] or 0, 2), -np.inf)
    windows = _windows(numbers, kernel, stride, _pair(call["dilation"] or 1, 2))
    found = windows.max((-2, -1))
    return [
        Exact([found.astype(np.float32).astype(x.dtype) if x.dtype.kind == "V" else found.astype(x.dtype)], True),
        None,
    ]


def largest_pool_backward(call: Call) -> Sequence[Expected]:
    """Return the gradient of the largest elements, at the places that are given."""
    grad, places = call.band("grad_output"), call.array("indices")
    shape = call.array("self").shape
    return [Within(_scattered(grad, places, shape, 2))]


def _scattered(values: Band, places: Array, shape: Sequence[int], rank: int) -> Band:
    """Return sums of values at flat places of the last axes, in any order."""
    size = int(np.prod(shape[-rank:]))
    rows = int(np.prod(shape[:-rank]))
    flat = (np.arange(rows)[:, None] * size + places.reshape(rows, -1)).reshape(-1)
    return sums_at(values.apply(lambda a: a.reshape(-1)), flat, rows * size).apply(lambda a: a.reshape(shape))


def sums_at(values: Band, places: Array, size: int) -> Band:
    """Return the sums of the values that belong to each of so many places, in any order, each sum rounded."""
    mid = np.bincount(places, values.mid.astype(np.float64), size)
    total = np.bincount(places, values.size.astype(np.float64), size)
    counts = np.bincount(places, minlength=size)
    return Band(mid, gamma(float(counts.max(initial=0)) + 1, values.unit) * total, values.digits)


# --- norms of layers --------------------------------------------------------------------------------------------------


def _scaled(x: Band, weight: Band | None, bias: Band | None) -> Band:
    found = x if weight is None else x * weight
    return found if bias is None else found + bias


def _optional(call: Call, name: str, shape: Callable[[Array], Array] = np.asarray) -> Band | None:
    return call.band(name).apply(shape) if call.has(name) else None


def layer_norm(call: Call) -> Sequence[Expected]:
    """Return (x - mean) / sqrt(variance + eps) · weight + bias, the mean, and 1 / sqrt(variance + eps)."""
    if not call["input"].numel():
        raise NotJudged("means of no elements")
    axes = tuple(range(-len(call["normalized_shape"]), 0))
    eps = float(call["eps"])

    @cache
    @np.errstate(all="ignore")
    def whole() -> Sequence[Within]:
        x = call.band("input")
        spread, mean = _variance(x, axes, True, 0)
        inverse = (1.0 / (spread + eps).sqrt()).rounded()
        # Some kernels compute x · (weight · inverse) + (bias - mean · weight · inverse).
        found = _scaled((x - mean) * inverse, _optional(call, "weight"), _optional(call, "bias"))
        scale = inverse if not call.has("weight") else inverse * call.band("weight")
        found = found.within(8 * x.unit * (np.abs(x.mid) + np.abs(mean.mid)) * np.abs(scale.mid))
        return [Within(found, "approximation"), Within(mean), Within(inverse, "approximation")]

    given = call.parts("input")
    count = int(np.prod(call["normalized_shape"]))
    if given is None or len(axes) == call["input"].ndim or count > 1 << 16:
        return whole()
    unit = 2.0**-24

    @cache
    def moments() -> tuple[Array, Array, Array]:
        """Return the means, the variances, and the means of the magnitudes."""
        found = []
        for cut in blocks(call.array("input")):
            x = given(cut)
            mean = x.mean(axes, keepdims=True)
            size = np.abs(x).mean(axes, keepdims=True)
            x -= mean
            x *= x
            found.append((mean, x.mean(axes, keepdims=True), size))
        means, variances, sizes = (np.concatenate(each) for each in zip(*found, strict=True))
        return means, variances, sizes

    def normed(cut: slice) -> tuple[Array, Array]:
        x = given(cut)
        mean, variance, size = (each[cut] for each in moments())
        scale = 1 / np.sqrt(variance + eps)
        if call.has("weight"):
            scale = scale * call.band("weight").mid
        rad = np.abs(x)
        rad += np.abs(mean)
        rad *= 8 * unit
        rad += gamma(count - 1, unit) * size
        rad *= np.abs(scale)
        x -= mean
        x *= scale
        if call.has("bias"):
            x += call.band("bias").mid
        return x, rad

    def centers(cut: slice) -> tuple[Array, Array]:
        return moments()[0][cut], gamma(count - 1, unit) * moments()[2][cut]

    def inverses(cut: slice) -> tuple[Array, Array]:
        variance = moments()[1][cut]
        mid = 1 / np.sqrt(variance + eps)
        return mid, mid * (4 * unit + gamma(count, unit) * variance / (variance + eps))

    return [
        Inside(normed, "approximation", lambda: whole()[0]),
        Inside(centers, "order", lambda: whole()[1]),
        Inside(inverses, "approximation", lambda: whole()[2]),
    ]


def layer_norm_backward(call: Call) -> Sequence[Expected]:
    """Return the gradients of a layer norm for its argument, weight and bias."""
    operands = [call.band(name) for name in ("grad_out", "input", "mean", "rstd")]
    x = operands[1]
    axes = tuple(range(-len(call["normalized_shape"]), 0))
    count = int(np.prod(x.mid.shape[-len(axes) :]))
    rest = tuple(range(x.mid.ndim - len(axes)))

    def sizes(x: Band, mean: Band, inverse: Band) -> Array:
        found: Array = (np.abs(x.mid) + np.abs(mean.mid)) * np.abs(inverse.mid)
        return found

    def argument(grad: Band, x: Band, mean: Band, inverse: Band) -> Band:
        hat = (x - mean) * inverse
        weighted = grad * call.band("weight") if call.has("weight") else grad
        first = weighted.sum(axes, True) * (1.0 / count)
        second = hat * ((weighted * hat).sum(axes, True) * (1.0 / count))
        found = (weighted - first - second) * inverse
        if isinstance(x, Centers):
            return found
        # ATen computes a · grad + b · x + c, b = (mean · Σ grad - Σ grad · x) · a³ / n,
        # c = -b · mean - a · Σ grad / n.
        parts = sizes(x, mean, inverse)
        terms = parts * np.sum(weighted.size * parts, axis=axes, keepdims=True) / count
        return found.within(
            (8 * x.unit * (weighted.size + np.abs(first.mid) + np.abs(second.mid)) + gamma(count + 8, x.unit) * terms)
            * inverse.size
        )

    def weight(grad: Band, x: Band, mean: Band, inverse: Band) -> Band:
        # Σ grad · (a · x - a · mean)
        hat = (x - mean) * inverse
        hat = hat if isinstance(x, Centers) else hat.within(2 * x.unit * sizes(x, mean, inverse))
        return (grad * hat).sum(rest)

    def rows(places: Array) -> Band:
        index = np.unravel_index(places, x.mid.shape)
        kept = [each.apply(lambda a: a[index[: len(rest)]]) for each in operands]
        return argument(*kept).apply(lambda a: a[(np.arange(len(places)), *index[len(rest) :])])

    def columns(f: Callable[..., Band], used: Sequence[Band]) -> Callable[[Array], Band]:
        def chosen(places: Array) -> Band:
            key: Any = (..., *np.unravel_index(places, x.mid.shape[len(rest) :]))

            def kept(a: Array) -> Array:
                return a[key] if a.shape == x.mid.shape else a.reshape(*a.shape[: len(rest)], 1)

            return f(*(each.apply(kept) for each in used))

        return chosen

    def bias(grad: Band) -> Band:
        return grad.sum(rest)

    grads = operands[:1]
    found: Sequence[Expected] = (
        looked(call, argument, operands, "approximation", rows if rest else None, by_rows=bool(rest)),
        looked(call, weight, operands, "order", columns(weight, operands)),
        looked(call, bias, grads, "order", columns(bias, grads)),
    )
    return [each if want else None for each, want in zip(found, call["output_mask"], strict=True)]


def _channels(rank: int) -> Callable[[Array], Array]:
    return lambda a: a.reshape(1, -1, *(1,) * (rank - 2))


@np.errstate(all="ignore")
def batch_norm(call: Call) -> Sequence[Expected]:
    """Return the normed batch; in training also the mean and 1 / sqrt(variance + eps) of the batch."""
    x = call.band("input")
    shape = _channels(x.mid.ndim)
    training = bool(call["training"]) if "training" in call.arguments else call.name == "_native_batch_norm_legit"
    axes = (0, *range(2, x.mid.ndim))
    if training:
        spread, mean = _variance(x, axes, True, 0)
    else:
        spread, mean = call.band("running_var").apply(shape), call.band("running_mean").apply(shape)
    inverse = (1.0 / (spread + float(call["eps"])).sqrt()).rounded()
    found = _scaled((x - mean) * inverse, _optional(call, "weight", shape), _optional(call, "bias", shape))
    scale = inverse if not call.has("weight") else inverse * call.band("weight").apply(shape)
    found = found.within(8 * x.unit * (np.abs(x.mid) + np.abs(mean.mid)) * np.abs(scale.mid))
    if not training:
        return [Within(found, "approximation"), None, None]
    flat = [each.apply(np.ravel) for each in (mean, inverse)]
    return [Within(found, "approximation"), Within(flat[0]), Within(flat[1], "approximation")]


@np.errstate(all="ignore")
def group_norm(call: Call) -> Sequence[Expected]:
    """Return the normed groups of channels, the means and 1 / sqrt(variance + eps)."""
    x = call.band("input")
    batch, groups = x.mid.shape[0], int(call["group"])
    parts = x.apply(lambda a: a.reshape(batch, groups, -1))
    spread, mean = _variance(parts, -1, True, 0)
    inverse = (1.0 / (spread + float(call["eps"])).sqrt()).rounded()
    shape = _channels(x.mid.ndim)
    plain = ((parts - mean) * inverse).within(8 * x.unit * (np.abs(parts.mid) + np.abs(mean.mid)) * inverse.mid)
    found = _scaled(
        plain.apply(lambda a: a.reshape(x.mid.shape)), _optional(call, "weight", shape), _optional(call, "bias", shape)
    )
    pair = [each.apply(lambda a: a.reshape(batch, groups)) for each in (mean, inverse)]
    return [Within(found, "approximation"), Within(pair[0]), Within(pair[1], "approximation")]


def rms_norm(call: Call) -> Sequence[Expected]:
    """Return x / sqrt(mean(x²) + eps) · weight."""
    x = call.band("input")
    axes = tuple(range(-len(call["normalized_shape"]), 0))
    eps = call["eps"]
    eps = float(2.0**-23 if eps is None and x.digits == 24 else 2.0**-52 if eps is None else eps)
    inverse = 1.0 / ((x * x).mean(axes, True) + eps).sqrt()
    return [Within(_scaled(x * inverse, _optional(call, "weight"), None), "approximation"), None]


# --- softmax, attention, losses ---------------------------------------------------------------------------------------

EXP_ULPS = 20
"""The error of the exp of softmax and attention: SLEEF-like functions of 20 ulp, which ATen calls exp_u20."""


@np.errstate(all="ignore")
def softened(x: Band, axis: int) -> Band:
    """Return exp(x - max) / Σ exp(x - max). A row whose largest element is an infinity or NaN is NaN."""
    top = np.max(x.mid, axis=axis, keepdims=True)
    e = (x - Band(top, np.zeros(()), x.digits)).exp(EXP_ULPS)
    e = Band(e.mid, np.where(np.isneginf(x.mid) & np.isfinite(top), 0, e.rad), x.digits)
    found = e / e.sum(axis, True)
    if x.known:
        return found
    # Numbers that are off by at most r change the quotients by a factor of at most exp(2 · r).
    plain = softened(Band.of(x.mid, x.digits), axis)
    off = 2 * np.max(np.where(np.isneginf(x.mid), 0, x.rad), axis=axis, keepdims=True)
    return Band(found.mid, np.fmin(found.rad, plain.rad * np.exp(off) + plain.mid * np.expm1(off)), x.digits)


def softmax(call: Call) -> Sequence[Expected]:
    """Return a softmax."""
    axis = int(call["dim"])

    def whole() -> Within:
        x = call.band("self")
        found = softened(x, axis)
        if call.name == "_safe_softmax":  # a row of -inf gives zeros
            found = found.where(np.asarray(~np.isneginf(x.mid).all(axis, keepdims=True)), 0.0)
        return Within(found, "approximation")

    given = call.parts("self")
    if given is None or axis % max(call["self"].ndim, 1) == 0:
        return [whole()]

    def part(cut: slice) -> tuple[Array, Array]:
        mid = given(cut)
        mid -= np.max(mid, axis=axis, keepdims=True)
        np.exp(mid, out=mid)
        mid /= mid.sum(axis, keepdims=True)
        return mid, mid * (2 * EXP_ULPS * 2.0**-24)  # the error of the exp alone: an ulp is up to two units

    return [Inside(part, "approximation", whole)]


@np.errstate(all="ignore")
def log_softmax(call: Call) -> Sequence[Expected]:
    """Return (x - max) - log Σ exp(x - max)."""
    axis = int(call["dim"])
    last = call.narrow and axis % max(call["self"].ndim, 1) == call["self"].ndim - 1
    x = (replace(call, narrow=False) if last else call).band("self")
    top = np.max(x.mid, axis=axis, keepdims=True)
    shifted = x - Band(top, np.zeros(()), x.digits)
    total = shifted.exp(EXP_ULPS).sum(axis, True).log(2)
    if last:  # the sum and its logarithm are rounded to the type of 16 bits
        total = total.within(2.0**-call.digits * (1 + np.abs(total.mid)))
    # Some kernels subtract max + log Σ at once.
    return [Within((shifted - total).within(2 * x.unit * (np.abs(top) + np.abs(total.mid))), "approximation")]


@np.errstate(all="ignore")
def logsumexp(call: Call) -> Sequence[Expected]:
    """Return max + log Σ exp(x - max), which is the maximum if that is infinite."""
    x, axes, keep = call.band("self"), axes_of(call), bool(call["keepdim"])
    largest = np.max(x.mid, axis=axes, keepdims=True)
    top = Band(largest, np.zeros(()), x.digits)
    found = ((x - top).exp(EXP_ULPS).sum(axes, True).log(2) + top).where(~np.isinf(largest), top)
    return [Within(found if keep else found.apply(lambda a: np.squeeze(a, axes)), "approximation")]


def softmax_backward(call: Call) -> Sequence[Expected]:
    """Return (grad - Σ grad · y) · y, which some kernels compute as grad · y - y · Σ grad · y."""
    grad, y, axis = call.band("grad_output"), call.band("output"), int(call["dim"])
    total = (grad * y).sum(axis, True)
    found = ((grad - total) * y).within(4 * grad.unit * (grad.size + total.size) * y.size)
    return [Within(found)]


@np.errstate(all="ignore")
def log_softmax_backward(call: Call) -> Sequence[Expected]:
    """Return grad - exp(y) · Σ grad."""
    grad, y, axis = call.band("grad_output"), call.band("output"), int(call["dim"])
    return [Within(grad - y.exp(EXP_ULPS) * grad.sum(axis, True), "approximation")]


def _weights(call: Call, query: Band, key: Band) -> tuple[Band, float]:
    """Return the weights of attention, softmax(query · keyᵀ · scale + mask), and the scale."""
    scale = 1 / np.sqrt(query.mid.shape[-1]) if call["scale"] is None else float(call["scale"])
    scores = (multiplied(query, key.apply(lambda a: np.swapaxes(a, -1, -2))) * scale).rounded(2)
    if call.has("attn_mask"):
        mask = call.array("attn_mask")
        scores = scores.where(mask, -np.inf) if mask.dtype.kind == "b" else scores + call.band("attn_mask")
    if call["is_causal"]:
        allowed = np.tri(*scores.mid.shape[-2:], dtype=np.bool_)
        scores = scores.where(allowed, -np.inf)
    return softened(scores, -1), scale


@np.errstate(all="ignore")
def attention(call: Call) -> Sequence[Expected]:
    """Return softmax(query · keyᵀ · scale + mask) · value. The log of the sums is not judged."""
    query, key, value = (call.band(name) for name in ("query", "key", "value"))
    if float(call["dropout_p"] or 0):
        raise NotJudged("dropout")
    if query.mid.shape[1] != key.mid.shape[1]:
        raise NotJudged("groups of heads")
    weights, _ = _weights(call, query, key)
    low = call.digits == 24 and call.dtype.name != "float32"
    if low:  # the weights are rounded to the type of the arguments before they are multiplied
        digits = 8 if call.dtype.name == "bfloat16" else 11
        weights = weights.within(2.0**-digits * weights.size + 2.0**-25)
    found = multiplied(weights, value)
    if low:
        found = found.within(
            2.0 ** -(8 if call.dtype.name == "bfloat16" else 11)
            * multiplied(weights, Band(np.abs(value.mid), value.rad, value.digits)).size
        )
    # Kernels in blocks scale the sums again for each block.
    return [Within(found.within(64 * found.unit * (weights.size @ np.abs(value.mid))), "approximation"), None]


@np.errstate(all="ignore")
def attention_layer(call: Call) -> Sequence[Expected]:
    """Return a layer of attention without a mask, which nn.MultiheadAttention and nn.TransformerEncoderLayer run as one
    op without gradients: the products for queries, keys and values, attention in heads, and a product. The weights of
    the attention are not judged.
    """
    if call.has("mask") or any(call[name] is not call["query"] for name in ("key", "value")):
        raise NotJudged("attention with a mask or to other elements")
    heads, width = int(call["num_head"]), int(call["embed_dim"])
    low = {"bfloat16": 2.0**-8, "float16": 2.0**-11}.get(call.dtype.name, 0.0)

    def through(x: Band, kind: str) -> Band:
        found = multiplied(x, call.band(f"{kind}_weight").apply(np.transpose))
        return stored(_beside(found, call.band(f"{kind}_bias"), width))

    def stored(x: Band) -> Band:  # steps are rounded to the type of the tensors
        return x.within(low * x.size)

    def parted(a: Array) -> Array:  # (batch, places, 3 · width) to (3, batch, heads, places, width of a head)
        return a.reshape(*a.shape[:2], 3, heads, -1).transpose(2, 0, 3, 1, 4)

    parts = through(call.band("query"), "qkv").apply(parted)
    query, key, value = (parts.apply(lambda a, k=k: a[k]) for k in range(3))  # type: ignore[misc]
    query = stored((query * float(1 / np.sqrt(width / heads))).rounded())
    scores = stored(multiplied(query, key.apply(lambda a: np.swapaxes(a, -1, -2))))
    mixed = stored(multiplied(stored(softened(scores, -1)), value))
    found = through(mixed.apply(lambda a: a.swapaxes(1, 2).reshape(a.shape[0], -1, width)), "proj")
    return [Within(found, "approximation"), None]


@np.errstate(all="ignore")
def attention_backward(call: Call) -> Sequence[Expected]:
    """Return the gradients of attention for query, key and value."""
    grad, query, key, value, out = (call.band(name) for name in ("grad_out", "query", "key", "value", "out"))
    if float(call["dropout_p"] or 0) or query.mid.shape[1] != key.mid.shape[1]:
        raise NotJudged("dropout or groups of heads")
    weights, scale = _weights(call, query, key)
    low = {"bfloat16": 2.0**-8, "float16": 2.0**-11}.get(call.dtype.name, 0.0)
    tiny = 2.0**-25 if call.dtype.name == "float16" else 0.0  # half a subnormal number

    def turned(x: Band) -> Band:
        return x.apply(lambda a: np.swapaxes(a, -1, -2))

    def product(one: Band, other: Band) -> Band:  # the first factor is rounded to the type of the tensors
        return multiplied(one.within((low + 64 * one.unit) * one.size + tiny), other)

    inner = (grad * out).sum(-1, True)
    slopes = weights * (multiplied(grad, turned(value)) - inner)
    slopes = slopes.within(4 * (low + slopes.unit) * weights.size * (multiplied(grad, turned(value)).size + inner.size))
    found = [product(slopes, key) * scale, product(turned(slopes), query) * scale, product(turned(weights), grad)]
    return [Within(each, "approximation") for each in found]


def squared_error(call: Call) -> Sequence[Expected]:
    """Return (x - target)², all, their mean or their sum."""
    d = call.band("self") - call.band("target")
    return [Within(_reduced(d * d, call["reduction"]))]


def _reduced(x: Band, reduction: Any) -> Band:
    return x.mean() if reduction in (1, None) else x.sum() if reduction == 2 else x


def squared_error_backward(call: Call) -> Sequence[Expected]:
    """Return 2 · (x - target) · grad, divided by the number of elements for a mean."""
    x = call.band("self")
    norm = 2.0 / x.mid.size if call["reduction"] == 1 else 2.0
    factor = Band.of(np.float64(norm), x.digits).rounded()
    return [Within(((x - call.band("target")) * call.band("grad_output") * factor).rounded())]


def likelihood(call: Call) -> Sequence[Expected]:
    """Return the negated elements at the targets, all, their mean or their sum, with the weights of the classes."""
    x, target = call.band("self"), call.array("target")
    if x.mid.ndim not in (1, 2):
        raise NotJudged("losses with more axes")
    rows = x.apply(lambda a: np.atleast_2d(a))
    target = np.atleast_1d(target)
    kept = target != int(call["ignore_index"])
    safe = np.where(kept, target, 0)
    weight = call.band("weight").mid[safe] if call.has("weight") else np.ones(len(safe))
    weight = np.where(kept, weight, 0.0)
    picked = -rows.apply(lambda a: a[np.arange(len(safe)), safe])
    losses = picked * Band.of(weight, x.digits) if call.has("weight") else picked.where(kept, 0.0)
    sums = Band.of(weight, x.digits).sum()
    if call["reduction"] == 0:
        return [Within(losses.apply(lambda a: a.reshape(call.results[0].shape))), None]
    return [Within(losses.sum() / sums if call["reduction"] == 1 else losses.sum()), Within(sums)]


def likelihood_backward(call: Call) -> Sequence[Expected]:
    """Return the gradient of `likelihood`: -weight · grad at the targets."""
    x, target, grad = call.band("self"), np.atleast_1d(call.array("target")), call.band("grad_output")
    if x.mid.ndim != 2:
        raise NotJudged("losses with more axes")
    kept = target != int(call["ignore_index"])
    safe = np.where(kept, target, 0)
    weight = call.band("weight").mid[safe] if call.has("weight") else np.ones(len(safe))
    each = -(grad * Band.of(weight, x.digits))
    if call["reduction"] == 1:
        each = each / call.band("total_weight")
    each = each.where(kept, 0.0)
    mid, rad = np.zeros_like(x.mid), np.zeros_like(x.mid)
    mid[np.arange(len(safe)), safe], rad[np.arange(len(safe)), safe] = each.mid, each.rad
    return [Within(Band(mid, rad, x.digits))]


# --- sums at places ---------------------------------------------------------------------------------------------------


def embedding_backward(call: Call) -> Sequence[Expected]:
    """Return the sums of the gradients of each row of an embedding."""
    grad, places = call.band("grad_output"), call.array("indices").reshape(-1)
    width, rows = grad.mid.shape[-1], int(call["num_weights"])
    if call["scale_grad_by_freq"]:
        raise NotJudged("gradients divided by frequencies")
    if int(call["padding_idx"]) >= 0:
        grad = grad.where((call.array("indices") != int(call["padding_idx"]))[..., None], 0.0)
    flat = (places[:, None] * width + np.arange(width)).reshape(-1)
    return [Within(sums_at(grad.apply(np.ravel), flat, rows * width).apply(lambda a: a.reshape(rows, width)))]


def index_add(call: Call) -> Sequence[Expected]:
    """Return self with the rows of a source added at places."""
    base, source = call.band("self"), call.band("source")
    axis, places = int(call["dim"]), call.array("index")
    if call.has("alpha") and call["alpha"] != 1:
        source = source * float(call["alpha"])
    # A tensor without dimensions has one element at the place 0.
    mid, total = np.atleast_1d(base.mid).copy(), np.atleast_1d(base.size).copy()
    places = np.atleast_1d(places)
    key: Any = (*(slice(None),) * (axis % mid.ndim), places)
    np.add.at(mid, key, np.atleast_1d(source.mid))
    np.add.at(total, key, np.atleast_1d(source.size))
    count = float(np.bincount(places).max(initial=0)) + 1
    radius = gamma(count, base.unit) * total
    return [Within(Band(mid.reshape(base.mid.shape), radius.reshape(base.mid.shape), base.digits))]


def places_along(places: Array, axis: int) -> tuple[Array, ...]:
    """Return the key of the elements whose places along an axis are given."""
    grids: Any = np.indices(places.shape, sparse=True)
    return tuple(places if k == axis else grid for k, grid in enumerate(grids))


def scatter_add(call: Call) -> Sequence[Expected]:
    """Return self with the elements of a source added at places along an axis."""
    base, source, places = call.band("self"), call.band("src"), call.array("index")
    axis = int(call["dim"]) % max(base.mid.ndim, 1)
    cut = tuple(slice(n) for n in places.shape)
    key: Any = places_along(places, axis)
    mid, total = base.mid.copy(), np.array(base.size)
    np.add.at(mid, key, source.mid[cut])
    np.add.at(total, key, source.size[cut])
    return [Within(Band(mid, gamma(float(places.shape[axis]) + 1, base.unit) * total, base.digits))]


def distance(call: Call) -> Sequence[Expected]:
    """Return the distances of all pairs of rows."""
    if float(call["p"]) != 2:
        raise NotJudged("distances of another order than 2")
    one = call.band("x1").apply(lambda a: a[..., :, None, :])
    other = call.band("x2").apply(lambda a: a[..., None, :, :])
    d = one - other
    return [Within((d * d).sum(-1).sqrt(), "approximation")]


def glu(call: Call) -> Sequence[Expected]:
    """Return one half of the argument times the sigmoid of the other."""
    x, axis = call.band("self"), int(call["dim"]) if call.has("dim") else -1
    with np.errstate(all="ignore"):
        return [
            Within(
                x.apply(lambda a: np.split(a, 2, axis)[0]) * x.apply(lambda a: np.split(a, 2, axis)[1]).sigmoid(),
                "approximation",
            )
        ]


def entropy(call: Call) -> Sequence[Expected]:
    """Return the binary cross entropy of probabilities, whose logarithms are at least -100."""
    x, y = call.band("self"), call.band("target")
    with np.errstate(all="ignore"):
        low = Band(np.maximum(np.log(x.mid), -100), np.zeros(()), x.digits).rounded(2)
        high = Band(np.maximum(np.log1p(-x.mid), -100), np.zeros(()), x.digits).rounded(2).within(2 * x.unit)
        losses = -(y * low + (1.0 - y) * high)
    losses = losses * call.band("weight") if call.has("weight") else losses
    return [Within(_reduced(losses, call["reduction"]), "approximation")]


TABLE: Mapping[str, Rule] = {
    "sum": total,
    "mean": mean,
    "prod": product,
    "cumsum": running_sum,
    "cumprod": running_product,
    "nansum": total_of_numbers,
    "var": variance,
    "std": variance,
    "var_mean": variance,
    "std_mean": variance,
    "norm": norm,
    "linalg_vector_norm": norm,
    "max": extreme(np.max, np.argmax),
    "min": extreme(np.min, np.argmin),
    "amax": extreme(np.max, np.argmax),
    "amin": extreme(np.min, np.argmin),
    "argmax": place(np.argmax),
    "argmin": place(np.argmin),
    "all": truth(np.all),
    "any": truth(np.any),
    "mm": matrices("self", "mat2"),
    "bmm": matrices("self", "mat2"),
    "mv": matrices("self", "vec"),
    "dot": matrices("self", "tensor"),
    "vdot": matrices("self", "other"),
    "_int_mm": matrices("self", "mat2"),
    "addmm": with_addend("self", "mat1", "mat2"),
    "addmv": with_addend("self", "mat", "vec"),
    "baddbmm": with_addend("self", "batch1", "batch2"),
    "addbmm": with_addend("self", "batch1", "batch2", batches=True),
    "linear": linear,
    "outer": outer,
    "convolution": convolution,
    "_convolution": convolution,
    "convolution_overrideable": convolution,
    "convolution_backward": convolution_backward,
    "avg_pool2d": average_pool,
    "_adaptive_avg_pool2d": adaptive_pool,
    "max_pool2d_with_indices": largest_pool,
    "max_pool2d_with_indices_backward": largest_pool_backward,
    "native_layer_norm": layer_norm,
    "native_layer_norm_backward": layer_norm_backward,
    "native_batch_norm": batch_norm,
    "_native_batch_norm_legit": batch_norm,
    "_native_batch_norm_legit_no_training": batch_norm,
    "native_group_norm": group_norm,
    "_fused_rms_norm": rms_norm,
    "_softmax": softmax,
    "_safe_softmax": softmax,
    "_log_softmax": log_softmax,
    "logsumexp": logsumexp,
    "_softmax_backward_data": softmax_backward,
    "_log_softmax_backward_data": log_softmax_backward,
    "_scaled_dot_product_flash_attention_for_cpu": attention,
    "_scaled_dot_product_attention_math": attention,
    "_scaled_dot_product_flash_attention_for_cpu_backward": attention_backward,
    "_native_multi_head_attention": attention_layer,
    "mse_loss": squared_error,
    "mse_loss_backward": squared_error_backward,
    "nll_loss_forward": likelihood,
    "nll_loss_backward": likelihood_backward,
    "binary_cross_entropy": entropy,
    "embedding_dense_backward": embedding_backward,
    "index_add": index_add,
    "scatter_add": scatter_add,
    "_cdist_forward": distance,
    "glu": glu,
}
"""The rules of ops by their names."""
