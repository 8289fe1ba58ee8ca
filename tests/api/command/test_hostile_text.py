"""Names, locations and words that would command a terminal, on stdout and stderr of each command."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from amounts import amounts
from command import Command

import halfulp as hu

RAW = "\x1b[31m\x07\r\u202e\u2066\x9b"
"""A colour, a bell, a carriage return, text from right to left, and a control of eight bits."""
SPELLED = r"\1B[31m\07\0D\E2\80\AE\E2\81\A6\C2\9B"
"""The same in a string of MLIR."""
COMMANDING = set(RAW) - set("[31m")

HOSTILE = f"""\
#l = loc("{SPELLED}":1:2)
#n = loc("{SPELLED}"(#l))
func.func @"{SPELLED}"(%a: f32 loc(#l)) -> f32 attributes {{a = "{SPELLED}"}} {{
  %0 = arith.addf %a, %a {{note = "{SPELLED}"}} : f32 loc(#n)
  return %0 : f32 loc(#l)
}} loc(#n)
"""
FILES = {
    "a.mlir": HOSTILE,
    "b.mlir": HOSTILE.replace("addf", "mulf"),
    f"{RAW}.mlir": HOSTILE,
    "assert.mlir": f'func.func @f(%a: i1) {{\n  cf.assert %a, "{SPELLED}" loc("{SPELLED}":1:1)\n  return\n}}\n',
    "unknown.mlir": f'func.func @f(%a: f32) -> f32 {{\n  %0 = "x.{RAW}"(%a) : (f32) -> f32 loc("{SPELLED}":3:3)\n'
    "  return %0 : f32\n}\n",
    "callee.mlir": f'func.func private @"{SPELLED}"(f32) -> f32\nfunc.func @f(%a: f32) -> f32 {{\n'
    f'  %0 = call @"{SPELLED}"(%a) : (f32) -> f32\n  return %0 : f32\n}}\n',
    "raw.mlir": f"func.func @f(%a: f32) -> f32 {{\n  %0 = arith.addf %a, %b : f32 // {RAW}\n  return %0 : f32\n}}\n",
    "poison.mlir": "func.func @f(%a: i8) -> i8 {\n  %c = arith.constant 9 : i8\n"
    f'  %0 = arith.shli %a, %c : i8 loc("{SPELLED}"("{SPELLED}":1:1))\n  return %0 : i8\n}}\n',
    "divides.mlir": "func.func @f(%a: i8) -> i8 {\n  %c = arith.constant 0 : i8\n"
    f'  %0 = arith.divsi %a, %c : i8 loc("{SPELLED}"("{SPELLED}":1:1))\n  return %0 : i8\n}}\n',
}


def calls() -> Iterator[list[str]]:
    """Yield calls of all commands with hostile programs, files and words."""
    for file in FILES:
        for more in (
            ["--input=1"],
            ["--trace", "--input=1"],
            ["--input=1", "--diagnostics=json"],
            [f"--function={RAW}"],
        ):
            yield ["run", file, *more]
        yield from (["diff", file, "b.mlir"], ["diff", file, file], ["diff", file, "b.mlir", "--github"])
        yield from (["bisect", file, "b.mlir"], ["explain", "error", file, "--input=0.1"])
        yield from (["sensitivity", file, "--input=0.1"], ["translate", file], ["translate", file, "--debug-info"])
        yield from (
            ["translate", "--summary", file],
            ["reduce", file, "--test=/bin/true"],
            ["iree", "workgroups", file],
        )
        yield from (["iree", "constraints", file], ["vectors", "make", file, "-n3"], ["vectors", "check", file])
        yield ["vectors", "sweep", file, f"--out={RAW}", "-n3", "--workers=1"]
    for word in (RAW, f"--{RAW}"):
        yield [word]
        yield from ([command, word] for command in ("run", "eval", "explain", "formats", "verify", "diff", "cache"))
        yield from (
            ["verify", "--ulp", word],
            ["explain", "0.1", word],
            ["explain", word, "f32"],
            ["fuzz", "--pass", word],
        )
        yield ["vectors", "make", "arith.addf", "--type=f16", f"--name={word}"]
    yield ["eval", "arith.addf", f"--input=f32={RAW}", "--input=f32=1"]
    yield ["run", "a.mlir", "--input=1", f"--profile={RAW}"]


@pytest.mark.parametrize("step", amounts(13, long=1))
def test_no_text_commands_a_terminal(
    step: int, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8", newline="")
    for words in list(calls())[::step]:
        code, out, err = command(*words)
        assert code in range(5), (words, err)
        assert not COMMANDING & set(out + err), (words, out, err)


def test_what_a_program_prints(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal gets no command of a program. A pipe gets the bytes that MLIR's runner writes."""
    program = 'func.func @f() {\n  vector.print str "\\1B[31m"\n  return\n}\n'
    hu.run(program)
    assert capsys.readouterr().out.rstrip() == "\x1b[31m"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    hu.run(program)
    assert capsys.readouterr().out.rstrip() == r"\x1b[31m"
