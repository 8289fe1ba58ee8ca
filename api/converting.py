"""Convert arrays and values between element types, rounding once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.bit_patterns import is_bits
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.paths import cpu
from halfulp.fp_formats.policy import as_rounding
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.run.elementwise import ElementwiseStep
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.coerce import as_array, as_type
from halfulp.interp.values.conversions import conversion_kernel
from halfulp.interp.values.element_layout import code_layout, shape_conflict
from halfulp.interp.values.value import Value, to_value
from halfulp.semantics.kernel import Kernel
from halfulp.semantics.profile import Profile, as_profile

_DEFAULTS = Settings()


def convert(
    x: Any,
    to: str | ty.Type | FloatFormat,
    *,
    rounding: str | None = None,
    type: str | ty.Type | None = None,
    from_: str | ty.Type | None = None,
    profile: Profile | str | None = None,
    random: npt.NDArray[Any] | None = None,
) -> Value:
    """Convert an array, number, `Value` or `bitstring.Bits` to another element type, rounding once.

    ``to``: a float or integer type, or a `FloatFormat`. ``rounding``: to_nearest_even (the default into
    floats), downward, upward, toward_zero (the default into integers), to_nearest_away, or stochastic, which
    needs ``random``: one unsigned integer for each element. ``type``: the element type of the source, where its
    dtype is not enough. ``from_``: the type of a `bitstring.Bits`, which holds the bits of one element.
    ``profile``: None for that of the `profile` block, else spec. Elements without a value in the target (NaN in
    f4E2M1FN; NaN or out of range in an integer) are poison, or what the profile says.

    Raises TypeMismatch for types that cannot be converted, ValueError for an unknown rounding mode.
    """
    cpu.check()
    x = x.load() if isinstance(x, Buffer) else x
    if is_bits(x) or from_ is not None:
        x = _value_of_bits(x, from_)
    source = x if isinstance(x, Value) else _source(x, type)
    target = as_type(to)
    from_, element = source.element_type, ty.element_type(target)
    result = ty.with_element(source.type, element) if target is element else target
    conflict = shape_conflict(result, source.shape)
    if conflict:
        raise TypeMismatch(f"convert: {conflict}")
    mode = None if rounding is None else as_rounding(rounding)
    kernel = conversion_kernel(from_, element, mode, as_profile(profile), random, source.shape)
    return apply_kernel(kernel, "convert", [source], result)


def _value_of_bits(x: Any, spelling: str | ty.Type | None) -> Value:
    if not is_bits(x):
        hint = "give type=…, the element type of numbers; for strings of bits, Value.from_bits"
        raise TypeMismatch(f"from_ goes with bitstring.Bits, but x is of type {type(x).__name__}", hint=hint)
    if spelling is None:
        raise TypeMismatch("bitstring.Bits do not say their type", hint="give from_=…, the type whose bits they are")
    return Value.from_bits(x, spelling)


def _source(x: Any, spelling: str | ty.Type | None) -> Value:
    if spelling is None:
        value = Value.from_numpy(x, copy=False)
        element = value.element_type
        # An unsigned dtype and bool are unsigned integers here, too.
        if isinstance(element, ty.IntegerType) and (as_array(x, "x").dtype.name.startswith("uint") or element == ty.I1):
            unsigned = ty.IntegerType(element.width, "unsigned")
            return Value(ty.with_element(value.type, unsigned), value.bits)
        return value
    return to_value(x, type_of_array(x, as_type(spelling)))


def type_of_array(x: Any, given: ty.Type) -> ty.Type:
    """Return the type of an array: ``given``, or a tensor of it if it is an element type and the array has axes."""
    shape = np.shape(x)
    if given is not ty.element_type(given) or not shape:
        return given
    limbs = np.asarray(x).dtype == np.uint64 and code_layout(given)[1]
    return ty.TensorType(shape[:-1] if limbs else shape, given)


def apply_kernel(kernel: Kernel, name: str, values: Sequence[Value], result: ty.Type) -> Value:
    """Apply a kernel outside of any program: on the general path of the executor, as a program of one op.

    Where nothing is poison, the executor is not needed: it would take longer than a small array.
    """
    if len(values) == 1 and values[0].poison is None:
        outcome = kernel.array(values[0].bits)
        if not outcome.faults:
            return Value(result, outcome.results[0])
        kernel = replace(kernel, array=lambda *codes: outcome)
    op = Operation(name, default_registry().find(name), [SSAValue(value.type) for value in values], [result])
    step = ElementwiseStep(op, Elementwise(lambda op, settings: kernel), kernel, _DEFAULTS)
    return step.run(Run(_DEFAULTS), tuple(values))[0]
