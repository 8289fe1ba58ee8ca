"""Ways to continue a program with control flow: scf and cf, with loops that end, and calls."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.conformance.whole_programs.generator.grower import Grower, Plan, Row, Unfit
from halfulp.conformance.whole_programs.generator.palette import random_arguments
from halfulp.conformance.whole_programs.rewrite import function
from halfulp.fp_formats.codes import ints_to_codes
from halfulp.interp.dialects.arith.ops import OVERFLOW
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue
from halfulp.interp.ir.types import width_of

MOST_ROUNDS = 6
DEEPEST = 3
MOST_LOOPS = 2
MOST_HELPERS = 2


def rows() -> list[Row]:
    """Return the rows of this file."""
    return [
        Row("scf.if", "scf", 3.0, _if),
        Row("scf.for", "scf", 3.0, _for),
        Row("scf.while", "scf", 1.5, _while),
        Row("scf.execute_region", "scf", 0.5, _execute_region),
        Row("cf.cond_br", "cf", 4.0, _diamond),
        Row("cf.switch", "cf", 1.5, _switch),
        Row("cf.br", "cf", 2.0, _cf_loop),
        Row("func.call", "calls", 2.0, _call),
    ]


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
    block = Block()
    for kind in (type_, *types):
        block.add_argument(kind)
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
    """Append the condition of a loop: the counter is below the number of rounds, and sometimes something else too."""
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
    before, after = Block(), Block()
    for type_ in types:
        before.add_argument(type_)
        after.add_argument(type_)
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
    """Go on in a block whose arguments are visible from here."""
    _region(grower).append(block)
    grower.block = block
    for argument in block.arguments:
        grower.show(argument)


def _merge(types: Sequence[ty.Type]) -> Block:
    block = Block()
    for type_ in types:
        block.add_argument(type_)
    return block


def _segments(*sizes: int) -> at.DenseArrayAttr:
    return at.DenseArrayAttr(ty.I32, sizes)


def _arm(grower: Grower, merge: Block, types: Sequence[ty.Type]) -> Block:
    """Add a block that grows and goes on to another one."""
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
    merge = _merge(types)
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
    merge = _merge(types)
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
    """Append a loop of blocks: its head decides, its body goes back to the head."""
    region = _region(grower)
    _depth(grower, loop=True)
    _, types, inits, rounds = _counted(grower)
    head, body, after = _merge(types), Block(), Block()
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
    signature = helper.properties["function_type"]
    assert isinstance(signature, at.TypeAttr)
    assert isinstance(signature.type, ty.FunctionType)
    operands = [grower.value(type_) for type_ in signature.type.inputs]
    callee = at.SymbolRefAttr(helper.symbol_name or "")
    grower.append("func.call", operands, signature.type.results, {"callee": callee})


def _helper(plan: Plan) -> Operation:
    """Grow a private function, which calls none."""
    block = Block()
    for type_ in random_arguments(plan.rng, plan.palette):
        block.add_argument(type_)
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
