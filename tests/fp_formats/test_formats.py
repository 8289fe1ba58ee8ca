"""The format table, what is derived from it, and what a user may build."""

import copy
import hashlib
import json
import pickle
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from amounts import amounts, thinned
from present import present

from halfulp.fp_formats import formats, scalar
from halfulp.fp_formats.aliases import DTYPE_NAMES, float_format, known_as
from halfulp.fp_formats.exact import comparisons
from halfulp.fp_formats.formats import (
    ALL_FORMATS,
    ENTRY_POINTS,
    FORMATS,
    FloatFormat,
    NanEncoding,
    format_named,
    p3109_format,
    plugin_formats,
    register_format,
)
from halfulp.fp_formats.policy import POLICY_FIELDS, SPEC, Flags, FloatPolicy, Rounding

IEEE, ONES, MINUS_ZERO, NONE = NanEncoding.IEEE, NanEncoding.ALL_ONES, NanEncoding.NEGATIVE_ZERO, NanEncoding.NONE

# name: bits, sign, exponent, mantissa, bias, infinities, NaN, zeros, smallest and largest exponent, largest value
TABLE = {
    "f4E2M1FN": (4, 1, 2, 1, 1, False, NONE, 2, 0, 2, 6),
    "f4E1M2": (4, 1, 1, 2, 1, False, NONE, 2, 0, 0, Fraction(7, 4)),  # CANN: bias 1
    "f6E2M3FN": (6, 1, 2, 3, 1, False, NONE, 2, 0, 2, Fraction(15, 2)),
    "f6E3M2FN": (6, 1, 3, 2, 3, False, NONE, 2, -2, 4, 28),
    "f8E3M4": (8, 1, 3, 4, 3, True, IEEE, 2, -2, 3, Fraction(31, 2)),
    "f8E4M3": (8, 1, 4, 3, 7, True, IEEE, 2, -6, 7, 240),
    "f8E4M3FN": (8, 1, 4, 3, 7, False, ONES, 2, -6, 8, 448),
    "f8E4M3FNUZ": (8, 1, 4, 3, 8, False, MINUS_ZERO, 1, -7, 7, 240),
    "f8E4M3B11FNUZ": (8, 1, 4, 3, 11, False, MINUS_ZERO, 1, -10, 4, 30),
    "f8E5M2": (8, 1, 5, 2, 15, True, IEEE, 2, -14, 15, 57344),
    "f8E5M2FNUZ": (8, 1, 5, 2, 16, False, MINUS_ZERO, 1, -15, 15, 57344),
    "f8E5M3FNU": (8, 0, 5, 3, 15, False, ONES, 1, -14, 16, 114688),
    "f8E8M0FNU": (8, 0, 8, 0, 127, False, ONES, 0, -127, 127, 2**127),
    "bf16": (16, 1, 8, 7, 127, True, IEEE, 2, -126, 127, (2**8 - 1) * 2**120),
    "f16": (16, 1, 5, 10, 15, True, IEEE, 2, -14, 15, 65504),
    "tf32": (19, 1, 8, 10, 127, True, IEEE, 2, -126, 127, (2**11 - 1) * 2**117),
    "f32": (32, 1, 8, 23, 127, True, IEEE, 2, -126, 127, (2**24 - 1) * 2**104),
    "f64": (64, 1, 11, 52, 1023, True, IEEE, 2, -1022, 1023, (2**53 - 1) * 2**971),
    "f80": (80, 1, 15, 63, 16383, True, IEEE, 2, -16382, 16383, (2**64 - 1) * 2**16320),
    "f128": (128, 1, 15, 112, 16383, True, IEEE, 2, -16382, 16383, (2**113 - 1) * 2**16271),
}


