"""Stages of a compilation: the judgement of each, the guilty one, and those that do not run."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from named_programs import ADD, SWAPPED, WRONG, dump, in_module
from present import present

from halfulp.conformance.oracles.jit import installed_runner
from halfulp.conformance.oracles.oracle import Answer, ClosedProgram, OracleError, Reply, Runner, Unanswered
from halfulp.conformance.whole_programs.arguments import one_input
from halfulp.conformance.whole_programs.bisection.bisect import (
    Bisection,
    Judgement,
    bisect,
    bisection_lines,
    bisection_record,
    pass_alone,
    permission_judge,
    single_passes,
)
from halfulp.conformance.whole_programs.bisection.runs import (
    Compilation,
    Dump,
    Stage,
    StageRun,
    StageRunner,
    made_inputs,
    of_dumps,
    read_dumps,
    read_folder,
)
from halfulp.conformance.whole_programs.validation import Inputs
from halfulp.interp.ir.errors import HalfulpError, InputError, Unsupported
from halfulp.interp.ir.operations import Module, argument_types
from halfulp.interp.loading import parse_module
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value


def stage(number: int, text: str) -> Stage:
    module: Module | HalfulpError
    try:
        module = parse_module(text)
    except HalfulpError as error:
        module = error
    return Stage(f"Pass{number}", f"pass-{number}", text, module)


def bisected(*texts: str, count: int = 8, max_steps: int = 10_000) -> Bisection:
    stages = tuple(stage(number, text) for number, text in enumerate(texts))
    first = stages[0].module
    assert isinstance(first, Module)
    function = present(first.lookup("f"))
    inputs = Inputs(count, samples=True).of(function)
    return bisect(Compilation(stages), StageRunner(function, inputs, Settings(max_steps=max_steps)), [permission_judge])


def judgements(found: Bisection) -> list[str]:
    return [one.judgement.value for one in found.results]


def test_equal_results() -> None:
    found = bisected(ADD, in_module(ADD), in_module(ADD), SWAPPED)
    assert judgements(found) == ["first", "identical", "unchanged", "identical"]
    assert found.guilty is None
    assert list(bisection_lines(found))[-1] == "no difference in 3 stages"


def test_the_first_stage_that_differs_is_guilty() -> None:
    found = bisected(ADD, SWAPPED, WRONG, in_module(WRONG), ADD)
    assert judgements(found) == ["first", "identical", "DIFFERENT", "identical", "DIFFERENT"]
    assert found.guilty == 2
    assert list(bisection_lines(found))[-1].startswith("first difference: after Pass2 (pass-2), result[0]: 0x")


def test_a_stage_that_cannot_run_is_passed_over_and_named() -> None:
    found = bisected(ADD, ADD, "func.func @f(", in_module('"x.y"() : () -> ()'), WRONG, WRONG)
    assert judgements(found) == ["first", "unchanged", "not run", "not run", "DIFFERENT", "unchanged"]
    assert [str(one.stage) for one in found.suspects(4)] == ["Pass2 (pass-2)", "Pass3 (pass-3)", "Pass4 (pass-4)"]
    *_, last = bisection_lines(found)
    assert last == "  or after a pass before it that did not run here: Pass2 (pass-2), Pass3 (pass-3)"
    assert found.results[2].ground
    assert found.results[3].ground == "the stage has no function @f with a body"


def test_nothing_is_compared_where_nothing_runs() -> None:
    found = bisected(ADD, "func.func @f(")
    assert found.compared == 0
    assert list(bisection_lines(found))[-1] == "nothing was compared; 1 stage did not run"


def test_poison_may_become_any_value() -> None:
    flagged = ADD.replace("%arg1 : i8", "%arg1 overflow<nuw> : i8")
    found = bisected(flagged, ADD, count=64)
    assert judgements(found) == ["first", "refined"]
    found = bisected(ADD, flagged, count=64)
    assert judgements(found) == ["first", "DIFFERENT"]
    assert "became poison" in list(bisection_lines(found))[-1]


def test_undefined_behaviour_may_become_anything_but_not_the_other_way() -> None:
    divided = ADD.replace("addi", "divui")
    assert judgements(bisected(ADD, divided))[1] == "DIFFERENT"
    always = ADD.replace("  %0", "  %c0 = arith.constant 0 : i8\n  %0").replace("addi %arg0, %arg1", "divui %arg0, %c0")
    assert judgements(bisected(always, ADD)) == ["first", "refined"]
    found = bisected(ADD, always)
    assert judgements(found) == ["first", "DIFFERENT"]
    assert "became undefined: arith.divui: undefined behaviour" in list(bisection_lines(found))[-1]


ON_TENSORS = """
func.func @f(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = arith.negf %x : tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
"""
ON_MEMORY = """
func.func @f(%x: memref<2x2xf32>, %r: memref<2x2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c0 to %c2 step %c1 {
      %0 = memref.load %x[%i, %j] : memref<2x2xf32>
      %1 = arith.negf %0 : f32
      memref.store %1, %r[%i, %j] : memref<2x2xf32>
    }
  }
  return
}
"""


def test_tensors_that_became_memory_and_results_that_became_arguments() -> None:
    found = bisected(ON_TENSORS, ON_MEMORY, ON_MEMORY.replace("%r[%i, %j]", "%r[%j, %i]"))
    assert judgements(found) == ["first", "identical", "DIFFERENT"]
    assert "result 0: an argument of the second version" in found.results[1].notes[0]
    *_, last = bisection_lines(found)
    assert last.startswith("first difference: after Pass2 (pass-2), result[0] [0, 1]: 0x")


def test_the_sign_of_a_zero_is_a_difference() -> None:
    text = "func.func @f() -> f32 {{\n  %0 = arith.constant {} : f32\n  return %0 : f32\n}}\n"
    found = bisected(text.format("0.0"), text.format("-0.0"))
    assert list(bisection_lines(found))[-1].endswith("result[0]: 0x00000000 (0) became 0x80000000 (-0)")


@pytest.mark.long
def test_flags_permit_differences() -> None:
    sums = """func.func @f(%a: f32, %b: f32, %c: f32) -> f32 {
      %0 = arith.addf %a, %b {0} : f32
      %1 = arith.addf %0, %c {0} : f32
      return %1 : f32
    }"""
    other = sums.replace("%a, %b {", "%b, %c {").replace("%0, %c", "%0, %a")
    found = bisected(sums.replace("{0}", "fastmath<reassoc>"), other.replace("{0}", ""), count=200)
    assert judgements(found) == ["first", "permitted"]
    assert judgements(bisected(sums.replace("{0}", ""), other.replace("{0}", ""), count=200)) == ["first", "DIFFERENT"]


def test_a_run_that_takes_a_little_longer_is_no_difference() -> None:
    """400 additions are more than 1% of the limit, so nobody knows whether what follows is endless."""
    adds = "".join(f"  %{k} = arith.addi %{k - 1}, %arg1 : i8\n" for k in range(1, 401))
    long = ADD.replace("  return %0", f"{adds}  return %400")
    assert judgements(bisected(long, ENDLESS)) == ["first", "not run"]


PRINTS = """func.func @f(%x: vector<2x1xi8>, %y: index) {
  vector.print %x : vector<2x1xi8>
  vector.print %y : index
  vector.print str "ready\\0A"
  return
}"""
# As convert-vector-to-scf, convert-vector-to-llvm and convert-func-to-llvm leave it; the elements one after the other.
LOWERED = """llvm.func @printString(!llvm.ptr)
llvm.func @printU64(i64)
llvm.func @printI64(i64)
llvm.func @printOpen()
llvm.func @printClose()
llvm.func @printComma()
llvm.func @printNewline()
llvm.mlir.global private constant @s("ready\\0A\\00") : !llvm.array<7 x i8>
llvm.func @f(%x: !llvm.array<2 x vector<1xi8>>, %y: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %a = llvm.extractvalue %x[0] : !llvm.array<2 x vector<1xi8>>
  %b = llvm.extractvalue %x[1] : !llvm.array<2 x vector<1xi8>>
  %c = llvm.extractelement %a[%zero : i64] : vector<1xi8>
  %d = llvm.extractelement %b[%zero : i64] : vector<1xi8>
  %first = llvm.sext %c : i8 to i64
  %second = llvm.sext %d : i8 to i64
  llvm.call @printOpen() : () -> ()
  llvm.call @printOpen() : () -> ()
  llvm.call @printI64(%first) : (i64) -> ()
  llvm.call @printClose() : () -> ()
  llvm.call @printComma() : () -> ()
  llvm.call @printOpen() : () -> ()
  llvm.call @printI64(%second) : (i64) -> ()
  llvm.call @printClose() : () -> ()
  llvm.call @printClose() : () -> ()
  llvm.call @printNewline() : () -> ()
  llvm.call @printU64(%y) : (i64) -> ()
  llvm.call @printNewline() : () -> ()
  %s = llvm.mlir.addressof @s : !llvm.ptr
  llvm.call @printString(%s) : (!llvm.ptr) -> ()
  llvm.return
}"""


@pytest.mark.long
def test_what_lowered_programs_print_is_compared() -> None:
    assert judgements(bisected(PRINTS, LOWERED)) == ["first", "identical"]
    for right, wrong in (
        ("@printI64(%second)", "@printI64(%first)"),
        ("llvm.sext %d", "llvm.zext %d"),
        ("@printU64(%y)", "@printI64(%y)"),
        ("ready", "Ready"),
        ("  llvm.call @printComma() : () -> ()\n", ""),
    ):
        assert right in LOWERED
        found = bisected(PRINTS, LOWERED, LOWERED.replace(right, wrong))
        assert judgements(found) == ["first", "identical", "DIFFERENT"], right
        told = "printed element 1: " if "second" in right or "sext" in right else "the printed text "
        assert told in list(bisection_lines(found))[-1]


def test_bytes_that_are_printed_as_characters_are_compared() -> None:
    text = """func.func private @printMemrefI8(memref<*xi8>)
