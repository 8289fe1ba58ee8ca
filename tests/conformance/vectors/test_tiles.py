"""Golden vectors of tile operations: their results are those of a specification, and wrong units are found and named."""

import json
import math
import pickle
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from amounts import amounts, thinned
from present import present

from halfulp.codegen.tile_names import operation_named
from halfulp.command.main import main
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors import computation
from halfulp.conformance.vectors.columns import Role
from halfulp.conformance.vectors.computation import OpComputation, ProgramComputation
from halfulp.conformance.vectors.metadata import schema
from halfulp.conformance.vectors.recipe import Recipe, recipe_of
from halfulp.conformance.vectors.row_check import VectorChecker
from halfulp.conformance.vectors.tiles import TileComputation, specials, tile_of
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.semantics.matrix_units.accumulator import Accumulator
from halfulp.semantics.matrix_units.models import rule_of
from halfulp.semantics.matrix_units.scalar_sums import accumulate

CUSTOM = "custom:group=4,bits=11,cut=to_odd,rounding=toward_zero"
KINDS = (
    ("mma.m16n8k8.f32.f16.f16", "chip:turing", None),
    ("mma.m2n2k8.f32.bf16.bf16", CUSTOM, None),
    ("mma.m2n3k8.f16.e4m3.e5m2", CUSTOM, None),
    ("mma.m2n2k4.i32.s8.s8", "custom:width=16,overflow=saturate,tree=sequential", None),
    ("MFMA_F32_4x4x4x16B_F16", CUSTOM, None),
    ("MFMA_SCALE_F32_16x16x128_B32", "custom:bits=25,group=32", "f4E2M1FN"),
)


def operands(computation: TileComputation, recipe: Recipe, stop: int) -> list[Any]:
    """Return the operands of the first rows as arrays [rows, *shape]."""
    columns, arrays, begin = recipe.given(0, stop), [], 0
    for _, _, shape in computation.operands:
        size = int(np.prod(shape))
        arrays.append(np.stack(columns[begin : begin + size], axis=1).reshape(stop, *shape))
        begin += size
    return arrays


