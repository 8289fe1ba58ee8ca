"""The math dialect: its ops, functions by their bare names, rounding modes, lanes, and mlir-opt's folders."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from tables import each_row

import halfulp as hu
from halfulp.conformance.comparing.inputs import every_input
from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.fp_formats.formats import FORMATS, codes_to_ints
from halfulp.fp_formats.reals.functions import FUNCTIONS as ROWS
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO as ROWS_OF_TWO
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.math.functions import ELEMENTARY, FUNCTIONS, row_of
from halfulp.interp.dialects.math.ops import math
from halfulp.interp.ir.types import width_of
from halfulp.interp.text.parser import parse_attribute
from halfulp.semantics.kernel import Fault
from halfulp.semantics.profile import PROFILES, SPEC, Profile

MODES = ("to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away")


def test_every_function_has_a_name() -> None:
    """Each row of the exact reals is an op of math, or a function without an op, and no name means two things."""
    rows = {row_of(declared) for declared in (*math.ops.values(), *ELEMENTARY.values())} - {None}
    assert rows == {*ROWS, *ROWS_OF_TWO}
    assert not {name.partition(".")[2] for name in math.ops} & FUNCTIONS.keys()
    for name, declared in ELEMENTARY.items():
        assert declared.name == name
        assert row_of(declared) == {"pown": "powf"}.get(name, name)


def test_a_bare_name_is_the_op() -> None:
    registry = default_registry()
    assert registry.require("exp") is registry.require("math.exp")
    assert op_case("exp", "bf16") == op_case("math.exp", "bf16")
    assert registry.find("exp") is registry.find("sigmoid") is None
    x = hu.convert([0.5, -3.0], "bf16")
    assert hu.eval("exp", x) == hu.eval("math.exp", x)


@each_row(
    ("sigmiod", "did you mean `sigmoid`?"),
    ("math.sigmoid", "`sigmoid`"),
    ("math.expp", "did you mean `math.exp` or"),
)
def test_a_wrong_name_is_answered(name: str, hint: str) -> None:
    with pytest.raises(hu.Unsupported) as wrong:
        hu.eval(name, 1.0, type="f32")
    assert hint in (wrong.value.hint or "")


def test_no_program_can_name_a_function_without_an_op() -> None:
    with pytest.raises(hu.errors.ParseError, match="custom op 'sigmoid' is unknown"):
        hu.load("func.func @f(%x: f32) -> f32 {\n  %0 = sigmoid %x : f32\n  return %0 : f32\n}")


def test_the_rounding_is_a_choice_of_the_evaluation() -> None:
    x = hu.convert(1.0, "bf16")  # e is 2.71828…, between 2.703125 and 2.71875
    found = {mode: hu.eval("math.exp", x, rounding=mode).item() for mode in MODES}
    assert found == {
        "to_nearest_even": 2.71875, "downward": 2.703125, "upward": 2.71875, "toward_zero": 2.703125,
        "to_nearest_away": 2.71875,
    }  # fmt: skip
    for op, operands in (("powf", 2), ("fma", 3), ("hypot", 2), ("sincos", 1)):
        hu.eval(op, *[x] * operands, rounding="up")
    with pytest.raises(hu.errors.VerifyError, match="has no property 'rounding'"):
        hu.eval("math.floor", x, rounding="up")
    # In a program the same words are an attribute that nothing reads, as in mlir-opt.
    text = "func.func @f(%x: bf16) -> bf16 {\n  %0 = math.exp %x {roundingmode = 1 : i32} : bf16\n  return %0 : bf16\n}"
    assert hu.run(text, x)[0].item() == 2.71875


def test_lanes_take_their_own_ways() -> None:
    text = """
        func.func @f(%x: f16, %n: i8) -> (f16, i8) {
          %nan = math.isnan %x : f16
          %y = scf.if %nan -> f16 {
            scf.yield %x : f16
          } else {
            %e = math.exp2 %x : f16
            scf.yield %e : f16
          }
          %p = math.ipowi %n, %n : i8
          return %y, %p : f16, i8
        }
    """
    x, n = hu.convert([1.0, np.nan, 0.5, -2.0], "f16"), np.array([3, -1, -3, 2], np.int8)
    together = hu.run(text, x, n, batch=True)
    for lane in range(4):
        alone = hu.run(text, x[lane], n[lane])
        assert [each[lane].bits.tolist() for each in together] == [each.bits.tolist() for each in alone]
    with pytest.raises(hu.UndefinedBehavior, match="0 to a negative power"):
        hu.eval("math.ipowi", np.int8(0), np.int8(-1))


# --- mlir-opt's folders -----------------------------------------------------------------------------------------------

FOLDED_EXACTLY = (
    "absf", "ceil", "floor", "round", "roundeven", "trunc", "sqrt", "isfinite", "isinf", "isnan", "isnormal",
)  # fmt: skip
BY_LIBM = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "log",
           "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh")  # fmt: skip


def folded(mlir_opt: Any, ops: Sequence[str], type_: str, codes: list[int]) -> dict[tuple[str, int], int]:
    """Return what mlir-opt folds each op to for each code; nothing where it does not fold."""
    digits = FORMATS[type_].bits // 4
    lines = [f"%c{k} = arith.constant 0x{code:0{digits}X} : {type_}" for k, code in enumerate(codes)]
    for op in ops:
        result = "i1" if op.startswith("is") else type_
        for k in range(len(codes)):
            lines.append(f"%{op}{k} = math.{op} %c{k} : {type_}")
            lines.append(f'"keep.use"(%{op}{k}) {{op = "{op}", n = {k} : i32}} : ({result}) -> ()')
    flags = ("--canonicalize", "--allow-unregistered-dialect", "--mlir-print-op-generic")
    text = mlir_opt("func.func @f() {\n" + "\n".join(lines) + "\nreturn\n}", *flags)
    constants = dict(re.findall(r'(%\S+) = "arith.constant"\(\) <\{value = (\S+)(?: : \S+)?\}>', text))
    found = {}
    for name, k, op in re.findall(r'"keep.use"\((%\S+)\) \{n = (\d+) : i32, op = "(\w+)"\}', text):
        value = constants.get(name)
        if value is not None:
            attribute: Any = parse_attribute(value if op.startswith("is") else f"{value} : {type_}")
            found[op, codes[int(k)]] = attribute.code
    return found


@pytest.mark.parametrize("type_", ["f32", "f64", "f16"])
def test_folders_agree(mlir_opt: Any, type_: str) -> None:
    """Exact functions fold to the same bits; those that call libm, for f32 and f64, to a neighbour at most."""
    fmt = FORMATS[type_]
    numbers = [0.0, 0.5, 1.0, 1.5, 2.5, 3.75, 100.3, 0.9]
    bits = hu.convert([*numbers, *(-number for number in numbers), np.inf, -np.inf], type_).bits.tolist()
    codes = [*bits, 1, fmt.min_normal_code]
    ops = (*FOLDED_EXACTLY, *(BY_LIBM if type_ != "f16" else ()))
    theirs = folded(mlir_opt, ops, type_, codes)
    for op in ops:
        ours = hu.eval(op, hu.Value.from_bits(np.array(codes, fmt.storage_dtype), type_)).bits.tolist()
        for code, expected in zip(codes, ours, strict=True):
            found = theirs.get((op, code), expected)
            if not (fmt.is_nan(found) and fmt.is_nan(expected)):
                assert abs(found - expected) <= (op in BY_LIBM), (op, hex(code), hex(found), hex(expected))
    assert len(theirs) > 10 * len(ops)


def test_a_power_of_a_fixed_vector_does_not_take_scalable_integers() -> None:
    text = "func.func @f(%x: {0}, %n: {1}) {{\n  %y = math.fpowi %x, %n : {0}, {1}\n  return\n}}"
    assert hu.load(text.format("vector<[2]xf32>", "vector<[2]xi8>"))
    with pytest.raises(hu.errors.VerifyError, match="same shape"):
        hu.load(text.format("vector<2xf32>", "vector<[2]xi8>"))


# --- math faces -------------------------------------------------------------------------------------------------------
#
# Every op and function of math on all operands of small types: both implementations of its kernel agree, and what it
# declares happens.

DECLARED = {**math.ops, **ELEMENTARY}
WITH_INTEGER = ("math.fpowi", "pown", "rootn")


def cases(name: str, formats: tuple[str, ...]) -> Iterator[OpCase]:
    """Yield the cases of an op: on floats of these formats, or on i4."""
    declared = DECLARED[name]
    if "signless" in declared.operands[0].constraint.description:
        yield op_case(name, "i4")
        return
    for fmt in formats if len(declared.operands) == 1 else formats[:1]:
        # Flags need a format with NaN and infinity.
        types = ["f8E5M2", "i2"] if name in WITH_INTEGER else fmt
        for flags in ({}, {"fastmath": "nnan,nsz"}, {"fastmath": "ninf"}, {"fastmath": "afn"}):
            yield op_case(name, types, **flags)


def check(asked: OpCase, profile: Profile) -> None:
    inputs = every_input(asked)
    kernel = asked.kernel(asked.shape(inputs), profile)
    outcome = kernel.array(*inputs)
    found = {fault.reason for fault, _ in outcome.faults}
    declared = {fault.reason for fault in kernel.faults}
    assert found == declared if profile is SPEC else found <= declared, asked
    open_ = None if kernel.open is None else kernel.open(inputs, outcome.results)
    assert open_ is None or not int(np.bitwise_or.reduce(open_)) & ~kernel.opens, asked
    bad = np.zeros(asked.shape(inputs), np.bool_)
    for _, mask in outcome.faults:
        bad |= mask
    columns = [codes_to_ints(codes, width) for codes, width in zip(inputs, asked.operand_widths, strict=True)]
    widths = [width_of(type_) for type_ in asked.result_types]
    results = [codes_to_ints(codes, width) for codes, width in zip(outcome.results, widths, strict=True)]
    for place, row in enumerate(zip(*columns, strict=True)):
        alone = kernel.scalar(*row)
        assert isinstance(alone, Fault) == bad[place], (asked, row)
        if not isinstance(alone, Fault):
            expected = tuple(result[place] for result in results)
            assert (alone if isinstance(alone, tuple) else (alone,)) == expected, (asked, row)


@pytest.mark.parametrize("name", thinned(DECLARED, 3))
def test_faces_agree(name: str) -> None:
    for asked in cases(name, ("f4E2M1FN",)):
        if len(asked.operands) < 3:
            check(asked, SPEC)


@pytest.mark.exhaustive
@pytest.mark.parametrize("profile", ["spec", "ml_dtypes", "iree-3.13", "mlir22-fold"])
@pytest.mark.parametrize("name", DECLARED)
def test_faces_agree_in_more_formats_and_profiles(name: str, profile: str) -> None:
    for asked in cases(name, ("f4E2M1FN", "f6E2M3FN", "f8E8M0FNU", "f8E4M3FN", "f8E5M2FNUZ")):
        check(asked, PROFILES[profile])
