"""How wrong an implementation of a function or an op is: `accuracy`; of a whole program: `program_accuracy`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from halfulp.conformance.accuracy.arguments import chosen_arguments
from halfulp.conformance.accuracy.implementations.interface import HoldingImplementation, Implementation
from halfulp.conformance.accuracy.implementations.table import implementation
from halfulp.conformance.accuracy.programs import ProgramAccuracy, measured_programs
from halfulp.conformance.accuracy.questions import question
from halfulp.conformance.accuracy.report import Accuracy, measured
from halfulp.conformance.oracles import oracle
from halfulp.conformance.oracles.jit_tensors import NAME as TENSOR_RUNNER
from halfulp.conformance.oracles.jit_tensors import TensorRunner
from halfulp.conformance.oracles.oracle import ClosedProgram, OracleError, ProgramOracle, Unavailable
from halfulp.conformance.oracles.programs_by_ops import ByOps
from halfulp.conformance.whole_programs.arguments import taken_from
from halfulp.conformance.whole_programs.validation import Inputs
from halfulp.explanations.given import given_number
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import as_rounding
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.counts import wrong_count
from halfulp.interp.ir.errors import InputError, TypeMismatch, Unsupported
from halfulp.interp.ir.operations import Module
from halfulp.interp.run.signature import argument_types
from halfulp.interp.run.stochastic import refuse_stochastic
from halfulp.loading import Source, load
from halfulp.recorded_results import RecordedResults
from halfulp.running import find_entry, function_path
from halfulp.semantics.profile import Profile, as_profile


def accuracy(
    op: str,
    type: str,
    against: str | os.PathLike[str] | Callable[..., Any],
    *,
    source: str | Sequence[str] | None = None,
    rounding: str = "to_nearest_even",
    profile: Profile | str | None = None,
    samples: int | None = None,
    seed: int = 0,
    exhaustive: bool = False,
    between: tuple[Any, Any] | None = None,
    seconds: float = 60.0,
    **properties: Any,
) -> Accuracy:
    """Measure how far the results of an implementation are from the correctly rounded and from the exact results.

    ``op``: a function (``"exp"``, ``"math.exp"``, ``"sigmoid"``) or an op with a float result (``"arith.addf"``).
    ``type``: the element type; of a cast, that of the result, and ``source`` that of the operand. ``against``: the
    implementation:

    - a Python function, or its name ``"module:function"``: it takes one array of n elements for each operand, in the
      dtype of the type (a `Value` if it has none), and returns the n results in that of the result;
    - ``"numpy"``, ``"ml_dtypes"``, ``"torch"``, ``"jax"``, ``"iree"``, ``"mlir-native"`` and the other oracles of
      ``halfulp verify``;
    - ``"./lib.so:expf"``, a symbol of a shared library, called in a process of its own for at most ``seconds``.
      Append ``:codes`` for ``uint16_t f(uint16_t)`` on codes, or ``:array`` for
      ``void f(const T *x, T *result, size_t count)``;
    - a file: vectors with operands and results in a format of ``halfulp vectors``, or the results alone of all codes in
      order: ``.npy``, ``.bin`` (codes, little-endian), or ``.hex`` and ``.txt`` with one hexadecimal code a line.

    ``rounding``: the mode that the implementation should have. ``samples``: the count of random arguments, drawn with
    ``seed`` and joined by hard cases. Without it, all arguments of up to 16 bits are measured, else 100,000.
    ``exhaustive``: all arguments, of up to 32 bits. ``between``: all floats between two numbers.

    The result has ``wrong`` (numbers that are not the correctly rounded ones), ``wrong_special`` (wrong NaNs,
    infinities and signs of zeros), ``max_ulp``, ``histogram``, ``intervals`` (with the largest error of each, IEEE
    P3109's κ), ``tally`` with everything else, and `to_dict`. An error in ulp is the distance from the exact real
    result, divided by `halfulp.ulp` there.

        >>> hu.accuracy("exp", "f8E5M2", "ml_dtypes").wrong
        0

    Raises InputError for an unknown implementation and for results of a wrong type or shape, Unsupported for an
    unknown function, for what the implementation cannot answer, and if it is missing, crashes or does not end.
    """
    asked = question(op, type, source, as_rounding(rounding), as_profile(profile), **properties)
    if samples is not None and samples < 1:
        raise InputError(f"samples is {samples}, but must be at least 1")
    try:
        against_it = _implementation(against, seconds)
        refused = against_it.refuses(asked)
        if refused is not None:
            raise Unsupported(f"{against_it.name}: {refused}")
        if isinstance(against_it, HoldingImplementation):
            if samples is not None or exhaustive or between is not None:
                raise InputError(f"{against_it.name} is measured at the arguments that it holds: choose no others")
            chosen = against_it.arguments(asked)
        else:
            chosen = chosen_arguments(asked, samples, seed, exhaustive, _ends(asked.argument, between))
        found = measured(asked, against_it, chosen)
    except Unavailable as error:
        raise Unsupported(f"{against}: {error}") from None
    except OracleError as error:
        raise Unsupported(str(error).partition(": ")[2]) from None
    if not found.compared:
        raise Unsupported(f"nothing was compared: {found.tally.why or 'every result is open'}")
    return found


def program_accuracy(
    module: Module | Source,
    *arguments: Any,
    against: Sequence[str] = (),
    entry: str | None = None,
    samples: int = 100,
    seed: int = 0,
    profile: Profile | str | None = None,
) -> ProgramAccuracy:
    """Measure how far the results of a program are from exact real arithmetic, as halfulp and others compute them.

    ``module``: the program, as for `halfulp.run`; ``entry``: the function; it takes and returns values, no memory.
    ``arguments``: one input; without them ``samples`` inputs are made with ``seed``: floats around 1, small integers.
    ``against``: the implementations that run it too: ``"mlir-runner"`` (functions of tensors), ``"iree"`` and the other
    oracles of ``halfulp diff``. ``profile``: the semantics of the run here.

    The result has ``runs``, that of halfulp first (``name``, ``elements``, ``nearest``, ``mean_ulp``, ``max_ulp``,
    ``worst``, ``histogram``), ``unknown``, the number of elements without an exact number, and `to_dict`. An error in
    ulp is the distance from the exact number, divided by the ulp there.

        >>> f = "func.func @f(%x: f32) -> f32 {\\n %0 = arith.divf %x, %x : f32\\n return %0 : f32\\n}"
        >>> hu.program_accuracy(f, 3.0).runs[0].max_ulp
        0.0

    Raises InputError for an unknown implementation, Unsupported if it is missing, and for a function on memory, and the
    errors of `halfulp.run`.
    """
    rules = refuse_stochastic(as_profile(profile), "accuracy")
    program = module if isinstance(module, Module) else load(module)
    function = find_entry(program, entry)
    types = argument_types(function)
    if any(isinstance(type_, ty.MemRefType) for type_ in types):
        raise Unsupported(
            f"@{function.symbol_name} takes memory, but only programs on values are measured",
            location=function.location,
        )
    inputs = Inputs(samples, seed, samples=True, ordinary=True).of(function)
    if arguments:
        if len(arguments) != len(types):
            raise TypeMismatch(wrong_count(f"@{function.symbol_name}", "argument", types, len(arguments)))
        inputs = taken_from(arguments, types)
    try:
        tools = [_tool(name) for name in against]
    except Unavailable as error:
        raise Unsupported(str(error)) from None
    except ValueError as error:
        raise InputError(str(error)) from None
    name = function_path(function).replace("@", "")
    programs = [ClosedProgram(program, name, inputs.row(number)) for number in range(inputs.count)]
    return measured_programs(programs, tools, rules)


def _tool(name: str) -> ProgramOracle | TensorRunner:
    """Return what runs whole programs. Raises ValueError for an unknown name, Unavailable where it is missing."""
    if name == TENSOR_RUNNER:
        return TensorRunner()
    made = oracle(name)
    return made if isinstance(made, ProgramOracle) else ByOps(made)


def _implementation(against: str | os.PathLike[str] | Callable[..., Any], seconds: float) -> Implementation:
    """Return a file of results, or the implementation that a name or a function stands for."""
    named = os.fspath(against) if isinstance(against, os.PathLike) else against
    if isinstance(named, str) and os.path.isfile(named):
        return RecordedResults(named)
    return implementation(named, seconds)


def _ends(fmt: FloatFormat | None, between: tuple[Any, Any] | None) -> tuple[int, int] | None:
    """Return the codes nearest to the ends of a range. Raises InputError for ends that are not finite numbers."""
    if between is None or fmt is None:
        return None if between is None else (0, 0)
    codes = []
    for end in between:
        number = given_number(end, fmt)
        if number.exact is None:
            raise InputError(f"{number.text} cannot be the end of a range: it is not a finite number")
        code = min(scalar.from_fraction(fmt, abs(number.exact)).code, fmt.max_code)
        codes.append(code | (fmt.sign_mask or 0) if number.exact < 0 else code)
    return codes[0], codes[1]
