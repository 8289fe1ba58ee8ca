"""The columns and the digest of a set of vectors."""

import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vector_files import ADDF, FPTOSI, WIDE, chunk_of, ints_of, random_chunk, split

from halfulp.conformance.vectors.columns import (
    Chunk,
    Column,
    Role,
    TreeDigest,
    VectorSet,
    columns_from_text,
    columns_to_text,
    rechunked,
    root_of,
    settled,
)
from halfulp.conformance.vectors.packing import (
    CONTAINERS,
    BlockLayout,
    Packing,
    pack,
    pack_blocks,
    unpack,
    unpack_blocks,
)
from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.ir.errors import InputError


def digest_by_hand(columns: tuple[Column, ...], chunk: Chunk) -> str:
    """Return the digest's definition, on Python integers."""
    lines = [columns_to_text(columns), str(len(chunk[0]))]
    for column, codes in zip(columns, settled(columns, chunk), strict=True):
        size = next((size for size in (1, 2, 4, 8, 16) if column.width <= 8 * size), 0)
        data = b"".join(code.to_bytes(size, "little") for code in codes_to_ints(codes, column.width))
        lines.append(hashlib.sha256(data).hexdigest())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@pytest.mark.parametrize("columns", [ADDF, FPTOSI, WIDE])
def test_the_digest_is_that_of_the_rows_however_they_are_cut(columns: tuple[Column, ...]) -> None:
    chunk = random_chunk(columns, 100)
    expected = digest_by_hand(columns, chunk)
    for cuts in ([], [0], [100], [1, 1, 50], list(range(1, 100))):
        assert VectorSet(columns, split(chunk, cuts)).digest() == expected
    other = tuple(codes.copy() for codes in chunk)
    other[0][7] ^= 1
    assert VectorSet(columns, [other]).digest() != expected


def root_by_hand(leaves: list[str]) -> str:
    """Return the root's definition: the tree is cut at the greatest power of two below the number of leaves."""
    if len(leaves) == 1:
        return leaves[0]
    cut = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256("\n".join([root_by_hand(leaves[:cut]), root_by_hand(leaves[cut:])]).encode()).hexdigest()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 11, 16, 29])
def test_the_root_of_a_tree_is_that_of_the_nodes_of_any_level(count: int) -> None:
    leaves = [hashlib.sha256(bytes([k])).hexdigest() for k in range(count)]
    root = root_of(leaves)
    assert root == root_by_hand(leaves)
    for size in (2, 4, 8, 16, 32):
        assert root_of(root_of(leaves[k : k + size]) for k in range(0, count, size)) == root
    if count > 1:
        assert root_of(reversed(leaves)) != root


def test_the_root_of_nothing() -> None:
    assert root_of([]) == hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize("sizes", [[100], [30, 30, 30, 10], [0, 40, 0, 0, 60, 0], [1] * 100])
def test_a_digest_with_leaves(sizes: list[int]) -> None:
    """The leaves are known before, or each chunk ends one; then chunks may be of any size, or none."""
    chunk = random_chunk(ADDF, 100)
    ends = np.cumsum(sizes)
    parts = split(chunk, ends[:-1].tolist())
    expected = root_of(digest_by_hand(ADDF, part) for part in parts)
    told = TreeDigest(ADDF)
    for part in parts:
        told.update(part)
        told.end_leaf()
    assert (told.hexdigest(), told.counts, told.count) == (expected, sizes, 100)
    for cuts in ([], [1, 1, 50], list(range(1, 100))):
        known = TreeDigest(ADDF, iter(sizes))
        for part in split(chunk, cuts):
            known.update(part)
        assert known.hexdigest() == expected
    known.update(chunk_of(ADDF, [(0, 0, 0, 0)]))
    assert known.hexdigest() != expected


def test_a_digest_without_leaves_is_that_of_the_columns() -> None:
    chunk = random_chunk(ADDF, 9)
    digest = TreeDigest(ADDF)
    assert digest.hexdigest() == digest_by_hand(ADDF, tuple(codes[:0] for codes in chunk))
    digest.update(chunk)
    assert digest.hexdigest() == digest_by_hand(ADDF, chunk)


def test_the_digest_is_pinned() -> None:
    rows = [(0x38, 0x40, 0x44, 0), (0x7E, 0x7E, 0x7F, 5), (0, 0x80, 0, 0)]
    digest = VectorSet(ADDF, [chunk_of(ADDF, rows)]).digest()
    assert digest == "1b928383b61ae01ea01b2ea0989f6bec400671615725a62ad433a14431489474"


