"""The command line: what each command prints, where, and its exit code.

Expected bits are the hand-checked answers of the documents, or integers worked out by hand in the comments.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import PATIENCE, halfulp
from conftest import MlirOpt
from tree import ROOT

from halfulp.command.main import main
from halfulp.fp_formats.formats import FORMATS

EXAMPLES = ROOT / "examples"
ADD = str(EXAMPLES / "f8_add.mlir")


class Command:
    """Runs `main` in this process and keeps what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """The exit code, stdout and stderr."""
        code = main(list(arguments))
        captured = self._capsys.readouterr()
        return code, captured.out, captured.err


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line in this process."""
    return Command(capsys)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes files into the current directory, which is an empty one."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, content: str | bytes) -> str:
        data = content.encode() if isinstance(content, str) else content
        Path(name).write_bytes(data)
        return name

    return write


# --- examples ---------------------------------------------------------------------------------------------------------


def test_the_demo(command: Command) -> None:
    # 1 + 1/16 is a tie below the even 1; twice the code of 0.3, 5/16; 480 is beyond 464 and so NaN.
    got = command(
        *("run", ADD, "--function=main"),
        *("--input=4xf8E4M3FN=1 0.3 -2.5 448", "--input=4xf8E4M3FN=0.0625 0.3 2.5 32"),
    )
    assert got == (0, "result[0]: 4xf8E4M3FN=1 0.625 0 nan\n", "")


def test_the_quantization_example(command: Command) -> None:
    got = command("run", str(EXAMPLES / "quantize.mlir"), "--input=2x3xf32=[0.1 0.25 -1][100 -0.375 7]")
    # 0.1 / 0.25 = 0.4; 0.25 / 0.125 + 10; -1 / 0.05 - 3; 400 and 137 saturate; -0.375 / 0.125 + 10.
    assert got[:2] == (
        0,
        "result[0]: 2x3xi8=[0 12 -23][127 7 127]\nresult[1]: 2x3xf32=[0 0.25 -1][31.75 -0.375 6.5]\n",
    )


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.mlir")), ids=lambda path: path.name)
def test_examples_say_how_to_run_them(path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    import shlex

    monkeypatch.chdir(ROOT)
    lines = [line.removeprefix("//").strip() for line in path.read_text().splitlines()]
    commands = [line for line in lines if line.startswith("halfulp ")]
    assert commands
    for line in commands:
        code, out, err = command(*shlex.split(line)[1:])
        assert (code, err) == (0, "")
        assert out


# --- inputs -----------------------------------------------------------------------------------------------------------

IDENTITY = """\
func.func @f32x4(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @i8x2x2(%x: tensor<2x2xi8>) -> tensor<2x2xi8> { return %x : tensor<2x2xi8> }
func.func @v(%x: vector<2x2xi8>) -> vector<2x2xi8> { return %x : vector<2x2xi8> }
func.func @f32(%x: f32) -> f32 { return %x : f32 }
func.func @bf16x4(%x: tensor<4xbf16>) -> tensor<4xbf16> { return %x : tensor<4xbf16> }
func.func @f80x2(%x: tensor<2xf80>) -> tensor<2xf80> { return %x : tensor<2xf80> }
func.func @i4x3(%x: tensor<3xi4>) -> tensor<3xi4> { return %x : tensor<3xi4> }
func.func @i1x2(%x: tensor<2xi1>) -> tensor<2xi1> { return %x : tensor<2xi1> }
func.func @i100(%x: i100) -> i100 { return %x : i100 }
func.func @index(%x: index) -> index { return %x : index }
func.func @dynamic(%x: tensor<?x2xi8>) -> tensor<?x2xi8> { return %x : tensor<?x2xi8> }
func.func @unranked(%x: tensor<*xi8>) -> tensor<*xi8> { return %x : tensor<*xi8> }
func.func @scalable(%x: vector<[2]xi8>) -> vector<[2]xi8> { return %x : vector<[2]xi8> }
func.func @empty(%x: tensor<0xf32>) -> tensor<0xf32> { return %x : tensor<0xf32> }
func.func @quantized(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
  return %x : tensor<2x!quant.uniform<i8:f32, 0.5>>
}
"""

INPUTS = [
    ("f32x4", "4xf32=1 2 3 4", "4xf32=1 2 3 4"),
    ("f32x4", "4 x f32 = 1, 2, 3, 4", "4xf32=1 2 3 4"),
    ("f32x4", "tensor<4xf32>=1 2 3 4", "4xf32=1 2 3 4"),
    ("f32x4", "1 2.5 -3e2 0.1", "4xf32=1 2.5 -300 0.1"),
    ("f32x4", "[1 2 3 4]", "4xf32=1 2 3 4"),
    ("f32x4", "7", "4xf32=7 7 7 7"),
    ("f32x4", "4xf32=7", "4xf32=7 7 7 7"),
    ("f32x4", "nan inf -inf -0.0", "4xf32=nan inf -inf -0"),
    ("f32x4", "0x7FC00001 0xFFC00000 0x3F800000 0x1", "4xf32=0x7FC00001 0xFFC00000 1 1e-45"),
    ("f32x4", "dense<[1.0, 2.0, 3.0, 0x7F800001]> : tensor<4xf32>", "4xf32=1 2 3 0x7F800001"),
    ("f32x4", "dense<1.5> : tensor<4xf32>", "4xf32=1.5 1.5 1.5 1.5"),
    ("f32x4", 'dense<"0x0000803F0000004000004040000080BF"> : tensor<4xf32>', "4xf32=1 2 3 -1"),
    ("i8x2x2", "2x2xi8=[1 2][3 -4]", "2x2xi8=[1 2][3 -4]"),
    ("i8x2x2", "2x2xi8=[[1 2][3 255]]", "2x2xi8=[1 2][3 -1]"),
    ("i8x2x2", "1 2 3 4", "2x2xi8=[1 2][3 4]"),
    ("v", "2x2xi8=[1 2][3 4]", "2x2xi8=[1 2][3 4]"),
    ("v", "dense<[[1, 2], [3, 4]]> : vector<2x2xi8>", "2x2xi8=[1 2][3 4]"),
    ("f32", "1.5", "f32=1.5"),
    ("f32", "f32=-1.5", "f32=-1.5"),
    ("f32", "1.5 : f32", "f32=1.5"),
    ("f32", "0x7F800000 : f32", "f32=inf"),
    ("bf16x4", "1 0.1 0x3F81 nan", "4xbf16=1 0.1 1.01 nan"),
    ("f80x2", "0x7FFFC000000000000000 1", "2xf80=nan 1"),
    ("i4x3", "-8 7 15", "3xi4=-8 7 -1"),
    ("i1x2", "true 0", "2xi1=true false"),
    ("i100", "-1", "i100=-1"),
    ("i100", "0x8000000000000000000000000", f"i100={-(2**99)}"),
    ("index", "index=5", "index=5"),
    ("index", "7 : index", "index=7"),
    ("dynamic", "3x2xi8=[1 2][3 4][5 6]", "3x2xi8=[1 2][3 4][5 6]"),
    ("unranked", "1x1x2xi8=[[[1 2]]]", "1x1x2xi8=[[1 2]]"),
    ("empty", "0xf32=", "0xf32="),
    ("quantized", "2x!quant.uniform<i8:f32, 0.5>=-128 127", "2x!quant.uniform<i8:f32, 5.000000e-01>=-128 127"),
]


@pytest.mark.parametrize(("function", "given", "printed"), INPUTS)
def test_inputs(function: str, given: str, printed: str, command: Command, write: Any) -> None:
    path = write("identity.mlir", IDENTITY)
    assert command("run", path, f"--function={function}", f"--input={given}") == (0, f"result[0]: {printed}\n", "")
    # What is printed is an input again.
    again = command("run", path, f"--function=@{function}", f"--input={printed}")
    assert again == (0, f"result[0]: {printed}\n", "")


def test_scalable_vectors_need_vscale(command: Command, write: Any) -> None:
    path = write("identity.mlir", IDENTITY)
    assert command("run", path, "--function=scalable", "--vscale=2", "--input=1 2 3 4")[:2] == (
        0,
        "result[0]: 4xi8=1 2 3 4\n",
    )
    code, _, err = command("run", path, "--function=scalable", "--input=1 2 3 4")
    assert code == 3
    assert "--vscale" in err


BAD_INPUTS = [
    ("f32x4", "1 2 3", "has 4 elements, but 3 are given"),
    ("f32x4", "1 2 3 4 5", "has 4 elements, but 5 are given"),
    ("f32x4", "4xf16=1 2 3 4", "argument 0 of @f32x4: expected 'tensor<4xf32>', got 'tensor<4xf16>'"),
    ("f32x4", "5xf32=1 2 3 4 5", "expected 'tensor<4xf32>', got 'tensor<5xf32>'"),
    ("f32x4", "1 2 3 x", "'x' is not a value of type 'f32'"),
    ("f32x4", "1 2 3 true", "'true' is not a value"),
    ("f32x4", "0x1FFFFFFFF", "does not fit the 32 bits of 'f32'"),
    ("f32x4", "0xZZ", "is not a hexadecimal number"),
    ("f32x4", "[1 2][3 4]", "the brackets do not fit"),
    ("f32x4", "[1 2 3 4", "the brackets do not fit"),
    ("f32x4", "1 2 3 4]", "the brackets do not fit"),
    ("i8x2x2", "[1 2 3][4]", "the brackets do not fit"),
    ("i8x2x2", "2x2xi8=256 0 0 0", "256 does not fit 'i8', which holds -128 to 255"),
    ("i8x2x2", "2x2xi8=1.5", "'1.5' is not a value of type 'i8'"),
    ("i4x3", "-9 0 0", "-9 does not fit 'i4'"),
    ("dynamic", "1 2", "needs all its dimensions"),
    ("dynamic", "2x3xi8=0", "expected 'tensor<?x2xi8>', got 'tensor<2x3xi8>'"),
    ("f32", "1 2", "has 1 elements, but 2 are given"),
    ("f32", "f33=1", "<input 0>:1:1: error: expected non-function type\nf33\n^\n"),
    ("f32", "4xf32x=1", "<input 0>:1:"),
    ("f32", "=1", "is not a type"),
    ("f32", "", "has 1 elements, but 0 are given"),
    ("f32", "dense<[1.0, 2.0> : tensor<2xf32>", "<input 0>:1:16: error: expected ']'"),
    ("f32", '"abc" : f32', '"abc" : f32 is not a value'),
    ("f32", "[1 : i8]", "is not a value"),
    ("f32", "tensor<4xf32>", "is not a value of type 'f32'"),
    ("f32", "1000000000000xf32=0", "1000000000000 elements"),
    ("f32", "dense<0.0> : tensor<1000000000000xf32>", "takes 4000000000000 bytes"),
    ("f32", "@missing.npy", "cannot read 'missing.npy': No such file or directory"),
    ("f32", "@.", "cannot read '.': Is a directory"),
    ("f32", "@", "@ needs the name of a file"),
]


@pytest.mark.parametrize(("function", "given", "message"), BAD_INPUTS)
def test_inputs_that_do_not_fit(function: str, given: str, message: str, command: Command, write: Any) -> None:
    path = write("identity.mlir", IDENTITY)
    code, out, err = command("run", path, f"--function={function}", f"--input={given}")
    assert (code, out) == (2, "")
    assert message in err


# --- files of values --------------------------------------------------------------------------------------------------

ARRAYS = [
    ("f32x4", np.array([1, 2, np.nan, -0.0], np.float32), "4xf32=1 2 nan -0"),
    ("i8x2x2", np.asfortranarray(np.array([[1, 2], [3, -4]], np.int8)), "2x2xi8=[1 2][3 -4]"),
    ("i8x2x2", np.array([[1, 2], [3, 252]], np.uint8), "2x2xi8=[1 2][3 -4]"),
    ("i1x2", np.array([True, False]), "2xi1=true false"),
    ("f32", np.array(1.5, np.float32), "f32=1.5"),
    ("empty", np.zeros(0, np.float32), "0xf32="),
    ("bf16x4", np.array([0x3F80, 0x4000, 0x7FC0, 0x8000], np.uint16), "4xbf16=1 2 nan -0"),
    ("bf16x4", np.array([0x3F80, 0x4000, 0x7FC0, 0x8000], np.uint16).view("V2"), "4xbf16=1 2 nan -0"),
    ("f80x2", np.array([[1 << 63, 0x3FFF], [0, 0]], np.uint64), "2xf80=1 0"),
    ("i4x3", np.array([8, 7, 15], np.uint8), "3xi4=-8 7 -1"),
    ("dynamic", np.arange(4, dtype=np.int8).reshape(2, 2), "2x2xi8=[0 1][2 3]"),
]


@pytest.mark.parametrize(("function", "array", "printed"), ARRAYS)
def test_npy_inputs(function: str, array: Any, printed: str, command: Command, write: Any) -> None:
    path = write("identity.mlir", IDENTITY)
    np.save("x.npy", array)
    expected = (0, f"result[0]: {printed}\n", "")
    assert command("run", path, f"--function={function}", "--input=@x.npy") == expected
    typed = printed.partition("=")[0]
    assert command("run", path, f"--function={function}", f"--input={typed}=@x.npy") == expected


@pytest.mark.parametrize(
    ("function", "given", "printed"),
    [(function, printed, printed) for function, _, printed in INPUTS if function not in ("dynamic", "unranked")],
)
def test_outputs_are_inputs_again(function: str, given: str, printed: str, command: Command, write: Any) -> None:
    path = write("identity.mlir", IDENTITY)
    run = ("run", path, f"--function={function}")
    assert command(*run, f"--input={given}", "--output=@y.npy") == (0, "", "")
    assert command(*run, "--input=@y.npy") == (0, f"result[0]: {printed}\n", "")


def test_what_output_writes(command: Command, write: Any) -> None:
    path = write("identity.mlir", IDENTITY)
    for function, given, expected in (
        ("f32x4", "1 2 3 4", np.array([1, 2, 3, 4], np.float32)),
        ("i8x2x2", "1 2 3 -4", np.array([[1, 2], [3, -4]], np.int8)),
        ("i1x2", "true false", np.array([True, False])),
        ("bf16x4", "1", np.full(4, 0x3F80, np.uint16)),
        ("i4x3", "-1", np.full(3, 15, np.uint8)),
        ("f80x2", "1", np.array([[1 << 63, 0x3FFF]] * 2, np.uint64)),
        ("i100", "-1", np.array([2**64 - 1, 2**36 - 1], np.uint64)),
    ):
        assert command("run", path, f"--function={function}", f"--input={given}", "--output=@y.npy")[0] == 0
        written = np.load("y.npy")
        assert written.dtype == expected.dtype
        np.testing.assert_array_equal(written, expected)
    assert sorted(p.name for p in Path().iterdir()) == ["identity.mlir", "y.npy"]


RAW = [
    ("i8x2x2", "2x2xi8", b"\x01\x02\x03\xff", "2x2xi8=[1 2][3 -1]"),
    ("f32x4", "4xf32", np.array([1, 2, 3, 4], "<f4").tobytes(), "4xf32=1 2 3 4"),
    ("i4x3", "3xi4", b"\x08\x07\x0f", "3xi4=-8 7 -1"),
    ("f80x2", "2xf80", (bytes(7) + b"\x80\xff\x3f") * 2, "2xf80=1 1"),
    ("i100", "i100", bytes(12) + b"\x08", f"i100={-(2**99)}"),
    ("f32", "f32", b"\x01\x00\x80\x7f", "f32=0x7F800001"),
    ("empty", "0xf32", b"", "0xf32="),
]


@pytest.mark.parametrize(("function", "type_", "data", "printed"), RAW)
def test_raw_inputs(function: str, type_: str, data: bytes, printed: str, command: Command, write: Any) -> None:
    path, raw = write("identity.mlir", IDENTITY), write("x.bin", data)
    run = ("run", path, f"--function={function}")
    assert command(*run, f"--input={type_}=@{raw}") == (0, f"result[0]: {printed}\n", "")
    assert command(*run, f"--input=@{raw}") == (0, f"result[0]: {printed}\n", "")
    write("x.bin", data + b"\0")
    code, _, err = command(*run, f"--input={type_}=@{raw}")
    assert code == 2
    assert f"the file has {len(data) + 1}" in err


def test_raw_bits_beyond_the_width(command: Command, write: Any) -> None:
    path, raw = write("identity.mlir", IDENTITY), write("x.bin", b"\x08\x10\x0f")
    code, _, err = command("run", path, "--function=i4x3", f"--input=3xi4=@{raw}")
    assert code == 2
    assert "0x10 does not fit the 4 bits" in err


def npy(array: Any) -> bytes:
    """The bytes of a .npy file."""
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


HUGE_HEADER = npy(np.zeros(4, np.float32)).replace(b"(4,), }          ", b"(1000000000000,),}")
BAD_NPY = [
    (npy(np.array([1, "a"], object)), "holds Python objects"),
    (npy(np.zeros(4, np.float32))[:-1], "is cut short: its header promises 16 bytes of data, 15 are there"),
    (HUGE_HEADER, "is cut short: its header promises 4000000000000 bytes"),
    (npy(np.zeros(4, np.float32))[:20], "is not a readable .npy file"),
    (b"\x93NUMPY", "is not a readable .npy file"),
    (b"\x93NUMPY\x09\x00" + bytes(100), "is not a readable .npy file"),
    (npy(np.zeros(4)).replace(b"'<f8'", b"'qq8'"), "is not a readable .npy file"),
    (npy(np.zeros(4)).replace(b"{'descr'", b"{'" + b"[" * 6), "is not a readable .npy file"),
    (b"not an array", "is not a .npy file"),
    (b"", "is not a .npy file"),
    (b"PK\x03\x04" + bytes(100), "is not a .npy file"),
    (npy(np.zeros(4)), "expected 'tensor<4xf32>', got an array of dtype float64"),
    (npy(np.zeros(5, np.float32)), "'tensor<4xf32>'"),
    (npy(np.zeros((2, 2), np.float32)), "got an array of shape 2x2"),
    (npy(np.array(["a"])), "got an array of dtype <U1"),
    (npy(np.zeros(4, "f4,f4")), "got an array of dtype"),
    (npy(np.zeros(4, np.complex64)), "got an array of dtype complex64"),
]


@pytest.mark.parametrize(("data", "message"), BAD_NPY)
def test_npy_files_that_do_not_fit(data: bytes, message: str, command: Command, write: Any) -> None:
    path = write("identity.mlir", IDENTITY)
    write("x.npy", data)
    code, out, err = command("run", path, "--function=f32x4", "--input=@x.npy")
    assert (code, out) == (2, "")
    assert message in err


def test_archives_of_arrays_are_told_apart(command: Command, write: Any) -> None:
    path = write("identity.mlir", IDENTITY)
    np.savez("x.npz", a=np.zeros(4, np.float32))
    for given in ("@x.npz", "4xf32=@x.npz"):
        code, out, err = command("run", path, "--function=f32x4", f"--input={given}")
        assert (code, out) == (2, "")
        assert "<input 0>: 'x.npz' is an archive of arrays (.npz), but one array is expected (.npy)" in err
        assert "hint: np.save('x.npy', np.load('x.npz')['NAME']), then @x.npy" in err


def test_big_endian_arrays_keep_their_numbers(command: Command, write: Any) -> None:
    path = write("identity.mlir", IDENTITY)
    np.save("x.npy", np.array([1, 2, 3, 4], ">f4"))
    assert command("run", path, "--function=f32x4", "--input=@x.npy")[:2] == (0, "result[0]: 4xf32=1 2 3 4\n")


def test_output_is_whole_or_absent(command: Command, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("identity.mlir", IDENTITY)
    run = ("run", path, "--function=f32", "--input=1")
    code, _, err = command(*run, "--output=@missing/y.npy")
    assert (code, err) == (2, "error: cannot write 'missing/y.npy': No such file or directory\n")
    code, _, err = command(*run, "--output=@.")
    assert code == 2
    write("y.npy", "what was there before")

    def full(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(bytes(data)[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    code, _, err = command(*run, "--output=@y.npy")
    assert (code, err) == (2, "error: cannot write 'y.npy': No space left on device\n")
    assert Path("y.npy").read_text() == "what was there before"
    assert sorted(p.name for p in Path().iterdir()) == ["identity.mlir", "y.npy"]


def test_outputs_must_be_named_and_few_enough(command: Command) -> None:
    run = ("run", ADD, "--input=1", "--input=1")
    assert command(*run, "--output=y.npy")[0] == 2
    code, _, err = command(*run, "--output=@/dev/null", "--output=@/dev/null")
    assert code == 2
    assert "@main has 1 results, but 2 are named by --output" in err
    assert command(*run, "--output=@/dev/null") == (0, "", "")
    assert not Path("/dev/null").is_file()


# --- comparing --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("write")
def test_expected_output(command: Command) -> None:
    run = ("run", ADD, "--input=1 2 poison nan", "--input=1")
    printed = "result[0]: 4xf8E4M3FN=2 3 poison nan\n"
    for equal in ("2 3 poison nan", "4xf8E4M3FN=2 3 poison 0x7F", "[0x40 0x44 poison 0x7F]"):
        code, out, err = command(*run, f"--expected_output={equal}")
        assert (code, out) == (0, printed)
        assert "error" not in err
    np.save("y.npy", np.array([0x40, 0x44, 0, 0x7F], np.uint8))
    code, out, err = command(*run, "--expected_output=@y.npy")
    assert (code, out) == (1, printed)
    assert err.splitlines()[1:] == [
        "error: result[0]: 1 of 4 elements differ",
        "error: result[0]: [2]: expected 0 (0x00), got poison",
    ]
    code, _, err = command(*run, "--expected_output=2 -3 4 0xFF")
    assert code == 1
    assert err.splitlines()[1:] == [
        "error: result[0]: 3 of 4 elements differ",
        "error: result[0]: [1]: expected -3 (0xC4), got 3 (0x44)",
        "error: result[0]: [2]: expected 4 (0x48), got poison",
        "error: result[0]: [3]: expected 0xFF, got nan (0x7F)",
    ]
    code, _, err = command(*run, "--expected-output=4xf8E5M2=2")
    assert code == 1
    assert "error: result[0]: expected 4xf8E5M2, got 4xf8E4M3FN\n" in err
    code, _, err = command(*run, "--expected_output=2xf8E4M3FN=2")
    assert code == 1
    assert "error: result[0]: expected 2xf8E4M3FN, got 4xf8E4M3FN\n" in err


def test_many_differences_are_counted(command: Command) -> None:
    code, _, err = command(
        "eval", "arith.addi", "--input=1000xi8=1", "--input=1000xi8=1", "--expected_output=1000xi8=3"
    )
    assert code == 1
    assert "1000 of 1000 elements differ" in err
    assert err.count("expected 3 (0x03), got 2 (0x02)") == 100
    assert "... and 900 more" in err


def test_wide_elements_are_compared_whole(command: Command, write: Any) -> None:
    path = write("identity.mlir", IDENTITY)
    run = ("run", path, "--function=f80x2", "--input=1 2")
    assert command(*run, "--expected_output=1 2")[0] == 0
    code, _, err = command(*run, "--expected_output=1 0x40008000000000000001")
    assert code == 1
    # No float64 holds 2 + 2**-62.
    assert "[1]: expected 0x40008000000000000001, got 2 (0x40008000000000000000)" in err


# --- poison and undefined behaviour -----------------------------------------------------------------------------------

DIVIDE = """\
func.func @main(%a: tensor<3xi32>, %b: tensor<3xi32>) -> tensor<3xi32> {
  %0 = arith.divsi %a, %b : tensor<3xi32>
  %1 = arith.addi %0, %0 overflow<nsw> : tensor<3xi32>
  return %1 : tensor<3xi32>
}
"""


def test_undefined_behaviour(command: Command, write: Any) -> None:
    path = write("divide.mlir", DIVIDE)
    code, out, err = command("run", path, "--input=1 2 3", "--input=1 0 0")
    assert (code, out) == (4, "")
    assert err == (
        "divide.mlir:2:8: error: arith.divsi: undefined behaviour: division by zero at element [1]: "
        "lhs = 2, rhs = 0 (2 of 3 elements)\n"
        "  %0 = arith.divsi %a, %b : tensor<3xi32>\n"
        "       ^\n"
    )


def test_poison_is_named_with_its_birthplace(command: Command, write: Any) -> None:
    path = write("divide.mlir", DIVIDE)
    run = ("run", path, "--input=1 2147483647 3", "--input=1 1 0", "--on-ub=poison")
    code, out, err = command(*run)
    assert (code, out) == (0, "result[0]: 3xi32=2 poison poison\n")
    assert sorted(err.splitlines()) == [
        "note: result[0]: 1 poison element, the first at [1]: signed overflow with nsw "
        "(arith.addi at divide.mlir:3:8, element [1])",
        "note: result[0]: 1 poison element, the first at [2]: undefined behaviour: division by zero "
        "(arith.divsi at divide.mlir:2:8, element [2])",
    ]
    code, out, err = command(*run, "--forbid-poison")
    assert (code, out) == (4, "result[0]: 3xi32=2 poison poison\n")
    assert err.startswith("error: result[0]: 1 poison element, ")
    assert command("run", path, "--input=1", "--input=1", "--forbid-poison") == (0, "result[0]: 3xi32=2 2 2\n", "")


# --- functions, parts, settings ---------------------------------------------------------------------------------------


def test_which_function(command: Command, write: Any) -> None:
    path = write(
        "m.mlir",
        "func.func @a() -> i8 {\n  %0 = arith.constant 1 : i8\n  return %0 : i8\n}\n"
        "func.func private @b() -> i8 {\n  %0 = arith.constant 2 : i8\n  return %0 : i8\n}\n"
        "module @m {\n  func.func @c() -> i8 {\n    %0 = arith.constant 3 : i8\n    return %0 : i8\n  }\n}\n",
    )
    assert command("run", path)[1] == "result[0]: i8=1\n"
    assert command("run", path, "--function=b")[1] == "result[0]: i8=2\n"
    assert command("run", path, "--function=@m::@c")[1] == "result[0]: i8=3\n"
    code, _, err = command("run", path, "--function=d")
    assert (code, err) == (2, "error: there is no function 'd'; the functions are @a, @b, @m::@c\n")
    code, _, err = command("run", path, "--input=1")
    assert code == 2
    assert err.startswith("m.mlir:1:1: error: @a takes 0 arguments (), but 1 are given\nfunc.func @a()")


def test_two_public_functions_are_ambiguous(command: Command, write: Any) -> None:
    code, _, err = command("run", write("identity.mlir", IDENTITY))
    assert code == 2
    assert "the functions are @f32x4, @i8x2x2" in err
    assert "--function" in err


def test_standard_input(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def give(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    give("func.func @f(%x: f32) -> f32 { return %x : f32 }")
    assert command("run", "-", "--input=1") == (0, "result[0]: f32=1\n", "")
    give("func.func @f(%x: f32) -> f32 { return %y : f32 }")
    code, _, err = command("run", "-", "--input=1")
    assert code == 2
    assert err.startswith("<stdin>:1:")
    give("module {}")
    assert command("translate", "-") == (0, "module {\n}\n\n", "")


PARTS = """\
func.func @f(%x: f32) -> f32 {
  return %x : f32
}
// -----
func.func @f(%x: f32) -> f32 {
  return %y : f32
}
// -----
func.func @f(%x: f32) -> f32 {
  %0 = "other.op"(%x) : (f32) -> f32
  return %0 : f32
}
// -----
"""


def test_each_part_is_run(command: Command, write: Any) -> None:
    path = write("parts.mlir", PARTS)
    code, out, err = command("run", path, "--input=2", "--split-input-file")
    assert (code, out) == (3, "result[0]: f32=2\n")
    assert "parts.mlir:6:10: error: " in err
    assert "parts.mlir:10:8: error: cannot execute 'other.op'" in err
    code, _, err = command("run", path, "--input=2", "--split-input-file", "--output=@y.npy")
    assert code == 2
    assert not Path("y.npy").exists()
    assert command("run", path, "--input=2")[0] == 2


def test_settings_reach_the_run(command: Command, write: Any) -> None:
    path = write(
        "convert.mlir",
        "func.func @f(%x: f32) -> f8E4M3FN {\n  %0 = arith.truncf %x : f32 to f8E4M3FN\n  return %0 : f8E4M3FN\n}\n",
    )
    run = ("run", path, "--input=1000")
    assert command(*run)[1] == "result[0]: f8E4M3FN=nan\n"
    assert command(*run, "--profile=ocp-saturate")[1] == "result[0]: f8E4M3FN=448\n"
    assert command(*run, "--profile=spec,conversion_overflow=saturate")[1] == "result[0]: f8E4M3FN=448\n"
    for wrong in ("nonsense", "spec,nonsense", "spec,nonsense=1", "spec,denormals=nonsense"):
        code, out, err = command(*run, f"--profile={wrong}")
        assert (code, out) == (2, "")
        assert err.startswith("error: --profile: ")
        assert "nonsense" in err


def test_index_width(command: Command, write: Any) -> None:
    path = write(
        "index.mlir",
        "func.func @f(%x: index) -> index {\n  %0 = arith.addi %x, %x : index\n  return %0 : index\n}\n",
    )
    assert command("run", path, "--input=4294967295")[1] == "result[0]: index=8589934590\n"
    assert command("run", path, "--input=4294967295", "--index-width=32")[1] == "result[0]: index=4294967294\n"
    code, _, err = command("run", path, "--input=4294967296", "--index-width=32")
    assert code == 2
    assert "4294967296 does not fit the 32 bits" in err


def test_limits(command: Command, write: Any) -> None:
    loop = write("loop.mlir", "func.func @f() {\n  cf.br ^a\n^a:\n  cf.br ^a\n}\n")
    code, _, err = command("run", loop, "--max-steps=1000")
    assert code == 2
    assert "more than 1000 ops" in err
    recursion = write("r.mlir", "func.func @f() {\n  call @f() : () -> ()\n  return\n}\n")
    code, _, err = command("run", recursion, "--max-depth=10")
    assert code == 2
    assert err.startswith("r.mlir:2:3: error: calls are nested more than 10 deep")
    big = write("big.mlir", "func.func @f(%x: tensor<100xf32>) -> tensor<100xf32> { return %x : tensor<100xf32> }")
    assert command("run", big, "--input=1", "--max-bytes=400")[0] == 0
    assert command("run", big, "--input=1", "--max-bytes=399")[0] == 2
    for wrong in ("0", "-1", "x", "1e9", "²"):
        assert command("run", big, "--input=1", f"--max-bytes={wrong}")[0] == 2


def test_a_location_in_another_file_shows_no_line_of_this_one(command: Command, write: Any) -> None:
    path = write(
        "other.mlir",
        'func.func @f(%x: i8) -> i8 {\n  %0 = arith.divsi %x, %x : i8 loc("elsewhere.py":1:2)\n  return %0 : i8\n}\n',
    )
    code, _, err = command("run", path, "--input=0")
    assert code == 4
    assert err.startswith("elsewhere.py:1:2: error: ")
    assert "func.func" not in err


# --- eval -------------------------------------------------------------------------------------------------------------

EVALUATED = [
    # SEMANTICS, "Known answers".
    (["arith.addf", "--input=f8E4M3FN=1.375", "--input=f8E4M3FN=2.25"], "f8E4M3FN=3.5"),
    (["arith.addf", "--input=f8E4M3FN=1.375", "--input=2.25"], "f8E4M3FN=3.5"),
    (["arith.truncf", "--input=f32=464", "--to=f8E4M3FN"], "f8E4M3FN=448"),
    (["arith.truncf", "--input=f32=465", "--to=f8E4M3FN"], "f8E4M3FN=nan"),
    (["arith.truncf", "--input=f32=465", "--to=f8E4M3FN", "--attr", "rounding=toward_zero"], "f8E4M3FN=448"),
    (["arith.truncf", "--input=3xf32=1.25 2.5 5", "--to=f4E2M1FN"], "3xf4E2M1FN=1 2 4"),
    (["arith.truncf", "--input=3xf32=1.25 2.5 5", "--to=3xf4E2M1FN"], "3xf4E2M1FN=1 2 4"),
    (["arith.truncf", "--input=f64=-431.99999999999994", "--to=f8E4M3FN"], "f8E4M3FN=-416"),
    (["arith.mulf", "--input=bf16=0x3F81", "--input=0x3FC0"], "bf16=1.516"),  # 0x3FC2 is 1.515625
    (["arith.remf", "--input=f32=-4", "--input=2"], "f32=-0"),
    (["arith.fptosi", "--input=f32=3.5", "--to=i32"], "i32=3"),
    (["arith.sitofp", "--input=i1=true", "--to=f32"], "f32=-1"),
    (["arith.floordivsi", "--input=i8=7", "--input=-2"], "i8=-4"),
    (["arith.addi", "--input=i8=127", "--input=1"], "i8=-128"),
    (["arith.addi", "--input=i8=127", "--input=1", "--attr", "overflow=nsw"], "i8=poison"),
    (["arith.divsi", "--input=i8=7", "--input=2", "--attr", "exact"], "i8=poison"),
    (["arith.divsi", "--input=i8=7", "--input=2", "--attr=exact=false"], "i8=3"),
    (["arith.cmpi", "--input=i8=-1", "--input=1", "--attr", "predicate=slt"], "i1=true"),
    (["arith.cmpi", "--input=i8=-1", "--input=1", "--attr", "predicate=ult"], "i1=false"),
    (["arith.addf", "--input=f32=nan", "--input=1", "--attr", "fastmath=ninf,nnan"], "f32=poison"),
    (["arith.select", "--input=i1=true", "--input=i8=1", "--input=2"], "i8=1"),
    (["arith.constant", "--attr", "value=1.5 : f16"], "f16=1.5"),
    (["arith.divsi", "--input=i8=7", "--input=0", "--on-ub=poison"], "i8=poison"),
    (["arith.truncf", "--input=f32=1000", "--to=f8E4M3FN", "--profile=ocp-saturate"], "f8E4M3FN=448"),
    (["quant.qcast", "--input=2xf32=1 -3", "--to=!quant.uniform<i8:f32, 0.5>"], None),
]


@pytest.mark.parametrize(("arguments", "printed"), EVALUATED)
def test_eval(arguments: list[str], printed: str | None, command: Command) -> None:
    printed = printed or "2x!quant.uniform<i8:f32, 5.000000e-01>=2 -6"
    code, out, err = command("eval", *arguments)
    assert (code, out) == (0, f"result[0]: {printed}\n")
    assert err.startswith("note: ") == ("poison" in printed)


def test_eval_of_an_op_with_two_results(command: Command) -> None:
    code, out, _ = command("eval", "arith.addui_extended", "--input=i8=255", "--input=1")
    assert (code, out) == (0, "result[0]: i8=0\nresult[1]: i1=true\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["arith.nonsense", "--input=i8=1"], 3, "no op named 'arith.nonsense'"),
        (["func.return"], 3, "cannot be evaluated on its own"),
        (["arith.addf", "--input=1", "--input=2"], 2, "<input 0>: '1' has no type"),
        (["arith.addf", "--input=f32=1", "--input=f64=2"], 2, "error: "),
        (["arith.addf", "--input=f32=1"], 2, "expected 2 operands, but found 1"),
        (["arith.addf", "--input=i32=1", "--input=1"], 2, "floating-point"),
        (["arith.truncf", "--input=f32=1"], 2, "--to"),
        (["arith.truncf", "--input=f32=1", "--to=f64"], 2, "error: "),
        (["arith.truncf", "--input=f32=1", "--to=f33"], 2, "--to:1:1: error: "),
        (["arith.addf", "--input=f32=1", "--input=1", "--attr=fastmath=nonsense"], 2, "must be one of none, reassoc"),
        (["arith.addf", "--input=f32=1", "--input=1", "--attr=nonsense=1"], 2, "has no property 'nonsense'"),
        (["arith.addf", "--input=f32=1", "--input=1", "--attr==1"], 2, "--attr NAME"),
        (["arith.addf", "--input=f32=1", "--input=1", "--attr=fastmath"], 2, "fastmath"),
        (["arith.divsi", "--input=i8=1", "--input=0"], 4, "error: arith.divsi: undefined behaviour: division by zero"),
        (["arith.addi", "--input=i8=127", "--input=1", "--attr=overflow=nsw", "--forbid-poison"], 4, "signed overflow"),
        (["arith.addi", "--input=i8=1", "--input=1", "--expected_output=3"], 1, "expected 3 (0x03), got 2 (0x02)"),
        (["arith.addi", "--input=i8=1", "--input=1", "--output=@/dev/null", "--output=@x"], 2, "has 1 results"),
        (["arith.constant", "--attr", "value=<"], 2, "<attr value>:1:1: error: "),
    ],
)
def test_eval_refuses(arguments: list[str], code: int, message: str, command: Command) -> None:
    got, _, err = command("eval", *arguments)
    assert got == code
    assert message in err
    assert not err.startswith("unknown")


# --- formats ----------------------------------------------------------------------------------------------------------


def test_the_table_of_formats(command: Command) -> None:
    code, out, err = command("formats")
    assert (code, err) == (0, "")
    header, *rows = out.splitlines()
    assert header.split()[:6] == ["name", "bits", "sign", "exponent", "mantissa", "bias"]
    assert [row.split()[0] for row in rows] == list(FORMATS)
    cells = {row.split()[0]: row.split() for row in rows}
    assert cells["f8E4M3FN"] == [
        *("f8E4M3FN", "8", "1", "4", "3", "7", "no", "all", "ones", "±0", "-6", "8"),
        *("448", "0.015625", "0.001953125"),
    ]
    assert cells["f8E8M0FNU"][2] == "0"
    assert cells["f8E8M0FNU"][-1] == "none"


@pytest.mark.parametrize("name", FORMATS)
def test_one_format(name: str, command: Command) -> None:
    code, out, err = command("formats", name)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["name", name]
    bits = FORMATS[name].bits
    codes = [line.split()[0] for line in lines if line.startswith("0x")]
    digits = -(-bits // 4)
    assert codes == ([f"0x{code:0{digits}X}" for code in range(1 << bits)] if bits <= 8 else [])


def test_values_of_a_format(command: Command) -> None:
    _, out, _ = command("formats", "f4E2M1FN")
    values = [line.split()[-1] for line in out.splitlines() if line.startswith("0x")]
    positive = ["0", "0.5", "1", "1.5", "2", "3", "4", "6"]
    assert values == positive + [f"-{x}" for x in positive]


def test_an_unknown_format(command: Command) -> None:
    code, out, err = command("formats", "f9")
    assert (code, out) == (2, "")
    assert "unknown float format 'f9'; choose one of f4E2M1FN, " in err


# --- translate --------------------------------------------------------------------------------------------------------

ADDITION = """\
// A comment.
func.func @main(%x : f32, %y : f32) -> f32 {
    %sum = arith.addf %x,%y fastmath<nnan> : f32
    return %sum : f32
}
"""


def test_translate(command: Command, write: Any) -> None:
    path = write("add.mlir", ADDITION)
    custom = (
        "module {\n  func.func @main(%arg0: f32, %arg1: f32) -> f32 {\n"
        "    %0 = arith.addf %arg0, %arg1 fastmath<nnan> : f32\n    return %0 : f32\n  }\n}\n\n"
    )
    assert command("translate", path) == (0, custom, "")
    assert command("translate", path, "-o", "out.mlir") == (0, "", "")
    assert Path("out.mlir").read_text() == custom
    generic = command("translate", path, "--generic")
    assert generic == command("translate", path, "--mlir-print-op-generic")
    assert '"arith.addf"(%arg0, %arg1) <{fastmath = #arith.fastmath<nnan>}> : (f32, f32) -> f32' in generic[1]
    debug = command("translate", path, "--debug-info")
    assert debug == command("translate", path, "--mlir-print-debuginfo")
    assert 'loc("add.mlir":3:12)' in debug[1]


@pytest.mark.parametrize("options", [(), ("--mlir-print-op-generic",), ("--mlir-print-debuginfo",)])
def test_translate_prints_what_mlir_opt_prints(
    options: tuple[str, ...], command: Command, write: Any, mlir_opt: MlirOpt
) -> None:
    text = Path(ADD).read_text() + "// -----\n" + ADDITION + "// -----\n" + Path(EXAMPLES / "quantize.mlir").read_text()
    if options == ("--mlir-print-debuginfo",):
        text = ADDITION  # mlir-opt gives the later parts' modules locations in the middle of a line
    expected = mlir_opt(text, "--split-input-file", *options)
    path = write("in.mlir", text)
    code, out, err = command("translate", path, "--split-input-file", *options)
    assert (code, err) == (0, "")
    assert out.replace('"in.mlir"', '"<stdin>"') == expected.replace('"-"', '"<stdin>"')


def test_translate_rejects_unregistered_ops(command: Command, write: Any) -> None:
    path = write("u.mlir", 'func.func @f() {\n  "other.op"() : () -> ()\n  return\n}\n')
    code, out, err = command("translate", path)
    assert (code, out) == (2, "")
    # As mlir-opt-22 22.1.8 says it, and where.
    assert err == (
        "u.mlir:2:13: error: operation being parsed with an unregistered dialect. If this is intended, please use "
        "-allow-unregistered-dialect with the MLIR tool used\n"
        '  "other.op"() : () -> ()\n'
        "            ^\n"
    )
    code, out, err = command("translate", path, "--allow-unregistered-dialect")
    assert (code, err) == (0, "")
    assert '    "other.op"() : () -> ()\n' in out
    assert command("run", path)[0] == 3


def test_translate_of_parts_goes_on_after_an_error(command: Command, write: Any) -> None:
    path = write("parts.mlir", PARTS)
    code, out, err = command("translate", path, "--split-input-file")
    assert code == 2
    assert out.count("// -----\n") == 3
    assert out.count("module {") == 2
    assert err.count("error: ") == 2
    assert command("translate", path, "--split-input-file", "-o", "out.mlir")[0] == 2
    assert not Path("out.mlir").exists()


# --- explain ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["0.3", "-0.3", "-inf", "-nan", "-1e-5", "-.5", "1/3", "-1/3", "0x2A", "f32=0.3"])
def test_explain(value: str, command: Command) -> None:
    code, out, err = command("explain", value, "f8E4M3FN", "--rounding=upward")
    assert (code, err) == (0, "")
    assert out.startswith(f"{value} in f8E4M3FN, upward, profile spec\n")


@pytest.mark.parametrize(
    ("arguments", "title", "words"),
    [
        (["0x7F : f8E4M3FN"], "0x7F : f8E4M3FN in f8E4M3FN, ", "a bit pattern is not rounded"),
        (["0x7F", ":", "f8E4M3FN"], "0x7F : f8E4M3FN in f8E4M3FN, ", "value     nan"),
        (["arith.addf", "f8E4M3FN", "1.4", "-2.2"], "arith.addf on f8E4M3FN, ", "1.375 + -2.25 = -0.875"),
        (["arith.truncf", "f8E4M3FN", "465", "--from=f32", "--rounding=downward"], "arith.truncf ", "result    0x7E"),
        (["arith.cmpf", "f16", "1", "nan", "--attr=predicate=ult"], "arith.cmpf predicate=ult on f16 to i1, ", "true"),
        (["quant.qcast", "!quant.uniform<i8:f32, 0.5:3>", "1.3"], "quant.qcast on f32 to !quant", "5.599999904632568"),
    ],
)
def test_explain_bits_and_ops(arguments: list[str], title: str, words: str, command: Command) -> None:
    code, out, err = command("explain", *arguments)
    assert (code, err) == (0, "")
    assert out.startswith(title)
    assert words in out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["x", "f32"], 2, "error: <value>: 'x' is not a number"),
        (["1", "f33"], 2, "<type>:1:1: error: "),
        (["1", "i32"], 3, "not to 'i32'"),
        (["f33=1", "f32"], 2, "<value>:1:1: error: "),
        (["1", "f32", "--rounding=stochastic"], 2, "invalid choice"),
        (["1", "f32", "--profile=x"], 2, "unknown profile 'x'"),
        ([], 2, "usage: "),
        (["1"], 2, "'1' has no type"),
        (["1", "2", "f32"], 2, "not 1 2 f32"),
        (["1", "f32", "--from=f64"], 2, "--from goes with an op"),
        (["arith.addf"], 2, "which type?"),
        (["arith.addf", "f32", "1"], 2, "arith.addf takes 2 operands, but 1 are given"),
        (["arith.addf", "f33", "1", "2"], 2, "<type>:1:1: error: "),
        (["arith.truncf", "f16", "1", "--from=f33"], 2, "<from>:1:1: error: "),
        (["arith.addi", "i8", "1", "2"], 3, "explain_op explains arith.addf"),
        (["arith.add", "f32", "1", "2"], 3, "no op named 'arith.add'"),
        (["arith.addf", "f32", "1", "x"], 2, "'x' is not a number"),
        (["arith.addf", "f32", "1", "2", "--attr=fastmath=x"], 2, "must be one of"),
        (["arith.cmpf", "f32", "1", "2"], 2, "needs predicate"),
        (["arith.truncf", "f64", "1"], 2, "are cast incompatible"),
        (["arith.remf", "f32", "1", "2", "--rounding=upward"], 2, "has no property 'rounding'"),
        (["quant.qcast", "!quant.uniform<i8:f32:0, {0.5, 0.25}>", "1"], 2, "--channel) is 0 to 1"),
        (["quant.qcast", "f32", "1"], 3, "is a !quant.uniform type"),
    ],
)
def test_explain_refuses(arguments: list[str], code: int, message: str, command: Command) -> None:
    got, out, err = command("explain", *arguments)
    assert (got, out) == (code, "")
    assert message in err


# --- the process as a whole -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["run"], ["run", "--nonsense", "x"], ["--nonsense"]])
def test_usage_errors(arguments: list[str], command: Command) -> None:
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("usage: halfulp")


def test_help_and_version(command: Command) -> None:
    for arguments in (["--help"], *([name, "--help"] for name in ("run", "eval", "formats", "translate", "explain"))):
        code, out, err = command(*arguments)
        assert (code, err) == (0, "")
        assert out.startswith("usage: halfulp")
        assert "exit codes: 0 fine" in out
    code, out, _ = command("--version")
    assert code == 0
    assert out.startswith("halfulp 0.")


def test_help_imports_nothing_slow() -> None:
    script = (
        "import sys\nfrom halfulp.command.main import COMMANDS, main\nassert main(['--help']) == 0\n"
        "assert all(main([name, '--help']) == 0 for name in COMMANDS)\n"
        "print(*[m for m in sys.modules if m.partition('.')[0] in ('numpy', 'ml_dtypes') or m.startswith('halfulp.')])"
    )
    done = halfulp(interpreter=(sys.executable, "-I", "-c", script))
    assert done.code == 0, done.err
    loaded = set(done.out.splitlines()[-1].split())
    assert {name for name in loaded if not name.startswith("halfulp.command")} == {"halfulp.printable"}


def test_the_installed_command() -> None:
    executable = shutil.which("halfulp", path=str(Path(sys.executable).parent))
    assert executable is not None
    done = halfulp("eval", "arith.addf", "--input=f32=1", "--input=2", interpreter=(executable,))
    assert (done.code, done.out, done.err) == (0, "result[0]: f32=3\n", "")


def test_running_imports_nothing_slow() -> None:
    script = (
        "import sys\nfrom halfulp.command.main import main\nassert main(sys.argv[1:]) == 0\n"
        "print(*{m.partition('.')[0] for m in sys.modules} - set(sys.stdlib_module_names))\n"
        "print(*[m for m in sys.modules if m.startswith(('halfulp.conformance', 'halfulp.trac', 'halfulp.expl'))])"
    )
    done = halfulp("run", ADD, "--input=1", "--input=1", interpreter=(sys.executable, "-I", "-c", script))
    result, packages, ours = done.out.splitlines()
    assert (done.code, result, ours) == (0, "result[0]: 4xf8E4M3FN=2 2 2 2", "")
    assert {"numpy", "halfulp"} <= set(packages.split())
    assert set(packages.split()) & {"ml_dtypes", "rich", "numba", "matplotlib", "dask", "iree"} == set()


def test_a_reader_that_goes_away() -> None:
    with subprocess.Popen(
        [sys.executable, "-I", "-m", "halfulp", "eval", "arith.addi", "--input=100000xi32=1", "--input=1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-I", "-m", "halfulp", "formats"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == b"error: No space left on device\n"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, ""),
        (MemoryError(), 2, "error: this machine does not have enough memory for that\n"),
        (ValueError("odd\nthing"), 70, "halfulp: internal error: ValueError: odd thing; please report it"),
    ],
)
def test_what_was_not_expected(
    error: BaseException, code: int, message: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.delenv("HALFULP_DEBUG", raising=False)
    monkeypatch.setattr("halfulp.loading.read_file", fail)
    got, out, err = command("run", ADD)
    assert (got, out) == (code, "")
    assert err.startswith(message)
    assert bool(message) == bool(err)
    if code == 70:
        monkeypatch.setenv("HALFULP_DEBUG", "1")
        with pytest.raises(ValueError, match="odd"):
            command("run", ADD)


def test_the_caret_stands_under_the_place(command: Command, write: Any) -> None:
    path = write("wide.mlir", 'func.func @f() { "é.é"() : () -> ()\tretun }\n')
    _, _, err = command("translate", path, "--allow-unregistered-dialect")
    message, line, caret, hint = err.splitlines()
    assert message.startswith("wide.mlir:1:39: error: ")  # in bytes, as mlir-opt counts
    assert len(caret) - 1 == line.index("retun")
    assert caret.count("\t") == 1
    assert hint == "hint: did you mean `return`?"


def test_any_locale(write: Any) -> None:
    path = write("u.mlir", 'func.func @f() {\n  "öther.op"() : () -> ()\n  return\n}\n')
    for options in ((), ("--allow-unregistered-dialect",)):
        done = halfulp(
            *("translate", path, *options),
            environment={"PYTHONUTF8": "0", "LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"},
            interpreter=(sys.executable, "-m", "halfulp"),
        )
        assert done.code == (0 if options else 2)
        assert "Traceback" not in done.err


def test_output_is_the_same_every_time(command: Command) -> None:
    runs = {command("explain", "1/3", "bf16") for _ in range(3)} | {command("explain", "1/3", "bf16")}
    assert len(runs) == 1
