"""The text of Triton's dialects. The files are what Triton's printer wrote; its parser reads them again."""

import re
from pathlib import Path
from typing import Any

import pytest
from tables import each_row
from triton_texts import REJECTED, text_of

import halfulp as hu

PROGRAMS = Path(__file__).parents[3] / "data" / "triton"


@each_row(*sorted(PROGRAMS.glob("*.tt*ir")), every=3)
def test_programs_are_printed_as_triton_prints_them(path: Path) -> None:
    text = path.read_text()
    assert hu.print_module(hu.load(path)).strip() == text.strip()


FORMS = (
    # Types, and attributes that are only printed if they are not the default. Triton 3.9 prints each line as it is.
    'tt.func @f(%arg0: !tt.ptr<f32, "constant">, %arg1: !tt.ptr<f32>, %arg2: !tt.ptr<i8, "descriptor">)',
    "tt.func @f(%arg0: !tt.tensordesc<64x64xsi8>, %arg1: tensor<64x!tt.ptr<f8E5M2>>)",
    "tt.func private @f(i32 {tt.divisibility = 16 : i32}) -> i32 attributes {noinline = true}",
)
ENCODINGS = """\
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0], CGALayout = [[0]]}>
#generic_linear = #ttg.generic_linear<{register = [[1]], lane = [[2]], warp = [], block = []}>
#mma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 4], instrShape = [32, 32, 16], isTransposed = true, CGALayout = \
[[0, 1]], tilesPerWarp = [2, 2], elementBitWidth = 64}>
#mma1 = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], CGALayout = [[0, 1]], instrShape = \
[16, 128, 32]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8, fp4Padded = true, \
CGALayout = [[0, 1]]}>
#shared1 = #ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 8, order = [1, 0]}>
module attributes {ttg.a = #mma, ttg.b = #blocked, ttg.cp = #tt.cache_policy<cache_modifier = ca, eviction_policy = \
evict_last>, ttg.d = #ttg.dot_op<{opIdx = 0, parent = #blocked}>, ttg.g = #generic_linear, ttg.n = #mma1, ttg.s = \
#shared, ttg.ss = #shared1} {
}
"""


@each_row(*FORMS)
def test_forms(form: str) -> None:
    body = "" if "private" in form else " {\n    tt.return\n  }"
    text = f"module {{\n  {form}{body}\n}}\n"
    assert hu.print_module(hu.load(text)) == text


def test_encodings() -> None:
    assert hu.print_module(hu.load(ENCODINGS)) == ENCODINGS


WRONG = (
    ("%0 = tt.make_range {end = 3 : i32, start = 0 : i32} : tensor<3xi32>", "must be power-of-two"),
    ("%0 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<8xi32>", "must match size of range"),
    ("%0 = tt.splat %x : f32 -> tensor<8xi32>", "same element type"),
    ("%0 = tt.addptr %p, %i : !tt.ptr<f32>, tensor<8xi32>", "same shape"),
    ("%0 = tt.fp_to_fp %x : f32 -> f8E5M2", "Rounding mode is required"),
    ("%0 = tt.bitcast %x : f32 -> i64", "Cannot bitcast data-type of size 32 to data-type of size 64"),
    ("%0 = tt.expand_dims %i {axis = 0 : i32} : tensor<8xi32> -> tensor<8x1xi32>", "inferred shape [1, 8]"),
    ("%0 = tt.trans %i {order = array<i32: 1>} : tensor<8xi32> -> tensor<8xi32>", "permutation"),
    ("%0 = tt.broadcast %i : tensor<8xi32> -> tensor<16xi32>", "Broadcast requires"),
    ("%0 = tt.reshape %i : tensor<8xi32> -> tensor<16xi32>", "number of src and dst elements"),
    ("%0:2 = tt.split %i : tensor<8xi32> -> tensor<4xi32>", "last dimension of input tensor must be 2"),
    ("tt.store %p, %i : !tt.ptr<f32>", "different type"),
    ("tt.unheard_of %p : !tt.ptr<f32>", "custom op 'tt.unheard_of' is unknown"),
)


@each_row(*WRONG)
def test_what_triton_rejects(op: str, message: str) -> None:
    text = f"tt.func @f(%p: !tt.ptr<f32>, %x: f32, %i: tensor<8xi32>) {{\n {op}\n tt.return\n}}"
    with pytest.raises(hu.HalfulpError, match=re.escape(message)):
        hu.load(text)


@each_row(*[(row,) for row in REJECTED], every=4)
def test_texts_that_triton_rejects(row: tuple[str, str, str, *tuple[Any, ...]]) -> None:
    layouts, body, message, *module = row
    with pytest.raises(hu.HalfulpError, match=re.escape(message) or None):
        hu.load(text_of(layouts, body, *module))
