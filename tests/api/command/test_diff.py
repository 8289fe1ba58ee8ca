"""diff --pass-pipeline: the mlir-opt that runs, its messages, and exit codes."""

import io
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from command import Command
from fake_mlir_opt import TWICE, FakeOpt
from tables import each_row

from halfulp.command import main as cli

# --- diff versions ----------------------------------------------------------------------------------------------------
#
# ``halfulp diff`` of two versions: what is compared, what is said, and the exit code.

PRINTS = """\
func.func @main() {{
  %c = arith.constant {0} : i32
  vector.print %c : i32
  return
}}
"""

SHIFTED = """\
func.func @f(%a: i8) -> i8 {{
  %c = arith.constant 1 : i8
  %0 = arith.{0} %a, %c : i8
  return %0 : i8
}}
func.func @k(%a: i8, %m: memref<4xi8>) -> i8 {{
  return %a : i8
}}
"""


@pytest.fixture
def diff(command: Command, write: Any) -> Any:
    """Return what compares two texts: the exit code, and what is printed."""

    def diff(before: str, after: str, *options: str) -> tuple[int, str]:
        files = write("before.mlir", before), write("after.mlir", after)
        code, out, err = command("diff", *files, *options)
        return code, out + err

    return diff


def test_what_is_printed_is_compared(diff: Any) -> None:
    assert diff(PRINTS.format(1), PRINTS.format(1)) == (0, "@main: proven (every input), 1 input; elements: 1 equal\n")
    assert diff(PRINTS.format(1), PRINTS.format(2)) == (
        1,
        "@main: differs for 1 of 1 input (every input); elements: 1 different\n"
        "after.mlir:1:1: error: @main gives a result that is not allowed\n"
        "  printed before: '1\\n'\n"
        "  printed after:  '2\\n'\n"
        "  printed value 0\n"
        "  before:   0x00000001 (1)\n"
        "  after:    0x00000002 (2)\n",
    )


def test_nothing_compared_is_no_agreement(diff: Any) -> None:
    nothing = "func.func @f(%a: i8) { return }"
    assert diff(nothing, nothing) == (3, "@f: nothing was compared (256 inputs)\n")


def test_a_difference_outweighs_what_was_not_compared(diff: Any) -> None:
    code, out = diff(SHIFTED.format("subi"), SHIFTED.format("addi"))
    assert code == 1
    assert "@f: differs for 256 of 256 inputs (every input); elements: 256 different\n" in out
    assert "@k: tested (1,000 inputs); elements: 5,000 equal\n" in out
    carried = "func.func @t(%x: none) -> none { return %x : none }\n"
    code, out = diff(SHIFTED.format("subi") + carried, SHIFTED.format("addi") + carried)
    assert code == 1
    assert "@t: not compared\n  error: no values of type 'none' can be generated\n" in out
    same = SHIFTED.format("subi") + carried
    assert diff(same, same)[0] == 0
    assert diff(same, same, "--require-all")[0] == 3
    assert diff(SHIFTED.format("subi"), SHIFTED.format("subi"), "--require-all")[0] == 0
    assert diff(same, SHIFTED.format("addi") + carried, "--require-all")[0] == 1
    assert diff(carried, carried)[0] == 3


def test_a_type_without_values_to_generate_is_named_by_all_commands(command: Command, write: Any) -> None:
    file = write("c.mlir", "func.func @f(%x: complex<f32>) -> complex<f32> {\n  return %x : complex<f32>\n}\n")
    for name in ("diff", "bisect"):
        code, out, err = command(name, file, file)
        assert code == 3
        assert "no values of type 'complex<f32>' can be generated\n" in out + err
        assert "hint: give each argument with --input" in out + err


