"""The steps to which blocks are compiled: closures that read and write the slots of a frame.

The fast path of a scalar op works on integers alone. If a slot holds anything else, or the kernel reports a fault, the
op runs by the general path on `Value`s, which handles poison, undefined behaviour, unspecified results and lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, Unsupported
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.ir.types import fixed_type
from halfulp.interp.run import frames
from halfulp.interp.run.elementwise import ElementwiseStep
from halfulp.interp.run.evaluators import Elementwise, OnValues
from halfulp.interp.run.settings import Settings
from halfulp.interp.verifier import problem_of
from halfulp.semantics.kernel import Integral, Kernel, Open


def refusing_casts(op: Operation, operands: tuple[int, ...], action: frames.Action) -> frames.Action:
    """Return an action that first raises Unsupported if one of its operands is an unresolved cast (see `Cast`)."""

    def checked(frame: frames.Frame) -> frames.Segment | None:
        for slot in operands:
            if isinstance(frame.slots[slot], frames.Cast):
                raise frames.located(Unsupported(frames.unresolved(frame.slots[slot])), op)
        return action(frame)

    return checked


def without_casts(function: frames.Function) -> frames.Function:
    """Return a function that first raises Unsupported if one of its operands is an unresolved cast (see `Cast`)."""

    def checked(run: frames.Run, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        for slot in operands:
            if isinstance(slot, frames.Cast):
                raise Unsupported(frames.unresolved(slot))
        return function(run, operands)

    return checked


def letting_go(dead: tuple[int, ...]) -> frames.Step:
    """Return a step that empties slots that are not needed any more, so that the next result can use their memory."""

    def let_go(slots: frames.Slots) -> None:
        for slot in dead:
            slots[slot] = None

    return let_go


def then(action: frames.Action, step: frames.Step) -> frames.Action:
    """Return an action that runs ``action`` and then ``step``."""

    def both(frame: frames.Frame) -> frames.Segment | None:
        following = action(frame)
        step(frame.slots)
        return following

    return both


def unsupported(op: Operation, why: str = "") -> Unsupported:
    """Return the error for an op that halfulp does not execute."""
    known = op.definition is not None
    why = why or ("halfulp has no implementation of it" if known else "no registered dialect has this op")
    hint = _LOWERED_HINT if op.name.startswith("iree_linalg_ext.") else None
    return Unsupported(f"cannot execute '{op.name}': {why}", location=op.location, op=op.name, hint=hint)


_LOWERED_HINT = (
    "IREE's compiler made this op from an op that linalg does not have (sort, scatter, scan, top_k, fft): compute that "
    "step outside of the program, or with other ops, such as a product with a one-hot matrix for a scatter"
)


def misfit_of_sizes(op: Operation, evaluator: Elementwise | OnValues, settings: Settings) -> str | None:
    """Return why an op with scalable vectors cannot run: the sizes of its vectors match only for vscale=1. None if they
    match.

    MLIR's verifiers compare most sizes without checking which dimensions are scalable. Therefore the same rules check
    the op again, with the sizes that the vectors have in this run.
    """
    types = op.types
    vectors = [type_ for type_ in types if isinstance(type_, ty.VectorType)]
    if not any(type_.scalable for type_ in vectors):
        return None
    sized = [fixed_type(type_, settings.vscale) for type_ in types]
    if isinstance(evaluator, OnValues) and not evaluator.scales:
        operands = [SSAValue(type_) for type_ in sized[: len(op.operands)]]
        problem = problem_of(Operation(op.name, op.definition, operands, sized[len(operands) :], op.properties))
        rule = problem.message.removeprefix(f"'{op.name}' op ") if problem else None
    else:
        shapes = {type_.shape for type_ in sized if isinstance(type_, ty.VectorType)}
        rule = "the op needs vectors of one shape" if isinstance(evaluator, Elementwise) and len(shapes) > 1 else None
    return rule and f"{', '.join(map(str, vectors))} do not fit with vscale={settings.vscale}: {rule}"


def unsupported_step(op: Operation, why: str = "") -> frames.Step:
    """Make a step that raises Unsupported when it runs."""

    def step(slots: frames.Slots) -> None:
        raise unsupported(op, why)

    return step


def outside_step(op: Operation, operands: tuple[int, ...], results: tuple[int, ...]) -> frames.Step:
    """Make the step of an op that no dialect has; the function ``outside`` of the run gives its results."""
    unsupported = unsupported_step(op)
    types = [value.type for value in op.operands]
    produced = [value.type for value in op.results]

    def step(slots: frames.Slots) -> None:
        run: frames.Run = slots[0]
        if run.outside is None or op.regions:
            unsupported(slots)
        else:
            values = tuple([frames.lift(slots[slot], type_) for slot, type_ in zip(operands, types, strict=True)])
            for slot, value in zip(results, run.outside(op, values, produced), strict=True):
                slots[slot] = frames.lower(value)

    return step


class GeneralPath:
    """The step of an elementwise op on `Value`s, built at its first use: most scalar ops never need it.

    It is an object, not a closure, which would take four times as much memory for each op.
    """

    __slots__ = ("_parts", "_step")

    def __init__(
        self,
        op: Operation,
        evaluator: Elementwise,
        kernel: Kernel,
        settings: Settings,
        operands: tuple[int, ...],
        results: tuple[int, ...],
    ) -> None:
        self._parts = op, evaluator, kernel, settings, operands, results
        self._step: frames.Step | None = None

    def __call__(self, slots: frames.Slots) -> None:
        """Run the op."""
        if self._step is None:
            op, evaluator, kernel, settings, operands, results = self._parts
            self._step = general_step(ElementwiseStep(op, evaluator, kernel, settings).run, op, operands, results)
        self._step(slots)


def general_step(
    function: frames.Function,
    op: Operation,
    operands: tuple[int, ...],
    results: tuple[int, ...],
    values: Sequence[SSAValue] | None = None,
) -> frames.Step:
    """Make a step that calls the function with `Value`s. ``values``: the values that it reads, by default the
    operands.
    """
    types = tuple(value.type for value in (op.operands if values is None else values))

    def step(slots: frames.Slots) -> None:
        run: frames.Run = slots[0]
        try:
            values = tuple([frames.lift(slots[slot], type_) for slot, type_ in zip(operands, types, strict=True)])
            produced = function(run, values)
        except HalfulpError as error:
            raise frames.located(error, op) from None
        for slot, value in zip(results, produced, strict=True):
            slots[slot] = frames.lower(value)

    return step


def raw_step(
    function: frames.Function, op: Operation, operands: tuple[int, ...], results: tuple[int, ...]
) -> frames.Step:
    """Make a step that calls the function with the contents of the slots, which may be unresolved casts."""

    read = reading(operands)

    def step(slots: frames.Slots) -> None:
        try:
            produced = function(slots[0], read(slots))
        except HalfulpError as error:
            raise frames.located(error, op) from None
        for slot, value in zip(results, produced, strict=True):
            slots[slot] = value if value.__class__ is int else frames.lower(value)

    return step


def reading(operands: tuple[int, ...]) -> Callable[[frames.Slots], tuple[Any, ...]]:
    """Return the function that reads some slots. For two or more, ``itemgetter`` is quicker than a loop."""
    if len(operands) > 1:
        return itemgetter(*operands)
    return lambda slots: tuple([slots[slot] for slot in operands])


def scalar_step(
    scalar: Callable[..., Any], operands: tuple[int, ...], results: tuple[int, ...], slow: frames.Step
) -> frames.Step:
    """Make the fast path of a scalar op: it takes and returns integers, and calls ``slow`` for all other contents."""
    if len(results) == 1 and len(operands) == 2:
        return _binary_step(scalar, *operands, results[0], slow)
    if len(results) == 1 and len(operands) == 1:
        return _unary_step(scalar, operands[0], results[0], slow)

    def step(slots: frames.Slots) -> None:
        codes = [slots[slot] for slot in operands]
        if all(code.__class__ is int for code in codes):
            produced = scalar(*codes)
            if produced.__class__ is tuple:
                for slot, code in zip(results, produced, strict=True):
                    slots[slot] = code
                return
            if produced.__class__ is int:
                slots[results[0]] = produced
                return
        slow(slots)

    return step


def drawing_step(
    op: Operation, scalar: Callable[..., Any], operands: tuple[int, ...], results: tuple[int, ...], slow: frames.Step
) -> frames.Step:
    """Make the fast path of a scalar op that rounds stochastically: it takes random bits of the run. ``scalar``: takes
    them as its last operand.

    If a result is poison, or may be unspecified, ``slow`` takes the same bits again.
    """

    def step(slots: frames.Slots) -> None:
        codes = [slots[slot] for slot in operands]
        draws = slots[0].draws
        if all(code.__class__ is int for code in codes):
            code = scalar(*codes, draws.one(op))
            if code.__class__ is int:
                slots[results[0]] = code
                return
            draws.give_back(op)
        slow(slots)

    return step


def specified_scalar(kernel: Kernel, op: Operation) -> Callable[..., Any] | None:
    """Return the scalar implementation of a kernel for runs that keep unspecified results; None if any result may be
    unspecified.

    If only a NaN may be, the function returns None for a NaN, so that the general path runs.
    """
    if not kernel.opens:
        return kernel.scalar if kernel.open is None else None
    element = op.results[0].type
    if kernel.opens != Open.NAN.value or not isinstance(element, ty.FloatType):
        return None
    scalar, is_nan = kernel.scalar, element.format.is_nan

    def unless_nan(*codes: int) -> Any:
        code = scalar(*codes)
        return None if code.__class__ is int and is_nan(code) else code

    return unless_nan


def exact_scalar(kernel: Kernel) -> Callable[..., Any]:
    """Return the scalar implementation of a kernel for runs with a recorder. It returns None for an integer op that
    wraps, so that the general path runs.
    """
    meaning = kernel.meaning()
    if not isinstance(meaning, Integral) or not meaning.strict_kernels:
        return kernel.scalar
    signed, unsigned = (strict.scalar for strict in meaning.strict_kernels)

    def unless_wrapped(*codes: int) -> Any:
        code = signed(*codes)
        return code if code.__class__ is int and unsigned(*codes).__class__ is int else None

    return unless_wrapped


def _binary_step(scalar: Callable[..., Any], left: int, right: int, result: int, slow: frames.Step) -> frames.Step:
    def step(slots: frames.Slots) -> None:
        a = slots[left]
        b = slots[right]
        if a.__class__ is int and b.__class__ is int:
            code = scalar(a, b)
            if code.__class__ is int:
                slots[result] = code
                return
        slow(slots)

    return step


def _unary_step(scalar: Callable[..., Any], operand: int, result: int, slow: frames.Step) -> frames.Step:
    def step(slots: frames.Slots) -> None:
        a = slots[operand]
        if a.__class__ is int:
            code = scalar(a)
            if code.__class__ is int:
                slots[result] = code
                return
        slow(slots)

    return step
