"""Vectors of the llvm dialect. The expected values follow from LLVM's language reference, release 22."""

import math
from typing import Any

import numpy as np
import pytest
from tables import each_row

import halfulp as hu

POISON = "poison"
V4 = "vector<4xi8>"
F4 = "vector<4xf32>"


def _run(body: str, *arguments: Any, types: str, result: str) -> hu.Value:
    """Run a body with arguments %a, %b, %c of these types, and return its result %r."""
    names = ", ".join(f"%{name}: {type_}" for name, type_ in zip("abc", types.split(), strict=False))
    program = f"llvm.func @main({names}) -> {result} {{\n{body}\n  llvm.return %r : {result}\n}}"
    return hu.run(program, *arguments)[0]


def _shown(value: hu.Value) -> Any:
    """Return the numbers of a value, with a word for poison."""
    numbers, lost = np.where(value.poisoned, 0, value.bits.astype(np.int64)), value.poisoned
    if not value.shape:
        return POISON if lost.any() else int(numbers)
    return [POISON if gone else int(number) for number, gone in zip(numbers.ravel(), lost.ravel(), strict=True)]


def _i8(*numbers: int) -> Any:
    return np.array(numbers, np.int8)


def _f32(*numbers: float) -> Any:
    return np.array(numbers, np.float32)


# --- elements ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("position", "expected"), [(0, 1), (3, 4), (4, POISON), (-1, POISON)], ids=["first", "last", "beyond", "unsigned"]
)
def test_an_element_is_extracted(position: int, expected: Any) -> None:
    """A place outside gives poison. It is read as unsigned: -1 is 255."""
    body = f"  %r = llvm.extractelement %a[%b : i8] : {V4}"
    found = _run(body, _i8(1, 2, 3, 4), np.int8(position), types=f"{V4} i8", result="i8")
    assert _shown(found) == expected


@each_row((0, [9, 2, 3, 4]), (3, [1, 2, 3, 9]), (4, [POISON] * 4), (-1, [POISON] * 4))
def test_an_element_is_inserted(position: int, expected: Any) -> None:
    """A place outside makes the whole vector poison."""
    body = f"  %v = llvm.mlir.constant(9 : i8) : i8\n  %r = llvm.insertelement %v, %a[%b : i8] : {V4}"
    found = _run(body, _i8(1, 2, 3, 4), np.int8(position), types=f"{V4} i8", result=V4)
    assert _shown(found) == expected


@pytest.mark.parametrize("op", ["%v, %a[%p : i8]", "%p, %a[%v : i8]"], ids=["place", "value"])
def test_poison_is_inserted(op: str) -> None:
    """At a poison place the whole vector is poison; a poison value is one poison element."""
    body = (
        f"  %v = llvm.mlir.constant(2 : i8) : i8\n  %p = llvm.mlir.poison : i8\n  %r = llvm.insertelement {op} : {V4}"
    )
    found = _run(body, _i8(1, 2, 3, 4), types=V4, result=V4)
    assert _shown(found) == ([POISON] * 4 if op[1] == "v" else [1, 2, POISON, 4])


def test_an_element_at_a_poison_place_is_poison() -> None:
    body = f"  %p = llvm.mlir.poison : i8\n  %r = llvm.extractelement %a[%p : i8] : {V4}"
    assert _shown(_run(body, _i8(1, 2, 3, 4), types=V4, result="i8")) == POISON


def test_an_inserted_element_replaces_poison() -> None:
    body = f"""  %u = llvm.mlir.poison : {V4}
  %z = llvm.mlir.constant(1 : i64) : i64
  %v = llvm.mlir.constant(7 : i8) : i8
  %r = llvm.insertelement %v, %u[%z : i64] : {V4}"""
    assert _shown(_run(body, types="", result=V4)) == [POISON, 7, POISON, POISON]


# --- shuffles ---------------------------------------------------------------------------------------------------------


