"""Vectors that other tools read: C and Verilog compilers, simulators, mlir-opt."""

import io
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command import PATIENCE
from vector_files import ADDF, FPTOSI, MARKED_ROWS, WIDE, chunk_of, ints_of, random_chunk, read, split, text_of, written

import halfulp as hu
from halfulp.conformance.comparing.op_case import op_case, reference
from halfulp.conformance.vectors.columns import (
    Chunk,
    Column,
    Role,
    VectorSet,
    settled,
)
from halfulp.conformance.vectors.formats import write_vectors
from halfulp.conformance.vectors.formats.format import Options
from halfulp.conformance.vectors.formats.mlir import function_of_case
from halfulp.interp.ir.errors import AssertionFailed, InputError


@pytest.mark.parametrize(("format", "word"), [("c", "int"), ("c", "namespace"), ("sv", "module"), ("sv", "rand")])
def test_a_word_of_the_language_is_no_name(format: str, word: str) -> None:
    with pytest.raises(InputError, match=f"'{word}' is a reserved word of "):
        written(ADDF, [], format, name=word)
    columns = (Column(word, 8, "i8", Role.OPERAND), *ADDF[1:])
    with pytest.raises(InputError, match=f"'{word}' is a reserved word of "):
        written(columns, [], format)
    other = {"c": "sv", "sv": "c"}[format]
    if word in ("module", "rand"):
        written(ADDF, [], other, name=word)


