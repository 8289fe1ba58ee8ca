"""``halfulp reduce``: shrink a program that differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halfulp.command import programs as comparing
from halfulp.command.calls import SOURCE_FILE
from halfulp.command.console import SUCCESS, UNSUPPORTED, fail, need_one, put, ranked, say, write
from halfulp.command.execution import Sources
from halfulp.command.option import Command
from halfulp.command.values import profile_named
from halfulp.conformance.comparing.divergences import cancellations, divergences
from halfulp.conformance.oracles import closed_programs
from halfulp.conformance.oracles.oracle import ClosedProgram, ProgramOracle
from halfulp.conformance.oracles.tool import PassFailure, PassPipeline
from halfulp.conformance.whole_programs import diff
from halfulp.conformance.whole_programs.arguments import generated
from halfulp.conformance.whole_programs.known_by_pass import KnownByPass
from halfulp.conformance.whole_programs.op_search import NoMeaning, Search, run_here
from halfulp.conformance.whole_programs.pass_differences import MAX_STEPS, PassCrash, PassFault, SamePassDifference
from halfulp.conformance.whole_programs.reduce import Reducer
from halfulp.conformance.whole_programs.validation import Inputs, common_functions
from halfulp.described import amount, argument, flag, option
from halfulp.inputs import write_file
from halfulp.interp.ir.errors import HalfulpError, plural
from halfulp.interp.ir.operations import Module, argument_types
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.stochastic import refuse_stochastic
from halfulp.release import version_text
from halfulp.running import find_entry, function_path
from halfulp.semantics.profile import Profile

_REDUCE = """\
Make a program smaller, as long as the same op differs, on the same types, for the same known reason (or for none):

  halfulp reduce program.mlir --against mlir-fold -o small.mlir
  halfulp reduce program.mlir --pass-pipeline "builtin.module(canonicalize)"
  halfulp reduce program.mlir --test ./interesting.sh     exit code 0 of the script: the file is interesting

With --pass-pipeline, the passes must still change a result in the same way, for the same arguments. If mlir-opt
crashes, it must still crash in the same place.

With --undefined, the program must instead keep undefined behaviour for which the implementation has a value.

