"""The model of a unit under test: what it must return for each transaction, and operands to send."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from halfulp.conformance.vectors.columns import Chunk
from halfulp.conformance.vectors.computation import Computation
from halfulp.conformance.vectors.names import LevelName
from halfulp.conformance.vectors.one_row import OneRowFunction, one_row_function
from halfulp.fp_formats.codes import codes_to_ints, ints_to_codes
from halfulp.golden.options import RecipeKeywords
from halfulp.golden.recipes import computation_for, keywords, recipe_of
from halfulp.interp.ir.errors import InputError
from halfulp.interp.ir.operations import Module
from halfulp.loading import Source
from halfulp.semantics.matrix_units.accumulator import Accumulator
from halfulp.semantics.profile import Profile

_ROWS = 1 << 12
"""The operands that `Reference.stimulus` makes at once."""

Codes = Mapping[str, int]
"""Codes by the names of their columns."""


class Reference:
    """The model of a unit under test: an op on element types, a tile operation, or a function of a program.

    ``of``, ``type``, ``to``, ``rounding``, ``random_bits``, ``random``, ``profile``, ``function``, ``flags``,
    ``keep_ub``, ``mma``, ``properties``: as for `halfulp.vectors`.

    ``inputs`` and ``outputs`` are the names of the columns: for an op ``a``, ``b``, ``c`` and ``random``, and
    ``result``, ``flags``, ``poison`` and ``open``, as far as the op has them; for a tile operation its elements, such
    as ``a_0_3`` and ``result_0_0``; for a program ``arg0``, ``arg1`` …
    Raises the errors of `halfulp.vectors`.
    """

    def __init__(
        self,
        of: Source | Module,
        type: Any = None,
        *,
        to: Any = None,
        rounding: str | None = None,
        random_bits: int | None = None,
        random: str | None = None,
        profile: Profile | str | None = None,
        function: str | None = None,
        flags: bool | None = None,
        keep_ub: bool = False,
        mma: Accumulator | str | None = None,
        **properties: Any,
    ) -> None:
        options = keywords(
            type, to, rounding=rounding, random_bits=random_bits, random=random, profile=profile,
            function=function, flags=flags, keep_ub=keep_ub, mma=mma,
        )  # fmt: skip
        self.computation: Computation = computation_for(of, options, properties)
        self.inputs = tuple(column.name for column in self.computation.inputs)
        self.outputs = tuple(column.name for column in self.computation.outputs)

    @cached_property
    def _one_row(self) -> OneRowFunction:
        return one_row_function(self.computation)

    def predict(self, *codes: int, **named: int) -> dict[str, int]:
        """Return the codes of all outputs for one transaction, by name.

        ``codes``, ``named``: the codes of the inputs, in their order or by name, as unsigned integers. If ``poison`` is
        1, the result may be anything; if a bit of ``open`` is set, this bit of the result may be anything. Raises
        InputError for missing or unknown inputs, codes of too many bits, and undefined behaviour.
        """
        return self.predict_one(self.checked(self.in_order(codes, named)))

    def predict_one(self, given: tuple[int, ...]) -> dict[str, int]:
        """Return the same for the codes of all inputs, in their order, which are not checked."""
        made = self._one_row(given)
        if made.undefined and not self.computation.keep_ub:
            raise InputError(f"{self._named(given)}: the behaviour is undefined, so nothing can be expected")
        return dict(zip(self.outputs, made.outputs, strict=True))

    def predict_rows(self, rows: Sequence[Sequence[int]]) -> list[dict[str, int]]:
        """Return the same for many transactions at once, which is much faster. ``rows``: the codes of each."""
        if not rows:
            return []
        made = self.computation.compute(self.chunk([self.checked(self.in_order(tuple(row), {})) for row in rows]))
        if made.undefined is not None and made.undefined.any() and not self.computation.keep_ub:
            first = rows[int(made.undefined.argmax())]
            raise InputError(f"{self._named(first)}: the behaviour is undefined, so nothing can be expected")
        outputs = zip(made.outputs, self.computation.outputs, strict=True)
        codes = zip(*(codes_to_ints(array, column.width) for array, column in outputs), strict=True)
        return [dict(zip(self.outputs, row, strict=True)) for row in codes]

    def stimulus(
        self,
        level: LevelName | None = None,
        models: str | Sequence[str] = (),
        operands: str | Mapping[str, Any] | None = None,
        n: int | None = None,
        seed: int = 0,
    ) -> Iterator[dict[str, int]]:
        """Yield operands to send, as codes by name: those of the models, then those of the level; or your own.

        ``level``, ``models``, ``operands``, ``n``, ``seed``: as for `halfulp.vectors`. Transactions with
        undefined behaviour are left out.
        """
        options = RecipeKeywords(level=level, models=models, operands=operands, n=n, seed=seed)
        recipe = recipe_of(self.computation, options)
        for chunk in recipe.chunks(size=_ROWS):
            inputs = zip(chunk, self.computation.inputs, strict=False)
            for row in zip(*(codes_to_ints(codes, column.width) for codes, column in inputs), strict=True):
                yield dict(zip(self.inputs, row, strict=True))

    def in_order(self, values: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return what is given for each input, in their order. Raises InputError for what is missing or unknown."""
        if not values and tuple(named) == self.inputs:
            return tuple(named.values())
        rest = self.inputs[len(values) :]
        if len(values) > len(self.inputs) or named.keys() != set(rest):
            missing, unknown = (
                (name for name in rest if name not in named),
                (name for name in named if name not in rest),
            )
            wrong = next((f"'{name}' is missing" for name in missing), None)
            wrong = wrong or next((f"'{name}' is not one, or is given twice" for name in unknown), "too many are given")
            raise InputError(f"{wrong}: the inputs are {', '.join(self.inputs)}")
        return (*values, *(named[name] for name in rest))

    def checked(self, codes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the codes of the inputs. Raises InputError for codes of too many bits."""
        for place, (code, width) in enumerate(zip(codes, self._widths, strict=True)):
            if code < 0 or code >> width:
                raise InputError(f"'{self.inputs[place]}' has {width} bits, but the code {code:#x} is given")
        return codes

    @cached_property
    def _widths(self) -> tuple[int, ...]:
        return tuple(column.width for column in self.computation.inputs)

    def chunk(self, rows: Sequence[Sequence[int]]) -> Chunk:
        """Return rows of the codes of the inputs as arrays."""
        columns = zip(zip(*rows, strict=True), self.computation.inputs, strict=True)
        return tuple(ints_to_codes(codes, column.width, (len(rows),)) for codes, column in columns)

    def _named(self, codes: Sequence[int]) -> str:
        return ", ".join(f"{name}={code:#x}" for name, code in zip(self.inputs, codes, strict=True))