@pytest.mark.added
def test_table() -> None:
    assert set(ALL_FORMATS) == set(TABLE), "write a row into TABLE here, from the document that defines the format"
    for name, row in TABLE.items():
        fmt = ALL_FORMATS[name]
        zeros = sum(fmt.is_zero(code) for code in (0, fmt.sign_mask or 0)) if fmt.signed else int(fmt.is_zero(0))
        largest = scalar.value(fmt, fmt.max_code)
        seen = (fmt.bits, int(fmt.signed), fmt.exponent_bits, fmt.mantissa_bits, fmt.bias, fmt.infinities, fmt.nan)
        assert (*seen, zeros, fmt.emin, fmt.emax, largest) == row, name
        assert scalar.value(fmt, fmt.min_normal_code) == Fraction(2) ** fmt.emin


SPECIAL_CODES = {
    "f8E4M3FN": (None, 0x7F, 0x7E, 0x08),
    "f8E5M2": (0x7C, 0x7E, 0x7B, 0x04),
    "f8E5M2FNUZ": (None, 0x80, 0x7F, 0x04),
    "f8E5M3FNU": (None, 0xFF, 0xFE, 0x08),
    "f8E8M0FNU": (None, 0xFF, 0xFE, 0x00),
    "f4E1M2": (None, None, 0x7, 0x4),
    "f4E2M1FN": (None, None, 0x7, 0x2),
    "tf32": (0x3FC00, 0x3FE00, 0x3FBFF, 0x400),
    "f32": (0x7F800000, 0x7FC00000, 0x7F7FFFFF, 0x00800000),
    "f80": (0x7FFF8000000000000000, 0x7FFFC000000000000000, 0x7FFEFFFFFFFFFFFFFFFF, 0x00018000000000000000),
}


@pytest.mark.parametrize("name", SPECIAL_CODES)
def test_special_codes(name: str) -> None:
    fmt = ALL_FORMATS[name]
    assert (fmt.infinity_code, fmt.nan_code, fmt.max_code, fmt.min_normal_code) == SPECIAL_CODES[name]


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=str)
def test_storage(fmt: FloatFormat) -> None:
    assert fmt.storage_dtype.kind == "u"
    assert fmt.storage_dtype.itemsize * 8 * fmt.limbs >= fmt.bits
    assert fmt.limbs == (1 if fmt.bits <= 64 else 2)


@pytest.mark.parametrize("fmt", thinned([fmt for fmt in FORMATS.values() if fmt.bits <= 8], 3), ids=str)
def test_every_code_is_in_one_class(fmt: FloatFormat) -> None:
    for code in range(1 << fmt.bits):
        classes = (fmt.is_nan(code), fmt.is_infinite(code), fmt.is_zero(code), fmt.is_subnormal(code))
        assert sum(classes) <= 1
        finite = scalar.value(fmt, code)
        assert (finite is None) == (classes[0] or classes[1])
        if finite is not None:
            assert (finite == 0) == classes[2]
            assert (0 < abs(finite) < Fraction(2) ** fmt.emin) == classes[3]
    nans = [code for code in range(1 << fmt.bits) if fmt.is_nan(code)]
    per_sign: dict[NanEncoding, int | Fraction] = {
        IEEE: (1 << fmt.mantissa_bits) - 1,
        ONES: 1,
        MINUS_ZERO: Fraction(1, 2),
        NONE: 0,
    }
    assert len(nans) == per_sign[fmt.nan] * (2 if fmt.signed else 1)
    codes = np.arange(1 << fmt.bits, dtype=fmt.storage_dtype)
    assert [code for code in range(codes.size) if comparisons.is_nan(fmt, codes)[code]] == nans


def test_x87_classes() -> None:
    fmt = FORMATS["f80"]
    unnormal, pseudo_infinity, pseudo_denormal = 0x4000 << 64 | 1, 0x7FFF << 64, 1 << 63
    assert fmt.is_invalid(unnormal)
    assert fmt.is_signalling(pseudo_infinity)
    assert not fmt.is_infinite(pseudo_infinity)
    assert not fmt.is_invalid(pseudo_denormal)
    assert not fmt.is_subnormal(pseudo_denormal)
    assert scalar.value(fmt, pseudo_denormal) == scalar.value(fmt, fmt.min_normal_code)
    assert fmt.is_signalling(0x7FFF << 64 | 1 << 63 | 1)
    assert not fmt.is_signalling(fmt.nan_code or 0)


