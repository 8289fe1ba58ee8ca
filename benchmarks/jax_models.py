"""Two models in plain JAX with weights from a fixed seed; lower, run and measure them.

    python benchmarks/jax_models.py MODEL SIZE FOLDER XLA|halfulp

A run by XLA leaves the program, its arguments and the result in the folder; one by halfulp reads them. Each prints its
CPU time in seconds and its peak memory in bytes. Every model has a size: the pixels of a side, or the width.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HEADS = 8
STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))
"""The channels and the first stride of the stages of ResNet-18."""
Model = tuple[Callable[..., Any], Any, Any]
"""A function, its weights, and its input."""


class Figures(NamedTuple):
    """The CPU time of a run in seconds, and the peak memory of its process in bytes."""

    seconds: float
    memory: int


def resnet18(size: int) -> Model:
    """Return ResNet-18 for one image: 11.7 million weights, and 1.8 billion products for 224 x 224 pixels."""
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)

    def convolution(side: int, taken: int, made: int) -> dict[str, Any]:
        kernel = rng.standard_normal((side, side, taken, made), np.float32) * np.float32((2 / (side**2 * taken)) ** 0.5)
        scale, shift, mean = (rng.standard_normal(made, np.float32) * np.float32(0.1) for _ in range(3))
        return {"w": kernel, "scale": 1 + scale, "shift": shift, "mean": mean, "var": np.abs(1 + scale)}

    def layer(p: Any, x: Any, stride: int = 1) -> Any:
        numbers = ("NHWC", "HWIO", "NHWC")
        x = jax.lax.conv_general_dilated(x, p["w"], (stride, stride), "SAME", dimension_numbers=numbers)
        return (x - p["mean"]) * jax.lax.rsqrt(p["var"] + 1e-5) * p["scale"] + p["shift"]

    def run(net: Any, x: Any) -> Any:
        x = jax.nn.relu(layer(net["stem"], x, 2))
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        for name, stride in blocks:
            p = net[name]
            y = layer(p["b"], jax.nn.relu(layer(p["a"], x, stride)))
            x = jax.nn.relu(y + (layer(p["short"], x, stride) if "short" in p else x))
        return jnp.mean(x, axis=(1, 2)) @ net["fc"]

    net: dict[str, Any] = {"stem": convolution(7, 3, 64)}
    blocks = []
    width = 64
    for stage, (made, first) in enumerate(STAGES):
        for number, stride in enumerate((first, 1)):
            block = {"a": convolution(3, width, made), "b": convolution(3, made, made)}
            if stride != 1 or width != made:
                block["short"] = convolution(1, width, made)
            blocks.append((f"{stage}.{number}", stride))
            net[f"{stage}.{number}"], width = block, made
    net["fc"] = rng.standard_normal((512, 1000), np.float32) * np.float32(512**-0.5)
    return run, net, np.random.default_rng(1).standard_normal((1, size, size, 3), np.float32)


def transformer_block(width: int) -> Model:
    """Return a transformer block with causal attention, for a quarter of its width in tokens. With the width 512 it has
    3.15 million weights and 0.42 billion products.
    """
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    length = width // 4

    def matrix(rows: int, columns: int) -> Any:
        return rng.standard_normal((rows, columns), np.float32) * np.float32(rows**-0.5)

    def scales() -> dict[str, Any]:
        return {
            n: at + np.float32(0.1) * rng.standard_normal(width, np.float32) for n, at in (("scale", 1), ("shift", 0))
        }

    def norm(p: Any, x: Any) -> Any:
        mean = jnp.mean(x, axis=-1, keepdims=True)
        variance = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["scale"] + p["shift"]

    def attention(p: Any, x: Any) -> Any:
        q, k, v = jnp.split((x @ p["qkv"]).reshape(length, 3, HEADS, width // HEADS), 3, axis=1)
        scores = jnp.einsum("qhd,khd->hqk", q[:, 0], k[:, 0]) * (width // HEADS) ** -0.5
        chance = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf), axis=-1)
        return jnp.einsum("hqk,khd->qhd", chance, v[:, 0]).reshape(length, width) @ p["out"]

    def run(p: Any, x: Any) -> Any:
        x = x + attention(p, norm(p["norm1"], x))
        return x + jax.nn.gelu(norm(p["norm2"], x) @ p["up"], approximate=False) @ p["down"]

    weights = {
        "norm1": scales(), "qkv": matrix(width, 3 * width), "out": matrix(width, width),
        "norm2": scales(), "up": matrix(width, 4 * width), "down": matrix(4 * width, width),
    }  # fmt: skip
    return run, weights, np.random.default_rng(1).standard_normal((length, width), np.float32)


MODELS: Mapping[str, Callable[[int], Model]] = {"resnet18": resnet18, "transformer_block": transformer_block}


def measured(model: str, size: int, folder: Path, side: str) -> Figures:
    """Run a model in a process of its own, by "XLA" or by "halfulp". Raises RuntimeError if the process fails."""
    command = [sys.executable, __file__, model, str(size), str(folder), side]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return Figures(*json.loads(done.stdout.splitlines()[-1]))


def _by_xla(model: str, size: int, folder: Path) -> float:
    import jax

    function, weights, given = MODELS[model](size)
    compiled = jax.jit(function)
    (folder / "program.mlir").write_text(compiled.lower(weights, given).as_text(), encoding="utf-8")
    np.savez(folder / "arguments.npz", *jax.tree.leaves((weights, given)))
    np.save(folder / "XLA.npy", np.asarray(compiled(weights, given)))  # compiles
    start = time.process_time()
    np.asarray(compiled(weights, given))
    return time.process_time() - start


def _by_halfulp(folder: Path) -> float:
    import halfulp as hu

    stored = np.load(folder / "arguments.npz")
    arguments = [stored[name] for name in stored.files]
    module = hu.load(folder / "program.mlir")
    start = time.process_time()
    (result,) = hu.run(module, *arguments)
    seconds = time.process_time() - start
    np.save(folder / "halfulp.npy", result.numpy())
    return seconds


def _peak_memory() -> int:
    """Return the peak memory of this process; on Linux, `getrusage` includes that of the parent before exec."""
    status = Path("/proc/self/status")
    found = re.search(r"^VmHWM:\s+(\d+) kB", status.read_text(), re.MULTILINE) if status.exists() else None
    return (int(found[1]) if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) << 10


def main(arguments: Sequence[str]) -> None:
    model, size, folder, side = arguments
    seconds = _by_xla(model, int(size), Path(folder)) if side == "XLA" else _by_halfulp(Path(folder))
    print(json.dumps([seconds, _peak_memory()]))


if __name__ == "__main__":
    main(sys.argv[1:])
