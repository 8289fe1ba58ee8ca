"""The profile ml_dtypes against the package as installed: conversions, arithmetic and negation of every code.

What the package does beyond the profile's fields stands in a table with counts.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.interp.values.coerce import as_type, natural_dtypes

E8M0 = "f8E8M0FNU"
SMALL = [fmt for fmt in FORMATS.values() if fmt.bits <= 8]


def natural(fmt: FloatFormat, codes: Any) -> Any:
    return np.asarray(codes, fmt.storage_dtype).view(natural_dtypes()[as_type(fmt.name)])


def raw(array: Any) -> Any:
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))


def differences(found: hu.Value, theirs: Any) -> Any:
    assert found.poison is None
    return np.flatnonzero(found.bits != theirs)


NATURAL = [fmt for fmt in FORMATS.values() if fmt.name not in ("tf32", "f80", "f128")]
# Beyond the profile's fields: source, target, how many codes differ, which. Widening keeps the payload of a NaN, and
# its being signalling, in ml_dtypes as in NumPy.
CONVERSIONS = {
    ("f16", "f32"): (2044, "NaN"),
    ("f16", "f64"): (2044, "NaN"),
    ("bf16", "f32"): (252, "NaN"),
    ("bf16", "f64"): (252, "NaN"),
}


@pytest.mark.long
@pytest.mark.parametrize("source", [fmt for fmt in NATURAL if fmt.bits <= 16], ids=str)
def test_ml_dtypes_converts_every_code(source: FloatFormat) -> None:
    codes = np.arange(1 << source.bits)
    given = natural(source, codes)
    compared = 0
    for target in NATURAL:
        if target == source or (E8M0 in (source.name, target.name) and max(source.bits, target.bits) <= 8):
            continue  # the package has no casts between f8E8M0FNU and its other small types
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = raw(given.astype(natural_dtypes()[as_type(target.name)]))
        different = differences(hu.convert(given, target.name, profile="ml_dtypes"), theirs)
        count, which = CONVERSIONS.get((source.name, target.name), (0, ""))
        assert len(different) == count, (source.name, target.name)
        if which == "NaN":
            assert all(source.is_nan(int(code)) for code in codes[different])
        elif which:
            assert set(codes[different]) == set(range(0x41, 0x60))
        compared += 1
    assert compared >= 4


def test_ml_dtypes_rounds_wide_sources_twice() -> None:
    rng = np.random.default_rng(3)
    mantissas = rng.integers(0, 1 << 7, 4000).astype(np.uint64) << np.uint64(45)
    near_ties = mantissas + rng.choice(np.array([0, 1, 2**23, 2**28, 2**29], np.uint64), 4000)
    exponents = (rng.integers(1023 - 20, 1023 + 20, 4000).astype(np.uint64)) << np.uint64(52)
    doubles = (near_ties | exponents | rng.integers(0, 2, 4000).astype(np.uint64) << np.uint64(63)).view(np.float64)
    integers = rng.integers(-(1 << 62), 1 << 62, 4000) >> rng.integers(0, 62, 4000)
    twice = 0
    for target in NATURAL:
        if target.bits > 16 or target.name in ("f16", E8M0):  # f16 is NumPy's own, which rounds once
            continue
        for given in (doubles, integers):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = raw(given.astype(natural_dtypes()[as_type(target.name)]))
            found = hu.convert(given, target.name, profile="ml_dtypes")
            assert not len(differences(found, theirs)), target.name
            twice += int(np.count_nonzero(found.bits != hu.convert(given, target.name).bits))
    assert twice > 50  # so that the two ways are told apart


ARITHMETIC = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "remf": np.fmod,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
}


@pytest.mark.parametrize("fmt", SMALL, ids=str)
def test_ml_dtypes_computes_every_pair(fmt: FloatFormat) -> None:
    """All pairs. Of two NaN operands the package may keep either's sign, as the compiler pleased; its maximum and minimum
    return operands as they are, NaN payloads and the wrong zero of two included; its products and quotients in
    f8E8M0FNU pass through f32, where they may become zero, which is NaN here.
    """
    a, b = (np.ravel(x) for x in np.meshgrid(np.arange(1 << fmt.bits), np.arange(1 << fmt.bits)))
    x, y = natural(fmt, a), natural(fmt, b)
    magnitude = fmt.code_mask >> fmt.signed
    for op, function in ARITHMETIC.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = raw(function(x, y))
        found = hu.eval(f"arith.{op}", x, y, profile="ml_dtypes")
        different = differences(found, theirs)
        if fmt.name == E8M0 and op in ("mulf", "divf"):
            assert len(different) == 5565
            assert (found.bits[different] == 0).all()
            assert (theirs[different] == 0xFF).all()
            continue
        for k in different:
            nans = fmt.is_nan(int(a[k])) + fmt.is_nan(int(b[k]))
            if op in ("addf", "subf", "mulf", "divf", "remf"):
                assert nans, (op, a[k], b[k])
                assert found.bits[k] & magnitude == theirs[k] & magnitude
            else:
                zeros = fmt.is_zero(int(a[k])) and fmt.is_zero(int(b[k]))
                assert zeros or (nans and theirs[k] in (a[k], b[k])), (op, a[k], b[k])


@pytest.mark.parametrize("fmt", [fmt for fmt in SMALL if fmt.signed], ids=str)
def test_ml_dtypes_negates_every_code(fmt: FloatFormat) -> None:
    codes = np.arange(1 << fmt.bits)
    given = natural(fmt, codes)
    assert not len(differences(hu.eval("arith.negf", given, profile="ml_dtypes"), raw(np.negative(given))))
