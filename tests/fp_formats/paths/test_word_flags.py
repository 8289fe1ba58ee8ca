"""Descriptions with exception flags: codes, flags and poison are those of `scalar`; then the loops that run them.

The machine of `word_arrays` runs every format, mode and policy. Machine code runs fewer of them, on more rows.
"""

import importlib.util
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from float_samples import SMALL, all_codes, codes, pairs, to_array
from present import present
from tables import each_row
from word_arrays import described

from halfulp.fp_formats import mixed, scalar
from halfulp.fp_formats.aliases import float_format
from halfulp.fp_formats.exact import arithmetic, comparisons, conversions
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, NanEncoding, ints_to_codes
from halfulp.fp_formats.paths import array_loop, fast, llvm, word_flags
from halfulp.fp_formats.policy import POLICY_FIELDS, SPEC, FloatPolicy, Rounding
from halfulp.fp_formats.reals import elementary
from halfulp.fp_formats.scalar import Result
from halfulp.semantics import float_unit
from halfulp.semantics.profile import SPEC as PROFILE

MODES = (*tuple(Rounding)[:5], Rounding.TO_ODD)
F16, BF16, F32, F64 = (FORMATS[name] for name in ("f16", "bf16", "f32", "f64"))
E4M3, E5M2, F4, E8M0 = (FORMATS[name] for name in ("f8E4M3FN", "f8E5M2", "f4E2M1FN", "f8E8M0FNU"))
ONE_LIMB = tuple(fmt for fmt in FORMATS.values() if fmt.limbs == 1)
POLICIES = (
    *(FloatPolicy(**{field: value}) for field, choice in POLICY_FIELDS.items() for value in choice.values[1:]),
    FloatPolicy(denormals="flush_both", denormal_zero="positive", tininess="before"),
    FloatPolicy(denormals_f32="flush_both_delivered", conversion_overflow="saturate", nan_to_nanless="max"),
    FloatPolicy(fma_undefined="quiet", negated_nan="negated", nan_result="signalling_first"),
)
OTHERS = (
    FloatFormat("unsigned IEEE", 3, 2, 3, signed=False),
    FloatFormat("infinity but no NaN", 4, 3, 8, nan=NanEncoding.NONE),
    FloatFormat("unsigned without NaN", 4, 3, 5, signed=False, infinities=False, nan=NanEncoding.NONE),
    FloatFormat("no zero", 4, 3, 7, signed=False, infinities=False, nan=NanEncoding.ALL_ONES, zero=False),
    present(float_format("binary8p3")),
    present(float_format("binary8p1")),
)

Columns = Sequence[Sequence[int]]


def check(label: object, implementation: Any, widths: Sequence[int], columns: Columns, exactly: Any) -> int:
    """Compare a description, by the slow machine, with the specification, and return the number of refused rows."""
    operands = [(to_codes(list(c), width), width) for c, width in zip(columns, widths, strict=True)]
    (found, flags), refused = described(implementation, *operands)
    wrong = []
    for place, row in enumerate(zip(*columns, strict=True)):
        want = exactly(*row)
        got = Result(0, want.flags, True) if refused[place] else Result(found[place], flags[place])
        if got != want:
            wrong.append((tuple(map(hex, row)), got, want))
    assert not wrong, (label, len(wrong), wrong[:3])
    return int(refused.sum())


def to_codes(column: list[int], width: int) -> Codes:
    return ints_to_codes(column, width, (len(column),))


def rows_of(formats: Sequence[FloatFormat], count: int, seed: int) -> list[list[int]]:
    """Columns of codes likely to break arithmetic; the addend of three operands is often near the negated product."""
    rng = random.Random(f"{seed} {formats}")
    columns = [codes(fmt, count, seed + n) for n, fmt in enumerate(formats)]
    if len(formats) == 2 and formats[0] == formats[1]:
        return list(pairs(formats[0], count, seed))
    if len(formats) == 3:
        x, y, z = formats
        for n, (a, b) in enumerate(zip(*columns[:2], strict=True)):
            near = mixed.operate("multiply", (x, y), z, (a, b), rng.choice(MODES)).code
            if rng.random() < 0.5:
                near ^= (z.sign_mask or 0) if rng.random() < 0.8 else 0
                gap = rng.choice((0, 1, -1, rng.randint(-2 * z.precision - 3, z.precision + 3) << z.mantissa_bits))
                columns[2][n] = (near + gap) & z.code_mask
    return columns


