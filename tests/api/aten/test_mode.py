"""Eager programs of PyTorch beside exact results: `hu.torch_mode`, its bands and its rules."""

import sys
from fractions import Fraction
from importlib import import_module
from itertools import islice
from types import ModuleType
from typing import Any
from unittest import TestCase

import ml_dtypes
import numpy as np
import pytest

import halfulp as hu
from halfulp.aten.bands import Band, gamma
from halfulp.aten.calls import Call, Exact, Inside, Near, NotJudged, Within, converted, judge
from halfulp.aten.mode import RULES, VIEWS, _plain_name, _verdict

TORCH = pytest.mark.torch
F32 = 24


def torch() -> Any:
    return import_module("torch")


# --- bands ------------------------------------------------------------------------------------------------------------


def in_order(x: Any, order: Any, dtype: Any) -> float:
    """Add numbers in an order, each sum rounded to a dtype."""
    total = dtype(0)
    for each in x[order]:
        total = dtype(total + dtype(each))
    return float(total)


def test_a_sum_in_any_order_is_in_its_band_and_one_of_bf16_is_not() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal(200).astype(np.float32)
    band = Band.of(x, F32).sum()
    exact = sum(map(Fraction, x.tolist()))
    assert abs(Fraction(float(band.mid)) - exact) < Fraction(float(band.rad)) / 2**20
    # Higham's bound for 199 additions, and no more than a little above
    assert (
        gamma(199, 2.0**-24) * float(np.abs(x).sum())
        <= band.rad * (1 + 1e-12)
        <= 1.001 * 199 * 2.0**-24 * np.abs(x).sum()
    )
    for _ in range(20):
        assert abs(in_order(x, rng.permutation(200), np.float32) - band.mid) <= band.rad
    assert abs(in_order(x, np.arange(200), ml_dtypes.bfloat16) - band.mid) > band.rad


def test_steps_of_f32_stay_in_the_band_of_a_formula() -> None:
    rng = np.random.default_rng(2)
    x, y = (rng.standard_normal(1000).astype(np.float32) * 4 for _ in range(2))
    a, b = Band.of(x, F32), Band.of(y, F32)
    found = {
        "sigmoid": (a.sigmoid(), np.float32(1) / (np.exp(-x) + np.float32(1))),
        "products": (a * b - a, x * y - x),
        "quotient": ((a + 1.0) / (b * b + 1.0), (x + np.float32(1)) / (y * y + np.float32(1))),
        "root": ((a * a + 0.5).sqrt(), np.sqrt(x * x + np.float32(0.5))),
        "mean": (a.mean(), x.mean(dtype=np.float32)),
    }
    outside = [name for name, (band, got) in found.items() if not (np.abs(got - band.mid) <= band.rad).all()]
    assert not outside
    assert (found["products"][0].rad < 1e-4).all()


def fits(rule: str, x: Any, **arguments: Any) -> list[float]:
    """Return for each result the largest share of a whole band that its part has: 1 or less if the part is inside."""
    given = {
        name: torch().from_numpy(each) if isinstance(each, np.ndarray) else each for name, each in arguments.items()
    }
    tensor = torch().from_numpy(x)
    shares = []
    for inside in RULES[rule](Call(rule, {"self": tensor, "input": tensor, **given}, [tensor])):
        assert isinstance(inside, Inside)
        with np.errstate(all="ignore"):
            found = inside.otherwise()
            found = found.otherwise() if isinstance(found, Near) else found
            assert isinstance(found, Within)
            whole = found.band
            mid, rad = inside.part(slice(None))
            used = rad > 0
            shares.append(float(np.max((np.abs(mid - whole.mid) + rad)[used] / whole.rad[used])))
    return shares


