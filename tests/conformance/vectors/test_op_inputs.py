"""Operands of vector sets: TestFloat's corners, Philox by position, integers, quantised types, and every level."""

import hashlib
import pickle
import tracemalloc
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from present import present

import halfulp as hu
from halfulp.command.main import main
from halfulp.conformance.comparing.inputs import covered, sampled_inputs
from halfulp.conformance.comparing.op_case import op_case, reference
from halfulp.conformance.vectors import op_inputs, testfloat_levels
from halfulp.conformance.vectors.computation import ProgramComputation
from halfulp.conformance.vectors.intermediate import Dice
from halfulp.conformance.vectors.op_inputs import rounding_bits, rows_for, rows_of_case, rows_of_types
from halfulp.conformance.vectors.packing import LevelName
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.rows import exhaustive, of_tuples, one_after_another
from halfulp.conformance.vectors.testfloat_levels import FloatKind, IntegerKind, significands
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat, codes_to_ints
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.values.coerce import as_type
from halfulp.semantics.profile import as_profile
from halfulp.semantics.random_sources import uniform, words

# SHA-256 of the corners of TestFloat 3e, one hexadecimal number a line, in its order: level 1 and 2 of an operand among
# several, level 1 and 2 of an only one. From its tables, apart from bf16's level 2, which lists one pattern twice.
CORNERS = {
    "f16": ("2931cb7df94433e7", "376b0d86878949e8", "baeb5c97559a4b8a", "1517263d20191bd6"),
    "bf16": ("92c05a62dcc2541e", "bb217c48e75ac8c4", "135c1b0093a5971e", "a4f3ffa251e0bb45"),
    "f32": ("4a3398ac1d76fee1", "3fe9bc1714ed8601", "a55787f5a3a3ffd0", "55ad6bf72af70774"),
    "f64": ("4025d07bc9936f8f", "191948d2029f3f43", "bd6ed60000b6c9ee", "026e9a699283b60b"),
    "f80": ("5e23a85e67da00fe", "a0a75a3183677137", "7b9c12cea6cd0299", "8eb58ddbbbdf04cb"),
    "f128": ("532d972a1540ae71", "2995a959ecad8403", "3a7c04fdfb3a827f", "962438efc19ea382"),
}


def text_digest(codes: Sequence[int]) -> str:
    return hashlib.sha256("".join(f"{code:x}\n" for code in codes).encode()).hexdigest()[:16]


def digest(columns: Sequence[np.ndarray]) -> str:
    little = (np.ascontiguousarray(column, column.dtype.newbyteorder("<")).tobytes() for column in columns)
    return hashlib.sha256(b"".join(little)).hexdigest()[:16]


@pytest.mark.parametrize("name", list(CORNERS))
def test_corners_are_those_of_testfloat(name: str) -> None:
    kind = FloatKind(FORMATS[name])
    found = [text_digest(kind.corners(level, alone)) for alone in (False, True) for level in (1, 2)]
    assert found == list(CORNERS[name])


def test_as_many_cases_as_testfloat() -> None:
    second = {"f16": 1_254_528, "f32": 7_496_192, "f64": 40_284_288, "f128": 189_969_032}
    for name, count in second.items():
        kinds = [FloatKind(FORMATS[name])] * 2
        assert [testfloat_levels.corner_rows(kinds, level).count for level in (1, 2)] == [46_464, count], name


def test_classes_of_level_1() -> None:
    """22 signs and exponents of f32 with four significands each; TestFloat's largest negative exponent is 126."""
    corners = FloatKind(FORMATS["f32"]).corners(1, False)
    assert len(corners) == 88
    fields = [0, 1, 103, 125, 126, 127, 128, 129, 151, 254, 255]
    assert sorted({code >> 23 & 255 for code in corners if code < 1 << 31}) == fields
    assert sorted({code >> 23 & 255 for code in corners if code >> 31}) == [*fields[:-2], 253, 255]
    assert {code & (1 << 23) - 1 for code in corners} == {0, 1, (1 << 23) - 1, (1 << 23) - 2}


