"""The op ragged_dot of chlo: a product of matrices in which one dimension is divided into groups
(`dialect/ChloOps.td`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.elements import made, picked, replaced
from halfulp.interp.dialects.stablehlo.attributes import PRECISION, attribute_of, fields, lists
from halfulp.interp.dialects.stablehlo.chlo import EVERY, any_shape, chlo, enum_of_chlo
from halfulp.interp.dialects.stablehlo.loops import CompiledLoops, with_body, zeros
from halfulp.interp.dialects.stablehlo.moving import signed_numbers
from halfulp.interp.dialects.stablehlo.reducing import (
    loops_of_dot,
    not_shaped,
    verify_dimensions_of_dot,
    verify_precision,
)
from halfulp.interp.dialects.stablehlo.types import INTEGER_TENSOR, operand_types, sizes_fit
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, SSAValue, undefined
from halfulp.interp.run.evaluators import Compiler
from halfulp.interp.run.frames import Run
from halfulp.interp.values.value import Value

_PRECISION = enum_of_chlo("precision", PRECISION)
_RAGGED = fields(
    "ragged_dot",
    *lists(
        "lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
        "rhs_contracting_dimensions", "lhs_ragged_dimensions", "rhs_group_dimensions",
    ),
    dialect=chlo,
)  # fmt: skip


def _verify_group_sizes(expected: Sequence[int | None], given: Sequence[int | None]) -> Unprefixed | None:
    """Check the shape of the sizes of groups. ``expected``: the sizes in front of the last one, if there are any."""
    if len(given) == 1:
        return None
    if len(given) != len(expected) + 1:
        return Unprefixed(f"expected group_sizes to have rank {len(expected) + 1}, got {len(given)}")
    if list(given[:-1]) != list(expected):
        wanted, got = (", ".join(map(str, sizes)) for sizes in ((*expected, given[-1]), given))
        return Unprefixed(f"group_sizes is expected to have shape [{wanted}], got [{got}]")
    return None


def _free(rank: int, *taken: int) -> list[int]:
    return [dim for dim in range(rank) if dim not in taken]


def _in_front(axis: int, batching: Sequence[int], contracting: Sequence[int], free: Sequence[int]) -> Sequence[int]:
    """Return the dimensions of the left side for each index of which the groups may have other sizes."""
    every = batching if axis in batching else (*batching, *(contracting if axis in contracting else free))
    return every[: every.index(axis)]


def _verify_ragged_dot(op: Operation) -> str | None:
    numbers: Any = op.properties["ragged_dot_dimension_numbers"]
    batching = numbers["lhs_batching_dimensions"], numbers["rhs_batching_dimensions"]
    contracting = numbers["lhs_contracting_dimensions"], numbers["rhs_contracting_dimensions"]
    left, right, sizes = (ty.shape_of(type_) or () for type_ in operand_types(op))
    found = verify_precision(op) or verify_dimensions_of_dot((left, right), batching, contracting)
    if found is not None:
        return found
    ragged, grouped = numbers["lhs_ragged_dimensions"], numbers["rhs_group_dimensions"]
    if len(ragged) != 1:
        return Unprefixed("There must be exactly one ragged dimension in the lhs.")
    (axis,) = ragged
    if not 0 <= axis < len(left):
        return Unprefixed(f"Expects lhs_ragged_dim to be in range [0, lhs_rank) i.e. [0, {len(left)}). got: {axis}.")
    free = _free(len(left), *batching[0], *contracting[0])
    found = _verify_group_sizes([left[dim] for dim in _in_front(axis, batching[0], contracting[0], free)], sizes)
    if found is not None:
        return found
    for dim in grouped:
        if not 0 <= dim < len(right):
            return Unprefixed(f"Expects rhs_group_dim to be in range [0, rhs_rank) i.e. [0, {len(right)}). got: {dim}.")
    for name, others in (("batching", batching[1]), ("contracting", contracting[1])):
        for place, dim in enumerate(every := (*grouped, *others)):
            if dim in every[:place]:
                return Unprefixed(
                    f"has duplicated dimension from rhs_group_dimensions and rhs_{name}_dimensions: {dim}"
                )
    if axis not in free and grouped:
        return Unprefixed(
            "There must be zero group dimensions in the rhs when the ragged dimension is batch or contracting."
        )
    if axis in free and len(grouped) != 1:
        return Unprefixed(
            "There must be exactly one group dimension in the rhs when the lhs ragged dimension is non-contracting."
        )
    if axis in free and not sizes_fit(sizes[-1], right[grouped[0]]):
        return Unprefixed(f"rhs group dimension is expected to have size={sizes[-1]}, got {right[grouped[0]]}")
    return not_shaped(_result_shape(op, left, right, sizes[-1]), op.results[0].type)


def _result_shape(
    op: Operation, left: Sequence[int | None], right: Sequence[int | None], groups: int | None
) -> list[int | None]:
    """Return the sizes of the result: of the groups if the sums are cut, the batch, and what is free on each side."""
    numbers: Any = op.properties["ragged_dot_dimension_numbers"]
    batching, contracting = numbers["lhs_batching_dimensions"], numbers["lhs_contracting_dimensions"]
    others = (
        *numbers["rhs_batching_dimensions"], *numbers["rhs_contracting_dimensions"], *numbers["rhs_group_dimensions"],
    )  # fmt: skip
    made = [groups] if numbers["lhs_ragged_dimensions"][0] in contracting else []
    made += [left[dim] for dim in (*batching, *_free(len(left), *batching, *contracting))]
    return [*made, *(right[dim] for dim in _free(len(right), *others))]


def _unknown(type_: ty.Type, rank: int) -> ty.Type:
    return ty.TensorType((None,) * rank, ty.element_type(type_))


class _RaggedDot:
    """A ragged_dot, compiled: one product for each group, of the parts that belong to it. What is in no group is 0.

    A product is that of dot_general. If the ragged dimension is one of the batch, the op is dot_general.
    """

    def __init__(self, op: Operation, compiler: Compiler) -> None:
        numbers: Any = op.properties["ragged_dot_dimension_numbers"]
        self._op, self._settings = op, compiler.settings
        self._batching = numbers["lhs_batching_dimensions"], numbers["rhs_batching_dimensions"]
        self._contracting = numbers["lhs_contracting_dimensions"], numbers["rhs_contracting_dimensions"]
        (self._axis,) = numbers["lhs_ragged_dimensions"]
        self._group = next(iter(numbers["rhs_group_dimensions"]), None)
        ranks = [len(ty.shape_of(type_) or ()) for type_ in operand_types(op)]
        self._free = _free(ranks[0], *self._batching[0], *self._contracting[0])
        self._ranks = ranks[0], ranks[1] - (self._group is not None)
        self._shift = int(self._axis in self._contracting[0])
        rank = len(ty.shape_of(op.results[0].type) or ()) - self._shift
        types = [_unknown(value.type, each) for value, each in zip(op.operands[:2], self._ranks, strict=True)]
        self._part = _unknown(op.results[0].type, rank)
        of_parts = Operation(op.name, op.definition, [SSAValue(type_) for type_ in types], [self._part])
        of_parts.source, of_parts.token = op.source, op.token
        axes = [
            self._batching[0],
            self._right(self._batching[1]),
            self._contracting[0],
            self._right(self._contracting[1]),
        ]
        loops = loops_of_dot(of_parts, axes, compiler.settings.profile)
        self._product = CompiledLoops(of_parts, loops, compiler)
        self.outside = self._product.outside

    def _right(self, dims: Sequence[int]) -> tuple[int, ...]:
        """Return the numbers of dimensions of the right side without that of the groups."""
        return tuple(dim - (self._group is not None and dim > self._group) for dim in dims)

    def run(self, run: Run, operands: Sequence[Value], captured: Sequence[Value]) -> list[Value]:
        """Return the result. Raises UndefinedBehavior and LimitExceeded."""
        left, right, sizes = operands
        shape = tuple(size or 0 for size in _result_shape(self._op, left.shape, right.shape, sizes.shape[-1]))
        type_ = made(self._op, shape, self._settings)
        if self._axis in self._batching[0]:
            (found,) = self._product.run(run, [left, right], ())
            return [picked(found, (), type_)]
        numbers = signed_numbers(self._op, sizes, "the size of a group")
        if (numbers < 0).any():
            raise undefined(self._op, "the size of a group is negative")
        before = _in_front(self._axis, self._batching[0], self._contracting[0], self._free)
        before = before if numbers.ndim > 1 else ()
        if set(before) & set(self._contracting[0]):
            raise Unsupported(
                f"halfulp does not evaluate '{self._op.name}' with other groups along a contracted dimension"
            )
        whole = zeros(shape, type_)
        for place in product(*map(range, numbers.shape[:-1])):
            start = 0
            for group, size in enumerate(map(int, numbers[place])):
                end = min(start + size, left.shape[self._axis])
                if end > start or self._shift:
                    at_ = dict(zip(before, place, strict=True))
                    whole = self._with_group(run, whole, left, right, group, slice(start, end), at_)
                start = end
        return [whole]

    def _with_group(
        self, run: Run, whole: Value, left: Value, right: Value, group: int, rows: slice, fixed: Mapping[int, int]
    ) -> Value:
        """Return the result with the product of one group. ``fixed``: the indices of dimensions of the left side."""
        one: list[Any] = [slice(None)] * self._ranks[0]
        two: list[Any] = [slice(None)] * right.ndim
        target: list[Any] = [slice(None)] * len(whole.shape)
        kept = [*self._batching[0], *self._free]
        for dim, index in ((self._axis, rows), *((dim, slice(k, k + 1)) for dim, k in fixed.items())):
            one[dim] = index
            for mine, others in (self._batching, self._contracting):
                if dim in mine:
                    two[others[mine.index(dim)]] = index
            if dim in kept:
                target[self._shift + kept.index(dim)] = index
        if self._shift:
            target[0] = group
        if self._group is not None:
            two[self._group] = group
        parts = [
            picked(value, tuple(index), _unknown(value.type, rank))
            for value, index, rank in zip((left, right), (one, two), self._ranks, strict=True)
        ]
        (found,) = self._product.run(run, parts, ())
        return replaced(run, whole, tuple(target), found)


chlo.op(
    "ragged_dot",
    operands={"lhs": any_shape(EVERY), "rhs": any_shape(EVERY), "group_sizes": INTEGER_TENSOR},
    results={"result": any_shape(EVERY)},
    properties=(
        d.Property("precision_config", d.array_of_enum("Precision Config attribute", _PRECISION), optional=True),
        d.Property(
            "ragged_dot_dimension_numbers",
            attribute_of(_RAGGED, "Attribute that models the dimension information for ragged dot."),
        ),
    ),
    verify=_verify_ragged_dot,
    evaluate=with_body(_RaggedDot, lanes=False),
)
