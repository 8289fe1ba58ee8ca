"""One call of an op of PyTorch: its arguments as arrays, what it may return, and the verdict on what it returned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal

import ml_dtypes
import numpy as np

from halfulp.aten.bands import Array, Band, can_hold
from halfulp.converting import convert
from halfulp.evaluating import eval as evaluate
from halfulp.fp_formats import neighbours
from halfulp.fp_formats.formats import FloatFormat, slices
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
    ``chosen``: gives the band of the elements at some places of the flat result: if few are not in the part.
    """

    part: Callable[[slice], tuple[Array, Array]]
    kind: Literal["order", "approximation"]
    otherwise: Callable[[], Exact | Near | Within]
    chosen: Callable[[Array], Band] | None = None


Wanted = Exact | Within | Near | Inside | Callable[[], Within]
Expected = Wanted | None
"""None: a result that holds nothing, such as the memory of torch.empty. A function computes what is expected."""


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
    """A call of an op, or of its computation of one entry of lists.

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

    @cached_property
    def digits(self) -> int:
        """The digits of the floats in which the op computes: 53 if a tensor is of f64, else 24."""
        tensors = [each for each in (*self.arguments.values(), *self.results) if is_tensor(each)]
        names = [dtype_of(each) for each in tensors if each.is_floating_point()]
        if self.narrow:
            return min((_NARROW.get(name, 24) for name in names), default=24)
        return max((_FLOATS.get(name, 24) for name in names), default=24)

    def parts(self, name: str) -> Callable[[slice], Array] | None:
        """Return a function that gives slices of an argument of the shape of the result, in f64; None if the op does
        not compute in f32. An argument without dimensions is given whole.
        """
        given, result = self.array(name), self.results[0]
        if self.narrow or self.digits != 24 or given.dtype.kind == "c":
            return None
        if not given.ndim and result.ndim:
            number = self.band(name).mid
            return lambda cut: number
        if given.dtype.kind not in "fV" or given.shape != tuple(result.shape):
            return None
        return lambda cut: widened(np.atleast_1d(given)[cut]).astype(np.float64)

    def band(self, name: str, places: Array | None = None) -> Band:
        """Return the numbers of an argument, exactly. ``places``: only those at places of the flat argument, if it has
        dimensions. Raises NotJudged without a wider type.
        """
        digits = self.digits
        if not can_hold(digits):
            raise NotJudged("f64 needs floats of more than 64 bits, which this machine does not have")
        given = self.array(name)
        if given.dtype.kind == "c":
            raise NotJudged("complex numbers")
        if places is not None and given.ndim:
            given = given.reshape(-1)[places]
        if digits <= 24 and given.ndim == 0 and not is_tensor(self.arguments[name]):
            given = given.astype(np.float32)  # a number is rounded to the type of the computation
        # Instructions for products of bf16, such as VDPBF16PS of AVX-512, flush.
        return Band.of(widened(given), digits, flushed=given.dtype == _BF16)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the first result."""
        return numpy_dtype(next(filter(is_tensor, self.results)))

    @property
    def computed(self) -> np.dtype[Any]:
        """The dtype in which the op computes its first result: f32 for floats of 16 bits."""
        return np.dtype(np.float32) if _name_of(self.dtype) in _NARROW else self.dtype


def dtype_of(tensor: Any) -> str:
    """Return the name of the dtype of a tensor, such as ``bfloat16``."""
    return str(tensor.dtype).rpartition(".")[2]


def numpy_dtype(tensor: Any) -> np.dtype[Any]:
    """Return the dtype that the elements of a tensor have as an array."""
    if tensor.dtype not in _DTYPES:
        _DTYPES[tensor.dtype] = array_of(tensor[:0] if tensor.ndim else tensor.reshape(1)[:0]).dtype
    return _DTYPES[tensor.dtype]


_name_of: Callable[[np.dtype[Any]], str] = cache(lambda dtype: dtype.name)
"""The name of a dtype, which NumPy makes anew each time."""
_DTYPES: dict[Any, np.dtype[Any]] = {}
"""The dtypes of arrays by those of torch."""


# --- verdicts ---------------------------------------------------------------------------------------------------------


def judge(
    expected: Sequence[Expected], results: Sequence[Any], narrow: Callable[[], Sequence[Expected]] | None = None
) -> Verdict:
    """Return the worst verdict on the results of a call. ``narrow``: gives what they may be if sums and steps are
    rounded to 16 bits, for an op of the table `NARROW`. Raises NotJudged if a result is not judged, and no other one is
    unexplained.
    """
    worst = Verdict("equal", 0.0)
    open_: NotJudged | None = None
    for place, (wanted, result) in enumerate(zip(expected, results, strict=False)):
        if wanted is None or not is_tensor(result):
            continue
        try:
            worst = max(worst, _of_result(wanted, place, array_of(result), narrow), key=severity)
        except NotJudged as reason:
            open_ = open_ or reason
    if open_ is not None and worst.kind != "unexplained":
        raise open_
    return worst


def _of_result(wanted: Wanted, place: int, got: Array, narrow: Callable[[], Sequence[Expected]] | None) -> Verdict:
    found = _verdict(wanted, got, narrow is not None)
    if found.kind == "unexplained" and narrow is not None:
        again = narrow()[place]
        second = found if again is None else _verdict(again, got, False)
        found = second if second.kind == "unexplained" else replace(found, kind="narrow", wrong=0, at=None)
    return found


