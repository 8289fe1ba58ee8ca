"""The script of a test of LLVM: its RUN lines with lit's substitutions, and each line taken apart into commands."""

import random
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from corpora.answers import Answers

from halfulp.conformance.oracles.jit import library
from halfulp.conformance.oracles.oracle import OracleError
from halfulp.conformance.oracles.tool import Tool, find_tool, run_bounded
from halfulp.conformance.whole_programs.printed import Calls, attributes_of
from halfulp.fp_formats.formats import codes_to_ints, ints_to_codes
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import AssertionFailed, Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import runtime_shape, width_of
from halfulp.interp.values.value import Value

_LINE = re.compile(r"^.*?\b(RUN|DEFINE|REDEFINE):(.*)$", re.MULTILINE)
_ASSIGNMENT = re.compile(r"\s*(%\{[\w:-]+\})\s*=(.*)", re.DOTALL)
_ROUNDS = 10
"""The most substitutions inside of each other."""


def script(text: str, substitutions: Mapping[str, str]) -> list[str]:
    """Return the RUN lines of a test as commands of a shell.

    ``substitutions``: the words that lit replaces, ``%s`` and others. The test defines more of them with ``DEFINE:``
    and ``REDEFINE:``.
    """
    known = dict(substitutions)
    found = []
    for keyword, line in _joined(text):
        if keyword == "RUN":
            found.append(_substituted(line, known).strip())
        elif assignment := _ASSIGNMENT.fullmatch(line):
            known[assignment[1]] = assignment[2].strip()
    return found


def _joined(text: str) -> Iterator[tuple[str, str]]:
    """Yield the keyword and the text of each line, joined with the lines that it continues on."""
    keyword, joined = "", ""
    for match in _LINE.finditer(text):
        keyword = keyword or match[1]
        line = match[2].strip()
        if line.endswith("\\"):
            joined += line[:-1].rstrip() + " "
            continue
        yield keyword, joined + line
        keyword, joined = "", ""


def _substituted(line: str, known: Mapping[str, str]) -> str:
    # The longest first: %s is the beginning of %something.
    pattern = re.compile("|".join(re.escape(name) for name in sorted(known, key=len, reverse=True)))
    for _ in range(_ROUNDS):
        replaced = pattern.sub(lambda match: known[match[0]], line)
        if replaced == line:
            break
        line = replaced
    return line


@dataclass(frozen=True)
class Command:
    """One command of a pipeline. ``both``: standard error goes where standard output goes."""

    words: tuple[str, ...]
    both: bool = False


