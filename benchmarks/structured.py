"""Measure structured ops: matrix products, a convolution, a softmax, and elementwise bodies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import halfulp as hu
from benchmarks import mlir
from benchmarks.programs import CHAIN, chain, chain_body
from benchmarks.rows import Disagreement, Measured, Row, Sizes, Target, agree, best
from benchmarks.samples import dtype_of, peer_of, positive, random

GROUP = "structured ops"
SIDE = 256
IMAGE = 56, 64  # pixels of a side, channels
_ROWS = "affine_map<(d0, d1) -> (d0)>"
_ALL = "affine_map<(d0, d1) -> (d0, d1)>"


def rows() -> Iterator[Row]:
    name = f"linalg.matmul {SIDE}x{SIDE}x{SIDE}"
    for type_, target in (("f32", Target(speed=1 / 60)), ("f8E4M3FN", Target(most=200))):
        yield Row(GROUP, f"{name}, {type_} in f32", partial(matmul, type_), f"{peer_of(type_)} matmul", target, "ms")
    yield Row(GROUP, f"{name}, f32", matmul_in_loops, mlir.NATIVE, unit="ms")
    yield Row(GROUP, "softmax 1024x1024, f32", softmax, "NumPy", Target(speed=1 / 6), "ms")
    name = "linalg.conv_2d_nhwc_hwcf 1x{0}x{0}x{1} by 3x3x{1}x{1}, f32".format(*IMAGE)
    yield Row(GROUP, name, convolution, "NumPy tensordot", Target(most=3000), "ms")
    yield Row(GROUP, name, convolution_in_loops, mlir.NATIVE, unit="ms")
    name = "linalg.generic of ten ops, f32"
    yield Row(GROUP, name, generic, "the same ops on tensors", Target(speed=1 / 1.5), "ms")
    yield Row(GROUP, name, generic_in_loops, mlir.NATIVE, unit="ms")


def _milliseconds(seconds: Sequence[float], note: str = "") -> Measured:
    """Return the times of halfulp and of the peer."""
    ours, theirs = seconds
    return Measured(ours * 1e3, theirs * 1e3, note=note)


def _timed(module: Any, *arguments: Any, rounds: int) -> float:
    (mine,) = best(lambda: hu.run(module, *arguments), rounds=rounds)
    return mine


def _filled(op: str, operands: str, types: str, result: str, element: str = "f32") -> str:
    """Return a function of %a and %b that applies an op to them and to a tensor of zeros."""
    a, b = types.split(", ")
    return f"""func.func @main(%a: {a}, %b: {b}) -> {result} {{
  %zero = arith.constant 0.0 : {element}
  %none = tensor.empty() : {result}
  %zeros = linalg.fill ins(%zero : {element}) outs(%none : {result}) -> {result}
  %r = {op} ins({operands} : {types}) outs(%zeros : {result}) -> {result}
  return %r : {result}
}}
"""


_IN_MEMORY = """%zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%r : {result})
    {op} ins(%a, %b : {a}, {b}) outs(%r : {result})"""


def _matmul(side: int, type_: str) -> Any:
    operand, result = f"tensor<{side}x{side}x{type_}>", f"tensor<{side}x{side}xf32>"
    return hu.load(_filled("linalg.matmul", "%a, %b", f"{operand}, {operand}", result))


def matmul(type_: str, sizes: Sizes) -> Measured:
    """Measure a product of numbers whose sums are exact in every order, since the peer's order is not known."""
    side = min(SIDE, math.isqrt(sizes.chain))
    a = random(7).integers(-4, 5, (side, side)).astype(dtype_of(type_))
    module = _matmul(side, type_)
    agree("a matrix product", hu.run(module, a, a)[0].numpy() + 0, np.matmul(a, a).astype(np.float32) + 0)
    mine = _timed(module, a, a, rounds=3 * sizes.rounds)
    (theirs,) = best(lambda: np.matmul(a, a), rounds=20 * sizes.rounds)  # short, and by several threads
    return _milliseconds((mine, theirs))


