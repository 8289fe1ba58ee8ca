"""JAX beside halfulp on functions that IREE's compiler lowers now: where bits differ, the reason is known, and it is never ours.

Integers and truth values are equal. A float of ours lies in the interval that rounding_bounds.py derives for the order of
the loops. Where JAX's float is another one, one of three reasons holds: JAX is farther from the exact number; the program has
sums, whose additions JAX orders, contracts or widens in its own way, and an interval for any order holds what it gives; or
the program rounds several times, and JAX's fewer roundings come nearer. With one rounding, only the first can be.
"""

from collections.abc import Callable
from enum import Enum
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from jax_functions_generated import KINDS, TYPES, sample
from rounding_bounds import ROUNDED, bounds
from tree import ROOT

import halfulp as hu
from halfulp.interp.dialects.structured.structure import REDUCTION, is_structured, structure_of
from halfulp.interp.ir import types as ty

FOLDER = ROOT / "tests" / "data" / "programs"


class Reason(Enum):
    """The reason of a difference."""

    JAX = "JAX is farther from the exact number"
    ORDER = "the order, or the type, of additions"
    FEWER_ROUNDINGS = "JAX rounds less often"


def has_sums(module: hu.Module) -> bool:
    return any(
        REDUCTION in structure_of(op).iterators and any(inner.name == "arith.addf" for inner in op.walk())
        for op in module.walk()
        if is_structured(op)
    )


def roundings(module: hu.Module) -> int:
    return sum(op.name in {*ROUNDED, "arith.truncf"} for op in module.walk())


def numbers(value: hu.Value) -> npt.NDArray[np.float64]:
    return np.asarray(value.numpy(), np.float64)


def reasons(module: hu.Module, arguments: Any, results: list[tuple[hu.Value, hu.Value]]) -> set[Reason]:
    """Return the reasons of all differences between our results and JAX's. Fail for a difference without one."""
    assert not any(ours.poisoned.any() for ours, _ in results)
    floats = [isinstance(ours.element_type, ty.FloatType) for ours, _ in results]
    if not any(floats):
        assert all(np.array_equal(ours.bits, jax.bits) for ours, jax in results)
        return set()
    found: set[Reason] = set()
    in_order, in_any_order = (bounds(module, arguments, any_order=each) for each in (False, True))
    for (ours, jax), is_float, loops, any_ in zip(results, floats, in_order, in_any_order, strict=True):
        assert is_float or np.array_equal(ours.bits, jax.bits)
        mine, theirs, exact = numbers(ours), numbers(jax), loops.value
        assert np.all((loops.low <= mine) & (mine <= loops.high)), "a result of ours is outside of its bound"
        assert np.all((any_.low <= loops.low + abs(exact) * 2**-30) & (loops.high <= any_.high + abs(exact) * 2**-30))
        differs = mine != theirs
        nearer = differs & (np.abs(theirs - exact) <= np.abs(mine - exact))
        if np.any(differs & ~nearer):
            found.add(Reason.JAX)
        if np.any(nearer):
            assert np.all(((any_.low <= theirs) & (theirs <= any_.high))[nearer])
            assert has_sums(module) or roundings(module) > 1, "ours is not the correctly rounded result"
            found.add(Reason.ORDER if has_sums(module) else Reason.FEWER_ROUNDINGS)
    return found


def compared(function: Callable[..., Any], arguments: tuple[Any, ...], wide: bool = False) -> set[Reason]:
    jax: Any = import_module("jax")
    with jax.enable_x64(wide):
        found = hu.compare(function, *arguments, lower="iree")
    return reasons(found.module, arguments, [(output.ours, output.jax) for output in found.outputs])


# --- the judge ----------------------------------------------------------------------------------------------------------

ONE = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { %0 = math.exp %x : tensor<3xf32>  return %0 : tensor<3xf32> }"
SUM = """
func.func @main(%x: tensor<3xbf16>) -> tensor<bf16> {
  %zero = arith.constant dense<0.0> : tensor<bf16>
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<3xbf16>) outs(%zero : tensor<bf16>) dimensions = [0]
  return %0 : tensor<bf16>
}"""


def off(value: hu.Value, by: int) -> hu.Value:
    return hu.Value.from_bits(np.asarray(value.bits) + np.asarray(by, value.bits.dtype), value.type)


def test_an_error_of_ours_is_found() -> None:
    module, x = hu.load(ONE), np.array([0.1, 0.2, 0.3], np.float32)
    (right,) = hu.run(module, x)
    assert reasons(module, [x], [(right, right)]) == set()
    assert reasons(module, [x], [(right, off(right, 1))]) == {Reason.JAX}
    with pytest.raises(AssertionError):
        reasons(module, [x], [(off(right, 1), right)])