@pytest.mark.parametrize("name", ["f16", "f8E4M3FN", "f80"])
def test_every_sixth_row_is_a_pair_of_corners(name: str) -> None:
    kind = FloatKind(FORMATS[name])
    rows = testfloat_levels.corner_rows([kind, kind], 1, seed=3)
    first, second = (codes_to_ints(column[5::6], kind.width) for column in rows.part(0, rows.count))
    corners = kind.corners(1, False)
    assert list(zip(first, second, strict=True)) == list(product(corners, corners))


@pytest.mark.long
@pytest.mark.parametrize("name", list(FORMATS))
def test_corners_of_every_format(name: str) -> None:
    """No code twice, both levels meet every combination of classes of operands, and the second has all of the first."""
    kind = FloatKind(FORMATS[name])
    for alone in (False, True):
        one, two = kind.corners(1, alone), kind.corners(2, alone)
        assert len(set(one)) == len(one)
        assert set(one) <= set(two)
        assert not any(FORMATS[name].is_invalid(code) for code in two)
        assert all(0 <= code <= FORMATS[name].code_mask for code in two)
    asked = op_case("arith.addf", name)
    rows = rows_of_case(asked, "1")
    assert covered(asked, rows.part(0, rows.count)).percent == 100.0


@pytest.mark.parametrize("level", ["1", "2", "weighted", "random"])
@pytest.mark.parametrize(
    "types",
    thinned(
        [
            ["f32", "f32"],
            ["f80"],
            ["f128", "f128"],
            ["f8E4M3FN", "f8E4M3FN"],
            ["i1", "f16", "f16"],
            ["i37"],
            ["i128"] * 4,
        ],
        3,
    ),
)
def test_a_part_is_computed_alone(types: list[str], level: LevelName) -> None:
    rows = rows_of_types([as_type(name) for name in types], level, 7, 10_000)
    whole = rows.part(0, min(rows.count, 10_000))
    stop = len(whole[0])
    for start, end in ((0, 1), (1, 2), (stop // 3, stop // 3 + 12), (stop - 7, stop)):
        for part, column in zip(rows.part(start, end), whole, strict=True):
            np.testing.assert_array_equal(part, column[start:end])
    for column, width in zip(whole, rows.widths, strict=True):
        assert max(codes_to_ints(column, width)) < 1 << width


DIGESTS = {
    ("f8E4M3FN f8E4M3FN", "1"): "997ecf24a6853cb0",
    ("f32 f32", "1"): "1fae4a6dbfb8580e",
    ("f128 f128", "1"): "277f6e7affbdce31",
    ("f80", "2"): "72571d97533c2059",
    ("i1 f16 f16", "1"): "8cb5b83f2d32e050",
    ("i32 i32", "2"): "36fa68f1cf4e7cf6",
    ("i7 i128 i64", "weighted"): "5a87c8a7582e65ad",
    ("f32 bf16 f4E2M1FN f8E8M0FNU", "weighted"): "6001a299074ea2de",
    ("i1 i7 i32 i64 i100", "random"): "5f8d23114cb88327",
}


@pytest.mark.parametrize("key", list(DIGESTS), ids=str)
def test_operands_are_the_same_on_any_machine(key: tuple[str, LevelName]) -> None:
    rows = rows_of_types([as_type(name) for name in key[0].split()], key[1], 2026, 40_000)
    assert digest(rows.part(8_000, min(rows.count, 40_000))) == DIGESTS[key]


def test_philox_words_are_those_of_the_counter() -> None:
    np.testing.assert_array_equal(words(5, 0, 8, 4), np.random.Philox(key=5, counter=2).random_raw(4))
    np.testing.assert_array_equal(words(5, 0, 6, 3), words(5, 0, 0, 9)[6:])
    assert not np.array_equal(words(5, 1, 0, 4), words(5, 0, 0, 4))
    # Published test vectors of Philox4x64-10 (Random123): all bits of counter and key set.
    ones = (1 << 64) - 1
    raw = np.random.Philox(key=ones | ones << 64, counter=(1 << 256) - 2).random_raw(4)
    assert raw.tolist() == [0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0]
    with pytest.raises(ValueError, match="a seed is an integer from 0"):
        words(1 << 64, 0, 0, 1)


def test_uniform_codes_use_every_bit_once() -> None:
    np.testing.assert_array_equal(uniform(1, 0, 8, 0, 16), words(1, 0, 0, 2).astype("<u8").view(np.uint8))
    np.testing.assert_array_equal(uniform(1, 0, 5, 3, 9), uniform(1, 0, 8, 3, 9) & 31)
    assert uniform(1, 0, 0, 0, 3).tolist() == [0, 0, 0]
    assert uniform(1, 0, 100, 2, 1).tolist() == [[int(words(1, 0, 4, 2)[0]), int(words(1, 0, 4, 2)[1]) & (1 << 36) - 1]]
    counts = np.bincount(uniform(9, 0, 4, 0, 16_000), minlength=16)
    assert 850 < counts.min() < counts.max() < 1_150
    assert rounding_bits(1, 13, 0, 10).max() < 1 << 13


def test_dice_reach_both_ends() -> None:
    dice = Dice(1, 2)
    assert {dice.between(-2, 3) for _ in range(200)} == set(range(-2, 4))
    assert dice.between(4, 3) == 4
    assert dice.bits(0) == 0
    assert 1 << 190 < max(dice.bits(200) for _ in range(50)) < 1 << 200


@pytest.mark.parametrize("width", [16, 64, 128, 200])
def test_weighted_integers_are_sums_of_patterns_or_near_zero(width: int) -> None:
    """The carry from limb to limb: half of the numbers are sums of three patterns, made here with Python's integers."""
    kind, choices = IntegerKind(width), words(4, 1, 0, 3_000).tolist()
    patterns = significands(width, 2)
    codes = codes_to_ints(kind.random(4, 0, 0, 3_000), width)
    sums = [sum(patterns[(word >> shift & 65535) * len(patterns) >> 16] for shift in (16, 32, 48)) for word in choices]
    assert [code for code, word in zip(codes, choices, strict=True) if not word & 1] == [
        total % (1 << width) for total, word in zip(sums, choices, strict=True) if not word & 1
    ]
    signed = [code - (code >> width - 1 << width) for code, word in zip(codes, choices, strict=True) if word & 1]
    assert min(map(abs, signed)) < 8
    assert max(map(abs, signed)) > 1 << width - 2


def test_weighted_floats_meet_every_class_and_pattern() -> None:
    fmt = FORMATS["f32"]
    codes = FloatKind(fmt).random(0, 0, 0, 40_000).tolist()
    assert {code >> 23 for code in codes} >= set(testfloat_levels.exponent_fields(fmt, True))
    assert {code & fmt.fraction_mask for code in codes} > set(significands(23, 2))
    assert sum(0 < code & fmt.fraction_mask < 256 for code in codes) > 1_000


def test_enumeration_is_lazy_and_in_order() -> None:
    rows = exhaustive((8, 8))
    first, second = rows.part(0, rows.count)
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == list(product(range(256), repeat=2))
    large = exhaustive((32,))
    assert large.count == 1 << 32
    assert large.part((1 << 32) - 2, 1 << 32)[0].tolist() == [0xFFFFFFFE, 0xFFFFFFFF]
    assert [column.tolist() for column in exhaustive((1, 0, 2)).part(5, 8)] == [[1, 1, 1], [0, 0, 0], [1, 2, 3]]
    assert [len(column) for (column,) in large.chunks(10, 3, 28)] == [10, 10, 5]


def test_memory_does_not_grow_with_the_number_of_rows() -> None:
    rows = rows_of_case(op_case("arith.addf", "f32"), "2")
    rows.part(0, 10)
    tracemalloc.start()
    for number, _ in enumerate(rows.chunks(1 << 16)):
        if number == 8:
            break
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 << 20


@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 16, 31, 32, 33, 63, 64, 65, 100, 127, 128])
def test_integer_corners(width: int) -> None:
    every, top = (1 << width) - 1, 1 << width - 1
    few = {0, 1, every, top, top - 1, int("01" * width, 2) & every, int("10" * width, 2) & every}
    walking = {1 << k for k in range(width)}
    near = {(sign * one + step) & every for one in walking for sign in (1, -1) for step in (-1, 0, 1)}
    kind = IntegerKind(width)
    assert set(kind.corners(1, False)) >= few | walking
    assert set(kind.corners(2, False)) >= few | near
    assert set(kind.corners(1, True)) >= few | near
    assert set(IntegerKind(width, amount=True).corners(1, False)) >= {k & every for k in range(width + 2)}
    for level in (1, 2):
        for alone in (False, True):
            codes = kind.corners(level, alone)
            assert len(set(codes)) == len(codes)
            assert set(codes) <= set(range(every + 1)) if width < 16 else max(codes) <= every


