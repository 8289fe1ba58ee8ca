"""The printer: modules to text, byte for byte as mlir-opt 22 prints them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from halfulp.interp.declare.declarations import OpDefinition, Property, Schema, Trait
from halfulp.interp.declare.operands import all_operands, plain_names
from halfulp.interp.declare.registry import is_upstream
from halfulp.interp.gc_pause import PausedCollector
from halfulp.interp.ir.attributes import Attribute, DenseResourceAttr, DictionaryAttr, Names
from halfulp.interp.ir.base import Location, escaped, is_bare_identifier, quoted
from halfulp.interp.ir.dialect_attributes import parts
from halfulp.interp.ir.errors import LimitExceeded, TypeMismatch, Unsupported
from halfulp.interp.ir.operations import Blob, Block, Module, Operation, Region, Resource, SSAValue
from halfulp.interp.ir.types import AnyQuantizedType, FunctionType, QuantileType, Type, UniformQuantizedType
from halfulp.interp.text.assembly import compile_printer
from halfulp.interp.text.changes import changed_ops, refused
from halfulp.interp.text.op_parser import OpPrinter, alias_of

# --- schema -----------------------------------------------------------------------------------------------------------
#
# Checks for ops, properties and types that an older MLIR does not have, before a module is printed for it.

NAMES = {Schema.MLIR22: "MLIR 22", Schema.LLVM24: "LLVM 24"}


def check_schema(module: Module, schema: Schema) -> None:
    """Raise Unsupported for the first op, property or type that this version of MLIR does not have. What the newest
    version refuses in an op of an older one is refused too.
    """
    # By identity: the attributes and types of a module are shared among ops, and stay alive.
    seen: set[int] = set()
    newer: dict[OpDefinition | None, tuple[Property, ...]] = {None: ()}
    changed = changed_ops(schema)
    for operation in module.walk():
        definition = operation.definition
        if definition not in newer:
            assert definition is not None
            newer[definition] = tuple(
                prop for prop in definition.properties if prop.since > schema and not prop.is_attribute_in(schema)
            )
            if definition.since > schema:
                _refuse(operation, f"the op '{operation.name}'", schema)
        for prop in newer[definition]:
            _check_property(operation, prop, schema)
        if operation.name in changed or (definition is not None and f"{definition.dialect}.*" in changed):
            what = refused(operation, schema)
            if what is not None:
                _refuse(operation, f"{what} of '{operation.name}'", schema)
        things: list[Attribute | Type] = [result.type for result in operation.results]
        if operation.properties:
            things += operation.properties.values()
        if operation.attributes or operation.regions or operation.raw_properties is not None:
            things += _rarer(operation)
        for thing in things:
            if id(thing) not in seen:
                seen.add(id(thing))
                for type in _types_in(thing):
                    _check_type(operation, type, schema)


def _check_property(operation: Operation, prop: Property, schema: Schema) -> None:
    """Raise Unsupported for a newer property, unless it has its default: then leaving it out means the same."""
    if prop.name not in operation.properties:
        return
    if operation.properties[prop.name] != prop.implied:
        _refuse(operation, f"the property '{prop.name}' of '{operation.name}'", schema)


def _rarer(operation: Operation) -> Iterator[Attribute | Type]:
    yield from operation.attributes.values()
    if operation.raw_properties is not None:
        yield operation.raw_properties
    for block in operation.blocks:
        for argument in block.arguments:
            yield argument.type


def _types_in(thing: Attribute | Type) -> Iterator[Type]:
    if isinstance(thing, Type):
        yield thing
        return
    for part in parts(thing):
        yield from _types_in(part)


def _check_type(operation: Operation, type: Type, schema: Schema) -> None:
    stack: list[Attribute | Type] = [type]
    while stack and schema < Schema.LLVM24:
        thing = stack.pop()
        new = isinstance(thing, QuantileType) or (
            isinstance(thing, UniformQuantizedType | AnyQuantizedType) and thing.storage is not None
        )
        if new:
            _refuse(operation, f"the type '{thing}'", schema)
        stack.extend(parts(thing))


def _refuse(operation: Operation, what: str, schema: Schema) -> None:
    raise Unsupported(
        f"{what} does not exist in {NAMES[schema]}",
        location=operation.location,
        op=operation.name,
        hint="print with the newer schema, or lower it first" if schema < max(Schema) else None,
    )


# --- printer ----------------------------------------------------------------------------------------------------------


@cache
def _newer_defaults(definition: OpDefinition) -> Mapping[str, Attribute]:
    """Return the defaults of newer properties of an op, which older MLIR neither has nor needs."""
    return {
        prop.name: prop.implied
        for prop in definition.properties
        if prop.since > min(Schema) and prop.implied is not None
    }


class Printer(OpPrinter):
    """A printer of one module. A first pass finds out which aliases are needed."""

    def __init__(self, generic: bool, debug_info: bool, names: Mapping[object, str], newer: bool = False) -> None:
        super().__init__(debug_info, names, newer)
        self.generic = generic
        self.looks_for_aliases = False
        self.default_dialect = "builtin"
        # Computed once: the location of an op that was read is only a place in the tokens.
        self.locations: dict[Operation, Location] = {}

    # Names.

    def number(self, root: Operation) -> None:
        """Name every value and block inside ``root`` as MLIR does: numbers in a region continue those of its parent."""
        values = self.values
        labels = self.labels
        self._number_results(root, 0, {}, 0)
        next_value = next_argument = next_conflict = 0
        stack: list[tuple[Region, int, int, int, dict[str, None]]] = [(region, 0, 0, 0, {}) for region in root.regions]
        while stack:
            region, *counters, outer = stack.pop()
            # The generic form never uses a number twice; the custom one goes on from where the parent region ended.
            if not self.generic:
                next_value, next_argument, next_conflict = counters
            used = dict(outer)
            nested: list[Region] = []
            suggested = self._suggested_arguments(region)
            for order, block in enumerate(region.blocks):
                labels[block] = f"^bb{order}"
                for argument in block.arguments:
                    if order == 0 and argument.index < len(suggested):
                        name, next_conflict = _unique(suggested[argument.index], used, next_conflict)
                        values[argument] = f"%{name}"
                    elif order == 0:
                        name, next_conflict = _unique(f"arg{next_argument}", used, next_conflict)
                        values[argument] = f"%{name}"
                        next_argument += 1
                    else:
                        values[argument] = f"%{next_value}"
                        next_value += 1
                for operation in block.operations:
                    if operation.results:
                        next_value, next_conflict = self._number_results(operation, next_value, used, next_conflict)
                    if operation.regions:
                        nested.extend(operation.regions)
            stack.extend((inner, next_value, next_argument, next_conflict, used) for inner in nested)

    def _suggested_arguments(self, region: Region) -> Sequence[str]:
        """Return the names that the op around a region suggests for the arguments of its entry block."""
        definition = None if region.parent is None else region.parent.definition
        if self.generic or definition is None or definition.named_arguments is None:
            return ()
        return definition.named_arguments(region.parent)

    def _number_results(
        self, operation: Operation, next_value: int, used: dict[str, None], next_conflict: int
    ) -> tuple[int, int]:
        results = operation.results
        definition = operation.definition
        # The generic form ignores the names that an op suggests.
        if definition is not None and not self.generic:
            named = definition.named_results
            suggestions = named(operation) if callable(named) else named
            if suggestions:
                return next_value, self._name_results(results, suggestions, used, next_conflict)
        if len(results) == 1:
            self.values[results[0]] = f"%{next_value}"
            return next_value + 1, next_conflict
        for index, result in enumerate(results):
            self.values[result] = f"%{next_value}#{index}"
        return next_value + bool(results), next_conflict

    def _name_results(
        self, results: Sequence[SSAValue], suggestions: Sequence[str | None], used: dict[str, None], next_conflict: int
    ) -> int:
        """Name results. A result without a suggestion shares the name of the one before it."""
        for index, suggested in enumerate(suggestions):
            if suggested is None:
                continue
            name, next_conflict = _unique(_sanitized(suggested), used, next_conflict)
            end = index + 1
            while end < len(results) and suggestions[end] is None:
                end += 1
            for number, result in enumerate(results[index:end]):
                self.values[result] = f"%{name}#{number}" if end > index + 1 else f"%{name}"
        return next_conflict

    # Operations.

    def operation(self, operation: Operation) -> str:
        """Print an operation without indentation, its location included."""
        # MLIR numbers the aliases of locations in the order in which the operations begin.
        location = ""
        if self.debug_info:
            known = self.locations.get(operation)
            if known is None:
                known = self.locations[operation] = operation.location
            location = self.location(known)
        results = operation.results
        if not results:
            head = ""
        elif len(results) == 1:
            head = f"{self.values[results[0]]} = "
        else:
            head = self._bindings(operation)
        return f"{head}{self._without_results(operation)}{location}"

    def unbound(self, operation: Operation) -> str:
        """Print an operation in line; see `OpPrinter.unbound`. As in MLIR, the alias of its location is counted and
        defined, but not used.
        """
        self.location(operation.location)
        return self._without_results(operation)

    def _without_results(self, operation: Operation) -> str:
        definition = operation.definition
        if definition is not None and not self.generic:
            print_custom = compile_printer(definition)
            if print_custom is not None:
                prefix = self.default_dialect + "."
                name = operation.name
                shown = name[len(prefix) :] if name.startswith(prefix) else name
                text = print_custom(self, operation)
                if text is not None:
                    return f"{shown}{text}"
        return self.generic_form(operation)

    def _bindings(self, operation: Operation) -> str:
        results = operation.results
        counts: dict[str, int] = {}
        for result in results:
            name = self.values[result].partition("#")[0]
            counts[name] = counts.get(name, 0) + 1
        return f"{', '.join(name if count == 1 else f'{name}:{count}' for name, count in counts.items())} = "

    def generic_form(self, operation: Operation) -> str:
        """Return ``"name"(operands)[successors] <{properties}> ({regions}) {attributes} : types``."""
        operands = all_operands(operation)
        regions = self._note_generic(operation, operands) if self.looks_for_aliases else ""
        text = f'"{escaped(operation.name)}"({", ".join([self.values[value] for value in operands])})'
        if operation.successors:
            text += f"[{', '.join(self.labels[block] for block, _ in operation.successors)}]"
        raw = operation.raw_properties
        properties, attributes = operation.properties, operation.attributes
        definition = operation.definition
        if definition is not None and not self.newer and (newer := _newer_defaults(definition)):
            properties = {name: value for name, value in properties.items() if newer.get(name) != value}
        schema = Schema.LLVM24 if self.newer else Schema.MLIR22
        plain = frozenset() if definition is None else plain_names(definition, schema) & properties.keys()
        if plain:
            attributes = {**{name: properties[name] for name in plain}, **attributes}
            properties = {name: value for name, value in properties.items() if name not in plain}
        if properties:
            text += f" <{self.dictionary(properties)}>"
        elif raw is not None:
            # MLIR uses existing aliases here, but makes none for this attribute.
            text += f" <{self.names.get(raw) or raw.spell(self.names)}>"
        if operation.regions:
            text += f" ({regions or self._regions(operation)})"
        if attributes:
            text += f" {self.dictionary(attributes)}"
        inputs = ", ".join([self.type(value.type) for value in operands])
        types = [result.type for result in operation.results]
        outputs = ", ".join([self.type(type) for type in types])
        if len(types) != 1 or isinstance(types[0], FunctionType):
            outputs = f"({outputs})"
        return f"{text} : ({inputs}) -> {outputs}"

    def _regions(self, operation: Operation) -> str:
        return ", ".join(self.region(region, operation, header=True) for region in operation.regions)

    def _note_generic(self, operation: Operation, operands: Sequence[SSAValue]) -> str:
        """Record what needs an alias in an op in generic form, in MLIR's order: first in the regions, then in the
        types, then in properties and attributes by name. Return the text of the regions.
        """
        regions = self._regions(operation)
        for value in (*operands, *operation.results):
            self.type(value.type)
        entries = {**operation.properties, **operation.attributes}
        if isinstance(operation.raw_properties, DictionaryAttr) and is_upstream(operation.name):
            entries |= dict(operation.raw_properties.entries)
        for name in sorted(entries):
            self._note(entries[name])
        return regions

    # Regions.

    def region(
        self,
        region: Region,
        owner: Operation,
        entry_arguments: bool = True,
        header: bool = False,
        terminators: bool = True,
    ) -> str:
        """Print a region; see `OpPrinter.region`."""
        lines = ["{"]
        outer_dialect, outer_indent = self.default_dialect, self.indent
        self.default_dialect = "" if owner.definition is None else owner.definition.default_dialect
        sources = _predecessors(region)
        for order, block in enumerate(region.blocks):
            labelled = order > 0 or ((header and not block.operations) or (entry_arguments and bool(block.arguments)))
            if labelled:
                lines.append(f"{outer_indent}{self._header(block, sources.get(block, ()), order)}")
            self.indent = inner = outer_indent + "  "
            operation = self.operation
            operations = block.operations
            if not terminators and not order and operations and _is_terminator(operations[-1]):
                operations = operations[:-1]
            lines += [inner + operation(op) for op in operations]
            self.indent = outer_indent
        self.default_dialect = outer_dialect
        lines.append(outer_indent + "}")
        return "\n".join(lines)

    def _header(self, block: Block, sources: Sequence[Block], order: int) -> str:
        text = self.labels[block]
        if block.arguments:
            arguments = (
                f"{self.values[argument]}: {self.type(argument.type)}{self.location_of_argument(argument)}"
                for argument in block.arguments
            )
            text += f"({', '.join(arguments)})"
        predecessors = [self.labels[source] for source in sources]
        if not predecessors:
            note = "  // no predecessors" if order else ""
        elif len(predecessors) == 1:
            note = f"  // pred: {predecessors[0]}"
        else:
            note = f"  // {len(predecessors)} preds: {', '.join(predecessors)}"
        return f"{text}:{note}"


def _is_terminator(operation: Operation) -> bool:
    return operation.definition is not None and Trait.TERMINATOR in operation.definition.traits


def _predecessors(region: Region) -> dict[Block, list[Block]]:
    """Return, for each block, the blocks that branch to it, once for each branch, in the order of the region."""
    found: dict[Block, list[Block]] = {}
    if len(region.blocks) == 1:
        return found
    for block in region.blocks:
        if block.operations:
            for target, _ in block.operations[-1].successors:
                found.setdefault(target, []).append(block)
    return found


def _sanitized(name: str) -> str:
    """Turn a suggested name into an identifier, as MLIR does."""
    name = f"_{name}" if name[:1].isdigit() else name
    return "".join(
        char
        if char.isascii() and (char.isalnum() or char in "$._-")
        else "_"
        if char == " "
        else char.encode().hex().upper()
        for char in name
    )


def _unique(name: str, used: dict[str, None], next_conflict: int) -> tuple[str, int]:
    """Return the name, with a number appended if it is already used."""
    if name in used:
        while f"{name}_{next_conflict}" in used:
            next_conflict += 1
        name = f"{name}_{next_conflict}"
        next_conflict += 1
    used[name] = None
    return name, next_conflict


# --- aliases --------------------------------------------------------------------------------------------------------


def _depth(thing: Attribute | Type, depths: dict[Attribute | Type, int]) -> int:
    """Return how deep the deepest alias is nested in the spelling of something, itself included if it has an alias."""
    known = depths.get(thing)
    if known is None:
        inner = max((_depth(part, depths) for part in parts(thing)), default=0)
        known = depths[thing] = inner + 1 if inner else int(alias_of(thing) is not None)
    return known


def _alias_order(seen: Iterable[Attribute | Type]) -> list[Attribute | Type]:
    """Sort the definitions of aliases: by depth, types first, then by name, then in the order of printing."""
    depths: dict[Attribute | Type, int] = {}
    return sorted(seen, key=lambda thing: (_depth(thing, depths), not isinstance(thing, Type), alias_of(thing) or ""))


def _alias_names(order: Iterable[Attribute | Type], packed: bool) -> Names:
    """Name the aliases. Aliases of one kind have numbers from the second on: ``#map``, ``#map1``."""
    counts: dict[str, int] = {}
    names = Names(packed)
    for thing in order:
        base = alias_of(thing)
        assert base is not None
        number = counts.get(base, 0)
        counts[base] = number + 1
        names[thing] = f"{'!' if isinstance(thing, Type) else '#'}{base}{number or ''}"
    return names


