"""Compare the models of chips with recordings of what chips computed: ``python -m halfulp.chips.recorded_chips FILE…``.

A recording is a file ``.npz`` of bit patterns, whose keys have three parts, CHIP/INSTRUCTION/ARRAY:

- CHIP: a name that a model has, such as H100 or rtx4090.
- INSTRUCTION: as `explain_dot` takes it, ``mma.m16n8k32.f16.e4m3.e4m3``. In its place may stand the type of A and B,
  such as f16: then it is the chip's first instruction for these types and this K.
- ARRAY: a and b [rows, K]; c [rows], codes of the type of C; d [rows], those of D. With a type in place of the
  instruction, c has codes of f32, and d_f32 and d_f16 are results of both types. For d_f16, c is rounded to f16, to
  nearest even. For an instruction wgmma, which then adds to +0, c is not used.

Each row is one element of D = A * B + C, of one instruction. The programs in ``examples/chips`` record a chip.

``--fit`` searches the accumulator of each recording instead, from its first rows, and compares it with the model.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from halfulp.chips.candidates import differences, reduced
from halfulp.chips.fitting import fit
from halfulp.chips.rows import Rows, hexadecimal, instructions
from halfulp.codegen.tile_names import operation_named
from halfulp.conformance.vectors.stimulus.arrays import read_arrays
from halfulp.explanations.dot import explain_dot
from halfulp.explanations.dot_steps import text_of
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.spelling import table_lines
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.semantics.matrix_units.accumulator import spelled
from halfulp.semantics.matrix_units.chips import CHIPS, PRODUCTS, model_hint, unmodelled
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.models import Unpublished, rule_of

FITTED = 2000
"""So many of the first rows of a recording are fitted by default."""


@dataclass(frozen=True)
class Recording:
    """Rows that a chip computed by one instruction."""

    name: str
    model: str
    operation: TileOp
    rows: Rows


class Comparison(NamedTuple):
    """The number of rows of a recording that differ from the model, and the index of the first one. ``open``: the
    number of rows for which no result is published.
    """

    recording: Recording
    wrong: int
    first: int | None
    open: int


def read(path: str, known: bool = True) -> list[Recording]:
    """Return the recordings of a file. ``known``: the chips must have a model. Raises InputError for a file that does
    not hold recordings.
    """
    if not path.lower().endswith(".npz"):
        raise InputError(f"{path}: a file of recordings must be a .npz file, as numpy.savez writes it")
    arrays = {name: array().array for name, array in read_arrays(path).items()}
    stems: dict[str, set[str]] = {}
    for name in arrays:
        stem, _, last = name.rpartition("/")
        stems.setdefault(stem, set()).add(last)
    try:
        found = [each for stem, names in stems.items() for each in _recordings(stem, names, arrays, known)]
    except InputError as error:
        raise InputError(f"{path}: {error.message}", hint=error.hint) from None
    return found


_KEYS = "the keys of a recording are CHIP/INSTRUCTION/a, b, c and d, as in H100/mma.m16n8k16.f32.f16.f16.f32/a"
_OF_A_TYPE = ("d_f32", "d_f16")


def _recordings(stem: str, names: set[str], arrays: Mapping[str, Any], known: bool) -> Iterator[Recording]:
    """Yield the recordings of a chip and an instruction. ``names``: those of its arrays."""
    chip, _, what = stem.partition("/")
    if not chip or not what:
        raise InputError(
            f"the array '{stem}{'/' if stem else ''}{min(names)}' does not belong to a recording", hint=_KEYS
        )
    model = _model(chip, known)
    results = _OF_A_TYPE if what in FORMATS else ("d",)
    missing = [f"'{stem}/{name}'" for name in "abc" if name not in names]
    missing += [] if names.intersection(results) else [" or ".join(f"'{stem}/{name}'" for name in results)]
    foreign = [name for name in sorted(names) if name.startswith("d") and name not in results]
    if missing or foreign:
        said = f"{', '.join(missing)} is missing" if missing else f"'{stem}/{foreign[0]}' is not used"
        raise InputError(f"the array {said}", hint=f"results of {what} are {' and '.join(results)}; {_KEYS}")
    a, b, c = (arrays[f"{stem}/{name}"] for name in "abc")
    if what not in FORMATS:
        op = operation_named(what)
        yield Recording(stem, model, op, _checked(stem, op, a, b, c, arrays[f"{stem}/d"]))
        return
    for name in results:
        if name in names:
            d = name.removeprefix("d_")
            op = _first(model, what, d, int(a.shape[-1]) if a.ndim else 0)
            # C has codes of f32, whatever the type of D is.
            wide = _checked(stem, replace(op, c="f32"), a, b, c, arrays[f"{stem}/{name}"])
            used = np.zeros_like(wide.c) if op.unit == "wgmma" else wide.c
            rounded = fast.convert(FORMATS["f32"], FORMATS[d], used).codes
            yield Recording(f"{stem} to {d}", model, op, replace(wide, c=rounded, types=(op.a, op.b, op.c, op.d)))


def _model(chip: str, known: bool) -> str:
    name = chip.lower().replace(" ", "").replace("_", "") if chip.lower() not in PRODUCTS else chip.lower()
    if known and name not in PRODUCTS and name not in CHIPS:
        row = unmodelled(chip)
        raise InputError(
            f"{chip} has no model: {row.why}" if row else f"no chip is called '{chip}'", hint=model_hint(chip)
        )
    return f"chip:{name}"


def _first(model: str, type: str, d: str, k: int) -> TileOp:
    """Return the first instruction of a chip for a type and a length."""
    chip = model.removeprefix("chip:")
    chip = PRODUCTS[chip].chip if chip in PRODUCTS else chip
    ours = (op for name, op, _ in instructions(type, type, d, d) if name == chip and op.shape[2] == k)
    return next(ours, TileOp(f"mma.m16n8k{k}.{d}.{type}.{type}.{d}", type, type, d, d, (16, 8, k), 1))


def _checked(stem: str, op: TileOp, *arrays: Any) -> Rows:
    a, b, c, d = arrays
    count, k = d.size, op.shape[2]
    types = (op.a, op.b, op.c, op.d)
    if op.scale or not {*types} <= FORMATS.keys():
        kind = "with scales" if op.scale else f"of {op.a} and {op.b} into {op.d}"
        raise InputError(
            f"{stem}: dot products {kind} cannot be compared", hint="record dot products of floats without scales"
        )
    if a.shape != (count, k) or b.shape != (count, k) or c.shape != (count,) or d.shape != (count,):
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise InputError(
            f"{stem}: a and b must have the shape [rows, {k or 'K'}], c and d the shape [rows]; given are {shapes}"
        )
    if not count or not k:
        raise InputError(f"{stem}: has no {'rows' if k else 'elements along K'}: there is nothing to compare")
    if any(
        array.dtype.kind != "u" or (array > FORMATS[name].code_mask).any()
        for array, name in zip(arrays, types, strict=True)
    ):
        raise InputError(f"{stem}: a, b, c and d must be bit patterns of {', '.join(types)}")
    x, y, addends, results = (
        array.astype(FORMATS[name].storage_dtype) for array, name in zip(arrays, types, strict=True)
    )
    return Rows(x, y, addends, results, types)


def compare(recording: Recording) -> Comparison:
    """Compare the results of a recording with those of the model of its chip."""
    computed = recording.rows.by(recording.model, recording.operation)
    wrong = computed.wrong(recording.rows)
    first = int(wrong.argmax()) if wrong.any() else None
    return Comparison(recording, int(wrong.sum()), first, int(computed.unknown.sum()))


def explanation(recording: Recording, row: int) -> str:
    """Return a text that explains the result of a row bit by bit."""
    rows = recording.rows
    a, b, (c,), (d,) = (
        hexadecimal(codes) for codes in (rows.a[row], rows.b[row], rows.c[row : row + 1], rows.d[row : row + 1])
    )
    explained = explain_dot(recording.operation.name, a, b, c, recording.model)
    chip, model = (text_of(recording.operation.d, code) for code in (int(d, 16), explained.result))
    return f"{recording.name}, row {row}: the chip has {chip}, the model {model}\n{explained}"


def _fitted(recording: Recording, count: int) -> bool | None:
    """Print which accumulator explains the first rows of a recording. Tell whether it is that of the model, or differs
    from it only in fields that the rows leave open; None if the model has no rule for the instruction.
    """
    rows = recording.rows.at(slice(0, count))
    found = fit(rows, chips=False)
    print(f"{recording.name}, {len(rows):,} rows: {found.nearest}")
    if found.accumulator is None:
        ended = f"; {found.ended}, so the search ended early" if found.ended else ""
        print(f"  explains {found.explained:,} of them; none was found that explains all{ended}")
        print(f"  the first rows that exclude it: {', '.join(map(str, found.wrong))}", flush=True)
        return False
    try:
        published = rule_of(recording.model, recording.operation)
    except Unpublished as error:
        print(f"  {error}; {error.hint}", flush=True)
        return None
    assert published is not None
    found_rule, known_rule = (
        reduced(replace(rule, specials="all"), rows.operation()) for rule in (found.accumulator, published)
    )
    against = differences(found_rule, known_rule)
    left = {name: value for name, value in against.items() if value in found.open.get(name, ()) or name in found.idle}
    values = ",".join(f"{name}={spelled(value)}" for name, value in left.items())
    print(f"  published, and left open by the rows: {values or 'nothing'}")
    excluded = [name for name in against if name not in left]
    if excluded:
        explained = int((rows.by(published, rows.operation()).codes == rows.d).sum())
        print(f"  NOT AS PUBLISHED: {', '.join(excluded)}; the published rule explains {explained:,} rows")
    return not excluded


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table of the files. Return 0 if all rows are equal, 1 if some differ, 2 for a file that cannot be read,
    3 if no result is published for a row. With ``--fit``, print the accumulators that explain the recordings; return 1
    if one of them is not the published accumulator, and 3 if none is published.
    """
    parser = argparse.ArgumentParser(
        prog="python -m halfulp.chips.recorded_chips", description="Compare the models of chips with recordings."
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="recordings of chips, .npz")
    parser.add_argument(
        "--fit", action="store_true", help="search the accumulator of each recording, without the rules of chips"
    )
    parser.add_argument("--rows", type=int, metavar="N", help="with --fit: the first N rows of each (2000)")
    options = parser.parse_args(arguments)
    if options.rows is not None and not options.fit:
        parser.error("--rows can be used only with --fit; without --fit, all rows are compared")
    count = FITTED if options.rows is None else options.rows
    if count < 1:
        parser.error("--rows must be at least 1")
    try:
        recordings = [each for path in options.files for each in read(path)]
        if options.fit:
            fitted = [_fitted(each, count) for each in recordings]
            return 1 if False in fitted else 3 if None in fitted else 0
    except HalfulpError as error:
        print(error, file=sys.stderr)
        return 2
    comparisons = [compare(recording) for recording in recordings]
    table: list[tuple[str, ...]] = [("recording", "model", "rows", "wrong", "not published")]
    for each in comparisons:
        table.append(
            (each.recording.name, each.recording.model, *map(str, (len(each.recording.rows), each.wrong, each.open)))
        )
    total = [
        sum(numbers)
        for numbers in zip(*((len(each.recording.rows), each.wrong, each.open) for each in comparisons), strict=True)
    ]
    print("\n".join(table_lines([*table, ("all", "", *map(str, total))])))
    for each in comparisons:
        if each.first is not None:
            print(f"\n{explanation(each.recording, each.first)}")
        elif each.open == len(each.recording.rows):
            try:
                rule_of(each.recording.model, each.recording.operation)
            except Unpublished as error:
                print(f"\n{each.recording.name}: {error}; {error.hint}")
    return 1 if total[1] else 3 if total[2] else 0


if __name__ == "__main__":
    sys.exit(main())