def check_arithmetic(
    name: str, sources: tuple[FloatFormat, ...], target: FloatFormat, mode: Rounding, policy: FloatPolicy, columns: Any
) -> None:
    implementation = word_flags.arithmetic(name, sources, target, int(mode), policy)
    if implementation is None:
        assert policy.nan_result == "largest", (name, target.name, policy)
        return
    widths = [fmt.bits for fmt in sources]
    exactly: Any = lambda *row: mixed.operate(name, sources, target, row, mode, policy)  # noqa: E731
    check((name, sources, target, mode, policy), implementation, widths, columns, exactly)


@pytest.mark.parametrize("fmt", thinned((*ONE_LIMB, *OTHERS), 7), ids=lambda fmt: fmt.name)
def test_arithmetic_in_every_format_and_mode(fmt: FloatFormat) -> None:
    for number, (name, mode) in enumerate(itertools.product(mixed.OPERATIONS, MODES)):
        sources = (fmt,) * mixed.OPERATIONS[name].operands
        check_arithmetic(name, sources, fmt, mode, SPEC, rows_of(sources, 40, number))


@pytest.mark.parametrize("number", thinned(range(len(POLICIES)), 9))
def test_arithmetic_under_every_policy(number: int) -> None:
    policy = POLICIES[number]
    formats = (F16, F32, F64, FORMATS["f8E5M2FNUZ"], F4, E8M0, *OTHERS)
    for fmt, name in itertools.product(formats, mixed.OPERATIONS):
        sources, mode = (fmt,) * mixed.OPERATIONS[name].operands, MODES[(number + fmt.bits) % len(MODES)]
        check_arithmetic(name, sources, fmt, mode, policy, rows_of(sources, 40, number))


MIXED = (
    (E4M3, E5M2, F32),
    (F16, F16, F32),
    (BF16, BF16, F32),
    (F4, E8M0, BF16),
    (F32, F32, F64),
    (F64, F32, F16),
    (F32, E4M3, F64),
)


@pytest.mark.parametrize("number", thinned(range(len(MIXED)), 3))
def test_arithmetic_of_several_formats(number: int) -> None:
    x, y, z = MIXED[number]
    for name, target in itertools.product(mixed.OPERATIONS, (z, E5M2)):
        sources = (x, y, z)[: mixed.OPERATIONS[name].operands]
        mode = MODES[(number + len(name)) % len(MODES)]
        check_arithmetic(name, sources, target, mode, SPEC, rows_of(sources, 60, number))


@pytest.mark.parametrize("fmt", thinned((F4, *SMALL), 20), ids=lambda fmt: fmt.name)
def test_all_pairs_of_short_formats(fmt: FloatFormat) -> None:
    columns = list(zip(*itertools.product(all_codes(fmt), repeat=2), strict=True))
    for name, mode in itertools.product(("add", "subtract", "multiply", "divide"), MODES):
        check_arithmetic(name, (fmt, fmt), fmt, mode, SPEC, columns)


@pytest.mark.parametrize("number", thinned(range(3 + len(POLICIES)), 9))
def test_conversions(number: int) -> None:
    policy = SPEC if number < 3 else POLICIES[number - 3]
    formats = (F16, F64, FORMATS["f8E4M3FNUZ"], F4, E8M0, FORMATS["tf32"], *OTHERS[:4])
    for source, target in itertools.product(formats, (F32, BF16, *formats)):
        mode = MODES[(number + target.bits) % len(MODES)]
        implementation = word_flags.convert(source, target, int(mode), policy)
        if implementation is None:
            continue
        if policy.zeroless_nan_widened == "infinity" and target.nan is NanEncoding.NONE and not source.zero:
            continue  # the NaN is refused, although its result is an infinity
        exactly: Any = lambda a: scalar.convert(source, target, a, mode, policy)  # noqa: B023, E731
        check((source, target, mode, policy), implementation, (source.bits,), [codes(source, 40, number)], exactly)


RULES = ("less", "p3109_a", "p3109_b", "p3109_c")


