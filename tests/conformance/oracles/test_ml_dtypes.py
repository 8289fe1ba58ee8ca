"""ml_dtypes as an oracle: every answer agrees with the specification, or is a known divergence."""

from collections.abc import Iterator

import numpy as np
import pytest
from amounts import amounts, thinned
from present import present

from halfulp.conformance.comparing.check import Tally, check
from halfulp.conformance.comparing.divergences import Divergence, divergences
from halfulp.conformance.comparing.inputs import every_input, is_exhaustive, sampled_inputs
from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.conformance.oracles.libraries import MlDtypes
from halfulp.fp_formats.formats import FORMATS, ints_to_codes
from halfulp.interp.dialects.arith.ops import CMPF_PREDICATE
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.types import FloatType
from halfulp.interp.values.coerce import natural_dtypes

ORACLE = MlDtypes()
ROWS = [row for row in divergences() if "ml_dtypes" in row.tools]
BINARY = ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf")
SMALL = [name for name, fmt in FORMATS.items() if fmt.bits <= 8]
TYPES = [type_.format.name for type_ in natural_dtypes() if isinstance(type_, FloatType)]
INTEGERS = ("i1", "i8", "i16", "i32", "i64", "index")

pytestmark = pytest.mark.skipif(
    not ORACLE.version.startswith(("0.5.", "0.6.")), reason=f"no rows for ml_dtypes {ORACLE.version}"
)


@pytest.mark.parametrize("name", thinned(SMALL, 3))
def test_all_pairs(name: str) -> None:
    total = Tally()
    for op in BINARY:
        asked = op_case(f"arith.{op}", name)
        total.add(check(ORACLE, asked, every_input(asked), ROWS))
    assert total.clean, total.mismatches[:3]
    assert not total.reformed
    assert total.compared == 9 << 2 * FORMATS[name].bits
    assert not total.unanswered


def casts() -> Iterator[OpCase]:
    for op in ("extf", "truncf", "convertf"):
        for source in FORMATS:
            for target in FORMATS:
                yield from possible(op, source, target)
    for name in FORMATS:
        for integer in INTEGERS:
            for op in ("sitofp", "uitofp"):
                yield from possible(op, integer, name)
            for op in ("fptosi", "fptoui"):
                yield from possible(op, name, integer)


def possible(op: str, source: str, target: str) -> list[OpCase]:
    try:
        return [op_case(f"arith.{op}", source, target)]
    except HalfulpError:
        return []


@pytest.mark.long
@pytest.mark.parametrize("count", amounts(100, 2000, long=500))
def test_casts(count: int) -> None:
    total = Tally()
    asked = 0
    for cast in casts():
        if ORACLE.refuses(cast) is None:
            inputs = every_input(cast) if is_exhaustive(cast, 8) else sampled_inputs(cast, count)
            total.add(check(ORACLE, cast, inputs, ROWS))
            asked += 1
    assert total.clean, total.mismatches[:3]
    assert not total.reformed
    assert asked > 250
    assert total.known["rounded to f32 first"] > count // 10  # the tool finds it by itself
    assert total.known["zero and the smallest values to f8E8M0FNU"] > count // 10


@pytest.mark.parametrize("name", thinned(TYPES, 4))
def test_arithmetic_and_comparisons(name: str) -> None:
    cases = [op_case(f"arith.{op}", name) for op in (*BINARY, "negf")]
    cases += [op_case("arith.cmpf", name, predicate=predicate) for predicate in CMPF_PREDICATE.cases]
    for asked in cases:
        total = check(ORACLE, asked, sampled_inputs(asked, 1000), ROWS)
        assert total.clean, total.mismatches[:3]
        assert total.compared == 1000, asked


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_examples(row: Divergence) -> None:
    """Without the row the example is a mismatch with its bits, with it a known divergence."""
    example = row.example
    asked = op_case(example.op, example.types[0], example.to)
    inputs = [ints_to_codes([c], w, (1,)) for c, w in zip(example.operands, asked.operand_widths, strict=True)]
    bare = check(ORACLE, asked, inputs)
    assert bare.unexplained == 1
    ((_, mismatch),) = bare.mismatches
    assert (mismatch.expected, mismatch.actual) == (example.expected, example.actual)
    assert check(ORACLE, asked, inputs, ROWS).known == {row.name: 1}


REFUSED = [
    (op_case("arith.addf", "tf32"), "no dtype for tf32"),
    (op_case("arith.addf", "f80"), "no dtype for f80"),
    (op_case("arith.truncf", "f128", "f32"), "no dtype for f128"),
    (op_case("arith.truncf", "f32", "f16", rounding="upward"), "no rounding upward"),
    (op_case("arith.addf", "f32", fastmath="nnan"), "no fastmath nnan"),
    (op_case("arith.addi", "i8"), "no function for arith.addi"),
    (op_case("arith.sitofp", "i7", "f32"), "no dtype for i7"),
    (op_case("arith.sitofp", "i1", "f32"), "no dtype for i1"),
    (op_case("arith.fptoui", "f32", "i1"), "not zero"),
    (op_case("arith.extf", "f4E2M1FN", "f8E8M0FNU"), "the package has no"),
]


@pytest.mark.parametrize(("asked", "why"), REFUSED, ids=lambda x: str(x))
def test_refusals(asked: OpCase, why: str) -> None:
    reason = present(ORACLE.refuses(asked))
    assert why in reason
    total = check(ORACLE, asked, [np.zeros_like(codes[:1]) for codes in sampled_inputs(asked, 2)])
    assert (total.unanswered, total.compared) == (1, 0)


def test_the_default_rounding_mode_is_no_refusal() -> None:
    assert ORACLE.refuses(op_case("arith.truncf", "f32", "f16", rounding="to_nearest_even")) is None
