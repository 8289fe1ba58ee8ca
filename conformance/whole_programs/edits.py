"""Small changes of whole programs, with control flow and memory, for the reducer. Each gives candidates to test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from halfulp.conformance.oracles.oracle import ClosedProgram
from halfulp.conformance.whole_programs.op_search import verified, without_unneeded_functions
from halfulp.conformance.whole_programs.rewrite import constant, copied, definition_of, module_with, returns
from halfulp.fp_formats.formats import FloatFormat, ints_to_codes
from halfulp.interp.declare.declarations import Trait
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, BlockArgument, Operation, OpResult, SSAValue, result_types
from halfulp.interp.ir.types import element_width, width_of

# --- simpler codes ----------------------------------------------------------------------------------------------------
#
# Simpler codes to try in place of an element's code.


def simpler_codes(type_: ty.Type, code: int) -> list[int]:
    """Return simpler codes to try for one, the simplest first."""
    width = width_of(type_)
    mask = (1 << width) - 1
    if isinstance(type_, ty.FloatType):
        tried = _simpler_floats(type_.format, code)
    else:
        signed = code - (1 << width) if code >> (width - 1) else code
        tried = [0, 1, mask, 2, 3, 1 << (width - 1), (1 << (width - 1)) - 1, -signed & mask]
        tried += [signed // (1 << k) & mask for k in range(width - 1, 0, -1)]
        tried += [code & ~((1 << k) - 1) for k in range(width - 1, 0, -1)]
    key = _complexity(type_, code)
    found = dict.fromkeys(one & mask for one in tried)
    return sorted((one for one in found if _complexity(type_, one) < key), key=lambda one: _complexity(type_, one))


def _simpler_floats(fmt: FloatFormat, code: int) -> list[int]:
    sign = fmt.sign_mask or 0
    one = _code_of_one(fmt)
    tried = [0, one, one | sign, code & ~sign]
    tried += [special for special in (fmt.infinity_code, fmt.nan_code, fmt.max_code, 1) if special is not None]
    tried += [code & ~((1 << k) - 1) for k in range(fmt.mantissa_bits + fmt.exponent_bits, 0, -1)]
    return tried


def _code_of_one(fmt: FloatFormat) -> int:
    bit = fmt.explicit_integer_bit
    return fmt.bias << (fmt.mantissa_bits + bit) | bit << fmt.mantissa_bits


def _complexity(type_: ty.Type, code: int) -> tuple[int, int, int]:
    width = width_of(type_)
    if not code:
        return (0, 0, 0)
    if isinstance(type_, ty.FloatType):
        sign = type_.format.sign_mask or 0
        magnitude = code & ~sign
        plain = magnitude == _code_of_one(type_.format)
        return (1 if plain else 2, magnitude.bit_length() - (magnitude & -magnitude).bit_length(), bool(code & sign))
    signed = code - (1 << width) if code >> (width - 1) else code
    return (
        1,
        abs(signed).bit_length() - (abs(signed) & -abs(signed)).bit_length() // 2,
        2 * abs(signed) + (signed < 0),
    )


# --- edits ------------------------------------------------------------------------------------------------------------

SIDE_EFFECTS = frozenset({"memref.store", "vector.store", "vector.print", "memref.dealloc", "cf.assert", "func.call"})
"""Ops that do more than to give results."""


class Draft:
    """A copy of a program that is edited in place."""

    def __init__(self, program: ClosedProgram) -> None:
        self.module = module_with(program.module.body, program.module)
        main = self.module.lookup(program.function)
        assert main is not None
        self.main = main
        self.name = program.function
        self.arguments = program.arguments
        self.ops = [op for op in main.walk() if op is not main]
        self._unused = _unused(main)  # a tool may crash on them

    def replace(self, old: SSAValue, new: SSAValue) -> None:
        """Use another value wherever one is used."""
        for op in self.main.walk():
            op.operands = [new if value is old else value for value in op.operands]
            op.successors = [
                (block, [new if value is old else value for value in passed]) for block, passed in op.successors
            ]

    def finished(self) -> ClosedProgram | None:
        """Return the program without the ops, blocks and functions that are no longer used; None if it is not valid."""
        for op in self.main.walk():
            for region in op.regions:
                _tidy_blocks(region.blocks, self)
        while dropped := [op for op in _unused(self.main) if op not in self._unused]:
            for op in dropped:
                _drop(op)
        return verified(ClosedProgram(without_unneeded_functions(self.module, self.name), self.name, self.arguments))


def _tidy_blocks(blocks: list[Block], draft: Draft) -> None:
    """Remove blocks that nothing reaches, and append a block to the only one that goes to it."""
    while len(blocks) > 1:
        reached, waiting = {blocks[0]}, [blocks[0]]
        while waiting:
            for target, _ in _successors(waiting.pop()):
                if target not in reached:
                    reached.add(target)
                    waiting.append(target)
        blocks[:] = [block for block in blocks if block in reached]
        into = {target: [] for target in blocks}  # type: dict[Block, list[Block]]
        for block in blocks:
            for target, _ in _successors(block):
                into[target].append(block)
        for block in blocks[1:]:
            (source, *more) = into[block]
            end = source.operations[-1]
            if not more and end.name == "cf.br" and source is not block:
                source.operations.pop()
                for argument, value in zip(block.arguments, end.successors[0][1], strict=True):
                    draft.replace(argument, value)
                for op in block.operations:
                    source.append(op)
                blocks.remove(block)
                break
        else:
            return


def _successors(block: Block) -> Sequence[tuple[Block, list[SSAValue]]]:
    return block.operations[-1].successors if block.operations else ()


def _unused(main: Operation) -> list[Operation]:
    """Return the ops that only give results, which nothing uses."""
    used = _used(main.walk())
    return [op for op in main.walk() if op is not main and _only_gives(op) and used.isdisjoint(op.results)]


def _used(ops: Iterable[Operation]) -> set[SSAValue]:
    found: set[SSAValue] = set()
    for op in ops:
        found.update(op.operands, *(passed for _, passed in op.successors))
    return found


def _drop(op: Operation) -> None:
    """Remove an op from its block, unless it is gone."""
    if op.parent is not None and op in op.parent.operations:
        op.parent.operations.remove(op)


def _only_gives(op: Operation) -> bool:
    """Tell whether an op may go if nothing uses its results. A loop may be endless, but then the program is."""
    if op.definition is None or Trait.TERMINATOR in op.definition.traits:
        return False
    return not any(inner.name in SIDE_EFFECTS or inner.definition is None for inner in op.walk())


# --- the changes ------------------------------------------------------------------------------------------------------


def fewer_results(program: ClosedProgram) -> Iterator[ClosedProgram | None]:
    """Yield the program with one of its results, then with half of them."""
    count = len(result_types(_main(program)))
    if count < 2:
        return
    halves = [range(count // 2), range(count // 2, count)]
    for kept in [*([number] for number in range(count)), *halves]:
        draft = Draft(program)
        for end in returns(draft.main):
            end.operands = [end.operands[number] for number in kept]
        _set_signature(draft.main, [result_types(draft.main)[number] for number in kept])
        yield draft.finished()


def fewer_arguments(program: ClosedProgram) -> Iterator[ClosedProgram | None]:
    """Yield the program without the arguments that nothing uses."""
    draft = Draft(program)
    entry = draft.main.regions[0].blocks[0]
    used = _used(draft.ops)
    kept = [argument for argument in entry.arguments if argument in used]
    if len(kept) == len(entry.arguments):
        return
    if draft.arguments:
        draft.arguments = tuple(draft.arguments[argument.index] for argument in kept)
    entry.arguments = kept
    for number, argument in enumerate(kept):
        argument.index = number
    _set_signature(draft.main, result_types(draft.main))
    for name in ("arg_attrs", "res_attrs"):
        draft.main.properties.pop(name, None)
    yield draft.finished()


def fewer_branches(program: ClosedProgram) -> Iterator[ClosedProgram | None]:
    """Yield the program with a branch that goes one way only."""
    for number, op in enumerate(Draft(program).ops):
        for way in range(len(op.successors) if len(op.successors) > 1 else 0):
            draft = Draft(program)
            branch = draft.ops[number]
            assert branch.parent is not None
            branch.parent.operations.pop()
            branch.parent.append(Operation("cf.br", definition_of("cf.br"), successors=[branch.successors[way]]))
            yield draft.finished()


def without_regions(program: ClosedProgram) -> Iterator[ClosedProgram | None]:
    """Yield the program with the inside of an op with regions, or of a called function, in place of the op."""
    for number, op in enumerate(Draft(program).ops):
        for way in range(len(op.regions)):
            yield _inlined(program, number, way)
        if op.name == "func.call":
            yield _inlined(program, number, -1)


_GIVEN: Mapping[str, Callable[[int], Sequence[int]]] = {
    "scf.for": lambda count: (0, *range(3, count)),
    "scf.while": range,
}
"""The operands that the arguments of a region get in its first round, by number, for a count of operands."""


def _inlined(program: ClosedProgram, number: int, way: int) -> ClosedProgram | None:
    draft = Draft(program)
    op = draft.ops[number]
    if way < 0:
        callee = op.properties["callee"]
        target = draft.module.lookup(callee) if isinstance(callee, at.SymbolRefAttr) else None
        if target is None or not target.regions[0].blocks:
            return None
        region = copied(target, {}).regions[0]
        given: list[SSAValue] = list(op.operands)
    else:
        region = op.regions[way]
        places = _GIVEN[op.name](len(op.operands)) if op.name in _GIVEN else ()
        given = [op.operands[place] for place in places]
    if len(region.blocks) != 1 or op.parent is None:
        return None
    (block,) = region.blocks
    if len(block.arguments) != len(given) or any(
        argument.type != value.type for argument, value in zip(block.arguments, given, strict=True)
    ):
        return None
    end = block.operations[-1]
    place = op.parent.operations.index(op)
    inside = block.operations[:-1]
    op.parent.operations[place : place + 1] = inside
    for inner in inside:
        inner.parent = op.parent
    for argument, value in zip(block.arguments, given, strict=True):
        for inner in (*inside, end):
            for each in inner.walk():
                each.operands = [value if one is argument else one for one in each.operands]
    yielded = end.operands[1:] if end.name == "scf.condition" else end.operands
    if len(yielded) < len(op.results):
        return None
    for result, value in zip(op.results, yielded, strict=False):
        if result.type != value.type:
            return None
        draft.replace(result, value)
    return draft.finished()


def without_ops(program: ClosedProgram) -> Iterator[ClosedProgram | None]:
    """Yield the program without an op: another value takes the place of each result."""
    for number, op in reversed(list(enumerate(Draft(program).ops))):
        if op.definition is None or Trait.TERMINATOR in op.definition.traits or op.name == "arith.constant":
            continue
        if not op.results:
            draft = Draft(program)
            _drop(draft.ops[number])
            yield draft.finished()
            continue
        for choose in (_same_operand, _same_argument, _zero, _ones):
            yield _replaced(program, number, choose)


def _replaced(
    program: ClosedProgram, number: int, choose: Callable[[Draft, Operation, OpResult], SSAValue | None]
) -> ClosedProgram | None:
    draft = Draft(program)
    op = draft.ops[number]
    used = _used(draft.ops)
    for result in op.results:
        if result in used:
            other = choose(draft, op, result)
            if other is None:
                return None
            draft.replace(result, other)
    if _only_gives(op):
        _drop(op)
    return draft.finished()


def _same_operand(draft: Draft, op: Operation, result: OpResult) -> SSAValue | None:
    return next((value for value in reversed(op.operands) if value.type == result.type), None)


def _same_argument(draft: Draft, op: Operation, result: OpResult) -> SSAValue | None:
    entry = draft.main.regions[0].blocks[0]
    return next((value for value in entry.arguments if value.type == result.type and value not in op.operands), None)


def _zero(draft: Draft, op: Operation, result: OpResult) -> SSAValue | None:
    return _before(op, _constant(result.type, 0))


def _ones(draft: Draft, op: Operation, result: OpResult) -> SSAValue | None:
    """Return -1 or true; the other types have one constant to try."""
    if not isinstance(result.type, ty.IntegerType | ty.IndexType):
        return None
    return _before(op, _constant(result.type, (1 << width_of(result.type)) - 1))


def _before(op: Operation, made: Operation | None) -> SSAValue | None:
    if made is None or op.parent is None:
        return None
    made.parent = op.parent
    op.parent.operations.insert(op.parent.operations.index(op), made)
    return made.results[0]


def shared_constants(program: ClosedProgram) -> Iterator[ClosedProgram | None]:
    """Yield the program with one constant in place of equal ones of a block."""
    draft = Draft(program)
    known: dict[tuple[object, ...], SSAValue] = {}
    before = len(draft.ops)
    for op in draft.ops:
        if op.name == "arith.constant":
            first = known.setdefault((op.parent, op.properties["value"], op.results[0].type), op.results[0])
            if first is not op.results[0]:
                draft.replace(op.results[0], first)
    shared = draft.finished()
    if shared is not None and sum(1 for _ in _main(shared).walk()) <= before:
        yield shared


def without_block_arguments(program: ClosedProgram) -> Iterator[ClosedProgram | None]:
    """Yield the program with what a block or a loop gets first in place of one of its arguments."""
    for number, op in enumerate(Draft(program).ops):
        for region in range(len(op.regions)):
            first = {"scf.for": 1, "scf.while": 0}.get(op.name)
            if first is None or region:
                continue
            skipped = 2 * first  # the bounds of a loop stand before the values that it carries
            for position in range(first, len(op.operands) - skipped):
                draft = Draft(program)
                twin = draft.ops[number]
                draft.replace(twin.regions[0].blocks[0].arguments[position], twin.operands[position + skipped])
                yield draft.finished()


def fewer_carried(program: ClosedProgram) -> Iterator[ClosedProgram | None]:
    """Yield the program with a loop or a choice that gives one value less, which nothing uses."""
    for number, op in enumerate(Draft(program).ops):
        if op.name not in ("scf.for", "scf.if", "scf.execute_region"):
            continue
        for position in range(len(op.results)):
            yield _without_carried(program, number, position)


def _without_carried(program: ClosedProgram, number: int, position: int) -> ClosedProgram | None:
    draft = Draft(program)
    op = draft.ops[number]
    blocks = [block for region in op.regions for block in region.blocks]
    ends = [block.operations[-1] for block in blocks if block.operations[-1].name == "scf.yield"]
    inner: BlockArgument | None = None
    if op.name == "scf.for":
        (block,) = blocks
        inner = block.arguments[position + 1]
    for other in draft.ops:
        if op.results[position] in other.operands or (
            inner is not None and inner in other.operands and other not in ends
        ):
            return None
    for end in ends:
        end.operands = [value for place, value in enumerate(end.operands) if place != position]
        if inner is not None and inner in end.operands:
            return None
    if inner is not None:
        blocks[0].arguments = [argument for argument in blocks[0].arguments if argument is not inner]
        for place, argument in enumerate(blocks[0].arguments):
            argument.index = place
        op.operands = [value for place, value in enumerate(op.operands) if place != position + 3]
    left = [result for place, result in enumerate(op.results) if place != position]
    for place, result in enumerate(left):
        result.index = place
    op.results = tuple(left)
    return draft.finished()


def simpler_constants(program: ClosedProgram) -> Iterator[ClosedProgram | None]:
    """Yield the program with a simpler constant."""
    for number, op in enumerate(Draft(program).ops):
        value = op.properties.get("value")
        if op.name != "arith.constant" or not isinstance(value, at.IntegerAttr | at.FloatAttr):
            continue
        for code in simpler_codes(value.type, value.code):
            draft = Draft(program)
            simpler = _constant(value.type, code)
            assert simpler is not None
            draft.ops[number].properties["value"] = simpler.properties["value"]
            yield draft.finished()


def _constant(type_: ty.Type, code: int) -> Operation | None:
    """Return a constant, the same for all elements; None if the type has none."""
    element = ty.element_type(type_)
    width = element_width(element)
    if width is None or isinstance(element, ty.QuantizedType) or isinstance(type_, ty.MemRefType):
        return None
    if isinstance(type_, ty.VectorType | ty.TensorType) and (code or ty.is_dynamic(type_)):
        return None
    return constant(type_, ints_to_codes([code], width, ()), splat=True)


def _main(program: ClosedProgram) -> Operation:
    main = program.module.lookup(program.function)
    assert main is not None
    return main


def _set_signature(main: Operation, results: Sequence[ty.Type]) -> None:
    inputs = tuple(argument.type for argument in main.regions[0].blocks[0].arguments)
    main.properties["function_type"] = at.TypeAttr(ty.FunctionType(inputs, tuple(results)))


Edit = Callable[[ClosedProgram], Iterator[ClosedProgram | None]]

EDITS: tuple[Edit, ...] = (
    fewer_results,
    fewer_branches,
    without_regions,
    without_ops,
    without_block_arguments,
    fewer_carried,
    fewer_arguments,
    shared_constants,
)
"""The changes that make a program smaller, in the order in which they are tried."""
