"""``halfulp fuzz``: compare random programs with other implementations."""

from __future__ import annotations

import json

from halfulp.command.console import DIFFERENT, SUCCESS, UNSUPPORTED, WRONG_USE, fail, ranked, say, write
from halfulp.command.options.fuzz import FuzzArguments
from halfulp.command.pass_fuzz import fuzz_passes
from halfulp.command.programs import known_divergences, oracles_named
from halfulp.command.progress import progress_bar
from halfulp.command.reduced import reduced_text
from halfulp.command.sources import Sources
from halfulp.command.stage_fuzz import fuzz_stages
from halfulp.conformance.comparing.divergences import cancellations, divergences
from halfulp.conformance.oracles.oracle import ProgramOracle
from halfulp.conformance.whole_programs.fuzz import MAX_FAILURES, Failure, as_json, fuzz, lines
from halfulp.conformance.whole_programs.interesting import SameDifference
from halfulp.conformance.whole_programs.op_search import Search
from halfulp.conformance.whole_programs.reduce import Reducer
from halfulp.semantics.kernel import FaultKind


def execute(arguments: FuzzArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    if [arguments.against, arguments.pass_pipeline, arguments.stages].count(None) != 2:
        return fail("test what? give one of --against, --pass-pipeline and --stages")
    if arguments.pass_pipeline is not None:
        return fuzz_passes(arguments.pass_pipeline, arguments)
    if arguments.stages is not None:
        return fuzz_stages(arguments.stages, arguments)
    assert arguments.against is not None
    return _fuzz_oracles(arguments.against, arguments)


def _fuzz_oracles(spellings: str, arguments: FuzzArguments) -> int:
    oracles, codes = oracles_named(spellings)
    if not oracles:
        return ranked(codes)
    rows, pairs = known_divergences(arguments)
    kinds = {"poison": FaultKind.POISON, "undefined": FaultKind.UNDEFINED}
    allowed = [kinds[word] for word in arguments.allow]
    with progress_bar("programs") as progress:
        found = fuzz(
            oracles,
            arguments.n,
            arguments.seed,
            arguments.first,
            rows,
            pairs,
            allowed,
            arguments.max_failures or MAX_FAILURES,
            progress,
        )
    write(json.dumps(as_json(found)) + "\n" if arguments.json else "\n".join(lines(found)) + "\n")
    by_name = {
        oracle.name: (oracle, spelling)
        for spelling in spellings.split(",")
        for oracle in oracles
        if oracle.name == spelling.partition("=")[0]
    }
    for failure in found.failures:
        text = "\n".join(failure.lines()) + "\n"
        if not (arguments.no_reduce or found.interrupted):
            text += _reduced_failure(failure, *by_name[failure.oracle])
        (say if arguments.json else write)(text)
    if found.interrupted:
        raise KeyboardInterrupt
    for counts in found.counts:
        codes += [DIFFERENT] if counts.failures else [WRONG_USE] if counts.broken else []
        codes.append(SUCCESS if counts.tally.compared else UNSUPPORTED)
    return ranked(codes)


def _reduced_failure(failure: Failure, oracle: ProgramOracle, spelling: str) -> str:
    same = SameDifference(Search(oracle, divergences(), pairs=cancellations()))
    difference = same.differences([failure.program], lambda finding: finding.case == failure.case)[0]
    if difference is None or difference.finding is None or difference.finding.case != failure.case:
        return "it does not differ when the program is asked again\n"
    same.watch(difference)
    program = Reducer(same).reduce(difference.program, difference)
    return reduced_text(program, same.differences([program])[0] or difference, oracle, None, spelling)