def test_functions_that_are_not_looked_at_are_named(diff: Any) -> None:
    nested = (
        "module @inner {{ func.func @g(%a: i8) -> i8 {{ {0} return %a : i8 }} func.func private @h() {{ return }} }}"
    )
    other = '"llvm.func"() <{sym_name = "l", function_type = !llvm.func<void ()>}> ({ "llvm.return"() : () -> () }) : () -> ()'
    same = "func.func @f(%a: i8) -> i8 { return %a : i8 }\n"
    text = f"{same}{nested.format('')}\n{other}\n"
    code, out = diff(text, f"{same}{nested.format('%b = arith.addi %a, %a : i8')}\n{other}\n")
    assert code == 0
    assert "@f: proven (every input), 256 inputs" in out
    assert "@inner::@g: not compared\n  before.mlir:2:17: error: functions of nested modules are not compared" in out
    assert (
        "@l: not compared\n  before.mlir:3:1: error: only functions of 'func' are compared, and this is 'llvm.func'"
        in out
    )
    assert "@h: not" not in out
    assert "@inner::@h" not in out
    unnamed = nested.format("").replace("module @inner", "module")
    assert "@g: not compared" in diff(same + unnamed, same + unnamed)[1]
    assert diff(text, text, "--require-all")[0] == 3
    assert "@l" not in diff(text, text, "--function=f")[1]


def test_a_function_that_the_second_version_lacks_is_an_error_of_its_own(diff: Any) -> None:
    one = SHIFTED.format("subi")
    code, out = diff(one, one.replace("@f", "@g"))
    assert code == 2
    assert "@f: not compared\n  before.mlir:1:1: error: @f has no body in the second version\n" in out
    assert "@k: tested" in out


def test_too_large_arguments_are_not_compared(diff: Any) -> None:
    large = "func.func @f(%a: tensor<100000x100000xf32>) -> tensor<100000x100000xf32> {{ return %a : {0} }}"
    large = large.format("tensor<100000x100000xf32>")
    code, out = diff(large, large)
    assert code == 3
    assert "10000000000 elements are too many to generate" in out


@pytest.mark.long
def test_fewer_inputs_of_large_arguments(diff: Any) -> None:
    large = "func.func @f(%a: tensor<32768xi8>) -> tensor<32768xi8> { return %a : tensor<32768xi8> }"
    assert diff(large, large) == (
        0,
        "@f: tested (16 inputs); elements: 524,288 equal\n  16 of 1,000 inputs: each has 32,768 elements\n",
    )


def test_memory_is_given_and_shown(diff: Any) -> None:
    text = """\
func.func @f(%x: i8, %m: memref<2xi8, strided<[2]>>) {{
  %k = arith.constant {0} : index
  memref.store %x, %m[%k] : memref<2xi8, strided<[2]>>
  return
}}
"""
    code, out = diff(text.format(0), text.format(1), "--input=i8=7", "--input=2xi8=1 2")
    assert code == 1
    assert out == (
        "@f: differs for 1 of 1 input; elements: 2 different\n"
        "after.mlir:1:1: error: @f gives a result that is not allowed at element [0]\n"
        "  argument 0: i8=7\n"
        "  argument 1: 2xi8=1 2\n"
        "  argument 1 after the run\n"
        "  before:   0x07 (7)\n"
        "  after:    0x01 (1)\n"
    )


def test_assumptions_of_the_command_and_of_the_function(diff: Any) -> None:
    text = """\
func.func @f(%a: i32, %b: f32) -> i1{attributes} {{
  %c = arith.constant 10 : i32
  %0 = arith.cmpi {predicate}, %a, %c : i32
  return %0 : i1
}}
"""
    before, after = (text.format(attributes="", predicate=predicate) for predicate in ("ule", "sle"))
    assert diff(before, after)[0] == 1
    code, out = diff(before, after, "--assume=%a in [0, 10]", "--assume", "%1 in [-1, 1]")
    assert (code, out.splitlines()[1]) == (0, "  assumed: %a in [0, 10], %1 in [-1, 1]")
    assert diff(before, after, "--assume=%0 in [-1, 10]")[0] == 1
    attribute = ' attributes {halfulp.assume = ["%a in [0, 10]", "%b in [0, 0]"]}'
    assumed = text.format(attributes=attribute, predicate="ule")
    assert diff(assumed, after) == (
        0,
        "@f: proven (every input), 11 inputs; elements: 11 equal\n  assumed: %a in [0, 10], %b in [0, 0]\n",
    )