def test_an_error_of_ours_in_a_sum_is_found() -> None:
    module, x = hu.load(SUM), hu.Value.from_numpy(np.array([1.0, 0.0039, 0.0039], np.float32)).astype("bf16")
    (right,) = hu.run(module, x)
    assert right.item() == 1
    # In f32, and then rounded.
    assert reasons(module, [x], [(right, off(right, 1))]) == {Reason.ORDER}
    with pytest.raises(AssertionError, match="outside of its bound"):
        reasons(module, [x], [(off(right, 4), right)])


def test_an_integer_must_be_equal() -> None:
    module = hu.load("func.func @main(%x: tensor<2xi8>) -> tensor<2xi8> { return %x : tensor<2xi8> }")
    (right,) = hu.run(module, np.array([1, 2], np.int8))
    with pytest.raises(AssertionError):
        reasons(module, [], [(right, off(right, 1))])


# --- generated functions ------------------------------------------------------------------------------------------------


@pytest.mark.jax
@pytest.mark.iree
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TYPES)
def test_generated(name: str, kind: str) -> None:
    made = sample(kind, name)
    found = compared(made.function, made.arguments, made.wide)
    if kind == "movement":
        assert not found, made.text


def test_there_are_a_hundred() -> None:
    assert len(TYPES) * len(KINDS) == 100


# --- the ten models, written anew ---------------------------------------------------------------------------------------


def softmax_bf16(x: Any) -> Any:
    jnp: Any = import_module("jax.numpy")
    powers = jnp.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def gelu_erf_f32(x: Any) -> Any:
    return import_module("jax").nn.gelu(x, approximate=False)


def mlp_silu_bf16(x: Any, first: Any, bias: Any, second: Any) -> Any:
    jax: Any = import_module("jax")
    return jax.nn.silu(x @ first + bias) @ second


def layernorm_f32(x: Any, scale: Any, shift: Any) -> Any:
    lax: Any = import_module("jax.lax")
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift


def conv_relu_f32(x: Any, kernel: Any) -> Any:
    jax: Any = import_module("jax")
    layout = ("NHWC", "HWIO", "NHWC")
    return jax.nn.relu(jax.lax.conv_general_dilated(x, kernel, (2, 2), "SAME", dimension_numbers=layout))


def fp8_matmul(x: Any, y: Any) -> Any:
    jnp: Any = import_module("jax.numpy")
    x, y = (each.astype(jnp.float8_e4m3fn).astype(jnp.float32) for each in (x, y))
    return x @ y


def scan_tanh_f32(rows: Any) -> Any:
    jax: Any = import_module("jax")
    return jax.lax.scan(lambda state, row: (jax.numpy.tanh(state * 0.9 + row), state), rows[0] * 0, rows)


def int8_matmul_requant(x: Any, y: Any, scale: Any) -> Any:
    jnp: Any = import_module("jax.numpy")
    product = x.astype(jnp.int32) @ y.astype(jnp.int32)
    return jnp.clip(jnp.round(product.astype(jnp.float32) * scale) + 3, -128, 127).astype(jnp.int8)


def gather_rows_f32(table: Any, rows: Any) -> Any:
    return table.at[rows].get(mode="promise_in_bounds")


def rope_f32(x: Any) -> Any:
    jnp: Any = import_module("jax.numpy")
    angles = jnp.arange(16.0)[:, None] / 10000.0 ** (jnp.arange(32.0) / 32)
    low, high = jnp.split(x, 2, -1)
    halves = (low * jnp.cos(angles) - high * jnp.sin(angles), low * jnp.sin(angles) + high * jnp.cos(angles))
    return jnp.concatenate(halves, -1)


MODELS: dict[Callable[..., Any], tuple[str, ...]] = {
    softmax_bf16: ("bf16",), gelu_erf_f32: ("f32",), mlp_silu_bf16: ("bf16",) * 4, layernorm_f32: ("f32",) * 3,
    conv_relu_f32: ("f32",) * 2, fp8_matmul: ("f32",) * 2, scan_tanh_f32: ("f32",),
    int8_matmul_requant: ("i8", "i8", "f32"), gather_rows_f32: ("f32", "i32"), rope_f32: ("f32",),
}  # fmt: skip
"""The models, and the types of their arguments."""


@pytest.mark.jax
@pytest.mark.iree
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_models(model: Callable[..., Any]) -> None:
    recorded = np.load(FOLDER / f"{model.__name__}.npz")
    arguments = tuple(hu.Value.from_bits(recorded[f"in{k}"], type_).numpy() for k, type_ in enumerate(MODELS[model]))
    found = compared(model, arguments)
    if model in (fp8_matmul, int8_matmul_requant, gather_rows_f32):
        assert not found


def test_all_models_are_written_anew() -> None:
    assert {model.__name__ for model in MODELS} == {path.stem for path in FOLDER.glob("*.npz")}
