"""Random functions on tensors: always the same, of every kind, and equal at every stage of their lowering."""

from collections import Counter

import numpy as np
import pytest

import halfulp as hu
from halfulp.conformance.comparing.refinement import Verdict
from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.jit import TensorRunner
from halfulp.conformance.oracles.mlir_opt import find_mlir_opt
from halfulp.conformance.oracles.oracle import ClosedProgram
from halfulp.conformance.oracles.tool import PassFailure, PassPipeline
from halfulp.conformance.whole_programs.fuzz_functions import compare, fuzz_pass, fuzz_runner, with_kept_nans
from halfulp.conformance.whole_programs.generator.functions import all_rows, random_function, random_functions
from halfulp.conformance.whole_programs.generator.grower import elementwise_ops
from halfulp.conformance.whole_programs.generator.kinds import KINDS, programs_from
from halfulp.conformance.whole_programs.generator.structured import WAYS, structured_functions, structured_text
from halfulp.conformance.whole_programs.pass_claims import STAGES, pipeline
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir.operations import argument_types
from halfulp.interp.loading import parse_module
from halfulp.interp.verifier import verify

STRUCTURED = KINDS["structured"]


def test_a_program_depends_on_its_seed_and_number_alone() -> None:
    alone = structured_text(5, 40)
    assert text_of(next(structured_functions(5, 1, 40)).module) == text_of(
        list(structured_functions(5, 3, 38))[2].module
    )
    assert alone == structured_text(5, 40) != structured_text(6, 40)


@pytest.mark.long
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


# --- functions --------------------------------------------------------------------------------------------------------
#
# Random functions: they are well typed here and for mlir-opt, always the same, and mostly defined.

MANY = 400


@pytest.mark.long
def test_programs_verify_and_read_back_as_they_print() -> None:
    for program in random_functions(1, MANY):
        verify(program.module)
        text = text_of(program.module)
        assert text_of(parse_module(text)) == text, program.name


@pytest.mark.mlir
def test_mlir_opt_accepts_every_program_and_reads_it_alike() -> None:
    texts = [text_of(program.module) for program in random_functions(3, MANY)]
    printed = PassPipeline(find_mlir_opt(), "builtin.module()").apply_all(texts)
    for text, other in zip(texts, printed, strict=True):
        # mlir-opt prints subnormal numbers of f80 in decimal.
        assert isinstance(other, str)
        assert other == text or text_of(parse_module(other)) == text


def test_program_i_of_a_seed_is_always_the_same() -> None:
    alone = text_of(random_function(5, 40).module)
    assert [text_of(program.module) for program in random_functions(5, 4, 38)][2] == alone
    assert text_of(random_function(5, 41).module) != alone != text_of(random_function(6, 40).module)


@pytest.mark.long
def test_every_kind_of_op_occurs() -> None:
    seen = Counter(op.name for program in random_functions(1, 1500) for op in program.module.walk())
    rows = {row.name for row in all_rows()}
    assert not {name for name in rows if not seen[name]}
    # Only the ops of newer versions, and what has no elements, are not made from the declarations.
    arith = {op.name for op in default_registry().dialects["arith"].ops.values() if op.since.name == "MLIR22"}
    assert arith - {"arith.constant"} == {op.name for op in elementwise_ops() if op.dialect == "arith"}
    assert {"func.call", "scf.while", "cf.switch", "memref.store", "affine.apply", "quant.qcast"} <= set(seen)


@pytest.mark.long
def test_flags_predicates_and_rounding_modes_occur() -> None:
    text = "".join(text_of(program.module) for program in random_functions(1, 1500))
    for word in ("overflow<nsw>", "overflow<nuw>", "exact", "fastmath<", "cmpi uge", "cmpf une", "downward", "nneg"):
        assert (word in text) == (word != "nneg"), word  # MLIR 22 has no nneg


@pytest.mark.long
def test_programs_are_mostly_defined_and_often_run_on_every_input() -> None:
    found = [compare(program.module, program.module, 1) for program in random_functions(2, 60)]
    assert not any(report.differing for report in found)
    assert sum(2 * report.undefined > report.inputs for report in found) <= 6
    assert sum(report.exhaustive for report in found) > 20
    assert all(len(argument_types(program.main)) <= 4 for program in random_functions(2, 60))
