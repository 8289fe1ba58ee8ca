"""``halfulp run``: examples, functions, parts of files, settings, poison and undefined behaviour."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from command import IDENTITY, PARTS, Command, halfulp
from tables import each_row
from tree import ROOT

EXAMPLES = ROOT / "examples"
ADD = str(EXAMPLES / "f8_add.mlir")


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


@pytest.mark.parametrize("path", thinned(sorted(EXAMPLES.glob("*.mlir")), 3), ids=lambda path: path.name)
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


# --- raw bits ---------------------------------------------------------------------------------------------------------


def test_results_as_raw_bits_are_inputs(command: Command, write: Any) -> None:
    program = write(
        "m.mlir",
        """func.func @f(%a: tensor<2xbf16>, %b: f80, %c: i1, %d: memref<2xi4>, %e: tensor<0x3xf4E2M1FN>, %f: tensor<2xi65>)
    -> (tensor<2xbf16>, f80, i1, tensor<0x3xf4E2M1FN>, tensor<2xi65>) {
  return %a, %b, %c, %e, %f : tensor<2xbf16>, f80, i1, tensor<0x3xf4E2M1FN>, tensor<2xi65>
}""",
    )
    values = {
        "2xbf16=": "0x7FC1 0x48BA",
        "f80=": "0x3FFF8000000000000000",
        "i1=": "0x1",
        "2xi4=": "0x1 0xF",
        "0x3xf4E2M1FN=": "",
        "2xi65=": "0x00000000000000001 0x1FFFFFFFFFFFFFFFF",
    }
    texts = [f"--input={head}{text}" for head, text in values.items()]
    code, out, err = command("run", "--bits", program, *texts)
    assert (code, err) == (0, "")
    heads = ["2xbf16=", "f80=", "i1=", "0x3xf4E2M1FN=", "2xi65=", "2xi4="]
    assert [line.partition(": ")[2] for line in out.splitlines()] == [head + values[head] for head in heads]
    code, out, err = command("run", "--bits", program, "--input=poison", *texts[1:])
    assert (code, out.splitlines()[0]) == (0, "result[0]: 2xbf16=poison poison")


def test_the_result_of_one_op_as_raw_bits(command: Command) -> None:
    # 3.625 is a tie between 3.5 (0x46) and 3.75.
    got = command("eval", "arith.addf", "--bits", "--input=f8E4M3FN=1.375", "--input=2.25")
    assert got == (0, "result[0]: f8E4M3FN=0x46\n", "")


# --- functions, parts, settings ---------------------------------------------------------------------------------------


def test_a_lowered_function_takes_what_it_took_before(command: Command, write: Any) -> None:
    program = """llvm.func @main(%p: !llvm.ptr) {
  %q = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, f32
  %x = llvm.mlir.constant(2.5 : f32) : f32
  llvm.store %x, %q : f32, !llvm.ptr
  llvm.return
}"""
    call = ("run", write("m.mlir", program), "--input=1 1 1")
    assert command(*call, "--signature=(memref<3xf32>) -> ()") == (0, "argument[0]: 3xf32=1 2.5 1\n", "")
    code, out, err = command(*call, "--signature=(memref<3xf32>) -> f32")
    assert (code, out) == (3, "")
    assert "follows no convention for '(memref<3xf32>) -> f32'" in err


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
    assert err.startswith("m.mlir:1:1: error: @a takes 0 arguments, but 1 is given\nfunc.func @a()")


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
    assert code == 3
    assert "more than 1000 ops" in err
    recursion = write("r.mlir", "func.func @f() {\n  call @f() : () -> ()\n  return\n}\n")
    code, _, err = command("run", recursion, "--max-depth=10")
    assert code == 3
    assert err.startswith("r.mlir:2:3: error: calls are nested more than 10 deep")
    big = write("big.mlir", "func.func @f(%x: tensor<100xf32>) -> tensor<100xf32> { return %x : tensor<100xf32> }")
    assert command("run", big, "--input=1", "--max-bytes=400")[0] == 0
    assert command("run", big, "--input=1", "--max-bytes=399")[0] == 3
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


# --- exception flags --------------------------------------------------------------------------------------------------


def test_flags_of_a_run(command: Command) -> None:
    """1.3 / 0.1 is inexact, as both are rounded to f32 before; a shadow is another run."""
    quotient = str(EXAMPLES / "quotient.mlir")
    code, out, err = command("run", quotient, "--input=1.3", "--flags")
    assert (code, err) == (0, "")
    assert out.splitlines()[:2] == ["result[0]: f32=12.999999", "flags: inexact"]
    assert "arith.divf %x, %tenth" in out
    assert command("run", quotient, "--input=0", "--flags")[1].splitlines() == ["result[0]: f32=0", "flags: none"]
    code, _, err = command("run", quotient, "--input=1.3", "--flags", "--shadow")
    assert code == 2
    assert "--flags and --shadow cannot be combined" in err


# --- batch ------------------------------------------------------------------------------------------------------------
#
# halfulp run --batch: what inputs mean, what comes out, and how undefined behaviour is told.

BATCH_DIVIDE = """func.func @main(%a: i32, %b: i32) -> i32 {
  %q = arith.divsi %a, %b : i32
  return %q : i32
}
"""


@pytest.fixture
def divide(tmp_path: Path) -> str:
    (tmp_path / "divide.mlir").write_text(BATCH_DIVIDE)
    np.save(tmp_path / "a.npy", np.array([7, 8, 9], np.int32))
    return str(tmp_path / "divide.mlir")


@pytest.mark.parametrize(
    "first", thinned(["3xi32=7 8 9", "7 8 9", "7, 8, 9", "dense<[7, 8, 9]> : tensor<3xi32>", "@"], 2)
)
def test_inputs_have_an_element_per_lane_or_one_for_all(divide: str, first: str) -> None:
    given = f"@{Path(divide).parent / 'a.npy'}" if first == "@" else first
    done = halfulp("run", divide, "--batch", f"--input={given}", "--input=2", "--expected_output=3 4 4")
    assert (done.code, done.out, done.err) == (0, "result[0]: 3xi32=3 4 4\n", "")
    done = halfulp("run", divide, "--batch", f"--input={given}", "--input=i32=2", "--expected_output=3xi32=3 4 5")
    assert done.code == 1
    assert "[2]: expected 5" in done.err


def test_undefined_behaviour_names_the_lane(divide: str) -> None:
    lanes = ("--input=7 8 9", "--input=1 0 0")
    done = halfulp("run", divide, "--batch", *lanes)
    assert done.code == 4
    assert "division by zero: lhs = 8, rhs = 0 (lane 1; 2 of 3 lanes)" in done.err
    done = halfulp("run", divide, "--batch", "--on-ub=poison", *lanes)
    assert (done.code, done.out) == (0, "result[0]: 3xi32=7 poison poison\n")
    assert "2 poison elements, the first at [1]" in done.err


def test_what_cannot_be_a_batch_says_why(divide: str) -> None:
    done = halfulp("run", divide, "--batch", "--input=1", "--input=2")
    assert (done.code, "no argument of @main has lanes" in done.err) == (2, True)
    done = halfulp("run", divide, "--batch", "--input=1 2 3", "--input=1 2")
    assert (done.code, "argument 1 of @main has 2 lanes, but an argument before it has 3" in done.err) == (2, True)


def test_each_lane_has_memory_of_its_own(tmp_path: Path) -> None:
    memory = tmp_path / "memory.mlir"
    memory.write_text("""func.func @main(%a: memref<2xi8>, %b: memref<2xi8>, %i: index) {
      %0 = memref.load %a[%i] : memref<2xi8>
      memref.store %0, %b[%i] : memref<2xi8>
      return
    }""")
    done = halfulp("run", str(memory), "--batch", "--input=2xi8=1 2", "--input=0 0 0 0", "--input=1 0")
    assert (done.code, done.out) == (0, "argument[1]: 2x2xi8=[0 2][1 0]\n"), done.err


TENSORS = """func.func @main(%a: tensor<2xi8>, %b: vector<2xi8>) -> (tensor<2xi8>, vector<2xi8>) {
  %0 = arith.addi %a, %a : tensor<2xi8>
  %1 = arith.divsi %b, %b : vector<2xi8>
  return %0, %1 : tensor<2xi8>, vector<2xi8>
}
"""


@pytest.mark.long
@pytest.mark.parametrize("first", ["3x2xi8=1 2 3 4 5 6", "[1 2][3 4][5 6]", "1 2 3 4 5 6", "@"])
@pytest.mark.parametrize("second", ["2xi8=7 7", "7 7", "7", "vector<2xi8>=7"])
def test_tensors_and_vectors_have_an_axis_over_the_lanes_or_none(tmp_path: Path, first: str, second: str) -> None:
    (tmp_path / "t.mlir").write_text(TENSORS)
    np.save(tmp_path / "a.npy", np.array([[1, 2], [3, 4], [5, 6]], np.int8))
    given = f"@{tmp_path / 'a.npy'}" if first == "@" else first
    expected = ("--expected_output=[2 4][6 8][10 12]", "--expected_output=3x2xi8=1")
    done = halfulp("run", str(tmp_path / "t.mlir"), "--batch", f"--input={given}", f"--input={second}", *expected)
    assert done.err == ""
    assert (done.code, done.out) == (0, "result[0]: 3x2xi8=[2 4][6 8][10 12]\nresult[1]: 3x2xi8=[1 1][1 1][1 1]\n")


def test_undefined_behaviour_in_a_tensor_names_the_lane_and_the_element(tmp_path: Path) -> None:
    (tmp_path / "t.mlir").write_text(TENSORS)
    inputs = ("--input=0 0", "--input=[7 7][0 7][0 0]")
    done = halfulp("run", str(tmp_path / "t.mlir"), "--batch", *inputs)
    assert done.code == 4
    assert "division by zero at element [0]: lhs = 0, rhs = 0 (1 of 2 elements) (lane 1; 2 of 3 lanes)" in done.err
    done = halfulp("run", str(tmp_path / "t.mlir"), "--batch", "--on-ub=poison", *inputs)
    assert (done.code, done.out.splitlines()[1]) == (0, "result[1]: 3x2xi8=[1 1][poison 1][poison poison]")
    assert "3 poison elements, the first at [1, 0]" in done.err
    assert "element [1, 0]" in done.err


def test_the_shape_of_a_file_says_whether_it_has_lanes(tmp_path: Path) -> None:
    (tmp_path / "t.mlir").write_text(TENSORS)
    for name, shape in (("one", (2,)), ("three", (3, 2)), ("wrong", (3, 3)), ("deep", (1, 3, 2))):
        np.save(tmp_path / f"{name}.npy", np.ones(shape, np.int8))

    def run(first: str, second: str) -> tuple[int, str]:
        inputs = [f"--input=@{tmp_path / name}.npy" for name in (first, second)]
        done = halfulp("run", str(tmp_path / "t.mlir"), "--batch", *inputs)
        return done.code, done.err

    assert run("one", "three") == run("three", "one") == run("three", "three") == (0, "")
    code, err = run("one", "one")
    assert (code, "no argument of @main has lanes" in err) == (2, True)
    for name, told in (("wrong", "3x3"), ("deep", "1x3x2")):
        code, err = run("three", name)
        assert code == 2
        assert "argument 1 of @main: expected" in err
        assert told in err


# --- shadow -----------------------------------------------------------------------------------------------------------
#
# halfulp run --shadow, run --trace --shadow and explain error: what they print and write, and what they refuse.

QUADRATIC = str(ROOT / "examples" / "quadratic.mlir")
SOFTMAX = str(ROOT / "examples" / "softmax.mlir")
ROOTS = ("--input=1", "--input=1000", "--input=1")
INTEGERS = "func.func @f(%x: i32, %m: memref<2xf32>) -> i32 { return %x : i32 }"


def test_run_says_how_far_results_are_and_why(command: Command) -> None:
    code, plain, _ = command("run", QUADRATIC, *ROOTS)
    assert code == 0
    code, out, err = command("run", "--shadow", QUADRATIC, *ROOTS)
    assert (code, err) == (0, "")
    assert out.startswith(plain)
    errors = out[len(plain) :].splitlines()
    # The lesser root of x^2 + 1000 x + 1 by exact arithmetic.
    assert errors[0].endswith("exactly -0.0010000010000020001")
    assert "math.sqrt" in errors[4]
    assert errors[-1].endswith("a sum lost 18 leading bits")


def test_trace_shows_the_errors_of_each_step(command: Command, write: Any) -> None:
    code, out, _ = command("run", "--trace", "--shadow", QUADRATIC, *ROOTS)
    assert code == 0
    assert "error: own 0.232 ulp, in all 0.232 ulp" in out
    assert "ops whose own errors make that of result[0]:" in out
    _, without, _ = command("run", "--trace", QUADRATIC, *ROOTS)
    assert "ulp" not in without
    write("x.mlir", INTEGERS)
    code, _, _ = command(
        "run", "--trace", "--shadow", "--html=page.html", "--npz=values", SOFTMAX, "--input=4xf16=12 11 10 9"
    )
    assert code == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<summary>errors</summary><svg" in page
    assert "[0] is nan, exactly 0.64391425988797235" in page
    index = json.loads(Path("values/index.json").read_text(encoding="utf-8"))
    (result,) = index["errors"]["results"]
    assert (result["value"], result["exact"], result["unknown"]) == (None, pytest.approx(0.64391425988797235), 3)
    assert [op["op"] for op in index["errors"]["ops"]].count("math.exp") == 1
    (exp,) = (step for step in index["steps"] if step["op"] == "math.exp")
    assert exp["errors"]["overflowed"] == 1
    # exp(10) is 22026.465794806718, of which f16 has 22032, with an ulp of 16: the infinity beside it hides no error.
    assert exp["errors"]["own"]["size"] == pytest.approx((22032 - 22026.465794806718) / 16)
    assert exp["errors"]["own"]["place"] == [2]


def test_the_way_back_of_an_error(command: Command) -> None:
    code, out, _ = command("explain", "error", QUADRATIC, *ROOTS)
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("result[0]: f32: error -60,809 ulp")
    assert [line for line in lines if line.startswith("line")][-1].startswith("line 11: %root = math.sqrt")
    code, out, _ = command("explain", "error", QUADRATIC, *ROOTS, "--result=1", "--json")
    assert code == 0
    story = json.loads(out)
    assert story["end"]["name"] == "result[1]"
    assert abs(story["end"]["ulp"]) < 0.5
    first = story["steps"][0]
    assert first["brings"] == pytest.approx(story["end"]["ulp"])
    assert first["brings"] == pytest.approx(first["own"] + sum(part for _, part in first["operands"]), abs=1e-3)


@each_row(
    ((QUADRATIC, *ROOTS, "--result=2"), 2, "the run has no float result result[2]"),
    ((QUADRATIC, *ROOTS, "--element=1"), 2, "it has no element [1]"),
    ((QUADRATIC, *ROOTS, "--element=a"), 2, "--element: 'a' is not a list of integers"),
    ((SOFTMAX, "--input=4xf16=1 2 3 4", "--element=4"), 2, "it has no element [4]"),
    ((SOFTMAX, "--input=4xf16=poison 2 3 4", "--element=0"), 3, "the exact number of result[0] [0] is not known"),
    (("x.mlir", "--input=1", "--input=2xf32=1 2", "--result=0"), 2, "it has argument[1]"),
    ((SOFTMAX, "--input=4xf16=1 2 3 4", "--forbid-poison"), 2, "--forbid-poison"),
    (("missing.mlir",), 2, "missing.mlir"),
)
def test_what_cannot_be_explained(
    given: tuple[str, ...], code: int, message: str, command: Command, write: Any
) -> None:
    write("x.mlir", INTEGERS)
    found, out, err = command("explain", "error", *given)
    assert (found, out) == (code, "")
    assert message in err


def test_an_argument_needs_no_explanation(command: Command, write: Any) -> None:
    write("x.mlir", INTEGERS)
    code, out, _ = command("explain", "error", "x.mlir", "--input=1", "--input=2xf32=1 2", "--result=argument[1]")
    assert code == 0
    assert "no op computed it" in out


@pytest.mark.parametrize("wider", ["f64", "f128"])
def test_a_wider_format_may_stand_for_the_reals(wider: str, command: Command) -> None:
    code, out, _ = command("run", f"--shadow-in={wider}", QUADRATIC, *ROOTS)
    assert code == 0
    assert f"error of result[0], beside {wider}: f32: error -60,809 ulp" in out
    assert f", in {wider} -0.0010000010" in out
    assert "exactly" not in out
    code, out, _ = command("run", "--trace", f"--shadow-in={wider}", QUADRATIC, *ROOTS)
    assert code == 0
    assert f"beside {wider}" in out


def test_an_element_that_was_asked_for_has_not_the_largest_error(command: Command) -> None:
    given = ("explain", "error", SOFTMAX, "--input=4xf16=1.1 2.3 5.7 -4.2")
    _, largest, _ = command(*given)
    _, chosen, _ = command(*given, "--element=0")
    assert "largest error" in largest.splitlines()[0]
    assert " at [0]" in chosen.splitlines()[0]
    assert "largest" not in chosen
