"""The command line: the parser of ``halfulp COMMAND``, and the commands that have no module of their own.

Results go to stdout and are deterministic; diagnostics go to stderr as ``file:line:col: error: …`` with the source line
and a caret. Exit codes: 0 fine or equal, 1 values differ, 2 usage, parse, verify or I-O error, 3 unsupported, 4
undefined behaviour or forbidden poison, 70 an error of halfulp's own, 130 interrupted.

Whatever takes time to import is imported by the command that needs it, so that help is quick.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from halfulp.command import check_vectors as cli_check_vectors
from halfulp.command import constraints as cli_constraints
from halfulp.command import explain as cli_explain
from halfulp.command import explain_dot as cli_explain_dot
from halfulp.command import explore as cli_explore
from halfulp.command import programs as cli_programs
from halfulp.command import running as cli_running
from halfulp.command import sweep as cli_sweep
from halfulp.command import trace as cli_trace
from halfulp.command import vectors as cli_vectors
from halfulp.command import verify as cli_verify
from halfulp.command import workgroups as cli_workgroups
from halfulp.command.common import (
    EXIT_CODES,
    SUCCESS,
    WRONG_USE,
    Sources,
    diagnostics_option,
    fail,
    profile_named,
    properties_of,
    read,
    report,
    say,
    worst,
    write,
)

if TYPE_CHECKING:
    from halfulp.fp_formats.formats import FloatFormat
    from halfulp.interp.declare.declarations import Schema
    from halfulp.interp.ir.operations import Module
    from halfulp.interp.values.value import Value
    from halfulp.semantics.profile import Profile

INTERNAL_ERROR, INTERRUPTED, BROKEN_PIPE = 70, 130, 141

SPLIT_MARKER = "// -----\n"

# --- usage ------------------------------------------------------------------------------------------------------------


class _Version(argparse.Action):
    """Prints the versions, which take time to find, only when asked."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> NoReturn:
        from importlib.metadata import version

        from halfulp.semantics.profile import SEMANTICS_VERSION

        print(f"halfulp {version('halfulp')} (semantics {SEMANTICS_VERSION})")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; each command sets ``command`` to its function."""
    style: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    parser = argparse.ArgumentParser(
        "halfulp", description="Run MLIR numerics bit for bit.", epilog=EXIT_CODES, **style
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    running = cli_running.options()
    epilog = f"{cli_running.VALUES}\n{EXIT_CODES}"
    run = commands.add_parser("run", help="run a function of an MLIR file", parents=[running], epilog=epilog, **style)
    cli_running.function_options(run)
    run.add_argument(
        "--split-input-file",
        action="store_true",
        help="run each part of the file separately; lines '// -----' divide parts",
    )
    run.set_defaults(command=_run)

    evaluate = commands.add_parser(
        "eval",
        help="evaluate one op on typed inputs",
        parents=[running],
        description="Evaluate one op: halfulp eval arith.addf --input=f8E4M3FN=1.375 --input=f8E4M3FN=2.25",
        epilog=epilog,
        **style,
    )
    add = evaluate.add_argument
    add("op", metavar="OP", help="the full name of the op, such as arith.addf")
    add("--to", metavar="TYPE", help="for casts: the type, or element type, of the result")
    add(
        "--attr",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="a property: fastmath=nnan,ninf rounding=upward predicate=slt overflow=nsw exact; others in MLIR's syntax",
    )
    cli_running.model_option(evaluate)
    evaluate.set_defaults(command=_eval)

    formats = commands.add_parser("formats", help="list the float formats, or describe one", epilog=EXIT_CODES, **style)
    formats.add_argument(
        "name", nargs="?", metavar="NAME", help="the format to describe; with up to 8 bits, all its values are listed"
    )
    formats.set_defaults(command=_formats)

    translate = commands.add_parser(
        "translate",
        help="read and verify MLIR text or bytecode, and print text or bytecode",
        description="Read and verify MLIR text or bytecode. Print it as text, or with --emit-bytecode as bytecode.",
        epilog=EXIT_CODES,
        **style,
    )
    add = translate.add_argument
    add("file", metavar="FILE", help="MLIR text or bytecode, or - for the standard input")
    add("-o", dest="output", metavar="FILE", help="write to this file instead of stdout")
    add("--mlir-print-op-generic", "--generic", action="store_true", dest="generic", help="print the generic form")
    add("--mlir-print-debuginfo", "--debug-info", action="store_true", dest="debug_info", help="print locations")
    add(
        "--split-input-file",
        action="store_true",
        help="read each part of the file separately; lines '// -----' divide parts",
    )
    add("--allow-unregistered-dialect", action="store_true", help="accept ops that halfulp does not know")
    add("--emit-bytecode", action="store_true", help="write bytecode; for MLIR 22, the same bytes as mlir-opt")
    add(
        "--emit-bytecode-version",
        type=int,
        choices=range(7),
        metavar="N",
        help="the version of the format, 0 to 6 (default: 6); every MLIR since 17 can read version 4",
    )
    add(
        "--emit-bytecode-producer",
        metavar="NAME",
        help="the name in the file (default: by the schema, as MLIR22-halfulp)",
    )
    add(
        "--schema",
        choices=("mlir22", "llvm24", "newer"),
        help="the MLIR to write for. mlir22: refuse everything that only newer MLIR has. llvm24 or newer: use the "
        "newer layout of bytecode, and do not pack i1 in blobs of text. Default for bytecode: mlir22; for text: MLIR "
        "22's spelling, but nothing is refused",
    )
    diagnostics_option(translate)
    add(
        "--verify-diagnostics",
        action="store_true",
        help="compare the errors with the comments // expected-error {{...}} in the file, as mlir-opt does; "
        "exit with 2 if they differ",
    )
    translate.set_defaults(command=_translate)

    inspect = commands.add_parser(
        "inspect",
        help="show the contents of a bytecode file",
        description="Show the sections, dialects, ops, strings and resources of an MLIR bytecode file, with sizes.",
        epilog=EXIT_CODES,
        **style,
    )
    inspect.add_argument("file", metavar="FILE", help="MLIR bytecode, or - for the standard input")
    inspect.add_argument("--json", action="store_true", help="print one JSON object")
    inspect.set_defaults(command=_inspect)

    cli_explain.register(commands, style)
    cli_explain_dot.register(commands, style)
    cli_explore.register(commands, style)
    cli_trace.register(commands, style)
    cli_verify.register(commands, style)
    cli_programs.register(commands, style)
    cli_constraints.register(commands, style)
    cli_workgroups.register(commands, style)
    cli_vectors.register(commands, style)
    cli_check_vectors.register(commands, style)
    cli_sweep.register(commands, style)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code. Writes to stdout and stderr, never a traceback."""
    try:
        arguments = build_parser().parse_args(cli_explain.negative_values(sys.argv[1:] if argv is None else list(argv)))
        if "HALFULP_BACKEND" in os.environ and (wrong := _wrong_backend()):
            return fail(wrong)
        code: int = arguments.command(arguments)
        sys.stdout.flush()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else WRONG_USE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _abandon_output()
        return BROKEN_PIPE
    except MemoryError:
        return fail("the machine has not enough memory for this")
    except OSError as error:
        _abandon_output()
        return fail(error.strerror or str(error))
    except Exception as error:
        if os.environ.get("HALFULP_DEBUG") == "1":
            raise
        what = " ".join(str(error).split())
        say(f"halfulp: internal error: {type(error).__name__}: {what}; please report it (HALFULP_DEBUG=1 shows where)")
        return INTERNAL_ERROR
    return code


