"""Integers that wrap beside an exact run: what was computed from them is unknown, and the op that wrapped is named."""

import json
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from shadow_programs import run_with_shadows
from tables import each_row

import halfulp as hu
from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.run.batch.program import run_batch
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.shadows import shadow_of
from halfulp.interp.values.value import Value
from halfulp.semantics.ball_rules import BALLS
from halfulp.semantics.judging import STEPS
from halfulp.semantics.kernel import Computes, Reinterprets
from halfulp.semantics.profile import SPEC
from halfulp.semantics.shadows import RULES

Reading = tuple[int, int]
"""The least and the greatest integer of a type."""
EXACT: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.shli": lambda a, b: a * 2**b,
    "llvm.add": lambda a, b: a + b,
    "math.ipowi": lambda a, b: a**b,
}
"""What each op gives for integers without an end."""
WIDTH = 4
CODES = range(1 << WIDTH)


def readings(width: int) -> tuple[Reading, Reading]:
    return (-(1 << width - 1), (1 << width - 1) - 1), (0, (1 << width) - 1)


def read(code: int, reading: Reading, width: int) -> int:
    return code - (1 << width) if code > reading[1] else code


def fits(number: int, reading: Reading) -> bool:
    return reading[0] <= number <= reading[1]


def codes_of(pairs: list[int], width: int) -> hu.Value:
    return hu.Value.from_bits(np.array(pairs, np.uint8), f"tensor<{len(pairs)}xi{width}>")


@pytest.mark.parametrize("name", sorted(EXACT))
def test_every_pair_of_operands(name: str) -> None:
    """A conversion knows an integer where the exact one fits its type, of operands that are read as it reads. The op
    says where it left the range of signed integers.
    """
    exact = EXACT[name]
    shift, power = name == "arith.shli", name == "math.ipowi"
    pairs = [(a, b) for a in CODES for b in CODES if not (shift and b >= WIDTH) and not (power and b > 7)]
    vector = f"{'vector' if name.startswith('llvm') else 'tensor'}<{len(pairs)}xi{WIDTH}>"
    floats = vector.replace(f"xi{WIDTH}", "xf32")
    text = f"""func.func @f(%a: {vector}, %b: {vector}) -> ({floats}, {floats}) {{
      %0 = {name} %a, %b : {vector}
      %1 = arith.sitofp %0 : {vector} to {floats}
      %2 = arith.uitofp %0 : {vector} to {floats}
      return %1, %2 : {floats}, {floats} }}"""
    given = [hu.Value.from_bits(np.array(each, np.uint8), vector) for each in zip(*pairs, strict=True)]
    results, shadows = run_with_shadows(text, *given)
    both = readings(WIDTH)
    for result, by in zip(results, both, strict=True):
        shadow = shadow_of(result)
        assert shadow is not None
        for k, (a, b) in enumerate(pairs):
            known = fits(exact(read(a, by, WIDTH), b if shift or power else read(b, by, WIDTH)), by)
            assert np.isfinite(shadow.radius[k]) == known, (name, a, b, by)
    left = sum(
        not fits(exact(read(a, both[0], WIDTH), b if shift or power else read(b, both[0], WIDTH)), both[0])
        for a, b in pairs
    )
    found = {op.name: figures.wrapped for (op, _), figures in shadows.figures.items()}
    assert left
    assert found[name] == left
    # Where it left the range of unsigned integers alone, it is the op that reads them which says so.
    assert found["arith.sitofp"] == 0
    assert found["arith.uitofp"] == sum(
        not fits(exact(a, b), both[1])
        and fits(exact(read(a, both[0], WIDTH), b if shift or power else read(b, both[0], WIDTH)), both[0])
        for a, b in pairs
    )


