"""The ops of StableHLO that combine elements along dimensions: reduce, map and dot_general.

Each is a structured op: maps, iterators and a body, which `halfulp.interp.dialects.structured` runs on whole arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.elements import rearranged
from halfulp.interp.dialects.regions import trailing_dictionary
from halfulp.interp.dialects.stablehlo.attributes import (
    ALGORITHM,
    DOT,
    PRECISIONS,
    algorithm_problem,
    dot_numbers,
    i64_array,
    read_algorithm,
    read_precision,
    spelled_precision,
)
from halfulp.interp.dialects.stablehlo.bodies import (
    body_of,
    results_of_reducer,
    verify_computation,
    verify_reducer,
)
from halfulp.interp.dialects.stablehlo.forms import read_integers, read_rest
from halfulp.interp.dialects.stablehlo.loops import (
    CompiledLoops,
    Loops,
    as_loops,
    converted,
    neutral,
    on_arrays,
    only_op,
    shape_of_lane,
    spread,
    with_body,
    with_elements,
    zeros,
)
from halfulp.interp.dialects.stablehlo.moving import padded
from halfulp.interp.dialects.stablehlo.quantized import any_quantized, between_casts, op_at, step_between
from halfulp.interp.dialects.stablehlo.stored import product_of_stored
from halfulp.interp.dialects.stablehlo.types import (
    ANY_TENSOR,
    PLAIN_TENSOR,
    bounds_of,
    most_specific,
    not_inferred,
    operand_types,
    same_shape,
    shapes_fit,
    sizes_fit,
    spelled_sizes,
    stablehlo,
    tensor,
)
from halfulp.interp.dialects.structured.structure import PARALLEL, REDUCTION, Structure
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import AffineExpr, Dimension
from halfulp.interp.ir.attributes import map_of
from halfulp.interp.ir.dialect_attributes import DialectAttr, EnumAttr
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue
from halfulp.interp.run.evaluators import Compiler, OnRawSlots
from halfulp.interp.run.frames import Run, Step
from halfulp.interp.text.op_parser import Argument, OpParser, OpPrinter
from halfulp.interp.values.lanes import over_lanes
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import Profile

# --- reduce -----------------------------------------------------------------------------------------------------------

_COMPACT = frozenset(f"stablehlo.{name}" for name in ("add", "and", "maximum", "minimum", "multiply", "or", "xor"))
"""The ops of bodies that have a short form."""


def _parse_reduce(p: OpParser, at_: int, definition: d.OpDefinition) -> Operation:
    inputs, inits = list[int](), list[int]()
    start = p.pos
    while True:
        p.expect("(")
        inputs.append(p.operand_token())
        p.keyword(definition, "init")
        p.expect(":")
        inits.append(p.operand_token())
        p.expect(")")
        if not p.take(","):
            break
    short = None
    if p.take("applies"):
        short = p.pos
        if p.tokens[short] not in _COMPACT:
            p.wrong(
                definition.name,
                "expected the inner-op to be a commutative binary-op from the "
                "stablehlo dialect, with zero region, producing single result",
                start,
            )
        p.pos += 1
    p.keyword(definition, "across")
    p.keyword(definition, "dimensions")
    p.expect("=")
    dimensions = i64_array(read_integers(p, definition.name))
    attributes = p.optional_dictionary()
    p.expect(":")
    type_ = p.function_type()
    operands = p.uses(definition.name, (*inputs, *inits), type_.inputs, start)
    if not type_.inputs:
        p.wrong(definition.name, "input types missing in reduce-op function type", start)
    if short is not None:
        region = Region([_short_body(p, short, ty.TensorType((), ty.element_type(type_.inputs[0])))])
    else:
        p.keyword(definition, "reducer")
        pairs = list[tuple[Argument, Argument]]()
        while p.tokens[p.pos] == "(":
            p.expect("(")
            first = _argument(p)
            p.expect(",")
            pairs.append((first, _argument(p)))
            p.expect(")")
        arguments = [pair[which] for which in (0, 1) for pair in pairs]
        region = p.region(definition.name, arguments)
    return p.placed(
        Operation(
            definition.name, definition, operands, type_.results, {"dimensions": dimensions}, attributes, [region]
        ),
        at_,
    )


def _argument(p: OpParser) -> Argument:
    token = p.operand_token()
    p.expect(":")
    type_ = p.type()
    return Argument(token, type_, p.deferrable_location() if p.tokens[p.pos] == "loc" else None)


def _short_body(p: OpParser, at_: int, type_: ty.Type) -> Block:
    """Return the body that one op of two operands stands for, whose name is the token ``at_``."""
    name = p.tokens[at_]
    block = Block()
    arguments = [block.add_argument(type_) for _ in range(2)]
    inner = Operation(name, p.registry.find(name), list(arguments), [type_])
    end = Operation("stablehlo.return", p.registry.find("stablehlo.return"), list(inner.results))
    for each in (inner, end):
        block.append(p.placed(each, at_))
    return block


def _short_name(op: Operation) -> str | None:
    """Return the op that the body consists of, if the short form can say it."""
    block = body_of(op)
    if len(block.operations) != 2 or len(op.operands) != 2:
        return None
    inner, end = block.operations
    element = ty.TensorType((), ty.element_type(op.operands[0].type))
    types = set(inner.types)
    plain = inner.name in _COMPACT and not inner.attributes and list(inner.operands) == list(block.arguments)
    return inner.name if plain and list(end.operands) == list(inner.results) and types == {element} else None


def _print_reduce(printer: OpPrinter, op: Operation) -> str:
    half = len(op.operands) // 2
    pairs = zip(op.operands[:half], op.operands[half:], strict=True)
    text = ", ".join(f"({printer.name(one)} init: {printer.name(init)})" for one, init in pairs)
    short = _short_name(op)
    if short is not None:
        text += f" applies {short}"
    text += f" across dimensions = [{op.prop('dimensions', at.DenseArrayAttr).values_text()}]"
    text += trailing_dictionary(printer, op)
    types = ty.FunctionType(tuple(value.type for value in op.operands), tuple(result.type for result in op.results))
    text += f" : {printer.type(types)}"
    if short is not None:
        return text
    arguments = body_of(op).arguments
    shown = [f"{printer.name(value)}: {printer.type(value.type)}" for value in arguments]
    reducers = " ".join(f"({one}, {other})" for one, other in zip(shown[:half], shown[half:], strict=True))
    body = printer.region(op.regions[0], op, entry_arguments=False)
    return f"{text}\n{printer.indent} reducer{reducers}  {body}"


def verify_alike(op: Operation) -> Unprefixed | None:
    """Return what is wrong with the shapes of the inputs, which must be the same, or None."""
    inputs, _ = halves_of(op)
    for number, one in enumerate(inputs):
        if not shapes_fit(inputs[0], one):
            return Unprefixed(
                f"expects all inputs to have compatible shapes. Shape at input-index {number} is not compatible with "
                f"shape at input-index 0"
            )
    return None


def kept_sizes(op: Operation) -> list[int]:
    """Return the numbers of the dimensions that are left after a reduction."""
    dimensions, shape = op.numbers("dimensions"), ty.shape_of(op.operands[0].type) or ()
    return [axis for axis in range(len(shape)) if axis not in dimensions]


def _verify_reduce(op: Operation) -> str | None:
    dimensions = op.numbers("dimensions")
    shape = ty.shape_of(op.operands[0].type) or ()
    found = verify_alike(op)
    if found is not None:
        return found
    for place, number in enumerate(dimensions):
        if not 0 <= number < len(shape):
            return Unprefixed(f"Out-of-bounds dimension {number}, expected to be in range [0, {len(shape)})")
        if number in dimensions[:place]:
            return Unprefixed(f"Duplicate reduction dimension: {number}")
    return verify_reducer(body_of(op), *halves_of(op), [shape[axis] for axis in kept_sizes(op)])


def halves_of(op: Operation) -> tuple[list[ty.Type], list[ty.Type]]:
    """Return the types of the inputs and of the initial values of a reduction."""
    types, half = [value.type for value in op.operands], len(op.operands) // 2
    return types[:half], types[half:]


def _verify_reduced(op: Operation) -> str | None:
    operand = op.operands[0].type
    shape, bounds, kept = ty.shape_of(operand) or (), bounds_of(operand), kept_sizes(op)
    limits = [bounds[axis] for axis in kept] if bounds else ()
    elements = results_of_reducer(body_of(op), halves_of(op)[0])
    return not_inferred(op, *(tensor([shape[axis] for axis in kept], element, limits) for element in elements))


def _reduce(op: Operation, profile: Profile) -> Loops:
    half, reduced = len(op.operands) // 2, set(op.numbers("dimensions"))
    rank = len(ty.shape_of(op.operands[0].type) or ())
    every = [Dimension(axis) for axis in range(rank)]
    kept = [axis for axis in range(rank) if axis not in reduced]
    maps = (*[map_of(rank, every)] * half, *[map_of(rank, [every[axis] for axis in kept])] * half)
    iterators = tuple(REDUCTION if axis in reduced else PARALLEL for axis in range(rank))
    block = body_of(op)
    elements = (*block.arguments[half:], *block.arguments[:half])
    operands = with_elements(op.operands, elements)
    structure = Structure(maps, iterators, operands[:half], operands[half:], block, elements)

    def prepare(run: Run, given: Sequence[Value]) -> list[Value]:
        values = [converted(op, value, each.type, run) for value, each in zip(given, elements, strict=True)]
        shape = shape_of_lane(values[0])
        small = tuple([shape[axis] for axis in kept])
        inits = [spread(init, small, result.type) for init, result in zip(values[half:], op.results, strict=True)]
        return [*values[:half], *inits]

    return Loops(structure, prepare)


# --- reduce in blocks -------------------------------------------------------------------------------------------------

_BLOCK = 32
"""The elements of a block along a dimension, in XLA's TreeReductionRewriter."""


