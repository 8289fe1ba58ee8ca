"""The compiled loops: what test_fast_domains.py checks of every path, by them; their own domains; when they are taken."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import halfulp
from float_samples import SMALL

from halfulp.fp_formats.exact import conversions
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS, FloatFormat, NanEncoding
from halfulp.fp_formats.paths import compiled, fast, fast_conversions, tables
from halfulp.fp_formats.policy import SPEC, FloatPolicy, Rounding

numba = pytest.importorskip("numba", reason="the extra `fast` is not installed")

RNE = Rounding.TO_NEAREST_EVEN
F32, F64, BF16, F16, E8M0 = (FORMATS[name] for name in ("f32", "f64", "bf16", "f16", "f8E8M0FNU"))


def _module(name: str) -> Any:
    """Another file of tests, run as a copy."""
    spec = importlib.util.spec_from_file_location(f"{name}_compiled", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


domains = _module("test_fast_domains")
# Its tests, by the compiled loops; the one of memory comes below, for importing numba takes some. `check_nans` does more
# than the one of NaNs.
_tables_at_once, two_at_once = domains._tables_at_once, domains.two_at_once
globals().update({name: test for name, test in vars(domains).items() if name.startswith("test_")})
del test_memory, test_nans_of_casts  # type: ignore[name-defined] # noqa: F821


AT_ONCE = tables.AT_ONCE


def chunks(monkeypatch: pytest.MonkeyPatch, longest: int) -> None:
    for module in (tables, fast_conversions):
        monkeypatch.setattr(module, "AT_ONCE", longest)


@pytest.fixture(autouse=True)
def _by_numba(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In chunks as short as the tests of layouts expect."""
    before = compiled.backend()
    compiled.use("numba")
    chunks(monkeypatch, tables.CHUNK)
    yield
    compiled.use(before)


# --- what goes ahead without a table ----------------------------------------------------------------------------------

DESTINATIONS = (*SMALL, *domains.OTHERS, BF16, F16)


def ahead_of(src: FloatFormat, dst: FloatFormat, policy: FloatPolicy = SPEC) -> Any:
    return fast_conversions._compiled_ahead(src, dst, RNE, policy, 1)


def test_declared_domain() -> None:
    """The declared domain needs no table, and is as fast as a table."""
    for dst in DESTINATIONS:
        kind = {"bf16": "shorten", "f8E8M0FNU": "f64"}.get(dst.name, "f32")
        assert fast_conversions.ahead_of(F32, dst) == kind, dst
        assert fast_conversions.ahead_of(F64, dst) == "f64"
        for mode in (1, 2, 3, 4, 5):
            assert fast_conversions.ahead_of(F32, dst, mode) is None
        assert fast_conversions.ahead_of(F32, dst, RNE, FloatPolicy(denormals="flush_results")) is None
    assert fast_conversions.ahead_of(BF16, F32) == "widen"
    for dst in (F32, BF16):
        assert all(fast_conversions.ahead_of(E8M0, dst, mode) == "exponents" for mode in range(5))
    assert {fast_conversions.ahead_of(E8M0, dst) for dst in (F64, F16, FORMATS["f8E5M2"], FORMATS["f128"])} == {None}
    assert fast_conversions.ahead_of(E8M0, F32, Rounding.STOCHASTIC) is None
    assert fast_conversions.ahead_of(F16, F32) is None
    assert fast_conversions.ahead_of(F32, F64) is None
    assert fast_conversions.ahead_of(F32, FORMATS["tf32"]) is None


def test_nothing_but_exponents() -> None:
    """Every code, with every mode and policy, in arrays of any length."""
    every = np.tile(np.arange(256, dtype=np.uint8), 5)
    for dst, mode, policy in product((F32, BF16), range(5), domains.POLICIES):
        ahead = fast_conversions._compiled_ahead(E8M0, dst, mode, policy, 1)
        assert ahead is not None
        for codes in (every, every[3:-5], every[:0]):
            out = np.empty(codes.size, dst.storage_dtype)
            assert ahead(codes, out) == codes.size
            domains.assert_same(
                ArrayResult(out), conversions.convert(E8M0, dst, codes, mode, policy), (dst, mode, policy)
            )
        domains.check([(mode, policy)], "convert", E8M0, dst, every)


def check_nans(src: FloatFormat, dst: FloatFormat, policy: FloatPolicy, ahead: Any) -> None:
    """Assert that no NaN stops the loop, but that of all ones, and that all are right: with every single bit of the
    fraction, with drawn ones, and of both signs.
    """
    bits = [1 << place for place in range(src.mantissa_bits)]
    drawn = np.random.default_rng(5).integers(1, src.fraction_mask, 300, np.uint64).tolist()
    fractions = [*bits, *(src.fraction_mask - bit for bit in bits), *drawn]
    infinity = src.infinity_code or 0
    nans = np.array([infinity | each for each in fractions], src.storage_dtype)
    nans = np.concatenate([nans, nans | src.storage_dtype.type(src.sign_mask or 0)])
    out = np.empty(nans.size, dst.storage_dtype)
    with np.errstate(all="ignore"):
        assert ahead(nans, out) == nans.size
    domains.assert_same(ArrayResult(out), conversions.convert(src, dst, nans, RNE, policy), (src, dst, policy))
    domains.check([(RNE, policy)], "convert", src, dst, np.append(nans, nans.dtype.type(src.code_mask)))


