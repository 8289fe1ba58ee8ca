"""Programs on tensors, bufferised by mlir-opt and run by mlir-runner, and here on the same memory."""

from __future__ import annotations

import random
from math import prod

import numpy as np
import pytest
from loop_runner import LOOPS, run_loops

import halfulp as hu

PASSES = ("--one-shot-bufferize", "--scf-forall-to-for", *LOOPS, "--convert-scf-to-cf")
_FORM = """func.func @f(%m: memref<{source}xi32>, %p: memref<{part}xi32>, %o: memref<{out}xi32>) {{
  %t = bufferization.to_tensor %m restrict : memref<{source}xi32> to tensor<{source}xi32>
  %q = bufferization.to_tensor %p restrict : memref<{part}xi32> to tensor<{part}xi32>
{constants}
{body}
  bufferization.materialize_in_destination %r in restrict writable %o : (tensor<{out}xi32>, memref<{out}xi32>) -> ()
  return
}}"""
_CONSTANTS = "\n".join(f"  %c{k} = arith.constant {k} : index" for k in range(13)) + "\n  %v = arith.constant -7 : i32"
Program = tuple[str, tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def _x(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _made(body: str, source: tuple[int, ...], part: tuple[int, ...], out: tuple[int, ...]) -> Program:
    text = _FORM.format(source=_x(source), part=_x(part), out=_x(out), constants=_CONSTANTS, body=body)
    return text, source, part, out


def _number(choose: random.Random, number: int) -> tuple[str, bool]:
    """Write a number as itself or as an operand."""
    dynamic = choose.random() < 0.4
    return (f"%c{number}" if dynamic else str(number)), dynamic


def _slice(choose: random.Random, insert: bool) -> Program:
    shape = (choose.randint(2, 6), choose.randint(2, 6))
    starts, sizes, steps = [], [], []
    for size in shape:
        start = choose.randrange(size)
        step = choose.randint(1, 3)
        starts.append(start)
        steps.append(step)
        sizes.append(choose.randint(1, (size - 1 - start) // step + 1))
    lists = [", ".join(_number(choose, number)[0] for number in each) for each in (starts, steps)]
    place = f"[{lists[0]}] [{', '.join(map(str, sizes))}] [{lists[1]}]"
    whole, part = f"tensor<{_x(shape)}xi32>", f"tensor<{_x(tuple(sizes))}xi32>"
    if insert:
        body = f"  %r = tensor.insert_slice %q into %t{place} : {part} into {whole}"
        return _made(body, shape, tuple(sizes), shape)
    body = f"  %r = tensor.extract_slice %t{place} : {whole} to {part}"
    return _made(body, shape, (1,), tuple(sizes))


def _pad(choose: random.Random) -> Program:
    shape = (choose.randint(1, 3), choose.randint(1, 3))
    low, high = ([choose.randint(0, 2) for _ in shape] for _ in range(2))
    out = tuple(a + size + b for a, size, b in zip(low, shape, high, strict=True))
    value, lines = "%v", ""
    if choose.random() < 0.5:
        value = "%w"
        lines = "    %k = arith.muli %i, %c7 : index\n    %l = arith.addi %k, %j : index\n"
        lines += "    %w = arith.index_cast %l : index to i32\n"
    body = (
        f"  %r = tensor.pad %t low{low} high{high} {{\n  ^bb0(%i: index, %j: index):\n{lines}"
        f"    tensor.yield {value} : i32\n  }} : tensor<{_x(shape)}xi32> to tensor<{_x(out)}xi32>"
    )
    return _made(body, shape, (1,), out)


def _generate(choose: random.Random) -> Program:
    shape = (choose.randint(1, 4), choose.randint(1, 4))
    body = (
        "  %r = tensor.generate {\n  ^bb0(%j: index, %i: index):\n"
        f"    %e = tensor.extract %t[%i, %j] : tensor<{_x(shape)}xi32>\n    %s = arith.subi %e, %v : i32\n"
        f"    tensor.yield %s : i32\n  }} : tensor<{_x(shape[::-1])}xi32>"
    )
    return _made(body, shape, (1,), shape[::-1])


def _reshape(choose: random.Random) -> Program:
    a, b, c = (choose.randint(1, 3) for _ in range(3))
    body = (
        f"  %0 = tensor.collapse_shape %t [[0, 1], [2]] : tensor<{a}x{b}x{c}xi32> into tensor<{a * b}x{c}xi32>\n"
        f"  %1 = tensor.expand_shape %0 [[0], [1, 2]] output_shape [{a * b}, 1, {c}] "
        f": tensor<{a * b}x{c}xi32> into tensor<{a * b}x1x{c}xi32>\n"
        f"  %2 = tensor.insert %v into %1[%c0, %c0, %c0] : tensor<{a * b}x1x{c}xi32>\n"
        f"  %sizes = tensor.from_elements %c{c}, %c{a * b} : tensor<2xindex>\n"
        f"  %r = tensor.reshape %2(%sizes) : (tensor<{a * b}x1x{c}xi32>, tensor<2xindex>) -> tensor<{c}x{a * b}xi32>"
    )
    return _made(body, (a, b, c), (1,), (c, a * b))


def _parallel(choose: random.Random) -> Program:
    rows, columns = choose.randint(1, 4), choose.randint(1, 3)
    whole = f"tensor<{rows}x{columns}xi32>"
    body = (
        f"  %r = scf.forall (%i) in ({rows}) shared_outs(%s = %t) -> ({whole}) {{\n"
        f"    %d = tensor.extract_slice %t[%i, 0] [1, {columns}] [1, 1] : {whole} to tensor<{columns}xi32>\n"
        f"    %e = tensor.insert %v into %d[%c0] : tensor<{columns}xi32>\n    scf.forall.in_parallel {{\n"
        f"      tensor.parallel_insert_slice %e into %s[%i, 0] [1, {columns}] [1, 1] "
        f": tensor<{columns}xi32> into {whole}\n    }}\n  }}"
    )
    return _made(body, (rows, columns), (1,), (rows, columns))


@pytest.mark.mlir
@pytest.mark.parametrize("count", [5, pytest.param(35, marks=pytest.mark.exhaustive)])
def test_bufferized_programs_compute_the_same(count: int) -> None:
    choose = random.Random(19)
    makers = [_pad, _generate, _reshape, _parallel]
    programs = [_slice(choose, insert) for insert in (False, True) for _ in range(2 * count)]
    programs += [make(choose) for make in makers for _ in range(count)]
    given = []
    for text, *shapes in programs:
        arrays = [np.arange(prod(shape), dtype=np.int32).reshape(shape) * 3 + 1 for shape in shapes]
        given.append((text, [hu.Value.from_numpy(array) for array in arrays]))
    wanted = run_loops(given, PASSES)
    for (text, arguments), memories in zip(given, wanted, strict=True):
        buffers = [hu.Buffer.from_numpy(value) for value in arguments]
        hu.run(text, *buffers)
        found = buffers[-1].numpy().ravel()
        assert found.tolist() == memories[-1].view(np.int64).astype(np.int32).tolist(), text
