"""The models' operands: their hits are recomputed from exact fractions and from the flags of the results."""

import hashlib
from fractions import Fraction
from itertools import product
from math import floor

import gmpy2
import pytest
from amounts import thinned
from planted_fixed_point import MODES as ROUNDINGS
from planted_fixed_point import OPS, Fixed, FixedUnit
from present import present
from tables import each_row

from halfulp.conformance.comparing.inputs import exact_value
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.computation import OpComputation
from halfulp.conformance.vectors.intermediate import Integer, ModelCase, exact, model_case_of, smallest
from halfulp.conformance.vectors.models.functions import MODELS as functions_MODELS
from halfulp.conformance.vectors.models.functions import hardest
from halfulp.conformance.vectors.models.model import TINY_BEFORE_ALONE, Filled, coverage, fill
from halfulp.conformance.vectors.models.table import MODELS, coverage_table, models_for
from halfulp.conformance.vectors.op_inputs import filled_models, rows_of_models
from halfulp.conformance.vectors.rows import of_tuples
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.neighbours import ulp_at
from halfulp.fp_formats.policy import Flags
from halfulp.fp_formats.reals import elementary
from halfulp.interp.ir.errors import Unsupported
from halfulp.semantics.profile import as_profile

WIDE = ("bf16", "f16", "tf32", "f32", "f64", "f80", "f128")
TINY = ("f4E2M1FN", "f6E2M3FN", "f6E3M2FN")
EIGHT = tuple(name for name, fmt in FORMATS.items() if fmt.bits == 8)
BINARY = ("add", "subtract", "multiply", "divide", "remainder", "compare")
INTEGERS = tuple(Integer(width, signed) for width in (8, 32, 64, 128) for signed in (True, False))
APPLYING = {
    "addf": "B1 B2 B3 B4 B5 B7 B8 B9 B10 B11 B12 B13",
    "subf": "B1 B2 B3 B4 B5 B7 B8 B9 B10 B11 B12 B13",
    "mulf": "B1 B2 B3 B4 B5 B6 B7 B8 B9",
    "divf": "B1 B2 B3 B4 B5 B6 B7 B8 B9 B20 B21",
    "remf": "B1 B2 B9 B20 B21",
    "maximumf": "B1 B9 B19",
    "negf": "B1",
}


def binary(kind: str, name: str) -> ModelCase:
    fmt = FORMATS[name]
    return ModelCase(kind, (fmt, fmt), Integer(1, False) if kind == "compare" else fmt)


def conversions(name: str) -> list[ModelCase]:
    fmt = FORMATS[name]
    cases = [ModelCase("convert", (fmt,), target) for target in FORMATS.values() if target != fmt]
    for integer in INTEGERS:
        cases += [ModelCase("to integer", (fmt,), integer), ModelCase("from integer", (integer,), fmt)]
    return cases


def empty_buckets(case: ModelCase) -> dict[str, list[tuple[str | int, ...]]]:
    """Return the empty buckets of the models for which not all operands were tried."""
    filled = {model.name: fill(model, case) for model in models_for(case)}
    return {name: made.empty for name, made in filled.items() if made.empty and not made.proven}


