"""`iree_codegen.denormal_fp_math_f32` on a function: f32 flushes in its body, and nothing else changes anywhere."""

import subprocess
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from amounts import thinned

from halfulp.command.main import main
from halfulp.evaluating import eval as evaluate
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import FloatPolicy, Rounding
from halfulp.interp.ir.errors import VerifyError
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.value import Value
from halfulp.loading import load
from halfulp.running import run
from halfulp.semantics.profile import Profile
from halfulp.traces.trace import trace

F32 = FORMATS["f32"]
MINUS = 0x8000_0000
SIGNED, POSITIVE = '"preserve-sign"', '"positive-zero"'
ZEROS = {SIGNED: "signed", POSITIVE: "positive"}
# Zeros, the smallest and the largest subnormal, the smallest normal values, ones of which results underflow, specials.
CODES = [0, 1, 0x40_0000, 0x7F_FFFF, 0x80_0000, 0x80_0001, 0x100_0000, 0x3F00_0000, 0x3F80_0000, 0x7F7F_FFFF]
CODES = [code | sign for sign in (0, MINUS) for code in (*CODES, 0x7F80_0000)] + [0x7FC0_0000, 0xFF80_0001]
PAIRS = np.array(list(product(CODES, repeat=2)), np.uint32)


def attribute(mode: str) -> str:
    return f"iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<{mode}>"


def translation(mode: str) -> str:
    return (
        "translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline, "
        f"{{{attribute(mode)}}}>"
    )


def function(op: str, operands: str, result: str, attributes: str = "", name: str = "main") -> str:
    """Write a function of %a and %b around one op, which gives %r."""
    types = [f"%{each}: {type_}" for each, type_ in zip("ab", operands.split(), strict=False)]
    return f"""
func.func @{name}({", ".join(types)}) -> {result} attributes {{{attributes}}} {{
  %r = {op}
  return %r : {result}
}}"""


def scalar_of(code: int) -> Value:
    return Value.from_bits(np.array(code, np.uint32), "f32")


def codes_of(value: Any) -> list[int]:
    return [int(code) for code in np.atleast_1d(value.bits)]


def natural(codes: Any, type_: str) -> Any:
    """Return codes as the natural array of their type."""
    dtypes = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8}
    return np.ascontiguousarray(codes).view(dtypes[type_])


def policy_of(mode: str) -> FloatPolicy:
    return FloatPolicy(denormals="flush_both", denormal_zero=ZEROS[mode])


def check(op: str, type_: str, operands: list[Any], result: str, mode: str, expected: list[int]) -> None:
    """Run one op on a tensor, on a vector, on scalars in a batch and one by one; one list of operands per argument."""
    size, types = len(operands[0]), type_.split()
    operands = [natural(codes, each) for codes, each in zip(operands, types, strict=True)]
    for container in ("tensor", "vector"):
        shaped = {each: f"{container}<{size}x{each}>" for each in (*types, result)}
        spelled = op.format(*(shaped[each] for each in types), r=shaped[result])
        text = function(spelled, " ".join(shaped[each] for each in types), shaped[result], attribute(mode))
        assert codes_of(run(text, *operands)[0]) == expected
    scalar_text = load(function(op.format(*types, r=result), type_, result, attribute(mode)))
    assert codes_of(run(scalar_text, *operands, batch=True)[0]) == expected
    for index in range(0, size, 7):
        assert codes_of(run(scalar_text, *(values[index] for values in operands))[0]) == [expected[index]]


BINARY = {"addf": "add", "subf": "subtract", "mulf": "multiply", "divf": "divide", "remf": "remainder",
          "maximumf": "maximum", "minimumf": "minimum", "maxnumf": "maximum_number", "minnumf": "minimum_number"}  # fmt: skip


