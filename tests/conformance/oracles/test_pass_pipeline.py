"""Pass pipelines: what mlir-opt prints, and what is said where it refuses, crashes, hangs or prints nothing of use."""

import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from halfulp.conformance.oracles import mlir_opt
from halfulp.conformance.oracles.mlir_opt import find_mlir_opt
from halfulp.conformance.oracles.oracle import Unavailable
from halfulp.conformance.oracles.tool import Finished, PassFailure, PassPipeline, Tool
from halfulp.interp.ir.attributes import FloatAttr
from halfulp.interp.ir.errors import HalfulpError, VerifyError
from halfulp.interp.loading import parse_module

CANONICALIZE = "builtin.module(canonicalize)"

GOOD = """\
func.func @f(%x: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %0 = arith.addi %x, %c0 : i32
  return %0 : i32
}
"""

GOOD_AFTER = """\
module {
  func.func @f(%arg0: i32) -> i32 {
    return %arg0 : i32
  }
}
"""

REJECTED = """\
func.func @f(%x: i32) -> i32 {
  %0 = arith.foo %x : i32
  return %0 : i32
}
"""

CRASHES = """\
func.func @f() -> (i8, i1) {
  %p = ub.poison : i8
  %0, %1 = arith.addui_extended %p, %p : i8, i1
  return %0, %1 : i8, i1
}
"""
"""A module on which the canonicaliser of MLIR 22 crashes."""

UNKNOWN_FORM = """\
func.func @f(%x: index) -> index {
  %0 = async.runtime.num_worker_threads : index
  return %x : index
}
"""

Fake = Callable[[str], PassPipeline]


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """Make an mlir-opt from the body of a shell script, which is run with a limit of two seconds."""

    def make(body: str) -> PassPipeline:
        path = tmp_path / "my-opt"
        version = 'if [ "$1" = --version ]; then echo "LLVM version 99.1.0git"; exit 0; fi'
        path.write_text(f"#!/bin/sh\n{version}\n{body}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return PassPipeline(find_mlir_opt(str(path)), CANONICALIZE, seconds=2)

    return make


def failure_of(pipeline: PassPipeline, text: str = GOOD, name: str = "<stdin>") -> PassFailure:
    with pytest.raises(PassFailure) as caught:
        pipeline.apply(text, name)
    return caught.value


def test_any_build_is_used_with_its_version(fake: Fake) -> None:
    pipeline = fake('echo "$@"; cat')
    assert pipeline.version == "my-opt 99.1.0git"
    assert pipeline.command == "my-opt --pass-pipeline='builtin.module(canonicalize)'"
    options, *lines = pipeline.apply("module {\n}\n").splitlines()
    assert options == "--allow-unregistered-dialect --pass-pipeline=builtin.module(canonicalize)"
    assert lines == ["module {", "}"]


def test_a_tool_that_is_absent_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unavailable, match=r"^/nowhere/mlir-opt is not a program that can be run$"):
        find_mlir_opt("/nowhere/mlir-opt")
    monkeypatch.setenv("HALFULP_MLIR_OPT", "/nowhere/other")
    with pytest.raises(Unavailable, match=r"^HALFULP_MLIR_OPT: /nowhere/other is not a program that can be run$"):
        find_mlir_opt()
    monkeypatch.delenv("HALFULP_MLIR_OPT")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(mlir_opt, "WHEEL", "no_such_package")
    with pytest.raises(Unavailable, match=r"^mlir-opt-22 is not on PATH; install it, or set HALFULP_MLIR_OPT; or pip"):
        find_mlir_opt()


def test_a_program_that_is_not_an_mlir_opt_is_refused() -> None:
    with pytest.raises(Unavailable, match="--version does not tell a version"):
        find_mlir_opt("true")


