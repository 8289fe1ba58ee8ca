"""Descriptions of conversions as NumPy calls on blocks give what the exact conversions give."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from halfulp.fp_formats.exact import conversions
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.paths import fast_conversions, word_floats
from halfulp.fp_formats.paths.blocks import Program
from halfulp.fp_formats.paths.recorder import Recorder
from halfulp.fp_formats.policy import SPEC
from halfulp.fp_formats.scalar import RNE

F32 = FORMATS["f32"]
LOWEST = 13  # bits: ties of f16 and bf16 are where these are 0, or all but the first are
SOME = (0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF)


@pytest.mark.parametrize(
    "lowest", [pytest.param(SOME, id="some"), pytest.param(range(1 << LOWEST), id="all", marks=pytest.mark.exhaustive)]
)
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_f32_to_shorter_formats(name: str, lowest: Sequence[int]) -> None:
    dst, recorder = FORMATS[name], Recorder()
    face = word_floats.convert(F32, dst, RNE, SPEC)
    assert face is not None
    program = Program(recorder, [face(recorder.input(0, 32, splat=False)).held])
    heads = np.arange(1 << 32 - LOWEST, dtype=np.uint32) << LOWEST
    made = np.empty(heads.size, np.uint16)
    # The quick conversion is compared with the exact one elsewhere, for all codes.
    convert = conversions.convert if lowest is SOME else fast_conversions.convert
    for low in lowest:
        codes = heads | np.uint32(low)
        refused = program.run([codes], [made], codes.size)
        assert np.array_equal(refused, np.flatnonzero(np.isnan(codes.view(np.float32))))
        same = made == convert(F32, dst, codes, RNE, SPEC).codes
        same[refused] = True
        assert same.all()
