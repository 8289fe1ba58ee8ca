"""``halfulp explain``: explain the rounding of a number, the result of an op, a sum of products, or an error."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import halfulp as hu
from halfulp.codegen.tile_names import operation_named
from halfulp.command import calls
from halfulp.command.calls import INPUTS, FunctionOptions, run_keywords
from halfulp.command.console import DIFFERENT, EXIT_CODES, SUCCESS, put, write, write_coloured
from halfulp.command.execution import Sources, read
from halfulp.command.option import Command
from halfulp.command.records import coded_record, number_record
from halfulp.command.values import array_of_file, naming, profile_named, properties_of, types_in
from halfulp.described import argument, first_given, flag, option, profile_option, repeated
from halfulp.explanations.applications import keywords_of
from halfulp.explanations.dot import explain_dot, operand_codes
from halfulp.explanations.op import explained_ops, signature_of
from halfulp.explanations.records import RoundingExplanation
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.spelling import bit_fields
from halfulp.inputs import write_file
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, are_given
from halfulp.interp.values.coerce import as_type
from halfulp.number_reader import MODES, format_of
from halfulp.running import TraceKeywords, run_options
from halfulp.semantics.profile import Profile

if TYPE_CHECKING:
    from halfulp.chips.rows import Rows
    from halfulp.chips.which import ChipRanking
    from halfulp.explanations.records import OpExplanation, RoundedNumber


_EXPLAIN = """\
Explain the rounding of one number, the meaning of bits, or the result of an op:

  halfulp explain 0.3 f8E4M3FN                      a number rounded to a type
  halfulp explain "0x7F : f8E4M3FN"                 bits of a type
  halfulp explain arith.addf f8E4M3FN 1.4 2.2       an op; its operands are first rounded to the type
  halfulp explain exp bf16 0.1                      a function, rounded once
  halfulp explain arith.truncf f8E4M3FN 464 --from f32
  halfulp explain arith.addi i8 100 100 --attr overflow=nsw
  halfulp explain 0.3 f8E4M3FN --rounding=stochastic --random=5 --random-bits=8
  halfulp explain arith.cmpf f16 1 nan --attr predicate=ult
  halfulp explain quant.qcast "!quant.uniform<i8:f32, 0.5:3>" 1.3

A number is a decimal 0.3, a fraction 1/3, nan, -inf, raw bits 0x7F of the type itself, or has a type: f32=0x3E99999A.
"""


@dataclass(frozen=True, kw_only=True)
class ExplainArguments:
    """The options of ``halfulp explain``."""

    words: tuple[str, ...] = argument("WORD", "a value and a float type; or an op, a type and the operands", nargs="*")
    list: bool = flag("name every op that has an explanation")
    rounding: str | None = option(
        "MODE",
        f"the rounding mode to explain: {', '.join(MODES)} (default: to_nearest_even), or another name of it, "
        "such as RNE; a table shows all modes. Or stochastic",
    )
    random: int | None = option(
        "N",
        "the random bits of --rounding=stochastic, as an integer; without them both outcomes are explained",
        type=int,
    )
    random_bits: int | None = option("N", "the number of random bits, 1 to 64 (default: infinitely many)", type=int)
    profile: str = profile_option()
    source: str | None = option(
        "TYPE[,TYPE...]",
        "the type that a cast converts from (default: f64, or i64), or one type for each operand",
        name="--from",
    )
    channel: int | None = option("N", "the channel of a quantised type with several scales, counted from 0", type=int)
    attr: tuple[str, ...] = repeated("NAME[=VALUE]", "a property of the op: fastmath=nnan predicate=olt")
    plot: str | None = option("FILE", "also draw the rounding, to a file .svg or .png (needs matplotlib)")
    dark: bool = flag("use colours for a dark page")
    json: bool = flag("print one JSON object: the exact number, the result, the neighbours, and the text")


_OP = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*")
_NAME = re.compile(r"(?!nan$|inf$)[A-Za-z_]\w*", re.IGNORECASE)


def explain_words(arguments: ExplainArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    if arguments.list:
        if arguments.json:
            put({"ops": list(explained_ops())})
        else:
            write("".join(f"{op}\n" for op in explained_ops()))
        return SUCCESS
    words = [word.strip() for word in arguments.words]
    if not words:
        raise InputError("nothing to explain; usage: halfulp explain VALUE TYPE, or OP TYPE OPERAND...")
    profile = profile_named(arguments.profile)
    if _OP.fullmatch(words[0]) or (_NAME.fullmatch(words[0]) and default_registry().lookup(words[0])):
        explanation: Any = _explain_op(words, arguments, profile, sources)
        record: Callable[[Any], dict[str, Any]] = _op_record
    else:
        explanation = _explain_number(words, arguments, profile, sources)
        record = _number_record
    if arguments.plot is not None:
        _draw(explanation, arguments.plot, arguments.dark)
    if arguments.json:
        put(record(explanation))
    else:
        write_coloured(f"{explanation}\n", _patterns_of_fields(explanation), _COLOURS)
    return SUCCESS


_COLOURS = {"sign": "red", "exponent": "green", "integer": "cyan", "significand": "cyan"}


def _patterns_of_fields(explanation: RoundingExplanation | OpExplanation) -> Iterator[str]:
    """Yield regular expressions of the fields of codes in the result's format: after a code, and after their names."""
    rounding = explanation if isinstance(explanation, RoundingExplanation) else explanation.rounding
    if rounding is None:
        return
    fields = {
        name: rf"(?P<{name.partition(' ')[0]}>[01]{{{width}}})" for name, width in bit_fields(rounding.format).items()
    }
    yield rf"0x[0-9A-F]+  {' '.join(fields.values())}(?![01])"
    yield from (rf"\b{name} {digits}(?![01])" for name, digits in fields.items())


