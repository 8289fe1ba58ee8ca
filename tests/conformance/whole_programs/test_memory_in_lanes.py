"""Functions on memory, compared in lanes: the same verdicts as one input after the other, for far fewer steps."""

import re
from collections import Counter
from typing import Any

import pytest
from amounts import thinned

import halfulp as hu
from halfulp.conformance.whole_programs import two_runs
from halfulp.conformance.whole_programs.validation import Inputs, ValidationReport, common_functions, compare


def product(loop: str, dialect: str, *constants: str) -> str:
    """Return a product of matrices. ``loop``: a loop over the index @; ``dialect``: of loads and stores."""
    loops = "".join(f"{loop.replace('@', f'%{index}')} {{\n" for index in "ijk")
    load = "\n".join(
        f"%{number} = {dialect}.load {place} : memref<8x8xf32>"
        for number, place in enumerate(("%a[%i, %k]", "%b[%k, %j]", "%c[%i, %j]"))
    )
    given = "\n".join(constants)
    return f"""func.func @f(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %c: memref<8x8xf32>) {{
{given}
{loops}{load}
%3 = arith.mulf %0, %1 : f32
%4 = arith.addf %2, %3 : f32
{dialect}.store %4, %c[%i, %j] : memref<8x8xf32>
}}}}}}
return
}}"""


MATMUL = product("affine.for @ = 0 to 8", "affine")
LOWERED = product(
    "scf.for @ = %c0 to %c8 step %c1",
    "memref",
    *(f"%c{number} = arith.constant {number} : index" for number in (0, 1, 8)),
)


def compared(before: str, after: str, count: int) -> ValidationReport:
    one, two = hu.parse(before, "before.mlir"), hu.parse(after, "after.mlir")
    (pair,) = common_functions(one, two)
    return compare(one, two, pair, Inputs(count))


