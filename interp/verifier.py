"""The rules of the language that a parsed module must keep: constraints and rules of each op, terminators,
dominance, symbols.

Errors are mlir-opt's, at its position: the op's location, and in its order: an op before what is inside it, the ops
isolated from above (functions) after all else around them, then what an op asks of its regions and of the symbols in
them, and dominance last, in each isolated op.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from halfulp.interp.declare.declarations import Arity, EnumDefinition, OpDefinition, Slot, Trait, Unprefixed
from halfulp.interp.declare.operands import SEGMENTS, all_operands, shares_name, shares_of, spread
from halfulp.interp.ir.attributes import ArrayAttr, Attribute, DictionaryAttr, StringAttr, SymbolRefAttr, TypeAttr
from halfulp.interp.ir.errors import VerifyError, did_you_mean
from halfulp.interp.ir.locations import Location
from halfulp.interp.ir.operations import (
    Block,
    BlockArgument,
    Module,
    Operation,
    OpResult,
    Region,
    SSAValue,
    is_symbol_table,
)
from halfulp.interp.ir.types import FunctionType, Type


def verify(module: Module) -> None:
    """Check a whole module. Raises VerifyError for the first rule it breaks, in mlir-opt's order."""
    checked: dict[object, None] = {}
    dominance = _Dominance()
    open_ = [_verify_isolated(module.operation, checked, dominance)]
    while open_:
        inner = next(open_[-1], None)
        if inner is None:
            open_.pop()
        else:
            open_.append(_verify_isolated(inner, checked, dominance))


class _Inside:
    """An op whose inside is being verified: how far, and the isolated ops met directly in it."""

    __slots__ = ("block", "blocks", "isolated", "operations", "owner")

    def __init__(self, owner: Operation) -> None:
        self.owner = owner
        self.blocks = iter([block for region in owner.regions for block in region.blocks])
        self.block: Block | None = None
        self.operations: Iterator[Operation] = iter(())
        self.isolated: list[Operation] = []


def _verify_isolated(root: Operation, checked: dict[object, None], dominance: _Dominance) -> Iterator[Operation]:
    """Check an op, what is inside it, and at last dominance. An op inside that is isolated from above is yielded, to
    be checked when all else inside its parent is.
    """
    _verify_operation(root, checked)
    stack = [_Inside(root)]
    while stack:
        inside = stack[-1]
        for operation in inside.operations:
            if operation.regions:
                if _is_isolated(operation):
                    inside.isolated.append(operation)
                    continue
                _verify_operation(operation, checked)
                stack.append(_Inside(operation))
                break
            _verify_operation(operation, checked)
        else:
            if inside.block is not None:
                _leave_block(inside.block, inside.owner)
            inside.block = next(inside.blocks, None)
            if inside.block is not None:
                _enter_block(inside.block, inside.owner)
                inside.operations = iter(inside.block.operations)
                continue
            stack.pop()
            yield from inside.isolated
            _leave_operation(inside.owner)
    dominance.verify_inside(root)


def _fail(
    operation: Operation,
    message: str,
    notes: Sequence[tuple[Location | None, str]] = (),
    hint: str | None = None,
) -> NoReturn:
    text = message if isinstance(message, Unprefixed) else f"'{operation.name}' op {message}"
    place = operation.position or operation.location
    raise VerifyError(text, location=place, op=operation.name, notes=notes, hint=hint)


# --- one op ---------------------------------------------------------------------------------------------------------


def _verify_operation(operation: Operation, checked: dict[object, None]) -> None:
    definition = operation.definition
    if definition is not None:
        _verify_registered(operation, definition, checked)
    for region in operation.regions:
        if region.blocks and _has_predecessor(region):
            _fail_at(operation, "entry block of region may not have predecessors")


def _leave_operation(operation: Operation) -> None:
    """What is asked of an op after all inside it was verified."""
    definition = operation.definition
    if definition is None:
        return
    if definition.verify_regions is not None:
        message = definition.verify_regions(operation)
        if message is not None:
            _fail(operation, message)
    if Trait.SYMBOL_TABLE in definition.traits:
        _verify_symbols(operation)


