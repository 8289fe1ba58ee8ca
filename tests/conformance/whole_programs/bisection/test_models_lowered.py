"""The ten models through whole pipelines, from tensors to LLVM's dialect: every stage runs, and none is wrong."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from named_programs import WAYS, passes, pipeline
from present import present
from tree import ROOT

from halfulp.conformance.oracles.mlir_opt import find_mlir_opt
from halfulp.conformance.oracles.tool import PassPipeline
from halfulp.conformance.whole_programs.bisection.bisect import Judgement, bisect, bisection_lines, permission_judge
from halfulp.conformance.whole_programs.bisection.runs import Stage, StageRunner, made_inputs, of_pipeline
from halfulp.conformance.whole_programs.validation import Inputs
from halfulp.interp.loading import parse_module
from halfulp.interp.run.settings import Settings

pytestmark = pytest.mark.mlir

MODELS = sorted((ROOT / "tests" / "data" / "programs").glob("*.linalg.mlir"))
QUICK = {("gather_rows_f32", "loops"), ("gather_rows_f32", "parallel loops"), ("scan_tanh_f32", "loops")}
APPROXIMATED = {"layernorm_f32": "math.rsqrt became a formula"}
"""What a pass computes by a formula, and mlir-opt is permitted to."""


def _cases() -> Iterator[Any]:
    for path in MODELS:
        name = path.name.partition(".")[0]
        for way in WAYS:
            marks = [] if (name, way) in QUICK else [pytest.mark.exhaustive]
            yield pytest.param(path, way, marks=marks, id=f"{name}, {way}")


@pytest.mark.parametrize(("path", "way"), list(_cases()))
def test_every_stage_runs_and_none_differs(path: Path, way: str) -> None:
    text = path.read_text(encoding="utf-8")
    module = parse_module(text, path.name)
    function = present(module.lookup("main"))
    stages = of_pipeline(Stage(path.name, "", text, module), PassPipeline(find_mlir_opt(), pipeline(passes(way))))
    runner = StageRunner(function, made_inputs(function, Inputs(4, 7)), Settings(max_steps=100_000_000))
    found = bisect(stages, runner, [permission_judge])
    shown = "\n".join(bisection_lines(found))
    count = Counter(one.judgement for one in found.results)
    assert len(found.results) > len(passes(way)), shown
    assert not found.end, shown
    assert not count[Judgement.DIFFERENT], shown
    assert not count[Judgement.NOT_RUN], shown
    permitted = [one.ground for one in found.results if one.judgement is Judgement.PERMITTED]
    expected = APPROXIMATED.get(path.name.partition(".")[0])
    assert all(expected is not None and ground.startswith(expected) for ground in permitted), shown
    assert len(permitted) == (0 if expected is None else 1), shown


CALLING = """\
func.func private @one(%m: memref<4xf32>, %i: index) -> memref<4xf32> {
  %a = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
  %v = memref.load %m[%i] : memref<4xf32>
  memref.store %v, %a[%i] : memref<4xf32>
  return %a : memref<4xf32>
}
func.func @main(%m: memref<4xf32>) -> memref<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = memref.alloc() : memref<4xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    %one = func.call @one(%m, %i) : (memref<4xf32>, index) -> memref<4xf32>
    %v = memref.load %one[%i] : memref<4xf32>
    %s = arith.addf %v, %v : f32
    memref.store %s, %r[%i] : memref<4xf32>
    memref.dealloc %one : memref<4xf32>
  }
  return %r : memref<4xf32>
}
"""


def test_memrefs_pass_between_functions_while_only_memory_is_lowered() -> None:
    """Between both passes, descriptors become memrefs again for calls and results."""
    module = parse_module(CALLING)
    function = present(module.lookup("main"))
    lowering = ["convert-scf-to-cf", "finalize-memref-to-llvm", "convert-arith-to-llvm", "convert-func-to-llvm"]
    stages = of_pipeline(Stage("calling", "", CALLING, module), PassPipeline(find_mlir_opt(), pipeline(lowering)))
    found = bisect(stages, StageRunner(function, made_inputs(function, Inputs(8, 7)), Settings()), [permission_judge])
    assert [one.judgement for one in found.results[1:]] == [Judgement.IDENTICAL] * 4, bisection_lines(found)
