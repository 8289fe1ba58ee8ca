"""`explain_dot`: the steps that it shows are right by hand and by exact arithmetic, and its result is the model's."""

import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from amounts import amounts
from tables import each_row

import halfulp as hu
from halfulp.codegen.tile_names import operation_named
from halfulp.command.main import main
from halfulp.explanations.dot import explain_dot
from halfulp.explanations.dot_steps import DotExplanation, ranges, rounding_rows
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.ir.errors import InputError, TypeMismatch, Unsupported
from halfulp.semantics.matrix_units import models as tiled
from halfulp.semantics.matrix_units.chips import MODELS
from halfulp.semantics.matrix_units.kinds import KINDS, TileOp, operation_of

NV, MFMA, FNUZ = "NV_MMA_SYNC_F32_16x8x16_F16", "MFMA_F32_16x16x16_F16", "MFMA_F32_16x16x32_F8E4M3FNUZ"
FP8, NVF4 = "wgmma.m64n8k32.f32.e4m3.e4m3", "tcgen05.m128n8k64.f32.e2m1.e2m1.f32.ue4m3.block16"


def p(exponent: int) -> float:
    return 2.0**exponent


def dot(kind: str, pairs: Sequence[tuple[Any, Any]], c: Any, mma: str, **how: Any) -> DotExplanation:
    """Return an explanation whose factors are these, then zeros."""
    op = operation_named(kind)
    size = op.shape[2] if op.order is None else len(op.order)
    row, column = ([pair[side] for pair in pairs] + [0] * (size - len(pairs)) for side in (0, 1))
    return explain_dot(kind, row, column, c, mma, **how)


def value(e: DotExplanation, code: int | None = None) -> Fraction:
    found = scalar.value(FORMATS[e.operation.d], e.result if code is None else code)
    assert found is not None
    return found


def lost(e: DotExplanation) -> dict[str, Fraction]:
    """Return the parts that terms lose in aligned sums."""
    return {t.label: t.lost for group in e.groups for each in group.sums for t in each.terms if t.lost}


def given_by(e: DotExplanation, model: str) -> tuple[float, str]:
    """Return the result of a model, and the reason for it."""
    (row,) = [row for row in e.models if model in row.models]
    return float(value(e, row.code)), row.why


CANCEL = [(1024, 1024), (-1024, 1024), *[(0, 0)] * 6, (p(-3), p(-3))]


def test_hopper_loses_what_cancellation_leaves() -> None:
    """2^20 - 2^20 + 2^-6. E = 20 and F = 25: a unit is 2^-5, and 2^-6 is half of one."""
    e = dot(NV, CANCEL, 0, "chip:hopper")
    (group,) = e.groups
    (aligned,) = group.sums
    assert (aligned.largest, aligned.leading, aligned.unit, aligned.zeros) == (20, "k = 0", -5, 14)
    zeros = "0" * 25
    assert [(t.label, t.kept, t.dropped) for t in aligned.terms] == [
        ("k = 0", f"+1.{zeros}", ""),
        ("k = 1", f"-1.{zeros}", ""),
        ("k = 8", f"+0.{zeros}", "1"),
    ]
    assert lost(e) == {"k = 8": Fraction(1, 64)}
    assert (e.exact, value(e)) == (Fraction(1, 64), 0)
    assert e.error == -(2**23)  # an ulp of 2^-6 is 2^-29
    assert given_by(e, "chip:hopper")[1] == "25 bits below the largest, cut to 23: cuts k = 8"


def test_ampere_splits_k() -> None:
    """The same sum: k = 0 to 7 cancel to 0; then E = -6, and 2^-6 is whole."""
    e = dot(NV, CANCEL, 0, "chip:ampere")
    assert [group.elements for group in e.groups] == [tuple(range(8)), tuple(range(8, 16))]
    assert [group.sums[0].largest for group in e.groups] == [20, -6]
    assert lost(e) == {}
    assert value(e) == Fraction(1, 64)
    assert given_by(e, "chip:ampere")[1] == "k in groups of 8, 24 bits below the largest, cut to 23: nothing lost"
    assert e.groups[1].sums[0].total.value == e.groups[1].roundings[0].exact == Fraction(1, 64)


def test_small_terms_on_hopper() -> None:
    """1 + 3 * 2^-26: each is half a unit of 2^-25. Rounded once it is 1 too, for 3 * 2^-26 is under half an ulp."""
    e = dot(NV, [(p(-13), p(-13))] * 3, 1, "chip:hopper")
    assert lost(e) == dict.fromkeys(("k = 0", "k = 1", "k = 2"), Fraction(1, 2**26))
    assert {t.dropped for t in e.groups[0].sums[0].terms} == {"", "1"}
    assert e.error == -Fraction(3, 8)
    assert given_by(e, "chip:hopper")[1].endswith("cuts k = 0, k = 1, k = 2")
    five = dot(NV, [(p(-13), p(-13))] * 5, 1, "chip:hopper")
    assert given_by(five, "chip:hopper")[1].endswith("cuts k = 0, k = 1, k = 2 and 2 more")
    assert given_by(five, "exact")[0] == 1 + p(-23)  # 5 * 2^-26 is above half of 2^-23


