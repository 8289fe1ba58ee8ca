"""The descriptions of f128 beside `exact`, and beside `scalar`."""

from typing import Any

import numpy as np
import pytest
from amounts import amounts, thinned
from hypothesis import given, settings
from hypothesis import strategies as st

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import arithmetic
from halfulp.fp_formats.formats import FORMATS, codes_to_ints, ints_to_codes
from halfulp.fp_formats.paths import fast, quad
from halfulp.fp_formats.policy import SPEC, FloatPolicy, Rounding

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.backend("llvm")

F128 = FORMATS["f128"]
OPERATIONS = ("add", "subtract", "multiply", "divide")
MODES = tuple(quad.MODES)
ONE, SIGN, FRACTION = F128.bias << 112, 1 << 127, (1 << 112) - 1


def codes_of(codes: list[int]) -> Any:
    return ints_to_codes(codes, 128, (len(codes),))


def check(operation: str, x: Any, y: Any) -> None:
    for mode in MODES:
        found = getattr(fast, operation)(F128, x, y, mode)
        want = getattr(arithmetic, operation)(F128, x, y, mode)
        wrong = np.flatnonzero((found.codes != want.codes).any(axis=-1).reshape(-1))
        assert not wrong.size, (operation, mode, wrong[:5])
        assert found.poison is None


def boundaries() -> list[int]:
    """Codes at the ends of the exponents, beside powers of two, with few bits and with long runs of them; and NaNs."""
    normal, infinity = 1 << 112, 0x7FFF << 112
    codes = [0, 1, 2, 3, FRACTION, FRACTION - 1, 1 << 63, 1 << 64, (1 << 64) - 1, 1 << 111]
    codes += [normal, normal + 1, 2 * normal - 1, 2 * normal, 113 * normal, 114 * normal + 1]
    for exponent in (0, 1, -1, 12, 56, 63, 64, 111, 112, 113, 114, 127, 128, -8190, -8191, -8192, 8191, 8192):
        code = ONE + (exponent << 112)
        codes += [code, code + 1, code - 1, code + (1 << 64), code | FRACTION, code | 1 << 111]
    codes += [infinity - 1, infinity - normal, infinity, infinity + 1, infinity | 1 << 111, infinity | FRACTION]
    return codes


@pytest.mark.long
@pytest.mark.parametrize("operation", thinned(OPERATIONS, 2))
@pytest.mark.parametrize("step", amounts(5, long=1))
def test_boundaries(operation: str, step: int) -> None:
    plus = boundaries()
    x = codes_of([*plus, *(code | SIGN for code in plus)])
    check(operation, x[:, None], x[None, ::step])


def drawn(kind: str, count: int, rng: np.random.Generator) -> tuple[Any, Any]:
    def code(fields: Any, low: Any, high: Any) -> Any:
        signs = rng.integers(0, 2, count, np.uint64) << np.uint64(63)
        return np.stack([low, signs | fields << np.uint64(48) | high & np.uint64((1 << 48) - 1)], axis=1)

    def words() -> Any:
        return rng.integers(0, 1 << 64, count, np.uint64)

    def fields(low: int, high: int) -> Any:
        return rng.integers(low, high, count, np.uint64)

    def few_bits() -> Any:
        """Words with few ones, or few zeros: with them there are ties, and quotients that are exact."""
        bits = np.bitwise_or.reduce(np.uint64(1) << rng.integers(0, 64, (2, count), np.uint64), axis=0)
        return np.where(rng.integers(0, 2, count) == 1, bits * fields(0, 2), ~bits)

    bias = F128.bias
    if kind == "near":  # sums cancel
        x = code(fields(bias - 3, bias + 3), words(), words())
        y = x.copy()
        y[:, 0] ^= words() >> fields(0, 64)
        y[:, 1] ^= fields(0, 2) << np.uint64(63) | fields(0, 2) << np.uint64(48)
        return x, y
    if kind == "aligned":
        return code(fields(bias - 70, bias + 70), few_bits(), few_bits()), code(
            fields(bias - 70, bias + 70), few_bits(), few_bits()
        )
    if kind == "ends":  # results overflow, or are subnormal
        halves = fields(0, 2) * np.uint64(0x7FFF)
        x = code(fields(bias - 8300, bias + 8300), words(), few_bits())
        y = code((halves + fields(0, 230)) % np.uint64(0x7FFF), few_bits(), words())
        return x, y
    if kind == "subnormal":
        shift = fields(0, 48)
        return code(fields(0, 2), words() >> fields(0, 64), words() >> shift), code(
            fields(bias - 120, bias + 120), words(), few_bits()
        )
    return code(fields(0, 1 << 15), words(), words()), code(fields(0, 1 << 15), words(), words())


@pytest.mark.long
@pytest.mark.parametrize("count", amounts(2_000, 400_000))
@pytest.mark.parametrize("kind", thinned(["near", "aligned", "ends", "subnormal", "any"], 2))
def test_drawn(kind: str, count: int) -> None:
    x, y = drawn(kind, count, np.random.default_rng(len(kind)))
    for operation in OPERATIONS:
        check(operation, x, y)
        check(operation, y, x)


def test_products_give_exact_quotients() -> None:
    """The remainder is 0, and the digits of the quotient may be too large by one before the last."""
    rng = np.random.default_rng(6)
    short = [ONE + (int(k) << 112 - 57) for k in rng.integers(0, 1 << 57, 3_000)]
    x, y = codes_of(short), codes_of(short[::-1])
    product = arithmetic.multiply(F128, x, y).codes
    for one in (-1, 0, 1):
        moved = product.copy()
        moved[:, 0] += np.uint64(one & (1 << 64) - 1)
        check("divide", moved, y)


def test_quotients_a_little_below_a_number_with_many_zeros() -> None:
    """The digits found make the lower word of the quotient 0; then one is taken off."""
    rng = np.random.default_rng(7)
    pairs = []
    for _ in range(200):
        number = int(rng.integers(1 << 52, 1 << 53)) | 1
        above = int(rng.integers(1, 1 << 40))
        divisor = 1 << 112 | int(rng.integers(0, 1 << 59)) << 53 | above * pow(number, -1, 1 << 53) % (1 << 53)
        dividend = number * divisor >> 53
        if dividend >> 112:
            assert (dividend << 117) // divisor & (1 << 64) - 1 == (1 << 64) - 1
            pairs.append((ONE | dividend & FRACTION, ONE | divisor & FRACTION))
    assert len(pairs) > 50
    check("divide", codes_of([x for x, _ in pairs]), codes_of([y for _, y in pairs]))


CODES = st.one_of(st.integers(0, (1 << 128) - 1), st.sampled_from(boundaries()))


@settings(max_examples=100, deadline=None)
@given(CODES, CODES, st.sampled_from(OPERATIONS), st.sampled_from(MODES))
def test_the_specification(a: int, b: int, operation: str, mode: int) -> None:
    found = getattr(fast, operation)(F128, codes_of([a]), codes_of([b]), mode)
    assert codes_to_ints(found.codes, 128) == [getattr(scalar, operation)(F128, a, b, mode).code]


def test_declared_domain() -> None:
    for mode in Rounding:
        for operation in OPERATIONS:
            assert (quad.binary(operation, F128, mode, SPEC) is not None) == (mode in tuple(Rounding)[:5])
            for name in ("f32", "f64", "f80"):
                assert quad.binary(operation, FORMATS[name], mode, SPEC) is None
            assert quad.binary(operation, F128, mode, FloatPolicy(denormals="flush_results")) is None
        assert quad.binary("remainder", F128, mode, SPEC) is None
