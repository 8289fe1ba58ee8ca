"""Names that people type: of types and of rounding modes."""

from itertools import count

import ml_dtypes
import numpy as np
import pytest

from halfulp.fp_formats.aliases import (
    AMBIGUOUS,
    DTYPE_NAMES,
    TYPE_ALIASES,
    asking,
    did_you_mean,
    float_format,
    known_as,
    name_of,
    nearest,
)
from halfulp.fp_formats.formats import ALL_FORMATS, FORMATS, FloatFormat
from halfulp.fp_formats.policy import MISLEADING_ROUNDINGS, ROUNDING_ALIASES, Rounding, as_rounding
from halfulp.semantics.profile import Profile

# What NumPy, ml_dtypes, torch, JAX, C and CUDA call the formats. Written by hand, not from the table of aliases.
KNOWN = {
    "f4E2M1FN": "float4_e2m1fn float4_e2m1fn_x2 e2m1 fp4 FP4 torch.float4_e2m1fn_x2 ml_dtypes.float4_e2m1fn",
    "f6E2M3FN": "float6_e2m3fn e2m3",
    "f6E3M2FN": "float6_e3m2fn e3m2",
    "f8E3M4": "float8_e3m4 e3m4",
    "f8E4M3": "float8_e4m3 f8e4m3 F8E4M3",
    "f8E4M3FN": "float8_e4m3fn e4m3fn E4M3FN FLOAT8E4M3FN torch.float8_e4m3fn jnp.float8_e4m3fn f8e4m3fn",
    "f8E4M3FNUZ": "float8_e4m3fnuz e4m3fnuz",
    "f8E4M3B11FNUZ": "float8_e4m3b11fnuz e4m3b11fnuz",
    "f8E5M2": "float8_e5m2 e5m2 E5M2 fp8_e5m2 torch.float8_e5m2",
    "f8E5M2FNUZ": "float8_e5m2fnuz e5m2fnuz",
    "f8E8M0FNU": "float8_e8m0fnu e8m0 ue8m0",
    "f8E5M3FNU": "float8_e5m3fnu FloatNV8E5M3FNU ue5m3",
    "f4E1M2": "float4_e1m2 FLOAT4_E1M2 e1m2",
    "bf16": "bfloat16 BF16 bfloat torch.bfloat16 jnp.bfloat16",
    "f16": "float16 half fp16 FP16 np.float16 torch.half",
    "tf32": "TF32 tensorfloat32",
    "f32": "float32 single fp32 FP32 F32 np.float32 torch.float32 numpy.float32",
    "f64": "float64 double fp64 np.double",
    "f80": "x87 x86_fp80 float80",
    "f128": "fp128 quad binary128",
}
ROUNDINGS = {
    Rounding.TO_NEAREST_EVEN: "nearest RNE rne nearest_even half_even ROUND_HALF_EVEN roundTiesToEven even rn rte",
    Rounding.DOWNWARD: "down floor RD rdn -inf ROUND_FLOOR toward-negative",
    Rounding.UPWARD: "up ceil ceiling RU rup +inf ROUND_CEILING towardPositive",
    Rounding.TOWARD_ZERO: "zero truncate trunc RZ rtz roundTowardZero",
    Rounding.TO_NEAREST_AWAY: "nearest_away half_away RNA rmm roundTiesToAway",
    Rounding.STOCHASTIC: "SR Stochastic",
    Rounding.TO_ODD: "odd ToOdd rod round-to-odd near_odd",
}


@pytest.mark.added
@pytest.mark.parametrize("name", ALL_FORMATS)
def test_every_format_by_its_names(name: str) -> None:
    assert name in KNOWN, f"write the names that users know {name} by into KNOWN here, and into fp_formats/aliases.py"
    for alias in (name, *KNOWN[name].split(), *TYPE_ALIASES.get(name, ())):
        assert float_format(alias) is ALL_FORMATS[name], alias
        assert float_format(f" {alias} ") is ALL_FORMATS[name], alias