def test_the_sum_is_cut_toward_zero() -> None:
    """-1 - 3 * 2^-24: 6 units of 2^-25; the last place of the result is 2^-23, so half of what is below it is lost."""
    e = dot(NV, [(-1.5 * p(-12), p(-11))], -1, "chip:hopper")
    (rounding,) = e.groups[0].roundings
    assert rounding.exact == -1 - Fraction(3, 2**24)
    assert rounding.lost == -Fraction(1, 2**24)
    assert (rounding.how, value(e)) == ("toward zero, 23 fraction bits", -1 - Fraction(1, 2**23))
    assert given_by(e, "chip:hopper")[1].endswith(": cuts the sum")
    assert given_by(e, "exact")[0] == -1 - p(-22)  # a tie, to even
    assert e.error == Fraction(1, 2)


def test_f16_results_are_rounded_to_nearest() -> None:
    """2048 + 1 + 1: ulp 2. Each one is kept (F = 25), and 2050 is a value."""
    kind = "mma.m16n8k16.f16.f16.f16"
    e = dot(kind, [(1, 1), (1, 1)], 2048, "chip:hopper")
    assert value(e) == 2050
    assert e.groups[0].roundings[0].how == "to nearest even"
    assert given_by(e, "ieee")[0] == 2048  # 2049 is a tie, twice to even


