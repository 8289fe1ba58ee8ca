"""Oracles that lower to LLVM with mlir-opt and execute with mlir-runner: one element function in a loop, or programs.

What is executed stands between calls of functions, so that neither the lowering nor LLVM sees constants to fold: the
operands of a task are read from memory, the constants of a program are returned by functions of their own. Everything
runs in a child of the runner's process (``fork``), which a trap or an endless loop ends without harm to the others;
its results are printed as decimal numbers, each limb on a line, and then the status of the child in brackets.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from halfulp.conformance.comparing.op_case import Task, reference
from halfulp.conformance.oracles.closed_programs import refused_by_schema
from halfulp.conformance.oracles.oracle import Answer, OracleError, Program, Reply, Status, Unanswered, Unavailable
from halfulp.conformance.oracles.tool import Tool, find_tool
from halfulp.conformance.whole_programs.rewrite import module_with
from halfulp.fp_formats.codes import LIMB_BITS, code_shape, limb_count, storage_dtype
from halfulp.interp.declare.declarations import default_registry
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, BlockArgument, Module, Operation, Region, SSAValue
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.value import Value, element_width
from halfulp.semantics.kernel import Codes, Mask

TO_LLVM = ("--convert-vector-to-llvm", "--convert-scf-to-cf", "--convert-to-llvm", "--reconcile-unrealized-casts")
UTILITIES = "libmlir_c_runner_utils.so"
APART = 2048
"""How many elements of a task are asked in a process of their own, since they may stop it."""
GROUPS = 256
"""Processes for the other elements: where one is stopped all the same, its elements are asked again, apart."""
LEAST = 16
"""Elements of a group, at least."""
PROGRAMS = 256
"""Programs in one module."""
ELEMENTS = 1024
"""The most elements of a program's results; each is printed by instructions of its own."""
CHILD_SECONDS = 10
SECONDS = 60.0

_SCAFFOLD = f"""
  func.func private @fork() -> i32
  func.func private @waitpid(i32, !llvm.ptr, i32) -> i32
  func.func private @fflush(!llvm.ptr) -> i32
  func.func private @_exit(i32)
  func.func private @alarm(i32) -> i32
  func.func private @signal(i32, !llvm.ptr) -> !llvm.ptr
  func.func private @printU64(i64)
  func.func private @printOpen()
  func.func private @printClose()
  func.func private @printNewline()
  func.func private @line(%number: i64) {{
    func.call @printU64(%number) : (i64) -> ()
    func.call @printNewline() : () -> ()
    return
  }}
  func.func private @default(%number: i32) {{
    %none = llvm.mlir.zero : !llvm.ptr
    %before = func.call @signal(%number, %none) : (i32, !llvm.ptr) -> !llvm.ptr
    return
  }}
  func.func private @guarded(%work: (i64) -> (), %which: i64) {{
    %none = llvm.mlir.zero : !llvm.ptr
    %one = llvm.mlir.constant(1 : i64) : i64
    %status = llvm.alloca %one x i32 : (i64) -> !llvm.ptr
    %zero = arith.constant 0 : i32
    %flushed = func.call @fflush(%none) : (!llvm.ptr) -> i32
    %pid = func.call @fork() : () -> i32
    %child = arith.cmpi eq, %pid, %zero : i32
    scf.if %child {{
      %ill = arith.constant 4 : i32
      %abort = arith.constant 6 : i32
      %bus = arith.constant 7 : i32
      %fpe = arith.constant 8 : i32
      %segment = arith.constant 11 : i32
      func.call @default(%ill) : (i32) -> ()
      func.call @default(%abort) : (i32) -> ()
      func.call @default(%bus) : (i32) -> ()
      func.call @default(%fpe) : (i32) -> ()
      func.call @default(%segment) : (i32) -> ()
      %seconds = arith.constant {CHILD_SECONDS} : i32
      %left = func.call @alarm(%seconds) : (i32) -> i32
      func.call_indirect %work(%which) : (i64) -> ()
      %end = func.call @fflush(%none) : (!llvm.ptr) -> i32
      func.call @_exit(%zero) : (i32) -> ()
    }}
    %ended = func.call @waitpid(%pid, %status, %zero) : (i32, !llvm.ptr, i32) -> i32
    %word = llvm.load %status : !llvm.ptr -> i32
    %number = arith.extui %word : i32 to i64
    func.call @printOpen() : () -> ()
    func.call @printU64(%number) : (i64) -> ()
    func.call @printClose() : () -> ()
    func.call @printNewline() : () -> ()
    return
  }}
"""
_SIGALRM, _SIGFPE = 14, 8


