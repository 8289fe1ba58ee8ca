"""One call of an op of PyTorch: its arguments as arrays, what it may return, and the verdict on what it returned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import ml_dtypes
import numpy as np

from halfulp.aten.bands import Array, Band, can_hold
from halfulp.converting import convert
from halfulp.evaluating import eval as evaluate
from halfulp.fp_formats import neighbours
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.values.coerce import as_array, is_tensor
from halfulp.interp.values.value import Value

Judged = Literal["equal", "order", "approximation", "narrow", "unexplained"]
"""Verdicts: correctly rounded, or the same elements; within the bound of any order of additions and contraction; within
the documented error of a function; an op of the table `NARROW`, and within the bound of sums and steps that are rounded
to the type of the tensors; none of these.
"""
SEVERITY: Sequence[Judged] = ("equal", "order", "approximation", "narrow", "unexplained")


class NotJudged(Exception):
    """Says why a call of an op in the table is not judged."""


@dataclass(frozen=True)
class Exact:
    """Elements that a result must have: one of several arrays, such as with and without contraction.

    ``choices``: arrays of the dtype of the result. ``zeros_alike``: the sign of a zero is open.
    """

    choices: Iterable[Array]
    zeros_alike: bool = False


@dataclass(frozen=True)
class Within:
    """What a result may be: a band, and why its radius is not 0."""

    band: Band
    kind: Literal["order", "approximation"] = "order"


@dataclass(frozen=True)
class Near:
    """A correctly rounded function, from which a result may be so many steps apart; else ``otherwise`` says what it may
    be.
    """

    exact: Array
    steps: int
    otherwise: Callable[[], Within]


@dataclass(frozen=True)
class Inside:
    """A part of a band of f32, which costs less to compute; ``otherwise`` gives the whole band, for a result that is
    not in this part.

    ``part``: gives the exact numbers and the radii, in f64, of a slice of the first axis. ``kind``: as of `Within`.
    """

    part: Callable[[slice], tuple[Array, Array]]
    kind: Literal["order", "approximation"]
    otherwise: Callable[[], Exact | Near | Within]


Expected = Exact | Within | Near | Inside | None
"""None: a result that holds nothing, such as the memory of torch.empty."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on one call of an op.

    ``kind``: the worst of its results. ``ulp``: the largest distance from the exact result, in ulp of the type of the
    result. ``wrong``: how many elements nothing explains. ``at``: the worst element: its index, the result and the
    exact one.
    """

    kind: Judged
    ulp: float
    wrong: int = 0
    at: tuple[tuple[int, ...], float, float] | None = None


def array_of(tensor: Any) -> Array:
    """Return the elements of a tensor as an array of NumPy or ml_dtypes."""
    return as_array(tensor, "a tensor")


_FLOATS: Mapping[str, int] = {"float32": 24, "float16": 24, "bfloat16": 24, "float64": 53}
"""The floats that ops compute with, and the digits of the type in which they compute."""


_NARROW: Mapping[str, int] = {"bfloat16": 8, "float16": 11}


@dataclass
class Call:
    """A call of an op.

    ``name``: the op, without the overload. ``arguments``: by the names of the schema, with tensors as they were before
    the call. ``results``: the tensors that it returned. ``narrow``: sums and steps are rounded to
    the type of 16 bits of the tensors, in place of f32.
    """

    name: str
    arguments: Mapping[str, Any]
    results: Sequence[Any]
    narrow: bool = False
    _arrays: dict[str, Array] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.arguments.get(name)

    def has(self, name: str) -> bool:
        """Tell whether an argument was given, other than None."""
        return self.arguments.get(name) is not None

    def array(self, name: str) -> Array:
        """Return a tensor or number among the arguments as an array."""
        if name not in self._arrays:
            given = self.arguments[name]
            self._arrays[name] = array_of(given) if is_tensor(given) else np.asarray(given)
        return self._arrays[name]

    @property
    def digits(self) -> int:
        """The digits of the floats in which the op computes: 53 if a tensor is of f64, else 24."""
        tensors = [each for each in (*self.arguments.values(), *self.results) if is_tensor(each)]
        names = [dtype_of(each) for each in tensors if each.is_floating_point()]
        if self.narrow:
            return min((_NARROW.get(name, 24) for name in names), default=24)
        return max((_FLOATS.get(name, 24) for name in names), default=24)

    def parts(self, name: str) -> Callable[[slice], Array] | None:
        """Return a function that gives slices of an argument of the shape of the result, in f64; None if the op does
        not compute in f32.
        """
        given, result = self.array(name), self.results[0]
        if self.narrow or self.digits != 24 or given.dtype.kind not in "fV" or given.shape != tuple(result.shape):
            return None
        return lambda cut: widened(np.atleast_1d(given)[cut]).astype(np.float64)

    def band(self, name: str) -> Band:
        """Return the numbers of an argument, exactly. Raises NotJudged without a wider type."""
        digits = self.digits
        if not can_hold(digits):
            raise NotJudged("f64 needs floats of more than 64 bits, which this machine does not have")
        given = self.array(name)
        if given.dtype.kind == "c":
            raise NotJudged("complex numbers")
        if digits <= 24 and given.ndim == 0 and not is_tensor(self.arguments[name]):
            given = given.astype(np.float32)  # a number is rounded to the type of the computation
        # Instructions for products of bf16, such as VDPBF16PS of AVX-512, flush.
        return Band.of(widened(given), digits, flushed=given.dtype.name == "bfloat16")

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the first result."""
        return numpy_dtype(self.results[0])

    @property
    def computed(self) -> np.dtype[Any]:
        """The dtype in which the op computes its first result: f32 for floats of 16 bits."""
        return np.dtype(np.float32) if self.dtype.name in ("float16", "bfloat16") else self.dtype


