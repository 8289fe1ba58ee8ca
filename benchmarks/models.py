"""Measure ten models from JAX, lowered to loops or branches on memory, as `tests/data/programs.md` describes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import halfulp as hu
from benchmarks import mlir
from benchmarks.rows import Disagreement, Measured, Row, Sizes, best
from benchmarks.samples import dtype_of
from halfulp.interp.ir.operations import argument_types
from halfulp.running import find_entry

GROUP = "models"
FOLDER = Path(__file__).parent.parent / "tests" / "data" / "programs"
_NEAR = 2.0**-5
"""The largest allowed distance of a peer's results from halfulp's, relative to the largest result. It is large because
bf16 has a significand of eight bits.
"""


def _softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    sums = powers.astype(np.float32).sum(axis=1, keepdims=True)
    return powers / sums.astype(x.dtype)


def _product(a: Any, b: Any) -> Any:
    return (a.astype(np.float32) @ b.astype(np.float32)).astype(a.dtype)


def _mlp(x: Any, first: Any, bias: Any, second: Any) -> Any:
    h = _product(x, first) + bias
    return _product(h * (1 / (1 + np.exp(-h))).astype(h.dtype), second)


def _layernorm(x: Any, scale: Any, bias: Any) -> Any:
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt(x.var(axis=1, keepdims=True) + np.float32(1e-5)) * scale + bias


def _convolution(x: Any, filters: Any) -> Any:
    padded = np.pad(x, ((0, 0), (0, 1), (0, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))[:, ::2, ::2]
    return np.maximum(np.tensordot(windows, filters, axes=((4, 5, 3), (0, 1, 2))), 0)


def _rounded_product(a: Any, b: Any) -> Any:
    a, b = (each.astype(dtype_of("f8E4M3FN")).astype(np.float32) for each in (a, b))
    return a @ b


def _requantised(a: Any, b: Any, scales: Any) -> Any:
    sums = a.astype(np.int32) @ b.astype(np.int32)
    return np.clip(np.rint(sums * scales.astype(np.float32)) + np.float32(3), -128, 127).astype(np.int8)


def _scan(x: Any) -> tuple[Any, Any]:
    states = [np.zeros(x.shape[1], x.dtype)]
    for row in x:
        states.append(np.tanh(states[-1] * np.float32(0.9) + row))
    return states[-1], np.stack(states[:-1])


def _rotated(x: Any) -> Any:
    powers = np.float32(10000) ** (np.arange(32, dtype=np.float32) / np.float32(32))
    angles = np.arange(16, dtype=np.float32)[:, None] / powers
    low, high, sine, cosine = x[..., :32], x[..., 32:], np.sin(angles), np.cos(angles)
    return np.concatenate((low * cosine - high * sine, low * sine + high * cosine), -1)


def _gelu(x: Any) -> Any:
    erfc = np.frompyfunc(math.erfc, 1, 1)(-x * np.float32(0.5**0.5)).astype(np.float32)
    return np.float32(0.5) * x * erfc


BY_NUMPY: Mapping[str, Callable[..., Any]] = {
    "conv_relu_f32": _convolution,
    "fp8_matmul": _rounded_product,
    "gather_rows_f32": lambda rows, at: rows[np.where(at < 0, at + len(rows), at)],
    "gelu_erf_f32": _gelu,
    "int8_matmul_requant": _requantised,
    "layernorm_f32": _layernorm,
    "mlp_silu_bf16": _mlp,
    "rope_f32": _rotated,
    "scan_tanh_f32": _scan,
    "softmax_bf16": _softmax,
}
"""The models as functions on whole arrays of NumPy. NumPy's functions are not correctly rounded, and its sums have
another order.
"""


def rows() -> Iterator[Row]:
    for model in BY_NUMPY:
        yield Row(GROUP, f"{model} in loops", partial(beside_numpy, model), "NumPy", unit="us")
    for model in BY_NUMPY:
        if model == "fp8_matmul":
            continue  # mlir-runner has no f8
        for stage in ("loops", "branches"):
            measure = partial(beside_runner, model, stage)
            yield Row(GROUP, f"{model} in {stage}", measure, mlir.NATIVE, unit="us")


@cache
def _text(model: str) -> str:
    return (FOLDER / f"{model}.linalg.mlir").read_text(encoding="utf-8")


def _arguments(model: str) -> list[hu.Value]:
    stored, types = np.load(FOLDER / f"{model}.npz"), argument_types(find_entry(hu.load(_text(model))))
    return [hu.Value.from_bits(stored[f"in{number}"], type_) for number, type_ in enumerate(types)]


@cache
def _lowered(model: str, stage: str) -> hu.Module:
    """Return the model after the passes of a stage. Raises Absent."""
    return hu.load(mlir.lowered(_text(model), stage))


def _run(module: hu.Module, arguments: list[hu.Value]) -> tuple[hu.Value, ...]:
    """Run a function whose arguments are memrefs, with tensors as arguments."""
    return hu.run(module, *arguments, max_steps=10**9)


def distance(model: str, ours: list[Any], theirs: list[Any]) -> str:
    """Return a text about the distance of the results. Raises Disagreement if the distance is larger than `_NEAR`, or
    if one result is not a number.
    """
    share = 0.0
    for one, other in zip(ours, theirs, strict=True):
        mine, peers = (np.asarray(each, np.float64) for each in (one, other))
        largest = float(np.abs(mine).max())
        apart = float(np.abs(mine - peers).max()) if mine.shape == peers.shape else np.inf
        if not apart <= _NEAR * largest:
            raise Disagreement(f"results of {model} differ by {apart:.2g}, where the largest is {largest:.2g}")
        share = max(share, apart / largest if apart else 0.0)
    return f"the results differ by up to {share:.1g} of the largest" if share else ""


def beside_numpy(model: str, sizes: Sizes) -> Measured:
    module, arguments = _lowered(model, "loops"), _arguments(model)
    arrays = [argument.numpy() for argument in arguments]

    def peer() -> Any:
        results = BY_NUMPY[model](*arrays)
        return results if isinstance(results, tuple) else (results,)

    note = distance(model, [value.numpy() for value in _run(module, arguments)], list(peer()))
    mine, theirs = best(lambda: _run(module, arguments), peer, rounds=min(sizes.rounds, 3))
    return Measured(mine * 1e6, theirs * 1e6, note=note)


def beside_runner(model: str, stage: str, sizes: Sizes) -> Measured:
    module, arguments = _lowered(model, stage), _arguments(model)
    ours = _run(module, arguments)
    types = [value.type for value in ours]
    seconds, codes = mlir.whole(_text(model), arguments, types, stage, sizes.rounds)
    theirs = [hu.Value.from_bits(each, type_) for each, type_ in zip(codes, types, strict=True)]
    note = distance(model, [value.numpy() for value in ours], [value.numpy() for value in theirs])
    (mine,) = best(lambda: _run(module, arguments), rounds=sizes.rounds)
    return Measured(mine * 1e6, seconds * 1e6, note=note)
