"""Lines that a user types by guessing, from the habits of NumPy, ml_dtypes and torch.

Each line either runs and gives what its writer expects, or fails with a message that names the right call. They were
written before the functions that they call.
"""

import copy
import json
import math
import pickle
from collections.abc import Mapping
from fractions import Fraction
from types import CodeType
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from tables import each_row

import halfulp as hu

SETUP = """
v = hu.convert([1.5, 2.5], "bf16")
w = hu.convert([0.5, 4.0], "bf16")
s = hu.convert(1.5, "bf16")
n = hu.convert([1.0, np.nan], "f32")
m = hu.convert([[1, 2], [3, 4]], "f32")
i = hu.convert([7.0, -2.0], "i8")
p = hu.convert([1, np.nan], "f4E2M1FN")
x = np.array([0.1, 0.3, 500.0])
b = np.linspace(-1, 1, 32, dtype=np.float32)
"""
"""The names that the lines use: Values, one of each kind, and arrays."""


class Guess(NamedTuple):
    """A line, and what it must do: give a value, give a text that contains `says`, or fail with one that does."""

    code: str
    value: Any = None
    says: str = ""
    fails: type[Exception] | None = None


def gives(code: str, value: Any) -> Guess:
    return Guess(code, value)


def says(code: str, text: str) -> Guess:
    return Guess(code, says=text)


def fails(code: str, text: str, error: type[Exception]) -> Guess:
    return Guess(code, says=text, fails=error)


CONVERTING = [
    gives('hu.convert([1.5, 2.5], "bfloat16")', [1.5, 2.5]),
    gives('hu.convert(0.3, "float8_e4m3fn")', 0.3125),
    gives('hu.convert(0.3, "F8E4M3FN")', 0.3125),
    gives('hu.convert(0.3, "e5m2")', 0.3125),
    gives('hu.convert(0.3, "float16")', float(np.float16(0.3))),
    gives('hu.convert(0.3, "half")', float(np.float16(0.3))),
    gives("hu.convert(0.3, np.float16)", float(np.float16(0.3))),
    gives("hu.convert(0.3, ml_dtypes.bfloat16)", float(ml_dtypes.bfloat16(0.3))),
    gives("hu.convert(0.3, np.dtype('float32'))", float(np.float32(0.3))),
    gives('hu.convert(0.3, hu.float_format("bf16"))', float(ml_dtypes.bfloat16(0.3))),
    gives("hu.convert(0.3, float)", 0.3),
    gives('hu.convert("0.1", "f64")', 0.1),
    gives('hu.convert(Fraction(1, 3), "f64")', 1 / 3),
    gives('hu.convert([1, 2, 3], "int8")', [1, 2, 3]),
    gives('hu.convert(v, "f32")', [1.5, 2.5]),
    gives('hu.convert(x, "f8E4M3FN", rounding="up")[0]', 0.1015625),
    gives('hu.convert(x, "f8E4M3FN", rounding="RNE")[1]', 0.3125),
    gives('hu.convert(x, "f8E4M3FN", rounding="nearest")[1]', 0.3125),
    gives('hu.convert(x, "f8E4M3FN", saturate=True)[2]', 448.0),
    gives('hu.convert(0.3, "bf16", rounding="stochastic", seed=1).item() in (0.298828125, 0.30078125)', True),
    gives('hu.convert(0.3, "f8E4M3FN", random=np.uint32(5), rounding="stochastic").shape', ()),
    fails('hu.convert(x, "e4m3")', "f8E4M3FN", Exception),
    fails('hu.convert(x, "fp8")', "f8E5M2", Exception),
    fails('hu.convert(x, "float8")', "f8E4M3FN", Exception),
    fails('hu.convert(x, "bf17")', "bf16", Exception),
    fails('hu.convert(x, dtype="f8E4M3FN")', "to=", TypeError),
    fails('hu.convert(x, "bf16", rounding="banker")', "to_nearest_even", ValueError),
    fails('hu.convert(0.3, "f8E4M3FN", random=np.uint32(5))', 'rounding="stochastic"', ValueError),
    fails('hu.convert(np.ma.masked_array([1.0, 2.0], [0, 1]), "bf16")', 'masked="poison"', ValueError),
    fails('hu.Value([1.5], "bf16")', "hu.convert", TypeError),
    fails("hu.Value([1.5])", "hu.convert", TypeError),
    gives('hu.Value.from_bits([0x3FC0], "bf16")', [1.5]),
    gives("hu.Value.from_numpy(np.uint8([200])).numpy()", [200]),
    fails("hu.array([1.5])", "hu.convert", AttributeError),
    fails('hu.asarray([1.5], "bf16")', "hu.convert", AttributeError),
    fails('hu.zeros((2, 2), "bf16")', "hu.convert", AttributeError),
    fails('hu.cast(x, "bf16")', "hu.convert", AttributeError),
    fails("hu.tensor([1.5])", "hu.convert", AttributeError),
    fails('hu.round(x, "bf16")', "hu.convert", TypeError),
    fails("hu.from_numpy(x)", "hu.Value.from_numpy", AttributeError),
    fails("hu.random.uniform(3)", "np.random", AttributeError),
    fails("hu.save('file.npy', v)", ".bits", AttributeError),
    fails("hu.load_file('m.safetensors')", "hu.open_tensors", AttributeError),
]

