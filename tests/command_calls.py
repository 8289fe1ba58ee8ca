"""Calling the command line in the process of the test."""

from __future__ import annotations

import pytest

from halfulp.command.main import main

IDENTITY = """\
func.func @f32x4(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @i8x2x2(%x: tensor<2x2xi8>) -> tensor<2x2xi8> { return %x : tensor<2x2xi8> }
func.func @v(%x: vector<2x2xi8>) -> vector<2x2xi8> { return %x : vector<2x2xi8> }
func.func @f32(%x: f32) -> f32 { return %x : f32 }
func.func @bf16x4(%x: tensor<4xbf16>) -> tensor<4xbf16> { return %x : tensor<4xbf16> }
func.func @f80x2(%x: tensor<2xf80>) -> tensor<2xf80> { return %x : tensor<2xf80> }
func.func @i4x3(%x: tensor<3xi4>) -> tensor<3xi4> { return %x : tensor<3xi4> }
func.func @i1x2(%x: tensor<2xi1>) -> tensor<2xi1> { return %x : tensor<2xi1> }
func.func @i100(%x: i100) -> i100 { return %x : i100 }
func.func @index(%x: index) -> index { return %x : index }
func.func @dynamic(%x: tensor<?x2xi8>) -> tensor<?x2xi8> { return %x : tensor<?x2xi8> }
func.func @unranked(%x: tensor<*xi8>) -> tensor<*xi8> { return %x : tensor<*xi8> }
func.func @scalable(%x: vector<[2]xi8>) -> vector<[2]xi8> { return %x : vector<[2]xi8> }
func.func @empty(%x: tensor<0xf32>) -> tensor<0xf32> { return %x : tensor<0xf32> }
func.func @quantized(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
  return %x : tensor<2x!quant.uniform<i8:f32, 0.5>>
}
"""
"""A function for each kind of argument, which returns it."""

PARTS = """\
func.func @f(%x: f32) -> f32 {
  return %x : f32
}
// -----
func.func @f(%x: f32) -> f32 {
  return %y : f32
}
// -----
func.func @f(%x: f32) -> f32 {
  %0 = "other.op"(%x) : (f32) -> f32
  return %0 : f32
}
// -----
"""
"""A file of parts."""


class Command:
    """Runs `main` in this process and keeps what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """Return the exit code, stdout and stderr."""
        code = main(list(arguments))
        captured = self._capsys.readouterr()
        return code, captured.out, captured.err
