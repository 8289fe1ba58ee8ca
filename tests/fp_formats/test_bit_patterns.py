"""Single bit patterns as `bitstring.Bits`: fields of codes, and patterns to codes."""

import random
from typing import Any

import pytest
from amounts import amounts, thinned
from bitstring import BitArray, Bits

from halfulp.fp_formats.formats import (
    FORMATS,
    FloatFormat,
    NanEncoding,
    bits_of,
    code_of,
    integers_of,
    is_bit_pattern,
    is_bits,
)
from halfulp.fp_formats.spelling import bit_fields, bits_text, hex_text, split_bits

USERS = (
    FloatFormat("unsigned IEEE", 3, 2, 3, signed=False),
    FloatFormat("no fraction", 3, 0, 3, infinities=False, nan=NanEncoding.NONE),
    FloatFormat("integer bit", 11, 60, 1023, explicit_integer_bit=True),
    FloatFormat("widest", 15, 112, 16383),
)


def codes(fmt: FloatFormat, width: int = 16) -> Any:
    """Return all codes of up to ``width`` bits; of longer ones the ends, single bits and random ones."""
    if fmt.bits <= width:
        return range(1 << fmt.bits)
    rng = random.Random(fmt.name)
    ones = [1 << place for place in range(fmt.bits)]
    return [0, fmt.code_mask, *ones, *(rng.getrandbits(fmt.bits) for _ in range(1000))]


@pytest.mark.parametrize("fmt", [*FORMATS.values(), *USERS], ids=str)
@pytest.mark.parametrize("width", amounts(12, long=16))
def test_round_trips(fmt: FloatFormat, width: int) -> None:
    for code in codes(fmt, width):
        sign, exponent, significand = fmt.fields(code)
        assert code_of(sign + exponent + significand, fmt.bits) == code


@pytest.mark.parametrize("fmt", thinned([*FORMATS.values(), *USERS], 3), ids=str)
def test_widths_and_spellings(fmt: FloatFormat) -> None:
    for code in codes(fmt)[:: 1 if fmt.bits <= 8 else 97]:
        sign, exponent, significand = fmt.fields(code)
        assert (len(sign), len(exponent)) == (fmt.signed, fmt.exponent_bits)
        assert len(significand) == fmt.mantissa_bits + fmt.explicit_integer_bit
        assert sign + exponent + significand == bits_of(code, fmt.bits)
        assert code_of(f"0b{code:0{fmt.bits}b}", fmt.bits) == code
        assert code_of(hex_text(fmt, code), fmt.bits) == code
        assert code_of(f"0b {bits_text(fmt, code)}", fmt.bits) == code
        assert {name: len(digits) for name, digits in split_bits(fmt, code).items()} == bit_fields(fmt)


def test_fields_by_hand() -> None:
    sign, exponent, significand = FORMATS["f8E4M3FN"].fields(0xAA)
    assert (sign.bin, exponent.bin, significand.bin) == ("1", "0101", "010")
    assert (exponent.uint, significand.uint) == (5, 2)
    # 1.5 in x87's format: the integer bit is the first of the significand.
    sign, exponent, significand = FORMATS["f80"].fields(0x3FFF_C000_0000_0000_0000)
    assert (sign.bin, exponent.hex if len(exponent) % 4 == 0 else exponent.uint) == ("0", 16383)
    assert significand.hex.upper() == "C" + "0" * 15
    sign, exponent, significand = FORMATS["f8E8M0FNU"].fields(0x80)
    assert (len(sign), exponent.hex, len(significand)) == (0, "80", 0)


def test_what_is_a_pattern() -> None:
    assert is_bits(Bits("0b1"))
    assert is_bits(BitArray("0b1"))
    assert is_bit_pattern("0b1")
    assert not any(map(is_bit_pattern, (1, b"0b1", [Bits("0b1")], None)))
    assert not is_bits("0b1")
    assert code_of(BitArray("0x7e"), 8) == 0x7E
    assert code_of("0B0_0111 010", 8) == 0x3A
    assert code_of("0x3f", 6) == 0x3F
    assert code_of(Bits(), 0) == 0


@pytest.mark.parametrize(
    ("pattern", "width", "message"),
    [
        (Bits("0x7e"), 6, r"^Bits\('0x7e'\) has 8 bits, but 6 are needed$"),
        (Bits(), 8, "has 0 bits, but 8 are needed"),
        ("0b0111", 8, "^'0b0111' is not a pattern of 8 bits, which has 8 binary digits$"),
        ("0b011110000", 8, "is not a pattern of 8 bits"),
        ("0x7", 8, "^'0x7' is not a pattern of 8 bits, which has 2 hexadecimal digits$"),
        ("0x40", 6, "is not a pattern of 6 bits, which has 2 hexadecimal digits"),
        ("0b012", 3, "^'0b012' is not a bit pattern: write all bits as 0b… or as 0x…$"),
        ("0xg0", 8, "is not a bit pattern"),
        ("0b", 0, "is not a bit pattern"),
        ("0b-1", 2, "is not a bit pattern"),
        ("0o17", 4, "is not a bit pattern"),
        ("1.5", 8, "is not a bit pattern"),
        ("", 8, "is not a bit pattern"),
        ("0b\u0661", 1, "is not a bit pattern"),
    ],
)
def test_wrong_patterns(pattern: Bits | str, width: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        code_of(pattern, width)


def test_patterns_in_lists() -> None:
    assert integers_of([Bits("0x7e"), ["0b00000001", 2], (3,)], 8) == [0x7E, [1, 2], [3]]
    assert integers_of(5, 8) == 5
    with pytest.raises(ValueError, match="is not a pattern of 8 bits"):
        integers_of([1, ["0b1"]], 8)


@pytest.mark.parametrize("code", [-1, 256])
def test_fields_of_what_is_not_a_code(code: int) -> None:
    with pytest.raises(ValueError, match=f"^{code} is not a code of 8 bits: those are 0 to 0xff$"):
        FORMATS["f8E4M3"].fields(code)
