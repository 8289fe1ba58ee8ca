"""The intrinsics of the llvm dialect that MLIR's standard pipelines produce (`LLVMIntrinsicOps.td`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.dialects.elementwise import bool_result
from halfulp.interp.dialects.func.ops import RETURN
from halfulp.interp.dialects.llvm import debug_info, forms, function_forms, kernels, memory_encoding, rules, vectors
from halfulp.interp.dialects.llvm import rules as k
from halfulp.interp.dialects.llvm.access import accessible, alignment_of, described, pointer_alignment
from halfulp.interp.dialects.llvm.attribute_contracts import guard_of
from halfulp.interp.dialects.llvm.memory import Memory, Pointer
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import LimitExceeded, spell_place
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.run.evaluators import Compiler, OnFrames, OnValues
from halfulp.interp.run.frames import Action, Frame, Function, Run, Segment, lift, number
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

# --- bulk -------------------------------------------------------------------------------------------------------------
#
# The intrinsics on ranges of bytes: memcpy, memmove, memset and the ends of a lifetime.

Slots = Sequence[Any]


def copy_bytes(run: Run, target: Pointer, source: Pointer, size: int) -> None:
    """Copy bytes with their poison and the pointers among them. The ranges may overlap."""
    (into, at), (memory, first) = target, source
    data, lost = memory.data[first : first + size], memory.lost[first : first + size]
    ids = None
    if any(lost):
        memory.adopted(run.origins)
        ids = memory.unwritten if memory.ids is None else memory.ids[first : first + size].copy()
    opened = None if memory.open is None else memory.open[first : first + size].copy()
    moved = {place - first + at: pointer for place, pointer in memory.pointers.items() if first <= place < first + size}
    into.data[at : at + size] = data
    into.lost[at : at + size] = lost
    if ids is not None:
        into.ids_to_write(run.origins)[at : at + size] = ids
    if opened is not None and into.open is None and opened.any():
        into.mark_open(at, size, opened)
    elif into.open is not None:
        into.open[at : at + size] = 0 if opened is None else opened
    into.pointers.update(moved)


def _length(op: Operation, slots: Slots, settings: Settings) -> int:
    return number(slots[2], op.operands[2].type, op, "number of bytes", settings, signed=False)


def copy(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memcpy and memmove. Ranges of memcpy must not overlap, unless they are the same."""
    may_overlap, alignments = op.name.endswith("memmove"), [pointer_alignment(op, place) for place in range(2)]

    def move(run: Run, slots: Slots) -> tuple[Any, ...]:
        size = _length(op, slots, settings)
        if not size:
            return ()
        target = accessible(op, run, slots[0], size, alignments[0], write=True, what="the target")
        source = accessible(op, run, slots[1], size, alignments[1], what="the source")
        distance = abs(target.offset - source.offset)
        if not may_overlap and target.memory is source.memory and 0 < distance < size:
            raise undefined(op, f"{size} bytes at {described(run, target)} and {described(run, source)} overlap")
        copy_bytes(run, target, source, size)
        return ()

    return move


