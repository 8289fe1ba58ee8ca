"""The loop of machine code: what test_fast_domains.py checks of every path, by it; its own domains; when it is made."""

import importlib.util
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import amounts, thinned
from command import halfulp
from float_samples import SMALL
from present import present

from halfulp.fp_formats.exact import arithmetic, conversions
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, NanEncoding
from halfulp.fp_formats.paths import array_loop, domains, fast, llvm, word_floats
from halfulp.fp_formats.paths.array_loop import ArrayLoop, Plan
from halfulp.fp_formats.paths.emitter import Tables
from halfulp.fp_formats.paths.words import Word
from halfulp.fp_formats.policy import SPEC, FloatPolicy, Rounding

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.backend("llvm")

RNE = Rounding.TO_NEAREST_EVEN
F32, F64, BF16, F16, E8M0 = (FORMATS[name] for name in ("f32", "f64", "bf16", "f16", "f8E8M0FNU"))


def _module(name: str) -> Any:
    """Another file of tests, run as a copy."""
    spec = present(importlib.util.spec_from_file_location(f"{name}_compiled", Path(__file__).with_name(f"{name}.py")))
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


shared = _module("test_fast_domains")
# Its tests, by the loop; the one of memory comes below, for importing llvmlite takes some.
_tables_at_once = shared._tables_at_once
globals().update({name: test for name, test in vars(shared).items() if name.startswith("test_")})
del test_memory  # type: ignore[name-defined] # noqa: F821


# --- conversions that refuse nothing ----------------------------------------------------------------------------------

DESTINATIONS = (*SMALL, *shared.OTHERS, BF16, F16)


def all_at_once(described: Any, src: FloatFormat, dst: FloatFormat, codes: Codes) -> tuple[Codes, Codes]:
    """Return what a description makes of codes, and the places that it refuses."""
    loop = ArrayLoop(Plan([array_loop.ChainOfOne(described, (0,))], (src.bits,), (False,), [1], tells=True))
    out, refused = np.empty(codes.size, dst.storage_dtype), np.empty(codes.size, np.uint8)
    loop.run([codes], [out, refused], codes.size)
    return out, np.flatnonzero(refused)


def check_words(src: FloatFormat, dst: FloatFormat, rounding: int, policy: FloatPolicy, codes: Codes) -> None:
    """Assert that a description is right wherever it does not refuse, and refuses nothing but poison."""
    described = word_floats.convert(src, dst, rounding, policy)
    if described is None:
        return
    out, refused = all_at_once(described, src, dst, codes)
    want = conversions.convert(src, dst, codes, rounding, policy)
    poison = np.flatnonzero(want.poison) if want.poison is not None else refused[:0]
    np.testing.assert_array_equal(refused, poison, str((src, dst, rounding, policy)))
    out[refused] = want.codes[refused]
    np.testing.assert_array_equal(out, want.codes, str((src, dst, rounding, policy)))


def nans_of(src: FloatFormat) -> Codes:
    """NaNs with every single bit of the fraction, with all others, and with drawn ones, of both signs."""
    bits = [1 << place for place in range(src.mantissa_bits)]
    drawn = np.random.default_rng(5).integers(1, src.fraction_mask, 300, np.uint64).tolist()
    fractions = [*bits, *(src.fraction_mask - bit for bit in bits), src.fraction_mask, *drawn]
    nans = np.array([(src.infinity_code or 0) | each for each in fractions], src.storage_dtype)
    return np.concatenate([nans, nans | src.storage_dtype.type(src.sign_mask or 0)])


