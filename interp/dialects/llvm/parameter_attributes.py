"""The attributes of arguments and results that LLVM knows, and where each may stand, with MLIR's words.

Source: `LLVMDialect::verifyParameterAttribute` and `verifyRegionResultAttribute`, as mlir-opt 22 answers.
"""

from __future__ import annotations

from collections.abc import Mapping

from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.llvm import types as llvm
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty

_POINTER, _INTEGER = ("pointer", llvm.PointerType), ("integer", ty.IntegerType)
_UNIT, _NUMBER, _TYPE = ("a unit", at.UnitAttr), ("an integer", at.IntegerAttr), ("a type", at.TypeAttr)

_KINDS: Mapping[str, tuple[tuple[str, type[at.Attribute]], tuple[str, type[ty.Type]] | None]] = {
    **{
        f"llvm.{name}": (_UNIT, _POINTER)
        for name in ("nest", "noalias", "nocapture", "nofree", "nonnull", "readnone", "readonly", "writeonly")
    },
    **{f"llvm.{name}": (_UNIT, None) for name in ("inreg", "noundef", "returned")},
    **{f"llvm.{name}": (_UNIT, _INTEGER) for name in ("signext", "zeroext")},
    **{f"llvm.{name}": (_NUMBER, _POINTER) for name in ("align", "dereferenceable", "dereferenceable_or_null")},
    "llvm.alignstack": (_NUMBER, None),
    **{
        f"llvm.{name}": (_TYPE, _POINTER)
        for name in ("byref", "byval", "elementtype", "inalloca", "preallocated", "sret")
    },
}
"""What each attribute must be, and the types that it is for; None for any."""
_OF_ARGUMENTS = frozenset(
    f"llvm.{name}"
    for name in (
        "alignstack", "allocalign", "allocptr", "byref", "byval", "inalloca", "nest", "nocapture", "nofree",
        "preallocated", "readnone", "readonly", "returned", "sret", "writeonly",
    )
)  # fmt: skip
"""The attributes that results do not have."""


def wrong_attribute(attributes: at.Attribute, type_: ty.Type, of_result: bool) -> Unprefixed | None:
    """Return what is wrong with the attributes of one argument or result, or None."""
    entries = attributes.entries if isinstance(attributes, at.DictionaryAttr) else ()
    for name, value in entries:
        if of_result and name in _OF_ARGUMENTS:
            return Unprefixed(f'"{name}" is not a valid result attribute')
        if name not in _KINDS:
            continue
        (kind, class_), place = _KINDS[name]
        if not isinstance(value, class_):
            return Unprefixed(f'"{name}" should be {kind} attribute')
        if place is not None and not isinstance(type_, place[1]):
            return Unprefixed(f'"{name}" attribute attached to non-{place[0]} LLVM type')
    return None