def fill(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memset."""
    alignment = pointer_alignment(op, 0)

    def set_bytes(run: Run, slots: Slots) -> tuple[Any, ...]:
        size = _length(op, slots, settings)
        if not size:
            return ()
        memory, at = accessible(op, run, slots[0], size, alignment, write=True, what="the target")
        value: Value = lift(slots[1], ty.IntegerType(8))
        memory.data[at : at + size] = bytes([int(value.bits)]) * size
        memory.lost[at : at + size] = (b"\x00" if value.poison is None else b"\xff") * size
        if value.poison is not None:
            memory.ids_to_write(run.origins)[at : at + size] = int(value.poison)
        if memory.open is not None:
            memory.open[at : at + size] = 0
        return ()

    return set_bytes


def lifetime(op: Operation, settings: Settings) -> Function:
    """Return the function that runs lifetime.start and lifetime.end. Both make the bytes lose their contents."""

    def forget(run: Run, slots: Slots) -> tuple[Any, ...]:
        pointer = slots[0]
        if pointer.__class__ is Pointer:
            pointer.memory.forget()
        return ()

    return forget


# --- stack ------------------------------------------------------------------------------------------------------------
#
# The memory of a function's frame: alloca, stacksave, stackrestore, and the return that frees it.


class _Stack(NamedTuple):
    """The memory of all frames, oldest first, and the frames that have memory, each with the amount that there was
    before it.

    ``saved``: for each pointer that stacksave returned, its frame and the amount of memory at that time.
    """

    memories: list[Memory]
    frames: list[tuple[Frame, int]]
    saved: WeakKeyDictionary[Memory, tuple[Frame, int]]

    def cut(self, height: int, by: str) -> None:
        """Free what lies above a height."""
        for memory in self.memories[height:]:
            memory.release(by)
        del self.memories[height:]

    def drop(self, frame: Frame) -> None:
        """Free the memory of the calls that have ended: an op that returns from a function of another dialect does not
        free it. ``frame``: the frame that runs.
        """
        while self.frames and self.frames[-1][0] is not frame and self.frames[-1][0].depth >= frame.depth:
            self.cut(self.frames.pop()[1], "the return of its function")


def _stack(run: Run) -> _Stack:
    found: Any = run.kept.get("llvm stack")
    if found is None:
        found = run.kept["llvm stack"] = _Stack([], [], WeakKeyDictionary())
    return found  # type: ignore[no-any-return]


def made_by(op: Operation, name: str = "") -> str:
    """Return a text that says which op made memory, and where. ``name``: a name to use in place of the op's."""
    place = spell_place(op.location)
    return f"{name or op.name}{f' at {place}' if place else ''}"


def check_size(op: Operation, size: int, settings: Settings) -> None:
    """Raise LimitExceeded if memory of ``size`` bytes is too large."""
    if size > settings.max_bytes:
        raise LimitExceeded(
            f"{op.name}: {size} bytes of memory are asked for; the limit is {settings.max_bytes}",
            location=op.location,
            op=op.name,
            hint="raise the limit with max_bytes (--max-bytes)",
        )


def allocate(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs alloca. Its memory is freed when the function returns."""
    element = op.prop("elem_type", at.TypeAttr)
    step, alignment = memory_encoding.size_of(element.type), alignment_of(op, element.type)
    (count,), (result,) = compiler.slots(op.operands), compiler.slots(op.results)
    given, settings, after = op.operands[0].type, compiler.settings, compiler.after()
    source = made_by(op)

    def make(frame: Frame) -> Segment:
        run: Run = frame.slots[0]
        size = step * number(frame.slots[count], given, op, "number of elements", settings, signed=False)
        check_size(op, size, settings)
        stack = _stack(run)
        stack.drop(frame)
        if not stack.frames or stack.frames[-1][0] is not frame:
            stack.frames.append((frame, len(stack.memories)))
        memory = Memory(source, size, alignment, run.origins)
        stack.memories.append(memory)
        frame.slots[result] = Pointer(memory, 0)
        return after

    return make


def leave(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs llvm.return."""
    plain = _guarded(op, compiler, RETURN.build(op, compiler))
    if not any(each.name == "llvm.alloca" for each in compiler.function.walk()):
        return plain
    by = made_by(op)

    def free(frame: Frame) -> Segment | None:
        stack = _stack(frame.slots[0])
        stack.drop(frame)
        if stack.frames and stack.frames[-1][0] is frame:
            stack.cut(stack.frames.pop()[1], by)
        return plain(frame)

    return free


def _guarded(op: Operation, compiler: Compiler, plain: Action) -> Action:
    """Return the action that runs a return op, and first checks what the function promises about its result."""
    function = compiler.function
    given = function.properties.get("res_attrs") if function.name == "llvm.func" and op.operands else None
    guard = guard_of(op, [(given, 0)], op.operands[0].type, f"the result of @{function.symbol_name}") if given else None
    if guard is None:
        return plain
    (slot,), hidden = compiler.slots(op.operands), compiler.hidden_slot()
    return_ = compiler.returning((hidden,))

    def check(frame: Frame) -> Segment | None:
        frame.slots[hidden] = guard(frame.slots[0], frame.slots[slot])
        return return_(frame)

    return check


def save(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs stacksave: a pointer that identifies the memory that the frame has now."""
    (result,) = compiler.slots(op.results)
    after, source = compiler.after(), made_by(op)

    def mark(frame: Frame) -> Segment:
        run: Run = frame.slots[0]
        memory = Memory(source, 0, 1, run.origins)
        stack = _stack(run)
        stack.drop(frame)
        stack.saved[memory] = frame, len(stack.memories)
        frame.slots[result] = Pointer(memory, 0)
        return after

    return mark


def restore(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs stackrestore: it frees what the frame has allocated since the pointer was made."""
    (saved,) = compiler.slots(op.operands)
    after, by = compiler.after(), made_by(op)

    def free(frame: Frame) -> Segment:
        run: Run = frame.slots[0]
        pointer = frame.slots[saved]
        stack = _stack(run)
        owner, height = stack.saved.get(pointer.memory, (None, 0)) if pointer.__class__ is Pointer else (None, 0)
        if owner is not frame:
            raise undefined(op, "the pointer is not from llvm.intr.stacksave of this call")
        stack.cut(height, by)
        return after

    return free


# --- intrinsics -------------------------------------------------------------------------------------------------------

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
_FLOAT_REDUCTIONS, _STARTED_REDUCTIONS = ("fmax", "fmin", "fmaximum", "fminimum"), ("fadd", "fmul")
_TO_INTEGER = ("lrint", "llrint", "lround", "llround")
_CHECKED = ("sadd", "uadd", "ssub", "usub", "smul", "umul")


def _form(operands: Iterable[str]) -> str:
    names = " `,` ".join(f"${name}" for name in operands)
    return f"`(` {names} `)` attr-dict `:` functional-type($operands, results)"


def declare(
    llvm: d.Dialect, fastmath: d.Property, aliases: tuple[d.Property, ...], signature: tuple[d.Property, ...]
) -> None:
    """Declare the intrinsics. ``fastmath``, ``aliases``, ``signature``: the properties that ops share."""

    def of_one_type(name: str, operands: str, kind: d.TypeConstraint, properties: tuple[d.Property, ...]) -> None:
        llvm.op(
            f"intr.{name}",
            _form(operands),
            operands=dict.fromkeys(operands, kind),
            results={"res": kind},
            properties=properties,
            traits=(d.Trait.ELEMENTWISE, d.Trait.SAME_OPERANDS_AND_RESULT_TYPE),
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
            properties=(d.Property(flag, d.BOOL_ATTR),),
            traits=(d.Trait.SAME_OPERANDS_AND_RESULT_TYPE,) if name != "abs" else (),
            evaluate=kernels.evaluator(f"intr.{name}"),
        )
    for name in _CHECKED:
        llvm.op(
            f"intr.{name}.with.overflow",
            operands={"lhs": k.INTEGER_LIKE, "rhs": k.INTEGER_LIKE},
            results={"res": k.ANY},
            evaluate=OnValues(kernels.checked, raw=True, no_lanes=True),
        )
    for name in ("powi", "ldexp"):
        llvm.op(
            f"intr.{name}",
            _form(["val", "power"]),
            operands={"val": k.FLOAT_LIKE, "power": k.INTEGER},
            results={"res": k.ANY},
            properties=(fastmath,),
            evaluate=kernels.evaluator(f"intr.{name}"),
        )
    for name in _TO_INTEGER:
        llvm.op(
            f"intr.{name}",
            _form(["val"]),
            operands={"val": k.LLVM_FLOAT if name == "llround" else k.FLOAT_LIKE},
            results={"res": k.ANY},
            evaluate=kernels.evaluator(f"intr.{name}"),
        )
    llvm.op(
        "intr.is.fpclass",
        operands={"in": k.FLOAT_LIKE},
        results={"res": k.ANY},
        properties=(d.Property("bit", k.INTEGER_32_ATTR),),
        evaluate=kernels.evaluator("intr.is.fpclass"),
    )
    llvm.op(
        "intr.sincos",
        _form(["val"]),
        operands={"val": k.FLOAT_LIKE},
        results={"res": k.ANY},
        properties=(fastmath,),
        verify=rules.verify_sincos,
        evaluate=OnValues(kernels.sincos, raw=True, no_lanes=True),
    )
    llvm.op(
        "intr.assume",
        custom=function_forms.ASSUME,
        operands=(d.Slot("cond", d.BOOL), d.variadic("op_bundle_operands", k.ANY)),
        properties=(
            d.Property("op_bundle_sizes", d.INTEGER_ARRAY_ATTR),
            d.Property("op_bundle_tags", d.ARRAY_ATTR, optional=True),
        ),
        verify=rules.verify_bundles,
        evaluate=OnValues(function_forms.assume, raw=True, no_lanes=True),
    )
    llvm.op("intr.vscale", results={"res": k.ANY}, evaluate=OnValues(vectors.vscale, raw=True))
    _constrained(llvm, fastmath)
    _reductions(llvm, fastmath)
    _memory(llvm, aliases, signature)
    _masked(llvm, signature, aliases)
    _described(llvm)


_ROUNDED = {
    "a": ("sqrt", "exp", "exp2", "log", "log10", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
          "tanh", "rint", "nearbyint"),
    "ab": ("fadd", "fsub", "fmul", "fdiv", "frem", "pow", "atan2"),
    "abc": ("fma", "fmuladd"),
}  # fmt: skip
_UNROUNDED = {"a": ("ceil", "floor", "trunc", "round", "roundeven"), "ab": ("maxnum", "minnum", "maximum", "minimum")}
_CONVERSIONS = (
    # The mnemonic, the types, and whether the op has a rounding mode; MLIR 22 has some of them.
    ("fptrunc", k.FLOAT_LIKE, k.FLOAT_LIKE, True, Schema.MLIR22),
    ("fpext", k.FLOAT_LIKE, k.FLOAT_LIKE, False, Schema.MLIR22),
    ("sitofp", k.INTEGER_LIKE, k.FLOAT_LIKE, True, Schema.MLIR22),
    ("uitofp", k.INTEGER_LIKE, k.FLOAT_LIKE, True, Schema.MLIR22),
    ("fptosi", k.FLOAT_LIKE, k.INTEGER_LIKE, False, Schema.LLVM24),
    ("fptoui", k.FLOAT_LIKE, k.INTEGER_LIKE, False, Schema.LLVM24),
    *((name, k.ANY, k.ANY, name.endswith("rint"), Schema.LLVM24) for name in _TO_INTEGER),
)


def _constrained(llvm: d.Dialect, fastmath: d.Property) -> None:
    """Declare the intrinsics of strict floating point: the rounding mode is a property."""
    mode = d.Property("roundingmode", forms.ROUNDING)
    both = (replace(fastmath, since=Schema.LLVM24), d.Property("fpExceptionBehavior", forms.EXCEPTIONS))
    for rounds, functions in ((True, _ROUNDED), (False, _UNROUNDED)):
        for operands, names in functions.items():
            listed = " `,` ".join(f"${name}" for name in operands)
            for name in names:
                llvm.op(
                    kernels.CONSTRAINED + name,
                    f"{listed} {'$roundingmode ' * rounds}$fpExceptionBehavior attr-dict `:` type($res)",
                    operands=dict.fromkeys(operands, k.FLOAT_LIKE),
                    results={"res": k.FLOAT_LIKE},
                    properties=(*both, *(mode,) * rounds),
                    traits=(d.Trait.ELEMENTWISE, d.Trait.SAME_OPERANDS_AND_RESULT_TYPE),
                    evaluate=kernels.evaluator(kernels.CONSTRAINED + name),
                    since=Schema.LLVM24,
                )
    for name, given, made, rounds, since in _CONVERSIONS:
        llvm.op(
            kernels.CONSTRAINED + name,
            f"$a {'$roundingmode ' * rounds}$fpExceptionBehavior attr-dict `:` type($a) `to` type($res)",
            operands={"a": given},
            results={"res": made},
            properties=(*both, *(mode,) * rounds),
            evaluate=kernels.evaluator(kernels.CONSTRAINED + name),
            since=since,
        )
    for name in ("powi", "ldexp"):
        llvm.op(
            kernels.CONSTRAINED + name,
            "$a `,` $b $roundingmode $fpExceptionBehavior attr-dict `:` functional-type($operands, results)",
            operands=dict.fromkeys("ab", k.ANY),
            results={"res": k.ANY},
            properties=(*both, mode),
            evaluate=kernels.evaluator(kernels.CONSTRAINED + name),
            since=Schema.LLVM24,
        )
    for name in ("fcmp", "fcmps"):
        llvm.op(
            kernels.CONSTRAINED + name,
            "$predicate $lhs `,` $rhs $fpExceptionBehavior attr-dict `:` type($lhs)",
            operands={"lhs": k.FLOAT_LIKE, "rhs": k.FLOAT_LIKE},
            results={"res": d.BOOL_LIKE},
            properties=(*both, d.Property("predicate", forms.FLOAT_PREDICATE)),
            traits=(d.Trait.ELEMENTWISE, d.Trait.SAME_TYPE_OPERANDS),
            type_rules=(bool_result("res", "lhs"),),
            evaluate=kernels.evaluator(kernels.CONSTRAINED + name),
            since=Schema.LLVM24,
        )


def _reductions(llvm: d.Dialect, fastmath: d.Property) -> None:
    started = {"start_value": k.FLOAT, "input": k.FLOAT_VECTOR}
    for names, form, operands, properties in (
        (_INTEGER_REDUCTIONS, None, {"in": k.INTEGER_VECTOR}, ()),
        (_FLOAT_REDUCTIONS, _form(["in"]), {"in": k.LLVM_FLOAT_VECTOR}, (fastmath,)),
        (_STARTED_REDUCTIONS, None, started, (fastmath,)),
    ):
        for name in names:
            llvm.op(
                f"intr.vector.reduce.{name}",
                form,
                operands=operands,
                results={"res": k.ANY},
                properties=properties,
                evaluate=OnValues(vectors.reduce),
            )


def _memory(llvm: d.Dialect, aliases: tuple[d.Property, ...], signature: tuple[d.Property, ...]) -> None:
    copying = (*aliases, *signature, d.Property("isVolatile", d.BOOL_ATTR))
    for name, source, evaluate in (
        ("memcpy", {"src": k.POINTER}, copy),
        ("memmove", {"src": k.POINTER}, copy),
        ("memset", {"val": k.BYTE}, fill),
    ):
        llvm.op(
            f"intr.{name}",
            operands={"dst": k.POINTER, **source, "len": k.INTEGER},
            properties=copying,
            evaluate=OnValues(evaluate, raw=True, no_lanes=True),
        )
    llvm.op(
        "intr.stacksave",
        "attr-dict `:` type($res)",
        results={"res": k.POINTER},
        evaluate=OnFrames(save, no_lanes=True),
    )
    llvm.op(
        "intr.stackrestore",
        "$ptr attr-dict `:` type($ptr)",
        operands=(d.Slot("ptr", k.POINTER),),
        evaluate=OnFrames(restore, no_lanes=True),
    )
    for name in ("start", "end"):
        llvm.op(
            f"intr.lifetime.{name}",
            "$ptr attr-dict `:` type($ptr)",
            operands=(d.Slot("ptr", k.POINTER),),
            evaluate=OnValues(lifetime, raw=True, no_lanes=True),
        )


def _masked(llvm: d.Dialect, signature: tuple[d.Property, ...], aliases: tuple[d.Property, ...]) -> None:
    """Declare the access of the elements of vectors that a mask names."""
    aligned = d.Property("alignment", k.INTEGER_32_ATTR)
    nontemporal = d.Property("nontemporal", d.UNIT_ATTR, optional=True)
    aliases = tuple(replace(prop, since=Schema.LLVM24, late=True, plain=True) for prop in aliases)
    # In MLIR 22 the load alone has this property.
    for loads, stores, place, of_load, of_store in (
        ("load", "store", k.POINTER, (nontemporal,), (replace(nontemporal, since=Schema.LLVM24, plain=True),)),
        ("gather", "scatter", k.POINTER_VECTOR, (), ()),
    ):
        llvm.op(
            f"intr.masked.{loads}",
            "$data `,` $mask (`,` $pass_thru^)? attr-dict `:` functional-type($operands, results)",
            operands=(d.Slot("data", place), d.Slot("mask", k.BOOL_VECTOR), d.variadic("pass_thru", k.VECTOR)),
            results={"res": k.VECTOR},
            properties=(aligned, *of_load, *aliases),
            evaluate=OnValues(vectors.load, raw=True, no_lanes=True),
        )
        llvm.op(
            f"intr.masked.{stores}",
            "$value `,` $data `,` $mask attr-dict `:` type($value) `,` type($mask) `into` type($data)",
            operands={"value": k.VECTOR, "data": place, "mask": k.BOOL_VECTOR},
            properties=(aligned, *of_store, *aliases),
            evaluate=OnValues(vectors.store, raw=True, no_lanes=True),
        )
    llvm.op(
        "intr.masked.expandload",
        operands={"ptr": k.POINTER, "mask": k.BOOL_VECTOR, "passthru": k.VECTOR},
        results={"res": k.ANY},
        properties=signature,
        evaluate=OnValues(vectors.load, raw=True, no_lanes=True),
    )
    llvm.op(
        "intr.masked.compressstore",
        operands={"value": k.VECTOR, "ptr": k.POINTER, "mask": k.BOOL_VECTOR},
        properties=signature,
        evaluate=OnValues(vectors.store, raw=True, no_lanes=True),
    )


def _ignore(op: Operation, settings: Settings) -> Function:
    """Return the function that runs an op that only describes the program."""
    return lambda run, slots: ()


def _described(llvm: d.Dialect) -> None:
    """Declare the ops that tie the program to its source. A run skips them."""
    expression = d.Property("locationExpr", k.EXPRESSION, default=debug_info.NO_EXPRESSION)
    for name, kind, operand in (("value", k.ANY, "value"), ("declare", k.POINTER, "addr")):
        llvm.op(
            f"intr.dbg.{name}",
            f"$varInfo ($locationExpr^)? `=` ${operand} `:` type(${operand}) attr-dict",
            operands={operand: kind},
            properties=(d.Property("varInfo", k.LOCAL_VARIABLE), expression),
            evaluate=OnValues(_ignore, raw=True),
        )
    llvm.op(
        "intr.dbg.label",
        "$label attr-dict",
        properties=(d.Property("label", k.LABEL),),
        evaluate=OnValues(_ignore, raw=True),
    )
