"""The attributes of IREE's codegen dialect (reference: its document, and release 3.13 where that is newer).

The document has an enum of pipelines, for which release 3.13 has attributes. A case of the enum is read as the
attribute that replaced it; ``Custom``, which nothing replaced, is kept as this word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from halfulp.interp.declare.declarations import Dialect
from halfulp.interp.declare.parameters import (
    ARRAY_ATTRIBUTE,
    DICTIONARY,
    INTEGER,
    INTEGERS,
    STRING,
    STRING_ATTRIBUTE,
    SYMBOL,
    attribute,
    bracketed_integers,
    flag,
    has_interface,
    keyword,
    nested,
    word,
)
from halfulp.interp.dialects.regions import inside
from halfulp.interp.dialects.smt.ops import INT
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import DialectAttr, EnumDefinition, Parameter, ParameterKind, parts
from halfulp.interp.ir.errors import VerifyError
from halfulp.interp.ir.operations import Operation
from halfulp.interp.text.affine_parser import TokenParser

# --- tile levels ------------------------------------------------------------------------------------------------------
#
# Tile sizes as parameters of attributes: ``[4, [8]]``, or with the order of the loops.


class TilingLevel(NamedTuple):
    """The tile sizes of one level of loops.

    ``scalable``: one flag per size, empty if no size is scalable. ``interchange``: the order of the loops, empty for
    the order of the op.
    """

    sizes: tuple[int, ...]
    scalable: tuple[bool, ...] = ()
    interchange: tuple[int, ...] = ()


def _sizes(p: TokenParser) -> TilingLevel:
    """Read ``[1, [32]]``: sizes, where scalable ones are in brackets of their own."""
    p.expect("[")
    sizes: list[int] = []
    scalable: list[bool] = []
    if not p.take("]"):
        while True:
            scalable.append(p.take("["))
            sizes.append(p.integer())
            if scalable[-1]:
                p.expect("]")
            if not p.take(","):
                break
        p.expect("]")
    return TilingLevel(tuple(sizes), tuple(scalable) if any(scalable) else ())


def read_tiling_level(p: TokenParser) -> TilingLevel:
    """Read ``[sizes]`` or ``{sizes = [sizes], interchange = [order]}``."""
    if p.tokens[p.pos] == "[":
        return _sizes(p)
    p.expect("{")
    word(p, "sizes")
    p.expect("=")
    level = _sizes(p)
    p.expect(",")
    word(p, "interchange")
    p.expect("=")
    order = bracketed_integers(p)
    p.expect("}")
    return level._replace(interchange=order)


def spell_tiling_level(level: TilingLevel) -> str:
    """Return the text of a level as `read_tiling_level` reads it."""
    flags = level.scalable or (False,) * len(level.sizes)
    sizes = ", ".join(f"[{size}]" if flag else str(size) for size, flag in zip(level.sizes, flags, strict=True))
    if not level.interchange:
        return f"[{sizes}]"
    return f"{{sizes = [{sizes}], interchange = [{', '.join(map(str, level.interchange))}]}}"


def _read_levels(p: TokenParser) -> tuple[TilingLevel, ...]:
    p.expect("[")
    return tuple(p.until("]", lambda: read_tiling_level(p)))


TILING_LEVEL = ParameterKind(read_tiling_level, lambda level, names: spell_tiling_level(level))
TILING_LEVELS = ParameterKind(_read_levels, lambda levels, names: f"[{', '.join(map(spell_tiling_level, levels))}]")


# --- pipelines --------------------------------------------------------------------------------------------------------
#
# The syntax of MLIR's textual pass pipelines, ``builtin.module(cse,a{b=1})``, with passes of any name.

_NAME_END = re.compile(r"[,({)]")
_NO_SPACE = re.compile(r"\S")
_BRACE = re.compile("[{}]")


def problem_of_pipeline(text: str) -> str | None:
    """Return what is wrong with a pipeline, in MLIR's words, or None. Names of passes are not checked."""
    passes: list[str] = []
    place = depth = 0
    while text:
        found = _NAME_END.search(text, place)
        end = len(text) if found is None else found.start()
        name, mark = text[place:end].strip(), text[end : end + 1]
        place = end + 1
        if mark == "(":
            # The op that the inner pipeline is for, of any name.
            depth += 1
            continue
        passes.append(name)
        if mark == "{":
            closing = _closing_brace(text, place)
            if closing is None:
                return "missing closing '}' while processing pass options"
            mark, place = _mark(text, closing + 1)
            if mark not in ("", ",", ")"):
                return "expected ',' after parsing pipeline"
        if mark == ")":
            while mark == ")":
                depth -= 1
                mark = text[place : place + 1]
                place += mark == ")"
            if depth < 0:
                return "encountered extra closing ')' creating unbalanced parentheses while parsing pipeline"
            mark, place = _mark(text, place)
            if mark not in ("", ","):
                return "expected ',' after parsing pipeline"
        if not mark:
            break
    if depth:
        return "encountered unbalanced parentheses while parsing pipeline"
    nameless = next((name for name in passes if not name or "}" in name), None)
    return None if nameless is None else f"'{nameless}' does not refer to a registered pass or pass pipeline"


