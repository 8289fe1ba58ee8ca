"""The func dialect: functions, calls and returns (`FuncOps.td`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from halfulp.fp_formats.aliases import did_you_mean
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.elementwise import elementwise_step
from halfulp.interp.dialects.signatures import Signature, print_signature
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import ArrayAttr, DictionaryAttr, StringAttr, SymbolRefAttr, TypeAttr
from halfulp.interp.ir.base import Attribute, Type, narrowed, spell_symbol
from halfulp.interp.ir.errors import LimitExceeded, Unsupported
from halfulp.interp.ir.operations import VISIBILITIES, Block, Operation, Region, argument_types, result_types
from halfulp.interp.ir.types import FunctionType
from halfulp.interp.run.elementwise import ElementwiseStep
from halfulp.interp.run.evaluators import Compiler, Constant, MachineCall, OnFrames
from halfulp.interp.run.frames import Action, Frame, FunctionCode, Run, Segment, lift, lower
from halfulp.interp.run.limits import NotCompiled
from halfulp.interp.run.settings import External, Settings
from halfulp.interp.text.op_parser import OpParser, OpPrinter
from halfulp.interp.values.value import Value

if TYPE_CHECKING:
    from halfulp.interp.run.compiled.lowering import FunctionLowering

# --- forms ------------------------------------------------------------------------------------------------------------
#
# The custom form of `func.func`, which MLIR writes by hand.


def _parse_function(p: OpParser, at: int, definition: d.OpDefinition) -> Operation:
    inherent = {prop.name for prop in definition.properties}
    inferred = ("function_type", "sym_name", "sym_visibility")
    properties: dict[str, Attribute] = {}
    if p.tokens[p.pos] in VISIBILITIES:
        properties["sym_visibility"] = StringAttr(p.tokens[p.pos])
        p.pos += 1
    if p.tokens[p.pos][:1] != "@":
        p.wrong(definition.name, "expected valid '@'-identifier for symbol name")
    properties["sym_name"] = StringAttr(p.symbol())
    signature = Signature(p, definition.name)
    properties["function_type"] = TypeAttr(FunctionType(tuple(signature.inputs), tuple(signature.results)))
    properties |= signature.attributes()
    attributes: dict[str, Attribute] = {}
    at_attributes = p.pos
    if p.take("attributes"):
        p.dictionary(attributes)
        for name in inferred:
            if name in attributes:
                p.error_at_offset(
                    f"custom op '{definition.name}' '{name}' is an inferred attribute and should not be "
                    "specified in the explicit attribute dictionary",
                    p.offset(at_attributes),
                )
        for name in inherent & attributes.keys():
            properties[name] = attributes.pop(name)
    at_body = p.pos
    region = Region()
    if p.tokens[p.pos] == "{":
        region = p.region(definition.name, signature.arguments)
        if not any(block.operations for block in region.blocks) and len(region.blocks) < 2:
            p.wrong(definition.name, "expected non-empty function body", at_body)
    return p.placed(Operation(definition.name, definition, None, (), properties, attributes, [region]), at)


def _print_function(printer: OpPrinter, operation: Operation) -> str:
    properties = operation.properties
    text = ""
    visibility = properties.get("sym_visibility")
    if isinstance(visibility, StringAttr):
        text += f" {visibility.value}"
    text += f" {spell_symbol(operation.symbol_name or '')}"
    function_type = narrowed(properties["function_type"], TypeAttr)
    type = narrowed(function_type.type, FunctionType)
    region = operation.regions[0]
    text += print_signature(printer, operation, type.inputs, type.results)
    extra = dict(operation.attributes)
    extra |= {name: properties[name] for name in ("dlti", "no_inline") if name in properties}
    if extra:
        text += f" attributes {printer.dictionary(extra)}"
    if region.blocks:
        text += f" {printer.region(region, operation, entry_arguments=False)}"
    return text


FUNCTION = d.CustomForm(_parse_function, _print_function)


# --- libm -------------------------------------------------------------------------------------------------------------
#
# The functions of C's mathematical library that programs declare and call, as convert-math-to-libm writes them.
#
# Each computes what the op of `math` that it came from computes: the exact real function, rounded once.

_OPERANDS: Mapping[str, int] = {
    **dict.fromkeys(
        (
            "absf", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "erf", "erfc",
            "exp", "exp2", "expm1", "floor", "log", "log10", "log1p", "log2", "round", "roundeven", "rsqrt", "sin",
            "sinh", "sqrt", "tan", "tanh", "trunc",
        ),
        1,
    ),
    "atan2": 2,
    "copysign": 2,
    "powf": 2,
    "fma": 3,
}  # fmt: skip
"""The ops of `math` that have a function, and the numbers of their operands."""
_NAMES: Mapping[str, str] = {"absf": "fabs", "powf": "pow"}
"""The names of the functions that are not those of their ops."""
_SUFFIXES: Mapping[str, str] = {"f64": "", "f32": "f"}


class _Function(NamedTuple):
    """A function: the op that computes the same, and the type of its operands and of its result."""

    op: str
    operands: tuple[ty.Type, ...]
    result: ty.Type


def _functions() -> Iterable[tuple[str, _Function]]:
    for op, count in _OPERANDS.items():
        for spelled, suffix in _SUFFIXES.items():
            type_ = ty.F(spelled)
            yield f"{_NAMES.get(op, op)}{suffix}", _Function(f"math.{op}", (type_,) * count, type_)


_FUNCTIONS: Mapping[str, _Function] = dict(_functions())


def libm_step(call: Operation, target: Operation, settings: Settings) -> ElementwiseStep | None:
    """Return the step of a call of a function of the C library libm; None if name and types are not those of such a
    function.
    """
    found = _FUNCTIONS.get(target.symbol_name or "")
    if found is None or (found.operands, (found.result,)) != (argument_types(target), result_types(target)):
        return None
    return elementwise_step(call, found.op, found.operands, found.result, settings)


# --- words ------------------------------------------------------------------------------------------------------------
#
# The func ops on machine words.


def call(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of func.call of a function with a body."""
    symbol = op.prop("callee", SymbolRefAttr)
    target = low.compiler.module.lookup(symbol, op)
    if target is None or target.name != _function_of(op):
        raise NotCompiled(f"'{symbol}' is not a function")
    low.call(op, target, op.operands)