@pytest.mark.parametrize("number", thinned(range(8), 4))
def test_stochastic_conversions(number: int) -> None:
    """All rules, given bits and their complement, from 1 random bit to more than the source drops."""
    rng = random.Random(number)
    policy = FloatPolicy(
        stochastic=RULES[number % 4],
        stochastic_bits="complement" if number & 4 else "given",
        tininess="before" if number & 1 else "after",
        denormals="flush_results" if number == 5 else "ieee",
    )
    formats = (F32, F64, F16, BF16, E5M2, FORMATS["f8E4M3FNUZ"], E8M0, OTHERS[0])
    for source, target, count in itertools.product((F32, F64, F16, E4M3), formats, (1, 3, 9)):
        implementation = word_flags.convert(source, target, int(Rounding.STOCHASTIC), policy, count)
        if implementation is None:
            assert count >= 62 - target.mantissa_bits
            continue
        columns = [codes(source, 60, number), [rng.getrandbits(count) for _ in range(60)]]
        exactly: Any = lambda a, r: scalar.convert(source, target, a, Rounding.STOCHASTIC, policy, (r, count))  # noqa: B023, E731
        check((source, target, policy, count), implementation, (source.bits, 16), columns, exactly)
    assert word_flags.convert(F32, F16, int(Rounding.STOCHASTIC), policy, 52) is None


@pytest.mark.parametrize("width", [3, 8, 32, 33, 64])
def test_conversions_with_integers(width: int) -> None:
    rng = random.Random(width)
    integers = [rng.getrandbits(width) >> rng.randrange(width) for _ in range(30)]
    integers += [0, 1, (1 << width) - 1, 1 << width - 1, (1 << width - 1) - 1]
    for fmt, signed in itertools.product((F16, F32, F64, E4M3, F4, E8M0), (True, False)):
        mode = MODES[(width + fmt.bits) % len(MODES)]

        def to_float(a: int) -> Result:
            number = a - (1 << width) if signed and a >> width - 1 else a  # noqa: B023
            return scalar.from_integer(fmt, number, mode, SPEC)  # noqa: B023

        implementation = word_flags.from_integer(fmt, width, signed, int(mode), SPEC)
        check((fmt, width, signed, mode), implementation, (width,), [integers], to_float)
        near = [code + step & fmt.code_mask for a in integers for step in (-1, 0, 1) for code in (to_float(a).code,)]
        for rule in ("poison", "saturate", "saturate_nan_max", "saturate_nan_top", "indefinite"):
            policy = FloatPolicy(float_to_int=rule)
            back = word_flags.to_integer(fmt, width, signed, int(mode), policy)
            exactly: Any = lambda a: scalar.to_integer(fmt, a, width, signed, mode, policy)  # noqa: B023, E731
            check((fmt, width, signed, mode, rule), back, (fmt.bits,), [near[:60] + codes(fmt, 20, 1)], exactly)


@pytest.mark.parametrize("fmt", thinned((*ONE_LIMB, *OTHERS), 5), ids=lambda fmt: fmt.name)
def test_roots_and_roundings_to_integers(fmt: FloatFormat) -> None:
    given = all_codes(fmt)[::3] if fmt.bits <= 8 else codes(fmt, 60, 3)
    for mode in MODES:
        if mode is not Rounding.TO_ODD:
            root = word_flags.root(fmt, fmt, int(mode), SPEC)
            exactly: Any = lambda a: elementary.unary("sqrt", fmt, a, mode, SPEC)  # noqa: B023, E731
            check((fmt, mode), root, (fmt.bits,), [given], exactly)
        for says_inexact in (False, True):
            whole = word_flags.to_integral(fmt, int(mode), SPEC, says_inexact)
            if whole is None:
                assert not fmt.signed or not fmt.zero or fmt.even_code
                continue
            kernel = float_unit.to_integral(fmt, mode, says_inexact, PROFILE)
            poison: Any = lambda a: scalar.to_integral(fmt, a, mode, SPEC).poison  # noqa: B023, E731
            both: Any = lambda a: Result(0 if poison(a) else kernel.flagged(a)[0], kernel.flagged(a)[1], poison(a))  # type: ignore[misc, arg-type]  # noqa: B023, E731
            check((fmt, mode, says_inexact), whole, (fmt.bits,), [given], both)


