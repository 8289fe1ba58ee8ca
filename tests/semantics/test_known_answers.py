"""Answers worked out by hand from the rules of each op, through every implementation of halfulp.

Codes are written in hexadecimal, or built by the small functions below from fields, never by halfulp's own rounding.
"""

import struct
from dataclasses import dataclass

import pytest
from amounts import thinned
from op_implementations import Outcome, check


def f32(number: float) -> int:
    """Return the code of a number that f32 holds exactly."""
    code: int = struct.unpack("<I", struct.pack("<f", number))[0]
    assert struct.unpack("<f", struct.pack("<f", number))[0] == number
    return code


def f64(number: float) -> int:
    code: int = struct.unpack("<Q", struct.pack("<d", number))[0]
    return code


@dataclass(frozen=True)
class Answer:
    """An op, the element types of its operands and result, and rows of operand codes, each with its outcome last."""

    body: str
    operands: tuple[str, ...]
    result: str
    rows: tuple[tuple[Outcome, ...], ...]

    @property
    def name(self) -> str:
        return f"{self.body.format(*self.operands, r=self.result)}".replace("%", "")


TRUNC = "arith.truncf %a : {0} to {r}"
TRUNC_RZ = "arith.truncf %a toward_zero : {0} to {r}"
TRUNC_RD = "arith.truncf %a downward : {0} to {r}"
EXT = "arith.extf %a : {0} to {r}"
FN, E8M0 = "f8E4M3FN", "f8E8M0FNU"


def binary(name: str, flags: str = "") -> str:
    return f"arith.{name} %a, %b{flags} : {{0}}"


