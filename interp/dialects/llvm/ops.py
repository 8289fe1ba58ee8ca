"""The llvm dialect: the ops that MLIR's standard pipelines produce (`LLVMOps.td`). Others are kept as written.

The intrinsics are in `halfulp.interp.dialects.llvm.intrinsics`, which this file adds to the dialect.
"""

from __future__ import annotations

from typing import Any

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import (
    Arity,
    Dialect,
    Property,
    RegionSlot,
    Slot,
    SuccessorSlot,
    Trait,
    TypeConstraint,
)
from halfulp.interp.declare.type_rules import derived_type, same_type
from halfulp.interp.dialects.cf.ops import BRANCH, CONDITIONAL, SWITCHING
from halfulp.interp.dialects.elementwise import bool_like
from halfulp.interp.dialects.func.ops import RETURN
from halfulp.interp.dialects.llvm import (
    access,
    aggregates,
    atomics,
    attributes,
    calls,
    enums,
    evaluate,
    forms,
    function_forms,
    globals,
    intrinsics,
    kernels,
    rules,
    stack,
    types,
    vectors,
)
from halfulp.interp.dialects.llvm import constraints as k
from halfulp.interp.dialects.ub import unreachable
from halfulp.interp.ir import types as ty
from halfulp.interp.run.evaluators import Choice, Constant, OnFrames, OnValues

llvm = Dialect("llvm", partial=True)
llvm.types.update(types.PARSERS)
llvm.attributes.update({each.name.partition(".")[2]: each for each in attributes.ATTRIBUTES})
for _enum in (enums.LINKAGE, enums.CALLING, enums.TAIL_CALL, enums.FASTMATH):
    llvm.enum(_enum)


def units(*names: str) -> tuple[Property, ...]:
    """Return the properties of flags that are there or not."""
    return tuple(Property(name, c.UNIT_ATTR, optional=True) for name in names)


def optional(*names: str, kind: Any = c.ANY_ATTR) -> tuple[Property, ...]:
    """Return properties that may be absent."""
    return tuple(Property(name, kind, optional=True) for name in names)


FASTMATH = Property("fastmathFlags", enums.FASTMATH, default=0)
OVERFLOW = Property("overflowFlags", enums.OVERFLOW, default=0, number=True)
ALIASES = optional("access_groups", "alias_scopes", "noalias_scopes", "tbaa", kind=c.ARRAY_ATTR)
_ALIGNMENT = optional("alignment", kind=c.INTEGER_64_ATTR)
_LOOP = optional("loop_annotation")
_WEIGHTS = optional("branch_weights", kind=c.INTEGER_ARRAY_ATTR)
_OVERFLOW_GROUP = "(`overflow` `` $overflowFlags^)? "

# --- arithmetic -------------------------------------------------------------------------------------------------------


def _binary(mnemonic: str, kind: TypeConstraint, before: str, after: str, *properties: Property) -> None:
    llvm.op(
        mnemonic,
        f"{before}$lhs `,` $rhs {after}attr-dict `:` type($res)",
        operands={"lhs": kind, "rhs": kind},
        results={"res": kind},
        properties=properties,
        traits=(Trait.ELEMENTWISE, Trait.SAME_OPERANDS_AND_RESULT_TYPE),
        evaluate=kernels.evaluator(mnemonic),
    )


for _name in ("add", "sub", "mul", "shl"):
    _binary(_name, k.INTEGER_LIKE, "", _OVERFLOW_GROUP, OVERFLOW)
for _name in ("udiv", "sdiv", "lshr", "ashr"):
    _binary(_name, k.INTEGER_LIKE, "(`exact` $isExact^)? ", "", *units("isExact"))
for _name in ("urem", "srem", "and", "xor"):
    _binary(_name, k.INTEGER_LIKE, "", "")
_binary("or", k.INTEGER_LIKE, "(`disjoint` $isDisjoint^)? ", "", *units("isDisjoint"))
for _name in ("fadd", "fsub", "fmul", "fdiv", "frem"):
    _binary(_name, k.FLOAT_LIKE, "", "", FASTMATH)