def test_users_make_formats() -> None:
    newer = FloatFormat("f8E5M3FNU", 5, 3, 15, signed=False, infinities=False, nan=ONES)
    assert (newer.bits, newer.nan_code, newer.max_code, newer.sign_mask) == (8, 0xFF, 0xFE, None)
    assert scalar.from_fraction(newer, Fraction(-1)).code == newer.nan_code
    binary8p4 = FloatFormat("binary8p4", 4, 3, 8, nan=MINUS_ZERO)
    assert (binary8p4.nan_code, binary8p4.infinity_code, binary8p4.max_code) == (0x80, 0x7F, 0x7E)
    assert scalar.value(binary8p4, 0x7E) == 224
    assert scalar.from_fraction(binary8p4, Fraction(1000)).code == 0x7F
    unsigned = FloatFormat("binary8p5u", 4, 4, 8, signed=False, nan=ONES)
    assert (unsigned.nan_code, unsigned.infinity_code) == (0xFF, 0xFE)
    precise = FloatFormat("e11m52", 11, 52, 1023)
    assert precise != FORMATS["f64"]
    third = Fraction(1, 3)
    assert scalar.from_fraction(precise, third) == scalar.from_fraction(FORMATS["f64"], third)


@pytest.mark.parametrize(
    ("arguments", "keywords", "reason"),
    [
        (("", 4, 3, 7), {}, "name"),
        (("x", 0, 3, 7), {}, "exponent must have 1 to 15"),
        (("x", 16, 3, 7), {}, "exponent must have 1 to 15"),
        (("x", 4, 113, 7), {}, "mantissa must have 0 to 112"),
        (("x", 4, -1, 7), {}, "mantissa"),
        (("x", 4, 3, 1 << 20), {}, "bias"),
        (("x", 4, 0, 7), {}, "IEEE NaNs need a mantissa bit"),
        (("x", 1, 3, 7), {}, "IEEE NaNs and infinities need"),
        (("x", 4, 3, 7), {"infinities": False}, "a format with IEEE NaNs must have infinities"),
        (("x", 4, 3, 7), {"signed": False, "infinities": False, "nan": MINUS_ZERO}, "NaN as -0"),
        (("x", 8, 0, 7), {"infinities": False, "nan": ONES, "zero": False}, "without zero must be unsigned"),
        (("x", 11, 40, 1023), {"explicit_integer_bit": True}, "more than 64 bits"),
        (("x", 4, 3, 7), {"infinities": False, "nan": NONE, "explicit_integer_bit": True}, "explicit integer bit"),
        (("x", 1, 0, 0), {"infinities": False, "nan": ONES}, "no normal value"),
    ],
)
def test_bad_formats_are_rejected(
    arguments: tuple[str, int, int, int], keywords: dict[str, object], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        FloatFormat(*arguments, **keywords)  # type: ignore[arg-type]


def test_formats_and_policies_are_values() -> None:
    policy = FloatPolicy(denormals="flush_both")
    for value in (*FORMATS.values(), policy, SPEC):
        hash(value)
        for other in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
            assert other == value
            assert hash(other) == hash(value)
    assert len({SPEC, policy, FloatPolicy()}) == 2


def test_policy_values_are_checked() -> None:
    for field, choice in POLICY_FIELDS.items():
        assert getattr(SPEC, field) == choice.values[0]
        for value in choice.values:
            assert getattr(FloatPolicy(**{field: value}), field) == value
        with pytest.raises(ValueError, match=f"{field} is 'other', but must be one of {choice.values[0]}, "):
            FloatPolicy(**{field: "other"})


def test_numbers_fixed_by_others() -> None:
    """MLIR's rounding modes and TestFloat's flags."""
    assert [mode.spelling for mode in Rounding] == [
        "to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away", "stochastic", "to_odd",
    ]  # fmt: skip
    assert [Flags.INVALID, Flags.DIVIDE_BY_ZERO, Flags.OVERFLOW, Flags.UNDERFLOW, Flags.INEXACT] == [16, 8, 4, 2, 1]


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=str)
def test_the_limits_as_numbers(fmt: FloatFormat) -> None:
    smallest = min(fmt.from_magnitude(1), fmt.min_normal_code) if fmt.zero else 0
    for number, code in (
        (fmt.max_value, fmt.max_code),
        (fmt.min_normal_value, fmt.min_normal_code),
        (fmt.min_positive_value, smallest),
    ):
        assert number == scalar.value(fmt, code)
        assert isinstance(number, float) == (fmt.name not in ("f80", "f128"))
    if fmt.name in DTYPE_NAMES:
        limits = ml_dtypes.finfo(DTYPE_NAMES[fmt.name])
        assert fmt.max_value == float(limits.max)


