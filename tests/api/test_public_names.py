"""The public names: one table, which ``__all__``, ``dir``, attribute access and the type stub agree with."""

from __future__ import annotations

import pkgutil
from importlib.metadata import version
from types import ModuleType

import pytest
from public_names import STUB, stub

import halfulp as hu
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
