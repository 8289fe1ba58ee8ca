"""Write cases and programs as modules without arguments, and read the results that a tool printed.

Operands are constants. An element is written as an integer of its width, and the program casts it to its own type,
since no way to write a float keeps the bits of every NaN in every tool. An integer or index is written directly. The
last part runs programs with an oracle that answers single ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase, container_shape
from halfulp.conformance.oracles.oracle import (
    Answer,
    ClosedProgram,
    Oracle,
    OracleError,
    Refused,
    Reply,
    Status,
    Unanswered,
    blank,
    unanswered,
)
from halfulp.conformance.whole_programs.rewrite import case_of, copied, definition_of, module_around
from halfulp.fp_formats.formats import Codes, Mask, codes_to_ints, element_shape, ints_to_codes
from halfulp.interp.declare.build import function_of
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import (
    Block,
    Module,
    Operation,
    OpResult,
    SSAValue,
    argument_types,
    result_types,
    symbols_of,
)
from halfulp.interp.ir.types import code_layout, element_width, width_of
from halfulp.interp.loading import parse_module, split_input
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.value import Value

MARKER = "// -----"
"""The line between the modules of one text."""

ENTRY = "halfulp_entry"
"""The function in which a closed program starts."""


def text_of(module: Module) -> str:
    """Print the module as MLIR 22 reads it. Raises Unsupported for features of newer versions."""
    return print_module(module, schema=Schema.MLIR22)


def joined(texts: Sequence[str]) -> str:
    """Join modules into one text for ``--split-input-file``."""
    return f"{MARKER}\n".join(texts)


def separated(text: str, schema: Schema = Schema.MLIR22) -> list[Module]:
    """Parse the modules that a tool of this version of MLIR printed with ``--split-input-file``. Raises ParseError and
    VerifyError.
    """
    return [parse_module(part.text, verify=False, schema=schema) for part in split_input(text)]


def integer_type(element: ty.Type) -> ty.Type:
    """Return the integer type that transports the codes of an element type."""
    if isinstance(element, ty.IndexType):
        return element
    return ty.IntegerType(width_of(element))


class Builder:
    """Builder of the body of a function without arguments."""

    def __init__(self) -> None:
        self.block = Block()
        self.returned: list[SSAValue] = []
        self._scalars: dict[tuple[ty.Type, int], SSAValue] = {}

    def module(self) -> Module:
        """Return a module with that one function, ``@halfulp_entry``."""
        return module_around([function_of(ENTRY, self.block, self.returned)])

    def append(self, name: str, operands: Sequence[SSAValue], result: ty.Type, **properties: at.Attribute) -> SSAValue:
        """Append an op with one result, and return the result."""
        op = Operation(name, definition_of(name), list(operands), [result], dict(properties))
        self.block.append(op)
        return op.results[0]

    def constant(self, codes: Codes, container: ty.Type) -> SSAValue:
        """Append a constant of codes, cast to the type: a tensor, a vector or a scalar."""
        element = ty.element_type(container)
        carrier = integer_type(element)
        if element is container:
            code = codes_to_ints(codes, width_of(element))[0]
            known = self._scalars.get((element, code))
            if known is None:
                known = self._scalars[element, code] = self._cast(self._integer(code, carrier), element)
            return known
        stored = ty.with_element(container, carrier)
        assert isinstance(stored, ty.TensorType | ty.VectorType)
        value = at.DenseElementsAttr(stored, np.ascontiguousarray(codes))
        return self._cast(self.append("arith.constant", [], stored, value=value), container)

    def returns(self, value: SSAValue) -> None:
        """Make the function return a value as integers, after the values that it returned so far.

        The value is returned without a cast if it has no bit pattern, or a shape that the tool determines: the verifier
        rejects a cast of either.
        """
        element = ty.element_type(value.type)
        if element_width(element) is None or isinstance(value.type, ty.MemRefType) or ty.is_dynamic(value.type):
            self.returned.append(value)
        else:
            self.returned.append(self._cast(value, ty.with_element(value.type, integer_type(element))))

    def ask(self, case: OpCase, inputs: Sequence[Codes], shape: tuple[int, ...] | None) -> None:
        """Append the op of a case, applied to tensors of this shape (None: to scalars), and make the function return
        its results.
        """
        operands = [
            self.constant(codes, element if shape is None else ty.TensorType(shape, element))
            for codes, element in zip(inputs, case.operand_types, strict=True)
        ]
        like = _example(case, shape)
        types = [t if shape is None else ty.TensorType(shape, t) for t in case.result_types]
        op = Operation(like.name, like.definition, operands, types, dict(like.properties))
        self.block.append(op)
        for result in op.results:
            self.returns(result)

    def _integer(self, code: int, type_: ty.Type) -> SSAValue:
        value = at.IntegerAttr(at.integer_of_code(code, type_), type_)
        return self.append("arith.constant", [], type_, value=value)

    def _cast(self, value: SSAValue, type_: ty.Type) -> SSAValue:
        if value.type == type_:
            return value
        elements = (ty.element_type(value.type), ty.element_type(type_))
        quantized = any(isinstance(element, ty.QuantizedType) for element in elements)
        return self.append("quant.scast" if quantized else "arith.bitcast", [value], type_)


@lru_cache(maxsize=64)
def _example(case: OpCase, shape: tuple[int, ...] | None) -> Operation:
    """Return the op of a case, with its properties, on arguments."""
    return case.operation(shape)


@dataclass(frozen=True)
class ClosedText:
    """A program as text. Its entry ``@halfulp_entry`` calls the function with its arguments as constants."""

    text: str
    results: tuple[ty.Type, ...]


def closed(program: ClosedProgram) -> ClosedText | Unanswered:
    """Return the program as text without arguments, or the reason why MLIR 22 cannot express it."""
    module = program.module
    function = module.lookup(program.function)
    if function is None or function.name != "func.func":
        return Unanswered(f"there is no function {program.function}")
    if function.parent_op is not module.operation:
        return Unanswered("the function is inside a nested module")
    if module.lookup(ENTRY) is not None:
        return Unanswered(f"the module has a function @{ENTRY} of its own")
    builder = Builder()
    operands = []
    for value, type_ in zip(program.arguments, argument_types(function), strict=True):
        operand = _argument(builder, value, type_)
        if isinstance(operand, Unanswered):
            return operand
        operands.append(operand)
    types = result_types(function)
    callee = at.SymbolRefAttr(function.symbol_name or "")
    call = Operation("func.call", definition_of("func.call"), operands, types, {"callee": callee})
    builder.block.append(call)
    for result in call.results:
        builder.returns(result)
    functions = [_private(op) for op in _needed(module, function)]
    around = module_around([*functions, function_of(ENTRY, builder.block, builder.returned)])
    around.resources = module.resources
    try:
        text = text_of(around)
    except HalfulpError as error:
        return Unanswered(str(error))
    if MARKER in text:
        return Unanswered("its text contains the marker that separates programs")
    return ClosedText(text, types)


def _private(function: Operation) -> Operation:
    """Copy a function as private, so that a tool may drop it after inlining. halfulp may not be able to read the text
    that a tool prints for it.
    """
    copy = copied(function, {})
    if function.name == "func.func":
        copy.properties["sym_visibility"] = at.StringAttr("private")
    return copy


def _needed(module: Module, function: Operation) -> list[Operation]:
    """Return the function and everything it names, directly or not. Other parts of the module are left out, because a
    tool may reject them.
    """
    symbols = symbols_of(module.operation)
    needed, stack = {function.symbol_name}, [function]
    while stack:
        for op in stack.pop().walk():
            for attribute in (*op.properties.values(), *op.attributes.values()):
                name = attribute.root if isinstance(attribute, at.SymbolRefAttr) else None
                if name is not None and name in symbols and name not in needed:
                    needed.add(name)
                    stack.append(symbols[name])
    return [op for op in module.body if op.symbol_name in needed]


def _argument(builder: Builder, value: Value, type_: ty.Type) -> SSAValue | Unanswered:
    if value.poison is not None and value.poison.any():
        if not value.poison.all():
            return Unanswered("MLIR 22 has no constant with some poison elements")
        return builder.append("ub.poison", [], type_)
    if element_width(value.element_type) is None or isinstance(type_, ty.MemRefType):
        return Unanswered(f"there are no constants of type {type_}")
    operand = builder.constant(value.bits, value.type)
    return operand if operand.type == type_ else builder.append("tensor.cast", [operand], type_)


def returned_values(module: Module) -> list[Answer | None]:
    """Return the results of ``@halfulp_entry`` in a printed module: None for a result that is not a constant.

    Raises ValueError if there is no such function.
    """
    entry = entry_of(module)
    blocks = entry.regions[0].blocks
    ends = [block.operations[-1] for block in blocks if block.operations[-1].name == "func.return"]
    if len(ends) != 1:
        return [None] * len(result_types(entry))
    return [constant_of(value) for value in ends[0].operands]


def entry_of(module: Module) -> Operation:
    """Return the function ``@halfulp_entry``. Raises ValueError if the module has none."""
    tables = [module.operation, *module.body]  # mlir-opt prints the module around the one that may already be there
    functions = (op for table in tables for op in table.children)
    entry = next((op for op in functions if op.symbol_name == ENTRY), None)
    if entry is None:
        raise ValueError(f"no function @{ENTRY} in what the tool printed")
    return entry


def has_loop_to_unroll(module: Module, most: int) -> bool:
    """Tell whether the entry contains outermost ``scf.for`` loops with constant bounds, each of at most ``most``
    iterations.
    """
    counts = []
    stack = [op for block in entry_of(module).regions[0].blocks for op in block.operations]
    while stack:
        op = stack.pop()
        if op.name == "scf.for":
            bounds = [constant_of(value) for value in op.operands[:3]]
            if all(bound is not None for bound in bounds):
                low, high, step = (at.integer_of_code(int(bound.bits), ty.I64) for bound in bounds if bound)
                counts.append((high - low) // max(step, 1))
        else:
            stack += op.children
    return bool(counts) and max(counts) <= most


def constant_of(value: SSAValue) -> Answer | None:
    """Return the codes of a constant, or None for any other value. Casts of a tensor's shape are ignored."""
    while isinstance(value, OpResult) and value.owner.name == "tensor.cast":
        value = value.owner.operands[0]
    if not isinstance(value, OpResult):
        return None
    attribute = value.owner.properties.get("value")
    element = ty.element_type(value.type)
    width = element_width(element)
    if width is None:
        return None
    if value.owner.name == "ub.poison":
        shape = ty.shape_of(value.type) or ()
        sizes = tuple(size or 0 for size in shape)
        dtype, limbs = code_layout(element)
        return Answer(np.zeros(sizes + limbs, dtype), np.full(sizes, Status.POISON, np.uint8))
    if value.owner.name != "arith.constant":
        return None
    if isinstance(attribute, at.IntegerAttr | at.FloatAttr):
        return Answer(ints_to_codes([attribute.code], width, ()))
    return Answer(attribute.array()) if isinstance(attribute, at.DenseElementsAttr) else None


