"""Oracles that lower to LLVM with mlir-opt and execute with mlir-runner: one element function in a loop, or programs.

Neither the lowering nor LLVM may see constants to fold. So calls of functions separate the code from its inputs: the
operands of a case are read from memory, and functions return the constants of a program.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase, reference
from halfulp.conformance.oracles.closed_programs import refused_by_schema
from halfulp.conformance.oracles.jit_programs import PreparedProgram, programs_text
from halfulp.conformance.oracles.jit_text import SIGALRM, Child, case_text, codes_of_limbs, signal_of, spliced
from halfulp.conformance.oracles.oracle import (
    Answer,
    ClosedProgram,
    OracleError,
    Reply,
    Status,
    Unavailable,
    run_together,
)
from halfulp.conformance.oracles.tool import Tool, find_tool
from halfulp.fp_formats.formats import Codes, Mask, limb_count
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import width_of

TO_LLVM = ("--convert-vector-to-llvm", "--convert-scf-to-cf", "--convert-to-llvm", "--reconcile-unrealized-casts")

UTILITIES = "libmlir_c_runner_utils.so"

APART = 2048
"""Number of elements of a case that are asked in a process of their own, since they may stop it."""

GROUPS = 256
"""Number of processes for the other elements. If one of them stops, its elements are asked again, one by one."""

LEAST = 16
"""Least number of elements in a group."""

PROGRAMS = 256
"""Number of programs in one module."""

SECONDS = 60.0


class JitOracle:
    """An oracle that executes a program after ``passes``.

    ``passes``: run before those of `TO_LLVM`. ``runtime``: further libraries. ``floats``: the types that can be
    lowered. ``machine``: CPU features that the code generator must not use: with AVX-512, bf16 instructions take
    subnormals as zero, and LLVM 22 crashes on vector<1xi1>.
    """

    name: str
    profile: str
    passes: ClassVar[tuple[str, ...]] = ()
    runtime: ClassVar[tuple[str, ...]] = ()
    floats: ClassVar[frozenset[str]]
    max_width: ClassVar[int]
    machine: ClassVar[str] = "-avx512f"

    def __init__(self) -> None:
        self._opt = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22")
        self._runner = find_tool("mlir-runner-22", "HALFULP_MLIR_RUNNER", "22")
        self.version = self._opt.version
        self._libraries = [library(self._runner, name) for name in (*self.runtime, UTILITIES)]

    # --- cases --------------------------------------------------------------------------------------------------------

    def refuses(self, case: OpCase) -> str | None:
        """Refuse types that cannot be lowered. Subclasses add ops."""
        reasons = (self.refuses_type(type_) for type_ in (*case.operand_types, *case.result_types))
        refused = refused_by_schema(case) or next((why for why in reasons if why), None)
        return refused or self.refuses_op(case.operation(None))

    def refuses_type(self, type_: ty.Type) -> str | None:
        """Say why values of a type cannot be lowered; None if they can."""
        element = ty.element_type(type_)
        if isinstance(type_, ty.TensorType | ty.MemRefType):
            return f"{self.name} runs scalars, vectors, and nonempty tensors of static shape"
        if isinstance(type_, ty.VectorType) and any(type_.scalable):
            return "scalable vectors have no fixed size"
        if isinstance(element, ty.FloatType):
            return None if element.format.name in self.floats else f"{self.name} has no {element.format.name}"
        if isinstance(element, ty.IntegerType):
            if element.signedness != "signless":
                return f"{element} has no lowering"
            return None if 0 < element.width <= self.max_width else f"{self.name} has no i{element.width}"
        return None if isinstance(element, ty.IndexType) else f"{element} has no lowering"

    def refuses_op(self, op: Operation) -> str | None:
        """Say why an op cannot be lowered although its types can; None if it can."""
        return None

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Compute all elements in one loop. Elements with undefined behaviour run apart, since each may stop the
        process.
        """
        shape = case.shape(inputs)
        count = int(np.prod(shape, dtype=np.int64))
        columns = [_rows(codes, width, count) for codes, width in zip(inputs, case.operand_widths, strict=True)]
        undefined = reference(case, inputs).undefined
        risky = np.zeros(count, np.bool_) if undefined is None else np.broadcast_to(undefined, shape).reshape(-1)
        widths = [width_of(type_) for type_ in case.result_types]
        results = [np.zeros((count, limb_count(width)), np.uint64) for width in widths]
        status = np.full(count, Status.UNANSWERED, np.uint8)
        self._ask(case, columns, ~risky, risky, results, status)
        left = (status == Status.UNANSWERED) & ~risky
        if left.any():
            self._ask(case, columns, np.zeros_like(risky), left, results, status)
        why = f"asking more than {APART} elements that may stop the process takes too long"
        statuses = status.reshape(shape) if status.any() else None
        return tuple(
            Answer(codes_of_limbs(limbs, width, shape), statuses, why)
            for limbs, width in zip(results, widths, strict=True)
        )

    def _ask(
        self, case: OpCase, columns: list[Codes], together: Mask, apart: Mask, results: list[Codes], status: Codes
    ) -> None:
        """Fill in results and status of the elements ``together``, and of the first ones ``apart``."""
        batch, single = np.flatnonzero(together), np.flatnonzero(apart)[:APART]
        order = np.concatenate([batch, single])
        if not order.size:
            return
        group = max(LEAST, -(-batch.size // GROUPS))
        asked = [batch[start : start + group] for start in range(0, batch.size, group)]
        asked += [single[k : k + 1] for k in range(single.size)]
        text = case_text(case, [column[order] for column in columns], batch.size, group)
        children = self.execute(spliced(case.module(None), text))
        if len(children) != len(asked):
            raise OracleError("garbage", f"{len(asked)} processes ran, but {len(children)} reported their end")
        width = sum(limbs.shape[1] for limbs in results)
        for where, child in zip(asked, children, strict=True):
            if child.signal:
                status[where] = Status.TRAP if where.size == 1 and child.signal != SIGALRM else Status.UNANSWERED
                continue
            rows = np.array(child.numbers, np.uint64)
            if rows.size != where.size * width:
                raise OracleError("garbage", f"expected {where.size * width} numbers, got {rows.size}")
            start = 0
            for limbs in results:
                limbs[where] = rows.reshape(where.size, width)[:, start : start + limbs.shape[1]]
                start += limbs.shape[1]
            status[where] = Status.VALUE

    # --- programs -----------------------------------------------------------------------------------------------------

    def run(self, programs: Sequence[ClosedProgram]) -> list[Reply]:
        """Run many programs in one module, each in a process of its own.

        A program that stops its process has trapped.
        """
        return run_together(programs, lambda k, each: PreparedProgram(each, f"p{k}.", self._check), self._run, PROGRAMS)

    def _check(self, op: Operation, types: Iterable[ty.Type]) -> str | None:
        return next((why for why in map(self.refuses_type, types) if why), None) or self.refuses_op(op)

    def _run(self, part: Sequence[PreparedProgram]) -> list[Reply]:
        children = self.execute(programs_text(part))
        if len(children) != len(part):
            raise OracleError("garbage", f"{len(part)} processes ran, but {len(children)} reported their end")
        return [prepared.answers(child) for prepared, child in zip(part, children, strict=True)]

    # --- tools --------------------------------------------------------------------------------------------------------

    def execute(self, text: str) -> list[Child]:
        """Lower a module, run its ``@entry``, and return what its children printed. Raises OracleError."""
        lowered = self._opt.run([*self.passes, *TO_LLVM], text, SECONDS)
        libraries = ",".join(self._libraries)
        options = ["-e", "entry", "--entry-point-result=void", f"--shared-libs={libraries}"]
        printed = self._runner.run([*options, *([f"--mattr={self.machine}"] if self.machine else [])], lowered, SECONDS)
        children: list[Child] = []
        numbers: list[int] = []
        try:
            for line in printed.splitlines():
                if line.startswith("("):
                    children.append(Child(numbers, signal_of(int(line[1:-1]))))
                    numbers = []
                else:
                    numbers.append(int(line))
        except ValueError:
            raise OracleError("garbage", f"the program printed {line[:60]!r}") from None
        return children


def library(runner: Tool, name: str) -> str:
    """Return the path of a library that belongs to an mlir-runner. Raises Unavailable."""
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(runner.path))), "lib")
    for suffix in (".22.1", ""):
        path = os.path.join(folder, name + suffix)
        if os.path.exists(path):
            return path
    raise Unavailable(f"{folder} has no {name}; it comes with the MLIR 22 libraries")


def _rows(codes: Codes, width: int, count: int) -> Codes:
    """Return codes as rows of limbs."""
    return np.ascontiguousarray(codes).reshape(count, limb_count(width))