def check_ahead(src: FloatFormat, dst: FloatFormat, policy: FloatPolicy, sample: Any) -> None:
    """Assert that all blocks before the first special code are done and right, and, for any codes, that the whole is
    right.
    """
    ahead = ahead_of(src, dst, policy)
    if ahead is None:
        return
    limit = src.infinity_code or 0
    specials = [src.nan_code] if dst.signed else [src.nan_code, src.sign_mask]
    if dst.nan is NanEncoding.IEEE and policy.conversion_overflow != "saturate":
        specials = []
        check_nans(src, dst, policy, ahead)
    else:
        limit = conversions.convert(dst, src, np.array([dst.max_code], dst.storage_dtype)).codes[0]
    plain = sample[(sample & src.magnitude_mask <= min(limit, src.max_code)) & (sample != src.sign_mask)]
    out = np.empty(plain.size, dst.storage_dtype)
    with np.errstate(all="ignore"):
        assert ahead(plain, out) == plain.size
    domains.assert_same(ArrayResult(out), conversions.convert(src, dst, plain, RNE, policy), (src, dst, policy))
    for code, place in product(specials, (0, compiled.BLOCK - 1, compiled.BLOCK, plain.size - 1)):
        stopped = plain.copy()
        stopped[place] = code
        assert ahead(stopped, out) == place // compiled.BLOCK * compiled.BLOCK
    mixed = np.append(sample, plain)
    domains.check([(RNE, policy)], "convert", src, dst, mixed)


@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("dst", DESTINATIONS, ids=str)
def test_sums_of_f32(dst: FloatFormat, step: int) -> None:
    """The upper halves of f32 with all that can lie below a tie, and on it."""
    upper, lower = domains.every(16)[::step], domains.LOW_HALVES if dst.bits > 8 else ()
    for policy in domains.POLICIES:
        check_ahead(F32, dst, policy, domains.with_low_bits(upper, 16, np.uint32, lower))


