"""Oracles that lower to LLVM with mlir-opt and execute with mlir-runner: one element function in a loop, or programs.

Neither the lowering nor LLVM may see constants to fold. So calls of functions separate the code from its inputs: the
operands of a case are read from memory, and functions return the constants of a program. `JitOracle` is the base; its
subclasses differ by the passes that they run before.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping, Sequence
from ctypes.util import find_library
from functools import cached_property
from importlib.util import find_spec
from itertools import accumulate
from math import prod
from typing import ClassVar

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase, reference
from halfulp.conformance.oracles import jit_programs
from halfulp.conformance.oracles.closed_programs import refused_by_schema
from halfulp.conformance.oracles.mlir_child import ENTRY
from halfulp.conformance.oracles.mlir_opt import WHEEL, Bindings, find_mlir_opt
from halfulp.conformance.oracles.oracle import (
    Answer,
    ClosedProgram,
    OracleError,
    Refused,
    Reply,
    Status,
    Unavailable,
    run_together,
    unanswered,
)
from halfulp.conformance.oracles.tool import Tool, find_tool
from halfulp.conformance.whole_programs.pass_claims import pipeline
from halfulp.conformance.whole_programs.rewrite import module_around, module_with, prefix_symbols
from halfulp.fp_formats.formats import FORMATS, Codes, Mask, code_shape, limb_count, storage_dtype
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, argument_types, result_types
from halfulp.interp.ir.types import width_of
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.value import Value

TO_LLVM = ("--convert-vector-to-llvm", "--convert-scf-to-cf", "--convert-to-llvm", "--reconcile-unrealized-casts")

UTILITIES, APFLOAT = "libmlir_c_runner_utils.so", "libmlir_apfloat_wrappers.so"

APART = 2048
"""Number of elements of a case that are asked in a process of their own, since they may stop it."""

GROUPS = 256
"""Number of processes for the other elements. If one of them stops, its elements are asked again, one by one."""

LEAST = 16
"""Least number of elements in a group."""

PROGRAMS = 256
"""Number of programs in one module."""

SECONDS = 60.0


PLAIN_X86 = "--mattr=-avx512f"
"""CPU features that the code generator must not use: with AVX-512, bf16 instructions take subnormals as zero, numbers
overflow differently to unsigned integers of 32 bits, and LLVM 22 crashes on vector<1xi1>.
"""


class MlirTools:
    """mlir-opt and mlir-runner of MLIR 22, with run-time libraries, or bindings of MLIR with their execution engine.

    ``mlir``: which MLIR, as for `find_mlir_opt`. Without it: MLIR 22, or bindings if it is missing, ``any_version`` and
    no library is needed. Raises Unavailable if something is missing.
    """

    def __init__(self, *libraries: str, mlir: str | None = None, any_version: bool = False) -> None:
        self._runner: Tool | None = None
        self.opt = self._found(mlir, any_version and not libraries)
        self.version = self.opt.version
        if not isinstance(self.opt, Bindings):
            self._runner = find_tool("mlir-runner-22", "HALFULP_MLIR_RUNNER", "22")
            self._libraries = ",".join(library(self._runner, name) for name in (*libraries, UTILITIES))
        elif libraries:
            raise Unavailable(f"{self.opt.path} has no {libraries[0]}; it comes with the MLIR 22 libraries")
        elif not hasattr(os, "fork"):
            raise Unavailable("machine code runs in processes that are forked, which this system cannot do")

    @cached_property
    def lacks_bf16(self) -> bool:
        """Whether code that rounds to bf16 calls a function that is missing: bindings have only the compiler's."""
        compiler = find_library("gcc_s")
        return self._runner is None and (compiler is None or not hasattr(ctypes.CDLL(compiler), "__truncsfbf2"))

    def _found(self, mlir: str | None, any_version: bool) -> Tool:
        if mlir is None:
            try:
                return find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22")
            except Unavailable:
                if not any_version or os.environ.get("HALFULP_MLIR_OPT") or find_spec(WHEEL) is None:
                    raise
        found = find_mlir_opt("24" if mlir is None else mlir)
        if not isinstance(found, Bindings) and not found.version.startswith("22"):
            raise Unavailable(f"{found.path} is version {found.version}, but mlir-runner is version 22")
        return found

    def run(self, passes: Sequence[str], text: str) -> str:
        """Lower a module by passes, run its ``@entry``, and return the text that it printed. Raises OracleError."""
        if self._runner is None:
            return self.opt.run([*self._options(passes), f"{ENTRY}entry"], text, SECONDS)
        options = ["-e", "entry", "--entry-point-result=void", f"--shared-libs={self._libraries}", PLAIN_X86]
        return self._runner.run(options, self.lowered(passes, text), SECONDS)

    def lowered(self, passes: Sequence[str], text: str) -> str:
        """Return a module after passes. Raises OracleError."""
        return self.opt.run(self._options(passes), text, SECONDS)

    def _options(self, passes: Sequence[str]) -> list[str]:
        """Return the options for passes: bindings take a pipeline alone."""
        if self._runner is not None or any(one.startswith("--pass-pipeline=") for one in passes):
            return list(passes)
        parts = (one.removeprefix("--").partition("=") for one in passes)
        named = (f"{name}{{{options}}}" if options else name for name, _, options in parts)
        return [f"--pass-pipeline=builtin.module({','.join(named)})"] if passes else []

    def numbers(self, passes: Sequence[str], text: str) -> list[int]:
        """Run a program as `run` does, and return the integers that it printed. Raises OracleError for other text."""
        printed = self.run(passes, text)
        try:
            return list(map(int, printed.split()))
        except ValueError:
            raise OracleError("garbage", f"the program printed {printed[:60]!r}") from None


