"""Random functions on tensors: always the same, of every kind, and equal at every stage of their lowering."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import halfulp as hu
from halfulp.conformance.comparing.refinement import Verdict
from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.jit_tensors import TensorRunner
from halfulp.conformance.oracles.oracle import ClosedProgram
from halfulp.conformance.oracles.tool import PassFailure, PassPipeline, find_mlir_opt
from halfulp.conformance.whole_programs.fuzz_functions import compare, fuzz_pass, fuzz_runner, with_kept_nans
from halfulp.conformance.whole_programs.generator.structured import (
    KINDS,
    WAYS,
    programs_from,
    structured_functions,
    structured_text,
)
from halfulp.conformance.whole_programs.stages import STAGES, pipeline

STRUCTURED = KINDS["structured"]


def test_a_program_depends_on_its_seed_and_number_alone() -> None:
    alone = structured_text(5, 40)
    assert text_of(next(structured_functions(5, 1, 40)).module) == text_of(
        list(structured_functions(5, 3, 38))[2].module
    )
    assert alone == structured_text(5, 40) != structured_text(6, 40)


def test_programs_have_every_op_and_run_as_they_are() -> None:
    seen = Counter(op.name for program in structured_functions(1, 60) for op in program.module.walk())
    assert {"linalg.generic", "linalg.matmul", "linalg.reduce", "tensor.pad", "tensor.insert_slice"} <= set(seen)
    assert len(WAYS) <= len([name for name in seen if not name.startswith(("arith.", "math."))])
    found = [compare(p.module, p.module, 1, kind=STRUCTURED) for p in structured_functions(2, 3)]
    assert all(one.compared and not one.differing and one.problem is None for one in found)


@pytest.mark.mlir
@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_has_the_same_bits(stage: str) -> None:
    lowering = PassPipeline(find_mlir_opt(None), pipeline(stage))
    report = fuzz_pass(lowering, 12, seed=3, kind=STRUCTURED)
    assert not report.findings
    assert not report.broken
    assert not report.skipped
    assert report.equal >= 8


@pytest.mark.mlir
def test_a_loop_of_one_iteration_is_lowered_to_vectors() -> None:
    """affine-super-vectorize of mlir-opt 22.1.8 alone makes an op of it that is not valid (llvm/llvm-project#131135)."""
    text = """
func.func @f(%x: tensor<1x3xf32>, %s: tensor<f32>) -> tensor<f32> {
  %0 = linalg.reduce ins(%x : tensor<1x3xf32>) outs(%s : tensor<f32>) dimensions = [0, 1]
    (%a: f32, %b: f32) {
      %c = arith.maximumf %a, %b : f32
      linalg.yield %c : f32
    }
  return %0 : tensor<f32>
}"""
    tool = find_mlir_opt(None)
    lowered = PassPipeline(tool, pipeline("vectorized")).apply(text)
    assert "affine.for %arg2 = 0 to 3" in lowered
    without = pipeline("vectorized").replace("affine-loop-normalize{promote-single-iter},", "")
    with pytest.raises(PassFailure, match="transfer_write' op should not have broadcast dimensions"):
        PassPipeline(tool, without).apply(text)
    programs = programs_from("vectorized", tool)
    assert len(list(programs.kind.functions(1, 6, 12))) == 6
    assert not programs.not_lowered


@pytest.mark.mlir
def test_mlir_runner_has_the_same_bits() -> None:
    report = fuzz_runner(TensorRunner("loops"), STRUCTURED, 40, seed=3)
    assert not report.findings
    assert not report.failed
    assert not report.skipped
    assert report.runs >= 40
    assert report.elements[Verdict.EQUAL] > 500


@pytest.mark.mlir
def test_vectors_of_bf16_lose_the_bits_of_nans_in_mlir_runner() -> None:
    """The same copy without vectors keeps them: the difference is LLVM's. So arguments have NaNs that it keeps."""
    text = """
func.func @f(%x: tensor<2x2xbf16>) -> tensor<2x2xbf16> {
  %0 = tensor.empty() : tensor<2x2xbf16>
  %1 = linalg.copy ins(%x : tensor<2x2xbf16>) outs(%0 : tensor<2x2xbf16>) -> tensor<2x2xbf16>
  return %1 : tensor<2x2xbf16>
}"""
    x = hu.Value.from_bits(np.array([[0x7F82, 0xFFC1], [0x3F80, 0x7F81]], np.uint16), "bf16")
    loops, vectors = TensorRunner("loops"), TensorRunner("vectorized")

    def copied(runner: TensorRunner, value: hu.Value) -> list[list[int]]:
        reply = runner.run([ClosedProgram(hu.load(text), "f", (value,))])[0]
        assert isinstance(reply, tuple)
        bits: list[list[int]] = reply[0].bits.tolist()
        return bits

    assert copied(loops, x) == x.bits.tolist()
    kept = with_kept_nans(x)
    assert copied(vectors, x) == copied(vectors, kept) == kept.bits.tolist() != x.bits.tolist()
