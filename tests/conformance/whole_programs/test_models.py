"""Ten models run at every stage of a lowering, from linalg on tensors to cf: the same bits, and near to float64.

tests/data/programs.md describes the models.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from amounts import thinned
from conftest import MlirOpt
from rounding_bounds import bounds
from tree import ROOT

import halfulp as hu
from halfulp.fp_formats.neighbours import steps_between
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import argument_types
from halfulp.running import find_entry

Floats = npt.NDArray[np.float64]
FOLDER = ROOT / "tests" / "data" / "programs"
MODELS = sorted(path.stem for path in FOLDER.glob("*.npz"))

_BUFFERS = (
    "-linalg-generalize-named-ops",
    # A loop that carries tensors gets a new buffer in each round.
    "-one-shot-bufferize=bufferize-function-boundaries allow-return-allocs-from-loops",
    "-canonicalize",
    "-cse",
)
_TO_CF = ("-buffer-deallocation-pipeline", "-expand-strided-metadata", "-lower-affine")
_EXPANDED = "sinh,cosh,tan,tanh,asinh,acosh,atanh,fma,ceil,exp2,powf,fpowi,round,roundeven,rsqrt"
STAGES: Mapping[str, tuple[str, ...]] = {
    "tensors": _BUFFERS[:1],
    "buffers": _BUFFERS,
    "loops": (*_BUFFERS, "-convert-linalg-to-loops"),
    "parallel": (*_BUFFERS, "-convert-linalg-to-parallel-loops"),
    "vectors": (*_BUFFERS, "-convert-linalg-to-affine-loops", "-affine-super-vectorize=virtual-vector-size=8"),
    "cf": (*_BUFFERS, "-convert-linalg-to-loops", *_TO_CF, "-math-expand-ops", "-arith-expand", "-convert-scf-to-cf"),
}
"""The passes of each stage. None of them changes the order of a reduction."""
STORED = [("fp8_matmul", "vectors"), ("fp8_matmul", "cf"), ("gather_rows_f32", "parallel"), ("layernorm_f32", "loops")]
"""Models and stages whose text is stored, so that they run without MLIR."""


class Approximation(NamedTuple):
    """A function that math-expand-ops replaces by a formula, and the largest distance of each result in ulp.

    Distances are large where terms of the result cancel: everywhere the absolute one is below 2^-19.
    """

    function: str
    ulp: tuple[int, ...]


APPROXIMATIONS = {
    "layernorm_f32": Approximation("rsqrt", (64,)),
    "rope_f32": Approximation("powf", (192,)),
    "scan_tanh_f32": Approximation("tanh", (2, 67)),
}
"""The models whose last stage has other bits. All others have the same."""


@cache
def data(model: str) -> Mapping[str, Any]:
    return dict(np.load(FOLDER / f"{model}.npz"))


@cache
def linalg(model: str) -> str:
    return (FOLDER / f"{model}.linalg.mlir").read_text(encoding="utf-8")


def results(model: str, text: str) -> tuple[hu.Value, ...]:
    """Run a program on the arguments of the model, whether it takes tensors or memrefs."""
    module = hu.load(text)
    types = [ty.TensorType(ty.shape_of(t), ty.element_type(t)) for t in argument_types(find_entry(module))]
    given = [hu.Value.from_bits(data(model)[f"in{k}"], type_) for k, type_ in enumerate(types)]
    return hu.run(module, *given, max_steps=10**8)


@cache
def on_tensors(model: str) -> tuple[hu.Value, ...]:
    return results(model, linalg(model))


def codes(values: tuple[hu.Value, ...]) -> list[Any]:
    assert not any(value.poisoned.any() for value in values)
    return [np.asarray(value.bits).tolist() for value in values]


def test_there_are_ten() -> None:
    assert len(MODELS) == 10


def scanned(x: Floats) -> list[Floats]:
    states = [np.zeros(x.shape[1])]
    for row in x:
        states.append(np.tanh(states[-1] * 0.9 + row))
    return [states[-1], np.stack(states[:-1])]


def rotated(x: Floats) -> list[Floats]:
    angles = np.arange(16)[:, None] / 10000 ** (np.arange(32) / 32)
    low, high = x[..., :32], x[..., 32:]
    halves = (low * np.cos(angles) - high * np.sin(angles), low * np.sin(angles) + high * np.cos(angles))
    return [np.concatenate(halves, -1)]


IN_FLOAT64: Mapping[str, Callable[[Floats], list[Floats]]] = {"scan_tanh_f32": scanned, "rope_f32": rotated}
"""The models whose recorded ``wide`` was computed in f32 in part, by NumPy in float64."""


@pytest.mark.parametrize("model", thinned(MODELS, 3))
def test_results_lie_within_the_bound_of_the_program(model: str) -> None:
    """Ours and what the function is in float64 are both in the interval that the program allows."""
    module = hu.load(linalg(model))
    arguments = [hu.Value.from_bits(data(model)[f"in{k}"], t) for k, t in enumerate(argument_types(find_entry(module)))]
    found = bounds(module, arguments)
    if model in IN_FLOAT64:
        expected = IN_FLOAT64[model](np.asarray(arguments[0].numpy(), np.float64))
    else:
        expected = [data(model)[f"wide{k}"] for k in range(len(found))]
    for result, wide, bound in zip(on_tensors(model), expected, found, strict=True):
        ours = np.asarray(result.numpy(), np.float64)
        assert np.all((bound.low <= ours) & (ours <= bound.high))
        assert np.all((bound.low <= wide) & (wide <= bound.high))
        # The bound says something: most results have it below their own size.
        assert np.median(bound.error) < np.median(np.abs(wide))


@pytest.mark.parametrize("model", ["fp8_matmul", "gather_rows_f32", "int8_matmul_requant", "softmax_bf16"])
def test_these_have_the_bits_that_jax_gives(model: str) -> None:
    """The sums of fp8 products and of integers are exact, a gather moves rows, and the softmax has short sums."""
    for k, result in enumerate(on_tensors(model)):
        assert np.array_equal(result.bits, data(model)[f"jax{k}"])


@pytest.mark.long
@pytest.mark.parametrize(("model", "stage"), thinned(STORED, 4, rows=True))
def test_a_stored_stage_gives_the_same_bits(model: str, stage: str) -> None:
    found = results(model, (FOLDER / f"{model}.{stage}.mlir").read_text(encoding="utf-8"))
    assert codes(found) == codes(on_tensors(model))


@pytest.mark.parametrize(("model", "stage"), STORED)
def test_a_stored_stage_is_what_mlir_opt_prints(model: str, stage: str, mlir_opt: MlirOpt) -> None:
    assert (FOLDER / f"{model}.{stage}.mlir").read_text(encoding="utf-8") == mlir_opt(linalg(model), *STAGES[stage])


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("model", MODELS)
def test_each_stage_gives_the_same_bits(model: str, stage: str, mlir_opt: MlirOpt) -> None:
    found = results(model, mlir_opt(linalg(model), *STAGES[stage]))
    known = APPROXIMATIONS.get(model) if stage == "cf" else None
    if known is None:
        assert codes(found) == codes(on_tensors(model))
    else:
        assert steps(found, on_tensors(model)) == known.ulp
        for one, other in zip(found, on_tensors(model), strict=True):
            assert np.max(np.abs(np.asarray(one.numpy(), np.float64) - np.asarray(other.numpy(), np.float64))) < 2**-19


@pytest.mark.parametrize("model", APPROXIMATIONS)
def test_the_one_function_makes_the_difference(model: str, mlir_opt: MlirOpt) -> None:
    kept = ",".join(name for name in _EXPANDED.split(",") if name != APPROXIMATIONS[model].function)
    passes = [f"-math-expand-ops=ops={kept}" if each == "-math-expand-ops" else each for each in STAGES["cf"]]
    text = mlir_opt(linalg(model), *passes)
    assert f"math.{APPROXIMATIONS[model].function}" in text
    assert codes(results(model, text)) == codes(on_tensors(model))


def steps(found: tuple[hu.Value, ...], expected: tuple[hu.Value, ...]) -> tuple[int, ...]:
    """Return the largest distance of each result in ulp."""
    worst = []
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one.element_type, ty.FloatType)
        worst.append(int(steps_between(one.element_type.format, np.ravel(one.bits), np.ravel(other.bits)).max()))
    return tuple(worst)


@pytest.mark.iree
@pytest.mark.parametrize("model", MODELS)
def test_stablehlo_becomes_the_same_program(model: str) -> None:
    lowered = hu.from_stablehlo(FOLDER / f"{model}.stablehlo.mlir", lower="iree")
    given = [hu.Value.from_bits(data(model)[f"in{k}"], t) for k, t in enumerate(argument_types(find_entry(lowered)))]
    assert codes(hu.run(lowered, *given)) == codes(on_tensors(model))
    names = [[op.name for op in module.walk()] for module in (lowered, hu.load(linalg(model)))]
    assert names[0] == names[1]
