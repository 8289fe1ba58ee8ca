"""Folds: one element after the other is combined with an accumulator, for many lanes at a time.

The field `reduction_order` of the profile decides in which order floats are added. All other folds go in sequence: the
accumulator is combined with the first element, the result with the second, and so on.

For a sequence there are quicker ways with the same bits: NumPy's running sums, whose steps round once, to nearest even;
combining neighbours in pairs first, if the op is associative; Python integers, if there are few lanes. If an element is
poison, if results are marked as unspecified, or if the op may fail, each element is one step of the op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import FORMATS, Codes, Mask, codes_to_ints, element_shape, ints_to_codes
from halfulp.fp_formats.paths.domains import dtype_of
from halfulp.fp_formats.paths.fast import is_nan, path_of, reduced_extremum
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.run.elementwise import Places, PointwiseStep
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import OpRun, Recorder
from halfulp.interp.values.elements import rearranged
from halfulp.interp.values.value import Value
from halfulp.semantics.integer_kernels import Reading
from halfulp.semantics.kernel import Open, zeroed
from halfulp.semantics.sums import SCALAR_LANES, Accumulator, Faults, exact_sum

# --- folding ----------------------------------------------------------------------------------------------------------

_OF_FLOATS: Mapping[str, str] = {
    "arith.addf": "add",
    "arith.mulf": "multiply",
    "arith.maximumf": "maximum",
    "arith.minimumf": "minimum",
    "arith.maxnumf": "maximum_number",
    "arith.minnumf": "minimum_number",
    **{f"stablehlo.{name}": name for name in ("add", "multiply", "maximum", "minimum")},
}
"""What an op does with two floats, in the words of `halfulp.fp_formats.paths.fast`."""
_EXTREMA = ("maximum", "minimum", "maximum_number", "minimum_number")
_ASSOCIATIVE = frozenset(
    (
        *(f"arith.{name}" for name in ("addi", "andi", "maxsi", "maxui", "minsi", "minui", "muli", "ori", "xori")),
        *(f"stablehlo.{name}" for name in ("add", "and", "maximum", "minimum", "multiply", "or", "xor")),
    )
)
"""Ops that are associative on integers and on truth values."""
_SUMS = ("arith.addi", "stablehlo.add")
"""Ops that add integers."""

_RUNNING: Mapping[str, np.ufunc] = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "maximum_number": np.fmax,
    "minimum_number": np.fmin,
}
"""What accumulators are in most cases, in NumPy's formats."""
_BY_NUMPY = tuple([FORMATS[name] for name in ("f16", "bf16", "f32", "f64")])
RECORDED = 1 << 18
"""Elements that a recorder gets at once."""
RECORDED_LANES = 256
"""From more lanes on single steps are long enough."""
FEWEST_STEPS = 16
"""From so many steps on it saves time to record them at once."""


def running(name: str, number: ty.Type, terms: Codes) -> Codes | None:
    """Return what an op on floats gives from the first of its terms [n, lanes] to each of the next ones, as NumPy
    computes it: apart from the bits of NaNs. None for other ops and elements.
    """
    combine = _RUNNING.get(_OF_FLOATS.get(name, ""))
    if combine is None or not isinstance(number, ty.FloatType) or number.format not in _BY_NUMPY:
        return None
    with np.errstate(all="ignore"):
        found: Codes = combine.accumulate(np.ascontiguousarray(terms).view(dtype_of(number.format)), axis=0)
    return found.view(terms.dtype)


Names = Callable[[int], Places]
"""Gives the names of the lanes when the element of that number is combined."""


