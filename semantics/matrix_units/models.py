"""Tile operations D = A * B + C on arrays of codes: a mathematical model, an IEEE one, and those of real chips.

Arrays are A [..., M, K], B [..., K, N], C [..., M, N] with the same leading dimensions, and scales [..., M, K / block]
and [..., K / block, N]. The models:

- ``exact``: the exact sum of C and all products, rounded once to nearest even. NaN operands, infinity times zero and
  infinities of both signs give the default NaN.
- ``ieee``: fused multiply-adds in the order of K in C's format, into which A and B convert exactly. Scaled elements are
  scaled first and rounded to C's format, as `arith.scaling_extf` does.
- ``chip:<name>``: what a matrix unit computes, by the rows of `chips`.
- ``custom:<fields>``: what a unit computes that an `Accumulator` describes, in its text form.

Integers are added exactly, modulo the width of C; an accumulator of one's own may have another width, and saturate.

Inside, tiles are the last dimension: arrays are [K, M, N, tiles], with as many tiles at a time as fit in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from halfulp.fp_formats.exact import comparisons
from halfulp.fp_formats.exact.core import specials_of
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask, signed_integers
from halfulp.fp_formats.paths import fast
from halfulp.semantics.matrix_units import aligned_sums, machine_sums
from halfulp.semantics.matrix_units.accumulator import KEPT, NORMAL, OWN, PREFIX, Accumulator, places_of, shape_of
from halfulp.semantics.matrix_units.aligned_sums import Chunk, Integers, SumTrace
from halfulp.semantics.matrix_units.chips import CHAIN, CHIPS, INTEGER, Instruction, as_model, near
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.scalar_sums import RegisterStep, accumulate, nan_of
from halfulp.semantics.matrix_units.sliced_products import HELD, enclosed_sums, product_of_integers

BLOCK = 1 << 16  # products at a time: their temporaries stay in the second-level cache
_MOVED = 1 << 17  # codes at a time
LARGE_BLOCK = 1 << 21  # by machine code, which has no temporaries for products


class Unpublished(Exception):
    """The error if nobody has published how hardware computes an operation, or if the rule of a user does not define
    it. ``model`` and ``operation`` are their names. ``what``: the operands for which this is true, if not for all.
    ``near``: the instructions that are published instead, in words. ``tiles``: a mask of the tiles for which this is
    true; None for all.
    """

    def __init__(self, model: str, operation: str, what: str = "", near: str = "", tiles: Mask | None = None) -> None:
        if model.startswith(PREFIX):
            super().__init__(f"{model}: the fields of the accumulator do not define {operation}{what}")
        else:
            super().__init__(f"{model}: how hardware computes {operation}{what} is not published")
        self.model, self.operation, self.what, self.near, self.tiles = model, operation, what, near, tiles

    @property
    def hint(self) -> str | None:
        """Return a text that says what the user can do instead; None if there is nothing."""
        if not self.model.startswith("chip:"):
            return None
        return f"{self.near}{'; ' if self.near else ''}the models exact and ieee (--mma, mma=) compute it"


MachineCode = Callable[[Codes, Codes, Codes, tuple[Codes, ...], machine_sums.General], Codes | None]

# Models.


def _slices(k: int, size: int) -> Iterator[slice]:
    for start in range(0, k, size):
        yield slice(start, start + size)


def _by_rule(model: str, op: TileOp, rule: Accumulator) -> Chunk:
    """Return the function of a rule: by IEEE operations, on integers of 64 bits, or else by the specification."""
    given, at_end, stepped = op, rule.c == "end", rule.steps != OWN
    if stepped:
        op = replace(op, a=rule.steps, b=rule.steps)
    rule = rule.of_a_step
    fmt_a, fmt_b, fmt = (FORMATS[name] for name in (op.a, op.b, op.d))
    group = min(rule.group or op.shape[2], op.shape[2])

    def aligning(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: SumTrace | None) -> Codes:
        x, y = aligned_sums.decoded(rule, fmt_a, a), aligned_sums.decoded(rule, fmt_b, b)
        z = tuple(aligned_sums.decoded(rule, FORMATS[op.scale], scale) for scale in scales)
        for part in _slices(len(a), group):
            factors = aligned_sums.Factors(x.at(part), y.at(part), tuple(scale.at(part) for scale in z))
            if rule.bits is None and rule.partial == KEPT:
                c = aligned_sums.exact_group(rule, op, factors, c, trace)
            else:
                c = aligned_sums.aligned_group(rule, op, factors, c, trace)
            _check_sum(model, given, rule, c)
        return aligned_sums.flushed(fmt, c, signed=True) if rule.flush else c

    def rounding(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: SumTrace | None) -> Codes:
        for part in _slices(len(a), group):
            c = (
                aligned_sums.chain(fmt, a[part], b[part], c, trace)
                if rule.chain
                else aligned_sums.tree(rule, fmt, a[part], b[part], c, trace)
            )
            _check_sum(model, given, rule, c)
        return aligned_sums.flushed(fmt, c, signed=True) if rule.flush else c

    def specified(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: SumTrace | None) -> Codes:
        if trace is not None or rule.specials == NORMAL:
            for part in _slices(len(a), group):
                first = slice(0, part.stop)
                so_far = replace(op, shape=(*op.shape[:2], len(a[first])))
                sums = by_specification(rule, so_far, a[first], b[first], c, tuple(scale[first] for scale in scales))
                _check_sum(model, given, rule, sums)
                if trace is not None:
                    trace.rounded(aligned_sums.Members(tuple(range(len(a[part]))), True), fmt, sums, last=True)
        return by_specification(rule, op, a, b, c, scales)

    def registering(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: SumTrace | None) -> Codes:
        whole = replace(op, shape=(*op.shape[:2], len(a)))
        if aligned_sums.fits_register(op):
            x, y = aligned_sums.decoded(rule, fmt_a, a), aligned_sums.decoded(rule, fmt_b, b)
            z = tuple(aligned_sums.decoded(rule, FORMATS[op.scale], scale) for scale in scales)
            sums = aligned_sums.in_register(rule, op, aligned_sums.Factors(x, y, z), c, group)
            sums = aligned_sums.flushed(fmt, sums, signed=True) if rule.flush else sums
        else:
            sums = by_specification(rule, whole, a, b, c, scales)
        if trace is not None:
            by_specification(rule, whole, a, b, c, scales, trace)
            trace.rounded(aligned_sums.Members(tuple(range(len(a))), True), fmt, sums, last=True)
        return sums

    holding = aligned_sums.holds_products(op)
    exactly = rule.bits is None and (holding if rule.partial != KEPT else holding or not rule.product_overflow)
    by_machine: MachineCode | None = None
    if rule.lsb is not None:
        each, by_machine = registering, partial(machine_sums.aligned, rule, op)
    elif rule.plain and not op.scale:
        each, by_machine = rounding, partial(machine_sums.plain, rule, op)
    elif exactly or aligned_sums.fits(rule, op):
        each, by_machine = aligning, partial(machine_sums.aligned, rule, op)
    else:
        each = specified

    def general(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...]) -> Codes:
        for part in _slices(len(a), op.shape[2]):
            c = each(a[part], b[part], c, tuple(scale[part] for scale in scales), None)
        return c

    def quickly(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...]) -> Codes | None:
        """Return the sums of one or more instructions by machine code, if there is such code."""
        found = None if by_machine is None else by_machine(a, b, c, scales, general)
        return aligned_sums.flushed(fmt, found, signed=True) if found is not None and rule.flush else found

    def instruction(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: SumTrace | None) -> Codes:
        if trace is not None:
            return each(a, b, c, scales, trace)
        if rule.specials != NORMAL:
            found = quickly(a, b, c, scales)
            return each(a, b, c, scales, None) if found is None else found
        for part in _slices(len(a), group):  # all sums of groups are checked
            few = tuple(scale[part] for scale in scales)
            found = quickly(a[part], b[part], c, few)
            c = each(a[part], b[part], c, few, None) if found is None else found
            _check_sum(model, given, rule, c)
        return c

    def with_c(total: Codes, c: Codes, trace: SumTrace | None) -> Codes:
        if rule.flush:
            total, c = (aligned_sums.flushed(fmt, codes, signed=False) for codes in (total, c))
        c = fast.add(fmt, c, total).codes
        if rule.flush:
            c = aligned_sums.flushed(fmt, c, signed=True)
        _check_sum(model, given, rule, c)
        if trace is not None:
            trace.rounded(aligned_sums.Members((), True), fmt, c, last=True)
        return c

    def instructions(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: SumTrace | None) -> Codes:
        step = instruction
        if trace is None and not at_end and rule.specials != NORMAL and len(a) > op.shape[2]:
            found = quickly(a, b, c, scales)
            # The result of one instruction is an operand of the next: what is special stays so.
            unknown = None if found is None else _unknown_special(rule, op.d, found)
            if found is not None and (unknown is None or not unknown.any()):
                return found
            step = each if found is None else instruction
        for number, part in enumerate(_slices(len(a), op.shape[2])):
            if number:
                _check_known(model, op, rule, ((op.d, c),), (0, 1))
            before = np.zeros_like(c) if at_end else c
            total = step(a[part], b[part], before, tuple(scale[part] for scale in scales), trace)
            c = with_c(total, c, trace) if at_end else total
        return c

    def compute(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: SumTrace | None) -> Codes:
        if stepped:
            a = fast.convert(FORMATS[given.a], fmt_a, a).codes
            b = fast.convert(FORMATS[given.b], fmt_b, b).codes
        if rule.plain and not op.scale:
            if rule.flush:
                a, b = aligned_sums.flushed(fmt_a, a, signed=False), aligned_sums.flushed(fmt_b, b, signed=False)
            a, b = _converted(fmt_a, fmt, a), _converted(fmt_b, fmt, b)
        c = instructions(a, b, c, scales, trace)
        if rule.nan != "payload":
            nan = fast.is_nan(fmt, c)
            if nan.any():  # a NaN of C stays as it is where there is nothing to add
                c = np.where(nan, nan_of(rule, fmt), c).astype(fmt.storage_dtype)
        return c

    return compute


def _converted(src: FloatFormat, dst: FloatFormat, codes: Codes) -> Codes:
    """Convert codes. In the same format only signalling NaNs change."""
    return codes if src == dst and not fast.is_nan(src, codes).any() else fast.convert(src, dst, codes).codes


def by_specification(
    rule: Accumulator,
    op: TileOp,
    a: Codes,
    b: Codes,
    c: Codes,
    scales: tuple[Codes, ...] = (),
    trace: SumTrace | None = None,
) -> Codes:
    """Compute each element of D by `scalar_sums.accumulate`. Operands are those of a `Chunk`. ``trace``: the steps of a
    register in fixed point are added to it.
    """
    steps = list[RegisterStep]()
    alone = replace(op, order=None, c=op.d)
    out = np.empty_like(c)
    for m, n, tile in np.ndindex(c.shape):
        factors = None
        if scales:
            x, y = (scale[:: op.block] for scale in scales)
            factors = (x[:, m, 0, tile].tolist(), y[:, 0, n, tile].tolist())
        row, column = a[:, m, 0, tile].tolist(), b[:, 0, n, tile].tolist()
        out[m, n, tile] = accumulate(rule, alone, row, column, int(c[m, n, tile]), factors, steps)
    if trace is not None:
        trace += steps
    return out


def _ieee(op: TileOp) -> Chunk:
    fmt_a, fmt_b, fmt = (FORMATS[name] for name in (op.a, op.b, op.d))

    def in_arrays(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...]) -> Codes:
        return aligned_sums.chain(fmt, a, b, c, None)

    def model(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: SumTrace | None) -> Codes:
        a, b = _converted(fmt_a, fmt, a), _converted(fmt_b, fmt, b)
        if scales:
            factors = [fast.convert(FORMATS[op.scale], fmt, scale).codes for scale in scales]
            a, b = (fast.multiply(fmt, x, factor).codes for x, factor in zip((a, b), factors, strict=True))
        found = machine_sums.plain(CHAIN, op, a, b, c, (), in_arrays) if trace is None else None
        return aligned_sums.chain(fmt, a, b, c, trace) if found is None else found

    return model


# Integers.


def _integers(op: TileOp, rule: Accumulator, a: Codes, b: Codes, c: Codes) -> Codes:
    """Compute on integers, for tiles [tiles, M, K], [tiles, K, N] and [tiles, M, N]."""
    width, mask = rule.width or int(op.d[1:]), np.int64(-1 if op.d == "i64" else (1 << int(op.d[1:])) - 1)
    x, y, addend = (signed_integers(codes, int(name[1:])) for name, codes in ((op.a, a), (op.b, b), (op.c, c)))
    if rule.overflow != "saturate":
        bits = int(op.a[1:]) + int(op.b[1:]) + x.shape[-1].bit_length()
        products = product_of_integers(x, y) if bits <= HELD else np.matmul(x, y)
        total = signed_integers((products + addend).view(np.uint64) & _ones(width), width)
        return np.asarray((total & mask).astype(c.dtype))
    if int(op.a[1:]) + int(op.b[1:]) + x.shape[-1].bit_length() > 62 or width > 62:
        chunk = by_specification(rule, op, _of_rows(a), _of_columns(b), c.transpose(1, 2, 0))
        return chunk.transpose(2, 0, 1)
    lowest, highest = -(1 << (width - 1)), (1 << (width - 1)) - 1

    def held(total: Integers) -> Integers:
        return np.clip(total, lowest, highest)

    group = min(rule.group or op.shape[2], op.shape[2])
    total = held(addend)
    for instruction in _slices(x.shape[-1], op.shape[2]):
        for part in _slices(op.shape[2], group):
            left, right = x[..., instruction][..., part], y[..., instruction, :][..., part, :]
            total = _saturated(rule, left, right, total, held)
    return np.asarray((total & mask).astype(c.dtype))


def _saturated(
    rule: Accumulator, x: Integers, y: Integers, c: Integers, held: Callable[[Integers], Integers]
) -> Integers:
    """Add one group of products to C, where each sum is held in the accumulator's width."""
    if rule.tree == "flat":
        total = np.matmul(x, y)
        return held(total + c) if rule.c == "with" else held(held(total) + c)
    if rule.tree == "even_odd":
        halves = [held(np.matmul(x[..., start::2], y[..., start::2, :])) for start in (0, 1)]
        return held(held(halves[0] + halves[1]) + c)
    products = [x[..., k, np.newaxis] * y[..., np.newaxis, k, :] for k in range(x.shape[-1])]
    terms = [held(term) for term in ([c, *products] if rule.c == "with" else products)]
    for left, right in shape_of(rule.tree, len(terms)):
        terms.append(held(terms[left] + terms[right]))
    return held(terms[-1] + c) if rule.c == "last" else terms[-1]


