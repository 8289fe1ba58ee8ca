"""The verifier. It checks the constraints and rules of each op, terminators, symbols, and dominance at the end.

Errors have mlir-opt's words and its places, the locations of the ops. They also have its order:

1. an op, before what is inside it; ops isolated from above (functions) wait for all else around them 2. what an op asks
of its regions and of the symbols in them 3. dominance, in each isolated op.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from halfulp.interp.declare.declarations import Arity, Extension, OpDefinition, Slot, Trait, Unprefixed
from halfulp.interp.declare.operands import (
    all_operands,
    operand_segments,
    result_segments,
    shares_name,
    shares_of,
    spread,
)
from halfulp.interp.declare.registry import default_registry, is_upstream
from halfulp.interp.dominance import Dominance, is_isolated
from halfulp.interp.ir.attributes import Attribute, DenseArrayAttr, StringAttr
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.errors import VerifyError
from halfulp.interp.ir.operations import (
    VISIBILITIES,
    Block,
    Module,
    Operation,
    Region,
    SSAValue,
    is_symbol_table,
)
from halfulp.interp.ir.types import I32


def verify(module: Module, known: KnownRules | None = None) -> None:
    """Check a whole module. Raises VerifyError for the first rule it breaks, in mlir-opt's order.

    ``known``: what earlier modules have shown to obey the rules, which is not checked again.
    """
    rules = KnownRules() if known is None else known
    dominance = Dominance()
    open_ = [_verify_isolated(module.operation, rules, dominance)]
    while open_:
        inner = next(open_[-1], None)
        if inner is None:
            open_.pop()
        else:
            open_.append(_verify_isolated(inner, rules, dominance))


class _Inside:
    """An op whose inside is being verified: the position in it, and the isolated ops that were found directly in it."""

    __slots__ = ("block", "blocks", "isolated", "operations", "owner")

    def __init__(self, owner: Operation) -> None:
        self.owner = owner
        self.blocks = iter(owner.blocks)
        self.block: Block | None = None
        self.operations: Iterator[Operation] = iter(())
        self.isolated: list[Operation] = []


def _verify_isolated(root: Operation, rules: KnownRules, dominance: Dominance) -> Iterator[Operation]:
    """Check an op, then what is inside it, and last dominance. An op inside it that is isolated from above is yielded,
    to be checked after everything else inside its parent.
    """
    _verify_operation(root, rules)
    stack = [_Inside(root)]
    while stack:
        inside = stack[-1]
        for operation in inside.operations:
            if operation.regions:
                if is_isolated(operation):
                    inside.isolated.append(operation)
                    continue
                _verify_operation(operation, rules)
                stack.append(_Inside(operation))
                break
            if operation.read_attributes:
                _verify_attributes(operation)
            if operation.definition is not None:
                rules[operation.definition].verify(operation)
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


# --- one op ---------------------------------------------------------------------------------------------------------


def _verify_operation(operation: Operation, rules: KnownRules) -> None:
    if operation.read_attributes:
        _verify_attributes(operation)
    definition = operation.definition
    if definition is not None:
        rules[definition].verify(operation)
    for region in operation.regions:
        if region.blocks and _has_predecessor(region):
            raise operation.rule_broken(Unprefixed("entry block of region may not have predecessors"))


def _verify_attributes(operation: Operation) -> None:
    """Check the discardable attributes by the rules of their dialects."""
    for name, attribute in operation.read_attributes.items():
        dialect = default_registry().dialects.get(name.partition(".")[0]) if "." in name else None
        if dialect is not None and dialect.attribute_rule is not None:
            message = dialect.attribute_rule(operation, name, attribute)
            if message is not None:
                raise operation.rule_broken(message)


def _leave_operation(operation: Operation) -> None:
    """Check the rules of an op that apply after everything inside it was verified."""
    definition = operation.definition
    if definition is not None and definition.verify_regions is not None:
        message = definition.verify_regions(operation)
        if message is not None:
            raise operation.rule_broken(message)
    if is_symbol_table(operation):
        _verify_symbols(operation)


def problem_of(operation: Operation) -> VerifyError | None:
    """Return the error of an op whose declaration is known, or None. The ops around it and inside it are
    not checked.
    """
    assert operation.definition is not None
    try:
        _Rules(operation.definition).verify(operation)
    except VerifyError as error:
        return error
    return None


_type_of = attrgetter("type")


def _have(values: Sequence[SSAValue], types: Sequence[object]) -> bool:
    """Tell whether values have these types. This is the fastest way to go through two short lists."""
    if len(values) != len(types):
        return False
    expected = iter(types)
    for value in values:
        type = next(expected)
        if value.type is not type and value.type != type:
            return False
    return True


class _Rules:
    """The rules of one definition, and what was found to obey them while a module is verified.

    A large file has few combinations of types and few attributes, so each is checked once. Attributes are known by
    their identity: comparing two large ones may take longer than the check. ``shared``: by the identity of properties
    that several ops share, these properties, and the types of operands and results with which they follow the rules.
    """

    def __init__(self, definition: OpDefinition) -> None:
        self.definition = definition
        self.has_regions = bool(definition.regions)
        self.segments = tuple(filter(None, (operand_segments(definition), result_segments(definition))))
        self.is_symbol = Trait.SYMBOL in definition.traits
        self.is_terminator = Trait.TERMINATOR in definition.traits
        # True if a rule depends on more than the types and the properties of an op.
        self.looks_around = self.is_terminator or definition.verify is not None or definition.verify_regions is not None
        # Type rules that `_verify_types` leaves out, even if the op has neither successors nor regions.
        self.rules_apart = bool(definition.type_rules) and not _rules_in_key(definition, True)
        self.types: set[tuple[object, ...]] = set()
        # The types of the last op, which are those of the next one in most cases.
        self.operand_types: list[object] | None = None
        self.result_types: list[object] | None = None
        # They are kept, so that no later attribute has the identity of one of them.
        self.attributes = [(prop, dict[int, Attribute]()) for prop in definition.properties]
        self.shared: dict[int, tuple[object, list[object], list[object]]] = {}

    def verify(self, operation: Operation) -> None:
        """Raise VerifyError for a rule that an op of the definition breaks."""
        if operation.successors or operation.regions:
            _verify_types(operation, self.definition)
            self._verify_properties(operation, operation.properties)
        else:
            shares, properties = operation.shares, operation.read_properties
            known = self.shared.get(id(properties)) if shares else None
            if known is None or not _have(operation.operands, known[1]) or not _have(operation.results, known[2]):
                operands: list[object] = [*map(_type_of, operation.operands)]
                results: list[object] = [*map(_type_of, operation.results)]
                self._verify_plain(operation, properties, operands, results)
                if shares:
                    self.shared[id(properties)] = properties, operands, results
            if not self.looks_around:
                return
        self._verify_around(operation)

    def _verify_plain(
        self, operation: Operation, properties: Mapping[str, Attribute], operands: list[object], results: list[object]
    ) -> None:
        """Check what depends only on the types and properties of an op that has neither successors nor regions."""
        sized = [*results, *map(properties.get, self.segments)] if self.segments else results
        if operands != self.operand_types or sized != self.result_types:
            self._verify_types(operation, operands, sized)
        self._verify_properties(operation, properties)
        if self.rules_apart:
            _verify_rules(operation, self.definition)
        if self.has_regions:
            _verify_regions(operation, self.definition)
        if self.is_symbol and "sym_visibility" in properties:
            _verify_visibility(operation)

    def _verify_around(self, operation: Operation) -> None:
        """Check what depends on more than the types and properties of an op."""
        definition = self.definition
        successors, regions = operation.successors, operation.regions
        if definition.type_rules and (successors or regions):
            _verify_rules(operation, definition)
        if regions or (self.has_regions and successors):
            _verify_regions(operation, definition)
        if self.is_terminator:
            _verify_last(operation)
            for number, (successor, values) in enumerate(successors):
                _verify_branch(operation, number, successor, values)
        elif successors:
            raise operation.rule_broken("requires 0 successors but found " + str(len(successors)))
        if self.is_symbol and (successors or regions) and "sym_visibility" in operation.properties:
            _verify_visibility(operation)
        if definition.verify is not None:
            message = definition.verify(operation)
            if message is not None:
                raise operation.rule_broken(message)
        if definition.verify_regions is not None and not regions:
            _leave_operation(operation)

    def _verify_types(self, operation: Operation, operands: list[object], results: list[object]) -> None:
        key = (*operands, None, *results)
        if key not in self.types and _verify_types(operation, self.definition):
            self.types.add(key)
        self.operand_types, self.result_types = operands, results

    def _verify_properties(self, operation: Operation, properties: Mapping[str, Attribute]) -> None:
        for prop, accepted in self.attributes:
            attribute = properties.get(prop.name)
            if attribute is None:
                if not prop.optional:
                    raise operation.rule_broken(f"requires attribute '{prop.name}'")
            elif id(attribute) not in accepted:
                if not prop.kind.accepts(attribute):
                    raise operation.rule_broken(
                        f"attribute '{prop.name}' failed to satisfy constraint: {prop.kind.description}"
                    )
                accepted[id(attribute)] = attribute


class KnownRules(dict[OpDefinition, _Rules]):
    """The rules of each definition that modules use, made at their first use, and what was found to obey them."""

    def __missing__(self, definition: OpDefinition) -> _Rules:
        rules = self[definition] = _Rules(definition)
        return rules


def _rules_in_key(definition: OpDefinition, plain: bool) -> bool:
    """Tell whether `_verify_types` also checks the type rules: it does unless they depend on attributes."""
    return plain and all(isinstance(prop.kind, EnumDefinition) for prop in definition.properties)


def _verify_types(operation: Operation, definition: OpDefinition) -> bool:
    """Check the types of an op. Return whether every module accepts them, not only one that asks for an extension."""
    everywhere = True
    operands = _groups(operation, definition.operands, all_operands(operation), "operand")
    results = _groups(operation, definition.results, list(operation.results), "result")
    for what, slots, groups in (("operand", definition.operands, operands), ("result", definition.results, results)):
        number = 0
        for slot, group in zip(slots, groups, strict=True):
            for value in group:
                if not slot.constraint.accepts(value.type):
                    everywhere, extension = False, slot.constraint.extension
                    extended = extension is not None and extension.accepts(value.type)
                    if extension is None or not extended or not _asks_for(operation, extension):
                        variadic = "variadic of " if slot.arity is Arity.VARIADIC else ""
                        raise operation.rule_broken(
                            f"{what} #{number} must be {variadic}{slot.constraint.description}, but got '{value.type}'",
                            hint=extension.hint if extension is not None and extended else None,
                        )
                number += 1
    variable = any(slot.arity is not Arity.ONE for slot in definition.successors)
    if definition.successors and not variable and len(operation.successors) != len(definition.successors):
        raise operation.rule_broken(
            f"requires {len(definition.successors)} successors but found {len(operation.successors)}"
        )
    if _rules_in_key(definition, not operation.successors and not operation.regions):
        _verify_rules(operation, definition)
    return everywhere


def _asks_for(operation: Operation, extension: Extension) -> bool:
    """Tell whether an op around ``operation`` has the attribute of an extension."""
    around = operation.parent_op
    while around is not None and extension.attribute not in around.attributes:
        around = around.parent_op
    return around is not None


def _check_shares(operation: Operation, definition: OpDefinition, sizes: Sequence[int]) -> None:
    """Check that the shares of a variadic successor's blocks add up to the operands that the op has for them."""
    for successor in definition.successors:
        if successor.arity is not Arity.ONE:
            names = [slot.name for slot in definition.operands]
            operand, shares = f"{successor.name}Operands", shares_of(operation, successor)
            if min(shares, default=0) < 0:
                raise operation.rule_broken(f"'{shares_name(successor)}' attribute cannot have negative elements")
            count = sizes[names.index(operand)]
            if sum(shares) != count:
                raise operation.rule_broken(
                    f"{operand} count ({count}) does not match with the total size ({sum(shares)}) specified in "
                    f"attribute '{shares_name(successor)}'",
                )