@TORCH
def test_a_part_that_is_judged_first_is_inside_of_the_band() -> None:
    rng = np.random.default_rng(4)
    x = (rng.standard_normal((8, 500)) * np.exp2(rng.integers(-20, 7, (8, 500)))).astype(np.float32)
    assert 0.7 < fits("gelu", x, approximate="none")[0] < 1
    assert 0.7 < fits("silu", x)[0] < 1
    assert 0.7 < fits("erf", x[:, :100])[0] < 1
    assert 0.05 < fits("_softmax", x, dim=1)[0] < 1  # the whole band has the errors of 500 additions, too
    weight, bias = rng.standard_normal((2, 500)).astype(np.float32)
    for each in x, x + np.float32(300):
        shares = fits("native_layer_norm", each, normalized_shape=[500], eps=1e-5, weight=weight, bias=bias)
        assert min(shares) > 0.02
        assert max(shares) < 1


def test_f32_is_rounded_to_f16_as_convert_rounds() -> None:
    """All numbers of f16 and their midpoints, and the neighbours of these."""
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    x = np.concatenate([halves, (halves[1:] + halves[:-1]) / 2, [65520, 1e9, np.inf]]).astype(np.float32)
    x = np.concatenate([x, np.nextafter(x, 0), np.nextafter(x, np.inf)])
    x = np.concatenate([x, -x])
    assert (hu.convert(x, "f16", profile="torch").bits == converted(x, np.float16).view(np.uint16)).all()


def test_a_product_of_matrices_of_bf16_sums_is_outside() -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal((8, 64)).astype(np.float32) for _ in range(2))
    band = Band.of(a, F32) @ Band.of(b.T, F32)
    assert (np.abs(a @ b.T - band.mid) <= band.rad).all()
    total = np.zeros((8, 8), ml_dtypes.bfloat16)
    for k in range(64):
        total = (total.astype(np.float32) + a[:, k : k + 1] * b.T[k : k + 1]).astype(ml_dtypes.bfloat16)
    assert (np.abs(total.astype(np.float32) - band.mid) > band.rad).any()


def test_products_of_bf16_may_flush_and_those_of_f32_may_not() -> None:
    """VDPBF16PS (Intel's manual) takes 0 for subnormal operands, products and sums."""
    least = 2.0**-126
    for x, y in (([least], [0.5]), ([least / 2], [4.0]), ([1.5 * least, -least], [1.0, 1.0])):
        for flushed in (False, True):
            band = Band.of(x, F32, flushed) @ Band.of(y, F32)
            assert (abs(band.mid) <= band.rad) == flushed, (x, y)


# --- verdicts ---------------------------------------------------------------------------------------------------------


@TORCH
@pytest.mark.parametrize(
    ("exact", "rad", "result", "kind", "wrong"),
    [
        ([1.0, 2.0], 0.0, [1.0, 2.0], "equal", 0),
        ([1.0, 2.0], 1e-6, [1.0, 2.0 + 5e-7], "order", 0),
        ([1.0, 2.0], 1e-6, [1.0, 2.0 + 5e-6], "unexplained", 1),
        ([np.nan, np.inf], 0.0, [np.nan, np.inf], "equal", 0),
        ([1.0, 2.0], 0.0, [np.nan, 2.0], "unexplained", 1),
        ([1.0, -np.inf], 0.0, [1.0, np.inf], "unexplained", 1),
        ([1e39, 2.0], 0.0, [np.inf, 2.0], "equal", 0),
    ],
)
def test_verdicts_on_numbers(exact: Any, rad: float, result: Any, kind: str, wrong: int) -> None:
    band = Band(np.array(exact), np.full(2, rad), F32)
    found = judge([Within(band)], [torch().tensor(result)])
    assert (found.kind, found.wrong) == (kind, wrong)


@TORCH
def test_verdicts_on_elements() -> None:
    one, other = np.array([1, -0.0, np.nan], np.float32), np.array([1.5, 0, np.nan], np.float32)
    tensor = torch().tensor
    assert judge([Exact([one])], [tensor(one)]).kind == "equal"
    assert judge([Exact([other, one])], [tensor(one)]).kind == "order"
    assert judge([Exact([one])], [tensor([1, 0.0, np.nan])]).wrong == 1
    assert judge([Exact([one], zeros_alike=True)], [tensor([1, 0.0, np.nan])]).kind == "equal"
    worst = judge([Exact([one])], [tensor([1.0000002, -0.0, 3.0])])
    assert (worst.kind, worst.ulp, worst.wrong) == ("unexplained", np.inf, 2)