def _mark(text: str, place: int) -> tuple[str, int]:
    """Return the next character that is not a space, "" at the end, and the place after it."""
    found = _NO_SPACE.search(text, place)
    return ("", len(text)) if found is None else (found.group(), found.end())


def _closing_brace(text: str, place: int) -> int | None:
    """Return the place of the brace that closes the one before ``place``."""
    depth = 1
    for found in _BRACE.finditer(text, place):
        depth += 1 if found.group() == "{" else -1
        if not depth:
            return found.start()
    return None


# --- attributes -------------------------------------------------------------------------------------------------------

iree_codegen = Dialect("iree_codegen")

_NAMESPACE = "::mlir::iree_compiler::IREE::Codegen::"

# --- attributes: floating point, microkernels, targets ----------------------------------------------------------------

DENORMAL_FP_MATH = iree_codegen.attribute(
    "denormal_fp_math",
    "`<` $value `>`",
    parameters=(
        Parameter(
            "value",
            keyword(EnumDefinition("Denormal mode for fp math", {"none": 0, "preserve-sign": 1, "positive-zero": 2})),
        ),
    ),
)
iree_codegen.attribute(
    "ukernel_descriptor",
    "`<` $ukernel_name `,` $kind `>`",
    parameters=(
        Parameter("ukernel_name", STRING),
        Parameter(
            "kind",
            keyword(EnumDefinition(f"{_NAMESPACE}UKernelArgumentKind", {"tensor": 0, "memref": 1, "bitcode": 2})),
        ),
    ),
)
iree_codegen.attribute("symbolic_ukernel_provider")
iree_codegen.attribute("workgroup_local")


def _at_most_three(name: str, message: str) -> Any:
    def verify(found: DialectAttr) -> str | None:
        return message if len(found[name] or ()) > 3 else None

    return verify


iree_codegen.attribute(
    "simple_target",
    "`<` (`max_workgroup_count` `=` `[` $max_workgroup_count^ `]`)? `>`",
    parameters=(Parameter("max_workgroup_count", INTEGERS, optional=True),),
    verify=_at_most_three("max_workgroup_count", "expected `max_workgroup_count` to have atmost 3 entries"),
)
iree_codegen.attribute(
    "export_config",
    "`<` `workgroup_size` `=` `[` $workgroup_size `]` `>`",
    parameters=(Parameter("workgroup_size", INTEGERS),),
    verify=_at_most_three("workgroup_size", "expected workgroup size to have atmost 3 entries"),
)

# --- attributes: pipelines --------------------------------------------------------------------------------------------

NO_PIPELINE = iree_codegen.attribute("no_pipeline", interfaces={"pipeline"})
VMVX_PIPELINE = iree_codegen.attribute("vmvx_pipeline", interfaces={"pipeline"})
TRANSFORM_PIPELINE = iree_codegen.attribute("transform_dialect_codegen", interfaces={"pipeline"})


def _verify_pipeline(found: DialectAttr) -> str | None:
    # IREE also checks that it knows all passes and their options.
    problem = problem_of_pipeline(found["pipeline"])
    return None if problem is None else f"invalid pass pipeline specification: '{found['pipeline']}': {problem}"


PASS_PIPELINE = iree_codegen.attribute(
    "pass_pipeline",
    "`<` $pipeline `>`",
    parameters=(Parameter("pipeline", STRING),),
    verify=_verify_pipeline,
    interfaces={"pipeline"},
)
CUSTOM_PIPELINE = iree_codegen.attribute("custom_pipeline", interfaces={"pipeline"})
# The document's enum.
_WORDS = {
    "None": DialectAttr(NO_PIPELINE, ()),
    "VMVXDefault": DialectAttr(VMVX_PIPELINE, ()),
    "TransformDialectCodegen": DialectAttr(TRANSFORM_PIPELINE, ()),
    "Custom": DialectAttr(CUSTOM_PIPELINE, ()),
}


def is_pipeline(found: at.Attribute) -> bool:
    """Tell whether an attribute can be a pipeline."""
    return has_interface(found, "pipeline") or isinstance(found, at.OpaqueAttr)


