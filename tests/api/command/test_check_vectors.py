"""``halfulp vectors check`` as a hardware team uses it: golden files, a device's output, TestFloat's own text."""

import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from command import halfulp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tables import each_row
from tree import ROOT
from vector_files import VECTOR_SETS_ADDF as ADDF_COMMAND
from vector_files import run as run_here

import halfulp as hu
from halfulp.command.main import main
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors import compressed, metadata
from halfulp.conformance.vectors.columns import Role, VectorSet
from halfulp.conformance.vectors.computation import Computation, OpComputation
from halfulp.conformance.vectors.formats import format_named, write_vectors
from halfulp.conformance.vectors.formats.format import Options
from halfulp.conformance.vectors.formats.mlir import function_of_case
from halfulp.conformance.vectors.packing import FORMAT_NAMES, Packing
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.row_check import LikelyCause
from halfulp.golden.regression import summary

ADD = OpComputation(op_case("arith.addf", "f8E4M3FN"))
OP = ("--op", "arith.addf", "--type", "f8E4M3FN")


def golden(
    folder: Path,
    computation: Computation = ADD,
    format: str = "testfloat",
    count: int = 500,
    packing: Packing | None = None,
    any_nan: bool = False,
) -> Path:
    """Return a file of vectors with its metadata beside it."""
    recipe = Recipe(computation, "1", count=count)
    options = Options(packing=packing or Packing())
    if isinstance(computation, OpComputation):
        options = Options(packing=packing or Packing(), function=function_of_case(computation.case))
    path = folder / f"set{format_named(format).suffix}"
    with path.open("wb") as file:
        written = write_vectors(recipe.vectors(), file, format, "drop", options)
    data = metadata.document(
        written,
        [metadata.VectorFile(format, path.name, options.packing)],
        computation,
        recipe.inputs(),
        any_nan=any_nan,
    )
    (folder / "set.json").write_text(metadata.to_text(data), encoding="utf-8")
    return path


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return the command in this process: exit code, output, errors."""

    def command(*arguments: object, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            code = main(["vectors", "check", *map(str, arguments)])
        except SystemExit as ended:
            code = int(ended.code or 0)
        done = capsys.readouterr()
        return code, done.out, done.err

    return command


def edited(path: Path, line: int, change: Callable[[str], str]) -> None:
    """Change a line, counted from 1, of a text file."""
    lines = path.read_text().split("\n")
    lines[line - 1] = change(lines[line - 1])
    path.write_text("\n".join(lines))


@pytest.mark.added
@pytest.mark.parametrize("format", [name for name in FORMAT_NAMES if name not in ("runs", "mlir")])
def test_a_golden_file_of_every_format_is_right(format: str, tmp_path: Path, run: Run) -> None:
    path = golden(tmp_path, format=format)
    assert run(path) == (
        0,
        "arith.addf f8E4M3FN: 500 rows, none differs\nall rows equal those of the golden set, in its order\n",
        "",
    )
    # Its content tells the format, but for bare bytes; and it may come through a pipe.
    if format != "bin":
        assert run("-", "--metadata", tmp_path / "set.json", stdin=path.read_bytes())[0] == 0, (
            f"write the start of a file in {format} into _SIGNS of conformance/vectors/metadata.py, before formats "
            "that it could be taken for"
        )
    assert run("-", "--metadata", tmp_path / "set.json", "--format", format, stdin=path.read_bytes())[0] == 0


@pytest.mark.parametrize("format", ["runs", "mlir"])
def test_golden_files_of_other_columns(format: str, tmp_path: Path, run: Run) -> None:
    computation = OpComputation(op_case("arith.truncf", "f16", "f8E4M3FN"), flags=format == "runs")
    recipe = Recipe(computation, "exhaustive", count=300)
    path = tmp_path / f"a{format_named(format).suffix}"
    with path.open("wb") as file:
        write_vectors(recipe.vectors(), file, format, options=Options(function=function_of_case(computation.case)))
    code, out, err = run(path, "--op", "arith.truncf", "--from", "f16", "--type", "f8E4M3FN")
    assert (code, err) == (0, "")
    assert out == "arith.truncf f16 -> f8E4M3FN: 300 rows, none differs\n"


@pytest.mark.long
def test_packed_bytes_are_read_as_the_metadata_says(tmp_path: Path, run: Run) -> None:
    computation = OpComputation(op_case("arith.mulf", "f6E2M3FN"))
    path = golden(tmp_path, computation, "bin", packing=Packing(dense=True))
    assert run(path)[0] == 0
    data = bytearray(path.read_bytes())
    # The results lie behind two columns of 500 elements of 6 bits.
    data[2 * 375 + 30] ^= 1
    path.write_bytes(data)
    code, out, _ = run(path)
    assert code == 1
    assert f"row {30 * 8 // 6}:" in out
    path.write_bytes(data[:-1])
    assert run(path)[0] == 2


def test_the_first_mismatch_as_a_designer_wants_it(tmp_path: Path, run: Run) -> None:
    text = b"3B 41 46 01\n7E 7E 7F 05\n3B 3B 43 00\n3A 28 3C 00\n"
    wrong = b"3B 41 47 01\n7E 7E 7F 05\n3B 3B 43 00\n3A 28 3C 00\n"
    assert run("-", *OP, stdin=text)[:2] == (0, "arith.addf f8E4M3FN: 4 rows, none differs\n")
    code, out, err = run("-", *OP, stdin=wrong)
    assert (code, err) == (1, "")
    # 1.375 + 2.25 = 3.625, midway between 3.5 and 3.75: to even, 3.5.
    assert (
        out
        == """\
