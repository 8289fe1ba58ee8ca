"""The public names: one table, which ``__all__``, ``dir``, attribute access and the type stub agree with."""

from __future__ import annotations

import pkgutil
from types import ModuleType

import pytest
from public_names import STUB, stub

import halfulp as hu


def test_every_public_name_is_there() -> None:
    for name in hu.__all__:
        assert getattr(hu, name) is not None
    assert set(hu.__all__) <= set(dir(hu))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = hu.nonsense  # type: ignore[attr-defined]


def test_the_type_stub_is_made_from_the_table() -> None:
    assert STUB.read_text(encoding="utf-8") == stub()


def test_no_module_hides_a_public_name() -> None:
    # Importing halfulp.explain, if there were one, would replace the function hu.explain by the module.
    modules = {module.name for module in pkgutil.iter_modules(hu.__path__)}
    assert {name for name in modules & set(hu.__all__) if not isinstance(getattr(hu, name), ModuleType)} == set()