class Fold:
    """A fold by one elementwise op with two operands, the accumulator and the element, and one result of their type.

    ``step``: the op. ``element_first``: whether the element is its first operand. ``order``: the order of additions,
    one of `halfulp.semantics.sums.ORDERS`; all other ops go in sequence.
    """

    def __init__(self, step: PointwiseStep, element_first: bool, order: str) -> None:
        self._step = step
        self._kernel = step.kernel
        self._name = step.op.name
        self._element_first = element_first
        self._number = ty.element_type(step.op.results[0].type)
        number = self._number
        #: What the op does with two floats; "" for other elements and other ops.
        self._operation = _OF_FLOATS.get(self._name, "") if isinstance(number, ty.FloatType) else ""
        self.order = order if self._operation == "add" else "sequential"
        mode = step.op.properties.get("roundingmode")
        directed = isinstance(mode, EnumAttr | at.IntegerAttr) and mode.value != Rounding.TO_NEAREST_EVEN
        self._adds = self._operation == "add" and not directed
        plain = not self._kernel.faults
        exact = self._name in _ASSOCIATIVE and isinstance(number, ty.IntegerType | ty.IndexType)
        extreme = self._operation in _EXTREMA and step.settings.profile.extrema == "value"
        self._associative = plain and (exact or extreme)
        self._extremum = ""
        if self._associative and extreme and isinstance(number, ty.FloatType):
            policy = step.settings.profile.arithmetic
            path = path_of(self._operation, number.format, policy=policy)
            self._extremum = self._operation if path == "native" else ""

    @property
    def needs_all(self) -> bool:
        """True if the elements can only be combined all together, because their order is not a sequence."""
        return self.order in ("pairwise", "exact")

    def __call__(self, run: Run, first: Value, rows: Value, names: Names) -> Value:
        """Return ``first`` [lanes] combined with ``rows`` [n, lanes], where lanes may be several axes.

        Raises UndefinedBehavior if the op is undefined for the operands.
        """
        if not rows.shape[0]:
            return first
        if self._step.stochastic:
            return self._in_steps(run, first, rows, names)
        marked = run.settings.marks_elements
        if self.order == "exact":
            total = self._exactly(run, first, rows, names)
            recorder = run.settings.recorder
            return total if recorder is None else recorder.unknown(f"{self._name}, rounded once", total)
        if self._extremum and rows.poison is None and not marked:
            return self._combined(run, first, self._extreme(run, rows, names), names(0))
        if self.order == "pairwise" or (self._associative and not marked):
            return self._combined(run, first, self._of_pairs(run, rows, names), names(0))
        clean = rows.poison is None and first.poison is None and not self._kernel.faults
        if clean and run.settings.recorder is not None:
            return self._recorded(run, run.settings.recorder, first, rows, names)
        if clean and not marked:
            quick = self._quickly(run, first, rows, names)
            if quick is not None:
                return quick
        return self._in_steps(run, first, rows, names)

    def _combined(self, run: Run, total: Value, element: Value, places: Places) -> Value:
        pair = (element, total) if self._element_first else (total, element)
        (result,) = self._step.run_at(run, pair, places)
        return result

    def _recorded(self, run: Run, recorder: Recorder, total: Value, rows: Value, names: Names) -> Value:
        """Return the result in sequence. For few lanes, a recorder gets many steps at once, if it can take them so."""
        lanes = prod(total.shape)
        together = RECORDED // max(lanes, 1) if 0 < lanes <= RECORDED_LANES else 0
        if len(rows.bits) < FEWEST_STEPS or not together:
            return self._in_steps(run, total, rows, names)
        for start in range(0, len(rows.bits), together):
            some = part(rows, slice(start, start + together))
            found = self._at_once(run, recorder, total, some)
            total = self._in_steps(run, total, some, partial(_after, names, start)) if found is None else found
        return total

    def _at_once(self, run: Run, recorder: Recorder, first: Value, rows: Value) -> Value | None:
        """Return the result in sequence; a recorder gets all steps at once. None if that is not possible."""
        terms = joined(run, part(first, np.newaxis), part(rows, slice(-1)))
        codes = self._running(first.bits, rows.bits)
        before, after = codes[:-1], codes[1:]
        given = (rows.bits, before) if self._element_first else (before, rows.bits)
        (found,) = self._kernel.array(*given).results
        if not np.array_equal(found, after):  # a NaN may depend on the way
            return None
        totals = recorder.accumulators(self._kernel, terms, before)
        if totals is None:
            return None
        step, operands = self._step, (rows, totals) if self._element_first else (totals, rows)
        made = step.op, step.behalf, self._kernel, step.location, (after,), int(self._element_first)
        marks = recorder.record(OpRun(operands, given, rows.shape, None, *made))
        return Value(first.type, after[-1], None, None if marks[0] is None else marks[0][-1])

    def _running(self, first: Codes, rows: Codes) -> Codes:
        """Return the accumulator at the start, and after each step, apart from the bits of NaNs."""
        terms = np.concatenate([first[np.newaxis], rows])
        found = running(self._name, self._number, terms)
        return self._running_by_scalar(terms) if found is None else found

    def _running_by_scalar(self, terms: Codes) -> Codes:
        width = ty.width_of(self._number)
        lanes = _flat(terms, 1, len(element_shape(terms, width)) - 1)
        combine: Callable[..., Any] = self._kernel.scalar
        found = []
        for lane in range(lanes.shape[1]):
            codes = codes_to_ints(lanes[:, lane], width)
            found.append(list(accumulate(codes, (lambda a, b: combine(b, a)) if self._element_first else combine)))
        running = ints_to_codes([code for lane in found for code in lane], width, (lanes.shape[1], len(terms)))
        return np.swapaxes(running, 0, 1).reshape(terms.shape)

    def _in_steps(self, run: Run, total: Value, rows: Value, names: Names) -> Value:
        for number in range(rows.shape[0]):
            total = self._combined(run, total, part(rows, number), names(number))
        return self._opened(run, total, rows.shape[0])

    def _opened(self, run: Run, total: Value, steps: int) -> Value:
        return _unspecified(total) if self.order == "open" and run.settings.track_open and steps > 1 else total

    @property
    def draws(self) -> bool:
        """True if the combinations round by random bits of the run."""
        return self._step.stochastic

    def under_mask(self, run: Run, first: Value | None, rows: Value, taken: Mask, names: Names) -> Value | None:
        """Return ``first`` combined with the rows that the mask selects, if combinations round by random bits; None
        otherwise. A row that is left out takes its random bits, too, so that those of the others do not depend on the
        mask.
        """
        assert run.draws is not None
        total, steps = first, 0
        for number in range(rows.shape[0]):
            if taken[number] and total is not None:
                total, steps = self._combined(run, total, part(rows, number), names(number)), steps + 1
                continue
            if taken[number]:
                total = part(rows, number)
            if number or first is not None:
                run.draws.pass_points([self._step.op], self._step.behalf, 1)
        return None if total is None else self._opened(run, total, steps)

    def _extreme(self, run: Run, rows: Value, names: Names) -> Value:
        """Return the extremum of clean rows. If its bits depend on the order, neighbours are combined."""
        shape = rows.bits.shape[1:]
        terms = _flat(rows.bits, 1, len(shape))
        codes, unknown = reduced_extremum(self._extremum, ty.float_format(self._number), terms)
        if unknown.any():
            codes[unknown] = self._of_pairs(run, Value(rows.type, terms[:, unknown]), names).bits
        return Value(rows.type, codes.reshape(shape))

    def _of_pairs(self, run: Run, rows: Value, names: Names) -> Value:
        """Return the combination of neighbours, then of neighbours of the results, until one result is left."""
        while rows.shape[0] > 1:
            even = rows.shape[0] // 2 * 2
            pairs = self._combined(run, part(rows, slice(0, even, 2)), part(rows, slice(1, even, 2)), names(0))
            rows = pairs if even == rows.shape[0] else joined(run, pairs, part(rows, slice(even, None)))
        return part(rows, 0)

    def _exactly(self, run: Run, first: Value, rows: Value, names: Names) -> Value:
        """Return the exact sum, rounded once."""
        if not self._adds:
            raise Unsupported(
                "the exact sum of a reduction is rounded to nearest even, but this addition has another rounding mode",
                location=self._step.op.location,
                op=self._name,
                hint="leave out the mode, or choose another reduction_order",
            )
        format_, lanes = ty.float_format(self._number), first.shape
        terms = joined(run, part(first, np.newaxis), rows)
        found = Faults()
        accumulator = Accumulator(format_, run.settings.profile)
        codes = exact_sum(accumulator, _flat(terms.bits, 1, len(lanes)), format_, found)
        ids = None if terms.poison is None else terms.poison.max(axis=0)
        faults = tuple([(fault, mask.reshape(lanes)) for _, fault, mask in found.found])
        if faults:
            ids = self._step.with_faults(run, (first,), lanes, ids, faults, names(0))
        codes = codes.reshape(first.bits.shape)
        if ids is None:
            return Value(first.type, codes)
        return Value(first.type, zeroed(codes, ids), ids, None, run.origins)

    def _quickly(self, run: Run, first: Value, rows: Value, names: Names) -> Value | None:
        """Return the result in sequence by a quicker way, if there is one. Nothing is poison, and nothing fails."""
        lanes = len(first.shape)
        total, terms = _flat(first.bits, 0, lanes), _flat(rows.bits, 1, lanes)
        if self._adds:
            format_ = ty.float_format(self._number)
            accumulator = Accumulator(format_, run.settings.profile)
            codes = accumulator.in_order(total, terms, Faults())
            # Running sums keep a NaN as it is, and a NaN depends on the order of the operands.
            wrong = is_nan(format_, codes)
            if wrong.any() and not self._element_first:
                wrong &= is_nan(format_, total)
            if wrong.any():
                few = self._in_steps(run, Value(first.type, total[wrong]), Value(first.type, terms[:, wrong]), names)
                codes = codes.copy()
                codes[wrong] = few.bits
        elif len(total) <= SCALAR_LANES and not isinstance(self._number, ty.ComplexType):
            codes = self._by_scalar(total, terms)
        else:
            return None
        return Value(first.type, codes.reshape(first.bits.shape))

    def at_places(self, run: Run, whole: Value, places: npt.NDArray[np.intp], new: Value) -> Value | None:
        """Combine new elements, one after the other, with the elements of ``whole``, an array of one dimension, and
        return it. ``places``: for each new element, the index in ``whole``; one with a negative index is left out. None
        if no quick way is known.
        """
        number = self._number
        adds = self._adds or (self._name in _SUMS and isinstance(number, ty.IntegerType) and number.width > 1)
        if not adds or self._kernel.faults or self._step.stochastic:
            return None
        if whole.poison is not None or new.poison is not None:
            return None
        assert isinstance(number, ty.FloatType | ty.IntegerType)
        own = number.format if isinstance(number, ty.FloatType) else Reading(number.width, True)
        inside = places >= 0
        rows, where = (new.bits, places) if inside.all() else (new.bits[inside], places[inside])
        codes = Accumulator(own, run.settings.profile).at_places(whole.bits, where, rows)
        return None if codes is None else Value(whole.type, codes)

    def _by_scalar(self, total: Codes, terms: Codes) -> Codes:
        width = ty.width_of(self._number)
        combine: Callable[..., Any] = self._kernel.scalar
        results = []
        for lane, code in enumerate(codes_to_ints(total, width)):
            for term in codes_to_ints(terms[:, lane], width):
                code = combine(term, code) if self._element_first else combine(code, term)
            results.append(code)
        return ints_to_codes(results, width, (len(results),))


