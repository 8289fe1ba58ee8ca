"""Coverage of runs: buckets hit are those that exact numbers fall in, and files of parts merge to that of the whole."""

import json
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from present import present
from tables import each_row

import halfulp as hu
from halfulp.codegen.tile_names import operation_named
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.columns import Chunk, Role
from halfulp.conformance.vectors.computation import OpComputation, ProgramComputation
from halfulp.conformance.vectors.coverage import KeptRows, RunningCoverage, coverage_of, report_of_text
from halfulp.conformance.vectors.intermediate import model_case_of
from halfulp.conformance.vectors.models.model import coverage
from halfulp.conformance.vectors.models.table import MODELS
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir.errors import InputError
from halfulp.semantics.profile import as_profile


def of_op(op: str, type: str, to: str | None = None, profile: str = "spec") -> OpComputation:
    return OpComputation(op_case(op, type, to), as_profile(profile))


def rows_of(chunk: Chunk, columns: int) -> list[tuple[int, ...]]:
    return [tuple(map(int, row)) for row in zip(*chunk[:columns], strict=True)]


@pytest.mark.long
@each_row(("arith.addf", "f8E4M3FN", None), ("arith.truncf", "f16", "f8E5M2"), ("math.tanh", "f8E4M3FN", None))
def test_models_hit_what_a_count_of_all_rows_hits(op: str, type: str, to: str | None) -> None:
    computation = of_op(op, type, to)
    given = Recipe(computation, "weighted", count=300).given(0, 300)
    running = RunningCoverage(computation)
    for start in range(0, 300, 70):
        running.take(tuple(codes[start : start + 70] for codes in given))
    rows, model_case = rows_of(given, len(computation.inputs)), present(model_case_of(computation.case))
    for found in running.models:
        counted = coverage(MODELS[found.name], model_case, rows)
        named = {" ".join(map(str, bucket)): count for bucket, count in counted.items()}
        assert len(named) == len(counted)
        assert {bucket for bucket, count in named.items() if count} == set(found.hit)
        assert {bucket for bucket, count in named.items() if not count} == set(found.missing)
    assert not running.complete


def test_coverage_becomes_complete_with_the_rows_of_the_model() -> None:
    computation = of_op("arith.mulf", "bf16")
    recipe = Recipe(computation, None, ("B3",))
    running = RunningCoverage(computation, ["B3"])
    assert not running.complete
    assert "B3        0 of 16" in str(running)
    assert "not hit: + 0 0 0; + 0 0 1" in str(running)
    running.take(recipe.given(0, recipe.rows.count))
    assert running.complete
    assert str(running).startswith("B3       16 of 16")
    assert coverage_of(recipe).report.to_text() == running.report.to_text()
    with pytest.raises(InputError, match="F1 does not apply"):
        RunningCoverage(computation, ["F1"])