@pytest.mark.parametrize("count", [1 << 10, pytest.param(None, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("dst", DESTINATIONS, ids=str)
def test_sums_of_f64(dst: FloatFormat, count: int | None) -> None:
    sample = domains.near_f32_ties(dst)[:: 1 if dst.bits <= 8 or count is None else 31]
    if dst.bits <= 8:
        sample = np.append(sample, domains.heads("f64", dst, count))
    for policy in domains.POLICIES:
        check_ahead(F64, dst, policy, sample)


def test_widening() -> None:
    for policy in domains.POLICIES:
        check_ahead(BF16, F32, policy, domains.every(16))


@pytest.mark.parametrize(
    ("name", "to"), [("f4E2M1FN", "f32"), ("f6E3M2FN", "f8E5M2"), ("tf32", "f64"), ("tf32", "f8E5M2")]
)
def test_what_is_no_code_reads_nothing_else(name: str, to: str) -> None:
    """Bits above those of a format may be set: the result is anything, but of the table."""
    fmt = FORMATS[name]
    junk = np.full(1000, np.iinfo(fmt.storage_dtype).max, fmt.storage_dtype)
    got = fast.convert(fmt, FORMATS[to], junk).codes
    assert (got == fast.convert(fmt, FORMATS[to], junk & fmt.storage_dtype.type(fmt.code_mask)).codes).all()
    if fmt.bits <= 8:
        assert fast.add(fmt, junk, junk).codes.max() <= fmt.code_mask


@pytest.mark.parametrize("what", domains.MEMORY)
def test_memory_once_compiled(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chunks(monkeypatch, AT_ONCE)
    side = 2048
    random = np.random.default_rng(3).integers(0, 1 << 32, (side, side), np.uint32, endpoint=False)
    inputs = random.astype(np.uint8), random.astype(np.uint16), random, random >> np.uint32(13)
    domains.MEMORY[what](*(part[:2, :2] for part in inputs))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = domains.MEMORY[what](*inputs)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    poison = 0 if result.poison is None else result.poison.nbytes
    assert peak - result.codes.nbytes - poison <= 8e6


@pytest.fixture
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave numba no folder for what it compiles."""
    from numba.core import caching

    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])


@pytest.mark.usefixtures("no_cache")
def test_sums_are_not_rearranged() -> None:
    """Adding a power and taking it away again would be nothing, were floats real numbers."""
    found = fast_conversions._ahead(F32, F16, RNE, SPEC)
    assert found is not None
    function: Any = compiled.Loop(found[0].function, found[0].kinds).get(1)
    (text,) = function.inspect_llvm().values()
    sums = [line for line in text.splitlines() if " fadd " in line]
    assert sums
    assert not [line for line in sums if "fast" in line or "reassoc" in line]


# --- the choice of a backend ------------------------------------------------------------------------------------------


def fresh() -> compiled.Loop:
    """Return a loop that has not been compiled yet."""
    return compiled.Loop(compiled.look_up, ((np.dtype("u1"),), (np.dtype("u4"),), (np.dtype("u4"),)))


def works(function: Any) -> bool:
    codes, table = np.arange(103, dtype=np.uint8), np.arange(256, dtype=np.uint32) * 3
    out = np.zeros(103, np.uint32)
    function(codes, table, out)
    return bool((out == table[:103]).all())


def test_numba_waits_until_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "PAYS", 100)
    loop = fresh()
    compiled.use("auto")
    assert loop.get(60) is None
    assert loop.get(39) is None
    assert works(loop.get(1))
    compiled.use("numpy")
    assert loop.get(1000) is None
    compiled.use("auto")
    assert works(loop.get(0))
    assert compiled.loop(compiled.look_up, "u1") is compiled.loop(compiled.look_up, "u1")


def test_threads_compile_together() -> None:
    loop = fresh()
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda _: works(loop.get(1)), range(16)))


def test_read_only_operands_that_lie_anywhere() -> None:
    data = np.arange(4 * 1000 + 1, dtype=np.uint64).astype(np.uint8)
    codes = data[1:].view(np.uint32)
    codes.flags.writeable = False
    for dst in (FORMATS["f8E5M2"], BF16):
        domains.assert_same(fast.convert(F32, dst, codes), conversions.convert(F32, dst, codes.copy()))


@pytest.mark.usefixtures("no_cache")
def test_without_a_folder_for_the_cache() -> None:
    assert works(fresh().get(1))


def test_numba_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """An explicit request for numba fails with an error; otherwise NumPy is used."""
    monkeypatch.setattr(compiled, "PAYS", 0)

    def fail(name: str) -> Any:
        raise ImportError("needs another NumPy")

    monkeypatch.setattr(compiled, "import_module", fail)
    with pytest.raises(ImportError, match="another NumPy"):
        fresh().get(1)
    compiled.use("auto")
    with pytest.warns(RuntimeWarning, match="goes on without numba: ImportError.'needs another NumPy'"):
        assert fresh().get(1) is None
    assert compiled.backend() == "numpy"


def test_numba_that_may_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would run the loops as they are, a thousand times slower than NumPy."""
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    with pytest.raises(RuntimeError, match="NUMBA_DISABLE_JIT is set"):
        fresh().get(1)


def test_unknown_backends() -> None:
    with pytest.raises(ValueError, match="the backend is 'fast', but must be one of auto, numpy, numba"):
        compiled.use("fast")
    assert compiled.backend() == "numba"


CONVERT = """
import sys
{before}
import numpy as np
from halfulp.fp_formats.paths import compiled
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.formats import FORMATS
compiled.PAYS = 100
codes = np.arange({elements}, dtype=np.uint32) << np.uint32(20)
result = fast.convert(FORMATS["f32"], FORMATS["f8E4M3FN"], codes)
print(compiled.backend(), sys.modules.get("numba") is not None, result.codes[1016])
"""


@pytest.mark.parametrize(
    ("backend", "before", "elements", "expected"),
    [
        ("", "", 1017, "auto True 56"),
        ("auto", "sys.modules['numba'] = None", 1017, "numpy False 56"),
        ("numpy", "", 1017, "numpy False 56"),
        ("numba", "", 1017, "numba True 56"),
        ("numba", "sys.modules['numba'] = None", 1017, "HALFULP_BACKEND is 'numba', but numba is not installed"),
        ("C", "", 1017, "HALFULP_BACKEND is 'C', but must be one of auto, numpy, numba"),
    ],
)
def test_environment(monkeypatch: pytest.MonkeyPatch, backend: str, before: str, elements: int, expected: str) -> None:
    monkeypatch.setenv("HALFULP_BACKEND", backend)
    code = CONVERT.format(before=before, elements=elements)
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert expected in done.stdout + done.stderr.split("ValueError: ")[-1]


def test_importing_halfulp_leaves_numba_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import halfulp, sys; halfulp.convert(1.5, to='f8E5M2'); print('numba' in sys.modules)"
    monkeypatch.setenv("HALFULP_BACKEND", "auto")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_command_line_names_the_backends() -> None:
    done = halfulp("formats", environment={"HALFULP_BACKEND": "cuda"})
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: HALFULP_BACKEND is 'cuda', but must be one of auto, numpy, numba\n"
    assert halfulp("formats", environment={"HALFULP_BACKEND": "numba"}).code == 0


def test_compiled_code_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second process compiles nothing."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("HALFULP_BACKEND", "numba")
    code = CONVERT.format(before="", elements=1017)
    kept = []
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        kept.append({path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")})
    assert kept[0]
    assert kept[0] == kept[1]
