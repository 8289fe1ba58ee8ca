"""Recipes of vectors: every column of a row is what exact arithmetic gives, however the set is cut into parts.

Floats and their flags are recomputed by `scalar`, value by value; integers and quantised types by formulas in Python;
programs by `hu.run`, row by row.
"""

import json
import pickle
from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import count, pairwise, product
from typing import Any

import numpy as np
import pytest
from amounts import thinned

import halfulp as hu
from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.conformance.vectors.columns import Role
from halfulp.conformance.vectors.computation import OpComputation, ProgramComputation
from halfulp.conformance.vectors.recipe import Recipe, recipe_of
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat, codes_to_ints
from halfulp.fp_formats.policy import Flags, Rounding
from halfulp.interp.ir.errors import HalfulpError, InputError, Unsupported
from halfulp.interp.values.coerce import as_type
from halfulp.semantics.profile import PROFILE_FIELDS, SPEC, as_profile

MODES = tuple(Rounding)[:5]
_NAMES = (
    *("spec", "spec,denormals=flush_both", "spec,denormals=flush_operands,denormal_zero=positive", "ml_dtypes"),
    *(
        "spec,denormals=flush_results,tininess=before",
        "ocp-saturate",
        "spec,tininess=before",
        "spec,nan_result=canonical",
    ),
)
PROFILES = tuple(map(as_profile, _NAMES))

ROUNDED = {"addf": "add", "subf": "subtract", "mulf": "multiply", "divf": "divide"}


