"""Ops of a program as computations, so that a program can have the faults of one of its ops, or of all ops that are
alike.

The operands of an op in the block of the function can be recomputed: a program that ends before the op gives them.
Another program takes the result of the op as one more argument, and does the rest. So from the wrong results of the op
follow those of the whole program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import prod

import numpy as np

from halfulp.conformance.vectors.columns import Chunk, Role, by_row
from halfulp.conformance.vectors.computation import Computed, OpComputation, ProgramComputation
from halfulp.conformance.vectors.datapaths import Same, outputs_of
from halfulp.conformance.vectors.device import Cause, Device, through
from halfulp.conformance.vectors.sampling import Sample
from halfulp.conformance.whole_programs.rewrite import case_of, copied, function, module_with
from halfulp.fp_formats.formats import Codes, Mask
from halfulp.interp.ir.base import FileLineCol
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Block, Operation, SSAValue
from halfulp.interp.ir.types import shape_of
from halfulp.interp.run.settings import profile_of
from halfulp.interp.text.printer import print_module

MOST_STEPS, MOST_OPS = 16, 640
"""The most ops of a program whose faults are tried, those that come last, and the most ops of the programs that are run
for them: a program for each.
"""

AT_ONCE = 64
"""For so few rows, the programs of all causes of an op are run at once."""

MOST_ELEMENTS = 64
"""The most elements of the result of such an op."""


def place_of(op: Operation, number: int) -> str:
    """Return the words that tell where an op is: its line, or its number in a program that has no lines."""
    return f" in line {op.location.line}" if isinstance(op.location, FileLineCol) else f" (op {number})"


@dataclass(frozen=True, eq=False)
class Step:
    """Elementwise ops of a program that are alike, as hardware has several instances of one unit; mostly a single op.
    ``places``: their places in the block of the function. ``sizes``: for each, the number of elements of the result and
    of each operand. ``name``: the op and its lines. ``op``: the op alone, on single elements.
    """

    program: ProgramComputation
    places: tuple[int, ...]
    sizes: tuple[int, ...]
    name: str
    op: OpComputation

    @lru_cache(maxsize=MOST_STEPS)  # noqa: B019
    def _until(self, number: int) -> ProgramComputation:
        """Return the program that ends before one of the ops and returns its operands, or after all of them its own
        results. The results of the ops before that one are its last arguments.
        """
        program, taken = self.program, self.places[:number]
        block = Block()
        values: dict[SSAValue, SSAValue] = {
            argument: block.add_argument(argument.type, argument.name) for argument in program.body.arguments
        }
        for place in taken:
            result = program.body.operations[place].results[0]
            values[result] = block.add_argument(result.type)
        end = self.places[number] if number < len(self.places) else len(program.body.operations) - 1
        for place, op in enumerate(program.body.operations[:end]):
            if place not in taken:
                block.append(copied(op, values))
        results = [values[operand] for operand in program.body.operations[end].operands]
        made = function(program.function, block, results, like=program.target)
        module = module_with((made if op is program.target else op for op in program.module.body), program.module)
        return replace(program, text=print_module(module, generic=True), _parsed=None)

    @lru_cache(maxsize=4)  # noqa: B019
    def _first(self, inputs: Same) -> tuple[Chunk, Chunk, Mask]:
        """Return the same as `_given` for the first of the ops."""
        return self._given(0, inputs.inputs)

    def _given(self, number: int, inputs: Chunk) -> tuple[Chunk, Chunk, Mask]:
        """Return the operands of one of the ops, its right outputs for them, and which of its elements are defined: one
        element after the other, row by row.
        """
        until, size = self._until(number), self.sizes[number]
        made = until.compute(inputs)
        results, poison = (
            [codes for column, codes in zip(until.outputs, made.outputs, strict=True) if column.role is role]
            for role in (Role.RESULT, Role.POISON)
        )
        operands = tuple(_flat(results[k : k + size]) for k in range(0, len(results), size))
        right = self.op.compute(operands)
        faulty = np.logical_or.reduce([_flat(poison[k : k + size]) != 0 for k in range(0, len(poison), size)])
        if made.undefined is not None:
            faulty |= np.repeat(made.undefined, size)
        if right.undefined is not None:
            faulty |= right.undefined
        return operands, right.outputs, ~faulty

    def sample(self, sample: Sample) -> Sample:
        """Return the rows of a sample of the program as rows of the first of the ops. If the program does not return
        the result of the op, what the device computed is unknown, and is as expected here.
        """
        operands, right, _ = self._first(Same(sample.inputs))
        size, actual = self.sizes[0], right
        differs, values, control = (np.repeat(mask, size) for mask in (sample.differs, sample.values, sample.control))
        body, start = self.program.body, 0
        for value in body.operations[-1].operands:
            width = prod(extent or 0 for extent in shape_of(value.type) or ())
            if value is body.operations[self.places[0]].results[0]:
                actual = (_flat(sample.actual[start : start + width]), *right[1:])
                differs = values = differs & by_row(actual[0] != right[0])
                break
            start += width
        beside = tuple(codes[:, np.newaxis][:, :0] for codes in right)
        known: Mask = np.zeros((len(differs), 0), np.bool_)
        return Sample(operands, right, actual, np.arange(len(differs)), differs, values, control, beside, known, ())

    def computed(self, causes: Sequence[Cause], inputs: Chunk) -> list[Computed | None]:
        """Return the outputs of the program for each cause, if it changes these ops; None if the ops cannot have it."""
        rows, count = len(inputs[0]), len(causes)
        devices = [cause.change(Device(self.op)) for cause in causes]
        given = tuple(np.concatenate([codes] * count) for codes in inputs)
        changes: Mask = np.zeros((count, rows), np.bool_)
        counts: Mask = np.ones((count, rows), np.bool_)
        for number, size in enumerate(self.sizes):
            operands, right, defined = self._given(number, given) if number else self._first(Same(inputs))
            results: list[Codes] = []
            for k, device in enumerate(devices):
                own = slice(k * rows * size, (k + 1) * rows * size) if number else slice(None)
                expected = tuple(codes[own] for codes in right)
                taken = tuple(codes[own] for codes in operands)
                made = None if device is None else device.outputs(self.op.outputs, taken, expected)
                if made is None:
                    devices[k] = None
                    results.append(expected[0])
                else:
                    results.append(made[0][0])
                    counts[k] &= (defined[own] & made[1]).reshape(rows, size).all(axis=1)
                    changes[k] |= by_row(results[k] != expected[0]).reshape(rows, size).any(axis=1)
            elements = np.concatenate(results).reshape(count * rows, size, *results[0].shape[1:])
            given += tuple(np.ascontiguousarray(elements[:, k]) for k in range(size))
        wrong = changes & counts
        after = self._until(len(self.places)).compute(tuple(codes[wrong.reshape(-1)] for codes in given))
        ends = np.cumsum(wrong.sum(axis=1))
        return [
            None if device is None else self._with(inputs, where, after, slice(end - int(where.sum()), end))
            for device, where, end in zip(devices, wrong, ends.tolist(), strict=True)
        ]

    def _with(self, inputs: Chunk, where: Mask, after: Computed, part: slice) -> Computed:
        """Return the outputs of the program, in some rows those of a part of ``after``."""
        own = outputs_of(self.program, Same(inputs))
        if not where.any():
            return own
        names = [column.name for column in self._until(len(self.places)).outputs]
        outputs = [codes.copy() for codes in own.outputs]
        for column, codes in zip(self.program.outputs, outputs, strict=True):
            if column.name in names:  # these ops may be the only ones that have unspecified bits
                codes[where] = after.outputs[names.index(column.name)][part]
        undefined: Mask = np.zeros(len(where), np.bool_) if own.undefined is None else own.undefined.copy()
        undefined[where] = False if after.undefined is None else after.undefined[part]
        return Computed(tuple(outputs), undefined)


def _flat(columns: tuple[Codes, ...] | list[Codes]) -> Codes:
    """Return columns, of one element each, as one column of all elements, row by row."""
    stacked = np.stack(columns, axis=1)
    return stacked.reshape(-1, *stacked.shape[2:])


def steps_of(program: ProgramComputation) -> Iterator[Step]:
    """Yield the ops of a program whose operands can be recomputed, each alone, and then those that are alike together:
    elementwise ops in the block of the function, if it has only one. There are none if the program draws random bits,
    or is a kernel.
    """
    if program.random is not None or program.launch is not None or len(program.target.regions[0].blocks) > 1:
        return
    numbers = {op: number for number, op in enumerate(program.ops())}
    profile = profile_of(program.target, program.profile)
    alike: dict[OpComputation, list[tuple[int, int, Operation]]] = {}
    sized = [(place, _elements(op), op) for place, op in enumerate(program.body.operations)]
    most = max(1, min(MOST_STEPS, MOST_OPS // len(numbers)))
    for place, size, op in [one for one in sized if 0 < one[1] <= MOST_ELEMENTS][-most:]:
        case = case_of(op)
        if case is None:
            continue
        alone = OpComputation(case, profile, flags=False)
        try:
            _ = alone.inputs, alone.outputs
        except HalfulpError:
            continue
        alike.setdefault(alone, []).append((place, size, op))
        yield Step(program, (place,), (size,), f"{op.name}{place_of(op, numbers[op])}", alone)
    for alone, found in alike.items():
        if len(found) > 1:
            places, sizes, ops = zip(*found, strict=True)
            yield Step(program, places, sizes, f"{alone.case.op}{_places_of(ops, numbers)}", alone)


def _places_of(ops: Sequence[Operation], numbers: Mapping[Operation, int]) -> str:
    if not all(isinstance(op.location, FileLineCol) for op in ops):
        return f" (ops {', '.join(str(numbers[op]) for op in ops)})"
    return " in the lines " + ", ".join(str(op.location.line) for op in ops if isinstance(op.location, FileLineCol))


def _elements(op: Operation) -> int:
    """Return the number of elements of each operand and of the result of an op; 0 if they differ or are not known."""
    shapes = {shape_of(value.type) for value in (*op.operands, *op.results)}
    shape = shapes.pop() if len(shapes) == 1 and op.operands and len(op.results) == 1 else None
    return 0 if shape is None else prod(extent or 0 for extent in shape)


def in_steps(step: Step, causes: Sequence[Cause]) -> Iterator[Cause]:
    """Yield for each cause by which an op alone would be wrong the cause that ops of a program have it."""

    @lru_cache(maxsize=2)
    def at_once(inputs: Same) -> list[Computed | None]:
        return step.computed(causes, inputs.inputs)

    def of_program(number: int, computation: ProgramComputation, inputs: Chunk) -> Computed | None:
        if computation != step.program:  # beside another cause, the program may lack these ops
            return None
        few = len(inputs[0]) <= AT_ONCE
        return at_once(Same(inputs))[number] if few else step.computed(causes[number : number + 1], inputs)[0]

    for number, cause in enumerate(causes):
        yield through(f"{cause.name} in {step.name}", partial(of_program, number), slow=True)
