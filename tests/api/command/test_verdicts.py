"""What the comparing commands say, and their exit codes, where no value was compared or where the verdict needs a reason."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from amounts import thinned
from command import Command
from fake_mlir_opt import FakeOpt
from tables import each_row

import halfulp as hu
from halfulp.command.fuzz import fuzz_passes
from halfulp.conformance.whole_programs.bisection.explaining import NO_RULE
from halfulp.conformance.whole_programs.generator.grower import RandomFunction
from halfulp.conformance.whole_programs.generator.kinds import ProgramKind

DIVIDED = """func.func @f(%x: i8, %y: i8) -> i8 {
  %z = arith.constant 0 : i8
  %r = arith.divsi %x, %z : i8
  return %r : i8
}
"""
REMAINDER = DIVIDED.replace("divsi", "remsi")
SHIFTED = """func.func @f(%x: i8, %y: i8) -> i8 {
  %r = arith.shli %x, %y : i8
  return %r : i8
}
"""
FIRST = "func.func @f(%x: i8, %y: i8) -> i8 {\n  return %x : i8\n}\n"
ASSERTED = """func.func @f(%x: i8, %y: i8) -> i8 {
  %no = arith.constant false
  cf.assert %no, "never"
  return %x : i8
}
"""
LOADED = """func.func @f(%x: i8, %y: i8) -> i8 {
  %m = memref.alloca() : memref<4xi8>
  %i = arith.constant 7 : index
  %r = memref.load %m[%i] : memref<4xi8>
  return %r : i8
}
"""
UNWRITTEN = """func.func @f(%x: i8, %y: i8) -> tensor<4xi8> {
  %r = tensor.empty() : tensor<4xi8>
  return %r : tensor<4xi8>
}
"""
WRITTEN = UNWRITTEN.replace("tensor.empty()", "arith.constant dense<0>")
NOTHING = "func.func @f(%x: i8, %y: i8) {\n  return\n}\n"
EMPTY = """func.func @f(%x: i8, %y: i8) -> tensor<0xi8> {
  %r = tensor.empty() : tensor<0xi8>
  return %r : tensor<0xi8>
}
"""

ZERO = "arith.divsi: undefined behaviour: division by zero: lhs = "


@each_row(
    (DIVIDED, REMAINDER, "(at a.mlir:3:8)"),
    (DIVIDED, FIRST, ZERO),
    (DIVIDED, DIVIDED, ""),
    (ASSERTED, FIRST, "cf.assert: never (at a.mlir:3:3)"),
    (LOADED, FIRST, "a.mlir:4:8"),
    (NOTHING, f"// changed\n{NOTHING}", ""),
    (EMPTY, f"// changed\n{EMPTY}", ""),
)
def test_where_nothing_is_compared_nothing_is_equal(
    before: str, after: str, why: str, command: Command, write: Any
) -> None:
    files = [write("a.mlir", before), write("b.mlir", after)]
    for name in ("bisect", "diff"):
        code, out, _ = command(name, *files)
        assert code == 3
        assert "nothing was compared" in out
        assert "identical" not in out
        assert "equal" not in out
        assert "no difference" not in out
        assert name == "diff" or why in out
    record = json.loads(command("bisect", *files, "--json")[1])
    assert [one["verdict"] for one in record["stages"]] == ["first", "unchanged" if before == after else "refined"]


def test_a_stage_counts_again_once_values_are_compared(command: Command, write: Any) -> None:
    files = [write("a.mlir", DIVIDED), write("b.mlir", FIRST), write("c.mlir", f"// changed\n{FIRST}")]
    code, out, _ = command("bisect", *files)
    assert code == 0
    assert out.endswith("no difference in 1 stage\n")


@each_row(
    (SHIFTED, FIRST, "shift amount is not less than the bit width (arith.shli at a.mlir:2:8)"),
    (DIVIDED, FIRST, f"{ZERO}-128, rhs = 0 (at a.mlir:3:8)"),
    (ASSERTED, FIRST, "cf.assert: never (at a.mlir:3:3)"),
    (UNWRITTEN, WRITTEN, "an element of tensor.empty was never written (tensor.empty at a.mlir:2:8)"),
)
def test_what_allows_any_value_is_named(before: str, after: str, why: str, command: Command, write: Any) -> None:
    one = ["--input=i8=-128", "--input=i8=9"]
    files = [write("a.mlir", before), write("b.mlir", after)]
    _, out, _ = command("diff", *files, *one)
    assert f"{why} (" in out
    record = json.loads(command("diff", *files, *one, "--json")[1])
    assert why in {**record["undefined_by"], **record["poison_by"]}
    _, out, _ = command("bisect", *files, *one)
    assert f" before: {why} (" in out


@each_row(
    (SHIFTED, "poison: shift amount is not less than the bit width (arith.shli at b.mlir:2:8)"),
    (DIVIDED, f"{ZERO}-128, rhs = 0 (at b.mlir:3:8)"),
    (ASSERTED, "cf.assert: never (at b.mlir:3:3)"),
    (LOADED, "b.mlir:4:8"),
)
def test_a_new_poison_or_undefined_behaviour_is_named(after: str, why: str, command: Command, write: Any) -> None:
    files = [write("a.mlir", FIRST), write("b.mlir", after), "--input=i8=-128", "--input=i8=9"]
    for name in ("diff", "bisect"):
        code, out, _ = command(name, *files)
        assert code == 1
        assert why in out


def test_the_origin_of_poison_in_an_element_of_a_batch_has_no_number_of_a_lane(command: Command, write: Any) -> None:
    files = [write("a.mlir", SHIFTED), write("b.mlir", FIRST.replace("%x :", "%y :"))]
    _, out, _ = command("diff", *files)
    assert "(arith.shli at a.mlir:2:8) (63,488 elements)" in out
    assert "lane" not in out


# --- functions that a pass lowers to the llvm dialect -----------------------------------------------------------------

LOWERED = {
    "a number": (
        "func.func @f(%x: i32) -> i32 {\n  %r = arith.addi %x, %x : i32\n  return %r : i32\n}",
        "llvm.func @f(%x: i32) -> i32 {\n  %r = llvm.add %x, %x : i32\n  llvm.return %r : i32\n}",
    ),
    "two results": (
        "func.func @f(%x: i32, %y: f32) -> (f32, i32) {\n  return %y, %x : f32, i32\n}",
        "llvm.func @f(%x: i32, %y: f32) -> !llvm.struct<(f32, i32)> {\n"
        "  %u = llvm.mlir.poison : !llvm.struct<(f32, i32)>\n"
        "  %v = llvm.insertvalue %y, %u[0] : !llvm.struct<(f32, i32)>\n"
        "  %w = llvm.insertvalue %x, %v[1] : !llvm.struct<(f32, i32)>\n"
        "  llvm.return %w : !llvm.struct<(f32, i32)>\n}",
    ),
    "vectors": (
        "func.func @f(%x: vector<4xi8>) -> vector<4xi8> {\n  %r = arith.muli %x, %x : vector<4xi8>\n"
        "  return %r : vector<4xi8>\n}",
        "llvm.func @f(%x: vector<4xi8>) -> vector<4xi8> {\n  %r = llvm.mul %x, %x : vector<4xi8>\n"
        "  llvm.return %r : vector<4xi8>\n}",
    ),
    "a float of 8 bits and an index": (
        "func.func @f(%x: f8E4M3FN, %i: index) -> (f8E4M3FN) {\n  return %x : f8E4M3FN\n}",
        "llvm.func @f(%x: i8, %i: i64) -> i8 {\n  llvm.return %x : i8\n}",
    ),
    "memory": (
        "func.func @f(%m: memref<i32>, %x: i32) {\n  memref.store %x, %m[] : memref<i32>\n  return\n}",
        "llvm.func @f(%a: !llvm.ptr, %p: !llvm.ptr, %o: i64, %x: i32) {\n"
        "  llvm.store %x, %p : i32, !llvm.ptr\n  llvm.return\n}",
    ),
    "casts that are left": (
        "func.func @f(%i: index) -> index {\n  return %i : index\n}",
        "func.func @f(%i: index) -> index {\n  %0 = builtin.unrealized_conversion_cast %i : index to i64\n"
        "  %z = llvm.mlir.constant(0 : i64) : i64\n  %1 = llvm.add %0, %z : i64\n"
        "  %2 = builtin.unrealized_conversion_cast %1 : i64 to index\n  return %2 : index\n}",
    ),
}
WRONG = {
    "llvm.add %x, %x": "llvm.sub %x, %x",
    "llvm.mul": "llvm.add",
    "llvm.return %x : i8": "%c = llvm.mlir.constant(3 : i8) : i8\n  llvm.return %c : i8",
    "llvm.store %x, %p : i32, !llvm.ptr\n": "",
    "constant(0 : i64)": "constant(1 : i64)",
}


@pytest.mark.parametrize("name", thinned(LOWERED, 3))
def test_functions_of_the_llvm_dialect_are_compared(command: Command, write: Any, name: str) -> None:
    before, after = LOWERED[name]
    wrong = after
    for text, other in WRONG.items():
        wrong = wrong.replace(text, other)
    files = [write("a.mlir", before), write("b.mlir", after), write("c.mlir", wrong)]
    for comparing in ("diff", "bisect"):
        code, out, _ = command(comparing, *files[:2])
        assert code == 0
        assert "@f: not compared" not in out
        assert name == "casts that are left" or "mapped: to the llvm dialect" in out
        assert command(comparing, files[0], files[2])[0] == (1 if wrong != after else 0)


def test_every_input_of_a_lowered_function_runs_in_lanes(command: Command, write: Any) -> None:
    shifted = "func.func @f(%x: i8, %y: i8) -> i8 {\n  %r = arith.shli %x, %y : i8\n  return %r : i8\n}"
    lowered = "llvm.func @f(%x: i8, %y: i8) -> i8 {\n  %r = llvm.shl %x, %y : i8\n  llvm.return %r : i8\n}"
    _, out, _ = command("diff", write("a.mlir", shifted), write("b.mlir", lowered))
    assert out.startswith("@f: proven (every input), 65,536 inputs; elements: 2,048 equal, 63,488 open\n")


@pytest.mark.mlir
def test_a_pipeline_that_ends_in_the_llvm_dialect(command: Command, write: Any) -> None:
    file = write("f.mlir", LOWERED["memory"][0])
    for end in ("", "{use-bare-ptr-memref-call-conv}"):
        passes = f"--pass-pipeline=builtin.module(finalize-memref-to-llvm,convert-func-to-llvm{end})"
        code, out, _ = command("diff", file, passes)
        assert code == 0
        assert "\n@f: tested (1,000 inputs); elements: 1,000 equal\n" in out


# --- passes that make an invalid op -----------------------------------------------------------------------------------

CAST = """func.func @f(%t: tensor<1x?x?xi8>, %d: tensor<1x?x1x?xi8>) -> tensor<1x?x1x?xi8> {
  %2 = arith.constant 2 : index
  %r = tensor.insert_slice %t into %d[0, 0, 0, 0] [1, %2, 1, %2] [1, 1, 1, 1]
    : tensor<1x?x?xi8> into tensor<1x?x1x?xi8>
  return %r : tensor<1x?x1x?xi8>
}
"""
MADE = "the pass canonicalize made an invalid op: 'tensor.cast' op operand type"


@pytest.mark.parametrize(
    ("passes", "version"),
    [
        pytest.param("canonicalize", 22, marks=pytest.mark.mlir),
        pytest.param("func.func(cse,canonicalize),cse", 22, marks=pytest.mark.mlir),
        pytest.param("cse,canonicalize", 24, marks=pytest.mark.torch_mlir),
    ],
)
def test_a_pass_that_makes_an_invalid_op_is_named(command: Command, write: Any, passes: str, version: int) -> None:
    options = [write("f.mlir", CAST), f"--pass-pipeline=builtin.module({passes})", f"--mlir={version}"]
    code, out, err = command("diff", *options)
    assert code == 1
    assert out == ""
    assert f"{MADE} 'tensor<1x?x?xi8>'" in err
    assert err.splitlines()[1] == "f.mlir:3:8: note: the pass put it in place of this op"
    code, out, _ = command("bisect", *options)
    assert code == 1
    assert MADE in out.splitlines()[-1]
    assert "no difference" not in out
    code, out, err = command("diff", *options, "--json")
    record = json.loads(out)
    assert (code, record["function"], record["basis"]) == (1, None, "failed")
    assert record["problem"].splitlines()[0] in err
    record = json.loads(command("bisect", *options, "--json")[1])
    assert record["stages"][record["guilty"]]["verdict"] == "INVALID"
    assert record["stages"][record["guilty"]]["argument"] == "canonicalize"
    code, out, _ = command("reduce", *options)
    assert code == 0
    assert MADE in out


INVALID = """case "$*" in
  *--mlir-print-ir-after-all*) printf '%s\\n%s\\n' '// -----// IR Dump After My Pass Failed (my-pass) //----- //' 'func.func' >&2;;
