"""Names of arguments that users of other libraries try first: the error for one names ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def names_arguments(
    ours: Mapping[str, str],
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Return a decorator that makes a function raise TypeError for the keys of ``ours``, and name our arguments."""

    def decorated(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        @wraps(function)
        def checked(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
            if not kwargs.keys().isdisjoint(ours):
                name = next(name for name in kwargs if name in ours)
                raise TypeError(f"{function.__name__}() has no argument {name!r}; write {ours[name]}=…")
            return function(*args, **kwargs)

        return checked

    return decorated
