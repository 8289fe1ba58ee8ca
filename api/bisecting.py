"""Name the pass of a compilation that changed the results: `bisect`, and its stages as a page.

The page is one HTML file without scripts, which shows each stage beside the one before it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import partial
from html import escape
from typing import Any

from halfulp.conformance.comparing.divergences import cancellations, divergences
from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.jit import installed_runner
from halfulp.conformance.oracles.mlir_opt import find_mlir_opt
from halfulp.conformance.oracles.oracle import Unavailable
from halfulp.conformance.oracles.tool import PassPipeline
from halfulp.conformance.whole_programs.arguments import taken_from
from halfulp.conformance.whole_programs.bisection import bisect as judging
from halfulp.conformance.whole_programs.bisection.bisect import Bisection
from halfulp.conformance.whole_programs.bisection.explaining import FP_CONTRACT
from halfulp.conformance.whole_programs.bisection.runs import Compilation, Stage, StageRunner, made_inputs, of_pipeline
from halfulp.conformance.whole_programs.counterexamples import Counterexample
from halfulp.conformance.whole_programs.validation import Inputs
from halfulp.inputs import names_arguments
from halfulp.interp.ir.errors import UNPRINTABLE, InputError, TypeMismatch, Unsupported, plural, wrong_count
from halfulp.interp.ir.operations import Module, argument_types
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.stochastic import refuse_stochastic
from halfulp.interp.values.spelling import spell_value
from halfulp.loading import Source, load
from halfulp.running import find_entry
from halfulp.semantics.profile import Profile, as_profile

MAX_STEPS = 100_000_000
"""Most ops of one run, unless the caller says otherwise: late stages have many more than early ones."""


@names_arguments
def bisect(
    module: Module | Source,
    *arguments: Any,
    pipeline: str | None = None,
    stages: Sequence[Module | Source] | None = None,
    function: str | None = None,
    n: int = 8,
    seed: int = 0,
    profile: Profile | str | None = None,
    max_steps: int = MAX_STEPS,
    fp_contract: str = "on",
    mlir: str | os.PathLike[str] | None = None,
) -> Bisection:
    """Run every stage of a compilation on the same inputs. Find the first stage whose results the stage before it does
    not allow.

    ``module``: the program before all passes, as for `halfulp.run`.
    ``pipeline``: the passes that mlir-opt runs, ``"builtin.module(canonicalize,cse)"``; or ``stages``: the programs
    after each pass.
    ``arguments``: the arguments of one call, as for `halfulp.run`; without them, ``n`` sets of arguments are made with
    ``seed``.
    ``function``: the name of the function; by default the only public one, or @main.
    ``max_steps``: the largest number of ops in one run.
    ``fp_contract``: which fused multiply-adds are permitted: "fast" permits all, any other value only those of ops with
    the flag contract.
    ``mlir``: what runs the passes, as the option ``--mlir`` of ``halfulp bisect`` names it.

    If halfulp cannot run a stage, mlir-runner runs it, if it is installed and supports the stage; the ``ground`` of the
    stage then says so.

    The result has ``results``, one for each stage (``stage``, ``judgement``, ``ground``, ``ulps``, ``seconds``),
    ``guilty``, the number of the first stage that differs, or None, and ``end``, the reason why the passes stopped
    early, or "". Its text is the output of ``halfulp bisect``.

        >>> f = "func.func @f(%x: i8) -> i8 {\\n %0 = arith.OP %x, %x : i8\\n return %0 : i8\\n}"
        >>> found = hu.bisect(f.replace("OP", "addi"), 3, stages=[f.replace("OP", "addi"), f.replace("OP", "muli")])
        >>> found.guilty, found.results[2].judgement.value
        (2, 'DIFFERENT')

    Raises InputError for wrong arguments, PassFailure if mlir-opt cannot read the program or the passes, Unsupported if
    it is not installed, and the errors of `halfulp.load`.
    """
    if (pipeline is None) == (stages is None):
        raise InputError("bisect needs either pipeline=… (the passes) or stages=… (the programs after the passes)")
    first = module if isinstance(module, Module) else load(module)
    entry = find_entry(first, function)
    settings = Settings(refuse_stochastic(as_profile(profile), "bisect"), max_steps=max_steps)
    types = argument_types(entry)
    if arguments and len(arguments) != len(types):
        raise TypeMismatch(wrong_count(f"@{entry.symbol_name}", "argument", types, len(arguments)))
    one = taken_from(arguments, types) if arguments else None
    inputs = made_inputs(entry, Inputs(n, seed, given=one))
    if fp_contract not in FP_CONTRACT:
        raise InputError(f"fp_contract is {fp_contract!r}, but must be one of {', '.join(FP_CONTRACT)}")
    compilation, judges = _compilation(first, pipeline, stages, settings, mlir)
    judges.append(partial(judging.permission_judge, fp_contract=fp_contract))
    return judging.bisect(compilation, StageRunner(entry, inputs, settings), judges, fallback=installed_runner)


def _compilation(
    first: Module,
    pipeline: str | None,
    stages: Sequence[Module | Source] | None,
    settings: Settings,
    mlir: str | os.PathLike[str] | None,
) -> tuple[Compilation, list[judging.Judge]]:
    start = Stage(first.filename, "", first.text or text_of(first), first)
    if pipeline is None:
        later = [one if isinstance(one, Module) else load(one) for one in stages or ()]
        named = [Stage(f"stage {k}", "", one.text or text_of(one), one) for k, one in enumerate(later, 1)]
        return Compilation((start, *named)), []
    try:
        passes = PassPipeline(find_mlir_opt(None if mlir is None else os.fspath(mlir)), pipeline)
    except Unavailable as reason:
        raise Unsupported(str(reason)) from None
    compilation = of_pipeline(start, passes)
    return compilation, [judging.known_judge(passes, compilation.stages, divergences(), cancellations(), settings)]


# --- page -------------------------------------------------------------------------------------------------------------


AROUND = 3
"""Lines that are equal, before and after each change."""

MOST_LINES = 4000
"""The most lines of one stage that are compared."""

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --quiet: #5a6370; --rule: #d5dae1; --panel: #f6f7f9;
  --old: #fde3e0; --new: #dcf3df; --stop: #a4002b; --fine: #1d6b33; --open: #7a5200; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ed; --paper: #14171b; --quiet: #9aa5b2; --rule: #343b45;
  --panel: #1b1f25; --old: #4b2626; --new: #1f3d27; --stop: #ff8fa3; --fine: #84d39a; --open: #e8c06a; } }
body { margin: 0; padding: 12px 16px; background: var(--paper); color: var(--ink);
  font: 14px/1.45 system-ui, sans-serif; }
h1 { font-size: 17px; margin: 0 0 4px; }
p, ul { margin: 4px 0; } .quiet { color: var(--quiet); }
.guilty { color: var(--stop); font-weight: 600; overflow-wrap: anywhere; }
details { border-top: 1px solid var(--rule); } details > summary { padding: 5px 2px; cursor: pointer; }
summary > .no { display: inline-block; min-width: 3ch; color: var(--quiet); }
.DIFFERENT { color: var(--stop); font-weight: 700; } .identical, .unchanged, .first, .refined { color: var(--fine); }
.permitted, .known, .not { color: var(--open); }
table { border-collapse: collapse; width: 100%; table-layout: fixed; background: var(--panel); margin-bottom: 8px; }
td { vertical-align: top; padding: 0 6px; font: 12px/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; }
td.no { width: 5ch; text-align: right; color: var(--quiet); user-select: none; }
.old { background: var(--old); } .new { background: var(--new); } .gap td { color: var(--quiet); font-style: italic; }
pre { overflow-x: auto; background: var(--panel); padding: 6px; }
"""


