"""Fold constants with mlir-opt: single ops and whole programs (docs: "Canonicalization")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.op_case import OpCase, op_case, reference
from halfulp.conformance.comparing.refinement import differing
from halfulp.conformance.oracles import closed_programs as pr
from halfulp.conformance.oracles.jit import PRINTERS, MlirTools, printing
from halfulp.conformance.oracles.mlir_opt import find_mlir_opt
from halfulp.conformance.oracles.oracle import (
    Answer,
    ClosedProgram,
    OracleError,
    Reply,
    Status,
    Unanswered,
    blank,
    unanswered,
)
from halfulp.conformance.oracles.tool import Tool
from halfulp.fp_formats.formats import Codes, Mask, ints_to_codes
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module
from halfulp.interp.ir.types import element_width, width_of
from halfulp.semantics.profile import PROFILES, SPEC, Profile

FOLDING = "canonicalize"
RUNNING = "inline,func.func(canonicalize,sccp,canonicalize)"
"""The pass pipeline that folds whole programs, with calls inlined."""
UNROLLING = "func.func(test-loop-unrolling{unroll-factor=-1 loop-depth=0},canonicalize,sccp,canonicalize),inline"
"""The pass pipeline that unrolls all outermost loops with constant bounds, however often they run."""

CHUNK = 1 << 20  # elements of one tensor
QUESTIONS = 1 << 13  # ops asked for one case, beyond one for each chunk
SCALARS = 1 << 16  # elements asked for one case where only scalars fold
PART = 1 << 10  # ops in one module
PROGRAMS = 256  # programs in one process
NESTING = 4  # nested loops that are unrolled
ROUNDS = 1 << 10  # rounds of a loop that is unrolled
SPLIT = 64  # number of parts in which a tensor that does not fold is asked again

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
    """Constant folding by mlir-opt. ``mlir``: which one, for `find_mlir_opt`; mlir-opt-22 is preferred."""

    name = "mlir-fold"
    profile = "mlir22-fold"

    def __init__(self, mlir: str | None = None) -> None:
        self._tool = find_mlir_opt(mlir, older=True)
        self.version = self._tool.version

    def refuses(self, case: OpCase) -> str | None:
        """Return a reason for ops that MLIR does not fold, and ops that MLIR 22 does not know; else None."""
        if case.op.startswith("quant."):
            return "MLIR 22 has no folders for casts of constants to and from quantised types"
        if not case.operands:
            return "a constant is folded already"
        if case.op in _NEVER_FOLDED:
            return _NEVER_FOLDED[case.op]
        if case.op in _CRASHES_ON_I0 and ("i0" in (*case.operands, *case.results)):
            return f"mlir-opt 22 crashes in {case.op} of i0"
        return pr.refused_by_schema(case)

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Return the results of folding. Large tensors are folded first. If one element does not fold, its whole tensor
        does not. So elements that seem likely not to fold are asked alone, and a tensor that does not fold is asked
        again in parts, until `QUESTIONS` are used up.
        """
        shape = case.shape(inputs)
        size = int(np.prod(shape, dtype=np.int64))
        flat = tuple(pr.flattened(codes, shape) for codes in inputs)
        answers = unanswered(case, flat, "not folded")
        if size:
            asking = Asking(self._tool, case, flat, answers)
            asking.scalars() if _is_scalar(case) else asking.tensors()
        return tuple(Answer(a.bits.reshape((*shape, *a.bits.shape[1:])), _status(a, shape), a.why) for a in answers)

    def run(self, programs: Sequence[ClosedProgram]) -> list[Reply]:
        """Fold programs, hundreds of them in one process, and return the results that become constants."""
        return run_folding(self._tool, programs, RUNNING)


def _is_scalar(case: OpCase) -> bool:
    """Tell whether only scalars fold, or whether they fold differently from tensors. If a type has several codes for
    one number, mlir-opt keeps a scalar as a number and a tensor as codes; moving a tensor may or may not turn its codes
    into numbers.
    """
    return case.op in _ONLY_SCALARS or (case.op in _MOVES and "f80" in (*case.operands, *case.results))


def _status(answer: Answer, shape: tuple[int, ...]) -> npt.NDArray[np.uint8] | None:
    assert answer.status is not None
    return answer.status.reshape(shape) if answer.status.any() else None


def fold(tool: Tool, texts: Sequence[str], pipeline: str, seconds: float) -> str:
    """Put modules through a pipeline and return what mlir-opt prints. Raises OracleError."""
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


def read(text: str, count: int, schema: Schema) -> list[tuple[Module, list[Answer | None]]]:
    """Read the ``count`` modules of a text and the results of their entries. Raises OracleError "garbage"."""
    try:
        found = [(module, pr.returned_values(module)) for module in pr.separated(text, schema)]
    except (HalfulpError, ValueError) as error:
        raise OracleError("garbage", f"mlir-opt printed no readable result: {error}") from None
    if len(found) != count:
        raise OracleError("garbage", f"mlir-opt printed {len(found)} modules where {count} were given")
    return found