-: row 0, line 1: arith.addf f8E4M3FN
  a               0x3B  0 0111 011  1.375
  b               0x41  0 1000 001  2.25
  exact           3.625 = 29/8
  expected        0x46  0 1000 110  3.5
  got             0x47  0 1000 111  3.75
  expected flags  0x01              inexact
  got flags       0x01              inexact
  result: off by one ulp away from zero, bit 0 alone
  from the exact number: expected 0.5 ulp, got 0.5 ulp; neither is nearer
  rule: a tie: to the even significand: the value below
  got is what this gives: rounding=upward, rounding=to_nearest_away

arith.addf f8E4M3FN: 4 rows, 1 differs
"""
    )


@pytest.mark.long
def test_a_wrong_rounding_mode_is_named_for_all_rows(tmp_path: Path, run: Run) -> None:
    path = golden(tmp_path)
    device = io.BytesIO()
    cut = OpComputation(op_case("arith.addf", "f8E4M3FN", rounding="toward_zero"))
    write_vectors(Recipe(cut, "1", count=500).vectors(), device, "testfloat")
    code, out, _ = run("-", "--metadata", tmp_path / "set.json", "--max", "2", stdin=device.getvalue())
    assert code == 1
    assert len(re.findall(r"^-: row \d+, line \d+: ", out, re.MULTILINE)) == 2
    (summary,) = [line for line in out.splitlines() if line.startswith("all ") and "gives" in line]
    differing = int(re.search(r"500 rows, (\d+) differ", out)[1])  # type: ignore[index]
    assert summary == (
        f"all {differing} rows that differ are what rounding=toward_zero gives, as in all {500 - differing} equal rows "
        "tried"
    )
    assert run(path)[0] == 0


@pytest.mark.long
def test_json_for_machines(tmp_path: Path, run: Run) -> None:
    code, out, _ = run("-", *OP, "--json", stdin=b"3B 41 47 01\n7E 7E 7F 05\n")
    assert code == 1
    data = json.loads(out)
    assert (data["rows"], data["differing"], data["equal"], data["problem"]) == (2, 1, False, None)
    (mismatch,) = data["mismatches"]
    assert mismatch["inputs"] == {"a": "0x3B", "b": "0x41"}
    assert mismatch["expected"] == {"result": "0x46", "flags": "0x01"}
    assert mismatch["got"] == {"result": "0x47", "flags": "0x01"}
    assert (mismatch["row"], mismatch["line"], mismatch["exact"]) == (0, 1, "29/8")
    assert mismatch["wrong"] == {"result": ["off by one ulp away from zero"]}
    assert "rounding=upward" in mismatch["as_if"]
    code, out, err = run("-", *OP, "--json", stdin=b"3B 41\n")
    assert code == 2
    assert json.loads(out)["equal"] is False
    assert "2 words for 4 columns" in json.loads(out)["problem"]
    assert "2 words for 4 columns" in err


def test_a_truncated_output_does_not_pass(tmp_path: Path, run: Run) -> None:
    path = golden(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    code, out, err = run(path)
    assert code == 2
    assert "499 rows were read, none differs" in out
    assert "the file has 499 rows, but" in err
    assert "golden" not in out
    assert run(path, "--partial")[0] == 0
    # In the middle of a line: that line is not one of vectors.
    path.write_bytes(b"".join(lines)[:-4])
    assert run(path, "--partial")[0] == 2
    path.write_bytes(b"".join([*lines, lines[0]]))
    assert run(path)[0] == 2
    assert run(path, "--partial")[0] == 2
    path.write_bytes(b"")
    for option in ([], ["--partial"]):
        code, _, err = run(path, *option)
        assert code == 2
        assert "no rows" in err
    assert run("-", *OP, stdin=b"")[0] == 2


def test_another_order_of_the_rows_is_noted(tmp_path: Path, run: Run) -> None:
    path = golden(tmp_path)
    lines = path.read_text().splitlines()
    lines[10], lines[11] = lines[11], lines[10]
    for others in (lines, sorted(lines), lines[::-1]):
        path.write_text("\n".join(others) + "\n")
        code, out, err = run(path)
        assert code == 0
        assert "on, the rows are in another order than in" in err
        assert "golden" not in out


def test_rows_that_are_not_those_of_the_set(tmp_path: Path, run: Run) -> None:
    """As many as in the set, and each right: but a vector is there twice, and another one not at all."""
    path = golden(tmp_path)
    lines = path.read_text().splitlines()
    first = lines[0].split()
    swapped = " ".join([first[1], first[0], *first[2:]])
    assert swapped not in lines
    for place, others in {
        1: [lines[0]] * len(lines),
        10: [*lines[:10], lines[11], lines[11], *lines[12:]],
        0: [swapped, *lines[1:]],
        len(lines) - 1: [*lines[:-1], lines[0]],
    }.items():
        path.write_text("\n".join(others) + "\n")
        code, out, err = run(path)
        assert (code, "none differs" in out) == (2, True)
        assert f"error: {path}: from row {place} on, the operands are not those of" in err
        assert json.loads(run(path, "--json")[1])["reordered"] is False
        code, _, err = run(path, "--partial")
        assert code == 0
        assert f"note: {path}: from row {place} on, the operands are not those of" in err


@pytest.mark.parametrize(
    ("lost", "told"),
    [
        (slice(12, 13), "from row 12 on, the operands are not those of {}: a row missing there"),
        (slice(300, 304), "from row 300 on, the operands are not those of {}: 4 rows missing there"),
        (slice(499, 500), "only the first 499 of the 500 rows of {}"),
    ],
)
def test_dropped_rows_are_told_though_partial(lost: slice, told: str, tmp_path: Path, run: Run) -> None:
    path = golden(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    del lines[lost]
    path.write_text("".join(lines))
    code, _, err = run(path, "--partial")
    assert (code, err) == (0, f"note: {path}: {told.format(tmp_path / 'set.json')}\n")
    code, out, err = run(path)
    assert (code, "none differs" in out) == (2, True)
    assert lost.start == 499 or told.format(tmp_path / "set.json") in err


@pytest.mark.long
def test_a_row_too_many_and_a_row_missing_from_results_alone(tmp_path: Path, run: Run) -> None:
    path = golden(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:40], *lines[39:]]))
    code, _, err = run(path)
    assert code == 2
    assert "a row too many there" in err
    results = [" ".join(line.split()[2:]) + "\n" for line in lines]
    path.write_text("".join(results[:40] + results[41:]))
    for partial in ((), ("--partial",)):
        code, out, _ = run(path, "--columns", "result,flags", *partial)
        assert code == 1
        assert re.search(r"are what results 1 row early from row 4\d on \(1 row missing\) gives", out)


@pytest.mark.long
def test_testfloats_own_text(run: Run) -> None:
    """In the form in which testfloat_gen and testfloat_ver print it; lower case and CR LF of other tools do no harm."""
    text = b"8683 0BFF 7FFD 01\n07FF 7BFF 7BFF 01\n3C00 3C00 4000 00\n7C00 FC00 7E00 10\n"
    right = text.replace(b"8683 0BFF 7FFD 01", b"0400 8001 03FF 00")
    options = ("--op", "arith.addf", "--type", "f16")
    assert run("-", *options, stdin=right)[0] == 0
    assert run("-", *options, stdin=right.lower())[0] == 0
    assert run("-", *options, stdin=right.replace(b"\n", b"\r\n"))[0] == 0
    without = b"".join(line[:14] + b"\n" for line in right.splitlines())
    assert run("-", *options, "--no-flags", stdin=without)[0] == 0
    code, _, err = run("-", *options, stdin=without)
    assert code == 2
    assert "--no-flags" in err
    code, out, _ = run("-", *options, stdin=text)
    assert code == 1
    assert "row 0, line 1" in out
    # TestFloat on x86 makes negative NaNs.
    negative = right.replace(b"7E00 10", b"FE00 10")
    code, out, _ = run("-", *options, stdin=negative)
    assert code == 1
    assert "another NaN" in out
    assert "--nan=any would accept it" in out
    assert "nan_result=negative" in out
    assert run("-", *options, "--nan=any", stdin=negative)[0] == 0
    assert run("-", *options, "--nan-result", "negative", stdin=negative)[0] == 0


@pytest.mark.long
def test_the_metadata_may_accept_any_nan(tmp_path: Path, run: Run) -> None:
    computation = OpComputation(op_case("arith.addf", "f16"))
    for any_nan, code in ((False, 1), (True, 0)):
        path = golden(tmp_path, computation, count=3000, any_nan=any_nan)
        text, replaced = re.subn(r"7E00 (..)$", r"FFFF \1", path.read_text(), flags=re.MULTILINE)
        assert replaced
        path.write_text(text)
        assert run(path)[0] == code
    assert run(path, "--nan=exact")[0] == 1


@each_row(("xx", "01", "unknown digits"), ("0x", "01", "unknown digits"), ("46", "xx", "unknown digits"))
def test_a_simulator_prints_x(digits: str, flags: str, message: str, run: Run) -> None:
    text = f"7E 7E 7F 05\n3B 41 {digits} {flags}\n".encode()
    code, out, _ = run("-", *OP, stdin=text)
    assert code == 1
    assert "row 1, line 2" in out
    assert message in out
    assert re.search(r"got.* (xx|0x) .*unknown: X or Z", out)
    assert "2 rows, 1 differs; 1 with an X or Z" in out
    # As a word of readmemh, without any comment that says what the columns are.
    word = text.replace(b" ", b"")
    code, out, _ = run("-", *OP, "--format", "readmemh", stdin=word)
    assert code == 1
    assert "row 1, line 2" in out


def test_an_x_for_poison_is_right(run: Run) -> None:
    options = ("--op", "arith.fptosi", "--from", "f16", "--type", "i8")
    assert run("-", *options, stdin=b"7C00 xx 10\n3C00 01 00\n")[0] == 0
    assert run("-", *options, stdin=b"7C00 xx xx\n3C00 01 00\n")[0] == 0
    assert run("-", *options, stdin=b"7C00 xx 10\n3C00 xx 00\n")[0] == 1
    code, out, _ = run("-", *options, stdin=b"7C00 00 10\n7C00 7F 00\n3C00 01 00\n")
    assert code == 0
    assert "2 poison" in out


@pytest.mark.long
def test_flags_by_name(run: Run) -> None:
    wrong = b"3B 41 46 00\n7E 7E 7F 01\n"
    code, out, _ = run("-", *OP, "--max", "2", stdin=wrong)
    assert code == 1
    assert "flags: inexact not raised" in out
    assert "flags: overflow not raised" in out
    assert run("-", *OP, "--ignore-flags", stdin=wrong)[0] == 0


def test_undefined_behaviour_is_not_compared(run: Run) -> None:
    options = ("--op", "arith.divsi", "--type", "i8")
    code, out, _ = run("-", *options, stdin=b"06 02 03\n05 00 77\n80 FF 12\n")
    assert code == 0
    assert "3 rows, none differs; 2 not compared: undefined behaviour" in out
    code, _, err = run("-", *options, stdin=b"05 00 77\n")
    assert code == 2
    assert "nothing was compared" in err
    assert run("-", *options, "--keep-ub", stdin=b"06 02 03\n05 00 77\n")[0] == 0


@pytest.mark.long
def test_a_program(tmp_path: Path, run: Run) -> None:
    program = tmp_path / "p.mlir"
    program.write_text(
        "func.func @f(%a: f16, %b: f16) -> f16 {\n  %0 = arith.mulf %a, %b : f16\n"
        "  %1 = arith.addf %0, %a : f16\n  return %1 : f16\n}\n"
    )
    text = b"3C00 4000 4200\n3800 3C00 3C00\n"
    assert run("-", "--op", program, "--function", "f", stdin=text)[:2] == (0, "@f: 2 rows, none differs\n")
    code, out, _ = run("-", "--op", program, stdin=text.replace(b"4200", b"4201"))
    assert code == 1
    assert "arg0" in out
    assert "off by one ulp away from zero" in out
    assert run("-", "--op", program, "--function", "g", stdin=text)[0] == 2
    assert run("-", "--op", "-", stdin=text)[0] == 2


@pytest.mark.long
def test_rows_of_many_columns_are_told_in_part(tmp_path: Path, run: Run) -> None:
    program = tmp_path / "p.mlir"
    program.write_text(
        "func.func @f(%a: tensor<50xi8>) -> tensor<50xi8> {\n  %0 = arith.addi %a, %a : tensor<50xi8>\n"
        "  return %0 : tensor<50xi8>\n}\n"
    )
    text = " ".join(["03"] * 50 + ["06"] * 49 + ["07"]).encode() + b"\n"
    code, out, _ = run("-", "--op", program, stdin=text)
    assert code == 1
    assert "and 18 operands more" in out
    assert "got result_49" in out
    assert "got result_48" not in out
    assert "result_49: off by one, bit 0 alone" in out


@pytest.mark.long
def test_some_columns_only(tmp_path: Path, run: Run) -> None:
    path = golden(tmp_path)
    short = b"".join(line[:8] + b"\n" for line in path.read_bytes().splitlines())
    options = ("-", "--metadata", tmp_path / "set.json")
    assert run(*options, "--columns", "a,b,result", stdin=short)[0] == 0
    assert run(*options, "--no-flags", stdin=short)[0] == 0
    # A device that prints what it returns, and nothing else: row by row of the set.
    alone = b"".join(line[6:] + b"\n" for line in path.read_bytes().splitlines())
    alike = (*options, "--format", "testfloat", "--columns", "result,flags")
    assert run(*alike, stdin=alone) == (0, "arith.addf f8E4M3FN: 500 rows, none differs\n", "")
    code, out, _ = run(*alike, stdin=alone.replace(b"\n" + alone.split(b"\n")[7] + b"\n", b"\n5A 00\n", 1))
    assert code == 1
    assert "  a  " in out
    assert run(*alike, stdin=alone[:-6])[0] == 2
    code, _, err = run(*alike, stdin=alone + alone[:6])
    assert code == 2
    assert "more rows than the 500 of the set" in err
    assert run("-", *OP, "--format", "testfloat", "--columns", "result,flags", stdin=alone)[0] == 2
    code, _, err = run(*options, "--columns", "a,b,resul", stdin=short)
    assert code == 2
    assert "did you mean `result`?" in err
    assert run(*options, "--columns", "result,a,b", stdin=short)[0] == 2
    np.savez(
        tmp_path / "d.npz",
        a=np.array([0x3B], np.uint8),
        b=np.array([0x41], np.uint8),
        result=np.array([0x46], np.uint8),
    )
    assert run(tmp_path / "d.npz", *OP)[0] == 0
    (tmp_path / "d.csv").write_text("b,result,cycle,a\n0x41,0x46,7,0x3B\n")
    assert run(tmp_path / "d.csv", *OP)[0] == 0
    (tmp_path / "d.csv").write_text("b,result,cycle,a\n0x3B,0x47,7,0x41\n")
    assert run(tmp_path / "d.csv", *OP)[0] == 1


@each_row(
    (("nothing.tv", *OP), 2, "cannot read 'nothing.tv': No such file"),
    (("nothing.tv",), 2, "error: cannot read 'nothing.tv': No such file or directory\n"),
    (("nothing.tv", "--metadata", "x.json"), 2, "cannot read 'nothing.tv': No such file"),
    (("/",), 2, "cannot read '/': Is a directory"),
    ((__file__,), 2, "nothing says what is computed"),
    (("-",), 2, "nothing says what is computed"),
    (("-", "--metadata", "nothing.json"), 2, "cannot read"),
    (("-", "--metadata", "x.json", *OP), 2, "give one of them"),
    (("-", *OP, "--format", "vhdl"), 2, "unknown format 'vhdl'"),
    (("-", "--op", "arith.nothing", "--type", "f16"), 3, "arith.nothing"),
    (("-", "--op", "arith.addf", "--type", "f17"), 2, "f17"),
    (("-", "--op", "arith.addf"), 2, "the type is missing"),
    (("-", "--type", "f16"), 2, "--type can be used only with --op"),
    (("-", "--profile", "ml_dtypes"), 2, "--profile can be used only with --op"),
    (("-", *OP, "--rounding", "sideways"), 2, "rounding"),
    (("-", *OP, "--max", "0"), 2, "positive"),
)
def test_wrong_use(arguments: tuple[str, ...], code: int, message: str, run: Run) -> None:
    found, out, err = run(*arguments, stdin=b"3B 41 46 01\n")
    assert (found, out) == (code, "")
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_as_a_process_that_reads_a_pipe(name: str) -> None:
    done = halfulp("vectors", "check", name, *OP, stdin=b"3B 41 46 01\n" * 200_000)
    assert (done.code, done.out, done.err) == (0, "arith.addf f8E4M3FN: 200,000 rows, none differs\n", "")


VALID: dict[str, bytes] = {}


def _valid(format: str) -> bytes:
    if format not in VALID:
        computation = ADD if format not in ("runs", "mlir") else OpComputation(op_case("arith.negf", "f8E4M3FN"))
        columns = [k for k, c in enumerate(computation.inputs + computation.outputs) if c.role is not Role.FLAGS]
        chunk = Recipe(computation, "exhaustive", count=40).vectors().gather()
        made = VectorSet(
            tuple((computation.inputs + computation.outputs)[k] for k in columns), [tuple(chunk[k] for k in columns)]
        )
        file = io.BytesIO()
        write_vectors(made, file, format, options=Options(function=function_of_case(computation.case)))
        VALID[format] = file.getvalue()
    return VALID[format]


IGNORED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.mark.long
@settings(max_examples=120, suppress_health_check=IGNORED)
@given(data=st.data(), format=st.sampled_from(FORMAT_NAMES), told=st.booleans())
def test_garbage_never_ends_in_a_traceback(data: st.DataObject, format: str, told: bool, run: Run) -> None:
    valid = _valid(format)
    place = data.draw(st.integers(0, len(valid)))
    cut = data.draw(st.integers(0, 8))
    piece = data.draw(st.one_of(st.binary(max_size=12), st.sampled_from([b"x", b"\n", b"FF", b"//", b"\x00", b"{"])))
    stdin = valid[:place] + piece + valid[place + cut :]
    op = "arith.negf" if format in ("runs", "mlir") else "arith.addf"
    options = ("--op", op, "--type", "f8E4M3FN", "--no-flags", *(("--format", format) if told else ()))
    code, _, err = run("-", *options, stdin=stdin)
    assert code in (0, 1, 2, 3)
    assert "Traceback" not in err


@pytest.mark.long
@settings(max_examples=20, suppress_health_check=IGNORED)
@given(data=st.data())
@example(data=None)
def test_garbage_in_the_metadata_never_ends_in_a_traceback(
    data: Any, tmp_path_factory: pytest.TempPathFactory, run: Run
) -> None:
    folder = tmp_path_factory.mktemp("garbage")
    path = golden(folder, count=20)
    document = json.loads((folder / "set.json").read_text())
    if data is not None:
        junk = st.sampled_from([None, 0, -1, "", "x", [], {}, [1], {"a": 1}, True, 1e400, 10**30, "arith.mulf"])
        key = data.draw(st.sampled_from(sorted(document)))
        inner = document[key]
        if isinstance(inner, dict) and inner and data.draw(st.booleans()):
            inner[data.draw(st.sampled_from(sorted(inner)))] = data.draw(junk)
        else:
            document[key] = data.draw(junk)
    (folder / "set.json").write_text(json.dumps(document))
    code, _, err = run(path)
    assert code in (0, 1, 2, 3)
    assert "Traceback" not in err


def test_the_examples_of_the_user_documentation(tmp_path: Path, run: Run) -> None:
    text = (ROOT / "docs" / "vector-files.md").read_text(encoding="utf-8")
    examples = dict(re.findall(r"<!-- (check[\w-]*) -->\n\n```\w*\n(.*?)```", text, re.DOTALL))
    command, _, output = examples["check"].partition("\n")
    found = re.fullmatch(r"\$ printf '(.*)' \| halfulp vectors check (.*)", command)
    assert found is not None
    assert run(*found[2].split(), stdin=found[1].replace(r"\n", "\n").encode())[:2] == (1, output)
    golden(tmp_path)
    device = io.BytesIO()
    cut = OpComputation(op_case("arith.addf", "f8E4M3FN", rounding="toward_zero"))
    write_vectors(Recipe(cut, "1", count=500).vectors(), device, "testfloat")
    out = run("-", "--metadata", tmp_path / "set.json", stdin=device.getvalue())[1]
    assert examples["check-all"] in out


@pytest.mark.long
def test_operands_that_cannot_be_made_again_are_told(tmp_path: Path) -> None:
    """Without the file of the operands, those in the file of the set count. Without that file, results are checked for the
    operands beside them, and the report says so.
    """
    np.save(tmp_path / "x.npy", np.arange(20, dtype=np.uint8).reshape(10, 2))
    done = run_here(*ADDF_COMMAND, "--operands", "x.npy", "--out", "set", cwd=tmp_path)
    assert done.code == 0, done.err
    vectors = tmp_path / "set" / "addf_f8E4M3FN.tv"
    assert run_here("vectors", "check", str(vectors), cwd=tmp_path).err == ""
    lines = vectors.read_text().splitlines()
    other = tmp_path / "other.tv"
    other.write_text("\n".join(reversed(lines)) + "\n")
    metadata = ("--metadata", str(tmp_path / "set" / "addf_f8E4M3FN.json"))
    (tmp_path / "x.npy").unlink()
    # The digest shows that the operands are those of the set.
    assert run_here("vectors", "check", str(vectors), cwd=tmp_path).err == ""
    assert "in another order" in run_here("vectors", "check", str(other), *metadata, cwd=tmp_path).err
    results = [line.split()[2] for line in lines]
    alone = tmp_path / "alone.tv"
    alone.write_text("\n".join(results) + "\n")
    wanted = ("vectors", "check", str(alone), *metadata, "--columns", "result")
    assert run_here(*wanted, cwd=tmp_path).out == "arith.addf f8E4M3FN: 10 rows, none differs\n"
    results[3] = f"{int(results[3], 16) ^ 1:02X}"
    alone.write_text("\n".join(results) + "\n")
    assert "10 rows, 1 differs" in run_here(*wanted, cwd=tmp_path).out
    vectors.write_text("\n".join(lines[:-1]) + "\n")
    assert "these are not the vectors of the metadata" in run_here(*wanted, cwd=tmp_path).err
    vectors.unlink()
    found = run_here("vectors", "check", str(other), *metadata, cwd=tmp_path)
    assert found.code == 0
    assert "cannot be made again" in found.err
    assert "these were not compared" in found.err
    told = run_here(*wanted, cwd=tmp_path)
    assert told.code == 2
    assert "the file has no operands, and the operands of" in told.err


# --- regressions ------------------------------------------------------------------------------------------------------


def planted(tmp_path: Path, count: int = 20) -> list[str]:
    """Write a set of sums, and return the lines of its file, of which the third has a wrong result and all flags."""
    golden(tmp_path, count=count)
    lines = (tmp_path / "set.tv").read_text().splitlines()
    a, b, result, _ = lines[2].split()
    lines[2] = f"{a} {b} {int(result, 16) ^ 1:02X} 1F"
    return lines


@pytest.mark.long
def test_masks_of_flags(tmp_path: Path) -> None:
    lines = planted(tmp_path)
    lines[2] = f"{(tmp_path / 'set.tv').read_text().splitlines()[2][:-2]}1F"
    device = tmp_path / "device.tv"
    device.write_text("\n".join(lines) + "\n")
    options = ("vectors", "check", str(device), "--metadata", str(tmp_path / "set.json"))
    right = int((tmp_path / "set.tv").read_text().splitlines()[2][-2:], 16)
    names = {"inexact": 1, "underflow": 2, "overflow": 4, "divide_by_zero": 8, "invalid": 16}
    for name, bit in names.items():
        assert run_here(*options, f"--flags={name}").code == int(not right & bit), name
    both = run_here(*options, "--flags=inexact,overflow")
    assert "overflow raised" in both.out
    assert "invalid raised" not in both.out
    assert "there is no exception flag 'inexakt'" in run_here(*options, "--flags=inexakt").err


@pytest.mark.long
def test_columns_that_say_what_does_not_count(tmp_path: Path) -> None:
    rows = [line.split() for line in planted(tmp_path)]

    def checked(*extra: tuple[str, str]) -> Any:
        """Check the rows with these columns, which have a value in the wrong row and 0 in all others."""
        head = ",".join(["a,b,result,flags", *(name for name, _ in extra)])
        body = [
            ",".join([*(f"0x{word}" for word in row), *(value if k == 2 else "0x0" for _, value in extra)])
            for k, row in enumerate(rows)
        ]
        (tmp_path / "m.csv").write_text("\n".join([head, *body]) + "\n")
        return run_here("vectors", "check", str(tmp_path / "m.csv"), *OP)

    assert checked().code == 1
    assert checked(("ignore_flags", "0x1F")).code == 1
    assert checked(("ignore_result", "0x01")).code == 1
    assert checked(("ignore_result", "0x01"), ("ignore_flags", "0x1F")).code == 0
    assert checked(("ignore_result", "0xFE"), ("ignore_flags", "0x1F")).code == 1
    whole = checked(("ignore", "0x1"))
    assert (whole.code, whole.out) == (
        0,
        "arith.addf f8E4M3FN: 20 rows, none differs; 1 not compared: the file says so\n",
    )
    # In a format without names, --columns names them.
    text = "\n".join(" ".join([*row, "1" if k == 2 else "0"]) for k, row in enumerate(rows)) + "\n"
    (tmp_path / "m.tv").write_text(text)
    options = ("vectors", "check", str(tmp_path / "m.tv"), *OP, "--columns")
    assert run_here(*options, "a,b,result,flags,ignore").code == 0
    assert "there is no column 'ignore_c'" in run_here(*options, "a,b,result,flags,ignore_c").err


def test_a_regression_gets_files(tmp_path: Path) -> None:
    lines = planted(tmp_path)
    (tmp_path / "device.tv").write_text("\n".join(lines) + "\n")
    options = ("vectors", "check", str(tmp_path / "device.tv"), "--metadata", str(tmp_path / "set.json"))
    files = ("--junit", str(tmp_path / "j.xml"), "--failing", str(tmp_path / "failing.csv.gz"), "--github")
    done = run_here(*options, *files)
    assert done.code == 1
    assert re.fullmatch(
        r"::error file=[^,]*device.tv,line=3,title=halfulp vectors check::1 of 20 rows differ\n", done.err
    )
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()[0]
    assert suite.attrib == {"name": "halfulp vectors check", "tests": "1", "failures": "1", "errors": "0"}
    (failure,) = suite[0]
    assert (failure.tag, failure.attrib["message"]) == ("failure", "1 of 20 rows differ")
    assert "row 2, line 3" in str(failure.text)
    # The rows that differ are a set with the right results.
    right = (tmp_path / "set.tv").read_text().splitlines()[2].split()
    kept = gzip.decompress((tmp_path / "failing.csv.gz").read_bytes()).decode()
    assert kept == f"a,b,result,flags\n{','.join(f'0x{word}' for word in right)}\n"
    assert run_here("vectors", "check", str(tmp_path / "failing.csv.gz"), *OP).code == 0
    # Without a difference, and with an error that ends the check.
    equal = run_here("vectors", "check", str(tmp_path / "set.tv"), *files)
    assert (equal.code, "::notice file=" in equal.err) == (0, True)
    assert [each.tag for each in ElementTree.parse(tmp_path / "j.xml").getroot()[0][0]] == ["system-out"]
    (tmp_path / "device.tv").write_text("12 3\x1b4 zz\n")
    broken = run_here(*options, *files)
    assert broken.code == 2
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()[0]
    assert (suite.attrib["errors"], suite[0][0].tag) == ("1", "error")
    # No file that is read or written is replaced by another one.
    present = {path: path.read_bytes() for path in tmp_path.iterdir()}
    making = ("vectors", "make", "arith.addf", "--type=f8E4M3FN", "-n=20", "--out", str(tmp_path), "--name=set")
    device, metadata, other = (str(tmp_path / name) for name in ("device.tv", "set.json", "new"))
    for command in (
        (*options, "--junit", device),
        (*options, "--failing", device),
        (*options, "--coverage-file", metadata),
        ("vectors", "check", str(tmp_path / "set.tv"), "--junit", metadata),
        (*options, "--junit", other, "--coverage-file", other),
        (*making, "--coverage-file", metadata),
        (*making[:5], "--metadata", other, "--coverage-file", other),
    ):
        done = run_here(*command)
        assert (done.code, "give another name" in done.err) == (2, True), command
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == present


def test_a_cause_that_is_refuted_or_explains_few_rows_never_leads() -> None:
    vectors = hu.vectors("arith.addf", "f8E4M3FN", n=20)
    report = hu.check(vectors, np.where(np.arange(20) < 2, 0x31, vectors.columns_as_codes["result"]).astype(np.uint8))
    report.found.examined, report.found.controls, report.found.described = 2, 18, ["what the rows have in common"]
    holds, near = LikelyCause("what holds", 1, 18), LikelyCause("what is near", 2, 17, True)
    weak = replace(holds, weak=True)
    told = "1 of the 2 rows that differ is what what holds gives, as in all 18 equal rows tried"
    refuted = "all 2 rows that differ are what what is near gives, but not in 1 of 18 equal rows tried"
    for found, cause, why, first in (
        ([holds, near], "what holds", ": 1 of 2 tried by what holds", [told, "what the rows have in common"]),
        ([near], None, "", ["no single cause fits these rows", "what the rows have in common"]),
        ([weak, near], None, "", ["no single cause fits these rows", "what the rows have in common"]),
    ):
        report.found.explanations = found
        assert (report.cause, report.to_json()["cause"]) == (cause, cause)
        assert report.to_json()["explanations"][-1]["refuted"]
        assert summary(report) == f"2 of 20 rows differ{why}"
        lines = report.lines()
        start, end = lines.index("") + 1, lines.index(refuted)
        assert lines[start : start + len(first)] == first
        assert end > start + len(first)


def test_what_cannot_be_meant_is_refused_before_the_check(tmp_path: Path) -> None:
    making = ("vectors", "make", "arith.addf", "--type=f8E4M3FN", "-n=9", "--format=csv,jsonl,npz", "--name=s")
    assert run_here(*making, "--out", str(tmp_path)).code == 0
    vectors, metadata = tmp_path / "s.csv", f"--metadata={tmp_path / 's.json'}"
    for options, message in (
        (("--flags=invalid", "--ignore-flags"), "--ignore-flags compares none"),
        (("--flags=invalid", "--no-flags"), "--no-flags compares none"),
        (("--failing", str(tmp_path / "no" / "bad.tv")), "--failing"),
        (("--junit", str(tmp_path / "no" / "j.xml")), "there is no folder"),
        (("--coverage-file", str(tmp_path)), "it is a folder"),
        (("--failing", str(tmp_path / "bad.what")), "the ending must be that of a format"),
    ):
        done = run_here("vectors", "check", str(vectors), *options)
        assert (done.code, done.out, message in done.err) == (2, "", True), done.err
    with pytest.raises(hu.errors.InputError, match="only_flags names the flags"):
        hu.check(vectors, only_flags=("invalid",), ignore_flags=True)
    with pytest.raises(hu.errors.InputError, match="the names of flags are a list, not a text"):
        hu.check(vectors, only_flags="invalid,overflow")
    # A named column that is nearly one of those that are compared is refused; another one is noted.
    for name, lines in (("m.csv", vectors), ("m.jsonl", tmp_path / "s.jsonl")):
        (tmp_path / name).write_text(lines.read_text().replace("flags", "flgs"))
        done = run_here("vectors", "check", str(tmp_path / name), metadata)
        assert (done.code, done.out) == (2, "")
        assert "there is no column 'flgs'" in done.err
        assert "did you mean `flags`?" in done.err
        (tmp_path / name).write_text(lines.read_text().replace("flags", "time"))
        done = run_here("vectors", "check", str(tmp_path / name), metadata)
        assert (done.code, done.out) == (0, "arith.addf f8E4M3FN: 9 rows, none differs\n")
        assert "not compared, because what is computed has no such column: time" in done.err
    arrays = dict(np.load(tmp_path / "s.npz"))
    np.savez(tmp_path / "m.npz", **{name: arrays[name] for name in ("a", "b", "result")}, ignroe=arrays["flags"])
    done = run_here("vectors", "check", str(tmp_path / "m.npz"), metadata)
    assert (done.code, "did you mean `ignore`?" in done.err) == (2, True), done.err


def test_one_row_is_not_several(tmp_path: Path) -> None:
    making = ("vectors", "make", "arith.addf", "--type=f8E4M3FN", "-n=1", "--coverage", "--out", str(tmp_path))
    assert run_here(*making).err.startswith("the only row hits\n")
    done = run_here("vectors", "check", str(tmp_path / "addf_f8E4M3FN.tv"))
    assert done.out.startswith("arith.addf f8E4M3FN: 1 row, none differs\n")


def test_compressed_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    formats = "testfloat,readmemh,npz,npy,bin,csv,jsonl,c,sv,coe"
    wanted = ("vectors", "make", "arith.addf", "--type", "f8E4M3FN", "-n", "20", "--format", formats)
    assert run_here(*wanted, "--compress", "gz", "--out", str(tmp_path / "a")).code == 0
    assert run_here(*wanted, "--compress", "gz", "--out", str(tmp_path / "b")).code == 0
    files = sorted((tmp_path / "a").glob("*.gz"))
    assert len(files) == 10
    for file in files:
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes(), file.name
        done = run_here("vectors", "check", str(file))
        assert (done.code, "those of the golden set" in done.out) == (0, True), (file.name, done.err)
    changed = run_here("vectors", "make", "--changed", str(tmp_path / "a" / "addf_f8E4M3FN.json"))
    assert (changed.code, changed.err) == (0, "0 of 20 vectors change\n")
    text = tmp_path / "a" / "addf_f8E4M3FN.tv.gz"
    data = text.read_bytes()
    text.write_bytes(data[:-12])
    assert "the compressed file is broken" in run_here("vectors", "check", str(text)).err
    text.write_bytes(data)
    monkeypatch.setattr(compressed, "MOST_EXPANDED", 100)
    assert "expands to more than" in run_here("vectors", "check", str(text)).err


def test_zstandard_is_optional(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    golden(tmp_path, count=20)
    (tmp_path / "set.tv.zst").write_bytes(compressed.MARKS[".zst"] + b"\0")
    for name in ("zstandard", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    done = run_here("vectors", "check", str(tmp_path / "set.tv.zst"))
    assert done.code == 3
    assert "needs the package zstandard, or Python 3.14" in done.err
    # A package with the interface of zstandard: zlib has such objects too. The file has two frames.
    whole = (tmp_path / "set.tv").read_bytes()
    packed = zlib.compress(whole[:40]) + zlib.compress(whole[40:])
    package = SimpleNamespace(ZstdDecompressor=lambda: SimpleNamespace(decompressobj=zlib.decompressobj))
    monkeypatch.setitem(sys.modules, "zstandard", package)
    monkeypatch.setitem(compressed.MARKS, ".zst", packed[:4])
    for size, code in ((len(packed), 0), (len(packed) - 5, 2), (30, 2)):
        (tmp_path / "set.tv.zst").write_bytes(packed[:size])
        done = run_here("vectors", "check", str(tmp_path / "set.tv.zst"))
        assert (done.code, "the compressed file is broken: it ends before" in done.err) == (code, code == 2)


@pytest.mark.long
def test_the_example_of_a_regression(tmp_path: Path) -> None:
    """The lines of the Makefile, with the stand-in for a device, and with one that flips a bit."""
    text = (ROOT / "examples" / "regression" / "Makefile").read_text()
    assert "--junit out/junit.xml --failing out/failing.tv" in text
    made = run_here(
        "vectors", "make", "fadd", "--type", "f16", "--level", "weighted", "-n", "50", "--out", "out", cwd=tmp_path
    )
    assert made.code == 0
    check = re.search(r"halfulp (vectors check [^$]*)\$\(OP\)_\$\(TYPE\)(.json) \\\n\s*([^$]*)\$", text)
    assert check is not None
    command = f"{check[1]}fadd_f16{check[2]} {check[3]}".split()
    lines = (tmp_path / "out" / "fadd_f16.tv").read_text().splitlines()
    for flipped in (0, 1):
        lines[7] = f"{lines[7][:10]}{int(lines[7][10:14], 16) ^ flipped:04X}{lines[7][14:]}"
        (tmp_path / "out" / "results.tv").write_text("\n".join(lines) + "\n")
        assert run_here(*command, cwd=tmp_path).code == flipped
        assert len((tmp_path / "out" / "failing.tv").read_text().splitlines()) == flipped
