"""The older products of StableHLO: dot, einsum, unary_einsum and torch_index_select. Newer programs use dot_general and
gather in their place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.elements import Function, Operands, data_movement, made, picked
from halfulp.interp.dialects.stablehlo.attributes import PRECISIONS
from halfulp.interp.dialects.stablehlo.forms import FUNCTION_TYPE
from halfulp.interp.dialects.stablehlo.loops import Loops, as_loops, shape_of_lane, zeros
from halfulp.interp.dialects.stablehlo.moving import indices
from halfulp.interp.dialects.stablehlo.quantized import between_casts
from halfulp.interp.dialects.stablehlo.reducing import (
    loops_of_dot,
    multiply_and_add,
    not_shaped,
    sum_of,
    verify_precision,
)
from halfulp.interp.dialects.stablehlo.stored import product_of_stored
from halfulp.interp.dialects.stablehlo.types import (
    ANY_TENSOR,
    PLAIN_TENSOR,
    operand_types,
    sizes_fit,
    stablehlo,
)
from halfulp.interp.dialects.structured.structure import PARALLEL, REDUCTION, Structure
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.attributes import map_of
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, SSAValue, undefined
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import Profile

# --- dot --------------------------------------------------------------------------------------------------------------


def _verify_dot(op: Operation) -> str | None:
    found = verify_precision(op)
    if found is not None:
        return found
    one, other = (ty.shape_of(type_) or () for type_ in operand_types(op))
    if not {len(one), len(other)} <= {1, 2} or not sizes_fit(one[-1], other[0]):
        return d.Unprefixed("expected both lhs/rhs ranks to be either 1 or 2")
    return not_shaped((*one[:-1], *other[1:]), op.results[0].type)


def _dot(op: Operation, profile: Profile) -> Loops:
    last = len(ty.shape_of(op.operands[0].type) or ()) - 1
    return loops_of_dot(op, ((), (), (last,), (0,)), profile)


stablehlo.op(
    "dot",
    f"$lhs `,` $rhs (`,` `precision` `=` custom<Precision>($precision_config)^)? {FUNCTION_TYPE}",
    operands={"lhs": PLAIN_TENSOR, "rhs": ANY_TENSOR},
    results={"result": ANY_TENSOR},
    properties=(d.Property("precision_config", PRECISIONS, optional=True),),
    verify=_verify_dot,
    evaluate=between_casts(as_loops(_dot), product_of_stored()),
)

# --- einsum -----------------------------------------------------------------------------------------------------------


def _letters(op: Operation) -> tuple[list[str], str]:
    """Return the letters of the dimensions of each operand and of the result. Raises Unsupported."""
    config = op.prop("einsum_config", at.StringAttr).value
    found = re.fullmatch(r"([A-Za-z,]*)->([A-Za-z]*)", config)
    given = found[1].split(",") if found else []
    ranks = [len(ty.shape_of(type_) or ()) for type_ in operand_types(op)]
    if found is None or list(map(len, given)) != ranks or len(found[2]) != len(ty.shape_of(op.results[0].type) or ()):
        raise Unsupported(
            f'halfulp evaluates einsum with one letter for each dimension, as in "ij,jk->ik"; this is "{config}"',
            location=op.location, op=op.name,
        )  # fmt: skip
    if len(set(found[2])) < len(found[2]) or not set(found[2]) <= set("".join(given)):
        raise Unsupported(
            f'the result of the einsum "{config}" repeats a letter, or has one that no operand has',
            location=op.location, op=op.name,
        )  # fmt: skip
    return given, found[2]


def _einsum(op: Operation, profile: Profile) -> Loops:
    """Return the loops over the letters of the result, and, innermost, over the others in the order of the operands."""
    given, kept = _letters(op)
    summed = [letter for letter in dict.fromkeys("".join(given)) if letter not in kept]
    space = dict(zip((*kept, *summed), map(Dimension, range(len(kept) + len(summed))), strict=True))
    total, then = sum_of(op.results[0].type, profile)
    structure = Structure(
        tuple(map_of(len(space), [space[letter] for letter in letters]) for letters in (*given, kept)),
        (PARALLEL,) * len(kept) + (REDUCTION,) * len(summed),
        op.operands,
        (SSAValue(total),),
        multiply_and_add([*operand_types(op), total], profile),
    )

    def prepare(run: Run, values: Sequence[Value]) -> list[Value]:
        sizes: dict[str, int] = {}
        for letters, value in zip(given, values, strict=True):
            for letter, size in zip(letters, shape_of_lane(value), strict=True):
                if sizes.setdefault(letter, size) != size:
                    raise undefined(
                        op, f"the letter {letter} stands for dimensions of different sizes, {sizes[letter]} and {size}"
                    )
        return [*values, zeros(tuple([sizes[letter] for letter in kept]), total)]

    return Loops(structure, prepare, then=then)


stablehlo.op(
    "einsum",
    f"$lhs `,` $rhs `,` `config` `=` $einsum_config {FUNCTION_TYPE}",
    operands={"lhs": PLAIN_TENSOR, "rhs": PLAIN_TENSOR},
    results={"result": PLAIN_TENSOR},
    properties=(d.Property("einsum_config", d.STRING_ATTR),),
    evaluate=as_loops(_einsum),
)
stablehlo.op(
    "unary_einsum",
    f"$operand `,` `config` `=` $einsum_config {FUNCTION_TYPE}",
    operands={"operand": PLAIN_TENSOR},
    results={"result": PLAIN_TENSOR},
    properties=(d.Property("einsum_config", d.STRING_ATTR),),
    evaluate=as_loops(_einsum),
)

# --- torch_index_select -----------------------------------------------------------------------------------------------


def _torch_index_select(op: Operation, settings: Settings) -> Function:
    """Return the function that takes along ``dim`` the elements that the indices name, which are clamped.

    The first ``batch_dims`` dimensions of both operands are one; the others of the indices stand in the place of
    ``dim``.
    """
    dim, batch = (op.number(name) for name in ("dim", "batch_dims"))

    def take(run: Run, operands: Operands) -> tuple[Any, ...]:
        source, given = operands
        if not 0 <= batch <= dim < source.ndim or source.shape[:batch] != given.shape[:batch] or not source.shape[dim]:
            raise undefined(
                op,
                f"dim {dim} and batch_dims {batch} do not fit operands of the shapes {list(source.shape)} and "
                f"{list(given.shape)}",
            )
        chosen = np.clip(indices(op, given, settings.profile), 0, source.shape[dim] - 1)
        # The axes of the result: those in front of dim, those of the indices, and those behind dim.
        more = given.ndim - batch
        shape = (*source.shape[:dim], *given.shape[batch:], *source.shape[dim + 1 :])
        places: list[Any] = list(np.indices((*source.shape[:dim], 1, *source.shape[dim + 1 :]), sparse=True))
        places = [np.expand_dims(each.squeeze(dim), tuple(range(dim, dim + more))) for each in places]
        places[dim] = chosen.reshape(
            (*given.shape[:batch], *(1,) * (dim - batch), *given.shape[batch:], *(1,) * (source.ndim - dim - 1))
        )
        return (picked(source, tuple(places), made(op, shape, settings)),)

    return take


stablehlo.op(
    "torch_index_select",
    operands={"operand": PLAIN_TENSOR, "index": PLAIN_TENSOR},
    results={"result": PLAIN_TENSOR},
    properties=(d.Property("batch_dims", d.INTEGER_64_ATTR), d.Property("dim", d.INTEGER_64_ATTR)),
    evaluate=data_movement(_torch_index_select, elements=1),
)