@pytest.mark.parametrize("cast", ["trunci {} : i8 to i4", "index_cast", "index_castui"])
def test_every_narrowed_integer(cast: str) -> None:
    codes = list(range(256))
    tensor = "tensor<256x{}>".format
    cut = (
        f"%0 = arith.trunci %a : {tensor('i8')} to {tensor('i4')}"
        if cast.startswith("trunci")
        else f"%x = arith.{cast} %a : {tensor('i8')} to {tensor('index')} %0 = arith.{cast} %x : {tensor('index')} to {tensor('i4')}"
    )
    text = f"""func.func @f(%a: {tensor("i8")}) -> {tensor("f32")} {{
      {cut}
      %1 = arith.sitofp %0 : {tensor("i4")} to {tensor("f32")}
      return %1 : {tensor("f32")} }}"""
    (result,), shadows = run_with_shadows(text, codes_of(codes, 8))
    shadow = shadow_of(result)
    assert shadow is not None
    for code in codes:
        # The index that castui makes is that of an unsigned integer, in both readings.
        known = fits(code if cast == "index_castui" else read(code, readings(8)[0], 8), readings(4)[0])
        assert np.isfinite(shadow.radius[code]) == known, code
    assert sum(figures.wrapped for figures in shadows.figures.values()) == sum(
        not fits(code if cast == "index_castui" else read(code, readings(8)[0], 8), readings(4)[0]) for code in codes
    )


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    """A conversion knows an integer exactly if none before it left the range of its type, read as it reads."""
    draw = random.Random(seed)
    codes = [draw.randrange(256) if draw.random() < 0.5 else draw.choice([1, 2, 3, 254, 255]) for _ in range(3)]
    names, lines = ["%a", "%b", "%c"], []
    exact = [[read(code, each, 8) for code in codes] for each in readings(8)]
    inside = [[True] * 3, [True] * 3]
    for k in range(draw.randint(1, 5)):
        name, x, y = draw.choice(["arith.addi", "arith.subi", "arith.muli"]), *draw.choices(range(len(names)), k=2)
        lines.append(f"%{k} = {name} {names[x]}, {names[y]} : i8")
        names.append(f"%{k}")
        for numbers, fit, each in zip(exact, inside, readings(8), strict=True):
            numbers.append(EXACT[name](numbers[x], numbers[y]))
            fit.append(fit[x] and fit[y] and fits(numbers[-1], each))
    text = f"""func.func @f(%a: i8, %b: i8, %c: i8) -> (f32, f32) {{
      {" ".join(lines)}
      %s = arith.sitofp {names[-1]} : i8 to f32
      %u = arith.uitofp {names[-1]} : i8 to f32
      return %s, %u : f32, f32 }}"""
    results, _ = run_with_shadows(text, *(hu.Value.from_bits(np.array(code, np.uint8), "i8") for code in codes))
    for result, number in zip(results, range(2), strict=True):
        shadow = shadow_of(result)
        assert shadow is not None
        assert np.isfinite(shadow.radius) == inside[number][-1]
        assert not inside[number][-1] or exact[number][-1] == int(result.numpy())


def test_a_wrapped_index_loads_what_is_unknown() -> None:
    text = """func.func @f(%m: memref<4xf32>, %i: index) -> (f32, f32) {
      %big = arith.constant 9223372036854775807 : index
      %three = arith.constant 3 : index
      %0 = arith.addi %i, %big : index
      %1 = arith.andi %0, %three : index
      %2 = memref.load %m[%1] : memref<4xf32>
      %3 = memref.load %m[%i] : memref<4xf32>
      return %2, %3 : f32, f32 }"""
    results, shadows = run_with_shadows(
        text, hu.Buffer.from_numpy(np.ones(4, np.float32)), hu.Value.from_bits(np.array(1, np.uint64), "index")
    )
    radii = [shadow.radius for shadow in map(shadow_of, results) if shadow is not None]
    assert (radii[0], radii[1]) == (np.inf, 0)
    assert {op.name: figures.wrapped for (op, _), figures in shadows.figures.items()}["arith.addi"] == 1


@pytest.mark.parametrize("form", [True, "f64"])
@pytest.mark.parametrize("hashes", [True, False])
def test_bits_of_integers_that_wrapped_are_those_of_a_number(hashes: bool, form: bool | str) -> None:
    """As generators of random numbers make them. Bits computed from those of an inexact float stay unknown."""
    text = """func.func @f(%a: i32, %x: f32) -> f32 {
      %big = arith.constant -1640531527 : i32
      %nine = arith.constant 9 : i32
      %one = arith.constant 1065353216 : i32
      %half = arith.mulf %x, %x : f32
      %b = arith.bitcast %half : f32 to i32
      %0 = arith.muli SOURCE, %big : i32
      %1 = arith.shrui %0, %nine : i32
      %2 = arith.ori %1, %one : i32
      %3 = arith.bitcast %2 : i32 to f32
      %4 = arith.mulf %3, %3 : f32
      return %4 : f32 }""".replace("SOURCE", "%a" if hashes else "%b")
    trace = hu.trace(text, np.int32(123456789), np.float32(0.1), shadow=form)
    assert trace.errors is not None
    (found,) = trace.errors.results
    assert found.unknown == (not hashes)
    if hashes:
        number = np.array(((123456789 * -1640531527) % 2**32) >> 9 | 1065353216, np.uint32).view(np.float32)
        exact = Fraction(float(number)) ** 2
        (result,) = hu.run(text, np.int32(123456789), np.float32(0.1))
        assert found.ulp == pytest.approx(float((Fraction(result.item()) - exact) * 2**22))
        assert form is not True or [step.op for step in trace.explain_error()] == ["arith.mulf"]


