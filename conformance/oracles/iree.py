"""IREE's CPU backend: each task compiled once by iree-compile, its elements executed by iree-run-module.

Elements travel as integers and are cast to their types inside the program, which takes more types than IREE's own
interface does. The target is a generic x86-64 CPU, so that results do not depend on the machine; and f64 stays f64,
which IREE makes f32 unless told otherwise.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import numpy as np

from halfulp.conformance.oracles.oracle import Answer, OracleError, Status, Unavailable, unanswered
from halfulp.conformance.oracles.tool import Tool, find_tool
from halfulp.conformance.task import Task
from halfulp.interp import types as ty
from halfulp.interp.build import apply_op, function_of, module_of
from halfulp.interp.dialect import default_registry
from halfulp.interp.ir import Block, SSAValue
from halfulp.interp.text.printer import print_module
from halfulp.interp.values import element_width
from halfulp.semantics.codes import storage_dtype
from halfulp.semantics.kernel import Codes

VERSION = "3.13"
FLAGS = (
    "--iree-hal-target-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
    "--iree-input-demote-f64-to-f32=false",
)
SECONDS = 60.0
MAX_WIDTH = 64  # of what iree-run-module can pass
TRAPS = 256
"""How often the elements of a task that ended the process are halved, to find those that did."""


class Iree:
    """Ops of the arith dialect on tensors of one dynamic dimension."""

    name = "iree"
    profile = "iree-3.13"

    def __init__(self, seconds: float = SECONDS) -> None:
        compiler = _binary("iree-compile", "iree.compiler", "_mlir_libs")
        self._compiler = find_tool(compiler, "HALFULP_IREE_COMPILE", VERSION, r"IREE compiler version (\d+(?:\.\d+)*)")
        self.version = self._compiler.version
        runner = os.environ.get("HALFULP_IREE_RUN_MODULE") or _binary("iree-run-module", "iree._runtime_libs", "")
        found = Path(runner)
        if not found.is_file():
            raise Unavailable(f"{runner} is not on PATH; install iree-base-runtime, or set HALFULP_IREE_RUN_MODULE")
        self._runner = Tool(str(found), self.version)
        self._seconds = seconds
        self._folder = Path(mkdtemp(prefix="halfulp-iree-"))
        weakref.finalize(self, rmtree, self._folder, ignore_errors=True)
        self._compiled: dict[Task, Path | str] = {}

    def refuses(self, task: Task) -> str | None:
        """What is no arith op on types of up to 64 bits, and what iree-compile has already rejected, for its reason."""
        if not task.op.startswith("arith.") or not task.operands:
            return f"{task.op} is not asked of IREE"
        types = (*task.operand_types, *task.result_types)
        wide = next((t for t in types if isinstance(t, ty.FloatType | ty.IntegerType) and _width(t) > MAX_WIDTH), None)
        if wide is not None:
            return f"IREE has no arguments of {wide}"
        known = self._compiled.get(task)
        return known if isinstance(known, str) else None

    def evaluate(self, task: Task, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """All elements in one run. What iree-compile rejects is unanswered, for its reason; a process that ends by a
        signal is run again on halves, to tell the elements that trap.
        """
        module = self._compile(task)
        if isinstance(module, str):
            return unanswered(task, inputs, module)
        shape = task.shape(inputs)
        columns = [codes.ravel() for codes in inputs]
        order = np.argsort(columns[-1], kind="stable")  # equal divisors are neighbours, so that halving finds them soon
        widths = [_width(type_) for type_ in task.result_types]
        results = [np.zeros(order.size, storage_dtype(width)) for width in widths]
        status = np.zeros(order.size, np.uint8)
        parts, halvings = [order], 0
        while parts:
            part = parts.pop()
            try:
                found = self._execute(module, [column[part] for column in columns], results)
            except OracleError as error:
                if error.kind != "crash":
                    raise
                if part.size == 1:
                    status[part] = Status.TRAP
                    if np.all(status != Status.VALUE):  # no element has ever come through
                        raise
                elif halvings < TRAPS:
                    halvings += 1
                    parts += [part[part.size // 2 :], part[: part.size // 2]]
                else:
                    status[part] = Status.UNANSWERED
                continue
            for result, codes in zip(results, found, strict=True):
                result[part] = codes
        statuses = status.reshape(shape) if status.any() else None
        why = "the process ended before it" if np.any(status == Status.UNANSWERED) else ""
        return tuple(Answer(result.reshape(shape), statuses, why) for result in results)

    def _compile(self, task: Task) -> Path | str:
        """The compiled task, or why it was rejected."""
        if task not in self._compiled:
            path = self._folder / f"{len(self._compiled)}.vmfb"
            try:
                self._compiler.run(["-", "-o", str(path), *FLAGS], _text(task), self._seconds)
                self._compiled[task] = path
            except OracleError as error:
                if error.kind != "refusal":
                    raise
                self._compiled[task] = str(error).partition("error: ")[2] or str(error)
        module = self._compiled[task]
        if isinstance(module, Path) and not module.is_file():
            raise OracleError("garbage", f"{self._compiler.path} wrote no {module.name}")
        return module

    def _execute(self, module: Path, columns: Sequence[Codes], results: Sequence[Codes]) -> list[Codes]:
        """The codes of each result for these elements. Raises OracleError."""
        count = len(columns[0])
        if not count:
            return [result[:0] for result in results]
        folder = self._folder
        outputs = [folder / f"result{k}.bin" for k in range(len(results))]
        arguments = ["--device=local-sync", f"--module={module}", "--function=eval"]
        for k, column in enumerate(columns):
            column.tofile(folder / f"operand{k}.bin")
            arguments.append(f"--input={count}xi{8 * column.itemsize}=@{folder / f'operand{k}.bin'}")
        for path in outputs:
            path.unlink(missing_ok=True)
            arguments.append(f"--output=@{path}")
        self._runner.run(arguments, seconds=self._seconds)
        return [_read(path, result.dtype, count) for path, result in zip(outputs, results, strict=True)]


def _read(path: Path, dtype: np.dtype[np.generic], count: int) -> Codes:
    size = path.stat().st_size if path.is_file() else 0
    if size != count * dtype.itemsize:
        raise OracleError("garbage", f"{path.name} has {size} bytes, not {count * dtype.itemsize}")
    return np.fromfile(path, dtype)


def _binary(program: str, package: str, folder: str) -> str:
    """The program that a Python package brings, if it is installed here; else its bare name."""
    try:
        spec = find_spec(package)
    except ModuleNotFoundError:
        spec = None
    places = (spec.submodule_search_locations or []) if spec else []
    candidates: Iterable[Path] = (Path(place) / folder / program for place in places)
    beside = Path(sys.executable).parent / program
    return str(next((path for path in (*candidates, beside) if path.is_file()), program))


def _width(type_: ty.Type) -> int:
    return element_width(type_) or 0


def _text(task: Task) -> str:
    """The task on tensors of storage integers: ``@eval``."""
    block = Block()
    arguments = [block.add_argument(_tensor(_storage(type_))) for type_ in task.operand_types]
    operands = [_from_storage(block, a, type_) for a, type_ in zip(arguments, task.operand_types, strict=True)]
    results = apply_op(block, task.definition, operands, dict(task.properties), task.result_types[0])
    returned = [_to_storage(block, value) for value in results]
    return print_module(module_of([function_of("eval", block, returned)]))


def _tensor(element: ty.Type) -> ty.TensorType:
    return ty.TensorType((None,), element)


def _storage(type_: ty.Type) -> ty.IntegerType:
    return ty.IntegerType(8 * storage_dtype(_width(type_)).itemsize)


def _cast(block: Block, op: str, value: SSAValue, element: ty.Type) -> SSAValue:
    definition = default_registry().find(f"arith.{op}")
    assert definition is not None
    return value if ty.element_type(value.type) == element else apply_op(block, definition, [value], {}, element)[0]


def _from_storage(block: Block, value: SSAValue, type_: ty.Type) -> SSAValue:
    if isinstance(type_, ty.IndexType):
        return _cast(block, "index_cast", value, type_)
    return _cast(block, "bitcast", _cast(block, "trunci", value, ty.IntegerType(_width(type_))), type_)


def _to_storage(block: Block, value: SSAValue) -> SSAValue:
    type_ = ty.element_type(value.type)
    if isinstance(type_, ty.IndexType):
        return _cast(block, "index_cast", value, _storage(type_))
    return _cast(block, "extui", _cast(block, "bitcast", value, ty.IntegerType(_width(type_))), _storage(type_))