@each_row(
    ("a < 3", "'a < 3' is not an assumption about an argument"),
    ("%a in [3, 2]", "is not an assumption"),
    ("%c in [0, 1]", "@f has no argument %c"),
    ("%7 in [0, 1]", "@f has no argument %7"),
    ("%a in [300, 400]", "no value of type 'i8' is in [300, 400]"),
)
def test_wrong_assumptions(assumption: str, message: str, diff: Any) -> None:
    text = "func.func @f(%a: i8) -> i8 { return %a : i8 }"
    code, out = diff(text, text, "--assume", assumption)
    assert code == 2
    assert message in out


def test_a_mapped_signature_is_said(diff: Any) -> None:
    wide = "func.func @f(%a: i8) -> i16 { %0 = arith.extui %a : i8 to i16\n return %0 : i16 }"
    inserted = """\
func.func @f(%a: i8) -> vector<2xi8> {
  %z = arith.constant dense<0> : vector<2xi8>
  %v = vector.insert %a, %z [0] : i8 into vector<2xi8>
  return %v : vector<2xi8>
}
"""
    assert diff(wide, inserted) == (
        0,
        "@f: proven (every input), 256 inputs; elements: 256 equal\n"
        "  mapped: result 0: i16 -> vector<2xi8>, low half first\n",
    )
    assert diff(wide, inserted.replace("[0]", "[1]"))[0] == 1


def test_scalable_vectors_and_the_limit_on_steps(diff: Any) -> None:
    text = "func.func @f(%a: vector<[4]xi8>) -> vector<[4]xi8> { return %a : vector<[4]xi8> }"
    code, out = diff(text, text)
    assert code == 3
    assert "give vscale=N (--vscale=N)" in out
    assert diff(text, text, "--vscale=2", "-n", "5") == (0, "@f: tested (5 inputs); elements: 40 equal\n  vscale: 2\n")
    loop = "func.func @f(%a: i1) -> i1 {\n  cf.br ^a\n^a:\n  cf.br ^a\n}\n"
    code, out = diff(loop, loop, "--max-steps=100")
    assert (code, out) == (
        3,
        "@f: nothing was compared (0 inputs)\n  not run: the program ran more than 100 ops (2 inputs)\n",
    )


def test_an_op_that_is_not_known_is_not_supported(diff: Any) -> None:
    text = "func.func @f(%a: i8) -> i8 { %0 = nobody.op %a : i8\n return %0 : i8 }"
    code, out = diff(text, text)
    assert code == 3
    assert "not found for custom op 'nobody.op'" in out
    assert diff(text.replace("nobody.op", "arith.adddi"), text)[0] == 2


def test_modules_with_transforms_run_their_functions(diff: Any) -> None:
    text = """\
module attributes {transform.with_named_sequence} {
  func.func @f(%a: i8) -> i8 {
    return %a : i8
  }
  "transform.named_sequence"() <{function_type = (!transform.any_op) -> (), sym_name = "__transform_main"}> ({
  ^bb0(%arg: !transform.any_op):
    "transform.yield"() : () -> ()
  }) : () -> ()
}
"""
    assert diff(text, text) == (0, "@f: proven (every input), 256 inputs; elements: 256 equal\n")


@pytest.mark.mlir
def test_functions_beside_ops_of_unknown_forms_are_run(diff: Any) -> None:
    text = """\
module attributes {transform.with_named_sequence} {
  func.func @f(%a: i8) -> i8 {
    return %a : i8
  }
  func.func @g(%a: i8) -> i8 {
    %0 = emitc.unary_plus %a : (i8) -> i8
    return %0 : i8
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    transform.yield
  }
}
"""
    code, out = diff(text, text)
    assert code == 0
    assert "@f: proven (every input), 256 inputs; elements: 256 equal\n" in out
    assert "@g: nothing was compared (0 inputs)\n  not run: cannot execute 'emitc.unary_plus'" in out