def library(runner: Tool, name: str) -> str:
    """Return the path of a run-time library that belongs to an mlir-runner. Raises Unavailable."""
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(runner.path))), "lib")
    for suffix in (".22.1", ""):
        path = os.path.join(folder, name + suffix)
        if os.path.exists(path):
            return path
    raise Unavailable(f"{folder} has no {name}; it comes with the MLIR 22 libraries")


class JitOracle:
    """An oracle that executes a program after ``passes``.

    ``passes``: run before those of `TO_LLVM`. ``runtime``: further libraries. ``floats``: the types that can be
    lowered. ``any_version``: whether the known differences hold for newer MLIR too.
    """

    name: str
    profile: str
    passes: tuple[str, ...] = ()
    runtime: tuple[str, ...] = ()
    floats: ClassVar[frozenset[str]]
    max_width: ClassVar[int] = 1024
    any_version: ClassVar[bool] = True

    def __init__(self, mlir: str | None = None) -> None:
        self._tools = MlirTools(*self.runtime, mlir=mlir, any_version=self.any_version)
        self.version = self._tools.version

    # --- cases --------------------------------------------------------------------------------------------------------

    def refuses(self, case: OpCase) -> str | None:
        """Return a reason for types that cannot be lowered; else None. Subclasses add ops."""
        reasons = (self.refuses_type(type_) for type_ in (*case.operand_types, *case.result_types))
        refused = refused_by_schema(case) or next((why for why in reasons if why), None)
        return refused or self.refuses_op(case.operation(None))

    def refuses_type(self, type_: ty.Type) -> str | None:
        """Return why values of a type cannot be lowered; None if they can."""
        element = ty.element_type(type_)
        if str(element) == "bf16" and self._tools.lacks_bf16:
            return f"{self._tools.opt.path} has no function that rounds to bf16; that of MLIR 22, or of GCC 13, has"
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
        """Return why an op cannot be lowered although its types can; None if it can."""
        return None

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Compute all elements in one loop. Elements with undefined behaviour run separately, since each may stop the
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
            Answer(jit_programs.codes_of_limbs(limbs, width, shape), statuses, why)
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
        text = jit_programs.case_text(case, [column[order] for column in columns], batch.size, group)
        children = self.execute(jit_programs.spliced(case.module(None), text))
        if len(children) != len(asked):
            raise OracleError("garbage", f"{len(asked)} processes ran, but {len(children)} reported their end")
        width = sum(limbs.shape[1] for limbs in results)
        for where, child in zip(asked, children, strict=True):
            if child.signal:
                status[where] = (
                    Status.TRAP if where.size == 1 and child.signal != jit_programs.SIGALRM else Status.UNANSWERED
                )
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
        """Run many programs in one module, each in its own process.

        A program that stops its process has trapped.
        """
        return run_together(
            programs, lambda k, each: jit_programs.PreparedProgram(each, f"p{k}.", self._check), self._run, PROGRAMS
        )

    def _check(self, op: Operation, types: Iterable[ty.Type]) -> str | None:
        return next((why for why in map(self.refuses_type, types) if why), None) or self.refuses_op(op)

    def _run(self, part: Sequence[jit_programs.PreparedProgram]) -> list[Reply]:
        children = self.execute(jit_programs.programs_text(part))
        if len(children) != len(part):
            raise OracleError("garbage", f"{len(part)} processes ran, but {len(children)} reported their end")
        return [prepared.answers(child) for prepared, child in zip(part, children, strict=True)]

    # --- tools --------------------------------------------------------------------------------------------------------

    def execute(self, text: str) -> list[jit_programs.Child]:
        """Lower a module, run its ``@entry``, and return the output of its child processes. Raises OracleError."""
        printed = self._tools.run([*self.passes, *TO_LLVM], text)
        children: list[jit_programs.Child] = []
        numbers: list[int] = []
        try:
            for line in printed.splitlines():
                if line.startswith("("):
                    children.append(jit_programs.Child(numbers, jit_programs.signal_of(int(line[1:-1]))))
                    numbers = []
                else:
                    numbers.append(int(line))
        except ValueError:
            raise OracleError("garbage", f"the program printed {line[:60]!r}") from None
        return children


