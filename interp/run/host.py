"""The boundary to Python: the results of a user's functions become values of the declared types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import to_argument


def host_values(produced: Any, types: Sequence[ty.Type], source: str, settings: Settings) -> tuple[Any, ...]:
    """Return the results of a user's Python function as values, or buffers, of the declared types.

    Arrays are copied, since the function may keep them. ``source`` names the function in errors. Raises TypeMismatch.
    """
    given = () if produced is None and not types else produced if isinstance(produced, tuple) else (produced,)
    if len(given) != len(types):
        raise TypeMismatch(f"{source} returned {len(given)} values; {len(types)} are declared")
    values = []
    for index, (value, type_) in enumerate(zip(given, types, strict=True)):
        what = f"result {index} of {source}"
        argument = to_argument(value, type_, what, settings.vscale, copy=True, max_bytes=settings.max_bytes)
        values.append(settings.accepted(argument, what))
    return tuple(values)
