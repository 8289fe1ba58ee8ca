"""A self-checking MLIR program: ``@main`` calls ``@check`` for every vector, which calls ``@eval`` and asserts that the
result has the right bits. ``halfulp run`` executes it, and so does MLIR after lowering arith, cf and func.

Codes are integers with a bitcast, so that NaNs keep their bits. The program cannot check poison, and skips unspecified
bits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count
from typing import BinaryIO

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.vectors.columns import Column, Role, VectorSet, results_of
from halfulp.conformance.vectors.formats import text as texts
from halfulp.conformance.vectors.formats.format import Options
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import StringAttr, SymbolRefAttr
from halfulp.interp.ir.errors import HalfulpError, InputError, Unsupported
from halfulp.interp.loading import parse_module
from halfulp.interp.text.parser import parse_type
from halfulp.interp.text.printer import print_module

FUNCTION = "eval"

_COUNT = re.compile(r"// halfulp-count: (\d+)")
_CONSTANT = re.compile(r"%\w+_([0-9A-Fa-f]{8}) = arith\.constant 0x([0-9A-Fa-f]+) : \w+")


def function_of_case(case: OpCase) -> str:
    """Return the function ``@eval`` that applies a case's op to scalars."""
    return _body(print_module(case.module(None)))


_TAKEN = (FUNCTION, "check", "main")
"""The functions of a self-checking program."""


def function_of_program(text: str, function: str) -> str:
    """Return the text of a program of scalars in which ``function`` is named ``@eval``. Other functions get other names
    if they have a name that the file uses itself.
    """
    module = parse_module(text)
    if module.lookup(f"@{function}") not in module.body:
        raise Unsupported(f"the format 'mlir' cannot call '@{function}', which is in a nested module")
    names = [operation.symbol_name for operation in module.body if operation.symbol_name is not None]
    renamed = {function: FUNCTION}
    for name in _TAKEN:
        if name in names and name != function:
            renamed[name] = next(new for k in count() if (new := f"{name}_{k}") not in names)
    for operation in module.body:
        if operation.symbol_name in renamed:
            operation.properties["sym_name"] = StringAttr(renamed[operation.symbol_name])
        for inner in operation.walk():
            for name, value in inner.properties.items():
                if isinstance(value, SymbolRefAttr) and value.root in renamed:
                    inner.properties[name] = SymbolRefAttr(renamed[value.root], value.nested)
    return _body(print_module(module))


def _body(text: str) -> str:
    """Return the text inside a module, with the aliases before it, as top-level text."""
    lines = text.rstrip("\n").splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("module"))
    return "\n".join([*lines[:start], *(line.removeprefix("  ") for line in lines[start + 1 : -1])]) + "\n"


def _carrier(column: Column) -> str:
    """Return the type in which a code is written. Raises InputError if MLIR has no bitcast to the column's type."""
    try:
        type_ = parse_type(column.type)
    except HalfulpError as error:
        raise InputError(f"the type of '{column.name}' is not a type: {error.message}") from None
    if isinstance(type_, ty.IntegerType | ty.IndexType):
        return str(type_)
    if not isinstance(type_, ty.FloatType):
        raise InputError(f"the format 'mlir' cannot cast integers to '{type_}', for '{column.name}'")
    return f"i{column.width}"


def _row(columns: Sequence[Column]) -> texts.Row:
    number = texts.whole_code(columns, 0)
    row: list[bytes | texts.Hex] = []
    for position, column in enumerate(columns[1:], 1):
        row += [f"  %{column.name}_".encode(), number, b" = arith.constant 0x", texts.whole_code(columns, position)]
        row.append(f" : {_carrier(column)}\n".encode())
    row.append(b"  func.call @check(")
    for position, column in enumerate(columns[1:], 1):
        row += [f"{', ' if position > 1 else ''}%{column.name}_".encode(), number]
    return [*row, f") : ({', '.join(map(_carrier, columns[1:]))}) -> ()\n".encode()]