@pytest.mark.parametrize("mode", thinned(ZEROS, 4))
@pytest.mark.parametrize("name", BINARY)
def test_arithmetic(name: str, mode: str) -> None:
    operation, policy = getattr(scalar, BINARY[name]), policy_of(mode)
    more = (Rounding.TO_NEAREST_EVEN, policy) if name in ("addf", "subf", "mulf", "divf", "remf") else (policy,)
    expected = [operation(F32, a, b, *more).code for a, b in PAIRS.tolist()]
    assert expected != [operation(F32, a, b).code for a, b in PAIRS.tolist()]
    check(f"arith.{name} %a, %b : {{0}}", "f32 f32", [PAIRS[:, 0], PAIRS[:, 1]], "f32", mode, expected)


@pytest.mark.parametrize("mode", ZEROS)
def test_comparisons(mode: str) -> None:
    names = ["oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno"]
    policy = policy_of(mode)
    for number, name in enumerate(names, 1):
        expected = [int(scalar.compare(F32, number, a, b, policy)) for a, b in PAIRS.tolist()]
        text = function(
            f"arith.cmpf {name}, %a, %b : tensor<{len(PAIRS)}xf32>",
            f"tensor<{len(PAIRS)}xf32> tensor<{len(PAIRS)}xf32>",
            f"tensor<{len(PAIRS)}xi1>",
            attribute(mode),
        )
        assert codes_of(run(text, natural(PAIRS[:, 0], "f32"), natural(PAIRS[:, 1], "f32"))[0]) == expected


@pytest.mark.parametrize("mode", ZEROS)
def test_conversions(mode: str) -> None:
    """The f32 side alone: 2**-130 is a subnormal of f32 and of bf16, and normal in f64."""
    minus = MINUS if mode == SIGNED else 0
    codes = np.array([1 << 19, MINUS | 1 << 19, 0x80_0000, 0x3F80_0000, MINUS], np.uint32)
    of_f64 = [0, minus << 32, 0x3810 << 48, 0x3FF0 << 48, MINUS << 32]
    check("arith.extf %a : {0} to {r}", "f32", [codes], "f64", mode, of_f64)
    check("arith.truncf %a : {0} to {r}", "f32", [codes], "bf16", mode, [0, minus >> 16, 0x80, 0x3F80, 0x8000])
    wide = np.array([0x37D0 << 48, (MINUS << 32) | 0x37D0 << 48, 0x3810 << 48, MINUS << 32], np.uint64)
    check("arith.truncf %a : {0} to {r}", "f64", [wide], "f32", mode, [0, minus, 0x80_0000, MINUS])
    narrow = np.array([0x0008, 0x8008, 0x0080, 0x8000], np.uint16)
    check("arith.extf %a : {0} to {r}", "bf16", [narrow], "f32", mode, [0, minus, 0x80_0000, MINUS])
    # f16's own subnormals are results like any other: 2**-24 is normal in f32.
    check(
        "arith.extf %a : {0} to {r}", "f16", [np.array([1, 0x8001], np.uint16)], "f32", mode, [0x3380_0000, 0xB380_0000]
    )
    check("arith.truncf %a : {0} to {r}", "f32", [np.array([0x3380_0000], np.uint32)], "f16", mode, [1])
    check("arith.fptosi %a : {0} to {r}", "f32", [codes], "i8", mode, [0, 0, 0, 1, 0])
    check(
        "arith.sitofp %a : {0} to {r}", "i8", [np.array([1, 0xFF], np.uint8)], "f32", mode, [0x3F80_0000, 0xBF80_0000]
    )