def _rows(codes: Codes, width: int, count: int) -> Codes:
    """Return codes as rows of limbs."""
    return np.ascontiguousarray(codes).reshape(count, limb_count(width))


# --- mlir native ------------------------------------------------------------------------------------------------------
#
# Execute a program as LLVM's code generator compiles it, on this machine's CPU: integers, f16 to f128.

ROUNDED_DIVISIONS = ("arith.ceildivsi", "arith.ceildivui", "arith.floordivsi")
_WIDE = ("f80", "f128")


class MlirNative(JitOracle):
    """arith lowered to LLVM without a library, math to the C library. Poison is invisible: every result is a value."""

    name = "mlir-native"
    profile = "spec"
    floats: ClassVar[frozenset[str]] = frozenset({"f16", "bf16", "f32", "f64", "f80", "f128"})
    passes: tuple[str, ...] = ("--convert-math-to-libm",)

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Compute all elements in one loop. A math op that has no code after the passes is unanswered."""
        try:
            return super().evaluate(case, inputs)
        except OracleError as error:
            if error.kind != "refusal" or not case.op.startswith("math."):
                raise
            return unanswered(case, inputs, f"{case.op} has no code after {' '.join(self.passes)}")

    def refuses_op(self, op: Operation) -> str | None:
        """Return a reason for ops that must be expanded first, and for ops that LLVM 22 cannot compile on x86; else
        None.
        """
        if op.name.startswith("arith.scaling_") or op.name in ROUNDED_DIVISIONS:
            return f"{op.name} is lowered to LLVM only after its expansion"
        return without_code(op)


def without_code(op: Operation) -> str | None:
    """Return why LLVM 22 has no code for an op on x86: it crashes, or calls a function that is missing. None if it has
    code.
    """
    if not op.operands or not op.results:
        return None
    if op.name == "arith.addui_extended" and isinstance(ty.element_type(op.results[0].type), ty.IndexType):
        return "arith.addui_extended of index is not lowered"
    source, target = (ty.element_type(value.type) for value in (op.operands[0], op.results[0]))
    if op.name in ("arith.maximumf", "arith.minimumf") and str(source) in _WIDE:
        return f"LLVM cannot select instructions for {op.name} of {source}"
    if op.name in ("arith.truncf", "arith.scaling_truncf") and str(source) in _WIDE and str(target) == "bf16":
        return f"there is no function that converts {source} to bf16"
    widens = op.name in ("arith.extf", "arith.scaling_extf") and str(source) == "bf16" and str(target) in _WIDE
    if widens and op.operands[0].type != source:
        return f"LLVM leaves bits undefined in vectors of bf16 extended to {target}"  # scalars are right
    return None


# --- mlir expand ------------------------------------------------------------------------------------------------------
#
# Execute MLIR's expansion of arith ops into simpler ones.

_AS_INTEGERS = ("f4E2M1FN", "f8E8M0FNU")
_HAVE_CODE = ("extf", "truncf", "scaling_extf", "scaling_truncf", "bitcast", "select", "constant")
_EXTREMA = ("arith.maximumf", "arith.minimumf")


class MlirExpand(JitOracle):
    """``--arith-expand`` with all its options: conversions of f4E2M1FN, f8E8M0FNU and bf16 as integer operations,
    extrema as comparisons, divisions that round up or down, scaling.
    """

    name = "mlir-expand"
    profile = "mlir22-expand"
    passes = ("--arith-expand=include-bf16 include-f4e2m1 include-f8e8m0",)
    floats: ClassVar[frozenset[str]] = MlirNative.floats | set(_AS_INTEGERS)

    def refuses_op(self, op: Operation) -> str | None:
        """Return a reason for ops on f4E2M1FN and f8E8M0FNU other than conversions, and for conversions that the pass
        skips or converts to invalid code; else None.
        """
        name = op.name.removeprefix("arith.")
        if name == op.name or not op.results:
            return None
        types = [ty.element_type(value.type) for value in (*op.operands, *op.results)]
        formats = [str(type_) for type_ in types]
        narrow = next((type_ for type_ in formats if type_ in _AS_INTEGERS), None)
        if narrow and name not in _HAVE_CODE:
            return f"{op.name} of {narrow} is not expanded"
        if name in ("extf", "truncf", "scaling_extf", "scaling_truncf"):
            source, target = formats[0], formats[-1]
            computing = {"scaling_extf": target, "scaling_truncf": source}.get(name)
            if computing in _AS_INTEGERS:
                return f"{op.name} computes in {computing}, which has no arithmetic"
            wide = any(isinstance(t, ty.FloatType) and t.format.bits > 32 for t in (types[0], types[-1]))
            if wide and "f4E2M1FN" in (source, target):
                return f"--arith-expand makes an invalid conversion between {source} and {target}"
            illegal = target == "f8E8M0FNU" or (source, target) == ("f32", "bf16")
            if illegal and op.properties.get("roundingmode") is not None:
                return f"--arith-expand cannot expand {op.name} to {target} with a rounding mode"
        return None if op.name in _EXTREMA else without_code(op)


# --- mlir math --------------------------------------------------------------------------------------------------------
#
# Execute math ops as passes of MLIR expand or approximate them. What a pass leaves goes to the C library, as in
# `MlirNative`.

TO_LIBM = "--convert-math-to-libm"


MATH_PASSES: Mapping[str, tuple[str, ...]] = {
    # LLVM's intrinsics, and simpler formulas for some functions.
    "mlir-math-llvm": ("--convert-math-to-llvm",),
    # Hyperbolic functions, powers and others by simpler ops in the same type.
    "mlir-math-expand": ("--math-expand-ops",),
    # Integer powers and counts of zeros by loops.
    "mlir-math-funcs": ("--convert-math-to-funcs=min-width-of-fpowi-exponent=1 convert-ctlz=1",),
    # Calls of APFloat, for the few ops that it has.
    "mlir-math-apfloat": ("--convert-math-to-apfloat",),
    # MLIR's own polynomials, in f32. They use math.copysign, for which the C library's pass has no pattern.
    "mlir-math-polynomial": ("--test-math-polynomial-approximation", "--convert-math-to-llvm"),
}
"""The pass of each oracle, and the passes after it but before `TO_LIBM`."""


class MlirMath(MlirNative):
    """Math ops after one pass. An op that the pass does not change has no answer."""

    any_version = False

    def __init__(self, name: str, mlir: str | None = None) -> None:
        self.name = name
        self.own = MATH_PASSES[name][0]
        self.passes = (*MATH_PASSES[name], TO_LIBM)
        self.runtime = (APFLOAT,) if name == "mlir-math-apfloat" else ()
        super().__init__(mlir)

    def refuses_op(self, op: Operation) -> str | None:
        """Return a reason for ops of other dialects; else None."""
        return None if op.name.startswith("math.") else f"{self.own} is a pass for math ops"

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Compute all elements in one loop; return no answers if the pass does not change the op."""
        text = print_module(case.module(None))
        try:
            after = self._tools.lowered([self.own], text)
            same = case.op in after and after == self._tools.lowered([], text)
        except OracleError as error:
            if error.kind != "refusal":
                raise
            return unanswered(case, inputs, f"{self.own} makes an invalid op of {case}")
        if same:
            return unanswered(case, inputs, f"{self.own} leaves {case} as it is")
        return super().evaluate(case, inputs)