class _InBlocks:
    """A reduce, compiled, that combines the elements of blocks first, and then the results of the blocks."""

    def __init__(self, op: Operation, compiler: Compiler) -> None:
        self._op, self._reduced = op, op.numbers("dimensions")
        profile, block = compiler.settings.profile, body_of(op)
        self._last = CompiledLoops(op, _reduce(op, profile), compiler)
        # The dimensions of the blocks, and then those of the places in a block.
        rank = len(ty.shape_of(op.operands[0].type) or ())
        dimensions = [Dimension(axis) for axis in range(2 * rank)]
        split, self._made = (
            ty.TensorType((None,) * size, ty.element_type(block.arguments[0].type)) for size in (2 * rank, rank)
        )
        mixed = [each for pair in zip(dimensions[:rank], dimensions[rank:], strict=True) for each in pair]
        structure = Structure(
            (map_of(2 * rank, mixed), map_of(2 * rank, dimensions[:rank])),
            (PARALLEL,) * rank + (REDUCTION,) * rank,
            [SSAValue(split)],
            [SSAValue(self._made)],
            block,
            tuple(reversed(block.arguments)),
        )
        self._split = split
        self._arrays = on_arrays(op, structure, compiler)
        self.outside = self._last.outside

    def run(self, run: Run, operands: Sequence[Value], captured: Sequence[Value]) -> list[Value]:
        """Return the results. Raises UndefinedBehavior and LimitExceeded."""
        value, initial = (
            converted(self._op, each, argument.type, run)
            for each, argument in zip(operands, body_of(self._op).arguments, strict=True)
        )
        while any(shape_of_lane(value)[axis] > _BLOCK for axis in self._reduced):
            value = self._in_blocks(run, value, initial, captured)
        return self._last.run(run, [value, initial], captured)

    def _in_blocks(self, run: Run, value: Value, initial: Value, captured: Sequence[Value]) -> Value:
        shape = shape_of_lane(value)
        sizes = [min(size, _BLOCK) if axis in self._reduced else 1 for axis, size in enumerate(shape)]
        counts = [-(-size // max(block, 1)) for size, block in zip(shape, sizes, strict=True)]
        missing = [count * block - size for count, block, size in zip(counts, sizes, shape, strict=True)]
        low = [size // 2 for size in missing]
        high = [size - below for size, below in zip(missing, low, strict=True)]
        fill = neutral(self._op, body_of(self._op), initial)
        whole = padded(run, value, fill, low, high, [0] * len(shape), self._made)
        lead = int(over_lanes(whole))
        pairs = [size for pair in zip(counts, sizes, strict=True) for size in pair]

        def move(array: Any, trailing: tuple[int, ...]) -> Any:
            return array.reshape((*array.shape[:lead], *pairs, *trailing))

        parts = rearranged(whole, self._split, move)
        return self._arrays.run(run, [parts, spread(initial, tuple(counts), self._made)], captured)[0]


def _reduction(op: Operation, compiler: Compiler) -> CompiledLoops | _InBlocks:
    """Compile a reduce, by the profile in blocks if its result depends on them."""
    floats = isinstance(ty.element_type(op.operands[0].type), ty.FloatType | ty.ComplexType)
    depends = floats and only_op(body_of(op)) in ("stablehlo.add", "stablehlo.multiply")
    if depends and compiler.settings.profile.reduction_blocks == "of_32":
        return _InBlocks(op, compiler)
    return CompiledLoops(op, _reduce(op, compiler.settings.profile), compiler)


stablehlo.op(
    "reduce",
    custom=d.CustomForm(_parse_reduce, _print_reduce),
    operands=(d.variadic("inputs", PLAIN_TENSOR), d.variadic("init_values", PLAIN_TENSOR)),
    results=(d.variadic("result", PLAIN_TENSOR),),
    properties=(d.Property("dimensions", d.INTEGER_64_ARRAY_ATTR),),
    regions=(d.RegionSlot("body"),),
    traits=(d.Trait.SINGLE_BLOCK,),
    verify=_verify_reduce,
    verify_regions=_verify_reduced,
    evaluate=with_body(_reduction),
)

# --- map --------------------------------------------------------------------------------------------------------------


def _verify_map_body(op: Operation) -> str | None:
    types = operand_types(op)
    found = verify_computation(body_of(op), types)
    if found is not None:
        return found
    dimensions = op.numbers("dimensions")
    if dimensions != tuple(range(len(dimensions))):
        return Unprefixed(
            f"requires monotonically increasing dimension numbers, but got: {', '.join(map(str, dimensions))}"
        )
    for type_ in types:
        rank = len(ty.shape_of(type_) or ())
        if len(dimensions) != rank:
            return Unprefixed(
                f"applied to a subset of dimensions currently not supported: operand dimensions = {rank}, requested "
                f"map dimensions size = {len(dimensions)}"
            )
    (element,) = results_of_reducer(body_of(op), types)
    return not_inferred(op, ty.TensorType(ty.shape_of(types[-1]), element))


def _mapped(op: Operation, profile: Profile) -> Loops:
    (result,) = op.results
    rank, block = len(ty.shape_of(result.type) or ()), body_of(op)
    identity = map_of(rank, [Dimension(axis) for axis in range(rank)])
    # The result is written whole: the body does not read what was there.
    unread = SSAValue(ty.TensorType((), ty.element_type(result.type)))
    structure = Structure(
        (identity,) * (len(op.operands) + 1),
        (PARALLEL,) * rank,
        op.operands,
        (SSAValue(result.type),),
        block,
        (*block.arguments, unread),
    )
    return Loops(structure, lambda run, values: [*values, zeros(shape_of_lane(values[0]), result.type)])


stablehlo.op(
    "map",
    operands=(d.variadic("inputs", PLAIN_TENSOR),),
    results={"result": PLAIN_TENSOR},
    properties=(d.Property("dimensions", d.INTEGER_64_ARRAY_ATTR),),
    regions=(d.RegionSlot("computation"),),
    traits=(d.Trait.SINGLE_BLOCK,),
    verify=same_shape,
    verify_regions=_verify_map_body,
    evaluate=as_loops(_mapped),
)

# --- dot_general ------------------------------------------------------------------------------------------------------


def _axes(op: Operation) -> tuple[tuple[int, ...], ...]:
    """Return the batching dimensions of both sides, and the contracting dimensions of both sides."""
    numbers: Any = op.properties["dot_dimension_numbers"]
    return tuple(
        numbers[f"{side}_{kind}_dimensions"] for kind in ("batching", "contracting") for side in ("lhs", "rhs")
    )


def sum_of(result: ty.Type, profile: Profile) -> tuple[ty.Type, Structure | None]:
    """Return the type in which a dot or a convolution is summed, and the structured op that converts the sums to the
    type of the result; None if both types are the same.
    """
    element = ty.element_type(result)
    if profile.sum_type == "result" or not isinstance(element, ty.FloatType) or element.format.bits >= 32:
        return result, None
    wide = ty.with_element(result, ty.F("f32"))
    registry, block = default_registry(), Block()
    arguments: list[SSAValue] = [
        block.add_argument(ty.TensorType((), ty.element_type(each))) for each in (wide, result)
    ]
    convert = Operation("stablehlo.convert", registry.find("stablehlo.convert"), arguments[:1], [arguments[1].type])
    block.append(convert)
    block.append(Operation("stablehlo.return", registry.find("stablehlo.return"), list(convert.results)))
    rank = len(ty.shape_of(result) or ())
    identity = map_of(rank, [Dimension(axis) for axis in range(rank)])
    return wide, Structure((identity,) * 2, (PARALLEL,) * rank, [SSAValue(wide)], [SSAValue(result)], block)


def multiply_and_add(types: Sequence[ty.Type], profile: Profile) -> Block:
    """Return the body that computes sum + a * b, after conversions to the type of the sum. ``types``: those of a, b and
    the sum; if there is no b, the body computes sum + a.
    """
    registry, block = default_registry(), Block()
    *given, total = (block.add_argument(ty.TensorType((), ty.element_type(each))) for each in types)

    def op(name: str, *operands: SSAValue) -> SSAValue:
        made = Operation(name, registry.find(name), list(operands), [total.type])
        block.append(made)
        return made.results[0]

    factors = [value if value.type == total.type else op("stablehlo.convert", value) for value in given]
    if len(factors) == 1:
        result = op("stablehlo.add", total, *factors)
    elif profile.products == "fused" and isinstance(ty.element_type(total.type), ty.FloatType):
        result = op("math.fma", *factors, total)
    else:
        result = op("stablehlo.add", total, op("stablehlo.multiply", *factors))
    block.append(Operation("stablehlo.return", registry.find("stablehlo.return"), [result]))
    return block


def verify_precision(op: Operation) -> Unprefixed | None:
    """Return what is wrong with the number of precisions of an op, or None."""
    precision = op.properties.get("precision_config")
    if isinstance(precision, at.ArrayAttr) and len(precision.elements) > 2:
        return Unprefixed(f"expects precision config to be empty or have <= 2 elements, got {len(precision.elements)}")
    return None


def verify_mixed_quantization(left: ty.Type, right: ty.Type, made: ty.Type) -> Unprefixed | None:
    """Return what is wrong with the element types of a product of matrices of which some are quantised, or None."""
    one, two, result = map(ty.element_type, (left, right, made))
    mixed = isinstance(one, ty.UniformQuantizedType) != isinstance(result, ty.UniformQuantizedType)
    if not isinstance(two, ty.UniformQuantizedType) or mixed:
        return Unprefixed(
            "rhs should be quantized for quantized operations and is_quantized(lhs)=is_quantized(result) should hold"
        )
    if not isinstance(one, ty.UniformQuantizedType) or not isinstance(result, ty.UniformQuantizedType):
        if one == two.expressed == result:
            return None
        return Unprefixed("mismatched rhs quantization expressed type and lhs and result element type")
    if ty.storage_type(one) != ty.storage_type(two):
        return Unprefixed("mismatched lhs and rhs quantization storage types")
    if not one.expressed == two.expressed == result.expressed:
        return Unprefixed("mismatched lhs, rhs and result quantization expressed types")
    if two.axis is None and result.axis is not None:
        return Unprefixed("mismatched rhs and result quantization granularity")
    return None


def verify_dimensions_of_dot(
    shapes: Sequence[Sequence[int | None]], batching: Sequence[Sequence[int]], contracting: Sequence[Sequence[int]]
) -> Unprefixed | None:
    """Return what is wrong with the batching and the contracting dimensions of the operands of a product, or None."""
    for kind, (one, other) in (("batching", batching), ("contracting", contracting)):
        if len(one) != len(other):
            return Unprefixed(f"lhs and rhs should have the same number of {kind} dimensions")
    for number, side in enumerate(("lhs", "rhs")):
        dims = (*batching[number], *contracting[number])
        for place, dim in enumerate(dims):
            if dim in dims[:place]:
                return Unprefixed(
                    f"has duplicated dimension from {side}_batching_dimensions and {side}_contracting_dimensions: {dim}"
                )
    for number, side in enumerate(("lhs", "rhs")):
        rank = len(shapes[number])
        for kind, numbers in (("batching", batching[number]), ("contracting", contracting[number])):
            for dim in numbers:
                if not 0 <= dim < rank:
                    return Unprefixed(f"{side}_{kind}_dimensions value: {dim} is out of range: [0, {rank})")
    for kind, (one, other) in (("batching", batching), ("contracting", contracting)):
        if not all(sizes_fit(shapes[0][a], shapes[1][b]) for a, b in zip(one, other, strict=True)):
            return Unprefixed(f"{kind} dimension sizes must match for lhs/rhs")
    return None


def not_shaped(sizes: Sequence[int | None], result: ty.Type) -> Unprefixed | None:
    """Return what is wrong with the shape of a result, or None; the elements are not checked."""
    if shapes_fit(ty.TensorType(tuple(sizes), ty.element_type(result)), result):
        return None
    return Unprefixed(
        f"inferred shape '[{spelled_sizes(sizes)}]' is incompatible with return type of operation '{result}'"
    )


def _verify_dot_general(op: Operation) -> str | None:
    algorithm = op.properties.get("algorithm")
    if isinstance(algorithm, DialectAttr):
        problem = algorithm_problem(algorithm)
        if problem is not None:
            return Unprefixed(problem)
    batching, others, contracting, more = _axes(op)
    left, right, result = op.types
    shapes = [ty.shape_of(type_) or () for type_ in (left, right)]
    found = verify_precision(op) or verify_dimensions_of_dot(shapes, (batching, others), (contracting, more))
    if found is not None:
        return found
    bounds = [bounds_of(type_) or (None,) * len(shape) for type_, shape in zip((left, right), shapes, strict=True)]
    sizes: list[int | None] = []
    for place, (a, b) in enumerate(zip(batching, others, strict=True)):
        made = most_specific(place, (shapes[0][a], bounds[0][a]), (shapes[1][b], bounds[1][b]))
        if isinstance(made, Unprefixed):
            return made
        sizes.append(made[0])
    for shape, taken in ((shapes[0], (*batching, *contracting)), (shapes[1], (*others, *more))):
        sizes += [size for axis, size in enumerate(shape) if axis not in taken]
    found = not_shaped(sizes, result)
    if found is not None:
        return found
    precision = op.properties.get("precision_config")
    special = isinstance(precision, at.ArrayAttr) and any(
        each.keywords != "DEFAULT" for each in precision.elements if isinstance(each, EnumAttr)
    )
    if special and algorithm is not None:
        return Unprefixed("must specify DEFAULT precision config when algorithm is set.")
    if not any_quantized((left, right, result)):
        return None
    element = ty.element_type(right)
    if isinstance(element, ty.UniformQuantizedType):
        if any(element.zero_points):
            return Unprefixed(f"Zero point{'' if element.axis is None else 's'} of rhs should be 0")
        if element.axis in more:
            return Unprefixed("Quantization dimension of rhs should not be in the contracting dimension of rhs")
    return verify_mixed_quantization(left, right, result)


def loops_of_dot(op: Operation, axes: Sequence[tuple[int, ...]], profile: Profile) -> Loops:
    """Return the structured op of a product. ``axes``: the batching dimensions of both operands, then the contracting
    dimensions of both.
    """
    batching, others, contracting, more = axes
    ranks = [len(ty.shape_of(value.type) or ()) for value in op.operands]
    free = [
        [n for n in range(rank) if n not in (*one, *two)]
        for rank, one, two in ((ranks[0], batching, contracting), (ranks[1], others, more))
    ]
    made = len(batching) + len(free[0]) + len(free[1])
    rank = made + len(contracting)
    space = iter(map(Dimension, range(rank)))
    places: list[dict[int, AffineExpr]] = [{}, {}]
    for one, two in zip(batching, others, strict=True):
        places[0][one] = places[1][two] = next(space)
    for side in (0, 1):
        places[side].update((axis, next(space)) for axis in free[side])
    for one, two in zip(contracting, more, strict=True):
        places[0][one] = places[1][two] = next(space)
    maps = [map_of(rank, [place[axis] for axis in range(size)]) for place, size in zip(places, ranks, strict=True)]
    maps.append(map_of(rank, [Dimension(axis) for axis in range(made)]))
    iterators = (PARALLEL,) * made + (REDUCTION,) * len(contracting)
    total, then = sum_of(op.results[0].type, profile)
    block = multiply_and_add([*(value.type for value in op.operands), total], profile)
    structure = Structure(tuple(maps), iterators, op.operands, (SSAValue(total),), block)

    def prepare(run: Run, values: Sequence[Value]) -> list[Value]:
        one, two = (shape_of_lane(value) for value in values)
        shape = (*(one[n] for n in batching), *(one[n] for n in free[0]), *(two[n] for n in free[1]))
        return [*values, zeros(shape, total)]

    return Loops(structure, prepare, then=then)


def _by_algorithm(evaluator: OnRawSlots) -> OnRawSlots:
    """Return the evaluator of a dot that may have an algorithm, from that of a dot without one: the operands are
    converted to the types that the algorithm names, and the result from its type of sums.
    """

    def compile_(op: Operation, compiler: Compiler) -> Step:
        if "algorithm" not in op.properties or compiler.settings.profile.dot_algorithm == "ignored":
            return evaluator.build(op, compiler)
        left, right, total, _, _, products, _ = op.prop("algorithm", DialectAttr).values
        if products != 1:
            raise Unsupported(
                f"'{op.name}' has an algorithm of {products} products of {left}, whose bits StableHLO does not define",
                location=op.location, op=op.name,
                hint="compute the parts in the program, or drop the algorithm",
            )  # fmt: skip
        casts = [_to_precision(op, value, type_) for value, type_ in zip(op.operands, (left, right), strict=True)]
        operands = [value if cast is None else cast.results[0] for value, cast in zip(op.operands, casts, strict=True)]
        properties = {name: value for name, value in op.properties.items() if name != "algorithm"}
        inner = op_at(op, op.name, operands, [ty.with_element(op.results[0].type, total)], properties)
        return step_between(op, casts, inner, partial(_converted_to, op), compiler)

    return OnRawSlots(compile_)


def _to_precision(op: Operation, value: SSAValue, wanted: ty.Type) -> Operation | None:
    """Return the conversion of an operand of a dot to the type of an algorithm. tf32 is stored as f32."""
    if str(wanted) != "tf32":
        return _converted_to(op, value, ty.with_element(value.type, wanted))
    element = str(ty.element_type(value.type))
    if element == "f32":
        bits: dict[str, at.Attribute] = {
            "exponent_bits": at.IntegerAttr(8, ty.I32),
            "mantissa_bits": at.IntegerAttr(10, ty.I32),
        }
        return op_at(op, "stablehlo.reduce_precision", [value], [value.type], bits)
    if element not in ("f16", "bf16"):
        raise Unsupported(
            f"the algorithm of '{op.name}' names tf32, but an operand is '{value.type}'",
            location=op.location, op=op.name, hint="give f32 operands",
        )  # fmt: skip
    return _converted_to(op, value, ty.with_element(value.type, ty.FloatType(FORMATS["f32"])))


def _converted_to(op: Operation, value: SSAValue, type_: ty.Type) -> Operation | None:
    return None if value.type == type_ else op_at(op, "stablehlo.convert", [value], [type_])


def _parse_dot_general(p: OpParser, at_: int, definition: d.OpDefinition) -> Operation:
    tokens = [p.operand_token()]
    p.expect(",")
    tokens.append(p.operand_token())
    p.expect(",")
    numbers: dict[str, tuple[int, ...]] = {}
    for kind in ("batching", "contracting"):
        if kind == "contracting" or p.tokens[p.pos] == "batching_dims":
            p.keyword(definition, f"{kind}_dims")
            p.expect("=")
            numbers[f"lhs_{kind}_dimensions"] = read_integers(p, definition.name)
            p.keyword(definition, "x")
            numbers[f"rhs_{kind}_dimensions"] = read_integers(p, definition.name)
            if kind == "batching":
                p.expect(",")
    properties: dict[str, at.Attribute] = {"dot_dimension_numbers": dot_numbers(**numbers)}
    more = p.take(",")
    if more and p.tokens[p.pos] != "algorithm":
        p.keyword(definition, "precision")
        p.expect("=")
        properties["precision_config"] = read_precision(p, definition.name)
        more = p.take(",")
    if more:
        p.keyword(definition, "algorithm")
        p.expect("=")
        properties["algorithm"] = read_algorithm(p)
    return read_rest(p, at_, definition, tokens, properties)


def _print_dot_general(printer: OpPrinter, op: Operation) -> str:
    batching, others, contracting, more = _axes(op)
    text = f" {printer.name(op.operands[0])}, {printer.name(op.operands[1])}, "
    if batching or others:
        text += f"batching_dims = {list(batching)} x {list(others)}, "
    text += f"contracting_dims = {list(contracting)} x {list(more)}"
    precision = op.properties.get("precision_config")
    if isinstance(precision, at.ArrayAttr):
        text += f", precision = {spelled_precision(precision)}"
    algorithm = op.properties.get("algorithm")
    if isinstance(algorithm, DialectAttr):
        text += f", algorithm = {algorithm.spell_parameters(printer.names)}"
    types = ty.FunctionType(tuple(value.type for value in op.operands), (op.results[0].type,))
    return f"{text}{trailing_dictionary(printer, op)} : {printer.type(types)}"


stablehlo.op(
    "dot_general",
    custom=d.CustomForm(_parse_dot_general, _print_dot_general),
    operands={"lhs": PLAIN_TENSOR, "rhs": ANY_TENSOR},
    results={"result": ANY_TENSOR},
    properties=(
        d.Property("algorithm", ALGORITHM, optional=True),
        d.Property("dot_dimension_numbers", DOT),
        d.Property("precision_config", PRECISIONS, optional=True),
    ),
    verify=_verify_dot_general,
    evaluate=between_casts(
        _by_algorithm(as_loops(lambda op, profile: loops_of_dot(op, _axes(op), profile))), product_of_stored()
    ),
)
