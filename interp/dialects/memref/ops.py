"""The memref dialect (`MemRefOps.td`): the ops that make buffers, view them and move elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from halfulp.fp_formats.paths.words import Word
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.build import apply_op
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.elementwise import ATOMIC_KIND, COMBINING, REASSOCIATION_ATTR
from halfulp.interp.dialects.memref import evaluate, forms, in_lanes, memory, rules, views
from halfulp.interp.dialects.memref.evaluate import element_place, moves_elements
from halfulp.interp.dialects.memref.rules import is_strided
from halfulp.interp.dialects.regions import declare_yield, yielded
from halfulp.interp.dialects.slices import FORM, OPERANDS, PROPERTIES
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.operations import Block, Operation
from halfulp.interp.run.elementwise import PointwiseStep
from halfulp.interp.run.evaluators import Compiler, Elementwise, OnFrames, OnValues, Words
from halfulp.interp.run.frames import Action, Frame, Function, Run, Segment, lift, lower
from halfulp.interp.run.limits import NotCompiled
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import load_at, store_at
from halfulp.interp.values.memref_layout import strides_and_offset

if TYPE_CHECKING:
    from halfulp.interp.run.compiled.context import Context
    from halfulp.interp.run.compiled.lowering import FunctionLowering

# --- atomics ----------------------------------------------------------------------------------------------------------
#
# The atomic ops of the memref dialect. A run executes one op after the other, so each of them is atomic.

Slots = Sequence[Any]


def combine(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.atomic_rmw: it combines the element with the value, and writes the
    combination to the memref. The result is the element before, as in the llvm dialect.
    """
    step = _combination(op, ATOMIC_KIND.names[op.number("kind")], settings)
    type_, moving = op.operands[0].type, moves_elements(op, 1, settings)

    def update(run: Run, slots: Slots) -> tuple[Any, ...]:
        place = np.array(element_place(op, slots, 1, moving, settings), np.int64)
        memory, value = slots[1].allocation, lift(slots[0], type_)
        before = load_at(memory, place, type_, run.origins)
        after = value if step is None else step.run(run, (before, value))[0]
        store_at(memory, place, after, run.origins, atomic=True)
        return (before,)

    return update


def _combination(op: Operation, kind: str, settings: Settings) -> PointwiseStep | None:
    """Return the step of arith that a kind stands for; None for ``assign``."""
    if kind not in COMBINING:
        return None
    definition = default_registry().find(COMBINING[kind].op)
    assert definition is not None
    value = op.operands[0]
    apply_op(block := Block(), definition, [value, value], {})
    (made,) = block.operations
    made.location = op.location
    evaluator = narrowed(definition.evaluate, Elementwise)
    return PointwiseStep(made, evaluator, evaluator.build(made, settings), settings, op)


