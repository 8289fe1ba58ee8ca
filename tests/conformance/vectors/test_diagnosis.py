"""Diagnoses of faulty devices: what was planted is named first. And the rows that are kept to find it."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count, islice
from typing import Any, Literal

import numpy as np
import pytest
from amounts import amounts
from planted_datapaths import (
    BF16,
    E4M3,
    E5M2,
    F16,
    F32,
    MISTAKES,
    MODES,
    Dot,
    Mistake,
    Unit,
    bounds_of_integers,
    cancelled_sign,
    carry_lost,
    computation_of,
    dot_multiplier,
    dotted,
    field_power,
    guard_lost,
    narrow,
    right_rows,
    shift_most,
    sticky_lost,
)
from planted_datapaths import outputs_of as made_by
from planted_devices import PLANTS, Dice, Plant, accumulated, pick, split
from planted_fixed_point import MISTAKES as MISTAKES_IN_FIXED_POINT
from planted_results import RESULTS, element_code, ties
from planted_specials import SPECIALS, compared_as_integers, nan_infinite, operand_late
from planted_wires import WIRES, wires_crossed
from present import present
from tree import ROOT

import halfulp as hu
from halfulp.codegen.tile_names import operation_named
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.causes import DIAGNOSES
from halfulp.conformance.vectors.columns import Chunk, Role, ignoring
from halfulp.conformance.vectors.computation import Computation, OpComputation, ProgramComputation
from halfulp.conformance.vectors.device import Device
from halfulp.conformance.vectors.other_computations import other_programs
from halfulp.conformance.vectors.program_steps import steps_of
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.row_check import MOST_EXAMINED, Check, VectorChecker
from halfulp.conformance.vectors.sampling import CONTROLS, Sampler
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.fp_formats.formats import Codes, storage_dtype
from halfulp.fp_formats.policy import Flags
from halfulp.semantics.profile import Profile, as_profile

FEWEST = 5
"""Fewer rows that differ do not tell one fault from another."""

WRONG = 1
"""Of twenty plants of a kind, so many may be named second."""


def check(plant: Plant) -> Check:
    computation = plant.computation
    inputs, _ = split(computation, plant.rows)
    columns = computation.outputs if plant.alone else computation.inputs + computation.outputs
    foreseen = [plant.rows] if plant.alone else None
    return VectorChecker(computation, columns, foreseen=foreseen).read(
        [(() if plant.alone else inputs) + plant.outputs]
    )


@pytest.mark.long
@pytest.mark.parametrize("planted", PLANTS, ids=lambda planted: planted.__name__)
@pytest.mark.parametrize("seeds", amounts(1, 20))
def test_what_is_planted_is_named_first(planted: Callable[[Dice], Plant], seeds: int) -> None:
    plants = (planted(np.random.default_rng(seed)) for seed in count())
    checked = ((plant, check(plant)) for plant in plants)
    telling = islice(((plant, found) for plant, found in checked if found.differing >= FEWEST), seeds)
    wrong = [
        (str(plant.computation.case), plant.name, found.explanations[:3])
        for plant, found in telling
        if not (found.explanations and found.explanations[0].name.startswith(plant.name))
    ]
    assert len(wrong) <= (WRONG if seeds == 20 else 0), wrong


def named(mistake: Mistake, any_nan: bool = False) -> Check:
    computation, rows = mistake.computation, mistake.rows
    place = len(computation.inputs)
    outputs = mistake.outputs + rows[place + len(mistake.outputs) :]
    checker = VectorChecker(computation, computation.inputs + computation.outputs, any_nan=any_nan)
    return checker.read([rows[:place] + outputs])


@pytest.mark.long
@pytest.mark.parametrize("planted", [*MISTAKES, *RESULTS, *SPECIALS, *WIRES], ids=lambda planted: planted.__name__)
@pytest.mark.parametrize("seeds", amounts(1, 20))
def test_mistakes_in_datapaths_are_named_first(planted: Callable[[Dice], Mistake], seeds: int) -> None:
    """Of twenty units of a kind, 19 are named first, and all among the first three; so is a single one."""
    mistakes = (planted(np.random.default_rng(seed)) for seed in count())
    checked = ((mistake, named(mistake)) for mistake in mistakes)
    wrong = []
    for mistake, found in islice((pair for pair in checked if pair[1].differing >= FEWEST), seeds):
        told = [
            any(one.name.startswith(mistake.names) and not one.refuted for one in found.explanations[:first])
            for first in (1, 3)
        ]
        if not all(told):
            wrong.append((told[1], str(mistake.computation), mistake.names[0], found.explanations[:3]))
    assert len(wrong) <= WRONG, wrong
    assert all(among_three for among_three, *_ in wrong), wrong


@pytest.mark.long
@pytest.mark.parametrize(
    "planted",
    [cancelled_sign, bounds_of_integers, field_power, ties, element_code],
    ids=lambda planted: planted.__name__,
)
def test_a_mistake_in_a_datapath_is_named_first(planted: Callable[[Dice], Mistake]) -> None:
    mistake = planted(np.random.default_rng(1))
    first = named(mistake).explanations[0]
    assert first.name.startswith(mistake.names), first


@pytest.mark.parametrize("planted", [nan_infinite, compared_as_integers, operand_late, wires_crossed])
def test_a_mistake_with_special_operands_is_named_first(planted: Callable[[Dice], Mistake]) -> None:
    mistake = planted(np.random.default_rng(2))
    first = named(mistake).explanations[0]
    assert first.name.startswith(mistake.names), first


@pytest.mark.parametrize(
    ("mistake", "rows"),
    [("largest", 200), *(pytest.param(name, 2500, marks=pytest.mark.long) for name in MISTAKES_IN_FIXED_POINT)],
)
def test_mistakes_in_fixed_point_are_named_first(mistake: str, rows: int) -> None:
    unit, names = MISTAKES_IN_FIXED_POINT[mistake]
    vectors = hu.vectors(
        unit.op, type=[str(fmt) for fmt in unit.sources], to=str(unit.target), level="weighted", n=rows, seed=3
    )
    codes = vectors.columns_as_codes
    operands = list(zip(*(codes[column.name].tolist() for column in vectors.computation.inputs), strict=True))
    assert hu.check(vectors, [replace(unit, wrong={})(*row) for row in operands]).equal
    cause = hu.check(vectors, [unit(*row) for row in operands]).cause
    assert cause is not None
    assert cause.startswith(tuple(names)), cause


def test_products_that_are_twice_too_large_are_named_beside_flushed_subnormals() -> None:
    """Flushed elements stay zero: twice the largest subnormals would be normal numbers."""
    operation = operation_named("mma.m1n1k4.f32.bf16.bf16.f32")
    computation = TileComputation(operation, "custom:flush=true,lsb=-30,msb=25,zero=positive")
    dice = np.random.default_rng(2)
    sizes = np.where(
        dice.random((8, 200)) < 0.2, dice.integers(1, 0x80, (8, 200)), dice.integers(0x3D00, 0x4200, (8, 200))
    )
    elements = [codes.astype(np.uint16) for codes in sizes | dice.integers(0, 2, (8, 200)) << 15]
    c = np.zeros(200, np.uint32)
    doubled = [np.where(codes & 0x7FFF < 0x80, codes, codes + 0x80).astype(np.uint16) for codes in elements[:4]]
    right, made = (computation.compute((*a, *elements[4:], c)).outputs for a in (elements[:4], doubled))
    found = named(Mistake(computation, (*elements, c, *right), made, ()))
    (first, *_) = found.explanations
    assert first.name.startswith("the products times 2^1 (A or B read with a bias 1 too small; ")
    assert (first.rows, first.equal) == (found.differing, found.controls)


def test_codes_of_several_limbs_have_causes() -> None:
    vectors = hu.vectors("fmul", "f128", operands="exponential", n=20)
    codes = vectors.columns_as_codes["result"].copy()
    assert codes.shape == (20, 2)
    codes[:, 1] += np.uint64(1 << 48)
    report = hu.check(vectors, codes)
    assert (report.differing, (report.cause or "").split(" (")[0]) == (20, "the exact result times 2^1")


@pytest.mark.long
@pytest.mark.parametrize(
    ("op", "fmt", "times", "told"),
    [
        ("fmul", "bf16", 3, "(a or b read with a bias 3 too small, or the result written with a bias 3 too large; no row"),
        ("fadd", "f32", -1, "(a and b read with a bias 1 too large, or the result written with a bias 1 too small; no row"),
        ("fdiv", "f16", 1, "(a read with a bias 1 too small, b read with a bias 1 too large, or the result written with"),
        ("math.sqrt", "f16", -1, "(a read with a bias 2 too large, or the result written with a bias 1 too small; no row"),
    ],
)  # fmt: skip
def test_a_power_of_two_is_told_with_the_bias_that_gives_it(op: str, fmt: str, times: int, told: str) -> None:
    vectors = hu.vectors(op, fmt, operands="exponential", n=300)
    own, codes = hu.float_format(fmt), vectors.columns_as_codes["result"]
    zero = codes & codes.dtype.type(own.code_mask >> 1) == 0
    made = np.where(zero, codes, codes + codes.dtype.type((times << own.mantissa_bits) % (1 << own.bits)))
    report = hu.check(vectors, made.astype(codes.dtype))
    assert (report.cause or "").startswith(f"the exact result times 2^{times} {told}"), report.cause


@pytest.mark.long
def test_the_scale_whose_bias_is_off_is_named_as_far_as_rows_tell() -> None:
    """Only rows with subnormal scales, of which the bias makes no normal ones, tell one scale from the others."""
    computation = TileComputation(operation_named("mma.m1n1k16.f32.e2m1.e2m1.ue4m3.block16"))
    rows = Recipe(computation, "weighted", count=400).vectors().gather()
    scales = (len(computation.inputs) - 2, len(computation.inputs) - 1)
    doubles = np.logical_and.reduce([(rows[place] < 0x77) | (rows[place] == 0x7F) for place in scales])
    rows = tuple(codes[doubles] for codes in rows)
    normal = np.logical_and.reduce([(rows[place] >= 8) & (rows[place] < 0x77) for place in scales])
    for place, name in zip(scales, "AB", strict=True):
        inputs, _ = split(computation, rows)
        twice = np.where((inputs[place] >= 8) & (inputs[place] < 0x77), inputs[place] + 8, inputs[place])
        moved = (*inputs[:place], twice.astype(np.uint8), *inputs[place + 1 :])
        made = computation.compute(moved).outputs
        first = named(Mistake(computation, rows, made, ())).explanations[0]
        assert (first.name, first.refuted) == (f"normal scales of {name} with the bias 6 in place of 7", False)
        some, alike = (tuple(codes[normal] for codes in chunk) for chunk in (rows, made))
        assert named(Mistake(computation, some, alike, ())).explanations[0].name == (
            "the products times 2^1 (A, B, the scales of A or the scales of B read with a bias 1 too small; "
            "no row tells which)"
        )
    _, (right,) = split(computation, rows)
    finite = (right & 0x7F800000 > 0) & (right & 0x7F800000 < 0x7F000000)
    doubled = np.where(finite, right + 0x800000, right).astype(np.uint32)
    first = named(Mistake(computation, rows, (doubled,), ())).explanations[0]
    assert first.name == "the results times 2^1 (written with a bias 1 too large)"


@pytest.mark.long
def test_more_than_two_mistakes_are_named_together() -> None:
    """As in a public unit: four choices of its own, of which two concern the same rows."""
    unit = Unit("add", E4M3, E4M3, "downward")
    computation = computation_of(unit)
    rows = Recipe(computation, "exhaustive").vectors().gather()
    unit.wrong = {"invalid_quiet": 1, "overflow_infinite": 1, "inf_sign": 1, "zero_plus": 1}
    found = named(Mistake(computation, rows, made_by(unit, computation, rows), ()))
    (first, *_) = found.explanations
    told = {
        "the flag invalid for every NaN operand",
        "overflow raised only where the result is infinite",
        "the sign of infinities always +",
        "the sign of zeros always +",
    }
    assert {one for one in told if one in first.name} == told, first
    assert (first.rows, first.equal) == (found.examined, found.controls)


@pytest.mark.long
def test_a_nan_of_some_rows_is_named() -> None:
    """Signalling operands give a NaN that invalid operations do not give, and a cancelled sum has the sign of a."""
    computation = OpComputation(op_case("arith.addf", "f8E4M3"), Profile(nan_result="canonical"))
    (a, b), (right, flags) = split(computation, Recipe(computation, "random", count=4000).vectors().gather())
    signalling = [(codes & 0x7F > 0x78) & (codes & 0x7F < 0x7C) for codes in (a, b)]
    made = np.where(signalling[0] | signalling[1], 0x7B, right)
    made = np.where((a ^ b == 0x80) & (a & 0x7F > 0) & (right & 0x7F == 0), a & 0x80, made).astype(np.uint8)
    found = VectorChecker(computation, computation.inputs + computation.outputs).read([(a, b, made, flags)])
    name = "NaN of signalling operands always 0x7B and the sign of cancelled sums that of a"
    assert (found.explanations[0].name, found.explanations[0].rows) == (name, found.differing)


@pytest.mark.parametrize(("op", "fmt"), [("add", E4M3), ("mul", F16), ("fma", E4M3), ("cvt", F16)])
@pytest.mark.parametrize("mode", ["to_nearest_even", "downward"])
def test_a_right_unit_has_no_cause(op: str, fmt: Any, mode: str) -> None:
    """Whichever NaN it gives, where any NaN is right."""
    unit = Unit(op, fmt, E4M3 if op == "cvt" else fmt, mode)
    computation = computation_of(unit)
    rows = Recipe(computation, "random", count=400).vectors().gather()
    place = len(computation.inputs)
    assert all(map(np.array_equal, made_by(unit, computation, rows), rows[place:]))
    unit.wrong["nan_code"] = unit.dst.inf + 3
    mistake = Mistake(computation, rows, made_by(unit, computation, rows), ())
    found = named(mistake, any_nan=True)
    assert (found.differing, found.explanations) == (0, [])
    found = masked(mistake, np.random.default_rng(1))
    assert (found.differing, found.explanations, found.kinds) == (0, [], {})


def masked(mistake: Mistake, dice: Dice) -> Check:
    """Check what a unit gives beside other differences, all of which the file or the caller says not to compare: whole
    rows, bits of results and flags, and three of the flags everywhere.
    """
    computation, rows = mistake.computation, mistake.rows
    inputs, right = split(computation, rows)
    outputs = [codes.copy() for codes in mistake.outputs + right[len(mistake.outputs) :]]
    columns, count = ignoring(computation.outputs), len(rows[0])
    whole = (dice.random(count) < 0.1).astype(np.uint8)
    marks: list[Codes] = [whole]
    for column in columns[1:]:
        some = dice.random(count) < 0.1
        marks.append(np.where(some, dice.integers(0, 1 << column.width, count), 0).astype(storage_dtype(column.width)))
    about = iter(marks[1:])
    for place, column in enumerate(computation.outputs):
        if column.role in (Role.RESULT, Role.FLAGS):
            noise = dice.integers(0, 1 << column.width, count).astype(storage_dtype(column.width))
            outputs[place] = np.where(whole != 0, noise, outputs[place] ^ (noise & next(about)))
            if column.role is Role.FLAGS:
                unseen = noise & np.uint8(0x1F & ~COMPARED)
                outputs[place] = np.where(dice.random(count) < 0.3, outputs[place] ^ unseen, outputs[place])
    checker = VectorChecker(
        computation, (*computation.inputs, *computation.outputs, *columns), any_nan=True, flags=COMPARED
    )
    return checker.read([(*inputs, *outputs, *marks)])


COMPARED = Flags.INVALID | Flags.OVERFLOW
"""The flags that `masked` compares."""


@pytest.mark.long
@pytest.mark.parametrize("seeds", amounts(2, 20))
def test_masks_hide_differences_and_no_mistakes(seeds: int) -> None:
    """Of right units of each kind, no row differs; of the wrong ones, 95 % are named first as without masks."""
    tried = wrong = 0
    for seed in range(seeds):
        dice = np.random.default_rng(seed)
        for op in ("add", "mul", "fma", "cvt"):
            for src in (F16, BF16, E4M3, E5M2):
                unit = Unit(op, src if op != "cvt" else F32, src, str(pick(dice, MODES)))
                computation = computation_of(unit)
                rows = right_rows(dice, computation, 300)
                found = masked(Mistake(computation, rows, made_by(unit, computation, rows), ()), dice)
                assert (found.differing, found.explanations, found.kinds) == (0, [], {}), (seed, unit)
                assert found.ignored
        for size in (4, 8):
            dot = Dot(pick(dice, (F16, BF16, E5M2)), size)
            right = dotted(dice, dot)
            found = masked(right, dice)
            assert (found.differing, found.explanations, found.kinds) == (0, [], {}), (seed, dot)
        for kind in (sticky_lost, guard_lost, carry_lost, narrow, shift_most, cancelled_sign, dot_multiplier):
            mistake = kind(dice)
            found = masked(mistake, dice)
            if found.differing >= FEWEST:
                tried += 1
                first = next((one.name for one in found.explanations if not one.refuted), "")
                wrong += not first.startswith(mistake.names)
    assert wrong <= 0.05 * tried, (wrong, tried)


def rows_of(computation: OpComputation, rows: int, level: Literal["1", "random"] = "1") -> tuple[Chunk, Chunk]:
    return split(computation, Recipe(computation, level, count=rows).vectors().gather())


@pytest.mark.long
def test_an_early_mode_does_not_come_before_the_planted_tininess() -> None:
    """Controls from all of the file refute a mode that agrees with the first equal rows."""
    computation = OpComputation(op_case("arith.mulf", "f16"))
    inputs, _ = rows_of(computation, 30_000)
    device = OpComputation(computation.case, Profile(tininess="before"))
    columns = computation.inputs + computation.outputs
    found = VectorChecker(computation, columns).read([inputs + device.compute(inputs).outputs])
    assert (found.explanations[0].name, found.explanations[0].rows) == ("tininess=before", found.differing)
    assert CONTROLS // 2 < found.controls <= CONTROLS
    assert found.explanations[0].equal == found.controls


@pytest.mark.long
def test_the_narrowest_accumulator_is_named() -> None:
    """One bit: every significand becomes a power of two."""
    computation = OpComputation(op_case("arith.mulf", "f8E4M3"))
    plant = accumulated(computation, Recipe(computation, "random", count=400).vectors().gather(), 1)
    found = check(plant)
    (first, *_) = found.explanations
    assert plant.name == "an accumulator of 1 bit without a sticky bit"
    assert (first.name, first.rows, first.equal) == (plant.name, found.differing, found.controls)


@pytest.mark.long
def test_results_and_flags_have_one_explanation_together() -> None:
    computation = OpComputation(op_case("arith.addf", "f8E4M3FN"))
    inputs, right = rows_of(computation, 4000)
    device = OpComputation(computation.case, Profile(denormals="flush_operands"))
    flushed, flags = device.compute(inputs).outputs
    assert (flags != right[1]).any()
    columns = computation.inputs + computation.outputs
    found = VectorChecker(computation, columns).read([(*inputs, flushed, right[1])])
    (first, *_) = found.explanations
    assert first.name == "denormals=flush_operands with the expected flags"
    assert (first.rows, first.equal) == (found.differing, found.controls)


@pytest.mark.long
def test_wrong_values_are_not_hidden_behind_flags() -> None:
    """bf16 to unsigned i16 by a unit without inexact, in which the bound of signed integers stands for that of unsigned
    ones: the first 10,000 rows that differ do so in flags alone.
    """
    case = op_case("fcvt_to_ui", "bf16", "i16", rounding="toward_zero")
    computation = OpComputation(case, as_profile("spec,float_to_int=saturate_nan_max"))
    (codes, right, flags, *rest) = Recipe(computation, "exhaustive").vectors().gather()
    wrong = (right == 0xFFFF) & (codes < 0x7F80) & (codes >= 0x4780)
    made = np.where(wrong, 0x7FFF, right).astype(np.uint16), flags & np.uint8(0x1E)
    columns = computation.inputs + computation.outputs
    found = VectorChecker(computation, columns).read([(codes, *made, *rest)])
    assert (found.differing, int(wrong.sum())) == (47_615, 14_336)
    assert list(found.kinds.items()) == [("another value", 14_336), ("inexact not raised", 33_279)]
    assert MOST_EXAMINED // 2 < found.examined <= MOST_EXAMINED
    assert all(
        told.rows < found.examined for told in found.explanations if told.name == "the flag inexact never raised"
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("computation", "rows", "limit"),
    [
        (OpComputation(op_case("arith.mulf", "bf16")), 20_000, 16),
        (TileComputation(operation_named("mma.m1n1k8.f32.f16.f16"), "custom:tree=halves,c=last"), 4_000, 25),
    ],
    ids=["op", "tile"],
)
def test_most_causes_are_tried_on_few_rows(
    computation: Computation, rows: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise, which no cause explains, takes longest: the rows that all devices compute are a few times the file's."""
    computed = []
    original = Device.computed

    def counted(device: Device, columns: Any, inputs: Chunk, expected: Chunk) -> Any:
        computed.append(len(inputs[0]))
        return original(device, columns, inputs, expected)

    monkeypatch.setattr(Device, "computed", counted)
    given = Recipe(computation, "random", count=rows).vectors().gather()
    noise = np.where(np.random.default_rng(0).random(len(given[0])) < 0.3, 2, 0)
    place = len(computation.inputs)
    made = (*given[:place], given[place] ^ noise.astype(given[place].dtype), *given[place + 1 :])
    found = VectorChecker(computation, computation.inputs + computation.outputs).read([made])
    assert found.differing > rows // 5
    assert len(computed) > 100
    assert sum(computed) < limit * rows, sum(computed) / rows