def problem_of(operation: Operation) -> VerifyError | None:
    """What is wrong with an op of a known definition, apart from what is around and inside it."""
    assert operation.definition is not None
    try:
        _verify_registered(operation, operation.definition, {})
    except VerifyError as error:
        return error
    return None


def _verify_registered(operation: Operation, definition: OpDefinition, checked: dict[object, None]) -> None:
    # An op's types are checked once per combination: a large file has few of them.
    plain = not operation.successors and not operation.regions
    if plain:
        key = (
            definition,
            tuple([value.type for value in operation.operands]),
            tuple([result.type for result in operation.results]),
        )
        if key not in checked:
            _verify_types(operation, definition)
            checked[key] = None
    else:
        _verify_types(operation, definition)
    _verify_properties(operation, definition, checked)
    if definition.type_rules and not _rules_in_key(definition, plain):
        _verify_rules(operation, definition)
    if definition.regions or operation.regions:
        _verify_regions(operation, definition)
    if Trait.TERMINATOR in definition.traits:
        _verify_last(operation)
        for number, (successor, values) in enumerate(operation.successors):
            _verify_branch(operation, number, successor, values)
    elif operation.successors:
        _fail(operation, "requires 0 successors but found " + str(len(operation.successors)))
    if definition.verify is not None:
        message = definition.verify(operation)
        if message is not None:
            _fail(operation, message)
    special = _SPECIAL.get(operation.name)
    if special is not None:
        special(operation)
    if not operation.regions and definition.verify_regions is not None:
        _leave_operation(operation)


def _rules_in_key(definition: OpDefinition, plain: bool) -> bool:
    """Whether the type rules were part of what `_verify_types` remembers: they are unless attributes have a say."""
    return plain and all(isinstance(prop.kind, EnumDefinition) for prop in definition.properties)


def _verify_types(operation: Operation, definition: OpDefinition) -> None:
    operands = _groups(operation, definition.operands, all_operands(operation), "operand")
    results = _groups(operation, definition.results, list(operation.results), "result")
    for what, slots, groups in (("operand", definition.operands, operands), ("result", definition.results, results)):
        number = 0
        for slot, group in zip(slots, groups, strict=True):
            for value in group:
                if not slot.constraint.accepts(value.type):
                    variadic = "" if slot.arity is Arity.ONE else "variadic of "
                    _fail(
                        operation,
                        f"{what} #{number} must be {variadic}{slot.constraint.description}, but got '{value.type}'",
                    )
                number += 1
    variable = any(slot.arity is not Arity.ONE for slot in definition.successors)
    if definition.successors and not variable and len(operation.successors) != len(definition.successors):
        _fail(operation, f"requires {len(definition.successors)} successors but found {len(operation.successors)}")
    if _rules_in_key(definition, not operation.successors and not operation.regions):
        _verify_rules(operation, definition)


def _check_shares(operation: Operation, definition: OpDefinition, sizes: Sequence[int]) -> None:
    """That the shares of a variadic successor's blocks are what the op has for all of them."""
    for successor in definition.successors:
        if successor.arity is not Arity.ONE:
            names = [slot.name for slot in definition.operands]
            operand, shares = f"{successor.name}Operands", shares_of(operation, successor)
            if min(shares, default=0) < 0:
                _fail(operation, f"'{shares_name(successor)}' attribute cannot have negative elements")
            count = sizes[names.index(operand)]
            if sum(shares) != count:
                _fail(
                    operation,
                    f"{operand} count ({count}) does not match with the total size ({sum(shares)}) specified in "
                    f"attribute '{shares_name(successor)}'",
                )