def test_declared_domain() -> None:
    """Conversions of f32 and f64 to nearest even, to formats of up to 16 bits, need no table."""
    for dst in DESTINATIONS:
        sums, by_code = domains.sums_of(F32, dst), dst == BF16
        assert sums is not None
        assert sums.fmt == (F64 if dst in (E8M0, BF16) else F32) or by_code
        for mode in (1, 2, 3, 4, 5):
            assert domains.sums_of(F32, dst, mode) is None
        assert domains.sums_of(F32, dst, RNE, FloatPolicy(denormals="flush_results")) is None
    for dst in (F32, BF16):
        assert all(domains.only_moves(E8M0, dst, mode, SPEC) for mode in range(5))
    assert not any(domains.only_moves(E8M0, dst, RNE, SPEC) for dst in (F64, F16, FORMATS["f8E5M2"], FORMATS["f128"]))
    assert not domains.only_moves(E8M0, F32, Rounding.STOCHASTIC, SPEC)
    assert domains.sums_of(F32, FORMATS["tf32"]) is None


@pytest.mark.long
@pytest.mark.parametrize("step", amounts(53, 1))
@pytest.mark.parametrize("dst", thinned(DESTINATIONS, 5), ids=str)
def test_words_of_f32(dst: FloatFormat, step: int) -> None:
    """The upper halves of f32 with all that can lie below a tie, and on it; the largest numbers and what is above."""
    upper, lower = shared.every(16)[::step], shared.LOW_HALVES if dst.bits > 8 else ()
    sample = np.concatenate([shared.with_low_bits(upper, 16, np.uint32, lower), nans_of(F32), ends(F32, dst)])
    for policy in shared.POLICIES:
        check_words(F32, dst, RNE, policy, sample)


@pytest.mark.long
@pytest.mark.parametrize("parts", amounts(20, long=1))
def test_words_of_f32_to_the_other_formats(parts: int) -> None:
    sample = np.concatenate(
        [shared.with_low_bits(shared.every(16)[::7], 16, np.uint32, shared.LOW_HALVES), nans_of(F32)]
    )
    for dst in (F32, FORMATS["tf32"]):
        for policy, mode in list(product(shared.POLICIES, shared.MODES))[::parts]:
            check_words(F32, dst, mode, policy, sample)


