"""Errors as JSON, expected errors in comments, and hints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import halfulp as hu
from halfulp.diagnostics import as_json, expectations, unmet
from halfulp.interp.errors import HalfulpError

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
    record = json.loads(as_json(failure("func.func @f(%a: f32) {\n  %0 = arith.addi %a, %a : i32\n  return\n}")))
    assert record == {
        "file": "<string>",
        "line": 2,
        "column": 19,
        "severity": "error",
        "message": record["message"],
        "notes": [{"file": "<string>", "line": 1, "column": 14, "severity": "note", "message": "prior use here"}],
        "hint": None,
    }
    assert "expects different type" in record["message"]
    assert json.loads(as_json(HalfulpError("no place")))["line"] is None


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
    found = [(one.severity, one.line, one.text) for one in expectations(text)]
    assert found == [
        ("error", 1, "here"),
        ("error", 4, "two down"),
        ("note", 3, "one up"),
        ("error", 5, "above"),
        ("warning", 9, "first"),
        ("remark", 9, "second"),
        ("error", None, "nowhere"),
        ("error", 12, "a {{[0-9]+}} b"),
    ]
    assert expectations(text)[-1].matches("error", 12, "is a 42 b.")
    assert not expectations(text)[-1].matches("error", 12, "is a x b.")


def test_what_is_missing_and_what_is_too_much() -> None:
    text = "func.func @f(%a: f32) {\n  %0 = arith.addf %b, %a : f32 // expected-error {{undeclared}}\n  return\n}"
    error = failure(text)
    assert list(unmet(expectations(text), error)) == []
    assert list(unmet(expectations(text), None)) == ['line 2: error: expected error "undeclared" was not produced']
    assert list(unmet([], error)) == [f"<string>:2:19: error: unexpected error: {error.message}"]
    other = text.replace("undeclared", "something else")
    assert len(list(unmet(expectations(other), failure(other)))) == 2


def halfulp(*arguments: str, text: str, directory: Path) -> subprocess.CompletedProcess[str]:
    (directory / "in.mlir").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "halfulp.cli", "translate", "in.mlir", *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, encoding="utf-8", check=False)


SPLIT = """module @good {}
// -----
// expected-error @below {{undeclared}}
func.func @f() { %0 = arith.negf %x : f32 return }
"""


def test_the_command_line(tmp_path: Path) -> None:
    done = halfulp("--split-input-file", "--verify-diagnostics", text=SPLIT, directory=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "@good" in done.stdout
    done = halfulp("--split-input-file", "--verify-diagnostics", text=SPLIT.replace("und", "dec"), directory=tmp_path)
    assert done.returncode == 2
    assert "in.mlir:4:34: error: unexpected error: use of undeclared" in done.stderr
    done = halfulp("--split-input-file", "--diagnostics=json", text=SPLIT, directory=tmp_path)
    assert done.returncode == 2
    assert json.loads(done.stderr)["line"] == 4


def test_printing_for_an_older_schema(tmp_path: Path) -> None:
    text = "func.func @f(%a: f32) {\n  %0 = arith.addf %a, %a upward : f32\n  return\n}"
    assert halfulp(text=text, directory=tmp_path).returncode == 0
    done = halfulp("--schema=mlir22", text=text, directory=tmp_path)
    assert done.returncode == 3
    assert "in.mlir:2:8: error: the property 'roundingmode' of 'arith.addf' does not exist in MLIR 22" in done.stderr