def refused_by_schema(case: OpCase) -> str | None:
    """Return why MLIR 22 does not read the op: the op or one of its properties is newer, or is not MLIR's. None if it
    reads the op.
    """
    unwritten = case.unwritten()
    if unwritten is not None:
        return unwritten
    definition = case.definition
    if definition.since > Schema.MLIR22:
        return f"MLIR 22 has no {case.op}"
    try:
        text_of(case.module(container_shape((*case.operand_types, *case.result_types), 1)))
    except HalfulpError as error:
        return f"MLIR 22 does not know it: {error}"
    return None


# --- programs by ops --------------------------------------------------------------------------------------------------
#
# Run whole programs with an oracle that answers single ops: op by op, on the oracle's own results.

STEPS = 10_000
"""Most ops of one program, including those of its calls."""
DEPTH = 64
"""Most nested calls."""


class ByOps:
    """An oracle for programs that asks ``oracle``, an oracle for single ops. The programs may have elementwise ops,
    constants and calls, but no branches.

    An op that the oracle refuses is unanswered, and so is everything computed from it. A trap stops the program.
    """

    def __init__(self, oracle: Oracle) -> None:
        self.name = oracle.name
        self.profile = oracle.profile
        self.version = oracle.version
        self.refuses = oracle.refuses
        self.evaluate = oracle.evaluate

    def run(self, programs: Sequence[ClosedProgram]) -> list[Reply]:
        """Run all programs in parallel. If several of them have the same next question, it is asked once."""
        replies: list[Reply | None] = [None] * len(programs)
        running: dict[int, _Straight] = {}
        for index, program in enumerate(programs):
            try:
                running[index] = _Straight(program)
            except Refused as refusal:
                replies[index] = Unanswered(str(refusal))
        done = 0
        while running:
            waiting: dict[object, list[int]] = {}
            for index, straight in list(running.items()):
                if done == len(straight.steps):
                    replies[index] = straight.reply()
                    del running[index]
                else:
                    waiting.setdefault(straight.question(done), []).append(index)
            for indices in waiting.values():
                try:
                    self._step([running[index] for index in indices], done)
                except OracleError as error:
                    for index in indices:
                        replies[index] = error
                        del running[index]
            for index, straight in list(running.items()):
                if straight.stopped:
                    replies[index] = straight.trapped()
                    del running[index]
            done += 1
        assert all(reply is not None for reply in replies)
        return [reply for reply in replies if reply is not None]

    def _step(self, together: Sequence[_Straight], number: int) -> None:
        """Ask for an op of several programs, in one question unless the op depends on the shape of its operands."""
        case = together[0].steps[number].case
        given = [straight.operands(number) for straight in together]
        if len(given) == 1:
            together[0].take(number, self._asked(case, given[0]))
            return
        flat = [[flattened(codes, case.shape(own)) for codes in own] for own in given]
        answers = self._asked(case, [np.concatenate(column) for column in zip(*flat, strict=True)])
        start = 0
        for straight, own in zip(together, given, strict=True):
            shape = case.shape(own)
            stop = start + int(np.prod(shape, dtype=np.int64))
            straight.take(number, [_part(answer, start, stop, shape) for answer in answers])
            start = stop

    def _asked(self, case: OpCase, inputs: Sequence[Codes]) -> Sequence[Answer]:
        refusal = self.refuses(case)
        answers = unanswered(case, inputs, refusal) if refusal is not None else self.evaluate(case, inputs)
        shapes = [element_shape(a.bits, width_of(t)) for a, t in zip(answers, case.result_types, strict=False)]
        if len(answers) != len(case.results) or any(shape != case.shape(inputs) for shape in shapes):
            raise OracleError("garbage", f"{case}: results of the wrong number or shape")
        return answers


