"""The recipe of a whole set of vectors: the computation and its operands. Any part of the set can be computed alone at
any time.

A recipe can be pickled. It can also be written as the ``source``, ``profile`` and ``inputs`` of the metadata, from
which `recipe_of` makes it again. `recipe_of_spec` reads the same from a file written by hand, which may leave out much:

``source``
    for an op: ``op`` and ``operands`` (a list, or one type for all); ``results`` if they do not follow from the
    operands; ``properties`` and ``random_bits`` if there are any. For a program: ``program``, a file of MLIR text
    beside this one, and ``function``; for a kernel ``launch``, with ``grid`` and ``arguments``. For a tile operation:
    ``tile``, an object as in the metadata. For a program or a tile operation also ``mma`` (default: exact)
``profile``
    as on the command line, ``"ocp-saturate,tininess=before"``, or an object with ``name`` and ``fields``; default
    ``spec``
``inputs``
    ``level`` (default 1; weighted for tiles; none if there are models), ``models``, or ``operands``, the text that
    names operands of your own; ``seed`` (default 0), and ``options``: ``count``, ``keep_ub``, ``flags``, ``block``.
    Without ``inputs``: level 1
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import UnionType
from typing import Any

from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.conformance.files import json_of, read_whole
from halfulp.conformance.vectors.columns import Chunk, Column, Role, VectorSet
from halfulp.conformance.vectors.computation import Computation, OpComputation, PickledByFields, ProgramComputation
from halfulp.conformance.vectors.launches import Launch
from halfulp.conformance.vectors.metadata import SCHEMA_VERSION, Document, described_profile
from halfulp.conformance.vectors.op_inputs import first, rounding_bits, rows_for, rows_of_types
from halfulp.conformance.vectors.packing import LEVELS, LevelName
from halfulp.conformance.vectors.rows import (
    CHUNK,
    DIVIDES,
    Rows,
    blocked,
    blocks_drawn_together,
    drawn_together,
    one_operand,
)
from halfulp.conformance.vectors.stimulus.mixture import Mixture, Target
from halfulp.conformance.vectors.tiles import TileComputation, tile_of
from halfulp.fp_formats.aliases import did_you_mean
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.interp.text.parser import parse_type
from halfulp.semantics.profile import PROFILE_FIELDS, Profile, as_profile

OF_ONE_OP = "the models are for the rounding of one op, not for programs and tiles"

LONGEST_NAME = 80

LEAF_ELEMENTS = 1 << 20
"""Most elements of all columns of a leaf of the hash tree over a set."""

RANDOM: tuple[LevelName, ...] = ("random", "weighted")
"""Levels with operands from Philox streams: row k has the words at position k of each stream."""


@dataclass(frozen=True)
class Recipe(PickledByFields):
    """The recipe of a set: the rows of ``models`` first, then those of ``level`` (None: only those of the models); or
    ``operands``, without a level and models.

    ``seed``, ``count``: as `halfulp.conformance.vectors.op_inputs.rows_for` takes them. ``block``: for an op on
    elements with a scale (`scaled.DIVIDES`), the number of consecutive rows that share their scale. Its rows raise what
    `rows_for` raises, and InputError for blocks of an op without a scale.
    """

    computation: Computation
    level: LevelName | None = "1"
    models: tuple[str, ...] = ()
    seed: int = 0
    count: int | None = None
    block: int | None = None
    operands: Mixture | None = None

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
            raise InputError(OF_ONE_OP)
        if isinstance(computation, TileComputation):
            if self.count is None:
                raise ValueError("random operands need a count: give n (-n)")
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
        """Return what a source of the user's own operands must know about the operands: their columns and types."""
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
        computation = narrowed(self.computation, OpComputation)
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
        """Return the number of rows that cannot be divided: parts of the set begin and end at multiples of it."""
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
        """Yield the rows from ``start`` to ``stop``, about ``size`` at a time (None: the rows of a leaf). Rows with
        undefined behaviour are left out; ``left_out`` is called with their number in each chunk.
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
        """Return the rows from ``start`` to ``stop`` as a stream. Its length is unknown if rows may be left out."""
        return VectorSet(self.columns, self.chunks(start, stop, size))

    def without_flags(self) -> Recipe:
        """Return the recipe without a column of exception flags."""
        if not isinstance(self.computation, OpComputation):
            return self
        return replace(self, computation=replace(self.computation, flags=False))

    def default_name(self) -> str:
        """Name the vectors: ``addf_f8E4M3FN``, ``truncf_f32_to_bf16_upward``, ``file_function``."""
        computation = self.computation
        if isinstance(computation, OpComputation):
            asked = computation.case
            operands = list(dict.fromkeys(asked.operands))
            results = [] if set(asked.results) <= set(asked.operands) else ["to", *dict.fromkeys(asked.results)]
            properties = [name if value is True else str(value) for name, value in asked.properties]
            random = [] if computation.random_bits is None else ["stochastic"]
            words = [asked.op.partition(".")[2] or asked.op, *operands, *results, *properties, *random]
        elif isinstance(computation, TileComputation):
            words = [computation.operation.name, computation.model.partition("=")[0]]
        else:
            assert isinstance(computation, ProgramComputation)
            words = [Path(computation.name).stem, computation.function]
        name = re.sub(r"[\W_]+", "_", "_".join(words), flags=re.ASCII).strip("_")[:LONGEST_NAME]
        return name if name.isidentifier() else f"vectors_{name}"

    def inputs(self) -> Document:
        """Return the description of the operands for the metadata."""
        options: dict[str, Any] = {"keep_ub": self.computation.keep_ub}
        if self.count is not None:
            options["count"] = self.count
        if self.block is not None:
            options["block"] = self.block
        if isinstance(self.computation, OpComputation):
            options["flags"] = self.computation.flags
        told = {"seed": self.seed, "options": options}
        if self.operands is not None:
            return {"level": "operands", "operands": self.operands.to_json(self.rows.count, self.block), **told}
        models = {"models": list(self.models)} if self.models else {}
        # The first counter of the Philox streams, and the one after the last.
        counter = {"counter": [0, self.rows.count]} if self.level in RANDOM else {}
        return {"level": self.level or "models", **models, **counter, **told}


def usual_level(computation: Computation, models: Sequence[str]) -> LevelName | None:
    """Return the level that is used if the user names none: no level if there are models."""
    whole = isinstance(computation, TileComputation) or (
        isinstance(computation, ProgramComputation) and computation.launch is not None
    )
    return None if models else "weighted" if whole else "1"


# --- reading ----------------------------------------------------------------------------------------------------------


def recipe_of(data: Mapping[str, Any], file: str = "<metadata>") -> Recipe:
    """Return the recipe in a metadata document: its ``source``, ``profile`` and ``inputs``.

    Raises InputError naming the file if these do not make a recipe, and the errors of the op or program and of its
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
                raise ValueError(f"{name} is {number!r}, but must be an integer from 0 to 2**64 - 1")
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
    """Return the rows of a recipe that a document describes, as the first row and the one after the last: the rows of
    its shard, or all.

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

    Raises KeyError for what is missing, and the errors of computations.
    """
    keep_ub = bool(options.get("keep_ub", False))
    if "op" in source:
        asked = case_of(source)
        return OpComputation(asked, profile, keep_ub, bool(options.get("flags", True)), source.get("random_bits"))
    if "tile" in source:
        return tile_of(source)
    text, function, mma = source["program_text"], source["function"], source.get("mma", "exact")
    launch = Launch.from_json(source["launch"]) if "launch" in source else None
    return ProgramComputation(
        text, function, source["program"], profile, keep_ub, mma, source.get("random"), launch=launch
    )


