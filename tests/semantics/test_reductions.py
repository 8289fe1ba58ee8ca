"""Sums and sums of products of codes, beside loops over the scalar specification and exact fractions."""

import random
from fractions import Fraction

import numpy as np
import pytest
from amounts import amounts, thinned
from float_samples import codes as sample_codes
from float_samples import interesting, to_array, to_list
from hypothesis import given
from hypothesis import strategies as st

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.paths.running_sums import has_running_sums, last_running_sum
from halfulp.semantics import sums
from halfulp.semantics.integer_kernels import Reading
from halfulp.semantics.kernel import Fault
from halfulp.semantics.profile import PROFILES, SPEC, Profile
from halfulp.semantics.sums import ORDERS, Accumulator, Faults, Number, add_up, multiply_and_add, width_of

SUMMED = [fmt for fmt in FORMATS.values() if fmt.zero]
F32, F8, F16 = FORMATS["f32"], FORMATS["f8E4M3FN"], FORMATS["f16"]


# The specification: loops over Python integers.


def converted(code: int, source: Number, into: Number, profile: Profile) -> int | Fault:
    found = Accumulator(into, profile).converting(source)
    result = code if found is None else found[1].scalar(code)
    assert not isinstance(result, tuple)
    return result


def plus(into: Number, a: int | Fault, b: int | Fault, profile: Profile) -> int | Fault:
    if isinstance(a, Fault) or isinstance(b, Fault):
        return a if isinstance(a, Fault) else b
    if isinstance(into, Reading):
        return (a + b) & ((1 << into.width) - 1)
    result = scalar.add(into, a, b, policy=profile.arithmetic)
    assert not result.poison
    return result.code


def in_order(terms: list[int | Fault], into: Number, profile: Profile) -> int | Fault:
    total: int | Fault = 0
    for term in terms:
        total = plus(into, total, term, profile)
    return total


def in_pairs(terms: list[int | Fault], into: Number, profile: Profile) -> int | Fault:
    if not terms:
        return 0
    while len(terms) > 1:
        pairs = [terms[start : start + 2] for start in range(0, len(terms), 2)]
        terms = [plus(into, pair[0], pair[1], profile) if len(pair) == 2 else pair[0] for pair in pairs]
    return plus(into, 0, terms[0], profile)


def exactly(terms: list[int], source: FloatFormat, into: FloatFormat) -> int | Fault:
    values = [scalar.value(source, code) for code in terms]
    if None not in values:
        return scalar.from_fraction(into, sum((x for x in values if x is not None), Fraction(0))).code
    special: list[int | Fault] = []
    total = Fraction(0)
    for code, value in zip(terms, values, strict=True):
        if value is not None:
            total += value
            continue
        term = converted(code, source, into, SPEC)
        if isinstance(term, Fault):
            return term
        special.append(term)
        total += scalar.value(into, term) or 0  # in a format without infinities and NaN
    if into.nan_code is None and into.infinity_code is None:
        return scalar.from_fraction(into, total).code
    return in_order(special, into, SPEC)


def specified(terms: list[int], source: Number, into: Number, order: str, profile: Profile = SPEC) -> int | Fault:
    if order == "exact" and isinstance(into, FloatFormat):
        assert isinstance(source, FloatFormat)
        return exactly(terms, source, into)
    loop = in_pairs if order == "pairwise" else in_order
    return loop([converted(code, source, into, profile) for code in terms], into, profile)


def added(
    terms: list[list[int]], source: Number, into: Number, order: str, profile: Profile = SPEC
) -> list[int | Fault]:
    """Return the sums of the columns of ``terms``, each a row of lanes."""
    width = width_of(source)
    lanes = len(terms[0]) if terms else 1
    codes = ints_to_codes([code for row in terms for code in row], width, (len(terms), lanes))
    reduced = add_up(codes, source, into, order, profile)
    results: list[int | Fault] = list(codes_to_ints(reduced.codes, width_of(into)))
    for _, fault, mask in reversed(reduced.faults):
        for lane in np.flatnonzero(mask):
            results[lane] = fault
    return results


