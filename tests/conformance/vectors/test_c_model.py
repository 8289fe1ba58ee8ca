"""Models in C beside the evaluation of halfulp: every pair of 8 bits, hard rows of wider formats, all rounding modes."""

import contextlib
import subprocess
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted_devices import STRICT, compiled, outputs_of

import halfulp as hu
from halfulp.conformance.vectors.c_model import c_model
from halfulp.conformance.vectors.columns import Chunk, Role
from halfulp.conformance.vectors.computation import Computation, OpComputation
from halfulp.conformance.vectors.packing import LevelName
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.golden.recipes import RecipeKeywords, recipe_of
from halfulp.interp.dialects.arith.ops import CMPF_PREDICATE
from halfulp.semantics.fixed_point import OVERFLOWS, QUANTIZATIONS

pytestmark = pytest.mark.iverilog  # whose tests have a C compiler, and require it where tools are required

MODES = ("to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away")
ARITHMETIC = ("arith.addf", "arith.subf", "arith.mulf", "arith.divf")
PREDICATES = tuple(CMPF_PREDICATE.cases)


def rows_of(computation: Computation, count: int) -> Chunk:
    """Return all operands of up to 16 bits together; else hard ones: corners, those of the models, and a mixture."""
    assert isinstance(computation, OpComputation)
    bits = sum(column.width for column in computation.inputs)
    if bits <= 16:
        return Recipe(computation, "exhaustive").given(0, 1 << bits)
    levels: tuple[LevelName, ...] = ("1", "weighted")
    parts = [recipe_of(computation, RecipeKeywords(level=level, n=count // 2, seed=1)) for level in levels]
    if computation.case.op != "math.fma":
        with contextlib.suppress(hu.errors.InputError):  # no model applies
            parts.append(recipe_of(computation, RecipeKeywords(models="all", n=count // 2, seed=1)))
    chunks = [part.given(0, part.rows.count) for part in parts]
    return tuple(np.concatenate(columns) for columns in zip(*chunks, strict=True))


def compare(folder: Path, count: int, op: str, type: Any, **options: Any) -> int:
    """Compare a model with the evaluation, and return the number of rows."""
    recipe = hu.vectors(op, type, n=20, **options).recipe
    computation = recipe.computation
    model = c_model(recipe, "model")
    library = compiled(model, computation.inputs, computation.outputs, folder)
    inputs = rows_of(computation, count)
    expected = computation.compute(inputs)
    assert expected.undefined is None
    made = outputs_of(library, inputs, computation.outputs)
    poison = np.zeros(len(inputs[0]), np.bool_)
    for column, codes in zip(computation.outputs, expected.outputs, strict=True):
        if column.role is Role.POISON:
            poison |= codes != 0
    for column, codes, right in zip(computation.outputs, made, expected.outputs, strict=True):
        differs = (codes != right) & (~poison if column.role is Role.RESULT else np.True_)
        first = np.flatnonzero(differs)[:1]
        told = [[hex(int(x[k])) for x in (*inputs, codes, right)] for k in first]
        assert not first.size, (op, type, options, column.name, int(differs.sum()), told)
    return len(inputs[0])


SMALL: list[Any] = [
    ("arith.addf", "f8E4M3FN", {"rounding": "downward"}),
    ("arith.subf", "f8E5M2", {"rounding": "upward"}),
    ("arith.mulf", "f8E4M3FNUZ", {}),
    ("arith.divf", "f8E3M4", {"rounding": "toward_zero"}),
    ("arith.mulf", "f8E8M0FNU", {}),
    ("arith.divf", "f4E2M1FN", {}),
    ("arith.addf", "bf16", {"profile": "spec,denormals=flush_both,tininess=before"}),
    ("arith.mulf", "f8E5M2", {"profile": "spec,denormals=flush_both_delivered"}),
    ("arith.divf", "f16", {"profile": "spec,nan_result=negative"}),
    ("arith.mulf", "f64", {"rounding": "to_nearest_away"}),
    ("arith.subf", "f32", {"profile": "spec,nan_result=canonical"}),
    ("math.fma", "f6E3M2FN", {"rounding": "upward"}),
    ("math.fma", "f16", {}),
    ("math.fma", "f64", {"rounding": "downward"}),
    ("arith.truncf", "f32", {"to": "f8E4M3FN", "rounding": "to_nearest_away"}),
    ("arith.truncf", "f16", {"to": "f4E2M1FN", "profile": "ocp-saturate"}),
    ("arith.extf", "f8E5M2FNUZ", {"to": "f16"}),
    ("arith.truncf", "f64", {"to": "f32"}),
    ("arith.sitofp", "i16", {"to": "f8E5M2"}),
    ("arith.uitofp", "i64", {"to": "f32"}),
    ("arith.fptosi", "f16", {"to": "i8"}),
    ("arith.fptosi", "bf16", {"to": "i16", "profile": "spec,to_integer_rounding=upward"}),
    ("arith.fptoui", "f32", {"to": "i64", "profile": "spec,float_to_int=saturate_nan_max"}),
    ("arith.fptosi", "f32", {"to": "i16", "profile": "spec,float_to_int=modular"}),
    ("arith.cmpf", "f8E5M2", {"predicate": "ult"}),
    ("arith.cmpf", "f32", {"predicate": "oge"}),
    ("arith.mulf", "binary8p1se", {}),
    ("fadd", ("f16", "f8E5M2"), {"to": "f8E4M3FN", "rounding": "to_odd"}),
    ("fmul", ("f8E4M3FN", "f8E5M2"), {"to": "f16"}),
    pytest.param("fmadd", ("f8E4M3FN", "f8E4M3FN", "f32"), {"to": "f32"}, marks=pytest.mark.long),
    pytest.param("fnmadd", "f16", {"rounding": "to_odd"}, marks=pytest.mark.long),
    ("fcvt_to_si", "f16", {"to": "i8", "rounding": "to_odd", "profile": "riscv"}),
    ("froundnx", "f8E8M0FNU", {}),
    ("fcmps", "f8E5M2", {"predicate": "ule"}),
    ("fclass", "f8E4M3FNUZ", {}),
    ("math.sqrt", "f8E5M2FNUZ", {}),
    ("math.sqrt", "f8E8M0FNU", {}),
    ("math.sqrt", "f16", {}),
    ("math.sqrt", "f64", {"profile": "spec,nan_result=negative"}),
    ("arith.maximumf", "f8E4M3", {}),
    ("arith.minimumf", "f8E4M3FNUZ", {"profile": "x86-sse"}),
    ("arith.maxnumf", "f8E5M2", {}),
    ("arith.minnumf", "f8E3M4", {"profile": "spec,extrema=number_selected,denormals=flush_both"}),
    ("arith.maxnumf", "bf16", {"profile": "mlir22-fold"}),
    ("arith.minimumf", "f32", {"profile": "spec,extrema=selected"}),
    ("arith.maximumf", "f64", {"profile": "spec,extrema=second"}),
    ("math.roundeven", "f6E2M3FN", {}),
    ("math.round", "f8E3M4", {}),
    ("math.floor", "f64", {}),
    ("arith.addf", "f8E4M3FN", {"rounding": "stochastic", "random_bits": 3}),
    ("arith.subf", "f64", {"rounding": "stochastic", "random_bits": 64}),
    ("arith.mulf", "bf16", {"rounding": "stochastic", "random_bits": 12, "profile": "spec,stochastic=p3109_b"}),
    ("arith.divf", "f32", {"rounding": "stochastic", "random_bits": 33, "profile": "spec,stochastic=p3109_c"}),
    ("arith.divf", "f64", {"rounding": "stochastic", "random_bits": 64, "profile": "spec,stochastic=p3109_a"}),
    ("math.fma", "f16", {"rounding": "stochastic", "random_bits": 7, "profile": "spec,stochastic_bits=complement"}),
    ("arith.truncf", "f32", {"to": "bf16", "rounding": "stochastic", "random_bits": 16}),
    ("arith.sitofp", "i64", {"to": "f16", "rounding": "stochastic", "random_bits": 9}),
    ("fclass", "f16", {"profile": "spec,denormals=flush_both"}),
    # Rules of these profiles that have no model do nothing for these ops.
    ("arith.divf", "f32", {"profile": "x86-sse"}),
    ("fcvt", "f32", {"to": "f16", "profile": "x86-sse"}),
    ("fround", "bf16", {"profile": "x86-sse"}),
    ("fcvt", "f32", {"to": "f16", "profile": "arm"}),
    ("fadd", "f32", {"profile": "jax"}),
    ("arith.mulf", "f32", {"profile": "torch"}),
    ("arith.divf", "f8E4M3FN", {"profile": "spec,nan_to_nanless=negative_zero,negative_to_unsigned=absolute"}),
    ("fcvt_to_si", "f32", {"to": "i16", "profile": "riscv,infinity_to_nanless=zero"}),
    ("arith.fptosi", "f16", {"to": "i8", "profile": "spec,nan_converted=sign_of_8,wide_source=through_f32"}),
    ("fixed_add", ("ac_fixed<8, 3>", "ac_fixed<8, 5, false>"), {"to": "ac_fixed<7, 4, true, AC_RND_CONV, AC_SAT>"}),
    ("fixed_sub", ("ac_fixed<8, 3>", "ac_fixed<8, 5, false>"), {"to": "ac_fixed<7, 4, false, AC_TRN, AC_SAT_ZERO>"}),
    ("fixed_mul", ("ac_fixed<8, 3>", "ac_fixed<8, 5, false>"), {"to": "ac_fixed<9, 3, true, AC_RND, AC_SAT_SYM>"}),
    ("fixed_sub", ("ac_fixed<64, 20>", "ac_fixed<64, 30>"), {"to": "ac_fixed<64, 33, true, AC_RND_INF, AC_SAT>"}),
    ("fixed_convert", "ac_fixed<16, 5>", {"to": "ac_fixed<64, -100, true, AC_RND, AC_SAT>"}),
    (
        "fixed_convert",
        "f8E5M2",
        {"to": "ac_fixed<9, 2, false, AC_TRN, AC_WRAP>", "profile": "spec,denormals=flush_both"},
    ),
    ("fixed_convert", "ac_fixed<64, 8, false>", {"to": "f16", "rounding": "upward"}),
]


@pytest.mark.parametrize(("op", "type", "options"), SMALL, ids=lambda part: str(part))
def test_models(op: str, type: Any, options: dict[str, Any], tmp_path: Path) -> None:
    assert compare(tmp_path, 2000, op, type, **options) >= 16


FORMATS_OF_8 = (
    *("f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3FN", "f8E4M3FNUZ"),
    *("f8E4M3B11FNUZ", "f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU"),
)
WIDE = ("f16", "bf16", "f32", "f64", "tf32")


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("op", [*ARITHMETIC, "math.fma"])
def test_arithmetic_of_all_formats(op: str, mode: str, tmp_path: Path) -> None:
    """Every pair of formats of up to 8 bits, 10^5 hard rows of the others and of triples."""
    total = 0
    for type in (*FORMATS_OF_8, *WIDE):
        (tmp_path / type).mkdir()
        total += compare(tmp_path / type, 100_000, op, type, rounding=mode)
    assert total > 100_000


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", MODES)
def test_conversions_of_all_formats(mode: str, tmp_path: Path) -> None:
    done = 0
    for source in (*FORMATS_OF_8, *WIDE):
        for target in (*FORMATS_OF_8, *WIDE):
            widths = [hu.float_format(name).bits for name in (source, target)]
            op = (
                "arith.truncf" if widths[0] > widths[1] else "arith.extf" if widths[0] < widths[1] else "arith.convertf"
            )
            if source == target or (op == "arith.extf" and mode != MODES[0]):
                continue
            rounding = {} if op == "arith.extf" else {"rounding": mode}
            folder = tmp_path / f"{source}_{target}"
            folder.mkdir()
            done += compare(folder, 20_000, op, source, to=target, **rounding)
    for name in ("f8E4M3FN", "f8E5M2", "f16", "bf16", "f32", "f64"):
        for width in (1, 8, 16, 32, 64):
            for op in ("arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui"):
                ends = (f"i{width}", name) if "tofp" in op else (name, f"i{width}")
                folder = tmp_path / f"{op}_{name}_{width}"
                folder.mkdir()
                if "tofp" in op and mode != MODES[0]:
                    continue
                done += compare(folder, 20_000, op, ends[0], to=ends[1], profile=f"spec,to_integer_rounding={mode}")
    assert done > 1_000_000


MIXTURES = (
    ("f8E4M3FN", "f8E4M3FN", "f32", "f32"),
    ("f8E5M2", "f8E4M3FN", "f16", "f16"),
    ("bf16", "bf16", "f32", "f32"),
    ("f16", "f8E8M0FNU", "f32", "bf16"),
    ("f4E2M1FN", "f6E3M2FN", "f8E4M3FNUZ", "f8E5M2"),
    ("f64", "f32", "f64", "f16"),
)
"""Types of a, b and c, and of the result."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", [*MODES, "to_odd"])
@pytest.mark.parametrize("types", MIXTURES, ids="-".join)
def test_arithmetic_of_several_formats(types: tuple[str, str, str, str], mode: str, tmp_path: Path) -> None:
    """Every pair of 8 bits, 20,000 hard rows of the others and of triples, under two rules for NaNs."""
    *operands, result = types
    for profile in ("spec", "riscv"):
        for op in ("fadd", "fsub", "fmul", "fdiv", "fmadd", "fmsub", "fnmsub", "fnmadd"):
            count = 3 if op.endswith(("madd", "msub")) else 2
            folder = tmp_path / f"{op}_{profile}"
            folder.mkdir()
            compare(folder, 20_000, op, tuple(operands[:count]), to=result, rounding=mode, profile=profile)


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", [*MODES, "to_odd"])
def test_the_float_unit_of_all_formats(mode: str, tmp_path: Path) -> None:
    """Every code of up to 16 bits, 20,000 hard ones of the others."""

    def folder(*names: object) -> Path:
        made = tmp_path / "_".join(map(str, names))
        made.mkdir()
        return made

    for type in (*FORMATS_OF_8, *WIDE):
        for op in ("fround", "froundnx"):
            compare(folder(op, type), 20_000, op, type, rounding=mode)
        compare(
            folder("fcvt", type), 20_000, "fcvt", type, to="f8E4M3FN" if type != "f8E4M3FN" else "f16", rounding=mode
        )
        for width in (8, 32, 64):
            for sign in "su":
                to, back = f"fcvt_to_{sign}i", f"fcvt_from_{sign}i"
                options = {"rounding": mode, "profile": "riscv"}
                compare(folder(to, type, width), 20_000, to, type, to=f"i{width}", **options)
                compare(folder(back, type, width), 20_000, back, f"i{width}", to=type, **options)
        if mode == MODES[0]:
            compare(folder("fclass", type), 20_000, "fclass", type)
            for predicate in PREDICATES:
                compare(folder("fcmps", type, predicate), 5_000, "fcmps", type, predicate=predicate)


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.parametrize("rounding", QUANTIZATIONS)
def test_fixed_point_in_all_modes(rounding: str, tmp_path: Path) -> None:
    """Each mode of ac_fixed, on all pairs of 8 bits whose points differ, one of them unsigned."""
    ops = cycle(("fixed_add", "fixed_sub", "fixed_mul"))
    for overflow in OVERFLOWS:
        for signed in ("true", "false"):
            op = next(ops)
            folder = tmp_path / f"{op}{overflow}{signed}"
            folder.mkdir()
            target = f"ac_fixed<7, 4, {signed}, {rounding}, {overflow}>"
            compare(folder, 65_536, op, ("ac_fixed<8, 3>", "ac_fixed<8, 5, false>"), to=target)


@pytest.mark.parametrize("predicate", PREDICATES)
def test_comparisons_of_all_formats(predicate: str, tmp_path: Path) -> None:
    for type in (*FORMATS_OF_8, *WIDE):
        (tmp_path / type).mkdir()
        compare(tmp_path / type, 100_000, "arith.cmpf", type, predicate=predicate)


def run_self_test(model_text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "adder.c").write_text(model_text, encoding="utf-8")
    checked = ("-fsanitize=undefined", "-fno-sanitize-recover")
    subprocess.run([*STRICT, *checked, "-DADDER_SELF_TEST", "adder.c", "-o", "adder"], cwd=folder, check=True)
    return subprocess.run([folder / "adder"], capture_output=True, text=True, check=False)


def test_the_self_test_passes_and_finds_a_planted_bug(tmp_path: Path) -> None:
    text = c_model(hu.vectors("arith.addf", "f8E4M3FN", n=3000).recipe, "adder").source
    done = run_self_test(text, tmp_path)
    assert (done.stdout, done.returncode) == ("0 of 3000 rows differ\n", 0)
    planted = text.replace("return half && (has_bits_below(significand, places - 1) || parity != 0);", "return half;")
    assert planted != text
    done = run_self_test(planted, tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("row ")


E2M1 = "mma.m1n1k64.f32.e2m1.e2m1.f32.ue4m3.block16"
INTEGERS = "mma.m1n2k16.s32.s8.s8.s32"
NARROW, SMALL_D = "mma.m1n1k8.f32.e4m3.e5m2.f32", "mma.m2n1k8.f16.e4m3.e5m2.f16"

TILES: list[tuple[str, str]] = [
    ("mma.m1n1k8.f32.f16.f16.f32", "exact"),
    ("mma.m1n1k32.f64.f64.f64.f64", "exact"),
    ("mma.m2n2k8.f32.f16.f16.f32", "ieee"),
    ("mma.m16n8k16.f16.f16.f16.f16", "chip:ampere"),
    ("mma.m16n8k32.f32.e4m3.e4m3.f32", "chip:ada"),
    ("MFMA_F32_16x16x16_F16", "chip:cdna2"),
    ("MFMA_F32_16x16x16_F16", "chip:cdna3"),
    (E2M1, "exact"),
    ("mma.m1n2k64.f32.e2m1.e3m2.f32.ue8m0.block32", "custom:bits=25,group=32,rounding=toward_zero"),
    (NARROW, "custom:group=4,tree=neighbours,bits=20,partial=toward_zero,c=last,guard=3,cut=to_nearest_even,cut_sums=downward"),
    (SMALL_D, "custom:group=3,tree=even_odd,bits=24,c=last,zero=sum,cut=to_odd"),
    (NARROW, "custom:tree=halves,bits=14,zero_exponent=-20,shifter=9,c_shifter=5,cut=upward"),
    (SMALL_D, "custom:tree=sequential,bits=11,c=last,cut=to_nearest_away,overflow=saturate,fraction=9"),
    (NARROW, "custom:products=rounded,partial=upward,tree=halves,rounding=downward,c=last"),
    (SMALL_D, "custom:steps=f16,order=2,group=4,c=end,bits=25,flush=true"),
    (NARROW, "custom:flush=true,bits=30,product_overflow=true,nan=ones,overflow=infinity"),
    (SMALL_D, "custom:products=rounded,partial=to_nearest_even,tree=neighbours,c=last,nan=payload,flush=true"),
    (NARROW, "custom:tree=sequential,partial=to_nearest_even,nan=payload,group=4"),
    (SMALL_D, "custom:tree=even_odd,c=last,partial=to_odd"),
    ("mma.m2n3k8.s32.s8.s8.s32", "exact"),
    (INTEGERS, "custom:width=16"),
    (INTEGERS, "custom:width=15,overflow=saturate,tree=sequential,group=5"),
    (INTEGERS, "custom:width=17,overflow=saturate,tree=neighbours,c=last"),
    (INTEGERS, "custom:width=14,overflow=saturate,tree=halves,group=3"),
    (INTEGERS, "custom:width=13,overflow=saturate,tree=even_odd,c=last,group=6"),
    (NARROW, "custom:lsb=-40,msb=40"),
    (NARROW, "custom:lsb=-10,msb=6,group=3,cut=to_nearest_even"),
    (NARROW, "custom:lsb=-10,msb=6,group=2,register_overflow=saturate,cut=downward,rounding=upward"),
    (SMALL_D, "custom:lsb=-70,msb=60,cut=to_odd,c=end"),
    (SMALL_D, "custom:lsb=-8,group=1,zero=positive,flush=true"),
    (SMALL_D, "custom:lsb=-60,msb=4,register_overflow=saturate,zero=sum"),
    ("mma.m1n2k64.f32.e2m1.e2m1.f32.ue4m3.block16", "custom:dot=16,bits=25"),
    (E2M1, "custom:dot=4,bits=12,group=32,cut=to_odd,shifter=9,zero_exponent=-5"),
    ("mma.m1n1k64.f32.e2m1.e2m1.f32.ue8m0.block32", "custom:dot=8,tree=neighbours,partial=to_nearest_even"),
]  # fmt: skip
"""Tile operations and models: each field of an accumulator has another value than its default somewhere."""


@pytest.mark.parametrize(("tile", "model"), TILES)
def test_models_of_tiles(tile: str, model: str, tmp_path: Path) -> None:
    """The self-tests hold some rows whose exponents lie far apart, sums that cancel, and special operands."""
    text = c_model(hu.vectors(tile, n=128, mma=model).recipe, "adder").source
    done = run_self_test(text, tmp_path)
    assert done.stdout.startswith("0 of ")
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("tile", "model", "right", "wrong"),
    [
        (NARROW, "custom:bits=20,group=4", "const int BITS = 20;", "const int BITS = 19;"),
        (INTEGERS, "custom:width=15,overflow=saturate", "const int WIDTH = 15;", "const int WIDTH = 16;"),
        (NARROW, "custom:lsb=-10,msb=6", "SIGN_PLACE = 16", "SIGN_PLACE = 15"),
        (NARROW, "custom:lsb=-10,msb=6", "HOLDS_LARGEST = 0", "HOLDS_LARGEST = 1"),
        (E2M1, "custom:dot=8,bits=12", "DOT = 8", "DOT = 4"),
    ],
)
def test_a_wrong_rule_of_a_tile_is_noticed(tile: str, model: str, right: str, wrong: str, tmp_path: Path) -> None:
    text = c_model(hu.vectors(tile, n=128, mma=model).recipe, "adder").source
    assert text.count(right) == 1
    assert run_self_test(text.replace(right, wrong), tmp_path).returncode == 1


def test_a_tile_has_arrays_in_systemverilog() -> None:
    model = c_model(hu.vectors("mma.m2n1k8.f16.e4m3.e5m2.f16", n=3).recipe, "unit")
    assert "  input  byte unsigned a[16],  // f8E4M3FN\n" in model.package
    assert "  output shortint unsigned result[2]  // f16\n" in model.package
    assert "void unit(const uint8_t *a, const uint8_t *b, const uint16_t *c, uint16_t *result);" in model.source


@pytest.mark.parametrize(
    ("tile", "model", "message"),
    [
        ("mma.m1n1k8.f64.f64.f64.f64", "custom:lsb=-200", "products in a register have up to 62 bits"),
        (E2M1, "custom:dot=5,bits=20", "dot=5 must divide a block and a group"),
        (E2M1, "ieee", "ieee rounds scaled elements first"),
        (NARROW, "custom:bits=60", "aligned terms keep up to 48 fraction bits"),
    ],
)
def test_which_tiles_have_no_model(tile: str, model: str, message: str) -> None:
    with pytest.raises(hu.errors.Unsupported, match=message):
        c_model(hu.vectors(tile, n=3, mma=model).recipe, "unit")


def test_many_rows_are_sampled() -> None:
    text = c_model(hu.vectors("arith.addf", "f16", level="2").recipe, "adder").source
    assert "#define ADDER_GOLDEN_COUNT 4096\n" in text


@pytest.mark.parametrize(
    ("op", "type", "options", "message"),
    [
        ("math.tanh", "f16", {}, "math.tanh f16 has no model in C: the ops that have one are arith.addf"),
        ("arith.addf", "f128", {}, "f128 is too wide: a model takes formats of up to 64 bits"),
        ("arith.addf", "f80", {}, "f80 is too wide"),
        ("arith.addf", "f16", {"fastmath": "nsz"}, "bits of its results may have either value"),
        ("arith.addf", "f16", {"fastmath": "nnan"}, "models have no properties except a rounding mode"),
        ("arith.addf", "bf16", {"profile": "spec,narrow_floats=emulated"}, "the profile has narrow_floats=emulated"),
        ("arith.truncf", "f64", {"to": "bf16", "profile": "spec,wide_source=through_f32"}, "wide_source=through_f32"),
        ("arith.sitofp", "i65", {"to": "f32"}, "integers have 1 to 64 bits"),
        ("arith.fptosi", "f32", {"to": "i65"}, "integers have 1 to 64 bits"),
        ("fixed_mul", "ac_fixed<65, 8>", {"to": "ac_fixed<8, 8>"}, "numbers in fixed point have 1 to 64 bits"),
        ("fixed_convert", "ac_fixed<65, 8>", {"to": "f32"}, "have 1 to 64 bits in models"),
        ("fixed_add", ("ac_fixed<64, 0>", "ac_fixed<64, 64>"), {"to": "ac_fixed<8, 8>"}, "sums have up to 128 bits"),
    ],
)
def test_what_has_no_model(op: str, type: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(hu.HalfulpError, match=message):
        c_model(hu.vectors(op, type, n=3, **options).recipe, "model")


@pytest.mark.parametrize("name", ["int", "endmodule", "a b"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(hu.errors.InputError, match=r"reserved word|must be an identifier"):
        c_model(hu.vectors("arith.addf", "f16", n=3).recipe, name)


def test_programs_have_no_model() -> None:
    with pytest.raises(hu.errors.InputError, match="one op or tile operation, not a program"):
        c_model(hu.vectors("func.func @f(%x: f32) -> f32 { return %x : f32 }", n=3).recipe, "model")


def test_the_import_has_the_types_of_the_columns(tmp_path: Path) -> None:
    path = hu.vectors("arith.fptosi", "f32", to="i8", n=20).write_model(tmp_path)
    assert path.name == "fptosi_f32_to_i8.c"
    package = (tmp_path / "fptosi_f32_to_i8_dpi.sv").read_text(encoding="utf-8")
    assert "  input  int unsigned a," in package
    assert "  output byte unsigned result," in package
    assert "  output byte unsigned poison  //" in package
