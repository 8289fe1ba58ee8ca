"""``halfulp diff``, ``reduce`` and ``fuzz``: whole programs against other implementations, or against each other."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from halfulp.command.common import (
    DIFFERENT,
    EXIT_CODES,
    SUCCESS,
    UNSUPPORTED,
    WRONG_USE,
    Sources,
    fail,
    positive,
    profile_named,
    progress_bar,
    ranked,
    read,
    report,
    say,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from halfulp.conformance.comparing.divergences import Cancellation, Divergence
    from halfulp.conformance.oracles.oracle import Program, ProgramOracle
    from halfulp.conformance.whole_programs import diff, validation
    from halfulp.conformance.whole_programs.arguments import Arguments
    from halfulp.conformance.whole_programs.fuzz import Failure
    from halfulp.interp.ir.operations import Module, Operation
    from halfulp.semantics.profile import Profile

SHOWN = 5
"""Differences of one oracle that are printed."""

_DIFF = """\
Compare the results of a program, bit for bit. Only results that the language does not allow count as differences:

  halfulp diff program.mlir --against mlir-fold,mlir-native   halfulp and other implementations
  halfulp diff before.mlir after.mlir                         two versions, both run by halfulp
  halfulp diff before.mlir --pass-pipeline "builtin.module(canonicalize)"   mlir-opt makes the second version

Without --input, the arguments are generated. If they have at most 16 bits together, every combination is tested (for
other implementations: if -n is large enough), else corner cases and random values. For a difference, the command names
the first op whose result is wrong for its operands. If the first version, or the program in halfulp, has undefined
behaviour, every result is allowed.
"""

_REDUCE = """\
Make a program smaller, as long as the same op differs, on the same types, for the same known reason (or for none):

  halfulp reduce program.mlir --against mlir-fold -o small.mlir
  halfulp reduce program.mlir --test ./interesting.sh     exit code 0 of the script: the file is interesting

With --undefined, the command looks for another thing: undefined behaviour for which the implementation has a value.

The command removes functions, results and ops, reduces shapes to the element that differs, and makes values simpler.
The printed program is complete: its arguments become constants, if the difference remains with them. Comments show the
difference, and the command that reproduces it.
"""

_FUZZ = """\
Compare random programs of arith, quant and func ops, without undefined behaviour and without poison:

  halfulp fuzz --against mlir-fold,mlir-native -n 20000 --seed 1

