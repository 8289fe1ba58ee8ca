"""Measure launches of kernels of Triton, compiled for targets that need not be there."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import halfulp as hu
from benchmarks.rows import Absent, Disagreement, Measured, Row, Sizes, Target, agree, best
from benchmarks.samples import random

SOURCE = """import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        a = tl.load(a_ptr + i[:, None] * K + start + k[None, :])
        acc = tl.dot(a, tl.load(b_ptr + (start + k[:, None]) * N + j[None, :]), acc)
    tl.store(c_ptr + i[:, None] * N + j[None, :], acc)


@triton.jit
def polynomial(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, (x * 0.5 + 1.25) * x - 3.0, mask=i < n)


@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x))
    tl.store(y_ptr + row * n + i, e / tl.sum(e), mask=i < n)


@triton.jit
def sum_of_squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=0)
    tl.store(y_ptr + row, tl.sum(x * x))


@triton.jit
def cumsum(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=0)
    tl.store(y_ptr + row * n + i, tl.cumsum(x), mask=i < n)


@triton.jit
def dropout(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, tl.where(tl.rand(42, i) > 0.5, x * 2, 0.0), mask=i < n)
"""
# What the interpreter takes: the source, the kernel, the grid, A and the other arguments; it writes the result.
INTERPRET = """import importlib.util, json, sys, time
import numpy as np, torch
path, name, given, result = sys.argv[1:]
spec = importlib.util.spec_from_file_location("benchmark_kernels", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
found = json.loads(given)
arrays = [torch.from_numpy(np.load(each)) for each in found["arrays"]]
best = float("inf")
for _ in range(2):
    start = time.process_time()
    getattr(module, name)[tuple(found["grid"])](*arrays, *found["numbers"], **found["constants"])
    best = min(best, time.process_time() - start)
np.save(result, arrays[-1].numpy())
print(best)
"""
# The same for all programs of a folder: the file with the kernels, and the module with the arguments.
INTERPRET_ALL = """import importlib.util, json, sys, time
import numpy as np, torch
def load(path):
    spec = importlib.util.spec_from_file_location("module", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
def tensor(array):
    name = {"float8_e4m3fn": torch.float8_e4m3fn, "float8_e4m3fnuz": torch.float8_e4m3fnuz, "bfloat16": torch.bfloat16}
    kind = name.get(array.dtype.name)
    return torch.from_numpy(array) if kind is None else torch.from_numpy(array.view(f"i{array.itemsize}")).view(kind)
kernels, programs = map(load, sys.argv[1:3])
times = {}
for name in sys.argv[3:]:
    given, grid = programs.arguments(name)
    given = [tensor(each) if isinstance(each, np.ndarray) else each for each in given.values()]
    row = programs.row(name)
    kernel, best = getattr(kernels, row["kernel"])[grid], float("inf")
    try:
        for _ in range(5):
            start = time.process_time()
            kernel(*given, **row["constants"])
            best = min(best, time.process_time() - start)
        times[name] = best
    except Exception:  # the interpreter lacks something
        pass
print(json.dumps(times))
"""
# Sizes of a matmul, the type of A and B, and the most seconds.
MATMULS = (((256, 256, 1024), "f16", 2.0), ((1024, 1024, 1024), "f8E4M3FN", 60.0))
ELEMENTS, SECONDS, BLOCKS = 10_000_000, 2.0, (1_024, 16_384)
# Kernels beside the interpreter: rows and columns of x, the shape of y.
BESIDE = {
    "polynomial": ((100, 1000), (100, 1000)),
    "softmax": ((100, 1000), (100, 1000)),
    "sum_of_squares": ((100, 1000), (100,)),
    "cumsum": ((100, 1000), (100, 1000)),
    "dropout": ((100, 1000), (100, 1000)),
}
FOLDER = Path(__file__).parent.parent / "tests"
# The forms of the programs of the folder, by their targets. Each program is launched so often before it is measured:
# its plan and machine code are made by then.
FORMS = {"TTIR": "ttir", "cuda:90": "cuda90.ttgir", "hip:gfx942": "gfx942.ttgir"}
LAUNCHES = 12
AS_FAST = 10.0
NEAR = 1e-3
"""The results of the interpreter, which does not compute as a chip, may differ by this part of the largest."""


@lru_cache(maxsize=1)
def _kernels() -> Any:
    """Return the module with the kernels, whose source Triton reads. Raises Absent."""
    if importlib.util.find_spec("triton") is None:
        raise Absent("triton is not installed")
    path = Path(tempfile.mkdtemp()) / "benchmark_kernels.py"
    path.write_text(SOURCE, encoding="utf-8")
    return _module(path)


def _module(path: Path) -> Any:
    """Return the module in a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows() -> Iterator[Row]:
    for target in ("cuda:90", "hip:gfx942"):
        for (m, n, k), type_, most in MATMULS if target == "cuda:90" else MATMULS[:1]:
            name = f"{target}, matmul {m}x{n}x{k} of {type_}"
            yield Row("kernels of Triton", name, partial(matmul, target, (m, n, k), type_), "", Target(most=most), "s")
        for block in BLOCKS:
            name = f"{target}, a polynomial of {ELEMENTS:,} f32, blocks of {block:,}"
            yield Row("kernels of Triton", name, partial(polynomial, target, block), "", Target(most=SECONDS), "s")
    for kernel, (shape, _) in BESIDE.items():
        name = f"cuda:90, {kernel.replace('_', ' ')} of {shape[0]} rows of {shape[1]:,} f32"
        peer = "Triton's interpreter"
        yield Row("kernels of Triton", name, partial(beside, kernel), peer, Target(speed=AS_FAST), "ms")
    for target in FORMS:
        for which in ("slowest", "median"):
            name = f"{target}, later launches of the tests' kernels, the {which} of them"
            measure = partial(programs, target, which)
            yield Row("kernels of Triton", name, measure, "Triton's interpreter", Target(speed=AS_FAST), "ms")
    name = "cuda:90, matmul 256x256x256 of f16"
    yield Row("kernels of Triton", name, beside_matmul, "Triton's interpreter", Target(speed=AS_FAST), "ms")


def matmul(target: str, shape: tuple[int, int, int], type_: str, sizes: Sizes) -> Measured:
    """Measure a matmul, without the time of Triton's compiler."""
    m, n, k = (max(128, size * min(sizes.exact, 200_000) // 200_000 // 128 * 128) for size in shape)
    draw = random(1)
    # Small integers: the sums are exact in f32, whatever the order.
    numbers = [draw.integers(-4, 5, size).astype(np.float32) for size in ((m, k), (k, n))]
    a, b = (hu.convert(each, type_) for each in numbers)
    c = np.zeros((m, n), np.float32)
    kernel = _kernels().matmul[m // 128, n // 128]

    def run() -> Any:
        hu.launch(kernel, a, b, c, n, k, BM=128, BN=128, BK=64, target=target)

    run()
    agree(f"matmul of {type_} for {target}", c.view(np.uint32), (numbers[0] @ numbers[1]).view(np.uint32))
    (seconds,) = best(run, rounds=1, clock=time.process_time)
    return Measured(seconds)


def polynomial(target: str, block: int, sizes: Sizes) -> Measured:
    """Measure an elementwise kernel, without the time of Triton's compiler."""
    count = min(ELEMENTS, max(sizes.exact * 50, block))
    x = random(2).integers(-9, 10, count).astype(np.float32)
    y = np.zeros_like(x)
    kernel = _kernels().polynomial[(-(-count // block),)]

    def run() -> Any:
        hu.launch(kernel, x, y, count, BLOCK=block, target=target)

    run()
    agree(f"polynomial for {target}", y.view(np.uint32), ((x * 0.5 + 1.25) * x - 3.0).view(np.uint32))
    (seconds,) = best(run, rounds=1, clock=time.process_time)
    return Measured(seconds)


def beside(name: str, sizes: Sizes) -> Measured:
    """Measure a kernel, one program for each row, beside Triton's interpreter."""
    (rows, columns), shape = BESIDE[name]
    x, y = random(3).standard_normal((rows, columns)).astype(np.float32), np.zeros(shape, np.float32)
    number = x.size if name in ("polynomial", "dropout") else columns
    return _beside(name, (rows,), [x, y], [number], {"BLOCK": 1024 if number == columns else columns + 24})


def beside_matmul(sizes: Sizes) -> Measured:
    """Measure a matmul beside Triton's interpreter."""
    a, b = (random(4).standard_normal((256, 256)).astype(np.float16) for _ in range(2))
    constants = {"BM": 64, "BN": 64, "BK": 64}
    return _beside("matmul", (4, 4), [a, b, np.zeros((256, 256), np.float32)], [256, 256], constants)


def programs(target: str, which: str, sizes: Sizes) -> Measured:
    """Measure the programs of the folder, launched again, beside Triton's interpreter.

    Return the one whose ratio is the least or the median.
    """
    found = sorted(_programs(target), key=lambda each: each[1] / each[2], reverse=True)
    reach = sum(each[2] / each[1] >= AS_FAST for each in found)
    name, ours, peer = found[0 if which == "slowest" else len(found) // 2]
    note = f"{name}; {reach} of {len(found)} programs are {AS_FAST:.0f} times as fast"
    return Measured(ours * 1e3, peer * 1e3, note=note)


@lru_cache(maxsize=len(FORMS))
def _programs(target: str) -> list[tuple[str, float, float]]:
    """Return the programs of the folder in a form: the name, our seconds, and those of the interpreter."""
    module, form, measured = _module(FOLDER / "triton_programs.py"), FORMS[target], []
    for name, peer in _interpreted().items():
        path = FOLDER / "data" / "triton" / f"{name}.{form}"
        if not path.exists():
            continue
        kernel = hu.load(path)
        given, grid = module.arguments(name)

        def run(kernel: Any = kernel, given: Any = given, grid: Any = grid) -> Any:
            hu.run(kernel, *given.values(), grid=grid)

        for _ in range(LAUNCHES):
            run()
        (seconds,) = best(run, rounds=9, clock=time.process_time)
        measured.append((name, seconds, peer))
    return measured


def _said_by_interpreter(code: str, *arguments: Any) -> str:
    """Return what code prints that runs kernels in Triton's interpreter, in another process: Triton chooses when it is
    imported.
    """
    if importlib.util.find_spec("torch") is None:
        raise Absent("torch, which Triton's interpreter takes tensors of, is not installed")
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode:
        raise Absent(f"Triton's interpreter fails: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


@lru_cache(maxsize=1)
def _interpreted() -> dict[str, float]:
    """Return the seconds of Triton's interpreter for the programs of the folder that it runs."""
    _kernels()
    arguments = FOLDER / "triton_programs.py"
    names = json.loads((FOLDER / "data" / "triton" / "programs.json").read_text())
    said = _said_by_interpreter(INTERPRET_ALL, FOLDER / "data" / "triton" / "kernels.py", arguments, *names)
    times: dict[str, float] = json.loads(said.splitlines()[-1])
    return times


def _beside(
    name: str, grid: tuple[int, ...], arrays: list[Any], numbers: list[int], constants: dict[str, int]
) -> Measured:
    module = _kernels()
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder, f"{number}.npy")) for number in range(len(arrays) + 1)]
        for file, array in zip(files, arrays, strict=False):
            np.save(file, array)
        given = json.dumps({"arrays": files[:-1], "grid": grid, "numbers": numbers, "constants": constants})
        said = _said_by_interpreter(INTERPRET, module.__file__, name, given, files[-1])
        theirs, peer = np.load(files[-1]), float(said)

    def run() -> Any:
        hu.launch(getattr(module, name)[grid], *arrays, *numbers, **constants, target="cuda:90")

    run()
    ours = arrays[-1]
    distance = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    if not distance < NEAR:
        raise Disagreement(f"the results differ by {distance:.2g} of the largest")
    (seconds,) = best(run, rounds=3, clock=time.process_time)
    return Measured(seconds * 1e3, peer * 1e3, note=f"the results differ by up to {distance:.1g} of the largest")
