"""Measure how wrong an implementation is: `accuracy` for a function or an op, `program_accuracy` for a whole program.

An implementation may be a file of results: a set of golden vectors, or the results of all codes in order.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from halfulp.conformance.accuracy.implementations import (
    HoldingImplementation,
    Implementation,
    codes_of,
    implementation,
    names_library,
)
from halfulp.conformance.accuracy.programs import ProgramAccuracy, measured_programs
from halfulp.conformance.accuracy.questions import CHUNK, Chosen, Question, chosen_arguments, question
from halfulp.conformance.accuracy.report import Accuracy, binade_ends, measured
from halfulp.conformance.comparing.inputs import every_input
from halfulp.conformance.files import read_whole
from halfulp.conformance.oracles import oracle
from halfulp.conformance.oracles.closed_programs import ByOps
from halfulp.conformance.oracles.jit import NAME as TENSOR_RUNNER
from halfulp.conformance.oracles.jit import TensorRunner
from halfulp.conformance.oracles.oracle import Answer, ClosedProgram, OracleError, ProgramOracle, Status, Unavailable
from halfulp.conformance.vectors import metadata
from halfulp.conformance.vectors.columns import Role
from halfulp.conformance.vectors.computation import OpComputation
from halfulp.conformance.vectors.formats.format import Notes
from halfulp.conformance.vectors.metadata import CheckedAgainst, format_of_vectors, opened, vectors_of
from halfulp.conformance.vectors.recipe import case_of
from halfulp.conformance.whole_programs.arguments import taken_from
from halfulp.conformance.whole_programs.validation import Inputs
from halfulp.drawing.figures import Style, chosen_style, drawing, figure_of, new_panels, set_title
from halfulp.drawing.formats import Number, as_float, window
from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import comparisons
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, ints_to_codes
from halfulp.fp_formats.neighbours import code_at, errors_of_codes
from halfulp.fp_formats.paths.fast_conversions import convert
from halfulp.fp_formats.policy import Rounding, as_rounding
from halfulp.inputs import names_arguments
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, TypeMismatch, Unsupported, wrong_count
from halfulp.interp.ir.operations import Module, argument_types
from halfulp.interp.run.stochastic import refuse_stochastic
from halfulp.loading import Source, load
from halfulp.number_reader import mode_named, read_number
from halfulp.rounding_steps import count, ranks_between
from halfulp.running import find_entry, function_path
from halfulp.semantics.profile import Profile, as_profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@names_arguments
def accuracy(
    op: str,
    type: str | Sequence[str],
    against: str | os.PathLike[str] | Callable[..., Any],
    *,
    to: str | None = None,
    rounding: str = "to_nearest_even",
    profile: Profile | str | None = None,
    n: int | None = None,
    seed: int = 0,
    exhaustive: bool = False,
    range: tuple[Any, Any] | None = None,
    time_limit: float = 60.0,
    **properties: Any,
) -> Accuracy:
    """Measure the errors of an implementation: compare its results with the correctly rounded and the exact results.

    ``op``: a function (``"exp"``, ``"math.exp"``, ``"sigmoid"``) or an op with a float result (``"arith.addf"``).
    ``type``: the element type of the operands, or a list of one for each operand.
    ``to``: the element type of the result of a cast.
    ``against``: the implementation that is measured:

    - a Python function, or its name ``"module:function"``: it takes one array of n elements for each operand, in the
      dtype of the operand's type (a `Value` if no dtype exists), and returns an array of the n results in the dtype of
      the result's type;
    - ``"numpy"``, ``"ml_dtypes"``, ``"torch"``, ``"jax"``, ``"iree"``, ``"mlir-native"`` and the other oracles of
      ``halfulp verify``;
    - ``"./lib.so:expf"``, a symbol of a shared library, which is called in a separate process for at most
      ``time_limit`` seconds. Append ``:codes`` for ``uint16_t f(uint16_t)`` on codes, or ``:array`` for ``void f(const
      T *x, T *result, size_t count)``;
    - a file: vectors with operands and results in a format of ``halfulp vectors make``; or only the results, one for
      each code of the operand in ascending order, as ``.npy``, ``.bin`` (codes, little-endian), or ``.hex`` or ``.txt``
      with one code per line.

    ``rounding``: the rounding mode that the implementation should have.
    ``n``: the number of random arguments, which are drawn with ``seed``; hard cases are added to them. Without ``n``,
    all arguments are measured if they have up to 16 bits, else 100,000.
    ``exhaustive``: True to measure all arguments, which may have up to 32 bits.
    ``range``: measure all floats between these two numbers.

    The result has ``wrong`` (the number of results that are finite but not correctly rounded), ``wrong_special`` (the
    number of wrong NaNs, infinities and signs of zeros), ``max_ulp``, ``histogram``, ``intervals`` (with the largest
    error of each interval, IEEE P3109's κ), ``tally`` with all other figures, and `to_dict`. An error in ulp is the
    distance of a result from the exact real result, divided by `halfulp.ulp` of the exact result.

        >>> hu.accuracy("exp", "f8E5M2", "ml_dtypes").wrong
        0

    Raises InputError for an unknown implementation and for results of a wrong type or shape; Unsupported for an unknown
    function, and if the implementation is missing, cannot compute this function, crashes or does not end.
    """
    asked = question(op, *_types(type, to), as_rounding(rounding), as_profile(profile), **properties)
    if n is not None and n < 1:
        raise InputError(f"n is {n}, but must be at least 1")
    try:
        against_it = _implementation(against, time_limit)
        refused = against_it.refuses(asked)
        if refused is not None:
            raise Unsupported(f"{against_it.name}: {refused}")
        if isinstance(against_it, HoldingImplementation):
            if n is not None or exhaustive or range is not None:
                raise InputError(
                    f"{against_it.name} has its own arguments: leave out the options that choose arguments (n, "
                    "exhaustive, range)"
                )
            chosen = against_it.arguments(asked)
        else:
            chosen = chosen_arguments(asked, n, seed, exhaustive, _ends(asked.argument, range))
        found = measured(asked, against_it, chosen)
    except Unavailable as error:
        raise Unsupported(f"{against}: {error}") from None
    except OracleError as error:
        raise Unsupported(str(error).partition(": ")[2]) from None
    if not found.compared:
        raise Unsupported(
            f"nothing was compared: {found.tally.why or 'the language allows any value for every result'}"
        )
    return found


@names_arguments
def program_accuracy(
    module: Module | Source,
    *arguments: Any,
    against: Sequence[str] = (),
    function: str | None = None,
    n: int = 100,
    seed: int = 0,
    profile: Profile | str | None = None,
) -> ProgramAccuracy:
    """Measure the errors of a program's results against exact real arithmetic, as halfulp and other implementations
    compute them.

    ``module``: the program, as for `halfulp.run`.
    ``function``: the name of the function, which takes and returns values, not memory.
    ``arguments``: the arguments of one call. Without them, ``n`` sets of arguments are made with ``seed``: floats
    around 1, and small integers.
    ``against``: other implementations that run the program, too: ``"mlir-runner"`` (functions of tensors), ``"iree"``
    and the other oracles of ``halfulp diff``.
    ``profile``: the rules of halfulp's run.

    The result has ``runs``, halfulp's run first (each has ``name``, ``elements``, ``nearest``, ``mean_ulp``,
    ``max_ulp``, ``worst``, ``histogram``), ``unknown``, the number of elements whose exact number is not known, and
    `to_dict`. An error in ulp is the distance of a result from the exact number, divided by the ulp of that number.

        >>> f = "func.func @f(%x: f32) -> f32 {\\n %0 = arith.divf %x, %x : f32\\n return %0 : f32\\n}"
        >>> hu.program_accuracy(f, 3.0).runs[0].max_ulp
        0.0

    Raises InputError for an unknown implementation, Unsupported if an implementation is missing or the function takes
    memory, and the errors of `halfulp.run`.
    """
    rules = refuse_stochastic(as_profile(profile), "accuracy")
    program = module if isinstance(module, Module) else load(module)
    called = find_entry(program, function)
    types = argument_types(called)
    if any(isinstance(type_, ty.MemRefType) for type_ in types):
        raise Unsupported(
            f"@{called.symbol_name} has a memref argument, but only programs on scalars, tensors and vectors "
            "are measured",
            location=called.location,
        )
    inputs = Inputs(n, seed, samples=True, ordinary=True).of(called)
    if arguments:
        if len(arguments) != len(types):
            raise TypeMismatch(wrong_count(f"@{called.symbol_name}", "argument", types, len(arguments)))
        inputs = taken_from(arguments, types)
    try:
        tools = [_tool(name) for name in against]
    except Unavailable as error:
        raise Unsupported(str(error)) from None
    except ValueError as error:
        raise InputError(str(error)) from None
    name = function_path(called).replace("@", "")
    programs = [ClosedProgram(program, name, inputs.row(number)) for number in range(inputs.count)]
    return measured_programs(programs, tools, rules)


def _types(type: str | Sequence[str], to: str | None) -> tuple[str, str | Sequence[str] | None]:
    """Return the type of the result and those of the operands, None if they are the same, as `question` has them."""
    if to is not None:
        return to, type
    return (type, None) if isinstance(type, str) else (type[0], type)


def _tool(name: str) -> ProgramOracle | TensorRunner:
    """Return the oracle that runs whole programs. Raises ValueError for an unknown name, Unavailable if missing."""
    if name == TENSOR_RUNNER:
        return TensorRunner()
    made = oracle(name)
    return made if isinstance(made, ProgramOracle) else ByOps(made)


def _implementation(against: str | os.PathLike[str] | Callable[..., Any], seconds: float) -> Implementation:
    """Return a file of results, or the implementation that a name or a function stands for."""
    named = os.fspath(against) if isinstance(against, os.PathLike) else against
    if isinstance(named, str) and os.path.isfile(named) and not names_library(named):
        return RecordedResults(named)
    return implementation(named, seconds)


def _ends(fmt: FloatFormat | None, between: tuple[Any, Any] | None) -> tuple[int, int] | None:
    """Return the codes nearest to the ends of a range. Raises InputError for ends that are not finite numbers."""
    if between is None or fmt is None:
        return None if between is None else (0, 0)
    codes = []
    for end in between:
        number = read_number(end, fmt)
        if number.exact is None:
            raise InputError(f"{number.text} cannot be the end of a range: it is not a finite number")
        code = min(scalar.from_fraction(fmt, abs(number.exact)).code, fmt.max_code)
        codes.append(code | (fmt.sign_mask or 0) if number.exact < 0 else code)
    return codes[0], codes[1]


def draw_accuracy(found: Accuracy, *, dark: bool | None = None) -> Figure:
    """Draw the result of `hu.accuracy`: the largest error in ulp in each binade of the argument (IEEE P3109's κ).

    ``found``: a report of `hu.accuracy`. Binades are drawn in the order of their numbers, from the lowest to the
    highest. The line has a gap at a binade without a finite result. A second panel shows the share of the results in
    each class of errors. Both axes of errors are logarithmic. A line at half an ulp marks the bound of correctly
    rounded results.

    Raises InputError if no result is a finite number.
    """
    binades = found.binades
    worst = [np.nan if each.worst is None else max(each.worst, 2.0**-12) for each in binades]
    if not any(each.worst is not None for each in binades):
        raise InputError(f"{found.title}: no result is a finite number, so there is no error to draw")
    style = chosen_style(dark)
    fmt = found.question.argument or found.question.result
    with drawing():
        upper, lower = new_panels(style, 4.4, [2, 1], shared=False)
        places = np.arange(len(binades))
        upper.step(places, worst, where="mid", color=style.series[0], linewidth=1.4)
        upper.axhline(0.5, color=style.faint, linewidth=0.8, linestyle="--")
        upper.set_yscale("log", base=2)
        every = max(1, -(-len(binades) // 8))
        ends = [binade_ends(fmt, each) for each in binades[::every]]
        upper.set_xticks(places[::every], [f"{float(low):.2g}" for low, _ in ends])
        upper.set_xlabel(f"{'argument' if found.question.argument else 'result'}, by binade", color=style.text)
        upper.set_ylabel("largest error, ulp", color=style.text)
        upper.grid(color=style.band, linewidth=0.8)
        classes = found.histogram
        counts = [100 * count / max(found.tally.measured, 1) for _, count in classes]
        lower.bar(range(len(classes)), counts, color=style.series[1])
        lower.set_xticks(range(len(classes)), [f"≤ {high:g}" if np.isfinite(high) else "more" for high, _ in classes])
        lower.tick_params(axis="x", labelsize=6)
        lower.set_xlabel("error, ulp", color=style.text)
        lower.set_ylabel("% of results", color=style.text)
        set_title(upper, style, f"{found.title}: {found.wrong:,} wrong, {found.wrong_special:,} special", True)
        return figure_of(upper)


MOST_ARGUMENTS = 1 << 17
"""The largest number of arguments of a function's picture."""
_MOST_DOTS, _PARTS, _CURVE = 2000, 480, 512
_LINEAR = 16  # ulp: larger errors need a logarithmic axis
_F64 = FORMATS["f64"]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Results:
    """The results of an implementation: as numbers, and their errors in ulp; NaN where there is none."""

    label: str
    numbers: Floats
    errors: Floats


def draw_function(
    op: str,
    type: str,
    low: Number,
    high: Number,
    rounding: str = "to_nearest_even",
    *,
    against: str | Callable[..., Any] | None = None,
    log: bool = False,
    dark: bool | None = None,
) -> Figure:
    """Draw a function of one argument between ``low`` and ``high``: its curve, its results, and errors in ulp.

    ``op``, ``type``: as for `halfulp.accuracy`, of at most 32 bits.
    ``against``: an implementation, as for `halfulp.accuracy`: a Python function on arrays, ``"numpy"``, a symbol of a
    library … Its results and errors are drawn next to those of the function rounded once.
    ``log``: True for a logarithmic axis of the arguments, which must then be positive.

    Top: the curve of the real function, and the results for all values of the type, as a staircase that changes in the
    middle between two values. Bottom: the errors of the results, result minus exact value, in ulp. If there are more
    than 2,000 errors, only the smallest and the largest error in each part of the axis are drawn. All values of the
    type between ``low`` and ``high`` are arguments; nothing is sampled.

    Raises InputError for a function of two arguments, for more than `MOST_ARGUMENTS` values, and what
    `halfulp.accuracy` raises.
    """
    asked = question(op, type, rounding=as_rounding(mode_named(rounding)))
    fmt = _format(asked)
    ends = window(low, high)
    if log and ends[0] <= 0:
        raise InputError(f"low is {low}, but the axis is logarithmic: it must be positive")
    codes = _arguments(fmt, ends)
    arguments = _numbers(fmt, codes)
    style = chosen_style(dark)
    found = [_rounded_once(asked, codes), *([] if against is None else [_of(asked, codes, against)])]
    with drawing():
        above, below = new_panels(style, 5.2, [3, 2])
        if log:
            below.set_xscale("log", base=2)
        _draw_curve(above, style, asked, ends, log)
        for k, results in enumerate(found):
            look: dict[str, Any] = {"color": style.series[k], "linewidth": 2.4 - 1.2 * k}
            above.step(arguments, results.numbers, where="mid", label=results.label, **look)
            _draw_errors(below, style.series[k], 4.5 - 2 * k, arguments, results.errors, log)
        _finish(above, below, style, found)
        mode = "" if asked.rounding is Rounding.TO_NEAREST_EVEN else f", {asked.rounding.spelling}"
        set_title(above, style, f"{op} in {type}{mode}, {len(codes):,} arguments", own=True)
        figure_of(above).legend(
            loc="outside lower left", ncols=1, fontsize=8, frameon=False, labelcolor=style.text, handlelength=4
        )
        return figure_of(above)


def _format(asked: Question) -> FloatFormat:
    fmt = asked.argument
    if fmt is None or fmt != asked.result:
        raise InputError(
            f"a picture shows only a function of one float argument whose result has the same type, not {asked}"
        )
    if asked.wide != _F64:
        raise InputError(
            f"{asked}: a picture shows only types whose values f64 has, with a precision of at most "
            f"{_F64.precision - 29} bits"
        )
    return fmt


def _arguments(fmt: FloatFormat, ends: tuple[Fraction, Fraction]) -> Codes:
    ranks = ranks_between(fmt, *ends)
    if not 0 < count(ranks) <= MOST_ARGUMENTS:
        raise InputError(
            f"{fmt.name} has {count(ranks):,} values in this window, but 1 to {MOST_ARGUMENTS:,} can be drawn: "
            "change low and high"
        )
    return ints_to_codes([code_at(fmt, rank) for rank in ranks], fmt.bits, (len(ranks),))


def _numbers(fmt: FloatFormat, codes: Codes) -> Floats:
    """Return codes as numbers, NaN for those that are not finite."""
    found = np.asarray(convert(fmt, _F64, codes).codes).view(np.float64)
    return np.where(np.isfinite(found), found, np.nan)


def _results(asked: Question, arguments: Codes, codes: Codes, missing: npt.NDArray[np.bool_] | None) -> _Results:
    fmt = asked.result
    exact = asked.exact((arguments,))
    assert exact is not None
    numbers = _numbers(fmt, codes)
    if missing is not None:
        numbers = np.where(missing, np.nan, numbers)
    reals = exact.view(np.float64)
    measured = np.isfinite(numbers) & np.isfinite(reals)
    return _Results("", numbers, np.where(measured, errors_of_codes(fmt, _F64, exact, codes), np.nan))


def _rounded_once(asked: Question, arguments: Codes) -> _Results:
    codes, poison = asked.expected((arguments,))
    found = _results(asked, arguments, codes, poison)
    return _Results(f"rounded once: {_worst_text(found.errors)}", found.numbers, found.errors)


def _of(asked: Question, arguments: Codes, against: str | Callable[..., Any]) -> _Results:
    try:
        measured = implementation(against)
        refused = measured.refuses(asked)
        if refused is not None:
            raise Unsupported(f"{measured.name}: {refused}")
        answer = measured.results(asked, (arguments,))
    except OracleError as error:
        raise Unsupported(f"{against}: {error}") from None
    missing = None if answer.status is None else answer.status != Status.VALUE
    found = _results(asked, arguments, answer.bits, missing)
    expected, poison = asked.expected((arguments,))
    same = (answer.bits == expected).all(axis=-1) if asked.result.limbs > 1 else answer.bits == expected
    same |= comparisons.is_nan(asked.result, answer.bits) & comparisons.is_nan(asked.result, expected)
    if poison is not None:
        same |= poison
    wrong = int((~same).sum())
    label = f"{measured.name}: {_worst_text(found.errors)}, {wrong:,} of {len(same):,} not rounded once"
    return _Results(label, found.numbers, found.errors)


def _worst_text(errors: Floats) -> str:
    measured = np.abs(errors[~np.isnan(errors)])
    return f"at most {measured.max():.4g} ulp" if measured.size else "no error to measure"


def _draw_curve(ax: Axes, style: Style, asked: Question, ends: tuple[Fraction, Fraction], log: bool) -> None:
    low, high = map(as_float, ends)
    xs = np.geomspace(low, high, _CURVE) if log else np.linspace(low, high, _CURVE)
    codes, _ = question(asked.name, "f64").expected((xs.view(np.uint64),))
    ax.plot(xs, _numbers(_F64, codes), color=style.faint, linewidth=3.2, alpha=0.6, label="exact")


def _draw_errors(ax: Axes, colour: str, size: float, xs: Floats, errors: Floats, log: bool) -> None:
    if len(xs) <= _MOST_DOTS:
        ax.plot(xs, errors, ".", color=colour, markersize=size)
        return
    edges = np.geomspace(xs[0], xs[-1], _PARTS + 1) if log else np.linspace(xs[0], xs[-1], _PARTS + 1)
    part = np.clip(np.searchsorted(edges, xs, "right") - 1, 0, _PARTS - 1)
    kept = ~np.isnan(errors)
    lowest, highest = np.full(_PARTS, np.inf), np.full(_PARTS, -np.inf)
    np.minimum.at(lowest, part[kept], errors[kept])
    np.maximum.at(highest, part[kept], errors[kept])
    filled = lowest <= highest
    middles = ((edges[:-1] + edges[1:]) / 2)[filled]
    ax.vlines(middles, lowest[filled], highest[filled], colors=colour, linewidth=1.0)
    ax.plot(middles, highest[filled], color=colour, linewidth=0.8)
    ax.plot(middles, lowest[filled], color=colour, linewidth=0.8)


def _finish(above: Axes, below: Axes, style: Style, found: list[_Results]) -> None:
    worst = max((np.nanmax(np.abs(each.errors)) for each in found if not np.isnan(each.errors).all()), default=1.0)
    if worst > _LINEAR:
        below.set_yscale("symlog", base=10, linthresh=1)
    for bound in (-0.5, 0.5):
        below.axhline(bound, color=style.faint, linewidth=0.8, linestyle=(0, (4, 3)))
    above.set_ylabel("result", fontsize=9, color=style.text)
    below.set_ylabel("error in ulp", fontsize=9, color=style.text)
    below.set_xlabel("argument", fontsize=9, color=style.text)
    for ax in (above, below):
        ax.grid(color=style.band, linewidth=0.8)
        ax.set_axisbelow(True)


# --- recorded results -------------------------------------------------------------------------------------------------


_WORDS = (".hex", ".txt", ".mem")
_WORD = re.compile(r"[ \t]*(?:0[xX])?([0-9A-Fa-f]+)[ \t]*(?:(?://|#).*)?")
_BLANK = re.compile(r"[ \t]*(?:(?://|#).*)?")


class RecordedResults:
    """A file of results of an implementation, which is measured for the arguments in the file."""

    version = "unknown"

    def __init__(self, path: str) -> None:
        self.name = path
        self._latest: Codes | None = None

    def refuses(self, asked: Question) -> str | None:
        """Return None: only reading the file shows which results it has."""
        return None

    def arguments(self, asked: Question) -> Chosen:
        """Return the arguments of the file, in its order. Raises InputError for a file that does not match the
        question.
        """
        if not Path(self.name).stat().st_size:
            raise InputError(f"{self.name} is empty")
        results = self._results_alone(asked)
        if results is not None:
            bits = sum(asked.widths)
            if bits > 32 or len(results) != 1 << bits:
                wanted = f"2**{bits}" if bits > 32 else f"{1 << bits:,}"
                raise InputError(
                    f"{self.name} has {len(results):,} results and no operands: such a file must have one "
                    "result for each of "
                    f"the {wanted} arguments of {asked}"
                )
            return Chosen(self._in_order(asked, results), True, f"all {len(results):,} arguments")
        return Chosen(self._rows(asked), False, "the arguments in the file")

    def results(self, asked: Question, operands: Sequence[Codes]) -> Answer:
        """Return the results of the chunk of arguments that was read last."""
        assert self._latest is not None
        return Answer(self._latest)

    def _in_order(self, asked: Question, results: Codes) -> Iterator[tuple[Codes, ...]]:
        for start in range(0, len(results), CHUNK):
            self._latest = results[start : start + CHUNK]
            yield every_input(asked.case, start, min(start + CHUNK, len(results)))

    def _results_alone(self, asked: Question) -> Codes | None:
        """Return the results of a file without operands; None if it is a file of vectors."""
        path, fmt = Path(self.name), asked.result
        if path.suffix == ".npy":
            try:
                with np.errstate(over="raise"):  # a shape whose product overflows
                    array = np.load(path, mmap_mode="r", allow_pickle=False)  # which checks the size
            except (ValueError, EOFError, FloatingPointError) as error:
                raise InputError(f"{self.name} is not a file of NumPy: {error}") from None
            if array.dtype.names is not None:
                return None
            if array.dtype == fmt.storage_dtype and fmt.limbs == 1:
                return np.asarray(array.reshape(-1))
            return codes_of(array.reshape(-1), asked, self.name)
        if path.suffix == ".bin":
            size = fmt.storage_dtype.itemsize * fmt.limbs
            data = read_whole(path)
            if len(data) != size << min(sum(asked.widths), 40):
                return None
            codes = np.frombuffer(data, fmt.storage_dtype.newbyteorder("<")).astype(fmt.storage_dtype)
            return codes.reshape(-1, fmt.limbs) if fmt.limbs > 1 else codes
        if path.suffix in _WORDS:
            try:
                text = read_whole(path).decode()
            except UnicodeDecodeError as error:
                raise InputError(f"{self.name} is not text: {error}") from None
            lines = [line for line in text.splitlines() if not _BLANK.fullmatch(line)]
            words = [_WORD.fullmatch(line) for line in lines]
            if words and all(words):
                found = [int(word[1], 16) for word in words if word is not None]
                if max(found) <= fmt.code_mask:
                    return ints_to_codes(found, fmt.bits, (len(found),))
        return None

    def _refuse_other_vectors(self, asked: Question) -> None:
        """Raise InputError for vectors whose metadata, in the file beside them, names another op or other types."""
        beside = Path(self.name).with_suffix(".json")
        if not beside.is_file() or beside == Path(self.name):
            return
        source = metadata.from_text(read_whole(beside), str(beside)).get("source", {})
        if "op" not in source:
            return
        held, case = case_of(source), asked.case
        if (held.op, held.operands, held.results) != (case.op, case.operands, case.results):
            raise InputError(f"{self.name} has vectors of {held}, as {beside} says, but the question is about {case}")

    def _rows(self, asked: Question) -> Iterator[tuple[Codes, ...]]:
        self._refuse_other_vectors(asked)
        against, notes = CheckedAgainst(OpComputation(asked.case, asked.profile)), Notes()
        with opened(self.name) as (file, head):
            vectors = vectors_of(self.name, file, head, format_of_vectors(self.name, head), against, notes)
            roles = [column.role for column in vectors.columns]
            places = [k for k, role in enumerate(roles) if role is Role.OPERAND]
            given = tuple(vectors.columns[k].width for k in places)
            if given != asked.widths or Role.RESULT not in roles:
                raise InputError(
                    f"{self.name} has columns of {given} bits for operands, but {asked} needs {asked.widths}"
                )
            for chunk in vectors:
                self._latest = chunk[roles.index(Role.RESULT)]
                yield tuple(chunk[k] for k in places)
        if notes.unknown:
            raise InputError(f"{self.name}: row {min(notes.unknown)} has unknown digits (X or Z)")