FORMATS = [
    says('hu.float_format("float8_e4m3fn")', "f8E4M3FN"),
    gives('hu.float_format("bfloat16").max_value', (2 - 2.0**-7) * 2.0**127),
    fails('hu.finfo("f8E4M3FN")', "hu.float_format", AttributeError),
    fails('hu.iinfo("i8")', "np.iinfo", AttributeError),
    fails('hu.float_format("f16").min_value', "min_positive_value", AttributeError),
    fails('hu.float_format("f16").eps', "hu.ulp(1.0, fmt)", AttributeError),
    fails('hu.float_format("f16").tiny', "min_normal_value", AttributeError),
    gives('hasattr(copy.copy(hu.float_format("f16")), "min")', False),
    fails('hu.dtype("bf16")', "hu.float_format", AttributeError),
    fails("hu.formats()", "hu.float_formats", AttributeError),
    fails("hu.float8_e4m3fn", '"f8E4M3FN"', AttributeError),
    fails("hu.bfloat16(1.5)", '"bf16"', AttributeError),
    fails("hu.float32", '"f32"', AttributeError),
    fails("hu.bf16", '"bf16"', AttributeError),
    fails("hu.nan", "np.nan", AttributeError),
    gives('hu.ulp(1.0, "bf16")', 2.0**-7),
    gives('hu.next_up(1.0, "bf16")', 1.0078125),
    gives("hu.next_down(v)", [1.4921875, 2.484375]),
    gives('len(hu.all_values("f4E2M1FN"))', 16),
    gives('float(hu.neighbours(0.3, "f8E4M3FN").below)', 0.28125),
    fails('hu.nextafter(1.0, 2.0, "bf16")', "hu.next_up", AttributeError),
    fails('hu.spacing(1.0, "bf16")', "hu.ulp", AttributeError),
    says("hu.explain(0.1, 'bfloat16')", "0.10009765625"),
    says("hu.explain(v, 'f8E4M3FN')", "2.5"),
]

