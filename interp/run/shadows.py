"""The shadows of a run: for each float, its distance from the result of exact real arithmetic.

A run that keeps shadows (as `Settings.recorder`) gives each float a complex128 in the array of marks, `Value.open`: the
error, and the radius up to which it is known. The head of `halfulp.semantics.shadows` explains how both enclose the
exact number. Arguments and constants are exact. Integers have no shadow: the exact run takes the same branches as this
one, and the decisions that it would make otherwise are counted.

Bits may be read as numbers of another format, for example from memory. So the last bits of a radius hold a tag of the
format that it belongs to. Nothing is known about a number whose tag is that of another format. The tag makes the radius
grow by less than a part in 2**46.

Integers have marks if they may differ from those of exact arithmetic: they are bits of a number that is not exact, or
an op wrapped (`halfulp.semantics.integer_functions`).

A cheaper form of shadows (`halfulp.semantics.plain_shadows`) has only the error, as f64, with the tag in its last bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import frexp, inf, isfinite, nan, prod
from typing import Any

import numpy as np

from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat
from halfulp.fp_formats.neighbours import ulp_of_float, ulps_of_floats
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run import shadow_loops
from halfulp.interp.run.folding import part
from halfulp.interp.run.settings import Operands, OpRun, Ran, holds_floats, same_ran
from halfulp.interp.run.shadow_loops import (
    OTHER_TAG,
    TAG_MASK,
    TAGS,
    UNKNOWN,
    Marks,
    ShadowFigures,
    decoded,
    decoded_one,
    decoded_plainly,
    encoded,
    encoded_one,
    encoded_plainly,
    is_exact,
    is_float,
    tag_of,
)
from halfulp.interp.values.buffers import Allocation, Buffer
from halfulp.interp.values.value import Value
from halfulp.semantics.integer_functions import Apart, joined, reading_of, wrapped
from halfulp.semantics.judging import (
    Computed,
    Decided,
    Judgement,
    as_f64,
    has_shadows,
    judge,
    judge_one,
    number_of,
    overflows,
    overflows_alone,
    quantized_numbers,
)
from halfulp.semantics.kernel import (
    Computes,
    Integer,
    Kernel,
    Meaning,
    Numbers,
    PoisonIds,
    Quantized,
    Reinterprets,
    Stored,
)
from halfulp.semantics.plain_shadows import WIDER, judge_plainly
from halfulp.semantics.shadows import Floats, Shadow

BLOCK = 1 << 15
"""The elements that are judged at a time."""
Judge = Callable[[Meaning | None, Sequence[Codes], Codes, Sequence[Shadow | None]], Judgement | None]


@dataclass(frozen=True, slots=True)
class Form:
    """A form of shadows: the rules for errors of ops, and the way to write shadows as marks.

    ``wider``: the format whose numbers are used as the exact numbers; "" for a form that encloses the exact numbers
    between bounds. ``unknown``: the mark of a number about which nothing is known; ``wrapped``: the marks of integers
    that differ from the exact ones because an op wrapped: if read as signed numbers, only if read as unsigned numbers,
    and in both readings. ``encode`` writes
    shadows of numbers of a type as marks, ``decode`` reads marks in one dimension.
    """

    wider: str
    judge: Judge
    unknown: complex
    wrapped: tuple[complex, complex, complex]
    encode: Callable[[Shadow, ty.Type, Any], None]
    decode: Callable[[Any, ty.Type], Shadow]

    def knows(self, fmt: FloatFormat) -> bool:
        """Tell whether anything can be known about numbers that are computed in a format."""
        return has_shadows(fmt) and (not self.wider or fmt.precision < FORMATS[self.wider].precision)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of marks."""
        return np.dtype(np.complex128 if isinstance(self.unknown, complex) else np.float64)


