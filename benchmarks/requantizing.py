"""Measure an int8 convolution with the requantisation of gemmlowp, as a batch with a lane for each output."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import halfulp as hu
from benchmarks.rows import Measured, Row, Sizes, Target, agree, best
from benchmarks.samples import random

CHANNELS, TAPS = 16, 3
MULTIPLIER, SHIFT, ZERO_POINT, BIAS = 1518500250, 8, -3, 1000
"""The numbers of the requantisation. The multiplier has 31 bits after the point; the shift is to the right."""
BOUNDS = -128, 127

PROGRAM = """
func.func @main(%image: tensor<{side}x{side}x16xi8>, %weights: tensor<3x3x16xi8>, %y: index, %x: index) -> i8 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %bias = arith.constant {bias} : i32
  %sum = scf.for %i = %c0 to %c3 step %c1 iter_args(%in0 = %bias) -> (i32) {{
    %row = arith.addi %y, %i : index
    %out0 = scf.for %j = %c0 to %c3 step %c1 iter_args(%in1 = %in0) -> (i32) {{
      %column = arith.addi %x, %j : index
      %out1 = scf.for %k = %c0 to %c16 step %c1 iter_args(%in2 = %in1) -> (i32) {{
        %a = tensor.extract %image[%row, %column, %k] : tensor<{side}x{side}x16xi8>
        %b = tensor.extract %weights[%i, %j, %k] : tensor<3x3x16xi8>
        %wide_a = arith.extsi %a : i8 to i32
        %wide_b = arith.extsi %b : i8 to i32
        %product = arith.muli %wide_a, %wide_b : i32
        %out2 = arith.addi %in2, %product : i32
        scf.yield %out2 : i32
      }}
      scf.yield %out1 : i32
    }}
    scf.yield %out0 : i32
  }}
  // SaturatingRoundingDoublingHighMul: only -2^31 times -2^31 saturates, and the multiplier is positive.
  %multiplier = arith.constant {multiplier} : i64
  %zero64 = arith.constant 0 : i64
  %half = arith.constant 1073741824 : i64
  %below_half = arith.constant -1073741823 : i64
  %one31 = arith.constant 2147483648 : i64
  %sum64 = arith.extsi %sum : i32 to i64
  %scaled = arith.muli %sum64, %multiplier : i64
  %negative = arith.cmpi slt, %scaled, %zero64 : i64
  %nudge = arith.select %negative, %below_half, %half : i64
  %nudged = arith.addi %scaled, %nudge : i64
  %high64 = arith.divsi %nudged, %one31 : i64
  %high = arith.trunci %high64 : i64 to i32
  // RoundingDivideByPOT
  %zero = arith.constant 0 : i32
  %shift = arith.constant {shift} : i32
  %mask = arith.constant {mask} : i32
  %half_mask = arith.constant {half_mask} : i32
  %rest = arith.andi %high, %mask : i32
  %is_negative = arith.cmpi slt, %high, %zero : i32
  %one_more = arith.extui %is_negative : i1 to i32
  %threshold = arith.addi %half_mask, %one_more : i32
  %is_above = arith.cmpi sgt, %rest, %threshold : i32
  %up = arith.extui %is_above : i1 to i32
  %floor = arith.shrsi %high, %shift : i32
  %rounded = arith.addi %floor, %up : i32
  %zero_point = arith.constant {zero_point} : i32
  %moved = arith.addi %rounded, %zero_point : i32
  %least = arith.constant -128 : i32
  %most = arith.constant 127 : i32
  %bounded = arith.maxsi %moved, %least : i32
  %clamped = arith.minsi %bounded, %most : i32
  %result = arith.trunci %clamped : i32 to i8
  return %result : i8
}}"""


def rows() -> Iterator[Row]:
    name = "int8 convolution 3x3x16 of 120x120 outputs, requantised, a batch"
    yield Row("structured ops", name, convolution, "NumPy", Target(most=1000), "ms")


def requantized(sums: Any) -> Any:
    """Return 64-bit sums as 8-bit integers, computed with NumPy as gemmlowp's fixed-point functions define them."""
    scaled = sums * MULTIPLIER
    nudged = scaled + np.where(scaled < 0, 1 - (1 << 30), 1 << 30)
    high = np.sign(nudged) * (abs(nudged) >> 31)
    rest, threshold = high & ((1 << SHIFT) - 1), (1 << SHIFT - 1) - 1 + (high < 0)
    return np.clip((high >> SHIFT) + (rest > threshold) + ZERO_POINT, *BOUNDS).astype(np.int8)


def _reference(image: Any, weights: Any, outputs: int) -> Any:
    """Return the outputs of the convolution, computed with NumPy."""
    windows = np.lib.stride_tricks.sliding_window_view(image, (TAPS, TAPS), axis=(0, 1))[:outputs, :outputs]
    return requantized(np.einsum("yxcij,ijc->yx", windows.astype(np.int64), weights.astype(np.int64)) + BIAS)


def convolution(sizes: Sizes) -> Measured:
    outputs = 120 if sizes.elements >= 1 << 20 else 4
    side = outputs + TAPS - 1
    numbers = random(11)
    image = numbers.integers(-128, 128, (side, side, CHANNELS), np.int8)
    weights = numbers.integers(-128, 128, (TAPS, TAPS, CHANNELS), np.int8)
    y, x = (each.ravel() for each in np.indices((outputs, outputs)))
    program = PROGRAM.format(
        side=side,
        bias=BIAS,
        multiplier=MULTIPLIER,
        shift=SHIFT,
        mask=(1 << SHIFT) - 1,
        half_mask=(1 << SHIFT - 1) - 1,
        zero_point=ZERO_POINT,
    )
    module = hu.load(program)

    def ours() -> Any:
        return hu.run(module, image, weights, y, x, batch=True)[0].numpy()

    agree("the convolution", ours(), _reference(image, weights, outputs).ravel())
    mine, theirs = best(ours, lambda: _reference(image, weights, outputs), rounds=min(sizes.rounds, 3))
    return Measured(mine * 1e3, theirs * 1e3, note=f"{outputs * outputs:,} lanes; the peer computes all sums at once")