def test_scaling() -> None:
    """Each step of the ops rounds, and flushes: the scale 2^-127 is a subnormal of f32, 2^-126 is none."""
    tiny, least = 0x00, 0x01
    for scale, element, result in ((tiny, 1.0, 0), (least, 1.0, 0x80_0000), (least, 0.5, 0)):
        types = "tensor<1xf8E4M3FN> tensor<1xf8E8M0FNU>"
        extf = "arith.scaling_extf %a, %b : tensor<1xf8E4M3FN>, tensor<1xf8E8M0FNU> to tensor<1xf32>"
        text = function(extf, types, "tensor<1xf32>", attribute(SIGNED))
        operand = np.array([element], ml_dtypes.float8_e4m3fn)
        assert codes_of(run(text, operand, np.array([scale], np.uint8).view(ml_dtypes.float8_e8m0fnu))[0]) == [result]
    # 2^-127 / 2^-126 is 0.5; flushed, 0.
    truncf = "arith.scaling_truncf %a, %b : tensor<2xf32>, tensor<2xf8E8M0FNU> to tensor<2xf8E4M3FN>"
    text = function(truncf, "tensor<2xf32> tensor<2xf8E8M0FNU>", "tensor<2xf8E4M3FN>", attribute(SIGNED))
    operand = natural(np.array([0x40_0000, 0x80_0000], np.uint32), "f32")
    scales = np.array([least, least], np.uint8).view(ml_dtypes.float8_e8m0fnu)
    assert codes_of(run(text, operand, scales)[0]) == [0, 0x38]
    assert codes_of(run(text.replace(attribute(SIGNED), ""), operand, scales)[0]) == [0x30, 0x38]


@pytest.mark.parametrize("mode", ZEROS)
def test_what_moves_bits_keeps_them(mode: str) -> None:
    codes = np.array([1, MINUS | 0x7F_FFFF, 0x80_0000], np.uint32)
    flipped = [code ^ MINUS for code in codes.tolist()]
    check("arith.negf %a : {0}", "f32", [codes], "f32", mode, flipped)
    check("arith.bitcast %a : {0} to {r}", "f32", [codes], "i32", mode, codes.tolist())
    check("arith.maximumf %a, %a : {0}", "f32", [codes], "f32", mode, [0, MINUS if mode == SIGNED else 0, 0x80_0000])
    text = f"""
func.func @main(%c: i1, %a: f32, %b: f32) -> (f32, f32, f32) attributes {{{attribute(mode)}}} {{
  %0 = arith.select %c, %a, %b : f32
  %1 = arith.constant 0x00000001 : f32
  %2 = call @same(%b) : (f32) -> f32
  return %0, %1, %2 : f32, f32, f32
}}
func.func private @same(%a: f32) -> f32 {{
  return %a : f32
}}"""
    given = scalar_of(3), scalar_of(MINUS | 2)
    assert [codes_of(value) for value in run(text, True, *given, function="main")] == [[3], [1], [MINUS | 2]]


def test_other_formats_are_not_touched() -> None:
    for name in ("f64", "bf16", "f16", "tf32", "f8E5M2", "f8E4M3FN", "f80", "f128"):
        fmt = FORMATS[name]
        for op in ("addf", "mulf", "maximumf"):
            tiny = Value.from_bits(
                np.array([[1, 0]] if fmt.limbs == 2 else [1], fmt.storage_dtype), f"tensor<1x{name}>"
            )
            plain = function(
                f"arith.{op} %a, %b : tensor<1x{name}>", f"tensor<1x{name}> tensor<1x{name}>", f"tensor<1x{name}>"
            )
            marked = plain.replace("attributes {}", f"attributes {{{attribute(SIGNED)}}}")
            assert run(plain, tiny, tiny)[0] == run(marked, tiny, tiny)[0]


QUANT = "!quant.uniform<i8:f32, {}>"


def test_quantisation() -> None:
    """dcast multiplies in f32, and qcast divides: 3 * 2**-149 is a subnormal; so is the operand 2**-149, which is 0."""
    scale = QUANT.format("1.1754943508222875e-38")
    dcast = f"""
func.func @main(%q: i8) -> f32 attributes {{ATTR}} {{
  %0 = quant.scast %q : i8 to {scale}
  %1 = quant.dcast %0 : {scale} to f32
  return %1 : f32
}}""".replace("ATTR", attribute(SIGNED))
    assert codes_of(run(dcast, np.int8(-3))[0]) == [MINUS | 0x0140_0000]
    halves = dcast.replace("1.1754943508222875e-38", "5.8774717541114375e-39")
    expected = scalar.multiply(
        F32, scalar.from_integer(F32, -3).code, 0x40_0000, Rounding.TO_NEAREST_EVEN, policy_of(SIGNED)
    )
    assert codes_of(run(halves, np.int8(-3))[0]) == [expected.code] == [MINUS]


