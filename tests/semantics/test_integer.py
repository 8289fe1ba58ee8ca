"""The integer kernels: scalar implementation against definitions from the arith document, array implementation against the scalar implementation."""

import inspect
import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from amounts import amounts, thinned
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row

from halfulp.fp_formats.formats import code_shape, codes_to_ints, ints_to_codes, limb_count, storage_dtype
from halfulp.semantics import integer, integer_functions
from halfulp.semantics.kernel import Fault, FaultKind, Kernel

NSW = "signed overflow with nsw"
NUW = "unsigned overflow with nuw"
NNEG = "negative operand with nneg"
REMAINDER = "nonzero remainder with exact"
SHIFTED_OUT = "nonzero bits shifted out with exact"
TOO_FAR = "shift amount is not less than the bit width"
BY_ZERO = "division by zero"
MIN_BY_MINUS_ONE = "signed division overflow (minimum value divided by -1)"
UNDEFINED = {BY_ZERO, MIN_BY_MINUS_ONE}

Expected = int | tuple[int, ...] | str
"""A result, or the reason why there is none."""


# Definitions, from the texts of the arith document ------------------------------------------------------------------


def signed(width: int, code: int) -> int:
    return code - 2**width if width and code >= 2 ** (width - 1) else code


def signed_numbers(width: int) -> range:
    return range(-(2 ** (width - 1)), 2 ** (width - 1)) if width else range(1)


def modulo(width: int, as_signed: int, as_unsigned: int, nsw: bool = False, nuw: bool = False) -> Expected:
    if nsw and as_signed not in signed_numbers(width):
        return NSW
    if nuw and as_unsigned not in range(2**width):
        return NUW
    assert (as_signed - as_unsigned) % 2**width == 0
    return int(as_unsigned % 2**width)


def addi(w: int, a: int, b: int, **flags: bool) -> Expected:
    return modulo(w, signed(w, a) + signed(w, b), a + b, **flags)


def subi(w: int, a: int, b: int, **flags: bool) -> Expected:
    return modulo(w, signed(w, a) - signed(w, b), a - b, **flags)


def muli(w: int, a: int, b: int, **flags: bool) -> Expected:
    return modulo(w, signed(w, a) * signed(w, b), a * b, **flags)


def shli(w: int, a: int, b: int, **flags: bool) -> Expected:
    return TOO_FAR if b >= w else modulo(w, signed(w, a) * 2**b, a * 2**b, **flags)


def shrui(w: int, a: int, b: int, exact: bool = False) -> Expected:
    if b >= w:
        return TOO_FAR
    return SHIFTED_OUT if exact and a % 2**b else math.floor(Fraction(a, 2**b))


def shrsi(w: int, a: int, b: int, exact: bool = False) -> Expected:
    if b >= w:
        return TOO_FAR
    return SHIFTED_OUT if exact and a % 2**b else math.floor(Fraction(signed(w, a), 2**b)) % 2**w


def unsigned_division(rounding: Callable[[Fraction], int]) -> Callable[..., Expected]:
    def divide(w: int, a: int, b: int, exact: bool = False) -> Expected:
        if b == 0:
            return BY_ZERO
        return REMAINDER if exact and a % b else rounding(Fraction(a, b))

    return divide


def signed_division(rounding: Callable[[Fraction], int]) -> Callable[..., Expected]:
    def divide(w: int, a: int, b: int, exact: bool = False) -> Expected:
        x, y = signed(w, a), signed(w, b)
        if y == 0:
            return BY_ZERO
        if x == signed_numbers(w)[0] and y == -1:
            return MIN_BY_MINUS_ONE
        return REMAINDER if exact and Fraction(x, y).denominator != 1 else rounding(Fraction(x, y)) % 2**w

    return divide


def remui(w: int, a: int, b: int) -> Expected:
    return BY_ZERO if b == 0 else a - b * math.floor(Fraction(a, b))


def remsi(w: int, a: int, b: int) -> Expected:
    x, y = signed(w, a), signed(w, b)
    return BY_ZERO if b == 0 else (x - y * math.trunc(Fraction(x, y))) % 2**w