def test_the_report_as_json(diff: Any) -> None:
    code, out = diff(SHIFTED.format("subi"), SHIFTED.format("addi"), "--json")
    first, second = map(json.loads, out.splitlines())
    assert code == 1
    assert (first["basis"], first["differing"], first["problem"]) == ("differs", 256, None)
    assert first["counterexamples"][0] == {
        "arguments": ["i8=0"], "output": "result 0", "result": 0, "element": [], "type": "i8", "expected": "0xFF",
        "got": "0x1", "ulps": None, "truth": None,
    }  # fmt: skip
    assert (second["basis"], second["elements"]["equal"]) == ("tested", 5000)


CALLS = """\
func.func private @use(i8)
func.func @f(%a: i8, %b: i8) -> i8 {{
  %0 = "foo.bar"(%a) {{k = 1 : i32}} : (i8) -> i8
  call @use(%{}) : (i8) -> ()
  return %0 : i8
}}
"""


@pytest.mark.long
def test_unknown_functions_are_called_alike(diff: Any) -> None:
    code, said = diff(CALLS.format("a"), CALLS.format("a"))
    assert (code, "cannot execute 'foo.bar'" in said) == (3, True)
    note = "  unknown functions stand for ops that no dialect has and for declarations\n"
    tested = f"@f: tested (1,000 inputs); elements: 3,000 equal\n{note}"
    assert diff(CALLS.format("a"), CALLS.format("a"), "--uninterpreted") == (0, tested)
    code, said = diff(CALLS.format("a"), CALLS.format("b"), "--uninterpreted")
    assert code == 1
    assert "  printed before: 'foo.bar {k = 1 : i32}(i8=" in said


# --- diff passes ------------------------------------------------------------------------------------------------------

PIPELINE = "--pass-pipeline=builtin.module(canonicalize)"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_build_of_any_version_runs_the_passes(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "diff", "f.mlir", PIPELINE, fake_opt("cat"))
    assert code == 0
    assert out.startswith(
        "my-opt 99.1.0git: builtin.module(canonicalize)\n@f: proven (every input), 256 inputs; elements: "
    )
    code, out, _ = run(capsys, "diff", "f.mlir", PIPELINE, fake_opt("sed s/addi/muli/"))
    assert code == 1
    assert "  argument 0: i8=1\n  before:   0x02 (2)\n  after:    0x01 (1)" in out


PAST = """\
func.func @f(%arg0: i64) -> f6E3M2FN {
  %0 = arith.uitofp %arg0 : i64 to f8E8M0FNU
  %1 = arith.truncf %0 : f8E8M0FNU to f6E3M2FN
  return %1 : f6E3M2FN
}
"""
DIRECT = "sed -E '/uitofp/{n;s/arith.truncf %0 : f8E8M0FNU/arith.uitofp %arg0 : i64/}'"
BACK = """\
func.func @f(%arg0: index) -> index {
  %0 = arith.index_cast %arg0 : index to i8
  %1 = arith.index_cast %0 : i8 to index
  return %1 : index
}
"""
NEITHER = "sed -E '/: index to i8/{n;s/arith.index_cast %0 : i8 to index/arith.ori %arg0, %arg0 : index/}'"
ONE, TWO = "an integer is converted past the format between", "two index casts are taken for none"


@pytest.mark.parametrize(
    ("program", "body", "row", "version", "known"),
    [
        (PAST, DIRECT, ONE, "21.1.8", False),
        (PAST, DIRECT, ONE, "22.1.8", True),
        (PAST, DIRECT, ONE, "23.1.4", True),
        (PAST, DIRECT, ONE, "99.1.0git", True),
        (BACK, NEITHER, TWO, "22.1.8", True),
        (BACK, NEITHER, TWO, "23.1.4", True),
        (BACK, NEITHER, TWO, "24.0.0git", False),
    ],
)
def test_known_divergences_are_those_of_the_version(
    fake_opt: FakeOpt,
    capsys: pytest.CaptureFixture[str],
    program: str,
    body: str,
    row: str,
    version: str,
    known: bool,
) -> None:
    option = fake_opt(body, version)
    Path("f.mlir").write_text(program, encoding="utf-8")
    code, out, _ = run(capsys, "diff", "f.mlir", PIPELINE, option)
    assert (code, f"known divergence: {row}" in out) == ((0, True) if known else (1, False))