@pytest.mark.parametrize("fmt", thinned((*ONE_LIMB, *OTHERS), 5), ids=lambda fmt: fmt.name)
def test_comparisons_and_extrema(fmt: FloatFormat) -> None:
    columns = pairs(fmt, 80, 4)
    for policy in (SPEC, FloatPolicy(denormals="flush_operands"), FloatPolicy(nan_result="signalling_first")):
        for predicate, any_nan in itertools.product((0, 1, 2, 5, 6, 8, 11, 14, 15), (False, True)):

            def compared(a: int, b: int) -> Result:
                x, y = (scalar.operand(fmt, each, policy) for each in (a, b))  # noqa: B023
                invalid = scalar.invalid_if_signalling(x, y)
                if any_nan:  # noqa: B023
                    invalid = scalar.INVALID if fmt.is_nan(a) or fmt.is_nan(b) else 0
                return Result(int(scalar.compare(fmt, predicate, a, b, policy)), invalid)  # noqa: B023

            found = word_flags.compare(predicate, fmt, policy, any_nan)
            check((fmt, predicate, policy), found, (fmt.bits,) * 2, columns, compared)
        for name in ("maximum", "minimum", "maximum_number", "minimum_number"):
            exactly: Any = lambda a, b: getattr(scalar, name)(fmt, a, b, policy)  # noqa: B023, E731
            found = word_flags.extremum(name, fmt, policy)
            check((name, fmt, policy), found, (fmt.bits,) * 2, columns, exactly)


def test_what_has_no_description() -> None:
    f80, f128 = FORMATS["f80"], FORMATS["f128"]
    for fmt in (f80, f128):
        assert word_flags.arithmetic("add", (fmt, fmt), fmt, 0, SPEC) is None
        assert word_flags.convert(F64, fmt, 0, SPEC) is None
        assert word_flags.compare(1, fmt, SPEC) is None
    assert word_flags.arithmetic("add", (F32, F32), F32, int(Rounding.STOCHASTIC), SPEC) is None
    assert word_flags.arithmetic("add", (F32, F32), F32, 0, FloatPolicy(nan_result="largest")) is None
    wide = FloatFormat("more exponents than f64", 12, 20, 2047)
    assert word_flags.arithmetic("add", (wide, wide), wide, 0, SPEC) is None


# --- machine code -----------------------------------------------------------------------------------------------------

machine_code = pytest.mark.backend("llvm")
needs_llvmlite = pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite is not installed")


def same(found: ArrayResult, want: ArrayResult) -> None:
    np.testing.assert_array_equal(found.codes, want.codes)
    np.testing.assert_array_equal(present(found.flags), present(want.flags))
    poison = [np.zeros(each.codes.shape, np.bool_) if each.poison is None else each.poison for each in (found, want)]
    np.testing.assert_array_equal(poison[0], poison[1])


def arrays(formats: Sequence[FloatFormat], count: int, seed: int) -> tuple[Codes, ...]:
    return tuple(to_array(fmt, c) for fmt, c in zip(formats, rows_of(formats, count, seed), strict=True))


@needs_llvmlite
@machine_code
@pytest.mark.parametrize("fmt", thinned((F16, F64, F32, BF16), 2), ids=lambda fmt: fmt.name)
def test_arithmetic_as_machine_code(fmt: FloatFormat) -> None:
    for name in ("add", "divide", "fma"):
        given = arrays((fmt,) * mixed.OPERATIONS[name].operands, 3000, 5)
        found, exactly = (getattr(module, name) for module in (fast, arithmetic))
        policy = FloatPolicy(tininess="before") if name == "fma" else SPEC
        same(found(fmt, *given, policy=policy, want_flags=True), exactly(fmt, *given, policy=policy, want_flags=True))


@needs_llvmlite
@machine_code
def test_other_operations_as_machine_code() -> None:
    (a,) = arrays((F32,), 3000, 6)
    x, y = arrays((F32, F32), 3000, 7)
    rows: tuple[tuple[Any, Any, tuple[Any, ...]], ...] = (
        (fast.convert, conversions.convert, (F32, E5M2, a)),
        (fast.to_integral, conversions.to_integral, (F32, a)),
        (fast.compare, comparisons.compare, (F32, 4, x, y)),
        (fast.maximum, arithmetic.maximum, (F32, x, y)),
    )
    for found, exactly, given in rows:
        same(found(*given, want_flags=True), exactly(*given, want_flags=True))
    same(
        fast.to_integer(F32, a, 16, True, want_flags=True),
        conversions.to_integer(F32, a, 16, True, want_flags=True),
    )
    same(
        fast.from_integer(F16, a, 32, True, want_flags=True),
        conversions.from_integer(F16, a, 32, True, want_flags=True),
    )


