"""Modules from functions of JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from halfulp.importing.lowering import lower
from halfulp.importing.packages import require
from halfulp.interp.ir.errors import InputError
from halfulp.interp.ir.operations import Module
from halfulp.interp.run.signature import argument_types
from halfulp.running import find_entry


def from_jax(f: Callable[..., Any], *args: Any) -> Module:
    """Return a function of JAX as a module of linalg on tensors, whose public function is ``@main``.

    ``f``: a Python function of arrays, or the result of ``jax.jit``. ``args``: its arguments, or
    ``jax.ShapeDtypeStruct`` of their shapes and dtypes. Nested arguments and results are flattened, in the order of
    ``jax.tree.leaves``. Values that are not arrays go into ``f`` before: ``functools.partial(f, axis=1)``.

    JAX decides the types: without ``jax_enable_x64``, it takes float64 as f32. It lowers ``f`` to StableHLO, and IREE's
    compiler lowers that as `from_stablehlo` says. The ops of the module know their lines in the Python file.

        >>> module = hu.from_jax(lambda x: jnp.tanh(x) + 1, np.float32([0.5, 1.0]))
        >>> hu.run(module, np.float32([0.5, 1.0]))

    Raises Unsupported if a package is not installed, with the command that installs it, and what JAX raises for a
    function that it cannot trace.
    """
    return traced(f, args).module


@dataclass(frozen=True)
class Traced:
    """A function of JAX with the types of its arguments: what JAX lowered, and the module of it."""

    name: str
    lowered: Any
    module: Module


def traced(f: Callable[..., Any], args: Sequence[Any]) -> Traced:
    """Lower a function of JAX. Raise what `from_jax` raises."""
    require("jax", "hu.from_jax")
    jax: Any = import_module("jax")
    # JAX drops an argument that is not used, unless it is told to keep it.
    compiled = f if hasattr(f, "lower") else jax.jit(f, keep_unused=True)
    name = getattr(f, "__name__", "f")
    lowered = compiled.lower(*args)
    module = lower(lowered.as_text(debug_info=True), f"<jax {name}>")
    given, kept = len(jax.tree.leaves(lowered.args_info)), len(argument_types(find_entry(module)))
    if given != kept:
        raise InputError(
            f"{name} has {given} arguments, but JAX kept only the {kept} that it uses",
            hint="give the function itself, or jax.jit(f, keep_unused=True)",
        )
    return Traced(name, lowered, module)
