"""The computation behind vectors, from the arguments of Python functions: an op with its types, or a program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from halfulp.codegen.tile_names import SPELLING, model_for, names_tile, operation_named
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.columns import Role
from halfulp.conformance.vectors.computation import Computation, OpComputation, ProgramComputation
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.fp_formats.policy import Rounding, as_rounding
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir.errors import InputError
from halfulp.interp.ir.operations import Module
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.coerce import as_type
from halfulp.loading import Source, is_text, load
from halfulp.running import find_entry, function_path
from halfulp.semantics.matrix_units.accumulator import Accumulator
from halfulp.semantics.profile import Profile, as_profile

RANDOM_BITS = 16
"""The random bits of stochastic rounding, unless a number is given."""


def computation_for(
    of: Source | Module,
    type: Any = None,
    *,
    to: Any = None,
    rounding: str | None = None,
    random_bits: int | None = None,
    random: str | None = None,
    profile: Profile | str | None = None,
    function: str | None = None,
    flags: bool | None = None,
    keep_ub: bool = False,
    mma: Accumulator | str | None = None,
    properties: Mapping[str, Any] | None = None,
) -> Computation:
    """Return the computation: an op on element types, a tile operation, or a function of a program. See
    `halfulp.vectors`.
    """
    rules, properties = as_profile(profile), dict(properties or {})
    own = {"to": to, "rounding": rounding, "random_bits": random_bits, "flags": flags, **properties}
    wrong = next((name for name, value in own.items() if value is not None), None)
    if not isinstance(of, str) or is_text(of) or of.endswith((".mlir", ".mlirbc")):
        wrong = "type" if type is not None else wrong
        if wrong is not None:
            raise InputError(f"{wrong} goes with an op, not with a program")
        return _program(of, function, rules, keep_ub, mma, random)
    for name, value in (("function", function), ("random", random)):
        if value is not None:
            hint = "the path of a program ends in .mlir"
            raise InputError(f"{name} goes with a program, but '{of}' is an op", hint=hint)
    if names_tile(of):
        if wrong is not None:
            raise InputError(f"{wrong} goes with an op, but '{of}' is a tile operation")
        operation = operation_named(of, *_types_of_tile(type))
        return TileComputation(operation, model_for(mma or "exact", operation), keep_ub)
    if mma is not None:
        hint = f"name a tile operation, as in {SPELLING}"
        raise InputError(f"mma goes with a tile operation or a program, but '{of}' is an op", hint=hint)
    return _op(of, type, to, rounding, random_bits, rules, flags, keep_ub, properties)


def _types_of_tile(type: Any) -> tuple[str | None, str | None]:
    """Return the types of A and B, where they are given: one for both, or two."""
    several = isinstance(type, Sequence) and not isinstance(type, str)
    types = [None if one is None else str(as_type(one)) for one in (type if several else (type,))]
    if len(types) > 2:
        raise InputError(f"{len(types)} types are given: those of A and B are two, or one for both")
    return types[0], types[-1]


def _program(
    of: Source | Module,
    function: str | None,
    profile: Profile,
    keep_ub: bool,
    mma: Accumulator | str | None,
    random: str | None,
) -> Computation:
    module = of if isinstance(of, Module) else load(of)
    name = Path(of).name if isinstance(of, str | os.PathLike) and not is_text(of) else "<program>"
    path = function_path(find_entry(module, function)).removeprefix("@")
    model = model_for(mma or "exact")
    return ProgramComputation(print_module(module), path, name, profile, keep_ub, model, random, module)


def _op(
    op: str,
    type: Any,
    to: Any,
    rounding: str | None,
    random_bits: int | None,
    profile: Profile,
    flags: bool | None,
    keep_ub: bool,
    properties: dict[str, Any],
) -> Computation:
    default_registry().require(op)
    if type is None:
        raise InputError("which type? give that of the operands, and for a cast to=", op=op)
    mode = None if rounding is None else as_rounding(rounding)
    stochastic = mode is Rounding.STOCHASTIC
    if random_bits is not None and not stochastic:
        raise InputError("random_bits goes with rounding='stochastic'")
    if mode is not None and not stochastic:
        properties["rounding"] = mode.spelling
    several = isinstance(type, Sequence) and not isinstance(type, str)
    types = [str(as_type(one)) for one in type] if several else str(as_type(type))
    case = op_case(op, types, None if to is None else str(as_type(to)), **properties)
    bits = (random_bits or RANDOM_BITS) if stochastic else None
    computation = OpComputation(case, profile, keep_ub, flags is not False, bits)
    if flags and not any(column.role is Role.FLAGS for column in computation.outputs):
        raise InputError(f"flags=True: {case} has no exception flags")
    return computation
