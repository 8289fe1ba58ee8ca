"""Inputs for the stages of a compilation: ordinary numbers first, since special ones hide what follows them."""

from __future__ import annotations

from dataclasses import replace

from halfulp.conformance.whole_programs.arguments import Arguments, joined
from halfulp.conformance.whole_programs.validation import Inputs
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.signature import argument_types


def made_inputs(function: Operation, inputs: Inputs) -> Arguments:
    """Return the inputs of a function: those that are given, or ordinary numbers in one half of them, and corners and
    random codes in the other. A NaN in one element of a large tensor often makes all results NaNs.
    """
    if not argument_types(function):
        return replace(inputs, samples=False).of(function)  # there is one
    inputs = replace(inputs, samples=True)
    if inputs.given is not None:
        return inputs.of(function)
    wild = inputs.count // 2
    usual = replace(inputs, count=inputs.count - wild, ordinary=True).of(function)
    return joined(usual, replace(inputs, count=wild).of(function)) if wild else usual
