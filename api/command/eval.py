"""``halfulp eval``: evaluate one op on typed inputs."""

from __future__ import annotations

from halfulp.command import running
from halfulp.command.console import write
from halfulp.command.options.eval import EvalArguments
from halfulp.command.running import run_keywords
from halfulp.command.semantics import properties_of
from halfulp.command.sources import Sources
from halfulp.command.values import check_size, naming, read_value
from halfulp.evaluating import eval as evaluate
from halfulp.fp_formats.exact.core import FlagArray
from halfulp.fp_formats.policy import Flags
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.element_layout import spell_value
from halfulp.interp.values.parsing import parse_type_head
from halfulp.interp.values.value import Value
from halfulp.texts import flags_text


def execute(arguments: EvalArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    keywords = run_keywords(arguments)
    # Values are limited only here: hu.eval has no limits.
    limit = keywords.pop("max_bytes", Settings.max_bytes)
    running.check_outputs(arguments)
    values: list[Value] = []
    for index, text in enumerate(arguments.input):
        # Elements alone take the type of the input before them.
        value = read_value(text, values[-1].type if values else None, f"<input {index}>", sources)
        check_size(value, f"<input {index}>", limit)
        values.append(value)
    target = None
    if arguments.to is not None:
        with naming("--to", arguments.to, sources):
            target = parse_type_head(arguments.to)
    outcome = evaluate(
        arguments.op,
        *values,
        to=target,
        flags=arguments.flags,
        **keywords,
        **properties_of(arguments.op, arguments.attr, sources),
    )
    raised: FlagArray | None = None
    if arguments.flags:
        outcome, raised = outcome
    results = outcome if isinstance(outcome, tuple) else (outcome,)
    for option, given in (("--output", arguments.output), ("--expected_output", arguments.expected_output)):
        if len(given) > len(results):
            raise TypeMismatch(f"{arguments.op} has {len(results)} results, but {len(given)} are named by {option}")
    expected = [
        read_value(text, results[index].type, f"<expected output {index}>", sources)
        for index, text in enumerate(arguments.expected_output)
    ]
    code = running.deliver(results, expected, arguments)
    if raised is not None:
        write(f"flags: {_flags_text(raised)}\n")
    return code


def _flags_text(raised: FlagArray) -> str:
    if not raised.ndim:
        return flags_text(Flags(int(raised)))
    return spell_value(Value.from_bits(raised, "i8"))
