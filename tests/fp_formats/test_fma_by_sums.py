"""fma of short formats against NumPy: the product is exact in f64, the sum of two f64 numbers leaves an exact rest, and a
sum that is rounded to odd by that rest rounds like the exact one.

This is the third proof, beside test_fma.py and test_mixed.py: it runs with the long tests.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from amounts import amounts

from halfulp.fp_formats import mixed
from halfulp.fp_formats.exact import arithmetic, comparisons, conversions
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.policy import Rounding

pytestmark = pytest.mark.long

F64 = FORMATS["f64"]
MODES = (*tuple(Rounding)[:5], Rounding.TO_ODD)
SIGNS = {"fma": (1, 1), "fmsub": (1, -1), "fnmsub": (-1, 1), "fnmadd": (-1, -1)}
F8 = ("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E3M4")
TRIPLES = (
    ("f8E4M3FN", "f8E4M3FN", "f32"),
    ("f8E5M2", "f8E4M3FN", "f32"),
    ("f8E5M2FNUZ", "f8E4M3FNUZ", "f32"),
    ("f8E4M3FN", "f8E4M3FN", "f16"),
    ("f4E2M1FN", "f4E2M1FN", "f32"),
    ("f6E3M2FN", "f6E2M3FN", "bf16"),
    ("bf16", "bf16", "f32"),
    ("f16", "f16", "f32"),
    ("f16", "f16", "bf16"),
)
Numbers = npt.NDArray[np.float64]


def numbers(fmt: FloatFormat, codes: Codes) -> Numbers:
    return conversions.convert(fmt, F64, codes).codes.view(np.float64)


def odd_sum(product: Numbers, addend: Numbers, mode: Rounding) -> npt.NDArray[np.uint64]:
    """Return the f64 codes of the exact sums, rounded to odd; zeros have the sign of IEEE 754, 6.3."""
    total = product + addend
    part = total - product
    rest = (product - (total - part)) + (addend - part)
    codes = total.view(np.uint64).copy()
    even = (rest != 0) & (codes & np.uint64(1) == 0)
    outward = (rest > 0) == (total > 0)
    codes[even & outward] += np.uint64(1)
    codes[even & ~outward] -= np.uint64(1)
    cancelled = (total == 0) & ~((product == 0) & (np.signbit(product) == np.signbit(addend)))
    codes[cancelled] = np.uint64(1 << 63 if mode is Rounding.DOWNWARD else 0)
    return codes


Columns = tuple[Codes, Codes, Codes]


def check(name: str, formats: tuple[FloatFormat, ...], columns: Columns, mode: Rounding) -> int:
    """Compare exact results with flags, and the fast ones. Return how many rows have numbers alone."""
    dst = formats[2]
    special = np.zeros(columns[0].shape, np.bool_)
    for fmt, codes in zip(formats, columns, strict=True):
        special |= comparisons.is_nan(fmt, codes) | comparisons.is_infinite(fmt, codes)
    a, b, c = (np.where(special, 0.0, numbers(fmt, x)) for fmt, x in zip(formats, columns, strict=True))
    signs = SIGNS[name]
    want = conversions.convert(F64, dst, odd_sum(signs[0] * (a * b), signs[1] * c, mode), mode, want_flags=True)
    results: list[ArrayResult] = [
        comparisons.operate(name, formats, dst, columns, mode, want_flags=True),
        comparisons.operate(name, formats, dst, columns, mode, operations=fast, convert=fast.convert),
    ]
    if name == "fma" and len(set(formats)) == 1:
        results += [arithmetic.fma(dst, *columns, mode, want_flags=True), fast.fma(dst, *columns, mode)]
    for found in results:
        np.testing.assert_array_equal(found.codes[~special], want.codes[~special])
        if found.flags is not None:
            assert want.flags is not None
            np.testing.assert_array_equal(found.flags[~special], want.flags[~special])
    rows = np.unique(np.array([x[special].astype(np.uint64) for x in columns]).T, axis=0)
    if rows.size:
        given = tuple(x.astype(fmt.storage_dtype) for x, fmt in zip(rows.T, formats, strict=True))
        found = comparisons.operate(name, formats, dst, given, mode, want_flags=True)
        assert found.flags is not None
        for k in range(0, len(rows), max(1, len(rows) // 500)):
            one = mixed.operate(name, formats, dst, [int(x[k]) for x in given], mode)
            assert (int(found.codes[k]), int(found.flags[k])) == (one.code, one.flags)
    return int((~special).sum())


def hard(formats: tuple[FloatFormat, ...], count: int, seed: int) -> Columns:
    """Random codes; in half of the rows c is near -a * b, or far below or above it."""
    rng = np.random.default_rng(seed)
    a, b, c = (rng.integers(0, 1 << fmt.bits, count, np.uint64).astype(fmt.storage_dtype) for fmt in formats)
    dst = formats[2]
    with np.errstate(over="ignore", invalid="ignore"):
        product = (
            numbers(formats[0], a) * numbers(formats[1], b) * np.exp2(rng.choice([0, 0, 0, -8, 8, -24, 24], count))
        )
    near = conversions.convert(F64, dst, (-product).view(np.uint64), Rounding.TOWARD_ZERO).codes
    near = near + rng.integers(-2, 3, count).astype(near.dtype)
    return a, b, np.where(rng.random(count) < 0.5, near & dst.storage_dtype.type(dst.code_mask), c)


def every_triple(a_codes: range) -> Iterator[Columns]:
    b, c = (x.reshape(-1) for x in np.meshgrid(*[np.arange(256, dtype=np.uint8)] * 2, indexing="ij"))
    for a in a_codes:
        yield np.full(b.shape, a, np.uint8), b, c


@pytest.mark.parametrize("name", F8)
def test_triples_of_f8(name: str) -> None:
    fmt = FORMATS[name]
    columns = enumerate(every_triple(range(5, 256, 200)))
    assert sum(check("fma", (fmt,) * 3, each, MODES[number % len(MODES)]) for number, each in columns) > 1 << 14


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", F8[:2])
def test_every_triple_of_f8(name: str, mode: Rounding) -> None:
    """All 2**24 triples."""
    fmt = FORMATS[name]
    for columns in every_triple(range(256)):
        check("fma", (fmt,) * 3, columns, mode)


@pytest.mark.parametrize("count", amounts(2_000, 10**7))
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_hard_triples(name: str, count: int) -> None:
    """``count``: triples of all modes together."""
    fmt = FORMATS[name]
    part = max(count // 50, len(MODES))
    for number, start in enumerate(range(0, count, part)):
        columns = hard((fmt,) * 3, part, start + 1)
        assert check("fma", (fmt,) * 3, columns, MODES[number % len(MODES)])


@pytest.mark.parametrize("count", amounts(600, 10**6))
@pytest.mark.parametrize("name", SIGNS)
@pytest.mark.parametrize("triple", TRIPLES, ids="-".join)
def test_mixed_triples(triple: tuple[str, str, str], name: str, count: int) -> None:
    formats = (FORMATS[triple[0]], FORMATS[triple[1]], FORMATS[triple[2]])
    part = -(-count // len(MODES))
    for number, mode in enumerate(MODES):
        assert check(name, formats, hard(formats, part, number), mode)
