"""Poison with provenance, and undefined behaviour: how both arise, spread and are reported."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from op_implementations import outcomes_of, value
from present import present

import halfulp as hu
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value
from halfulp.semantics import kernel
from halfulp.semantics.kernel import OTHER, Origin, Origins, select_poison


def function(body: str, arguments: str, results: str) -> str:
    return f"func.func @f({arguments}) -> ({results}) {{\n  {body}\n}}\n"


def origin_of(found: Value, *index: int) -> Origin:
    return present(found.origin(*index))


# --- provenance -------------------------------------------------------------------------------------------------------


def test_an_origin_names_op_location_reason_and_first_element() -> None:
    text = function(
        "%0 = arith.addi %a, %b overflow<nsw> : tensor<2x3xi8>\n  return %0 : tensor<2x3xi8>",
        "%a: tensor<2x3xi8>, %b: tensor<2x3xi8>",
        "tensor<2x3xi8>",
    )
    a = np.array([[1, 2, 3], [4, 127, 100]], np.int8)
    (found,) = hu.run(text, a, np.full((2, 3), 100, np.int8))
    assert outcomes_of(found) == [101, 102, 103, 104, "poison", "poison"]
    first = origin_of(found, 1, 1)
    assert first == origin_of(found, 1, 2)  # one origin per op and reason: the first element in row-major order
    assert (first.op, first.location, first.reason, first.element) == (
        "arith.addi",
        "<string>:2:8",
        "signed overflow with nsw",
        (1, 1),
    )
    assert str(first).startswith("signed overflow with nsw (arith.addi at <string>:2:8")
    assert "element [1, 1]" in str(first)
    assert found.origin(0, 0) is None


def test_a_location_in_the_text_counts() -> None:
    text = function('%0 = arith.shli %a, %a : i8 loc("kernel.c":7:3)\n  return %0 : i8', "%a: i8", "i8")
    (found,) = hu.run(text, 8)
    assert "kernel.c" in origin_of(found).location
    assert origin_of(found).reason == "shift amount is not less than the bit width"


NAN = float("nan")
REASONS: tuple[tuple[str, tuple[float, ...], dict[str, Any], str, str | None, str], ...] = (
    ("arith.addi", (127, 1), {"overflow": "nsw"}, "i8", None, "signed overflow with nsw"),
    ("arith.subi", (0, 1), {"overflow": "nuw"}, "i8", None, "unsigned overflow with nuw"),
    ("arith.muli", (64, 2), {"overflow": "nsw"}, "i8", None, "signed overflow with nsw"),
    ("arith.shli", (64, 1), {"overflow": "nsw"}, "i8", None, "signed overflow with nsw"),
    ("arith.shrsi", (1, 8), {}, "i8", None, "shift amount is not less than the bit width"),
    ("arith.shrui", (1, 1), {"exact": True}, "i8", None, "nonzero bits shifted out with exact"),
    ("arith.divui", (7, 2), {"exact": True}, "i8", None, "nonzero remainder with exact"),
    ("arith.extui", (-1,), {"nneg": True}, "i8", "i16", "negative operand with nneg"),
    ("arith.trunci", (200,), {"overflow": "nuw"}, "i16", "i4", "unsigned overflow with nuw"),
    ("arith.fptosi", (1e10,), {}, "f32", "i32", "NaN, infinity or a value outside the range of a signed i32"),
    ("arith.fptoui", (-1.0,), {}, "f32", "i8", "NaN, infinity or a value outside the range of an unsigned i8"),
    ("arith.truncf", (NAN,), {}, "f32", "f4E2M1FN", "NaN is not representable in f4E2M1FN"),
    ("arith.divf", (0.0, 0.0), {}, "f6E3M2FN", None, "NaN is not representable in f6E3M2FN"),
    ("arith.addf", (NAN, 1.0), {"fastmath": "nnan"}, "f32", None, "NaN operand or result under fastmath<nnan>"),
    ("quant.qcast", (NAN,), {}, "f32", "!quant.uniform<i8:f32, 1.0>", "quant.qcast of NaN"),
)


@pytest.mark.parametrize(("op", "operands", "given", "type_", "to", "reason"), REASONS)
def test_reasons(
    op: str, operands: Sequence[Any], given: dict[str, Any], type_: str, to: str | None, reason: str
) -> None:
    found = hu.eval(op, *operands, type=type_, to=to, **given)
    assert outcomes_of(found) == ["poison"]
    assert (origin_of(found).op, origin_of(found).reason) == (op, reason)


def test_origins_survive_copies_and_pickling() -> None:
    import pickle

    found = hu.eval("arith.shli", np.array([1, 2], np.int8), np.array([9, 1], np.int8))
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.origin(0) == found.origin(0)
    # A poisoned result as an argument of another run keeps its origin.
    text = function(
        "%0 = arith.addi %a, %a : tensor<2xi8>\n  return %0 : tensor<2xi8>", "%a: tensor<2xi8>", "tensor<2xi8>"
    )
    (sum_,) = hu.run(text, again)
    assert sum_.origin(0) == found.origin(0)
    assert outcomes_of(sum_) == ["poison", 8]


# --- how poison spreads -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 8, 64])
def test_a_fault_of_operands_that_are_broadcast_spoils_every_element(size: int) -> None:
    found = kernel.with_faults(
        None, [("it is", np.array([True])), ("it was", np.array(True))], (2, size), lambda why, new: len(why)
    )
    assert found is not None
    assert found.tolist() == [[len("it is")] * size] * 2


def test_two_poisons_merge_by_the_larger_id() -> None:
    """The later origin wins, whichever operand it comes from."""
    text = function(
        "%big = arith.constant dense<[9, 0, 9]> : tensor<3xi8>\n"
        "  %other = arith.constant dense<[0, 9, 9]> : tensor<3xi8>\n"
        "  %p = arith.shli %big, %big : tensor<3xi8>\n"
        "  %q = arith.shrui %other, %other : tensor<3xi8>\n"
        "  %x = arith.addi %p, %q : tensor<3xi8>\n"
        "  %y = arith.addi %q, %p : tensor<3xi8>\n"
        "  return %x, %y : tensor<3xi8>, tensor<3xi8>",
        "",
        "tensor<3xi8>, tensor<3xi8>",
    )
    for found in hu.run(text):
        assert [origin_of(found, k).op for k in range(3)] == ["arith.shli", "arith.shrui", "arith.shrui"]
        assert found.poison is not None
        assert found.poison.dtype == np.uint16


def elementwise_ops() -> list[str]:
    """Ops of arith with operands that compute element by element; a division by poison is undefined instead."""
    ops = default_registry().dialects["arith"].ops
    divisions = ("div", "rem")
    return [
        name
        for name, definition in ops.items()
        if isinstance(definition.evaluate, Elementwise) and not (any(d in name for d in divisions) and name[-1] == "i")
    ]


CASTS = {
    "extsi": ("i8", "i16"),
    "extui": ("i8", "i16"),
    "trunci": ("i8", "i4"),
    "sitofp": ("i8", "f32"),
    "uitofp": ("i8", "f32"),
    "fptosi": ("f32", "i8"),
    "fptoui": ("f32", "i8"),
    "extf": ("f16", "f32"),
    "truncf": ("f32", "f16"),
    "convertf": ("f16", "bf16"),
    "bitcast": ("f32", "i32"),
    "index_cast": ("i8", "index"),
    "index_castui": ("i8", "index"),
    "scaling_extf": ("f8E5M2", "f32"),
    "scaling_truncf": ("f32", "f8E5M2"),
}


@pytest.mark.parametrize("op", elementwise_ops())
def test_every_op_passes_poison_on(op: str) -> None:
    """No op has a shortcut: each operand in turn is poison in one element."""
    name = op.removeprefix("arith.")
    definition = present(default_registry().find(op))
    source, target = CASTS.get(name, ("f32" if name.endswith("f") or name == "flush_denormals" else "i8", None))
    count = len(definition.operands)
    types = [source] * count
    if name.startswith("scaling"):
        types[1] = "f8E8M0FNU"
    given: dict[str, Any] = {"predicate": {"cmpf": "true", "cmpi": "eq"}[name]} if name.startswith("cmp") else {}
    for which in range(count):
        operands = [value([0, 0], f"tensor<2x{t}>", (2,)) for t in types]
        origins = Origins()
        ids = np.array([0, origins.id_of(Origin("test", "here", "on purpose"))], np.uint16)
        clean = operands[which]
        operands[which] = Value(clean.type, clean.bits, ids, None, origins)
        found = hu.eval(op, *operands, to=target, **given)
        for result in found if isinstance(found, tuple) else (found,):
            assert result.poisoned.tolist() == [False, True]
            assert origin_of(result, 1).reason == "on purpose"
            assert not result.bits[1].any()  # bits under poison are zero


@pytest.mark.parametrize(
    ("op", "operands"),
    [("muli", "%p, %zero"), ("muli", "%zero, %p"), ("subi", "%p, %p"), ("xori", "%p, %p"), ("andi", "%p, %zero")],
)
def test_no_shortcuts(op: str, operands: str) -> None:
    text = function(
        f"%p = ub.poison : i8\n  %zero = arith.constant 0 : i8\n  %x = arith.{op} {operands} : i8\n  return %x : i8",
        "",
        "i8",
    )
    assert outcomes_of(hu.run(text)[0]) == ["poison"]
    assert origin_of(hu.run(text)[0]).op == "ub.poison"


def test_comparing_poison_with_itself_is_poison() -> None:
    text = function("%p = ub.poison : i8\n  %x = arith.cmpi eq, %p, %p : i8\n  return %x : i1", "", "i1")
    assert outcomes_of(hu.run(text)[0]) == ["poison"]


@pytest.mark.parametrize(
    "type_", ["i8", "f32", "index", "f80", "vector<2xf4E2M1FN>", "tensor<2x2xi128>", "tensor<0xf32>"]
)
def test_ub_poison_of_any_type(type_: str) -> None:
    (found,) = hu.run(function(f"%p = ub.poison : {type_}\n  return %p : {type_}", "", type_))
    assert found.type == as_type(type_)
    assert found.poisoned.all()
    assert (found.poison is None) == (found.bits.size == 0)
    for index in np.ndindex(found.shape):
        assert origin_of(found, *index).op == "ub.poison"
        assert origin_of(found, *index).element == (0,) * len(found.shape)


def test_nothing_poisonous_allocates_no_mask() -> None:
    for found in (
        hu.eval("arith.addf", np.ones(4, np.float32), np.ones(4, np.float32), fastmath="nnan,ninf"),
        hu.eval("arith.addi", np.ones(4, np.int32), np.ones(4, np.int32), overflow="nsw,nuw"),
        hu.eval("arith.fptosi", np.ones(4, np.float32), to="i8"),
    ):
        assert found.poison is None


# --- select -----------------------------------------------------------------------------------------------------------


def poisoned(codes: Sequence[int], mask: Sequence[int], type_: str, reason: str = "on purpose") -> Value:
    origins = Origins()
    ids = np.array(mask, np.uint16) * np.uint16(origins.id_of(Origin("test", "here", reason)))
    return Value(as_type(type_), value(codes, type_, (len(codes),)).bits, ids, None, origins)


def test_select_ignores_the_arm_not_chosen() -> None:
    clean = value([1, 2, 3, 4], "tensor<4xi8>", (4,))
    bad = poisoned([5, 6, 7, 8], [1, 1, 0, 0], "tensor<4xi8>")
    condition = value([0, 1, 0, 1], "tensor<4xi1>", (4,))
    assert outcomes_of(hu.eval("arith.select", condition, bad, clean)) == [1, "poison", 3, 8]
    assert outcomes_of(hu.eval("arith.select", condition, clean, bad)) == ["poison", 2, 7, 4]
    for chosen, want in ((1, ["poison", "poison", 7, 8]), (0, [1, 2, 3, 4])):  # an i1 chooses whole values
        assert outcomes_of(hu.eval("arith.select", value([chosen], "i1", ()), bad, clean)) == want


def test_select_on_poison_is_poison() -> None:
    clean = value([1, 2], "tensor<2xi8>", (2,))
    condition = poisoned([0, 0], [0, 1], "tensor<2xi1>", "condition")
    found = hu.eval("arith.select", condition, clean, clean)
    assert outcomes_of(found) == [1, "poison"]
    assert origin_of(found, 1).reason == "condition"
    # A poison i1 spoils every element; of a condition and an arm that are both poison, the condition counts.
    for type_ in ("i8", "tensor<2xi8>", "vector<2xf32>", "tensor<2xf80>"):
        text = function(
            f"%c = ub.poison : i1\n  %x = arith.select %c, %a, %a : {type_}\n  return %x : {type_}",
            f"%a: {type_}",
            type_,
        )
        (found,) = hu.run(text, value([1, 2] if "x" in type_ else [1], type_, (2,) if "x" in type_ else ()))
        assert found.poisoned.all()
        assert origin_of(found, *(0,) * len(found.shape)).op == "ub.poison"
    both = hu.eval("arith.select", condition, poisoned([1, 2], [1, 1], "tensor<2xi8>", "arm"), clean)
    assert [origin_of(both, 1).reason, outcomes_of(both)[0]] == ["condition", 2 - 1]


def test_select_poison_of_arrays() -> None:
    condition = np.array([1, 0, 1, 0], np.uint8)
    yes, no = np.array([3, 3, 0, 0], np.uint16), np.array([0, 0, 5, 5], np.uint16)
    of_condition = np.array([0, 7, 0, 0], np.uint16)
    assert select_poison(condition, None, None, None, (4,)) is None
    assert select_poison(condition, None, yes, None, (4,)).tolist() == [3, 0, 0, 0]  # type: ignore[union-attr]
    assert select_poison(condition, None, None, no, (4,)).tolist() == [0, 0, 0, 5]  # type: ignore[union-attr]
    assert select_poison(condition, of_condition, yes, no, (4,)).tolist() == [3, 7, 0, 5]  # type: ignore[union-attr]
    assert select_poison(condition, None, np.array([0, 9, 0, 9], np.uint16), None, (4,)) is None


@pytest.mark.parametrize("condition", [True, False])
def test_arms_of_different_shapes_are_undefined(condition: bool) -> None:
    text = function(
        "%x = arith.select %c, %a, %b : tensor<?xf32>\n  return %x : tensor<?xf32>",
        "%c: i1, %a: tensor<?xf32>, %b: tensor<?xf32>",
        "tensor<?xf32>",
    )
    with pytest.raises(hu.UndefinedBehavior, match="'2' and '3'"):
        hu.run(text, condition, np.zeros(2, np.float32), np.zeros(3, np.float32))


# --- undefined behaviour ----------------------------------------------------------------------------------------------

DIVISIONS = ("divsi", "divui", "floordivsi", "ceildivsi", "ceildivui", "remsi", "remui")
OVERFLOWING = ("divsi", "floordivsi", "ceildivsi")


@pytest.mark.parametrize("op", DIVISIONS)
@pytest.mark.parametrize("container", ["i8", "vector<3xi8>", "tensor<3xi8>"])
def test_a_poison_divisor_is_undefined(op: str, container: str) -> None:
    text = function(
        f"%p = ub.poison : {container}\n  %x = arith.{op} %a, %p : {container}\n  return %x : {container}",
        f"%a: {container}",
        container,
    )
    shape = () if container == "i8" else (3,)
    with pytest.raises(hu.UndefinedBehavior, match="division by zero.*rhs = poison"):
        hu.run(text, value([5] * 3 if shape else [5], container, shape))


@pytest.mark.long
@pytest.mark.parametrize("op", DIVISIONS)
def test_a_poison_dividend_is_poison_unless_the_divisor_is_bad(op: str) -> None:
    """Divisor 0: undefined. Divisor -1: undefined where the minimum over -1 would be. Any other: poison."""
    text = function(f"%p = ub.poison : i8\n  %x = arith.{op} %p, %a : i8\n  return %x : i8", "%a: i8", "i8")
    for divisor in range(-128, 128):
        if divisor == 0 or (divisor == -1 and op in OVERFLOWING):
            with pytest.raises(hu.UndefinedBehavior, match="lhs = poison"):
                hu.run(text, divisor)
        else:
            assert outcomes_of(hu.run(text, divisor)[0]) == ["poison"]


@pytest.mark.parametrize("op", DIVISIONS)
def test_mixed_elements_of_divisions(op: str) -> None:
    dividend = poisoned([100, 100, 100, 100, 128, 128], [1, 0, 1, 0, 0, 0], "tensor<6xi8>")
    divisor = value([7, 7, 255, 255, 255, 0], "tensor<6xi8>", (6,))
    found = hu.eval(f"arith.{op}", dividend, divisor, on_ub="poison")
    got = outcomes_of(found)
    overflow = op in OVERFLOWING
    assert got[0] == "poison"
    assert isinstance(got[1], int)
    # Only elements that were clean before are spoiled by undefined behaviour; the poison dividend keeps its origin.
    assert got[2] == "poison"
    assert isinstance(got[3], int)
    assert got[4] == "undefined" if overflow else isinstance(got[4], int)
    assert got[5] == "undefined"
    with pytest.raises(hu.UndefinedBehavior) as caught:
        hu.eval(f"arith.{op}", dividend, divisor)
    first, count = (2, 3) if overflow else (5, 1)
    assert f"at element [{first}]" in caught.value.message
    assert f"({count} of 6 elements)" in caught.value.message


def test_the_report() -> None:
    text = function(
        "%0 = arith.divsi %a, %b : tensor<2x3xi8>\n  return %0 : tensor<2x3xi8>",
        "%a: tensor<2x3xi8>, %b: tensor<2x3xi8>",
        "tensor<2x3xi8>",
    )
    a = np.array([[1, 2, -128], [4, 5, 6]], np.int8)
    b = np.array([[1, 1, -1], [0, 1, 0]], np.int8)
    with pytest.raises(hu.UndefinedBehavior) as caught:
        hu.run(text, a, b)
    error = caught.value
    assert str(error) == (
        "<string>:2:8: error: arith.divsi: undefined behaviour: signed division overflow (minimum value divided by -1) "
        "at element [0, 2]: lhs = -128, rhs = -1 (3 of 6 elements)"
    )
    assert error.op == "arith.divsi"
    assert error.values == ("lhs = -128", "rhs = -1")
    assert error.exit_code == 4
    assert "arith.divsi %a, %b" in error.render(text)
    with pytest.raises(
        hu.UndefinedBehavior, match=r"error: arith.remui: undefined behaviour: division by zero: lhs = 7, rhs = 0$"
    ):
        hu.eval("arith.remui", 7, 0, type="i8")


def test_on_ub_poison_spoils_only_the_offending_elements() -> None:
    a, b = np.array([8, 9, -128, 4], np.int8), np.array([2, 0, -1, -1], np.int8)
    found = hu.eval("arith.divsi", a, b, on_ub="poison")
    assert outcomes_of(found) == [4, "undefined", "undefined", 252]
    assert origin_of(found, 1).reason == "undefined behaviour: division by zero"
    assert origin_of(found, 2).reason == "undefined behaviour: signed division overflow (minimum value divided by -1)"
    assert [origin_of(found, k).element for k in (1, 2)] == [(1,), (2,)]
    with pytest.raises(ValueError, match="on_ub"):
        hu.eval("arith.divsi", a, b, on_ub="ignore")  # type: ignore[arg-type]


def test_all_operands_are_evaluated_first() -> None:
    # Both divisions are undefined; the one that runs first is reported, whatever uses it.
    text = function(
        "%x = arith.divui %one, %zero : i8\n  %y = arith.remui %one, %zero : i8\n  %z = arith.addi %y, %x : i8\n  return %z : i8",
        "%one: i8, %zero: i8",
        "i8",
    )
    with pytest.raises(hu.UndefinedBehavior, match="arith.divui"):
        hu.run(text, 1, 0)


@pytest.mark.parametrize("op", DIVISIONS)
def test_ops_on_zero_elements_have_no_undefined_behaviour(op: str) -> None:
    for type_, shape in (("tensor<0xi8>", (0,)), ("tensor<3x0xi8>", (3, 0)), ("tensor<?xi8>", (0,))):
        text = function(f"%x = arith.{op} %a, %a : {type_}\n  return %x : {type_}", f"%a: {type_}", type_)
        (found,) = hu.run(text, np.zeros(shape, np.int8))
        assert found.shape == shape
        assert found.poison is None
    text = function(
        f"%p = ub.poison : tensor<0xi8>\n  %x = arith.{op} %p, %p : tensor<0xi8>\n  return %x : tensor<0xi8>",
        "",
        "tensor<0xi8>",
    )
    assert hu.run(text)[0].poison is None


def test_branching_on_poison_always_stops() -> None:
    text = """func.func @f() -> i8 {
  %c = ub.poison : i1
  %x = arith.constant 1 : i8
  cf.cond_br %c, ^a, ^b
^a:
  return %x : i8
^b:
  return %x : i8
}
"""
    for on_ub in ("raise", "poison"):
        with pytest.raises(hu.UndefinedBehavior, match="poison") as caught:
            hu.run(text, on_ub=on_ub)
        assert caught.value.location is not None


# --- the table of origins ---------------------------------------------------------------------------------------------


@pytest.mark.long
def test_seventy_thousand_origins() -> None:
    origins = Origins()
    ids = [origins.id_of(Origin("op", f"line {k}", "reason")) for k in range(70_000)]
    assert ids[:3] == [1, 2, 3]
    assert ids[65_533] == 65_534
    assert set(ids[65_534:]) == {OTHER} == {65_535}
    assert origins[65_534].location == "line 65533"
    assert origins[OTHER].op == "other"
    assert "65,534" in origins[OTHER].reason
    # What is known already keeps its id, and the first element that it was seen at.
    assert origins.id_of(Origin("op", "line 5", "reason", (9,))) == 6
    assert origins[6].element == ()
    assert origins.id_of(Origin("op", "line 69999", "reason")) == OTHER


@pytest.mark.parametrize(
    ("largest", "count"), [(700, 1_000), pytest.param(OTHER, 70_000, marks=pytest.mark.exhaustive)]
)
def test_more_origins_in_one_run_than_there_are_ids(largest: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "OTHER", largest)
    lines = "\n".join(f"  %p{k} = ub.poison : i8" for k in range(count))
    text = f"func.func @f() -> (i8, i8, i8) {{\n{lines}\n  %x = arith.addi %p0, %p{count - 1} : i8\n  return %p0, %p{count - 1}, %x : i8, i8, i8\n}}\n"
    first, last, merged = hu.run(text)
    assert origin_of(first).op == "ub.poison"
    assert origin_of(last).op == "other"
    assert origin_of(merged).op == "other"  # the largest id wins


def test_a_loop_does_not_fill_the_table() -> None:
    origins = Origins()
    assert {origins.id_of(Origin("op", "here", "reason", (k,))) for k in range(100_000)} == {1}


def test_tables_of_two_values_merge() -> None:
    here, there = Origins(), Origins()
    a = here.id_of(Origin("a", "1", "r"))
    there.id_of(Origin("b", "2", "r"))
    b = there.id_of(Origin("a", "1", "r"))
    ids = here.adopt(np.array([[0, 1], [2, 0]], np.uint16), there)
    assert b == 2
    assert ids.tolist() == [[0, 2], [a, 0]]
    assert here.adopt(ids, here) is ids


def test_listeners_hear_of_poison_and_undefined_behaviour() -> None:
    heard: list[tuple[str, int]] = []

    class Ear(hu.Listener):
        def poison_born(self, op: Any, origin: Any, count: int) -> None:
            heard.append((origin.reason, count))

        def undefined_behavior(self, op: Any, report: Any) -> None:
            heard.append((report.op, 0))

    text = function(
        "%x = arith.divui %a, %b : tensor<4xi8>\n  %y = arith.addi %x, %x : tensor<4xi8>\n  return %y : tensor<4xi8>",
        "%a: tensor<4xi8>, %b: tensor<4xi8>",
        "tensor<4xi8>",
    )
    hu.run(text, np.ones(4, np.int8), np.array([0, 1, 0, 1], np.int8), on_ub="poison", listeners=[Ear()])
    assert heard == [
        ("arith.divui", 0),
        ("undefined behaviour: division by zero", 2),
    ]  # the sum bears no poison of its own