func.func @f() {
  %c0 = arith.constant 0 : index
  %x = arith.constant 49 : i8
  %p = ub.poison : i8
  %m = memref.alloc() : memref<2xi8>
  %c1 = arith.constant 1 : index
  memref.store %x, %m[%c0] : memref<2xi8>
  memref.store %p, %m[%c1] : memref<2xi8>
  %u = memref.cast %m : memref<2xi8> to memref<*xi8>
  call @printMemrefI8(%u) : (memref<*xi8>) -> ()
  return
}"""
    fixed = text.replace("ub.poison", "arith.constant 65")
    assert judgements(bisected(text, fixed, fixed.replace("49", "50"))) == ["first", "refined", "DIFFERENT"]


def test_the_part_of_a_long_text_that_differs_is_shown() -> None:
    text = PRINTS.replace("ready", "0123456789" * 10 + "ready")
    (*_, last) = bisection_lines(bisected(text, text.replace("ready", "Ready")))
    assert last.endswith("9ready\\n' became ... '01234567890123456789Ready\\n'")
    assert " the printed text ... '01" in last


def test_complex_numbers_are_compared_by_their_parts() -> None:
    text = """func.func private @printMemref1dC32(memref<1xcomplex<f32>>)
func.func @f() {
  %x = complex.constant [1.0 : f32, 2.0 : f32] : complex<f32>
  %c0 = arith.constant 0 : index
  %m = memref.alloc() : memref<1xcomplex<f32>>
  memref.store %x, %m[%c0] : memref<1xcomplex<f32>>
  func.call @printMemref1dC32(%m) : (memref<1xcomplex<f32>>) -> ()
  return
}"""
    moved = text.replace("  %c0 = arith.constant 0 : index\n", "").replace(
        "  %x =", "  %c0 = arith.constant 0 : index\n  %x ="
    )
    found = bisected(text, moved, text.replace("2.0", "2.5"))
    assert judgements(found) == ["first", "identical", "DIFFERENT"]


def test_a_call_of_a_pointer_may_print() -> None:
    call = "%p = llvm.mlir.addressof @printNewline : !llvm.ptr\n  llvm.call %p() : !llvm.ptr, () -> ()"
    text = f"llvm.func @printNewline()\nllvm.func @f() {{\n  {call}\n  llvm.return\n}}"
    assert judgements(bisected(text, text.replace(f"{call}", ""))) == ["first", "DIFFERENT"]


@pytest.mark.parametrize(
    ("type_", "lowered"),
    [
        ("vector<2x3xf32>", "!llvm.array<2 x vector<3xf32>>"),
        ("vector<2x1x2xindex>", "!llvm.array<2 x array<1 x vector<2xi64>>>"),
        *(("vector<f64>", "vector<1xf64>"), ("vector<3xbf16>", "vector<3xbf16>"), ("index", "i64")),
    ],
)
def test_vectors_become_arrays(type_: str, lowered: str) -> None:
    """Before and after convert-func-to-llvm, and with a cast between them."""
    plain = f"func.func @f(%x: {type_}) -> {type_} {{\n  return %x : {type_}\n}}"
    there = f"%0 = builtin.unrealized_conversion_cast %x : {type_} to {lowered}"
    back = f"%1 = builtin.unrealized_conversion_cast %2 : {lowered} to {type_}"
    zero = f"%z = llvm.mlir.zero : {lowered}\n  %c = llvm.mlir.constant(true) : i1"
    middle = f"%2 = llvm.select %c, %0, %z : i1, {lowered}"
    cast = (
        f"func.func @f(%x: {type_}) -> {type_} {{\n  {there}\n  {zero}\n  {middle}\n  {back}\n  return %1 : {type_}\n}}"
    )
    whole = f"llvm.func @f(%x: {lowered}) -> {lowered} {{\n  llvm.return %x : {lowered}\n}}"
    assert judgements(bisected(plain, cast, whole)) == ["first", "identical", "identical"]


@pytest.mark.parametrize("element", ["f32", "i1", "f8E4M3FN"])
def test_a_memref_without_dimensions_is_returned(element: str) -> None:
    stored = {"f8E4M3FN": "i8"}.get(element, element)
    struct = "!llvm.struct<(ptr, ptr, i64)>"
    lowered = f"llvm.func @f(%0: !llvm.ptr, %1: !llvm.ptr, %2: i64) -> {struct} {{\n"
    for place, part in enumerate(("%0", "%1", "%2")):
        before = "%u" if not place else f"%s{place - 1}"
        lowered += "  %u = llvm.mlir.poison : " + struct + "\n" if not place else ""
        lowered += f"  %s{place} = llvm.insertvalue {part}, {before}[{place}] : {struct}\n"
    lowered += f"  %x = llvm.load %1 : !llvm.ptr -> {stored}\n  llvm.store %x, %1 : {stored}, !llvm.ptr\n"
    lowered += f"  llvm.return %s2 : {struct}\n}}"
    plain = f"func.func @f(%x: memref<{element}>) -> memref<{element}> {{\n  return %x : memref<{element}>\n}}"
    assert judgements(bisected(plain, lowered)) == ["first", "identical"]


def test_a_function_without_arguments_runs_once() -> None:
    module = parse_module("func.func @f() {\n  return\n}")
    function = present(module.lookup("f"))
    assert made_inputs(function, Inputs(8)).count == 1


def test_the_data_of_a_difference() -> None:
    record = bisection_record(bisected(ADD, WRONG))
    assert record["guilty"] == 1
    assert record["stages"][1]["verdict"] == "DIFFERENT"
    assert record["stages"][1]["counterexamples"][0]["output"] == "result 0"
    assert record["stages"][1]["differing"] <= record["stages"][1]["inputs"] == 8


def test_an_interrupt_leaves_what_was_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    original = StageRunner.run
    calls = []

    def run(self: StageRunner, module: Module, before: StageRun | None = None) -> object:
        calls.append(module)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(self, module, before)

    monkeypatch.setattr(StageRunner, "run", run)
    found = bisected(ADD, SWAPPED, WRONG, ADD)
    assert judgements(found) == ["first", "identical"]
    assert found.end == "interrupted"


PIPELINE = "builtin.module(cse, func.func(a{x=1,y={z(1),2}},b), inline , func.func(a{x=2}))"


def test_the_passes_of_a_pipeline() -> None:
    assert list(single_passes(PIPELINE)) == [
        ("cse", "builtin.module(cse)"),
        ("a", "builtin.module(func.func(a{x=1,y={z(1),2}}))"),
        ("b", "builtin.module(func.func(b))"),
        ("inline", "builtin.module(inline)"),
        ("a", "builtin.module(func.func(a{x=2}))"),
    ]


def test_a_pass_alone_has_the_options_of_its_place() -> None:
    names = ["", "cse", "a", "b", "inline", "a", "c"]
    stages = [Stage(name, name, "", HalfulpError("unread"), "func.func" * (name == "c")) for name in names]
    alone = [pass_alone(stages, number, PIPELINE) for number in (1, 2, 5, 6)]
    assert alone == [
        "builtin.module(cse)",
        "builtin.module(func.func(a{x=1,y={z(1),2}}))",
        "builtin.module(func.func(a{x=2}))",
        "builtin.module(func.func(c))",
    ]


def test_judgements_have_words() -> None:
    words = {one.value for one in Judgement}
    assert words >= {"unchanged", "identical", "refined", "permitted", "DIFFERENT", "not run"}


ENDLESS = """func.func @f(%arg0: i8, %arg1: i8) -> i8 {
  cf.br ^again
^again:
  cf.br ^again
}
"""


def test_a_pass_that_makes_a_program_endless_is_guilty() -> None:
    found = bisected(ADD, ENDLESS, ENDLESS, in_module(ENDLESS), SWAPPED, count=4)
    assert judgements(found) == ["first", "DIFFERENT", "unchanged", "DIFFERENT", "identical"]
    assert found.guilty == 1
    *_, last = bisection_lines(found)
    assert last.startswith("first difference: after Pass1 (pass-1), ")
    assert ", i8=" in last
    assert "became undefined: it does not end: the program ran more than 10000 ops" in last


def test_a_program_that_is_endless_from_the_start_does_not_run() -> None:
    found = bisected(ENDLESS, ENDLESS, ENDLESS)
    assert judgements(found) == ["not run", "not run", "not run"]
    assert [one.seconds > 0 for one in found.results] == [True, False, False]


CHOICE = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]}} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {{
  ^bb0(%a: f32, %o: f32):
    %c = arith.constant true
    %d = arith.addf %a, %a : f32
    %s = {}
    linalg.yield %s : f32
  }} -> tensor<4xf32>
  return %r : tensor<4xf32>
}}"""
DOUBLED = "arith.select %c, %d, %a : f32"
FLAGS = "{fastmathFlags = #llvm.fastmath<nsz>} : i1, f32"
"""With flags, llvm.select does not run here."""
SAME_ELSEWHERE, OTHER_ELSEWHERE = f"llvm.select %c, %d, %a {FLAGS}", f"llvm.select %c, %a, %d {FLAGS}"