def _groups(
    operation: Operation, slots: Sequence[Slot], values: Sequence[SSAValue], what: str
) -> list[Sequence[SSAValue]]:
    """Divide the values among the slots. Raises VerifyError if their number does not fit."""
    definition = operation.definition
    sizes: list[int] | None
    segments = None if definition is None else (result_segments if what == "result" else operand_segments)(definition)
    if definition is not None and segments is not None:
        given = operation.properties.get(segments)
        if isinstance(given, DenseArrayAttr) and given.element != I32:
            raise operation.rule_broken(f"'{segments}' must be an array of i32, but is {given}")
        sizes = list(getattr(given, "values", ()))
        if len(sizes) != len(slots) or sum(sizes) != len(values):
            raise operation.rule_broken(
                f"{what} count ({len(values)}) does not match with the total size ({sum(sizes)}) specified in "
                f"attribute '{segments}'",
            )
        if what == "operand":
            _check_shares(operation, definition, sizes)
    else:
        sizes = spread(slots, len(values))
    if sizes is None:
        least = sum(slot.arity is Arity.ONE for slot in slots)
        exact = least == len(slots)
        number = {0: f"zero {what}s", 1: f"a single {what}"}.get(least, f"{least} {what}s")
        if exact and least < 2:
            raise operation.rule_broken(f"requires {number}")
        if exact:
            raise operation.rule_broken(f"expected {least} {what}s, but found {len(values)}")
        shared = [slot.name for slot in slots if slot.arity is Arity.VARIADIC]
        if len(shared) > 1 and len(values) > least:
            # MLIR accepts this, and leaves the last values out.
            names = "' and '".join(shared)
            raise operation.rule_broken(
                f"has {len(values)} {what}s, but '{names}' need the same number of {what}s each"
            )
        # The words for too few are MLIR's. There can be too many where none is variadic.
        limited = len(values) > least and all(slot.arity is not Arity.VARIADIC for slot in slots)
        count = f"{least} to {len(slots)}" if limited else f"{least} or more"
        raise operation.rule_broken(f"expected {count} {what}s, but found {len(values)}")
    groups: list[Sequence[SSAValue]] = []
    start = 0
    for size in sizes:
        groups.append(values[start : start + size])
        start += size
    return groups