@pytest.mark.long
@pytest.mark.parametrize("count", [1 << 10, pytest.param(None, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("dst", thinned(DESTINATIONS, 5), ids=str)
def test_words_of_f64(dst: FloatFormat, count: int | None) -> None:
    sample = shared.near_f32_ties(dst)[:: 1 if dst.bits <= 8 or count is None else 31]
    if dst.bits <= 8:
        sample = np.append(sample, shared.heads("f64", dst, count))
    sample = np.concatenate([sample, nans_of(F64), ends(F64, dst)])
    for policy in shared.POLICIES:
        check_words(F64, dst, RNE, policy, sample)


def ends(src: FloatFormat, dst: FloatFormat) -> Codes:
    """Codes around the largest number of a format, and around the middle between it and what would follow, of both
    signs; the smallest codes, and infinity.
    """
    largest = conversions.convert(dst, src, np.array([dst.max_code], dst.storage_dtype)).codes[0]
    half = 1 << max(0, src.mantissa_bits - dst.mantissa_bits - 1)
    middles = [int(largest) + step * half for step in (-2, -1, 0, 1, 2, 3, 4)] + [0, src.infinity_code or 0]
    codes = np.array([middle + near for middle in middles for near in range(-40, 41)], np.int64)
    codes = codes[(codes >= 0) & (codes <= (src.infinity_code or 0))].astype(src.storage_dtype)
    return np.concatenate([codes, codes | src.storage_dtype.type(src.sign_mask or 0)])


@pytest.mark.long
@pytest.mark.parametrize("share", amounts((97, 20), (1, 1)), ids=str)
@pytest.mark.parametrize("src", thinned([F16, BF16, *SMALL], 4), ids=str)
def test_words_of_short_codes(src: FloatFormat, share: tuple[int, int]) -> None:
    """Every code of up to 8 bits, and many longer ones with all that are NaNs, to every format, to nearest even and in
    some mode. ``share``: one of so many codes of 16 bits, and one of so many pairs of a format and a policy.
    """
    step, parts = share
    codes = shared.every(src.bits)
    if src.bits == 16:
        codes = np.concatenate([codes[::step], codes[fast.is_nan(src, codes)][:: min(step, 3)]])
    destinations = enumerate((*SMALL, *shared.OTHERS, BF16, F16, F32, F64))
    for (number, dst), policy in list(product(destinations, shared.POLICIES))[src.bias % parts :: parts]:
        for mode in (RNE, shared.MODES[number % 5]):
            described = word_floats.convert(src, dst, mode, policy)
            if described is not None and dst in (F32, F64) and (src, dst) != (BF16, F32):
                check_but_nans(described, src, dst, mode, policy, codes)
            else:
                check_words(src, dst, mode, policy, codes)


def check_but_nans(
    described: Any, src: FloatFormat, dst: FloatFormat, mode: int, policy: FloatPolicy, codes: Codes
) -> None:
    """Assert that a description is right, and refuses NaNs at most."""
    out, refused = all_at_once(described, src, dst, codes)
    want = conversions.convert(src, dst, codes, mode, policy).codes
    assert fast.is_nan(src, codes[refused]).all()
    out[refused] = want[refused]
    np.testing.assert_array_equal(out, want)


@pytest.mark.long
def test_bounds_of_f4() -> None:
    """What is above the largest number of f4E2M1FN, and every code of f16 and bf16."""
    fmt = FORMATS["f4E2M1FN"]
    assert fmt.nan is NanEncoding.NONE
    for src in (F16, BF16):
        check_words(src, fmt, RNE, SPEC, shared.every(16))
    for start in (0x40B0, 0xC0B0, 0x3E70, 0x7F70, 0x7F80):
        check_words(F32, fmt, RNE, SPEC, np.arange(start << 16, (start << 16) + (1 << 20), dtype=np.uint32))


@pytest.mark.parametrize("name", thinned(["f32", "f16", "bf16"], 3))
@pytest.mark.parametrize(
    "operation", thinned(["add", "subtract", "multiply", "divide", "maximum", "minimum_number"], 2)
)
def test_few_refused_elements(operation: str, name: str) -> None:
    """NaNs among many numbers: what is refused is computed apart, in blocks, or element by element."""
    fmt = FORMATS[name]
    for count, share in ((5000, 0.001), (200_000, 0.001), (70_000, 0.5)):
        rng = np.random.default_rng(count)
        x, y = rng.integers(0, fmt.code_mask, (2, count), fmt.storage_dtype, endpoint=True)
        where = np.flatnonzero(rng.random(count) < share)
        x[where] = (fmt.infinity_code or 0) | rng.integers(1, fmt.fraction_mask, where.size, fmt.storage_dtype)
        for b in (y, y[7:8]):
            found = getattr(fast, operation)(fmt, x, b)
            want = getattr(arithmetic, operation)(fmt, x, np.broadcast_to(b, x.shape))
            shared.assert_same(found, want, (operation, fmt, count))


def test_poison_of_few_elements() -> None:
    x = np.random.default_rng(3).standard_normal(300_001).astype(np.float32)
    x[[0, 5, 4095, 4096, 200_000, 300_000]] = np.nan
    found = fast.convert(F32, FORMATS["f4E2M1FN"], x.view(np.uint32))
    shared.assert_same(found, conversions.convert(F32, FORMATS["f4E2M1FN"], x.view(np.uint32)))
    assert found.poison is not None
    assert np.flatnonzero(found.poison).tolist() == [0, 5, 4095, 4096, 200_000, 300_000]


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_share_a_long_array(threads: int) -> None:
    before = llvm.threads()
    llvm.use_threads(threads)
    try:
        codes = np.random.default_rng(1).integers(0, 1 << 32, 600_003, np.uint32)
        shared.assert_same(fast.convert(F32, BF16, codes), conversions.convert(F32, BF16, codes))
    finally:
        llvm.use_threads(before)


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


@pytest.mark.parametrize("what", thinned(shared.MEMORY, 4))
def test_memory_once_compiled(what: str) -> None:
    side = 2048
    random = np.random.default_rng(3).integers(0, 1 << 32, (side, side), np.uint32, endpoint=False)
    inputs = random.astype(np.uint8), random.astype(np.uint16), random, random >> np.uint32(13)
    shared.MEMORY[what](*(part[:2, :2] for part in inputs))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = shared.MEMORY[what](*inputs)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    poison = 0 if result.poison is None else result.poison.nbytes
    assert peak - result.codes.nbytes - poison <= 8e6


def test_sums_are_not_rearranged() -> None:
    """Adding a power and taking it away again would be nothing, were floats real numbers."""
    described = present(word_floats.convert(F32, F16, RNE, SPEC))
    plan = Plan([array_loop.ChainOfOne(described, (0,))], (32,), (False,), [1])
    text, _ = array_loop._assembly(plan, Tables())
    sums = [line for line in text.splitlines() if " fadd " in line]
    assert sums
    assert not [line for line in sums if "fast" in line or "reassoc" in line]


# --- when a loop is made ----------------------------------------------------------------------------------------------


def fresh() -> array_loop.Waiting:
    """Return a loop that has not been made yet."""
    return array_loop.Waiting(Plan([array_loop.ChainOfOne(lambda a: a * 3, (0,))], (32,), (False,), [1]))


def works(loop: ArrayLoop | None) -> bool:
    assert loop is not None
    codes, out = np.arange(103, dtype=np.uint32), np.zeros(103, np.uint32)
    return not loop.run([codes], [out], 103) and bool((out == codes * 3).all())


def test_a_loop_waits_until_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_loop, "PAYS", 3 * llvm.SHORT)
    loop = fresh()
    llvm.use("auto")
    assert loop.get(2 * llvm.SHORT) is None
    assert loop.get(llvm.SHORT - 1) is None
    assert works(loop.get(llvm.SHORT))
    assert loop.get(llvm.SHORT - 1) is None
    llvm.use("numpy")
    assert loop.get(1 << 30) is None
    llvm.use("llvm")
    assert works(loop.get(1))


def test_short_arrays_stay_with_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_loop, "PAYS", 0)
    llvm.use("auto")
    made: list[Plan] = []
    make = ArrayLoop

    def noted(plan: Plan) -> ArrayLoop:
        made.append(plan)
        return make(plan)

    monkeypatch.setattr(array_loop, "ArrayLoop", noted)
    array_loop._waiting.cache_clear()
    codes = np.arange(llvm.SHORT, dtype=np.uint32) << np.uint32(19)
    fast.convert(F32, F16, codes[1:])
    assert not made
    fast.convert(F32, F16, codes)
    assert len(made) == 1


def test_threads_compile_together() -> None:
    loop = fresh()
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda _: works(loop.get(1)), range(16)))


