"""The declarations of a kernel (faults, unspecified bits, exception flags) against its results.

Vector files have a column for each of these, or none, by the declaration alone.
"""

import random
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from present import present

from halfulp.conformance.comparing.check import ErrorBound, compare, error_bounds
from halfulp.conformance.comparing.inputs import every_input, is_exhaustive, sampled_inputs
from halfulp.conformance.comparing.op_case import OpCase, op_case, reference
from halfulp.conformance.ops.jobs import jobs
from halfulp.conformance.oracles import ORACLES
from halfulp.conformance.oracles.oracle import Answer, Status
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, Codes, codes_to_ints
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.run.evaluators import Elementwise
from halfulp.semantics.kernel import Kernel, Open
from halfulp.semantics.profile import PROFILES, SPEC, Profile

BITS = 12
"""Most bits of all operands that are enumerated: then everything declared must also happen."""

PROFILES_AND_MORE = (*PROFILES.values(), Profile(scaling="exact"), Profile(float_to_int="saturate"))


@cache
def cases(level: str) -> list[OpCase]:
    """Return the cases of a sweep of this level, and some with flags."""
    plan = dict.fromkeys(job.case for job in jobs(level))
    fastmath = [
        op_case(f"arith.{op}", "f4E2M1FN" if op == "addf" else "f6E3M2FN", fastmath=flags)
        for op in ("addf", "divf", "maxnumf")
        for flags in ("nnan", "ninf", "nsz", "reassoc", "nnan,nsz")
    ]
    integers = [
        op_case(f"arith.{op}", "i4", **flags)
        for op, flags in (
            ("addi", {"overflow": "nsw"}),
            ("muli", {"overflow": "nuw"}),
            ("shli", {"overflow": "nsw,nuw"}),
            ("divui", {"exact": True}),
            ("divsi", {"exact": True}),
            ("shrui", {"exact": True}),
        )
    ]
    return [asked for asked in [*plan, *fastmath, *integers] if isinstance(asked.definition.evaluate, Elementwise)]


def observed(kernel: Kernel, asked: OpCase, exhaustive: bool) -> tuple[set[str], int]:
    inputs = every_input(asked) if exhaustive else sampled_inputs(asked, 60)
    outcome = kernel.array(*inputs)
    opened = None if kernel.open is None else kernel.open(inputs, outcome.results)
    return {fault.reason for fault, _ in outcome.faults}, 0 if opened is None else int(np.bitwise_or.reduce(opened))


def chosen(every: int, profile: Profile) -> Iterator[OpCase]:
    """Return all cases, or one of every few, different ones for each profile."""
    rng = random.Random(profile.name)
    return (asked for asked in cases("full" if every == 1 else "sample") if rng.randrange(every) == 0)


