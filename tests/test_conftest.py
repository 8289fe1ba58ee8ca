"""The suite's own settings do what they promise: each case runs a small suite under the real conftest.py."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tables import each_row
from tree import ROOT

pytestmark = pytest.mark.lint

SUITE = """
import pytest

@pytest.mark.mlir
def test_marked(): pass

def test_fixture(mlir_opt): pass

@pytest.mark.exhaustive
def test_exhaustive(): pass

@pytest.mark.long
def test_long(): pass

@pytest.mark.long
@pytest.mark.exhaustive
def test_both(): pass

@pytest.mark.chromium
def test_chromium(): pass

def test_plain(): pass
"""
SKIPS_ITSELF = """
import pytest

@pytest.mark.mlir
def test_skips(): pytest.skip("no time")
"""
MODULE_SKIPS_ITSELF = """
import pytest
pytest.skip("not today", allow_module_level=True)

@pytest.mark.mlir
def test_never_seen(): pass
"""

ABSENT = {"HALFULP_MLIR_OPT": "no-such-mlir-opt", "HALFULP_CHROMIUM": "no-such-chromium"}
REQUIRED = {"HALFULP_REQUIRE_MLIR": "1", "HALFULP_REQUIRE_CHROMIUM": "1"}


def run_suite(folder: Path, suite: str, environment: dict[str, str], *arguments: str) -> tuple[dict[str, int], str]:
    """Run ``suite`` under the real conftest.py; the counts of pytest's summary line, and the whole output."""
    tests = folder / "tests"
    tests.mkdir()
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copy(ROOT / "tests" / "conftest.py", tests)
    (tests / "test_suite.py").write_text(suite)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("HALFULP_", "PYTEST_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    summary = done.stdout.rstrip().splitlines()[-1]
    return {word.removesuffix("s"): int(count) for count, word in re.findall(r"(\d+) ([a-z]+)", summary)}, done.stdout


def test_what_is_absent_is_skipped_loudly(tmp_path: Path) -> None:
    counts, output = run_suite(tmp_path, SUITE, ABSENT)
    assert counts == {"passed": 1, "skipped": 3, "deselected": 3}
    assert "REAL MLIR IS ABSENT: no-such-mlir-opt not found" in output
    assert "2 tests against real MLIR did NOT run" in output
    assert "1 tests against Chromium did NOT run" in output


@pytest.mark.long
def test_what_is_absent_fails_where_it_is_required(tmp_path: Path) -> None:
    counts, output = run_suite(tmp_path, SUITE, ABSENT | REQUIRED, "-n", "2")
    assert counts == {"passed": 1, "error": 3}
    assert "real MLIR is required" in output
    assert "Chromium is required" in output


@pytest.mark.mlir
def test_of_many_parameters_some_count_as_long(tmp_path: Path) -> None:
    suite = (
        "import pytest\n\n@pytest.mark.parametrize('n', range(11))\ndef test_many(n): assert n in (0, 5, 10)\n"
        "@pytest.mark.parametrize('n', range(3))\ndef test_few(n): pass\n"
    )
    for number, (arguments, expected) in enumerate(
        (
            ((), {"passed": 6, "failed": 8}),
            (("--most", "3"), {"passed": 6, "deselected": 8}),
            (("--most", "3", "-m", "long"), {"failed": 8, "deselected": 6}),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert run_suite(folder, suite, {}, *arguments)[0] == expected


@pytest.mark.parametrize("suite", [SKIPS_ITSELF, MODULE_SKIPS_ITSELF])
def test_a_skip_fails_where_mlir_is_required(tmp_path: Path, suite: str) -> None:
    counts, output = run_suite(tmp_path, suite, {"HALFULP_REQUIRE_MLIR": "1"})
    assert "skipped" not in counts
    assert counts.get("failed", 0) + counts.get("error", 0) == 1
    assert "skipped in spite of HALFULP_REQUIRE_MLIR=1" in output


@pytest.mark.parametrize(
    ("environment", "arguments", "expected"),
    [
        ({}, ("-m", "exhaustive"), {"passed": 2, "deselected": 5}),
        ({}, ("-m", "long"), {"passed": 1, "deselected": 6}),
        ({}, ("-m", "not mlir and not chromium"), {"passed": 1, "deselected": 6}),
        ({"HALFULP_LONG": "1"}, ("-m", "not mlir and not chromium"), {"passed": 2, "deselected": 5}),
        ({"HALFULP_LONG": "1/1"}, ("-m", "not mlir and not chromium"), {"passed": 2, "deselected": 5}),
        ({"HALFULP_EXHAUSTIVE": "1"}, ("-m", "not mlir and not chromium"), {"passed": 4, "deselected": 3}),
    ],
)
def test_long_and_exhaustive_tests_are_left_out_unless_asked_for(
    tmp_path: Path, environment: dict[str, str], arguments: tuple[str, ...], expected: dict[str, int]
) -> None:
    counts, _ = run_suite(tmp_path, SUITE, environment, *arguments)
    assert counts == expected


def test_each_long_test_is_in_one_part(tmp_path: Path) -> None:
    suite = "import pytest\n\n@pytest.mark.long\n@pytest.mark.parametrize('n', range(40))\ndef test_it(n): pass\n"
    passed = []
    for part in (1, 2, 3):
        folder = tmp_path / str(part)
        folder.mkdir()
        passed.append(run_suite(folder, suite, {"HALFULP_LONG": f"{part}/3"})[0]["passed"])
    assert sum(passed) == 40
    assert min(passed) > 5


@pytest.mark.parametrize("arguments", [(), ("--mlir-print-op-generic",)])
def test_mlir_opt_returns_what_it_prints(mlir_opt: Callable[..., str], arguments: tuple[str, ...]) -> None:
    assert ('"builtin.module"' in mlir_opt("module {}", *arguments)) == bool(arguments)


def test_mlir_opt_raises_with_the_diagnostics(mlir_opt: Callable[..., str]) -> None:
    with pytest.raises(RuntimeError, match=r"custom op 'no_such_op' is unknown"):
        mlir_opt("no_such_op")


def test_a_table_names_every_row_that_fails() -> None:
    @each_row(("1", 10), ("x", 10), ("1", 36), ("y", 2))
    def is_no_number(text: str, base: int) -> None:
        with pytest.raises(ValueError, match="invalid literal"):
            int(text, base)

    with pytest.raises(AssertionError, match=r"(?s)2 of 4 rows fail:.*'1', 10.*DID NOT RAISE.*'1', 36.*DID NOT RAISE"):
        is_no_number()
