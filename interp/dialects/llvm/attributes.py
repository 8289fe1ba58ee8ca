"""The attributes with parameters of the llvm dialect (`LLVMAttrDefs.td`). Others are kept as written."""

from __future__ import annotations

from halfulp.interp.declare.parameters import (
    BOOLEAN_ATTRIBUTE,
    INTEGER,
    TYPE,
    Names,
    attribute,
    compile_form,
    nested,
)
from halfulp.interp.ir.attributes import DistinctAttr, IntegerAttr, integer_of_code
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.dialect_attributes import (
    AttributeDefinition,
    DialectAttr,
    Parameter,
    ParameterForm,
    ParameterKind,
)
from halfulp.interp.ir.locations import FusedLoc
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

# --- loops ------------------------------------------------------------------------------------------------------------


_NUMBER = attribute(lambda found: isinstance(found, IntegerAttr))
_ANNOTATION = ParameterKind(
    lambda p: nested(LOOP_ANNOTATION).read(p), lambda value, names: nested(LOOP_ANNOTATION).spell(value, names)
)
"""The kind of an annotation inside one, which its own definition needs."""
_FUSED = attribute(lambda found: isinstance(found, FusedLoc))


def _options(**kinds: ParameterKind) -> tuple[Parameter, ...]:
    """Return parameters that may be absent."""
    return tuple(Parameter(name, kind, optional=True, encoded="optional") for name, kind in kinds.items())


def _struct(mnemonic: str, parameters: tuple[Parameter, ...], code: int | None = None) -> AttributeDefinition:
    """Return the definition of an attribute whose parameters are written ``name = value``."""
    form = compile_form("`<` custom<Struct>() `>`", parameters)
    return AttributeDefinition(f"llvm.{mnemonic}", form, parameters, alias=mnemonic, code=code)


ACCESS_GROUP = _struct("access_group", (Parameter("id", attribute(lambda found: isinstance(found, DistinctAttr))),))


def _read_groups(p: TokenParser) -> tuple[Attribute, ...]:
    one = nested(ACCESS_GROUP)
    groups = [one.read(p)]
    while p.take(","):
        groups.append(one.read(p))
    return tuple(groups)


_GROUPS = ParameterKind(
    _read_groups, lambda values, names: ", ".join(nested(ACCESS_GROUP).spell(value, names) for value in values)
)
_FLAG = BOOLEAN_ATTRIBUTE
_PARTS = {
    "vectorize": _struct(
        "loop_vectorize",
        _options(
            disable=_FLAG, predicateEnable=_FLAG, scalableEnable=_FLAG, width=_NUMBER, followupVectorized=_ANNOTATION,
            followupEpilogue=_ANNOTATION, followupAll=_ANNOTATION,
        ),
    ),
    "interleave": _struct("loop_interleave", (Parameter("count", _NUMBER),)),
    "unroll": _struct(
        "loop_unroll",
        _options(
            disable=_FLAG, count=_NUMBER, runtimeDisable=_FLAG, full=_FLAG, followupUnrolled=_ANNOTATION,
            followupRemainder=_ANNOTATION, followupAll=_ANNOTATION,
        ),
    ),
    "unrollAndJam": _struct(
        "loop_unroll_and_jam",
        _options(
            disable=_FLAG, count=_NUMBER, followupOuter=_ANNOTATION, followupInner=_ANNOTATION,
            followupRemainderOuter=_ANNOTATION, followupRemainderInner=_ANNOTATION, followupAll=_ANNOTATION,
        ),
    ),
    "licm": _struct("loop_licm", _options(disable=_FLAG, versioningDisable=_FLAG)),
    "distribute": _struct(
        "loop_distribute",
        _options(
            disable=_FLAG, followupCoincident=_ANNOTATION, followupSequential=_ANNOTATION, followupFallback=_ANNOTATION,
            followupAll=_ANNOTATION,
        ),
    ),
    "pipeline": _struct("loop_pipeline", _options(disable=_FLAG, initiationinterval=_NUMBER)),
    "peeled": _struct("loop_peeled", _options(count=_NUMBER)),
    "unswitch": _struct("loop_unswitch", _options(partialDisable=_FLAG)),
}  # fmt: skip
"""The attributes inside an annotation of a loop, by the names of its parameters."""
LOOP_ANNOTATION = _struct(
    "loop_annotation",
    (
        *_options(disableNonforced=_FLAG),
        *_options(**{name: nested(definition) for name, definition in _PARTS.items()}),
        *_options(mustProgress=_FLAG, isVectorized=_FLAG, startLoc=_FUSED, endLoc=_FUSED),
        Parameter("parallelAccesses", _GROUPS, optional=True, default=(), encoded="list"),
    ),
    code=18,
)
ATTRIBUTES = (CONSTANT_RANGE, ACCESS_GROUP, *_PARTS.values(), LOOP_ANNOTATION)
"""All of them. Their numbers in bytecode are those of `LLVMDialectBytecode.td`."""
