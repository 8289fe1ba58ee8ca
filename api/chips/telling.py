"""The shortest inputs that tell two chips apart."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from halfulp.chips.candidates import quick
from halfulp.chips.rows import Rows, named_instructions, pair
from halfulp.chips.which import filled
from halfulp.codegen.tile_names import model_for
from halfulp.explanations.dot_steps import ranges
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.spelling import table_lines, value_text
from halfulp.inputs import as_integer
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.values.coerce import as_type
from halfulp.semantics.matrix_units.accumulator import PREFIX, Accumulator
from halfulp.semantics.matrix_units.kinds import TileOp

MOST_PRODUCTS = 4
"""The search tries inputs with at most this number of products that are not zero."""

MOST_INPUTS = 1000
"""The most inputs that are looked for."""

SPARSE, MOST_SLOW = 256, 1024
"""If a rule keeps so many bits that only the specification computes it, so many inputs of some thousand are tried, and
of each number of products so many.
"""

FAR = 45
"""The most binades between two terms, if the type has them: more than any unit keeps bits."""


@dataclass(frozen=True)
class Input:
    """Codes of a row of A, a column of B and an element of C, and the codes of D that the two models give."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    c: int
    results: tuple[int, int]


@dataclass(frozen=True)
class Distinction:
    """The inputs for which two models differ.
    ``inputs``: the codes of each input, the input with the fewest products first; empty if the models differ for no
    input.
    ``reason``: why there is no input, or what was tried with fewer products.
    ``instructions``: the instructions that were compared.
    ``types``: the types of A, B, C and D.
    """

    models: tuple[str, str]
    instructions: tuple[str, str]
    types: tuple[str, str, str, str]
    inputs: tuple[Input, ...]
    reason: str

    @property
    def products(self) -> int | None:
        """The number of products of the first input that are not zero; None if there is no input."""
        if not self.inputs:
            return None
        of_a, of_b = (FORMATS[name] for name in self.types[:2])
        first = self.inputs[0]
        return sum(bool(scalar.value(of_a, x) and scalar.value(of_b, y)) for x, y in zip(first.a, first.b, strict=True))

    def __str__(self) -> str:
        lines = [" and ".join(f"{model} ({name})" for model, name in zip(self.models, self.instructions, strict=True))]
        rows: list[tuple[str, ...]] = [("a * b", "c", *self.models)]
        for each in self.inputs:
            of_a, of_b, of_c, of_d = (FORMATS[name] for name in self.types)
            places: dict[tuple[int, int], list[int]] = {}
            for k, factors in enumerate(zip(each.a, each.b, strict=True)):
                places.setdefault(factors, []).append(k)
            terms = [
                f"{value_text(of_a, x)} * {value_text(of_b, y)} at {ranges(ks)}"
                for (x, y), ks in places.items()
                if x or y
            ]
            results = (value_text(of_d, code) for code in each.results)
            rows.append((", ".join(terms) or "zeros", value_text(of_c, each.c), *results))
        return "\n".join([*lines, *(table_lines(rows) if self.inputs else []), *filter(None, [self.reason])])

    def __repr__(self) -> str:
        return str(self)