def dtype_of(tensor: Any) -> str:
    """Return the name of the dtype of a tensor, such as ``bfloat16``."""
    return str(tensor.dtype).rpartition(".")[2]


def numpy_dtype(tensor: Any) -> np.dtype[Any]:
    """Return the dtype that the elements of a tensor have as an array."""
    return array_of(tensor[:0] if tensor.ndim else tensor.reshape(1)[:0]).dtype


# --- verdicts ---------------------------------------------------------------------------------------------------------


def judge(expected: Sequence[Expected], results: Sequence[Any]) -> Verdict:
    """Return the worst verdict on the results of a call."""
    worst = Verdict("equal", 0.0)
    for wanted, result in zip(expected, results, strict=False):
        if wanted is None or not is_tensor(result):
            continue
        array = array_of(result)
        found: Verdict | None = None
        while found is None:
            if isinstance(wanted, Exact | Within):
                found = _exact(wanted, array) if isinstance(wanted, Exact) else _within(wanted, array)
            else:
                found = _near(wanted, array) if isinstance(wanted, Near) else _inside(wanted, array)
                if found is None:
                    wanted = wanted.otherwise()
        if (SEVERITY.index(found.kind), found.ulp) > (SEVERITY.index(worst.kind), worst.ulp):
            worst = found
    return worst


def _bits(array: Array) -> Array:
    return (
        np.ascontiguousarray(array).reshape(-1).view(f"u{array.dtype.itemsize}") if array.dtype.kind != "c" else array
    )


def _exact(wanted: Exact, got: Array) -> Verdict:
    first: Verdict | None = None
    open_ = np.ones(got.size, np.bool_)
    for choice in wanted.choices:
        choice = np.broadcast_to(choice, got.shape)
        if choice.dtype != got.dtype:
            raise NotJudged(f"results of {got.dtype}, where {choice.dtype} is expected")
        if got.dtype.kind == "c":
            open_ &= (choice != got).reshape(-1) & ~(np.isnan(choice) & np.isnan(got)).reshape(-1)
            continue
        ours, theirs = _bits(choice), _bits(got)
        differs = ours != theirs
        if not differs.any():
            return (first and Verdict("order", first.ulp)) or Verdict("equal", 0.0)
        if got.dtype.kind in "fV":
            flat_ours, flat_theirs = choice.reshape(-1)[differs], got.reshape(-1)[differs]
            alike = np.isnan(flat_ours) & np.isnan(flat_theirs)
            if wanted.zeros_alike:
                alike |= (flat_ours == 0) & (flat_theirs == 0)
            differs[differs] = ~alike
        if first is None:
            first = _distance(choice, got, differs)
        open_ &= differs
        if not open_.any():
            return Verdict("order", first.ulp) if first.wrong else Verdict("equal", 0.0)
    if first is None:
        first = Verdict("equal" if not open_.any() else "unexplained", float(open_.any()), int(open_.sum()))
    wrong = int(open_.sum())
    return Verdict("unexplained", first.ulp, wrong, first.at) if wrong else Verdict("equal", 0.0)


