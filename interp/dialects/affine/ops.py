"""The affine dialect (`AffineOps.td`): loops, conditions and memory whose indices are affine expressions."""

from __future__ import annotations

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Arity, Dialect, Property, RegionSlot, Slot, Trait
from halfulp.interp.dialects.affine import access, choices, loops
from halfulp.interp.dialects.affine.forms import APPLY, EXTREME
from halfulp.interp.dialects.affine.formulas import apply_kernel, formula_of
from halfulp.interp.dialects.affine.symbols import dimension_as_symbol
from halfulp.interp.dialects.memref.ops import MEMREF
from halfulp.interp.dialects.regions import alone, yielded
from halfulp.interp.ir.attributes import AffineMapAttr
from halfulp.interp.ir.errors import VerifyError
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Control, Elementwise, Pure
from halfulp.interp.run.settings import Settings
from halfulp.semantics.kernel import Kernel

affine = Dialect("affine", partial=True)


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
    evaluate=Pure(access.load, raw=True),
)
affine.op(
    "store",
    custom=access.FORM,
    operands=(Slot("value", c.ANY), Slot("memref", MEMREF), Slot("indices", c.INDEX, Arity.VARIADIC)),
    properties=(Property("map", c.AFFINE_MAP_ATTR),),
    verify=access.verify,
    evaluate=Pure(access.store, raw=True),
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
    evaluate=Control(loops.evaluate, in_lanes=alone),
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
    evaluate=Control(choices.choose, in_lanes=alone),
)
affine.op(
    "yield",
    "attr-dict ($operands^ `:` type($operands))?",
    operands=(Slot("operands", c.ANY, Arity.VARIADIC),),
    traits=(Trait.TERMINATOR, Trait.RETURN_LIKE),
    evaluate=Control(yielded),
)
