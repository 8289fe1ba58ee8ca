"""Compare how halfulp and MLIR read and print LLVM's tests of dialects.

    PYTHONPATH=tests python -m corpora.text_tests LLVM --mlir=24 --cache DIR -o FILE [--dialects Affine,SCF] [--record]

``LLVM``: a checkout of LLVM, of which ``mlir/test/Dialect`` is read. A case is one part of a test, between two lines
``// -----``. MLIR reads, verifies and prints it, in the custom and in the generic form. No pass runs.
"""

import argparse
import json
import re
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from corpora.answers import Answers
from corpora.fuzz_text import OutOfTime, stopped_after
from corpora.text_results import TextResults, record_of, table, write_record

from halfulp.conformance.oracles.mlir_opt import find_mlir_opt
from halfulp.conformance.oracles.oracle import OracleError
from halfulp.conformance.oracles.tool import Tool
from halfulp.conformance.whole_programs.text_check import ReadThere, compare_text, read_there
from halfulp.interp.loading import InputPart, parse_module, split_input

DIALECTS = (
    "Affine", "Arith", "Bufferization", "Complex", "ControlFlow", "Func", "Index", "Linalg", "Math", "MemRef", "SCF",
    "Shape", "Tensor", "Vector",
)  # fmt: skip

SECONDS = 20.0
"""Most seconds of CPU time of one part, and ten times as many of one run of MLIR."""

_EXPECTED = re.compile(r"expected-(?=error|warning|remark|note)")
"""Comments that mlir-opt reads: it does not report what they expect."""


@dataclass(frozen=True)
class Case:
    """One part of a test, that begins at ``line``: its outcome, a key of `OUTCOMES`, and the reason."""

    test: str
    line: int
    outcome: str
    why: str = ""


def read_kept(text: str, tool: Tool, answers: Answers) -> ReadThere:
    """Return what MLIR does with a part of a test."""

    def ask() -> dict[str, object]:
        try:
            return asdict(read_there(tool, text, 10 * SECONDS))
        except OracleError as error:
            return asdict(ReadThere(str(error), {}))

    return ReadThere(**answers.kept(["text", text], ask))


def compared(part: InputPart, there: ReadThere, tool: Tool) -> tuple[str, str]:
    """Return the outcome of a part, and the reason."""
    try:
        with stopped_after(SECONDS):
            read = partial(parse_module, part.text, "test.mlir", start=part.start)
            return compare_text(read, there, tool.schema)
    except OutOfTime:
        return "crash", f"more than {SECONDS:g} s"
    except Exception:
        return "crash", traceback.format_exc(limit=-5)


def cases(test: str, text: str, tool: Tool, answers: Answers) -> Iterator[Case]:
    """Yield the cases of a test."""
    text = _EXPECTED.sub("expected_", text)
    if "split-input-file" not in text:
        text = text.replace("// -----", "// ----")
    for part in split_input(text):
        yield Case(test, part.start[0], *compared(part, read_kept(part.text, tool, answers), tool))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m corpora.text_tests", description=__doc__)
    parser.add_argument("llvm", type=Path, help="a checkout of LLVM")
    parser.add_argument("--mlir", default="22", help="the MLIR, as for halfulp diff")
    parser.add_argument("--cache", type=Path, required=True, help="the folder for what MLIR prints")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file for the cases, JSON lines")
    parser.add_argument("--dialects", default=",".join(DIALECTS))
    parser.add_argument("--only", default="", help="only tests whose path contains this text")
    parser.add_argument("--record", action="store_true", help="write the record that the documentation shows")
    options = parser.parse_args(arguments)
    tool = find_mlir_opt(options.mlir)
    answers = Answers(options.cache, tool.version)
    root = options.llvm / "mlir" / "test" / "Dialect"
    results = []
    with options.output.open("w") as out:
        for dialect in options.dialects.split(","):
            counts: Counter[str] = Counter()
            for path in sorted((root / dialect).rglob("*.mlir")):
                test = str(path.relative_to(root))
                if options.only in test:
                    for case in cases(test, path.read_text(), tool, answers):
                        out.write(json.dumps(asdict(case)) + "\n")
                        counts[case.outcome] += 1
            results.append(TextResults(dialect, counts))
    print("\n".join(table(results)))
    if options.record:
        write_record(record_of(options.mlir), results, tool.version)
    return 0


if __name__ == "__main__":
    sys.exit(main())