def test_the_digest_tells_types_roles_and_the_number_of_rows_apart() -> None:
    chunk = chunk_of(ADDF, [(0, 0, 0, 0)])
    other_type = (ADDF[0], Column("b", 8, "f8E5M2", Role.OPERAND), *ADDF[2:])
    other_role = (ADDF[0], Column("b", 8, "f8E4M3FN", Role.RANDOM), *ADDF[2:])
    found = {VectorSet(columns, [chunk]).digest() for columns in (ADDF, other_type, other_role)}
    found |= {VectorSet(ADDF, chunks).digest() for chunks in ([], [chunk, chunk])}
    assert len(found) == 5


def test_bits_that_count_for_nothing_are_not_hashed() -> None:
    one = chunk_of(FPTOSI, [(0x7C00, 0x123, 1, 0), (0x3C00, 0x0F5, 0, 0x00F)])
    other = chunk_of(FPTOSI, [(0x7C00, 0xFFF, 1, 0), (0x3C00, 0x0FA, 0, 0x00F)])
    held = chunk_of(FPTOSI, [(0x7C00, 0x123, 1, 0), (0x3C00, 0x0E5, 0, 0x00F)])
    assert VectorSet(FPTOSI, [one]).digest() == VectorSet(FPTOSI, [other]).digest()
    assert VectorSet(FPTOSI, [one]).digest() != VectorSet(FPTOSI, [held]).digest()


def test_poison_is_of_the_result_it_names_or_of_all() -> None:
    two = (Column("x", 4, "i4", Role.RESULT), Column("y", 4, "i4", Role.RESULT))
    rows = [(1, 2, 1)]
    of_all = (*two, Column("poison", 1, "i1", Role.POISON))
    of_y = (*two, Column("poison", 1, "i1", Role.POISON, of="y"))
    assert ints_of(of_all, settled(of_all, chunk_of(of_all, rows))) == [(0, 0, 1)]
    assert ints_of(of_y, settled(of_y, chunk_of(of_y, rows))) == [(1, 0, 1)]


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ((), "needs a column"),
        ((ADDF[0], ADDF[0]), "two columns have the same name: a, a"),
        ((ADDF[2], ADDF[0]), "must be ordered as operand, random, result"),
        ((ADDF[0], Column("poison", 1, "i1", Role.POISON)), "must name its result"),
        ((ADDF[2], Column("poison", 1, "i1", Role.POISON, of="z")), "must name its result"),
        ((ADDF[2], Column("poison", 2, "i2", Role.POISON)), "2 bits, which does not fit"),
        ((ADDF[2], Column("open", 7, "i7", Role.OPEN)), "7 bits, which does not fit"),
        ((ADDF[2], Column("flags", 8, "i8", Role.FLAGS)), "8 bits, but there are 5 flags"),
    ],
)
def test_columns_that_make_no_set_are_refused(columns: tuple[Column, ...], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        VectorSet(columns, [])


def test_a_column_needs_an_identifier_and_a_width() -> None:
    with pytest.raises(ValueError, match="identifier, not 'a b'"):
        Column("a b", 8, "i8", Role.OPERAND)
    with pytest.raises(ValueError, match="the width -1 is negative"):
        Column("a", -1, "i8", Role.OPERAND)


def test_chunks_of_another_dtype_or_shape_are_refused() -> None:
    for codes in (np.zeros(3, np.uint16), np.zeros((3, 1), np.uint8)):
        with pytest.raises(ValueError, match="column 'a' has codes of"):
            VectorSet(ADDF[:1], [(codes,)]).gather()
    with pytest.raises(ValueError, match="zip"):
        VectorSet(ADDF[:2], [(np.zeros(3, np.uint8),)]).gather()


def test_descriptions_of_columns_come_back_and_others_are_refused() -> None:
    assert columns_from_text(columns_to_text(WIDE)) == WIDE
    for text in ("", "{}", "[1]", '[{"name": "a"}]', '[{"name": "a", "width": 8, "type": "i8", "role": "king"}]', "[]"):
        with pytest.raises(InputError):
            columns_from_text(text)


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 12))
def test_rechunked_gives_the_same_rows_in_chunks_of_one_size(sizes: list[int], rows: int) -> None:
    chunk = random_chunk(ADDF[:1], sum(sizes))
    cuts = np.cumsum([0, *sizes]).tolist()[1:-1]
    found = list(rechunked(ADDF[:1], split(chunk, cuts), rows))
    assert [len(part[0]) for part in found] == [rows] * (sum(sizes) // rows) + [sum(sizes) % rows] * (
        sum(sizes) % rows > 0
    )
    assert [code for part in found for code in part[0].tolist()] == chunk[0].tolist()


# --- packing ----------------------------------------------------------------------------------------------------------
#
# Elements packed into bytes, and blocks with their scales.