class MadeUp:
    """A tool that answers with what it is given."""

    name = "made-up"
    version = "1"

    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    def run(self, programs: Sequence[ClosedProgram]) -> list[Reply]:
        return [self.reply for _ in programs]


def elsewhere(tool: Runner | None, *selections: str) -> Bisection:
    """Bisect stages that choose one of a number and its double, with a tool for those that do not run here."""
    compilation = Compilation(tuple(stage(k, CHOICE.format(each)) for k, each in enumerate(selections)))
    module = compilation.stages[0].module
    assert isinstance(module, Module)
    function = present(module.lookup("main"))
    one = (Value.from_bits([0x3F800000, 0x40000000, 0, 0x80000000], "tensor<4xf32>"),)
    inputs = made_inputs(function, Inputs(1, 0, given=one_input(one, argument_types(function))))
    return bisect(compilation, StageRunner(function, inputs, Settings()), fallback=lambda: tool)


DOUBLES = [0x40000000, 0x40800000, 0, 0x80000000]


@pytest.mark.parametrize(
    ("reply", "words", "ground"),
    [
        (
            (Answer(np.array(DOUBLES, np.uint32)),),
            "identical",
            "by made-up, since halfulp does not run llvm.select with flags",
        ),
        (
            (Answer(np.array([*DOUBLES[:2], 1, DOUBLES[3]], np.uint32)),),
            "not run",
            "with flags for fast math; made-up gives other bits: result[0] [2]: 0x00000000 (0) became 0x00000001",
        ),
        (Unanswered("it is not there"), "not run", "with flags for fast math; made-up: it is not there"),
        (OracleError("crash", "signal 11"), "not run", "signal 11"),
    ],
)
def test_a_stage_that_does_not_run_here_runs_by_a_tool(reply: Reply, words: str, ground: str) -> None:
    found = elsewhere(MadeUp(reply), DOUBLED, SAME_ELSEWHERE, DOUBLED)
    assert judgements(found) == ["first", words, "identical"]
    assert ground in found.results[1].ground
    assert [one.against for one in found.results] == [None, 0 if words == "identical" else None, 0]