def run_folding(tool: Tool, programs: Sequence[ClosedProgram], pipeline: str) -> list[Reply]:
    """Run programs by putting them through passes; the results of their entries are then constants, or did not fold.

    Programs with loops of few rounds also go through `UNROLLING`, once for each level of nesting.
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
    """Fold many texts, and return a reply for each. A batch that fails is halved until the failing text is alone: a
    refusal is an answer, any other failure an error.
    """
    results: dict[int, tuple[Module, list[Answer | None]] | Unanswered | OracleError] = {}
    places = list(asked)
    batches = [places[start : start + PROGRAMS] for start in range(0, len(places), PROGRAMS)]
    while batches:
        batch = batches.pop()
        try:
            printed = fold(tool, [asked[place] for place in batch], pipeline, 10 + 0.1 * len(batch))
            results |= zip(batch, read(printed, len(batch), tool.schema), strict=True)
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
    """Return the answer for a result that did not fold although others did; None if its shape is unknown."""
    shape, width = ty.shape_of(type_), element_width(ty.element_type(type_))
    if shape is None or None in shape or width is None:
        return None
    sizes = tuple(size for size in shape if size is not None)
    return blank(sizes, width, Status.UNANSWERED, "not folded")


class Asking:
    """A case for which mlir-opt is asked; the answers are filled in place.

    ``inputs``: the operands, along one axis. ``pipeline``: the passes. ``profile``: used to find the elements that
    probably do not fold. ``questions``: the number of ops that may be asked for them.
    """

    def __init__(
        self,
        tool: Tool,
        case: OpCase,
        inputs: tuple[Codes, ...],
        answers: tuple[Answer, ...],
        pipeline: str = FOLDING,
        profile: Profile = SPEC,
        questions: int | None = None,
    ) -> None:
        self._tool = tool
        self._case = case
        self._inputs = inputs
        self._answers = answers
        self._pipeline = pipeline
        self._profile = profile
        self._questions = QUESTIONS if questions is None else questions
        self._size = case.shape(inputs)[0]

    def tensors(self) -> None:
        """Ask for tensors, and for parts of those that do not fold."""
        undefined, doubtful = _doubtful(self._case, self._inputs, self._profile)
        likely = np.flatnonzero(~doubtful & ~undefined)
        # Undefined behaviour is asked for in tensors that end with a defined element: a folder that records
        # failures in one flag for all elements may lose them there.
        groups = [*_chunks(likely), *(np.append(part, likely[:1]) for part in _chunks(np.flatnonzero(undefined)))]
        # In a random order, so that the elements asked alone represent all if the questions run out.
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
        """Ask for groups and return which of them folded; the elements of those are answered."""
        folded: list[bool] = []
        for part in _packed(groups):
            folded += self._ask_together(part, scalars)
        return folded

    def _ask_together(self, groups: Sequence[Group], scalars: bool) -> list[bool]:
        builder = pr.Builder()
        for group in groups:
            codes = [operand[group] for operand in self._inputs]
            builder.ask(self._case, codes, None if scalars else (len(group),))
        try:
            printed = fold(self._tool, [pr.text_of(builder.module())], self._pipeline, 120)
            values = read(printed, 1, self._tool.schema)[0][1]
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
    """Split the group into at most ``count`` parts, none of them empty."""
    count = min(count, len(group))
    return list(np.array_split(group, count)) if count else []


def _packed(groups: Sequence[Group]) -> Iterator[list[Group]]:
    """Yield the groups in lists: at most `PART` groups and about `CHUNK` elements each."""
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


def _doubtful(asked: OpCase, inputs: Sequence[Codes], profile: Profile) -> tuple[Mask, Mask]:
    """Return the elements with undefined behaviour, and the elements that probably do not fold.

    Only the order in which elements are asked depends on this.
    """
    expected = reference(asked, inputs, profile)
    shape = asked.shape(inputs)
    nothing = np.zeros(shape, np.bool_)
    mask = nothing.copy() if expected.poison is None else expected.poison.copy()
    if asked.op in ("arith.extf", "arith.truncf"):
        opposite = "arith.truncf" if asked.op == "arith.extf" else "arith.extf"
        back = reference(op_case(opposite, asked.results[0], asked.operands[0]), expected.bits).bits[0]
        mask |= differing(asked.operand_types[0], back, inputs[0])
    if asked.op in _SIGNED_DIVISIONS:
        width = width_of(asked.operand_types[0])
        lowest = ints_to_codes([1 << max(width - 1, 0)], width, ())
        for type_, codes in zip(asked.operand_types, inputs, strict=True):
            mask |= ~differing(type_, codes, lowest)
    return nothing if expected.undefined is None else expected.undefined, mask


# --- mlir quant -------------------------------------------------------------------------------------------------------
#
# Ask MLIR's own lowering of the quant dialect to arithmetic, folded, or executed where it does not fold.

LOWERING = "func.func(lower-quant-ops),canonicalize"
_EXECUTING = (
    "--lower-quant-ops",
    "--canonicalize",
    "--convert-elementwise-to-linalg",
    "--one-shot-bufferize=bufferize-function-boundaries=true",
    "--convert-linalg-to-loops",
    "--lower-affine",
    "--convert-scf-to-cf",
    "--expand-strided-metadata",
    "--lower-affine",
    "--convert-to-llvm",
    "--reconcile-unrealized-casts",
)
_EXECUTED = frozenset({"f16", "bf16", "f32", "f64"})
ELEMENTS = 1 << 16  # elements executed in one process
QUANT_QUESTIONS = 1 << 8  # ops asked for elements that probably do not fold, before they are executed


class MlirQuant:
    """``--lower-quant-ops`` of ``mlir-opt-22``: its output is folded, and ``mlir-runner-22`` executes the rest."""

    name = "mlir-quant"
    profile = "mlir22-quant"

    def __init__(self) -> None:
        self._tools = MlirTools()
        self.version = self._tools.version

    def refuses(self, case: OpCase) -> str | None:
        """Return a reason for ops of other dialects; else None."""
        return None if case.op.startswith("quant.") else f"{case.op} is not of the quant dialect"

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Fold types with one scale first, in tensors of one axis. The lowering of other types is a loop, which MLIR
        does not fold. The rest is executed.
        """
        shape = case.shape(inputs)
        size = int(np.prod(shape, dtype=np.int64))
        answer = unanswered(case, inputs, "not folded")[0]
        status = np.array(answer.status, np.uint8)
        if size and _has_one_scale(case):
            flat = tuple(pr.flattened(codes, shape) for codes in inputs)
            folded = Answer(pr.flattened(answer.bits, shape).copy(), status.reshape(size).copy())
            assert folded.status is not None
            Asking(self._tools.opt, case, flat, (folded,), LOWERING, PROFILES[self.profile], QUANT_QUESTIONS).tensors()
            status = folded.status.reshape(shape)
            answer = Answer(folded.bits.reshape(answer.bits.shape), why=answer.why)
        left = status == Status.UNANSWERED
        if left.any() and _is_executed(case):
            executed = self._executed(case, inputs, left)
            answer.bits[left] = executed[left]
            status[left] = Status.VALUE
        return (Answer(answer.bits, status if status.any() else None, answer.why),)

    def run(self, programs: Sequence[ClosedProgram]) -> list[Reply]:
        """Return the results that fold to constants once casts of quantised types are arithmetic."""
        return run_folding(self._tools.opt, programs, f"func.func(lower-quant-ops),{RUNNING}")

    def _executed(self, case: OpCase, inputs: Sequence[Codes], wanted: Mask) -> Codes:
        """Return the codes of all elements; only those in ``wanted`` have to be right."""
        shape = case.shape(inputs)
        if not _has_one_scale(case):
            return self._execute(case, inputs, shape)
        places = np.flatnonzero(wanted)
        flat = [codes.reshape(-1) for codes in inputs]
        result = np.zeros(wanted.size, ints_to_codes([], width_of(case.result_types[0]), (0,)).dtype)
        for start in range(0, len(places), ELEMENTS):
            part = places[start : start + ELEMENTS]
            result[part] = self._execute(case, [codes[part] for codes in flat], (len(part),))
        return result.reshape(shape)

    def _execute(self, case: OpCase, inputs: Sequence[Codes], shape: tuple[int, ...]) -> Codes:
        """Run a program that prints the codes of the results, a number per line. Raises OracleError."""
        builder = pr.Builder()
        builder.ask(case, inputs, shape)
        width = width_of(case.result_types[0])
        text = _printing(pr.text_of(builder.module()), shape, width)
        # For a poison value, a register keeps bits above the width of its type: they are not part of it.
        numbers = [number & (1 << width) - 1 for number in self._tools.numbers(_EXECUTING, text)]
        if len(numbers) != prod(shape):
            raise OracleError("garbage", f"the program printed {len(numbers)} numbers, not {prod(shape)}")
        return ints_to_codes(numbers, width, shape)


def _has_one_scale(case: OpCase) -> bool:
    quantized = [t for t in (*case.operand_types, *case.result_types) if isinstance(t, ty.UniformQuantizedType)]
    return all(t.axis is None and t.block_sizes is None for t in quantized)


def _is_executed(case: OpCase) -> bool:
    types = (*case.operand_types, *case.result_types)
    return all(str(type_) in _EXECUTED for type_ in types if isinstance(type_, ty.FloatType))


def _printing(module: str, shape: tuple[int, ...], width: int) -> str:
    """Return a module whose ``@entry`` prints the results of the given module's entry."""
    tensor = ty.TensorType(shape, ty.IntegerType(width))
    lines = [
        f"%r:1 = func.call @{pr.ENTRY}() : () -> {tensor}",
        "%zero = arith.constant 0 : index",
        "%one = arith.constant 1 : index",
        *printing(0, tensor),
        "return",
    ]
    head, _, tail = module.rpartition("}")
    body = "".join(f"    {line}\n" for line in lines)
    return f"{head}\n{PRINTERS}  func.func @entry() {{\n{body}  }}\n}}{tail}"