ARRAY = [
    gives("len(v)", 2),
    gives("[float(e) for e in v]", [1.5, 2.5]),
    gives("v[0]", 1.5),
    gives("v[-1].item()", 2.5),
    gives("v[::-1]", [2.5, 1.5]),
    gives("v[v > 2]", [2.5]),
    gives("v[[1, 0]]", [2.5, 1.5]),
    gives("m[:, 1]", [2, 4]),
    gives("m.T", [[1, 3], [2, 4]]),
    gives("v.reshape(2, 1)", [[1.5], [2.5]]),
    gives("v.reshape(-1)", [1.5, 2.5]),
    gives("v.shape, v.ndim, v.size", ((2,), 1, 2)),
    gives("v.tolist()", [1.5, 2.5]),
    gives('v.astype("float32").numpy()', [1.5, 2.5]),
    gives("v.astype(np.float64)", [1.5, 2.5]),
    gives("float(s), int(s), bool(s)", (1.5, 1, True)),
    gives('f"{s:.2f}"', "1.50"),
    gives("math.sqrt(s)", math.sqrt(1.5)),
    gives("np.asarray(v)", [1.5, 2.5]),
    gives("np.array(v, dtype=float)", [1.5, 2.5]),
    gives("copy.deepcopy(v) == v", True),
    gives("pickle.loads(pickle.dumps(v)) == v", True),
    gives("json.dumps(v.tolist())", "[1.5, 2.5]"),
    gives("sum(v)", 4.0),
    gives("max(v)", 2.5),
    says("print(v) or v", "1.5"),
    gives("p.numpy(poison=0)", [1.0, 0.0]),
    fails('p.numpy(poison="nan")', ".masked()", TypeError),
    gives("p.masked().mask.tolist()", [False, True]),
    fails("np.asarray(p)", ".masked()", TypeError),
    fails("float(v)", ".tolist()", TypeError),
    fails("v.item()", ".tolist()", ValueError),
    fails("p[1].item()", "NaN is not representable", ValueError),
    fails("bool(v)", "np.any", ValueError),
    fails("len(s)", ".item()", TypeError),
    fails("v[5]", "5", IndexError),
    fails("v[0] = 1", ".numpy().copy()", TypeError),
    fails("v.mean()", "hu.sum", AttributeError),
    gives("v.max()", 2.5),
    fails('v.to("f32")', ".astype", AttributeError),
    fails("v.float()", '.astype("f32")', AttributeError),
    fails("v.tobytes()", ".bits", AttributeError),
    fails('v.view("i16")', "arith.bitcast", AttributeError),
    gives("v.flatten()", [1.5, 2.5]),
    fails("v.detach().cpu()", ".numpy()", AttributeError),
    fails("v.values", ".numpy()", AttributeError),
    fails("v.std()", ".numpy(", AttributeError),
]

COMPUTING = [
    gives("v + 1", [2.5, 3.5]),
    gives("2 * v - 0.5", [2.5, 4.5]),
    gives("1 / v", [0.66796875, 0.400390625]),
    gives("v + w", [2.0, 6.5]),
    gives("-abs(v)", [-1.5, -2.5]),
    gives("np.add(v, w)", [2.0, 6.5]),
    gives("np.maximum(v, w)", [1.5, 4.0]),
    gives("np.where(v < w, v, w)", [0.5, 2.5]),
    gives("np.isnan(n)", [False, True]),
    gives("np.concatenate([v, w])", [1.5, 2.5, 0.5, 4.0]),
    gives("np.sum(v)", 4.0),
    gives("v.sum()", 4.0),
    gives("hu.sum(v)", 4.0),
    gives("hu.sum(m, axis=0)", [4, 6]),
    gives("v @ w", 10.75),
    gives("np.dot(v, w)", 10.75),
    gives("np.matmul(m, m)", [[7, 10], [15, 22]]),
    gives('hu.matmul(m, m, acc="f64")', [[7, 10], [15, 22]]),
    gives("v == w", False),
    gives("v == None", False),
    gives("np.equal(v, 1.5)", [True, False]),
    gives("v < 2", [True, False]),
    gives("i + 1", [8, -1]),
    gives("i << 1", [14, -4]),
    gives('hu.eval("arith.addf", 0.1, 0.2, type="bf16")', 0.30078125),
    gives('hu.eval("arith.addf", v, w)', [2.0, 6.5]),
    fails('hu.eval("addf", v, w)', "arith.addf", hu.HalfulpError),
    fails('hu.eval("arith.add", v, w)', "arith.addf", hu.HalfulpError),
    gives('hu.eval("arith.addf", 0.1, 0.2)', 0.1 + 0.2),
    fails('hu.run("nosuchfile.mlir", v)', "nosuchfile.mlir", hu.HalfulpError),
    fails("v == 1.5", "np.equal", TypeError),
    fails("1.5 in v", "np.equal", TypeError),
    fails('v + hu.convert([1, 2], "f32")', ".astype", TypeError),
    fails("v + np.float32(1)", ".astype", TypeError),
    fails("v + x[:2]", ".astype", TypeError),
    fails("v % 2", "np.fmod", TypeError),
    gives("v ** 2", [2.25, 6.25]),
    gives("2 ** v", [2.828125, 5.65625]),
    gives("v ** w", [1.2265625, 39.0]),
    fails("i / 2", "arith.divsi", TypeError),
    fails("i < 3", "arith.cmpi", TypeError),
    fails("np.mean(v)", "hu.sum", TypeError),
    gives("np.sqrt(w)", [0.70703125, 2.0]),
    gives("np.exp(v)", [4.46875, 12.1875]),
    gives('hu.eval("exp", v)', [4.46875, 12.1875]),
    gives('hu.eval("sigmoid", v, rounding="up")', [0.8203125, 0.92578125]),
    gives("np.round(v)", [2.0, 2.0]),
    fails("np.round(v, 1)", "np.round(v)", TypeError),
    fails("np.logaddexp(v, w)", 'hu.round("log(exp(x) + exp(y))", v, w)', TypeError),
    fails("np.sign(v)", "np.copysign", TypeError),
    fails("np.sqrt(i)", "arith.sitofp", TypeError),
    fails("i ** 2", "math.ipowi", TypeError),
    fails("v.exp()", "np.exp(v)", AttributeError),
    fails("hu.sigmoid(v)", "hu.eval", AttributeError),
    fails("np.cumsum(v)", "hu.sum", TypeError),
    fails("np.allclose(v, w)", "hu.error", TypeError),
    fails("np.spacing(v)", "hu.ulp", TypeError),
    fails("np.linalg.norm(v)", "hu.dot", TypeError),
    fails("hu.sqrt(v)", "np.sqrt(v)", AttributeError),
    fails("hu.add(v, w)", "v + w", AttributeError),
    fails("hu.isnan(v)", "np.isnan", AttributeError),
    fails('hu.sum(v, dtype="f32")', "acc=", TypeError),
    fails("hu.mean(v)", "hu.sum", AttributeError),
    fails("hu.einsum('i,i', v, w)", "hu.matmul", AttributeError),
    fails('hu.set_rounding("up")', "rounding=", AttributeError),
    fails("hu.set_printoptions(precision=3)", "np.set_printoptions", AttributeError),
]

