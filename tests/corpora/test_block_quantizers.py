"""The recipes of block scaling beside other quantisers: their recorded answers, and PyTorch's casts.

`tests/data/block_quantizers.md` describes the recordings.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from amounts import thinned
from corpora.block_quantizers import (
    EMULATORS,
    QUIRKS,
    Case,
    Floats,
    Quirk,
    Reply,
    blocks_of,
    compare,
    differing,
    emulator_of,
    ours,
    predicted,
)
from tree import ROOT

from halfulp.semantics import block_scaling as bs

FOLDER = ROOT / "tests" / "data" / "block_quantizers"
CASES = [(emulator.name, case) for emulator in EMULATORS for case in emulator.cases]


@cache
def arrays(name: str) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of one file of recordings."""
    with np.load(FOLDER / f"{name}.npz") as file:
        return dict(file)


def recorded(name: str, case: Case) -> list[tuple[Floats, Reply]]:
    """Return the blocks and the answers of one case, tensor by tensor."""
    found: dict[str, dict[str, npt.NDArray[Any]]] = {}
    for key, codes in arrays(name).items():
        call, _, part = key.rpartition("/")
        if json.loads(call)[:-1] == [name, *vars(case).values()]:
            found.setdefault(call, {})[part] = codes
    return [(parts.pop("x").view(np.float32), Reply(**parts)) for parts in found.values()]


def unlike(name: str, case: Case, quirks: Sequence[Quirk]) -> int:
    """Count the recorded blocks that are neither ours nor predicted by the rows."""
    count = 0
    for x, theirs in recorded(name, case):
        answer, _ = predicted(x, case, ours(x, case), quirks)
        count += int(differing(theirs, answer, case).sum())
    return count


@pytest.mark.parametrize(("name", "case"), thinned(CASES, 3, rows=True), ids=[f"{name} {case}" for name, case in CASES])
def test_recorded_answers_are_ours_or_predicted(name: str, case: Case) -> None:
    assert sum(len(x) for x, _ in recorded(name, case)) >= 16
    assert unlike(name, case, QUIRKS[name]) == 0


@pytest.mark.long
def test_every_row_is_needed_by_a_recording() -> None:
    needed: dict[str, int] = {}
    for name, case in CASES:
        for quirk in QUIRKS[name]:
            others = [row for row in QUIRKS[name] if row is not quirk]
            needed[quirk.name] = needed.get(quirk.name, 0) + unlike(name, case, others)
    assert {quirk.name for rows in QUIRKS.values() for quirk in rows} == set(needed)
    assert [name for name, count in needed.items() if not count] == []


def test_one_wrong_bit_is_a_difference() -> None:
    case = Case("rceil", "f8E4M3FN")
    ((x, theirs),) = recorded("torchao", case)
    assert theirs.elements is not None
    same = ~differing(theirs, ours(x, case), case)
    elements = theirs.elements.copy()
    elements[np.flatnonzero(same)[0], 0] ^= 1
    wrong = replace(theirs, elements=elements)
    assert differing(wrong, ours(x, case), case).sum() == (~same).sum() + 1


def test_blocks_are_the_same_in_each_run() -> None:
    case = Case("even", "f6E2M3FN")
    first, again = (next(blocks_of(case, 1)) for _ in range(2))
    assert first.tobytes() == again.tobytes()


def test_what_is_not_a_checkout_is_an_error(tmp_path: Any) -> None:
    with pytest.raises(ValueError, match="is not a known checkout"):
        emulator_of(tmp_path)


def _ml_dtypes_mx(x: Floats, case: Case) -> Reply:
    """Quantise by NumPy's f64 and the casts of ml_dtypes: quotients are exact in f32 here, and clamped before."""
    dtype = {
        "f8E5M2": ml_dtypes.float8_e5m2,
        "f8E4M3FN": ml_dtypes.float8_e4m3fn,
        "f6E3M2FN": ml_dtypes.float6_e3m2fn,
        "f6E2M3FN": ml_dtypes.float6_e2m3fn,
        "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    }[case.element]
    info = ml_dtypes.finfo(dtype)
    amax = np.abs(x).max(axis=-1).astype(np.float64)
    largest = float(info.max)
    exponents = np.frexp(amax)[1].astype(np.int64) - 1 - int(np.frexp(largest)[1] - 1)
    if case.recipe == "ceil":
        exponents += np.frexp(amax)[0] > 0.5
    if case.recipe == "rceil":
        exponents += amax > np.ldexp(largest, exponents)
    exponents = np.where(amax == 0, -127, np.maximum(exponents, -127))
    quotients = np.clip(np.ldexp(x.astype(np.float64), -exponents[:, None]), -largest, largest)
    elements = quotients.astype(np.float32).astype(dtype)
    return Reply((exponents + 127).astype(np.uint8), elements.view(np.uint8))


@pytest.mark.long
@pytest.mark.parametrize("recipe", ["floor", "ceil", "rceil"])
@pytest.mark.parametrize("element", ["f8E5M2", "f8E4M3FN", "f6E3M2FN", "f6E2M3FN", "f4E2M1FN"])
def test_the_casts_of_ml_dtypes_give_the_same_elements(recipe: str, element: str) -> None:
    count = compare(_ml_dtypes_mx, (), Case(recipe, element), 20_000)
    assert count.blocks >= 20_000
    assert (count.equal, count.unexplained) == (count.blocks, 0)


def _torch_mx(x: Floats, case: Case) -> Reply:
    """Quantise by PyTorch's casts: the scale by that to float8_e8m0fnu, elements by those to the 8-bit floats."""
    torch = pytest.importorskip("torch")
    dtype, largest = {"f8E4M3FN": (torch.float8_e4m3fn, 448.0), "f8E5M2": (torch.float8_e5m2, 57344.0)}[case.element]
    given = torch.from_numpy(x.copy()).to(torch.float64)
    _, exponents = torch.frexp(given.abs().amax(-1))
    powers = torch.ldexp(torch.ones(len(x), dtype=torch.float64), exponents - 1 - case.type.emax)
    scales = torch.where(given.abs().amax(-1) == 0, 0.0, powers).to(torch.float32).to(torch.float8_e8m0fnu)
    quotients = (given / scales.to(torch.float64)[:, None]).clamp(-largest, largest).to(torch.float32).to(dtype)
    return Reply(scales.view(torch.uint8).numpy(), quotients.view(torch.uint8).numpy())


@pytest.mark.torch
@pytest.mark.parametrize("element", ["f8E4M3FN", "f8E5M2"])
def test_torch_casts_give_the_same_elements_and_scales(element: str) -> None:
    count = compare(_torch_mx, (), Case("floor", element), 20_000)
    assert count.blocks >= 20_000
    assert (count.equal, count.unexplained) == (count.blocks, 0)


@pytest.mark.torch
def test_torch_rounds_all_scales_of_nvfp4_alike() -> None:
    """The cast to float8_e4m3fn of what the clamp leaves, over all f32 numbers of 12 leading bits and their ties."""
    torch = pytest.importorskip("torch")
    codes = (np.arange(1 << 19, dtype=np.uint32) << np.uint32(12)) | np.arange(1 << 19, dtype=np.uint32) % 2
    numbers = codes.view(np.float32)
    numbers = numbers[(numbers >= 0) & (numbers <= 448)]
    theirs = torch.from_numpy(numbers.copy()).to(torch.float8_e4m3fn).view(torch.uint8).numpy()
    assert np.array_equal(theirs, bs.scale_codes(numbers.view(np.uint32)))
