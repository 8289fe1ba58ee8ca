"""Tables of elementary functions equal the specification: codes, poison and flags."""

import itertools
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from amounts import thinned
from present import present

from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, NanEncoding
from halfulp.fp_formats.paths import disk, elementary, margins, tables
from halfulp.fp_formats.paths.elementary_pairs import PAIRS
from halfulp.fp_formats.policy import SPEC, FloatPolicy, Rounding
from halfulp.fp_formats.reals import elementary as specification
from halfulp.fp_formats.reals.functions import FUNCTIONS
from halfulp.fp_formats.scalar import Result

MODES = list(Rounding)[:5]
SMALL = [fmt for fmt in FORMATS.values() if fmt.bits <= 8]
HALF = [FORMATS["bf16"], FORMATS["f16"]]
F32 = FORMATS["f32"]


def every(fmt: FloatFormat) -> Codes:
    return np.arange(1 << fmt.bits).astype(fmt.storage_dtype)


def table(
    name: str, src: FloatFormat, mode: Rounding, policy: FloatPolicy = SPEC, dst: FloatFormat | None = None
) -> ArrayResult:
    """Return the results of every code, as one call for many elements looks them up in a new table."""
    tables.CACHE.clear()
    codes = np.resize(every(src), max(1 << src.bits, elementary.QUICK))
    return elementary.unary(name, src, codes, mode, policy, dst, want_flags=True)


def check(
    name: str,
    src: FloatFormat,
    codes: Codes,
    mode: Rounding,
    policy: FloatPolicy = SPEC,
    dst: FloatFormat | None = None,
) -> None:
    found = table(name, src, mode, policy, dst)
    assert found.flags is not None
    for code in codes.tolist():
        poison = found.poison is not None and bool(found.poison[code])
        result = Result(int(found.codes[code]), int(found.flags[code]), poison)
        wanted = specification.unary(name, src, code, mode, policy, dst)
        assert result == wanted, (name, str(src), str(dst), hex(code), mode)


def some(fmt: FloatFormat, count: int, seed: object) -> Codes:
    """Return the ends of the ranges of codes, and random ones."""
    ends = [0, 1, 2, fmt.min_normal_code - 1, fmt.min_normal_code, fmt.max_code, fmt.max_code + 1, fmt.max_code + 2]
    one = fmt.bias << fmt.mantissa_bits
    ends += [one + step for step in (-2, -1, 0, 1, 2)]
    codes = [code | sign for code in ends for sign in (0, fmt.sign_mask or 0)]
    draw = random.Random(str(seed))
    return np.array([*codes, *(draw.getrandbits(fmt.bits) for _ in range(count))]) & fmt.code_mask


@pytest.fixture(autouse=True)
def new_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALFULP_CACHE", str(tmp_path))


@pytest.mark.long
@pytest.mark.parametrize("fmt", [*SMALL, *HALF], ids=str)
def test_samples_of_tables_equal_the_specification(fmt: FloatFormat) -> None:
    for number, name in enumerate(FUNCTIONS):
        codes = every(fmt)[number % 4 :: 4] if fmt.bits <= 8 else some(fmt, 30, name)
        check(name, fmt, codes, MODES[(number + fmt.bits) % 5])


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("fmt", [*SMALL, *HALF], ids=str)
def test_tables_equal_the_specification(fmt: FloatFormat, name: str, mode: Rounding) -> None:
    check(name, fmt, every(fmt), mode)


POLICIES = [
    FloatPolicy(denormals="flush_both"),
    FloatPolicy(denormals="flush_operands", denormal_zero="positive", tininess="before"),
    FloatPolicy(denormals="flush_results", tininess="before"),
    FloatPolicy(nan_result="negative", conversion_overflow="saturate", wide_source="through_f32"),
    FloatPolicy(nan_to_nanless="max", infinity_to_nanless="zero", divide_by_zero_nanless="zero"),
    FloatPolicy(float_to_zeroless="cut", float_to_nanless="ties_away", negative_to_unsigned="sign_bit"),
]


@pytest.mark.long
@pytest.mark.parametrize("policy", POLICIES, ids=range(len(POLICIES)))
def test_tables_follow_the_policy(policy: FloatPolicy) -> None:
    names = ("exp", "log", "sin", "tgamma", "silu", "rsqrt")
    for fmt, name in zip(itertools.cycle([FORMATS["f16"], FORMATS["f8E5M2"], FORMATS["bf16"]]), names, strict=False):
        check(name, fmt, some(fmt, 60, name), Rounding.TO_NEAREST_EVEN, policy)
    for dst in ("f4E2M1FN", "f8E8M0FNU", "f8E4M3FNUZ"):
        check("log", FORMATS["bf16"], some(FORMATS["bf16"], 60, dst), Rounding.DOWNWARD, policy, FORMATS[dst])


OWN = [
    FloatFormat("twelve bits", 5, 6, 15),
    FloatFormat("unsigned", 6, 10, 40, signed=False),
    FloatFormat("without zero", 9, 3, 300, signed=False, infinities=False, nan=NanEncoding.NONE, zero=False),
    FloatFormat("far", 15, 0, 20000, infinities=False, nan=NanEncoding.NEGATIVE_ZERO),
    FloatFormat("beyond f64", 12, 3, 2047),
    FloatFormat("off centre", 4, 3, 60),
]


@pytest.mark.parametrize("fmt", thinned(OWN, 3), ids=str)
def test_tables_of_users_formats_equal_the_specification(fmt: FloatFormat) -> None:
    for name, mode in (("exp", Rounding.UPWARD), ("tanh", Rounding.TOWARD_ZERO), ("log2", Rounding.TO_NEAREST_EVEN)):
        if fmt.bits < 14:
            check(name, fmt, some(fmt, 200, name), mode)
        check(name, FORMATS["f8E4M3"], every(FORMATS["f8E4M3"]), mode, dst=fmt)


