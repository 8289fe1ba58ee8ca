"""The sums of an `Accumulator` on machine words: one description of a group, from which loops of machine code are made.

`halfulp.fp_formats.paths.words` tells what a description is. `scalar_sums` is the specification, and `aligned_sums`
computes on arrays of NumPy what these descriptions refuse, and the rules that have none. `machine_sums` makes the
loops.

A description takes the words of both sides, A and B, by the names of their fields (`Side`), and words that stay from
one group to the next, such as C. It returns these words anew.

- `Decoded` takes numbers apart, once for all groups: into significands, exponents and kinds.
- `Group` adds the terms of a group to C, by integers.
- `Largest`, `Adding` and `Ending` do the same in three passes, for groups of any length without a tree.
- `Loading`, `Register` and `Storing` add the products of an instruction in a register in fixed point.
- `Chain` and `Tree` are the rules of IEEE operations, on codes in the format of C.

The *kind* of a number is a code of bf16: an infinity or a NaN for these, else 0, 1 or -1. The sum of the products of
kinds, in f32, is finite, infinite or NaN where the sum of the products of the numbers is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from typing import NamedTuple, Self

from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths import word_flags, word_floats
from halfulp.fp_formats.paths.word_rounding import bit, operand
from halfulp.fp_formats.paths.words import F32, F64, Implementation, Real, Word
from halfulp.fp_formats.policy import SPEC, Rounding, as_rounding
from halfulp.fp_formats.scalar import RNE
from halfulp.semantics.matrix_units.accumulator import KEPT, Accumulator, level_of, shape_of
from halfulp.semantics.matrix_units.aligned_sums import NO_EXPONENT
from halfulp.semantics.matrix_units.scalar_sums import nan_of

MOST = 64
"""The most products of a group whose code is written out."""
STEP = 16
"""The products of a group of any length whose code is written out."""
_TOGETHER = 4
"""The terms of a sum from which it pays to align them in words of 32 bits, if the sum needs 64."""
CHAINED = 8
"""The multiply-adds of a chain whose code is written out."""
_SHIFTED_ALONE = ("toward_zero", "downward")
_ONE, _INFINITE, _NAN = 0x3F80, 0x7F80, 0x7FC0  # kinds


# --- numbers ----------------------------------------------------------------------------------------------------------


class Zeros(NamedTuple):
    """What is a zero: ``flush``: whether subnormals are. ``exponent``: that of zeros."""

    flush: bool
    exponent: int


def zeros_of(rule: Accumulator) -> Zeros:
    """Return how a rule treats zeros."""
    return Zeros(rule.flush, NO_EXPONENT if rule.zero_exponent is None else rule.zero_exponent)


class Parts(NamedTuple):
    """A finite code taken apart, as `aligned_sums.decode` does. ``size``: the significand without its sign."""

    size: Word
    exponent: Word
    negative: Word


def split(fmt: FloatFormat, code: Word, width: int, zeros: Zeros) -> Parts:
    """Take a code apart. ``width``: the bits of the significand; the exponent has 32 bits."""
    magnitude = code & fmt.magnitude_mask
    negative = (code & (fmt.sign_mask or 0)).differs(0) if fmt.signed else bit(code, 0)
    field = magnitude.shift_right(fmt.mantissa_bits)
    fraction = magnitude & fmt.fraction_mask
    size = fraction | (1 << fmt.mantissa_bits)
    if not fmt.zero:
        return Parts(size.resized(width), field.resized(32) - fmt.bias, negative)
    subnormal = field.equals(0)
    size = subnormal.choose(fraction.of(0) if zeros.flush else fraction, size).resized(width)
    exponent = subnormal.choose(field.of(1), field).resized(32) + (fmt.emin - 1)
    return Parts(size, size.equals(0).choose(exponent.of(zeros.exponent), exponent), negative)


def _kind(fmt: FloatFormat, code: Word, parts: Parts) -> tuple[Word, Word]:
    """Return the kind of a code, and whether it is special."""
    x = operand(fmt, code, SPEC)
    word = parts.size.resized(16)
    finite = parts.size.equals(0).choose(word.of(0), word.of(_ONE))
    kind = x.nan.choose(word.of(_NAN), x.infinite.choose(word.of(_INFINITE), finite))
    return parts.negative.choose(kind | 0x8000, kind), x.nan | x.infinite


def _number(kind: Word) -> Real:
    return (kind.resized(32) << 16).real(F32)


@dataclass(frozen=True)
class Decoded:
    """The fields of an element: of its code, or of its product with its scale, whose codes have these formats.

    ``alone``: a factor of a sum of products with the same scales: its significand is in units of the least number.
    Special elements count as zeros, and are refused, so that the loop tells whether there are any.
    """

    formats: tuple[FloatFormat, ...]
    zeros: Zeros
    alone: bool = False

    @property
    def bits(self) -> int:
        """The bits of the significands, with the sign."""
        return sum(fmt.precision for fmt in self.formats) + 1 + (2 if self.alone else 0)

    def __call__(self, *codes: Word) -> tuple[Word, ...]:
        """Return the significand, signed, the exponent in 16 bits, and the kind."""
        width = next(each for each in (8, 16, 32) if self.bits <= each)
        parts = [split(*each, width, self.zeros) for each in zip(self.formats, codes, strict=True)]
        found = [_kind(*each) for each in zip(self.formats, codes, parts, strict=True)]
        size, exponent, negative = parts[0]
        kind, special = found[0]
        for more, (other, wrong) in zip(parts[1:], found[1:], strict=True):
            size, exponent = size * more.size, exponent + more.exponent
            negative, special = negative ^ more.negative, special | wrong
            kind = (_number(kind) * _number(other)).code().shift_right(16).resized(16)
        if self.alone:
            size = size << exponent.less(0, signed=True).choose(exponent.of(0), exponent).resized(width)
        special.refuse()
        size = special.choose(size.of(0), size)
        least = exponent.of(NO_EXPONENT)
        exponent = exponent.less(NO_EXPONENT, signed=True).choose(least, exponent)
        exponent = special.choose(exponent.of(0), exponent)
        return negative.choose(size.of(0) - size, size), exponent.resized(16), kind


# --- terms ------------------------------------------------------------------------------------------------------------


Side = Callable[[str, int], Word]
"""The words of A, or of B, for one element of D: number ``k`` of a field in the group, by the name of the field and
``k``.
"""


class Term(NamedTuple):
    """A term: a signed significand, its exponent (32 bits), and as in `aligned_sums.Terms` how it is aligned."""

    significand: Word
    exponent: Word
    fraction_bits: int
    cut: str
    bits: int
    shifter: int | None


@dataclass(frozen=True)
class Products:
    """The products of a group: ``count`` terms, each of them the sum of ``dot`` products, with these fraction bits.

    ``above``: the bits of a term above the place of its exponent. ``kinds``: whether factors may be special, and
    products infinite.
    """

    rule: Accumulator
    fmt: FloatFormat
    count: int
    fraction_bits: int
    above: int
    kinds: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields of a side."""
        scale = ("scale",) if self.rule.dot > 1 else ()
        return ("significand", "exponent", *(("kind",) if self.kinds else ()), *scale)

    def taken(self, field: str) -> int:
        """Return how many entries of a field a group has."""
        return self.count * (self.rule.dot if field == "significand" else 1)

    @property
    def width(self) -> int:
        """The bits of a significand."""
        return 32 if self.fraction_bits + self.above + 1 <= 32 else 64

    def terms(self, a: Side, b: Side, count: int | None = None) -> tuple[list[tuple[Word, Word]], Real | None]:
        """Return the significands and exponents of the terms, and the sum of their kinds. ``count``: that of the terms,
        if not of all.
        """
        found, total = list[tuple[Word, Word]](), None
        for number in range(self.count if count is None else count):
            significand, exponent, kind = self._term(a, b, number)
            found.append((significand, exponent))
            if kind is not None:
                total = kind if total is None else total + kind
        return found, total

    def _term(self, a: Side, b: Side, number: int) -> tuple[Word, Word, Real | None]:
        rule, dot = self.rule, self.rule.dot
        significand: Word | None = None
        for k in range(number * dot, (number + 1) * dot):
            x, y = (side("significand", k).resized(self.width, signed=True) for side in (a, b))
            significand = x * y if significand is None else significand + x * y
        assert significand is not None
        exponent, other = (side("exponent", number).resized(32, signed=True) for side in (a, b))
        exponent = exponent + other
        kind: Real | None = None
        if self.kinds:
            kind = _number(a("kind", number)) * _number(b("kind", number))
        if dot > 1:
            for side in (a, b):
                scale = side("scale", number).resized(self.width, signed=True)
                significand = significand * scale.less(0, signed=True).choose(scale.of(0) - scale, scale)
            if rule.zero_exponent is None:
                exponent = significand.equals(0).choose(exponent.of(NO_EXPONENT), exponent)
        if kind is not None and rule.product_overflow:
            kind = self._beyond(significand, exponent).choose(kind * kind.of(float("inf")), kind)
        return significand, exponent, kind

    def _beyond(self, significand: Word, exponent: Word) -> Word:
        """Tell whether a product is from 2**(emax + 1) on; see `aligned_sums.products_by`."""
        down = exponent.of(self.fmt.emax + 1 + self.fraction_bits) - exponent
        down = down.less(0, signed=True).choose(down.of(0), down)
        down = down.less(self.width, signed=True).choose(down, down.of(self.width - 1)).resized(self.width)
        size = significand.less(0, signed=True).choose(significand.of(0) - significand, significand)
        return size.shift_right(down).differs(0)


