"""Explain the bits of a matrix unit: one element of D = A * B + C, step by step, and the results of all models.

The steps are those of the model itself (`matrix_units.models.explain`). To them are added the numbers of the elements
along K, the bits that are kept and dropped, and words.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from halfulp.codegen.tile_names import model_for, operation_named
from halfulp.explanations import dot_steps
from halfulp.explanations.dot_steps import DotExplanation
from halfulp.explanations.records import RoundingExplanation
from halfulp.explanations.rounding import explained
from halfulp.explanations.rules import given_exact, given_number
from halfulp.fp_formats.formats import FORMATS, codes_to_ints
from halfulp.fp_formats.numbers import exact_number
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError, Unsupported
from halfulp.interp.ir.types import width_of
from halfulp.interp.values.coerce import natural_dtypes
from halfulp.interp.values.parsing import parse_element
from halfulp.interp.values.value import Value, to_value
from halfulp.number_reader import read_number
from halfulp.semantics.matrix_units import models as tiled
from halfulp.semantics.matrix_units.accumulator import KEPT, OWN, Accumulator
from halfulp.semantics.matrix_units.aligned_sums import SumTrace
from halfulp.semantics.matrix_units.chips import CHAIN, MODELS
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.profile import SPEC

# --- explain_dot ------------------------------------------------------------------------------------------------------


def explain_dot(
    kind: str,
    a: Any,
    b: Any,
    c: Any = 0,
    mma: str | Accumulator = "exact",
    *,
    element: tuple[int, int] | None = None,
    scale_a: Any = None,
    scale_b: Any = None,
    a_type: str | None = None,
    b_type: str | None = None,
) -> DotExplanation:
    """Explain one element of a tile D = A * B + C: every step of the model, and the results of all other models.

    ``kind``: a kind such as ``MFMA_F32_16x16x16_F16`` or ``NV_MMA_SYNC_F32_16x8x16_F16``, or an instruction as in PTX,
    ``wgmma.m64n8k32.f32.e4m3.e4m3`` (the types of D, A, B, and of C if it differs from D's; see `codegen.tile_names`).
    ``a``: a row of A; ``b``: a column of B; ``c``: an element of C. If ``element``, (i, j), is given, they are whole
    tiles [M, K], [K, N] and [M, N], and row i and column j are explained. Each is a list of numbers as for `explain`
    (decimals are rounded to the type, ``"0x3C00"`` are bits of the type), or a NumPy array or `Value` of exactly that
    type (for types of ml_dtypes, raw codes are possible, too). K is the K of the kind, or a multiple of it for several
    instructions, one after the other.
    ``mma``: "exact", "ieee", "chip:<name>", or an `Accumulator` (also as text).
    ``scale_a``, ``scale_b``: for scaled operations, [K / block], or with ``element`` [M, K / block] and [K / block, N].
    ``a_type``, ``b_type``: the element types of A and B, for kinds without fixed types.

    Raises InputError for wrong operands, names and sizes, TypeMismatch for arrays of another type, and Unsupported if
    it is not published how the chip computes the operation, or how it treats the given infinities and NaNs.
    """
    op = operation_named(kind, a_type, b_type)
    mma = model_for(mma, op)
    notes: list[str] = []
    i, j = (0, 0) if element is None else row_and_column(element)
    pick = element is not None
    row = operand_codes(a, op.a, "a", 0, i, pick, notes)
    column = operand_codes(b, op.b, "b", 1, j, pick, notes)
    addend = operand_codes(c, op.c, "c", 0, i, pick, notes, j)
    if len(addend) != 1:
        raise InputError(f"c has {len(addend)} elements: give one element, that of this row and column")
    k = op.shape[2] if op.order is None else len(op.order)
    if len(row) > MOST_ELEMENTS:
        raise InputError(f"a has {len(row)} elements; at most {MOST_ELEMENTS} can be explained")
    if len(row) != len(column) or not row or len(row) % k:
        raise InputError(
            f"{op.name} takes {k} elements along K, or a multiple of that; a has {len(row)}, b has {len(column)}"
        )
    scales = None
    if op.scale:
        if scale_a is None or scale_b is None:
            raise InputError(f"{op.name} has a scale for {op.block} elements of A and B each: give scale_a and scale_b")
        scales = (
            operand_codes(scale_a, op.scale, "scale_a", 0, i, pick, notes),
            operand_codes(scale_b, op.scale, "scale_b", 1, j, pick, notes),
        )
        for name, codes in zip(("scale_a", "scale_b"), scales, strict=True):
            if len(codes) != len(row) // op.block:
                raise InputError(f"{name} has {len(codes)} elements, but there are {len(row) // op.block} blocks")
    elif scale_a is not None or scale_b is not None:
        raise InputError(f"{op.name} has no scales: leave out scale_a and scale_b")
    return _explained(op, mma, dot_steps.DotOperands(op, row, column, addend[0], scales), tuple(notes))


def _explained(op: TileOp, model: str, dot: dot_steps.DotOperands, notes: tuple[str, ...]) -> DotExplanation:
    rounding = None
    if dot.exact is not None and op.d in FORMATS:
        given = given_exact("the exact sum", exact_number(dot.exact))
        rounding = explained(given, FORMATS[op.d], "to_nearest_even", SPEC, (), others=False)
    try:
        dot.result, trace = dot.run(model)
    except tiled.Unpublished as error:
        raise Unsupported(str(error), hint=error.hint) from None
    groups = _groups(op, model, dot, trace)
    scales = None if dot.scales is None else (tuple(dot.scales[0]), tuple(dot.scales[1]))
    rows, unpublished = _models(op, model, dot, rounding)
    return DotExplanation(
        op, model, tuple(dot.a), tuple(dot.b), dot.c, scales, dot.products, dot.exact, dot.result, rounding, groups,
        rows, unpublished, notes,
    )  # fmt: skip


def _groups(op: TileOp, model: str, dot: dot_steps.DotOperands, trace: SumTrace) -> tuple[dot_steps.DotStep, ...]:
    """Return the steps of a model. The exact model and integers have none."""
    if op.d not in FORMATS or model == "exact":
        return ()
    rule = tiled.rule_of(model, op)
    return tuple(dot_steps.StepReader(op, rule, dot, trace).groups())


def _models(
    op: TileOp, model: str, dot: dot_steps.DotOperands, rounding: RoundingExplanation | None
) -> tuple[tuple[dot_steps.ModelRow, ...], tuple[tuple[str, tuple[str, ...]], ...]]:
    """Group the models that give the same code for the same reason, with this model first; list the models that give
    nothing.
    """
    found: dict[tuple[int, str], list[str]] = {}
    missing: dict[str, list[str]] = {}
    for name in (model, *(each for each in MODELS if each != model)):
        if not tiled.supports(name, op):
            missing.setdefault("not published", []).append(name)
            continue
        try:
            code, trace = dot.run(name)
        except tiled.Unpublished as error:
            missing.setdefault(f"not published{error.what}", []).append(name)
            continue
        own = replace(dot, result=code)
        found.setdefault((code, _why(op, name, own, _groups(op, name, own, trace))), []).append(name)
    rows = [
        dot_steps.ModelRow(tuple(names), code, dot_steps.error_of(code, rounding), why)
        for (code, why), names in found.items()
    ]
    return tuple(rows), tuple((what, tuple(names)) for what, names in missing.items())


def _why(op: TileOp, model: str, dot: dot_steps.DotOperands, groups: Sequence[dot_steps.DotStep]) -> str:
    """Say how a model adds, and what it lost in this sum."""
    if op.d not in FORMATS:
        return "integers"
    if model == "exact":
        return "the exact sum, rounded once"
    rule = tiled.rule_of(model, op) or CHAIN
    if dot.exact is None:
        return f"{_how(rule, op)}: infinities and NaNs decide"
    effects = []
    if flushed := [name for group in groups for name in group.flushed]:
        effects.append(f"flushes {_some(flushed)}")
    if rule.chain and dot.rounded_scaled:
        effects.append(f"rounds scaled {_some([f'k = {k}' for k in dot.rounded_scaled])}")
    if rule.dot > 1 and dot.negatively_scaled:
        effects.append("ignores signs of scales")
    if cut := [term.label for group in groups for each in group.sums for term in each.terms if term.lost]:
        effects.append(f"cuts {_some(cut)}")
    effects += [each.held.rpartition(" and ")[2] for group in groups for each in group.sums if each.held]
    *inner, last = [each for group in groups for each in group.roundings]
    if count := sum(bool(each.lost) for each in inner):
        effects.append(f"{count} inexact step{'s'[: count != 1]} on the way")
    if last.lost:
        effects.append("rounds the sum" if "nearest" in last.how else "cuts the sum")
    if any(each.lost is None for each in (*inner, last)):
        effects.append("overflows")
    return f"{_how(rule, op)}: {', '.join(effects) or 'nothing lost'}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _how(rule: Accumulator, op: TileOp) -> str:
    """Say how a rule adds, in a few words."""
    if rule.chain:
        return "fused multiply-adds one by one"
    size = min(rule.group or op.shape[2], op.shape[2])
    dealt = f" dealt {rule.order} at a time" if rule.order else ""
    groups = f"k in groups of {size}{dealt}, " if size < op.shape[2] else ""
    groups += f"as {rule.steps}, " if rule.steps != OWN else ""
    if rule.plain and rule.tree == "neighbours":
        return f"{groups}products and sums of two rounded"
    if rule.lsb is not None:
        bits = "as many bits as it needs" if rule.msb is None else f"{rule.msb - rule.lsb + 1} bits"
        return f"{groups}a register of {bits} down to 2^{rule.lsb}{'' if rule.c == 'with' else ', then c'}"
    order = {"flat": "", "even_odd": ""}.get(rule.tree, f"{rule.tree}, ")
    bits = "all bits" if rule.bits is None else f"{rule.bits} bits below the largest"
    partial = "" if rule.partial == KEPT else ", partial sums rounded"
    cut = op.d == "f32" and rule.rounding == "toward_zero" and rule.c != "last"
    end = f", cut to {rule.sum_format(op.d).mantissa_bits}" if cut or rule.fraction is not None else ""
    return f"{groups}{order}{bits}{partial}{'' if rule.c == 'with' else ', then c'}{end}"


# --- operands ---------------------------------------------------------------------------------------------------------


MOST_ELEMENTS = 1 << 14


def row_and_column(element: Any) -> tuple[int, int]:
    """Return the row and the column of D that ``element`` names. Raise InputError for anything else."""
    try:
        i, j = map(operator.index, element)
    except (TypeError, ValueError):
        raise InputError(f"element is {element!r}, but must be the row and the column of D, as (3, 5)") from None
    return i, j


def operand_codes(
    given: Any, type_: str, name: str, axis: int, index: int, pick: bool, notes: list[str], then: int | None = None
) -> list[int]:
    """Return the codes of a row (axis 0) or a column (axis 1) of an operand; with ``then``, only the code of its
    element number ``then``. ``pick``: whether a whole tile is given, of which the row or column number ``index`` is
    taken. ``notes``: notes on rounded operands are added to it. Raises InputError, TypeMismatch.
    """
    element: ty.Type = ty.FloatType(FORMATS[type_]) if type_ in FORMATS else ty.IntegerType(int(type_[1:]))
    if isinstance(given, Value):
        if ty.element_type(given.type) != element:
            raise InputError(f"{name} is of type '{given.type}', but its elements must be '{element}'")
        if given.poison is not None:
            raise InputError(f"{name} is poison: {given.origin(*np.argwhere(given.poisoned)[0])}")
        return _codes(_picked(given.bits, name, axis, index, pick, then), element)
    if isinstance(given, np.ndarray):
        natural = natural_dtypes().get(element)
        if natural is not None and given.dtype == np.dtype((np.void, natural.itemsize)):
            given = given.view(natural)  # what np.save makes of an ml_dtypes array
        picked = np.atleast_1d(_picked(given, name, axis, index, pick, then))
        whole = ty.TensorType(picked.shape, element)
        if natural is not None and natural.isbuiltin != 1 and picked.dtype == np.dtype(f"u{natural.itemsize}"):
            return _codes(Value.from_bits(picked, whole).bits, element)  # codes, as in files
        return _codes(to_value(np.ascontiguousarray(picked), whole, name).bits, element)
    rows = _picked_from_lists(given, name, axis, index, then) if pick else given
    numbers = list(rows) if isinstance(rows, list | tuple) else [rows]
    found, said = [], dict[str, list[int]]()
    for k, each in enumerate(numbers):
        code, note = _number(each, element, f"{name}[{k}]" if len(numbers) > 1 else name)
        found.append(code)
        if note:
            said.setdefault(note, []).append(k)
    notes += [
        f"{name}[{dot_steps.ranges(places)}]: {note}" if len(numbers) > 1 else f"{name}: {note}"
        for note, places in said.items()
    ]
    return found


def _codes(bits: Any, element: ty.Type) -> list[int]:
    return codes_to_ints(np.ravel(bits), width_of(element))


def _picked(array: Any, name: str, axis: int, index: int, pick: bool, then: int | None) -> Any:
    if pick:
        if array.ndim != 2:
            raise InputError(f"{name} has {array.ndim} dimensions, but with element=(i, j) it is a tile of two")
        _check_index(name, index, array.shape[axis])
        array = array[index] if axis == 0 else array[:, index]
        if then is not None:
            _check_index(name, then, len(array))
            array = array[then]
    elif array.ndim > 1:
        raise InputError(f"{name} has {array.ndim} dimensions: give one row, or name the element=(i, j) of a tile")
    return array


def _picked_from_lists(given: Any, name: str, axis: int, index: int, then: int | None) -> Any:
    if then is not None and not isinstance(given, list | tuple):
        return given  # one number for all of C
    if not isinstance(given, list | tuple) or not all(isinstance(row, list | tuple | np.ndarray) for row in given):
        raise InputError(f"{name} must be a tile, a list of rows, since element=(i, j) is given")
    if axis == 0:
        _check_index(name, index, len(given))
        row = list(given[index])
        if then is not None:
            _check_index(name, then, len(row))
            return row[then]
        return row
    for row in given:
        _check_index(name, index, len(row))
    return [row[index] for row in given]


def _check_index(name: str, index: int, size: int) -> None:
    if not 0 <= index < size:
        raise InputError(f"element: {name} has no {index}, only 0 to {size - 1}")


def _number(given: Any, element: ty.Type, name: str) -> tuple[int, str]:
    """Return the code of one number, and a note if it had to be rounded."""
    try:
        if not isinstance(element, ty.FloatType):
            whole = parse_element(element, str(given).strip())
            if whole is None:
                raise InputError("an element is poison, but must be a number")
            return whole, ""
        fmt = element.format
        explanation = explained(given_number(read_number(given, fmt)), fmt, "to_nearest_even", SPEC, (), others=False)
    except HalfulpError as error:
        raise InputError(f"{name}: {error.message}", hint=error.hint) from None
    code = explanation.result.code
    if code is None:
        raise InputError(f"{name}: {explanation.given} is poison in {fmt.name}: {explanation.rule}")
    if explanation.result.error:
        return code, f"{explanation.given} is not a value of {fmt.name}: {dot_steps.text_of(fmt.name, code)}"
    return code, ""