@pytest.mark.parametrize(("kind", "model", "type_"), thinned(KINDS, 2, rows=True))
def test_results_are_those_of_the_specification(kind: str, model: str, type_: str | None) -> None:
    op = operation_named(kind, type_, type_)
    computation = TileComputation(op, model)
    recipe = Recipe(computation, "weighted", count=8, seed=3)
    rule = present(rule_of(model, op))
    (chunk,) = recipe.chunks()
    results = np.stack(chunk[len(computation.inputs) :], axis=1).reshape(8, *computation.operands[2][2])
    a, b, c, *scales = operands(computation, recipe, 8)
    places = list(np.ndindex(results.shape))
    for place in places[:: max(1, len(places) // 60)]:
        *lead, i, j = place
        at = tuple(lead)
        factors = (scales[0][at][i].tolist(), scales[1][at][:, j].tolist()) if scales else None
        want = accumulate(rule, op, a[at][i].tolist(), b[at][:, j].tolist(), int(c[place]), factors)
        assert results[place] == want


def test_a_row_depends_on_its_number_alone() -> None:
    recipe = Recipe(TileComputation(operation_named("mma.m2n2k8.f32.f16.f16"), CUSTOM), "weighted", count=64, seed=1)
    whole = recipe.given(0, 64)
    for start, stop in ((0, 1), (2, 3), (5, 23), (63, 64), (7, 7)):
        for part, all_rows in zip(recipe.given(start, stop), whole, strict=True):
            np.testing.assert_array_equal(part, all_rows[start:stop])
    again = pickle.loads(pickle.dumps(recipe))
    assert [codes.tobytes() for codes in again.given(0, 64)] == [codes.tobytes() for codes in whole]


def test_weighted_operands_fill_the_format() -> None:
    """Rows hold numbers of many binades, sums that cancel, zeros, subnormals and special values."""
    op = operation_named("mma.m4n4k8.f32.f16.f16")
    computation = TileComputation(op, "exact")
    recipe = Recipe(computation, "weighted", count=256)
    a, _, c = operands(computation, recipe, 256)
    f16, f32 = FORMATS["f16"], FORMATS["f32"]
    assert len(np.unique(a >> 10 & 31)) == 32
    assert ((a & 0x7FFF) == 0).any()
    assert ((a & 0x7C00 == 0) & (a & 0x3FF != 0)).any()
    assert specials(f16, a).any()
    (chunk,) = recipe.chunks()
    results = np.stack(chunk[len(computation.inputs) :], axis=1).reshape(256, 4, 4)
    assert (results[2::4] << 1 != c[2::4] << 1).any()
    # A sum that cancels is far smaller than C.
    small = 0
    for row, i, j in np.ndindex(64, 4, 4):
        got, addend = (scalar.value(f32, int(x[2 + 4 * row, i, j])) for x in (results, c))
        small += got is not None and addend is not None and 0 < abs(got) < abs(addend) / 2**16
    assert small >= 256
    assert len({int(code) for code in results.reshape(-1)}) > 2000


@pytest.mark.parametrize(("scale", "block", "lacks"), [("ue8m0", 32, 0x00), ("ue4m3", 16, 0x80)])
def test_scales_have_their_corners_and_no_sign(scale: str, block: int, lacks: int) -> None:
    """UE4M3 and UE8M0 have no sign bit. UE8M0 has no zero: 0x00 is its smallest value."""
    kind = f"mma.m1n1k32.f32.e4m3.e4m3.f32.{scale}.block{block}"
    computation = TileComputation(operation_named(kind))
    rows = 4000
    found = np.concatenate(
        [array.reshape(-1) for array in operands(computation, Recipe(computation, "weighted", count=rows), rows)[3:]]
    )
    corners = {"ue8m0": (0xFF, 0xFE, 0x00, 0x00), "ue4m3": (0x7F, 0x7E, 0x01, 0x00)}[scale]
    for code in corners:
        # One row in 8 has each with a share of at least 4 of 32: 1 in 64 of all.
        assert np.mean(found == code) > 1 / 100, hex(code)
    assert not (found & lacks).any()
    assert len(np.unique(found)) > 100
    uniform = operands(computation, Recipe(computation, "random", count=rows), rows)[3]
    assert not (uniform & lacks).any()
    results = computation.compute(Recipe(computation, "weighted", count=64).given(0, 64)).outputs[0]
    assert (results[4::8] != results[4]).any()
    open_nan = TileComputation(operation_named(kind), "custom:bits=24,specials=none")
    scales = operands(open_nan, Recipe(open_nan, "weighted", count=rows), rows)[3]
    assert not (scales == corners[0]).any()
    assert (scales == corners[1]).any()


def test_chips_without_special_values_get_numbers() -> None:
    computation = TileComputation(operation_named("MFMA_F32_16x16x32_F8E4M3FNUZ"), "chip:cdna3")
    for level in ("random", "weighted"):
        recipe = Recipe(computation, level, count=16)
        for array, (_, type_, _) in zip(operands(computation, recipe, 16), computation.operands, strict=True):
            assert not specials(FORMATS[type_], array).any()
        assert len(list(recipe.chunks())) == 1
    with pytest.raises(Unsupported, match="with infinite or NaN operands is not published"):
        computation.compute(
            tuple(np.full(1, 0x80 if column.width == 8 else 0, np.uint32) for column in computation.inputs)
        )


def test_the_source_makes_the_computation_again() -> None:
    for kind in ("MFMA_F32_4x4x4x16B_F16", "VMFMA_F32_16x16x32_F16", "mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block16"):
        computation = TileComputation(operation_named(kind), CUSTOM)
        assert tile_of(json.loads(json.dumps(computation.source()))) == computation


def test_unpublished() -> None:
    with pytest.raises(Unsupported, match="how hardware computes NV_MMA_SYNC_F32_16x8x16_F16 is not published"):
        TileComputation(operation_named("NV_MMA_SYNC_F32_16x8x16_F16"), "chip:volta")


KIND = "mma.m4n2k8.f32.f16.f16"


def made(folder: Path, *options: str) -> Path:
    command = ["vectors", "make", KIND, f"--mma={CUSTOM}", "-n", "48", "--name=set", *options]
    assert main([*command, "--out", str(folder)]) == 0
    return folder


@pytest.mark.parametrize("format_", thinned(["npz", "csv", "testfloat", "readmemh", "jsonl"], 2))
def test_made_and_checked(format_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made(tmp_path / "v", f"--format={format_}")
    document = json.loads((folder / "set.json").read_text())
    jsonschema.validate(document, schema())
    assert document["source"]["mma"] == CUSTOM
    assert recipe_of(document).computation == TileComputation(operation_named(KIND), CUSTOM)
    (file,) = (path for path in folder.iterdir() if path.suffix != ".json")
    assert main(["vectors", "check", str(file)]) == 0
    assert f"{KIND}, model {CUSTOM}: 48 rows, none differs" in capsys.readouterr().out


SMALL = "mma.m1n1k8.f32.f16.f16"


@pytest.mark.long
def test_another_unit_is_found_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows of a unit that rounds once, and of one with fewer bits, checked against the accumulator."""
    narrow = CUSTOM.replace("bits=11", "bits=10")
    for name, model, told in (("one", "exact", "--mma=exact"), ("narrow", narrow, "an accumulator with bits=10")):
        command = ["vectors", "make", SMALL, f"--mma={model}", "-n", "100", "--format=csv", "--out", str(tmp_path)]
        assert main([*command, f"--name={name}"]) == 0
        file = str(tmp_path / f"{name}.csv")
        capsys.readouterr()
        assert main(["vectors", "check", file, "--op", SMALL, f"--mma={CUSTOM}"]) == 1
        first, *_ = re.findall("rows that differ are what (.*) gives", capsys.readouterr().out)
        assert first == told
        assert main(["vectors", "check", file, "--op", SMALL, f"--mma={model}"]) == 0


def exponent(number: Fraction) -> int:
    return math.frexp(float(number))[1] - 1


def cut_sum(a: list[Fraction], b: list[Fraction], c: Fraction, bits: int) -> Fraction:
    """Add products and C, each cut off ``bits`` places below the largest exponent; factors are not zero."""
    terms = [(x * y, exponent(x) + exponent(y)) for x, y in zip(a, b, strict=True)] + [(c, exponent(c))]
    unit = Fraction(2) ** (max(place for _, place in terms) - bits)
    return sum((math.trunc(value / unit) * unit for value, _ in terms), Fraction(0))


@pytest.mark.long
@pytest.mark.parametrize("seeds", amounts(2, 20))
def test_an_accumulator_of_fewer_bits_is_named_first(seeds: int) -> None:
    """The device adds with fractions: two elements of eight products of normal numbers each."""
    op = operation_named("mma.m1n2k8.f32.f16.f16")
    for seed in range(seeds):
        dice = np.random.default_rng(seed)
        right, wrong = (int(bits) for bits in sorted(dice.choice(np.arange(8, 17), 2, replace=False), reverse=True))
        rows = 100
        x, y = (np.ldexp(dice.integers(1024, 2048, (rows, n)), dice.integers(-16, 3, (rows, n))) for n in (8, 16))
        x, y = (numbers * dice.choice([-1, 1], numbers.shape) for numbers in (x, y))
        c = np.ldexp(dice.integers(1, 4096, (rows, 2)), dice.integers(-8, 16, (rows, 2)))
        x, y, c = x.astype(np.float16), y.astype(np.float16), c.astype(np.float32)
        results = np.empty((rows, 2), np.float32)
        for row, column in np.ndindex(results.shape):
            factors = [[Fraction(float(f)) for f in each] for each in (x[row], y[row, column::2])]
            total = cut_sum(factors[0], factors[1], Fraction(float(c[row, column])), wrong)
            assert Fraction(float(np.float32(float(total)))) == total
            results[row, column] = float(total)
        codes = [x.view(np.uint16), y.view(np.uint16), c.view(np.uint32), results.view(np.uint32)]
        chunk = tuple(np.ascontiguousarray(column) for array in codes for column in array.T)
        computation = TileComputation(op, f"custom:bits={right}")
        found = VectorChecker(computation, computation.inputs + computation.outputs).read([chunk])
        first = found.explanations[0]
        assert (first.name, first.rows, first.equal) == (
            f"an accumulator with bits={wrong}", found.differing, found.controls,
        )  # fmt: skip


FAULTS = (
    ("mma.m16n8k8.f32.f16.f16", "chip:turing", {"bits": 22}, "bits=22"),
    ("mma.m2n2k16.f32.f16.f16", "custom:group=8,bits=20", {"group": 4}, "group=4"),
    ("mma.m2n1k8.f32.f16.f16", "custom:bits=14", {"cut": "to_odd"}, "cut=to_odd"),
    ("mma.m2n1k8.f32.f16.f16", "custom:bits=30", {"rounding": "toward_zero"}, "rounding=toward_zero"),
    ("mma.m2n1k8.f32.f16.f16", "custom:bits=14", {"shifter": 11}, "shifter=11"),
    ("mma.m2n1k8.f32.f16.f16", "custom:bits=14", {"tree": "halves"}, "tree=halves"),
    ("mma.m2n1k8.f16.e4m3.e4m3", "custom:", {"bits": 9}, "bits=9"),
    ("mma.m2n1k8.f16.e4m3.e4m3", "exact", {"fraction": 8}, "fraction=8"),
    ("mma.m2n2k8.i32.s8.s8", "custom:overflow=saturate", {"width": 16}, "width=16"),
    ("mma.m2n2k8.i32.s8.s8", "custom:width=16", {"overflow": "saturate"}, "overflow=saturate"),
)  # fmt: skip


TWO_FAULTS = (
    ("mma.m1n1k8.f32.f16.f16", "custom:bits=20", {"bits": 18, "cut": "to_odd"}, "bits=18 and an accumulator with cut=to_odd"),
    ("mma.m1n1k16.f32.e4m3.e4m3", "custom:group=8,bits=20,cut=to_odd", {"bits": 22, "cut": "toward_zero"}, "bits=22 and an accumulator with cut=toward_zero"),
    ("mma.m16n8k8.f32.f16.f16", "chip:turing", {"bits": 22, "rounding": "to_nearest_even"}, "bits=22 and an accumulator with rounding=to_nearest_even"),
    ("NV_MMA_SYNC_F32_16x8x16_F16", "chip:ampere", {"group": 4, "bits": 22}, "group=4 and an accumulator with bits=22"),
    ("MFMA_F32_16x16x16_F16", "chip:cdna3", {"guard": 3, "cut_sums": "toward_zero"}, "guard=3 and an accumulator with cut_sums=toward_zero"),
    ("MFMA_F32_4x4x4x16B_F16", "custom:bits=20,cut=to_odd", {"bits": 18, "cut": "toward_zero"}, "bits=18 and an accumulator with cut=toward_zero"),
    ("mma.m4n4k32.f32.e4m3.e4m3.f32.ue8m0.block16", "custom:group=8,bits=20,cut=to_odd", {"bits": 18, "cut": "toward_zero"}, "bits=18 and an accumulator with cut=toward_zero"),
)  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "model", "changed", "named"),
    [*FAULTS, *(pytest.param(*row, marks=pytest.mark.exhaustive) for row in TWO_FAULTS)],
)
def test_another_field_is_named_first(kind: str, model: str, changed: dict[str, Any], named: str) -> None:
    computation = TileComputation(operation_named(kind), model)
    rule = rule_of(model, computation.operation) or Accumulator()
    device = replace(computation, model=replace(rule, **changed).text)
    found = VectorChecker(computation, computation.inputs + computation.outputs).read(
        [Recipe(device, "weighted", count=16 if computation.products > 1000 else 64, seed=7).vectors().gather()]
    )
    assert found.differing > 8
    assert (found.explanations[0].name, found.explanations[0].rows) == (
        f"an accumulator with {named}", found.differing,
    )  # fmt: skip


def test_swept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "sweep"
    command = ["vectors", "sweep", KIND, f"--mma={CUSTOM}", "-n", "200", "--format=bin", "--workers=1"]
    assert main([*command, "--out", str(out)]) == 0
    assert "200 rows in 1 shard" in capsys.readouterr().out
    (file,) = out.glob("*.bin")
    assert main(["vectors", "check", str(file)]) == 0


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["vectors", "make", KIND], "random operands need a count"),
        (["vectors", "make", KIND, "-n", "4", "--level=2"], "tiles have no level '2'; choose one of random, weighted"),
        (["vectors", "make", KIND, "-n", "4", "--rounding=upward"], "--rounding can be used only with an op"),
        (["vectors", "make", KIND, "-n", "4", "--mma=chip:hoper"], "no model is called 'chip:hoper'"),
        (["vectors", "make", KIND, "-n", "4", "--mma=custom:bit=3"], "an accumulator has no field 'bit'"),
        (["vectors", "make", KIND, "-n", "4", "--mma=custom:width=3"], "width is for integers"),
        (["vectors", "make", KIND, "-n", "4", "--mma=custom:flush=1"], "flush is '1', but must be true or false"),
        (["vectors", "make", "mma.m0n2k8.f32.f16.f16", "-n", "4"], "'mma.m0n2k8.f32.f16.f16' has no elements: M is 0"),
        (["vectors", "make", "NV_MMA_SYNC_F32_16x8x16_F1", "-n", "4"], "did you mean `NV_MMA_SYNC_F32_16x8x16_F16`?"),
        (["vectors", "make", "mma.m4n2k8.f32.f16", "-n", "4"], "no tile operation is called 'mma.m4n2k8.f32.f16'"),
        (["vectors", "make", KIND, "-n", "4", "--format=mlir", "--out=x"], "calls an op or a function"),
        (
            ["vectors", "make", "arith.addf", "--type=f16", "--mma=ieee"],
            "--mma can be used only with a tile operation or a program",
        ),
        (["vectors", "make", "MFMA_SCALE_F32_16x16x128_B32", "-n", "4"], "does not fix the types of A and B"),
    ],
)
def test_errors(
    command: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command) == 2
    assert message in capsys.readouterr().err


PROGRAM = """
#one = affine_map<() -> ()>
func.func @tile(%a: tensor<16x16xf16>, %b: tensor<16x8xf16>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %d = iree_codegen.inner_tiled ins(%a, %b) outs(%c) {
    indexing_maps = [#one, #one, #one],
    iterator_types = [],
    kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>,
    semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>
  } : tensor<16x16xf16>, tensor<16x8xf16> into tensor<16x8xf32>
  return %d : tensor<16x8xf32>
}"""


@pytest.mark.long
def test_programs_take_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program of one tile operation gives what the operation gives, by the same accumulator; another is named."""
    (tmp_path / "tile.mlir").write_text(PROGRAM)
    out = tmp_path / "v"
    program = ["vectors", "make", str(tmp_path / "tile.mlir"), f"--mma={CUSTOM}", "--level=random", "-n5", "--seed=2"]
    assert main([*program, "--format=npz", "--out", str(out), "--name=program"]) == 0
    data = np.load(out / "program.npz")
    computation = TileComputation(operation_named("NV_MMA_SYNC_F32_16x8x16_F16"), CUSTOM)
    columns = [data[name] for name in data.files if name.startswith("arg")]
    for got, name in zip(
        computation.compute(tuple(columns)).outputs, (n for n in data.files if n.startswith("result")), strict=True
    ):
        np.testing.assert_array_equal(data[name], got)
    assert json.loads((out / "program.json").read_text())["source"]["mma"] == CUSTOM
    assert main(["vectors", "check", str(out / "program.npz")]) == 0
    assert main([*program[:3], "--mma=exact", "-n", "2", "--level=weighted", "--format=npz", "--out", str(out)]) == 0
    capsys.readouterr()
    assert main(["vectors", "check", str(out / "tile_tile.npz"), "--op", program[2], f"--mma={CUSTOM}"]) == 1
    assert "all 2 rows that differ are what --mma=exact gives" in capsys.readouterr().out


@pytest.mark.long
def test_more_than_a_thousand_elements(tmp_path: Path) -> None:
    """A tile of 32x32x16 has 2,048 operands and 1,024 results."""
    command = ["vectors", "make", "MFMA_F32_32x32x16_F8E4M3FNUZ", "--mma=chip:cdna3", "-n", "4", "--format=npz"]
    assert main([*command, "--out", str(tmp_path), "--name=set"]) == 0
    assert main(["vectors", "check", str(tmp_path / "set.npz")]) == 0


def test_a_handwritten_recipe(tmp_path: Path) -> None:
    """The metadata's tile and a count make a recipe; what is left out has its default."""
    source = TileComputation(operation_named(KIND), CUSTOM).source()
    (tmp_path / "r.json").write_text(json.dumps({"source": source, "inputs": {"options": {"count": 20}}}))
    command = ["vectors", "sweep", str(tmp_path / "r.json"), "--format=csv", "--workers=1"]
    assert main([*command, "--out", str(tmp_path / "s")]) == 0
    recipe = Recipe(TileComputation(operation_named(KIND), CUSTOM), "weighted", count=20)
    (chunk,) = recipe.chunks()
    first = next(iter((tmp_path / "s").glob("*.csv"))).read_text().split()[1].split(",")
    assert [int(word, 16) for word in first] == [int(codes[0]) for codes in chunk]


@pytest.mark.parametrize("change", [{"shape": [0, 1, 4]}, {"shape": [1 << 20, 1, 4]}, {"a": "f17"}, {"color": 1}])
def test_malformed_sources(change: dict[str, Any]) -> None:
    source = TileComputation(operation_named(KIND), "exact").source()
    source["tile"].update(change)
    document = {
        "source": source,
        "profile": {"name": "spec", "fields": {}},
        "inputs": {"level": "random", "options": {"count": 1}},
    }
    with pytest.raises((InputError, Unsupported)):
        recipe_of(document)


# --- scaled -----------------------------------------------------------------------------------------------------------
#
# Elements and scales that are drawn together: results fill their format, and blocks share their scale.

CASES = (
    ("arith.scaling_truncf", "f32", "f4E2M1FN"),
    ("arith.scaling_truncf", "bf16", "f8E4M3FN"),
    ("arith.scaling_truncf", "f16", "f6E3M2FN"),
    ("arith.scaling_truncf", "f64", "f8E5M2"),
    ("arith.scaling_extf", "f4E2M1FN", "f16"),
    ("arith.scaling_extf", "f8E5M2", "f16"),
    ("arith.scaling_extf", "f8E4M3FN", "f32"),
)


def recipe(case: tuple[str, str, str], level: Any, block: int | None, scale: str = "f8E8M0FNU") -> Recipe:
    op, source, target = case
    return Recipe(OpComputation(op_case(op, [source, scale], target)), level, seed=3, count=20_000, block=block)


@pytest.mark.parametrize("block", [None, 32])
@pytest.mark.parametrize("level", ["1", "random", "weighted"])
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_results_fill_their_format(case: tuple[str, str, str], level: Any, block: int | None) -> None:
    """Drawn alone, 76 to 98 % of the results were zero or the largest value."""
    fmt = FORMATS[case[2]]
    made = recipe(case, level, block)
    place = next(k for k, column in enumerate(made.columns) if column.role is Role.RESULT)
    results = np.concatenate([chunk[place] for chunk in made.chunks()])
    magnitudes = results & results.dtype.type(fmt.code_mask ^ (fmt.sign_mask or 0))
    extreme = float(((magnitudes == 0) | (magnitudes >= fmt.max_code)).mean())
    # Of the 8 magnitudes of f4E2M1FN, these are 2.
    assert 0 < extreme < (0.45 if fmt.bits == 4 else 0.35)
    if fmt.bits <= 8:
        numbers = np.unique(magnitudes[magnitudes <= fmt.max_code])
        # In level 1 the first rows have few different elements.
        assert numbers.size >= (0.5 if level == "1" else 0.8) * (fmt.max_code + 1)


@pytest.mark.parametrize("level", ["1", "random"])
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_rows_of_a_block_share_their_scale(case: tuple[str, str, str], level: Any) -> None:
    _, scales, *_ = next(iter(recipe(case, level, 32).chunks()))
    blocks = scales.reshape(-1, 32)
    assert (blocks == blocks[:, :1]).all()
    assert np.unique(blocks[:, 0]).size > 10


def test_what_stays() -> None:
    """Every combination is every combination."""
    everything = Recipe(OpComputation(op_case("arith.scaling_extf", ["f4E2M1FN", "f8E8M0FNU"], "f32")), "exhaustive")
    (chunk,) = everything.chunks()
    assert np.unique(chunk[0].astype(int) << 8 | chunk[1]).size == 1 << 12


# --- tensor rows ------------------------------------------------------------------------------------------------------
#
# Rows of programs on tensors: many at once give what each gives alone.

TENSORS = """
func.func @divide(%a: tensor<2xi8>, %b: tensor<2xi8>) -> (tensor<2xi8>, i8) {
  %one = arith.constant 1 : index
  %q = arith.divsi %a, %b : tensor<2xi8>
  %x = tensor.extract %q[%one] : tensor<2xi8>
  %s = arith.shli %x, %x : i8
  return %q, %s : tensor<2xi8>, i8
}
func.func @constant(%a: vector<2x1xf80>) -> (vector<1x2xf80>, tensor<2xi4>, tensor<0xi8>) {
  %t = vector.transpose %a, [1, 0] : vector<2x1xf80> to vector<1x2xf80>
  %c = arith.constant dense<[3, 4]> : tensor<2xi4>
  %n = arith.constant dense<[]> : tensor<0xi8>
  return %t, %c, %n : vector<1x2xf80>, tensor<2xi4>, tensor<0xi8>
}
func.func @zeros(%a: tensor<2xf16>) -> tensor<2xf16> {
  %m = arith.addf %a, %a fastmath<nsz> : tensor<2xf16>
  return %m : tensor<2xf16>
}
func.func @shapes(%a: tensor<4xi8>, %n: i2) -> tensor<1xi8> {
  %n64 = arith.index_castui %n : i2 to index
  %zero = arith.constant 0 : index
  %p = tensor.extract_slice %a[0] [%n64] [1] : tensor<4xi8> to tensor<?xi8>
  %d = tensor.dim %p, %zero : tensor<?xi8>
  %x = arith.index_cast %d : index to i8
  %r = tensor.from_elements %x : tensor<1xi8>
  return %r : tensor<1xi8>
}
"""


@pytest.mark.parametrize("keep_ub", [False, True])
@pytest.mark.parametrize("function", thinned(["divide", "constant", "zeros", "shapes"], 3))
def test_rows_of_tensors_at_once_are_what_each_row_is_alone(
    function: str, keep_ub: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in parts, and where lanes would hold different shapes, so that each row runs alone."""
    recipe = Recipe(ProgramComputation(TENSORS, function, "tensors.mlir", keep_ub=keep_ub), "weighted", count=300)
    inputs = recipe.given(0, 300)
    assert isinstance(recipe.computation, ProgramComputation)
    wanted = recipe.computation._one_by_one(inputs)
    assert (wanted.undefined is not None) == (function == "divide")
    for most in (1 << 20, 250):
        monkeypatch.setattr(computation, "ELEMENTS_AT_ONCE", most)
        found = recipe.computation.compute(inputs)
        assert len(found.outputs) == len(recipe.computation.outputs)
        for mine, alone in zip(found.outputs, wanted.outputs, strict=True):
            assert (mine.dtype, mine.shape) == (alone.dtype, alone.shape)
            assert np.array_equal(mine, alone)
        assert np.array_equal(found.undefined, wanted.undefined)  # type: ignore[arg-type]