# --- programs ---------------------------------------------------------------------------------------------------------


def test_an_absent_torch_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halfulp.importing.common.find_spec", lambda name: None)
    with pytest.raises(hu.Unsupported, match="needs the Python package torch"):
        hu.torch_mode()


def test_the_table_has_200_ops() -> None:
    assert len({*RULES, *VIEWS}) >= 200
    assert not set(RULES) & VIEWS


@TORCH
@pytest.mark.parametrize("off", [0, 2, 100])
def test_a_look_at_centers_gives_the_verdict_of_the_whole_band(off: int) -> None:
    """``off``: elements that are changed by 2 codes of the result, which is more than the band allows."""
    torch().manual_seed(off)
    kind = torch().bfloat16
    x, y, z, w = (torch().randn(*shape).to(kind) for shape in ((24, 64), (64, 40), (24, 40), (64,)))
    mean, rstd = x.float().mean(-1, keepdim=True).to(kind), x.float().std(-1, keepdim=True).to(kind)
    calls = {
        "mm": ({"self": x, "mat2": y}, x @ y),
        "addmm": (
            {"self": z, "mat1": x, "mat2": y, "beta": 0.5, "alpha": 2},
            torch().addmm(z, x, y, beta=0.5, alpha=2),
        ),
        "addcmul": ({"self": x, "tensor1": x, "tensor2": x, "value": 0.3}, torch().addcmul(x, x, x, value=0.3)),
        "native_layer_norm_backward": (
            {"grad_out": x, "input": x.flip(0), "mean": mean, "rstd": 1 / rstd, "weight": w, "normalized_shape": [64]}
            | {"output_mask": [True, False, False]},
            torch().ops.aten.native_layer_norm_backward(x, x.flip(0), [64], mean, 1 / rstd, w, w, [True, False, False])[
                0
            ],
        ),
    }
    for name, (arguments, result) in calls.items():
        result.view(-1).view(torch().int16)[:off] += 2
        (inside, *_) = RULES[name](Call(name, arguments, [result]))
        assert isinstance(inside, Inside)
        first, whole = judge([inside], [result]), judge([inside.otherwise()], [result])
        assert (first.kind, first.wrong, first.ulp) == (whole.kind, whole.wrong, pytest.approx(whole.ulp, rel=1e-3)), (
            name
        )
        assert (first.kind == "unexplained") == (off > 0), name


@TORCH
def test_each_op_has_its_verdict_its_types_and_its_line() -> None:
    x = torch().linspace(-3, 3, 1000)
    with hu.torch_mode() as seen:
        y = torch().exp(x) + 1
        y.view(10, 100).sum(-1)
        torch().rand(3)
        torch().linalg.eigvals(torch().eye(2))
    line = sys._getframe().f_lineno - 3
    calls = [op.call for op in seen.ops[:4]]
    assert calls == ["torch().exp(x)", "torch().exp(x) + 1", "y.view(10, 100)", "y.view(10, 100).sum(-1)"]
    names = [op.name for op in seen.ops]
    assert names[:4] == ["aten.exp", "aten.add", "aten.view", "aten.sum"]
    assert [op.verdict.kind for op in seen.ops[1:3] if op.verdict] == ["equal", "equal"]
    assert seen.ops[3].place == f"{__file__}:{line}"
    assert seen.ops[3].types == "float32[10]"
    assert seen.first is None
    assert {"aten.rand: random numbers", "aten.linalg_eig: no rule"} <= set(seen.not_judged)
    text = str(seen)
    assert "no op is unexplained" in text
    assert "not judged, 1 times aten.rand: random numbers" in text
    assert "<table" in seen._repr_html_()


