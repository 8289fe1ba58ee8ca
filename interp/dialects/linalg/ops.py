"""The linalg dialect: the attributes that other dialects use."""

from __future__ import annotations

from halfulp.interp.declare.declarations import Dialect
from halfulp.interp.ir.dialect_attributes import EnumDefinition

linalg = Dialect("linalg", partial=True)

ITERATOR_TYPE = linalg.enum(
    EnumDefinition("::mlir::utils::IteratorType", {"parallel": 0, "reduction": 1}, mnemonic="linalg.iterator_type")
)