@pytest.mark.long
def test_a_matrix_product_runs_all_inputs_of_which_few_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone, 1,000 inputs take 10 million steps, and a comparison ends at 4 million."""
    runs: list[int] = []
    alone = two_runs.Version.alone

    def counted(self: two_runs.Version, arguments: Any, steps: int, number: int) -> Any:
        runs.append(number)
        return alone(self, arguments, steps, number)

    monkeypatch.setattr(two_runs.Version, "alone", counted)
    report = compared(MATMUL, LOWERED, 1000)
    assert (report.tested, report.differing, report.verdicts.total()) == (1000, 0, 1000 * 192)
    assert set(runs) <= set(range(two_runs.PROBES))


def function(body: str, arguments: str = "%m: memref<4xf32>, %i: index", results: str = "") -> str:
    return f"func.func @f({arguments}){results} {{\n{body}\n}}"


HALVED = "%x = affine.load %m[0] : memref<4xf32>\n%h = arith.constant 0.5 : f32\n%y = arith.OP %x, %h : f32"
SUMMED = """%s = affine.for %k = 0 to 4 iter_args(%t = %z) -> f32 {
  %x = affine.load %m[%k] : memref<4xf32>
  %u = arith.addf %t, %x : f32
  affine.yield %u : f32
}
affine.store %s, %m[1] : memref<4xf32>
return %s : f32"""
PAIRS = {
    "different": (
        function(f"{HALVED.replace('OP', 'mulf')}\naffine.store %y, %m[0] : memref<4xf32>\nreturn"),
        function(f"{HALVED.replace('OP', 'divf')}\naffine.store %y, %m[0] : memref<4xf32>\nreturn"),
    ),
    "undefined for some": (
        function("%x = memref.load %m[%i] : memref<4xf32>\nmemref.store %x, %m[%i] : memref<4xf32>\nreturn"),
        function("return"),
    ),
    "undefined after": (
        function("return"),
        function("%x = memref.load %m[%i] : memref<4xf32>\nreturn"),
    ),
    "endless for some": tuple(
        function(
            f"""%z = arith.constant 0 : i8
            cf.br ^head(%z : i8)
            ^head(%k: i8):
              %x = {load} : memref<256xi8>
              %stop = arith.cmpi eq, %k, %n : i8
              cf.cond_br %stop, ^end, ^body
            ^body:
              %next = arith.addi %k, %x : i8
              cf.br ^head(%next : i8)
            ^end:
              return""",
            "%m: memref<256xi8>, %n: i8, %i: index",
        )
        for load in ("memref.load %m[%z2]", "affine.load %m[3]")
    ),
    "unspecified after": (
        function(f"%z = arith.constant 0.0 : f32\n{SUMMED}", results=" -> f32"),
        function(f"%n = arith.constant -0.0 : f32\n%p = arith.constant 0.0 : f32\n"
                 f"%z = arith.maxnumf %p, %n : f32\n{SUMMED}", results=" -> f32"),
    ),
    "poison": (
        function("%p = ub.poison : f32\nmemref.store %p, %m[%i] : memref<4xf32>\nreturn"),
        function("%p = arith.constant 1.0 : f32\nmemref.store %p, %m[%i] : memref<4xf32>\nreturn"),
    ),
    "poison after": (
        function("%p = arith.constant 1.0 : f32\nmemref.store %p, %m[%i] : memref<4xf32>\nreturn"),
        function("%p = ub.poison : f32\nmemref.store %p, %m[%i] : memref<4xf32>\nreturn"),
    ),
    "memory of its own": (
        function("""%t = memref.alloc() : memref<4xf32>
          memref.copy %m, %t : memref<4xf32> to memref<4xf32>
          %x = memref.load %t[%i] : memref<4xf32>
          memref.dealloc %t : memref<4xf32>
          return %x : f32""", results=" -> f32"),
        function("%x = memref.load %m[%i] : memref<4xf32>\nreturn %x : f32", results=" -> f32"),
    ),
    "returned memory": tuple(
        function(f"affine.store %x, %m[{place}] : memref<4xf32>\nreturn %m, %x : memref<4xf32>, f32",
                 "%m: memref<4xf32>, %x: f32", " -> (memref<4xf32>, f32)")
        for place in ("1", "symbol(%c1)")
    ),
    "parts of a lane": (
        function("""affine.if affine_set<(d0) : (d0 - 2 >= 0)>(%i) {
            %x = memref.load %m[%i] : memref<4xf32>
            affine.store %x, %m[0] : memref<4xf32>
          }
          return"""),
        function("""%two = arith.constant 2 : index
          %c = arith.cmpi sge, %i, %two : index
          scf.if %c {
            %x = memref.load %m[%i] : memref<4xf32>
            affine.store %x, %m[0] : memref<4xf32>
          }
          return"""),
    ),
    "dynamic sizes": (
        function("""%z = arith.constant 0 : index
          %d = memref.dim %m, %z : memref<?xi32>
          affine.for %k = 0 to %d {
            affine.store %v, %m[%k] : memref<?xi32>
          }
          return""", "%m: memref<?xi32>, %v: i32"),
        function("""linalg.fill ins(%v : i32) outs(%m : memref<?xi32>)
          return""", "%m: memref<?xi32>, %v: i32"),
    ),
}  # fmt: skip
PAIRS["endless for some"] = (
    PAIRS["endless for some"][0].replace("%z =", "%z2 = arith.constant 3 : index\n%z =", 1),
    PAIRS["endless for some"][1],
)
PAIRS["returned memory"] = (
    PAIRS["returned memory"][0],
    PAIRS["returned memory"][1].replace("affine.store", "%c1 = arith.constant 1 : index\naffine.store", 1),
)


def said(report: ValidationReport) -> tuple[Any, ...]:
    """Return all that a report says, but for which of the inputs that differ are shown, and the steps of a short run."""
    skipped = Counter(re.sub(r"than \d+ ops", "than N ops", reason) for reason in report.skipped.elements())
    return (
        report.problem and report.problem.message, report.inputs, report.differing, report.verdicts, skipped,
        report.undefined_by.counts, report.poison_by.counts, report.loosened, report.basis,
        {(shown.outputs, shown.trap) for shown in report.counterexamples},
    )  # fmt: skip


@pytest.mark.parametrize("name", thinned(PAIRS, 4))
def test_the_verdicts_are_those_of_single_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = PAIRS[name]
    together = compared(before, after, 150)
    assert together.problem is None
    monkeypatch.setattr(two_runs, "accesses_together", lambda *_: False)
    assert said(together) == said(compared(before, after, 150))
