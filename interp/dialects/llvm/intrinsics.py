"""The intrinsics of the llvm dialect that MLIR's standard pipelines produce (`LLVMIntrinsicOps.td`)."""

from __future__ import annotations

from collections.abc import Iterable

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Arity, Dialect, Property, Slot, Trait, TypeConstraint
from halfulp.interp.dialects.llvm import assumptions, bulk, bundles, debug_info, kernels, rules, stack, vectors
from halfulp.interp.dialects.llvm import constraints as k
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import OnFrames, OnValues
from halfulp.interp.run.frames import Function
from halfulp.interp.run.settings import Settings

_FLOAT_FUNCTIONS = {
    "a": (
        "exp", "exp2", "exp10", "fabs", "ceil", "floor", "log", "log10", "log2", "roundeven", "round", "trunc", "sqrt",
        "rint", "nearbyint", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    ),
    "ab": ("copysign", "maxnum", "minnum", "maximum", "minimum", "pow", "atan2"),
    "abc": ("fma", "fmuladd"),
}  # fmt: skip
_INTEGER_FUNCTIONS = {
    "a": ("bitreverse", "bswap", "ctpop"),
    "ab": (
        "smax", "smin", "umax", "umin", "sadd.sat", "uadd.sat", "ssub.sat", "usub.sat", "sshl.sat", "ushl.sat",
    ),
    "abc": ("fshl", "fshr"),
}  # fmt: skip
_INTEGER_REDUCTIONS = ("add", "and", "mul", "or", "smax", "smin", "umax", "umin", "xor")
_FLOAT_REDUCTIONS = ("fmax", "fmin", "fmaximum", "fminimum")
_CHECKED = ("sadd", "uadd", "ssub", "usub", "smul", "umul")


def _form(operands: Iterable[str]) -> str:
    names = " `,` ".join(f"${name}" for name in operands)
    return f"`(` {names} `)` attr-dict `:` functional-type($operands, results)"


def declare(llvm: Dialect, fastmath: Property, aliases: tuple[Property, ...], signature: tuple[Property, ...]) -> None:
    """Declare the intrinsics. ``fastmath``, ``aliases``, ``signature``: the properties that ops share."""

    def of_one_type(name: str, operands: str, kind: TypeConstraint, properties: tuple[Property, ...]) -> None:
        llvm.op(
            f"intr.{name}",
            _form(operands),
            operands=dict.fromkeys(operands, kind),
            results={"res": kind},
            properties=properties,
            traits=(Trait.ELEMENTWISE, Trait.SAME_OPERANDS_AND_RESULT_TYPE),
            evaluate=kernels.evaluator(f"intr.{name}"),
        )

    for operands, names in _FLOAT_FUNCTIONS.items():
        for name in names:
            of_one_type(name, operands, k.FLOAT_LIKE, (fastmath,))
    for operands, names in _INTEGER_FUNCTIONS.items():
        for name in names:
            of_one_type(name, operands, k.INTEGER_LIKE, ())
    for name, flag in (("ctlz", "is_zero_poison"), ("cttz", "is_zero_poison"), ("abs", "is_int_min_poison")):
        llvm.op(
            f"intr.{name}",
            operands={"in": k.INTEGER_LIKE},
            results={"res": k.INTEGER_LIKE if name != "abs" else k.ANY},
            properties=(Property(flag, c.BOOL_ATTR),),
            traits=(Trait.SAME_OPERANDS_AND_RESULT_TYPE,) if name != "abs" else (),
            evaluate=kernels.evaluator(f"intr.{name}"),
        )
    for name in _CHECKED:
        llvm.op(
            f"intr.{name}.with.overflow",
            operands={"lhs": k.INTEGER_LIKE, "rhs": k.INTEGER_LIKE},
            results={"res": k.ANY},
            evaluate=OnValues(kernels.checked, raw=True, alone=True),
        )
    llvm.op(
        "intr.powi",
        _form(["val", "power"]),
        operands={"val": k.FLOAT_LIKE, "power": k.INTEGER},
        results={"res": k.ANY},
        properties=(fastmath,),
        evaluate=kernels.evaluator("intr.powi"),
    )
    llvm.op(
        "intr.is.fpclass",
        operands={"in": k.FLOAT_LIKE},
        results={"res": k.ANY},
        properties=(Property("bit", k.INTEGER_32_ATTR),),
        evaluate=kernels.evaluator("intr.is.fpclass"),
    )
    llvm.op(
        "intr.sincos",
        _form(["val"]),
        operands={"val": k.FLOAT_LIKE},
        results={"res": k.ANY},
        properties=(fastmath,),
        verify=rules.verify_sincos,
        evaluate=OnValues(kernels.sincos, raw=True, alone=True),
    )
    llvm.op(
        "intr.assume",
        custom=bundles.ASSUME,
        operands=(Slot("cond", c.BOOL), Slot("op_bundle_operands", k.ANY, Arity.VARIADIC)),
        properties=(
            Property("op_bundle_sizes", c.INTEGER_ARRAY_ATTR),
            Property("op_bundle_tags", c.ARRAY_ATTR, optional=True),
        ),
        verify=rules.verify_bundles,
        evaluate=OnValues(assumptions.assume, raw=True, alone=True),
    )
    llvm.op("intr.vscale", results={"res": k.ANY}, evaluate=OnValues(vectors.vscale, raw=True))
    _reductions(llvm, fastmath)
    _memory(llvm, aliases, signature)
    _masked(llvm, signature)
    _described(llvm)


