"""The profiles of tools and processors: `torch` and `jax` beside the packages, `x86-sse` and `x87` beside this
processor, `arm`, `riscv` and `cuda-sat` beside the cases of their documents. test_cuda_headers.py compares `cuda-sat`
with NVIDIA's headers, test_arm_profile.py compares `arm` with qemu.
"""

import ctypes
import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from amounts import amounts

import halfulp as hu
from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import arithmetic, conversions
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import ALL_FORMATS, FORMATS, FloatFormat, ints_to_codes
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics.profile import PROFILES

F32, F64, F80 = FORMATS["f32"], FORMATS["f64"], FORMATS["f80"]
RNE = Rounding.TO_NEAREST_EVEN
Codes = npt.NDArray[Any]


def samples(fmt: FloatFormat, count: int, seed: int = 1) -> Codes:
    """Return all codes of a format of up to 16 bits; else random ones, NaNs, and all that share the upper 16 bits with
    such, with their neighbours.
    """
    kind = fmt.storage_dtype.type
    if fmt.bits <= 16:
        return np.arange(1 << fmt.bits).astype(kind)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, 1 << fmt.bits, count // 2, dtype=np.uint64, endpoint=False) if fmt.bits < 64 else None
    if drawn is None:
        drawn = rng.integers(0, (1 << 64) - 1, count // 2, dtype=np.uint64)
    near_one = (rng.standard_normal(count // 2) * np.exp2(rng.integers(-30, 20, count // 2))).astype(
        f"f{fmt.bits // 8}"
    )
    upper = (np.arange(1 << 16, dtype=np.uint64) << np.uint64(fmt.bits - 16)).astype(kind)
    return np.concatenate([drawn.astype(kind), near_one.view(kind), upper, upper + kind(1), upper - kind(1)])


# --- torch ------------------------------------------------------------------------------------------------------------

TORCH = {
    "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2": "float8_e5m2",
    "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E5M2FNUZ": "float8_e5m2fnuz",
    "f8E8M0FNU": "float8_e8m0fnu",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
}
FLOAT8 = tuple(name for name in TORCH if name.startswith("f8"))
MOST = 1 << 21  # elements at once


def by_torch(codes: Codes, src: str, dst: str) -> Codes:
    import torch

    storage = FORMATS[dst].storage_dtype
    signed = torch.from_numpy(codes.view(codes.dtype.str.replace("u", "i")).copy())
    found = signed.view(getattr(torch, TORCH[src])).to(getattr(torch, TORCH[dst]))
    return np.asarray(found.view(getattr(torch, f"int{8 * storage.itemsize}")).numpy().view(storage))


def differing(
    profile: str, src: str, dst: str, codes: Codes, tool: Callable[[Codes, str, str], Codes]
) -> tuple[int, int]:
    """Return how many results of a conversion differ, and how many of them are not of NaNs."""
    different = numbers = 0
    for start in range(0, codes.size, MOST):
        part = codes[start : start + MOST]
        want = fast.convert(FORMATS[src], FORMATS[dst], part, RNE, PROFILES[profile].conversions)
        assert want.poison is None
        wrong = want.codes != tool(part, src, dst)
        different += int(wrong.sum())
        numbers += int((wrong & ~fast.is_nan(FORMATS[src], part)).sum())
    return different, numbers


@pytest.mark.torch
@pytest.mark.parametrize("count", amounts(1 << 18, 10**8))
@pytest.mark.parametrize("dst", FLOAT8)
@pytest.mark.parametrize("src", ["f16", "bf16", "f32", "f64", *FLOAT8])
def test_torch_converts_to_each_float8_type(src: str, dst: str, count: int) -> None:
    """NaNs included. PyTorch 2.13 has no conversion to float4_e2m1fn_x2."""
    pytest.importorskip("torch")
    if src != dst:
        assert differing("torch", src, dst, samples(FORMATS[src], count), by_torch) == (0, 0)


@pytest.mark.torch
@pytest.mark.parametrize("dst", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("src", ["f16", "bf16", "f32", "f64", *FLOAT8])
def test_torch_converts_numbers_to_wider_types(src: str, dst: str) -> None:
    pytest.importorskip("torch")
    if src != dst:
        assert differing("torch", src, dst, samples(FORMATS[src], 1 << 17), by_torch)[1] == 0


@pytest.mark.torch
@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_torch_converts_to_integers_as_x86_does(width: int) -> None:
    torch = pytest.importorskip("torch")
    if platform.machine() != "x86_64":
        pytest.skip("PyTorch converts to integers as the processor does")
    numbers = np.array([np.nan, -np.nan, np.inf, -np.inf, 3e9, -3e9, 300.7, -1.5, 2.0**31, 1e20], np.float32)
    # Single elements: those of a whole vector register may be converted in another way.
    want = [int(torch.tensor(x).to(getattr(torch, f"int{width}")).item()) for x in numbers]
    got = hu.eval("arith.fptosi", numbers, type="f32", to=f"i{width}", profile="torch")
    assert got.tolist() == want


# --- jax --------------------------------------------------------------------------------------------------------------

JAX = {
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
}


def by_jax(codes: Codes, src: str, dst: str) -> Codes:
    import jax

    found = jax.jit(lambda x: x.astype(JAX[dst]))(codes.view(JAX[src]))
    return np.asarray(found).view(FORMATS[dst].storage_dtype)


@pytest.mark.jax
@pytest.mark.parametrize("count", amounts(1 << 18, 10**8))
@pytest.mark.parametrize("dst", [name for name in JAX if FORMATS[name].bits <= 16])
@pytest.mark.parametrize("src", ["f16", "bf16", "f32"])
def test_jax_converts_to_each_narrow_type(src: str, dst: str, count: int) -> None:
    """NaNs included, but those of 16 bits to f8E5M2, which are always 0x7F."""
    pytest.importorskip("jax")
    different, numbers = differing("jax", src, dst, samples(FORMATS[src], count), by_jax)
    assert numbers == 0
    assert src == dst or (different > 0) == (dst == "f8E5M2" and src != "f32")


@pytest.mark.jax
@pytest.mark.parametrize("dst", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("src", [name for name in JAX if FORMATS[name].bits <= 8])
def test_jax_converts_narrow_types(src: str, dst: str) -> None:
    pytest.importorskip("jax")
    assert differing("jax", src, dst, samples(FORMATS[src], 0), by_jax) == (0, 0)


@pytest.mark.jax
@pytest.mark.parametrize("name", ["i8", "i16", "i32", "u8", "u16", "u32"])
def test_jax_converts_to_integers(name: str) -> None:
    jax = pytest.importorskip("jax")
    numbers = np.array([np.nan, -np.nan, np.inf, -np.inf, 3e9, -3e9, 300.7, -1.5, 2.0**31, 1e20], np.float32)
    want = np.asarray(jax.jit(lambda x: x.astype(name.replace("i", "int").replace("u", "uint")))(numbers))
    op = "arith.fptosi" if name[0] == "i" else "arith.fptoui"
    got = hu.eval(op, numbers, type="f32", to=f"i{name[1:]}", profile="jax")
    np.testing.assert_array_equal(got.bits, want.view(f"u{want.itemsize}"))


# --- this processor ---------------------------------------------------------------------------------------------------

SOURCE = r"""
#include <immintrin.h>
#include <stdint.h>

typedef const float *in;

/* Each operation alone, between a reset of the flags and their reading; volatile assembly is not moved. */
#define EACH(...) for (long i = 0; i < n; i++) { _mm_setcsr(0x1f80); __VA_ARGS__; flags[i] = _mm_getcsr() & 0x3f; }
#define BINARY(name, op) void name(in a, in b, in c, float *out, uint8_t *flags, long n) { \
    EACH(float r = a[i]; __asm__ volatile(op " %1, %0" : "+x"(r) : "x"(b[i])); out[i] = r) }
BINARY(add, "addss")
BINARY(subtract, "subss")
BINARY(multiply, "mulss")
BINARY(divide, "divss")
BINARY(maximum, "maxss")
BINARY(minimum, "minss")

void fma_of_three(in a, in b, in c, float *out, uint8_t *flags, long n) {
    EACH(float r = a[i]; __asm__ volatile("vfmadd213ss %2, %1, %0" : "+x"(r) : "x"(b[i]), "x"(c[i])); out[i] = r)
}

#define CONVERT(name, from, to, op, where) void name(const from *a, to *out, uint8_t *flags, long n) { \
    EACH(to r; __asm__ volatile(op " %1, %0" : "=" where(r) : "x"(a[i])); out[i] = r) }
CONVERT(to_i32, float, int32_t, "cvttss2si", "r")
CONVERT(to_i64, float, int64_t, "cvttss2si", "r")
CONVERT(to_f64, float, double, "cvtss2sd", "x")
CONVERT(to_f32, double, float, "cvtsd2ss", "x")

typedef const uint8_t *in80;

#define X87(name, op) void name(in80 a, in80 b, uint8_t *out, uint8_t *flags, long n) { \
    for (long i = 0; i < n; i++) { uint16_t status; \
        __asm__ volatile("fninit\n\tfldt (%1)\n\tfldt (%2)\n\t" op "\n\tfnstsw %0\n\tfstpt (%3)" \
            : "=m"(status) : "r"(a + 16 * i), "r"(b + 16 * i), "r"(out + 16 * i) : "memory"); \
        flags[i] = status & 0x3f; } }
X87(x87_add, "faddp")
X87(x87_subtract, "fsubrp")
X87(x87_multiply, "fmulp")
X87(x87_divide, "fdivrp")

void x87_to_i16(in80 a, int16_t *out, uint8_t *flags, long n) {
    for (long i = 0; i < n; i++) {
        uint16_t status;
        __asm__ volatile("fninit\n\tfldt (%1)\n\tfisttps (%2)\n\tfnstsw %0"
            : "=m"(status) : "r"(a + 16 * i), "r"(out + i) : "memory");
        flags[i] = status & 0x3f;
    }
}
"""


@pytest.fixture(scope="module")
def processor(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The operations of an x86-64 processor, one by one, with their flags."""
    compiler = shutil.which("cc")
    if platform.machine() != "x86_64" or compiler is None:
        pytest.skip("needs an x86-64 processor and a C compiler")
    folder: Path = tmp_path_factory.mktemp("processor")
    (folder / "ops.c").write_text(SOURCE)
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(folder / "ops.so"), str(folder / "ops.c")]
    subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(folder / "ops.so"))


def call(function: Any, *arrays: Codes) -> None:
    function(*(each.ctypes.data_as(ctypes.c_void_p) for each in arrays), ctypes.c_long(arrays[-1].size))


def flags_of(status: Codes) -> Codes:
    """Turn the bits of MXCSR and of x87's status word into those of `Flags`; that of subnormal operands is left out."""
    bits = ((0x20, 0x01), (0x10, 0x02), (0x08, 0x04), (0x04, 0x08), (0x01, 0x10))
    return np.asarray(sum(((status & x86) != 0) * np.uint8(ours) for x86, ours in bits), np.uint8)


def has_fma() -> bool:
    try:
        return " fma " in Path("/proc/cpuinfo").read_text().replace("\n", " ")
    except OSError:
        return False


def hard_f32(count: int, seed: int) -> Codes:
    """Return codes of f32: random ones, subnormals, zeros, infinities and NaNs of both kinds."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 1 << 32, count, dtype=np.uint32)
    codes[::3] = rng.integers(0x3E80_0000, 0x4080_0000, codes[::3].size, dtype=np.uint32)
    special = np.array([0, 1, 0x007F_FFFF, 0x0080_0000, 0x7F7F_FFFF, 0x7F80_0000, 0x7F80_0001, 0x7FC0_1234], np.uint32)
    chosen = rng.random(count) < 0.4
    codes[chosen] = rng.choice(np.concatenate([special, special | np.uint32(1 << 31)]), int(chosen.sum()))
    return codes


def check(what: str, want: ArrayResult, codes: Codes, status: Codes) -> None:
    assert want.flags is not None
    assert want.poison is None
    np.testing.assert_array_equal(want.codes, codes, what)
    np.testing.assert_array_equal(want.flags, flags_of(status), what)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum", "minimum", "fma"])
@pytest.mark.parametrize("count", amounts(20_000, 2_000_000))
def test_sse_computes(processor: ctypes.CDLL, name: str, count: int) -> None:
    if name == "fma" and not has_fma():
        pytest.skip("this processor has no fused multiply-add")
    a, b, c = (hard_f32(count, seed) for seed in range(3))
    out, status, policy = np.empty(count, np.uint32), np.empty(count, np.uint8), PROFILES["x86-sse"].arithmetic
    call(getattr(processor, "fma_of_three" if name == "fma" else name), a, b, c, out, status)
    if name == "fma":
        # VFMADD213 takes its second source for the first factor: of two NaN factors that is `b`.
        want = arithmetic.fma(F32, b, a, c, RNE, policy, want_flags=True)
    elif name in ("maximum", "minimum"):
        want = getattr(arithmetic, name)(F32, a, b, policy, want_flags=True)
    else:
        want = getattr(arithmetic, name)(F32, a, b, RNE, policy, want_flags=True)
    check(name, want, out, status)


def test_sse_converts(processor: ctypes.CDLL) -> None:
    policy, a = PROFILES["x86-sse"].conversions, hard_f32(50_000, 4)
    status = np.empty(a.size, np.uint8)
    for width in (32, 64):
        integers = np.empty(a.size, f"u{width // 8}")
        call(getattr(processor, f"to_i{width}"), a, integers, status)
        check(
            "to integers", conversions.to_integer(F32, a, width, True, policy=policy, want_flags=True), integers, status
        )
    wide = np.empty(a.size, np.uint64)
    call(processor.to_f64, a, wide, status)
    check("to f64", conversions.convert(F32, F64, a, RNE, policy, want_flags=True), wide, status)
    # f64 numbers around the limits of f32, which overflow and underflow.
    numbers = np.concatenate([wide, np.ldexp(1 + np.random.default_rng(5).random(20_000), -127).view(np.uint64)])
    narrow, status = np.empty(numbers.size, np.uint32), np.empty(numbers.size, np.uint8)
    call(processor.to_f32, numbers, narrow, status)
    check("to f32", conversions.convert(F64, F32, numbers, RNE, policy, want_flags=True), narrow, status)


def hard_f80(count: int, seed: int) -> Codes:
    """Return codes of f80 in 16 bytes: valid ones, subnormals and pseudo-denormals, NaNs, and invalid ones."""
    rng = np.random.default_rng(seed)
    significands = rng.integers(0, (1 << 64) - 1, count, dtype=np.uint64) | np.uint64(1 << 63)
    exponents = rng.integers(0x3FF0, 0x4010, count, dtype=np.uint64)
    kinds = rng.integers(0, 10, count)
    exponents[kinds == 0] = rng.integers(0, 3, int((kinds == 0).sum()))
    exponents[kinds == 1] = rng.integers(0x7FFC, 0x8000, int((kinds == 1).sum()))
    exponents[kinds == 2] = 0x7FFF
    significands[kinds == 2] = rng.choice(
        np.array([0, 1, 0x1234, 1 << 62, (1 << 62) | 1], np.uint64), int((kinds == 2).sum())
    ) | np.uint64(1 << 63)
    significands[kinds == 3] &= np.uint64((1 << 63) - 1)  # unnormal numbers, pseudo-NaNs: not valid
    exponents[(kinds == 3) & (rng.random(count) < 0.5)] = 0
    signs = rng.integers(0, 2, count).astype(np.uint64) << np.uint64(15)
    return np.stack([significands, exponents | signs], axis=1)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
@pytest.mark.parametrize("count", amounts(20_000, 1_000_000))
def test_x87_computes(processor: ctypes.CDLL, name: str, count: int) -> None:
    a, b = hard_f80(count, 6), hard_f80(count, 7)
    out, status = np.zeros_like(a), np.empty(count, np.uint8)
    call(getattr(processor, f"x87_{name}"), a, b, out, status)
    want = getattr(arithmetic, name)(F80, a, b, RNE, PROFILES["x87"].arithmetic, want_flags=True)
    check(name, want, out, status)


def test_x87_converts_to_integers(processor: ctypes.CDLL) -> None:
    a = hard_f80(20_000, 8)
    out, status = np.empty(len(a), np.uint16), np.empty(len(a), np.uint8)
    call(processor.x87_to_i16, a, out, status)
    want = conversions.to_integer(F80, a, 16, True, policy=PROFILES["x87"].conversions, want_flags=True)
    check("to i16", want, out, status)


# --- what documents say -----------------------------------------------------------------------------------------------

ONE, INF, QUIET, SIGNALLING, ZERO = 0x3F80_0000, 0x7F80_0000, 0x7FC0_0001, 0xFF80_0002, 0
DEFAULT, NEGATIVE = 0x7FC0_0000, 0xFFC0_0000
INVALID, SIGN = 0x10, 1 << 31


@pytest.mark.parametrize(
    ("profile", "operation", "operands", "code", "flags"),
    [
        # Arm: FPProcessNaNs looks for signalling NaNs first; FPMulAdd looks at the addend first.
        ("arm", "add", (QUIET, SIGNALLING), SIGNALLING | 1 << 22, INVALID),
        ("arm", "add", (QUIET, 0x7FC0_0009), QUIET, 0),
        ("arm", "add", (INF, INF | 1 << 31), DEFAULT, INVALID),
        ("arm", "fma", (QUIET, ONE, 0x7FC0_0009), 0x7FC0_0009, 0),
        ("arm", "fma", (SIGNALLING, ONE, 0x7FC0_0009), SIGNALLING | 1 << 22, INVALID),
        ("arm", "fma", (INF, ZERO, QUIET), DEFAULT, INVALID),
        ("arm", "maximum_number", (QUIET, ONE), ONE, 0),
        ("arm", "maximum_number", (ONE, SIGNALLING), SIGNALLING | 1 << 22, INVALID),
        ("arm", "maximum_number", (QUIET, 0x7FC0_0009), QUIET, 0),
        # RISC-V: every NaN is the canonical one; fmax and fmin return the number, -0 is below +0.
        ("riscv", "add", (QUIET, SIGNALLING), DEFAULT, INVALID),
        ("riscv", "fma", (INF, ZERO, QUIET), DEFAULT, INVALID),
        ("riscv", "maximum_number", (SIGNALLING, ONE), ONE, INVALID),
        ("riscv", "minimum_number", (1 << 31, ZERO), 1 << 31, 0),
        # NVIDIA: the canonical NaN is 0x7FFFFFFF.
        ("cuda-sat", "add", (QUIET, SIGNALLING), 0x7FFF_FFFF, INVALID),
        ("cuda-sat", "subtract", (INF, INF), 0x7FFF_FFFF, INVALID),
        ("cuda-sat", "multiply", (0x7F7F_FFFF, 0x7F7F_FFFF), INF, 0x05),
    ],
)
def test_processors(profile: str, operation: str, operands: tuple[int, ...], code: int, flags: int) -> None:
    policy = PROFILES[profile].arithmetic
    rounding = () if "number" in operation else (RNE,)
    assert getattr(scalar, operation)(F32, *operands, *rounding, policy) == (code, flags, False)


@pytest.mark.parametrize(
    ("name", "operands", "code", "flags"),
    [
        # Arm: FPMulAdd gets the addend and the first factor as FPNeg gives them. FNMSUB, FMSUB and FNMADD, in this order.
        ("fmsub", (ONE, ONE, QUIET), QUIET | SIGN, 0),
        ("fmsub", (QUIET, ONE, ONE), QUIET, 0),
        ("fnmsub", (SIGNALLING, ONE, QUIET), (SIGNALLING ^ SIGN) | 1 << 22, INVALID),
        ("fnmsub", (ONE, QUIET, ONE), QUIET, 0),
        ("fnmsub", (ONE, ONE, QUIET), QUIET, 0),
        ("fnmadd", (ONE, SIGNALLING, QUIET), SIGNALLING | 1 << 22, INVALID),
        ("fnmadd", (QUIET, QUIET, QUIET | SIGN), QUIET, 0),
        ("fnmadd", (INF, ZERO, QUIET), DEFAULT, INVALID),
        ("fmadd", (QUIET, ONE, ONE), QUIET, 0),
    ],
)
def test_arm_negates_nans(name: str, operands: tuple[int, ...], code: int, flags: int) -> None:
    given = [hu.Value.from_bits(np.uint32(each), "f32") for each in operands]
    value, raised = hu.eval(name, *given, profile="arm", flags=True)
    assert (int(value.bits), int(raised)) == (code, flags)
    wide = [hu.convert(each, "f64", profile="arm") for each in given[:2]]
    if SIGNALLING not in operands:  # operands of several types
        value, raised = hu.eval(name, *wide, given[2], profile="arm", flags=True)
        assert (int(value.bits), int(raised)) == (code, flags)


@pytest.mark.parametrize(
    ("profile", "number", "signed", "integer"),
    [
        ("arm", np.nan, True, 0),
        ("arm", 3e9, True, 2**31 - 1),
        ("arm", -1.0, False, 0),
        ("riscv", np.nan, True, 2**31 - 1),
        ("riscv", np.nan, False, 2**32 - 1),
        ("riscv", -1.0, False, 0),
        ("cuda-sat", np.nan, True, 0),
        ("x87", np.nan, True, 2**31),
        ("x86-sse", 3e9, False, 3_000_000_000),
        ("x86-sse", -1.0, False, 2**32 - 1),
    ],
)
def test_processors_convert_to_i32(profile: str, number: float, signed: bool, integer: int) -> None:
    code = int(np.float32(number).view(np.uint32))
    assert scalar.to_integer(F32, code, 32, signed, policy=PROFILES[profile].conversions).code == integer


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize(
    ("src", "width", "integer"),
    [
        ("f32", 8, 0),
        ("f16", 32, 0),
        ("f32", 64, 1 << 63),
        ("bf16", 64, 1 << 63),
        ("f64", 32, 1 << 31),
        ("f64", 8, 0x80),
    ],
)
def test_cuda_converts_nan_to_integers(src: str, width: int, integer: int, signed: bool) -> None:
    """PTX ISA, integer notes of cvt: zero, but 1 << (width - 1) from f64 and to 64 bits."""
    fmt, policy = FORMATS[src], PROFILES["cuda-sat"].conversions
    assert fmt.nan_code is not None
    for nan in (fmt.nan_code, fmt.nan_code | 1 << (fmt.bits - 1), fmt.nan_code | 1):
        assert scalar.to_integer(fmt, nan, width, signed, policy=policy) == (integer, INVALID, False)


@pytest.mark.parametrize(
    ("number", "dst", "code"),
    [
        (1000.0, "f8E4M3FN", 0x7E),
        (-np.inf, "f8E4M3FN", 0xFE),
        (np.inf, "f8E5M2", 0x7B),
        (-np.nan, "f8E4M3FN", 0x7F),
        (-np.nan, "f8E5M2", 0x7F),
        (np.nan, "f4E2M1FN", 0x7),
        (-9.0, "f6E2M3FN", 0x3F),
        (np.inf, "f8E8M0FNU", 0xFE),
        (-np.inf, "f8E8M0FNU", 0xFE),
        (-3.0, "f8E8M0FNU", 0x81),
        (-0.0, "f8E8M0FNU", 0x00),
        (-1.0, "f8E5M3FNU", 0x78),
        (-np.inf, "f8E5M3FNU", 0xFE),
    ],
)
def test_cuda_saturates(number: float, dst: str, code: int) -> None:
    """PTX ISA, cvt with .satfinite: the largest finite value with the sign; NaN is 0x7F, or the largest value. The CUDA
    Math API: unsigned formats take the absolute value, and f8E8M0FNU rounds a tie up.
    """
    source = int(np.float32(number).view(np.uint32))
    assert scalar.convert(F32, ALL_FORMATS[dst], source, RNE, PROFILES["cuda-sat"].conversions).code == code


@pytest.mark.parametrize(
    ("src", "nan", "codes"),
    [
        ("f64", 0xFFF2_0000_0000_0001, (0xFF, 0xFE, 0xFF, 0xFF, 0x1F, 0x1F, 0x7)),
        ("f64", 0x7FF4_0000_0000_0000, (0x7F, 0x7F, 0xFF, 0xFF, 0x1F, 0x1F, 0x7)),
        ("f32", 0xFF82_0001, (0x7F, 0x7F, 0xFF, 0xFF, 0x1F, 0x1F, 0x7)),
        ("bf16", 0xFF81, (0x7F, 0x7F, 0xFF, 0xFF, 0x1F, 0x1F, 0x7)),
    ],
)
def test_cuda_converts_nan(src: str, nan: int, codes: tuple[int, ...]) -> None:
    """What the headers of CUDA 13.5 give; tests/semantics/test_cuda_headers.py runs them."""
    targets = ("f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f8E5M3FNU", "f6E3M2FN", "f6E2M3FN", "f4E2M1FN")
    policy = PROFILES["cuda-sat"].conversions
    assert tuple(scalar.convert(FORMATS[src], ALL_FORMATS[dst], nan, RNE, policy).code for dst in targets) == codes
    # By the fast paths, too, which do not see the whole code of a f64.
    one = np.array([nan], FORMATS[src].storage_dtype)
    assert (
        tuple(int(fast.convert(FORMATS[src], ALL_FORMATS[dst], one, RNE, policy).codes[0]) for dst in targets) == codes
    )


@pytest.mark.parametrize(
    ("overflow", "overflowed", "infinite", "by_zero"),
    [
        ("format", 0x7C, 0x7C, 0x7C),
        ("saturate", 0x7B, 0x7B, 0x7B),
        ("saturate_numbers", 0x7B, 0x7C, 0x7C),
        ("saturate_fn", 0x7C, 0x7C, 0x7C),
    ],
)
def test_arithmetic_saturates(overflow: str, overflowed: int, infinite: int, by_zero: int) -> None:
    """In f8E5M2: 57344 + 57344, infinity * 1, 1 / 0."""
    profile = f"spec,arithmetic_overflow={overflow}"
    given: dict[str, Any] = {"type": "f8E5M2", "profile": profile}
    assert hu.eval("arith.addf", 57344.0, 57344.0, **given).bits == overflowed
    assert hu.eval("arith.mulf", np.inf, 1.0, **given).bits == infinite
    assert hu.eval("arith.divf", 1.0, 0.0, **given).bits == by_zero
    assert hu.eval("math.exp", 40.0, **given).bits == overflowed


def test_arithmetic_saturates_in_f8E4M3FN() -> None:
    for overflow, code in (("format", 0x7F), ("saturate", 0x7E), ("saturate_numbers", 0x7E), ("saturate_fn", 0x7E)):
        profile = f"spec,arithmetic_overflow={overflow}"
        assert hu.eval("arith.mulf", 448.0, 2.0, type="f8E4M3FN", profile=profile).bits == code


@pytest.mark.parametrize("type_", ["f32", "f64", "f128", "f16", "bf16"])
@pytest.mark.parametrize("op", ["arith.addf", "arith.mulf", "math.fma"])
def test_programs_saturate(op: str, type_: str) -> None:
    """No fast path of programs overlooks the field."""
    fmt, size = FORMATS[type_], 4096
    largest = ints_to_codes([fmt.max_code] * size, fmt.bits, (size,))
    value = hu.Value.from_bits(largest, f"tensor<{size}x{type_}>")
    operands = [value] * (3 if op == "math.fma" else 2)
    assert fmt.infinity_code is not None
    for profile, code in (("spec,arithmetic_overflow=saturate", fmt.max_code), ("spec", fmt.infinity_code)):
        found = hu.eval(op, *operands, profile=profile).bits
        assert np.array_equal(found, ints_to_codes([code] * size, fmt.bits, (size,)))