def test_integers_alone_are_testfloats() -> None:
    """Its table of 32-bit patterns has 124 entries, of 64-bit ones 252; level 2 also has all sums of two."""
    assert len(significands(32, 2)) == 124
    assert len(significands(64, 2)) == 252
    base = significands(8, 2)
    assert set(IntegerKind(8).corners(2, True)) >= {(a + b) % 256 for a in base for b in base}


def test_shift_amounts_are_their_own_corners() -> None:
    amounts = set(rows_of_case(op_case("arith.shli", "i32"), "1").part(0, 6_000)[1][5::6].tolist())
    assert amounts >= set(range(34))


@pytest.mark.parametrize(
    ("expressed", "spelled"),
    [
        ("f32", "<i8:f32, 0.1:3>"),
        ("f32", "<i8<-100:90>:f32, 0.5:-7>"),
        ("f16", "<u8:f16, 0.0625:128>"),
        ("bf16", "<i4:bf16, 1.5>"),
        ("f64", "<i16:f64, 3.0e-3:12>"),
        ("f80", "<u8:f80, 0.1:200>"),
    ],
)
def test_corners_of_quantised_types_lie_where_stored_integers_change(expressed: str, spelled: str) -> None:
    """Around each integer of interest both it and the next come out, the clamp edges and what lies beyond are met."""
    asked = op_case("quant.qcast", expressed, f"!quant.uniform{spelled}")
    type_ = present(op_inputs.quantised_type(asked))
    rows = rows_of_case(asked, "1")
    columns = rows.part(0, rows.count)
    assert rows.period == 1
    expected = reference(asked, columns)
    poison = np.zeros(rows.count, bool) if expected.poison is None else expected.poison
    stored = set(expected.bits[0][~poison].tolist())
    mask = (1 << type_.storage_width) - 1
    edges = {
        edge + step for edge in (type_.storage_min, type_.storage_max, type_.zero_points[0], 0) for step in range(-2, 3)
    }
    wanted = {edge & mask for edge in edges if type_.storage_min <= edge <= type_.storage_max}
    assert stored >= wanted
    fmt = FORMATS[expressed]
    codes = set(codes_to_ints(columns[0], fmt.bits))
    scale = finite(fmt, scalar.from_fraction(fmt, Fraction(type_.scales[0])).code)
    for edge in (type_.storage_min, type_.storage_max, type_.zero_points[0]):
        for half in (0, 1):
            middle = scalar.from_fraction(fmt, (edge + Fraction(half, 2) - type_.zero_points[0]) * scale).code
            assert codes >= {op_inputs.neighbour(fmt, middle, step) for step in (-1, 0, 1)}
    assert any(fmt.is_nan(code) for code in codes)
    assert any(fmt.is_infinite(code) for code in codes)