def matmul_in_loops(sizes: Sizes) -> Measured:
    """Measure a product whose sums round, compared with loops of mlir-runner, which add in the same order."""
    side = min(SIDE, math.isqrt(sizes.chain))
    a, b = random(8).standard_normal((2, side, side)).astype(np.float32)
    module, type_ = _matmul(side, "f32"), f"memref<{side}x{side}xf32>"
    body = _IN_MEMORY.format(op="linalg.matmul", a=type_, b=type_, result=type_)
    theirs = mlir.structured(body, (a, b), hu.run(module, a, b)[0].numpy(), sizes.rounds)
    return _milliseconds((_timed(module, a, b, rounds=sizes.rounds), theirs))


def _convolution(sizes: Sizes, exact: bool) -> tuple[Any, Any, str]:
    """Return an image, filters, and the text of the types. ``exact``: small numbers; otherwise numbers whose products
    round.
    """
    side, channels = IMAGE if sizes.chain >= 1_000_000 else (8, 4)
    shapes = (1, side, side, channels), (3, 3, channels, channels)
    rng = random(9)
    a, b = (rng.integers(-4, 5, shape) if exact else rng.standard_normal(shape) for shape in shapes)
    out = (1, side - 2, side - 2, channels)
    types = ", ".join(f"{'x'.join(map(str, shape))}xf32" for shape in (*shapes, out))
    return a.astype(np.float32), b.astype(np.float32), types


def _load_convolution(types: str) -> Any:
    a, b, r = (f"tensor<{each}>" for each in types.split(", "))
    return hu.load(_filled("linalg.conv_2d_nhwc_hwcf", "%a, %b", f"{a}, {b}", r))


def convolution(sizes: Sizes) -> Measured:
    """Measure a convolution of small integers, whose sums are exact in every order."""
    a, b, types = _convolution(sizes, exact=True)
    module = _load_convolution(types)

    def peer() -> Any:
        windows = np.lib.stride_tricks.sliding_window_view(a, (3, 3), (1, 2))  # n, y, x, channels, rows, columns
        return np.tensordot(windows, b, axes=((4, 5, 3), (0, 1, 2)))

    agree("a convolution", hu.run(module, a, b)[0].numpy() + 0, peer() + 0)
    return _milliseconds(best(lambda: hu.run(module, a, b), peer, rounds=sizes.rounds))


def convolution_in_loops(sizes: Sizes) -> Measured:
    a, b, types = _convolution(sizes, exact=False)
    module = _load_convolution(types)
    names = dict(zip(("a", "b", "result"), (f"memref<{each}>" for each in types.split(", ")), strict=True))
    body = _IN_MEMORY.format(op="linalg.conv_2d_nhwc_hwcf", **names)
    theirs = mlir.structured(body, (a, b), hu.run(module, a, b)[0].numpy(), min(3, sizes.rounds))
    return _milliseconds((_timed(module, a, b, rounds=min(3, sizes.rounds)), theirs))


