"""The dialect tt: what Triton's front end makes of a kernel (`TritonOps.td` of triton 3.9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare import parameters as kinds
from halfulp.interp.dialects.func.ops import (
    ARGUMENT_ATTRIBUTES,
    CALL,
    FUNCTION,
    RETURN,
    verify_call,
    verify_function,
    verify_return,
)
from halfulp.interp.dialects.regions import inside, yielded
from halfulp.interp.dialects.triton import (
    casts,
    combining,
    control,
    descriptors,
    dots,
    evaluate,
    forms,
    result_layouts,
    rules,
    types,
)
from halfulp.interp.dialects.triton.forms import checked, flag, number
from halfulp.interp.dialects.triton.launching import check_stored, launch, pointed
from halfulp.interp.dialects.triton.same_order import argument_uses
from halfulp.interp.dialects.triton.types import follows, mask_type, pointee, pointer_to, same_encodings, same_shapes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition, Parameter
from halfulp.interp.run.evaluators import Launched, OnFrames

tt = d.Dialect("tt", partial=True)
tt.types.update({"ptr": types.read_pointer, "tensordesc": types.read_descriptor})

# --- attributes -------------------------------------------------------------------------------------------------------


def _enum(name: str, cases: Mapping[str, int]) -> EnumDefinition:
    return EnumDefinition(f"::mlir::triton::{name}", cases, storage_width=32)


def counted(name: str, first: int, *cases: str) -> EnumDefinition:
    """Return an enum of Triton whose cases count from ``first``."""
    return _enum(name, {case: first + number for number, case in enumerate(cases)})


SEMANTICS = counted("MemSemantic", 1, "relaxed", "acquire", "release", "acq_rel")
SCOPE = counted("MemSyncScope", 1, "gpu", "cta", "sys")
RMW = counted("RMWOp", 1, "and", "or", "xor", "add", "fadd", "max", "min", "umax", "umin", "exch")
REDUCE_KIND = counted("DescriptorReduceKind", 1, "add", "min", "max", "inc", "dec", "and", "or", "xor")
PADDING = counted("PaddingOption", 1, "zero", "nan")
DIMENSION = counted("ProgramIDDim", 0, "x", "y", "z")
ROUNDING = counted("RoundingMode", 0, "rtz", "rtne")
PROPAGATE_NAN = _enum("PropagateNan", {"none": 0, "all": 0xFFFF})
PRECISION = counted("InputPrecision", 0, "tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
KIND = counted("ScaleDotElemType", 0, "e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "bf16", "fp16")

_MODIFIERS = ("none", "ca", "cg", "wb", "cs", "wt", "cv")
_EVICTIONS = ("evict_normal", "evict_first", "evict_last")

tt.attribute(
    "cache_policy",
    "`<` custom<Struct>() `>`",
    parameters=(
        Parameter("cache_modifier", kinds.case_of("::mlir::triton::CacheModifier", *_MODIFIERS)),
        Parameter("eviction_policy", kinds.case_of("::mlir::triton::EvictionPolicy", *_EVICTIONS)),
    ),
)


CACHE = d.Property("cachePolicy", d.ANY_ATTR, optional=True)
VOLATILE = d.Property("isVolatile", d.BOOL_ATTR, default=forms.FALSE)
ORDERING = (d.Property("sem", SEMANTICS), d.Property("scope", SCOPE))

# --- declaring --------------------------------------------------------------------------------------------------------


def declare(mnemonic: str, assembly: str | None = None, **declaration: Any) -> d.OpDefinition:
    """Declare an op of tt, whose tensors must have sizes and layouts that Triton allows."""
    more = filter(None, (declaration.pop("verify", None),))
    return tt.op(mnemonic, assembly, verify=checked(types.verify_sizes, types.verify_layouts, *more), **declaration)


_UNARY = "$x attr-dict `:` type($x)"
_BINARY = "$x `,` $y attr-dict `:` type($x)"
_CAST = "$src attr-dict `:` type($src) `->` type($result)"
_ALIKE = (d.Trait.SAME_OPERANDS_AND_RESULT_TYPE,)
_ELEMENTWISE = (same_shapes("src", "result"), same_encodings("src", "result"))

# --- functions --------------------------------------------------------------------------------------------------------

tt.op(
    "func",
    custom=FUNCTION,
    properties=(
        *ARGUMENT_ATTRIBUTES,
        d.Property("function_type", d.FUNCTION_TYPE_ATTR),
        d.Property("sym_name", d.STRING_ATTR),
        d.Property("sym_visibility", d.STRING_ATTR, optional=True),
    ),
    regions=(d.RegionSlot("body"),),
    traits=(d.Trait.SYMBOL, d.Trait.ISOLATED_FROM_ABOVE),
    verify=verify_function,
    evaluate=Launched(launch, pointed, check_stored, argument_uses),
)
tt.op(
    "call",
    "$callee `(` $operands `)` attr-dict `:` functional-type($operands, results)",
    operands=(d.variadic("operands", d.ANY),),
    results=(d.variadic("results", d.ANY),),
    properties=(*ARGUMENT_ATTRIBUTES, d.Property("callee", d.FLAT_SYMBOL_REF_ATTR)),
    verify=types.verify_layouts,
    verify_symbols=verify_call,
    evaluate=CALL,
)
tt.op(
    "return",
    "attr-dict ($srcs^ `:` type($srcs))?",
    operands=(d.variadic("srcs", d.ANY),),
    traits=(d.Trait.TERMINATOR, d.Trait.RETURN_LIKE),
    verify=checked(types.verify_layouts, verify_return),
    evaluate=RETURN,
)

# --- programs ---------------------------------------------------------------------------------------------------------

_evaluator: Any
for _name, _evaluator in (("get_program_id", evaluate.PROGRAM_ID), ("get_num_programs", evaluate.NUM_PROGRAMS)):
    declare(
        _name,
        "$axis attr-dict `:` type($result)",
        results={"result": types.I32},
        properties=(d.Property("axis", DIMENSION),),
        evaluate=_evaluator,
    )
for _name in ("grid_dependency_wait", "grid_dependency_launch_dependents"):
    declare(_name, "attr-dict", evaluate=evaluate.NOTHING)
declare(
    "assert",
    "$condition `,` $message attr-dict `:` type($condition)",
    operands={"condition": types.BOOL_LIKE},
    properties=(d.Property("message", d.STRING_ATTR),),
    evaluate=evaluate.ASSERT,
)
declare(
    "print",
    "$prefix attr-dict (`:` $args^ `:` type($args))?",
    operands=(d.variadic("args", types.VALUE),),
    properties=(
        d.Property("hex", d.BOOL_ATTR),
        d.Property("isSigned", d.INTEGER_ARRAY_ATTR),
        d.Property("prefix", d.STRING_ATTR),
    ),
    evaluate=control.PRINT,
)

# --- elements ---------------------------------------------------------------------------------------------------------

declare(
    "make_range",
    "attr-dict `:` type($result)",
    results={"result": types.INTEGER_TENSOR},
    properties=(number("end"), number("start")),
    verify=rules.verify_range,
    evaluate=evaluate.MAKE_RANGE,
)
declare(
    "fp_to_fp",
    "$src attr-dict (`,` `rounding` `=` $rounding^)? `:` type($src) `->` type($result)",
    operands={"src": types.FLOAT_LIKE},
    results={"result": types.FLOAT_LIKE},
    properties=(d.Property("rounding", ROUNDING, optional=True),),
    type_rules=_ELEMENTWISE,
    verify=rules.verify_fp_to_fp,
    evaluate=casts.FP_TO_FP,
)
declare(
    "bitcast",
    _CAST,
    operands={"src": types.VALUE},
    results={"result": types.VALUE},
    type_rules=_ELEMENTWISE,
    verify=rules.verify_bitcast,
    evaluate=evaluate.BITCAST,
)
declare(
    "int_to_ptr",
    _CAST,
    operands={"src": types.I64_LIKE},
    results={"result": types.POINTER_LIKE},
    type_rules=_ELEMENTWISE,
    evaluate=evaluate.INT_TO_PTR,
)
declare(
    "ptr_to_int",
    _CAST,
    operands={"src": types.POINTER_LIKE},
    results={"result": types.I64_LIKE},
    type_rules=_ELEMENTWISE,
    evaluate=evaluate.PTR_TO_INT,
)
declare(
    "addptr",
    "$ptr `,` $offset attr-dict `:` type($result) `,` type($offset)",
    operands={"ptr": types.POINTER_LIKE, "offset": types.INTEGER_LIKE},
    results={"result": types.POINTER_LIKE},
    type_rules=(
        d.derived_type("result", "ptr", lambda type_: type_, "failed to verify that result type matches ptr type"),
        d.derived_type("ptr", "result", lambda type_: type_, "failed to verify that result type matches ptr type"),
        same_shapes("ptr", "offset", "result"),
        same_encodings("ptr", "offset", "result"),
    ),
    evaluate=evaluate.ADDPTR,
)
declare(
    "clampf",
    "$x `,` $min `,` $max `,` `propagateNan` `=` $propagateNan attr-dict `:` type($result)",
    operands=dict.fromkeys(("x", "min", "max"), types.FLOAT_LIKE),
    results={"result": types.FLOAT_LIKE},
    properties=(d.Property("propagateNan", PROPAGATE_NAN),),
    traits=_ALIKE,
    evaluate=evaluate.CLAMPF,
)
declare(
    "precise_sqrt",
    _UNARY,
    operands={"x": types.FLOAT_LIKE},
    results={"result": types.FLOAT_LIKE},
    traits=_ALIKE,
    evaluate=evaluate.SQRT,
)
for _name, _kind, _evaluator in (
    ("precise_divf", types.FLOAT_LIKE, evaluate.DIVF),
    ("approx_divf", types.F32_LIKE, evaluate.APPROX_DIVF),
    ("mulhiui", types.INTEGER_LIKE, evaluate.MULHI),
):
    declare(
        _name,
        _BINARY,
        operands={"x": _kind, "y": _kind},
        results={"result": _kind},
        traits=_ALIKE,
        evaluate=_evaluator,
    )
declare(
    "extern_elementwise",
    "$srcs attr-dict `:` functional-type($srcs, $result)",
    operands=(d.variadic("srcs", types.VALUE),),
    results={"result": types.VALUE},
    properties=(
        d.Property("libname", d.STRING_ATTR),
        d.Property("libpath", d.STRING_ATTR),
        d.Property("pure", d.BOOL_ATTR),
        d.Property("symbol", d.STRING_ATTR),
    ),
    type_rules=(same_encodings("srcs", "result"),),
    evaluate=evaluate.EXTERN,
)
declare(
    "elementwise_inline_asm",
    "$asm_string attr-dict ($args^ `:` type($args))? `->` type($result)",
    operands=(d.variadic("args", d.ANY),),
    results=(d.variadic("result", types.VALUE),),
    properties=(
        d.Property("asm_string", d.STRING_ATTR),
        d.Property("constraints", d.STRING_ATTR),
        number("packed_element"),
        d.Property("pure", d.BOOL_ATTR),
    ),
    type_rules=(same_encodings("args", "result"),),
    verify=rules.verify_asm,
    evaluate=evaluate.ASM,
)

# --- moving -----------------------------------------------------------------------------------------------------------

_ONE_ELEMENT = (types.same_elements("src", "result"),)


def _moving(mnemonic: str, assembly: str = _CAST, **declaration: Any) -> None:
    operands = declaration.pop("operands", {"src": types.TENSOR})
    type_rules = declaration.pop("type_rules", _ONE_ELEMENT)
    declare(
        mnemonic, assembly, operands=operands, results={"result": types.TENSOR}, type_rules=type_rules, **declaration
    )


_moving(
    "splat",
    operands={"src": types.VALUE},
    type_rules=(*_ONE_ELEMENT, same_encodings("src", "result")),
    evaluate=evaluate.SPLAT,
)
declare(
    "unsplat",
    "$src attr-dict `:` type($src)",
    operands={"src": types.TENSOR},
    results={"result": types.VALUE},
    type_rules=(d.inferred_type("result", "src", ty.element_type),),
    verify=rules.verify_unsplat,
    evaluate=evaluate.RESHAPE,
)
_moving(
    "expand_dims",
    properties=(number("axis"),),
    verify=checked(rules.verify_expand_dims, result_layouts.verify_expand_dims),
    evaluate=evaluate.RESHAPE,
)
_moving("broadcast", verify=rules.verify_broadcast, evaluate=evaluate.BROADCAST)
_moving(
    "reshape",
    "$src (`allow_reorder` $allow_reorder^)? (`efficient_layout` $efficient_layout^)? attr-dict `:` type($src) `->` "
    "type($result)",
    properties=(flag("allow_reorder"), flag("efficient_layout")),
    verify=checked(rules.verify_reshape, result_layouts.verify_reshape),
    evaluate=evaluate.RESHAPE,
)
_moving(
    "trans",
    properties=(d.Property("order", d.INTEGER_ARRAY_ATTR),),
    verify=checked(rules.verify_trans, result_layouts.verify_trans),
    evaluate=evaluate.TRANS,
)
for _name, _verify, _evaluator in (
    ("cat", checked(rules.verify_cat, result_layouts.verify_cat), evaluate.CAT),
    ("join", checked(rules.verify_join, result_layouts.verify_join), evaluate.JOIN),
):
    _moving(
        _name,
        "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)",
        operands=dict.fromkeys(("lhs", "rhs"), types.TENSOR),
        type_rules=(types.same_elements("lhs", "result"),),
        traits=(d.Trait.SAME_TYPE_OPERANDS,),
        verify=_verify,
        evaluate=_evaluator,
    )
declare(
    "split",
    "$src attr-dict `:` type($src) `->` type($outLHS)",
    operands={"src": types.TENSOR},
    results=dict.fromkeys(("outLHS", "outRHS"), types.TENSOR),
    type_rules=(d.same_type("outLHS", "outRHS"),),
    named_results=("outLHS", "outRHS"),
    verify=checked(rules.verify_split, result_layouts.verify_split),
    evaluate=evaluate.SPLIT,
)
declare(
    "gather",
    "$src `[` $indices `]` attr-dict `:` functional-type(operands, results)",
    operands={"src": types.TENSOR, "indices": types.INTEGER_TENSOR},
    results={"result": types.TENSOR},
    properties=(number("axis"), flag("efficient_layout")),
    verify=rules.verify_gather,
    evaluate=evaluate.GATHER,
)
declare(
    "histogram",
    "$src (`,` $mask^)? attr-dict `:` type($src) `->` type($result)",
    operands=(d.Slot("src", types.INTEGER_TENSOR), d.optional("mask", types.BOOL_LIKE)),
    results={"result": types.INTEGER_TENSOR},
    type_rules=(follows("mask", "src", mask_type, "mask type matches src type"),),
    evaluate=evaluate.HISTOGRAM,
)

# --- memory -----------------------------------------------------------------------------------------------------------

_MASK = d.optional("mask", types.BOOL_LIKE)
_MASK_OF_POINTER = follows("mask", "ptr", mask_type, "mask type matches ptr type")


def _matches(name: str, source: str, derive: Callable[[ty.Type], ty.Type], words: str) -> d.TypeRule:
    return d.derived_type(name, source, derive, f"failed to verify that {words}")


declare(
    "load",
    "$ptr (`,` $mask^)? (`,` $other^)? attr-dict `:` type($ptr)",
    operands=(d.Slot("ptr", types.POINTER_LIKE), _MASK, d.optional("other", types.VALUE)),
    results={"result": types.VALUE},
    properties=(CACHE, VOLATILE),
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    type_rules=(
        _matches("result", "ptr", pointee, "result matches ptr type"),
        _MASK_OF_POINTER,
        follows("other", "ptr", pointee, "other matches ptr type"),
    ),
    evaluate=evaluate.LOAD,
)
declare(
    "store",
    "$ptr `,` $value (`,` $mask^)? attr-dict `:` type($ptr)",
    operands=(d.Slot("ptr", types.POINTER_LIKE), d.Slot("value", types.VALUE), _MASK),
    properties=(CACHE, flag("ignore_cta")),
    type_rules=(_matches("value", "ptr", pointee, "value type matches ptr type"), _MASK_OF_POINTER),
    evaluate=evaluate.STORE,
)
declare(
    "atomic_load",
    "$sem `,` $scope `,` $ptr (`,` $mask^)? attr-dict `:` functional-type(operands, $result)",
    operands=(d.Slot("ptr", types.POINTER_LIKE), _MASK),
    results={"result": types.VALUE},
    properties=ORDERING,
    type_rules=(_matches("result", "ptr", pointee, "result matches ptr type"), _MASK_OF_POINTER),
    evaluate=evaluate.ATOMIC_LOAD,
)
declare(
    "atomic_store",
    "$sem `,` $scope `,` $ptr `,` $value (`,` $mask^)? attr-dict `:` type($ptr)",
    operands=(d.Slot("ptr", types.POINTER_LIKE), d.Slot("value", types.VALUE), _MASK),
    properties=ORDERING,
    type_rules=(_matches("value", "ptr", pointee, "value type matches ptr type"), _MASK_OF_POINTER),
    evaluate=evaluate.ATOMIC_STORE,
)
declare(
    "atomic_poll",
    "$sem `,` $scope `,` $ptr `,` $expected (`timeout` $timeout^)? attr-dict `:` type($ptr) `,` type($expected) `->` "
    "type($result)",
    operands=(
        d.Slot("ptr", types.POINTER_LIKE),
        d.Slot("expected", types.INTEGER_LIKE),
        d.optional("timeout", types.I64),
    ),
    results={"result": types.BOOL_LIKE},
    properties=ORDERING,
    type_rules=(
        _matches("ptr", "expected", pointer_to, "ptr type matches expected type"),
        _matches("result", "expected", mask_type, "result type matches expected shape"),
    ),
)
ATOMIC_RULES = {
    "rmw": (
        _matches("ptr", "val", pointer_to, "ptr type matches value type"),
        follows("mask", "val", mask_type, "mask type matches value type"),
        same_shapes("ptr", "val", "mask", "result"),
        same_encodings("ptr", "val", "mask", "result"),
    ),
    "cas": (
        _matches("ptr", "cmp", pointer_to, "ptr type matches cmp type"),
        _matches("ptr", "val", pointer_to, "ptr type matches value type"),
        same_shapes("ptr", "cmp", "val", "result"),
        same_encodings("ptr", "cmp", "val", "result"),
    ),
}
"""The rules of the types of atomics, which those of a sanitizer share."""
declare(
    "atomic_rmw",
    "$atomic_rmw_op `,` $sem `,` $scope `,` $ptr `,` $val (`,` $mask^)? attr-dict `:` functional-type(operands, "
    "$result)",
    operands=(d.Slot("ptr", types.POINTER_LIKE), d.Slot("val", types.VALUE), _MASK),
    results={"result": types.VALUE},
    properties=(d.Property("atomic_rmw_op", RMW), *ORDERING),
    type_rules=ATOMIC_RULES["rmw"],
    evaluate=evaluate.RMW,
)
declare(
    "atomic_cas",
    "$sem `,` $scope `,` $ptr `,` $cmp `,` $val attr-dict `:` functional-type(operands, $result)",
    operands={"ptr": types.POINTER_LIKE, "cmp": types.VALUE, "val": types.VALUE},
    results={"result": types.VALUE},
    properties=ORDERING,
    type_rules=ATOMIC_RULES["cas"],
    evaluate=evaluate.CAS,
)

# --- descriptors ------------------------------------------------------------------------------------------------------

_DESCRIPTOR = d.Slot("desc", types.DESCRIPTOR)
_INDICES = d.variadic("indices", types.I32)
_ROWS = (d.Slot("x_offsets", types.OFFSETS), d.Slot("y_offset", types.I32))

declare(
    "make_tensor_descriptor",
    "$base `,` `[` $shape `]` `,` `[` $strides `]` attr-dict `:` custom<Stripped>($base) `,` custom<Stripped>($result)",
    operands=(d.Slot("base", types.POINTER), d.variadic("shape", types.I32), d.variadic("strides", types.I64)),
    results={"result": types.DESCRIPTOR},
    properties=(d.Property("padding", PADDING, default=1),),
    verify=rules.verify_descriptor,
    evaluate=descriptors.MAKE,
)
declare(
    "descriptor_load",
    "$desc `[` $indices `]` attr-dict `:` type($desc) `->` type($result)",
    operands=(_DESCRIPTOR, _INDICES),
    results={"result": types.TENSOR},
    properties=(CACHE,),
    verify=rules.verify_block,
    evaluate=descriptors.LOAD,
)
declare(
    "descriptor_store",
    "$desc `[` $indices `]` `,` $src attr-dict `:` type($desc) `,` type($src)",
    operands=(_DESCRIPTOR, d.Slot("src", types.TENSOR), _INDICES),
    verify=rules.verify_block,
    evaluate=descriptors.STORE,
)
declare(
    "descriptor_reduce",
    "$kind `,` $desc `[` $indices `]` `,` $src attr-dict `:` type($desc) `,` type($src)",
    operands=(_DESCRIPTOR, d.Slot("src", types.TENSOR), _INDICES),
    properties=(d.Property("kind", REDUCE_KIND),),
    verify=rules.verify_block,
)
declare(
    "descriptor_gather",
    "$desc `[` $x_offsets `,` $y_offset `]` attr-dict `:` functional-type(operands, results)",
    operands=(_DESCRIPTOR, *_ROWS),
    results={"result": types.TENSOR},
    verify=rules.verify_rows,
    evaluate=descriptors.GATHER,
)
declare(
    "descriptor_scatter",
    "$desc `[` $x_offsets `,` $y_offset `]` `,` $src attr-dict `:` type(operands)",
    operands=(_DESCRIPTOR, *_ROWS, d.Slot("src", types.TENSOR)),
    verify=rules.verify_rows,
    evaluate=descriptors.SCATTER,
)

# --- combining --------------------------------------------------------------------------------------------------------

SUM_OF_DOT = d.same_type("d", "c", message="failed to verify that result's type matches accumulator's type")

declare(
    "dot",
    "$a `,` $b `,` $c (`,` `inputPrecision` `=` $inputPrecision^)? attr-dict `:` type($a) `*` type($b) `->` type($d)",
    operands=dict.fromkeys("abc", types.NUMBER_TENSOR),
    results={"d": types.NUMBER_TENSOR},
    properties=(d.Property("inputPrecision", PRECISION, default=2), number("maxNumImpreciseAcc", 0)),
    type_rules=(SUM_OF_DOT,),
    verify=checked(rules.verify_dot, result_layouts.verify_dot),
    evaluate=dots.DOT,
)
declare(
    "dot_scaled",
    "$a (`scale` $a_scale^)? `,` $b (`scale` $b_scale^)? `,` $c `lhs` `=` $a_elem_type `rhs` `=` $b_elem_type "
    "attr-dict `:` type($a) (`,` type($a_scale)^)? `*` type($b) (`,` type($b_scale)^)? `->` type($d)",
    operands=(
        d.Slot("a", types.SCALED_TENSOR),
        d.Slot("b", types.SCALED_TENSOR),
        d.Slot("c", types.FLOAT_TENSOR),
        d.optional("a_scale", types.SCALED_TENSOR),
        d.optional("b_scale", types.SCALED_TENSOR),
    ),
    results={"d": types.FLOAT_TENSOR},
    properties=(
        d.Property("a_elem_type", KIND),
        d.Property("b_elem_type", KIND),
        d.Property("fastMath", d.BOOL_ATTR),
        d.Property("lhs_k_pack", d.BOOL_ATTR, default=forms.TRUE),
        d.Property("rhs_k_pack", d.BOOL_ATTR, default=forms.TRUE),
    ),
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    type_rules=(SUM_OF_DOT,),
    verify=checked(rules.verify_dot_scaled, result_layouts.verify_scales),
    evaluate=dots.DOT_SCALED,
)


def _with_region(
    mnemonic: str, properties: tuple[d.Property, ...], results: d.TypeConstraint, **declaration: Any
) -> None:
    region = declaration.pop("region", "combineOp")
    declare(
        mnemonic,
        operands=(d.variadic("srcs", types.TENSOR),),
        results=(d.variadic("result", results),),
        properties=properties,
        regions=(d.RegionSlot(region),),
        **declaration,
    )


def _ending(mnemonic: str, assembly: str) -> None:
    tt.op(
        f"{mnemonic}.return",
        assembly,
        operands=(d.variadic("result", d.ANY),),
        traits=(d.Trait.TERMINATOR, d.Trait.RETURN_LIKE),
        verify=inside(f"tt.{mnemonic}"),
        evaluate=OnFrames(yielded),
    )


_with_region(
    "reduce",
    (number("axis"),),
    types.VALUE,
    traits=(d.Trait.SINGLE_BLOCK,),
    verify=rules.verify_reduce,
    verify_regions=rules.verify_combining,
    evaluate=combining.REDUCE,
)
_with_region(
    "scan",
    (number("axis"), d.Property("reverse", d.BOOL_ATTR)),
    types.TENSOR,
    traits=(d.Trait.SINGLE_BLOCK,),
    verify=rules.verify_scan,
    verify_regions=rules.verify_combining,
    evaluate=combining.SCAN,
)
_with_region(
    "map_elementwise",
    (number("pack"),),
    types.TENSOR,
    region="scalarOp",
    verify=rules.verify_map,
    verify_regions=rules.verify_mapping,
    evaluate=control.MAP,
)
_ending("reduce", "$result attr-dict `:` type($result)")
_ending("scan", "$result attr-dict `:` type($result)")
_ending("map_elementwise", "attr-dict ($result^ `:` type($result))?")