def _read_pipeline(p: TokenParser) -> at.Attribute:
    word = _WORDS.get(p.tokens[p.pos])
    if word is None:
        return p.attribute()
    p.pos += 1
    return word


def _spell_pipeline(found: at.Attribute, names: Mapping[object, str]) -> str:
    """Return the text of a pipeline as it is read."""
    return "Custom" if found == _WORDS["Custom"] else found.spell_nested(names)


PIPELINE = ParameterKind(_read_pipeline, _spell_pipeline)


def _verify_translation(found: DialectAttr) -> str | None:
    pipeline, sizes = found["passPipeline"], found["workgroupSize"] or ()
    if not is_pipeline(pipeline):
        return "pass pipeline must implement PipelineAttrInterface"
    if found["codegenSpec"] is not None and getattr(pipeline, "definition", None) is not TRANSFORM_PIPELINE:
        return "transform dialect codegen spec requires transform dialect codegen pipeline"
    if len(sizes) > 3:
        return "workgroup size cannot have more than 3 entries"
    if any(size <= 0 for size in sizes):
        return "workgroup size value has to be greater than zero"
    return "subgroup size value cannot be negative" if found["subgroupSize"] < 0 else None


TRANSLATION_INFO = iree_codegen.attribute(
    "translation_info",
    "`<` `pipeline` `=` $passPipeline (`codegen_spec` `=` $codegenSpec^)? "
    "(`workgroup_size` `=` `[` $workgroupSize^ `]`)? (`subgroup_size` `=` $subgroupSize^)? (`,` $configuration^)? `>`",
    parameters=(
        Parameter("passPipeline", PIPELINE),
        Parameter("codegenSpec", SYMBOL, optional=True),
        Parameter("workgroupSize", INTEGERS, optional=True),
        Parameter("subgroupSize", INTEGER, optional=True, default=0),
        Parameter("configuration", DICTIONARY, optional=True),
    ),
    verify=_verify_translation,
    alias="translation",
)

# --- attributes: tile sizes -------------------------------------------------------------------------------------------

TILING_LEVELS_ATTR = iree_codegen.attribute(
    "lowering_config_levels", "$value", parameters=(Parameter("value", TILING_LEVELS),)
)
iree_codegen.attribute("lowering_config_level", "$value", parameters=(Parameter("value", TILING_LEVEL),))
LOWERING_CONFIG = iree_codegen.attribute(
    "lowering_config",
    "`<` `tile_sizes` `=` $tilingLevels `>`",
    parameters=(Parameter("tilingLevels", TILING_LEVELS),),
    alias="config",
    interfaces={"lowering_config"},
)
iree_codegen.attribute(
    "compilation_info",
    "`<` `lowering_config` `=` $loweringConfig `,` `translation_info` `=` $translationInfo `>`",
    parameters=(
        Parameter(
            "loweringConfig",
            attribute(lambda found: has_interface(found, "lowering_config") or isinstance(found, at.OpaqueAttr)),
        ),
        Parameter("translationInfo", nested(TRANSLATION_INFO)),
    ),
    alias="compilation",
)
ROOT_OP = iree_codegen.attribute("root_op", "`<` `set` `=` $set `>`", parameters=(Parameter("set", INTEGER),))

# --- attributes: swizzles ---------------------------------------------------------------------------------------------


def _verify_rotation(found: DialectAttr) -> str | None:
    row, access = found["row_width"], found["access_width"]
    # IREE divides by zero here.
    return None if access and row % access == 0 else "expected access width to divide row width"


def _verify_shuffle(found: DialectAttr) -> str | None:
    problem = _verify_rotation(found)
    if problem is not None:
        return problem
    row, access, stride, phase = found.values
    if phase is not None and phase > row // access:
        return "per_phase must be smaller than max_phase"
    if stride is not None and (not row or stride % row):
        return "expected row width to divide row stride"
    return None


_WIDTHS = (Parameter("row_width", INTEGER), Parameter("access_width", INTEGER))
ROTATE_ROWS = iree_codegen.attribute(
    "rotate_rows",
    "`<` $row_width `,` $access_width `>`",
    parameters=_WIDTHS,
    verify=_verify_rotation,
    interfaces={"swizzle"},
)
XOR_SHUFFLE = iree_codegen.attribute(
    "xor_shuffle",
    "`<` $row_width `,` $access_width (`,` $row_stride^)? (`,` $per_phase^)? `>`",
    parameters=(
        *_WIDTHS,
        Parameter("row_stride", INTEGER, optional=True),
        Parameter("per_phase", INTEGER, optional=True),
    ),
    verify=_verify_shuffle,
    interfaces={"swizzle"},
)