# --- mlir runtime -----------------------------------------------------------------------------------------------------
#
# Execute float ops by MLIR's run-time library: each op becomes a call of a function that computes with APFloat.

_MOVES = ("arith.constant", "arith.select", "arith.bitcast")


class MlirRuntime(JitOracle):
    """``--convert-arith-to-apfloat``: scalars and vectors of floats narrower than 64 bits."""

    name = "mlir-runtime"
    profile = "mlir22-runtime"
    passes = ("--convert-arith-to-apfloat",)
    runtime = (APFLOAT,)
    floats: ClassVar[frozenset[str]] = frozenset(f.name for f in FORMATS.values() if f.bits <= 64 and f.name != "tf32")

    def refuses_op(self, op: Operation) -> str | None:
        """Return a reason for ops that must be expanded first, and for types that do not fit the 64 bits of the
        library's functions; else None.

        The pass also extends 64-bit operands to i64, and truncates 64-bit results from it, which is invalid.
        """
        if op.name.startswith("arith.scaling_") or op.name in ROUNDED_DIVISIONS:
            return f"{op.name} is lowered to LLVM only after its expansion"
        operands, results = ([ty.element_type(value.type) for value in values] for values in (op.operands, op.results))
        computes = op.name.startswith("arith.") and op.name not in _MOVES
        if not computes or not any(isinstance(type_, ty.FloatType) for type_ in (*operands, *results)):
            return without_code(op)
        for type_ in (*operands, *results):
            width = type_.width if isinstance(type_, ty.IntegerType) else 0
            wide = isinstance(type_, ty.FloatType) and type_.format.bits >= 64
            if wide or width > 64 or (width == 64 and type_ in results):
                return f"--convert-arith-to-apfloat makes invalid code for {op.name} and {type_}"
        return None