@pytest.mark.long
def test_a_long_set_is_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows lie in all parts of the set: of 2^16 patterns in their order, the ends of the range are among them."""
    monkeypatch.setattr("halfulp.conformance.vectors.coverage.LOOKED_AT", 1 << 12)
    recipe = Recipe(of_op("arith.truncf", "f16", "f8E4M3FN"), "exhaustive")
    found = coverage_of(recipe)
    assert (found.rows, found.models[0].rows) == (1 << 16, 1 << 12)
    assert "65,536 rows, 4,096 looked at\n" in str(found.report)
    kept = KeptRows(recipe.computation)
    for chunk in recipe.chunks(size=1000):
        kept.take(chunk[:1], chunk[1:], None)
    assert kept.coverage().rows == 1 << 16
    assert 1 << 11 <= kept.coverage().models[0].rows <= 1 << 12
    for every in (found, kept.coverage()):
        (basic,) = (each for each in every.models if each.name == "B1")
        assert {"+normal", "-normal", "-quiet NaN", "-subnormal"} <= set(basic.hit)


# --- classes ----------------------------------------------------------------------------------------------------------

PROGRAM = """
func.func @main(%x: f16, %n: i8, %t: tensor<2xbf16>) -> (i8, f16) {
  %0 = arith.divsi %n, %n : i8
  %1 = arith.addf %x, %x : f16
  return %0, %1 : i8, f16
}
"""


def test_classes_of_a_program() -> None:
    """Rows that divide by zero have no result, so their zeros do not count."""
    computation = ProgramComputation(PROGRAM, "main")
    running = RunningCoverage(computation)
    rows = [(0x0000, 0, 0x8000, 0x7F80), (0x7BFF, 5, 0x0001, 0x3F80), (0x8001, 0x80, 0xFFC1, 0x007F)]
    running.take(tuple(np.array(column, f"uint{c.width}") for column, c in zip(zip(*rows, strict=True), computation.inputs, strict=True)))  # fmt: skip
    operands, results = running.models
    assert set(operands.hit) == {
        *("arg0 +zero", "arg0 +largest", "arg0 -smallest subnormal"),
        *("arg1 0", "arg1 top bit clear", "arg1 top bit alone"),
        *("arg2 -zero", "arg2 +infinity", "arg2 +smallest subnormal", "arg2 +normal"),
        *("arg2 -quiet NaN", "arg2 +subnormal"),
    }
    assert set(results.hit) == {"result0 1", "result1 +infinity", "result1 -subnormal"}
    assert {"result0 0", "result0 all bits", "result1 +signalling NaN"} <= set(results.missing)
    with pytest.raises(InputError, match="not for programs"):
        RunningCoverage(computation, ["B1"])


@pytest.mark.long
def test_every_class_of_a_type_can_be_hit() -> None:
    """The classes that are named for a type are those of its codes, and no others."""
    for name in ("i1", "i2", "i8", "f4E2M1FN", "f8E4M3FN", "f8E5M2FNUZ", "f8E8M0FNU", "f16", "bf16"):
        text = f"func.func @main(%x: {name}) -> {name} {{ return %x : {name} }}"
        found = coverage_of(Recipe(ProgramComputation(text, "main"), "exhaustive"))
        assert all(model.hit and not model.missing for model in found.models), (name, str(found))


# --- tiles ------------------------------------------------------------------------------------------------------------

TILES = (
    ("mma.m2n1k4.f32.f16.f16", "exact"),
    ("mma.m1n2k4.f16.e5m2.e4m3", "exact"),
    ("mma.m1n1k32.f32.e2m1.e2m1.f32.ue8m0.block32", "exact"),
)


@pytest.mark.long
@each_row(*TILES)
def test_sums_of_tiles_fall_in_the_buckets_of_their_exact_numbers(kind: str, model: str) -> None:
    computation = TileComputation(operation_named(kind), model)
    op, count = computation.operation, 64
    inputs = Recipe(computation, "weighted", count=count).given(0, count)
    outputs = computation.compute(inputs).outputs
    running = RunningCoverage(computation)
    running.take(inputs, outputs)
    a, b, c, *scales = computation.arrays(inputs)
    d = np.stack(outputs, axis=-1).reshape(c.shape)
    wanted: dict[str, set[str]] = {"T1": set(), "T2": set(), "T3": set(), "T4": set()}
    most = FORMATS[op.d].precision + 2

    def lead(name: str, code: Any) -> int | None:
        number = scalar.value(FORMATS[name], int(code))
        return None if not number else _lead(abs(number))

    def kind_of(name: str, code: int) -> str:
        fmt = FORMATS[name]
        tests = {"NaN": fmt.is_nan, "infinity": fmt.is_infinite, "zero": fmt.is_zero, "subnormal": fmt.is_subnormal}
        return next((each for each, test in tests.items() if test(code)), "normal")

    for row, i, j in product(range(count), range(op.shape[0]), range(op.shape[1])):
        products = []
        for k in range(a.shape[-1]):
            factors = [(op.a, a[row, i, k]), (op.b, b[row, k, j])]
            wanted["T1"].add(" ".join(kind_of(name, int(code)) for name, code in factors))
            if scales:
                factors += [(op.scale, scales[0][row, i, k // op.block]), (op.scale, scales[1][row, k // op.block, j])]
            leads = [lead(name, code) for name, code in factors]
            if None not in leads:
                products.append(sum(map(present, leads)))
        of_c, of_d = lead(op.c, c[row, i, j]), lead(op.d, d[row, i, j])
        if products and of_c is not None:
            wanted["T2"].add(f"C {max(-most, min(most, of_c - max(products)))}")
        if len(products) > 1:
            wanted["T3"].add(f"spread {min(most, max(products) - min(products))}")
        terms = [*products, *([] if of_c is None else [of_c])]
        if terms and FORMATS[op.d].is_zero(int(d[row, i, j])):
            wanted["T4"].add("to zero")
        elif terms and of_d is not None:
            lost = max(terms) - of_d
            wanted["T4"].add("grows" if lost < 0 else f"lost {min(most, lost)}")
    found = {each.name: each for each in running.models}
    for name, buckets in wanted.items():
        assert set(found[name].hit) == buckets & found[name].buckets, name
        assert buckets <= found[name].buckets, (name, buckets - found[name].buckets)


def _lead(number: Fraction) -> int:
    guess = number.numerator.bit_length() - number.denominator.bit_length()
    return guess if number >= Fraction(2) ** guess else guess - 1


def test_tiles_of_integers_have_classes() -> None:
    found = coverage_of(Recipe(TileComputation(operation_named("mma.m2n2k4.i32.s8.s8")), "weighted", count=200))
    assert [each.name for each in found.models] == ["V1", "V2"]
    assert "a top bit alone" in found.models[0].hit


# --- files ------------------------------------------------------------------------------------------------------------


def file_of(computation: Any) -> str:
    """Return the file of a run of the rows of one model."""
    return coverage_of(Recipe(computation, None, ("B3",))).report.to_text()


def parts(computation: Any) -> tuple[str, list[str]]:
    """Return the file of 900 random rows, and those of three parts of these."""
    recipe = Recipe(computation, "random", count=900)
    pieces = [coverage_of(recipe, [(start, start + 300)]).report.to_text() for start in (300, 0, 600)]
    return coverage_of(recipe, [(0, 900)]).report.to_text(), pieces


def test_parts_merge_to_the_whole() -> None:
    for computation in (of_op("arith.mulf", "f8E4M3FN"), ProgramComputation(PROGRAM, "main", keep_ub=True)):
        whole, pieces = parts(computation)
        first, *others = (report_of_text(text, f"part{k}") for k, text in enumerate(pieces))
        for other in others:
            first = first.merged(other, "other", "first")
        assert json.loads(whole) == json.loads(first.to_text()) | {"runs": 1}
        assert str(first).startswith(first.name + ": 3 runs, 900 rows\n")
        assert report_of_text(first.to_text(), "again").to_text() == first.to_text()


@each_row(
    ((), "it has 'arith.addf f8E4M3FN, profile spec' (op=arith.addf), not 'arith.mulf f8E4M3FN, profile spec'"),
    (("arith.mulf", "f16"), "it has 'arith.mulf f16, profile spec' (operands=['f16', 'f16'], results=['f16']), not"),
    (
        ("arith.mulf", "f8E4M3FN", None, "spec,tininess=before"),
        "(tininess=before), not the profile spec (tininess=after)",
    ),
)
def test_other_computations_do_not_merge(other: tuple[Any, ...], message: str) -> None:
    one = report_of_text(file_of(of_op("arith.mulf", "f8E4M3FN")), "a.json")
    two = report_of_text(file_of(of_op(*(other or ("arith.addf", "f8E4M3FN")))), "b.json")
    with pytest.raises(InputError) as caught:
        one.merged(two, "b.json", "a.json")
    assert caught.value.message.startswith("b.json cannot be merged with a.json: it has ")
    assert message in caught.value.message


def test_other_versions_do_not_merge() -> None:
    text = file_of(of_op("arith.mulf", "f8E4M3FN"))
    data = json.loads(text)
    data["generator"]["semantics_version"] += 1
    other = report_of_text(json.dumps(data), "b.json")
    with pytest.raises(InputError, match=r"it has halfulp .* \(semantics \d+\), not halfulp .* \(semantics \d+\)"):
        report_of_text(text, "a.json").merged(other, "b.json", "a.json")
    data = json.loads(text)
    data["models"]["B3"]["missing"].append("+ 2 2 2")
    other = report_of_text(json.dumps(data), "b.json")
    with pytest.raises(InputError, match="the model B3 has other buckets there"):
        report_of_text(text, "a.json").merged(other, "b.json", "a.json")


@each_row(
    (lambda data: data.pop("models"), "is not a whole file of coverage: 'models' is missing"),
    (lambda data: data.update(rows=-1), "'rows' is not a number of at least 0"),
    (lambda data: data["models"]["B3"].update(hit=[1]), "'hit' is not a text"),
    (lambda data: data["models"]["B3"].update(hit=["x", "x"]), "the model B3 names a bucket twice"),
    (lambda data: data.update(models=[]), "'models' is not an object"),
    (lambda data: data["models"].update(B3=[]), "'hit' is missing"),
    (lambda data: data.pop("coverage_version"), "is not a file of coverage"),
    (lambda data: data.update(coverage_version=2), "version 2 of the coverage, not 1"),
)
def test_damaged_files_are_refused(damage: Any, message: str) -> None:
    data = json.loads(file_of(of_op("arith.mulf", "f8E4M3FN")))
    damage(data)
    with pytest.raises(InputError) as caught:
        report_of_text(json.dumps(data), "a.json")
    assert message in caught.value.message


def test_text_that_is_no_file_of_coverage() -> None:
    for text in ("", "[]", "{", "[" * 100_000, b"\xff"):
        with pytest.raises(InputError, match=r"a\.json(:1:\d+: error: the file)? is not"):
            report_of_text(text, "a.json")


def test_roles_have_models() -> None:
    assert Role.RANDOM.value == "random"
    found = hu.vectors("arith.truncf", "f32", to="bf16", rounding="stochastic", n=20, level="random")
    covered = RunningCoverage(found.computation)
    covered.take(tuple(found.columns_as_codes[column.name] for column in found.computation.inputs))
    assert covered.rows == 20
