"""Permitted differences between two stages: each has a ground, and no wrong op is taken for one."""

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from present import present
from tables import each_row

import halfulp as hu
from halfulp.conformance.whole_programs.bisection.explaining import MOST_ULP, Explainer, TooLong
from halfulp.conformance.whole_programs.bisection.histories import (
    History,
    bounds_of_all_orders,
    number_at,
    sums_in_all_orders,
)
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir.operations import argument_types
from halfulp.interp.run.lineage import Lineage
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import to_argument
from halfulp.interp.values.value import Value

F32 = FORMATS["f32"]


def judged(before: str, after: str, *arguments: Any) -> tuple[str, str]:
    """Return the judgement of a stage by the one before it, and its ground."""
    one = hu.bisect(before, *arguments, stages=[after], function="f").results[1]
    return one.judgement.value, one.ground


def numbers(*shape: int, seed: int = 5, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def straight(count: int, *lines: str, flags: str = "", type_: str = "f32") -> str:
    """Return a function of scalars: lines such as ``x = addf a0 a1``, the last of which is the result."""
    body = []
    for line in lines:
        name, _, op, *operands = line.split()
        op = op if "." in op else f"arith.{op}"
        given = ", ".join(f"%{each}" for each in operands)
        body.append(f"  %{name} = {op} {given} {f'fastmath<{flags}>' if flags else ''} : {type_}")
    arguments = ", ".join(f"%a{number}: {type_}" for number in range(count))
    return f"func.func @f({arguments}) -> {type_} {{\n" + "\n".join(body) + f"\n  return %{name} : {type_}\n}}"


def recorded(text: str, *arguments: Any) -> tuple[History, Value]:
    """Run a function, and return the history of its result."""
    module, lineage = hu.parse(text), Lineage()
    function = present(module.lookup("f"))
    types = argument_types(function)
    given = [to_argument(value, type_, "an argument") for value, type_ in zip(arguments, types, strict=True)]
    (result,) = program_for(module, Settings(recorder=lineage)).run(function, given)
    return History(lineage), result


def scalars(count: int, seed: int = 5) -> list[Any]:
    return list(numbers(count, seed=seed))


SUM = ("x = addf a0 a1", "y = addf x a2", "r = addf y a3")
REORDERED = ("x = addf a3 a2", "y = addf a0 a1", "r = addf x y")
PRODUCTS = ("x = mulf a0 a1", "y = mulf a2 a3", "r = addf x y")
FUSED = ("y = mulf a2 a3", "r = math.fma a0 a1 y")


def differing(before: str, after: str, count: int) -> list[Any]:
    """Return arguments for which two programs give different numbers."""
    for seed in range(200):
        given = scalars(count, seed)
        if hu.run(before, *given) != hu.run(after, *given):
            return given
    raise AssertionError("the programs give the same")


def pair(before: tuple[str, ...], after: tuple[str, ...], count: int, flags: str) -> tuple[str, str]:
    first, second = straight(count, *before, flags=flags), straight(count, *after)
    return judged(first, second, *differing(first, second, count))


@pytest.mark.parametrize(
    ("before", "after", "flags", "expected"),
    [
        (SUM, REORDERED, "reassoc", ("permitted", "the same 3 additions in another order (fastmath<reassoc>)")),
        (SUM, REORDERED, "", ("DIFFERENT", "the same 3 additions in another order (nothing allows it)")),
        (SUM, REORDERED, "contract", ("DIFFERENT", "the same 3 additions in another order (nothing allows it)")),
        (
            PRODUCTS,
            FUSED,
            "contract",
            ("permitted", "a product and a sum became a fused multiply-add (fastmath<contract>)"),
        ),
        (PRODUCTS, FUSED, "", ("DIFFERENT", "a product and a sum became a fused multiply-add (nothing allows it)")),
        (FUSED, PRODUCTS, "", ("DIFFERENT", "a fused multiply-add became a product and a sum (nothing allows it)")),
        (
            ("x = mulf a0 a1", "y = mulf x a2", "r = mulf y a3"),
            ("x = mulf a3 a2", "y = mulf a0 a1", "r = mulf x y"),
            "reassoc",
            ("permitted", "the same 3 multiplications in another order (fastmath<reassoc>)"),
        ),
        (
            ("x = subf a0 a1", "y = subf x a2", "r = negf y"),
            ("x = addf a2 a1", "r = subf x a0"),
            "reassoc",
            ("permitted", "the same 2 additions in another order (fastmath<reassoc>)"),
        ),
        (
            ("r = divf a0 a1",),
            ("one = divf a1 a1", "i = divf one a1", "r = mulf a0 i"),
            "arcp",
            ("permitted", "a quotient became the product with a reciprocal (fastmath<arcp>)"),
        ),
        (
            (*SUM[:2], "z = math.exp y", "r = mulf z a3"),
            ("x = addf a1 a2", "y = addf x a0", "z = math.exp y", "r = mulf z a3"),
            "reassoc",
            ("permitted", "the same 2 additions in another order (fastmath<reassoc>)"),
        ),
    ],
)
def test_the_ground(before: tuple[str, ...], after: tuple[str, ...], flags: str, expected: tuple[str, str]) -> None:
    count = 1 + max(int(word[1:]) for line in before for word in line.split() if word[0] == "a" and word[1:].isdigit())
    assert pair(before, after, count, flags) == expected


TINY, ONE = 0x00000001, 0x3F800000  # 2^-149, the smallest number of f32, and 1
ROUNDED = ("x = mulf a0 a1", "r = addf x a2")


@each_row(
    # 2^-149 * 0.75 is rounded to 2^-149, which cancels: +0. The fused one rounds 2^-149 * (0.75 - 1), which gives -0.
    (ROUNDED, "r = math.fma a0 a1 a2", "contract", [TINY, 0x3F400000, 0x80000001], "permitted"),
    (ROUNDED, "r = math.fma a0 a1 a2", "contract", [TINY, 0xBE800000, 0], "permitted"),
    (ROUNDED, "r = math.fma a0 a1 a2", "", [TINY, 0x3F400000, 0x80000001], "DIFFERENT"),
    (("x = mulf a0 a1", "r = subf a2 x"), ("n = negf a0", "r = math.fma n a1 a2"), "contract",
     [TINY, 0x3FA00000, TINY], "permitted"),
    # With another product, or another sign of a term, the zeros are those of another number.
    (ROUNDED, ("n = negf a0", "r = math.fma n a0 a2"), "contract", [TINY, 0x3E800000, 0], "DIFFERENT"),
    (ROUNDED, ("n = negf a2", "y = math.fma a0 a1 n", "r = negf y"), "contract", [0, ONE, 0], "DIFFERENT"),
    # The sum of 1 and -1 is +0 in both, and its negation is -0: no rounding.
    (ROUNDED, ("n = negf a0", "m = negf a2", "y = math.fma n a1 m", "r = negf y"), "contract",
     [ONE, ONE, 0xBF800000], "DIFFERENT"),
    # The smallest number, divided by 2, is a zero, but its sign is that of a number.
    (("x = mulf a0 a1", "r = mulf a0 a2"), ("n = negf a0", "r = mulf n a2"), "contract",
     [TINY, 0, 0x3F000000], "DIFFERENT"),
)  # fmt: skip
def test_the_sign_of_a_zero(before: tuple[str, ...], after: Any, flags: str, codes: list[int], expected: str) -> None:
    programs = straight(3, *before, flags=flags), straight(3, *([after] if isinstance(after, str) else after))
    given = [hu.Value.from_bits(np.uint32(code), "f32") for code in codes]
    one, two = (int(hu.run(each, *given)[0].bits) for each in programs)
    assert {one, two} == {0, 0x80000000}
    assert judged(*programs, *given)[0] == expected


@each_row(
    # The sign of the product is open, and so is that of the quotient: a zero, or an infinity.
    ("nsz", [0xBF800000, 0, ONE], "divf %x, %a2", "permitted"),
    ("nsz", [0xBF800000, 0, ONE], "divf %a2, %x", "permitted"),
    ("", [0xBF800000, 0, ONE], "divf %x, %a2", "DIFFERENT"),
    # No zero of the product: the quotient is too small, and a zero for that reason.
    ("nsz", [TINY, ONE, 0x7F000000], "divf %x, %a2", "DIFFERENT"),
)
def test_the_sign_that_comes_from_a_zero_under_nsz(flags: str, codes: list[int], last: str, expected: str) -> None:
    product, op = straight(3, "x = mulf a0 a1", flags=flags), f"arith.{last} : f32"
    before = product.replace("return %x", f"%r = {op}\n  return %r")
    after = product.replace("return %x", f"%y = arith.negf %x : f32\n  %r = {op.replace('%x', '%y')}\n  return %r")
    given = [hu.Value.from_bits(np.uint32(code), "f32") for code in codes]
    assert judged(before, after, *given)[0] == expected


@each_row("math.absf %x", "math.copysign %x, %a0", "arith.maximumf %x, %z", "arith.mulf %x, %x", "arith.addf %x, %z")
def test_an_op_that_determines_a_sign_ends_what_nsz_leaves_open(op: str) -> None:
    before = f"""func.func @f(%a0: f32, %a1: f32) -> f32 {{
  %z = arith.constant 0.0 : f32
  %x = arith.mulf %a0, %a1 fastmath<nsz> : f32
  %y = {op} : f32
  %r = arith.divf %a0, %y : f32
  return %r : f32
}}"""
    after = before.replace("return %r", "%n = arith.negf %r : f32\n  return %n")
    assert judged(before, after, np.float32(1), np.float32(-0.0))[0] == "DIFFERENT"
    open_ = before.replace(op, "arith.negf %x"), after.replace(op, "arith.negf %x")
    assert judged(*open_, np.float32(1), np.float32(-0.0))[0] == "permitted"


def test_either_zero_of_tosa_goes_on() -> None:
    before = """func.func @f(%x: tensor<1xf32>, %y: tensor<1xf32>) -> tensor<1xf64> {
  %0 = tosa.add %x, %y : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %1 = arith.extf %0 : tensor<1xf32> to tensor<1xf64>
  return %1 : tensor<1xf64>
}"""
    after = before.replace("%1 = arith.extf %0", "%1 = arith.extf %x")
    given = np.array([-0.0], np.float32), np.array([0.0], np.float32)
    reason = "the sign of a zero is another one (the zeros of tosa.add)"
    assert judged(before, after, *given) == ("permitted", reason)
    absolute = [each.replace("add %x, %y : (tensor<1xf32>, ", "abs %x : (") for each in (before, after)]
    assert judged(*absolute, *given)[0] == "DIFFERENT"  # the specification says +0


NO_RULE = (
    "these bits are unspecified (fast-math flags, or the payload of a NaN), but nothing that is permitted gives them"
)
FACTORED = ("x = addf a0 a1", "r = mulf x a2")
MULTIPLIED_OUT = ("x = mulf a0 a2", "y = mulf a1 a2", "r = addf x y")
IN_ONE = ("x = mulf a0 a2", "r = math.fma a1 a2 x")
"""The polynomial (a0 + a1) * a2 in three forms. LLVM's reassoc allows what is equal in algebra."""


@pytest.mark.parametrize(
    ("before", "after", "flags", "expected"),
    [
        (FACTORED, MULTIPLIED_OUT, "reassoc", ("permitted", "a polynomial in another form (fastmath<reassoc>)")),
        (MULTIPLIED_OUT, FACTORED, "reassoc", ("permitted", "a polynomial in another form (fastmath<reassoc>)")),
        (FACTORED, MULTIPLIED_OUT, "contract", ("DIFFERENT", "a polynomial in another form (nothing allows it)")),
        (FACTORED, IN_ONE, "reassoc", ("DIFFERENT", "a polynomial in another form (nothing allows it)")),
        (
            FACTORED,
            IN_ONE,
            "contract,reassoc",
            ("permitted", "a polynomial in another form (fastmath<reassoc>, fastmath<contract>)"),
        ),
        (FACTORED, ("x = mulf a0 a2", "y = mulf a1 a1", "r = addf x y"), "reassoc", ("DIFFERENT", NO_RULE)),
        (FACTORED, ("x = mulf a0 a2", "y = mulf a1 a2", "r = subf x y"), "reassoc", ("DIFFERENT", NO_RULE)),
    ],
)
def test_a_polynomial_in_another_form(
    before: tuple[str, ...], after: tuple[str, ...], flags: str, expected: tuple[str, str]
) -> None:
    assert pair(before, after, 3, flags) == expected


def test_ops_that_stay_as_they_are_need_no_permission() -> None:
    function = "func.func @f(%a: f32, %b: f32, %c: f32) -> f32 {{\n  %s = arith.mulf %a, %b : f32\n{}\n}}\n"
    flagged = (
        "  %t = arith.addf %s, %b fastmath<reassoc> : f32\n"
        "  %r = arith.mulf %t, %c fastmath<reassoc> : f32\n  return %r : f32"
    )
    out = (
        "  %x = arith.mulf %s, %c : f32\n  %y = arith.mulf %b, %c : f32\n"
        "  %r = arith.addf %x, %y : f32\n  return %r : f32"
    )
    deeper = (
        "  %x = arith.mulf %b, %c : f32\n  %y = arith.mulf %a, %x : f32\n"
        "  %r = arith.addf %y, %x : f32\n  return %r : f32"
    )
    before = function.format(flagged)
    for after, verdict in ((out, "permitted"), (deeper, "DIFFERENT")):
        given = differing(before, function.format(after), 3)
        assert judged(before, function.format(after), *given)[0] == verdict


BITS = """func.func @f(%x: f32) -> i16 {{
  %r = arith.truncf %x : f32 to bf16
  %i = arith.bitcast %r : bf16 to i16
  return %i : i16
}}"""
BY_INTEGERS = """func.func @f(%x: f32) -> i16 {{
  %quiet = arith.constant {code} : i16
  %16 = arith.constant 16 : i32
  %i = arith.bitcast %x : f32 to i32
  %high = arith.shrui %i, %16 : i32
  %short = arith.trunci %high : i32 to i16
  %nan = arith.cmpf uno, %x, %x : f32
  %r = arith.select %nan, %quiet, %short : i16
  return %r : i16
}}"""
PAYLOAD = hu.Value.from_bits(0x7FC10001, "f32")


def test_the_bits_of_a_nan_that_an_op_made_may_be_those_of_another_nan() -> None:
    before = BITS.format()
    assert judged(before, BY_INTEGERS.format(code=0x7FC0), PAYLOAD) == (
        "permitted",
        "another NaN (the payload is open)",
    )
    assert judged(before, BY_INTEGERS.format(code=0x7F80), PAYLOAD)[0] == "DIFFERENT"


def test_the_bits_of_a_nan_that_no_op_made_stay() -> None:
    before = """func.func @f(%x: bf16) -> i16 {
  %n = arith.negf %x : bf16
  %i = arith.bitcast %n : bf16 to i16
  return %i : i16
}"""
    after = """func.func @f(%x: bf16) -> i16 {
  %i = arith.constant 0x7FC0 : i16
  return %i : i16
}"""
    assert judged(before, after, hu.Value.from_bits(0xFFC1, "bf16"))[0] == "DIFFERENT"


def test_an_integer_may_depend_on_the_payload_of_a_nan() -> None:
    """A signalling NaN becomes quiet in a conversion; a pass may remove two conversions that cancel."""
    before = """func.func @f(%x: bf16) -> i16 {
  %w = arith.extf %x : bf16 to f32
  %n = arith.truncf %w : f32 to bf16
  %i = arith.bitcast %n : bf16 to i16
  %one = arith.constant 1 : i16
  %r = arith.addi %i, %one : i16
  return %r : i16
}"""
    after = """func.func @f(%x: bf16) -> i16 {
  %i = arith.bitcast %x : bf16 to i16
  %one = arith.constant 1 : i16
  %r = arith.addi %i, %one : i16
  return %r : i16
}"""
    signalling = hu.Value.from_bits(0x7F81, "bf16")
    assert judged(before, after, signalling) == ("permitted", "another NaN (the payload is open)")
    moved = before.replace("%n = arith.truncf %w : f32 to bf16", "%n = arith.negf %x : bf16")
    assert judged(moved, after, signalling)[0] == "DIFFERENT"


@each_row(
    ("arith.cmpi ugt, %t, %e : i32", "arith.cmpi ult, %t, %e : i32", "i1"),  # isnan, reversed
    ("arith.andi %i, %one : i32", "arith.ori %e, %one : i32", "i32"),  # one bit cannot become many
)
def test_an_integer_that_no_payload_gives_is_wrong(op: str, other: str, type_: str) -> None:
    before = f"""func.func @f(%x: f32, %y: f32) -> {type_} {{
  %n = arith.divf %x, %y : f32
  %i = arith.bitcast %n : f32 to i32
  %m = arith.constant 0x7FFFFFFF : i32
  %e = arith.constant 0x7F800000 : i32
  %one = arith.constant 1 : i32
  %t = arith.andi %i, %m : i32
  %r = {op}
  return %r : {type_}
}}"""
    assert judged(before, before.replace(op, other), np.float32(0), np.float32(0))[0] == "DIFFERENT"


def test_several_reasons_are_all_named() -> None:
    before = (*PRODUCTS, "s = addf r a0")
    after = ("z = math.fma a2 a3 a0", "r = math.fma a0 a1 z")
    verdict, ground = pair(before, after, 4, "contract,reassoc")
    assert verdict == "permitted"
    assert ground == (
        "a product and a sum became a fused multiply-add (fastmath<contract>); "
        "the same 2 additions in another order (fastmath<reassoc>)"
    )
    verdict, ground = pair(before, after, 4, "contract")
    assert verdict == "DIFFERENT"
    assert "the same 2 additions in another order (nothing allows it)" in ground


LONG = (
    "x0 = addf a0 a1",
    "x1 = mulf x0 a2",
    "x2 = addf x1 a3",
    "x3 = math.exp x2",
    "x4 = addf x3 a4",
    "r = addf x4 a0",
)
FLAGS = ("reassoc", "contract", "contract,reassoc,arcp,afn")
MUTATIONS = {
    "addf to subf": ("x2 = addf x1 a3", "x2 = subf x1 a3"),
    "a swapped operand": ("x4 = addf x3 a4", "x4 = addf x3 a3"),
    "a dropped term": ("r = addf x4 a0", "r = addf x3 a0"),
    "a doubled term": ("x4 = addf x3 a4", "w = addf x3 a4\nx4 = addf w a4"),
    "mulf to divf": ("x1 = mulf x0 a2", "x1 = divf x0 a2"),
    "another function": ("x3 = math.exp x2", "x3 = math.exp2 x2"),
    "a function left out": ("x3 = math.exp x2", "x3 = addf x2 a1"),
    "a larger exponent": ("x3 = math.exp x2", "y = addf x2 a1\nx3 = math.exp y"),
}


@pytest.mark.parametrize("name", thinned(MUTATIONS, 4))
@pytest.mark.parametrize("flags", ["", *(pytest.param(each, marks=pytest.mark.exhaustive) for each in FLAGS), "fast"])
@pytest.mark.parametrize("order", ["as it was", "reordered"])
def test_a_wrong_op_is_never_permitted(name: str, flags: str, order: str) -> None:
    old, new = MUTATIONS[name]
    wrong = [each for line in LONG for each in (new.split("\n") if line == old else [line])]
    if order == "reordered":
        wrong = [line if line != "r = addf x4 a0" else "r = addf a0 x4" for line in wrong]
    before, after = straight(5, *LONG, flags=flags), straight(5, *wrong)
    for seed in (0, 3):
        given = scalars(5, seed)
        assert judged(before, after, *given)[0] == "DIFFERENT", hu.run(after, *given)


CONSTANT = """func.func @f(%x: tensor<16xf32>) -> tensor<16xf32> {
  %c = arith.constant dense<C> : tensor<16xf32>
  %0 = arith.mulf %x, %c fastmath<fast> : tensor<16xf32>
  %1 = math.tanh %0 fastmath<fast> : tensor<16xf32>
  %2 = arith.addf %1, %x fastmath<fast> : tensor<16xf32>
  return %2 : tensor<16xf32>
}"""


@pytest.mark.parametrize("wrong", ["0x3DCCCCCE", "0x3DCCCCCC", "0x3DCCCDCD"])
def test_a_constant_of_another_ulp_is_never_permitted(wrong: str) -> None:
    before, after = CONSTANT.replace("C>", "0x3DCCCCCD>"), CONSTANT.replace("C>", f"{wrong}>")
    assert judged(before, after, numbers(16))[0] == "DIFFERENT"


REDUCED = """func.func @f(%v: tensor<40x3xf32>, %a: tensor<3xf32>) -> tensor<3xf32> {
  %r = linalg.reduce { arith.addf } ins(%v : tensor<40x3xf32>) outs(%a : tensor<3xf32>) dimensions = [0]
  return %r : tensor<3xf32>
}"""
SPLIT = """func.func @f(%v: tensor<40x3xf32>, %a: tensor<3xf32>) -> tensor<3xf32> {
  %z = arith.constant dense<0.0> : tensor<3xf32>
  %e = tensor.extract_slice %v[0, 0] [20, 3] [1, 1] : tensor<40x3xf32> to tensor<20x3xf32>
  %o = tensor.extract_slice %v[20, 0] [SIZE, 3] [1, 1] : tensor<40x3xf32> to tensor<SIZEx3xf32>
  %s = linalg.reduce { arith.addf } ins(%e : tensor<20x3xf32>) outs(%a : tensor<3xf32>) dimensions = [0]
  %t = linalg.reduce { arith.addf } ins(%o : tensor<SIZEx3xf32>) outs(%z : tensor<3xf32>) dimensions = [0]
  %r = arith.addf %s, %t : tensor<3xf32>
  return %r : tensor<3xf32>
}"""


@pytest.mark.long
def test_the_order_of_a_structured_reduction_is_free() -> None:
    given = numbers(40, 3), numbers(3)
    expected = ("permitted", "the same 40 additions in another order (the order of linalg.reduce)")
    assert judged(REDUCED, SPLIT.replace("SIZE", "20"), *given) == expected
    assert judged(REDUCED, SPLIT.replace("SIZE", "19"), *given) == ("DIFFERENT", "")
    # What came from a structured op into a plain sum has an order.
    verdict, ground = judged(SPLIT.replace("SIZE", "20"), REDUCED, *given)
    assert (verdict, "nothing allows it" in ground) == ("DIFFERENT", True)


CASTS = """func.func @f(%x: f32, %y: f32) -> f32 {
  %0 = arith.addf %x, %y : f32
  %1 = arith.truncf %0 FLAGS : f32 to bf16
  %2 = arith.extf %1 FLAGS : bf16 to f32
  %3 = arith.addf %2, %x : f32
  return %3 : f32
}"""


@pytest.mark.parametrize(("flags", "verdict"), [("fastmath<contract>", "permitted"), ("", "DIFFERENT")])
def test_conversions_that_are_left_out(flags: str, verdict: str) -> None:
    after = straight(2, "z = addf a0 a1", "r = addf z a0")
    found = judged(CASTS.replace("FLAGS", flags), after, *scalars(2))
    text = "conversions between them were left out (fastmath<contract>)"
    assert found == (verdict, text if flags else "a conversion to fewer bits was left out (nothing allows it)")
    # Left out, a conversion that overflows in the middle gives a finite number.
    large, zero = np.float32(1e20), np.float32(0)
    overflowing = CASTS.replace("bf16", "f16").replace("FLAGS", flags)
    assert np.isinf(hu.run(overflowing, large, zero)[0].numpy())
    assert judged(overflowing, after, large, zero)[0] == verdict
    narrower = CASTS.replace("bf16", "f16").replace("FLAGS", "")
    assert judged(CASTS.replace("FLAGS", flags), narrower, *scalars(2))[0] == "DIFFERENT"


PRINTED = """func.func @f(%a: vector<2xf32>) {
  %x = math.rsqrt %a : vector<2xf32>
  vector.print %x : vector<2xf32>
  return
}"""
FORMULA = """%q = math.sqrt %a : vector<2xf32>
  %o = arith.constant dense<1.0> : vector<2xf32>
  %x = arith.divf %o, %q : vector<2xf32>"""


def test_what_is_printed_is_judged_as_results_are() -> None:
    """1 / sqrt(x) is one ulp away from rsqrt(x) at 1.3882092 (0x3FB1B0D7); both print 0.848736."""
    given = np.array([4.0, 1.3882092], np.float32)
    formula = PRINTED.replace("%x = math.rsqrt %a : vector<2xf32>", FORMULA)
    judgement, ground = judged(PRINTED, formula, given)
    assert judgement == "permitted"
    assert ground == f"math.rsqrt became a formula, 1 ulp away (a formula may be {MOST_ULP} ulp away)"
    found = hu.bisect(PRINTED, given, stages=[PRINTED.replace("rsqrt", "cbrt")], function="f")
    assert found.results[1].judgement.value == "DIFFERENT"
    assert "printed element 0: 0x3F000000 (0.5) became 0x3FCB2FF5" in str(found)


RSQRT = ("s = math.rsqrt a0", "r = mulf s a1")


def test_a_formula_in_the_place_of_a_function() -> None:
    before = straight(2, *RSQRT)
    after = before.replace("%s = math.rsqrt %a0  : f32", "%q = math.sqrt %a0 : f32\n  %o = arith.constant 1.0 : f32\n"
                           "  %s = arith.divf %o, %q : f32")  # fmt: skip
    given = next(x for x in map(abs, numbers(100)) if hu.run(before, x, 1.0) != hu.run(after, x, 1.0))
    verdict, ground = judged(before, after, given, 1.0)
    assert verdict == "permitted"
    assert ground == f"math.rsqrt became a formula, 1 ulp away (a formula may be {MOST_ULP} ulp away)"
    far = after.replace("1.0 : f32", "1.00001 : f32")
    assert judged(before, far, given, 1.0)[0] == "DIFFERENT"


def test_a_formula_gives_no_infinity_and_no_other_sign() -> None:
    before, after = straight(1, "r = math.sinh a0"), straight(1, "r = addf a0 a0")
    assert judged(before, after, 100.0)[0] == "DIFFERENT"
    assert judged(straight(1, "r = math.sin a0"), straight(1, "r = negf a0"), 1e-6)[0] == "DIFFERENT"
    assert judged(straight(1, "r = math.sin a0"), straight(1, "r = math.tan a0"), 1e-3)[0] == "DIFFERENT"


def test_sums_without_history() -> None:
    codes = [int(code) for code in numbers(5).view(np.uint32)]
    every = sums_in_all_orders(F32, codes)
    for order in permutations(codes):
        total = order[0]
        for code in order[1:]:
            total = scalar.add(F32, total, code).code
        assert total in every
    low, high = bounds_of_all_orders(F32, codes)
    values = [scalar.value(F32, code) for code in every]
    assert all(value is not None and low <= value <= high for value in values)
    assert high - low < Fraction(1, 10**5)


@pytest.mark.long
def test_only_some_of_many_elements_are_explained_and_this_is_said() -> None:
    text = """func.func @f(%a: tensor<2000xf32>, %b: tensor<2000xf32>, %c: tensor<2000xf32>) -> tensor<2000xf32> {
      %0 = arith.addf %a, %b fastmath<reassoc> : tensor<2000xf32>
      %1 = arith.addf %0, %c fastmath<reassoc> : tensor<2000xf32>
      return %1 : tensor<2000xf32>
    }"""
    other = text.replace("addf %a, %b", "addf %b, %c").replace("addf %0, %c", "addf %0, %a")
    verdict, ground = judged(text, other, *(numbers(2000, seed=k) for k in range(3)))
    assert verdict == "permitted"
    assert " elements explained" in ground


NARROW, WIDE = "f32 to bf16", "bf16 to f32"


def cast_sum(flags: str, first: str, last: str, on_cast: str = "") -> str:
    """Return the sum of two numbers, rounded to bf16, and a third one."""
    return f"""func.func @f(%a: f32, %b: f32, %c: f32) -> f32 {{
      %0 = arith.addf %a, %{first} {flags} : f32
      %1 = arith.truncf %0 {on_cast} : {NARROW}
      %2 = arith.extf %1 {on_cast} : {WIDE}
      %3 = arith.addf %2, %{last} {flags} : f32
      return %3 : f32
    }}"""


@pytest.mark.parametrize(("on_cast", "verdict"), [("", "DIFFERENT"), ("fastmath<contract>", "permitted")])
def test_terms_are_exchanged_over_a_conversion_only_if_it_may_be_left_out(on_cast: str, verdict: str) -> None:
    before, after = cast_sum("fastmath<reassoc>", "b", "c", on_cast), cast_sum("", "c", "b")
    assert judged(before, after, *differing(before, after, 3))[0] == verdict


@pytest.mark.long
def test_a_permitted_difference_hides_no_other_one() -> None:
    """The formula is permitted, but the conversion is at another place."""
    tail = "%l = math.tanh %c : f32"
    formula = """%p = arith.addf %c, %c : f32
      %q = math.exp %p : f32
      %one = arith.constant 1.0 : f32
      %n = arith.subf %q, %one : f32
      %d = arith.addf %q, %one : f32
      %l = arith.divf %n, %d : f32"""
    before = cast_sum("", "b", "l").replace("%0 =", f"{tail}\n%0 =")
    moved = f"""func.func @f(%a: f32, %b: f32, %c: f32) -> f32 {{
      {formula}
      %0 = arith.addf %a, %b : f32
      %1 = arith.addf %0, %l : f32
      %2 = arith.truncf %1 : {NARROW}
      %3 = arith.extf %2 : {WIDE}
      return %3 : f32
    }}"""
    for seed in range(12):
        assert judged(before, moved, *scalars(3, seed))[0] == "DIFFERENT"


@pytest.mark.parametrize(
    ("before", "after"), thinned([("sin", "tan"), ("sin", "tanh"), ("exp", "exp2"), ("tanh", "atan")], 2, rows=True)
)
def test_another_function_of_a_computed_number_is_no_formula(before: str, after: str) -> None:
    lines = "y = addf a0 a1", f"r = math.{before} y"
    first, second = straight(2, *lines), straight(2, lines[0], f"r = math.{after} y")
    scale = np.float32(1e-3 if before != "exp" else 1e-7)
    for seed in range(20):
        given = [x * scale for x in scalars(2, seed)]
        if hu.run(first, *given) != hu.run(second, *given):
            assert judged(first, second, *given)[0] == "DIFFERENT"


def test_sixteen_ulp_of_a_short_type_are_no_formula() -> None:
    """tanh(0.5) is 0.46, and 0.475 is 8 ulp of bf16 away."""
    before = straight(1, "r = math.tanh a0", type_="bf16")
    after = before.replace("%r = math.tanh %a0", "%c = arith.constant 0.95 : bf16\n  %r = arith.mulf %a0, %c")
    verdict, ground = judged(before, after, hu.convert(0.5, to="bf16"))
    assert verdict == "DIFFERENT"
    assert "math.tanh became a formula" in ground


IN_PARALLEL = """#m = affine_map<(d0) -> (d0)>
func.func @f(%a: tensor<64xf32>, %b: tensor<64xf32>, %c: tensor<64xf32>) -> tensor<64xf32> {
  %0 = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel"]} ins(%FIRST : tensor<64xf32>)
      outs(%b : tensor<64xf32>) {
    ^bb0(%i: f32, %o: f32):
      %s = arith.addf %i, %o : f32
      linalg.yield %s : f32
  } -> tensor<64xf32>
  %1 = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel"]} ins(%LAST : tensor<64xf32>)
      outs(%0 : tensor<64xf32>) {
    ^bb0(%i: f32, %o: f32):
      %s = arith.addf %i, %o : f32
      linalg.yield %s : f32
  } -> tensor<64xf32>
  return %1 : tensor<64xf32>
}"""


def test_a_structured_op_without_reduction_has_an_order() -> None:
    before, after = (IN_PARALLEL.replace("FIRST", one).replace("LAST", two) for one, two in ("ac", "ca"))
    verdict, ground = judged(before, after, *(numbers(64, seed=k) for k in range(3)))
    assert (verdict, "nothing allows it" in ground) == ("DIFFERENT", True)


REDUCING = """func.func @f(%v: memref<8xf32>, %c: f32, %d: f32) -> f32 {
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r = scf.parallel (%i) = (%c0) to (%c8) step (%c1) init (%z) -> f32 {
    %x = memref.load %v[%i] : memref<8xf32>
    scf.reduce(%x : f32) {
      ^bb0(%l: f32, %e: f32):
        BODY
        %s = arith.addf %l, %q : f32
        scf.reduce.return %s : f32
    }
  }
  return %r : f32
}"""


def test_products_in_the_body_of_a_reduction_have_an_order() -> None:
    before = REDUCING.replace("BODY", "%p = arith.mulf %e, %c : f32\n%q = arith.mulf %p, %d : f32")
    after = REDUCING.replace("BODY", "%p = arith.mulf %c, %d : f32\n%q = arith.mulf %p, %e : f32")
    factors = np.float32(1.1), np.float32(1.3)
    given = next(each for seed in range(40) if hu.run(before, each := numbers(8, seed=seed), *factors, function="f")
                 != hu.run(after, each, *factors, function="f"))  # fmt: skip
    verdict, ground = judged(before, after, given, *factors)
    assert (verdict, "multiplications" in ground) == ("DIFFERENT", True)


@pytest.mark.parametrize(
    ("before", "after", "flags"),
    [
        (("m = mulf a0 a1", "r = subf a2 m"), ("n = negf a0", "r = math.fma n a1 a2"), "contract"),
        (
            ("x = mulf a0 a1", "y = negf x", "r = mulf y a2"),
            ("n = negf a1", "x = mulf n a2", "r = mulf x a0"),
            "reassoc",
        ),
    ],
)
def test_signs_may_move(before: tuple[str, ...], after: tuple[str, ...], flags: str) -> None:
    assert pair(before, after, 3, flags)[0] == "permitted"
    assert pair(before, after, 3, "")[0] == "DIFFERENT"


@pytest.mark.parametrize(("constant", "verdict"), [("0x3EAAAAAB", "permitted"), ("0x3EAAAAAC", "DIFFERENT")])
def test_the_reciprocal_of_a_constant_may_be_computed_before_the_run(constant: str, verdict: str) -> None:
    """0x3EAAAAAB is 1/3, rounded to nearest even."""
    text = """func.func @f(%x: tensor<32xf32>) -> tensor<32xf32> {
      %c = arith.constant dense<CONSTANT> : tensor<32xf32>
      %0 = arith.OP : tensor<32xf32>
      return %0 : tensor<32xf32>
    }"""
    before = text.replace("CONSTANT", "3.0").replace("OP", "divf %x, %c fastmath<arcp>")
    after = text.replace("CONSTANT", constant).replace("OP", "mulf %x, %c")
    assert judged(before, after, numbers(32))[0] == verdict


def test_a_sum_in_another_order_may_overflow() -> None:
    before = straight(3, "x = addf a0 a2", "r = addf x a1", flags="reassoc")
    after = straight(3, "x = addf a0 a1", "r = addf x a2")
    given = [np.float32(x) for x in (3e38, 3e38, -3e38)]
    assert judged(before, after, *given)[0] == "permitted"
    assert judged(before.replace("fastmath<reassoc>", ""), after, *given)[0] == "DIFFERENT"


@pytest.mark.long
def test_long_histories() -> None:
    """Each of 200 functions of a fused sum differs because of the one before it."""
    last, lines, others = "a0", [], []
    for k in range(200):
        lines += [f"m{k} = mulf {last} a0", f"n{k} = addf m{k} a0", f"p{k} = math.sin n{k}"]
        others += [f"n{k} = math.fma {last} a0 a0", f"p{k} = math.sin n{k}"]
        last = f"p{k}"
    before = straight(1, *lines, flags="contract")
    assert judged(before, straight(1, *others), np.float32(1.1))[0] == "permitted"


@pytest.mark.long
def test_long_sums_take_a_bounded_time() -> None:
    """A matrix product over 400 columns, cut in two: the work is linear in the terms."""
    whole = """func.func @f(%a: tensor<2x400xf32>, %b: tensor<400x2xf32>, %c: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %0 = linalg.matmul ins(%a, %b : tensor<2x400xf32>, tensor<400x2xf32>) outs(%c : tensor<2x2xf32>) -> tensor<2x2xf32>
      return %0 : tensor<2x2xf32>
    }"""
    half = """func.func @f(%a: tensor<2x400xf32>, %b: tensor<400x2xf32>, %c: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %a0 = tensor.extract_slice %a[0, 0] [2, 200] [1, 1] : tensor<2x400xf32> to tensor<2x200xf32>
      %a1 = tensor.extract_slice %a[0, 200] [2, 200] [1, 1] : tensor<2x400xf32> to tensor<2x200xf32>
      %b0 = tensor.extract_slice %b[0, 0] [200, 2] [1, 1] : tensor<400x2xf32> to tensor<200x2xf32>
      %b1 = tensor.extract_slice %b[200, 0] [200, 2] [1, 1] : tensor<400x2xf32> to tensor<200x2xf32>
      %0 = linalg.matmul ins(%a1, %b1 : tensor<2x200xf32>, tensor<200x2xf32>) outs(%c : tensor<2x2xf32>) -> tensor<2x2xf32>
      %1 = linalg.matmul ins(%a0, %b0 : tensor<2x200xf32>, tensor<200x2xf32>) outs(%0 : tensor<2x2xf32>) -> tensor<2x2xf32>
      return %1 : tensor<2x2xf32>
    }"""
    given = numbers(2, 400), numbers(400, 2, seed=6), numbers(2, 2, seed=7)
    histories = [recorded(text, *given) for text in (whole, half)]
    (one, first), (two, second) = histories
    explainer = Explainer(one, two, work=6_000)
    pairs = [(number_at(first, place), number_at(second, place)) for place in np.ndindex(2, 2)]
    assert all(explainer.explain(*each) is not None for each in pairs)
    with pytest.raises(TooLong):
        Explainer(one, two, work=100).explain(*next(each for each in pairs if each[0].code != each[1].code))