def page(found: Sequence[Bisection]) -> str:
    """Return an HTML page of the bisections of some functions, as text to be written in UTF-8. The page loads no other
    file.
    """
    return "\n".join(_page(found)).translate(UNPRINTABLE) + "\n"


def _page(found: Sequence[Bisection]) -> Iterator[str]:
    title = f"The stages of {', '.join(f'@{one.function}' for one in found)}"
    yield from (
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
    )
    for one in found:
        yield from _function(one)
    yield "</body></html>"


def _function(found: Bisection) -> Iterator[str]:
    yield f"<h1>The stages of @{escape(found.function)}</h1>"
    yield f'<p class="quiet">{plural(len(found.results), "stage")}, {found.compared:,} compared</p>'
    if found.end:
        yield f"<p>Stopped early: {escape(found.end)}</p>"
    for line in judging.conclusion(found):
        yield f'<p class="{"guilty" if found.guilty is not None else ""}">{escape(line)}</p>'
    for number, one in enumerate(found.results):
        yield from _stage(found, number, one)


def _stage(found: Bisection, number: int, one: judging.StageResult) -> Iterator[str]:
    """Yield the HTML of a stage. Only the guilty stage is open."""
    kind = one.judgement.value.split()[0]
    yield (
        f"<details{' open' * (number == found.guilty)}><summary>"
        f'<span class="no">{number}</span> {escape(str(one.stage))} '
        f'<span class="{kind}">{escape(judging.judged(one))}</span></summary>'
    )
    yield from (f'<p class="quiet">{escape(note)}</p>' for note in one.notes)
    if one.comparison is not None and one.comparison.examples:
        yield from _example(one.comparison.examples[0][1], len(one.comparison.examples))
    before = "" if one.against is None else found.results[one.against].stage.text
    if one.judgement is judging.Judgement.UNCHANGED:
        yield '<p class="quiet">the same text as before</p>'
    elif one.against is None:
        yield f"<pre>{escape(_cut(one.stage.text))}</pre>"
    else:
        yield "<table>"
        yield from _beside(_cut(before).splitlines(), _cut(one.stage.text).splitlines())
        yield "</table>"
    yield "</details>"


