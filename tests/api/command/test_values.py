"""Values on the command line: inputs, files, outputs and comparisons.

Expected bits are the hand-checked answers of the documents, or integers worked out by hand in the comments.
"""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from command import IDENTITY, Command
from tables import each_row
from tree import ROOT

EXAMPLES = ROOT / "examples"
ADD = str(EXAMPLES / "f8_add.mlir")


# --- inputs -----------------------------------------------------------------------------------------------------------


INPUTS = [
    ("f32x4", "4xf32=1 2 3 4", "4xf32=1 2 3 4"),
    ("f32x4", "4 x f32 = 1, 2, 3, 4", "4xf32=1 2 3 4"),
    ("f32x4", "tensor<4xf32>=1 2 3 4", "4xf32=1 2 3 4"),
    ("f32x4", "1 2.5 -3e2 0.1", "4xf32=1 2.5 -300 0.1"),
    ("f32x4", "[1 2 3 4]", "4xf32=1 2 3 4"),
    ("f32x4", "7", "4xf32=7 7 7 7"),
    ("f32x4", "4xf32=7", "4xf32=7 7 7 7"),
    ("f32x4", "nan inf -inf -0.0", "4xf32=nan inf -inf -0"),
    ("f32x4", "0x7FC00001 0xFFC00000 0x3F800000 0x1", "4xf32=0x7FC00001 -nan 1 1e-45"),
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


@pytest.mark.parametrize(("function", "given", "printed"), thinned(INPUTS, 4, rows=True))
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
    ("i8x2x2", "[1 2 3][4]", "the brackets do not fit 'tensor<2x2xi8>'"),
    ("i8x2x2", "[1 2 3][4 5]", "'tensor<2x2xi8>' has 4 elements, but 5 are given"),
    ("f32x4", "[1 2 3]", "'tensor<4xf32>' has 4 elements, but 3 are given"),
    ("f32x4", "[1]", "'tensor<4xf32>' has 4 elements, but 1 is given"),
    ("i8x2x2", "2x2xi8=256 0 0 0", "256 does not fit 'i8', which holds -128 to 255"),
    ("i8x2x2", "2x2xi8=1.5", "'1.5' is not a value of type 'i8'"),
    ("i4x3", "-9 0 0", "-9 does not fit 'i4'"),
    ("dynamic", "1 2", "needs all its dimensions"),
    ("dynamic", "2x3xi8=0", "expected 'tensor<?x2xi8>', got 'tensor<2x3xi8>'"),
    ("f32", "1 2", "has 1 element, but 2 are given"),
    ("f32", "f33=1", "<input 0>:1:1: error: unknown type 'f33'; the float types are f4E2M1FN, "),
    ("f32", "4xf32x=1", "<input 0>:1:"),
    ("f32", "=1", "is not a type"),
    ("f32", "", "has 1 element, but 0 are given"),
    ("f32", "dense<[1.0, 2.0> : tensor<2xf32>", "<input 0>:1:16: error: expected ']'"),
    ("f32", '"abc" : f32', '"abc" : f32 is not a value'),
    ("f32", "[1 : i8]", "is not a value"),
    ("f32", "tensor<4xf32>", "is not a value of type 'f32'"),
    ("f32", "1000000000000xf32=0", "1000000000000 elements"),
    ("f32", "@missing.npy", "cannot read 'missing.npy': No such file or directory"),
    ("f32", "@.", "cannot read '.': Is a directory"),
    ("f32", "@", "@ needs the name of a file"),
]


def test_an_input_beyond_the_limit_of_memory_has_its_own_exit_code(command: Command, write: Any) -> None:
    path = write("identity.mlir", IDENTITY)
    code, out, err = command("run", path, "--function=f32", "--input=dense<0.0> : tensor<1000000000000xf32>")
    assert (code, out) == (3, "")
    assert "takes 4000000000000 bytes" in err


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


@pytest.mark.long
@each_row(*((function, printed, printed) for function, _, printed in INPUTS if function not in ("dynamic", "unranked")))
def test_outputs_are_inputs_again(function: str, given: str, printed: str, command: Command, write: Any) -> None:
    path = write("identity.mlir", IDENTITY)
    run = ("run", path, f"--function={function}")
    assert command(*run, f"--input={given}", "--output=@y.npy") == (0, "", "")
    assert command(*run, "--input=@y.npy") == (0, f"result[0]: {printed}\n", "")
    typed = printed.partition("=")[0]
    assert command(*run, f"--input={given}", "--output=@y.bin") == (0, "", "")
    assert command(*run, f"--input={typed}=@y.bin") == (0, f"result[0]: {printed}\n", "")


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
        assert command("run", path, f"--function={function}", f"--input={given}", "--output=@y.bin")[0] == 0
        size = {"f80x2": 20, "i100": 13}.get(function, expected.nbytes)
        assert Path("y.bin").stat().st_size == size
    Path("y.bin").unlink()
    for place in ("y.txt", "y.csv", "y.gguf", "y.txt:NAME"):
        code, out, err = command("run", path, "--function=f32", "--input=1", f"--output=@{place}")
        assert (code, out) == (2, "")
        assert "hint: write .npy or .bin (raw little-endian elements)" in err
    code, out, err = command("run", path, "--function=f32", "--input=1", "--output=@z.bin", "--output=@z.bin")
    assert (code, out, err) == (2, "", "error: --output=@z.bin is given twice, but the file takes one result\n")
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


@pytest.mark.parametrize(("function", "type_", "data", "printed"), thinned(RAW, 3, rows=True))
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
    """Return the bytes of a .npy file."""
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

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
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
        "error: result[0]: [3]: expected -nan (0xFF), got nan (0x7F)",
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
