"""mlir-opt 22 folding constants: what its folders make of ops and of whole programs (docs: "Canonicalization")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.compare import differing
from halfulp.conformance.comparing.op_case import Task, reference, task
from halfulp.conformance.oracles import closed_programs as pr
from halfulp.conformance.oracles.oracle import Answer, OracleError, Program, Reply, Status, Unanswered, unanswered
from halfulp.conformance.oracles.tool import Tool, find_tool
from halfulp.fp_formats.codes import code_shape, ints_to_codes, storage_dtype
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module
from halfulp.interp.values.value import element_width
from halfulp.semantics.kernel import Codes, Mask
from halfulp.semantics.profile import SPEC, Profile

VERSION = "22."

FOLDING = "canonicalize"
RUNNING = "inline,func.func(canonicalize,sccp,canonicalize)"
"""What folds whole programs: calls are inlined."""
UNROLLING = "func.func(test-loop-unrolling{unroll-factor=-1 loop-depth=0},canonicalize,sccp,canonicalize),inline"
"""Unrolls the outermost loops of constant bounds, all of them, however often they run."""

CHUNK = 1 << 20  # elements of one tensor
QUESTIONS = 1 << 13  # ops asked for one task, beyond one for each chunk
SCALARS = 1 << 16  # elements asked for one task where only scalars fold
PART = 1 << 10  # ops in one module
PROGRAMS = 256  # programs in one process
NESTING = 4  # loops in loops that are unrolled
ROUNDS = 1 << 10  # of a loop that is unrolled
SPLIT = 64  # parts in which a tensor that does not fold is asked again

_ONLY_SCALARS = frozenset({"arith.cmpf"})
_MOVES = frozenset({"arith.bitcast", "arith.select"})
_CRASHES_ON_I0 = frozenset({"arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui", "arith.extsi"})
_NEVER_FOLDED = {
    "arith.scaling_extf": "MLIR 22 has no folder for it",
    "arith.scaling_truncf": "MLIR 22 has no folder for it",
}
_SIGNED_DIVISIONS = frozenset({"arith.divsi", "arith.ceildivsi", "arith.floordivsi", "arith.remsi"})

Group = npt.NDArray[np.intp]


class MlirFold:
    """Constant folding by ``mlir-opt-22`` (or what HALFULP_MLIR_OPT names)."""

    name = "mlir-fold"
    profile = "mlir22-fold"

    def __init__(self) -> None:
        self._tool = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", VERSION)
        self.version = self._tool.version

    def refuses(self, task: Task) -> str | None:
        """Ops without a folder, and what MLIR 22 does not know."""
        if task.op.startswith("quant."):
            return "MLIR 22 has no folders for casts of constants to and from quantised types"
        if not task.operands:
            return "a constant is folded already"
        if task.op in _NEVER_FOLDED:
            return _NEVER_FOLDED[task.op]
        if task.op in _CRASHES_ON_I0 and _has_i0(task):
            return f"mlir-opt 22 crashes in {task.op} of i0"
        return pr.refused_by_schema(task)

    def evaluate(self, task: Task, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Large tensors first. One element that does not fold keeps a whole tensor from folding: those that seem
        likely to are asked alone, and a tensor that does not fold is asked again in parts, as long as `QUESTIONS` are
        not used up.
        """
        shape = task.shape(inputs)
        size = int(np.prod(shape, dtype=np.int64))
        flat = tuple(flattened(codes, shape) for codes in inputs)
        # Results fold one by one: each has a status of its own.
        answers = tuple(Answer(a.bits, _copied(a.status), a.why) for a in unanswered(task, flat, "not folded"))
        if size:
            asking = Asking(self._tool, task, flat, answers)
            asking.scalars() if _is_scalar(task) else asking.tensors()
        return tuple(Answer(a.bits.reshape((*shape, *a.bits.shape[1:])), _status(a, shape), a.why) for a in answers)

    def run(self, programs: Sequence[Program]) -> list[Reply]:
        """The results that fold to constants, hundreds of programs to a process."""
        return run_folding(self._tool, programs, RUNNING)


def flattened(codes: Codes, shape: tuple[int, ...]) -> Codes:
    """Codes of that element shape along one axis."""
    return codes.reshape((int(np.prod(shape, dtype=np.int64)), *codes.shape[len(shape) :]))


def _is_scalar(task: Task) -> bool:
    """Whether only scalars fold, or differ from tensors: of a type whose codes have several spellings of a number, a
    scalar is kept as a number, a tensor as codes, which moving them may turn into numbers or not.
    """
    return task.op in _ONLY_SCALARS or (task.op in _MOVES and "f80" in (*task.operands, *task.results))


def _has_i0(task: Task) -> bool:
    return "i0" in (*task.operands, *task.results)


def _copied(status: npt.NDArray[np.uint8] | None) -> npt.NDArray[np.uint8] | None:
    return None if status is None else status.copy()