_UNPACKED = "stablehlo.", "chlo."


def print_module(module: Module, generic: bool = False, debug_info: bool = False, schema: Schema | None = None) -> str:
    """Return the text of a module, as mlir-opt 22 prints it.

    ``generic``: as with --mlir-print-op-generic.
    ``debug_info``: as with --mlir-print-debuginfo.
    ``schema``: the version of MLIR that will read the text. None: everything that halfulp knows is printed, in the
    syntax of MLIR 22.

    The text ends with the resources that attributes of the module name. Raises Unsupported for an op, a property or a
    type that the version does not have, LimitExceeded for attributes or types that are nested too deep, and
    TypeMismatch for an argument that is not a module.
    """
    if not isinstance(module, Module):
        raise TypeMismatch(
            f"print_module takes a module, not a {type(module).__name__}",
            hint="give the result of load, parse or read_bytecode, such as hu.print_module(hu.load(source))",
        )
    try:
        with PausedCollector():
            return _text_of(module, generic, debug_info, schema)
    except RecursionError:
        raise LimitExceeded("attributes or types are nested too deep to be printed") from None


def print_without_aliases(module: Module) -> str:
    """Return the text of a module in the generic form, with each attribute and type where it is used: this is fast.

    Raises LimitExceeded for attributes or types that are nested too deep.
    """
    try:
        with PausedCollector():
            return _text_of(module, True, False, None, aliases=False)
    except RecursionError:
        raise LimitExceeded("attributes or types are nested too deep to be printed") from None