@pytest.mark.long
def test_nothing_is_named_for_noise_as_if_it_were_sure() -> None:
    """Random results: whatever is named leaves most rows unexplained."""
    computation = OpComputation(op_case("arith.addf", "f16"))
    inputs, right = rows_of(computation, 2000)
    noise = np.random.default_rng(3).integers(0, 1 << 16, 2000, dtype=np.uint16)
    columns = computation.inputs + computation.outputs
    found = VectorChecker(computation, columns).read([(*inputs, noise, right[1])])
    assert not any(told.leads for told in found.explanations)


STEPS = """\
func.func @main(%a: i16, %b: i16, %x: f16) -> (i16, f16) {
  %half = arith.constant 8 : i32
  %place = arith.constant 4 : i32
  %wide = arith.extsi %a : i16 to i32
  %other = arith.extsi %b : i16 to i32
  %sum = arith.addi %wide, %other : i32
  %more = arith.addi %sum, %half : i32
  %shifted = arith.shrsi %more, %place : i32
  %d = arith.trunci %shifted : i32 to i16
  %y = arith.mulf %x, %x : f16
  return %d, %y : i16, f16
}
"""


def _as_signed(codes: Codes) -> Any:
    return codes.view(np.int16).astype(np.int64)


@pytest.mark.long
def test_a_step_of_a_program_is_named() -> None:
    """The devices are written with NumPy's integers."""
    computation = ProgramComputation(STEPS, "main")
    inputs, right = split(computation, Recipe(computation, "random", count=400).vectors().gather())
    a, b = map(_as_signed, inputs[:2])
    cut = hu.eval("arith.mulf", *[hu.Value.from_bits(inputs[2], "f16")] * 2, rounding="toward_zero").bits
    devices = {
        "operand 0 in place of arith.addi in line 7": a + b >> 4,
        "the constant 9 in place of 8 in line 2": a + b + 9 >> 4,
        "arith.subi in place of arith.addi in line 6": a - b + 8 >> 4,
        "arith.extui in place of arith.extsi in line 5": a + (b & 0xFFFF) + 8 >> 4,
        "arith.mulf in line 10 with rounding=toward_zero": None,
    }
    for name, made in devices.items():
        outputs = (right[0], cut) if made is None else ((made & 0xFFFF).astype(np.uint16), right[1])
        columns = (*computation.inputs, *computation.outputs[:2])
        found = VectorChecker(computation, columns).read([(*inputs, *outputs)])
        named = [each.name for each in found.explanations if each.rows == found.examined]
        assert found.differing, name
        assert name in named[:2], (name, found.explanations[:4])
        assert found.explanations[0].equal == found.controls