# --- rules ------------------------------------------------------------------------------------------------------------
#
# The rules of functions: signatures, bodies, calls and returns.


def _function_of(op: Operation) -> str:
    """Return the name of the functions that an op calls or ends: `func.func`, or `tt.func` for the ops of Triton."""
    return f"{op.name.partition('.')[0]}.func"


def _similar_function(name: str, symbols: Mapping[str, Operation], function: str = "func.func") -> str | None:
    return did_you_mean(f"@{name}", (f"@{known}" for known, op in symbols.items() if op.name == function))


def verify_call(call: Operation, symbols: Mapping[str, Operation]) -> None:
    """Raise VerifyError unless a call names a function of the right type."""
    callee = call.properties.get("callee")
    if not isinstance(callee, SymbolRefAttr):
        return
    target = symbols.get(callee.root)
    if target is None or target.name != _function_of(call):
        hint = _similar_function(callee.root, symbols, _function_of(call))
        raise call.rule_broken(f"'{callee.root}' does not reference a valid function", hint=hint)
    type = type_of_function(target)
    if type is None:
        return
    if len(type.inputs) != len(call.operands):
        raise call.rule_broken("incorrect number of operands for callee")
    for number, (value, input) in enumerate(zip(call.operands, type.inputs, strict=True)):
        if value.type != input:
            raise call.rule_broken(
                f"operand type mismatch: expected operand type '{input}', but provided '{value.type}' for operand "
                f"number {number}",
            )
    if len(type.results) != len(call.results):
        raise call.rule_broken("incorrect number of results for callee")
    for number, (result, expected) in enumerate(zip(call.results, type.results, strict=True)):
        if result.type != expected:
            raise call.rule_broken(
                f"result type mismatch at index {number}",
                notes=[
                    (None, f"      op result types: {_types([r.type for r in call.results])}"),
                    (None, f"function result types: {_types(type.results)}"),
                ],
            )


def verify_constant(operation: Operation, symbols: Mapping[str, Operation]) -> None:
    """Raise VerifyError unless a constant names a function of its type."""
    value = operation.properties.get("value")
    if not isinstance(value, SymbolRefAttr):
        return
    target = symbols.get(value.root)
    if target is None or target.name != "func.func":
        raise operation.rule_broken(
            f"reference to undefined function '{value.root}'",
            hint=_similar_function(value.root, symbols),
        )
    if type_of_function(target) != operation.results[0].type:
        raise operation.rule_broken("reference to function with mismatched type")