class Child(NamedTuple):
    """What one child printed before it ended, and with which signal (0: it came to its end)."""

    numbers: list[int]
    signal: int


class JitOracle:
    """An oracle that executes what ``passes`` make of a program.

    ``passes``: before those of `TO_LLVM`. ``runtime``: further libraries. ``floats``: the types that can be lowered.
    ``machine``: what the code generator may not use of the CPU: AVX-512, whose bf16 instructions take subnormals for
    zero, and with which LLVM 22 crashes on vector<1xi1>.
    """

    name: ClassVar[str]
    profile: ClassVar[str]
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

    # --- tasks --------------------------------------------------------------------------------------------------------

    def refuses(self, task: Task) -> str | None:
        """Types that cannot be lowered; subclasses add ops."""
        reasons = (self.refuses_type(type_) for type_ in (*task.operand_types, *task.result_types))
        refused = refused_by_schema(task) or next((why for why in reasons if why), None)
        return refused or self.refuses_op(task.operation(None))

    def refuses_type(self, type_: ty.Type) -> str | None:
        """Why there is no code for values of a type, or None."""
        element = ty.element_type(type_)
        if isinstance(type_, ty.TensorType | ty.MemRefType):
            return f"{self.name} runs scalars and vectors, and tensors of static shape with elements"
        if isinstance(type_, ty.VectorType) and any(type_.scalable):
            return "scalable vectors have no size to print"
        if isinstance(element, ty.FloatType):
            return None if element.format.name in self.floats else f"{self.name} has no {element.format.name}"
        if isinstance(element, ty.IntegerType):
            if element.signedness != "signless":
                return f"{element} has no lowering"
            return None if 0 < element.width <= self.max_width else f"{self.name} has no i{element.width}"
        return None if isinstance(element, ty.IndexType) else f"{element} has no lowering"

    def refuses_op(self, op: Operation) -> str | None:
        """Why there is no code for an op on types that there is code for, or None."""
        return None

    def evaluate(self, task: Task, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """All elements in one loop, those apart that the language gives no meaning to: each may stop the process."""
        shape = task.shape(inputs)
        count = int(np.prod(shape, dtype=np.int64))
        columns = [_rows(codes, width, count) for codes, width in zip(inputs, task.operand_widths, strict=True)]
        undefined = reference(task, inputs).undefined
        risky = np.zeros(count, np.bool_) if undefined is None else np.broadcast_to(undefined, shape).reshape(-1)
        widths = [element_width(type_) or 0 for type_ in task.result_types]
        results = [np.zeros((count, limb_count(width)), np.uint64) for width in widths]
        status = np.full(count, Status.UNANSWERED, np.uint8)
        self._ask(task, columns, ~risky, risky, results, status)
        left = (status == Status.UNANSWERED) & ~risky
        if left.any():
            self._ask(task, columns, np.zeros_like(risky), left, results, status)
        why = f"asking more than {APART} elements that may stop the process takes too long"
        statuses = status.reshape(shape) if status.any() else None
        return tuple(
            Answer(_codes(limbs, width, shape), statuses, why) for limbs, width in zip(results, widths, strict=True)
        )

    def _ask(
        self, task: Task, columns: list[Codes], together: Mask, apart: Mask, results: list[Codes], status: Codes
    ) -> None:
        """Fill in results and status of the elements ``together``, and of the first ones ``apart``."""
        batch, single = np.flatnonzero(together), np.flatnonzero(apart)[:APART]
        order = np.concatenate([batch, single])
        if not order.size:
            return
        group = max(LEAST, -(-batch.size // GROUPS))
        asked = [batch[start : start + group] for start in range(0, batch.size, group)]
        asked += [single[k : k + 1] for k in range(single.size)]
        text = _task_text(task, [column[order] for column in columns], batch.size, group)
        children = self.execute(_spliced(task.module(None), text))
        if len(children) != len(asked):
            raise OracleError("garbage", f"{len(asked)} processes ended, but {len(children)} said so")
        width = sum(limbs.shape[1] for limbs in results)
        for where, child in zip(asked, children, strict=True):
            if child.signal:
                status[where] = Status.TRAP if where.size == 1 and child.signal != _SIGALRM else Status.UNANSWERED
                continue
            rows = np.array(child.numbers, np.uint64)
            if rows.size != where.size * width:
                raise OracleError("garbage", f"{where.size * width} numbers were asked for, {rows.size} came")
            start = 0
            for limbs in results:
                limbs[where] = rows.reshape(where.size, width)[:, start : start + limbs.shape[1]]
                start += limbs.shape[1]
            status[where] = Status.VALUE

    # --- programs -----------------------------------------------------------------------------------------------------

    def run(self, programs: Sequence[Program]) -> list[Reply]:
        """Many programs in one module, each in a process of its own; a program that stops it has trapped."""
        found: dict[int, Reply] = {}
        prepared: list[tuple[int, _Prepared]] = []
        for index, program in enumerate(programs):
            try:
                prepared.append((index, _Prepared(program, f"p{index}.", self._check)))
            except _Refused as refusal:
                found[index] = Unanswered(str(refusal))
        for start in range(0, len(prepared), PROGRAMS):
            self._run(prepared[start : start + PROGRAMS], found)
        return [found[index] for index in range(len(programs))]

    def _check(self, op: Operation, types: Iterable[ty.Type]) -> str | None:
        return next((why for why in map(self.refuses_type, types) if why), None) or self.refuses_op(op)

    def _run(self, part: list[tuple[int, _Prepared]], found: dict[int, Reply]) -> None:
        """Ask these programs together; where that fails, each half apart, down to the ones that are to blame."""
        try:
            children = self.execute(_programs_text([prepared for _, prepared in part]))
            if len(children) != len(part):
                raise OracleError("garbage", f"{len(part)} processes ended, but {len(children)} said so")
        except OracleError as error:
            if len(part) == 1:
                found[part[0][0]] = Unanswered(str(error)) if error.kind == "refusal" else error
            else:
                half = len(part) // 2
                self._run(part[:half], found)
                self._run(part[half:], found)
            return
        for (index, prepared), child in zip(part, children, strict=True):
            found[index] = prepared.answers(child)

    # --- tools --------------------------------------------------------------------------------------------------------

    def execute(self, text: str) -> list[Child]:
        """Lower a module and run its ``@entry``: what its children printed. Raises OracleError."""
        lowered = self._opt.run([*self.passes, *TO_LLVM], text, SECONDS)
        libraries = ",".join(self._libraries)
        options = ["-e", "entry", "--entry-point-result=void", f"--shared-libs={libraries}"]
        printed = self._runner.run([*options, *([f"--mattr={self.machine}"] if self.machine else [])], lowered, SECONDS)
        children: list[Child] = []
        numbers: list[int] = []
        try:
            for line in printed.splitlines():
                if line.startswith("("):
                    children.append(Child(numbers, _signal(int(line[1:-1]))))
                    numbers = []
                else:
                    numbers.append(int(line))
        except ValueError:
            raise OracleError("garbage", f"the program printed {line[:60]!r}") from None
        return children


def library(runner: Tool, name: str) -> str:
    """The path of a library beside an mlir-runner. Raises Unavailable."""
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(runner.path))), "lib")
    for suffix in (".22.1", ""):
        path = os.path.join(folder, name + suffix)
        if os.path.exists(path):
            return path
    raise Unavailable(f"{folder} has no {name}; it comes with the MLIR 22 libraries")


