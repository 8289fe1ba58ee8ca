"""What attributes of arguments and results, and assumptions, promise. Expectations: LLVM's language reference, release
22, "Parameter Attributes" and "Assume Operand Bundles".
"""

from typing import Any

import numpy as np
import pytest
from tables import each_row

import halfulp as hu

POISON, UNDEFINED = "poison", "undefined"
RANGE = "llvm.range = #llvm.constant_range<i32, 0, 10>"
WRAPPING = "llvm.range = #llvm.constant_range<i32, -2, 3>"


def _outcome(program: str, *arguments: Any) -> Any:
    """Return the result of @main as a number, or a word for what became of it."""
    try:
        (found,) = hu.run(program, *arguments, function="main")
    except hu.UndefinedBehavior:
        return UNDEFINED
    if found.shape:
        return [POISON if lost else int(code) for code, lost in zip(found.bits, found.poisoned, strict=True)]
    return POISON if found.poison is not None else found.item()


# --- where attributes hold --------------------------------------------------------------------------------------------

ARGUMENT = "llvm.func @main(%x: {type} {{{given}}}) -> {type} {{ llvm.return %x : {type} }}"
RESULT = "llvm.func @main(%x: {type}) -> ({type} {{{given}}}) {{ llvm.return %x : {type} }}"
_SAME = "llvm.func @same(%x: {type}) -> {type} {{ llvm.return %x : {type} }}\n"
_CALL = "llvm.func @main(%x: {{type}}) -> {{type}} {{{{\n  %r = llvm.call {} : {}\n  llvm.return %r : {{type}}\n}}}}"
CALLED_WITH = _SAME + _CALL.format("@same(%x)", "({type} {{{given}}}) -> {type}")
CALL_GIVES = _SAME + _CALL.format("@same(%x)", "({type}) -> ({type} {{{given}}})")
CALLEE = ARGUMENT.replace("@main", "@same") + "\n" + _CALL.format("@same(%x)", "({type}) -> {type}")
BY_POINTER = (
    ARGUMENT.replace("@main", "@same")
    + """
llvm.func @main(%x: {type}) -> {type} {{
  %f = llvm.mlir.addressof @same : !llvm.ptr
  %r = llvm.call %f(%x) : !llvm.ptr, ({type}) -> {type}
  llvm.return %r : {type}
}}"""
)
PLACES = (ARGUMENT, RESULT, CALLED_WITH, CALL_GIVES, CALLEE, BY_POINTER)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("given", "argument", "expected"),
    [
        (RANGE, 0, 0),
        (RANGE, 9, 9),
        (RANGE, 10, POISON),
        (RANGE, -1, POISON),
        (f"llvm.noundef, {RANGE}", 9, 9),
        (f"llvm.noundef, {RANGE}", 10, UNDEFINED),
        ("llvm.noundef", 10, 10),
        ("llvm.range = #llvm.constant_range<i32, 5, -5>", 4, POISON),
        ("llvm.range = #llvm.constant_range<i32, 5, -5>", -2147483648, -2147483648),
        ("llvm.range = #llvm.constant_range<i32, 5, -5>", -5, POISON),
        (WRAPPING, -2, -2),
        (WRAPPING, 3, POISON),
        ("llvm.signext", -1, -1),
    ],
)
def test_a_range_holds_at_each_place(place: str, given: str, argument: int, expected: Any) -> None:
    """The upper bound is not in the range. A range may wrap around."""
    assert _outcome(place.format(type="i32", given=given), np.int32(argument)) == expected


@pytest.mark.parametrize("place", PLACES)
def test_each_element_of_a_vector_is_in_the_range(place: str) -> None:
    program = place.format(type="vector<4xi32>", given=RANGE)
    assert _outcome(program, np.array([9, 10, 0, -1], np.int32)) == [9, POISON, 0, POISON]
    program = place.format(type="vector<4xi32>", given=f"{RANGE}, llvm.noundef")
    assert _outcome(program, np.array([9, 8, 0, 1], np.int32)) == [9, 8, 0, 1]
    assert _outcome(program, np.array([9, 10, 0, 1], np.int32)) == UNDEFINED


@each_row(
    (0x3, 0x7FC00000, True),  # quiet NaN
    (0x1, 0x7FC00000, False),
    (0x1, 0x7F800001, True),  # signalling NaN
    (0x204, 0xFF800000, True),  # infinities
    (0x200, 0xFF800000, False),
    (0x20, 0x80000000, True),  # -0
    (0x20, 0x00000000, False),
    (0x80, 0x00000001, True),  # positive subnormal
    (0x80, 0x00800000, False),
)
def test_floats_of_forbidden_classes_are_poison(classes: int, code: int, poison: bool) -> None:
    program = ARGUMENT.format(type="f32", given=f"llvm.nofpclass = {classes} : i64")
    (found,) = hu.run(program, hu.Value.from_bits(code, "f32"))
    assert (found.poison is not None) == poison
    assert poison or int(found.bits) == code


