"""Measure programs for tests: random programs through a pass or compared with mlir-runner, and one program on every
input.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import halfulp as hu
from benchmarks import mlir
from benchmarks.models import FOLDER
from benchmarks.rows import Absent, Disagreement, Measured, Row, Sizes, Target, agree, best, nanoseconds
from benchmarks.samples import dtype_of
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.ops.jobs import process_pool
from halfulp.conformance.oracles.jit import TensorRunner
from halfulp.conformance.oracles.oracle import ClosedProgram, Runner
from halfulp.conformance.oracles.tool import PassPipeline
from halfulp.conformance.vectors.computation import OpComputation
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.shards.directory import SweepPlan
from halfulp.conformance.vectors.shards.shard import sweep_shards
from halfulp.conformance.whole_programs.fuzz_functions import fuzz_pass, fuzz_runner
from halfulp.conformance.whole_programs.generator.grower import NAME
from halfulp.conformance.whole_programs.generator.kinds import KINDS, inputs_of
from halfulp.conformance.whole_programs.op_search import run_here
from halfulp.conformance.whole_programs.pass_claims import pipeline
from halfulp.fp_formats.formats import FORMATS

GROUP = "differential testing"
_BY_DASK = "sweep of addf of f32 with flags on 2^22 inputs, two workers of Dask"
SWEEP = """func.func @main(%a: {0}, %b: {0}, %c: {0}) -> {0} {{
  %p = arith.mulf %a, %b : {0}
  %s = arith.addf %p, %c : {0}
  return %s : {0}
}}
"""


def rows() -> Iterator[Row]:
    for passes in ("canonicalize", "cse"):
        yield Row(GROUP, f"a random program before and after {passes}", partial(through, passes), unit="ms")
    yield Row(GROUP, "a random program on tensors, lowered to loops", lowered, unit="ms")
    yield Row(GROUP, "hu.bisect of softmax_bf16 down to llvm", bisected, target=Target(most=20), unit="s")
    yield Row(GROUP, "a random program on tensors", beside_runner, mlir.NATIVE, unit="ms")
    yield Row(GROUP, "sweep of mulf and addf of f8E4M3FN on 2^24 inputs", sweep, "ml_dtypes")
    yield Row(GROUP, _BY_DASK, by_dask, "local workers", Target(speed=1 / 1.1))


def through(passes: str, sizes: Sizes) -> Measured:
    """Measure `halfulp fuzz`: it makes programs, and compares each with the program after mlir-opt, on all inputs."""
    return _fuzzed(f"builtin.module({passes})", "mixed", sizes)


def lowered(sizes: Sizes) -> Measured:
    return _fuzzed(pipeline("loops"), "structured", sizes)


def _count(sizes: Sizes) -> int:
    return max(2, sizes.ops // 1000)


def _fuzzed(passes: str, kind: str, sizes: Sizes) -> Measured:
    found = PassPipeline(mlir.tools()[0], passes)
    count = _count(sizes)

    def run() -> None:
        report = fuzz_pass(found, count, kind=KINDS[kind])
        if report.programs != count or report.findings:
            raise Disagreement(f"{len(report.findings)} of {report.programs} programs")

    (seconds,) = best(run, rounds=1)
    return Measured(seconds / count * 1e3, note=f"{count / seconds:.0f} programs a second")


_TO_LLVM = (
    "func.func(linalg-generalize-named-ops),one-shot-bufferize{bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map},canonicalize,cse,func.func(convert-linalg-to-loops),"
    "buffer-deallocation-pipeline,expand-strided-metadata,lower-affine,math-expand-ops{ops=round},arith-expand,"
    "convert-scf-to-cf,convert-math-to-llvm,convert-math-to-libm,convert-to-llvm,reconcile-unrealized-casts"
)


def bisected(sizes: Sizes) -> Measured:
    """Measure `hu.bisect` as a whole: the passes of mlir-opt, each stage on 8 inputs, and the comparisons."""
    mlir.tools()
    count = 8 if sizes.elements >= 1 << 20 else 1

    done = []

    def run() -> None:
        text = (FOLDER / "softmax_bf16.linalg.mlir").read_text(encoding="utf-8")
        done.append(hu.bisect(text, pipeline=f"builtin.module({_TO_LLVM})", n=count))

    (seconds,) = best(run, rounds=1)
    (found,) = done
    if found.guilty is not None:
        raise Disagreement(str(found))
    return Measured(seconds, note=f"{len(found.results)} stages, {found.compared} compared, {count} inputs")


def beside_runner(sizes: Sizes) -> Measured:
    """Measure only the runs, without making the programs. The peer is mlir-runner with its lowering, 64 programs in a
    process.
    """
    mlir.tools()
    runner: Runner = TensorRunner("loops")
    kind, count = KINDS["structured"], _count(sizes)
    report = fuzz_runner(runner, kind, count)
    if report.findings:
        raise Disagreement(f"{len(report.findings)} of {count} programs")
    closed = [
        ClosedProgram(each.module, NAME, inputs_of(each.module, 1, kind).of(each.main).row(0))
        for each in kind.functions(1, count)
    ]
    mine, theirs = best(lambda: [run_here(each) for each in closed], lambda: runner.run(closed), rounds=1)
    return Measured(mine / len(closed) * 1e3, theirs / len(closed) * 1e3, note="the peer with its lowering")


def _command(program: Path, out: Path) -> list[str]:
    asked = ["--level=exhaustive", "--format=npz", f"--out={out}"]
    return [sys.executable, "-m", "halfulp", "vectors", "sweep", str(program), *asked]


def sweep(sizes: Sizes) -> Measured:
    """Measure the command with its start, its files and their digests, compared with saving arrays in memory."""
    type_ = "f8E4M3FN" if sizes.elements >= 1 << 20 else "f4E2M1FN"
    dtype = dtype_of(type_)
    codes = np.arange(1 << FORMATS[type_].bits, dtype=np.uint8).view(dtype)
    a, b, c = (each.ravel() for each in np.meshgrid(codes, codes, codes, indexing="ij"))
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.mlir")
        program.write_text(SWEEP.format(type_), encoding="utf-8")

        def ours(out: str = "again") -> None:
            target = Path(folder, out)
            for each in target.glob("*"):
                each.unlink()
            subprocess.run(_command(program, target), check=True, stdout=subprocess.DEVNULL)

        def theirs() -> Any:
            results = a * b + c
            with tempfile.TemporaryFile(dir=folder) as file:
                np.savez(
                    file, a=a.view(np.uint8), b=b.view(np.uint8), c=c.view(np.uint8), result=results.view(np.uint8)
                )
            return results

        ours("first")
        (shard,) = Path(folder, "first").glob("*.npz")
        with np.load(shard) as stored, np.errstate(all="ignore"):
            found, expected = stored["result"], theirs().view(np.uint8)
            nan = np.isnan(expected.view(dtype).astype(np.float32))
            agree("a sweep", np.where(nan, 0, found), np.where(nan, 0, expected))
        mine, peer = best(ours, theirs, rounds=min(sizes.rounds, 2))
    return Measured(mine / a.size * 1e9, peer / a.size * 1e9)


def by_dask(sizes: Sizes) -> Measured:
    """Compare a sweep whose shards Dask's workers compute with the same sweep by a pool of processes. The workers,
    their nannies and the pool start before the measurement.
    """
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise Absent("distributed is not installed") from None
    count = 1 << 22 if sizes.elements >= 1 << 20 else 1 << 12
    recipe = Recipe(OpComputation(op_case("arith.addf", "f32")), "random", count=count)
    plan = SweepPlan(recipe, "bin", shard_rows=count // 8, leaf_rows=count // 8)
    with (
        tempfile.TemporaryDirectory() as folder,
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        process_pool(2) as pool,
    ):
        numbers = itertools.count()

        def swept(executor: Any) -> str | None:
            return sweep_shards(plan, Path(folder, str(next(numbers))), executor=executor, in_flight=4).digest

        dask = client.get_executor(pure=False)
        if swept(dask) != swept(pool):
            raise Disagreement("the digests of the sweeps differ")
        times = best(lambda: swept(dask), lambda: swept(pool), rounds=min(sizes.rounds, 5))
    return nanoseconds(times, count)
