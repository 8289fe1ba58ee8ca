"""The declarations of linalg.map, reduce, transpose and broadcast."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from halfulp.fp_formats.formats import FloatFormat, ints_to_codes
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.operands import move_inherent
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.elements import repeated
from halfulp.interp.dialects.linalg import declaring
from halfulp.interp.dialects.linalg.bodies import Formula
from halfulp.interp.dialects.linalg.declaring import linalg
from halfulp.interp.dialects.linalg.forms import Parts, print_operands, read_parts, yielding
from halfulp.interp.dialects.memref.evaluate import living
from halfulp.interp.dialects.structured import structure
from halfulp.interp.dialects.structured.arrays import OnArrays, plan_of
from halfulp.interp.dialects.structured.evaluate import STRUCTURED
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.attributes import DenseArrayAttr, identity_map, projection
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.errors import HalfulpError, Unsupported
from halfulp.interp.ir.operations import Block, Operation, Region, Rule, SSAValue
from halfulp.interp.ir.types import I64, TensorType
from halfulp.interp.run.evaluators import Compiler, OnRawSlots
from halfulp.interp.run.frames import Run, Slots, Step, lift, located, lower
from halfulp.interp.text.op_parser import Argument, OpParser, OpPrinter
from halfulp.interp.values.lanes import over_lanes
from halfulp.interp.values.value import Value

# --- moving forms -----------------------------------------------------------------------------------------------------
#
# Custom forms of linalg.map, reduce, transpose and broadcast.
#
# The body of a map or a reduction may be the name of an op, ``{ arith.addf }``, which gets the elements in order. In a
# reduction the accumulator comes first.

_NAME = re.compile(r"[A-Za-z_][\w$.]*")


class Shape(NamedTuple):
    """The parts of the form of an op.

    ``numbers``: the property that is written as a list of numbers. ``body``: True if the op has a body; an op without a
    body only moves elements. ``init_first``: True if an op in place of a body gets the accumulator as its first
    operand; otherwise it does not get it.
    """

    numbers: str = ""
    body: bool = False
    init_first: bool = False


class _Payload(NamedTuple):
    """The op that is written in place of a body."""

    name: str
    attributes: dict[str, Attribute]


def _read_payload(p: OpParser) -> _Payload | None:
    if not p.take("{"):
        return None
    if not _NAME.fullmatch(p.tokens[p.pos]):
        p.error("expected bare identifier or keyword")
    name = p.tokens[p.pos]
    p.pos += 1
    payload = _Payload(name, p.optional_dictionary())
    p.expect("}")
    return payload


def _payload_operands(block: Block, shape: Shape) -> list[SSAValue]:
    """Return the arguments of a body in the order in which an op in place of the body gets them."""
    *inputs, init = block.arguments
    return [init, *inputs] if shape.init_first else list(inputs)


def _write_payload(p: OpParser, payload: _Payload, block: Block, shape: Shape) -> None:
    definition = p.registry.find(payload.name)
    properties: dict[str, Attribute] = {}
    if definition is not None:
        move_inherent(definition, properties, payload.attributes)
    result = block.arguments[-1].type
    operands = _payload_operands(block, shape)
    made = Operation(payload.name, definition, operands, [result], properties, payload.attributes)
    block.append(made)
    yielding(p, block, made.results)


def _read_numbers(p: OpParser, definition: d.OpDefinition, name: str) -> DenseArrayAttr:
    p.keyword(definition, name)
    p.expect("=")
    p.expect("[")
    numbers = []
    while p.tokens[p.pos] != "]":
        numbers.append(p.integer())
        if not p.take(","):
            break
    p.expect("]")
    return DenseArrayAttr(I64, tuple(number & ((1 << 64) - 1) for number in numbers))


def _read_body(p: OpParser, definition: d.OpDefinition) -> Region:
    p.expect("(")
    arguments = []
    while p.tokens[p.pos] != ")":
        token = p.operand_token()
        p.expect(":")
        type_ = p.type()
        location = p.deferrable_location() if p.tokens[p.pos] == "loc" else None
        arguments.append(Argument(token, type_, location))
        if not p.take(","):
            break
    p.expect(")")
    return p.region(definition.name, arguments)


def _made_body(p: OpParser, parts: Parts, payload: _Payload | None, shape: Shape) -> Region:
    block = Block()
    for value in parts.operands:
        argument = block.add_argument(structure.type_in_body(value.type))
        if payload is None:
            argument.take_location_of(value)
    if payload is None:
        yielding(p, block, block.arguments[:1])
    elif block.arguments:
        _write_payload(p, payload, block, shape)
    return Region([block])


def moving_form(shape: Shape) -> d.CustomForm:
    """Return the custom form of linalg.map, linalg.reduce, linalg.transpose or linalg.broadcast."""

    def parse(p: OpParser, at: int, definition: d.OpDefinition) -> Operation:
        payload = _read_payload(p) if shape.body else None
        parts = read_parts(p, definition)
        if shape.numbers:
            parts.properties[shape.numbers] = _read_numbers(p, definition, shape.numbers)
        parts.attributes |= p.optional_dictionary()
        written = shape.body and payload is None
        region = _read_body(p, definition) if written else _made_body(p, parts, payload, shape)
        results = tuple(type_ for type_ in parts.inits if isinstance(type_, TensorType) and type_.shape is not None)
        move_inherent(definition, parts.properties, parts.attributes)
        operation = Operation(
            definition.name, definition, parts.operands, results, parts.properties, parts.attributes, [region]
        )
        if not written:
            for each in region.blocks[0].operations:
                p.placed(each, at)
        return p.placed(operation, at)

    def print_(printer: OpPrinter, op: Operation) -> str:
        payload = _payload_of(op, shape) if shape.body else None
        text = "" if payload is None else _payload_text(printer, payload)
        text += print_operands(printer, op)
        if shape.numbers:
            numbers = op.prop(shape.numbers, DenseArrayAttr)
            text += f" {shape.numbers} = [{', '.join(map(str, numbers.values))}] "
        text += f" {printer.dictionary(op.attributes)}" if op.attributes else ""
        return text + (_body_text(printer, op) if shape.body and payload is None else "")

    return d.CustomForm(parse, print_)


def _payload_of(op: Operation, shape: Shape) -> Operation | None:
    """Return the op that can stand for the body, if there is one."""
    (block,) = op.regions[0].blocks
    if len(block.operations) != 2:
        return None
    payload, end = block.operations
    alone = len(end.operands) == 1 and len(payload.results) == 1 and end.operands[0] is payload.results[0]
    wanted = _payload_operands(block, shape)
    same = len(payload.operands) == len(wanted) and all(a is b for a, b in zip(payload.operands, wanted, strict=True))
    return payload if alone and same and wanted and _NAME.fullmatch(payload.name) else None


def _payload_text(printer: OpPrinter, payload: Operation) -> str:
    entries = {**payload.properties, **payload.attributes}
    shown = {name: attribute for name, attribute in entries.items() if not _is_no_fastmath(attribute)}
    return f" {{ {payload.name}{' ' + printer.dictionary(shown) if shown else ''} }}"


def _is_no_fastmath(attribute: Attribute) -> bool:
    return isinstance(attribute, EnumAttr) and attribute.definition.mnemonic == "arith.fastmath" and not attribute.value


def _body_text(printer: OpPrinter, op: Operation) -> str:
    (block,) = op.regions[0].blocks
    outer = printer.indent
    printer.indent = outer + "  "
    arguments = ", ".join(
        f"{printer.name(argument)}: {printer.type(argument.type)}{printer.location_of_argument(argument)}"
        for argument in block.arguments
    )
    text = f"\n{printer.indent}({arguments}) {printer.region(op.regions[0], op, entry_arguments=False)}"
    printer.indent = outer
    return text


def argument_names(op: Operation) -> list[str]:
    """Return the names that MLIR gives the arguments of the body."""
    inputs, inits = structure.inputs_and_inits(op)
    return ["in"] * len(inputs) + ["init"] * len(inits)


# --- softmax ----------------------------------------------------------------------------------------------------------
#
# linalg.softmax, as the ops into which MLIR decomposes it (`SoftmaxOp::decomposeOperation`).
#
# The largest element of each row by arith.maxnumf, beginning with a NaN; exp(x - largest); their sum, beginning with
# +0; and the quotients. Each op rounds, and the reductions go in the order of the loops.


def _verify(op: Operation) -> str | None:
    source, dest = (ty.shape_of(value.type) for value in op.operands)
    if source is None or dest is None or len(source) != len(dest):
        return "incompatible output shape"
    if any(a is not None and b is not None and a != b for a, b in zip(source, dest, strict=True)):
        return "incompatible output shape"
    if not 0 <= op.number("dimension") < len(source):
        return "incorrect dimension specified"
    return declaring.verify_destinations(op, op.operands[1:])


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
    """Return the code with which the search for the largest element begins: a NaN with a sign, or else the least
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
            raise Unsupported(
                f"halfulp runs linalg.softmax only on floats, not on '{element}'", location=op.location, op=op.name
            )
        self._axis = axis = op.number("dimension")
        self._element = element
        self._reduced = ty.TensorType(shape[:axis] + shape[axis + 1 :], element)
        self._full = ty.TensorType(shape, element)
        self._largest = self._stage(_largest, self._full, self._reduced)
        self._exponential = self._stage(_exponential, self._full, self._reduced, self._full)
        self._sum = self._stage(_sum, self._full, self._reduced)
        self._quotient = self._stage(_quotient, self._full, self._reduced, self._full)

    def _stage(self, write: Callable[[Formula], None], *types: ty.TensorType) -> OnArrays:
        """Compile a structured op on operands of these types, of which the last is the init. ``write`` makes
        its body.
        """
        rank = len(self._full.shape or ())
        every = tuple(map(Dimension, range(rank)))
        maps = {
            self._full: at.AffineMapAttr(rank, 0, every),
            self._reduced: at.AffineMapAttr(rank, 0, every[: self._axis] + every[self._axis + 1 :]),
        }
        reduces = types[-1] is self._reduced
        iterators = [
            structure.REDUCTION if reduces and axis == self._axis else structure.PARALLEL for axis in range(rank)
        ]
        block = Block()
        for _ in types:
            block.add_argument(self._element)
        write(Formula(default_registry(), block))
        *inputs, init = map(SSAValue, types)
        stage = structure.Structure(tuple(maps[type_] for type_ in types), tuple(iterators), inputs, (init,), block)
        plan = plan_of(stage)
        assert plan is not None
        return OnArrays(self._op, stage, plan, self._compiler)

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

