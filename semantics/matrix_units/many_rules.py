"""Compute what many accumulators of one structure give for the same few rows: their fields are arrays.

A search compares thousands of rules on some hundred rows. `aligned_sums` spends more time in calls of NumPy for one
rule than on its numbers. Here the rules that differ in bits, roundings, shifters and the like are one more axis. One
rare case is left out: an exact sum that does not fit in 64 bits. Those results are marked as uncertain, so a rule that
explains all other results must then be compared by `models`.

Arrays are [rules, rows], and [products, rules, rows]; an axis has length 1 if all its rules or rows have the same
values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import FORMATS, Codes, Mask, slices
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics.matrix_units.accumulator import KEPT, OWN, TO_ODD, Accumulator, places_of, shape_of
from halfulp.semantics.matrix_units.aligned_sums import NO_EXPONENT, decode, fits, flushed
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.scalar_sums import nan_of

Integers = npt.NDArray[np.int64]

VARIED = (
    "bits", "guard", "cut", "cut_sums", "shifter", "c_shifter", "zero_exponent", "partial", "rounding", "fraction",
    "overflow", "zero", "nan",
)  # fmt: skip
"""The fields that may differ among rules. The others are about specials, or say which terms are added when."""

BLOCK = 1 << 16
"""The products of rules and rows that are computed at a time, so that they stay in the cache."""

_MODES = tuple(mode for mode in Rounding if mode is not Rounding.STOCHASTIC)
_NUMBER = {mode.spelling: number for number, mode in enumerate(_MODES)}
_ANY_SHIFT = 1 << 20
_FAR = 62


def takes(op: TileOp) -> bool:
    """Tell whether this module can compare rules for an operation."""
    fmt = FORMATS[op.d]
    return fmt.bits <= 32 and op.c == op.d and not op.scale and most_bits(op) >= 0


@lru_cache(maxsize=64)
def most_bits(op: TileOp) -> int:
    """Return the largest number of bits that sums of all products of an operation may keep in this module; -1 if it
    cannot compute any.
    """
    most = -1
    while most < 64 and fits(Accumulator(bits=most + 1), op):
        most += 1
    return most


def _table(floor: bool) -> Integers:
    """Return what is added to a number that was cut off: by mode, sign, last bit, and whether nothing, less than half,
    half or more was cut off. ``floor``: numbers are cut off downwards, else toward zero.
    """
    found = np.zeros((len(_MODES), 2, 2, 4), np.int64)
    for number, mode in enumerate(_MODES):
        for sign in (0, 1):
            for odd in (0, 1):
                for rest in (1, 2, 3):
                    match mode:
                        case Rounding.TO_ODD:
                            up = not odd
                        case Rounding.TOWARD_ZERO:
                            up = floor and bool(sign)
                        case Rounding.UPWARD:
                            up = floor or not sign
                        case Rounding.DOWNWARD:
                            up = not floor and bool(sign)
                        case Rounding.TO_NEAREST_AWAY:
                            up = rest == 3 or (rest == 2 and not (floor and sign))
                        case _:
                            up = rest == 3 or (rest == 2 and bool(odd))
                    found[number, sign, odd, rest] = up
    return found.reshape(-1)


_FLOORED, _TRUNCATED = _table(True), _table(False)


def _beyond() -> npt.NDArray[np.bool_]:
    """Return whether a sum out of range is infinite: by overflow, mode and sign."""
    found = np.zeros((3, len(_MODES), 2), np.bool_)
    found[1] = True
    for number, mode in enumerate(_MODES):
        nearest = mode in (Rounding.TO_NEAREST_EVEN, Rounding.TO_NEAREST_AWAY)
        found[0, number] = [nearest or mode is Rounding.UPWARD, nearest or mode is Rounding.DOWNWARD]
    return found.reshape(-1)


_OVERFLOWS, _ZEROS = ("default", "infinity", "saturate"), ("ieee", "sum", "positive")
_INFINITE = _beyond()


class _Fields(NamedTuple):
    """The fields of rules as arrays [rules, 1]; modes and choices are numbers."""

    bits: Integers
    guard: Integers
    cut: Integers
    cut_sums: Integers
    shifter: Integers
    c_shifter: Integers
    zero_exponent: Integers
    partial: Integers
    rounding: Integers
    fraction: Integers
    overflow: Integers
    zero: Integers
    nan: Integers
    exact: Mask

    def at(self, which: Any) -> _Fields:
        return _Fields(*(each[which] for each in self))


class _Cut(NamedTuple):
    """Roundings as numbers [rules, 1], and whether all are toward zero."""

    mode: Integers
    toward_zero: bool


class _Terms(NamedTuple):
    """Terms: a number is significand * 2**(exponent - places). ``minus`` and ``plus``: the zeros of each sign.
    ``infinite``: the terms that are not finite, where the numbers have no meaning; False if all are finite.
    """

    significand: Integers
    exponent: Integers
    places: Any
    minus: Mask
    plus: Mask
    infinite: Any = False

    def at(self, which: Any) -> _Terms:
        infinite = False if self.infinite is False else self.infinite[which]
        numbers = self.significand[which], self.exponent[which], self.places
        return _Terms(*numbers, self.minus[which], self.plus[which], infinite)


class _Operands(NamedTuple):
    """Products [products, 1, rows] and C [1, rows]. ``exponents``: without those of zeros; ``zeros``: how many factors
    are zero; ``beyond``: the products that are out of the range of D.
    """

    significands: Integers
    exponents: Integers
    zeros: Integers
    places: int
    minus: Mask
    plus: Mask
    c: Integers
    beyond: Mask


class ManyRules:
    """Rows without infinities and NaNs, and what many rules give. ``a``, ``b``: codes [rows, K], ``c`` [rows]."""

    def __init__(self, op: TileOp, a: Codes, b: Codes, c: Codes) -> None:
        self.op, self.a, self.b, self.c = op, a, b, c
        self.fmt = FORMATS[op.d]
        self.most = most_bits(op)
        ones, default = (nan_of(Accumulator(nan=name), self.fmt) for name in ("ones", "default"))
        # Operands are finite: a NaN has no payload.
        self.nans = {"ones": ones, "default": default, "payload": default}
        self._operands: dict[tuple[str, bool], _Operands] = {}

    def codes(self, rule: Accumulator, columns: Mapping[str, Sequence[Any]]) -> tuple[Codes, Mask]:
        """Return the codes of D by each rule [rules, rows], and the mask of those that are certain.

        The rules have the fields of ``rule``, except those of ``columns``, which holds a list of values for each field
        that varies (see `VARIED`). All rules keep partial sums, or none does.
        """
        count = max([1, *(len(values) for values in columns.values())])
        fields = self._fields(rule, columns, count)
        kept = (columns["partial"][0] if "partial" in columns else rule.partial) == KEPT
        rows, k = self.a.shape
        step = max(1, BLOCK // (rows * (k if rule.tree == "flat" else 4)))
        codes, certain = np.empty((count, rows), self.fmt.storage_dtype), np.empty((count, rows), np.bool_)
        for part in slices(count, step):
            found, sure = _Sums(self, rule, fields.at(part), kept).result()
            codes[part], certain[part] = found, sure
        return codes, certain

    def _fields(self, rule: Accumulator, columns: Mapping[str, Sequence[Any]], count: int) -> _Fields:
        def column(name: str, none: int, choices: Mapping[str, int] | None = None) -> Integers:
            values = columns.get(name, (getattr(rule, name),))
            numbers = [none if value is None else choices[value] if choices else value for value in values]
            array = np.array(numbers, np.int64)[:, None]
            return array if len(array) == count else np.repeat(array, count, axis=0)

        modes = {**_NUMBER, KEPT: 0}
        bits = column("bits", -1)
        exact = bits < 0
        odd = _NUMBER[TO_ODD]
        return _Fields(
            np.where(exact, self.most, bits),
            np.where(exact, 0, column("guard", 0)),
            np.where(exact, odd, column("cut", 0, modes)),
            np.where(exact, odd, column("cut_sums", 0, modes)),
            np.where(exact, _ANY_SHIFT, column("shifter", _ANY_SHIFT)),
            np.where(exact, _ANY_SHIFT, column("c_shifter", _ANY_SHIFT)),
            np.where(exact, NO_EXPONENT, column("zero_exponent", NO_EXPONENT)),
            column("partial", 0, modes),
            column("rounding", 0, modes),
            column("fraction", self.fmt.mantissa_bits),
            column("overflow", 0, {name: number for number, name in enumerate(_OVERFLOWS)}),
            column("zero", 0, {name: number for number, name in enumerate(_ZEROS)}),
            column("nan", 0, self.nans),
            exact,
        )

    def operands(self, steps: str, flush: bool) -> _Operands:
        """Return the rows as rules with these values of the fields ``steps`` and ``flush`` see them."""
        if (steps, flush) not in self._operands:
            self._operands[steps, flush] = self._seen(steps, flush)
        return self._operands[steps, flush]

    def _seen(self, steps: str, flush: bool) -> _Operands:
        found = []
        for name, codes in ((self.op.a, self.a), (self.op.b, self.b)):
            fmt, codes = FORMATS[name], codes.T
            if steps != OWN:
                codes, fmt = fast.convert(fmt, FORMATS[steps], codes).codes, FORMATS[steps]
            codes = flushed(fmt, codes, signed=False) if flush else codes
            found.append((decode(fmt, codes, 0, signs=True), fmt.mantissa_bits))
        (x, x_places), (y, y_places) = found
        assert x.minus is not None
        assert y.minus is not None
        negative = ((x.significand < 0) | x.minus) ^ ((y.significand < 0) | y.minus)
        significand = x.significand * y.significand
        zero = significand == 0
        zeros = (x.significand == 0).astype(np.int64) + (y.significand == 0)
        c = flushed(self.fmt, self.c, signed=False) if flush else self.c
        places = x_places + y_places
        beyond = x.exponent + y.exponent - places + _length(np.abs(significand)) > self.fmt.emax + 1
        return _Operands(
            significand[:, None, :],
            (x.exponent + y.exponent)[:, None, :],
            zeros[:, None, :],
            places,
            (zero & negative)[:, None, :],
            (zero & ~negative)[:, None, :],
            c.astype(np.int64)[None, :],
            beyond[:, None, :],
        )


class _Sums:
    """The sums of some rules of one structure."""

    def __init__(self, rows: ManyRules, rule: Accumulator, fields: _Fields, kept: bool) -> None:
        self.rule, self.op, self.fmt, self.fields, self.kept = rule, rows.op, rows.fmt, fields, kept
        self.seen = rows.operands(rule.steps, rule.flush)
        self.certain = np.ones((len(fields.bits), rows.a.shape[0]), np.bool_)
        # Sums that have an infinity of each sign among their terms: an infinity stays one, whatever is added.
        self.positive: Any = False
        self.negative: Any = False
        self.lowest = self.fmt.emin - fields.fraction
        self.some_exact = bool(fields.exact.any())
        self.signs = bool((fields.zero == 0).any())
        toward_zero = _NUMBER["toward_zero"]
        self.cut, self.cut_sums = (
            _Cut(mode, bool((mode == toward_zero).all())) for mode in (fields.cut, fields.cut_sums)
        )
        self.shifter, self.c_shifter = (
            each if (each < _ANY_SHIFT).any() else None for each in (fields.shifter, fields.c_shifter)
        )

    def result(self) -> tuple[Integers, Mask]:
        """Return the codes of D, and which are certain."""
        rule, seen, k = self.rule, self.seen, len(self.seen.significands)
        places = np.array(places_of(rule, replace(self.op, order=None), k))
        size = min(rule.group or k, k)
        c, infinite = np.zeros_like(seen.c) if rule.c == "end" else seen.c, False
        for start in range(0, k, size):
            c, infinite = self._group(places[start : start + size], c, infinite)
        if rule.c == "end":
            c = self._flushed(c, False) if rule.flush else c
            shape, dtype = np.broadcast_shapes(c.shape, seen.c.shape), self.fmt.storage_dtype
            before, total = (np.broadcast_to(each, shape).astype(dtype) for each in (seen.c, c))
            c = fast.add(self.fmt, before, total).codes.astype(np.int64)
        if rule.flush:
            c = self._flushed(c, True)
        return np.broadcast_to(self._with_infinities(c), self.certain.shape), self.certain

    def _with_infinities(self, codes: Integers) -> Integers:
        """Return the results of sums with infinities among their terms, and codes for the other sums."""
        infinity, sign = self.fmt.infinity_code or 0, self.fmt.sign_mask or 0
        both = self.positive & self.negative
        for mask, code in ((self.positive, infinity), (self.negative, infinity | sign), (both, self.fields.nan)):
            if mask is not False:
                codes = np.where(mask, code, codes)
        return codes

    def _group(self, which: Any, c: Integers, infinite: Any) -> tuple[Integers, Any]:
        """Add a group to C: codes, and those that are not finite."""
        rule, fields, seen = self.rule, self.fields, self.seen
        addend, zeros = self._decoded(c)._replace(infinite=infinite), seen.zeros[which]
        exponents = seen.exponents[which]
        if zeros.any():
            exponents = exponents + zeros * fields.zero_exponent
        products = _Terms(seen.significands[which], exponents, seen.places, seen.minus[which], seen.plus[which])
        if rule.product_overflow and seen.beyond[which].any():
            products = products._replace(infinite=seen.beyond[which])
            self._record(products.infinite, products.significand < 0)
        if rule.products == "rounded":
            products = self._rounded_again(products)
        count = len(products.significand)
        first = addend if rule.c != "last" else None
        if rule.tree == "flat":
            total = self._sum([(products, True)], first)
        elif rule.tree == "even_odd":
            halves = [self._sum([(products.at(slice(start, None, 2)), True)]) for start in range(min(count, 2))]
            sums = [self._partial(half) for half in halves]
            total = self._sum([(each, False) for each in sums]) if len(sums) > 1 else sums[0]
        else:
            every = [] if first is None else [(first, True)]
            every += [(products.at(number), True) for number in range(count)]
            additions = shape_of(rule.tree, len(every))
            total = every[0][0]
            for number, pair in enumerate(additions, 1):
                parts = [every[n] for n in pair if n or first is None]
                total = self._sum(parts, first if len(parts) == 1 else None)
                if number < len(additions):
                    every.append((self._partial(total), False))
        if rule.c == "last":
            total = self._sum([(self._partial(total), False)], addend, last=True)
        codes = self._packed(total, fields.rounding)
        return codes, self._infinite(codes, total.infinite)

    def _sum(self, parts: Sequence[tuple[_Terms, bool]], addend: _Terms | None = None, last: bool = False) -> _Terms:
        """Add terms, each with whether it is a product, and C. ``last``: the other term has the guard bits."""
        fields = self.fields
        unit = fields.bits + fields.guard if last else fields.bits
        terms = [(part, self.cut if leaf else self.cut_sums, unit, self.shifter) for part, leaf in parts]
        if addend is not None:
            terms.append((addend, self.cut_sums if last else self.cut, fields.bits, self.c_shifter))
        highest = [part.exponent.max(axis=0) if _many(part) else part.exponent for part, *_ in terms]
        largest = highest[0]
        for each in highest[1:]:
            largest = np.maximum(largest, each)
        count = sum(len(part.significand) if _many(part) else 1 for part, *_ in terms)
        total: Any = 0
        minus: Any = True
        plus: Any = True
        infinite: Any = False
        for part, *_ in terms:
            if part.infinite is not False:
                infinite = infinite | (part.infinite.any(axis=0) if _many(part) else part.infinite)
        for part, cut, bits, shifter in terms:
            kept, lost = _aligned(part, largest, bits, cut, shifter)
            if self.some_exact and (count > 2 or self.kept):
                lost = fields.exact & (lost.any(axis=0) if _many(part) else lost)
                self.certain &= ~lost if infinite is False else ~lost | infinite
            if last:
                kept = kept << (unit - bits)
            total = total + (kept.sum(axis=0) if _many(part) else kept)
            if self.signs:
                minus = minus & (part.minus.all(axis=0) if _many(part) else part.minus)
                plus = plus & (part.plus.all(axis=0) if _many(part) else part.plus)
        return _Terms(total, largest, unit, np.asarray(minus), np.asarray(plus), infinite)

    def _partial(self, total: _Terms) -> _Terms:
        return total if self.kept else self._rounded_again(total)

    def _rounded_again(self, total: _Terms) -> _Terms:
        codes = self._packed(total, self.fields.partial)
        if self.rule.flush:
            codes = self._flushed(codes, True)
        return self._decoded(codes)._replace(infinite=self._infinite(codes, total.infinite))

    def _decoded(self, codes: Integers) -> _Terms:
        """Split codes of D into significands and exponents."""
        fmt = self.fmt
        magnitude = codes & fmt.magnitude_mask
        negative = codes > fmt.magnitude_mask
        if self.rule.flush:
            small = magnitude < fmt.min_normal_code
            magnitude, negative = np.where(small, 0, magnitude), negative & ~small
        field = magnitude >> fmt.mantissa_bits
        fraction = magnitude & fmt.fraction_mask
        normal = field > 0
        size = np.where(normal, fraction | (1 << fmt.mantissa_bits), fraction)
        exponent = np.where(normal, field, 1) + (fmt.emin - 1)
        zero = size == 0
        exponent = np.where(zero, self.fields.zero_exponent, exponent)
        return _Terms(np.where(negative, -size, size), exponent, fmt.mantissa_bits, zero & negative, zero & ~negative)

    def _packed(self, total: _Terms, mode: Integers) -> Integers:
        """Round sums to codes of D."""
        fmt, fields = self.fmt, self.fields
        negative = total.significand < 0
        size = np.abs(total.significand)
        unit = total.exponent - total.places
        last = np.maximum(unit + _length(size) - 1 - fields.fraction, self.lowest)
        down = last - unit
        right = np.minimum(np.maximum(down, 0), _FAR)
        kept = size >> right
        if (down > 0).any():
            rest = size - (kept << right)
            kept = kept + _TRUNCATED[mode * 16 + negative * 8 + (kept & 1) * 4 + _share(rest, right)]
        kept = kept << np.minimum(np.maximum(-down, 0), _FAR)
        place = np.minimum(last - self.lowest, fmt.emax - fmt.emin + 2)
        code = kept + (place << fields.fraction)
        spare = fmt.mantissa_bits - fields.fraction
        most = fmt.max_code >> spare
        over = code > most
        code = code << spare
        if over.any():
            infinite = _INFINITE[(fields.overflow * len(_MODES) + mode) * 2 + negative]
            code = np.where(over, np.where(infinite, fmt.infinity_code or 0, most << spare), code)
        zero = size == 0
        sign = negative & ~zero
        if zero.any():
            down_mode = mode == _NUMBER["downward"]
            ieee = np.where(down_mode, ~np.asarray(total.plus), total.minus)
            sign = np.where(zero, (fields.zero == 0) & ieee, sign)
            code = np.where(zero, 0, code)
        sign = sign & ~((fields.zero == 2) & (code == 0))
        return np.asarray(np.where(sign, code | (fmt.sign_mask or 0), code))

    def _flushed(self, codes: Integers, signed: bool) -> Integers:
        return flushed(self.fmt, codes, signed)

    def _infinite(self, codes: Integers, before: Any) -> Any:
        """Return which sums are not finite; ``before``: those with a term that is not."""
        beyond = codes & self.fmt.magnitude_mask > self.fmt.max_code
        if before is not False:
            beyond = beyond & ~before
        if not beyond.any():
            return before
        self._record(beyond, codes > self.fmt.magnitude_mask)
        return beyond if before is False else beyond | before

    def _record(self, infinite: Mask, negative: Mask) -> None:
        """Note infinities among the terms of the results."""
        signs = infinite & ~negative, infinite & negative
        plus, minus = (each.any(axis=0) if each.ndim == 3 else each for each in signs)
        self.positive, self.negative = self.positive | plus, self.negative | minus


def _many(terms: _Terms) -> bool:
    """Tell whether terms have an axis of products."""
    return terms.significand.ndim == 3


def _aligned(terms: _Terms, largest: Integers, bits: Any, cut: _Cut, shifter: Integers | None) -> tuple[Integers, Mask]:
    """Return terms in units of 2**(largest - bits), and which were not whole; see `aligned_sums.aligned`."""
    extra = bits - terms.places
    significand = terms.significand << np.maximum(extra, 0)
    apart = largest - terms.exponent
    shift = np.minimum(apart - np.minimum(extra, 0), _FAR)
    kept = significand >> shift
    rest = significand - (kept << shift)
    lost = rest != 0
    if cut.toward_zero:
        kept = kept + (lost & (significand < 0))
    else:
        kept = kept + _FLOORED[cut.mode * 16 + (significand < 0) * 8 + (kept & 1) * 4 + _share(rest, shift)]
    if shifter is not None:
        kept = np.where(apart > shifter, 0, kept)
    return kept, lost


def _share(rest: Integers, shift: Integers) -> Integers:
    """Return 0 where nothing is left of 2**shift, 1 where less than half is, 2 at a half, 3 above."""
    twice, unit = rest << 1, np.int64(1) << shift
    return np.asarray((rest != 0).astype(np.int64) + (twice >= unit) + (twice > unit))


def _length(size: Integers) -> Integers:
    """Return the number of bits that each number has."""
    # Half of the bits: a conversion to float cannot round the highest one up.
    return np.asarray(np.frexp((size & ~(size >> 1)).astype(np.float64))[1], np.int64)
