"""The affine dialect (`AffineOps.td`): loops, conditions and memory whose indices are affine expressions."""

from __future__ import annotations

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Arity, AttributeConstraint, Dialect, Property, RegionSlot, Slot, Trait
from halfulp.interp.dialects.affine import access, choices, dma, indexing, loops, parallel, vector_access, words
from halfulp.interp.dialects.affine.forms import APPLY, EXTREME
from halfulp.interp.dialects.affine.formulas import apply_kernel, formula_of
from halfulp.interp.dialects.affine.symbols import dimension_as_symbol
from halfulp.interp.dialects.atomic_kinds import ATOMIC_KIND
from halfulp.interp.dialects.memref.ops import MEMREF
from halfulp.interp.dialects.regions import yielded
from halfulp.interp.ir.attributes import AffineMapAttr, ArrayAttr, DenseElementsAttr, IntegerAttr, UnitAttr
from halfulp.interp.ir.errors import VerifyError
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import I32
from halfulp.interp.run.evaluators import Elementwise, OnFrames, OnValues
from halfulp.interp.run.settings import Settings
from halfulp.semantics.kernel import Kernel

affine = Dialect("affine")


_GROUPS = AttributeConstraint(
    "32-bit signless integer elements attribute",
    lambda attribute: isinstance(attribute, DenseElementsAttr) and attribute.type.element == I32,
)
_INTEGERS = AttributeConstraint(
    "64-bit integer array attribute",
    lambda attribute: isinstance(attribute, ArrayAttr) and all(map(c.INTEGER_64_ATTR.accepts, attribute.elements)),
)
_REDUCTIONS = AttributeConstraint(
    "Reduction ops",
    lambda attribute: isinstance(attribute, ArrayAttr) and all(map(ATOMIC_KIND.accepts, attribute.elements)),
)
_LOCALITY = AttributeConstraint(
    "32-bit signless integer attribute whose minimum value is 0 whose maximum value is 3",
    lambda attribute: isinstance(attribute, IntegerAttr) and attribute.type == I32 and 0 <= attribute.value <= 3,
)
_FLAG = AttributeConstraint(
    "unit attribute", lambda attribute: isinstance(attribute, UnitAttr) or c.BOOL_ATTR.accepts(attribute)
)


def _apply(op: Operation, settings: Settings) -> Kernel:
    map_ = op.properties["map"]
    assert isinstance(map_, AffineMapAttr)
    return apply_kernel(formula_of(map_, map_.results[0], settings), settings.index_width)


def _verify(op: Operation) -> str | None:
    map = op.properties["map"]
    assert isinstance(map, AffineMapAttr)
    if len(op.operands) != map.dimensions + map.symbols:
        return "operand count and affine map dimension and symbol count must match"
    if len(map.results) != 1:
        return "mapping must produce one value"
    if any(dimension_as_symbol(symbol) for symbol in op.operands[map.dimensions :]):
        raise VerifyError(
            "dimensional operand cannot be used as a symbol", location=op.position or op.location, op=op.name
        )
    return None


affine.op(
    "apply",
    custom=APPLY,
    operands=(Slot("mapOperands", c.INDEX, Arity.VARIADIC),),
    results={"result": c.INDEX},
    properties=(Property("map", c.AFFINE_MAP_ATTR),),
    verify=_verify,
    evaluate=Elementwise(_apply),
)
for _name, _smallest in (("min", True), ("max", False)):
    affine.op(
        _name,
        custom=EXTREME,
        operands=(Slot("operands", c.INDEX, Arity.VARIADIC),),
        results={"result": c.INDEX},
        properties=(Property("map", c.AFFINE_MAP_ATTR),),
        verify=choices.verify_map,
        evaluate=Elementwise(choices.extreme(_smallest)),
    )