@pytest.mark.iverilog
@pytest.mark.parametrize("columns", [ADDF, FPTOSI, WIDE])
@pytest.mark.parametrize("rows", [0, 1, 40])
def test_the_c_header_compiles_and_holds_the_vectors(columns: tuple[Column, ...], rows: int, tmp_path: Path) -> None:
    chunk = random_chunk(columns, rows)
    (tmp_path / "vectors.h").write_bytes(written(columns, [chunk], "c", name="golden"))
    prints = "".join(
        f'    printf("%0{min(16, 2 * column.bytes)}llX", (unsigned long long)golden[k].{column.name}'
        f"{f'[{limb}]' if column.bytes > 8 else ''}); {'putchar(32);' if limb == 0 else ''}\n"
        for column in columns
        for limb in reversed(range(max(1, column.bytes // 8)))
    )
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "vectors.h"\n#include "vectors.h"\nint main(void) {\n'
        "  for (unsigned long k = 0; k < GOLDEN_COUNT; k++) {\n" + prints + '    printf("\\n");\n  }\n  return 0;\n}\n'
    )
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-type-limits"]
    subprocess.run(["cc", *flags, "-o", tmp_path / "main", tmp_path / "main.c"], check=True, timeout=PATIENCE)
    said = subprocess.run([tmp_path / "main"], check=True, capture_output=True, text=True, timeout=PATIENCE).stdout
    assert [tuple(int(word, 16) for word in line.split()) for line in said.splitlines()] == ints_of(columns, chunk)


def simulated(tmp_path: Path, *sources: str) -> list[str]:
    files = []
    for k, source in enumerate(sources):
        files.append(tmp_path / f"{k}.sv")
        files[-1].write_text(source)
    subprocess.run(["iverilog", "-g2012", "-Wall", "-o", tmp_path / "bench", *files], check=True, timeout=PATIENCE)
    run = subprocess.run(
        ["vvp", "-n", tmp_path / "bench"], check=True, capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE
    )
    return run.stdout.splitlines()


def package_bench(columns: tuple[Column, ...]) -> str:
    """Return a test bench that prints every vector of a package, and the one behind the last."""
    shown = ", ".join(f"v.{column.name}" for column in columns)
    return (
        "module bench;\n  import golden::*;\n  vector_t v;\n  initial begin\n"
        "    for (int i = 0; i <= COUNT; i++) begin\n      v = vector(i);\n"
        f'      $display("{" ".join(["%h"] * len(columns))}", {shown});\n    end\n    $finish(0);\n  end\nendmodule\n'
    )


def check_known_bits(columns: tuple[Column, ...], chunk: Chunk, lines: list[str]) -> None:
    """Compare printed rows with a chunk in the bits that count."""
    found = [tuple(int(word.replace("x", "0"), 16) for word in line.split()) for line in lines]
    assert ints_of(columns, settled(columns, chunk_of(columns, found))) == ints_of(columns, settled(columns, chunk))


@pytest.mark.iverilog
@pytest.mark.parametrize("columns", [ADDF, FPTOSI, WIDE])
def test_the_systemverilog_package_compiles_and_simulates(columns: tuple[Column, ...], tmp_path: Path) -> None:
    chunk = chunk_of(FPTOSI, MARKED_ROWS) if columns is FPTOSI else random_chunk(columns, 40)
    package = written(columns, [chunk], "sv", name="golden").decode()
    *lines, beyond = simulated(tmp_path, package, package_bench(columns))
    assert set(beyond) == {"x", " "}
    if columns is FPTOSI:
        assert lines == ["3c00 0f5 0 000", "7c00 xxx 1 000", "4000 5x3 0 0f1"]
    else:
        check_known_bits(columns, chunk, lines)


@pytest.mark.iverilog
def test_packages_of_any_size_and_two_in_one_bench(tmp_path: Path) -> None:
    """A memory of 20,000 rows, an empty one, and one function for each package."""
    chunk, rows = random_chunk(ADDF, 20_000), 20_000
    packages = [
        written(ADDF, [chunk], "sv", name="golden").decode(),
        written(ADDF, [chunk_of(ADDF, [])], "sv", name="none").decode(),
    ]
    bench = (
        'module bench;\n  initial begin\n    for (int i = 0; i < golden::COUNT; i++) $display("%h", golden::vector(i));'
        '\n    $display("%0d %h", none::COUNT, none::vector(0));\n  end\nendmodule\n'
    )
    *lines, last = simulated(tmp_path, *packages, bench)
    assert last.lower() == "0 " + "x" * 8
    assert [int(line, 16) for line in lines] == [
        ((a << 8 | b) << 8 | result) << 5 | flags for a, b, result, flags in ints_of(ADDF, chunk)
    ]
    assert len(lines) == rows


@pytest.mark.verilator
def test_verilator_compiles_the_systemverilog_package(tmp_path: Path) -> None:
    """Verilator has two values only: where we write X, it may print anything."""
    chunk = random_chunk(WIDE, 40)
    (tmp_path / "golden.sv").write_bytes(written(WIDE, [chunk], "sv", name="golden"))
    (tmp_path / "bench.sv").write_text(package_bench(WIDE))
    warnings = ["-Wall", "-Wno-WIDTH", "-Wno-UNUSED"]
    command = ["verilator", "--binary", *warnings, "-CFLAGS", "-O0", "--top", "bench", "golden.sv", "bench.sv"]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, timeout=PATIENCE)
    run = [tmp_path / "obj_dir" / "Vbench"]
    said = subprocess.run(run, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout
    check_known_bits(WIDE, chunk, [line for line in said.splitlines() if not line.startswith("-")][:-1])


@pytest.mark.iverilog
def test_verilog_reads_our_memory_files(tmp_path: Path) -> None:
    (tmp_path / "v.hex").write_bytes(written(FPTOSI, [chunk_of(FPTOSI, MARKED_ROWS)], "readmemh"))
    fields = [line.split()[1] for line in (tmp_path / "v.hex").read_text().splitlines() if line.startswith("// [")]
    bench = (
        "module bench;\n  reg [43:0] m [0:2];\n  reg [43:0] w;\n  integer i;\n  initial begin\n"
        '    $readmemh("v.hex", m);\n    for (i = 0; i < 3; i = i + 1) begin\n      w = m[i];\n'
        '      $display("%h %h %h %h", '
        + ", ".join(f"w{field}" for field in fields)
        + ");\n    end\n  end\nendmodule\n"
    )
    assert simulated(tmp_path, bench) == ["3c00 0f5 0 000", "7c00 xxx 1 000", "4000 5x3 0 0f1"]


CHECKED = (*ADDF[:3], Column("free", 8, "i8", Role.OPEN))


def adder_rows() -> list[tuple[int, ...]]:
    codes = np.arange(0, 256, 5, dtype=np.uint8)
    results = reference(op_case("arith.addf", "f8E4M3FN"), (codes, codes[::-1].copy())).bits[0]
    return list(zip(codes.tolist(), codes[::-1].tolist(), results.tolist(), [0] * len(codes), strict=True))


def test_the_self_checking_program_passes_and_fails_as_it_must() -> None:
    rows = adder_rows()
    assert hu.run(text_of(CHECKED, rows, "mlir"), function="main") == ()
    rows[7] = (*rows[7][:2], rows[7][2] ^ 4, 0)
    with pytest.raises(AssertionFailed, match="result has other bits than it must have"):
        hu.run(text_of(CHECKED, rows, "mlir"), function="main")
    rows[7] = (*rows[7][:3], 4)
    assert hu.run(text_of(CHECKED, rows, "mlir"), function="main") == ()


@pytest.mark.parametrize("cut", [[], [1], [20]])
def test_self_checking_programs_are_read_back(cut: list[int]) -> None:
    chunk = chunk_of(CHECKED, adder_rows())
    text = written(CHECKED, split(chunk, cut), "mlir").decode()
    assert read(text, "mlir", None) == ints_of(CHECKED, chunk)
    # Printed by another tool, rows are not regular any more.
    spaced = text.replace("arith.constant 0x0", "arith.constant 0x").replace("  %a_", "      %a_")
    assert read(spaced, "mlir", CHECKED, rows=3) == ints_of(CHECKED, chunk)
    for wrong in (
        text.replace("%b_00000003 = ", "%b_00000004 = "), text.replace("0x0F : i8", "0x0G : i8"), text[:-40],
        text.replace("  %a_00000002 = arith.constant 0x0A : i8\n", ""), text.replace("count: 52", "count: 51"),
    ):  # fmt: skip
        assert wrong != text
        with pytest.raises(InputError):
            read(wrong, "mlir", None)


@pytest.mark.parametrize("op", ["arith.addui_extended", "arith.muli"])
def test_self_checking_programs_of_integers_have_no_casts(op: str) -> None:
    asked = op_case(op, "i13")
    inputs = (np.array([0, 1, 0x1FFF], np.uint16), np.array([5, 0x1FFF, 0x1FFF], np.uint16))
    columns = [Column(name, 13, "i13", Role.OPERAND) for name in "ab"]
    columns += [Column(f"r{k}", int(type_[1:]), type_, Role.RESULT) for k, type_ in enumerate(asked.results)]
    vectors = VectorSet(tuple(columns), [(*inputs, *reference(asked, inputs).bits)])
    file = io.BytesIO()
    write_vectors(vectors, file, "mlir", options=Options(function=function_of_case(asked)))
    assert b"bitcast" not in file.getvalue()
    assert hu.run(file.getvalue().decode(), function="main") == ()


def test_what_no_program_can_check_is_refused() -> None:
    with pytest.raises(InputError, match="needs the text of a function @eval"):
        write_vectors(VectorSet(CHECKED, []), io.BytesIO(), "mlir")
    with pytest.raises(InputError, match="needs a result to check"):
        text_of(ADDF[:2], [], "mlir")
    with pytest.raises(InputError, match="has no place for flags"):
        text_of(ADDF, [], "mlir")
    quantized = (Column("a", 8, "!quant.uniform<i8:f32, 0.5>", Role.OPERAND), ADDF[2])
    with pytest.raises(InputError, match="cannot cast integers to .*, for 'a'"):
        text_of(quantized, [], "mlir")
    with pytest.raises(InputError, match="the type of 'a' is not a type"):
        text_of((Column("a", 8, "f8", Role.OPERAND), ADDF[2]), [], "mlir")


@pytest.mark.mlir
@pytest.mark.parametrize("wrong", [False, True])
def test_mlir_runs_the_self_checking_program(wrong: bool) -> None:
    asked = op_case("arith.mulf", "f32")
    inputs = tuple(np.array(codes, np.uint32) for codes in ([0x3F800001, 0x7F7FFFFF, 1, 0x80000000], [0x40490FDB] * 4))
    columns = (*(Column(name, 32, "f32", Role.OPERAND) for name in "ab"), Column("result", 32, "f32", Role.RESULT))
    results = reference(asked, inputs).bits[0]
    file = io.BytesIO()
    vectors = VectorSet(columns, [(*inputs, results ^ np.uint32(wrong))])
    write_vectors(vectors, file, "mlir", options=Options(function=function_of_case(asked)))
    passes = [
        "--convert-arith-to-llvm",
        "--convert-cf-to-llvm",
        "--convert-func-to-llvm",
        "--reconcile-unrealized-casts",
    ]
    lowered = subprocess.run(
        ["mlir-opt-22", *passes], input=file.getvalue(), capture_output=True, check=True, timeout=PATIENCE
    )
    command = ["mlir-runner-22", "-e", "main", "--entry-point-result=void"]
    run = subprocess.run(command, input=lowered.stdout, capture_output=True, check=False, timeout=PATIENCE)
    assert (run.returncode != 0) == wrong, run.stderr.decode()


MODEL_BENCH = """\
module bench;
  shortint unsigned result;
  byte unsigned flags;
  initial begin
    model_dpi::model(16'h3F80, 16'h3B80, result, flags);
    $display("%h %h", result, flags);
    $finish;
  end
endmodule
"""
"""1 + 2^-8 in bf16: a tie."""


@pytest.mark.verilator
def test_systemverilog_calls_the_model(tmp_path: Path) -> None:
    hu.vectors("arith.addf", "bf16", n=20, rounding="upward").write_model(tmp_path, name="model")
    (tmp_path / "bench.sv").write_text(MODEL_BENCH, encoding="utf-8")
    command = ["verilator", "--binary", "-Wall", "-Wno-DECLFILENAME", "-CFLAGS", "-O0", "--top", "bench"]
    subprocess.run([*command, "model_dpi.sv", "bench.sv", "model.c"], check=True, capture_output=True, cwd=tmp_path)
    done = subprocess.run([tmp_path / "obj_dir" / "Vbench"], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[0] == "3f81 01"