esac
case "$(cat)" in *func.func*) echo "<stdin>:3:3: error: 'x.y' op is wrong" >&2; exit 1;; *) echo "module {}";; esac"""


def test_fuzz_finds_a_pass_that_makes_an_invalid_op(fake_opt: FakeOpt, command: Command) -> None:
    opt = fake_opt(INVALID)
    for options in (["--pass-pipeline=builtin.module(my-pass)"], ["--pass=my-pass", "--from=mixed"]):
        code, out, _ = command("fuzz", *options, "-n", "3", "--seed=4", "--no-reduce", opt)
        assert code == 1
        assert "the pass my-pass made an invalid op: 'x.y' op is wrong" in out
        assert "3 differ" in out
        assert "refused" not in out
        assert "crashed" not in out
    # Of a program that is undefined on its inputs, a pass may make anything.
    _, out, _ = command("fuzz", "--pass=my-pass", "--from=mixed", "-n", "3", "--seed=6", "--no-reduce", opt)
    assert "1 different, 2 undefined" in out
    code, _, err = command("diff", "f.mlir", "--pass-pipeline=builtin.module(my-pass)", opt)
    assert code == 1
    assert "the pass my-pass made an invalid op" in err


def test_what_a_pass_refuses_is_no_invalid_op(fake_opt: FakeOpt, command: Command) -> None:
    opt = fake_opt(INVALID.replace("*func.func*)", "*@*)"))  # mlir-opt reads the dump of the pass that failed
    code, _, err = command("diff", "f.mlir", "--pass-pipeline=builtin.module(my-pass)", opt)
    assert code == 2
    assert "error: my-opt 99.1.0git: 'x.y' op is wrong" in err
    code, out, _ = command("bisect", "f.mlir", "--pass-pipeline=builtin.module(my-pass)", opt)
    assert code == 2
    assert "stopped early: " in out


OWN = """func.func @f(%x: f32) -> f32 {
  %0 = arith.mulf %x, %x : f32
  %1 = halfulp.reduce_precision %0 {exponent_bits = 5 : i64, mantissa_bits = 10 : i64} : f32
  return %1 : f32
}
"""


def test_passes_carry_ops_of_halfulp(fake_opt: FakeOpt, command: Command, write: Any) -> None:
    options = [write("f.mlir", OWN), PASSES, "-n", "40"]
    for body, code, said in (
        ("cat", 0, "40 equal"),
        ("sed 's/mantissa_bits = 10/mantissa_bits = 9/'", 1, "differs for"),
        # What mlir-opt says of an op has the place of the op in the file.
        (
            "grep -o 'loc(\"<stdin>\":3:8)' | head -1 | sed 's/loc(\"//; s/\"//; s/)/: error: no/' >&2; exit 1",
            2,
            "f.mlir:3:8: error: my-opt 99.1.0git: no",
        ),
    ):
        got, out, err = command("diff", *options, fake_opt(body))
        assert (got, said in out + err) == (code, True), out + err


@pytest.mark.mlir
def test_real_passes_carry_ops_of_halfulp(command: Command, write: Any) -> None:
    file = write("f.mlir", OWN)
    code, out, err = command("bisect", file, "--pass-pipeline=builtin.module(cse,convert-to-llvm)")
    assert (code, err) == (0, "")
    assert out.endswith("no difference in 2 stages\n")
    lower = write("invalid.mlir", OWN + CAST.replace("@f", "@g"))
    code, _, err = command("diff", lower, "--pass-pipeline=builtin.module(canonicalize)")
    assert code == 1
    assert "invalid.mlir:8:8: note: the pass put it in place of this op" in err


# --- the table of docs/differential-testing.md: what each command says, and its exit code -----------------------------

NANS = """func.func @f() -> f16 {
  %x = arith.constant 0x7E01 : f16
  %y = arith.constant 0x7E02 : f16
  %r = arith.addf %x, %y : f16
  return %r : f16
}
"""
FUSED = """func.func @f(%x: f32, %y: f32) -> f32 {
  %p = arith.mulf %x, %y fastmath<contract> : f32
  %r = arith.addf %p, %y fastmath<contract> : f32
  return %r : f32
}
"""
UNKNOWN = 'func.func @f(%x: i8, %y: i8) -> i8 {\n  %r = "x.y"(%x) : (i8) -> i8\n  return %r : i8\n}\n'
FILES = {
    "nothing.mlir": NOTHING,
    "nothing-2.mlir": f"// changed\n{NOTHING}",
    "poison.mlir": SHIFTED.replace("%x, %y", "%x, %c").replace("  %r", "  %c = arith.constant 9 : i8\n  %r", 1),
    "undefined.mlir": DIVIDED,
    "undefined-2.mlir": REMAINDER,
    "first.mlir": FIRST,
    "open.mlir": NANS,
    "open-2.mlir": NANS.replace("%x, %y :", "%y, %x :"),
    "permitted.mlir": FUSED,
    "permitted-2.mlir": FUSED.replace("arith.addf %p, %y fastmath<contract>", "math.fma %x, %y, %y fastmath<contract>"),
    "wrong.mlir": FUSED.replace("addf", "subf"),
    "unknown.mlir": UNKNOWN,
    "undefined.txt": "05 00 07\n06 00 08\n",
    "poison.txt": "05 09 07\n06 0A 08\n",
    "open.txt": "7C00 FC00 7E01\n",
    "f.mlir": FIRST,
}
PASSES = "--pass-pipeline=builtin.module(cse)"
CRASH = 'case "$(cat)" in *func.func*) kill -SEGV $$;; *) echo "module {}";; esac'
REFUSE = 'case "$(cat)" in *func.func*) echo "<stdin>:1:1: error: no" >&2; exit 1;; *) echo "module {}";; esac'
IN_PASS = f"""case "$*" in
  *print-ir-before-all*) echo "// -----// IR Dump Before CSE (cse) //----- //" >&2; {CRASH};;
  *--pass-pipeline*) {CRASH};;
  *) cat;;
