"""halfulp.stochastic_round: random bits that a program has as an operand."""

from __future__ import annotations

import numpy as np
import pytest

import halfulp as hu
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import FloatPolicy, Rounding

PROGRAM = """
func.func @main(%x: tensor<?xf16>, %r: tensor<?xi3>, %y: f64, %s: i64) -> (tensor<?xf8E4M3FN>, f8E5M2) {
  %a = halfulp.stochastic_round %x, %r : tensor<?xf16>, tensor<?xi3> to tensor<?xf8E4M3FN>
  %b = halfulp.stochastic_round %y, %s : f64, i64 to f8E5M2
  return %a, %b : tensor<?xf8E4M3FN>, f8E5M2
}
"""


@pytest.mark.parametrize("how", ["text", "generic", "bytecode"])
@pytest.mark.parametrize("rule", ["less", "p3109_a", "p3109_b", "p3109_c"])
def test_every_number_with_every_bits(rule: str, how: str) -> None:
    module = hu.load(PROGRAM)
    if how != "text":
        module = hu.load(hu.write_bytecode(module) if how == "bytecode" else hu.print_module(module, generic=True))
    assert "halfulp.stochastic_round %arg0, %arg1 : tensor<?xf16>, tensor<?xi3> to" in hu.print_module(module)
    x = np.arange(0, 1 << 16, 97, dtype=np.uint16)
    codes, bits = np.repeat(x, 8), np.tile(np.arange(8, dtype=np.uint8), x.size)
    given = hu.Value.from_bits(codes, "f16"), hu.Value.from_bits(bits, "i3")
    found, one = hu.run(module, *given, 1.1, 5, profile=f"spec,stochastic={rule}")
    policy = FloatPolicy(stochastic=rule)
    f16, f8 = FORMATS["f16"], FORMATS["f8E4M3FN"]
    for index in range(0, codes.size, 7):
        random = (int(bits[index]), 3)
        expected = scalar.convert(f16, f8, int(codes[index]), Rounding.STOCHASTIC, policy, random)
        assert int(found.bits[index]) == expected.code
    # 1.1 is 2/5 of the way from 1 to 1.25: 5 of 2^64 is below it, and no rule but "less" rounds up for small bits.
    assert one.item() == (1.25 if rule == "less" else 1.0)


def test_bits_decide_exactly() -> None:
    # Halfway between two values of f16; 128 of the 256 numbers are less than 1/2 of 256.
    text = """
    func.func @main(%x: f32, %r: i8) -> f16 {
      %a = halfulp.stochastic_round %x, %r : f32, i8 to f16
      return %a : f16
    }"""
    (found,) = hu.run(text, np.float32(1 + 2**-11), np.arange(256, dtype=np.uint8), batch=True)
    assert found.bits.tolist() == [0x3C01] * 128 + [0x3C00] * 128


ERRORS = {
    "%x, %r : f32, i65 to f16": "takes 1 to 64 random bits for each element, but has 65",
    "%x, %r : f32, i0 to f16": "takes 1 to 64 random bits",
    "%x, %r : f32, vector<3xi8> to f16": "requires|non-scalar",
    "%x, %r : tensor<3xf32>, tensor<4xi8> to tensor<3xf16>": "same shape",
    "%x, %r : f32, f32 to f16": "signless-fixed-width-integer-like",
    "%x, %r : f32, index to f16": "signless-fixed-width-integer-like",
}


@pytest.mark.parametrize("types", ERRORS)
def test_errors(types: str) -> None:
    given, result = types.split(" : ")[1].split(" to ")
    one, other = given.split(", ")
    with pytest.raises(hu.VerifyError, match=ERRORS[types]):
        hu.load(f"""func.func @main(%x: {one}, %r: {other}) -> {result} {{
          %a = halfulp.stochastic_round {types}
          return %a : {result}
        }}""")
