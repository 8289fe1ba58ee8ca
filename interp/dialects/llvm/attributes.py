"""The attributes with parameters of the llvm dialect (`LLVMAttrDefs.td`). Others are kept as written."""

from __future__ import annotations

from dataclasses import replace

from halfulp.interp.declare import parameters as kinds
from halfulp.interp.dialects.llvm import debug_info
from halfulp.interp.ir.attributes import (
    ArrayAttr,
    DistinctAttr,
    IntegerAttr,
    OpaqueAttr,
    StringAttr,
    integer_of_code,
)
from halfulp.interp.ir.base import Attribute, FusedLoc
from halfulp.interp.ir.dialect_attributes import (
    AttributeDefinition,
    DialectAttr,
    Parameter,
    ParameterForm,
    ParameterKind,
)
from halfulp.interp.ir.types import IntegerType
from halfulp.interp.text.affine_parser import TokenParser

# --- ranges -----------------------------------------------------------------------------------------------------------


def _read_range(p: TokenParser) -> tuple[IntegerType, int, int]:
    """Read ``<i8, lower, upper>``. The bounds count modulo the width of the type; its sign is not kept."""
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


def _spell_range(value: DialectAttr, names: kinds.Names) -> str:
    type_, lower, upper = value.values
    return f"<{type_}, {lower}, {upper}>"


CONSTANT_RANGE = AttributeDefinition(
    "llvm.constant_range",
    ParameterForm(_read_range, _spell_range),
    (Parameter("type", kinds.TYPE), Parameter("lower", kinds.INTEGER), Parameter("upper", kinds.INTEGER)),
)
"""The integers from ``lower`` to before ``upper``, modulo the width of the type; both are signed numbers."""


# --- loops ------------------------------------------------------------------------------------------------------------

_NUMBER = kinds.attribute(lambda found: isinstance(found, IntegerAttr))


def _read_annotation(p: TokenParser) -> Attribute:
    found: Attribute = kinds.nested(LOOP_ANNOTATION).read(p)
    return found


def _spell_annotation(value: DialectAttr, names: kinds.Names) -> str:
    return kinds.nested(LOOP_ANNOTATION).spell(value, names)


_ANNOTATION = ParameterKind(
    _read_annotation, _spell_annotation, lambda found: kinds.nested(LOOP_ANNOTATION).accepts(found)
)
"""The kind of an annotation inside one, which its own definition needs."""
_FUSED = kinds.attribute(lambda found: isinstance(found, FusedLoc))


def _options(**parameters: ParameterKind) -> tuple[Parameter, ...]:
    """Return parameters that may be absent."""
    return tuple(Parameter(name, kind, optional=True, encoded="optional") for name, kind in parameters.items())


def _struct(mnemonic: str, parameters: tuple[Parameter, ...], code: int | None = None) -> AttributeDefinition:
    """Return the definition of an attribute whose parameters are written ``name = value``."""
    return replace(_declared(mnemonic, "`<` custom<Struct>() `>`", *parameters), alias=mnemonic, code=code)


def _declared(mnemonic: str, assembly: str, *parameters: Parameter) -> AttributeDefinition:
    """Return the definition of an attribute that has no aliases of its own."""
    return AttributeDefinition(f"llvm.{mnemonic}", kinds.compile_form(assembly, parameters), parameters)


ACCESS_GROUP = _struct(
    "access_group", (Parameter("id", kinds.attribute(lambda found: isinstance(found, DistinctAttr))),)
)


_FLAG = kinds.BOOLEAN_ATTRIBUTE
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
LOOP_ANNOTATION: AttributeDefinition = _struct(
    "loop_annotation",
    (
        *_options(disableNonforced=_FLAG),
        *_options(**{name: kinds.nested(definition) for name, definition in _PARTS.items()}),
        *_options(mustProgress=_FLAG, isVectorized=_FLAG, startLoc=_FUSED, endLoc=_FUSED),
        Parameter(
            "parallelAccesses", kinds.list_of(kinds.nested(ACCESS_GROUP)), optional=True, default=(), encoded="list"
        ),
    ),
    code=18,
)

# --- aliases ----------------------------------------------------------------------------------------------------------

_ALIAS_DOMAIN = _struct(
    "alias_scope_domain",
    (Parameter("id", kinds.ATTRIBUTE), Parameter("description", kinds.STRING_ATTRIBUTE, optional=True)),
)
_ALIAS_SCOPE = _struct(
    "alias_scope",
    (
        Parameter("id", kinds.ATTRIBUTE),
        Parameter("domain", kinds.nested(_ALIAS_DOMAIN)),
        Parameter("description", kinds.STRING_ATTRIBUTE, optional=True),
    ),
)
_NAMED = _struct("tbaa_root", (Parameter("id", kinds.STRING_ATTRIBUTE, optional=True),))


