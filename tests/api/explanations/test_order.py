"""The order of arguments: operands, then types by keyword; the old order warns and gives the same explanation."""

from __future__ import annotations

import re
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfulp as hu
from halfulp.explanations.op_types import type_named
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir import types as ty
from halfulp.interp.values.coerce import as_type

QUANTISED = "!quant.uniform<i8:f32, 0.5:3>"
OLD: list[tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...], dict[str, Any]]] = [
    (("arith.addf", "f8E4M3FN", 1.4, 2.2), {}, (1.4, 2.2), {"type": "f8E4M3FN"}),
    (("arith.addf", FORMATS["f16"], "0.1", "f32=0.5"), {}, ("0.1", "f32=0.5"), {"type": "f16"}),
    (("arith.addf", as_type("bf16"), "nan", "inf"), {}, ("nan", "inf"), {"type": "bf16"}),
    (("arith.negf", np.float16, 1), {}, (1,), {"type": "f16"}),
    (("arith.negf", np.dtype("float32"), 1), {}, (1,), {"type": "f32"}),
    (("arith.negf", ml_dtypes.bfloat16, 1), {}, (1,), {"type": "bf16"}),
    (("arith.truncf", "f8E4M3FN", 465), {"source": "f32"}, (465,), {"type": "f32", "to": "f8E4M3FN"}),
    (("arith.truncf", "f8E4M3FN", 465), {}, (465,), {"to": "f8E4M3FN"}),
    (("quant.qcast", QUANTISED, 1.3), {}, (1.3,), {"to": QUANTISED}),
    (("quant.dcast", QUANTISED, 5), {}, (5,), {"type": QUANTISED}),
    (("arith.addi", "i8", 1, 2), {}, (1, 2), {"type": "i8"}),
]


@pytest.mark.parametrize(("old", "how", "operands", "keywords"), OLD)
def test_the_old_order(old: tuple[Any, ...], how: Any, operands: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    op = old[0]
    if "f32=0.5" in operands:
        with pytest.raises(hu.VerifyError), pytest.warns(DeprecationWarning, match="write explain_op"):
            hu.explain_op(*old, **how)
        return
    with pytest.warns(DeprecationWarning, match=re.escape(f'write explain_op("{op}"')) as caught:
        before = hu.explain_op(*old, **how)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        after = hu.explain_op(op, *operands, **keywords)
    assert str(before) == str(after)


def test_the_warning_can_be_pasted() -> None:
    with pytest.warns(DeprecationWarning, match="write explain_op") as caught:
        old = hu.explain_op("arith.truncf", "f8E4M3FN", "465", source="f32")
    call = str(caught[0].message).partition("write ")[2]
    assert call == 'explain_op("arith.truncf", \'465\', type="f32", to="f8E4M3FN")'
    assert str(eval(call, {"explain_op": hu.explain_op})) == str(old)


@given(
    st.one_of(
        st.floats().map(str),
        st.integers().map(str),
        st.integers(0, 255).map(hex),
        st.fractions().map(str),
        st.decimals().map(str),
        st.floats().map(lambda x: f"f32={x}"),
        st.floats().map(lambda x: f"{x} : f32"),
        st.sampled_from(["nan", "-inf", "inf", "poison", "true", "false", "1e5", "0x1e5m2", ".5", "+1", "2e5"]),
        st.floats(),
        st.integers(),
        st.fractions(),
        st.decimals(),
        st.floats(width=32).map(np.float32),
        st.lists(st.floats()),
    )
)
def test_no_operand_is_taken_for_a_type(operand: Any) -> None:
    assert type_named(operand) is None


@pytest.mark.parametrize(
    "spelling",
    [*FORMATS, "bfloat16", "e5m2", "half", "i8", "index", "tensor<4xf32>", QUANTISED, float, np.int8, "bool"],
)
def test_every_type_is_recognised(spelling: Any) -> None:
    assert type_named(spelling) == as_type(spelling)


def test_types_as_eval_takes_them() -> None:
    rows: list[tuple[str, tuple[float, ...], dict[str, Any]]] = [
        ("arith.addf", (1.375, 2.25), {"type": "f8E4M3FN"}),
        ("arith.truncf", (465.0,), {"type": "f32", "to": "f8E4M3FN"}),
        ("arith.fptosi", (3.7,), {"type": "f16", "to": "i8"}),
        ("arith.trunci", (300,), {"type": "i16", "to": "i8"}),
        ("arith.cmpi", (1, 2), {"type": "i8", "predicate": "slt"}),
    ]
    for op, operands, how in rows:
        assert hu.explain_op(op, *operands, **how).result == int(hu.eval(op, *operands, **how).bits)
    assert isinstance(hu.explain_op("arith.addf", "f16=1", "f16=2").type, ty.FloatType)


@pytest.mark.parametrize(
    ("arguments", "how", "words"),
    [
        (("arith.addf", 1, 2), {}, "type of its operands"),
        (("arith.truncf", 1), {"type": "f16"}, "type of its result"),
        (("arith.addf", 1, 2), {"to": "f16"}, "is not a cast"),
        (("arith.addf", "f16", 1, 2), {"type": "f16"}, "takes 2 operands, but 3"),
        (("arith.truncf", 1), {"type": "f64", "source": "f64", "to": "f16"}, "old name of type="),
        (("quant.qcast", 1), {}, "quantised type"),
    ],
)
def test_wrong_types(arguments: tuple[Any, ...], how: dict[str, Any], words: str) -> None:
    with pytest.raises(hu.InputError, match=words):
        hu.explain_op(*arguments, **how)


def test_a_word_that_does_not_name_a_type() -> None:
    for word, hint in (("fp8", "f8E4M3FN"), ("f33", "unknown type"), ("e4m3", "does not say which type")):
        with pytest.raises(hu.ParseError, match=hint):
            hu.explain_op("arith.addf", word, 1, 2)
    number = hu.convert(1, "f16")
    for word in ("nan", "inf", "-inf"):
        assert hu.explain_op("arith.addf", word, number).type == number.type


def test_explain_has_the_words_of_convert() -> None:
    expected = str(hu.explain(0.3, "f8E4M3FN"))
    assert str(hu.explain(0.3, to="f8E4M3FN")) == expected
    with pytest.warns(DeprecationWarning, match="write to="):
        assert str(hu.explain(0.3, type="f8E4M3FN")) == expected
    typed = hu.explain(0.3, to="f8E4M3FN", type="bf16")
    assert typed.exact == hu.explain(0.3, to="bf16").result.value
    assert hu.explain("0.3", to="f8E4M3FN", type="bf16").exact == typed.exact