def test_rows_of_parameters() -> None:
    """Rows with a parameter each, and rows that share parameters; refused parts name their rows."""

    def described(a: Word, b: Word) -> Word:
        a.equals(7).refuse()
        return a * b

    rows, length = 3, 5000
    x = np.arange(rows * length, dtype=np.uint32).reshape(rows, length)
    for splat, b in ((True, np.array([2, 5, 9], np.uint32)), (False, np.arange(length, dtype=np.uint32))):
        loop = ArrayLoop(Plan([array_loop.ChainOfOne(described, (0, 1))], (32, 32), (False, splat), [2]))
        out = np.zeros((rows, length), np.uint32)
        left = loop.run_rows([x, b], out, (rows, length), (True, splat))
        assert left == [(0, slice(0, array_loop.BLOCK))]
        want = x * (b[:, None] if splat else b[None, :])
        want[0, 7] = out[0, 7]
        assert (out == want).all()


def test_read_only_operands_that_lie_anywhere() -> None:
    data = np.arange(4 * 1000 + 1, dtype=np.uint64).astype(np.uint8)
    codes = data[1:].view(np.uint32)
    codes.flags.writeable = False
    for dst in (FORMATS["f8E5M2"], BF16):
        shared.assert_same(fast.convert(F32, dst, codes), conversions.convert(F32, dst, codes.copy()))


