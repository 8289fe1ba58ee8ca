"""Kernels: the meaning of an op on codes, without any IR.

A kernel exists for concrete element types, attributes and profile. It has implementations that must agree:

- ``scalar`` is the specification, or a quicker function that is tested to be equal. It takes Python integers and
  returns one Python integer (a tuple of them for several results), or a `Fault` if the result is poison or the op is
  undefined for these operands.
- ``array`` does the same for arrays of codes (see below) and reports faults as masks.
- ``words``, which not every kernel has, describes it for a compiler (`halfulp.fp_formats.paths.words`); it refuses the
  elements that have a fault.
- ``real``, which not every kernel has, says what the op means on real numbers (a `Meaning`).

Codes are raw bit patterns, always unsigned, in the smallest of uint8/16/32/64 that holds the width; wider elements have
one more trailing axis of uint64 limbs, least significant first. Masks are bool arrays of the element shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes, FloatFormat, Mask
from halfulp.fp_formats.paths.tables import positions_of
from halfulp.fp_formats.paths.words import Implementation
from halfulp.fp_formats.policy import Rounding

# --- meanings ---------------------------------------------------------------------------------------------------------
#
# What ops mean on real numbers: data, which `halfulp.semantics.judging` reads.
#
# A kernel computes with codes. Beside it stands its meaning: the function of real numbers that it rounds, or the
# question about real numbers that it answers. An op whose kernel has no meaning gives numbers of which nothing is
# known.


@dataclass(frozen=True, slots=True)
class Integer:
    """The integers of a type, as operands or as a result."""

    width: int
    signed: bool


@dataclass(frozen=True, slots=True)
class Quantized:
    """Stored integers that represent real numbers: (stored - zero point) * scale."""

    stored: Integer
    #: From the shape of an array of codes, the scales and the zero points as f64 arrays that broadcast to it.
    parameters: Callable[[tuple[int, ...]], tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]
    #: Whether there are several scales, so that a code stands for a number only at its place in an array.
    by_place: bool = False


Numbers = FloatFormat | Integer | Quantized
"""The way in which codes are numbers."""


@dataclass(frozen=True, slots=True)
class Computes:
    """A function of real numbers, rounded. ``rule``: a key of `halfulp.semantics.shadows.RULES`."""

    rule: str
    operands: tuple[Numbers, ...]
    result: FloatFormat | Quantized


IDENTITIES: Mapping[str, float] = {"maximum number": -inf, "minimum number": inf}
"""The rules of functions that pass over a NaN, and the number that does not change their results. It stands for the
NaNs that programs spell, as the first operand of a reduction for example.
"""


@dataclass(frozen=True, slots=True)
class Compares:
    """A comparison of two numbers. ``predicate``: the number of a predicate of arith.cmpf in MLIR."""

    predicate: int
    operand: FloatFormat


@dataclass(frozen=True, slots=True)
class ToInteger:
    """A conversion of a number to an integer, rounded in a direction."""

    operand: FloatFormat
    result: Integer
    rounding: Rounding


@dataclass(frozen=True, slots=True)
class Stored:
    """The stored integer of a quantised number. The exact run stores the integer that is nearest to its own number."""

    operand: Quantized


@dataclass(frozen=True, slots=True)
class Reinterprets:
    """A bit cast: the same bits, read as a value of another type."""


@dataclass(frozen=True)
class Integral:
    """A function of integers whose result is cut to the bits of its type. ``signed``: how it reads its operands; None
    if that has no effect.

    ``strict``: a function that returns the kernel of the same op with the flag ``nsw`` or ``nuw``. This kernel has a
    fault if the type cannot hold the exact result of signed operands, or of unsigned operands. None for an op whose
    exact results the type can always hold.
    """

    signed: bool | None = None
    strict: Callable[..., Any] | None = None

    @cached_property
    def strict_kernels(self) -> tuple[Any, ...]:
        """The kernels of ``strict``: the one for signed and the one for unsigned numbers; none if
        ``strict`` is None.
        """
        return () if self.strict is None else (self.strict(nsw=True), self.strict(nuw=True))


Meaning = Computes | Compares | ToInteger | Stored | Reinterprets | Integral


def same_kind(rule: str, fmt: FloatFormat, operands: int) -> Computes:
    """Return the meaning of a function whose operands and result have one format."""
    return Computes(rule, (fmt,) * operands, fmt)


# --- poison -----------------------------------------------------------------------------------------------------------
#
# Poison with its origins: where the poison of each element came from.
#
# A value's poison mask is a uint16 array: 0 is clean, k names the k-th origin of a table. All values of one run share
# one table, so that the ids of two operands merge by `np.maximum`; a value that leaves the run gets its own table.

PoisonIds = npt.NDArray[np.uint16]

OTHER = 65535
"""The id of every origin after the 65,534th."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of poison: the op, its place in the source, the reason, and the first element in row-major order.

    ``location`` is ``file:line:col``, or empty if there is none.
    """

    op: str
    location: str
    reason: str
    element: tuple[int, ...] = ()

    def __str__(self) -> str:
        place = f" at {self.location}" if self.location else ""
        where = f", element {list(self.element)}" if self.element else ""
        return f"{self.reason} ({self.op}{place}{where})"


_OVERFLOW = Origin("other", "unknown", "one of more than 65,534 origins")


class Origins:
    """The table of origins of one run. There is one id for each (op, location, reason), so that loops do not make the
    table grow.

    ``place``: if the array that is computed now is a part of a larger array, its indices there. In new origins they
    come before the indices of the element.
    """

    __slots__ = ("_ids", "_table", "place")

    def __init__(self) -> None:
        self.place: tuple[int, ...] = ()
        self._table: list[Origin] = []
        self._ids: dict[tuple[str, str, str], int] = {}

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        """Restore a table, also from a pickle in which ``place`` had another name."""
        for name, value in state[1].items():
            setattr(self, "place" if name == "_place" else name, value)

    def __getitem__(self, poison_id: int) -> Origin:
        """Return the origin of a non-zero id."""
        return _OVERFLOW if poison_id == OTHER else self._table[poison_id - 1]

    @contextmanager
    def inside(self, place: int) -> Iterator[None]:
        """Return a context manager for computing an array that lies at ``place`` of a larger one: origins are recorded
        with indices of the larger one.
        """
        self.place = (place,)
        try:
            yield
        finally:
            self.place = ()

    def id_of(self, origin: Origin) -> int:
        """Return the id of ``origin``; add it to the table if it is new. If the op, the location and the reason are
        known, the element that was recorded first stays.
        """
        key = (origin.op, origin.location, origin.reason)
        known = self._ids.get(key)
        if known is None:
            known = len(self._table) + 1
            if known >= OTHER:
                return OTHER
            self._table.append(replace(origin, element=(*self.place, *origin.element)) if self.place else origin)
            self._ids[key] = known
        return known

    def known(self) -> tuple[Origin, ...]:
        """Return all origins in the order of their ids, which begin with 1."""
        return tuple(self._table)

    def adopt(self, ids: PoisonIds, origins: Origins) -> PoisonIds:
        """Translate ``ids`` of another table into ids of this one."""
        if origins is self:
            return ids
        used, inverse = np.unique(ids, return_inverse=True)
        mine = np.array([0 if k == 0 else self.id_of(origins[int(k)]) for k in used], dtype=np.uint16)
        return mine[inverse].reshape(ids.shape)


def merged_ids(ids: Iterable[PoisonIds | None], shape: tuple[int, ...]) -> PoisonIds | None:
    """Return the poison of an elementwise result: an element is poison if it is poison in one of the operands.
    ``shape``: that of the result.
    """
    merged: PoisonIds | None = None
    for each in ids:
        if each is not None:
            merged = each if merged is None else np.maximum(merged, each)
    return merged if merged is None or merged.shape == shape else np.broadcast_to(merged, shape)


def with_faults(
    ids: PoisonIds | None,
    faults: Iterable[tuple[str, Mask]],
    shape: tuple[int, ...],
    born: Callable[[str, Mask], int],
) -> PoisonIds | None:
    """Return ``ids`` with the poison of faults added. ``faults``: pairs of a reason and the mask of the elements that
    have it.

    ``born`` returns the id of the origin of new poison, from the reason and the mask of the elements that were not
    poison before.
    """
    merged = None if ids is None else ids.copy()
    for reason, mask in faults:
        fresh = np.broadcast_to(mask, shape)
        if merged is not None:
            fresh = fresh & (merged == 0)
        if fresh.any():
            merged = np.zeros(shape, np.uint16) if merged is None else merged
            merged.reshape(-1)[positions_of(np.ravel(fresh))] = born(reason, fresh)
    return merged if merged is not None and merged.any() else None


def zeroed(bits: Codes, ids: PoisonIds) -> Codes:
    """Return codes in which poison elements, whose bits have no meaning, are replaced by zeros, so that outputs are
    always the same.
    """
    made = np.array(bits, order="C")
    made.reshape(ids.size, *bits.shape[ids.ndim :])[positions_of(np.ravel(ids != 0))] = 0
    return made


def first_place(mask: Mask) -> tuple[int, ...]:
    """Return the indices of the first True of a mask in row-major order; () for a scalar."""
    return tuple(int(k) for k in np.unravel_index(int(np.argmax(mask)), mask.shape)) if mask.ndim else ()


# --- kernel -----------------------------------------------------------------------------------------------------------


class FaultKind(Enum):
    """The effect of a fault: it spoils the result (poison), or the whole execution (undefined behaviour)."""

    POISON = "poison"
    UNDEFINED = "undefined behaviour"


@dataclass(frozen=True, slots=True)
class Fault:
    """The reason why an element has no value: ``reason`` completes "poison because ...", and is the same for every
    element.
    """

    kind: FaultKind
    reason: str


def poison(reason: str) -> Fault:
    """Return a fault that makes the element poison."""
    return Fault(FaultKind.POISON, reason)


def undefined(reason: str) -> Fault:
    """Return a fault that makes it undefined behaviour to execute the op."""
    return Fault(FaultKind.UNDEFINED, reason)


Scalar = int | tuple[int, ...] | Fault


@dataclass(slots=True)
class Outcome:
    """The results of an array kernel. ``faults`` pairs each fault with the mask of its elements, which is never all
    False.

    If masks overlap, the first fault counts. Elements with a fault hold any valid code.
    """

    results: tuple[Codes, ...]
    faults: tuple[tuple[Fault, Mask], ...] = ()


class Open(Enum):
    """The ways in which the language leaves a result unspecified: the bits of the `open` mask of a value."""

    NAN = 1  # any NaN is right
    SIGN = 2  # either zero, or either infinity, is right
    VALUE = 4  # any value may be right: differences are reported separately, with their distance


ArrayImplementation = Callable[..., Outcome]


@dataclass(frozen=True, slots=True)
class Kernel:
    """One op for concrete element types.

    ``worst``: one code per operand, which replaces a poison operand of an op that can be undefined. Poison may be any
    value, so the op is undefined on it exactly if it is undefined for the worst value: 0 for a divisor, INT_MIN for a
    signed dividend.
    ``open``: from operand codes and result codes, a uint8 mask of `Open` bits: results that the language leaves
    unspecified. None if every result is specified.
    ``opens``: all bits that such a mask may have.
    ``faults``: every fault that an element may have, in order of precedence; empty for an op that is total.
    ``words``: see above; None if codes have more than 64 bits or no description is known.
    ``flags``: from operand codes, the exception flags of `halfulp.fp_formats.policy.Flags` as uint8; None for an op
    that raises none, or whose flags are not known.
    ``both``: the ``array`` implementation that also returns these flags, in one pass. None if there is no such
    function.
    ``flagged``: the `scalar` implementation that also returns these flags, from the specification; it is faster than an
    array of one element. None if there is no such function.
    ``notice``: from operand codes, a text about an effect of the op that users may not expect, or None. The op then
    runs on values alone, never as machine code.
    ``real``: see above; one for each result if these are several. None if that is not known.
    """

    scalar: Callable[..., Scalar]
    array: ArrayImplementation
    worst: tuple[int, ...] | None = None
    open: Callable[[tuple[Codes, ...], tuple[Codes, ...]], npt.NDArray[np.uint8] | None] | None = None
    opens: int = 0
    faults: tuple[Fault, ...] = ()
    flags: Callable[..., npt.NDArray[np.uint8]] | None = None
    both: Callable[..., tuple[Outcome, npt.NDArray[np.uint8]]] | None = None
    flagged: Callable[..., tuple[Scalar, int]] | None = None
    words: Implementation | None = None
    notice: Callable[..., str | None] | None = None
    real: Meaning | tuple[Meaning, ...] | None = None

    def opened(self) -> Kernel:
        """Return a kernel whose values are not determined: they lie within a bound of those of this one."""
        mark = np.uint8(Open.VALUE.value)
        return replace(
            self, open=lambda operands, results: np.full(results[0].shape, mark), opens=Open.VALUE.value, words=None
        )

    def raised(self, *codes: Codes) -> npt.NDArray[np.uint8]:
        """Return the exception flags for operand codes, for a kernel that has flags."""
        assert self.flags is not None
        if self.flagged is not None and not any(code.ndim for code in codes):
            return np.array(self.flagged(*map(int, codes))[1], np.uint8)  # quicker than an array of one
        return self.flags(*codes)

    def with_flags(self, *codes: Codes) -> tuple[Outcome, npt.NDArray[np.uint8]]:
        """Return the outcome and the exception flags for operand codes, for a kernel that has flags."""
        if self.both is not None:
            return self.both(*codes)
        assert self.flags is not None
        return self.array(*codes), self.flags(*codes)

    def given(self, *last: Any) -> Kernel:
        """Return this kernel with its last operands fixed to the codes ``last``, so that it takes only the other
        operands. ``worst`` and ``open`` stay as they are: they must already be those of the other operands.
        """

        def with_last(implementation: Callable[..., Any]) -> Callable[..., Any]:
            return lambda *codes: implementation(*codes, *last)

        return replace(
            self,
            scalar=with_last(self.scalar),
            array=with_last(self.array),
            flags=None if self.flags is None else with_last(self.flags),
            both=None if self.both is None else with_last(self.both),
            flagged=None if self.flagged is None else with_last(self.flagged),
        )

    def meaning(self, result: int = 0) -> Meaning | None:
        """Return the meaning of a result as a function of real numbers; None if that is not known."""
        return self.real[result] if isinstance(self.real, tuple) else self.real


def faults_of(pairs: Iterable[tuple[Fault, Mask | None]]) -> tuple[tuple[Fault, Mask], ...]:
    """Return the pairs whose mask is not None and has a True."""
    return tuple((fault, mask) for fault, mask in pairs if mask is not None and mask.any())


# --- select -----------------------------------------------------------------------------------------------------------
#
# arith.select on arrays. The arm that is not selected is ignored, even if it is poison.


def spread(condition: Codes, target_ndim: int) -> Codes:
    """Return a condition with trailing axes of size one, up to ``target_ndim`` axes, so that each of its entries
    chooses a whole element. A scalar condition chooses whole values.
    """
    return condition.reshape(condition.shape + (1,) * (target_ndim - condition.ndim))


def select(condition: Codes, yes: Codes, no: Codes) -> Codes:
    """Return the codes of ``yes`` where the condition is 1, and those of ``no`` elsewhere. ``condition``: i1 codes in
    the shape of the other operands, or in that of their leading axes.
    """
    return np.asarray(np.where(spread(condition, yes.ndim) != 0, yes, no))


KERNEL = Kernel(
    lambda condition, yes, no: yes if condition else no,
    lambda condition, yes, no: Outcome((select(condition, yes, no),)),
    words=lambda condition, yes, no: condition.choose(yes, no),
)
"""The choice of elements that are not poison."""


def select_poison(
    condition: Codes,
    of_condition: PoisonIds | None,
    yes: PoisonIds | None,
    no: PoisonIds | None,
    shape: tuple[int, ...],
) -> PoisonIds | None:
    """Return the poison of a result of `select`: that of the chosen operand, and poison wherever the condition is
    poison. ``shape``: that of the result.
    """
    if of_condition is None and yes is None and no is None:
        return None
    clean = np.zeros((), np.uint16)
    chosen = np.where(spread(condition, len(shape)) != 0, clean if yes is None else yes, clean if no is None else no)
    if of_condition is not None:
        spoiled = spread(of_condition, len(shape))
        chosen = np.where(spoiled != 0, spoiled, chosen)
    ids = np.broadcast_to(chosen, shape)
    return ids.astype(np.uint16) if ids.any() else None
