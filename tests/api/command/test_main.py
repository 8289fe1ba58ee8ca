"""The command line as a whole: usage, help, imports, broken pipes, errors of its own."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import PATIENCE, Command, halfulp
from tree import ROOT

import halfulp as hu
from halfulp.command.execution import DiagnosticsChecker, error_record, expectations
from halfulp.command.main import COMMANDS, NOW
from halfulp.interp.ir.base import FileLineCol
from halfulp.interp.ir.errors import HalfulpError, ParseError

EXAMPLES = ROOT / "examples"
ADD = str(EXAMPLES / "f8_add.mlir")


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["run"], ["run", "--nonsense", "x"], ["--nonsense"]])
def test_usage_errors(arguments: list[str], command: Command) -> None:
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("usage: halfulp")


def test_former_names_are_answered_with_the_new_ones(command: Command) -> None:
    assert command("check-vectors", "a.tv") == (2, "", "error: halfulp check-vectors is now: halfulp vectors check\n")
    assert command("vectors", "arith.addf") == (2, "", "error: halfulp vectors is now: halfulp vectors make\n")
    for name, new in NOW.items():
        assert command(name, "x")[0] == 2
        assert any(new.startswith(known) for known in COMMANDS)


def test_commands_of_a_group(command: Command) -> None:
    for group, names in (("vectors", "make,check,sweep,coverage"), ("iree", "constraints,workgroups")):
        code, out, _ = command(group, "--help")
        assert code == 0
        assert re.findall(r"^    (\w+)\b", out, re.MULTILINE) == names.split(",")
        assert command(group)[0] == 2


def test_help_and_version(command: Command) -> None:
    for arguments in (["--help"], *([name, "--help"] for name in ("run", "eval", "formats", "translate", "explain"))):
        code, out, err = command(*arguments)
        assert (code, err) == (0, "")
        assert out.startswith("usage: halfulp")
        assert "exit codes: 0 fine" in out
    code, out, _ = command("fuzz", "--pass", "--help")  # of the form that an option selects
    assert (code, "--from START" in out) == (0, True)
    code, out, _ = command("--version")
    assert code == 0
    assert out.startswith("halfulp 0.")


def test_help_imports_nothing_slow() -> None:
    script = (
        "import sys\nfrom halfulp.command.main import main\n"
        "assert [main(words) for words in (['--help'], [], ['nonsense'])] == [0, 2, 2]\n"
        "print(*[m for m in sys.modules if m.partition('.')[0] in ('numpy', 'ml_dtypes') or m.startswith('halfulp.')])"
    )
    done = halfulp(interpreter=(sys.executable, "-I", "-c", script))
    assert done.code == 0, done.err
    loaded = set(done.out.splitlines()[-1].split())
    assert loaded == {f"halfulp.command{name}" for name in ("", ".console", ".main", ".option")}


def test_the_installed_command() -> None:
    executable = shutil.which("halfulp", path=str(Path(sys.executable).parent))
    assert executable is not None
    done = halfulp("eval", "arith.addf", "--input=f32=1", "--input=2", interpreter=(executable,))
    assert (done.code, done.out, done.err) == (0, "result[0]: f32=3\n", "")


def test_running_imports_nothing_slow() -> None:
    script = (
        "import sys\nfrom halfulp.command.main import main\nassert main(sys.argv[1:]) == 0\n"
        "print(*{m.partition('.')[0] for m in sys.modules} - set(sys.stdlib_module_names))\n"
        "print(*[m for m in sys.modules if m.startswith(('halfulp.conformance', 'halfulp.trac', 'halfulp.expl'))])"
    )
    done = halfulp("run", ADD, "--input=1", "--input=1", interpreter=(sys.executable, "-I", "-c", script))
    result, packages, ours = done.out.splitlines()
    assert (done.code, result, ours) == (0, "result[0]: 4xf8E4M3FN=2 2 2 2", "")
    assert {"numpy", "halfulp"} <= set(packages.split())
    assert set(packages.split()) & {"ml_dtypes", "rich", "llvmlite", "matplotlib", "dask", "iree"} == set()


def test_a_reader_that_goes_away() -> None:
    with subprocess.Popen(
        [sys.executable, "-I", "-m", "halfulp", "eval", "arith.addi", "--input=100000xi32=1", "--input=1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 141


@pytest.mark.long
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-I", "-m", "halfulp", "formats"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == b"error: No space left on device\n"


@pytest.mark.long
def test_a_closed_stdout() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -I -m halfulp formats >&-', sys.executable],
        stderr=subprocess.PIPE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, b"error: the standard output is closed\n")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, ""),
        (
            MemoryError(),
            2,
            "error: this machine does not have enough memory for this command: give smaller inputs, or fewer\n",
        ),
        (ValueError("odd\nthing"), 70, "halfulp: internal error: ValueError: odd thing; please report it"),
    ],
)
def test_what_was_not_expected(
    error: BaseException, code: int, message: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.delenv("HALFULP_DEBUG", raising=False)
    monkeypatch.setattr("halfulp.loading.read_file", fail)
    got, out, err = command("run", ADD)
    assert (got, out) == (code, "")
    assert err.startswith(message)
    assert bool(message) == bool(err)
    if code == 70:
        monkeypatch.setenv("HALFULP_DEBUG", "1")
        with pytest.raises(ValueError, match="odd"):
            command("run", ADD)


def test_the_caret_stands_under_the_place(command: Command, write: Any) -> None:
    path = write("wide.mlir", 'func.func @f() { "é.é"() : () -> ()\tretun }\n')
    _, _, err = command("translate", path, "--allow-unregistered-dialect")
    message, line, caret, hint = err.splitlines()
    assert message.startswith("wide.mlir:1:39: error: ")  # in bytes, as mlir-opt counts
    assert len(caret) - 1 == line.index("retun")
    assert caret.count("\t") == 1
    assert hint == "hint: did you mean `return`?"


@pytest.mark.long
def test_any_locale(write: Any) -> None:
    path = write("u.mlir", 'func.func @f() {\n  "öther.op"() : () -> ()\n  return\n}\n')
    for options in ((), ("--allow-unregistered-dialect",)):
        done = halfulp(
            *("translate", path, *options),
            environment={"PYTHONUTF8": "0", "LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"},
            interpreter=(sys.executable, "-m", "halfulp"),
        )
        assert done.code == (0 if options else 2)
        assert "Traceback" not in done.err


def test_output_is_the_same_every_time(command: Command) -> None:
    runs = {command("explain", "1/3", "bf16") for _ in range(3)} | {command("explain", "1/3", "bf16")}
    assert len(runs) == 1


# --- diagnostics ------------------------------------------------------------------------------------------------------
#
# Errors as JSON, expected errors in comments, and hints.

HINTS = {
    "func.func @f(%alpha: f32) { %0 = arith.addf %alpha, %alhpa : f32 return }": "`%alpha`",
    "func.func @f(%a: f32) { %0 = arith.adf %a, %a : f32 return }": "`arith.addf`",
    "func.func @f(%a: f32) { %0 = arit.addf %a, %a : f32 return }": "`arith`",
    "func.func @f() { retrun }": "`return`",
    '"arith.adf"() : () -> ()': "`arith.addf`",
    '%0 = "arith.constant"() <{valeu = 1 : i32}> : () -> i32': "`value`",
    "func.func @f() { cf.br ^lop ^loop: return }": "`^loop`",
    "func.func @main() { call @helpr() : () -> () return } func.func private @helper()": "`@helper`",
    "func.func @g() { %0 = constant @gg : () -> () return }": "`@g`",
    "module {} {-# dialect_resource: {} #-}": "`dialect_resources`",
    '"t.a"() {m = affine_map<(row) -> (rwo)>} : () -> ()': "`row`",
}


def failure(text: str) -> HalfulpError:
    with pytest.raises(HalfulpError) as caught:
        hu.parse(text)
    return caught.value


@pytest.mark.parametrize("text", HINTS)
def test_a_misspelled_name_has_a_hint(text: str) -> None:
    assert failure(text).hint == f"did you mean {HINTS[text]}?"


def test_nothing_close_has_no_hint() -> None:
    assert failure("func.func @f(%alpha: f32) { %0 = arith.addf %z, %z : f32 return }").hint is None
    long = "x" * 100_000
    assert failure(f"func.func @f(%{long}: f32) {{ %0 = arith.addf %{long}y, %{long} : f32 return }}").hint is None


def test_json_has_all_parts() -> None:
    record = json.loads(
        json.dumps(error_record(failure("func.func @f(%a: f32) {\n  %0 = arith.addi %a, %a : i32\n  return\n}")))
    )
    assert record == {
        "file": "<string>",
        "line": 2,
        "column": 19,
        "code": "parse",
        "severity": "error",
        "message": record["message"],
        "notes": [{"file": "<string>", "line": 1, "column": 14, "severity": "note", "message": "prior use here"}],
        "hint": None,
    }
    assert "expects different type" in record["message"]
    assert error_record(HalfulpError("no place"))["line"] is None


def test_expectations_say_where() -> None:
    text = """// expected-error {{here}}
