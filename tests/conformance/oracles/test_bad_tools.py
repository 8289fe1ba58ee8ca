"""Tools that crash, hang, print garbage, have another version or are missing: a failure or no answer, never agreement.

Every oracle of the registry that starts programs is found by itself: without them it says which program is missing.
"""

import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from command import PATIENCE, wait_for_end

from halfulp.conformance.comparing.check import Tally, check
from halfulp.conformance.comparing.inputs import sampled_inputs
from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.conformance.oracles import ORACLES, TAKES_ARGUMENT, apfloat, oracle, tool
from halfulp.conformance.oracles.jit_programs import Child, PreparedProgram
from halfulp.conformance.oracles.oracle import (
    Answer,
    ClosedProgram,
    Oracle,
    OracleError,
    ProgramOracle,
    Status,
    Unanswered,
    Unavailable,
)
from halfulp.interp.values.value import Value

OPT, RUNNER = "HALFULP_MLIR_OPT", "HALFULP_MLIR_RUNNER"
COMPILE, RUN_MODULE = "HALFULP_IREE_COMPILE", "HALFULP_IREE_RUN_MODULE"
VARIABLES = (OPT, RUNNER, COMPILE, RUN_MODULE)
LIBLLVM = "HALFULP_LIBLLVM"
NOWHERE = "/nowhere/at-all"
LIBRARIES = ("libmlir_c_runner_utils.so", "libmlir_runner_utils.so", "libmlir_apfloat_wrappers.so")
RIGHT = "LLVM version 22.1.8, IREE compiler version 3.13.0"
SECONDS = 0.1
MOST_RUNS = 40
"""Enough for halves of 16 elements, down to each of them."""

TASKS = [
    op_case("arith.addi", "i8"),
    op_case("arith.addf", "f32"),
    op_case("arith.truncf", "f32", "bf16"),
    op_case("quant.dcast", "!quant.uniform<i8:f32, 0.5>", "f32"),
    op_case("math.tanh", "f32"),
]


def program_based() -> list[str]:
    """Return the oracles that cannot be made without their tools."""
    names = []
    with pytest.MonkeyPatch.context() as patch:
        for variable in VARIABLES:
            patch.setenv(variable, NOWHERE)
        for name in ORACLES:
            try:
                if name not in TAKES_ARGUMENT:
                    oracle(name)
            except Unavailable as error:  # some are unavailable for other reasons: apfloat where libLLVM does not load
                if NOWHERE in str(error):
                    names.append(name)
    return names


NAMES = program_based()

# What a tool does when it is not asked for its version, as a shell script.
BAD = {
    "exits with an error": "echo 'error: no way' >&2; exit 3",
    "crashes": "kill -SEGV $$",
    "hangs": "sleep 1000",
    "hangs, closed": "exec >&- 2>&-; sleep 1000",
    "prints words": "echo hello world; echo 12 monkeys",
    "prints no UTF-8": r"printf '\377\376\000\001'",
    "prints without end": "yes 0",
    "prints nothing": "exit 0",
    "prints half a module": r"echo 'module {'; echo '  func.func @eval('",
    "prints numbers": "echo 1; echo 2; echo '(0)'",
}
SURELY_FAILS = ("crashes", "hangs", "hangs, closed", "prints without end")


RUNS: list[Any] = []
"""The commands that a test has run so far."""


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools get little output here, and tools that hang little time; a slow machine stops no other tool."""
    real = tool.run_bounded

    def impatient(command: Any, data: bytes, seconds: float, limit: int = 0) -> Any:
        assert seconds <= 600
        RUNS.append(command)
        return real(command, data, SECONDS if hangs(command) else PATIENCE, 1 << 20)

    RUNS.clear()
    monkeypatch.setattr(tool, "run_bounded", impatient)


def hangs(command: Sequence[str]) -> bool:
    """Tell whether the script hangs. A request for its version never does."""
    with open(command[0], "rb") as file:
        script = file.read(1000)
    return b"sleep 1000" in script and not ("--version" in command and b"--version" in script)


Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put scripts in place of the tools, all of them or those of the given variables."""
    for folder in ("bin", "lib"):
        (tmp_path / folder).mkdir()
    for library in LIBRARIES:
        (tmp_path / "lib" / library).touch()

    def put(body: str, variables: tuple[str, ...] = VARIABLES, version: str = RIGHT) -> None:
        for variable in variables:
            path = tmp_path / "bin" / variable.lower()
            path.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo "{version}"; exit 0; fi\n{body}\n')
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
            monkeypatch.setenv(variable, str(path))

    return put