def _groups(
    operation: Operation, slots: Sequence[Slot], values: Sequence[SSAValue], what: str
) -> list[Sequence[SSAValue]]:
    """The values of each slot. Raises VerifyError where their number does not fit."""
    definition = operation.definition
    sizes: list[int] | None
    if what == "operand" and definition is not None and Trait.ATTR_SIZED_OPERAND_SEGMENTS in definition.traits:
        sizes = list(getattr(operation.properties.get(SEGMENTS), "values", ()))
        if len(sizes) != len(slots) or sum(sizes) != len(values):
            _fail(
                operation,
                f"operand count ({len(values)}) does not match with the total size ({sum(sizes)}) specified in "
                f"attribute '{SEGMENTS}'",
            )
        _check_shares(operation, definition, sizes)
    else:
        sizes = spread(slots, len(values))
    if sizes is None:
        least = sum(slot.arity is Arity.ONE for slot in slots)
        exact = least == len(slots)
        number = {0: f"zero {what}s", 1: f"a single {what}"}.get(least, f"{least} {what}s")
        if exact and least < 2:
            _fail(operation, f"requires {number}")
        if exact:
            _fail(operation, f"expected {least} {what}s, but found {len(values)}")
        _fail(operation, f"expected {least} or more {what}s, but found {len(values)}")
    groups: list[Sequence[SSAValue]] = []
    start = 0
    for size in sizes:
        groups.append(values[start : start + size])
        start += size
    return groups


def _verify_properties(operation: Operation, definition: OpDefinition, checked: dict[object, None]) -> None:
    properties = operation.properties
    for prop in definition.properties:
        attribute = properties.get(prop.name)
        if attribute is None:
            if not prop.optional:
                _fail(operation, f"requires attribute '{prop.name}'")
            continue
        key = (prop.kind, id(attribute))
        if key in checked:
            continue
        if not prop.kind.accepts(attribute):
            _fail(operation, f"attribute '{prop.name}' failed to satisfy constraint: {prop.kind.description}")
        checked[key] = None


def _verify_rules(operation: Operation, definition: OpDefinition) -> None:
    types: dict[str, Any] = {}
    operands = _groups(operation, definition.operands, all_operands(operation), "operand")
    results = _groups(operation, definition.results, list(operation.results), "result")
    for slots, groups in ((definition.operands, operands), (definition.results, results)):
        for slot, group in zip(slots, groups, strict=True):
            kinds = tuple(value.type for value in group)
            types[slot.name] = kinds[0] if slot.arity is Arity.ONE else kinds
    for rule in definition.type_rules:
        if not rule.holds(types, operation.properties):
            _fail(operation, rule.message)


# --- regions and blocks ---------------------------------------------------------------------------------------------


def _verify_regions(operation: Operation, definition: OpDefinition) -> None:
    if all(slot.arity is Arity.ONE for slot in definition.regions) and len(operation.regions) != len(
        definition.regions
    ):
        _fail(operation, f"requires {_count(len(definition.regions), 'region')}")
    for index, region in enumerate(operation.regions):
        name = definition.regions[index].name if index < len(definition.regions) else ""
        if Trait.SINGLE_BLOCK in definition.traits and len(region.blocks) > 1:
            _fail(operation, f"expects region #{index} to have 0 or 1 blocks")
        if Trait.SINGLE_BLOCK in definition.traits and not region.blocks:
            _fail(operation, f"region #{index} ('{name}') failed to verify constraint: region with 1 blocks")
        if operation.name == "builtin.module" and region.blocks[0].arguments:
            _fail(operation, "region should have no arguments")


def _count(number: int, what: str) -> str:
    return {0: f"zero {what}s", 1: f"one {what}"}.get(number, f"{number} {what}s")


def _has_predecessor(region: Region) -> bool:
    """Whether anything branches to the entry block."""
    entry = region.blocks[0]
    return any(
        successor is entry
        for block in region.blocks
        for operation in block.operations
        if operation.successors
        for successor, _ in operation.successors
    )


def _needs_no_terminator(block: Block, owner: Operation) -> bool:
    free = owner.definition is None or Trait.NO_TERMINATOR in owner.definition.traits
    return free and block.parent is not None and len(block.parent.blocks) == 1


def _enter_block(block: Block, owner: Operation) -> None:
    if not block.operations and not _needs_no_terminator(block, owner):
        _fail_at(owner, "empty block: expect at least a terminator")
    for operation in block.operations:
        if operation.successors and operation is not block.operations[-1]:
            _fail_at(operation, "operation with block successors must terminate its parent block")