def _text_of(module: Module, generic: bool, debug_info: bool, schema: Schema | None, aliases: bool = True) -> str:
    newer = schema is not None and schema >= Schema.LLVM24
    if schema is not None:
        check_schema(module, schema)
    # StableHLO comes with newer MLIR, which has a byte for each i1.
    packed = not newer and not (schema is None and any(op.name.startswith(_UNPACKED) for op in module.walk()))
    unnamed = Names(packed)
    printer = Printer(generic, debug_info, unnamed, newer)
    printer.looks_for_aliases = aliases
    printer.number(module.operation)
    text = printer.operation(module.operation)
    head: list[str] = []
    tail: list[str] = []
    # While it looks for aliases, the printer meets distinct attributes in another order.
    if aliases and (printer.seen or unnamed.numbered):
        seen = printer.seen
        order = _alias_order(seen)
        names = _alias_names(order, packed)
        numbered = printer
        printer = Printer(generic, debug_info, names, newer)
        printer.values, printer.labels, printer.locations = numbered.values, numbered.labels, numbered.locations
        # Distinct attributes are numbered as they are spelled: first those that stand before the module.
        head = [f"{names[thing]} = {thing.spell(names)}" for thing in order if not seen[thing]]
        text = printer.operation(module.operation)
        tail = [f"{names[thing]} = {thing.spell(names)}" for thing in order if seen[thing]]
    lines = [*head, text, *tail]
    resources = _resource_section(module)
    if resources:
        lines += ["", resources]
    return "\n".join(lines) + "\n"


