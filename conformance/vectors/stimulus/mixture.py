"""Operands of one's own for a computation: the parts of a mixture as one table of rows."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.vectors import op_inputs, testfloat_levels
from halfulp.conformance.vectors.columns import Column
from halfulp.conformance.vectors.op_inputs import chosen_models, kinds_of, rows_of_case, rows_of_models
from halfulp.conformance.vectors.rows import (
    DIVIDES,
    ENDLESS,
    Rows,
    drawn_together,
    interleaved,
    repeating,
    spread,
    turns_in,
)
from halfulp.conformance.vectors.stimulus.arrays import digest_of
from halfulp.conformance.vectors.stimulus.grammar import (
    ArrayInMemory,
    Distributed,
    File,
    Level,
    Models,
    Part,
    Source,
    each_file,
    parts_of,
)
from halfulp.conformance.vectors.stimulus.tables import (
    OF_A_PART,
    OF_AN_OPERAND,
    STREAM,
    Group,
    distributed_rows,
    drawn_with_scales,
    from_file,
    repeated_rows,
    widths_of,
)
from halfulp.conformance.vectors.testfloat_levels import STREAMS
from halfulp.fp_formats.formats import Codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError, Unsupported

MOST_PARTS = 64
"""The most parts of a mixture."""

MOST_TURNS = 10_000
"""The most units after which the turns of the parts repeat."""

_ELEMENT = re.compile(r"(.*?)(?:_\d+)*", re.ASCII)


@dataclass(frozen=True)
class Target:
    """The operands that are asked for: their columns and types; ``case``: of one op."""

    columns: tuple[Column, ...]
    types: tuple[ty.Type, ...]
    case: OpCase | None = None

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Return the operands by name; the elements of an argument share theirs."""
        names = [self._base(column.name) for column in self.columns]
        found = []
        for name in dict.fromkeys(names):
            places = [k for k, other in enumerate(names) if other == name]
            first, last = places[0], places[-1] + 1
            columns = tuple(column.name for column in self.columns[first:last])
            found.append(Group(name, first, columns, self.types[first:last]))
        return tuple(found)

    @staticmethod
    def _base(name: str) -> str:
        found = _ELEMENT.fullmatch(name)
        assert found is not None
        return found[1]

    @property
    def whole(self) -> Group:
        """Return all operands as one group."""
        return Group("", 0, tuple(column.name for column in self.columns), self.types)