@each_row(
    ("0, 1, 2, 3", [1, 2, 3, 4]),
    ("7, 0, 7, 0", [8, 1, 8, 1]),
    ("4, -1", [5, POISON]),
    ("3, 2, 1, 0, 4, 5, 6, 7", [4, 3, 2, 1, 5, 6, 7, 8]),
    ("-1", [POISON]),
)
def test_elements_of_two_vectors(mask: str, expected: list[Any]) -> None:
    """The places count through both vectors, and -1 is poison. The result is as long as the mask."""
    body = f"  %r = llvm.shufflevector %a, %b [{mask}] : {V4}"
    found = _run(body, _i8(1, 2, 3, 4), _i8(5, 6, 7, 8), types=f"{V4} {V4}", result=f"vector<{len(expected)}xi8>")
    assert _shown(found) == expected


def test_a_shuffle_moves_poison_only_where_it_is_taken() -> None:
    body = f"""  %p = llvm.mlir.poison : {V4}
  %r = llvm.shufflevector %a, %p [0, 3, 4, 1] : {V4}"""
    assert _shown(_run(body, _i8(1, 2, 3, 4), types=V4, result=V4)) == [1, 4, POISON, 2]


@pytest.mark.parametrize("place", [8, -2])
def test_a_place_outside_of_both_vectors_is_refused(place: int) -> None:
    """MLIR accepts it, LLVM has no such shuffle."""
    body = f"  %r = llvm.shufflevector %a, %a [0, {place}] : {V4}"
    with pytest.raises(hu.Unsupported, match=f"place {place} in the mask is outside of the 8 elements"):
        _run(body, _i8(1, 2, 3, 4), types=V4, result="vector<2xi8>")


# --- reductions -------------------------------------------------------------------------------------------------------


@each_row(
    ("add", (100 + 100 - 128 + 3) % 256), ("mul", 100 * 100 * 128 * 3 % 256), ("and", 100 & 128 & 3),
    ("or", 100 | 128 | 3), ("xor", 128 ^ 3), ("smax", 100), ("smin", 128), ("umax", 128), ("umin", 3),
)  # fmt: skip
def test_integers_are_reduced(name: str, expected: int) -> None:
    """Sums and products are those modulo 2**8."""
    body = f'  %r = "llvm.intr.vector.reduce.{name}"(%a) : ({V4}) -> i8'
    assert _shown(_run(body, _i8(100, 100, -128, 3), types=V4, result="i8")) == expected


@pytest.mark.parametrize("name", ["add", "and", "umin", "fmax", "fadd"])
def test_one_poison_element_spoils_the_reduction(name: str) -> None:
    kind = "f32" if name[0] == "f" else "i8"
    start = "%x, " if name == "fadd" else ""
    given = "f32, " if start else ""
    body = f"""  %p = llvm.mlir.poison : {kind}
  %z = llvm.mlir.constant(1 : i64) : i64
  %x = llvm.mlir.zero : {kind}
  %v = llvm.insertelement %p, %a[%z : i64] : vector<4x{kind}>
  %r = "llvm.intr.vector.reduce.{name}"({start}%v) : ({given}vector<4x{kind}>) -> {kind}"""
    dtype = np.float32 if kind == "f32" else np.int8
    assert _shown(_run(body, np.zeros(4, dtype), types=f"vector<4x{kind}>", result=kind)) == POISON


def _reduced(name: str, start: float, *numbers: float, flags: str = "none") -> float:
    text = f"{{fastmathFlags = #llvm.fastmath<{flags}>}}"
    body = f'  %r = "llvm.intr.vector.reduce.{name}"(%b, %a) {text} : (f32, {F4}) -> f32'
    return float(_run(body, _f32(*numbers), np.float32(start), types=f"{F4} f32", result="f32").item())


