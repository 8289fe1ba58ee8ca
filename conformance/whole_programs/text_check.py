"""How real MLIR reads, verifies and prints a module, beside halfulp. No pass runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from halfulp.conformance.oracles.tool import SECONDS, Tool
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir.errors import HalfulpError, UnknownOp, Unsupported
from halfulp.interp.ir.operations import Module
from halfulp.interp.text.printer import check_schema, print_module

FORMS: Mapping[str, tuple[str, ...]] = {"custom": (), "generic": ("--mlir-print-op-generic",)}
"""The forms in which modules are printed, with the options of mlir-opt."""

OUTCOMES: Mapping[str, str] = {
    "same": "same text",
    "rejected": "rejected, same message",
    "other message": "rejected, other message",
    "prints custom": "other custom form",
    "prints generic": "other generic form",
    "accepts": "accepted, but MLIR rejects",
    "rejects": "rejected, but MLIR accepts",
    "unknown op": "op of another dialect",
}
"""The outcomes of a part, with their descriptions."""

AGREE = frozenset({"same", "rejected", "other message"})
"""The outcomes in which both accept a part and print it alike, or both reject it."""

_OPTIONS = ("--allow-unregistered-dialect", "--mlir-disable-threading")
_ERROR = re.compile(r"^(?:<stdin>|<unknown>):\d+(?::\d+)?: error: (.*)$", re.MULTILINE)
_FROM_TEST = re.compile(r"^(?:MLIR: )?(?:%\S+ = )?['\"]?test\.", re.MULTILINE)
"""Ops that mlir-opt has for its own tests: for halfulp they are ops of an unknown dialect."""
_TEST_OP = re.compile(r'"test\.\w+"\(')
_NO_DIALECT = re.compile(r"Dialect `\w+' not found for custom op ")


@dataclass(frozen=True)
class ReadThere:
    """What MLIR does with a text: its first error, or what it prints in each form."""

    error: str
    printed: Mapping[str, str]


def read_there(tool: Tool, text: str, seconds: float = SECONDS) -> ReadThere:
    """Return what MLIR does with a text of one module. Raises OracleError if it crashes or does not end."""
    printed: dict[str, str] = {}
    for form, options in FORMS.items() if tool.prints_generic else (("custom", ()),):
        done = tool.finished([*_OPTIONS, *options], text, seconds)
        if done.code or not done.printed.strip():
            error = _ERROR.search(done.said)
            return ReadThere(error[1] if error else done.said.partition("\n")[0] or "no output", {})
        printed[form] = done.printed
    return ReadThere("", printed)


def compare_text(read: Callable[[], Module], there: ReadThere, schema: Schema) -> tuple[str, str]:
    """Return the outcome of a text, a key of `OUTCOMES`, and the reason.

    ``read``: parses and verifies the text here. ``schema``: that of the MLIR which gave ``there``.
    """
    try:
        module = read()
        check_schema(module, schema)
        forms = there.printed or FORMS
        printed = {form: print_module(module, generic=form == "generic", schema=schema) for form in forms}
    except UnknownOp as error:
        return "unknown op", error.message
    except HalfulpError as error:
        if there.error:
            same = error.message == there.error
            return ("rejected" if same else "other message"), f"{error}\nMLIR: {there.error}"
        unknown = isinstance(error, Unsupported) and error.op is not None and error.op.startswith("test.")
        return ("unknown op" if unknown else "rejects"), str(error)
    outcome, why = _printed_alike(printed, there)
    return ("unknown op" if _FROM_TEST.search(why) else outcome), why


def _printed_alike(printed: Mapping[str, str], there: ReadThere) -> tuple[str, str]:
    if there.error:
        elsewhere = _NO_DIALECT.match(there.error) or _TEST_OP.search(printed.get("generic", ""))
        return "unknown op" if elsewhere else "accepts", f"MLIR: {there.error}"
    for form, text in printed.items():
        if text.strip() != there.printed[form].strip():
            return f"prints {form}", _first_difference(text, there.printed[form])
    return "same", ""


def _first_difference(here: str, there: str) -> str:
    lines = [text.strip().splitlines() for text in (here, there)]
    for one, two in zip(*lines, strict=False):
        if one != two:
            return f"halfulp: {one.strip()}\nMLIR: {two.strip()}"
    return f"halfulp prints {len(lines[0])} lines, MLIR {len(lines[1])}"
