"""Run xDSL as a peer: it reads, verifies and prints, and interprets scalar code."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

from benchmarks.rows import Absent

NAME = "xDSL"


def _parsed(text: str) -> tuple[Any, Any]:
    """Parse a module, and return it with its context. Raises Absent."""
    try:
        from xdsl.context import Context
        from xdsl.dialects import arith, builtin, cf, func
        from xdsl.parser import Parser
    except ImportError:
        raise Absent("xDSL is not installed") from None
    context = Context()
    for dialect in (arith.Arith, builtin.Builtin, cf.Cf, func.Func):
        context.load_dialect(dialect)
    return context, Parser(context, text).parse_module()


def read_and_print(text: str) -> str:
    """Read, verify and print a module."""
    _, module = _parsed(text)
    from xdsl.printer import Printer

    module.verify()
    out = StringIO()
    Printer(out).print_op(module)
    return out.getvalue()


def function(text: str) -> Callable[..., tuple[Any, ...]]:
    """Return a function that calls ``@main`` in xDSL's interpreter."""
    context, module = _parsed(text)
    from xdsl.interpreter import Interpreter
    from xdsl.interpreters import register_implementations

    interpreter = Interpreter(module)
    register_implementations(interpreter, context)

    def call(*arguments: Any) -> tuple[Any, ...]:
        try:
            return tuple(interpreter.call_op("main", arguments))
        except AttributeError as error:  # cmpi of 0.75.0 stops on any two numbers
            raise Absent(f"this version of xDSL stops: {error}") from None

    return call
