"""Made-up arguments: all, or samples; their sizes, layouts and number."""

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from present import present

import halfulp as hu
from halfulp.conformance.whole_programs.arguments import (
    CHOICES,
    MOST_ELEMENTS,
    ODD_TRIPS,
    TRIPS,
    assumptions_of,
    between,
    every_code,
    generated,
    one_input,
    parse_assumption,
    trip_counts,
)
from halfulp.conformance.whole_programs.two_runs import carried_type, signature
from halfulp.conformance.whole_programs.validation import (
    Basis,
    Inputs,
    ValidationReport,
    bounding_arguments,
    common_functions,
    compare,
)
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir import types as ty
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin, Origins


def test_few_inputs_are_all_inputs() -> None:
    made = generated([as_type("i3"), as_type("vector<2xi2>")], 10)
    rows = {tuple(value.bits.tobytes() for value in made.row(index)) for index in range(made.count)}
    assert (made.count, made.exhaustive, len(rows)) == (128, True, 128)
    assert generated([], 10).count == 1
    more = generated([as_type("i17")], 10)
    assert (more.count, more.exhaustive) == (10, False)
    range_ = {0: between(as_type("i32"), parse_assumption("%0 in [5, 7]"))}
    assumed = generated([as_type("i32")], 10, domains=range_)
    assert ([int(assumed.row(k)[0].bits) for k in range(assumed.count)], assumed.exhaustive) == ([5, 6, 7], True)


def test_all_inputs_come_in_the_order_of_their_codes() -> None:
    """The codes of the last element change fastest, whatever the shapes and the widths."""
    types = ["i1", "vector<2xi2>", "tensor<f4E2M1FN>", "tensor<0xi8>", "i128"]
    wide = {4: between(as_type("i128"), parse_assumption("%4 in [-1, 1]"))}
    made = generated([as_type(name) for name in types], 10, domains=wide)
    assert [column.shape for column in made.parts[0].columns] == [(1536,), (1536, 2), (1536,), (1536, 0), (1536, 2)]
    expected = product(range(2), range(4), range(4), range(16), ((1 << 128) - 1, 0, 1))
    for row, (flag, first, second, small, large) in enumerate(expected):
        one, pair, number, nothing, last = (value.bits for value in made.row(row))
        assert (int(one), pair.tolist(), int(number), nothing.size) == (flag, [first, second], small, 0)
        assert last.tolist() == [large & (1 << 64) - 1, large >> 64]
    assert (made.count, made.exhaustive) == (1536, True)


def test_inputs_are_those_of_the_seed() -> None:
    def codes(seed: int) -> list[int]:
        made = generated([as_type("f32")], 50, seed)
        return [int(made.row(index)[0].bits) for index in range(made.count)]

    assert codes(1) == codes(1) != codes(2)


def test_the_number_of_inputs_is_kept_over_all_sizes() -> None:
    for count in (1, 3, 20, 1000):
        made = generated([as_type("tensor<?xf32>")], count)
        assert made.count == count
        assert len([made.row(index) for index in range(count)]) == count
    sizes = {made.row(index)[0].shape for index in range(made.count)}
    assert sizes == {(3,), (2,), (16,), (4,), (1,), (0,)}
    assert made.notes == (f"dynamic sizes: {'; '.join(sizes.name for sizes in CHOICES)}",)
    with pytest.raises(IndexError):
        made.row(made.count)


def test_equal_dimensions_have_equal_sizes() -> None:
    made = generated([as_type("tensor<?x?xi32>"), as_type("memref<?x?xi32>"), as_type("tensor<*xi32>")], 50)
    for index in range(made.count):
        first, second, _ = made.row(index)
        assert first.shape == second.shape
    assert {len(made.row(index)[2].shape) for index in range(made.count)} == {0, 1, 2}


def test_scales_decide_sizes() -> None:
    made = generated([as_type("tensor<?x4x!quant.uniform<i8:f32:0, {1.0,2.0}>>")], 5)
    assert {made.row(index)[0].shape for index in range(made.count)} == {(2, 4)}
    blocks = "tensor<?x?x!quant.uniform<i8:f32:{1:3}, {{1.0,2.0}}>>"
    assert {row.shape for (row,) in map(generated([as_type(blocks)], 5).row, range(5))} == {(1, 6)}


