"""The func dialect: functions, calls and returns (`FuncOps.td`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Arity, Dialect, Property, RegionSlot, Slot, Trait
from halfulp.interp.declare.type_rules import TypeRule
from halfulp.interp.dialects.func import rules, words
from halfulp.interp.dialects.func.forms import FUNCTION
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import LimitExceeded, Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.control import Compiler, MachineCall
from halfulp.interp.run.evaluators import Constant, OnFrames
from halfulp.interp.run.frames import (
    Action,
    Frame,
    FunctionCode,
    Run,
    Segment,
)
from halfulp.interp.run.settings import External, Settings
from halfulp.interp.run.signature import argument_types, result_types
from halfulp.interp.run.slots import lift, lower
from halfulp.interp.values.value import Value

func = Dialect("func")

_ARGUMENT_ATTRIBUTES = (
    Property("arg_attrs", c.DICTIONARY_ARRAY_ATTR, optional=True),
    Property("res_attrs", c.DICTIONARY_ARRAY_ATTR, optional=True),
)


def _solve_callee(types: dict[str, Any], properties: Mapping[str, at.Attribute]) -> None:
    callee = types.get("callee")
    if isinstance(callee, ty.FunctionType):
        types.setdefault("callee_operands", callee.inputs)
        types.setdefault("results", callee.results)


def _fits_callee(types: Mapping[str, Any], properties: Mapping[str, at.Attribute]) -> bool:
    callee = types["callee"]
    return bool(callee == ty.FunctionType(tuple(types["callee_operands"]), tuple(types["results"])))


_TYPES_OF_CALLEE = TypeRule(
    "failed to verify that callee input types match argument types and callee result types match result types",
    _solve_callee,
    _fits_callee,
)

func.op(
    "func",
    custom=FUNCTION,
    properties=(
        *_ARGUMENT_ATTRIBUTES,
        Property("function_type", c.FUNCTION_TYPE_ATTR),
        Property("no_inline", c.UNIT_ATTR, optional=True),
        Property("sym_name", c.STRING_ATTR),
        Property("sym_visibility", c.STRING_ATTR, optional=True),
    ),
    regions=(RegionSlot("body"),),
    traits=(Trait.SYMBOL, Trait.ISOLATED_FROM_ABOVE),
    default_dialect="func",
    verify=rules.verify_function,
)


@dataclass(frozen=True, slots=True)
class Function:
    """A function as a value: func.constant makes it, and func.call_indirect calls it."""

    op: Operation


def _target(op: Operation, symbol: at.Attribute, compiler: Compiler) -> Operation:
    """Return the function that a symbol names, seen from ``op``."""
    assert isinstance(symbol, at.SymbolRefAttr)
    target = compiler.module.lookup(symbol, op)
    if target is None or target.name != "func.func":
        raise Unsupported(f"'{symbol}' is not a function", location=op.location, op=op.name)
    return target


def _call(op: Operation, compiler: Compiler) -> Action:
    target = _target(op, op.properties["callee"], compiler)
    operands, results = compiler.slots(op.operands), compiler.slots(op.results)
    return caller(op, target, operands, results, compiler, compiler.after())


def caller(
    op: Operation,
    target: Operation,
    operands: tuple[int, ...],
    results: tuple[int, ...],
    compiler: Compiler,
    after: Segment,
) -> Action:
    """Return the action that calls ``target`` with the values of some slots, and goes on at ``after``."""
    if not target.regions[0].blocks:
        return _external_call(op, target, operands, results, compiler.settings, after)
    limit, code_of, new_frame = compiler.settings.max_depth, compiler.code_of, compiler.new_frame
    # Compiled at the first call, not before: a function may call itself.
    code: FunctionCode | None = None
    passed: tuple[tuple[int, int], ...] = ()
    by_machine: MachineCall | None = None

    def call(frame: Frame) -> Segment | None:
        nonlocal code, passed, by_machine
        if frame.depth >= limit:
            raise LimitExceeded(
                f"calls are nested more than {limit} deep",
                location=op.location,
                op=op.name,
                hint="raise the limit with max_depth (--max-depth)",
            )
        if code is None:
            called = code_of(target)
            passed = tuple(zip(called.entry.arguments, operands, strict=True))
            by_machine = compiler.machine_code(target)
            code = called
        values = frame.slots
        run: Run = values[0]
        if by_machine is not None:
            found = by_machine(run, [values[operand] for operand in operands], frame.depth + 1)
            if found is not None:
                for slot, value in zip(results, found, strict=True):
                    values[slot] = value
                return after
        callee = run.frame = new_frame(code, run, frame, results, op)
        slots = callee.slots
        for slot, operand in passed:
            slots[slot] = values[operand]
        frame.segment = after
        return None

    return call


def _call_indirect(op: Operation, compiler: Compiler) -> Action:
    callee, *operands = compiler.slots(op.operands)
    results, after = compiler.slots(op.results), compiler.after()

    def call(frame: Frame) -> Segment | None:
        function = frame.slots[callee]
        if not isinstance(function, Function):
            raise Unsupported(
                f"{op.name}: the callee is not a function of this module", location=op.location, op=op.name
            )
        return caller(op, function.op, tuple(operands), results, compiler, after)(frame)

    return call


def _constant(op: Operation, compiler: Compiler) -> Function:
    return Function(_target(op, op.properties["value"], compiler))


class LibraryStep(Protocol):
    """The step of a call of a library function."""

    def run(self, run: Run, operands: tuple[Value, ...], /) -> tuple[Value, ...]:
        """Return the results for these operands."""


def _library_function(
    op: Operation, target: Operation, settings: Settings
) -> tuple[External | None, LibraryStep | None]:
    """Find what a declaration names in the libraries: a function of mlir-runner's, or the step of a call of another."""
    from halfulp.interp.dialects.func.apfloat import apfloat_step
    from halfulp.interp.dialects.func.libm import libm_step
    from halfulp.interp.dialects.func.runner import runner_function

    function = runner_function(op, target, settings)
    return function, None if function else libm_step(op, target, settings) or apfloat_step(op, target, settings)