LOOP = """func.func @f(%n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %ten = arith.constant 10 : i32
  %m = memref.alloc() : memref<1xi32>
  memref.store %one, %m[%c0] : memref<1xi32>
  scf.for %i = %c0 to %n step %c1 {
    %p = memref.load %m[%c0] : memref<1xi32>
    %q = arith.muli %p, %ten : i32
    memref.store %q, %m[%c0] : memref<1xi32>
  }
  %r = memref.load %m[%c0] : memref<1xi32>
  %f = arith.sitofp %r : i32 to f32
  return %f : f32
}"""


@pytest.mark.parametrize("form", [True, "f64", "f128"])
def test_what_a_trace_says(form: bool | str) -> None:
    """10^9 fits an i32, 10^12 does not: the tenth product wraps, and all that follow."""
    fine = hu.trace(LOOP, 9, shadow=form)
    assert fine.errors is not None
    assert (fine.errors.results[0].ulp, fine.errors.results[0].unknown) == (0, 0)
    assert "overflow" not in str(fine)
    trace = hu.trace(LOOP, 12, shadow=form)
    assert trace.errors is not None
    assert trace.errors.results[0].unknown == 1
    assert "line 10: %q = arith.muli %p, %ten : i32: 3 elements wrapped around: integer overflow" in str(trace)
    said = [step.number for step in trace.steps if step.errors is not None and step.errors.wrapped]
    assert len(said) == 3
    assert "wrapped around: integer overflow" in trace.html()
    (op,) = [one for one in trace.worst(5) if one.op == "arith.muli"]
    assert (op.wrapped, op.line, np.isnan(op.own_ulp)) == (3, 10, True)
    records = json.loads(json.dumps(trace.errors.as_json()))["ops"]
    assert [one["wrapped"] for one in records if one["op"] == "arith.muli"] == [3]


def test_the_history_of_a_number_knows_it_too() -> None:
    """A sum that an integer which wrapped is a term of: its error cannot be found by its history either."""
    text = """func.func @f(%a: i32, %x: f32) -> (f32, f32) {
      %four = arith.constant 4 : i32
      %0 = arith.muli %a, %four : i32
      %1 = arith.addi %0, %a : i32
      %2 = arith.sitofp %1 : i32 to f32
      %3 = arith.addf %x, %2 : f32
      %4 = arith.addf %x, %x : f32
      return %3, %4 : f32, f32 }"""
    trace = hu.trace(text, np.int32(2**30), np.float32(0.1), shadow=True)
    assert trace.errors is not None
    assert [each.unknown for each in trace.errors.results] == [1, 0]
    with pytest.raises(hu.Unsupported, match="the exact number of result.0. is not known"):
        trace.explain_error(0)


def test_truth_values_do_not_overflow() -> None:
    text = "func.func @f(%a: i1) -> i1 { %0 = arith.addi %a, %a : i1 %1 = arith.muli %a, %a : i1 %2 = arith.xori %0, %1 : i1 return %2 : i1 }"
    _, shadows = run_with_shadows(text, hu.Value.from_bits(np.array(1, np.uint8), "i1"))
    assert not shadows.figures


# --- unspecified scalars ----------------------------------------------------------------------------------------------
#
# Runs that keep unspecified results: scalar by scalar they give the masks that runs in lanes give.