SLOW = {
    *product(("add", "subtract"), ("f64", "f80", "f128")),
    ("multiply", "f128"),
    *product(BINARY, (name for name in EIGHT if name not in ("f8E4M3FN", "f8E5M2"))),
}
"""Most of the time of all these cases; f128 is divided, f80 is multiplied, and f32 is added, in every run."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(*case, marks=[pytest.mark.exhaustive] if case in SLOW else [])
        for case in product(BINARY, (*WIDE, *TINY, *EIGHT))
    ],
)
def test_every_bucket_is_hit_or_proven_empty(kind: str, name: str) -> None:
    assert empty_buckets(binary(kind, name)) == {}


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.exhaustive] * (name not in ("bf16", "f32"))) for name in FORMATS]
)
def test_every_bucket_of_conversions_is_hit_or_proven_empty(name: str) -> None:
    assert {str(case): empty for case in conversions(name) if (empty := empty_buckets(case))} == {}


def rounding_of(fmt: FloatFormat, real: Fraction) -> tuple[str, int, int, int]:
    """Sign, last kept bit, guard and sticky of a number, from its fraction alone."""
    magnitude, lead = abs(real), 0
    while magnitude >= Fraction(2) ** (lead + 1):
        lead += 1
    while magnitude < Fraction(2) ** lead:
        lead -= 1
    units = magnitude / Fraction(2) ** (max(lead, fmt.emin) - fmt.mantissa_bits)
    kept = units.numerator // units.denominator
    tail = units - kept
    return "-" if real < 0 else "+", kept & 1, int(tail >= Fraction(1, 2)), int(tail % Fraction(1, 2) != 0)


@pytest.mark.parametrize("name", thinned(["f4E2M1FN", "f8E4M3FN", "f8E5M2FNUZ", "f16", "f32", "f64"], 4))
@pytest.mark.parametrize("op", ["addf", "subf", "mulf", "divf"])
def test_every_combination_of_rounding_bits_is_there(op: str, name: str) -> None:
    """B3 without its own predicate: its operands hit the combinations that it reports, all 16 in a wide format."""
    asked = op_case(f"arith.{op}", name)
    _, filled = filled_models(asked, ["B3"])
    hit = set()
    for row in filled["B3"].rows:
        real = present(exact_value(asked, row))
        hit.add(rounding_of(FORMATS[name], real))
    said = {bucket for bucket, count in filled["B3"].hits.items() if count}
    assert hit == said
    assert len(said) == 16 or name.startswith("f4")


@pytest.mark.parametrize(
    ("op", "source", "target", "bits"),
    [("addf", "f16", None, 11), ("mulf", "f32", None, 24), ("truncf", "f64", "f32", 52), ("truncf", "tf32", "bf16", 3)],
)
def test_one_sticky_bit_at_every_place(op: str, source: str, target: str, bits: int) -> None:
    """B7: the part below the guard bit, as a fraction of half an ulp, is each power of two and 0."""
    asked, fmt = op_case(f"arith.{op}", source, target), FORMATS[target or source]
    _, filled = filled_models(asked, ["B7"])
    tails = set()
    for row in filled["B7"].rows:
        real = present(exact_value(asked, row))
        assert rounding_of(fmt, real)[2] == 0
        lead = max(real.numerator.bit_length() - real.denominator.bit_length() - 1, fmt.emin)
        lead += real >= Fraction(2) ** (lead + 1)
        tails.add(2 * (real / Fraction(2) ** (lead - fmt.mantissa_bits) % 1))
    assert tails == {Fraction(0), *(Fraction(1, 1 << place) for place in range(1, bits))}


def test_conversions_are_rounded_among_subnormals_too() -> None:
    """B3 and B8 of f32 -> f16: tails below normal and below subnormal results; of bf16 -> f16 only the latter."""
    for source, normal in (("f32", True), ("bf16", False)):
        asked = op_case("arith.convertf" if source == "bf16" else "arith.truncf", source, "f16")
        _, filled = filled_models(asked, ["B3"])
        smallest_normal = Fraction(1, 1 << 14)
        inexact = [
            real
            for row in filled["B3"].rows
            if (real := exact_value(asked, row)) and any(rounding_of(FORMATS["f16"], real)[2:])
        ]
        assert any(abs(real) < smallest_normal for real in inexact)
        assert any(abs(real) > smallest_normal for real in inexact) == normal


def test_the_table_tells_what_is_hit_and_why_not() -> None:
    _, filled = filled_models(op_case("arith.mulf", "f4E2M1FN"), ["B2", "B6"])
    assert filled["B2"].reason == ""
    lines = coverage_table(filled).splitlines()
    assert lines[0].split()[:4] == ["B2", str(len(filled["B2"].hits)), "of", str(len(filled["B2"].hits))]
    assert lines[0].endswith(MODELS["B2"].target)
    assert lines[1].split()[:4] == ["B6", "2", "of", "14"]
    assert lines[2].strip() == "+ below 1/4: no combination of operands falls there"
    assert len(lines) == 2 + 12


def test_a_proof_of_emptiness_is_one() -> None:
    """Products of f4E2M1FN are multiples of a quarter: below its smallest value, 1/2, there is only half of that."""
    asked = op_case("arith.mulf", "f4E2M1FN")
    _, filled = filled_models(asked, ["B6"])
    assert filled["B6"].proven
    reals = {abs(real) for row in product(range(16), repeat=2) if (real := exact_value(asked, row))}
    assert {real for real in reals if real < Fraction(1, 2)} == {Fraction(1, 4)}
    assert set(filled["B6"].hits) - set(filled["B6"].empty) == {("+", "1/2"), ("-", "1/2")}


@pytest.mark.parametrize("name", thinned(TINY, 3))
@pytest.mark.parametrize("op", ["addf", "mulf", "divf"])
def test_small_formats_hit_every_rounding_that_exists(op: str, name: str) -> None:
    """B3 against all operands: the buckets reported as empty are those that no combination of operands hits."""
    asked, fmt = op_case(f"arith.{op}", name), FORMATS[name]
    _, filled = filled_models(asked, ["B3"])
    reals = (exact_value(asked, row) for row in product(range(fmt.code_mask + 1), repeat=2))
    exist = {rounding_of(fmt, real) for real in reals if real}
    assert exist == set(filled["B3"].hits) - set(filled["B3"].empty)


@pytest.mark.parametrize("name", thinned(["f8E4M3", "f16", "f32", "f64"], 4))
@pytest.mark.parametrize("op", ["addf", "mulf", "divf"])
def test_overflow_and_underflow_are_met_from_both_sides(op: str, name: str) -> None:
    """B4 to B6 in units of the last place, from fractions."""
    asked, fmt = op_case(f"arith.{op}", name), FORMATS[name]
    _, filled = filled_models(asked, ["B4", "B5", "B6"] if op != "addf" else ["B4", "B5"])
    top = present(scalar.value(fmt, fmt.max_code))
    ulp = top - (scalar.value(fmt, fmt.max_code - 1) or 0)
    reals = {model: [exact_value(asked, row) for row in made.rows] for model, made in filled.items()}
    near = {(real < 0, (abs(real) - top) // ulp) for real in reals["B4"] if real}
    assert near >= set(product((False, True), range(-3, 4)))
    unit = smallest(fmt)
    ulps = {(real < 0, abs(real) // unit) for real in reals["B5"] if real}
    normal = 1 << fmt.mantissa_bits
    assert ulps >= set(product((False, True), (*range(1, 4), *range(normal - 3, normal + 4))))
    if op != "addf":
        parts = {(real < 0, 8 * abs(real) // unit) for real in reals["B6"] if real and abs(real) < unit}
        assert {sign for sign, _ in parts} == {False, True}
        assert {part // 2 for _, part in parts} == {0, 1, 2, 3}
        assert any(real == unit / 2 for real in reals["B6"])


@pytest.mark.parametrize("name", ["f16", "f64"])
@pytest.mark.parametrize("op", ["addf", "mulf", "divf"])
def test_near_boundaries_means_within_few_units_of_the_shortest_tail(op: str, name: str) -> None:
    asked, fmt = op_case(f"arith.{op}", name), FORMATS[name]
    case, filled = filled_models(asked, ["B8"])
    close = 0
    for row in filled["B8"].rows:
        real = present(exact_value(asked, row))
        code = scalar.from_fraction(fmt, abs(real), scalar.RZ).code
        low, high = scalar.value(fmt, code), scalar.value(fmt, code + 1)
        if low is None or high is None:
            continue
        place = (abs(real) - low) / (high - low)
        close += 0 < min(place, 1 - place, abs(place - Fraction(1, 2))) <= Fraction(1, 1 << fmt.precision - 4)
    assert close >= 16
    assert all(filled["B8"].hits.values())
    assert case.extra == fmt.precision - (op == "divf")


@pytest.mark.parametrize("name", ["f16", "f80"])
@pytest.mark.parametrize(("op", "models"), [("divf", ["B20", "B21"]), ("mulf", ["B5", "B6"]), ("addf", ["B4"])])
def test_flags_say_the_same(op: str, models: str, name: str) -> None:
    asked, fmt = op_case(f"arith.{op}", name), FORMATS[name]
    _, filled = filled_models(asked, models)
    compute = getattr(scalar, {"divf": "divide", "mulf": "multiply", "addf": "add"}[op])
    raised = {model: [Flags(compute(fmt, *row).flags) for row in made.rows] for model, made in filled.items()}
    if op == "divf":
        assert not any(flags & Flags.INEXACT and not flags & Flags.UNDERFLOW for flags in raised["B20"])
        assert any(flags & Flags.DIVIDE_BY_ZERO for flags in raised["B21"])
        assert any(flags & Flags.INVALID for flags in raised["B21"])
    elif op == "mulf":
        assert all(flags & Flags.UNDERFLOW for flags in raised["B6"])
        assert {bool(flags & Flags.UNDERFLOW) for flags in raised["B5"]} == {False, True}
    else:
        assert {bool(flags & Flags.OVERFLOW) for flags in raised["B4"]} == {False, True}


def tiny_before_alone(fmt: FloatFormat, real: Fraction) -> bool:
    """Tell whether a number is below the smallest normal value, and rounds to it if the exponent has no lower end."""
    normal = Fraction(2) ** fmt.emin
    return normal * (1 - Fraction(1, 2 ** (fmt.precision + 1))) <= abs(real) < normal


@each_row(
    ("arith.mulf", "f16", None),
    ("arith.mulf", "f32", None),
    ("math.fma", "bf16", None),
    ("arith.truncf", "f32", "f16"),
    ("arith.truncf", "f32", "f8E5M2"),
)
def test_rows_tell_tininess_before_rounding_from_after(op: str, type: str, to: str | None) -> None:
    asked = op_case(op, type, to)
    case, filled = filled_models(asked, ["B5"])
    fmt = FORMATS[to or type]
    reals = {}
    for row in filled["B5"].rows:
        a, b, c = ([present(scalar.value(FORMATS[type], code)) for code in row] + [Fraction(1), Fraction(0)])[:3]
        reals[row] = a * b + c if len(row) != 2 else a * b
    rows = [row for row, real in reals.items() if tiny_before_alone(fmt, real)]
    assert {reals[row] < 0 for row in rows} == {False, True}
    buckets = {bucket: count for bucket, count in filled["B5"].hits.items() if bucket[0] == TINY_BEFORE_ALONE}
    assert buckets == dict.fromkeys([(TINY_BEFORE_ALONE, "+"), (TINY_BEFORE_ALONE, "-")], len(rows) // 2)
    flags = [
        OpComputation(asked, as_profile(f"spec,tininess={when}"))
        .compute(of_tuples(rows, case.widths).part(0, len(rows)))
        .outputs[-1]
        for when in ("before", "after")
    ]
    assert (flags[0] == Flags.UNDERFLOW | Flags.INEXACT).all()
    assert (flags[1] == Flags.INEXACT).all()


@pytest.mark.long
@each_row(("addf", "f6E3M2FN"), ("divf", "f6E3M2FN"), ("mulf", "f4E2M1FN"))
def test_where_tininess_cannot_be_told(op: str, name: str) -> None:
    """All pairs of operands, by fractions: none falls there, and the bucket is left out."""
    asked, fmt = op_case(f"arith.{op}", name), FORMATS[name]
    reals = (exact_value(asked, row) for row in product(range(fmt.code_mask + 1), repeat=2))
    assert not any(tiny_before_alone(fmt, real) for real in reals if real)
    _, filled = filled_models(asked, ["B5"])
    assert not any(TINY_BEFORE_ALONE in bucket for bucket in filled["B5"].hits)


def test_functions_tell_tininess_from_each_other() -> None:
    """sin(x) is just below x: that of the smallest normal value is tiny before rounding alone, with either sign."""
    normal = FORMATS["f32"].min_normal_code
    assert {(normal,), (normal | 1 << 31,)} <= set(fill(F2, case("sin", "f32")).rows)
    told = {bucket for row in ((normal,), (normal | 1 << 31,)) for bucket in F2.fits(case("sin", "f32"), row)}
    assert {(TINY_BEFORE_ALONE, "+"), (TINY_BEFORE_ALONE, "-")} <= told
    # tan(x) is just above x, and the exponential function is not near a power of two there.
    assert not any(TINY_BEFORE_ALONE in bucket for name in ("tan", "exp") for bucket in F2.buckets(case(name, "f32")))


@pytest.mark.parametrize("op", ["addf", "subf"])
def test_cancellations_are_those_of_the_difference(op: str) -> None:
    """B12: the exponent of the exact sum against the larger operand's, through Python's own frexp of doubles."""
    import math

    asked = op_case(f"arith.{op}", "f32")
    _, filled = filled_models(asked, ["B12"])
    moved = set()
    for row in filled["B12"].rows:
        a, b = (float(scalar.value(FORMATS["f32"], code) or 0) for code in row)
        total = exact_value(asked, row)
        if total:
            moved.add(math.frexp(float(total))[1] - max(math.frexp(x)[1] for x in (a, b) if x))
    assert moved >= set(range(-24, 2))


@pytest.mark.parametrize("name", ["f16", "f32", "f80"])
def test_quotients_without_end_lie_between_their_neighbours(name: str) -> None:
    """The last bit of a quotient is set exactly where more bits would follow, and the bits above it are exact."""
    case, asked = binary("divide", name), op_case("arith.divf", name)
    endless = 0
    for row in fill(MODELS["B8"], case).rows + fill(MODELS["B20"], case).rows:
        result, real = present(exact(case, row)), present(exact_value(asked, row))
        unit = Fraction(2) ** result.exponent
        if result.significand & 1:
            endless += 1
            assert (result.significand - 1) * unit < abs(real) < (result.significand + 1) * unit
        else:
            assert result.significand * unit == abs(real)
    assert endless >= 16


@pytest.mark.parametrize(("op", "names"), APPLYING.items())
def test_models_apply_to_the_ops_they_are_about(op: str, names: str) -> None:
    case = present(model_case_of(op_case(f"arith.{op}", "f32")))
    assert " ".join(model.name for model in models_for(case)) == names


def test_models_of_conversions() -> None:
    def applying(op: str, source: str, target: str) -> str:
        case = present(model_case_of(op_case(f"arith.{op}", source, target)))
        return " ".join(model.name for model in models_for(case))

    assert applying("truncf", "f32", "f8E4M3FN") == "B1 B2 B3 B4 B5 B6 B7 B8 B9 B27"
    assert applying("fptosi", "f32", "i32") == "B1 B9 B22 B23 B24 B28 B29"
    assert applying("uitofp", "i64", "f32") == "B2 B3 B7 B8 B25 B26"


def test_all_models_are_there() -> None:
    assert list(MODELS) == [*(f"B{k}" for k in range(1, 30)), *(f"F{k}" for k in range(1, 7)), "M1", "Q1", "Q2", "Q3"]


@pytest.mark.long
def test_rows_fall_where_it_is_said_that_they_do() -> None:
    for kind, name in (("add", "f16"), ("divide", "f80"), ("compare", "f8E5M2")):
        case = binary(kind, name)
        for model in models_for(case):
            made = fill(model, case)
            assert coverage(model, case, made.rows) == made.hits
            assert len(set(made.rows)) == len(made.rows)


def places_of(unit: FixedUnit, row: tuple[int, ...], rounds: bool) -> set[tuple[str | int, ...]]:
    """Return the buckets of Q2 of a row by fractions, and if the result ``rounds``, those of Q1."""
    values = (fmt.value(code) for fmt, code in zip(unit.sources, row, strict=True))
    exact = OPS[unit.op](*values) / unit.target.unit
    made = ROUNDINGS[unit.target.rounding](exact)
    found: set[tuple[str | int, ...]] = set()
    if exact and rounds:
        half = floor(2 * (exact - floor(exact)))
        found.add(("-" if exact < 0 else "+", floor(exact) % 2, half, int(2 * exact != floor(2 * exact))))
    for end, at, beyond in (("largest", unit.target.high, made - unit.target.high),
                            ("smallest", unit.target.low, unit.target.low - made)):  # fmt: skip
        found |= {(end, beyond)} if abs(beyond) <= 1 else {(end, "far outside")} if beyond > 1 else set()
        if beyond == 1 and int(exact) == at:
            found.add((end, "outside by rounding"))
    return found


@pytest.mark.parametrize(
    ("op", "sources", "target"),
    [
        ("fixed_mul", (Fixed(5, 2), Fixed(5, 3)), Fixed(5, 2, True, "AC_RND", "AC_SAT")),
        ("fixed_sub", (Fixed(4, 2), Fixed(5, 1, False)), Fixed(3, 1, False, "AC_TRN", "AC_SAT_ZERO")),
        ("fixed_convert", (Fixed(8, 4),), Fixed(5, 3, True, "AC_RND_CONV", "AC_SAT_SYM")),
        ("fixed_add", (Fixed(5, 3), Fixed(4, 4)), Fixed(7, 5)),
    ],
)
def test_buckets_in_fixed_point(op: str, sources: tuple[Fixed, ...], target: Fixed) -> None:
    """All rows hit what fractions say. The models have these buckets, all filled; no two factors give others."""
    case = present(model_case_of(op_case(op, [str(fmt) for fmt in sources], str(target))))
    unit = FixedUnit(op, sources, target)
    every = list(product(*(range(1 << fmt.width) for fmt in sources)))
    models = {model.name: model for model in models_for(case)}
    wanted = set()
    for row in every:
        own = places_of(unit, row, "Q1" in models)
        assert {bucket for name, model in models.items() if name != "Q3" for bucket in model.fits(case, row)} == own
        wanted |= own
    buckets = {bucket for name, model in models.items() if name != "Q3" for bucket in model.buckets(case)}
    assert buckets - wanted == ({("smallest", "outside by rounding")} if op == "fixed_mul" else set())
    assert wanted <= buckets
    for model in models.values():
        assert {*fill(model, case).empty} <= buckets - wanted
    crossed = {bucket for row in every for bucket in models["Q3"].fits(case, row)}
    assert crossed == {*models["Q3"].buckets(case)}


def test_float_to_integer_boundaries() -> None:
    """B23 and B24 of f64 -> i32, where all quarters exist: the numbers themselves."""
    asked = op_case("arith.fptosi", "f64", "i32")
    _, filled = filled_models(asked, ["B23", "B24"])
    numbers = {exact_value(asked, row) for made in filled.values() for row in made.rows}
    for bound in (2**31 - 1, 1 - 2**31, -(2**31)):
        assert numbers >= {bound + Fraction(k, 4) for k in range(-4, 5)}
    assert numbers >= {Fraction(k, 4) for k in range(-7, 8)}


def test_signalling_payloads_that_are_lost() -> None:
    """B27 of f32 -> bf16: NaNs whose payload lies in the lost bits alone, and in the kept ones alone."""
    _, filled = filled_models(op_case("arith.truncf", "f32", "bf16"), ["B27"])
    codes = [code for (code,) in filled["B27"].rows]
    assert all(FORMATS["f32"].is_nan(code) for code in codes)
    assert {(bool(code & 1 << 22), bool(code & 0x3F0000), bool(code & 0xFFFF)) for code in codes} == {
        *product((False, True), repeat=3)
    } - {(False, False, False)}


DIGESTS = {
    ("arith.addf", "f8E4M3FN", None): "b56592accb86a36d",
    ("arith.divf", "f32", None): "8c4f3e3699e6028f",
    ("arith.mulf", "f80", None): "e4342b934a5aecfb",
    ("arith.truncf", "f64", "f16"): "a23accf11f87d453",
    ("arith.sitofp", "i64", "bf16"): "ca247c4aa05285e3",
    ("math.fma", "f8E4M3FN", None): "19253b7c28dcf1df",
}


@pytest.mark.long
@pytest.mark.parametrize("key", list(DIGESTS), ids=str)
def test_models_give_the_same_operands_on_any_machine(key: tuple[str, str, str | None]) -> None:
    op, source, target = key
    rows = rows_of_models(op_case(op, source, target), seed=1)
    columns = rows.part(0, rows.count)
    digest = hashlib.sha256(b"".join(column.astype(column.dtype.newbyteorder("<")).tobytes() for column in columns))
    assert digest.hexdigest()[:16] == DIGESTS[key]


def test_errors() -> None:
    with pytest.raises(ValueError, match="unknown model 'B30'; choose one of B1, "):
        filled_models(op_case("arith.addf", "f32"), ["B30"])
    with pytest.raises(Unsupported, match=r"none of the models B20 applies to arith.addf f32"):
        rows_of_models(op_case("arith.addf", "f32"), ["B20"])
    with pytest.raises(Unsupported, match="no model applies to arith.addi i32"):
        rows_of_models(op_case("arith.addi", "i32"))


# --- function models --------------------------------------------------------------------------------------------------
#
# Models of elementary functions: what they claim of their rows is computed again by MPFR, or known from elsewhere.

F32, F64, BF16 = FORMATS["f32"], FORMATS["f64"], FORMATS["bf16"]

F1, F2, F3, F4, F5, F6 = functions_MODELS


def case(name: str, *types: str) -> ModelCase:
    sources = tuple(FORMATS[word] if word in FORMATS else Integer(int(word[1:]), True) for word in types)
    kinds = ["function", "function of two", "function of an integer"]
    kind = kinds[0 if len(sources) == 1 else 1 + isinstance(sources[1], Integer)]
    return ModelCase(kind, sources, sources[0], name)


def halves(function: str, fmt: FloatFormat, *codes: int) -> Fraction:
    """Return a result in half ulps, with its sign, by MPFR."""
    numbers = [scalar.value(fmt, code) for code in codes]
    with gmpy2.context(precision=1200, emin=-(1 << 19), emax=1 << 19):
        operands = [gmpy2.mpfr(gmpy2.mpq(n.numerator, n.denominator)) for n in numbers if n is not None]
        found = operands[0] ** operands[1] if function == "powf" else getattr(gmpy2, function)(*operands)
    numerator, denominator = found.as_integer_ratio()
    number = Fraction(int(numerator), int(denominator))
    return number / (ulp_at(fmt, abs(number)) / 2)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "types", "models"),
    [
        ("exp", ["f32"], "B1 B9 F1 F2 F4 F5"),
        pytest.param("sin", ["f32"], "B1 B9 F1 F2 F3 F5", marks=pytest.mark.exhaustive),
        ("rsqrt", ["f8E5M2"], "B1 B9 F1 F2 F4"),
        ("powf", ["f32", "f32"], "B1 F1 F2 F4 F5"),
        pytest.param("powf", ["f16", "i32"], "F1 F2 F4 F5 F6", marks=pytest.mark.exhaustive),
        pytest.param("atan2", ["f8E4M3", "f8E4M3"], "B1 F1 F2 F5", marks=pytest.mark.exhaustive),
    ],
)
def test_models_fill_their_buckets(name: str, types: list[str], models: str) -> None:
    asked = case(name, *types)
    applying = models_for(asked)
    assert " ".join(model.name for model in applying) == models
    for model in applying:
        made = fill(model, asked)
        assert made.empty == []
        assert coverage(model, asked, made.rows) == made.hits


@pytest.mark.long
@pytest.mark.parametrize(("name", "types"), [("exp", ["f32"]), ("log", ["f64"]), ("powf", ["f32", "f32"])])
def test_hard_cases_are_where_they_are_said_to_be(name: str, types: list[str]) -> None:
    asked = case(name, *types)
    fmt = asked.float_source
    for row in fill(F1, asked).rows:
        for sign, _, side, boundary in F1.fits(asked, row):
            found = halves(name, fmt, *row)
            nearest = round(found)
            assert abs(found - nearest) < Fraction(1, 1 << 6)
            assert boundary == ("a midpoint" if nearest % 2 else "a value")
            assert sign == "-+"[found > 0]
            assert side == ("above" if abs(found) > abs(nearest) else "below")


def test_hard_cases_come_in_turns() -> None:
    rows = hardest(case("exp", "f8E5M2"), 12)
    places = [tuple(F1.fits(case("exp", "f8E5M2"), row)) for row in rows]
    assert len(set(rows)) == len(rows) == 12
    assert len(set(places[:4])) >= 3


def test_thresholds_of_exp() -> None:
    """The last arguments before overflow and underflow of binary32: glibc's and CORE-MATH's thresholds."""
    rows = set(fill(F2, case("exp", "f32")).rows)
    overflow = scalar.from_fraction(F32, Fraction(float.fromhex("0x1.62e42ep+6"))).code
    underflow = scalar.from_fraction(F32, Fraction(float.fromhex("-0x1.9fe368p+6"))).code
    assert {(overflow,), (overflow + 1,), (underflow,), (underflow + 1,)} <= rows


def test_subnormal_results_of_each_leading_bit() -> None:
    made = fill(F5, case("exp", "f32"))
    leads = {str(bucket[2]) for bucket in made.hits} | {str(bucket[0]) for bucket in made.hits}
    assert leads == {"other", *(f"+2^{e}" for e in range(-149, -126))}
    for row in made.rows:
        results = [elementary.unary("exp", F32, row[0] + step).code for step in (-1, 0, 1)]
        assert any(F32.is_subnormal(code) for code in results)


def test_arguments_next_to_multiples_of_half_pi() -> None:
    made = fill(F3, case("cos", "f64"))
    assert len(made.hits) > 50
    with gmpy2.context(precision=1400):
        for row in made.rows:
            number = present(scalar.value(F64, row[0]))
            turns = gmpy2.mpfr(gmpy2.mpq(number.numerator, number.denominator)) * 2 / gmpy2.const_pi()
            assert abs(turns - gmpy2.rint(turns)) < 2**-50


def test_exact_powers() -> None:
    made = fill(F4, case("powf", "f32", "f32"))
    assert set(made.hits) == {("+", "a value"), ("-", "a value"), ("+", "a midpoint")}
    for row in made.rows:
        assert halves("powf", F32, *row).denominator == 1


def test_special_integers() -> None:
    made: Filled = fill(F6, case("powf", "bf16", "i8"))
    exponents = {row[1] for row in made.rows}
    assert exponents == {0, 1, 2, 3, 0xFF, 0xFE, 0xFD, 0x80, 0x7F}
    assert {row[0] for row in made.rows if BF16.is_infinite(row[0])} == {0x7F80, 0xFF80}


def test_every_step_of_a_small_format_is_found() -> None:
    fmt = FORMATS["f8E4M3"]
    rows = set(fill(F2, case("exp", "f8E4M3")).rows)
    classes = [scalar.unpack(fmt, elementary.unary("exp", fmt, code).code) for code in range(0x78)]
    infinite = [found.kind == scalar.INFINITE for found in classes]
    first = infinite.index(True)
    assert {(first - 1,), (first,)} <= rows
