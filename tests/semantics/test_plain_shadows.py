"""Shadows in a wider format: near the exact errors where these are known, and unknown where they cannot be seen."""

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from present import present
from shadow_programs import random_program

import halfulp as hu
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.shadows import FORMS, Form, Shadows, error_in_ulp, shadow_of
from halfulp.running import find_entry
from halfulp.semantics import shadows
from halfulp.semantics.ball_rules import BALLS
from halfulp.semantics.judging import STEPS
from halfulp.semantics.plain_shadows import _IN_FORMAT, WIDER
from halfulp.semantics.shadows import Shadow, Shadowed, errors

CHAIN = """func.func @f(%x: {t}, %y: {t}) -> {t} {{
  %0 = arith.{op} %x, %y : {t}
  %1 = arith.{op} %0, %y : {t}
  return %1 : {t}
}}"""


def run_in(form: Form, text: str, *arguments: Any) -> tuple[hu.Value, ...]:
    module = hu.parse(text)
    return program_for(module, Settings(recorder=Shadows(form))).run(find_entry(module, None), arguments)


@pytest.mark.added
def test_every_meaning_is_in_all_tables() -> None:
    """A table that lacks one is found out only by a run that asks for shadows of that form."""
    named = {"STEPS of semantics/judging.py or RULES of semantics/shadows.py": {*STEPS, *shadows.RULES}}
    named |= {
        "BALLS of semantics/ball_rules.py": set(BALLS),
        "_IN_FORMAT of semantics/plain_shadows.py": set(_IN_FORMAT),
    }
    meanings = set().union(*named.values())
    absent = [
        f"{meaning!r} is not in {table}" for table, names in named.items() for meaning in sorted(meanings - names)
    ]
    assert not absent, "add the functions: " + "; ".join(absent)


@pytest.mark.long
@pytest.mark.parametrize("wider", WIDER)
@pytest.mark.parametrize("seed", range(60))
def test_errors_are_those_of_the_enclosed_ones(wider: str, seed: int) -> None:
    """The programs have up to 50 ops, among them cancellations: an error may then be lost, not a nearby one."""
    program = random_program(seed, rational=True)
    exact = run_in(FORMS[""], program.text, *program.arguments)
    plain = run_in(FORMS[wider], program.text, *program.arguments)
    for one, other in zip(exact, plain, strict=True):
        right, found = error_in_ulp(one), error_in_ulp(other, FORMS[wider])
        assert (right is None) == (found is None)
        if right is None or found is None:
            continue
        assert np.array_equal(one.bits, other.bits)
        (error, radius), (near, known) = right, found
        tight = (radius < 1e-6) & (np.abs(error) < 1e6) & (known == 0)
        # Beside a power of two the wider format may have the exact number on the other side, where an ulp is twice or half as
        # large: the errors are equal there, though not in ulp.
        size, wide_size = present(shadow_of(one, FORMS[""])).error, present(shadow_of(other, FORMS[wider])).error
        same = np.isclose(near, error, rtol=1e-6, atol=1e-5) | np.isclose(wide_size, size, rtol=1e-6, atol=0)
        assert same[tight].all()


@pytest.mark.parametrize(("wider", "type_"), [("f64", "f64"), ("f128", "f128"), ("f64", "f80")])
def test_a_format_that_is_no_narrower_is_unknown(wider: str, type_: str) -> None:
    text = CHAIN.format(t=type_, op="divf")
    trace = hu.trace(text, 1.0, 3.0, shadow=wider)
    assert trace.errors is not None
    (result,) = trace.errors.results
    assert np.isnan(result.ulp)
    assert trace.errors.ops[0].unknown == 1


