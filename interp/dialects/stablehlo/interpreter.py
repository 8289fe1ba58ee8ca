"""The dialect interpreter of StableHLO's tests: run a grid of processes, print a value, and note one
(`reference/InterpreterOps.td`).
"""

from __future__ import annotations

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.check import probed
from halfulp.interp.dialects.stablehlo.grid import programs_of, run_parallel
from halfulp.interp.dialects.stablehlo.types import ANY_TENSOR, TENSOR_OR_TOKEN
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import OnFrames, OnValues

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
    return None


interpreter.op(
    "run_parallel",
    operands=(d.variadic("inputs", TENSOR_OR_TOKEN),),
    results=(d.variadic("results", TENSOR_OR_TOKEN),),
    properties=(d.Property("infeed", d.ARRAY_ATTR, optional=True), d.Property("programs", d.ARRAY_ATTR)),
    verify=_verify_programs,
    evaluate=OnFrames(run_parallel, no_lanes=True),
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