def _check(columns: tuple[Column, ...]) -> list[str]:
    """Return the function that checks one vector."""
    lines = [f"func.func private @check({', '.join(f'%{c.name}: {_carrier(c)}' for c in columns)}) {{"]

    def cast(value: str, made: str, source: str, target: str) -> str:
        if source == target:
            return value
        lines.append(f"  {made} = arith.bitcast {value} : {source} to {target}")
        return made

    operands = [column for column in columns if column.role is Role.OPERAND]
    results = [(k, column) for k, column in enumerate(columns) if column.role is Role.RESULT]
    values = [cast(f"%{c.name}", f"%{c.name}_value", _carrier(c), c.type) for c in operands]
    types = ", ".join(column.type for column in operands), ", ".join(column.type for _, column in results)
    lines.append(f"  %got:{len(results)} = func.call @{FUNCTION}({', '.join(values)}) : ({types[0]}) -> ({types[1]})")
    for number, (position, column) in enumerate(results):
        name, carrier = f"%{column.name}", _carrier(column)
        differs = f"{name}_differs"
        code = cast(f"%got#{number}", f"{name}_code", column.type, carrier)
        lines.append(f"  {differs} = arith.xori {code}, {name} : {carrier}")
        for mask in columns:
            if mask.role is Role.OPEN and position in results_of(columns, mask):
                lines += [
                    f"  {name}_ones = arith.constant -1 : {carrier}",
                    f"  {name}_closed = arith.xori %{mask.name}, {name}_ones : {carrier}",
                    f"  {name}_wrong = arith.andi {differs}, {name}_closed : {carrier}",
                ]
                differs = f"{name}_wrong"
        lines += [
            f"  {name}_zero = arith.constant 0 : {carrier}",
            f"  {name}_right = arith.cmpi eq, {differs}, {name}_zero : {carrier}",
            f'  cf.assert {name}_right, "{column.name} has other bits than it must have"',
        ]
    return [*lines, "  return", "}"]


def write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
    """Write the functions ``@eval`` (`Options.function`), ``@check`` and ``@main``."""
    if not any(column.role is Role.RESULT for column in vectors.columns):
        raise InputError("the format 'mlir' needs a result to check")
    if options.function is None:
        raise InputError("the format 'mlir' needs the text of a function @eval")
    head = [f"// {texts.described(vectors.columns)}", options.function.rstrip("\n"), *_check(vectors.columns)]
    numbered = texts.numbered(vectors)
    row = _row(numbered.columns)
    file.write(("\n".join([*head, "func.func @main() {"]) + "\n").encode())
    rows = texts.write_rows(numbered, file, row)
    file.write(f"  // halfulp-count: {rows}\n  return\n}}\n".encode())


class _Lines(texts.Lines):
    """The reader of a program that `write` made: it reads the constants and their number, and skips everything else."""

    ends = True

    def __init__(self, columns: tuple[Column, ...]) -> None:
        super().__init__(columns)
        self._in_main = False
        self._row: list[str] = []

    def read(self, text: str, done: int) -> list[list[str]]:
        self._in_main = self._in_main or text == "func.func @main() {" or done > 0
        number = _COUNT.fullmatch(text)
        if number:
            self.count = int(number[1])
        self.inside = self._in_main and text.startswith("%")
        if not self.inside:
            if self._row:
                raise ValueError("a constant of the vector before is missing")
            return []
        constant = _CONSTANT.fullmatch(text)
        if constant is None:
            raise ValueError("not the constant of a vector")
        self._row = self._row or [constant[1]]
        if constant[1] != self._row[0]:
            raise ValueError("not the constant of this vector")
        self._row.append(constant[2])
        if len(self._row) < len(self.columns):
            return []
        row, self._row = self._row, []
        return [row]


_CARRIES = frozenset({Role.OPERAND, Role.RESULT, Role.OPEN})

FORMAT = texts.text_format("mlir", ".mlir", _row, _Lines, write=write, carries=_CARRIES, describes=True, numbers=True)
