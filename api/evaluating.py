"""Evaluate one op without writing MLIR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.exact.core import FlagArray
from halfulp.inputs import as_value, drawn_bits
from halfulp.interp.declare.build import completed, single_op_module, with_rounding
from halfulp.interp.declare.declarations import OpDefinition
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import Attribute
from halfulp.interp.ir.errors import TypeMismatch, Unsupported, VerifyError
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.ir.types import code_layout
from halfulp.interp.run.evaluators import Elementwise, OnFrames
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import IndexWidth, OnUb, Settings
from halfulp.interp.run.stochastic import RandomBits, stochastic_kernel
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.elements import applied
from halfulp.interp.values.value import Value
from halfulp.register import user_functions
from halfulp.semantics.kernel import Kernel
from halfulp.semantics.profile import Profile, as_profile

if TYPE_CHECKING:
    from halfulp.semantics.matrix_units.accumulator import Accumulator


def eval(
    op: str,
    *operands: Any,
    type: Any = None,
    to: Any = None,
    profile: Profile | str | None = None,
    on_ub: OnUb = "raise",
    index_width: IndexWidth = 64,
    track_open: bool = False,
    random: npt.NDArray[Any] | None = None,
    rng: np.random.Generator | None = None,
    seed: int | None = None,
    mma: str | Accumulator = "exact",
    flags: bool = False,
    **properties: Any,
) -> Any:
    """Evaluate one op without writing MLIR. Return its result as a `Value`; if it has several results, return a tuple.

    ``op``: the full name, as in "arith.addf", or the bare name of a function: "exp" for "math.exp". There are also
    functions for which MLIR has no op: "sigmoid", "silu", "gelu", "gelu_tanh", "softplus", "mish", "logit",
    "reciprocal", "exp10", "sinpi", "cospi", "hypot", "pown", "rootn", "tgamma", "lgamma", "digamma", "polygamma",
    "zeta", "erfinv", "bessel_i1e". The operations of a float unit have RISC-V's names, and each operand and the result
    may have its own type: "fadd", "fsub", "fmul", "fdiv", "fmadd" (a*b + c), "fmsub" (a*b - c), "fnmsub" (-(a*b) + c),
    "fnmadd" (-(a*b) - c), "fcvt", "fcvt_to_si", "fcvt_to_ui", "fcvt_from_si", "fcvt_from_ui", "fround", "froundnx"
    (with the flag inexact), "fcmps" (a comparison that any NaN makes invalid) and "fclass".
    ``operands``: arrays, numbers, `Value`s, or any other input of `convert` if the type is given.
    ``type``: the element type (or whole type) of the operands: one for all, or a list with one for each. It may be None
    if the dtypes determine it.
    ``to``: the element type of the result of a cast.
    ``properties``: the op's properties by name, enums by keyword (``fastmath="nnan"``, ``predicate="slt"``,
    ``rounding="upward"``, ``overflow="nsw"``, ``exact=True``), other attributes as MLIR spells them or as lists. A
    rounding mode may be given by any of its names. Functions that round once accept ``rounding``, although MLIR's ops
    have no attribute for it. "stochastic" needs ``seed``, ``rng`` or ``random``, as for `convert`.
    ``profile``, ``on_ub``, ``index_width``, ``track_open``, ``mma``: as for `run`.
    ``flags``: True to return the result and its exception flags. The flags are a uint8 array of the element shape: the
    sum of 1 inexact, 2 underflow, 4 overflow, 8 division by zero, 16 invalid. An element with a poison operand has no
    flags.

    Some ops have several operands that each take any number of values. If the op accepts only one way to divide the
    given values among these operands, ``eval`` uses it; otherwise give ``operandSegmentSizes=[2, 1]``.
    `iree_codegen.inner_tiled` needs only ``kind="#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>"``: without
    ``indexing_maps`` it has no loops (one tile), without ``iterator_types`` the loops of the last map are parallel and
    the others reductions, without ``semantics`` it is neither distributed nor opaque. The kind determines its element
    types.

    Raises the errors of `run`, VerifyError if the op does not accept these types, and Unsupported if ``flags`` is set
    for an op without exception flags.
    """
    definition = default_registry().require(op)
    if isinstance(definition.evaluate, OnFrames) or definition.regions or not definition.results:
        raise Unsupported(
            f"'{op}' cannot be run alone: only ops without regions that return results can",
            hint="write a function with the op in MLIR, and run it",
        )
    wanted = type if isinstance(type, Sequence) and not isinstance(type, str) else [type] * len(operands)
    if len(wanted) != len(operands):
        raise TypeMismatch(f"{len(wanted)} types are given for {len(operands)} operands of {op}")
    properties = with_rounding(properties)
    stochastic = properties.get("rounding", properties.get("roundingmode")) == "stochastic"
    if stochastic:
        for name in ("rounding", "roundingmode"):
            properties.pop(name, None)
    attributes, implied = completed(definition, properties, len(operands))
    if len(implied) == len(wanted):
        wanted = [element if spelling is None else spelling for spelling, element in zip(wanted, implied, strict=True)]
    values = [
        _operand(definition, index, operand, spelling)
        for index, (operand, spelling) in enumerate(zip(operands, wanted, strict=True))
    ]
    try:
        module = _module(
            definition, tuple([value.type for value in values]), attributes, None if to is None else as_type(to)
        )
    except VerifyError as error:
        error.hint = error.hint or _hint_at_numbers(operands, values)
        raise
    function = module.body[0]
    if stochastic:
        bits = drawn_bits(random, rng, seed, values[0].shape, stochastic)
        kernel = _stochastic_kernel(function, as_profile(profile), bits)
        only = function.regions[0].blocks[0].operations[0]
        made = applied(only.name, kernel, values, only.results[0].type)
        return (made, _flags_of(kernel, values)) if flags else made
    drawn_bits(random, rng, seed, (), stochastic)
    rules = as_profile(profile).of_one_op
    if flags:
        return _with_flags(module, values, Settings(rules, on_ub=on_ub, index_width=index_width))
    _, casts = user_functions()
    settings = Settings(rules, on_ub=on_ub, index_width=index_width, track_open=track_open, casts=casts, mma=mma)
    values = [settings.accepted(value, f"operand {index} of {op}") for index, value in enumerate(values)]
    results = program_for(module, settings).run(function, values)
    return results[0] if len(results) == 1 else results


def _hint_at_numbers(operands: Sequence[Any], values: Sequence[Value]) -> str | None:
    """Say what to write if the op does not accept the given numbers together with values. None if there is no hint."""
    bare = [k for k, operand in enumerate(operands) if isinstance(operand, int | float)]
    typed = next((value for value, operand in zip(values, operands, strict=True) if isinstance(operand, Value)), None)
    if not bare or typed is None:
        return None
    if typed.shape:
        full = f"np.full({typed.shape}, {operands[bare[0]]!r})"
        return f"an op takes operands of one shape: {full}; operators repeat a number"
    taken = " and ".join(f"{operands[k]!r} is '{values[k].type}'" for k in bare)
    return f'{taken} here: give type="{typed.element_type}", or one type for each operand'


def _operand(definition: OpDefinition, index: int, operand: Any, spelling: str | ty.Type | None) -> Value:
    what = f"operand {index} of {definition.name}"
    operand = operand.load() if isinstance(operand, Buffer) else operand
    if isinstance(operand, Value):
        return operand
    slots = definition.operands
    given = None if spelling is None else as_type(spelling)
    slot = slots[index] if index < len(slots) else slots[-1] if slots else None
    if given is not None and slot is not None and not slot.constraint.accepts(given):
        if slot.constraint.accepts(ty.I32):  # the integer of a power
            given = None if isinstance(operand, np.ndarray | np.generic) else ty.I32
        elif slot.constraint.accepts(ty.I1):  # the condition of select
            given = ty.I1
    if given is None:
        return Value.from_numpy(operand)
    return as_value(operand, given, what=what)


def _stochastic_kernel(function: Operation, profile: Profile, random: RandomBits | None) -> Kernel:
    assert random is not None
    return stochastic_kernel(function.regions[0].blocks[0].operations[0], profile).given(random)


_MOST_MODULES = 1 << 10
_modules: dict[Any, tuple[OpDefinition, Module]] = {}


def _module(
    definition: OpDefinition, types: tuple[ty.Type, ...], attributes: Mapping[str, Attribute], result: ty.Type | None
) -> Module:
    """Return the module of an op. The module and its compiled functions are kept for the next call."""
    # A declaration is known by its identity: it is kept with the module.
    key = (id(definition), types, tuple(attributes.items()), result)
    found = _modules.get(key)
    if found is None:
        made = single_op_module(definition, types, attributes, result)
        if len(_modules) >= _MOST_MODULES:
            _modules.clear()
        found = _modules[key] = definition, made
    return found[1]


@lru_cache(maxsize=1 << 10)
def _flagged_kernel(op: Operation, profile: Profile, index_width: IndexWidth) -> Kernel:
    """Return the kernel of an op with exception flags. Raises Unsupported for one without."""
    evaluate = op.definition.evaluate if op.definition else None
    kernel = None
    if isinstance(evaluate, Elementwise):
        kernel = evaluate.build(op, Settings(profile, index_width=index_width))
    if kernel is None or kernel.flags is None:
        raise Unsupported(f"'{op.name}' has no exception flags on these types under profile {profile.name}")
    return kernel


def _with_flags(module: Module, values: Sequence[Value], settings: Settings) -> tuple[Value, FlagArray]:
    """Return the result of an op and its exception flags."""
    function = module.body[0]
    op = function.regions[0].blocks[0].operations[0]
    kernel = _flagged_kernel(op, settings.profile, settings.index_width)
    result = op.results[0].type
    dtype, limbs = code_layout(ty.element_type(result))
    one_element = not limbs and all(value.bits.ndim == 0 and value.poison is None for value in values)
    if kernel.flagged is not None and one_element:
        # One element of each, as Python integers: an array of one takes longer.
        made, raised = kernel.flagged(*(int(value.bits) for value in values))
        if isinstance(made, int):
            return Value(result, np.array(made, dtype)), np.array(raised, np.uint8)
    if not limbs and kernel.notice is None and all(value.poison is None for value in values):
        outcome, found = kernel.with_flags(*(value.bits for value in values))
        if not outcome.faults:
            return Value(result, outcome.results[0]), found
    return program_for(module, settings).run(function, values)[0], _flags_of(kernel, values)


def _flags_of(kernel: Kernel, values: Sequence[Value]) -> FlagArray:
    """Return the exception flags of a kernel that has them; none for elements with a poison operand."""
    assert kernel.flags is not None
    found = np.array(kernel.flags(*(value.bits for value in values)))
    for value in values:
        if value.poison is not None:
            found[np.broadcast_to(value.poisoned, found.shape)] = 0
    return found
