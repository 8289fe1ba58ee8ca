"""Ask IREE's CPU backend: iree-compile compiles each case once, iree-run-module executes its elements.

Elements are passed as integers, and the program casts them to their types: that allows more types than IREE's own
interface. The target is a generic x86-64 CPU, so that results do not depend on the machine. f64 stays f64; by default
IREE turns it into f32.
"""

from __future__ import annotations

import os
import signal
import sys
import weakref
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from math import prod
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles.oracle import (
    Answer,
    ClosedProgram,
    OracleError,
    Refused,
    Reply,
    Status,
    Unanswered,
    Unavailable,
    blank,
    run_together,
    unanswered,
)
from halfulp.conformance.oracles.tool import Tool, find_tool
from halfulp.conformance.whole_programs.rewrite import prefix_symbols
from halfulp.fp_formats.formats import Codes, storage_dtype
from halfulp.interp.declare.build import apply_op, function_of, module_of
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, Operation, SSAValue, argument_types, result_types
from halfulp.interp.ir.types import width_of
from halfulp.interp.loading import parse_module
from halfulp.interp.text.printer import print_module

VERSION = "3.13"
_LLVM_VERSION = "24"
FLAGS = (
    "--iree-hal-target-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
    "--iree-input-demote-f64-to-f32=false",
)
SECONDS = 60.0
MAX_WIDTH = 64  # iree-run-module can pass only these
LANES = 64
"""Elements are asked in multiples of this number. Otherwise divui divides by 0 in the spare lanes and stops."""
PROGRAMS = 16  # in one module
TRAPPING = frozenset({signal.SIGFPE, signal.SIGILL, signal.SIGTRAP})
"""Signals by which a CPU stops a program for what it computes; any other signal is a failure of the tool."""
TRAPS = 256
"""Number of times that the elements of a stopped process are halved, to find those that stopped it."""


def compiler() -> Tool:
    """Return the program iree-compile. Raises Unavailable with the reason if it is missing."""
    program = _binary("iree-compile", "iree.compiler", "_mlir_libs")
    return find_tool(program, "HALFULP_IREE_COMPILE", VERSION, r"IREE compiler version (\d+(?:\.\d+)*)")


def converter() -> Tool:
    """Return the program iree-opt, which is used only to find the version of its LLVM. Raises Unavailable with the
    reason if it is missing.
    """
    program = _binary("iree-opt", "iree.compiler", "_mlir_libs")
    return find_tool(program, "HALFULP_IREE_OPT", _LLVM_VERSION)