def test_every_channel_and_block_has_its_own_corners() -> None:
    for spelled, alone in (
        ("<i8:f32:0, {0.5:3, 0.1, 7.0:-20}>", ("0.5:3", "0.1", "7.0:-20")),
        ("<i8:f32:2, {0.5:3, 0.1, 7.0:-20}>", ("0.5:3", "0.1", "7.0:-20")),
        (
            "<i8:f32:{0:1, 1:2}, {{0.5:3, 0.1}, {7.0:-20, 1.0}}>",
            ("0.5:3", "0.5:3", "0.1", "0.1", "7.0:-20", "7.0:-20", "1.0", "1.0"),
        ),
    ):
        asked = op_case("quant.qcast", "f32", f"!quant.uniform{spelled}")
        rows = rows_of_case(asked, "1", seed=5)
        assert rows.period == len(alone)
        columns = next(rows.chunks(rows.period if "{0:" in spelled else 1 << 12))
        tensor = op_inputs.shaped(asked, columns[0])
        np.testing.assert_array_equal(op_inputs.flat(asked, tensor, 32), columns[0])
        result = op_inputs.flat(asked, reference(asked, (tensor,)).bits[0], 8)
        for place, parameters in enumerate(alone):
            layer = op_case("quant.qcast", "f32", f"!quant.uniform<i8:f32, {parameters}>")
            own = columns[0][place :: rows.period]
            np.testing.assert_array_equal(result[place :: rows.period], reference(layer, (own,)).bits[0])
        full = rows.part(0, rows.count)[0]
        for place, parameters in enumerate(alone):
            layer = op_case("quant.qcast", "f32", f"!quant.uniform<i8:f32, {parameters}>")
            type_ = present(op_inputs.quantised_type(layer))
            sure = op_inputs.expressed_corners(FORMATS["f32"], type_, 0, 1, seed=99)
            zero = type_.zero_points[0]
            ties = [code for code in sure if (scalar.value(FORMATS["f32"], code) or 0) % 1 == 0 or zero]
            assert len(set(full[place :: rows.period].tolist()) & set(ties)) > 0.8 * len(ties)