def _external_call(
    op: Operation,
    target: Operation,
    operands: tuple[int, ...],
    results: tuple[int, ...],
    settings: Settings,
    after: Segment,
) -> Action:
    """Return the action that calls what a declaration names: a Python function that the user gave, or a function of
    mlir-runner's libraries, of C's mathematical library or of MLIR's APFloat library.
    """
    name = target.symbol_name or ""
    given = settings.externals.get(name)
    function, step = (given, None) if given else _library_function(op, target, settings)
    types, declared = argument_types(target), result_types(target)

    def call(frame: Frame) -> Segment:
        run: Run = frame.slots[0]
        if function is None and step is None and run.outside is None:
            raise Unsupported(
                f"'@{name}' is a declaration without a body",
                location=op.location,
                op=op.name,
                hint="bind a Python function to it: externals={name: function}",
            )
        values = [lift(frame.slots[slot], type_) for slot, type_ in zip(operands, types, strict=True)]
        produced: tuple[Any, ...]
        if function is not None:
            produced = run.host(function, values, declared, f"the function bound to @{name}")
        elif step is not None:
            produced = step.run(run, tuple(values))
        else:
            assert run.outside is not None
            produced = tuple(run.outside(op, tuple(values), declared))
        for slot, value in zip(results, produced, strict=True):
            frame.slots[slot] = lower(value)
        # The observer of the op reports the end of a call without results.
        for listener in settings.listeners if results else ():
            listener.op_did_run(op, (), produced)
        return after

    return call


func.op(
    "call",
    "$callee `(` $operands `)` attr-dict `:` functional-type($operands, results)",
    operands=(Slot("operands", c.ANY, Arity.VARIADIC),),
    results=(Slot("results", c.ANY, Arity.VARIADIC),),
    properties=(
        *_ARGUMENT_ATTRIBUTES,
        Property("callee", c.FLAT_SYMBOL_REF_ATTR),
        Property("no_inline", c.UNIT_ATTR, optional=True),
    ),
    verify_symbols=rules.verify_call,
    evaluate=OnFrames(_call, words=words.call),
)


func.op(
    "call_indirect",
    "$callee `(` $callee_operands `)` attr-dict `:` type($callee)",
    operands=(Slot("callee", c.FUNCTION), Slot("callee_operands", c.ANY, Arity.VARIADIC)),
    results=(Slot("results", c.ANY, Arity.VARIADIC),),
    properties=_ARGUMENT_ATTRIBUTES,
    type_rules=(_TYPES_OF_CALLEE,),
    evaluate=OnFrames(_call_indirect),
)
func.op(
    "constant",
    "attr-dict $value `:` type($result)",
    results={"result": c.ANY},
    properties=(Property("value", c.FLAT_SYMBOL_REF_ATTR),),
    traits=(Trait.CONSTANT_LIKE,),
    named_results=("f",),
    verify_symbols=rules.verify_constant,
    evaluate=Constant(_constant),
)


def _return(op: Operation, compiler: Compiler) -> Action:
    return compiler.leaving(compiler.slots(op.operands))


RETURN = OnFrames(_return, words=words.leave)

func.op(
    "return",
    "attr-dict ($operands^ `:` type($operands))?",
    operands=(Slot("operands", c.ANY, Arity.VARIADIC),),
    traits=(Trait.TERMINATOR, Trait.RETURN_LIKE),
    verify=rules.verify_return,
    evaluate=RETURN,
)
