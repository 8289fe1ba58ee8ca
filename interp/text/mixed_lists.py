"""Lists of numbers some of which are values: ``[%a, 2]``. A list of codes has a mark for each value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from halfulp.interp.ir.attributes import DYNAMIC, DenseArrayAttr
from halfulp.interp.ir.operations import SSAValue
from halfulp.interp.ir.types import I64
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter


def read_mixed(
    p: OpParser, brackets: str = "[]", message: str = "expected SSA value or integer"
) -> tuple[list[int], DenseArrayAttr]:
    """Read a list, and return the tokens of the values and the attribute with the codes."""
    names: list[int] = []
    codes: list[int] = []
    p.expect(brackets[0])
    while p.tokens[p.pos] != brackets[1]:
        if p.tokens[p.pos][:1] == "%":
            names.append(p.operand_token())
            codes.append(DYNAMIC)
        else:
            codes.append(p.integer(message) & ((1 << 64) - 1))
        if not p.take(","):
            break
    p.expect(brackets[1])
    return names, DenseArrayAttr(I64, tuple(codes))


def print_mixed(
    printer: OpPrinter, numbers: DenseArrayAttr, values: Iterable[SSAValue], brackets: Sequence[str] = "[]"
) -> str:
    """Print a list."""
    given = iter(values)
    texts = (
        printer.name(next(given)) if code == DYNAMIC else str(number)
        for code, number in zip(numbers.codes, numbers.values, strict=True)
    )
    return f"{brackets[0]}{', '.join(texts)}{brackets[1]}"
