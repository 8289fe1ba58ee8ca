"""Dominance: each use of a value comes after its definition, and isolated regions use no value from outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NoReturn

from halfulp.interp.declare.declarations import Trait, Unprefixed
from halfulp.interp.declare.operands import all_operands
from halfulp.interp.ir.base import Location
from halfulp.interp.ir.operations import Block, BlockArgument, Operation, OpResult, Region, SSAValue


class Dominance:
    """The dominance relation of ops and blocks, computed per region and block on first use."""

    def __init__(self) -> None:
        self._trees: dict[Region, dict[Block, tuple[int, int]]] = {}
        self._orders: dict[Block, dict[Operation, int]] = {}
        # True if an unreachable block was found.
        self._unreachable = False

    def verify_inside(self, root: Operation) -> None:
        """Check every region inside ``root``, except those of isolated ops in it."""
        owners = [root]
        self._unreachable = False
        while owners:
            # The last one found is handled first.
            owner = owners.pop()
            for region in owner.regions:
                self.verify(region, owner)
                for block in region.blocks:
                    owners += [inner for inner in block.operations if inner.regions and not is_isolated(inner)]
        if self._unreachable:
            _check_isolation(root)

    def verify(self, region: Region, owner: Operation) -> None:
        """Check that every use inside the region comes after its definition, or in a block that the definition's block
        dominates.

        Unreachable code is not checked, and neither is the order in a graph region.
        """
        graph = _is_graph(region)
        reachable = self._tree(region) if len(region.blocks) > 1 else None
        for block in region.blocks:
            if reachable is not None and block not in reachable:
                self._unreachable = True
                continue
            # The values that may be used from here on in the block.
            usable: set[SSAValue] = set(block.arguments)
            for operation in block.operations:
                for value in operation.operands:
                    if value not in usable:
                        self._verify_use(value, block, operation, graph, region)
                        usable.add(value)
                if operation.successors:
                    for _, values in operation.successors:
                        for value in values:
                            if value not in usable:
                                self._verify_use(value, block, operation, graph, region)
                                usable.add(value)
                usable.update(operation.results)

    def _verify_use(self, value: SSAValue, block: Block, operation: Operation, graph: bool, region: Region) -> None:
        """Raise VerifyError unless an op may use a value that is not defined before it in its block. If it may, the ops
        after it in the block may use the value too.
        """
        if not self._holds(value, block, operation, graph, region):
            _undominated(operation, value, region)

    def _holds(self, value: SSAValue, block: Block, operation: Operation, graph: bool, region: Region) -> bool:
        home = _home(value)
        if home is None:
            return False
        if home.parent is region:
            return graph or (home is not block and self._block_dominates(home, block))
        # Defined further out: the op of that region that contains this use must come after it.
        holder = operation.parent_op
        while holder is not None and (holder.parent is None or holder.parent.parent is not home.parent):
            if is_isolated(holder):
                return False
            holder = holder.parent_op
        if holder is None or is_isolated(holder) or holder.parent is None:
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
        """Return the interval of each reachable block in a walk over the dominator tree: a block dominates those whose
        interval lies inside its own.
        """
        known = self._trees.get(region)
        if known is None:
            known = self._trees[region] = _intervals(_immediate_dominators(region), region.blocks[0])
        return known


def _is_graph(region: Region) -> bool:
    """Tell whether the order of the ops has no meaning, as in the only block of an unregistered op."""
    owner = region.parent
    if owner is None or owner.definition is None:
        return len(region.blocks) == 1
    return Trait.GRAPH_REGION in owner.definition.traits


def is_isolated(operation: Operation) -> bool:
    """Tell whether an op is isolated from above: nothing inside it uses a value from outside."""
    return operation.definition is not None and Trait.ISOLATED_FROM_ABOVE in operation.definition.traits


def _home(value: SSAValue) -> Block | None:
    """Return the block in which a value is defined."""
    if isinstance(value, BlockArgument):
        return value.block
    return value.owner.parent if isinstance(value, OpResult) else None


def _check_isolation(root: Operation) -> None:
    """Raise VerifyError for a use inside the isolated op ``root`` of a value from outside it."""
    for limit in root.regions if is_isolated(root) else ():
        regions = [limit]
        while regions:
            # The last one found is handled first.
            for block in regions.pop().blocks:
                for operation in block.operations:
                    if not all(_is_inside(value, limit) for value in all_operands(operation)):
                        note = (root.position or root.location, "required by region isolation constraints")
                        raise operation.rule_broken("using value defined outside the region", [note])
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
    while holder is not None and not is_isolated(holder):
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
    raise operation.rule_broken(Unprefixed(f"operand #{number} does not dominate this use"), [(where, note)])


def _immediate_dominators(region: Region) -> dict[Block, Block]:
    """Return the closest dominator of each reachable block; that of the entry is the entry itself (Cooper, Harvey and
    Kennedy's fixed point).
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
