"""hu.vectors: typed rows and columns, the same sets as the command makes, and errors that say what to do."""

import json
import re
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted_devices import Plant, byte_swapped, flags_reversed, twice_rounded
from tables import each_row
from vector_files import run

import halfulp as hu
from halfulp.cocotb import Reference
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.fp_formats.policy import Flags
from halfulp.golden import vectors as module
from halfulp.golden.recipes import FIELDS, ComputationOptions, RecipeKeywords, RecipeOptions
from halfulp.golden.vectors import Vectors

DOUBLE = "func.func @f(%x: f32) -> f32 { %0 = arith.addf %x, %x : f32 return %0 : f32 }"


def test_rows_are_exact_sums() -> None:
    made = hu.vectors("arith.addf", "f8E4M3FN", level="weighted", n=300)
    checked = 0
    for row in made:
        a, b = (Fraction(x.item()) if np.isfinite(x.item()) else None for x in row.operands)
        if a is None or b is None or abs(a + b) > 448:
            continue
        checked += 1
        # A sum is exact if and only if it is a value of the format, and then it raises no flag.
        exact = Fraction(row.result.item()) == a + b
        assert row.flags == (Flags(0) if exact else Flags.INEXACT)
        assert exact or abs(Fraction(row.result.item()) - (a + b)) <= Fraction(hu.ulp(row.result)) / 2
    assert checked > 100


def test_rows_and_columns_agree() -> None:
    made = hu.vectors("math.fma", "f16", n=50)
    rows = list(made)
    assert len(made) == len(rows) == 50
    assert [str(row.operands[2]) for row in rows] == [str(value) for value in made["c"]]
    assert made[-1].result == rows[-1].result
    assert str(made[49].operands[0].type) == "f16"
    assert made.columns_as_codes["flags"].tolist() == [int(row.flags or 0) for row in rows]
    with pytest.raises(IndexError, match="no row 50 of 50"):
        made[50]
    with pytest.raises(KeyError, match="no column 'd'; the columns are a, b, c, result, flags"):
        made["d"]


def test_poison_and_open_bits() -> None:
    """2^15 does not fit into i8; a zero that nsz leaves open has an open sign."""
    rows = [
        row
        for row in hu.vectors("arith.fptosi", "f16", to="i8", level="weighted", n=300)
        if row.operands[0].item() > 200
    ]
    assert rows
    assert all(row.result.poisoned.all() for row in rows)
    zeros = [r for r in hu.vectors("arith.addf", "f8E4M3FN", n=600, fastmath="nsz") if r.result.item() == 0]
    assert zeros
    assert {row.open for row in zeros} == {(0x80,)}


def test_random_bits_are_a_column() -> None:
    made = hu.vectors("arith.truncf", "f32", to="f8E4M3FN", rounding="stochastic", level="random", n=20, random_bits=8)
    assert [column.name for column in made.columns] == ["a", "random", "result", "flags"]
    assert all(row.random is not None and row.random < 256 for row in made)


def test_programs(tmp_path: Path) -> None:
    made = hu.vectors(DOUBLE, n=40)
    assert all(row.result == row.operands[0] + row.operands[0] for row in made)
    (tmp_path / "two.mlir").write_text(DOUBLE + "\nfunc.func @g(%x: i8) -> i8 { return %x : i8 }")
    assert "arg0: i8" in repr(hu.vectors(str(tmp_path / "two.mlir"), function="g", n=4))
    assert "arg0: f32" in repr(hu.vectors(hu.load(DOUBLE), n=4))


TRITON = Path(__file__).parents[2] / "data" / "triton"