# --- attributes: distribution -----------------------------------------------------------------------------------------


def _verify_mapping(found: DialectAttr) -> str | None:
    wrong = found["delinearizedDim"] > 0 and found["id"] != "z"
    return f"illegal to use `delinearizationDim` for {found['id']}" if wrong else None


iree_codegen.attribute(
    "workgroup_mapping",
    "`<` $id (`` `:` `` $delinearizedDim^)? `>`",
    parameters=(
        Parameter("id", keyword(EnumDefinition(f"{_NAMESPACE}WorkgroupId", {"x": 0, "y": 1, "z": 2}))),
        Parameter("delinearizedDim", INTEGER, optional=True, default=0),
    ),
    verify=_verify_mapping,
)
iree_codegen.attribute("local_mapping", "`<` $dim `>`", parameters=(Parameter("dim", INTEGER),))
iree_codegen.attribute(
    "workgroup_scope",
    "(`<` $linearize^ `>`)?",
    parameters=(Parameter("linearize", flag("linearize"), optional=True, default=False),),
)

# --- attributes: knobs ------------------------------------------------------------------------------------------------

INT_KNOB = iree_codegen.attribute("smt.int_knob", "`<` $name `>`", parameters=(Parameter("name", STRING_ATTRIBUTE),))
ONE_OF_KNOB = iree_codegen.attribute(
    "smt.one_of_knob",
    "`<` $name `,` $options `>`",
    parameters=(Parameter("name", STRING_ATTRIBUTE), Parameter("options", ARRAY_ATTRIBUTE)),
)


# --- constraint rules -------------------------------------------------------------------------------------------------
#
# The rules of `iree_codegen.smt.constraints` and of the ops inside it.

CONSTRAINTS = "iree_codegen.smt.constraints"


def knobs_in(found: at.Attribute) -> Iterator[tuple[str, DialectAttr]]:
    """Yield every knob inside an attribute, with its name."""
    stack: list[at.Attribute | ty.Type] = [found]
    while stack:
        thing = stack.pop()
        if isinstance(thing, DialectAttr) and thing.definition in (INT_KNOB, ONE_OF_KNOB):
            yield thing["name"].value, thing
        stack += parts(thing)


def verify_constraints(op: Operation) -> str | None:
    """Return what is wrong with the arguments and knobs of a block of constraints, or None."""
    block = op.regions[0].blocks[0]
    if len(block.arguments) != len(op.operands):
        return f"expected {len(op.operands)} block arguments but got {len(block.arguments)}"
    for number, argument in enumerate(block.arguments):
        if argument.type != INT:
            return f"block argument #{number} must be !smt.int but got '{argument.type}'"
    known = {name for name, _ in knobs_in(op.properties["knobs"])}
    seen: dict[str, Operation] = {}
    for inner in block.operations:
        if inner.name != "iree_codegen.smt.knob":
            continue
        name = inner.properties.get("name")
        text = name.value if isinstance(name, at.StringAttr) else ""
        if text in seen:
            first = seen[text]
            _fail(inner, f"duplicate knob name '{text}'", [(first.position or first.location, "first occurrence here")])
        if text not in known:
            _fail(inner, f"knob name '{text}' not found in knobs dict")
        seen[text] = inner
    return None


def _fail(op: Operation, message: str, notes: Any = ()) -> None:
    raise VerifyError(f"'{op.name}' op {message}", location=op.position or op.location, op=op.name, notes=notes)


inside_constraints = inside(CONSTRAINTS)


def verify_lookup(op: Operation) -> str | None:
    """Return what is wrong with the table of a lookup, or None."""
    keys, values = op.prop("keys", at.DenseArrayAttr), op.prop("values", at.DenseArrayAttr)
    problem = inside_constraints(op)
    if problem is not None:
        return problem
    if len(keys.codes) != len(values.codes):
        return f"keys and values must have the same size, got {len(keys.codes)} keys and {len(values.codes)} values"
    if not keys.codes:
        return "lookup table must be non-empty"
    seen: set[int] = set()
    for key in keys.values:
        if key in seen:
            return f"duplicate key {key} in lookup table"
        seen.add(key)
    return None


def verify_assert(op: Operation) -> str | None:
    """Return what is wrong with the message of an assert, or None."""
    message = op.prop("msg", at.StringAttr)
    problem = inside_constraints(op)
    if problem is not None:
        return problem
    count, given = message.value.count("{}"), len(op.operands) - 1
    return None if count == given else f"format string has {count} placeholder(s) but got {given} arg(s)"
