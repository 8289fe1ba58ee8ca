"""The sums of an `Accumulator` as loops of machine code, for large arrays: by the descriptions of `word_sums`.

`halfulp.fp_formats.paths.words` tells why arrays of NumPy have code of their own: `aligned_sums` computes what is rare
or small.

A loop goes over groups, over rows, and over the lanes of a row. In a matrix product, a row of A stands beside all
columns of B: the lanes are columns, and all share the factors of A. In many small tiles, the lanes are tiles. Numbers
are taken apart before, once, by a loop of their own, which also tells whether there are infinities and NaNs: for these
there is a second loop. What a description refuses is left to NumPy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask
from halfulp.fp_formats.paths import llvm
from halfulp.fp_formats.paths.array_loop import ArrayLoop, ChainOfOne, Plan
from halfulp.fp_formats.paths.emitter import Emitter, Tables, natural
from halfulp.fp_formats.paths.words import Word
from halfulp.semantics.matrix_units.accumulator import OWN, Accumulator
from halfulp.semantics.matrix_units.aligned_sums import fits
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.word_sums import (
    CHAINED,
    MOST,
    STEP,
    Adding,
    Chain,
    Decoded,
    Ending,
    Group,
    Largest,
    Loading,
    Register,
    Storing,
    Tree,
    groups_of,
    plain_of,
    register_of,
    zeros_of,
)

PAYS = 1 << 21
"""The products of all calls from which a loop is worth its compilation: NumPy takes about 100 ms for them."""
_REFUSED = 1 << 16
"""The products of refused elements that NumPy computes at a time."""
_ELEMENTS = 1 << 15
"""The elements of D that a thread takes at a time, about: they stay in its cache from group to group."""
_LANES = 1 << 12
"""The most lanes of such a block, if it has several rows."""

_UNINTERRUPTED = 1 << 25
"""The products of a call of a loop, about: 100 ms."""
_FEW = 32
"""The columns from which on they are the lanes of a product of two matrices, however many rows it has."""

General = Callable[[Codes, Codes, Codes, tuple[Codes, ...]], Codes]
"""Computes elements in the general way, from A [K, M, 1, tiles], B [K, 1, N, tiles], C [M, N, tiles], and scales."""


# --- the loop ---------------------------------------------------------------------------------------------------------

Description = Group | Largest | Adding | Ending | Loading | Register | Storing | Chain | Tree


class Kind(NamedTuple):
    """The properties that determine a loop. ``shared``: whether all lanes of a row share the factors of A. ``bits``:
    those of the fields of A and of B in arrays.
    """

    description: Description
    shared: bool
    bits: tuple[tuple[int, ...], tuple[int, ...]]


class Place(NamedTuple):
    """Where a loop works in arrays: the number of groups, and the planes, rows and lanes of elements.

    ``distances``: those in A, in B and in D, from one plane to the next and from one row to the next, in elements.
    ``steps``: the distances in A, and in B, from one entry along K to the next.
    """

    counts: tuple[int, int, int, int]
    distances: tuple[tuple[int, int, int], tuple[int, int, int]]
    steps: tuple[int, int]


class Loop:
    """The machine code of a kind."""

    def __init__(self, kind: Kind) -> None:
        text, self.refuses, pointers = _assembly(kind)
        self._code = llvm.compile_assembly(text, "groups", straight=False)
        kinds = [*[ctypes.c_void_p] * pointers, *[ctypes.c_int64] * 12]
        self._entry = ctypes.CFUNCTYPE(None, *kinds)(self._code.address)

    def run(self, addresses: Sequence[int], place: Place) -> None:
        """Compute groups. ``addresses``: those of the first entries of the fields of A and of B, of the words that
        stay, and of the bytes of refused elements.
        """
        of_planes, of_rows = place.distances
        self._entry(*addresses, *place.counts, *of_planes, *of_rows, *place.steps)


def _assembly(kind: Kind) -> tuple[str, bool, int]:
    """Return the text of a loop, whether it can refuse elements, and the number of its arrays."""
    make, description = llvm.ir(), kind.description
    fields, held = description.fields, description.held
    pointer, word = make.PointerType(), make.IntType(64)
    module, count = make.Module(), 2 * len(fields) + len(held) + 1
    function = make.Function(module, make.FunctionType(make.VoidType(), [*[pointer] * count, *[word] * 12]), "groups")
    for each in function.args[:count]:
        each.add_attribute("noalias")
    emit = Emitter(function, Tables(), 0)
    arrays, numbers = function.args[:count], function.args[count:]
    counts, of_planes, of_rows, steps = numbers[:4], numbers[4:7], numbers[7:10], numbers[10:]
    refused, kept, build = arrays[-1], arrays[2 * len(fields) : -1], emit.builder
    zero, one = emit.constant(0, 64), emit.constant(1, 64)
    # Groups, planes, rows, lanes: the last loop has one block, so that it becomes instructions on vectors.
    variables = [emit.variable(word) for _ in counts]
    starts, ends = ([emit.label() for _ in counts] for _ in range(2))

    def inside(level: int) -> Any:
        """Begin a loop, and return its number."""
        emit.set(variables[level], zero)
        emit.jump(starts[level])
        emit.begin(starts[level])
        return emit.get(variables[level], word)

    group, plane, row = (inside(level) for level in range(3))
    origin_a, origin_b, first = (
        build.add(build.mul(plane, by_plane), build.mul(row, by_row))
        for by_plane, by_row in zip(of_planes, of_rows, strict=True)
    )
    origins = [
        [
            build.add(origin, build.mul(group, build.mul(step, emit.constant(description.taken(field), 64))))
            for field in fields
        ]
        for origin, step in ((origin_a, steps[0]), (origin_b, steps[1]))
    ]
    lane = inside(3)

    def reading(side: int) -> Callable[[str, int], Word]:
        def read(field: str, k: int) -> Word:
            index = fields.index(field)
            place = build.add(origins[side][index], build.mul(steps[side], emit.constant(k, 64)))
            if side or not kind.shared:
                place = build.add(place, lane)
            return emit.word(emit.load(arrays[side * len(fields) + index], place, kind.bits[side][index]))

        return read

    element = build.add(first, lane)
    before = [
        emit.word(emit.load(array, element, natural(bits))).resized(bits)
        for array, bits in zip(kept, held, strict=True)
    ]
    made = description(reading(0), reading(1), *before)
    wrong = emit.take_refused()
    for array, each in zip(kept, made, strict=True):
        emit.store(array, element, each.resized(natural(each.width)).held)
    if wrong is not None:
        earlier = emit.load(refused, element, 8)
        emit.store(refused, element, build.or_(earlier, emit.resize(wrong, 8, signed=False)))
    for level, current in ((3, lane), (2, row), (1, plane), (0, group)):
        following = build.add(current, one)
        emit.set(variables[level], following)
        emit.branch(emit.relation("s<", following, counts[level]), starts[level], ends[level])
        emit.begin(ends[level])
    build.ret_void()
    emit.finish()
    return str(module), wrong is not None, count


@llvm.forgotten
@lru_cache(maxsize=1024)
def _loop(kind: Kind) -> Loop | None:
    return llvm.unless_broken(lambda: Loop(kind))


class _Demand:
    """The products of all calls for one operation."""

    def __init__(self) -> None:
        self._asked = 0

    def pays(self, products: int, asked: bool = True) -> bool:
        """Tell whether machine code saves time in a call with this number of products, or NumPy computes them
        faster. ``asked``: whether they are computed now.
        """
        total = self._asked + products
        self._asked = total if asked else self._asked
        return total >= PAYS or llvm.at_once()


@lru_cache(maxsize=1024)
def _demand(rule: Accumulator, types: tuple[str, ...]) -> _Demand:
    return _Demand()


# --- operands ---------------------------------------------------------------------------------------------------------


class Factors(NamedTuple):
    """The fields of A, or of B, as arrays [k, rows or lanes]; and whether there are infinities or NaNs."""

    fields: dict[str, Codes]
    special: bool = False


@lru_cache(maxsize=256)
def _decoding(decoded: Decoded) -> ArrayLoop | None:
    inputs = len(decoded.formats)
    links = [ChainOfOne(decoded, tuple(range(inputs)))]
    plan = Plan(links, [fmt.bits for fmt in decoded.formats], (False,) * inputs, range(inputs, inputs + 3))
    return llvm.unless_broken(lambda: ArrayLoop(plan))


def _loops_over(decoded: Decoded, *codes: Codes) -> tuple[list[Codes], bool] | None:
    """Return the significands, exponents and kinds of numbers, and whether any are special."""
    loop = _decoding(decoded)
    if loop is None:
        return None
    shape, count = codes[0].shape, codes[0].size
    made = [np.empty(shape, f"{kind}{natural(width) // 8}") for kind, width in zip("iiu", loop.widths, strict=True)]
    parts = loop.run([each.reshape(-1) for each in codes], [each.reshape(-1) for each in made], count)
    return made, bool(parts)


def _factors(rule: Accumulator, formats: Sequence[FloatFormat], codes: Sequence[Codes]) -> Factors | None:
    """Take apart the codes of A or of B, and of their scales."""
    zeros = zeros_of(rule)
    if rule.dot == 1:
        found = _loops_over(Decoded(tuple(formats), zeros), *codes)
        return found and Factors(dict(zip(("significand", "exponent", "kind"), found[0], strict=True)), found[1])
    units = _loops_over(Decoded((formats[0],), zeros, alone=True), codes[0])
    scales = _loops_over(Decoded((formats[1],), zeros), np.ascontiguousarray(codes[1][:: rule.dot]))
    if units is None or scales is None:
        return None
    fields = ("significand", units[0][0]), *zip(("scale", "exponent", "kind"), scales[0], strict=True)
    return Factors(dict(fields), scales[1])


# --- groups -----------------------------------------------------------------------------------------------------------


class _Pass(NamedTuple):
    """A pass over ``groups`` groups of a description, the first of which begins at the product ``start``."""

    description: Description
    start: int
    groups: int


def takes(rule: Accumulator | None, op: TileOp, products: int) -> bool:
    """Tell whether machine code computes the groups of an operation in a call with this number of products."""
    if rule is None or op.d not in FORMATS or not llvm.machine_code_allowed():
        return False
    if rule.steps != OWN:
        op = replace(op, a=rule.steps, b=rule.steps)
    rule, size = rule.of_a_step, min(rule.group or op.shape[2], op.shape[2])
    if not _demand(rule, _types_of(op)).pays(products, asked=False):
        return False
    if rule.plain:
        size = 1 if rule.chain else size
        return not op.scale and plain_of(rule, op.d, size) is not None
    if rule.lsb is not None:
        return _of_registers(rule, op, _formats_of(op), op.shape[2], False) is not None
    return fits(rule, op) and groups_of(rule, op.d, _formats_of(op), size) is not None


def _types_of(op: TileOp) -> tuple[str, ...]:
    return op.a, op.b, op.d, op.scale


def _formats_of(op: TileOp) -> list[FloatFormat]:
    return [FORMATS[op.a], FORMATS[op.b], *([FORMATS[op.scale]] * 2 if op.scale else [])]


def _sizes(k: int, instruction: int, size: int) -> Iterator[tuple[int, int, int]]:
    """Yield the first product, the number of groups and their size, for groups that follow one another."""
    if instruction % size == 0 and k % size == 0:
        yield 0, k // size, size
        return
    for start in range(0, k, instruction):
        whole, rest = divmod(min(instruction, k - start), size)
        if whole:
            yield start, whole, size
        if rest:
            yield start + whole * size, 1, rest


def aligned(
    rule: Accumulator, op: TileOp, a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], general: General
) -> Codes | None:
    """Return the codes of C [M, N, tiles] after the groups of one or more instructions of a rule of aligned sums; None
    if there is no description, or if NumPy computes them faster. ``a``, ``b``, ``scales``: as for `General`.
    """
    if not c.size or not llvm.machine_code_allowed():
        return None
    formats = _formats_of(op)
    passes_of = partial(_of_groups if rule.lsb is None else _of_registers, rule, op, formats, len(a))
    if passes_of(False) is None or not _demand(rule, _types_of(op)).pays(c.size * len(a)):
        return None
    left, right = (_factors(rule, formats[n::2], [codes, *scales[n : n + 1]]) for n, codes in enumerate((a, b)))
    if left is None or right is None:
        return None
    special = left.special or right.special
    if rule.product_overflow:
        # A product from 2**(emax + 1) on is infinite.
        largest = sum(int(side.fields["exponent"].max()) for side in (left, right))
        special = special or largest >= FORMATS[op.d].emax
    passes = passes_of(special)
    return None if passes is None else _computed(passes, left, right, (a, b, c, scales), general)


def _of_groups(
    rule: Accumulator, op: TileOp, formats: Sequence[FloatFormat], k: int, kinds: bool
) -> list[_Pass] | None:
    """Return the passes over ``k`` products, of one or more instructions; None if there are none. ``kinds``: whether
    factors are special, or products infinite.
    """
    instruction, found = min(op.shape[2], k), list[_Pass]()
    for start, groups, size in _sizes(k, instruction, min(rule.group or instruction, instruction)):
        group = groups_of(rule, op.d, formats, size)
        if group is None:
            return None
        found += _passes(group.with_kinds() if kinds else group, start, groups, size)
    return found


def _of_registers(
    rule: Accumulator, op: TileOp, formats: Sequence[FloatFormat], k: int, kinds: bool
) -> list[_Pass] | None:
    """Return what `_of_groups` does, for a register in fixed point."""
    found = list[_Pass]()
    for first in range(0, k, op.shape[2]):
        instruction = min(op.shape[2], k - first)
        group = min(rule.group or instruction, instruction)
        written = group if group <= MOST else STEP
        register = register_of(rule, op.d, formats, written, group if rule.msb is not None else instruction)
        if register is None:
            return None
        register = register.with_kinds() if kinds else register
        words = register.products, register.width, register.narrow, register.together
        found.append(_Pass(Loading(*words), 0, 1))
        for start, groups, size in _sizes(instruction, instruction, group):
            whole, rest = divmod(size, written)
            if not rest:
                whole, rest = whole - 1, written
            last = replace(register, products=replace(register.products, count=rest))
            if not whole:
                found.append(_Pass(last, first + start, groups))
                continue
            for begin in range(first + start, first + start + groups * size, size):
                found.append(_Pass(replace(register, ends=False), begin, whole))
                found.append(_Pass(last, begin + whole * written, 1))
        found.append(_Pass(Storing(*words), 0, 1))
    return found


def _passes(group: Group, start: int, groups: int, size: int) -> list[_Pass]:
    """Return the passes over some groups of a size. The products of a long group are not all written out."""
    written = group.taken("significand")
    if written == size:
        return [_Pass(group, start, groups)]
    whole, rest = divmod(size, written)
    few = replace(group.products, count=rest // group.rule.dot)
    words = group.width, group.narrow, group.together
    found = list[_Pass]()
    for first in range(start, start + groups * size, size):
        for which in (Largest, Adding):
            found.append(_Pass(which(group.products, *words), first, whole))
            found += [_Pass(which(few, *words), first + size - rest, 1)] if rest else []
        found.append(_Pass(Ending(group.products, *words), 0, 1))
    return found


def plain(
    rule: Accumulator, op: TileOp, a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], general: General
) -> Codes | None:
    """Return what `aligned` returns, for a rule of IEEE operations. ``a``, ``b``: codes of C's format. There are no
    scales.
    """
    if not c.size or not llvm.machine_code_allowed():
        return None
    instruction = min(op.shape[2], len(a))
    size = min(rule.group or instruction, instruction)
    if rule.chain:
        instruction = len(a)
        size = min(CHAINED, instruction)
    groups = [*_sizes(len(a), instruction, size)]
    if not _demand(rule, _types_of(op)).pays(c.size * len(a)):
        return None

    def computed(native: bool, operands: tuple[Any, ...], general: General) -> Codes | None:
        passes = list[_Pass]()
        for start, count, terms in groups:
            description = plain_of(rule, op.d, terms, native)
            if description is None:
                return None
            passes.append(_Pass(description, start, count))
        left, right = (Factors({"code": np.ascontiguousarray(each)}) for each in operands[:2])
        return _computed(passes, left, right, operands, general)

    def by_codes(*few: Any) -> Codes:
        found = computed(False, few, general)
        return general(*few) if found is None else found

    operands = (a, b, c, ())
    found = computed(True, operands, by_codes)
    return computed(False, operands, general) if found is None else found


class _Grid(NamedTuple):
    """How the elements of D lie: planes, in each of them rows of lanes. ``distances``, ``steps``: as in `Place`.

    In a product of two matrices, there is one plane. In many tiles, a plane is a row of all tiles, and its rows are
    columns.
    """

    shape: tuple[int, int, int]
    shared: bool
    distances: tuple[tuple[int, int, int], tuple[int, int, int]]
    steps: tuple[int, int]

    @classmethod
    def of(cls, m: int, n: int, tiles: int) -> _Grid:
        """Return the grid for arrays of these sizes."""
        if tiles == 1:
            return cls((1, m, n), True, ((0, 0, 0), (1, 0, n)), (m, n))
        return cls((m, n, tiles), False, ((tiles, 0, n * tiles), (0, tiles, tiles)), (m * tiles, n * tiles))

    def parts(self) -> list[tuple[range, range, range]]:
        """Return blocks of elements: planes, rows and lanes."""
        planes, rows, lanes = self.shape
        wide = min(lanes, max(_LANES, _ELEMENTS // (planes * rows)))
        high = min(rows, max(1, _ELEMENTS // wide))
        deep = max(1, _ELEMENTS // (wide * high))

        def cut(size: int, step: int) -> list[range]:
            return [range(start, min(start + step, size)) for start in range(0, size, step)]

        return list(product(cut(planes, deep), cut(rows, high), cut(lanes, wide)))

    def starts(self, part: tuple[range, range, range]) -> list[int]:
        """Return where a block begins in A, in B and in D."""
        plane, row, lane = (each.start for each in part)
        moves = zip(*self.distances, strict=True)
        found = [plane * by_plane + row * by_row + lane for by_plane, by_row in moves]
        return [found[0] - lane if self.shared else found[0], *found[1:]]


class _Array(NamedTuple):
    """Where an array is, and the bytes of an entry."""

    address: int
    size: int

    @classmethod
    def of(cls, array: Codes) -> _Array:
        """Return the place of an array."""
        return cls(array.ctypes.data, array.itemsize)

    def at(self, entry: int) -> int:
        """Return the address of an entry."""
        return self.address + entry * self.size


def _computed(
    passes: Sequence[_Pass], left: Factors, right: Factors, operands: tuple[Any, ...], general: General
) -> Codes | None:
    """Make the passes, and compute what they refuse in the general way. ``operands``: those of ``general``."""
    c: Codes = operands[2]
    m, n, tiles = c.shape
    # Lanes are columns; or rows, if a product has too few columns.
    turned = tiles == 1 and n < min(m, _FEW) and all(each.description.commutes for each in passes)
    if turned:
        left, right, c = right, left, c.transpose(1, 0, 2)
    grid = _Grid.of(*c.shape)
    sides = (left.fields, right.fields)
    loops = list[Loop]()
    for each in passes:
        bits = tuple(tuple(8 * side[field].itemsize for field in each.description.fields) for side in sides)
        loop = _loop(Kind(each.description, grid.shared, bits))  # type: ignore[arg-type]
        if loop is None:
            return None
        loops.append(loop)
    held = _held(c, passes[0].description)
    refused = np.zeros(c.shape if any(loop.refuses for loop in loops) else (1, 1, 1), np.uint8)
    factors = [{name: _Array.of(array) for name, array in side.items()} for side in sides]
    kept = [_Array.of(array) for array in (*held, refused)]
    parts = grid.parts()

    def work(start: int, stop: int) -> None:
        for part in parts[start:stop]:
            *begins, element = grid.starts(part)
            words = [array.at(element) for array in kept[:-1]]
            words.append(kept[-1].at(element if refused.size > 1 else 0))
            for (description, first, groups), loop in _interruptible(
                zip(passes, loops, strict=True), prod(map(len, part))
            ):
                fields = description.fields
                entries = [first * description.taken(field) // description.taken(fields[0]) for field in fields]
                addresses = [
                    side[field].at(begin + entry * step)
                    for side, begin, step in zip(factors, begins, grid.steps, strict=True)
                    for field, entry in zip(fields, entries, strict=True)
                ]
                counts = (groups, *map(len, part))
                loop.run([*addresses, *words], Place(counts, grid.distances, grid.steps))  # type: ignore[arg-type]

    llvm.share(len(parts), 1, lambda: work)
    out, wrong = held[0], np.broadcast_to(refused.view(np.bool_), c.shape)
    if turned:
        out, wrong = out.transpose(1, 0, 2), wrong.transpose(1, 0, 2)
    if wrong.any():
        _settle(operands, out, wrong, general)
    return out


def _interruptible(passes: Iterable[tuple[_Pass, Loop]], elements: int) -> Iterator[tuple[_Pass, Loop]]:
    """Yield passes with as many groups at a time as a loop adds in a fraction of a second, because an interrupt waits
    for the loop. ``elements``: those of D.
    """
    for each, loop in passes:
        taken = each.description.taken(each.description.fields[0]) if each.description.fields else 1
        step = max(1, _UNINTERRUPTED // (elements * taken))
        for first in range(0, each.groups, step):
            yield _Pass(each.description, each.start + first * taken, min(step, each.groups - first)), loop


def _held(c: Codes, description: Description) -> list[Codes]:
    """Return arrays of the words that stay, as they are at first."""
    found = [np.array(c, order="C")]
    for number, bits in enumerate(description.held[1:]):
        # The largest exponent is the least number, and sums are zero.
        first = 1 << bits - 1 if number == 0 and isinstance(description, Largest) else 0
        found.append(np.full(c.shape, first, f"u{bits // 8}"))
    return found


def _settle(operands: tuple[Any, ...], out: Codes, where: Mask, general: General) -> None:
    """Compute some elements in the general way."""
    a, b, c, scales = operands
    found = np.nonzero(where)
    step = max(1, _REFUSED // len(a))
    for start in range(0, len(found[0]), step):
        rows, columns, tiles = (each[start : start + step] for each in found)
        of_a, of_b = (
            [x[:, rows, 0, tiles][:, None, None] for x in (a, *scales[:1])],
            [x[:, 0, columns, tiles][:, None, None] for x in (b, *scales[1:])],
        )
        few = c[rows, columns, tiles][None, None]
        made = general(of_a[0], of_b[0], few, tuple(each[1] for each in (of_a, of_b) if scales))
        out[rows, columns, tiles] = made.reshape(-1)
