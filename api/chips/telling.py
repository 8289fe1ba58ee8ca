"""The shortest inputs that tell two chips apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from halfulp.chips.rows import Rows, instructions
from halfulp.chips.which import filled
from halfulp.codegen.tile_names import model_for
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.spelling import table_lines, value_text
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.values.coerce import as_type
from halfulp.semantics.matrix_units.accumulator import PREFIX, Accumulator
from halfulp.semantics.matrix_units.kinds import TileOp

MOST_PRODUCTS = 4
"""Inputs of so many products that are not zero are tried."""

FAR = 45
"""So many binades lie between two terms at most, where the type has them: more than any unit keeps bits."""


@dataclass(frozen=True)
class Input:
    """Codes of a row of A, a column of B and an element of C, and the codes of D that the two models give."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    c: int
    results: tuple[int, int]


@dataclass(frozen=True)
class Distinction:
    """The inputs for which two models differ. ``instructions``: those that were compared. ``inputs``: codes, the fewest
    products first; none where no input does. ``reason``: why there is none, or what was tried with fewer products.
    """

    models: tuple[str, str]
    instructions: tuple[str, str]
    types: tuple[str, str]
    inputs: tuple[Input, ...]
    reason: str

    @property
    def products(self) -> int | None:
        """The products of the first input that are not zero; None where there is no input."""
        return None if not self.inputs else sum(x != 0 for x in self.inputs[0].a)

    def __str__(self) -> str:
        type_, acc = self.types
        lines = [" and ".join(f"{model} ({name})" for model, name in zip(self.models, self.instructions, strict=True))]
        rows: list[tuple[str, ...]] = [("a * b", "c", *self.models)]
        for each in self.inputs:
            terms = [
                f"{value_text(FORMATS[type_], x)} * {value_text(FORMATS[type_], y)} at {k}"
                for k, (x, y) in enumerate(zip(each.a, each.b, strict=True))
                if x
            ]
            codes = (each.c, *each.results)
            rows.append((", ".join(terms) or "zeros", *(value_text(FORMATS[acc], code) for code in codes)))
        return "\n".join([*lines, *(table_lines(rows) if self.inputs else []), *filter(None, [self.reason])])

    def __repr__(self) -> str:
        return str(self)


def tell_apart(one: Any, other: Any, *, type: Any, acc: Any = "f32", count: int = 10) -> Distinction:
    """Find up to ``count`` inputs of one instruction for which two models give different results.

    ``one``, ``other``: "chip:<name>", with its first instruction for the types, or with another one, as in
    "chip:b200 tcgen05"; or an `Accumulator`. ``type``: the element type of A and B, ``acc`` of C and D. The inputs have
    as few products as possible that are not zero: all inputs with fewer products that are tried give equal results.
    What is tried are terms of one to four kinds of significands at all distances up to 45 binades, at the places
    where units divide K. Where the rules are the same, the models are equal, and the reason says so.

    Raises Unsupported if a chip has no instruction for the types, and InputError for an unknown model.

        >>> told = hu.tell_apart("chip:a100", "chip:h100", type="f16")
        >>> told.products
        1
    """
    element, into = str(as_type(type)), str(as_type(acc))
    if element not in FORMATS or into not in FORMATS:
        raise InputError(f"type and acc must be float types, not {type} and {acc}")
    if count < 1:
        raise InputError(f"count is {count}, but must be at least 1")
    first, second = (_instruction(model, element, into) for model in (one, other))
    models, names = (str(one), str(other)), (first[0].name, second[0].name)
    length = min(first[0].shape[2], second[0].shape[2])
    if same := _same(first, second):
        return Distinction(models, names, (element, into), (), same)
    found, fewer = different(first, second, length, count)
    reason = f"all {fewer} inputs that were tried give equal results"
    if found:
        reason = f"all {fewer} inputs with fewer products that were tried give equal results" if fewer else ""
    return Distinction(models, names, (element, into), tuple(found), reason)


def different(
    first: tuple[TileOp, str], second: tuple[TileOp, str], length: int, count: int, most: int = MOST_PRODUCTS
) -> tuple[list[Input], int]:
    """Find up to ``count`` inputs for which two rules differ, with the fewest products that are not zero, up to
    ``most``. Also returns the number of inputs that were tried with fewer products.
    """
    element, into, tried = first[0].a, first[0].d, 0
    for products in range(most + 1):
        found: list[Input] = []
        fewer = tried
        for rows in _inputs(element, into, length, products):
            results = [filled(rows, op.shape[2]).by(rule, op) for op, rule in (first, second)]
            differ = (results[0].codes != results[1].codes) & ~results[0].unknown & ~results[1].unknown
            for row in np.flatnonzero(differ)[: count - len(found)]:
                pair = (int(results[0].codes[row]), int(results[1].codes[row]))
                found.append(Input(tuple(rows.a[row].tolist()), tuple(rows.b[row].tolist()), int(rows.c[row]), pair))
            tried += len(rows)
            if len(found) == count:
                break
        if found:
            return found, fewer
    return [], tried


def _instruction(model: Any, element: str, into: str) -> tuple[TileOp, str]:
    """Return the operation of a model, and its rule as text."""
    name, _, unit = (model, "", "") if isinstance(model, Accumulator) else str(model).partition(" ")
    text = model_for(name)
    if text.startswith(PREFIX):
        return TileOp("the accumulator", element, element, into, into, (1, 1, 32)), text
    for chip, op, rule in instructions(element, element, into, into):
        if f"chip:{chip}" == text and op.unit == (unit or op.unit) and op.blocks == 1:
            return op, rule
    if not text.startswith("chip:"):
        raise InputError(f"'{model}' is not a chip", hint="name chips, as in chip:h100, or accumulators")
    raise Unsupported(f"{model}: how it multiplies {element} into {into} is not published")


