"""``halfulp vectors make`` as its users see it: what lies in the files and beside them, and what is refused."""

import io
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from command import MEMORY, PATIENCE, halfulp, heeds_interrupts
from tables import each_row
from tree import ROOT
from vector_files import VECTOR_SETS_ADDF, changed, digest, edited, made, run

from halfulp.command.main import main
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors import c_model, metadata
from halfulp.conformance.vectors.computation import OpComputation
from halfulp.conformance.vectors.formats import format_named, read_vectors
from halfulp.conformance.vectors.models.model import coverage
from halfulp.conformance.vectors.models.table import MODELS
from halfulp.conformance.vectors.op_inputs import filled_models
from halfulp.conformance.vectors.packing import FORMAT_NAMES
from halfulp.conformance.vectors.recipe import Recipe, recipe_of
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir.errors import InputError

PROGRAM = """\
func.func @main(%x: f16, %y: f16) -> f16 {
  %0 = func.call @eval(%x, %y) : (f16, f16) -> f16
  %1 = arith.mulf %0, %y : f16
  return %1 : f16
}
func.func private @eval(%x: f16, %y: f16) -> f16 { %0 = arith.addf %x, %y : f16 return %0 : f16 }
func.func @two(%x: i8) -> (i8, i8) {
  %0 = arith.addi %x, %x : i8
  %1 = arith.muli %x, %x : i8
  return %0, %1 : i8, i8
}
func.func @pairs(%x: tensor<2xf16>) -> tensor<2xf16> {
  %0 = arith.addf %x, %x : tensor<2xf16>
  return %0 : tensor<2xf16>
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return a file with a few functions."""
    path = tmp_path / "kernel.mlir"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


# --- what is made -----------------------------------------------------------------------------------------------------


def test_a_stream_is_what_testfloat_writes_and_as_the_specification_says() -> None:
    done = halfulp(*VECTOR_SETS_ADDF, "-n", "500")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert len(lines) == 500
    fmt = FORMATS["f8E4M3FN"]
    for line in lines:
        a, b, result, flags = (int(word, 16) for word in line.split(" "))
        expected = scalar.add(fmt, a, b)
        assert (result, flags) == (expected.code, expected.flags)
        assert line == f"{a:02X} {b:02X} {result:02X} {flags:02X}"


def test_formats_of_one_set_have_one_digest_and_one_document(tmp_path: Path) -> None:
    everything = [name for name in FORMAT_NAMES if name not in ("runs", "mlir")]
    document = made(tmp_path / "sets", *VECTOR_SETS_ADDF, "-n", "300", "--format", ",".join(everything), "--any-nan")
    assert [file["format"] for file in document["files"]] == everything
    assert (document["count"], document["nan"]["accept"]) == (300, "any")
    assert document["anchors"][0]["row"] == 0
    assert all((tmp_path / "sets" / f"addf_f8E4M3FN{format_named(name).suffix}").is_file() for name in everything)
    again = made(tmp_path / "again", *VECTOR_SETS_ADDF, "-n", "300", "--any-nan", "--format", ",".join(everything))
    assert again == document


def test_a_document_makes_its_set_again(tmp_path: Path) -> None:
    for number, arguments in enumerate(
        [
            ("arith.truncf", "--from", "f32", "--type", "f8E4M3FN", "--rounding", "stochastic", "--random-bits", "5"),
            ("arith.divf", "--type", "bf16", "--rounding=SR", "-n", "90", "--profile=spec,stochastic=p3109_c"),
            ("arith.cmpf", "--type", "f16", "--attr", "predicate=olt", "--level", "random", "-n", "400", "--seed", "9"),
            ("arith.fptosi", "--from", "bf16", "--type", "i7", "--models", "all", "--float-to-int", "modular"),
            ("quant.qcast", "--from", "f32", "--type", "!quant.uniform<i8:f32:0, {0.5:3, 0.25}>", "-n", "100"),
            ("arith.mulf", "--type", "bf16", "--profile", "spec,nan_result=canonical", "--denormals=flush_both"),
            ("arith.shli", "--type", "i65", "--attr", "overflow=nsw", "-n", "100"),
        ]
    ):
        document = made(tmp_path / str(number), "vectors", "make", "--format", "npz", *arguments)
        assert recipe_of(document).vectors().digest() == document["sha256"], arguments


