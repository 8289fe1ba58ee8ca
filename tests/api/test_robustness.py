"""Bad and hostile input: a clear error at the right place, the right exit code, no traceback, little time and memory.

Places in MLIR text are where mlir-opt-22 22.1.8 reports the same mistake.

Each case runs the command line in a process of its own, whose processor time and resident memory are measured.
"""

import io
import os
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from command import Finished, halfulp
from tables import each_row

# What hangs takes minutes; most cases take a fifth of a second, but not on every machine.
MOST_SECONDS = 20.0
MOST_MEMORY = 1 << 30
DEEP = 50_000
HUGE = "tensor<1000000000000xf32>"


def check(done: Finished, code: int, *messages: str) -> None:
    """Assert how a process ended, and that it told why without a traceback, in bounded time and memory."""
    assert "Traceback" not in done.err
    assert "internal error" not in done.err
    assert done.code == code, done.err[:2000]
    for message in messages:
        assert message in done.err[:5000] + done.err[-5000:]
    assert done.out == ""
    assert done.seconds < MOST_SECONDS
    assert done.memory < MOST_MEMORY


@dataclass(frozen=True)
class Case:
    """A module that cannot be run: its text, what the error says (its first words are the place), the exit code."""

    text: str | bytes
    message: str
    code: int = 2
    options: tuple[str, ...] = ("--input=1",)


def function(body: str) -> str:
    """Return a function of one f32 with this body on the second line."""
    return f"func.func @f(%x: f32) -> f32 {{\n  {body}\n  return %x : f32\n}}\n"


