"""Settings and fixtures of the whole test suite: real MLIR, Chromium, long and exhaustive tests, hypothesis.

Environment variables: ``HALFULP_MLIR_OPT``, ``HALFULP_LIBLLVM``, ``HALFULP_LLVM_LIBC`` and ``HALFULP_CHROMIUM`` name the
tools to use, ``HALFULP_REQUIRE_MLIR=1`` and the others in `OUTSIDE` turn absent or skipped tests into failures,
``HALFULP_LONG=1`` adds the long tests, ``HALFULP_LONG=2/4`` the second quarter of them, ``HALFULP_EXHAUSTIVE=1`` all long and the
exhaustive ones, ``CI`` makes hypothesis repeatable.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterator
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from zlib import crc32

import hypothesis
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

# Whether machine code takes over must not depend on how much the tests before have computed; test_array_loop.py asks
# for it.
os.environ.setdefault("HALFULP_BACKEND", "numpy")

# Tables are kept on disk: not in the user's folder. The processes of one run share one, and remove it at its end.
if "HALFULP_CACHE" not in os.environ:
    os.environ["HALFULP_CACHE"] = tempfile.mkdtemp(prefix="halfulp-tests-")
    atexit.register(shutil.rmtree, os.environ["HALFULP_CACHE"], ignore_errors=True)

REQUIRE_MLIR = os.environ.get("HALFULP_REQUIRE_MLIR") == "1"
LONG = os.environ.get("HALFULP_LONG", "0")
# Tests expect the texts of MLIR 22, whatever else is installed.
MLIR_OPT = os.environ.setdefault("HALFULP_MLIR_OPT", "mlir-opt-22")
LIBLLVM = os.environ.get("HALFULP_LIBLLVM", "libLLVM.so.22.1")
CHROMIUM = os.environ.get("HALFULP_CHROMIUM", "chromium")
BROWSER_MILLISECONDS = 600_000
"""So long a page may take to do what a test waits for: a slow machine with other work must not reach it."""

# No deadline and no complaint about slowness: other processes share the cores. Speed is measured by benchmarks/.
hypothesis.settings.register_profile(
    "ci", derandomize=True, print_blob=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
# Each run draws other examples, so that few are enough. CI draws the same ones again and again, and many.
hypothesis.settings.register_profile(
    "local", hypothesis.settings.get_profile("ci"), derandomize=False, print_blob=False, max_examples=25
)
hypothesis.settings.load_profile("ci" if REQUIRE_MLIR or os.environ.get("CI") else "local")


@cache
def missing_mlir() -> str | None:
    """Say which part of real MLIR this machine lacks; return None when everything is there."""
    if shutil.which(MLIR_OPT) is None:
        return f"{MLIR_OPT} not found (Debian package mlir-22-tools; HALFULP_MLIR_OPT names another one)"
    try:
        ctypes.CDLL(LIBLLVM)
    except OSError as error:
        return f"{LIBLLVM} cannot be loaded (Debian package libllvm22; HALFULP_LIBLLVM names another one): {error}"
    return None


def missing_chromium() -> str | None:
    """Say what this machine lacks to drive Chromium; return None when everything is there."""
    if shutil.which(CHROMIUM) is None:
        return f"{CHROMIUM} not found (Debian package chromium; HALFULP_CHROMIUM names another one)"
    return None if find_spec("playwright") else "playwright is not installed (the extra test has it)"


def missing_iverilog() -> str | None:
    """Say what this machine lacks to simulate SystemVerilog and compile C; return None when everything is there."""
    absent = [name for name in ("iverilog", "vvp", "cc") if shutil.which(name) is None]
    return f"{' and '.join(absent)} not found (Debian packages iverilog, gcc)" if absent else None


def missing_verilator() -> str | None:
    """Say what this machine lacks to compile SystemVerilog to C++; return None when everything is there."""
    absent = [name for name in ("verilator", "make", "c++") if shutil.which(name) is None]
    return f"{' and '.join(absent)} not found (Debian packages verilator, make, g++)" if absent else None


def missing_ghdl() -> str | None:
    """Say what this machine lacks to simulate VHDL; return None when everything is there."""
    return None if shutil.which("ghdl") else "ghdl not found (Debian package ghdl)"


def not_built(variable: str, script: str, *files: str) -> str | None:
    """Say what is absent of what a script builds in the folder that a variable names; return None when all is there."""
    folder = os.environ.get(variable)
    if folder is None:
        return f"{variable} names no folder with {' and '.join(files)} (tests/{script} builds it)"
    absent = [file for file in files if not (Path(folder) / file).exists()]
    return f"{folder} has no {' and '.join(absent)} (tests/{script})" if absent else None


missing_testfloat = partial(
    not_built, "HALFULP_TESTFLOAT", "build_testfloat.sh", "RISCV/testfloat_ver", "8086-SSE/testfloat_ver"
)
missing_cvfpu = partial(not_built, "HALFULP_CVFPU", "build_cvfpu.sh", "bench")
missing_cuda_headers = partial(not_built, "HALFULP_CUDA_HEADERS", "build_cuda_headers.sh", "functions.so")


def missing_arm() -> str | None:
    """Say what this machine lacks to run instructions of AArch64 in qemu; return None when everything is there."""
    if shutil.which("qemu-aarch64") is None:
        return "qemu-aarch64 not found (Debian package qemu-user)"
    return not_built("HALFULP_ARM", "build_arm.sh", "arm_unit")


def not_installed(package: str, extra: str, what_else: Callable[[], str | None] = lambda: None) -> str | None:
    """Say that a package of an extra is not installed, or else what else is missing; return None when all is there."""
    return what_else() if find_spec(package) else f"{package} is not installed (the extra {extra} has it)"


@cache
def missing_iree() -> str | None:
    """Say why IREE's compiler cannot lower programs; return None when it can."""
    from halfulp.conformance.oracles.iree import compiler
    from halfulp.conformance.oracles.oracle import Unavailable

    try:
        compiler()
    except Unavailable as unavailable:
        return str(unavailable)
    return None


