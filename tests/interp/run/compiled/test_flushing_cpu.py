"""Code of every kind where the CPU flushes subnormals, as some libraries make it do: codes stay what they are."""

import ctypes
import platform
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import halfulp as hu
from halfulp.fp_formats.paths import llvm

pytest.importorskip("llvmlite", reason="llvmlite is not installed")
if platform.machine().lower() not in ("x86_64", "amd64"):
    pytest.skip("the modes of another CPU", allow_module_level=True)

_SETTING = """
declare void @llvm.x86.sse.ldmxcsr(ptr)
define void @set(i32 %modes) {
  %place = alloca i32
  store i32 %modes, ptr %place
  call void @llvm.x86.sse.ldmxcsr(ptr %place)
  ret void
}
"""
_USUAL, _FLUSHING = 0x1F80, 0x1F80 | 0x8040
CODES = [1, 2, 5, 0x3FFFFF]  # of f32; so are the doubles of these
MINUS = 1 << 31

LOOP = """func.func @main(%m: memref<4xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.load %m[%c0] : memref<4xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %first) -> f32 {
    %x = memref.load %m[%i] : memref<4xf32>
    %d = arith.addf %x, %x : f32
    %y = arith.negf %d : f32
    memref.store %y, %m[%i] : memref<4xf32>
    scf.yield %y : f32
  }
  return %r : f32
}
"""


@pytest.fixture(params=["numpy", "llvm"])
def flush(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Yield a function that makes the CPU flush subnormals until the end of the test."""
    before = llvm.backend()
    llvm.use(request.param)
    monkeypatch.setattr(llvm, "_keeps", True)
    code = llvm.compile_assembly(_SETTING, "set")
    set_modes = ctypes.CFUNCTYPE(None, ctypes.c_uint32)(code.address)
    yield lambda: set_modes(_FLUSHING)
    set_modes(_USUAL)
    llvm.use(before)
    monkeypatch.undo()
    for forget in llvm._forget:
        forget()


@pytest.mark.parametrize("already_run", [False, True])
def test_numbers_that_code_keeps(flush: Callable[[], None], already_run: bool) -> None:
    module = hu.parse(LOOP)
    given = [hu.Buffer.from_numpy(np.array(CODES, np.uint32).view(np.float32), "memref<4xf32>") for _ in range(2)]
    if already_run:
        hu.run(module, given[0], 4)
    flush()
    (last,) = hu.run(module, given[1], 4)
    doubles = [2 * code | MINUS for code in CODES]
    assert given[1].load().bits.tolist() == doubles
    assert int(last.bits) == doubles[-1]