# --- tensors ----------------------------------------------------------------------------------------------------------
#
# Run functions of tensors with mlir-runner, lowered through a stage of `STAGES`.
# Many programs share one process. The arguments are constants that functions return, so that no pass folds them. A
# driver for each program calls it and prints the codes of the results as decimal numbers, one a line.

PROGRAMS_AT_ONCE = 64
"""The most programs in one process."""

NAME = "mlir-runner"
FLOATS = frozenset({"f16", "bf16", "f32", "f64"})

BEFORE = ("func.func(convert-elementwise-to-linalg)",)
AFTER = (
    "func.func(convert-linalg-to-loops),convert-bufferization-to-memref",
    "expand-strided-metadata,lower-affine",
    "convert-vector-to-scf{full-unroll=true},convert-scf-to-cf,convert-vector-to-llvm,expand-strided-metadata",
    "lower-affine,convert-arith-to-llvm,convert-math-to-llvm,convert-math-to-libm,finalize-memref-to-llvm",
    "convert-func-to-llvm,convert-cf-to-llvm,convert-to-llvm,reconcile-unrealized-casts",
)
"""The passes before and after those of a stage, so that mlir-runner can run the result."""
PRINTERS = "  func.func private @printU64(i64)\n  func.func private @printNewline()\n"