@cache
def missing_llvm_libc() -> str | None:
    """Say what this machine lacks to call LLVM's C library; return None when it is there."""
    from halfulp.conformance.oracles.libraries import LlvmLibc
    from halfulp.conformance.oracles.oracle import Unavailable

    try:
        LlvmLibc()
    except Unavailable as unavailable:
        return str(unavailable)
    return None


class Outside(NamedTuple):
    """A requirement of the tests of a marker: its name, its environment variable, and a check of what is missing.

    ``users``: how a module's source text shows that it holds such tests.
    """

    name: str
    variable: str
    missing: Callable[[], str | None]
    users: tuple[str, ...]

    @property
    def required(self) -> bool:
        """Tell whether tests that cannot run must fail."""
        return os.environ.get(self.variable) == "1"


OUTSIDE = {
    "mlir": Outside("real MLIR", "HALFULP_REQUIRE_MLIR", missing_mlir, ("mark.mlir", "mlir_opt")),
    "iverilog": Outside("iverilog", "HALFULP_REQUIRE_IVERILOG", missing_iverilog, ("mark.iverilog",)),
    "cocotb": Outside(
        "cocotb",
        "HALFULP_REQUIRE_COCOTB",
        partial(not_installed, "cocotb", "cocotb", missing_iverilog),
        ("mark.cocotb",),
    ),
    "verilator": Outside("Verilator", "HALFULP_REQUIRE_VERILATOR", missing_verilator, ("mark.verilator",)),
    "ghdl": Outside("GHDL", "HALFULP_REQUIRE_GHDL", missing_ghdl, ("mark.ghdl",)),
    "pyuvm": Outside(
        "pyuvm",
        "HALFULP_REQUIRE_PYUVM",
        lambda: missing_iverilog() or (None if find_spec("pyuvm") else "pyuvm is not installed (pip install pyuvm)"),
        ("mark.pyuvm",),
    ),
    "cuda_headers": Outside(
        "NVIDIA's headers", "HALFULP_REQUIRE_CUDA_HEADERS", missing_cuda_headers, ("mark.cuda_headers",)
    ),
    "cvfpu": Outside("cvfpu", "HALFULP_REQUIRE_CVFPU", missing_cvfpu, ("mark.cvfpu",)),
    "arm": Outside("qemu's AArch64", "HALFULP_REQUIRE_ARM", missing_arm, ("mark.arm",)),
    "testfloat": Outside("TestFloat", "HALFULP_REQUIRE_TESTFLOAT", missing_testfloat, ("mark.testfloat",)),
    "chromium": Outside("Chromium", "HALFULP_REQUIRE_CHROMIUM", missing_chromium, ("mark.chromium",)),
    "z3": Outside("z3", "HALFULP_REQUIRE_Z3", partial(not_installed, "z3", "prove"), ("mark.z3",)),
    "dask": Outside("Dask", "HALFULP_REQUIRE_DASK", partial(not_installed, "distributed", "scale"), ("mark.dask",)),
    "torch_mlir": Outside(
        "torch-mlir", "HALFULP_REQUIRE_TORCH_MLIR", partial(not_installed, "torch_mlir", "mlir"), ("mark.torch_mlir",)
    ),
    "torch": Outside("PyTorch", "HALFULP_REQUIRE_TORCH", partial(not_installed, "torch", "torch"), ("mark.torch",)),
    "arrow": Outside("pyarrow", "HALFULP_REQUIRE_ARROW", partial(not_installed, "pyarrow", "arrow"), ("mark.arrow",)),
    "iree": Outside("IREE's compiler", "HALFULP_REQUIRE_MLIR", missing_iree, ("mark.iree",)),
    "jax": Outside("JAX", "HALFULP_REQUIRE_JAX", partial(not_installed, "jax", "jax"), ("mark.jax",)),
    "onnx": Outside(
        "ONNX", "HALFULP_REQUIRE_ONNX", partial(not_installed, "onnx", "onnx", missing_iree), ("mark.onnx",)
    ),
    "tosa": Outside(
        "tosa-tools", "HALFULP_REQUIRE_TOSA", partial(not_installed, "tosa_reference_model", "tosa"), ("mark.tosa",)
    ),
    "triton": Outside("Triton", "HALFULP_REQUIRE_TRITON", partial(not_installed, "triton", "triton"), ("mark.triton",)),
    "llvm_libc": Outside("LLVM's C library", "HALFULP_REQUIRE_LLVM_LIBC", missing_llvm_libc, ("mark.llvm_libc",)),
}