llvm.op(
    "fneg",
    "$operand attr-dict `:` type($res)",
    operands={"operand": k.FLOAT_LIKE},
    results={"res": k.FLOAT_LIKE},
    properties=(FASTMATH,),
    traits=(Trait.ELEMENTWISE, Trait.SAME_OPERANDS_AND_RESULT_TYPE),
    evaluate=kernels.evaluator("fneg"),
)


def _comparing(mnemonic: str) -> Choice:
    elementwise, pointers = kernels.evaluator(mnemonic), OnValues(access.compare, raw=True, alone=True)
    return Choice(lambda op: pointers if k.POINTER_LIKE.accepts(op.operands[0].type) else elementwise)


for _name, _kind, _predicates, _flags in (
    ("icmp", k.COMPARABLE, enums.INTEGER_PREDICATE, ()),
    ("fcmp", k.FLOAT_LIKE, enums.FLOAT_PREDICATE, (FASTMATH,)),
):
    llvm.op(
        _name,
        custom=forms.comparison(_predicates),
        operands={"lhs": _kind, "rhs": _kind},
        results={"res": k.BOOL_LIKE},
        properties=(*_flags, Property("predicate", _predicates)),
        traits=(Trait.ELEMENTWISE, Trait.SAME_TYPE_OPERANDS),
        type_rules=(
            derived_type(
                "res",
                "lhs",
                bool_like,
                "failed to verify that result type has i1 element type and same shape as operands",
            ),
        ),
        evaluate=_comparing(_name),
    )

llvm.op(
    "select",
    "$condition `,` $trueValue `,` $falseValue attr-dict `:` type($condition) `,` type($res)",
    operands={"condition": k.BOOL_LIKE, "trueValue": k.ANY, "falseValue": k.ANY},
    results={"res": k.ANY},
    properties=(FASTMATH,),
    type_rules=(same_type("trueValue", "falseValue", "res"),),
    evaluate=kernels.SELECT,
)
llvm.op(
    "freeze",
    "$val attr-dict `:` type($val)",
    operands={"val": k.ANY},
    results={"res": k.ANY},
    traits=(Trait.SAME_OPERANDS_AND_RESULT_TYPE,),
    evaluate=OnValues(evaluate.same, raw=True),
)

# --- casts ------------------------------------------------------------------------------------------------------------


def _cast(mnemonic: str, given: TypeConstraint, made: TypeConstraint, form: str = "$arg ", **more: Any) -> None:
    more.setdefault("evaluate", kernels.evaluator(mnemonic))
    llvm.op(
        mnemonic,
        f"{form}attr-dict `:` type($arg) `to` type($res)",
        operands={"arg": given},
        results={"res": made},
        **more,
    )


_NNEG: dict[str, Any] = {"form": "(`nneg` $nonNeg^)? $arg ", "properties": units("nonNeg")}
_cast("bitcast", k.NON_AGGREGATE, k.NON_AGGREGATE, evaluate=kernels.BITCAST)
_cast("addrspacecast", k.POINTER_LIKE, k.POINTER_LIKE)
_cast(
    "inttoptr",
    k.INTEGER_LIKE,
    k.POINTER_LIKE,
    "$arg (`dereferenceable` `` $dereferenceable^)? ",
    properties=optional("dereferenceable"),
    evaluate=OnValues(access.to_pointer, raw=True, alone=True),
)
_cast("ptrtoint", k.POINTER_LIKE, k.INTEGER_LIKE, evaluate=OnValues(access.to_integer, raw=True, alone=True))
_cast("sext", k.INTEGER_LIKE, k.INTEGER_LIKE, verify=rules.verify_extension)
_cast("zext", k.INTEGER_LIKE, k.INTEGER_LIKE, verify=rules.verify_extension, **_NNEG)
_cast("trunc", k.INTEGER_LIKE, k.INTEGER_LIKE, f"$arg {_OVERFLOW_GROUP}", properties=(OVERFLOW,))
_cast("sitofp", k.INTEGER_LIKE, k.FLOAT_LIKE)
_cast("uitofp", k.INTEGER_LIKE, k.FLOAT_LIKE, **_NNEG)
_cast("fptosi", k.FLOAT_LIKE, k.INTEGER_LIKE)
_cast("fptoui", k.FLOAT_LIKE, k.INTEGER_LIKE)
_cast("fpext", k.FLOAT_LIKE, k.FLOAT_LIKE)
_cast("fptrunc", k.FLOAT_LIKE, k.FLOAT_LIKE)

