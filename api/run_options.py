"""The options of a run, described once: for `run`, `trace`, `workgroups` and the command line."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from inspect import Parameter, signature
from typing import Any, TypedDict, TypeVar

from halfulp.inputs import refuse_other_arguments
from halfulp.interp.run.settings import External, IndexWidth, Listener, OnUb, Settings, Swizzle, about
from halfulp.register import user_functions
from halfulp.semantics.matrix_units.accumulator import Accumulator
from halfulp.semantics.profile import Profile, as_profile


@dataclass(frozen=True, kw_only=True)
class RunOptions(Settings):
    """The settings of a run, and which function runs, once or for many lanes."""

    function: str | None = field(
        default=None,
        metadata=about(
            "the function's name, ``@a::@b`` in a nested module; it may be left out where only one public function has "
            "a body"
        ),
    )
    batch: bool = field(default=False, metadata=about("run the function for many lanes at once"))
    signature: str | None = field(
        default=None,
        metadata=about(
            "the MLIR type of the function before it was lowered to the llvm dialect, ``(tensor<4xf32>) -> f32``: its "
            "arguments and results are given and returned as these"
        ),
    )


class CallKeywords(TypedDict, total=False):
    """The keywords of `workgroups` and `compare`, for type checkers. A test compares the classes with `RunOptions`."""

    function: str | None
    profile: Profile | str | None
    on_ub: OnUb
    index_width: IndexWidth
    vscale: int | None
    externals: Mapping[str, External] | None
    max_steps: int
    max_depth: int
    max_bytes: int


class TraceKeywords(CallKeywords, total=False):
    """The keywords of `trace` that say how a function runs."""

    batch: bool
    mma: str | Accumulator
    random: str | None
    swizzle: Swizzle
    check_hints: bool


class RunKeywords(TraceKeywords, total=False):
    """The keywords of `run`."""

    track_open: bool
    signature: str | None
    listeners: Sequence[Listener]


_AS_GIVEN: Mapping[str, tuple[Any, str]] = {
    "profile": (None, "; a name, ``name,field=value``, or a `Profile`; None: that of the `profile` block, else spec"),
    "externals": (None, ""),
}
"""Options that callers give in another form than `RunOptions` has them: the default, and what there is to say of it."""


def run_options(function: str, keywords: type[Any], given: Mapping[str, Any]) -> RunOptions:
    """Make the options of a run from keywords, with the Python functions that users registered.

    ``function``, ``keywords``: the name of the function that takes them, and the names it takes. Raise TypeError for
    any other name, ValueError for a value that is not one of the choices.
    """
    refuse_other_arguments(function, given)
    unknown = next((name for name in given if name not in keywords.__annotations__), None)
    if unknown is not None:
        raise TypeError(f"{function}() got an unexpected keyword argument {unknown!r}")
    externals, casts = user_functions(given.get("externals"))
    own = {"externals": externals, "casts": casts, "profile": as_profile(given.get("profile"))}
    return RunOptions(**{**given, **own, "listeners": tuple(given.get("listeners", ()))})


Takes = TypeVar("Takes", bound=Callable[..., Any])


def takes(keywords: type[Any]) -> Callable[[Takes], Takes]:
    """Show the keywords of a function with ``**options`` in its signature, and in its docstring for ``{options}``."""

    def shown(function: Takes) -> Takes:
        plain = signature(function)
        own = [each for each in plain.parameters.values() if each.kind is not each.VAR_KEYWORD]
        parameters = [_parameter(name, hint) for name, hint in keywords.__annotations__.items()]
        function.__signature__ = plain.replace(parameters=[*own, *parameters])  # type: ignore[attr-defined]
        if function.__doc__:
            function.__doc__ = function.__doc__.replace("{options}", _described(keywords).strip())
        return function

    return shown


def _parameter(name: str, hint: Any) -> Parameter:
    annotation = getattr(hint, "__forward_arg__", hint)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=_default(name), annotation=annotation)


def _default(name: str) -> Any:
    if name in _AS_GIVEN:
        return _AS_GIVEN[name][0]
    default = _FIELDS[name].default
    assert default is not MISSING
    return default


def _described(keywords: type[Any]) -> str:
    """Return the meanings of options as lines of a docstring."""
    lines = []
    for name in keywords.__annotations__:
        text = f"``{name}``: {_FIELDS[name].metadata['meaning']}{_AS_GIVEN.get(name, (None, ''))[1]}."
        lines += textwrap.wrap(text, 120, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(lines)


_FIELDS = {each.name: each for each in fields(RunOptions)}