def _signal(status: int) -> int:
    """The signal in a status of waitpid; a child that called exit with an error counts as aborted."""
    return status & 0x7F or (6 if status >> 8 & 0xFF else 0)


# --- text of a module -------------------------------------------------------------------------------------------------


def _spliced(module: Module, text: str) -> str:
    """A module with the scaffold and further text in it."""
    printed = print_module(module)
    head, opening, body = printed.partition("module {\n")
    if not opening:
        head, opening, body = printed.partition("module")
        raise OracleError("garbage", f"cannot enter the module {body[:40]!r}")
    return f"{head}{opening}{_SCAFFOLD}{text}{body}"


def _rows(codes: Codes, width: int, count: int) -> Codes:
    """Codes as rows of limbs."""
    return np.ascontiguousarray(codes).reshape(count, limb_count(width))


def _codes(limbs: Codes, width: int, shape: tuple[int, ...]) -> Codes:
    return limbs.reshape(code_shape(shape, width)).astype(storage_dtype(width))


def _integer(width: int) -> str:
    """The integer type that has room for a code in whole limbs, or in one smaller number."""
    return f"i{storage_dtype(width).itemsize * 8 * limb_count(width)}"


def _bits_type(type_: ty.Type) -> str:
    """The integer type of an element type's codes."""
    return f"i{element_width(type_)}"