def test_errors_of_the_build_point_into_the_file(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    option = fake_opt("echo '<stdin>:2:8: error: no such op' >&2; exit 1")
    code, out, err = run(capsys, "diff", "f.mlir", PIPELINE, option)
    assert (code, out) == (2, "")
    assert err.startswith("f.mlir:2:8: error: my-opt 99.1.0git: no such op\n  %0 = arith.addi %x, %x : i8\n")
    code, out, err = run(capsys, "diff", "f.mlir", PIPELINE, fake_opt("kill -SEGV $$"))
    assert (code, out, err) == (2, "", "error: my-opt 99.1.0git crashed (signal 11)\n")


def test_a_build_that_cannot_run_is_named(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "diff", "f.mlir", "--against=exact", fake_opt("cat"))
    assert code == 2
    assert err.startswith("error: --mlir is for mlir-expand, mlir-fold, ")
    code, _, err = run(capsys, "diff", "f.mlir", PIPELINE, "--mlir-opt=/nowhere/opt")
    assert code == 2
    assert (
        err == "error: /nowhere/opt is not a program that can be run\nhint: --mlir=22, 24 or PATH names another one\n"
    )


@pytest.mark.mlir
def test_a_form_that_halfulp_does_not_know_is_read(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    fake_opt("exit 1")
    beside = 'func.func private @beside() {\n  %0 = "shape.const_size"() {value = 3 : index} : () -> !shape.size\n  return\n}\n'
    Path("f.mlir").write_text(TWICE + beside, encoding="utf-8")
    code, out, err = run(capsys, "diff", "f.mlir", "--pass-pipeline=builtin.module(loop-invariant-code-motion)")
    assert (code, err) == (0, "")
    assert out.endswith("@f: proven (every input), 256 inputs; elements: 256 equal\n")


TURNS = """\
n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) > count
if [ $((n % 4)) = 1 ]; then sed s/addi/muli/; else cat; fi
"""
"""A pass that is wrong in one run of four."""


def test_passes_that_do_not_always_print_the_same_are_a_finding(
    fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]
) -> None:
    option = fake_opt(TURNS)
    code, out, _ = run(capsys, "diff", "f.mlir", PIPELINE, option)
    assert code == 0
    Path("count").unlink()
    code, out, _ = run(capsys, "diff", "f.mlir", PIPELINE, option, "--repeat=8", "--keep=kept")
    assert code == 1
    assert "error: the passes printed 2 different modules in 8 runs: 6 and 2\n  --- kept/f-after.mlir\n" in out
    assert "\n  -  %0 = arith.addi %x, %x : i8\n  +  %0 = arith.muli %x, %x : i8\n" in out
    assert out.count(" of 256 inputs (every input); ") + out.count("@f: proven (every input), 256 inputs") == 2
    assert (
        "kept/f-after-2.mlir:1:1: error: @f gives a result that is not allowed" in out
    )  # the second module is compared too
    assert "arith.addi" in Path("kept/f-after.mlir").read_text(encoding="utf-8")
    assert "arith.muli" in Path("kept/f-after-2.mlir").read_text(encoding="utf-8")
    code, out, _ = run(capsys, "diff", "f.mlir", PIPELINE, fake_opt("cat"), "--repeat=3")
    assert (code, out.count("@f: ")) == (0, 1)


def test_two_modules_that_mean_the_same_are_a_finding_too(
    fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(
        capsys, "diff", "f.mlir", PIPELINE, fake_opt(TURNS.replace("s/addi/muli/", "s/%0/%1/")), "--repeat=4"
    )
    assert code == 1
    assert "  --- <after>\n  +++ <after-2>\n" in out
    assert "gives a result that is not allowed" not in out


def test_messages_show_the_line_of_the_second_version(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "diff", "f.mlir", PIPELINE, fake_opt("sed s/addi/muli/"))
    assert code == 1
    assert "\n<after>:1:1: error: @f gives a result that is not allowed\nfunc.func @f(%x: i8) -> i8 {\n^\n" in out
    code, out, _ = run(capsys, "diff", "f.mlir", PIPELINE, fake_opt("sed s/addi/muli/"), "--keep", "new/kept")
    assert "\nnew/kept/f-after.mlir:1:1: error: @f gives a result that is not allowed\n" in out
    assert "arith.muli" in Path("new/kept/f-after.mlir").read_text(encoding="utf-8")


def test_two_files_are_read_with_the_build(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    option = fake_opt("sed 's/shape.twice %x : i8/\"arith.addi\"(%x, %x) : (i8, i8) -> i8/'")
    Path("g.mlir").write_text(TWICE.replace("arith.addi %x, %x : i8", "shape.twice %x : i8"), encoding="utf-8")
    code, out, _ = run(capsys, "diff", "f.mlir", "g.mlir", option)
    assert (code, out) == (0, "@f: proven (every input), 256 inputs; elements: 256 equal\n")


def test_a_directory_that_cannot_be_made_is_named(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "diff", "f.mlir", PIPELINE, fake_opt("cat"), "--keep=f.mlir")
    assert (code, err) == (2, "error: cannot make the directory 'f.mlir': File exists\n")


@pytest.mark.parametrize("option", ["--repeat=2", "--keep=x"])
def test_options_of_passes_need_passes(option: str, fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    fake_opt("cat")
    code, _, err = run(capsys, "diff", "f.mlir", "f.mlir", option)
    assert (code, err) == (2, f"error: {option.partition('=')[0]} can be used only with --pass-pipeline\n")


THREE = """\
func.func @equal(%x: i8) -> i8 {
  return %x : i8
}
func.func @differs(%x: i8) -> i8 {
  %0 = arith.addi %x, %x : i8
  return %0 : i8
}
func.func @always_undefined(%x: i8) -> i8 {
  %zero = arith.constant 0 : i8
  %0 = arith.divui %x, %zero : i8
  return %0 : i8
}
"""


def test_a_junit_file_has_a_case_for_each_function(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    option = fake_opt("sed s/addi/muli/")
    Path("f.mlir").write_text(THREE, encoding="utf-8")
    code, _, _ = run(capsys, "diff", "f.mlir", PIPELINE, option, "--junit", "found.xml")
    assert code == 1
    (suite,) = ElementTree.parse("found.xml").getroot()
    assert suite.attrib == {"name": "f.mlir", "tests": "3", "failures": "1", "errors": "0", "skipped": "1"}
    cases = {case.attrib["name"]: [child.tag for child in case] for case in suite}
    assert cases == {"@equal": ["system-out"], "@differs": ["failure"], "@always_undefined": ["skipped"]}
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "before:   0x02 (2)" in (failure.text or "")
    assert failure.attrib["type"] == "different"


def check_sarif(found: Any) -> None:
    """Check what SARIF 2.1.0 requires of the parts that halfulp writes (section 3 of the standard)."""
    assert found["version"] == "2.1.0"
    for run_ in found["runs"]:
        driver = run_["tool"]["driver"]
        rules = [rule["id"] for rule in driver["rules"]]
        assert driver["name"]
        assert len(set(rules)) == len(rules)
        assert run_["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
        for result in run_["results"]:
            assert result["level"] in ("none", "note", "warning", "error")
            assert result["ruleId"] in rules
            assert result["message"]["text"]
            for location in result["locations"]:
                place = location["physicalLocation"]
                assert re.fullmatch(r"[\w./%~:-]+", place["artifactLocation"]["uri"])
                region = place.get("region", {"startLine": 1, "startColumn": 1})
                assert min(region.values()) >= 1


def test_a_sarif_file_has_what_is_not_equal(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    option = fake_opt("sed s/addi/muli/")
    Path("f g.mlir").write_text(THREE, encoding="utf-8")
    assert run(capsys, "diff", "f g.mlir", PIPELINE, option, "--sarif", "found.sarif")[0] == 1
    found = json.loads(Path("found.sarif").read_text(encoding="utf-8"))
    check_sarif(found)
    results = found["runs"][0]["results"]
    places = [result["locations"][0]["physicalLocation"] for result in results]
    assert [(r["ruleId"], r["level"], r["message"]["text"][:17]) for r in results] == [
        ("different", "error", "@differs: differs"),
        ("not-compared", "warning", "@always_undefined"),
    ]
    assert {place["artifactLocation"]["uri"] for place in places} == {"f%20g.mlir"}
    assert places[0]["region"] == {"startLine": 1 + THREE[: THREE.index("@differs")].count("\n"), "startColumn": 1}


def test_a_sarif_file_has_errors_too(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    option = fake_opt("echo '<stdin>:2:8: error: no <&> \001 op' >&2; exit 1")
    assert run(capsys, "diff", "f.mlir", PIPELINE, option, "--sarif=found.sarif")[0] == 2
    found = json.loads(Path("found.sarif").read_text(encoding="utf-8"))
    check_sarif(found)
    (result,) = found["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("pass", "error")


@pytest.mark.parametrize("option", ["--sarif", "--junit", "--report"])
def test_a_folder_that_is_absent_is_an_error_before_the_comparison(
    option: str, fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = fake_opt("touch ran; cat")
    code, _, err = run(capsys, "diff", "f.mlir", PIPELINE, tool, f"{option}=absent/file")
    assert (code, err) == (2, f"error: {option}=absent/file: there is no folder 'absent'\n")
    assert not Path("ran").exists()


def test_a_junit_file_has_errors_too(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    option = fake_opt("echo '<stdin>:2:8: error: no <&> \001 op' >&2; exit 1")
    code, _, err = run(capsys, "diff", "f.mlir", PIPELINE, option, "--junit=found.xml", "--github")
    assert code == 2
    error = ElementTree.parse("found.xml").getroot().find("testsuite/testcase/error")
    assert error is not None
    assert "no <&>" in error.attrib["message"]
    assert error.attrib["type"] == "pass"
    assert "::error file=f.mlir,line=2,col=8::f.mlir:2:8: error: my-opt 99.1.0git: no <&>" in err


def test_annotations_of_github(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    option = fake_opt("sed s/addi/muli/")
    Path("a,b%.mlir").write_text(THREE, encoding="utf-8")
    _, _, err = run(capsys, "diff", "a,b%.mlir", PIPELINE, option, "--github")
    different, undefined = err.splitlines()
    assert different.startswith(
        "::error file=a%2Cb%25.mlir,line=4,col=1::@differs: differs for 252 of 256 inputs (every input)"
    )
    assert "%0A  argument 0: i8=1%0A" in different
    assert undefined.startswith("::warning file=a%2Cb%25.mlir,line=8,col=1::@always_undefined: ")


def test_the_second_version_may_be_the_standard_input(
    fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_opt("cat")
    for text, code in ((TWICE, 0), (TWICE.replace("addi", "muli"), 1)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert run(capsys, "diff", "f.mlir", "-")[0] == code
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TWICE.encode())))
    code, _, err = run(capsys, "diff", "-", "-")
    assert (code, err) == (2, "error: only one of the two versions can be the standard input\n")


KNOWN = """\
func.func @f(%x: f32) -> f8E8M0FNU {
  %0 = arith.truncf %x : f32 to f8E8M0FNU
  return %0 : f8E8M0FNU
}
"""


@pytest.mark.mlir
def test_a_known_divergence_of_a_pass_is_named(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    fake_opt("exit 1")
    Path("f.mlir").write_text(KNOWN, encoding="utf-8")
    command = ["diff", "f.mlir", "--pass-pipeline=builtin.module(arith-expand{include-f8e8m0=true})"]
    code, out, _ = run(capsys, *command)
    assert code == 0
    known = re.search(r"known divergence: floats to f8E8M0FNU are their exponent field \((\d+) inputs\)", out)
    assert known is not None
    assert "gives a result that is not allowed" not in out
    code, out, _ = run(capsys, *command, "--json")
    assert (code, json.loads(out)["differing"]) == (0, 0)
    assert json.loads(out)["known"] == {"floats to f8E8M0FNU are their exponent field": int(known[1])}
    code, out, _ = run(capsys, *command, "--no-known")
    assert code == 1
    assert "<after>:2:3: error: @f gives a result that is not allowed" in out


@pytest.mark.mlir
def test_a_report_of_the_first_difference(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    fake_opt("exit 1")
    text = TWICE.replace("i8", "index").replace("arith.addi %x, %x : index", "arith.index_cast %x : index to i8")
    Path("f.mlir").write_text(
        text.replace("  return %0", "  %1 = arith.index_cast %0 : i8 to index\n  return %1"), encoding="utf-8"
    )
    code, _, err = run(capsys, "diff", "f.mlir", PIPELINE, "--report=r.md", "--no-known", "--input=index=256")
    assert (code, err) == (1, "r.md: a report of @f; mlir-runner prints both results\n")
    report = Path("r.md").read_text(encoding="utf-8")
    assert "is `0x0000000000000000 (0)`. After the passes, it is `0x0000000000000100 (256)`." in report


def test_a_report_of_memory(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    option = fake_opt("sed 's/constant 1 : i8/constant 2 : i8/'")
    Path("f.mlir").write_text(
        "func.func @f(%m: memref<2xi8>) {\n  %0 = arith.constant 0 : index\n  %1 = arith.constant 1 : i8\n"
        "  memref.store %1, %m[%0] : memref<2xi8>\n  return\n}\n",
        encoding="utf-8",
    )
    code, _, err = run(capsys, "diff", "f.mlir", PIPELINE, option, "--report=r.md", "--input=2xi8=5 6")
    assert code == 1
    assert err == "r.md: a report of @f; mlir-runner does not show the difference\n"
    report = Path("r.md").read_text(encoding="utf-8")
    assert "The exact value of argument 0 after the run at element [0], of type `i8`, is `0x01 (1)`." in report
    assert "The arguments of `@f` are `dense<[5, 6]> : tensor<2xi8>`.\n" in report


@pytest.mark.mlir
def test_a_file_with_custom_forms_that_halfulp_does_not_know_is_compared(
    fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_opt("exit 1")
    beside = "func.func private @beside() {\n  %0 = shape.const_size 3\n  return\n}\n"
    zero = "func.func @zero(%x: i8) -> i8 {\n  %0 = arith.divui %x, %x : i8\n  return %0 : i8\n}\n"
    Path("f.mlir").write_text(f"{beside}{TWICE}{zero}", encoding="utf-8")
    code, out, err = run(capsys, "diff", "f.mlir", PIPELINE, "--github")
    assert (code, err) == (0, "")
    assert "@f: proven (every input), 256 inputs" in out
    wrong = TWICE.replace("i8", "index").replace("arith.addi %x, %x : index", "arith.index_cast %x : index to i8")
    wrong = wrong.replace("  return %0", "  %1 = arith.index_cast %0 : i8 to index\n  return %1")
    Path("f.mlir").write_text(f"{beside}{wrong}", encoding="utf-8")
    code, _, err = run(capsys, "diff", "f.mlir", PIPELINE, "--github", "--no-known", "--input=index=256")
    assert code == 1
    # The place in the file, not in what mlir-opt printed.
    assert err.startswith("::error file=f.mlir,line=5,col=1::@f: ")
    Path("f.mlir").write_text("func.func @f() {\n  arith.foo\n}\n", encoding="utf-8")
    code, _, err = run(capsys, "diff", "f.mlir", PIPELINE)
    assert code == 2
    assert err.startswith("f.mlir:2:3: error: custom op 'arith.foo' is unknown")


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_report_says_that_a_comparison_did_not_finish(
    failure: BaseException, capsys: pytest.CaptureFixture[str], write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A JUnit file without any test would look as if all went well."""
    write("f.mlir", TWICE)

    def fails(text: str) -> None:
        raise failure

    monkeypatch.setattr("halfulp.command.diff.write", fails)
    assert run(capsys, "diff", "f.mlir", "f.mlir", "--junit=r.xml")[0] in (2, 130)
    assert '<testsuites tests="1" failures="0" errors="1" skipped="0">' in Path("r.xml").read_text()