def _types(types: Sequence[Type]) -> str:
    return ", ".join(f"'{type}'" for type in types)


def type_of_function(function: Operation | None) -> FunctionType | None:
    """Return the type of a func.func; None if ``function`` is None or if its type is not a function type."""
    if function is None:
        return None
    attribute: Attribute | None = function.properties.get("function_type")
    return attribute.type if isinstance(attribute, TypeAttr) and isinstance(attribute.type, FunctionType) else None


def wrong_attributes(function: Operation, arguments: int, results: int) -> str | None:
    """Return what is wrong with the attributes of a function's arguments and results, or None. ``arguments``,
    ``results``: their numbers.
    """
    for name, what, count in (("arg_attrs", "argument", arguments), ("res_attrs", "result", results)):
        attributes = function.properties.get(name)
        if not isinstance(attributes, ArrayAttr):
            continue
        if len(attributes.elements) != count:
            return (
                f"expects {what} attribute array to have the same number of elements as the number of function "
                f"{what}s, got {len(attributes.elements)}, but expected {count}"
            )
        for dictionary in attributes.elements:
            for key, attribute in dictionary.entries if isinstance(dictionary, DictionaryAttr) else ():
                if "." not in key:
                    return f"{what}s may only have dialect attributes"
                dialect: d.Dialect | None = default_registry().dialects.get(key.partition(".")[0])
                rule = None if dialect is None or what != "argument" else dialect.argument_rule
                problem = None if rule is None else rule(function, key, attribute)
                if problem is not None:
                    return problem
    return None


def verify_function(function: Operation) -> str | None:
    """Return what is wrong with the signature or the body of a function, or None."""
    parent = function.parent_op
    if parent is not None and parent.definition is not None and d.Trait.SYMBOL_TABLE not in parent.definition.traits:
        return "symbol's parent must have the SymbolTable trait"
    type = type_of_function(function)
    if type is None:
        return None
    problem = wrong_attributes(function, len(type.inputs), len(type.results))
    if problem is not None:
        return problem
    region = function.regions[0]
    visibility = function.properties.get("sym_visibility")
    if not region.blocks:
        if not isinstance(visibility, StringAttr) or visibility.value == "public":
            return "symbol declaration cannot have public visibility"
        return None
    return wrong_entry(region.blocks[0], type.inputs)


def wrong_entry(block: Block, types: Sequence[Type]) -> str | None:
    """Return what is wrong with the arguments of the first block of a function that takes ``types``, or None."""
    if len(block.arguments) != len(types):
        return f"entry block must have {len(types)} arguments to match function signature"
    for number, (argument, wanted) in enumerate(zip(block.arguments, types, strict=True)):
        if argument.type != wanted:
            return (
                f"type of entry block argument #{number}('{argument.type}') must match the type of the corresponding "
                f"argument in function signature('{wanted}')"
            )
    return None


def verify_return(operation: Operation) -> str | None:
    """Return what is wrong with the number or the types of returned values, or None."""
    function = operation.parent_op
    if function is None or function.name != _function_of(operation):
        return f"expects parent op '{_function_of(operation)}'"
    type = type_of_function(function)
    declared = () if type is None else type.results
    count = len(operation.operands)
    if len(declared) != count:
        return f"has {count} operands, but enclosing function (@{function.symbol_name}) returns {len(declared)}"
    for number, (value, expected) in enumerate(zip(operation.operands, declared, strict=True)):
        if value.type != expected:
            return d.Unprefixed(
                f"type of return operand {number} ('{value.type}') doesn't match function result type ('{expected}') "
                f"in function @{function.symbol_name}"
            )
    return None


# --- ops --------------------------------------------------------------------------------------------------------------

func = d.Dialect("func")

ARGUMENT_ATTRIBUTES = (
    d.Property("arg_attrs", d.DICTIONARY_ARRAY_ATTR, optional=True),
    d.Property("res_attrs", d.DICTIONARY_ARRAY_ATTR, optional=True),
)


def _solve_callee(types: dict[str, Any], properties: Mapping[str, at.Attribute]) -> None:
    callee = types.get("callee")
    if isinstance(callee, ty.FunctionType):
        types.setdefault("callee_operands", callee.inputs)
        types.setdefault("results", callee.results)