EXPLAIN = Command(
    ExplainArguments, explain_words, _EXPLAIN, usage="halfulp explain [options] VALUE TYPE | OP TYPE OPERAND..."
)


def _op_record(given: OpExplanation) -> dict[str, Any]:
    """Return the explanation of an op for JSON."""
    return {
        "op": given.op,
        "operands": [{"name": each.name, "type": str(each.type), "text": str(each)} for each in given.operands],
        "profile": given.profile.name,
        "type": str(given.type),
        "exact": number_record(given.exact),
        "result": None if given.result is None else coded_record(given.type, given.result),
        "undefined": given.undefined,
        "rule": given.rule,
        "profile_rule": given.profile_rule or None,
        "rounding": None if given.rounding is None else _rounding_record(given.rounding),
        "text": str(given).split("\n"),
    }


def _rounding_record(given: RoundingExplanation) -> dict[str, Any]:
    """Return the explanation of one rounding for JSON."""
    fmt = given.format

    def number(code: int | None) -> dict[str, Any] | None:
        return None if code is None else coded_record(ty.FloatType(fmt), code)

    return {
        "given": given.given,
        "type": fmt.name,
        "mode": given.rounding,
        "profile": given.profile.name,
        "exact": number_record(given.exact),
        "result": _rounded(fmt, given.result),
        "below": number(given.below),
        "above": number(given.above),
        "midpoint": number_record(given.midpoint),
        "ulp": number_record(given.ulp),
        "rule": given.rule,
        "profile_rule": given.profile_rule or None,
        "modes": {mode: _rounded(fmt, result) for mode, result in given.modes.items()},
    }


def _number_record(given: RoundingExplanation) -> dict[str, Any]:
    """Return the explanation of a number for JSON."""
    return {**_rounding_record(given), "text": str(given).split("\n")}


def _rounded(fmt: FloatFormat, result: RoundedNumber) -> dict[str, Any] | None:
    return None if result.code is None else coded_record(ty.FloatType(fmt), result.code)


def _draw(explanation: RoundingExplanation | OpExplanation, path: str, dark: bool) -> None:
    hu.plot.ending_of(path)
    try:
        figure = hu.plot.explanation(explanation, dark=dark)
    except ModuleNotFoundError as error:
        raise InputError(f"--plot: {error}") from None
    hu.plot.save(figure, path)