def test_sums_go_from_the_start_value_through_the_elements() -> None:
    """Without reassoc the order is this one: each 1 is lost against 2**24, and 2**24 + 2 is not."""
    assert _reduced("fadd", 2.0**24, 1, 1, 1, 1) == 2.0**24
    assert _reduced("fadd", 1, 1, 1, 1, 2.0**24) == 2.0**24 + 4
    assert _reduced("fadd", 1, 2.0**24, 1, 1, 1) == 2.0**24
    assert math.copysign(1, _reduced("fadd", -0.0, -0.0, -0.0, -0.0, -0.0)) == -1
    assert math.copysign(1, _reduced("fadd", 0.0, -0.0, -0.0, -0.0, -0.0)) == 1


def test_products_go_from_the_start_value_through_the_elements() -> None:
    """2**100 * 2**100 overflows; the other way round nothing does."""
    assert _reduced("fmul", 2.0**100, 2.0**100, 2.0**-100, 1, 1) == math.inf
    assert _reduced("fmul", 2.0**100, 2.0**-100, 2.0**100, 1, 1) == 2.0**100


@each_row(
    ("fmax", (1, math.nan, 3, 2), 3.0),
    ("fmin", (1, math.nan, 3, 2), 1.0),
    ("fmaximum", (1, math.nan, 3, 2), math.nan),
    ("fminimum", (1, math.nan, 3, 2), math.nan),
    ("fmaximum", (-0.0, 0.0, -0.0, -1), 0.0),
    ("fminimum", (0.0, -0.0, 0.0, 1), -0.0),
    ("fmax", (math.nan,) * 4, math.nan),
)
def test_extremes(name: str, numbers: tuple[float, ...], expected: float) -> None:
    """fmax and fmin are those of maxnum and minnum, which leave out NaN; fmaximum and fminimum keep it."""
    body = f"  %r = llvm.intr.vector.reduce.{name}(%a) : ({F4}) -> f32"
    found = float(_run(body, _f32(*numbers), types=F4, result="f32").item())
    assert (math.isnan(found) and math.isnan(expected)) or found == expected
    assert math.isnan(found) or math.copysign(1, found) == math.copysign(1, expected)


@pytest.mark.parametrize("name", ["fmax", "fmin"])
def test_the_sign_of_a_zero_extreme_is_open(name: str) -> None:
    """maxnum and minnum of zeros give either."""
    program = f"""llvm.func @main(%a: {F4}) -> f32 {{
      %r = llvm.intr.vector.reduce.{name}(%a) : ({F4}) -> f32
      llvm.return %r : f32
    }}"""
    found = hu.run(program, _f32(-0.0, 0.0, -0.0, 0.0), track_open=True)[0]
    assert found.item() == 0
    assert found.open is not None
    assert found.open.any()


def test_flags_of_a_reduction_make_poison() -> None:
    body = f"""  %r = llvm.intr.vector.reduce.fmax(%a) {{fastmathFlags = #llvm.fastmath<nnan>}} : ({F4}) -> f32"""
    assert _shown(_run(body, _f32(1, math.nan, 3, 2), types=F4, result="f32")) == POISON


# --- masked access ----------------------------------------------------------------------------------------------------

HEAD = "llvm.mlir.global internal @cells(dense<[10, 20, 30, 40]> : tensor<4xi32>) : !llvm.array<4 x i32>\n"
M4, I4, P4 = "vector<4xi1>", "vector<4xi32>", "vector<4x!llvm.ptr>"
PLACES = f"""  %p = llvm.mlir.addressof @cells : !llvm.ptr
  %q = llvm.getelementptr %p[%i] : (!llvm.ptr, {I4}) -> {P4}, i32
"""