def test_no_name_has_two_meanings() -> None:
    spelled = [alias.casefold().replace("_", "") for aliases in TYPE_ALIASES.values() for alias in aliases]
    assert len(spelled) == len(set(spelled))
    for name in AMBIGUOUS:
        assert name.replace("_", "") not in spelled
    modes = [alias.casefold().replace("_", "") for aliases in ROUNDING_ALIASES.values() for alias in aliases]
    assert len(modes) == len(set(modes))
    assert not {name.replace("_", "") for name in MISLEADING_ROUNDINGS} & set(modes)


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_a_name_that_may_mean_several_types_is_refused(name: str) -> None:
    for spelling in (name, name.upper(), f"torch.{name}"):
        with pytest.raises(ValueError, match="may mean several types; write ") as raised:
            known_as(spelling)
        for candidate, meaning in AMBIGUOUS[name].items():
            assert f'"{candidate}" ({meaning})' in str(raised.value)


def test_what_the_candidates_are_said_to_reach() -> None:
    # The largest finite values by the documents: OCP 8-bit floats, table 2; OCP MX 1.0, tables 3 and 4.
    said = {"f8E4M3FN": "448", "f8E4M3": "240", "f8E4M3FNUZ": "240", "f8E5M2": "57344"}
    assert all(f"up to {largest}," in AMBIGUOUS["fp8"][name] for name, largest in said.items())
    assert AMBIGUOUS["fp6"] == {"f6E2M3FN": "OCP: up to 7.5", "f6E3M2FN": "OCP: up to 28"}


@pytest.mark.parametrize(("name", "dtype"), DTYPE_NAMES.items())
def test_dtypes_and_classes(name: str, dtype: str) -> None:
    scalar = getattr(np, dtype, None) or getattr(ml_dtypes, dtype)
    for given in (scalar, np.dtype(scalar), np.dtype(scalar).name, np.dtype(scalar).newbyteorder(">")):
        assert float_format(given) is FORMATS[name]


def test_other_objects() -> None:
    assert float_format(float) is FORMATS["f64"]
    own = FloatFormat("own", 3, 2, 3)
    assert float_format(own) is own
    assert name_of(np.longdouble) in ("f80", "f128", "float64")
    assert name_of(int) == "i64"
    assert name_of(bool) == "i1"
    scalars = (np.floating, np.generic, np.complex64)
    for other in (*scalars, np.dtype("U3"), np.dtype("M8[s]"), np.float32(1), object, 5, None):
        assert name_of(other) is None
        with pytest.raises(ValueError, match="unknown float format .*; the float types are f4E2M1FN, "):
            float_format(other)


@pytest.mark.torch
def test_dtypes_of_torch() -> None:
    import torch

    floats = [each for each in vars(torch).values() if isinstance(each, torch.dtype) and each.is_floating_point]
    named = {float_format(each).name for each in floats}
    assert named == set(DTYPE_NAMES) - {"f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3B11FNUZ"}
    assert known_as(name_of(torch.uint8) or "") == "ui8"
    assert known_as(name_of(torch.bool) or "") == "i1"


def test_integers_by_their_names() -> None:
    for width in (1, 2, 4, 8, 16, 32, 64, 128):
        assert known_as(f"int{width}") == f"i{width}"
        assert known_as(f"uint{width}") == f"ui{width}"
    assert known_as("np.uint8") == "ui8"
    with pytest.raises(ValueError, match="'int8' is an integer type, not a float format"):
        float_format("int8")