def _verify_rules(operation: Operation, definition: OpDefinition) -> None:
    types: dict[str, Any] = {}
    operands = _groups(operation, definition.operands, all_operands(operation), "operand")
    results = _groups(operation, definition.results, list(operation.results), "result")
    for slots, groups in ((definition.operands, operands), (definition.results, results)):
        for slot, group in zip(slots, groups, strict=True):
            kinds = tuple(value.type for value in group)
            types[slot.name] = kinds[0] if slot.arity is Arity.ONE else kinds
    for rule in definition.type_rules:
        if not rule.holds(types, operation.read_properties):
            raise operation.rule_broken(rule.message)


# --- regions and blocks ---------------------------------------------------------------------------------------------


def _verify_regions(operation: Operation, definition: OpDefinition) -> None:
    if all(slot.arity is Arity.ONE for slot in definition.regions) and len(operation.regions) != len(
        definition.regions
    ):
        raise operation.rule_broken(f"requires {_count(len(definition.regions), 'region')}")
    for index, region in enumerate(operation.regions):
        name = definition.regions[index].name if index < len(definition.regions) else ""
        if Trait.SINGLE_BLOCK in definition.traits and len(region.blocks) > 1:
            raise operation.rule_broken(f"expects region #{index} to have 0 or 1 blocks")
        if Trait.SINGLE_BLOCK in definition.traits and not region.blocks:
            raise operation.rule_broken(f"region #{index} ('{name}') failed to verify constraint: region with 1 blocks")


