"""Our vectors, judged by testfloat_ver of Berkeley TestFloat: every function, every mode, both kinds of tininess, with
the NaNs and the invalid integers of RISC-V and of SSE.

``tests/build_testfloat.sh FOLDER`` builds it from the published sources; ``HALFULP_TESTFLOAT`` names the folder.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest
from amounts import amounts

from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.computation import OpComputation
from halfulp.conformance.vectors.formats import testfloat
from halfulp.conformance.vectors.formats.format import Options
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.semantics.profile import Profile, as_profile

FLOATS = {"f16": "f16", "f32": "f32", "f64": "f64", "extF80": "f80", "f128": "f128"}
INTEGERS = {"ui32": ("u", "i32"), "ui64": ("u", "i64"), "i32": ("s", "i32"), "i64": ("s", "i64")}
MODES = {
    "near_even": "to_nearest_even",
    "minMag": "toward_zero",
    "min": "downward",
    "max": "upward",
    "near_maxMag": "to_nearest_away",
    "odd": "to_odd",
}
BUILDS = {"RISCV": "riscv", "8086-SSE": "x86-sse"}


@dataclass(frozen=True)
class Function:
    """A function of TestFloat as an op of ours. ``modes``: it rounds. ``exactness``: its option."""

    name: str
    op: str
    types: tuple[str, ...]
    to: str | None = None
    modes: bool = True
    exactness: str | None = None
    properties: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name + (f"-{self.exactness}" if self.exactness else "")


def functions() -> Iterator[Function]:
    for integer, (sign, width) in INTEGERS.items():
        for name, own in FLOATS.items():
            yield Function(f"{integer}_to_{name}", f"fcvt_from_{sign}i", (width,), own)
            yield Function(f"{name}_to_{integer}", f"fcvt_to_{sign}i", (own,), width, exactness="exact")
    for source, own in FLOATS.items():
        for target, other in FLOATS.items():
            if source != target:
                yield Function(f"{source}_to_{target}", "fcvt", (own,), other)
    for name, own in FLOATS.items():
        yield Function(f"{name}_roundToInt", "froundnx", (own,), exactness="exact")
        yield Function(f"{name}_roundToInt", "fround", (own,), exactness="notexact")
        for operation in ("add", "sub", "mul", "div"):
            yield Function(f"{name}_{operation}", f"f{operation}", (own, own))
        yield Function(f"{name}_rem", "arith.remf", (own, own), modes=False)
        yield Function(f"{name}_sqrt", "math.sqrt", (own,))
        if name != "extF80":
            yield Function(f"{name}_mulAdd", "fmadd", (own, own, own))
        for word, predicate in (("eq", "oeq"), ("le", "ole"), ("lt", "olt")):
            quiet, signalling = ("eq", "eq_signaling") if word == "eq" else (f"{word}_quiet", word)
            given: dict[str, Any] = {"modes": False, "properties": {"predicate": predicate}}
            yield Function(f"{name}_{quiet}", "arith.cmpf", (own, own), **given)
            yield Function(f"{name}_{signalling}", "fcmps", (own, own), **given)


def profile_of(build: str, function: Function, tininess: str) -> Profile:
    """Return the profile of a build: SoftFloat's SSE differs from the processors in what they leave open."""
    base = BUILDS[build]
    if base == "x86-sse":
        base = "x87" if "f80" in (*function.types, function.to) else "x86-sse,fma_undefined=always_default_nan"
        base += ",float_to_int=indefinite"
    return as_profile(f"{base},remainder=ieee,tininess={tininess}")


def judged(
    folder: Path, build: str, function: Function, mode: str, tininess: str, level: Any, count: int | None
) -> int:
    """Return how many vectors testfloat_ver has accepted, all of them. Raises AssertionError with its report."""
    rounding = {"rounding": MODES[mode]} if function.modes else {}
    case = op_case(function.op, function.types, function.to, **function.properties, **rounding)
    computation = OpComputation(case, profile_of(build, function, tininess), keep_ub=True)
    recipe = Recipe(computation, level, count=count)
    options = ["-checkAll", f"-r{mode}", f"-tininess{tininess}"]
    options += [f"-{function.exactness}"] if function.exactness else []
    command = [str(folder / build / "testfloat_ver"), *options, function.name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            testfloat.FORMAT.write(recipe.vectors(), cast("BinaryIO", process.stdin), Options())
            process.stdin.close()
        except BrokenPipeError:
            pass
        said = process.stdout.read().decode()
    tested = re.search(r"(\d+) tests? performed", said)
    assert tested, (command, said[-2000:])
    assert process.returncode == 0, (command, said[-2000:])
    assert "no errors found" in said.lower() or "no errors" in said.lower(), (command, said[-3000:])
    return int(tested[1])


@pytest.fixture(scope="session")
def testfloat_folder() -> Path:
    return Path(os.environ["HALFULP_TESTFLOAT"])


@pytest.mark.testfloat
@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("function", list(functions()), ids=str)
@pytest.mark.parametrize("count", amounts(100, 0))
def test_vectors_are_accepted(testfloat_folder: Path, function: Function, build: str, count: int) -> None:
    """``count``: 0 for all of TestFloat's level 1."""
    to_integer = function.exactness is not None
    for mode in MODES if function.modes else ("near_even",):
        if mode == "odd" and to_integer:
            continue  # TestFloat rounds toward zero there
        for tininess in ("before", "after"):
            if tininess == "before" and (to_integer or not function.modes):
                continue  # nothing is tiny
            level, rows = ("weighted", count) if count else ("1", None)
            accepted = judged(testfloat_folder, build, function, mode, tininess, level, rows)
            assert accepted >= count
