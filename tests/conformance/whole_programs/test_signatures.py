"""Signatures that a pass changes so that the bits stay."""

from __future__ import annotations

import numpy as np
import pytest

import halfulp as hu
from halfulp.conformance.whole_programs.signatures import carried_type, signature
from halfulp.conformance.whole_programs.validation import Basis, Inputs, ValidationReport, common_functions, compare
from halfulp.interp.ir import types as ty
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin, Origins


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
    found = carried_type(as_type(source), as_type(target))
    assert found is not None
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
    found = carried_type(as_type("i64"), as_type("vector<2xi32>"))
    assert found is not None
    there = found.to_target(Value(as_type("i64"), np.array(0x1111222233334444, np.uint64)))
    assert there.bits.tolist() == [0x33334444, 0x11112222]
    origins = Origins()
    poison = np.array([0, origins.id_of(Origin("test", "", "spoiled"))], np.uint16)
    back = found.to_source(Value(as_type("vector<2xi32>"), there.bits, poison, None, origins))
    assert back.poisoned.all()


NEGATED = "func.func @f(%m: memref<2xi16>) { return }"


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
