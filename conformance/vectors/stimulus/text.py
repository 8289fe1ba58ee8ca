"""Operands in a text file: a row on each line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from halfulp.conformance.vectors.stimulus.elements import Fitting, code_of_number, width_in_bits
from halfulp.fp_formats.numbers import code_of_text, exact_number
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, LimitExceeded
from halfulp.interp.ir.locations import FileLineCol

ENDINGS = (".txt", ".text")

MOST_ROWS = 1 << 20
"""The most rows of a text file: they are held in memory."""

MOST_LINE = 1 << 20
"""The most bytes of a line."""

MOST_TOLD = 60
"""The most characters of a word that an error repeats."""

_WORD = re.compile(r"[^\s,]+")


def rows_of_text(path: str, names: Sequence[str], types: Sequence[ty.Type], fitting: Fitting) -> list[list[int]]:
    """Return the rows of codes in a text file: for each row a word for each operand, separated by spaces or commas.

    A word is a code in hexadecimal, ``0x3C00``, or a number as `exact_number` reads it. Empty lines, and what follows a
    ``#``, do not count. Raises InputError with the place of what is wrong, LimitExceeded for too many rows.
    """
    rows: list[list[int]] = []
    try:
        with open(path, encoding="utf-8") as file:
            number = 0
            while line := file.readline(MOST_LINE):
                number += 1
                if len(line) == MOST_LINE:
                    raise LimitExceeded(f"a line of more than {MOST_LINE:,} characters is too long",
                                        location=FileLineCol(path, number, 1))  # fmt: skip
                words = list(_WORD.finditer(line.partition("#")[0]))
                if not words:
                    continue
                if len(words) != len(types):
                    extra = words[min(len(words), len(types) + 1) - 1]
                    raise InputError(
                        f"{len(words)} words are here, but a row has {len(types)}: {', '.join(names)}",
                        location=FileLineCol(path, number, extra.start() + 1),
                    )
                rows.append([_code(path, number, word, type_, fitting)
                             for word, type_ in zip(words, types, strict=True)])  # fmt: skip
                if len(rows) > MOST_ROWS:
                    raise LimitExceeded(
                        f"'{path}' has more than {MOST_ROWS:,} rows",
                        hint="larger files are read from .npy and .npz, which are not held in memory",
                    )
    except UnicodeDecodeError:
        raise InputError(f"'{path}' is not text") from None
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from None
    if not rows:
        raise InputError(f"'{path}' has no rows")
    return rows


def _code(path: str, line: int, word: re.Match[str], type_: ty.Type, fitting: Fitting) -> int:
    text = word[0]
    told = text if len(text) <= MOST_TOLD else f"{text[:MOST_TOLD]}..."
    place = FileLineCol(path, line, word.start() + 1)
    try:
        if (code := code_of_text(text)) is not None:
            if code >> (width := width_in_bits(type_)):
                raise InputError(f"{told} has more than the {width} bits of {type_}")
            return code
        return code_of_number(exact_number(text), type_, fitting)
    except InputError as error:
        raise InputError(f"{told}: {error.message}" if told not in error.message else error.message,
                         location=place, hint=error.hint) from None  # fmt: skip
    except ValueError as error:
        raise InputError(f"'{told}' is neither a code, such as 0x3C, nor a number: {error}",
                         location=place) from None  # fmt: skip