@each_row(
    ("!llvm.array<2 x f32>", "", [POISON, 1.5]),
    ("!llvm.struct<(f32, f32)>", "", [POISON, 1.5]),
    ("!llvm.struct<(f32, f32)>", ", llvm.noundef", UNDEFINED),
    # LLVM has the promise for structs without a name whose elements are of one float type.
    ("!llvm.struct<(f32, f32, i32)>", "", ["nan", 1.5]),
)
def test_each_float_of_an_aggregate_keeps_the_promise(type_: str, given: str, expected: Any) -> None:
    found = []
    for place in (0, 1):
        program = f"""
llvm.func @same(%x: {type_} {{llvm.nofpclass = 3 : i64{given}}}) -> {type_} {{ llvm.return %x : {type_} }}
llvm.func @main(%a: f32, %b: f32) -> f32 {{
  %u = llvm.mlir.zero : {type_}
  %v = llvm.insertvalue %a, %u[0] : {type_}
  %w = llvm.insertvalue %b, %v[1] : {type_}
  %x = llvm.call @same(%w) : ({type_}) -> {type_}
  %r = llvm.extractvalue %x[{place}] : {type_}
  llvm.return %r : f32
}}"""
        outcome = _outcome(program, np.float32(np.nan), np.float32(1.5))
        if outcome == UNDEFINED:
            assert expected == UNDEFINED
            return
        found.append("nan" if outcome != POISON and np.isnan(outcome) else outcome)
    assert found == expected


def test_a_batch_keeps_the_promise_in_each_lane() -> None:
    (found,) = hu.run(ARGUMENT.format(type="i32", given=RANGE), np.array([3, 10, -1], np.int32), batch=True)
    assert found.poisoned.tolist() == [False, True, True]
    assert found.bits[0] == 3


@pytest.mark.long
def test_a_function_that_runs_for_long_keeps_its_promises() -> None:
    """So long that it would be compiled."""
    program = f"""
llvm.func @main(%n: i32 {{{RANGE}}}) -> (i32 {{{RANGE}}}) {{
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %end = llvm.mlir.constant(30000 : i32) : i32
  llvm.br ^loop(%zero : i32)
^loop(%i: i32):
  %j = llvm.add %i, %one : i32
  %more = llvm.icmp "slt" %j, %end : i32
  llvm.cond_br %more, ^loop(%j : i32), ^done
^done:
  %r = llvm.add %n, %one : i32
  llvm.return %r : i32
}}"""
    for _ in range(3):
        assert _outcome(program, np.int32(3)) == 4
        assert _outcome(program, np.int32(9)) == POISON
        assert _outcome(program, np.int32(10)) == POISON


def test_the_place_of_a_broken_promise_is_named() -> None:
    (found,) = hu.run(ARGUMENT.format(type="i32", given=RANGE), np.int32(10))
    assert "argument #0 of @main breaks 'range' = #llvm.constant_range<i32, 0, 10>" in str(found.origin())
    with pytest.raises(
        hu.UndefinedBehavior, match="argument #0 of @main is 'noundef', but poison: argument #0 of @main"
    ):
        hu.run(ARGUMENT.format(type="i32", given=f"{RANGE}, llvm.noundef"), np.int32(10))


@each_row(
    ("i32", "llvm.range = #llvm.constant_range<i64, 0, 10>"),
    ("i32", "llvm.range = #llvm.constant_range<i32, 7, 7>"),
    ("i32", "llvm.range = 3 : i32"),
    ("f32", "llvm.nofpclass = 1024 : i64"),
    ("f32", "llvm.nofpclass"),
)
def test_what_llvm_does_not_have_is_refused(type_: str, given: str) -> None:
    """mlir-opt accepts these texts."""
    with pytest.raises(hu.Unsupported, match=r"is not a range of 'i32'|are not classes of 'f32'"):
        hu.run(ARGUMENT.format(type=type_, given=given), np.dtype({"i32": "i4", "f32": "f4"}[type_]).type(0))


# --- pointers ---------------------------------------------------------------------------------------------------------

POINTER = """
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @same(%p: !llvm.ptr {{{given}}}) -> !llvm.ptr {{ llvm.return %p : !llvm.ptr }}
llvm.func @main(%size: i64, %offset: i64) -> i1 {{
  %null = llvm.mlir.zero : !llvm.ptr
  %poison = llvm.mlir.poison : !llvm.ptr
  %m = llvm.call @malloc(%size) : (i64) -> !llvm.ptr
  %moved = llvm.getelementptr %m[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %q = llvm.call @same(%{which}) : (!llvm.ptr) -> !llvm.ptr
  %r = llvm.icmp "eq" %q, %{which} : !llvm.ptr
  llvm.return %r : i1
}}"""