@pytest.mark.long
@each_row(
    *(
        f"arith.{name} %a, %b{flags}"
        for name in ("addf", "divf", "maxnumf", "maximumf")
        for flags in ("", " fastmath<nsz>", " fastmath<nnan>", " fastmath<reassoc>")
    )
)
def test_floats(op: str) -> None:
    element = "f4E2M1FN" if "maximumf" in op else "f8E5M2"
    text = (
        f"func.func @f(%a: {element}, %b: {element}) -> {element} {{ %0 = {op} : {element}\n return %0 : {element} }}"
    )
    module = hu.parse(text)
    type_ = ty.F(element)
    codes = np.array([0, 1, 0x3C, 0x40, 0x7B, 0x7C, 0x7D, 0x7F, 0x80, 0x81, 0xBC, 0xFC, 0xFF], np.uint8)
    codes = codes if element == "f8E5M2" else np.arange(16, dtype=np.uint8)
    left, right = (grid.reshape(-1) for grid in np.meshgrid(codes, codes))
    program = program_for(module, Settings(track_open=True))
    (lanes,) = run_batch(program, module.body[0], (Value(type_, left), Value(type_, right)), len(left))
    expected = [(lanes.bits[k], lanes.open is not None and lanes.open[k], lanes.poisoned[k]) for k in range(len(left))]
    found = []
    for pair in zip(left, right, strict=True):
        (value,) = program.run(module.body[0], [Value(type_, np.array(code)) for code in pair])
        found.append((value.bits, value.open is not None and value.open, value.poisoned))
    assert found == expected
    assert any(open_ for _, open_, _ in expected) is (element == "f8E5M2" or "nsz" in op or "reassoc" in op)


def test_integers_are_never_unspecified() -> None:
    module = hu.parse("func.func @f(%a: i8) -> i8 { %0 = arith.addi %a, %a : i8\n return %0 : i8 }")
    (value,) = program_for(module, Settings(track_open=True)).run(
        module.body[0], [Value(ty.IntegerType(8), np.array(200, np.uint8))]
    )
    assert (int(value.bits), value.open) == (144, None)


def test_an_unspecified_value_makes_what_follows_unspecified() -> None:
    text = """\
func.func @f(%a: f8E5M2, %b: f8E5M2) -> i1 {
  %0 = arith.addf %a, %b : f8E5M2
  %1 = arith.bitcast %0 : f8E5M2 to i8
  %c = arith.constant 0 : i8
  %2 = arith.cmpi slt, %1, %c : i8
  return %2 : i1
}
"""
    module = hu.parse(text)
    nan = Value(ty.F("f8E5M2"), np.array(0x7F, np.uint8))
    (value,) = program_for(module, Settings(track_open=True)).run(module.body[0], [nan, nan])
    assert value.open is not None
    assert value.open.any()


# --- meanings ---------------------------------------------------------------------------------------------------------
#
# Which ops have a meaning on real numbers: all ops on elements whose results are floats, except complex numbers.

QUANTIZED = "!quant.uniform<i8:f32, 0.5:3>"
OPERANDS = ("f32", "i32", "f8E8M0FNU", QUANTIZED)
RESULTS = (None, "f16", "bf16", "f64", QUANTIZED)


def cases(name: str) -> Iterator[OpCase]:
    """Yield the cases of an op, those that it accepts."""
    for count in (1, 2, 3):
        for types, to in product(product(OPERANDS, repeat=count), RESULTS):
            try:
                yield op_case(name, list(types), to)
            except (HalfulpError, ValueError):
                continue


def names() -> list[str]:
    """Return the ops of arith, math and quant that work on elements."""
    registry = default_registry()
    found = [name for dialect in ("arith", "math", "quant") for name in registry.dialects[dialect].ops]
    return [name for name in found if isinstance(registry.require(name).evaluate, Elementwise)]


@pytest.mark.long
@pytest.mark.parametrize("name", names())
def test_every_float_has_a_meaning(name: str) -> None:
    for case in cases(name):
        evaluator = case.definition.evaluate
        assert isinstance(evaluator, Elementwise)
        kernel = evaluator.build(case.operation((1,)), Settings(SPEC))
        for number, type_ in enumerate(case.result_types):
            if isinstance(type_, ty.IntegerType | ty.IndexType):
                continue
            meaning = kernel.meaning(number)
            assert isinstance(meaning, Computes | Reinterprets), str(case)
            if isinstance(meaning, Computes):
                assert meaning.rule in BALLS, str(case)
                assert meaning.rule in RULES or meaning.rule in STEPS, str(case)