# --- aligned sums -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Aligned:
    """What the descriptions of aligned sums have in common. ``width``: the bits of the words that hold sums.
    ``narrow``: those of the words in which terms are aligned, of which so many can be added as ``together`` says.
    """

    products: Products
    width: int
    narrow: int
    together: int

    @property
    def rule(self) -> Accumulator:
        """The rule of the sums."""
        return self.products.rule

    @property
    def fmt(self) -> FloatFormat:
        """The format of C and D."""
        return self.products.fmt

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a side that the description takes."""
        return self.products.fields

    def taken(self, field: str) -> int:
        """Return how many entries of a field the description takes."""
        return self.products.taken(field)

    @property
    def commutes(self) -> bool:
        """Whether A and B can be exchanged."""
        return True

    def with_kinds(self) -> Self:
        """Return the description for factors of which some are infinite or NaN, or whose products may be infinite."""
        return replace(self, products=replace(self.products, kinds=True))

    @property
    def _bits(self) -> int:
        assert self.rule.bits is not None
        return self.rule.bits

    def _term(self, significand: Word, exponent: Word) -> Term:
        rule, narrow = self.rule, significand.resized(self.narrow, signed=True)
        return Term(narrow, exponent, self.products.fraction_bits, rule.cut, self._bits, rule.shifter)

    def _addend(self, c: Word) -> Term:
        """Take C apart, into a term."""
        rule = self.rule
        width = self.narrow if rule.c == "with" else self.width
        size, exponent, negative = split(self.fmt, c, width, zeros_of(rule))
        significand = negative.choose(size.of(0) - size, size)
        return Term(significand, exponent, self.fmt.mantissa_bits, rule.cut, self._bits, rule.c_shifter)

    def _settled(self, code: Word, c: Word, kinds: Real | None) -> Word:
        """Return the code of a sum where it is finite; else that of an infinity or a NaN."""
        nan, infinity = code.of(nan_of(self.rule, self.fmt)), self.fmt.infinity_code or 0
        magnitude = c & self.fmt.magnitude_mask
        finite, infinite = magnitude.less(infinity, signed=False), magnitude.equals(infinity)
        if kinds is None:  # an infinite C stays
            return finite.choose(code, infinite.choose(c, nan))
        sign = (c & (self.fmt.sign_mask or 0)).differs(0)
        word = kinds.code()
        endless = sign.choose(word.of((0x8000 | _INFINITE) << 16), word.of(_INFINITE << 16))
        of_c = finite.choose(word.of(0), infinite.choose(endless, word.of(_NAN << 16)))
        total = (kinds + of_c.real(F32)).code()
        size = total & F32.magnitude_mask
        negative = total.shift_right(31).equals(1)
        endless = negative.choose(code.of(infinity | (self.fmt.sign_mask or 0)), code.of(infinity))
        special = size.equals(_INFINITE << 16).choose(endless, nan)
        return size.less(_INFINITE << 16, signed=False).choose(code, special)

    def _sum(self, terms: Sequence[Term], unit: int) -> Term:
        """Align and add; see `aligned_sums.aligned_sum`. The sum is a partial sum, as it enters the next addition."""
        largest = _largest([term.exponent for term in terms])
        total = self._total(terms, largest, unit)
        return Term(total, largest, unit, self.rule.cut_sums, self._bits, self.rule.shifter)

    def _total(self, terms: Sequence[Term], largest: Word, unit: int) -> Word:
        total: Word | None = None
        for start in range(0, len(terms), self.together):
            some = self._added(terms[start : start + self.together], largest, unit).resized(self.width, signed=True)
            total = some if total is None else total + some
        assert total is not None
        return total

    def _added(self, terms: Sequence[Term], largest: Word, unit: int) -> Word:
        total: Word | None = None
        width = max(term.significand.width for term in terms)
        for term in terms:
            kept = self._aligned(term, largest)
            if term.shifter is not None:
                kept = (largest - term.exponent).at_most(term.shifter, signed=True).choose(kept, kept.of(0))
            kept = kept.resized(width, signed=True)
            if unit > term.bits:
                kept = kept << (unit - term.bits)
            total = kept if total is None else total + kept
        assert total is not None
        return total

    def _aligned(self, term: Term, largest: Word) -> Word:
        """Return the significand of a term, aligned to the exponent ``largest``; see `aligned_sums.aligned`."""
        significand, extra = term.significand, term.bits - term.fraction_bits
        width = significand.width
        shift = largest - term.exponent
        if extra > 0:
            significand = significand << extra
        elif extra < 0:
            shift = shift - extra
        # From the end of the range on, nothing is left; or less than half a unit.
        end = width - (1 if term.cut in _SHIFTED_ALONE else 3)
        shift = shift.less(end, signed=False).choose(shift, shift.of(end)).resized(width)
        if term.cut == "toward_zero":
            sign = significand.shift_right(width - 1, signed=True)
            magnitude = ((significand ^ sign) - sign).shift_right(shift)
            return (magnitude ^ sign) - sign
        kept = significand.shift_right(shift, signed=True)
        if term.cut == "downward":
            return kept
        rest = significand - (kept << shift)
        return _rounded_up(kept, rest, shift, as_rounding(term.cut), significand.less(0, signed=True), floor=True)

    def _ended(self, total: Term, addend: Term) -> Word:
        """Return the code of a sum, to which C is added here if it comes last."""
        if self.rule.c == "last":
            unit = self._bits + self.rule.guard
            total = self._sum([total._replace(bits=unit), addend._replace(cut=self.rule.cut_sums)], unit)
        return self._rounded(total)

    def _rounded(self, total: Term) -> Word:
        """Round to a code of D; see `aligned_sums.packed`."""
        rule, fmt, width = self.rule, self.fmt, self.width
        mode, narrow = as_rounding(rule.rounding), rule.sum_format(fmt.name)
        significand = total.significand
        negative = significand.less(0, signed=True)
        zero = significand.equals(0)
        if rule.zero == "ieee" and rule.lsb is None:
            zero.refuse()  # the sign depends on those of all terms; a register has no -0
        size = negative.choose(significand.of(0) - significand, significand)
        unit = total.exponent - total.fraction_bits
        leading = unit + (width - 1) - size.leading_zeros().resized(32)
        lowest = narrow.emin - narrow.mantissa_bits
        last = leading - narrow.mantissa_bits
        last = last.less(lowest, signed=True).choose(last.of(lowest), last)
        right = last - unit
        left = right.less(0, signed=True)
        up = left.choose(right.of(0) - right, right.of(0)).resized(width)
        down = left.choose(right.of(0), right)
        # Far below the last place, a number is only known not to be zero: as a quarter.
        far = down.at_most(width - 1, signed=True).differs(1)
        quarter = zero.choose(size.of(0), size.of(1))
        size = far.choose(quarter, size)
        down = far.choose(down.of(2), down).resized(width)
        kept = size.shift_right(down)
        kept = _rounded_up(kept, size - (kept << down), down, mode, negative)
        kept = left.choose(size << up, kept)
        # The place of a number far above the largest one does not matter.
        range_ = narrow.emax - narrow.emin + 2
        place = last - lowest
        place = place.less(range_, signed=True).choose(place, place.of(range_))
        wide = max(32, fmt.bits)
        code = kept.resized(wide) + (place.resized(wide) << narrow.mantissa_bits)
        places = fmt.mantissa_bits - narrow.mantissa_bits
        over = code.at_most(narrow.max_code, signed=False).differs(1)
        infinity, largest = code.of(fmt.infinity_code or 0), code.of(narrow.max_code << places)
        code = over.choose(self._beyond(mode, negative, infinity, largest), code << places)
        code = zero.choose(code.of(0), code)
        sign = negative.choose(code.of(fmt.sign_mask or 0), code.of(0))
        if rule.zero == "positive":
            sign = code.equals(0).choose(code.of(0), sign)
        return (code | sign).resized(fmt.bits)

    def _beyond(self, mode: Rounding, negative: Word, infinity: Word, largest: Word) -> Word:
        """Return the magnitude of a sum out of range."""
        if self.rule.overflow != "default":
            return infinity if self.rule.overflow == "infinity" else largest
        match mode:
            case Rounding.TOWARD_ZERO | Rounding.TO_ODD:
                return largest
            case Rounding.UPWARD:
                return negative.choose(largest, infinity)
            case Rounding.DOWNWARD:
                return negative.choose(infinity, largest)
        return infinity


@dataclass(frozen=True)
class Group(_Aligned):
    """The sum of a group whose products are all written out. C stays from group to group."""

    @property
    def held(self) -> tuple[int, ...]:
        """The bits of the words that stay."""
        return (self.fmt.bits,)

    def __call__(self, a: Side, b: Side, c: Word) -> tuple[Word, ...]:
        """Return the code of the sum of the group and C."""
        rule, bits = self.rule, self._bits
        products, kinds = self.products.terms(a, b)
        terms, addend = list(starmap(self._term, products)), self._addend(c)
        first = [addend] if rule.c == "with" else []
        if rule.tree == "flat":
            total = self._sum([*first, *terms], bits)
        elif rule.tree == "even_odd":
            halves = [self._sum(terms[start::2], bits) for start in range(min(len(terms), 2))]
            total = self._sum(halves, bits) if len(halves) > 1 else halves[0]
        else:
            terms = [*first, *terms]
            total = terms[0]._replace(cut=rule.cut_sums)  # of one product nothing is added, so it is a sum
            for left, right in shape_of(rule.tree, len(terms)):
                total = self._sum([terms[left], terms[right]], bits)
                terms.append(total)
        return (self._settled(self._ended(total, addend), c, kinds),)


_EXPONENT, _KINDS = 32, 32


@dataclass(frozen=True)
class _InPasses(_Aligned):
    """A pass over a group of any length, without a tree. ``products.count`` of its products are written out. From pass
    to pass stay C, the largest exponent, the sum, and the sum of the kinds if there are any.
    """

    @property
    def held(self) -> tuple[int, ...]:
        """The bits of the words that stay."""
        return (self.fmt.bits, _EXPONENT, self.width, *((_KINDS,) if self.products.kinds else ()))


@dataclass(frozen=True)
class Largest(_InPasses):
    """The first pass finds the largest exponent. Before it, the largest exponent is the least number."""

    def __call__(self, a: Side, b: Side, c: Word, largest: Word, total: Word, *kinds: Word) -> tuple[Word, ...]:
        """Return the words that stay."""
        products, sum_ = self.products.terms(a, b)
        largest = _largest([largest, *(exponent for _, exponent in products)])
        if sum_ is None:
            return c, largest, total
        return c, largest, total, (sum_ + kinds[0].real(F32)).code()


@dataclass(frozen=True)
class Adding(_InPasses):
    """The second pass aligns and adds the products."""

    def __call__(self, a: Side, b: Side, c: Word, largest: Word, total: Word, *kinds: Word) -> tuple[Word, ...]:
        """Return the words that stay."""
        rule, exponent = self.rule, largest
        if rule.c == "with":
            exponent = _largest([largest, self._addend(c).exponent])
        terms = list(starmap(self._term, self.products.terms(a, b)[0]))
        return c, largest, total + self._total(terms, exponent, self._bits), *kinds


@dataclass(frozen=True)
class Ending(_InPasses):
    """The third pass adds C, and rounds. It takes no products."""

    @property
    def fields(self) -> tuple[str, ...]:
        """No field."""
        return ()

    def __call__(self, a: Side, b: Side, c: Word, largest: Word, total: Word, *kinds: Word) -> tuple[Word, ...]:
        """Return the words for the next group: the sum as C, and the others as they are at first."""
        rule, bits, addend = self.rule, self._bits, self._addend(c)
        exponent = largest
        if rule.c == "with":
            exponent = _largest([largest, addend.exponent])
            total = total + self._total([addend], exponent, bits)
        whole = Term(total, exponent, bits, rule.cut_sums, bits, rule.shifter)
        code = self._settled(self._ended(whole, addend), c, kinds[0].real(F32) if kinds else None)
        return code, largest.of(1 << 31), total.of(0), *(each.of(0) for each in kinds)


# --- registers --------------------------------------------------------------------------------------------------------

_REGISTER = 64
_SPARE = 62
"""The bits of a number in a register that saturates, or has no end, and of its sums before they are held."""


@dataclass(frozen=True)
class _Registered(_Aligned):
    """A pass over products in a register in fixed point. From pass to pass stay C, the register, and the sum of the
    kinds if there are any.
    """

    @property
    def held(self) -> tuple[int, ...]:
        """The bits of the words that stay."""
        return (self.fmt.bits, _REGISTER, *((_KINDS,) if self.products.kinds else ()))

    @property
    def _lsb(self) -> int:
        assert self.rule.lsb is not None
        return self.rule.lsb

    def _written(self, significand: Word, exponent: Word, fraction_bits: int) -> Word:
        """Return a number in units of the last place, modulo 2**64."""
        significand, first = significand.resized(_REGISTER, signed=True), self._lsb + fraction_bits
        below = exponent.less(first, signed=True)
        term = Term(significand, below.choose(exponent, exponent.of(first)), fraction_bits, self.rule.cut, 0, None)
        kept = self._aligned(term, exponent.of(self._lsb))
        up = exponent - first
        near = up.less(_REGISTER, signed=False)
        raised = significand << near.choose(up, up.of(0)).resized(_REGISTER)
        return below.choose(kept, near.choose(raised, raised.of(0)))

    def _kept(self, number: Word) -> Word:
        """Return what the register holds after a number is written to it; see `scalar_sums.held_by`."""
        msb = self.rule.msb
        if msb is None:
            return number
        sign_bit = msb - self._lsb
        if self.rule.register_overflow == "wrap":
            spare = _REGISTER - 1 - sign_bit
            return (number << spare).shift_right(spare, signed=True)
        lowest, highest = number.of(-(1 << sign_bit)), number.of((1 << sign_bit) - 1)
        number = number.less(lowest, signed=True).choose(lowest, number)
        return highest.less(number, signed=True).choose(highest, number)


@dataclass(frozen=True)
class Loading(_Registered):
    """The first pass writes C to the register. It takes no products."""

    @property
    def fields(self) -> tuple[str, ...]:
        """No field."""
        return ()

    def __call__(self, a: Side, b: Side, c: Word, register: Word, *kinds: Word) -> tuple[Word, ...]:
        """Return the words that stay."""
        size, exponent, negative = split(self.fmt, c, _REGISTER, zeros_of(self.rule))
        significand = negative.choose(size.of(0) - size, size)
        number = self._written(significand, exponent, self.fmt.mantissa_bits)
        if self.rule.register_overflow == "saturate":
            largest = number.of(1 << _SPARE)
            far = exponent.less(self._lsb + _SPARE - 1, signed=True).differs(1) & size.differs(0)
            number = far.choose(negative.choose(number.of(0) - largest, largest), number)
        return c, self._kept(number), *(each.of(0) for each in kinds)


@dataclass(frozen=True)
class Register(_Registered):
    """The products of a group, or of a part of it. ``ends``: the group ends here."""

    ends: bool = True

    def __call__(self, a: Side, b: Side, c: Word, register: Word, *kinds: Word) -> tuple[Word, ...]:
        """Return the words that stay."""
        products, sum_ = self.products.terms(a, b)
        for significand, exponent in products:
            register = register + self._written(significand, exponent, self.products.fraction_bits)
        register = self._kept(register) if self.ends else register
        return c, register, *((sum_ + each.real(F32)).code() for each in kinds if sum_ is not None)


@dataclass(frozen=True)
class Storing(_Registered):
    """The last pass rounds the register. It takes no products."""

    @property
    def fields(self) -> tuple[str, ...]:
        """No field."""
        return ()

    def __call__(self, a: Side, b: Side, c: Word, register: Word, *kinds: Word) -> tuple[Word, ...]:
        """Return the words for the next instruction."""
        exponent = register.resized(32).of(self._lsb)
        total = Term(register, exponent, 0, self.rule.cut, 0, None)
        code = self._settled(self._rounded(total), c, kinds[0].real(F32) if kinds else None)
        return code, register.of(0), *(each.of(0) for each in kinds)


def _rounded_up(kept: Word, rest: Word, shift: Word, mode: Rounding, negative: Word, floor: bool = False) -> Word:
    """Round what was cut off: ``rest`` in units of 2**-shift, not negative. ``negative``: the sign of the number.

    ``floor``: ``kept`` is the integer at or below the number itself, else at or below its size.
    """
    some, unit = rest.differs(0), rest.of(1) << shift
    twice = rest << 1
    above, tie, one = unit.less(twice, signed=False), twice.equals(unit), kept.of(1)

    def plus(condition: Word) -> Word:
        return kept + condition.resized(kept.width)

    match mode:
        case Rounding.TO_ODD:
            return some.choose(kept | one, kept)
        case Rounding.TOWARD_ZERO:
            return kept
        case Rounding.UPWARD:
            return plus(some if floor else some & ~negative)
        case Rounding.DOWNWARD:
            return kept if floor else plus(some & negative)
        case Rounding.TO_NEAREST_AWAY:
            return plus(above | (tie & ~negative if floor else tie))
    return plus(above | (tie & (kept & 1).equals(1)))


def _largest(exponents: Sequence[Word]) -> Word:
    """Return the largest of some exponents. They are compared in pairs, then the larger ones in pairs, and so on,
    because a processor does independent comparisons at the same time.
    """
    while len(exponents) > 1:
        pairs = [a.less(b, signed=True).choose(b, a) for a, b in zip(exponents[::2], exponents[1::2], strict=False)]
        exponents = [*pairs, *exponents[2 * len(pairs) :]]
    return exponents[0]


# --- IEEE operations --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plain:
    """What rules of IEEE operations have in common: factors are codes of C's format. ``native``: the arithmetic of the
    processor is used, and NaNs are refused.
    """

    rule: Accumulator
    fmt: FloatFormat
    count: int
    native: bool

    @property
    def fields(self) -> tuple[str, ...]:
        """The code of a factor."""
        return ("code",)

    def taken(self, field: str) -> int:
        """Return how many codes of a side the description takes."""
        return self.count

    @property
    def held(self) -> tuple[int, ...]:
        """The bits of the words that stay."""
        return (self.fmt.bits,)

    @property
    def commutes(self) -> bool:
        """Whether A and B can be exchanged: of two NaNs, the first one counts."""
        return self.native

    def operation(self, name: str) -> Implementation | None:
        """Return the description of an operation, named as in `scalar`."""
        if not self.native:
            operands = 3 if name == "fma" else 2
            return word_flags.code_of(word_flags.arithmetic(name, (self.fmt,) * operands, self.fmt, RNE, SPEC))
        if name == "fma":
            return word_floats.fma(self.fmt, RNE, SPEC)
        return word_floats.binary(name, self.fmt, RNE, SPEC) if self.fmt in (F32, F64) else None

    def _computed(self, name: str, *codes: Word) -> Word:
        operation = self.operation(name)
        assert operation is not None
        found: Word = operation(*codes)
        return found


@dataclass(frozen=True)
class Chain(_Plain):
    """Fused multiply-adds, one after the other."""

    def __call__(self, a: Side, b: Side, c: Word) -> tuple[Word, ...]:
        """Return the code of C after the multiply-adds."""
        for k in range(self.count):
            c = self._computed("fma", a("code", k), b("code", k), c)
        return (c,)


@dataclass(frozen=True)
class Tree(_Plain):
    """A tree of products and sums of two, each rounded. The sum of the products is added to C."""

    def __call__(self, a: Side, b: Side, c: Word) -> tuple[Word, ...]:
        """Return the code of the sum of the products and C."""
        terms = [self._done(self._computed("multiply", a("code", k), b("code", k))) for k in range(self.count)]
        while len(terms) > 1:
            first, second, rest = level_of(self.rule.tree, len(terms))
            pairs = zip(terms[first], terms[second], strict=True)
            terms = [*(self._done(self._computed("add", *pair)) for pair in pairs), *terms[rest]]
        if self.rule.flush:
            c = self._is_small(c).choose(c.of(0), c)
        return (self._computed("add", c, terms[0]),)

    def _is_small(self, code: Word) -> Word:
        return (code & self.fmt.magnitude_mask).less(self.fmt.min_normal_code, signed=False)

    def _done(self, code: Word) -> Word:
        if not self.rule.flush:
            return code
        return self._is_small(code).choose(code & (self.fmt.sign_mask or 0), code)


# --- the domain -------------------------------------------------------------------------------------------------------


def groups_of(rule: Accumulator, d: str, factors: Sequence[FloatFormat], count: int) -> Group | None:
    """Return the sum of ``count`` products as words of 32 or 64 bits, without kinds; None if such words cannot compute
    it. ``factors``: the formats of A and B and, if there are any, of their scales.

    If the group is long and has no tree, the description has fewer products: `passes` gives the passes that add them.
    """
    fmt, dot = FORMATS[d], rule.dot
    terms = count // dot
    if rule.bits is None or rule.partial != KEPT or rule.products != "exact" or count % dot or count < 1:
        return None
    if fmt.bits > 64 or any(each.bits > 32 for each in factors):
        return None
    if dot > 1 and any(each.infinities for each in factors):
        return None
    fraction_bits = sum(each.mantissa_bits for each in factors)
    # A sum of products of f4E2M1FN, each below 2**6, has the exponent of the scales alone.
    above = len(factors) + (4 + (dot - 1).bit_length() if dot > 1 else 0)
    largest = max(1 << rule.bits + above, 1 << rule.bits + 1) + 1
    lengths = [each for each in (32, 64) if _holds_terms(rule, fmt, fraction_bits, above, each)]
    lengths = [each for each in lengths if (terms * largest + largest) << rule.guard <= _most(rule, each)]
    long = terms > MOST // dot
    if not lengths or fraction_bits + above + 1 > 64 or (long and rule.tree != "flat"):
        return None
    written = max(1, STEP // dot) if long else terms
    width = lengths[0]
    together = min(terms + 1, (_most(rule, 32) - 1) // largest)
    narrow = width == 64 and together >= _TOGETHER and _holds_terms(rule, fmt, fraction_bits, above, 32)
    products = Products(rule, fmt, written, fraction_bits, above)
    return Group(products, width, 32, together) if narrow else Group(products, width, width, terms + 1)


def _most(rule: Accumulator, width: int) -> int:
    """Return the largest size of a number that is aligned in words of a width."""
    cuts = {rule.cut, *((rule.cut_sums,) if rule.c == "last" or rule.tree != "flat" else ())}
    return 1 << (width - (1 if cuts <= {*_SHIFTED_ALONE} else 4))


def _holds_terms(rule: Accumulator, fmt: FloatFormat, fraction_bits: int, above: int, width: int) -> bool:
    """Tell whether words of a width hold the terms, before they are aligned."""
    assert rule.bits is not None
    product = 1 << fraction_bits + above + max(0, rule.bits - fraction_bits)
    addend = 1 << fmt.precision + max(0, rule.bits - fmt.mantissa_bits)
    return max(product, addend) <= _most(rule, width) and fmt.precision < width


def register_of(rule: Accumulator, d: str, factors: Sequence[FloatFormat], size: int, count: int) -> Register | None:
    """Return the sum of up to ``size`` products of a group in a register of 64 bits, without kinds; None if such a
    register cannot hold it. ``count``: the products that are added before the register is held again.
    """
    fmt, lsb, msb = FORMATS[d], rule.lsb, rule.msb
    bits = sum(each.precision for each in factors)
    if lsb is None or fmt.bits > 64 or any(each.bits > 32 for each in factors) or bits > _SPARE - 2:
        return None
    highest = sum(each.emax + 1 for each in factors) - lsb + count.bit_length()
    if msb is None:
        ends = max(highest, fmt.emax + 1 - lsb) < _SPARE
    else:
        ends = msb - lsb < _SPARE and (rule.register_overflow == "wrap" or highest < _SPARE)
    products = Products(rule, fmt, size, sum(each.mantissa_bits for each in factors), len(factors))
    return Register(products, _REGISTER, _REGISTER, size + 1) if ends else None


def plain_of(rule: Accumulator, d: str, count: int, native: bool = False) -> Chain | Tree | None:
    """Return the description of ``count`` products of a rule of IEEE operations; None if there is none. ``native``: see
    the classes.
    """
    if not 0 < count <= MOST or FORMATS[d].bits > 64:
        return None
    found = (Chain if rule.chain else Tree)(rule, FORMATS[d], count, native)
    names = ("fma",) if rule.chain else ("multiply", "add")
    return found if all(found.operation(name) is not None for name in names) else None