def _masked(body: str, mask: str, indices: str = "0, 1, 2, 3") -> hu.Value:
    """Run a body with the mask %m, the pointer %p, the pointers %q and the numbers %v; its result is %r."""
    program = f"""{HEAD}llvm.func @main() -> {I4} {{
  %m = llvm.mlir.constant(dense<[{mask}]> : {M4}) : {M4}
  %i = llvm.mlir.constant(dense<[{indices}]> : {I4}) : {I4}
  %v = llvm.mlir.constant(dense<[1, 2, 3, 4]> : {I4}) : {I4}
{PLACES}{body}
  llvm.return %r : {I4}
}}"""
    return hu.run(program)[0]


LOADED = f"  %r = llvm.intr.masked.load %p, %m, %v {{alignment = 4 : i32}} : (!llvm.ptr, {M4}, {I4}) -> {I4}"
BARE = f"  %r = llvm.intr.masked.load %p, %m {{alignment = 4 : i32}} : (!llvm.ptr, {M4}) -> {I4}"
GATHERED = f"  %r = llvm.intr.masked.gather %q, %m, %v {{alignment = 4 : i32}} : ({P4}, {M4}, {I4}) -> {I4}"
WHOLE = f"\n  %r = llvm.load %p {{alignment = 4 : i64}} : !llvm.ptr -> {I4}"
STORED = f"  llvm.intr.masked.store %v, %p, %m {{alignment = 4 : i32}} : {I4}, {M4} into !llvm.ptr{WHOLE}"
SCATTERED = f"  llvm.intr.masked.scatter %v, %q, %m {{alignment = 4 : i32}} : {I4}, {M4} into {P4}{WHOLE}"


def test_a_masked_load_keeps_what_is_passed_through() -> None:
    assert _shown(_masked(LOADED, "1, 0, 1, 0")) == [10, 2, 30, 4]
    assert _shown(_masked(LOADED, "0, 0, 0, 0")) == [1, 2, 3, 4]
    assert _shown(_masked(BARE, "1, 0, 1, 0")) == [10, POISON, 30, POISON]


def test_a_gather_takes_each_element_from_its_own_place() -> None:
    assert _shown(_masked(GATHERED, "1, 1, 0, 1", "3, 0, 2, 0")) == [40, 10, 3, 10]


def test_a_masked_store_leaves_the_others_alone() -> None:
    assert _shown(_masked(STORED, "0, 1, 1, 0")) == [10, 2, 3, 40]


def test_a_scatter_stores_from_the_first_to_the_last() -> None:
    """Of two elements at one place the later one stays: the order is that of the lanes."""
    assert _shown(_masked(SCATTERED, "1, 1, 0, 1", "2, 0, 1, 2")) == [2, 20, 4, 40]


@pytest.mark.parametrize("body", [GATHERED, SCATTERED], ids=["gather", "scatter"])
def test_places_that_the_mask_leaves_out_are_not_accessed(body: str) -> None:
    assert not _masked(body, "0, 1, 1, 1", "-9, 1, 2, 3").poisoned.any()
    with pytest.raises(hu.UndefinedBehavior, match="leaves the allocation"):
        _masked(body, "1, 1, 1, 1", "-9, 1, 2, 3")


@pytest.mark.parametrize("body", [LOADED, STORED], ids=["load", "store"])
def test_a_masked_access_may_begin_outside(body: str) -> None:
    outside = body.replace("%p", "%o", 1) if body is LOADED else body.replace("%v, %p", "%v, %o", 1)
    moved = f"  %o = llvm.getelementptr %p[2] : (!llvm.ptr) -> !llvm.ptr, i32\n{outside}"
    _masked(moved, "1, 1, 0, 0")
    with pytest.raises(hu.UndefinedBehavior, match="leaves the allocation"):
        _masked(moved, "1, 1, 1, 0")