def test_a_kernel_launches_once_for_each_row(tmp_path: Path) -> None:
    """Beside the bits of the chip for a recorded input; the memory that a kernel only stores in is zero before."""
    held = np.load(TRITON / "tile_sums.npz")
    options: dict[str, Any] = {"grid": 1, "arguments": ["32x64xf32", "32xf32", "64xf32"]}
    x = np.stack([held["in_x"], -held["in_x"]])
    made = hu.vectors(str(TRITON / "tile_sums.cuda90.ttgir"), operands={"arg0": x}, n=2, **options)
    codes = made.columns_as_codes
    for number, key in ((1, "cuda90_rows"), (2, "cuda90_columns")):
        expected = held[key]
        got = np.stack([codes[f"result{number}_{k}"] for k in range(len(expected))], axis=1).astype(np.uint32)
        assert np.array_equal(got.view(np.float32), [expected, -expected])
    assert [each["op"] for each in made.computation.source()["launch"]["layouts"]] == ["tt.reduce", "tt.reduce"]


@pytest.mark.long
def test_files_of_a_kernel(tmp_path: Path) -> None:
    """They say what the launch is, and are checked against launches."""
    kernel = str(TRITON / "add_mask.cuda90.ttgir")
    options: dict[str, Any] = {"arguments": ["4xf32", "4xf32", "4xf32", "4"], "level": "random", "n": 3}
    path = hu.vectors(kernel, grid=1, **options).write(tmp_path, ["csv"])
    launch = json.loads(path.read_text())["source"]["launch"]
    assert launch["target"]["ttg.target"] == "cuda:90"
    assert [(each["read"], each["stored"], each["before"]) for each in launch["memory"]] == [
        (True, False, "columns"),
        (True, False, "columns"),
        (False, True, "zeros"),
    ]
    file = path.with_suffix(".csv")
    assert hu.check(file).equal
    head, first, *rest = file.read_text().splitlines()
    words, place = first.split(","), head.split(",").index("result2_3")
    words[place] = f"0x{int(words[place], 16) ^ 1:08X}"
    file.write_text("\n".join([head, ",".join(words), *rest, ""]))
    report = hu.check(file)
    assert report.differing == 1
    assert "result2_3" in str(report)


def test_memory_that_atomics_change_is_an_operand_and_a_result() -> None:
    held = np.load(TRITON / "histogram_atomic.npz")
    made = hu.vectors(
        str(TRITON / "histogram_atomic.gfx942.ttgir"),
        grid=4,
        arguments=["1000xi32", "1000xf32", "64xi32", "64xf32=0", "1000"],
        operands={"arg0": held["in_x"][None], "arg1": held["in_w"][None], "arg2": np.ones((1, 64), np.int32)},
        n=1,
    )
    codes = made.columns_as_codes
    counts, sums = (np.array([codes[f"result{number}_{k}"][0] for k in range(64)], np.uint32) for number in (2, 3))
    assert np.array_equal(counts.view(np.int32), held["gfx942_counts"] + 1)
    assert np.array_equal(sums.view(np.float32), held["gfx942_sums"])
    assert codes["open_result3_0"][0] == 0xFFFFFFFF  # the order of its additions is open
    assert codes["open_result2_0"][0] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "'@add_mask' is a kernel: its vectors need the grid and the shape of its memory"),
        ({"grid": 1}, "grid also needs arguments"),
        ({"arguments": ["4xf32"]}, "arguments also needs grid"),
        ({"grid": 0, "arguments": ["4xf32"]}, "grid: 0 is not a grid"),
        ({"grid": 1, "arguments": ["4xf32"]}, "has 4 arguments, but 1 are described"),
        ({"grid": 1, "arguments": ["4xf16", "4xf32", "4xf32", "4"]}, "'4xf16' is not the shape of memory of 'f32'"),
        ({"grid": 1, "arguments": ["f32", "4xf32", "4xf32", "4"]}, "'f32' is not the shape of memory of 'f32'"),
        ({"grid": 1, "arguments": ["4xf32", "4xf32", "4xf32", "f32=4"]}, "it is of type 'i32', not 'f32'"),
        ({"grid": 1, "arguments": ["4xf32", "4xf32", "4xf32", "4"]}, "give n"),
        # All rows access memory that is not there.
        ({"grid": 1, "arguments": ["4xf32", "3xf32", "4xf32", "4"], "n": 2}, "outside of the 12 bytes of argument 1"),
    ],
)
def test_launches_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(hu.HalfulpError, match=re.escape(message)):
        list(hu.vectors(str(TRITON / "add_mask.cuda90.ttgir"), **options))
    with pytest.raises(hu.HalfulpError, match="'@f' is not a kernel, so it has no grid"):
        hu.vectors(DOUBLE, grid=1, arguments=["f32"], n=1)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("arith.addf", "f8E4M3FN"), {"n": 100}),
        (("arith.mulf", "bf16"), {"models": ["B3", "B4"], "rounding": "upward"}),
        (("arith.divf", "f16"), {"level": "random", "n": 50, "seed": 7, "profile": "ocp-saturate"}),
    ],
)
def test_files_are_those_of_the_command(arguments: tuple[str, str], options: dict[str, object], tmp_path: Path) -> None:
    path = hu.vectors(*arguments, **options).write(tmp_path / "ours", ["testfloat", "npz"])  # type: ignore[arg-type]
    words = {
        "n": "-n",
        "models": "--models",
        "rounding": "--rounding",
        "level": "--level",
        "seed": "--seed",
        "profile": "--profile",
    }
    given = [
        part
        for name, value in options.items()
        for part in (words[name], ",".join(value) if isinstance(value, list) else str(value))
    ]
    done = run(
        "vectors",
        "make",
        arguments[0],
        "--type",
        arguments[1],
        "--format",
        "testfloat,npz",
        "--out",
        str(tmp_path / "theirs"),
        *given,
    )
    assert done.code == 0, done.err
    theirs = tmp_path / "theirs" / path.name
    assert json.loads(path.read_text()) == json.loads(theirs.read_text())
    assert path.with_suffix(".tv").read_bytes() == theirs.with_suffix(".tv").read_bytes()