@each_row(
    ("llvm.nonnull", "moved", 8, 0, True),
    ("llvm.nonnull", "null", 8, 0, POISON),
    ("llvm.nonnull, llvm.noundef", "null", 8, 0, UNDEFINED),
    ("llvm.noundef", "null", 8, 0, True),
    ("llvm.noundef", "poison", 8, 0, UNDEFINED),
    ("llvm.align = 8 : i64", "moved", 16, 8, True),
    ("llvm.align = 8 : i64", "moved", 16, 4, POISON),
    ("llvm.align = 8 : i64, llvm.noundef", "moved", 16, 4, UNDEFINED),
    ("llvm.align = 32 : i64", "moved", 64, 0, POISON),  # malloc promises 16
    ("llvm.align = 4096 : i64", "null", 8, 0, True),
    ("llvm.dereferenceable = 8 : i64", "moved", 16, 8, True),
    ("llvm.dereferenceable = 8 : i64", "moved", 16, 9, UNDEFINED),
    ("llvm.dereferenceable = 8 : i64", "moved", 16, -1, UNDEFINED),
    ("llvm.dereferenceable = 8 : i64", "null", 8, 0, UNDEFINED),
    ("llvm.dereferenceable = 8 : i64", "poison", 8, 0, UNDEFINED),
    ("llvm.dereferenceable_or_null = 8 : i64", "null", 8, 0, True),
    ("llvm.dereferenceable_or_null = 8 : i64", "moved", 7, 0, UNDEFINED),
    ("llvm.dereferenceable = 8 : i64, llvm.align = 8 : i64", "moved", 16, 1, UNDEFINED),
    ("llvm.noalias, llvm.readonly", "moved", 8, 0, True),
)
def test_pointers(given: str, which: str, size: int, offset: int, expected: Any) -> None:
    program = POINTER.format(given=given, which=which)
    assert _outcome(program, np.int64(size), np.int64(offset)) == expected


def test_a_declaration_promises_for_what_it_calls() -> None:
    program = POINTER.format(given="llvm.noundef", which="m").replace(
        "@malloc(i64) -> !llvm.ptr", "@malloc(i64 {llvm.range = #llvm.constant_range<i64, 1, 9>}) -> (!llvm.ptr {ATTR})"
    )
    assert _outcome(program.replace("ATTR", "llvm.align = 16 : i64"), np.int64(8), np.int64(0)) is True
    assert _outcome(program.replace("ATTR", "llvm.align = 64 : i64"), np.int64(8), np.int64(0)) == UNDEFINED
    assert _outcome(program.replace("ATTR", "llvm.align = 16 : i64"), np.int64(9), np.int64(0)) == UNDEFINED


def test_no_part_of_an_aggregate_may_be_poison() -> None:
    pair = "!llvm.struct<(i32, array<2 x f32>)>"
    program = f"""
llvm.func @first(%x: {pair} {{llvm.noundef}}) -> i32 {{
  %r = llvm.extractvalue %x[0] : {pair}
  llvm.return %r : i32
}}
llvm.func @main(%a: i32) -> i32 {{
  %u = llvm.mlir.START : {pair}
  %x = llvm.insertvalue %a, %u[0] : {pair}
  %r = llvm.call @first(%x) : ({pair}) -> i32
  llvm.return %r : i32
}}"""
    assert _outcome(program.replace("START", "zero"), np.int32(4)) == 4
    assert _outcome(program.replace("START", "poison"), np.int32(4)) == UNDEFINED


@pytest.mark.parametrize(("alignment", "offset", "expected"), [(8, 0, 7), (8, 4, UNDEFINED), (4, 4, 7), (1, 3, 7)])
def test_the_ranges_of_memset_have_the_alignment_that_it_states(alignment: int, offset: int, expected: Any) -> None:
    program = f"""
llvm.func @main(%offset: i64) -> i8 {{
  %n = llvm.mlir.constant(8 : i64) : i64
  %v = llvm.mlir.constant(7 : i8) : i8
  %p = llvm.alloca %n x i64 : (i64) -> !llvm.ptr
  %q = llvm.getelementptr %p[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  "llvm.intr.memset"(%q, %v, %n) <{{isVolatile = false, arg_attrs = [{{llvm.align = {alignment} : i64}}, {{}}, {{}}]}}>
    : (!llvm.ptr, i8, i64) -> ()
  %r = llvm.load %q : !llvm.ptr -> i8
  llvm.return %r : i8
}}"""
    assert _outcome(program, np.int64(offset)) == expected
    without = program.replace(f"[{{llvm.align = {alignment} : i64}}, {{}}, {{}}]", "[]")
    assert _outcome(without, np.int64(offset)) == 7
    with pytest.raises(hu.Unsupported, match="halfulp does not run 'align' of 3 bytes"):
        hu.run(program.replace(f"llvm.align = {alignment} ", "llvm.align = 3 "), np.int64(offset))