def _task_text(task: Task, columns: list[Codes], batch: int, group: int) -> str:
    """Operands in memory, a function that applies the op to one element and prints the result, and the entry.

    The first ``batch`` elements run in groups, the others alone.
    """
    count = len(columns[0])
    lines = []
    body = []
    operands = []
    for k, (type_, column) in enumerate(zip(task.operand_types, columns, strict=True)):
        memory = f"memref<{count}x{column.shape[1]}xi{column.dtype.itemsize * 8}>"
        data = column.astype(column.dtype.newbyteorder("<")).tobytes().hex().upper()
        lines.append(f'  memref.global "private" constant @operand{k} : {memory} = dense<"0x{data}">')
        body.append(f"%memory{k} = memref.get_global @operand{k} : {memory}")
        operands.append(_load(body, f"{k}", memory, column.shape[1], type_))
    signature = f"({', '.join(task.operands)}) -> ({', '.join(task.results)})"
    body.append(f"%r:{len(task.results)} = func.call @eval({', '.join(operands)}) : {signature}")
    for k, type_ in enumerate(task.result_types):
        _print(body, f"%r#{k}", f"out{k}_", type_)
    lines += ["  func.func private @element(%which: i64) {", "    %i = arith.index_cast %which : i64 to index"]
    lines += [f"    {line}" for line in body]
    lines += [
        "    return",
        "  }",
        "  func.func private @group(%first: i64) {",
        "    %begin = arith.index_cast %first : i64 to index",
        f"    %most = arith.constant {group} : index",
        f"    %all = arith.constant {batch} : index",
        "    %next = arith.addi %begin, %most : index",
        "    %end = arith.minsi %next, %all : index",
        *_loop("%begin", "%end", 1, "func.call @element(%n) : (i64) -> ()"),
        "    return",
        "  }",
        "  func.func @entry() {",
        "    %group = func.constant @group : (i64) -> ()",
        "    %element = func.constant @element : (i64) -> ()",
        "    %zero = arith.constant 0 : index",
        f"    %batch = arith.constant {batch} : index",
        f"    %count = arith.constant {count} : index",
        *_loop("%zero", "%batch", group, "func.call @guarded(%group, %n) : ((i64) -> (), i64) -> ()"),
        *_loop("%batch", "%count", 1, "func.call @guarded(%element, %n) : ((i64) -> (), i64) -> ()"),
    ]
    return "\n".join([*lines, "    return", "  }", ""])


def _loop(start: str, stop: str, step: int, statement: str) -> list[str]:
    """A loop over indices, which the statement finds in ``%n``."""
    name = f"%step{start[1:]}"
    return [
        f"    {name} = arith.constant {step} : index",
        f"    scf.for %k = {start} to {stop} step {name} {{",
        "      %n = arith.index_cast %k : index to i64",
        f"      {statement}",
        "    }",
    ]