esac"""
CLAIM = ["fuzz", "--pass=cse", "--from=mixed", "-n", "3", "--no-reduce"]
FUZZ = ["fuzz", PASSES, "-n", "3", "--no-reduce"]
ONE = ["fuzz", PASSES, "-n", "1", "--no-reduce"]
"""The same for one program, which is that of the cell."""
VERIFY = ["verify", "arith.divui", "--type", "i2", "--against"]

PERMITTED = "permitted: a product and a sum became a fused multiply-add (fastmath<contract>)"
TABLE: list[tuple[str, list[str], str, int, str]] = [
    # what, the command, the body of an mlir-opt, the exit code, words
    ("nothing", ["diff", "nothing.mlir", "nothing-2.mlir"], "", 3, "nothing was compared (65,536 inputs)"),
    ("nothing", ["bisect", "nothing.mlir", "nothing-2.mlir"], "", 3, "refined: nothing was compared"),
    ("nothing", FUZZ, "cat", 3, "unchanged 3, changed 0: 0"),
    ("nothing", ONE, "cat nothing-2.mlir", 3, "changed 1: 1 not compared"),
    ("nothing", [*VERIFY, "command=./none"], "", 3, "0 compared"),
    (
        "poison",
        ["diff", "poison.mlir", "first.mlir"],
        "",
        0,
        "65,536 open\n  poison before, so that any value is allowed",
    ),
    ("poison", ["bisect", "poison.mlir", "first.mlir"], "", 0, "refined; poison before: shift amount"),
    ("poison", ONE, "cat first.mlir", 0, "changed 1: 1 open in every result"),
    ("poison", ["verify", "arith.shli", "--type", "i2", "--against", "exact"], "", 0, "8 open by the language"),
    (
        "poison",
        ["vectors", "check", "poison.txt", "--op=arith.shli", "--type=i8"],
        "",
        2,
        "no row has a value: all are poison",
    ),
    ("undefined", ["diff", "undefined.mlir", "undefined-2.mlir"], "", 3, "undefined before, so that anything"),
    ("undefined", ["bisect", "undefined.mlir", "undefined-2.mlir"], "", 3, "nothing was compared; undefined before"),
    ("undefined", ONE, "cat undefined-2.mlir", 3, "changed 1: 1 undefined on every input"),
    ("undefined", ["diff", "undefined.mlir", "--against=exact"], "", 3, "undefined here, so that anything is allowed"),
    ("undefined", [*VERIFY, "exact"], "", 0, "4 open by the language"),
    (
        "undefined",
        ["vectors", "check", "undefined.txt", "--op=arith.divui", "--type=i8"],
        "",
        2,
        "nothing was compared",
    ),
    ("open", ["diff", "open.mlir", "open-2.mlir"], "", 0, "elements: 1 open"),
    ("open", ["bisect", "open.mlir", "open-2.mlir"], "", 0, "refined"),
    ("open", ONE, "cat open-2.mlir", 0, "changed 1: 1 open in every result"),
    ("open", ["verify", "arith.addf", "--type", "f8E5M2", "--against", "ml_dtypes"], "", 0, "open by the language"),
    (
        "open",
        ["vectors", "check", "open.txt", "--op=arith.addf", "--type=f16", "--nan=any", "--no-flags"],
        "",
        0,
        "none differs",
    ),
    ("permitted", ["diff", "permitted.mlir", "permitted-2.mlir"], "", 0, PERMITTED),
    ("permitted", ["diff", "permitted.mlir", "permitted-2.mlir", "--fp-contract=off"], "", 0, PERMITTED),
    ("permitted", ["bisect", "permitted.mlir", "permitted-2.mlir"], "", 0, PERMITTED),
    ("permitted", ["bisect", "permitted.mlir", "permitted-2.mlir", "--fp-contract=off"], "", 0, PERMITTED),
    ("permitted", ONE, "cat permitted-2.mlir", 0, "changed 1: 1 permitted by flags"),
    (
        "permitted",
        ["verify", "arith.addf", "--type=f4E2M1FN", "--attr=fastmath=reassoc", "--against=command=./zero"],
        "",
        0,
        "239 open by fast-math flags, different",
    ),
    ("wrong, with flags", ["diff", "permitted.mlir", "wrong.mlir"], "", 1, NO_RULE),
    ("wrong, with flags", ["bisect", "permitted.mlir", "wrong.mlir"], "", 1, NO_RULE),
    ("permitted", ONE, "cat wrong.mlir", 1, "changed 1: 1 differing"),
    ("refused", ["diff", "first.mlir", "unknown.mlir"], "", 3, "nothing was compared"),
    ("refused", ["bisect", "first.mlir", "unknown.mlir"], "", 3, "nothing was compared; 1 stage did not run"),
    ("refused", ["diff", "f.mlir", PASSES], REFUSE, 2, "my-opt 99.1.0git: no"),
    ("refused", ["bisect", "f.mlir", PASSES], REFUSE, 2, "my-opt 99.1.0git: no"),
    ("refused", FUZZ, REFUSE, 3, "3 refused"),
    ("refused", [*VERIFY, "command=./none"], "", 3, "16 unanswered"),
    ("crashed in a pass", ["diff", "f.mlir", PASSES], IN_PASS, 1, "crashed (signal 11), in the pass cse"),
    (
        "crashed in a pass",
        ["bisect", "f.mlir", PASSES],
        IN_PASS,
        1,
        "CRASHED: my-opt 99.1.0git crashed (signal 11), in",
    ),
    ("crashed in a pass", FUZZ, IN_PASS, 1, "crashed (signal 11), in the pass cse"),
    ("crashed in a pass", CLAIM, IN_PASS, 1, "crashed (signal 11), in the pass cse"),
    ("crashed", ["diff", "f.mlir", PASSES], CRASH, 2, "crashed"),
    ("crashed", ["bisect", "f.mlir", PASSES], CRASH, 2, "crashed"),
    ("crashed", FUZZ, CRASH, 2, "3 broken"),
    ("crashed", CLAIM, CRASH, 2, "3 crashed"),
    ("crashed", [*VERIFY, "command=false"], "", 2, "failed"),
]


@pytest.mark.parametrize(("what", "arguments", "tool", "code", "words"), thinned(TABLE, 3, rows=True))
def test_the_table_of_verdicts(
    fake_opt: FakeOpt,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
    arguments: list[str],
    tool: str,
    code: int,
    words: str,
) -> None:
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    for name, answer in (("none", "-"), ("zero", "0")):
        Path(name).write_text(f'#!/bin/sh\ngrep -v "^#" | sed 1d | sed "s/.*/{answer}/"\n', encoding="utf-8")
        Path(name).chmod(0o755)
    if arguments is ONE:
        one = RandomFunction(1, 0, hu.load(f"{what}.mlir"))
        kind = ProgramKind(lambda seed, count, first: iter([one]), inputs=40, memory_inputs=4, max_steps=100)
        monkeypatch.setattr("halfulp.command.fuzz.fuzz_passes", partial(fuzz_passes, kind=kind))
    got, out, err = command(*arguments, *([fake_opt(tool)] if tool else []))
    assert (got, words in out + err) == (code, True), out + err
    if got > 1:
        assert re.search(r"\bidentical\b|[1-9] equal|no difference|none differs", out + err) is None, out + err
    elif what in ("poison", "open") and arguments[0] != "verify":
        assert re.search(r"\bidentical\b|\bequal\b", out) is None, out


# --- fused multiply-adds ----------------------------------------------------------------------------------------------

CONTRACT = """#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
func.func @f(%x: vector<1x2xf32>, %y: vector<2x2xf32>, %z: vector<1x2xf32>) -> vector<1x2xf32> {
  %r = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} %x, %y, %z
    : vector<1x2xf32>, vector<2x2xf32> into vector<1x2xf32>
  return %r : vector<1x2xf32>
}
"""
OUTER = """func.func @f(%x: vector<1x2xf32>, %y: vector<2x2xf32>, %z: vector<1x2xf32>) -> vector<1x2xf32> {
  %t = vector.transpose %x, [1, 0] : vector<1x2xf32> to vector<2x1xf32>
  %a0 = vector.extract %t[0] : vector<1xf32> from vector<2x1xf32>
  %b0 = vector.extract %y[0] : vector<2xf32> from vector<2x2xf32>
  %r0 = vector.outerproduct %a0, %b0, %z : vector<1xf32>, vector<2xf32>
  %a1 = vector.extract %t[1] : vector<1xf32> from vector<2x1xf32>
  %b1 = vector.extract %y[1] : vector<2xf32> from vector<2x2xf32>
  %r1 = vector.outerproduct %a1, %b1, %r0 : vector<1xf32>, vector<2xf32>
  return %r1 : vector<1x2xf32>
}
"""


@pytest.mark.long
@pytest.mark.parametrize("after", thinned([OUTER, OUTER.replace("%y[1]", "%y[0]")], 2))
@pytest.mark.parametrize("mode", thinned(["on", "off", "fast"], 3))
def test_diff_and_bisect_permit_the_same_fused_multiply_adds(
    command: Command, write: Any, after: str, mode: str
) -> None:
    files = [write("a.mlir", CONTRACT), write("b.mlir", after), f"--fp-contract={mode}"]
    allowed = after == OUTER and mode == "fast"
    fused = "a product and a sum became a fused multiply-add (nothing allows it)"
    for name in ("diff", "bisect"):
        code, out, _ = command(name, *files, "-n", "40")
        assert code == (0 if allowed else 1)
        assert ("a product and a sum became a fused multiply-add (--fp-contract=fast)" in out) == allowed
        assert (fused in out) == (after == OUTER and not allowed)
    record = json.loads(command("diff", *files, "-n", "40", "--json")[1])
    assert record["basis"] == ("permitted differences" if allowed else "differs")


# --- what only bisect permits -----------------------------------------------------------------------------------------

SUMMED = """#a = affine_map<(i) -> (i)>
#b = affine_map<(i) -> ()>
func.func @f(%x: tensor<2xf32>, %z: tensor<f32>) -> tensor<f32> {
  %r = linalg.generic {indexing_maps = [#a, #b], iterator_types = ["reduction"]}
    ins(%x : tensor<2xf32>) outs(%z : tensor<f32>) {
  ^body(%e: f32, %o: f32):
    %s = arith.addf %o, %e FLAGS : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}
"""
ADDED_LAST = """func.func @f(%x: tensor<2xf32>, %z: tensor<f32>) -> tensor<f32> {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %a = tensor.extract %x[%0] : tensor<2xf32>
  %b = tensor.extract %x[%1] : tensor<2xf32>
  %o = tensor.extract %z[] : tensor<f32>
  %s = arith.addf %a, %b : f32
  %t = arith.addf %o, %s : f32
  %r = tensor.from_elements %t : tensor<f32>
  return %r : tensor<f32>
}
"""
TANGENT = "func.func @f(%x: f32) -> f32 {\n  %r = math.tan %x : f32\n  return %r : f32\n}\n"
QUOTIENT = """func.func @f(%x: f32) -> f32 {
  %s = math.sin %x : f32
  %c = math.cos %x : f32
  %r = arith.divf %s, %c : f32
  return %r : f32
}
"""
ORDER = ["--input=2xf32=5e-8", "--input=f32=1"]


@each_row(
    (SUMMED.replace("FLAGS", ""), ADDED_LAST, ORDER, 1, "in another order (the order of linalg.generic)"),
    (SUMMED.replace("FLAGS", "fastmath<reassoc>"), ADDED_LAST, ORDER, 0, "in another order (fastmath<reassoc>)"),
    (TANGENT, QUOTIENT, ["--input=f32=0.75"], 1, "math.tan became a formula"),
)
def test_diff_permits_only_what_flags_permit(
    before: str, after: str, inputs: list[str], code: int, ground: str, command: Command, write: Any
) -> None:
    files = [write("a.mlir", before), write("b.mlir", after), *inputs]
    got, out, _ = command("diff", *files)
    assert got == code
    assert ("differs for" in out) == bool(code)
    assert "permitted" not in out or not code
    got, out, _ = command("bisect", *files)
    assert got == 0
    assert ground in out
