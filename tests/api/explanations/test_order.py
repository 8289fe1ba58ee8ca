"""The order of arguments: operands, then types by keyword."""

from __future__ import annotations

from typing import Any

import pytest

import halfulp as hu
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir import types as ty
from halfulp.interp.values.coerce import as_type

QUANTISED = "!quant.uniform<i8:f32, 0.5:3>"


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
        (("arith.addf", "f16", 1, 2), {}, "'f16' is a type, not an operand of arith.addf"),
        (("arith.addf", FORMATS["f16"], 1, 2), {}, "'f16' is a type, not an operand of arith.addf"),
        (("arith.addf", as_type(QUANTISED), 1, 2), {}, "is a type, not an operand"),
        (("quant.qcast", 1), {}, "quantised type"),
    ],
)
def test_wrong_types(arguments: tuple[Any, ...], how: dict[str, Any], words: str) -> None:
    with pytest.raises(hu.errors.InputError, match=words):
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
    with pytest.raises(hu.errors.InputError, match="type= is the type of the value") as caught:
        hu.explain(0.3, type="f8E4M3FN")
    assert caught.value.hint == "give to=…, the type that it is rounded to"
    typed = hu.explain(0.3, to="f8E4M3FN", type="bf16")
    assert typed.exact == hu.explain(0.3, to="bf16").result.value
    assert hu.explain("0.3", to="f8E4M3FN", type="bf16").exact == typed.exact