def test_packing_by_hand() -> None:
    low, high = Packing(dense=True), Packing(dense=True, first="high")
    f4, f6 = np.array([1, 2, 0xF], np.uint8), np.array([1, 2, 3, 4], np.uint8)
    assert pack(f4, 4, low).tobytes().hex() == "210f"
    assert pack(f4, 4, high).tobytes().hex() == "12f0"
    assert pack(f6, 6, low).tobytes().hex() == "813010"
    assert pack(f6, 6, high).tobytes().hex() == "0420c4"
    assert pack(f6, 6, CONTAINERS).tobytes().hex() == "01020304"
    assert pack(np.array([0x123, 0x456], np.uint16), 12, low).tobytes().hex() == "236145"
    assert pack(np.array([0x123, 0x456], np.uint16), 12, high).tobytes().hex() == "123456"
    with pytest.raises(ValueError, match="3 elements of 6 bits take 3 bytes, not 2"):
        unpack(np.zeros(2, np.uint8), 6, 3, low)
    with pytest.raises(ValueError, match="first is 'middle', but must be 'low' or 'high'"):
        Packing(True, "middle")  # type: ignore[arg-type]


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(st.integers(1, 130), st.integers(0, 20), st.sampled_from(["low", "high"]), st.integers(0, 1 << 30))
def test_dense_packing_is_one_long_integer(width: int, count: int, first: Any, seed: int) -> None:
    codes = random_chunk((Column("a", width, "i", Role.OPERAND),), count, seed)[0]
    ints = codes_to_ints(codes, width)
    size = -(-width * count // 8)
    if first == "low":
        expected = sum(code << (width * k) for k, code in enumerate(ints)).to_bytes(size, "little")
    else:
        number = sum(code << (width * (count - 1 - k)) for k, code in enumerate(ints))
        expected = (number << (8 * size - width * count)).to_bytes(size, "big")
    packing = Packing(True, first)
    data = pack(codes, width, packing)
    assert data.tobytes() == expected
    assert packing.size(width, count) == size
    assert codes_to_ints(unpack(data, width, count, packing), width) == ints
    plain = pack(codes, width, CONTAINERS)
    assert len(plain) == CONTAINERS.size(width, count)
    assert codes_to_ints(unpack(plain, width, count, CONTAINERS), width) == ints


@pytest.mark.parametrize(
    ("scales", "expected"),
    [("separate", ["214305 876509", "7f80"]), ("first", ["7f214305 80876509"]), ("last", ["2143057f 87650980"])],
)
def test_blocks_keep_their_scales_where_asked(scales: Any, expected: list[str]) -> None:
    layout = BlockLayout(4, elements=5, scales=scales)
    elements = np.array([[1, 2, 3, 4, 5], [7, 8, 5, 6, 9]], np.uint8)
    parts = pack_blocks(np.array([0x7F, 0x80], np.uint8), elements, layout)
    assert [part.tobytes() for part in parts] == [bytes.fromhex(part) for part in expected]
    back_scales, back = unpack_blocks(parts, 2, layout)
    assert back_scales.tolist() == [0x7F, 0x80]
    assert back.tolist() == elements.tolist()
    with pytest.raises(ValueError, match="3 blocks take"):
        unpack_blocks(parts, 3, layout)


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from([4, 6, 8, 5, 16]), st.sampled_from([1, 3, 16, 32]), st.sampled_from(["separate", "first", "last"]),
    st.sampled_from([Packing(), Packing(True), Packing(True, "high")]), st.integers(0, 5), st.integers(0, 1 << 30),
)  # fmt: skip
def test_blocks_come_back(width: int, size: int, scales: Any, packing: Packing, blocks: int, seed: int) -> None:
    layout = BlockLayout(width, size, 8, scales, packing)
    columns = (Column("e", width, "i", Role.OPERAND), Column("s", 8, "i8", Role.OPERAND))
    elements = random_chunk(columns, blocks * size, seed)[0].reshape(blocks, size)
    own = random_chunk(columns, blocks, seed)[1]
    parts = pack_blocks(own, elements, layout)
    assert sum(len(part) for part in parts) == blocks * (layout.element_bytes + 1)
    back_scales, back = unpack_blocks(parts, blocks, layout)
    assert (back_scales.tolist(), back.tolist()) == (own.tolist(), elements.tolist())


def test_blocks_of_wrong_shape_or_layout_are_refused() -> None:
    with pytest.raises(ValueError, match="2 scales need elements of shape"):
        pack_blocks(np.zeros(2, np.uint8), np.zeros((2, 31), np.uint8), BlockLayout(4))
    for wrong in ({"scales": "middle"}, {"elements": 0}, {"width": 0}, {"scale_width": 65}):
        with pytest.raises(ValueError, match="scales is|a block has"):
            BlockLayout(**{"width": 4, **wrong})  # type: ignore[arg-type]
