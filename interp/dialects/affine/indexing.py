"""affine.linearize_index and affine.delinearize_index: a number from several digits in a mixed base, and back.

The first element of the base is optional, and not computed with. Sums and products that overflow are poison, and a
divisor that is not positive is undefined, as in all affine arithmetic.
"""

from __future__ import annotations

from typing import Any

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.declare.operands import SEGMENTS, move_inherent, operand_sizes
from halfulp.interp.dialects.affine.formulas import apply_kernel, formula_of
from halfulp.interp.dialects.elements import Function, Operands, poisoned
from halfulp.interp.dialects.indices import DYNAMIC, numbers
from halfulp.interp.ir.affine_expressions import AffineConstant, AffineExpr, Dimension, Symbol, add, floordiv, modulo
from halfulp.interp.ir.affine_expressions import multiply as times
from halfulp.interp.ir.attributes import AffineMapAttr, BoolAttr, DenseArrayAttr, UnitAttr
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.ir.types import I32, I64, INDEX
from halfulp.interp.run.elementwise import ElementwiseStep
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.affine_parser import MAX_DEPTH
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter

# --- forms ------------------------------------------------------------------------------------------------------------


def _read_base(p: OpParser) -> tuple[DenseArrayAttr, list[int]]:
    """Read ``(%a, 2)``: the numbers with a mark for each value, and the tokens of the values."""
    names: list[int] = []
    codes: list[int] = []
    p.expect("(")
    while p.tokens[p.pos] != ")":
        if p.tokens[p.pos][:1] == "%":
            names.append(p.operand_token())
            codes.append(DYNAMIC & ((1 << 64) - 1))
        else:
            codes.append(p.integer("expected SSA value or integer") & ((1 << 64) - 1))
        if not p.take(","):
            break
    p.expect(")")
    return DenseArrayAttr(I64, tuple(codes)), names


def _base(op: Operation) -> tuple[int, ...]:
    written = op.properties["static_basis"]
    assert isinstance(written, DenseArrayAttr)
    return written.values


def _print_base(printer: OpPrinter, op: Operation, dynamic: list[SSAValue]) -> str:
    given = iter(dynamic)
    texts = (printer.name(next(given)) if number == DYNAMIC else str(number) for number in _base(op))
    return f"({', '.join(texts)})"


def _dictionary(printer: OpPrinter, op: Operation) -> str:
    return f" {printer.dictionary(op.attributes)}" if op.attributes else ""


def _linearize_parser(definition: OpDefinition) -> CustomParse:
    def parse(p: OpParser, at: int) -> Operation:
        disjoint: Attribute = UnitAttr() if p.take("disjoint") else BoolAttr(False)
        p.expect("[")
        digits = p.operand_tokens()
        p.expect("]")
        p.keyword(definition, "by")
        base, dynamic = _read_base(p)
        entries = dict(p.optional_dictionary())
        p.expect(":")
        result = p.type()
        values = [p.use(token, INDEX) for token in (*digits, *dynamic)]
        properties: dict[str, Attribute] = {
            "disjoint": disjoint,
            SEGMENTS: DenseArrayAttr(I32, (len(digits), len(dynamic))),
            "static_basis": base,
        }
        move_inherent(definition, properties, entries)
        return p.placed(Operation(definition.name, definition, values, [result], properties, entries), at)

    return parse


def _print_linearize(printer: OpPrinter, op: Operation) -> str:
    count = _digits(op)
    text = " disjoint" if _is_disjoint(op) else ""
    text += f" [{', '.join(map(printer.name, op.operands[:count]))}] by "
    text += _print_base(printer, op, op.operands[count:]) + _dictionary(printer, op)
    return f"{text} : {printer.type(op.results[0].type)}"


def _delinearize_parser(definition: OpDefinition) -> CustomParse:
    def parse(p: OpParser, at: int) -> Operation:
        number = p.operand_token()
        p.keyword(definition, "into")
        base, dynamic = _read_base(p)
        entries = dict(p.optional_dictionary())
        p.expect(":")
        results = p.type_list()
        values = [p.use(token, INDEX) for token in (number, *dynamic)]
        properties: dict[str, Attribute] = {"static_basis": base}
        move_inherent(definition, properties, entries)
        return p.placed(Operation(definition.name, definition, values, results, properties, entries), at)

    return parse


def _print_delinearize(printer: OpPrinter, op: Operation) -> str:
    text = f" {printer.name(op.operands[0])} into {_print_base(printer, op, op.operands[1:])}"
    return f"{text}{_dictionary(printer, op)} : {', '.join(printer.type(result.type) for result in op.results)}"


