"""Groups of neighbouring dimensions that `expand_shape` splits and `collapse_shape` joins, of tensors and memrefs."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from halfulp.interp.declare.declarations import AttributeConstraint
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import Attribute
from halfulp.interp.ir.operations import Operation

Groups = tuple[tuple[int, ...], ...]
Shape = Sequence[int | None]


def _is_list_of_lists(attribute: Attribute) -> bool:
    return isinstance(attribute, at.ArrayAttr) and all(
        isinstance(group, at.ArrayAttr)
        and all(isinstance(axis, at.IntegerAttr) and axis.type == ty.I64 for axis in group.elements)
        for group in attribute.elements
    )


REASSOCIATION_ATTR = AttributeConstraint("Array of 64-bit integer array attributes", _is_list_of_lists)


def groups_of(op: Operation) -> Groups:
    """Return the numbers of the expanded dimensions that each collapsed dimension stands for."""
    written = op.properties["reassociation"]
    assert isinstance(written, at.ArrayAttr)
    found = []
    for group in written.elements:
        assert isinstance(group, at.ArrayAttr)
        found.append(tuple(axis.value for axis in group.elements if isinstance(axis, at.IntegerAttr)))
    return tuple(found)


def verify_groups(expanded: Shape, collapsed: Shape, groups: Groups) -> str | None:
    """Say why groups do not relate two ranks, in the words of MLIR, or None."""
    if len(groups) != len(collapsed):
        return f"expected collapsed rank ({len(collapsed)}) to equal the number of reassociation maps ({len(groups)})."
    following = 0
    for number, group in enumerate(groups):
        for axis in group:
            if axis != following:
                return f"expected reassociation map #{number} to be valid and contiguous."
            following += 1
    if groups and following != len(expanded):
        return (
            f"expected reassociation map #0 to have size equal to the expanded rank ({len(expanded)}), "
            f"but it is  {following}."
        )
    return None


def collapsed_shape(expanded: Shape, groups: Groups) -> tuple[int | None, ...]:
    """Return the sizes of joined dimensions: None where one of the joined is None."""
    found: list[int | None] = []
    for group in groups:
        sizes = [expanded[axis] for axis in group]
        known = [size for size in sizes if size is not None]
        found.append(prod(known) if len(known) == len(sizes) else None)
    return tuple(found)


def verify_sizes(expanded: Shape, collapsed: Shape, groups: Groups) -> str | None:
    """Say why the size of a dimension is not that of its group, in the words of MLIR, or None."""
    for number, (size, wanted) in enumerate(zip(collapsed, collapsed_shape(expanded, groups), strict=True)):
        if size == wanted:
            continue
        if wanted is None:
            return (
                f"expected dimension {number} of collapsed type to be dynamic since one or more of the corresponding "
                "dimensions in the expanded type is dynamic"
            )
        return f"expected dimension {number} of collapsed type to be static value of {wanted}"
    return None
