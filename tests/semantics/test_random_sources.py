"""The sources of random bits: published words of Philox4x32-10, and sequences of shift registers by hand."""

import itertools
import random
from itertools import pairwise

import numpy as np
import pytest
from amounts import thinned
from tables import each_row

from halfulp.fp_formats.paths import llvm
from halfulp.semantics.random_sources import Lfsr, Philox, philox, source_of

PUBLISHED = {
    "zeros": ((0, 0, 0, 0), 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    "ones": ((0xFFFFFFFF,) * 4, (1 << 64) - 1, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    "pi": (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        0x299F31D0A4093822,
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
}
"""Counter, key and block: the known answers of Random123 (github.com/DEShawResearch/random123, commit 9545ff64,
tests/kat_vectors, lines philox4x32 10).
"""


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_blocks(name: str) -> None:
    counter, key, block = PUBLISHED[name]
    first, second, third, fourth = (np.array([word], np.uint64) for word in counter)
    assert philox((first, second, third, fourth), key).tolist() == [list(block)]


@each_row(*itertools.product(PUBLISHED, ("numpy", "llvm")))
def test_published_blocks_of_a_stretch(name: str, backend: str) -> None:
    """Also by machine code; the numbers of the op and of the run are the upper words of the counter."""
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    before = llvm.backend()
    llvm.use(backend)
    try:
        counter, key, block = PUBLISHED[name]
        first = 4 * (counter[0] | counter[1] << 32)
        source = Philox(key)
        assert source.stretch(first, 4, counter[2], counter[3]).tolist() == list(block)
        assert source.stretch(first + 1, 2, counter[2], counter[3]).tolist() == list(block)[1:3]
        assert Philox(key, bits=7).stretch(first + 3, 1, counter[2], counter[3]).tolist() == [block[3] & 127]
        assert source.stretch(first, 0, counter[2], counter[3]).size == 0
    finally:
        llvm.use(before)


def test_stretches_are_draws() -> None:
    register = Lfsr(16, (16, 14, 13, 11), 0xACE1, bits=5)
    positions = np.arange(7, 4000, dtype=np.uint64)
    for source in (Philox(3, bits=9), register):
        assert source.stretch(7, positions.size, 2, 5).tolist() == source.drawn(positions, 2, 5).tolist()


def test_draws_are_the_words_of_the_blocks_that_the_document_names() -> None:
    source = Philox(seed=0x299F31D0A4093822)
    block = 0x05A308D3243F6A88
    words = np.array([[block & 0xFFFFFFFF], [block >> 32], [7], [9]], np.uint64)
    expected = philox((words[0], words[1], words[2], words[3]), source.seed)[0]
    positions = np.uint64(block * 4) + np.arange(4, dtype=np.uint64)
    assert source.drawn(positions, 7, 9).tolist() == expected.tolist()
    assert source.drawn(positions[[2, 0]], 7, 9).tolist() == expected[[2, 0]].tolist()
    assert Philox(source.seed, bits=5).drawn(positions, 7, 9).tolist() == (expected & np.uint64(31)).tolist()
    runs = np.array([9, 9, 9, 9], np.uint64)
    assert source.drawn(positions, 7, runs).tolist() == expected.tolist()


BY_HAND = {
    "fibonacci": [1, 8, 4, 2, 9, 12, 6, 11, 5, 10, 13, 14, 15, 7, 3, 1],
    "galois": [1, 12, 6, 3, 13, 10, 5, 14, 7, 15, 11, 9, 8, 4, 2, 1],
}
"""All states of x^4 + x^3 + 1 from 1 on, shifted by hand."""


@pytest.mark.parametrize("form", BY_HAND)
def test_sequences_by_hand(form: str) -> None:
    positions = np.arange(16, dtype=np.uint64)
    assert Lfsr(4, (4, 3), 1, clocks=1, form=form).drawn(positions, 0, 0).tolist() == BY_HAND[form]
    every_third = [BY_HAND[form][3 * n % 15] & 7 for n in range(16)]
    assert Lfsr(4, (4, 3), 1, bits=3, form=form).drawn(positions, 0, 0).tolist() == every_third


def test_a_known_sequence_of_16_bits() -> None:
    # The register that is explained most often: x^16 + x^14 + x^13 + x^11 + 1 from 0xACE1, shifted by hand here.
    register = source_of("lfsr:width=16,taps=16+14+13+11,seed=0xACE1,clocks=1")
    states = register.drawn(np.arange(4, dtype=np.uint64), 0, 0)
    assert states.tolist() == [0xACE1, 0x5670, 0xAB38, 0x559C]


def _bit_by_bit(register: Lfsr, clocks: int) -> list[int]:
    """Return the states of a register, kept as a list of its bits, the one that goes out first."""
    state = [register.seed >> place & 1 for place in range(register.width)]
    states = []
    for _ in range(clocks + 1):
        states.append(sum(bit << place for place, bit in enumerate(state)))
        out, *rest = state
        if register.form == "fibonacci":
            entering = 0
            for tap in register.taps:
                entering ^= state[register.width - tap]
            state = [*rest, entering]
        else:
            state = [*rest, 0]
            for tap in register.taps:
                state[tap - 1] ^= out
    return states


@pytest.mark.parametrize("seed", thinned(range(40), 4))
def test_any_register_gives_what_its_bits_give(seed: int) -> None:
    rng = random.Random(seed)
    width, form = rng.randint(2, 64), rng.choice(list(BY_HAND))
    taps = tuple({width, *(rng.randint(1, width) for _ in range(rng.randint(0, 5)))})
    bits, clocks = rng.randint(1, width), rng.randint(1, 90)
    register = Lfsr(width, taps, rng.randint(1, (1 << width) - 1), bits, clocks, form)
    states = _bit_by_bit(register, 20 * clocks)
    expected = [states[clocks * place] & (1 << bits) - 1 for place in range(21)]
    assert register.drawn(np.arange(21, dtype=np.uint64), 0, 0).tolist() == expected
    assert register.stretch(2, 19, 0, 0).tolist() == expected[2:]
    assert register.stretch(2, 0, 0, 0).size == 0


@pytest.mark.parametrize("backend", ["numpy", pytest.param("llvm", marks=pytest.mark.backend("llvm"))])
def test_a_long_stretch_gives_the_draws_at_its_positions(backend: str) -> None:
    register = source_of("lfsr:width=37,taps=37+5+4+3+2+1,seed=99,bits=20")
    count = (1 << 17) + 12_345
    places = np.random.default_rng(1).integers(0, count, 500).astype(np.uint64)
    found = register.stretch(1_000, count, 0, 0)[places]
    assert np.array_equal(found, register.drawn(places + np.uint64(1_000), 0, 0))


def test_the_most_clocks_count_by_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    # A million clocks of 64 bits, one by one, took minutes: only the first one is made bit by bit.
    clocked = Lfsr.clocked
    seen: list[int] = []

    def counted(self: Lfsr, state: int) -> int:
        seen.append(state)
        return clocked(self, state)

    monkeypatch.setattr(Lfsr, "clocked", counted)
    # x^16 + x^14 + x^13 + x^11 + 1 comes back after 2^16 - 1 clocks, so that 2^20 of them are 16.
    found = source_of("lfsr:width=16,taps=16+14+13+11,seed=0xACE1,clocks=1048576").drawn(np.ones(1, np.uint64), 0, 0)
    assert len(seen) <= 16
    assert int(found[0]) == _bit_by_bit(Lfsr(16, (16, 14, 13, 11), 0xACE1), 16)[16]


@pytest.mark.parametrize("form", BY_HAND)
@pytest.mark.parametrize("taps", [(8, 6, 5, 4), (16, 15, 13, 4), (12, 6, 4, 1)], ids=str)
def test_primitive_polynomials_have_the_full_period(taps: tuple[int, ...], form: str) -> None:
    # Published taps (Xilinx XAPP 052): a register of n bits has 2^n - 1 states, each once.
    register = Lfsr(taps[0], taps, 5, clocks=1, form=form)
    period = (1 << taps[0]) - 1
    states = register.drawn(np.arange(period + 1, dtype=np.uint64), 0, 0).tolist()
    assert len(set(states)) == period
    assert states[0] == states[-1] == 5


@pytest.mark.parametrize("form", BY_HAND)
@pytest.mark.parametrize("taps", [(7, 6), (32, 22, 2, 1), (64, 63, 61, 60)], ids=str)
def test_a_jump_equals_the_clocks_one_by_one(taps: tuple[int, ...], form: str) -> None:
    register = Lfsr(taps[0], taps, 1, bits=3, form=form)
    states = [register.seed]
    for _ in range(3 * 500):
        states.append(register.clocked(states[-1]))
    places = random.Random(0).sample(range(500), 200)
    found = register.drawn(np.array(places, np.uint64), 0, 0).tolist()
    assert found == [states[3 * place] & 7 for place in places]
    assert all(state != following for state, following in pairwise(states))


ERRORS = {
    "dice:seed=1": "'dice:seed=1' is not a source",
    "philx:seed=1": "did you mean `philox`",
    "philox": "philox needs seed",
    "lfsr:seed=1": "lfsr needs width and taps",
    "philox:seed": "'seed' is not one of seed, bits, run, with a value",
    "philox:seed=1,seed=2": "'seed=2' is given twice",
    "philox:seed=one": "seed=one is not a number",
    "philox:seed=-1": "seed is -1, but must be an integer in 0..",
    "philox:seed=1,bits=33": "bits is 33, but must be an integer in 1..32",
    "philox:seed=1,run=-1": "run is -1",
    "lfsr:width=8,taps=7+1,seed=1": r"taps are 7\+1, but must be different, and one of them the width 8",
    "lfsr:width=8,taps=8+8,seed=1": "must be different",
    "lfsr:width=8,taps=9,seed=1": "a tap is 9",
    "lfsr:width=8,taps=8+4,seed=0": "seed is 0, but must be an integer in 1..255",
    "lfsr:width=8,taps=8+4,seed=1,bits=9": "bits is 9",
    "lfsr:width=8,taps=8+4,seed=1,bits=0": "bits is 0, but must be positive",
    "lfsr:width=8,taps=8+4,seed=1,clocks=0": "clocks is 0, but must be positive",
    "lfsr:width=8,taps=8+4,seed=1,form=ring": "form is 'ring', but must be one of fibonacci, galois",
    "lfsr:width=65,taps=65,seed=1": "width is 65",
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text: str) -> None:
    with pytest.raises(ValueError, match=ERRORS[text]):
        source_of(text)


@pytest.mark.parametrize("text", ["philox:seed=7", "philox:seed=7,bits=9,run=3", "lfsr:width=8,taps=8+4,seed=3"])
def test_the_text_names_the_same_source(text: str) -> None:
    assert source_of(source_of(text).text) == source_of(text)
