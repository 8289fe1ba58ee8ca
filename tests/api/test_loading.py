"""`load`: paths, text and bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

import halfulp as hu

ADD = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = arith.addf %x, %y : tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""


def test_load_takes_a_path_text_or_bytes(tmp_path: Path) -> None:
    file = tmp_path / "kernel.mlir"
    file.write_text(ADD)
    printed = hu.print_module(hu.load(ADD))
    for source in (file, str(file), ADD.encode()):
        assert hu.print_module(hu.load(source)) == printed
    assert hu.load(str(file)).filename == str(file)


def test_load_says_what_it_cannot_read(tmp_path: Path) -> None:
    with pytest.raises(hu.errors.InputError, match="cannot read 'missing.mlir': No such file"):
        hu.load("missing.mlir")
    with pytest.raises(hu.errors.InputError, match="Is a directory"):
        hu.load(tmp_path)
    with pytest.raises(hu.errors.InputError, match="null"):
        hu.load("a\0b")
    with pytest.raises(hu.BytecodeError, match=r"<bytes>: error: .* \(at byte \d+\)"):
        hu.load(b"ML\xefR\x0d")
    with pytest.raises(hu.ParseError):
        hu.load(b"\xff\xfe\x00")
