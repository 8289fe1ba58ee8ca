"""The public names: one table, which ``__all__``, ``dir``, attribute access and the type stub agree with."""

import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from operator import attrgetter
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from public_names import STUB, stub
from tables import each_row

import halfulp as hu
from halfulp import guessing, inputs
from halfulp.interp.values import value
from halfulp.release import version_text


def test_every_public_name_is_there() -> None:
    for name in hu.__all__:
        assert getattr(hu, name) is not None
    assert set(hu.__all__) <= set(dir(hu))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = hu.nonsense  # type: ignore[attr-defined]


def test_dir_shows_the_public_names_only() -> None:
    shown = set(dir(hu))
    assert {name for name in shown if not name.startswith("__")} == set(hu.__all__)
    assert {"__doc__", "__file__", "__name__", "__path__", "__version__"} <= shown
    # What an import of a part leaves behind is not shown either.
    assert not {"Mapping", "annotations", "import_module", "fp_formats", "interp", "_EXPORTS"} & shown


def test_the_version_is_that_of_the_package() -> None:
    assert hu.__version__ == version("halfulp")
    assert version_text().startswith(f"halfulp {hu.__version__} (semantics ")


@pytest.mark.added
def test_the_type_stub_is_made_from_the_table() -> None:
    assert STUB.read_text(encoding="utf-8") == stub(), "run `python tests/public_names.py`"


def test_no_module_hides_a_public_name() -> None:
    # Importing halfulp.explain, if there were one, would replace the function hu.explain by the module.
    modules = {module.name for module in pkgutil.iter_modules(hu.__path__)}
    assert {name for name in modules & set(hu.__all__) if not isinstance(getattr(hu, name), ModuleType)} == set()


# --- guessing ---------------------------------------------------------------------------------------------------------
#
# What an unknown name of halfulp, or an unknown attribute of a Value, says.


def message(name: str) -> str:
    with pytest.raises(AttributeError) as caught:
        getattr(hu, name)
    return str(caught.value)


@each_row(
    ("array", "hu.convert"),
    ("zeros", "np.zeros(...)"),
    ("float8_e4m3fn", 'hu.convert(x, "f8E4M3FN")'),
    ("bfloat16", 'hu.float_format("bf16")'),
    ("int8", '"i8"'),
    ("e4m3", "f8E4M3FNUZ"),
    ("convrt", "did you mean `convert`?"),
    ("tanh", "np.tanh(v) works"),
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


@each_row(*sorted({*guessing.INSTEAD.values(), *value.INSTEAD.values()}))
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


ANY: Any = hu
"""The package without types, for calls that a type checker refuses."""


@each_row(
    (lambda: ANY.run("module {}", entry="main"), "run() has no argument 'entry'; write function=…"),
    (
        lambda: ANY.accuracy("exp", "f32", "numpy", between=(0, 1)),
        "accuracy() has no argument 'between'; write range=…",
    ),
    (lambda: ANY.convert(1, "bf16", from_="f32"), "convert() has no argument 'from_'; write type=…"),
    (lambda: ANY.ulp(1, fmt="bf16"), "ulp() has no argument 'fmt'; write type=…"),
    (lambda: ANY.round(f="x", x=1.0), "round() has no argument 'f'; write function=…"),
    (lambda: ANY.iree.constraints("", entry="f"), "constraints() has no argument 'entry'; write function=…"),
    (lambda: ANY.bisect("", count=2), "bisect() has no argument 'count'; write n=…"),
)
def test_another_name_of_an_argument_says_ours(call: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == said


@pytest.mark.parametrize("name", sorted(inputs._OTHER_ARGUMENTS))
def test_arguments_that_are_named_instead_exist(name: str) -> None:
    function = getattr(hu, name, None) or getattr(hu.iree, name)
    taken = inspect.signature(function).parameters
    other = inputs._OTHER_ARGUMENTS[name]
    assert not other.keys() & taken.keys()
    assert {ours.rpartition(" ")[2] for ours in other.values()} <= taken.keys()