def _wrong_backend() -> str | None:
    """What is wrong with the backend that the environment names."""
    try:
        from halfulp.fp_formats.paths import compiled  # noqa: F401
    except ValueError as error:
        return str(error)
    return None


def _abandon_output() -> None:
    """Give up stdout, which cannot be written to: what is left in its buffer would fail once more when Python ends."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# --- run --------------------------------------------------------------------------------------------------------------


def _run(arguments: argparse.Namespace) -> int:
    from halfulp.interp.ir.errors import HalfulpError

    sources = Sources(arguments)
    try:
        profile = profile_named(arguments.profile)
        cli_running.check_outputs(arguments)
        program = read(arguments.file, sources)
        parts = program.parts(arguments.split_input_file)
        if len(parts) > 1 and arguments.output:
            return fail(f"--output stands for the results of one run, but the file has {len(parts)} parts")
    except HalfulpError as error:
        return report(error, sources)
    codes = []
    for part in parts:
        try:
            module = program.module(part)
            if module.body or len(parts) == 1:
                codes.append(_run_module(module, profile, arguments, sources))
        except HalfulpError as error:
            codes.append(report(error, sources))
    return worst(codes)


def _run_module(module: Module, profile: Profile, arguments: argparse.Namespace, sources: Sources) -> int:
    from halfulp.runtime import run

    given = cli_running.given(module, arguments, sources)
    results = run(module, *given.values, profile=profile, **given.keywords)
    return cli_running.deliver(results, given.expected, arguments, given=given.values)


# --- eval -------------------------------------------------------------------------------------------------------------


def _eval(arguments: argparse.Namespace) -> int:
    from halfulp.interp.ir.errors import HalfulpError

    sources = Sources(arguments)
    try:
        return _eval_op(arguments, sources)
    except HalfulpError as error:
        return report(error, sources)


def _eval_op(arguments: argparse.Namespace, sources: Sources) -> int:
    from halfulp.command.values import check_size, naming, read_value
    from halfulp.interp.ir.errors import TypeMismatch
    from halfulp.interp.run.executor import Limits
    from halfulp.interp.values.spelling import parse_type_head
    from halfulp.runtime import eval as evaluate

    cli_running.check_outputs(arguments)
    values: list[Value] = []
    for index, text in enumerate(arguments.input):
        # Elements alone take the type of the input before them.
        value = read_value(text, values[-1].type if values else None, f"<input {index}>", sources)
        check_size(value, f"<input {index}>", arguments.max_bytes or Limits().bytes)
        values.append(value)
    target = None
    if arguments.to is not None:
        with naming("--to", arguments.to, sources):
            target = parse_type_head(arguments.to)
    outcome = evaluate(
        arguments.op,
        *values,
        to=target,
        profile=profile_named(arguments.profile),
        on_ub=arguments.on_ub,
        index_width=arguments.index_width,
        mma=arguments.mma or "exact",
        **properties_of(arguments.op, arguments.attr, sources),
    )
    results = outcome if isinstance(outcome, tuple) else (outcome,)
    for option, given in (("--output", arguments.output), ("--expected_output", arguments.expected_output)):
        if len(given) > len(results):
            raise TypeMismatch(f"{arguments.op} has {len(results)} results, but {len(given)} are named by {option}")
    expected = [
        read_value(text, results[index].type, f"<expected output {index}>", sources)
        for index, text in enumerate(arguments.expected_output)
    ]
    return cli_running.deliver(results, expected, arguments)


# --- formats ----------------------------------------------------------------------------------------------------------


def _formats(arguments: argparse.Namespace) -> int:
    from halfulp.explanations.rounding import table_lines
    from halfulp.fp_formats.formats import FORMATS, float_format

    if arguments.name is None:
        facts = [_facts(fmt) for fmt in FORMATS.values()]
        lines = table_lines([tuple(facts[0]), *(tuple(row.values()) for row in facts)])
    else:
        try:
            fmt = float_format(arguments.name)
        except ValueError as error:
            return fail(str(error))
        lines = _details(fmt)
    write("\n".join(lines) + "\n")
    return SUCCESS


def _short_value(fmt: FloatFormat, code: int) -> str:
    from halfulp.fp_formats.scalar import value
    from halfulp.fp_formats.spelling import decimal_text

    exact = value(fmt, code)
    assert exact is not None
    return decimal_text(exact, 14)


def _smallest_subnormal(fmt: FloatFormat) -> str:
    return _short_value(fmt, fmt.from_magnitude(1)) if fmt.zero and fmt.mantissa_bits else "none"


def _facts(fmt: FloatFormat) -> dict[str, str]:
    """One row of the table of formats."""
    zero = "none" if not fmt.zero else "±0" if fmt.has_negative_zero else "+0"
    return {
        "name": fmt.name,
        "bits": str(fmt.bits),
        "sign": str(int(fmt.signed)),
        "exponent": str(fmt.exponent_bits),
        "mantissa": f"{fmt.mantissa_bits}{'+1' if fmt.explicit_integer_bit else ''}",
        "bias": str(fmt.bias),
        "infinities": "yes" if fmt.infinities else "no",
        "NaN": fmt.nan.value,
        "zero": zero,
        "emin": str(fmt.emin),
        "emax": str(fmt.emax),
        "max": _short_value(fmt, fmt.max_code),
        "smallest normal": _short_value(fmt, fmt.min_normal_code),
        "smallest subnormal": _smallest_subnormal(fmt),
    }


def _details(fmt: FloatFormat) -> list[str]:
    """Everything about one format; up to 8 bits, all its codes."""
    from halfulp.explanations.rounding import table_lines
    from halfulp.fp_formats.spelling import bit_fields, bits_text, hex_text, value_text

    rows = list(_facts(fmt).items())
    rows.insert(2, ("fields", ", ".join(f"{name} {width}" for name, width in bit_fields(fmt).items())))
    for name, code in (
        ("max", fmt.max_code),
        ("smallest normal", fmt.min_normal_code),
        ("+infinity", fmt.infinity_code),
        ("default NaN", fmt.nan_code),
    ):
        rows.append((f"code of {name}", "none" if code is None else hex_text(fmt, code)))
    lines = table_lines(rows)
    if fmt.bits <= 8:
        codes = [("code", "bits", "value")]
        codes += [(hex_text(fmt, code), bits_text(fmt, code), value_text(fmt, code)) for code in range(1 << fmt.bits)]
        lines += ["", *table_lines(codes)]
    return lines


# --- translate --------------------------------------------------------------------------------------------------------


def _translate(arguments: argparse.Namespace) -> int:
    from halfulp.command.diagnostics import Checker
    from halfulp.interp.declare.declarations import Schema
    from halfulp.interp.ir.errors import HalfulpError
    from halfulp.interp.text.printer import print_module

    sources = Sources(arguments)
    schema = {"mlir22": Schema.MLIR22, "newer": Schema.LLVM24, "llvm24": Schema.LLVM24}.get(arguments.schema)
    version = arguments.emit_bytecode_version
    for option, given in (("version", version), ("producer", arguments.emit_bytecode_producer)):
        if given is not None and not arguments.emit_bytecode:
            return fail(f"--emit-bytecode-{option} goes with --emit-bytecode")
    if arguments.emit_bytecode and arguments.output is None and sys.stdout.isatty():
        return fail("bytecode is not written to a terminal: name a file with -o")
    try:
        program = read(arguments.file, sources)
        if program.text is None and arguments.verify_diagnostics:
            return fail("--verify-diagnostics needs text: bytecode has no comments")
        checker = Checker(program.text or "", program.name) if arguments.verify_diagnostics else None
        parts = program.parts(arguments.split_input_file)
        if arguments.emit_bytecode and len(parts) > 1:
            return fail(f"a bytecode file holds one module, but the file has {len(parts)} parts")
    except HalfulpError as error:
        return report(error, sources)
    printed, codes = [], []
    for part in parts:
        try:
            module = program.module(part, arguments.allow_unregistered_dialect)
            if arguments.emit_bytecode:
                printed.append(_bytecode(module, version, schema or Schema.MLIR22, arguments.emit_bytecode_producer))
                continue
            # mlir-opt ends every module with an empty line.
            form = print_module(module, generic=arguments.generic, debug_info=arguments.debug_info, schema=schema)
            printed.append(form.rstrip("\n").encode("utf-8", "surrogateescape") + b"\n\n")
        except HalfulpError as error:
            printed.append(b"")
            failures = [error] if checker is None else checker.unexpected(error)
            codes += [report(failure, sources) for failure in failures]
    if checker is not None:
        codes += [report(failure, sources) for failure in checker.unmet()]
    if arguments.output is not None and codes:
        return worst(codes)
    try:
        _write_translated(SPLIT_MARKER.encode().join(printed), arguments)
    except HalfulpError as error:
        return report(error, sources)
    return worst(codes)


def _bytecode(module: Module, version: int | None, schema: Schema, producer: str | None) -> bytes:
    from halfulp.interp.bytecode.encoding import MAX_VERSION
    from halfulp.interp.bytecode.writer import write_bytecode

    return write_bytecode(module, MAX_VERSION if version is None else version, schema, producer)


def _write_translated(output: bytes, arguments: argparse.Namespace) -> None:
    from halfulp.files import write_file

    if arguments.output is not None:
        write_file(arguments.output, output)
    elif arguments.emit_bytecode:
        sys.stdout.buffer.write(output)
    else:
        write(output.decode("utf-8", "surrogateescape"))


# --- inspect ----------------------------------------------------------------------------------------------------------


def _inspect(arguments: argparse.Namespace) -> int:
    import json

    from halfulp.interp.bytecode.inspect import inspect
    from halfulp.interp.ir.errors import BytecodeError, HalfulpError

    sources = Sources(arguments)
    try:
        program = read(arguments.file, sources)
        if program.text is not None:
            hint = "halfulp translate --emit-bytecode makes it bytecode" if program.text.strip() else None
            raise BytecodeError(
                "no MLIR bytecode: it does not begin with 4D 4C EF 52", offset=0, filename=program.name, hint=hint
            )
        summary = inspect(program.data, program.name)
    except HalfulpError as error:
        return report(error, sources)
    if arguments.json:
        write(json.dumps(summary.as_json(), indent=2) + "\n")
    else:
        from halfulp.command.inspect import show

        show(summary)
    return SUCCESS if summary.problem is None else report(summary.problem, sources)


if __name__ == "__main__":
    sys.exit(main())