@pytest.mark.parametrize("body", [LOADED, STORED, GATHERED, SCATTERED], ids=["load", "store", "gather", "scatter"])
def test_a_wrong_alignment_is_undefined(body: str) -> None:
    moved = f"""  %o = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, i8
  %u = llvm.getelementptr %o[%i] : (!llvm.ptr, {I4}) -> {P4}, i32
{body.replace("%q", "%u").replace(" %p,", " %o,", 1)}"""
    with pytest.raises(hu.UndefinedBehavior, match="aligned to 4 bytes"):
        _masked(moved, "1, 1, 0, 0")
    _masked(moved.replace("alignment = 4 : i32", "alignment = 1 : i32"), "1, 1, 0, 0")


def test_a_poison_mask_is_undefined() -> None:
    poisoned = f"  %x = llvm.mlir.poison : {M4}\n{LOADED.replace('%m', '%x')}"
    with pytest.raises(hu.UndefinedBehavior, match="mask is poison"):
        _masked(poisoned, "1, 1, 1, 1")


# --- packed access ----------------------------------------------------------------------------------------------------

_PACKED = """
llvm.func @main(%a: vector<4xi8>, %m: vector<4xi1>, %n: i64) -> vector<4xi8> {
  %count = llvm.mlir.constant(SIZE : i64) : i64
  %p = llvm.alloca %count x i8 {alignment = 4 : i64} : (i64) -> !llvm.ptr
  %q = llvm.getelementptr %p[%n] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  LINES
  llvm.return %r : vector<4xi8>
}"""
_STORE = '"llvm.intr.masked.compressstore"(%a, %q, %m) STATED: (vector<4xi8>, !llvm.ptr, vector<4xi1>) -> ()\n'
_LOADED = f"{_STORE}  %r = llvm.load %p {{alignment = 1 : i64}} : !llvm.ptr -> vector<4xi8>"
_EXPANDED = (
    "llvm.store %a, %p {alignment = 1 : i64} : vector<4xi8>, !llvm.ptr\n  "
    '%r = "llvm.intr.masked.expandload"(%q, %m, %a) STATED: (!llvm.ptr, vector<4xi1>, vector<4xi8>) -> vector<4xi8>'
)


def _packed(lines: str, mask: Any, n: int = 0, size: int = 4, stated: str = "") -> Any:
    program = _PACKED.replace("LINES", lines).replace("SIZE", str(size)).replace("STATED", stated)
    return _shown(hu.run(program, _i8(1, 2, 3, 4), np.array(mask, bool), np.int64(n))[0])


@each_row(
    ([1, 0, 1, 1], [1, 3, 4, POISON], [1, 2, 2, 3]),
    ([0, 0, 0, 1], [4, POISON, POISON, POISON], [1, 2, 3, 1]),
    ([0, 0, 0, 0], [POISON] * 4, [1, 2, 3, 4]),
    ([1, 1, 1, 1], [1, 2, 3, 4], [1, 2, 3, 4]),
)
def test_elements_lie_one_after_the_other(mask: list[int], stored: list[Any], loaded: list[int]) -> None:
    """Memory that no element reaches stays as it was: never written."""
    assert _packed(_LOADED, mask) == stored
    assert _packed(_EXPANDED, mask) == loaded


def test_only_the_elements_of_the_mask_are_accessed() -> None:
    assert _packed(_EXPANDED, [0, 1, 0, 0], n=3) == [1, 4, 3, 4]
    assert _packed(_EXPANDED, [0, 0, 0, 0], n=99) == [1, 2, 3, 4]
    with pytest.raises(hu.UndefinedBehavior, match="an access of 1 bytes at byte 4 of the 4 bytes"):
        _packed(_EXPANDED, [0, 1, 1, 0], n=3)
    with pytest.raises(hu.UndefinedBehavior, match="leaves the allocation"):
        _packed(_LOADED, [1, 0, 0, 1], n=3)