def _after(names: Names, start: int, number: int) -> Places:
    return names(start + number)


def _flat(bits: Codes, lead: int, lanes: int) -> Codes:
    """Return codes with all lanes along one axis."""
    shape = bits.shape
    return bits.reshape(*shape[:lead], prod(shape[lead : lead + lanes]), *shape[lead + lanes :])


def part(value: Value, index: Any) -> Value:
    """Return a part of a value of the same type. ``index``: an index or a slice of its first axis."""
    return rearranged(value, lambda array: array[index])


def joined(run: Run, one: Value, other: Value) -> Value:
    """Return two values joined along their first axis."""

    def both(first: Any, second: Any) -> Any:
        if first is None and second is None:
            return None
        dtype = (second if first is None else first).dtype
        pair = [
            np.zeros(value.shape, dtype) if array is None else array for array, value in ((first, one), (second, other))
        ]
        return np.concatenate(pair)

    poison = both(one.poison, other.poison)
    bits = np.concatenate([one.bits, other.bits])
    origins = None if poison is None else run.origins
    return Value(one.type, bits, poison, both(one.open, other.open), origins)


def _unspecified(value: Value) -> Value:
    mask = np.full(value.shape, Open.VALUE.value, np.uint8)
    return Value(value.type, value.bits, value.poison, mask, value.origins)
