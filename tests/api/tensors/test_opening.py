"""`hu.open_tensors` and `hu.write_tensors`, and the same files in options of the command line."""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command import MEMORY, Command
from tables import each_row
from tensor_files import Q8, gguf

import halfulp as hu

X = np.arange(4, dtype=np.float32)
DOUBLE = """\
func.func @f(%a: tensor<4xf32>, %b: tensor<2xbf16>) -> (tensor<4xf32>, tensor<2xbf16>) {
  %0 = arith.addf %a, %a : tensor<4xf32>
  return %0, %b : tensor<4xf32>, tensor<2xbf16>
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, in which the process is, with a program and files of tensors."""
    monkeypatch.chdir(tmp_path)
    Path("f.mlir").write_text(DOUBLE)
    b = hu.convert([0.5, -1.0], "bf16")
    hu.write_tensors("m.safetensors", {"layer.a": X, "layer.b": b})
    hu.write_tensors("m.npz", {"a": X, "b": b})
    return tmp_path


def test_the_mapping(folder: Path) -> None:
    found = hu.open_tensors(folder / "m.safetensors")
    assert (len(found), list(found), "layer.a" in found, "a" in found) == (2, ["layer.a", "layer.b"], True, False)
    assert repr(found).splitlines()[1:] == [
        "  layer.a  F32   tensor<4xf32>",
        "  layer.b  BF16  tensor<2xbf16>",
    ]
    assert found["layer.a"] == hu.Value.from_numpy(X)
    assert np.asarray(found["layer.a"].bits).base is not None  # type: ignore[union-attr]
    with pytest.raises(
        hu.errors.InputError, match=r"has no tensor 'layer.c'\nhint: did you mean `layer.a` or `layer.b`"
    ):
        found["layer.c"]
    assert hu.float_format("F8_E4M3").name == "f8E4M3FN"  # and not MLIR's f8E4M3


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run halfulp in this process."""
    return Command(capsys)


def test_inputs_and_outputs_of_the_command(folder: Path, command: Command) -> None:
    printed = (0, "result[0]: 4xf32=0 2 4 6\nresult[1]: 2xbf16=0.5 -1\n", "")
    for inputs in (("@m.safetensors:layer.a", "@m.safetensors:layer.b"), ("@m.npz:a", "2xbf16=@m.npz:b")):
        assert command("run", "f.mlir", *(f"--input={each}" for each in inputs)) == printed
    given = ("run", "f.mlir", "--input=@m.npz:a", "--input=@m.npz:b")
    for name, names in (("o.safetensors", ":y :z"), ("o.npz", ":y :z"), ("p.npz", " ")):
        places = [f"--output=@{name}{each}" for each in names.split(" ")]
        assert command(*given, *places) == (0, "", "")
    assert list(hu.open_tensors("p.npz")) == ["result0", "result1"]
    assert command("run", "f.mlir", "--input=@o.safetensors:y", "--input=@o.npz:z") == (
        0, "result[0]: 4xf32=0 4 8 12\nresult[1]: 2xbf16=0.5 -1\n", "",
    )  # fmt: skip
    assert "two results have the name 'y'" in command(*given, "--output=@o.npz:y", "--output=@o.npz:y")[2]


def test_parts_of_blocks(folder: Path, command: Command) -> None:
    Path("m.gguf").write_bytes(gguf(("w", (32,), 8, Q8)))
    assert command("eval", "math.absf", "--input=@m.gguf")[1].startswith("result[0]: 32xf32=0 0.5 1 1.5")
    assert command("eval", "math.absf", "--input=@m.gguf:w/scales")[1] == "result[0]: 1xf16=0.5\n"
    assert command("eval", "math.absi", "--input=@m.gguf:w/elements")[1].startswith("result[0]: 32xi8=0 1 2 3")
    assert "'w' has no 'mins', but elements, scales" in command("eval", "math.absi", "--input=@m.gguf:w/mins")[2]


WRONG = (
    ("@m.npz", "'m.npz' has 2 tensors: a, b\nhint: write @m.npz:a"),
    ("@m.npz:c", "'m.npz' has no tensor 'c'"),
    ("@m.npz:b", "expected 'tensor<4xf32>'"),
    ("@none.safetensors:a", "cannot read 'none.safetensors': No such file"),
    ("@f.mlir:a", "cannot read 'f.mlir:a'"),
)


@each_row(*WRONG)
def test_wrong_inputs(given: str, message: str, folder: Path, command: Command) -> None:
    code, _, error = command("run", "f.mlir", f"--input={given}", "--input=1 2")
    assert code == 2
    assert message in error


def test_files_without_an_ending_and_of_other_kinds(folder: Path) -> None:
    for name in ("m.safetensors", "m.npz"):
        (folder / "weights").write_bytes((folder / name).read_bytes())
        assert len(hu.open_tensors("weights")) == 2
    for data, message in ((b"\x93NUMPY\1\0", r"one array without a name[\s\S]*np.load"), (b"nothing", "unknown kind")):
        (folder / "weights").write_bytes(data)
        with pytest.raises(hu.Unsupported, match=message):
            hu.open_tensors("weights")
    os.mkfifo("pipe")
    for place, message in (("pipe", "not a regular file"), (".", "not a regular file")):
        with pytest.raises(hu.errors.InputError, match=message):
            hu.open_tensors(place)


def test_shards(folder: Path) -> None:
    index = folder / "all.safetensors.index.json"
    hu.write_tensors("n.safetensors", {"c": X})
    index.write_text(json.dumps({"weight_map": {"layer.a": "m.safetensors", "c": "n.safetensors"}}))
    found = hu.open_tensors(index)
    assert (list(found), found["c"]) == (["layer.a", "c"], hu.Value.from_numpy(X))
    for weights, message in (
        ({"x": "../m.safetensors"}, "not beside it"),
        ({"x": "n.safetensors"}, "is not in"),
        (1, "not an index"),
    ):
        index.write_text(json.dumps({"weight_map": weights}))
        with pytest.raises(hu.errors.InputError, match=message):
            hu.open_tensors(index)


def test_what_cannot_be_written(folder: Path) -> None:
    poison = hu.convert(np.ma.array([1.0, 2.0], mask=[False, True]), "f32", masked="poison")
    for name, given, message in (
        ("x.gguf", X, r"must end in \.safetensors or \.npz"),
        ("x.safetensors", hu.convert(1.0, "f80"), r"no dtype for f80[\s\S]*\.npz"),
        ("x.safetensors", hu.convert([1.0], "f4E2M1FN"), "do not fill whole bytes"),
        ("x.npz", poison, "x has poison"),
    ):
        with pytest.raises(hu.HalfulpError, match=message):
            hu.write_tensors(name, {"x": given})
    hu.write_tensors("x.npz", {"x": hu.convert([1.0], "f80")})
    assert np.load("x.npz")["x"].dtype == np.uint64


@pytest.mark.arrow
def test_columns(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    rows = pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2))
    table = pa.table(
        {"f": pa.array([1.5, 2.5], pa.float32()), "rows": rows, "gaps": pa.array([1, None]), "s": ["a", "b"]}
    )
    pyarrow.parquet.write_table(table, "t.parquet")
    pyarrow.feather.write_feather(table, "t.feather")
    for name in ("t.parquet", "t.feather"):
        found = hu.open_tensors(name)
        assert (str(found["f"]), str(found["rows"])) == ("Value(2xf32=1.5 2.5)", "Value(2x2xf32=[1 2][3 4])")
        with pytest.raises(hu.errors.InputError, match="'gaps' has 1 empty rows"):
            found["gaps"]
        Path(name).write_bytes(b"no")
        with pytest.raises(hu.errors.InputError, match="pyarrow cannot read it"):
            hu.open_tensors(name)


@pytest.mark.long
def test_a_model_of_13_gigabytes_opens_in_little_memory(tmp_path: Path) -> None:
    sizes = {f"layers.{layer}.{name}": (4096, 11008) for layer in range(32) for name in ("gate", "up", "down", "mix")}
    header, at = {}, 0
    for name, (rows, columns) in sizes.items():
        header[name] = {"dtype": "BF16", "shape": [rows, columns], "data_offsets": [at, at + 2 * rows * columns]}
        at += 2 * rows * columns
    text = json.dumps(header).encode()
    path = tmp_path / "m.safetensors"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + at)  # without a block on the disk
    program = f"import time, halfulp as hu\nprint(len(hu.open_tensors({str(path)!r})), time.process_time())\n"
    ran = subprocess.run([sys.executable, "-c", f"{program}{MEMORY}print(peak)"], capture_output=True, check=True)
    tensors, seconds, kilobytes = map(float, ran.stdout.split())
    assert tensors == 128
    assert seconds < 3
    assert kilobytes < 200_000
