"""The profile `cuda-sat` beside NVIDIA's own headers: every conversion of cuda_fp16, cuda_bf16, cuda_fp8, cuda_fp6 and
cuda_fp4 that runs on a processor, in every rounding mode, with and without saturation, and their arithmetic.

``tests/build_cuda_headers.sh FOLDER`` fetches and compiles them; ``HALFULP_CUDA_HEADERS`` names the folder.
"""

import ctypes
import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from amounts import amounts

from halfulp.fp_formats.formats import ALL_FORMATS, FloatFormat, storage_dtype
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics.profile import PROFILES, as_profile

pytestmark = pytest.mark.cuda_headers

Codes = npt.NDArray[Any]
MODES = {
    "rn": Rounding.TO_NEAREST_EVEN,
    "rz": Rounding.TOWARD_ZERO,
    "ru": Rounding.UPWARD,
    "rd": Rounding.DOWNWARD,
}
EVERY, NEAREST = tuple(MODES), ("rn",)
FLOATS = ("f16", "bf16", "f32", "f64")
NARROW = ("f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f8E5M3FNU", "f6E3M2FN", "f6E2M3FN", "f4E2M1FN")
INTEGERS = tuple(sign + width for width in ("8", "16", "32", "64") for sign in "iu")
AT_ONCE = 1 << 22  # codes in memory


class Pair(NamedTuple):
    """Two types, and how the headers convert between them: the modes, and whether with saturation, without, or both."""

    source: str
    target: str
    modes: tuple[str, ...] = NEAREST
    saturates: tuple[bool, ...] = (False,)

    def __str__(self) -> str:
        return f"{self.source}_to_{self.target}"


def float_pairs() -> Iterator[Pair]:
    """Return the conversions between floats."""
    for source, target in product(FLOATS, NARROW):
        if target in ("f8E4M3FN", "f8E5M2"):
            yield Pair(source, target, NEAREST, (False, True))
        elif not ALL_FORMATS[target].signed:
            if (source, target) != ("f16", "f8E8M0FNU"):
                yield Pair(source, target, EVERY, (False, True))
        else:
            yield Pair(source, target, EVERY, (True,))
    for source, target in product(NARROW, ("f16", "bf16", "f32")):
        if (source, target) != ("f8E8M0FNU", "f16"):
            yield Pair(source, target)
    for target in ("f16", "bf16"):
        yield Pair("f32", target, EVERY)
        yield Pair("f64", target)
        yield Pair(target, "f32")


def integer_pairs() -> Iterator[Pair]:
    """Return the conversions from and to integers."""
    for source, target in product((*NARROW, "f16", "bf16"), INTEGERS):
        yield Pair(source, target, ("rz",))
    for source, target in product(INTEGERS[2:], NARROW):
        yield Pair(source, target, ("ru",) if target == "f8E8M0FNU" else NEAREST, (True,))
    for source in INTEGERS[2:]:
        yield Pair(source, "f16", EVERY)
        yield Pair(source, "bf16")


def functions_of(pair: Pair) -> Iterator[tuple[str, Rounding, str]]:
    """Return the functions of two types: the name, the rounding mode and the profile."""
    for mode, saturates in product(pair.modes, pair.saturates):
        profile = "cuda-sat" if saturates else "cuda-sat,conversion_overflow=format"
        yield f"{pair}_{mode}{'_sat' if saturates else ''}", MODES[mode], profile


@pytest.fixture(scope="session")
def headers() -> ctypes.CDLL:
    return ctypes.CDLL(str(Path(os.environ["HALFULP_CUDA_HEADERS"]) / "functions.so"))


def call(headers: ctypes.CDLL, name: str, dtype: npt.DTypeLike, *operands: Codes) -> Codes:
    out = np.empty(operands[0].size, dtype)
    pointers = (ctypes.c_void_p(each.ctypes.data) for each in (*operands, out))
    getattr(headers, name)(*pointers, ctypes.c_long(out.size))
    return out