def question(found: Oracle) -> tuple[OpCase, tuple[Any, ...]]:
    asked = next(asked for asked in TASKS if found.refuses(asked) is None)
    return asked, sampled_inputs(asked, 16)


def assert_programs_fail(found: Oracle, asked: OpCase, inputs: tuple[Any, ...], refusing: bool = False) -> None:
    """Check that each program gets the error, also one beside others. ``refusing``: a tool that refuses has not failed."""
    if not isinstance(found, ProgramOracle):
        return
    function = asked.module((16,))
    # Passes for math ops take no whole programs.
    kinds = OracleError | Unanswered if refusing or found.name.startswith("mlir-math-") else OracleError
    try:
        results = found.run([ClosedProgram(function, "eval", asked.values(inputs))] * 2)
    except OracleError:
        return
    assert len(results) == 2
    assert all(isinstance(result, kinds) for result in results), results


def assert_no_agreement(found: Oracle, failing: bool, refusing: bool = False) -> Tally:
    asked, inputs = question(found)
    before = len(RUNS)
    total = check(found, asked, inputs)
    assert len(RUNS) - before <= MOST_RUNS
    assert total.compared == 0
    assert total.unanswered == 16 * len(asked.results)
    assert total.failures or total.refusals  # and it is said why
    if failing:
        assert total.failures
    assert_programs_fail(found, asked, inputs, refusing)
    return total


def test_the_program_based_oracles() -> None:
    assert {"mlir-fold", "mlir-native", "mlir-runtime", "mlir-expand", "iree"} <= set(NAMES)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bad", BAD)
def test_bad_tools(name: str, bad: str, install: Install) -> None:
    install(BAD[bad])
    assert_no_agreement(oracle(name), bad in SURELY_FAILS, bad == "exits with an error")


@pytest.mark.mlir
@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("mlir")])
@pytest.mark.parametrize("bad", BAD)
def test_bad_runners(name: str, bad: str, install: Install) -> None:
    """mlir-opt does its work, mlir-runner does not."""
    install(BAD[bad], (RUNNER,))
    try:
        found = oracle(name)
        asked, inputs = question(found)
        total = check(found, asked, inputs)
    except Unavailable:
        return
    if not total.compared:
        assert_programs_fail(found, asked, inputs, bad == "exits with an error")
    if total.compared:  # mlir-opt alone has answered
        assert total.clean
    else:
        assert total.unanswered == 16
        assert total.failures or total.refusals


@pytest.mark.parametrize("bad", thinned(BAD, 3))
def test_a_bad_iree_runner(bad: str, install: Install) -> None:
    install('while [ "$1" != -o ]; do shift; done; echo > "$2"', (COMPILE,))
    install(BAD[bad], (RUN_MODULE,))
    assert_no_agreement(oracle("iree"), True, bad == "exits with an error")


