"""Run IREE's end-to-end tests: programs that check their own results.

    PYTHONPATH=tests python -m corpora.iree_tests IREE -o FILE [--only TEXT]

``IREE``: a checkout of IREE, of which ``tests/e2e`` is read. A test is a file with ops ``check.expect_…``; each of its
public functions without arguments runs. iree-opt, if it is installed, converts StableHLO and TOSA to linalg; without
it, these tests are counted as not supported.
"""

import argparse
import json
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from corpora.corpus_iree import find_iree_opt
from corpora.fuzz_text import OutOfTime, stopped_after

from halfulp.conformance.oracles.oracle import OracleError
from halfulp.conformance.oracles.tool import run_bounded
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.errors import AssertionFailed, HalfulpError, UndefinedBehavior
from halfulp.interp.ir.operations import Module, Operation, argument_types
from halfulp.interp.loading import parse_module
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.semantics.profile import Profile

SECONDS = 60.0
"""Most seconds of CPU time of one function."""

OUTCOMES = ("crash", "fails", "undefined", "timeout", "unsupported", "another order", "pass")
"""The outcomes of a function, from the one that decides about a test first. ``another order``: it passes if sums are
exact. IREE adds in an order of its own, and the program expects a sum that is nearer than that of the loops.
"""


@dataclass(frozen=True)
class Result:
    """The outcome of one function of a test, and the reason. ``function`` is "" for a file that is not read."""

    test: str
    function: str
    outcome: str
    why: str = ""


INPUTS = {
    "stablehlo.": "--iree-stablehlo-input-transformation-pipeline",
    "chlo.": "--iree-stablehlo-input-transformation-pipeline",
    "tosa.": "--iree-tosa-input-transformation-pipeline",
}
"""The passes of iree-opt that convert the ops of a dialect to linalg."""


def converted(text: str, tool: str) -> str:
    """Return a test in terms of linalg, as iree-opt makes it; as it is, if there is nothing to convert."""
    passes = next((passes for name, passes in INPUTS.items() if name in text), None)
    if passes is None:
        return text
    try:
        done = run_bounded([tool, passes, "-"], text.encode(), SECONDS)
    except OracleError:
        return text
    return text if done.returncode else done.stdout.decode()


def results(test: str, text: str, tool: str | None) -> list[Result]:
    """Return the results of a test; if it is not supported, those of what iree-opt converts it to."""
    found = list(_results(test, text))
    if tool is None or all(result.outcome != "unsupported" for result in found):
        return found
    other = converted(text, tool)
    return found if other == text else list(_results(test, other))


def _results(test: str, text: str) -> Iterator[Result]:
    try:
        module = parse_module(text, "test.mlir")
    except HalfulpError as error:
        yield Result(test, "", "unsupported", str(error))
        return
    for function in filter(_runs, module.body):
        yield Result(test, function.symbol_name or "", *outcome(module, function))


def _runs(op: Operation) -> bool:
    visibility = op.properties.get("sym_visibility")
    private = isinstance(visibility, at.StringAttr) and visibility.value == "private"
    return op.name == "func.func" and not private and bool(op.regions[0].blocks) and not argument_types(op)


def outcome(module: Module, function: Operation) -> tuple[str, str]:
    """Run a function. Return its outcome and the reason."""
    found = _run(module, function, Profile())
    if found[0] == "fails" and _run(module, function, Profile(reduction_order="exact"))[0] == "pass":
        return "another order", found[1]
    return found


def _run(module: Module, function: Operation, profile: Profile) -> tuple[str, str]:
    try:
        with stopped_after(SECONDS):
            program_for(module, Settings(profile, max_bytes=1 << 30)).run(function, ())
    except AssertionFailed as error:
        return "fails", str(error)
    except UndefinedBehavior as error:
        return "undefined", str(error)
    except HalfulpError as error:
        return "unsupported", f"{type(error).__name__}: {error}"
    except OutOfTime:
        return "timeout", f"more than {SECONDS:g} s"
    except Exception:
        return "crash", traceback.format_exc(limit=-5)
    return "pass", ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m corpora.iree_tests", description=__doc__)
    parser.add_argument("iree", type=Path, help="a checkout of IREE")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file for the results, JSON lines")
    parser.add_argument("--only", default="", help="only tests whose path contains this text")
    options = parser.parse_args(arguments)
    root = options.iree / "tests" / "e2e"
    tool = find_iree_opt()
    counts: Counter[str] = Counter()
    with options.output.open("w") as out:
        for path in sorted(root.rglob("*.mlir")):
            test, text = str(path.relative_to(root)), path.read_text()
            if options.only not in test or "check.expect_" not in text:
                continue
            start = time.monotonic()
            found = results(test, text, tool)
            out.writelines(json.dumps(asdict(result)) + "\n" for result in found)
            worst = min((result.outcome for result in found), key=OUTCOMES.index, default="unsupported")
            counts[worst] += 1
            print(f"{test}: {worst} in {time.monotonic() - start:.1f} s", flush=True)
    print(f"{counts.total()} tests: {dict(counts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
