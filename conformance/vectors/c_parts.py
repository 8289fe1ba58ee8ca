"""The parts of models in C: the parts of ``c_model.c``, and the constants that make them a model of one op."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from halfulp.conformance.vectors.columns import Column
from halfulp.fp_formats.formats import FloatFormat, NanEncoding, storage_dtype
from halfulp.fp_formats.policy import SPEC, FloatPolicy

WIDEST = 64
"""The most bits of a format or an integer."""

PRECISE = 53
"""The most bits of a significand: a product of two fits into 106 bits, beside which sums have room."""

SYSTEMVERILOG_TYPES = {8: "byte", 16: "shortint", 32: "int", 64: "longint"}

_NANS = {
    NanEncoding.IEEE: "IEEE",
    NanEncoding.ALL_ONES: "ALL_ONES",
    NanEncoding.NEGATIVE_ZERO: "NEGATIVE_ZERO",
    NanEncoding.NONE: "NO_NAN",
}


@dataclass(frozen=True)
class CModel:
    """A model of an op: C99 with a self-test (a program if ``NAME_SELF_TEST`` is defined), and its import in
    SystemVerilog.
    """

    name: str
    source: str
    package: str


@cache
def library() -> Mapping[str, list[str]]:
    """Return the items of each part of ``c_model.c``: functions with their comments, and declarations."""
    text = resources.files(__package__).joinpath("c_model.c").read_text(encoding="utf-8")
    parts = re.split(r"^//% (\w+)\n", text, flags=re.MULTILINE)[1:]
    return {name: body.strip().split("\n\n") for name, body in zip(parts[::2], parts[1::2], strict=True)}


def specialised(parts: Iterable[str], caller: str, constants: Mapping[str, str]) -> Iterator[str]:
    """Yield the declarations, constants and functions that a function needs, from some parts of ``c_model.c`` and from
    the part that all models need.

    ``caller``: the text of the function. ``constants``: the line that defines each constant, by name.
    """
    items = [item for part in ("common", *parts) for item in library()[part]]
    functions = _needed(items, [caller])
    used = set(re.findall(r"\w+", "\n".join([*functions, caller])))
    yield from (item for item in items if _name_of(item) is None)
    yield "\n".join(line for name, line in constants.items() if name in used)
    yield from functions


def _name_of(item: str) -> str | None:
    """Return the name of a function; None for a declaration."""
    found = re.search(r"^static [^=;]*?(\w+)\(", item, re.MULTILINE)
    return found[1] if found else None


def _needed(items: Sequence[str], callers: Sequence[str]) -> list[str]:
    """Return the functions among some items that others call, directly or not, in their order."""
    named = {name: item for item in items if (name := _name_of(item)) is not None}
    found: dict[str, None] = {}
    pending = list(callers)
    while pending:
        for word in re.findall(r"(\w+)\(", pending.pop()):
            if word in named and word not in found:
                found[word] = None
                pending.append(named[word])
    return [item for name, item in named.items() if name in found]


def too_wide(fmt: FloatFormat) -> str | None:
    """Return why models cannot compute with a format; None if they can."""
    if fmt.bits <= WIDEST and fmt.precision <= PRECISE:
        return None
    return f"{fmt} is too wide: a model takes formats of up to {WIDEST} bits"


def format_constant(name: str, fmt: FloatFormat, policy: FloatPolicy = SPEC) -> str:
    """Return the C line that defines the constant of a format, with the flushing of a policy."""
    flushing = policy.flushing(fmt)
    values = [
        fmt.bits, fmt.mantissa_bits, fmt.bias, int(fmt.signed), int(fmt.zero), int(fmt.infinities), int(fmt.even_code),
        _NANS[fmt.nan],
        int(flushing.operands), int(flushing.results), int(flushing.positive), int(flushing.delivered),
        f"UINT64_C({fmt.max_magnitude:#x})",
    ]  # fmt: skip
    return f"static const format {name} = {{{', '.join(map(str, values))}}}; // {fmt.name}"


def constant(name: str, value: object) -> str:
    """Return the C line that defines a constant of type int."""
    return f"static const int {name} = {value};"


def size(name: str, value: int) -> str:
    """Return the C line that defines a constant for the size of an array or for a number of bits to shift by."""
    return f"enum {{ {name} = {value} }};"


def c_type(column: Column) -> str:
    """Return the C type of the codes of a column."""
    return f"{storage_dtype(column.width).name}_t"
