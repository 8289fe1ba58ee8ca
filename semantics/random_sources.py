"""Sources of the random bits of stochastic rounding: a counter-based generator, and a shift register.

Each draw has a position, from 0 on. The bits at a position depend on nothing but the source and the position (of
Philox also the numbers of the op and of the run), so that any draws can be computed alone, in any order.

Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from operator import xor
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.aliases import did_you_mean, with_hint
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import LIMB_BITS, Codes, limb_count, slices, storage_dtype
from halfulp.fp_formats.paths.array_loop import applied, loop_for
from halfulp.fp_formats.paths.words import Word

Words = npt.NDArray[np.uint64]
EXAMPLES = "philox:seed=1 or lfsr:width=16,taps=16+14+13+11,seed=0xACE1"

_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_WEYL = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
_LOW = (1 << 32) - 1
_HALF = np.uint64(32)
_WORDS = 4
"""The words of 32 bits of one block of Philox."""
_CHUNK = 1 << 14
_TOGETHER = 16
"""The exponent of the states of a register that are moved at a time."""


@runtime_checkable
class RandomSource(Protocol):
    """A source of random bits. ``by_op``: if True, positions count the draws of each op separately; otherwise they
    count the draws of all ops together.
    """

    by_op: ClassVar[bool]

    @property
    def bits(self) -> int:
        """The number of bits of each draw."""

    @property
    def run(self) -> int:
        """The number of the first run."""

    @property
    def text(self) -> str:
        """The text that `source_of` reads as this source."""

    def drawn(self, positions: Words, op: int, run: int | Words) -> Words:
        """Return the bits at ``positions``, an array of one dimension. ``op``: the number of the op. ``run``: the
        number of the run, or an array with a number for each position.
        """

    def stretch(self, first: int, count: int, op: int, run: int) -> Codes:
        """Return the bits at ``count`` positions from ``first`` on, for an op of one run, as uint32 or uint64."""


def philox(counters: tuple[Words, Words, Words, Words], key: int) -> Words:
    """Return the blocks [n, 4] of Philox4x32-10 for counters and a key of 64 bits. ``counters``: their four words of 32
    bits, the least significant word first.
    """
    return np.stack(_encrypted(counters, (key & _LOW, key >> 32), lambda product: product >> _HALF), axis=-1)


def _encrypted(counters: Sequence[Any], key: tuple[Any, Any], upper: Callable[[Any], Any]) -> tuple[Any, Any, Any, Any]:
    """Return the four words of blocks of Philox, all arrays of uint64 or all machine words of 64 bits. ``upper``: a
    function that returns the upper 32 bits of a product.
    """
    a, b, c, d = counters
    first, second = key
    for _ in range(_ROUNDS):
        one, two = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
        a, b = upper(two) ^ b ^ first, two & _LOW
        c, d = upper(one) ^ d ^ second, one & _LOW
        first, second = first + _WEYL[0] & _LOW, second + _WEYL[1] & _LOW
    return a, b, c, d


def _philox_block(number: Word, op: Word, run: Word, key: Word) -> tuple[Word, Word]:
    """Describe `philox` on machine words: both halves of a block, in each of them the first word lowest.

    ``number``: the low half of the counter, of 64 bits like ``key``. ``op``, ``run``: of 32 bits.
    """

    def upper(word: Word) -> Word:
        return word.shift_right(32)

    counters = number & _LOW, upper(number), op.resized(64), run.resized(64)
    a, b, c, d = _encrypted(counters, (key & _LOW, upper(key)), upper)
    return a | b << 32, c | d << 32


@dataclass(frozen=True)
class Philox:
    """Philox4x32-10. The draw at position n takes the low bits of word n mod 4 of the block with the key ``seed`` and
    the counter (n / 4 in two words, the number of the op, the number of the run), the least significant word first.

    Raises ValueError for a seed that is not in 0..2^64 - 1, bits that are not in 1..32, and a negative run.
    """

    by_op: ClassVar[bool] = True
    seed: int
    bits: int = 32
    run: int = 0

    def __post_init__(self) -> None:
        _check("seed", self.seed, 0, (1 << 64) - 1)
        _check("bits", self.bits, 1, 32)
        _check("run", self.run, 0, (1 << 32) - 1)

    @property
    def text(self) -> str:
        """The text that `source_of` reads as this source."""
        return f"philox:seed={self.seed},bits={self.bits},run={self.run}"

    def drawn(self, positions: Words, op: int, run: int | Words) -> Words:
        """Return the bits at positions, as `RandomSource.drawn` does."""
        mask = np.uint64((1 << self.bits) - 1)
        if not positions.size:
            return positions
        if isinstance(run, int) and _is_range(positions):
            return self.stretch(int(positions[0]), positions.size, op, run).astype(np.uint64)
        blocks, word = positions // np.uint64(_WORDS), positions % np.uint64(_WORDS)
        words = np.take_along_axis(self._blocks(blocks, op, run), word[:, None].astype(np.intp), 1)[:, 0]
        return words & mask

    def stretch(self, first: int, count: int, op: int, run: int) -> Codes:
        """Return the bits at consecutive positions, as `RandomSource.stretch` does."""
        blocks = np.arange(first // _WORDS, -(-(first + count) // _WORDS), dtype=np.uint64)
        words = self._of_one_run(blocks, op, run).reshape(-1)[first % _WORDS :][:count]
        return words if self.bits == 32 else np.bitwise_and(words, np.uint32((1 << self.bits) - 1), out=words)

    def _of_one_run(self, numbers: Words, op: int, run: int) -> npt.NDArray[np.uint32]:
        alone = (False, True, True, True)
        loop = loop_for(_philox_block, (64, 32, 32, 64), alone, numbers.size, results=2) if numbers.size else None
        if loop is not None and sys.byteorder == "little":
            given: list[Codes] = [np.full(1, each, np.uint32) for each in (op, run)]
            given.append(np.full(1, self.seed, np.uint64))
            low, high = (np.empty(numbers.size, np.uint64) for _ in range(2))
            loop.run([numbers, *given], [low, high], numbers.size)
            return np.stack([low, high], axis=-1).view(np.uint32)
        return self._blocks(numbers, op, run).astype(np.uint32)

    def _blocks(self, numbers: Words, op: int, run: int | Words) -> Words:
        made = np.empty((numbers.size, _WORDS), np.uint64)
        ops, runs = (np.broadcast_to(np.asarray(number, np.uint64), numbers.shape) for number in (op, run))
        for part in slices(numbers.size, _CHUNK):
            made[part] = philox(
                (numbers[part] & np.uint64(_LOW), numbers[part] >> _HALF, ops[part], runs[part]), self.seed
            )
        return made


def _no_refusals(*_: Codes) -> ArrayResult:
    raise AssertionError("the description of a register refuses nothing")


def _is_range(positions: Words) -> bool:
    size = positions.size
    return bool(int(positions[-1]) - int(positions[0]) == size - 1 and (np.diff(positions) == 1).all())


@dataclass(frozen=True)
class Lfsr:
    """A linear-feedback shift register that shifts to the right. The draw at position n takes the low bits of its state
    after n * ``clocks`` clocks; the first state is ``seed``. Each run begins at the seed.

    ``taps``: the exponents of the feedback polynomial except 0, the largest of which is ``width``. ``form``: in
    "fibonacci" the bit that comes in on the left is the sum of the bits ``width`` - tap; in "galois" the bit that goes
    out on the right is added to the bits tap - 1. ``bits``: at most ``width``; 0 stands for ``width``. ``clocks``: 0
    stands for ``bits``, so that no bit is used twice.

    Raises ValueError for a value out of its range.
    """

    by_op: ClassVar[bool] = False
    run: ClassVar[int] = 0
    width: int
    taps: tuple[int, ...]
    seed: int
    bits: int = 0
    clocks: int = 0
    form: str = "fibonacci"

    def __post_init__(self) -> None:
        _check("width", self.width, 2, 64)
        for tap in self.taps:
            _check("a tap", tap, 1, self.width)
        if self.width not in self.taps or len(set(self.taps)) < len(self.taps):
            raise ValueError(f"taps are {self._taps}, but must be different, and one of them the width {self.width}")
        _check("seed", self.seed, 1, (1 << self.width) - 1)
        if self.form not in _FORMS:
            raise ValueError(f"form is {self.form!r}, but must be one of {', '.join(_FORMS)}")
        object.__setattr__(self, "bits", self.bits or self.width)
        _check("bits", self.bits, 1, self.width)
        object.__setattr__(self, "clocks", self.clocks or self.bits)
        _check("clocks", self.clocks, 1, 1 << 20)

    @property
    def _taps(self) -> str:
        return "+".join(map(str, self.taps))

    @property
    def text(self) -> str:
        """The text that `source_of` reads as this source."""
        numbers = f"seed={self.seed:#x},bits={self.bits},clocks={self.clocks},form={self.form}"
        return f"lfsr:width={self.width},taps={self._taps},{numbers}"

    def clocked(self, state: int) -> int:
        """Return the state that follows ``state`` after one clock."""
        return _FORMS[self.form](state, self.width, self.taps)

    def drawn(self, positions: Words, op: int, run: int | Words) -> Words:
        """Return the bits at positions, as `RandomSource.drawn` does. The op and the run have no effect."""
        return self._states(positions) & np.uint64((1 << self.bits) - 1)

    def _states(self, positions: Words) -> Words:
        states = np.full_like(positions, self.seed)
        for power in range(int(positions.max(initial=0)).bit_length()):
            moved = _by_bytes(_steps(self, power), states)
            states = np.where(positions >> np.uint64(power) & np.uint64(1) != 0, moved, states)
        return states

    def stretch(self, first: int, count: int, op: int, run: int) -> Codes:
        """Return the bits at consecutive positions, as `RandomSource.stretch` does. The states of the first positions
        are moved to the next ones, twice as many each time.
        """
        states = np.empty(count, np.uint64)
        states[:1] = self._states(np.full(min(count, 1), first, np.uint64))
        done, power = 1, 0
        while done < count:
            some = states[done - (1 << power) : done][: count - done]
            moved = applied(_Moved(self, power), (64,), (some,), _no_refusals) if power == _TOGETHER else None
            states[done : done + some.size] = _by_bytes(_steps(self, power), some) if moved is None else moved.codes
            done, power = done + some.size, min(power + 1, _TOGETHER)
        return np.bitwise_and(states, np.uint64((1 << self.bits) - 1), out=states)


def _fibonacci(state: int, width: int, taps: tuple[int, ...]) -> int:
    entering = sum(state >> width - tap for tap in taps) & 1
    return state >> 1 | entering << width - 1


def _galois(state: int, width: int, taps: tuple[int, ...]) -> int:
    return state >> 1 ^ (sum(1 << tap - 1 for tap in taps) if state & 1 else 0)


_FORMS: Mapping[str, Callable[[int, int, tuple[int, ...]], int]] = MappingProxyType(
    {"fibonacci": _fibonacci, "galois": _galois}
)

# A clock is a linear map over the field of two elements: it is known by what it does to each bit, and a map is repeated
# by applying it to these.


@lru_cache(maxsize=512)
def _steps(register: Lfsr, power: int) -> Words:
    """Return the tables [bytes, 256] of 2**power draws: for each byte of a state, by its place and value, its
    contribution to the new state.
    """
    images = np.array([1 << bit for bit in range(register.width)], np.uint64)
    if power:
        half = _steps(register, power - 1)
        images = _by_bytes(half, _by_bytes(half, images))
    elif register.clocks == 1:
        images = np.array([register.clocked(int(image)) for image in images], np.uint64)
    else:
        one = replace(register, clocks=1)
        for bit in range(register.clocks.bit_length()):
            if register.clocks >> bit & 1:
                images = _by_bytes(_steps(one, bit), images)
    tables = np.zeros((-(-register.width // 8), 256), np.uint64)
    values = np.arange(256)
    for bit, image in enumerate(images):
        tables[bit // 8] ^= np.where(values >> bit % 8 & 1, image, np.uint64(0))
    return tables


def _by_bytes(tables: Words, states: Words) -> Words:
    """Apply a linear map, given as tables, to states."""
    moved = np.zeros_like(states)
    for place, table in enumerate(tables):
        moved ^= table[(states >> np.uint64(8 * place) & np.uint64(255)).astype(np.intp)]
    return moved


@dataclass(frozen=True)
class _Moved:
    """The description of 2**power draws of a register on machine words, by the tables of `_steps`."""

    register: Lfsr
    power: int

    def __call__(self, state: Word) -> Word:
        """Return the state after the draws."""
        tables = enumerate(_steps(self.register, self.power))
        return reduce(xor, [(state.shift_right(8 * place) & 255).entry(table) for place, table in tables])


def _check(name: str, number: Any, least: int, most: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        raise ValueError(f"{name} is {number!r}, but must be an integer in {least}..{most}")


def _number(text: str) -> int:
    return int(text, 0)


_READERS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {"taps": lambda text: tuple(int(tap) for tap in text.split("+")), "form": str}
)
_COUNTS = frozenset({"bits", "clocks"})
_SOURCES: Mapping[str, tuple[type[Any], tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {
        "philox": (Philox, ("seed",), ("bits", "run")),
        "lfsr": (Lfsr, ("width", "taps", "seed"), ("bits", "clocks", "form")),
    }
)
"""The class of each source, the fields that it needs, and those that may be left out."""


def source_of(text: object) -> RandomSource:
    """Return the source that a text names, as in ``philox:seed=1`` or ``lfsr:width=16,taps=16+14+13+11,seed=1``.

    Raises ValueError for a kind, a field or a value that does not exist, and for a field that is missing.
    """
    kind, _, rest = text.partition(":") if isinstance(text, str) else ("", "", "")
    if kind not in _SOURCES:
        raise ValueError(with_hint(f"{text!r} is not a source, as in {EXAMPLES}", did_you_mean(kind, _SOURCES)))
    made, needed, free = _SOURCES[kind]
    given: dict[str, Any] = {}
    for setting in filter(None, rest.split(",")):
        name, equals, value = setting.partition("=")
        if name not in (*needed, *free) or not equals or name in given:
            wrong = "is given twice" if name in given else f"is not one of {', '.join((*needed, *free))}, with a value"
            raise ValueError(f"{kind}: {setting!r} {wrong}, as in {EXAMPLES}")
        try:
            given[name] = _READERS.get(name, _number)(value)
        except ValueError:
            raise ValueError(f"{kind}: {name}={value} is not a number, as in {EXAMPLES}") from None
        if name in _COUNTS and given[name] < 1:
            raise ValueError(f"{kind}: {name} is {given[name]}, but must be positive")
    missing = [name for name in needed if name not in given]
    if missing:
        raise ValueError(f"{kind} needs {' and '.join(missing)}, as in {EXAMPLES}")
    try:
        source: RandomSource = made(**given)
    except ValueError as error:
        raise ValueError(f"{kind}: {error}") from None
    return source


# --- words of a seed --------------------------------------------------------------------------------------------------
#
# Random bits of `halfulp.convert` and of vectors, by position: Philox words of a seed. Any stretch can be computed
# alone, with the same result on any machine.
#
# Only `numpy.random.Philox.random_raw` is used: NumPy promises these words, not what its generators make of them.
# A seed has 64 bits; the upper half of Philox's key is the number of a stream, so that operands are independent.

WORDS_A_STEP = 4
"""Number of 64-bit words of one step of the counter."""


def words(seed: int, stream: int, start: int, count: int) -> Words:
    """Return ``count`` words of a random stream, from the position ``start`` on. Raises ValueError for a seed above 64
    bits.
    """
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"a seed is an integer from 0 to 2**64 - 1, not {seed}")
    step, skipped = divmod(start, WORDS_A_STEP)
    source = np.random.Philox(key=seed | stream << 64, counter=step)
    raw: Words = np.asarray(source.random_raw(skipped + count), np.uint64)
    return raw[skipped:]


def uniform(seed: int, stream: int, width: int, start: int, count: int) -> Codes:
    """Return ``count`` uniform random codes of ``width`` bits, from the position ``start`` of a stream on.

    Words are cut into pieces of the storage size, least significant first, and the lower bits of each piece are kept.
    """
    dtype = storage_dtype(width)
    if width > LIMB_BITS:
        limbs = limb_count(width)
        wide = words(seed, stream, start * limbs, count * limbs).reshape(count, limbs)
        if width % LIMB_BITS:
            wide[:, -1] &= np.uint64((1 << width % LIMB_BITS) - 1)
        return wide
    pieces = 8 // dtype.itemsize
    first, last = start // pieces, -(-(start + count) // pieces)
    raw = words(seed, stream, first, last - first).astype("<u8", copy=False)
    codes = raw.view(dtype.newbyteorder("<")).astype(dtype, copy=False)[start - first * pieces :][:count]
    return codes if width == 8 * dtype.itemsize else codes & dtype.type((1 << width) - 1)
