"""Whole operators of TOSA that are drawn: their programs, and their vectors beside Arm's reference model."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from amounts import amounts

import halfulp as hu
from halfulp.conformance.comparing.tosa_bounds import judged, operands_of, operator_of
from halfulp.conformance.oracles.oracle import ClosedProgram
from halfulp.conformance.oracles.tosa_model import TosaModel
from halfulp.conformance.vectors.computation import OpComputation, ProgramComputation
from halfulp.conformance.vectors.tosa_drawing import MOST, MOST_RANK, OPERATORS, drawn_operator
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError
from halfulp.interp.ir.operations import argument_types
from halfulp.interp.values.value import Value

TARGET = "1.1.draft,8k,pro_int,pro_fp,bf16,int4,int16,int64,fp8e4m3,fp8e5m2,fft,doubleround,mxfp,mxfp_conv,strict"
"""All that the drawn operators need; the level limits ranks, kernels, strides and scales."""


def drawn(draws: int) -> Iterator[tuple[str, str, int]]:
    return (
        (op, type_, draw) for op, (types, _) in OPERATORS.items() for type_ in types for draw in range(1, 1 + draws)
    )


@pytest.mark.parametrize("draws", amounts(1, long=20))
def test_programs_satisfy_the_specification(draws: int) -> None:
    """The verifier and the checks of `tosa-validate`, which tests compare with MLIR, reject none."""
    for op, type_, draw in drawn(draws):
        program = drawn_operator(f"tosa.{op}", type_, 7, draw)
        module = hu.parse(program.text)
        assert not hu.tosa_problems(module, TARGET), program.text
        for argument in argument_types(module.body[0]):
            shape = [size or 0 for size in ty.shape_of(argument) or ()]
            assert len(shape) <= MOST_RANK
            assert np.prod(shape) <= 4 * MOST


def test_the_same_numbers_give_the_same_program() -> None:
    one, same, other = (drawn_operator("tosa.conv2d", "i8", 3, draw) for draw in (5, 5, 6))
    assert one == same
    assert one.text != other.text
    assert drawn_operator("tosa.conv2d", "i8", 4, 5).text != one.text


@pytest.mark.tosa
@pytest.mark.parametrize("every", amounts(24, long=2))
def test_the_reference_model_gives_the_same_results(every: int) -> None:
    """Integers, booleans and moves are equal; floats are within the bounds of the specification."""
    model = TosaModel()
    cases = list(drawn(1))
    for op, type_, draw in cases[::every]:
        recipe = hu.vectors(f"tosa.{op}", type_, seed=11, draw=draw, n=1).recipe
        row, computation = recipe.given(0, 1), recipe.computation
        assert isinstance(computation, ProgramComputation)
        arguments = tuple(computation.arguments(row, 0))
        (reply,) = model.run([ClosedProgram(computation.module, f"@{computation.function}", arguments)])
        assert isinstance(reply, tuple), (op, type_, reply)
        ours = hu.run(computation.module, *arguments)
        if all(np.array_equal(mine.bits, theirs.bits) for mine, theirs in zip(ours, reply, strict=True)):
            continue
        operator = operator_of(computation.target)
        given = operands_of(operator, computation.target, arguments)
        answered = [Value(mine.type, theirs.bits) for mine, theirs in zip(ours, reply, strict=True)]
        for results in ours, answered:
            assert all(verdict.ok for verdict in judged(operator, given, results)), (op, type_)
        assert isinstance(ours[0].element_type, ty.FloatType), (op, type_)


def test_vectors_of_a_drawn_operator_are_checked_by_their_metadata(tmp_path: Path) -> None:
    made = hu.vectors("tosa.max_pool2d", "i8", draw=2, n=3)
    metadata = made.write(tmp_path, "npz")
    assert metadata.name == "max_pool2d_i8_draw2.json"
    assert "tosa.max_pool2d" in metadata.read_text()
    assert hu.check(metadata.with_suffix(".npz")).equal
    # Of an elementwise op, rows of single elements are made unless a draw is given.
    assert isinstance(hu.vectors("tosa.add", "f16", n=3).computation, OpComputation)
    assert isinstance(hu.vectors("tosa.add", "f16", draw=1, n=3).computation, ProgramComputation)


@pytest.mark.parametrize(
    ("op", "given", "message"),
    [
        ("tosa.conv2d", {"type": "f64"}, "'tosa.conv2d' is drawn for the types i8, i16"),
        ("tosa.conv2d", {"type": ["i8", "i4"]}, "only the first is chosen"),
        ("tosa.conv2d", {"type": "i8", "acc_type": "i32"}, "acc_type can be used only with an elementwise op"),
        ("arith.addf", {"type": "f32", "draw": 1}, "'arith.addf' has no shapes and attributes to draw"),
    ],
)
def test_what_cannot_be_drawn_is_refused(op: str, given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        hu.vectors(op, n=2, **given)  # type: ignore[arg-type]