def _resource_section(module: Module) -> str:
    used = _used_resources(module) if module.resources.dialect else {}
    groups: list[tuple[str, list[tuple[str, dict[str, Resource]]]]] = []
    dialects = [
        (dialect, {key: entries[key] for key in used if key in entries})
        for dialect, entries in module.resources.dialect.items()
    ]
    groups.append(("dialect_resources", [(name, entries) for name, entries in dialects if entries]))
    groups.append(("external_resources", list(module.resources.external.items())))
    texts = [
        f"  {title}: {{\n" + ",\n".join(_resource_group(name, entries) for name, entries in group) + "\n  }"
        for title, group in groups
        if group
    ]
    return "{-#\n" + ",\n".join(texts) + "\n#-}" if texts else ""


def _resource_group(name: str, entries: Mapping[str, Resource]) -> str:
    lines = ",\n".join(f"      {_resource_key(key)}: {_resource(entry)}" for key, entry in entries.items())
    return f"    {_resource_key(name)}: {{\n{lines}\n    }}"


def _resource_key(key: str) -> str:
    return key if is_bare_identifier(key) else quoted(key)


def _resource(entry: Resource) -> str:
    if isinstance(entry, Blob):
        return f'"0x{(entry.alignment.to_bytes(4, "little") + entry.data).hex().upper()}"'
    return ("true" if entry else "false") if isinstance(entry, bool) else quoted(entry)


def _used_resources(module: Module) -> dict[str, None]:
    """Return the keys of the resources that the module names, in the order of their use."""
    used: dict[str, None] = {}
    for operation in module.walk():
        groups = (operation.attributes, operation.properties)
        stack: list[Attribute | Type] = [group[name] for group in groups for name in sorted(group, reverse=True)]
        if operation.raw_properties is not None:
            stack.append(operation.raw_properties)
        while stack:
            thing = stack.pop()
            if isinstance(thing, DenseResourceAttr):
                used.setdefault(thing.key)
            stack.extend(reversed(list(parts(thing))))
    return used
