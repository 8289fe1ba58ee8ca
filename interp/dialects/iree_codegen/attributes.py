"""The attributes of IREE's codegen dialect (reference: its document, and release 3.13 where that is newer).

The document's enum of pipelines is read where an attribute of release 3.13 stands for the same; ``Custom``, which has
no successor, is kept as that word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
    flag,
    has_interface,
    keyword,
    nested,
)
from halfulp.interp.dialects.iree_codegen.pipelines import problem_of_pipeline
from halfulp.interp.dialects.iree_codegen.tile_levels import TILING_LEVEL, TILING_LEVELS
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.dialect_attributes import DialectAttr, EnumDefinition, Parameter, ParameterKind
from halfulp.interp.text.token_parser import TokenParser

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


def read_checked_pipeline(p: TokenParser) -> at.Attribute:
    """Read a pipeline of `iree_codegen.smt.constraints`. Raises ParseError for another attribute."""
    start = p.pos
    found = _read_pipeline(p)
    if not is_pipeline(found):
        p.error("custom op 'iree_codegen.smt.constraints' invalid kind of attribute specified", start)
    return found


def spell_pipeline(found: at.Attribute, names: Mapping[object, str]) -> str:
    """Spell a pipeline as it is read."""
    return "Custom" if found == _WORDS["Custom"] else found.spell_nested(names)


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
        Parameter("passPipeline", ParameterKind(_read_pipeline, spell_pipeline)),
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