@pytest.mark.parametrize(
    "type_",
    [
        "memref<2x3xi8>",
        "memref<f32>",
        "memref<?x?xi8, strided<[?, ?], offset: ?>>",
        "memref<?x?xi8, strided<[?, 1], offset: ?>>",
        "memref<2x3xi8, strided<[8, 2], offset: 4>>",
        "memref<3xi8, affine_map<(d0) -> (d0 * 2 + 1)>>",
        "memref<*xi8>",
        "memref<4xi128>",
        "memref<0xi8>",
        "memref<4xi8, 1>",
    ],
)
def test_memory_has_the_made_up_contents_in_any_layout(type_: str) -> None:
    made = generated([as_type(type_), as_type("f64")], 40)
    loose = set()
    for part in made.parts:
        for index in range(part.count):
            value, scalar = part.row(index)
            (buffer, number), (again, _) = part.fresh(index), part.fresh(index)
            assert isinstance(buffer, Buffer)
            assert isinstance(again, Buffer)
            assert (buffer.load(), number) == (value, scalar)
            assert buffer.type == as_type(type_)
            assert buffer.allocation is not again.allocation
            loose.add(len(buffer.allocation) > max(value.bits.size, 1))
    assert True in loose or "strided" not in type_


def test_elements_at_one_place_are_not_made_up() -> None:
    with pytest.raises(hu.Unsupported, match="several elements share one place"):
        generated([as_type("memref<3xi8, strided<[0]>>")], 5)


@pytest.mark.parametrize("type_", ["none", "tensor<2xcomplex<f32>>", "memref<2xvector<2xi8>>", "!my.type"])
def test_types_without_values(type_: str) -> None:
    with pytest.raises(hu.Unsupported, match="no values of type"):
        generated([as_type(type_)], 1)


def test_too_many_elements_are_refused_before_they_are_made() -> None:
    for domain in ({}, {0: between(as_type("i8"), parse_assumption("%0 in [3, 3]"))}):
        with pytest.raises(hu.errors.LimitExceeded, match="10000000000 elements are too many to generate"):
            generated([as_type("tensor<100000x100000xi8>")], 1, domains=domain)


@pytest.mark.long
def test_large_arguments_have_fewer_inputs() -> None:
    made = generated([as_type("tensor<256x1024xi8>")], 1000)
    assert made.count == MOST_ELEMENTS // (256 * 1024)
    assert made.notes == ("2 of 1,000 inputs: each has 262,144 elements",)


def test_given_memory_keeps_its_type() -> None:
    declared = as_type("memref<?xi8, strided<[?], offset: ?>>")
    assert isinstance(declared, ty.MemRefType)
    buffer = Buffer.from_numpy(
        hu.Value.from_numpy(np.array([1, 2], np.int8)), as_type("memref<2xi8, strided<[3], offset: 2>>")
    )
    made = one_input([buffer], [declared])
    (again,) = made.parts[0].fresh(0)
    assert isinstance(again, Buffer)
    assert (again.type, again.strides, again.offset) == (declared, (3,), 2)
    assert again.load() == buffer.load()


def test_arguments_that_bound_loops_and_sizes() -> None:
    text = """\
func.func @f(%a: index, %b: i32, %c: index, %d: index, %e: index, %n: index) -> index {
  %z = arith.constant 0 : index
  %bi = arith.index_cast %b : i32 to index
  %b1 = arith.addi %bi, %z : index
  %s = scf.for %i = %a to %b1 step %c iter_args(%x = %d) -> index {
    %y = arith.addi %x, %e : index
    scf.yield %y : index
  }
  %m = memref.alloc(%n) : memref<?xi8>
  return %s : index
}
"""
    assert bounding_arguments(hu.parse(text).body[0]) == {0, 1, 2, 5}


# --- signatures -------------------------------------------------------------------------------------------------------
#
# Signatures that a pass changes so that the bits stay.


def compared(before: str, after: str, count: int = 100) -> ValidationReport:
    one, two = hu.parse(before), hu.parse(after)
    (pair,) = common_functions(one, two)
    return compare(one, two, pair, Inputs(count))