def tell_apart(one: Any, other: Any, *, type: Any, acc: Any = "f32", count: int = 10) -> Distinction:
    """Find up to ``count`` inputs, at most 1,000, of one instruction for which two models give different results.

    ``one``, ``other``: "chip:<name>", which is the first instruction of the chip for the types; "chip:b200 tcgen05",
    "chip:h100 mma K=8" or "chip:mi250 mfma 32x32x8", which name another instruction; or an `Accumulator`.
    ``type``: the element type of A and B, or a pair of types.
    ``acc``: the element type of C and D, or a pair of types.

    The first input has the fewest products that are not zero: the search also tried inputs with fewer products, and the
    models gave equal results for them. The search tries terms with several kinds of significands, up to 45 binades
    apart, at the positions at which units divide K, and zeros of both signs. If both models have the same rule, no
    input can differ, and ``reason`` says so.

    Raises Unsupported if a chip has no instruction for the types, and InputError for an unknown model.

        >>> told = hu.tell_apart("chip:a100", "chip:h100", type="f16")
        >>> told.products
        1
    """
    a, b, c, d = (str(as_type(each)) for each in (*pair(type, "type"), *pair(acc, "acc")))
    types = (a, b, c, d)
    count = as_integer(count, "count", 1, MOST_INPUTS)
    first, second = (_instruction(model, types) for model in (one, other))
    models, names = (str(one), str(other)), (first[0].name, second[0].name)
    if same := _same(first, second):
        return Distinction(models, names, types, (), same)
    if any(name not in FORMATS for name in types):
        raise InputError(f"type and acc must be float types if the rules differ, not {type} and {acc}")
    found, fewer = different(first, second, min(first[0].shape[2], second[0].shape[2]), count)
    reason = f"all {fewer} inputs that were tried give equal results"
    if found:
        reason = f"all {fewer} inputs with fewer products that were tried give equal results" if fewer else ""
    if reason and (_slow(first) or _slow(second)):
        reason += "; few were tried, because sums of so many bits are computed slowly"
    return Distinction(models, names, types, tuple(found), reason)