@pytest.mark.parametrize(("chip", "type_"), [("hopper", "f16"), ("blackwell", "f16"), ("blackwell", "f32")])
def test_f8_by_mma_takes_two_instructions_and_then_adds_c(chip: str, type_: str) -> None:
    """2048 + 1 is 2048 in f16, where one step adds 1, and so on thrice. Where one step adds 1 + 1, it is 2050, and a tie
    with C. In f32 nothing is lost.
    """
    for ones, of_f16 in (((1, 2), 2048), ((2, 3), 2052), ((1, 4), 2052)):
        row, column = [32.0] + [0.0] * 31, [64.0] + [1.0] * 31
        for k in ones:
            row[k] = 1.0
        e = explain_dot(f"mma.m16n8k32.{type_}.e4m3.e4m3", row, column, 1, f"chip:{chip}")
        assert value(e) == (of_f16 if type_ == "f16" else 2051)
        first, second, last = e.groups
        assert first.elements == tuple(k for k in range(32) if k // 2 % 2 == 0)
        assert second.elements == tuple(k for k in range(32) if k // 2 % 2 == 1)
        assert (last.elements, last.title) == ((), "c")
        assert first.words == ["one instruction for f16, to which A and B are converted"]
        assert "step 3 of 3, c\n  c is added to the sum of the products\n" in str(e)


def test_f8_on_hopper_keeps_13_bits() -> None:
    """256 + 2^-6 has 14 places below 2^8: the last one is cut; then D has 13 fraction bits."""
    e = dot(FP8, [(16, 16), (p(-3), p(-3))], 0, "chip:hopper")
    assert lost(e) == {"k = 1": Fraction(1, 64)}
    assert e.groups[0].sums[0].unit == 8 - 13
    assert e.groups[0].roundings[0].how == "toward zero, 13 fraction bits"
    assert value(e) == 256


def test_a_zero_may_have_the_largest_exponent() -> None:
    """0 * 2^127 counts with -126 + 127 = 1: a unit is 2^-23, and 2^-26 is cut."""
    e = dot("NV_MMA_SYNC_F32_16x8x16_BF16", [(0, p(127)), (p(-13), p(-13))], 0, "chip:ampere")
    (first, _) = e.groups
    assert (first.sums[0].leading, first.sums[0].largest) == ("k = 0", 1)
    assert [t.label for t in first.sums[0].terms] == ["k = 0", "k = 1"]
    assert lost(e) == {"k = 1": Fraction(1, 2**26)}


def test_the_term_that_leads_is_no_zero_if_another_is_as_high() -> None:
    """Zero times 1 counts with the exponent -126, which 2^-63 * 2^-63 has, too."""
    e = dot("NV_MMA_SYNC_F32_16x8x16_BF16", [(0, 1), (p(-63), p(-63))], 0, "chip:hopper")
    (aligned,) = e.groups[0].sums
    assert (aligned.largest, aligned.leading, aligned.zeros) == (-126, "k = 1", 16)
    assert [term.label for term in aligned.terms] == ["k = 1"]


def test_cdna2_flushes() -> None:
    """2^-24 is subnormal in f16: it counts as zero, also times 2^14. So does C below 2^-126; results become zeros."""
    e = dot(MFMA, [(1, 1), (p(-24), p(14))], 0, "chip:cdna2")
    assert e.groups[0].flushed == ("k = 1",)
    assert (value(e), e.exact) == (1, 1 + Fraction(1, 2**10))
    assert given_by(e, "chip:cdna2")[1] == "k in groups of 4, products and sums of two rounded: flushes k = 1"
    assert given_by(e, "chip:cdna1")[0] == 1 + p(-10)
    of_c = dot(MFMA, [], "0x00000005", "chip:cdna2")
    assert of_c.groups[0].flushed == ("c",)
    assert of_c.result == 0


def test_cdna2_flushes_c_and_what_comes_to_stand_in_its_place() -> None:
    """1.5 * 2^-126 - 2^-126 is subnormal: the second group of four begins with zero."""
    kind = "MFMA_F32_16x16x16_BF16"
    e = dot(kind, [(p(-63), -p(-63))], 1.5 * p(-126), "chip:cdna2")
    assert value(e) == 0
    assert [group.flushed for group in e.groups] == [(), ("the sum so far",), (), ()]
    assert [group.flushed for group in dot(kind, [], p(-127), "chip:cdna2").groups] == [("c",), (), (), ()]


def test_only_what_is_cut_off_downward_from_negative_terms_counts_as_more() -> None:
    """2^-25 beside 1 has no place in C's 24 bits: it counts as 0, and -2^-25 as -2^-24."""
    up, down = (str(dot(MFMA, [(1, 1)], c, "chip:cdna3")) for c in (p(-25), -p(-25)))
    assert "counts as" not in up
    assert "loses 2.98023223876953125e-8\n" in up
    assert "loses 2.98023223876953125e-8: counts as -5.9604644775390625e-8\n" in down


def test_cdna1_adds_pairs() -> None:
    """(2^24 + 1) + (1 + 1) by pairs: 2^24, for 2^24 + 1 is a tie, and then 2^24 + 2. One by one all are lost."""
    e = dot(MFMA, [(4096, 4096), (1, 1), (1, 1), (1, 1)], 0, "chip:cdna1")
    first = e.groups[0]
    assert [r.label for r in first.roundings] == [
        "k = 0", "k = 1", "k = 2", "k = 3", "k = 0 to 1", "k = 2 to 3", "k = 0 to 3", "with c",
    ]  # fmt: skip
    assert [r.lost for r in first.roundings] == [0, 0, 0, 0, 1, 0, 0, 0]
    assert value(e) == 2**24 + 2
    assert given_by(e, "ieee")[0] == 2**24
    assert given_by(e, "exact")[0] == 2**24 + 4  # 2^24 + 3 is a tie


def test_cdna3_adds_c_downward() -> None:
    """1 and C = -2^-25: C keeps 24 bits below 2^0; downward it counts as -2^-24, a whole unit."""
    e = dot(MFMA, [(1, 1)], -p(-25), "chip:cdna3")
    _, with_c = e.groups[0].sums
    assert [(t.label, t.value, t.added) for t in with_c.terms] == [
        ("products", 1, 1),
        ("c", -Fraction(1, 2**25), -Fraction(1, 2**24)),
    ]
    assert (with_c.cuts, with_c.unit, with_c.terms[1].dropped) == (("downward",), -31, "1")
    assert value(e) == 1 - Fraction(1, 2**24)
    assert given_by(e, "exact")[0] == 1  # half an ulp of what is below 1: a tie, to even
    assert "loses 2.98023223876953125e-8: counts as -5.9604644775390625e-8" in str(e)


def test_cdna3_sums_even_and_odd_k() -> None:
    """4096 + 1 in even k, 2^-12 in odd k; when both meet, E = 12 and a unit is 2^-12, so that nothing is lost."""
    e = dot(FNUZ, [(64, 64), (p(-6), p(-6)), (1, 1)], 0, "chip:cdna3")
    even, odd, both, with_c = e.groups[0].sums
    assert [t.label for t in even.terms] == ["k = 0", "k = 2"]
    assert [t.label for t in odd.terms] == ["k = 1"]
    assert (even.largest, odd.largest, both.largest) == (12, -12, 12)
    assert lost(e) == {}
    assert [t.label for t in both.terms] == ["even k", "odd k"]
    assert (with_c.total.value, value(e)) == (4097 + Fraction(1, 2**12), 4097)  # a tie of f32, to even
    assert with_c.terms[0].label == "products"


def test_block_scales() -> None:
    """nvf4: the first 16 products are added exactly, 1.5 * 2 + 3 * 4 = 15, times the scales 1.125 and 2."""
    scales = {"scale_a": [1.125, 1, 1, 1], "scale_b": [2, 1, 1, 1]}
    e = dot(NVF4, [(1.5, 2), (3, 4)], 0, "chip:blackwell", **scales)
    assert value(e) == e.exact == Fraction("33.75")
    assert e.products[:2] == (Fraction("6.75"), Fraction(27))
    (aligned,) = e.groups[0].sums
    assert aligned.terms[0].label == "k = 0 to 15"
    assert aligned.terms[0].value == Fraction("33.75")
    assert "1.125 (0x39) * 2 (0x40)" in str(e)


def test_signs_of_scales() -> None:
    """Chips have no sign in ue4m3: 1.5 * -2 counts as 3, where the sum has -3; products of zero have no sign to lose."""
    scales = {"scale_a": [-2, -1, 1, 1], "scale_b": [1, -1, 1, -1]}
    pairs = [(1.5, 1)] + [(0, 0)] * 15 + [(1, 1)]
    e = dot(NVF4, pairs, 0, "chip:blackwell", **scales)
    assert (value(e), e.exact) == (4, -2)
    assert e.groups[0].words == ["the signs of scales do not count: k = 0"]
    assert given_by(e, "chip:blackwell")[1].endswith(": ignores signs of scales")
    assert given_by(e, "ieee") == (-2, "fused multiply-adds one by one: nothing lost")
    assert dot(NVF4, pairs, 0, "chip:blackwell", scale_a=[2, -1, 1, 1], scale_b=[1, -1, 1, -1]).groups[0].words == []


def test_notes_of_equal_numbers_are_one() -> None:
    e = explain_dot(NV, [0.1, 1, 0.1, 0.1, "0.3"] + [0] * 11, [1] * 16, 0.1)
    assert e.notes[:2] == (
        "a[0, 2 to 3]: 0.1 is not a value of f16: 0.0999755859375 (0x2E66)",
        "a[4]: 0.3 is not a value of f16: 0.300048828125 (0x34CD)",
    )
    assert [note.partition(":")[0] for note in e.notes[2:]] == ["c"]


def test_zeros_have_signs() -> None:
    """A sum of negative zeros is -0, with one positive zero among them +0; NVIDIA's chips give +0 anyway."""
    e = dot(NV, [("-0", 1)] * 16, "-0", "exact")
    assert e.result == 0x80000000
    assert ("rounded once", "-0 (0x80000000)") in e.result_rows()
    assert ("k = 15", "-0 (0x8000)", "1 (0x3C00)", "0") in e.operand_rows()
    assert {row.models[0]: row.code for row in e.models} == {
        "exact": 1 << 31,
        "ieee": 1 << 31,
        "chip:ampere": 0,
        "chip:hopper": 0,
    }
    mixed = dot(NV, [("-0", 0)] * 15, "-0", "exact")
    assert ("rounded once", "0 (0x00000000)") in mixed.result_rows()
    assert [row[0] for row in mixed.operand_rows()] == ["", *(f"k = {k}" for k in range(15)), "c", "1 more"]
    (first, *_) = dot(MFMA, [(1, 1), ("-0", 1), ("-0", 1), ("-0", 1)], 0, "chip:cdna1").groups
    minus = [row[0] for row in rounding_rows(first.roundings) if row[2] == "-0 (0x80000000)"]
    assert minus == ["k = 1", "k = 2", "k = 3", "k = 2 to 3"]


def test_ieee_one_by_one() -> None:
    """2^24 + 1 is a tie, to even: 2^24; so is the next one."""
    e = dot(NV, [(4096, 4096), (1, 1), (1, 1)], 0, "ieee")
    (group,) = e.groups
    assert [(r.label, r.lost) for r in group.roundings] == [
        ("+ k = 0", 0),
        ("+ k = 1", 1),
        ("+ k = 2", 1),
        ("+ k = 15", 0),
    ]
    assert given_by(e, "ieee") == (2.0**24, "fused multiply-adds one by one: 2 inexact steps on the way")


@pytest.mark.long
def test_ieee_scales_first() -> None:
    """57344 * 2^127 is beyond f32, which 2^-16 * 2^-127 cannot undo; the exact product is 0.875."""
    kind = "MFMA_SCALE_F32_16x16x128_B32"
    types: dict[str, Any] = {"a_type": "f8E5M2", "b_type": "f8E5M2"}
    row, column = [57344] + [0] * 127, [p(-16)] + [0] * 127
    e = explain_dot(kind, row, column, 0, "ieee", scale_a=["0xFE"] * 4, scale_b=["0x00"] * 4, **types)
    (group,) = e.groups
    assert group.note == "scaled elements are rounded to f32: k = 0"
    assert [r.label for r in group.roundings] == ["+ k = 0", "+ k = 127"]
    assert (e.exact, e.result) == (Fraction(7, 8), 0x7F80_0000)
    assert e.models[0].why == "fused multiply-adds one by one: rounds scaled k = 0, overflows"
    kept = explain_dot(kind, row, column, 0, "ieee", scale_a=["0x80"] * 4, scale_b=["0x7E"] * 4, **types)  # 2 and 0.5
    assert (kept.groups[0].note, value(kept)) == ("", Fraction(7, 8))


def test_infinities_and_nans() -> None:
    e = dot(NV, [("inf", 1), (1, 2)], 0, "chip:hopper")
    assert (e.exact, e.products[0], e.result, e.error) == (None, None, 0x7F80_0000, None)
    assert e.groups[0].note == "infinities and NaNs decide"
    assert "25 bits below the largest, cut to 23: infinities and NaNs decide" in str(e)
    of_amd = dot(MFMA, [("nan", 1)], 0, "exact")
    assert dict(of_amd.unpublished)["not published with infinite or NaN operands"] == (
        "chip:cdna1",
        "chip:cdna2",
        "chip:cdna3",
    )
    with pytest.raises(Unsupported, match="chip:cdna3: how hardware computes MFMA.* with infinite or NaN operands"):
        dot(MFMA, [("nan", 1)], 0, "chip:cdna3")
    # 2^127 + 2^127 is not a value of f32; Ampere's second group then has an infinity to add to.
    over = dot("NV_MMA_SYNC_F32_16x8x16_BF16", [(p(127), 1)], p(127), "chip:ampere")
    assert (over.result, over.error, over.exact) == (0x7F80_0000, None, 2**128)
    assert over.groups[0].roundings[0].exact == 2**128
    assert over.groups[1].note == "infinities and NaNs decide"
    assert over.models[0].why.endswith(": overflows")


def test_integers() -> None:
    e = dot("MFMA_I32_16x16x16_I8", [(100, 127), (-128, -128)], 2**31 - 1, "chip:cdna1")
    assert (e.exact, e.groups, e.error) == (12700 + 16384 + 2**31 - 1, (), None)
    assert e.result == 12700 + 16384 + 2**31 - 1
    assert "result  -2147454565 (0x8000719B)" in str(e)
    assert e.models[0].models == ("chip:cdna1", "exact", "ieee", "chip:cdna2")


# --- against the model, and exact arithmetic --------------------------------------------------------------------------

INSTRUCTIONS = (
    "mma.m8n8k4.f32.f16.f16", "mma.m8n8k4.f32.f16.f16.f16", "mma.m16n8k8.f32.tf32.tf32", "mma.m16n8k16.f16.f16.f16",
    "mma.m16n8k32.f32.e4m3.e5m2", "mma.m16n8k32.f16.e5m2.e5m2", "mma.m8n8k4.f64.f64.f64", FP8,
    "wgmma.m64n256k16.f32.bf16.bf16", "tcgen05.m128n64k32.f32.e5m2.e4m3.f32.ue8m0.block32", NVF4,
    "mma.m16n8k64.f32.e2m1.e2m1.f32.ue8m0.block32", "mfma.m32n32k4.f32.tf32.tf32",
)  # fmt: skip


def operations() -> dict[str, TileOp]:
    of_kinds = {name: operation_of(kind, "f8E5M2", "f4E2M1FN") for name, kind in KINDS.items()}
    return of_kinds | {name: operation_named(name) for name in INSTRUCTIONS}


def some_code(type_: str, rng: random.Random) -> int:
    """Zeros, numbers about one, where terms meet, and any finite ones."""
    if type_ not in FORMATS:
        return rng.getrandbits(int(type_[1:]))
    fmt = FORMATS[type_]
    while True:
        code, choice = rng.getrandbits(fmt.bits), rng.random()
        if choice < 0.2:
            code = 0
        elif choice < 0.8 and fmt.mantissa_bits:
            mask = ((1 << fmt.exponent_bits) - 1) << fmt.mantissa_bits
            code = code & ~mask | (fmt.bias + rng.randrange(-3, 3) << fmt.mantissa_bits) & mask
        if scalar.value(fmt, code) is not None:
            return code


def tile(type_: str, shape: tuple[int, int], rng: random.Random) -> Any:
    codes = [some_code(type_, rng) for _ in range(shape[0] * shape[1])]
    dtype = FORMATS[type_].storage_dtype if type_ in FORMATS else np.dtype(f"u{int(type_[1:]) // 8}")
    return np.array(codes, dtype).reshape(shape)


def consistent(e: DotExplanation) -> None:
    """Sums are those of what is shown, bits are those of the terms, and steps follow one another."""
    if not e.groups:
        return
    covered = [k for group in e.groups for k in group.elements]
    assert sorted(covered) == list(range(len(e.a)))
    assert e.groups[-1].roundings[-1].code == e.result
    for group in e.groups:
        for each in group.sums:
            assert each.total.value == sum(t.added for t in each.terms)
            for t in each.terms:
                whole, _, fraction = t.kept[1:].partition(".")
                kept = Fraction(int(whole + fraction, 2)) * Fraction(2) ** (each.largest - len(fraction))
                assert t.kept[0] == ("-" if t.value < 0 else "+")
                assert abs(t.value) - kept >= 0
                assert (t.added == (-kept if t.value < 0 else kept)) or each.cuts == ("downward",)
                assert bool(t.dropped) == (kept != abs(t.value))
                assert t.added <= t.value if each.cuts == ("downward",) else abs(t.added) <= abs(t.value)
        if group.sums:
            assert group.roundings[-1].exact == group.sums[-1].total.value


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("step", amounts(4, 1))
def test_random_elements(model: str, step: int) -> None:
    """An element of a random tile, for one of ``step`` operations that the model has: the result is the tile's."""
    rng = random.Random(model)
    asked = 0
    supported = [(name, op) for name, op in operations().items() if tiled.supports(model, op)]
    for name, op in supported[::step]:
        k = op.shape[2] if op.order is None else len(op.order)
        a, b, c = tile(op.a, (2, k), rng), tile(op.b, (k, 3), rng), tile(op.c, (2, 3), rng)
        scales = []
        if op.scale:
            scales = [tile(op.scale, (2, k // op.block), rng), tile(op.scale, (k // op.block, 3), rng)]
            scales = [each & 0x7F for each in scales]
        wanted = tiled.multiply_accumulate(model, op, a, b, c, *scales)
        i, j = rng.randrange(2), rng.randrange(3)

        def shown(array: Any) -> list[list[str]]:
            return [[hex(code) for code in row] for row in array.tolist()]

        open_types = {} if name in INSTRUCTIONS or KINDS[name].types[0] else {"a_type": op.a, "b_type": op.b}
        named: dict[str, Any] = dict(zip(("scale_a", "scale_b"), map(shown, scales), strict=False))
        e = explain_dot(name, shown(a), shown(b), shown(c), model, element=(i, j), **named, **open_types)
        assert e.result == wanted[i, j], name
        assert e.model == e.models[0].models[0] == model
        consistent(e)
        exact = None if e.exact is None else e.exact
        products = [product for product in e.products if product is not None]
        if exact is not None and op.c in FORMATS:
            assert exact == sum(products, scalar.value(FORMATS[op.c], e.c) or Fraction(0))
        assert str(e).startswith(f"{name}: ")
        asked += 1
    assert asked


# --- what is given ----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_operands() -> None:
    """Lists, arrays, values; rows, columns and whole tiles; decimals are rounded, and that is said."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(-4, 5, (16, 16)).astype(np.float16), rng.integers(-4, 5, (16, 8)).astype(np.float16)
    c = np.full((16, 8), 0.5, np.float32)
    wanted = float(a[3].astype(np.float64) @ b[:, 5].astype(np.float64) + 0.5)
    rows: tuple[tuple[Any, Any, Any, dict[str, Any]], ...] = (
        (a[3], b[:, 5], c[3, 5:6], {}),
        (a[3].tolist(), b[:, 5].tolist(), "0.5", {}),
        (a, b, c, {"element": (3, 5)}),
        (a.tolist(), b.tolist(), 0.5, {"element": (3, 5)}),
        (hu.Value.from_numpy(a), hu.Value.from_numpy(b), hu.Value.from_numpy(c), {"element": (3, 5)}),
        (hu.Value.from_numpy(a[3]), [hex(code) for code in b[:, 5].view(np.uint16).tolist()], "0x3F000000", {}),
    )
    for row, column, addend, how in rows:
        e = explain_dot(NV, row, column, addend, "chip:hopper", **how)
        assert value(e) == wanted
        assert e.notes == ()
    bf16 = np.ones(16, ml_dtypes.bfloat16)
    assert value(explain_dot("NV_MMA_SYNC_F32_16x8x16_BF16", bf16, bf16)) == 16
    codes = np.full(32, 0x3C, np.uint8)  # 1.5
    assert value(explain_dot(FP8, codes, codes.view(ml_dtypes.float8_e4m3fn))) == 72
    rounded = explain_dot(NV, [0.3] + [0] * 15, ["1/3"] + [0] * 15)
    assert rounded.notes == (
        "a[0]: 0.3 is not a value of f16: 0.300048828125 (0x34CD)",
        "b[0]: 1/3 is not a value of f16: 0.333251953125 (0x3555)",
    )
    assert "note  a[0]: 0.3 is not a value of f16" in str(rounded)


def test_several_instructions() -> None:
    """K twice as long: the second instruction adds to what the first one gave."""
    e = explain_dot(NV, [1] * 32, [1] * 32, 0, "chip:ampere")
    assert [group.title for group in e.groups] == ["k = 0 to 7", "k = 8 to 15", "k = 16 to 23", "k = 24 to 31"]
    assert value(e) == 32
    virtual = explain_dot("VMFMA_F32_16x16x32_F16", [1] * 32, [1] * 32, 0, "chip:cdna3")
    assert virtual.groups[0].title == "k = 0 to 3, 8 to 11"


def test_a_kind_in_its_attribute() -> None:
    for text in (f"#iree_gpu.mma_layout<{NV}>", f"#iree_gpu.mma_layout<{NV}, col_major = true>"):
        assert dot(text, CANCEL, 0, "chip:hopper").title == dot(NV, CANCEL, 0, "chip:hopper").title
    assert operation_named("#iree_gpu.virtual_mma_layout<VMFMA_F32_16x16x32_F16>").name == "VMFMA_F32_16x16x32_F16"


def test_ranges() -> None:
    assert ranges([0, 1, 2, 5, 7, 8]) == "0 to 2, 5, 7 to 8"
    assert ranges([3]) == "3"


@each_row(
    ("MFMA_F32_16x16x16_F1", {}, InputError, "no tile operation is called 'MFMA_F32_16x16x16_F1'"),
    ("mma.m16n8k16.f32.f17.f16", {}, InputError, "'f17' is not an element type"),
    ("mma.m16n8k16.f16.bf16.bf16", {}, InputError, "A's bf16 has values that D's type f16 does not have"),
    ("mma.m16n8k0.f32.f16.f16", {}, InputError, "has 0 elements along K"),
    ("mma.m1n1k70000.f32.f16.f16", {}, InputError, r"(?s)has 70000 elements along K.*give 1 to 4,096 elements"),
    ("mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block24", {}, InputError, "has 64 elements along K in blocks of 24"),
    ("MFMA_SCALE_F32_16x16x128_B32", {}, InputError, "does not fix the types of A and B"),
    ("MFMA_SCALE_F32_16x16x128_B32", {"a_type": "i8", "b_type": "i8"}, InputError, "must be a float type"),
    ("MFMA_SCALE_F32_16x16x128_B32", {"a_type": "f128", "b_type": "f16"}, InputError, "type whose values f32 has, too"),
    ("MFMA_SCALE_F32_16x16x128_B32", {"a_type": "f16", "b_type": "f64"}, InputError, "b_type is 'f64', but must be"),
    (NV, {"a_type": "f32"}, InputError, "a_type is 'f32', but NV.* has f16"),
    (FP8, {"a_type": "f32"}, InputError, "has its own element types: leave out the types of A and B"),
    (NV, {"mma": "chip:hoper"}, InputError, "no model is called 'chip:hoper'"),
    (NV, {"mma": 5}, InputError, "no model is called '5'"),
    (7, {}, InputError, "no tile operation is called '7'"),
    ("MFMA_SCALE_F32_16x16x128_B32", {"a_type": 5, "b_type": "f16"}, InputError, "'5' is not an element type"),
    (NV, {"element": (0.5, 1)}, InputError, r"element is \(0.5, 1\), but must be the row and the column"),
    (NV, {"element": (0, 0, 0)}, InputError, r"element is \(0, 0, 0\), but must be"),
    (NV, {"element": 3}, InputError, "element is 3, but must be"),
    (NV, {"mma": "chip:volta"}, Unsupported, "chip:volta: how hardware computes NV_MMA_SYNC_F32_16x8x16_F16 is not"),
    ("VDMFMA_F32_8x16x64x1_F16", {"a": [1] * 64, "b": [1] * 64}, Unsupported, "exact: how hardware computes VDMFMA"),
    (NV, {"a": [1] * 8, "b": [1] * 8}, InputError, "takes 16 elements along K, or a multiple of that; a has 8, b has 8"),
    (NV, {"b": [1] * 32}, InputError, "a has 16, b has 32"),
    (NV, {"a": []}, InputError, "a has 0, b has 16"),
    (NV, {"a": [1] * 20000}, InputError, "a has 20000 elements; at most 16384 can be explained"),
    (NV, {"a": ["x"] * 16}, InputError, r"a\[0\]: 'x' is not a number"),
    (NV, {"a": ["0x12345"] * 16}, InputError, r"a\[0\]: the bit pattern 0x12345 does not fit the 16 bits of f16"),
    (NV, {"a": [None] * 16}, InputError, r"a\[0\]: explain takes a number"),
    (NV, {"a": np.ones(16, np.float32)}, TypeMismatch, "a: expected 'tensor<16xf16>', got an array of dtype float32"),
    (NV, {"a": np.ones((16, 16), np.float16)}, InputError, "a has 2 dimensions: give one row, or name the element"),
    (NV, {"a": np.ones(16, np.float16), "element": (0, 0)}, InputError, "a has 1 dimensions, but with element"),
    (NV, {"c": [1, 2]}, InputError, "c has 2 elements: give one element"),
    (NV, {"element": (0, 0)}, InputError, "a must be a tile, a list of rows"),
    (NV, {"a": [[1] * 16], "b": [[1]] * 16, "element": (1, 0)}, InputError, "element: a has no 1, only 0 to 0"),
    (NV, {"a": [[1] * 16], "b": [[1]] * 16, "element": (0, 2)}, InputError, "element: b has no 2, only 0 to 0"),
    (NV, {"a": hu.Value.from_numpy(np.ones(16, np.float32))}, InputError, "a is of type 'tensor<16xf32>'"),
    (NV, {"scale_a": [1], "scale_b": [1]}, InputError, "has no scales: leave out scale_a and scale_b"),
    (NVF4, {"a": [1] * 64, "b": [1] * 64}, InputError, "has a scale for 16 elements of A and B each"),
    (NVF4, {"a": [1] * 64, "b": [1] * 64, "scale_a": [1], "scale_b": [1] * 4}, InputError, "scale_a has 1 elements"),
    ("MFMA_I32_16x16x16_I8", {"a": [300] * 16}, InputError, r"a\[0\]: "),
    ("MFMA_I32_16x16x16_I8", {"a": ["poison"] * 16}, InputError, r"a\[0\]: an element is poison, but must be a number"), every=6,
)  # fmt: skip
def test_errors(kind: Any, how: dict[str, Any], error: Any, message: str) -> None:
    given = {"a": [1] * 16, "b": [1] * 16, **how}
    with pytest.raises(error, match=message):
        explain_dot(kind, given.pop("a"), given.pop("b"), **given)


def test_html() -> None:
    shown = dot(NV, CANCEL, 0, "chip:hopper")._repr_html_()
    assert shown.startswith('<div class="hfp">')
    assert "<del><code>1</code></del>" in shown
    assert "not published: chip:volta" in shown
    assert "<script" not in dot(NV, [("0.1", 1)], 0, "exact")._repr_html_()


@pytest.mark.long
def test_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given = {"--mma": "chip:hopper", "--a": "1024 -1024 0*6 0.125 0*7", "--b": "1024,1024,0*6,0.125,0*7"}

    def words(**more: str) -> list[str]:
        settings = given | {f"--{name}": value for name, value in more.items()}
        return ["explain", "dot", NV, *(f"{name}={value}" for name, value in settings.items())]

    assert main(words()) == 0
    assert capsys.readouterr().out == f"{dot(NV, CANCEL, 0, 'chip:hopper')}\n"
    np.save(tmp_path / "a.npy", np.ones((16, 16), np.float16))
    np.save(tmp_path / "c.npy", np.full((16, 8), 2, np.float32))
    files = [f"--a=@{tmp_path}/a.npy", f"--b=@{tmp_path}/a.npy", f"--c=@{tmp_path}/c.npy", "--element=15,3"]
    assert main(["explain", "dot", NV, *files]) == 0
    assert "result        18 (0x41900000)" in capsys.readouterr().out
    np.save(tmp_path / "bf16.npy", np.full((16,), 1.5, ml_dtypes.bfloat16))
    assert main(["explain", "dot", "NV_MMA_SYNC_F32_16x8x16_BF16", f"--a=@{tmp_path}/bf16.npy", "--b=1*16"]) == 0
    assert "result        24 (0x41C00000)" in capsys.readouterr().out
    scaled = ["--a=1*64", "--b=0.5*64", "--scale-a=2*4", "--scale-b=1*4", "--mma=chip:blackwell"]
    assert main(["explain", "dot", NVF4, *scaled]) == 0
    assert "result        64 (0x42800000)" in capsys.readouterr().out
    assert main([*words(), "--c", "-1e5"]) == 0
    assert "-100000 (0xC7C35000)" in capsys.readouterr().out
    assert main(words(html=f"{tmp_path}/dot.html")) == 0
    assert capsys.readouterr().out == ""
    page = (tmp_path / "dot.html").read_text(encoding="utf-8")
    assert page == dot(NV, CANCEL, 0, "chip:hopper").html()
    assert page.startswith("<!doctype html>")
    for more, code, said in (
        ({"html": "/no/such/folder/dot.html"}, 2, "/no/such/folder/dot.html"),
        ({"mma": "chip:hoper"}, 2, "did you mean `chip:hopper`?"),
        ({"mma": "chip:volta"}, 3, "is not published"),
        ({"c": "1 2"}, 2, "--c takes one number, not 2"),
        ({"c": "@no.npy"}, 2, "cannot read 'no.npy'"),
        ({"a": "1*9999 1*9999 1*9999 1*9999 1*9999 1*9999 1*9999"}, 2, "--a has more than 65536 values"),
        ({"a": "1*999999999999"}, 2, "--a has more than 65536 values"),
        ({"a": "1*20000"}, 2, "a has 20000 elements; at most 16384"),
    ):
        assert main(words(**more)) == code
        assert said in capsys.readouterr().err
    assert main([*words(), "--element=3"]) == 2
    assert "'3' is not I,J as in 3,5" in capsys.readouterr().err


def test_an_accumulator_of_ones_own() -> None:
    """16 + 1 by a shifter of 3 places: 1 is 4 binades below. Then -0.25, of which a sticky bit of 2^0 is left: 16 - 1."""
    text = "custom:tree=sequential,bits=4,cut=to_odd,c_shifter=3,partial=to_nearest_even"
    e = dot("mma.m16n8k8.f32.f16.f16", [(4, 4), (-0.25, 1)], 1, text)
    (group,) = e.groups
    first, second = group.sums[:2]
    assert [(t.label, t.value, t.added) for t in first.terms] == [("c", 1, 0), ("k = 0", 16, 16)]
    assert [(t.label, t.value, t.added) for t in second.terms] == [
        ("c and k = 0", 16, 16),
        ("k = 1", Fraction(-1, 4), -1),
    ]
    assert value(e) == 15
    assert [rounding.exact for rounding in group.roundings][:2] == [16, 15]
    assert e.models[0].models == (text,)
    assert [row.models for row in e.models[1:3]] == [("exact",), ("ieee",)]
    assert "loses 0.75: counts as -1" in str(e)
    assert dot("mma.m16n8k8.f32.f16.f16", [(4, 4)], 1, hu.Accumulator(bits=4)).model == "custom:bits=4"  # type: ignore[arg-type]


@pytest.mark.long
@each_row(
    "custom:", "custom:bits=9,products=rounded,partial=upward", "custom:group=3,bits=70", "custom:tree=halves,bits=5,c=last",
    "custom:bits=9,group=3,order=1,c=end,steps=f16", "custom:c=end,tree=sequential,partial=to_nearest_even",
    "custom:bits=8,flush=true,group=2", "custom:tree=neighbours,partial=toward_zero", "custom:tree=even_odd,c=last,bits=6", every=4,
)  # fmt: skip
def test_the_steps_of_any_accumulator_lead_to_its_result(text: str) -> None:
    dice = random.Random(text)
    for _ in range(10):
        pairs = [(dice.choice((0.5, -3, 1.25, 0, 2.0**-20, 100)), dice.choice((1, -0.75, 2.0**-9))) for _ in range(8)]
        e = dot("mma.m16n8k8.f32.f16.f16", pairs, dice.choice((0, 1, -2.5)), text)
        assert sum(len(group.elements) for group in e.groups) == 8
        assert (e.groups[-1].title == "c") == ("c=end" in text)
        assert e.groups[-1].roundings[-1].code == e.result
        for group in e.groups:
            for each in group.sums:
                assert sum(t.added for t in each.terms) == each.total.value
            for rounding in group.roundings:
                mode = Rounding[rounding.how.partition(",")[0].replace(" ", "_").upper()]
                assert rounding.exact is not None
                exactly = scalar.from_fraction(rounding.format, rounding.exact, mode).code
                codes = (rounding.code, exactly)  # +0 and -0 are equal here
                assert len({scalar.value(rounding.format, code) for code in codes}) == 1


def test_a_register_in_fixed_point() -> None:
    """4 + 9 = 13 is beyond 8 bits down to 2^-4, which end below 8: 13 + 1/16 - 16 = -2.9375. Then 1 + 3/16."""
    found = hu.explain_dot(
        "mma.m1n1k4.f32.f16.f16", [2, 3, -1, 0.3], [2, 3, -1, 0.7], 0.1, "custom:lsb=-4,msb=3,group=2"
    )
    lines = [" ".join(line.split()) for line in str(found).splitlines()]
    assert "c +0000.0001|10011001100110011001101 0.10000000149... loses 0.0375000014901..." in lines
    assert "k = 1 +1001.0000 9" in lines
    assert "register -0010.1111 -2.9375" in lines
    assert any("the sum 13.0625 = 209/16 = 209 * 2^-4 is out of its range and wraps around" in line for line in lines)
    assert "sum so far -10.1111 -2.9375" in lines
    assert "register to nearest even -1.75 (0xBFE00000)" in lines
    assert found.models[0].why == "k in groups of 2, a register of 8 bits down to 2^-4: cuts c, k = 3, wraps around"
    assert "a register of 8 bits" in found._repr_html_()
    # Infinities have no sums; the last group gives the result.
    special = hu.explain_dot("mma.m1n1k4.f32.f16.f16", [2, "inf", 0, 0], [2, 3, 0, 0], 0, "custom:lsb=-4,group=2,c=end")
    assert [group.note for group in special.groups[:2]] == ["infinities and NaNs decide"] * 2
    assert special.groups[1].roundings[0].code == 0x7F800000
