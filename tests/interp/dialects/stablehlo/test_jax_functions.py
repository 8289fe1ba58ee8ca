"""Functions of JAX, as StableHLO and without a compiler between: the bits that XLA gives, where it computes the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import halfulp as hu

pytestmark = pytest.mark.jax

X = np.array([[0.1, -0.5, 2.0], [3.0, -1.5, 0.25]], np.float32)
V = np.array([3, 1, 2, -5, 4, 0.5], np.float32)
I = np.array([4, -7, 2, 9], np.int32)  # noqa: E741
KEY = np.array([0, 42], np.uint32)
IMAGE = np.random.default_rng(0).standard_normal((1, 8, 8, 3), np.float32)


def pool(a: Any) -> Any:
    from jax import lax

    return lax.reduce_window(a, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def functions() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Return functions whose results depend on no order of additions, and on no elementary function."""
    import jax
    import jax.numpy as jnp
    from jax import lax, nn, random

    return {
        "sort": (jnp.sort, (V,)),
        "argsort": (jnp.argsort, (V,)),
        "median": (jnp.median, (V,)),
        "top_k": (lambda a: lax.top_k(a, 3), (V,)),
        "unique": (lambda a: jnp.unique(a, size=6), (V,)),
        "argmax": (jnp.argmax, (V,)),
        "cumsum": (jnp.cumsum, (I,)),
        "cummax": (lambda a: lax.cummax(a, 1), (X,)),
        "searchsorted": (lambda a, b: jnp.searchsorted(jnp.sort(a), b), (V, V)),
        "histogram": (lambda a: jnp.histogram(a, bins=4, range=(-5.0, 5.0))[0], (V,)),
        "where": (lambda a: jnp.where(a > 0, a, 0.0), (X,)),
        "take": (lambda a: jnp.take(a, np.array([2, 0, 5]), axis=0, mode="clip"), (V,)),
        "fancy index": (lambda a, k: a[k], (V, I)),
        "set": (lambda a: a.at[2].set(9.0), (V,)),
        "add at": (lambda a, k: a.at[k].add(1.0), (V, np.array([1, 1, 3], np.int32))),
        "segment_sum": (lambda a: jax.ops.segment_sum(a, np.array([0, 0, 1, 2, 2, 1]), 3), (V,)),
        "roll": (lambda a: jnp.roll(a, 2), (V,)),
        "pad": (lambda a: jnp.pad(a, 1), (X,)),
        "tril": (jnp.tril, (np.outer(V, V),)),
        "max pool": (pool, (IMAGE,)),
        "gradient of a max pool": (jax.grad(lambda a: pool(a).sum()), (IMAGE,)),
        "gradient of an embedding": (jax.grad(lambda t: (t[np.array([1, 1, 3])] ** 2).sum()), (V,)),
        "scan": (lambda a: lax.scan(lambda c, t: (jnp.maximum(c, t), c), 0.0, a), (V,)),
        "fori_loop": (lambda a: lax.fori_loop(0, 5, lambda k, c: c + k, a), (I,)),
        "cond": (lambda a: lax.cond(a[0] > 0, jnp.negative, jnp.abs, a), (V,)),
        "dynamic_slice": (lambda a, k: lax.dynamic_slice(a, (k[0],), (2,)), (V, np.array([7], np.int32))),
        "popcount": (lax.population_count, (I,)),
        "shifts": (lambda a: (a << 3, a >> 2, lax.shift_right_logical(a, np.int32(2))), (I,)),
        "reduce_precision": (lambda a: lax.reduce_precision(a, 5, 10), (X,)),
        "f8": (lambda a: a.astype(jnp.float8_e4m3fn).astype(jnp.float32), (X,)),
        "int8 dot": (
            lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32),
            (np.array([[1, 2], [3, 4]], np.int8), np.array([[-5, 6], [7, 127]], np.int8)),
        ),
        "one_hot": (lambda k: nn.one_hot(k, 5), (np.array([0, 4, 2], np.int32),)),
        "bits": (lambda k: random.bits(k, (7,)), (KEY,)),
        "uniform": (lambda k: random.uniform(k, (5,)), (KEY,)),
        "permutation": (lambda k: random.permutation(k, 8), (KEY,)),
        "split": (random.split, (KEY,)),
        "relu": (nn.relu, (X,)),
        "sqrt": (lambda a: jnp.sqrt(jnp.abs(a)), (X,)),
    }


def test_jax_gives_the_same_bits() -> None:
    import jax

    failures = []
    for name, (function, arguments) in functions().items():
        compiled = jax.jit(function)
        expected = [np.asarray(each) for each in jax.tree.leaves(compiled(*arguments))]
        found = hu.run(compiled.lower(*arguments).as_text(), *arguments, function="main")
        same = [
            np.asarray(ours.numpy(), theirs.dtype).tobytes() == theirs.tobytes()
            for ours, theirs in zip(found, expected, strict=True)
        ]
        if not all(same):
            failures.append(name)
    assert not failures