// expected-error @+2 {{two down}}

// expected-note@-1 {{one up}}
plain
// expected-error @above {{above}}
// expected-warning @below {{first}}
// expected-remark @below {{second}}
next
// expected-error @unknown {{nowhere}}
// expected-error-re @below {{a {{[0-9]+}} b}}
last // not expected-error {{x}} at the end of a line
"""
    found = [(one.severity, one.line, one.text) for one in expectations(text, "in")]
    assert found == [
        ("error", 1, "here"), ("error", 4, "two down"), ("note", 3, "one up"), ("error", 5, "above"),
        ("warning", 9, "first"), ("remark", 9, "second"), ("error", None, "nowhere"), ("error", 12, "a {{[0-9]+}} b"),
    ]  # fmt: skip
    last = expectations(text, "in")[-1]
    assert last.place == FileLineCol("in", 11, 4)
    assert last.pattern.search("is a 42 b.")
    assert not last.pattern.search("is a x b.")


@pytest.mark.parametrize("pattern", ["a {{[}} b", "a {{b"])
def test_a_pattern_that_is_none(pattern: str) -> None:
    with pytest.raises(ParseError, match="^in:2:5: error: .*regex"):
        expectations(f"\n // expected-error-re {{{{{pattern}}}}}", "in")


def different(text: str, *errors: HalfulpError) -> list[str]:
    checker = DiagnosticsChecker(text, "<string>")
    wrong = [one for error in errors for one in checker.unexpected(error)]
    return [str(one) for one in (*wrong, *checker.unmet())]


def test_what_is_missing_and_what_is_too_much() -> None:
    text = "func.func @f(%a: f32) {\n  %0 = arith.addf %b, %a : f32 // expected-error {{undeclared}}\n  return\n}"
    error = failure(text)
    missing = '<string>:2:35: error: expected error "{}" was not produced'
    assert different(text, error) == different(text, error, error) == []
    assert different(text) == [missing.format("undeclared")]
    unexpected = f"<string>:2:19: error: unexpected error: {error.message}"
    assert different("", error) == [unexpected]
    other = text.replace("undeclared", "something else")
    assert different(other, failure(other)) == [unexpected, missing.format("something else")]
    elsewhere = HalfulpError("undeclared", location=FileLineCol("other", 2, 3))
    assert different(text, elsewhere)[0] == "other:2:3: error: unexpected error: undeclared"
    kind = "<string>:2:35: error: 'error' diagnostic emitted when expecting a 'note'"
    note = text.replace("-error", "-note")
    assert different(note, error)[0] == kind
    assert different("// expected-error @unknown {{place}}", HalfulpError("no place")) == []


def test_notes_are_expected_too() -> None:
    text = (
        "// expected-error @below {{expects different}}\nfunc.func @f(%a: f32) { %0 = arith.addi %a, %a : i32 return }"
    )
    assert different(text, failure(text)) == ["<string>:2:14: error: unexpected note: prior use here"]
    both = f"// expected-note @+2 {{{{prior use}}}}\n{text}"
    assert different(both, failure(both)) == []


def diagnostics_halfulp(*arguments: str, text: str, directory: Path) -> subprocess.CompletedProcess[str]:
    (directory / "in.mlir").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "halfulp", "translate", "in.mlir", *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, encoding="utf-8", check=False)


SPLIT = """module @good {}
// -----
// expected-error @below {{undeclared}}
func.func @f() { %0 = arith.negf %x : f32 return }
"""


def test_the_command_line(tmp_path: Path) -> None:
    done = diagnostics_halfulp("--split-input-file", "--verify-diagnostics", text=SPLIT, directory=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "@good" in done.stdout
    done = diagnostics_halfulp(
        "--split-input-file", "--verify-diagnostics", text=SPLIT.replace("und", "dec"), directory=tmp_path
    )
    assert done.returncode == 2
    assert "in.mlir:4:34: error: unexpected error: use of undeclared" in done.stderr
    done = diagnostics_halfulp("--split-input-file", "--diagnostics=json", text=SPLIT, directory=tmp_path)
    assert done.returncode == 2
    said = json.loads(done.stderr)
    assert (said["line"], said["code"]) == (4, "parse")


# Each part has something unmet or unexpected; no rule of halfulp's own takes part in where or in which order.
UNMET = """// expected-error @below {{nothing here}}
func.func @f() {
  return
}
// expected-error@+1 {{undeclared wrong}}
func.func @g() { %0 = arith.negf %x : f32 return }
// -----
   // expected-note @+1 {{foo}}