def test_exact_ops_are_exact_and_f64_is_seen_in_f128() -> None:
    (value,) = run_in(FORMS["f64"], CHAIN.format(t="f32", op="mulf"), hu.convert(1.5, "f32"), hu.convert(1.25, "f32"))
    shadow = present(shadow_of(value, FORMS["f64"]))
    assert (shadow.error == 0).all()
    trace = hu.trace(CHAIN.format(t="f64", op="divf"), 1.0, 3.0, shadow="f128")
    exact = hu.trace(CHAIN.format(t="f64", op="divf"), 1.0, 3.0, shadow=True)
    assert trace.errors is not None
    assert exact.errors is not None
    assert trace.errors.results[0].ulp == pytest.approx(exact.errors.results[0].ulp, rel=1e-9)
    assert trace.errors.results[0].ulp != 0


def test_what_is_not_known_is_said() -> None:
    text = CHAIN.format(t="4xf32".join(("tensor<", ">")), op="divf")
    given = np.array([1, 0, np.inf, 3], np.float32), np.array([0, 0, 2, 3], np.float32)
    (value,) = run_in(FORMS["f64"], text, *(hu.convert(each, "f32") for each in given))
    errors = present(error_in_ulp(value, FORMS["f64"]))
    # Half an infinity that the caller gave is known, as enclosures know it.
    assert np.isnan(errors[0]).tolist() == [True, True, False, False]


def test_bits_of_other_numbers_are_unknown() -> None:
    text = """func.func @f(%x: f32, %y: f32) -> (f16, f32) {
      %m = memref.alloca() : memref<4xi8>
      %c0 = arith.constant 0 : index
      %whole = memref.view %m[%c0][] : memref<4xi8> to memref<1xf32>
      %halves = memref.view %m[%c0][] : memref<4xi8> to memref<2xf16>
      %0 = arith.divf %x, %y : f32
      memref.store %0, %whole[%c0] : memref<1xf32>
      %half = memref.load %halves[%c0] : memref<2xf16>
      %same = memref.load %whole[%c0] : memref<1xf32>
      return %half, %same : f16, f32
    }"""
    half, same = run_in(FORMS["f64"], text, hu.convert(1.0, "f32"), hu.convert(3.0, "f32"))
    one, other = present(error_in_ulp(half, FORMS["f64"])), present(error_in_ulp(same, FORMS["f64"]))
    assert np.isnan(one[0])
    assert other[0] == pytest.approx(-1 / 3)  # 1/3 is 0x3EAAAAAA.AAAA..., rounded up to 0x3EAAAAAB


def test_only_forms_that_there_are() -> None:
    with pytest.raises(ValueError, match="shadow is 'f32', but must be True or one of f64, f128"):
        hu.trace(CHAIN.format(t="f32", op="addf"), 1.0, 2.0, shadow="f32")


# --- shadow steps -----------------------------------------------------------------------------------------------------
#
# Functions that jump or choose: their shadows hold what both ends of an operand give.


def away(x: Fraction) -> int:
    return floor(x + Fraction(1, 2)) if x >= 0 else ceil(x - Fraction(1, 2))


JUMPS: dict[str, Callable[[Fraction], int]] = {
    "floor": floor,
    "ceil": ceil,
    "trunc": int,
    "round": away,
    "roundeven": round,
}


def holds(shadow: Shadow, place: int, exact: Fraction) -> bool:
    error, radius = (float(np.broadcast_to(part, (COUNT,))[place]) for part in shadow)
    return not np.isfinite(radius) or abs(exact - Fraction(error)) <= Fraction(radius)


COUNT = 3_000