def _load(body: list[str], name: str, memory: str, limbs: int, type_: ty.Type) -> str:
    """Read element ``%i`` and make a value of the type of it; its name."""
    width = element_width(type_) or 0
    whole, bits = _integer(width), _bits_type(type_)
    for limb in range(limbs):
        body.append(f"%at{name}_{limb} = arith.constant {limb} : index")
        body.append(f"%limb{name}_{limb} = memref.load %memory{name}[%i, %at{name}_{limb}] : {memory}")
    value = f"%limb{name}_0"
    for limb in range(1, limbs):
        shifted = f"{name}_{limb}"
        if limb == 1:
            body.append(f"%low{name} = arith.extui {value} : i64 to {whole}")
            value = f"%low{name}"
        body.append(f"%wide{shifted} = arith.extui %limb{shifted} : i64 to {whole}")
        body.append(f"%by{shifted} = arith.constant {limb * LIMB_BITS} : {whole}")
        body.append(f"%high{shifted} = arith.shli %wide{shifted}, %by{shifted} : {whole}")
        body.append(f"%sum{shifted} = arith.ori {value}, %high{shifted} : {whole}")
        value = f"%sum{shifted}"
    if whole != bits:
        body.append(f"%bits{name} = arith.trunci {value} : {whole} to {bits}")
        value = f"%bits{name}"
    if isinstance(type_, ty.FloatType | ty.IndexType):
        cast = "bitcast" if isinstance(type_, ty.FloatType) else "index_cast"
        body.append(f"%value{name} = arith.{cast} {value} : {bits} to {type_}")
        value = f"%value{name}"
    return value


def _print(body: list[str], value: str, name: str, type_: ty.Type) -> None:
    """Print a scalar's code, one limb per line."""
    width = element_width(type_) or 0
    bits = _bits_type(type_)
    if isinstance(type_, ty.FloatType | ty.IndexType):
        cast = "bitcast" if isinstance(type_, ty.FloatType) else "index_cast"
        body.append(f"%{name}bits = arith.{cast} {value} : {type_} to {bits}")
        value = f"%{name}bits"
    limbs = limb_count(width)
    whole = f"i{limbs * LIMB_BITS}"
    if whole != bits:
        body.append(f"%{name}whole = arith.extui {value} : {bits} to {whole}")
        value = f"%{name}whole"
    for limb in range(limbs):
        number = value
        if limb:
            body.append(f"%{name}by{limb} = arith.constant {limb * LIMB_BITS} : {whole}")
            body.append(f"%{name}shifted{limb} = arith.shrui {value}, %{name}by{limb} : {whole}")
            number = f"%{name}shifted{limb}"
        if limbs > 1:
            body.append(f"%{name}limb{limb} = arith.trunci {number} : {whole} to i64")
            number = f"%{name}limb{limb}"
        body.append(f"func.call @line({number}) : (i64) -> ()")


# --- programs ---------------------------------------------------------------------------------------------------------

_DIALECTS = ("arith", "func", "scf", "cf", "ub")  # in which an op does the same to each element, or moves whole values
_REFUSED = ("func.constant", "func.call_indirect")
Check = Callable[[Operation, Iterable[ty.Type]], "str | None"]


class _Refused(Exception):
    """A program is not in the oracle's range."""