# --- vectors and aggregates -------------------------------------------------------------------------------------------

llvm.op(
    "extractelement",
    "$vector `[` $position `:` type($position) `]` attr-dict `:` type($vector)",
    operands={"vector": k.VECTOR, "position": k.INTEGER},
    results={"res": k.ANY},
    type_rules=(
        derived_type("res", "vector", ty.element_type, "failed to verify that result type matches vector element type"),
    ),
    evaluate=OnValues(vectors.extract),
)
llvm.op(
    "insertelement",
    "$value `,` $vector `[` $position `:` type($position) `]` attr-dict `:` type($vector)",
    operands={"vector": k.VECTOR, "value": k.PRIMITIVE, "position": k.INTEGER},
    results={"res": k.VECTOR},
    type_rules=(
        derived_type(
            "value", "vector", ty.element_type, "failed to verify that argument type matches vector element type"
        ),
        same_type("res", "vector"),
    ),
    evaluate=OnValues(vectors.insert),
)
llvm.op(
    "shufflevector",
    "$v1 `,` $v2 $mask attr-dict `:` type($v1) ` `",
    operands={"v1": k.VECTOR, "v2": k.VECTOR},
    results={"res": k.VECTOR},
    properties=(Property("mask", c.INTEGER_ARRAY_ATTR),),
    type_rules=(same_type("v1", "v2"), rules.SHUFFLED),
    verify=rules.verify_shuffle,
    evaluate=OnValues(vectors.shuffle),
)
llvm.op(
    "extractvalue",
    "$container `` $position attr-dict `:` type($container) ` `",
    operands={"container": k.AGGREGATE},
    results={"res": k.ANY},
    properties=(Property("position", c.INTEGER_64_ARRAY_ATTR),),
    type_rules=(rules.type_in("res"),),
    verify=rules.verify_extract,
    evaluate=OnValues(aggregates.extract, raw=True, alone=True),
)
llvm.op(
    "insertvalue",
    "$value `,` $container `` $position attr-dict `:` type($container) ` `",
    operands={"container": k.AGGREGATE, "value": k.PRIMITIVE},
    results={"res": k.AGGREGATE},
    properties=(Property("position", c.INTEGER_64_ARRAY_ATTR),),
    type_rules=(same_type("container", "res"), rules.type_in("value")),
    verify=rules.verify_insert,
    evaluate=OnValues(aggregates.insert, raw=True, alone=True),
)

# --- constants and globals --------------------------------------------------------------------------------------------

llvm.op(
    "mlir.constant",
    "`(` $value `)` attr-dict `:` type($res)",
    results={"res": k.ANY},
    properties=(Property("value", c.ANY_ATTR),),
    traits=(Trait.CONSTANT_LIKE,),
    verify=rules.verify_constant,
    evaluate=Constant(evaluate.constant),
)
for _name, _evaluate in (
    ("mlir.undef", evaluate.POISON),
    ("mlir.poison", evaluate.POISON),
    ("mlir.zero", Constant(evaluate.zero)),
    ("mlir.none", None),
):
    llvm.op(
        _name,
        "attr-dict `:` type($res)",
        results={"res": k.ANY},
        traits=(Trait.CONSTANT_LIKE,),
        evaluate=_evaluate,
    )