def test_formats_without_flags(tmp_path: Path) -> None:
    path = hu.vectors("arith.addf", "f8E4M3FN", n=3).write(tmp_path, "mlir", name="sums")
    assert path == tmp_path / "sums.json"
    assert [column["name"] for column in json.loads(path.read_text())["columns"]] == ["a", "b", "result"]


@each_row(
    (("arith.addf",), {}, "the type is missing"),
    (("arith.adf", "f16"), {}, "did you mean `arith.addf`"),
    (("arith.addf", "f16"), {"level": "random"}, "n says how many"),
    (("arith.addf", "f16"), {"models": ["F1"]}, "F1 does not apply to arith.addf f16"),
    (("arith.addf", "f16"), {"models": ["B99"]}, "unknown model 'B99'"),
    (("arith.addf", "f16"), {"random_bits": 3}, "can be used only with rounding='stochastic'"),
    (("arith.addi", "i8"), {"flags": True}, "sets no exception flags"),
    (("arith.addf", "f16"), {"function": "f"}, "can be used only with a program"),
    ((DOUBLE, "f32"), {}, "type can be used only with an op, not with a program"),
    ((DOUBLE,), {"models": "all"}, "not for programs"),
    (("arith.addf", "f16"), {"mma": "exact"}, "mma can be used only with a tile operation or a program"),
    (("mma.m1n1k2.f32.f16.f16",), {"n": 2, "rounding": "upward"}, "rounding can be used only with an op"),
    (("mma.m1n1k2.f32.f16.f16",), {"n": 2, "mma": "custom:bits=x"}, "bits is 'x'"),
    (("MFMA_SCALE_F32_32x32x64_B32", ("f16", "f16", "f16")), {"n": 2}, "3 types are given"),
)
def test_errors(arguments: tuple[str, ...], options: dict[str, object], message: str) -> None:
    with pytest.raises(hu.HalfulpError, match=message):
        hu.vectors(*arguments, **options)  # type: ignore[arg-type]


def test_large_sets_are_not_held_but_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_HELD", 1000)
    made = hu.vectors("arith.addf", "f8E4M3FN", level="exhaustive")
    with pytest.raises(hu.errors.LimitExceeded, match="65,536 rows are too many to hold in memory: 1,000"):
        len(made)
    assert str(next(iter(made)).result) == str(hu.Value.from_bits(0, "f8E4M3FN"))


