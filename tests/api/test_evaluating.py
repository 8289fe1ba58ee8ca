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