@dataclass(frozen=True)
class Mixture:
    """Operands of one's own: see `grammar`. It can be pickled; files are read where rows are made.

    ``files``: the SHA-256 of each file by the path in the text. ``folder``: where files are looked for if they are not
    at their paths. ``arrays``: the codes that were given in memory, one array for each column of an operand, by digest.
    """

    text: str
    files: Mapping[str, str] = field(default_factory=dict, hash=False)
    folder: str = ""
    arrays: Mapping[str, tuple[Codes, ...]] = field(default_factory=dict, hash=False, compare=False, repr=False)

    @classmethod
    def named(cls, text: str, arrays: Mapping[str, tuple[Codes, ...]] | None = None) -> Mixture:
        """Return the mixture of a text, with the digests of its files as they are now. Raises InputError."""
        return cls(text, each_file(parts_of(text), digest_of), "", arrays or {})

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Return the parts. Raises InputError."""
        found = parts_of(self.text)
        if len(found) > MOST_PARTS:
            raise InputError(f"a mixture of {len(found)} parts is too long: {MOST_PARTS} at most")
        return found

    @property
    def models(self) -> tuple[str, ...]:
        """Return the names of the models in it, each once."""
        sources = (source for part in self.parts for source in part.sources.values())
        return tuple(dict.fromkeys(name for source in sources if isinstance(source, Models) for name in source.names))

    @cached_property
    def _places(self) -> dict[str, str]:
        return {path: self._found(path) for path in each_file(self.parts, str)}

    def _found(self, path: str) -> str:
        """Return where a file is, unchanged. Raises InputError."""
        wanted = self.files.get(path)
        beside = os.path.join(self.folder, os.path.basename(path))
        there = [place for place in dict.fromkeys((path, beside)) if os.path.isfile(place)]
        if not there:
            raise InputError(
                f"the operands come from '{path}', which is not there",
                hint=None if wanted is None else f"its SHA-256 is {wanted}",
            )
        right = next((place for place in there if wanted in (None, digest_of(place))), None)
        if right is None:
            raise InputError(
                f"'{there[0]}' is not the file that the operands came from: its SHA-256 is {digest_of(there[0])}, not "
                f"{wanted}"
            )
        return right

    # --- rows ---------------------------------------------------------------------------------------------------------

    def rows(self, target: Target, seed: int, count: int | None, block: int | None = None) -> Rows:
        """Return the operands of a computation.

        ``count``: the number of rows; None: all rows of the only part, if that has an end. ``block``: consecutive rows
        that share their scale. Raises InputError for sources that do not fit the computation, for files, and for
        operands without a count; Unsupported for types without operands.
        """
        case, unit = target.case, block or 1
        if case is not None and op_inputs.quantised_type(case) is not None:
            raise Unsupported("quantised types have operands of levels only")
        tables = [
            self._part(part, target, seed, STREAM + OF_A_PART * number, block) for number, part in enumerate(self.parts)
        ]
        if count is None:
            if len(tables) > 1 or tables[0].count >= ENDLESS:
                raise InputError("these operands need a count", hint="-n says how many rows; in Python, n")
            count = tables[0].count
        elif len(tables) == 1:
            count = min(count, tables[0].count)
        count = -(-count // unit) * unit
        if len(tables) == 1:
            rows = repeating(tables[0], count)
            return Rows(rows.widths, count, rows.make, unit)
        return interleaved(tables, self.turns, count, unit)

    @cached_property
    def turns(self) -> tuple[int, ...]:
        """Return the units of each part in a cycle. Raises InputError for shares of too many digits."""
        shares = [part.share / 100 for part in self.parts]
        cycle = lcm(*(share.denominator for share in shares))
        if cycle > MOST_TURNS:
            raise InputError(
                f"the shares are too fine: their turns repeat after {cycle:,} rows, but at most {MOST_TURNS:,}"
            )
        return tuple(int(share * cycle) for share in shares)

    def _part(self, part: Part, target: Target, seed: int, stream: int, block: int | None) -> Rows:
        try:
            if "" in part.sources:
                return self._all(part.sources[""], target, seed, stream, block)
            return self._each(part.sources, target, seed, stream, block)
        except HalfulpError as error:
            if len(self.parts) > 1 and error.location is None:
                error.message = f"'{part.text}': {error.message}"
                error.args = (error.message,)
            raise
        except ValueError as error:
            raise InputError(f"'{part.text}': {error}") from None

    def _all(self, source: Source, target: Target, seed: int, stream: int, block: int | None) -> Rows:
        """Return rows of a source for all operands together."""
        case, whole = target.case, target.whole
        scaled = case is not None and case.op in DIVIDES
        match source:
            case Models():
                if case is None:
                    raise InputError("the models are about the rounding of one op, not about programs and tiles")
                if block is not None:
                    raise InputError("the models do not support blocks that share a scale", hint="ask for a level")
                return spread(rows_of_models(case, chosen_models(case, source.names or ("all",)), seed, source.each))
            case Level("hard") | Level("exhaustive") if case is not None:
                return rows_of_case(case, source.name, seed)  # type: ignore[arg-type]
            case Level():
                rows = _level(source.name, target, whole, seed, stream)
                return _in_blocks(drawn_together(case, rows) if case is not None and scaled else rows, block)
            case Distributed() if case is not None and scaled:
                return drawn_with_scales(source, whole, DIVIDES[case.op], seed, stream, block)
            case Distributed():
                return distributed_rows(source, whole, seed, stream)
            case File():
                rows = from_file(self._here(source), whole, target.groups, seed, stream)
                return _in_blocks(rows, block) if source.sample else rows
            case ArrayInMemory():
                raise InputError("arrays go with the names of operands")

    def _each(self, sources: Mapping[str, Source], target: Target, seed: int, stream: int, block: int | None) -> Rows:
        """Return rows with a source for each operand."""
        names = [group.name for group in target.groups]
        unknown, missing = [name for name in sources if name not in names], [n for n in names if n not in sources]
        if unknown or missing:
            told = f"there is no operand '{unknown[0]}'" if unknown else f"the operand '{missing[0]}' has no source"
            raise InputError(f"{told}: the operands are {', '.join(names)}",
                             hint=None if unknown else f"a level is one, too: {missing[0]}=weighted")  # fmt: skip
        tables = []
        for place, group in enumerate(target.groups):
            rows = self._one(sources[group.name], target, group, seed, stream)
            # Rows that share their scale share one draw of it.
            shared = block is not None and place == 1 and rows.count >= ENDLESS
            tables.append(replace(rows, make=repeated_rows(rows.make, block)) if shared and block is not None else rows)
        finite = {group.name: rows.count for group, rows in zip(target.groups, tables, strict=True)
                  if rows.count < ENDLESS}  # fmt: skip
        if len(set(finite.values())) > 1:
            told = ", ".join(f"{name} has {rows:,}" for name, rows in finite.items())
            raise InputError(f"the operands have different numbers of rows: {told}",
                             hint="sample takes elements at random places")  # fmt: skip

        def make(start: int, stop: int) -> tuple[Codes, ...]:
            return tuple(codes for rows in tables for codes in rows.make(start, stop))

        return Rows(widths_of(target.types), min(finite.values(), default=ENDLESS), make)

    def _one(self, source: Source, target: Target, group: Group, seed: int, stream: int) -> Rows:
        """Return rows of a source for one operand."""
        match source:
            case Level("hard") | Level("exhaustive") | Models():
                raise InputError(
                    f"operand '{group.name}': models, 'hard' and 'exhaustive' are for all operands together"
                )
            case Level():
                return _level(source.name, target, group, seed, stream)
            case Distributed():
                return distributed_rows(source, group, seed, stream)
            case File():
                return from_file(self._here(source), group, (group,), seed, stream)
            case ArrayInMemory():
                columns = self.arrays.get(source.sha256)
                if columns is None:
                    raise InputError(
                        f"the operand '{group.name}' was given in memory, so it cannot be made again: its SHA-256 is "
                        f"{source.sha256}"
                    )
                return Rows(widths_of(group.types), len(columns[0]),
                            lambda start, stop: tuple(codes[start:stop] for codes in columns))  # fmt: skip

    def _here(self, source: File) -> File:
        return replace(source, path=self._places[source.path])

    # --- metadata -----------------------------------------------------------------------------------------------------

    def to_json(self, count: int, block: int | None = None) -> dict[str, Any]:
        """Return the mixture for the metadata: its text, the digests of its files, and the rows of each part among
        ``count``.
        """
        document: dict[str, Any] = {"text": self.text}
        if self.files:
            document["files"] = [{"name": name, "sha256": digest} for name, digest in self.files.items()]
        if len(self.parts) > 1:
            counted = turns_in(self.turns, count, block or 1)
            document["parts"] = [
                {"operands": part.text, "percent": _plain(part.share), "rows": rows}
                for part, rows in zip(self.parts, counted, strict=True)
            ]
        return document

    @classmethod
    def from_json(cls, data: Any, folder: str) -> Mixture:
        """Return the mixture of the metadata, or of a text alone. ``folder``: that of the metadata. Raises InputError
        for anything else.
        """
        try:
            text = data if isinstance(data, str) else data["text"]
            known = {} if isinstance(data, str) else data.get("files", ())
            digests = {str(file["name"]): str(file["sha256"]) for file in known}
        except (TypeError, KeyError, AttributeError):
            text, digests = None, {}
        if not isinstance(text, str):
            raise InputError("the operands are not described by a text and files")
        bare = cls(text, digests, folder)
        return replace(
            bare, files=each_file(bare.parts, lambda path: digests.get(path) or digest_of(bare._found(path)))
        )


def _plain(share: Fraction) -> float | int:
    return int(share) if share.denominator == 1 else float(share)


def _level(name: str, target: Target, group: Group, seed: int, stream: int) -> Rows:
    """Return random operands of a level: uniform, TestFloat's mixture, or half of them corners."""
    kinds = kinds_of(target.types, target.case.op if target.case else "")[group.first :][: len(group.types)]
    first = stream + OF_AN_OPERAND * group.first
    assert OF_AN_OPERAND == STREAMS
    match name:
        case "random":
            return testfloat_levels.uniform_rows(widths_of(group.types), ENDLESS, seed, first)
        case "weighted":
            return testfloat_levels.weighted_rows(kinds, ENDLESS, seed, first)
        case _:
            return testfloat_levels.drawn_corners(kinds, 1 if name == "1" else 2, ENDLESS, seed, first)


def _in_blocks(rows: Rows, block: int | None) -> Rows:
    """Return rows of an element and a scale in which blocks share their scale, that of one row for each block."""
    if block is None:
        return rows
    scales = repeated_rows(lambda start, stop: rows.make(start, stop)[1:], block)
    return replace(rows, make=lambda start, stop: (rows.make(start, stop)[0], *scales(start, stop)))