@pytest.mark.long
def test_operands_of_ones_own() -> None:
    x = np.array([1.5, 2.0, -3.0], np.float32)
    made = hu.vectors("arith.mulf", "f32", operands={"a": x, "b": hu.Value.from_numpy(x[::-1].copy())})
    assert [row.result.item() for row in made] == [-4.5, 4.0, -4.5]
    raw = hu.vectors("arith.negf", "bf16", operands={"a": np.array([0x3F80], np.uint16)})
    assert raw[0].result.item() == -1.0
    drawn = hu.vectors("arith.negf", "bf16", operands="uniform:low=1,high=2", n=50)
    assert all(-2 <= row.result.item() <= -1 for row in drawn)
    assert len(hu.vectors("math.fma", "bf16", operands="normal@50,corners@30,B1@20", n=100)) == 100
    text = "func.func @f(%x: tensor<2xf32>, %y: f32) -> tensor<2xf32> { func.return %x : tensor<2xf32> }"
    of_rows = hu.vectors(text, operands={"arg0": np.array([[1, 2], [3, 4]], np.float32), "arg1": "normal"})
    assert of_rows[1].results[1].item() == 4.0


@each_row(
    ({"a": np.ones(2)}, "'a': expected 'tensor<2xf32>', got an array of dtype float64"),
    ({"d": np.ones(2, np.float32)}, "there is no operand 'd': the operands are a, b"),
    ({"a": np.ones(2, np.float32)}, "the operand 'b' has no source"),
    ({"a": np.ones(2, np.float32), "b": np.ones(3, np.float32)}, "a has 2, b has 3"),
    ({"a": np.ones(0, np.float32), "b": "normal"}, "'a': the array has no elements"),
    (3, "operands takes a text"),
)
def test_operands_that_do_not_fit(operands: Any, told: str) -> None:
    with pytest.raises(hu.HalfulpError, match=told):
        hu.vectors("arith.mulf", "f32", operands=operands)


def test_operands_and_a_level_do_not_go_together() -> None:
    with pytest.raises(hu.errors.InputError, match="both say what the operands are"):
        hu.vectors("arith.mulf", "f32", level="1", operands="normal")


def test_arrays_in_memory_cannot_be_made_again(tmp_path: Path) -> None:
    made = hu.vectors("arith.negf", "f32", operands={"a": np.ones(2, np.float32)})
    path = made.write(tmp_path)
    done = run("vectors", "make", "--changed", str(path))
    assert done.code == 2
    assert "was given in memory, so it cannot be made again" in done.err
    assert run("vectors", "check", str(path.with_suffix(".tv"))).code == 0


def test_tiles(tmp_path: Path) -> None:
    """2^24 + 1 + 1 in f32: the sum of two steps, each rounded to even, is 2^24; added at once, it is 2^24 + 2."""
    vectors = hu.vectors("mma.m1n1k2.f32.f16.f16", n=20, mma=hu.Accumulator(group=1))
    assert [column.name for column in vectors.columns] == ["a_0_0", "a_0_1", "b_0_0", "b_1_0", "c_0_0", "result_0_0"]
    assert vectors.recipe.level == "weighted"
    ones = np.array([0x3C00], np.uint16)
    rows = (ones, ones, ones, ones, np.array([0x4B800000], np.uint32))
    assert vectors.computation.compute(rows).outputs[0].tolist() == [0x4B800000]
    at_once = hu.vectors("mma.m1n1k2.f32.f16.f16", n=20)
    assert at_once.computation.compute(rows).outputs[0].tolist() == [0x4B800001]
    assert hu.check(at_once, at_once["result_0_0"]).equal
    scaled = hu.vectors("MFMA_SCALE_F32_32x32x64_B32", ("f8E4M3FN", "f4E2M1FN"), n=1)
    assert {column.type for column in scaled.columns} == {"f8E4M3FN", "f4E2M1FN", "f32", "f8E8M0FNU"}
    done = run(
        "vectors",
        "make",
        "mma.m1n1k2.f32.f16.f16",
        "--mma=custom:group=1",
        "-n",
        "20",
        "--out",
        str(tmp_path / "theirs"),
    )
    vectors.write(tmp_path / "ours")
    ours, theirs = (next((tmp_path / side).glob("*.tv")).read_bytes() for side in ("ours", "theirs"))
    assert (done.code, ours) == (0, theirs)