def _leave_block(block: Block, owner: Operation) -> None:
    if not block.operations:
        return
    last = block.operations[-1]
    for successor, _ in last.successors:
        if successor.parent is not block.parent:
            _fail(last, "branching to block of a different region")
    ends = last.definition is None or Trait.TERMINATOR in last.definition.traits
    if not ends and not _needs_no_terminator(block, owner):
        _fail_at(last, f"block with no terminator, has {_described(last)}")


def _verify_branch(operation: Operation, number: int, successor: Block, values: Sequence[SSAValue]) -> None:
    if len(values) != len(successor.arguments):
        _fail_at(
            operation,
            f"branch has {len(values)} operands for successor #{number}, but target block has "
            f"{len(successor.arguments)}",
        )
    for index, (value, argument) in enumerate(zip(values, successor.arguments, strict=True)):
        if value.type != argument.type:
            _fail_at(operation, f"type mismatch for bb argument #{index} of successor #{number}")


def _fail_at(operation: Operation, message: str) -> NoReturn:
    _fail(operation, Unprefixed(message))


def _described(operation: Operation) -> str:
    """The op in generic form, as a message quotes it."""
    from halfulp.interp.text.printer import Printer

    root = operation
    while root.parent_op is not None:
        root = root.parent_op
    printer = Printer(True, False, {})
    printer.number(root)
    return printer.operation(operation)


def _verify_last(operation: Operation) -> None:
    block = operation.parent
    if block is None or block.operations[-1] is not operation:
        _fail(operation, "must be the last operation in the parent block")


# --- dominance ------------------------------------------------------------------------------------------------------


class _Dominance:
    """What dominates what, worked out per region and block on first use."""

    def __init__(self) -> None:
        self._trees: dict[Region, dict[Block, tuple[int, int]]] = {}
        self._orders: dict[Block, dict[Operation, int]] = {}
        # Whether a block was met that nothing leads to.
        self._unreachable = False

    def verify_inside(self, root: Operation) -> None:
        """Check every region inside ``root``, but not those of isolated ops in it."""
        owners = [root]
        self._unreachable = False
        while owners:
            # The last one met goes first.
            owner = owners.pop()
            for region in owner.regions:
                self.verify(region, owner)
                for block in region.blocks:
                    owners += [inner for inner in block.operations if inner.regions and not _is_isolated(inner)]
        if self._unreachable:
            _check_isolation(root)

    def verify(self, region: Region, owner: Operation) -> None:
        """Check that every use inside the region comes after its definition, or in a block that the definition's
        dominates.

        What is unreachable is not judged, nor is order in a graph region.
        """
        graph = _is_graph(region)
        reachable = self._tree(region) if len(region.blocks) > 1 else None
        for block in region.blocks:
            if reachable is not None and block not in reachable:
                self._unreachable = True
                continue
            defined: set[SSAValue] = set(block.arguments)
            for operation in block.operations:
                for value in operation.operands:
                    if value not in defined and not self._holds(value, block, operation, graph, region):
                        _undominated(operation, value, region)
                for _, values in operation.successors:
                    for value in values:
                        if value not in defined and not self._holds(value, block, operation, graph, region):
                            _undominated(operation, value, region)
                defined.update(operation.results)

    def _holds(self, value: SSAValue, block: Block, operation: Operation, graph: bool, region: Region) -> bool:
        home = _home(value)
        if home is None:
            return False
        if home.parent is region:
            return graph or (home is not block and self._block_dominates(home, block))
        # Defined further out: what counts is the op of that region which holds this use.
        holder = operation.parent_op
        while holder is not None and (holder.parent is None or holder.parent.parent is not home.parent):
            if _is_isolated(holder):
                return False
            holder = holder.parent_op
        if holder is None or _is_isolated(holder) or holder.parent is None:
            return False
        if holder.parent is not home:
            return self._block_dominates(home, holder.parent)
        if isinstance(value, BlockArgument):
            return True
        if home.parent is not None and _is_graph(home.parent):
            return True
        assert isinstance(value, OpResult)
        order = self._order(home)
        return order[value.owner] < order[holder]

    def _order(self, block: Block) -> dict[Operation, int]:
        known = self._orders.get(block)
        if known is None:
            known = self._orders[block] = {operation: index for index, operation in enumerate(block.operations)}
        return known

    def _block_dominates(self, above: Block, below: Block) -> bool:
        region = above.parent
        if region is None or below.parent is not region:
            return False
        tree = self._tree(region)
        if below not in tree:
            return True
        if above not in tree:
            return False
        (first, last), (at, _) = tree[above], tree[below]
        return first <= at <= last

    def _tree(self, region: Region) -> dict[Block, tuple[int, int]]:
        """Each reachable block's interval in a walk over the tree of dominators: it dominates what lies within."""
        known = self._trees.get(region)
        if known is None:
            known = self._trees[region] = _intervals(_immediate_dominators(region), region.blocks[0])
        return known


