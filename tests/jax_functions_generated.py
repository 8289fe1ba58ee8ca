"""A hundred small functions over jax.numpy and lax: each of five kinds for each of twenty types."""

import random
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

FLOATS = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
TYPES = (*FLOATS, *INTEGERS, "bool")


class Sample(NamedTuple):
    """A function with arguments. ``text``: what it is. ``wide``: whether JAX must keep 64 bits."""

    text: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    wide: bool


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


def array(draw: random.Random, dtype: np.dtype[Any], *shape: int) -> Any:
    """Return numbers between 1/4 and 2, of one sign or of both, or small integers."""
    count = int(np.prod(shape))
    if dtype.kind == "b":
        numbers: list[Any] = [draw.random() < 0.5 for _ in range(count)]
    elif dtype.kind in "iu":
        least = -7 if dtype.kind == "i" else 0
        numbers = [draw.randint(least, 7) for _ in range(count)]
    else:
        numbers = [draw.uniform(0.25, 2) * draw.choice((1, 1, -1)) for _ in range(count)]
    return np.array(numbers).reshape(shape).astype(dtype)


def sample(kind: str, name: str, seed: int = 0) -> Sample:
    """Return a function of a kind on arrays of a type; the same for the same seed."""
    dtype = dtype_of(name)
    function, arguments, text = KINDS[kind](random.Random(f"{seed} {kind} {name}"), dtype)
    return Sample(text, function, arguments, dtype.itemsize == 8)


Made = tuple[Callable[..., Any], tuple[Any, ...], str]


def _one_op(draw: random.Random, dtype: np.dtype[Any]) -> Made:
    jax: Any = import_module("jax")
    jnp, lax = jax.numpy, jax.lax
    x, y = array(draw, dtype, 12), array(draw, dtype, 12)
    if dtype.kind == "b":
        name = draw.choice(("logical_and", "logical_or", "logical_xor", "not_equal"))
        return getattr(jnp, name), (x, y), name
    if dtype.kind in "iu":
        name = draw.choice(("population_count", "clz", "bitwise_not", "sign"))
        return getattr(lax, name), (x,), name
    if draw.random() < 0.3:
        name = draw.choice(("add", "subtract", "multiply", "divide", "maximum"))
        return getattr(jnp, name), (x, y), name
    name = draw.choice(("exp", "log", "sin", "cos", "tanh", "sqrt", "rsqrt", "cbrt", "log1p", "expm1"))
    return getattr(lax, name), (np.abs(x.astype(np.float64)).astype(dtype),), name


def _chain(draw: random.Random, dtype: np.dtype[Any]) -> Made:
    jax: Any = import_module("jax")
    jnp, lax = jax.numpy, jax.lax
    x, y = array(draw, dtype, 3, 4), array(draw, dtype, 4)
    if dtype.kind == "b":
        return lambda x, y: jnp.where(x, ~y, x ^ y), (x, y), "where(x, ~y, x ^ y)"
    if dtype.kind in "iu":
        pool = {
            "x * y + x": lambda x, y: x * y + x,
            "(x ^ y) << 2": lambda x, y: lax.shift_left(x ^ y, jnp.full_like(x, 2)),
            "max(x, y) - min(x, y)": lambda x, y: jnp.maximum(x, y) - jnp.minimum(x, y),
            "x // (y | 8)": lambda x, y: x // (y | 8),
        }
    else:
        pool = {
            "x * y + x": lambda x, y: x * y + x,
            "clip(x - y, -1, 1) * y": lambda x, y: jnp.clip(x - y, -1, 1) * y,
            "where(x > y, x / y, x * x)": lambda x, y: jnp.where(x > y, x / y, x * x),
            "exp(-x * x)": lambda x, y: jnp.exp(-x * x),
            "sqrt(x * x + y * y)": lambda x, y: jnp.sqrt(x * x + y * y),
        }
    name = draw.choice(list(pool))
    return pool[name], (x, y), name


def _reduction(draw: random.Random, dtype: np.dtype[Any]) -> Made:
    jnp: Any = import_module("jax.numpy")
    x, axis = array(draw, dtype, 4, 6), draw.choice((None, 0, 1))
    if dtype.kind == "b":
        name = draw.choice(("any", "all"))
    elif dtype.kind in "iu":
        name = draw.choice(("sum", "max", "min"))
    else:
        name = draw.choice(("sum", "sum", "max", "min", "mean"))
    return lambda x: getattr(jnp, name)(x, axis=axis), (x,), f"{name}(axis={axis})"


def _product(draw: random.Random, dtype: np.dtype[Any]) -> Made:
    jax: Any = import_module("jax")
    jnp, lax = jax.numpy, jax.lax
    if dtype.kind == "b":
        x, y = array(draw, dtype, 3, 4), array(draw, dtype, 4, 2)
        return lambda x, y: jnp.matmul(x.astype(jnp.int32), y.astype(jnp.int32)), (x, y), "matmul in int32"
    wide = {"e": np.float32, "f": np.float32, "V": np.float32, "i": np.int32, "u": np.uint32}.get(dtype.kind)
    sums = draw.choice((None, wide)) if dtype.itemsize < 4 else None
    text = "" if sums is None else f", sums in {np.dtype(sums).name}"
    if draw.random() < 0.5:
        x, y = array(draw, dtype, 3, 8), array(draw, dtype, 8, 2)
        return lambda x, y: jnp.matmul(x, y, preferred_element_type=sums), (x, y), f"matmul{text}"
    x, y = array(draw, dtype, 2, 3, 4), array(draw, dtype, 2, 5, 4)
    numbers = (((2,), (2,)), ((0,), (0,)))
    return lambda x, y: lax.dot_general(x, y, numbers, preferred_element_type=sums), (x, y), f"dot_general{text}"


def _movement(draw: random.Random, dtype: np.dtype[Any]) -> Made:
    jax: Any = import_module("jax")
    jnp, lax = jax.numpy, jax.lax
    x, at = array(draw, dtype, 4, 5), np.array([2, 0, 3], np.int32)
    pool: dict[str, Made] = {
        "x[1:, ::2].T": (lambda x: x[1:, ::2].T, (x,), ""),
        "dynamic_slice": (lambda x, at: lax.dynamic_slice(x, (at[0], at[1]), (2, 3)), (x, at), ""),
        "take": (lambda x, at: jnp.take(x, at, axis=0, mode="clip"), (x, at), ""),
        "concatenate": (lambda x: jnp.concatenate([x, x[::-1]], axis=1), (x,), ""),
        "pad": (lambda x: jnp.pad(x, ((1, 0), (0, 2))), (x,), ""),
        "reshape": (lambda x: x.reshape(2, 10)[:, None, 3:], (x,), ""),
        "dynamic_update_slice": (lambda x, at: lax.dynamic_update_slice(x, x[:2, :2], (at[1], at[2])), (x, at), ""),
    }
    name = draw.choice(list(pool))
    function, arguments, _ = pool[name]
    return function, arguments, name


KINDS: dict[str, Callable[[random.Random, np.dtype[Any]], Made]] = {
    "one op": _one_op,
    "chain": _chain,
    "reduction": _reduction,
    "product": _product,
    "movement": _movement,
}
