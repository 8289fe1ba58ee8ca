"""The dialect linalg, and the declaration of its structured ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import (
    Arity,
    CustomForm,
    Dialect,
    OpDefinition,
    Property,
    RegionSlot,
    Slot,
    Trait,
)
from halfulp.interp.dialects.linalg import rules
from halfulp.interp.dialects.linalg.evaluate import STRUCTURED
from halfulp.interp.dialects.linalg.forms import argument_names
from halfulp.interp.dialects.linalg.structure import STRUCTURES, Reader
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.operations import Operation

linalg = Dialect("linalg")

_FUNCTIONS = {
    "Unary": (
        *("exp", "log", "abs", "ceil", "floor", "negf"),
        *("reciprocal", "round", "sqrt", "rsqrt", "square", "tanh", "erf"),
    ),
    "Binary": (
        *("add", "sub", "mul", "div", "div_unsigned"),
        *("max_signed", "min_signed", "max_unsigned", "min_unsigned", "powf"),
    ),
    "Ternary": ("select",),
}
_KINDS = tuple(name for names in _FUNCTIONS.values() for name in names)


def _numbered(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


ITERATOR_TYPE = linalg.enum(
    EnumDefinition("::mlir::utils::IteratorType", {"parallel": 0, "reduction": 1}, mnemonic="linalg.iterator_type")
)
TYPE_FN = linalg.enum(
    EnumDefinition("::mlir::linalg::TypeFn", {"cast_signed": 0, "cast_unsigned": 1}, mnemonic="linalg.type_fn")
)
ELEMENTWISE_KIND = linalg.enum(
    EnumDefinition(
        "::mlir::linalg::ElementwiseKind",
        _numbered(_KINDS),
        mnemonic="linalg.elementwise_kind",
    )
)
for _arity, _names in _FUNCTIONS.items():
    linalg.enum(
        EnumDefinition(f"::mlir::linalg::{_arity}Fn", _numbered(_names), mnemonic=f"linalg.{_arity.lower()}_fn")
    )
ITERATOR_TYPES_ATTR = c.array_of_enum("Iterator type should be an enum.", ITERATOR_TYPE)


def structured(
    mnemonic: str,
    reader: Reader,
    custom: CustomForm,
    properties: Sequence[Property] = (),
    verify: Callable[[Operation], str | None] = rules.verify_blocks,
    verify_regions: Callable[[Operation], str | None] = rules.verify_structured,
) -> OpDefinition:
    """Declare a structured op. ``reader``: the functions that give its maps and its iterators."""
    STRUCTURES[f"linalg.{mnemonic}"] = reader
    return linalg.op(
        mnemonic,
        custom=custom,
        operands=(Slot("inputs", c.ANY, Arity.VARIADIC), Slot("outputs", c.SHAPED, Arity.VARIADIC)),
        results=(Slot("result_tensors", c.RANKED_TENSOR, Arity.VARIADIC),),
        properties=tuple(properties),
        regions=(RegionSlot("region"),),
        traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
        named_arguments=argument_names,
        verify=verify,
        verify_regions=verify_regions,
        evaluate=STRUCTURED,
    )
