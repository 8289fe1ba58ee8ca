"""``halfulp translate --check``: compare how halfulp and real MLIR read, verify and print a file."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import partial

from halfulp.command.calls import SOURCE_FILE
from halfulp.command.console import DIFFERENT, SUCCESS, UNSUPPORTED, fail, write
from halfulp.command.execution import Sources, read
from halfulp.command.option import Command
from halfulp.command.programs import COMPARISON_CODES, PassOptions, mlir_named
from halfulp.conformance.oracles.oracle import OracleError
from halfulp.conformance.whole_programs.text_check import AGREE, OUTCOMES, compare_text, read_there
from halfulp.described import argument, flag
from halfulp.interp.ir.errors import plural

_CHECK = """\
Compare how halfulp and real MLIR read, verify and print each module of a file, in the custom and in the generic form.
No pass runs.

  halfulp translate --check kernel.mlir --mlir=24
  halfulp translate --check tests.mlir --split-input-file --mlir=./build/bin/mlir-opt
"""


@dataclass(frozen=True, kw_only=True)
class CheckArguments(PassOptions):
    """The options of ``halfulp translate --check``."""

    check: bool = flag("compare how halfulp and real MLIR read and print the file")
    file: str = argument("FILE", SOURCE_FILE)
    split_input_file: bool = flag("read each part of the file separately; lines '// -----' divide parts")
    json: bool = flag("print one JSON object per module")


def check_text(arguments: CheckArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    program = read(arguments.file, sources)
    if program.text is None:
        return fail("--check needs text, but the file is bytecode: halfulp translate converts it to text")
    tool = mlir_named(arguments)
    counts: Counter[str] = Counter()
    for part in program.parts(arguments.split_input_file):
        assert part is not None
        try:
            there = read_there(tool, part.text)
        except OracleError as error:
            outcome, why = "crash", str(error)
        else:
            outcome, why = compare_text(partial(program.module, part), there, tool.schema)
        counts[outcome] += 1
        place = f"{program.name}:{part.start[0]}"
        if arguments.json:
            record = {"place": place, "outcome": outcome, "reason": why, "tool": tool.name, "version": tool.version}
            write(json.dumps(record) + "\n")
        elif outcome not in AGREE:
            write(f"{place}: {_WORDS[outcome]}\n" + "".join(f"  {line}\n" for line in why.splitlines()))
    if not arguments.json:
        found = ", ".join(f"{counts[outcome]:,} {words}" for outcome, words in _WORDS.items() if counts[outcome])
        write(f"{tool.name} {tool.version}: {plural(counts.total(), 'module')}: {found}\n")
    if counts.keys() - AGREE - {"unknown op"}:
        return DIFFERENT
    return SUCCESS if counts.keys() & AGREE else UNSUPPORTED


_WORDS = {**OUTCOMES, "crash": "MLIR failed"}

CHECK = Command(CheckArguments, check_text, _CHECK, COMPARISON_CODES.replace("equal, open or known", "the same"))
