"""affine.parallel: a loop over the points of a box whose bounds are maps, in lexicographic order, with reductions.

As in MLIR's lowering, a reduction begins with the neutral element (for a sum +0), and its left operand is the result so
far.
"""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.fp_formats.formats import codes_to_ints, ints_to_codes
from halfulp.interp.declare.declarations import CustomForm, OpDefinition
from halfulp.interp.dialects import regions
from halfulp.interp.dialects.affine.loops import results_of
from halfulp.interp.dialects.affine.symbols import inline_group, misused, read_groups, used
from halfulp.interp.dialects.elementwise import ATOMIC_KIND, COMBINING, elementwise_step, neutral
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import AffineMapAttr, ArrayAttr, DenseElementsAttr, IntegerAttr
from halfulp.interp.ir.base import Attribute, quoted
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Compiler
from halfulp.interp.run.frames import Action, Slots, Step, lower
from halfulp.interp.run.steps import general_step
from halfulp.interp.text.op_parser import Argument, OpParser, OpPrinter

# --- forms ------------------------------------------------------------------------------------------------------------


def _groups_attribute(sizes: Sequence[int]) -> DenseElementsAttr:
    """Return the numbers of results of each bound, as MLIR keeps them."""
    splat = len(set(sizes)) == 1
    codes = ints_to_codes(list(sizes[:1] if splat else sizes), 32, () if splat else (len(sizes),))
    return DenseElementsAttr(ty.TensorType((len(sizes),), ty.I32), codes, splat)


def _groups(op: Operation, which: str) -> list[int]:
    groups = op.prop(f"{which}BoundsGroups", DenseElementsAttr)
    return codes_to_ints(groups.array(), 32)


def _map(op: Operation, which: str) -> AffineMapAttr:
    return op.prop(f"{which}BoundsMap", AffineMapAttr)


def _integers(op: Operation, name: str) -> list[int]:
    array = op.prop(name, ArrayAttr)
    return [entry.value for entry in array.elements if isinstance(entry, IntegerAttr)]


def _read_steps(p: OpParser, definition: OpDefinition, at: int, count: int) -> list[int]:
    if not p.take("step"):
        return [1] * count
    p.expect("(")
    steps: list[int] = []
    while p.tokens[p.pos] != ")":
        if p.tokens[p.pos][:1] == "%":
            p.wrong(definition.name, "steps must be constant integers", at)
        steps.append(p.integer())
        if not p.take(","):
            break
    p.expect(")")
    return steps


def _read_reductions(p: OpParser, definition: OpDefinition) -> list[int]:
    if not p.take("reduce"):
        return []
    p.expect("(")
    kinds: list[int] = []
    while p.tokens[p.pos] != ")":
        at = p.pos
        word = p.string()
        if word not in ATOMIC_KIND.cases:
            p.wrong(definition.name, f"invalid reduction value: {quoted(word)}", at)
        kinds.append(ATOMIC_KIND.cases[word])
        if not p.take(","):
            break
    p.expect(")")
    return kinds


