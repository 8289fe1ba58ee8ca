"""Functions of JAX as modules, and their results beside JAX's: `hu.from_jax` and `hu.compare`."""

from __future__ import annotations

import inspect
import sys
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.importing.comparison import OutputDistance
from halfulp.interp.ir.base import file_position

JAX = pytest.mark.jax


def jax() -> Any:
    return import_module("jax")


def test_an_absent_jax_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.setattr("halfulp.importing.lowering.find_spec", lambda name: None)
    for call in (hu.from_jax, hu.compare):
        with pytest.raises(hu.Unsupported, match="needs the Python package jax") as caught:
            call(lambda x: x, np.float32(1))
        assert caught.value.hint == "pip install 'jax>=0.5'"


@JAX
def test_a_function_of_nested_arguments_has_flat_ones() -> None:
    def both(x: Any, unused: Any, more: dict[str, Any]) -> dict[str, Any]:
        return {"sum": x + more["y"], "product": x * more["y"]}

    args = (np.array([1, 2], np.float32), np.int8(3), {"y": np.array([0.5, 4], np.float32)})
    module = hu.from_jax(both, *args)
    product, total = hu.run(module, *jax().tree.leaves(args))
    assert product.tolist() == [0.5, 8]
    assert total.tolist() == [1.5, 6]


@JAX
def test_shapes_suffice_and_other_values_go_in_before() -> None:
    struct = jax().ShapeDtypeStruct((2, 3), np.float32)
    module = hu.from_jax(partial(jax().numpy.flip, axis=1), struct)
    assert hu.run(module, np.array([[1, 2, 3], [4, 5, 6]], np.float32))[0].tolist() == [[3, 2, 1], [6, 5, 4]]


@JAX
def test_a_compiled_function_must_keep_its_arguments() -> None:
    def first(x: Any, y: Any) -> Any:
        return x

    x = np.array([1, 2], np.float32)
    with pytest.raises(hu.errors.InputError, match="first has 2 arguments, but JAX kept only the 1") as caught:
        hu.from_jax(jax().jit(first), x, x)
    assert "keep_unused=True" in (caught.value.hint or "")
    assert hu.run(hu.from_jax(jax().jit(first, keep_unused=True), x, x), x, 2 * x)[0].tolist() == [1, 2]


@JAX
def test_ops_know_their_lines_in_the_python_file() -> None:
    def f(x: Any) -> Any:
        return jax().numpy.exp(x)

    (found,) = (op for op in hu.from_jax(f, np.array([1], np.float32)).walk() if op.name == "math.exp")
    place = file_position(found.location)
    assert place is not None
    assert (place.file, place.line) == (__file__, inspect.getsourcelines(f)[1] + 1)


@JAX
def test_constants_of_the_function_are_part_of_the_module() -> None:
    weights = np.arange(2000, dtype=np.float32)
    module = hu.from_jax(lambda x: x * weights, np.zeros(2000, np.float32))
    assert np.array_equal(hu.run(module, np.full(2000, 2, np.float32))[0], 2 * weights)