MIXED = f"""
func.func @main(%a: f32, %b: f32, %n: i32) -> (f32, f32, f32) {{
  %0 = arith.mulf %a, %b : f32
  %1 = func.call @flushes(%a, %b, %n) : (f32, f32, i32) -> f32
  %2 = func.call @keeps(%a, %b) : (f32, f32) -> f32
  return %0, %1, %2 : f32, f32, f32
}}
func.func private @flushes(%a: f32, %b: f32, %n: i32) -> f32 attributes {{{attribute(SIGNED)}}} {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %done = arith.cmpi eq, %n, %zero : i32
  %r = scf.if %done -> f32 {{
    %0 = func.call @keeps(%a, %b) : (f32, f32) -> f32
    scf.yield %0 : f32
  }} else {{
    %m = arith.subi %n, %one : i32
    %0 = arith.mulf %a, %b : f32
    %1 = func.call @flushes(%0, %b, %m) : (f32, f32, i32) -> f32
    scf.yield %1 : f32
  }}
  return %r : f32
}}
func.func private @keeps(%a: f32, %b: f32) -> f32 {{
  %0 = arith.mulf %a, %b : f32
  return %0 : f32
}}
"""


@pytest.mark.parametrize("batch", [False, True])
def test_functions_that_call_each_other(batch: bool) -> None:
    """2**-126 * 0.5: kept where the function does not flush, however it is called, and in every order of runs."""
    module = load(MIXED)
    least, half = np.array([2.0**-126], np.float32), np.array([0.5], np.float32)

    def size(values: npt.NDArray[Any]) -> Any:
        return values if batch else values[0]

    for _ in range(2):
        for trips, flushed in ((0, 0x40_0000), (1, 0), (2, 0)):
            arguments = size(least), size(half), size(np.array([trips], np.int32))
            found = run(module, *arguments, function="main", batch=batch)
            assert [codes_of(value) for value in found] == [[0x40_0000], [flushed], [0x40_0000]]


def test_where_the_attribute_stands() -> None:
    """On the function or in its translation_info, which wins, as in iree-opt 3.13's reconciliation; in the text of both
    the document and IREE; `none` says nothing.
    """
    op = function("arith.mulf %a, %b : f32", "f32 f32", "f32", "ATTRIBUTES")
    tiny, one = scalar_of(MINUS | 1), 1.0
    for attributes, expected in (
        ("", MINUS | 1),
        (attribute(SIGNED), MINUS),
        (attribute("preserve-sign"), MINUS),
        (attribute(POSITIVE), 0),
        (attribute("none"), MINUS | 1),
        (translation(POSITIVE), 0),
        (f"{attribute(SIGNED)}, {translation(POSITIVE)}", 0),
        (f"{attribute(SIGNED)}, {translation('none')}", MINUS | 1),
        ('iree_codegen.denormal_fp_math_f64 = "unknown"', MINUS | 1),
    ):
        text = op.replace("ATTRIBUTES", attributes)
        assert codes_of(run(text, tiny, one)[0]) == [expected], attributes
        assert codes_of(run(print_module(load(text)), tiny, one)[0]) == [expected], attributes


def test_iree_takes_the_translation_info(iree_opt: str) -> None:
    """IREE's own pass keeps the attribute of the translation_info where a function has both."""
    info = "#iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1]"
    text = f"""
hal.executable private @executable {{
  hal.executable.variant public @variant target(<"rocm", "rocm-hsaco-fb", {{}}>) {{
    hal.executable.export public @f ordinal(0) layout(#hal.pipeline.layout<bindings = []>)
    builtin.module {{
      func.func @f() attributes {{{attribute(SIGNED)}, translation_info = {info}, {{{attribute(POSITIVE)}}}>}} {{
        return
      }}
    }}
  }}
}}"""
    nested = "builtin.module(iree-codegen-reconcile-translation-info)"
    passes = f"builtin.module(hal.executable(hal.executable.variant({nested})))"
    done = subprocess.run(
        [iree_opt, f"--pass-pipeline={passes}"], input=text, capture_output=True, text=True, check=True
    )
    (line,) = [line for line in done.stdout.splitlines() if "func.func @f" in line]
    assert attribute(POSITIVE) in line
    assert "preserve-sign" not in line