def _parse(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    variables = regions.argument_list(p)
    p.expect("=")
    lower_map, lower_tokens, lower_sizes = read_groups(p, "max")
    p.keyword(definition, "to")
    upper_map, upper_tokens, upper_sizes = read_groups(p, "min")
    steps = _read_steps(p, definition, at, len(variables))
    kinds = _read_reductions(p, definition)
    results = regions.arrow_types(p)
    region = p.region(definition.name, [Argument(token, ty.INDEX, None) for token in variables])
    p.terminated(region, "affine.yield", at)
    operands = [*used(p, lower_tokens), *used(p, upper_tokens)]
    properties: dict[str, Attribute] = {
        "lowerBoundsGroups": _groups_attribute(lower_sizes),
        "lowerBoundsMap": lower_map,
        "reductions": ArrayAttr(tuple(IntegerAttr(kind, ty.I64) for kind in kinds)),
        "steps": ArrayAttr(tuple(IntegerAttr(step, ty.I64) for step in steps)),
        "upperBoundsGroups": _groups_attribute(upper_sizes),
        "upperBoundsMap": upper_map,
    }
    return regions.build_op(p, at, definition, operands, results, [region], properties)


def _bounds(printer: OpPrinter, op: Operation, which: str, word: str) -> str:
    map_, start = _map(op, which), 0
    first = 0 if which == "lower" else _inputs(_map(op, "lower"))
    operands = op.operands[first : first + _inputs(map_)]
    texts = []
    for size in _groups(op, which):
        text = inline_group(printer, map_, map_.results[start : start + size], operands)
        texts.append(text if size == 1 else f"{word}({text})")
        start += size
    return f"({', '.join(texts)})"


def _print(printer: OpPrinter, op: Operation) -> str:
    region = op.regions[0]
    variables = ", ".join(map(printer.name, region.blocks[0].arguments))
    text = f" ({variables}) = {_bounds(printer, op, 'lower', 'max')} to {_bounds(printer, op, 'upper', 'min')}"
    steps = _integers(op, "steps")
    if any(step != 1 for step in steps):
        text += f" step ({', '.join(map(str, steps))})"
    if op.results:
        kinds = (quoted(ATOMIC_KIND.names[kind]) for kind in _integers(op, "reductions"))
        text += f" reduce ({', '.join(kinds)}) -> ({', '.join(printer.type(each.type) for each in op.results)})"
    text += f" {printer.region(region, op, entry_arguments=False, terminators=bool(op.results))}"
    return text + regions.trailing_dictionary(printer, op)


FORM = CustomForm(_parse, _print)

# --- rules ------------------------------------------------------------------------------------------------------------


def _inputs(map_: AffineMapAttr) -> int:
    return map_.dimensions + map_.symbols


def _combines(kind: str, type_: ty.Type) -> bool:
    """Tell whether MLIR accepts a reduction of this kind for a result of this type."""
    if kind in ("maxs", "mins", "maxu", "minu"):
        wanted = "signed" if kind.endswith("s") else "unsigned"
        return isinstance(type_, ty.IntegerType) and type_.signedness == wanted
    if kind in ("addf", "mulf", "maximumf", "minimumf"):
        return isinstance(type_, ty.FloatType)
    return kind == "assign" or (kind in ("addi", "muli", "ori", "andi") and isinstance(type_, ty.IntegerType))


def verify(op: Operation) -> str | None:
    """Return what is wrong with bounds, steps and reductions, or None."""
    variables = len(op.regions[0].blocks[0].arguments)
    lower_groups, upper_groups, steps = _groups(op, "lower"), _groups(op, "upper"), _integers(op, "steps")
    if not variables == len(lower_groups) == len(upper_groups) == len(steps):
        return (
            f"the number of region arguments ({variables}) and the number of map groups for lower "
            f"({len(lower_groups)}) and upper bound ({len(upper_groups)}), and the number of steps ({len(steps)}) "
            "must all match"
        )
    for which, groups in (("lower", lower_groups), ("upper", upper_groups)):
        if 0 in groups:
            return f"expected {which} bound map to have at least one result"
        if sum(groups) != len(_map(op, which).results):
            return f"expected {which} bounds map to have {sum(groups)} results"
    kinds = _integers(op, "reductions")
    if len(kinds) != len(op.results):
        return "a reduction must be specified for each output"
    for kind, result in zip(kinds, op.results, strict=True):
        if kind not in ATOMIC_KIND.names:
            return "invalid reduction attribute"
        if not _combines(ATOMIC_KIND.names[kind], result.type):
            return "result type cannot match reduction attribute"
    if len(op.operands) < _inputs(_map(op, "lower")) + _inputs(_map(op, "upper")):
        return "operand count must match with affine map dimension and symbol count"
    first = _inputs(_map(op, "lower"))
    return misused(op.operands[:first], _map(op, "lower").dimensions) or misused(
        op.operands[first:], _map(op, "upper").dimensions
    )


def verify_yield(op: Operation) -> str | None:
    """Return an error message unless affine.yield returns values of the result types of the op around it."""
    around = op.parent_op
    if around is None or around.name not in ("affine.if", "affine.for", "affine.parallel"):
        return "only terminates affine.if/for/parallel regions"
    if len(around.results) != len(op.operands):
        return "parent of yield must have same number of results as the yield operands"
    if any(value.type != result.type for value, result in zip(op.operands, around.results, strict=True)):
        return "types mismatch between yield op and its parent"
    return None


# --- evaluation -------------------------------------------------------------------------------------------------------


def _box(op: Operation, compiler: Compiler) -> regions.Bounds:
    """Return the bounds of the box."""
    sides = []
    first = 0
    for which in ("lower", "upper"):
        map_ = _map(op, which)
        slots = compiler.slots(op.operands[first : first + _inputs(map_)])
        first += _inputs(map_)
        values = results_of(op, map_, slots, compiler.settings, f"the {which} bound")
        sides.append((values, _groups(op, which), max if which == "lower" else min))
    steps = _integers(op, "steps")
    if any(step <= 0 for step in steps):
        raise Unsupported(f"{op.name}: the steps {steps} are not positive", location=op.location, op=op.name)

    def ranges(slots: Slots) -> Sequence[range]:
        bounds = []
        for values, groups, choose in sides:
            given = iter(values(slots))
            bounds.append([choose([next(given) for _ in range(size)]) for size in groups])
        return regions.checked_ranges(op, bounds[0], bounds[1], steps)

    return ranges


def evaluate(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs affine.parallel."""
    results = compiler.slots(op.results)
    kinds = [ATOMIC_KIND.names[kind] for kind in _integers(op, "reductions")]
    if "assign" in kinds:
        raise Unsupported(f"{op.name}: a reduction by 'assign' has no result", location=op.location, op=op.name)
    names = [COMBINING[kind].op for kind in kinds]
    initial = [lower(neutral(name, value.type)) for name, value in zip(names, op.results, strict=True)]

    def begin(slots: Slots) -> None:
        for slot, value in zip(results, initial, strict=True):
            slots[slot] = value

    def combine(sources: Sequence[int]) -> tuple[Step, ...]:
        steps = []
        for name, value, slot, source in zip(names, op.results, results, sources, strict=True):
            step = elementwise_step(op, name, (value.type, value.type), value.type, compiler.settings)
            steps.append(general_step(step.run, op, (slot, source), (slot,), [value, value]))
        return tuple(steps)

    return regions.over_box(op, compiler, _box(op, compiler), (begin,), combine)
