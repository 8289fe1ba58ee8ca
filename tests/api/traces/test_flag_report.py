"""The exception flags of programs against those of single ops and of exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import halfulp as hu
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import Flags

F16 = FORMATS["f16"]

CHAIN = """func.func @f(%x: tensor<5xf16>, %y: tensor<5xf16>) -> tensor<5xf16> {
  %0 = arith.mulf %x, %y : tensor<5xf16>
  %1 = arith.divf %0, %y : tensor<5xf16>
  %2 = math.sqrt %1 : tensor<5xf16>
  %3 = arith.addf %x, %y fastmath<nnan> : tensor<5xf16>
  %4 = arith.subf %3, %3 : tensor<5xf16>
  return %2 : tensor<5xf16>
}
"""


def test_each_op_raises_what_it_raises_alone() -> None:
    x = np.array([1.1, 300.0, 0.0, 2.0**-20, np.nan], np.float16)
    y = np.array([1.3, 301.0, 0.0, 2.0**-20, 1.0], np.float16)
    report = hu.exception_flags(CHAIN, x, y)
    product, first = hu.eval("arith.mulf", x, y, flags=True)
    quotient, second = hu.eval("arith.divf", product, y, flags=True)
    root, third = hu.eval("math.sqrt", quotient, flags=True)
    assert report.results == (root,)
    expected = [first, second, third]
    for op, flags in zip(report.ops, expected, strict=False):
        assert op.elements == 5
        counts = {str(flag.name).lower().replace("_", " "): int((flags & flag != 0).sum()) for flag in Flags}
        assert op.counts == counts, op.op
        assert op.flags == Flags(int(np.bitwise_or.reduce(flags)))
    assert [op.line for op in report.ops] == [2, 3, 4, 5, 6]
    # The sum with a NaN is poison under nnan, and a poison operand raises nothing.
    assert not report.ops[4].flags
    assert report.flags == Flags.INEXACT | Flags.UNDERFLOW | Flags.OVERFLOW | Flags.INVALID
    assert report.unknown == ()


@pytest.mark.parametrize("name", ["f8E4M3FN", "bf16", "f32", "f64", "f80", "f128"])
def test_single_numbers_raise_what_elements_raise(name: str) -> None:
    """A scalar run asks the scalar implementations of the kernels, a tensor of one element the arrays."""
    scalars = f"""func.func @f(%x: {name}, %y: {name}) -> i1 {{
  %0 = arith.addf %x, %y fastmath<ninf> : {name}
  %1 = arith.divf %x, %0 : {name}
  %2 = math.fma %0, %1, %y : {name}
  %3 = math.sqrt %2 : {name}
  %4 = arith.fptosi %3 : {name} to i8
  %5 = arith.sitofp %4 : i8 to {name}
  %6 = arith.cmpf olt, %5, %x : {name}
  return %6 : i1
}}
"""
    elements = scalars.replace(name, f"tensor<1x{name}>").replace("i1", "tensor<1xi1>").replace("i8", "tensor<1xi8>")
    fmt = FORMATS[name]
    assert fmt.nan_code is not None
    codes = [fmt.max_code, 1, scalar.from_fraction(fmt, Fraction(1)).code, 0, fmt.nan_code]
    for x in codes:
        for y in codes:
            one = hu.exception_flags(scalars, *(hu.Value.from_bits(code, name) for code in (x, y)))
            array = hu.exception_flags(elements, *(hu.Value.from_bits([code], f"tensor<1x{name}>") for code in (x, y)))
            assert [(op.elements, op.counts) for op in one.ops] == [(op.elements, op.counts) for op in array.ops]
            assert one.flags == array.flags


def test_steps_of_a_reduction() -> None:
    """The flags of the sum 1 + 2**-11 + 65504 + 65504, each step rounded, by exact arithmetic."""
    numbers = [1.0, 2.0**-11, 65504.0, 65504.0]
    program = """func.func @f(%x: tensor<4xf16>, %s: tensor<f16>) -> tensor<f16> {
  %0 = linalg.reduce ins(%x : tensor<4xf16>) outs(%s : tensor<f16>) dimensions = [0] (%a: f16, %b: f16) {
    %1 = arith.addf %a, %b : f16
    linalg.yield %1 : f16
  }
  return %0 : tensor<f16>
}
"""
    report = hu.exception_flags(program, np.array(numbers, np.float16), np.float16(0))
    total, counts = Fraction(0), {"inexact": 0, "overflow": 0}
    for number in numbers:
        rounded = scalar.from_fraction(F16, total + Fraction(number))
        counts["inexact"] += bool(rounded.flags & Flags.INEXACT)
        counts["overflow"] += bool(rounded.flags & Flags.OVERFLOW)
        value = scalar.value(F16, rounded.code)
        if value is None:
            break
        total = value
    (op,) = report.ops
    assert (op.elements, op.counts["inexact"], op.counts["overflow"]) == (4, counts["inexact"], counts["overflow"])
    assert counts == {"inexact": 3, "overflow": 1}
    assert report.flags == Flags.INEXACT | Flags.OVERFLOW


def test_a_long_sum_counts_each_of_its_steps() -> None:
    """Long folds are recorded in blocks of steps."""
    program = """func.func @f(%x: tensor<500xf16>, %s: tensor<f16>) -> tensor<f16> {
  %0 = linalg.reduce ins(%x : tensor<500xf16>) outs(%s : tensor<f16>) dimensions = [0] (%a: f16, %b: f16) {
    %1 = arith.addf %a, %b : f16
    linalg.yield %1 : f16
  }
  return %0 : tensor<f16>
}
"""
    x = np.random.default_rng(3).normal(0, 3, 500).astype(np.float16)
    report = hu.exception_flags(program, x, np.float16(0))
    code, inexact = 0, 0
    for each in x.view(np.uint16).tolist():
        step = scalar.add(F16, code, each)
        code, inexact = step.code, inexact + bool(step.flags & Flags.INEXACT)
    (op,) = report.ops
    assert (op.elements, op.counts["inexact"], op.flags) == (500, inexact, Flags.INEXACT)
    assert int(report.results[0].bits) == code
    assert 0 < inexact < 500


def test_flags_in_loops_and_memory() -> None:
    program = """func.func @f(%m: memref<3xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zero) -> f32 {
    %v = memref.load %m[%i] : memref<3xf32>
    %u = arith.addf %t, %v : f32
    memref.store %u, %m[%i] : memref<3xf32>
    scf.yield %u : f32
  }
  return %s : f32
}
"""
    memory = hu.Buffer.from_numpy(np.array([1.0, 2.0**-30, 0.5], np.float32), "memref<3xf32>")
    report = hu.exception_flags(program, memory, 3)
    (op,) = report.ops
    assert (op.elements, op.counts["inexact"]) == (3, 1)
    assert memory.numpy().tolist() == [1.0, 1.0, 1.5]
    assert "flags: inexact" in str(report)
    assert hu.run(program, memory, 3)[0].numpy() == 3.5  # its memory is as before


def test_a_conversion_out_of_range_is_invalid_though_its_result_is_poison() -> None:
    program = "func.func @f(%x: f32) -> i8 {\n  %0 = arith.fptosi %x : f32 to i8\n  return %0 : i8\n}\n"
    report = hu.exception_flags(program, np.float32(1e6))
    assert report.flags == Flags.INVALID
    assert report.results[0].poisoned
    assert hu.exception_flags(program, np.float32(1.5)).flags == Flags.INEXACT


def test_what_is_not_known_is_named() -> None:
    program = """func.func private @mine(f32) -> f32
func.func @f(%x: f32) -> f32 {
  %0 = call @mine(%x) : (f32) -> f32
  %1 = arith.addf %0, %0 : f32
  return %1 : f32
}
"""
    report = hu.exception_flags(program, np.float32(0.1), function="f", externals={"mine": lambda x: x})
    assert "mine" in " ".join(report.unknown)
    assert "not known: the flags of" in str(report)
    with pytest.raises(hu.Unsupported, match="a batch does not report exception flags"):
        hu.exception_flags(CHAIN, np.zeros((2, 5), np.float16), np.zeros((2, 5), np.float16), batch=True)
