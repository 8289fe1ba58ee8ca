"""The functions of MLIR's APFloat run-time library: what they return, beside the library itself."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from amounts import amounts

import halfulp as hu
from halfulp.conformance.oracles.apfloat import LLVM_FOLDER, WRAPPERS
from halfulp.interp.dialects.func.apfloat import FUNCTIONS, SEMANTICS
from halfulp.interp.ir import types as ty
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings

FORMATS = [name for name in SEMANTICS if ty.width_of(ty.F(name)) <= 64]
MOST = 16
"""Most bits of all operands of which all combinations are compared."""
NATIVE = {1: ctypes.c_bool, 8: ctypes.c_uint8, 32: ctypes.c_int32, 64: ctypes.c_uint64}
F8, F16, F32 = SEMANTICS["f8E4M3FN"], SEMANTICS["f16"], SEMANTICS["f32"]


def returned(name: str, selectors: Sequence[int], *columns: Any) -> list[int]:
    """Return what a function returns for columns of codes, as a program calls it."""
    function = FUNCTIONS[name]
    constants = [
        f"arith.constant {value} : {type_}" for value, type_ in zip(selectors, function.selectors, strict=True)
    ]
    constants = [text.replace("0 : i1", "false").replace("1 : i1", "true") for text in constants]
    types = ", ".join([*map(str, function.selectors), *["i64"] * function.arity])
    names = [*(f"%s{k}" for k in range(len(constants))), *(f"%a{k}" for k in range(function.arity))]
    program = f"func.func private @{name}({types}) -> {function.result}\n"
    program += (
        f"func.func @f({', '.join(f'{each}: i64' for each in names[len(constants) :])}) -> {function.result} {{\n"
    )
    program += "".join(f"  {each} = {text}\n" for each, text in zip(names, constants, strict=False))
    program += f"  %r = call @{name}({', '.join(names)}) : ({types}) -> {function.result}\n"
    program += f"  return %r : {function.result}\n}}\n"
    (result,) = hu.run(program, *(np.array(column, np.uint64) for column in columns), function="f", batch=True)
    assert result.poison is None
    return [int(code) for code in result.bits]


@pytest.mark.parametrize(
    ("name", "selectors", "codes", "result"),
    [
        ("add", (F8,), (0x38, 0x38), 0x40),  # 1 + 1
        ("convert", (F32, F8), (0x43E80001,), 0x7F),  # above 464: a NaN
        ("convert_to_int", (F32, 8, 0), (0x40600000,), 4),  # 3.5: to nearest even
        ("convert_to_int", (F32, 8, 0), (0xC3960000,), 0x80),  # -300: the smallest integer
        ("convert_to_int", (F32, 8, 1), (0xBF800000,), 0),
        ("convert_from_int", (F8, 8, 0), (0xFFFFFFFFFFFFFFFE,), 0xC0),  # -2
        ("remainder", (F32,), (0x40E00000, 0x40800000), 0xBF800000),  # 7 and 4: -1, as IEEE 754 has it
        ("compare", (F16,), (0x3C00, 0x4000), 0),
        ("compare", (F16,), (0x0000, 0x8000), 1),
        ("compare", (F16,), (0x4000, 0x3C00), 2),
        ("compare", (F16,), (0x7E00, 0x3C00), 3),
        ("isnormal", (F16,), (0x0001,), 0),
        ("fused_multiply_add", (F16,), (0x3C01, 0x3BFE, 0xBC00), 0x8010),
    ],
)
def test_results(name: str, selectors: tuple[int, ...], codes: tuple[int, ...], result: int) -> None:
    """By hand, from what the library is known to do."""
    assert returned(f"_mlir_apfloat_{name}", selectors, *[[code] for code in codes]) == [result]


def cases(formats: Sequence[str]) -> Iterator[tuple[str, tuple[int, ...], list[list[int]]]]:
    """Yield the functions with formats, widths and signs, and all operands of the small formats, or many of others."""
    rng = random.Random(7)
    for name, function in FUNCTIONS.items():
        for each in formats:
            number, width = SEMANTICS[each], ty.width_of(ty.F(each))
            choices: list[tuple[int, ...]] = [(number,)]
            if name.endswith("_convert"):
                others = (other for other in FORMATS if other == each or ty.width_of(ty.F(other)) != width)
                choices = [(number, SEMANTICS[other]) for other in others]
            elif len(function.selectors) == 3:
                choices = [(number, integer, sign) for integer in (1, 4, 8, 16, 32, 64) for sign in (0, 1)]
            for selectors in choices:
                if name.endswith("from_int"):
                    bits = selectors[1]
                    values = [rng.getrandbits(bits) for _ in range(300)]
                    if not selectors[2]:
                        values = [(value - (value >> (bits - 1) << bits)) & ((1 << 64) - 1) for value in values]
                    yield name, selectors, [values]
                elif width * function.arity <= MOST:
                    every = np.meshgrid(*[np.arange(1 << width)] * function.arity, indexing="ij")
                    yield name, selectors, [column.reshape(-1).tolist() for column in every]
                else:
                    yield (
                        name,
                        selectors,
                        [[rng.getrandbits(width) for _ in range(2000)] for _ in range(function.arity)],
                    )


@pytest.mark.mlir
@pytest.mark.parametrize("formats", amounts(["f4E2M1FN", "f6E2M3FN", "f16"], FORMATS), ids=len)
def test_the_library_returns_the_same(formats: list[str]) -> None:
    library = ctypes.CDLL(f"{LLVM_FOLDER}/{WRAPPERS}")
    compared = 0
    for name, selectors, columns in cases(formats):
        function, native = FUNCTIONS[name], getattr(library, name)
        native.restype = NATIVE[ty.width_of(function.result)]
        native.argtypes = [NATIVE[ty.width_of(type_)] for type_ in function.selectors] + [
            ctypes.c_uint64
        ] * function.arity
        expected = [int(native(*selectors, *row)) for row in zip(*columns, strict=True)]
        found = returned(name, selectors, *columns)
        wrong = [row for row in zip(*columns, expected, found, strict=True) if row[-1] != row[-2]]
        assert not wrong, (name, selectors, len(wrong), [list(map(hex, row)) for row in wrong[:3]])
        compared += len(expected)
    assert compared > 50_000


def called(types: str, operands: str, name: str, result: str = "i64") -> str:
    return (
        f"func.func private @{name}({types}) -> {result}\nfunc.func @f(%n: i32, %a: i64) -> {result} {{\n"
        f"  %r = call @{name}({operands}) : ({types}) -> {result}\n  return %r : {result}\n}}"
    )


def test_numbers_of_no_format_and_wide_formats() -> None:
    negate = called("i32, i64", "%n, %a", "_mlir_apfloat_neg")
    with pytest.raises(hu.UndefinedBehavior, match="APFloat has no format of number 77"):
        hu.run(negate, 77, 1)
    with pytest.raises(hu.Unsupported, match=r"<string>:3:8: error: .* at most 64 bits, not those of f80"):
        hu.run(negate, SEMANTICS["f80"], 1)
    poison = negate.replace("  %r", "  %p = ub.poison : i32\n  %r").replace("(%n, %a)", "(%p, %a)")
    with pytest.raises(hu.UndefinedBehavior, match="the number of a format, a width or a sign is poison"):
        hu.run(poison, 1, 1)


def test_a_declaration_of_another_type_is_not_the_function() -> None:
    with pytest.raises(hu.Unsupported, match="is a declaration without a body"):
        hu.run(called("i32, i64", "%n, %a", "_mlir_apfloat_add"), 10, 1)


def test_poison_operands_give_poison() -> None:
    program = """func.func private @_mlir_apfloat_add(i32, i64, i64) -> i64
