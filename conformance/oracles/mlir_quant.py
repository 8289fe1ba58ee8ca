"""Ask MLIR's own lowering of the quant dialect to arithmetic, folded, or executed where it does not fold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles import closed_programs as pr
from halfulp.conformance.oracles.jit import UTILITIES, library
from halfulp.conformance.oracles.mlir_fold import RUNNING, VERSION, Asking, flattened, run_folding
from halfulp.conformance.oracles.oracle import Answer, ClosedProgram, OracleError, Reply, Status, unanswered
from halfulp.conformance.oracles.tool import find_tool
from halfulp.fp_formats.codes import LIMB_BITS, Codes, Mask, ints_to_codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import width_of
from halfulp.semantics.profile import PROFILES

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
PLAIN_X86 = "--mattr=-avx512f"
"""Options that restrict code to what every x86 has: AVX-512 overflows differently to unsigned integers of 32 bits."""
ELEMENTS = 1 << 16  # elements executed in one process
QUESTIONS = 1 << 8  # ops asked for elements that probably do not fold, before they are executed
SECONDS = 60.0


class MlirQuant:
    """``--lower-quant-ops`` of ``mlir-opt-22``: its output is folded, and ``mlir-runner-22`` executes the rest."""

    name = "mlir-quant"
    profile = "mlir22-quant"

    def __init__(self) -> None:
        self._opt = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", VERSION)
        self._runner = find_tool("mlir-runner-22", "HALFULP_MLIR_RUNNER", VERSION)
        self._library = library(self._runner, UTILITIES)
        self.version = self._opt.version

    def refuses(self, case: OpCase) -> str | None:
        """Refuse ops of other dialects."""
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
            flat = tuple(flattened(codes, shape) for codes in inputs)
            folded = Answer(flattened(answer.bits, shape).copy(), status.reshape(size).copy())
            assert folded.status is not None
            Asking(self._opt, case, flat, (folded,), LOWERING, PROFILES[self.profile], QUESTIONS).tensors()
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
        return run_folding(self._opt, programs, f"func.func(lower-quant-ops),{RUNNING}")

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
        lowered = self._opt.run(_EXECUTING, text, SECONDS)
        options = ["-e", "main", "--entry-point-result=void", f"--shared-libs={self._library}", PLAIN_X86]
        printed = self._runner.run(options, lowered, SECONDS)
        try:
            # For a poison value, a register keeps bits above the width of its type: they are not part of it.
            numbers = [int(line) & (1 << width) - 1 for line in printed.split()]
            return ints_to_codes(numbers, width, shape)
        except (ValueError, OverflowError):
            raise OracleError("garbage", f"the program printed {printed[:60]!r}") from None


def _has_one_scale(case: OpCase) -> bool:
    quantized = [t for t in (*case.operand_types, *case.result_types) if isinstance(t, ty.UniformQuantizedType)]
    return all(t.axis is None and t.block_sizes is None for t in quantized)


def _is_executed(case: OpCase) -> bool:
    types = (*case.operand_types, *case.result_types)
    return all(str(type_) in _EXECUTED for type_ in types if isinstance(type_, ty.FloatType))


def _printing(module: str, shape: tuple[int, ...], width: int) -> str:
    """Return a module whose ``@main`` prints the results of the given module's entry."""
    tensor = f"tensor<{''.join(f'{size}x' for size in shape)}i{width}>"
    indices = [f"%i{axis}" for axis in range(len(shape))]
    lines = [
        "  func.func private @printU64(i64)",
        "  func.func private @printNewline()",
        "  func.func @main() {",
        f"    %all = func.call @{pr.ENTRY}() : () -> {tensor}",
        "    %zero = arith.constant 0 : index",
        "    %one = arith.constant 1 : index",
    ]
    for index, size in zip(indices, shape, strict=True):
        lines.append(f"    %n{index[2:]} = arith.constant {size} : index")
        lines.append(f"    scf.for {index} = %zero to %n{index[2:]} step %one {{")
    lines.append(f"    %code = tensor.extract %all[{', '.join(indices)}] : {tensor}")
    if width < LIMB_BITS:
        lines.append(f"    %number = arith.extui %code : i{width} to i{LIMB_BITS}")
    lines.append(f"    func.call @printU64({'%number' if width < LIMB_BITS else '%code'}) : (i64) -> ()")
    lines.append("    func.call @printNewline() : () -> ()")
    lines += ["    }" for _ in shape]
    head, _, tail = module.rpartition("}")
    return "\n".join([head, *lines, "    return", "  }", f"}}{tail}"])
