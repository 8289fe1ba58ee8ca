"""Narrow floats emulated in f32, and the rest of the profile `iree-3.13`: both implementations agree, and known answers of IREE.

That the profile predicts IREE itself is checked in tests/conformance/oracles/test_iree.py.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from amounts import amounts

import halfulp as hu
from halfulp.conformance.comparing.inputs import every_input, is_exhaustive, sampled_inputs
from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.fp_formats.formats import FORMATS, codes_to_ints
from halfulp.fp_formats.paths import emulation
from halfulp.interp.ir.errors import HalfulpError
from halfulp.semantics.kernel import Fault
from halfulp.semantics.profile import PROFILES

IREE = PROFILES["iree-3.13"]
NARROW = [fmt for fmt in FORMATS.values() if fmt.bits < 32]
BINARY = ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf")


@pytest.mark.long
@pytest.mark.parametrize("fmt", NARROW, ids=str)
def test_both_faces_widen_and_narrow(fmt: hu.FloatFormat) -> None:
    codes = np.arange(1 << fmt.bits).astype(fmt.storage_dtype)
    codes = codes if fmt.bits == 8 else codes[::7]
    assert emulation.widen_codes(fmt, codes).tolist() == [emulation.widen(fmt, int(code)) for code in codes]
    (wide,) = sampled_inputs(op_case("arith.truncf", "f32", fmt.name), 4000)
    assert emulation.narrow_codes(fmt, wide).tolist() == [emulation.narrow(fmt, int(code)) for code in wide]


def cases() -> list[OpCase]:
    found = []
    types = [fmt.name for fmt in NARROW] + ["f32", "f64"]
    for name in types:
        found += [op_case(f"arith.{op}", name) for op in (*BINARY, "negf")]
        found += [op_case("arith.cmpf", name, predicate=p) for p in ("oeq", "ult")]
        found += [op_case(f"arith.{op}", "i32", name) for op in ("sitofp", "uitofp")]
        found += [op_case(f"arith.{op}", name, "i16") for op in ("fptosi", "fptoui")]
        for other in types:
            for op in ("extf", "truncf", "convertf"):
                try:
                    found.append(op_case(f"arith.{op}", name, other))
                except HalfulpError:
                    continue
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", [*(fmt.name for fmt in NARROW), "f32", "f64"])
@pytest.mark.parametrize("count", amounts(80, 300))
def test_both_faces_of_every_op(name: str, count: int) -> None:
    rng = random.Random(name)
    for asked in cases():
        if asked.operands[0] != name:
            continue
        inputs = sampled_inputs(asked, count, seed=rng.randrange(1000))
        kernel = asked.kernel((count,), IREE)
        outcome = kernel.array(*inputs)
        poison = np.zeros(count, np.bool_)
        for _, mask in outcome.faults:
            poison |= mask
        columns = [codes_to_ints(codes, width) for codes, width in zip(inputs, asked.operand_widths, strict=True)]
        for element, operands in enumerate(zip(*columns, strict=True)):
            one = kernel.scalar(*operands)
            assert isinstance(one, Fault) == bool(poison[element]), (asked, operands)
            assert isinstance(one, Fault) or one == outcome.results[0][element], (asked, operands)


def test_normal_values_of_most_formats_are_those_of_the_specification() -> None:
    """The deviations are where the profile says, nowhere else: no subnormal, no NaN, no f8E8M0FNU."""
    for fmt in NARROW:
        if not fmt.zero or fmt.name == "f8E8M0FNU":
            continue
        for op in ("addf", "mulf", "divf", "remf", "maximumf", "minnumf"):
            asked = op_case(f"arith.{op}", fmt.name)
            inputs = every_input(asked) if is_exhaustive(asked, 16) else sampled_inputs(asked, 2000)
            ours = asked.kernel(inputs[0].shape).array(*inputs).results[0]
            theirs = asked.kernel(inputs[0].shape, IREE).array(*inputs).results[0]
            magnitudes = [codes & fmt.storage_dtype.type(fmt.code_mask >> 1) for codes in (*inputs, ours)]
            plain = np.logical_and.reduce([(m >= fmt.min_normal_code + 1) & (m <= fmt.max_code) for m in magnitudes])
            assert plain.sum() >= 10
            assert (ours[plain] == theirs[plain]).all(), (op, fmt.name)


# Recorded from iree-compile 3.13.0rc20261016 for a generic x86-64 CPU.
RECORDED = [
    (op_case("arith.truncf", "f32", "f8E4M3FN"), (0x3C700000,), 0x00),
    (op_case("arith.truncf", "f32", "f8E5M2FNUZ"), (0xB7E00000,), 0x00),
    (op_case("arith.truncf", "f32", "f16"), (0x387FE000,), 0x0000),
    (op_case("arith.truncf", "f32", "f16", rounding="toward_zero"), (0x387FC000,), 0x0000),
    (op_case("arith.truncf", "f64", "f32"), (0x380FFFFFE0000000,), 0x00000000),
    (op_case("arith.extf", "f8E4M3FN", "f32"), (0xFF,), 0xC3F00000),
    (op_case("arith.extf", "f8E8M0FNU", "f32"), (0x00,), 0x00000000),
    (op_case("arith.extf", "bf16", "f64"), (0x0001,), 0x0000000000000000),
    (op_case("arith.mulf", "f8E4M3FN"), (0x01, 0x4F), 0x00),
    (op_case("arith.addf", "f8E8M0FNU"), (0x00, 0x81), 0x00),
    (op_case("arith.divf", "f8E8M0FNU"), (0x00, 0x00), 0x80),
    (op_case("arith.negf", "f8E5M2"), (0xFD,), 0x7F),
    (op_case("arith.negf", "bf16"), (0x7F81,), 0x7FC0),
    (op_case("arith.addf", "f32"), (0x00000001, 0x00000001), 0x00000000),
    (op_case("arith.maxnumf", "f32"), (0x80000000, 0x00000001), 0x80000000),
    (op_case("arith.cmpf", "f64", predicate="oeq"), (0x1, 0x0), 1),
    (op_case("arith.sitofp", "i16", "f8E4M3FN"), (0x8000,), 0x7F),
    (op_case("arith.sitofp", "i32", "f8E4M3FN"), (0xFFFFFC00,), 0x7F),
]


@pytest.mark.parametrize(("asked", "operands", "expected"), RECORDED, ids=str)
def test_recorded(asked: OpCase, operands: tuple[int, ...], expected: int) -> None:
    assert asked.kernel((1,), IREE).scalar(*operands) == expected
    assert asked.kernel((1,)).scalar(*operands) != expected
