"""Random bits beside those of XLA on a CPU."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from halfulp.semantics.random_bits import generate

ALGORITHMS = ("DEFAULT", "PHILOX", "THREE_FRY")
SHAPES = [(), (1,), (2,), (7,), (3, 5), (5, 4), (2, 3, 4), (3, 3, 3), (0,), (1000,), (31, 7), (100_000,)]


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_bits_and_states_are_those_of_xla(algorithm: str) -> None:
    jax = pytest.importorskip("jax")
    rng, words = np.random.default_rng(4), 0
    states = [np.array([5, 2**64 - 2], np.uint64), *rng.integers(0, 2**64, size=(3, 2), dtype=np.uint64)]
    with jax.enable_x64(True):
        chosen = getattr(jax.lax.RandomAlgorithm, f"RNG_{algorithm}")
        for state, shape, width in itertools.product(states, SHAPES, (8, 16, 32, 64)):
            grown, bits = jax.lax.rng_bit_generator(state, shape, dtype=f"uint{width}", algorithm=chosen)
            found = generate(algorithm, state, shape, width)
            assert np.array_equal(found[0], np.asarray(grown)), (state, shape, width)
            assert np.array_equal(found[1], np.asarray(bits).astype(np.uint64)), (state, shape, width)
            words += found[1].size
    assert words > 1_000_000


def test_a_third_word_is_the_top_of_the_counter() -> None:
    """As measured with XLA: block i encrypts the counter of 128 bits and i, and a carry goes to the third word."""
    top = 2**64 - 1
    state, bits = generate("PHILOX", np.array([7, top, 3], np.uint64), (8,), 32)
    first, second = (generate("PHILOX", np.array([7, *low], np.uint64), (4,), 32)[1] for low in ((top, 3), (0, 4)))
    assert state.tolist() == [7, 1, 4]
    assert bits.tolist() == [*first.tolist(), *second.tolist()]