INF32 = 0x7F80_0000
# 2**128 overflows f32, so that it comes from f64.
ANSWERS = (
    # f32 to f8E4M3FN: 464 lies between 448 (the maximum) and 480, whose code is NaN's; the tie goes to the even 448.
    Answer(TRUNC, ("f32",), FN, ((f32(464.0), 0x7E), (f32(465.0), 0x7F), (f32(-465.0), 0xFF))),
    Answer(TRUNC_RZ, ("f32",), FN, ((f32(465.0), 0x7E), (f32(-465.0), 0xFE))),
    # 2**-6 is the smallest normal value; 0.0146484375 = 7.5 * 2**-9 is a tie between 7 and 8 of its steps.
    Answer(TRUNC, ("f32",), FN, ((f32(0.0146484375), 0x08), (f32(-0.0146484375), 0x88))),
    # 1.375 + 2.25 = 3.625, a tie between 3.5 (0x46) and 3.75 (0x47).
    Answer(binary("addf"), (FN, FN), FN, ((0x3B, 0x41, 0x46),)),
    Answer(TRUNC, ("f32",), "f4E2M1FN", ((f32(1.25), 0x2), (f32(2.5), 0x4), (f32(5.0), 0x6))),
    # f64 just above -432, the tie between -416 (0xFD) and -448 (0xFE): a detour through f32 would land on the tie.
    Answer(TRUNC, ("f64",), FN, ((f64(-431.99999999999994), 0xFD), (f64(-432.0), 0xFE))),
    Answer(binary("mulf"), ("bf16", "bf16"), "bf16", ((0x3F81, 0x3FC0, 0x3FC2),)),
    # f8E8M0FNU: the code is the exponent plus 127.
    Answer(
        TRUNC,
        ("f32",),
        E8M0,
        ((f32(1.5), 0x80), (f32(3.0), 0x81), (f32(0.0), 0x00), (f32(-0.0), 0x00), (f32(-1.0), 0xFF)),
    ),
    Answer(TRUNC, ("f64",), E8M0, ((f64(2.0**128), 0xFF),)),
    Answer(TRUNC_RZ, ("f64",), E8M0, ((f64(2.0**128), 0xFE),)),
    Answer(TRUNC_RD, ("f64",), E8M0, ((f64(2.0**128), 0xFE),)),
    Answer(EXT, (E8M0,), "f32", ((0x00, 0x0040_0000), (0xFF, 0x7FC0_0000))),
    Answer(EXT, ("f6E2M3FN",), "f8E5M2", ((0x09, 0x3C),)),
    Answer(EXT, ("f6E3M2FN",), "f8E3M4", ((0x1C, 0x70),)),
    # 32768 + 2**-24 in f16, upward: one step of 32 above.
    Answer(
        "arith.addf %a, %b upward : {0}", ("f16", "f16"), "f16", ((0x7800, 0x0001, 0x7801), (0xF800, 0x8001, 0xF800))
    ),
    Answer(
        binary("remf"),
        ("f32", "f32"),
        "f32",
        ((f32(7.0), f32(4.0), f32(3.0)), (f32(-4.0), f32(2.0), 0x8000_0000), (f32(-7.0), f32(4.0), f32(-3.0))),
    ),
    Answer("arith.sitofp %a : {0} to {r}", ("i32",), "f32", ((16777217, 0x4B80_0000),)),
    Answer("arith.fptosi %a : {0} to {r}", ("f32",), "i32", ((f32(3.5), 3), (f32(-3.5), 2**32 - 3))),
    Answer("arith.sitofp %a : {0} to {r}", ("i1",), "f32", ((1, f32(-1.0)), (0, 0))),
    Answer("arith.uitofp %a : {0} to {r}", ("i1",), "f32", ((1, f32(1.0)), (0, 0))),
    Answer(binary("divsi"), ("i1", "i1"), "i1", ((1, 1, "undefined"), (0, 1, 0))),
    Answer(binary("floordivsi"), ("i1", "i1"), "i1", ((1, 1, "undefined"), (0, 1, 0))),
    Answer(binary("ceildivsi"), ("i1", "i1"), "i1", ((1, 1, "undefined"), (0, 1, 0))),
    Answer(binary("divsi"), ("i8", "i8"), "i8", ((7, 0xFE, 0xFD),)),
    Answer(binary("floordivsi"), ("i8", "i8"), "i8", ((7, 0xFE, 0xFC),)),
    Answer(binary("ceildivsi"), ("i8", "i8"), "i8", ((7, 0xFE, 0xFD),)),
    Answer(binary("divui"), ("i8", "i8"), "i8", ((7, 0xFE, 0),)),
    Answer(binary("remsi"), ("i8", "i8"), "i8", ((7, 0xFE, 1), (0x80, 0xFF, 0))),
    Answer(binary("remui"), ("i8", "i8"), "i8", ((7, 0xFE, 7),)),
    Answer(binary("addi", " overflow<nsw>"), ("i8", "i8"), "i8", ((127, 1, "poison"), (127, 0xFF, 126))),
    Answer(binary("addi"), ("i8", "i8"), "i8", ((127, 1, 0x80),)),
    # Rules stated with numbers elsewhere: x87's invalid operands, NaN payloads, zeros, and each format's overflow.
    Answer(binary("addf"), ("f80", "f80"), "f80", ((0x3FFF_0000_0000_0000_0001, 0, 0x7FFF_C000_0000_0000_0000),)),
    Answer(binary("addf"), ("f80", "f80"), "f80", ((0x0000_8000_0000_0000_0000, 0, 0x0001_8000_0000_0000_0000),)),
    Answer(EXT, (FN,), "f32", ((0x7F, 0x7FF0_0000), (0xFF, 0xFFF0_0000), (0x80, 0x8000_0000))),
    Answer(EXT, ("f8E5M2",), "f32", ((0x7D, 0x7FE0_0000), (0x7C, INF32), (0xFC, 0xFF80_0000))),
    Answer(EXT, ("f8E4M3FNUZ",), "f32", ((0x80, 0x7FC0_0000),)),
    Answer(
        binary("subf"),
        ("f32", "f32"),
        "f32",
        (
            (f32(1.0), f32(1.0), 0),
            (0x8000_0000, 0x8000_0000, 0),
            (0x8000_0000, 0, 0x8000_0000),
            (INF32, INF32, 0x7FC0_0000),
            (f32(1.0), 0xFF80_0001, 0xFFC0_0001),  # the second operand's NaN keeps its sign
            (0x7F80_0002, 0x7FC0_0001, 0x7FC0_0002),  # the first NaN counts, a signalling one too
        ),
    ),
    Answer("arith.subf %a, %b downward : {0}", ("f32", "f32"), "f32", ((f32(1.0), f32(1.0), 0x8000_0000),)),
    Answer(
        binary("maxnumf"),
        ("f32", "f32"),
        "f32",
        (
            (0x7F80_0001, f32(1.0), f32(1.0)),
            (f32(1.0), 0xFFC0_0000, f32(1.0)),
            (0x7FC0_0001, 0xFF80_0002, 0xFFC0_0002),
            (0x8000_0000, 0, 0),
            (0, 0x8000_0000, 0),
        ),
    ),
    Answer(binary("minnumf"), ("f32", "f32"), "f32", ((0x8000_0000, 0, 0x8000_0000), (0, 0x8000_0000, 0x8000_0000))),
    Answer(
        binary("maximumf"),
        ("f32", "f32"),
        "f32",
        ((0x8000_0000, 0, 0), (0x7F80_0001, f32(1.0), 0x7FC0_0001), (f32(1.0), 0xFFC0_0003, 0xFFC0_0003)),
    ),
    Answer("arith.negf %a : {0}", ("f32",), "f32", ((0x7F80_0001, 0xFF80_0001), (0, 0x8000_0000))),
    Answer("arith.negf %a : {0}", ("f8E4M3FNUZ",), "f8E4M3FNUZ", ((0x80, 0x80), (0x00, 0x00), (0x08, 0x88))),
    Answer("arith.negf %a : {0}", (E8M0,), E8M0, ((0x00, 0xFF), (0x7F, 0xFF), (0xFF, 0xFF))),
    Answer(
        "arith.divf %a, %b : {0}",
        ("f4E2M1FN", "f4E2M1FN"),
        "f4E2M1FN",
        ((0x2, 0x0, 0x7), (0x2, 0x8, 0xF), (0x0, 0x0, "poison"), (0x8, 0x0, "poison")),
    ),
    Answer(binary("remf"), ("f4E2M1FN", "f4E2M1FN"), "f4E2M1FN", ((0x2, 0x0, "poison"), (0x7, 0x4, 0x0))),
    Answer(binary("divf"), (FN, FN), FN, ((0x38, 0x00, 0x7F), (0xB8, 0x00, 0xFF), (0x00, 0x00, 0x7F))),
    Answer(binary("remf"), (E8M0, E8M0), E8M0, ((0x80, 0x7F, 0x00), (0x7F, 0x80, 0x7F))),
    Answer("arith.flush_denormals %a : {0}", ("f32",), "f32", ((1, 0), (0x807F_FFFF, 0x8000_0000), (0x7F80_0001,) * 2)),
    Answer("arith.flush_denormals %a : {0}", ("f8E4M3FNUZ",), "f8E4M3FNUZ", ((0x81, 0x00), (0x07, 0x00))),
    Answer("arith.flush_denormals %a : {0}", (E8M0,), E8M0, ((0x00, 0x00), (0xFF, 0xFF))),
)


@pytest.mark.parametrize("answer", thinned(ANSWERS, 4), ids=lambda answer: answer.name)
def test_known_answer(answer: Answer) -> None:
    columns = [[row[k] for row in answer.rows] for k in range(len(answer.operands))]
    expected = [row[-1] for row in answer.rows]
    check(answer.body, answer.operands, (answer.result,), columns, expected)  # type: ignore[arg-type]
