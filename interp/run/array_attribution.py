"""The contribution of each op to the error of a number, for long histories. All elements of an op are handled at once.

The results are those of `halfulp.interp.run.attribution`, with errors in f64 in place of balls. First the history runs
forward, which gives the error of each number. Then it runs backward: the own error of each op is multiplied by its
effect on the last number. The effect of an operand's error is the difference of two total errors: one with this error,
and one without it.

Some histories are left to `attribution`: those with bits that are read as other numbers, with quantised types, with
formats wider than f64, or with integers that wrapped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import isfinite, nan, prod
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb

from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.reals.functions import bits_of_precision
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.run import attribution
from halfulp.interp.run.lineage import Batch, Lineage
from halfulp.semantics.ball_rules import BALLS
from halfulp.semantics.integer_functions import wrapped
from halfulp.semantics.judging import Computed, has_shadows, judge
from halfulp.semantics.kernel import Compares, Computes, Integer, Integral, Meaning, ToInteger
from halfulp.semantics.shadows import UNIT, Floats, Shadow

FEWEST_EACH = 32
"""The numbers of an op from which on arrays pay."""
_MOST_STEPS = 1 << 15
"""The most steps of a fold that is not a sum: each is judged by itself."""
_CLOSE = 2.0**-6
"""The radius, relative to an error, up to which it is known closely enough to tell where it came from."""
_BLOCK = 1 << 16
"""The elements that are judged at a time."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Elements of a batch that the number depends on: their places, in blocks that are judged one after the other."""

    batch: Batch
    meaning: Computes
    result: int
    blocks: tuple[npt.NDArray[np.intp], ...]


