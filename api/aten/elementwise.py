"""Ops of PyTorch on each element: arithmetic, comparisons, functions, casts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np

from halfulp.aten.bands import TINY, Array, Band, Centers
from halfulp.aten.calls import (
    Call,
    Exact,
    Expected,
    Inside,
    Near,
    NotJudged,
    Within,
    array_of,
    compute,
    converted,
    widened,
)
from halfulp.interp.values.coerce import is_tensor

Rule = Callable[[Call], Sequence[Expected]]
"""Gives what each result of a call may be."""

# --- one operation, rounded once --------------------------------------------------------------------------------------
#
# Floats of 16 bits are computed in f32 and rounded to their type: for +, -, *, / and square roots this rounds once,
# except in subnormal numbers. Python numbers take the type of the computation, or that of the tensors.


def operand(call: Call, name: str, dtype: np.dtype[Any]) -> Array:
    """Return an argument in the dtype of the computation, into which PyTorch promotes it exactly or rounds it once."""
    return promoted(call.array(name), dtype)


def promoted(given: Array, dtype: np.dtype[Any]) -> Array:
    """Return numbers in a dtype: exactly, or rounded once."""
    if given.dtype == dtype:
        return given
    given = widened(given)
    if given.dtype == dtype:
        return given
    if dtype.kind == "V":
        return converted(np.asarray(given, np.float32), dtype)
    with np.errstate(all="ignore"):
        return np.asarray(given, dtype)


def rounded(results: Iterable[Array], call: Call, zeros_alike: bool = False) -> Sequence[Expected]:
    """Return results of the computation in the dtype of the call."""
    return [Exact((converted(each, call.dtype) for each in results), zeros_alike)]


def numbers_rounded(operands: Sequence[Array], call: Call) -> Iterator[Sequence[Array]]:
    """Yield operands as they are, and with their numbers rounded to a dtype of 16 bits: ATen does either."""
    yield operands
    if call.dtype != call.computed and any(each.ndim == 0 for each in operands):
        yield [converted(each, call.dtype).astype(call.computed) if each.ndim == 0 else each for each in operands]


def arithmetic(op: str, integers: Callable[..., Array], *names: str, zeros_alike: bool = False) -> Rule:
    """Return the rule of an op of halfulp on floats, and one of NumPy on integers. ``names``: the operands."""

    def rule(call: Call) -> Sequence[Expected]:
        if call.has("rounding_mode"):
            return _divided(call)
        dtype = call.computed
        if dtype.kind == "c":
            raise NotJudged("complex numbers")
        operands = [operand(call, name, dtype) for name in names]
        if dtype.kind in "fV":
            return rounded((compute(op, *each) for each in numbers_rounded(operands, call)), call, zeros_alike)
        return [Exact([np.asarray(integers(*operands)).astype(call.dtype)])]

    return rule


def _divided(call: Call) -> Sequence[Expected]:
    if call.computed.kind == "f":
        raise NotJudged("division of floats with a rounding mode")
    one, other = operand(call, "self", call.computed), operand(call, "other", call.computed)
    quotient = np.floor_divide(one, other)
    if call["rounding_mode"] == "trunc":
        quotient = quotient + ((quotient < 0) & (quotient * other != one)).astype(quotient.dtype)
    return [Exact([quotient])]


def added(sign: int, first: str = "self", second: str = "other") -> Rule:
    """Return the rule of self + alpha · other, or its difference: with and without contraction."""

    def rule(call: Call) -> Sequence[Expected]:
        dtype = call.computed
        one, other = operand(call, first, dtype), operand(call, second, dtype)
        alpha = call["alpha"] if call.has("alpha") else 1
        if dtype.kind not in "fV":
            return [Exact([(one + np.asarray(sign * alpha).astype(dtype) * other).astype(dtype)])]
        if alpha == 1:
            op = "arith.addf" if sign > 0 else "arith.subf"
            return rounded((compute(op, *each) for each in numbers_rounded([one, other], call)), call)
        return rounded(_with_factor(call, np.asarray(sign * alpha, dtype), other, one), call)

    return rule


def _with_factor(call: Call, *operands: Array) -> Iterator[Array]:
    for factor, other, one in numbers_rounded(operands, call):
        product = compute("arith.mulf", factor, other)
        yield compute("arith.addf", product, one)
        yield compute("math.fma", factor, other, one)
        if call.dtype != call.computed:  # some kernels round each step to 16 bits
            yield compute("arith.addf", promoted(converted(product, call.dtype), call.computed), one)


def compared(compare: Callable[[Array, Array], Array]) -> Rule:
    """Return the rule of a comparison, in the type to which the operands are promoted."""

    def rule(call: Call) -> Sequence[Expected]:
        one, other = call.array("self"), call.array("other")
        floats = [each for each in (one, other) if each.dtype.kind in "fV"]
        if not floats and one.ndim and one.dtype.kind in "iu" and not other.ndim and other.dtype.kind in "iu":
            other = other.astype(one.dtype)  # a number takes the type of the tensor: -1 is 255
        if floats:
            wide = np.result_type(
                *(
                    np.float32 if each.dtype.kind == "V" else each.dtype
                    for each in floats
                    if each.ndim or len(floats) == 1 or each is floats[0]
                )
            )
            tensors = [each for each in floats if each.ndim] or floats
            if len(tensors) == 1 and tensors[0].dtype.kind == "V":  # the number is rounded to the type of the tensor
                one, other = (converted(np.asarray(each, np.float32), tensors[0].dtype) for each in (one, other))
                wide = np.dtype(np.float32)
            one, other = promoted(one, wide), promoted(other, wide)
        with np.errstate(all="ignore"):
            found = np.asarray(compare(one, other))
        return [Exact([found.astype(call.dtype)])]

    return rule


def of_integers(f: Callable[..., Array], *names: str) -> Rule:
    """Return the rule of an op that NumPy computes exactly: on integers, truth values and classes of floats."""

    def rule(call: Call) -> Sequence[Expected]:
        given = [call.array(name) for name in names]
        given = [each.astype(np.float32) if each.dtype.kind == "V" else each for each in given]
        return [Exact([np.asarray(f(*given)).astype(call.dtype)])]

    return rule


def to_integral(op: str) -> Rule:
    """Return the rule of a rounding to integral numbers; integers stay."""

    def rule(call: Call) -> Sequence[Expected]:
        given = call.array("self")
        if given.dtype.kind not in "fV":
            return [Exact([given])]
        if call.has("decimals") and call["decimals"]:
            raise NotJudged("rounding to decimals")
        return rounded([compute(op, operand(call, "self", call.computed))], call)

    return rule


def clamped(low: str | float | None, high: str | float | None) -> Rule:
    """Return the rule of a clamp. Bounds: names of arguments, or numbers."""

    def rule(call: Call) -> Sequence[Expected]:
        dtype = call.computed
        found = operand(call, "self", dtype)
        for bound, floats, integers in ((low, "arith.maximumf", np.maximum), (high, "arith.minimumf", np.minimum)):
            if bound is None or (isinstance(bound, str) and not call.has(bound)):
                continue
            limit = operand(call, bound, dtype) if isinstance(bound, str) else np.asarray(bound, dtype)
            found = compute(floats, found, limit) if dtype.kind in "fV" else integers(found, limit)
        return rounded([found], call, zeros_alike=True) if dtype.kind in "fV" else [Exact([found])]

    return rule


def cast(call: Call) -> Sequence[Expected]:
    """Return what a cast gives by the rules of the profile `torch`."""
    given = call.array("src" if call.name == "copy" else "self")
    if given.dtype.kind == "c" or call.dtype.kind == "c":
        raise NotJudged("complex numbers")
    found = given if given.dtype == call.dtype else _cast(given, call.dtype)
    return [Exact([np.broadcast_to(found, call.results[0].shape)])]


def _cast(given: Array, dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "b":
        return np.asarray(widened(given) != 0)
    if given.dtype.kind in "biu" and dtype.kind in "iu":
        return given.astype(dtype)
    if given.dtype.kind == "b":
        given = given.astype(np.int8)
    return converted(given, dtype)


# --- functions --------------------------------------------------------------------------------------------------------

FUNCTIONS: Mapping[str, tuple[str, float]] = {
    # SLEEF, which ATen's vectors call, states 1.0 ulp for most and 3.5 ulp for sin and cos; the C libraries that
    # compute single elements are at most as far off.
    # oneMKL computes square roots of arrays with less than 1 ulp, not correctly rounded.
    "sqrt": ("math.sqrt", 1.0),
    "exp": ("math.exp", 1.0),
    "exp2": ("math.exp2", 1.0),
    "expm1": ("math.expm1", 1.0),
    "log": ("math.log", 1.0),
    "log2": ("math.log2", 1.0),
    "log10": ("math.log10", 1.0),
    "log1p": ("math.log1p", 1.0),
    "sin": ("math.sin", 3.5),
    "cos": ("math.cos", 3.5),
    "tan": ("math.tan", 1.0),
    "asin": ("math.asin", 1.0),
    "acos": ("math.acos", 1.0),
    "atan": ("math.atan", 1.0),
    "sinh": ("math.sinh", 1.0),
    "cosh": ("math.cosh", 1.0),
    "tanh": ("math.tanh", 1.0),
    "asinh": ("math.asinh", 1.5),
    "acosh": ("math.acosh", 1.5),
    "atanh": ("math.atanh", 1.0),
    "erfc": ("math.erfc", 1.5),
    "lgamma": ("lgamma", 1.0),
    # 1 / (1 + exp(-x)): the errors of the exp, of the sum and of the quotient
    "sigmoid": ("sigmoid", 3.0),
    # 1 / sqrt(x), two roundings
    "rsqrt": ("math.rsqrt", 1.5),
}
"""Ops that compute one function: halfulp's op, and the error in ulp of the type of the computation."""