def test_a_tool_is_not_asked_for_another_signature() -> None:
    found = elsewhere(MadeUp(Unanswered("")), DOUBLED, SAME_ELSEWHERE)
    assert "made-up" in found.results[1].ground
    text = CHOICE.format(SAME_ELSEWHERE).replace("-> tensor<4xf32> {\n  %e", "-> tensor<?xf32> {\n  %e")
    text = text.replace(
        "  return %r : tensor<4xf32>",
        "  %q = tensor.cast %r : tensor<4xf32> to tensor<?xf32>\n  return %q : tensor<?xf32>",
    )
    module = parse_module(CHOICE.format(DOUBLED))
    function = present(module.lookup("main"))
    runner = StageRunner(function, made_inputs(function, Inputs(1, 0)), Settings())
    with pytest.raises(Unsupported, match="cannot run this stage: the signature of the function has changed"):
        runner.by(MadeUp(Unanswered("")), parse_module(text))


@pytest.mark.mlir
def test_a_stage_that_does_not_run_here_runs_by_mlir_runner() -> None:
    found = elsewhere(installed_runner(), DOUBLED, SAME_ELSEWHERE, OTHER_ELSEWHERE, DOUBLED)
    assert judgements(found) == ["first", "identical", "not run", "identical"]
    assert found.results[1].ground.startswith("by mlir-runner, since ")
    assert "mlir-runner gives other bits: result[0] [0]: 0x40000000 (2) became 0x3F800000" in found.results[2].ground
    assert [str(one.stage) for one in found.suspects(3)] == ["Pass2 (pass-2)", "Pass3 (pass-3)"]