func.func @g() { return } // expected-warning {{bar}}
// expected-error @above {{x}}
  // expected-error-re @+9 {{y {{[0-9]+}} z}}
// -----
func.func @g(%a: f32) { %0 = arith.addi %a, %a : i32 return }
// -----
// expected-warning @below {{expects different}}
// expected-note @below {{prior}}
func.func @g(%a: f32) { %0 = arith.addi %a, %a : i32 return }
// -----
// expected-error @below {{never}}
"""


@pytest.mark.mlir
def test_mlir_opt_finds_the_same_unmet_expectations(tmp_path: Path) -> None:
    options = ("--split-input-file", "--verify-diagnostics")
    ours = diagnostics_halfulp(*options, text=UNMET, directory=tmp_path)
    theirs = subprocess.run(
        ["mlir-opt-22", "in.mlir", *options], cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
    )
    assert (ours.returncode, theirs.returncode) == (2, 1)
    # mlir-opt underlines as many characters as the expected text has.
    assert ours.stderr == re.sub(r"\^~*$", "^", theirs.stderr, flags=re.MULTILINE)
    assert ours.stdout == theirs.stdout


PARTS = """func.func @a() {
  return
}
// -----

// comment
func.func @b(%x: i32 loc("arg")) {
  return
}
  // ----- // the rest of the line belongs to the next part