def _near(wanted: Near, got: Array) -> Verdict | None:
    """Compare codes as integers: those of neighbours of one sign are one apart. None if an element is farther."""
    if got.dtype != wanted.exact.dtype or not got.size:
        return None
    kind = f"i{got.dtype.itemsize}"
    one, other = np.ascontiguousarray(got).view(kind), np.ascontiguousarray(wanted.exact).view(kind)
    steps = int(np.abs(one - other).max())
    if not 0 <= steps <= wanted.steps:
        return None
    return Verdict("approximation" if steps else "equal", float(steps))


def _distance(ours: Array, theirs: Array, differs: Array) -> Verdict:
    """Return how far two arrays are apart where they differ."""
    places = np.flatnonzero(differs)
    if not places.size:
        return Verdict("equal", 0.0)
    one, other = ours.reshape(-1)[places], theirs.reshape(-1)[places]
    fmt = format_of(theirs.dtype)
    if fmt is None:
        steps = np.abs(one.astype(np.float64) - other.astype(np.float64))
    else:
        steps = neighbours.steps_between(fmt, _bits(one), _bits(other))
    worst = int(np.argmax(np.nan_to_num(steps, nan=np.inf)))
    index = tuple(map(int, np.unravel_index(places[worst], theirs.shape)))
    largest = float(np.nan_to_num(steps[worst], nan=np.inf))
    return Verdict("unexplained", largest, len(places), (index, float(other[worst]), float(one[worst])))


def format_of(dtype: np.dtype[Any]) -> FloatFormat | None:
    """Return the format of a dtype of floats; None of another."""
    if dtype.kind not in "fV":
        return None
    return Value.from_numpy(np.zeros((), dtype)).element_type.format  # type: ignore[attr-defined, no-any-return]


_DIGITS: Mapping[str, tuple[int, int, float]] = {
    # name: digits, exponent of the smallest normal number, largest number
    "float64": (53, -1022, float(np.finfo(np.float64).max)),
    "float32": (24, -126, float(np.finfo(np.float32).max)),
    "float16": (11, -14, 65504.0),
    "bfloat16": (8, -126, float.fromhex("0x1.fep127")),
}


def _within(wanted: Within, got: Array) -> Verdict:
    band = wanted.band
    name = got.dtype.name
    if name not in _DIGITS:
        raise NotJudged(f"results of {name}")
    digits, least, largest = _DIGITS[name]
    mid, rad = np.broadcast_to(band.mid, got.shape), np.broadcast_to(band.rad, got.shape)
    numbers = widened(got).astype(mid.dtype)
    with np.errstate(all="ignore"):
        apart = np.asarray(numbers - mid)
        np.abs(apart, out=apart)
        size = np.asarray(np.abs(mid))
        allowed = rad
        if digits < band.digits:  # the result is rounded once more
            allowed = np.asarray(size + rad)
            allowed *= 2.0**-digits
            allowed += rad
            allowed += 2.0 ** (least - digits)
        fine = apart <= allowed
    if not fine.all():
        fine |= _special(numbers, mid, rad, largest)
    wrong = int(fine.size - np.count_nonzero(fine))
    if not got.size:
        return Verdict("equal", 0.0)
    with np.errstate(all="ignore"):
        sizes = apart / np.maximum(size, 2.0**least, out=size)
    if wrong or not np.isfinite(sizes.max()):
        sizes = np.where(np.isfinite(apart), sizes, np.inf if wrong else -1.0)
        sizes = np.where(fine, -2.0, sizes) if wrong else sizes
    worst = np.unravel_index(int(np.argmax(sizes)), got.shape)
    exact, found = float(mid[worst]), float(numbers[worst])
    ulp = _ulps(found, exact, digits, least)
    if sizes[worst] < 0:  # there are no numbers
        ulp = 0.0
    if wrong:
        return Verdict("unexplained", ulp, wrong, (tuple(map(int, worst)), found, exact))
    return Verdict("equal" if ulp <= 0.5 else wanted.kind, ulp)


def _ulps(found: float, exact: float, digits: int, least: int) -> float:
    exponent = max(int(np.frexp(exact)[1]) - 1 if np.isfinite(exact) else least, least)
    return abs(found - exact) / 2.0 ** (exponent - digits + 1) if np.isfinite(found - exact) else np.inf


_BLOCK = 1 << 14
"""The elements of a part: its arrays stay in the cache, and the memory allocator gives them back at once."""