ERF_ABSOLUTE = 1.5e-7 + 8 * 2.0**-24
"""The error of erf in f32: formula 7.1.26 of Abramowitz and Stegun, which ATen's vectors compute, and its roundings."""

MOST = 1 << 12
"""The elements of f64 that are judged in one call: correctly rounded functions of f64 take microseconds each."""


def function(call: Call) -> Sequence[Expected]:
    """Return what one of the `FUNCTIONS` may give."""
    op, ulps = FUNCTIONS[call.name]
    return _function(call, op, ulps, 0.0)


def erf(call: Call) -> Sequence[Expected]:
    """Return what erf may give: in f64 SLEEF's function, in f32 the formula."""

    def whole() -> Exact | Near:
        (found,) = _function(call, "math.erf", 1.0, ERF_ABSOLUTE if call.digits == 24 else 0.0)
        return found

    return [_by_parts(call, _erf, whole)]


def _erf(x: Array) -> tuple[Array, Array]:
    # Taylor's series near 0, where a difference would lose digits. Its next term is under 1e-11.
    square = np.minimum(x * x, 1 / 16)
    series = np.ones(())
    for ratio in 9 / 55, 7 / 36, 5 / 21, 3 / 10, 1 / 3:
        series = 1 - square * ratio * series
    series *= (2 / np.sqrt(np.pi)) * x
    mid = np.where(np.abs(x) < 1 / 4, series, 2 * _share(x * np.sqrt(2)) - 1)
    return mid, np.abs(mid) * 2.0**-24 + (ERF_ABSOLUTE - 2 * _SHARE_ERROR)