# --- named formats ----------------------------------------------------------------------------------------------------
#
# The formats of P3109 against the published tables; registered formats and plugins.

TABLES: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parents[1] / "data" / "p3109_tables.json").read_text(encoding="utf-8")
)
WITHOUT = {"binary16p1ue", "binary16p1uf"}  # an exponent of 16 bits


def line(fmt: FloatFormat, code: int) -> str:
    """Return the line of a code in the tables: see tests/data/p3109_tables.md."""
    if fmt.is_nan(code):
        return "NaN"
    if fmt.is_infinite(code):
        return "-Inf" if fmt.signed and code >> (fmt.bits - 1) else "Inf"
    value = scalar.value(fmt, code)
    if not value:
        return "0"
    odd, exponent = abs(value.numerator), 1 - value.denominator.bit_length()
    twos = (odd & -odd).bit_length() - 1
    return f"{'-' * (value < 0)}{odd >> twos}p{exponent + twos}{'*' * fmt.is_subnormal(code)}"


def p3109_formats(width: int) -> Iterator[FloatFormat]:
    """Yield the formats of P3109 of a width that halfulp has, by precision, signedness and domain."""
    for precision in range(1, width + 1):
        for kind in ("se", "sf", "ue", "uf"):
            try:
                found = p3109_format(f"binary{width}p{precision}{kind}")
            except ValueError:
                continue
            assert found is not None
            yield found


def check(width: int) -> int:
    """Compare all tables of a width, and return their number."""
    published, ours = TABLES[f"binary{width}"], list(p3109_formats(width))
    assert {fmt.name for fmt in ours} == {f"binary{width}{rest}" for rest in published} - WITHOUT
    for fmt in ours:
        text = "".join(line(fmt, code) + "\n" for code in range(1 << width))
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        assert digest == published[fmt.name.removeprefix(f"binary{width}")], fmt.name
    return len(ours)


@pytest.mark.parametrize("widths", amounts(range(3, 9), range(9, 17)), ids=str)
def test_the_value_tables_of_p3109(widths: range) -> None:
    assert sum(map(check, widths)) == sum(len(TABLES[f"binary{width}"]) - 2 * (width == 16) for width in widths)


