"""The random bits of stochastic rounding: given, or drawn by a generator or from a seed."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.conformance.vectors.philox import uniform
from halfulp.interp.ir.errors import InputError
from halfulp.interp.values.conversions import not_stochastic, random_bits

WIDTH = 32
"""The random bits of each element, in draws by ``rng`` and ``seed``."""
_STREAM = 0


def drawn_bits(
    random: npt.NDArray[Any] | None,
    rng: np.random.Generator | None,
    seed: int | None,
    shape: tuple[int, ...],
    stochastic: bool,
) -> tuple[npt.NDArray[Any], int] | None:
    """Return the random bits of each element and their width; None where the rounding is not stochastic.

    ``random``: the bits themselves. ``rng``: draws 32 bits for each element, by its ``integers``. ``seed``: 0 to
    2**64 - 1, the key of NumPy's Philox, of which each element takes 32 bits: its 64-bit words in order, the low half
    of each word first. Elements are in row-major order.

    Raises InputError unless exactly one of the three is given for stochastic rounding, and none for another one.
    """
    given = [name for name, each in (("random", random), ("rng", rng), ("seed", seed)) if each is not None]
    if not stochastic:
        if given:
            raise not_stochastic(given[0])
        return None
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} are given, but one of them is enough")
    if rng is not None:
        if not isinstance(rng, np.random.Generator):
            hint = "give np.random.default_rng(…), or seed=… for a number"
            raise InputError(f"rng is of type {type(rng).__name__}, but must be a np.random.Generator", hint=hint)
        return np.asarray(rng.integers(0, 1 << WIDTH, shape, np.uint32)), WIDTH
    if seed is not None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= int(seed) < 1 << 64:
            raise InputError(f"seed is {seed!r}, but must be an integer from 0 to 2**64 - 1")
        return uniform(int(seed), _STREAM, WIDTH, 0, prod(shape)).reshape(shape), WIDTH
    if random is None:
        raise InputError(
            "stochastic rounding needs seed=…, rng=…, or random=…: one unsigned integer per element",
        )
    return random_bits(random, shape)