def sampled(fmt: FloatFormat, count: int, seed: int) -> list[int]:
    """Return random codes; if the format is small, of numbers that seldom overflow."""
    rng = random.Random(seed)
    pool = interesting(fmt)
    return [rng.choice(pool) if rng.random() < 0.05 else rng.randrange(1 << fmt.bits) for _ in range(count)]


def moderate(fmt: FloatFormat, count: int, seed: int) -> list[int]:
    """Return codes of random finite numbers around one."""
    rng = random.Random(seed)
    return [scalar.from_fraction(fmt, Fraction(rng.randint(-4096, 4096), 4096)).code for _ in range(count)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("fmt", thinned(SUMMED, 4), ids=str)
def test_sums_are_those_of_the_specification(fmt: FloatFormat, order: str) -> None:
    for length in (*range(10), 33):
        for make in (sampled, moderate):
            terms = [make(fmt, 5, 100 * length + row) for row in range(length)]
            columns = [list(column) for column in zip(*terms, strict=True)] or [[]]
            assert added(terms, fmt, fmt, order) == [specified(column, fmt, fmt, order) for column in columns]


@given(data=st.data())
def test_sums_into_any_accumulator_are_those_of_the_specification(data: st.DataObject) -> None:
    source = data.draw(st.sampled_from(list(FORMATS.values())))
    into = data.draw(st.sampled_from(SUMMED))
    order = data.draw(st.sampled_from(list(ORDERS)))
    code = st.one_of(st.sampled_from(interesting(source)), st.integers(0, source.code_mask))
    terms = data.draw(st.lists(code, max_size=40))
    assert added([[each] for each in terms], source, into, order) == [specified(terms, source, into, order)]


@given(data=st.data())
def test_sums_under_other_profiles_are_those_of_the_kernels(data: st.DataObject) -> None:
    profile = data.draw(
        st.sampled_from([*PROFILES.values(), Profile(nan_result="negative"), Profile(denormals="flush_both")])
    )
    into = data.draw(
        st.sampled_from([FORMATS[name] for name in ("f4E2M1FN", "f8E4M3FN", "f8E5M2", "bf16", "f16", "f32")])
    )
    order = data.draw(st.sampled_from(["sequential", "pairwise", "open"]))
    terms = data.draw(
        st.lists(st.one_of(st.sampled_from(interesting(into)), st.integers(0, into.code_mask)), max_size=20)
    )
    add = Accumulator(into, profile).adding[1].scalar

    def both(a: int, b: int) -> int:
        result = add(a, b)
        assert isinstance(result, int)
        return result

    def tree(rest: list[int]) -> int:
        if len(rest) == 1:
            return rest[0]
        half = 1 << ((len(rest) - 1).bit_length() - 1)  # neighbours make complete trees of the first terms
        return both(tree(rest[:half]), tree(rest[half:]))

    expected = 0
    if order == "pairwise" and terms:
        expected = both(0, tree(terms))
    elif order != "pairwise":
        for term in terms:
            expected = both(expected, term)
    assert added([[term] for term in terms], into, into, order, profile) == [expected]


# Each way to add in order, beside the one that adds row by row.


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    ["f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f6E2M3FN", "f4E2M1FN", "bf16", "f16", "tf32", "f32", "f64", "f80", "f128"],
)
@pytest.mark.parametrize("lanes", [1, 3, 600])
@pytest.mark.parametrize("specials", [False, True])
def test_long_sums_equal_those_row_by_row(
    monkeypatch: pytest.MonkeyPatch, name: str, lanes: int, specials: bool
) -> None:
    monkeypatch.setattr(sums, "TABLE_PAYS", 200)
    fmt = FORMATS[name]
    accumulator = Accumulator(fmt, SPEC)
    count = 600 // lanes + 30
    make = sampled if specials else moderate
    rows = ints_to_codes(make(fmt, count * lanes, 1), fmt.bits, (count, lanes))
    start = ints_to_codes(moderate(fmt, lanes, 2), fmt.bits, (lanes,))
    total = start
    for row in rows:
        total = accumulator.sum_of_two(total, row, Faults())
    assert accumulator.in_order(start, rows, Faults()).tolist() == total.tolist()


