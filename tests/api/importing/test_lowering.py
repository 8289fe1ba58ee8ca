"""Functions of JAX as modules, and their results beside JAX's: `hu.from_jax` and `hu.compare`."""

import inspect
import stat
import subprocess
import sys
import warnings
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.command import main as cli
from halfulp.conformance.oracles.oracle import Unavailable
from halfulp.conformance.oracles.tool import Tool
from halfulp.importing import comparison, lowering
from halfulp.importing.comparison import Comparison, OutputDistance
from halfulp.interp.ir.base import FileLineCol, file_position

JAX = pytest.mark.jax
IREE = pytest.mark.iree


def jax() -> Any:
    return import_module("jax")


def test_an_absent_jax_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.setattr("halfulp.importing.common.find_spec", lambda name: None)
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
def test_a_key_of_random_numbers_is_its_words() -> None:
    def split(key: Any) -> Any:
        return jax().random.split(key)

    key = jax().random.key(7)
    for (found,) in (hu.run(split, key), hu.run(hu.from_jax(split, key), key)):
        assert np.array_equal(found.numpy(), jax().random.key_data(split(key)))


@JAX
def test_a_compiled_function_must_keep_its_arguments() -> None:
    def first(x: Any, y: Any) -> Any:
        return x

    x = np.array([1, 2], np.float32)
    with pytest.raises(hu.errors.InputError, match="first has 2 arguments, but JAX kept only the 1") as caught:
        hu.from_jax(jax().jit(first), x, x)
    assert "keep_unused=True" in (caught.value.hint or "")
    assert hu.run(hu.from_jax(jax().jit(first, keep_unused=True), x, x), x, 2 * x)[0].tolist() == [1, 2]
    for _ in range(2):  # the second jax.jit of such an object ends the process
        with pytest.raises(hu.TypeMismatch, match=r"(?s)does not trace exp, .* ufunc.*such as jax\.numpy\.exp"):
            hu.run(np.exp, x)


@JAX
@pytest.mark.parametrize(
    ("lower", "name"), [("stablehlo", "stablehlo.exponential"), pytest.param("iree", "math.exp", marks=IREE)]
)
def test_ops_know_their_lines_in_the_python_file(lower: Any, name: str) -> None:
    def f(x: Any) -> Any:
        return jax().numpy.exp(x)

    (found,) = (op for op in hu.from_jax(f, np.array([1], np.float32), lower=lower).walk() if op.name == name)
    place = file_position(found.location)
    assert place is not None
    assert (place.file, place.line) == (__file__, inspect.getsourcelines(f)[1] + 1)


@JAX
def test_tables_and_traces_name_lines_that_users_can_look_up() -> None:
    def f(layers: Any, x: Any) -> Any:
        low = x.astype("bfloat16")
        return low @ layers[0]["wq"].astype("bfloat16")

    layers, x = [{"wq": np.ones((3, 2), np.float32) / 7}], np.ones((2, 3), np.float32) / 3
    module = hu.from_jax(f, layers, x)
    first, printed = inspect.getsourcelines(f)[1], hu.print_module(module).split("\n")
    arguments = (layers[0]["wq"], x)
    casts = {"%arg1 is x": first + 1, "%arg0 is layers[0]['wq']": first + 2}
    trace = hu.trace(module, *arguments, shadow=True)
    tables = [str(hu.sensitivity(module, *arguments, formats=["f32"])), str(trace.errors)]
    for label, line in casts.items():
        for table in tables:
            (row,) = (row for row in table.split("\n") if row.endswith(label))
            assert f"test_lowering.py:{line}, " in row
            number = next(int(cell) for cell in row.split("  ") if cell.strip().isdigit() and int(cell) > 1)
            assert printed[number - 1].strip() in row
    assert "  %arg0 layers[0]['wq'] 3x2xf32=" in str(trace)
    with pytest.raises(hu.TypeMismatch, match=r"argument 0 of @main \(layers\[0\]\['wq'\]\)"):
        hu.run(module, x, x)


@JAX
def test_a_function_of_jax_has_the_line_that_calls_halfulp() -> None:
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
    module = hu.from_jax(jax().numpy.exp, np.array([1], np.float32))
    for op in module.walk():
        place = file_position(op.location)
        assert place is None or (place.file, place.line) == (__file__, line)


@JAX
def test_constants_of_the_function_are_part_of_the_module() -> None:
    weights = np.arange(2000, dtype=np.float32)
    module = hu.from_jax(lambda x: x * weights, np.zeros(2000, np.float32))
    assert np.array_equal(hu.run(module, np.full(2000, 2, np.float32))[0], 2 * weights)


