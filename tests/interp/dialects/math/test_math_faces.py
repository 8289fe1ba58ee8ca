"""Every op and function of math on all operands of small types: both implementations of its kernel agree, and what it declares
happens.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from halfulp.conformance.comparing.inputs import every_input
from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.dialects.math.functions import ELEMENTARY
from halfulp.interp.dialects.math.ops import math
from halfulp.interp.ir.types import width_of
from halfulp.semantics.kernel import Fault
from halfulp.semantics.profile import PROFILES, SPEC, Profile

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


@pytest.mark.parametrize("name", DECLARED)
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
