"""The fields that the profile `ml_dtypes` sets, against the installed ml_dtypes: every conversion it has."""

from importlib.metadata import version
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from float_samples import codes, to_array

from halfulp.fp_formats.exact import conversions
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import FloatPolicy

pytestmark = pytest.mark.skipif(not version("ml_dtypes").startswith("0.6."), reason="measured with ml_dtypes 0.6")

POLICY = FloatPolicy(
    nan_result="canonical_signed", nan_to_nanless="zero_inverted", zero_to_zeroless="nan", wide_source="through_f32"
)
DTYPES: dict[str, Any] = {
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    "f6E2M3FN": ml_dtypes.float6_e2m3fn,
    "f6E3M2FN": ml_dtypes.float6_e3m2fn,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "bf16": ml_dtypes.bfloat16,
}
NATIVE = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def known_deviation(fmt: FloatFormat, floats: Any) -> Any:
    """Tell whether ml_dtypes is wrong here: f8E8M0FNU gets code 1 instead of 0 between 2**-127 and 1.5 * 2**-127."""
    narrowed = floats.astype(np.float32)
    return (narrowed > 2.0**-127) & (narrowed < 1.5 * 2.0**-127) & (fmt.name == "f8E8M0FNU")


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("source", NATIVE)
def test_conversions_in(name: str, source: str) -> None:
    fmt, src = FORMATS[name], FORMATS[source]
    corners = np.array([1.25 * 2.0**-127, 2.0**-127, 1.5 * 2.0**-127, 2.0**-128], np.float64).view(np.uint64)
    sample = np.concatenate(
        [to_array(src, codes(src, 20_000, 61)), conversions.convert(FORMATS["f64"], src, corners).codes]
    )
    floats = sample.view(NATIVE[source])
    with np.errstate(all="ignore"):
        theirs = floats.astype(DTYPES[name]).view(fmt.storage_dtype)
        deviating = known_deviation(fmt, floats)
    ours = conversions.convert(src, fmt, sample, policy=POLICY).codes
    np.testing.assert_array_equal(theirs, np.where(deviating, 1, ours))
    assert (ours[deviating] == 0).all()
    assert deviating.any() == (name == "f8E8M0FNU" and source != "f16")


@pytest.mark.parametrize("name", [name for name in DTYPES if name != "bf16"])  # which keeps payloads: a plain shift
@pytest.mark.parametrize("target", ["f32", "f64"])
def test_conversions_out(name: str, target: str) -> None:
    fmt, dst = FORMATS[name], FORMATS[target]
    every = np.arange(1 << fmt.bits).astype(fmt.storage_dtype)
    with np.errstate(all="ignore"):
        theirs = every.view(DTYPES[name]).astype(NATIVE[target]).view(dst.storage_dtype)
    np.testing.assert_array_equal(theirs, conversions.convert(fmt, dst, every, policy=POLICY).codes)


@pytest.mark.parametrize("name", DTYPES)
def test_integers(name: str) -> None:
    fmt = FORMATS[name]
    rng = np.random.default_rng(62)
    numbers = np.concatenate([rng.integers(-(2**31), 2**31, 5000), np.arange(-5000, 5000)]).astype(np.int32)
    theirs = numbers.astype(DTYPES[name]).view(fmt.storage_dtype)
    np.testing.assert_array_equal(
        theirs, conversions.from_integer(fmt, numbers.view(np.uint32), 32, True, policy=POLICY).codes
    )