@dataclass(eq=False, slots=True)
class ArrayAttribution:
    """The history of one number, with errors in f64. ``id``, ``type``, ``code``: those of the number.

    Raises Unsupported for a history that only `attribution` can handle, LimitExceeded if the history is too long for
    that.
    """

    lineage: Lineage
    id: int
    type: ty.Type
    code: int
    bits: int = 192
    _errors: Floats = field(init=False)
    _radii: Floats = field(init=False)
    _weights: Floats = field(init=False)
    _effects: list[attribution.OpEffect] = field(default_factory=list)

    def __post_init__(self) -> None:
        parts, codes = self._reach()
        self._errors, self._radii = np.zeros(len(codes)), np.zeros(len(codes))
        for span in self.lineage.unknown_spans():
            self._radii[span] = np.inf
        with np.errstate(all="ignore"):
            for part in parts:
                self._run(part, codes)
            if not self._radii[self.id] <= _CLOSE * abs(self._errors[self.id]):
                attribution.refuse_more_than(
                    attribution.MOST_NUMBERS,
                    sum(len(each) for part in parts if not _is_sum(part) for each in part.blocks),
                )
                raise Unsupported("errors that need more bits are computed with balls")
            self._weights = np.zeros(len(codes))
            self._weights[self.id] = 1.0
            self._effects = [self._weigh(part, codes) for part in reversed(parts)][::-1]

    @property
    def end(self) -> attribution.Share | None:
        """The share of the number itself; None if no op made it."""
        return self.share(self.id)

    def effects(self) -> Iterator[attribution.OpEffect]:
        """Yield, for each run of an op, what its own errors contribute to the error of the number."""
        yield from self._effects

    def share(self, id: int) -> attribution.Share | None:
        """Return the contribution of one number to the error; None if no op made it."""
        made = self.lineage.made(id) if id else None
        if made is None:
            return None
        meaning = made.kernel.meaning(made.result)
        numbers = attribution.number_of(made.type)
        chain = attribution.sum_of_many(self.lineage.chain(id), made)
        if chain is not None:
            made = replace(made, operands=(chain.first, *attribution.with_history(chain, made.type)))
        value = arb.nan() if numbers is None else attribution.value_of(numbers, made.code)
        error, errors = float(self._errors[id]), [float(self._errors[each.id]) for each in made.operands]
        weight = float(self._weights[id])
        if not isinstance(meaning, Computes):
            return attribution.Share(id, made, value, value, 0.0, 0.0, (), weight)  # a decision, or an integer
        if not isfinite(self._radii[id]):
            return attribution.Share(id, made, value, arb.nan(), nan, nan, (), weight, chain)
        with bits_of_precision(self.bits):
            exact = value + arb(error, float(self._radii[id]))
        if chain is not None:
            return attribution.Share(id, made, value, exact, error - sum(errors), error, tuple(errors), weight, chain)
        given = [
            attribution.value_of(kind, each.code) for kind, each in zip(meaning.operands, made.operands, strict=True)
        ]
        ball = BALLS[meaning.rule]
        with bits_of_precision(self.bits):
            there = [number + each for number, each in zip(given, errors, strict=True)]
            if meaning.rule == "copysign":
                attribution.give_sign(meaning.operands[1], made.operands[1].code, given, there)
            steps = [float((ball(*there[:k], *given[k:]) - value).mid()) for k in range(len(given) + 1)]
        growth = tuple([after - before for before, after in pairwise(steps)])
        return attribution.Share(id, made, value, exact, steps[0], error, growth, weight)

    # --- the passes ---

    def _reach(self) -> tuple[list[_Part], npt.NDArray[np.uint64]]:
        """Return the parts that the number depends on, in the order of the run, and the code of each number."""
        reached, codes = np.zeros(len(self.lineage) + 1, np.bool_), np.zeros(len(self.lineage) + 1, np.uint64)
        reached[self.id] = True
        found: list[_Part] = []
        for batch in reversed(list(self.lineage.batches)):
            for result in reversed(range(len(batch.run.results))):
                start = batch.base + result * batch.size
                mask = reached[start : start + batch.size]
                if not mask.any():
                    continue
                blocks = self._blocks(batch, mask)
                meaning = _meaning_of(batch, result)
                for ids in filter(lambda each: each is not None, batch.ids):
                    for block in blocks:
                        reached[_at(ids, batch.shape, block)] = True
                if meaning is not None:
                    found.append(_Part(batch, meaning, result, blocks))
        if np.count_nonzero(reached) < FEWEST_EACH * len(found):
            raise Unsupported("ops of few numbers are computed with balls")
        self.lineage.write_codes(codes)
        return found[::-1], codes

    def _blocks(self, batch: Batch, mask: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.intp], ...]:
        own = batch.run.accumulator
        if own is None:
            places = np.flatnonzero(mask)
            return tuple([places[start : start + _BLOCK] for start in range(0, len(places), _BLOCK)])
        # Each step of a fold depends on the one before.
        lanes = prod(batch.shape[1:])
        steps = np.logical_or.accumulate(mask.reshape(-1, lanes)[::-1], axis=0)[::-1]
        meaning = batch.run.kernel.meaning()
        if isinstance(meaning, Computes) and meaning.rule == "add":
            kept = np.flatnonzero(steps.any(0))
            rows = int(np.count_nonzero(steps.any(1)))
            return ((np.arange(rows)[:, None] * lanes + kept).reshape(-1),)
        if len(steps) > _MOST_STEPS:
            raise Unsupported("long folds are computed with balls")
        return tuple([k * lanes + np.flatnonzero(row) for k, row in enumerate(steps) if row.any()])

    def _run(self, part: _Part, codes: npt.NDArray[np.uint64]) -> None:
        """Find the errors of a part."""
        start = part.batch.base + part.result * part.batch.size
        for block in part.blocks:
            if _is_sum(part):
                total = self._of_sum(part, block, codes)
            else:
                total = self._judged(part, block, self._shadows(part, block, codes)).total
            self._errors[start + block], self._radii[start + block] = total

    def _weigh(self, part: _Part, codes: npt.NDArray[np.uint64]) -> attribution.OpEffect:
        """Add the effects of the numbers of a part to those of their operands. Return the effect of the part's own
        errors on the number at the end.
        """
        start, run = part.batch.base + part.result * part.batch.size, part.batch.run
        effect, largest = 0.0, 0.0
        for block in reversed(part.blocks):
            weights, shadows = self._weights[start + block], self._shadows(part, block, codes)
            if _is_sum(part):
                lanes = _lanes(part, block)
                weights = np.cumsum(weights.reshape(-1, lanes)[::-1], axis=0)[::-1].reshape(-1)
                self._weights[start + block] = weights
            judged = self._judged(part, block, [None] * len(shadows))
            own = np.where(np.isfinite(judged.own.radius), judged.own.error, 0.0)
            effect += float(np.sum(own * weights))
            largest = max(largest, float(np.max(np.abs(own) / judged.ulps(judged.own), initial=0.0)))
            if _is_sum(part):
                self._pass_on_sum(part, block, weights, shadows)
                continue
            before = own
            for number, shadow in enumerate(shadows):
                if shadow is None:
                    continue
                beside = [*shadows[: number + 1], *[None] * (len(shadows) - number - 1)]
                after = self._judged(part, block, beside).total.error
                self._pass_on(part, block, number, weights * (after - before) / shadow.error)
                before = after
        return attribution.OpEffect(run.op, run.around, effect, largest)

    def _pass_on(self, part: _Part, block: npt.NDArray[np.intp], number: int, weights: Floats) -> None:
        ids = _at(part.batch.ids[number], part.batch.shape, block)
        np.add.at(self._weights, ids, np.where(np.isfinite(weights), weights, 0.0))

    def _pass_on_sum(
        self, part: _Part, block: npt.NDArray[np.intp], weights: Floats, shadows: Sequence[Shadow | None]
    ) -> None:
        """Pass on the error of a sum: each term, and the start value, contributes its whole error."""
        own = part.batch.run.accumulator
        lanes = _lanes(part, block)
        for number, shadow in enumerate(shadows):
            if shadow is not None and number == own:
                self._pass_on(part, block[:lanes], number, weights[:lanes] * (shadow.error[:lanes] != 0))
            elif shadow is not None:
                self._pass_on(part, block, number, weights * (shadow.error != 0))

    def _of_sum(self, part: _Part, block: npt.NDArray[np.intp], codes: npt.NDArray[np.uint64]) -> Shadow:
        """Return the errors of the steps of a sum: each step adds its own error and that of its term to the error of
        the step before it.
        """
        lanes, own = _lanes(part, block), part.batch.run.accumulator
        shadows = self._shadows(part, block, codes)
        judged = self._judged(part, block, [None] * len(shadows))
        errors, radii = (np.array(each).reshape(-1, lanes) for each in judged.own)
        for number, shadow in enumerate(shadows):
            if shadow is not None:
                steps = slice(0, 1) if number == own else slice(None)
                errors[steps] += shadow.error.reshape(-1, lanes)[steps]
                radii[steps] += shadow.radius.reshape(-1, lanes)[steps]
        errors = np.cumsum(errors, axis=0)
        radii = np.cumsum(radii + 4 * UNIT * np.abs(errors), axis=0)
        return Shadow(errors.reshape(-1), radii.reshape(-1))

    def _shadows(self, part: _Part, block: npt.NDArray[np.intp], codes: npt.NDArray[np.uint64]) -> list[Shadow | None]:
        """Return the shadows of the operands; None for an exact operand."""
        batch = part.batch
        found: list[Shadow | None] = []
        for ids, given, kind in zip(batch.ids, batch.run.codes, part.meaning.operands, strict=True):
            if ids is None or isinstance(kind, Integer):
                found.append(None)
                continue
            at = _at(ids, batch.shape, block)
            error, radius = self._errors[at], self._radii[at]
            foreign = (codes[at] != _at(given, batch.shape, block)) & (at != 0)
            if foreign.any():
                radius = np.where(foreign, np.inf, radius)
            found.append(Shadow(error, radius) if error.any() or radius.any() else None)
        return found

    def _judged(self, part: _Part, block: npt.NDArray[np.intp], shadows: Sequence[Shadow | None]) -> Computed:
        batch = part.batch
        given = [_at(each, batch.shape, block) for each in batch.run.codes]
        result = _at(batch.run.results[part.result], batch.shape, block)
        judged = narrowed(judge(part.meaning, given, result, shadows), Computed)
        if batch.run.poison is None:
            return judged
        poison = _at(batch.run.poison, batch.shape, block) != 0
        return judged._replace(
            own=Shadow(judged.own.error, np.where(poison, np.inf, judged.own.radius)),
            total=Shadow(judged.total.error, np.where(poison, np.inf, judged.total.radius)),
        )