def required_outside(item: pytest.Item) -> list[Outside]:
    """Return the requirements of a test besides Python."""
    return [outside for marker, outside in OUTSIDE.items() if item.get_closest_marker(marker)]


class MlirOpt(Protocol):
    """Runs mlir-opt on a module's text."""

    def __call__(self, text: str, *arguments: str) -> str:
        """Return what mlir-opt prints; RuntimeError with its diagnostics when it rejects the text."""
        ...


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Let SIGINT interrupt Python, even where the tests run in the background, without."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def _backend(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run a test by the backend of its marker, and use the one before afterwards, whichever the test chose."""
    marker = request.node.get_closest_marker("backend")
    if marker is None:
        yield
        return
    from halfulp.fp_formats.paths import llvm

    before = llvm.backend()
    llvm.use(*marker.args)
    yield
    llvm.use(before)


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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    # The sandbox needs rights that a container rarely gives; the pages are our own.
    options: dict[str, Any] = {"executable_path": shutil.which(CHROMIUM), "args": ["--no-sandbox"]}
    options["timeout"] = BROWSER_MILLISECONDS
    with sync_playwright() as playwright, playwright.chromium.launch(**options) as running:
        yield running


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Provide a fresh window's worth of state."""
    with browser.new_context(viewport={"width": 1200, "height": 900}) as made:
        made.set_default_timeout(BROWSER_MILLISECONDS)
        yield made


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep what the collection makes out of the collections of garbage: it stays to the end, and tens of thousands of tests are much to visit."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--most", type=int, help="of a test with more sets of parameters than this, the others count as long"
    )