def case_of(source: Document) -> OpCase:
    """Return the case that a document's ``source`` names."""
    asked = op_case(source["op"], source["operands"], source["results"][0], **source["properties"])
    if list(asked.results) != source["results"]:
        raise ValueError(f"{asked.op} has no results {', '.join(source['results'])}")
    return asked


# --- files written by hand --------------------------------------------------------------------------------------------

Check = type | UnionType | Callable[[Any], bool]


def _is_types(value: Any) -> bool:
    return isinstance(value, str) or (_is_texts(value) and value != [])


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _whole(low: int, below: int) -> Check:
    return lambda value: type(value) is int and low <= value < below


_LEVELS = (*LEVELS, "models", "operands")

_PARTS: Mapping[str, Mapping[str, tuple[Check, str]]] = {
    "": {
        "source": (dict, "an object"),
        "profile": (str | dict, "a text or an object"),
        "inputs": (dict, "an object"),
    },
    "source of an op": {
        "op": (str, "a text"),
        "operands": (_is_types, "a type, or a list of types"),
        "results": (_is_types, "a type, or a list of types"),
        "properties": (dict, "an object"),
        "random_bits": (_whole(1, 65), "an integer from 1 to 64"),
    },
    "source of a program": {
        "program": (str, "a text"),
        "program_text": (str, "a text"),
        "program_sha256": (str, "a text"),
        "function": (str, "a text"),
        "mma": (str, "a text"),
        "random": (str, "a text"),
        "launch": (dict, "an object with 'grid' and 'arguments'"),
    },
    "source of a tile operation": {
        "tile": (dict, "an object"),
        "mma": (str, "a text"),
    },
    "inputs": {
        "level": (lambda value: value in _LEVELS, f"one of {', '.join(_LEVELS)}"),
        "models": (_is_texts, "a list of names"),
        "seed": (_whole(0, 1 << 64), "an integer from 0 to 2**64 - 1"),
        "counter": (list, "a list"),
        "operands": (str | dict, "a text, as --operands takes it, or an object"),
        "options": (dict, "an object"),
    },
    "options": {
        "count": (_whole(1, 1 << 63), "a positive integer"),
        "keep_ub": (bool, "true or false"),
        "flags": (bool, "true or false"),
        "block": (_whole(1, 1 << 31), "a positive integer"),
    },
}
"""The keys of each part of such a file: a check of the value, and its description."""


