"""The families of functions on floats: how each is declared, in the math dialect and outside of it.

A family gives the fields of an `OpDefinition`: operands, results, rules and the evaluator. Those that round once can be
rounded in any mode: MLIR's ops have no attribute for it, so the mode is a choice of the evaluation (`rounding=` of
`halfulp.eval`), and a program rounds to nearest even.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from halfulp.fp_formats.policy import Rounding
from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import OpDefinition, Property, Trait
from halfulp.interp.declare.type_rules import same_type
from halfulp.interp.dialects.arith.ops import FASTMATH
from halfulp.interp.dialects.elementwise import element_of, elementwise, fastmath_of, format_of, rounding_of, same_shape
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.settings import Settings
from halfulp.semantics import elementary
from halfulp.semantics.kernel import Kernel

Declaration = dict[str, Any]
Build = Callable[[Operation, Settings], Kernel]

FASTMATH_PROPERTY = Property("fastmath", FASTMATH, default=0)
ROUNDING_CHOICE = Property(
    "roundingmode",
    EnumDefinition(
        "Floating point rounding mode, also to odd",
        {mode.spelling: int(mode) for mode in Rounding if mode is not Rounding.STOCHASTIC},
        storage_width=32,
    ),
    optional=True,
)
"""The rounding mode that programs cannot ask for."""


def of_one_type(operands: Sequence[str], build: Build, choices: tuple[Property, ...] = ()) -> Declaration:
    """Declare a function whose operands and result are floats of one type."""
    return {
        "operands": dict.fromkeys(operands, c.FLOAT_LIKE),
        "results": {"result": c.FLOAT_LIKE},
        "properties": (FASTMATH_PROPERTY,),
        "traits": (Trait.ELEMENTWISE, Trait.SAME_OPERANDS_AND_RESULT_TYPE),
        "evaluate": Elementwise(build),
        "choices": choices,
    }


@dataclass(frozen=True)
class RoundedOnce:
    """Makes the kernels of a function: ``row`` names its row in `halfulp.fp_formats.reals`, ``make`` is a function of
    `halfulp.semantics.elementary`.
    """

    row: str
    make: Callable[..., Kernel]

    def __call__(self, op: Operation, settings: Settings) -> Kernel:
        """Return the kernel for the types, the flags and the rounding mode of an op."""
        fmt, how = format_of(op.results[0]), (rounding_of(op), fastmath_of(op), settings.profile)
        width = (settings.width(element_of(op.operands[1])),) if self.make is elementary.of_integer else ()
        kernel: Kernel = self.make(self.row, fmt, *width, *how)
        return kernel


def row_of(definition: OpDefinition) -> str | None:
    """Return the row of `halfulp.fp_formats.reals` that an op or function computes ("powf" for `math.fpowi`); None for
    all others.
    """
    build = getattr(definition.evaluate, "build", None)
    return build.row if isinstance(build, RoundedOnce) else None


def unary(name: str, operand: str = "operand") -> Declaration:
    """Declare an elementary function of one argument, named as in `halfulp.fp_formats.reals`."""
    return of_one_type((operand,), RoundedOnce(name, elementary.unary), (ROUNDING_CHOICE,))


def binary(name: str, operands: tuple[str, str] = ("lhs", "rhs")) -> Declaration:
    """Declare an elementary function of two arguments."""
    return of_one_type(operands, RoundedOnce(name, elementary.binary), (ROUNDING_CHOICE,))


def of_integer(name: str, operands: tuple[str, str] = ("lhs", "rhs")) -> Declaration:
    """Declare an elementary function of a float and a signed integer of any width."""
    number, integer = operands
    return {
        "operands": {number: c.FLOAT_LIKE, integer: c.INTEGER_LIKE},
        "results": {"result": c.FLOAT_LIKE},
        "properties": (FASTMATH_PROPERTY,),
        "traits": (Trait.ELEMENTWISE, Trait.SAME_OPERANDS_AND_RESULT_SHAPE),
        "type_rules": (
            same_shape(number, integer),
            *elementwise("result"),
            same_type(number, "result"),
        ),
        "evaluate": Elementwise(RoundedOnce(name, elementary.of_integer)),
        "choices": (ROUNDING_CHOICE,),
    }