class TensorRunner:
    """An oracle for functions of tensors with static shapes: mlir-runner executes them. ``stage``: the lowering that
    they go through before.
    """

    def __init__(self, stage: str = "loops", mlir: str | None = None) -> None:
        self.name = NAME
        self._tools = MlirTools(mlir=mlir, any_version=True)
        self.version = self._tools.version
        self._pipeline = pipeline(stage, BEFORE, AFTER)

    def run(self, programs: Sequence[ClosedProgram]) -> list[Reply]:
        """Return the results of each program, in order."""
        return run_together(programs, lambda _, program: _checked(program), self._run, PROGRAMS_AT_ONCE)

    def _run(self, part: Sequence[ClosedProgram]) -> list[Reply]:
        numbers = self._tools.numbers([f"--pass-pipeline={self._pipeline}"], _together(part))
        sizes = [sum(map(_size, _results(program))) for program in part]
        if len(numbers) != sum(sizes):
            raise OracleError("garbage", f"the program must print {sum(sizes)} numbers, but printed {len(numbers)}")
        ends = list(accumulate(sizes))
        return [
            answers(_results(program), numbers[end - size : end])
            for program, size, end in zip(part, sizes, ends, strict=True)
        ]


def installed_runner() -> TensorRunner | None:
    """Return mlir-runner; None if the tools of MLIR 22 are missing."""
    try:
        return TensorRunner()
    except Unavailable:
        return None


def _results(program: ClosedProgram) -> Sequence[ty.Type]:
    return result_types(program.operation)


def _checked(program: ClosedProgram) -> ClosedProgram:
    """Return a program that can be lowered. Raises Refused for others."""
    function = program.operation
    for type_ in (*argument_types(function), *result_types(function)):
        if not isinstance(type_, ty.TensorType) or type_.shape is None or None in type_.shape:
            raise Refused(f"{NAME} runs functions of tensors with static shapes, and this has '{type_}'")
    if any(value.poison is not None for value in program.arguments):
        raise Refused("an argument cannot be poison")
    for op in function.walk():
        values = [*op.results, *(argument for block in op.blocks for argument in block.arguments)]
        for element in {ty.element_type(value.type) for value in values}:
            if isinstance(element, ty.FloatType) and element.format.name not in FLOATS:
                raise Refused(f"{NAME} has no {element}")
    return program


def _size(type_: ty.Type) -> int:
    return prod(size or 0 for size in ty.shape_of(type_) or ())


def _together(programs: Sequence[ClosedProgram]) -> str:
    """Return one module with all programs, their arguments, their drivers, and an entry that calls these."""
    functions: list[Operation] = []
    drivers = []
    for number, program in enumerate(programs):
        copy = module_with(program.module.body, program.module)
        prefix_symbols(copy, f"p{number}.")
        functions += copy.body
        for function in copy.body:
            function.properties["sym_visibility"] = at.StringAttr("private")
        drivers.append(_driver(number, program))
    head, opening, body = print_module(module_around(functions)).partition("module {\n")
    calls = "".join(f"    func.call @run{number}() : () -> ()\n" for number in range(len(programs)))
    return f"{head}{opening}{PRINTERS}{''.join(drivers)}  func.func @entry() {{\n{calls}    return\n  }}\n{body}"