def _at(array: Any, shape: tuple[int, ...], places: npt.NDArray[np.intp]) -> Any:
    """Return elements of an array that is broadcast to a shape, by their places in that shape."""
    if array.size == prod(shape):
        return array.reshape(-1)[places]
    whole = np.broadcast_to(array, shape)
    return whole[np.unravel_index(places, shape)]


def _is_sum(part: _Part) -> bool:
    return part.batch.run.accumulator is not None and part.meaning.rule == "add"


def _lanes(part: _Part, block: npt.NDArray[np.intp]) -> int:
    """Return the number of lanes of a sum: all have the same steps."""
    return int(np.searchsorted(block, prod(part.batch.shape[1:])))


def _meaning_of(batch: Batch, result: int) -> Computes | None:
    """Return the function that a batch computes; None for decisions and integers, which exact runs share."""
    meaning: Meaning | None = batch.run.kernel.meaning(result)
    if isinstance(meaning, Compares | ToInteger):
        return None
    if isinstance(meaning, Integral):
        if wrapped(meaning, batch.run.codes) is not None:
            raise Unsupported("integers that wrapped are computed with balls")
        return None
    kinds = (*meaning.operands, meaning.result) if isinstance(meaning, Computes) else ()
    if not kinds or not all(isinstance(kind, Integer) or _is_plain(kind) for kind in kinds):
        raise Unsupported("numbers of other types are computed with balls")
    assert isinstance(meaning, Computes)
    if meaning.rule not in BALLS:
        raise Unsupported("the errors of functions that balls cannot compute are not known")
    return meaning


def _is_plain(kind: Any) -> bool:
    return isinstance(kind, FloatFormat) and has_shadows(kind)