def _is_graph(region: Region) -> bool:
    """Whether the order of the ops says nothing: so in the one block of an op of which nothing is known."""
    owner = region.parent
    if owner is None or owner.definition is None:
        return len(region.blocks) == 1
    return Trait.GRAPH_REGION in owner.definition.traits


def _is_isolated(operation: Operation) -> bool:
    return operation.definition is not None and Trait.ISOLATED_FROM_ABOVE in operation.definition.traits


def _home(value: SSAValue) -> Block | None:
    """The block a value is defined in."""
    if isinstance(value, BlockArgument):
        return value.block
    return value.owner.parent if isinstance(value, OpResult) else None


def _check_isolation(root: Operation) -> None:
    """Raise VerifyError for a use inside the isolated op ``root`` of a value from outside it."""
    for limit in root.regions if _is_isolated(root) else ():
        regions = [limit]
        while regions:
            # The last one met goes first.
            for block in regions.pop().blocks:
                for operation in block.operations:
                    if not all(_is_inside(value, limit) for value in all_operands(operation)):
                        note = (root.position or root.location, "required by region isolation constraints")
                        _fail(operation, "using value defined outside the region", [note])
                    regions += operation.regions


def _is_inside(value: SSAValue, limit: Region) -> bool:
    home = _home(value)
    region = None if home is None else home.parent
    while region is not None and region is not limit:
        holder = None if region.parent is None else region.parent.parent
        region = None if holder is None else holder.parent
    return region is limit


def _undominated(operation: Operation, value: SSAValue, region: Region) -> NoReturn:
    number = next(index for index, operand in enumerate(all_operands(operation)) if operand is value)
    where: Location | None = None
    note = "operand defined here"
    home = _home(value)
    holder = operation.parent_op
    while holder is not None and not _is_isolated(holder):
        holder = holder.parent_op
    if holder is not None:
        _check_isolation(holder)
    if isinstance(value, OpResult):
        where = value.owner.position or value.owner.location
        if home is operation.parent:
            note += " (op in the same block)"
        elif home is not None and home.parent is region:
            note += " (op in the same region)"
        else:
            note += " (op in a parent region)"
    elif isinstance(value, BlockArgument):
        where = value.location
        note += " as a block argument"
    _fail(operation, Unprefixed(f"operand #{number} does not dominate this use"), [(where, note)])


def _immediate_dominators(region: Region) -> dict[Block, Block]:
    """The closest dominator of each reachable block; the entry is its own (Cooper, Harvey and Kennedy's fixed
    point).
    """
    entry = region.blocks[0]
    predecessors: dict[Block, list[Block]] = {}
    order: list[Block] = []
    seen = {entry}
    stack: list[tuple[Block, Iterator[Block]]] = [(entry, iter(_targets(entry)))]
    while stack:
        block, targets = stack[-1]
        target = next(targets, None)
        if target is None:
            order.append(block)
            stack.pop()
            continue
        predecessors.setdefault(target, []).append(block)
        if target not in seen:
            seen.add(target)
            stack.append((target, iter(_targets(target))))
    order.reverse()
    number = {block: index for index, block in enumerate(order)}
    immediate: dict[Block, Block] = {entry: entry}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            best: Block | None = None
            for source in predecessors[block]:
                if source in immediate:
                    best = source if best is None else _meet(source, best, immediate, number)
            assert best is not None
            if immediate.get(block) is not best:
                immediate[block] = best
                changed = True
    return immediate


