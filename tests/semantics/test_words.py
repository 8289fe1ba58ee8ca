"""The descriptions of kernels on machine words give what the scalar implementations give, wherever they do not refuse."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import float_samples
import pytest
from amounts import thinned
from word_arrays import described

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat, ints_to_codes
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics import casts, elementary, float_unit, floats, integer, integer_functions, integer_kernels, quant
from halfulp.semantics.kernel import Fault, Kernel
from halfulp.semantics.profile import SPEC, as_profile

RNE = Rounding.TO_NEAREST_EVEN
MODES = tuple(Rounding)[:5]


def check(kernel: Kernel, columns: Sequence[Sequence[int]], widths: Sequence[int]) -> list[bool]:
    """Compare the implementations of a kernel on some operands; return which of them the description refuses."""
    assert kernel.words is not None
    count = len(columns[0])
    operands = [(ints_to_codes(list(c), width, (count,)), width) for c, width in zip(columns, widths, strict=True)]
    results, refused = described(kernel.words, *operands)
    for place, codes in enumerate(zip(*columns, strict=True)):
        want = kernel.scalar(*codes)
        if refused[place]:
            continue
        assert not isinstance(want, Fault), (codes, want)
        found = tuple(result[place] for result in results)
        assert found == (want if isinstance(want, tuple) else (want,)), [hex(code) for code in codes]
    return [bool(each) for each in refused]


# --- integers ---------------------------------------------------------------------------------------------------------

Factory = Callable[..., Kernel]


def variants(factory: Factory, *flags: str) -> Iterator[Factory]:
    for chosen in itertools.product((False, True), repeat=len(flags)):
        yield partial(factory, **dict(zip(flags, chosen, strict=True)))


BINARY: tuple[Factory, ...] = (
    *(
        v
        for factory in (integer.addi, integer.subi, integer.muli, integer.shli)
        for v in variants(factory, "nsw", "nuw")
    ),
    *(
        v
        for factory in (integer.divsi, integer.divui, integer.shrsi, integer.shrui)
        for v in variants(factory, "exact")
    ),
    *(integer.floordivsi, integer.ceildivsi, integer.ceildivui, integer.remsi, integer.remui),
    *(integer.andi, integer.ori, integer.xori, integer.maxsi, integer.maxui, integer.minsi, integer.minui),
    *(integer.addui_extended, integer.subui_extended, integer.mulsi_extended, integer.mului_extended),
    *(partial(integer.cmpi, predicate=predicate) for predicate in range(10)),
)


def corners(width: int) -> list[int]:
    top, half = 1 << width, 1 << (width - 1)
    near = (
        0,
        1,
        2,
        3,
        5,
        7,
        width - 1,
        width,
        width + 1,
        half - 2,
        half - 1,
        half,
        half + 1,
        top - 3,
        top - 2,
        top - 1,
    )
    return sorted({code % top for code in (*near, 1 << (width // 2), (1 << (width // 2)) - 1, 0xB504F333F9DE6484)})


def check_integers(factory: Factory, width: int, codes: Sequence[int]) -> None:
    kernel = factory(width)
    first, second = zip(*itertools.product(codes, codes), strict=True)
    refused = check(kernel, (first, second), (width, width))
    # Nothing but a fault is refused.
    assert refused == [isinstance(kernel.scalar(a, b), Fault) for a, b in zip(first, second, strict=True)]


@pytest.mark.parametrize("width", [1, 2, 3])
def test_all_pairs_of_narrow_integers(width: int) -> None:
    for factory in BINARY:
        check_integers(factory, width, range(1 << width))


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [4, 5, 6, 7, 8])
def test_all_pairs_of_integers(width: int) -> None:
    for factory in BINARY:
        check_integers(factory, width, range(1 << width))


@pytest.mark.parametrize("width", thinned([16, 32, 33, 64], 2))
def test_corners_of_integers(width: int) -> None:
    for factory in BINARY:
        check_integers(factory, width, corners(width))


@pytest.mark.parametrize(("source", "target"), [(1, 8), (8, 1), (3, 5), (5, 3), (8, 64), (64, 8), (32, 64), (33, 31)])
def test_casts_of_integers(source: int, target: int) -> None:
    factories: list[Callable[[int, int], Kernel]] = [integer.index_cast, integer.index_castui]
    if source < target:
        factories += [integer.extsi, *(v for v in variants(integer.extui, "nneg"))]
    else:
        factories += list(variants(integer.trunci, "nsw", "nuw"))
    codes = list(range(1 << source)) if source <= 8 else corners(source)
    for factory in factories:
        kernel = factory(source, target)
        refused = check(kernel, (codes,), (source,))
        assert refused == [isinstance(kernel.scalar(code), Fault) for code in codes]


@pytest.mark.parametrize("width", [0, 65, 128])
def test_other_widths_have_no_description(width: int) -> None:
    assert integer.addi(width).words is None
    assert integer.divsi(width).words is None


# --- floats -----------------------------------------------------------------------------------------------------------

OPERATIONS = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "maximum_number", "minimum_number")
WORDS = tuple(fmt for fmt in FORMATS.values() if fmt.bits <= 64)


def check_floats(
    kernel: Kernel, result: FloatFormat | None, columns: Sequence[Sequence[int]], fmt: FloatFormat
) -> None:
    if kernel.words is None:
        return
    refused = check(kernel, columns, [fmt.bits] * len(columns))
    for place, codes in enumerate(zip(*columns, strict=True)):
        if refused[place]:
            # Only a NaN or a fault is refused.
            want = kernel.scalar(*codes)
            nan = any(map(fmt.is_nan, codes)) or isinstance(want, Fault)
            assert nan or (result is not None and isinstance(want, int) and result.is_nan(want)), codes


@pytest.mark.parametrize("fmt", thinned(WORDS, 4), ids=lambda fmt: fmt.name)
def test_float_operations(fmt: FloatFormat) -> None:
    columns = float_samples.pairs(fmt, 150, 1)
    for name in OPERATIONS:
        for mode in MODES if name in ("add", "divide") and fmt.bits > 16 else (RNE,):
            check_floats(floats.binary(name, fmt, mode, 0, SPEC), fmt, columns, fmt)
    for predicate in range(1, 15):
        check_floats(floats.compare(predicate, fmt, 0, SPEC), None, columns, fmt)
    check_floats(floats.unary("negate", fmt, 0, SPEC), fmt, columns[:1], fmt)


@pytest.mark.exhaustive
@pytest.mark.parametrize("fmt", float_samples.SMALL, ids=lambda fmt: fmt.name)
def test_all_pairs_of_small_floats(fmt: FloatFormat) -> None:
    codes = float_samples.all_codes(fmt)
    columns = tuple(zip(*itertools.product(codes, codes), strict=True))
    for name, mode in itertools.product(OPERATIONS, MODES):
        check_floats(floats.binary(name, fmt, mode, 0, SPEC), fmt, columns, fmt)
    for predicate in range(1, 15):
        check_floats(floats.compare(predicate, fmt, 0, SPEC), None, columns, fmt)


def test_the_usual_operations_have_descriptions() -> None:
    for fmt in WORDS:
        for name in OPERATIONS:
            assert floats.binary(name, fmt, RNE, 0, SPEC).words is not None or fmt.name in ("tf32",), (name, fmt.name)


def check_conversion(source: FloatFormat, target: FloatFormat, mode: Rounding, codes: Sequence[int], of: Any) -> None:
    kernel = casts.convert(source, target, mode, 0, of)
    if kernel.words is not None:
        refused = check(kernel, (codes,), (source.bits,))
        assert sum(refused) < len(codes) / 2


@pytest.mark.parametrize("source", thinned(WORDS, 4), ids=lambda fmt: fmt.name)
def test_float_conversions(source: FloatFormat) -> None:
    codes = float_samples.codes(source, 100, 2)
    for target in WORDS:
        if target != source:
            check_conversion(source, target, RNE, codes, SPEC)


@pytest.mark.exhaustive
@pytest.mark.parametrize("source", WORDS, ids=lambda fmt: fmt.name)
def test_float_conversions_in_all_modes_and_profiles(source: FloatFormat) -> None:
    codes = float_samples.all_codes(source) if source.bits <= 8 else float_samples.codes(source, 3000, 3)
    for target, mode in itertools.product(WORDS, MODES):
        if target != source:
            for profile in ("spec", "ml_dtypes", "ocp-saturate"):
                check_conversion(source, target, mode, codes, as_profile(profile))


@pytest.mark.parametrize("fmt", [FORMATS["f32"], FORMATS["f64"]], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("width", [1, 8, 24, 25, 31, 32, 53, 54, 64])
@pytest.mark.parametrize("signed", [False, True])
def test_conversions_with_integers(fmt: FloatFormat, width: int, signed: bool) -> None:
    kernel = casts.from_integer(width, signed, fmt, SPEC)
    assert not any(check(kernel, (corners(width),), (width,)))
    back = casts.to_integer(fmt, width, signed, SPEC)
    near = [code for edge in corners(width) for code in _around(kernel.scalar(edge), fmt)]
    codes = [*near, *float_samples.codes(fmt, 40, 4)]
    refused = check(back, (codes,), (fmt.bits,))
    assert refused == [isinstance(back.scalar(code), Fault) for code in codes]


def _around(code: Any, fmt: FloatFormat) -> list[int]:
    return [(code + step) & fmt.code_mask for step in (-1, 0, 1)]


@pytest.mark.parametrize("fmt", thinned(WORDS, 3), ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("width", [4, 16, 32, 64])
def test_integers_become_all_floats(fmt: FloatFormat, width: int) -> None:
    codes = corners(width)
    for signed, mode in itertools.product((False, True), (RNE, Rounding.UPWARD, Rounding.TO_NEAREST_AWAY)):
        kernel = casts.from_integer(width, signed, fmt, SPEC, rounding=mode)
        if kernel.words is not None:
            refused = check(kernel, (codes,), (width,))
            # Nothing is refused but what is too large for a format without infinities.
            for code, each in zip(codes, refused, strict=True):
                result = kernel.scalar(code)
                assert isinstance(result, int)
                too_large = fmt.is_nan(result) or result & fmt.magnitude_mask == fmt.max_code
                assert not each or (too_large and fmt.infinity_code is None)


@pytest.mark.parametrize("fmt", [FORMATS["bf16"], FORMATS["f16"]], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize(("width", "signed"), [(8, True), (16, True), (16, False), (32, True), (64, False)])
def test_narrow_floats_become_integers(fmt: FloatFormat, width: int, signed: bool) -> None:
    kernel = casts.to_integer(fmt, width, signed, SPEC)
    codes = [
        code
        for edge in corners(width)
        for code in _around(casts.from_integer(width, signed, fmt, SPEC).scalar(edge), fmt)
    ]
    refused = check(kernel, (codes,), (fmt.bits,))
    assert refused == [isinstance(kernel.scalar(code), Fault) for code in codes]


NATIVE = (FORMATS["f32"], FORMATS["f64"])


def _halves(fmt: FloatFormat) -> list[int]:
    """Numbers on and beside integers and halves, small, and where the format has no more fractions."""
    one = casts.from_integer(64, True, fmt, SPEC).scalar
    found = []
    for number in (
        0,
        1,
        2,
        3,
        4,
        5,
        7,
        8,
        (1 << fmt.precision - 2) + 1,
        (1 << fmt.precision - 1) - 1,
        1 << fmt.precision,
    ):
        code = one(number)
        assert isinstance(code, int)
        half = max(code - (1 << fmt.mantissa_bits), 0)  # half of it
        found += [each for at in (code, half) for each in _around(at, fmt)]
    return [*found, *(code | (fmt.sign_mask or 0) for code in found)]


@pytest.mark.parametrize("fmt", thinned(NATIVE, 3), ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("name", integer_functions.DIRECTIONS)
def test_rounding_to_integers(name: str, fmt: FloatFormat) -> None:
    kernel = integer_functions.to_integral(name, fmt, 0, SPEC)
    assert kernel.words is not None
    check_floats(kernel, fmt, ([*_halves(fmt), *float_samples.codes(fmt, 2000, 5)],), fmt)


@pytest.mark.parametrize("fmt", WORDS, ids=lambda fmt: fmt.name)
def test_operations_on_bits(fmt: FloatFormat) -> None:
    """They refuse nothing, not even NaNs."""
    columns = float_samples.pairs(fmt, 150, 6)
    kernels = [(float_unit.absolute(fmt), columns[:1]), (float_unit.copysign(fmt), columns)]
    if fmt in NATIVE:
        classes = ("isnan", "isinf", "isfinite", "isnormal", "signbit")
        kernels += [(float_unit.class_test(name, fmt), columns[:1]) for name in classes]
        assert all(kernel.words is not None for kernel, _ in kernels)
    for kernel, operands in kernels:
        if kernel.words is not None:
            assert not any(check(kernel, operands, [fmt.bits] * len(operands)))


QUANTIZED = (
    quant.Quantization(FORMATS["f32"], 8, True, -128, 127, (0.1,), (3,)),
    quant.Quantization(FORMATS["f32"], 4, False, 1, 14, (0.3,), (7,)),
    quant.Quantization(FORMATS["f64"], 16, True, -32768, 32767, (1e-3,), (-5,)),
)


@pytest.mark.long
@pytest.mark.parametrize("mode", [mode.name.lower() for mode in MODES])
@pytest.mark.parametrize("q", QUANTIZED, ids=["i8 of f32", "u4 of f32", "i16 of f64"])
def test_quantization(q: quant.Quantization, mode: str) -> None:
    fmt = q.expressed
    codes = [
        scalar.from_fraction(fmt, Fraction(n, 16) * Fraction(q.scales[0]), RNE).code for n in range(-4096, 4096, 5)
    ]
    codes += float_samples.codes(fmt, 300, 7)
    for profile in (as_profile("spec"), replace(as_profile("spec"), qcast_out_of_range="saturate")):
        kernel = quant.qcast(q, replace(profile, qcast_rounding=mode))
        refused = check(kernel, (codes,), (fmt.bits,))
        assert not all(refused)
        if profile.qcast_out_of_range != "saturate":
            assert refused == [isinstance(kernel.scalar(code), Fault) for code in codes]


# --- tables -----------------------------------------------------------------------------------------------------------

SMALL = (FORMATS["f4E2M1FN"], FORMATS["f8E4M3FNUZ"], FORMATS["f8E8M0FNU"])


@pytest.mark.long
@pytest.mark.parametrize("fmt", SMALL, ids=lambda fmt: fmt.name)
def test_kernels_of_few_bits_become_tables(fmt: FloatFormat) -> None:
    """All operands, also of an op whose flags make some poison."""
    bits, codes = fmt.bits, range(1 << fmt.bits)
    pairs: tuple[tuple[int, ...], ...] = tuple(zip(*itertools.product(codes, codes), strict=True))
    remainder = floats.binary("remainder", fmt, RNE, 0, SPEC)
    for kernel, columns, results in (
        (replace(remainder, words=None), pairs, (bits,)),
        (elementary.unary("exp", fmt, RNE, 3, SPEC), (codes,), (bits,)),
        (casts.to_integer(fmt, 5, True, SPEC), (codes,), (5,)),
    ):
        described = integer_kernels.tabled(replace(kernel, words=None), [bits] * len(columns), results)
        refused = check(described, columns, [bits] * len(columns))
        assert refused == [isinstance(kernel.scalar(*each), Fault) for each in zip(*columns, strict=True)]


def test_a_table_of_two_results_and_unlike_operands() -> None:
    kernel = replace(integer.mulsi_extended(7), words=None)
    columns = tuple(zip(*itertools.product(range(128), repeat=2), strict=True))
    assert not any(check(integer_kernels.tabled(kernel, (7, 7), (7, 7)), columns, (7, 7)))


def test_longer_kernels_get_no_table() -> None:
    for kernel, width in ((replace(integer.addi(9), words=None), 9), (integer.addi(4), 4)):
        assert integer_kernels.tabled(kernel, (width, width), (width,)) is kernel