def test_stored_operands_are_all_taken_or_lie_at_the_edges() -> None:
    asked = op_case("quant.dcast", "!quant.uniform<i8<-100:90>:f32, 0.5:3>", "f32")
    assert sorted(rows_of_case(asked, "1").part(0, 256)[0].tolist()) == list(range(256))
    wide = op_case("quant.dcast", "!quant.uniform<i16<-1000:900>:f32, 0.5:77>", "f32")
    rows = rows_of_case(wide, "1")
    assert set(rows.part(0, rows.count)[0].tolist()) >= {
        k & 65535 for k in (-1002, -1000, -998, 898, 902, 75, 77, 79, -32768)
    }
    every = rows_of_case(op_case("quant.dcast", "!quant.uniform<i8:f32:1, {0.5:3, 0.1}>", "f32"), "exhaustive")
    assert (every.count, every.period) == (512, 2)
    assert every.part(4, 8)[0].tolist() == [2, 2, 3, 3]


def finite(fmt: FloatFormat, code: int) -> Fraction:
    """Return the value of a finite code."""
    return present(scalar.value(fmt, code))


def test_neighbours_cross_zero_and_stop_at_the_ends() -> None:
    for name in ("f8E4M3FN", "f8E4M3FNUZ", "f32", "f80"):
        fmt = FORMATS[name]
        below = op_inputs.neighbour(fmt, fmt.min_normal_code, -1)
        for code in (0, 1, below, fmt.min_normal_code, fmt.max_code - 1):
            assert not fmt.is_invalid(code)
            up = op_inputs.neighbour(fmt, code, 1)
            assert finite(fmt, up) > finite(fmt, code)
            assert scalar.value(fmt, op_inputs.neighbour(fmt, up, -1)) == scalar.value(fmt, code)
        assert scalar.value(fmt, op_inputs.neighbour(fmt, 1, -2)) == -finite(fmt, 1)
        assert op_inputs.neighbour(fmt, fmt.max_code, 2) == fmt.max_code
        assert fmt.nan_code is not None
        assert op_inputs.neighbour(fmt, fmt.nan_code, 1) == fmt.nan_code


