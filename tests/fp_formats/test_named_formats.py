"""The formats of P3109 against the published tables; registered formats and plugins."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halfulp.fp_formats import formats, scalar
from halfulp.fp_formats.aliases import float_format, known_as
from halfulp.fp_formats.formats import (
    ALL_FORMATS,
    ENTRY_POINTS,
    FORMATS,
    FloatFormat,
    NanEncoding,
    format_named,
    p3109_format,
    p3109_formats,
    plugin_formats,
    register_format,
)

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


def check(width: int) -> int:
    """Compare all tables of a width, and return their number."""
    published, ours = TABLES[f"binary{width}"], list(p3109_formats(width))
    assert {fmt.name for fmt in ours} == {f"binary{width}{rest}" for rest in published} - WITHOUT
    for fmt in ours:
        text = "".join(line(fmt, code) + "\n" for code in range(1 << width))
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        assert digest == published[fmt.name.removeprefix(f"binary{width}")], fmt.name
    return len(ours)


def test_the_value_tables_of_p3109() -> None:
    assert sum(map(check, range(3, 9))) == 120


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", range(9, 17))
def test_the_wider_value_tables_of_p3109(width: int) -> None:
    assert check(width) == len(TABLES[f"binary{width}"]) - (2 if width == 16 else 0)


def test_names_of_p3109() -> None:
    extended = p3109_format("binary8p3se")
    assert extended is not None
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
        ("binary16p1ue", "exponent has 1 to 15 bits"),
    ],
)
def test_parameters_that_p3109_excludes(name: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        float_format(name)


def test_ties_between_powers_of_two_go_to_the_even_code() -> None:
    """P3109, 4.7.4, CodeIsEven for P = 1; 3 = 1.5 * 2 lies between the codes of 2 and 4."""
    fmt = float_format("binary8p1se")
    for code in (1, 2, 63, 64, 65, 100):
        low, high = scalar.value(fmt, code), scalar.value(fmt, code + 1)
        assert low is not None
        assert high is not None
        for sign in (1, -1):
            found = scalar.from_fraction(fmt, sign * (low + high) / 2).code & 0x7F
            assert found == code + (code & 1)
    least = scalar.value(fmt, 1)
    assert least is not None
    assert scalar.from_fraction(fmt, least / 2).code == 0
    away = FloatFormat("away", 7, 0, 64, nan=NanEncoding.NEGATIVE_ZERO)
    assert [scalar.from_fraction(away, Fraction(x)).code for x in (3, 6)] == [0x42, 0x43]  # IEEE 754-2019, 4.3.1


def test_formats_of_hardware() -> None:
    scales, four = ALL_FORMATS["f8E5M3FNU"], ALL_FORMATS["f4E1M2"]
    assert (scales.max_value, scales.min_normal_value, scales.nan_code) == (114688, 2.0**-14, 0xFF)
    assert [scalar.value(four, code) for code in range(8)] == [Fraction(k, 4) for k in range(8)]  # CANN: bias 1
    assert (four.max_value, four.nan_code, four.infinity_code) == (1.75, None, None)


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
