"""linalg.softmax, as the ops into which MLIR decomposes it (`SoftmaxOp::decomposeOperation`).

The largest element of each row by arith.maxnumf, beginning with a NaN; exp(x - largest); their sum, beginning with +0;
and the quotients. Each op rounds, and the reductions go in the order of the loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from halfulp.fp_formats.codes import ints_to_codes
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Arity, Property, Slot, TypeConstraint, TypeKind
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.declare.type_rules import same_element
from halfulp.interp.dialects.elements import repeated
from halfulp.interp.dialects.linalg import rules
from halfulp.interp.dialects.linalg.arrays import OnArrays, plan_of
from halfulp.interp.dialects.linalg.bodies import Formula
from halfulp.interp.dialects.linalg.declaring import linalg
from halfulp.interp.dialects.linalg.structure import PARALLEL, REDUCTION, Structure
from halfulp.interp.dialects.memref.evaluate import living
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.errors import HalfulpError, Unsupported
from halfulp.interp.ir.operations import Block, Operation, SSAValue
from halfulp.interp.run.control import Compiler
from halfulp.interp.run.evaluators import OnRawSlots
from halfulp.interp.run.frames import Run, Slots, Step
from halfulp.interp.run.reports import located
from halfulp.interp.run.slots import lift, lower
from halfulp.interp.values.lanes import over_lanes
from halfulp.interp.values.value import Value


def _dimension(op: Operation) -> int:
    dimension = op.properties["dimension"]
    assert isinstance(dimension, at.IntegerAttr)
    return dimension.value


def _verify(op: Operation) -> str | None:
    source, dest = (ty.shape_of(value.type) for value in op.operands)
    if source is None or dest is None or len(source) != len(dest):
        return "incompatible output shape"
    if any(a is not None and b is not None and a != b for a, b in zip(source, dest, strict=True)):
        return "incompatible output shape"
    if not 0 <= _dimension(op) < len(source):
        return "incorrect dimension specified"
    return rules.verify_destinations(op, op.operands[1:])


# --- the four stages --------------------------------------------------------------------------------------------------


def _largest(f: Formula) -> None:
    f.yields(f.op("arith.maxnumf", f.arguments, f.out.type))


def _exponential(f: Formula) -> None:
    x, largest, out = f.arguments
    f.yields(f.op("math.exp", (f.binary("sub", x, largest),), out.type))


def _sum(f: Formula) -> None:
    f.yields(f.binary("add", *f.arguments))


def _quotient(f: Formula) -> None:
    f.yields(f.binary("div", *f.arguments[:2]))


def _first_largest(format_: FloatFormat) -> int:
    """Return the code with which the search for the largest element begins: the NaN with a sign, or else the least
    number.
    """
    nan = format_.nan_code
    return (format_.sign_mask or 0) | (format_.max_code if nan is None else nan)


class _Stages:
    """The stages of an op, compiled."""

    def __init__(self, op: Operation, compiler: Compiler) -> None:
        self._op = op
        self._compiler = compiler
        source = op.operands[0].type
        shape, element = ty.shape_of(source) or (), ty.element_type(source)
        if not isinstance(element, ty.FloatType):
            raise Unsupported(f"linalg.softmax of '{element}'", location=op.location, op=op.name)
        self._axis = axis = _dimension(op)
        self._element = element
        self._reduced = ty.TensorType(shape[:axis] + shape[axis + 1 :], element)
        self._full = ty.TensorType(shape, element)
        self._largest = self._stage(_largest, self._full, self._reduced)
        self._exponential = self._stage(_exponential, self._full, self._reduced, self._full)
        self._sum = self._stage(_sum, self._full, self._reduced)
        self._quotient = self._stage(_quotient, self._full, self._reduced, self._full)

    def _stage(self, write: Callable[[Formula], None], *types: ty.TensorType) -> OnArrays:
        """Compile a structured op, the init last."""
        rank = len(self._full.shape or ())
        every = tuple(map(Dimension, range(rank)))
        maps = {
            self._full: at.AffineMapAttr(rank, 0, every),
            self._reduced: at.AffineMapAttr(rank, 0, every[: self._axis] + every[self._axis + 1 :]),
        }
        reduces = types[-1] is self._reduced
        iterators = [REDUCTION if reduces and axis == self._axis else PARALLEL for axis in range(rank)]
        block = Block()
        for _ in types:
            block.add_argument(self._element)
        write(Formula(default_registry(), block))
        *inputs, init = map(SSAValue, types)
        structure = Structure(tuple(maps[type_] for type_ in types), tuple(iterators), inputs, (init,), block)
        plan = plan_of(structure)
        assert plan is not None
        return OnArrays(self._op, structure, plan, self._compiler)

    def run(self, run: Run, source: Value, dest: Value) -> Value:
        """Return the new output. Raises UndefinedBehavior and LimitExceeded."""
        shape = source.shape[1:] if over_lanes(source) else source.shape
        small = shape[: self._axis] + shape[self._axis + 1 :]

        def start(code: int) -> Value:
            scalar = Value(self._element, ints_to_codes([code], self._element.format.bits, ()))
            return repeated(scalar, small, self._reduced)

        (largest,) = self._largest.run(run, (source, start(_first_largest(self._element.format))), ())
        (powers,) = self._exponential.run(run, (source, largest, dest), ())
        (total,) = self._sum.run(run, (powers, start(0)), ())
        (result,) = self._quotient.run(run, (powers, total, dest), ())
        return result


def _softmax(op: Operation, compiler: Compiler) -> Step:
    stages = _Stages(op, compiler)
    slots_of = compiler.slots(op.operands)
    results = compiler.slots(op.results)

    def values(slots: Slots) -> Sequence[Value]:
        held = [(slots[slot], value.type) for slot, value in zip(slots_of, op.operands, strict=True)]
        return [
            living(op, each, which).load(None, slots[0].origins)
            if isinstance(type_, ty.MemRefType)
            else lift(each, type_)
            for which, (each, type_) in enumerate(held)
        ]

    def step(slots: Slots) -> None:
        run: Run = slots[0]
        try:
            result = stages.run(run, *values(slots))
            if results:
                slots[results[0]] = lower(result)
            else:
                living(op, slots[slots_of[1]], 1).store(result, run.origins)
        except HalfulpError as error:
            raise located(error, op) from None

    return step


# --- declaration ------------------------------------------------------------------------------------------------------

_SHAPED = TypeConstraint(c.SHAPED.description, c.SHAPED.accepts, TypeKind("", c.SHAPED.accepts))


def declare_softmax() -> None:
    """Declare the op."""
    linalg.op(
        "softmax",
        "attr-dict `dimension` `(` $dimension `)` `ins` `(` $input `:` type($input) `)` "
        "`outs` `(` $output `:` type($output) `)` (`->` type($result)^)?",
        operands=(Slot("input", _SHAPED), Slot("output", _SHAPED)),
        results=(Slot("result", c.RANKED_TENSOR, Arity.VARIADIC),),
        properties=(Property("dimension", c.INTEGER_64_ATTR),),
        type_rules=(same_element("input", "output", "input and output"),),
        verify=_verify,
        evaluate=OnRawSlots(_softmax),
    )