def test_names_that_are_not_known() -> None:
    assert known_as("f7") is None
    assert known_as("x" * 10**7) is None
    with pytest.raises(ValueError, match=r"unknown float format 'f7'; the float types are f4E2M1FN, .*, f128$"):
        float_format("f7")
    with pytest.raises(ValueError, match=r"f128 \(did you mean `bfloat16`\?\)$"):
        float_format("bflot16")
    with pytest.raises(ValueError, match="unknown float format") as raised:
        float_format("x" * 10**7)
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize("mode", Rounding)
def test_every_rounding_mode_by_its_names(mode: Rounding) -> None:
    assert as_rounding(mode) is mode
    for alias in (mode.spelling, *ROUNDINGS[mode].split(), *ROUNDING_ALIASES[mode]):
        assert as_rounding(alias) is mode, alias
        assert as_rounding(alias.upper()) is mode, alias


@pytest.mark.parametrize("name", MISLEADING_ROUNDINGS)
def test_a_misleading_rounding_mode_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"rounding is '{name}', but must be one of to_nearest_even, .*is not clear"):
        as_rounding(name)


@pytest.mark.parametrize("name", ["", "x", "neares", "upwards", "inf", 0, 1.5, None, True, b"up", "x" * 10**7])
def test_a_rounding_mode_that_is_not_known(name: object) -> None:
    with pytest.raises(
        ValueError, match="rounding is .*, but must be one of to_nearest_even, downward, upward"
    ) as raised:
        as_rounding(name)  # type: ignore[arg-type]
    assert len(str(raised.value)) < 400
    assert ("did you mean" in str(raised.value)) == (name in ("neares", "upwards", "inf"))


def test_fields_of_a_profile_take_the_names_of_modes() -> None:
    profile = Profile(qcast_rounding="RZ", to_integer_rounding="half_even", conversion_rounding="nearest")
    assert profile.qcast_rounding == "toward_zero"
    assert profile.to_integer_rounding == profile.conversion_rounding == "to_nearest_even"
    assert Profile(qcast_rounding="RZ").name == Profile(qcast_rounding="toward_zero").name
    with pytest.raises(ValueError, match="conversion_rounding is 'upward', but must be one of given"):
        Profile(conversion_rounding="up")
    with pytest.raises(ValueError, match="qcast_rounding is 'half_up', but must be one of"):
        Profile(qcast_rounding="half_up")


# --- suggestions ------------------------------------------------------------------------------------------------------
#
# Hints name what is near, and nothing else.

WORDS = ("addf", "addi", "row", "column", "return", "value", "dialect_resources", "maxui", "MFMA_F32_16x16x16_F16")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("colum", "column"),  # one is missing
        ("columnn", "column"),  # one too many
        ("rwo", "row"),  # two are swapped
        ("colunm", "column"),
        ("retun", "return"),
        ("valeu", "value"),
        ("dialect_ressource", "dialect_resources"),
        ("MFMA_F32_16x16x16_F1", "MFMA_F32_16x16x16_F16"),
        ("maxf", None),  # two edits of four letters
        ("sqrt", None),
        ("h100", None),
        ("", None),
        ("row", None),  # known: it is not what is wrong
        ("x" * 1000, None),
    ],
)
def test_the_nearest_name(name: str, near: str | None) -> None:
    assert nearest(name, WORDS) == (() if near is None else (near,))
    assert did_you_mean(name, WORDS) == (None if near is None else f"did you mean `{near}`?")


def test_names_that_are_as_near_are_all_named() -> None:
    assert nearest("add", WORDS) == ("addf", "addi")
    assert did_you_mean("add", WORDS) == "did you mean `addf` or `addi`?"
    assert len(nearest("aaa", [f"aa{letter}" for letter in "bcdefg"])) == 3
    assert asking(()) is None


def test_another_family_is_not_near() -> None:
    assert nearest("addif", ("addi", "addf"), lambda name: name[-1]) == ("addf",)
    assert nearest("adi", ("addf",), lambda name: name[-1]) == ()


@pytest.mark.long
def test_an_error_does_not_cost_more_than_the_file() -> None:
    """Names without end: only so many are compared."""
    known = count()
    assert nearest("ab" * 30, (f"{'ab' * 28}{number:04}" for number in known)) == ()
    assert next(known) <= 2001
