"""Sixty modules of PyTorch by `hu.from_torch` in two ways, StableHLO and linalg, beside each other and beside torch.

Where the two ways differ, the formula or the order of additions by which they differ is named, and made equal.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.interp.text.printer import print_module

pytestmark = [pytest.mark.torch, pytest.mark.torch_mlir, pytest.mark.filterwarnings("ignore")]

ONE_WAY = {"U-Net": "linalg", "int4 in groups": "linalg", "cumulative": "stablehlo"}
"""The modules that torch-mlir lowers to one dialect only, and that dialect."""

FROM_TORCH = 2.0**-20
"""The most that torch may be apart from the first way, so measured. The largest was 3.2e-7 with torch 2.13."""


def relative(one: Any, other: Any) -> float:
    largest = float(np.max(np.abs(other), initial=1e-30))
    return float(np.max(np.abs(one - other), initial=0)) / largest


# --- named differences of the two lowerings ---------------------------------------------------------------------------
#
# Each function writes one program as the other lowering has it. If both are then equal, the difference is this one.


def with_logistic_in_four_ops(text: str) -> str:
    """StableHLO's logistic is one op, rounded once; linalg has a negation, an exp, a sum and a quotient."""

    def four(found: re.Match[str]) -> str:
        result, x, type_ = found.groups()
        name = f"%of_{result[1:]}"
        return (
            f"{name}n = stablehlo.negate {x} : {type_}\n{name}e = stablehlo.exponential {name}n : {type_}\n"
            f"{name}o = stablehlo.constant dense<1.000000e+00> : {type_}\n"
            f"{name}s = stablehlo.add {name}e, {name}o : {type_}\n"
            f"{result} = stablehlo.divide {name}o, {name}s : {type_}"
        )

    return re.sub(r"(%\w+) = stablehlo\.logistic (%[\w#]+) : (tensor<[^>]*>)", four, text)


def with_gelu_by_quotient(text: str) -> str:
    """GELU is erf(x rsqrt(2)) in StableHLO, and erf(x / 1.41421354) in linalg."""
    for two in re.findall(r"(%\w+) = chlo\.constant dense<2\.000000e\+00>", text):
        for root, type_ in re.findall(rf"(%\w+) = stablehlo\.rsqrt {two} : (tensor<[^>]*>)", text):
            text = re.sub(rf"stablehlo\.multiply (%\w+), {root} : ", rf"stablehlo.divide \1, {root} : ", text)
            made = f"{root} = stablehlo.constant dense<1.41421354> : {type_}"
            text = text.replace(f"{root} = stablehlo.rsqrt {two} : {type_}", made)
    return text


def with_bias_last(text: str) -> str:
    """The sums of a convolution begin with the bias in linalg; StableHLO adds it to them."""
    biases = set(re.findall(r"(%\w+) = linalg\.broadcast", text))

    def last(found: re.Match[str]) -> str:
        result, convolution, bias, type_ = found.groups()
        if bias not in biases:
            return found[0]
        name = f"%of_{result[1:]}"
        return (
            f"{name}c = arith.constant 0.000000e+00 : f32\n{name}e = tensor.empty() : {type_}\n"
            f"{name}z = linalg.fill ins({name}c : f32) outs({name}e : {type_}) -> {type_}\n"
            f"{name}s = {convolution} outs({name}z : {type_}) -> {type_}\n"
            f"{result} = arith.addf {name}s, {bias} : {type_}"
        )

    one = r"(%\w+) = (linalg\.(?:depthwise_)?conv[^\n]*?) outs\((%\w+) : (tensor<[^>]*>)\) -> tensor<[^>]*>"
    return re.sub(one, last, text)


def with_right_factor(text: str) -> str:
    """linalg's GELU by tanh has the factor 0.797724 in place of the root of 0.636619746, which is 2 / pi."""
    return text.replace("7.977240e-01", "0.797884524")


def apart(one: Any, other: Any, arguments: Any, **options: Any) -> int:
    results = zip(hu.run(one, *arguments, **options), hu.run(other, *arguments, **options), strict=True)
    return sum(int(np.count_nonzero(a.bits != b.bits)) for a, b in results)


def difference(stablehlo: Any, linalg: Any, arguments: Any) -> str:
    """Return by what two programs differ: "", "formulas", "order of sums", or what is not known."""
    if not apart(stablehlo, linalg, arguments):
        return ""
    one = with_gelu_by_quotient(with_logistic_in_four_ops(print_module(stablehlo)))
    other = with_right_factor(with_bias_last(print_module(linalg)))
    if not apart(one, other, arguments):
        return "formulas"
    left = apart(one, other, arguments, profile="spec,reduction_order=exact")
    return f"{left} elements are not explained" if left else "order of sums"


# --- modules ----------------------------------------------------------------------------------------------------------


def wrong_in(name: str) -> list[str]:
    """Return what is wrong with a module: it is lowered by both ways, they agree, and nothing in torch is unexplained."""
    torch: Any = import_module("torch")
    torch.manual_seed(1)
    module, arguments = import_module("torch_modules").CASES[name]()
    module = module.eval()
    found: dict[str, Any] = {}
    modules: dict[str, Any] = {}
    wrong = []
    for to in ("stablehlo", "linalg"):
        try:
            modules[to] = hu.from_torch(module, *arguments, to=to)
            found[to] = hu.run(modules[to], *arguments)
        except hu.Unsupported as error:
            if ONE_WAY.get(name, to) == to:
                wrong.append(f"{name}, {to}: {error}")
    with torch.no_grad(), hu.torch_mode() as seen:
        given = torch.utils._pytree.tree_leaves(module(*arguments))
    if seen.first is not None:
        wrong.append(f"{name}: {seen.first}")
    ways = list(found.values())
    for value, tensor in zip(ways[0], given, strict=True):
        if relative(value.numpy(), tensor.numpy()) > FROM_TORCH:
            wrong.append(f"{name}: torch is {relative(value.numpy(), tensor.numpy()):.3g} apart")
    if len(ways) == 2:
        why = difference(modules["stablehlo"], modules["linalg"], arguments)
        if why not in ("", "formulas", "order of sums"):
            wrong.append(f"{name}: {why}")
    return wrong


@pytest.mark.parametrize("name", ["int8 for each channel", "highway"])
def test_some_modules(name: str) -> None:
    assert wrong_in(name) == []


@pytest.mark.long
def test_sixty_modules() -> None:
    names = list(import_module("torch_modules").CASES)
    assert len(names) >= 60
    assert [text for name in names for text in wrong_in(name)] == []


@pytest.mark.onnx
@pytest.mark.long
@pytest.mark.parametrize("name", ["diffusion block", "highway"])
def test_exports_to_onnx(name: str, tmp_path: Path) -> None:
    torch: Any = import_module("torch")
    torch.manual_seed(1)
    module, arguments = import_module("torch_modules").CASES[name]()
    torch.onnx.export(module.eval(), arguments, tmp_path / "model.onnx", verbose=False, dynamo=True)
    stablehlo, linalg = (hu.from_onnx(tmp_path / "model.onnx", to=to) for to in ("stablehlo", "linalg"))
    leaves = torch.utils._pytree.tree_leaves(arguments)
    assert difference(stablehlo, linalg, leaves) in ("", "formulas", "order of sums")
    given = torch.utils._pytree.tree_leaves(module(*arguments))
    for value, tensor in zip(hu.run(linalg, *leaves), given, strict=True):
        assert relative(value.numpy(), tensor.detach().numpy()) <= FROM_TORCH
