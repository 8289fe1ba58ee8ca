"""Settings and fixtures of the whole test suite: real MLIR, exhaustive tests, hypothesis.

Environment variables: ``HALFULP_MLIR_OPT`` names the mlir-opt to use, ``HALFULP_REQUIRE_MLIR=1`` turns absent or
skipped tests of real MLIR into failures, ``HALFULP_EXHAUSTIVE=1`` adds the exhaustive tests, ``CI`` makes hypothesis
repeatable.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
from collections.abc import Generator
from typing import Any, Protocol

import hypothesis
import pytest

# Whether numba takes over must not depend on how much the tests before have computed; test_compiled.py asks for it.
os.environ.setdefault("HALFULP_BACKEND", "numpy")

REQUIRE_MLIR = os.environ.get("HALFULP_REQUIRE_MLIR") == "1"
MLIR_OPT = os.environ.get("HALFULP_MLIR_OPT", "mlir-opt-22")
LIBLLVM = "libLLVM.so.22.1"

# No deadline and no complaint about slowness: other processes share the cores. Speed is measured by benchmarks/.
hypothesis.settings.register_profile("local", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("ci", hypothesis.settings.get_profile("local"), derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if REQUIRE_MLIR or os.environ.get("CI") else "local")


@functools.cache
def missing_mlir() -> str | None:
    """What of real MLIR is absent on this machine, in words; None when all is there."""
    if shutil.which(MLIR_OPT) is None:
        return f"{MLIR_OPT} not found (Debian package mlir-22-tools; HALFULP_MLIR_OPT names another one)"
    try:
        ctypes.CDLL(LIBLLVM)
    except OSError as error:
        return f"{LIBLLVM} cannot be loaded (Debian package libllvm22): {error}"
    return None


class MlirOpt(Protocol):
    """Runs mlir-opt on a module's text."""

    def __call__(self, text: str, *arguments: str) -> str:
        """Return what mlir-opt prints; RuntimeError with its diagnostics when it rejects the text."""
        ...


@pytest.fixture(scope="session")
def mlir_opt() -> MlirOpt:
    """Real mlir-opt: ``mlir_opt(text, "--canonicalize")``. A test that asks for it is marked ``mlir`` by that alone."""

    def run(text: str, *arguments: str) -> str:
        done = subprocess.run(
            [MLIR_OPT, *arguments], input=text, capture_output=True, encoding="utf-8", timeout=300, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{MLIR_OPT} {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr}")
        return done.stdout

    return run


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what uses mlir-opt; leave exhaustive tests out unless they are asked for."""
    for item in items:
        if "mlir_opt" in getattr(item, "fixturenames", ()):
            item.add_marker("mlir")
    if "exhaustive" in config.option.markexpr or os.environ.get("HALFULP_EXHAUSTIVE") == "1":
        return
    left_out = [item for item in items if item.get_closest_marker("exhaustive")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Without real MLIR a test of it is skipped, or fails where real MLIR is required."""
    if item.get_closest_marker("mlir") and (absent := missing_mlir()):
        if REQUIRE_MLIR:
            pytest.fail(f"real MLIR is required (HALFULP_REQUIRE_MLIR=1): {absent}", pytrace=False)
        pytest.skip(f"REAL MLIR IS ABSENT: {absent}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, pytest.TestReport]:
    """Where real MLIR is required, a test of it that skips itself has failed."""
    report: pytest.TestReport = yield
    if REQUIRE_MLIR and report.skipped and not hasattr(report, "wasxfail") and item.get_closest_marker("mlir"):
        report.outcome = "failed"
        report.longrepr = f"skipped in spite of HALFULP_REQUIRE_MLIR=1: {call.excinfo and call.excinfo.value}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, pytest.CollectReport]:
    """Where real MLIR is required, a module that holds tests of it must not skip itself as a whole either."""
    report: pytest.CollectReport = yield
    if REQUIRE_MLIR and report.skipped and isinstance(collector, pytest.Module):
        source = collector.path.read_text(encoding="utf-8")
        if "mark.mlir" in source or "mlir_opt" in source:
            report.outcome = "failed"
            report.longrepr = f"module skipped in spite of HALFULP_REQUIRE_MLIR=1: {report.longrepr}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly what a machine without real MLIR has not proved."""
    skipped = [
        report for report in terminalreporter.stats.get("skipped", []) if "mlir" in getattr(report, "keywords", ())
    ]
    if skipped:
        terminalreporter.section("real MLIR", red=True, bold=True)
        terminalreporter.line(
            f"{len(skipped)} tests against real MLIR did NOT run: {missing_mlir() or 'see above'}", red=True
        )
