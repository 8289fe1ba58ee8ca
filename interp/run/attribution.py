"""The contribution of each op to the error of a number that was computed from its results.

The history of the number (`halfulp.interp.run.lineage`) runs a second time in balls, from its first numbers on, with as
many bits as are needed. The error of each number in it is its own error plus a contribution of each operand. The
contribution of an operand is the growth of the total error when this operand, after those before it, has its error. So
the parts add up to the error, even if errors are large. Then, from the last number back to the first, the own error of
each op is multiplied by its effect on the last number.

An error is the exact number minus the computed one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from math import fsum, isfinite

import numpy as np
from flint import arb

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import Codes, FloatFormat
from halfulp.fp_formats.neighbours import ulp_of_float
from halfulp.fp_formats.reals.functions import bits_of_precision, exact_ball
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import LimitExceeded
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.lineage import Chain, Leaf, Lineage, Node, Operand
from halfulp.semantics.ball_rules import BALLS
from halfulp.semantics.integer_functions import Apart, reading_of, wraps
from halfulp.semantics.judging import as_f64, has_shadows
from halfulp.semantics.kernel import IDENTITIES, Computes, Integer, Integral, Meaning, Numbers, Quantized, Reinterprets
from halfulp.semantics.shadows import Floats

MOST_NUMBERS = 2_000_000
"""The most numbers of a history."""
_FIRST_BITS, _MOST_BITS = 192, 6144
_WHOLE = Apart(False, False)
_CLOSE = 2.0**-53
"""The radius up to which a number is wanted, relative to it and to its error."""


@dataclass(eq=False, slots=True)
class Share:
    """The contribution of one number of a history to the error of the last number.

    ``value``: the computed number. ``exact``: the exact number. ``own``: its own error. ``error``: its whole error.
    ``growth``: the contribution of the error of each operand. ``weight``: the change of the last number for each unit
    of error. Errors are NaN if nothing is known. ``chain``: a sum in many steps, which counts as one op; its operands
    are the start value and the elements that have a history.
    """

    id: int
    node: Node
    value: arb
    exact: arb
    own: float = 0.0
    error: float = 0.0
    growth: tuple[float, ...] = ()
    weight: float = 0.0
    chain: Chain | None = None

    @property
    def parts(self) -> tuple[float, ...]:
        """The contribution of the error of each operand to the error of the op; for a sum in many steps, the
        contribution of all operands together.
        """
        if self.chain is None or not self.growth:
            return self.growth
        both = self.growth[0], sum(self.growth[1:])
        return both[::-1] if self.chain.accumulator else both

    @property
    def own_ulp(self) -> float:
        """The size of its own error in ulp of the exact function of its operands; 0 if it is not a float."""
        numbers = number_of(self.node.type)
        if not isinstance(numbers, FloatFormat):
            return 0.0
        return abs(self.own) / ulp_of_float(numbers, _number(self.value), self.own)


@dataclass(frozen=True, slots=True)
class OpEffect:
    """What the numbers of an op contribute by their own errors to the error of the last number, and the largest of
    these own errors in ulp.
    """

    op: Operation
    around: Operation
    effect: float
    own_ulp: float


@dataclass(eq=False, slots=True)
class Attribution:
    """The history of one number, with errors. ``id``, ``type``, ``code``: those of the number. ``bits``: the precision
    of the balls. ``most``: a limit on the numbers of the history, below `MOST_NUMBERS`.

    Raises LimitExceeded for a history of more numbers.
    """

    lineage: Lineage
    id: int
    type: ty.Type
    code: int
    bits: int = _FIRST_BITS
    most: int | None = None
    shares: dict[int, Share] = field(default_factory=dict)
    _unknown: set[int] = field(default_factory=set)
    _apart: dict[int, Apart] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._reach()
        self._run()
        while not self._settled() and self.bits < _MOST_BITS:
            self.bits *= 2
            self._run()
        self._weigh()

    @property
    def end(self) -> Share | None:
        """The share of the number itself; None if no op made it."""
        return self.shares.get(self.id)

    @property
    def is_unknown(self) -> bool:
        """Tell whether the origin of the number is unknown."""
        return self.id in self._unknown

    def share(self, id: int) -> Share | None:
        """Return the contribution of one number to the error; None if no op made it."""
        return self.shares.get(id)

    def effects(self) -> Iterator[OpEffect]:
        """Yield, for each number, what its own error contributes to the error of the last number, if that is known."""
        for share in self.shares.values():
            if isfinite(share.own):
                yield OpEffect(share.node.op, share.node.around, share.own * share.weight, share.own_ulp)

    def in_order(self) -> Iterator[Share]:
        """Yield all numbers that ops made, in the order of the run."""
        return (self.shares[id] for id in sorted(self.shares))

    # --- the passes ---

    def _reach(self) -> None:
        waiting = [(self.id, self.type, self.code)]
        zero = arb(0)
        while waiting:
            id, type_, code = waiting.pop()
            if id in self.shares or id in self._unknown:
                continue
            found = self.lineage.history(id, type_, code)
            if isinstance(found, Leaf):
                if found.unknown:
                    self._unknown.add(id)
                continue
            chain = sum_of_many(self.lineage.chain(id), found)
            if chain is not None:
                found = replace(found, operands=(chain.first, *with_history(chain, found.type)))
            self.shares[id] = Share(id, found, zero, zero, chain=chain)
            refuse_more_than(MOST_NUMBERS if self.most is None else min(self.most, MOST_NUMBERS), len(self.shares))
            waiting += [(each.id, each.type, each.code) for each in found.operands if each.id]

    def _run(self) -> None:
        with bits_of_precision(self.bits):
            for share in self.in_order():
                self._judge(share)

    def _judge(self, share: Share) -> None:
        node, meaning = share.node, share.node.kernel.meaning(share.node.result)
        numbers = meaning.result if isinstance(meaning, Computes) else number_of(node.type)
        share.value = arb.nan() if numbers is None else value_of(numbers, node.code)
        if isinstance(node.type, ty.IntegerType | ty.IndexType):
            share.exact = share.value  # the exact run goes the same way
            self._apart[share.id] = self._integer_apart(node, meaning)
            if isinstance(meaning, Reinterprets):
                self._cast(share)
            return
        share.exact, share.own, share.error, share.growth = arb.nan(), float("nan"), float("nan"), ()
        if isinstance(meaning, Reinterprets):
            self._cast(share)
        if not isinstance(meaning, Computes) or meaning.rule not in BALLS:
            return
        if share.chain is not None:
            self._add_up(share, share.chain, meaning.result)
            return
        ball, pairs = BALLS[meaning.rule], zip(meaning.operands, node.operands, strict=True)
        given = [value_of(kind, each.code) for kind, each in pairs]
        kinds = [isinstance(kind, Integer) and kind.signed for kind in meaning.operands]
        exact = [self._exact(*each) for each in zip(node.operands, given, kinds, strict=True)]
        if meaning.rule in IDENTITIES:
            self._pass_over(node, IDENTITIES[meaning.rule], given, exact)
        if meaning.rule == "copysign":
            give_sign(meaning.operands[1], node.operands[1].code, given, exact)
        found = [ball(*exact[:count], *given[count:]) for count in range(len(given) + 1)]
        steps = [each - share.value for each in found]
        share.exact = found[-1]
        share.own, share.error = (_number(each) for each in (steps[0], steps[-1]))
        share.growth = tuple([_number(after - before) for before, after in pairwise(steps)])

    def _add_up(self, share: Share, chain: Chain, numbers: Numbers) -> None:
        """Judge a sum in many steps. The error of each operand is an error of the whole sum."""
        own = _exact_sum(_floats(chain.codes, numbers)) + value_of(numbers, chain.first.code) - share.value
        errors = []
        for each in share.node.operands:
            value = value_of(numbers, each.code)
            errors.append(self._exact(each, value, signed=False) - value)
        error = sum(errors, own)
        share.exact, share.own, share.error = error + share.value, _number(own), _number(error)
        share.growth = tuple(map(_number, errors))

    def _cast(self, share: Share) -> None:
        """Pass on the error of the bits that a bit cast takes to the number that has these bits."""
        source = given = self.shares.get(share.node.operands[0].id)
        while source is not None and isinstance(source.node.kernel.real, Reinterprets):
            source = self.shares.get(source.node.operands[0].id)
        if source is None or given is None or isinstance(source.node.type, ty.IntegerType | ty.IndexType):
            operand = share.node.operands[0].id
            if isinstance(share.node.type, ty.FloatType) and not (
                operand in self._unknown or self._apart.get(operand, _WHOLE).inexact
            ):
                share.exact, share.own, share.error = share.value, 0.0, 0.0
            return
        if not isinstance(share.node.type, ty.FloatType) and not (source.exact - source.value).is_zero():
            self._apart[share.id] = Apart(True, True, True)
        if source.node.type == share.node.type:
            share.exact, share.own = source.exact, 0.0
        elif isinstance(share.node.type, ty.FloatType):
            return
        share.error, share.growth = source.error, (given.error,)

    def _pass_over(self, node: Node, identity: float, given: list[arb], exact: list[arb]) -> None:
        """Put a number that changes nothing in the place of each NaN that the program spells."""
        for number, each in enumerate(node.operands):
            if given[number].is_nan() and each.id not in self.shares and each.id not in self._unknown:
                given[number] = exact[number] = arb(identity)

    def _exact(self, operand: Operand, value: arb, signed: bool) -> arb:
        if operand.id in self._unknown:
            return arb.nan()
        made = self.shares.get(operand.id)
        if made is None or not isinstance(made.node.type, ty.IntegerType | ty.IndexType):
            return value if made is None else made.exact
        # Of integers the exact run has the same, unless an op wrapped.
        return arb.nan() if self._apart.get(operand.id, _WHOLE).misread(signed) else value

    def _integer_apart(self, node: Node, meaning: Meaning | None) -> Apart:
        """Tell whether an integer differs from the exact one; see `halfulp.semantics.integer_functions`."""
        given = [self._apart.get(each.id, _WHOLE) for each in node.operands]
        if isinstance(meaning, Integral) and meaning.strict is not None:
            given.append(Apart(*wraps(meaning, [each.code for each in node.operands])))
        elif any(each.misread(reading_of(meaning)) for each in given):
            return Apart(True, True, any(each.inexact for each in given))
        return Apart(*map(any, zip(*given, strict=True))) if given else _WHOLE

    def _settled(self) -> bool:
        """Tell whether more bits would not help: the error is known closely, or not at all."""
        end = self.end
        if end is None or end.exact.is_nan():
            return True
        error = end.exact - end.value if end.value.is_finite() else arb(0, float(end.exact.rad()))
        numbers = number_of(end.node.type)
        least = ulp_of_float(numbers, _number(end.value)) if isinstance(numbers, FloatFormat) else 0.0
        scale = max(abs(_number(error)), least)
        number = abs(_number(end.exact)) or scale
        return bool(error.is_finite()) and float(error.rad()) <= _CLOSE * min(scale, number)

    def _weigh(self) -> None:
        if self.end is not None:
            self.end.weight = 1.0
        for id in sorted(self.shares, reverse=True):
            share = self.shares[id]
            for operand, growth in zip(share.node.operands, share.growth, strict=False):
                made = self.shares.get(operand.id)
                if made is not None and made.error and isfinite(growth / made.error):
                    made.weight += share.weight * growth / made.error


def refuse_more_than(most: int, count: int) -> None:
    """Raise LimitExceeded if a history has more than ``most`` numbers. ``count``: its numbers."""
    if count > most:
        raise LimitExceeded(
            f"the history of this number has more than {most:,} numbers", hint="give the program a smaller input"
        )


def give_sign(numbers: Numbers, code: int, *operands: list[arb]) -> None:
    """Replace a zero among the balls of copysign's second operand by a number with the sign of the zero, since a ball
    that is zero has no sign.
    """
    assert isinstance(numbers, FloatFormat)
    if value_of(numbers, code) == 0:
        for each in operands:
            each[1] = arb(-1 if code & (numbers.sign_mask or 0) else 1) if each[1] == 0 else each[1]


def sum_of_many(chain: Chain | None, node: Node) -> Chain | None:
    """Return the steps of a fold if it adds finite numbers; None for any other fold."""
    meaning = node.kernel.meaning(node.result)
    if chain is None or not isinstance(meaning, Computes) or meaning.rule != "add":
        return None
    fmt = meaning.result
    if not isinstance(fmt, FloatFormat) or not has_shadows(fmt):
        return None
    finite = all(np.isfinite(_floats(codes, fmt)).all() for codes in (chain.codes, chain.results))
    return chain if finite and not fmt.is_infinite(chain.first.code) and not fmt.is_nan(chain.first.code) else None


def with_history(chain: Chain, type_: ty.Type) -> Iterator[Operand]:
    """Yield the elements of a sum that have a history."""
    if chain.ids is not None:
        for at in np.flatnonzero(chain.ids):
            yield Operand(int(chain.ids[at]), type_, int(chain.codes[at]))


def _floats(codes: Codes, numbers: Numbers) -> Floats:
    assert isinstance(numbers, FloatFormat)
    return as_f64(numbers, np.ascontiguousarray(codes))


def _exact_sum(numbers: Floats) -> arb:
    """Return the exact sum of numbers, if the balls have enough bits for it."""
    rest, parts = numbers.tolist(), []
    while part := fsum(rest):
        parts.append(part)
        rest.append(-part)
    return sum(map(arb, parts), arb(0))


def _number(ball: arb) -> float:
    return float(ball.mid()) if ball.is_finite() else float("nan")


def number_of(type_: ty.Type) -> Numbers | None:
    """Return the function that turns codes of a type into numbers; None for types that are neither floats nor
    integers.
    """
    return type_.format if isinstance(type_, ty.FloatType) else None


@lru_cache(maxsize=1 << 16)
def value_of(numbers: Numbers, code: int) -> arb:
    """Return the exact number that a code represents; an infinity for an infinity; NaN for a NaN, and for a quantised
    number whose scale depends on its place.
    """
    if isinstance(numbers, Quantized):
        if numbers.by_place:
            return arb.nan()
        scales, points = numbers.parameters(())
        return (value_of(numbers.stored, code) - arb(points.item())) * arb(scales.item())
    if not isinstance(numbers, FloatFormat):
        half = 1 << numbers.width - 1
        return arb(code - (half << 1) if numbers.signed and code & half else code)
    if numbers.is_infinite(code):
        return arb.neg_inf() if code & (numbers.sign_mask or 0) else arb.pos_inf()
    number = scalar.value(numbers, code)
    if number is None:
        return arb.nan()
    return exact_ball(number.numerator, 1 - number.denominator.bit_length())
