"""Write modules whose work runs in child processes of mlir-runner, and read what these print.

All work runs in a child of the runner's process (``fork``): a trap or an endless loop ends only that child. A child
prints its results as decimal numbers, one limb per line; the status of the child follows in brackets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles.oracle import Answer, ClosedProgram, OracleError, Refused, Status, blank
from halfulp.conformance.whole_programs.rewrite import module_around, module_with, prefix_symbols
from halfulp.fp_formats.formats import LIMB_BITS, Codes, code_shape, limb_count, storage_dtype
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import BlockArgument, Module, Operation, SSAValue, argument_types, result_types
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.value import Value

CHILD_SECONDS = 10

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

SIGALRM = 14


class Child(NamedTuple):
    """The numbers that one child printed, and the signal that ended it (0: none)."""

    numbers: list[int]
    signal: int


def signal_of(status: int) -> int:
    """Return the number of the signal in ``status``, a status of waitpid; 0 if there is none. A child that called exit
    with an error counts as aborted.
    """
    return status & 0x7F or (6 if status >> 8 & 0xFF else 0)


def spliced(module: Module, text: str) -> str:
    """Insert `_SCAFFOLD`, the functions that every program needs, and ``text`` into a module, and return its text."""
    printed = print_module(module)
    head, opening, body = printed.partition("module {\n")
    if not opening:
        head, opening, body = printed.partition("module")
        raise OracleError("garbage", f"cannot enter the module {body[:40]!r}")
    return f"{head}{opening}{_SCAFFOLD}{text}{body}"


def codes_of_limbs(limbs: Codes, width: int, shape: tuple[int, ...]) -> Codes:
    """Return rows of limbs as the codes of an array of this element shape."""
    return limbs.reshape(code_shape(shape, width)).astype(storage_dtype(width))


def _integer(width: int) -> str:
    """Return the integer type that holds a code in whole limbs, or in one smaller number."""
    return f"i{storage_dtype(width).itemsize * 8 * limb_count(width)}"


def _bits_type(type_: ty.Type) -> str:
    """Return the integer type of an element type's codes."""
    return f"i{element_width(type_)}"


def case_text(case: OpCase, columns: list[Codes], batch: int, group: int) -> str:
    """Return the text of a module that computes a case: the operands in memory, a function that applies the op to one
    element and prints the result, and the entry.

    The first ``batch`` elements run in groups of ``group``, each group in one child process; the others run alone.
    """
    count = len(columns[0])
    lines = []
    body = []
    operands = []
    for k, (type_, column) in enumerate(zip(case.operand_types, columns, strict=True)):
        memory = f"memref<{count}x{column.shape[1]}xi{column.dtype.itemsize * 8}>"
        data = column.astype(column.dtype.newbyteorder("<")).tobytes().hex().upper()
        lines.append(f'  memref.global "private" constant @operand{k} : {memory} = dense<"0x{data}">')
        body.append(f"%memory{k} = memref.get_global @operand{k} : {memory}")
        operands.append(_load(body, f"{k}", memory, column.shape[1], type_))
    signature = f"({', '.join(case.operands)}) -> ({', '.join(case.results)})"
    body.append(f"%r:{len(case.results)} = func.call @eval({', '.join(operands)}) : {signature}")
    for k, type_ in enumerate(case.result_types):
        print_value(body, f"%r#{k}", f"out{k}_", type_)
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
    """Write a loop over indices; the statement reads the index from ``%n``."""
    name = f"%step{start[1:]}"
    return [
        f"    {name} = arith.constant {step} : index",
        f"    scf.for %k = {start} to {stop} step {name} {{",
        "      %n = arith.index_cast %k : index to i64",
        f"      {statement}",
        "    }",
    ]


def _load(body: list[str], name: str, memory: str, limbs: int, type_: ty.Type) -> str:
    """Write code that reads element ``%i`` as a value of the type; return the name of the value."""
    width = width_of(type_)
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


def print_value(body: list[str], value: str, name: str, type_: ty.Type) -> None:
    """Append the code that prints a scalar's code, one limb per line, to ``body``."""
    width = width_of(type_)
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
#
# Prepare programs to share one module of mlir-runner.

ELEMENTS = 1024
"""Most elements of a program's results; each is printed by instructions of its own."""

