"""Groups of aligned terms as machine code: the sums of `aligned_sums.aligned_group` for large arrays.

`Group` describes the sum of one group, on `Word`s. `halfulp.fp_formats.paths.words` tells what a description is, and
why arrays of NumPy have code of their own: `aligned_sums` computes what is rare or small. Both take numbers apart by
`aligned_sums.decoded`, and `scalar_sums` is the specification of both.

The loop goes over rows of lanes. In a matrix product, a row of A stands beside all columns of B: the lanes are columns,
and all share the factors of A. In many small tiles, the lanes are tiles. Factors are decoded before, into arrays of
significands and of exponents. Groups with infinite or NaN factors, and what the description refuses, are left to NumPy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask
from halfulp.fp_formats.paths import llvm
from halfulp.fp_formats.paths.emitter import Emitter, Tables, natural
from halfulp.fp_formats.paths.words import Word
from halfulp.fp_formats.policy import Rounding, as_rounding
from halfulp.semantics.matrix_units.accumulator import KEPT, OWN, Accumulator, shape_of
from halfulp.semantics.matrix_units.aligned_sums import NO_EXPONENT, Factors, Numbers, fits
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.scalar_sums import nan_of

PAYS = 1 << 21
"""The products of all calls from which a loop is worth its compilation: NumPy takes about 100 ms for them."""
MOST = 64
"""The most products of a group whose code is written out."""
_REFUSED = 1 << 16
"""The products of refused elements that NumPy computes at a time."""
_PRODUCTS = 1 << 20
"""The products that a thread takes at a time, about."""
_SHIFTED_ALONE = ("toward_zero", "downward")


# --- the description --------------------------------------------------------------------------------------------------


class Term(NamedTuple):
    """A term: a signed significand, its exponent (32 bits), and as in `aligned_sums.Terms` how it is aligned."""

    significand: Word
    exponent: Word
    fraction_bits: int
    cut: str
    bits: int
    shifter: int | None


@dataclass(frozen=True)
class Group:
    """The sum of a group: ``count`` products, of factors with these fraction bits, and C.

    ``width``: the bits of the words in which terms are added.
    """

    rule: Accumulator
    fmt: FloatFormat
    count: int
    fraction_bits: tuple[int, int]
    width: int

    def __call__(self, products: Sequence[tuple[Word, Word]], c: Word) -> Word:
        """Return the code of the sum. ``products``: significands and exponents; ``c``: a code."""
        rule, bits = self.rule, self.rule.bits
        assert bits is not None
        places = sum(self.fraction_bits)
        if rule.product_overflow:
            # A product from 2**(emax + 1) on is infinite.
            for _, exponent in products:
                exponent.less(self.fmt.emax, signed=True).differs(1).refuse()
        terms = [Term(*each, places, rule.cut, bits, rule.shifter) for each in products]
        magnitude, addend = self._addend(c)
        first = [addend._replace(cut=rule.cut)] if rule.c == "with" else []
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
        if rule.c == "last":
            unit = bits + rule.guard
            total = self._sum([total._replace(bits=unit), addend._replace(cut=rule.cut_sums)], unit)
        code = self._rounded(total)
        # The products are finite, so an infinite C stays, and a NaN is that of the rule.
        infinity = self.fmt.infinity_code or 0
        nan = code.of(nan_of(rule, self.fmt))
        special = magnitude.equals(infinity).choose(c, nan)
        return magnitude.less(infinity, signed=False).choose(code, special)

    def _addend(self, c: Word) -> tuple[Word, Term]:
        """Split C into a term, and return it together with the code of C without its sign."""
        rule, fmt = self.rule, self.fmt
        magnitude = c & fmt.magnitude_mask
        negative = c.shift_right(fmt.bits - 1).equals(1)
        field = magnitude.shift_right(fmt.mantissa_bits)
        subnormal = field.equals(0)
        fraction = magnitude & fmt.fraction_mask
        normal = fraction | (1 << fmt.mantissa_bits)
        size = subnormal.choose(fraction.of(0) if rule.flush else fraction, normal).resized(self.width)
        exponent = subnormal.choose(field.of(1), field).resized(32) + (fmt.emin - 1)
        none = NO_EXPONENT if rule.zero_exponent is None else rule.zero_exponent
        exponent = size.equals(0).choose(exponent.of(none), exponent)
        significand = negative.choose(size.of(0) - size, size)
        assert rule.bits is not None
        return magnitude, Term(significand, exponent, fmt.mantissa_bits, rule.cut, rule.bits, rule.c_shifter)

    def _sum(self, terms: Sequence[Term], unit: int) -> Term:
        """Align and add; see `aligned_sums.aligned_sum`. The sum is a partial sum, as it enters the next addition."""
        rule = self.rule
        largest = _largest([term.exponent for term in terms])
        total: Word | None = None
        for term in terms:
            kept = self._aligned(term, largest)
            if term.shifter is not None:
                kept = (largest - term.exponent).at_most(term.shifter, signed=True).choose(kept, kept.of(0))
            if unit > term.bits:
                kept = kept << (unit - term.bits)
            total = kept if total is None else total + kept
        assert total is not None
        assert rule.bits is not None
        return Term(total, largest, unit, rule.cut_sums, rule.bits, rule.shifter)

    def _aligned(self, term: Term, largest: Word) -> Word:
        """Return the significand of a term, aligned to the exponent ``largest``; see `aligned_sums.aligned`."""
        significand, extra = term.significand, term.bits - term.fraction_bits
        shift = largest - term.exponent
        if extra > 0:
            significand = significand << extra
        elif extra < 0:
            shift = shift - extra
        # From the end of the range on, nothing is left; or less than half a unit.
        end = self.width - (1 if term.cut in _SHIFTED_ALONE else 3)
        shift = shift.less(end, signed=False).choose(shift, shift.of(end)).resized(self.width)
        if term.cut == "toward_zero":
            sign = significand.shift_right(self.width - 1, signed=True)
            magnitude = ((significand ^ sign) - sign).shift_right(shift)
            return (magnitude ^ sign) - sign
        kept = significand.shift_right(shift, signed=True)
        if term.cut == "downward":
            return kept
        rest = significand - (kept << shift)
        return _rounded_up(kept, rest, shift, as_rounding(term.cut), significand.less(0, signed=True), floor=True)

    def _rounded(self, total: Term) -> Word:
        """Round to a code of D; see `aligned_sums.packed`."""
        rule, fmt, width = self.rule, self.fmt, self.width
        mode, narrow = as_rounding(rule.rounding), rule.sum_format(fmt.name)
        significand = total.significand
        negative = significand.less(0, signed=True)
        zero = significand.equals(0)
        if rule.zero == "ieee":
            zero.refuse()  # the sign depends on those of all terms
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


# --- the domain -------------------------------------------------------------------------------------------------------


def description(rule: Accumulator, fmt: FloatFormat, count: int, factors: tuple[int, int]) -> Group | None:
    """Return the sum of a group of ``count`` products as words of 32 or 64 bits; None if such words cannot compute it.

    ``factors``: the fraction bits of A and B, whose significands are less than two.
    """
    if rule.bits is None or rule.partial != KEPT or rule.dot > 1 or not 0 < count <= MOST or fmt.bits > 64:
        return None
    lengths = [each for each in (32, 64) if _fits(rule, fmt, count, factors, each)]
    return Group(rule, fmt, count, factors, lengths[0]) if lengths else None


def takes(rule: Accumulator | None, op: TileOp, products: int) -> bool:
    """Tell whether machine code computes the groups of an operation in a call with this number of products."""
    if rule is None or op.d not in FORMATS or op.scale or not llvm.machine_code_allowed():
        return False
    if rule.steps != OWN:
        op = replace(op, a=rule.steps, b=rule.steps)
    rule, size = rule.of_a_step, min(rule.group or op.shape[2], op.shape[2])
    factors = FORMATS[op.a].mantissa_bits, FORMATS[op.b].mantissa_bits
    if not fits(rule, op) or description(rule, FORMATS[op.d], size, factors) is None:
        return False
    return products >= PAYS or llvm.at_once()


def _fits(rule: Accumulator, fmt: FloatFormat, count: int, factors: tuple[int, int], width: int) -> bool:
    """Tell whether words of a width hold all terms and sums."""
    assert rule.bits is not None
    cuts = {rule.cut, *((rule.cut_sums,) if rule.c == "last" or rule.tree != "flat" else ())}
    most = 1 << (width - (1 if cuts <= {*_SHIFTED_ALONE} else 4))
    product = 1 << sum(factors) + 2 + max(0, rule.bits - sum(factors))
    addend = 1 << fmt.precision + max(0, rule.bits - fmt.mantissa_bits)
    kept = (count * (1 << rule.bits + 2) + (1 << rule.bits + 1) + count + 1) << rule.guard
    return max(product, addend, kept) <= most and fmt.precision < width


# --- the loop ---------------------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """The properties that determine a loop. ``shared``: whether all lanes of a row share the factors of A. ``bits``:
    those of the significands and of the exponents in arrays of A and B.
    """

    group: Group
    shared: bool
    bits: tuple[tuple[int, int], tuple[int, int]]


_ENTRY = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 7, *[ctypes.c_int64] * 6)


class Loop:
    """The machine code of a kind."""

    def __init__(self, kind: Kind) -> None:
        text, self.refuses = _assembly(kind)
        self._code = llvm.compile_assembly(text, "rows", straight=False)
        self._entry = _ENTRY(self._code.address)

    def run(self, a: Sequence[Codes], b: Sequence[Codes], rows: Sequence[Codes], moves: tuple[int, int]) -> None:
        """Compute rows of D. ``a``, ``b``: the significands and the exponents of A and B, [k, …]. ``rows``: C, D [rows,
        lanes], and the array for the refused elements. ``moves``: the distance between one row and the next in A and in
        B, in elements.
        """
        pointers = [each.ctypes.data for each in (*a, *b, *rows)]
        steps = [each[0].strides[0] // each[0].itemsize for each in (a, b)]
        self._entry(*pointers, *rows[0].shape, *steps, *moves)


def _assembly(kind: Kind) -> tuple[str, bool]:
    """Return the text of a loop, and whether it can refuse elements."""
    make, group = llvm.ir(), kind.group
    pointer, word = make.PointerType(), make.IntType(64)
    module = make.Module()
    kinds = [*[pointer] * 7, *[word] * 6]
    function = make.Function(module, make.FunctionType(make.VoidType(), kinds), "rows")
    for each in function.args[:7]:
        each.add_attribute("noalias")
    emit = Emitter(function, Tables(), 0)
    *arrays, c, d, refused, rows, lanes, step_a, step_b, move_a, move_b = function.args
    width = natural(group.fmt.bits)
    row, lane = emit.variable(word), emit.variable(word)
    outer, inner, after, end = (emit.label() for _ in range(4))
    zero, one = emit.constant(0, 64), emit.constant(1, 64)

    emit.set(row, zero)
    emit.jump(outer)
    emit.begin(outer)
    number = emit.get(row, word)
    first = emit.builder.mul(number, lanes)
    origins = [emit.builder.mul(number, move_a), emit.builder.mul(number, move_b)]
    emit.set(lane, zero)
    emit.jump(inner)

    emit.begin(inner)
    at = emit.get(lane, word)
    long = 32 if sum(group.fraction_bits) + 3 <= 32 else 64  # the bits of products
    factors: list[list[tuple[Word, Word]]] = []
    for side, (origin, step) in enumerate(zip(origins, (step_a, step_b), strict=True)):
        found = []
        for k in range(group.count):
            place = emit.builder.add(origin, emit.builder.mul(step, emit.constant(k, 64)))
            if side or not kind.shared:
                place = emit.builder.add(place, at)
            significand, exponent = (
                emit.word(emit.load(array, place, bits))
                for array, bits in zip(arrays[2 * side : 2 * side + 2], kind.bits[side], strict=True)
            )
            found.append((significand.resized(long, signed=True), exponent.resized(32, signed=True)))
        factors.append(found)
    products = [((x * y).resized(group.width, signed=True), e + f) for (x, e), (y, f) in zip(*factors, strict=True)]
    element = emit.builder.add(first, at)
    code = group(products, emit.word(emit.load(c, element, width)).resized(group.fmt.bits))
    wrong = emit.take_refused()
    emit.store(d, element, code.resized(width).held)
    if wrong is not None:
        emit.store(refused, element, emit.resize(wrong, 8, signed=False))
    following = emit.builder.add(at, one)
    emit.set(lane, following)
    emit.branch(emit.relation("s<", following, lanes), inner, after)

    emit.begin(after)
    following = emit.builder.add(number, one)
    emit.set(row, following)
    emit.branch(emit.relation("s<", following, rows), outer, end)
    emit.begin(end)
    emit.builder.ret_void()
    emit.finish()
    return str(module), wrong is not None


class _Waiting:
    """A loop that is compiled only after all calls together had so many products that this saves time."""

    def __init__(self, kind: Kind) -> None:
        self._kind, self._asked = kind, 0
        self._loop: Loop | None = None

    def get(self, products: int) -> Loop | None:
        """Return the loop; None if NumPy computes this number of products faster."""
        self._asked += products
        if not llvm.machine_code_allowed() or not (self._asked >= PAYS or llvm.at_once()):
            return None
        if self._loop is None:
            self._loop = llvm.unless_broken(lambda: Loop(self._kind))
        return self._loop


@lru_cache(maxsize=256)
def _waiting(kind: Kind) -> _Waiting:
    return _Waiting(kind)


# --- groups -----------------------------------------------------------------------------------------------------------


def group(
    rule: Accumulator, fmt: FloatFormat, factors: Factors, c: Codes, general: Callable[[Factors, Codes], Codes]
) -> Codes | None:
    """Return the sums of a group as `aligned_sums.aligned_group` does: codes [M, N, tiles] of D. None if there is no
    description, or if NumPy computes them faster. ``general``: the function that computes the elements that the machine
    code refuses.
    """
    a, b = factors.a, factors.b
    m, n, tiles = c.shape
    described = description(rule, fmt, len(a.significand), (a.fraction_bits, b.fraction_bits))
    if described is None or not c.size or factors.scales:
        return None
    special_a, special_b = _specials(a), _specials(b)
    held_a, held_b = _held(a, special_a), _held(b, special_b)
    if held_a is None or held_b is None:
        return None
    shared = tiles == 1
    bits = tuple(tuple(8 * each.itemsize for each in held) for held in (held_a, held_b))
    loop = _waiting(Kind(described, shared, bits)).get(c.size * described.count)  # type: ignore[arg-type]
    if loop is None:
        return None
    before = np.ascontiguousarray(c)
    out, refused = np.empty_like(before), np.zeros(c.shape if loop.refuses else 1, np.uint8)
    lanes = n if shared else tiles
    # [rows, lanes]: rows are those of A, or of A and B
    into = [each.reshape(-1, lanes) if each.size > 1 or c.size == 1 else each for each in (before, out, refused)]

    def begin() -> Callable[[int, int], None]:
        def work(start: int, stop: int) -> None:
            if shared:
                left = [each.reshape(described.count, m)[:, start:] for each in held_a]
                right = [each.reshape(described.count, n) for each in held_b]
                rows = [each[start:stop] if each.size > 1 or c.size == 1 else each for each in into]
                loop.run(left, right, rows, (1, 0))
                return
            for row in range(start, stop):
                left = [each.reshape(described.count, m * tiles)[:, row * tiles :] for each in held_a]
                right = [each.reshape(described.count, n * tiles) for each in held_b]
                rows = [each[row * n : (row + 1) * n] if each.size > 1 or c.size == 1 else each for each in into]
                loop.run(left, right, rows, (0, tiles))

        return work

    llvm.share(m, max(1, _PRODUCTS // (n * tiles * described.count)), begin)
    left_over = refused.view(np.bool_).reshape(c.shape) if loop.refuses else None
    for mask in (special_a, special_b):
        if mask is not None:
            some = np.broadcast_to(mask.any(axis=0), c.shape)
            left_over = some if left_over is None else left_over | some
    if left_over is not None and left_over.any():
        _settle(factors, before, out, left_over, general)
    return out


def _specials(x: Numbers) -> Mask | None:
    masks = [mask for mask in (x.nan, x.infinite) if mask is not None]
    return np.logical_or.reduce(masks) if masks else None


def _held(x: Numbers, special: Mask | None) -> list[Codes] | None:
    """Return significands and exponents in the shortest integers that hold those of the format; None for those that
    are too large. Special elements become zeros.
    """
    significand = x.significand if special is None else np.where(special, 0, x.significand)
    lengths = [each for each in (8, 16, 32) if x.fraction_bits + 2 <= each]
    if not lengths:
        return None
    exponent = x.exponent if special is None else np.where(special, 0, x.exponent)
    return [np.ascontiguousarray(significand, f"i{lengths[0] // 8}"), np.ascontiguousarray(exponent, np.int16)]


def _settle(factors: Factors, c: Codes, out: Codes, where: Mask, general: Callable[[Factors, Codes], Codes]) -> None:
    """Compute some elements in the general way."""
    found = np.nonzero(where)
    step = max(1, _REFUSED // len(factors.a.significand))
    for start in range(0, len(found[0]), step):
        rows, columns, tiles = (each[start : start + step] for each in found)

        def some(x: Numbers, first: Any, second: Any) -> Numbers:
            return x.at((slice(None), first, second, tiles)).at((slice(None), np.newaxis, np.newaxis))  # noqa: B023

        few = Factors(some(factors.a, rows, 0), some(factors.b, 0, columns))
        at = (rows, columns, tiles)
        out[at] = general(few, c[at][np.newaxis, np.newaxis]).reshape(-1)
