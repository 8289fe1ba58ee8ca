"""The linalg dialect (`LinalgOps.td`, `LinalgStructuredOps.td`): computations over an iteration space."""

from __future__ import annotations

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Arity, Property, Slot, Trait
from halfulp.interp.dialects.linalg import rules
from halfulp.interp.dialects.linalg.declaring import ITERATOR_TYPE, ITERATOR_TYPES_ATTR, linalg, structured
from halfulp.interp.dialects.linalg.evaluate import INDEX, YIELD
from halfulp.interp.dialects.linalg.forms import generic_form, named_form, yielding
from halfulp.interp.dialects.linalg.moving_ops import declare_moving_ops
from halfulp.interp.dialects.linalg.named_ops import declare_named_ops
from halfulp.interp.dialects.linalg.relayout import declare_relayouts
from halfulp.interp.dialects.linalg.softmax import declare_softmax
from halfulp.interp.dialects.linalg.structure import PARALLEL, written_iterators, written_maps
from halfulp.interp.dialects.linalg.winograd import declare_winograd
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.operations import Block, Operation
from halfulp.interp.text.op_parser import OpParser

# --- fill -------------------------------------------------------------------------------------------------------------


def _fill_body(p: OpParser, op: Operation, block: Block) -> None:
    yielding(p, block, block.arguments[:1])


def _fill_maps(op: Operation) -> tuple[at.AffineMapAttr, ...]:
    rank = len(ty.shape_of(op.operands[1].type) or ())
    return (
        at.AffineMapAttr(rank, 0, ()),
        at.AffineMapAttr(rank, 0, tuple(Dimension(position) for position in range(rank))),
    )


def _fill_iterators(op: Operation) -> tuple[int, ...]:
    return (PARALLEL,) * len(ty.shape_of(op.operands[1].type) or ())


# --- declarations -----------------------------------------------------------------------------------------------------

structured(
    "generic",
    (written_maps, written_iterators),
    generic_form(ITERATOR_TYPE),
    properties=(
        Property("doc", c.STRING_ATTR, optional=True),
        Property("indexing_maps", c.AFFINE_MAP_ARRAY_ATTR),
        Property("iterator_types", ITERATOR_TYPES_ATTR),
        Property("library_call", c.STRING_ATTR, optional=True),
    ),
)
structured("fill", (_fill_maps, _fill_iterators), named_form(_fill_body, 2), verify=rules.verify_fill)
linalg.op(
    "yield",
    "($values^)? attr-dict (`:` type($values)^)?",
    operands=(Slot("values", c.ANY, Arity.VARIADIC),),
    traits=(Trait.TERMINATOR, Trait.RETURN_LIKE),
    verify=rules.verify_yield,
    evaluate=YIELD,
)
linalg.op(
    "index",
    "$dim attr-dict `:` type($result)",
    results={"result": c.INDEX},
    properties=(Property("dim", c.NON_NEGATIVE_ATTR),),
    verify=rules.verify_index,
    evaluate=INDEX,
)
declare_named_ops()
declare_moving_ops()
declare_relayouts()
declare_softmax()
declare_winograd()