def _cut(text: str) -> str:
    """Return the first lines of a text, at most `MOST_LINES`."""
    lines = text.splitlines()
    return (
        text
        if len(lines) <= MOST_LINES
        else "\n".join([*lines[:MOST_LINES], f"… {len(lines) - MOST_LINES} more lines"])
    )


def _example(example: Counterexample, count: int) -> Iterator[str]:
    yield f"<p>{plural(count, 'input')} with a difference. The first one:</p><ul>"
    yield from (
        f"<li>argument {number}: {escape(spell_value(value, limit=16))}</li>"
        for number, value in enumerate(example.arguments)
    )
    yield "</ul>"


def _beside(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Yield the rows of two texts side by side; of equal lines, only those around changes."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    last = 0
    for group in matcher.get_grouped_opcodes(AROUND):
        skipped = group[0][1] - last
        if skipped:
            yield f'<tr class="gap"><td class="no"></td><td colspan="3">{plural(skipped, "equal line")}</td></tr>'
        for tag, begin, end, start, stop in group:
            for row in range(max(end - begin, stop - start)):
                left, right = begin + row, start + row
                yield (
                    "<tr>"
                    + "".join(
                        (
                            _cells(left, old[left], "" if tag == "equal" else "old")
                            if left < end
                            else "<td></td><td></td>",
                            _cells(right, new[right], "" if tag == "equal" else "new")
                            if right < stop
                            else "<td></td><td></td>",
                        )
                    )
                    + "</tr>"
                )
        last = group[-1][2]
    if last < len(old):
        yield f'<tr class="gap"><td class="no"></td><td colspan="3">{plural(len(old) - last, "equal line")}</td></tr>'


def _cells(number: int, line: str, kind: str) -> str:
    return f'<td class="no">{number + 1}</td><td class="{kind}">{escape(line)}</td>'