class _Prepared:
    """A copy of a program that fits into a module with others; its tensors and vectors have one dimension.

    ``functions``: its functions, with names that begin with ``prefix``; each constant is the result of a function, the
    value of which is in ``constants``.
    """

    def __init__(self, program: Program, prefix: str, check: Check) -> None:
        self.prefix = prefix
        copy = module_with(program.module.body, program.module)
        self.functions = copy.body
        self.constants: list[at.Attribute] = []
        self.module = copy
        self.entry = program.function
        function = copy.lookup(program.function)
        if function is None or function.name != "func.func":
            raise _Refused(f"there is no function @{program.function} at the top level")
        self.shapes = [_shape(type_) for type_ in _signature(function).results]
        for operation in copy.walk():
            _flatten(operation)
        self.arguments = program.arguments
        for operation in list(copy.walk())[1:]:
            self._check(operation, check)
        if any(value.poison is not None and value.poison.any() for value in program.arguments):
            raise _Refused("an argument cannot be poison")
        if sum(_size(type_) for type_ in _signature(function).results) > ELEMENTS:
            raise _Refused(f"the results have more than {ELEMENTS} elements")
        for top in self.functions:
            _pass_integers(top)
        self.inputs, self.results = _signature(function).inputs, _signature(function).results
        for operation in list(copy.walk()):
            self._rename(operation)
            if operation.name == "arith.constant":
                self._outline(operation)

    def _check(self, operation: Operation, check: Check) -> None:
        if operation.name.partition(".")[0] not in _DIALECTS or operation.name in _REFUSED:
            raise _Refused(f"{operation.name} is not lowered")
        types = [value.type for value in (*operation.operands, *operation.results)]
        if operation.name == "func.func":
            if not operation.regions or not operation.regions[0].blocks:
                raise _Refused("a function without a body")
            types += [a.type for block in operation.regions[0].blocks for a in block.arguments]
            types += _signature(operation).results
        why = check(operation, [t for t in types if not isinstance(t, ty.FunctionType)])
        if why:
            raise _Refused(why)

    def _outline(self, operation: Operation) -> None:
        """Make a constant the result of a function that returns its bits."""
        value = operation.properties["value"]
        type_ = operation.results[0].type
        callee = f"{self.prefix}constant{len(self.constants)}"
        self.constants.append(_as_bits(value, type_))
        carrier, block = _carrier(type_), operation.parent
        call = _operation("func.call", [], [carrier], {"callee": at.SymbolRefAttr(callee)})
        assert block is not None
        if carrier == type_:
            operation.name, operation.definition, operation.properties = call.name, call.definition, call.properties
            return
        call.parent = block
        block.operations.insert(block.operations.index(operation), call)
        operation.name, operation.definition = "arith.bitcast", default_registry().find("arith.bitcast")
        operation.operands, operation.properties = [call.results[0]], {}

    def _rename(self, operation: Operation) -> None:
        name = operation.properties.get("sym_name")
        if isinstance(name, at.StringAttr):
            operation.properties["sym_name"] = at.StringAttr(f"{self.prefix}{name.value}")
        for key, symbol in operation.properties.items():
            if isinstance(symbol, at.SymbolRefAttr):
                operation.properties[key] = at.SymbolRefAttr(self.prefix + symbol.root, symbol.nested)

    def text(self) -> str:
        """The functions of constants and arguments, and the one that calls the program and prints its results."""
        prefix = self.prefix
        constants = [(f"{prefix}constant{k}", attribute) for k, attribute in enumerate(self.constants)]
        body: list[str] = []
        names = []
        for k, (value, type_) in enumerate(zip(self.arguments, self.inputs, strict=True)):
            constants.append((f"{prefix}argument{k}", _attribute(type_, value)))
            body.append(f"%a{k} = func.call @{prefix}argument{k}() : () -> {type_}")
            names.append(f"%a{k}")
        lines = []
        for name, attribute in constants:
            type_ = attribute.type  # type: ignore[attr-defined]
            lines += [
                f"  func.func private @{name}() -> {type_} {{",
                f"    %0 = arith.constant {attribute.spell({})}",
                f"    return %0 : {type_}",
                "  }",
            ]
        types = f"({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.results))})"
        bound = f"%r:{len(self.results)} = " if self.results else ""
        body.append(f"{bound}func.call @{prefix}{self.entry}({', '.join(names)}) : {types}")
        for k, type_ in enumerate(self.results):
            if not isinstance(type_, ty.VectorType):
                _print(body, f"%r#{k}", f"o{k}_", type_)
                continue
            for place in range(_size(type_)):
                name = f"o{k}_{place}_"
                body.append(f"%{name}e = vector.extract %r#{k}[{place}] : {type_.element} from {type_}")
                _print(body, f"%{name}e", name, type_.element)
        lines += [f"  func.func private @{prefix}run(%unused: i64) {{", *(f"    {line}" for line in body)]
        return "\n".join([*lines, "    return", "  }", ""])

    def answers(self, child: Child) -> tuple[Answer, ...] | OracleError:
        """What the program's process printed, as results."""
        if child.signal == _SIGALRM:
            return OracleError("hang", f"the program did not end in {CHILD_SECONDS} s")
        widths = [element_width(ty.element_type(type_)) or 0 for type_ in self.results]
        shapes = self.shapes
        if child.signal:
            return tuple(
                Answer(np.zeros(code_shape(shape, width), storage_dtype(width)), np.full(shape, Status.TRAP, np.uint8))
                for shape, width in zip(shapes, widths, strict=True)
            )
        counts = [_size(type_) * limb_count(width) for type_, width in zip(self.results, widths, strict=True)]
        if len(child.numbers) != sum(counts):
            return OracleError("garbage", f"{sum(counts)} numbers were asked for, {len(child.numbers)} came")
        answers, start = [], 0
        for shape, width, count in zip(shapes, widths, counts, strict=True):
            limbs = np.array(child.numbers[start : start + count], np.uint64)
            answers.append(Answer(_codes(limbs, width, shape)))
            start += count
        return tuple(answers)