@cache
def _table(op: str, dtype: np.dtype[Any]) -> Array:
    """Return a function of all numbers of a dtype of 16 bits, by their codes."""
    return compute(op, _codes(dtype))


def _codes(dtype: np.dtype[Any]) -> Array:
    return np.arange(1 << 16, dtype=np.uint16).view(dtype)


@cache
def _parts(f: Callable[[Array], tuple[Array, Array]], dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """Return the results of a function of f64 for all numbers of a dtype of 16 bits, by their codes."""
    return f(widened(_codes(dtype)).astype(np.float64))


def _by_parts(
    call: Call, f: Callable[[Array], tuple[Array, Array]], whole: Callable[[], Exact | Near | Within]
) -> Expected:
    """Return what a function of the argument may give. ``f``: gives the exact numbers and the radii, in f64."""
    given = call.parts("self")
    if given is None:
        return whole()
    x = call.array("self")
    if x.dtype.itemsize > 2 or not x.ndim:
        return Inside(lambda cut: f(given(cut)), "approximation", whole)
    tables, codes = _parts(f, x.dtype), x.view(np.uint16)
    return Inside(lambda cut: (tables[0][codes[cut]], tables[1][codes[cut]]), "approximation", whole)


def _function(call: Call, op: str, ulps: float, absolute: float) -> Sequence[Exact | Near]:
    dtype = call.computed
    if dtype.kind != "f":
        raise NotJudged(f"results of {call.dtype}")
    if dtype == np.float64 and call.results[0].numel() > MOST:
        raise NotJudged(f"f64 of more than {MOST} elements")
    if call.dtype != dtype and not call.narrow:
        # In 16 bits the correctly rounded function is a table, and most elements agree with it.
        given = call.array("self")
        short = given.dtype == call.dtype and given.ndim > 0
        exact = _table(op, call.dtype)[given.view(np.uint16)] if short else compute(op, given.astype(call.dtype))
        if np.array_equal(exact.view(np.uint16), array_of(call.results[0]).view(np.uint16)):
            return [Exact([exact])]
    exact = compute(op, operand(call, "self", dtype))
    digits = call.digits

    def otherwise() -> Within:
        wide = exact.astype(np.float64)
        with np.errstate(all="ignore"):
            step = np.spacing(np.abs(exact)).astype(np.float64) * 2.0 ** (np.finfo(dtype).nmant + 1 - digits)
        rad = np.where(np.isfinite(wide), (ulps + 0.5) * step + absolute, 0)
        return Within(Band(wide, rad, digits), "approximation")

    return [Near(exact, int(ulps + 0.5), otherwise)]


# --- formulas ---------------------------------------------------------------------------------------------------------


def formula(f: Callable[..., Band], *names: str, approximate: bool = False) -> Rule:
    """Return the rule of a formula on bands. ``names``: the arguments."""

    kind: Literal["order", "approximation"] = "approximation" if approximate else "order"

    def rule(call: Call) -> Sequence[Expected]:
        @np.errstate(all="ignore")
        def whole() -> Within:
            return Within(f(*(call.band(name) for name in names)), kind)

        parts = [each for name in names if (each := call.parts(name)) is not None]
        if len(parts) < len(names):
            return [whole()]
        looked: type[Band] = Centers if call.dtype != call.computed else Band

        def part(cut: slice) -> tuple[Array, Array]:
            band = f(*(looked.of(each(cut), 24) for each in parts))
            return band.mid, band.rad

        @np.errstate(all="ignore")
        def chosen(places: Array) -> Band:
            return f(*(call.band(name, places) for name in names))

        return [Inside(part, kind, whole, chosen)]

    return rule


def hard(x: Band) -> Band:
    """Return min(max(x + 3, 0), 6)."""
    shifted = x + 3.0
    return x.like(np.clip(shifted.mid, 0, 6), np.where(np.abs(shifted.mid - 3) > 3 + shifted.rad, 0, shifted.rad))


def silu(call: Call) -> Sequence[Expected]:
    """Return x / (1 + exp(-x))."""

    @np.errstate(all="ignore")
    def whole() -> Within:
        x = call.band("self")
        return Within(x / ((-x).exp() + 1.0), "approximation")

    return [_by_parts(call, _silu, whole)]


def _silu(x: Array) -> tuple[Array, Array]:
    share = 1 / (np.exp(-x) + 1)
    x *= share
    # exp has an error of 1 ulp, at most two units; the sum and the quotient are rounded.
    return x, np.abs(x) * ((2 - share) * 2.0**-23)


def silu_backward(grad: Band, x: Band) -> Band:
    """Return grad · s · (1 + x · (1 - s)), s = sigmoid(x)."""
    s = x.sigmoid()
    return grad * s * (1.0 + x * (1.0 - s))


_SHARES = 256
_LAST = 6.5
_SHARE_ERROR = 6e-10
"""The error of `_share`: Taylor's formula of degree 2 at a node, 0.4 / 6 · (1 / 512)³; beyond the ends 5e-11."""


@cache
def _nodes() -> tuple[Array, Array]:
    """Return the distribution function of the normal distribution, and its density, at nodes that are 1 / 256 apart.
    Beyond the ends the function is 0 or 1.
    """
    x = np.arange(_LAST * _SHARES + 1) / _SHARES
    half = compute("math.erf", x * np.sqrt(0.5)) / 2
    density = np.exp(x * x / -2) / np.sqrt(2 * np.pi)
    half[-1], density[-1] = 0.5, 0
    return np.concatenate([0.5 - half[:0:-1], 0.5 + half]), np.concatenate([density[:0:-1], density])


def _share(x: Array) -> Array:
    """Return the distribution function of the normal distribution, with an error of `_SHARE_ERROR`."""
    shares, density = _nodes()
    d = np.clip(x, -_LAST, _LAST)
    node: Array = np.rint(d * _SHARES)
    k = np.asarray(node + _LAST * _SHARES, np.intp)
    node *= 1 / _SHARES
    d -= node
    node *= d
    node *= -0.5
    node += 1
    node *= d
    node *= density.take(k, mode="clip")  # there is no node for NaN
    node += shares.take(k, mode="clip")
    return node


def normal(x: Band) -> tuple[Band, Band]:
    """Return the distribution function of the normal distribution, as 0.5 · (1 + erf(x / √2)), and its density."""
    z = (x * float(np.sqrt(0.5))).rounded()
    if x.digits == 53:
        raise NotJudged("GELU of f64")
    rad = z.rad
    if not z.known:
        rad = 2 / np.sqrt(np.pi) * rad + (2 * _SHARE_ERROR + ERF_ABSOLUTE)
        rad = np.where(np.isfinite(z.mid), rad, 0)
    e = x.like(2 * _share(x.mid) - 1, rad)
    density = (x * x * -0.5).exp() * float(1 / np.sqrt(2 * np.pi))
    return (e + 1.0) * 0.5, density


def _inner(x: Band) -> Band:
    return (x + x * x * x * 0.044715) * float(np.sqrt(2 / np.pi))


def gelu(call: Call) -> Sequence[Expected]:
    """Return what GELU may give, in its two forms."""

    @np.errstate(all="ignore")
    def whole() -> Within:
        x = call.band("self")
        share = (_inner(x).tanh() + 1.0) * 0.5 if call["approximate"] == "tanh" else normal(x)[0]
        return Within(x * share, "approximation")

    return [whole if call["approximate"] == "tanh" else _by_parts(call, _gelu, whole)]


def _gelu(x: Array) -> tuple[Array, Array]:
    mid = _share(x)
    mid *= x
    rad = np.abs(x)
    rad *= 0.5 * ERF_ABSOLUTE - _SHARE_ERROR
    rad += np.abs(mid) * (3 * 2.0**-24)  # 1 + erf, its half and the product are rounded
    return mid, rad


def _gelu_backward(grad: Band, x: Band) -> Band:
    share, density = normal(x)
    return grad * (share + x * density)


def _tanh_gelu_backward(grad: Band, x: Band) -> Band:
    t = _inner(x).tanh()
    inner = (x * x * (3 * 0.044715) + 1.0) * float(np.sqrt(2 / np.pi))
    return grad * ((t + 1.0) * 0.5 + x * 0.5 * (1.0 - t * t) * inner)


def gelu_backward(call: Call) -> Sequence[Expected]:
    """Return what the derivative of GELU may give, times the gradient."""
    f = _tanh_gelu_backward if call["approximate"] == "tanh" else _gelu_backward
    return formula(f, "grad_output", "self", approximate=True)(call)


def threshold_backward(call: Call) -> Sequence[Expected]:
    """Return the gradient where the argument is above a threshold, else 0."""
    grad, x, limit = call.array("grad_output"), call.array("self"), float(call["threshold"])
    return [Exact([np.where(x.astype(np.float64) <= limit, np.zeros((), grad.dtype), grad)], zeros_alike=True)]


def clamp_backward(low: str, high: str) -> Rule:
    """Return the rule of the gradient of hardtanh: that of the result inside of the bounds, else 0."""

    def rule(call: Call) -> Sequence[Expected]:
        grad, x = call.array("grad_output"), call.array("self").astype(np.float64)
        inside = (x > float(call[low])) & (x < float(call[high]))
        return [Exact([np.where(inside, grad, np.zeros((), grad.dtype))], zeros_alike=True)]

    return rule


def sloped(call: Call) -> Sequence[Expected]:
    """Return x where it is positive, else its product with the slope."""
    dtype = call.computed
    x = operand(call, "self", dtype)
    slope = (
        np.asarray(call["negative_slope"] if call.has("negative_slope") else 0.01, dtype)
        if call.name == "leaky_relu"
        else None
    )
    if slope is None:
        raise NotJudged("a slope for each channel")
    return rounded([np.where(x > 0, x, compute("arith.mulf", x, slope))], call, zeros_alike=True)


def sloped_backward(call: Call) -> Sequence[Expected]:
    """Return the gradient of leaky_relu."""
    dtype = call.computed
    grad, x = operand(call, "grad_output", dtype), operand(call, "self", dtype)
    slope = np.asarray(call["negative_slope"], dtype)
    return rounded([np.where(x > 0, grad, compute("arith.mulf", grad, slope))], call, zeros_alike=True)


def power(call: Call) -> Sequence[Expected]:
    """Return a power: small integral exponents are products, others SLEEF's function."""
    dtype = call.computed
    if not call.has("exponent") or is_tensor(call["exponent"]) or is_tensor(call["self"]) is False:
        exponent: Any = None
    else:
        exponent = call["exponent"]
    if dtype.kind not in "fV":
        return [Exact([np.power(call.array("self").astype(dtype), np.asarray(call["exponent"]).astype(dtype))])]
    if exponent is None:
        x, y = call.array("self"), call.array("exponent")
    else:
        x, y = call.array("self"), np.asarray(exponent)
    with np.errstate(all="ignore"):
        band = call.band("self")
        if exponent == 2:
            return [Within(band * band)]
        if exponent == 3:
            return [Within(band * band * band)]
        if exponent == 0.5:
            return [Within(band.sqrt(), "approximation")]
        if exponent == -0.5:
            return [Within(1.0 / band.sqrt(), "approximation")]
        if exponent in (-1, -2):
            return [Within(1.0 / (band if exponent == -1 else band * band))]
        if call.digits == 53:
            raise NotJudged("powers of f64")
        # A single base or exponent is of f64, of f32 or of the type of the result, depending on the kernel.
        given = array_of(call.results[0])
        result = promoted(given, np.dtype(np.float32)).astype(np.float64)

        def forms(numbers: Array) -> list[Array]:
            kept = [numbers] if numbers.ndim else [numbers, promoted(numbers, given.dtype)]
            found = [promoted(each, np.dtype(np.float32)).astype(np.float64) for each in kept]
            return found if numbers.ndim else [*found, promoted(numbers, np.dtype(np.float64))]

        mids = [np.power(base, power) for base in forms(x) for power in forms(y)]
        mid = mids[0]
        for other in mids[1:]:
            mid = np.where(np.abs(result - other) < np.abs(result - mid), other, mid)
        # An ulp of a result below the normal numbers is the smallest of them.
        return [Within(Band.of(mid, 24).rounded(3).within(2 * TINY[24] * 2.0**-24), "approximation")]


def _elu(call: Call) -> Sequence[Expected]:
    with np.errstate(all="ignore"):
        x = call.band("self")
        alpha, scale = float(call["alpha"] or 1), float(call["scale"] or 1)
        low = Band.of(np.expm1(np.minimum(x.mid * float(call["input_scale"] or 1), 0)), x.digits).rounded(4)
        found = (x * scale).where(x.mid > 0, low * alpha * scale)
        # exp(x) - 1 without expm1 loses digits near 0
        return [Within(found.within(2.0**-23 * abs(alpha * scale) * (x.mid <= 0)), "approximation")]


def _softplus(x: Band) -> Band:
    mid = np.logaddexp(x.mid, 0)
    return Band.of(mid, x.digits).rounded(6).within(2 * TINY_STEP * np.minimum(np.abs(mid), 1))


TINY_STEP = 2.0**-23


def softplus(call: Call) -> Sequence[Expected]:
    """Return log(1 + exp(beta · x)) / beta, and x above the threshold."""
    with np.errstate(all="ignore"):
        x, beta, limit = call.band("self"), float(call["beta"] or 1), float(call["threshold"] or 20)
        scaled = x * beta
        inner = Band.of(np.exp(scaled.mid), x.digits)
        soft = Band(np.log1p(inner.mid), (scaled.rad + 2 * 2.0**-24) * np.minimum(inner.mid, 1), x.digits).rounded(4)
        return [Within(x.where(scaled.mid > limit, soft * (1 / beta)), "approximation")]


def log_sigmoid(call: Call) -> Sequence[Expected]:
    """Return min(x, 0) - log1p(exp(-|x|)), and a buffer that is not judged."""
    with np.errstate(all="ignore"):
        x = call.band("self")
        mid = np.minimum(x.mid, 0) - np.log1p(np.exp(-np.abs(x.mid)))
        return [Within(Band.of(mid, x.digits).rounded(6), "approximation"), None]


def _same_sign(one: Array, other: Array) -> Array:
    return np.copysign(one, other)


def _rounded_once(f: Callable[[Array, Array], Array]) -> Callable[[Band, Band], Band]:
    """Return a function of two numbers with an error of 1.5 ulp."""
    return lambda x, y: Band.of(f(x.mid, y.mid), x.digits).rounded(3)


def _xlogy(x: Band, y: Band) -> Band:
    return (x * y.log()).where((x.mid != 0) | np.isnan(y.mid), 0.0)


def _logaddexp(x: Band, y: Band) -> Band:
    top = np.maximum(x.mid, y.mid)
    return Band.of(np.logaddexp(x.mid, y.mid), x.digits).rounded(4).within(4 * x.unit * np.minimum(np.abs(top), 1e300))


def remainder(call: Call) -> Sequence[Expected]:
    """Return the remainder with the sign of the divisor: that of the division toward zero, and the divisor added."""
    dtype = call.computed
    one, other = operand(call, "self", dtype), operand(call, "other", dtype)
    if dtype.kind not in "fV":
        return [Exact([np.mod(one, other)])]
    rest = compute("arith.remf", one, other)
    shifted = compute("arith.addf", rest, np.broadcast_to(other, rest.shape))
    return rounded([np.where((rest != 0) & ((rest < 0) != (other < 0)), shifted, rest)], call, zeros_alike=True)


def reciprocal(call: Call) -> Sequence[Expected]:
    """Return 1 / x."""
    x = operand(call, "self", call.computed)
    return rounded([compute("arith.divf", np.ones((), call.computed), x)], call)


def scaled_dropout(call: Call) -> Sequence[Expected]:
    """Return what dropout makes of the mask that it drew."""
    if call["train"] is False:
        return [Exact([call.array("input")]), None]
    mask = array_of(call.results[1])
    x = call.band("input")
    return [Within((x * (1 / (1 - float(call["p"])))).where(mask, 0.0).rounded()), None]


TABLE: Mapping[str, Rule] = {
    "add": added(1),
    "sub": added(-1),
    "rsub": added(-1, "other", "self"),
    "mul": arithmetic("arith.mulf", np.multiply, "self", "other"),
    "div": arithmetic("arith.divf", np.divide, "self", "other"),
    "true_divide": arithmetic("arith.divf", np.divide, "self", "other"),
    "neg": arithmetic("arith.negf", np.negative, "self"),
    "abs": arithmetic("math.absf", np.abs, "self"),
    "square": arithmetic("arith.mulf", np.multiply, "self", "self"),
    "maximum": arithmetic("arith.maximumf", np.maximum, "self", "other", zeros_alike=True),
    "minimum": arithmetic("arith.minimumf", np.minimum, "self", "other", zeros_alike=True),
    "fmax": arithmetic("arith.maxnumf", np.maximum, "self", "other", zeros_alike=True),
    "fmin": arithmetic("arith.minnumf", np.minimum, "self", "other", zeros_alike=True),
    "fmod": arithmetic("arith.remf", np.fmod, "self", "other"),
    "copysign": arithmetic("math.copysign", _same_sign, "self", "other"),
    "remainder": remainder,
    "reciprocal": reciprocal,
    "clamp": clamped("min", "max"),
    "clamp_min": clamped("min", None),
    "clamp_max": clamped(None, "max"),
    "clip": clamped("min", "max"),
    "relu": clamped(0, None),
    "relu6": clamped(0, 6),
    "hardtanh": clamped("min_val", "max_val"),
    "hardtanh_backward": clamp_backward("min_val", "max_val"),
    "threshold_backward": threshold_backward,
    "leaky_relu": sloped,
    "leaky_relu_backward": sloped_backward,
    "floor": to_integral("math.floor"),
    "ceil": to_integral("math.ceil"),
    "trunc": to_integral("math.trunc"),
    "fix": to_integral("math.trunc"),
    "round": to_integral("math.roundeven"),
    "eq": compared(np.equal),
    "ne": compared(np.not_equal),
    "lt": compared(np.less),
    "le": compared(np.less_equal),
    "gt": compared(np.greater),
    "ge": compared(np.greater_equal),
    "logical_and": of_integers(np.logical_and, "self", "other"),
    "logical_or": of_integers(np.logical_or, "self", "other"),
    "logical_xor": of_integers(np.logical_xor, "self", "other"),
    "logical_not": of_integers(np.logical_not, "self"),
    "bitwise_and": of_integers(np.bitwise_and, "self", "other"),
    "bitwise_or": of_integers(np.bitwise_or, "self", "other"),
    "bitwise_xor": of_integers(np.bitwise_xor, "self", "other"),
    "bitwise_not": of_integers(np.invert, "self"),
    "bitwise_left_shift": of_integers(np.left_shift, "self", "other"),
    "bitwise_right_shift": of_integers(np.right_shift, "self", "other"),
    "__lshift__": of_integers(np.left_shift, "self", "other"),
    "__rshift__": of_integers(np.right_shift, "self", "other"),
    "floor_divide": of_integers(np.floor_divide, "self", "other"),
    "isnan": of_integers(np.isnan, "self"),
    "isinf": of_integers(np.isinf, "self"),
    "isfinite": of_integers(np.isfinite, "self"),
    "isposinf": of_integers(np.isposinf, "self"),
    "isneginf": of_integers(np.isneginf, "self"),
    "signbit": of_integers(np.signbit, "self"),
    "sign": of_integers(np.sign, "self"),
    "sgn": of_integers(np.sign, "self"),
    "_to_copy": cast,
    "copy": cast,
    **dict.fromkeys(FUNCTIONS, function),
    "erf": erf,
    "silu": silu,
    "silu_backward": formula(silu_backward, "grad_output", "self", approximate=True),
    "sigmoid_backward": formula(lambda g, y: g * (1.0 - y) * y, "grad_output", "output"),
    "tanh_backward": formula(lambda g, y: g * (1.0 - y * y), "grad_output", "output"),
    "gelu": gelu,
    "gelu_backward": gelu_backward,
    "hardsigmoid": formula(lambda x: hard(x) * (1 / 6), "self"),
    "hardswish": formula(lambda x: (x * hard(x) * (1 / 6)).rounded(), "self"),
    "elu": _elu,
    "softplus": softplus,
    "log_sigmoid_forward": log_sigmoid,
    "mish": formula(lambda x: x * _softplus(x).tanh().rounded(2), "self", approximate=True),
    "addcmul": formula(lambda x, a, b, v: x + v * a * b, "self", "tensor1", "tensor2", "value"),
    "addcdiv": formula(lambda x, a, b, v: x + v * (a / b), "self", "tensor1", "tensor2", "value"),
    "lerp": formula(
        lambda x, y, w: (x + w * (y - x)).rounded().where(np.abs(w.mid) < 0.5, (y - (y - x) * (1.0 - w)).rounded()),
        "self", "end", "weight",
    ),
    "pow": power,
    "atan2": formula(_rounded_once(np.arctan2), "self", "other", approximate=True),
    "hypot": formula(_rounded_once(np.hypot), "self", "other", approximate=True),
    "xlogy": formula(_xlogy, "self", "other", approximate=True),
    "logaddexp": formula(_logaddexp, "self", "other", approximate=True),
    "deg2rad": formula(lambda x: x * float(np.pi / 180), "self"),
    "rad2deg": formula(lambda x: x * float(180 / np.pi), "self"),
    "native_dropout": scaled_dropout,
}  # fmt: skip
"""The rules of ops by their names."""