_DIALECTS = ("arith", "func", "scf", "cf", "ub")  # their ops are elementwise, or move whole values

_REFUSED = ("func.constant", "func.call_indirect")

Check = Callable[[Operation, Iterable[ty.Type]], "str | None"]


class PreparedProgram:
    """A copy of a program for a module that also holds others; its tensors and vectors have one dimension.

    ``functions``: its functions, with names that begin with ``prefix``. Each constant is returned by a function of its
    own; ``constants`` holds the values.
    """

    def __init__(self, program: ClosedProgram, prefix: str, check: Check) -> None:
        self.prefix = prefix
        copy = module_with(program.module.body, program.module)
        self.functions = copy.body
        self.constants: list[at.Attribute] = []
        self.module = copy
        self.entry = program.function
        function = copy.lookup(program.function)
        if function is None or function.name != "func.func":
            raise Refused(f"there is no function @{program.function} at the top level")
        self.shapes = [_shape(type_) for type_ in result_types(function)]
        for operation in copy.walk():
            _flatten(operation)
        self.arguments = program.arguments
        for operation in list(copy.walk())[1:]:
            self._check(operation, check)
        if any(value.poison is not None and value.poison.any() for value in program.arguments):
            raise Refused("an argument cannot be poison")
        if sum(_size(type_) for type_ in result_types(function)) > ELEMENTS:
            raise Refused(f"the results have more than {ELEMENTS} elements")
        for top in self.functions:
            _pass_integers(top)
        self.inputs, self.results = argument_types(function), result_types(function)
        prefix_symbols(copy, prefix)
        for operation in list(copy.walk()):
            if operation.name == "arith.constant":
                self._outline(operation)

    def _check(self, operation: Operation, check: Check) -> None:
        if operation.name.partition(".")[0] not in _DIALECTS or operation.name in _REFUSED:
            raise Refused(f"{operation.name} is not lowered")
        types = operation.types
        if operation.name == "func.func":
            if not operation.regions or not operation.regions[0].blocks:
                raise Refused("a function without a body")
            types += [a.type for block in operation.regions[0].blocks for a in block.arguments]
            types += result_types(operation)
        why = check(operation, [t for t in types if not isinstance(t, ty.FunctionType)])
        if why:
            raise Refused(why)

    def _outline(self, operation: Operation) -> None:
        """Turn a constant into the result of a function that returns its bits."""
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

    def text(self) -> str:
        """Return the functions of constants and arguments, and the one that calls the program and prints
        its results.
        """
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
                print_value(body, f"%r#{k}", f"o{k}_", type_)
                continue
            for place in range(_size(type_)):
                name = f"o{k}_{place}_"
                body.append(f"%{name}e = vector.extract %r#{k}[{place}] : {type_.element} from {type_}")
                print_value(body, f"%{name}e", name, type_.element)
        lines += [f"  func.func private @{prefix}run(%unused: i64) {{", *(f"    {line}" for line in body)]
        return "\n".join([*lines, "    return", "  }", ""])

    def answers(self, child: Child) -> tuple[Answer, ...] | OracleError:
        """Return the results of a program from what its process printed."""
        if child.signal == SIGALRM:
            return OracleError("hang", f"the program did not end in {CHILD_SECONDS} s")
        widths = [width_of(ty.element_type(type_)) for type_ in self.results]
        shapes = self.shapes
        if child.signal:
            return tuple(blank(shape, width, Status.TRAP) for shape, width in zip(shapes, widths, strict=True))
        counts = [_size(type_) * limb_count(width) for type_, width in zip(self.results, widths, strict=True)]
        if len(child.numbers) != sum(counts):
            return OracleError(
                "garbage", f"the program must print {sum(counts)} numbers, but printed {len(child.numbers)}"
            )
        answers, start = [], 0
        for shape, width, count in zip(shapes, widths, counts, strict=True):
            limbs = np.array(child.numbers[start : start + count], np.uint64)
            answers.append(Answer(codes_of_limbs(limbs, width, shape)))
            start += count
        return tuple(answers)


def _operation(
    name: str, operands: list[SSAValue], results: Sequence[ty.Type], properties: dict[str, at.Attribute]
) -> Operation:
    return Operation(name, default_registry().find(name), operands, results, properties)