@needs_llvmlite
@machine_code
def test_stochastic_conversions_as_machine_code() -> None:
    (a,) = arrays((F32,), 9000, 12)
    bits = np.random.default_rng(12).integers(0, 1 << 16, a.size, np.uint64)
    mode = Rounding.STOCHASTIC
    for dtype in (np.uint64, np.uint16):
        drawn = bits.astype(dtype), 16
        want = conversions.convert(F32, BF16, a, mode, SPEC, drawn, want_flags=True)
        same(fast.convert(F32, BF16, a, mode, SPEC, drawn, want_flags=True), want)
        np.testing.assert_array_equal(fast.convert(F32, BF16, a, mode, SPEC, drawn).codes, want.codes)
    # A format without NaN refuses them, amid others.
    want = conversions.convert(F32, F4, a, mode, SPEC, (bits, 16), want_flags=True)
    assert want.poison is not None
    same(fast.convert(F32, F4, a, mode, SPEC, (bits, 16), want_flags=True), want)


@needs_llvmlite
@machine_code
def test_refused_elements_amid_others() -> None:
    """Some NaNs, which f4 does not have, in the second of three blocks: they alone are computed in the general way."""
    count = 3 * array_loop.BLOCK
    rng = np.random.default_rng(8)
    a, b, c = (rng.integers(0, 0x7C00, count, np.uint16) for _ in range(3))
    middle = array_loop.BLOCK + np.array([5, 6, 900])
    a[middle] = 0x7E00
    asked = []

    def general(*given: Codes) -> ArrayResult:
        asked.append(len(given[0]))
        return comparisons.operate("fma", (F16, F16, F16), F4, given, 0, SPEC, want_flags=True)

    implementation = word_flags.arithmetic("fma", (F16, F16, F16), F4, 0, SPEC)
    found = present(array_loop.applied(implementation, (16, 16, 16), (a, b, c), general, flags=True))
    assert asked == [array_loop.BLOCK]
    assert np.flatnonzero(present(found.poison)).tolist() == middle.tolist()
    same(found, comparisons.operate("fma", (F16, F16, F16), F4, (a, b, c), 0, SPEC, want_flags=True))


@needs_llvmlite
@machine_code
def test_threads_and_shapes() -> None:
    """All numbers of threads give the same, for whole arrays, for one operand that repeats, and for rows."""
    count = 70 * array_loop.BLOCK + 3
    rng = np.random.default_rng(9)
    a, b = (rng.integers(0, 1 << 16, count, np.uint16) for _ in range(2))
    before, found = llvm.threads(), []
    try:
        for threads in (1, 2, 16):
            llvm.use_threads(threads)
            found.append(fast.multiply(F16, a, b, want_flags=True))
    finally:
        llvm.use_threads(before)
    for other in found[1:]:
        same(found[0], other)
    some = slice(69 * array_loop.BLOCK, None)
    part = arithmetic.multiply(F16, a[some], b[some], want_flags=True)
    same(ArrayResult(found[0].codes[some], None, present(found[0].flags)[some]), part)
    x, y = a[:6000].reshape(3, 2000), b[:2000]
    for left, right in ((x, y), (x, y[0]), (x[:, :1], y), (x[:, ::2], x[:, 1::2])):
        same(fast.multiply(F16, left, right, want_flags=True), arithmetic.multiply(F16, left, right, want_flags=True))
    same(fast.multiply(F16, a[:0], b[:0], want_flags=True), arithmetic.multiply(F16, a[:0], b[:0], want_flags=True))


@pytest.mark.backend("numpy")
def test_without_machine_code() -> None:
    a, b = arrays((F16, F16), 500, 10)
    same(fast.add(F16, a, b, want_flags=True), arithmetic.add(F16, a, b, want_flags=True))


@each_row(*((factory, flags) for factory in ("fma", "add") for flags in (0, 1)))
def test_kernels_give_results_and_flags_at_once(name: str, fastmath: int) -> None:
    from halfulp.semantics import floats

    factories: dict[str, Callable[..., Any]] = {
        "fma": lambda: floats.fma(F16, Rounding.TO_NEAREST_EVEN, fastmath, PROFILE),
        "add": lambda: floats.binary("add", F16, Rounding.TO_NEAREST_EVEN, fastmath, PROFILE),
    }
    kernel = factories[name]()
    given = arrays((F16,) * (3 if name == "fma" else 2), 300, 11)
    outcome, flags = kernel.with_flags(*given)
    apart = kernel.array(*given)
    np.testing.assert_array_equal(outcome.results[0], apart.results[0])
    assert [fault for fault, _ in outcome.faults] == [fault for fault, _ in apart.faults]
    np.testing.assert_array_equal(flags, kernel.flags(*given))