def bitwise(table: dict[str, str]) -> Callable[[int, int, int], Expected]:
    def apply(w: int, a: int, b: int) -> Expected:
        bits = zip(f"{a:0{w}b}", f"{b:0{w}b}", strict=True)
        return int("".join(table[x + y] for x, y in bits), 2)

    return apply


def choice(choose: Callable[[int, int], int], is_signed: bool) -> Callable[[int, int, int], Expected]:
    def apply(w: int, a: int, b: int) -> Expected:
        return choose(signed(w, a), signed(w, b)) % 2**w if is_signed else choose(a, b)

    return apply


def addui_extended(w: int, a: int, b: int) -> Expected:
    carry, total = divmod(a + b, 2**w)
    return total, carry


def subui_extended(w: int, a: int, b: int) -> Expected:
    return (a - b) % 2**w, int(a - b < 0)


def mului_extended(w: int, a: int, b: int) -> Expected:
    high, low = divmod(a * b, 2**w)
    return low, high


def mulsi_extended(w: int, a: int, b: int) -> Expected:
    high, low = divmod(signed(w, a) * signed(w, b) % 2 ** (2 * w), 2**w)
    return low, high


def extsi(w: int, to: int, a: int) -> Expected:
    bits = f"{a:0{w}b}" if w else "0"
    return int(bits.rjust(max(to, 1), bits[0]), 2)


def zero_extend(w: int, to: int, a: int, nneg: bool = False) -> Expected:
    return NNEG if nneg and signed(w, a) < 0 else a % 2**to


def trunci(w: int, to: int, a: int, nsw: bool = False, nuw: bool = False) -> Expected:
    return modulo(to, signed(w, a), a, nsw=nsw, nuw=nuw)


def index_cast(w: int, to: int, a: int) -> Expected:
    return extsi(w, to, a) if to > w else a % 2**to


WRAP = ("nsw", "nuw")
BINARY: dict[str, tuple[tuple[str, ...], Callable[..., Expected]]] = {
    "addi": (WRAP, addi),
    "subi": (WRAP, subi),
    "muli": (WRAP, muli),
    "shli": (WRAP, shli),
    "shrui": (("exact",), shrui),
    "shrsi": (("exact",), shrsi),
    "divui": (("exact",), unsigned_division(math.trunc)),
    "divsi": (("exact",), signed_division(math.trunc)),
    "floordivsi": ((), signed_division(math.floor)),
    "ceildivsi": ((), signed_division(math.ceil)),
    "ceildivui": ((), unsigned_division(math.ceil)),
    "remui": ((), remui),
    "remsi": ((), remsi),
    "andi": ((), bitwise({"00": "0", "01": "0", "10": "0", "11": "1"})),
    "ori": ((), bitwise({"00": "0", "01": "1", "10": "1", "11": "1"})),
    "xori": ((), bitwise({"00": "0", "01": "1", "10": "1", "11": "0"})),
    "maxsi": ((), choice(max, True)),
    "maxui": ((), choice(max, False)),
    "minsi": ((), choice(min, True)),
    "minui": ((), choice(min, False)),
    "addui_extended": ((), addui_extended),
    "subui_extended": ((), subui_extended),
    "mulsi_extended": ((), mulsi_extended),
    "mului_extended": ((), mului_extended),
}
CMPI: tuple[Callable[[int, int, int], Expected], ...] = (
    lambda w, a, b: a == b,
    lambda w, a, b: a != b,
    lambda w, a, b: signed(w, a) < signed(w, b),
    lambda w, a, b: signed(w, a) <= signed(w, b),
    lambda w, a, b: signed(w, a) > signed(w, b),
    lambda w, a, b: signed(w, a) >= signed(w, b),
    lambda w, a, b: a < b,
    lambda w, a, b: a <= b,
    lambda w, a, b: a > b,
    lambda w, a, b: a >= b,
)
CASTS: dict[str, tuple[tuple[str, ...], Callable[[int, int], bool], Callable[..., Expected]]] = {
    "extsi": ((), lambda w, to: to > w, extsi),
    "extui": (("nneg",), lambda w, to: to > w, zero_extend),
    "trunci": (WRAP, lambda w, to: to < w, trunci),
    "index_cast": ((), lambda w, to: True, index_cast),
    "index_castui": (("nneg",), lambda w, to: True, zero_extend),
}


