"""``halfulp formats``: the table of formats, and one format."""

from pathlib import Path

import pytest
from amounts import thinned
from command import Command

import halfulp as hu
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.paths import disk


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


@pytest.mark.parametrize("name", thinned(FORMATS, 3))
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


def test_a_format_as_mlir_spells_it(command: Command) -> None:
    code, out, _ = command("formats", '!halfulp.float<"f16E6M9", exponent = 6, mantissa = 9, bias = 31>')
    assert code == 0
    cells = dict(line.rsplit(maxsplit=1) for line in out.splitlines())
    # (2 - 2^-9) * 2^31, and 2^-30: the table has 14 digits at most.
    assert cells["max"] == str((2**10 - 1) * 2**22)
    assert (cells["bits"], cells["emin"]) == ("16", "-30")
    assert command("formats", "!llvm.ptr") == (2, "", "error: <type>: !llvm.ptr is not a float type\n")
    code, _, err = command("formats", '!halfulp.float<"x">')
    assert code == 2
    assert "no float format is named 'x'" in err


def test_names_of_fields_are_spelled_as_a_type(command: Command) -> None:
    _, _, err = command("formats", "E6M9")
    own = '!halfulp.float<"E6M9", exponent = 6, mantissa = 9, bias = 31>'
    assert f"unknown float format 'E6M9'; a format of your own is {own}; the float types" in err
    assert command("formats", own)[0] == 0


def test_an_unknown_format(command: Command) -> None:
    code, out, err = command("formats", "f9")
    assert (code, out) == (2, "")
    assert "unknown float format 'f9'; the float types are f4E2M1FN, " in err


def test_names_that_people_type(command: Command) -> None:
    assert command("formats", "float8_e5m2") == command("formats", "f8E5M2")
    code, out, err = command("formats", "e4m3")
    assert (code, out) == (2, "")
    assert 'write "f8E4M3FN" (OCP, torch, NVIDIA' in err


def test_options_take_the_same_names(command: Command) -> None:
    named = command("eval", "arith.truncf", "--input=2xfloat32=1.01,2", "--to=bfloat16", "--attr=rounding=RU")
    assert named == command("eval", "arith.truncf", "--input=2xf32=1.01,2", "--to=bf16", "--attr=rounding=upward")
    assert named[:2] == (0, "result[0]: 2xbf16=1.016 2\n")  # 1.015625; to nearest even 1.0078125
    assert command("explain", "0.3", "bfloat16", "--rounding=RD") == command(
        "explain", "0.3", "bf16", "--rounding=downward"
    )
    vectors = command("vectors", "make", "arith.addf", "--type=bfloat16", "--rounding=RZ", "-n", "3")
    assert vectors == command("vectors", "make", "arith.addf", "--type=bf16", "--rounding=toward_zero", "-n", "3")
    assert vectors[0] == 0
    for words in (
        ("explain", "0.3", "fp8"),
        ("eval", "arith.negf", "--input=fp8=1"),
        ("vectors", "make", "arith.negf", "--type=fp8"),
    ):
        code, _, err = command(*words)
        assert code == 2
        assert "'fp8' may mean several types" in err


def test_mlir_text_has_only_the_names_of_mlir() -> None:
    for name in ("bfloat16", "float32", "E5M2", "F32"):
        with pytest.raises(hu.errors.ParseError):
            hu.parse(f"func.func @f(%x: {name}) -> {name} {{ return %x : {name} }}")
        with pytest.raises(hu.errors.ParseError):
            hu.convert(1.0, f"vector<{name}>")


# --- cache ------------------------------------------------------------------------------------------------------------
#
# ``halfulp cache``: the folder, its size, and clearing it.


def test_the_cache_is_shown_and_cleared(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(disk.FOLDER, str(tmp_path))
    monkeypatch.setenv(disk.LIMIT, "1M")
    (tmp_path / "notes.txt").write_text("not a file of the cache")
    disk.store("key", bytes(1000))
    (kept,) = disk.files(tmp_path)
    lines = [f"folder  {tmp_path}", "files   1", f"size    {kept.size:,} bytes", "limit   1,048,576 bytes"]
    assert command("cache") == (0, "\n".join(lines) + "\n", "")
    lines[1:3] = ["files   0", "size    0 bytes"]
    assert command("cache", "--clear") == (0, "\n".join(lines) + "\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_cache_that_is_off_is_no_error(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(disk.FOLDER, "off")
    assert command("cache") == (0, "the cache is off: HALFULP_CACHE says so, or there is no home folder\n", "")


def test_a_wrong_limit_is_an_error_of_use(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(disk.LIMIT, "lots")
    code, out, err = command("formats")
    assert (code, out) == (2, "")
    assert err == "error: HALFULP_CACHE_SIZE is 'lots', but must be a size in bytes, such as 500M or 2G\n"