def _explain_number(words: list[str], arguments: ExplainArguments, profile: Profile, sources: Sources) -> Any:
    option = first_given(arguments, ("source", "channel", "attr"))
    if option is not None:
        raise InputError(
            f"{option} can be used only with an op, as in: halfulp explain arith.truncf f8E4M3FN 0.3 --from f32"
        )
    value, type_ = (" ".join(words), None) if ":" in words else (words[0], words[1] if len(words) > 1 else None)
    if ":" not in words and len(words) > 2:
        raise InputError(f"explain takes a value and a type, or an op with its operands, not {' '.join(words)}")
    fmt = None
    if type_ is not None:
        with naming("<type>", type_, sources):
            fmt = format_of(type_)
    with naming("<value>", value, sources):
        how: dict[str, Any] = {"random": arguments.random, "bits": arguments.random_bits}
        return hu.explain(value, fmt, arguments.rounding or "to_nearest_even", profile, **how)


def _explain_op(words: list[str], arguments: ExplainArguments, profile: Profile, sources: Sources) -> Any:
    op, *rest = words
    if not rest:
        raise InputError(f"the type is missing: write halfulp explain {op} f32 OPERAND...")
    with naming("<type>", rest[0], sources):
        type_ = as_type(rest[0])
    source, operands = None, rest[1:]
    given = [] if arguments.source is None else types_in(arguments.source)
    for spelling in reversed(given):
        with naming("<from>", spelling, sources):
            source = as_type(spelling)
    if len(given) > 1:
        if len(given) != len(operands):
            raise InputError(f"--from={arguments.source} has {len(given)} types, but {are_given(len(operands))}")
        operands = [f"{type_}={operand}" for type_, operand in zip(given, operands, strict=True)]
    properties = properties_of(op, arguments.attr, sources)
    if arguments.rounding is not None:
        properties["rounding"] = arguments.rounding
    types = keywords_of(signature_of(op), type_, source)
    drawn = {"random": arguments.random, "bits": arguments.random_bits}
    how = {**types, **drawn, "profile": profile, "channel": arguments.channel}
    return hu.explain_op(op, *operands, **how, **properties)


# --- explain dot ------------------------------------------------------------------------------------------------------


_DOT = """\
Explain one element of a tile D = A * B + C on a matrix unit: a row of A times a column of B. The output shows every
step of the model, the bits that it keeps and drops, and the results of all other models:

  halfulp explain dot NV_MMA_SYNC_F32_16x8x16_F16 --mma=chip:hopper --a="1024 -1024 0*6 0.125 0*7" \\
      --b="1024 1024 0*6 0.125 0*7"
  halfulp explain dot wgmma.m64n8k32.f32.e4m3.e4m3 --a=@a.npy --b=@b.npy --c=@c.npy --element=3,5

KIND is a kind of #iree_gpu, or an instruction in the spelling of PTX: mma, wgmma, tcgen05 or mfma, its shape, and the
types of D, A and B. The type of C follows if it is not the type of D. For scales, their type and the number of
elements per scale follow: mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block16.

Values are numbers as for halfulp explain (0.3, nan, bits 0x3C00), separated by spaces or commas; 0*6 means six zeros.
@FILE.npy is an array of exactly the right type.

--which ranks the chips, instructions and orders of K by the number of results in --d that they give. The types are
those of KIND; K is as long as --a. In files --a and --b are [rows, K], --c and --d [rows]. --rows=FILE.npz has
recordings, as halfulp.chips.recorded_chips reads them; their chips may have any name:

  halfulp explain dot --which mma.m16n8k16.f32.f16.f16 --a="1 0x0800" --b="1 0x8C00" --d=0x3F7FFFFF
  halfulp explain dot --which --rows=unknown.npz --json

The exit code of --which is 0 if for each recording a model differs in no row, else 1.
"""


def _element(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,6}),(\d{1,6})", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not I,J as in 3,5")
    return int(found[1]), int(found[2])