# --- dumps ------------------------------------------------------------------------------------------------------------
#
# Dumps of passes: their headers and their texts, whole, cut and torn, in one text and in folders.

ALL = dump("Canonicalizer", "canonicalize", in_module(ADD)) + dump("CSE", "cse", in_module(SWAPPED))


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("After CSE (cse)", Dump("CSE", "cse", "", "")),
        ("After CSE (cse) ('func.func' operation: @f)", Dump("CSE", "cse", "func.func", "")),
        ("After CSE (cse) ('builtin.module' operation)", Dump("CSE", "cse", "builtin.module", "")),
        ("After CSE Failed (cse)", Dump("CSE", "cse", "", "", failed=True)),
        ("After CSE", Dump("CSE", "", "", "")),
        ("After mlir::CSEPass: cse", Dump("mlir::CSEPass", "cse", "", "")),
        ("After CanonicalizerPass: canonicalize{a=false    b=10}", Dump("CanonicalizerPass", "canonicalize", "", "")),
        (
            "After CanonicalizerPass Failed: canonicalize{a=false    b=10} ('builtin.module' operation)",
            Dump("CanonicalizerPass", "canonicalize", "builtin.module", "", failed=True),
        ),
        (
            "After mlir::iree_compiler::IREE::ABI::WrapEntryPointsPass (iree-abi-wrap-entry-points)",
            Dump("mlir::iree_compiler::IREE::ABI::WrapEntryPointsPass", "iree-abi-wrap-entry-points", "", ""),
        ),
    ],
)
def test_headers(header: str, expected: Dump) -> None:
    assert read_dumps(f"// -----// IR Dump {header} //----- //\n").passes == (expected,)