def test_names_of_p3109() -> None:
    extended = present(p3109_format("binary8p3se"))
    for name in ("Binary8p3se", "binary8p3", "BINARY8P3E", "binary8p3s"):
        assert float_format(name) == extended
    assert (extended.exponent_bits, extended.mantissa_bits, extended.bias) == (5, 2, 16)
    assert (extended.nan_code, extended.infinity_code) == (0x80, 0x7F)
    unsigned = float_format("binary8p4uf")
    assert (unsigned.nan_code, unsigned.infinity_code, unsigned.signed, unsigned.bias) == (0xFF, None, False, 16)
    assert p3109_format("binary16") is None
    assert float_format("binary16") is FORMATS["f16"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("binary8p8se", "a signed format of 8 bits has a precision of 1 to 7, not 8"),
        ("binary8p9u", "an unsigned format of 8 bits has a precision of 1 to 8, not 9"),
        ("binary2p1", "has 3 to 16 bits here, not 2"),
        ("binary17p3", "has 3 to 16 bits here, not 17"),
        ("binary8p0", "1 to 7, not 0"),
        ("binary16p1ue", "exponent must have 1 to 15 bits"),
    ],
)
def test_parameters_that_p3109_excludes(name: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        float_format(name)


def test_ties_between_powers_of_two_go_to_the_even_code() -> None:
    """P3109, 4.7.4, CodeIsEven for P = 1; 3 = 1.5 * 2 lies between the codes of 2 and 4."""
    fmt = float_format("binary8p1se")
    for code in (1, 2, 63, 64, 65, 100):
        low, high = present(scalar.value(fmt, code)), present(scalar.value(fmt, code + 1))
        for sign in (1, -1):
            found = scalar.from_fraction(fmt, sign * (low + high) / 2).code & 0x7F
            assert found == code + (code & 1)
    least = present(scalar.value(fmt, 1))
    assert scalar.from_fraction(fmt, least / 2).code == 0
    away = FloatFormat("away", 7, 0, 64, nan=NanEncoding.NEGATIVE_ZERO)
    assert [scalar.from_fraction(away, Fraction(x)).code for x in (3, 6)] == [0x42, 0x43]  # IEEE 754-2019, 4.3.1


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what a test registers."""
    monkeypatch.setattr(formats, "_registered", {})


@pytest.mark.usefixtures("registered")
def test_registered_formats() -> None:
    mine = FloatFormat("e3m2x", 3, 2, 3)
    assert register_format(mine) is mine
    assert register_format(FloatFormat("e3m2x", 3, 2, 3)) == mine
    assert float_format("e3m2x") is format_named("e3m2x") is mine
    assert known_as("e3m2x") == "e3m2x"
    with pytest.raises(ValueError, match="'e3m2x' already names another format"):
        register_format(FloatFormat("e3m2x", 3, 2, 4))
    with pytest.raises(ValueError, match="'f16' already names another format"):
        register_format(FloatFormat("f16", 3, 2, 4))
    with pytest.raises(ValueError, match="'binary8p3se' already names another format"):
        register_format(FloatFormat("binary8p3se", 3, 2, 4))
    with pytest.raises(ValueError, match="is a word of letters"):
        register_format(FloatFormat("a b", 3, 2, 3))


PLUGIN = """
from halfulp import FloatFormat

one = FloatFormat("plug1", 3, 2, 3)
table = {"plug2": FloatFormat("plug2", 4, 1, 7)}
wrong = 5


def made():
    return [FloatFormat("plug3", 2, 3, 1)]
"""


def plugin(path: Path, points: str) -> None:
    """Make an installed distribution with entry points."""
    (path / "plugged_formats.py").write_text(PLUGIN)
    info = path / "plugged_formats-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged-formats\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\n{points}\n")


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of distributions on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    plugin_formats.cache_clear()
    yield tmp_path
    plugin_formats.cache_clear()


def test_plugins_bring_formats(plugins: Path) -> None:
    plugin(plugins, "a = plugged_formats:one\nb = plugged_formats:table\nc = plugged_formats:made")
    assert [float_format(f"plug{k}").exponent_bits for k in (1, 2, 3)] == [3, 4, 2]
    assert known_as("plug4") is None


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        ("a = plugged_formats:wrong", "gives 5, which is not a FloatFormat"),
        ("a = plugged_formats:absent", "cannot be loaded"),
        ("a = no_such_module:x", "cannot be loaded"),
    ],
)
def test_a_broken_plugin_is_named(plugins: Path, points: str, reason: str) -> None:
    plugin(plugins, points)
    with pytest.raises(ValueError, match=reason):
        float_format("plug1")


def test_numbers_of_a_plugin_are_computed_with(plugins: Path) -> None:
    plugin(plugins, "a = plugged_formats:one")
    codes: Any = np.arange(64)
    fmt = float_format("plug1")
    assert [scalar.value(fmt, int(code)) for code in codes[:4]] == [Fraction(k, 16) for k in range(4)]