def _meet(one: Block, other: Block, immediate: Mapping[Block, Block], number: Mapping[Block, int]) -> Block:
    while one is not other:
        while number[one] > number[other]:
            one = immediate[one]
        while number[other] > number[one]:
            other = immediate[other]
    return one


def _targets(block: Block) -> list[Block]:
    return [target for target, _ in block.operations[-1].successors] if block.operations else []


def _intervals(immediate: Mapping[Block, Block], entry: Block) -> dict[Block, tuple[int, int]]:
    children: dict[Block, list[Block]] = {}
    for block, above in immediate.items():
        if block is not entry:
            children.setdefault(above, []).append(block)
    intervals: dict[Block, tuple[int, int]] = {}
    count = 0
    stack: list[tuple[Block, int, Iterator[Block]]] = [(entry, 0, iter(children.get(entry, ())))]
    while stack:
        block, first, rest = stack[-1]
        child = next(rest, None)
        if child is None:
            intervals[block] = (first, count)
            stack.pop()
            continue
        count += 1
        stack.append((child, count, iter(children.get(child, ()))))
    return intervals


# --- symbols and functions ------------------------------------------------------------------------------------------


def _verify_symbols(table: Operation) -> None:
    """Each symbol once per table; calls name functions of the right type."""
    seen: dict[str, Operation] = {}
    for region in table.regions:
        for block in region.blocks:
            for operation in block.operations:
                name = operation.symbol_name
                if name is None:
                    continue
                if name in seen:
                    _fail_symbol(operation, seen[name], name)
                seen[name] = operation
    regions: list[tuple[Region, Mapping[str, Operation]]] = [(region, seen) for region in table.regions]
    while regions:
        # The last one met goes first.
        region, known = regions.pop()
        for block in region.blocks:
            for operation in block.operations:
                check = _SYMBOL_USERS.get(operation.name)
                if check is not None:
                    check(operation, known)
                if operation.regions and not is_symbol_table(operation):
                    # An unknown op with one region may be a symbol table itself: nothing is known of those in it.
                    hidden = operation.definition is None and len(operation.regions) == 1
                    regions += [(inner, {} if hidden else known) for inner in operation.regions]


def _fail_symbol(operation: Operation, known: Operation, name: str) -> NoReturn:
    raise VerifyError(
        f"redefinition of symbol named '{name}'",
        location=operation.position or operation.location,
        op=operation.name,
        notes=[(known.position or known.location, "see existing symbol definition here")],
    )


def _similar_function(name: str, symbols: Mapping[str, Operation]) -> str | None:
    return did_you_mean(f"@{name}", (f"@{known}" for known, op in symbols.items() if op.name == "func.func"))


def _verify_call(call: Operation, symbols: Mapping[str, Operation]) -> None:
    callee = call.properties.get("callee")
    if not isinstance(callee, SymbolRefAttr):
        return
    target = symbols.get(callee.root)
    if target is None or target.name != "func.func":
        _fail(
            call, f"'{callee.root}' does not reference a valid function", hint=_similar_function(callee.root, symbols)
        )
    type = _function_type(target)
    if type is None:
        return
    if len(type.inputs) != len(call.operands):
        _fail(call, "incorrect number of operands for callee")
    for number, (value, input) in enumerate(zip(call.operands, type.inputs, strict=True)):
        if value.type != input:
            _fail(
                call,
                f"operand type mismatch: expected operand type '{input}', but provided '{value.type}' for operand "
                f"number {number}",
            )
    if len(type.results) != len(call.results):
        _fail(call, "incorrect number of results for callee")
    for number, (result, expected) in enumerate(zip(call.results, type.results, strict=True)):
        if result.type != expected:
            _fail(
                call,
                f"result type mismatch at index {number}",
                notes=[
                    (None, f"      op result types: {_types([r.type for r in call.results])}"),
                    (None, f"function result types: {_types(type.results)}"),
                ],
            )