def _reductions(llvm: Dialect, fastmath: Property) -> None:
    for name in _INTEGER_REDUCTIONS:
        llvm.op(
            f"intr.vector.reduce.{name}",
            operands={"in": k.INTEGER_VECTOR},
            results={"res": k.ANY},
            evaluate=OnValues(vectors.reduce),
        )
    for name in _FLOAT_REDUCTIONS:
        llvm.op(
            f"intr.vector.reduce.{name}",
            "`(` $in `)` attr-dict `:` functional-type($operands, results)",
            operands={"in": k.LLVM_FLOAT_VECTOR},
            results={"res": k.ANY},
            properties=(fastmath,),
            evaluate=OnValues(vectors.reduce),
        )
    for name in ("fadd", "fmul"):
        llvm.op(
            f"intr.vector.reduce.{name}",
            operands={"start_value": k.FLOAT, "input": k.FLOAT_VECTOR},
            results={"res": k.ANY},
            properties=(fastmath,),
            evaluate=OnValues(vectors.reduce),
        )


def _memory(llvm: Dialect, aliases: tuple[Property, ...], signature: tuple[Property, ...]) -> None:
    copying = (*aliases, *signature, Property("isVolatile", c.BOOL_ATTR))
    for name, source, evaluate in (
        ("memcpy", {"src": k.POINTER}, bulk.copy),
        ("memmove", {"src": k.POINTER}, bulk.copy),
        ("memset", {"val": k.BYTE}, bulk.fill),
    ):
        llvm.op(
            f"intr.{name}",
            operands={"dst": k.POINTER, **source, "len": k.INTEGER},
            properties=copying,
            evaluate=OnValues(evaluate, raw=True, alone=True),
        )
    llvm.op(
        "intr.stacksave",
        "attr-dict `:` type($res)",
        results={"res": k.POINTER},
        evaluate=OnFrames(stack.save, alone=True),
    )
    llvm.op(
        "intr.stackrestore",
        "$ptr attr-dict `:` type($ptr)",
        operands=(Slot("ptr", k.POINTER),),
        evaluate=OnFrames(stack.restore, alone=True),
    )
    for name in ("start", "end"):
        llvm.op(
            f"intr.lifetime.{name}",
            "$ptr attr-dict `:` type($ptr)",
            operands=(Slot("ptr", k.POINTER),),
            evaluate=OnValues(bulk.lifetime, raw=True, alone=True),
        )


def _masked(llvm: Dialect, signature: tuple[Property, ...]) -> None:
    """Declare the access of the elements of vectors that a mask names."""
    aligned = Property("alignment", k.INTEGER_32_ATTR)
    # In MLIR 22 the load alone has this property.
    for loads, stores, place, of_load in (
        ("load", "store", k.POINTER, (Property("nontemporal", c.UNIT_ATTR, optional=True),)),
        ("gather", "scatter", k.POINTER_VECTOR, ()),
    ):
        llvm.op(
            f"intr.masked.{loads}",
            "$data `,` $mask (`,` $pass_thru^)? attr-dict `:` functional-type($operands, results)",
            operands=(
                Slot("data", place),
                Slot("mask", k.BOOL_VECTOR),
                Slot("pass_thru", k.VECTOR, Arity.VARIADIC),
            ),
            results={"res": k.VECTOR},
            properties=(aligned, *of_load),
            evaluate=OnValues(vectors.load, raw=True, alone=True),
        )
        llvm.op(
            f"intr.masked.{stores}",
            "$value `,` $data `,` $mask attr-dict `:` type($value) `,` type($mask) `into` type($data)",
            operands={"value": k.VECTOR, "data": place, "mask": k.BOOL_VECTOR},
            properties=(aligned,),
            evaluate=OnValues(vectors.store, raw=True, alone=True),
        )
    llvm.op(
        "intr.masked.expandload",
        operands={"ptr": k.POINTER, "mask": k.BOOL_VECTOR, "passthru": k.VECTOR},
        results={"res": k.ANY},
        properties=signature,
        evaluate=OnValues(vectors.load, raw=True, alone=True),
    )
    llvm.op(
        "intr.masked.compressstore",
        operands={"value": k.VECTOR, "ptr": k.POINTER, "mask": k.BOOL_VECTOR},
        properties=signature,
        evaluate=OnValues(vectors.store, raw=True, alone=True),
    )


def _ignore(op: Operation, settings: Settings) -> Function:
    """Return the function of an op that only describes the program."""
    return lambda run, slots: ()


def _described(llvm: Dialect) -> None:
    """Declare what ties the program to its source. A run goes past it."""
    expression = Property("locationExpr", k.EXPRESSION, default=debug_info.NO_EXPRESSION)
    for name, kind, operand in (("value", k.ANY, "value"), ("declare", k.POINTER, "addr")):
        llvm.op(
            f"intr.dbg.{name}",
            f"$varInfo ($locationExpr^)? `=` ${operand} `:` type(${operand}) attr-dict",
            operands={operand: kind},
            properties=(Property("varInfo", k.LOCAL_VARIABLE), expression),
            evaluate=OnValues(_ignore, raw=True),
        )
    llvm.op(
        "intr.dbg.label",
        "$label attr-dict",
        properties=(Property("label", k.LABEL),),
        evaluate=OnValues(_ignore, raw=True),
    )