def _mark_beyond(most: int, items: list[pytest.Item]) -> None:
    """Mark tests as long, so that of each function at most this number is not: from its first set of parameters to its
    last, at equal distances.
    """
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        if not any(map(item.get_closest_marker, ("long", "exhaustive"))):
            functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for tests in functions.values():
        kept = {number * (len(tests) - 1) // max(most - 1, 1) for number in range(most)}
        for number, item in enumerate(tests if len(tests) > most else ()):
            if number not in kept:
                item.add_marker("long")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that use mlir-opt; deselect long and exhaustive tests by default."""
    for item in items:
        if "mlir_opt" in getattr(item, "fixturenames", ()):
            item.add_marker("mlir")
    if config.option.most:
        _mark_beyond(config.option.most, items)
    part, parts = map(int, f"{LONG}/1".split("/")[:2])
    absent = []
    for marker, asked in (("exhaustive", os.environ.get("HALFULP_EXHAUSTIVE") == "1"), ("long", part)):
        if marker in config.option.markexpr or asked:
            break  # exhaustive tests come with the long ones
        absent.append(marker)

    def is_left_out(item: pytest.Item) -> bool:
        if any(map(item.get_closest_marker, absent)):
            return True
        # By its name, a test is in the same part wherever it runs.
        return bool(item.get_closest_marker("long")) and crc32(item.nodeid.encode()) % parts != part % parts

    left_out = [item for item in items if is_left_out(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        chosen = set(items).difference(left_out)
        items[:] = [item for item in items if item in chosen]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Without what it needs a test is skipped, or fails where that is required."""
    for outside in required_outside(item):
        if absent := outside.missing():
            if outside.required:
                pytest.fail(f"{outside.name} is required ({outside.variable}=1): {absent}", pytrace=False)
            pytest.skip(f"{outside.name.upper()} IS ABSENT: {absent}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, pytest.TestReport]:
    """Fail a test that skips itself although its requirement must be there."""
    report: pytest.TestReport = yield
    required = [outside.variable for outside in required_outside(item) if outside.required]
    if required and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in spite of {required[0]}=1: {call.excinfo and call.excinfo.value}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, pytest.CollectReport]:
    """Fail a module that skips itself as a whole although the requirement of its tests must be there."""
    report: pytest.CollectReport = yield
    if report.skipped and isinstance(collector, pytest.Module):
        source = collector.path.read_text(encoding="utf-8")
        for outside in OUTSIDE.values():
            if outside.required and any(user in source for user in outside.users):
                report.outcome = "failed"
                report.longrepr = f"module skipped in spite of {outside.variable}=1: {report.longrepr}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly what a machine without real MLIR or Chromium has not proved."""
    skipped = terminalreporter.stats.get("skipped", [])
    for marker, outside in OUTSIDE.items():
        if count := sum(marker in getattr(report, "keywords", ()) for report in skipped):
            terminalreporter.section(outside.name, red=True, bold=True)
            why = outside.missing() or "see above"
            terminalreporter.line(f"{count} tests against {outside.name} did NOT run: {why}", red=True)


@pytest.fixture
def iree_opt() -> str:
    """Return the path of iree-opt. Where it is absent the test is skipped, or fails if real MLIR is required."""
    from corpora.corpus_iree import find_iree_opt

    found = find_iree_opt()
    if found is not None:
        return found
    if REQUIRE_MLIR:
        pytest.fail("iree-opt is required (HALFULP_REQUIRE_MLIR=1): package iree-base-compiler", pytrace=False)
    pytest.skip("IREE IS ABSENT: package iree-base-compiler has iree-opt")