def _driver(number: int, program: ClosedProgram) -> str:
    """Return the functions of a program's arguments, and the one that runs it."""
    inputs, results = argument_types(program.operation), _results(program)
    lines, names, body = [], [], []
    for k, (type_, value) in enumerate(zip(inputs, program.arguments, strict=True)):
        lines += argument(f"argument{number}.{k}", type_, value)
        body.append(f"%a{k} = func.call @argument{number}.{k}() : () -> {type_}")
        names.append(f"%a{k}")
    types = f"({', '.join(map(str, inputs))}) -> ({', '.join(map(str, results))})"
    body.append(f"%r:{len(results)} = func.call @p{number}.{program.function}({', '.join(names)}) : {types}")
    body += ["%zero = arith.constant 0 : index", "%one = arith.constant 1 : index"]
    for k, type_ in enumerate(results):
        body += printing(k, type_)
    lines += [f"  func.func private @run{number}() {{", *(f"    {line}" for line in body), "    return", "  }"]
    return "\n".join(lines) + "\n"


def argument(name: str, type_: ty.Type, value: Value) -> list[str]:
    """Return the lines of a function that returns an argument in new memory."""
    element = ty.element_type(type_)
    width = width_of(element)
    carrier = ty.with_element(type_, ty.IntegerType(width))
    data = value.bits.astype(value.bits.dtype.newbyteorder("<")).tobytes().hex().upper()
    codes = f'dense<"0x{data}">' if width >= 8 else f"dense<{value.bits.tolist()}>"
    cast = "" if element == ty.IntegerType(width) else f"    %1 = arith.bitcast %0 : {carrier} to {type_}\n"
    return [
        f"  func.func private @{name}() -> {type_} {{",
        f"    %0 = arith.constant {codes} : {carrier}",
        f"{cast}    %2 = tensor.empty() : {type_}",
        f"    %3 = linalg.copy ins({'%1' if cast else '%0'} : {type_}) outs(%2 : {type_}) -> {type_}",
        f"    return %3 : {type_}",
        "  }",
    ]


def printing(number: int, type_: ty.Type) -> list[str]:
    """Return the lines that print the codes of the result ``%r#number``. They use ``%zero`` and ``%one``."""
    lines = [f"%n{number}_{axis} = arith.constant {size} : index" for axis, size in enumerate(ty.shape_of(type_) or ())]
    indices = [f"%i{number}_{axis}" for axis in range(len(lines))]
    for axis, index in enumerate(indices):
        lines.append(f"scf.for {index} = %zero to %n{number}_{axis} step %one {{")
    return [*lines, *printing_element(number, type_, indices), *("}" for _ in indices)]


def printing_element(number: int, type_: ty.Type, indices: Sequence[str]) -> list[str]:
    """Return the lines that print the code of one element of the result ``%r#number``."""
    element = ty.element_type(type_)
    width = width_of(element)
    code, name = ty.IntegerType(width), f"%e{number}"
    lines = [f"{name} = tensor.extract %r#{number}[{', '.join(indices)}] : {type_}"]
    if element != code:
        lines.append(f"%b{number} = arith.bitcast {name} : {element} to {code}")
        name = f"%b{number}"
    if width < 64:
        lines.append(f"%w{number} = arith.extui {name} : {code} to i64")
        name = f"%w{number}"
    return [*lines, f"func.call @printU64({name}) : (i64) -> ()", "func.call @printNewline() : () -> ()"]


def answers(types: Sequence[ty.Type], numbers: Sequence[int]) -> tuple[Answer, ...]:
    """Return the results from the numbers that the program printed."""
    answers, start = [], 0
    for type_ in types:
        width, shape = width_of(ty.element_type(type_)), ty.static_shape(type_)
        codes = np.array(numbers[start : start + _size(type_)], np.uint64).reshape(code_shape(shape, width))
        answers.append(Answer(codes.astype(storage_dtype(width))))
        start += _size(type_)
    return tuple(answers)