def _status(answer: Answer, shape: tuple[int, ...]) -> npt.NDArray[np.uint8] | None:
    assert answer.status is not None
    return answer.status.reshape(shape) if answer.status.any() else None


def fold(tool: Tool, texts: Sequence[str], pipeline: str, seconds: float) -> str:
    """What mlir-opt prints of modules put through a pipeline. Raises OracleError."""
    return tool.run(
        [
            "--split-input-file",
            "--mlir-disable-threading",
            "--mlir-print-op-generic",  # passes may leave ops whose custom form we do not know
            "--mlir-print-elementsattrs-with-hex-if-larger=16",
            f"--pass-pipeline=builtin.module({pipeline})",
        ],
        pr.joined(texts),
        seconds,
    )


def read(text: str, count: int) -> list[tuple[Module, list[Answer | None]]]:
    """The ``count`` modules of a text and what their entries return. Raises OracleError "garbage"."""
    try:
        found = [(module, pr.returned_values(module)) for module in pr.separated(text)]
    except (HalfulpError, ValueError) as error:
        raise OracleError("garbage", f"mlir-opt printed what is no result: {error}") from None
    if len(found) != count:
        raise OracleError("garbage", f"mlir-opt printed {len(found)} modules where {count} were given")
    return found


def run_folding(tool: Tool, programs: Sequence[Program], pipeline: str) -> list[Reply]:
    """Run programs by putting them through passes; what their entries return is then constant, or not folded.

    Those with loops of few rounds are put through `UNROLLING` after that, once for each level of nesting.
    """
    results: list[Reply] = [Unanswered("")] * len(programs)
    asked: dict[int, str] = {}
    types = {}
    for place, program in enumerate(programs):
        closed = pr.closed(program)
        if isinstance(closed, Unanswered):
            results[place] = closed
        else:
            asked[place], types[place] = closed.text, closed.results
    for _ in range(NESTING + 1):
        unrolled = {}
        for place, found in _fold_apart(tool, asked, pipeline).items():
            if isinstance(found, Unanswered | OracleError):
                results[place] = found
                continue
            module, values = found
            results[place] = _whole(values, types[place])
            if None in values and pr.has_loop_to_unroll(module, ROUNDS):
                unrolled[place] = pr.text_of(module)
        asked, pipeline = unrolled, UNROLLING
    return results