def _fits_callee(types: Mapping[str, Any], properties: Mapping[str, at.Attribute]) -> bool:
    callee = types["callee"]
    return bool(callee == ty.FunctionType(tuple(types["callee_operands"]), tuple(types["results"])))


_TYPES_OF_CALLEE = d.TypeRule(
    "failed to verify that callee input types match argument types and callee result types match result types",
    _solve_callee,
    _fits_callee,
)

func.op(
    "func",
    custom=FUNCTION,
    properties=(
        *ARGUMENT_ATTRIBUTES,
        d.Property("dlti", d.ANY_ATTR, optional=True, since=d.Schema.LLVM24, late=True, plain=True),
        d.Property("function_type", d.FUNCTION_TYPE_ATTR),
        d.Property("no_inline", d.UNIT_ATTR, optional=True),
        d.Property("sym_name", d.STRING_ATTR),
        d.Property("sym_visibility", d.STRING_ATTR, optional=True),
    ),
    regions=(d.RegionSlot("body"),),
    traits=(d.Trait.SYMBOL, d.Trait.ISOLATED_FROM_ABOVE),
    default_dialect="func",
    verify=verify_function,
)


@dataclass(frozen=True, slots=True)
class Function:
    """A function as a value: func.constant makes it, and func.call_indirect calls it."""

    op: Operation


def _target(op: Operation, symbol: at.Attribute, compiler: Compiler) -> Operation:
    """Return the function that a symbol names, seen from ``op``."""
    assert isinstance(symbol, at.SymbolRefAttr)
    target = compiler.module.lookup(symbol, op)
    if target is None or target.name != _function_of(op):
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
    """Return the action that calls the function ``target`` with the values of the slots ``operands``, puts its results
    into the slots ``results``, and continues with the segment ``after``.
    """
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


class LibraryStep(Protocol):
    """The step of a call of a library function."""

    def run(self, run: Run, operands: tuple[Value, ...], /) -> tuple[Value, ...]:
        """Return the results for these operands."""


def _library_function(
    op: Operation, target: Operation, settings: Settings
) -> tuple[External | None, LibraryStep | None]:
    """Find what a declaration names in the libraries: a function of mlir-runner, or the step that calls one of another
    library.
    """
    from halfulp.interp.dialects.func.apfloat import apfloat_step
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


CALL = OnFrames(_call, words=call)

func.op(
    "call",
    "$callee `(` $operands `)` attr-dict `:` functional-type($operands, results)",
    operands=(d.variadic("operands", d.ANY),),
    results=(d.variadic("results", d.ANY),),
    properties=(
        *ARGUMENT_ATTRIBUTES,
        d.Property("callee", d.FLAT_SYMBOL_REF_ATTR),
        d.Property("no_inline", d.UNIT_ATTR, optional=True),
    ),
    verify_symbols=verify_call,
    evaluate=CALL,
)


func.op(
    "call_indirect",
    "$callee `(` $callee_operands `)` attr-dict `:` type($callee)",
    operands=(d.Slot("callee", d.FUNCTION), d.variadic("callee_operands", d.ANY)),
    results=(d.variadic("results", d.ANY),),
    properties=ARGUMENT_ATTRIBUTES,
    type_rules=(_TYPES_OF_CALLEE,),
    evaluate=OnFrames(_call_indirect),
)
func.op(
    "constant",
    "attr-dict $value `:` type($result)",
    results={"result": d.ANY},
    properties=(d.Property("value", d.FLAT_SYMBOL_REF_ATTR),),
    traits=(d.Trait.CONSTANT_LIKE,),
    named_results=("f",),
    verify_symbols=verify_constant,
    evaluate=Constant(lambda op, compiler: Function(_target(op, op.properties["value"], compiler))),
)


RETURN = OnFrames(
    lambda op, compiler: compiler.returning(compiler.slots(op.operands)), words=lambda op, low: low.leave(op.operands)
)

func.op(
    "return",
    "attr-dict ($operands^ `:` type($operands))?",
    operands=(d.variadic("operands", d.ANY),),
    traits=(d.Trait.TERMINATOR, d.Trait.RETURN_LIKE),
    verify=verify_return,
    evaluate=RETURN,
)