def severity(verdict: Verdict) -> tuple[int, float]:
    """Return a key that orders verdicts from the best to the worst."""
    return SEVERITY.index(verdict.kind), verdict.ulp


def _verdict(wanted: Wanted, got: Array, soon: bool) -> Verdict:
    """Return the verdict on one result. ``soon``: if it is unexplained, only the kind and the distance are needed."""
    found: Verdict | None = None
    while found is None:
        if callable(wanted):
            wanted = wanted()
        if isinstance(wanted, Exact | Within):
            return _exact(wanted, got) if isinstance(wanted, Exact) else _within(wanted, got)
        found = _near(wanted, got) if isinstance(wanted, Near) else _inside(wanted, got, soon)
        if found is None:
            wanted = wanted.otherwise()
    return found


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
    name = _name_of(got.dtype)
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
        fine = (apart <= allowed) & (apart < np.inf)
    if not fine.all():
        fine |= _special(numbers, mid, rad, largest)
    wrong = int(fine.size - np.count_nonzero(fine))
    if not got.size:
        return Verdict("equal", 0.0)
    if not wrong and np.isinf(rad).any():
        count = np.count_nonzero(np.isinf(rad) & np.isfinite(mid) & (apart > size * 2.0 ** (1 - digits)))
        if count:
            raise NotJudged(f"the errors of {count:,} elements have no bound")
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
    return slices(len(array), step)


_CHOSEN = 1 / 16
"""The largest share of elements that is judged by `Inside.chosen`: to choose an element costs more than to compute it
with all others."""
_SOON = 64
"""The elements from which a result is known to be unexplained."""


@np.errstate(all="ignore")
def _inside(wanted: Inside, got: Array, soon: bool) -> Verdict | None:
    """Compare block by block. None if `Inside.otherwise` must decide."""
    name = _name_of(got.dtype)
    if name not in _NARROW and name != "float32":
        return None
    if not got.size:
        return Verdict("equal", 0.0)
    digits, least, _ = _DIGITS[name]
    rows = np.atleast_1d(got)
    largest, ulp, count = -1.0, 0.0, 0
    most = int(got.size * _CHOSEN) + 1
    outside: list[Array] = []
    for cut in blocks(rows):
        mid, rad = wanted.part(cut)
        numbers = widened(rows[cut]).astype(np.float64)
        size = np.abs(mid)
        allowed = rad
        if digits < 24:  # the result is rounded once more
            allowed = size * 2.0**-digits
            allowed += 2.0 ** (least - digits)
            if rad.ndim:
                allowed += rad
        apart = numbers - mid
        np.abs(apart, out=apart)
        fine = apart <= allowed
        np.maximum(size, 2.0**least, out=size)
        apart /= size
        if not fine.all():
            places = np.flatnonzero(~fine)
            count += places.size
            if not wanted.chosen or (count > most and not soon):
                return None
            outside.append(places + cut.start * rows[0].size)
            apart[~np.isfinite(apart)] = -1
        worst = int(apart.argmax())
        if apart.flat[worst] > largest:
            largest = float(apart.flat[worst])
            ulp = _ulps(float(numbers.flat[worst]), float(mid.flat[worst]), digits, least)
    if outside and wanted.chosen:
        places = np.concatenate(outside)[: None if count <= most else _SOON]
        found = _within(Within(wanted.chosen(places), wanted.kind), got.reshape(-1)[places])
        if found.kind == "unexplained":
            return Verdict("unexplained", max(ulp, found.ulp)) if soon else None
        if count > most:
            return None
        ulp = max(ulp, found.ulp)
    return Verdict("equal" if ulp <= 0.5 else wanted.kind, ulp)


def _special(numbers: Array, mid: Array, rad: Array, largest: float) -> Array:
    """Tell where NaNs and infinities are right: where the exact result is one, or may overflow."""
    with np.errstate(all="ignore"):
        nan = np.isnan(numbers) & np.isnan(mid)
        same = np.isinf(numbers) & (numbers == mid)
        same_sign = (np.sign(numbers) == np.sign(mid)) | (rad >= np.abs(mid))
        over = np.isinf(numbers) & (np.abs(mid) + rad >= largest) & same_sign
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
    """Return floats that NumPy lacks, and those of f16, as f32, which has all their values."""
    if array.dtype == _BF16:
        return (array.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
    if array.dtype == np.float16:
        return _of_halves(array)
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def _of_halves(array: Array) -> Array:
    """Return numbers of f16 as f32, faster than NumPy: the fields are moved to their places in f32, and a product makes
    up for the other bias, for subnormal numbers, too.
    """
    codes = array.view(np.int16)
    if not array.ndim or ((codes & 0x7C00) == 0x7C00).any() or not (_LEAST * _BIAS).all():
        return array.astype(np.float32)  # there are infinities or NaNs, or torch lets the processor flush
    moved = codes.astype(np.int32)  # 17 bits of sign
    moved <<= 13
    moved &= -0x70000001  # only the first of them
    numbers: Array = moved.view(np.float32)
    numbers *= _BIAS
    return numbers


_LEAST, _BIAS = np.full(1, 2.0**-149, np.float32), np.float32(2.0**112)


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