class Iree:
    """The oracle IREE: it computes ops of the arith dialect on tensors of one dynamic dimension."""

    name = "iree"
    profile = "iree-3.13"

    def __init__(self, seconds: float = SECONDS) -> None:
        self._compiler = compiler()
        self.version = self._compiler.version
        runner = os.environ.get("HALFULP_IREE_RUN_MODULE") or _binary("iree-run-module", "iree._runtime_libs", "")
        found = Path(runner)
        if not found.is_file():
            raise Unavailable(f"{runner} is not on PATH; install iree-base-runtime, or set HALFULP_IREE_RUN_MODULE")
        self._runner = Tool(str(found), self.version)
        self._seconds = seconds
        self._folder = Path(mkdtemp(prefix="halfulp-iree-"))
        weakref.finalize(self, rmtree, self._folder, ignore_errors=True)
        self._compiled: dict[OpCase, Path | str] = {}

    def refuses(self, case: OpCase) -> str | None:
        """Return a reason for ops outside arith, types above 64 bits, and cases that iree-compile has already rejected;
        else None.
        """
        if not case.op.startswith(("arith.", "math.")) or not case.operands:
            return f"{case.op} is not run by IREE"
        types = [t for t in (*case.operand_types, *case.result_types) if isinstance(t, ty.FloatType | ty.IntegerType)]
        wide = next((type_ for type_ in types if width_of(type_) > MAX_WIDTH), None)
        if wide is not None:
            return f"IREE has no arguments of {wide}"
        known = self._compiled.get(case)
        return known if isinstance(known, str) else None

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Compute all elements in one run. Elements that iree-compile rejects are unanswered, with its reason. A
        process that a signal ends runs again on halves, to find the elements that trap.
        """
        module = self._compile(case)
        if isinstance(module, str):
            return unanswered(case, inputs, module)
        shape = case.shape(inputs)
        columns = [codes.ravel() for codes in inputs]
        order = np.argsort(
            columns[-1], kind="stable"
        )  # equal divisors become neighbours, so that halving finds them soon
        widths = [width_of(type_) for type_ in case.result_types]
        results = [np.zeros(order.size, storage_dtype(width)) for width in widths]
        status = np.zeros(order.size, np.uint8)
        parts, halvings = [order], 0
        while parts:
            part = parts.pop()
            try:
                padded = np.concatenate([part, np.repeat(part[-1:], -part.size % LANES)])
                given = [(f"{padded.size}", column[padded]) for column in columns]
                found = self._execute(module, "eval", given, [(padded.size, result.dtype) for result in results])
            except OracleError as error:
                if error.kind != "crash":
                    raise
                if part.size == 1:
                    status[part] = Status.TRAP
                    if np.all(status != Status.VALUE):  # no element has succeeded yet
                        raise
                elif halvings < TRAPS:
                    halvings += 1
                    parts += [part[part.size // 2 :], part[: part.size // 2]]
                else:
                    status[part] = Status.UNANSWERED
                continue
            for result, codes in zip(results, found, strict=True):
                result[part] = codes[: part.size]
        statuses = status.reshape(shape) if status.any() else None
        why = "the process ended before it" if np.any(status == Status.UNANSWERED) else ""
        return tuple(Answer(result.reshape(shape), statuses, why) for result in results)

    def _compile(self, case: OpCase) -> Path | str:
        """Return the compiled case, or the reason why it was rejected."""
        if case not in self._compiled:
            path = self._folder / f"{len(self._compiled)}.vmfb"
            self._compiled[case] = self._compiled_text(_text(case), path)
        return self._compiled[case]

    def _compiled_text(self, text: str, path: Path) -> Path | str:
        """Return the file that the compiler wrote, or the reason why it rejected the text. Raises OracleError."""
        try:
            self._compiler.run(["-", "-o", str(path), *FLAGS], text, self._seconds)
        except OracleError as error:
            if error.kind != "refusal":
                raise
            return str(error).partition("error: ")[2] or str(error)
        if not path.is_file():
            raise OracleError("garbage", f"{self._compiler.path} wrote no {path.name}")
        return path

    # --- programs -----------------------------------------------------------------------------------------------------

    def run(self, programs: Sequence[ClosedProgram]) -> list[Reply]:
        """Compile many programs in one module and execute each by itself. A program that the compiler rejects is
        unanswered, with the reason; a program that the CPU stops has trapped.
        """
        return run_together(programs, _Wrapped, self._run, PROGRAMS)

    def _run(self, part: Sequence[_Wrapped]) -> list[Reply]:
        path = self._folder / "programs.vmfb"
        path.unlink(missing_ok=True)
        module = module_of([function for wrapped in part for function in wrapped.functions])
        # IREE's MLIR reads other custom forms of TOSA than ours.
        generic = any(op.name.startswith("tosa.") for op in module.walk())
        compiled = self._compiled_text(print_module(module, schema=Schema.LLVM24, generic=generic), path)
        if isinstance(compiled, str):
            raise Refused(compiled)
        return [self._run_one(compiled, wrapped) for wrapped in part]

    def _run_one(self, module: Path, wrapped: _Wrapped) -> Reply:
        given = [("x".join(map(str, value.shape)), value.bits) for value in wrapped.arguments]
        if any(map(ty.is_dynamic, wrapped.results)):
            return Unanswered("a result has a dynamic shape")
        shapes = [ty.static_shape(type_) for type_ in wrapped.results]
        widths = [width_of(ty.element_type(type_)) for type_ in wrapped.results]
        expected = [(prod(shape), storage_dtype(width)) for shape, width in zip(shapes, widths, strict=True)]
        try:
            bits = self._execute(module, wrapped.entry, given, expected)
        except OracleError as error:
            if error.signal in TRAPPING:
                return tuple(blank(shape, width, Status.TRAP) for shape, width in zip(shapes, widths, strict=True))
            return Unanswered(str(error)) if error.kind == "refusal" else error
        return tuple(Answer(codes.reshape(shape)) for codes, shape in zip(bits, shapes, strict=True))

    def _execute(
        self,
        module: Path,
        function: str,
        given: Sequence[tuple[str, Codes]],
        results: Sequence[tuple[int, np.dtype[Any]]],
    ) -> list[Codes]:
        """Return the codes of each result, flat. ``given``: dimensions and codes of each argument; ``results``: the
        expected number of codes and their dtype. Raises OracleError.
        """
        if results and not any(size for size, _ in results):
            return [np.zeros(0, dtype) for _, dtype in results]
        folder = self._folder
        outputs = [folder / f"result{k}.bin" for k in range(len(results))]
        arguments = ["--device=local-sync", f"--module={module}", f"--function={function}"]
        for k, (dimensions, codes) in enumerate(given):
            np.ascontiguousarray(codes).tofile(folder / f"operand{k}.bin")
            type_ = "x".join([*([dimensions] if dimensions else []), f"i{8 * codes.itemsize}"])
            arguments.append(f"--input={type_}=@{folder / f'operand{k}.bin'}")
        for path in outputs:
            path.unlink(missing_ok=True)
            arguments.append(f"--output=@{path}")
        self._runner.run(arguments, seconds=self._seconds)
        return [_read(path, dtype, size) for path, (size, dtype) in zip(outputs, results, strict=True)]


class _Wrapped:
    """A copy of a program for a module that also holds others: its functions are private and renamed, and an entry
    takes and returns tensors of storage integers.
    """

    def __init__(self, index: int, program: ClosedProgram) -> None:
        self.entry = f"entry{index}"
        self.arguments = program.arguments
        copy = parse_module(print_module(program.module), verify=False)
        functions = [op for op in copy.body if op.name == "func.func"]
        if len(functions) != len(copy.body):
            raise Refused("the module has something other than functions at the top level")
        if any(value.poison is not None and value.poison.any() for value in program.arguments):
            raise Refused("an argument cannot be poison")
        called = next((function for function in functions if function.symbol_name == program.function), None)
        prefix_symbols(copy, f"p{index}_")
        for function in functions:
            function.properties["sym_visibility"] = at.StringAttr("private")
        if called is None:
            raise Refused(f"there is no function @{program.function} at the top level")
        self.results = result_types(called)
        self.functions = [*functions, self._entry(called)]

    def _entry(self, called: Operation) -> Operation:
        block = Block()
        operands = [_unwrapped(block, block.add_argument(_wrapped_type(t)), t) for t in argument_types(called)]
        definition = default_registry().find("func.call")
        properties: dict[str, at.Attribute] = {"callee": at.SymbolRefAttr(called.symbol_name or "")}
        call = Operation("func.call", definition, operands, list(self.results), properties)
        block.append(call)
        return function_of(self.entry, block, [_rewrapped(block, value) for value in call.results])


def _wrapped_type(type_: ty.Type) -> ty.TensorType:
    """Return the tensor of storage integers for a scalar or tensor. Raises Refused for other types."""
    element = ty.element_type(type_)
    carried = isinstance(element, ty.FloatType | ty.IntegerType | ty.IndexType) and 0 < width_of(element) <= MAX_WIDTH
    ranked = isinstance(type_, ty.TensorType) and type_.shape is not None
    if not carried or not (type_ == element or ranked):
        raise Refused(f"this oracle does not pass values of {type_} to IREE")
    return ty.TensorType(ty.shape_of(type_) or (), _storage(element))


def _unwrapped(block: Block, value: SSAValue, type_: ty.Type) -> SSAValue:
    element = ty.element_type(type_)
    if type_ == element:
        value = _tensor_op(block, "extract", value, _storage(element))
    return _from_storage(block, value, element)


def _rewrapped(block: Block, value: SSAValue) -> SSAValue:
    wrapped = _wrapped_type(value.type)
    stored = _to_storage(block, value)
    return stored if stored.type == wrapped else _tensor_op(block, "from_elements", stored, wrapped)


def _tensor_op(block: Block, name: str, value: SSAValue, result: ty.Type) -> SSAValue:
    op = Operation(f"tensor.{name}", default_registry().find(f"tensor.{name}"), [value], [result])
    block.append(op)
    return op.results[0]


def _read(path: Path, dtype: np.dtype[np.generic], count: int) -> Codes:
    size = path.stat().st_size if path.is_file() else 0
    if size != count * dtype.itemsize:
        raise OracleError("garbage", f"{path.name} has {size} bytes, not {count * dtype.itemsize}")
    return np.fromfile(path, dtype)


def _binary(program: str, package: str, folder: str) -> str:
    """Return the path of a program that a Python package installs; else its bare name."""
    try:
        spec = find_spec(package)
    except ModuleNotFoundError:
        spec = None
    places = (spec.submodule_search_locations or []) if spec else []
    candidates: Iterable[Path] = (Path(place) / folder / program for place in places)
    beside = Path(sys.executable).parent / program
    return str(next((path for path in (*candidates, beside) if path.is_file()), program))


def _text(case: OpCase) -> str:
    """Return ``@eval``, the case on tensors of storage integers, as text."""
    block = Block()
    arguments = [block.add_argument(ty.TensorType((None,), _storage(type_))) for type_ in case.operand_types]
    operands = [_from_storage(block, a, type_) for a, type_ in zip(arguments, case.operand_types, strict=True)]
    results = apply_op(block, case.definition, operands, dict(case.properties), case.result_types[0])
    returned = [_to_storage(block, value) for value in results]
    return print_module(module_of([function_of("eval", block, returned)]), schema=Schema.LLVM24)


def _storage(type_: ty.Type) -> ty.IntegerType:
    return ty.IntegerType(8 * storage_dtype(width_of(type_)).itemsize)


def _cast(block: Block, op: str, value: SSAValue, element: ty.Type) -> SSAValue:
    definition = default_registry().find(f"arith.{op}")
    assert definition is not None
    return value if ty.element_type(value.type) == element else apply_op(block, definition, [value], {}, element)[0]


def _from_storage(block: Block, value: SSAValue, type_: ty.Type) -> SSAValue:
    if isinstance(type_, ty.IndexType):
        return _cast(block, "index_cast", value, type_)
    return _cast(block, "bitcast", _cast(block, "trunci", value, ty.IntegerType(width_of(type_))), type_)


def _to_storage(block: Block, value: SSAValue) -> SSAValue:
    type_ = ty.element_type(value.type)
    if isinstance(type_, ty.IndexType):
        return _cast(block, "index_cast", value, _storage(type_))
    return _cast(block, "extui", _cast(block, "bitcast", value, ty.IntegerType(width_of(type_))), _storage(type_))