def test_profiles() -> None:
    """The attribute is a field of a profile, set for a function; what else the profile says stays."""
    text = function("arith.mulf %a, %b : f32", "f32 f32", "f32", attribute(POSITIVE))
    plain = function("arith.mulf %a, %b : f32", "f32 f32", "f32")
    tiny, one = scalar_of(MINUS | 1), 1.0
    assert codes_of(run(text, tiny, one, profile="iree-3.13")[0]) == [0]
    assert codes_of(run(plain, tiny, one, profile="iree-3.13")[0]) == [MINUS]
    same = Profile(denormals_f32="flush_both", denormal_zero_f32="positive")
    assert same.name == "spec,denormals_f32=flush_both,denormal_zero_f32=positive"
    assert codes_of(run(plain, tiny, one, profile=same)[0]) == [0]
    nan = scalar_of(0xFFC0_0001)
    assert codes_of(run(text, nan, one, profile="spec,nan_result=canonical")[0]) == [0x7FC0_0000]
    assert codes_of(evaluate("arith.mulf", tiny, one, type="f32", profile=same)) == [0]


def test_tile_operations_have_rules_of_their_own() -> None:
    """A matrix unit's flushing is part of its model."""
    text = f"""
#maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
func.func @main(%a: tensor<1x1x16x16xf16>, %b: tensor<1x1x16x16xf16>, %c: tensor<1x1x16x16xf32>)
    -> tensor<1x1x16x16xf32> attributes {{{attribute(SIGNED)}}} {{
  %r = iree_codegen.inner_tiled ins(%a, %b) outs(%c) {{
    indexing_maps = #maps, kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>,
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>
  }} : tensor<1x1x16x16xf16>, tensor<1x1x16x16xf16> into tensor<1x1x16x16xf32>
  return %r : tensor<1x1x16x16xf32>
}}"""
    zeros = np.zeros((1, 1, 16, 16), np.float16)
    tiny = natural(np.full((1, 1, 16, 16), 5, np.uint32), "f32")
    for mma, expected in (("exact", 5), ("ieee", 5), ("chip:cdna3", 5), ("chip:cdna2", 0)):
        assert set(run(text, zeros, zeros, tiny, mma=mma)[0].bits.flat) == {expected}


def test_traces_say_so(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    traced = trace(MIXED, 1.0, 1e-45, 1, function="main")
    assert traced.profiles == {"@flushes": "spec,denormals_f32=flush_both,denormal_zero_f32=signed"}
    said = "in @flushes: profile spec,denormals_f32=flush_both,denormal_zero_f32=signed, by its attributes"
    assert str(traced).splitlines()[:2] == ["@main (<string>), profile spec", said]
    assert "in @flushes spec,denormals_f32=flush_both" in traced.html()
    assert trace(MIXED.replace(attribute(SIGNED), ""), 1.0, 1e-45, 1, function="main").profiles == {}
    path = tmp_path / "mixed.mlir"
    path.write_text(MIXED)
    assert (
        main(["run", "--trace", str(path), "--function=main", "--input=f32=1", "--input=f32=1e-45", "--input=i32=1"])
        == 0
    )
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("value", ['"preserve-sign"', "3 : i32", "unit", "#iree_codegen.no_pipeline"])
def test_another_attribute(value: str) -> None:
    text = function("arith.negf %a : f32", "f32", "f32", f"iree_codegen.denormal_fp_math_f32 = {value}")
    with pytest.raises(VerifyError, match="must be an attribute of the kind #iree_codegen.denormal_fp_math<none | pre"):
        run(text, 1.0)