def _ones(width: int) -> np.uint64:
    return np.uint64((1 << width) - 1)


# The front.


def rule_of(model: str | Accumulator, op: TileOp) -> Accumulator | None:
    """Return the rule by which a model computes an operation: that of a chip or of a user; None for "exact" and "ieee".

    Raises `Unpublished` if the rule of a chip is not known, ValueError if a rule cannot be used with the types.
    """
    if not isinstance(model, Accumulator):
        model = as_model(model)
        model = Accumulator.from_text(model) if model.startswith(PREFIX) else model
    if isinstance(model, Accumulator):
        model.check((op.a, op.b), op.d, op.scale)
        return model
    if not model.startswith("chip:"):
        return None
    chip, asked = model.removeprefix("chip:"), _instruction_of(op)
    for row in CHIPS[chip]:
        if not row.others(asked):
            return row.rule
    raise Unpublished(model, op.name, near=near(chip, asked))


def _instruction_of(op: TileOp) -> Instruction:
    m, n, k = op.shape
    shape = f"{m}x{n}x{k}" + (f"x{op.blocks}B" if op.blocks > 1 else "")
    scales = f"{op.scale},{op.block}" if op.scale else ""
    return Instruction(op.unit, f"{op.a},{op.b}", f"{op.c},{op.d}", shape, scales)


