"""Copies of functions and ops, to compare, reduce and change programs. Only the last section changes the given IR."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.fp_formats.formats import Codes, codes_to_ints
from halfulp.interp.declare.build import function_of
from halfulp.interp.declare.declarations import OpDefinition, Property, Trait
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumAttr, EnumDefinition
from halfulp.interp.ir.operations import Block, Module, Operation, OpResult, Region, SSAValue, captured
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.settings import ruling_attributes

Retype = Callable[[ty.Type], ty.Type]


def copied(op: Operation, values: dict[SSAValue, SSAValue], retype: Retype = lambda type_: type_) -> Operation:
    """Return a copy of an op with everything inside it.

    ``values``: replacements for values defined outside; values without one stay. The values that the copy defines are
    added to it. The copy has the locations of the original.
    """
    blocks: dict[Block, Block] = {}
    copy = _skeleton(op, values, blocks, retype)
    for inner in copy.walk():
        inner.operands = [values.get(value, value) for value in inner.operands]
        inner.successors = [
            (blocks.get(block, block), [values.get(value, value) for value in passed])
            for block, passed in inner.successors
        ]
    return copy


def _skeleton(op: Operation, values: dict[SSAValue, SSAValue], blocks: dict[Block, Block], retype: Retype) -> Operation:
    regions = []
    for region in op.regions:
        regions.append(Region())
        for block in region.blocks:
            blocks[block] = twin = Block(label=block.label)
            regions[-1].append(twin)
            for argument in block.arguments:
                values[argument] = twin.add_argument(retype(argument.type), argument.name)
            for inner in block.operations:
                twin.append(_skeleton(inner, values, blocks, retype))
    copy = Operation(
        op.name,
        op.definition,
        list(op.operands),
        [retype(result.type) for result in op.results],
        dict(op.properties),
        dict(op.attributes),
        regions,
        list(op.successors),
        op._location,
    )
    copy.raw_properties, copy.source, copy.token = op.raw_properties, op.source, op.token
    values.update(zip(op.results, copy.results, strict=True))
    return copy


def definition_of(name: str) -> OpDefinition:
    """Return the declaration of a built-in op."""
    found = default_registry().find(name)
    assert found is not None
    return found


def constant(type_: ty.Type, codes: Codes, splat: bool = False) -> Operation:
    """Return an ``arith.constant`` of these codes. ``splat``: they are one code, which all elements have."""
    element = ty.element_type(type_)
    value: at.Attribute
    if isinstance(type_, ty.TensorType | ty.VectorType):
        value = at.DenseElementsAttr(type_, codes, splat)
    elif isinstance(element, ty.FloatType):
        value = at.FloatAttr(codes_to_ints(codes, width_of(element))[0], element)
    else:
        value = at.IntegerAttr(at.integer_of_code(codes_to_ints(codes, width_of(element))[0], element), element)
    return Operation("arith.constant", definition_of("arith.constant"), [], [type_], {"value": value})


def function(name: str, block: Block, results: Sequence[SSAValue], like: Operation | None = None) -> Operation:
    """Return a public function of one block that returns ``results``.

    ``like``: the function that the ops are from; its attributes may change how they run.
    """
    made = function_of(name, block, results)
    if like is not None:
        made.attributes.update(ruling_attributes(like))
    return made


def returnable(value: SSAValue, block: Block) -> SSAValue:
    """Return a value in a form that functions can return: a quantised value as its storage integers, by a cast in the
    block.
    """
    stored = ty.element_type(value.type)
    if not isinstance(stored, ty.UniformQuantizedType | ty.AnyQuantizedType):
        return value
    target = ty.with_element(value.type, ty.IntegerType(stored.storage_width))
    cast = Operation("quant.scast", definition_of("quant.scast"), [value], [target])
    block.append(cast)
    return cast.results[0]


def module_with(functions: Iterable[Operation], like: Module) -> Module:
    """Return a module with copies of these top-level ops, and with the resources and the text of ``like``."""
    found = module_around(copied(op, {}) for op in functions)
    return Module(found.operation, like.source, like.resources)


def module_around(functions: Iterable[Operation]) -> Module:
    """Return a module with these top-level ops themselves, not copies."""
    top = Block()
    for op in functions:
        top.append(op)
    return Module(Operation("builtin.module", definition_of("builtin.module"), regions=[Region([top])]))


def prefix_symbols(module: Module, prefix: str) -> None:
    """Add a prefix to the names of all symbols of a module, and to all uses of these names."""
    for op in module.walk():
        for key, value in op.properties.items():
            if key == "sym_name" and isinstance(value, at.StringAttr):
                op.properties[key] = at.StringAttr(f"{prefix}{value.value}")
            elif isinstance(value, at.SymbolRefAttr):
                op.properties[key] = at.SymbolRefAttr(prefix + value.root, value.nested)


def callees(module: Module, op: Operation) -> list[Operation]:
    """Return the functions at the top level that an op calls or names, directly or through others, in the order
    of the module.
    """
    found: dict[Operation, None] = {}
    waiting = [op]
    while waiting:
        for inner in waiting.pop().walk():
            for attribute in (*inner.properties.values(), *inner.attributes.values()):
                target = module.lookup(attribute, None) if isinstance(attribute, at.SymbolRefAttr) else None
                if target is not None and target.parent_op is module.operation and target not in found:
                    found[target] = None
                    waiting.append(target)
    return [top for top in module.body if top in found]


def dependents(module: Module, seeds: Iterable[Operation]) -> set[SSAValue]:
    """Return the values of a module that depend on the results of some ops: by use, by a branch taken, through calls.

    The result is never too small: everything that depends on an op inside an op with regions depends on the whole op,
    and after a branch whose condition depends on the ops, everything in its function does.
    """
    found: set[SSAValue] = {result for op in seeds for result in op.results}
    ops = [op for top in module.body for op in top.walk()]
    size = -1
    while size != len(found):
        size = len(found)
        for op in ops:
            used = not found.isdisjoint(op.operands) or any(not found.isdisjoint(passed) for _, passed in op.successors)
            if op.name == "func.call":
                _through_call(module, op, found)
            elif op.name == "func.func" or not (used or op.regions):
                continue
            elif op.successors and not found.isdisjoint(op.operands):
                found.update(_values_inside(function_around(op)))
            elif op.regions:
                inner = _values_inside(op)
                if used or not found.isdisjoint(inner) or any(not found.isdisjoint(o.operands) for o in op.walk()):
                    found.update(inner, op.results)
            else:
                found.update(op.results)
                for block, passed in op.successors:
                    found.update(
                        argument for argument, value in zip(block.arguments, passed, strict=False) if value in found
                    )
    return found


def _through_call(module: Module, call: Operation, found: set[SSAValue]) -> None:
    """Follow dependent values into the called function, and out of it."""
    callee = call.properties.get("callee")
    target = module.lookup(callee, None) if isinstance(callee, at.SymbolRefAttr) else None
    if target is None or not target.regions or not target.regions[0].blocks:
        if not found.isdisjoint(call.operands):
            found.update(call.results)
        return
    arguments = target.regions[0].blocks[0].arguments
    found.update(inner for inner, given in zip(arguments, call.operands, strict=False) if given in found)
    for returned in returns(target):
        found.update(result for result, value in zip(call.results, returned.operands, strict=False) if value in found)


def returns(target: Operation) -> list[Operation]:
    """Return the ops that end a function."""
    ends = [block.operations[-1] for block in target.regions[0].blocks if block.operations]
    return [op for op in ends if op.name == "func.return"]


def _values_inside(op: Operation) -> set[SSAValue]:
    """Return all values that are defined inside an op, not by it."""
    found: set[SSAValue] = set()
    for inner in op.walk():
        if inner is not op:
            found.update(inner.results)
        for block in inner.blocks:
            found.update(block.arguments)
    return found


def function_around(op: Operation) -> Operation:
    """Return the function that an op is in."""
    while op.name != "func.func" and op.parent_op is not None:
        op = op.parent_op
    return op


def isolated(
    module: Module,
    op: Operation,
    name: str = "op",
    *,
    constants: bool = False,
    fixed: Mapping[SSAValue, Operation] = MappingProxyType({}),
) -> Module:
    """Return a module whose function ``@name`` applies the op alone to its `captured` values and returns
    its results.

    ``constants``: the function has constants in place of the arguments that are constants in the module, so that
    passes fold them. ``fixed``: the constants that stand for other values.
    """
    others = callees(module, op)
    while any(other.symbol_name == name for other in others):
        name += "_"
    block = Block()
    values: dict[SSAValue, SSAValue] = {value: block.add_argument(value.type) for value in captured(op)}
    for value in list(values) if constants else ():
        owner = fixed.get(value, value.owner if isinstance(value, OpResult) else None)
        if owner is not None and owner.definition is not None and Trait.CONSTANT_LIKE in owner.definition.traits:
            constant = copied(owner, {})
            block.append(constant)
            values[value] = constant.results[0]
    copy = copied(op, values)
    block.append(copy)
    found = module_with(others, module)
    found.operation.regions[0].blocks[0].append(function(name, block, copy.results, like=function_around(op)))
    return found


def case_of(op: Operation) -> OpCase | None:
    """Return the op as a case; None if it is not elementwise, or only moves a value."""
    definition = op.definition
    if definition is None or not (isinstance(definition.evaluate, Elementwise) or op.name == "arith.select"):
        return None
    types = [ty.element_type(value.type) for value in (*op.operands, *op.results)]
    if any(element_width(type_) is None for type_ in types):
        return None
    spelled = [str(type_) for type_ in types]
    count = len(op.operands)
    return OpCase(
        op.name, tuple(spelled[:count]), tuple(spelled[count:]), keywords(op.properties, definition.properties)
    )


_KEYWORDS = {"roundingmode": "rounding", "overflowFlags": "overflow", "isExact": "exact"}


def keywords(properties: Mapping[str, at.Attribute], declared: Sequence[Property]) -> tuple[tuple[str, Any], ...]:
    """Return properties as `halfulp.interp.declare.build.op_properties` takes them, without defaults."""
    found: list[tuple[str, Any]] = []
    for prop in declared:
        attribute, name = properties.get(prop.name), _KEYWORDS.get(prop.name, prop.name)
        if attribute is None:
            continue
        if not isinstance(prop.kind, EnumDefinition):
            found.append((name, True if isinstance(attribute, at.UnitAttr) else attribute))
        elif isinstance(attribute, EnumAttr | at.IntegerAttr) and attribute.value != prop.default:
            found.append((name, prop.kind.spell(attribute.value).replace(" ", "")))
    return tuple(sorted(found))


# --- changes in place -------------------------------------------------------------------------------------------------


def put_before(op: Operation, made: Operation) -> Operation:
    """Put an op before another one in its block, and return it."""
    assert op.parent is not None
    made.parent = op.parent
    op.parent.operations.insert(op.parent.operations.index(op), made)
    return made


def replace_uses(around: Operation, old: SSAValue, new: SSAValue, but: Operation | None = None) -> None:
    """Replace all uses of a value inside an op by another value, except those of the op ``but``."""
    for op in around.walk():
        if op is not but:
            op.operands = [new if value is old else value for value in op.operands]
            op.successors = [
                (block, [new if value is old else value for value in passed]) for block, passed in op.successors
            ]


def drop(op: Operation) -> None:
    """Remove an op from its block, if it is in one. What still uses its results has no definition then."""
    if op.parent is not None and op in op.parent.operations:
        op.parent.operations.remove(op)
        op.parent = None