def pipelines(line: str) -> list[tuple[Command, ...]]:
    """Return the pipelines of a line in which ``&&`` and ``;`` stand between pipelines, in order."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    found: list[tuple[Command, ...]] = []
    commands: list[Command] = []
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word not in ("|", "&&", ";"):
            words.append(word)
            continue
        if words:
            commands.append(_command(words))
            words = []
        if word != "|":
            found.append(tuple(commands))
            commands = []
    return [pipeline for pipeline in found if pipeline]


def _command(words: Sequence[str]) -> Command:
    """Return a command without what sends its streams elsewhere. A file that it writes is its option ``-o``."""
    kept: list[str] = []
    both = False
    following = iter(words)
    for word in following:
        if word == ">&" and kept[-1:] == ["2"] and next(following, "") == "1":
            kept.pop()
            both = True
        elif word == ">":
            kept += ["-o", next(following, "")]
        else:
            kept.append(word)
    return Command(tuple(kept), both)


# --- lit tools --------------------------------------------------------------------------------------------------------
#
# The real tools that RUN lines name, with a folder for their answers.

SECONDS = 120.0
"""Most seconds of one run of a tool, or of one RUN line."""

LIBRARIES = {
    "%mlir_runner_utils": "libmlir_runner_utils.so",
    "%mlir_c_runner_utils": "libmlir_c_runner_utils.so",
    "%mlir_async_runtime": "libmlir_async_runtime.so",
    "%mlir_float16_utils": "libmlir_float16_utils.so",
}
"""The libraries of mlir-runner, by the word that lit replaces."""

_DUMP = re.compile(r"^// -----// IR Dump After .*?\(([\w-]+)\)(?: \('.*\))? //----- //$", re.MULTILINE)
_LLVM = re.compile(r'^\s*(?:%\S+ = )?"?llvm\.', re.MULTILINE)
_DUMPS = ("--mlir-print-ir-after-all", "--mlir-print-ir-module-scope", "--mlir-disable-threading")


@dataclass(frozen=True)
class LitTools:
    """mlir-opt, mlir-runner and FileCheck, and what they have answered."""

    opt: Tool
    runner: Tool
    check: Tool
    answers: Answers

    def substitutions(self, test: Path) -> dict[str, str]:
        """Return the words that lit replaces in the RUN lines of a test."""
        libraries = {word: library(self.runner, name) for word, name in LIBRARIES.items()}
        return {**libraries, "%s": str(test), "%S": str(test.parent), "%t": str(self.answers.folder / "output.tmp")}

    def passes(self, line: str, test: Path) -> bool:
        """Tell whether the real tools pass a RUN line."""
        check = f'{shlex.quote(self.check.path)} "$@"'
        return bool(self.answers.kept(["line", line, test.read_text()], lambda: self._shell(line, check)[0] == 0))

    def printed(self, line: str) -> str:
        """Return what a RUN line gives to FileCheck."""
        return self._shell(line, "cat")[1]

    def stages(self, text: str, commands: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
        """Return the module after each pass, with the name of the pass, up to the first op of the dialect llvm.

        ``commands``: the flags of each mlir-opt; the first reads the text, and the others what the one before prints.
        A pass that runs on one function after the other gives one stage.
        """
        found: list[tuple[str, str]] = []
        for flags in commands:
            dumps = self.answers.kept(["dumps", list(flags), text], partial(self._dumps, flags, text))
            for name, group in groupby(dumps, lambda pair: pair[0]):
                *_, (_, dump) = group
                if _LLVM.search(dump):
                    return found
                if dump != (found[-1][1] if found else text):
                    found.append((name, dump))
            text = dumps[-1][1] if dumps else text
        return found

    def disagreement(self, flags: Sequence[str], printed: str) -> str:
        """Return what FileCheck says about a text that a program printed; "" if it agrees with the CHECK lines."""
        given = [flag for flag in flags if "dump-input" not in flag]
        command = [self.check.path, *given, "--dump-input=never"]
        done = run_bounded(command, printed.encode("utf-8", "surrogateescape"), SECONDS)
        said = done.stderr.decode("utf-8", "replace").strip()
        return (said or "FileCheck failed") if done.returncode else ""

    def _shell(self, line: str, check: str) -> tuple[int, str]:
        """Run a line with another command in the place of FileCheck. Return the exit code, and what it prints."""
        commands = {
            "mlir-opt": f'{shlex.quote(self.opt.path)} "$@"',
            "mlir-runner": f'{shlex.quote(self.runner.path)} "$@"',
            "FileCheck": check,
            "not": '! "$@"',
        }
        functions = "".join(f"{name}() {{ {command}; }}\n" for name, command in commands.items())
        try:
            done = run_bounded(["bash", "-o", "pipefail", "-c", functions + line], b"", SECONDS)
        except OracleError as error:
            return 1, str(error)
        return done.returncode, done.stdout.decode("utf-8", "surrogateescape")

    def _dumps(self, flags: Sequence[str], text: str) -> list[tuple[str, str]]:
        try:
            said = self.opt.finished([*flags, *_DUMPS], text, SECONDS).said
        except OracleError as error:
            said = error.said
        _, *parts = _DUMP.split(said)
        return list(zip(parts[::2], parts[1::2], strict=True))


def find_lit_tools(cache: Path) -> LitTools:
    """Find the tools. ``cache``: the folder for their answers. Raises Unavailable with the reason."""
    opt = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22")
    runner = find_tool("mlir-runner-22", "HALFULP_MLIR_RUNNER", "22")
    return LitTools(opt, runner, find_tool("FileCheck", "HALFULP_FILECHECK", ""), Answers(cache, opt.version))


# --- run lines --------------------------------------------------------------------------------------------------------
#
# The RUN lines of LLVM's tests: which commands of mlir-opt a test runs, and with which flags.

SPLIT = ("split-input-file",)
DROPPED = ("verify-diagnostics", "o", "mlir-disable-threading", *SPLIT)
"""Flags that say where to read, where to write, or what is expected: none of them changes what a pass does."""

PIPELINE = ("pass-pipeline", "p")
"""Flags with a whole pipeline."""

NO_PASSES = ("allow-unregistered-dialect", "emit-bytecode", "mlir-print-op-generic", "mlir-print-local-scope")
"""Flags that are not passes."""

_RUN = re.compile(r"^\s*//\s*RUN:(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Stage:
    """One command of mlir-opt: its flags, without the file and without those of `DROPPED`.

    ``split``: the file is split at ``// -----``.
    """

    flags: tuple[str, ...]
    split: bool = False

    @property
    def text(self) -> str:
        """The flags as one text."""
        return shlex.join(self.flags)

    def pipelines(self) -> tuple[str, ...]:
        """Return the passes as a pipeline; several, of which mlir-opt accepts one, if it is not known what they run on.

        Flags that are not passes are left out.
        """
        passes = []
        for flag in self.flags:
            name, _, options = flag.lstrip("-").partition("=")
            if name in PIPELINE:
                return (options,)
            if name not in NO_PASSES:
                passes.append(f"{name}{{{options}}}" if options else name)
        listed = ",".join(passes)
        return f"builtin.module({listed})", f"builtin.module(func.func({listed}))"


def run_lines(text: str) -> list[tuple[Stage, ...]]:
    """Return the RUN lines of a test that begin with mlir-opt, in order: of each its commands of mlir-opt, every one of
    which reads what the one before it prints.
    """
    return [stages for stages in map(_stages, _commands(text)) if stages]


def _commands(text: str) -> Iterator[str]:
    """Yield the RUN lines, each joined with those that it continues on."""
    joined = ""
    for match in _RUN.finditer(text):
        line = match[1].strip()
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        yield joined + line
        joined = ""


def _stages(command: str) -> tuple[Stage, ...]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|;&<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    found: list[Stage] = []
    words: list[str] = []
    for word in [*lexer, "|"]:
        if word != "|":
            words.append(word)
            continue
        words = words[1:] if words[:1] == ["not"] else words
        if words[:1] != ["mlir-opt"]:
            break  # FileCheck, or another tool
        found.append(_stage(words[1:]))
        words = []
    return tuple(found)


def _stage(words: Sequence[str]) -> Stage:
    flags: list[str] = []
    split = False
    following = iter(words)
    for word in following:
        if word in (">", "2>", ">>", "<", ">&", "&>", "2>&1"):
            next(following, None)
            continue
        if not word.startswith("-"):
            continue  # the file
        name = word.lstrip("-").partition("=")[0]
        split = split or name in SPLIT
        if name == "o":
            next(following, None)
        elif name not in DROPPED:
            flags.append(word)
    return Stage(tuple(flags), split)


# --- removed ops ------------------------------------------------------------------------------------------------------
#
# Tests of older versions of MLIR in the ops of MLIR 22: what replaces the ops of vector that were removed.

_ALIAS = re.compile(r"^(![\w.]+)\s*=\s*(?:type\s+)?(\S+)\s*$", re.MULTILINE)
_TYPE = r"(?P<type>(?:vector<[^>]*>|![\w.]+))"
_SPLAT = re.compile(rf"vector\.splat (?P<value>%\w+)\s*:\s*{_TYPE}")
_PLACE = r"\[(?:(?P<index>%\w+)\s*:\s*(?P<kind>\w+))?\]"
_INSERT = re.compile(rf"(?P<result>%\w+) = vector\.insertelement (?P<value>%\w+), (?P<into>%\w+){_PLACE}\s*:\s*{_TYPE}")
_EXTRACT = re.compile(rf"(?P<result>%\w+) = vector\.extractelement (?P<value>%\w+){_PLACE}\s*:\s*{_TYPE}")


def in_mlir_22(text: str) -> str:
    """Return a test with vector.splat, vector.insertelement and vector.extractelement in terms of ops that exist.

    Each becomes the op, or the two ops, that its document named as the replacement. Lines stay where they are.
    """
    aliases: dict[str, str] = dict(_ALIAS.findall(text))

    def element(type_: str) -> str:
        return aliases.get(type_, type_).removeprefix("vector<").removesuffix(">").rpartition("x")[2]

    def splat(match: re.Match[str]) -> str:
        return f"vector.broadcast {match['value']} : {element(match['type'])} to {match['type']}"

    def place(match: re.Match[str]) -> tuple[str, str]:
        """Return what makes an index of the position, and the index."""
        if match["index"] is None or match["kind"] == "index":
            return "", match["index"] or ""
        made = f"%place_{match['result'][1:]}"
        return f"{made} = arith.index_cast {match['index']} : {match['kind']} to index ", made

    def insert(match: re.Match[str]) -> str:
        before, index = place(match)
        of = f"{element(match['type'])} into {match['type']}"
        return f"{before}{match['result']} = vector.insert {match['value']}, {match['into']} [{index}] : {of}"

    def extract(match: re.Match[str]) -> str:
        before, index = place(match)
        of = f"{element(match['type'])} from {match['type']}"
        return f"{before}{match['result']} = vector.extract {match['value']}[{index}] : {of}"

    return _EXTRACT.sub(extract, _INSERT.sub(insert, _SPLAT.sub(splat, text)))


# --- mlir test dialect ------------------------------------------------------------------------------------------------
#
# The ops of MLIR's test dialect that have a meaning: the passes that they test use it.
#
# All others are unknown functions (`halfulp.conformance.whole_programs.printed`).


class TestCalls(Calls):
    """The unknown functions of one run, and the ops of the test dialect that are known."""

    def __call__(self, op: Operation, operands: tuple[Any, ...], types: Sequence[ty.Type]) -> Sequence[Any]:
        """Return the results of an op. Raises what `Calls` raises."""
        if op.name == "test.with_bounds":
            return [self._with_bounds(op, types[0])]
        if op.name == "test.reflect_bounds":
            _check_bounds(op, operands[0])
            return operands
        if op.name == "test.constant":
            return [_constant(op, types[0])]
        if op.name == "test.reify_bound":
            return [_equal_bound(op, operands[0])]
        return super().__call__(op, operands, types)

    def _with_bounds(self, op: Operation, type_: ty.Type) -> Value:
        """Return a value inside the bounds of the op, the same for the same bounds: the op has no effects."""
        bounds = _bounds(op)
        rng = random.Random(repr((self.seed, sorted(bounds.items()))))
        element = ty.element_type(type_)
        width = width_of(element)
        shape = tuple(size or 0 for size in runtime_shape(type_, None) or ())
        count = 1
        for size in shape:
            count *= size
        codes = [_inside(bounds, width, rng) for _ in range(count)]
        return Value(type_, ints_to_codes(codes, width, shape))


def _constant(op: Operation, type_: ty.Type) -> Value:
    value = attributes_of(op).get("value")
    if not isinstance(value, at.IntegerAttr) or isinstance(type_, ty.ShapedType) or value.type != type_:
        raise Unsupported(f"the constant {value} of type '{type_}'", location=op.location, op=op.name)
    return Value(type_, ints_to_codes([value.code], width_of(type_), ()))


def _equal_bound(op: Operation, value: Any) -> Value:
    """Return the number, or the size of a dimension, that the op stands for. Raises Unsupported for other bounds."""
    given = attributes_of(op)
    kind, dimension = given.get("type"), given.get("dim")
    if (isinstance(kind, at.StringAttr) and kind.value != "EQ") or "scalable" in given or "constant" in given:
        raise Unsupported("a bound that is not the value", location=op.location, op=op.name)
    if isinstance(dimension, at.IntegerAttr):
        return Value(ty.IndexType(), ints_to_codes([value.shape[dimension.value]], 64, ()))
    assert isinstance(value, Value)
    return value


def _bounds(op: Operation) -> dict[str, int]:
    given = attributes_of(op)
    return {
        name: attribute.value
        for name, attribute in given.items()
        if name in ("umin", "umax", "smin", "smax") and isinstance(attribute, at.IntegerAttr)
    }


def _inside(bounds: dict[str, int], width: int, rng: random.Random) -> int:
    mask, half = (1 << width) - 1, 1 << (width - 1)
    low, high = bounds["umin"] & mask, bounds["umax"] & mask
    for _ in range(100):
        code = rng.choice((low, high, rng.randint(low, high))) if low <= high else low
        signed = code - (1 << width) if code & half else code
        if _signed(bounds["smin"], width) <= signed <= _signed(bounds["smax"], width):
            return code
    return bounds["smin"] & mask


def _signed(number: int, width: int) -> int:
    number &= (1 << width) - 1
    return number - (1 << width) if number >> (width - 1) else number


def _check_bounds(op: Operation, value: Value) -> None:
    """Raise AssertionFailed if a value is outside of the bounds that a pass has written at the op."""
    bounds = _bounds(op)
    width = width_of(value.element_type)
    if not bounds or value.poison is not None:
        return
    for code in codes_to_ints(value.bits, width):
        signed = _signed(code, width)
        mask = (1 << width) - 1
        unsigned_fits = bounds["umin"] & mask <= code <= bounds["umax"] & mask
        if not unsigned_fits or not _signed(bounds["smin"], width) <= signed <= _signed(bounds["smax"], width):
            raise AssertionFailed(f"{signed} is outside of the bounds {bounds}", location=op.location, op=op.name)