_SHAPED = d.TypeConstraint(d.SHAPED.description, d.SHAPED.accepts, d.TypeKind("", d.SHAPED.accepts))


def declare_softmax() -> None:
    """Declare linalg.softmax."""
    linalg.op(
        "softmax",
        "attr-dict `dimension` `(` $dimension `)` `ins` `(` $input `:` type($input) `)` "
        "`outs` `(` $output `:` type($output) `)` (`->` type($result)^)?",
        operands=(d.Slot("input", _SHAPED), d.Slot("output", _SHAPED)),
        results=(d.variadic("result", d.RANKED_TENSOR),),
        properties=(d.Property("dimension", d.INTEGER_64_ATTR),),
        type_rules=(d.same_element("input", "output", "input and output"),),
        verify=_verify,
        evaluate=OnRawSlots(_softmax),
    )


# --- moving ops -------------------------------------------------------------------------------------------------------


def _rank(op: Operation, which: int) -> int:
    return len(ty.shape_of(op.operands[which].type) or ())


def _kept(op: Operation, rank: int) -> list[int]:
    return [axis for axis in range(rank) if axis not in op.numbers("dimensions")]


# --- maps -------------------------------------------------------------------------------------------------------------


def _map_maps(op: Operation) -> tuple[at.AffineMapAttr, ...]:
    return (identity_map(_rank(op, -1)),) * len(op.operands)