@TORCH
def test_ops_inside_of_functions_and_of_autograd_name_what_the_program_calls() -> None:
    x, layer = torch().randn(2, 5, 16), torch().nn.MultiheadAttention(16, 2, batch_first=True)
    with hu.torch_mode() as seen:
        y = layer(x, x, x)[0]
        y.backward(torch().ones(2, 5, 16))
    calls = {op.name: op for op in seen.ops}
    assert calls["aten._softmax"].call == "layer(x, x, x) > multi_head_attention_forward"
    softmax = calls["aten._softmax_backward_data"]
    assert softmax.call == "gradient of layer(x, x, x) > multi_head_attention_forward"
    assert softmax.place == calls["aten._softmax"].place == f"{__file__}:{sys._getframe().f_lineno - 6}"
    assert "(layer(x, x, x) > multi_head_attention_forward)" in str(calls["aten._softmax"])


@TORCH
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_fused_layer_of_attention_is_judged_whole(dtype: str) -> None:
    torch().manual_seed(0)
    kind = getattr(torch(), dtype)
    layer = torch().nn.MultiheadAttention(16, 2, batch_first=True).to(kind).eval()
    for name, each in layer.named_parameters():
        if "bias" in name:
            torch().nn.init.normal_(each)
    x = torch().randn(2, 40, 16).to(kind) * 3
    with torch().no_grad(), hu.torch_mode() as seen:
        (y, _) = layer(x, x, x)
    (op,) = seen.ops
    assert (op.name, op.verdict and op.verdict.kind) == ("aten._native_multi_head_attention", "approximation")
    names = {"query": x, "key": x, "value": x, "embed_dim": 16, "num_head": 2, "mask": None}
    weights = dict(zip(("qkv_weight", "qkv_bias", "proj_weight", "proj_bias"), layer.parameters(), strict=True))
    for wrong in y * 1.5, y.flip(1), y - layer.out_proj.bias:
        call = Call("_native_multi_head_attention", names | weights, [wrong, None])
        assert judge(RULES[call.name](call), call.results).kind == "unexplained"


@TORCH
def test_casts_to_all_types_of_8_bits_are_those_of_the_profile() -> None:
    x = torch().cat([torch().randn(500) * 10.0 ** torch().arange(-5, 5).repeat(50), torch().tensor([0.0, -0.0, 1e9])])
    types = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "bfloat16", "half"]
    with hu.torch_mode() as seen:
        for name in types:
            x.to(getattr(torch(), name)).to(torch().float32)
    assert [op.verdict and op.verdict.kind for op in seen.ops] == ["equal"] * 2 * len(types)


def bf16_product(a: Any, b: Any) -> Any:
    total = torch().zeros(a.shape[0], b.shape[1], dtype=torch().bfloat16)
    for k in range(a.shape[1]):
        total = (total.float() + a[:, k : k + 1].float() * b[k : k + 1].float()).bfloat16()
    return total.float()


def planted_addmm(x: Any, a: Any, b: Any, *, beta: int = 1, alpha: int = 1) -> Any:
    return (x.float() + bf16_product(a, b)).to(a.dtype)


def planted_softmax(x: Any, dim: int, half: bool) -> Any:
    e = torch().exp(x)
    return e / e.sum(dim, keepdim=True)


PLANTED = {"addmm": planted_addmm, "_softmax": planted_softmax}