def edges(source: FloatFormat, target: FloatFormat) -> Codes:
    """Return the codes of all finite values of a narrower format, of all halves between two, of what is half a step
    beyond the largest, and the neighbours of all these, with both signs.
    """
    every = np.arange(target.max_code + 1).astype(target.storage_dtype)
    values = fast.convert(target, ALL_FORMATS["f64"], every).codes.view(np.float64)
    values = np.append(values, 2 * values[-1] - values[-2])
    with np.errstate(over="ignore"):  # of f32 in bf16, what is beyond the largest is infinity
        exact = np.concatenate([values, (values[1:] + values[:-1]) / 2]).astype(f"f{source.bits // 8}")
    codes = exact.view(source.storage_dtype)
    one = codes.dtype.type(1)
    positive = np.concatenate([codes, codes + one, codes[codes > 0] - one])
    return np.concatenate([positive, positive | codes.dtype.type(source.sign_mask or 0)])


def samples(source: FloatFormat, target: FloatFormat, count: int) -> Iterator[Codes]:
    """Yield all codes of a format of up to 16 bits; else the `edges`, each sign and exponent with hard fractions, and
    ``count`` codes, half of them of any bits, half in the range of the target.
    """
    kind = source.storage_dtype.type
    if source.bits <= 16:
        yield np.arange(1 << source.bits).astype(kind)
        return
    yield edges(source, target)
    upper = np.arange(1 << 16, dtype=np.uint64).astype(kind) << kind(source.bits - 16)  # all subnormals and NaNs so far
    yield np.concatenate([upper, upper + kind(1), upper - kind(1)])
    rng = np.random.default_rng(source.bits + target.bits)
    for start in range(0, count, AT_ONCE):
        size = min(AT_ONCE, count - start)
        drawn = rng.integers(0, source.code_mask, size, source.storage_dtype, endpoint=True)
        exponents = rng.integers(target.emin - target.mantissa_bits - 2, target.emax + 2, size // 2)
        fields = np.clip(exponents + source.bias, 0, 2 * source.bias).astype(kind) << kind(source.mantissa_bits)
        kept = kind(source.fraction_mask | (source.sign_mask or 0))
        drawn[: size // 2] = drawn[: size // 2] & kept | fields
        yield drawn


def shifted_nan(source: FloatFormat, codes: Codes) -> Codes:
    """Return the NaN in f32 of each code: CUDA moves the code of the bf16 up. PTX does not specify it."""
    bf16 = ALL_FORMATS["bf16"]
    via = codes if source == bf16 else fast.convert(source, bf16, codes, policy=PROFILES["cuda-sat"].conversions).codes
    return via.astype(np.uint32) << np.uint32(16)


SHIFTS = ("bf16", "f8E8M0FNU", "f8E5M3FNU")
"""The formats that CUDA converts to f32 through bf16."""


@pytest.mark.parametrize("pair", list(float_pairs()), ids=str)
@pytest.mark.parametrize("count", amounts(1 << 17, 10**8))
def test_floats_are_converted(headers: ctypes.CDLL, pair: Pair, count: int) -> None:
    """NaNs included. Of f64, a tenth of ``count``."""
    source, target = ALL_FORMATS[pair.source], ALL_FORMATS[pair.target]
    for codes in samples(source, target, count // 10 if source.bits == 64 else count):
        for name, rounding, profile in functions_of(pair):
            want = fast.convert(source, target, codes, rounding, as_profile(profile).conversions)
            assert want.poison is None
            wanted = want.codes
            if pair.source in SHIFTS and pair.target == "f32":
                nan = fast.is_nan(source, codes)
                wanted = np.where(nan, shifted_nan(source, codes), wanted)
                assert (wanted != want.codes).any() == nan.any()
            compare(name, call(headers, name, target.storage_dtype, codes), wanted, codes)


@pytest.mark.parametrize("pair", list(integer_pairs()), ids=str)
@pytest.mark.parametrize("count", amounts(1 << 15, 10**7))
def test_integers_are_converted(headers: ctypes.CDLL, pair: Pair, count: int) -> None:
    """From integers of 16 bits all; from wider ones ``count``, with as many leading bits equal as not."""
    for name, rounding, profile in functions_of(pair):
        policy = as_profile(profile).conversions
        if pair.target in INTEGERS:
            source, signed, width = ALL_FORMATS[pair.source], pair.target[0] == "i", int(pair.target[1:])
            codes = np.arange(1 << source.bits).astype(source.storage_dtype)
            want = fast.to_integer(source, codes, width, signed, rounding, policy)
            dtype = storage_dtype(width)
        else:
            target, signed, width = ALL_FORMATS[pair.target], pair.source[0] == "i", int(pair.source[1:])
            codes = integers(width, count)
            want = fast.from_integer(target, codes, width, signed, rounding, policy)
            dtype = target.storage_dtype
        assert want.poison is None
        compare(name, call(headers, name, dtype, codes), want.codes, codes)


def integers(width: int, count: int) -> Codes:
    """Return integers of all lengths, powers of two and halves of their steps, with their neighbours."""
    if width == 16:
        return np.arange(1 << 16).astype(np.uint16)
    rng = np.random.default_rng(width)
    powers = np.uint64(1) << np.arange(width, dtype=np.uint64)
    sums = (powers[:, np.newaxis] | powers).ravel()
    hard = np.concatenate([sums, sums + np.uint64(1), sums - np.uint64(1), 3 * powers + sums[:, np.newaxis]], axis=None)
    drawn = rng.integers(0, (1 << 64) - 1, count, np.uint64, endpoint=True)
    drawn >>= rng.integers(64 - width, 64, count).astype(np.uint64)
    return np.concatenate([hard, ~hard, drawn, ~drawn]).astype(storage_dtype(width))


HARD = (0, 1, 0x03FF, 0x0400, 0x3C00, 0x7BFF, 0x7C00, 0x7C01, 0x7E00, 0x7FFF, 0x007F, 0x0080, 0x3F80, 0x7F7F, 0x7F80)
"""Codes of f16 and of bf16: zero, subnormals, ones, the largest values, infinities and NaNs."""


@pytest.mark.parametrize("type_", ["f16", "bf16"])
@pytest.mark.parametrize(
    "operation",
    ["add", "subtract", "multiply", "divide", "maximum", "minimum", "maximum_number", "minimum_number"],
)
@pytest.mark.parametrize("count", amounts(1 << 16, 10**7))
def test_arithmetic(headers: ctypes.CDLL, type_: str, operation: str, count: int) -> None:
    fmt, policy = ALL_FORMATS[type_], PROFILES["cuda-sat"].arithmetic
    rng = np.random.default_rng(count)
    hard = np.array([code | sign for code in HARD for sign in (0, 1 << 15)], np.uint16)
    drawn = rng.integers(0, 1 << 16, (2, count)).astype(np.uint16)
    near = drawn[0] ^ rng.integers(0, 1 << 4, count).astype(np.uint16) ^ (drawn[1] & np.uint16(1 << 15))
    a = np.concatenate([np.repeat(hard, hard.size), drawn[0], drawn[0]])
    b = np.concatenate([np.tile(hard, hard.size), drawn[1], near])
    rounding = (Rounding.TO_NEAREST_EVEN,) if operation in ("add", "subtract", "multiply", "divide") else ()
    want = getattr(fast, operation)(fmt, a, b, *rounding, policy)
    compare(operation, call(headers, f"{type_}_{operation}", np.uint16, a, b), want.codes, a, b)


def compare(name: str, found: Codes, wanted: Codes, *operands: Codes) -> None:
    wrong = np.flatnonzero(found != wanted)
    first = [[f"{array[i]:#x}" for array in (*operands, found, wanted)] for i in wrong[:5]]
    assert not wrong.size, f"{name}: {wrong.size} of {found.size} differ; operands, theirs, ours: {first}"
