"""``halfulp explain``: explain how one number is rounded, or the result of an op."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import halfulp as hu
from halfulp.command.console import SUCCESS, write
from halfulp.command.options.explain import ROUNDINGS, ExplainArguments
from halfulp.command.semantics import profile_named, properties_of
from halfulp.command.sources import Sources
from halfulp.command.values import naming
from halfulp.described import first_given
from halfulp.explanations.applications import keywords_of
from halfulp.explanations.op import explained_ops, signature_of
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir.errors import InputError
from halfulp.interp.values.coerce import as_type
from halfulp.number_reader import format_of
from halfulp.semantics.profile import Profile

if TYPE_CHECKING:
    from halfulp.explanations.op import OpExplanation
    from halfulp.explanations.rounding import RoundingExplanation

_OP = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*")
_NAME = re.compile(r"(?!nan$|inf$)[A-Za-z_]\w*", re.IGNORECASE)


def execute(arguments: ExplainArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    if arguments.list:
        write("".join(f"{op}\n" for op in explained_ops()))
        return SUCCESS
    words = [word.strip() for word in arguments.words]
    if not words:
        raise InputError("nothing to explain; usage: halfulp explain VALUE TYPE, or OP TYPE OPERAND...")
    profile = profile_named(arguments.profile)
    if _OP.fullmatch(words[0]) or (_NAME.fullmatch(words[0]) and default_registry().lookup(words[0])):
        explanation: Any = _op(words, arguments, profile, sources)
    else:
        explanation = _number(words, arguments, profile, sources)
    if arguments.plot is not None:
        _draw(explanation, arguments.plot, arguments.dark)
    write(f"{explanation}\n")
    return SUCCESS


def _draw(explanation: RoundingExplanation | OpExplanation, path: str, dark: bool) -> None:
    hu.plot.ending_of(path)
    try:
        figure = hu.plot.explanation(explanation, dark=dark)
    except ModuleNotFoundError as error:
        raise InputError(f"--plot: {error}") from None
    hu.plot.save(figure, path)


def _number(words: list[str], arguments: ExplainArguments, profile: Profile, sources: Sources) -> Any:
    option = first_given(arguments, ("source", "channel", "attr"))
    if option is not None:
        raise InputError(f"{option} goes with an op, as in: halfulp explain arith.truncf f8E4M3FN 0.3 --from f32")
    value, type_ = (" ".join(words), None) if ":" in words else (words[0], words[1] if len(words) > 1 else None)
    if ":" not in words and len(words) > 2:
        raise InputError(f"explain takes a value and a type, or an op with its operands, not {' '.join(words)}")
    fmt = None
    if type_ is not None:
        with naming("<type>", type_, sources):
            fmt = format_of(type_)
    with naming("<value>", value, sources):
        how: dict[str, Any] = {"random": arguments.random, "bits": arguments.random_bits}
        return hu.explain(value, fmt, arguments.rounding or ROUNDINGS[0], profile, **how)


def _op(words: list[str], arguments: ExplainArguments, profile: Profile, sources: Sources) -> Any:
    op, *rest = words
    if not rest:
        raise InputError(f"which type? halfulp explain {op} f32 OPERAND...")
    with naming("<type>", rest[0], sources):
        type_ = as_type(rest[0])
    source = None
    if arguments.source is not None:
        with naming("<from>", arguments.source, sources):
            source = as_type(arguments.source)
    properties = properties_of(op, arguments.attr, sources)
    if arguments.rounding is not None:
        properties["rounding"] = arguments.rounding
    types = keywords_of(signature_of(op), type_, source)
    drawn = {"random": arguments.random, "bits": arguments.random_bits}
    how = {**types, **drawn, "profile": profile, "channel": arguments.channel}
    return hu.explain_op(op, *rest[1:], **how, **properties)