def test_models_come_before_the_level() -> None:
    asked = op_case("arith.mulf", "f16")
    alone = rows_for(asked, None, models=["B3"])
    both = rows_for(asked, "random", count=100, models=["B3"])
    assert both.count == alone.count + 100
    for own, column in zip(alone.part(0, alone.count), both.part(0, both.count), strict=True):
        np.testing.assert_array_equal(own, column[: alone.count])
    tail = both.part(alone.count - 1, alone.count + 2)
    assert [len(column) for column in tail] == [3, 3]


def test_counts_cut_the_beginning() -> None:
    asked = op_case("quant.qcast", "f32", "!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>")
    assert rows_for(asked, "1", count=100).count == 102
    assert rows_for(asked, "random", count=100).count == 102
    assert rows_for(op_case("arith.addf", "f32"), "1", count=100).count == 100
    assert rows_for(op_case("arith.addf", "f8E5M2"), "exhaustive").count == 1 << 16


def test_errors() -> None:
    asked = op_case("arith.addf", "f32")
    wrong: tuple[tuple[Any, int | None, str], ...] = (
        ("3", None, "unknown level '3'; choose one of 1, 2, exhaustive, random, weighted"),
        ("exhaustive", None, "operands of 64 bits together have too many combinations"),
        ("random", None, "random operands need a count"),
        (None, None, "no operands are chosen"),
    )
    for level, count, message in wrong:
        with pytest.raises(ValueError, match=message):
            rows_for(asked, level, count=count)
    with pytest.raises(Unsupported, match="no level has operands of type none"):
        rows_of_types([as_type("none")])
    rows = rows_of_case(asked, "1")
    with pytest.raises(ValueError, match="rows 0 to 46465 are not within 46464 rows"):
        rows.part(0, 46_465)
    with pytest.raises(ValueError, match="in groups of 2"):
        rows_of_case(op_case("quant.qcast", "f32", "!quant.uniform<i8:f32:1, {0.5, 0.25}>"), "1").part(0, 3)
    with pytest.raises(ValueError, match="tables of different operands"):
        one_after_another([rows, exhaustive((8,))])
    with pytest.raises(ValueError, match="too many combinations to enumerate"):
        exhaustive((64, 1))
    assert [len(column) for column in of_tuples([], (8, 80)).part(0, 0)] == [0, 0]


# --- stochastic rows --------------------------------------------------------------------------------------------------
#
# Vectors of programs that round stochastically: the number of each row's run is a column.

TEXT = """
func.func @f(%x: f32, %y: f16, %n: i2) -> f16 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.index_castui %n : i2 to index
  %start = arith.truncf %x : f32 to f16
  %r = scf.for %i = %zero to %end step %one iter_args(%a = %start) -> f16 {
    %b = arith.addf %a, %y : f16
    scf.yield %b : f16
  }
  return %r : f16
}
"""
TENSORS = """
func.func @f(%x: tensor<3xf32>) -> (tensor<3xf16>, f16) {
  %a = arith.truncf %x : tensor<3xf32> to tensor<3xf16>
  %start = tensor.empty() : tensor<f16>
  %zero = arith.constant 0.0 : f16
  %filled = linalg.fill ins(%zero : f16) outs(%start : tensor<f16>) -> tensor<f16>
  %sum = linalg.reduce { arith.addf } ins(%a : tensor<3xf16>) outs(%filled : tensor<f16>) dimensions = [0]
  %s = tensor.extract %sum[] : tensor<f16>
  return %a, %s : tensor<3xf16>, f16
}
"""
PROFILE = "spec,program_rounding=stochastic"