@dataclass(frozen=True, kw_only=True)
class ExplainDotArguments:
    """The options of ``halfulp explain dot``."""

    kind: str | None = argument(
        "KIND", "the operation: MFMA_F32_16x16x16_F16, or mma.m16n8k16.f32.f16.f16.f32", nargs="?"
    )
    a: str | None = option("VALUES", "a row of A, of K elements; with --element, all of A, [M, K]", name="--a")
    b: str | None = option("VALUES", "a column of B; with --element, all of B, [K, N]", name="--b")
    c: str = option("VALUE", "the element of C (default: 0); with --element, all of C, [M, N]", "0", name="--c")
    mma: str = option(
        "MODEL", "the model that adds: exact (default), ieee, chip:NAME or custom:FIELD=VALUE,...", "exact"
    )
    element: tuple[int, int] | None = option(
        "I,J", "the element of D to explain, if A, B and C are files of whole tiles", type=_element
    )
    scale_a: str | None = option("VALUES", "the scales of the row, one for each block of K")
    scale_b: str | None = option("VALUES", "the scales of the column")
    a_type: str | None = option("TYPE", "the element type of A, if the kind does not fix it")
    b_type: str | None = option("TYPE", "the element type of B, if the kind does not fix it")
    html: str | None = option("FILE", "write the explanation as an HTML page instead")
    which: bool = flag("rank the chips by how many of the results they give")
    d: str | None = option("VALUES", "with --which: the result, an element of D", name="--d")
    rows: str | None = option("FILE.npz", "with --which: recordings, instead of KIND and values")
    json: bool = flag("with --which: print one JSON object")


_REPEATED = re.compile(r"([^*]+)\*(\d{1,18})", re.ASCII)
_MOST_NUMBERS = 1 << 16


def _numbers(text: str | None, name: str) -> Any:
    """Return the numbers of an option, each as text, or the array of a file."""
    if text is None:
        return None
    if text.startswith("@"):
        found = array_of_file(text[1:])
        if isinstance(found, bytes):
            raise InputError(f"--{name}: {text[1:]!r} is not a .npy file, nor one of tensors")
        return found
    numbers: list[str] = []
    for word in re.split(r"[\s,]+", text.strip()):
        repeated = _REPEATED.fullmatch(word)
        number, times = (repeated[1], int(repeated[2])) if repeated else (word, 1)
        if len(numbers) + times > _MOST_NUMBERS:
            raise InputError(f"--{name} has more than {_MOST_NUMBERS} values")
        numbers += [number] * times
    return numbers


