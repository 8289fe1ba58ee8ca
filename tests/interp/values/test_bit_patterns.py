"""Values from single bit patterns, and back: `Value.from_bits` and `Value.bitstring`."""

import numpy as np
import pytest
from bitstring import BitArray, Bits
from tables import each_row

from halfulp.fp_formats.formats import FORMATS, codes_to_ints
from halfulp.interp.ir.errors import TypeMismatch, Unsupported
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin, Origins


@pytest.mark.parametrize("name", FORMATS)
def test_round_trips(name: str) -> None:
    fmt = FORMATS[name]
    step = max(1, fmt.code_mask // 255)
    patterns = [Bits(uint=code, length=fmt.bits) for code in range(0, fmt.code_mask + 1, step)]
    value = Value.from_bits(patterns, name)
    assert value.shape == (len(patterns),)
    assert [value.bitstring(k) for k in range(len(patterns))] == patterns
    assert value == Value.from_bits([f"0b{pattern.bin}" for pattern in patterns], name)
    sign, exponent, significand = fmt.fields(codes_to_ints(value.bits, fmt.bits)[-1])
    assert sign + exponent + significand == value.bitstring(-1)


@each_row(
        ("i1", "0b1"), ("i4", "0x9"), ("i6", "0x3F"), ("i64", "0x8000_0000_0000_0001"), ("i100", "0x8" + "0" * 24),
        ("index", "0x00000000000000ff"), ("!quant.uniform<i8:f32, 1.0>", "0xfe"),
    )  # fmt: skip
def test_scalars_of_other_types(spelling: str, pattern: str) -> None:
    value = Value.from_bits(pattern, spelling)
    assert value.shape == ()
    whole = value.bitstring()
    assert value == Value.from_bits(whole, spelling) == Value.from_bits(BitArray(whole), spelling)
    assert whole.bin[0] == ("0" if spelling == "index" else "1")


def test_a_width_of_zero() -> None:
    value = Value.from_bits(Bits(), "i0")
    assert value.bitstring() == Bits()


def test_shapes_and_indices() -> None:
    value = Value.from_bits([["0x7E", Bits("0x01")], [2, "0b0 0000 011"]], "f8E4M3FN")
    assert str(value.type) == "tensor<2x2xf8E4M3FN>"
    assert value.bits.tolist() == [[0x7E, 1], [2, 3]]
    assert value.bitstring(1, 0).hex == "02"
    assert Value.from_bits(["0x7E"] * 2, "vector<2xf8E4M3FN>").bitstring(1).hex == "7e"
    for index in ((), (1,), (0, 1, 0)):
        with pytest.raises(IndexError, match=f"a value of shape 2x2 takes 2 indices, not {len(index)}"):
            value.bitstring(*index)
    with pytest.raises(IndexError, match="out of bounds"):
        value.bitstring(0, 2)


@each_row(
    ("0x7", "bits: '0x7' is not a pattern of 8 bits, which has 2 hexadecimal digits"),
    ("0b111111111", "is not a pattern of 8 bits, which has 8 binary digits"),
    ("126", "bits: '126' is not a bit pattern: write all bits as 0b… or as 0x…"),
    ([1, "1.5"], "bits: '1.5' is not a bit pattern"),
    (Bits("0x123"), "has 12 bits, but 8 are needed"),
    (np.array(["0x7e"]), "integers"),
)
def test_wrong_patterns(bits: object, message: str) -> None:
    with pytest.raises(TypeMismatch, match=message):
        Value.from_bits(bits, "f8E4M3FN")  # type: ignore[arg-type]


def test_poison_has_no_bits() -> None:
    origins = Origins()
    ids = np.array([0, origins.id_of(Origin("arith.addi", "here", "signed overflow"))], np.uint16)
    value = Value(as_type("tensor<2xi8>"), np.array([5, 6], np.uint8), ids, None, origins)
    assert value.bitstring(0).uint == 5
    with pytest.raises(ValueError, match=r"^the element is poison: .*signed overflow"):
        value.bitstring(1)


def test_elements_without_bits() -> None:
    value = Value(as_type("complex<f32>"), np.zeros(2, np.uint32))
    with pytest.raises(Unsupported, match="'complex<f32>' has no bit pattern"):
        value.bitstring()