def _fold_apart(
    tool: Tool, asked: Mapping[int, str], pipeline: str
) -> dict[int, tuple[Module, list[Answer | None]] | Unanswered | OracleError]:
    """What comes of many texts. A batch that fails is halved until the text to blame is alone: its refusal is an
    answer, anything else the error that it is.
    """
    results: dict[int, tuple[Module, list[Answer | None]] | Unanswered | OracleError] = {}
    places = list(asked)
    batches = [places[start : start + PROGRAMS] for start in range(0, len(places), PROGRAMS)]
    while batches:
        batch = batches.pop()
        try:
            printed = fold(tool, [asked[place] for place in batch], pipeline, 10 + 0.1 * len(batch))
            results |= zip(batch, read(printed, len(batch)), strict=True)
        except OracleError as error:
            if len(batch) > 1:
                batches += [batch[: len(batch) // 2], batch[len(batch) // 2 :]]
            else:
                results[batch[0]] = Unanswered(str(error)) if error.kind == "refusal" else error
    return results


def _whole(values: Sequence[Answer | None], types: Sequence[ty.Type]) -> Reply:
    if len(values) != len(types):
        return OracleError("garbage", f"{len(values)} results were printed where {len(types)} are expected")
    if values and not any(values):
        return Unanswered("not folded")
    answers = [_missing(type_) if value is None else value for value, type_ in zip(values, types, strict=True)]
    found = tuple(answer for answer in answers if answer is not None)
    return found if len(found) == len(answers) else Unanswered("not folded")


def _missing(type_: ty.Type) -> Answer | None:
    """What stands for a result that did not fold beside others that did; None where its shape is not known."""
    shape, width = ty.shape_of(type_), element_width(ty.element_type(type_))
    if shape is None or None in shape or width is None:
        return None
    sizes = tuple(size for size in shape if size is not None)
    bits = np.zeros(code_shape(sizes, width), storage_dtype(width))
    return Answer(bits, np.full(sizes, Status.UNANSWERED, np.uint8), "not folded")


class Asking:
    """One task on its way through mlir-opt; the answers are filled in place.

    ``inputs``: along one axis. ``pipeline``: the passes. ``profile``: tells which elements will hardly fold.
    ``questions``: how many ops may be asked for them.
    """

    def __init__(
        self,
        tool: Tool,
        task: Task,
        inputs: tuple[Codes, ...],
        answers: tuple[Answer, ...],
        pipeline: str = FOLDING,
        profile: Profile = SPEC,
        questions: int | None = None,
    ) -> None:
        self._tool = tool
        self._task = task
        self._inputs = inputs
        self._answers = answers
        self._pipeline = pipeline
        self._profile = profile
        self._questions = QUESTIONS if questions is None else questions
        self._size = task.shape(inputs)[0]

    def tensors(self) -> None:
        """Ask for tensors, and for parts of those that do not fold."""
        undefined, doubtful = _doubtful(self._task, self._inputs, self._profile)
        likely = np.flatnonzero(~doubtful & ~undefined)
        # Undefined behaviour is asked for in tensors, with an element that has a value at the end: a folder that notes
        # failures in one flag for all elements may have forgotten them by then.
        groups = [*_chunks(likely), *(np.append(part, likely[:1]) for part in _chunks(np.flatnonzero(undefined)))]
        # In a random order, so that those asked alone stand for all where the questions do not suffice.
        others = np.random.default_rng(0).permutation(np.flatnonzero(doubtful & ~undefined))
        alone = _parts(others, self._questions // 2)
        groups += alone
        left = self._questions - len(alone)
        while groups:
            unfolded = [group for group, folded in zip(groups, self._ask(groups), strict=True) if not folded]
            groups = []
            for group in unfolded:
                parts = _parts(group, min(SPLIT, left)) if len(group) > 1 else []
                if len(parts) > 1:
                    groups += parts
                    left -= len(parts)

    def scalars(self) -> None:
        """Ask for single elements."""
        self._ask([np.array([k]) for k in range(min(self._size, SCALARS))], scalars=True)

    def _ask(self, groups: Sequence[Group], scalars: bool = False) -> list[bool]:
        """Whether each group folded; where it did, its elements are answered."""
        folded: list[bool] = []
        for part in _packed(groups):
            folded += self._ask_together(part, scalars)
        return folded

    def _ask_together(self, groups: Sequence[Group], scalars: bool) -> list[bool]:
        builder = pr.Builder()
        for group in groups:
            codes = [operand[group] for operand in self._inputs]
            builder.ask(self._task, codes, None if scalars else (len(group),))
        try:
            values = read(fold(self._tool, [pr.text_of(builder.module())], self._pipeline, 120), 1)[0][1]
        except OracleError:
            if len(groups) == 1:
                raise
            middle = len(groups) // 2
            return [*self._ask_together(groups[:middle], scalars), *self._ask_together(groups[middle:], scalars)]
        count = len(self._answers)
        if len(values) != count * len(groups):
            raise OracleError("garbage", f"{len(values)} results where {count * len(groups)} are expected")
        folded = []
        for place, group in enumerate(groups):
            own = values[place * count : (place + 1) * count]
            folded.append(all(value is not None for value in own))
            for answer, value in zip(self._answers, own, strict=True):
                if value is not None:
                    assert answer.status is not None
                    answer.bits[group] = value.bits
                    answer.status[group] = Status.VALUE if value.status is None else value.status
        return folded


def _chunks(group: Group) -> list[Group]:
    return [group[start : start + CHUNK] for start in range(0, len(group), CHUNK)]


def _parts(group: Group, count: int) -> list[Group]:
    """The group in at most ``count`` parts, none of them empty."""
    count = min(count, len(group))
    return list(np.array_split(group, count)) if count else []


def _packed(groups: Sequence[Group]) -> Iterator[list[Group]]:
    """The groups, in lists of no more than `PART` with about `CHUNK` elements together."""
    part: list[Group] = []
    elements = 0
    for group in groups:
        if part and (len(part) == PART or elements + len(group) > CHUNK):
            yield part
            part, elements = [], 0
        part.append(group)
        elements += len(group)
    if part:
        yield part


def _doubtful(asked: Task, inputs: Sequence[Codes], profile: Profile) -> tuple[Mask, Mask]:
    """The elements that are undefined behaviour, and those that are likely not to fold otherwise.

    Nothing but the order of questions depends on it.
    """
    expected = reference(asked, inputs, profile)
    shape = asked.shape(inputs)
    nothing = np.zeros(shape, np.bool_)
    mask = nothing.copy() if expected.poison is None else expected.poison.copy()
    if asked.op in ("arith.extf", "arith.truncf"):
        opposite = "arith.truncf" if asked.op == "arith.extf" else "arith.extf"
        back = reference(task(opposite, asked.results[0], asked.operands[0]), expected.bits).bits[0]
        mask |= differing(asked.operand_types[0], back, inputs[0])
    if asked.op in _SIGNED_DIVISIONS:
        width = element_width(asked.operand_types[0]) or 0
        lowest = ints_to_codes([1 << max(width - 1, 0)], width, ())
        for type_, codes in zip(asked.operand_types, inputs, strict=True):
            mask |= ~differing(type_, codes, lowest)
    return nothing if expected.undefined is None else expected.undefined, mask