def _read_root(p: TokenParser) -> tuple[Attribute | None, ...]:
    return _NAMED.form.read(p) if p.tokens[p.pos] == "<" else (None,)


def _spell_root(value: DialectAttr, names: kinds.Names) -> str:
    return "" if value["id"] is None else _NAMED.form.spell(value, names)


_TBAA_ROOT = replace(_NAMED, form=ParameterForm(_read_root, _spell_root))
_TBAA_NODES = ("llvm.tbaa_root", "llvm.tbaa_type_desc")
_TBAA_MEMBER = _declared(
    "tbaa_member",
    "`<` $type_desc `,` $offset `>`",
    Parameter(
        "type_desc",
        kinds.attribute(lambda found: isinstance(found, DialectAttr) and found.definition.name in _TBAA_NODES),
    ),
    Parameter("offset", kinds.INTEGER),
)
_TBAA_TYPE = replace(
    _declared(
        "tbaa_type_desc",
        "`<` `id` `=` $id `,` `members` `=` `{` $members `}` `>`",
        Parameter("id", kinds.STRING),
        Parameter("members", kinds.list_of(kinds.nested(_TBAA_MEMBER))),
    ),
    alias="tbaa_type_desc",
)
_TBAA_TAG = _struct(
    "tbaa_tag",
    (
        Parameter("base_type", kinds.nested(_TBAA_TYPE)),
        Parameter("access_type", kinds.nested(_TBAA_TYPE)),
        Parameter("offset", kinds.INTEGER),
        Parameter("constant", kinds.BOOLEAN, optional=True, default=False),
    ),
)

# --- flags of modules -------------------------------------------------------------------------------------------------


def _module_flag(flag: DialectAttr) -> str | None:
    """Return what is wrong with the flag of a module, or None."""
    key, value = flag["key"], flag["value"]
    if key == StringAttr("CG Profile"):
        entries = value.elements if isinstance(value, ArrayAttr) else (None,)
        if not all(_is_mnemonic(entry, "cgprofile_entry") for entry in entries):
            return "'CG Profile' key expects an array of '#llvm.cgprofile_entry'"
    elif key == StringAttr("ProfileSummary"):
        if not _is_mnemonic(value, "profile_summary"):
            return "'ProfileSummary' key expects a '#llvm.profile_summary' attribute"
    elif not isinstance(value, IntegerAttr | StringAttr):
        return f"only integer and string values are currently supported for unknown key '{key}'"
    return None


def _is_mnemonic(found: Attribute | None, mnemonic: str) -> bool:
    """Tell whether something is an attribute of this dialect that is kept as it is written."""
    return isinstance(found, OpaqueAttr) and found.dialect == "llvm" and found.body.startswith(f".{mnemonic}")


MODULE_FLAG = replace(
    _declared(
        "mlir.module_flag",
        "`<` $behavior `,` $key `,` $value `>`",
        Parameter(
            "behavior",
            kinds.case_of(
                "LLVM Module Flag Behavior", "error", "warning", "require", "override", "append", "append_unique",
                "max", "min",
            ),
        ),
        Parameter("key", kinds.STRING_ATTRIBUTE),
        Parameter("value", kinds.ATTRIBUTE),
    ),
    verify=_module_flag,
)  # fmt: skip

# --- subnormals -------------------------------------------------------------------------------------------------------

_DENORMAL_MODE = kinds.case_of("LLVM Denormal Mode Kinds", "ieee", "preservesign", "positivezero", "dynamic", "invalid")
DENORMAL_FPENV = _declared(
    "denormal_fpenv",
    "`<` custom<Struct>() `>`",
    *(
        Parameter(f"{formats}_{side}_mode", _DENORMAL_MODE)
        for formats in ("default", "float")
        for side in ("output", "input")
    ),
)
"""What happens to subnormal results and operands in a function: of f32 (``float``), and of the other formats."""


ATTRIBUTES = (
    *debug_info.ATTRIBUTES,
    CONSTANT_RANGE, ACCESS_GROUP, *_PARTS.values(), LOOP_ANNOTATION, _ALIAS_DOMAIN, _ALIAS_SCOPE, _TBAA_ROOT,
    _TBAA_MEMBER, _TBAA_TYPE, _TBAA_TAG, MODULE_FLAG, DENORMAL_FPENV,
)  # fmt: skip
"""All of them. Their numbers in bytecode are those of `LLVMDialectBytecode.td`."""