def _signature(function: Operation) -> ty.FunctionType:
    attribute = function.properties["function_type"]
    assert isinstance(attribute, at.TypeAttr)
    assert isinstance(attribute.type, ty.FunctionType)
    return attribute.type


def _operation(
    name: str, operands: list[SSAValue], results: Sequence[ty.Type], properties: dict[str, at.Attribute]
) -> Operation:
    return Operation(name, default_registry().find(name), operands, results, properties)


def _pass_integers(function: Operation) -> None:
    """Let floats cross calls as integers: LLVM's calling convention does not keep every bit of a bf16."""
    before: dict[Operation, list[Operation]] = {}
    after: dict[Operation, list[Operation]] = {}
    replaced: dict[SSAValue, SSAValue] = {}
    entry = function.regions[0].blocks[0]
    front: list[Operation] = []
    for index, argument in enumerate(entry.arguments):
        carrier = _carrier(argument.type)
        if carrier != argument.type:
            entry.arguments[index] = BlockArgument(carrier, entry, index, argument.name)
            front.append(_operation("arith.bitcast", [entry.arguments[index]], [argument.type], {}))
            replaced[argument] = front[-1].results[0]
    crossing = [op for op in function.walk() if op.name in ("func.call", "func.return")]
    for op in crossing:
        for result in op.results:
            carrier, type_ = _carrier(result.type), result.type
            if carrier != type_:
                result.type = carrier
                after.setdefault(op, []).append(_operation("arith.bitcast", [result], [type_], {}))
                replaced[result] = after[op][-1].results[0]
    for op in function.walk():
        op.operands = [replaced.get(value, value) for value in op.operands]
        op.successors = [(block, [replaced.get(value, value) for value in passed]) for block, passed in op.successors]
    for op in crossing:
        for index, value in enumerate(op.operands):
            carrier = _carrier(value.type)
            if carrier != value.type:
                before.setdefault(op, []).append(_operation("arith.bitcast", [value], [carrier], {}))
                op.operands[index] = before[op][-1].results[0]
    for block in {op.parent for op in crossing if op.parent is not None} | {entry}:
        operations = front if block is entry else []
        for op in block.operations:
            operations = [*operations, *before.get(op, ()), op, *after.get(op, ())]
        block.operations = []
        for op in operations:
            block.append(op)
    inputs, results = _signature(function).inputs, _signature(function).results
    type_ = ty.FunctionType(tuple(map(_carrier, inputs)), tuple(map(_carrier, results)))
    function.properties["function_type"] = at.TypeAttr(type_)