@pytest.mark.long
@pytest.mark.parametrize("name", JUMPS)
def test_jumps(name: str) -> None:
    draw = np.random.default_rng(len(name))
    value = np.concatenate([draw.uniform(-4, 4, COUNT // 2), draw.integers(-9, 9, COUNT // 2) / 2])
    value[:100] *= 2.0 ** draw.integers(0, 60, 100)
    error = draw.choice([0.0, 1e-30, -1e-30, 0.25, -0.5, 1e-9, -3.0], COUNT)
    radius = draw.choice([0.0, 0.0, 1e-31, 1e-12, 0.3], COUNT)
    jump = JUMPS[name]
    result = np.array([float(jump(Fraction(x))) for x in value])
    result[::50] += 1  # a result may be wrong
    found = errors(name, result, Shadowed(value, error, radius), rules=STEPS)
    for k in range(COUNT):
        assert holds(found.own, k, jump(Fraction(value[k])) - Fraction(result[k]))
        for side in (-1, 0, 1):
            exact = Fraction(value[k]) + Fraction(error[k]) + side * Fraction(radius[k])
            assert holds(found.total, k, jump(exact) - Fraction(result[k])), (name, value[k], error[k], radius[k], side)
    exactly = (error == 0) & (radius == 0)
    assert (found.total.radius[exactly] == 0).all()


@pytest.mark.long
def test_copysign_and_clamp() -> None:
    draw = np.random.default_rng(7)
    x, y, low, high = (draw.uniform(-2, 2, COUNT) for _ in range(4))
    parts = [(draw.choice([0.0, 0.5, -1.5, 1e-20], COUNT), draw.choice([0.0, 0.25, 1e-21], COUNT)) for _ in range(3)]
    a, b, c = (Shadowed(value, *part) for value, part in zip((x, y, high), parts, strict=True))
    signed = errors("copysign", np.copysign(x, y), a, b, rules=STEPS)
    clamped = errors("clamp", np.maximum(np.minimum(x, high), low), a, Shadowed(low, *parts[1]), c, rules=STEPS)
    for k in range(COUNT):
        ends = [
            [Fraction(each.value[k]) + Fraction(each.error[k]) + side * Fraction(each.radius[k]) for side in (-1, 1)]
            for each in (a, b, c)
        ]
        least, most = [
            Fraction(low[k]) + Fraction(parts[1][0][k]) + side * Fraction(parts[1][1][k]) for side in (-1, 1)
        ]
        for u in ends[0]:
            for v in ends[1]:
                exact = abs(u) if v > 0 else -abs(u)
                assert v == 0 or holds(signed.total, k, exact - Fraction(np.copysign(x[k], y[k])))
            for top in ends[2]:
                for bottom in (least, most):
                    exact = max(min(u, top), bottom)
                    assert holds(clamped.total, k, exact - Fraction(max(min(x[k], high[k]), low[k])))


# --- infinities that programs spell -----------------------------------------------------------------------------------

UNARY = ("arith.negf", *(f"math.{op}" for op in ("absf", "sqrt", "floor", "trunc", "exp", "tanh", "atan", "log")))
BINARY = (*(f"arith.{op}" for op in ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf")),
          "math.copysign", "math.atan2", "math.powf")  # fmt: skip
TERNARY = ("math.fma", "math.clampf")


def applied(type_: str) -> str:
    """Return a program that applies each op to three operands, their quotients, what overflows and what is chosen."""
    lines = ["%u = arith.divf %x, %three : {t}", "%w = arith.mulf %z, %large : {t}", "%v = arith.mulf %w, %large : {t}"]
    names: list[str] = []
    for first, second in (("%x", "%y"), ("%u", "%y"), ("%x", "%v"), ("%m", "%x"), ("%m", "%y")):
        if "%m" in (first, second) and "%m" not in "".join(lines):
            lines.append("%m = arith.maximumf %x, %y : {t}")
        for op in (*UNARY, *BINARY, *TERNARY):
            count = 1 if op in UNARY else 2 if op in BINARY else 3
            operands = (first, second, "%z")[:count]
            text = f"{operands[0]} to [{operands[1]}, {operands[2]}]" if op == "math.clampf" else ", ".join(operands)
            names.append(f"%r{len(names)}")
            lines.append(f"{names[-1]} = {op} {text} : {{t}}")
        names.append(f"%r{len(names)}")
        lines.append(f"%c{names[-1][2:]} = arith.cmpf olt, {first}, {second} : {{t}}")
        lines.append(f"{names[-1]} = arith.select %c{names[-1][2:]}, {first}, {second} : {{c}}, {{t}}")
    tensor = f"tensor<125x{type_}>"
    body = "\n".join(lines).format(t=tensor, c="tensor<125xi1>")
    return f"""func.func @f(%x: {tensor}, %y: {tensor}, %z: {tensor}) -> ({", ".join([tensor] * len(names))}) {{
      %three = arith.constant dense<3.0> : {tensor}
      %large = arith.constant dense<0.0> : {tensor}
      {body}
      return {", ".join(names)} : {", ".join([tensor] * len(names))}
    }}"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("wider", "type_"),
    thinned([("f64", "f32"), ("f128", "f32"), ("f64", "bf16"), ("f64", "f16"), ("f128", "f64")], 5, rows=True),
)
def test_infinities_are_known_as_the_enclosed_shadows_know_them(wider: str, type_: str) -> None:
    """All combinations of two infinities and three numbers as operands: an infinity of infinities has no error."""
    large = {"f16": "6.0e4", "f64": "1.0e308"}.get(type_, "1.0e38")
    text = applied(type_).replace("dense<0.0>", f"dense<{large}>")
    axes = np.meshgrid(*[[-np.inf, -2.0, 0.0, 1.5, np.inf]] * 3, indexing="ij")
    given = [hu.convert(each.reshape(-1), type_) for each in axes]
    pairs = zip(run_in(FORMS[""], text, *given), run_in(FORMS[wider], text, *given), strict=True)
    infinities = 0
    for one, other in pairs:
        right, found = error_in_ulp(one), error_in_ulp(other, FORMS[wider])
        assert right is not None and found is not None  # noqa: PT018
        known = np.isfinite(right[1])
        assert np.isfinite(found[1][known]).all()
        infinite = known & np.isinf(one.numpy().astype(np.float64))
        assert not found[0][infinite].any()
        infinities += int(np.count_nonzero(infinite))
        # An infinity that only one of them knows would be a claim about a number that overflowed. Zeros do not.
        claimed = np.isinf(one.numpy().astype(np.float64)) & ~known & np.isfinite(found[1])
        assert not (claimed & (axes[2].reshape(-1) != 0)).any()
    assert infinities > 2000


@pytest.mark.parametrize("shadow", thinned([True, *WIDER], 3))
@pytest.mark.parametrize("op", ["maximumf", "maxnumf"])
def test_padding_by_infinities_hides_no_number(op: str, shadow: bool | str) -> None:
    """The reduction of a row that is all padding, and of rows with numbers: as a max-pool begins, and pads."""
    text = f"""func.func @f(%x: tensor<2x3xf32>) -> (tensor<4x5xf32>, tensor<4xf32>) {{
      %low = arith.constant 0xFF800000 : f32
      %p = tensor.pad %x low[1, 1] high[1, 1] {{
      ^bb0(%i: index, %j: index):
        tensor.yield %low : f32
      }} : tensor<2x3xf32> to tensor<4x5xf32>
      %e = tensor.empty() : tensor<4xf32>
      %f = linalg.fill ins(%low : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      %r = linalg.reduce {{ arith.{op} }} ins(%p : tensor<4x5xf32>) outs(%f : tensor<4xf32>) dimensions = [1]
      return %p, %r : tensor<4x5xf32>, tensor<4xf32>
    }}"""
    trace = hu.trace(text, np.arange(6, dtype=np.float32).reshape(2, 3), shadow=shadow)
    assert trace.errors is not None
    assert [(each.ulp, each.unknown) for each in trace.errors.results] == [(0, 0), (0, 0)]
    assert all(each.unknown == each.undecided == each.otherwise == 0 for each in trace.errors.ops)