@pytest.mark.parametrize("name", ["bf16", "f16", "f32", "f64"])
def test_running_sums_keep_the_first_nan(name: str) -> None:
    fmt = FORMATS[name]
    assert has_running_sums(fmt, SPEC.arithmetic)
    infinity, sign = fmt.infinity_code or 0, fmt.sign_mask or 0
    signalling = infinity + 5
    for codes in (
        [1, signalling, 2, infinity + 9],
        [infinity, infinity | sign, signalling],
        [signalling | sign],
        [fmt.max_code, fmt.max_code, infinity | sign],
    ):
        total = 0
        for code in codes:
            total = scalar.add(fmt, total, code).code
        rows = to_array(fmt, codes)[:, None]
        assert last_running_sum(fmt, to_array(fmt, [0]), rows, SPEC.arithmetic).tolist() == [total]
        # The same in two parts: the second starts with the NaN of the first.
        first = last_running_sum(fmt, to_array(fmt, [0]), rows[:2], SPEC.arithmetic)
        assert last_running_sum(fmt, first, rows[2:], SPEC.arithmetic).tolist() == [total]


@pytest.mark.parametrize("name", ["bf16", "f16", "f32", "f64"])
def test_running_sums_do_not_warn_of_a_signalling_start(name: str) -> None:
    """The caller looks at such lanes again. A warning would be an error here."""
    fmt = FORMATS[name]
    start = to_array(fmt, [(fmt.infinity_code or 0) + 5, 0] * 32)
    sums = last_running_sum(fmt, start, np.stack([start[::-1]] * 3), SPEC.arithmetic)
    assert all(fmt.is_nan(int(code)) for code in sums[::2])


@pytest.mark.parametrize("name", ["bf16", "f32"])
def test_running_sums_of_rows_across_memory(name: str) -> None:
    """The order in memory does not matter."""
    fmt = FORMATS[name]
    terms = to_array(fmt, moderate(fmt, 120 * 75, 4)).reshape(120, 75)
    start = to_array(fmt, [0] * 120)
    across = last_running_sum(fmt, start, terms.T, SPEC.arithmetic)
    assert across.tolist() == last_running_sum(fmt, start, np.ascontiguousarray(terms.T), SPEC.arithmetic).tolist()


@pytest.mark.parametrize("profile", thinned(PROFILES.values(), 4), ids=lambda profile: profile.name)
@pytest.mark.parametrize("name", ["f8E5M2", "f16", "f32"])
def test_long_sums_of_other_profiles_equal_those_row_by_row(
    monkeypatch: pytest.MonkeyPatch, name: str, profile: Profile
) -> None:
    monkeypatch.setattr(sums, "TABLE_PAYS", 200)
    fmt = FORMATS[name]
    accumulator = Accumulator(fmt, profile)
    rows = to_array(fmt, moderate(fmt, 200, 5) + sampled(fmt, 100, 6))[:, None]
    total = accumulator.zeros((1,))
    for row in rows:
        total = accumulator.sum_of_two(total, row, Faults())
    assert to_list(fmt, accumulator.in_order(accumulator.zeros((1,)), rows, Faults())) == to_list(fmt, total)


@pytest.mark.long
def test_long_sums_use_a_table_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = moderate(F8, 20_000, 3)
    expected = 0
    for term in terms:
        expected = scalar.add(F8, expected, term).code
    monkeypatch.setattr("halfulp.semantics.sums.AT_ONCE", 5000)
    assert added([[term] for term in terms], F8, F8, "sequential") == [expected]
    assert sums._additions.cache_info().currsize > 0


