"""Functions on memrefs for tests: build one from its signature and body, run it, and expect undefined behaviour."""

from typing import Any

import pytest

import halfulp as hu
from halfulp.interp.ir.operations import Module

INDICES = "".join(f"  %c{k} = arith.constant {k} : index\n" for k in range(6))


def module_of(signature: str, body: str) -> Module:
    """Return a module with one function @main, whose body may use %c0 to %c5."""
    return hu.load(f"func.func @main{signature} {{\n{INDICES}{body}\n}}")


def run(signature: str, body: str, *arguments: Any, **options: Any) -> tuple[hu.Value, ...]:
    return hu.run(module_of(signature, body), *arguments, **options)


def undefined(signature: str, body: str, *arguments: Any, **options: Any) -> str:
    """Return the message about the undefined behaviour of a function."""
    with pytest.raises(hu.UndefinedBehavior) as caught:
        run(signature, body, *arguments, **options)
    assert caught.value.location is not None
    assert caught.value.op is not None
    return caught.value.message
