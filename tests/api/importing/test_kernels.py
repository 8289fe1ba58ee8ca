"""Kernels of Triton, compiled by Triton without a GPU: what they leave in the arrays, and what is refused."""

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import halfulp as hu

pytestmark = pytest.mark.triton

Floats = npt.NDArray[np.float64]
F16, F32 = 2.0**-11, 2.0**-24
"""Half of the distance to the next number, as a part of the number."""


@pytest.fixture(scope="module")
def kernels() -> Any:
    """The kernels of `triton_kernels`, which needs Triton."""
    return import_module("triton_kernels")


def normal(*shape: int, dtype: Any = np.float32) -> npt.NDArray[Any]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def wide(array: npt.NDArray[Any]) -> Floats:
    return array.astype(np.float64)


# --- what kernels compute ---------------------------------------------------------------------------------------------
#
# Kernels in the manner of Triton's tutorials. Each returns its result, the formula in float64 and a bound: that of the
# last rounding, and of so many f32 roundings of the largest number.

Case = tuple[npt.NDArray[Any], Floats, Floats | float]


def add(k: Any, target: str | None) -> Case:
    x, y = normal(1000), normal(1000)
    z = np.zeros_like(x)
    hu.launch(k.add[lambda meta: (-(-1000 // meta["BLOCK"]),)], x, y, z, 1000, BLOCK=256, target=target)
    return z, wide(x) + wide(y), F32 * np.abs(z)


def softmax(k: Any, target: str | None) -> Case:
    x = normal(5, 100)
    y = np.zeros_like(x)
    hu.launch(k.softmax[(2,)], x, y, 5, 100, BLOCK=128, target=target)
    e = np.exp(wide(x) - wide(x).max(axis=1, keepdims=True))
    return y, e / e.sum(axis=1, keepdims=True), 120 * F32 * y


def matmul(k: Any, target: str | None) -> Case:
    a, b = normal(70, 40, dtype=np.float16), normal(40, 50, dtype=np.float16)
    c = np.zeros((70, 50), np.float16)
    hu.launch(k.matmul[(6,)], a, b, c, 70, 50, 40, 32, 32, 32, 2, target=target)
    return c, wide(a) @ wide(b), F16 * np.abs(wide(c)) + 80 * F32 * (np.abs(wide(a)) @ np.abs(wide(b)))


def dropout(k: Any, target: str | None) -> Case:
    x = normal(200)
    y = np.zeros_like(x)
    hu.launch(k.dropout[(2,)], x, y, 200, 0.5, 123, BLOCK=128, target=target)
    assert 60 < np.count_nonzero(y) < 140
    return y, np.where(y == 0, 0, 2 * wide(x)), 0.0


def layer_norm(k: Any, target: str | None) -> Case:
    x, w, b = normal(3, 100, dtype=np.float16), normal(100), normal(100)
    y = np.zeros_like(x)
    hu.launch(k.layer_norm[(3,)], x, y, w, b, 100, 1e-5, BLOCK=64, target=target)
    centered = wide(x) - wide(x).mean(axis=1, keepdims=True)
    found = centered / np.sqrt((centered**2).mean(axis=1, keepdims=True) + 1e-5) * w + b
    return y, found, F16 * np.abs(wide(y)) + 120 * F32 * (np.abs(found) + np.abs(b) + np.abs(w))


def attention(k: Any, target: str | None, causal: bool = False) -> Case:
    q, key, v = (normal(128, 32, dtype=np.float16) + np.float16(shift) for shift in (0, 0.25, 0.5))
    o = np.zeros_like(q)
    hu.launch(k.attention[(2,)], q, key, v, o, 128, 0.2, 64, 32, 32, causal, target=target)
    s = wide(q) @ wide(key).T * 0.2
    s = np.where(np.tril(np.ones_like(s)) > 0, s, -np.inf) if causal else s
    p = np.exp(s - s.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    # P is rounded to f16 for the second product.
    return o, p @ wide(v), F16 * np.abs(wide(o)) + (2 * F16 + 300 * F32) * (p @ np.abs(wide(v)))


def causal(k: Any, target: str | None) -> Case:
    return attention(k, target, causal=True)


def grouped(k: Any, target: str | None) -> Case:
    sizes = np.array([40, 16, 70], np.int32)
    a, b = normal(126, 64, dtype=np.float16), normal(3, 64, 64, dtype=np.float16)
    c = np.zeros((126, 64), np.float16)
    hu.launch(k.grouped[(4,)], a, b, c, sizes, 3, 64, 64, 32, 32, 32, target=target)
    rows = np.split(wide(a), np.cumsum(sizes)[:-1])
    found, most = (
        np.concatenate([f(each) @ f(wide(b)[group]) for group, each in enumerate(rows)]) for f in (np.asarray, np.abs)
    )
    return c, found, F16 * np.abs(wide(c)) + 128 * F32 * most


def persistent(k: Any, target: str | None) -> Case:
    a, b = normal(128, 64, dtype=np.float16), normal(64, 128, dtype=np.float16)
    c = np.zeros((128, 128), np.float16)
    hu.launch(k.persistent[(3,)], a, b, c, 128, 128, 64, 64, 64, 32, target=target)
    return c, wide(a) @ wide(b), F16 * np.abs(wide(c)) + 128 * F32 * (np.abs(wide(a)) @ np.abs(wide(b)))


def scaled(k: Any, target: str | None) -> Case:
    a, b = normal(128, 64, dtype=ml_dtypes.float8_e4m3fn), normal(64, 128, dtype=ml_dtypes.float8_e4m3fn)
    of_a, of_b = (np.arange(256, dtype=np.uint8).reshape(128, 2) % 9 + shift for shift in (120, 123))
    c = np.zeros((128, 128), np.float32)
    hu.launch(k.scaled[(1,)], a, of_a, b, of_b, c, 128, 64, 128, 128, target=target)
    x = wide(a) * np.repeat(2.0 ** (of_a.astype(int) - 127), 32, axis=1)
    y = wide(b) * np.repeat(2.0 ** (of_b.astype(int) - 127), 32, axis=1).T
    return c, x @ y, 128 * F32 * (np.abs(x) @ np.abs(y))


CASES = (add, softmax, matmul, dropout, layer_norm, attention, causal, grouped, persistent, scaled)


@pytest.mark.parametrize("target", [None, "cuda:90", "hip:gfx942"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_kernels_of_tutorials(case: Callable[[Any, str | None], Case], target: str | None, kernels: Any) -> None:
    got, expected, bound = case(kernels, target)
    assert (np.abs(wide(got) - expected) <= bound + 2.0**-24).all(), np.abs(wide(got) - expected).max()


def test_what_a_kernel_prints_and_maps(kernels: Any, capsys: pytest.CaptureFixture[str]) -> None:
    x, y, n = np.array([1, 2, 3.5, -1], np.float32), np.zeros(4, np.float32), np.zeros(4, np.int32)
    hu.launch(kernels.talkative[(1,)], x, y, BLOCK=4, debug=True)
    assert capsys.readouterr().out.splitlines()[2:] == [
        "pid (0, 0, 0) idx (2) x is: 3.500000",
        "pid (0, 0, 0) idx (3) x is: -1.000000",
    ]
    with pytest.raises(
        hu.UndefinedBehavior, match=r"triton_kernels\.py:.*fails at element \[1\]: x must be less than 4"
    ):
        hu.launch(kernels.talkative[(1,)], 2 * x, y, BLOCK=4, debug=True)
    # A loop for each element: how often a number above 1.5 is halved.
    hu.launch(kernels.halved[(1,)], x, y, n, BLOCK=4)
    assert (y.tolist(), n.tolist()) == ([1, 1, 0.875, -1], [0, 1, 2, 0])


def test_arguments(kernels: Any) -> None:
    x = np.arange(200, dtype=np.float32)
    for data in (x[64:], x[1:101].copy()):
        y = np.zeros(100, np.float32)
        hu.launch(kernels.guessed[(1,)], data, y, 100)  # a heuristic chooses BLOCK
        assert np.array_equal(y, data[:100])
    memory = hu.Buffer.from_numpy(np.zeros(1, np.float32))
    hu.launch(kernels.guessed[(1,)], x, memory, np.int64(1))  # 1 becomes a constant
    assert memory.load().numpy().tolist() == [0]


def test_a_view_that_is_not_aligned_is_not_promised_to_be(kernels: Any) -> None:
    x, y = np.zeros(200, np.float32), np.zeros(100, np.float32)
    texts = [hu.print_module(hu.launch(kernels.guessed[(1,)], each, y, 96)) for each in (x[4:], x[1:])]
    assert [text.count("tt.divisibility = 16") for text in texts] == [3, 2]


def test_views_are_memory_with_strides(kernels: Any) -> None:
    torch = pytest.importorskip("torch")
    x = np.arange(30, dtype=np.float32).reshape(6, 5)
    for data in (x.T, torch.from_numpy(x).t(), torch.from_numpy(x).bfloat16().t()):
        y = np.zeros(5, np.float32)
        hu.launch(kernels.rows[(5,)], data, y, 1, 5, 6, BLOCK=8, profile="spec,masked_load=zero")
        assert y.tolist() == x.sum(axis=0).tolist()


@pytest.mark.parametrize("target", [None, "cuda:90", "cuda:80", "hip:gfx942"])
def test_descriptors_from_the_host(kernels: Any, target: str | None) -> None:
    torch = pytest.importorskip("torch")
    descriptor = import_module("triton.tools.tensor_descriptor").TensorDescriptor
    x = np.arange(20 * 32, dtype=np.float32).reshape(20, 32)
    narrow = descriptor(torch.from_numpy(x), [20, 12], [32, 1], [8, 16])
    y = np.full((20, 16), -1, np.float32)
    out = descriptor.from_tensor(torch.from_numpy(y), [8, 16])
    for _ in range(3):  # a launch that is repeated runs by a plan
        y.fill(-1)
        module = hu.launch(kernels.described[(3,)], narrow, out, 1, BLOCK=8, target=target)
        assert np.array_equal(y[:, :12], 2 * x[:, :12] + 1)
        assert (y[:, 12:] == 1).all()  # what is outside of the tensor is loaded as 0
    if target != "cuda:90":
        return
    other = np.zeros((20, 16), np.float32)
    hu.run(module, x[:, :12], 20, 12, 32, 1, other, 20, 16, 16, 1, grid=3)
    assert np.array_equal(other, y)
    with pytest.raises(hu.TypeMismatch, match=r"expected an array of rank 2, for '!tt.tensordesc<8x16xf32"):
        hu.run(module, x[0], 20, 12, 32, 1, other, 20, 16, 16, 1, grid=3)
    with pytest.raises(hu.TypeMismatch, match="reaches 672 elements, but its base has 640"):
        hu.launch(kernels.described[(3,)], descriptor(narrow.base, [21, 32], [32, 1], [8, 16]), out, 1, BLOCK=8)
    with pytest.raises(hu.Unsupported, match="pads with NaNs"):
        hu.launch(kernels.described[(3,)], descriptor.from_tensor(narrow.base, [8, 16], padding="nan"), out, 1, BLOCK=8)


@pytest.mark.long
def test_warps_that_do_different_work(kernels: Any) -> None:
    """The same bits with and without partitions: Triton divides the work, and leaves the order of all sums."""
    a, b = normal(384, 320, dtype=np.float16), normal(320, 256, dtype=np.float16)
    q, k, v = (normal(512, 64, dtype=np.float16) + np.float16(shift) for shift in (0, 0.25, 0.5))
    block = "tensordesc<fp16[128,64]>"
    signature = dict.fromkeys(("q_desc", "k_desc", "v_desc"), block) | {"o_ptr": "*fp16", "n": "i32", "scale": "fp32"}
    described = [part for x in (q, k, v) for part in (x, *x.shape, 64, 1)]
    found: list[list[bytes]] = []
    for parts in (False, True):
        c, o = np.zeros((384, 256), np.float16), np.zeros_like(q)
        constants = {"BM": 128, "BN": 128, "D": 64, "PARTS": parts}
        attend = hu.from_triton(kernels.attention_by_descriptors, signature, constants, target="cuda:100")
        for _ in range(2):  # a launch with partitions has no plan
            given = a, b, c, 384, 256, 320, 128, 128, 64, parts
            module = hu.launch(kernels.persistent[(2,)], *given, target="cuda:100")
            hu.run(attend, *described, o, 512, 0.18, grid=4)
            found.append([c.tobytes(), o.tobytes()])
        for made in (module, attend):
            assert ("ttg.warp_specialize" in (made.text or "")) == parts
    assert all(each == found[0] for each in found)
    wrong = (
        np.abs(wide(c) - wide(a) @ wide(b)) - F16 * np.abs(wide(c)) - 320 * F32 * (np.abs(wide(a)) @ np.abs(wide(b)))
    )
    assert wrong.max() <= 0


def test_arguments_whose_names_triton_changes(kernels: Any) -> None:
    one, two = np.arange(8, dtype=np.float32), np.arange(8, 16, dtype=np.float32)
    for taken, expected in ((1, one), (2, two)):
        y = np.zeros(8, np.float32)
        hu.launch(kernels.chosen[(1,)], one, two, y, taken, BLOCK=8, target="cuda:90")
        assert np.array_equal(y, expected)


def test_launches_of_a_library(kernels: Any) -> None:
    def copied(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        y = np.zeros_like(x)
        kernels.guessed[(1,)](x, y, x.size)
        kernels.tuned[lambda meta: (-(-x.size // meta["BLOCK"]),)](y, y, x.size)
        return y

    usual = kernels.guessed.fn.run, kernels.tuned.run
    x = normal(100)
    with hu.triton_mode("cuda:90", tuned=lambda every: every[1]) as ran:
        assert np.array_equal(copied(x), x)
        with pytest.raises(hu.Unsupported, match="another block"), hu.triton_mode():
            pass
    assert ["@guessed" in hu.print_module(each) for each in ran] == [True, False]
    assert '"ttg.num-warps" = 4' in hu.print_module(ran[1])
    assert kernels.tuned.best_config is kernels.tuned.configs[1]
    with pytest.raises(hu.Unsupported, match="tuned=…"), hu.triton_mode():
        copied(x)
    assert (kernels.guessed.fn.run, kernels.tuned.run) == usual


@pytest.mark.parametrize("target", [None, "cuda:90"])
def test_tuples_pass_their_elements(kernels: Any, target: str | None) -> None:
    """An integer that is 1 becomes a constant, also in a tuple."""
    x = np.arange(16, dtype=np.float32)
    for factor in (1, 3):
        y = np.zeros_like(x)
        hu.launch(kernels.scale[(1,)], (y, x), (factor, (0.5,)), 12, BLOCK=16, target=target)
        assert np.array_equal(y, np.where(x < 12, x * factor + 0.5, 0))


# --- what is refused --------------------------------------------------------------------------------------------------

X = np.zeros(100, np.float32)
REFUSED: tuple[tuple[Callable[[Any], Any], type[Exception], str], ...] = (
    (lambda k: hu.launch(k.add, X), hu.TypeMismatch, "takes a kernel with its grid"),
    (lambda k: hu.launch(k.add[(1,)], X, X), hu.TypeMismatch, "add: missing a required argument: 'z_ptr'"),
    (lambda k: hu.launch(k.add[(1,)], X, X, X, 5, BLOCK=8, warps=2), hu.TypeMismatch, "warps was specified but"),
    (lambda k: hu.launch(k.add[(1,)], X, X, X, 5, BLOCK=5), hu.Unsupported, "range must be a power of 2"),
    (lambda k: hu.launch(k.add[(1,)], X, X, (1, [2]), 5, BLOCK=8), hu.TypeMismatch, "the argument z_ptr[1] is a list"),
    (lambda k: hu.launch(k.add[(1,)], X, X, X, 5, BLOCK=8, num_warps="4"), hu.TypeMismatch, "num_warps is '4', but must be an integer"),
    (lambda k: hu.launch(k.add[(1,)], X, X, X + 0j, 5, BLOCK=8), hu.TypeMismatch, "no pointers to elements of type complex"),
    (lambda k: hu.launch(k.tuned[(1,)], X, X, 5), hu.Unsupported, "choose one: kernel.fn[grid] in place of kernel[grid], and BLOCK=64"),
    (lambda k: hu.launch(k.add[(1,)], X, X, X, 5, BLOCK=8, target="cuda:hopper"), hu.HalfulpError, "target is 'cuda:hopper'"),
    (lambda k: hu.from_triton(k.add, "*fp32"), hu.HalfulpError, "has 1 types, but add has 5 arguments"),
    (lambda k: hu.from_triton(k.add, {"x": "i32"}), hu.HalfulpError, "add has no parameter x"),
    (lambda k: hu.from_triton(k.add, "*fp32, *fp32, *fp32, i32"), hu.HalfulpError, "needs a value in constants for BLOCK"),
    (lambda k: hu.from_triton(k.add, "*fp32:8, *fp32, *fp32, i32, 8"), hu.HalfulpError, "only 16 is possible"),
    (lambda k: hu.from_triton(len, "i32"), hu.TypeMismatch, "a function with @triton.jit"),
    (lambda k: hu.compare_targets(k.add[(1,)], X, X, X, 5, targets=["cuda:90"], BLOCK=8), hu.HalfulpError, "needs two targets"),
    (lambda k: hu.compare_targets(k.add[(1,)], X, X, X, 5, targets="cuda:90", BLOCK=8), hu.HalfulpError, "needs two targets"),
    (lambda k: hu.launch(k.add[(1.5,)], X, X, X, 5, BLOCK=8), hu.TypeMismatch, "the grid is (1.5,), but its sizes must be integers"),
    (lambda k: hu.launch(k.add[(1,)], X, X, [1.0, 2.0], 5, BLOCK=8), hu.TypeMismatch, "the argument z_ptr is a list"),
    (lambda k: hu.launch(k.add[(1,)], X, X, X, 2**70, BLOCK=8), hu.TypeMismatch, "too large"),
    (lambda k: hu.launch(k.add[(1,)], X, X, X, 5, BLOCK=8, num_warps=3), hu.TypeMismatch, "num_warps must be a power of 2"),
    (lambda k: hu.launch(k.add[(1,)], X, X, X, 5, BLOCK=8, target=cast(Any, 90)), hu.HalfulpError, "target is 90"),
    (lambda k: hu.from_triton(k.add, "*f32, *fp32, *fp32, i32, 8"), hu.HalfulpError, "the type of x_ptr is '*f32', which Triton does not know"),
    (lambda k: hu.from_triton(k.add, cast(Any, 5)), hu.TypeMismatch, "signature of add is of type int"),
    (lambda k: hu.from_triton(k.add, "*fp32, *fp32, *fp32, i32, 8", warps=2), hu.HalfulpError, "warps is not an option of a launch"),
)  # fmt: skip


def test_what_is_refused(kernels: Any) -> None:
    for call, error, message in REFUSED:
        with pytest.raises(error, match=re.escape(message)):
            call(kernels)


def test_errors_name_the_argument_and_the_line(kernels: Any) -> None:
    with pytest.raises(
        hu.UndefinedBehavior, match=r"triton_kernels\.py:\d+:5: .* of argument 2 \(z_ptr\) \(element \[90\]"
    ):
        hu.launch(kernels.add[(1,)], X, X, np.zeros(90, np.float32), 100, BLOCK=128)


# --- targets ----------------------------------------------------------------------------------------------------------


def test_modules(kernels: Any) -> None:
    types = "*fp32:16, *fp32, *fp32, i32"
    plain, gpu = (hu.from_triton(kernels.add, types, {"BLOCK": 64}, target=t) for t in (None, "hip:gfx942"))
    assert "ttg" not in hu.print_module(plain)
    assert 'ttg.target = "hip:gfx942"' in hu.print_module(gpu)
    assert plain.text == hu.print_module(hu.from_triton(kernels.add, f"{types}, 64"))
    block = "tensordesc<fp32[8,16]>"
    assert "!tt.tensordesc<8x16xf32>" in hu.print_module(hu.from_triton(kernels.described, f"{block}, {block}, i32, 8"))
    warps = hu.from_triton(kernels.add, types, {"BLOCK": 64}, target="cuda:90", num_warps=2)
    assert '"ttg.num-warps" = 2' in hu.print_module(warps)


def test_an_op_that_two_targets_round_differently(kernels: Any) -> None:
    """On an H100, TTGIR for cuda:90 fuses x * x + 0.1, and TTIR does not."""
    x, y = normal(128), np.zeros(128, np.float32)
    found = hu.compare_targets(kernels.squares[(1,)], x, y, 128, targets=["cuda:90", None], BLOCK=128)
    exact = x.astype(np.float64) ** 2 + np.float64(np.float32(0.1))
    fused, apart = (run.outputs["y_ptr"].numpy() for run in found.runs)
    assert np.array_equal(fused, exact.astype(np.float32))  # 48 bits of the square, and few more for the sum
    assert np.array_equal(apart, x * x + np.float32(0.1))
    output = found.outputs[1]
    assert output.distance.different == np.count_nonzero(fused != apart) > 0
    assert output.distance.nearer().startswith("cuda:90 (")
    ops = {each.op: each for each in output.ops}
    assert (ops["arith.mulf"].ulp[0], ops["arith.mulf"].ulp[1] != 0) == (0, True)
    assert ops["arith.mulf"].place.endswith(tuple(f"triton_kernels.py:{line}" for line in _lines("x * x + 0.1")))
    alike = hu.compare_targets(
        kernels.squares[(1,)], x, y, 128, targets=["cuda:90", None], BLOCK=128, enable_fp_fusion=False
    )
    assert alike.different == 0


def test_a_dot_is_named_where_its_exact_numbers_are_known(kernels: Any) -> None:
    a, b = normal(64, 64, dtype=np.float16), normal(64, 64, dtype=np.float16)
    c = np.zeros((64, 64), np.float32)
    targets = ["cuda:90", "hip:gfx942"]
    found = hu.compare_targets(kernels.matmul[(1,)], a, b, c, 64, 64, 64, 64, 64, 64, 1, targets=targets)
    output = found.outputs[2]
    assert output.distance.different > 0
    lines = _lines("tl.dot(a, b, acc)")
    assert {(each.place.rpartition("/")[2].partition(":")[2], each.op) for each in output.ops} == {
        (lines[0], f"arith.truncf of {name}") for name in ("ttng.warp_group_dot", "tt.dot")
    }


@pytest.mark.long
def test_no_op_is_named_behind_a_dot_whose_exact_numbers_are_not_known(kernels: Any) -> None:
    """Those of dot_scaled are not followed in TTIR: no other op may be blamed."""
    x, y = normal(128, 64, dtype=ml_dtypes.float8_e4m3fn), normal(64, 128, dtype=ml_dtypes.float8_e4m3fn)
    scales, c = np.arange(256, dtype=np.uint8).reshape(128, 2) % 9 + 120, np.zeros((128, 128), np.float32)
    arguments = x, scales, y, scales, c, 128, 64, 128, 128
    found = hu.compare_targets(kernels.scaled[(1,)], *arguments, targets=[None, "cuda:90"])
    assert found.outputs[4].distance.different > 0
    assert found.outputs[4].ops == ()
    assert repr(found).splitlines()[-1].endswith("the ops that make the difference are not known")


def _lines(text: str) -> list[str]:
    """Return the places of a text in the kernels, as ``line:column`` of its parts."""
    source = (Path(__file__).parents[2] / "triton_kernels.py").read_text(encoding="utf-8").splitlines()
    return [f"{k}:{line.index(text) + 1}" for k, line in enumerate(source, 1) if text in line]


def test_targets_beside_one_another(kernels: Any) -> None:
    x = normal(2, 100)
    y = np.full_like(x, 7)
    found = hu.compare_targets(kernels.softmax[(1,)], x, y, 2, 100, targets=[None, None], BLOCK=128)
    assert (found.different, y.min(), [run.name for run in found.runs]) == (0, 7, ["TTIR", "TTIR"])
    assert [each.distance.name for each in found.outputs] == ["x_ptr", "y_ptr"]
    other = found.runs[0].outputs["y_ptr"]
    assert other.shape == (2, 100)
    assert np.allclose(other.numpy().sum(axis=1), 1)