def test_long_pairwise_sums_take_some_lanes_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = [moderate(F16, 7, row) for row in range(100)]
    monkeypatch.setattr("halfulp.semantics.sums.AT_ONCE", 200)
    assert added(terms, F16, F16, "pairwise") == [
        specified(list(x), F16, F16, "pairwise") for x in zip(*terms, strict=True)
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", ["f8E4M3FN", "f16", "f32", "f64", "f128"])
def test_long_exact_sums(name: str) -> None:
    fmt = FORMATS[name]
    codes = [
        code for code in sample_codes(fmt, 20_001 if fmt.bits <= 64 else 300, 4) if scalar.value(fmt, code) is not None
    ]
    total = sum((scalar.value(fmt, code) or Fraction(0) for code in codes), Fraction(0))
    into = FORMATS["f32"] if fmt.bits <= 32 else fmt
    assert added([[code] for code in codes], fmt, into, "exact") == [scalar.from_fraction(into, total).code]


def test_long_exact_sums_go_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halfulp.semantics.sums.COLUMNS", 8)
    monkeypatch.setattr("halfulp.semantics.sums.ROWS", 3)
    monkeypatch.setattr("halfulp.semantics.sums.AT_ONCE", 64)
    for source, into in ((F16, F16), (F32, FORMATS["f4E2M1FN"]), (F8, F32)):
        terms = [moderate(source, 5, row) for row in range(53)]
        terms[50][1], terms[7][2] = source.nan_code or 0, source.infinity_code or source.max_code
        columns = [list(column) for column in zip(*terms, strict=True)]
        assert added(terms, source, into, "exact") == [specified(column, source, into, "exact") for column in columns]


# Known answers.


def test_the_sum_starts_with_positive_zero() -> None:
    for order in ORDERS:
        assert added([[0x80]], F8, F8, order) == [0x00]
        assert added([], F8, F8, order) == [0x00]


def test_a_thousand_tenths_depend_on_the_order() -> None:
    # 0.1 is 0.1015625 in f8E4M3FN. From 2 on, whose neighbour is 2.25, adding it changes nothing.
    tenth = [[0x1D]] * 1000
    assert scalar.value(F8, 0x1D) == Fraction(13, 128)
    assert [scalar.value(F8, code) for code in added(tenth, F8, F8, "sequential") if isinstance(code, int)] == [2]
    assert [scalar.value(F8, code) for code in added(tenth, F8, F8, "exact") if isinstance(code, int)] == [104]
    assert [scalar.value(F32, code) for code in added(tenth, F8, F32, "sequential") if isinstance(code, int)] == [
        Fraction(13000, 128)
    ]


def test_pairs_are_neighbours() -> None:
    # 1 + 2**-24 + 2**-24: only the pair of small terms is kept.
    one, small = 0x3F800000, 0x33800000
    assert added([[small], [small], [one]], F32, F32, "pairwise") == [0x3F800001]
    assert added([[one], [small], [small]], F32, F32, "pairwise") == [one]
    assert added([[small], [small], [one]], F32, F32, "sequential") == [0x3F800001]


def test_only_open_sums_of_more_than_two_floats_are_unspecified() -> None:
    ones = np.full((3, 1), 0x38, np.uint8)
    for order in ORDERS:
        assert add_up(ones, F8, F8, order, SPEC).unspecified == (order == "open")
    assert not add_up(ones[:2], F8, F8, "open", SPEC).unspecified
    assert not add_up(ones, Reading(8, True), Reading(8, True), "open", SPEC).unspecified


def test_nan_in_a_format_without_nan_is_poison_of_the_conversion() -> None:
    reduced = add_up(np.array([[0x7F], [0x38]], np.uint8), F8, FORMATS["f4E2M1FN"], "sequential", SPEC)
    ((op, fault, mask),) = reduced.faults
    assert (op, fault.reason, mask.tolist()) == ("arith.truncf", "NaN is not representable in f4E2M1FN", [True])


# Integers.


@given(data=st.data())
def test_integers_wrap_in_the_accumulator(data: st.DataObject) -> None:
    source = Reading(data.draw(st.integers(1, 70)), data.draw(st.booleans()))
    into = Reading(data.draw(st.integers(1, 130)), True)
    order = data.draw(st.sampled_from(list(ORDERS)))
    terms = data.draw(st.lists(st.integers(0, (1 << source.width) - 1), max_size=20))
    total = sum((code ^ source.sign) - source.sign for code in terms)
    assert added([[term] for term in terms], source, into, order) == [total & ((1 << into.width) - 1)]


@given(data=st.data())
def test_integers_in_a_float_accumulator(data: st.DataObject) -> None:
    source = Reading(data.draw(st.sampled_from([1, 8, 31, 32, 62, 63, 64, 100])), data.draw(st.booleans()))
    into = data.draw(st.sampled_from([F8, F16, F32, FORMATS["f64"], FORMATS["f128"]]))
    terms = data.draw(st.lists(st.integers(0, (1 << source.width) - 1), max_size=20))
    numbers = [(code ^ source.sign) - source.sign for code in terms]
    exact = scalar.from_fraction(into, Fraction(sum(numbers))).code
    assert added([[term] for term in terms], source, into, "exact") == [exact]
    total = 0
    for number in numbers:
        total = scalar.add(into, total, scalar.from_integer(into, number).code).code
    assert added([[term] for term in terms], source, into, "sequential") == [total]


# Products.


def multiplied(
    a: list[list[int]], b: list[list[int]], sources: tuple[FloatFormat, FloatFormat], into: FloatFormat, order: str
) -> list[list[int | Fault]]:
    """Return matrix products by loops over the specification."""

    def element(row: list[int], column: list[int]) -> int | Fault:
        x, y = (
            [converted(code, source, into, SPEC) for code in codes]
            for codes, source in zip((row, column), sources, strict=True)
        )
        products: list[int | Fault] = []
        for p, q in zip(x, y, strict=True):
            if isinstance(p, Fault) or isinstance(q, Fault):
                products.append(p if isinstance(p, Fault) else q)
            else:
                products.append(scalar.multiply(into, p, q).code)
        return (in_pairs if order == "pairwise" else in_order)(products, into, SPEC)

    return [[element(row, list(column)) for column in zip(*b, strict=True)] for row in a]


def product_of(
    a: list[list[int]], b: list[list[int]], sources: tuple[FloatFormat, FloatFormat], into: FloatFormat, order: str
) -> list[list[int | Fault]]:
    x, y = (
        ints_to_codes([code for row in rows for code in row], source.bits, (1, len(rows), len(rows[0])))
        for rows, source in zip((a, b), sources, strict=True)
    )
    reduced = multiply_and_add(x, y, sources, into, order, SPEC)
    codes: list[int | Fault] = list(codes_to_ints(reduced.codes, into.bits))
    for _, fault, mask in reversed(reduced.faults):
        for at in np.flatnonzero(mask.reshape(-1)):
            codes[at] = fault
    return [codes[start : start + len(b[0])] for start in range(0, len(codes), len(b[0]))]


def matrix(fmt: FloatFormat, rows: int, columns: int, seed: int) -> list[list[int]]:
    return [moderate(fmt, columns, 1000 * seed + row) for row in range(rows)]


@pytest.mark.parametrize("order", ["sequential", "pairwise", "open"])
@pytest.mark.parametrize("fmt", SUMMED, ids=str)
def test_products_are_those_of_the_specification(fmt: FloatFormat, order: str) -> None:
    for special in (False, True):
        a, b = matrix(fmt, 3, 7, 1), matrix(fmt, 7, 2, 2)
        if special:
            codes = interesting(fmt)
            a[0], a[1][3] = codes[-7:], codes[0]
        assert product_of(a, b, (fmt, fmt), fmt, order) == multiplied(a, b, (fmt, fmt), fmt, order)


@pytest.mark.parametrize(
    "names",
    [
        ("f8E4M3FN", "f8E5M2", "f32"),
        ("f32", "f32", "f8E4M3FN"),
        ("f8E5M2", "f8E5M2", "f4E2M1FN"),
        ("f16", "bf16", "f64"),
    ],
)
@pytest.mark.parametrize("order", ["sequential", "pairwise"])
def test_products_of_mixed_types(names: tuple[str, str, str], order: str) -> None:
    x, y, into = (FORMATS[name] for name in names)
    a, b = matrix(x, 2, 9, 1), matrix(y, 9, 3, 2)
    a[0][2] = x.nan_code or 0
    assert product_of(a, b, (x, y), into, order) == multiplied(a, b, (x, y), into, order)


@pytest.mark.parametrize("name", thinned(["f4E2M1FN", "f8E4M3FN", "f8E5M2FNUZ", "bf16", "f16", "f32", "f64", "f80"], 2))
@pytest.mark.parametrize("into", ["f8E4M3FN", "f32", "f64", "f128"])
def test_exact_products_are_rounded_once(name: str, into: str) -> None:
    fmt, result = FORMATS[name], FORMATS[into]
    finite = [code for code in sample_codes(fmt, 200, 6) if scalar.value(fmt, code) is not None]
    rng = random.Random(7)
    a, b = ([[rng.choice(finite) for _ in range(columns)] for _ in range(rows)] for rows, columns in ((3, 6), (6, 2)))

    def value(code: int) -> Fraction:
        return scalar.value(fmt, code) or Fraction(0)

    totals = [
        [
            sum((value(x) * value(y) for x, y in zip(row, column, strict=True)), Fraction(0))
            for column in zip(*b, strict=True)
        ]
        for row in a
    ]
    expected = [[scalar.from_fraction(result, total).code for total in row] for row in totals]
    assert product_of(a, b, (fmt, fmt), result, "exact") == expected


def test_exact_products_of_infinities_do_not_depend_on_the_accumulator() -> None:
    infinity, tiny, zero, minus, nan = 0x7F800000, 0x00000001, 0, 0xBF800000, 0x7FC00123
    for into, expected in ((F16, 0x7C00), (F32, 0x7F800000)):
        # 2**-149 is zero in f16, but its product with infinity is infinite.
        assert product_of([[infinity, tiny]], [[tiny], [tiny]], (F32, F32), into, "exact") == [[expected]]
        assert product_of([[infinity]], [[minus]], (F32, F32), into, "exact") == [[expected | (into.sign_mask or 0)]]
        assert product_of([[infinity]], [[zero]], (F32, F32), into, "exact") == [[into.nan_code]]
        assert product_of([[infinity, infinity]], [[minus], [tiny]], (F32, F32), into, "exact") == [[into.nan_code]]
    assert product_of([[tiny, nan]], [[tiny], [tiny]], (F32, F32), F32, "exact") == [[nan]]
    # A format with neither takes the numbers that they convert to: 6 * 1 - 3.
    five = [[infinity, 0x40400000]], [[0x3F800000], [minus]]
    assert product_of(*five, (F32, F32), FORMATS["f4E2M1FN"], "exact") == [[0b0101]]


@pytest.mark.long
def test_products_of_many_tiles_and_large_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halfulp.semantics.sums.AT_ONCE", 64)
    a, b = matrix(F16, 20, 30, 3), matrix(F16, 30, 9, 4)
    for order in ("sequential", "pairwise"):
        assert product_of(a, b, (F16, F16), F16, order) == multiplied(a, b, (F16, F16), F16, order)


def test_tiles_broadcast() -> None:
    x = ints_to_codes(moderate(F32, 2 * 3 * 4, 1), 32, (2, 3, 4))
    y = ints_to_codes(moderate(F32, 4 * 5, 2), 32, (1, 4, 5))
    whole = multiply_and_add(x, y, (F32, F32), F32, "sequential", SPEC).codes
    parts: list[Codes] = [
        multiply_and_add(x[k : k + 1], y, (F32, F32), F32, "sequential", SPEC).codes for k in range(2)
    ]
    assert np.array_equal(whole, np.concatenate(parts))


# Errors.


def test_errors() -> None:
    ones = np.full((3, 1), 0x38, np.uint8)
    with pytest.raises(ValueError, match=r"order is 'sequentail', but must be one of sequential, .*sequential"):
        add_up(ones, F8, F8, "sequentail", SPEC)
    with pytest.raises(ValueError, match="f8E8M0FNU has no zero"):
        add_up(ones, FORMATS["f8E8M0FNU"], FORMATS["f8E8M0FNU"], "sequential", SPEC)
    with pytest.raises(ValueError, match="floats cannot be added in an integer type"):
        add_up(ones, F8, Reading(8, True), "sequential", SPEC)


@pytest.mark.long
@pytest.mark.parametrize("count", amounts(50, 500))
def test_random_lengths(count: int) -> None:
    rng = random.Random(count)
    for _ in range(count):
        fmt = rng.choice(SUMMED)
        terms = sampled(fmt, rng.randrange(60), rng.getrandbits(30))
        for order in ("sequential", "pairwise", "exact"):
            assert added([[term] for term in terms], fmt, fmt, order) == [specified(terms, fmt, fmt, order)]