def apply(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs memref.generic_atomic_rmw: the element is replaced by the result of the region.

    The result is the element before, as in the llvm dialect.
    """
    operands = compiler.slots(op.operands)
    settings, type_ = compiler.settings, op.results[0].type
    moving = moves_elements(op, 0, settings)
    resume = compiler.resume(op)
    body = compiler.block(op.regions[0].blocks[0])
    (argument,) = body.arguments
    kept, where = compiler.hidden_slot(), compiler.hidden_slot()
    finish = resume([kept])

    def yielding(sources: Sequence[int]) -> Action:
        (source,) = sources

        def write(frame: Frame) -> Segment | None:
            slots = frame.slots
            memory, place = slots[where]
            store_at(memory, place, lift(slots[source], type_), slots[0].origins, atomic=True)
            return finish(frame)

        return write

    compiler.region(op.regions[0], yielding)

    def read(frame: Frame) -> Segment:
        slots = frame.slots
        given = [slots[slot] for slot in operands]
        place = np.array(element_place(op, given, 0, moving, settings), np.int64)
        memory = given[0].allocation
        slots[where] = memory, place
        slots[argument] = slots[kept] = lower(load_at(memory, place, type_, slots[0].origins))
        return body

    return read


# --- words ------------------------------------------------------------------------------------------------------------
#
# The memref ops that compiled code covers, on machine words.


def access(op: Operation, low: FunctionLowering, indices: list[Word]) -> None:
    """Make the machine code of a load, or a store if the op has no result, of the element at these indices."""
    which = 0 if op.results else 1
    if moves_elements(op, which, low.settings):
        raise NotCompiled(f"'{op.name}' of memory whose elements are moved")
    place = low.place(op.operands[which])
    at = place.index(indices)
    if which:
        low.program.writes = True
        place.store(at, low.word(op.operands[0]))
    else:
        low.put(op, place.load(at, low.width(op.results[0].type)))


def load(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of memref.load."""
    access(op, low, low.words(op.operands[1:]))


def store(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of memref.store."""
    access(op, low, low.words(op.operands[2:]))


def allocate(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of memref.alloc and memref.alloca without symbols: the executor makes the memory."""
    type_, settings = memory.allocated_type(op), low.settings
    known = strides_and_offset(type_)
    sizes = low.words(op.operands)
    if known is None or type_.layout is not None or len(sizes) != (type_.shape or ()).count(None):
        raise NotCompiled(f"'{op.name}' of type '{type_}'")
    low.check(type_)
    plan_of = memory.plans_of(op, settings)

    def make(context: Context, *given: int) -> tuple[int, ...]:
        numbers = [(code ^ (1 << 63)) - (1 << 63) for code in given]
        plan = plan_of(*numbers)
        buffer = memory.fresh(op, type_, plan, context.run, settings)
        return (*context.made(buffer.allocation), plan.offset, *plan.shape, *plan.strides)

    low.put(op, low.made(make, sizes, type_))


def refused(op: Operation, low: FunctionLowering) -> None:
    """Stop the making of machine code at an op that frees memory that other values may use."""
    raise NotCompiled(f"'{op.name}'")


def free(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of memref.dealloc of the memref of memref.alloc. Its memory becomes poison, so that a later
    access is detected.
    """
    owner = getattr(op.operands[0], "owner", None)
    if owner is None or owner.name != "memref.alloc":
        raise NotCompiled(f"'{op.name}' of memory that may come from elsewhere")
    by = memory.freeing(op)
    low.host(lambda context, base: context.free(by, base), [low.place(op.operands[0]).base], [])


def dimension(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of memref.dim with a constant index."""
    owner: Any = getattr(op.operands[1], "owner", None)
    source = op.operands[0]
    if not isinstance(source.type, ty.MemRefType) or owner is None or owner.name != "arith.constant":
        raise NotCompiled(f"'{op.name}' of a dimension that is not known")
    number, sizes = owner.properties["value"].value, low.place(source).sizes
    if not 0 <= number < len(sizes):
        raise NotCompiled(f"'{op.name}' outside of the rank")
    low.put(op, sizes[number])


# --- ops --------------------------------------------------------------------------------------------------------------

memref = d.Dialect("memref")

# --- constraints ------------------------------------------------------------------------------------------------------


def _ranked(description: str, accepts: Callable[[ty.MemRefType], bool]) -> d.TypeConstraint:
    """Return the constraint of ranked memrefs for which ``accepts`` holds."""
    return d.TypeConstraint(
        description,
        lambda type_: isinstance(type_, ty.MemRefType) and type_.shape is not None and accepts(type_),
        d.MEMREF_KIND,
    )


def _is_number(type_: ty.Type) -> bool:
    return isinstance(type_, ty.FloatType) or ty.is_signless(type_)


def _is_shape(type_: ty.Type) -> bool:
    return isinstance(type_, ty.IndexType) or ty.is_signless(type_)


MEMREF = _ranked("memref of any type values", lambda type_: True)
_STRIDED = _ranked("strided memref of any type values", is_strided)
_BASE = _ranked("strided memref of any type values of rank 0", lambda type_: type_.shape == ())
_LIST = _ranked("1D memref of any type values", lambda type_: len(type_.shape or ()) == 1)
_SHAPE = _ranked(
    "1D memref of signless integer or index values",
    lambda type_: len(type_.shape or ()) == 1 and _is_shape(type_.element),
)
_BYTES = _ranked(
    "1D memref of 8-bit signless integer values",
    lambda type_: len(type_.shape or ()) == 1 and type_.element == ty.IntegerType(8),
)
_NUMBERS = _ranked("memref of signless integer or floating-point values", lambda type_: _is_number(type_.element))
_NUMBER = d.TypeConstraint("signless integer or floating-point", _is_number)
_WITH_DIMENSIONS = d.TypeConstraint(
    "unranked.memref of any type values or non-0-ranked.memref of any type values",
    lambda type_: isinstance(type_, ty.MemRefType) and type_.shape != (),
)
ANY_MEMREF = d.TypeConstraint("ranked or unranked memref of any type values", lambda t: isinstance(t, ty.MemRefType))

_MEMREF_TYPE_ATTR = d.AttributeConstraint(
    "memref type attribute",
    lambda attribute: isinstance(attribute, at.TypeAttr) and d.MEMREF_KIND.accepts(attribute.type),
)


def _numbers(description: str, type_: ty.Type, accepts: Callable[[int], bool]) -> d.AttributeConstraint:
    return d.AttributeConstraint(
        description,
        lambda attribute: (
            isinstance(attribute, at.IntegerAttr) and attribute.type == type_ and accepts(attribute.value)
        ),
    )


_ALIGNMENT_ATTR = _numbers(
    "64-bit signless integer attribute whose value is positive and whose value is a power of two > 0",
    ty.I64,
    lambda number: number > 0 and not number & (number - 1),
)
_POSITIVE_ATTR = _numbers(
    "32-bit signless integer attribute whose value is positive", ty.I32, lambda number: number > 0
)
_LOCALITY_ATTR = _numbers(
    "32-bit signless integer attribute whose minimum value is 0 whose maximum value is 3",
    ty.I32,
    lambda number: 0 <= number <= 3,
)

INDICES = d.variadic("indices", d.INDEX)
_RESULTS = d.variadic("results", d.ANY)
ALIGNMENT = d.Property("alignment", _ALIGNMENT_ATTR, optional=True)


def _element_of(name: str, source: str) -> d.TypeRule:
    what = "result type" if name == "result" else f"type of '{name}'"
    message = f"failed to verify that {what} matches element type of '{source}'"
    return d.derived_type(name, source, ty.element_type, message)


def _view(build: Callable[[Any, Any], Any], described: Words | None = None) -> OnValues:
    return OnValues(build, raw=True, in_lanes=in_lanes.view(build), words=described)


# --- memory -----------------------------------------------------------------------------------------------------------


def _alloc(mnemonic: str, verify: Callable[[Any], str | None]) -> d.OpDefinition:
    return memref.op(
        mnemonic,
        "`(` $dynamicSizes `)` (`` `[` $symbolOperands^ `]`)? newer(`alignment` `=` $alignment) attr-dict "
        "`:` type($memref)",
        operands=(d.variadic("dynamicSizes", d.INDEX), d.variadic("symbolOperands", d.INDEX)),
        results={"memref": MEMREF},
        properties=(ALIGNMENT,),
        traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
        verify=verify,
        named_results=(mnemonic,),
        evaluate=OnValues(memory.allocate, raw=True, in_lanes=in_lanes.allocate, words=allocate),
    )


_alloc("alloc", rules.verify_alloc)
_alloc("alloca", rules.verify_alloca)
memref.op(
    "alloca_scope",
    custom=forms.ALLOCA_SCOPE,
    results=(_RESULTS,),
    regions=(d.RegionSlot("bodyRegion"),),
    traits=(d.Trait.SINGLE_BLOCK,),
    implicit_terminator="memref.alloca_scope.return",
    verify=rules.verify_alloca_scope,
    verify_regions=rules.verify_alloca_scope_regions,
    evaluate=OnFrames(memory.scope),
)
declare_yield(memref, "alloca_scope.return", "results", verify=rules.verify_alloca_scope_return)
memref.op(
    "realloc",
    "$source (`(` $dynamicResultSize^ `)`)? newer(`alignment` `=` $alignment) attr-dict `:` type($source) `to` "
    "type($result)",
    operands=(d.Slot("source", _LIST), d.optional("dynamicResultSize", d.INDEX)),
    results={"result": _LIST},
    properties=(ALIGNMENT,),
    verify=rules.verify_realloc,
    evaluate=OnValues(memory.reallocate, raw=True, words=refused),
)
memref.op(
    "dealloc",
    "$memref attr-dict `:` type($memref)",
    operands={"memref": ANY_MEMREF},
    evaluate=OnValues(memory.free, raw=True, in_lanes=in_lanes.free, words=free),
)
memref.op(
    "global",
    custom=forms.GLOBAL,
    properties=(
        ALIGNMENT,
        d.Property("constant", d.UNIT_ATTR, optional=True),
        d.Property("initial_value", d.ANY_ATTR, optional=True),
        d.Property("sym_name", d.STRING_ATTR),
        d.Property("sym_visibility", d.STRING_ATTR, optional=True),
        d.Property("type", _MEMREF_TYPE_ATTR),
    ),
    traits=(d.Trait.SYMBOL,),
    verify=rules.verify_global,
)
memref.op(
    "get_global",
    "$name `:` type($result) attr-dict",
    results={"result": MEMREF},
    properties=(d.Property("name", d.FLAT_SYMBOL_REF_ATTR),),
    verify_symbols=rules.verify_get_global,
    evaluate=OnValues(
        memory.get,
        raw=True,
        of_module=True,
        in_lanes=in_lanes.global_memory,
    ),
)
memref.op(
    "assume_alignment",
    "$memref `,` $alignment attr-dict `:` type($memref)",
    operands={"memref": MEMREF},
    results={"result": MEMREF},
    properties=(d.Property("alignment", _POSITIVE_ATTR),),
    type_rules=(d.same_type("memref", "result"),),
    verify=rules.verify_assume_alignment,
    named_results=("assume_align",),
    evaluate=_view(memory.assume_alignment),
)
memref.op(
    "distinct_objects",
    "$operands attr-dict `:` type($operands)",
    operands=(d.variadic("operands", MEMREF),),
    results=(d.variadic("results", MEMREF),),
    type_rules=(d.same_type("operands", "results", message="operand types and result types must match"),),
    verify=rules.verify_distinct_objects,
    evaluate=OnValues(memory.distinct, raw=True),
)

# --- elements ---------------------------------------------------------------------------------------------------------

_FALSE = at.IntegerAttr(0, ty.I1)
ACCESS_PROPERTIES = (
    ALIGNMENT,
    d.Property("nontemporal", d.BOOL_ATTR, optional=True, elided=_FALSE),
)
_LOAD_PROPERTIES = (
    *ACCESS_PROPERTIES,
    d.Property("invariant", d.BOOL_ATTR, optional=True, elided=_FALSE, since=d.Schema.LLVM24),
)


def _clauses(properties: tuple[d.Property, ...]) -> str:
    return f"newer({' | '.join(f'`{prop.name}` `(` ${prop.name} `)`' for prop in properties)})"


memref.op(
    "load",
    f"$memref `[` $indices `]` {_clauses(_LOAD_PROPERTIES)} attr-dict `:` type($memref)",
    operands=(d.Slot("memref", MEMREF), INDICES),
    results={"result": d.ANY},
    properties=_LOAD_PROPERTIES,
    type_rules=(_element_of("result", "memref"),),
    verify=rules.verify_indices(0, "incorrect number of indices for load"),
    evaluate=OnValues(evaluate.load, raw=True, in_lanes=in_lanes.load, words=load),
)
memref.op(
    "store",
    f"$value `,` $memref `[` $indices `]` {_clauses(ACCESS_PROPERTIES)} attr-dict `:` type($memref)",
    operands=(d.Slot("value", d.ANY), d.Slot("memref", MEMREF), INDICES),
    properties=ACCESS_PROPERTIES,
    type_rules=(_element_of("value", "memref"),),
    verify=rules.verify_indices(1, "store index operand count not equal to memref rank"),
    evaluate=OnValues(evaluate.store, raw=True, in_lanes=in_lanes.store, words=store),
)
memref.op(
    "prefetch",
    custom=forms.PREFETCH,
    operands=(d.Slot("memref", MEMREF), INDICES),
    properties=(
        d.Property("isDataCache", d.BOOL_ATTR),
        d.Property("isWrite", d.BOOL_ATTR),
        d.Property("localityHint", _LOCALITY_ATTR),
    ),
    verify=rules.verify_prefetch,
    evaluate=OnValues(evaluate.prefetch, raw=True),
)
memref.op(
    "atomic_rmw",
    "$kind $value `,` $memref `[` $indices `]` attr-dict `:` `(` type($value) `,` type($memref) `)` `->` type($result)",
    operands=(d.Slot("value", _NUMBER), d.Slot("memref", _NUMBERS), INDICES),
    results={"result": _NUMBER},
    properties=(d.Property("kind", ATOMIC_KIND),),
    type_rules=(
        d.same_type("value", "result"),
        d.derived_type(
            "value", "memref", ty.element_type, "failed to verify that value type matches element type of memref"
        ),
    ),
    verify=rules.verify_atomic,
    evaluate=OnValues(combine, raw=True),
)
memref.op(
    "generic_atomic_rmw",
    "$memref `[` $indices `]` `:` type($memref) $atomic_body attr-dict",
    operands=(d.Slot("memref", _NUMBERS), INDICES),
    results={"result": _NUMBER},
    regions=(d.RegionSlot("atomic_body"),),
    type_rules=(
        d.derived_type(
            "result", "memref", ty.element_type, "failed to verify that result type matches element type of memref"
        ),
    ),
    verify_regions=rules.verify_generic_atomic,
    evaluate=OnFrames(apply),
)
memref.op(
    "atomic_yield",
    "$result attr-dict `:` type($result)",
    operands={"result": d.ANY},
    traits=(d.Trait.TERMINATOR,),
    verify=rules.verify_atomic_yield,
    evaluate=OnFrames(yielded),
)

# --- copies -----------------------------------------------------------------------------------------------------------

memref.op(
    "copy",
    "$source `,` $target attr-dict `:` type($source) `to` type($target)",
    operands={"source": ANY_MEMREF, "target": ANY_MEMREF},
    verify=rules.verify_copy,
    evaluate=OnValues(evaluate.copy, raw=True),
)
memref.op(
    "dma_start",
    custom=forms.DMA_START,
    operands=(d.variadic("operands", d.ANY),),
    verify=rules.verify_dma_start,
)
memref.op(
    "dma_wait",
    "$tagMemRef `[` $tagIndices `]` `,` $numElements attr-dict `:` type($tagMemRef)",
    operands=(d.Slot("tagMemRef", MEMREF), d.variadic("tagIndices", d.INDEX), d.Slot("numElements", d.INDEX)),
    verify=rules.verify_dma_wait,
)

# --- shapes and addresses ---------------------------------------------------------------------------------------------

memref.op(
    "dim",
    "attr-dict $source `,` $index `:` type($source)",
    operands=(d.Slot("source", _WITH_DIMENSIONS), d.Slot("index", d.INDEX)),
    results={"result": d.INDEX},
    named_results=("dim",),
    evaluate=_view(views.dimension, dimension),
)
memref.op(
    "rank",
    "$memref attr-dict `:` type($memref)",
    operands={"memref": ANY_MEMREF},
    results={"result": d.INDEX},
    evaluate=_view(views.rank),
)
memref.op(
    "extract_aligned_pointer_as_index",
    "$source `:` type($source) `->` type($aligned_pointer) attr-dict",
    operands={"source": ANY_MEMREF},
    results={"aligned_pointer": d.INDEX},
    named_results=("intptr",),
    evaluate=OnValues(memory.address, raw=True),
)
memref.op(
    "extract_strided_metadata",
    "$source `:` type($source) `->` type(results) attr-dict",
    operands={"source": _STRIDED},
    results=(
        d.Slot("base_buffer", _BASE),
        d.Slot("offset", d.INDEX),
        d.variadic("sizes", d.INDEX),
        d.variadic("strides", d.INDEX),
    ),
    verify=rules.verify_metadata,
    named_results=views.names_of_metadata,
    evaluate=_view(views.metadata),
)

# --- views ------------------------------------------------------------------------------------------------------------

for _name, _printed, _verify in (
    ("cast", "cast", rules.verify_cast),
    ("memory_space_cast", "memspacecast", rules.verify_space_cast),
):
    memref.op(
        _name,
        "$source attr-dict `:` type($source) `to` type($dest)",
        operands={"source": ANY_MEMREF},
        results={"dest": ANY_MEMREF},
        verify=_verify,
        named_results=(_printed,),
        evaluate=_view(views.cast),
    )
memref.op(
    "subview",
    f"$source `` {FORM} attr-dict `:` type($source) `to` type($result)",
    operands=(d.Slot("source", MEMREF), *OPERANDS),
    results={"result": MEMREF},
    properties=PROPERTIES,
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=rules.verify_subview,
    named_results=("subview",),
    evaluate=_view(views.subview),
)
memref.op(
    "reinterpret_cast",
    "$source `to` `offset` `` `:` custom<DynamicIndexList>($offsets, $static_offsets) `` `,` `sizes` `` `:` "
    "custom<DynamicIndexList>($sizes, $static_sizes) `` `,` `strides` `` `:` "
    "custom<DynamicIndexList>($strides, $static_strides) attr-dict `:` type($source) `to` type($result)",
    operands=(d.Slot("source", ANY_MEMREF), *OPERANDS),
    results={"result": MEMREF},
    properties=PROPERTIES,
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=rules.verify_reinterpret_cast,
    named_results=("reinterpret_cast",),
    evaluate=_view(views.reinterpret),
)
memref.op(
    "reshape",
    "$source `(` $shape `)` attr-dict `:` functional-type(operands, results)",
    operands={"source": ANY_MEMREF, "shape": _SHAPE},
    results={"result": ANY_MEMREF},
    verify=rules.verify_reshape,
    named_results=("reshape",),
    evaluate=OnValues(views.reshape, raw=True),
)
memref.op(
    "expand_shape",
    "$src $reassociation `output_shape` custom<DynamicIndexList>($output_shape, $static_output_shape) attr-dict "
    "`:` type($src) `into` type($result)",
    operands=(d.Slot("src", _STRIDED), d.variadic("output_shape", d.INDEX)),
    results={"result": _STRIDED},
    properties=(
        d.Property("reassociation", REASSOCIATION_ATTR),
        d.Property("static_output_shape", d.INTEGER_64_ARRAY_ATTR),
    ),
    verify=rules.verify_expand,
    named_results=("expand_shape",),
    evaluate=_view(views.expand),
)
memref.op(
    "collapse_shape",
    "$src $reassociation attr-dict `:` type($src) `into` type($result)",
    operands={"src": _STRIDED},
    results={"result": _STRIDED},
    properties=(d.Property("reassociation", REASSOCIATION_ATTR),),
    verify=rules.verify_collapse,
    named_results=("collapse_shape",),
    evaluate=_view(views.collapse),
)
memref.op(
    "transpose",
    custom=forms.TRANSPOSE,
    operands={"in": _STRIDED},
    results={"result": _STRIDED},
    properties=(d.Property("permutation", d.AFFINE_MAP_ATTR),),
    verify=rules.verify_transpose,
    named_results=("transpose",),
    evaluate=_view(views.transpose),
)
memref.op(
    "view",
    "$source `[` $byte_shift `]` `` `[` $sizes `]` attr-dict `:` type($source) `to` type($result)",
    operands=(d.Slot("source", _BYTES), d.Slot("byte_shift", d.INDEX), d.variadic("sizes", d.INDEX)),
    results={"result": MEMREF},
    verify=rules.verify_view,
    named_results=("view",),
    evaluate=OnValues(views.view, raw=True),
)