KEPT = {"exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "tanh": "tanh", "arctan2": "atan2", "sqrt": "sqrt", "cbrt": "cbrt", "power": "powf"}  # fmt: skip
FORMULAS = {"exp2": 2, "sinh": 5, "cosh": 4, "arcsin": 4, "arccosh": 5}


@JAX
@pytest.mark.parametrize("name", KEPT)
def test_a_function_with_an_op_keeps_it(name: str) -> None:
    """As the page From JAX says."""
    function = getattr(jax().numpy, name)
    x = [np.array([0.5], np.float32)] * (2 if name in ("arctan2", "power") else 1)
    computing = [op.name for op in hu.from_jax(function, *x).walk() if op.name.startswith(("math.", "arith."))]
    assert computing == [f"math.{KEPT[name]}"]


@JAX
@pytest.mark.parametrize("name", FORMULAS)
def test_a_function_without_an_op_is_a_formula(name: str) -> None:
    module = hu.from_jax(getattr(jax().numpy, name), np.array([0.5], np.float32))
    assert sum(op.name.startswith(("math.", "arith.")) for op in module.walk()) >= FORMULAS[name]


@JAX
@pytest.mark.parametrize("name", ["sort", "cumsum"])
def test_an_op_that_only_iree_has_is_named(name: str) -> None:
    x = np.array([2, 1], np.float32)
    with pytest.raises(hu.Unsupported, match=r"cannot execute 'iree_linalg_ext\."):
        hu.run(hu.from_jax(getattr(jax().numpy, name), x), x)


@JAX
def test_the_text_of_a_portable_artifact_runs() -> None:
    x = np.array([1, 4, 9], np.float32)
    exported = jax().export.export(jax().jit(jax().numpy.sqrt))(x)
    assert hu.run(hu.from_stablehlo(exported.mlir_module()), x)[0].tolist() == [1, 2, 3]


@JAX
def test_compare_counts_what_differs() -> None:
    def f(x: Any) -> Any:
        jnp = jax().numpy
        exact = {"bool": x > 0, "int": x.astype(jnp.uint8), "nan": jnp.sqrt(-x)}
        # The module adds in bf16, JAX in f32.
        return {**exact, "sum": jnp.dot(x.astype(jnp.bfloat16), jnp.full(256, 0.1, jnp.bfloat16))}

    found = hu.compare(f, np.linspace(1, 2, 256, dtype=np.float32))
    by_name = {output.name: output for output in found.outputs}
    assert list(by_name) == ["['bool']", "['int']", "['nan']", "['sum']"]
    assert [by_name[name].different for name in list(by_name)[:3]] == [0, 0, 0]
    total = by_name["['sum']"]
    ours, theirs = total.ours.item(), total.jax.item()
    assert (found.different, total.different, total.farthest) == (1, 1, ())
    assert total.max_ulp == found.max_ulp == abs(ours - theirs) / hu.ulp(theirs, "bf16")
    assert f"{ours:g}, JAX {theirs:g}" in str(found)
    assert found.to_dict()["outputs"][3]["different"] == 1
    assert "<table>" in found._repr_html_()


def distance(ours: Any, theirs: Any, type_: str) -> OutputDistance:
    return OutputDistance("", hu.Value.from_bits(np.array(ours, np.uint32), type_), hu.Value.from_bits(np.array(theirs, np.uint32), type_))  # fmt: skip


def test_the_distance_of_floats_counts_steps() -> None:
    one, infinity, nan, other_nan = 0x3F800000, 0x7F800000, 0x7FC00000, 0xFFC00001
    found = distance(
        [one, one, 0, 0x80000001, infinity, nan, nan],
        [one, one + 2, 0x80000000, 1, infinity - 1, other_nan, one],
        "f32",
    )
    assert np.array_equal(found.ulp, [0, 2, 0, 2, 1, 0, np.nan], equal_nan=True)
    assert (found.different, found.nan_in_one, found.max_ulp, found.farthest) == (5, 1, 2.0, (6,))


def test_the_distance_of_integers_is_their_difference() -> None:
    found = distance([5, 0xFFFFFFFF], [7, 1], "i32")
    assert found.ulp.tolist() == [2, 2]
    assert found.different == 2


def test_poison_is_counted_apart() -> None:
    program = "func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> { %0 = arith.shli %x, %x : tensor<2xi32>  return %0 : tensor<2xi32> }"
    (ours,) = hu.run(program, np.array([1, 40], np.int32))
    found = OutputDistance("", ours, hu.Value.from_numpy(np.array([2, 0], np.int32)))
    assert (found.poison, found.different, found.nan_in_one, found.max_ulp) == (1, 1, 0, 0.0)
    assert "poison" in found.farthest_text()