def _pass_integers(function: Operation) -> None:
    """Pass floats as integers in calls and returns: LLVM's calling convention does not keep every bit of a bf16."""
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
    inputs, results = argument_types(function), result_types(function)
    type_ = ty.FunctionType(tuple(map(_carrier, inputs)), tuple(map(_carrier, results)))
    function.properties["function_type"] = at.TypeAttr(type_)


def _flatten(operation: Operation) -> None:
    """Give an op's tensors and vectors one dimension: some arith ops have no lowering for more."""
    values: list[SSAValue] = [*operation.results]
    values += [argument for block in operation.blocks for argument in block.arguments]
    for value in values:
        value.type = _as_vector(value.type)
    if operation.name == "func.func":
        inputs, results = argument_types(operation), result_types(operation)
        type_ = ty.FunctionType(tuple(map(_as_vector, inputs)), tuple(map(_as_vector, results)))
        operation.properties["function_type"] = at.TypeAttr(type_)


def _as_vector(type_: ty.Type) -> ty.Type:
    if isinstance(type_, ty.VectorType) and not type_.scalable:
        return ty.VectorType((_size(type_),), type_.element)
    if isinstance(type_, ty.TensorType) and type_.shape is not None and type_.encoding is None and all(type_.shape):
        return ty.VectorType((_size(type_),), type_.element)
    return type_


def _shape(type_: ty.Type) -> tuple[int, ...]:
    return ty.static_shape(type_) if isinstance(type_, ty.VectorType | ty.TensorType) else ()


def _size(type_: ty.Type) -> int:
    return int(np.prod(_shape(type_), dtype=np.int64))


def _limbs(type_: ty.VectorType) -> tuple[int, ...]:
    """Return the shape of the trailing axis that the codes of wide elements have; () for other elements."""
    return code_shape((), width_of(type_.element))


def _carrier(type_: ty.Type) -> ty.Type:
    """Return the integer type for the bits of a float or of floats; any other type unchanged."""
    element = ty.element_type(type_)
    if not isinstance(element, ty.FloatType):
        return type_
    bits = ty.IntegerType(element.format.bits)
    return bits if element is type_ else ty.with_element(type_, bits)


def _attribute(type_: ty.Type, value: Value) -> at.Attribute:
    """Return a constant of these bits."""
    if isinstance(type_, ty.VectorType):
        return at.DenseElementsAttr(type_, value.bits.reshape(_size(type_), *_limbs(type_)).copy())
    return _integer_attribute(type_, int(value.bits) if value.bits.ndim == 0 else _of_limbs(value.bits))


def _of_limbs(limbs: Codes) -> int:
    return sum(int(limb) << (LIMB_BITS * k) for k, limb in enumerate(limbs))


def _integer_attribute(type_: ty.Type, code: int) -> at.Attribute:
    width = width_of(type_)
    signed = code - (1 << width) if width > 1 and code >> (width - 1) & 1 else code
    return at.IntegerAttr(signed, type_)


def _as_bits(attribute: at.Attribute, type_: ty.Type) -> at.Attribute:
    """Return a constant of integers that has the same bits as the given constant."""
    carrier = _carrier(type_)
    if isinstance(attribute, at.FloatAttr):
        return _integer_attribute(carrier, attribute.code)
    if isinstance(attribute, at.DenseElementsAttr) and isinstance(carrier, ty.VectorType):
        codes = attribute.codes if attribute.splat else attribute.codes.reshape(_size(carrier), *_limbs(carrier))
        return at.DenseElementsAttr(carrier, codes.copy(), attribute.splat)
    if isinstance(attribute, at.IntegerAttr):
        return attribute
    raise Refused(f"a constant of {type_} is not lowered")


def programs_text(programs: Sequence[PreparedProgram]) -> str:
    """Return one module with these programs and an entry that runs one after the other."""
    lines = [prepared.text() for prepared in programs]
    lines += ["  func.func @entry() {", "    %none = arith.constant 0 : i64"]
    for number, prepared in enumerate(programs):
        lines.append(f"    %f{number} = func.constant @{prepared.prefix}run : (i64) -> ()")
        lines.append(f"    func.call @guarded(%f{number}, %none) : ((i64) -> (), i64) -> ()")
    lines += ["    return", "  }", ""]
    module = module_around(function for prepared in programs for function in prepared.functions)
    return spliced(module, "\n".join(lines))
