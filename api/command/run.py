"""``halfulp run`` and ``halfulp eval``: run a function of an MLIR file, show every op that runs, or evaluate one op."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from halfulp.command import calls
from halfulp.command.console import EXIT_CODES, fail, put, worst, write
from halfulp.command.execution import Sources, read, report
from halfulp.command.option import Command
from halfulp.command.records import origin_record, value_record
from halfulp.command.values import check_size, naming, properties_of, read_value
from halfulp.described import amount, argument, choice, flag, option, repeated
from halfulp.evaluating import eval as evaluate
from halfulp.fp_formats.exact.core import FlagArray
from halfulp.fp_formats.policy import Flags
from halfulp.inputs import check_apart, write_file
from halfulp.interp.ir.errors import HalfulpError, InputError, TypeMismatch
from halfulp.interp.ir.operations import Module
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.parsing import parse_type_head
from halfulp.interp.values.spelling import spell_value
from halfulp.interp.values.value import Value
from halfulp.running import RunKeywords, run, run_options

if TYPE_CHECKING:
    from halfulp.traces.record import Trace
    from halfulp.traces.values import TracedValue


@dataclass(frozen=True, kw_only=True)
class RunArguments(calls.BitsOption, calls.FunctionResultOptions):
    """The options of ``halfulp run``."""

    signature: str | None = option(
        "TYPE", "the MLIR function type before lowering to the llvm dialect; inputs and results use it"
    )
    shadow: bool = flag("also run with exact real arithmetic and report the errors of results and ops")
    shadow_in: str | None = choice(
        ("f64", "f128"),
        "like --shadow, but with numbers of that format instead of exact ones: cheaper, but they have errors too",
    )
    flags: bool = flag("show the exception flags of the run, and the ops that raised some")
    split_input_file: bool = flag("run each part of the file separately; lines '// -----' divide parts")


def run_program(arguments: RunArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    keywords = calls.run_keywords(arguments)
    calls.check_outputs(arguments)
    program = read(arguments.file, sources)
    parts = program.parts(arguments.split_input_file)
    if len(parts) > 1 and arguments.output:
        return fail(f"--output takes the results of one run, but the file has {len(parts)} parts")
    codes = []
    for part in parts:
        try:
            module = program.program(part)
            if module.body or len(parts) == 1:
                given = calls.given(module, arguments, sources, arguments.signature)
                results, lines, more = _run(module, given.values, arguments, keywords)
                codes.append(calls.deliver(results, given.expected, arguments, arguments.spell, given.values, more))
                if not arguments.json:
                    write("".join(f"{line}\n" for line in lines()))
        except HalfulpError as error:
            codes.append(report(error, sources))
    return worst(codes)


RUN = Command(
    RunArguments,
    run_program,
    "Run a function of an MLIR file. --trace shows every op that runs; halfulp run --trace --help has its options.",
    epilog=f"{calls.INPUTS}{calls.BATCHES}\n{calls.OUTPUTS}\n{EXIT_CODES}",
)


def _run(
    module: Module, values: Sequence[Any], arguments: RunArguments, keywords: dict[str, Any]
) -> tuple[tuple[Value, ...], Callable[[], Iterable[str]], dict[str, Any]]:
    """Return the results; a function that returns lines about their errors or flags; and the same for ``--json``."""
    shadow = arguments.shadow or arguments.shadow_in
    if not (shadow or arguments.flags):
        return run(module, *values, **keywords), tuple, {}
    options = run_options("run", RunKeywords, keywords)
    if not shadow:
        from halfulp.traces import error_report as flag_report

        found = flag_report.flags_of_run(module, values, options)
        return found.results, found.lines, {"flags": flag_names(found.flags)} if arguments.json else {}
    if arguments.flags:
        raise InputError("--flags and --shadow cannot be combined", hint="give one of them at a time")
    from halfulp.traces import error_report

    results, errors = error_report.beside_reals(module, values, options, arguments.shadow_in or "")
    return results, errors.lines, {"errors": errors.as_json()} if arguments.json else {}


# --- trace ------------------------------------------------------------------------------------------------------------


_TRACE = """\
Without the options below the trace goes to stdout, step by step. The results follow, as run prints them. For
a value of more than 16 elements, the trace shows the first elements, the minimum, the maximum, and the counts of NaNs,
infinities and poison. If the program stops early, the trace ends there.

  --html page.html   one page without other files: the source, and the steps of each line
  --annotate g.mlir  the program, with the values of each op in a comment behind its line: it stays MLIR
  --perfetto t.json  trace events, for ui.perfetto.dev: the ops as slices with their values; time counts steps
  --node-data n.json node data of Model Explorer: the largest error of each op in ulp; needs --shadow
  --npz DIR          DIR/values.npz: the raw codes of every value; DIR/index.json: op, place, type and poison of each
