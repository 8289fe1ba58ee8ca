"""Vectors as text: the written form, other spellings that are read, and the line of an error."""

from __future__ import annotations

import json

import pytest
from vector_files import ADDF, FPTOSI, SUMS, read, text_of

from halfulp.conformance.vectors.columns import (
    Column,
    Role,
    columns_to_text,
)
from halfulp.conformance.vectors.formats.text import BLOCK
from halfulp.interp.ir.errors import InputError


def test_testfloat_is_what_its_consumers_read() -> None:
    assert text_of(ADDF, SUMS, "testfloat") == "38 40 44 00\n7E 7E 7F 05\n"
    f80 = (Column("a", 80, "f80", Role.OPERAND), Column("result", 1, "i1", Role.RESULT))
    assert text_of(f80, [(0x3FFF << 64 | 1 << 63, 1)], "testfloat") == "3FFF8000000000000000 1\n"


def test_a_line_of_testfloat_itself_is_read() -> None:
    f32 = tuple(
        Column(name, 32, "f32", role)
        for name, role in (("a", Role.OPERAND), ("b", Role.OPERAND), ("result", Role.RESULT))
    )
    assert read("8683F7FF C07F3FFF C07F3FFF 01\n", "testfloat", (*f32, ADDF[3])) == [
        (0x8683F7FF, 0xC07F3FFF, 0xC07F3FFF, 1)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "38 40 44 00\r\n7E 7E 7F 05\r\n",
        "38 40 44 00\n7e 7e 7f 05",
        "38\t40  44 0\n\n7E 7E 7F 5\n",
        "\n038 40 44 00\n7E 7E 7F 05",
    ],
)
def test_other_spellings_of_the_same_lines_are_read(text: str) -> None:
    assert read(text, "testfloat", ADDF) == SUMS


def test_readmemh_is_one_word_per_line_with_x_where_no_bit_counts() -> None:
    rows = [(0x3C00, 0x0F5, 0, 0), (0x7C00, 0x123, 1, 0), (0x4000, 0x5A3, 0, 0x0F1)]
    text = text_of(FPTOSI, rows, "readmemh")
    comments = [line for line in text.splitlines() if line.startswith("//")]
    assert comments[0] == f"// halfulp-columns: {columns_to_text(FPTOSI)}"
    assert comments[1:] == [
        "// [43:28] a, f16 operand",
        "// [27:16] result, i12 result",
        "// [12:12] poison, i1 poison",
        "// [11:0] open, i12 open",
    ]
    assert text.splitlines()[5:] == ["3C000F50000", "7C00XXX1000", "40005X300F1"]
    assert read(text, "readmemh", None) == [(0x3C00, 0x0F5, 0, 0), (0x7C00, 0, 1, 0), (0x4000, 0x503, 0, 0x0F1)]
    assert read(text.lower(), "readmemh", FPTOSI) == read(text, "readmemh", FPTOSI)


def test_readmemh_reads_what_verilog_allows() -> None:
    text = "// mine\n@100 38_40_44_00\n/* here */ @101\n7e7e7F05 // last\n"
    assert read(text, "readmemh", ADDF) == SUMS


def test_x_is_read_where_no_bit_counts_in_any_spelling() -> None:
    assert read("7C00_xXx_1_000 4000_5X3_0_0F1\n", "readmemh", FPTOSI) == [(0x7C00, 0, 1, 0), (0x4000, 0x503, 0, 0x0F1)]
    for word in ("4000_XX3_0_0F1", "4000_5X3_0_0E1", "40X0_5X3_0_0F1", "4000XX300F1", "40005X300E1", "40X05X300F1"):
        with pytest.raises(InputError, match=":2:1: error: "):
            read(f"3C000F50000\n{word}\n", "readmemh", FPTOSI)


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        ("38404400\n7E7E7FX5\n", 2, "'X5' is not a code of 5 bits"),
        ("38404400\n7E7EXX05\n", 2, "'result' has an X, but is neither poison nor unspecified there"),
        ("38404400\n7E7E7F20\n", 2, "'20' is not a code of 5 bits in hexadecimal, for 'flags'"),
        ("38404400\n\n@3\n", 3, "address 3 where 1 is next"),
        ("@zz\n", 1, "zz"),
        ("138404400\n", 1, "a word has 8 digits, not 9"),
        ("38404400\n-1\n", 2, "is not a code"),
    ],
)
def test_readmemh_names_the_first_bad_line(text: str, line: int, complaint: str) -> None:
    with pytest.raises(InputError, match=f"dut.hex:{line}:1: error: .*{complaint}"):
        read(text, "readmemh", ADDF, file="dut.hex")


