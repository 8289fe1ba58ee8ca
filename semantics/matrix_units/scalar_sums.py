"""The specification of an `Accumulator`: one element of D at a time, on exact Python numbers.

`aligned_sums` does the same on arrays and must agree bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import floor

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import as_rounding
from halfulp.fp_formats.scalar import OVERFLOW, RD
from halfulp.semantics.matrix_units.accumulator import KEPT, OWN, TO_ODD, Accumulator, places_of, shape_of
from halfulp.semantics.matrix_units.kinds import TileOp

Scales = tuple[Sequence[int], Sequence[int]]


@dataclass(frozen=True)
class Term:
    """A term of a sum. ``exponent``: the exponent by which it is aligned; None for a zero that does not count.

    ``zeros``: whether the term consists only of -0, and whether it consists only of +0; both are False if it is not a
    zero. ``special``: "nan" for a NaN, 1 for +infinity, -1 for -infinity; None for a number.
    """

    value: Fraction
    exponent: int | None
    zeros: tuple[bool, bool] = (False, False)
    special: str | int | None = None


@dataclass(frozen=True)
class RegisterStep:
    """One group that is added to a register in fixed point, in units of 2**``lsb``.

    ``places``: the places along K of its products; ``values``: these products, exact, and ``kept``: each as it is
    added. ``before``: the register before the group; ``total``: the sum, and ``held``: what the register holds of
    it. ``c``: the exact number that the register was loaded with, in the first group of an instruction.
    """

    places: tuple[int, ...]
    values: tuple[Fraction, ...]
    kept: tuple[int, ...]
    lsb: int
    cut: str
    before: int
    total: int
    held: int
    c: Fraction | None = None


@dataclass(frozen=True)
class Group:
    """The factors of one group at these places along K: those of A and B, and their scales."""

    rule: Accumulator
    op: TileOp
    a: Sequence[int]
    b: Sequence[int]
    scales: Scales | None
    places: Sequence[int]


def accumulate(
    rule: Accumulator,
    op: TileOp,
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    scales: Scales | None = None,
    steps: list[RegisterStep] | None = None,
) -> int:
    """Return A * B + C for a row of A, a column of B and an element of C, as codes: a code of D.

    K is that of the operation, or a multiple: then there are several instructions. ``scales``: one for each
    ``op.block`` elements. ``steps``: the steps of a register in fixed point are added to it. Raises ValueError if the
    rule cannot be used with the types.
    """
    rule.check((op.a, op.b), op.d, op.scale)
    places, at_end, size = places_of(rule, op, len(a)), rule.c == "end", op.shape[2]
    if rule.steps != OWN:
        into = FORMATS[rule.steps]
        a, b = ([scalar.convert(FORMATS[name], into, x).code for x in codes] for name, codes in ((op.a, a), (op.b, b)))
        op = replace(op, a=rule.steps, b=rule.steps)
    rule = rule.of_a_step
    each = _integers if op.d not in FORMATS else _floats
    if rule.plain and not op.scale and op.d in FORMATS:
        each = _chain if rule.chain else _plain_tree
    c = c if op.d not in FORMATS else scalar.convert(FORMATS[op.c], FORMATS[op.d], c).code
    group = min(rule.group or size, size)
    for start in range(0, len(a), size):
        instruction, before = places[start : start + size], c
        c = 0 if at_end else c
        if rule.lsb is not None:
            groups = [instruction[first : first + group] for first in range(0, len(instruction), group)]
            c = _in_register(Group(rule, op, a, b, scales, instruction), groups, c, steps)
        for first in range(0, len(instruction) if rule.lsb is None else 0, group):
            c = each(Group(rule, op, a, b, scales, instruction[first : first + group]), c)
        if at_end:
            c, before = (0 if rule.flush and _is_small(FORMATS[op.d], code) else code for code in (c, before))
            c = scalar.add(FORMATS[op.d], before, c).code
        if rule.flush and op.d in FORMATS:
            c = _flushed(FORMATS[op.d], c)
    if op.d in FORMATS and scalar.unpack(FORMATS[op.d], c).kind in (scalar.QUIET_NAN, scalar.SIGNALLING_NAN):
        return c if rule.nan == "payload" else nan_of(rule, FORMATS[op.d])
    return c


def nan_of(rule: Accumulator, fmt: FloatFormat) -> int:
    """Return the code of ``fmt`` that a NaN result has under the rule."""
    return fmt.code_mask >> 1 if rule.nan == "ones" else fmt.nan_code or 0


# Floats.


def _floats(group: Group, c: int) -> int:
    rule, op = group.rule, group.op
    d = FORMATS[op.d]
    products = [_product(group, k) for k in group.places]
    if rule.dot > 1:
        products = _dots(group, products)
    if rule.products == "rounded":
        products = [_term(rule, d, _rounded(rule, op.d, each, rule.partial, partial=True)) for each in products]
    addend = _term(rule, d, c)
    bits, wide = rule.bits, None if rule.bits is None else rule.bits + rule.guard
    leaves = [addend, *products] if rule.c == "with" else products

    def of(term: Term) -> tuple[str, int | None]:
        return rule.cut, rule.c_shifter if term is addend else rule.shifter

    if rule.tree == "flat":
        total = _sum(rule, [(term, *of(term), bits) for term in leaves])
    elif rule.tree == "even_odd":
        halves = [leaves[start::2] for start in range(min(len(leaves), 2))]
        sums = [_partial(rule, op, _sum(rule, [(term, *of(term), bits) for term in half])) for half in halves]
        total = _sum(rule, [(half, rule.cut_sums, rule.shifter, bits) for half in sums]) if len(sums) > 1 else sums[0]
    else:
        terms, additions = list(leaves), shape_of(rule.tree, len(leaves))
        for number, (left, right) in enumerate(additions):
            pair = [
                (terms[n], *(of(terms[n]) if n < len(leaves) else (rule.cut_sums, rule.shifter)), bits)
                for n in (left, right)
            ]
            total = _sum(rule, pair)
            terms.append(total if number == len(additions) - 1 else _partial(rule, op, total))
        total = terms[-1]
    if rule.c == "last":
        before = _partial(rule, op, total)
        total = _sum(rule, [(before, rule.cut_sums, rule.shifter, wide), (addend, rule.cut_sums, rule.c_shifter, bits)])
    return _rounded(rule, op.d, total, rule.rounding)


def _term(rule: Accumulator, fmt: FloatFormat, code: int) -> Term:
    """Return the term that a code of C or of a partial sum is."""
    if rule.flush and _is_small(fmt, code):
        code = 0
    x = scalar.unpack(fmt, code)
    if x.kind == scalar.INFINITE:
        return Term(Fraction(0), None, special=-1 if x.sign else 1)
    if x.kind != scalar.FINITE:
        return Term(Fraction(0), None, special="nan")
    number = scalar.number(x)
    exponent = rule.zero_exponent if not number else x.exponent + fmt.mantissa_bits
    return Term(number, exponent, (not number and x.sign == 1, not number and x.sign == 0))


def _product(group: Group, k: int) -> Term:
    scales = tuple(side[k // group.op.block] for side in group.scales or ())
    return _product_of(group.rule, group.op, group.a[k], group.b[k], scales)


@lru_cache(maxsize=4096)  # most products of a row are often zeros
def _product_of(rule: Accumulator, op: TileOp, a: int, b: int, scales: tuple[int, ...]) -> Term:
    factors = [_term(rule, FORMATS[op.a], a), _term(rule, FORMATS[op.b], b)]
    for scale in scales:
        factor = _term(rule, FORMATS[op.scale], scale)
        factors.append(Term(abs(factor.value), factor.exponent, special=factor.special) if rule.dot > 1 else factor)
    value, negative = Fraction(1), False
    for factor in factors:
        value *= factor.value
        negative ^= factor.value < 0 or factor.zeros[0] or factor.special == -1
    if any(factor.special == "nan" for factor in factors):
        return Term(Fraction(0), None, special="nan")
    if any(factor.special for factor in factors):
        nan = any(not factor.special and not factor.value for factor in factors)
        return Term(Fraction(0), None, special="nan" if nan else -1 if negative else 1)
    exponents = [factor.exponent for factor in factors]
    exponent = None if None in exponents else sum(each for each in exponents if each is not None)
    if rule.product_overflow and abs(value) >= Fraction(2) ** (FORMATS[op.d].emax + 1):
        return Term(Fraction(0), None, special=-1 if negative else 1)
    return Term(value, exponent, (not value and negative, not value and not negative))


def _dots(group: Group, products: Sequence[Term]) -> list[Term]:
    """Add products with the same scales exactly; the sum has the exponent of the scales."""
    rule, op, scales = group.rule, group.op, group.scales
    assert scales is not None
    found = []
    for start in range(0, len(products), rule.dot):
        members = products[start : start + rule.dot]
        factors = [_term(rule, FORMATS[op.scale], side[group.places[start] // op.block]) for side in scales]
        special = next((each.special for each in members if each.special), None)
        exponents = [factor.exponent for factor in factors if factor.exponent is not None]
        value = sum((each.value for each in members), Fraction(0))
        whole = len(exponents) == len(factors) and (value != 0 or rule.zero_exponent is not None)
        found.append(Term(value, sum(exponents) if whole else None, special=special))
    return found


def _sum(rule: Accumulator, terms: Sequence[tuple[Term, str, int | None, int | None]]) -> Term:
    """Add terms, each with its rounding when aligned, its longest shift, and the bits that it keeps."""
    specials = {term.special for term, *_ in terms} - {None}
    if specials:
        return Term(Fraction(0), None, special=specials.pop() if len(specials) == 1 else "nan")
    zeros = all(term.zeros[0] for term, *_ in terms), all(term.zeros[1] for term, *_ in terms)
    exponents = [term.exponent for term, *_ in terms if term.exponent is not None]
    if rule.bits is None or not exponents:
        return Term(sum((term.value for term, *_ in terms), Fraction(0)), None, zeros)
    largest, total = max(exponents), Fraction(0)
    for term, cut, shifter, bits in terms:
        assert bits is not None
        if term.exponent is not None and (shifter is None or largest - term.exponent <= shifter):
            total += _cut(term.value, largest - bits, cut)
    return Term(total, largest, zeros)


def _cut(value: Fraction, place: int, how: str) -> Fraction:
    """Round a number to a multiple of 2**place."""
    unit = Fraction(2) ** place
    quotient = value / unit
    if how == TO_ODD:
        whole = floor(quotient)
        return (whole if whole == quotient else whole | 1) * unit
    magnitude = abs(quotient)
    if magnitude.denominator == 1:
        return value
    shift = magnitude.denominator.bit_length() - 1
    kept, _ = scalar.round_to_integer(int(value < 0), magnitude.numerator, shift, as_rounding(how), None)
    return (-kept if value < 0 else kept) * unit


def _partial(rule: Accumulator, op: TileOp, total: Term) -> Term:
    """Return a partial sum in the form in which it enters the next addition."""
    if rule.partial == KEPT:
        return total
    return _term(rule, FORMATS[op.d], _rounded(rule, op.d, total, rule.partial, partial=True))


def _rounded(rule: Accumulator, d: str, term: Term, how: str, partial: bool = False) -> int:
    """Round a sum to a code of D."""
    fmt, mode = FORMATS[d], as_rounding(how)
    sign_bit = fmt.sign_mask or 0
    if term.special == "nan":
        return nan_of(rule, fmt)
    if term.special:
        return (fmt.infinity_code or 0) | (sign_bit if term.special == -1 else 0)
    narrow = rule.sum_format(d)
    places = fmt.mantissa_bits - narrow.mantissa_bits
    found = scalar.from_fraction(narrow, term.value, mode)
    code = found.code << places
    if found.flags & OVERFLOW and rule.overflow != "default":
        magnitude = fmt.infinity_code if rule.overflow == "infinity" else narrow.max_code << places
        code = (magnitude or 0) | (sign_bit if term.value < 0 else 0)
    if not term.value and rule.zero == "ieee":
        minus, plus = term.zeros
        code = sign_bit if (minus or (mode == RD and not plus)) else 0
    if rule.zero == "positive" and code == sign_bit:
        code = 0
    return _flushed(fmt, code) if partial and rule.flush else code


def _is_small(fmt: FloatFormat, code: int) -> bool:
    return code & (fmt.code_mask >> 1 if fmt.signed else fmt.code_mask) < fmt.min_normal_code


def _flushed(fmt: FloatFormat, code: int) -> int:
    """Replace a subnormal by a zero of the same sign."""
    return code & (fmt.sign_mask or 0) if _is_small(fmt, code) else code


# A register in fixed point.


def held_by(rule: Accumulator, number: int) -> int:
    """Return what a register in fixed point holds after a number is written to it: the number wrapped or saturated.
    Both are in units of its last place.
    """
    if rule.msb is None or rule.lsb is None:
        return number
    half = 1 << rule.msb - rule.lsb
    if rule.register_overflow == "saturate":
        return max(-half, min(number, half - 1))
    return (number + half) % (2 * half) - half


def _in_register(instruction: Group, groups: Sequence[Sequence[int]], c: int, steps: list[RegisterStep] | None) -> int:
    """Add the groups of an instruction to C in a register, and return the code of D."""
    rule, op, lsb = instruction.rule, instruction.op, instruction.rule.lsb
    assert lsb is not None
    d = FORMATS[op.d]
    unit = Fraction(2) ** lsb
    addend = _term(rule, d, c)
    products = {k: _product(instruction, k) for k in instruction.places}
    specials = {term.special for term in (addend, *products.values())} - {None}
    if specials:
        special = specials.pop() if len(specials) == 1 else "nan"
        return _rounded(rule, op.d, Term(Fraction(0), None, special=special), rule.rounding)
    register = held_by(rule, int(_cut(addend.value, lsb, rule.cut) / unit))
    for number, group in enumerate(groups):
        values = tuple(products[k].value for k in group)
        kept = tuple(int(_cut(value, lsb, rule.cut) / unit) for value in values)
        total = register + sum(kept)
        held = held_by(rule, total)
        if steps is not None:
            loaded = None if number else addend.value
            steps.append(RegisterStep(tuple(group), values, kept, lsb, rule.cut, register, total, held, loaded))
        register = held
    return _rounded(rule, op.d, Term(register * unit, None, (False, register == 0)), rule.rounding)


# Rules of IEEE operations.


def _factors(group: Group, k: int) -> tuple[int, int]:
    """Return the factors of A and B at an index along K as codes of D's format, for the IEEE operations."""
    found = []
    for name, code in ((group.op.a, group.a[k]), (group.op.b, group.b[k])):
        fmt = FORMATS[name]
        code = 0 if group.rule.flush and _is_small(fmt, code) else code
        found.append(scalar.convert(fmt, FORMATS[group.op.d], code).code)
    return found[0], found[1]


