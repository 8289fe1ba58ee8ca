"""`hu.convert` of single bit patterns."""

import subprocess
import sys

import pytest
from bitstring import BitArray, Bits
from tables import each_row

import halfulp as hu


def test_bits_are_converted_from_their_type() -> None:
    for bits in (Bits("0x7e"), BitArray("0b01111110")):
        found = hu.convert(bits, to="f32", type="f8E4M3FN")
        assert found == hu.Value.from_bits(0x43E00000, "f32")  # 448
        assert found.bitstring().hex == "43e00000"
    assert hu.convert(Bits("0xff"), to="f32", type="i8").item() == -1.0
    assert hu.convert(Bits("0x3fff8000000000000000"), to="f16", type="f80").bitstring().hex == "3c00"
    nan = hu.convert(Bits("0x7f"), to="f4E2M1FN", type="f8E4M3FN")
    with pytest.raises(ValueError, match="the element is poison: .*NaN"):
        nan.bitstring()


@each_row(
    (Bits("0x7e"), None, "bitstring.Bits do not say their type"),
    (Bits("0x7e"), "f16", "bits: .* has 8 bits, but 16 are needed"),
    ("0x7e", "f8E4M3FN", "bits are given by hu.Value.from_bits"),
    ("0x7e", None, "bits are given by hu.Value.from_bits"),
)
def test_what_is_refused(x: object, type_: str | None, message: str) -> None:
    with pytest.raises(hu.TypeMismatch, match=message):
        hu.convert(x, to="f32", type=type_)


def test_bitstring_is_loaded_when_it_is_used() -> None:
    script = (
        "import sys, halfulp as hu\n"
        "x = hu.eval('arith.addf', hu.convert(1.5, 'f8E4M3FN'), hu.Value.from_bits('0x38', 'f8E4M3FN'))\n"
        "print('bitstring' in sys.modules, x.bitstring().hex, 'bitstring' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "42", "True"]