def different(
    first: tuple[TileOp, str], second: tuple[TileOp, str], length: int, count: int, most: int = MOST_PRODUCTS
) -> tuple[list[Input], int]:
    """Find up to ``count`` inputs for which two rules differ, with at most ``most`` products that are not zero; those
    with the fewest come first. Return them with the number of inputs that were tried with fewer products than the first
    one has.
    """
    op = first[0]
    found: list[Input] = []
    fewer, tried = 0, 0
    slow = _slow(first) or _slow(second)
    for products in range(min(most, length) + 1):
        last = tried + MOST_SLOW
        for rows in _inputs((op.a, op.b, op.c, op.d), length, products):
            if slow and tried >= last:
                break
            rows = rows.at(slice(None, None, max(1, len(rows) // SPARSE))) if slow else rows
            results = [filled(rows, op.shape[2]).by(rule, op) for op, rule in (first, second)]
            differ = (results[0].codes != results[1].codes) & ~results[0].unknown & ~results[1].unknown
            for row in np.flatnonzero(differ)[: count - len(found)]:
                pair = (int(results[0].codes[row]), int(results[1].codes[row]))
                found.append(Input(tuple(rows.a[row].tolist()), tuple(rows.b[row].tolist()), int(rows.c[row]), pair))
            tried += len(rows)
            if len(found) == count:
                return found, fewer
        if not found:
            fewer = tried
    return found, fewer


def _slow(model: tuple[TileOp, str]) -> bool:
    op, text = model
    return not quick(Accumulator.from_text(text), op)


_MODEL = re.compile(
    r"(?P<name>\S+)(?: (?P<unit>[a-z]\w*))?(?: (?:K=(?P<k>\d{1,6})|(?P<shape>\d{1,4}x\d{1,4}x\d{1,4})))?", re.ASCII
)


def _instruction(model: Any, types: tuple[str, str, str, str]) -> tuple[TileOp, str]:
    """Return the operation of a model, and its rule as text."""
    match = None if isinstance(model, Accumulator) else _MODEL.fullmatch(str(model))
    asked = {"name": model, "unit": None, "k": None, "shape": None} if match is None else match.groupdict()
    text = model_for(asked["name"])
    if text.startswith(PREFIX):
        return TileOp("the accumulator", *types, (1, 1, int(asked["k"] or 32))), text
    if not text.startswith("chip:"):
        raise InputError(f"'{model}' is not a chip", hint="name a chip, such as chip:h100, or an accumulator")
    ours = [each for each in named_instructions(*types) if each[0].startswith(f"{text} ")]
    for _, op, rule in ours:
        have = {"unit": op.unit, "k": str(op.shape[2]), "shape": "x".join(map(str, op.shape))}
        if all(asked[part] in (None, own) for part, own in have.items()):
            return op, rule
    a, b, c, d = types
    what = f"{a}{f' and {b}' if a != b else ''} into {d}{f' with C of {c}' if c != d else ''}"
    having = ", ".join(dict.fromkeys(name.partition(" ")[2] for name, *_ in ours))
    raise Unsupported(
        f"{model}: its rule for multiplying {what} is not published",
        hint=f"its published rules are for: {having}" if ours else None,
    )


def _same(first: tuple[TileOp, str], second: tuple[TileOp, str]) -> str:
    """Say why two instructions cannot differ; empty if they may."""
    # Inputs are as long as the shorter instruction. Groups of +0 * +0 behind them change no sum where C is among the
    # terms, and no zero is negative.
    sizes = [op.shape[2] for op, _ in (first, second)]
    length, rules = min(sizes), list[Accumulator]()
    for _, text in (first, second):
        rule = replace(Accumulator.from_text(text), specials="all")
        alone = rule.c == "with" and not rule.order and rule.group >= length
        rules.append(replace(rule, group=0) if alone else rule)
    floats = first[0].d in FORMATS
    apart = sizes[0] != sizes[1] and (rules[0].c != "with" or rules[0].order or rules[0].zero == "ieee")
    if rules[0] != rules[1]:
        return ""
    if apart and floats:
        if not all(_large(op, rules[0]) for op, _ in (first, second)):
            return ""
        return (
            f"they cannot differ: both add by the rule {rules[0]}, and more products of +0 change only a sum that is "
            f"-0 or to be flushed, but none is where {first[0].a} and {first[0].b} are multiplied"
        )
    if not floats and rules[0] == Accumulator():
        return f"they cannot differ: both add integers exactly, modulo 2 to the power of the width of {first[0].d}"
    return f"they cannot differ: both add so many products by the rule {rules[0]}"


def _large(op: TileOp, rule: Accumulator) -> bool:
    """Tell whether a group of products +0 after the others changes no possible sum, although C is added last.

    Such a group changes a sum only if it is -0, or if it is subnormal and is flushed. Neither sum can occur: the sum of
    products is zero or far larger, and so is its difference from a C of similar size; a smaller C is cut downward or
    flushed.
    """
    least = sum(_least(FORMATS[name]) for name in (op.a, op.b))
    d = FORMATS[op.d]
    no_sign = rule.flush or (rule.zero == "sum" and rule.cut_sums == "downward")
    return rule.c == "last" and not rule.order and no_sign and least - d.precision > d.emin


# --- inputs -----------------------------------------------------------------------------------------------------------


def _inputs(types: tuple[str, str, str, str], length: int, products: int) -> Iterator[Rows]:
    """Yield rows with this number of products that are not zero."""
    factors, wide = (FORMATS[types[0]], FORMATS[types[1]]), FORMATS[types[2]]
    near, all_ = _terms(*factors, few=True), _terms(*factors, few=False)
    small = [0, *_addends(wide, few=True)]
    sign = factors[0].sign_mask or 0
    match products:
        case 0:
            combinations: Iterator[Any] = ((c, ()) for c in [0, *_addends(wide, few=False)])
        case 1:
            combinations = ((c, (x,)) for x in near for c in [0, *_addends(wide, few=False)])
            ties = ((c, (x,)) for x in _products(*factors, 0, every=True) for c in [0, *_addends(wide, few=False)])
            combinations = itertools.chain(combinations, ties, _at_the_ends(*factors, wide))
        case 2:
            combinations = ((c, (x, y)) for c in small[:1] for x in near for y in all_)
            combinations = itertools.chain(
                combinations, ((c, (x, y)) for c in small[1:] for x in near[:4] for y in all_)
            )
        case _:
            # Two terms that cancel, or do not, beside copies of a third one.
            pairs = [(x, y) for x in near[:4] for y in (x, (sign ^ x[0], x[1]))]
            combinations = ((0, (*pair, *[z] * (products - 2))) for pair in pairs for z in all_)
    places = list(_places(length, products))
    while batch := list(itertools.islice(combinations, 8192 // len(places))):
        count = len(batch) * len(places)
        a, b = (np.zeros((count, length), fmt.storage_dtype) for fmt in factors)
        # One place after the other, so that the first inputs that differ are not one input at several places.
        c = np.tile(np.array([c for c, _ in batch], wide.storage_dtype), len(places))
        at = np.repeat(np.array(places, np.intp).reshape(len(places), products), len(batch), axis=0)
        for side, array in enumerate((a, b)):
            codes = np.array([[term[side] for term in terms] for _, terms in batch], array.dtype)
            array[np.arange(count)[:, None], at] = np.tile(codes.reshape(len(batch), products), (len(places), 1))
        yield Rows(a, b, c, np.zeros(count, FORMATS[types[3]].storage_dtype), types)
    if products == 0:
        yield _zeros(types, length)


def _at_the_ends(of_a: FloatFormat, of_b: FloatFormat, of_c: FloatFormat) -> Iterator[tuple[int, Any]]:
    """Yield a C and a product near it, where sums become subnormal, zero or infinite."""
    ends = {_least(of_c), of_c.emin, of_c.emax, _least(of_a) + _least(of_b), of_a.emax + of_b.emax}
    normal = range(of_c.emin - 1, of_c.emin + 2)
    for exponent in sorted({end + more for end in ends for more in (-2, -1, 0, 1)}):
        for x in _products(of_a, of_b, exponent):
            for y in (x, ((of_a.sign_mask or 0) | x[0], x[1])):
                for c in (0, *_numbers(of_c, {*range(exponent - 2, exponent + 3), *normal})):
                    yield c, (y,)


def _zeros(types: tuple[str, str, str, str], length: int) -> Rows:
    """Return rows of products that are +0 or -0, and of a C that is +0 or -0."""
    formats = [FORMATS[name] for name in types]
    negative = [(fmt.sign_mask or 0) * fmt.has_negative_zero for fmt in formats]
    counts = [count for count in (0, 1, length // 2, length) for _ in range(2)]
    a, b, c, d = (
        np.zeros((len(counts), length) if name in "ab" else len(counts), fmt.storage_dtype)
        for name, fmt in zip("abcd", formats, strict=True)
    )
    for row, count in enumerate(counts):
        a[row, :count] = negative[0]
    c[1::2] = negative[2]
    return Rows(a, b, c, d, types)


def _places(length: int, products: int) -> Iterator[tuple[int, ...]]:
    """Yield positions along K: neighbours, and positions that lie in different groups, halves or pairs."""
    apart = dict.fromkeys(k for k in (1, 2, 4, 8, 16, length - 1) if k < length)
    if products < 2:
        yield from ((k,) for k in (0, *apart)) if products else ((),)
        return
    for k in apart:
        places = list(dict.fromkeys((0, k, *range(1, length))))[:products]
        if len(places) == products:
            yield tuple(places)
            yield tuple(reversed(places))


@lru_cache(maxsize=16)
def _terms(of_a: FloatFormat, of_b: FloatFormat, few: bool) -> tuple[tuple[int, int], ...]:
    """Return pairs of codes, the factors of products, with many exponents; ``few``: with few, and positive."""
    all_ = _exponents(_least(of_a) + _least(of_b), of_a.emax + of_b.emax)
    near = [each for each in all_ if abs(each) <= FAR]
    exponents = dict.fromkeys((0, max(near), min(near), 1, (min(near) + max(near)) // 2)) if few else all_
    found: dict[tuple[int, int], None] = {}
    for exponent in exponents:
        for x, y in _products(of_a, of_b, exponent):
            found[x, y] = None
            if not few and of_a.sign_mask:
                found[x | of_a.sign_mask, y] = None
    return tuple(found)


def _products(of_a: FloatFormat, of_b: FloatFormat, exponent: int, every: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the codes of positive factors whose product has an exponent: significands with all bits 1 and with a single
    bit 1. ``every``: significands of all kinds.
    """
    left = min(max(exponent // 2, _least(of_a), exponent - of_b.emax), of_a.emax, exponent - _least(of_b))
    for factors in _significands(of_a, of_b, every):
        x, y = (
            scalar.from_fraction(fmt, significand * Fraction(2) ** power).code
            for fmt, significand, power in zip((of_a, of_b), factors, (left, exponent - left), strict=True)
        )
        if scalar.value(of_a, x) and scalar.value(of_b, y):
            yield x, y


@lru_cache(maxsize=16)
def _significands(of_a: FloatFormat, of_b: FloatFormat, every: bool) -> tuple[tuple[Fraction, Fraction], ...]:
    """Return pairs of significands: with all bits 1 and with a single bit 1. ``every``: all pairs of significands of
    few bits; for other formats also those whose product is as near as possible to 1 or 2, and a bit below it: sums that
    are nearly a tie.
    """
    one, short = Fraction(1), of_a.mantissa_bits + of_b.mantissa_bits <= 8
    ulps = [Fraction(1, 1 << fmt.mantissa_bits) for fmt in (of_a, of_b)]
    found = [(one, one), (2 - ulps[0], 2 - ulps[1]), (1 + ulps[0], 1 + ulps[1]), (2 - ulps[0], one)]
    if every and short:
        sides = [
            [1 + n * ulp for n in range(1 << fmt.mantissa_bits)] for fmt, ulp in zip((of_a, of_b), ulps, strict=True)
        ]
        found += [(x, y) for x in sides[0] for y in sides[1]]
    elif every:
        size_a, size_b = (1 << min(fmt.mantissa_bits, 12) for fmt in (of_a, of_b))
        x = np.arange(size_a, 2 * size_a, dtype=np.int64)
        for place in range(1, of_a.mantissa_bits + of_b.mantissa_bits + 1):
            # x * y is at least 2 + 2**(1 - place), as integers with the sizes as units; y is the smallest such one.
            least = 2 * size_a * size_b + (2 * size_a * size_b >> place)
            y = -(-least // x)
            best = int(np.where(y < 2 * size_b, x * y, np.iinfo(np.int64).max).argmin())
            found.append((Fraction(int(x[best]), size_a), Fraction(int(y[best]), size_b)))
    return tuple(dict.fromkeys(found))


def _least(fmt: FloatFormat) -> int:
    """Return the exponent of the smallest positive number."""
    return fmt.emin - fmt.mantissa_bits


def _exponents(low: int, high: int) -> tuple[int, ...]:
    """Return the exponents of numbers, those near 0 first, then those at the ends of the range."""
    near = sorted(range(max(low, -FAR), min(high, FAR) + 1), key=abs)
    return tuple(dict.fromkeys((*near, low, low + 1, high - 1, high)))


@lru_cache(maxsize=16)
def _addends(fmt: FloatFormat, few: bool) -> tuple[int, ...]:
    """Return codes of C that are not zero: of numbers from the whole range, or, if ``few``, of three exponents only."""
    return _numbers(fmt, (0, -12, 12) if few else (*_exponents(_least(fmt), fmt.emax), fmt.emin - 1, fmt.emin))


def _numbers(fmt: FloatFormat, exponents: Iterable[int]) -> tuple[int, ...]:
    """Return codes of both signs at these exponents, with significands whose bits are all 1 and with a single bit 1."""
    ulp = Fraction(1, 1 << fmt.mantissa_bits)
    numbers = [
        s * Fraction(2) ** e * sign for e in exponents for s in (Fraction(1), 2 - ulp, 1 + ulp) for sign in (1, -1)
    ]
    codes = [scalar.from_fraction(fmt, number).code for number in numbers]
    return tuple(code for code in dict.fromkeys(codes) if scalar.value(fmt, code))