affine.op(
    "load",
    custom=access.FORM,
    operands=(Slot("memref", MEMREF), Slot("indices", c.INDEX, Arity.VARIADIC)),
    results={"result": c.ANY},
    properties=(Property("map", c.AFFINE_MAP_ATTR),),
    verify=access.verify,
    evaluate=OnValues(access.load, raw=True, words=words.memory),
)
affine.op(
    "store",
    custom=access.FORM,
    operands=(Slot("value", c.ANY), Slot("memref", MEMREF), Slot("indices", c.INDEX, Arity.VARIADIC)),
    properties=(Property("map", c.AFFINE_MAP_ATTR),),
    verify=access.verify,
    evaluate=OnValues(access.store, raw=True, words=words.memory),
)
affine.op(
    "for",
    custom=loops.FORM,
    operands=(
        Slot("lowerBoundOperands", c.INDEX, Arity.VARIADIC),
        Slot("upperBoundOperands", c.INDEX, Arity.VARIADIC),
        Slot("inits", c.ANY, Arity.VARIADIC),
    ),
    results=(Slot("results", c.ANY, Arity.VARIADIC),),
    properties=(
        Property("lowerBoundMap", c.AFFINE_MAP_ATTR),
        Property("step", c.INDEX_ATTR),
        Property("upperBoundMap", c.AFFINE_MAP_ATTR),
    ),
    regions=(RegionSlot("region"),),
    traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=loops.verify,
    verify_regions=loops.verify_body,
    implicit_terminator="affine.yield",
    evaluate=OnFrames(loops.evaluate, alone=True, words=words.loop),
)
affine.op(
    "if",
    custom=choices.FORM,
    operands=(Slot("operands", c.INDEX, Arity.VARIADIC),),
    results=(Slot("results", c.ANY, Arity.VARIADIC),),
    properties=(Property("condition", c.INTEGER_SET_ATTR),),
    regions=(RegionSlot("thenRegion"), RegionSlot("elseRegion")),
    verify=choices.verify_if,
    implicit_terminator="affine.yield",
    evaluate=OnFrames(choices.choose, alone=True, words=words.choice),
)
affine.op(
    "yield",
    "attr-dict ($operands^ `:` type($operands))?",
    operands=(Slot("operands", c.ANY, Arity.VARIADIC),),
    traits=(Trait.TERMINATOR, Trait.RETURN_LIKE),
    verify=parallel.verify_yield,
    evaluate=OnFrames(yielded, words=words.yielded),
)
affine.op(
    "parallel",
    custom=parallel.FORM,
    operands=(Slot("mapOperands", c.INDEX, Arity.VARIADIC),),
    results=(Slot("results", c.ANY, Arity.VARIADIC),),
    properties=(
        Property("lowerBoundsGroups", _GROUPS),
        Property("lowerBoundsMap", c.AFFINE_MAP_ATTR),
        Property("reductions", _REDUCTIONS),
        Property("steps", _INTEGERS),
        Property("upperBoundsGroups", _GROUPS),
        Property("upperBoundsMap", c.AFFINE_MAP_ATTR),
    ),
    regions=(RegionSlot("region"),),
    traits=(Trait.SINGLE_BLOCK,),
    verify=parallel.verify,
    implicit_terminator="affine.yield",
    evaluate=OnFrames(parallel.evaluate, alone=True),
)

# --- vectors and hints ------------------------------------------------------------------------------------------------

_INDICES = Slot("indices", c.INDEX, Arity.VARIADIC)
_MAP = Property("map", c.AFFINE_MAP_ATTR)
affine.op(
    "vector_load",
    custom=vector_access.FORM,
    operands=(Slot("memref", MEMREF), _INDICES),
    results={"result": c.VECTOR},
    properties=(_MAP,),
    verify=vector_access.verify,
    evaluate=OnValues(vector_access.load, raw=True),
)
affine.op(
    "vector_store",
    custom=vector_access.FORM,
    operands=(Slot("value", c.VECTOR), Slot("memref", MEMREF), _INDICES),
    properties=(_MAP,),
    verify=vector_access.verify,
    evaluate=OnValues(vector_access.store, raw=True),
)
affine.op(
    "prefetch",
    custom=vector_access.PREFETCH,
    operands=(Slot("memref", MEMREF), _INDICES),
    properties=(
        Property("isDataCache", c.BOOL_ATTR),
        Property("isWrite", c.BOOL_ATTR),
        Property("localityHint", _LOCALITY),
        _MAP,
    ),
    verify=vector_access.verify_prefetch,
    evaluate=OnValues(vector_access.prefetch, raw=True),
)
affine.op(
    "dma_start",
    custom=dma.START,
    operands=(Slot("operands", c.ANY, Arity.VARIADIC),),
    verify=dma.verify_start,
)
affine.op(
    "dma_wait",
    custom=dma.WAIT,
    operands=(Slot("operands", c.ANY, Arity.VARIADIC),),
    verify=dma.verify_wait,
)

# --- digits -----------------------------------------------------------------------------------------------------------

affine.op(
    "linearize_index",
    custom=indexing.LINEARIZE,
    operands=(Slot("multi_index", c.INDEX, Arity.VARIADIC), Slot("dynamic_basis", c.INDEX, Arity.VARIADIC)),
    results={"linear_index": c.INDEX},
    properties=(
        Property("disjoint", _FLAG, optional=True, flag=True),
        Property("static_basis", c.INTEGER_64_ARRAY_ATTR),
    ),
    traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=indexing.verify_linearize,
    evaluate=OnValues(indexing.linearize),
)
affine.op(
    "delinearize_index",
    custom=indexing.DELINEARIZE,
    operands=(Slot("linear_index", c.INDEX), Slot("dynamic_basis", c.INDEX, Arity.VARIADIC)),
    results=(Slot("multi_index", c.INDEX, Arity.VARIADIC),),
    properties=(Property("static_basis", c.INTEGER_64_ARRAY_ATTR),),
    verify=indexing.verify_delinearize,
    evaluate=OnValues(indexing.delinearize),
)