def supports(model: str, op: TileOp) -> bool:
    """Tell whether a model computes an operation."""
    try:
        _model(as_model(model), op)
    except (Unpublished, ValueError):
        return False
    return True


class TileModel(NamedTuple):
    """A model for an operation: the function that computes chunks of tiles (None for integers), the rule that it
    follows, if any, and the number of array elements that it needs for each result.
    """

    chunk: Chunk | None
    rule: Accumulator | None = None
    elements: int = 1


@lru_cache(maxsize=256)
def _model(given: str | Accumulator, op: TileOp) -> TileModel:
    model = as_model(given)
    if op.name.startswith("VDMFMA"):
        raise Unpublished(model, op.name)
    rule = rule_of(given, op)
    if op.d not in FORMATS:
        return TileModel(None, rule)
    if rule is not None:
        exact = rule.bits is None and not rule.plain
        return TileModel(_by_rule(model, op, rule), rule, aligned_sums.exact_model(op)[1] // 4 if exact else 1)
    if model == "ieee":
        return TileModel(_ieee(op))
    chunk, digits = aligned_sums.exact_model(op)
    return TileModel(chunk, None, digits // 4)  # fewer passes by longer arrays


def terms_at_once(op: TileOp, k: int) -> int:
    """Return how many terms of an element of D are in memory at once, which limits the tiles of a block. If K takes
    several instructions, only the operands of all of them are in memory together.
    """
    return max(op.shape[2], k // 16)


def multiply_accumulate(
    model: str | Accumulator,
    op: TileOp,
    a: Codes,
    b: Codes,
    c: Codes,
    scale_a: Codes | None = None,
    scale_b: Codes | None = None,
    trace: SumTrace | None = None,
) -> Codes:
    """Return A * B + C of tiles, as codes of D; see the module. ``trace``: the steps are added to it, for operands that
    give a single element.

    Raises `Unpublished` if the results of a chip are not known, and ValueError for shapes that do not fit, and for
    scaled products that integers of 64 bits do not hold.
    """
    if op.scale and not aligned_sums.holds_products(op):
        types = f"{op.a}, {op.b} and two scales of type {op.scale}"
        raise ValueError(f"products of {types} have too many bits: at most 62 bits are computed")
    chunk, rule, elements = _model(model, op)
    model = str(model)
    scales = () if scale_a is None or scale_b is None else (scale_a, scale_b)
    _check_shapes(op, a, b, c, scales)
    if rule is not None:
        _check_known(model, op, rule, ((op.a, a), (op.b, b), (op.c, c)), (-2, -1))
        if op.order is not None or rule.order:
            order = places_of(rule, op, a.shape[-1])
            a, b = a[..., order], b[..., order, :]
    if op.c != op.d and chunk is not None:
        c = fast.convert(FORMATS[op.c], FORMATS[op.d], c).codes
    *lead, m, k = a.shape
    n, tiles = b.shape[-1], math.prod(lead)
    a, b, c = a.reshape(tiles, m, k), b.reshape(tiles, k, n), c.reshape(tiles, m, n)
    if chunk is None:
        return _integers(op, rule or INTEGER, a, b, c).reshape(*lead, m, n)
    if scales:
        x, y = (scale.reshape(tiles, *scale.shape[-2:]) for scale in scales)
        scales = np.repeat(x, op.block, axis=2), np.repeat(y, op.block, axis=1)
    enclosed = enclosed_sums(op, a, b, c, scales) if model == "exact" and trace is None else None
    if enclosed is not None:
        codes, step = enclosed.codes, max(1, BLOCK // max(1, k, elements))
        found = np.nonzero(enclosed.unsure)
        for start in range(0, len(found[0]), step):
            tile, row, column = (each[start : start + step] for each in found)
            of_a, of_b = (
                [x[tile, row][:, None] for x in (a, *scales[:1])],
                [x[tile, :, column][..., None] for x in (b, *scales[1:])],
            )
            few = c[tile, row, column][:, None, None]
            codes[tile, row, column] = _by_chunk(chunk, of_a[0], of_b[0], few, (*of_a[1:], *of_b[1:]), None).reshape(-1)
        return codes.reshape(*lead, m, n)
    out = np.empty((tiles, m, n), FORMATS[op.d].storage_dtype)
    if machine_sums.takes(CHAIN if model == "ieee" else rule, op, tiles * m * n * k):
        # The code works on many columns of one tile, or on many tiles, at once.
        columns = m * n * k >= _LARGE_TILE and max(m, n) >= tiles
        step = 1 if columns else max(1, LARGE_BLOCK // max(1, m * n * k))
    else:
        step = max(1, BLOCK // max(1, m * n * max(terms_at_once(op, k), elements)))
    for start in range(0, tiles, step):
        part = slice(start, start + step)
        out[part] = _by_chunk(chunk, a[part], b[part], c[part], tuple([each[part] for each in scales]), trace)
    return out.reshape(*lead, m, n)


def _by_chunk(chunk: Chunk, a: Codes, b: Codes, c: Codes, scales: Sequence[Codes], trace: SumTrace | None) -> Codes:
    """Return what a function of chunks gives for tiles."""
    factors = (_of_rows(scales[0]), _of_columns(scales[1])) if scales else ()
    held = np.ascontiguousarray(c.transpose(1, 2, 0))
    return chunk(_of_rows(a), _of_columns(b), held, factors, trace).transpose(2, 0, 1)


_LARGE_TILE = 1 << 15
"""The products of a tile from which a call for each tile is not slow."""


def _of_rows(x: Codes) -> Codes:
    return _turned(x.transpose(2, 1, 0))[:, :, None, :]


def _of_columns(x: Codes) -> Codes:
    return _turned(x.transpose(1, 2, 0))[:, None, :, :]


def _turned(x: Codes) -> Codes:
    """Return codes in the order of their dimensions in memory. They are moved in blocks that stay in the cache."""
    out = np.empty(x.shape, x.dtype)
    k, rows, tiles = x.shape
    if tiles > 1:
        for part in _slices(tiles, max(1, _MOVED // max(1, k * rows))):
            out[..., part] = x[..., part]
    else:
        for part in _slices(rows, max(1, _MOVED // max(1, k))):
            out[:, part] = x[:, part]
    return out


_SPECIAL = " with infinite or NaN operands"
_UNKNOWN = {"nan": " with infinite operands", "none": _SPECIAL, NORMAL: _SPECIAL}
_KNOWN = {
    "nan": "operands that are not infinite",
    "none": "finite operands",
    NORMAL: "finite operands whose sums are zero or normal",
}


def _check_known(
    model: str, op: TileOp, rule: Accumulator, operands: tuple[tuple[str, Codes], ...], axes: tuple[int, int]
) -> None:
    """Raise `Unpublished` if an operand (each with its type) is special in a way for which the rule is not known.
    ``axes``: those of a tile.
    """
    for name, codes in operands:
        special = _unknown_special(rule, name, codes)
        if special is not None and special.any():
            infinite = comparisons.is_infinite(FORMATS[name], codes).any()
            known = ("all",) if infinite else ("all", "nan")
            raise _unpublished(model, op, rule, _UNKNOWN[rule.specials], known, np.asarray(special.any(axis=axes)))


def _unpublished(
    model: str, op: TileOp, rule: Accumulator, what: str, known: Sequence[str], tiles: Mask
) -> Unpublished:
    """Return the error for operands for which a rule is not known. ``known``: the values of ``specials`` of the rules
    that are known for them.
    """
    nearest = ""
    if model.startswith("chip:"):
        chip = as_model(model).removeprefix("chip:")
        nearest = f"it is published for {_KNOWN[rule.specials]}; {near(chip, _instruction_of(op), known)}"
    return Unpublished(model, op.name, what, nearest, tiles)


def _unknown_special(rule: Accumulator, name: str, codes: Codes) -> Mask | None:
    if name not in FORMATS or rule.specials == "all":
        return None
    if rule.specials == "nan":
        return comparisons.is_infinite(FORMATS[name], codes)
    return specials_of(FORMATS[name], codes)


def _check_sum(model: str, op: TileOp, rule: Accumulator, codes: Codes) -> None:
    """Raise `Unpublished` if the sum of a group is neither zero nor normal, and the rule is not known for such sums."""
    if rule.specials != NORMAL:
        return
    fmt = FORMATS[op.d]
    magnitude = codes & codes.dtype.type(fmt.code_mask >> 1)
    unknown = (magnitude < fmt.min_normal_code) & (magnitude != 0) | (magnitude > fmt.max_code)
    if unknown.any():
        what = " with sums that are infinite, NaN or subnormal"
        raise _unpublished(model, op, rule, what, ("all", "nan", "none"), np.asarray(unknown.any(axis=(0, 1))))


def _check_shapes(op: TileOp, a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...]) -> None:
    *lead, m, k = a.shape
    n = b.shape[-1]
    groups = k // op.block if op.block else 0
    expected = [(b, (k, n)), (c, (m, n)), *zip(scales, ((m, groups), (groups, n)), strict=False)]
    whole = len(op.order) if op.order is not None else op.shape[2]
    if any(x.shape != (*lead, *shape) for x, shape in expected) or k % whole or bool(scales) != bool(op.scale):
        shapes = ", ".join(str(x.shape) for x in (a, b, c, *scales))
        raise ValueError(f"{op.name}: operands of shapes {shapes} do not fit together")


def explain(
    model: str,
    op: TileOp,
    row: Codes,
    column: Codes,
    c: int,
    scale_row: Codes | None = None,
    scale_column: Codes | None = None,
) -> tuple[int, SumTrace]:
    """Compute one element of D, from a row of A [K], a column of B [K] and a code of C. Returns its code and the steps
    of the model.
    """
    trace = SumTrace()
    dtype = FORMATS[op.c].storage_dtype if op.c in FORMATS else np.dtype(np.uint32)
    row, column = row.reshape(1, -1), column.reshape(-1, 1)
    left = None if scale_row is None else scale_row.reshape(1, -1)
    right = None if scale_column is None else scale_column.reshape(-1, 1)
    result = multiply_accumulate(model, op, row, column, np.array([[c]], dtype), left, right, trace)
    return int(result[0, 0]), trace