"""


@dataclass(frozen=True, kw_only=True)
class TraceArguments(calls.FunctionResultOptions):
    """The options of ``halfulp run --trace``."""

    trace: bool = flag("show every op that runs")
    html: str | None = option("FILE", "write the trace as an HTML page")
    annotate: str | None = option("FILE", "write the program with the values of the ops as comments")
    perfetto: str | None = option("FILE", "write the trace as trace events of JSON, for ui.perfetto.dev")
    node_data: str | None = option("FILE", "with --shadow: write the errors of the ops as node data of Model Explorer")
    npz: str | None = option("DIR", "write all values of the trace to this folder")
    shadow: bool = flag("also run with exact real arithmetic and report the errors of ops and results")
    shadow_in: str | None = choice(
        ("f64", "f128"),
        "like --shadow, but with numbers of that format instead of exact ones: cheaper, but they have errors too",
    )
    max_rows: int | None = amount("the number of steps to keep (default: 5000)")


_FILES: Mapping[str, Callable[[Trace], str]] = MappingProxyType(
    {
        "html": lambda traced: traced.html(),
        "annotate": lambda traced: traced.annotated(),
        "perfetto": lambda traced: traced.perfetto(),
        "node_data": lambda traced: traced.node_data(),
    }
)
"""The options that name a file for a trace, each with the function that returns its text."""


def trace_program(arguments: TraceArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    from halfulp.traces.record import step_lines, trace_record
    from halfulp.traces.trace import MOST_ROWS, trace
    from halfulp.traces.values import summary

    keywords = calls.run_keywords(arguments)
    calls.check_outputs(arguments)
    files = {name: place for name in _FILES if (place := getattr(arguments, name)) is not None}
    if "node_data" in files and not (arguments.shadow or arguments.shadow_in):
        raise InputError("--node-data has the errors of ops", hint="give --shadow, too")
    check_apart([("the program", arguments.file)], arguments, *files)
    module = read(arguments.file, sources).program()
    given = calls.given(module, arguments, sources)
    traced = trace(
        module,
        *given.values,
        n=arguments.max_rows or MOST_ROWS,
        npz=arguments.npz,
        shadow=arguments.shadow_in or arguments.shadow,
        **keywords,
    )
    for name, place in files.items():
        write_file(place, _FILES[name](traced).encode("utf-8", "surrogateescape"))
    printed = not files and arguments.npz is None and not arguments.json
    if printed:
        write("".join(f"{line}\n" for line in step_lines(traced)))
    more = {"trace": trace_record(traced, seen_record, origin_record)} if arguments.json else {}
    if traced.error is not None:
        if arguments.json:
            put({"results": [], "memory": [], **more})
        return report(traced.error, sources)
    code = calls.deliver(traced.results, given.expected, arguments, summary, given.values, more)
    if printed and traced.errors is not None:
        write("".join(f"{line}\n" for line in traced.errors.lines()))
    return code


def seen_record(seen: TracedValue) -> dict[str, Any]:
    """Return a value of a step of a trace. A large one is its text alone: the first elements, and statistics."""
    whole = value_record(seen.value) if seen.value is not None else {"type": seen.type, "shape": list(seen.shape)}
    return {"name": seen.name, **whole, "text": str(seen), "poisoned": seen.poisoned}


TRACE = Command(
    TraceArguments,
    trace_program,
    ("Run a function of an MLIR file. Show every op that runs: its line, its values, and the poison that it creates."),
    f"{_TRACE}\n{calls.INPUTS}{calls.BATCHES}\n{calls.OUTPUTS}\n{EXIT_CODES}",
)


# --- eval -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class EvalArguments(calls.BitsOption, calls.ResultOptions):
    """The options of ``halfulp eval``."""

    op: str = argument("OP", "the full name of the op, such as arith.addf")
    to: str | None = option("TYPE", "for casts: the type, or element type, of the result")
    attr: tuple[str, ...] = repeated(
        "NAME[=VALUE]",
        "a property: fastmath=nnan,ninf rounding=upward predicate=slt overflow=nsw exact; others in MLIR's syntax",
    )
    flags: bool = flag(
        "show the exception flags: by name, for several elements as the sum of 1 inexact, 2 underflow, 4 "
        "overflow, 8 division by zero, 16 invalid"
    )


def evaluate_op(arguments: EvalArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    keywords = calls.run_keywords(arguments)
    # Values are limited only here: hu.eval has no limits.
    limit = keywords.pop("max_bytes", Settings.max_bytes)
    calls.check_outputs(arguments)
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
    for name, given in (("--output", arguments.output), ("--expected-output", arguments.expected_output)):
        if len(given) > len(results):
            raise TypeMismatch(f"{arguments.op} has {len(results)} results, but {len(given)} are named by {name}")
    expected = [
        read_value(text, results[index].type, f"<expected output {index}>", sources)
        for index, text in enumerate(arguments.expected_output)
    ]
    more = {"flags": flag_elements(raised)} if raised is not None else {}
    code = calls.deliver(results, expected, arguments, arguments.spell, more=more)
    if raised is not None and not arguments.json:
        write(f"flags: {_flags_text(raised)}\n")
    return code


EVAL = Command(
    EvalArguments,
    evaluate_op,
    "Evaluate one op: halfulp eval arith.addf --input=f8E4M3FN=1.375 --input=f8E4M3FN=2.25",
    f"{calls.INPUTS}\n{calls.OUTPUTS}\n{EXIT_CODES}",
)


def flag_names(flags: Flags) -> list[str]:
    """Return the names of the flags that are set."""
    from halfulp.texts import flags_text

    return [flags_text(flag) for flag in Flags if flag in flags]


def flag_elements(raised: FlagArray) -> list[Any]:
    """Return the names of the flags of a result, or nested lists of those of each element."""
    return flag_names(Flags(int(raised))) if not raised.ndim else [flag_elements(each) for each in raised]


def _flags_text(raised: FlagArray) -> str:
    from halfulp.texts import flags_text

    if not raised.ndim:
        return flags_text(Flags(int(raised)))
    return spell_value(Value.from_bits(raised, "i8"))