CASES = {
    # What issue and language call wrong.
    "undefined value": Case(function("%0 = arith.addf %x, %y : f32"), "m.mlir:2:23: error: use of undeclared SSA"),
    "undefined value in a part": Case(
        "\n// -----\n" + function("%0 = arith.addf %x, %y : f32"), "m.mlir:4:23: error: ", 2, ("--split-input-file",)
    ),
    "wrong type": Case(function("%0 = arith.addf %x, %x : f64"), "m.mlir:2:19: error: use of value '%x' expects"),
    "wrong operand type": Case(
        function("%0 = arith.addi %x, %x : f32"), "m.mlir:2:8: error: 'arith.addi' op operand #0 must be signless"
    ),
    "wrong result type": Case(function("return %x : f64"), "m.mlir:2:10: error: use of value '%x' expects different"),
    "unknown op of a known dialect": Case(function("%0 = arith.frob %x : f32"), "m.mlir:2:8: error: custom op 'arith."),
    "unknown op, executed": Case(
        function('%0 = "other.op"(%x) : (f32) -> f32'), "m.mlir:2:8: error: cannot execute 'other.op'", 3
    ),
    "malformed float": Case(function("%0 = arith.constant 1.5.6 : f32"), "m.mlir:2:27: error: "),
    "malformed hexadecimal": Case(function("%0 = arith.constant 0xZZ : i32"), "m.mlir:2:24: error: "),
    "hexadecimal too wide": Case(function("%0 = arith.constant 0x1FFFFFFFF : f32"), "m.mlir:2:23: error: hexadecimal"),
    "integer too large": Case(function("%0 = arith.constant 300 : i8"), "m.mlir:2:23: error: integer constant out of"),
    "integer of 100,000 digits": Case(function(f"%0 = arith.constant {'9' * 100_000} : i32"), "m.mlir:2:23: error: "),
    "negative literal of an unsigned type": Case(
        function("%0 = arith.constant -3.0 : f8E8M0FNU"), "m.mlir:2:24: error: "
    ),
    "unfinished string": Case(function('%0 = arith.constant dense<"0x00'), "m.mlir:2:34: error: expected '\"'"),
    "wrong number of dense elements": Case(
        function("%0 = arith.constant dense<[1, 2]> : tensor<3xi8>"), "m.mlir:2:23: error: inferred shape of elements"
    ),
    "unknown type": Case(function("%0 = arith.constant 1 : i3x"), "m.mlir:2:26: error: "),
    "integer type of 10^12 bits": Case("func.func @f(%x: i999999999999)", "m.mlir:1:18: error: integer bitwidth"),
    # Files that are no MLIR.
    "truncated after a colon": Case(
        "func.func @f(%x: f32) -> f32 {\n  %0 = arith.addf %x, %x :", "m.mlir:2:25: error: "
    ),
    "truncated in a body": Case("func.func @f(%x: f32) {\n  return\n", "m.mlir:2:9: error: "),
    "empty": Case("", "error: missing the name of the function: the module has no functions", 2, ()),
    "binary": Case(b"\x7fELF\x02\x01\x01\0\0\xff\xfe", "m.mlir:1:8: error: unexpected character"),
    "random bytes": Case(random.Random(1).randbytes(100_000), "m.mlir:1:"),
    "invalid UTF-8": Case(b"func.func @f() { return }\n\xff\xfe", "m.mlir:2:1: error: ", 2, ()),
    "UTF-16": Case("func.func @f()".encode("utf-16"), "m.mlir:1:", 2, ()),
    "bytecode": Case(b"ML\xefR\x0dMLIR22\0", "the section STRING is missing (at byte 12)", 2),
    "a line of a million characters": Case('"' + "a" * 1_000_000, "m.mlir:1:1000002: error: expected '\"'"),
    # Nesting.
    "nested dense": Case(
        function(f"%0 = arith.constant dense<{'[' * DEEP}1{']' * DEEP}> : tensor<1xi8>"), "error: nesting is deeper"
    ),
    "nested modules": Case("module {" * DEEP + "}" * DEEP, "error: nesting is deeper"),
    "nested regions": Case('"a.b"() ({' * DEEP + "})" * DEEP, "error: nesting is deeper"),
    "nested types": Case(f"func.func @f(%x: {'tuple<' * DEEP}i8{'>' * DEEP})", "error: nesting is deeper"),
    "nested vectors": Case(f"func.func @f(%x: {'vector<4x' * DEEP}i8{'>' * DEEP})", "m.mlir:1:"),
    "nested function types": Case(f"func.func @f(%x: {'() -> (' * DEEP}", "error: nesting is deeper"),
    "nested arrays": Case(f"func.func @f() attributes {{a = {'[' * DEEP}{']' * DEEP}}}", "error: nesting is deeper"),
    "nested dictionaries": Case(f"module attributes {{a = {'{a = ' * DEEP}{'}' * DEEP}}}", "error: nesting is deeper"),
    "nested locations": Case(f'module {{}} loc({"fused[" * DEEP}"a":1:1{"]" * DEEP})', "error: nesting is deeper"),
    "brackets alone": Case("(" * DEEP, "m.mlir:1:1: error: "),
    "brackets in an unknown dialect": Case(f"func.func @f(%x: !other.t<{'<' * DEEP}{'>' * DEEP}>)", "m.mlir:1:"),
    # Size.
    "splat of 10^12 elements": Case(
        function(f"%0 = arith.constant dense<1.0> : {HUGE}"),
        "m.mlir:2:8: error: a value of type 'tensor<1000000000000",
        3,
    ),
    "sum of splats of 10^12 elements": Case(
        function(f"%0 = arith.constant dense<1.0> : {HUGE}\n  %1 = arith.addf %0, %0 : {HUGE}"),
        "m.mlir:2:8: error: ",
        3,
    ),
    "poison of 10^12 elements": Case(function(f"%0 = ub.poison : {HUGE}"), "m.mlir:2:8: error: a value of type", 3),
    "more elements than an int64 counts": Case(
        function("%0 = arith.constant dense<1> : tensor<4294967296x4294967296x4294967296xi8>"),
        "error: a value of type",
        3,
    ),
    "dimension beyond an int64": Case(f"func.func @f(%x: tensor<{'9' * 30}xf32>)", "error: invalid dimension"),
    "blob shorter than its shape": Case(
        function('%0 = arith.constant dense<"0x00112233"> : tensor<1000000x1000000xi8>'),
        "error: elements hex data size",
    ),
    # Time.
    "endless recursion": Case(
        function("%0 = call @f(%x) : (f32) -> f32"), "m.mlir:2:8: error: calls are nested more than 1000 deep", 3
    ),
    "endless loop": Case(
        "func.func @f() {\n  cf.br ^a\n^a:\n  cf.br ^a\n}\n", "ran more than 100000 ops", 3, ("--max-steps=100000",)
    ),
    # Inputs to a module that is right.
    "too few inputs": Case(function(""), "m.mlir:1:1: error: @f takes 1 argument (f32), but 0 are given", 2, ()),
    "too many inputs": Case(function(""), "but 2 are given", 2, ("--input=1", "--input=2")),
    "wrong shape": Case(function(""), "argument 0 of @f: expected 'f32', got 'tensor<4xf32>'", 2, ("--input=4xf32=1",)),
    "wrong dtype": Case(function(""), "argument 0 of @f: expected 'f32', got 'f64'", 2, ("--input=f64=1",)),
    "input of 10^12 elements": Case(function(""), "10000", 2, ("--input=1000000000000xf32=1",)),
    "input attribute of 10^12 elements": Case(
        function(""), "takes 4000000000000", 3, (f"--input=dense<1.0> : {HUGE}",)
    ),
    "input of 10^12 elements as MLIR type": Case(function(""), "takes 4000000000000 bytes", 3, (f"--input={HUGE}=1",)),
    "input of nested brackets": Case(
        function(""), "has 4 elements, but 0 are given", 2, (f"--input=4xf32={'[' * DEEP}",)
    ),
    "input of nested dense": Case(
        function(""), "<input 0>:1:", 2, (f"--input=dense<{'[' * DEEP}1{']' * DEEP}> : tensor<4xf32>",)
    ),
    "input of nested types": Case(function(""), "<input 0>:1:", 2, (f"--input={'tuple<' * 10_000}i8{'>' * 10_000}=1",)),
    "input integer of 100,000 digits": Case(
        function(""), "does not fit 'i8', which holds -128 to 255", 2, (f"--input=i8={'9' * 100_000}",)
    ),
    "missing input file": Case(function(""), "cannot read 'x.npy': No such file or directory", 2, ("--input=@x.npy",)),
    "directory as input file": Case(function(""), "cannot read '.': Is a directory", 2, ("--input=@.",)),
    "device as input file": Case(function(""), "'/dev/zero': it is not a regular file", 2, ("--input=f32=@/dev/zero",)),
    "output into a missing directory": Case(
        function(""), "cannot write 'missing/y.npy'", 2, ("--input=1", "--output=@missing/y.npy")
    ),
    "expected output of the wrong type": Case(
        function(""), "<expected output 0>", 2, ("--input=1", "--expected_output=x")
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_bad_input(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    (tmp_path / "m.mlir").write_bytes(case.text if isinstance(case.text, bytes) else case.text.encode())
    done = halfulp("run", "m.mlir", *case.options, cwd=tmp_path)
    check(done, case.code, case.message)
    # Only the line with the place is long, and that is cut.
    assert max(map(len, done.err.splitlines())) < 1000


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing.mlir", "error: cannot read 'missing.mlir': No such file or directory\n"),
        (".", "error: cannot read '.': Is a directory\n"),
        ("", "error: cannot read '': "),
        ("/dev/zero", "error: cannot read '/dev/zero': it is not a regular file\n"),
        ("x" * 5000, "File name too long\n"),
        ("a\nb\x1b[31m", "error: cannot read 'a\\nb\\x1b[31m': No such file or directory\n"),
    ],
)
@pytest.mark.parametrize("command", ["run", "translate"])
def test_files_that_cannot_be_read(command: str, path: str, message: str, tmp_path: Path) -> None:
    check(halfulp(command, path, cwd=tmp_path), 2, message)


def test_an_unreadable_file(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text("module {}")
    (tmp_path / "m.mlir").chmod(0)
    if os.access(tmp_path / "m.mlir", os.R_OK):
        pytest.skip("this user may read everything")
    check(halfulp("run", "m.mlir", cwd=tmp_path), 2, "cannot read 'm.mlir': Permission denied")


def npy(array: object) -> bytes:
    """Return the bytes of a .npy file."""
    stream = io.BytesIO()
    np.save(stream, np.asanyarray(array), allow_pickle=True)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (npy(np.zeros(4, np.float32)).replace(b"(4,), }          ", b"(1000000000000,),}"), "is cut short"),
        (
            npy(np.zeros(4, np.float32)).replace(b"(4,), }", b"(-4,),}"),
            "is not a readable .npy file: negative dimensions",
        ),
        (npy(np.array([{}], object)), "holds Python objects"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{", "is not a readable .npy file"),
        (b"\x93NUMPY\x02\x00\x00\xff\x00\x00" + b"(" * 65280, "is not a readable .npy file"),
        (random.Random(2).randbytes(1000), "is not a .npy file"),
    ],
    ids=["promises 4 TB", "negative size", "pickle", "header cut", "header nested", "random"],
)
def test_npy_files(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(data)
    (tmp_path / "m.mlir").write_text("func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }")
    check(halfulp("run", "m.mlir", "--input=@x.npy", cwd=tmp_path), 2, message)


MANY = "1x" * 70


@each_row(
    (f"%r = arith.constant dense<1.0> : tensor<{MANY}f32>", f"tensor<{MANY}f32>"),
    (f"%r = arith.constant dense<{'[' * 71}1.0, 2.0{']' * 71}> : tensor<{MANY}2xf32>", f"tensor<{MANY}2xf32>"),
    (f'%r = arith.constant dense<"0x0000000000000001"> : tensor<{MANY}2xf32>', f"tensor<{MANY}2xf32>"),
    (f"%r = arith.constant dense_resource<x> : tensor<{MANY}2xf32>", f"tensor<{MANY}2xf32>"),
    ("%r = arith.constant dense<> : tensor<0x9223372036854775807x4xf32>", "tensor<0x9223372036854775807x4xf32>"),
    (f"%x = arith.constant 0 : i8 %r = vector.broadcast %x : i8 to vector<{MANY}i8>", f"vector<{MANY}i8>"),
    (f"%r = memref.alloc() : memref<{MANY}f32>", f"memref<{MANY}f32>"),
    ("%r = memref.alloc() : memref<0x9223372036854775807x4xf32>", "memref<0x9223372036854775807x4xf32>"),
    (
        "%n = arith.constant 4611686018427387904 : index %z = arith.constant 0 : index "
        "%r = tensor.empty(%z, %n) : tensor<?x?xf32>",
        "tensor<?x?xf32>",
    ),
    (
        "%r = memref.alloc() : memref<1000000x1000000xf32, strided<[0, 0]>>",
        "memref<1000000x1000000xf32, strided<[0, 0]>>",
    ),
)
def test_shapes_that_no_array_has(body: str, type_: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from halfulp.command.main import main

    (tmp_path / "f.mlir").write_text(
        f"func.func @f() -> {type_} {{ {body} return %r : {type_} }}\n"
        '{-# dialect_resources: { builtin: { x: "0x040000000000000000000001" } } #-}'
    )
    written = (
        "dense<[" in body or "dense<>" in body or 'dense<"' in body
    )  # the elements do not fit: an error in the text
    assert main(["run", str(tmp_path / "f.mlir")]) == (2 if written else 3)
    said = capsys.readouterr().err
    assert "the limit is" in said or "too large for any array" in said


@each_row(
    f"{MANY}f32=1",
    f"dense<1.0> : tensor<{MANY}f32>",
    "0x4611686018427387904x4xf32=",
    "dense<> : tensor<0x4611686018427387904x4xf32>",
)
def test_inputs_of_shapes_that_no_array_has(given: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from halfulp.command.main import main

    (tmp_path / "f.mlir").write_text("func.func @f(%a: tensor<*xf32>) { return }")
    assert main(["run", str(tmp_path / "f.mlir"), f"--input={given}"]) == 2
    said = capsys.readouterr().err
    assert "the limit is" in said or "too large for any array" in said


@each_row(
    (("eval", "arith.addf", f"--input=f32=0x{'f' * 100_000}", "--input=1"), 2, "does not fit the 32 bits"),
    (("eval", "arith.addf", "--input=f32=1", f"--attr=fastmath={'x' * 100_000}"), 2, "must be one of"),
    (("eval", "x" * 100_000), 3, "no op named"),
    (("eval", "arith.extf", "--input=f32=1", f"--to={'tuple<' * 10_000}"), 2, "nesting is deeper"),
    (("formats", "x" * 1000), 2, "unknown float format"),
    (("explain", "9" * 100_000, "f128"), 2, "is too large"),
    (("explain", "1", "tensor<" * 10_000), 2, "<type>:1:"),
    (("explain", "1e999999999999", "i8"), 3, "not to 'i8'"),
    every=4,
)
def test_hostile_arguments(arguments: tuple[str, ...], code: int, message: str) -> None:
    check(halfulp(*arguments), code, message)


def test_huge_exponents_are_explained_or_refused_quickly() -> None:
    for value, code in (("1e30000", 0), (f"1/{'9' * 4000}", 0), ("1e999999999999", 2), ("-1e-999999999999", 2)):
        done = halfulp("explain", value, "f128")
        assert (done.code, done.err == "") == (code, code == 0)
        assert code == 0 or "the exponent of" in done.err
        assert done.seconds < MOST_SECONDS


def test_arguments_that_are_not_utf8() -> None:
    for arguments in ((b"run", b"\xff.mlir"), (b"eval", b"\xff"), (b"explain", b"\xff", b"f32"), (b"formats", b"\xff")):
        done = halfulp(*arguments)
        check(done, 3 if arguments[0] == b"eval" else 2, "error: ")


def test_standard_input_that_is_empty() -> None:
    check(halfulp("run", "-"), 2, "the module has no functions")
    check(halfulp("run", "-", stdin=b"\xff"), 2, "<stdin>:1:1: error: ")


def test_what_is_quoted_cannot_command_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_bytes(b"module \x1b[2J\x07\xc2\x9b {")
    done = halfulp("translate", "m.mlir", cwd=tmp_path)
    check(done, 2, "m.mlir:1:8: error: ")
    assert not set(done.err) & {chr(code) for code in (*range(9), *range(11, 32), 127)}