LINEARIZE = CustomForm(_linearize_parser, _print_linearize)
DELINEARIZE = CustomForm(_delinearize_parser, _print_delinearize)

# --- rules ------------------------------------------------------------------------------------------------------------


def _digits(op: Operation) -> int:
    assert op.definition is not None
    return (operand_sizes(op, op.definition) or [len(op.operands)])[0]


def _is_disjoint(op: Operation) -> bool:
    return isinstance(op.properties.get("disjoint"), UnitAttr)


_MISMATCH = (
    "mismatch between dynamic and static basis (kDynamic marker but no corresponding dynamic basis entry) -- this can "
    "only happen due to an incorrect fold/rewrite"
)


def verify_linearize(op: Operation) -> str | None:
    """Check the length of the base."""
    base, count = _base(op), _digits(op)
    if len(base) not in (count, count - 1):
        return "should be passed a basis element for each index except possibly the first"
    return None if base.count(DYNAMIC) == len(op.operands) - count else _MISMATCH


def verify_delinearize(op: Operation) -> str | None:
    """Check the base and the number of results."""
    base = _base(op)
    if len(op.results) not in (len(base), len(base) + 1):
        return "should return an index for each basis element and up to one extra index"
    if base.count(DYNAMIC) != len(op.operands) - 1:
        return _MISMATCH
    if any(number != DYNAMIC and number <= 0 for number in base):
        return "no basis element may be statically non-positive"
    return None


# --- evaluation -------------------------------------------------------------------------------------------------------


def _weights(op: Operation, digits: int) -> list[AffineExpr]:
    """Return the elements of the base as expressions, without the first one if there is one for every digit."""
    symbols = iter(range(len(op.operands)))
    found = [Symbol(next(symbols)) if number == DYNAMIC else AffineConstant(number) for number in _base(op)]
    return list(found[1:] if len(found) == digits else found)


def _step(op: Operation, dimensions: int, expr: AffineExpr, settings: Settings) -> ElementwiseStep:
    """Return the step that computes an expression from all operands."""
    symbols = len(op.operands) - dimensions
    kernel = apply_kernel(formula_of(AffineMapAttr(dimensions, symbols, (expr,)), expr, settings), settings.index_width)
    inner = Operation(op.name, op.definition, list(op.operands), [INDEX])
    inner.location = op.location
    return ElementwiseStep(inner, Elementwise(lambda op, settings: kernel), kernel, settings)


def linearize(op: Operation, settings: Settings) -> Function:
    """Return the function of affine.linearize_index. Digits that break the promise of ``disjoint`` make it poison."""
    count = _digits(op)
    weights = _weights(op, count)
    expr: AffineExpr = Dimension(0) if count else AffineConstant(0)
    for digit, weight in enumerate(weights, 1):
        expr = add(times(expr, weight), Dimension(digit))
    step = _step(op, count, expr, settings)
    disjoint = _is_disjoint(op)

    def number(run: Run, operands: Operands) -> tuple[Any, ...]:
        if disjoint and all(value.poison is None for value in operands):
            digits = numbers(op, operands[:count], settings)
            given = iter(numbers(op, operands[count:], settings))
            base = [next(given) if size == DYNAMIC else size for size in _base(op)]
            inner = base[1:] if len(base) == count else base
            kept = all(0 <= digit < size for digit, size in zip(digits[1:], inner, strict=True))
            if not kept or any(size < 0 for size in base):
                return (poisoned(op, run, settings, INDEX, "the indices are not disjoint"),)
        return step.run(run, operands)

    return number


def delinearize(op: Operation, settings: Settings) -> Function:
    """Return the function of affine.delinearize_index. Raises Unsupported for more digits than expressions may nest."""
    weights = _weights(op, len(op.results))
    if len(weights) > MAX_DEPTH:
        raise Unsupported(f"{op.name}: the base has more than {MAX_DEPTH} digits", location=op.location, op=op.name)
    rest: AffineExpr = Dimension(0)
    digits: list[AffineExpr] = []
    for weight in reversed(weights):
        digits.append(modulo(rest, weight))
        rest = floordiv(rest, weight)
    digits.append(rest)
    steps = [_step(op, 1, digit, settings) for digit in reversed(digits[: len(op.results)])]

    def split(run: Run, operands: Operands) -> tuple[Any, ...]:
        return tuple(step.run(run, operands)[0] for step in steps)

    return split
