"""The places of swizzled elements: the drawings of the document of IREE's codegen dialect, and its folds."""

from itertools import product

import numpy as np
import pytest

from halfulp.interp.values.memref_layout import RotateRows, Swizzle, XorShuffle, places

LOGICAL = "0000 1111 2222 3333 / 4444 5555 6666 7777 / 8888 9999 AAAA BBBB / CCCC DDDD EEEE FFFF"
# RotateRowsAttr and XORShuffleAttr: rows of 16 elements in groups of 4.
DRAWINGS: list[tuple[Swizzle, str]] = [
    (RotateRows(16, 4), "0000 1111 2222 3333 / 7777 4444 5555 6666 / AAAA BBBB 8888 9999 / DDDD EEEE FFFF CCCC"),
    (XorShuffle(16, 4, 16, 1), "0000 1111 2222 3333 / 5555 4444 7777 6666 / AAAA BBBB 8888 9999 / FFFF EEEE DDDD CCCC"),
    (XorShuffle(16, 4, 16, 2), "0000 1111 2222 3333 / 4444 5555 6666 7777 / 9999 8888 BBBB AAAA / DDDD CCCC FFFF EEEE"),
]
SOME: list[Swizzle] = [
    *(RotateRows(row, access) for row, access in ((16, 4), (64, 8), (12, 4), (6, 1), (8, 8), (2, 1))),
    *(XorShuffle(row, access, 2 * row, phase) for row, access in ((16, 4), (64, 8), (8, 8)) for phase in (1, 2)),
    XorShuffle(16, 4, 16, 4),
]


def elements(drawing: str) -> list[str]:
    return list(drawing.replace(" ", "").replace("/", ""))


@pytest.mark.parametrize(("swizzle", "drawing"), DRAWINGS, ids=str)
def test_the_drawings_of_the_document(swizzle: Swizzle, drawing: str) -> None:
    logical, physical = elements(LOGICAL), [""] * 64
    for offset, element in enumerate(logical):
        physical[swizzle.physical(offset)] = element
    assert physical == elements(drawing)
    assert [logical[offset] for offset in np.argsort(swizzle.physical(np.arange(64)))] == elements(drawing)


@pytest.mark.parametrize(("swizzle", "where"), list(zip([drawn for drawn, _ in DRAWINGS], (24, 16, 20), strict=True)))
def test_constants_that_the_compiler_folds(swizzle: Swizzle, where: int) -> None:
    # iree-opt 3.13, iree-codegen-resolve-swizzle-hints: a vector of 4 elements at offset 20.
    assert swizzle.physical(20) == where
    assert places(swizzle, 20, 4).tolist() == [where, where + 1, where + 2, where + 3]


@pytest.mark.parametrize("swizzle", SOME, ids=str)
def test_rows_are_permuted_group_by_group_and_the_pattern_repeats(swizzle: Swizzle) -> None:
    groups = swizzle.row_width // swizzle.access_width
    rows = 8 * groups * getattr(swizzle, "per_phase", 1)
    offsets = np.arange(rows * swizzle.row_width)
    moved = swizzle.physical(offsets)
    assert moved.tolist() == [swizzle.physical(int(offset)) for offset in offsets]
    assert sorted(moved) == offsets.tolist()
    assert np.array_equal(moved // swizzle.row_width, offsets // swizzle.row_width)
    assert np.array_equal(moved % swizzle.access_width, offsets % swizzle.access_width)
    period = getattr(swizzle, "row_stride", swizzle.row_width) * getattr(swizzle, "per_phase", 1) * groups
    assert np.array_equal(swizzle.physical(offsets + period), moved + period)


@pytest.mark.parametrize(("i", "j"), list(product(range(8), range(4))))
def test_the_formulas_of_the_document(i: int, j: int) -> None:
    # At position (i, j, 0) of memref<...xNx|access_width|>, N = 4.
    at = 16 * i + 4 * j
    assert RotateRows(16, 4).physical(at) == 16 * i + 4 * ((i + j) % 4)
    for phase in (1, 2, 4):
        assert XorShuffle(16, 4, 16, phase).physical(at) == 16 * i + 4 * (((i // phase) % 4) ^ j)


@pytest.mark.parametrize("swizzle", SOME, ids=str)
def test_aligned_accesses_find_every_element_where_it_lies(swizzle: Swizzle) -> None:
    for start, groups in product(range(0, 6 * swizzle.row_width, swizzle.access_width), (1, 2, 3)):
        count = groups * swizzle.access_width
        assert np.array_equal(places(swizzle, start, count), swizzle.physical(np.arange(start, start + count)))


def test_other_accesses_move_in_groups_from_their_start() -> None:
    # 18 is the third element of group 1 of row 1, which rotates to group 2: 22 and what follows; 22 likewise.
    assert places(RotateRows(16, 4), 18, 8).tolist() == [22, 23, 24, 25, 26, 27, 28, 29]
    assert places(RotateRows(16, 4), 20, 1).tolist() == [24]
    assert places(RotateRows(16, 4), 20, 6).tolist() == [24, 25, 26, 27, 28, 29]
