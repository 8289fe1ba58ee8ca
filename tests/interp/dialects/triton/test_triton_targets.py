"""What single ops of TTGIR compute on a target: casts, fused sums, orders of sums, and what is refused."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from tables import each_row

import halfulp as hu
from halfulp.interp.dialects.triton.layouts import layout_of
from halfulp.interp.dialects.triton.orders import Tree, reduced, scanned
from halfulp.interp.ir import types as ty

DATA = Path(__file__).parents[3] / "data" / "triton"
DTYPES: dict[str, Any] = {
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
}
MODULE = """
#e = #ttg.blocked<{{sizePerThread = [{size}, 1], threadsPerWarp = [{lanes}, 1], warpsPerCTA = [4, 1], order = [0, 1]}}>
#l = #ttg.blocked<{{sizePerThread = [{size}], threadsPerWarp = [{lanes}], warpsPerCTA = [4], order = [0]}}>
module attributes {{"ttg.num-warps" = 4 : i32, ttg.target = "{target}", "ttg.threads-per-warp" = {lanes} : i32}} {{
  tt.func public @f({arguments}) {{
    %r = tt.make_range {{end = {n} : i32, start = 0 : i32}} : tensor<{n}xi32, #l>
{body}
    tt.return
  }}
}}
"""


def load(name: str, element: str, n: int) -> str:
    """Return the text that loads elements through the pointer of an argument."""
    tensor = f"tensor<{n}x!tt.ptr<{element}>, #l>"
    return (
        f"%p{name} = tt.splat %{name}_ : !tt.ptr<{element}> -> {tensor}\n"
        f"%q{name} = tt.addptr %p{name}, %r : {tensor}, tensor<{n}xi32, #l>\n%{name} = tt.load %q{name} : {tensor}\n"
    )


def store(value: str, element: str, n: int) -> str:
    """Return the text that stores elements through the last pointer."""
    tensor = f"tensor<{n}x!tt.ptr<{element}>, #l>"
    return (
        f"%po = tt.splat %o_ : !tt.ptr<{element}> -> {tensor}\n"
        f"%qo = tt.addptr %po, %r : {tensor}, tensor<{n}xi32, #l>\ntt.store %qo, %{value} : {tensor}\n"
    )


def run(
    target: str,
    body: str,
    arguments: Sequence[tuple[str, str, Any]],
    n: int,
    size: int = 1,
    grid: int = 1,
    **options: Any,
) -> None:
    """Run a kernel on arrays, each with its name and element type."""
    names = ", ".join(f"%{name}_: !tt.ptr<{element}>" for name, element, _ in arguments)
    lanes = 32 if target.startswith("cuda") else 64
    text = MODULE.format(size=size, lanes=lanes, target=target, arguments=names, n=n, body=body)
    hu.run(text, *(array for _, _, array in arguments), grid=grid, **options)


# --- casts ------------------------------------------------------------------------------------------------------------


def all_of(name: str) -> npt.NDArray[Any]:
    """Return the numbers of all codes of a type."""
    dtype = np.dtype(DTYPES[name])
    return np.arange(1 << 8 * dtype.itemsize).astype(f"u{dtype.itemsize}").view(dtype)


def cast(target: str, source: str, result: str, rounding: str = "rtne") -> npt.NDArray[Any]:
    """Return the codes that all codes of a type become."""
    given = all_of(source)
    n, got = len(given), np.zeros(len(given), DTYPES[result])
    word = f", rounding = {rounding}" if got.itemsize < given.itemsize else ""
    text = f"%y = tt.fp_to_fp %x{word} : tensor<{n}x{source}, #l> -> tensor<{n}x{result}, #l>\n"
    run(target, load("x", source, n) + text + store("y", result, n), (("x", source, given), ("o", result, got)), n)
    return got.view(f"u{got.itemsize}")


def check_casts(every: bool) -> None:
    """Compare casts of gfx942 with what its software gives for all codes."""
    recorded = np.load(DATA / "casts_gfx942.npz")
    names = [name for name in recorded if (name in ("f16_f8E4M3FN", "f8E5M2_bf16")) != every]
    assert [name for name in names if not np.array_equal(cast("hip:gfx942", *name.split("_")), recorded[name])] == []


def test_casts_of_gfx942_are_those_of_its_software() -> None:
    check_casts(every=False)
    # The numbers of f16 between 464 and 480 are NaN; nearest would be 448.
    found = cast("hip:gfx942", "f16", "f8E4M3FN")
    assert np.count_nonzero((found & 0x7F == 0x7F) & np.isfinite(all_of("f16"))) == 126


@pytest.mark.long
def test_other_casts_of_gfx942_are_those_of_its_software() -> None:
    check_casts(every=True)


@each_row(("f16", "f8E4M3FN"), ("bf16", "f8E4M3FN"), ("f16", "f8E5M2"), ("bf16", "f8E5M2"))
def test_casts_of_cuda_saturate(source: str, result: str) -> None:
    numbers = all_of(source).astype(np.float32)
    largest = float(ml_dtypes.finfo(DTYPES[result]).max)
    clipped = np.clip(np.where(np.isnan(numbers), 0, numbers), -largest, largest)
    expected = clipped.astype(DTYPES[result]).view(np.uint8)
    # Infinities are clipped too, and a NaN is the canonical one.
    expected = np.where(np.isnan(numbers), 0x7F, expected)
    assert np.array_equal(cast("cuda:90", source, result), expected)


def test_infinities_of_f8_are_read_as_numbers() -> None:
    for target in ("cuda:90", "hip:gfx942"):
        got = cast(target, "f8E5M2", "bf16")[0x7C:0x80].view(ml_dtypes.bfloat16)
        assert got.astype(np.float32).tolist() == [65536, 81920, 98304, 114688]


def test_casts_that_a_target_lacks() -> None:
    for target, source, result in (("cuda:80", "f16", "f8E4M3FN"), ("cuda:90", "f16", "f8E5M2FNUZ")):
        with pytest.raises(hu.Unsupported, match=f"{target} has no cast from '{source}' to '{result}'"):
            cast(target, source, result)


# --- fusion -----------------------------------------------------------------------------------------------------------

F32 = "tensor<128xf32, #l>"
A, B, C, D = (np.float32(x) for x in (1 + 2**-12, 1 + 2**-13, -1 - 2**-13, 1 + 3 * 2**-14))


def fma(a: Any, b: Any, c: Any) -> float:
    """Return a * b + c rounded once: the numbers here have few bits, so float64 is exact."""
    return float(np.float32(np.float64(a) * np.float64(b) + np.float64(c)))


def sums(target: str, body: str, **options: Any) -> float:
    """Return ``%y`` of the four numbers above, which is the same in all elements."""
    given = [(name, "f32", np.full(128, value, np.float32)) for name, value in zip("abcd", (A, B, C, D), strict=True)]
    got = np.zeros(128, np.float32)
    text = "".join(load(name, "f32", 128) for name in "abcd") + body + store("y", "f32", 128)
    run(target, text, (*given, ("o", "f32", got)), 128, **options)
    assert len(set(got.tolist())) == 1
    return float(got[0])


def op(result: str, name: str, *operands: str) -> str:
    """Return the text of an op of arith on the vectors."""
    return f"%{result} = arith.{name} %{', %'.join(operands)} : {F32}\n"


AB, CD = op("m", "mulf", "a", "b"), op("n", "mulf", "c", "d")
CHOICE = (
    "%i0 = arith.constant 0 : i32\n%p = tt.get_program_id x : i32\n%t = arith.cmpi eq, %p, %i0 : i32\n"
    f"%y = scf.if %t -> ({F32}) {{{{\n{{0}}scf.yield %s : {F32}\n}}}} else {{{{\nscf.yield %a : {F32}\n}}}}\n"
)


@each_row(
    # The facts of triton 3.9's machine code, in the order of the text: sums of one product, of two, differences.
    ("cuda:90", AB + op("y", "addf", "m", "c"), fma(A, B, C)),
    ("cuda:90", AB + op("y", "subf", "c", "m"), fma(-A, B, C)),
    ("cuda:90", AB + op("y", "subf", "m", "c"), fma(A, B, -C)),
    ("cuda:90", AB + CD + op("y", "addf", "m", "n"), fma(A, B, C * D)),
    ("hip:gfx942", AB + CD + op("y", "addf", "m", "n"), fma(C, D, A * B)),
    ("hip:gfx942", AB + CD + op("y", "subf", "m", "n"), fma(-C, D, A * B)),
    # Not the order of the text counts, but that of the loads, and then the number of ops behind them.
    ("cuda:90", AB + CD + op("y", "addf", "n", "m"), fma(A, B, C * D)),
    ("hip:gfx942", AB + CD + op("y", "addf", "n", "m"), fma(C, D, A * B)),
    (
        "cuda:90",
        op("n", "subf", "d", "a") + op("m", "mulf", "n", "d") + op("k", "mulf", "d", "d") + op("y", "addf", "m", "k"),
        fma(D, D, np.float32(D - A) * D),
    ),
    # Twice a product, and the product from itself.
    ("cuda:90", AB + op("y", "addf", "m", "m"), fma(A, B, A * B)),
    ("hip:gfx942", AB + op("y", "addf", "m", "m"), float(A * B + A * B)),
    ("hip:gfx942", AB + op("y", "subf", "m", "m"), fma(A, B, -(A * B))),
    # A product with another use is computed twice, but that with fewer uses is fused.
    (
        "cuda:90",
        AB + CD + op("s", "addf", "m", "n") + op("y", "maximumf", "s", "m"),
        max(fma(C, D, A * B), float(A * B)),
    ),
    # What moves elements does not matter, nor a sum of one element.
    (
        "cuda:90",
        AB + f"%s = tt.reshape %m : {F32} -> tensor<128x1xf32, #e>\n"
        '%t = "tt.reduce"(%s) <{axis = 1 : i32}> ({\n^bb0(%u: f32, %v: f32):\n%w = arith.addf %u, %v : f32\n'
        "tt.reduce.return %w : f32\n}) : (tensor<128x1xf32, #e>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #e}>>\n"
        f"%k = ttg.convert_layout %t : tensor<128xf32, #ttg.slice<{{dim = 1, parent = #e}}>> -> {F32}\n"
        + op("y", "addf", "k", "c"),
        fma(A, B, C),
    ),
    (
        "cuda:90",
        AB + f"%k = tt.reshape %m : {F32} -> {F32}\n" + op("y", "addf", "k", "c"),
        fma(A, B, C),
    ),
)
def test_products_are_fused(target: str, body: str, expected: float) -> None:
    assert sums(target, body) == expected


def test_fusion_may_be_left_out() -> None:
    body = AB + op("y", "addf", "m", "c")
    assert sums("cuda:90", body, fp_fusion="off") == float(A * B + C) != fma(A, B, C)


@each_row(
    # AMD: two products that do not come from loads may be one vector. Both: a choice with a constant, times a constant.
    ("hip:gfx942", "%a2 = math.absf %a : {0}\n%m = arith.mulf %a2, %b : {0}\n" + CD + op("y", "addf", "m", "n"), True),
    ("cuda:90", "%a2 = math.absf %a : {0}\n%m = arith.mulf %a2, %b : {0}\n" + CD + op("y", "addf", "m", "n"), False),
    (
        "cuda:90",
        "%k = arith.constant dense<3.0> : {0}\n%t = arith.cmpf ogt, %a, %b : {0}\n"
        "%s = arith.select %t, %a, %k : tensor<128xi1, #l>, {0}\n"
        + op("m", "mulf", "s", "k")
        + op("y", "addf", "m", "c"),
        True,
    ),
    # The square of a magnitude is that of the number, which has another rank.
    (
        "cuda:90",
        "%a2 = math.absf %a : {0}\n"
        + op("m", "mulf", "a2", "b")
        + op("n", "mulf", "a2", "a2")
        + op("y", "addf", "m", "n"),
        True,
    ),
    # The loop uses the product too, so that the addition may be moved behind it, away from the product.
    (
        "cuda:90",
        AB
        + op("y", "addf", "m", "c")
        + "%i0 = arith.constant 0 : i32\n%i1 = arith.constant 1 : i32\n%p = tt.get_program_id x : i32\n"
        "%l = scf.for %i = %i0 to %p step %i1 iter_args(%h = %c) -> ({0}) : i32 {\n"
        "%s = arith.addf %h, %m : {0}\nscf.yield %s : {0}\n}\n",
        True,
    ),
    # LLVM computes both ways of a branch and chooses a result, so the product from before it is in the same block.
    ("cuda:90", AB + CHOICE.format(CD + op("s", "subf", "m", "n")), True),
    ("hip:gfx942", AB + CHOICE.format(op("s", "addf", "m", "d")), True),
    ("cuda:90", CHOICE.format(CD + op("s", "subf", "a", "n")), False),
)
def test_products_that_may_be_hidden_are_open(target: str, body: str, expected: bool) -> None:
    given = [(name, "f32", np.full(128, value, np.float32)) for name, value in zip("abcd", (A, B, C, D), strict=True)]
    got = hu.Buffer.from_numpy(np.zeros(128, np.float32))
    text = "".join(load(name, "f32", 128) for name in "abcd") + body.replace("{0}", F32) + store("y", "f32", 128)
    run(target, text, (*given, ("o", "f32", got)), 128, track_open=True)
    marks = got.load().open
    assert (marks is not None and bool(marks.any())) == expected


LOOP = (
    "%i0 = arith.constant 0 : i32\n%i3 = arith.constant 3 : i32\n%i1 = arith.constant 1 : i32\n"
    "%y = scf.for %i = %i0 to {0} step %i1 iter_args(%h = %{1}) -> ({2}) : i32 {{\n"
    "%s = arith.addf %h, %{3} : {2}\nscf.yield %s : {2}\n}}\n"
)


@each_row(
    # A loop with a known number of iterations is written out: the product may be fused, or be a part of a vector.
    ("%i3", AB, "c", "m", True),
    ("%i3", AB, "m", "c", True),
    ("%i3", "", "a", "c", False),
    ("%k_", AB, "c", "m", False),
)
def test_products_of_loops_that_are_written_out_are_open(
    count: str, body: str, first: str, added: str, expected: bool
) -> None:
    given = [(name, "f32", np.full(128, value, np.float32)) for name, value in zip("abcd", (A, B, C, D), strict=True)]
    got = hu.Buffer.from_numpy(np.zeros(128, np.float32))
    text = "".join(load(name, "f32", 128) for name in "abcd") + body
    text += f"%k_ = tt.load %n_ : !tt.ptr<i32>\n{LOOP.format(count, first, F32, added)}" + store("y", "f32", 128)
    number = np.full(1, 3, np.int32)
    run("cuda:90", text, (*given, ("n", "i32", number), ("o", "f32", got)), 128, track_open=True)
    marks = got.load().open
    assert (marks is not None and bool(marks.any())) == expected


@each_row(
    # In the LLVM IR of triton 3.9, a wave of gfx942 first combines what it has for one address by umax or umin.
    ("cuda:90", "max", "", 5),
    ("hip:gfx942", "max", "", 3),
    ("hip:gfx942", "max", "used", 5),
    ("cuda:90", "min", "", -13),
    ("hip:gfx942", "min", "", -7),
    ("hip:gfx942", "umax", "", -7),
)
def test_signed_extremes_that_a_wave_combines(target: str, kind: str, use: str, expected: int) -> None:
    numbers = np.zeros(128, np.int32)
    # The second wave has the numbers from 64 on.
    numbers[[0, 1, 64]] = (-13, 5, 3) if kind == "max" else (-13, 5, -7)
    if kind == "min":
        numbers[65:] = -7
    got = np.zeros(128, np.int32)
    pointers, integers = "tensor<128x!tt.ptr<i32>, #l>", "tensor<128xi32, #l>"
    text = (
        load("a", "i32", 128)
        + f"%p = tt.splat %o_ : !tt.ptr<i32> -> {pointers}\n"
        + f"%old = tt.atomic_rmw {kind}, acq_rel, gpu, %p, %a : ({pointers}, {integers}) -> {integers}\n"
        + (f"%two = arith.addi %old, %old : {integers}\n" if use else "")
    )
    run(target, text, (("a", "i32", numbers), ("o", "i32", got)), 128)
    assert got[0] == expected


# --- orders -----------------------------------------------------------------------------------------------------------


class Symbols:
    """Rows that are texts: a combination shows its two parts."""

    def take(self, state: list[str], rows: npt.NDArray[np.intp]) -> list[str]:
        return [state[row] for row in rows]

    def join(self, states: Sequence[list[str]]) -> list[str]:
        return [row for state in states for row in state]

    def combine(self, accumulators: list[str], elements: list[str]) -> list[str]:
        return [f"({a}{b})" for a, b in zip(accumulators, elements, strict=True)]


def layout(text: str, shape: tuple[int, ...]) -> Any:
    """Return the layout of an encoding."""
    sizes = "x".join(map(str, shape))
    module = hu.load(f"tt.func @f(%x: tensor<{sizes}xf32, {text}>) {{\n  tt.return\n}}")
    type_ = (
        next(op for op in module.walk() if op.regions and op.name == "tt.func").regions[0].blocks[0].arguments[0].type
    )
    assert isinstance(type_, ty.TensorType)
    assert type_.encoding is not None
    return layout_of(type_.encoding, shape)


BLOCKED = "#ttg.blocked<{{sizePerThread = [{}], threadsPerWarp = [{}], warpsPerCTA = [{}], order = [0]}}>"


@each_row(
    (BLOCKED.format(4, 1, 1), 4, Tree(2, False), (), "((01)(23))"),
    (BLOCKED.format(4, 1, 1), 4, Tree(2, True), (), "((02)(13))"),
    (BLOCKED.format(4, 1, 1), 4, Tree(3, False), (), "(((01)2)3)"),
    # Lanes at the highest distance first.
    (BLOCKED.format(1, 4, 1), 4, Tree(2, False), (), "((02)(13))"),
    (BLOCKED.format(1, 2, 4), 8, Tree(2, False), (), "(((01)(45))((23)(67)))"),
    # By shifts: each lane takes what is below it; the last lane counts.
    (BLOCKED.format(1, 4, 1), 4, Tree(2, False), (2, 1), "((31)(20))"),
    # A thread holds 0, 1 and 4, 5.
    (BLOCKED.format(2, 2, 1), 8, Tree(2, False), (), "(((01)(45))((23)(67)))"),
    # Copies do not count.
    (BLOCKED.format(1, 4, 2), 4, Tree(2, False), (), "((02)(13))"),
)
def test_order_of_reductions(text: str, size: int, tree: Tree, shifts: tuple[int, ...], expected: str) -> None:
    along = layout(text, (size,)).along(0)
    assert reduced(Symbols(), list("01234567")[:size], along, tree, shifts).state == [expected]


@each_row(
    # Neighbours in a thread, then lanes at distance 1, then what is before the thread.
    (BLOCKED.format(2, 2, 1), 4, False, ["0", "(01)", "((01)2)", "((01)(23))"]),
    (BLOCKED.format(1, 4, 1), 4, False, ["0", "(01)", "(0(12))", "((01)(23))"]),
    (BLOCKED.format(1, 4, 1), 4, True, ["((32)(10))", "(3(21))", "(32)", "3"]),
    # Warps, one after the other.
    (BLOCKED.format(1, 1, 4), 4, False, ["0", "(01)", "((01)2)", "(((01)2)3)"]),
)
def test_order_of_scans(text: str, size: int, reverse: bool, expected: list[str]) -> None:
    along = layout(text, (size,)).along(0)
    assert scanned(Symbols(), list("0123")[:size], along, reverse) == expected


MFMA = "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true}>"


# Triton prints some of its layouts as linear ones, which are the same as these.
@each_row(
    (
        f"#ttg.dot_op<{{opIdx = 0, parent = {MFMA}, kWidth = 4}}>",
        (128, 128),
        "#ttg.linear<{register = [[0, 1], [0, 2], [0, 8], [0, 16], [0, 32], [0, 64], [64, 0]], lane = [[1, 0], [2, 0], "
        "[4, 0], [8, 0], [16, 0], [0, 4]], warp = [[0, 0], [32, 0]], block = []}>",
    ),
    (
        f"#ttg.dot_op<{{opIdx = 1, parent = {MFMA}, kWidth = 4}}>",
        (128, 64),
        "#ttg.linear<{register = [[1, 0], [2, 0], [8, 0], [16, 0], [32, 0], [64, 0]], lane = [[0, 1], [0, 2], [0, 4], "
        "[0, 8], [0, 16], [4, 0]], warp = [[0, 32], [0, 0]], block = []}>",
    ),
)
def test_layouts_are_the_linear_ones_of_triton(text: str, shape: tuple[int, ...], linear: str) -> None:
    assert layout(text, shape) == layout(linear, shape)


def test_a_reshape_that_may_reorder_leaves_elements_in_their_registers() -> None:
    """In one program, and in two that run together."""
    x, got = np.arange(1024, dtype=np.float32).reshape(2, 512), np.zeros((2, 256), np.float32)
    vector, matrix, sums = (
        "tensor<512xf32, #l>",
        "tensor<256x2xf32, #e>",
        "tensor<256xf32, #ttg.slice<{dim = 1, parent = #e}>>",
    )
    own = (
        "%n = tt.get_program_id x : i32\n%one = arith.constant 1 : i32\n%c256 = arith.constant 256 : i32\n"
        "%half = arith.muli %n, %c256 : i32\n%whole = arith.shli %half, %one : i32\n"
        "%b_ = tt.addptr %a_, %whole : !tt.ptr<f32>, i32\n%u_ = tt.addptr %o_, %half : !tt.ptr<f32>, i32\n"
    )
    text = (
        own
        + load("a", "f32", 512).replace("%a_", "%b_")
        + (
            f"%m = tt.reshape %a allow_reorder : {vector} -> {matrix}\n"
            '%s = "tt.reduce"(%m) <{axis = 1 : i32}> ({\n^bb0(%u: f32, %v: f32):\n%w = arith.addf %u, %v : f32\n'
            f"tt.reduce.return %w : f32\n}}) : ({matrix}) -> {sums}\n"
            f"%y = ttg.convert_layout %s : {sums} -> tensor<256xf32, #l>\n"
            "%k = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #l>\n"
        )
    )
    text += store("y", "f32", 256).replace("%r", "%k").replace("%o_", "%u_")
    for grid in (1, 2):
        got[:] = 0
        run("hip:gfx942", text, (("a", "f32", x), ("o", "f32", got)), 512, grid=grid)
        # Thread t has the elements t and t + 256, and the row t of the matrix.
        assert np.array_equal(got[:grid], (x[:, :256] + x[:, 256:])[:grid])


def test_a_concatenation_leaves_elements_in_their_registers() -> None:
    """Thread t has the element t of both halves, and the elements 2 t and 2 t + 1 of the result."""
    a, b, got = np.arange(128, dtype=np.float32), -np.arange(128, dtype=np.float32), np.zeros(256, np.float32)
    lanes = ", ".join(f"[{2 << bit}]" for bit in range(5))
    pairs = f"tensor<256xf32, #ttg.linear<{{register = [[1]], lane = [{lanes}], warp = [[64], [128]], block = []}}>>"
    text = (
        load("a", "f32", 128)
        + load("b", "f32", 128)
        + f"%c = tt.cat %a, %b : tensor<128xf32, #l> -> {pairs}\n"
        + f"%y = ttg.convert_layout %c : {pairs} -> tensor<256xf32, #l>\n"
        + "%k = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #l>\n"
        + store("y", "f32", 256).replace("%r", "%k")
    )
    run("cuda:90", text, (("a", "f32", a), ("b", "f32", b), ("o", "f32", got)), 128)
    assert np.array_equal(got, np.stack([a, b], axis=1).reshape(-1))


def test_results_that_differ_from_thread_to_thread_are_open() -> None:
    """Where four warps combine by a - b, half of the lanes have the negated result, also what they add to memory, and
    what they count and choose by it.
    """
    x = np.zeros((4, 32), np.int32)
    x[1] = np.arange(32)
    lanes = ", ".join(f"[0, {1 << bit}]" for bit in range(5))
    layout = f"#ttg.linear<{{register = [], lane = [{lanes}], warp = [[1, 0], [2, 0]], block = []}}>"
    sums = f"tensor<32xi32, #ttg.slice<{{dim = 0, parent = {layout}}}>>"
    pointers = "tensor<32x!tt.ptr<i32>, #l>"
    text = (
        load("a", "i32", 128)
        + f"%m = tt.reshape %a : tensor<128xi32, #l> -> tensor<4x32xi32, {layout}>\n"
        + '%s = "tt.reduce"(%m) <{axis = 0 : i32}> ({\n^bb0(%u: i32, %v: i32):\n%w = arith.subi %u, %v : i32\n'
        + f"tt.reduce.return %w : i32\n}}) : (tensor<4x32xi32, {layout}>) -> {sums}\n"
        + f"%y = ttg.convert_layout %s : {sums} -> tensor<32xi32, #l>\n"
        + "%k = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #l>\n"
        + store("y", "i32", 32).replace("%r", "%k")
        + f"%pd = tt.splat %d_ : !tt.ptr<i32> -> {pointers}\n"
        + f"%qd = tt.addptr %pd, %k : {pointers}, tensor<32xi32, #l>\n"
        + f"%old = tt.atomic_rmw add, relaxed, gpu, %qd, %y : ({pointers}, tensor<32xi32, #l>) -> tensor<32xi32, #l>\n"
        + "%c31 = arith.constant dense<31> : tensor<32xi32, #l>\n%b = arith.andi %y, %c31 : tensor<32xi32, #l>\n"
        + "%g = tt.gather %k[%b] {axis = 0 : i32} : (tensor<32xi32, #l>, tensor<32xi32, #l>) -> tensor<32xi32, #l>\n"
        + "%h = tt.histogram %b : tensor<32xi32, #l> -> tensor<32xi32, #l>\n"
    )
    for name, value in (("e", "g"), ("f", "h")):
        text += (
            store(value, "i32", 32)
            .replace("%r", "%k")
            .replace("%po", f"%p{name}")
            .replace("%qo", f"%q{name}")
            .replace("%o_", f"%{name}_")
        )
    out, added, chosen, counted = (hu.Buffer.from_numpy(np.zeros(32, np.int32)) for _ in range(4))
    memory = (("a", "i32", x), ("o", "i32", out), ("d", "i32", added), ("e", "i32", chosen), ("f", "i32", counted))
    run("cuda:90", text, memory, 128, track_open=True)
    marks = chosen.load().open
    assert marks is not None
    assert np.array_equal(marks != 0, x[1] != 0)
    marks = counted.load().open
    assert marks is not None
    assert marks.all()
    for buffer in (out, added):
        found = buffer.load()
        assert np.array_equal(found.numpy(), -x[1])
        assert found.open is not None
        assert np.array_equal(found.open != 0, x[1] != 0)


@pytest.mark.triton
@pytest.mark.long
def test_random_kernels() -> None:
    """Kernels that Triton compiles, beside its LLVM IR run by the machine of `warps`; also `triton_random.py`."""
    from triton_random import TARGETS, compare

    outcomes = list(compare(range(20), list(TARGETS)))
    assert [each for each in outcomes if not each[2].startswith("the same")] == []


# --- refused ----------------------------------------------------------------------------------------------------------


def test_targets_and_units_that_are_not_known() -> None:
    body = AB + op("y", "addf", "m", "c")
    with pytest.raises(hu.Unsupported, match="the target 'cuda:75' of the module is not known"):
        sums("cuda:75", body)
    mma = "#ttg.amd_mfma<{version = 4, warpsPerCTA = [4, 1], instrShape = [32, 32, 16], isTransposed = true}>"
    tensor = f"tensor<32x32xf32, {mma}>"
    operands = [
        f"tensor<32x32xf16, #ttg.dot_op<{{opIdx = {number}, parent = {mma}, kWidth = 8}}>>" for number in (0, 1)
    ]
    dot = (
        f"%e = arith.constant dense<1.0> : {operands[0]}\n%g = arith.constant dense<1.0> : {operands[1]}\n"
        f"%z = arith.constant dense<0.0> : {tensor}\n"
        f"%t = tt.dot %e, %g, %z : {operands[0]} * {operands[1]} -> {tensor}\n"
    )
    with pytest.raises(hu.Unsupported, match="how hip:gfx950 adds the products of 'f16' and 'f16' to 'f32' is not pub"):
        sums("hip:gfx950", dot + body)
    # With a model of another chip it runs.
    assert sums("hip:gfx950", dot + body, mma="ieee") == fma(A, B, C)
