"""The recipe of a whole set of vectors: the computation and its operands. Any part can be made alone at any time.

A recipe can be pickled, and written as the ``source``, ``profile`` and ``inputs`` of the metadata, from which
`recipe_of` makes it again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args

from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.conformance.vectors.columns import Chunk, Column, Role, VectorSet
from halfulp.conformance.vectors.computation import Computation, OpComputation, ProgramComputation
from halfulp.conformance.vectors.inputs import LevelName, first, rounding_bits, rows_for, rows_of_types
from halfulp.conformance.vectors.metadata import Document, Inputs
from halfulp.conformance.vectors.rows import CHUNK, Rows, blocked, one_operand
from halfulp.conformance.vectors.scaled import DIVIDES, blocks_drawn_together, drawn_together
from halfulp.conformance.vectors.stimulus.mixture import Mixture, Target
from halfulp.conformance.vectors.tiles import TileComputation, tile_of
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.semantics.profile import PROFILE_FIELDS, Profile

LEVELS: tuple[LevelName, ...] = get_args(LevelName)

LEAF_ELEMENTS = 1 << 20
"""Most elements of all columns of a leaf of the hash tree over a set."""

RANDOM: tuple[LevelName, ...] = ("random", "weighted")
"""Levels with operands from Philox streams: row k has the words at position k of each stream."""


@dataclass(frozen=True)
class Recipe:
    """The recipe of a set: the rows of ``models`` first, then those of ``level`` (None: of the models alone). Or
    ``operands``, without a level and models.

    ``seed``, ``count``: as `halfulp.conformance.vectors.inputs.rows_for` takes them. ``block``: for an op on elements
    with a scale (`scaled.DIVIDES`), the number of consecutive rows that share their scale. Its rows raise what
    `rows_for` raises, and InputError for blocks of an op without a scale.
    """

    computation: Computation
    level: LevelName | None = "1"
    models: tuple[str, ...] = ()
    seed: int = 0
    count: int | None = None
    block: int | None = None
    operands: Mixture | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Recipe, (
            self.computation, self.level, self.models, self.seed, self.count, self.block, self.operands,
        )  # fmt: skip

    @cached_property
    def rows(self) -> Rows:
        """Return the operands."""
        computation = self.computation
        if self.block is not None:
            self._check_block(self.block)
        if self.operands is not None:
            return self._own(self.operands)
        if self.block is not None:
            return self._in_blocks(self.block)
        if isinstance(computation, OpComputation):
            rows = rows_for(computation.case, self.level, self.seed, self.count, self.models)
            together = computation.case.op in DIVIDES and self.level != "exhaustive"
            rows = drawn_together(computation.case, rows) if together else rows
            return first(rows, self.count) if self.level is None else rows
        if self.models:
            raise InputError("the models are about the rounding of one op, not about programs and tiles")
        if isinstance(computation, TileComputation):
            if self.count is None:
                raise ValueError("random operands need a count")
            return computation.rows(self.level or "weighted", self.seed, self.count)
        rows = rows_of_types(computation.operand_types, self.level or "1", self.seed, self.count)
        blocks = computation.blocks if isinstance(computation, ProgramComputation) and self.level in RANDOM else ()
        return blocks_drawn_together(rows, blocks) if blocks else rows

    def _own(self, operands: Mixture) -> Rows:
        if self.level is not None or self.models:
            raise InputError(
                "operands of your own, and a level or models, both say what the operands are",
                hint="a mixture has both: normal@80,corners@10,B1@10",
            )
        return operands.rows(self.target, self.seed, self.count, self.block)

    @property
    def target(self) -> Target:
        """Return the operands as sources of one's own see them."""
        computation = self.computation
        columns = tuple(column for column in computation.inputs if column.role is Role.OPERAND)
        case = computation.case if isinstance(computation, OpComputation) else None
        return Target(columns, computation.operand_types, case)

    def _check_block(self, size: int) -> None:
        computation = self.computation
        if not isinstance(computation, OpComputation) or computation.case.op not in DIVIDES:
            raise InputError(f"only {' and '.join(DIVIDES)} take blocks that share a scale")
        if size > CHUNK:
            raise InputError(f"a block of {size} elements is too long: {CHUNK} at most")

    def _in_blocks(self, size: int) -> Rows:
        computation = self.computation
        assert isinstance(computation, OpComputation)
        if self.level is None or self.models:
            raise InputError("the models do not support blocks that share a scale", hint="ask for a level")
        if self.level in RANDOM:
            count = None if self.count is None else -(-self.count // size) * size
            table = rows_for(computation.case, self.level, self.seed, count)
            rows = blocked(one_operand(table, 0), one_operand(table, 1), size, crossed=False)
            return drawn_together(computation.case, rows)
        elements, scales = (rows_of_types([kind], self.level, self.seed) for kind in computation.operand_types)
        rows = blocked(elements, scales, size)
        together = rows if self.level == "exhaustive" else drawn_together(computation.case, rows)
        return first(together, self.count)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns of the set."""
        return self.computation.inputs + self.computation.outputs

    @property
    def step(self) -> int:
        """Return the step: parts of the set begin and end at multiples of it."""
        return self.rows.period

    @cached_property
    def leaf_rows(self) -> int:
        """Return the rows of a leaf of the hash tree over the set: whole steps, and not more than fit into memory. It
        depends on the recipe alone, so that the digest does, too.
        """
        rows = CHUNK
        while rows > 1 and rows * len(self.columns) > LEAF_ELEMENTS:
            rows //= 2
        return max(rows // self.step, 1) * self.step

    def given(self, start: int, stop: int) -> Chunk:
        """Return the input columns of rows ``start`` to ``stop``."""
        operands = self.rows.part(start, stop)
        random = [column for column in self.computation.inputs if column.role is Role.RANDOM]
        return operands + tuple(rounding_bits(self.seed, column.width, start, stop - start) for column in random)

    def chunks(
        self,
        start: int = 0,
        stop: int | None = None,
        size: int | None = None,
        left_out: Callable[[int], object] | None = None,
    ) -> Iterator[Chunk]:
        """Yield the rows from ``start`` to ``stop``, about ``size`` at a time (None: those of a leaf), without the rows
        left out for undefined behaviour; ``left_out`` is told their number in each chunk.
        """
        stop = self.rows.count if stop is None else stop
        size = max((size or self.leaf_rows) // self.step, 1) * self.step
        for begin in range(start, stop, size):
            inputs = self.given(begin, min(begin + size, stop))
            outputs, undefined = self.computation.compute(inputs)
            chunk = inputs + outputs
            if undefined is not None and not self.computation.keep_ub and undefined.any():
                chunk = tuple(codes[~undefined] for codes in chunk)
                if left_out is not None:
                    left_out(int(undefined.sum()))
            yield chunk

    def vectors(self, start: int = 0, stop: int | None = None, size: int | None = None) -> VectorSet:
        """Return the rows from ``start`` to ``stop`` as a stream. Its length is unknown where rows may be left out."""
        return VectorSet(self.columns, self.chunks(start, stop, size))

    def inputs(self, start: int = 0, stop: int | None = None) -> Inputs:
        """Return the description of the operands of rows ``start`` to ``stop`` for the metadata."""
        options: dict[str, Any] = {"keep_ub": self.computation.keep_ub}
        if self.count is not None:
            options["count"] = self.count
        if self.block is not None:
            options["block"] = self.block
        if isinstance(self.computation, OpComputation):
            options["flags"] = self.computation.flags
        rows = (start, self.rows.count if stop is None else stop)
        counter = rows if self.level in RANDOM else None
        if self.operands is not None:
            told = self.operands.to_json(self.rows.count, self.block)
            return Inputs("operands", (), self.seed, None, options, told)
        return Inputs(self.level or "models", self.models, self.seed, counter, options)


def recipe_of(data: Mapping[str, Any], file: str = "<metadata>") -> Recipe:
    """Return the recipe in a metadata document: its ``source``, ``profile`` and ``inputs``.

    Raises InputError naming the file where these do not make a recipe, and the errors of the op or program and of its
    rows.
    """
    try:
        profile = profile_of(data["profile"])
        inputs = data["inputs"]
        options = inputs.get("options", {})
        level = None if inputs["level"] in ("models", "operands") else inputs["level"]
        operands = None
        if inputs["level"] == "operands":
            operands = Mixture.from_json(inputs["operands"], os.path.dirname(file))
        if level is not None and level not in LEVELS:
            raise InputError(f"{file}: the operands of level {level!r} cannot be made again")
        computation = computation_of(data["source"], profile, options)
        numbers = {"seed": inputs.get("seed", 0), "count": options.get("count"), "block": options.get("block")}
        for name, number in numbers.items():
            if number is not None and (type(number) is not int or not 0 <= number < 1 << 64):
                raise ValueError(f"{name} is {number!r}")
        recipe = Recipe(computation, level, tuple(inputs.get("models", ())), **numbers, operands=operands)
    except HalfulpError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{file}: the metadata does not say how its vectors are made: {error!r}") from None
    try:
        _ = recipe.rows
    except HalfulpError as error:
        error.message = f"{file}: {error.message}"
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"{file}: {error}") from None
    return recipe


def rows_of(data: Mapping[str, Any], recipe: Recipe) -> tuple[int, int]:
    """Return the rows of a recipe that a document describes, as the first and the one after the last: its shard's, or
    all.

    Raises InputError for a shard of rows that the recipe does not have.
    """
    shard, whole = data.get("shard", {}), recipe.rows.count
    rows = shard.get("rows", (0, whole)) if isinstance(shard, dict) else None
    if not isinstance(rows, list | tuple) or len(rows) != 2 or any(type(row) is not int for row in rows):
        raise InputError("the metadata does not say which rows its shard has")
    start, stop = rows
    if not 0 <= start <= stop <= whole or start % recipe.step or stop % recipe.step:
        raise InputError(f"the metadata names rows {start} to {stop}, which the set of {whole} rows does not have")
    return start, stop


def profile_of(data: Mapping[str, Any]) -> Profile:
    """Return the profile of a document, with the recorded fields, whatever a profile of that name has today.

    Fields that the document does not know are those of ``spec``. Raises ValueError for an unknown field or value.
    """
    fields, name = dict(data["fields"]), str(data["name"])
    unknown = fields.keys() - PROFILE_FIELDS.keys()
    if unknown:
        raise ValueError(f"no profile has the field {sorted(unknown)[0]!r}")
    named = Profile(base="spec", **fields)
    return replace(named, name=name)


def computation_of(source: Document, profile: Profile, options: Mapping[str, Any]) -> Computation:
    """Return the computation that a document's ``source`` names.

    Raises KeyError for what is missing, and the computations' errors.
    """
    keep_ub = bool(options.get("keep_ub", False))
    if "op" in source:
        asked = case_of(source)
        return OpComputation(asked, profile, keep_ub, bool(options.get("flags", True)), source.get("random_bits"))
    if "tile" in source:
        return tile_of(source)
    text, function, mma = source["program_text"], source["function"], source.get("mma", "exact")
    return ProgramComputation(text, function, source["program"], profile, keep_ub, mma, source.get("random"))


def case_of(source: Document) -> OpCase:
    """Return the case that a document's ``source`` names."""
    asked = op_case(source["op"], source["operands"], source["results"][0], **source["properties"])
    if list(asked.results) != source["results"]:
        raise ValueError(f"{asked.op} has no results {', '.join(source['results'])}")
    return asked