def test_the_alignment_is_that_of_the_attribute() -> None:
    """LLVM's reference: it is 1 unless the pointer has the attribute align."""
    store = "<{arg_attrs = [{}, {llvm.align = 4 : i64}, {}]}> "
    assert _packed(_LOADED, [1, 0, 0, 0], n=0, stated=store)[0] == 1
    with pytest.raises(hu.UndefinedBehavior, match="aligned to 4 bytes is at byte 1"):
        _packed(_LOADED, [1, 0, 0, 0], n=1, stated=store)
    with pytest.raises(hu.UndefinedBehavior, match="aligned to 4 bytes is at byte 1"):
        _packed(_EXPANDED, [1, 0, 0, 0], n=1, stated="<{arg_attrs = [{llvm.align = 4 : i64}, {}, {}]}> ")


@pytest.mark.parametrize("size", [3, 5])
@pytest.mark.parametrize("body", [_LOADED, _EXPANDED])
def test_a_mask_of_another_size_is_refused(body: str, size: int) -> None:
    """LLVM has no such op; mlir-opt accepts it."""
    program = _PACKED.replace("LINES", body).replace("SIZE", "4").replace("STATED", "")
    program = program.replace("vector<4xi1>", f"vector<{size}xi1>")
    with pytest.raises(hu.Unsupported, match=rf"the vectors .*'vector<{size}xi1>'.* do not fit"):
        hu.run(program, _i8(1, 2, 3, 4), np.ones(size, bool), np.int64(0))


def test_elements_of_another_type_are_refused() -> None:
    text = _EXPANDED.replace("vector<4xi8>)", "vector<4xi16>)").replace("%m, %a)", "%m, %w)")
    program = _PACKED.replace("LINES", "%w = llvm.sext %a : vector<4xi8> to vector<4xi16>\n  " + text)
    with pytest.raises(hu.Unsupported, match="'vector<4xi16>', 'vector<4xi8>' do not fit"):
        hu.run(program.replace("SIZE", "4").replace("STATED", ""), _i8(1, 2, 3, 4), np.ones(4, bool), np.int64(0))


# --- llvm aggregates --------------------------------------------------------------------------------------------------
#
# Structs and arrays as values, with poison of each element of its own.

PAIR = "!llvm.struct<(i8, array<2 x i8>)>"


def _llvm_aggregates_run(body: str, *arguments: int, result: str = "i8", batch: bool = False) -> hu.Value:
    program = f"llvm.func @main(%a: i8, %b: i8) -> {result} {{\n{body}\n  llvm.return %r : {result}\n}}"
    given: list[Any] = [np.int8(each) for each in arguments]
    if batch:
        given = [np.array([each, 1], np.int8) for each in arguments]
    return hu.run(program, *given, batch=batch)[0]


BUILT = f"""
  %u = llvm.mlir.undef : {PAIR}
  %v = llvm.insertvalue %a, %u[1, 0] : {PAIR}
  %w = llvm.insertvalue %b, %v[1, 1] : {PAIR}
"""


@pytest.mark.parametrize(("position", "expected"), [("1, 0", 5), ("1, 1", -7)])
def test_what_was_inserted_is_extracted(position: str, expected: int) -> None:
    assert _llvm_aggregates_run(f"{BUILT}  %r = llvm.extractvalue %w[{position}] : {PAIR}", 5, -7).item() == expected


def test_an_element_that_was_not_inserted_stays_poison() -> None:
    found = _llvm_aggregates_run(f"{BUILT}  %r = llvm.extractvalue %w[0] : {PAIR}", 5, -7)
    assert found.poisoned.all()
    assert "mlir.undef" in str(found.origin())


def test_inserting_does_not_change_the_operand() -> None:
    body = f"{BUILT}  %x = llvm.insertvalue %b, %w[1, 0] : {PAIR}\n  %r = llvm.extractvalue %w[1, 0] : {PAIR}"
    assert _llvm_aggregates_run(body, 5, -7).item() == 5


