"""IREE 3.13 as an oracle: it finds IREE's bugs by itself, and the profile `iree-3.13` predicts every bit of them."""

import os
import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from halfulp.conformance.comparing.check import check
from halfulp.conformance.comparing.divergences import Divergence, divergences
from halfulp.conformance.comparing.inputs import every_input, is_exhaustive, sampled_inputs
from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.conformance.oracles.iree import Iree
from halfulp.conformance.oracles.oracle import ClosedProgram, Oracle, ProgramOracle, Unanswered, Unavailable
from halfulp.conformance.oracles.tool import run_bounded
from halfulp.fp_formats.formats import ints_to_codes
from halfulp.interp.loading import parse_module
from halfulp.interp.values.memref_layout import RotateRows, Swizzle, XorShuffle, places
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import PROFILES

PROFILE = PROFILES["iree-3.13"]
ROWS = [row for row in divergences() if "iree" in row.tools]


@cache
def made() -> Iree | str:
    """Return the oracle, or the reason why there is none."""
    try:
        return Iree()
    except Unavailable as error:
        return str(error)


@pytest.fixture
def iree() -> Iree:
    found = made()
    if isinstance(found, Iree):
        return found
    if os.environ.get("HALFULP_REQUIRE_MLIR") == "1":
        pytest.fail(f"IREE is required (HALFULP_REQUIRE_MLIR=1): {found}", pytrace=False)
    pytest.skip(f"IREE IS ABSENT: {found}")


def inputs_of(asked: OpCase, count: int) -> tuple[Any, ...]:
    return every_input(asked) if is_exhaustive(asked, 16) else sampled_inputs(asked, count)


def test_it_is_an_oracle(iree: Iree) -> None:
    assert isinstance(iree, Oracle)
    assert iree.version.startswith("3.13")


PREDICTED = [
    op_case("arith.truncf", "f32", "f8E4M3FN"),
    op_case("arith.truncf", "bf16", "f8E5M2FNUZ"),
    op_case("arith.truncf", "f64", "f16"),
    op_case("arith.extf", "f8E4M3FN", "f32"),
    op_case("arith.extf", "bf16", "f64"),
    op_case("arith.mulf", "f8E4M3FN"),
    op_case("arith.divf", "f8E8M0FNU"),
    op_case("arith.addf", "f64"),
    op_case("arith.remf", "f16"),
    op_case("arith.maxnumf", "f32"),
    op_case("arith.negf", "f8E5M2"),
    op_case("arith.cmpf", "bf16", predicate="ult"),
    op_case("arith.sitofp", "i16", "f8E4M3FN"),
    op_case("arith.fptosi", "f32", "i32"),
    op_case("arith.scaling_extf", ["f8E4M3FN", "f8E8M0FNU"], "f32"),
    op_case("arith.divsi", "i8"),
    op_case("arith.divui", "i8"),
    op_case("arith.mulsi_extended", "i16"),
    op_case("arith.addi", "index"),
]


@pytest.mark.parametrize("asked", PREDICTED, ids=str)
def test_the_profile_predicts_every_bit(iree: Iree, asked: OpCase) -> None:
    inputs = inputs_of(asked, 2000)
    total = check(iree, asked, inputs, profile=PROFILE)
    assert total.clean, total.mismatches[:3]
    assert total.unanswered == 0
    assert total.equal > 200
    known = check(iree, asked, inputs, ROWS)
    assert known.clean, known.mismatches[:3]
    assert not known.reformed


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_examples(iree: Iree, row: Divergence) -> None:
    example = row.example
    asked = op_case(example.op, example.types[0], example.to, **dict(example.properties))
    inputs = [ints_to_codes([c], w, (1,)) for c, w in zip(example.operands, asked.operand_widths, strict=True)]
    if row.formula == "trapped_remainder":  # alone it would be taken for a tool that never works
        inputs = [np.append(codes, codes.dtype.type(1)) for codes in inputs]
    ((_, mismatch),) = check(iree, asked, inputs).mismatches
    assert mismatch.expected == example.expected
    assert mismatch.actual == (None if row.formula == "trapped_remainder" else example.actual)
    assert check(iree, asked, inputs, ROWS).known == {row.name: 1}


