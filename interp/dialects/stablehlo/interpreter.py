"""The dialect interpreter of StableHLO's tests: ops that run a grid of processes, print a value, and record a value
(`reference/InterpreterOps.td`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.check import probed
from halfulp.interp.dialects.func.ops import type_of_function
from halfulp.interp.dialects.stablehlo.grid import feeds_of, programs_of, run_parallel
from halfulp.interp.dialects.stablehlo.types import ANY_TENSOR, TENSOR_OR_TOKEN
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import OnFrames, OnValues
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.run.printing import show
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.spelling import printed

interpreter = d.Dialect("interpreter")


def _verify_programs(op: Operation) -> str | None:
    rows = programs_of(op)
    if not rows or not rows[0]:
        return Unprefixed("`programs` attribute cannot be empty")
    for row in rows:
        if len(row) != len(rows[0]):
            return Unprefixed(
                f"Sizes of second dimension of `programs` should all match {len(rows[0])} but got {len(row)}"
            )
    feeds = op.properties.get("infeed")
    if isinstance(feeds, at.ArrayAttr) and not feeds.elements:
        return Unprefixed("infeed attribute is optional or should not be empty")
    return None


def _verify_functions(op: Operation, symbols: Mapping[str, Operation]) -> None:
    """Check the functions of the grid. Raises VerifyError."""

    def type_of(name: at.SymbolRefAttr) -> ty.FunctionType:
        found = type_of_function(symbols.get(name.root))
        if found is None:
            raise op.rule_broken(Unprefixed(f'Function "{name.root}" not found'))
        return found

    types = [type_of(name) for row in programs_of(op) for name in row]
    for what, given, needed in (
        ("inputs", op.operands, [type_ for each in types for type_ in each.inputs]),
        ("results", op.results, [type_ for each in types for type_ in each.results]),
    ):
        if len(given) != len(needed):
            raise op.rule_broken(
                Unprefixed(
                    f"Number of {what} ({len(given)}) should match the sum of the number of {what} of all programs "
                    f"({len(needed)})"
                )
            )
    for name in feeds_of(op):
        made = type_of(name).results
        if len(made) != 1:
            raise op.rule_broken(Unprefixed(f'Function "{name.root}" should return 1 tensor but returns {len(made)}'))
        if not isinstance(made[0], ty.ShapedType):
            raise op.rule_broken(
                Unprefixed(f"Function \"{name.root}\" should return a tensor type, but instead returns '{made[0]}'")
            )


interpreter.op(
    "run_parallel",
    operands=(d.variadic("inputs", TENSOR_OR_TOKEN),),
    results=(d.variadic("results", TENSOR_OR_TOKEN),),
    properties=(d.Property("infeed", d.ARRAY_ATTR, optional=True), d.Property("programs", d.ARRAY_ATTR)),
    verify=_verify_programs,
    verify_symbols=_verify_functions,
    evaluate=OnFrames(run_parallel, no_lanes=True),
)


def _print(op: Operation, settings: Settings) -> Function:
    def print_(run: Run, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        show(op, settings, f"{op.operands[0].type} {printed(operands[0])}\n", operands)
        return ()

    return print_


interpreter.op(
    "print",
    "$operand attr-dict `:` type($operand)",
    operands={"operand": ANY_TENSOR},
    evaluate=OnValues(_print),
)
interpreter.op(
    "probe",
    "$operand `,` `probe_id` `=` $probe_id attr-dict `:` type($result)",
    operands={"operand": ANY_TENSOR},
    results={"result": ANY_TENSOR},
    properties=(d.Property("probe_id", d.STRING_ATTR),),
    traits=(d.Trait.SAME_OPERANDS_AND_RESULT_TYPE,),
    evaluate=OnValues(lambda op, settings: probed(op)),
)