llvm.op(
    "mlir.addressof",
    "$global_name attr-dict `:` type($res)",
    results={"res": k.POINTER},
    properties=(Property("global_name", c.FLAT_SYMBOL_REF_ATTR),),
    traits=(Trait.CONSTANT_LIKE,),
    verify_symbols=rules.verify_address_of,
    evaluate=OnValues(globals.address, raw=True, of_module=True, alone=True),
)
llvm.op(
    "mlir.global",
    custom=forms.GLOBAL,
    properties=(
        Property("addr_space", k.ADDRESS_SPACE_ATTR, optional=True),
        *_ALIGNMENT,
        *optional("comdat", "dbg_exprs", "section", "target_specific_attrs", "value"),
        *units("constant", "dso_local", "externally_initialized", "thread_local_"),
        Property("global_type", k.TYPE_ATTR),
        Property("linkage", enums.LINKAGE),
        Property("sym_name", c.STRING_ATTR),
        Property("unnamed_addr", enums.UNNAMED_ADDRESS, optional=True),
        Property("visibility_", enums.VISIBILITY, default=0),
    ),
    regions=(RegionSlot("initializer"),),
    traits=(Trait.SYMBOL, Trait.ISOLATED_FROM_ABOVE),
    verify=rules.verify_global,
    verify_regions=rules.verify_initializer,
)

llvm.op(
    "module_flags",
    "$flags attr-dict",
    properties=(Property("flags", c.ARRAY_ATTR),),
    verify=rules.verify_module_flags,
)

# --- memory -----------------------------------------------------------------------------------------------------------

llvm.op(
    "alloca",
    custom=forms.ALLOCA,
    operands={"arraySize": k.INTEGER},
    results={"res": k.POINTER},
    properties=(*_ALIGNMENT, Property("elem_type", k.TYPE_ATTR), *units("inalloca")),
    evaluate=OnFrames(stack.allocate, alone=True),
)
llvm.op(
    "getelementptr",
    custom=forms.ADDRESS,
    operands=(Slot("base", k.POINTER_LIKE), Slot("dynamicIndices", k.INTEGER_LIKE, Arity.VARIADIC)),
    results={"res": k.POINTER_LIKE},
    properties=(
        Property("elem_type", k.TYPE_ATTR),
        Property("rawConstantIndices", c.INTEGER_ARRAY_ATTR),
        Property("noWrapFlags", enums.NO_WRAP, default=0, number=True),
    ),
    verify=rules.verify_address,
    evaluate=OnValues(access.element_pointer, raw=True, alone=True),
)
_SCOPE = "(`syncscope` `(` $syncscope^ `)`)? "
_SYNCSCOPE = optional("syncscope", kind=c.STRING_ATTR)
_ORDERING = (Property("ordering", enums.ORDERING, default=0), *_SYNCSCOPE)
_ATOMIC = f"(`atomic` {_SCOPE}$ordering^)? "
llvm.op(
    "load",
    f"(`volatile` $volatile_^)? $addr {_ATOMIC}(`invariant` $invariant^)? (`invariant_group` $invariantGroup^)? "
    "(`dereferenceable` `` $dereferenceable^)? attr-dict `:` type($addr) `->` type($res)",
    operands={"addr": k.POINTER},
    results={"res": k.LOADABLE},
    properties=(
        *ALIASES,
        *_ALIGNMENT,
        *optional("dereferenceable"),
        *units("invariant", "invariantGroup", "nontemporal", "volatile_"),
        *_ORDERING,
    ),
    verify=rules.verify_access("release", "acq_rel"),
    evaluate=OnValues(access.load, raw=True, alone=True),
)
llvm.op(
    "store",
    f"(`volatile` $volatile_^)? $value `,` $addr {_ATOMIC}(`invariant_group` $invariantGroup^)? "
    "attr-dict `:` type($value) `,` type($addr)",
    operands={"value": k.LOADABLE, "addr": k.POINTER},
    properties=(*ALIASES, *_ALIGNMENT, *units("invariantGroup", "nontemporal", "volatile_"), *_ORDERING),
    verify=rules.verify_access("acquire", "acq_rel"),
    evaluate=OnValues(access.store, raw=True, alone=True),
)