def _count(number: int, what: str) -> str:
    return {0: f"zero {what}s", 1: f"one {what}"}.get(number, f"{number} {what}s")


def _has_predecessor(region: Region) -> bool:
    """Tell whether an op branches to the entry block."""
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
        raise owner.rule_broken(Unprefixed("empty block: expect at least a terminator"))
    for operation in block.operations:
        if operation.successors and operation is not block.operations[-1]:
            raise operation.rule_broken(Unprefixed("operation with block successors must terminate its parent block"))


def _leave_block(block: Block, owner: Operation) -> None:
    if not block.operations:
        return
    last = block.operations[-1]
    for successor, _ in last.successors:
        if successor.parent is not block.parent:
            raise last.rule_broken("branching to block of a different region")
    ends = last.definition is None or Trait.TERMINATOR in last.definition.traits
    if not ends and not _needs_no_terminator(block, owner):
        raise last.rule_broken(Unprefixed(f"block with no terminator, has {_described(last)}"))


def _verify_branch(operation: Operation, number: int, successor: Block, values: Sequence[SSAValue]) -> None:
    if len(values) != len(successor.arguments):
        raise operation.rule_broken(
            Unprefixed(
                f"branch has {len(values)} operands for successor #{number}, but target block has "
                f"{len(successor.arguments)}"
            )
        )
    for index, (value, argument) in enumerate(zip(values, successor.arguments, strict=True)):
        if value.type != argument.type:
            raise operation.rule_broken(Unprefixed(f"type mismatch for bb argument #{index} of successor #{number}"))