@pytest.mark.parametrize("function", [hu.vectors, Reference])
def test_arguments_are_the_described_options(function: Any) -> None:
    described = {each.name for each in fields(ComputationOptions if function is Reference else RecipeOptions)}
    # Properties of an op are keywords in Python, and a profile has its fields.
    described = described - {"attr", "source", *FIELDS} | {"of", "to", "properties"}
    parameters = signature(function).parameters
    assert set(parameters) == described
    defaults = RecipeKeywords()
    for name, parameter in parameters.items():
        if name in {each.name for each in fields(defaults)} - {"models"}:
            assert parameter.default == getattr(defaults, name)


# --- checking ---------------------------------------------------------------------------------------------------------
#
# hu.check: values and files of devices; a fault that is planted is named, don't-care bits do not count.


@pytest.fixture(scope="module")
def products() -> Vectors:
    return hu.vectors("arith.mulf", "bf16", level="weighted", n=2000)


def test_right_results_are_equal(products: Vectors) -> None:
    codes = products.columns_as_codes
    for results in (products["result"], codes["result"], codes["result"].tolist(), products["result"].numpy()):
        report = hu.check(products, results, codes["flags"])
        assert report.equal, str(report)
        assert str(report) == "arith.mulf bf16: 2,000 rows, none differs"
    assert hu.check(products, products["result"]).equal


@pytest.mark.long
def test_a_wrong_rounding_is_named(products: Vectors) -> None:
    device = hu.eval("arith.mulf", products["a"], products["b"], rounding="downward")
    report = hu.check(products, device, n=3)
    assert not report.equal
    assert report.cause == "rounding=downward"
    assert len(report.mismatches) == 3
    assert report.differing == int((device.bits != products["result"].bits).sum())
    assert report.to_json()["explanations"][0]["name"] == "rounding=downward"
    assert "are what rounding=downward gives" in str(report)


@pytest.mark.long
def test_wrong_flags_are_found(products: Vectors) -> None:
    flags = products.columns_as_codes["flags"].copy()
    flags &= ~np.uint8(1)
    report = hu.check(products, products["result"], flags)
    assert report.differing == int((products.columns_as_codes["flags"] & 1).sum())
    assert "inexact" in (report.cause or "")


@pytest.mark.long
@pytest.mark.parametrize("plant", [byte_swapped, flags_reversed, twice_rounded], ids=lambda plant: plant.__name__)
def test_planted_faults_are_named_first(plant: Callable[[np.random.Generator], Plant]) -> None:
    """Some of the faults of tests/planted_devices.py, as arrays in memory."""
    made = plant(np.random.Generator(np.random.PCG64(3)))
    columns = [column.name for column in made.computation.outputs]
    given = dict(zip(columns, made.outputs, strict=True))
    operands = made.rows[: len(made.computation.inputs)]
    report = hu.check(Vectors(Recipe(made.computation)), given["result"], given["flags"], operands=operands)
    assert (report.cause or "").startswith((made.name, *ALSO.get(made.name, ()))), str(report)


# bf16 has the exponents of f32 and 8 bits, so to round to 8 bits first is the same, and it has the expected flags by
# itself.
ALSO = {"double rounding through bf16 with the expected flags": ("results rounded twice, to 8 bits first",)}