def _recipe(text: str, random: str) -> Recipe:
    return Recipe(ProgramComputation(text, "f", "f.mlir", as_profile(PROFILE), random=random), "weighted", count=200)


@pytest.mark.parametrize("text", thinned([TEXT, TENSORS], 2), ids=["branches", "tensors"])
@pytest.mark.parametrize("random", thinned(["philox:seed=5", "lfsr:width=16,taps=16+14+13+11,seed=0xACE1"], 2))
def test_each_row_is_a_run_of_its_number(text: str, random: str) -> None:
    recipe = _recipe(text, random)
    numbered = random.startswith("philox")
    names = [column.name for column in recipe.computation.inputs]
    assert (names[-1] == "random") == numbered
    (rows,) = list(recipe.chunks())
    operands = len(names) - numbered
    module, kinds = hu.parse(text), recipe.computation.operand_types
    for row in range(0, len(rows[0]), 9):
        given = [hu.Value.from_bits(column[row], kind) for column, kind in zip(rows, kinds, strict=False)]
        if text is TENSORS:
            given = [hu.Value.from_bits(np.array([column[row] for column in rows[:3]]), "f32")]
        run = f"{random},run={rows[operands][row]}" if numbered else random
        found = hu.run(module, *given, profile=PROFILE, random=run)
        bits = np.concatenate([np.atleast_1d(value.bits) for value in found])
        assert bits.tolist() == [column[row] for column in rows[len(names) : len(names) + bits.size]]


def test_parts_make_the_same_rows() -> None:
    recipe = _recipe(TEXT, "philox:seed=5,bits=9")
    whole = list(recipe.vectors(size=1000).chunks)
    parts = list(pickle.loads(pickle.dumps(recipe)).vectors(size=7).chunks)
    for column, *pieces in zip(whole[0], *parts, strict=True):
        assert np.array_equal(column, np.concatenate(pieces))


@pytest.mark.long
def test_files_are_checked_and_made_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "f.mlir"
    program.write_text(TEXT)
    options = [f"--profile={PROFILE}", "--random=philox:seed=4", "--level=weighted", "-n", "60"]
    assert main(["vectors", "make", str(program), *options, "--format=csv", "--out", str(tmp_path / "out")]) == 0
    (file,) = (tmp_path / "out").glob("*.csv")
    assert main(["vectors", "check", str(file)]) == 0
    assert "60 rows, none differs" in capsys.readouterr().out
    lines = file.read_text().split("\n")
    # Another run of the same row rounds in another way, somewhere.
    changed = [lines[0], *[line.replace(f",{line.split(',')[3]},", ",0x00000000,") for line in lines[1:] if line]]
    file.write_text("\n".join([*changed, ""]))
    assert main(["vectors", "check", str(file)]) == 1
    sweep = tmp_path / "sweep"
    assert (
        main(["vectors", "sweep", str(program), *options, "--out", str(sweep), "--workers=1", "--shard-rows=16"]) == 0
    )


def test_python_and_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = hu.vectors(TEXT, level="weighted", n=50, profile=PROFILE, random="philox:seed=4")
    row = made[3]
    assert row.random is not None
    with pytest.raises(hu.errors.InputError, match="has no random bits"):
        hu.vectors(TEXT, profile=PROFILE)
    with pytest.raises(hu.errors.InputError, match="does not round stochastically"):
        hu.vectors(TEXT, random="philox:seed=4")
    with pytest.raises(hu.errors.InputError, match="random can be used only with a program"):
        hu.vectors("arith.addf", "f16", random="philox:seed=4")
    assert main(["vectors", "make", "arith.addf", "--type=f16", "--random=philox:seed=1"]) == 2
    program = tmp_path / "f.mlir"
    program.write_text(TEXT)
    assert main(["vectors", "make", str(program), f"--profile={PROFILE}", "--random=philox"]) == 2
    assert "--random=philox: philox needs seed" in capsys.readouterr().err