def _transpose_maps(op: Operation) -> tuple[at.AffineMapAttr, ...]:
    permutation = op.numbers("permutation")
    rank = len(permutation)
    return projection(rank, [permutation.index(axis) for axis in range(rank)]), identity_map(rank)


def _broadcast_maps(op: Operation) -> tuple[at.AffineMapAttr, ...]:
    rank = _rank(op, 1)
    return projection(rank, _kept(op, rank)), identity_map(rank)


def _reduce_maps(op: Operation) -> tuple[at.AffineMapAttr, ...]:
    rank, half = _rank(op, 0), len(op.operands) // 2
    return (identity_map(rank),) * half + (projection(rank, _kept(op, rank)),) * half


def _reduce_iterators(op: Operation) -> tuple[int, ...]:
    reduced = op.numbers("dimensions")
    return tuple(structure.REDUCTION if axis in reduced else structure.PARALLEL for axis in range(_rank(op, 0)))


def _parallel(op: Operation) -> tuple[int, ...]:
    return (structure.PARALLEL,) * _rank(op, -1)


# --- rules ------------------------------------------------------------------------------------------------------------


def _verify_transpose(op: Operation) -> str | None:
    permutation = op.numbers("permutation")
    one, two = (ty.shape_of(value.type) or () for value in op.operands)
    if sorted(permutation) != list(range(len(permutation))):
        return "permutation is not valid"
    if len(one) != len(two):
        return f"input rank {len(one)} does not match init rank {len(two)}"
    if len(permutation) != len(one):
        return f"size of permutation {len(permutation)} does not match the argument rank {len(one)}"
    for axis, source in enumerate(permutation):
        if one[source] != two[axis]:
            first, second = (_size(size) for size in (two[axis], one[source]))
            return f"dim(result, {axis}) = {first} doesn't match dim(input, permutation[{axis}]) = {second}"
    return None


