"""Random functions: they are well typed here and for mlir-opt, always the same, and mostly defined."""

from __future__ import annotations

from collections import Counter

import pytest

from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.tool import PassPipeline, find_mlir_opt
from halfulp.conformance.whole_programs.fuzz_functions import compare
from halfulp.conformance.whole_programs.generator.functions import all_rows, random_function, random_functions
from halfulp.conformance.whole_programs.generator.grower import elementwise_ops
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir.operations import argument_types
from halfulp.interp.loading import parse_module
from halfulp.interp.verifier import verify

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
