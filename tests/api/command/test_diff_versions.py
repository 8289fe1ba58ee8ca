"""``halfulp diff`` of two versions: what is compared, what is said, and the exit code."""

from __future__ import annotations

import json
from typing import Any

import pytest
from command_calls import Command

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
        "after.mlir:1:1: error: @main may not do this\n"
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
        "after.mlir:1:1: error: @f may not do this at element [0]\n"
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


@pytest.mark.parametrize(
    ("assumption", "message"),
    [
        ("a < 3", "'a < 3' is not an assumption about an argument"),
        ("%a in [3, 2]", "is not an assumption"),
        ("%c in [0, 1]", "@f has no argument %c"),
        ("%7 in [0, 1]", "@f has no argument %7"),
        ("%a in [300, 400]", "no value of type 'i8' is in [300, 400]"),
    ],
)
def test_wrong_assumptions(diff: Any, assumption: str, message: str) -> None:
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
        "arguments": ["i8=0"],
        "output": "result 0",
        "result": 0,
        "element": [],
        "type": "i8",
        "expected": "0xFF",
        "got": "0x1",
        "ulps": None,
        "truth": None,
    }
    assert (second["basis"], second["elements"]["equal"]) == ("tested", 5000)


CALLS = """\
func.func private @use(i8)
func.func @f(%a: i8, %b: i8) -> i8 {{
  %0 = "foo.bar"(%a) {{k = 1 : i32}} : (i8) -> i8
  call @use(%{}) : (i8) -> ()
  return %0 : i8
}}
"""


def test_unknown_functions_are_called_alike(diff: Any) -> None:
    code, said = diff(CALLS.format("a"), CALLS.format("a"))
    assert (code, "cannot execute 'foo.bar'" in said) == (3, True)
    note = "  unknown functions stand for ops that no dialect has and for declarations\n"
    tested = f"@f: tested (1,000 inputs); elements: 3,000 equal\n{note}"
    assert diff(CALLS.format("a"), CALLS.format("a"), "--uninterpreted") == (0, tested)
    code, said = diff(CALLS.format("a"), CALLS.format("b"), "--uninterpreted")
    assert code == 1
    assert "  printed before: 'foo.bar {k = 1 : i32}(i8=" in said
