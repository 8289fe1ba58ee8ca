"""Recordings of chips: their form, the table, and the programs that make them."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tree import ROOT

from halfulp.chips import recorded_chips
from halfulp.chips.recorded_chips import main, read
from halfulp.semantics.matrix_units.accumulator import Accumulator
from halfulp.semantics.matrix_units.kinds import KINDS

ONE, INSTRUCTION = 0x3C00, "mma.m16n8k8.f32.f16.f16.f32"


def recording(stem: str, k: int, dtype: Any = np.uint16, code: int = ONE, **results: list[int]) -> dict[str, Any]:
    """Return arrays of rows of ones times 1, 2, 3, …, with C = 0."""
    count = len(next(iter(results.values())))
    a, b = np.zeros((count, k), dtype), np.full((count, k), code, dtype)
    for row in range(count):
        a[row, : row + 1] = code
    wide = {name: np.array(codes, np.uint16 if name == "d_f16" else np.uint32) for name, codes in results.items()}
    arrays = {"a": a, "b": b, "c": np.zeros(count, np.uint32), **wide}
    return {f"{stem}/{name}": array for name, array in arrays.items()}


def test_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """1, 2 and 3 as f32 and as f16; then with one row that is not 3."""
    good = recording("A100/f16", 8, d_f32=[0x3F800000, 0x40000000, 0x40400000], d_f16=[ONE, 0x4000, 0x4200])
    good |= recording(f"rtx3090/{INSTRUCTION}", 8, d=[0x3F800000, 0x40000000])
    good |= recording("H100/f8E4M3FN", 32, np.uint8, 0x38, d_f16=[ONE], d_f32=[0x3F800000])
    good["H100/f8E4M3FN/c"][:] = 0x3F800000  # wgmma does not use it, mma does
    good["H100/f8E4M3FN/d_f16"][:] = 0x4000
    path = str(tmp_path / "a.npz")
    np.savez(path, **good)
    assert [(each.name, each.operation.name) for each in read(path)][-2:] == [
        ("H100/f8E4M3FN to f32", "wgmma.m64n8k32.f32.f8E4M3FN.f8E4M3FN.f32"),
        ("H100/f8E4M3FN to f16", "mma.m16n8k32.f16.f8E4M3FN.f8E4M3FN.f16"),
    ]
    assert main([path]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if line.startswith("all")] == [["all", "10", "0", "0"]]
    good["A100/f16/d_f32"][2] = 0x40400001
    np.savez(path, **good)
    assert main([path]) == 1
    shown = capsys.readouterr().out
    assert re.search(r"(?m)^A100/f16 to f32 +chip:a100 +3 +1 +0$", shown)
    assert "row 2: the chip has 3.0000002384185791015625 (0x40400001), the model 3 (0x40400000)\n" in shown
    assert "result        3 (0x40400000)" in shown


def test_what_is_not_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table says it, and so does a fit, which then has nothing to be compared with."""
    found = SimpleNamespace(accumulator=Accumulator(), nearest="custom:")
    monkeypatch.setattr(recorded_chips, "fit", lambda rows, chips: found)
    path = str(tmp_path / "a.npz")
    for name, k, near in (
        (
            "mma.m16n8k32.f32.e4m3.e4m3",
            32,
            "is mma 16x8x32 f8E4M3FN * f8E4M3FN + f16 to f16, which differs in types of C",
        ),
        ("mma.m16n8k16.f16.e4m3.e4m3", 16, "is mma 16x8x32 f8E4M3FN * f8E4M3FN + f16 to f16, which differs in shape"),
    ):
        np.savez(path, **recording(f"h100/{name}", k, np.uint8, 0x38, d=[0x3C00]))
        for more in ([], ["--fit"]):
            assert main([path, *more]) == 3
            assert f"the nearest one of chip:hopper {near}" in (shown := capsys.readouterr().out)
            assert ("1 rows: custom:" in shown) == bool(more)
    with pytest.raises(SystemExit):
        main([path, "--rows", "10"])
    assert "--rows can be used only with --fit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (recording("A1000/f16", 8, d_f32=[0]), "no chip is called 'A1000'"),
        (recording("A100/mma.m16n8k8.f32.f16.f17.f32", 8, d=[0]), "'f17' is not an element type"),
        (recording(f"A100/{INSTRUCTION}", 16, d=[0]), r"a and b must have the shape \[rows, 8\]"),
        (recording("A100/f8E4M3FN", 32, d_f32=[0]), "must be bit patterns of f8E4M3FN"),
        (recording(f"A100/{INSTRUCTION}", 8, d_f32=[0]), f"the array 'A100/{INSTRUCTION}/d' is missing"),
        (recording("A100/f16", 8, d=[0]), "the array 'A100/f16/d_f32' or 'A100/f16/d_f16' is missing"),
        (recording("A100/f16", 8, d_f32=[0], d_bf16=[0]), "'A100/f16/d_bf16' is not used"),
        (recording("A100/f16", 8, d_f32=[]), "A100/f16: has no rows: there is nothing to compare"),
        (recording("A100/f16", 0, d_f32=[0]), "A100/f16: has no elements along K"),
        (recording(f"A100/{INSTRUCTION}", 8, d=[]), "has no rows"),
        (recording("A100/mma.m16n8k8.i32.i8.i8", 8, d=[0]), "of i8 and i8 into i32 cannot be compared"),
        (recording("sm_103/f16", 8, d_f32=[0]), "sm_103 has no model: Blackwell Ultra"),
        (
            {"x": np.zeros(3)},
            "'x' does not belong to a recording\nhint: the keys of a recording are CHIP/INSTRUCTION/a, b, c and d",
        ),
        (
            {**recording("A100/f16", 8, d_f32=[0]), "A100/f16/c": np.array([1 << 40], np.uint64)},
            "must be bit patterns of f16, f16, f32, f32",
        ),
        ({**recording("A100/f16", 8, d_f32=[0]), "A100/f16/d_f32": np.uint32(0)}, r"c and d the shape \[rows\]"),
    ],
)
def test_files_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str], arrays: Any, message: str) -> None:
    path = str(tmp_path / "a.npz")
    np.savez(path, **arrays)
    for more in ([], ["--fit"]):
        assert main([path, *more]) == 2
        shown = capsys.readouterr().err
        assert re.search(message, shown)
        assert shown.count("error: ") == 1
    Path(path).write_bytes(b"no archive")
    assert main([path]) == 2
    assert main([str(tmp_path / "a.txt")]) == 2
    assert "a file of recordings must be a .npz file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("program", "kind"),
    [("record.cu", "NV_MMA_SYNC_F32_16x8x16_F16"), ("record.hip.cpp", "MFMA_F32_16x16x16_F16")],
)
def test_the_layout_of_the_programs(program: str, kind: str) -> None:
    """Where a lane holds row 0 of A and column 0 of B, and element (0, 0) of C: as in the layouts of `#iree_gpu`."""
    text = (ROOT / "examples" / "chips" / program).read_text(encoding="utf-8")
    found = re.search(r"constexpr int k_of\(int lane, int i\) \{ return (.*); \}", text)
    assert found is not None
    row = KINDS[kind]
    assert row.layouts is not None
    a, b, c = (layout.positions(row.lanes) for layout in row.layouts)
    _, n, k = row.shape
    held: list[tuple[int, int]] = []
    for lane in range(row.lanes):
        own = [eval(found[1].replace("/", "//"), {"lane": lane, "i": i}) for i in range(4)]
        registers = [position % k for position in a[lane] if position < k]
        if registers:
            assert registers == own
            assert [position // n for position in b[lane] if position % n == 0] == own
            held.append((lane, len(own)))
    assert sum(count for _, count in held) == k
    lanes = "lane < 4" if row.lanes == 32 else "lane % 16 == 0"
    assert lanes in text
    assert [lane for lane, _ in held] == [lane for lane in range(row.lanes) if eval(lanes, {"lane": lane})]
    assert c[0, 0] == 0
    if row.lanes == 32:  # PTX ISA: registers 0 and 2 of A have row 0, the others row 8
        assert '"r"(a0), "r"(zero), "r"(a2), "r"(zero), "r"(b0), "r"(b1)' in text


@pytest.mark.long
@pytest.mark.parametrize(
    ("compiler", "program", "architecture"),
    [("nvcc", "record.cu", "-arch=sm_80"), ("hipcc", "record.hip.cpp", "--offload-arch=gfx90a")],
)
def test_a_compiler_takes_the_programs(compiler: str, program: str, architecture: str, tmp_path: Path) -> None:
    """Without a GPU: the program says how to call it."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} not found")
    made = str(tmp_path / "record")
    source = str(ROOT / "examples" / "chips" / program)
    done = subprocess.run([compiler, architecture, "-o", made, source], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run([made], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "usage: record rows.bin results.bin\n")


def test_the_script_beside_the_programs(tmp_path: Path) -> None:
    script = runpy.run_path(str(ROOT / "examples" / "chips" / "recording.py"))
    rows, results, packed = (str(tmp_path / name) for name in ("rows.bin", "results.bin", "a.npz"))
    script["make"](rows, 20)
    np.zeros(20, "<u4").tofile(results)
    script["pack"](rows, results, "h100/mma.m16n8k16.f32.f16.f16.f32", packed)
    (found,) = read(packed)
    assert (len(found.rows), found.rows.length) == (20, 16)
