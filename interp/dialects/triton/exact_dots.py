"""What a run with shadows or lineage records of a dot: its products and their sum, and how far its result is from that.

A matrix unit adds products in its own way, which has no steps that an op could stand for. So the record of a dot has
three parts: each product in f64, where that of two floats of up to 32 bits is nearly always exact, the sum of the
products and of C in f64, and the result as a conversion of the sum. The own error of that conversion is how far the
unit's result is from the sum.
"""

from __future__ import annotations

from collections.abc import Callable

from halfulp.fp_formats.formats import FORMATS, Codes
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.dialects.elementwise import elementwise_op, elementwise_step
from halfulp.interp.dialects.structured.arrays import OnArrays, plan_of
from halfulp.interp.dialects.structured.structure import PARALLEL, REDUCTION, Structure
from halfulp.interp.dialects.triton.local import element_of, shape_of
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.operations import Block, Operation, SSAValue
from halfulp.interp.run.evaluators import Compiler
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import OpRun
from halfulp.interp.values.value import Value, retyped
from halfulp.semantics import casts

_F64 = ty.F("f64")

Record = Callable[[Run, Value, Value, Value, Value], Value]
"""Returns a result of a dot, the last value, with its marks. The others are A, B and C."""


def recording(op: Operation, compiler: Compiler) -> Record | None:
    """Return the function that records a dot; None if nobody records, or for integers."""
    settings = compiler.settings
    recorder = settings.recorder
    types = [ty.TensorType(shape_of(value.type), element_of(value.type)) for value in op.operands[:3]]
    if recorder is None or not all(isinstance(each.element, ty.FloatType) for each in types):
        return None
    wide, total = ty.TensorType(types[2].shape, _F64), types[2].element
    arrays = _products(op, types, compiler)
    widen = None if total == _F64 else elementwise_step(op, "arith.extf", (types[2],), wide, settings)
    result = elementwise_op("arith.truncf", (wide,), types[2])
    kernel = casts.convert(FORMATS["f64"], ty.float_format(total), Rounding.TO_NEAREST_EVEN, 0, settings.profile)

    def record(run: Run, a: Value, b: Value, c: Value, made: Value) -> Value:
        (begin,) = (c,) if widen is None else widen.run(run, (c,))
        (found,) = arrays.run(run, [a, b, retyped(begin, wide)], ())
        codes: tuple[Codes, ...] = (found.bits,)
        ran = OpRun((found,), codes, made.shape, made.poison, result, op, kernel, op.location, (made.bits,))
        (marks,) = recorder.record(ran)
        return Value(made.type, made.bits, made.poison, marks, made.origins)

    return record


def _products(op: Operation, types: list[ty.TensorType], compiler: Compiler) -> OnArrays:
    """Return the op that adds the products to C, all in f64."""
    rank = len(shape_of(op.operands[2].type))
    batch = [Dimension(number) for number in range(rank - 2)]
    row, column, depth = (Dimension(number) for number in range(rank - 2, rank + 1))
    maps = tuple(
        at.AffineMapAttr(rank + 1, 0, (*batch, *both)) for both in ((row, depth), (depth, column), (row, column))
    )
    block = Block()
    *factors, accumulator = (block.add_argument(each) for each in (types[0].element, types[1].element, _F64))

    def computed(name: str, *operands: SSAValue) -> SSAValue:
        made = elementwise_op(name, [value.type for value in operands], _F64)
        inner = Operation(name, made.definition, list(operands), [_F64], made.properties, location=op.place)
        block.append(inner)
        return inner.results[0]

    wide = [value if value.type == _F64 else computed("arith.extf", value) for value in factors]
    found = computed("arith.addf", computed("arith.mulf", *wide), accumulator)
    block.append(Operation("linalg.yield", None, [found]))
    inputs = [SSAValue(each) for each in types[:2]]
    init = SSAValue(ty.TensorType(types[2].shape, _F64))
    structure = Structure(maps, (PARALLEL,) * rank + (REDUCTION,), inputs, [init], block)
    plan = plan_of(structure)
    assert plan is not None
    return OnArrays(op, structure, plan, compiler)