def blocks(array: Array) -> Iterator[slice]:
    """Yield slices of the first axis with about so many elements each."""
    step = max(_BLOCK * len(array) // max(array.size, 1), 1)
    return (slice(start, start + step) for start in range(0, len(array), step))


@np.errstate(all="ignore")
def _inside(wanted: Inside, got: Array) -> Verdict | None:
    """Compare block by block. None if an element is not in the part, or not finite."""
    name = got.dtype.name
    if name not in _NARROW and name != "float32":
        return None
    if not got.size:
        return Verdict("equal", 0.0)
    digits, least, _ = _DIGITS[name]
    rows = np.atleast_1d(got)
    largest, ulp = -1.0, 0.0
    for cut in blocks(rows):
        mid, allowed = wanted.part(cut)
        numbers = widened(rows[cut]).astype(np.float64)
        size = np.abs(mid)
        if digits < 24:  # the result is rounded once more
            allowed += size * 2.0**-digits
            allowed += 2.0 ** (least - digits)
        apart = numbers - mid
        np.abs(apart, out=apart)
        if not (apart <= allowed).all():
            return None
        np.maximum(size, 2.0**least, out=size)
        apart /= size
        worst = int(apart.argmax())
        if apart.flat[worst] > largest:
            largest = float(apart.flat[worst])
            ulp = _ulps(float(numbers.flat[worst]), float(mid.flat[worst]), digits, least)
    return Verdict("equal" if ulp <= 0.5 else wanted.kind, ulp)


def _special(numbers: Array, mid: Array, rad: Array, largest: float) -> Array:
    """Tell where NaNs and infinities are right: where the exact result is one, or may overflow."""
    with np.errstate(all="ignore"):
        nan = np.isnan(numbers) & np.isnan(mid)
        same = np.isinf(numbers) & (numbers == mid)
        over = np.isinf(numbers) & (np.abs(mid) + rad >= largest) & (np.sign(numbers) == np.sign(mid))
        unknown = np.isnan(rad) & ~np.isnan(mid) & np.isfinite(numbers)
    fine: Array = nan | same | over | (unknown & (numbers == mid))
    return fine


# --- halfulp's ops on arrays ------------------------------------------------------------------------------------------


_IEEE: Mapping[str, Callable[..., Any]] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "math.sqrt": np.sqrt,
    "math.absf": np.abs,
    "arith.negf": np.negative,
}
"""Ops that NumPy rounds correctly in f32 and f64, as IEEE 754 requires: the paths of halfulp use it, too."""


def compute(op: str, *arrays: Array, **properties: Any) -> Array:
    """Return what halfulp's op gives on arrays of one dtype, which are broadcast. Poison does not occur."""
    if op in _IEEE and all(each.dtype.kind == "f" and each.dtype.itemsize >= 4 for each in arrays):
        with np.errstate(all="ignore"):
            return np.asarray(_IEEE[op](*arrays))
    values = [Value.from_numpy(np.array(each, order="C")) for each in np.broadcast_arrays(*arrays)]
    found: Value = evaluate(op, *values, **properties)
    return found.numpy()


_BF16 = np.dtype(ml_dtypes.bfloat16)


def widened(array: Array) -> Array:
    """Return floats that NumPy lacks as f32, which has all their values."""
    if array.dtype == _BF16:
        return (array.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def converted(array: Array, dtype: Any) -> Array:
    """Return numbers converted to a dtype by the rules of the profile `torch`."""
    if array.dtype == dtype:
        return array
    if dtype == _BF16 and array.dtype == np.float32 and array.ndim:
        return _to_bf16(array)
    if dtype == np.float16 and array.dtype == np.float32:
        with np.errstate(all="ignore"):
            return array.astype(np.float16)  # rounds to nearest even, as IEEE 754 requires
    target = Value.from_numpy(np.zeros((), dtype)).element_type
    found: Value = convert(Value.from_numpy(np.array(array, order="C")), target, profile="torch")
    return found.numpy()


def _to_bf16(array: Array) -> Array:
    """Return f32 rounded to nearest even: half a step less one is added to the code, one more if it is odd."""
    codes = array.view(np.uint32)
    odd = (codes >> np.uint32(16)) & np.uint32(1)
    high = ((codes + np.uint32(0x7FFF) + odd) >> np.uint32(16)).astype(np.uint16)
    nan = np.isnan(array)
    if nan.any():
        high[nan] = 0x7FC0
    return high.view(_BF16)