def _chain(group: Group, c: int) -> int:
    for k in group.places:
        c = scalar.fma(FORMATS[group.op.d], *_factors(group, k), c).code
    return c


def _plain_tree(group: Group, c: int) -> int:
    rule, d = group.rule, FORMATS[group.op.d]

    def done(code: int) -> int:
        return _flushed(d, code) if rule.flush else code

    terms = [done(scalar.multiply(d, *_factors(group, k)).code) for k in group.places]
    for left, right in shape_of(rule.tree, len(terms)):
        terms.append(done(scalar.add(d, terms[left], terms[right]).code))
    return scalar.add(d, 0 if rule.flush and _is_small(d, c) else c, terms[-1]).code


# Integers.


def _integers(group: Group, c: int) -> int:
    rule, op = group.rule, group.op

    def signed(type_: str, code: int) -> int:
        width = int(type_[1:])
        return code - (code >> (width - 1) << width)

    width = rule.width or int(op.d[1:])

    def held(number: int) -> int:
        if rule.overflow == "saturate":
            return max(-(1 << (width - 1)), min(number, (1 << (width - 1)) - 1))
        return signed(f"i{width}", number & ((1 << width) - 1))

    products = [signed(op.a, group.a[k]) * signed(op.b, group.b[k]) for k in group.places]
    addend = held(signed(op.c, c))
    leaves = [addend, *products] if rule.c == "with" else products
    if rule.tree == "flat":
        terms = [sum(leaves)]
    elif rule.tree == "even_odd":
        terms = [held(sum(leaves[0::2])) + held(sum(leaves[1::2]))]
    else:
        terms = [held(term) for term in leaves]
        for left, right in shape_of(rule.tree, len(leaves)):
            terms.append(held(terms[left] + terms[right]))
    total = held(terms[-1])
    return (held(total + addend) if rule.c == "last" else total) & ((1 << int(op.d[1:])) - 1)
