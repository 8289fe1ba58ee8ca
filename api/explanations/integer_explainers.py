"""The explainers of the integer ops of arith. An explainer is a function that gives the parts of an explanation: the
exact integers and the rule.

The result, and whether it is poison or undefined, come from the kernel. The rows here say why, on Python integers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction

from halfulp.explanations.applications import Explainer, OpContext, OpParts
from halfulp.interp.ir.types import width_of
from halfulp.semantics import integer
from halfulp.semantics.integer_kernels import Reading
from halfulp.semantics.kernel import Fault, FaultKind
from halfulp.texts import bits_of_integer, integer_text

Rows = list[tuple[str, str]]
_NAMES = {True: "signed", False: "unsigned"}


def number(reading: Reading, code: int) -> int:
    """Return the number that a code means, read as signed or unsigned."""
    return (code ^ reading.sign) - reading.sign


def _codes(context: OpContext) -> list[int]:
    return [operand.known for operand in context.operands]


def _width(context: OpContext) -> int:
    return width_of(context.operands[0].type)


def _range(reading: Reading) -> str:
    return f"{integer_text(reading.low)} to {integer_text(reading.high)}"


def _fits(reading: Reading, exact: int) -> bool:
    return reading.low <= exact <= reading.high


def _place(reading: Reading, exact: int) -> str:
    return f"{'within' if _fits(reading, exact) else 'outside'} {_range(reading)}"


def _wrapped(reading: Reading, exact: int) -> str:
    """Say where an exact result lies, and how it wraps."""
    if _fits(reading, exact):
        return _place(reading, exact)
    moduli = (exact - reading.low) >> reading.width
    wrapped = exact - (moduli << reading.width)
    times = "" if abs(moduli) == 1 else f"{integer_text(abs(moduli))} * "
    sign = "-" if moduli > 0 else "+"
    return f"{_place(reading, exact)}: it wraps, {sign} {times}2^{reading.width} = {integer_text(wrapped)}"


def _fault(context: OpContext, reasons: Mapping[Fault, str]) -> str | None:
    """Return the rule of a result that is poison or undefined; None for a result with a value."""
    fault = context.fault
    if fault is None:
        return None
    effect = "poison" if fault.kind is FaultKind.POISON else "undefined behaviour"
    why = reasons.get(fault, "")
    return f"{fault.reason}{f': {why}' if why else ''}: {effect}"


_FLAGS: Mapping[Fault, tuple[str, bool]] = {
    integer.SIGNED_OVERFLOW: ("nsw", True),
    integer.UNSIGNED_OVERFLOW: ("nuw", False),
}
"""For each fault of an overflow flag: the flag, and whether the exact result must fit the signed range."""


def _overflow(context: OpContext, width: int, exact: Mapping[bool, int]) -> tuple[Rows, dict[Fault, str]]:
    """Return a row for each overflow flag that the op has, and the reason of each fault."""
    rows: Rows = []
    reasons: dict[Fault, str] = {}
    for fault, (flag, signed) in _FLAGS.items():
        if fault in context.faults:
            reading = Reading(width, signed)
            reasons[fault] = f"{integer_text(exact[signed])} is {_place(reading, exact[signed])}"
            rows.append((flag, f"the {_NAMES[signed]} result must fit: {reasons[fault]}"))
    return rows, reasons


def wrapping(symbol: str, exactly: Callable[[int, int], int], shift: bool = False) -> Explainer:
    """Return the explainer of an op whose exact result is cut to the width: a sum, a difference, a product
    or a shift.
    """

    def explain(context: OpContext) -> OpParts:
        width = _width(context)
        a, b = _codes(context)
        if shift and b >= width:
            return OpParts(_too_far(context, b, width))
        exact: dict[bool, int] = {}
        rows: Rows = []
        for signed in (True, False):
            reading = Reading(width, signed)
            x, y = number(reading, a), b if shift else number(reading, b)
            exact[signed] = exactly(x, y)
            formula = f"{integer_text(x)} {symbol}{integer_text(y)} = {integer_text(exact[signed])}"
            rows.append((_NAMES[signed], f"{formula}, {_wrapped(reading, exact[signed])}"))
        if exact[False] >> width > 0:
            rows.append(("bits", _cut(exact[False], width, exact[False].bit_length())))
        flags, reasons = _overflow(context, width, exact)
        fits = [_NAMES[signed] for signed in exact if _fits(Reading(width, signed), exact[signed])]
        rule = f"exact, read as {' or '.join(fits)}" if fits else f"the exact result modulo 2^{width}"
        return OpParts(_fault(context, reasons) or rule, exact=Fraction(exact[True]), story=(*rows, *flags))

    return explain


def _cut(exact: int, kept: int, whole: int) -> str:
    """Show which of ``whole`` bits are cut, so that ``kept`` bits are left."""
    lowest = bits_of_integer(exact & _all_bits(kept), kept) or "no bits"
    return f"{bits_of_integer(exact >> kept, whole - kept)} | {lowest}: the bits before the bar are cut"


def _all_bits(width: int) -> int:
    return (1 << width) - 1


def _too_far(context: OpContext, amount: int, width: int) -> str:
    reasons = {integer.SHIFT_TOO_FAR: f"{integer_text(amount)}, and the width is {width}"}
    return _fault(context, reasons) or ""


_TRUNCATED, _DOWN, _UP = "toward zero", "down", "up"
_ROUNDED: Mapping[str, Callable[[Fraction], int]] = {
    _TRUNCATED: lambda x: x.__trunc__(),
    _DOWN: lambda x: x.__floor__(),
    _UP: lambda x: x.__ceil__(),
}


def division(signed: bool, rounds: str, remainder: bool = False) -> Explainer:
    """Return the explainer of a division or a remainder. ``rounds``: how the quotient is rounded."""

    def explain(context: OpContext) -> OpParts:
        reading = Reading(_width(context), signed)
        x, y = (number(reading, code) for code in _codes(context))
        if not y:
            return OpParts(_fault(context, {}) or "")
        exact = Fraction(x, y)
        whole = _ROUNDED[rounds](exact)
        rest = x - whole * y
        formula = f"{integer_text(x)} / {integer_text(y)}"
        rounded = integer_text(whole) if exact == whole else f"{exact_text(exact)}, {rounds}: {integer_text(whole)}"
        rows: Rows = [(_NAMES[signed], f"{formula} = {rounded}")]
        if rest or remainder:
            product = f"{integer_text(whole)} * {integer_text(y)}"
            rows.append(("remainder", f"{integer_text(x)} - {product} = {integer_text(rest)}"))
        if remainder:
            return OpParts(
                _fault(context, {}) or "the remainder has the sign of the dividend" * signed or "the remainder",
                exact=Fraction(rest),
                story=tuple(rows),
            )
        reasons = {
            integer.INEXACT_DIVISION: f"the remainder is {integer_text(rest)}",
            integer.DIVISION_OVERFLOW: f"{integer_text(whole)} is {_place(reading, whole)}",
        }
        if integer.INEXACT_DIVISION in context.faults:
            rows.append(("exact", f"the remainder must be 0: it is {integer_text(rest)}"))
        rule = f"{_NAMES[signed]} division, {'exact' if not rest else f'rounded {rounds}'}"
        return OpParts(_fault(context, reasons) or rule, exact=exact, story=tuple(rows))

    return explain


def exact_text(exact: Fraction) -> str:
    """Return the text of a quotient, as a fraction."""
    return f"{integer_text(exact.numerator)}/{integer_text(exact.denominator)}"


def shift_right(signed: bool) -> Explainer:
    """Return the explainer of a shift to the right: a division by a power of two, rounded down."""

    def explain(context: OpContext) -> OpParts:
        reading = Reading(_width(context), signed)
        a, b = _codes(context)
        if b >= reading.width:
            return OpParts(_too_far(context, b, reading.width))
        x = number(reading, a)
        out = a & ((1 << b) - 1)
        exact = Fraction(x, 1 << b)
        shown = integer_text(x >> b) if not out else f"{exact_text(exact)}, down: {integer_text(x >> b)}"
        rows: Rows = [(_NAMES[signed], f"{integer_text(x)} / 2^{b} = {shown}")]
        if b:
            bits = f"{bits_of_integer(a >> b, reading.width - b)} | {bits_of_integer(out, b)}"
            moved = "copies of the sign bit" if signed else "zeros"
            rows.append(("bits", f"{bits}: the bits behind the bar are shifted out; {moved} move in"))
        reasons = {integer.INEXACT_SHIFT: f"{bits_of_integer(out, b)} is not 0"}
        if integer.INEXACT_SHIFT in context.faults:
            rows.append(("exact", f"the bits shifted out must be 0: {'they are' if not out else 'they are not'}"))
        rule = f"{_NAMES[signed]} division by 2^{b}, {'exact' if not out else 'rounded down'}"
        return OpParts(_fault(context, reasons) or rule, exact=exact, story=tuple(rows))

    return explain


def bitwise(words: str) -> Explainer:
    """Return the explainer of an op on each pair of bits. ``words``: what it does, in words."""

    def explain(context: OpContext) -> OpParts:
        width = _width(context)
        rows = [(operand.name, bits_of_integer(operand.known, width) or "no bits") for operand in context.operands]
        return OpParts(f"each bit is 1 if {words}", story=tuple(rows))

    return explain


def extremum(signed: bool, largest: bool) -> Explainer:
    """Return the explainer of a maximum or a minimum."""

    def explain(context: OpContext) -> OpParts:
        reading = Reading(_width(context), signed)
        x, y = (number(reading, code) for code in _codes(context))
        chosen = max(x, y) if largest else min(x, y)
        which = "both are the same" if x == y else f"{integer_text(chosen)} is the {'larger' if largest else 'smaller'}"
        return OpParts(
            f"{which}, read as {_NAMES[signed]}",
            exact=Fraction(chosen),
            story=((_NAMES[signed], f"{integer_text(x)} and {integer_text(y)}"),),
        )

    return explain


_RELATIONS: Mapping[str, tuple[str, Callable[[int, int], bool]]] = {
    "eq": ("equal to", operator.eq),
    "ne": ("not equal to", operator.ne),
    "lt": ("less than", operator.lt),
    "le": ("less than or equal to", operator.le),
    "gt": ("greater than", operator.gt),
    "ge": ("greater than or equal to", operator.ge),
}


def comparison(context: OpContext) -> OpParts:
    """Return the explanation of an arith.cmpi."""
    predicate = str(context.properties["predicate"])
    words, holds = _RELATIONS[predicate[-2:]]
    signed = predicate[0] != "u"
    reading = Reading(_width(context), signed)
    x, y = (number(reading, code) for code in _codes(context))
    truth = holds(x, y)
    rule = f"{integer_text(x)} is {'' if truth else 'not '}{words} {integer_text(y)}: {'true' if truth else 'false'}"
    return OpParts(rule, exact=Fraction(truth), story=((_NAMES[signed], f"{integer_text(x)} and {integer_text(y)}"),))


def extended(symbol: str, exactly: Callable[[int, int], int], signed: bool, halves: bool) -> Explainer:
    """Return the explainer of an op with two results: a sum and its carry, or the two ``halves`` of a product."""

    def explain(context: OpContext) -> OpParts:
        width = _width(context)
        reading = Reading(width, signed)
        x, y = (number(reading, code) for code in _codes(context))
        exact = exactly(x, y)
        high, low = exact >> width, exact & ((1 << width) - 1)
        sign = "-" if high < 0 else "+"
        rows: Rows = [
            (_NAMES[signed], f"{integer_text(x)} {symbol} {integer_text(y)} = {integer_text(exact)}"),
            ("parts", f"{integer_text(exact)} = {integer_text(low)} {sign} {integer_text(abs(high))} * 2^{width}"),
        ]
        place = f"{integer_text(exact)} is {_place(reading, exact)}"
        if halves:
            rule = "the low and the high half of the exact product"
        elif _fits(reading, exact):
            rule = f"exact: {place}, so the second result is 0"
        else:
            rule = f"the exact result modulo 2^{width}: {place}, so the second result is 1"
        return OpParts(rule, exact=Fraction(exact), story=tuple(rows))

    return explain


def resizing(signed: bool) -> Explainer:
    """Return the explainer of a cast between integers: which bits are cut, or which are added."""

    def explain(context: OpContext) -> OpParts:
        (a,), width, to = _codes(context), _width(context), width_of(context.result)
        x = number(Reading(width, signed), a)
        rows: Rows = []
        for each in (True, False):
            before, after = Reading(width, each), Reading(to, each)
            rows.append(
                (
                    _NAMES[each],
                    f"{integer_text(number(before, a))} becomes {integer_text(number(after, x & _all_bits(to)))}",
                )
            )
        reasons: dict[Fault, str] = {
            integer.NEGATIVE: f"the sign bit of {integer_text(number(Reading(width, True), a))} is set"
        }
        if to < width:
            rows.append(("bits", _cut(a, to, width)))
            flags, more = _overflow(context, to, {each: number(Reading(width, each), a) for each in (True, False)})
            rows, reasons = [*rows, *flags], {**reasons, **more}
            rule = f"the lowest {to} bits"
        else:
            rule = f"{to - width} {'copies of the sign bit' if signed else 'zeros'} before the bits"
        if integer.NEGATIVE in context.faults:
            rows.append(("nneg", f"the sign bit must be 0: it is {int(number(Reading(width, True), a) < 0)}"))
        return OpParts(_fault(context, reasons) or rule, exact=Fraction(x), story=tuple(rows))

    return explain


BINARY: Mapping[str, Explainer] = {
    "arith.addi": wrapping("+ ", operator.add),
    "arith.subi": wrapping("- ", operator.sub),
    "arith.muli": wrapping("* ", operator.mul),
    "arith.shli": wrapping("* 2^", lambda x, y: x << y, shift=True),
    "arith.divsi": division(signed=True, rounds=_TRUNCATED),
    "arith.divui": division(signed=False, rounds=_DOWN),
    "arith.floordivsi": division(signed=True, rounds=_DOWN),
    "arith.ceildivsi": division(signed=True, rounds=_UP),
    "arith.ceildivui": division(signed=False, rounds=_UP),
    "arith.remsi": division(signed=True, rounds=_TRUNCATED, remainder=True),
    "arith.remui": division(signed=False, rounds=_DOWN, remainder=True),
    "arith.shrsi": shift_right(signed=True),
    "arith.shrui": shift_right(signed=False),
    "arith.andi": bitwise("both bits are 1"),
    "arith.ori": bitwise("one of the two bits is 1, or both"),
    "arith.xori": bitwise("the two bits differ"),
    "arith.maxsi": extremum(signed=True, largest=True),
    "arith.maxui": extremum(signed=False, largest=True),
    "arith.minsi": extremum(signed=True, largest=False),
    "arith.minui": extremum(signed=False, largest=False),
    "arith.cmpi": comparison,
    "arith.addui_extended": extended("+", operator.add, signed=False, halves=False),
    "arith.subui_extended": extended("-", operator.sub, signed=False, halves=False),
    "arith.mulsi_extended": extended("*", operator.mul, signed=True, halves=True),
    "arith.mului_extended": extended("*", operator.mul, signed=False, halves=True),
}
"""The integer ops on two operands of one type, with their explainers."""
CASTS: Mapping[str, Explainer] = {
    "arith.extsi": resizing(signed=True),
    "arith.extui": resizing(signed=False),
    "arith.trunci": resizing(signed=False),
    "arith.index_cast": resizing(signed=True),
    "arith.index_castui": resizing(signed=False),
}
"""The casts between integers, with their explainers."""