@pytest.mark.parametrize(
    ("source", "target", "how"),
    [
        ("i64", "vector<2xi32>", "low half first"),
        ("vector<3xi64>", "vector<3x2xi32>", "low half first"),
        ("memref<4xi64>", "memref<4x2xi32>", "low half first"),
        ("i128", "vector<2xi64>", "low half first"),
        ("index", "i64", "the same bits"),
        ("bf16", "i16", "the same bits"),
        ("tensor<4x?xf32>", "memref<4x?xf32>", "the same bits"),
        ("vector<2x2xf32>", "vector<4xf32>", "the same bits"),
        ("f32", "vector<1xf32>", "the same bits"),
        ("tensor<2x!quant.uniform<i8:f32, 0.5>>", "tensor<2xi8>", "the same bits"),
        ("f32", "f32", ""),
        ("i64", "i32", None),
        ("i64", "vector<2xi16>", None),
        ("i64", "vector<2xf32>", None),
        ("tensor<?xf32>", "tensor<4xf32>", None),
        ("vector<4xi8>", "vector<2xi16>", None),
        ("vector<2x2xf32>", "vector<4xi32>", None),
        ("vector<[4]xi8>", "vector<4xi8>", None),
        ("tensor<*xf32>", "memref<*xf32>", None),
        ("none", "none", ""),
    ],
)
def test_how_a_type_is_carried_by_another(source: str, target: str, how: str | None) -> None:
    found = carried_type(as_type(source), as_type(target))
    assert (None if found is None else found.how) == how


@pytest.mark.parametrize(
    ("source", "target"),
    [("i64", "vector<2xi32>"), ("vector<3xi128>", "vector<3x2xi64>"), ("vector<2x2xi8>", "vector<4xi8>")],
)
@pytest.mark.parametrize("lanes", [(), (5,)])
def test_values_come_back_as_they_were(source: str, target: str, lanes: tuple[int, ...]) -> None:
    found = present(carried_type(as_type(source), as_type(target)))
    shape = lanes + tuple(size or 0 for size in ty.shape_of(found.source) or ())
    limbs = (2,) if "i128" in source else ()
    dtype = np.uint8 if "i8" in source else np.uint64
    bits = np.random.default_rng(1).integers(0, np.iinfo(dtype).max, shape + limbs, dtype, endpoint=True)
    value = Value(found.source, bits)
    there = found.to_target(value)
    assert there.shape[: len(lanes)] == lanes
    assert there.shape[len(lanes) :] == ty.shape_of(found.target)
    assert found.to_source(there) == value


def test_the_low_half_is_first_and_poison_of_a_half_is_poison() -> None:
    found = present(carried_type(as_type("i64"), as_type("vector<2xi32>")))
    there = found.to_target(Value(as_type("i64"), np.array(0x1111222233334444, np.uint64)))
    assert there.bits.tolist() == [0x33334444, 0x11112222]
    origins = Origins()
    poison = np.array([0, origins.id_of(Origin("test", "", "spoiled"))], np.uint16)
    back = found.to_source(Value(as_type("vector<2xi32>"), there.bits, poison, None, origins))
    assert back.poisoned.all()


NEGATED = "func.func @f(%m: memref<2xi16>) { return }"


@pytest.mark.long
def test_results_in_memory_of_the_caller() -> None:
    before = """\
func.func @f(%x: i8) -> (memref<1xi8>, i8) {
  %m = memref.alloc() : memref<1xi8>
  %z = arith.constant 0 : index
  memref.store %x, %m[%z] : memref<1xi8>
  return %m, %x : memref<1xi8>, i8
}
"""
    after = """\
func.func @f(%x: i8, %m: memref<1xi8>) -> i8 {{
  %z = arith.constant 0 : index
  {0}
  return %x : i8
}}
"""
    report = compared(before, after.format("memref.store %x, %m[%z] : memref<1xi8>"))
    assert (report.basis, report.notes) == (
        Basis.EVERY_INPUT,
        ("mapped: result 0: an argument of the second version",),
    )
    # Memory that was never written is poison, not a right answer by chance.
    assert compared(before, after.format("")).differing == 256


