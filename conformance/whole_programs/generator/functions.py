"""Random functions of arguments, with control flow, memory, vectors and tensors: each way to continue one is a row."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import product

from halfulp.conformance.whole_programs.generator.grower import (
    NAME,
    Grower,
    Palette,
    Plan,
    RandomFunction,
    Row,
    Unfit,
    cases,
    elementwise_ops,
    random_arguments,
    random_palette,
    random_properties,
)
from halfulp.conformance.whole_programs.rewrite import definition_of, function, module_around, returnable
from halfulp.fp_formats.formats import ints_to_codes
from halfulp.interp.declare.declarations import OpDefinition
from halfulp.interp.dialects.arith.ops import OVERFLOW
from halfulp.interp.dialects.slices import DYNAMIC
from halfulp.interp.dialects.ub import POISON_ATTR
from halfulp.interp.ir import affine_expressions as affine
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue, argument_types, result_types
from halfulp.interp.ir.types import width_of

# --- without control flow ---------------------------------------------------------------------------------------------

WEIGHTS = {
    "arith.andi": 2.5, "arith.remui": 2.0, "arith.shrui": 1.5, "arith.addi": 2.0, "arith.cmpi": 3.0,
    "arith.minui": 1.3, "arith.maxui": 1.3, "arith.minsi": 1.3, "arith.maxsi": 1.3, "arith.extui": 2.5,
    "arith.extsi": 1.8, "arith.trunci": 2.0, "arith.select": 3.0, "arith.index_cast": 1.5, "arith.index_castui": 1.5,
    "quant.qcast": 3.0, "quant.dcast": 3.0, "quant.scast": 3.0,
}  # fmt: skip
"""The weights of elementwise ops that limit integers to a range or make values that other ops need; 1 for other ops."""

CONSTANTS = 0.35
"""The probability that the last of several operands is a constant."""

BOOLEANS = 0.3
"""The weight of an op on i1, compared with other types."""

TWICE = 0.2
"""If the same value is chosen twice as an operand of one op, the probability that it is kept."""

UNGUARDED = 0.05
"""The probability that a divisor may be zero, or a shift amount too large."""

_DIVISIONS = ("divsi", "divui", "ceildivsi", "ceildivui", "floordivsi", "remsi", "remui")
_SHIFTS = ("shli", "shrsi", "shrui")


# --- elementwise ------------------------------------------------------------------------------------------------------


def _elementwise(op: OpDefinition, grower: Grower) -> None:
    rng, palette = grower.rng, grower.plan.palette
    guarded = _mnemonic(op) in (*_DIVISIONS, *_SHIFTS)
    anchor = 0 if guarded else rng.randrange(len(op.operands))
    slot = op.operands[anchor]
    present = [type_ for type_ in grower.visible if slot.constraint.accepts(type_)]
    if not present:
        raise Unfit
    (type_,) = rng.choices(present, [BOOLEANS if ty.element_type(type_) == ty.I1 else 1.0 for type_ in present])
    elements = tuple(dict.fromkeys([*palette.elements, *(stored for _, stored in palette.quantized)]))
    fitting = cases(op.name, anchor, type_, elements)
    if not fitting:
        raise Unfit
    operand_types, results = rng.choice(fitting)
    operands: list[SSAValue] = []
    for number, kind in enumerate(operand_types):
        operand = grower.known(kind) if number == anchor else _operand(op, number, kind, grower)
        if operand in operands and rng.random() >= TWICE:
            operand = _operand(op, number, kind, grower)
        operands.append(operand)
    grower.append(op.name, operands, results, random_properties(op, rng, palette.flags))


def _mnemonic(op: OpDefinition) -> str:
    return op.name.partition(".")[2]


def _operand(op: OpDefinition, number: int, type_: ty.Type, grower: Grower) -> SSAValue:
    last = number == len(op.operands) - 1
    mnemonic = _mnemonic(op)
    if last and grower.rng.random() >= UNGUARDED:
        if mnemonic in _DIVISIONS:
            return _divisor(type_, grower, signed=mnemonic.endswith("si"))
        if mnemonic in _SHIFTS:
            return _amount(type_, grower)
    return grower.value(type_, CONSTANTS if last else 0.1)


def _divisor(type_: ty.Type, grower: Grower, signed: bool) -> SSAValue:
    """Return a divisor that is not zero and, for a signed division, not -1."""
    highest = (1 << (width_of(ty.element_type(type_)) - signed)) - 1
    if not highest:
        raise Unfit  # the only divisor of a signed i1 is -1
    if grower.rng.random() < 0.5:
        number = grower.rng.choice((1, 2, 3, 5, 7, 8, 10, 16, 100, highest, highest // 2 + 1))
        return grower.number(type_, min(max(number, 1), highest))
    some = grower.value(type_)
    if signed:
        some = grower.result("arith.andi", [some, grower.number(type_, highest)], type_)
    return grower.result("arith.ori", [some, grower.number(type_, 1)], type_)


def _amount(type_: ty.Type, grower: Grower) -> SSAValue:
    """Return a shift amount below the width."""
    width = width_of(ty.element_type(type_))
    if grower.rng.random() < 0.4 or width < 2:
        return grower.number(type_, grower.rng.randrange(max(width, 1)))
    if width & (width - 1) == 0 and grower.rng.random() < 0.6:
        return grower.result("arith.andi", [grower.value(type_), grower.number(type_, width - 1)], type_)
    return grower.result("arith.remui", [grower.value(type_), grower.number(type_, width)], type_)


# --- containers -------------------------------------------------------------------------------------------------------


def _container(kind: type[ty.VectorType] | type[ty.TensorType], grower: Grower) -> ty.VectorType | ty.TensorType:
    """Choose a type of the program, of the kind."""
    present = [type_ for type_ in grower.plan.palette.containers if isinstance(type_, kind)]
    if not present:
        raise Unfit
    return grower.rng.choice(present)


def _broadcast(grower: Grower) -> None:
    type_ = _container(ty.VectorType, grower)
    shape = ty.static_shape(type_)
    rank = grower.rng.randint(0, len(shape) - 1)
    part = ty.VectorType(shape[len(shape) - rank :], type_.element) if rank else type_.element
    grower.append("vector.broadcast", [grower.value(part)], [type_])


def _vector_part(grower: Grower) -> tuple[ty.Type, ty.Type, dict[str, at.Attribute], list[SSAValue]]:
    """Choose a vector type and a position in its leading dimensions. Return the type, the type of the part there, and
    the position as constants and operands.
    """
    type_ = _container(ty.VectorType, grower)
    shape = ty.static_shape(type_)
    depth = grower.rng.randint(1, len(shape))
    written, operands = [], []
    for size in shape[:depth]:
        if grower.rng.random() < 0.35:
            operands.append(grower.position(size))
            written.append(DYNAMIC)
        else:
            written.append(grower.rng.randrange(size))
    position = at.DenseArrayAttr(ty.I64, tuple(index & (1 << 64) - 1 for index in written))
    part = type_.element if depth == len(shape) else ty.VectorType(shape[depth:], type_.element)
    return type_, part, {"static_position": position}, operands


def _vector_extract(grower: Grower) -> None:
    type_, part, properties, operands = _vector_part(grower)
    grower.append("vector.extract", [grower.value(type_), *operands], [part], properties)


def _vector_insert(grower: Grower) -> None:
    type_, part, properties, operands = _vector_part(grower)
    grower.append("vector.insert", [grower.value(part), grower.value(type_), *operands], [type_], properties)


def _splat(grower: Grower) -> None:
    type_ = _container(ty.TensorType, grower)
    grower.append("tensor.splat", [grower.value(type_.element)], [type_])


def _from_elements(grower: Grower) -> None:
    type_ = _container(ty.TensorType, grower)
    elements = [grower.value(type_.element) for _ in range(ty.element_count(type_) or 0)]
    grower.append("tensor.from_elements", elements, [type_])


def _tensor_extract(grower: Grower) -> None:
    type_ = _container(ty.TensorType, grower)
    indices = [grower.position(size) for size in ty.static_shape(type_)]
    grower.append("tensor.extract", [grower.value(type_), *indices], [type_.element])


def _tensor_insert(grower: Grower) -> None:
    type_ = _container(ty.TensorType, grower)
    indices = [grower.position(size) for size in ty.static_shape(type_)]
    grower.append("tensor.insert", [grower.value(type_.element), grower.value(type_), *indices], [type_])


def _tensor_cast(grower: Grower) -> None:
    """Cast a tensor to a type without its size, extract an element, and cast the tensor back."""
    type_ = _container(ty.TensorType, grower)
    hidden = ty.TensorType((None,) * len(ty.static_shape(type_)), type_.element)
    cast = grower.result("tensor.cast", [grower.value(type_)], hidden)
    del grower.visible[hidden]  # a constant of this type does not exist
    places = [grower.position(size) for size in ty.static_shape(type_)]
    grower.append("tensor.extract", [cast, *places], [type_.element])
    grower.append("tensor.cast", [cast], [type_])


# --- others -----------------------------------------------------------------------------------------------------------


def _apply(grower: Grower) -> None:
    """Apply a map to one or two indices that are small enough not to overflow."""
    rng = grower.rng
    count = rng.randint(1, 2)
    dimensions = [affine.Dimension(number) for number in range(count)]
    expr: affine.AffineExpr = dimensions[0]
    for _ in range(rng.randint(1, 3)):
        operator = rng.choice(tuple(affine.OPERATORS))
        other: affine.AffineExpr = affine.AffineConstant(rng.choice((1, 2, 3, 4, 5, 7, 8, 16)))
        if operator in ("+", "-") and count > 1 and rng.random() < 0.6:
            other = dimensions[1]
        expr = affine.OPERATORS[operator](expr, other)
    operands = []
    for _ in dimensions:
        below = grower.number(ty.INDEX, rng.choice((4, 10, 16, 100, 1000)))
        operands.append(grower.result("arith.remui", [grower.index(), below], ty.INDEX))
    grower.append("affine.apply", operands, [ty.INDEX], {"map": at.AffineMapAttr(count, 0, (expr,))})


def _poison(grower: Grower) -> None:
    (type_,) = grower.some_types(1, 1) or (ty.I1,)
    grower.append("ub.poison", [], [type_], {"value": POISON_ATTR.attribute(0)})


# --- memory: filled first, and no access out of bounds ----------------------------------------------------------------

SHAPES = ((), (1,), (2,), (4,), (2, 2))


def _allocate(grower: Grower) -> None:
    """Make a buffer, and store to every element."""
    if grower.loops:
        raise Unfit  # a buffer for each round makes long runs, and nothing else
    rng = grower.rng
    type_ = ty.MemRefType(rng.choice(SHAPES), rng.choice(grower.plan.palette.elements))
    name = rng.choice(("memref.alloca", "memref.alloc"))
    buffer = grower.result(name, [], type_, operandSegmentSizes=at.DenseArrayAttr(ty.I32, (0, 0)))
    for place in product(*(range(size) for size in ty.static_shape(buffer.type))):
        indices = [grower.number(ty.INDEX, index) for index in place]
        grower.append("memref.store", [grower.value(type_.element), buffer, *indices])


def _buffer(grower: Grower) -> SSAValue:
    if not grower.memory:
        raise Unfit
    return grower.rng.choice(grower.memory)


def load(grower: Grower, buffer: SSAValue) -> SSAValue:
    """Append a load from any place of a buffer."""
    indices = [grower.position(size) for size in ty.static_shape(buffer.type)]
    return grower.result("memref.load", [buffer, *indices], ty.element_type(buffer.type))


def _load(grower: Grower) -> None:
    load(grower, _buffer(grower))


def _store(grower: Grower) -> None:
    buffer = _buffer(grower)
    indices = [grower.position(size) for size in ty.static_shape(buffer.type)]
    grower.append("memref.store", [grower.value(ty.element_type(buffer.type)), buffer, *indices])


def _buffer_part(grower: Grower) -> tuple[SSAValue, list[SSAValue], ty.VectorType]:
    """Choose a place in a buffer, and the type of the vector there."""
    buffer = _buffer(grower)
    sizes, element = ty.static_shape(buffer.type), ty.element_type(buffer.type)
    if not sizes or isinstance(element, ty.IndexType):
        raise Unfit
    length = grower.rng.randint(1, sizes[-1])
    indices = [grower.position(size) for size in (*sizes[:-1], sizes[-1] - length + 1)]
    return buffer, indices, ty.VectorType((length,), element)


def _vector_load(grower: Grower) -> None:
    buffer, indices, type_ = _buffer_part(grower)
    grower.append("vector.load", [buffer, *indices], [type_])


def _vector_store(grower: Grower) -> None:
    buffer, indices, type_ = _buffer_part(grower)
    grower.append("vector.store", [grower.value(type_), buffer, *indices])


# --- control flow, with loops that end, and calls ---------------------------------------------------------------------

MOST_ROUNDS = 6
DEEPEST = 3
MOST_LOOPS = 2
MOST_HELPERS = 2


def _block(types: Sequence[ty.Type]) -> Block:
    """Return a block with arguments of these types."""
    block = Block()
    for type_ in types:
        block.add_argument(type_)
    return block


def _depth(grower: Grower, loop: bool = False) -> None:
    if grower.depth >= DEEPEST or (loop and grower.loops >= MOST_LOOPS) or grower.plan.left < 2:
        raise Unfit


def _count(grower: Grower) -> int:
    return grower.rng.randint(1, 4)


def _yield(grower: Grower, types: Sequence[ty.Type]) -> None:
    grower.append("scf.yield", [grower.value(type_) for type_ in types])


# --- scf --------------------------------------------------------------------------------------------------------------


def _if(grower: Grower) -> None:
    _depth(grower)
    condition = grower.known(ty.I1)
    types = grower.some_types(0, 2)
    regions = []
    for number in range(2):
        if number and not types and grower.rng.random() < 0.5:
            regions.append(Region())  # without else
            continue
        inner = grower.inside(Block())
        inner.grow(_count(grower))
        _yield(inner, types)
        regions.append(Region([inner.block]))
    grower.append("scf.if", [condition], types, regions=regions)


def _bounds(grower: Grower) -> tuple[ty.Type, list[SSAValue], int]:
    """Choose the bounds and the step of a loop of few rounds, and a number that the counter does not reach."""
    rng = grower.rng
    wide = [type_ for type_ in grower.plan.palette.integers if width_of(type_) >= 5]
    type_ = ty.INDEX if rng.random() < 0.6 or not wide else rng.choice(wide)
    low = rng.choice((0, 0, 0, 1, 2))
    high = low + rng.randint(0, MOST_ROUNDS)
    upper = grower.number(type_, high)
    if rng.random() < 0.4:
        some = grower.index() if type_ == ty.INDEX else grower.value(type_)
        high = rng.randint(1, MOST_ROUNDS + 1)
        upper = grower.result("arith.remui", [some, grower.number(type_, high)], type_)
    return type_, [grower.number(type_, low), upper, grower.number(type_, rng.choice((1, 1, 1, 2, 3)))], high


def _for(grower: Grower) -> None:
    _depth(grower, loop=True)
    type_, bounds, high = _bounds(grower)
    types = grower.some_types(0, 3)
    inits = [grower.value(kind) for kind in types]
    block = _block([type_, *types])
    inner = grower.inside(block, loop=True)
    grower.plan.below[block.arguments[0]] = high
    inner.grow(_count(grower))
    _yield(inner, types)
    flag = {"unsignedCmp": at.UnitAttr()} if grower.rng.random() < 0.1 else {}
    grower.append("scf.for", [*bounds, *inits], types, flag, [Region([block])])


def _counted(grower: Grower) -> tuple[ty.Type, list[ty.Type], list[SSAValue], int]:
    """Return the types of a counter and of carried values, the values before the loop, and the number of rounds."""
    wide = [type_ for type_ in grower.plan.palette.integers if width_of(type_) >= 5]
    counter = grower.rng.choice(wide or [ty.INDEX])
    types = grower.some_types(0, 2)
    inits = [grower.number(counter, 0), *(grower.value(kind) for kind in types)]
    return counter, [counter, *types], inits, grower.rng.randint(0, MOST_ROUNDS)


def _goes_on(grower: Grower, counter: SSAValue, rounds: int) -> SSAValue:
    """Append the condition of a loop: the counter is below the number of rounds, and sometimes a second condition."""
    rng = grower.rng
    predicate = at.IntegerAttr(rng.choice((2, 6)), ty.I64)  # slt, ult
    operands = [counter, grower.number(counter.type, rounds)]
    below = grower.result("arith.cmpi", operands, ty.I1, predicate=predicate)
    if rng.random() < 0.3 and ty.I1 in grower.visible:
        return grower.result("arith.andi", [below, grower.value(ty.I1)], ty.I1)
    return below


def _next(grower: Grower, counter: SSAValue, types: Sequence[ty.Type]) -> list[SSAValue]:
    one = grower.number(counter.type, 1)
    more = grower.result("arith.addi", [counter, one], counter.type, overflowFlags=OVERFLOW.attribute(0))
    return [more, *(grower.value(type_) for type_ in types[1:])]


def _while(grower: Grower) -> None:
    _depth(grower, loop=True)
    _, types, inits, rounds = _counted(grower)
    before, after = _block(types), _block(types)
    asking = grower.inside(before, loop=True)
    asking.grow(grower.rng.randint(0, 2))
    goes_on = _goes_on(asking, before.arguments[0], rounds)
    passed = [before.arguments[0], *(asking.value(type_) for type_ in types[1:])]
    asking.append("scf.condition", [goes_on, *passed])
    inner = grower.inside(after, loop=True)
    inner.grow(_count(grower))
    inner.append("scf.yield", _next(inner, after.arguments[0], types))
    grower.append("scf.while", inits, types, regions=[Region([before]), Region([after])])


def _execute_region(grower: Grower) -> None:
    _depth(grower)
    types = grower.some_types(0, 2)
    region = Region([Block()])
    inner = grower.inside(region.blocks[0], region)
    inner.grow(_count(grower))
    _yield(inner, types)
    grower.append("scf.execute_region", [], types, regions=[region])


# --- cf ---------------------------------------------------------------------------------------------------------------


def _region(grower: Grower) -> Region:
    if grower.region is None:
        raise Unfit
    return grower.region


def _continue_in(grower: Grower, block: Block) -> None:
    """Continue in a block whose arguments are visible from here."""
    _region(grower).append(block)
    grower.block = block
    for argument in block.arguments:
        grower.show(argument)


def _segments(*sizes: int) -> at.DenseArrayAttr:
    return at.DenseArrayAttr(ty.I32, sizes)


def _arm(grower: Grower, merge: Block, types: Sequence[ty.Type]) -> Block:
    """Add a block that grows and then branches to another one."""
    block = Block()
    _region(grower).append(block)
    inner = grower.inside(block, grower.region)
    inner.grow(_count(grower))
    inner.append("cf.br", successors=[(merge, [inner.value(type_) for type_ in types])])
    return block


def _diamond(grower: Grower) -> None:
    _region(grower)
    _depth(grower)
    condition = grower.known(ty.I1)
    types = grower.some_types(0, 2)
    merge = _block(types)
    head = grower.block
    yes = _arm(grower, merge, types)
    direct = grower.rng.random() < 0.3
    passed = [grower.value(type_) for type_ in types] if direct else []
    no = merge if direct else _arm(grower, merge, types)
    properties = {"operandSegmentSizes": _segments(1, 0, len(passed))}
    assert grower.block is head
    grower.append("cf.cond_br", [condition], properties=properties, successors=[(yes, []), (no, passed)])
    grower.plan.used.update(passed)
    _continue_in(grower, merge)


def _switch(grower: Grower) -> None:
    _region(grower)
    _depth(grower)
    flags = [type_ for type_ in grower.visible if isinstance(type_, ty.IntegerType) and type_.width > 1]
    if not flags:
        raise Unfit
    flag = grower.known(grower.rng.choice(flags))
    types = grower.some_types(0, 2)
    merge = _block(types)
    width = width_of(flag.type)
    codes = sorted({grower.rng.choice((0, 1, 2, 3, 255, grower.rng.getrandbits(8))) & ((1 << width) - 1) for _ in "ab"})
    arms = [_arm(grower, merge, types) for _ in range(len(codes) + 1)]
    values = at.DenseElementsAttr(ty.VectorType((len(codes),), flag.type), ints_to_codes(codes, width, (len(codes),)))
    properties = {
        "case_values": values,
        "case_operand_segments": _segments(*[0] * len(codes)),
        "operandSegmentSizes": _segments(1, 0, 0),
    }
    grower.append("cf.switch", [flag], properties=properties, successors=[(arm, []) for arm in arms])
    _continue_in(grower, merge)


def _cf_loop(grower: Grower) -> None:
    """Append a loop of blocks: its head decides, and its body branches back to the head."""
    region = _region(grower)
    _depth(grower, loop=True)
    _, types, inits, rounds = _counted(grower)
    head, body, after = _block(types), Block(), Block()
    grower.append("cf.br", successors=[(head, inits)])
    grower.plan.used.update(inits)
    _continue_in(grower, head)
    condition = _goes_on(grower, head.arguments[0], rounds)
    region.append(body)
    inner = grower.inside(body, region, loop=True)
    inner.grow(_count(grower))
    inner.append("cf.br", successors=[(head, _next(inner, head.arguments[0], types))])
    properties = {"operandSegmentSizes": _segments(1, 0, 0)}
    grower.append("cf.cond_br", [condition], properties=properties, successors=[(body, []), (after, [])])
    _continue_in(grower, after)


# --- calls ------------------------------------------------------------------------------------------------------------


def _call(grower: Grower) -> None:
    plan, rng = grower.plan, grower.rng
    if len(plan.helpers) < MOST_HELPERS and (not plan.helpers or rng.random() < 0.4):
        _depth(grower)
        plan.helpers.append(_helper(plan))
    if not plan.helpers:
        raise Unfit
    helper = rng.choice(plan.helpers)
    operands = [grower.value(type_) for type_ in argument_types(helper)]
    callee = at.SymbolRefAttr(helper.symbol_name or "")
    grower.append("func.call", operands, result_types(helper), {"callee": callee})


def _helper(plan: Plan) -> Operation:
    """Grow a private function that calls no other."""
    block = _block(random_arguments(plan.rng, plan.palette))
    kept = [number for number, row in enumerate(plan.rows) if row.family not in ("calls", "cf")]
    rows, weights = plan.rows, plan.weights
    plan.rows, plan.weights = [rows[number] for number in kept], [weights[number] for number in kept]
    grower = Grower(plan, block, None)
    grower.depth = DEEPEST - 1
    grower.grow(_count(grower) + 1)
    plan.rows, plan.weights = rows, weights
    results = [grower.value(type_) for type_ in grower.some_types(1, 2)]
    made = function(f"helper{len(plan.helpers)}", block, results)
    made.properties["sym_visibility"] = at.StringAttr("private")
    return made


# --- whole functions --------------------------------------------------------------------------------------------------

MOST_RESULTS = 12
"""Most results of a function. Values that no op uses are returned first."""

PRESENT = {"quant": 1.0, "affine": 0.25, "memory": 0.3, "scf": 0.5, "cf": 0.3, "calls": 0.25, "poison": 0.06}
"""The probability that a program has a family of rows; `OTHERS` for families that are not named."""

OTHERS = 0.75


@cache
def all_rows() -> tuple[Row, ...]:
    """Return all rows of the table of ways to continue a program."""
    families = {op: "quant" if op.dialect == "quant" else op.name for op in elementwise_ops()}
    return (
        *(Row(op.name, families[op], WEIGHTS.get(op.name, 1.0), partial(_elementwise, op)) for op in families),
        Row("vector.broadcast", "vector", 1.5, _broadcast),
        Row("vector.extract", "vector", 1.5, _vector_extract),
        Row("vector.insert", "vector", 1.0, _vector_insert),
        Row("tensor.splat", "tensor", 1.0, _splat),
        Row("tensor.from_elements", "tensor", 1.5, _from_elements),
        Row("tensor.extract", "tensor", 1.5, _tensor_extract),
        Row("tensor.insert", "tensor", 1.0, _tensor_insert),
        Row("tensor.cast", "tensor", 0.7, _tensor_cast),
        Row("affine.apply", "affine", 3.0, _apply),
        Row("ub.poison", "poison", 0.5, _poison),
        Row("memref.alloca", "memory", 2.0, _allocate),
        Row("memref.load", "memory", 3.0, _load),
        Row("memref.store", "memory", 3.0, _store),
        Row("vector.load", "memory", 0.7, _vector_load),
        Row("vector.store", "memory", 0.7, _vector_store),
        Row("scf.if", "scf", 3.0, _if),
        Row("scf.for", "scf", 3.0, _for),
        Row("scf.while", "scf", 1.5, _while),
        Row("scf.execute_region", "scf", 0.5, _execute_region),
        Row("cf.cond_br", "cf", 4.0, _diamond),
        Row("cf.switch", "cf", 1.5, _switch),
        Row("cf.br", "cf", 2.0, _cf_loop),
        Row("func.call", "calls", 2.0, _call),
    )


def random_function(seed: int, index: int) -> RandomFunction:
    """Return program ``index`` of a seed."""
    rng = random.Random(f"function {seed} {index}")
    palette = random_palette(rng)
    rows, weights = _chosen_rows(rng, palette)
    plan = Plan(rng, palette, rows, weights, rng.choice((5, 8, 12, 16, 24, 32)))
    singly = any(row.family == "memory" for row in rows)
    block = _block(random_arguments(rng, palette, singly))
    region = Region([block])
    grower = Grower(plan, block, region)
    while plan.left > 0:
        before = plan.left
        grower.grow(plan.left)
        if plan.left == before:
            break
    return RandomFunction(seed, index, module_around([*plan.helpers, _main(grower, region)]))


def _chosen_rows(rng: random.Random, palette: Palette) -> tuple[list[Row], list[float]]:
    """Choose some families of rows, and their weights: a program with few kinds of ops has more combinations of
    these.
    """
    often = dict(PRESENT) if palette.quantized else PRESENT | {"quant": 0.0}
    families = {row.family: rng.random() < often.get(row.family, OTHERS) for row in all_rows()}
    chosen = [row for row in all_rows() if families[row.family]]
    factors = {row.family: rng.choice((0.4, 1.0, 1.0, 2.5)) for row in chosen}
    return chosen, [row.weight * factors[row.family] for row in chosen]


def _main(grower: Grower, region: Region) -> Operation:
    """End a function. It returns the values that nothing uses, some others, and the contents of memory."""
    results = _results(grower)
    grower.append("func.return", results)
    inputs = tuple(argument.type for argument in region.blocks[0].arguments)
    signature = ty.FunctionType(inputs, tuple(value.type for value in results))
    properties = {"function_type": at.TypeAttr(signature), "sym_name": at.StringAttr(NAME)}
    return Operation("func.func", definition_of("func.func"), properties=properties, regions=[region])


def _results(grower: Grower) -> list[SSAValue]:
    used = set(grower.plan.used)
    for buffer in grower.memory:
        load(grower, buffer)
    values = [value for values in grower.visible.values() for value in values]
    values.sort(key=lambda value: value in used)
    unused = sum(value not in used for value in values)
    extra = grower.rng.randint(0, 3)
    chosen = values[:unused][-MOST_RESULTS:] + grower.rng.sample(values[unused:], min(extra, len(values) - unused))
    return [returnable(value, grower.block) for value in chosen]


def random_functions(seed: int, count: int, first: int = 0) -> Iterator[RandomFunction]:
    """Yield programs ``first`` to ``first + count - 1`` of a seed."""
    return (random_function(seed, index) for index in range(first, first + count))