def test_dumps_before_passes_and_what_stands_before_the_first_dump_do_not_count() -> None:
    found = read_dumps("warning: something\n" + ALL.replace("After CSE", "Before CSE"))
    assert [one.name for one in found.passes] == ["Canonicalizer"]
    assert parse_module(found.passes[0].text).lookup("f") is not None


def test_a_pass_on_a_function_between_dumps_of_modules_is_named_too() -> None:
    of_module, of_function = "('builtin.module' operation)", "('func.func' operation: @f)"
    headers = f"Canonicalizer {of_module}", f"CSE {of_function}", f"CSE {of_function}", f"SymbolDCE {of_module}"
    text = "".join(f"// -----// IR Dump Before {each} //----- //\n{in_module(ADD)}\n" for each in headers)
    assert [one.name for one in read_dumps(text).passes] == ["the program", "Canonicalizer, CSE"]


@pytest.mark.parametrize(
    "said",
    [
        "model.mlir:4:3: error: failed to legalize operation 'arith.addi'\n",
        "PLEASE submit a bug report\nStack dump:\n0. mlir-opt\n",
        "free(): invalid pointer\nPLEASE submit a bug report\n",
        "LLVM ERROR: not this type\nPLEASE submit a bug report\n",
    ],
)
def test_what_a_tool_says_at_its_end_is_no_part_of_a_program(said: str) -> None:
    found = read_dumps(ALL + said)
    assert found.said == said.strip()
    assert [parse_module(one.text).lookup("f") is not None for one in found.passes] == [True, True]
    assert of_dumps(found, parse_module).end == said.splitlines()[0]


