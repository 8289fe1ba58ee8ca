"""ONNX models as modules: `hu.from_onnx`."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.command import main as cli

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
model (float[n, 3] x, float[3, 2] w) => (float[n, 2] y) {
  product = MatMul(x, w)
  y = Relu(product)
}
"""


def saved(path: Path) -> Path:
    onnx: Any = import_module("onnx")
    onnx.save(onnx.parser.parse_model(MODEL), path)
    return path


def test_an_absent_package_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halfulp.importing.lowering.compiler_for", lambda name: None)
    monkeypatch.setattr("halfulp.importing.lowering.find_spec", lambda name: None if name == "onnx" else object())
    with pytest.raises(hu.Unsupported, match="needs the Python package onnx") as caught:
        hu.from_onnx(tmp_path / "model.onnx")
    assert caught.value.hint == "pip install 'onnx>=1.16'"


@pytest.mark.onnx
def test_a_model_with_a_dynamic_axis(tmp_path: Path) -> None:
    module = hu.from_onnx(saved(tmp_path / "model.onnx"))
    x, w = np.array([[1, 2, 3], [-4, 5, -6]], np.float32), np.array([[1, 0], [0, 1], [1, -1]], np.float32)
    (result,) = hu.run(module, x, w)
    assert result.tolist() == [[4, 0], [0, 11]]
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.onnx
def test_what_the_importer_prints_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, printed = saved(tmp_path / "-o.onnx"), tmp_path / "model.mlir"
    importer = [sys.executable, "-m", "iree.compiler.tools.import_onnx", str(path), "-o", str(printed)]
    subprocess.run(importer, check=True, capture_output=True)
    inputs = ["--input=2x3xf32=[1 2 3][-4 5 -6]", "--input=3x2xf32=[1 0][0 1][1 -1]"]
    assert cli.main(["run", str(printed), *inputs]) == 0
    assert capsys.readouterr().out == "result[0]: 2x2xf32=[4 0][0 11]\n"
    monkeypatch.chdir(tmp_path)
    assert str(hu.from_onnx("-o.onnx").body[0].symbol_name) == "model"


@pytest.mark.onnx
def test_a_file_that_is_not_a_model_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with pytest.raises(hu.errors.InputError, match="cannot read"):
        hu.from_onnx(path)
    path.write_bytes(b"not a model")
    with pytest.raises(hu.errors.InputError, match=r"iree-import-onnx cannot read .*model\.onnx"):
        hu.from_onnx(path)
