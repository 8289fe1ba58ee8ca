"""Formats of one's own in MLIR text and bytecode: !halfulp.float<…>."""

from __future__ import annotations

import numpy as np
import pytest

import halfulp as hu
from halfulp.fp_formats.formats import FloatFormat, NanEncoding
from halfulp.interp.ir.types import FloatType
from halfulp.interp.values.element_layout import spell_value

OWN = FloatFormat("e3m2x", 3, 2, 3)
TEXT = '!halfulp.float<"e3m2x", exponent = 3, mantissa = 2, bias = 3>'
PROGRAM = f"""
func.func @main(%x: tensor<3x{TEXT}>, %y: vector<2x!halfulp.float<"binary8p3se">>, %m: memref<2x!halfulp.float<"f4E1M2">>)
    -> (tensor<3x{TEXT}>, vector<2xf32>, f8E5M3FNU) {{
  %c = arith.constant dense<1.5> : tensor<3x{TEXT}>
  %a = arith.addf %x, %c : tensor<3x{TEXT}>
  %s = arith.mulf %y, %y : vector<2x!halfulp.float<"binary8p3se">>
  %e = arith.extf %s : vector<2x!halfulp.float<"binary8p3se">> to vector<2xf32>
  %zero = arith.constant 0 : index
  %n = memref.load %m[%zero] : memref<2x!halfulp.float<"f4E1M2">>
  %k = arith.extf %n : !halfulp.float<"f4E1M2"> to f8E5M3FNU
  return %a, %e, %k : tensor<3x{TEXT}>, vector<2xf32>, f8E5M3FNU
}}
"""


@pytest.mark.parametrize("how", ["text", "generic", "bytecode"])
def test_programs_with_formats_of_ones_own(how: str) -> None:
    module = hu.load(PROGRAM)
    if how == "bytecode":
        module = hu.load(hu.write_bytecode(module))
    elif how == "generic":
        module = hu.load(hu.print_module(module, generic=True))
    assert hu.print_module(module) == hu.print_module(hu.load(hu.print_module(module)))
    x, y = hu.convert([1.0, 2.0, 0.1], OWN), hu.convert([3.0, 0.7], "binary8p3se")
    found = hu.run(module, x, y, hu.convert([0.75, 1.0], "f4E1M2"))
    assert found[0].type == x.type
    assert [spell_value(value) for value in found] == ["3xe3m2x=2.5 3.5 1.5", "2xf32=8 0.5", "f8E5M3FNU=0.75"]


FIELDS = [
    (FloatFormat("a", 5, 3, 15, signed=False, infinities=False, nan=NanEncoding.ALL_ONES), "unsigned, finite"),
    (FloatFormat("b", 4, 3, 8, nan=NanEncoding.NEGATIVE_ZERO), "nan = negative_zero"),
    (FloatFormat("c", 8, 0, 127, False, False, NanEncoding.ALL_ONES, zero=False), "no_zero"),
    (FloatFormat("d", 5, 0, 15, infinities=False, nan=NanEncoding.NONE, even_code=True), "even_code, nan = none"),
    (FloatFormat("e", 15, 63, 16000, explicit_integer_bit=True), "integer_bit"),
    (FloatFormat("f", 4, 3, -7), "bias = -7"),
    (FloatFormat('g "\\', 4, 3, 7), '"g \\22\\\\"'),
    (FloatFormat("binary8p3se", 5, 2, 16, nan=NanEncoding.NEGATIVE_ZERO), '<"binary8p3se">'),
]


@pytest.mark.parametrize(("fmt", "part"), FIELDS)
def test_every_field_survives_the_text(fmt: FloatFormat, part: str) -> None:
    value = hu.Value.from_bits(np.array([0, 1, 2], np.uint8) if fmt.limbs == 1 else [0, 1, 2], FloatType(fmt))
    spelled = str(value.type)
    assert part in spelled
    assert hu.parse(f"func.func private @f({spelled})").body is not None
    assert hu.Value.from_bits(value.bits, spelled) == value


ERRORS = {
    '<"nope">': "no float format is named 'nope'; write its fields",
    '<"nope", exponent = 3>': "needs mantissa, bias",
    '<"nope", exponent = 3, exponent = 3>': "exponent is given twice",
    '<"nope", exponent = 3, digits = 3>': "expected one of exponent, mantissa, bias, nan, unsigned",
    '<"nope", exponent = 3, mantissa = 2, bias = 3, nan = two>': "expected one of ieee, all_ones",
    '<"nope", exponent = 1, mantissa = 2, bias = 3>': "IEEE NaNs and infinities take an exponent field of 2 bits",
    '<"f16", exponent = 3, mantissa = 2, bias = 3>': "'f16' names another format",
    '<"binary8p9se">': "precision of 1 to 7, not 9",
    "<5>": "expected the name of a float format",
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors_say_what_to_write(text: str) -> None:
    with pytest.raises(hu.ParseError, match=ERRORS[text]) as raised:
        hu.parse(f"func.func private @f(!halfulp.float{text})")
    assert raised.value.location is not None


def test_inputs_of_the_command_line(capfd: pytest.CaptureFixture[str]) -> None:
    from halfulp.command.main import main

    assert main(["eval", "arith.addf", "--input=2xbinary8p3se=1 2", "--input=2xbinary8p3se=1 0.25"]) == 0
    assert capfd.readouterr().out == "result[0]: 2xbinary8p3se=2 2\n"
