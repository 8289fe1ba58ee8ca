"""``halfulp explain dot --which``: chips ranked by the results that they give, of options, arrays and recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Command
from tables import each_row

F16 = "mma.m16n8k16.f32.f16.f16.f32"
ROW = ("--a=1 0x0800", "--b=1 0x8C00", "--d=0x3F7FFFFF")
"""1 - 2^-25: cut to 1 - 2^-24 where 25 bits are kept."""
WHOLE = {"chip:hopper", "chip:blackwell", "chip:rtx-blackwell"}


def recordings(path: Path) -> Path:
    """Write that row twice for an unknown chip, and once more with a result that no model has."""
    a, b = np.array([[0x3C00, 0x0800]] * 2, np.uint16), np.array([[0x3C00, 0x8C00]] * 2, np.uint16)
    a, b = (np.pad(each, ((0, 0), (0, 14))) for each in (a, b))
    c, d = np.zeros(2, np.uint32), np.array([0x3F7FFFFF] * 2, np.uint32)
    rows: list[Any] = [a, b, c, d]
    arrays: dict[str, Any] = {f"mystery/{F16}/{name}": each for name, each in zip("abcd", rows, strict=True)}
    names = ("a", "b", "c", "d_f32")
    arrays |= {f"other/f16/{name}": each[:1] for name, each in zip(names, [*rows[:3], d + 7], strict=True)}
    np.savez(path, **arrays)
    return path


def test_a_row(command: Command) -> None:
    code, out, err = command("explain", "dot", "--which", F16, *ROW)
    assert (code, err) == (0, "")
    assert out.startswith("1 row of K = 2, f16 * f16 + f32 to f32: 2 models differ in no row\n")
    assert "0      1       0              0                    chip:volta mma K=4" in out
    code, out, _ = command(
        "explain", "dot", "--which", F16, "--a=1 0.1", "--b=1 1", "--c=0x3F800000", "--d=7", "--json"
    )
    record = json.loads(out)
    assert code == 1
    assert record["notes"] == ["a[1]: 0.1 is not a value of f16: 0.0999755859375 (0x2E66)"]
    (ranking,) = record["rankings"]
    assert (ranking["recording"], ranking["rows"], ranking["k"]) == (None, 1, 2)
    assert ranking["types"] == ["f16", "f16", "f32", "f32"]
    assert {each["differ"] for each in ranking["matches"]} == {1}


def test_arrays_and_recordings(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recordings(Path("rows.npz"))
    with np.load("rows.npz") as file:
        for name in "abcd":
            codes = file[f"mystery/{F16}/{name}"]
            np.save(name, codes.view(np.float16 if name in "ab" else np.float32))
    values = [f"--{name}=@{name}.npy" for name in "abcd"]
    code, out, _ = command("explain", "dot", "--which", F16, *values)
    assert (code, out.partition(":")[0]) == (0, "2 rows of K = 16, f16 * f16 + f32 to f32")
    code, out, _ = command("explain", "dot", "--which", "--rows=rows.npz", "--json")
    assert code == 1  # none has the result of the second recording
    first, second = json.loads(out)["rankings"]
    assert (first["recording"], second["recording"]) == (f"mystery/{F16}", "other/f16 to f32")
    equal = [each for each in first["matches"] if not each["differ"]]
    assert {name.split()[0] for each in equal for name in each["models"]} == WHOLE
    assert all(each["first_different"] == 0 for each in second["matches"])
    code, out, _ = command("explain", "dot", "--which", "--rows=rows.npz")
    assert f"mystery/{F16}: 2 rows of K = 16" in out
    assert "other/f16 to f32: 1 row of K = 16, f16 * f16 + f32 to f32: all models differ" in out


@each_row(
    (["--which"], "takes a KIND, --a, --b and --d; or --rows=FILE.npz"),
    (["--which", F16, "--a=1", "--b=1"], "takes a KIND, --a, --b and --d; or --rows=FILE.npz"),
    (["--which", F16, *ROW, "--mma=ieee"], "--mma cannot be used with --which"),
    (["--which", F16, *ROW, "--element=0,0"], "--element cannot be used with --which"),
    (["--which", F16, "--rows=rows.npz"], "--rows has the values and their types: leave out KIND"),
    (["--which", "--rows=rows.npz", "--c=1"], "leave out --c"),
    (["--which", "--rows=nothing.npz"], "cannot read 'nothing.npz': No such file"),
    (["--which", "--rows=rows.txt"], "a file of recordings must be a .npz file"),
    (["--which", F16, "--a=1 2", "--b=1", "--d=1"], "a and b must have the shape [rows, K]"),
    (["--which", F16, "--a=1", "--b=1", "--d=1 2"], "--d takes one number, not 2"),
    (["--which", F16, "--a=x", "--b=1", "--d=1"], "a: 'x' is not a number"),
    (["--which", "nothing", *ROW], "no tile operation is called 'nothing'"),
    (["--which", "mma.m16n8k32.i32.s8.s8.s32", "--a=1", "--b=1", "--d=1"], "the elements are i8, but must be floats"),
    (["--which", "mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block16", *ROW], "has scales"),
    ([F16, "--a=1", "--b=1", "--json"], "--json can be used only with --which"),
    ([F16, *ROW], "--d can be used only with --which"),
    (["--a=1", "--b=1"], "halfulp explain dot takes a KIND, --a and --b"),
)
def test_what_is_refused(arguments: list[str], message: str, command: Command) -> None:
    code, out, err = command("explain", "dot", *arguments)
    assert (code, out) == (2, "")
    assert message in err
