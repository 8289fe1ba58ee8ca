"""Verdicts by the specification of TOSA: on results of operators, and on programs for a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halfulp.conformance.comparing.tosa_bounds import TosaVerdict, judged, operands_of, operator_of
from halfulp.inputs import as_value
from halfulp.interp.dialects.tosa.validation import problems, target_named
from halfulp.interp.ir.errors import InputError, VerifyError
from halfulp.interp.ir.operations import result_types
from halfulp.interp.values.buffers import Buffer
from halfulp.loading import Runnable, program_of
from halfulp.running import CallKeywords, find_entry, given_arguments, run_options


def tosa_verdict(
    program: Runnable, *arguments: Any, results: Any, function: str | None = None, test_set: int | None = None
) -> tuple[TosaVerdict, ...]:
    """Judge the results of a device by the bounds that the specification of TOSA allows, as its conformance suite does.

    ``program``: a module, or any input of `load`, whose function has one operator of TOSA beside constants. The
    specification states bounds for single operators.
    ``arguments``: those of the function, as for `run`.
    ``results``: the result of the device, an array or `Value`; a tuple or list of them for several results.
    ``function``: the name of the function, if the module has several.
    ``test_set``: the number S of the test data of the specification; for 3 to 5, the sum of the errors of a dot
    product is bounded, too.

    The result has a verdict for each result: ``ok``, ``wrong`` (a mask of elements), the bounds ``least`` and ``most``,
    the name of the ``rule``, and ``whole``, which says in words if the errors of all elements of a dot product together
    are too large. Integers, truth values and moved elements must be exact. Subnormal numbers of f16, bf16 and f32 may
    be flushed to zero: all operands, or none.

        >>> verdict, = hu.tosa_verdict(program, x, results=device(x))
        >>> verdict.ok

    Raises Unsupported for a function with several operators and for operators without bounds here, InputError for
    results that do not fit, and the errors of `run`.
    """
    module, arguments = program_of(program, arguments)
    entry = find_entry(module, function)
    op = operator_of(entry)
    values = given_arguments(entry, arguments, run_options("run", CallKeywords, {}))
    types = result_types(entry)
    several: Sequence[Any] = results if isinstance(results, tuple | list) and len(types) > 1 else (results,)
    if len(several) != len(types):
        raise InputError(f"{len(several)} results are given, but the function has {len(types)}")
    found = [
        as_value(result, type_, what=f"result {place}")
        for place, (result, type_) in enumerate(zip(several, types, strict=True))
    ]
    given = [value.load() if isinstance(value, Buffer) else value for value in values]
    return judged(op, operands_of(op, entry, given), found, test_set)


def tosa_problems(program: Runnable, target: str = "module") -> tuple[VerifyError, ...]:
    """Return the errors of a program for a target of TOSA: what its version, level, profiles and extensions lack.

    ``program``: a module, or any input of `load`.
    ``target``: words, divided by commas: the version "1.0" or "1.1.draft", the level "8k" or "none" (no limits), the
    profiles "pro_int" and "pro_fp", extensions such as "bf16"; without a profile, both. "module" stands for the
    attribute ``tosa.target_env`` of the module. What is not said is 1.0, 8k, both profiles, no extension. "strict"
    demands all that the specification calls ERROR_IF, and that the types of each op need no other profile or extension.

    The checks and their words are those of MLIR's pass ``tosa-validate`` (LLVM 24).

        >>> hu.tosa_problems(program, "1.0,8k,pro_int,strict")

    Raises InputError for an unknown word, and the errors of `load`.
    """
    module, _ = program_of(program, ())
    return tuple(problems(module, target_named(target, module)))