def test_flags_are_left_out_where_a_format_has_no_place_for_them(tmp_path: Path) -> None:
    document = made(tmp_path / "sets", *VECTOR_SETS_ADDF, "-n", "40", "--format", "npz,mlir,testfloat")
    assert "flags" not in {column["role"] for column in document["columns"]}
    assert document["flags"] is None
    done = run("run", str(tmp_path / "sets" / "addf_f8E4M3FN.mlir"), "--function=main")
    assert (done.code, done.err) == (0, "")
    refused = run(*VECTOR_SETS_ADDF, "--format", "npz,mlir", "--flags", "--out", str(tmp_path / "no"))
    assert (refused.code, not (tmp_path / "no").exists()) == (2, True)
    assert "the format 'mlir' has no place for flags" in refused.err


def test_programs(tmp_path: Path, program: Path) -> None:
    document = made(
        tmp_path / "main", "vectors", "make", str(program), "--function=main", "-n", "50", "--format", "npz,mlir"
    )
    assert document["source"]["function"] == "main"
    # Its own @eval and @main make way for those of the self-checking program.
    done = run("run", str(tmp_path / "main" / "kernel_main.mlir"), "--function=main")
    assert (done.code, done.err) == (0, "")
    document = made(tmp_path / "two", "vectors", "make", str(program), "--function=two", "--format", "mlir,testfloat")
    assert [column["name"] for column in document["columns"]] == ["arg0", "result0", "result1"]
    assert run("run", str(tmp_path / "two" / "kernel_two.mlir"), "--function=main").code == 0
    document = made(
        tmp_path / "pairs", "vectors", "make", str(program), "--function=pairs", "-n", "30", "--format", "csv"
    )
    assert [c["name"] for c in document["columns"] if c["role"] == "operand"] == ["arg0_0", "arg0_1"]
    done = run("vectors", "make", str(program), "--function=pairs", "--format=mlir")
    assert (done.code, done.out) == (2, "")
    assert "checks functions of scalars" in done.err


def test_poison_and_undefined_behaviour(tmp_path: Path) -> None:
    fptosi = ("vectors", "make", "arith.fptosi", "--from", "f16", "--type", "i8")
    refused = run(*fptosi)
    assert refused.code == 2
    assert "row 1: 'result' is poison" in refused.err
    whole = made(tmp_path / "npz", *fptosi, "--format", "npz,readmemh")
    dropped = made(tmp_path / "drop", *fptosi, "--poison", "drop", "--format", "npz,testfloat")
    assert dropped["poison"]["encoding"] == "drop"
    assert dropped["count"] + dropped["dropped"] == whole["count"]
    canonical = made(tmp_path / "canonical", *fptosi, "--poison", "canonical")
    assert (canonical["count"], "dropped" in canonical) == (whole["count"], False)
    divsi = ("vectors", "make", "arith.divsi", "--type", "i4", "--level", "exhaustive")
    done = run(*divsi)
    # 16 divisions by zero, and -8 / -1.
    assert (len(done.out.splitlines()), done.err.splitlines()) == (
        239,
        ["17 rows with undefined behaviour are left out; --keep-ub keeps them, as poison"],
    )
    assert made(tmp_path / "divsi", *divsi)["undefined"] == 17
    kept = made(tmp_path / "kept", *divsi, "--keep-ub", "--format", "npz")
    assert (kept["count"], "undefined" in kept) == (256, False)


@pytest.mark.parametrize("place", ["separate", "first", "last"])
@pytest.mark.parametrize("packing", ["containers", "dense", "dense-high"])
def test_blocks_with_a_scale_read_back(tmp_path: Path, place: str, packing: str) -> None:
    document = made(
        tmp_path / "mx", "vectors", "make", "arith.scaling_extf", "--from", "f4E2M1FN,f8E8M0FNU", "--type", "f32",
        "--mx", place, "--pack", packing, "--format", "bin,npz", "--name", "mx",
    )  # fmt: skip
    assert document["blocks"] == {"element": "a", "scale": "b", "elements": 32, "scales": place}
    columns = np.load(tmp_path / "mx" / "mx.npz")
    scales = columns["b"].reshape(-1, 32)
    assert (scales == scales[:, :1]).all()
    data = (tmp_path / "mx" / "mx.bin").read_bytes()
    blocks, codes = document["count"] // 32, columns["a"].reshape(-1, 32)
    low, high = (0, 1) if packing == "dense" else (1, 0)
    elements = codes if packing == "containers" else codes[:, low::2] | codes[:, high::2] << 4
    parts = {
        "separate": [elements.tobytes(), scales[:, 0].tobytes()],
        "first": [np.hstack([scales[:, :1], elements]).tobytes()],
        "last": [np.hstack([elements, scales[:, :1]]).tobytes()],
    }[place]
    order = ">u4" if packing == "dense-high" else "<u4"
    assert data == b"".join(parts) + columns["result"].astype(order).tobytes()
    assert len(scales) == blocks


