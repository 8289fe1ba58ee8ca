"""``halfulp formats``: the table of formats, and one format."""

from __future__ import annotations

import pytest
from command_calls import Command

from halfulp.fp_formats.formats import FORMATS


def test_the_table_of_formats(command: Command) -> None:
    code, out, err = command("formats")
    assert (code, err) == (0, "")
    header, *rows = out.splitlines()
    assert header.split()[:6] == ["name", "bits", "sign", "exponent", "mantissa", "bias"]
    assert [row.split()[0] for row in rows] == list(FORMATS)
    cells = {row.split()[0]: row.split() for row in rows}
    assert cells["f8E4M3FN"] == [
        *("f8E4M3FN", "8", "1", "4", "3", "7", "no", "all", "ones", "±0", "-6", "8"),
        *("448", "0.015625", "0.001953125"),
    ]
    assert cells["f8E8M0FNU"][2] == "0"
    assert cells["f8E8M0FNU"][-1] == "none"


@pytest.mark.parametrize("name", FORMATS)
def test_one_format(name: str, command: Command) -> None:
    code, out, err = command("formats", name)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["name", name]
    bits = FORMATS[name].bits
    codes = [line.split()[0] for line in lines if line.startswith("0x")]
    digits = -(-bits // 4)
    assert codes == ([f"0x{code:0{digits}X}" for code in range(1 << bits)] if bits <= 8 else [])


def test_values_of_a_format(command: Command) -> None:
    _, out, _ = command("formats", "f4E2M1FN")
    values = [line.split()[-1] for line in out.splitlines() if line.startswith("0x")]
    positive = ["0", "0.5", "1", "1.5", "2", "3", "4", "6"]
    assert values == positive + [f"-{x}" for x in positive]


def test_an_unknown_format(command: Command) -> None:
    code, out, err = command("formats", "f9")
    assert (code, out) == (2, "")
    assert "unknown float format 'f9'; the float types are f4E2M1FN, " in err