@dataclass(frozen=True)
class Case:
    """A binary op with concrete flags, for any width."""

    name: str
    kernel: Callable[[int], Kernel]
    expected: Callable[[int, int, int], Expected]


def flag_sets(names: Sequence[str]) -> Iterator[dict[str, bool]]:
    for values in itertools.product((False, True), repeat=len(names)):
        yield {name: True for name, value in zip(names, values, strict=True) if value}


def binary_cases() -> Iterator[Case]:
    for name, (flag_names, definition) in BINARY.items():
        factory = getattr(integer, name)
        for flags in flag_sets(flag_names):
            yield Case("-".join((name, *flags)), partial(factory, **flags), partial(definition, **flags))
    for predicate, holds in enumerate(CMPI):
        yield Case(f"cmpi-{predicate}", partial(integer.cmpi, predicate=predicate), holds)


CASES = list(binary_cases())
each_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


# Comparison ---------------------------------------------------------------------------------------------------------


def as_expected(outcome: Any) -> Expected:
    """Return the outcome of a scalar implementation in the terms of the definitions."""
    if isinstance(outcome, Fault):
        assert (outcome.kind is FaultKind.UNDEFINED) == (outcome.reason in UNDEFINED)
        return outcome.reason
    return outcome  # type: ignore[no-any-return]


def array_outcomes(kernel: Kernel, operands: Sequence[np.ndarray], results: Sequence[int]) -> list[Expected]:
    """Return the outcome of each element in the array implementation, in row-major order, in the terms of the definitions."""
    for codes in operands:
        codes.flags.writeable = False
    outcome = kernel.array(*operands)
    assert len(outcome.results) == len(results)
    columns = [codes_to_ints(codes, width) for codes, width in zip(outcome.results, results, strict=True)]
    for codes, width in zip(outcome.results, results, strict=True):
        assert codes.size == len(columns[0]) * limb_count(width)
        assert all(code < 2**width for code in codes_to_ints(codes, width))  # elements without a value included
    elements: list[Expected] = [*columns[0]] if len(columns) == 1 else [*zip(*columns, strict=True)]
    for fault, mask in reversed(outcome.faults):
        assert mask.dtype == np.bool_
        assert mask.any()
        for at in np.flatnonzero(mask).tolist():
            elements[at] = as_expected(fault)
    return elements


def result_widths(name: str, width: int) -> tuple[int, ...]:
    if name.startswith("cmpi"):
        return (1,)
    if name in ("addui_extended", "subui_extended"):
        return (width, 1)
    return (width, width) if name.endswith("_extended") else (width,)


def check_binary(case: Case, width: int, pairs: Sequence[tuple[int, int]]) -> None:
    kernel = case.kernel(width)
    scalar, definition = kernel.scalar, case.expected
    specified = [as_expected(scalar(a, b)) for a, b in pairs]
    assert specified == [definition(width, a, b) for a, b in pairs]
    operands = [ints_to_codes(column, width, (len(pairs),)) for column in zip(*pairs, strict=True)]
    outcomes = array_outcomes(kernel, operands, result_widths(case.name, width))
    assert outcomes == specified
    assert [codes.dtype for codes in kernel.array(*operands).results] == [
        storage_dtype(result) for result in result_widths(case.name, width)
    ]