def test_tensors_become_memory() -> None:
    before = """\
func.func @f(%t: tensor<2xi4>) -> tensor<2xi4> {
  %0 = arith.addi %t, %t : tensor<2xi4>
  return %0 : tensor<2xi4>
}
"""
    after = """\
func.func @f(%t: memref<2xi4>) -> memref<2xi4> {{
  %r = memref.alloc() : memref<2xi4>
  %lo = arith.constant 0 : index
  %hi = arith.constant 2 : index
  %by = arith.constant 1 : index
  scf.for %i = %lo to %hi step %by {{
    %a = memref.load %t[%i] : memref<2xi4>
    %b = arith.{0} %a, %a : i4
    memref.store %b, %r[%i] : memref<2xi4>
  }}
  return %r : memref<2xi4>
}}
"""
    assert compared(before, after.format("addi")).basis is Basis.EVERY_INPUT
    assert compared(before, after.format("subi")).differing > 0


def test_memory_may_not_become_a_value() -> None:
    one, two = hu.parse(NEGATED), hu.parse(NEGATED.replace("memref", "tensor"))
    with pytest.raises(hu.Unsupported, match="has changed from"):
        signature(one.body[0], two.body[0])
    # The other way, what the second version stores is its own matter.
    assert signature(two.body[0], one.body[0]).notes == (
        "mapped: argument 0: tensor<2xi16> -> memref<2xi16>, the same bits",
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [("(i8) -> i8", "(i8, i8) -> i8"), ("(i8) -> i8", "() -> i8"), ("(i8) -> i8", "(i8) -> (i8, i8)")],
)
def test_other_changes_are_not_mapped(before: str, after: str) -> None:
    types = [as_type(text) for text in (before, after)]
    texts = []
    for type_ in types:
        assert isinstance(type_, ty.FunctionType)
        arguments = ", ".join(f"%a{k}: {each}" for k, each in enumerate(type_.inputs))
        returned = ", ".join(["%c"] * len(type_.results))
        body = f"%c = arith.constant 0 : i8\n  return {returned} : {', '.join(map(str, type_.results))}"
        texts.append(f"func.func @f({arguments}) -> ({', '.join(map(str, type_.results))}) {{ {body} }}")
    one, two = map(hu.parse, texts)
    with pytest.raises(hu.Unsupported, match="has changed from"):
        signature(one.body[0], two.body[0])


# --- domains ----------------------------------------------------------------------------------------------------------
#
# The codes of which arguments are made, with and without assumptions.


def codes(type_: str, text: str) -> list[int]:
    """Return all codes of an assumption."""
    domain = between(as_type(type_), parse_assumption(f"%0 in {text}"))
    assert domain.size is not None
    found = [domain.code(number) for number in range(domain.size)]
    assert set(domain.corners) | set(domain.usual) <= set(found)
    rng = random.Random(1)
    assert {domain.draw(rng) for _ in range(100)} <= set(found)
    return found


@pytest.mark.parametrize(
    ("type_", "text", "found"),
    [
        ("i8", "[0, 3]", [0, 1, 2, 3]),
        ("i8", "[-2, 1]", [0xFE, 0xFF, 0, 1]),
        ("i8", "[126, 129]", [126, 127, 128, 129]),  # a signless type has unsigned numbers too
        ("si8", "[126, 129]", [126, 127]),
        ("ui8", "[-3, 1]", [0, 1]),
        ("i1", "[1, 1]", [1]),
        ("i8", "[0.5, 2.5]", [1, 2]),
        ("index", "[-1, 0]", [(1 << 64) - 1, 0]),
        ("i128", "[-1, 0]", [(1 << 128) - 1, 0]),
    ],
)
def test_integers_of_a_range(type_: str, text: str, found: list[int]) -> None:
    assert codes(type_, text) == found


def test_a_range_of_all_integers_has_each_code_once() -> None:
    assert sorted(codes("i8", "[-128, 255]")) == list(range(256))


