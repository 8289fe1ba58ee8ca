"""Register what users add to halfulp: formats, ops, dialects, casts, and Python functions for declarations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from halfulp.fp_formats.formats import NanEncoding
from halfulp.fp_formats.formats import register_format as format
from halfulp.interp.declare.declarations import ANY, Dialect, OpDefinition, Trait, TypeConstraint
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import OnValues
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings, host_values
from halfulp.interp.values.coerce import as_type

__all__ = ["Dialect", "NanEncoding", "Trait", "cast", "dialect", "external", "format", "op"]

_casts: dict[tuple[tuple[str, ...], tuple[str, ...]], Callable[..., Any]] = {}
_externals: dict[str, Callable[..., Any]] = {}


def dialect(declared: Dialect) -> None:
    """Register a dialect, or add ops to a registered dialect. Raise ValueError if an op of that name exists."""
    default_registry().register(declared)


def op(
    name: str,
    function: Callable[..., Any],
    *,
    operands: Mapping[str, TypeConstraint] | Sequence[str] = (),
    results: Mapping[str, TypeConstraint] | Sequence[str] = ("result",),
    assembly: str | None = None,
    **declaration: Any,
) -> OpDefinition:
    """Declare your own op, and the function that computes it.

    ``name``: ``dialect.mnemonic``. ``function`` gets the operands as `Value`s and the op's properties and attributes as
    keywords; it returns one result, or a tuple of them, as `Value`s, arrays or numbers of the declared result types.
    ``operands``, ``results``: names, or names with type constraints.
    ``assembly``: MLIR's declarative assembly format; without it the op has only its generic form.
    ``declaration``: further fields of `halfulp.interp.declare.declarations.OpDefinition`.

    Raises ValueError if an op of that name exists.
    """
    dialect_name, dot, mnemonic = name.partition(".")
    if not dot:
        raise ValueError(f"{name!r} does not have the form dialect.mnemonic")
    named = [
        dict.fromkeys(slots, ANY) if not isinstance(slots, Mapping) else dict(slots) for slots in (operands, results)
    ]

    def build(operation: Operation, settings: Settings) -> Callable[[Run, tuple[Any, ...]], tuple[Any, ...]]:
        types = [value.type for value in operation.results]
        keywords = {**operation.attributes, **operation.properties}

        def apply(run: Run, values: tuple[Any, ...]) -> tuple[Any, ...]:
            return host_values(function(*values, **keywords), types, f"the function behind '{name}'", settings)

        return apply

    extension = Dialect(dialect_name)
    definition = extension.op(
        mnemonic, assembly, operands=named[0], results=named[1], evaluate=OnValues(build), **declaration
    )
    default_registry().register(extension)
    return definition


def cast(
    type: str | ty.Type | Sequence[str | ty.Type],
    to: str | ty.Type | Sequence[str | ty.Type],
    function: Callable[..., Any],
) -> None:
    """Register the function that computes builtin.unrealized_conversion_cast between these types. It gets `Value`s, and
    returns `Value`s or arrays.
    """
    _casts[_spellings(type), _spellings(to)] = function


def _spellings(types: str | ty.Type | Sequence[str | ty.Type]) -> tuple[str, ...]:
    several = types if isinstance(types, Sequence) and not isinstance(types, str) else [types]
    return tuple(str(as_type(type_)) for type_ in several)


def external(name: str, function: Callable[..., Any]) -> None:
    """Register a Python function that is called for each declared function of this name. It gets `Value`s, and returns
    `Value`s or arrays.
    """
    _externals[name.removeprefix("@")] = function


def user_functions(
    externals: Mapping[str, Callable[..., Any]] | None = None,
) -> tuple[dict[str, Callable[..., Any]], dict[tuple[tuple[str, ...], tuple[str, ...]], Callable[..., Any]]]:
    """Return the Python functions of a run: those for declared functions, and those for casts. For a declared function,
    ``externals`` come before the registered functions.
    """
    return {**_externals, **(externals or {})}, dict(_casts)