def test_rows_in_blocks() -> None:
    asked = OpComputation(op_case("arith.scaling_truncf", ("f16", "f8E8M0FNU"), "f6E2M3FN"))
    corners = Recipe(asked, "1", block=8)
    elements, scales = corners.given(0, corners.rows.count)
    alone = Recipe(OpComputation(op_case("arith.negf", "f16")), "1")
    # Elements have the signs and fractions of corners; their exponents suit the scales.
    patterns = elements & 0x83FF
    assert set(patterns.tolist()) == {corner & 0x83FF for corner in alone.given(0, alone.rows.count)[0].tolist()}
    # Every pattern meets every scale.
    assert len(set(zip(patterns.tolist(), scales.tolist(), strict=True))) == len(set(patterns.tolist())) * len(
        set(scales.tolist())
    )
    drawn = Recipe(asked, "random", seed=5, count=100, block=8)
    assert drawn.rows.count == 104
    plain = Recipe(asked, "random", seed=5, count=104)
    assert np.array_equal(drawn.given(0, 104)[0] & 0x83FF, plain.given(0, 104)[0] & 0x83FF)
    assert np.array_equal(drawn.given(0, 104)[1], np.repeat(plain.given(0, 104)[1][:13], 8))
    for recipe in (corners, drawn):
        whole = recipe.given(0, recipe.rows.count)
        for start, stop in itertools.pairwise([0, 8, 48, 104]):
            part = recipe.given(start, stop)
            assert all(np.array_equal(a, b[start:stop]) for a, b in zip(part, whole, strict=True))
        told = {"source": asked.source(), "profile": documented_profile(), "inputs": recipe.inputs()}
        assert recipe_of(told) == recipe


def documented_profile() -> dict[str, Any]:
    from halfulp.semantics.profile import PROFILE_FIELDS, SPEC

    return {"name": "spec", "fields": {name: getattr(SPEC, name) for name in PROFILE_FIELDS}}


@pytest.mark.parametrize(
    ("op", "types"), [("arith.addf", ("--type", "f8E4M3FN")), ("arith.truncf", ("--from", "f32", "--type", "f8E5M2"))]
)
def test_every_rounding_pattern_is_among_the_vectors_of_b3(tmp_path: Path, op: str, types: tuple[str, ...]) -> None:
    arguments = (
        "vectors", "make", op, *types, "--models", "B3", "--format", "npz", "--coverage", "--out", str(tmp_path),
    )  # fmt: skip
    done = run(*arguments)
    assert done.code == 0
    assert done.err.split()[:4] == ["B3", "16", "of", "16"]
    (data,) = tmp_path.glob("*.npz")
    columns = np.load(data)
    names = ["a", "b"] if op == "arith.addf" else ["a"]
    rows = list(zip(*(columns[name].tolist() for name in names), strict=True))
    asked = op_case(op, types[1], types[3] if op == "arith.truncf" else None)
    model_case, _ = filled_models(asked, ["B3"])
    hits = coverage(MODELS["B3"], model_case, rows)
    assert len(hits) == 16
    assert all(hits.values())


def test_models_that_apply() -> None:
    listed = run("vectors", "make", "arith.uitofp", "--from", "i5", "--type", "f8E4M3FN", "--models", "list")
    assert listed.code == 0
    names = [line.split()[0] for line in listed.out.splitlines() if line.startswith("B")]
    assert names
    every = run("vectors", "make", "arith.uitofp", "--from", "i5", "--type", "f8E4M3FN", "--models", "all")
    named = run("vectors", "make", "arith.uitofp", "--from", "i5", "--type", "f8E4M3FN", "--models", ",".join(names))
    assert every.out == named.out