def rows_of(recipe: Recipe, *, pieces: int = 4, size: int = 12) -> list[dict[str, int]]:
    """Return rows from several places of a set, by the names of their columns."""
    rows: list[dict[str, int]] = []
    last = recipe.rows.count
    size = -(-size // recipe.step) * recipe.step
    for piece in range(pieces):
        start = min(last * piece // pieces, max(last - size, 0)) // recipe.step * recipe.step
        rows += table(recipe, start, min(start + size, last))
    return rows


def table(recipe: Recipe, start: int = 0, stop: int | None = None) -> list[dict[str, int]]:
    chunk = recipe.vectors(start, stop).gather()
    columns = [codes_to_ints(codes, c.width) for codes, c in zip(chunk, recipe.columns, strict=True)]
    names = [c.name for c in recipe.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def check_floats(recipe: Recipe, compute: Any, flags: bool = True) -> Counter[str]:
    """Compare rows with `Result`s, and count each flag and poison."""
    seen: Counter[str] = Counter()
    names = [c.name for c in recipe.columns]
    for row in rows_of(recipe):
        operands = [row[name] for name in "abc" if name in row]
        expected = compute(*operands) if "random" not in row else compute(*operands, random=row["random"])
        assert row.get("poison", 0) == int(expected.poison), (recipe.computation, row)
        assert expected.poison or row["result"] == expected.code, (recipe.computation, row, expected)
        if flags:
            assert row["flags"] == expected.flags, (recipe.computation, row, expected)
        assert ("flags" in names) >= flags
        seen.update(flag.name for flag in Flags if expected.flags & flag and flag.name)
        seen["poison"] += expected.poison
    return seen


# --- floats -----------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("name", list(FORMATS))
def test_arithmetic_is_what_scalar_gives(name: str) -> None:
    fmt, turn, seen = FORMATS[name], count(), Counter[str]()
    for (op, function), mode in product(ROUNDED.items(), MODES):
        profile = PROFILES[next(turn) % len(PROFILES)]
        recipe = Recipe(OpComputation(op_case(f"arith.{op}", name, rounding=mode.spelling), profile), seed=1)
        compute = partial(getattr(scalar, function), fmt, rounding=mode, policy=profile.arithmetic)
        seen += check_floats(recipe, compute)
    for profile in PROFILES:
        recipe = Recipe(OpComputation(op_case("arith.remf", name), profile))
        seen += check_floats(recipe, partial(scalar.remainder, fmt, policy=profile.arithmetic))
    assert {"OVERFLOW", "INEXACT"} <= set(seen)


def cast_of(source: FloatFormat, target: FloatFormat, mode: Rounding) -> OpCase:
    """Return the op that converts, with the mode where it takes one."""
    op = "extf" if source.bits < target.bits else "truncf" if source.bits > target.bits else "convertf"
    asked = {"truncf": {"roundingmode": mode.spelling}, "convertf": {"roundingmode": mode.spelling}, "extf": {}}[op]
    return op_case(f"arith.{op}", source.name, target.name, **asked)


@pytest.mark.long
@pytest.mark.parametrize("name", list(FORMATS))
def test_conversions_are_what_scalar_gives(name: str) -> None:
    source, turn = FORMATS[name], count(list(FORMATS).index(name))
    for target in FORMATS.values():
        if target == source:
            continue
        k = next(turn)
        mode, profile = MODES[k % 5], PROFILES[k % len(PROFILES)]
        asked = cast_of(source, target, mode)
        rounding = mode if asked.properties else Rounding.TO_NEAREST_EVEN
        check_floats(
            Recipe(OpComputation(asked, profile), "1"),
            lambda a, target=target, rounding=rounding, profile=profile: scalar.convert(
                source, target, a, rounding, profile.conversions
            ),
        )


@pytest.mark.long
@pytest.mark.parametrize("bits", thinned([1, 5, 16, 64], 2))
def test_stochastic_rounding_is_what_scalar_gives_for_its_random_bits(bits: int) -> None:
    turn = count(bits)
    for name, fmt in FORMATS.items():
        op, function = list(ROUNDED.items())[next(turn) % 4]
        profile = PROFILES[next(turn) % len(PROFILES)]
        recipe = Recipe(OpComputation(op_case(f"arith.{op}", name), profile, random_bits=bits), seed=bits)
        assert [c.name for c in recipe.columns][:4] == ["a", "b", "random", "result"]

        def compute(
            a: int, b: int, random: int, fmt: Any = fmt, function: Any = function, profile: Any = profile
        ) -> Any:
            mode = Rounding.STOCHASTIC
            return getattr(scalar, function)(fmt, a, b, mode, profile.arithmetic, (random, bits))

        check_floats(recipe, compute)
    for target in ("f8E4M3FN", "f4E2M1FN", "bf16"):

        def convert(a: int, random: int, target: str = target) -> Any:
            policy = SPEC.conversions
            return scalar.convert(FORMATS["f32"], FORMATS[target], a, Rounding.STOCHASTIC, policy, (random, bits))

        check_floats(
            Recipe(OpComputation(op_case("arith.truncf", "f32", target), random_bits=bits), seed=bits), convert
        )


def test_a_table_of_all_rows_gives_what_rows_give_alone() -> None:
    """Small operands are looked up in a table where there are many rows: 8 bits twice, and 8 with 7 random bits."""
    for asked, bits in ((op_case("arith.mulf", "f8E5M2"), None), (op_case("arith.divf", "f4E2M1FN"), 7)):
        recipe = Recipe(OpComputation(asked, random_bits=bits), "random", seed=3, count=5_000)
        whole = table(recipe)
        pieces = [row for start in range(0, 5_000, 500) for row in table(recipe, start, start + 500)]
        assert whole == pieces


# --- integers ---------------------------------------------------------------------------------------------------------


def signed8(code: int) -> int:
    return code - 256 if code >> 7 else code


def test_integers_that_overflow_are_poison() -> None:
    recipe = Recipe(OpComputation(op_case("arith.addi", "i8", overflowFlags="nsw,nuw")), "exhaustive")
    assert [c.name for c in recipe.columns] == ["a", "b", "result", "poison"]
    rows = table(recipe)
    assert len(rows) == 1 << 16
    for row in rows[::97]:
        a, b = row["a"], row["b"]
        assert row["poison"] == (a + b > 255 or not -128 <= signed8(a) + signed8(b) <= 127)
        assert row["poison"] or row["result"] == a + b
    ignored = OpComputation(op_case("arith.addi", "i8", overflowFlags="nsw,nuw"), as_profile("mlir22-fold"))
    assert [c.name for c in Recipe(ignored).columns] == ["a", "b", "result"]


@pytest.mark.long
def test_rows_with_undefined_behaviour_are_left_out_or_poison() -> None:
    asked = op_case("arith.divsi", "i8")
    undefined = [(a, b) for a in range(256) for b in range(256) if b == 0 or (a, b) == (128, 255)]
    told: list[int] = []
    recipe = Recipe(OpComputation(asked), "exhaustive")
    assert [c.name for c in recipe.columns] == ["a", "b", "result"]
    for _ in recipe.chunks(size=1 << 12, left_out=told.append):
        pass
    assert sum(told) == len(undefined) == 257
    rows = table(recipe)
    assert {(row["a"], row["b"]) for row in rows} == {*product(range(256), repeat=2)} - set(undefined)
    for row in rows[::101]:
        a, b = signed8(row["a"]), signed8(row["b"])
        assert signed8(row["result"]) == abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    kept = table(Recipe(OpComputation(asked, keep_ub=True), "exhaustive"))
    assert [(row["a"], row["b"]) for row in kept if row["poison"]] == undefined
    assert [{**row, "poison": 0} for row in rows] == [row for row in kept if not row["poison"]]


def test_two_results_of_one_op() -> None:
    for row in table(Recipe(OpComputation(op_case("arith.mulsi_extended", "i8")), "exhaustive"))[::89]:
        product_ = signed8(row["a"]) * signed8(row["b"])
        assert (row["result0"], row["result1"]) == (product_ & 255, product_ >> 8 & 255)


# --- quantised types --------------------------------------------------------------------------------------------------

QUANTISED = {
    "!quant.uniform<i8:f32, 0.5:3>": [(0.5, 3)],
    "!quant.uniform<i8:f32:1, {0.5:3, 2.0:-7, 0.25}>": [(0.5, 3), (2.0, -7), (0.25, 0)],
    "!quant.uniform<i8:f32:0, {4.0, 0.125:1}>": [(4.0, 0), (0.125, 1)],
    # A tensor of 2 x 4 in blocks of 1 x 2.
    "!quant.uniform<i8:f32:{0:1, 1:2}, {{0.5:3, 2.0:-7}, {0.25, 8.0:1}}>": [
        *((0.5, 3), (0.5, 3), (2.0, -7), (2.0, -7)),
        *((0.25, 0), (0.25, 0), (8.0, 1), (8.0, 1)),
    ],
}
"""Types, with the scale and zero point of each row of a period."""


def single(number: Fraction) -> Fraction:
    """Round a number to f32; for an infinite result return its sign and more than any i8."""
    rounded = scalar.value(FORMATS["f32"], scalar.from_fraction(FORMATS["f32"], number).code)
    return number if rounded is None else rounded


@pytest.mark.parametrize("spelled", thinned(list(QUANTISED), 2))
def test_the_parameters_of_a_row_are_those_of_its_place(spelled: str) -> None:
    places, f32 = QUANTISED[spelled], FORMATS["f32"]
    stored = Recipe(OpComputation(op_case("quant.dcast", spelled, "f32")), "exhaustive")
    assert stored.step == len(places)
    rows = table(stored)
    assert len(rows) == 256 * len(places)
    for k, row in enumerate(rows):
        scale, zero = places[k % len(places)]
        number = (signed8(row["a"]) - zero) * Fraction(scale)
        assert scalar.value(f32, row["result"]) == number
    real = Recipe(OpComputation(op_case("quant.qcast", "f32", spelled)), "1")
    clamped = 0
    for k, row in enumerate(table(real)):
        given = scalar.value(f32, row["a"])
        if given is None:
            continue
        scale, zero = places[k % len(places)]
        # Each step is rounded to f32, and then to an integer, by Python to even as well.
        stored_number = round(single(single(given / Fraction(scale)) + zero))
        assert row["poison"] == 0
        assert signed8(row["result"]) == max(-128, min(127, stored_number)), (spelled, k, row)
        clamped += not -128 <= stored_number <= 127
    assert clamped > len(places)


# --- programs ---------------------------------------------------------------------------------------------------------

SCALARS = """
func.func @f(%a: i8, %b: i8) -> (i8, i8) {
  %q = arith.divsi %a, %b : i8
  %s = arith.addi %a, %b overflow<nsw> : i8
  return %s, %q : i8, i8
}
func.func @checked(%a: i8) -> i8 {
  %c = arith.constant 100 : i8
  %ok = arith.cmpi slt, %a, %c : i8
  cf.assert %ok, "too large"
  return %a : i8
}
func.func @branches(%a: f16, %b: f16) -> f16 {
  %c = arith.cmpf olt, %a, %b : f16
  %r = scf.if %c -> f16 {
    %x = arith.mulf %a, %b : f16
    scf.yield %x : f16
  } else {
    %x = arith.subf %a, %b : f16
    scf.yield %x : f16
  }
  return %r : f16
}
func.func @tensors(%a: tensor<2x2xf8E4M3FN>, %b: i1) -> tensor<2x2xi8> {
  %x = arith.addf %a, %a : tensor<2x2xf8E4M3FN>
  %y = arith.select %b, %x, %a : tensor<2x2xf8E4M3FN>
  %z = arith.fptosi %y : tensor<2x2xf8E4M3FN> to tensor<2x2xi8>
  return %z : tensor<2x2xi8>
}
func.func @zeros(%a: f16, %b: f16) -> (f16, f16) {
  %m = arith.addf %a, %b fastmath<nsz> : f16
  %n = arith.subf %a, %b : f16
  return %m, %n : f16, f16
}
func.func @through(%a: f16, %b: f16) -> f16 {
  %m, %n = func.call @zeros(%a, %b) : (f16, f16) -> (f16, f16)
  %r = func.call @through(%m, %n) : (f16, f16) -> f16
  return %m : f16
}
func.func @elsewhere(%a: tensor<?xf16>) -> tensor<?xf16> {
  return %a : tensor<?xf16>
}
"""


def program(function: str, **options: Any) -> ProgramComputation:
    return ProgramComputation(SCALARS, function, "scalars.mlir", **options)


@pytest.mark.long
def test_scalars_in_lanes_are_what_a_run_gives() -> None:
    recipe = Recipe(program("branches"), seed=4)
    assert [c.name for c in recipe.columns] == ["arg0", "arg1", "result", "poison"]
    for row in rows_of(recipe, pieces=6):
        given = [hu.Value(as_type("f16"), np.array(row[name], np.uint16)) for name in ("arg0", "arg1")]
        (result,) = hu.run(SCALARS, *given, function="branches")
        assert (row["result"], row["poison"]) == (int(result.bits), 0)


@pytest.mark.long
def test_lanes_with_undefined_behaviour_are_dropped_or_poison() -> None:
    undefined = {(a, b) for a in range(256) for b in range(256) if b == 0 or (a, b) == (128, 255)}
    rows = table(Recipe(program("f"), "exhaustive"))
    assert list(rows[0]) == ["arg0", "arg1", "result0", "result1", "poison_result0", "poison_result1"]
    assert {(row["arg0"], row["arg1"]) for row in rows} == {*product(range(256), repeat=2)} - undefined
    for row in rows[::57]:
        a, b = signed8(row["arg0"]), signed8(row["arg1"])
        assert row["poison_result0"] == (not -128 <= a + b <= 127)
        assert row["poison_result0"] or signed8(row["result0"]) == a + b
        assert row["poison_result1"] == 0
        assert signed8(row["result1"]) == abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    kept = table(Recipe(program("f", keep_ub=True), "exhaustive"))
    assert {(row["arg0"], row["arg1"]) for row in kept if row["poison_result1"]} == undefined
    assert all(row["poison_result0"] for row in kept if row["poison_result1"])
    assert [row for row in kept if not row["poison_result1"]] == rows


def test_rows_that_fail_an_assertion_have_undefined_behaviour() -> None:
    rows = table(Recipe(program("checked"), "exhaustive"))
    assert [row["arg0"] for row in rows] == [*range(100), *range(128, 256)]
    assert all(row["result"] == row["arg0"] for row in rows)
    kept = table(Recipe(program("checked", keep_ub=True), "exhaustive"))
    assert [row["arg0"] for row in kept if row["poison"]] == list(range(100, 128))


def test_tensors_have_a_column_for_each_element() -> None:
    recipe = Recipe(program("tensors"), "random", seed=5, count=40)
    places = ["0_0", "0_1", "1_0", "1_1"]
    names = [*(f"arg0_{at}" for at in places), "arg1", *(f"result_{at}" for at in places)]
    assert [c.name for c in recipe.columns] == [*names, *(f"poison_result_{at}" for at in places)]
    fmt, poison = FORMATS["f8E4M3FN"], 0
    for row in table(recipe):
        for at in places:
            given = row[f"arg0_{at}"]
            total = scalar.add(fmt, given, given).code if row["arg1"] else given
            expected = scalar.to_integer(fmt, total, 8, True)
            assert row[f"poison_result_{at}"] == expected.poison
            assert expected.poison or row[f"result_{at}"] == expected.code
            poison += expected.poison
    assert poison


def test_open_bits_of_a_program_are_those_of_the_result_they_are_about() -> None:
    rows = table(Recipe(program("zeros")), 0, 8_000)
    assert list(rows[0])[4:] == ["poison_result0", "poison_result1", "open_result0", "open_result1"]
    for row in rows:
        total = scalar.add(FORMATS["f16"], row["arg0"], row["arg1"]).code
        assert row["open_result0"] == (0x8000 if total & 0x7FFF == 0 else 0)
        assert row["open_result1"] == 0
    assert any(row["open_result0"] for row in rows)
    assert [c.name for c in program("through").outputs] == ["result", "poison", "open"]


def test_what_makes_no_columns_is_refused() -> None:
    with pytest.raises(InputError, match="there is no function 'nothing'"):
        program("nothing")
    with pytest.raises(Unsupported, match="which cannot be columns"):
        program("elsewhere")
    with pytest.raises(InputError, match="not for programs"):
        _ = Recipe(program("f"), models=("B1",)).rows
    with pytest.raises(ValueError, match="1 to 64 random bits"):
        OpComputation(op_case("arith.addf", "f16"), random_bits=65)
    with pytest.raises(Unsupported, match="no stochastic rounding"):
        OpComputation(op_case("arith.remf", "f16"), random_bits=8)


# --- open results -----------------------------------------------------------------------------------------------------


def test_the_sign_of_a_zero_is_open_without_signed_zeros() -> None:
    rows = table(Recipe(OpComputation(op_case("arith.mulf", "f8E4M3FN", fastmath="nsz")), "exhaustive"))
    assert {row["open"] for row in rows if row["result"] & 0x7F} == {0}
    assert {row["open"] for row in rows if not row["result"] & 0x7F} == {0x80}


def test_either_zero_will_do_where_maxnumf_meets_both() -> None:
    for row in table(Recipe(OpComputation(op_case("arith.maxnumf", "f8E4M3FN")), "exhaustive")):
        assert row["open"] == (0x80 if {row["a"], row["b"]} == {0x00, 0x80} else 0)


def test_a_sum_in_another_order_is_open_as_a_whole() -> None:
    rows = table(Recipe(OpComputation(op_case("arith.mulf", "f16", fastmath="arcp,reassoc"))))[:2_000]
    assert {row["open"] for row in rows} <= {0, 0x8000, 0xFFFF}
    assert any(row["open"] == 0xFFFF for row in rows)


# --- parts and recipes ------------------------------------------------------------------------------------------------

RECIPES = {
    "corners": Recipe(OpComputation(op_case("arith.addf", "f8E4M3FN")), "1", seed=1),
    "models": Recipe(OpComputation(op_case("arith.truncf", "f32", "f16", roundingmode="upward")), None, ("B3", "B5")),
    "both": Recipe(
        OpComputation(op_case("arith.mulf", "bf16"), PROFILES[3], flags=False), "weighted", ("B4",), 9, 3_000
    ),
    "stochastic": Recipe(OpComputation(op_case("arith.divf", "f80"), random_bits=11), "random", seed=2, count=500),
    "undefined": Recipe(OpComputation(op_case("arith.remsi", "i8"), keep_ub=True), "weighted", seed=8, count=2_000),
    "left out": Recipe(OpComputation(op_case("arith.remsi", "i8")), "exhaustive", count=30_000),
    "channels": Recipe(OpComputation(op_case("quant.qcast", "f32", list(QUANTISED)[1]), PROFILES[0]), "2"),
    "blocks": Recipe(OpComputation(op_case("quant.dcast", list(QUANTISED)[3], "f32")), "exhaustive"),
    "program": Recipe(program("branches"), "random", seed=6, count=2_000),
    "lanes": Recipe(program("f", keep_ub=True), "exhaustive", count=9_000),
    "tensors": Recipe(program("tensors", profile=PROFILES[4]), "random", seed=1, count=60),
    "scaled": Recipe(OpComputation(op_case("arith.scaling_extf", ["f4E2M1FN", "f8E8M0FNU"], "f32")), "1", block=32),
}


@pytest.mark.parametrize("name", thinned(list(RECIPES), 4))
def test_parts_are_those_of_the_whole(name: str) -> None:
    recipe = RECIPES[name]
    step, last = recipe.step, recipe.rows.count
    whole = recipe.vectors().gather()
    assert len(whole[0]) or not last
    cuts = [0, step, last // 3 // step * step, last // 2 // step * step, last - step, last]
    parts = [recipe.vectors(start, stop).gather() for start, stop in pairwise(cuts)]
    for k, column in enumerate(whole):
        np.testing.assert_array_equal(np.concatenate([part[k] for part in parts]), column)
    assert recipe.vectors(size=777).digest() == recipe.vectors(size=1 << 20).digest()


@pytest.mark.parametrize("name", thinned(list(RECIPES), 3))
def test_a_recipe_is_made_again_from_its_metadata_and_from_a_pickle(name: str) -> None:
    recipe = RECIPES[name]
    _ = recipe.rows, recipe.columns  # what was derived is no part of either
    document = {
        "source": recipe.computation.source(),
        "profile": {"name": recipe.computation.profile.name, "fields": fields_of(recipe)},
        "inputs": recipe.inputs(),
    }
    again = [recipe_of(json.loads(json.dumps(document))), pickle.loads(pickle.dumps(recipe))]
    for other in again:
        assert other.columns == recipe.columns
        assert other.step == recipe.step
        assert other.vectors().digest() == recipe.vectors().digest()


def fields_of(recipe: Recipe) -> dict[str, str]:
    return {name: getattr(recipe.computation.profile, name) for name in PROFILE_FIELDS}


def test_random_rows_do_not_depend_on_how_many_there_are() -> None:
    computation = OpComputation(op_case("arith.addf", "f16"), random_bits=9)
    few, many = (Recipe(computation, "random", seed=7, count=n) for n in (1_000, 100_000))
    assert table(few) == table(many, 0, 1_000)
    assert table(Recipe(computation, "random", seed=8, count=10)) != table(few, 0, 10)


def test_metadata_that_makes_no_recipe() -> None:
    recipe = RECIPES["corners"]
    good = {
        "source": recipe.computation.source(),
        "profile": {"name": "spec", "fields": fields_of(recipe)},
        "inputs": recipe.inputs(),
    }
    bad: list[tuple[dict[str, Any], str]] = [
        ({"inputs": {"level": "given"}}, r"old.json: the operands of level 'given' cannot be made again"),
        ({"source": {}}, "old.json: the metadata does not say how its vectors are made"),
        ({"profile": {"name": "spec", "fields": {"denormals": "never"}}}, "old.json: .*denormals is 'never'"),
        ({"profile": {"name": "spec", "fields": {"colour": "red"}}}, "old.json: .*no profile has the field 'colour'"),
        ({"source": {**good["source"], "results": ["f8E4M3FN", "i1"]}}, "old.json: .*has no results f8E4M3FN, i1"),
        ({"source": {**good["source"], "op": "arith.addg"}}, "arith.addg"),
        ({"source": {**good["source"], "results": []}}, "old.json: the metadata does not say how"),
        ({"inputs": {**good["inputs"], "seed": -1}}, "old.json: .*seed is -1"),
        ({"inputs": {**good["inputs"], "seed": 1 << 64}}, "old.json: .*seed is 18446744073709551616"),
        ({"inputs": {**good["inputs"], "options": {"count": "7"}}}, "old.json: .*count is '7'"),
        ({"inputs": {**good["inputs"], "options": {"block": [8]}}}, r"old.json: .*block is \[8\]"),
        ({"inputs": {"level": "random"}}, "old.json: .*random operands need a count"),
    ]
    for change, message in bad:
        with pytest.raises(HalfulpError, match=message):
            recipe_of({**good, **change}, "old.json")


def test_columns_are_known_before_anything_is_computed() -> None:
    """Every part has the same columns, also one in which no result is poison or unspecified."""
    for recipe in RECIPES.values():
        assert [c.role for c in recipe.columns] == sorted(
            (c.role for c in recipe.columns), key=lambda role: list(Role).index(role)
        )
        empty = recipe.vectors(0, 0).gather()
        assert [len(codes) for codes in empty] == [0] * len(recipe.columns)