@pytest.mark.long
@pytest.mark.parametrize("profile", PROFILES_AND_MORE, ids=lambda profile: profile.name)
@pytest.mark.parametrize("every", [16, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_faults_and_open_bits_are_declared(profile: Profile, every: int) -> None:
    enumerated = 0
    for asked in chosen(every, profile):
        exhaustive = is_exhaustive(asked, BITS)
        inputs = every_input(asked) if exhaustive else sampled_inputs(asked, 60)
        kernel = asked.kernel(asked.shape(inputs), profile)
        faults, opened = observed(kernel, asked, exhaustive)
        declared = {fault.reason for fault in kernel.faults}
        assert faults <= declared, asked
        assert opened & ~kernel.opens == 0, asked
        if exhaustive and profile is SPEC:
            enumerated += 1
            assert faults == declared, asked
            assert (opened ^ kernel.opens) & ~Open.NAN.value == 0, asked
    assert profile is not SPEC or enumerated > 10


@pytest.mark.long
@pytest.mark.parametrize("profile", [SPEC, PROFILES["ml_dtypes"], Profile(tininess="before", denormals="flush_both")])
def test_flags_are_those_of_the_specification(profile: Profile) -> None:
    rows = [
        ("arith.addf", "f8E5M2", None, "add", {}),
        ("arith.divf", "f8E4M3FN", None, "divide", {"rounding": "upward"}),
        ("arith.mulf", "f6E3M2FN", None, "multiply", {}),
        ("arith.remf", "f8E3M4", None, "remainder", {}),
        ("arith.subf", "f32", None, "subtract", {"rounding": "downward"}),
        ("arith.maximumf", "f8E5M2", None, "maximum", {}),
        ("arith.minnumf", "f16", None, "minimum_number", {}),
    ]
    for op, fmt, to, name, how in rows:
        asked = op_case(op, fmt, to, **how)
        inputs = every_input(asked) if is_exhaustive(asked, BITS) else sampled_inputs(asked, 3000)
        flags = present(asked.kernel(asked.shape(inputs), profile).flags)
        operation, width = getattr(scalar, name), asked.operand_widths[0]
        type_ = FORMATS[fmt]
        rounding = Rounding[how.get("rounding", "to_nearest_even").upper()]
        rounded = () if name.startswith(("m", "n")) and name != "multiply" else (rounding,)
        expected = [
            operation(type_, a, b, *rounded, profile.arithmetic).flags
            for a, b in zip(*(codes_to_ints(codes, width) for codes in inputs), strict=True)
        ]
        assert flags(*inputs).tolist() == expected, asked


def test_flags_of_conversions_and_comparisons() -> None:
    def flags(asked: OpCase) -> tuple[list[int], list[list[int]]]:
        inputs = sampled_inputs(asked, 2000)
        found = present(asked.kernel(asked.shape(inputs)).flags)
        return found(*inputs).tolist(), [codes_to_ints(c, w) for c, w in zip(inputs, asked.operand_widths, strict=True)]

    f = {name: FORMATS[name] for name in ("f32", "f16", "f8E4M3FN", "f4E2M1FN")}
    policy = SPEC.conversions
    found, (a,) = flags(op_case("arith.truncf", "f32", "f8E4M3FN", rounding="upward"))
    assert found == [scalar.convert(f["f32"], f["f8E4M3FN"], x, Rounding.UPWARD, policy).flags for x in a]
    found, (a,) = flags(op_case("arith.truncf", "f16", "f4E2M1FN"))
    assert found == [scalar.convert(f["f16"], f["f4E2M1FN"], x).flags for x in a]
    found, (a,) = flags(op_case("arith.sitofp", "i32", "f16"))
    assert found == [scalar.from_integer(f["f16"], x - (x >> 31 << 32)).flags for x in a]
    found, (a,) = flags(op_case("arith.fptoui", "f32", "i8"))
    assert found == [scalar.to_integer(f["f32"], x, 8, False).flags for x in a]
    found, (a, b) = flags(op_case("arith.cmpf", "f16", predicate="olt"))
    quiet = [0x10 * (f["f16"].is_signalling(x) or f["f16"].is_signalling(y)) for x, y in zip(a, b, strict=True)]
    assert found == quiet
    assert any(quiet)


def test_what_is_emulated_has_no_flags() -> None:
    assert op_case("arith.addf", "bf16").kernel((4,), PROFILES["iree-3.13"]).flags is None
    assert op_case("arith.addi", "i8").kernel((4,)).flags is None


# --- error bounds -----------------------------------------------------------------------------------------------------
#
# Error bounds: what lies within one is counted, everything else stays unexplained.

CASE = op_case("arith.addf", "f16")
INPUTS = (np.array([0x3C00, 0x3C00, 0x7C00, 0x8000, 0x7E01], np.uint16), np.array([0x3C00, 0, 0, 0x8000, 0], np.uint16))
RIGHT = reference(CASE, INPUTS)
"""2, 1, infinity, -0 and a NaN."""


def bound(ulps: int = 2, special: int = 0) -> ErrorBound:
    return ErrorBound("tool", ">=1,<2", "arith.addf", "f16", ulps, special, "a test")


def known(row: ErrorBound, answer: Codes, status: list[int] | None = None) -> tuple[int, int, int]:
    """Return the elements within the bound, those with known special values, and the unexplained ones."""
    given = Answer(answer, None if status is None else np.array(status, np.uint8))
    tally = compare(CASE, INPUTS, RIGHT, (given,), [row])
    return tally.known[row.name], tally.known[row.special_name], tally.unexplained


def moved(*steps: int) -> Codes:
    codes: Codes = (RIGHT.bits[0].astype(np.int64) + np.array(steps)).astype(np.uint16)
    return codes


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ((0, 0, 0, 0, 0), (0, 0, 0)),
        ((1, -2, 0, 0, 0), (2, 0, 0)),
        ((3, -2, 0, 0, 0), (1, 0, 1)),
        ((0, 0, -1, 0, 0), (1, 0, 0)),  # the largest value instead of infinity
        ((0, 0, 1, 0, 0), (0, 0, 1)),  # a NaN instead of infinity
        ((0, 0, 0, -0x8000, 0), (0, 0, 1)),  # +0 instead of -0
    ],
)
def test_only_results_within_the_bound_are_known(steps: tuple[int, ...], found: tuple[int, int, int]) -> None:
    assert known(bound(), moved(*steps)) == found


def test_special_values_are_known_if_the_row_has_their_number() -> None:
    answer = moved(5, 0, 1, -0x8000, 0)
    assert known(bound(), answer) == (0, 0, 3)
    assert known(bound(special=1), answer) == (0, 2, 1)


def test_poison_and_traps_are_never_known() -> None:
    assert known(bound(special=9), moved(1, 0, 0, 0, 0), [Status.POISON, Status.TRAP, 0, 0, 0]) == (0, 0, 2)


def test_rows_apply_to_their_tool_version_op_and_type() -> None:
    row = bound()
    assert row.applies("tool", "1.2", CASE)
    assert not row.applies("other", "1.2", CASE)
    assert not row.applies("tool", "2.0", CASE)
    assert not row.applies("tool", "1.2", op_case("arith.subf", "f16"))
    assert not row.applies("tool", "1.2", op_case("arith.addf", "bf16"))


def test_rows_name_oracles_and_ops() -> None:
    rows = error_bounds()
    assert len({(row.tool, row.op, row.type) for row in rows}) == len(rows)
    for row in rows:
        assert row.tool in ORACLES
        assert row.type in FORMATS
        assert row.ulps >= 0
        assert row.why