def test_an_aggregate_goes_through_an_aggregate() -> None:
    array = "!llvm.array<2 x i8>"
    body = f"""{BUILT}
  %part = llvm.extractvalue %w[1] : {PAIR}
  %zero = llvm.mlir.zero : {PAIR}
  %y = llvm.insertvalue %part, %zero[1] : {PAIR}
  %z = llvm.extractvalue %y[1] : {PAIR}
  %r = llvm.extractvalue %z[1] : {array}"""
    assert _llvm_aggregates_run(body, 5, -7).item() == -7


@each_row(
    ("dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>", "!llvm.array<2 x array<2 x i8>>", "1, 0", 3),
    ("dense<9> : tensor<2x2xi8>", "!llvm.array<2 x array<2 x i8>>", "1, 1", 9),
    ('"ab"', "!llvm.array<2 x i8>", "1", ord("b")),
    ("[1 : i8, 2 : i8]", "!llvm.struct<(i8, i8)>", "1", 2),
)
def test_constants(constant: str, type_: str, position: str, expected: int) -> None:
    body = f"  %c = llvm.mlir.constant({constant}) : {type_}\n  %r = llvm.extractvalue %c[{position}] : {type_}"
    assert _llvm_aggregates_run(body, 0, 0).item() == expected


@pytest.mark.parametrize("name", ["sadd", "uadd", "ssub", "usub", "smul", "umul"])
def test_overflow_is_told(name: str) -> None:
    """All pairs of some numbers, against exact integers."""
    checked = "!llvm.struct<(vector<64xi8>, vector<64xi1>)>"
    program = f"""llvm.func @main(%a: vector<64xi8>, %b: vector<64xi8>) -> vector<64xi8> {{
      %c = "llvm.intr.{name}.with.overflow"(%a, %b) : (vector<64xi8>, vector<64xi8>) -> {checked}
      %low = llvm.extractvalue %c[0] : {checked}
      %flag = llvm.extractvalue %c[1] : {checked}
      %one = llvm.sext %flag : vector<64xi1> to vector<64xi8>
      %r = llvm.WHICH
      llvm.return %r : vector<64xi8>
    }}"""
    some = np.array([-128, -127, -1, 0, 1, 2, 64, 127])
    dtype = np.int8 if name[0] == "s" else np.uint8
    a, b = (grid.reshape(-1).astype(np.int8) for grid in np.meshgrid(some, some))
    wide = [each.view(dtype).astype(int) for each in (a, b)]
    exact = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[name[1:]](*wide)
    limits = np.iinfo(dtype)
    overflows = (exact < limits.min) | (exact > limits.max)
    low = hu.run(program.replace("WHICH", "or %low, %low : vector<64xi8>"), a, b)[0].numpy()
    flags = hu.run(program.replace("WHICH", "or %one, %one : vector<64xi8>"), a, b)[0].numpy()
    assert (low == exact.astype(np.int8)).all()
    assert (flags == -overflows.astype(np.int8)).all()


@pytest.mark.parametrize("batch", [False, True])
def test_scalars_with_overflow(batch: bool) -> None:
    body = """  %c = "llvm.intr.sadd.with.overflow"(%a, %b) : (i8, i8) -> !llvm.struct<(i8, i1)>
  %o = llvm.extractvalue %c[1] : !llvm.struct<(i8, i1)>
  %r = llvm.zext %o : i1 to i8"""
    assert np.array_equal(_llvm_aggregates_run(body, 100, 100, batch=batch).numpy(), [1, 0] if batch else 1)


def test_poison_spoils_the_result_and_the_flag() -> None:
    body = """  %p = llvm.mlir.poison : i8
  %c = "llvm.intr.sadd.with.overflow"(%a, %p) : (i8, i8) -> !llvm.struct<(i8, i1)>
  %o = llvm.extractvalue %c[1] : !llvm.struct<(i8, i1)>
  %r = llvm.zext %o : i1 to i8"""
    assert _llvm_aggregates_run(body, 1, 1).poisoned.all()