def _described(operation: Operation) -> str:
    """Print an op in generic form, as a message quotes it."""
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
        raise operation.rule_broken("must be the last operation in the parent block")


# --- symbols --------------------------------------------------------------------------------------------------------


def _verify_symbols(table: Operation) -> None:
    """Raise VerifyError for a symbol that is defined twice, and for a wrong use of a symbol."""
    seen: dict[str, Operation] = {}
    for operation in table.children:
        name = operation.symbol_name
        if name is None:
            continue
        if name in seen:
            note = (seen[name].position or seen[name].location, "see existing symbol definition here")
            raise operation.rule_broken(Unprefixed(f"redefinition of symbol named '{name}'"), [note])
        seen[name] = operation
    regions: list[tuple[Region, Mapping[str, Operation]]] = [(region, seen) for region in table.regions]
    while regions:
        # The last one found is handled first.
        region, known = regions.pop()
        for block in region.blocks:
            for operation in block.operations:
                definition = operation.definition
                if definition is not None and definition.verify_symbols is not None:
                    definition.verify_symbols(operation, known)
                if operation.regions and not is_symbol_table(operation):
                    regions += [(inner, {} if _may_be_table(operation) else known) for inner in operation.regions]


def _may_be_table(operation: Operation) -> bool:
    """Tell whether the op may be a symbol table, so that its symbols are not known. This is so if MLIR does not know
    its dialect.
    """
    return operation.definition is None and len(operation.regions) == 1 and not is_upstream(operation.name)


def _verify_visibility(symbol: Operation) -> None:
    visibility = symbol.properties.get("sym_visibility")
    if isinstance(visibility, StringAttr) and visibility.value not in VISIBILITIES:
        allowed = ", ".join(f'"{name}"' for name in VISIBILITIES)
        raise symbol.rule_broken(f'visibility expected to be one of [{allowed}], but got "{visibility.value}"')
