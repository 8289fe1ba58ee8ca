"""Record what `mlir-opt-22 --canonicalize` folds the integer ops of arith to, all operands at widths 1, 2, 3, 4, 8.

    python tests/data/record_arith_int.py            writes arith_int.npz and arith_int.json beside this file

Each op gets dense constants holding all operand combinations. The folder answers for a whole tensor or not at all, so
that a block without an answer is halved and asked again, down to single elements. An element that no block answered is
*unanswered*.

arith_int.json: the tool's version, the command, and for each entry ("divsi-exact.i8", "extsi.i3.i8") its results, and
the mask of unanswered elements if there are any, as names of arrays in arith_int.npz (equal arrays are stored once).
Result arrays hold codes (uint8; uint64 for index), 0 where unanswered; masks are bit-packed. Operands are implied:
element i of a binary op has operands a = i % 2**width, b = i // 2**width; of a cast, code i, or INDEX_CODES[i] from an
index.
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

COMMAND = ("mlir-opt-22", "--canonicalize", "--mlir-print-elementsattrs-with-hex-if-larger=1")
WIDTHS = (1, 2, 3, 4, 8)
INDEX = 64
INDEX_CODES = [(centre + step) % 2**64 for centre in (0, 2**7, 2**8, 2**31, 2**32, 2**63) for step in range(-300, 300)]
FILES = Path(__file__).with_name("arith_int.npz"), Path(__file__).with_name("arith_int.json")

OVERFLOW = {"": "", "-nsw": " overflow<nsw>", "-nuw": " overflow<nuw>", "-nsw-nuw": " overflow<nsw, nuw>"}
EXACT = {"": "", "-exact": " exact"}
FLAGS = {
    **dict.fromkeys(("addi", "subi", "muli", "shli"), OVERFLOW),
    **dict.fromkeys(("divsi", "divui", "shrsi", "shrui"), EXACT),
}
UNFLAGGED = (
    *("floordivsi", "ceildivsi", "ceildivui", "remsi", "remui"),
    *("andi", "ori", "xori", "maxsi", "maxui", "minsi", "minui"),
)
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


@dataclass
class Entry:
    """One op for concrete types, over all its operands; ``text`` has the operands as {0} and {1}."""

    name: str
    text: str
    sources: Sequence[tuple[int, np.ndarray]]
    """Width and codes of each operand."""
    results: Sequence[int]
    """Widths; INDEX stands for index."""
    answers: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.size = self.sources[0][1].size
        self.answers = [np.zeros(self.size, storage(width)) for width in self.results]
        self.answered = np.zeros(self.size, np.bool_)


def storage(width: int) -> Any:
    return np.uint8 if width <= 8 else np.uint64


def element(width: int) -> str:
    return "index" if width == INDEX else f"i{width}"


def binary_entries(width: int) -> Iterator[Entry]:
    every = np.arange(4**width)
    operands = [(width, (every % 2**width).astype(np.uint8)), (width, (every // 2**width).astype(np.uint8))]
    kind = "tensor<{size}x" + f"i{width}>"
    for op, flags in FLAGS.items():
        for suffix, text in flags.items():
            yield Entry(f"{op}{suffix}.i{width}", f"arith.{op} {{0}}, {{1}}{text} : {kind}", operands, (width,))
    for op in UNFLAGGED:
        yield Entry(f"{op}.i{width}", f"arith.{op} {{0}}, {{1}} : {kind}", operands, (width,))
    for number, predicate in enumerate(PREDICATES):
        yield Entry(f"cmpi-{number}.i{width}", f"arith.cmpi {predicate}, {{0}}, {{1}} : {kind}", operands, (1,))
    for op in ("mulsi_extended", "mului_extended"):
        yield Entry(f"{op}.i{width}", f"arith.{op} {{0}}, {{1}} : {kind}", operands, (width, width))
    bit = "tensor<{size}xi1>"
    yield Entry(f"addui_extended.i{width}", f"arith.addui_extended {{0}}, {{1}} : {kind}, {bit}", operands, (width, 1))


def cast_entries() -> Iterator[Entry]:
    def cast(name: str, flags: str, source: int, to: int) -> Entry:
        codes = np.array(INDEX_CODES if source == INDEX else range(2**source), storage(source))
        op = name.partition("-")[0]
        kinds = f"tensor<{{size}}x{element(source)}> to tensor<{{size}}x{element(to)}>"
        text = f"arith.{op} {{0}}{flags} : {kinds}"
        return Entry(f"{name}.{element(source)}.{element(to)}", text, [(source, codes)], (to,))

    for small, large in itertools.combinations(WIDTHS, 2):
        yield cast("extsi", "", small, large)
        yield cast("extui", "", small, large)
        for suffix, flags in OVERFLOW.items():
            yield cast(f"trunci{suffix}", flags, large, small)
    for width in WIDTHS:
        for op in ("index_cast", "index_castui"):
            yield cast(op, "", width, INDEX)
            yield cast(op, "", INDEX, width)


def entries() -> list[Entry]:
    """Return every op, type and flag combination that is recorded, without answers."""
    return [entry for width in WIDTHS for entry in binary_entries(width)] + list(cast_entries())


def dense(width: int, codes: np.ndarray) -> str:
    if width == 1:  # in hex the bits would be packed
        return "dense<[" + ", ".join("true" if code else "false" for code in codes.tolist()) + "]>"
    if codes.size == 1:
        return f"dense<{codes.item()}>"
    return f'dense<"0x{codes.tobytes().hex().upper()}">'


def function(number: int, entry: Entry, low: int, high: int) -> str:
    size = high - low
    constants = [
        f"  %{at} = arith.constant {dense(width, codes[low:high])} : tensor<{size}x{element(width)}>\n"
        for at, (width, codes) in enumerate(entry.sources)
    ]
    names = ["%r"] if len(entry.results) == 1 else ["%r#0", "%r#1"]
    kinds = ", ".join(f"tensor<{size}x{element(width)}>" for width in entry.results)
    op = entry.text.format("%0", "%1", size=size)
    return (
        f"func.func @f{number}() -> ({kinds}) {{\n{''.join(constants)}"
        f"  %r{f':{len(names)}' if len(names) > 1 else ''} = {op}\n  return {', '.join(names)} : {kinds}\n}}\n"
    )


def decode(width: int, literal: str, size: int) -> np.ndarray:
    """Return the codes of a printed dense constant."""
    body = literal.removeprefix("dense<").removesuffix(">")
    if body.startswith('"0x'):
        data = np.frombuffer(bytes.fromhex(body[3:-1]), np.uint8)
        return np.unpackbits(data, bitorder="little")[:size] if width == 1 else data.view(storage(width))
    value = {"true": 1, "false": 0}[body] if width == 1 else int(body)
    return np.full(size, value % 2**width, storage(width))


def record(wanted: Iterable[Entry]) -> None:
    """Fill in the answers of entries."""
    blocks = [(entry, 0, entry.size) for entry in wanted]
    while blocks:
        module = "".join(function(number, *block) for number, block in enumerate(blocks))
        output = subprocess.run(COMMAND, input=module, capture_output=True, text=True, check=True).stdout
        bodies = output.split("func.func ")[1:]
        left = []
        for (entry, low, high), body in zip(blocks, bodies, strict=True):
            constants = dict(re.findall(r"(%\w+) = arith\.constant (dense<.*>) : ", body))
            returned = re.findall(r"[^\s,]+", re.search(r"return (.*) : ", body)[1])  # type: ignore[index]
            if all(name in constants for name in returned):
                for answer, width, name in zip(entry.answers, entry.results, returned, strict=True):
                    answer[low:high] = decode(width, constants[name], high - low)
                entry.answered[low:high] = True
            elif high - low > 1:
                middle = (low + high) // 2
                left += [(entry, low, middle), (entry, middle, high)]
        blocks = left


def version() -> str:
    output = subprocess.run([COMMAND[0], "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"LLVM version [\d.]+", output)[0]  # type: ignore[index]


def save(recorded: Iterable[Entry]) -> None:
    arrays: dict[str, np.ndarray] = {}
    names: dict[tuple[str, bytes], str] = {}
    index: dict[str, dict[str, list[str]]] = {}

    def store(name: str, array: np.ndarray) -> str:
        key = names.setdefault((array.dtype.str, array.tobytes()), name)
        arrays.setdefault(key, array)
        return key

    for entry in recorded:
        results = [store(f"{entry.name}.{at}", answer) for at, answer in enumerate(entry.answers)]
        index[entry.name] = {"results": results}
        if not entry.answered.all():
            index[entry.name]["unanswered"] = [store(f"{entry.name}.unanswered", np.packbits(~entry.answered))]
    data, metadata = FILES
    np.savez_compressed(data, **arrays)  # type: ignore[arg-type]
    about = {"tool": version(), "command": " ".join(COMMAND), "recorder": Path(__file__).name, "entries": index}
    metadata.write_text(json.dumps(about, indent=0) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    everything = entries()
    record(everything)
    save(everything)