@JAX
@IREE
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("fields", [(5, 10), (4, 3), (8, 7), (5, 2), (2, 1), (8, 10), (5, 6), (1, 0)])
def test_a_reduced_precision_is_one_op_with_the_bits_of_xla(fields: tuple[int, int], dtype: str) -> None:
    def f(x: Any) -> Any:
        return jax().lax.reduce_precision(x, *fields)

    kind = jax().numpy.dtype(dtype)
    codes = np.arange(0, 1 << 16, 23, dtype=np.uint16)
    x = (codes.astype(np.uint32) << 16 | 0x7FFF).view(np.float32) if kind.itemsize == 4 else codes.view(kind)
    module = hu.from_jax(f, x, lower="iree")
    exponent, mantissa = {"float32": (8, 23), "float16": (5, 10), "bfloat16": (8, 7)}[dtype]
    rounds = fields[0] < exponent or fields[1] < mantissa
    computing = [op.name for op in module.walk() if op.name.startswith(("arith.", "math.", "halfulp."))]
    assert computing == ["halfulp.reduce_precision"] * rounds
    xla, ours = np.asarray(f(x)), hu.run(module, x)[0].numpy()
    with np.errstate(invalid="ignore"):  # a signalling NaN of bf16
        assert np.array_equal(ours, xla, equal_nan=True)
    assert np.array_equal(np.signbit(ours), np.signbit(xla))


