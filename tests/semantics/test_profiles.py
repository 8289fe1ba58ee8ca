"""Every field of every profile: the table of what each gives, and the tools that the profiles predict.

tests/conformance/oracles compares mlir22-fold and mlir22-quant with mlir-opt 22, test_profile_context.py ml_dtypes with
the package.
"""

import random
import re
from dataclasses import dataclass

import numpy as np
import pytest
from amounts import thinned
from float_samples import codes as sample_codes
from op_implementations import Outcome, check, every_implementation, outcomes_of, value, width_of

import halfulp as hu
from halfulp.fp_formats.formats import FORMATS
from halfulp.golden.recipes import FIELDS
from halfulp.semantics.profile import PROFILE_FIELDS, PROFILES, Profile, as_profile

POISON: Outcome = "poison"
NAMES = ("spec", "mlir22-fold", "mlir22-quant", "ml_dtypes", "ocp-saturate")


def f32(number: float) -> int:
    return int(np.float32(number).view(np.uint32))


def f64(number: float) -> int:
    return int(np.float64(number).view(np.uint64))


# --- the table, cell by cell ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One field of the table: an op on operand codes, and the result of each profile in the order of `NAMES`.

    None stands for a cell that the table leaves blank.
    """

    field: str
    body: str
    types: tuple[str, ...]
    result: str
    operands: tuple[int, ...]
    results: tuple[Outcome | None, ...]


TRUNC, EXT = "arith.truncf %a : {0} to {r}", "arith.extf %a : {0} to {r}"
INF32, NAN32, NEG_NAN32 = 0x7F80_0000, 0x7FC0_0000, 0xFFC0_0000
E8M0, FN, F4 = "f8E8M0FNU", "f8E4M3FN", "f4E2M1FN"
FLAGGED = "integer flags"


def add(name: str, flags: str = "") -> str:
    return f"arith.{name} %a, %b{flags} : {{0}}"


def by_format(result: int, largest: int) -> tuple[Outcome, ...]:
    """Return a row for values that overflow by the format in all profiles but ocp-saturate."""
    return (result, result, result, result, largest)


ROWS = (
    # NaN operand in the result.
    Row("nan", add("addf"), ("f32", "f32"), "f32", (0x7F80_0001, f32(1.0)), (*(0x7FC0_0001,) * 3, NAN32, 0x7FC0_0001)),
    Row("nan", add("mulf"), ("f8E5M2", "f8E5M2"), "f8E5M2", (0xFD, 0x40), (0xFF, 0xFF, 0xFF, 0xFE, 0xFF)),
    Row("nan", add("subf"), ("f32", "f32"), "f32", (INF32, INF32), (NAN32, NAN32, NAN32, NEG_NAN32, NAN32)),
    Row("nan", TRUNC, ("f32",), "bf16", (0xFFA0_0000,), (0xFFE0, 0xFFE0, 0xFFE0, 0xFFC0, 0xFFE0)),
    # Float overflow and infinity in a conversion.
    Row("overflow", TRUNC, ("f32",), FN, (f32(1e6),), by_format(0x7F, 0x7E)),
    Row("overflow", TRUNC, ("f32",), FN, (f32(-1e6),), by_format(0xFF, 0xFE)),
    Row("overflow", TRUNC, ("f32",), FN, (INF32,), by_format(0x7F, 0x7E)),
    Row("overflow", TRUNC, ("f32",), "f8E5M2", (INF32,), by_format(0x7C, 0x7B)),
    Row("overflow", TRUNC, ("f32",), "f8E4M3FNUZ", (f32(-1e6),), by_format(0x80, 0xFF)),
    Row("overflow", TRUNC, ("f32",), "f16", (f32(1e6),), by_format(0x7C00, 0x7BFF)),
    Row("overflow", TRUNC, ("f64",), E8M0, (f64(2.0**128),), by_format(0xFF, 0xFE)),
    Row("overflow", TRUNC, ("f32",), E8M0, (INF32,), by_format(0xFF, 0xFE)),
    Row("overflow", EXT, ("f6E3M2FN",), "f8E3M4", (0x1C,), by_format(0x70, 0x6F)),
    Row("overflow", "arith.convertf %a : {0} to {r}", ("bf16",), "f16", (0x7F80,), by_format(0x7C00, 0x7BFF)),
    Row("overflow", "arith.sitofp %a : {0} to {r}", ("i32",), "f16", (2**32 - 10**6,), by_format(0xFC00, 0xFBFF)),
    Row("overflow", "arith.uitofp %a : {0} to {r}", ("i32",), FN, (10**6,), by_format(0x7F, 0x7E)),
    Row("overflow", "arith.scaling_truncf %a, %b : {0}, {1} to {r}", ("f32", E8M0), FN, (f32(1e6), 127), by_format(0x7F, 0x7E)),
    # ... NaN stays NaN, and nothing but conversions saturates.
    Row("overflow", TRUNC, ("f32",), FN, (NEG_NAN32,), (0xFF,) * 5),
    Row("overflow", add("addf"), (FN, FN), FN, (0x7E, 0x7E), (0x7F,) * 5),
    Row("overflow", add("mulf"), ("f16", "f16"), "f16", (0x7BFF, 0x7BFF), (0x7C00,) * 5),
    Row("overflow", add("divf"), ("f8E5M2", "f8E5M2"), "f8E5M2", (0x7B, 0x01), (0x7C,) * 5),
    Row("overflow", "arith.scaling_extf %a, %b : {0}, {1} to {r}", (F4, E8M0), "f16", (0x7, 142), (0x7C00,) * 5),
    # NaN into f4 and f6.
    Row("NaN into f4", TRUNC, ("f32",), F4, (NAN32,), (POISON, 0x0, 0x0, 0x8, 0x7)),
    Row("NaN into f4", TRUNC, ("f32",), F4, (NEG_NAN32,), (POISON, 0x8, 0x8, 0x0, 0x7)),
    Row("NaN into f4", TRUNC, ("f16",), "f6E2M3FN", (0xFE00,), (POISON, 0x20, 0x20, 0x00, 0x1F)),
    Row("NaN into f4", TRUNC, ("bf16",), "f6E3M2FN", (0x7FC0,), (POISON, 0x00, 0x00, 0x20, 0x1F)),
    Row("NaN into f4", add("divf"), (F4, F4), F4, (0x0, 0x0), (POISON, 0x0, 0x0, 0x0, POISON)),
    Row("NaN into f4", add("remf"), (F4, F4), F4, (0x2, 0x0), (POISON, 0x0, 0x0, 0x0, POISON)),
    # Infinity into f4 and f6; x/0 there.
    Row("infinity into f4", TRUNC, ("f32",), F4, (INF32,), (0x7, 0x0, 0x0, 0x7, 0x7)),
    Row("infinity into f4", TRUNC, ("f32",), F4, (INF32 | 1 << 31,), (0xF, 0x8, 0x8, 0xF, 0xF)),
    Row("infinity into f4", TRUNC, ("f32",), F4, (f32(1e6),), (0x7,) * 5),
    Row("x/0", add("divf"), (F4, F4), F4, (0x2, 0x0), (0x7, 0x0, 0x0, 0x7, 0x7)),
    Row("x/0", add("divf"), ("f6E3M2FN",) * 2, "f6E3M2FN", (0x2C, 0x00), (0x3F, 0x20, 0x20, 0x3F, 0x3F)),
    # f8E8M0FNU: negative values, zero, and its NaN widened.
    Row("negative into E8M0", TRUNC, ("f32",), E8M0, (f32(-1.0),), (0xFF, 0xFF, 0xFF, 0xFF, 0xFF)),
    Row("negative into E8M0", TRUNC, ("f32",), E8M0, (f32(-0.5),), (0xFF, 0xFE, 0xFE, 0xFF, 0xFF)),
    Row("negative into E8M0", add("subf"), (E8M0, E8M0), E8M0, (0x7E, 0x7F), (0xFF, 0xFE, 0xFE, 0xFF, 0xFF)),
    Row("negative into E8M0", "arith.negf %a : {0}", (E8M0,), E8M0, (0x7E,), (0xFF, 0xFE, 0xFE, 0xFF, 0xFF)),
    Row("zero into E8M0", TRUNC, ("f32",), E8M0, (0,), (0x00, 0x00, 0x00, 0xFF, 0x00)),
    Row("zero into E8M0", "arith.uitofp %a : {0} to {r}", ("i8",), E8M0, (0,), (0x00, 0x00, 0x00, 0xFF, 0x00)),
    Row("E8M0 NaN widened", EXT, (E8M0,), "f32", (0xFF,), (NAN32, INF32, INF32, NAN32, NAN32)),
    Row("E8M0 NaN widened", EXT, (E8M0,), "f64", (0xFF,), (*(0x7FF8 << 48, 0x7FF0 << 48) * 1, 0x7FF0 << 48, None, 0x7FF8 << 48)),
    Row("E8M0 NaN widened", EXT, (E8M0,), "f16", (0xFF,), (0x7E00, 0x7C00, 0x7C00, 0x7E00, 0x7E00)),
    Row("E8M0 NaN widened", EXT, (E8M0,), "bf16", (0xFF,), (0x7FC0, 0x7F80, 0x7F80, 0x7FC0, 0x7FC0)),
    Row("E8M0 NaN widened", "arith.convertf %a : {0} to {r}", (E8M0,), "f8E5M2", (0xFF,), (0x7E, 0x7C, 0x7C, 0x7E, 0x7E)),
    # maxnumf and minnumf with a signalling NaN.
    Row("signalling", add("maxnumf"), ("f32", "f32"), "f32", (0x7F80_0001, f32(1.0)), (f32(1.0), *(0x7FC0_0001,) * 2, None, f32(1.0))),
    Row("signalling", add("minnumf"), ("f32", "f32"), "f32", (0xFF80_0001, f32(1.0)), (f32(1.0), *(0xFFC0_0001,) * 2, None, f32(1.0))),
    Row("signalling", add("maxnumf"), ("f32", "f32"), "f32", (NAN32, f32(1.0)), (f32(1.0),) * 5),
    # f64 or integer to small formats: once, or twice through f32.
    Row("wide source", TRUNC, ("f64",), FN, (f64(-431.99999999999994),), (0xFD, 0xFD, 0xFD, 0xFE, 0xFD)),
    Row("wide source", "arith.sitofp %a : {0} to {r}", ("i64",), "bf16", ((257 << 30) + 1,), (0x5281, 0x5281, 0x5281, 0x5280, 0x5281)),
    # nsw, nuw and exact.
    Row(FLAGGED, add("addi", " overflow<nsw>"), ("i8", "i8"), "i8", (127, 1), (POISON, 128, 128, None, POISON)),
    Row(FLAGGED, add("muli", " overflow<nuw>"), ("i8", "i8"), "i8", (128, 2), (POISON, 0, 0, None, POISON)),
    Row(FLAGGED, add("divui", " exact"), ("i8", "i8"), "i8", (7, 2), (POISON, 3, 3, None, POISON)),
    Row(FLAGGED, add("shrui", " exact"), ("i8", "i8"), "i8", (7, 1), (POISON, 3, 3, None, POISON)),
    Row(FLAGGED, "arith.trunci %a overflow<nsw> : {0} to {r}", ("i8",), "i4", (0x7F,), (POISON, 15, 15, None, POISON)),
    Row(FLAGGED, "arith.extui %a nneg : {0} to {r}", ("i8",), "i16", (0x80,), (POISON, 128, 128, None, POISON)),
    # Not a flag: it stays poison everywhere.
    Row(FLAGGED, add("shli"), ("i8", "i8"), "i8", (1, 8), (POISON,) * 5),
)  # fmt: skip


@pytest.mark.parametrize("name", thinned(NAMES, 4))
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.field}: {row.body.format(*row.types, r=row.result)}")
def test_cell(row: Row, name: str) -> None:
    want = row.results[NAMES.index(name)]
    if want is None:
        assert name == "ml_dtypes"  # the only blank cells but for quantisation
        return
    operands = [[code] for code in row.operands]
    check(row.body, row.types, (row.result,), operands, [want], profile=name, containers=("vector", "tensor"))


@pytest.mark.parametrize("name", ["spec", "mlir22-quant", "ocp-saturate"])
def test_cells_of_qcast(name: str) -> None:
    """Nearest even, saturate, then clamp; or toward zero, poison outside the storage type."""
    numbers = np.array([2.5, -2.5, 3.7, 100.0, 127.4, 127.5, 128.0, -128.5, -129.0, np.inf, np.nan], np.float32)
    quantized = hu.eval("quant.qcast", numbers, to="!quant.uniform<i8<-128:90>:f32, 1.0>", profile=name)
    saturating = [2, 254, 4, 90, 90, 90, 90, 128, 128, 90, POISON]
    truncating = [2, 254, 3, 90, 90, 90, POISON, 128, POISON, POISON, POISON]
    assert outcomes_of(quantized) == (truncating if name == "mlir22-quant" else saturating)


def test_ocp_saturate_in_hu_convert_and_quant() -> None:
    x = np.array([1e6, -np.inf, np.nan], np.float32)
    assert outcomes_of(hu.convert(x, FN, profile="ocp-saturate")) == [0x7E, 0xFE, 0x7F]
    assert outcomes_of(hu.convert(x, "f8E8M0FNU", profile="ocp-saturate"))[0] == 127 + 20
    # itofp of a zero point is a conversion: 60000 in f8E5M2 is 57344, where spec has infinity.
    stored = value([0], "!quant.uniform<u16:f8E5M2, 1.0:65535>", ())
    assert outcomes_of(hu.eval("quant.dcast", stored, to="f8E5M2", profile="ocp-saturate")) == [0xFB]
    assert outcomes_of(hu.eval("quant.dcast", stored, to="f8E5M2")) == [0xFC]


# --- profiles as objects ----------------------------------------------------------------------------------------------


def test_fields_can_be_set_on_their_own() -> None:
    profile = Profile(base="spec", qcast_rounding="to_nearest_away", scaling="exact")
    assert profile == as_profile("spec,qcast_rounding=to_nearest_away,scaling=exact")
    assert profile.name == "spec,qcast_rounding=to_nearest_away,scaling=exact"
    assert hu.eval("quant.qcast", 2.5, type="f32", to="!quant.uniform<i8:f32, 1.0>", profile=profile).item() == 3
    based = Profile(base="mlir22-fold", integer_flags="poison")
    assert based.nan_to_nanless == "zero"
    assert outcomes_of(hu.eval("arith.addi", 127, 1, type="i8", overflow="nsw", profile=based)) == [POISON]


def test_every_value_of_every_field_is_accepted_and_others_are_not() -> None:
    for field, choice in PROFILE_FIELDS.items():
        for each in choice.values:
            assert getattr(Profile(**{field: each}), field) == each
            assert as_profile(f"spec,{field}={each}") == Profile(**{field: each})
        with pytest.raises(ValueError, match=field):
            Profile(**{field: "no such choice"})
    with pytest.raises(TypeError, match="no field 'no_such_field'; the fields are nan_result, "):
        Profile(no_such_field="x")
    with pytest.raises(ValueError, match="mlir22-fold"):
        Profile(base="no such profile")
    with pytest.raises(ValueError, match="there is no field 'no_such_field'; the fields are nan_result, "):
        as_profile("spec,no_such_field=1")
    with pytest.raises(ValueError, match=r"there is no field 'program_roundig' \(did you mean `program_rounding`\?\)"):
        as_profile("spec,program_roundig=stochastic")
    with pytest.raises(ValueError, match=r"unknown profile 'cuda'; .* \(did you mean `cuda-sat`\?\)"):
        as_profile("cuda")
    with pytest.raises(ValueError, match="'denormals' is not field=value"):
        as_profile("spec,denormals")
    assert {*NAMES, "mlir22-runtime", "mlir22-expand"} <= set(PROFILES)
    assert all(profile.name == name for name, profile in PROFILES.items())


@pytest.mark.parametrize(
    ("spelling", "near"),
    [
        ("spek", "spec"),
        ("spec,denormal=flush_both", "denormals"),
        ("spec,denormals=flush_bth", "flush_both"),
    ],
)
def test_errors_name_what_is_near(spelling: str, near: str) -> None:
    with pytest.raises(ValueError, match=rf"\(did you mean `{near}`\?\)$"):
        as_profile(spelling)


def test_options_of_the_command_line_name_every_value() -> None:
    for field, text in FIELDS.items():
        assert all(re.search(rf"\b{value}\b", text) for value in PROFILE_FIELDS[field].values), field


# --- fields for hardware ----------------------------------------------------------------------------------------------

SUB, NEG_SUB, MIN_NORMAL = 0x0040_0000, 0x8040_0000, 0x0080_0000


@pytest.mark.parametrize(
    ("denormals", "zero", "operand", "result"),
    [
        # 2**-127 * 2 (a subnormal operand, a normal result), and 2**-126 * 0.5 (the other way round), both negative.
        ("ieee", "signed", 0x8080_0000, NEG_SUB),
        ("flush_operands", "signed", 0x8000_0000, NEG_SUB),
        ("flush_results", "signed", 0x8080_0000, 0x8000_0000),
        ("flush_both", "signed", 0x8000_0000, 0x8000_0000),
        ("flush_delivered", "signed", 0x8080_0000, 0x8000_0000),
        ("flush_both_delivered", "signed", 0x8000_0000, 0x8000_0000),
        ("flush_operands", "positive", 0x0000_0000, NEG_SUB),
        ("flush_results", "positive", 0x8080_0000, 0x0000_0000),
        ("flush_both", "positive", 0x0000_0000, 0x0000_0000),
    ],
)
def test_denormals(denormals: str, zero: str, operand: int, result: int) -> None:
    profile = f"spec,denormals={denormals},denormal_zero={zero}"
    rows = [[NEG_SUB, 0x8080_0000], [f32(2.0), f32(0.5)]]
    check(add("mulf"), ("f32", "f32"), ("f32",), rows, [operand, result], profile=profile)
    # Constants, bit casts, negf and select move bits; they flush nothing.
    check("arith.negf %a : {0}", ("f32",), ("f32",), [[SUB]], [NEG_SUB], profile=profile)
    check("arith.bitcast %a : {0} to {r}", ("f32",), ("i32",), [[SUB]], [SUB], profile=profile)
    flushes = denormals in ("flush_operands", "flush_both", "flush_both_delivered")
    check("arith.cmpf oeq, %a, %b : {0}", ("f32", "f32"), ("i1",), [[SUB], [0]], [int(flushes)], profile=profile)


@pytest.mark.parametrize("tininess", ["before", "after"])
def test_a_result_is_flushed_by_the_code_that_is_delivered(tininess: str) -> None:
    """2096465 * 2**-35 is below 2**-14, also where it is rounded with an unbounded exponent; as a code it is 2**-14."""
    rows = [[0x29E1, 0x2800], [0x1571, 0x0401]]
    for choice, want in (("flush_delivered", [0x0400, 0x0000]), ("flush_results", [0x0000, 0x0000])):
        profile = f"spec,denormals={choice},tininess={tininess}"
        check(add("mulf"), ("f16", "f16"), ("f16",), rows, want, profile=profile)


def test_nan_result() -> None:
    rows = [[INF32, 0xFF80_0001, f32(1.0)], [INF32, f32(1.0), 0x7FC0_0005]]
    for choice, want in (
        ("payload", [NAN32, 0xFFC0_0001, 0x7FC0_0005]),
        ("canonical", [NAN32, NAN32, NAN32]),
        ("canonical_signed", [NEG_NAN32, NEG_NAN32, NAN32]),
        ("negative", [NEG_NAN32, 0xFFC0_0001, 0x7FC0_0005]),
    ):
        check(add("subf"), ("f32", "f32"), ("f32",), rows, want, profile=f"spec,nan_result={choice}")


@pytest.mark.parametrize("signed", [True, False])
def test_float_to_int(signed: bool) -> None:
    op = "fptosi" if signed else "fptoui"
    column = [f32(3.9), f32(300.0), f32(-300.0), NAN32, NEG_NAN32, INF32, INF32 | 1 << 31, f32(-1.0)]
    low, high = (0x80, 0x7F) if signed else (0, 0xFF)
    minus_one: Outcome = 0xFF if signed else POISON
    saturated = 0xFF if signed else 0
    rows: dict[str, list[Outcome]] = {
        "poison": [3, *[POISON] * 6, minus_one],
        "saturate": [3, high, low, 0, 0, high, low, saturated],
        "saturate_nan_max": [3, high, low, high, high, high, low, saturated],
        "saturate_nan_top": [3, high, low, 0, 0, high, low, saturated],
        "modular": [3, 300 - 256, 512 - 300, 0, 0, 0, 0, 0xFF],
    }
    for choice, want in rows.items():
        body = f"arith.{op} %a : {{0}} to {{r}}"
        check(body, ("f32",), ("i8",), [column], want, profile=f"spec,float_to_int={choice}")


def test_tininess_changes_flags_alone() -> None:
    from halfulp.fp_formats import scalar
    from halfulp.fp_formats.policy import Flags

    # 2**-126 * (1 - 2**-26) rounds to the smallest normal, even with more exponents: tiny before rounding, not after.
    a, b = f32(2.0**-126 * (1 + 2.0**-13)), f32(1 - 2.0**-13)
    for tininess, tiny in (("after", False), ("before", True)):
        profile = as_profile(f"spec,tininess={tininess}")
        result = scalar.multiply(FORMATS["f32"], a, b, 0, profile.arithmetic)
        assert result.code == MIN_NORMAL
        assert bool(result.flags & Flags.UNDERFLOW) == tiny
        assert hu.eval("arith.mulf", value([a], "f32", ()), value([b], "f32", ()), profile=profile).bits == MIN_NORMAL


# --- every combination of fields --------------------------------------------------------------------------------------


def random_op(rng: random.Random) -> tuple[str, tuple[str, ...], str]:
    """Return the body, operand types and result type of some op whose result depends on a profile."""
    names = list(FORMATS)
    source, target, scale = rng.choices(names, k=3)
    integer = f"i{rng.choice([1, 4, 8, 16, 32, 64, 65, 128])}"
    flags = rng.choice(["", "", " fastmath<nnan>", " fastmath<ninf>", " fastmath<nnan,ninf>"])
    mode = rng.choice(["", " downward", " upward", " toward_zero", " to_nearest_away"])
    kind = rng.choice(["binary", "rounded", "compare", "unary", "convert", "scaling", "to", "from", "quant"])
    order = FORMATS[source].bits - FORMATS[target].bits
    if kind == "binary":
        op = rng.choice(["remf", "maximumf", "minimumf", "maxnumf", "minnumf"])
        return f"arith.{op} %a, %b{flags} : {{0}}", (source, source), source
    if kind == "rounded":
        op = rng.choice(["addf", "subf", "mulf", "divf"])
        return f"arith.{op} %a, %b{mode}{flags} : {{0}}", (source, source), source
    if kind == "compare":
        predicate = rng.choice(["oeq", "ult", "one", "uno", "ord", "oge"])
        return f"arith.cmpf {predicate}, %a, %b{flags} : {{0}}", (source, source), "i1"
    if kind == "unary":
        op = rng.choice([f"negf %a{flags}", "flush_denormals %a"])
        return f"arith.{op} : {{0}}", (source,), source
    if kind == "to":
        return f"arith.{rng.choice(['fptosi', 'fptoui'])} %a : {{0}} to {{r}}", (source,), integer
    if kind == "from":
        op = rng.choice(["sitofp %a", "uitofp %a", "uitofp %a nneg"])
        return f"arith.{op} : {{0}} to {{r}}", (integer,), target
    if kind == "quant":
        source = rng.choice(["f32", "f16", "f8E5M2", "f8E4M3FN", "f4E2M1FN", "f80"])
        quantized = (
            f"!quant.uniform<{rng.choice(['i8', 'u8', 'i16', 'i3'])}:{source}, {rng.choice(['0.5', '1.0', '3.0'])}:1>"
        )
        if rng.random() < 0.5:
            return "quant.qcast %a : {0} to {r}", (source,), quantized
        return "quant.dcast %a : {0} to {r}", (quantized,), source
    if kind == "scaling" and order:
        op = f"scaling_extf %a, %b{flags}" if order < 0 else f"scaling_truncf %a, %b{mode}{flags}"
        return f"arith.{op} : {{0}}, {{1}} to {{r}}", (source, scale), target
    if source == target:
        return random_op(rng)
    op = "extf %a" if order < 0 else f"truncf %a{mode}" if order else f"convertf %a{mode}"
    return f"arith.{op}{flags} : {{0}} to {{r}}", (source,), target


def some_codes(element: str, count: int, rng: random.Random) -> list[int]:
    if element in FORMATS:
        return sample_codes(FORMATS[element], count, rng.randrange(10**6))
    bits = width_of(element)
    return [
        rng.choice([0, 1, (1 << bits) - 1, 1 << bits >> 1, rng.getrandbits(bits)]) % (1 << bits) for _ in range(count)
    ]


def check_random_profiles(count: int, seed: int) -> None:
    """Assert that all implementations of an op agree, whatever the fields of the profile."""
    rng = random.Random(seed)
    for _ in range(count):
        settings = {field: rng.choice(choice.values) for field, choice in PROFILE_FIELDS.items() if rng.random() < 0.4}
        settings.pop("program_rounding", None)  # it counts for programs, which then need random bits, but not for ops
        profile = ",".join(["spec", *(f"{field}={choice}" for field, choice in settings.items())])
        body, types, result = random_op(rng)
        columns = [some_codes(element, 12, rng) for element in types]
        containers = ("tensor",) if "quant" in body else ("tensor", "vector")
        implementations = every_implementation(body, types, (result,), columns, profile, containers)
        first = implementations["scalar kernel"]
        for implementation, found in implementations.items():
            assert found == first, (implementation, body, types, result, profile, columns)


@pytest.mark.long
def test_faces_agree_in_any_profile() -> None:
    check_random_profiles(40, 1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(2, 34))
def test_faces_agree_in_many_profiles(seed: int) -> None:
    check_random_profiles(1500, seed)