def attending(d: int = 32) -> Any:
    """A module with linear layers, a softmax of large numbers, a norm and GELU."""
    nn = torch().nn

    class Attending(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.q, self.k, self.up = nn.LayerNorm(d), nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

        def forward(self, x: Any) -> Any:
            x = self.norm(x)
            weights = torch().softmax(self.q(x) @ self.k(x).transpose(-1, -2) * 40, -1)
            return nn.functional.gelu(self.up(weights @ x))

    return Attending()


def first_with(which: str, seed: int, dtype: str) -> str | None:
    torch().manual_seed(seed)
    net, x = attending().to(getattr(torch(), dtype)), torch().randn(2, 16, 32).to(getattr(torch(), dtype)) * 4
    library = torch().library.Library("aten", "IMPL", "CPU")
    library.impl(which, PLANTED[which])
    try:
        with hu.torch_mode() as seen:
            net(x).float().sum().backward()
    finally:
        library._destroy()
    return None if seen.first is None else str(seen.first.name)


@TORCH
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("which", PLANTED)
def test_a_planted_wrong_op_is_named_first(which: str) -> None:
    assert first_with(which, 1, "bfloat16") == f"aten.{which}"


@TORCH
@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_a_planted_wrong_op_is_named_first_in_20_of_20() -> None:
    runs = [(which, seed, dtype) for which in PLANTED for seed in range(5) for dtype in ("float32", "bfloat16")]
    assert [run for run in runs if first_with(*run) != f"aten.{run[0]}"] == []


@TORCH
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_all_ops_of_a_training_step_are_judged_and_explained(dtype: str) -> None:
    torch().manual_seed(0)
    net = attending().to(getattr(torch(), dtype))
    optimizer = torch().optim.AdamW(net.parameters(), 1e-3)
    x = torch().randn(2, 16, 32).to(getattr(torch(), dtype))
    with hu.torch_mode() as seen:
        torch().nn.functional.mse_loss(net(x), x).backward()
        optimizer.step()
    assert (seen.first, dict(seen.not_judged)) == (None, {})
    assert {"aten.addmm", "aten.native_layer_norm_backward", "aten.gelu_backward", "aten.addcdiv_"} <= {
        op.name for op in seen.ops
    }


@TORCH
def test_kernels_that_add_an_addend_first_or_multiply_the_mean_apart_are_explained() -> None:
    addend = torch().tensor([[1.0]])
    ones = torch().full((1, 2), 2.0**-12)
    column = torch().full((2, 1), 2.0**-12 * 1.01)
    first = 1 + 2.0**-22  # both sums are rounded up; all products first would give 1 + 2**-23
    call = Call("addmm", {"self": addend, "mat1": ones, "mat2": column}, [torch().tensor([[first]])])
    assert judge(RULES["addmm"](call), call.results).kind == "order"
    with hu.torch_mode() as seen:
        for x in 1.27, 3.3, -100.1:
            weight, bias, given = (torch().tensor([each], requires_grad=True) for each in (-8.4784, -1.7658, x))
            torch().nn.functional.layer_norm(given, (1,), weight, bias).backward(torch().ones(1))
        for shape in (64,), (4, 8, 8):  # over all axes, and over two of three
            x, weight = (torch().randn(*each).bfloat16().requires_grad_() for each in (shape, shape[-2:]))
            y = torch().nn.functional.layer_norm(x, shape[-2:], weight)
            y.backward(torch().randn(*shape).bfloat16())
    assert (seen.first, set(seen.not_judged)) == (None, {"aten.randn: random numbers"})


@TORCH
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_ops_that_round_each_step_are_narrow(dtype: str) -> None:
    # PyTorch 2.13 rounds each step, as the lines below do: the bits are equal.
    torch().manual_seed(0)
    kind = getattr(torch(), dtype)
    x, target, grad = torch().randn(1000).to(kind), torch().randn(1000).to(kind), torch().tensor(0.7).to(kind)
    with hu.torch_mode() as seen:
        found = torch().ops.aten.mse_loss_backward(grad, x, target, 1)
        cubes = torch().pow(x, 3)
        logarithms = torch().xlogy(x, target.abs() + 1)
    steps = (torch().tensor(2.0 / 1000).to(kind).float() * (x.float() - target.float()).to(kind).float()).to(kind)
    assert torch().equal(found, (steps.float() * grad.float()).to(kind))
    narrow = {"mse_loss_backward", "xlogy"}
    if dtype == "bfloat16":  # of f16, a cube is rounded once
        narrow.add("pow")
        assert torch().equal(cubes, ((x.float() * x.float()).to(kind).float() * x.float()).to(kind))
    rounded = torch().log((target.abs() + 1).float()).to(kind)
    assert torch().equal(logarithms, (x.float() * rounded.float()).to(kind))
    kinds = {op.name: op.verdict.kind for op in seen.ops if op.verdict}
    assert {kinds[f"aten.{name}"] for name in narrow} == {"narrow"}


@TORCH
def test_only_calls_that_round_each_step_may_be_narrow() -> None:
    """A convolution that is not transposed and a softmax along the last axis compute in f32."""
    torch().manual_seed(0)
    kind = torch().bfloat16
    x, weight = torch().randn(2, 8, 20).to(kind), torch().randn(8, 8, 3).to(kind)
    given = {"input": x, "weight": weight, "stride": [1], "padding": [1], "dilation": [1], "groups": 1}
    flipped = torch().conv1d(x, weight.flip(-1), padding=1)
    assert _verdict(RULES["convolution"], Call("convolution", given, [flipped])).kind == "unexplained"
    powers = torch().exp(x)
    rounded = powers / powers.sum(-1, keepdim=True)
    assert _verdict(RULES["_softmax"], Call("_softmax", {"self": x, "dim": -1}, [rounded])).kind == "unexplained"
    assert _verdict(RULES["_softmax"], Call("_softmax", {"self": x, "dim": 1}, [x.softmax(1)])).kind != "unexplained"


@TORCH
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_ops_that_round_some_steps_are_not_unexplained(dtype: str) -> None:
    """Each as PyTorch 2.13 computes it on a CPU: `NARROW` says how."""
    torch().manual_seed(0)
    kind = getattr(torch(), dtype)
    functional = torch().nn.functional
    x, y = torch().randn(8, 5).to(kind) * 9, torch().randn(8, 5).to(kind) * 9
    with hu.torch_mode() as seen:
        torch().log_softmax(x, -1)
        torch().pow(x, -2)
        torch().pow(x.abs(), -0.5)
        functional.mse_loss(x[0], y[0], reduction="none")
        functional.nll_loss(x, torch().arange(8) % 5)
        torch().addmm(x, x[:, :0], y[:0], beta=0.2, alpha=0.6)
        torch().eq(torch().tensor([255, 1], dtype=torch().uint8), -1)
    assert seen.unexplained == []
    assert dict(seen.not_judged) == {}


@TORCH
def test_a_bound_that_is_infinite_explains_nothing() -> None:
    with pytest.raises(NotJudged, match="the errors of 1 elements have no bound"):
        judge([Within(Band(np.array([1.0, 2.0]), np.array([0.0, np.inf]), F32))], [torch().tensor([1.0, 3.0])])
    bands = [Within(Band(np.array([1.0]), np.array([rad]), F32)) for rad in (np.inf, 0.0)]
    assert judge(bands, [torch().tensor([3.0]), torch().tensor([1.5])]).kind == "unexplained"


@TORCH
@pytest.mark.filterwarnings("ignore")
def test_tensors_without_elements_in_order_do_not_stop_the_program() -> None:
    fake = import_module("torch._subclasses.fake_tensor").FakeTensorMode
    x = torch().ones(2, 3)
    with hu.torch_mode() as seen:
        x.to_sparse().mul_(2)
        torch().mul(torch().nested.nested_tensor([x, x[:1]]), 2)
        with fake():
            torch().ones(3).add_(1)
    assert seen.first is None
    assert {op.name for op in seen.ops if op.verdict is None} >= {"aten.mul", "aten.mul_", "aten.add_"}


@TORCH
@pytest.mark.filterwarnings("ignore")
def test_ops_on_lists_of_tensors_are_judged_entry_by_entry() -> None:
    nn = torch().nn
    layer = nn.Linear(4, 3)
    optimizer = torch().optim.AdamW(layer.parameters(), 0.1, foreach=True)
    layer(torch().randn(5, 4)).sum().backward()
    with hu.torch_mode() as seen:
        nn.utils.clip_grad_norm_(layer.parameters(), 0.1)
        optimizer.step()
    names = {op.name for op in seen.ops if op.verdict and op.verdict.kind != "unexplained"}
    assert {"aten._foreach_norm", "aten._foreach_mul_", "aten._foreach_addcdiv_", "aten._foreach_lerp_"} <= names
    assert (seen.first, dict(seen.not_judged)) == (None, {})
    tensors = [torch().ones(2), torch().ones(3)]
    library = torch().library.Library("aten", "IMPL", "CPU")
    library.impl("_foreach_mul_.Scalar", lambda each, scalar: each[0].fill_(scalar) is None or None)
    try:
        with hu.torch_mode() as seen:
            torch()._foreach_mul_(tensors, 3.0)
    finally:
        library._destroy()
    assert seen.first is not None


@TORCH
@pytest.mark.filterwarnings("ignore")
def test_stop_raises_at_the_first_unexplained_op() -> None:
    library = torch().library.Library("aten", "IMPL", "CPU")
    library.impl("neg", lambda x: x)
    try:
        with (
            pytest.raises(hu.HalfulpError, match=r"nothing explains the result of \d+: aten\.neg"),
            hu.torch_mode(stop=True),
        ):
            torch().neg(torch().ones(3) + 1)
    finally:
        library._destroy()


@TORCH
def test_hashes_tell_where_two_runs_part() -> None:
    x = torch().linspace(0, 1, 100)

    def run(step: float) -> Any:
        with hu.torch_mode(hashes=True) as seen:
            (torch().exp(x) + step).sum()
        return seen

    assert run(1.0).first_difference(run(1.0)) is None
    one, other = run(1.0).first_difference(run(1.5))
    assert (one.name, one.number, other.number) == ("aten.add", 1, 1)
    assert one.hashes != other.hashes


def test_names_of_ops_that_write_into_an_argument() -> None:
    assert [_plain_name(name) for name in ("add_", "__lshift__", "_to_copy", "exp")] == [
        "add",
        "__lshift__",
        "_to_copy",
        "exp",
    ]


@TORCH
@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64", "int64"])
def test_no_sample_of_torch_itself_is_unexplained(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stub = ModuleType("expecttest")  # torch's own tests need it, its samples do not
    stub.TestCase = TestCase  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "expecttest", stub)
    ops = import_module("torch.testing._internal.common_methods_invocations").op_db
    kind, unexplained, judged = getattr(torch(), dtype), [], 0
    for op in ops:
        if kind not in op.supported_dtypes("cpu"):
            continue
        for sample in islice(op.sample_inputs("cpu", kind, requires_grad=False), 1):
            try:
                with hu.torch_mode() as seen:
                    op(sample.input, *sample.args, **sample.kwargs)
            except (RuntimeError, TypeError, NotImplementedError, AssertionError):
                continue
            judged += sum(each.verdict is not None for each in seen.ops)
            unexplained += [str(each) for each in seen.unexplained]
    assert unexplained == []
    assert judged > 400


@TORCH
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_powers_of_one_number_and_sums_of_no_numbers(dtype: str) -> None:
    """torch rounds a single exponent to the type of the tensor, in some kernels; log Σ exp of -inf is -inf."""
    kind = getattr(torch(), dtype)
    for size in (1, 7, 64):
        x = torch().linspace(1e-4, 9, size).to(kind)
        with hu.torch_mode() as seen:
            for number in (0.9, 2.3, -0.1):
                torch().pow(x, number)
                torch().pow(abs(number), x)
                torch().add(x.reshape(-1, size), x, alpha=number)
        assert seen.first is None
    x = torch().linspace(0.01, 0.99, 25).to(kind)
    with hu.torch_mode() as seen:
        torch().addbmm(-x.reshape(5, 5), x.new_zeros(2, 5, 0), x.new_zeros(2, 0, 5), beta=0)
        torch().nn.functional.binary_cross_entropy(x, x.flip(0), reduction="none")
    assert seen.first is None
    x = torch().full((2, 3), float("-inf")).to(kind)
    x[0, 0] = 1
    with hu.torch_mode() as seen:
        torch().logsumexp(x, 1)
    assert [op.verdict.kind for op in seen.ops] == ["equal"]