KEPT = {"exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "tanh": "tanh", "arctan2": "atan2", "sqrt": "sqrt", "cbrt": "cbrt", "power": "powf"}  # fmt: skip
FORMULAS = {"exp2": 2, "sinh": 5, "cosh": 4, "arcsin": 4, "arccosh": 5}


@JAX
@IREE
@pytest.mark.parametrize("name", KEPT)
def test_a_function_with_an_op_keeps_it(name: str) -> None:
    """As the page From JAX says."""
    function = getattr(jax().numpy, name)
    x = [np.array([0.5], np.float32)] * (2 if name in ("arctan2", "power") else 1)
    computing = [
        op.name for op in hu.from_jax(function, *x, lower="iree").walk() if op.name.startswith(("math.", "arith."))
    ]
    assert computing == [f"math.{KEPT[name]}"]


@JAX
@IREE
@pytest.mark.parametrize("name", FORMULAS)
def test_a_function_without_an_op_is_a_formula(name: str) -> None:
    module = hu.from_jax(getattr(jax().numpy, name), np.array([0.5], np.float32), lower="iree")
    assert sum(op.name.startswith(("math.", "arith.")) for op in module.walk()) >= FORMULAS[name]


@JAX
@IREE
@pytest.mark.parametrize("name", ["sort", "cumsum"])
def test_an_op_that_only_iree_has_is_named(name: str) -> None:
    x = np.array([2, 1], np.float32)
    with pytest.raises(hu.Unsupported, match=r"cannot execute 'iree_linalg_ext\.") as caught:
        hu.run(hu.from_jax(getattr(jax().numpy, name), x, lower="iree"), x)
    assert "compute that step outside of the program" in (caught.value.hint or "")


@JAX
@IREE
def test_a_call_of_a_library_is_named_with_its_line_in_the_python_file() -> None:
    def f(x: Any) -> Any:
        return jax().numpy.linalg.cholesky(x)

    with pytest.raises(hu.Unsupported, match=r"'stablehlo\.custom_call' of lapack_spotrf_ffi") as caught:
        hu.from_jax(f, np.eye(3, dtype=np.float32), lower="iree")
    assert str(caught.value).startswith(f"{__file__}:{inspect.getsourcelines(f)[1] + 1}:")
    assert "outside of the program" in (caught.value.hint or "")


@JAX
@pytest.mark.parametrize("call", [hu.run, hu.compare])
def test_other_arguments_than_arrays_are_converted_or_refused(call: Any) -> None:
    power = jax().jit(lambda x, n: x**n, static_argnums=1)
    x = np.array([1, 2], np.float32)
    with pytest.raises(hu.errors.InputError, match="2 arguments, of which JAX takes 1 as arrays") as caught:
        call(power, x, 3)
    assert "functools.partial(f, n=3)" in (caught.value.hint or "")
    assert hu.run(partial(power, n=3), x)[0].tolist() == [1, 8]
    for other in (hu.run(jax().numpy.negative, x)[0], x.astype(">f4")):
        assert call(jax().numpy.negative, other)
    with pytest.raises(hu.errors.InputError, match="1 of 2 elements are masked"):
        call(jax().numpy.negative, np.ma.array(x, mask=[True, False]))
    with pytest.raises(hu.TypeMismatch, match=r"ShapeDtypeStruct.*has no values"):
        call(jax().numpy.negative, jax().ShapeDtypeStruct((2,), np.float32))


@JAX
def test_symbolic_shapes_are_refused_with_what_to_do() -> None:
    (size,) = jax().export.symbolic_shape("b")
    with pytest.raises(hu.Unsupported, match="has symbolic shapes") as caught:
        hu.from_jax(lambda x: x.sum(), jax().ShapeDtypeStruct((size,), np.float32))
    assert "once for each shape" in (caught.value.hint or "")


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
    assert "result [1] is poison: shift amount is not less than the bit width (arith.shli at" in str(
        Comparison("f", hu.load(program), (found,))
    )
    assert "result [1] is poison" in Comparison("f", hu.load(program), (found,))._repr_html_()


def test_no_distance_is_shown_if_no_element_is_measured() -> None:
    found = distance([0x7FC00000], [0x3F800000], "f32")
    cells = dict(zip(comparison._HEAD, found.row(), strict=True))
    assert [cells[name] for name in ("different", "max ulp", "mean ulp", "NaN in one")] == ["1", "none", "none", "1"]


def pooling(op: str, initial: float, window: tuple[int, ...], padding: str) -> Any:
    """Return the function that scatters 1, 2, 3 … to what a pool selects."""

    def gradient(x: Any) -> Any:
        pooled, back = jax().vjp(lambda x: jax().lax.reduce_window(x, np.array(initial, x.dtype)[()], getattr(jax().lax, op), window, window, padding), x)  # fmt: skip
        return back(jax().numpy.arange(1, 1 + pooled.size).reshape(pooled.shape).astype(x.dtype))[0]

    return gradient


POOLS: dict[str, tuple[str, float, tuple[int, ...], str, list[Any], list[Any]]] = {
    "one of two": ("max", -np.inf, (2,), "VALID", [0.5, 2, -1, 3], [0, 1, 0, 2]),
    # StableHLO keeps the selected element while select(selected, new) is true: of equal elements the first.
    "equal elements": ("max", -np.inf, (2,), "VALID", [1, 1, -0.0, 0.0], [1, 0, 2, 0]),
    # A comparison with a NaN is false, so that the next element is selected.
    "NaN": ("max", -np.inf, (3,), "VALID", [np.nan, 1, 0, 1, np.nan, 0], [0, 1, 0, 0, 0, 2]),
    "the least": ("min", np.inf, (2,), "VALID", [3, 2, 2, 2], [0, 1, 2, 0]),
    "padded": ("max", -np.inf, (2,), "SAME", [1, 2, -4], [0, 1, 2]),
    "two axes": ("max", -np.inf, (2, 2), "VALID", [[1, 5, 3, 3], [5, 2, 3, 3]], [[0, 1, 2, 0], [0, 0, 0, 0]]),
}


@JAX
@pytest.mark.parametrize("lower", ["stablehlo", pytest.param("iree", marks=IREE)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("pool", POOLS)
def test_the_gradient_of_a_pool_goes_to_what_stablehlo_selects(pool: str, dtype: str, lower: Any) -> None:
    op, initial, window, padding, given, wanted = POOLS[pool]
    x = np.array(given, jax().numpy.dtype(dtype))
    (found,) = hu.run(hu.from_jax(pooling(op, initial, window, padding), x, lower=lower), x)
    assert found.tolist() == wanted


def mlp(parameters: dict[str, Any], x: Any) -> Any:
    hidden = jax().nn.relu(x @ parameters["w"] + parameters["b"])
    return jax().nn.softmax(hidden @ parameters["v"])


@JAX
@IREE
def test_formats_cost_the_same_in_both_forms_of_a_function() -> None:
    """Sensitivity and ranking of StableHLO and of linalg: the same changes of the same ops, with the same errors."""
    normal = np.random.default_rng(0).normal
    shapes: dict[str, tuple[int, ...]] = {"w": (4, 8), "b": (8,), "v": (8, 3)}
    parameters = {name: normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    x = normal(size=(2, 4)).astype(np.float32)
    given = jax().tree.leaves((parameters, x))
    modules = [hu.from_jax(mlp, parameters, x, lower=lower) for lower in ("stablehlo", "iree")]
    rows = [hu.sensitivity(module, *given, formats=["bf16", "f64"]).rows for module in modules]
    changes = [sorted((row.to, row.before, row.after) for row in each) for each in rows]
    assert changes[0] == changes[1]
    ranks = [
        [(each.kind, each.name, each.size) for each in hu.rank(module, *given, formats="bf16")] for module in modules
    ]
    assert ranks[0] == ranks[1]


@JAX
@IREE
def test_bisect_goes_from_stablehlo_to_the_lowering() -> None:
    def f(x: Any) -> Any:
        return (x * x).astype("uint8"), jax().lax.erf(x)

    x = np.array([-0.4495143, 1, 2], np.float32)
    found = hu.bisect(hu.from_jax(f, x), x, stages=[hu.from_jax(f, x, lower="iree")])
    # The first result is the same, of i8 in place of ui8; erf is a polynomial.
    assert (found.guilty, found.results[1].judgement.value) == (1, "DIFFERENT")
    assert "result[1] [0]" in str(found)


@JAX
def test_the_formats_of_a_loop_change_in_all_its_iterations() -> None:
    def f(x: Any) -> Any:
        return jax().lax.fori_loop(0, 3, lambda k, c: c * x, x)

    x = np.array([1.1], np.float32)
    (row,) = (row for row in hu.sensitivity(f, x, formats=["f64"]).rows if row.op == "stablehlo.multiply")
    # In f64 the powers of x have an error below one of f32, until the last rounding.
    (before,), (after,) = (
        np.abs(np.float64(each) - np.float64(x) ** 4) for each in (((x * x) * x) * x, np.float32(np.float64(x) ** 4))
    )
    ulp = hu.ulp(float(x[0]) ** 4, "f32")
    assert (row.before, row.after) == pytest.approx((before / ulp, after / ulp))


# --- functions and models that are called -----------------------------------------------------------------------------


@JAX
def test_a_function_of_jax_runs_as_it_is() -> None:
    def f(weights: dict[str, Any], x: Any, factor: float) -> Any:
        return {"low": weights["w"] * x, "more": x * factor}

    w, x = np.array([1, 2], np.float32), np.array([0.5, 4], np.float32)
    assert [each.tolist() for each in hu.run(f, {"w": w}, x, 3.0)] == [[0.5, 8], [1.5, 12]]
    trace = hu.trace(f, {"w": w}, x, 3.0, shadow=True)
    assert [each.value.tolist() for each in trace.arguments if each.value is not None] == [[1, 2], [0.5, 4], 3]
    rows = hu.sensitivity(jax().jit(f), {"w": w}, x, 3.0, formats=["bf16"]).rows
    assert {row.op for row in rows} == {"stablehlo.multiply"}
    costs = hu.rank(f, {"w": w}, x, 3.0, formats="f8E4M3FN")
    assert {(row.kind, row.name, row.place.rpartition("/")[2].split(":")[0]) for row in costs} == {
        ("weight", "weights['w']", "test_lowering.py"),
        ("input", "x", "test_lowering.py"),
        ("input", "factor", "test_lowering.py"),
        ("op", "mul of weights['w']", "test_lowering.py"),
        ("op", "mul", "test_lowering.py"),
    }
    assert {row.op for row in hu.exception_flags(jax().numpy.sqrt, np.array([2], np.float32)).ops} >= {"stablehlo.sqrt"}


@JAX
def test_what_jax_cannot_trace_says_what_halfulp_takes() -> None:
    jnp = jax().numpy
    x = np.array([1, 2], np.float32)
    for wrong in (lambda a: np.sin(a), lambda a: a * float(a[0]), lambda a: jnp.sum(a, axis=a[0])):
        with pytest.raises(TypeError) as caught:
            hu.run(wrong, x)
        assert any("functools.partial" in note for note in caught.value.__notes__)
    with pytest.raises(TypeError) as caught:
        hu.run(lambda a: a, x, x)
    assert not any("functools.partial" in note for note in getattr(caught.value, "__notes__", ()))
    for staged, call in (
        (jax().jit(jnp.sin).lower(x), "hu.load(lowered.as_text())"),
        (jax().export.export(jax().jit(jnp.sin))(x), "hu.load(exported.mlir_module())"),
        (jax().make_jaxpr(jnp.sin)(x), "hu.from_jax(f, x)"),
    ):
        with pytest.raises(hu.TypeMismatch) as refused:
            hu.run(staged, x)
        assert call in (refused.value.hint or "")


@pytest.mark.torch
def test_a_function_of_jax_takes_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch")
    weights = {"w": torch.tensor([1.5, 2.0], dtype=torch.bfloat16, requires_grad=True)}
    (product,) = hu.run(lambda p, x: p["w"] * x, weights, torch.tensor([2.0, 3.0]).to(torch.bfloat16))
    assert (str(product.type), product.tolist()) == ("tensor<2xbf16>", [3, 6])
    assert hu.compare(jax().numpy.negative, torch.tensor([1.5])).different == 0


# --- stablehlo --------------------------------------------------------------------------------------------------------
#
# StableHLO runs: `hu.from_stablehlo`, `halfulp run`, and the errors of what is missing, rejected or too slow.

TEXT = """// Twice.
func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %x, %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}
"""
GENERIC = TEXT.replace("stablehlo.add %x, %x : tensor<3xf32>", '"stablehlo.add"(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>')  # fmt: skip


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the place of IREE's compiler: a script that a test writes."""
    script = tmp_path / "iree-compile"
    script.touch(stat.S_IRWXU)
    monkeypatch.setattr(lowering, "_compiler", lambda: Tool(str(script), "3.13"))
    return script


def test_an_absent_compiler_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> Tool:
        raise Unavailable("iree-compile is not on PATH")

    monkeypatch.setattr(lowering, "_compiler", absent)
    with pytest.raises(hu.Unsupported, match="iree-compile is not on PATH") as caught:
        hu.from_stablehlo(TEXT, lower="iree")
    assert caught.value.hint == "pip install 'iree-base-compiler==3.13.*'"


def test_a_rejected_program_is_an_error_at_its_line(tool: Path) -> None:
    tool.write_text("#!/bin/sh\necho '<stdin>:3:8: error: it is not pretty: loc(\"x\")' >&2\nexit 1\n")
    with pytest.raises(hu.errors.InputError, match="it is not pretty") as caught:
        hu.from_stablehlo(TEXT, name="m.mlir", lower="iree")
    assert str(caught.value).startswith("m.mlir:3:8: error: IREE's compiler cannot lower the program: it is not")


def test_an_op_without_a_lowering_is_unsupported(tool: Path) -> None:
    said = "<stdin>:3:8: error: failed to legalize operation 'stablehlo.foo' that was explicitly marked illegal: %0"
    tool.write_text(f'#!/bin/sh\necho "{said}" >&2\nexit 1\n')
    with pytest.raises(
        hu.Unsupported, match=r"failed to legalize operation 'stablehlo\.foo'\nhint: it has no lowering"
    ):
        hu.from_stablehlo(TEXT, lower="iree")


def test_a_program_that_calls_python_is_unsupported_with_what_to_do(tool: Path) -> None:
    tool.write_text(
        "#!/bin/sh\ncat >&2 <<'END'\n<stdin>:3:3: error: Dialect `sdy' not found for custom op 'sdy.mesh'\nEND\nexit 1\n"
    )
    with pytest.raises(hu.Unsupported, match=r"sdy\.mesh") as caught:
        hu.from_stablehlo(TEXT, lower="iree")
    assert "jax.debug.print" in (caught.value.hint or "")
    assert "jax.random.PRNGKey" in (caught.value.hint or "")


def test_a_crash_is_unsupported(tool: Path) -> None:
    tool.write_text("#!/bin/sh\nkill -SEGV $$\n")
    with pytest.raises(hu.Unsupported, match=r"IREE's compiler cannot lower the program: .*ended with"):
        hu.from_stablehlo(TEXT, lower="iree")


def test_a_compiler_that_does_not_end_is_stopped(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowering, "SECONDS", 0.2)
    tool.write_text("#!/bin/sh\nsleep 60\n")
    with pytest.raises(hu.errors.LimitExceeded, match=r"did not end in 0\.2 s"):
        hu.from_stablehlo(TEXT, lower="iree")


def test_load_says_what_lowers_a_dialect_that_it_does_not_read() -> None:
    with pytest.raises(hu.errors.ParseError) as caught:
        hu.load(TEXT.replace("stablehlo.add %x, %x : ", "torch.aten.relu %x : "))
    assert "hu.from_stablehlo" in (caught.value.hint or "")
    (found,) = hu.run(TEXT, np.array([1, 2, 0.5], np.float32))
    assert found.numpy().tolist() == [2, 4, 1]


def test_a_program_that_is_not_stablehlo_needs_no_compiler(
    tool: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tool.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    path = tmp_path / "plain.mlir"
    path.write_text("func.func @main(%x: f32) -> f32 { return %x : f32 } // not stablehlo.add\n")
    assert cli.main(["run", str(path), "--input=f32=1"]) == 0
    assert capsys.readouterr() == ("result[0]: f32=1\n", "")


@pytest.mark.iree
@pytest.mark.parametrize("text", [TEXT, GENERIC], ids=["custom", "generic"])
def test_from_text_bytes_and_a_file(text: str, tmp_path: Path) -> None:
    path = tmp_path / "twice.stablehlo.mlir"
    path.write_text(text)
    places = []
    x = np.array([1, 2, np.inf], np.float32)
    for source in (text, text.encode(), path):
        module = hu.from_stablehlo(source, lower="iree")
        assert hu.run(module, x)[0].tolist() == [2, 4, float("inf")]
        (add,) = (op for op in module.walk() if op.name == "arith.addf")
        places.append(file_position(add.location))
    assert [(place.file, place.line) for place in places if place] == [("<string>", 3), ("<bytes>", 3), (str(path), 3)]


@pytest.mark.parametrize("text", [TEXT, GENERIC], ids=["custom", "generic"])
def test_the_commands_run_it_without_a_compiler(
    text: str, tool: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    path = tmp_path / "twice.stablehlo.mlir"
    path.write_text(f"{text}// -----\n{text}")
    assert cli.main(["run", str(path), "--split-input-file", "--input=3xf32=1 2 3"]) == 0
    assert capsys.readouterr() == ("result[0]: 3xf32=2 4 6\n" * 2, "")
    path.write_text(text)
    assert cli.main(["run", "--trace", str(path), "--input=3xf32=1 2 3"]) == 0
    assert capsys.readouterr().out.endswith("result[0]: 3xf32=2 4 6\n")
    assert hu.run(hu.from_stablehlo(path), np.array([1, 2, 3], np.float32))[0].tolist() == [2, 4, 6]


TORCH = GENERIC.replace("stablehlo.add", "torch.add")


def test_the_commands_say_that_iree_lowers_another_language(
    tool: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{TEXT.replace('stablehlo.add', 'arith.addf')}END\n")
    path = tmp_path / "twice.mlir"
    path.write_text(TORCH)
    note = f"note: {path} is a program of the torch dialect: IREE's compiler lowers it to linalg, which may change its numerics\n"
    assert cli.main(["run", str(path), "--input=3xf32=1 2 3"]) == 0
    assert capsys.readouterr() == ("result[0]: 3xf32=2 4 6\n", note)


def test_an_error_of_a_part_has_its_line_in_the_file(
    tool: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool.write_text(
        '#!/bin/sh\nn=$(grep -n torch | cut -d: -f1)\necho "<stdin>:$n:8: error: failed to legalize operation" >&2\nexit 1\n'
    )
    path = tmp_path / "twice.stablehlo.mlir"
    path.write_text(f"{TEXT}// -----\n{TORCH}")
    assert cli.main(["run", str(path), "--split-input-file", "--input=3xf32=1 2 3"]) == 3
    printed = capsys.readouterr()
    assert printed.out == "result[0]: 3xf32=2 4 6\n"
    assert f"{path}:9:8: error: IREE's compiler cannot lower the program: failed to legalize" in printed.err


@pytest.mark.parametrize(
    "call", [lambda lower: hu.from_stablehlo(TEXT, lower=lower), lambda lower: hu.from_jax(abs, 1, lower=lower)]
)
def test_a_way_to_lower_that_does_not_exist(call: Any) -> None:
    with pytest.raises(hu.errors.InputError, match="lower is 'linalg', but must be one of stablehlo, iree"):
        call("linalg")


def test_bytecode_is_refused_with_a_way_on(tool: Path) -> None:
    data = hu.write_bytecode(hu.load("func.func @main() { return }"))
    with pytest.raises(hu.Unsupported, match="is MLIR bytecode") as caught:
        hu.from_stablehlo(data, lower="iree")
    assert "hu.print_module(hu.load" in (caught.value.hint or "")


@pytest.mark.iree
def test_f64_stays_f64() -> None:
    module = hu.from_stablehlo(TEXT.replace("f32", "f64"), lower="iree")
    assert hu.run(module, np.array([0.1, 1e300, 1], np.float64))[0].tolist() == [0.2, 2e300, 2]


# --- attributes that the lowering drops -------------------------------------------------------------------------------

SQUARE = "tensor<4x4xf32>"
ALGORITHM = "<lhs_precision_type = {}, rhs_precision_type = {}, accumulation_type = {}, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = {}, allow_imprecise_accumulation = false>"  # fmt: skip
DOTS = {
    "custom": "stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = {}",
    "generic": '"stablehlo.dot_general"(%x, %y) <{{algorithm = #stablehlo.dot_algorithm{}, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}}>',
}


def dot(form: str, *algorithm: Any) -> str:
    op = DOTS[form].format(ALGORITHM.format(*algorithm))
    return f"func.func @main(%x: {SQUARE}, %y: {SQUARE}) -> {SQUARE} {{\n  %0 = {op} : ({SQUARE}, {SQUARE}) -> {SQUARE}\n  return %0 : {SQUARE}\n}}\n"


LOWERED = [pytest.param("iree", marks=pytest.mark.iree), "stablehlo"]


@pytest.mark.parametrize("lower", LOWERED)
@pytest.mark.parametrize("form", DOTS)
@pytest.mark.parametrize("types", [("bf16", "bf16", "f32"), ("tf32", "tf32", "f32"), ("f16", "f16", "f16"), ("f8E4M3FN", "f8E5M2", "f32"), ("f64", "f64", "f64"), ("f32", "f32", "f32")])  # fmt: skip
def test_the_algorithm_of_a_dot_is_kept(types: tuple[str, str, str], form: str, lower: Any) -> None:
    x, y = np.random.default_rng(5).normal(size=(2, 4, 4)).astype(np.float32)
    module = hu.from_stablehlo(dot(form, *types, 1), name="dot.mlir", lower=lower)
    left, right = (hu.convert(each, kind).astype("f32") for each, kind in zip((x, y), types, strict=False))
    # Products are exact in the type of the sums, but in f16; they are added in the order of the loop.
    total = hu.convert(np.zeros((4, 4)), types[2])
    for k in range(4):
        column, row = left.numpy()[:, k : k + 1], right.numpy()[k : k + 1]
        product = hu.convert(np.float64(column) * np.float64(row), types[2])
        total = hu.convert(total.astype("f64").numpy() + product.astype("f64").numpy(), types[2])
    assert np.array_equal(hu.run(module, x, y)[0].bits, total.astype("f32").bits)
    (product_op,) = (op for op in module.walk() if op.name in ("linalg.matmul", "stablehlo.dot_general"))
    assert file_position(product_op.location) == FileLineCol("dot.mlir", 2, 8)


@pytest.mark.parametrize("lower", LOWERED)
def test_the_algorithm_of_a_dot_of_batches_is_kept(lower: Any) -> None:
    # IREE's compiler has no lowering for such a dot as long as it has the algorithm.
    text = dot("custom", "bf16", "bf16", "f32", 1).replace("4x4xf32", "2x4x4xf32")
    text = text.replace("contracting_dims = [1] x [0]", "batching_dims = [0] x [0], contracting_dims = [2] x [1]")
    x, y = np.full((2, 4, 4), 1 + 2**-9, np.float32), np.ones((2, 4, 4), np.float32)
    assert np.all(hu.run(hu.from_stablehlo(text, lower=lower), x, y)[0].numpy() == 4)


@pytest.mark.parametrize("lower", ["iree", "stablehlo"])
@pytest.mark.parametrize("form", DOTS)
def test_an_algorithm_of_several_products_is_refused(form: str, lower: Any, tool: Path) -> None:
    text = dot(form, "bf16", "bf16", "f32", 3)
    with pytest.raises(hu.Unsupported, match=r"dot\.mlir:2:8: .*an algorithm of 3 products of bf16") as caught:
        hu.run(hu.from_stablehlo(text, name="dot.mlir", lower=lower), *np.zeros((2, 4, 4), np.float32))
    assert "drop the algorithm" in (caught.value.hint or "")


def test_an_algorithm_in_tf32_takes_floats_of_up_to_32_bits() -> None:
    text = dot("custom", "tf32", "tf32", "f32", 1).replace(SQUARE, "tensor<4x4xf64>")
    with pytest.raises(hu.Unsupported, match="names tf32, but an operand is 'tensor<4x4xf64>'"):
        hu.run(hu.from_stablehlo(text), np.zeros((4, 4)), np.zeros((4, 4)))
    half = 1 + 2**-10  # tf32 has it
    given = np.full((4, 4), half, np.float16), np.eye(4, dtype=np.float16)
    (found,) = hu.run(hu.from_stablehlo(text.replace("f64", "f16")), *given)
    assert np.all(found.numpy() == half)


def test_an_algorithm_over_several_lines_is_refused(tool: Path) -> None:
    text = dot("custom", "bf16", "bf16", "f32", 1).replace("contracting_dims", "\n  contracting_dims")
    with pytest.raises(hu.Unsupported, match="is read only if the op is alone on one line"):
        hu.from_stablehlo(text, lower="iree")


ACCURACY = "{result_accuracy = #stablehlo.result_accuracy<ulps = 1, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}"


@pytest.mark.iree
def test_the_accuracy_of_a_function_is_kept_or_refused() -> None:
    text = TEXT.replace("stablehlo.add %x, %x", f"stablehlo.exponential %x {ACCURACY}")
    x = np.array([0.5, 1, -3], np.float32)
    assert (
        hu.error(hu.run(hu.from_stablehlo(text, lower="iree"), x)[0], reference=np.exp(x.astype(np.float64))).max_ulp
        <= 0.5
    )
    with pytest.raises(hu.Unsupported, match=r"<string>:3:8: .*stablehlo\.logistic has a result_accuracy"):
        hu.from_stablehlo(text.replace("exponential", "logistic"), lower="iree")


# --- onnx models ------------------------------------------------------------------------------------------------------
#
# ONNX models as modules: `hu.from_onnx`.

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
model (float[n, 3] x, float[3, 2] w) => (float[n, 2] y) {
  product = MatMul(x, w)
  y = Relu(product)
}
"""


def saved(path: Path) -> Path:
    onnx: Any = import_module("onnx")
    onnx.save(onnx.parser.parse_model(MODEL), path)
    return path


def test_an_absent_package_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halfulp.importing.common.find_spec", lambda name: None if name == "onnx" else object())
    with pytest.raises(hu.Unsupported, match="needs the Python package onnx") as caught:
        hu.from_onnx(tmp_path / "model.onnx")
    assert caught.value.hint == "pip install 'onnx>=1.16'"


@pytest.mark.onnx
@pytest.mark.parametrize("options", [{}, {"to": "linalg"}, {"lower": "iree"}])
def test_a_model_with_a_dynamic_axis(options: dict[str, Any], tmp_path: Path) -> None:
    module = hu.from_onnx(saved(tmp_path / "model.onnx"), **options)
    x, w = np.array([[1, 2, 3], [-4, 5, -6]], np.float32), np.array([[1, 0], [0, 1], [1, -1]], np.float32)
    (result,) = hu.run(module, x, w)
    assert result.tolist() == [[4, 0], [0, 11]]
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def of_one_node(path: Path, signature: str, node: str) -> Path:
    onnx: Any = import_module("onnx")
    text = f'<ir_version: 8, opset_import: ["" : 17]> g {signature} {{ y = {node} }}'
    onnx.save(onnx.parser.parse_model(text), path)
    return path


@pytest.mark.onnx
@pytest.mark.parametrize(("lower", "channels", "block"), [("torch-mlir", 4, 2), ("torch-mlir", 18, 3), ("iree", 4, 2)])
def test_depth_to_space_is_that_of_onnx(lower: Any, channels: int, block: int, tmp_path: Path) -> None:
    """The formula of ONNX's specification of the mode CRD. torch-mlir's is wrong (torch-mlir #4544)."""
    count = channels // block**2
    signature = f"(float[n, {channels}, 3, 5] x) => (float[n, {count}, {3 * block}, {5 * block}] y)"
    path = of_one_node(tmp_path / "m.onnx", signature, f'DepthToSpace<blocksize = {block}, mode = "CRD">(x)')
    x = np.arange(2 * channels * 15, dtype=np.float32).reshape(2, channels, 3, 5)
    (found,) = hu.run(hu.from_onnx(path, lower=lower), x)
    parts = x.reshape(2, count, block, block, 3, 5).transpose(0, 1, 4, 2, 5, 3)
    assert np.array_equal(found.numpy(), parts.reshape(2, count, 3 * block, 5 * block))


@pytest.mark.onnx
def test_ops_that_torch_mlir_computes_wrongly_are_refused(tmp_path: Path) -> None:
    signature = "(float[2, 3] a, float[3, 4] b, float[2, 3] c) => (float[2, 4] y)"
    path = of_one_node(tmp_path / "m.onnx", signature, 'Einsum<equation = "ab,bc,ab->ac">(a, b, c)')
    with pytest.raises(hu.Unsupported, match="'ab,bc,ab->ac' wrongly, which adds over the index 'b' of three operands"):
        hu.from_onnx(path)
    signature = "(float[1, n, 3, 5] x) => (float[1, m, 6, 10] y)"
    path = of_one_node(tmp_path / "m.onnx", signature, 'DepthToSpace<blocksize = 2, mode = "CRD">(x)')
    with pytest.raises(hu.Unsupported, match="CRD wrongly, and the channels are open"):
        hu.from_onnx(path)
    signature = "(float[3] x) => (float[3] y) <int64[2] pads = {1, -1}>"
    path = of_one_node(tmp_path / "m.onnx", signature, "Pad(x, pads)")
    with pytest.raises(hu.Unsupported, match=r"with the negative sizes \[1, -1\] wrongly"):
        hu.from_onnx(path, to="linalg")
    assert hu.run(hu.from_onnx(path), np.array([1, 2, 3], np.float32))[0].tolist() == [0, 1, 2]
    onnx: Any = import_module("onnx")
    computed = f"g {signature.replace('{1, -1}', '{-1, 1}')} {{ sizes = Neg(pads) y = Pad(x, sizes) }}"
    older = "g (float[3] x) => (float[3] y) { y = Pad<pads = [1, -1]>(x) }"
    for version, graph in ((17, computed), (10, older)):
        onnx.save(onnx.parser.parse_model(f'<ir_version: 6, opset_import: ["" : {version}]> {graph}'), path)
        with pytest.raises(hu.Unsupported, match=r"with the negative sizes \[1, -1\] wrongly"):
            hu.from_onnx(path, to="linalg")


WEIGHTS = """
<ir_version: 8, opset_import: ["" : 17]>
model (float[1, 2] x) => (float[1, 2] y)
<float[2, 2] up_weight = {1, 2, 3, 4}, float[2] same = {5, 5}, float[2] twin = {5, 5}> {
  product = MatMul(x, up_weight)
  sum = Add(product, same)
  y = Mul(sum, twin)
}
"""
TRACE = (
    'File "/home/me/net.py", line 7, in forward\n    return f(x)\n  File "/home/me/layer.py", line 3, in forward\n'
    '  File "/usr/lib/python3/site-packages/torch/nn/functional.py", line 99, in linear'
)


@pytest.mark.onnx
def test_weights_and_ops_have_the_names_and_lines_of_torch(tmp_path: Path) -> None:
    onnx: Any = import_module("onnx")
    model = onnx.parser.parse_model(WEIGHTS)
    for key, value in (("pkg.torch.onnx.stack_trace", TRACE), ("pkg.torch.onnx.name_scopes", "['', 'up', 'matmul']")):
        model.graph.node[0].metadata_props.add(key=key, value=value)
    onnx.save(model, tmp_path / "model.onnx")
    module = hu.from_onnx(tmp_path / "model.onnx")
    found = hu.rank(module, np.ones((1, 2), np.float32), formats="f8E4M3FN")
    assert {(row.kind, row.name, row.place.partition("/model.onnx")[0]) for row in found} == {
        ("input", "x", "/home/me/layer.py:3:1"),
        ("weight", "up_weight", "/home/me/layer.py:3:1"),
        ("weight", "same, twin", str(tmp_path)),
        ("op", "up.matmul of up_weight", "/home/me/layer.py:3:1"),
        ("op", "chlo.broadcast_add of same, twin", str(tmp_path)),
        ("op", "chlo.broadcast_multiply of same, twin", str(tmp_path)),
    }


GELU = """
<ir_version: 10, opset_import: ["" : 20]>
model ({0}[4] x) => ({0}[4] y) {{ y = Gelu <approximate = "{1}"> (x) }}
"""


@pytest.mark.onnx
@pytest.mark.parametrize(("element", "approximate"), [("float", "tanh"), ("double", "tanh"), ("float", "none")])
def test_a_gelu_with_another_pi_is_warned_of(element: str, approximate: str, tmp_path: Path) -> None:
    onnx: Any = import_module("onnx")
    onnx.save(onnx.parser.parse_model(GELU.format(element, approximate)), tmp_path / "gelu.onnx")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module = hu.from_onnx(tmp_path / "gelu.onnx", lower="iree")
    said = [str(each.message) for each in caught if "Gelu" in str(each.message)]
    if approximate == "none":
        assert not said
        return
    assert "with the constant 0.797724, sqrt(2 / (22/7)), in place of 0.797885" in said[0]
    # The warning is true: the results are off.
    x: Any = np.array([-3, -1, 0.5, 2], np.float64 if element == "double" else np.float32)
    (found,) = hu.run(module, x)
    wanted = x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2
    assert hu.error(found.astype("f32"), reference=wanted).max_ulp > 1000


@pytest.mark.onnx
def test_what_the_importer_prints_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, printed = saved(tmp_path / "-o.onnx"), tmp_path / "model.mlir"
    importer = [sys.executable, "-m", "iree.compiler.tools.import_onnx", str(path), "-o", str(printed)]
    subprocess.run(importer, check=True, capture_output=True)
    inputs = ["--input=2x3xf32=[1 2 3][-4 5 -6]", "--input=3x2xf32=[1 0][0 1][1 -1]"]
    assert cli.main(["run", str(printed), *inputs]) == 0
    assert capsys.readouterr().out == "result[0]: 2x2xf32=[4 0][0 11]\n"
    monkeypatch.chdir(tmp_path)
    assert str(hu.from_onnx("-o.onnx").body[0].symbol_name) == "model"


@pytest.mark.onnx
def test_nothing_is_imported_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("grp", "onnx", "torch_mlir", "numpy"):
        (tmp_path / f"{name}.py").write_text(f"open({name + '.ran'!r}, 'w')")
    saved(tmp_path / "model.onnx")
    hu.from_onnx("model.onnx")
    assert not list(tmp_path.glob("*.ran"))


@pytest.mark.onnx
def test_a_file_that_is_not_a_model_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with pytest.raises(hu.errors.InputError, match="cannot read"):
        hu.from_onnx(path)
    path.write_bytes(b"not a model")
    with pytest.raises(hu.errors.InputError, match=r"the importer of torch-mlir cannot read .*model\.onnx"):
        hu.from_onnx(path)