@dataclass(eq=False, slots=True)
class Shadows:
    """The shadows of one run, in a form. ``figures``: those of each op that computed floats, or decided by them,
    together with the op for which it ran, mostly itself. ``made``: the ops that `same_ran` found.
    """

    form: Form = field(default_factory=lambda: ENCLOSED)
    figures: dict[Ran, ShadowFigures] = field(default_factory=dict)
    made: dict[tuple[str, Operation], Ran] = field(default_factory=dict)
    _latest: dict[Operation, ShadowFigures] = field(default_factory=dict)
    _memories: list[Allocation] = field(default_factory=list)

    @property
    def mark_type(self) -> np.dtype[Any]:
        """The dtype of marks."""
        return self.form.dtype

    def taken(self, op: Operation) -> ShadowFigures | None:
        """Return the figures of an op that were collected since the last call; None if there are none. They include
        those of all ops that ran for it.
        """
        return self._latest.pop(op, None)

    # --- recording ---

    def record(self, run: OpRun) -> tuple[Marks | None, ...]:
        """Record the results of an op, and return their marks, as `Recorder.record` defines."""
        types = [ty.element_type(result.type) for result in run.op.results]
        if not any(is_float(each) for each in types) and not any(map(holds_floats, run.operands)):
            if not isinstance(run.kernel.meaning(), Reinterprets):
                return self._of_integers(run, types)
            if not any(map(_is_tainted, run.operands)):
                return (None,) * len(run.results)
        found = ShadowFigures(elements=prod(run.shape) * len(run.results))
        marks = tuple([self._of_result(run, number, type_, found) for number, type_ in enumerate(types)])
        if run.accumulator is not None:
            for worst in (found.own, found.total, found.relative):
                worst.place = None if worst.place is None else worst.place[1:]
        self._note(run.op, run.around, found)
        return marks

    def accumulators(self, kernel: Kernel, terms: Value, codes: Codes) -> Value | None:
        """Return the accumulators of a fold, as `Recorder.accumulators` defines. Sums and similar results of exact
        numbers do not depend on the order, so neighbours are combined first, in arrays.
        """
        meaning = kernel.meaning()
        if not holds_floats(terms):
            return self._integer_accumulators(meaning, terms, codes)
        if not isinstance(meaning, Computes) or meaning.rule not in _ASSOCIATIVE:
            return None
        fmt = meaning.result
        if not isinstance(fmt, FloatFormat):
            return None
        if not self.form.knows(fmt):
            return Value(terms.type, codes, None, np.broadcast_to(self.form.dtype.type(self.form.unknown), terms.shape))
        found = self._running(kernel, meaning, terms)
        same = found.bits == codes
        marks: Any = found.open
        if not same.all():
            rounded = self._judged(Computes("convert", (fmt,), fmt), (found,), codes)
            marks = np.where(same, marks, rounded)
        # A combination of neighbours may overflow where those in sequence do not.
        lost = self._is_unknown(marks, terms.element_type)
        excused = ~np.isfinite(as_f64(fmt, codes))
        if terms.open is not None:
            excused |= self._is_unknown(terms.open, terms.element_type)
        if (lost & ~np.logical_or.accumulate(excused)).any():
            return None
        return Value(terms.type, codes, None, marks)

    def _integer_accumulators(self, meaning: Meaning | None, terms: Value, codes: Codes) -> Value | None:
        """Return the accumulators of integers: from the first step on that wraps, or has an inexact operand, they are
        not the exact ones.
        """
        given = [_apart(self.form, terms)] if _is_tainted(terms) else []
        own = wrapped(meaning, (codes[:-1], terms.bits[1:]))
        if own is not None:
            before = np.zeros((1, *terms.shape[1:]), np.bool_)
            lanes = np.zeros((len(codes) - 1, *terms.shape[1:]), np.bool_)
            given.append(Apart(*(np.concatenate([before, lanes | mask]) for mask in own)))
        if not given:
            return Value(terms.type, codes)
        if reading_of(meaning) is not None:
            return None
        apart = Apart(*map(np.logical_or.accumulate, joined(given)))
        return Value(terms.type, codes, None, self._marks_of(apart))

    def _running(self, kernel: Kernel, meaning: Computes, terms: Value) -> Value:
        """Return the combinations of the first one, the first two, and so on, of terms along the first axis."""
        if len(terms.bits) == 1:
            return terms
        ends = len(terms.bits) // 2 * 2
        pairs = self._combined(kernel, meaning, part(terms, slice(0, ends, 2)), part(terms, slice(1, ends, 2)))
        pairs = self._running(kernel, meaning, pairs)
        bits, marks = terms.bits.copy(), np.zeros(terms.shape, self.form.dtype)
        if terms.open is not None:
            marks[0] = terms.open[0]
        bits[1::2], marks[1::2] = pairs.bits, pairs.open
        if len(terms.bits) > 2:
            later = part(terms, slice(2, None, 2))
            between = self._combined(kernel, meaning, part(pairs, slice(len(later.bits))), later)
            bits[2::2], marks[2::2] = between.bits, between.open
        return Value(terms.type, bits, None, marks)

    def _combined(self, kernel: Kernel, meaning: Computes, one: Value, other: Value) -> Value:
        (codes,) = kernel.array(one.bits, other.bits).results
        return Value(one.type, codes, None, self._judged(meaning, (one, other), codes))

    def _judged(self, meaning: Computes, operands: tuple[Value, ...], codes: Codes) -> Marks | None:
        """Return the marks of results that no op of the program gave."""
        given = Operands(operands, tuple([value.bits for value in operands]), operands[0].shape, None)
        return _Judging(self.form, meaning, given, codes, ShadowFigures()).marks(operands[0].element_type)

    def _is_unknown(self, marks: Any, type_: ty.Type) -> Any:
        marks = np.asarray(marks, self.form.dtype)
        return np.isinf(self.form.decode(marks.reshape(-1), type_).radius).reshape(marks.shape)

    def _of_result(self, run: OpRun, number: int, type_: ty.Type, found: ShadowFigures) -> Marks | None:
        """Judge the result with this number, and return its marks."""
        meaning, result = run.kernel.meaning(number), run.results[number]
        if isinstance(meaning, Reinterprets):
            return _reinterpreted(self.form, run.operands[0], type_, run.poison, found)
        is_one = prod(run.shape) == 1 and run.poison is None and self.form is ENCLOSED
        if is_one and isinstance(meaning, Computes):
            alone = _judged_alone(meaning, run, result, found)
            if alone is not None:
                return alone
        return _Judging(self.form, meaning, run, result, found).marks(type_)

    def _of_integers(self, run: OpRun, types: Sequence[ty.Type]) -> tuple[Marks | None, ...]:
        """Return the marks of the results of an op on integers: where it wraps, and what it makes from integers that
        are not exact. An i1 and an index decide; for an i1, only its decision is reported.
        """
        meaning, shape, poison = run.kernel.meaning(), run.shape, run.poison
        own, given = wrapped(meaning, run.codes), []
        misread = late = np.zeros((1,) * len(shape), np.bool_)
        for value in filter(_is_tainted, run.operands):
            found = Apart(*map(partial(_ranked, rank=len(shape)), _apart(self.form, value)))
            misread = misread | found.misread(reading_of(meaning))
            late = late | _is_late(found, reading_of(meaning))
            given.append(found)
        if own is not None:
            given.append(own)
        if not given:
            return (None,) * len(types)
        apart = joined([*given, Apart(misread, misread)])
        clean = None if poison is None else poison == 0
        decides = any(map(_decides, types))
        new = late if own is None else own.signed
        said = own is not None or not decides
        count = _number_of(np.broadcast_to(new, shape), clean) if said else 0
        if decides or count:
            undecided = _number_of(np.broadcast_to(misread, shape), clean) if decides else 0
            self._note(run.op, run.around, ShadowFigures(elements=prod(shape), undecided=undecided, wrapped=count))
        marks = np.broadcast_to(self._marks_of(apart), shape)
        return tuple([None if _decides(each) and not ty.is_place(each) else marks for each in types])

    def _marks_of(self, apart: Apart) -> Any:
        """Return the marks of integers."""
        exact = self.form.dtype.type(0)
        signed, unsigned, both = self.form.wrapped
        either = np.where(apart.signed, signed, np.where(apart.unsigned, unsigned, exact))
        return np.where(apart.inexact, self.form.unknown, np.where(apart.signed & apart.unsigned, both, either))

    def _note(self, op: Operation, around: Operation, found: ShadowFigures) -> None:
        ran = (op, around) if (op, around) in self.figures else same_ran(self.made, op, around)
        self.figures.setdefault(ran, ShadowFigures()).join(found)
        self._latest.setdefault(around, ShadowFigures()).join(found)

    def argument(self, number: int, given: Any) -> Any:
        """Return an argument as exact numbers. The memory of a buffer gets its marks in place."""
        if isinstance(given, Buffer):
            memory = given.allocation.root
            if not any(memory is known for known in self._memories):
                self._memories.append(memory)
                memory.open = np.zeros((len(memory), *memory.inner), self.form.dtype)
        return self.constant(given) if isinstance(given, Value) else given

    def constant(self, value: Value) -> Value:
        """Return a constant of the program, as exact numbers."""
        return self._marked(value, 0.0) if holds_floats(value) else value

    def computed(self, op: Operation, operands: Sequence[Any], results: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return results in which numbers that were computed from floats or from inexact integers are unknown, unless
        they have their own mark. Numbers that an inexact index chose are unknown too.
        """
        given = [value for value in operands if isinstance(value, Value)]
        if not any(holds_floats(value) or _is_tainted(value) for value in given):
            return results
        anywhere = any(_is_inexact_index(self.form, value) for value in given)
        return tuple(
            [
                self._unknown(op, value) if isinstance(value, Value) and (value.open is None or anywhere) else value
                for value in results
            ]
        )

    def _unknown(self, op: Operation, value: Value) -> Value:
        if not holds_floats(value):
            return value if _decides(value.element_type) else self._marked(value, self.form.unknown)
        found = ShadowFigures(elements=value.size, unknown=value.size)
        self._note(op, op, found)
        return self._marked(value, self.form.unknown)

    def unknown(self, what: str, produced: Any) -> Any:
        """Return a value, or a buffer, whose marks say that nothing is known about it. ``what``: what made it."""
        if isinstance(produced, Buffer):
            memory = produced.allocation.root
            memory.open = np.full((len(memory), *memory.inner), self.form.unknown)
        return self._marked(produced, self.form.unknown) if isinstance(produced, Value) else produced

    def _marked(self, value: Value, mark: complex) -> Value:
        marks = np.broadcast_to(self.form.dtype.type(mark), value.shape)
        return Value(value.type, value.bits, value.poison, marks, value.origins)


def _operands_of(meaning: Meaning | None) -> tuple[Numbers, ...]:
    return (
        meaning.operands if isinstance(meaning, Computes) else (meaning.operand,) if isinstance(meaning, Stored) else ()
    )


def _decides(type_: ty.Type) -> bool:
    """Tell whether integers of a type decide what a program does, and are not numbers that it computes with."""
    return ty.is_place(type_) or (isinstance(type_, ty.IntegerType) and type_.width == 1)


def _is_tainted(value: Value) -> bool:
    """Tell whether a value has integers that hold the bits of inexact numbers."""
    return value.open is not None and not is_exact(value.open) and not holds_floats(value)


def _apart(form: Form, value: Value) -> Apart:
    """Return where integers differ from the exact ones."""
    signed, unsigned, _ = form.wrapped
    marked = np.asarray(value.open != 0)
    inexact = marked & ~np.isin(value.open, form.wrapped)  # type: ignore[arg-type]
    return Apart(marked & (value.open != unsigned), marked & (value.open != signed), inexact)


def _is_late(apart: Apart, signed: bool | None) -> Any:
    """Return where integers are right if read as signed, but not as unsigned; nowhere unless the op reads them as
    unsigned. This is reported at the op that reads them, and not where they wrapped, since a sum with a negative number
    wraps too.
    """
    return apart.unsigned & ~apart.signed & (signed is False)


def _is_inexact_index(form: Form, value: Value) -> bool:
    """Tell whether a value has places, which are signed numbers, and one of them differs from the exact one."""
    return ty.is_place(value.element_type) and _is_tainted(value) and bool(_apart(form, value).signed.any())


def _ranked(mask: Any, rank: int) -> Any:
    """Return an array of elements with as many axes as other arrays have."""
    return mask if mask.ndim == rank else mask.reshape((1,) * (rank - mask.ndim) + mask.shape)


def _reinterpreted(
    form: Form, value: Value, type_: ty.Type, poison: PoisonIds | None, found: ShadowFigures
) -> Marks | None:
    """Return the marks of a bit cast. They stay: read as another format, the bits of an inexact number are unknown, and
    read again as the first format, they are the number again. Integers that are not the bits of such a number are
    exact.
    """
    if value.open is None:
        return None if not is_float(type_) else np.zeros(value.shape, form.dtype)
    marks: Marks = np.asarray(value.open, form.dtype)
    if not holds_floats(value) and is_float(type_):
        # An integer that wrapped has the bits that its op defines, as those of a generator of random numbers.
        marks = np.where(np.isin(marks, form.wrapped), form.dtype.type(0), marks)
    clean = None if poison is None else poison == 0
    if is_float(type_):
        shadow = form.decode(marks.reshape(-1), type_)
        found.unknown += _number_of(np.isinf(shadow.radius).reshape(value.shape), clean)
    elif holds_floats(value):
        found.undecided += _number_of(marks != 0, clean)
    return marks


# --- forms ------------------------------------------------------------------------------------------------------------


ENCLOSED: Form = Form("", judge, UNKNOWN, (complex(1, inf), complex(2, inf), complex(3, inf)), encoded, decoded)
FORMS: Mapping[str, Form] = {
    "": ENCLOSED,
    **{
        name: Form(name, partial(judge_plainly, FORMATS[name]), nan, (inf, -inf, 1.0), encoded_plainly, decoded_plainly)
        for name in WIDER
    },
}
"""The forms of shadows: by the format that stands for the exact numbers, "" for the one that encloses them."""


# --- judging ----------------------------------------------------------------------------------------------------------


class _Judging:
    """Judges what one op made from its operands, one block of elements at a time."""

    def __init__(
        self, form: Form, meaning: Meaning | None, given: Operands, result: Codes, found: ShadowFigures
    ) -> None:
        self._form = form
        self._meaning = meaning
        self._shape = given.shape
        self._found = found
        self._types = [value.element_type for value in given.operands]
        kinds = (*_operands_of(meaning), *[None] * len(given.codes))
        self._codes = [self._numbers(kind, each) for kind, each in zip(kinds, given.codes, strict=False)]
        self._result = self._numbers(meaning.result if isinstance(meaning, Computes) else None, result)
        self._clean = None if given.poison is None else given.poison.reshape(-1) == 0
        read = [self._read(kind, value) for kind, value in zip(kinds, given.operands, strict=False)]
        self._marks = [None if marks is None else self._flat(_ranked(marks, len(given.shape))) for marks in read]

    def _numbers(self, kind: Numbers | None, codes: Codes) -> Any:
        """Return codes with one axis for the elements; for quantised numbers, whose scales may depend on places, the
        numbers that they stand for.
        """
        found = quantized_numbers(kind, codes, self._shape) if isinstance(kind, Quantized) else codes
        return self._flat(found)

    def _read(self, kind: Numbers | None, value: Value) -> Any:
        """Return the marks of an operand as its op reads it; None if it is exact."""
        if value.open is None or is_exact(value.open):
            return None
        if holds_floats(value):
            return value.open
        apart, signed = _apart(self._form, value), kind.signed if isinstance(kind, Integer) else None
        late = _ranked(_is_late(apart, signed), len(self._shape))
        self._found.wrapped += _number_of(self._flat(late), self._clean)
        return np.where(apart.misread(signed), self._form.unknown, self._form.dtype.type(0))

    def _flat(self, array: Any) -> Any:
        """Return an array with one axis for the elements; the limbs of an element stay."""
        rank = len(self._shape)
        trailing = array.shape[rank:]
        return np.broadcast_to(array, self._shape + trailing).reshape(prod(self._shape), *trailing)

    def marks(self, type_: ty.Type) -> Marks | None:
        """Judge all elements, and return the marks of the result; None for integers."""
        count = prod(self._shape)
        made = np.empty(count, self._form.dtype) if is_float(type_) else None
        by_loop = None if made is None else self._by_loop(type_, made)
        left = [slice(0, count)]
        if by_loop is not None:
            left, figures = by_loop
            self._found.join(figures)
        for some in left:
            for start in range(some.start, some.stop, BLOCK):
                self._found.join(self._block(slice(start, min(start + BLOCK, some.stop)), type_, made))
        return None if made is None else made.reshape(self._shape)

    def _by_loop(self, type_: ty.Type, made: Marks) -> tuple[list[slice], ShadowFigures] | None:
        """Judge by machine code: return the parts that it leaves, and the figures of the others."""
        meaning, wider = self._meaning, self._form.wider
        if not isinstance(meaning, Computes) or self._clean is not None or wider not in ("", "f64"):
            return None
        formats = [kind for kind in (*meaning.operands, meaning.result) if isinstance(kind, FloatFormat)]
        if len(formats) <= len(meaning.operands):
            return None
        tags = [int(tag_of(each)) for each in (*self._types, type_)]
        arrays = zip(formats, (*self._codes, self._result), (*self._marks, None), tags, strict=True)
        *operands, results = [shadow_loops.Marked(*each) for each in arrays]
        return shadow_loops.judged(meaning, operands, results, wider != "", TAG_MASK, made)

    def _block(self, here: slice, type_: ty.Type, made: Marks | None) -> ShadowFigures:
        """Judge a block of elements, write their marks, and return their figures."""
        judged, found = self._judged(here), ShadowFigures()
        self._count(judged, here, made is not None, found)
        if isinstance(judged, Computed):
            assert made is not None
            self._form.encode(judged.total, type_, made[here])
        elif made is not None:
            made[here] = self._form.unknown
        return found

    def _judged(self, here: slice) -> Judgement | None:
        shadows = [
            None if marks is None else self._form.decode(marks[here], type_)
            for marks, type_ in zip(self._marks, self._types, strict=True)
        ]
        return self._form.judge(self._meaning, [each[here] for each in self._codes], self._result[here], shadows)

    def _count(self, judged: Judgement | None, here: slice, gives_floats: bool, found: ShadowFigures) -> None:
        clean = None if self._clean is None else self._clean[here]
        if judged is None:
            if gives_floats:
                found.unknown += _number_of(np.ones(here.stop - here.start, np.bool_), clean)
            else:
                # A decision by numbers that are exact is the same in the exact run.
                inexact = [marks[here] != 0 for marks in self._marks if marks is not None]
                found.undecided += _number_of(np.logical_or.reduce(inexact), clean) if inexact else 0
        elif isinstance(judged, Decided):
            found.otherwise += _number_of(judged.otherwise, clean)
            found.undecided += _number_of(judged.undecided, clean)
        else:
            with np.errstate(all="ignore"):
                self._count_errors(judged, clean, here.start, found)
                self._count_events(judged, clean, found)

    def _count_errors(self, judged: Computed, clean: Any, first: int, found: ShadowFigures) -> None:
        """Take the largest errors. That of an unknown number counts as 0."""
        value, total = judged.value, np.abs(judged.total.error)
        assert isinstance(self._meaning, Computes)
        own, radius, ulp = np.abs(judged.own.error) - judged.own.radius, judged.total.radius, judged.ulps(judged.total)
        if clean is not None:
            own, total, radius = (np.where(clean, each, 0.0) for each in (own, total, radius))
        unknown = int(np.count_nonzero(np.isinf(radius))) if np.isinf(radius.max(initial=0.0)) else 0
        if unknown:
            found.unknown += unknown
            radius = np.where(np.isinf(radius), 0.0, radius)
        found.own.take_block(own / judged.ulps(judged.own), self._shape, first)
        found.total.take_block(total / ulp, self._shape, first)
        exact = value + judged.total.error
        relative = total / np.abs(exact)
        # 0 / 0 is not an error; that of a number which stands for 0 is infinite.
        found.relative.take_block(relative if exact.all() else np.where(total != 0, relative, 0.0), self._shape, first)
        found.radius = max(found.radius, float((radius / ulp).max(initial=0.0)))

    def _count_events(self, judged: Computed, clean: Any, found: ShadowFigures) -> None:
        value, operands = judged.value, judged.operands
        assert isinstance(self._meaning, Computes)
        beyond = overflows(self._meaning, judged)
        if beyond is not None:
            found.overflowed += _number_of(beyond, clean)
        zeros = None if value.all() else value == 0
        if zeros is not None:
            flushed = zeros & (np.abs(judged.own.error) > judged.own.radius)
            found.flushed += _number_of(flushed, clean)
        terms = _TERMS.get(self._meaning.rule)
        if terms is None:
            return
        x, y = terms(*operands)
        larger = np.maximum(np.abs(x), np.abs(y))
        lost = larger / np.abs(value)
        if zeros is not None or clean is not None or not np.isfinite(lost.sum()):
            counted = np.isfinite(lost) if clean is None else np.isfinite(lost) & clean
            lost = np.where(counted, lost, 0.0)
        most = float(lost.max(initial=0.0))
        found.cancelled = max(found.cancelled, _leading(most))
        same = (((value == x) & (y != 0)) | ((value == y) & (x != 0))) & (value != 0)
        found.absorbed += _number_of(same & np.isfinite(value), clean)
        if zeros is not None and (zeros & ~flushed & (larger != 0) & np.isfinite(larger)).any():
            result = self._meaning.result
            bits = result.precision if isinstance(result, FloatFormat) else result.stored.width
            found.cancelled = max(found.cancelled, bits)


def _judged_alone(meaning: Computes, run: OpRun, result: Codes, found: ShadowFigures) -> Marks | None:
    """Judge one number by balls, and return its mark; None if balls do not cover it."""
    fmt = meaning.result
    if not isinstance(fmt, FloatFormat) or not has_shadows(fmt) or not isfinite(value := number_of(fmt, result)):
        return None
    given = []
    for kind, operand, code in zip(meaning.operands, run.operands, run.codes, strict=True):
        if not isinstance(kind, FloatFormat) or not has_shadows(kind):
            return None
        number = number_of(kind, code)
        if not isfinite(number):
            return None
        error, radius = (0.0, 0.0) if operand.open is None else decoded_one(operand.open, operand.element_type)
        given.append((number, error, radius))
    one = judge_one(meaning.rule, value, given)
    if one is None:
        return None
    place = (0,) * len(run.shape)
    (own, own_radius), (total, radius) = one
    ulp, exact = ulp_of_float(fmt, value, total, radius), value + total
    if isfinite(own_radius):
        found.own.take_one((abs(own) - own_radius) / ulp_of_float(fmt, value, own, own_radius), place)
    flushed = value == 0 and abs(own) > own_radius
    found.flushed += flushed
    found.overflowed += overflows_alone(fmt, value, own, own_radius)
    if isfinite(radius):
        found.total.take_one(abs(total) / ulp, place)
        found.relative.take_one(abs(total / exact) if exact else inf if total else 0.0, place)
        found.radius = radius / ulp
    else:
        found.unknown += 1
    terms = _TERMS.get(meaning.rule)
    if terms is not None:
        x, y = terms(*(each[0] for each in given))
        larger = max(abs(x), abs(y))
        if value == 0:
            found.cancelled = fmt.precision if larger and not flushed else 0
        else:
            found.cancelled = _leading(larger / abs(value))
            found.absorbed += (value == x and y != 0) or (value == y and x != 0)
    return np.full(run.shape, encoded_one(total, radius, TAGS.get(fmt, OTHER_TAG)))


_ASSOCIATIVE = ("add", "multiply", "maximum", "minimum", "maximum number", "minimum number")
_TERMS: dict[str, Any] = {
    "add": lambda x, y: (x, y),
    "subtract": lambda x, y: (x, -y),
    "fma": lambda x, y, z: (x * y, z),
}
"""The two terms of which an op makes a sum."""


def _leading(quotient: float) -> int:
    """Return the number of leading bits that a sum lost, from the quotient of the larger term and the sum."""
    return max(frexp(quotient)[1] - 1, 0)


def _number_of(mask: Any, clean: Any) -> int:
    return int(np.count_nonzero(mask if clean is None else mask & clean))


# --- reading ----------------------------------------------------------------------------------------------------------


def shadow_of(value: Value, form: Form = ENCLOSED) -> Shadow | None:
    """Return the shadow of a value, in the shape of its elements; None for integers. The value comes from a run that
    kept shadows.
    """
    if not holds_floats(value):
        return None
    if value.open is None:
        return Shadow(np.zeros(value.shape), np.zeros(value.shape))
    flat = form.decode(np.ascontiguousarray(value.open, form.dtype).reshape(-1), value.element_type)
    return Shadow(*(np.reshape(part, value.shape) for part in flat))


def error_in_ulp(value: Value, form: Form = ENCLOSED) -> tuple[Floats, Floats] | None:
    """Return the error of each element of a value, and its radius, both in ulp of the exact number; None for integers.

    An unknown error is NaN. So are those of formats without shadows, of infinities, NaNs and poison.
    """
    shadow, element = shadow_of(value, form), value.element_type
    if shadow is None:
        return None
    if not isinstance(element, ty.FloatType) or not has_shadows(element.format):
        return np.full(value.shape, np.nan), np.full(value.shape, np.inf)
    numbers = as_f64(element.format, value.bits)
    ulp = ulps_of_floats(element.format, numbers, *shadow)
    known = np.isfinite(shadow.radius) & (np.isfinite(numbers) | ((shadow.error == 0) & (shadow.radius == 0)))
    if value.poison is not None:
        known &= value.poison == 0
    with np.errstate(all="ignore"):
        return np.where(known, shadow.error / ulp, np.nan), np.where(known, shadow.radius / ulp, np.inf)