def boundary(width: int, count: int = 10**6) -> list[int]:
    """Codes near every edge: 0, 1, the extremes of both readings and their roots, the width as shift amount."""
    top, half = 2**width, 2**width // 2
    near = [0, half, half // 2, width, math.isqrt(top), math.isqrt(half), 2 ** (width // 2), top // 3, -(top // 3)]
    codes = [(sign * value + step) % top for value in near for step in (0, 1, -1) for sign in (1, -1)]
    generator = random.Random(width)
    codes += [generator.randrange(top) >> generator.randrange(width) for _ in range(6)]
    return list(dict.fromkeys(codes))[:count]


def every_pair(codes: Sequence[int]) -> list[tuple[int, int]]:
    return [(a, b) for a in codes for b in codes]


# Tests --------------------------------------------------------------------------------------------------------------


@pytest.mark.added
def test_every_op_of_the_module_is_covered() -> None:
    factories = {
        name
        for name, value in ((name, getattr(each, "func", each)) for name, each in vars(integer).items())  # of a partial
        if getattr(value, "__module__", "") == integer.__name__
        and not name.startswith("_")
        and getattr(value, "__annotations__", {}).get("return") == "Kernel"
    }
    assert factories - {"convert"} == {*BINARY, *CASTS, "cmpi"}, (  # convert is no op: tests of values have it
        "write the definition of the op, from the text of its document, into BINARY or CASTS here"
    )
    flags = {name: set(inspect.signature(getattr(integer, name)).parameters) - {"width"} for name in BINARY}
    assert flags == {name: set(names) for name, (names, _) in BINARY.items()}


@each_row(*itertools.product(CASES, [*((width, 1) for width in range(5)), (8, 31)]))
def test_every_pair(case: Case, pairs: tuple[int, int]) -> None:
    """Of 8 bits one pair of 31."""
    width, step = pairs
    if width == 0 and case.name in ("andi", "ori", "xori"):
        assert case.kernel(0).scalar(0, 0) == 0  # the definition by bit strings has no empty string
        return
    check_binary(case, width, every_pair(range(2**width))[::step])


@pytest.mark.exhaustive
@each_case
def test_every_pair_of_8_bits(case: Case) -> None:
    check_binary(case, 8, every_pair(range(256)))


@pytest.mark.long
@each_row(*itertools.product(CASES, [5, 6, 7, 9, 15, 16, 17, 24, 31, 32, 33, 47, 48, 63, 64]), every=7)
def test_boundary_pairs(case: Case, width: int) -> None:
    check_binary(case, width, every_pair(boundary(width)))


@each_row(*itertools.product(CASES, [65, 128, 1024]), every=5)
def test_boundary_pairs_wider_than_a_limb(case: Case, width: int) -> None:
    check_binary(case, width, every_pair(boundary(width, 20)))


@pytest.mark.long
@pytest.mark.parametrize("examples", amounts(100, 400))
def test_random_pairs(examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        case = data.draw(st.sampled_from(CASES))
        width = data.draw(st.integers(1, 200))
        code = st.integers(0, 2**width - 1) | st.integers(0, width).map(lambda bit: min(2**bit, 2**width - 1))
        check_binary(case, width, data.draw(st.lists(st.tuples(code, code), min_size=1, max_size=20)))

    check()


CAST_WIDTHS = (0, 1, 2, 3, 4, 7, 8, 9, 16, 31, 32, 33, 63, 64, 65, 128, 200)


@pytest.mark.parametrize("name", thinned(CASTS, 2))
def test_casts(name: str) -> None:
    flag_names, allowed, definition = CASTS[name]
    for source, to in itertools.product(CAST_WIDTHS, repeat=2):
        if not allowed(source, to):
            continue
        codes = list(range(2**source)) if source <= 9 else boundary(source)
        for flags in flag_sets(flag_names):
            kernel = getattr(integer, name)(source, to, **flags)
            expected = [definition(source, to, code, **flags) for code in codes]
            assert [as_expected(kernel.scalar(code)) for code in codes] == expected
            operand = ints_to_codes(codes, source, (len(codes),))
            assert array_outcomes(kernel, [operand], [to]) == expected
            assert kernel.array(operand).results[0].dtype == storage_dtype(to)


@each_row(*itertools.product(CASES, [0, 1, 2, 3, 4, 5]))
def test_worst_value_decides_whether_poison_is_undefined(case: Case, width: int) -> None:
    kernel, codes = case.kernel(width), range(2**width)

    def undefined(a: int, b: int) -> bool:
        outcome = kernel.scalar(a, b)
        return isinstance(outcome, Fault) and outcome.kind is FaultKind.UNDEFINED

    if kernel.worst is None:
        assert not any(undefined(a, b) for a in codes for b in codes)
        return
    worst_a, worst_b = kernel.worst
    for known in codes:
        assert undefined(worst_a, known) == any(undefined(a, known) for a in codes)
        assert undefined(known, worst_b) == any(undefined(known, b) for b in codes)
    assert undefined(worst_a, worst_b)


@pytest.mark.parametrize("predicate", [-1, 10])
def test_unknown_predicate(predicate: int) -> None:
    with pytest.raises(ValueError, match=r"predicate -?\d+ is not in 0 \.\. 9"):
        integer.cmpi(32, predicate)


# Shapes and storage -------------------------------------------------------------------------------------------------


@pytest.mark.long
@each_row(*itertools.product(CASES, [8, 12, 64, 80]), every=5)
def test_rank_0_broadcast_and_empty(case: Case, width: int) -> None:
    kernel, results = case.kernel(width), result_widths(case.name, width)
    grid = [0, 1, 2**width - 1, 2 ** (width - 1), 3, 5]

    def shapes(*operands: np.ndarray) -> list[tuple[int, ...]]:
        outcome = kernel.array(*operands)
        return [codes.shape for codes in outcome.results] + [mask.shape for _, mask in outcome.faults]

    matrix = ints_to_codes(grid, width, (2, 3))
    for code in grid:
        point = ints_to_codes([code], width, ())
        for a, b in itertools.product(grid, repeat=2):
            pair = [ints_to_codes([value], width, ()) for value in (a, b)]
            assert array_outcomes(kernel, pair, results) == [as_expected(kernel.scalar(a, b))]
            assert shapes(*pair)[: len(results)] == [code_shape((), result) for result in results]
        for pair, order in (([point, matrix], [(code, x) for x in grid]), ([matrix, point], [(x, code) for x in grid])):
            assert array_outcomes(kernel, pair, results) == [as_expected(kernel.scalar(*codes)) for codes in order]
            assert shapes(*pair)[: len(results)] == [code_shape((2, 3), result) for result in results]
            assert all(shape == (2, 3) for shape in shapes(*pair)[len(results) :])
        empty = ints_to_codes([], width, (0, 3))
        assert shapes(point, empty) == [code_shape((0, 3), result) for result in results]
        assert shapes(empty, point) == [code_shape((0, 3), result) for result in results]


def test_casts_of_rank_0_and_empty() -> None:
    for source, to in ((8, 64), (8, 65), (65, 8), (65, 128)):
        for shape, codes in (((), [200]), ((0, 2), [])):
            kernel = integer.extsi(source, to)
            (result,) = kernel.array(ints_to_codes(codes, source, shape)).results
            assert result.shape == code_shape(shape, to)
            assert codes_to_ints(result, to) == [kernel.scalar(code) for code in codes]


@each_case
def test_strided_operands(case: Case) -> None:
    codes = np.arange(512, dtype=np.uint16).reshape(16, 32) * 331
    a, b = codes[::2, ::-1], codes.T[:16:2, ::-1].repeat(2, axis=1)[:, :32]
    kernel = case.kernel(16)
    strided, packed = kernel.array(a, b), kernel.array(a.copy(), b.copy())
    assert [x.tolist() for x in strided.results] == [x.tolist() for x in packed.results]
    assert [(f, m.tolist()) for f, m in strided.faults] == [(f, m.tolist()) for f, m in packed.faults]


@each_case
def test_index_of_32_bits_in_64_bit_storage(case: Case) -> None:
    pairs = every_pair(boundary(32))
    narrow = [ints_to_codes(column, 32, (len(pairs),)) for column in zip(*pairs, strict=True)]
    wide = [codes.astype(np.uint64) for codes in narrow]
    kernel, results = case.kernel(32), result_widths(case.name, 32)
    assert array_outcomes(kernel, wide, results) == array_outcomes(kernel, narrow, results)


@each_case
def test_a_clean_result_has_no_faults(case: Case) -> None:
    assert case.kernel(8).array(np.arange(2, 64, 2, dtype=np.uint8), np.ones(31, np.uint8)).faults == ()


# Storage of codes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("width", "dtype", "limbs"),
    [
        *((0, "u1", 1), (1, "u1", 1), (8, "u1", 1), (9, "u2", 1), (16, "u2", 1), (17, "u4", 1), (32, "u4", 1)),
        *((33, "u8", 1), (64, "u8", 1), (65, "u8", 2), (80, "u8", 2), (128, "u8", 2), (129, "u8", 3), (1024, "u8", 16)),
    ],
)
def test_storage(width: int, dtype: str, limbs: int) -> None:
    assert storage_dtype(width) == np.dtype(dtype)
    assert limb_count(width) == limbs
    codes = [0, 2**width - 1, 2**width // 3, 2**width // 5]
    stored = ints_to_codes(codes, width, (2, 2))
    assert stored.dtype == np.dtype(dtype)
    assert stored.shape == ((2, 2, limbs) if width > 64 else (2, 2))
    assert codes_to_ints(stored, width) == codes
    assert codes_to_ints(np.swapaxes(stored, 0, 1), width) == [codes[0], codes[2], codes[1], codes[3]]


def test_limbs_are_least_significant_first() -> None:
    assert ints_to_codes([1 + (2 << 64) + (3 << 128)], 192, ()).tolist() == [1, 2, 3]


# --- integer functions ------------------------------------------------------------------------------------------------
#
# The integer ops of math against the digits of the numbers, for all operands of small types and some of large ones.

WIDTHS = (0, 1, 2, 3, 7, 8, 13, 32, 33, 64, 65, 128)


def digits(width: int, code: int) -> str:
    return format(code, "b").rjust(width, "0")[-width:] if width else ""


EXPECTED: dict[str, Callable[[int, int], int]] = {
    "absi": lambda width, a: abs(signed(width, a)),
    "ctpop": lambda width, a: digits(width, a).count("1"),
    "ctlz": lambda width, a: len(digits(width, a)) - len(digits(width, a).lstrip("0")),
    "cttz": lambda width, a: len(digits(width, a)) - len(digits(width, a).rstrip("0")),
}


def columns(width: int, count: int) -> list[tuple[int, ...]]:
    """Return the operands of an op of ``count`` operands, by row."""
    if width * count <= 8:
        return list(product(range(1 << width), repeat=count))
    rng = random.Random(width)
    some = [rng.getrandbits(width) >> rng.randrange(width) for _ in range(20)]
    edges = [0, 1, 2, 3, (1 << width) - 1, 1 << width - 1, (1 << width - 1) - 1]
    return list(product([*edges, *some], repeat=count))


def check(kernel: Kernel, width: int, rows: Sequence[tuple[int, ...]], expected: Sequence[int | None]) -> None:
    """Assert that both implementations give the expected codes; None stands for undefined behaviour."""
    assert [None if isinstance(found := kernel.scalar(*row), Fault) else found for row in rows] == list(expected)
    outcome = kernel.array(*(ints_to_codes(column, width, (len(rows),)) for column in zip(*rows, strict=True)))
    undefined = np.zeros(len(rows), np.bool_)
    for _, mask in outcome.faults:
        undefined |= mask
    together = codes_to_ints(outcome.results[0], width)
    assert [None if bad else code for code, bad in zip(together, undefined, strict=True)] == list(expected)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", EXPECTED)
def test_functions_of_one_integer(name: str, width: int) -> None:
    rows = columns(width, 1)
    mask = (1 << width) - 1
    check(getattr(integer_functions, name)(width), width, rows, [EXPECTED[name](width, a) & mask for (a,) in rows])


def power(width: int, a: int, n: int) -> int | None:
    base, exponent = signed(width, a), signed(width, n)
    if exponent < 0:
        return {0: None, 1: 1, -1: (-1 if n & 1 else 1) % (1 << width)}.get(base, 0)
    result = 1
    for digit in bin(exponent)[2:]:
        result = result * result * (base if digit == "1" else 1) % (1 << width)
    return result % (1 << width)


@pytest.mark.parametrize("width", WIDTHS)
def test_powers_wrap_around(width: int) -> None:
    rows = columns(width, 2)
    check(integer_functions.ipowi(width), width, rows, [power(width, a, n) for a, n in rows])