PROGRAMS = [
    fails("hu.run(3)", "hu.run(program, x)", hu.TypeMismatch),
    fails("hu.run(x)", "hu.run(program, x)", hu.TypeMismatch),
    fails("hu.run(v, v)", "hu.run(program, x)", hu.TypeMismatch),
    fails("hu.trace([1, 2])", "not list", hu.TypeMismatch),
    fails("hu.sensitivity(None)", "not NoneType", hu.TypeMismatch),
    fails("hu.run(Fraction, x)", "Fraction(…)", hu.TypeMismatch),
    fails("hu.load(math.sqrt)", "hu.from_jax(f, x)", hu.TypeMismatch),
    fails("hu.bisect(math.sqrt, pipeline='cse')", "not the function sqrt", hu.TypeMismatch),
    fails("hu.program_accuracy(math.sqrt)", "not the function sqrt", hu.TypeMismatch),
    fails("hu.from_stablehlo(math.sqrt)", "not the function sqrt", hu.TypeMismatch),
    fails("hu.read_bytecode(3)", "not int", hu.TypeMismatch),
    fails("hu.load(hu.parse(''))", "loaded already", hu.TypeMismatch),
    fails("hu.parse(math.sqrt)", "hu.load", hu.TypeMismatch),
    fails("hu.check(x, w)", "hu.error(x, reference=y)", hu.TypeMismatch),
    fails("hu.compare(3)", "hu.error(x, reference=y)", hu.TypeMismatch),
]