def recipe_of_spec(text: str | bytes, file: str) -> Recipe:
    """Return the recipe in a file's text. Without ``options.flags`` there is no column of flags.

    Raises InputError naming the file for a malformed file, and the errors of the op or program.
    """
    data = json_of(text, file, "mend the recipe there, or write it again")
    if not isinstance(data, dict):
        raise InputError(f"{file} is not a JSON object with 'source', 'profile' and 'inputs'")
    if data.get("schema_version", SCHEMA_VERSION) != SCHEMA_VERSION:
        raise InputError(
            f"{file} has version {data['schema_version']!r} of the metadata, but must have {SCHEMA_VERSION}"
        )
    written = "schema_version" in data or "layout_version" in data
    parts = {key: data[key] for key in _PARTS[""] if key in data} if written else data
    try:
        return recipe_of(_completed(parts, Path(file).parent), file)
    except _Wrong as error:
        raise InputError(f"{file}: {error}", hint=error.hint) from None
    except HalfulpError as error:
        error.message, error.location = f"{file}: {error.message.removeprefix(f'{file}: ')}", None
        raise
    except ValueError as error:
        raise InputError(f"{file}: {error}") from None


class _Wrong(Exception):
    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def _checked(part: str, data: Mapping[str, Any]) -> None:
    known = _PARTS[part]
    for key, value in data.items():
        if key not in known:
            raise _Wrong(f"unknown '{key}'" + (f" in the {part}" if part else ""), did_you_mean(key, known))
        check, what = known[key]
        if not (isinstance(value, check) if isinstance(check, type | UnionType) else check(value)):
            raise _Wrong(f"'{key}' must be {what}")


def _completed(data: Mapping[str, Any], folder: Path) -> Document:
    """Return the document with defaults for what it leaves out. Raises _Wrong, ValueError and the errors of the op."""
    _checked("", data)
    inputs = data.get("inputs", {})
    _checked("inputs", inputs)
    options = inputs.get("options", {})
    _checked("options", options)
    source = _source(data.get("source"), folder)
    usual = "weighted" if "tile" in source or "launch" in source else "models" if inputs.get("models") else "1"
    usual = "operands" if "operands" in inputs else usual
    level = inputs.get("level", usual)
    profile = data.get("profile", "spec")
    if isinstance(profile, str):
        profile = described_profile(as_profile(profile))
    return {
        "source": source,
        "profile": profile,
        "inputs": {"seed": 0, **inputs, "level": level, "options": {"flags": False, **options}},
    }


def _source(data: Any, folder: Path) -> Document:
    if not isinstance(data, dict) or not ("op" in data or "program" in data or "tile" in data):
        raise _Wrong("'source' must name an 'op', a 'program' or a 'tile'")
    if "tile" in data:
        _checked("source of a tile operation", data)
        return {"mma": "exact", **data}
    if "op" in data:
        _checked("source of an op", data)
        if "operands" not in data:
            raise _Wrong(f"'operands' must give the types of the operands of {data['op']}")
        operands = data["operands"]
        for spelling in [operands] if isinstance(operands, str) else operands:
            _type(spelling)
        properties = data.get("properties", {})
        results = data.get("results")
        first = results[0] if isinstance(results, list) else results
        asked = op_case(data["op"], operands, first, **properties)
        found = {"operands": list(asked.operands), "results": list(asked.results), "properties": dict(properties)}
        return {**data, **found, **({"results": results} if isinstance(results, list) else {})}
    _checked("source of a program", data)
    if "function" not in data:
        raise _Wrong("'function' must name the function of the program")
    return {**data, "program_text": data["program_text"] if "program_text" in data else _read(folder / data["program"])}


def _type(spelling: str) -> None:
    try:
        parse_type(spelling)
    except HalfulpError as error:
        raise _Wrong(f"'{spelling}' is not a type: {error.message}", error.hint) from None


def _read(path: Path) -> str:
    try:
        return read_whole(path).decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not MLIR text", hint="halfulp translate turns bytecode into text") from None