PRODUCTS = """\
func.func @main(%a: f16, %b: f16, %c: f16, %d: f16, %e: i16) -> (f16, i16) {
  %x = arith.mulf %a, %b : f16
  %y = arith.mulf %c, %d : f16
  %s = arith.addf %x, %y : f16
  %t = arith.addi %e, %e : i16
  %z = arith.negf %s : f16
  return %z, %t : f16, i16
}
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"x": "sticky_lost"}, "the sticky bit lost in arith.mulf in line 2"),
        ({"x": "sticky_lost", "y": "sticky_lost"}, "the sticky bit lost in arith.mulf in the lines 2, 3"),
        ({"s": "guard_lost"}, "the guard bit lost in arith.addf in line 4"),
        ({"t": "saturates"}, "saturation of signed integers in arith.addi in line 5"),
    ],
)
def test_a_fault_inside_an_op_of_a_program_is_named(wrong: dict[str, str], named: str) -> None:
    """The device is one on integers, with a unit for each op."""
    computation = ProgramComputation(PRODUCTS, "main")
    inputs, right = split(computation, Recipe(computation, "weighted", count=600).vectors().gather())

    def unit(name: str, op: str) -> Callable[..., tuple[int, int]]:
        return Unit(op, F16, F16, wrong={wrong[name]: 1} if name in wrong else {})

    x, y, s = unit("x", "mul"), unit("y", "mul"), unit("s", "add")

    def given(a: int, b: int, c: int, d: int, e: int) -> tuple[int, int]:
        twice = 2 * (e - (e >> 15 << 16))
        t = max(-0x8000, min(twice, 0x7FFF)) if "t" in wrong else twice
        return s(x(a, b)[0], y(c, d)[0])[0] ^ 0x8000, t & 0xFFFF

    outputs = made_by(given, computation, (*inputs, *right))
    columns = (*computation.inputs, *computation.outputs[:2])
    found = VectorChecker(computation, columns).read([(*inputs, *outputs[:2])])
    assert found.differing >= FEWEST
    fit = [one.name for one in found.explanations if (one.rows, one.equal) == (found.examined, found.controls)]
    assert named in fit[:2], found.explanations  # without flags, lost bits are like a short accumulator


def test_rows_of_diagnoses_are_told_apart_and_documented() -> None:
    computation = OpComputation(op_case("arith.mulf", "f16"))
    inputs, outputs = rows_of(computation, 300)
    differs = np.ones(300, np.bool_)
    sampler = sampler_of(computation)
    sampler.add(0, inputs, outputs, outputs, differs, differs, ~differs)
    sample = present(sampler.sample)
    names = [cause.name for row in DIAGNOSES for cause in row.causes(computation, sample)]
    assert len(set(names)) == len(names)
    page = (ROOT / "docs" / "vector-files.md").read_text(encoding="utf-8")
    listed = page.split("<!-- diagnoses -->")[1].split("\n\n")[1].replace("\n  ", " ").splitlines()
    assert listed[3:] == [f"- {row.about}" for row in DIAGNOSES]


@pytest.mark.long
def test_rows_that_no_cause_explains_are_described() -> None:
    """Of a sum with exactly one subnormal operand, bits are inverted by chance."""
    computation = OpComputation(op_case("arith.addf", "f8E5M2"))
    (a, b), (right, flags) = split(computation, Recipe(computation, "random", count=4000).vectors().gather())
    one, other = ((codes & 0x7F > 0) & (codes & 0x7F < 4) for codes in (a, b))
    noise = np.random.default_rng(5).integers(1, 60, 4000, dtype=np.uint8)
    made = np.where(one != other, right ^ noise, right).astype(np.uint8)
    found = VectorChecker(computation, computation.inputs + computation.outputs).read([(a, b, made, flags)])
    rows = int((one != other).sum())
    start = f"all {rows:,} rows tried that differ have exactly one operand subnormal; so have 0 of"
    assert found.described[0].startswith(start), found.described
    assert found.described[1].startswith("the smallest: row ")
    assert "right: " in found.described[-1]


def sampler_of(computation: OpComputation, period: int = 1, controls: int = 100) -> Sampler:
    return Sampler(computation.inputs, computation.outputs, period, 50, controls)


@pytest.mark.parametrize("period", [1, 3])
def test_controls_are_spread_over_the_stream_and_over_the_flags(period: int) -> None:
    computation = OpComputation(op_case("arith.mulf", "f16"))
    inputs, outputs = rows_of(computation, 12_000, "random")
    rare = np.zeros(12_000, np.uint8)
    rare[11_000:11_005] = 0x10
    outputs = (outputs[0], rare)
    differs = np.zeros(12_000, np.bool_)
    differs[7_000:7_100] = True
    sampler = sampler_of(computation, period)
    for begin in range(0, 12_000, 3000):
        part: Any = slice(begin, begin + 3000)
        given, made = (tuple(codes[part] for codes in chunk) for chunk in (inputs, outputs))
        sampler.add(begin, given, made, made, differs[part], differs[part], ~differs[part])
    sample = present(sampler.sample)
    assert (sample.numbers[sample.differs] // 2).tolist() == list(range(3500, 3550))
    controls = sample.numbers[sample.control]
    assert 50 < len(controls) <= 100
    assert set(range(11_000, 11_005)) <= set(controls.tolist())
    assert (np.diff(controls) <= 12_000 // 40 + 100).all()
    assert controls.min() < 300
    for place, codes in enumerate(inputs):
        assert np.array_equal(sample.inputs[place], codes[sample.numbers])
    for shift, chunk, known in sample.shifted():
        assert np.array_equal(chunk[0][known], outputs[0][(sample.numbers + shift)[known]])
    if period > 1:
        assert (sample.numbers.reshape(-1, 3) - sample.numbers[::3, np.newaxis] == [0, 1, 2]).all()


def test_a_sample_without_differences_is_none() -> None:
    computation = OpComputation(op_case("arith.mulf", "f16"))
    inputs, outputs = rows_of(computation, 300)
    sampler = sampler_of(computation)
    same = np.zeros(300, np.bool_)
    sampler.add(0, inputs, outputs, outputs, same, same, ~same)
    assert sampler.sample is None


@pytest.mark.parametrize(("ops", "tried"), [(15, 15), (200, 3)])
def test_the_work_for_a_long_program_is_bounded(ops: int, tried: int) -> None:
    """Of 201 ops, the last 640 // 201 are tried alone. Each of them can be changed in 11 ways, so that as many are
    changed: 8192 // (201 * 11).
    """
    lines = [f"  %v{k + 1} = arith.addf %v{k}, %v0 : f16" for k in range(ops)]
    text = "\n".join(["func.func @main(%v0: f16) -> f16 {", *lines, f"  return %v{ops} : f16", "}"])
    computation = ProgramComputation(text, "main")
    steps = [step.places for step in steps_of(computation) if len(step.places) == 1]
    assert steps == [(place,) for place in range(ops - tried, ops)]
    named = " ".join(cause.name for cause in other_programs(computation))
    found = [k for k in range(ops) if f"in line {k + 2} " in f"{named} "]
    assert found == list(range(ops - tried, ops))