@pytest.mark.long
def test_operands_of_ones_own_in_checking() -> None:
    """1.5 * 1.5 = 2.25, a tie in f4E2M1FN between 2 and 3: to the even significand, 2."""
    vectors = hu.vectors("arith.mulf", "f4E2M1FN")
    x = hu.convert([1.5, 1.0], "f4E2M1FN")
    assert hu.check(vectors, hu.convert([2.0, 1.0], "f4E2M1FN"), operands=(x, x)).equal
    report = hu.check(vectors, hu.convert([3.0, 1.0], "f4E2M1FN"), operands=(x, x))
    assert (report.rows, report.differing) == (2, 1)


@pytest.mark.long
def test_poison_and_open_bits_do_not_count() -> None:
    integers = hu.vectors("arith.fptosi", "f16", to="i8")
    codes = integers.columns_as_codes
    results = np.where(codes["poison"] == 1, 0x55, codes["result"]).astype(np.uint8)
    assert hu.check(integers, results).equal
    assert not hu.check(integers, results ^ 1).equal
    zeros = hu.vectors("arith.addf", "f8E4M3FN", n=500, fastmath="nsz")
    codes = zeros.columns_as_codes
    assert hu.check(zeros, codes["result"] ^ codes["open"]).equal
    assert hu.check(zeros, codes["result"] ^ 0x80).differing == int((codes["open"] == 0).sum())


@pytest.mark.long
def test_any_nan() -> None:
    vectors = hu.vectors("arith.divf", "f16", n=3000)
    codes = vectors.columns_as_codes["result"]
    nan = (codes & 0x7FFF) > 0x7C00
    assert nan.any()
    results = np.where(nan, 0x7FFF, codes).astype(np.uint16)
    assert not hu.check(vectors, results).equal
    assert hu.check(vectors, results, any_nan=True).equal


def test_files(tmp_path: Path) -> None:
    vectors = hu.vectors("arith.addf", "f8E4M3FN", n=400)
    metadata = vectors.write(tmp_path)
    golden = metadata.with_suffix(".tv")
    assert "all rows equal those of the golden set" in str(hu.check(golden))
    lines = golden.read_text().splitlines()
    device = tmp_path / "device.tv"
    device.write_text(
        "\n".join([*lines[:7], lines[7][:6] + f"{int(lines[7][6:8], 16) ^ 1:02X}" + lines[7][8:], *lines[8:]])
    )
    for report in (hu.check(vectors, device), hu.check(device, metadata=metadata)):
        assert [mismatch.row for mismatch in report.mismatches] == [7]
    device.write_text("\n".join(lines[:300]))
    short = hu.check(device, metadata=metadata)
    assert not short.equal
    assert short.differing == 0
    assert "300 rows, but" in str(short)
    assert hu.check(device, metadata=metadata, partial=True).equal


def test_what_does_not_fit_is_an_error(products: Vectors) -> None:
    codes = products.columns_as_codes["result"]
    with pytest.raises(hu.errors.InputError, match="3 results are given for 2,000 rows"):
        hu.check(products, codes[:3])
    with pytest.raises(hu.TypeMismatch, match="'result' has the type bf16, but 'f16' is given"):
        hu.check(products, hu.convert([1.0], "f16"))
    with pytest.raises(hu.TypeMismatch, match="bf16"):
        hu.check(products, np.zeros(2000, np.float32))
    with pytest.raises(hu.errors.InputError, match="'result' has 16 bits"):
        hu.check(products, np.full(2000, 1 << 16, np.uint32))
    with pytest.raises(hu.errors.InputError, match="'flags' has 5 bits"):
        hu.check(products, codes, [32] * 2000)
    with pytest.raises(hu.errors.InputError, match="the results are missing"):
        hu.check(products)
    with pytest.raises(hu.errors.InputError, match="need vectors"):
        hu.check("device.tv", codes)
    with pytest.raises(hu.errors.InputError, match="cannot read"):
        hu.check(products, "no such file.tv")
    with pytest.raises(hu.errors.InputError, match="2 arrays are given for the columns result"):
        hu.check(products, (codes, codes))
    with pytest.raises(hu.errors.InputError, match="the vectors have none"):
        hu.check(hu.vectors("arith.addi", "i8", n=5), [0] * 5, [0] * 5)
