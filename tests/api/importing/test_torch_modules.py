"""Sixty modules of PyTorch by `hu.from_torch` in two ways, StableHLO and linalg, beside each other and beside torch."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import halfulp as hu

pytestmark = [pytest.mark.torch, pytest.mark.torch_mlir, pytest.mark.filterwarnings("ignore")]

ONE_WAY = {"U-Net": "linalg", "int4 in groups": "linalg", "cumulative": "stablehlo"}
"""The modules that torch-mlir lowers to one dialect only, and that dialect."""

APART = 2.0**-22
"""The most that the two ways may differ, relative to the largest element: by the order of additions, and by formulas that
the two lowerings write in other ways, such as 1 / sqrt(2). The largest of all modules was 9.7e-8 with torch-mlir 20261001.
"""
FROM_TORCH = 2.0**-20
"""The most that torch may be apart from the first way, so measured. The largest was 3.2e-7 with torch 2.13."""


def relative(one: Any, other: Any) -> float:
    largest = float(np.max(np.abs(other), initial=1e-30))
    return float(np.max(np.abs(one - other), initial=0)) / largest


def wrong_in(name: str) -> list[str]:
    """Return what is wrong with a module: it is lowered by both ways, they agree, and nothing in torch is unexplained."""
    torch: Any = import_module("torch")
    torch.manual_seed(1)
    module, arguments = import_module("torch_modules").CASES[name]()
    module = module.eval()
    found: dict[str, Any] = {}
    wrong = []
    for to in ("stablehlo", "linalg"):
        try:
            found[to] = hu.run(hu.from_torch(module, *arguments, to=to), *arguments)
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
        sizes = [relative(one.numpy(), other.numpy()) for one, other in zip(*ways, strict=True)]
        wrong += [f"{name}: the two ways are {size:.3g} apart" for size in sizes if size > APART]
    return wrong


@pytest.mark.parametrize("name", ["int8 for each channel", "rotary"])
def test_some_modules(name: str) -> None:
    assert wrong_in(name) == []


@pytest.mark.long
def test_sixty_modules() -> None:
    names = list(import_module("torch_modules").CASES)
    assert len(names) >= 60
    assert [text for name in names for text in wrong_in(name)] == []
