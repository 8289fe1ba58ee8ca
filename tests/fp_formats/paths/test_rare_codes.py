"""Conversions that mend a few elements of long arrays, such as NaNs, are exact in all chunks."""

import numpy as np
import pytest
from amounts import thinned

from halfulp.fp_formats.exact import conversions
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.paths import fast_conversions
from halfulp.fp_formats.paths.tables import LONG_CHUNK
from halfulp.fp_formats.policy import FloatPolicy
from halfulp.fp_formats.scalar import RNE
from halfulp.semantics.profile import as_profile

pytestmark = pytest.mark.backend("numpy")

NAMES = ("spec", "ml_dtypes", "mlir22-fold", "mlir22-expand", "ocp-saturate")
POLICIES = dict.fromkeys(as_profile(name).conversions for name in NAMES)
LENGTH = 4 * LONG_CHUNK + 3


@pytest.mark.parametrize("policy", thinned(POLICIES, 4))
@pytest.mark.parametrize(
    ("source", "result"), [("bf16", "f32"), ("f8E8M0FNU", "f32"), ("f8E8M0FNU", "bf16"), ("f8E8M0FNU", "f64")]
)
def test_every_code(source: str, result: str, policy: FloatPolicy) -> None:
    src, dst = FORMATS[source], FORMATS[result]
    every = np.arange(1 << src.bits, dtype=src.storage_dtype)
    exact = conversions.convert(src, dst, every, RNE, policy).codes
    usual = every[1 << src.bits >> 1] if src.bits == 8 else every[1]
    for codes in (np.resize(every, LENGTH), np.full(LENGTH, usual)):
        codes[LENGTH - every.size :] = every
        for order in (slice(None), slice(None, None, -1)):
            found = fast_conversions.convert(src, dst, codes[order], RNE, policy)
            assert np.array_equal(found.codes, exact[codes[order]])


@pytest.mark.parametrize("share", thinned([0.5, 1e-3, 1e-5], 3))
@pytest.mark.parametrize("result", ["f16", "bf16", "f64"])
def test_nans_among_numbers(result: str, share: float) -> None:
    random = np.random.default_rng(5)
    codes = random.standard_normal(LENGTH).astype(np.float32).view(np.uint32)
    index = np.flatnonzero(random.random(LENGTH) < share)
    codes[index] = 0x7F800001 | random.integers(0, 1 << 23, index.size) | random.integers(0, 2, index.size) << 31
    found = fast_conversions.convert(FORMATS["f32"], FORMATS[result], codes).codes
    some = np.concatenate([index, random.integers(0, LENGTH, 5000)])
    assert np.array_equal(found[some], conversions.convert(FORMATS["f32"], FORMATS[result], codes[some]).codes)