# --- conditions of TOSA -----------------------------------------------------------------------------------------------

SCALINGS = (
    # operands, result, scale32, input_unsigned
    (("i32", "i32", "i8", "i32", "i8"), "i8", True, False),
    (("i8", "i32", "i8", "i8", "i32"), "i32", True, True),
    (("i16", "i16", "i8", "i16", "i16"), "i16", False, True),
    (("i48", "i16", "i8", "i48", "i16"), "i16", False, False),
)


def scaled(row: tuple[int, ...], widths: Sequence[int], wide: bool, unsigned: bool) -> bool:
    """Tell whether the pseudo code of RESCALE in the specification has a result for a row, except for zero points."""
    signed = [code - (code >> width - 1 << width) for code, width in zip(row, widths, strict=True)]
    value = row[0] - row[3] if unsigned else signed[0] - signed[3]
    multiplier, shift = signed[1:3]
    if multiplier < 0 or not 2 <= shift <= 62:
        return False
    result = value * multiplier + (1 << shift - 1) >> shift
    fits = -(1 << shift - 1) <= value < 1 << shift - 1 if wide else -(1 << 31) <= result < 1 << 31
    return fits and -(1 << 31) <= result + signed[4] < 1 << 31


def exact_halves(row: tuple[int, ...], widths: Sequence[int], unsigned: bool, result: str) -> bool | None:
    """Tell whether a row has a result below zero; None if it is not in the middle between two results in the range."""
    signed = [code - (code >> width - 1 << width) for code, width in zip(row, widths, strict=True)]
    product, half = (row[0] - row[3] if unsigned else signed[0] - signed[3]) * row[1], 1 << row[2] - 1
    inside = abs((product >> row[2]) + signed[4]) < 1 << int(result[1:]) - 1
    return product < 0 if inside and product % (2 * half) == half else None


@pytest.mark.parametrize(("operands", "result", "wide", "unsigned"), SCALINGS)
def test_operands_of_rescale_are_mostly_defined(
    operands: tuple[str, ...], result: str, wide: bool, unsigned: bool
) -> None:
    case = op_case(
        "tosa.rescale", operands, to=result, scale32=wide, rounding_mode="SINGLE_ROUND", per_channel=False,
        input_unsigned=unsigned, output_unsigned=False,
    )  # fmt: skip
    top = 1 << (30 if wide else 14)
    for level in ("weighted", "1"):
        rows = rows_of_case(case, level, seed=3, count=2000)
        columns = rows.part(0, 2000)
        assert [code.tolist() for code in rows.part(700, 900)] == [code[700:900].tolist() for code in columns]
        numbers = list(zip(*(codes.tolist() for codes in columns), strict=True))
        good = sum(scaled(row, case.operand_widths, wide, unsigned) for row in numbers)
        assert good >= 1940, (level, good)
        assert all(top <= row[1] < 2 * top or row[1] in (0, 1, top - 1) for row in numbers)
        assert {row[2] for row in numbers} == set(range(2, 63))
        down = [exact_halves(row, case.operand_widths, unsigned, result) for row in numbers]
        assert min(down.count(True), down.count(False)) >= (20 if operands[0] in ("i32", "i48") else 4), (level, down)
        others = {"i8": range(256), "i16": (0, 1 << 15) if unsigned else (0,)}
        assert all(row[3] in others.get(operands[3], (0,)) for row in numbers)
    sample = sampled_inputs(case, 4000)
    numbers = list(zip(*(codes.tolist() for codes in sample), strict=True))
    assert 3800 <= sum(scaled(row, case.operand_widths, wide, unsigned) for row in numbers) <= 4000
    # An implementation has one zero point for a whole tensor, so there are few.
    assert len({row[3:] for row in numbers}) <= 64