@pytest.mark.parametrize(
    ("target", "lost"),
    [("f8E3M4", 16), ("f8E4M3", 32), ("f8E4M3FN", 32), ("f8E4M3FNUZ", 32), ("f8E5M2", 64)],
)
def test_it_finds_the_lost_carry(iree: Iree, target: str, lost: int) -> None:
    """Among all bf16, rounding up into the smallest normal gives zero."""
    asked = op_case("arith.truncf", "bf16", target)
    total = check(iree, asked, every_input(asked))
    assert total.unexplained == lost
    for _, mismatch in total.mismatches:
        assert mismatch.actual is not None
        assert mismatch.actual & 0x7F == 0


def test_it_finds_the_negative_nan(iree: Iree) -> None:
    asked = op_case("arith.extf", "f8E4M3FN", "f32")
    ((_, mismatch),) = check(iree, asked, every_input(asked)).mismatches
    assert (mismatch.operands, mismatch.actual) == ((0xFF,), np.float32(-480).view(np.uint32))


@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_division_of_any_number_of_elements(iree: Iree, count: int) -> None:
    asked = op_case("arith.divui", "i32")
    inputs = (np.arange(count, dtype=np.uint32), np.ones(count, np.uint32))
    assert check(iree, asked, inputs).equal == count


def test_conversions_to_integers_are_right_in_range(iree: Iree) -> None:
    asked = op_case("arith.fptosi", "f32", "i8")
    total = check(iree, asked, sampled_inputs(asked, 3000))
    assert total.clean
    assert total.equal > 1000
    assert total.open > 100  # out of range: poison, here saturated


def test_what_it_rejects_is_unanswered_for_its_reason(iree: Iree) -> None:
    asked = op_case("arith.truncf", "f32", "f4E2M1FN")
    assert iree.refuses(asked) is None
    total = check(iree, asked, sampled_inputs(asked, 10))
    assert (total.compared, total.unanswered, total.failures) == (0, 10, [])
    (reason,) = total.refusals
    assert "Unsupported tensor type" in reason
    assert iree.refuses(asked) == reason  # it knows now
    assert iree.refuses(op_case("arith.addf", "f80")) is not None
    assert iree.refuses(op_case("quant.dcast", "!quant.uniform<i8:f32, 0.5>", "f32")) is not None


def test_shapes_and_nothing(iree: Iree) -> None:
    asked = op_case("arith.addi", "i8")
    a, b = sampled_inputs(asked, 24)
    (answer,) = iree.evaluate(asked, (a.reshape(2, 3, 4), b.reshape(2, 3, 4)))
    np.testing.assert_array_equal(answer.bits, (a + b).reshape(2, 3, 4))
    (answer,) = iree.evaluate(asked, (a[:0], b[:0]))
    assert answer.bits.shape == (0,)


def test_programs(iree: Iree) -> None:
    assert isinstance(iree, ProgramOracle)
    text = """
    func.func @f(%a: f32, %t: tensor<3xf8E4M3FN>, %i: i1) -> (f32, tensor<3xf8E4M3FN>, i8) {
      %r = arith.addf %a, %a : f32
      %s = arith.addf %t, %t : tensor<3xf8E4M3FN>
      %n = func.call @g(%i) : (i1) -> i8
      return %r, %s, %n : f32, tensor<3xf8E4M3FN>, i8
    }
    func.func @g(%i: i1) -> i8 {
      %n = arith.extsi %i : i1 to i8
      return %n : i8
    }
    """
    module = parse_module(text)
    arguments = (
        Value.from_bits(np.uint32(0x3FC00000), "f32"),
        Value.from_bits(np.array([0x38, 0x01, 0x7E], np.uint8), "f8E4M3FN"),
        Value.from_bits(np.uint8(1), "i1"),
    )
    four = parse_module("func.func @f(%a: tensor<2xf4E2M1FN>) -> tensor<2xf4E2M1FN> { return %a : tensor<2xf4E2M1FN> }")
    buffers = parse_module("func.func @f(%a: vector<2xf32>) -> vector<2xf32> { return %a : vector<2xf32> }")
    found = iree.run(
        [
            ClosedProgram(module, "f", arguments),
            ClosedProgram(buffers, "f", (Value.from_bits(np.zeros(2, np.uint32), "f32"),)),
            ClosedProgram(module, "g", arguments[2:]),
            ClosedProgram(four, "nowhere", ()),
        ]
    )
    assert isinstance(found[0], tuple)
    assert [answer.bits.tolist() for answer in found[0]] == [0x40400000, [0x40, 0x02, 0x7F], 0xFF]
    assert isinstance(found[1], Unanswered)
    assert isinstance(found[2], tuple)
    assert found[2][0].bits == 0xFF
    assert isinstance(found[3], Unanswered)