def test_an_iree_runner_that_writes_too_little(install: Install) -> None:
    install('while [ "$1" != -o ]; do shift; done; echo > "$2"', (COMPILE,))
    install('for a; do case "$a" in --output=@*) printf 12345 > "${a#--output=@}";; esac; done', (RUN_MODULE,))
    assert "garbage" in assert_no_agreement(oracle("iree"), True).failures[0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", ["version 21.0.1, IREE compiler version 3.12", "hello", ""])
def test_another_version(name: str, version: str, install: Install) -> None:
    install("cat", version=version)
    if name == "mlir-fold" and version[:7] == "version":
        assert oracle(name).version  # it takes any mlir-opt that says its version, and names it
        return
    with pytest.raises(Unavailable, match=r"version"):
        oracle(name)


@pytest.mark.parametrize("name", thinned(NAMES, 3))
@pytest.mark.parametrize("body", ["sleep 1000", "kill -SEGV $$", "exit 1"])
def test_a_tool_that_does_not_tell_its_version(name: str, body: str, tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "tool"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    for variable in VARIABLES:
        monkeypatch.setenv(variable, str(path))
    with pytest.raises(Unavailable):
        oracle(name)


@pytest.mark.parametrize("name", NAMES)
def test_an_absent_tool(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.setenv(variable, NOWHERE)
    with pytest.raises(Unavailable, match=NOWHERE):
        oracle(name)


@pytest.fixture
def _on_x86(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open the libraries on every machine: none of them is called."""
    monkeypatch.setattr("platform.machine", lambda: "x86_64")


@pytest.mark.usefixtures("_on_x86")
def test_libraries_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "libLLVM.so"
    path.write_text("hello\n")
    for library, message in (
        (NOWHERE, f"{NOWHERE} does not load.*set {LIBLLVM}"),
        (str(path), f"{path} does not load"),
        ("libc.so.6", "does not tell a version"),
    ):
        monkeypatch.setenv(LIBLLVM, library)
        with pytest.raises(Unavailable, match=message):
            oracle("apfloat")


@pytest.mark.usefixtures("_on_x86")
def test_a_library_of_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIBLLVM, "libc.so.6")
    monkeypatch.setattr(apfloat, "_version", lambda library: "21.1")
    with pytest.raises(Unavailable, match=r"is LLVM version 21\.1, but this oracle needs version 22\."):
        oracle("apfloat")


@pytest.mark.parametrize("bad", BAD)
def test_bad_commands(bad: str, tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_text(f"#!/bin/sh\n{BAD[bad]}\n")
    path.chmod(0o755)
    assert_no_agreement(oracle(f"command={path}"), True)


def test_what_a_tool_started_ends_with_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    # It is ended for what it prints, which it does after it has said what it started.
    with pytest.raises(OracleError, match="printed more than"):
        tool.run_bounded(["/bin/sh", "-c", f"sleep 1000 & echo $! > {pid}; yes"], b"", PATIENCE)
    wait_for_end(int(pid.read_text()))


def test_a_large_question_and_a_large_answer() -> None:
    data = np.arange(200_000, dtype=np.uint8).tobytes()
    assert tool.run_bounded(["/bin/cat"], data, PATIENCE).stdout == data


def test_a_program_that_hangs_or_prints_too_little_in_its_own_process_is_an_error() -> None:
    asked = op_case("arith.addi", "i8")
    given = ClosedProgram(asked.module(None), "eval", tuple(Value.from_bits(code, "i8") for code in (1, 2)))
    prepared = PreparedProgram(given, "p.", lambda operation, types: None)
    assert prepared.answers(Child([3], 0)) == (Answer(np.array(3, np.uint8)),)
    for child, kind in ((Child([], 14), "hang"), (Child([], 0), "garbage"), (Child([3, 4], 0), "garbage")):
        failure = prepared.answers(child)
        assert isinstance(failure, OracleError)
        assert failure.kind == kind


def test_a_program_that_divides_like_the_cpu_does_has_trapped(install: Install) -> None:
    asked = op_case("arith.remsi", "i32")
    given = ClosedProgram(asked.module((2,)), "eval", asked.values([np.array([1, 2], np.uint32)] * 2))
    install('while [ "$1" != -o ]; do shift; done; echo > "$2"', (COMPILE,))
    for signal, trapped in (("FPE", True), ("ILL", True), ("SEGV", False), ("KILL", False)):
        install(f"kill -{signal} $$", (RUN_MODULE,))
        found = oracle("iree")
        assert isinstance(found, ProgramOracle)
        (reply,) = found.run([given])
        assert isinstance(reply, OracleError) is not trapped
        if isinstance(reply, tuple):
            assert reply[0].status is not None
            assert (reply[0].status == Status.TRAP).all()
