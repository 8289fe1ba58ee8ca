"""The README says what is true: its Python and its commands give the outputs shown, its tables are those of the code."""

from __future__ import annotations

import contextlib
import io
import re
import shlex

import pytest
from tree import ROOT

from halfulp import cli
from halfulp.fp_formats.formats import FORMATS, FloatFormat, NanEncoding
from halfulp.semantics.profile import PROFILES, profile_choices

README = (ROOT / "README.md").read_text(encoding="utf-8")


def table_after(heading: str) -> list[list[str]]:
    """The rows of the first table under a heading, without its head."""
    section = README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


NAN = {
    NanEncoding.IEEE: "IEEE",
    NanEncoding.ALL_ONES: "all ones",
    NanEncoding.NEGATIVE_ZERO: "0x80 only",
    NanEncoding.NONE: "none",
}


def row_of(fmt: FloatFormat) -> list[str]:
    zero = "none" if not fmt.zero else "±0" if fmt.has_negative_zero else "+0"
    fields = [fmt.bits, int(fmt.signed), fmt.exponent_bits, fmt.mantissa_bits, fmt.bias]
    return [
        fmt.name,
        *map(str, fields),
        "yes" if fmt.infinities else "no",
        NAN[fmt.nan],
        zero,
        f"{fmt.emin} / {fmt.emax}",
        f"`0x{fmt.max_code:X}`",
    ]


def test_the_format_table_is_that_of_the_code() -> None:
    assert table_after("Float formats") == [row_of(fmt) for fmt in FORMATS.values()]


def test_the_profile_table_is_that_of_the_code() -> None:
    expected = []
    for field, choices in profile_choices().items():
        values = [getattr(profile, field) for profile in PROFILES.values()]
        others = [choice for choice in choices if choice not in values]
        expected.append([f"`{field}`", *values, ", ".join(others)])
    assert table_after("Profiles") == expected
    head = README.partition("\n| field |")[2].partition("\n")[0]
    assert [cell.strip() for cell in head.strip(" |").split("|")][:-1] == list(PROFILES)


EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize(("code", "printed"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_python_examples_print_what_they_say(code: str, printed: str) -> None:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, "README.md", "exec"), {})
    assert output.getvalue() == printed


COMMANDS = re.findall(r"^\$ halfulp (.*)\n((?:(?!\$|```).*\n)*)", README, re.MULTILINE)


@pytest.mark.parametrize(("command", "printed"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_the_commands_print_what_they_say(
    command: str, printed: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    code = cli.main(shlex.split(command))
    captured = capsys.readouterr()
    assert captured.out + captured.err.partition("\nnote")[0] == printed
    assert code == (4 if "undefined" in printed else 1 if " different" in printed or ": expected " in printed else 0)


def test_the_commands_were_found() -> None:
    assert len(COMMANDS) >= 3