MEASURING = [
    says('hu.error(x, to="bf16")', "ulp"),
    says("hu.error(v, reference=[1.5, 2.4])", "ulp"),
    fails("hu.error(v, w)", "reference=", hu.errors.InputError),
    says('hu.compare_formats(x, ["bf16", "f16", "f8E4M3FN"])', "f8E4M3FN"),
    gives('float(hu.quant.suggest_scale(x, "f8E4M3FN")) > 0', True),
    gives('hu.dequantize(hu.quantize([1.0, 2.0], hu.quant.type("i8", "f32", scale=0.5)))', [1.0, 2.0]),
    gives('hu.dequantize(hu.quantize_blocks(b, "f4E2M1FN", recipe="nvfp4")).shape', (32,)),
    gives('hu.dequantize(hu.quantize_blocks(b, "f4E2M1FN", recipe="floor"))[0]', -1.0),
    fails('hu.quantize(x, "int8")', "scale", TypeError),
    fails('hu.quantize(x, 0.1, to="i8")', "storage=", TypeError),
    fails("hu.quantize(np.ones((2, 4)), np.ones((2, 2)), block={1: 2})", "block={0: 1, 1: 2}", hu.TypeMismatch),
    fails(
        "hu.quantize(np.ones((2, 5)), np.ones((2, 2)), block={1: 2})", "divisible by the block size", hu.TypeMismatch
    ),
    fails('hu.quantize_blocks(b, "f4E2M1FN", recipe="best")', "nvfp4", ValueError),
    fails("hu.mse(v, w)", "hu.error", AttributeError),
    fails("hu.assert_allclose(v, w)", "hu.error", AttributeError),
    fails('hu.quantize_mx(b, "f4E2M1FN")', "hu.quantize_blocks", AttributeError),
    gives('hu.__version__.count(".") > 0', True),
    fails("hu.version", "__version__", AttributeError),
    gives('"Mapping" in dir(hu)', False),
]

TORCH = [
    gives('hu.convert(torch.tensor([1.5, 2.5]), "bf16")', [1.5, 2.5]),
    gives('hu.convert(torch.tensor([1.5], requires_grad=True), "f16")', [1.5]),
    gives("hu.convert(0.3, torch.float8_e4m3fn)", 0.3125),
    gives("hu.convert(torch.tensor([1.5], dtype=torch.bfloat16), torch.float32)", [1.5]),
    gives('hu.convert(torch.tensor([1.5], dtype=torch.float8_e4m3fn), "f32")', [1.5]),
    gives("torch.tensor(v.tolist(), dtype=torch.bfloat16).tolist()", [1.5, 2.5]),
    gives("torch.tensor(v).tolist()", [1.5, 2.5]),
    gives("torch.as_tensor(v).dtype is torch.bfloat16", True),
    gives("torch.from_dlpack(v).tolist()", [1.5, 2.5]),
    fails("hu.from_torch(torch.tensor([1.5]))", "hu.convert", hu.TypeMismatch),
    fails("v.to(torch.float32)", ".astype", AttributeError),
]

GUESSES = [*CONVERTING, *FORMATS, *ARRAY, *COMPUTING, *PROGRAMS, *MEASURING]


def plain(value: Any) -> Any:
    """Return a result as numbers, lists and text."""
    return value.tolist() if hasattr(value, "tolist") else value


def compiled(code: str) -> tuple[CodeType, bool]:
    """Return a line as code, and whether it is an expression."""
    try:
        return compile(code, "<guess>", "eval"), True
    except SyntaxError:
        return compile(code, "<guess>", "exec"), False


def check(guess: Guess, names: Mapping[str, Any]) -> None:
    known = dict(names)
    exec(SETUP, known)
    code, expression = compiled(guess.code)
    if guess.fails is not None:
        with pytest.raises(guess.fails) as caught:
            eval(code, known)
        assert guess.says in str(caught.value)
        return
    assert expression
    result = eval(code, known)
    if guess.says:
        assert guess.says in str(result)
    else:
        assert plain(result) == guess.value


NAMES: Mapping[str, Any] = {
    "hu": hu, "np": np, "ml_dtypes": ml_dtypes, "math": math, "copy": copy, "json": json, "pickle": pickle,
    "Fraction": Fraction,
}  # fmt: skip


@each_row(*((guess,) for guess in GUESSES))
def test_a_guessed_line_runs_or_names_the_right_call(guess: Guess) -> None:
    check(guess, NAMES)


@pytest.mark.torch
@pytest.mark.parametrize("guess", TORCH, ids=[guess.code for guess in TORCH])
def test_a_guessed_line_with_torch(guess: Guess) -> None:
    torch = pytest.importorskip("torch")
    check(guess, {**NAMES, "torch": torch})


def test_the_lines_are_many_and_different() -> None:
    codes = [guess.code for guess in [*GUESSES, *TORCH]]
    assert len(codes) == len(set(codes)) >= 120