def test_an_error_has_the_place_in_the_file(fake: Fake) -> None:
    failure = failure_of(fake("echo '<stdin>:2:8: error: no such op' >&2; exit 1"), name="p.mlir")
    assert failure.kind == "refusal"
    assert failure.render(GOOD).splitlines() == [
        "p.mlir:2:8: error: my-opt 99.1.0git: no such op",
        "  %c0 = arith.constant 0 : i32",
        "       ^",
    ]


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("echo \"<unknown>:0: error: 'foo' is not a pass\" >&2; exit 1", "refusal", "'foo' is not a pass"),
        ("exit 3", "refusal", "my-opt ended with 3"),
        ("kill -SEGV $$", "crash", "my-opt 99.1.0git crashed (signal 11)"),
        ("exit 139", "crash", "my-opt 99.1.0git crashed (signal 11)"),  # as a shell
        ("exit 248", "crash", "my-opt 99.1.0git crashed (signal 8)"),  # as a Python program passes -8 on
        ("echo 'x.cpp:1: Assertion `y` failed.' >&2; kill -ABRT $$", "crash", "(signal 6): x.cpp:1: Assertion `y`"),
        ("echo 'LLVM ERROR: cannot do z' >&2; kill -ABRT $$", "crash", "(signal 6): LLVM ERROR: cannot do z"),
        ("sleep 1000", "hang", "my-opt did not end in 2 s"),
        (r"printf '\377\376'", "garbage", "not UTF-8"),
        ("exit 0", "garbage", "my-opt 99.1.0git printed no module"),
    ],
)
def test_failures_have_a_kind(fake: Fake, body: str, kind: str, message: str) -> None:
    failure = failure_of(fake(body))
    assert failure.kind == kind
    assert message in str(failure)


@pytest.mark.parametrize("place", ["(/lib/b.so+0x2)", "Folding.cpp:0:0"])
def test_a_crash_names_the_function_of_mlir(fake: Fake, place: str) -> None:
    dump = f"Stack dump:\n #0 0x01 llvm::sys::Print(int) (/lib/a.so+0x1)\n #1 0x02 mlir::x::Y::fold(int) {place}"
    failure = failure_of(fake(f"cat >&2 <<'END'\n{dump}\nEND\nkill -SEGV $$"))
    assert failure.where == "mlir::x::Y::fold(int)"
    assert str(failure) == "error: my-opt 99.1.0git crashed (signal 11) in mlir::x::Y::fold(int)"


def test_an_output_that_is_cut_short_is_an_error(fake: Fake) -> None:
    pipeline = fake("echo 'module {'")
    with pytest.raises(HalfulpError):
        pipeline.read(pipeline.apply(GOOD), "<after>")


BEGUN = "// -----// IR Dump Before {} //----- //"


@pytest.mark.parametrize(
    ("dumps", "named"),
    [
        (["CSE (cse)", "Canonicalizer (canonicalize) ('func.func' operation: @f)"], "canonicalize"),
        (["CanonicalizerPass: canonicalize{max-iterations=10 top-down=true}"], "canonicalize"),
        (["AffineLoopTiling (affine-loop-tile)"], "affine-loop-tile"),
        (["CSE (cse)", "Canonicalizer (canonicalize)", "CSE (cse)"], "cse, run 2 of it"),
    ],
)
def test_a_crash_names_the_pass_that_ran(fake: Fake, dumps: list[str], named: str) -> None:
    said = "\n".join(map(BEGUN.format, dumps))
    pipeline = fake(in_a_pass(said, "FPE"))
    failure = failure_of(pipeline)
    assert str(failure) == f"error: my-opt 99.1.0git crashed (signal 8), in the pass {named}"
    assert (failure.kind, failure.exit_code, failure.guilty) == ("crash", 1, named.partition(",")[0])
    printed, stopped = pipeline.dumped(GOOD)
    assert "IR Dump After" not in printed
    assert str(stopped) == str(failure)
    (alone,) = pipeline.apply_all([GOOD])
    assert str(alone) == str(failure)
    among = pipeline.apply_all([GOOD, GOOD])[0]
    assert isinstance(among, PassFailure)
    assert (among.guilty, str(pipeline.blamed(among, GOOD))) == ("", str(failure))
    assert pipeline.blamed(failure, GOOD) is failure


