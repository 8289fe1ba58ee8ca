"""``halfulp sensitivity``: rank the effects of the format, rounding mode and order of sums of each op."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, get_args

from halfulp.command import calls
from halfulp.command.calls import INPUTS, FunctionOptions, run_keywords
from halfulp.command.console import EXIT_CODES, SUCCESS, progress_bar, say, write
from halfulp.command.execution import Sources, read
from halfulp.command.option import Command
from halfulp.described import choice, flag, option, repeated
from halfulp.drawing.figures import ending_of, save
from halfulp.inputs import write_file
from halfulp.measuring.metrics import Metric
from halfulp.running import TraceKeywords, run_options
from halfulp.sensitivities.sensitivity import ranked
from halfulp.sensitivities.trials import MODES

_RANKING = """\
The program runs many times, each time with one thing changed. The errors of its results are compared with those of the
unchanged program. If the new format has all numbers of the op's own format, the result of the op stays in it, also in
loops and local memory, until another op rounds. In any other format the op runs on rounded operands, and its result is
converted back. Errors are distances from exact real numbers, in ulp of the exact number.

  halfulp sensitivity sum.mlir --input=1000
  halfulp sensitivity net.mlir --input=@x.npy --formats=bf16,f64 --by=kind --plot=ranking.svg
  halfulp sensitivity net.mlir --input=@x.npy --modes --orders=pairwise,exact --best=better.mlir
"""


@dataclass(frozen=True, kw_only=True)
class SensitivityArguments(FunctionOptions):
    """The options of ``halfulp sensitivity``."""

    formats: str = option("F,F,...", "the formats to try (default: f32,f64)", "f32,f64")
    by: Literal["op", "kind", "tensor"] = choice(
        ("op", "kind", "tensor"),
        "one change is: one op (default), all ops with the same name (kind), or one value or argument (tensor)",
        "op",
    )
    modes: str = option("M,M,...", "also try rounding modes, by default all of them", "", nargs="?", const="all")
    profiles: tuple[str, ...] = repeated(
        "NAME[,FIELD=VALUE...]", "also try a profile, as a whole and field by field", name="--try-profile"
    )
    orders: str = option("O,O,...", "also try orders of reductions", "")
    models: str = option("M,M,...", "also try models of tile operations", "")
    result: str | None = option(
        "NAME", "the result to measure: its number, or argument[1] for this memref after the run (default: all)"
    )
    metric: Metric = choice(
        get_args(Metric),
        "what is compared: the largest error in ulp (default), the SQNR in dB, the largest error relative to the "
        "largest number of its result, or the largest absolute error",
        "ulp",
    )
    json: bool = flag("print one JSON object")
    plot: str | None = option("FILE", "draw the ranking to a file, .svg or .png")
    best: str | None = option("FILE", "write the program with the single change that reduces the error most")


def rank_changes(arguments: SensitivityArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    if arguments.plot is not None:
        ending_of(arguments.plot)
    module = read(arguments.file, sources).program()
    values = calls.arguments_of(module, arguments, sources)
    options = run_options("sensitivity", TraceKeywords, run_keywords(arguments))
    modes = MODES if arguments.modes == "all" else _names(arguments.modes)
    changes = [_names(arguments.formats), modes, arguments.profiles, _names(arguments.orders), _names(arguments.models)]
    named = arguments.result
    result = int(named) if named is not None and named.isdecimal() else named
    with progress_bar("changes") as progress:
        found = ranked(module, values, options, changes, arguments.by, result, progress, arguments.metric)
    if arguments.json:
        write(json.dumps(found.as_json()) + "\n")
    else:
        write("".join(f"{line}\n" for line in found.lines()))
    if arguments.plot is not None:
        save(found.plot(dark=False), arguments.plot)
    if arguments.best is not None:
        if found.best is None:
            say(f"note: no change reduces an error: {arguments.best} is not written")
        else:
            write_file(arguments.best, found.best.program.encode("utf-8"))
    return SUCCESS


SENSITIVITY = Command(
    SensitivityArguments,
    rank_changes,
    "Rank which op's format, rounding mode or order of sums matters for the errors of the results.",
    f"{_RANKING}\n{INPUTS}\n{EXIT_CODES}",
)


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
