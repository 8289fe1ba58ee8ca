"""The llvm dialect: the ops that MLIR's standard pipelines produce (`LLVMOps.td`). Others are kept as written.

The intrinsics are in `halfulp.interp.dialects.llvm.intrinsics`, which this file adds to the dialect.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.arith.constants import attribute_value
from halfulp.interp.dialects.cf.ops import BRANCH, CONDITIONAL, SWITCHING
from halfulp.interp.dialects.elementwise import bool_result, enum_of, is_power_of_two
from halfulp.interp.dialects.func.ops import RETURN
from halfulp.interp.dialects.llvm import (
    access,
    attributes,
    calls,
    forms,
    function_forms,
    intrinsics,
    kernels,
    memory_encoding,
    rules,
    types,
    vectors,
)
from halfulp.interp.dialects.llvm import memory as mem
from halfulp.interp.dialects.llvm import rules as k
from halfulp.interp.dialects.llvm.access import accessible, alignment_of
from halfulp.interp.dialects.llvm.intrinsics import check_size
from halfulp.interp.dialects.llvm.kernels import atomic_step
from halfulp.interp.dialects.llvm.memory_encoding import contents_of
from halfulp.interp.dialects.ub import POISON as POISON_OF_NUMBERS
from halfulp.interp.dialects.ub import unreachable
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, unsupported
from halfulp.interp.run.evaluators import Compiler, Constant, OnFrames, OnValues, PerOp
from halfulp.interp.run.frames import Frame, Function, FunctionCode, Run, lift, lower
from halfulp.interp.run.settings import Settings

# --- atomics ----------------------------------------------------------------------------------------------------------
#
# The atomic ops of the llvm dialect. A run executes one op after the other, so each of them is atomic.
#
# Without an alignment, the access is aligned to its size, as LLVM's builder has it.

Slots = Sequence[Any]


class _Place:
    """Access to the value of one type that an atomic op reads and writes."""

    def __init__(self, op: Operation, type_: ty.Type) -> None:
        self._op, self._size = op, memory_encoding.stored_bytes(type_)
        self._alignment = alignment_of(op, type_) if "alignment" in op.properties else self._size
        if not is_power_of_two(self._size):
            raise unsupported(op, f"halfulp does not run atomic access of {self._size} bytes")
        self.read, self.write = contents_of(type_)

    def __call__(self, run: Run, slot: Any) -> mem.Pointer:
        """Return the place that the pointer in a slot names. Raises UndefinedBehavior."""
        return accessible(self._op, run, slot, self._size, self._alignment, write=True)


def combine(op: Operation, settings: Settings) -> Function:
    """Return the function that runs atomicrmw: it combines the value in memory with the operand, and writes the
    combination to memory. The result is the value before.
    """
    type_, number = op.operands[1].type, enum_of(op, "bin_op")
    assert number is not None
    place, step = _Place(op, type_), atomic_step(op, forms.ATOMIC_OPERATION.names[number], settings)

    def update(run: Run, slots: Slots) -> tuple[Any, ...]:
        memory, at = place(run, slots[0])
        before, after = place.read(run, memory, at), slots[1]
        if step is not None:
            after = lower(step.run(run, (lift(before, type_), lift(after, type_)))[0])
        place.write(run, memory, at, after)
        return (before,)

    return update


_UNDECIDED = "an operand of the comparison is poison"


def exchange(op: Operation, settings: Settings) -> Function:
    """Return the function that runs cmpxchg: if memory has the expected value, it gets the new value. The results are
    the value before, and whether it was the expected one. A weak exchange never fails without a reason here.

    If one of the two compared values is poison, the result and the memory become poison.
    """
    type_ = op.operands[1].type
    place = _Place(op, type_)

    def update(run: Run, slots: Slots) -> tuple[Any, ...]:
        pointer, expected, new = slots
        memory, at = place(run, pointer)
        before = place.read(run, memory, at)
        codes = [_code(run, slot, type_) for slot in (before, expected)]
        if None in codes:
            poison_id = mem.born(op, run, _UNDECIDED)
            place.write(run, memory, at, mem.poison_of(type_, poison_id, run))
            return ((before, mem.poison_of(ty.I1, poison_id, run)),)
        equal = codes[0] == codes[1]
        # A value that stays is written as well: it may only be written to memory that is not constant.
        place.write(run, memory, at, new if equal else before)
        return ((before, int(equal)),)

    return update


def _code(run: Run, slot: Any, type_: ty.Type) -> int | None:
    """Return the integer or the address that a slot holds; None for poison."""
    if slot.__class__ is int:
        return int(slot)
    if slot.__class__ is mem.Pointer:
        return mem.address_of(run, slot)
    value = lift(slot, type_)
    if value.poison is not None:
        return None
    return int(codes_to_ints(value.bits, ty.width_of(type_))[0])


def fence(op: Operation, settings: Settings) -> Function:
    """Return the function that runs fence. It does nothing, since ops run one after the other."""
    return lambda run, slots: ()


# --- evaluate ---------------------------------------------------------------------------------------------------------
#
# How the constants of the llvm dialect and llvm.freeze run.
#
# Undefined values count as poison, and `llvm.freeze` passes poison on.


def _poison(op: Operation, settings: Settings) -> Function:
    build = POISON_OF_NUMBERS.build if mem.part_types(op.results[0].type) is None else mem.poison
    return build(op, settings)


POISON = OnValues(_poison, raw=True, words=POISON_OF_NUMBERS.words)


def constant(op: Operation, compiler: Compiler) -> Any:
    """Return the value of llvm.mlir.constant. ``64 : index`` is a constant of any width."""
    return constant_of(op.properties["value"], op.results[0].type, op, compiler)


def constant_of(value: at.Attribute, type_: ty.Type, op: Operation, compiler: Compiler) -> Any:
    """Return the value of a type that an attribute of an op encodes, as a slot holds it."""
    parts = mem.part_types(type_)
    if parts is not None:
        return _aggregate(value, parts, type_, op, compiler)
    if isinstance(value, at.IntegerAttr) and isinstance(type_, ty.IntegerType):
        value = at.IntegerAttr(value.value, type_)
    given = getattr(value, "type", None)
    if (
        not isinstance(ty.element_type(type_), ty.IntegerType | ty.FloatType)
        or given is None
        or ty.width_of(ty.element_type(given)) != ty.width_of(ty.element_type(type_))
    ):
        raise _no_value(value, type_, op)
    return lower(attribute_value(value, type_, op, compiler))


def _no_value(value: at.Attribute, type_: ty.Type, op: Operation) -> Unsupported:
    return unsupported(op, f"{value} is not a value of type '{type_}'")


def _aggregate(
    value: at.Attribute, parts: Sequence[ty.Type], type_: ty.Type, op: Operation, compiler: Compiler
) -> tuple[Any, ...]:
    if isinstance(value, at.StringAttr):
        return tuple(value.value.encode("utf-8", "surrogateescape"))
    if isinstance(value, at.ArrayAttr) and len(value.elements) == len(parts):
        pairs = zip(value.elements, parts, strict=True)
        return tuple([constant_of(element, part, op, compiler) for element, part in pairs])
    if isinstance(value, at.DenseElementsAttr | at.DenseResourceAttr):
        shape = ty.static_shape(value.type)
        whole = attribute_value(value, ty.TensorType(shape, value.type.element), op, compiler)
        leaf = _leaf_type(type_)
        if ty.width_of(leaf) == ty.width_of(value.type.element):
            leaves = iter(codes_to_ints(whole.bits, ty.width_of(leaf)))
            return mem.filled(type_, lambda leaf: next(leaves), each=True)  # type: ignore[no-any-return]
    raise _no_value(value, type_, op)


def _leaf_type(type_: ty.Type) -> ty.Type:
    while (parts := mem.part_types(type_)) is not None:
        if not parts:
            return ty.I1
        type_ = parts[0]
    return type_


def zero(op: Operation, compiler: Compiler) -> Any:
    """Return the value of llvm.mlir.zero: all bits are 0, and a pointer is null."""
    return mem.filled(op.results[0].type, lambda leaf: mem.zero_of(leaf, compiler.settings))


def same(op: Operation, settings: Settings) -> Function:
    """Return the function that returns the operand. It runs llvm.freeze, for which poison stays poison here."""
    return lambda run, operands: operands


# --- globals ----------------------------------------------------------------------------------------------------------
#
# llvm.mlir.global and llvm.mlir.addressof: each run has the memory of its own, with the initial values.


def address(op: Operation, compiler: Compiler) -> Function:
    """Return the function that runs addressof. Raises Unsupported for memory that the module only declares."""
    name = op.prop("global_name", at.SymbolRefAttr)
    found = compiler.module.lookup(name, op)
    assert found is not None
    if found.name == "llvm.func":
        return _kept(found, lambda run: _of_function(found, run))
    if found.name != "llvm.mlir.global":
        raise Unsupported(f"'{name}' is a {found.name}, which halfulp does not run", location=op.location, op=op.name)
    make = _maker(found, op, compiler)
    return _kept(found, make)


def _kept(found: Operation, make: Any) -> Function:
    def get(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        memory = run.kept.get(found)
        if memory is None:
            memory = make(run)
        return (mem.Pointer(memory, 0),)

    return get


def _of_function(found: Operation, run: Run) -> mem.Memory:
    memory = run.kept[found] = mem.Memory(f"@{found.symbol_name}", 0, mem.MALLOC_ALIGNMENT, run.origins)
    memory.function = found
    return memory


def _maker(found: Operation, op: Operation, compiler: Compiler) -> Any:
    type_attribute, value = found.prop("global_type", at.TypeAttr), found.properties.get("value")
    type_, source = type_attribute.type, f"llvm.mlir.global @{found.symbol_name}"
    size, alignment = memory_encoding.size_of(type_), alignment_of(found, type_)
    write = contents_of(type_)[1]
    check_size(op, size, compiler.settings)
    has_region = bool(found.regions[0].blocks)
    if value is None and not has_region and "external" in str(found.properties["linkage"]):
        raise Unsupported(
            f"'@{found.symbol_name}' is declared, but its memory is defined nowhere", location=op.location, op=op.name
        )
    initial = None if value is None else constant_of(value, type_, found, compiler)
    code_of = compiler.code_of

    def make(run: Run) -> mem.Memory:
        memory = run.kept[found] = mem.Memory(source, size, alignment, run.origins)
        if has_region:
            write(run, memory, 0, _returned(code_of(found), run))
        elif initial is not None:
            write(run, memory, 0, initial)
        memory.constant = "constant" in found.properties
        return memory

    return make


def _returned(code: FunctionCode, run: Run) -> Any:
    """Return what the region of a global returns, in the middle of a run."""
    frame, results = run.frame, run.results
    run.frame = None
    run.execute(Frame(code, run, None, (), None))
    (value,) = run.results
    run.frame, run.results = frame, results
    return value


# --- ops --------------------------------------------------------------------------------------------------------------

llvm = d.Dialect("llvm", partial=True)
llvm.types.update(types.PARSERS)
llvm.attributes.update({each.name.partition(".")[2]: each for each in attributes.ATTRIBUTES})
for _enum in (forms.LINKAGE, forms.CALLING, forms.TAIL_CALL, forms.FASTMATH):
    llvm.enum(_enum)


def units(*names: str) -> tuple[d.Property, ...]:
    """Return the properties of flags that are either present or absent."""
    return tuple(d.Property(name, d.UNIT_ATTR, optional=True) for name in names)


def optional(*names: str, kind: Any = d.ANY_ATTR) -> tuple[d.Property, ...]:
    """Return properties that may be absent."""
    return tuple(d.Property(name, kind, optional=True) for name in names)


def newer(properties: Iterable[d.Property], late: bool = False) -> tuple[d.Property, ...]:
    """Return properties that are plain attributes in MLIR 22, and in some builds of MLIR 24 if they are ``late``."""
    return tuple(replace(prop, since=d.Schema.LLVM24, late=late, plain=True) for prop in properties)


FASTMATH = d.Property("fastmathFlags", forms.FASTMATH, default=0)
OVERFLOW = d.Property("overflowFlags", forms.OVERFLOW, default=0, number=True)
ALIASES = optional("access_groups", "alias_scopes", "noalias_scopes", "tbaa", kind=d.ARRAY_ATTR)
_ALIGNMENT = optional("alignment", kind=d.INTEGER_64_ATTR)
_LOOP = optional("loop_annotation")
_WEIGHTS = optional("branch_weights", kind=d.INTEGER_ARRAY_ATTR)
_OVERFLOW_GROUP = "(`overflow` `` $overflowFlags^)? "

# --- arithmetic -------------------------------------------------------------------------------------------------------


def _binary(mnemonic: str, kind: d.TypeConstraint, before: str, after: str, *properties: d.Property) -> None:
    llvm.op(
        mnemonic,
        f"{before}$lhs `,` $rhs {after}attr-dict `:` type($res)",
        operands={"lhs": kind, "rhs": kind},
        results={"res": kind},
        properties=properties,
        traits=(d.Trait.ELEMENTWISE, d.Trait.SAME_OPERANDS_AND_RESULT_TYPE),
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
    traits=(d.Trait.ELEMENTWISE, d.Trait.SAME_OPERANDS_AND_RESULT_TYPE),
    evaluate=kernels.evaluator("fneg"),
)


def _comparing(mnemonic: str) -> PerOp:
    elementwise, pointers = kernels.evaluator(mnemonic), OnValues(access.compare, raw=True, no_lanes=True)
    return PerOp(lambda op: pointers if k.POINTER_LIKE.accepts(op.operands[0].type) else elementwise)


for _name, _kind, _predicates, _flags in (
    ("icmp", k.COMPARABLE, forms.INTEGER_PREDICATE, ()),
    ("fcmp", k.FLOAT_LIKE, forms.FLOAT_PREDICATE, (FASTMATH,)),
):
    llvm.op(
        _name,
        custom=forms.comparison(_predicates),
        operands={"lhs": _kind, "rhs": _kind},
        results={"res": k.BOOL_LIKE},
        properties=(*_flags, d.Property("predicate", _predicates)),
        traits=(d.Trait.ELEMENTWISE, d.Trait.SAME_TYPE_OPERANDS),
        type_rules=(bool_result("res", "lhs"),),
        evaluate=_comparing(_name),
    )

llvm.op(
    "select",
    "$condition `,` $trueValue `,` $falseValue attr-dict `:` type($condition) `,` type($res)",
    operands={"condition": k.BOOL_LIKE, "trueValue": k.ANY, "falseValue": k.ANY},
    results={"res": k.ANY},
    properties=(FASTMATH,),
    type_rules=(d.same_type("trueValue", "falseValue", "res"),),
    evaluate=kernels.SELECT,
)
llvm.op(
    "freeze",
    "$val attr-dict `:` type($val)",
    operands={"val": k.ANY},
    results={"res": k.ANY},
    traits=(d.Trait.SAME_OPERANDS_AND_RESULT_TYPE,),
    evaluate=OnValues(same, raw=True),
)

# --- casts ------------------------------------------------------------------------------------------------------------


def _cast(mnemonic: str, given: d.TypeConstraint, made: d.TypeConstraint, form: str = "$arg ", **more: Any) -> None:
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
    evaluate=OnValues(access.to_pointer, raw=True, no_lanes=True),
)
_cast("ptrtoint", k.POINTER_LIKE, k.INTEGER_LIKE, evaluate=OnValues(access.to_integer, raw=True, no_lanes=True))
_cast("sext", k.INTEGER_LIKE, k.INTEGER_LIKE, verify=rules.verify_extension)
_cast("zext", k.INTEGER_LIKE, k.INTEGER_LIKE, verify=rules.verify_extension, **_NNEG)
_cast("trunc", k.INTEGER_LIKE, k.INTEGER_LIKE, f"$arg {_OVERFLOW_GROUP}", properties=(OVERFLOW,))
_cast("sitofp", k.INTEGER_LIKE, k.FLOAT_LIKE)
_cast("uitofp", k.INTEGER_LIKE, k.FLOAT_LIKE, **_NNEG)
_cast("fptosi", k.FLOAT_LIKE, k.INTEGER_LIKE)
_cast("fptoui", k.FLOAT_LIKE, k.INTEGER_LIKE)
for _name in ("fpext", "fptrunc"):
    _cast(
        _name,
        k.FLOAT_LIKE,
        k.FLOAT_LIKE,
        "$arg newer(`fastmath` `` $fastmathFlags) ",
        properties=(replace(FASTMATH, since=d.Schema.LLVM24),),
    )

# --- vectors and aggregates -------------------------------------------------------------------------------------------

llvm.op(
    "extractelement",
    "$vector `[` $position `:` type($position) `]` attr-dict `:` type($vector)",
    operands={"vector": k.VECTOR, "position": k.INTEGER},
    results={"res": k.ANY},
    type_rules=(
        d.derived_type(
            "res", "vector", ty.element_type, "failed to verify that result type matches vector element type"
        ),
    ),
    evaluate=OnValues(vectors.extract),
)
llvm.op(
    "insertelement",
    "$value `,` $vector `[` $position `:` type($position) `]` attr-dict `:` type($vector)",
    operands={"vector": k.VECTOR, "value": k.PRIMITIVE, "position": k.INTEGER},
    results={"res": k.VECTOR},
    type_rules=(
        d.derived_type(
            "value", "vector", ty.element_type, "failed to verify that argument type matches vector element type"
        ),
        d.same_type("res", "vector"),
    ),
    evaluate=OnValues(vectors.insert),
)
llvm.op(
    "shufflevector",
    "$v1 `,` $v2 $mask attr-dict `:` type($v1) ` `",
    operands={"v1": k.VECTOR, "v2": k.VECTOR},
    results={"res": k.VECTOR},
    properties=(d.Property("mask", d.INTEGER_ARRAY_ATTR),),
    type_rules=(d.same_type("v1", "v2"), rules.SHUFFLED),
    verify=rules.verify_shuffle,
    evaluate=OnValues(vectors.shuffle),
)
llvm.op(
    "extractvalue",
    "$container `` $position attr-dict `:` type($container) ` `",
    operands={"container": k.AGGREGATE},
    results={"res": k.ANY},
    properties=(d.Property("position", d.INTEGER_64_ARRAY_ATTR),),
    type_rules=(rules.type_in("res"),),
    verify=rules.verify_extract,
    evaluate=OnValues(mem.extract, raw=True, no_lanes=True),
)
llvm.op(
    "insertvalue",
    "$value `,` $container `` $position attr-dict `:` type($container) ` `",
    operands={"container": k.AGGREGATE, "value": k.PRIMITIVE},
    results={"res": k.AGGREGATE},
    properties=(d.Property("position", d.INTEGER_64_ARRAY_ATTR),),
    type_rules=(d.same_type("container", "res"), rules.type_in("value")),
    verify=rules.verify_insert,
    evaluate=OnValues(mem.insert, raw=True, no_lanes=True),
)

# --- constants and globals --------------------------------------------------------------------------------------------

llvm.op(
    "mlir.constant",
    "`(` $value `)` attr-dict `:` type($res)",
    results={"res": k.ANY},
    properties=(d.Property("value", d.ANY_ATTR),),
    traits=(d.Trait.CONSTANT_LIKE,),
    verify=rules.verify_constant,
    evaluate=Constant(constant),
)
for _name, _evaluate in (
    ("mlir.undef", POISON),
    ("mlir.poison", POISON),
    ("mlir.zero", Constant(zero)),
    ("mlir.none", None),
):
    llvm.op(
        _name,
        "attr-dict `:` type($res)",
        results={"res": k.ANY},
        traits=(d.Trait.CONSTANT_LIKE,),
        evaluate=_evaluate,
    )
llvm.op(
    "mlir.addressof",
    "$global_name attr-dict `:` type($res)",
    results={"res": k.POINTER},
    properties=(d.Property("global_name", d.FLAT_SYMBOL_REF_ATTR),),
    traits=(d.Trait.CONSTANT_LIKE,),
    verify_symbols=rules.verify_address_of,
    evaluate=OnValues(address, raw=True, of_module=True, no_lanes=True),
)
llvm.op(
    "mlir.global",
    custom=forms.GLOBAL,
    properties=(
        d.Property("addr_space", k.ADDRESS_SPACE_ATTR, optional=True),
        *_ALIGNMENT,
        *optional("comdat", "dbg_exprs", "section", "target_specific_attrs", "value"),
        *units("constant", "dso_local", "externally_initialized"),
        d.Property(
            "thread_local_",
            d.UNIT_ATTR,
            optional=True,
            until=d.Schema.LLVM24,
            renewed=("tls_mode", forms.TLS_MODE.attribute(1)),
        ),
        d.Property("tls_mode", forms.TLS_MODE, default=0, since=d.Schema.LLVM24),
        *newer(
            (*optional("absolute_symbol", "associated"), *optional("sym_visibility", kind=d.STRING_ATTR)), late=True
        ),
        d.Property("global_type", k.TYPE_ATTR),
        d.Property("linkage", forms.LINKAGE),
        d.Property("sym_name", d.STRING_ATTR),
        d.Property("unnamed_addr", forms.UNNAMED_ADDRESS, optional=True),
        d.Property("visibility_", forms.VISIBILITY, default=0),
    ),
    regions=(d.RegionSlot("initializer"),),
    traits=(d.Trait.SYMBOL, d.Trait.ISOLATED_FROM_ABOVE),
    verify=rules.verify_global,
    verify_symbols=rules.verify_comdat_of,
    verify_regions=rules.verify_initializer,
)

llvm.op(
    "comdat",
    "$sym_name $body attr-dict",
    properties=(d.Property("sym_name", d.SYMBOL_NAME_ATTR),),
    regions=(d.RegionSlot("body"),),
    traits=(d.Trait.SYMBOL, d.Trait.SYMBOL_TABLE, d.Trait.NO_TERMINATOR),
    verify=rules.verify_comdat,
    verify_regions=rules.verify_in_comdat,
)
llvm.op(
    "comdat_selector",
    "$sym_name $comdat attr-dict",
    properties=(d.Property("comdat", forms.COMDAT), d.Property("sym_name", d.SYMBOL_NAME_ATTR)),
    traits=(d.Trait.SYMBOL,),
)
llvm.op(
    "module_flags",
    "$flags attr-dict",
    properties=(d.Property("flags", d.ARRAY_ATTR),),
    verify=rules.verify_module_flags,
)

# --- memory -----------------------------------------------------------------------------------------------------------

llvm.op(
    "alloca",
    custom=forms.ALLOCA,
    operands={"arraySize": k.INTEGER},
    results={"res": k.POINTER},
    properties=(*_ALIGNMENT, d.Property("elem_type", k.TYPE_ATTR), *units("inalloca")),
    evaluate=OnFrames(intrinsics.allocate, no_lanes=True),
)
llvm.op(
    "getelementptr",
    custom=forms.ADDRESS,
    operands=(d.Slot("base", k.POINTER_LIKE), d.variadic("dynamicIndices", k.INTEGER_LIKE)),
    results={"res": k.POINTER_LIKE},
    properties=(
        d.Property("elem_type", k.TYPE_ATTR),
        d.Property("rawConstantIndices", d.INTEGER_ARRAY_ATTR),
        d.Property("noWrapFlags", forms.NO_WRAP, default=0, number=True),
    ),
    verify=rules.verify_address,
    evaluate=OnValues(access.element_pointer, raw=True, no_lanes=True),
)
_SCOPE = "(`syncscope` `(` $syncscope^ `)`)? "
_SYNCSCOPE = optional("syncscope", kind=d.STRING_ATTR)
_ORDERING = (d.Property("ordering", forms.ORDERING, default=0), *_SYNCSCOPE)
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
    evaluate=OnValues(access.load, raw=True, no_lanes=True),
)
llvm.op(
    "store",
    f"(`volatile` $volatile_^)? $value `,` $addr {_ATOMIC}(`invariant_group` $invariantGroup^)? "
    "attr-dict `:` type($value) `,` type($addr)",
    operands={"value": k.LOADABLE, "addr": k.POINTER},
    properties=(*ALIASES, *_ALIGNMENT, *units("invariantGroup", "nontemporal", "volatile_"), *_ORDERING),
    verify=rules.verify_access("acquire", "acq_rel"),
    evaluate=OnValues(access.store, raw=True, no_lanes=True),
)

llvm.op(
    "atomicrmw",
    f"(`volatile` $volatile_^)? $bin_op $ptr `,` $val {_SCOPE}$ordering attr-dict `:` type($ptr) `,` type($val)",
    operands={"ptr": k.POINTER, "val": k.COMBINED},
    results={"res": k.COMBINED},
    properties=(
        d.Property("bin_op", forms.ATOMIC_OPERATION),
        d.Property("ordering", forms.ORDERING),
        *_SYNCSCOPE,
        *ALIASES,
        *_ALIGNMENT,
        *units("volatile_"),
    ),
    type_rules=(
        d.same_type("val", "res", message="failed to verify that result #0 and operand #1 have the same type"),
    ),
    verify=rules.verify_atomic,
    evaluate=OnValues(combine, raw=True, no_lanes=True),
)
llvm.op(
    "cmpxchg",
    f"(`weak` $weak^)? (`volatile` $volatile_^)? $ptr `,` $cmp `,` $val {_SCOPE}$success_ordering $failure_ordering "
    "attr-dict `:` type($ptr) `,` type($val)",
    operands={"ptr": k.POINTER, "cmp": k.EXCHANGED, "val": k.EXCHANGED},
    results={"res": k.STRUCT},
    properties=(
        d.Property("success_ordering", forms.ORDERING),
        d.Property("failure_ordering", forms.ORDERING),
        *_SYNCSCOPE,
        *ALIASES,
        *_ALIGNMENT,
        *units("volatile_", "weak"),
    ),
    type_rules=(
        d.same_type("val", "cmp", message="failed to verify that operand #1 and operand #2 have the same type"),
        rules.EXCHANGE_RESULT,
    ),
    verify=rules.verify_exchange,
    evaluate=OnValues(exchange, raw=True, no_lanes=True),
)
llvm.op(
    "fence",
    f"{_SCOPE}$ordering attr-dict",
    properties=(d.Property("ordering", forms.ORDERING), *_SYNCSCOPE),
    verify=rules.verify_fence,
    evaluate=OnValues(fence, raw=True),
)

# --- functions, calls and branches ------------------------------------------------------------------------------------

_DENORMAL_FPENV = d.AttributeConstraint(
    "Denormal floating-point environment attribute",
    lambda found: isinstance(found, DialectAttr) and found.definition is attributes.DENORMAL_FPENV,
)
_OLDER_PROMISES = tuple(
    replace(prop, until=d.Schema.LLVM24)
    for prop in (
        *optional("denormal_fp_math", "denormal_fp_math_f32", kind=d.STRING_ATTR),
        *optional("no_infs_fp_math", "no_nans_fp_math"),
    )
)
_NEWER_PROMISES = newer(
    (
        *units(
            "cold",
            "hot",
            "minsize",
            "no_caller_saved_registers",
            "nocallback",
            "noduplicate",
            "noreturn",
            "optsize",
            "returns_twice",
            "save_reg_params",
        ),
        *optional("allocsize", "default_func_attrs", "modular_format", "nobuiltins", "zero_call_used_regs"),
    )
)
_SIGNATURE_ATTRIBUTES = optional("arg_attrs", "res_attrs", kind=d.DICTIONARY_ARRAY_ATTR)
llvm.op(
    "func",
    custom=function_forms.FUNCTION,
    properties=(
        *_SIGNATURE_ATTRIBUTES,
        d.Property("CConv", forms.CALLING, default=0),
        d.Property("function_type", k.FUNCTION_TYPE_ATTR),
        d.Property("linkage", forms.LINKAGE, default=0),
        d.Property("sym_name", d.STRING_ATTR),
        d.Property("unnamed_addr", forms.UNNAMED_ADDRESS, optional=True),
        d.Property("visibility_", forms.VISIBILITY, default=0),
        *units(
            "always_inline", "arm_in_za", "arm_inout_za", "arm_locally_streaming", "arm_new_za", "arm_out_za",
            "arm_preserves_za", "arm_streaming", "arm_streaming_compatible", "convergent", "dso_local", "inline_hint",
            "no_inline", "no_unwind", "optimize_none", "will_return",
        ),
        *optional(
            "alignment", "comdat", "fp_contract", "frame_pointer", "function_entry_count", "garbageCollector",
            "instrument_function_entry", "instrument_function_exit", "intel_reqd_sub_group_size", "memory_effects",
            "no_signed_zeros_fp_math", "passthrough", "personality", "prefer_vector_width", "reciprocal_estimates",
            "reqd_work_group_size", "section", "sym_visibility", "target_cpu", "target_features", "tune_cpu",
            "uwtable_kind", "vec_type_hint", "vscale_range", "work_group_size_hint",
        ),
        *_OLDER_PROMISES,
        *_NEWER_PROMISES,
        *newer(optional("use_sample_profile")),
        *newer(
            optional(
                "disable_tail_calls", "function_metadata", "sample_profile_suffix_elision_policy",
                "uniform_work_group_size",
            ),
            late=True,
        ),
        d.Property("denormal_fpenv", _DENORMAL_FPENV, optional=True, since=d.Schema.LLVM24),
    ),
    regions=(d.RegionSlot("body"),),
    traits=(d.Trait.SYMBOL, d.Trait.ISOLATED_FROM_ABOVE),
    verify=rules.verify_function,
    verify_symbols=rules.verify_comdat_of,
    evaluate=calls.FUNCTION,
)  # fmt: skip
llvm.op(
    "call",
    custom=function_forms.CALL,
    operands=(d.variadic("callee_operands", k.ANY), d.variadic("op_bundle_operands", k.ANY)),
    results=(d.optional("result", k.ANY),),
    properties=(
        *_SIGNATURE_ATTRIBUTES,
        *ALIASES,
        FASTMATH,
        d.Property("CConv", forms.CALLING, default=0),
        d.Property("TailCallKind", forms.TAIL_CALL, default=0),
        *optional("callee", kind=d.FLAT_SYMBOL_REF_ATTR),
        *optional("memory_effects"),
        *optional("op_bundle_tags", kind=d.ARRAY_ATTR),
        *optional("var_callee_type", kind=k.FUNCTION_TYPE_ATTR),
        *units("always_inline", "convergent", "inline_hint", "no_inline", "no_unwind", "will_return"),
        *_NEWER_PROMISES,
        *newer((*units("builtin", "nobuiltin"), *optional("trap_func_name"))),
        *newer(optional("uniform_work_group_size"), late=True),
        d.Property("op_bundle_sizes", d.INTEGER_ARRAY_ATTR),
    ),
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=rules.verify_bundles,
    verify_symbols=rules.verify_call,
    evaluate=calls.CALL,
)
llvm.op(
    "return",
    "attr-dict ($arg^ `:` type($arg))?",
    operands=(d.optional("arg", k.ANY),),
    traits=(d.Trait.TERMINATOR, d.Trait.RETURN_LIKE),
    verify=rules.verify_return,
    evaluate=OnFrames(intrinsics.leave, words=RETURN.words),
)
llvm.op("unreachable", "attr-dict", traits=(d.Trait.TERMINATOR,), evaluate=OnFrames(unreachable))
llvm.op(
    "br",
    "$dest (`(` $destOperands^ `:` type($destOperands) `)`)? attr-dict",
    operands=(d.variadic("destOperands", k.ANY),),
    properties=_LOOP,
    successors=(d.SuccessorSlot("dest"),),
    traits=(d.Trait.TERMINATOR,),
    evaluate=BRANCH,
)
llvm.op(
    "cond_br",
    "$condition (`weights` `(` $branch_weights^ `)`)? `,` "
    "$trueDest (`(` $trueDestOperands^ `:` type($trueDestOperands) `)`)? `,` "
    "$falseDest (`(` $falseDestOperands^ `:` type($falseDestOperands) `)`)? attr-dict",
    operands=(
        d.Slot("condition", k.BOOL),
        d.variadic("trueDestOperands", k.ANY),
        d.variadic("falseDestOperands", k.ANY),
    ),
    properties=(*_LOOP, *_WEIGHTS),
    successors=(d.SuccessorSlot("trueDest"), d.SuccessorSlot("falseDest")),
    traits=(d.Trait.TERMINATOR, d.Trait.ATTR_SIZED_OPERAND_SEGMENTS),
    evaluate=CONDITIONAL,
)
llvm.op(
    "switch",
    custom=forms.SWITCH,
    operands=(d.Slot("value", k.INTEGER), d.variadic("defaultOperands", d.ANY), d.variadic("caseOperands", d.ANY)),
    properties=(
        *_WEIGHTS,
        d.Property("case_operand_segments", d.INTEGER_ARRAY_ATTR),
        d.Property("case_values", d.INTEGER_ELEMENTS_ATTR, optional=True),
    ),
    successors=(d.SuccessorSlot("default"), d.SuccessorSlot("case", d.Arity.VARIADIC)),
    traits=(d.Trait.TERMINATOR, d.Trait.ATTR_SIZED_OPERAND_SEGMENTS),
    verify=rules.verify_switch,
    evaluate=SWITCHING,
)

intrinsics.declare(llvm, FASTMATH, ALIASES, _SIGNATURE_ATTRIBUTES)
