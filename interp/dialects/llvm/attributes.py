"""The attributes with parameters of the llvm dialect (`LLVMAttrDefs.td`). Others are kept as written."""

from __future__ import annotations

from halfulp.interp.declare.parameters import INTEGER, TYPE, Names
from halfulp.interp.ir.attributes import integer_of_code
from halfulp.interp.ir.dialect_attributes import AttributeDefinition, DialectAttr, Parameter, ParameterForm
from halfulp.interp.ir.types import IntegerType
from halfulp.interp.text.token_parser import TokenParser

# --- ranges -----------------------------------------------------------------------------------------------------------


def _read_range(p: TokenParser) -> tuple[IntegerType, int, int]:
    """Read ``<i8, lower, upper>``. The bounds count modulo the width of the type, whose sign is forgotten."""
    p.expect("<")
    at = p.pos
    given = p.type()
    if not isinstance(given, IntegerType):
        p.error(f"invalid kind of type specified: expected builtin.integer, but found '{given}'", at)
    bounds = []
    for _ in range(2):
        p.expect(",")
        bounds.append(p.integer(wide=True))
    p.expect(">")
    mask = (1 << given.width) - 1
    lower, upper = (integer_of_code(bound & mask, IntegerType(given.width, "signed")) for bound in bounds)
    return IntegerType(given.width), lower, upper


def _spell_range(value: DialectAttr, names: Names) -> str:
    type_, lower, upper = value.values
    return f"<{type_}, {lower}, {upper}>"


CONSTANT_RANGE = AttributeDefinition(
    "llvm.constant_range",
    ParameterForm(_read_range, _spell_range),
    (Parameter("type", TYPE), Parameter("lower", INTEGER), Parameter("upper", INTEGER)),
)
"""The integers from ``lower`` to before ``upper``, modulo the width of the type; both are signed numbers."""
