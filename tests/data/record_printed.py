"""Record what mlir-runner 22 prints for `vector.print`, over values of every type that it can print.

    python tests/data/record_printed.py            writes printed.json beside this file

printed.json: the tools' version, the pipeline, and rows of a type, the codes of its elements (row-major), the
punctuation ("" for the default), and the printed text.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("printed.json")
OPTIMIZER, RUNNER = "mlir-opt-22", "mlir-runner-22"
LIBRARIES = ("mlir_c_runner_utils", "mlir_runner_utils", "mlir_apfloat_wrappers")
PIPELINE = (
    "builtin.module(func.func(convert-vector-to-scf),convert-scf-to-cf,convert-vector-to-llvm,convert-to-llvm,"
    "reconcile-unrealized-casts)"
)
SMALL = {
    "f4E2M1FN": 4, "f6E2M3FN": 6, "f6E3M2FN": 6, "f8E3M4": 8, "f8E4M3": 8, "f8E4M3FN": 8, "f8E4M3FNUZ": 8,
    "f8E4M3B11FNUZ": 8, "f8E5M2": 8, "f8E5M2FNUZ": 8, "f8E8M0FNU": 8,
}  # fmt: skip
# The bits of the mantissa.
FLOATS = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "f64": (64, 52)}
INTEGERS = (1, 2, 3, 4, 7, 8, 9, 16, 31, 32, 33, 63, 64)
SIGNED = (1, 4, 8, 16, 32, 33, 64)
SHAPES = ((), (1,), (3,), (2, 3), (1, 2, 2), (2, 1, 2, 1))
PUNCTUATION = ("no_punctuation", "newline", "comma", "open", "close")


def integer_codes(width: int, rng: random.Random) -> list[int]:
    """Return all codes of a narrow integer, else corners and random ones of any length."""
    if width <= 7:
        return list(range(1 << width))
    mask = (1 << width) - 1
    corners = {k & mask for k in (*range(-3, 4), 9, 10, 99, 100, 1 << (width - 1), (1 << (width - 1)) - 1)}
    return sorted(corners | {rng.getrandbits(width) >> rng.randrange(width) for _ in range(60)})


def float_codes(width: int, mantissa: int, rng: random.Random) -> list[int]:
    """Return corners of both signs, numbers of few digits, and random codes of every exponent."""
    one = ((1 << (width - mantissa - 2)) - 1) << mantissa
    infinity = ((1 << (width - mantissa - 1)) - 1) << mantissa
    corners = [0, 1, 2, (1 << mantissa) - 1, 1 << mantissa, one, one - 1, one + 1, infinity - 1, infinity]
    corners += [infinity + 1, infinity + (1 << (mantissa - 1)), infinity + (1 << mantissa) - 1]
    corners += [rng.randrange(infinity) for _ in range(150)]
    # Near the numbers at which %g changes from plain digits to an exponent, and where six digits round.
    corners += [max(0, one + (rng.randrange(-30, 30) << mantissa) + rng.randrange(1 << mantissa)) for _ in range(150)]
    corners = [code for code in corners if 0 <= code < 1 << (width - 1)]
    return sorted({code | sign for code in corners for sign in (0, 1 << (width - 1))})


def lists(rng: random.Random) -> Iterator[tuple[str, list[int]]]:
    """Yield each element type with its codes."""
    for name, width in SMALL.items():
        yield name, list(range(1 << width))
    for name, (width, mantissa) in FLOATS.items():
        yield name, float_codes(width, mantissa, rng)
    for width in INTEGERS:
        yield f"i{width}", integer_codes(width, rng)
    for width in SIGNED:
        yield f"si{width}", integer_codes(width, rng)
        yield f"ui{width}", integer_codes(width, rng)
    yield "index", integer_codes(64, rng)


def nested(codes: Sequence[int], shape: Sequence[int]) -> str:
    """Spell the elements of a dense constant."""
    if not shape:
        return str(codes[0])
    size = prod(shape[1:])
    return f"[{', '.join(nested(codes[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0]))}]"


def in_vector(element: str, shape: Sequence[int] | None) -> str:
    """Spell the type; None stands for a scalar."""
    return element if shape is None else f"vector<{''.join(f'{size}x' for size in shape)}{element}>"


def constant(number: int, element: str, codes: Sequence[int], shape: Sequence[int] | None) -> tuple[str, str]:
    """Return the lines that make a value of these codes, and its name."""
    name = f"%v{number}"
    width = {**SMALL, **{float_: row[0] for float_, row in FLOATS.items()}}.get(element, 0)
    stored = f"i{width}" if width else f"i{element[2:]}" if element[0] in "su" else element
    signed = [code - (1 << 64) if element == "index" and code >> 63 else code for code in codes]
    literal = nested(signed, shape or ())
    literal = f"dense<{literal}>" if shape is not None else literal
    literal += f" : {in_vector(stored, shape)}"
    if stored == "i1" and shape is None:
        literal = "true" if codes[0] else "false"
    line = f"  {name}c = arith.constant {literal}\n"
    if stored == element:
        return line, f"{name}c"
    cast = "arith.bitcast" if width else "builtin.unrealized_conversion_cast"
    return f"{line}  {name} = {cast} {name}c : {in_vector(stored, shape)} to {in_vector(element, shape)}\n", name


def run(text: str) -> str:
    """Lower a module, execute it, and return what it prints."""
    lowered = subprocess.run(
        [OPTIMIZER, f"--pass-pipeline={PIPELINE}"], input=text, capture_output=True, check=True, text=True
    ).stdout
    folder = Path(shutil.which(RUNNER) or RUNNER).resolve().parents[1] / "lib"
    libraries = ",".join(str(min(folder.glob(f"lib{name}.so*"))) for name in LIBRARIES)
    command = [RUNNER, "-e", "main", "--entry-point-result=void", f"--shared-libs={libraries}"]
    return subprocess.run(command, input=lowered, capture_output=True, check=True, text=True).stdout


def main() -> None:
    """Write the record."""
    rng = random.Random(22)
    rows: list[list[Any]] = []
    for element, codes in lists(rng):
        cases: list[tuple[Sequence[int], Sequence[int] | None, str]] = []
        cases += [(rng.choices(codes, k=prod(shape)), shape, "") for shape in SHAPES]
        cases += [([code], None, "") for code in rng.sample(codes, min(len(codes), 12))]
        for start in range(0, len(codes), 32):
            part = codes[start : start + 32]
            cases.append((part, (len(part),), ""))
        if element in ("i8", "f16", "index"):
            cases += [(rng.choices(codes, k=2), (2,), mark) for mark in PUNCTUATION]
            cases += [(rng.choices(codes, k=1), None, mark) for mark in PUNCTUATION]
        body = ""
        for number, (chosen, shape, mark) in enumerate(cases):
            lines, name = constant(number, element, chosen, shape)
            punctuation = f" punctuation <{mark}>" if mark else ""
            body += f'{lines}  vector.print {name} : {in_vector(element, shape)}{punctuation}\n  vector.print str "@"\n'
        printed = run(f"func.func @main() {{\n{body}  return\n}}\n").split("@")
        if len(printed) != len(cases) + 1:
            sys.exit(f"{element}: {len(printed) - 1} texts for {len(cases)} values")
        rows += [
            [in_vector(element, shape), list(chosen), mark, text]
            for (chosen, shape, mark), text in zip(cases, printed, strict=False)
        ]
    version = subprocess.run([RUNNER, "--version"], capture_output=True, check=True, text=True).stdout
    data = {
        "version": next(line.strip() for line in version.splitlines() if "LLVM version" in line),
        "pipeline": PIPELINE,
        "rows": rows,
    }
    lines = ",\n".join(json.dumps(row) for row in data.pop("rows"))
    FILE.write_text(json.dumps(data, indent=1)[:-2] + f',\n "rows": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main()