def test_metadata_of_a_stream(tmp_path: Path) -> None:
    done = run(*VECTOR_SETS_ADDF, "-n", "20", "--metadata", "told.json", cwd=tmp_path)
    assert done.code == 0
    document = metadata.from_text((tmp_path / "told.json").read_bytes())
    assert document["files"] == [{"format": "testfloat"}]
    read = read_vectors(io.BytesIO(done.out.encode()), "testfloat", metadata.columns_of(document))
    assert read.digest() == document["sha256"]


# --- what goes wrong --------------------------------------------------------------------------------------------------


@each_row(
    ((), 2, "name an op or a program"),
    (("arith.nope", "--type", "f32"), 3, "no op named 'arith.nope'"),
    (("arith.addf",), 2, "give --type"),
    (("arith.addf", "--type", "f99"), 2, "f99"),
    (("arith.addf", "--type", "i8"), 2, "arith.addf"),
    ((*VECTOR_SETS_ADDF[2:], "-n", "0"), 2, "'0' is not a positive number"),
    ((*VECTOR_SETS_ADDF[2:], "--level", "random"), 2, "-n says how many"),
    ((*VECTOR_SETS_ADDF[2:], "--level", "3"), 2, "invalid choice: '3'"),
    (("arith.addf", "--type", "f64", "--level", "exhaustive"), 2, "128 bits together"),
    ((*VECTOR_SETS_ADDF[2:], "--models", "B99"), 2, "unknown model 'B99'; choose one of B1, B2"),
    ((*VECTOR_SETS_ADDF[2:], "--models", "B3,B20"), 2, "B20 does not apply to arith.addf f8E4M3FN; those that do are B1"),
    ((*VECTOR_SETS_ADDF[2:], "--models", ""), 2, "unknown model ''"),
    (("mma.m1n1k16.f32.f16.f16", "-n", "9", "--models", "B1"), 2, "the models are for the rounding of one op"),
    (("mma.m1n1k8.f64.f64.f64", "-n", "9", "--format", "dpi", "--mma=custom:lsb=-9"), 3, "up to 62 bits"),
    ((*VECTOR_SETS_ADDF[2:], "--format", "wav"), 2, "unknown format 'wav'; the formats are testfloat"),
    ((*VECTOR_SETS_ADDF[2:], "--format", "npz,npz", "--out", "x"), 2, "named twice"),
    ((*VECTOR_SETS_ADDF[2:], "--format", "npz,bin"), 2, "--out names it"),
    ((*VECTOR_SETS_ADDF[2:], "--out", "x", "--metadata", "y"), 2, "--metadata can be used only with vectors on stdout"),
    ((*VECTOR_SETS_ADDF[2:], "--metadata", "missing/y"), 2, "there is no folder 'missing'"),
    ((*VECTOR_SETS_ADDF[2:], "--name", "3x"), 2, "must be an identifier"),
    ((*VECTOR_SETS_ADDF[2:], "--pack", "dense"), 2, "--pack can be used only with the format 'bin'"),
    ((*VECTOR_SETS_ADDF[2:], "--mx", "first", "--format", "bin"), 2, "only arith.scaling_extf and arith.scaling_truncf"),
    ((*VECTOR_SETS_ADDF[2:], "--block", "8"), 2, "--block can be used only with --mx"),
    (("arith.scaling_truncf", "--from", "f80,f8E8M0FNU", "--type", "f16", "--mx", "last", "--format", "bin"), 2, "--mx"),
    (("arith.scaling_extf", "--from", "f4E2M1FN,f8E8M0FNU", "--type", "f32", "--mx", "first"), 2, "--mx can be used only with"),
    (
        ("arith.scaling_extf", "--from", "f4E2M1FN,f8E8M0FNU", "--type", "f32", "--mx", "first", "--format", "bin",
         "--block", "1000000000"), 2, "a block of 1000000000 elements is too long: 262144 at most"
    ),
    (("arith.addi", "--type", "i100000", "-n", "2"), 3, "level 1 has operands of up to"),
    (("arith.truncf", "--type", "f16"), 2, "hint: --from says the type of the operand"),
    ((*VECTOR_SETS_ADDF[2:], "--rounding", "sideways"), 2, "must be one of to_nearest_even"),
    ((*VECTOR_SETS_ADDF[2:], "--tininess", "never"), 2, "must be one of after, before"),
    ((*VECTOR_SETS_ADDF[2:], "--random-bits", "8"), 2, "can be used only with --rounding=stochastic"),
    (("arith.truncf", "--from", "f32", "--type", "f16", "--rounding", "stochastic", "--format", "runs"), 2, "random"),
    (("arith.andi", "--type", "i8", "--flags"), 2, "sets no exception flags"),
    (("arith.addf", "--type", "ac_fixed<8,4>"), 2, "hint: these ops do: fixed_add, fixed_sub, fixed_mul, fixed_convert"),
    (("fixed_add", "--type", "ac_fixed<8,4,true,RND>"), 2, "rounding is 'RND', but must be one of AC_TRN"),
    (("fixed_add", "--type", "ap_ufixed<8,4>"), 2, "write ac_fixed<bits, bits before the point, false, rounding"),
    (("fixed_add", "--type", "f16"), 2, "must be fixed-point-like, such as \"ac_fixed<16, 8>\", but got 'f16'"),
    (("fixed_convert", "--from", "f16", "--type", "ac_fixed<8,4>", "--rounding", "upward"), 2, "write another mode there"),
    (("fixed_convert", "--from", "f16", "--type", "f32"), 2, "fcvt converts these"),
    (("missing.mlir",), 2, "missing.mlir"),
    ((*VECTOR_SETS_ADDF[2:], "--out", "/proc/nowhere"), 2, "cannot write into '/proc/nowhere'"),
    (("--changed", "missing.json"), 2, "cannot read 'missing.json'"),
    (("--changed", "missing.json", "--type", "f32"), 2, "--type cannot be used with --changed"),
)  # fmt: skip
def test_refusals(arguments: tuple[str, ...], code: int, message: str, tmp_path: Path) -> None:
    done = run("vectors", "make", *arguments, cwd=tmp_path)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert "internal" not in done.err
    assert not list(tmp_path.iterdir())