def _verify_broadcast(op: Operation) -> str | None:
    added = op.numbers("dimensions")
    one, two = (ty.shape_of(value.type) or () for value in op.operands)
    if len(one) + len(added) != len(two):
        ranks = f"input rank: {len(one)}, dimensions size: {len(added)}, init rank: {len(two)}"
        return f"input rank plus added dimensions does not match init rank. {ranks}"
    for number, axis in enumerate(added):
        if not 0 <= axis < len(two):
            return f"dimension {number} is out of range. expected range: [0, {len(two) - 1}], got: {axis}"
        if axis in added[:number]:  # MLIR 22 crashes
            return f"dimension {number} is {axis}, as an earlier one is: each axis can be added once"
    kept = [axis for axis in range(len(two)) if axis not in added]
    for axis, target in enumerate(kept):
        if one[axis] != two[target]:
            first, second = _size(one[axis]), _size(two[target])
            return f"input dim {axis} should match init dim {target}. input: {first}, init: {second}"
    return None


def _size(size: int | None) -> int:
    """Return a size as MLIR prints it."""
    return -(1 << 63) if size is None else size


def _one_block(op: Operation, region: str) -> str | None:
    one = len(op.regions) == 1 and len(op.regions[0].blocks) == 1
    return None if one else f"region #0 ('{region}') failed to verify constraint: region with 1 blocks"


def _verify_map(op: Operation) -> str | None:
    problem = _one_block(op, "mapper")
    if problem:
        return problem
    arguments = _arguments(op)
    if len(op.operands) != len(arguments):
        return (
            f"expects number of operands to match the arity of mapper, but got: {len(op.operands)} and {len(arguments)}"
        )
    inputs, (init,) = structure.inputs_and_inits(op)
    for value, argument in zip(inputs, arguments, strict=False):
        element = ty.element_type(value.type)
        if element != argument:
            return f"expected element type of input '{element}' to match bbArg type '{argument}'"
    wanted = ty.shape_of(init.type) or ()
    for value in inputs:
        shape = ty.shape_of(value.type) or ()
        if shape != wanted:
            return f"expected shape of input ({_sizes(shape)}) to match shape of output ({_sizes(wanted)})"
    return None


def _arguments(op: Operation) -> list[ty.Type]:
    """Return the types of the arguments of the body."""
    return [argument.type for argument in op.regions[0].blocks[0].arguments]


def _sizes(shape: ty.Shape) -> str:
    return ", ".join(str(_size(size)) for size in shape)