def _flatten(operation: Operation) -> None:
    """Make vectors of one dimension of an op's tensors and vectors: not all of arith has a lowering for more."""
    values: list[SSAValue] = [*operation.results]
    values += [argument for region in operation.regions for block in region.blocks for argument in block.arguments]
    for value in values:
        value.type = _as_vector(value.type)
    if operation.name == "func.func":
        inputs, results = _signature(operation).inputs, _signature(operation).results
        type_ = ty.FunctionType(tuple(map(_as_vector, inputs)), tuple(map(_as_vector, results)))
        operation.properties["function_type"] = at.TypeAttr(type_)


def _as_vector(type_: ty.Type) -> ty.Type:
    if isinstance(type_, ty.VectorType) and not type_.scalable:
        return ty.VectorType((_size(type_),), type_.element)
    if isinstance(type_, ty.TensorType) and type_.shape is not None and type_.encoding is None and all(type_.shape):
        return ty.VectorType((_size(type_),), type_.element)
    return type_


def _shape(type_: ty.Type) -> tuple[int, ...]:
    return tuple(size or 0 for size in type_.shape or ()) if isinstance(type_, ty.VectorType | ty.TensorType) else ()


def _size(type_: ty.Type) -> int:
    return int(np.prod(_shape(type_), dtype=np.int64))


def _limbs(type_: ty.VectorType) -> tuple[int, ...]:
    """The trailing axis of codes."""
    return code_shape((), element_width(type_.element) or 0)


def _carrier(type_: ty.Type) -> ty.Type:
    """The type of the bits of a float or of floats; any other type itself."""
    element = ty.element_type(type_)
    if not isinstance(element, ty.FloatType):
        return type_
    bits = ty.IntegerType(element.format.bits)
    return bits if element is type_ else ty.with_element(type_, bits)


def _attribute(type_: ty.Type, value: Value) -> at.Attribute:
    """A constant of these bits."""
    if isinstance(type_, ty.VectorType):
        return at.DenseElementsAttr(type_, value.bits.reshape(_size(type_), *_limbs(type_)).copy())
    return _integer_attribute(type_, int(value.bits) if value.bits.ndim == 0 else _of_limbs(value.bits))


def _of_limbs(limbs: Codes) -> int:
    return sum(int(limb) << (LIMB_BITS * k) for k, limb in enumerate(limbs))


def _integer_attribute(type_: ty.Type, code: int) -> at.Attribute:
    width = element_width(type_) or 0
    signed = code - (1 << width) if width > 1 and code >> (width - 1) & 1 else code
    return at.IntegerAttr(signed, type_)


def _as_bits(attribute: at.Attribute, type_: ty.Type) -> at.Attribute:
    """A constant's bits as a constant of integers."""
    carrier = _carrier(type_)
    if isinstance(attribute, at.FloatAttr):
        return _integer_attribute(carrier, attribute.code)
    if isinstance(attribute, at.DenseElementsAttr) and isinstance(carrier, ty.VectorType):
        codes = attribute.codes if attribute.splat else attribute.codes.reshape(_size(carrier), *_limbs(carrier))
        return at.DenseElementsAttr(carrier, codes.copy(), attribute.splat)
    if isinstance(attribute, at.IntegerAttr):
        return attribute
    raise _Refused(f"a constant of {type_} is not lowered")


def _programs_text(programs: Sequence[_Prepared]) -> str:
    """One module with these programs and an entry that runs one after the other."""
    top = Block(operations=[function for prepared in programs for function in prepared.functions])
    lines = [prepared.text() for prepared in programs]
    lines += ["  func.func @entry() {", "    %none = arith.constant 0 : i64"]
    for number, prepared in enumerate(programs):
        lines.append(f"    %f{number} = func.constant @{prepared.prefix}run : (i64) -> ()")
        lines.append(f"    func.call @guarded(%f{number}, %none) : ((i64) -> (), i64) -> ()")
    lines += ["    return", "  }", ""]
    definition = default_registry().find("builtin.module")
    module = Module(Operation("builtin.module", definition, regions=[Region([top])]))
    return _spliced(module, "\n".join(lines))
