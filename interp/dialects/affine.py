"""The affine dialect: ``affine.apply``, whose result is an affine expression of indices."""

from __future__ import annotations

from halfulp.interp.attributes import AffineMapAttr
from halfulp.interp.dialect import Arity, Dialect, Property, Slot
from halfulp.interp.dialects import constraints as c
from halfulp.interp.ir import Operation
from halfulp.interp.text.tiles import apply_parser, print_apply

affine = Dialect("affine", partial=True)


def _verify(op: Operation) -> str | None:
    map = op.properties["map"]
    assert isinstance(map, AffineMapAttr)
    if len(op.operands) != map.dimensions + map.symbols:
        return "operand count and affine map dimension and symbol count must match"
    return None if len(map.results) == 1 else "mapping must produce one value"


affine.op(
    "apply",
    custom=(apply_parser, print_apply),
    operands=(Slot("mapOperands", c.INDEX, Arity.VARIADIC),),
    results={"result": c.INDEX},
    properties=(Property("map", c.AFFINE_MAP_ATTR),),
    verify=_verify,
)