@pytest.mark.parametrize(
    "bad", ["38 40 44", "38 40 44 00 00", "3G 40 44 00", "38 40 144 00", "38,40 44 00", "38 40 44 20", "0x38 40 44 00"]
)
@pytest.mark.parametrize("row", [0, 1, 999, BLOCK, BLOCK + 5])
def test_a_bad_line_among_good_ones_is_found(bad: str, row: int) -> None:
    lines = ["38 40 44 00"] * (BLOCK + 10)
    lines[row] = bad
    with pytest.raises(InputError, match=f"<vectors>:{row + 1}:1: error: "):
        read("\n".join(lines), "testfloat", ADDF)


def test_an_endless_line_is_refused() -> None:
    with pytest.raises(InputError, match=":1:1: error: the line is longer than"):
        read("0" * (1 << 22), "testfloat", ADDF)


def test_coe_is_what_memory_generators_read() -> None:
    text = text_of(ADDF, SUMS, "coe")
    body = [line for line in text.splitlines() if not line.startswith("; ")]
    assert body == ["memory_initialization_radix=16;", "memory_initialization_vector=", "38404400,", "7E7E7F05;"]
    spaced = "memory_initialization_radix = 16;\nmemory_initialization_vector = 38404400, 7E7E7F05;"
    assert read(spaced, "coe", ADDF) == SUMS
    for wrong in (
        spaced.replace("16", "2"),
        spaced.replace("vector", "victor"),
        spaced + "\n00000000",
        "what\n",
        spaced[:-1],
    ):
        with pytest.raises(InputError, match="<vectors>:[1-4]:1: error"):
            read(wrong, "coe", ADDF)


def test_csv_and_jsonl_are_for_people() -> None:
    assert text_of(ADDF, SUMS, "csv") == "a,b,result,flags\n0x38,0x40,0x44,0x00\n0x7E,0x7E,0x7F,0x05\n"
    lines = text_of(ADDF, SUMS, "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == [
        {"a": "0x38", "b": "0x40", "result": "0x44", "flags": "0x00"},
        {"a": "0x7E", "b": "0x7E", "result": "0x7F", "flags": "0x05"},
    ]
    assert read('result,"note",flags,b,a\n44,x,0,40,38\n0x7F, ,5,7E,7E\n', "csv", ADDF) == SUMS
    mine = '{"b": 64, "a": "38", "flags": 0, "result": "0x44", "note": null}\n{"a":126,"b":126,"result":127,"flags":5}'
    assert read(mine, "jsonl", ADDF) == SUMS
    for name, text in (
        ("csv", "a,b,flags\n1,2,3\n"), ("csv", "a,b,result,flags\n1,2,3\n"), ("csv", "a,b,result,flags\n1,2,3,x\n"),
        ("jsonl", "[]"), ("jsonl", "{"), ("jsonl", '{"a": 1}'), ("jsonl", '{"a":1,"b":true,"result":1,"flags":1}'),
        ("jsonl", '{"a":-1,"b":1,"result":1,"flags":1}'), ("jsonl", "[" * 100000),
    ):  # fmt: skip
        with pytest.raises(InputError, match="<vectors>:[12]:1: error"):
            read(text, name, ADDF)


@pytest.mark.parametrize(("name", "row"), [("c", "    {0x7E"), ("sv", "    `HALFULP_ROW(32'h00000001")])
def test_a_source_file_that_is_cut_or_changed_is_noticed(name: str, row: str) -> None:
    text = text_of(ADDF, SUMS, name)
    assert read(text, name, None) == SUMS
    assert row in text
    lines = text.splitlines(keepends=True)
    at = next(k for k, line in enumerate(lines) if line.startswith(row))
    for wrong in (
        "".join(lines[: at + 1]), "".join(lines[:at]) + lines[at][:-4], "".join(lines[:at] + lines[at + 1 :]),
        text.replace("7F, ", "").replace("8'h7F, ", ""), text.replace("7F", "7G"),
    ):  # fmt: skip
        with pytest.raises(InputError):
            read(wrong, name, None)