llvm.op(
    "atomicrmw",
    f"(`volatile` $volatile_^)? $bin_op $ptr `,` $val {_SCOPE}$ordering attr-dict `:` type($ptr) `,` type($val)",
    operands={"ptr": k.POINTER, "val": k.COMBINED},
    results={"res": k.COMBINED},
    properties=(
        Property("bin_op", enums.ATOMIC_OPERATION),
        Property("ordering", enums.ORDERING),
        *_SYNCSCOPE,
        *ALIASES,
        *_ALIGNMENT,
        *units("volatile_"),
    ),
    type_rules=(same_type("val", "res", message="failed to verify that result #0 and operand #1 have the same type"),),
    verify=rules.verify_atomic,
    evaluate=OnValues(atomics.combine, raw=True, alone=True),
)
llvm.op(
    "cmpxchg",
    f"(`weak` $weak^)? (`volatile` $volatile_^)? $ptr `,` $cmp `,` $val {_SCOPE}$success_ordering $failure_ordering "
    "attr-dict `:` type($ptr) `,` type($val)",
    operands={"ptr": k.POINTER, "cmp": k.EXCHANGED, "val": k.EXCHANGED},
    results={"res": k.STRUCT},
    properties=(
        Property("success_ordering", enums.ORDERING),
        Property("failure_ordering", enums.ORDERING),
        *_SYNCSCOPE,
        *ALIASES,
        *_ALIGNMENT,
        *units("volatile_", "weak"),
    ),
    type_rules=(
        same_type("val", "cmp", message="failed to verify that operand #1 and operand #2 have the same type"),
        rules.EXCHANGE_RESULT,
    ),
    verify=rules.verify_exchange,
    evaluate=OnValues(atomics.exchange, raw=True, alone=True),
)
llvm.op(
    "fence",
    f"{_SCOPE}$ordering attr-dict",
    properties=(Property("ordering", enums.ORDERING), *_SYNCSCOPE),
    verify=rules.verify_fence,
    evaluate=OnValues(atomics.fence, raw=True),
)

# --- functions, calls and branches ------------------------------------------------------------------------------------

