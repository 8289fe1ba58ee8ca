"""Programs that are changed: valid ones, other ones, and the pool that they come from."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.mlir_opt import find_mlir_opt
from halfulp.conformance.oracles.tool import PassPipeline
from halfulp.conformance.whole_programs.fuzz_functions import PassFinding, compare, fuzz_pass, patterns
from halfulp.conformance.whole_programs.generator import mutated
from halfulp.conformance.whole_programs.generator.draft import Draft
from halfulp.conformance.whole_programs.generator.edits import EDITS, Edit, other_element
from halfulp.conformance.whole_programs.generator.grower import RandomFunction, Unfit
from halfulp.conformance.whole_programs.generator.kinds import SEEDS, ops_of, programs_from, seeds_of
from halfulp.conformance.whole_programs.generator.mutated import Mutants, Seed, mutant, programs_of
from halfulp.conformance.whole_programs.rewrite import drop
from halfulp.conformance.whole_programs.validation import Basis
from halfulp.interp.ir.errors import HalfulpError, InputError, VerifyError
from halfulp.interp.loading import parse_module
from halfulp.interp.text.printer import print_module
from halfulp.interp.verifier import verify

LOOPS = """
func.func @f(%m: memref<4xi32>, %v: vector<4xi32>, %n: index, %x: f32) -> (f32, i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : i32
  vector.transfer_write %v, %m[%c0] {in_bounds = [true]} : vector<4xi32>, memref<4xi32>
  %r = scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %x) -> (f32) {
    %y = arith.addf %a, %x fastmath<nnan> : f32
    scf.yield %y : f32
  }
  %w = arith.extf %r : f32 to f64
  %t = arith.truncf %w : f64 to f32
  %s = vector.reduction <add>, %v, %c7 : vector<4xi32> into i32
  return %t, %s : f32, i32
}
"""

MATMUL = """
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
func.func @f(%a: tensor<2x2xi32>, %b: tensor<2x2xi32>, %c: tensor<2x2xi32>) -> tensor<2x2xi32> {
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
       ins(%a, %b : tensor<2x2xi32>, tensor<2x2xi32>) outs(%c : tensor<2x2xi32>) {
  ^bb0(%x: i32, %y: i32, %z: i32):
    %p = arith.muli %x, %y : i32
    %s = arith.addi %z, %p : i32
    linalg.yield %s : i32
  } -> tensor<2x2xi32>
  return %r : tensor<2x2xi32>
}
"""


SLICES = """
func.func @f(%t: tensor<1x4xi8>) -> (tensor<1x4xi8>, i32) {
  %c0 = arith.constant 0 : index
  %s = tensor.extract_slice %t[0, 1] [1, 2] [1, 1] : tensor<1x4xi8> to tensor<2xi8>
  %r = tensor.insert_slice %s into %t[0, 0] [1, 2] [1, 1] : tensor<2xi8> into tensor<1x4xi8>
  %x = tensor.extract %r[%c0, %c0] : tensor<1x4xi8>
  %w = arith.extui %x : i8 to i32
  return %r, %w : tensor<1x4xi8>, i32
}
"""

MASKED = """
func.func @f(%m: memref<4xi32>, %n: index, %mask: vector<4xi1>) -> vector<4xi32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 7 : i32
  %v = vector.transfer_read %m[%c0], %pad, %mask {in_bounds = [true]} : memref<4xi32>, vector<4xi32>
  return %v : vector<4xi32>
}
"""


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_each_edit_makes_other_programs_that_are_valid(edit: Edit) -> None:
    made = set()
    for text in (LOOPS, MATMUL, SLICES):
        module = parse_module(text, "<test>")
        before = text_of(module)
        for seed in range(12):
            draft = Draft(module, random.Random(seed))
            try:
                edit(draft)
                verify(draft.module)
            except (Unfit, ValueError, HalfulpError):
                continue
            made.add(text_of(parse_module(text_of(draft.module), "<again>")))
        assert text_of(module) == before, "the program itself was changed"
        made.discard(before)
    assert len(made) >= 3, made


def test_large_values_are_not_compared() -> None:
    text = """func.func @f() -> tensor<?xi8> {
  %n = arith.constant 100000000 : index
  %x = arith.constant 1 : i8
  %0 = tensor.splat %x[%n] : tensor<?xi8>
  return %0 : tensor<?xi8>
}"""
    one, two = (parse_module(each, "<test>") for each in (text, text.replace("1 : i8", "2 : i8")))
    found = compare(one, two, seed=1)
    assert found.basis is Basis.NOTHING
    assert found.skipped == {"a value of type 'tensor<?xi8>' takes 100000000 bytes; the limit is 4194304": 1}


def test_constants_of_complex_numbers_keep_their_type() -> None:
    text = """func.func @f(%x: tensor<2xi32>) -> (tensor<2xcomplex<i32>>, tensor<2xi32>) {
  %c = arith.constant dense<[(1, 2), (3, 4)]> : tensor<2xcomplex<i32>>
  %y = arith.addi %x, %x : tensor<2xi32>
  return %c, %y : tensor<2xcomplex<i32>>, tensor<2xi32>
}"""
    module = parse_module(text, "<test>")
    for seed in range(9):
        with suppress(Unfit):
            other_element(Draft(module, random.Random(seed)))


def test_a_changed_program_is_what_its_text_says_and_depends_on_the_seed() -> None:
    module = parse_module(MATMUL, "<test>")
    made = [[mutant(module, random.Random(seed)) or module for seed in range(20)] for _ in range(2)]
    texts = [list(map(text_of, modules)) for modules in made]
    generic = [print_module(each, generic=True) for each in made[0]]
    assert texts[0] == texts[1]
    assert len(set(texts[0])) > 15
    for text in texts[0]:
        module = parse_module(text, "<again>")
        assert text_of(module) == text
        assert print_module(module, generic=True) in generic


def test_a_program_that_uses_what_was_dropped_inside_a_region_is_not_valid() -> None:
    module = parse_module(
        "func.func @f(%c: i1, %x: i8) -> i8 { %y = arith.addi %x, %x : i8\n"
        "%r = scf.if %c -> i8 { scf.yield %y : i8 } else { scf.yield %x : i8 }\n return %r : i8 }",
        "<test>",
    )
    drop(next(op for op in module.walk() if op.name == "arith.addi"))
    with pytest.raises(VerifyError, match="defined outside the region"):
        verify(module)


def test_bodies_that_follow_from_the_name_of_an_op_are_not_changed() -> None:
    module = parse_module(
        "func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {\n"
        "%r = linalg.add ins(%a, %a : tensor<2xf32>, tensor<2xf32>) outs(%b : tensor<2xf32>) -> tensor<2xf32>\n"
        "return %r : tensor<2xf32> }",
        "<test>",
    )
    assert [op.name for op in Draft(module, random.Random(0)).ops()] == ["linalg.add", "func.return"]


def test_programs_of_files(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.mlir").write_text(
        "func.func @one(%x: f32) -> f32 { %y = func.call @two(%x) : (f32) -> f32\n return %y : f32 }\n"
        "func.func private @two(%x: f32) -> f32 { %y = arith.negf %x : f32\n return %y : f32 }\n"
        "func.func @nothing() { return }\n"
        "// -----\nfunc.func @wrong(%x: f32) -> f64 { return %x : f32 }\n"
        '// -----\nfunc.func @unknown(%x: f32) -> f32 { %y = "some.op"(%x) : (f32) -> f32\n return %y : f32 }\n'
    )
    (tmp_path / "deep" / "b.mlir").write_text(MATMUL)
    (tmp_path / "deep" / "b.txt").write_text(MATMUL)
    found = [[op.symbol_name for op in seed.module.body] for seed in programs_of([tmp_path])]
    assert found == [["f", "two"], ["f"], ["f"]]
    assert len(list(programs_of([tmp_path / "deep" / "b.txt"]))) == 1
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="halfulp runs no function of .*empty"):
        seeds_of([tmp_path / "empty"])
    with pytest.raises(InputError, match=r"cannot read '.*absent\.mlir': No such file"):
        list(programs_of([tmp_path / "absent.mlir"]))


def test_programs_whose_file_names_the_pass_are_given_first() -> None:
    commands = ["// RUN: mlir-opt %s -a-pass", "", '// RUN: mlir-opt %s --other="x" -pass', "// RUN: mlir-opt --pass=x"]
    seeds = [Seed(parse_module(MATMUL, "<test>"), line) for line in commands]
    for name, first in (("pass", {2, 3}), ("a-pass", {0}), ("other{y=1}", {2}), ("", {0, 1, 2, 3})):
        given = [program.module for program in Mutants(seeds, name).functions(5, 8, 0)][::2]
        places = [index for module in given for index, seed in enumerate(seeds) if seed.module is module]
        assert sorted(places) == [0, 1, 2, 3]
        assert set(places[: len(first)]) == first


def test_patterns_pair_what_a_pass_removes_with_what_it_makes() -> None:
    assert patterns(Counter({"a": 2, "b": 1}), Counter({"a": 1, "b": 1})) == {("a", ""), ("", "")}
    assert patterns(Counter({"a": 1, "b": 1}), Counter({"c": 1})) == {
        (one, two) for one in ("a", "b", "") for two in ("c", "")
    }


def test_the_pool_keeps_programs_after_which_a_pass_did_something_new(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Mutants([Seed(parse_module(MATMUL, "<test>"))])
    one = RandomFunction(1, 0, parse_module(LOOPS, "<test>"))
    pool.learn(one)
    assert pool.kept == [one.module]
    (first, second) = pool.functions(1, 2, 0)
    assert first.module is pool.seeds[0].module
    assert text_of(second.module) != text_of(first.module)

    def breaks(*arguments: object) -> None:
        monkeypatch.undo()
        raise IndexError("beyond")

    monkeypatch.setattr(mutated, "mutant", breaks)
    assert len(list(pool.functions(1, 2, 0))) == 2
    assert pool.errors == {"internal error in breaks of test_mutated.py: IndexError: beyond; please report it": 1}


@pytest.mark.torch_mlir
@pytest.mark.parametrize(
    ("passes", "program", "seed", "programs", "before", "after"),
    [
        # An op between product and sum gets lost.
        ("linalg-specialize-generic-ops", MATMUL, 6, 2, "linalg.generic", "linalg.matmul"),
        # Sums of products of i1 are taken for or of ands.
        ("linalg-specialize-generic-ops", MATMUL, 5, 2, "xi1>", "linalg.matmul"),
        # The mask of the op itself gets lost.
        ("func.func(lower-vector-mask)", MASKED, 22, 2, "vector.mask %", "vector.transfer_read"),
    ],
    ids=["between", "i1", "mask"],
)
def test_wrong_rewrites_of_mlir_24_are_found(
    passes: str, program: str, seed: int, programs: int, before: str, after: str, tmp_path: Path
) -> None:
    pipeline = PassPipeline(find_mlir_opt("24"), f"builtin.module({passes})", in_generic_form=True)
    (tmp_path / "a.mlir").write_text(program)
    kind = programs_from("mutated", pipeline.tool, seeds=seeds_of([tmp_path])).kind
    found = fuzz_pass(pipeline, programs, seed=seed, kind=kind).findings
    assert any(isinstance(one, PassFinding) and before in one.before and after in one.after for one in found), found


def test_programs_that_take_long(tmp_path: Path) -> None:
    """A loop without an end is a program, for a few steps; one with large values is not."""
    endless = """func.func @f(%x: tensor<4xi1>) -> tensor<4xi1> {
      %c0 = arith.constant 0 : index
      %r = scf.while (%a = %x) : (tensor<4xi1>) -> tensor<4xi1> {
        %e = tensor.extract %a[%c0] : tensor<4xi1>
        %t = arith.constant true
        scf.condition(%t) %a : tensor<4xi1>
      } do {
      ^bb0(%a: tensor<4xi1>):
        scf.yield %a : tensor<4xi1>
      }
      return %r : tensor<4xi1>
    }"""
    large = "func.func @f(%x: tensor<200x100xf32>) -> tensor<200x100xf32> { return %x : tensor<200x100xf32> }"
    for text, expected in ((endless, 1), (large, 0)):
        (tmp_path / "p.mlir").write_text(text)
        assert len(list(programs_of([tmp_path / "p.mlir"]))) == expected


def test_all_small_programs_of_tosa_can_be_changed() -> None:
    pool = Mutants(list(programs_of([SEEDS["tosa"]])))
    assert len(pool.seeds) == SEEDS["tosa"].read_text(encoding="utf-8").count("func.func @")
    names = {name for seed in pool.seeds for name in ops_of(seed.module) if name.startswith("tosa.")}
    assert len(names) > 35