Every result of every op is compared, for the operands that the op had. Results that an implementation does not give are
counted separately. A program with an unexplained difference is reduced.
"""

_CODES = (
    EXIT_CODES.replace("0 fine or equal", "0 equal, open or known")
    .replace("1 values differ", "1 unexplained differences")
    .replace("3 unsupported", "3 nothing was compared")
)

_REDUCE_CODES = "exit codes: 0 reduced, 2 usage, parse, verify or I-O error, 3 nothing differs\n"


def register(commands: Any, style: dict[str, Any]) -> None:
    """Add the commands to the parser of the command line."""
    parser = commands.add_parser("diff", help="compare whole programs", description=_DIFF, epilog=_CODES, **style)
    add = parser.add_argument
    add("file", metavar="FILE", help="MLIR text or bytecode, or - for the standard input")
    add("after", nargs="?", metavar="AFTER", help="the second version of the program")
    add("--against", metavar="ORACLE[,ORACLE...]", help="the implementations to compare with, as for verify")
    add("--pass-pipeline", metavar="PIPELINE", help="make the second version with these passes of mlir-opt")
    _add_inputs(parser)
    add("-n", type=positive, metavar="N", help="the number of inputs to generate (default: 100 for oracles, else 1000)")
    _add_comparison(parser)
    add("--json", action="store_true", help="print one JSON object per oracle or function")
    parser.set_defaults(command=_diff)

    parser = commands.add_parser(
        "reduce", help="make a program with a difference smaller", description=_REDUCE, epilog=_REDUCE_CODES, **style
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="MLIR text or bytecode, or - for the standard input")
    add("--against", metavar="ORACLE", help="the implementation whose difference must remain")
    add(
        "--undefined",
        action="store_true",
        help="instead of a difference, keep undefined behaviour for which the implementation has a value",
    )
    add("--test", metavar="PROGRAM", help="a program that gets a file, and exits with 0 if the file is interesting")
    _add_inputs(parser)
    add(
        "-n",
        type=positive,
        default=100,
        metavar="N",
        help="the number of inputs to generate, to find one that differs (default: 100)",
    )
    _add_comparison(parser)
    add(
        "--max-tests",
        type=positive,
        default=2000,
        metavar="N",
        help="the largest number of programs to try (default: 2000)",
    )
    add("-o", dest="output", metavar="FILE", help="write the program to this file instead of stdout")
    parser.set_defaults(command=_reduce)

    parser = commands.add_parser(
        "fuzz", help="compare random programs with other implementations", description=_FUZZ, epilog=_CODES, **style
    )
    add = parser.add_argument
    add(
        "--against",
        required=True,
        metavar="ORACLE[,ORACLE...]",
        help="the implementations to compare with, as for verify",
    )
    add("-n", type=positive, default=1000, metavar="N", help="the number of programs (default: 1000)")
    add("--seed", type=int, default=1, metavar="N", help="the seed of all programs (default: 1)")
    add(
        "--first",
        type=int,
        default=0,
        metavar="I",
        help="the number of the first program; program i of a seed is always the same",
    )
    add(
        "--allow",
        action="append",
        default=[],
        choices=("poison", "undefined"),
        help="allow programs with this kind of result",
    )
    add(
        "--max-failures",
        type=positive,
        default=5,
        metavar="K",
        help="stop using an oracle after this number of failures (default: 5)",
    )
    add("--no-reduce", action="store_true", help="print failing programs as they were found")
    add("--no-known", action="store_true", help="do not use the table of known divergences")
    add("--json", action="store_true", help="print one JSON object with all counts")
    parser.set_defaults(command=_fuzz)


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--function", metavar="NAME", help="the function to run (default: the only public one; for two versions: all)")
    add("--input", action="append", default=[], metavar="VALUE", help="the next argument, as for run")
    add("--seed", type=int, default=0, metavar="N", help="the seed of the generated inputs (default: 0)")


def _add_comparison(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--no-known", action="store_true", help="do not use the table of known divergences")
    add(
        "--profile",
        default="spec",
        metavar="NAME[,FIELD=VALUE...]",
        help="the profile that halfulp uses (default: spec)",
    )


def _known(arguments: argparse.Namespace) -> tuple[Sequence[Divergence], Sequence[Cancellation]]:
    """The tables of known divergences, unless they are not wanted."""
    from halfulp.conformance.comparing.divergences import cancellations, divergences

    return ((), ()) if arguments.no_known else (divergences(), cancellations())


def _oracles(spelling: str) -> tuple[list[ProgramOracle], list[int]]:
    """The oracles named between commas, and the exit codes of those that are not to be had, of which it says why.

    One that answers single ops only runs programs op by op.
    """
    from halfulp.conformance.oracles import oracle
    from halfulp.conformance.oracles.oracle import ProgramOracle, Unavailable
    from halfulp.conformance.oracles.programs_by_ops import ByOps

    found: list[ProgramOracle] = []
    codes = []
    for name in spelling.split(","):
        try:
            made = oracle(name)
        except Unavailable as reason:
            codes.append(fail(f"{name}: {reason}"))
        except ValueError as error:
            codes.append(fail(str(error)))
        else:
            found.append(made if isinstance(made, ProgramOracle) else ByOps(made))
    return found, codes


# --- diff -------------------------------------------------------------------------------------------------------------


def _diff(arguments: argparse.Namespace) -> int:
    from halfulp.interp.ir.errors import HalfulpError

    sources = Sources(arguments)
    modes = [arguments.against, arguments.after, arguments.pass_pipeline]
    if sum(mode is not None for mode in modes) != 1:
        return fail("compare with what? give --against, a second file, or --pass-pipeline")
    try:
        return _diff_versions(arguments, sources) if arguments.against is None else _diff_oracles(arguments, sources)
    except HalfulpError as error:
        return report(error, sources)


def _parse(path: str, sources: Sources) -> Module:
    return read(path, sources).module()


def _given(arguments: argparse.Namespace, function: Operation, sources: Sources) -> Arguments | None:
    """The arguments of --input, if there are any."""
    from halfulp.command.values import read_value
    from halfulp.conformance.whole_programs.arguments import given
    from halfulp.interp.ir.errors import TypeMismatch, Unsupported
    from halfulp.interp.ir.types import MemRefType
    from halfulp.interp.run.executor import argument_types
    from halfulp.interp.values.value import to_value

    types = argument_types(function)
    memory = next((type_ for type_ in types if isinstance(type_, MemRefType)), None)
    if memory is not None:
        raise Unsupported(
            f"@{function.symbol_name} has an argument of type '{memory}', but only programs on values are compared",
            location=function.location,
            hint="let it take a tensor, and store that into memory of its own (iree_codegen.store_to_buffer)",
        )
    if not arguments.input:
        return None
    if len(arguments.input) != len(types):
        raise TypeMismatch(
            f"@{function.symbol_name} takes {len(types)} arguments, but {len(arguments.input)} are given",
            location=function.location,
        )
    values = []
    for index, (text, type_) in enumerate(zip(arguments.input, types, strict=True)):
        what = f"<input {index}>"
        values.append(to_value(read_value(text, type_, what, sources), type_, what))
    return given(values)


def _programs(arguments: argparse.Namespace, sources: Sources, count: int) -> list[Program]:
    """The program of the file with the given arguments, or with ``count`` tuples of made-up ones."""
    from halfulp.conformance.oracles.oracle import Program
    from halfulp.conformance.whole_programs.arguments import EXHAUSTIVE_BITS, generated
    from halfulp.interp.run.executor import argument_types
    from halfulp.runtime import find_entry, function_path

    module = _parse(arguments.file, sources)
    function = find_entry(module, arguments.function)
    inputs = _given(arguments, function, sources)
    if inputs is None:
        bits = min(EXHAUSTIVE_BITS, count.bit_length() - 1)
        inputs = generated(argument_types(function), count, arguments.seed, exhaustive_bits=bits)
    name = function_path(function).replace("@", "")
    return [Program(module, name, inputs.row(index)) for index in range(inputs.count)]


def _diff_oracles(arguments: argparse.Namespace, sources: Sources) -> int:
    from halfulp.conformance.whole_programs.diff import against

    programs = _programs(arguments, sources, arguments.n or 100)
    profile = profile_named(arguments.profile)
    oracles, codes = _oracles(arguments.against)
    for oracle in oracles:
        rows, pairs = _known(arguments)
        found = against(oracle, programs, rows, profile, pairs)
        if arguments.json:
            write(json.dumps(_oracle_record(found)) + "\n")
        else:
            write("\n".join(_oracle_lines(found)) + "\n")
        codes.append(_oracle_code(found))
    return ranked(codes)


def _oracle_code(found: diff.Report) -> int:
    failed = [WRONG_USE] if found.failures else []
    return DIFFERENT if found.differences else ranked([*failed, SUCCESS if found.compared else UNSUPPORTED])


def _counts(found: diff.Report | validation.Report) -> str:
    from halfulp.conformance.comparing.compare import Verdict

    words = {Verdict.EQUAL: "equal", Verdict.OPEN: "open", Verdict.APART: "apart", Verdict.MISMATCH: "different"}
    words[Verdict.UNANSWERED] = "unanswered"
    present = [f"{found.verdicts[verdict]:,} {word}" for verdict, word in words.items() if found.verdicts[verdict]]
    return ", ".join(present) or "nothing to compare"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s'[: count != 1]}"


def _oracle_lines(found: diff.Report) -> list[str]:
    from halfulp.conformance.whole_programs.diff import difference_lines

    lines = [f"{found.oracle} {found.version}: {_plural(found.programs, 'input')}; elements: {_counts(found)}"]
    if found.undefined:
        given = f"; {found.oracle} has values for {found.undefined_answered:,}" if found.undefined_answered else ""
        lines.append(f"  undefined here, so that anything is allowed: {_plural(found.undefined, 'input')}{given}")
    lines += [f"  unanswered: {why} ({count:,})" for why, count in found.unanswered.most_common()]
    lines += [f"  known divergence: {name} ({_plural(count, 'input')})" for name, count in found.known.most_common()]
    if found.explained:
        lines.append(f"  all results are those of profile {' and of '.join(found.explained)}")
    lines += [f"  failed: {failure}" for failure in found.failures]
    for difference in found.differences[:SHOWN]:
        lines += difference_lines(difference, found.oracle)
    if len(found.differences) > SHOWN:
        lines.append(f"... and {_plural(len(found.differences) - SHOWN, 'input')} more with differences")
    return lines


def _oracle_record(found: diff.Report) -> dict[str, Any]:
    from halfulp.conformance.whole_programs.diff import difference_record

    return {
        "oracle": found.oracle,
        "version": found.version,
        "inputs": found.programs,
        "undefined": found.undefined,
        "undefined_answered": found.undefined_answered,
        "elements": {verdict.name.lower(): count for verdict, count in found.verdicts.items()},
        "unanswered": dict(found.unanswered),
        "known": dict(found.known),
        "profiles": found.explained,
        "failures": found.failures,
        "differences": [difference_record(difference) for difference in found.differences],
    }


def _diff_versions(arguments: argparse.Namespace, sources: Sources) -> int:
    from halfulp.conformance.whole_programs.arguments import generated
    from halfulp.conformance.whole_programs.validation import common_functions, validate
    from halfulp.interp.ir.errors import InputError
    from halfulp.interp.run.executor import argument_types

    profile = profile_named(arguments.profile)
    before = _parse(arguments.file, sources)
    after = _transformed(arguments, before, sources) if arguments.after is None else _parse(arguments.after, sources)
    pairs = common_functions(before, after, arguments.function)
    if arguments.input and len(pairs) > 1:
        raise InputError("--input is for one function: name it with --function")
    codes = []
    for one, two in pairs:
        inputs = _given(arguments, one, sources)
        if inputs is None:
            inputs = generated(argument_types(one), arguments.n or 1000, arguments.seed)
        found = validate((before, one), (after, two), inputs, profile)
        if arguments.json:
            write(json.dumps(_version_record(found)) + "\n")
        else:
            write("\n".join(_version_lines(found, two)) + "\n")
        codes.append(DIFFERENT if found.differing else SUCCESS if found.compared else UNSUPPORTED)
    return ranked(codes)


def _transformed(arguments: argparse.Namespace, before: Module, sources: Sources) -> Module:
    """What mlir-opt makes of the first version. Raises InputError with what it says."""
    from halfulp.conformance.oracles.oracle import OracleError, Unavailable
    from halfulp.conformance.oracles.tool import find_tool
    from halfulp.interp.ir.errors import InputError
    from halfulp.interp.text.parser import parse_module
    from halfulp.interp.text.printer import print_module

    try:
        tool = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22.")
        text = tool.run([f"--pass-pipeline={arguments.pass_pipeline}"], before.text or print_module(before))
    except Unavailable as error:
        raise InputError(str(error)) from None
    except OracleError as error:
        raise InputError(f"mlir-opt: {error}") from None
    sources["<after>"] = text
    return parse_module(text, "<after>")


def _version_lines(found: validation.Report, function: Operation) -> list[str]:
    from halfulp.conformance.whole_programs.validation import counterexample_lines

    every = "every input, " if found.exhaustive else ""
    lines = [f"@{found.function}: {every}{_plural(found.inputs, 'input')}; elements: {_counts(found)}"]
    if found.undefined:
        lines.append(f"  undefined before, so that anything is allowed: {_plural(found.undefined, 'input')}")
    if not found.compared:
        lines.append("  nothing was compared")
    lines += [f"  not run: {why} ({_plural(count, 'input')})" for why, count in found.skipped.most_common()]
    for example in found.counterexamples:
        lines += counterexample_lines(function, example)
    more = found.differing - len(found.counterexamples)
    return [*lines, f"... and {_plural(more, 'input')} more with differences"] if more else lines


def _version_record(found: validation.Report) -> dict[str, Any]:
    from halfulp.conformance.whole_programs.validation import counterexample_record

    return {
        "function": found.function,
        "inputs": found.inputs,
        "exhaustive": found.exhaustive,
        "undefined": found.undefined,
        "differing": found.differing,
        "elements": {verdict.name.lower(): count for verdict, count in found.verdicts.items()},
        "skipped": dict(found.skipped),
        "counterexamples": [counterexample_record(example) for example in found.counterexamples],
    }


# --- reduce -----------------------------------------------------------------------------------------------------------


def _reduce(arguments: argparse.Namespace) -> int:
    from halfulp.interp.ir.errors import HalfulpError

    sources = Sources(arguments)
    if (arguments.against is None) == (arguments.test is None):
        return fail("what is to stay? give --against or --test")
    if arguments.undefined and arguments.against is None:
        return fail("--undefined goes with --against")
    try:
        return (
            _reduce_by_test(arguments, sources) if arguments.against is None else _reduce_difference(arguments, sources)
        )
    except HalfulpError as error:
        return report(error, sources)


def _reduce_difference(arguments: argparse.Namespace, sources: Sources) -> int:
    from halfulp.conformance.comparing.divergences import cancellations, divergences
    from halfulp.conformance.whole_programs.diff import Search
    from halfulp.conformance.whole_programs.reduce import Reducer, SameDifference

    programs = _programs(arguments, sources, arguments.n)
    profile = profile_named(arguments.profile)
    oracles, missing = _oracles(arguments.against)
    if missing:
        return ranked(missing)
    if len(oracles) > 1:
        return fail("--against stands for one oracle here")
    if arguments.undefined:
        return _reduce_undefined(arguments, programs, profile, oracles[0])
    same = SameDifference(Search(oracles[0], divergences(), profile, cancellations()))
    found = [difference for difference in same.differences(programs) if difference is not None]
    unknown = [one for one in found if not one.known]
    if not unknown and not (found and arguments.no_known):
        known = " but what is known (--no-known reduces that)" if found else ""
        say(f"nothing differs by {arguments.against}{known}")
        return UNSUPPORTED
    difference = (unknown or found)[0]
    same.watch(difference)
    reducer = Reducer(same, arguments.max_tests, profile)
    program = reducer.reduce(difference.program, difference)
    final = same.differences([program])[0] or difference
    return _deliver(
        _reduced_text(program, final, oracles[0], arguments.output, arguments.against), reducer.tests, arguments
    )


def _reduce_undefined(
    arguments: argparse.Namespace, programs: Sequence[Program], profile: Profile, oracle: ProgramOracle
) -> int:
    from halfulp.conformance.whole_programs.reduce import Reducer, ValueForUndefined, undefined_header

    test = ValueForUndefined(oracle, profile)
    found = next((one for one in test.values(programs) if one is not None), None)
    if found is None:
        say(f"{arguments.against} has no value for undefined behaviour")
        return UNSUPPORTED
    test.watch(found)
    reducer = Reducer(test, arguments.max_tests, profile)
    program = reducer.reduce(found.program)
    final = test.values([program])[0] or found
    header = undefined_header(final, oracle.name, oracle.version, _ours())
    text = _with_command(header, program, arguments.output, arguments.against)
    return _deliver(text, reducer.tests, arguments)


def _reduced_text(
    program: Program, difference: diff.Difference, oracle: ProgramOracle, output: str | None, spelling: str
) -> str:
    """The program with what differs and the command that shows it in comments; ``spelling``: of the oracle there."""
    from halfulp.conformance.whole_programs.reduce import header

    known = " --no-known" if difference.known else ""
    return _with_command(header(difference, oracle.name, oracle.version, _ours()), program, output, spelling, known)


def _ours() -> str:
    from importlib.metadata import version

    from halfulp.semantics.profile import SEMANTICS_VERSION

    return f"halfulp {version('halfulp')} (semantics {SEMANTICS_VERSION})"


def _with_command(header: Iterable[str], program: Program, output: str | None, spelling: str, more: str = "") -> str:
    """A reduced program below its header and the command that shows what it says."""
    import shlex

    from halfulp.conformance.whole_programs.reduce import inputs_of, text_of

    inputs = "".join(f" {option}" for option in inputs_of(program))
    command = f"halfulp diff {output or 'reduced.mlir'} --function={program.function}{inputs}"
    lines = [*header, f"// reproduce: {command} --against {shlex.quote(spelling)}{more}"]
    return "\n".join(lines) + "\n" + text_of(program, close=False)


def _reduce_by_test(arguments: argparse.Namespace, sources: Sources) -> int:
    from halfulp.conformance.oracles.oracle import Program
    from halfulp.conformance.whole_programs.reduce import Reducer, by_script, text_of
    from halfulp.runtime import find_entry, function_path

    module = _parse(arguments.file, sources)
    function = find_entry(module, arguments.function)
    inputs = _given(arguments, function, sources)
    program = Program(module, function_path(function).replace("@", ""), () if inputs is None else inputs.row(0))
    test = by_script(arguments.test)
    if test([program]) is None:
        say(f"{arguments.test} does not find the program interesting as it is")
        return UNSUPPORTED
    reducer = Reducer(test, arguments.max_tests, profile_named(arguments.profile))
    reduced = reducer.reduce(program)
    return _deliver(text_of(reduced), reducer.tests, arguments)


def _deliver(text: str, tests: int, arguments: argparse.Namespace) -> int:
    from halfulp.files import write_file

    say(f"{_plural(tests, 'program')} tried")
    if arguments.output is None:
        write(text)
    else:
        write_file(arguments.output, text.encode("utf-8", "surrogateescape"))
    return SUCCESS


# --- fuzz -------------------------------------------------------------------------------------------------------------


def _fuzz(arguments: argparse.Namespace) -> int:
    from halfulp.conformance.whole_programs.fuzz import as_json, fuzz, lines
    from halfulp.semantics.kernel import FaultKind

    oracles, codes = _oracles(arguments.against)
    if not oracles:
        return ranked(codes)
    rows, pairs = _known(arguments)
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
            arguments.max_failures,
            progress,
        )
    write(json.dumps(as_json(found)) + "\n" if arguments.json else "\n".join(lines(found)) + "\n")
    by_name = {
        oracle.name: (oracle, spelling)
        for spelling in arguments.against.split(",")
        for oracle in oracles
        if oracle.name == spelling.partition("=")[0]
    }
    for failure in found.failures:
        text = "\n".join(failure.lines()) + "\n"
        if not arguments.no_reduce:
            text += _reduced_failure(failure, *by_name[failure.oracle])
        (say if arguments.json else write)(text)
    for counts in found.counts:
        codes += [DIFFERENT] if counts.failures else [WRONG_USE] if counts.broken else []
        codes.append(SUCCESS if counts.tally.compared else UNSUPPORTED)
    return ranked(codes)


def _reduced_failure(failure: Failure, oracle: ProgramOracle, spelling: str) -> str:
    from halfulp.conformance.comparing.divergences import cancellations, divergences
    from halfulp.conformance.whole_programs.diff import Search
    from halfulp.conformance.whole_programs.reduce import Reducer, SameDifference

    same = SameDifference(Search(oracle, divergences(), pairs=cancellations()))
    difference = same.differences([failure.program])[0]
    if difference is None:
        return "it does not differ when it is asked alone\n"
    same.watch(difference)
    program = Reducer(same).reduce(difference.program, difference)
    return _reduced_text(program, same.differences([program])[0] or difference, oracle, None, spelling)
