"""The linalg dialect, as far as other dialects use its attributes."""

from __future__ import annotations

from halfulp.interp.declare.declarations import Dialect, EnumDefinition

linalg = Dialect("linalg", partial=True)

ITERATOR_TYPE = linalg.enum(
    EnumDefinition("::mlir::utils::IteratorType", {"parallel": 0, "reduction": 1}, mnemonic="linalg.iterator_type")
)
