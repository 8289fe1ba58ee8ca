"""Bugs of real tools are found among generated inputs, and reduced to one op on one element."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from amounts import thinned

import halfulp as hu
from halfulp.command import main as cli
from halfulp.conformance.comparing.divergences import divergences
from halfulp.conformance.comparing.inputs import sampled_inputs
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.oracles import oracle
from halfulp.conformance.oracles.closed_programs import ByOps
from halfulp.conformance.oracles.oracle import ClosedProgram, ProgramOracle
from halfulp.conformance.whole_programs.arguments import generated
from halfulp.conformance.whole_programs.diff import Difference, SameDifference, against, text_of_program
from halfulp.conformance.whole_programs.op_search import Search
from halfulp.conformance.whole_programs.reduce import Reducer
from halfulp.interp.ir.operations import Operation, argument_types

pytestmark = pytest.mark.mlir


@dataclass(frozen=True)
class Finding:
    """An op that a tool gets wrong. ``count``: the sampled elements among which it is found. ``row``: the known
    divergence.
    """

    oracle: str
    op: str
    types: str
    to: str | None
    count: int
    row: str


FINDINGS = (
    Finding("iree", "arith.truncf", "bf16", "f8E4M3FN", 1000, "a float that rounds up to the smallest normal of an f8 is zero"),
    Finding("iree", "arith.extf", "f8E4M3FN", "f32", 256, "the negative NaN of f8E4M3FN is -480"),
    Finding("mlir-runtime", "arith.fptosi", "f32", "i8", 200, "fptosi and fptoui round to nearest even"),
    Finding("mlir-runtime", "arith.remf", "f16", None, 200, "remf is IEEE 754's remainder"),
    Finding("mlir-expand", "arith.truncf", "f32", "f4E2M1FN", 200, "truncf to f4E2M1FN: ties away, small negatives lose their sign"),
    Finding("mlir-fold", "arith.negf", "f8E8M0FNU", None, 256, "negative f8E8M0FNU"),
    Finding("ml_dtypes", "arith.truncf", "f64", "bf16", 1000, "rounded to f32 first"),
)  # fmt: skip


def programs_of(name: str) -> ProgramOracle:
    if name == "iree" and os.environ.get("HALFULP_REQUIRE_MLIR") != "1":
        pytest.importorskip("iree.compiler", reason="IREE is not installed")
    found = oracle(name)
    return found if isinstance(found, ProgramOracle) else ByOps(found)


def reduced_op(asked: ProgramOracle, same: SameDifference, found: Difference) -> Operation:
    """Return the only op that is left, in a program that still differs when it is read back."""
    same.watch(found)
    reduced = Reducer(same, 200).reduce(found.program, found)
    text = text_of_program(reduced, close=False)
    module = hu.parse(text)
    again = ClosedProgram(module, reduced.function, reduced.arguments)
    (difference,) = against(asked, [again]).differences
    assert difference.mismatch.expected != difference.mismatch.actual
    (op,) = [op for op in module.walk() if op.name.startswith("arith.") and op.operands]
    assert len(text.splitlines()) <= 6
    assert all(value.shape == () for value in reduced.arguments)
    return op


def types_of(op: Operation) -> list[str]:
    return [str(value.type) for value in (*op.operands, *op.results)]


@pytest.mark.parametrize("finding", thinned(FINDINGS, 2), ids=lambda finding: f"{finding.oracle} {finding.op}")
def test_an_error_of_a_tool_is_found_and_reduced(finding: Finding) -> None:
    asked = programs_of(finding.oracle)
    made = op_case(finding.op, finding.types, finding.to)
    inputs = sampled_inputs(made, finding.count)
    program = ClosedProgram(made.module(made.shape(inputs)), "eval", made.values(inputs))
    same = SameDifference(Search(asked))
    (difference,) = same.differences([program])
    assert difference is not None
    op = reduced_op(asked, same, difference)
    assert op.name == finding.op
    assert types_of(op) == [*made.operands, *made.results]
    assert against(asked, [program], divergences()).known == {finding.row: 1}


TIES = """\
func.func @main(%a: i4) -> (f4E2M1FN, i4) {
  %0 = arith.addi %a, %a : i4
  %1 = arith.uitofp %0 : i4 to f32
  %2 = arith.truncf %1 : f32 to f4E2M1FN
  %3 = arith.uitofp %a : i4 to f32
  %4 = arith.truncf %3 : f32 to f4E2M1FN
  return %4, %0 : f4E2M1FN, i4
}
"""


def test_ties_of_the_expansion_are_found_among_all_inputs() -> None:
    """Of the integers to 15 only 5 is a tie of f4E2M1FN: between 4, which is even, and 6."""
    asked = programs_of("mlir-expand")
    module = hu.parse(TIES)
    inputs = generated(argument_types(module.body[0]), 1)
    assert (inputs.count, inputs.exhaustive) == (16, True)
    same = SameDifference(Search(asked))
    found = same.differences([ClosedProgram(module, "main", inputs.row(index)) for index in range(inputs.count)])
    (difference,) = [one for one in found if one is not None]
    assert difference.finding is not None
    assert difference.finding.mismatch.operands == (np.float32(5).view(np.uint32),)
    assert (difference.mismatch.expected, difference.mismatch.actual) == (0b110, 0b111)
    op = reduced_op(asked, same, difference)
    assert (op.name, types_of(op)) == ("arith.truncf", ["f32", "f4E2M1FN"])


DIVISION = """\
func.func @main(%a: tensor<2xi8>, %b: tensor<2xi8>) -> (tensor<2xi8>, tensor<2xi8>) {
  %0 = arith.muli %a, %b : tensor<2xi8>
  %1 = arith.floordivsi %a, %b : tensor<2xi8>
  return %0, %1 : tensor<2xi8>, tensor<2xi8>
}
"""


def test_a_value_for_undefined_behaviour_is_found_and_reduced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder divides tensors by zero."""
    monkeypatch.chdir(tmp_path)
    Path("division.mlir").write_text(DIVISION, encoding="utf-8")
    command = ["reduce", "division.mlir", "--against", "mlir-fold", "--undefined", "-n", "200", "-o", "small.mlir"]
    assert cli.main(command) == 0
    text = Path("small.mlir").read_text(encoding="utf-8")
    assert text.startswith("// arith.floordivsi is undefined for halfulp ")
    module = hu.parse(text)
    (op,) = [op for op in module.walk() if op.name.startswith("arith.") and op.operands]
    assert op.name == "arith.floordivsi"
    assert set(types_of(op)) <= {"tensor<1xi8>", "tensor<2xi8>"}
    asked = programs_of("mlir-fold")
    report = against(asked, [ClosedProgram(module, module.body[0].symbol_name or "", ())])
    assert (report.undefined, report.undefined_answered) == (1, 1)
    capsys.readouterr()
    assert cli.main(["reduce", "division.mlir", "--against", "exact", "--undefined", "-n", "20"]) == 3
    assert "exact gives no value where the program has undefined behaviour" in capsys.readouterr().err
    assert cli.main(["reduce", "division.mlir", "--test", "true", "--undefined"]) == 2