def _verify_function_constant(operation: Operation, symbols: Mapping[str, Operation]) -> None:
    value = operation.properties.get("value")
    if not isinstance(value, SymbolRefAttr):
        return
    target = symbols.get(value.root)
    if target is None or target.name != "func.func":
        _fail(
            operation,
            f"reference to undefined function '{value.root}'",
            hint=_similar_function(value.root, symbols),
        )
    if _function_type(target) != operation.results[0].type:
        _fail(operation, "reference to function with mismatched type")


_SYMBOL_USERS = {"func.call": _verify_call, "func.constant": _verify_function_constant}


def _types(types: Sequence[Type]) -> str:
    return ", ".join(f"'{type}'" for type in types)


def _function_type(function: Operation) -> FunctionType | None:
    attribute: Attribute | None = function.properties.get("function_type")
    return attribute.type if isinstance(attribute, TypeAttr) and isinstance(attribute.type, FunctionType) else None


_VISIBILITIES = ("public", "private", "nested")


def _verify_visibility(symbol: Operation) -> None:
    visibility = symbol.properties.get("sym_visibility")
    if isinstance(visibility, StringAttr) and visibility.value not in _VISIBILITIES:
        allowed = ", ".join(f'"{name}"' for name in _VISIBILITIES)
        _fail(symbol, f'visibility expected to be one of [{allowed}], but got "{visibility.value}"')


def _verify_module(module: Operation) -> None:
    _verify_visibility(module)
    for name in module.attributes:
        if "." not in name:
            _fail(module, f"can only contain attributes with dialect-prefixed names, found: '{name}'")


def _verify_function(function: Operation) -> None:
    _verify_visibility(function)
    parent = function.parent_op
    if parent is not None and parent.definition is not None and Trait.SYMBOL_TABLE not in parent.definition.traits:
        _fail(function, "symbol's parent must have the SymbolTable trait")
    type = _function_type(function)
    if type is None:
        return
    for name, what, count in (("arg_attrs", "argument", len(type.inputs)), ("res_attrs", "result", len(type.results))):
        attributes = function.properties.get(name)
        if not isinstance(attributes, ArrayAttr):
            continue
        if len(attributes.elements) != count:
            _fail(
                function,
                f"expects {what} attribute array to have the same number of elements as the number of function "
                f"{what}s, got {len(attributes.elements)}, but expected {count}",
            )
        for dictionary in attributes.elements:
            if isinstance(dictionary, DictionaryAttr) and any("." not in key for key, _ in dictionary.entries):
                _fail(function, f"{what}s may only have dialect attributes")
    region = function.regions[0]
    visibility = function.properties.get("sym_visibility")
    if not region.blocks:
        if not isinstance(visibility, StringAttr) or visibility.value == "public":
            _fail(function, "symbol declaration cannot have public visibility")
        return
    arguments = region.blocks[0].arguments
    if len(arguments) != len(type.inputs):
        _fail(function, f"entry block must have {len(type.inputs)} arguments to match function signature")
    for number, (argument, input) in enumerate(zip(arguments, type.inputs, strict=True)):
        if argument.type != input:
            _fail(
                function,
                f"type of entry block argument #{number}('{argument.type}') must match the type of the corresponding "
                f"argument in function signature('{input}')",
            )


def _verify_return(operation: Operation) -> None:
    function = operation.parent_op
    type = None if function is None else _function_type(function)
    if function is None or type is None or len(type.results) != len(operation.operands):
        return
    for number, (value, expected) in enumerate(zip(operation.operands, type.results, strict=True)):
        if value.type != expected:
            _fail_at(
                operation,
                f"type of return operand {number} ('{value.type}') doesn't match function result type ('{expected}') "
                f"in function @{function.symbol_name}",
            )


_SPECIAL = {"builtin.module": _verify_module, "func.func": _verify_function, "func.return": _verify_return}
