"""The options of a run: one dataclass, and what the API, type checkers and the command line show of it."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

import halfulp as hu
from halfulp.command.calls import FunctionResultOptions
from halfulp.run_options import CallKeywords, RunKeywords, RunOptions, TraceKeywords
from halfulp.semantics.matrix_units.accumulator import Accumulator

HIDDEN = {"casts", "recorder", "write"}
"""Settings that users do not give."""
GIVEN_OTHERWISE = {"profile", "externals", "listeners"}
"""Options that callers give in another form than the dataclass holds."""
PROGRAM = "func.func @f(%x: f32) -> f32 { return %x : f32 }"
TAKERS: dict[Any, Any] = {hu.run: RunKeywords, hu.trace: TraceKeywords, hu.iree.workgroups: CallKeywords}


def test_the_keywords_are_those_of_the_dataclass() -> None:
    assert set(RunKeywords.__annotations__) | HIDDEN == {field.name for field in fields(RunOptions)}
    names = {"Accumulator": Accumulator}  # its module is imported for type checkers alone
    hints, options = get_type_hints(RunKeywords, localns=names), get_type_hints(RunOptions, localns=names)
    assert {name: hints[name] for name in hints.keys() - GIVEN_OTHERWISE} == {
        name: options[name] for name in hints.keys() - GIVEN_OTHERWISE
    }


@pytest.mark.parametrize("function", TAKERS, ids=lambda function: function.__name__)
def test_signatures_and_docstrings_show_the_options(function: Any) -> None:
    shown = inspect.signature(function).parameters
    defaults = RunOptions()
    for name in TAKERS[function].__annotations__:
        assert shown[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert f"``{name}``: " in function.__doc__
        if name not in GIVEN_OTHERWISE:
            assert shown[name].default == getattr(defaults, name)
    assert "{options}" not in function.__doc__
    assert all(parameter.kind is not inspect.Parameter.VAR_KEYWORD for parameter in shown.values())


@pytest.mark.parametrize("function", TAKERS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("name", ["nonsense", *sorted(HIDDEN)])
def test_other_keywords_are_refused(function: Any, name: str) -> None:
    with pytest.raises(TypeError, match=rf"{function.__name__}\(\) got an unexpected keyword argument '{name}'"):
        function(PROGRAM, 1.0, **{name: None})


def test_a_value_that_is_no_choice_is_refused() -> None:
    with pytest.raises(ValueError, match="on_ub is 'ignore', but must be 'raise' or 'poison'"):
        hu.run(PROGRAM, 1.0, on_ub="ignore")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"bits=25 \(did you mean `chip:hopper`\?\)$"):
        hu.run(PROGRAM, 1.0, mma="chip:h100")


def test_the_command_line_has_the_same_choices_and_no_defaults_of_its_own() -> None:
    options = {field.name: field for field in fields(RunOptions)}
    offered = {field.name: field for field in fields(FunctionResultOptions) if field.name in options}
    assert {"on_ub", "index_width", "vscale", "batch", "mma", "swizzle", "check_hints", "max_steps"} <= set(offered)
    for name, field in offered.items():
        choices = field.metadata["keywords"].get("choices", ())
        assert tuple(choices) == (() if name == "mma" else options[name].metadata["choices"])
        assert field.default in (None, False, "spec")