def explain_product(arguments: ExplainDotArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    given = arguments
    if given.which:
        return _rank(given)
    if foreign := first_given(given, ("d", "rows", "json")):
        raise InputError(f"{foreign} can be used only with --which")
    if given.kind is None or given.a is None or given.b is None:
        raise InputError("halfulp explain dot takes a KIND, --a and --b")
    row, column, addend, *scales = [
        _numbers(getattr(given, name), name.replace("_", "-")) for name in ("a", "b", "c", "scale_a", "scale_b")
    ]
    addend = _single(addend, "c")
    explanation = explain_dot(
        given.kind,
        row,
        column,
        addend,
        given.mma,
        element=given.element,
        scale_a=scales[0],
        scale_b=scales[1],
        a_type=given.a_type,
        b_type=given.b_type,
    )
    if given.html is not None:
        write_file(given.html, explanation.html().encode("utf-8"))
    if given.html is None:
        write_coloured(f"{explanation}\n", [_ALIGNED], {"sign": "red", "kept": "cyan", "cut": "red"})
    return SUCCESS


_ALIGNED = r"(?P<sign>[+-])(?P<kept>[01]+\.[01]*)\|?(?P<cut>(?<=\|)[01]+)?(?= )"
"""The terms of a sum: the sign, the bits that are kept, and those that are cut off."""


def _single(given: Any, name: str) -> Any:
    """Return the one number of an option; of a file, its array."""
    if not isinstance(given, list):
        return given
    if len(given) != 1:
        raise InputError(f"--{name} takes one number, not {len(given)}")
    return given[0]


def _rank(given: ExplainDotArguments) -> int:
    """Print the chips by how many of the results they give."""
    from halfulp.chips.recorded_chips import read as recordings_of
    from halfulp.chips.which import ranking_of

    if foreign := first_given(given, ("mma", "element", "scale_a", "scale_b", "html")):
        raise InputError(f"{foreign} cannot be used with --which")
    notes: list[str] = []
    if given.rows is not None:
        foreign = first_given(given, ("a", "b", "c", "d", "a_type", "b_type"))
        if foreign := foreign or ("KIND" if given.kind else None):
            raise InputError(f"--rows has the values and their types: leave out {foreign}")
        named = [(each.name, each.rows) for each in recordings_of(given.rows, known=False)]
    else:
        named = [("", _rows(given, notes))]
    rankings = [(name, rows, ranking_of(rows)) for name, rows in named]
    if given.json:
        records = [
            {"recording": name or None, "types": rows.types, "rows": len(rows), "k": rows.length, **ranked.record()}
            for name, rows, ranked in rankings
        ]  # fmt: skip
        write(json.dumps({"notes": notes, "rankings": records}) + "\n")
    else:
        write("".join(f"note  {note}\n" for note in notes))
        write("\n".join(_ranking_text(*each) for each in rankings))
    return SUCCESS if all(ranking.chips for *_, ranking in rankings) else DIFFERENT


def _rows(given: ExplainDotArguments, notes: list[str]) -> Rows:
    """Return the rows that the options give: one row as numbers, or several rows in files."""
    if given.kind is None or given.a is None or given.b is None or given.d is None:
        raise InputError("halfulp explain dot --which takes a KIND, --a, --b and --d; or --rows=FILE.npz")
    from halfulp.chips.rows import rows_of

    op = operation_named(given.kind, given.a_type, given.b_type)
    if op.scale:
        raise InputError(f"--which ranks instructions without scales, but {op.name} has scales")
    values = {name: _numbers(getattr(given, name), name) for name in "abcd"}
    arrays = []
    for (name, value), type_ in zip(values.items(), (op.a, op.b, op.c, op.d), strict=True):
        if isinstance(value, list) and type_ in FORMATS:
            numbers = _single(value, name) if name in "cd" else value
            codes = operand_codes(numbers, type_, name, 0, 0, False, notes)
            value = np.array(codes, FORMATS[type_].storage_dtype)
        arrays.append(value)
    a, b, c, d = arrays
    if first_given(given, ("c",)) is None:
        c = None
    return rows_of(a, b, c, d, (op.a, op.b), (op.c, op.d))


def _ranking_text(name: str, rows: Rows, ranking: ChipRanking) -> str:
    a, b, c, d = rows.types
    count = f"{len(rows)} row{'s'[: len(rows) != 1]}"
    head = f"{name}: " if name else ""
    many = len(ranking.chips)
    verdict = f"{many} model{'s'[: many != 1]} differ{'s'[: many == 1]} in no row" if many else "all models differ"
    return f"{head}{count} of K = {rows.length}, {a} * {b} + {c} to {d}: {verdict}\n{ranking}\n"


DOT = Command(ExplainDotArguments, explain_product, _DOT)


# --- explain error ----------------------------------------------------------------------------------------------------


_ERROR = """\
The program also runs with exact real numbers. From an element of a result the command goes back, step by step, to the
operand that causes most of its error. All errors are the computed minus the exact number, in ulp of the exact result.

  halfulp explain error softmax.mlir --input=@x.npy --result=0 --element=3,1
"""


@dataclass(frozen=True, kw_only=True)
class ExplainErrorArguments(FunctionOptions):
    """The options of ``halfulp explain error``."""

    result: str = option(
        "NAME", "the result: its number, or argument[1] for what memory holds after the run (default: 0)", "0"
    )
    element: str | None = option("I,J,...", "the element (default: that with the largest error)")
    json: bool = flag("print one JSON object")


def explain_result(arguments: ExplainErrorArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    from halfulp.traces.error_report import beside_reals
    from halfulp.traces.error_text import json_record, story_lines

    module = read(arguments.file, sources).program()
    values = calls.arguments_of(module, arguments, sources)
    options = run_options("trace", TraceKeywords, run_keywords(arguments))
    _, report = beside_reals(module, values, options)
    result = int(arguments.result) if arguments.result.isdecimal() else arguments.result
    element = None if arguments.element is None else _indices(arguments.element)
    end = report.error_of(result, element)
    story = report.explain(result, end.element)
    if arguments.json:
        write(json.dumps({"end": json_record(end), "steps": [json_record(step) for step in story]}) + "\n")
    else:
        write("".join(f"{line}\n" for line in story_lines(end, story, chosen=element is not None)))
    return SUCCESS


ERROR = Command(
    ExplainErrorArguments,
    explain_result,
    "Go back from an element of a result to the op that caused its error.",
    f"{_ERROR}\n{INPUTS}\n{EXIT_CODES}",
)


def _indices(text: str) -> tuple[int, ...]:
    try:
        return tuple([int(part) for part in text.strip("[]").split(",") if part.strip()])
    except ValueError:
        raise InputError(f"--element: {text!r} is not a list of integers", hint="write --element=3,1") from None
