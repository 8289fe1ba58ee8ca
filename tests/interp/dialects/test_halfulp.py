"""Formats of one's own in MLIR text and bytecode: !halfulp.float<…>."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from tables import each_row

import halfulp as hu
from halfulp.conformance.vectors.computation import ProgramComputation
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat, NanEncoding
from halfulp.fp_formats.paths import array_loop, llvm
from halfulp.fp_formats.policy import FloatPolicy, Rounding
from halfulp.interp.ir.types import FloatType
from halfulp.interp.values.spelling import spell_value
from halfulp.semantics.requantization import RULES, Target, requantized

OWN = FloatFormat("e3m2x", 3, 2, 3)
TEXT = '!halfulp.float<"e3m2x", exponent = 3, mantissa = 2, bias = 3>'
PROGRAM = f"""
func.func @main(%x: tensor<3x{TEXT}>, %y: vector<2x!halfulp.float<"binary8p3se">>, %m: memref<2x!halfulp.float<"f4E1M2">>)
    -> (tensor<3x{TEXT}>, vector<2xf32>, f8E5M3FNU) {{
  %c = arith.constant dense<1.5> : tensor<3x{TEXT}>
  %a = arith.addf %x, %c : tensor<3x{TEXT}>
  %s = arith.mulf %y, %y : vector<2x!halfulp.float<"binary8p3se">>
  %e = arith.extf %s : vector<2x!halfulp.float<"binary8p3se">> to vector<2xf32>
  %zero = arith.constant 0 : index
  %n = memref.load %m[%zero] : memref<2x!halfulp.float<"f4E1M2">>
  %k = arith.extf %n : !halfulp.float<"f4E1M2"> to f8E5M3FNU
  return %a, %e, %k : tensor<3x{TEXT}>, vector<2xf32>, f8E5M3FNU
}}
"""


@pytest.mark.parametrize("how", ["text", "generic", "bytecode"])
def test_programs_with_formats_of_ones_own(how: str) -> None:
    module = hu.load(PROGRAM)
    if how == "bytecode":
        module = hu.load(hu.write_bytecode(module))
    elif how == "generic":
        module = hu.load(hu.print_module(module, generic=True))
    assert hu.print_module(module) == hu.print_module(hu.load(hu.print_module(module)))
    x, y = hu.convert([1.0, 2.0, 0.1], OWN), hu.convert([3.0, 0.7], "binary8p3se")
    found = hu.run(module, x, y, hu.convert([0.75, 1.0], "f4E1M2"))
    assert found[0].type == x.type
    assert [spell_value(value) for value in found] == ["3xe3m2x=2.5 3.5 1.5", "2xf32=8 0.5", "f8E5M3FNU=0.75"]


@each_row(
    (FloatFormat("a", 5, 3, 15, signed=False, infinities=False, nan=NanEncoding.ALL_ONES), "unsigned, finite"),
    (FloatFormat("b", 4, 3, 8, nan=NanEncoding.NEGATIVE_ZERO), "nan = negative_zero"),
    (FloatFormat("c", 8, 0, 127, False, False, NanEncoding.ALL_ONES, zero=False), "no_zero"),
    (FloatFormat("d", 5, 0, 15, infinities=False, nan=NanEncoding.NONE, even_code=True), "even_code, nan = none"),
    (FloatFormat("e", 15, 63, 16000, explicit_integer_bit=True), "integer_bit"),
    (FloatFormat("f", 4, 3, -7), "bias = -7"),
    (FloatFormat('g "\\', 4, 3, 7), '"g \\22\\\\"'),
    (FloatFormat("binary8p3se", 5, 2, 16, nan=NanEncoding.NEGATIVE_ZERO), '<"binary8p3se">'),
)
def test_every_field_survives_the_text(fmt: FloatFormat, part: str) -> None:
    value = hu.Value.from_bits(np.array([0, 1, 2], np.uint8) if fmt.limbs == 1 else [0, 1, 2], FloatType(fmt))
    spelled = str(value.type)
    assert part in spelled
    assert hu.parse(f"func.func private @f({spelled})").body is not None
    assert hu.Value.from_bits(value.bits, spelled) == value


ERRORS = {
    '<"nope">': "no float format is named 'nope'; write its fields",
    '<"nope", exponent = 3>': "needs mantissa, bias",
    '<"nope", exponent = 3, exponent = 3>': "exponent is given twice",
    '<"nope", exponent = 3, digits = 3>': "expected one of exponent, mantissa, bias, nan, unsigned",
    '<"nope", exponent = 3, mantissa = 2, bias = 3, nan = two>': "expected one of ieee, all_ones",
    '<"nope", exponent = 1, mantissa = 2, bias = 3>': "IEEE NaNs and infinities need an exponent of 2 bits",
    '<"f16", exponent = 3, mantissa = 2, bias = 3>': "'f16' names another format",
    '<"binary8p9se">': "precision of 1 to 7, not 9",
    "<5>": "expected the name of a float format",
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors_say_what_to_write(text: str) -> None:
    with pytest.raises(hu.errors.ParseError, match=ERRORS[text]) as raised:
        hu.parse(f"func.func private @f(!halfulp.float{text})")
    assert raised.value.location is not None


def test_inputs_of_the_command_line(capfd: pytest.CaptureFixture[str]) -> None:
    from halfulp.command.main import main

    assert main(["eval", "arith.addf", "--input=2xbinary8p3se=1 2", "--input=2xbinary8p3se=1 0.25"]) == 0
    assert capfd.readouterr().out == "result[0]: 2xbinary8p3se=2 2\n"


# --- quantize blocks --------------------------------------------------------------------------------------------------
#
# halfulp.quantize_blocks: blocks that share a scale, in programs.

RNG = np.random.default_rng(3)


def _program(types: str, attributes: str, scale: bool = False) -> str:
    given, made = types.split(" to ")
    x, *rest = given.split(", ")
    results = made.split(", ")
    returned = ", ".join(f"%r#{number}" for number in range(len(results)))
    arguments = f"%x: {x}" + (", %t: f32" if rest else "")
    return f"""
    func.func @main({arguments}) -> ({made}) {{
      %r:{len(results)} = halfulp.quantize_blocks %x{" scaled %t" if rest else ""} {attributes} : {types}
      return {returned} : {made}
    }}"""


MX = _program("tensor<?x32xf32> to tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>", '{recipe = "mx"}')


@pytest.mark.parametrize("how", ["text", "generic", "bytecode"])
def test_a_block_by_hand(how: str) -> None:
    module = hu.load(MX)
    if how != "text":
        module = hu.load(hu.write_bytecode(module) if how == "bytecode" else hu.print_module(module, generic=True))
    assert 'halfulp.quantize_blocks %arg0 {recipe = "mx"} : tensor<?x32xf32> to' in hu.print_module(module)
    # OCP MX 1.0, 6.3: the scale is 2^(floor(log2(amax)) - 2); of amax 13 it is 2, of amax 0.7 it is 2^-3.
    x = np.zeros((2, 32), np.float32)
    x[0, :5] = 13, -1.25, 2.5, 0.2, -12
    x[1, :3] = 0.7, -0.03, 0.1
    elements, scales = hu.run(module, x)
    assert scales.tolist() == [[2.0], [0.125]]
    assert elements.tolist()[0][:5] == [6.0, -0.5, 1.0, 0.0, -6.0]  # 6.5 saturates, 1.25 is a tie
    assert elements.tolist()[1][:3] == [6.0, -0.0, 1.0]  # 5.6, -0.24, 0.8


RECIPES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ceil": ("tensor<4x64xf32> to tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>", '{recipe = "ceil"}', {}),
    "even": ("tensor<4x64xbf16> to tensor<4x64xf6E3M2FN>, tensor<4x2xf8E8M0FNU>", '{recipe = "even"}', {}),
    "rceil": (
        "vector<4x64xf32> to vector<4x64xf8E5M2>, vector<1x64xf8E8M0FNU>",
        'upward {recipe = "rceil", axis = 0 : i64, block = 4 : i64}',
        {"axis": 0, "block": 4, "rounding": "upward"},
    ),
    "floor": ("tensor<4x64xf64> to tensor<4x64xi8>, tensor<4x4xf8E8M0FNU>", '{recipe = "floor", block = 16 : i64}', {}),
    "nvfp4": ("tensor<4x64xf32> to tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>, f32", '{recipe = "nvfp4"}', {}),
    "nvfp4-te": ("tensor<4x64xf32> to tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>, f32", '{recipe = "nvfp4-te"}', {}),
    "one level": (
        "tensor<4x64xf16> to tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>",
        '{recipe = "nvfp4"}',
        {"tensor_scale": None},
    ),
    "given": (
        "tensor<4x64xf32>, f32 to tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>",
        '{recipe = "nvfp4"}',
        {"tensor_scale": 0.03},
    ),
}


@pytest.mark.parametrize("name", RECIPES)
def test_programs_and_lanes_give_what_the_function_gives(name: str) -> None:
    """The function is compared with torchao and others in tests/api/quantizing."""
    types, attributes, options = RECIPES[name]
    module = hu.load(_program(types, attributes))
    kind = types.split("x")[2].split(">")[0]
    batch = hu.convert(RNG.normal(size=(3, 4, 64)) * np.exp2(RNG.integers(-9, 9, (3, 4, 1))), kind)
    scale = (options["tensor_scale"],) if name == "given" else ()
    recipe = attributes.split('"')[1]
    options = {"block": 16, **options} if name == "floor" else options
    element = types.split(" to ")[1].split("x")[2].split(">")[0]
    together = hu.run(module, batch, *scale, batch=True)
    for lane in range(3):
        found = hu.run(module, batch[lane], *scale)
        expected = hu.quantize_blocks(batch[lane], element, recipe, **options)
        assert found[0].bits.tolist() == expected.elements.bits.tolist()
        assert found[1].bits.tolist() == expected.scales.bits.tolist()
        if len(found) > 2:
            assert expected.tensor_scale is not None
            assert found[2] == expected.tensor_scale
        assert all(np.array_equal(one.bits, many.bits[lane]) for one, many in zip(found, together, strict=True))


def test_poison_spoils_its_block() -> None:
    text = """
    func.func @main(%x: tensor<64xf32>) -> (tensor<64xf4E2M1FN>, tensor<2xf8E8M0FNU>) {
      %p = ub.poison : f32
      %c = arith.constant 40 : index
      %y = tensor.insert %p into %x[%c] : tensor<64xf32>
      %r:2 = halfulp.quantize_blocks %y {recipe = "mx"} : tensor<64xf32> to tensor<64xf4E2M1FN>, tensor<2xf8E8M0FNU>
      return %r#0, %r#1 : tensor<64xf4E2M1FN>, tensor<2xf8E8M0FNU>
    }"""
    elements, scales = hu.run(text, np.ones(64, np.float32))
    assert elements.poisoned.tolist() == [False] * 32 + [True] * 32
    assert scales.poisoned.tolist() == [False, True]


def test_vectors_have_whole_blocks_as_rows() -> None:
    text = _program("tensor<4xf16> to tensor<4xf4E2M1FN>, tensor<1xf8E8M0FNU>", '{recipe = "rceil", block = 4 : i64}')
    recipe = Recipe(ProgramComputation(text, "main"), "weighted", count=100)
    names = [column.name for column in recipe.columns]
    assert names[:9] == ["arg0_0", "arg0_1", "arg0_2", "arg0_3", *(f"result0_{k}" for k in range(4)), "result1_0"]
    (rows,) = list(recipe.chunks())
    for row in range(0, len(rows[0]), 7):
        x = hu.Value.from_bits(np.array([column[row] for column in rows[:4]]), "f16")
        expected = hu.quantize_blocks(x, "f4E2M1FN", "rceil", block=4)
        assert [int(column[row]) for column in rows[4:9]] == [*expected.elements.bits, *expected.scales.bits]


def test_random_blocks_fill_the_element_type() -> None:
    text = _program("tensor<32xf32> to tensor<32xf4E2M1FN>, tensor<1xf8E8M0FNU>", '{recipe = "mx"}')
    recipe = Recipe(ProgramComputation(text, "main"), "weighted", count=400)
    (rows,) = list(recipe.chunks())
    elements = np.stack(rows[32:64])
    assert np.unique(elements).size == 16
    assert (elements & 7 == 0).mean() < 0.5  # of elements that are drawn alone, nearly all become zero
    assert np.unique(rows[64]).size > 100
    parts = [column for chunk in recipe.chunks(size=64) for column in [chunk[40]]]
    assert np.array_equal(np.concatenate(parts), rows[40])


F4 = "tensor<4x32xf32> to tensor<4x32xf4E2M1FN>"
QUANTIZE_BLOCKS_ERRORS = {
    (f"{F4}, tensor<4x1xf8E8M0FNU>", '{recipe = "mxx"}'): r"recipe is 'mxx', but must be one of .*did you mean `mx`",
    (f"{F4}, tensor<4x1xf8E8M0FNU>", ""): "requires attribute 'recipe'",
    (f"{F4}, tensor<4x1xf8E8M0FNU>", '{recipe = "stochastic"}'): "the recipe stochastic needs random bits",
    (f"{F4}, tensor<4x2xf8E8M0FNU>", '{recipe = "mx"}'): "its shape must be 4x1",
    (f"{F4}, vector<4x1xf8E8M0FNU>", '{recipe = "mx"}'): "its shape must be 4x1",
    (f"{F4}, tensor<4x1xf8E4M3FN>", '{recipe = "mx"}'): "the recipe floor makes scales of f8E8M0FNU",
    (f"{F4}, tensor<4x1xf8E8M0FNU>", '{recipe = "mx", axis = 2 : i64}'): "axis is 2, but the input has 2 dimensions",
    (f"{F4}, tensor<4x1xf8E8M0FNU>", '{recipe = "mx", block = 5 : i64}'): "not a multiple of the block of 5",
    (f"{F4}, tensor<4x1xf8E8M0FNU>", '{recipe = "mx", block = 0 : i64}'): "block is 0",
    (f"{F4}, tensor<4x1xf8E8M0FNU>, f32", '{recipe = "mx"}'): "has no scale for the tensor",
    (f"{F4}, tensor<4x2xf8E4M3FN>", '{recipe = "nvfp4-te"}'): "needs a scale for the tensor",
    ("tensor<4x32xf32> to tensor<4x32xf16>, tensor<4x2xf8E4M3FN>", '{recipe = "nvfp4"}'): "does not take elements",
    ("tensor<4x32xf64> to tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>", '{recipe = "nvfp4"}'): "computes in f32",
    ("tensor<4x32xf128> to tensor<4x32xf4E2M1FN>, tensor<4x1xf8E8M0FNU>", '{recipe = "mx"}'): "up to 64 bits",
    ("tensor<4x32xf32>, f32 to tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>, f32", '{recipe = "nvfp4"}'): "not both",
    ("tensor<f32> to tensor<f4E2M1FN>, tensor<1xf8E8M0FNU>", '{recipe = "mx"}'): "ranked tensor or vector of floats",
}


@pytest.mark.parametrize("case", QUANTIZE_BLOCKS_ERRORS, ids=str)
def test_errors(case: tuple[str, str]) -> None:
    with pytest.raises(hu.errors.VerifyError, match=QUANTIZE_BLOCKS_ERRORS[case]):
        hu.load(_program(*case))


def test_sizes_and_scales_at_run_time() -> None:
    text = _program("tensor<?xf32> to tensor<?xf4E2M1FN>, tensor<?xf8E8M0FNU>", '{recipe = "mx"}')
    assert hu.run(text, np.ones(64, np.float32))[1].shape == (2,)
    with pytest.raises(hu.UndefinedBehavior, match="dimension 0 has 40 elements, which is not a multiple"):
        hu.run(text, np.ones(40, np.float32))
    types, attributes, _ = RECIPES["given"]
    with pytest.raises(hu.UndefinedBehavior, match=r"the scale for the tensor is -1\.0, but must be positive"):
        hu.run(_program(types, attributes), np.ones((4, 64), np.float32), -1.0)


RESULTS = {
    "tensor<4x32xf4E2M1FN>": "expected 2 or more results, but found 1",
    "tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>, f32, f32": "expected 2 to 3 results, but found 4",
}


@pytest.mark.parametrize("results", RESULTS)
def test_an_op_has_two_or_three_results(results: str) -> None:
    count = results.count(", ") + 1
    with pytest.raises(hu.errors.VerifyError, match=RESULTS[results]):
        hu.load(f"""func.func @main(%x: tensor<4x32xf32>) {{
          %r:{count} = "halfulp.quantize_blocks"(%x) <{{recipe = "nvfp4"}}> : (tensor<4x32xf32>) -> ({results})
          return
        }}""")


# --- requantize -------------------------------------------------------------------------------------------------------
#
# halfulp.requantize: integers to narrower integers in programs, by every way of running.

REQUANTIZE_RNG = np.random.default_rng(7)


def _requantize_program(rule: str, attributes: str = "", kind: str = "", x: str = "i32", to: str = "i8") -> str:
    def of(element: str, kind: str = kind) -> str:
        return f"{kind}{element}>" if kind else element

    return f"""
    func.func @main(%x: {of(x)}, %m: i32, %s: i8) -> {of(to)} {{
      %r = halfulp.requantize %x, %m, %s {{rule = "{rule}"{attributes}}} : {of(x)}, i32, i8 to {of(to)}
      return %r : {of(to)}
    }}"""


def _rounded(number: Fraction, away: bool) -> int:
    """Round to nearest, ties away from zero or upward."""
    if away and number < 0:
        return -_rounded(-number, away)
    return (number + Fraction(1, 2)).__floor__()


@pytest.mark.parametrize("how", ["text", "generic", "bytecode"])
def test_by_exact_arithmetic(how: str) -> None:
    # One rounding, ties upward (TOSA), then the zero point and the clamp to i8.
    attributes = ", input_zero_point = 3 : i64, output_zero_point = -5 : i64"
    module = hu.load(_requantize_program("tosa", attributes, "tensor<4x?x"))
    if how != "text":
        module = hu.load(hu.write_bytecode(module) if how == "bytecode" else hu.print_module(module, generic=True))
    assert "halfulp.requantize %arg0, %arg1, %arg2 {input_zero_point = 3 : i64" in hu.print_module(module)
    x = REQUANTIZE_RNG.integers(-(1 << 20), 1 << 20, (4, 9)).astype(np.int32)
    multiplier, shift = 1288490189, 44
    (found,) = hu.run(module, x, multiplier, shift)
    for number, code in zip(x.flat, found.bits.flat, strict=True):
        scaled = _rounded(Fraction((int(number) - 3) * multiplier, 1 << shift), away=False)
        assert np.uint8(code).view(np.int8) == max(-128, min(127, scaled - 5))


def test_two_roundings_of_gemmlowp() -> None:
    # SaturatingRoundingDoublingHighMul rounds ties upward, RoundingDivideByPOT ties away from zero.
    x = REQUANTIZE_RNG.integers(-(1 << 20), 1 << 20, 50).astype(np.int32)
    multiplier, shift = 1717986918, -12
    (found,) = hu.run(_requantize_program("gemmlowp", kind="vector<50x", to="i16"), x, multiplier, shift)
    for number, code in zip(x.tolist(), found.bits.view(np.int16).tolist(), strict=True):
        product = _rounded(Fraction(number * multiplier, 1 << 31), away=False)
        assert code == _rounded(Fraction(product, 1 << 12), away=True)


def test_unsigned_and_a_multiplier_for_each_element() -> None:
    text = """
    func.func @main(%x: tensor<3xi32>, %m: tensor<3xi32>, %s: tensor<3xi8>) -> tensor<3xi8> {
      %r = halfulp.requantize %x, %m, %s {rule = "tosa", output_zero_point = 128, unsigned}
        : tensor<3xi32>, tensor<3xi32>, tensor<3xi8> to tensor<3xi8>
      return %r : tensor<3xi8>
    }""".replace("128,", "128 : i64,")
    given = (
        np.array([100, -7, 5000], np.int32),
        np.array([1 << 30, 3 << 29, 1 << 30], np.int32),
        np.array([30, 31, 30], np.int8),
    )
    (found,) = hu.run(text, *given)
    assert found.bits.tolist() == [228, 128 - 5, 255]  # -7 * 3/4 = -5.25


CHANNELS = """
#whole = affine_map<(i, j) -> (i, j)>
#channel = affine_map<(i, j) -> (j)>
func.func @main(%x: tensor<50x3xi32>, %m: tensor<3xi32>, %s: tensor<3xi8>, %o: tensor<50x3xi8>) -> tensor<50x3xi8> {
  %r = linalg.generic {indexing_maps = [#whole, #channel, #channel, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m, %s : tensor<50x3xi32>, tensor<3xi32>, tensor<3xi8>) outs(%o : tensor<50x3xi8>) {
  ^bb0(%a: i32, %b: i32, %c: i8, %d: i8):
    %q = halfulp.requantize %a, %b, %c {rule = "cmsis-nn"} : i32, i32, i8 to i8
    linalg.yield %q : i8
  } -> tensor<50x3xi8>
  return %r : tensor<50x3xi8>
}
"""


def test_channels_in_the_body_of_a_structured_op() -> None:
    x = REQUANTIZE_RNG.integers(-(1 << 16), 1 << 16, (50, 3)).astype(np.int32)
    multipliers, shifts = zip(*[hu.quant.multiplier(scale) for scale in (0.0012, 0.0007, 0.002)], strict=True)
    (found,) = hu.run(
        CHANNELS, x, np.array(multipliers, np.int32), np.array(shifts, np.int8), np.zeros((50, 3), np.int8)
    )
    assert found == hu.quant.requantize(x, multipliers, shifts, "cmsis-nn", axis=1)


@pytest.mark.parametrize("rule", RULES)
def test_machine_code_gives_the_same(rule: str) -> None:
    lanes = 1 << 16
    row = RULES[rule]

    def drawn(least: int, most: int) -> Any:
        edges = np.array([each for each in (least, least + 1, -1, 0, 1, most - 1, most) if least <= each <= most])
        wide = REQUANTIZE_RNG.integers(least, most, lanes, endpoint=True) >> REQUANTIZE_RNG.integers(0, 30, lanes)
        return np.where(
            REQUANTIZE_RNG.random(lanes) < 0.1, REQUANTIZE_RNG.choice(edges, lanes), np.clip(wide, least, most)
        )

    width = 48 if rule == "tosa-16" else 32
    x, m, s = drawn(*row.inputs), drawn(*row.multipliers), drawn(*row.shifts)
    text = f"""
    func.func @main(%x: i48, %m: i32, %s: i8) -> i12 {{
      %t = arith.trunci %x : i48 to i{width}
      %r = halfulp.requantize %t, %m, %s {{rule = "{rule}", output_zero_point = 9 : i64}} : i{width}, i32, i8 to i12
      return %r : i12
    }}""".replace("arith.trunci %x : i48 to i48", "arith.addi %x, %x : i48")
    double = 2 if width == 48 else 1
    x = x // double
    codes = hu.Value.from_bits((x & (1 << 48) - 1).astype(np.uint64), "i48")
    (found,) = hu.run(text, codes, m.astype(np.int32), s.astype(np.int8), batch=True, on_ub="poison")
    expected, wrong = requantized(row, x * double, m, s, Target(12, output_zero_point=9))
    undefined = np.logical_or.reduce(wrong)
    assert np.array_equal(found.poisoned, undefined)
    assert 0 < undefined.sum() < lanes or rule == "cmsis-nn-single"
    assert np.array_equal(found.bits[~undefined], (expected[~undefined] & 0xFFF).astype(np.uint16))


@pytest.mark.parametrize("rule", ["gemmlowp", "cmsis-nn", "tosa"])
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_undefined_elements_amid_others(rule: str, backend: str) -> None:
    """In the second of three blocks of the loop of machine code, several kinds of faults; the rest is computed by it."""
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    block = array_loop.BLOCK
    numbers = np.random.default_rng(17)
    x = numbers.integers(-(1 << 24), 1 << 24, 3 * block, np.int32)
    shifts = (32, 50) if rule == "tosa" else (-20, -2)
    s = numbers.integers(*shifts, x.size).astype(np.int8)
    m = np.full(x.size, 1 << 30, np.int32)
    middle = block + 7
    s[middle], x[middle + 1], s[middle + 1] = 127, 1 << 30, np.int8(2 if rule == "tosa" else 5)
    m[middle + 2] = -5
    text = f"""func.func @main(%x: tensor<?xi32>, %m: tensor<?xi32>, %s: tensor<?xi8>) -> tensor<?xi8> {{
      %r = halfulp.requantize %x, %m, %s {{rule = "{rule}"}}
        : tensor<?xi32>, tensor<?xi32>, tensor<?xi8> to tensor<?xi8>
      return %r : tensor<?xi8>
    }}"""
    expected, wrong = requantized(RULES[rule], x.astype(np.int64), m.astype(np.int64), s.astype(np.int64), Target(8))
    undefined = np.logical_or.reduce(wrong)
    assert undefined[middle]
    assert undefined[block : 2 * block].sum() == undefined.sum() < 4
    before = llvm.backend()
    llvm.use(backend)
    try:
        (found,) = hu.run(text, x, m, s, on_ub="poison")
    finally:
        llvm.use(before)
    assert np.array_equal(found.poisoned, undefined)
    assert np.array_equal(found.bits[~undefined], (expected[~undefined] & 0xFF).astype(np.uint8))


REQUANTIZE_ERRORS = {
    '{rule = "gemmlop"} : i32, i32, i8 to i8': r"rule is 'gemmlop', but must be one of .*did you mean `gemmlowp`",
    '{rule = "tosa"} : i64, i32, i8 to i8': "takes integers of 1 to 48 bits, but the input has 'i64'",
    '{rule = "tosa"} : i32, i32, i8 to i33': "makes integers of 1 to 32 bits",
    '{rule = "tosa"} : tensor<3xi32>, tensor<2xi32>, i8 to tensor<3xi8>': "the same shape",
    '{rule = "tosa"} : i32, tensor<2xi32>, i8 to i8': "non-scalar",
    '{rule = "tosa"} : tensor<3xi32>, i32, i8 to tensor<4xi8>': "same shape",
    '{rule = "tosa", input_zero_point = 4294967296 : i64} : i32, i32, i8 to i8': "must be a number of i32",
    "{} : i32, i32, i8 to i8": "requires attribute 'rule'",
}


@pytest.mark.parametrize("rest", REQUANTIZE_ERRORS)
def test_errors_in_requantize(rest: str) -> None:
    given, result = rest.split(" : ")[-1].split(" to ")
    x, m, s = given.split(", ")
    with pytest.raises(hu.errors.VerifyError, match=REQUANTIZE_ERRORS[rest]):
        hu.load(f"""func.func @main(%x: {x}, %m: {m}, %s: {s}) -> {result} {{
          %r = halfulp.requantize %x, %m, %s {rest}
          return %r : {result}
        }}""")


def test_undefined_behaviour_names_the_element() -> None:
    module = hu.load(_requantize_program("tosa", kind="tensor<3x"))
    with pytest.raises(hu.UndefinedBehavior, match=r"shift must lie in 2\.\.62.*shift = 1") as raised:
        hu.run(module, np.array([1, 2, 3], np.int32), 1 << 30, 1)
    assert "element [0]" in str(raised.value)


# --- stochastic round -------------------------------------------------------------------------------------------------
#
# halfulp.stochastic_round: random bits that a program has as an operand.

STOCHASTIC_ROUND_PROGRAM = """
func.func @main(%x: tensor<?xf16>, %r: tensor<?xi3>, %y: f64, %s: i64) -> (tensor<?xf8E4M3FN>, f8E5M2) {
  %a = halfulp.stochastic_round %x, %r : tensor<?xf16>, tensor<?xi3> to tensor<?xf8E4M3FN>
  %b = halfulp.stochastic_round %y, %s : f64, i64 to f8E5M2
  return %a, %b : tensor<?xf8E4M3FN>, f8E5M2
}
"""


@pytest.mark.parametrize("how", ["text", "generic", "bytecode"])
@pytest.mark.parametrize("rule", ["less", "p3109_a", "p3109_b", "p3109_c"])
def test_every_number_with_every_bits(rule: str, how: str) -> None:
    module = hu.load(STOCHASTIC_ROUND_PROGRAM)
    if how != "text":
        module = hu.load(hu.write_bytecode(module) if how == "bytecode" else hu.print_module(module, generic=True))
    assert "halfulp.stochastic_round %arg0, %arg1 : tensor<?xf16>, tensor<?xi3> to" in hu.print_module(module)
    x = np.arange(0, 1 << 16, 97, dtype=np.uint16)
    codes, bits = np.repeat(x, 8), np.tile(np.arange(8, dtype=np.uint8), x.size)
    given = hu.Value.from_bits(codes, "f16"), hu.Value.from_bits(bits, "i3")
    found, one = hu.run(module, *given, 1.1, 5, profile=f"spec,stochastic={rule}")
    policy = FloatPolicy(stochastic=rule)
    f16, f8 = FORMATS["f16"], FORMATS["f8E4M3FN"]
    for index in range(0, codes.size, 7):
        random = (int(bits[index]), 3)
        expected = scalar.convert(f16, f8, int(codes[index]), Rounding.STOCHASTIC, policy, random)
        assert int(found.bits[index]) == expected.code
    # 1.1 is 2/5 of the way from 1 to 1.25: 5 of 2^64 is below it, and no rule but "less" rounds up for small bits.
    assert one.item() == (1.25 if rule == "less" else 1.0)


def test_bits_decide_exactly() -> None:
    # Halfway between two values of f16; 128 of the 256 numbers are less than 1/2 of 256.
    text = """
    func.func @main(%x: f32, %r: i8) -> f16 {
      %a = halfulp.stochastic_round %x, %r : f32, i8 to f16
      return %a : f16
    }"""
    (found,) = hu.run(text, np.float32(1 + 2**-11), np.arange(256, dtype=np.uint8), batch=True)
    assert found.bits.tolist() == [0x3C01] * 128 + [0x3C00] * 128


STOCHASTIC_ROUND_ERRORS = {
    "%x, %r : f32, i65 to f16": "takes 1 to 64 random bits for each element, but has 65",
    "%x, %r : f32, i0 to f16": "takes 1 to 64 random bits",
    "%x, %r : f32, vector<3xi8> to f16": "requires|non-scalar",
    "%x, %r : tensor<3xf32>, tensor<4xi8> to tensor<3xf16>": "same shape",
    "%x, %r : f32, f32 to f16": "signless-fixed-width-integer-like",
    "%x, %r : f32, index to f16": "signless-fixed-width-integer-like",
}


@pytest.mark.parametrize("types", STOCHASTIC_ROUND_ERRORS)
def test_errors_in_stochastic_round(types: str) -> None:
    given, result = types.split(" : ")[1].split(" to ")
    one, other = given.split(", ")
    with pytest.raises(hu.errors.VerifyError, match=STOCHASTIC_ROUND_ERRORS[types]):
        hu.load(f"""func.func @main(%x: {one}, %r: {other}) -> {result} {{
          %a = halfulp.stochastic_round {types}
          return %a : {result}
        }}""")


# --- reduce_precision -------------------------------------------------------------------------------------------------
#
# halfulp.reduce_precision: a number rounded as by a format with fewer bits, in its own format.


def _reduced(fmt: FloatFormat, code: int, exponent: int, mantissa: int) -> int:
    """Round by exact arithmetic, as StableHLO and the comments in XLA's lowering say: ties to even, results below the
    normal numbers are zeros, results above them infinities, NaNs stay.
    """
    number = scalar.value(fmt, code)
    sign = code & 1 << fmt.bits - 1
    if number is None or number == 0:
        return code
    size, power = abs(number), math.frexp(float(abs(number)))[1] - 1
    # Subnormal numbers of the format itself are multiples of its least one.
    step = Fraction(2) ** max(power - mantissa, 1 - fmt.bias - mantissa)
    rounded = round(size / step) * step
    reach = (1 << exponent - 1) - 1
    if exponent < fmt.exponent_bits and rounded < Fraction(2) ** (1 - reach):
        return sign
    assert fmt.infinity_code is not None
    if rounded >= Fraction(2) ** ((reach if exponent < fmt.exponent_bits else fmt.bias) + 1):
        return sign | fmt.infinity_code
    return sign | int(hu.convert(float(rounded), fmt).bits.item())


@pytest.mark.parametrize(("name", "exponent", "mantissa"), thinned([("f16", 4, 3), ("f16", 5, 2), ("f16", 2, 9), ("f16", 3, 10), ("bf16", 5, 7), ("bf16", 8, 3), ("bf16", 5, 2)], 3, rows=True))  # fmt: skip
def test_reduced_precision_by_exact_arithmetic(name: str, exponent: int, mantissa: int) -> None:
    fmt = hu.float_format(name)
    codes = np.arange(0, 1 << 16, 37).astype(np.uint16)
    program = """func.func @main(%x: {kind}) -> ({kind}, {kind}) {{
      %0 = halfulp.reduce_precision %x {{exponent_bits = {exponent} : i64, mantissa_bits = {mantissa} : i64}} : {kind}
      %1 = arith.negf %0 : {kind}
      return %0, %1 : {kind}, {kind}
    }}"""
    wanted = [_reduced(fmt, code, exponent, mantissa) for code in codes.tolist()]
    fields = {"exponent": exponent, "mantissa": mantissa}
    x = hu.Value.from_bits(codes, name)
    (found, negated) = hu.run(program.format(kind=f"tensor<{codes.size}x{name}>", **fields), x)
    assert found.bits.tolist() == wanted
    assert (negated.bits ^ 1 << 15).tolist() == wanted
    one = hu.load(program.format(kind=name, **fields))
    assert [hu.run(one, hu.Value.from_bits(code, name))[0].bits.item() for code in codes[::50]] == wanted[::50]
    assert hu.run(one, x, batch=True)[0].bits.tolist() == wanted


def test_reduced_precision_takes_a_format_with_infinities() -> None:
    program = "func.func @main(%x: {0}) {{ %0 = halfulp.reduce_precision %x {{exponent_bits = {1} : i64, mantissa_bits = 2 : i64}} : {0}  return }}"
    for type_, exponent, said in (("f8E4M3FN", 4, "with infinities and IEEE NaNs"), ("f80", 4, "up to 64 bits"), ("f32", 0, "at least 1")):  # fmt: skip
        with pytest.raises(hu.errors.VerifyError, match=said):
            hu.load(program.format(type_, exponent))


def test_reduced_precision_is_a_rounding_for_shadows() -> None:
    program = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = arith.mulf %x, %x : tensor<3xf32>
      %1 = halfulp.reduce_precision %0 {exponent_bits = 5 : i64, mantissa_bits = 10 : i64} : tensor<3xf32>
      return %1 : tensor<3xf32>
    }"""
    x = np.array([0.1, 2**-14.5, 1.0], np.float32)
    errors = hu.trace(program, x, shadow=True).errors
    assert errors is not None
    for k, computed in enumerate([0.010002136230468750, 0.0, 1.0]):
        wanted = float(Fraction(computed) - Fraction(float(x[k])) ** 2)
        assert errors.error_of(0, (k,)).error == pytest.approx(wanted, rel=1e-12)