def _verify_reduce(op: Operation) -> str | None:
    problem = _one_block(op, "combiner")
    if problem:
        return problem
    inputs, inits = structure.inputs_and_inits(op)
    if not inputs:
        return "expected 1 or more operands, but found 0"
    for word, values in (("input", inputs), ("output", inits)):
        shapes = [ty.shape_of(value.type) or () for value in values]
        for number, shape in enumerate(shapes):
            if shape != shapes[0]:
                return (
                    f"expects all {word}s to have the same shapes. Shape at {word}-index {number} is not equal to the "
                    f"shape at {word}-index 0."
                )
    return _reduced_shape(op, inputs[0].type, inits[0].type) or _reduced_body(op, inputs, inits)


def _reduced_shape(op: Operation, source: ty.Type, init: ty.Type) -> str | None:
    reduced = op.numbers("dimensions")
    whole, found = ty.shape_of(source) or (), ty.shape_of(init) or ()
    if any(not 0 <= axis < len(whole) for axis in reduced):
        return f"dimensions for reduction should be in the range [0, {len(whole) - 1}]."
    kept = tuple(whole[axis] for axis in _kept(op, len(whole)))
    if len(kept) != len(found):
        return f"number of dimensions after reduction {len(kept)} doesn't match the init rank {len(found)}"
    if kept != found:
        return f"init dimensions [{_sizes(found)}] doesn't match input dimensions after reduction [{_sizes(kept)}]"
    return None


def _reduced_body(op: Operation, inputs: Sequence[SSAValue], inits: Sequence[SSAValue]) -> str | None:
    arguments = _arguments(op)
    if len(arguments) != len(op.operands):
        return "mismatching number of operands and block arguments"
    words = ["input"] * len(inputs) + ["output"] * len(inits)
    for word, value, argument in zip(words, op.operands, arguments, strict=True):
        element = ty.element_type(value.type)
        if element != argument:
            return f"{word} element type '{element}' does not match corresponding block argument type '{argument}'"
    return None


# --- declarations -----------------------------------------------------------------------------------------------------


def _is_increasing(attribute: Attribute) -> bool:
    if not d.INTEGER_64_ARRAY_ATTR.accepts(attribute):
        return False
    assert isinstance(attribute, at.DenseArrayAttr)
    return all(a < b for a, b in pairwise(attribute.values))


_INCREASING = d.AttributeConstraint("i64 dense array attribute should be in increasing order", _is_increasing)


def _declare(
    mnemonic: str,
    reader: structure.Reader,
    shape: Shape,
    inputs: d.Slot,
    inits: d.Slot,
    name: str,
    verify: Rule,
    numbers: d.AttributeConstraint = d.INTEGER_64_ARRAY_ATTR,
) -> None:
    structure.STRUCTURES[f"linalg.{mnemonic}"] = reader
    linalg.op(
        mnemonic,
        custom=moving_form(shape),
        operands=(inputs, inits),
        results=(d.variadic("result", d.ANY),),
        properties=(d.Property(shape.numbers, numbers),) if shape.numbers else (),
        regions=(d.RegionSlot("region"),),
        named_arguments=argument_names,
        named_results=lambda op: (name, *(None,) * (len(op.results) - 1)),
        verify=verify,
        verify_regions=declaring.verify_structured,
        evaluate=STRUCTURED,
    )


def declare_moving_ops() -> None:
    """Declare the named ops that move elements or reduce them, with their own form."""
    one, init = d.Slot("input", d.SHAPED), d.Slot("init", d.SHAPED)
    several = d.variadic("inputs", d.SHAPED)
    structure.INITS["linalg.reduce"] = lambda op: len(op.operands) // 2
    _declare("map", (_map_maps, _parallel), Shape(body=True), several, init, "mapped", _verify_map)
    _declare(
        "reduce",
        (_reduce_maps, _reduce_iterators),
        Shape("dimensions", body=True, init_first=True),
        several,
        d.variadic("inits", d.SHAPED),
        "reduced",
        _verify_reduce,
        _INCREASING,
    )
    _declare(
        "transpose", (_transpose_maps, _parallel), Shape("permutation"), one, init, "transposed", _verify_transpose
    )
    _declare(
        "broadcast", (_broadcast_maps, _parallel), Shape("dimensions"), one, init, "broadcasted", _verify_broadcast
    )