def _same(first: tuple[TileOp, str], second: tuple[TileOp, str]) -> str:
    """Say why two instructions cannot differ; empty where they may."""
    # Inputs are as long as the shorter instruction. Groups of +0 * +0 behind them change no sum where C is among the
    # terms, and no zero is negative.
    sizes = [op.shape[2] for op, _ in (first, second)]
    length, rules = min(sizes), list[Accumulator]()
    for _, text in (first, second):
        rule = replace(Accumulator.from_text(text), specials="all")
        alone = rule.c == "with" and not rule.order and rule.group >= length
        rules.append(replace(rule, group=0) if alone else rule)
    apart = sizes[0] != sizes[1] and (rules[0].c != "with" or rules[0].order or rules[0].zero == "ieee")
    if rules[0] != rules[1] or apart:
        return ""
    return f"they cannot differ: both add so many products by the rule {rules[0]}"


# --- inputs -----------------------------------------------------------------------------------------------------------


def _inputs(element: str, into: str, length: int, products: int) -> Iterator[Rows]:
    """Yield rows of so many products that are not zero."""
    fmt, wide = FORMATS[element], FORMATS[into]
    near, all_ = _terms(fmt, few=True), _terms(fmt, few=False)
    small = [0, *_addends(wide, few=True)]
    match products:
        case 0:
            combinations: Iterator[Any] = ((c, ()) for c in _addends(wide, few=False))
        case 1:
            combinations = ((c, (x,)) for x in near for c in [0, *_addends(wide, few=False)])
        case 2:
            combinations = ((c, (x, y)) for c in small[:1] for x in near for y in all_)
            combinations = itertools.chain(
                combinations, ((c, (x, y)) for c in small[1:] for x in near[:4] for y in all_)
            )
        case _:
            # Two terms that cancel, or do not, beside copies of a third one.
            pairs = [(x, y) for x in near[:4] for y in (x, (fmt.sign_mask ^ x[0] if fmt.sign_mask else x[0], x[1]))]
            combinations = ((0, (*pair, *[z] * (products - 2))) for pair in pairs for z in all_)
    places = list(_places(length, products))
    while batch := list(itertools.islice(combinations, 8192 // len(places))):
        count = len(batch) * len(places)
        a, b = (np.zeros((count, length), fmt.storage_dtype) for _ in range(2))
        c = np.repeat(np.array([c for c, _ in batch], wide.storage_dtype), len(places))
        at = np.tile(np.array(places, np.intp).reshape(len(places), products), (len(batch), 1))
        for side, array in enumerate((a, b)):
            codes = np.array([[term[side] for term in terms] for _, terms in batch], fmt.storage_dtype)
            array[np.arange(count)[:, None], at] = np.repeat(codes.reshape(len(batch), products), len(places), axis=0)
        yield Rows(a, b, c, np.zeros_like(c), (element, element, into, into))


def _places(length: int, products: int) -> Iterator[tuple[int, ...]]:
    """Yield places along K: neighbours, and those that groups, halves and pairs part."""
    apart = dict.fromkeys(k for k in (1, 2, 4, 8, 16, length - 1) if k < length)
    if products < 2:
        yield tuple(range(products))
        return
    for k in apart:
        places = list(dict.fromkeys((0, k, *range(1, length))))[:products]
        if len(places) == products:
            yield tuple(places)
            yield tuple(reversed(places))


@lru_cache(maxsize=16)
def _terms(fmt: FloatFormat, few: bool) -> tuple[tuple[int, int], ...]:
    """Return pairs of codes, factors of products: significands of all ones and a single one, at many exponents."""
    ulp = Fraction(1, 1 << fmt.mantissa_bits)
    significands = ((Fraction(1), Fraction(1)), (2 - ulp, 2 - ulp), (1 + ulp, 1 + ulp), (2 - ulp, Fraction(1)))
    low, high = max(2 * (fmt.emin - fmt.mantissa_bits), -FAR), min(2 * fmt.emax, FAR)
    exponents = list(dict.fromkeys((0, high, low, 1, (low + high) // 2))) if few else _inside_out(low, high)
    found: dict[tuple[int, int], None] = {}
    for exponent in exponents:
        for x, y in significands:
            left = exponent // 2
            pair = [scalar.from_fraction(fmt, s * Fraction(2) ** e).code for s, e in ((x, left), (y, exponent - left))]
            if all(scalar.value(fmt, code) for code in pair):
                found[pair[0], pair[1]] = None
                if not few and fmt.sign_mask:
                    found[pair[0] | fmt.sign_mask, pair[1]] = None
    return tuple(found)


def _inside_out(low: int, high: int) -> list[int]:
    """Return the numbers from low to high, those near 0 first."""
    return sorted(range(low, high + 1), key=abs)


@lru_cache(maxsize=16)
def _addends(fmt: FloatFormat, few: bool) -> tuple[int, ...]:
    """Return codes of C that are not zero."""
    ulp = Fraction(1, 1 << fmt.mantissa_bits)
    low, high = max(fmt.emin - fmt.mantissa_bits, -FAR), min(fmt.emax, FAR)
    numbers = [
        s * Fraction(2) ** e * sign
        for e in ([0, -12, 12] if few else _inside_out(low, high))
        for s in (Fraction(1), 2 - ulp, 1 + ulp)
        for sign in (1, -1)
    ]
    codes = [scalar.from_fraction(fmt, number).code for number in numbers]
    return tuple(code for code in dict.fromkeys(codes) if scalar.value(fmt, code))
