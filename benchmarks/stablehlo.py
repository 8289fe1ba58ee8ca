"""Measure the ops of StableHLO beside its interpreter, which jaxlib has, and two models beside XLA.

All times are CPU times: the peers have processes of their own, and XLA uses several threads.
"""

from __future__ import annotations

import importlib.util
import math
import re
import time
from collections.abc import Iterator, Mapping
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import halfulp as hu
from benchmarks import jax_models
from benchmarks.models import distance
from benchmarks.rows import Absent, Disagreement, Measured, Row, Sizes, Target, agree, nanoseconds
from benchmarks.samples import random

GROUP = "StableHLO"
PEER = "StableHLO's interpreter"
REFERENCE = Path(__file__).parent.parent / "tests" / "stablehlo_reference.py"


class Case(NamedTuple):
    """A program of one op: the line that computes %r, the types of %a, %b and %c, and the type of %r."""

    body: str
    operands: tuple[str, ...]
    result: str


# Types; `_text` replaces the words.
V, BOOLEANS, INTEGERS, HALVES = (f"tensor<ELEMENTSx{each}>" for each in ("f32", "i1", "i32", "f16"))
M, TURNED, PADDED, TWICE = (f"tensor<{each}xf32>" for each in ("ROWSx100", "100xROWS", "SUM", "TWICE"))
ROW, COLUMN, PLACES = "tensor<100xf32>", "tensor<ROWSxf32>", "tensor<ROWSxi32>"
_ONE = "tensor<f32>"
_ZERO = f"%z = stablehlo.constant dense<0.0> : {_ONE}\n  %r ="


def _of(name: str, count: int, type_: str = V) -> Case:
    operands = ", ".join(["%a", "%b", "%c"][:count])
    return Case(f"%r = stablehlo.{name} {operands} : {type_}", (type_,) * count, type_)


def _body(line: str, result: str = _ONE) -> str:
    """Return the body of one op on %x and %y."""
    return f"""({{
  ^bb0(%x: {_ONE}, %y: {_ONE}):
    %s = stablehlo.{line}
    stablehlo.return %s : {result}
  }})"""


_ADDS = _body(f"add %x, %y : {_ONE}")
_LESS = _body(f"compare LT, %x, %y : ({_ONE}, {_ONE}) -> tensor<i1>", "tensor<i1>")


def _moved(line: str, *types: str) -> Case:
    """Return the case of a line with the types of its operands and of its result, which follow it."""
    *operands, result = types
    names = ", ".join(["%a", "%b", "%c"][: len(operands)])
    return Case(f"%r = {line.replace('@', names)} : ({', '.join(operands)}) -> {result}", tuple(operands), result)


_FILTERS, _IMAGE, _FOUND = (f"tensor<{each}xf32>" for each in ("3x3x10x2", "1xROWSx10x10", "1xROWSx10x2"))
CASES: Mapping[str, Case] = {
    **{name: _of(name, 2) for name in ("add", "multiply", "divide", "maximum", "power")},
    **{f"{name}, i32": _of(name, 2, INTEGERS) for name in ("add", "divide", "shift_left", "and")},
    **{
        name: _of(name, 1)
        for name in ("negate", "floor", "sqrt", "exponential", "log", "tanh", "logistic", "sine")
    },
    "clamp": _of("clamp", 3),
    "compare": _moved("stablehlo.compare LT, @", V, V, BOOLEANS),
    "convert to i32": _moved("stablehlo.convert @", V, INTEGERS),
    "convert to f16": _moved("stablehlo.convert @", V, HALVES),
    "iota": Case(f"%r = stablehlo.iota dim = 1 : {M}", (), M),
    "reshape": _moved("stablehlo.reshape @", M, V),
    "transpose": _moved("stablehlo.transpose @, dims = [1, 0]", M, TURNED),
    "broadcast_in_dim": _moved("stablehlo.broadcast_in_dim @, dims = [1]", ROW, M),
    "reverse": Case(f"%r = stablehlo.reverse %a, dims = [1] : {M}", (M,), M),
    "concatenate": _moved("stablehlo.concatenate @, dim = 0", V, V, TWICE),
    "pad": Case(
        f"{_ZERO} stablehlo.pad %a, %z, low = [ROWS], high = [0], interior = [0] : ({V}, {_ONE}) -> {PADDED}",
        (V,), PADDED,
    ),
    "slice": _moved("stablehlo.slice @ [0:ROWS, 1:100:3]", M, "tensor<ROWSx33xf32>"),
    "gather of rows": _moved(
        '"stablehlo.gather"(@) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], '
        "start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 100>}>",
        M, PLACES, M,
    ),
    "scatter of sums": _moved(
        '"stablehlo.scatter"(@) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], '
        f"inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> {_ADDS}",
        M, PLACES, M, M,
    ),
    "reduce, add": Case(
        f"{_ZERO} stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : "
        f"({M}, {_ONE}) -> {COLUMN}",
        (M,), COLUMN,
    ),
    "reduce, maximum": Case(
        f"{_ZERO} stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0] : "
        f"({M}, {_ONE}) -> {ROW}",
        (M,), ROW,
    ),
    "reduce_window, add": Case(
        f'{_ZERO} "stablehlo.reduce_window"(%a, %z) <{{window_dimensions = array<i64: 1, 5>, window_strides = '
        f"array<i64: 1, 5>}}> {_ADDS} : ({M}, {_ONE}) -> tensor<ROWSx20xf32>",
        (M,), "tensor<ROWSx20xf32>",
    ),
    "sort of rows": _moved(f'"stablehlo.sort"(@) <{{dimension = 1 : i64}}> {_LESS}', M, M),
    "dot_general": _moved(
        "stablehlo.dot_general @, contracting_dims = [1] x [0]", M, "tensor<100x16xf32>", "tensor<ROWSx16xf32>"
    ),
    "convolution": _moved(
        "stablehlo.convolution(@) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
        "window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}",
        _IMAGE, _FILTERS, _FOUND,
    ),
}  # fmt: skip
"""The ops that are measured, on f32 if there is no other type."""
NEAR: Mapping[str, int] = dict.fromkeys(("power", "exponential", "log", "tanh", "logistic", "sine"), 4)
"""The functions that the interpreter does not round correctly, and the ulps by which it may be wrong."""