def test_a_function_that_is_given_nothing_has_no_vectors(tmp_path: Path) -> None:
    program = tmp_path / "three.mlir"
    program.write_text("func.func @three() -> i3 {\n  %c = arith.constant 3 : i3\n  return %c : i3\n}\n")
    for level in ("1", "exhaustive", "random"):
        done = run("vectors", "make", str(program), "--level", level, "-n", "3")
        assert (done.code, done.out) == (3, "")
        assert "'@three' has no arguments, so there are no vectors of it" in done.err


@pytest.mark.long
def test_binary_formats_are_not_for_a_terminal() -> None:
    master, terminal = os.openpty()
    done = subprocess.run(
        [sys.executable, "-I", "-m", "halfulp", *VECTOR_SETS_ADDF, "--format=npz"],
        stdout=terminal,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(terminal)
    os.close(master)
    assert done.returncode == 2
    assert b"not for a terminal" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("name", ["testfloat", "readmemh", "npz", "csv"])
def test_a_closed_pipe_ends_quietly(name: str) -> None:
    process = subprocess.Popen(
        [
            sys.executable, "-I", "-m", "halfulp", *VECTOR_SETS_ADDF, "--level=random", "-n", "1000000",
            f"--format={name}",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    assert len(process.stdout.read(100)) == 100
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(PATIENCE) == 141


@pytest.mark.long
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("name", ["testfloat", "npz"])
def test_a_full_disk(name: str) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-I", "-m", "halfulp", *VECTOR_SETS_ADDF, f"--format={name}"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, b"error: No space left on device\n")


def test_nothing_half_written_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "sets"
    document = made(folder, *VECTOR_SETS_ADDF, "-n", "50")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    # Half of the way a row is refused: the set of before stays as it was.
    done = run(
        "vectors",
        "make",
        "arith.fptosi",
        "--from",
        "f16",
        "--type",
        "i8",
        "--name",
        "addf_f8E4M3FN",
        "--out",
        str(folder),
    )
    assert done.code == 2
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    (folder / "taken.tv").mkdir()
    done = run(*VECTOR_SETS_ADDF, "--name", "taken", "--out", str(folder))
    assert (done.code, "it is a folder" in done.err) == (2, True)
    assert {file.name for file in folder.iterdir()} == {*before, "taken.tv"}
    assert digest(folder / "addf_f8E4M3FN.tv", document) == document["sha256"]


@pytest.mark.long
@pytest.mark.parametrize("number", thinned([signal.SIGINT, signal.SIGTERM], 2))
def test_a_set_that_is_stopped_leaves_nothing(number: int, tmp_path: Path) -> None:
    folder = tmp_path / "sets"
    process = subprocess.Popen(
        [
            sys.executable, "-I", "-m", "halfulp", *VECTOR_SETS_ADDF, "--level=random", "-n", "4000000000", "--out",
            str(folder),
        ],
        stderr=subprocess.PIPE,
        preexec_fn=heeds_interrupts,
    )  # fmt: skip
    assert process.stderr is not None
    deadline = time.monotonic() + PATIENCE
    while not any(file.stat().st_size for file in folder.glob(".*.tmp")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(number)
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(PATIENCE) == 128 + number
    assert not folder.exists()


def test_a_failing_writer_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe(OpComputation(op_case("arith.addf", "f8E4M3FN")), "1", count=100)
    order = c_model.Order(recipe, ("testfloat", "npz"))

    def fails(*_: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(metadata, "to_text", fails)
    with pytest.raises(InputError, match="No space left on device"):
        c_model.write_folder(order, tmp_path / "sets")
    assert not (tmp_path / "sets").exists()


@pytest.mark.long
def test_memory_is_constant() -> None:
    script = (
        f"import sys\nfrom halfulp.command.main import main\nmain(sys.argv[1:])\n{MEMORY}print(peak, file=sys.stderr)"
    )
    sizes = []
    for count in ("3000000", "12000000"):
        done = subprocess.run(
            [sys.executable, "-I", "-c", script, *VECTOR_SETS_ADDF, "--level=random", "-n", count],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=True,
        )
        sizes.append(int(done.stderr))
    assert sizes[1] < sizes[0] * 1.1


# --- documentation -----------------------------------------------------------------------------------------------------


def test_the_examples_of_the_user_documentation(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "vector-files.md").read_text(encoding="utf-8")
    examples = dict(re.findall(r"<!-- (making|changed) -->\n\n```\w*\n(.*?)```", text, re.DOTALL))
    commands = re.findall(r"^\$ halfulp (.*)\n((?:(?!\$).*\n)*)", examples["making"], re.MULTILINE)
    assert len(commands) == 3
    for command, printed in commands:
        done = run(*command.split(), cwd=tmp_path)
        assert (done.code, done.out + done.err) == (0, printed)
    assert {file.suffix for file in (tmp_path / "vectors").iterdir()} == {".hex", ".npz", ".json"}
    made(tmp_path / "mulf", "vectors", "make", "arith.mulf", "--type", "f8E4M3FN")
    path = tmp_path / "mulf" / "mulf_f8E4M3FN.json"
    other = edited(path, lambda data: data["profile"]["fields"].update(tininess="before"), "other.json")
    assert changed(other).out.startswith(examples["changed"])


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("arith.cmpf", "--type", "f16", "--attr", "predicate=olt"), "cmpf_f16_to_i1_olt"),
        (("arith.truncf", "--from", "f32", "--type", "bf16", "--rounding", "upward"), "truncf_f32_to_bf16_upward"),
        (
            ("arith.truncf", "--from", "f32", "--type", "bf16", "--rounding", "stochastic"),
            "truncf_f32_to_bf16_stochastic",
        ),
        (("arith.addf", "--type", "f8E4M3FN", "--name", "own"), "own"),
    ],
)
def test_names(arguments: tuple[str, ...], name: str, tmp_path: Path) -> None:
    assert main(["vectors", "make", *arguments, "-n", "10", "--out", str(tmp_path)]) == 0
    assert {file.name for file in tmp_path.iterdir()} == {f"{name}.tv", f"{name}.json"}


# --- models -----------------------------------------------------------------------------------------------------------


def test_a_model_in_c(tmp_path: Path) -> None:
    """What the model computes has tests of its own: tests/conformance/vectors/test_c_model.py."""
    done = run(*VECTOR_SETS_ADDF, "--format", "dpi", "-n", "50", "--out", str(tmp_path / "model"))
    assert (done.code, done.out, done.err) == (0, "", "")
    assert {path.name for path in (tmp_path / "model").iterdir()} == {"addf_f8E4M3FN.c", "addf_f8E4M3FN_dpi.sv"}
    text = (tmp_path / "model" / "addf_f8E4M3FN.c").read_text(encoding="utf-8")
    assert run(*VECTOR_SETS_ADDF, "--format", "dpi", "-n", "50").out == text
    assert "#define ADDF_F8E4M3FN_GOLDEN_COUNT 50\n" in text


@each_row(
    (("--format", "dpi,c"), 2, "--format=dpi writes a model, not vectors"),
    (("--format", "dpi", "--poison", "drop"), 2, "--poison is for files of vectors"),
    (("--format", "dpi", "--any-nan"), 2, "--any-nan is for files of vectors"),
    (("--format", "dpi", "--attr", "fastmath=nsz"), 3, "bits of its results may have either value"),
    (("--format", "dpi", "--name", "double"), 2, "reserved word"),
)
def test_what_a_model_cannot_be(arguments: tuple[str, ...], code: int, message: str) -> None:
    done = run(*VECTOR_SETS_ADDF, *arguments)
    assert done.code == code
    assert message in done.err


def test_operands_of_ones_own(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", a=np.arange(40, dtype=np.uint8), b=np.arange(40, dtype=np.uint8) + 100)
    spelling = f"{tmp_path / 'rows.npz'}@50,normal:scale=8@30,B3@20"
    asked = (*VECTOR_SETS_ADDF, "--operands", spelling, "-n", "100", "--format", "npz,csv")
    document = made(tmp_path / "set", *asked)
    assert [part["rows"] for part in document["inputs"]["operands"]["parts"]] == [50, 30, 20]
    assert run("vectors", "check", str(tmp_path / "set" / "addf_f8E4M3FN.csv")).code == 0
    assert run("vectors", "make", "--changed", str(tmp_path / "set" / "addf_f8E4M3FN.json")).code == 0
    covered = run(*asked[:-2], "--coverage")
    assert covered.err.startswith("the 100 rows hit\nB3 ")
    assert run(*VECTOR_SETS_ADDF, "--operands", "normal", "-n", "9", "--coverage", "--models", "B1").code == 2


@each_row(("--operands", "uniform:low=1,high=1.9@50,B3@50"), ("--level", "weighted"))
def test_the_coverage_of_a_set_is_that_of_its_rows(option: str, operands: str) -> None:
    """The buckets of B3 from the rows of the file: sign, last kept bit, guard and sticky of each exact sum."""
    done = run(*VECTOR_SETS_ADDF, option, operands, "-n", "16", "--coverage", "--format", "csv")
    case, model = op_case("arith.addf", "f8E4M3FN"), MODELS["B3"]
    rows = [tuple(int(code, 16) for code in line.split(",")[:2]) for line in done.out.splitlines()[1:]]
    model_case, _ = filled_models(case, ["B3"])
    hit = sum(map(bool, coverage(model, model_case, rows).values()))
    assert f"B3   {hit:>6} of 16" in done.err
    assert 2 <= hit < 16


@each_row(
    (("--operands", "normal", "--level", "1"), "--level and --operands both say what the operands are"),
    (("--operands", "normal", "--models", "B1"), "--models and --operands both say"),
    (("--operands", "normal"), "--operands: these operands need a count"),
    (("--operands", "none.npy"), "--operands: cannot read 'none.npy'"),
    (("--operands", "normal@50,corners@40", "-n", "9"), "the shares are 50 + 40 = 90 percent"),
)
def test_operands_that_are_refused(arguments: tuple[str, ...], told: str, tmp_path: Path) -> None:
    done = run(*VECTOR_SETS_ADDF, *arguments, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_text_that_is_wrong_shows_its_line(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("1 2\n1 x\n")
    done = run(*VECTOR_SETS_ADDF, "--operands", "rows.txt", cwd=tmp_path)
    assert done.code == 2
    assert done.err.startswith("rows.txt:2:3: error: 'x' is neither a code, such as 0x3C, nor a number")