# --- assumptions ------------------------------------------------------------------------------------------------------

ASSUMED = """
llvm.func @main(%c: i1, %n: i64) -> i64 {
  %count = llvm.mlir.constant(8 : i64) : i64
  %p = llvm.alloca %count x i64 {alignment = 16 : i64} : (i64) -> !llvm.ptr
  %o = llvm.alloca %count x i64 : (i64) -> !llvm.ptr
  %q = llvm.getelementptr %p[%n] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %k = llvm.mlir.constant(16 : i64) : i64
  %odd = llvm.mlir.constant(3 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %least = llvm.mlir.constant(-128 : i8) : i8
  %lost = llvm.mlir.poison : i64
  llvm.intr.assume %c BUNDLES : i1
  llvm.return %n : i64
}"""


@each_row(
    ("", True, 0, True),
    ("", False, 0, False),
    ('["align"(%q, %k : !llvm.ptr, i64)]', True, 16, True),
    ('["align"(%q, %k : !llvm.ptr, i64)]', True, 8, False),
    ('["align"(%q, %k, %n : !llvm.ptr, i64, i64)]', True, 8, True),
    ('["align"(%q, %odd : !llvm.ptr, i64)]', True, 0, False),
    ('["align"(%null, %odd : !llvm.ptr, i64)]', True, 0, True),
    ('["align"(%q, %zero : !llvm.ptr, i64)]', True, 0, False),
    ('["align"(%q, %lost : !llvm.ptr, i64)]', True, 0, False),
    ('["nonnull"(%q : !llvm.ptr)]', True, 0, True),
    ('["nonnull"(%null : !llvm.ptr)]', True, 0, False),
    ('["dereferenceable"(%q, %k : !llvm.ptr, i64)]', True, 48, True),
    ('["dereferenceable"(%q, %k : !llvm.ptr, i64)]', True, 49, False),
    ('["dereferenceable"(%null, %zero : !llvm.ptr, i64)]', True, 0, True),
    # The numbers are not negative: LLVM reads them as unsigned.
    ('["dereferenceable"(%q, %n : !llvm.ptr, i64)]', True, 16, True),
    ('["dereferenceable"(%null, %n : !llvm.ptr, i64)]', True, -16, False),
    ('["align"(%p, %least : !llvm.ptr, i8)]', True, 0, False),
    ('["align"(%null, %least : !llvm.ptr, i8)]', True, 0, True),
    ('["dereferenceable_or_null"(%null, %k : !llvm.ptr, i64)]', True, 0, True),
    ('["noundef"(%n : i64)]', True, 0, True),
    ('["noundef"(%lost : i64)]', True, 0, False),
    ('["separate_storage"(%p, %o : !llvm.ptr, !llvm.ptr)]', True, 0, True),
    ('["separate_storage"(%p, %q : !llvm.ptr, !llvm.ptr)]', True, 8, False),
    ('["cold"(), "ignore"(%lost : i64)]', True, 0, True),
    ('["cold"(), "nonnull"(%null : !llvm.ptr)]', True, 0, False),
)
def test_what_is_assumed_must_hold(bundles: str, condition: bool, number: int, holds: bool) -> None:
    found = _outcome(ASSUMED.replace("BUNDLES", bundles), condition, np.int64(number))
    assert found == (number if holds else UNDEFINED)


def test_a_poison_condition_is_undefined() -> None:
    program = ASSUMED.replace("%c BUNDLES", "%x").replace("%lost = ", "%x = llvm.mlir.poison : i1\n  %lost = ")
    assert _outcome(program, True, np.int64(0)) == UNDEFINED


@each_row(
    ('"what"(%n : i64)', "\"what\" of 'i64'"),
    ('"nonnull"(%n : i64)', "\"nonnull\" of 'i64'"),
    ('"nonnull"()', '"nonnull" of no values'),
    ('"align"(%q, %p : !llvm.ptr, !llvm.ptr)', "\"align\" of '!llvm.ptr', '!llvm.ptr'"),
    ('"separate_storage"(%n, %n : i64, i64)', "\"separate_storage\" of 'i64', 'i64'"),
)
def test_an_assumption_of_another_kind_is_refused(bundle: str, named: str) -> None:
    """LLVM has none with these values; mlir-opt accepts them."""
    with pytest.raises(hu.Unsupported, match=f"halfulp does not run the bundle {named}"):
        hu.run(ASSUMED.replace("BUNDLES", f"[{bundle}]"), True, np.int64(0))