func.func @f(%a: i64, %b: i64) -> i64 {
  %n = arith.constant 2 : i32
  %p = arith.shli %a, %b : i64
  %r = call @_mlir_apfloat_add(%n, %p, %a) : (i32, i64, i64) -> i64
  return %r : i64
}"""
    (result,) = hu.run(program, 1, 64)
    assert result.poisoned.all()
    assert "arith.shli" in str(result.origin())


def test_printing() -> None:
    program = """func.func private @printApFloat(i32, i64)
func.func @f(%n: i32, %a: i64) {
  call @printApFloat(%n, %a) : (i32, i64) -> ()
  return
}"""
    module, parts = hu.parse(program), list[str]()
    function = module.lookup("f")
    assert function is not None
    ran = program_for(module, Settings(write=parts.append))
    for number, code in ((F8, 0x7F), (F8, 0xFF), (F32, 0xFF800000), (F8, 0x80), (F16, 0x3555)):
        ran.run(function, (hu.Value.from_bits(number, "i32"), hu.Value.from_bits(code, "i64")))
    assert parts == ["nan", "-nan", "-inf", "-0", "0.333252"]  # as the library prints them


@pytest.mark.parametrize("width", [0, 65, -1])
def test_integers_of_other_widths(width: int) -> None:
    """No pass gives them, and for a signed integer of 0 bits the library ends with a segmentation fault."""
    for name, unsigned in (("convert_to_int", 0), ("convert_to_int", 1), ("convert_from_int", 0)):
        program = called("i32, i32, i1, i64", "%n, %w, %u, %a", f"_mlir_apfloat_{name}")
        program = program.replace("%n: i32", "%n: i32, %w: i32, %u: i1")
        with pytest.raises(hu.Unsupported, match=r"<string>:3:8: error: .* integers of 1 to 64 bits, not of") as caught:
            hu.run(program, F32, width, unsigned, 1)
        assert caught.value.op == "func.call"


def test_a_comparison_of_unspecified_operands_is_unspecified() -> None:
    program = """func.func private @_mlir_apfloat_compare(i32, i64, i64) -> i8
func.func @f(%a: f32) -> i8 {
  %n = arith.constant 2 : i32
  %s = arith.addf %a, %a fastmath<nsz> : f32
  %i = arith.bitcast %s : f32 to i32
  %c = arith.extui %i : i32 to i64
  %r = call @_mlir_apfloat_compare(%n, %c, %c) : (i32, i64, i64) -> i8
  return %r : i8
}"""
    module = hu.parse(program)
    function = module.lookup("f")
    assert function is not None
    (result,) = program_for(module, Settings(track_open=True)).run(function, (hu.Value.from_bits(1 << 31, "f32"),))
    assert int(result.bits) == 1
    assert result.open is not None
    assert result.open.any()