# --- swizzle iree -----------------------------------------------------------------------------------------------------
#
# Swizzled accesses against the constants that iree-opt 3.13 folds.

CASES: list[tuple[str, Swizzle]] = [
    *(
        (f"rotate_rows<{row}, {access}>", RotateRows(row, access))
        for row, access in ((16, 4), (64, 8), (12, 4), (6, 1))
    ),
    *(
        (f"xor_shuffle<{row}, {access}, {stride}, {phase}>", XorShuffle(row, access, stride, phase))
        for row, access, stride in ((16, 4, 16), (16, 4, 48), (64, 8, 64), (12, 4, 24))
        for phase in (1, 2, 3)
    ),
    ("xor_shuffle<16, 4>", XorShuffle(16, 4, 16)),
    ("xor_shuffle<32, 8, 64>", XorShuffle(32, 8, 64)),
]
OFFSETS = (*range(0, 60, 3), 68, 100, 129, 500, 777)
PIPELINE = "builtin.module(func.func(iree-codegen-resolve-swizzle-hints, canonicalize))"
WIDTHS = (1, 2)
"""Numbers of groups in a vector."""


def module_of_accesses() -> str:
    """Return a function for each attribute, offset and width, which loads a vector from a hinted memref."""
    functions: list[str] = []
    for spelling, swizzle in CASES:
        for width in WIDTHS:
            vector = f"vector<{width * swizzle.access_width}xf32>"
            for offset in OFFSETS:
                functions.append(f"""\
func.func @f{len(functions)}(%m: memref<4096xf32>) -> {vector} {{
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.{spelling}] : memref<4096xf32>
  %o = arith.constant {offset} : index
  %v = vector.load %h[%o] : memref<4096xf32>, {vector}
  return %v : {vector}
}}
""")
    return "".join(functions)


def folded(function: str) -> list[int]:
    """Return the constant offsets of the loads of a function, in the order in which they fill the vector."""
    constants = {name: int(value) for name, value in re.findall(r"(%c\d+) = arith.constant (\d+) : index", function)}
    constants |= dict.fromkeys(re.findall(r"%c0(?!\d)", function), 0)
    return [constants[name] for name in re.findall(r"vector.load %arg0\[(%\w+)\]", function)]


def test_offsets_that_iree_opt_folds(iree_opt: str) -> None:
    answer = run_bounded([iree_opt, f"--pass-pipeline={PIPELINE}"], module_of_accesses().encode(), 60)
    assert answer.returncode == 0, answer.stderr.decode()
    functions = answer.stdout.decode().split("func.func @f")[1:]
    asked = [(swizzle, width, offset) for _, swizzle in CASES for width in WIDTHS for offset in OFFSETS]
    assert len(functions) == len(asked)
    for function, (swizzle, width, offset) in zip(functions, asked, strict=True):
        found = places(swizzle, offset, width * swizzle.access_width)
        groups = found.reshape(width, swizzle.access_width)
        assert folded(function) == groups[:, 0].tolist(), (swizzle, offset)
        assert (groups == groups[:, :1] + range(swizzle.access_width)).all()
