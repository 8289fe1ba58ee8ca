"""`eval`: one op without MLIR."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import halfulp as hu


def test_eval_of_one_op() -> None:
    assert int(hu.eval("arith.addf", 1.375, 2.25, type="f8E4M3FN").bits) == 0x46
    x = np.array([1.0, np.nan], np.float32)
    result = hu.eval("arith.addf", x, x, fastmath="nnan")
    assert result.poisoned.tolist() == [False, True]
    low, high = hu.eval("arith.mului_extended", 200, 200, type="i8")
    assert [int(low.bits), int(high.bits)] == [200 * 200 & 255, 200 * 200 >> 8]


@pytest.mark.parametrize(
    ("op", "operands", "options", "expected"),
    [
        ("arith.cmpi", (np.array([1, 2]), np.array([2, 1])), {"predicate": "slt"}, [True, False]),
        (
            "arith.truncf",
            (np.array([465.0, 1.0], np.float32),),
            {"to": "f8E4M3FN", "rounding": "toward_zero"},
            [448, 1],
        ),
        ("arith.select", (np.array([True, False]), np.array([1.0, 2.0]), np.array([3.0, 4.0])), {}, [1.0, 4.0]),
        ("arith.extf", (np.array([1.5], ml_dtypes.bfloat16),), {"to": "f64"}, [1.5]),
        ("arith.addi", (1, 2), {"type": "index"}, 3),
        ("arith.select", (True, 1, 2), {"type": "i8"}, 1),
        ("math.fpowi", (-2.0, 3), {"type": "bf16"}, -8.0),
        ("math.fpowi", (2.0, np.int64(-3)), {"type": "f32"}, 0.125),
        ("rootn", ([27.0, -8.0], [3, 3]), {"type": "f8E4M3FN"}, [3.0, -2.0]),
        ("arith.divui", (6, 3), {"type": "i8", "exact": True}, 2),
        ("arith.addi", (5, 3), {"type": "i8", "overflow": "nsw,nuw"}, 8),
        ("quant.qcast", (np.array([1.0, 3.0], np.float32),), {"to": "!quant.uniform<i8:f32, 0.5:1>"}, [3, 7]),
        ("arith.flush_denormals", (1e-45,), {"type": "f32"}, 0.0),
    ],
)
def test_eval_infers_types_and_takes_properties(op: str, operands: Any, options: Any, expected: Any) -> None:
    assert hu.eval(op, *operands, **options).numpy().tolist() == expected


def test_eval_says_what_is_wrong() -> None:
    with pytest.raises(hu.Unsupported, match="no op named 'arith.nonsense'"):
        hu.eval("arith.nonsense", 1)
    with pytest.raises(hu.Unsupported, match=r"'func.return' cannot be evaluated"):
        hu.eval("func.return", 1, type="i8")
    with pytest.raises(hu.VerifyError, match="floating-point-like"):
        hu.eval("arith.addf", 1, 2, type="i32")
    with pytest.raises(hu.VerifyError, match=r"has no property 'fastmath'; it has overflowFlags"):
        hu.eval("arith.addi", 1, 2, type="i32", fastmath="nnan")
    with pytest.raises(hu.VerifyError, match=r"predicate of 'arith.cmpi' is 'lt', but must be one of eq, ne, slt"):
        hu.eval("arith.cmpi", 1, 2, type="i32", predicate="lt")
    with pytest.raises(hu.TypeMismatch, match=r"does not follow from its operands"):
        hu.eval("arith.truncf", 1.0, type="f32")
    with pytest.raises(hu.VerifyError, match="cast incompatible"):
        hu.eval("arith.truncf", 1.0, type="f32", to="f64")
    with pytest.raises(hu.TypeMismatch, match="2 types are given for 1"):
        hu.eval("arith.negf", 1.0, type=["f32", "f32"])
    with pytest.raises(hu.VerifyError, match="predicate"):
        hu.eval("arith.cmpi", 1, 2, type="i32")
    with pytest.raises(hu.HalfulpError):
        hu.eval("arith.addf", 1.0, type="f32")
    with pytest.raises(hu.UndefinedBehavior, match="division by zero"):
        hu.eval("arith.divsi", 1, 0, type="i8")


def test_a_number_beside_a_value_is_told_of_its_type() -> None:
    value = hu.convert(1.5, "bf16")
    with pytest.raises(hu.VerifyError, match=r"(?s)hint: 1 is 'i64' here: give type=\"bf16\", or one type"):
        hu.eval("arith.addf", value, 1)
    assert hu.eval("arith.addf", value, 1, type="bf16") == hu.convert(2.5, "bf16")
    with pytest.raises(hu.VerifyError, match=r"hint: an op takes operands of one shape: np\.full\(\(2,\), 1\)"):
        hu.eval("arith.addf", hu.convert([1.5, 2.5], "bf16"), 1, type="bf16")


INEXACT, UNDERFLOW, OVERFLOW, DIVIDE_BY_ZERO, INVALID = 1, 2, 4, 8, 16


@pytest.mark.parametrize(
    ("op", "operands", "options", "expected"),
    [
        ("arith.addf", ([1.0, 65504.0], [2.0**-11, 65504.0]), {"type": "f16"}, [INEXACT, OVERFLOW | INEXACT]),
        ("arith.divf", ([1.0, 0.0, 6.0], [0.0, 0.0, 3.0]), {"type": "f32"}, [DIVIDE_BY_ZERO, INVALID, 0]),
        ("arith.mulf", ([2.0**-14, 2.0**-14], [2.0**-14, 0.5]), {"type": "f16"}, [UNDERFLOW | INEXACT, 0]),
        ("math.sqrt", ([-1.0, 2.0],), {"type": "bf16"}, [INVALID, INEXACT]),
        ("math.exp", ([0.0, 1.0],), {"type": "bf16"}, [0, INEXACT]),
        ("arith.truncf", ([1.0, 1.0 + 2.0**-20],), {"type": "f32", "to": "f16"}, [0, INEXACT]),
        ("arith.fptosi", ([2.5, 300.0],), {"type": "f16", "to": "i8"}, [INEXACT, 0]),  # poison has no flags
        ("fmadd", ([448.0], [448.0], [0.5]), {"type": ["f8E4M3FN", "f8E4M3FN", "f32"]}, [0]),
    ],
)
def test_flags_of_one_op(op: str, operands: Any, options: Any, expected: Any) -> None:
    result, flags = hu.eval(op, *operands, flags=True, **options)
    assert result == hu.eval(op, *operands, **options)
    assert flags.dtype == np.uint8
    if op == "arith.fptosi":  # an invalid conversion is poison; a profile gives it a number and a flag
        assert result.poisoned.tolist() == [False, True]
        saturated = hu.eval(op, *operands, flags=True, profile="riscv", **options)
        assert (saturated[0].tolist(), saturated[1].tolist()) == ([2, 127], [INEXACT, INVALID])
    assert flags.tolist()[:1] == expected[:1]
    if op != "arith.fptosi":
        assert flags.tolist() == expected
    for k in range(len(operands[0])):  # one element has its own way
        one = [operand[k] for operand in operands]
        alone, flag = hu.eval(op, *one, flags=True, **options)
        assert (alone.shape, flag.shape, int(flag)) == ((), (), flags[k])
        assert int(alone.bits) == int(result.bits[k])


def test_poison_has_no_flags() -> None:
    poisoned = hu.eval("arith.fptosi", [2.5, 300.0], type="f16", to="i8")
    _, flags = hu.eval("fcvt_from_si", poisoned, to="f8E4M3FN", flags=True)
    assert flags.tolist() == [0, 0]
    x = hu.eval("arith.divf", [1.0, np.nan], [3.0, 3.0], type="f32", fastmath="nnan")
    assert hu.eval("arith.divf", x, x, flags=True)[1].tolist()[1] == 0


def test_flags_of_stochastic_rounding() -> None:
    result, flags = hu.eval(
        "arith.mulf", [1.5, 1.0], [1.1, 1.0], type="bf16", rounding="stochastic", seed=3, flags=True
    )
    assert flags.tolist() == [INEXACT, 0]
    assert result.shape == (2,)


def test_flags_that_are_not_there() -> None:
    for op, operands in (("arith.addi", (1, 2)), ("arith.select", (True, 1, 2))):
        with pytest.raises(hu.Unsupported, match=f"'{op}' has no exception flags"):
            hu.eval(op, *operands, type="i8", flags=True)
