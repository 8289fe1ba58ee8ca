"""A program as MLIR text, with its arguments as constants where they can be."""

from __future__ import annotations

import numpy as np

from halfulp.conformance.oracles.oracle import ClosedProgram
from halfulp.conformance.whole_programs.rebuild import verified
from halfulp.conformance.whole_programs.rewrite import (
    copied,
    definition_of,
    function,
    module_with,
)
from halfulp.fp_formats.codes import codes_to_ints
from halfulp.interp.dialects.ub import POISON_ATTR
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, Operation, SSAValue
from halfulp.interp.ir.types import element_width
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.printing import spell_value
from halfulp.interp.values.value import Value


def with_constant_arguments(program: ClosedProgram) -> ClosedProgram | None:
    """Return the program with its arguments as constants; None where one has no constant, or where there are none."""
    main = program.module.lookup(program.function)
    if not program.arguments or main is None or main.parent_op is not program.module.operation:
        return None
    body = main.regions[0].blocks[0]
    block = Block()
    made: dict[SSAValue, SSAValue] = {}
    for argument, value in zip(body.arguments, program.arguments, strict=True):
        constant = constant_of(value, argument.type)
        if constant is None:
            return None
        block.append(constant)
        made[argument] = constant.results[0]
    if len(main.regions[0].blocks) != 1:
        return None
    for op in body.operations[:-1]:
        block.append(copied(op, made))
    name = main.symbol_name or "main"
    entry = function(name, block, [made[value] for value in body.operations[-1].operands], like=main)
    module = module_with([op for op in program.module.body if op is not main], program.module)
    module.operation.regions[0].blocks[0].append(entry)
    return verified(ClosedProgram(module, program.function, ()))


def constant_of(value: Value, type_: ty.Type) -> Operation | None:
    """Return an op whose result is the value; None if there is none."""
    element = ty.element_type(type_)
    if value.poison is not None:
        if not value.poisoned.all():
            return None
        poison = {"value": POISON_ATTR.attribute(0)}
        return Operation("ub.poison", definition_of("ub.poison"), [], [type_], poison)
    width = element_width(element)
    if width is None or value.type != type_ or isinstance(element, ty.QuantizedType):
        return None
    attribute: at.Attribute
    if isinstance(type_, ty.TensorType | ty.VectorType):
        attribute = at.DenseElementsAttr(type_, np.ascontiguousarray(value.bits))
    elif isinstance(element, ty.FloatType):
        attribute = at.FloatAttr(codes_to_ints(value.bits, width)[0], element)
    else:
        attribute = at.IntegerAttr(at.integer_of_code(codes_to_ints(value.bits, width)[0], element), element)
    return Operation("arith.constant", definition_of("arith.constant"), [], [type_], {"value": attribute})


def text_of_program(program: ClosedProgram, close: bool = True) -> str:
    """Return the program as MLIR text: its functions without the module around them.

    ``close``: with its arguments as constants, if they can be.
    """
    text = print_module(((with_constant_arguments(program) if close else None) or program).module)
    lines = text.rstrip("\n").split("\n")
    if lines[0] == "module {" and lines[-1] == "}":
        lines = [line.removeprefix("  ") for line in lines[1:-1]]
    return "\n".join(lines) + "\n"


def inputs_of(program: ClosedProgram) -> list[str]:
    """Return the arguments as options of the command line."""
    return [f'--input="{spell_value(value)}"' for value in program.arguments]