def softmax(sizes: Sizes) -> Measured:
    """Measure a softmax of four structured ops, compared with NumPy, whose exp and order of additions are different."""
    side = math.isqrt(sizes.chain) if sizes.chain < 1_000_000 else 1024
    whole, row = f"tensor<{side}x{side}xf32>", f"tensor<{side}xf32>"

    def generic(name: str, operands: str, maps: str, types: str, out: str, result: str, body: str) -> str:
        arguments = ", ".join(f"%{letter}: f32" for letter in "xyz"[: operands.count("%")])
        iterators = '"parallel", "reduction"' if result == row else '"parallel", "parallel"'
        return f"""  {name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}
    ins({operands} : {types}) outs({out} : {result}) {{
  ^bb0({arguments}, %o: f32):
    {body}
  }} -> {result}
"""

    parts = (
        generic(
            "%largest", "%x0", f"{_ALL}, {_ROWS}", whole, "%lows", row,
            "%m = arith.maximumf %o, %x : f32\n    linalg.yield %m : f32",
        ),
        generic(
            "%powers", "%x0, %largest", f"{_ALL}, {_ROWS}, {_ALL}", f"{whole}, {row}", "%whole", whole,
            "%d = arith.subf %x, %y : f32\n    %e = math.exp %d : f32\n    linalg.yield %e : f32",
        ),
        generic(
            "%sums", "%powers", f"{_ALL}, {_ROWS}", whole, "%zeros", row,
            "%s = arith.addf %o, %x : f32\n    linalg.yield %s : f32",
        ),
        generic(
            "%r", "%powers, %sums", f"{_ALL}, {_ROWS}, {_ALL}", f"{whole}, {row}", "%whole", whole,
            "%q = arith.divf %x, %y : f32\n    linalg.yield %q : f32",
        ),
    )  # fmt: skip
    module = hu.load(
        f"""func.func @main(%x0: {whole}) -> {whole} {{
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %row = tensor.empty() : {row}
  %whole = tensor.empty() : {whole}
  %lows = linalg.fill ins(%low : f32) outs(%row : {row}) -> {row}
  %zeros = linalg.fill ins(%zero : f32) outs(%row : {row}) -> {row}
{"".join(parts)}  return %r : {whole}
}}
"""
    )
    x = random(10).standard_normal((side, side)).astype(np.float32)

    def peer() -> Any:
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    ours, theirs = hu.run(module, x)[0].numpy(), peer()
    ulps = np.abs(ours.view(np.int32) - theirs.view(np.int32)).max()
    if ulps > 64:
        raise Disagreement(f"a softmax differs by {ulps} ulp")
    times = best(lambda: hu.run(module, x), peer, rounds=3 * sizes.rounds)
    return _milliseconds(times, note=f"the peer adds in another order: its results differ by up to {ulps} ulp")


def _generic(count: int, kind: str) -> str:
    """Return a linalg.generic of the ten ops on %a and %b that writes %r, or returns it."""
    type_ = f"{kind}<{count}xf32>"
    body = "\n    ".join(chain_body("f32", CHAIN))
    one = "affine_map<(d0) -> (d0)>"
    returned = f" -> {type_}" if kind == "tensor" else ""
    out = "%none" if kind == "tensor" else "%r"
    return f"""linalg.generic {{indexing_maps = [{one}, {one}, {one}], iterator_types = ["parallel"]}}
    ins(%a, %b : {type_}, {type_}) outs({out} : {type_}) {{
  ^bb0(%x: f32, %y: f32, %o: f32):
    {body}
    linalg.yield %r : f32
  }}{returned}"""


def _load_generic(count: int) -> Any:
    type_ = f"tensor<{count}xf32>"
    return hu.load(
        f"""func.func @main(%a: {type_}, %b: {type_}) -> {type_} {{
  %none = tensor.empty() : {type_}
  %result = {_generic(count, "tensor")}
  return %result : {type_}
}}
"""
    )


def generic(sizes: Sizes) -> Measured:
    x, y = positive("f32", sizes.chain)
    module, other = _load_generic(x.size), hu.load(chain(f"tensor<{x.size}xf32>"))
    agree("a generic", hu.run(module, x, y)[0].bits, hu.run(other, x, y)[0].bits)
    return _milliseconds(best(lambda: hu.run(module, x, y), lambda: hu.run(other, x, y), rounds=3 * sizes.rounds))


def generic_in_loops(sizes: Sizes) -> Measured:
    x, y = positive("f32", sizes.chain)
    module = _load_generic(x.size)
    body = _generic(x.size, "memref").replace("%r =", "%last =").replace("yield %r", "yield %last")
    theirs = mlir.structured(body, (x, y), hu.run(module, x, y)[0].numpy(), sizes.rounds)
    return _milliseconds((_timed(module, x, y, rounds=sizes.rounds), theirs))