def flattened(codes: Codes, shape: tuple[int, ...]) -> Codes:
    """Return codes of this element shape as an array of one axis of elements."""
    return codes.reshape((int(np.prod(shape, dtype=np.int64)), *codes.shape[len(shape) :]))


def _part(answer: Answer, start: int, stop: int, shape: tuple[int, ...]) -> Answer:
    bits = answer.bits[start:stop].reshape((*shape, *answer.bits.shape[1:]))
    return Answer(bits, None if answer.status is None else answer.status[start:stop].reshape(shape), answer.why)


class _Step(NamedTuple):
    case: OpCase
    operands: tuple[int, ...]
    results: tuple[int, ...]


class _Straight:
    """A program as cases on numbered values. ``values`` has the answers that are known so far. Raises Refused."""

    def __init__(self, program: ClosedProgram) -> None:
        self.steps: list[_Step] = []
        self.values: dict[int, Answer] = {}
        self.stopped = False
        self._count = 0
        self._module = program.module
        function = program.module.lookup(program.function)
        arguments = []
        for value in program.arguments:
            status = None if value.poison is None else value.poisoned.astype(np.uint8) * np.uint8(Status.POISON)
            arguments.append(self._new())
            self.values[arguments[-1]] = Answer(value.bits, status, "an argument is poison")
        self.returned = self._enter(function, arguments, 0)
        self.types = () if function is None else result_types(function)

    def _new(self) -> int:
        self._count += 1
        return self._count

    def _enter(self, function: Operation | None, arguments: Sequence[int], depth: int) -> list[int]:
        """Record the ops of a function, and return the numbers of its results."""
        blocks = function.regions[0].blocks if function is not None and function.regions else []
        if len(blocks) != 1 or depth > DEPTH:
            raise Refused("a function is not straight-line code")
        scope: dict[SSAValue, int] = dict(zip(blocks[0].arguments, arguments, strict=True))
        for op in blocks[0].operations[:-1]:
            operands = [scope[value] for value in op.operands]
            if op.name == "func.call":
                callee = self._module.lookup(op.properties["callee"])  # type: ignore[arg-type]
                results = self._enter(callee, operands, depth + 1)
            else:
                results = [self._new() for _ in op.results]
                self._note(op, operands, results)
            scope.update(zip(op.results, results, strict=True))
        return [scope[value] for value in blocks[0].operations[-1].operands]

    def _note(self, op: Operation, operands: Sequence[int], results: Sequence[int]) -> None:
        constant = constant_of(op.results[0]) if len(results) == 1 and not operands else None
        case = case_of(op)
        if constant is not None:
            self.values[results[0]] = constant
        elif case is None or not operands:
            raise Refused(f"{op.name} is not elementwise")
        elif len(self.steps) == STEPS:
            raise Refused(f"the program has more than {STEPS} ops")
        else:
            self.steps.append(_Step(case, tuple(operands), tuple(results)))

    def question(self, number: int) -> object:
        """Return a key that is the same for steps that can be asked together."""
        case = self.steps[number].case
        return (case, id(self)) if case.is_along_an_axis else case

    def operands(self, number: int) -> list[Codes]:
        """Return the operands of a step; a scalar condition of select is repeated for each element."""
        step = self.steps[number]
        codes = [self.values[operand].bits for operand in step.operands]
        shape = element_shape(codes[-1], step.case.operand_widths[-1])
        return [
            one if element_shape(one, width) == shape else np.broadcast_to(one, shape)
            for one, width in zip(codes, step.case.operand_widths, strict=True)
        ]

    def take(self, number: int, answers: Sequence[Answer]) -> None:
        """Record the results of a step. An element with an operand without a value is unanswered."""
        step = self.steps[number]
        missing: Mask | None = None
        why = ""
        for operand in step.operands:
            given = self.values[operand]
            if given.status is not None and given.status.any():
                none = given.status != Status.VALUE
                missing, why = none if missing is None else missing | none, why or given.why
        for result, answer in zip(step.results, answers, strict=True):
            status = answer.status
            if missing is not None:
                shape = element_shape(answer.bits, width_of(step.case.result_types[step.results.index(result)]))
                status = np.zeros(shape, np.uint8) if status is None else status.copy()
                status[np.broadcast_to(missing, shape)] = Status.UNANSWERED
            self.values[result] = Answer(answer.bits, status, answer.why or why)
            self.stopped |= status is not None and bool((status == Status.TRAP).any())

    def reply(self) -> Reply:
        """Return the results, or the reason why there are none."""
        answers = tuple(self.values[number] for number in self.returned)
        silent = [a.status is not None and a.status.size and (a.status == Status.UNANSWERED).all() for a in answers]
        return Unanswered(answers[0].why or "not answered") if answers and all(silent) else answers

    def trapped(self) -> Reply:
        """Return the results of a program that trapped."""
        answers = []
        for type_ in self.types:
            shape, width = ty.shape_of(type_) or (), element_width(ty.element_type(type_))
            if width is None or None in shape:
                return Unanswered("an op stopped the program")
            answers.append(blank(tuple(size or 0 for size in shape), width, Status.TRAP))
        return tuple(answers)