@pytest.mark.parametrize("name", [name for name, fmt in FORMATS.items() if fmt.bits <= 8])
@pytest.mark.parametrize(
    ("low", "high"), [("-1.5", "2"), ("0", "3"), ("0.3", "0.7"), ("-100", "-0.1"), ("-1e9", "1e9")]
)
def test_floats_of_a_range_are_all_finite_codes_in_it(name: str, low: str, high: str) -> None:
    fmt = FORMATS[name]
    bounds = Fraction(low), Fraction(high)
    expected = []
    for code in range(fmt.code_mask + 1):
        value = scalar.value(fmt, code)
        negative_zero = fmt.is_zero(code) and code != 0
        if value is not None and bounds[0] <= value <= bounds[1] and not (negative_zero and bounds[0] == 0):
            expected.append(code)
    if not expected:
        with pytest.raises(hu.errors.InputError, match="no value of type"):
            codes(name, f"[{low}, {high}]")
        return
    found = codes(name, f"[{low}, {high}]")
    assert sorted(found) == expected
    values = [scalar.value(fmt, code) or Fraction(0) for code in found]
    assert values == sorted(values)


@pytest.mark.parametrize("name", ["f16", "f32", "f64", "f80", "f128"])
def test_wide_floats_of_a_range_begin_and_end_inside(name: str) -> None:
    fmt = FORMATS[name]
    domain = between(ty.FloatType(fmt), parse_assumption("%x in [-0.1, 3]"))
    assert domain.size is not None
    ends = [scalar.value(fmt, domain.code(number)) for number in (0, domain.size - 1)]
    assert ends[1] == 3
    assert ends[0] is not None
    assert Fraction(-1, 10) <= ends[0] < Fraction(-99, 1000)
    rng = random.Random(2)
    for _ in range(200):
        value = present(scalar.value(fmt, domain.draw(rng)))
        assert Fraction(-1, 10) <= value <= 3


@pytest.mark.parametrize("text", ["", "%0", "%0 in", "%0 in [1]", "%0 in [1, x]", "%0 in [nan, 1]", "%0 in [2, 1]"])
def test_texts_that_are_no_assumption(text: str) -> None:
    with pytest.raises(hu.errors.InputError, match="is not an assumption"):
        parse_assumption(text)


def test_assumptions_are_spelled_as_they_are_read() -> None:
    for text in ("%0 in [0, 10]", "%a.b in [-1.5, 2]", "%arg0 in [-3, -3]"):
        assert str(parse_assumption(text)) == text
    assert parse_assumption("x in [0,1]") == parse_assumption(" %x  in [ 0 , 1.0 ] ")


def test_the_attribute_is_a_list_of_strings() -> None:
    text = "func.func @f(%a: i8) attributes {{halfulp.assume = {0}}} {{ return }}"

    def found(attribute: str) -> list[str]:
        return list(map(str, assumptions_of(hu.parse(text.format(attribute)).body[0])))

    assert found('["%a in [0, 1]", "%0 in [2, 3]"]') == ["%a in [0, 1]", "%0 in [2, 3]"]
    assert found('"%a in [0, 1]"') == ["%a in [0, 1]"]
    with pytest.raises(hu.errors.InputError, match=r"the attribute halfulp.assume is \[1\]"):
        found("[1]")


def test_trips_are_few_except_of_narrow_types() -> None:
    rng = random.Random(3)
    domain = trip_counts(ty.INDEX)
    assert domain.size is None
    drawn = {domain.draw(rng) for _ in range(2000)}
    assert drawn == {number & ((1 << 64) - 1) for number in (*TRIPS, *ODD_TRIPS)}
    assert trip_counts(as_type("i8")) is every_code(as_type("i8"))


def test_codes_of_f80_are_canonical() -> None:
    f80, rng = as_type("f80"), random.Random(5)
    domain = every_code(f80)
    for code in [*domain.corners, *(domain.draw(rng) for _ in range(1000))]:
        assert (code >> 63 & 1) == (code >> 64 & 0x7FFF != 0), hex(code)


def test_an_index_is_often_small() -> None:
    rng = random.Random(4)
    drawn = [every_code(ty.INDEX).draw(rng) for _ in range(1000)]
    assert sum(code <= 16 for code in drawn) > 450
    assert any(code > 1 << 62 for code in drawn)