def test_operands_beyond_f64_go_to_formats_within_it() -> None:
    src = FloatFormat("far and short", 12, 0, 3000, infinities=False, nan=NanEncoding.NONE)
    check("log", src, some(src, 100, "log"), Rounding.TO_NEAREST_EVEN, dst=FORMATS["bf16"])


@pytest.mark.parametrize("dst", thinned(["f8E5M2", "f16", "tf32", "f32", "f64"], 2))
def test_results_may_have_another_format(dst: str) -> None:
    for number, name in enumerate(("exp", "sin", "erf", "softplus", "mish", "reciprocal")):
        check(name, FORMATS["f8E4M3"], every(FORMATS["f8E4M3"]), MODES[number % 5], dst=FORMATS[dst])
        if dst == "f32":
            check(name, FORMATS["bf16"], some(FORMATS["bf16"], 100, name), MODES[number % 5], dst=F32)


@pytest.mark.long
def test_margins_leave_little_to_the_specification() -> None:
    fmt = FORMATS["bf16"]
    for name in FUNCTIONS:
        asked: list[int] = []

        def count(codes: Codes, asked: list[int] = asked) -> ArrayResult:
            asked.append(codes.size)
            zeros = np.zeros(codes.shape, np.uint8)
            return ArrayResult(zeros, None, zeros)

        margins.unary(name, fmt, every(fmt), Rounding.UPWARD, SPEC, fmt, count)
        assert sum(asked) < 1500, name


def check_pairs(name: str, fmt: FloatFormat, mode: Rounding, step: int = 1) -> None:
    codes = every(fmt)
    a, b = np.repeat(codes, codes.size), np.tile(codes, codes.size)
    tables.CACHE.clear()
    found = elementary.binary(name, fmt, np.resize(a, 1 << 16), np.resize(b, 1 << 16), mode, want_flags=True)
    assert elementary.binary(name, fmt, a, b, mode).flags is None
    assert found.flags is not None
    for number in range(0, a.size, step):
        wanted = specification.binary(name, fmt, int(a[number]), int(b[number]), mode)
        poison = found.poison is not None and bool(found.poison[number])
        result = Result(int(found.codes[number]), int(found.flags[number]), poison)
        assert result == wanted, (name, str(fmt), hex(a[number]), hex(b[number]), mode)


QUICK = [name for name in elementary.OF_TWO if name in PAIRS]
"""The functions whose tables are made by margins; the others take the specification for each pair."""


@pytest.mark.parametrize("name", QUICK)
def test_tables_of_pairs_equal_the_specification(name: str) -> None:
    check_pairs(name, FORMATS["f4E2M1FN"], Rounding.DOWNWARD)
    check_pairs(name, FORMATS["f6E3M2FN"], Rounding.TO_NEAREST_EVEN, step=9)
    check_pairs(name, FORMATS["f8E5M2"], Rounding.UPWARD, step=97)


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fmt", SMALL, ids=str)
@pytest.mark.parametrize("name", QUICK)
def test_every_pair_of_tables_equals_the_specification(name: str, fmt: FloatFormat, mode: Rounding) -> None:
    check_pairs(name, fmt, mode)


def test_a_table_is_made_once_and_loaded_by_the_next_process(monkeypatch: pytest.MonkeyPatch) -> None:
    fmt = FORMATS["f16"]
    first = table("tanh", fmt, Rounding.TO_NEAREST_EVEN)
    folder = present(disk.place())
    assert len(disk.files(folder)) == 1
    monkeypatch.setattr(margins, "unary", None)  # the next one needs no maker
    second = table("tanh", fmt, Rounding.TO_NEAREST_EVEN)
    assert np.array_equal(first.codes, second.codes)
    assert first.flags is not None
    assert np.array_equal(first.flags, second.flags)  # type: ignore[arg-type]


def test_poison_is_kept_on_disk() -> None:
    dst = FORMATS["f4E2M1FN"]
    first = table("sqrt", FORMATS["f8E5M2"], Rounding.TO_NEAREST_EVEN, dst=dst)
    second = table("sqrt", FORMATS["f8E5M2"], Rounding.TO_NEAREST_EVEN, dst=dst)
    assert first.poison is not None
    assert second.poison is not None
    assert np.array_equal(first.poison, second.poison)
    assert np.array_equal(first.flags, second.flags)  # type: ignore[arg-type]


def test_formats_of_one_name_have_their_own_tables() -> None:
    fmt = FORMATS["f8E5M2"]
    other = replace(FORMATS["f8E4M3"], name=fmt.name)
    first, second = (table("exp", each, Rounding.TO_NEAREST_EVEN).codes for each in (fmt, other))
    assert not np.array_equal(first, second)
    check("exp", other, every(other), Rounding.TO_NEAREST_EVEN)


def test_few_elements_do_not_wait_for_a_table() -> None:
    tables.CACHE.clear()
    found = elementary.unary("exp", FORMATS["bf16"], np.array([0x3F80], np.uint16))
    assert found.codes.tolist() == [0x402E]  # e = 2.71828 is nearest to 2.71875
    folder = present(disk.place())
    assert disk.files(folder) == []


def test_shapes_are_kept() -> None:
    codes = np.resize(every(FORMATS["bf16"]), (3, 1 << 14, 2))
    found = elementary.unary("exp", FORMATS["bf16"], codes, want_flags=True)
    assert found.codes.shape == codes.shape
    assert found.flags is not None
    assert found.flags.shape == codes.shape
    empty = elementary.unary("exp", FORMATS["bf16"], codes[:0], want_flags=True)
    assert empty.codes.shape == (0, 1 << 14, 2)