def in_a_pass(said: str, signal: str) -> str:
    """Return the body of an mlir-opt that a signal ends in a pass, and that prints programs where no pass runs."""
    dump = f'case "$*" in *print-ir-before-all*) echo "{said}" >&2;; esac'
    return f'case "$*" in *--pass-pipeline*) {dump}; kill -{signal} $$;; *) cat;; esac'


def test_no_pass_is_blamed_for_a_signal_from_outside_or_for_a_program_that_cannot_be_printed(fake: Fake) -> None:
    said = BEGUN.format("CSE (cse)")
    for body, number in (
        (in_a_pass(said, "KILL"), 9),
        (in_a_pass(said, "TERM"), 15),
        (in_a_pass(said, "SEGV").replace("*) cat;;", "*) kill -SEGV $$;;"), 11),
    ):
        failure = failure_of(fake(body))
        assert str(failure) == f"error: my-opt 99.1.0git crashed (signal {number})"
        assert (failure.guilty, failure.exit_code) == ("", 2)
        with pytest.raises(PassFailure):
            fake(body).dumped(GOOD)


def test_a_crash_outside_of_the_passes_names_none(fake: Fake) -> None:
    once = fake('case "$*" in *print-ir-before-all*) cat;; *) kill -SEGV $$;; esac')
    for pipeline in (fake("kill -SEGV $$"), once):
        failure = failure_of(pipeline)
        assert str(failure) == "error: my-opt 99.1.0git crashed (signal 11)"


def test_many_modules_that_all_crash_are_asked_alone(fake: Fake) -> None:
    found = fake("kill -SEGV $$").apply_all([GOOD] * 5)
    assert [getattr(failure, "kind", None) for failure in found] == ["crash"] * 5


def test_no_modules_need_no_process(fake: Fake) -> None:
    assert fake("exit 1").apply_all([]) == []


@pytest.fixture
def canonicalize() -> PassPipeline:
    return PassPipeline(find_mlir_opt(), CANONICALIZE)


@pytest.mark.mlir
def test_real_passes(canonicalize: PassPipeline) -> None:
    assert canonicalize.apply(GOOD) == GOOD_AFTER
    assert canonicalize.version.startswith("mlir-opt")


@pytest.mark.mlir
def test_one_module_of_many_does_not_lose_the_others(canonicalize: PassPipeline) -> None:
    found = canonicalize.apply_all([GOOD, REJECTED, GOOD, CRASHES, GOOD, REJECTED])
    assert [text if isinstance(text, str) else text.kind for text in found] == [
        GOOD_AFTER,
        "refusal",
        GOOD_AFTER,
        "crash",
        GOOD_AFTER,
        "refusal",
    ]
    refused = found[-1]
    assert isinstance(refused, PassFailure)
    assert "<stdin>:2:8: error: " in str(refused)  # the place in its own text
    assert "custom op 'arith.foo' is unknown" in str(refused)


@pytest.mark.mlir
def test_modules_with_markers_stay_whole(canonicalize: PassPipeline) -> None:
    two = f"{GOOD}// -----\n{GOOD.replace('@f', '@g')}"
    found = canonicalize.apply_all([two, GOOD])
    assert found == [canonicalize.apply(two), GOOD_AFTER]
    assert isinstance(found[0], str)
    assert "@g" in found[0]