func.func @d() { return } // -----
// -----

// -----
module {}
// -----
#l = loc("é":1:2)
func.func private @"é"(i32 loc(#l)) loc(#l) // -----func.func private @f()
// -----"""


@pytest.mark.mlir
@pytest.mark.parametrize("options", [(), ("--mlir-print-debuginfo",), ("--mlir-print-debuginfo", "--generic")])
@pytest.mark.parametrize("text", [PARTS, PARTS.replace("\n", "\r\n"), PARTS + "\n"], ids=["", "CRLF", "empty"])
def test_parts_print_as_by_mlir_opt(tmp_path: Path, text: str, options: tuple[str, ...]) -> None:
    (tmp_path / "in.mlir").write_bytes(text.encode())
    ours, theirs = (
        subprocess.run(
            [*command, "in.mlir", "--split-input-file", *more], cwd=tmp_path, capture_output=True, check=False
        )
        for command, more in (
            ((sys.executable, "-m", "halfulp", "translate"), options),
            (("mlir-opt-22",), [option.replace("--generic", "--mlir-print-op-generic") for option in options]),
        )
    )
    assert (ours.returncode, theirs.returncode) == (0, 0)
    assert ours.stdout == theirs.stdout


@pytest.mark.long
def test_printing_for_an_older_schema(tmp_path: Path) -> None:
    text = "func.func @f(%a: f32) {\n  %0 = arith.addf %a, %a upward : f32\n  return\n}"
    assert diagnostics_halfulp(text=text, directory=tmp_path).returncode == 0
    done = diagnostics_halfulp("--schema=mlir22", text=text, directory=tmp_path)
    assert done.returncode == 3
    assert "in.mlir:2:8: error: the property 'roundingmode' of 'arith.addf' does not exist in MLIR 22" in done.stderr