def test_a_failed_pass_ends_the_stages() -> None:
    found = of_dumps(read_dumps(ALL.replace("CSE (", "CSE Failed (")), parse_module)
    assert [str(one) for one in found.stages] == ["Canonicalizer (canonicalize)"]
    assert found.end == "CSE (cse) failed"


def test_an_error_after_which_passes_go_on_ends_nothing() -> None:
    """affine-super-vectorize says so of a layout that it leaves alone."""
    header = "// -----// IR Dump After CSE"
    text = ALL.replace(header, "<stdin>:24:12: error: NYI: non-trivial layout map\n" + header)
    found = of_dumps(read_dumps(text), parse_module)
    assert (len(found.stages), found.end) == (2, "")
    assert of_dumps(read_dumps(ALL + "<stdin>:1:1: error: it ended here\n"), parse_module).end


def test_a_dump_that_is_cut_is_no_program() -> None:
    for length in range(ALL.index("CSE") + 20, len(ALL) - 3):
        stages = of_dumps(read_dumps(ALL[:length]), parse_module).stages
        assert isinstance(stages[0].module, Module)
        assert len(stages) == 1 or isinstance(stages[1].module, HalfulpError)


def test_dumps_that_tear_each_other_apart_are_no_programs() -> None:
    """Two threads that print at once: one dump begins in the middle of another."""
    torn = ALL[: ALL.index("%arg1 : i8") + 4] + ALL[ALL.index("// -----// IR Dump After CSE") :]
    stages = of_dumps(read_dumps(torn), parse_module).stages
    assert [isinstance(one.module, Module) for one in stages] == [False, True]


def test_passes_on_functions_print_these_alone() -> None:
    first = in_module(ADD + ADD.replace("@f", "@g"))
    text = dump("CSE", "cse", SWAPPED) + dump("CSE", "cse", SWAPPED.replace("@f", "@g"))
    start = Stage("first", "", first, parse_module(first))
    _, one, two = of_dumps(read_dumps(text), parse_module, start).stages
    shown = []
    for stage in (one, two):
        assert isinstance(stage.module, Module)
        assert [op.symbol_name for op in stage.module.body] == ["f", "g"]
        assert parse_module(stage.text).lookup("g") is not None
        shown.append([f"add{'i %arg1' if 'arg1, %arg0' in part else ''}" for part in stage.text.split("func.func")[1:]])
    assert shown == [["addi %arg1", "add"], ["addi %arg1", "addi %arg1"]]


def test_the_files_of_a_folder_come_in_the_order_of_the_passes(tmp_path: Path) -> None:
    nested = tmp_path / "builtin_module_m" / "func_func_f"
    nested.mkdir(parents=True)
    files = {
        nested / "0_0_mem2reg.mlir": dump("Mem2Reg", "mem2reg", ADD),
        nested.parent / "1_canonicalize.mlir": dump("Canonicalizer", "canonicalize", in_module(ADD)),
        nested.parent / "3_cse.mlir": dump("CSE", "cse", in_module(ADD)),
        nested / "3_1_sroa.mlir": dump("SROA", "sroa", ADD),
        nested.parent / "10_inline.mlir": dump("Inliner", "inline", in_module(ADD)),
        nested.parent / "notes.mlir": "nothing",
    }
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    names = [one.argument for one in read_folder(tmp_path).passes]
    assert names == ["mem2reg", "canonicalize", "cse", "sroa", "inline"]


def test_a_folder_without_dumps(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no dumps of passes"):
        read_folder(tmp_path)
