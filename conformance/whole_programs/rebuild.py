"""Take programs apart, and rebuild them from some of their ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from halfulp.conformance.oracles.oracle import ClosedProgram
from halfulp.conformance.whole_programs.op_search import Observed, observed
from halfulp.conformance.whole_programs.outcomes import NoMeaning, run_here
from halfulp.conformance.whole_programs.rewrite import (
    callees,
    captured,
    copied,
    function,
    module_with,
)
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Block, Module, Operation, SSAValue
from halfulp.interp.ir.types import element_width
from halfulp.interp.values.value import Value
from halfulp.interp.verifier import verify
from halfulp.semantics.profile import SPEC, Profile


@dataclass
class State:
    """A function of one block taken apart: its ops, its returned values, and all values as far as they are known."""

    module: Module
    name: str
    ops: tuple[Operation, ...]
    returned: tuple[SSAValue, ...]
    values: dict[SSAValue, Value] = field(default_factory=dict)


def state_of(program: ClosedProgram, profile: Profile = SPEC) -> State | None:
    """Take a program apart; None where its function has several blocks or is in a nested module."""
    original = program.module.lookup(program.function)
    if original is None or original.parent_op is not program.module.operation:
        return None
    blocks = original.regions[0].blocks
    if len(blocks) != 1 or not blocks[0].operations or blocks[0].operations[-1].name != "func.return":
        return None
    block = blocks[0]
    values: dict[SSAValue, Value] = dict(zip(block.arguments, program.arguments, strict=False))
    copy = observed(program.module, program.function)
    if copy is not None:
        values.update(_known_values(block, copy, program, profile))
    end = block.operations[-1]
    name = original.symbol_name or "main"
    return State(program.module, name, tuple(block.operations[:-1]), tuple(end.operands), values)


def _known_values(block: Block, copy: Observed, program: ClosedProgram, profile: Profile) -> dict[SSAValue, Value]:
    try:
        here = run_here(ClosedProgram(copy.module, copy.function, program.arguments), profile)
    except HalfulpError:
        return {}
    if isinstance(here, NoMeaning):
        return {}
    found: dict[SSAValue, Value] = {}
    for (number, index), value in zip(copy.places, here, strict=True):
        result = block.operations[number].results[index]
        found[result] = Value(result.type, value.bits, value.poison, None, value.origins)
    return found


def rebuilt(
    state: State,
    keep: Sequence[Operation],
    returned: Sequence[SSAValue],
    instead: dict[SSAValue, SSAValue] | None = None,
    reshape: Callable[[Value], Value] = lambda value: value,
    retype: Callable[[ty.Type], ty.Type] = lambda type_: type_,
) -> ClosedProgram | None:
    """Build a program from some of the ops. A value that is needed but not computed becomes an argument, if it is
    known.

    ``instead``: values that take the place of others. ``reshape``, ``retype``: change every argument and type.
    """
    instead = instead or {}
    kept = set(keep)
    needed = {instead.get(value, value) for value in returned}
    ops: list[Operation] = []
    for op in reversed(state.ops):
        if op in kept and not needed.isdisjoint(op.results):
            ops.append(op)
            needed.update(instead.get(value, value) for value in captured(op))
    ops.reverse()
    block = Block()
    made: dict[SSAValue, SSAValue] = {}
    arguments: list[Value] = []

    def available(value: SSAValue) -> bool:
        source = instead.get(value, value)
        if source not in made:
            known = state.values.get(source)
            element = ty.element_type(value.type)
            if known is None or isinstance(element, ty.QuantizedType) or element_width(element) is None:
                return False
            given = reshape(known)
            arguments.append(given)
            made[source] = block.add_argument(given.type)
        made[value] = made[source]
        return True

    for op in ops:
        if not all(available(value) for value in captured(op)):
            return None
        block.append(copied(op, made, retype))
    if not all(available(value) for value in returned):
        return None
    main = function(state.name, block, [made[value] for value in returned], like=state.module.lookup(state.name))
    others = [op for op in state.module.body if op.symbol_name != state.name]
    module = module_with(others, state.module)
    module.operation.regions[0].blocks[0].append(main)
    return verified(ClosedProgram(without_unneeded_functions(module, state.name), state.name, tuple(arguments)))


def without_unneeded_functions(module: Module, name: str) -> Module:
    """Return the module without the functions that are not needed."""
    main = module.lookup(name)
    assert main is not None
    needed = [op for op in callees(module, main) if op is not main]
    return module_with([op for op in module.body if op in needed or op is main], module)


def verified(program: ClosedProgram) -> ClosedProgram | None:
    """Return the program, or None where the verifier rejects it."""
    try:
        verify(program.module)
    except HalfulpError:
        return None
    return program
