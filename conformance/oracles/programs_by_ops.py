"""Run whole programs with an oracle that answers single ops: op by op, on the oracle's own results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles.closed_programs import constant_of
from halfulp.conformance.oracles.oracle import (
    Answer,
    ClosedProgram,
    Oracle,
    OracleError,
    Refused,
    Reply,
    Status,
    Unanswered,
    unanswered,
)
from halfulp.conformance.whole_programs.rewrite import case_of
from halfulp.fp_formats.formats import Codes, Mask, code_shape, element_shape, storage_dtype
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, SSAValue, result_types
from halfulp.interp.ir.types import element_width, width_of

STEPS = 10_000
"""Most ops of one program, those of its calls included."""
DEPTH = 64
"""Most nested calls."""


class ByOps:
    """An oracle for programs made of ``oracle``: straight-line code of elementwise ops, constants and calls.

    An op that the oracle refuses is unanswered, and so is everything computed from it. A trap stops the program.
    """

    def __init__(self, oracle: Oracle) -> None:
        self.name = oracle.name
        self.profile = oracle.profile
        self.version = oracle.version
        self.refuses = oracle.refuses
        self.evaluate = oracle.evaluate

    def run(self, programs: Sequence[ClosedProgram]) -> list[Reply]:
        """Run all programs side by side: what several of them ask next is asked once."""
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
        flat = [[_flat(codes, width) for codes, width in zip(own, case.operand_widths, strict=True)] for own in given]
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


def _flat(codes: Codes, width: int) -> Codes:
    """Return codes along one axis."""
    shape = element_shape(codes, width)
    return codes.reshape((int(np.prod(shape, dtype=np.int64)), *codes.shape[len(shape) :]))


def _part(answer: Answer, start: int, stop: int, shape: tuple[int, ...]) -> Answer:
    bits = answer.bits[start:stop].reshape((*shape, *answer.bits.shape[1:]))
    return Answer(bits, None if answer.status is None else answer.status[start:stop].reshape(shape), answer.why)


class _Step(NamedTuple):
    case: OpCase
    operands: tuple[int, ...]
    results: tuple[int, ...]


class _Straight:
    """A program as cases on numbered values; those that are known have an answer. Raises Refused."""

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
        along = any(type_.startswith("!quant") and "{" in type_ for type_ in (*case.operands, *case.results))
        return (case, id(self)) if along else case

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
            sizes = tuple(size or 0 for size in shape)
            bits = np.zeros(code_shape(sizes, width), storage_dtype(width))
            answers.append(Answer(bits, np.full(sizes, Status.TRAP, np.uint8)))
        return tuple(answers)
