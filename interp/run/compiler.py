"""Compile one function: each of its blocks to segments of steps that end in a control op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, UndefinedBehavior, Unsupported
from halfulp.interp.ir.operations import Block, BlockArgument, Module, Operation, OpResult, SSAValue
from halfulp.interp.run import evaluators, frames
from halfulp.interp.run.chains import ChainPieces, can_join
from halfulp.interp.run.settings import Listener, Settings, on_floats, recording_function, settings_of
from halfulp.interp.run.steps import (
    GeneralPath,
    drawing_step,
    exact_scalar,
    general_step,
    letting_go,
    misfit_of_sizes,
    outside_step,
    raw_step,
    refusing_casts,
    scalar_step,
    specified_scalar,
    then,
    unsupported,
    unsupported_step,
    without_casts,
)
from halfulp.interp.run.stochastic import rounds_stochastically, stochastic_kernel
from halfulp.semantics.integer_kernels import tabled
from halfulp.semantics.kernel import Kernel
from halfulp.semantics.profile import Profile

# --- observing --------------------------------------------------------------------------------------------------------
#
# Steps and actions of which the listeners are told (`halfulp.interp.run.settings`).


def _report_stop(op: Operation, listeners: Sequence[Listener], report: UndefinedBehavior) -> None:
    """Tell the listeners about undefined behaviour that is about to stop the run."""
    for listener in listeners:
        listener.undefined_behavior(op, report)


def observed(
    op: Operation, operands: tuple[int, ...], results: tuple[int, ...], step: frames.Step | None
) -> frames.Step:
    """Return a step that tells the listeners before and after it calls ``step``. If ``step`` is None, there is nothing
    to call.
    """
    operand_types = [value.type for value in op.operands]
    result_types = [value.type for value in op.results]

    def watched(slots: frames.Slots) -> None:
        listeners = slots[0].settings.listeners
        before = [frames.listener_view(slots[slot], type_) for slot, type_ in zip(operands, operand_types, strict=True)]
        for listener in listeners:
            listener.op_will_run(op, before)
        if step is not None:
            try:
                step(slots)
            except UndefinedBehavior as report:
                _report_stop(op, listeners, report)
                raise
        after = [frames.listener_view(slots[slot], type_) for slot, type_ in zip(results, result_types, strict=True)]
        for listener in listeners:
            listener.op_did_run(op, before, after)

    return watched


def observed_control(op: Operation, operands: tuple[int, ...], action: frames.Action) -> frames.Action:
    """Return an action that tells the listeners before it runs, and also afterwards, except for calls and ops with
    regions.
    """
    types = [value.type for value in op.operands]

    def watched(frame: frames.Frame) -> frames.Segment | None:
        listeners = frame.slots[0].settings.listeners
        before = [frames.listener_view(frame.slots[slot], type_) for slot, type_ in zip(operands, types, strict=True)]
        for listener in listeners:
            listener.op_will_run(op, before)
        try:
            following = action(frame)
        except UndefinedBehavior as report:
            _report_stop(op, listeners, report)
            raise
        if not op.results and not op.regions:
            for listener in listeners:
                listener.op_did_run(op, before, ())
        return following

    return watched


# --- compiler ---------------------------------------------------------------------------------------------------------


class CodeStore(Protocol):
    """The parts of a `halfulp.interp.run.program.CompiledModule` that a compiler uses.

    ``kernels``: the kernels that were built already, by the profile of the function, then by op.
    """

    module: Module
    settings: Settings
    kernels: dict[Profile, dict[Any, Kernel]]

    def compiled(self, op: Operation, compiler: type[FunctionCompiler]) -> frames.FunctionCode:
        """Return the code that a compiler makes for a function with a body."""

    def called(self, op: Operation) -> evaluators.MachineCall | None:
        """Return the machine code of a function; None if machine code does not save time for it."""


class FunctionCompiler(evaluators.Compiler):
    """Compiles one function to slots and steps.

    ``one_at_a_time``: True if no frame waits for another one in the middle of a function; a slot may then be emptied
    after a branch or a call has taken its content. ``by_machine``: True if functions may run as machine code.
    """

    one_at_a_time = True
    by_machine = True
    _can_join = staticmethod(can_join)

    def __init__(self, store: CodeStore, function: Operation) -> None:
        settings = settings_of(function, store.settings)
        super().__init__(store.module, function, settings, partial(store.compiled, compiler=type(self)))
        self._store = store
        self._kernels = store.kernels.setdefault(settings.profile, {})
        self._dying = self._last_uses()

    def compile(self) -> frames.FunctionCode:
        """Compile the whole function."""
        entry, evaluator = self.region(self.function.regions[0]), self.evaluator(self.function)
        if isinstance(evaluator, evaluators.Entry):
            entry.steps = (evaluator.build(self.function, self), *entry.steps)
        return frames.FunctionCode(self.function, self._template, entry)

    def evaluator(self, op: Operation) -> Any:
        """Return the evaluator of an op; None if there is none."""
        return evaluators.evaluator_of(op)

    # --- values that are not needed any more ---

    def _read(self, op: Operation, evaluator: Any) -> Sequence[SSAValue]:
        """Return the values that an op reads: those that it names, and those that its evaluator asks for."""
        if isinstance(evaluator, evaluators.OnValues):
            return [*op.used_values, *evaluator.reads(op)]
        return op.used_values

    def _large(self, type_: ty.Type) -> bool:
        """Tell whether values of a type may take so much memory that they are released after their last use."""
        return isinstance(type_, ty.ShapedType)

    def _home(self, value: SSAValue) -> Block | None:
        """Return the block whose ops may release a value; None if no op may.

        It is the block of the op that makes the value, or, for an argument, one of the function's own blocks.
        """
        if isinstance(value, OpResult):
            return value.owner.parent
        if not self.one_at_a_time or not isinstance(value, BlockArgument):
            return None
        return value.block if value.block.parent is self.function.regions[0] else None

    def _last_uses(self) -> dict[Operation, list[SSAValue]]:
        """Collect, by op, the large values that are not needed after it.

        A value is kept if an op with regions or an op of another block uses it. A constant is kept too: in a loop,
        nothing would compute it again.
        """
        last: dict[SSAValue, Operation | None] = {}
        for op in self.function.walk():
            evaluator = self.evaluator(op)
            control = isinstance(evaluator, evaluators.OnFrames)
            stays = control and (op.regions or not self.one_at_a_time)
            passed_to = {id(argument) for block, _ in op.successors for argument in block.arguments}
            for value in self._read(op, evaluator):
                if self._large(value.type):
                    here = not stays and self._home(value) is op.parent and id(value) not in passed_to
                    here = here and last.get(value, op) is not None
                    last[value] = op if here else None
            for result in () if control else op.results:
                if self._large(result.type):
                    last.setdefault(result, None if isinstance(evaluator, evaluators.Constant) else op)
        dying: dict[Operation, list[SSAValue]] = {}
        for value, final in last.items():
            if final is not None:
                dying.setdefault(final, []).append(value)
        return dying

    # --- blocks ---

    def _fill(self, block: Block, segment: frames.Segment) -> None:
        """Compile the ops of a block, cut into segments at its control ops."""
        outer = self._after
        steps: list[frames.Step] = []
        pieces = ChainPieces(self._dying, self.slot)
        cost = begin = 0
        for index, op in enumerate(block.operations):
            cost += 1
            evaluator = self.evaluator(op)
            if isinstance(evaluator, evaluators.OnFrames):
                steps += pieces.taken()
                after = self._after = frames.Segment()
                segment.op, segment.steps, segment.cost = op, tuple(steps), cost
                segment.control = self._control(op, evaluator)
                self._cut(segment, block.operations[begin:index], op, after)
                segment = after
                steps, cost, begin = [], 0, index + 1
            else:
                try:
                    step = self._step(op, evaluator)
                except HalfulpError as error:
                    raise frames.located(error, op) from None
                own = [] if step is None else [step]
                if op in self._dying:
                    own.append(letting_go(self.slots(self._dying[op])))
                joins = self._can_join(op, self.settings)
                steps += pieces.add(op, self._kernel_of_elements(op, evaluator) if joins else None, own)
        if not block.operations:
            raise Unsupported("the block ends without a terminator", location=self.function.location)
        if cost:  # the last op is not a terminator that halfulp executes
            raise unsupported(block.operations[-1])
        self._after = outer

    def _cut(
        self, segment: frames.Segment, before: Sequence[Operation], control: Operation, after: frames.Segment
    ) -> None:
        """Record a segment: some ops, then the control op, then ``after``, unless the block ends with the
        control op.
        """

    # --- control ops ---

    def _control(self, op: Operation, evaluator: evaluators.OnFrames) -> frames.Action:
        action = self._action(op, evaluator)
        used = op.used_values
        if any(frames.is_cast(value) for value in used):
            action = refusing_casts(op, self.slots(used), action)
        if self.settings.listeners:
            action = self._watched(op, action)
        if op in self._dying:
            action = then(action, letting_go(self.slots(self._dying[op])))
        return action

    def _action(self, op: Operation, evaluator: evaluators.OnFrames) -> frames.Action:
        return evaluator.build(op, self)

    def _watched(self, op: Operation, action: frames.Action) -> frames.Action:
        """Tell the listeners about a control op's action, and about the end of the call that it ends."""
        operands, types = self.slots(op.operands), [value.type for value in op.operands]
        watched = observed_control(op, operands, action)

        def observed(frame: frames.Frame) -> frames.Segment | None:
            following = watched(frame)
            call, run = frame.call, frame.slots[0]
            if following is None and run.frame is frame.parent and call is not None and call.results:
                results = [
                    frames.listener_view(frame.slots[slot], type_) for slot, type_ in zip(operands, types, strict=True)
                ]
                for listener in run.settings.listeners:
                    listener.op_did_run(call, (), results)
            return following

        return observed

    # --- all other ops ---

    def part(self, op: Operation) -> frames.Step:
        """Return the step of an op, as `Compiler.part` defines."""
        step = self._unobserved(op, self.evaluator(op))
        assert step is not None
        return step

    def _step(self, op: Operation, evaluator: Any) -> frames.Step | None:
        step = self._unobserved(op, evaluator)
        if self.settings.listeners:
            step = observed(op, self.slots(op.operands), self.slots(op.results), step)
        return step

    def _unobserved(self, op: Operation, evaluator: Any) -> frames.Step | None:
        operands, results = self.slots(op.operands), self.slots(op.results)
        step: frames.Step | None
        match evaluator:
            case evaluators.Constant():
                value = evaluator.build(op, self)
                self._template[results[0]] = frames.lower(value)
                step = None
            case evaluators.Elementwise() | evaluators.OnValues() if (self.settings.vscale or 1) > 1 and (
                misfit := misfit_of_sizes(op, evaluator, self.settings)
            ):
                step = unsupported_step(op, misfit)
            case evaluators.Elementwise() if any(isinstance(value.type, ty.MemRefType) for value in op.operands):
                return self._unobserved(op, evaluator.on_memrefs)
            case evaluators.Elementwise():
                step = self._elementwise_step(op, evaluator, operands, results)
            case evaluators.OnValues():
                values, function = evaluator.reads(op), self._function(op, evaluator)
                read = self.slots(values)
                if evaluator.raw:
                    step = raw_step(function, op, read, results)
                else:
                    step = general_step(function, op, read, results, values)
            case evaluators.OnRawSlots():
                step = evaluator.build(op, self)
            case _ if op.definition is None:
                step = outside_step(op, operands, results)
            case _:
                step = unsupported_step(op)
        return step

    def _function(self, op: Operation, evaluator: evaluators.OnValues) -> frames.Function:
        function = evaluator.build(op, self if evaluator.of_module else self.settings)
        if evaluator.raw and not evaluator.casts and any(map(frames.is_cast, evaluator.reads(op))):
            function = without_casts(function)
        recorder = self.settings.recorder
        return function if recorder is None else recording_function(op, recorder, function)

    def _elementwise_step(
        self, op: Operation, evaluator: evaluators.Elementwise, operands: tuple[int, ...], results: tuple[int, ...]
    ) -> frames.Step:
        kernel = self.kernel(op, evaluator)
        values = (*op.operands, *op.results)
        slow = GeneralPath(op, evaluator, kernel, self.settings, operands, results)
        if any(isinstance(value.type, ty.ShapedType) for value in values):
            return slow
        if self.settings.random is not None and rounds_stochastically(op, self.settings.profile):
            if not self.one_at_a_time or self.settings.recorder is not None:
                return slow
            scalar = self._scalar(op, stochastic_kernel(op, self.settings.profile))
            return slow if scalar is None else drawing_step(op, scalar, operands, results, slow)
        if self.settings.recorder is not None:
            return slow if on_floats(op) else scalar_step(exact_scalar(kernel), operands, results, slow)
        scalar = self._scalar(op, kernel)
        return slow if scalar is None or kernel.notice else scalar_step(scalar, operands, results, slow)

    def _scalar(self, op: Operation, kernel: Kernel) -> Callable[..., Any] | None:
        """Return the implementation on numbers; None if the run must keep which results are unspecified and each result
        may be.
        """
        return specified_scalar(kernel, op) if self.settings.track_open else kernel.scalar

    def machine_code(self, function: Operation) -> evaluators.MachineCall | None:
        """Return the machine code of a function, as `Compiler.machine_code` defines."""
        return self._store.called(function) if self.by_machine else None

    def kernel(self, op: Operation, evaluator: evaluators.Elementwise) -> Kernel:
        """Return the kernel of an elementwise op; each is made once."""
        # Types are compared by identity: equal ones read from one text are one object.
        types = tuple([id(value.type) for value in (*op.operands, *op.results)])
        key = (evaluator, types, tuple(op.properties.items()), evaluator.surroundings(op, self.settings))
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = self._described(op, evaluator.build(op, self.settings))
        return kernel

    def _kernel_of_elements(self, op: Operation, evaluator: Any) -> Kernel | None:
        """Return the kernel of an op that does the same to each element; None for any other op."""
        if isinstance(evaluator, evaluators.Elementwise):
            return self.kernel(op, evaluator)
        return evaluator.kernel if isinstance(evaluator, evaluators.OnValues) else None

    def _described(self, op: Operation, kernel: Kernel) -> Kernel:
        """Return a kernel with a description by a table if its operands have few bits; else the kernel itself."""
        if not means_one_thing(op):
            return kernel
        operands, results = (
            [self.settings.width(ty.element_type(value.type)) for value in values]
            for values in (op.operands, op.results)
        )
        return tabled(kernel, operands, results)


def means_one_thing(op: Operation) -> bool:
    """Tell whether the codes of an op's operands and results are numbers whose meaning does not depend on
    their place.
    """
    elements = {ty.element_type(value.type) for value in (*op.operands, *op.results)}
    numbers = ty.IntegerType | ty.IndexType | ty.FloatType
    return all(
        not each.along_axes if isinstance(each, ty.UniformQuantizedType) else isinstance(each, numbers)
        for each in elements
    )