The command removes functions, results and ops, reduces shapes to the element that differs, and makes values simpler.
The printed program is complete: its arguments become constants, if the difference remains with them. Comments show the
difference, and the command that reproduces it.
"""

_CODES = "exit codes: 0 reduced, 2 usage, parse, verify or I-O error, 3 nothing differs\n"


@dataclass(frozen=True, kw_only=True)
class ReduceArguments(comparing.PassOptions, comparing.ContractOption, comparing.ProgramOptions):
    """The options of ``halfulp reduce``."""

    file: str = argument("FILE", SOURCE_FILE)
    against: str | None = option("ORACLE", "the implementation whose difference must remain")
    undefined: bool = flag("instead of a difference, keep undefined behaviour for which the implementation has a value")
    pass_pipeline: str | None = option("PIPELINE", "the passes of mlir-opt whose difference must remain")
    test: str | None = option("PROGRAM", "a program that gets a file, and exits with 0 if the file is interesting")
    n: int = amount("the number of inputs to generate, to find one that differs (default: 100)", 100)
    max_tests: int = amount("the largest number of programs to try (default: 2000)", 2000)
    output: str | None = option("FILE", "write the program to this file instead of stdout", name="-o")
    json: bool = flag("print one JSON object: the program and the number of programs that were tried")


TRIED = 16
"""The number of generated inputs that are tried until one is found for which a function has results."""


def reduce_program(arguments: ReduceArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    count = sum(given is not None for given in (arguments.against, arguments.pass_pipeline, arguments.test))
    if count != 1:
        return need_one("--against, --pass-pipeline and --test", count)
    if arguments.against is not None:
        return _reduce_difference(arguments.against, arguments, sources)
    if arguments.undefined:
        return fail("--undefined can be used only with --against")
    if arguments.pass_pipeline is not None:
        return _reduce_by_passes(arguments.pass_pipeline, arguments, sources)
    assert arguments.test is not None
    return _reduce_by_test(arguments.test, arguments, sources)


REDUCE = Command(ReduceArguments, reduce_program, _REDUCE, _CODES)


def _reduce_difference(spelling: str, arguments: ReduceArguments, sources: Sources) -> int:
    programs = comparing.programs_of(arguments.file, arguments, sources, arguments.n)
    profile = refuse_stochastic(profile_named(arguments.profile), "reduce")
    oracles, missing = comparing.oracles_named(spelling)
    if missing:
        return ranked(missing)
    if len(oracles) > 1:
        return fail("--against takes only one oracle when a program is reduced")
    if arguments.undefined:
        return _reduce_undefined(spelling, arguments, programs, profile, oracles[0])
    same = diff.SameDifference(Search(oracles[0], divergences(), profile, cancellations()))
    found = [difference for difference in same.differences(programs) if difference is not None]
    unknown = [one for one in found if not one.known]
    if not unknown and not (found and arguments.no_known):
        known = " but known divergences (--no-known reduces those)" if found else ""
        say(f"nothing differs from {spelling}{known}")
        return UNSUPPORTED
    difference = (unknown or found)[0]
    same.watch(difference)
    reducer = Reducer(same, arguments.max_tests, profile)
    program = reducer.reduce(difference.program, difference)
    final = same.differences([program])[0] or difference
    text = comparing.reduced_text(program, final, oracles[0], arguments.output, spelling, arguments)
    return _deliver(text, reducer.tests, arguments)


def _reduce_undefined(
    spelling: str,
    arguments: ReduceArguments,
    programs: Sequence[ClosedProgram],
    profile: Profile,
    oracle: ProgramOracle,
) -> int:
    test = diff.ValueForUndefined(oracle, profile)
    found = next((one for one in test.values(programs) if one is not None), None)
    if found is None:
        say(f"nothing to reduce: {spelling} gives no value where the program has undefined behaviour")
        return UNSUPPORTED
    test.watch(found)
    reducer = Reducer(test, arguments.max_tests, profile)
    program = reducer.reduce(found.program)
    final = test.values([program])[0] or found
    header = diff.undefined_header(final, oracle.name, oracle.version, version_text())
    text = comparing.with_command(header, program, arguments.output, spelling)
    return _deliver(text, reducer.tests, arguments)


def _reduce_by_test(script: str, arguments: ReduceArguments, sources: Sources) -> int:
    module = comparing.parse(arguments.file, sources)
    function = find_entry(module, arguments.function)
    inputs = comparing.given_arguments(arguments, function, sources)
    profile = refuse_stochastic(profile_named(arguments.profile), "reduce")
    # Without inputs, the file keeps the arguments of the function. The reducer needs values of its own.
    close = inputs is not None
    inputs = inputs or generated(argument_types(function), TRIED, arguments.seed, exhaustive_bits=0)
    name = function_path(function).replace("@", "")
    programs = [ClosedProgram(module, name, inputs.row(index)) for index in range(inputs.count)]
    program = next((one for one in programs if _ends(one, profile)), programs[0])
    test = diff.by_script(script, close=close)
    if test([program]) is None:
        say(f"{script} does not accept the program before its reduction")
        return UNSUPPORTED
    reducer = Reducer(test, arguments.max_tests, profile, close)
    reduced = reducer.reduce(program)
    return _deliver(diff.text_of_program(reduced, close), reducer.tests, arguments)


def _ends(program: ClosedProgram, profile: Profile) -> bool:
    try:
        return not isinstance(run_here(program, profile), NoMeaning)
    except HalfulpError:
        return False


def _reduce_by_passes(passes: str, arguments: ReduceArguments, sources: Sources) -> int:
    """Reduce a program for which the passes give a wrong program, or on which mlir-opt crashes."""
    pipeline = comparing.pass_pipeline(passes, arguments)
    profile = refuse_stochastic(profile_named(arguments.profile), "reduce")
    module = comparing.parse(arguments.file, sources)
    known = KnownByPass(pipeline, *comparing.known_divergences(arguments), Settings(profile, max_steps=MAX_STEPS))
    same = SamePassDifference(pipeline, profile, known, arguments.fp_contract)
    found = _found_by_passes(same, module, pipeline, arguments, sources)
    if found is None:
        say("the passes change no result that was tested")
        return UNSUPPORTED
    same.watch(found)
    reducer = Reducer(same, arguments.max_tests, profile)
    final = next(iter(same.differences([reducer.reduce(found.program)]))) or found
    return _deliver(comparing.reduced_by_passes(final, pipeline, arguments.output, arguments), reducer.tests, arguments)


def _found_by_passes(
    same: SamePassDifference, module: Module, pipeline: PassPipeline, arguments: ReduceArguments, sources: Sources
) -> PassFault | None:
    """Return the first difference that the passes make. Raise HalfulpError."""
    functions = [one for one, _ in common_functions(module, module, arguments.function)]
    inputs = Inputs(
        arguments.n,
        arguments.seed,
        given=comparing.given_arguments(arguments, functions[0], sources, memory=True),
        max_steps=MAX_STEPS,
    )
    text = closed_programs.text_of(module)
    try:
        after = pipeline.apply(text)
    except PassFailure as failure:
        if failure.kind == "refusal":
            raise
        values = inputs.of(functions[0]).row(0)
        return PassCrash(ClosedProgram(module, functions[0].symbol_name or "", values), failure)
    for function in functions:
        program = ClosedProgram(module, function.symbol_name or "", ())
        found = same.compare(program, after, inputs)
        if found is not None:
            return found
    return None


def _deliver(text: str, tests: int, arguments: ReduceArguments) -> int:
    say(f"{plural(tests, 'program')} tried")
    if arguments.json:
        put({"program": text, "tried": tests, "file": arguments.output})
    elif arguments.output is None:
        write(text)
    if arguments.output is not None:
        write_file(arguments.output, text.encode("utf-8", "surrogateescape"))
    return SUCCESS