def rows() -> Iterator[Row]:
    for name in CASES:
        yield Row(GROUP, name, partial(beside_interpreter, name), PEER, Target(speed=100))
    yield Row(GROUP, "transformer block, 16 tokens of width 64", small_block, PEER, unit="ms")
    for name, model, size, most in (
        ("ResNet-18, 224x224", "resnet18", 224, 10_000),
        ("transformer block, 128 tokens of width 512", "transformer_block", 512, 4_000),
    ):
        yield Row(GROUP, name, partial(beside_xla, model, size), "XLA", Target(most=most), "ms")


@cache
def _reference() -> Any:
    """Return the process of the interpreter. Raises Absent."""
    try:
        version("jaxlib")
    except PackageNotFoundError:
        raise Absent("jaxlib is not installed") from None
    spec = importlib.util.spec_from_file_location(REFERENCE.stem, REFERENCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Reference()


def _text(case: Case, count: int) -> tuple[str, tuple[str, ...]]:
    """Return a program with about so many elements, and the types of its operands."""
    rows_ = max(1, count // 100)
    words = {"ELEMENTS": 100 * rows_, "ROWS": rows_, "SUM": 101 * rows_, "TWICE": 200 * rows_}

    def spelled(text: str) -> str:
        return re.sub("|".join(words), lambda match: str(words[match[0]]), text)

    arguments = ", ".join(f"%{name}: {type_}" for name, type_ in zip("abc", case.operands, strict=False))
    body = f"  {case.body}\n  return %r : {case.result}"
    text = f"func.func @main({arguments}) -> {case.result} {{\n{body}\n}}\n"
    return spelled(text), tuple(map(spelled, case.operands))


def _operands(types: tuple[str, ...]) -> list[Any]:
    rng, made = random(15), []
    for type_ in types:
        shape = [int(size) for size in re.findall(r"(\d+)x", type_)]
        integers = type_.endswith("i32>")
        made.append(rng.integers(1, 31, shape, np.int32) if integers else rng.uniform(0.5, 2, shape).astype(np.float32))
    return made


def seconds_of(module: hu.Module, arguments: list[Any], rounds: int) -> float:
    """Return the least CPU time of a run."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        hu.run(module, *arguments)
        times.append(time.process_time() - start)
    return min(times)


def beside_interpreter(name: str, sizes: Sizes) -> Measured:
    text, types = _text(CASES[name], sizes.ops)
    arguments = _operands(types)
    found = _reference().timed(text, arguments, min(2, sizes.rounds))
    if found is None:
        raise Disagreement(f"StableHLO's interpreter does not run {name}")
    theirs, results = found
    module = hu.load(text)
    ours = [value.numpy() for value in hu.run(module, *arguments)]
    note = _near(name, ours[0], results[0])
    mine = seconds_of(module, arguments, 3 * sizes.rounds)
    count = max(math.prod(each.shape) for each in (*arguments, *ours))
    return nanoseconds((mine, theirs), count, note)


def _near(name: str, ours: Any, theirs: Any) -> str:
    """Compare results, and return a note. Raises Disagreement."""
    if name not in NEAR:
        agree(name, ours, theirs)
        return ""
    apart = int(np.abs(ours.view(np.int32).astype(np.int64) - theirs.view(np.int32)).max())
    if apart > NEAR[name]:
        raise Disagreement(f"results of {name} differ by {apart} ulp")
    return f"the peer's results differ by up to {apart} ulp" if apart else ""


def small_block(sizes: Sizes) -> Measured:
    with TemporaryDirectory() as name:
        folder = Path(name)
        _by_xla("transformer_block", 64, folder)
        text, stored = (folder / "program.mlir").read_text(encoding="utf-8"), np.load(folder / "arguments.npz")
        arguments = [stored[each] for each in stored.files]
    found = _reference().timed(text, arguments, 1)
    if found is None:
        raise Disagreement("StableHLO's interpreter does not run a transformer block")
    theirs, results = found
    module = hu.load(text)
    note = distance("a transformer block", [hu.run(module, *arguments)[0].numpy()], results)
    return Measured(seconds_of(module, arguments, sizes.rounds) * 1e3, theirs * 1e3, note=note)


def _by_xla(model: str, size: int, folder: Path) -> jax_models.Figures:
    try:
        version("jax")
    except PackageNotFoundError:
        raise Absent("jax is not installed") from None
    return jax_models.measured(model, size, folder, "XLA")


def beside_xla(model: str, size: int, sizes: Sizes) -> Measured:
    if sizes.chain < 1_000_000:
        size = 32
    with TemporaryDirectory() as name:
        folder = Path(name)
        theirs = _by_xla(model, size, folder)
        ours = jax_models.measured(model, size, folder, "halfulp")
        results = [np.load(folder / f"{side}.npy") for side in ("halfulp", "XLA")]
    note = distance(model, results[:1], results[1:])
    return Measured(ours.seconds * 1e3, theirs.seconds * 1e3, note=f"{ours.memory >> 20} MiB; {note}")