_SIGNATURE_ATTRIBUTES = optional("arg_attrs", "res_attrs", kind=c.DICTIONARY_ARRAY_ATTR)
llvm.op(
    "func",
    custom=function_forms.FUNCTION,
    properties=(
        *_SIGNATURE_ATTRIBUTES,
        Property("CConv", enums.CALLING, default=0),
        Property("function_type", k.FUNCTION_TYPE_ATTR),
        Property("linkage", enums.LINKAGE, default=0),
        Property("sym_name", c.STRING_ATTR),
        Property("unnamed_addr", enums.UNNAMED_ADDRESS, optional=True),
        Property("visibility_", enums.VISIBILITY, default=0),
        *units(
            "always_inline", "arm_in_za", "arm_inout_za", "arm_locally_streaming", "arm_new_za", "arm_out_za",
            "arm_preserves_za", "arm_streaming", "arm_streaming_compatible", "convergent", "dso_local", "inline_hint",
            "no_inline", "no_unwind", "optimize_none", "will_return",
        ),
        *optional(
            "alignment", "comdat", "denormal_fp_math", "denormal_fp_math_f32", "fp_contract", "frame_pointer",
            "function_entry_count", "garbageCollector", "instrument_function_entry", "instrument_function_exit",
            "intel_reqd_sub_group_size", "memory_effects", "no_infs_fp_math", "no_nans_fp_math",
            "no_signed_zeros_fp_math", "passthrough", "personality", "prefer_vector_width", "reciprocal_estimates",
            "reqd_work_group_size", "section", "sym_visibility", "target_cpu", "target_features", "tune_cpu",
            "uwtable_kind", "vec_type_hint", "vscale_range", "work_group_size_hint",
        ),
    ),
    regions=(RegionSlot("body"),),
    traits=(Trait.SYMBOL, Trait.ISOLATED_FROM_ABOVE),
    verify=rules.verify_function,
    evaluate=calls.FUNCTION,
)  # fmt: skip
llvm.op(
    "call",
    custom=function_forms.CALL,
    operands=(Slot("callee_operands", k.ANY, Arity.VARIADIC), Slot("op_bundle_operands", k.ANY, Arity.VARIADIC)),
    results=(Slot("result", k.ANY, Arity.OPTIONAL),),
    properties=(
        *_SIGNATURE_ATTRIBUTES,
        *ALIASES,
        FASTMATH,
        Property("CConv", enums.CALLING, default=0),
        Property("TailCallKind", enums.TAIL_CALL, default=0),
        *optional("callee", kind=c.FLAT_SYMBOL_REF_ATTR),
        *optional("memory_effects"),
        *optional("op_bundle_tags", kind=c.ARRAY_ATTR),
        *optional("var_callee_type", kind=k.FUNCTION_TYPE_ATTR),
        *units("always_inline", "convergent", "inline_hint", "no_inline", "no_unwind", "will_return"),
        Property("op_bundle_sizes", c.INTEGER_ARRAY_ATTR),
    ),
    traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=rules.verify_bundles,
    verify_symbols=rules.verify_call,
    evaluate=calls.CALL,
)
llvm.op(
    "return",
    "attr-dict ($arg^ `:` type($arg))?",
    operands=(Slot("arg", k.ANY, Arity.OPTIONAL),),
    traits=(Trait.TERMINATOR, Trait.RETURN_LIKE),
    verify=rules.verify_return,
    evaluate=OnFrames(stack.leave, words=RETURN.words),
)
llvm.op("unreachable", "attr-dict", traits=(Trait.TERMINATOR,), evaluate=OnFrames(unreachable))
llvm.op(
    "br",
    "$dest (`(` $destOperands^ `:` type($destOperands) `)`)? attr-dict",
    operands=(Slot("destOperands", k.ANY, Arity.VARIADIC),),
    properties=_LOOP,
    successors=(SuccessorSlot("dest"),),
    traits=(Trait.TERMINATOR,),
    evaluate=BRANCH,
)
llvm.op(
    "cond_br",
    "$condition (`weights` `(` $branch_weights^ `)`)? `,` "
    "$trueDest (`(` $trueDestOperands^ `:` type($trueDestOperands) `)`)? `,` "
    "$falseDest (`(` $falseDestOperands^ `:` type($falseDestOperands) `)`)? attr-dict",
    operands=(
        Slot("condition", k.BOOL),
        Slot("trueDestOperands", k.ANY, Arity.VARIADIC),
        Slot("falseDestOperands", k.ANY, Arity.VARIADIC),
    ),
    properties=(*_LOOP, *_WEIGHTS),
    successors=(SuccessorSlot("trueDest"), SuccessorSlot("falseDest")),
    traits=(Trait.TERMINATOR, Trait.ATTR_SIZED_OPERAND_SEGMENTS),
    evaluate=CONDITIONAL,
)
llvm.op(
    "switch",
    custom=forms.SWITCH,
    operands=(
        Slot("value", k.INTEGER),
        Slot("defaultOperands", c.ANY, Arity.VARIADIC),
        Slot("caseOperands", c.ANY, Arity.VARIADIC),
    ),
    properties=(
        *_WEIGHTS,
        Property("case_operand_segments", c.INTEGER_ARRAY_ATTR),
        Property("case_values", c.INTEGER_ELEMENTS_ATTR, optional=True),
    ),
    successors=(SuccessorSlot("default"), SuccessorSlot("case", Arity.VARIADIC)),
    traits=(Trait.TERMINATOR, Trait.ATTR_SIZED_OPERAND_SEGMENTS),
    verify=rules.verify_switch,
    evaluate=SWITCHING,
)

intrinsics.declare(llvm, FASTMATH, ALIASES, _SIGNATURE_ATTRIBUTES)
