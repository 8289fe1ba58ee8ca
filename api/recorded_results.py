"""Measure the results in a file: golden vectors' formats with operands, or the results of all codes in order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from halfulp.conformance.accuracy.implementations import codes_of
from halfulp.conformance.accuracy.questions import CHUNK, Chosen, Question
from halfulp.conformance.comparing.inputs import every_input
from halfulp.conformance.oracles.oracle import Answer
from halfulp.conformance.vectors import metadata
from halfulp.conformance.vectors.columns import Role
from halfulp.conformance.vectors.computation import OpComputation
from halfulp.conformance.vectors.formats.format import Notes
from halfulp.conformance.vectors.metadata import CheckedAgainst, format_of_vectors, opened, vectors_of
from halfulp.conformance.vectors.recipe import case_of
from halfulp.fp_formats.formats import Codes, ints_to_codes
from halfulp.interp.ir.errors import InputError

_WORDS = (".hex", ".txt", ".mem")
_WORD = re.compile(r"[ \t]*(?:0[xX])?([0-9A-Fa-f]+)[ \t]*(?:(?://|#).*)?")
_BLANK = re.compile(r"[ \t]*(?:(?://|#).*)?")


class RecordedResults:
    """A file of results. It is measured at the arguments that it holds."""

    version = "unknown"

    def __init__(self, path: str) -> None:
        self.name = path
        self._latest: Codes | None = None

    def refuses(self, asked: Question) -> str | None:
        """Refuse nothing: reading the file shows what it holds."""
        return None

    def arguments(self, asked: Question) -> Chosen:
        """Return the arguments of the file, in its order. Raises InputError for a file that does not fit."""
        if not Path(self.name).stat().st_size:
            raise InputError(f"{self.name} is empty")
        results = self._results_alone(asked)
        if results is not None:
            bits = sum(asked.widths)
            if bits > 32 or len(results) != 1 << bits:
                wanted = f"2**{bits}" if bits > 32 else f"{1 << bits:,}"
                raise InputError(f"{self.name} has {len(results):,} results alone, but {asked} has {wanted} arguments")
            return Chosen(self._in_order(asked, results), True, f"all {len(results):,} arguments")
        return Chosen(self._rows(asked), False, "the arguments in the file")

    def results(self, asked: Question, operands: Sequence[Codes]) -> Answer:
        """Return the results of the chunk of arguments that was read last."""
        assert self._latest is not None
        return Answer(self._latest)

    def _in_order(self, asked: Question, results: Codes) -> Iterator[tuple[Codes, ...]]:
        for start in range(0, len(results), CHUNK):
            self._latest = results[start : start + CHUNK]
            yield every_input(asked.case, start, min(start + CHUNK, len(results)))

    def _results_alone(self, asked: Question) -> Codes | None:
        """Return the results of a file without operands; None if it is a file of vectors."""
        path, fmt = Path(self.name), asked.result
        if path.suffix == ".npy":
            try:
                array = np.load(path, allow_pickle=False)
            except (ValueError, EOFError) as error:
                raise InputError(f"{self.name} is not a file of NumPy: {error}") from None
            if array.dtype.names is not None:
                return None
            if array.dtype == fmt.storage_dtype and fmt.limbs == 1:
                return np.asarray(array.reshape(-1))
            return codes_of(array.reshape(-1), asked, self.name)
        if path.suffix == ".bin":
            size = fmt.storage_dtype.itemsize * fmt.limbs
            data = path.read_bytes()
            if len(data) != size << min(sum(asked.widths), 40):
                return None
            codes = np.frombuffer(data, fmt.storage_dtype.newbyteorder("<")).astype(fmt.storage_dtype)
            return codes.reshape(-1, fmt.limbs) if fmt.limbs > 1 else codes
        if path.suffix in _WORDS:
            try:
                text = path.read_text(encoding="utf-8")
            except UnicodeDecodeError as error:
                raise InputError(f"{self.name} is not text: {error}") from None
            lines = [line for line in text.splitlines() if not _BLANK.fullmatch(line)]
            words = [_WORD.fullmatch(line) for line in lines]
            if words and all(words):
                found = [int(word[1], 16) for word in words if word is not None]
                if max(found) <= fmt.code_mask:
                    return ints_to_codes(found, fmt.bits, (len(found),))
        return None

    def _refuse_other_vectors(self, asked: Question) -> None:
        """Raise InputError for vectors whose metadata, in the file beside them, names another op or other types."""
        beside = Path(self.name).with_suffix(".json")
        if not beside.is_file() or beside == Path(self.name):
            return
        source = metadata.from_text(beside.read_bytes(), str(beside)).get("source", {})
        if "op" not in source:
            return
        held, case = case_of(source), asked.case
        if (held.op, held.operands, held.results) != (case.op, case.operands, case.results):
            raise InputError(f"{self.name} has vectors of {held}, as {beside} says, and not of {case}")

    def _rows(self, asked: Question) -> Iterator[tuple[Codes, ...]]:
        self._refuse_other_vectors(asked)
        against, notes = CheckedAgainst(OpComputation(asked.case, asked.profile)), Notes()
        with opened(self.name) as (file, head):
            vectors = vectors_of(self.name, file, head, format_of_vectors(self.name, head), against, notes)
            roles = [column.role for column in vectors.columns]
            places = [k for k, role in enumerate(roles) if role is Role.OPERAND]
            given = tuple(vectors.columns[k].width for k in places)
            if given != asked.widths or Role.RESULT not in roles:
                raise InputError(
                    f"{self.name} has columns of {given} bits for operands, but {asked} needs {asked.widths}"
                )
            for chunk in vectors:
                self._latest = chunk[roles.index(Role.RESULT)]
                yield tuple(chunk[k] for k in places)
        if notes.unknown:
            raise InputError(f"{self.name}: row {min(notes.unknown)} has unknown digits (X or Z)")
