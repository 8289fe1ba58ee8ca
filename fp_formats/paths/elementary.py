"""The elementary functions on arrays of codes: the results of `halfulp.fp_formats.reals.elementary`, by quicker paths.

That module is the specification. It needs python-flint, so it is imported when the first result is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from functools import cache, partial
from typing import Any

import numpy as np

from halfulp.fp_formats import formats
from halfulp.fp_formats.exact.core import CHUNK, ArrayResult, flattened
from halfulp.fp_formats.formats import Codes, FloatFormat
from halfulp.fp_formats.paths import (
    disk,
    elementary_native,
    elementary_pairs,
    llvm,
    margins,
    tables,
    word_doubles,
    word_flags,
    word_functions,
)
from halfulp.fp_formats.paths.array_loop import applied
from halfulp.fp_formats.paths.margins import APPROXIMATIONS
from halfulp.fp_formats.paths.words import Word
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.scalar import RNE, Result

OF_TWO = ("atan2", "hypot", "polygamma", "powf", "zeta")
"""The functions of two arguments of one format."""
_BALLS_PAY = 8
"""Elements from which on balls on arrays are quicker than the specification."""
_MARGINS_PAY = 64
"""Elements from which on margins are quicker than balls."""
_MARGIN, _BALL = 16, 64
"""How many times as long as an addition margins and balls take, for `applied`. Balls take longer than this, but so does
the making of the code that takes their place.
"""

QUICK = 2000
"""Results of the specification that take as long as a table that is made by margins."""


def path_of(name: str, fmt: FloatFormat, dst: FloatFormat | None = None) -> str:
    """Return the quickest path of a function on arrays of a format; all take any mode and policy, and give flags.

    table: all codes of up to 16 bits, or all pairs of up to 8 bits, to formats of up to 64 bits, once a table saves
        time.
    margins: from formats of up to 32 bits to formats of up to 28 mantissa bits: round from f64 (`margins`,
        `elementary_pairs`). From f32 to f32 and without flags: by machine code (`word_functions`), where a function has
        it, or to nearest even by the machine's own conversions (`elementary_native`).
    balls: one ball for each element (`reals.arrays`). From f64 to f64 and without flags: by machine code
        (`word_doubles`), where a function has it.

    The specification computes the results that margins or balls do not determine.
    """
    dst = dst or fmt
    if fmt.bits <= (8 if name in OF_TWO else 16) and dst.limbs == 1:
        return "table"
    by_margins = margins.applies(fmt, dst) if name in APPROXIMATIONS else _has_pairs(name, fmt, dst)
    return "margins" if by_margins else "balls"


def _has_pairs(name: str, fmt: FloatFormat, dst: FloatFormat) -> bool:
    return name in elementary_pairs.PAIRS and elementary_pairs.applies(fmt, dst)


def unary(
    name: str,
    src: FloatFormat,
    a: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    dst: FloatFormat | None = None,
    want_flags: bool = False,
) -> ArrayResult:
    """Return the results of a function of one argument, rounded once to ``dst`` (default: the format of the argument).

    ``name``: a row of `halfulp.fp_formats.reals.functions`. Raises `halfulp.fp_formats.reals.functions.Unsettled` if no
    ball of bounded precision determines a result.
    """
    dst, rounding = dst or src, int(rounding)
    if name == "sqrt":
        described = word_flags.root(src, dst, rounding, policy)
        described = described if want_flags else word_flags.code_of(described)
        general = partial(_unary, name, src, rounding=rounding, policy=policy, dst=dst, want_flags=want_flags)
        return applied(described, (src.bits,), (a,), general, flags=want_flags) or general(a)
    return _unary(name, src, a, rounding, policy, dst, want_flags)


def _unary(
    name: str, src: FloatFormat, a: Codes, rounding: int, policy: FloatPolicy, dst: FloatFormat, want_flags: bool
) -> ArrayResult:
    def precisely(codes: Codes) -> ArrayResult:
        from halfulp.fp_formats.reals import arrays, elementary

        balls = partial(arrays.unary, name, src, rounding=rounding, policy=policy, dst=dst, want_flags=True)
        function = partial(elementary.unary, name, src, rounding=rounding, policy=policy, dst=dst)
        return _settled(balls, function, dst, (codes, src.bits))

    def by_margins(codes: Codes) -> ArrayResult:
        return margins.unary(name, src, codes, rounding, policy, dst, precisely)

    make = by_margins if margins.applies(src, dst) else precisely
    path = path_of(name, src, dst)
    if path == "table":
        key = (name, src, dst, rounding, policy)
        worth = 1 << src.bits if make is precisely else QUICK
        found = _tabled(key, src, dst, make, worth, a, want_flags)
        if found is not None:
            return found

    def in_arrays(codes: Codes) -> ArrayResult:
        if path != "margins" or codes.size < _MARGINS_PAY:
            return _with_flags(precisely(codes), want_flags)
        if elementary_native.applies(src, dst, rounding, policy, want_flags):
            return elementary_native.unary(name, codes, by_margins)
        return _with_flags(by_margins(codes), want_flags)

    words, slow = (word_doubles, _BALL) if path == "balls" else (word_functions, _MARGIN)

    def far(codes: Codes) -> ArrayResult:
        described = words.unary(name, src, rounding, policy, dst, far=True)
        return applied(described, (src.bits,), (codes,), in_arrays, slow) or in_arrays(codes)

    pays = not want_flags and path != "table" and llvm.may_pay(slow * a.size)
    described = words.unary(name, src, rounding, policy, dst) if pays else None
    return applied(described, (src.bits,), (a,), far, slow) or in_arrays(a)


def binary(
    name: str,
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    dst: FloatFormat | None = None,
    want_flags: bool = False,
) -> ArrayResult:
    """Return the results of a function of two arguments of one format that broadcast, rounded once to ``dst`` (default:
    the same format).

    ``name``: one of `OF_TWO`. Raises as `unary`.
    """
    dst, rounding = dst or fmt, int(rounding)

    def precisely(x: Codes, y: Codes) -> ArrayResult:
        from halfulp.fp_formats.reals import arrays, elementary

        balls = partial(arrays.binary, name, fmt, rounding=rounding, policy=policy, dst=dst, want_flags=True)
        function = partial(elementary.binary, name, fmt, rounding=rounding, policy=policy, dst=dst)
        return _settled(balls, function, dst, (x, fmt.bits), (y, fmt.bits))

    def by_margins(x: Codes, y: Codes) -> ArrayResult:
        return elementary_pairs.binary(name, fmt, x, y, rounding, policy, dst, precisely)

    if path_of(name, fmt, dst) == "table":
        quick = _has_pairs(name, fmt, dst)
        key, make = (name, fmt, dst, rounding, policy), by_margins if quick else precisely
        worth = QUICK if quick else 1 << 2 * fmt.bits
        found = _tabled_pairs(key, fmt, dst, make, worth, a, b, want_flags)
        if found is not None:
            return found
    shape = np.broadcast_shapes(formats.element_shape(a, fmt.bits), formats.element_shape(b, fmt.bits))
    if not _pairs_pay(name, fmt, dst, shape):
        return _with_flags(precisely(a, b), want_flags)

    def in_arrays(first: Codes, second: Codes) -> ArrayResult:
        both = np.broadcast_shapes(*(formats.element_shape(each, fmt.bits) for each in (first, second)))
        x, y = (flattened(each, fmt.bits, both) for each in (first, second))
        if elementary_native.applies(fmt, dst, rounding, policy, want_flags):
            return _shaped(elementary_native.binary(elementary_pairs.PAIRS[name], x, y, by_margins), both)
        return _with_flags(_shaped(by_margins(x, y), both), want_flags)

    pays = not want_flags and llvm.may_pay(_MARGIN * math.prod(shape))
    described = word_functions.binary(name, fmt, rounding, policy, dst) if pays else None
    return applied(described, (fmt.bits,) * 2, (a, b), in_arrays, _MARGIN) or in_arrays(a, b)


def of_integer(
    name: str,
    fmt: FloatFormat,
    a: Codes,
    n: Codes,
    width: int,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    dst: FloatFormat | None = None,
    want_flags: bool = False,
) -> ArrayResult:
    """Return ``powf`` (pown, fpowi) or ``rootn`` of floats and of signed integers of ``width`` bits, given as codes.

    Both broadcast. Raises as `unary`.
    """
    from halfulp.fp_formats.reals import arrays, elementary

    dst, rounding = dst or fmt, int(rounding)
    half, whole = 1 << width - 1 if width else 0, 1 << width

    def function(x: int, code: int) -> Result:
        n = code - whole if code >= half and width else code
        return elementary.of_integer(name, fmt, x, n, rounding, policy, dst)

    short = 0 < width <= formats.LIMB_BITS
    options: dict[str, Any] = {"rounding": rounding, "policy": policy, "dst": dst, "want_flags": True}
    balls = partial(arrays.of_integer, name, fmt, width=width, **options) if short else None

    def precisely(x: Codes, k: Codes) -> ArrayResult:
        return _settled(balls, function, dst, (x, fmt.bits), (k, width))

    shape = np.broadcast_shapes(formats.element_shape(a, fmt.bits), formats.element_shape(n, width))
    if not short or not _pairs_pay(name, fmt, dst, shape):
        return _with_flags(precisely(a, n), want_flags)
    x, integers = flattened(a, fmt.bits, shape), flattened(n, width, shape)
    found = elementary_pairs.of_integer(name, fmt, x, integers, width, rounding, policy, dst, precisely)
    return _with_flags(_shaped(found, shape), want_flags)


def _pairs_pay(name: str, fmt: FloatFormat, dst: FloatFormat, shape: tuple[int, ...]) -> bool:
    return math.prod(shape) >= _MARGINS_PAY and _has_pairs(name, fmt, dst)


def _shaped(row: ArrayResult, shape: tuple[int, ...]) -> ArrayResult:
    codes, poison, flags = row
    return ArrayResult(
        codes.reshape(shape),
        None if poison is None else poison.reshape(shape),
        None if flags is None else flags.reshape(shape),
    )


def _settled(
    balls: Callable[..., Any] | None,
    function: Callable[..., Result],
    dst: FloatFormat,
    *operands: tuple[Codes, int],
) -> ArrayResult:
    """Return results with flags: by balls, and what these do not settle by a function of the specification."""
    shape = np.broadcast_shapes(*(formats.element_shape(codes, width) for codes, width in operands))
    if math.prod(shape) == 1:
        only = function(*(formats.codes_to_ints(codes, width)[0] for codes, width in operands))
        poisoned = np.ones(shape, np.bool_) if only.poison else None
        return ArrayResult(
            formats.ints_to_codes([only.code], dst.bits, shape), poisoned, np.full(shape, only.flags, np.uint8)
        )
    flat = [flattened(codes, width, shape) for codes, width in operands]
    widths = [width for _, width in operands]
    size = math.prod(shape)
    codes = np.empty(formats.code_shape((size,), dst.bits), dst.storage_dtype)
    flags, poison = np.empty(size, np.uint8), np.zeros(size, np.bool_)
    known = cache(function)
    for start in range(0, size, CHUNK):
        part = slice(start, min(start + CHUNK, size))
        chunks = [row[part] for row in flat]
        unsettled = np.ones(part.stop - start, np.bool_)
        if balls is not None and unsettled.size >= _BALLS_PAY:
            found, mask = balls(*chunks)
            codes[part], flags[part], unsettled = found.codes, found.flags, ~mask
            if found.poison is not None:
                poison[part] = found.poison
        rest = np.flatnonzero(unsettled)
        columns = [formats.codes_to_ints(chunk[rest], width) for chunk, width in zip(chunks, widths, strict=True)]
        results = list(map(known, *columns))
        rest += start
        codes[rest] = formats.ints_to_codes([found.code for found in results], dst.bits, (rest.size,))
        flags[rest] = [found.flags for found in results]
        poison[rest] = [found.poison for found in results]
    return ArrayResult(
        codes.reshape(formats.code_shape(shape, dst.bits)),
        poison.reshape(shape) if poison.any() else None,
        flags.reshape(shape),
    )


def _with_flags(result: ArrayResult, want_flags: bool) -> ArrayResult:
    return result if want_flags else result._replace(flags=None)


# --- tables -----------------------------------------------------------------------------------------------------------
#
# Tables of all codes of up to 16 bits, or of all pairs of codes of up to 8 bits. A table holds codes, poison and flags.
# It stays in `tables.CACHE`, and on disk for the next process.

_POISON = np.uint8(0x80)  # on disk, beside the flags

Make = Callable[..., ArrayResult]


class _Entries:
    """The description of a look-up in a table. It is the same for all look-ups in the same table."""

    def __init__(self, codes: Codes) -> None:
        self._codes = codes

    def __call__(self, index: Word) -> Word:
        return index.entry(self._codes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Entries) and self._codes is other._codes

    def __hash__(self) -> int:
        return id(self._codes)


def _tabled(
    key: Hashable, src: FloatFormat, dst: FloatFormat, make: Make, worth: int, a: Codes, want_flags: bool
) -> ArrayResult | None:
    """Return the results of codes by their table; None if the table does not save time yet.

    ``make(codes)``: the results of all codes, with flags. ``worth``: how many results of the specification take as long
    as the table.
    """
    table = _table(key, src.bits, dst, worth, a.size, lambda: make(_every(src.bits)))
    if table is None:
        return None
    found = None
    if table.marker is None and src.bits <= 8:
        found = applied(_Entries(table.codes), (src.bits,), (a,), lambda codes: tables.look_up(table, codes))
    found = found or tables.look_up(table, a)
    if not want_flags or table.flags is None:
        return found
    return found._replace(flags=tables.look_up(tables.LookupTable(table.flags), a).codes)


def _tabled_pairs(
    key: Hashable, src: FloatFormat, dst: FloatFormat, make: Make, worth: int, a: Codes, b: Codes, want_flags: bool
) -> ArrayResult | None:
    """Return the results of pairs of codes by their table; the arguments are those of `_tabled`."""

    def of_every_pair() -> ArrayResult:
        every = _every(src.bits)
        return make(np.repeat(every, every.size), np.tile(every, every.size))

    table = _table(key, 2 * src.bits, dst, worth, math.prod(tables.common_shape(a, b)), of_every_pair)
    if table is None:
        return None
    found = tables.look_up_pairs(table, src.bits, a, b)
    if not want_flags or table.flags is None:
        return found
    return found._replace(flags=tables.look_up_pairs(tables.LookupTable(table.flags), src.bits, a, b).codes)


def _every(bits: int) -> Codes:
    return np.arange(1 << bits, dtype=np.uint8 if bits <= 8 else np.uint16)


def _table(
    key: Hashable, bits: int, dst: FloatFormat, worth: int, elements: int, make: Callable[[], ArrayResult]
) -> tables.LookupTable | None:
    size = 1 << bits

    def made() -> tables.LookupTable | None:
        result = make()
        disk.store(repr(key), _packed(result, dst))
        return tables.marked(result)

    def loaded() -> tables.LookupTable | None:
        payload = disk.load(repr(key), size * (dst.storage_dtype.itemsize + 1))
        return None if payload is None else tables.marked(_unpacked(payload, size, dst))

    # Each element costs the specification more than a call costs `exact`.
    return tables.CACHE.get(key, worth * tables.CALL, elements * tables.CALL, made, loaded)


def _packed(result: ArrayResult, dst: FloatFormat) -> bytes:
    assert result.flags is not None
    flags = result.flags if result.poison is None else np.where(result.poison, result.flags | _POISON, result.flags)
    return result.codes.astype(dst.storage_dtype.newbyteorder("<")).tobytes() + flags.astype(np.uint8).tobytes()


def _unpacked(payload: bytes, size: int, dst: FloatFormat) -> ArrayResult:
    codes = np.frombuffer(payload, dst.storage_dtype.newbyteorder("<"), size).astype(dst.storage_dtype)
    flags = np.frombuffer(payload, np.uint8, size, codes.nbytes)
    poison = flags >= _POISON
    return ArrayResult(codes, poison if poison.any() else None, flags & ~_POISON)