def fail(*_: Any) -> Any:
    raise RuntimeError("no memory may hold code")


def test_llvm_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """An explicit request for machine code fails with an error; otherwise NumPy is used."""
    monkeypatch.setattr(array_loop, "PAYS", 0)
    monkeypatch.setattr(llvm, "compile_assembly", fail)
    with pytest.raises(RuntimeError, match="no memory"):
        fresh().get(1)
    llvm.use("auto")
    with pytest.warns(RuntimeWarning, match=r"goes on without machine code: RuntimeError\('no memory may hold code"):
        assert fresh().get(llvm.SHORT) is None
    assert llvm.backend() == "numpy"


def test_unknown_backends() -> None:
    with pytest.raises(ValueError, match="the backend is 'fast', but must be one of auto, numpy, llvm"):
        llvm.use("fast")
    with pytest.raises(ValueError, match="the backend is 'numba', which is called 'llvm'"):
        llvm.use("numba")
    assert llvm.backend() == "llvm"


CONVERT = """
import sys
{before}
import numpy as np
from halfulp.fp_formats.paths import array_loop, fast, llvm
from halfulp.fp_formats.formats import FORMATS
array_loop.PAYS = llvm.SHORT = 100
codes = np.arange({elements}, dtype=np.uint32) << np.uint32(20)
result = fast.convert(FORMATS["f32"], FORMATS["f8E4M3FN"], codes)
print(llvm.backend(), sys.modules.get("llvmlite") is not None, result.codes[1016])
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("backend", "before", "elements", "expected"),
    [
        ("", "", 1017, "auto True 56"),
        ("auto", "sys.modules['llvmlite'] = None", 1017, "auto False 56"),
        ("numpy", "", 1017, "numpy False 56"),
        ("llvm", "", 1017, "llvm True 56"),
        (
            "llvm",
            "sys.modules['llvmlite'] = None",
            1017,
            "HALFULP_BACKEND is 'llvm', but llvmlite is not installed",
        ),
        ("numba", "", 1017, "HALFULP_BACKEND is 'numba', which is called 'llvm'"),
        ("C", "", 1017, "HALFULP_BACKEND is 'C', but must be one of auto, numpy, llvm"),
    ],
)
def test_environment(monkeypatch: pytest.MonkeyPatch, backend: str, before: str, elements: int, expected: str) -> None:
    monkeypatch.setenv("HALFULP_BACKEND", backend)
    code = CONVERT.format(before=before, elements=elements)
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert expected in done.stdout + done.stderr.split("ValueError: ")[-1]


@pytest.mark.long
def test_importing_halfulp_leaves_llvmlite_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import halfulp, sys; halfulp.convert(1.5, to='f8E5M2'); print('llvmlite' in sys.modules)"
    monkeypatch.setenv("HALFULP_BACKEND", "auto")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.long
def test_the_command_line_names_the_backends() -> None:
    done = halfulp("formats", environment={"HALFULP_BACKEND": "cuda"})
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: HALFULP_BACKEND is 'cuda', but must be one of auto, numpy, llvm\n"
    assert halfulp("formats", environment={"HALFULP_BACKEND": "llvm"}).code == 0


@pytest.mark.long
def test_machine_code_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second process compiles nothing."""
    monkeypatch.setenv("HALFULP_CACHE", str(tmp_path))
    monkeypatch.setenv("HALFULP_BACKEND", "llvm")
    code = CONVERT.format(before="from halfulp.fp_formats.paths import llvm; {0}", elements=1017)
    compile_here = code.format("")
    refuse = code.format("llvm._object_of = None")
    for text in (compile_here, refuse):
        done = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True)
        assert done.stdout == "llvm True 56\n"
