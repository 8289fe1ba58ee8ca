"""What an unknown name of halfulp, or an unknown attribute of a Value, says."""

from __future__ import annotations

import re
import subprocess
import sys
from operator import attrgetter

import numpy as np
import pytest

import halfulp as hu
from halfulp import guessing
from halfulp.interp.values import value


def message(name: str) -> str:
    with pytest.raises(AttributeError) as caught:
        getattr(hu, name)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("array", "hu.convert"),
        ("zeros", "np.zeros(...)"),
        ("float8_e4m3fn", 'hu.convert(x, "f8E4M3FN")'),
        ("bfloat16", 'hu.float_format("bf16")'),
        ("int8", '"i8"'),
        ("e4m3", "f8E4M3FNUZ"),
        ("convrt", "did you mean `convert`?"),
        ("tanh", "np.tanh(v) works"),
    ],
)
def test_an_unknown_name_says_what_to_write(name: str, hint: str) -> None:
    assert message(name).startswith(f"module 'halfulp' has no attribute {name!r} (")
    assert hint in message(name)


@pytest.mark.parametrize("name", ["_array", "__array_interface__", "xyzzyxyzzy"])
def test_other_names_get_no_hint(name: str) -> None:
    assert message(name) == f"module 'halfulp' has no attribute {name!r}"


@pytest.mark.parametrize("name", sorted(guessing.MOVED))
def test_an_old_name_says_the_new_one(name: str) -> None:
    new = f"hu.{guessing.MOVED[name]}"
    assert callable(attrgetter(guessing.MOVED[name])(hu))
    if not hasattr(hu, name):
        assert message(name) == f"module 'halfulp' has no attribute {name!r} (its name is {new})"
    else:
        with pytest.raises(TypeError) as caught:
            getattr(hu, name)("Add", [1.0], [2.0])
        assert str(caught.value) == f"hu.{name} is a module, and not a function (call {new}(…))"


def test_a_namespace_that_was_no_function_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^hu.quant is a module, and not a function$"):
        hu.quant()  # type: ignore[operator]


def test_no_advice_is_for_a_name_that_exists() -> None:
    assert not set(guessing.INSTEAD) & set(hu.__all__)
    assert not {name for name in value.INSTEAD if hasattr(hu.Value, name)}


CALLS = re.compile(r"\bhu\.(\w+)(?:\.(\w+))?")


@pytest.mark.parametrize("advice", sorted({*guessing.INSTEAD.values(), *value.INSTEAD.values()}))
def test_advice_names_what_exists(advice: str) -> None:
    for name, member in CALLS.findall(advice):
        assert name in {*hu.__all__, "__version__"}
        assert not member or hasattr(getattr(hu, name), member)
    for name in re.findall(r"\bnp\.([\w.]+)", advice):
        assert all(hasattr(np, part) for part in name.split(".")[:1])
    for name in re.findall(r"(?:^|\s)\.([a-z]\w+)", advice):
        assert hasattr(hu.Value, name) or name in hu.Value.__slots__


def test_importing_halfulp_does_not_load_the_advice() -> None:
    code = "import sys, halfulp; sys.exit('halfulp.guessing' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