@pytest.mark.mlir
def test_many_modules_take_few_processes(canonicalize: PassPipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    starts: list[list[str]] = []
    finished = Tool.finished

    def counted(tool: Tool, arguments: list[str], text: str = "", seconds: float = 0) -> Finished:
        starts.append(arguments)
        return finished(tool, arguments, text, seconds)

    monkeypatch.setattr(Tool, "finished", counted)
    assert canonicalize.apply_all([GOOD] * 300) == [GOOD_AFTER] * 300
    assert len(starts) == 2


@pytest.mark.mlir
def test_an_unknown_custom_form_is_read_in_the_generic_form(canonicalize: PassPipeline) -> None:
    module = canonicalize.read(UNKNOWN_FORM, "<after>")
    assert '"async.runtime.num_worker_threads"()' in (module.text or "")


@pytest.mark.mlir
def test_the_generic_form_has_every_op(canonicalize: PassPipeline) -> None:
    assert '"arith.addi"(%arg0, %0)' in canonicalize.generic(GOOD)  # and no pass ran


def test_an_output_that_breaks_a_rule_is_not_asked_for_again(fake: Fake) -> None:
    wrong = 'func.func @f(%x: i32) -> i32 {\n  %0 = "arith.addf"(%x, %x) : (i32, i32) -> i32\n  return %0 : i32\n}\n'
    with pytest.raises(VerifyError):
        fake("exit 1").read(wrong, "<after>")


def test_programs_may_have_the_generic_form(fake: Fake, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    pipeline = replace(fake(f'cat > {kept}; echo "$@" >> {kept}; head -n -1 {kept}'), in_generic_form=True)
    one = "module {\n  func.func @f(%arg0: i8) -> i8 {\n    return %arg0 : i8\n  }\n}\n"
    assert pipeline.apply("func.func @f(%x: i8) -> i8 {\n  return %x : i8\n}\n").strip() == one.strip()
    assert '"func.return"(%arg0)' in kept.read_text(encoding="utf-8")
    assert "--mlir-print-op-generic" in kept.read_text(encoding="utf-8")
    given = pipeline.given(parse_module(one))
    assert '"func.return"(%arg0)' in given
    found = pipeline.apply_all([given, given])
    assert [pipeline.taken(text) for text in found if isinstance(text, str)] == [one, one]


def test_a_module_with_moved_constants_is_unchanged(fake: Fake) -> None:
    before = """
      func.func @f(%x: i8) -> i8 {
        %c7_i8 = arith.constant 7 : i8
        %0 = arith.addi %x, %c7_i8 : i8
        %c7_i8_0 = arith.constant 7 : i8
        %1 = arith.muli %0, %c7_i8_0 : i8
        return %1 : i8
      }
      func.func @g() -> i8 {
        %c9_i8 = arith.constant 9 : i8
        return %c9_i8 : i8
      }
    """
    # One constant is joined with another one, and has another name.
    joined = before.replace("        %c7_i8_0 = arith.constant 7 : i8\n", "").replace("%c7_i8_0", "%c7_i8")
    same = [before, joined.replace("%c7_i8", "%c"), joined.replace("%0", "%5")]
    other = [
        before.replace("%c7_i8_0 = arith.constant 7", "%c7_i8_0 = arith.constant 8"),
        before.replace("constant 9", "constant 7"),
        before.replace("muli %0, %c7_i8_0", "muli %c7_i8_0, %0"),
        before.replace("return %1", "return %0"),
        before.replace("%c7_i8_0 =", "%c7_i8 ="),
    ]
    after: list[str | PassFailure] = [*same, *other, PassFailure("no")]
    assert fake("exit 1").unchanged([before] * len(after), after) == [True] * 3 + [False] * 6


@pytest.mark.mlir
def test_wide_floats_are_read_as_mlir_has_them() -> None:
    """MLIR 22 prints an f128 with all its digits, and its parser rounds them to f64. The quotient is the one of 1.0 and
    3.0, rounded by hand: 0x3FFD followed by 0x5555 for ever.
    """
    text = "func.func @f() -> f128 {\n%a = arith.constant 1.0 : f128\n%b = arith.constant 3.0 : f128\n"
    text += "%q = arith.divf %a, %b : f128\nreturn %q : f128\n}\n"
    pipeline = PassPipeline(find_mlir_opt(), CANONICALIZE)
    after = pipeline.apply(text)
    assert "0.333333333333333333333333333333333317" in after
    (function,) = pipeline.read(after, "<after>").body
    constant = next(iter(function.children)).properties["value"]
    assert isinstance(constant, FloatAttr)
    assert constant.code == 0x3FFD5555555555555555555555555555
