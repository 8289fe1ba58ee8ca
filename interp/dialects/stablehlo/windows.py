"""The ops of StableHLO that move a window over an array: reduce_window and convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare import parameters as kinds
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.elements import rearranged
from halfulp.interp.dialects.regions import parenthesised
from halfulp.interp.dialects.stablehlo.attributes import (
    BOOLEAN_ARRAY,
    CONVOLUTION,
    CONVOLUTION_SIDES,
    I64_ELEMENTS,
    POSITIVE,
    PRECISIONS,
    convolution_numbers,
    custom_form,
    i64_array,
    pairs_of,
    read_dimensions,
    spelled_dimensions,
)
from halfulp.interp.dialects.stablehlo.bodies import body_of, results_of_reducer, verify_reducer
from halfulp.interp.dialects.stablehlo.dynamic import constant_numbers
from halfulp.interp.dialects.stablehlo.forms import read_integer, read_integers, read_rest
from halfulp.interp.dialects.stablehlo.loops import (
    CompiledLoops,
    Loops,
    as_loops,
    body_of_function,
    converted,
    has_neutral,
    neutral,
    shape_of_lane,
    spread,
    where_marked,
    with_body,
    with_elements,
    zeros,
)
from halfulp.interp.dialects.stablehlo.moving import axis_of, padded, padded_size, signed_numbers
from halfulp.interp.dialects.stablehlo.quantized import any_quantized, between_casts
from halfulp.interp.dialects.stablehlo.reducing import (
    halves_of,
    multiply_and_add,
    not_shaped,
    sum_of,
    verify_alike,
    verify_mixed_quantization,
    verify_precision,
)
from halfulp.interp.dialects.stablehlo.stored import product_of_stored
from halfulp.interp.dialects.stablehlo.types import (
    ANY_TENSOR,
    PLAIN_TENSOR,
    bounds_of,
    elements_fit,
    not_inferred,
    stablehlo,
    tensor,
    tensor_of,
)
from halfulp.interp.dialects.structured.structure import PARALLEL, REDUCTION, Structure
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import AffineConstant, AffineExpr, Dimension, add, multiply
from halfulp.interp.ir.attributes import map_of
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, Region, SSAValue, undefined
from halfulp.interp.run.evaluators import Compiler
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.text.op_parser import OpParser, OpPrinter
from halfulp.interp.values.lanes import over_lanes
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import Profile
from halfulp.semantics.quant import Quantization

# --- windows ----------------------------------------------------------------------------------------------------------


class Window(NamedTuple):
    """The positions of a window on an operand: each field has one number for each dimension of the operand."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    base_dilations: tuple[int, ...]
    dilations: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]

    @staticmethod
    def of(op: Operation, sizes: tuple[int, ...], strides: str, base: str, dilations: str) -> Window:
        """Return the window of an op. ``strides``, ``base``, ``dilations``: the names of properties; a property that is
        absent, or has no name, means ones.
        """
        one, two, three = (optional_numbers(op, name, len(sizes)) for name in (strides, base, dilations))
        return Window(sizes, one, two, three, *padding_of(op, len(sizes)))

    def places(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the number of positions of the window along each dimension. ``shape``: the shape of the operand."""
        found = []
        for size, window, stride, base, dilation, low, high in zip(shape, *self, strict=True):
            whole, covered = padded_size(size, low, high, base - 1), (window - 1) * dilation + 1
            found.append(0 if not window or covered > whole else (whole - covered) // stride + 1)
        return tuple(found)

    def element(self, axis: int, place: AffineExpr, element: AffineExpr) -> AffineExpr:
        """Return the index in the padded operand along ``axis``: of the element number ``element`` of the window at its
        position number ``place``.
        """
        return add(
            multiply(place, AffineConstant(self.strides[axis])), multiply(element, AffineConstant(self.dilations[axis]))
        )

    @property
    def has_padding(self) -> bool:
        """True if something is put around or between the elements of an operand, or elements are cut off."""
        return any((*self.low, *self.high, *(base - 1 for base in self.base_dilations)))

    def padded(self, run: Run, value: Value, fill: Value) -> Value:
        """Return an operand with its padding around the elements and, for ``base_dilations``, between them."""
        if not self.has_padding:
            return value
        interior = [base - 1 for base in self.base_dilations]
        return padded(run, value, fill, self.low, self.high, interior, _dynamic(value.type))


_DILATED = ("window_strides", "base_dilations", "window_dilations")
_CONVOLVED = ("window_strides", "lhs_dilation", "rhs_dilation")


def _dynamic(type_: ty.Type) -> ty.Type:
    """Return the type of tensors of any shape with this rank and these elements."""
    return ty.TensorType((None,) * len(ty.shape_of(type_) or ()), ty.element_type(type_))


def optional_numbers(op: Operation, name: str, rank: int, default: int = 1) -> tuple[int, ...]:
    """Return the numbers of an array property, one for each dimension. If the property is absent or empty, each is
    ``default``.
    """
    return (op.numbers(name) if name in op.properties else ()) or (default,) * rank


def padding_of(op: Operation, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the padding below and above each dimension, from the property, a tensor of pairs."""
    written = op.properties.get("padding")
    if written is None:
        return (0,) * rank, (0,) * rank
    assert isinstance(written, at.DenseElementsAttr)
    pairs = pairs_of(written)
    return tuple(low for low, _ in pairs) or (0,) * rank, tuple(high for _, high in pairs) or (0,) * rank


_FACTORS = {
    "window_strides": ("window-strides", "stride"),
    "base_dilations": ("base-dilation factors", "base dilation factor"),
    "lhs_dilation": ("base-dilation factors", "base dilation factor"),
    "window_dilations": ("window-dilation factors", "window dilation factor"),
    "rhs_dilation": ("window-dilation factors", "window dilation factor"),
}
"""StableHLO's words for the lists of a window, and for one number of them."""


def verify_padding(op: Operation) -> Unprefixed | None:
    """Return what is wrong with the shape of the padding of an op, or None."""
    padding = op.properties.get("padding")
    shape = ty.shape_of(padding.type) or () if isinstance(padding, at.DenseElementsAttr) else (0, 2)
    if len(shape) == 2 and shape[1] == 2:
        return None
    return Unprefixed(
        f"expects the shape of padding-attribute to be {{N, 2}}, but got {{{', '.join(map(str, shape))}}}."
    )


def verify_window(
    op: Operation, sizes: Sequence[int | None], *names: str, paddings: int | None = None
) -> Unprefixed | None:
    """Return what is wrong with the properties of a window, or None. ``names``: the names of the properties. ``sizes``:
    the sizes of the window. ``paddings``: the number of pairs of the padding, if it is not a property.
    """
    rank, padding = len(sizes), op.properties.get("padding")
    reversal = op.properties.get("window_reversal")
    counts = [(_FACTORS[name][0], len(op.numbers(name))) for name in names if name in op.properties]
    if isinstance(padding, at.DenseElementsAttr):
        paddings = (ty.shape_of(padding.type) or (0,))[0]
    counts.append(("padding-entries", paddings or 0))
    if isinstance(reversal, at.DenseArrayAttr):
        counts.append(("window-reversal", len(reversal.codes)))
    for what, count in counts:
        if count not in (0, rank):
            return Unprefixed(
                f"expects {what} to have same dimension-size as size of window dimensions ({rank}), but got: {count}."
            )
    for axis, size in enumerate(sizes):
        lists = [
            (what, optional_numbers(op, name, rank)[axis]) for name, (_, what) in _FACTORS.items() if name in names
        ]
        for what, number in (("value", 1 if size is None else size), *lists):
            if number <= 0:
                return Unprefixed(
                    f"expects window to have positive {what} for {axis}-th window dimension, but got {number}."
                )
    return None


def places_of(window: Window, shape: Sequence[int | None], unknown: Sequence[int | None] = ()) -> list[int | None]:
    """Return the number of positions of a window along each dimension; None where it is not known. ``unknown``: the
    sizes of the window, if some are not known.
    """
    found = window.places([size or 0 for size in shape])
    sizes = unknown or window.sizes
    return [
        None if size is None or part is None else place for size, part, place in zip(shape, sizes, found, strict=True)
    ]


def _reduce_window(op: Operation, compiler: Compiler) -> CompiledLoops:
    half, block = len(op.operands) // 2, body_of(op)
    sizes = op.numbers("window_dimensions")
    rank = len(sizes)
    window = Window.of(op, sizes, *_DILATED)
    places, elements = ([Dimension(start + axis) for axis in range(rank)] for start in (0, rank))
    maps = [map_of(2 * rank, [window.element(axis, places[axis], elements[axis]) for axis in range(rank)])] * half
    # An operand that is not read gives the sizes of the window.
    unread = SSAValue(ty.TensorType((), ty.I1))
    sized = ty.TensorType(sizes, ty.I1)
    # Padding that is left out is an element that changes nothing, or, where none is known, is marked.
    skipped = compiler.settings.profile.padding_of_windows == "skipped" and window.has_padding
    marked = skipped and not has_neutral(block)
    marks = ty.TensorType((None,) * rank, ty.I1)
    inner = where_marked(block, compiler) if marked else block
    arguments = (*inner.arguments[half : 2 * half], *inner.arguments[:half])
    operands = with_elements(op.operands, arguments)
    maps += [*maps[:1] * marked, map_of(2 * rank, elements), *[map_of(2 * rank, places)] * half]
    structure = Structure(
        tuple(maps),
        (PARALLEL,) * rank + (REDUCTION,) * rank,
        (*operands[:half], *[SSAValue(marks)] * marked, SSAValue(sized)),
        operands[half:],
        inner,
        (*arguments[:half], *inner.arguments[2 * half :], unread, *arguments[half:]),
    )

    def prepare(run: Run, given: Sequence[Value]) -> list[Value]:
        values = [converted(op, value, each.type, run) for value, each in zip(given, arguments, strict=True)]
        inputs, inits = values[:half], values[half:]
        shape = window.places(shape_of_lane(inputs[0]))
        fills = [neutral(op, block, init) for init in inits] if skipped and not marked else inits
        full = [window.padded(run, value, fill) for value, fill in zip(inputs, fills, strict=True)]
        starts = [spread(init, shape, result.type) for init, result in zip(inits, op.results, strict=True)]
        # Without a place the window is not read; it may be larger than any array.
        read = zeros(sizes, sized) if 0 not in shape else zeros((0,) * rank, _dynamic(sized))
        inside = []
        if marked:
            ones = Value(marks, np.ones(shape_of_lane(inputs[0]), np.uint8))
            inside = [window.padded(run, ones, zeros((), ty.TensorType((), ty.I1)))]
        return [*full, *inside, read, *starts]

    return CompiledLoops(op, Loops(structure, prepare), compiler)


def _verify_reduce_window(op: Operation) -> str | None:
    inputs, inits = halves_of(op)
    sizes = op.numbers("window_dimensions")
    if not inputs:
        return Unprefixed("requires at least 1 input value")
    found = verify_alike(op) or verify_padding(op)
    if found is not None:
        return found
    for given in inputs:
        rank = len(ty.shape_of(given) or ())
        if len(sizes) != rank:
            return Unprefixed(
                f"expects window-dimensions size == input rank, but got window-dimensions size: {len(sizes)} "
                f"and input: '{given}' with rank = {rank}."
            )
    return verify_window(op, sizes, *_DILATED) or verify_reducer(body_of(op), inputs, inits, sizes)


def _verify_reduced(op: Operation) -> str | None:
    inputs, _ = halves_of(op)
    window = Window.of(op, op.numbers("window_dimensions"), *_DILATED)
    expected = [
        tensor(
            places_of(window, ty.shape_of(given) or ()),
            element,
            places_of(window, bounds_of(given)) if bounds_of(given) else (),
        )
        for given, element in zip(inputs, results_of_reducer(body_of(op), inputs), strict=True)
    ]
    return not_inferred(op, *expected)


stablehlo.op(
    "reduce_window",
    operands=(d.variadic("inputs", PLAIN_TENSOR), d.variadic("init_values", PLAIN_TENSOR)),
    results=(d.variadic("result", PLAIN_TENSOR),),
    properties=(
        d.Property("base_dilations", d.INTEGER_64_ARRAY_ATTR, optional=True),
        d.Property("padding", I64_ELEMENTS, optional=True),
        d.Property("window_dilations", d.INTEGER_64_ARRAY_ATTR, optional=True),
        d.Property("window_dimensions", d.INTEGER_64_ARRAY_ATTR),
        d.Property("window_strides", d.INTEGER_64_ARRAY_ATTR, optional=True),
    ),
    regions=(d.RegionSlot("body"),),
    traits=(d.Trait.SINGLE_BLOCK,),
    verify=_verify_reduce_window,
    verify_regions=_verify_reduced,
    evaluate=with_body(_reduce_window),
)


def dynamic_reduce_window(op: Operation, compiler: Compiler) -> Function:
    """Return the function that runs the custom_call by which JAX writes reduce_window with sizes that are known only at
    run time. After the inputs and the initial values, its operands are the five lists of a window; its body is a
    function.
    """
    count = (len(op.operands) - len(_LISTS)) // 2
    called = op.properties.get("called_computations")
    symbols = called.elements if isinstance(called, at.ArrayAttr) else ()
    symbol = symbols[0] if len(symbols) == 1 else None
    function = compiler.module.lookup(symbol, op) if isinstance(symbol, at.SymbolRefAttr) else None
    if function is None or count < 1 or len(op.operands) != 2 * count + len(_LISTS):
        raise Unsupported(f"'{op.name}' of a window needs inputs, initial values, five lists, and one function as body")
    block = body_of_function(function, compiler)

    def reduce(run: Run, operands: tuple[Value, ...]) -> tuple[Any, ...]:
        values, lists = operands[: 2 * count], operands[2 * count :]
        properties: dict[str, at.Attribute] = {}
        for name, value in zip(_LISTS, lists, strict=True):
            numbers = signed_numbers(op, value, "a number of a window")
            codes = numbers.astype(np.int64).view(np.uint64)
            properties[name] = (
                at.DenseElementsAttr(ty.TensorType(codes.shape, ty.I64), codes)
                if name == "padding"
                else i64_array(numbers.tolist())
            )
        definition = default_registry().find("stablehlo.reduce_window")
        given: list[SSAValue] = [SSAValue(value.type) for value in op.operands[: 2 * count]]
        results = [result.type for result in op.results]
        window = Operation("stablehlo.reduce_window", definition, given, results, properties, {}, [Region([block])])
        window.source, window.token = op.source, op.token
        problem = _verify_reduce_window(window)
        if problem is not None:
            raise undefined(op, problem)
        return tuple(_reduce_window(window, compiler).run(run, values, ()))

    return reduce


_LISTS = ("window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding")

# --- convolution ------------------------------------------------------------------------------------------------------


class Layout(NamedTuple):
    """The meaning of the dimensions of one of the arrays of a convolution: the numbers of the dimensions ``first`` and
    ``second`` (batch and feature, or input and output feature), and the numbers of the spatial dimensions.
    """

    first: int
    second: int
    spatial: tuple[int, ...]

    @property
    def order(self) -> tuple[int, ...]:
        """The numbers of all dimensions, the spatial ones last."""
        return (self.first, self.second, *self.spatial)


def _layouts(op: Operation) -> tuple[Layout, Layout, Layout]:
    numbers: Any = op.properties["dimension_numbers"]
    return tuple(
        Layout(
            numbers[f"{side}_{first}_dimension"],
            numbers[f"{side}_{second}_dimension"],
            numbers[f"{side}_spatial_dimensions"],
        )
        for side, first, second in CONVOLUTION_SIDES
    )  # type: ignore[return-value]


def _grouped(value: Value, layout: Layout, groups: int, axis: int, flipped: Sequence[int] = ()) -> Value:
    """Return an array with the dimensions [group, first, second, *spatial]. ``axis``: 0 or 1, for the one of first and
    second that the groups divide. ``flipped``: the numbers of the spatial dimensions to turn around.
    """
    lead = int(over_lanes(value))
    shape = shape_of_lane(value)
    sizes = [shape[k] for k in layout.order]
    split = [*sizes[:axis], groups, sizes[axis] // groups, *sizes[axis + 1 :]]
    rank = len(split)
    moved = [axis, *(k for k in range(rank) if k != axis)]

    def move(array: Any, trailing: tuple[int, ...]) -> Any:
        rest = range(lead + len(shape), array.ndim)
        turned = array.transpose(*range(lead), *(lead + k for k in layout.order), *rest)
        parts = turned.reshape((*array.shape[:lead], *split, *trailing))
        rest = range(lead + rank, parts.ndim)
        found = parts.transpose(*range(lead), *(lead + k for k in moved), *rest)
        return np.flip(found, tuple(lead + 3 + k for k in flipped)) if flipped else found

    return rearranged(value, ty.TensorType((None,) * rank, ty.element_type(value.type)), move)


def _padding_given(op: Operation, value: Value) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the padding below and above that an operand gives, in rows of two numbers."""
    if over_lanes(value):
        raise Unsupported(f"halfulp does not evaluate '{op.name}' with another padding in each lane of a batch")
    low, high = signed_numbers(op, value, "a padding").T
    return tuple(map(int, low)), tuple(map(int, high))


def _convolution(op: Operation, profile: Profile) -> Loops:
    """Return the loops of convolution, or of dynamic_conv, whose third operand gives the padding."""
    left, right, made = _layouts(op)
    spatial = len(left.spatial)
    features, batches = op.number("feature_group_count"), op.number("batch_group_count")
    groups = max(features, batches)
    sizes = ty.shape_of(op.operands[1].type) or ()
    written = Window.of(op, tuple(sizes[k] or 0 for k in right.spatial), *_CONVOLVED)
    reversal = op.properties.get("window_reversal")
    flipped = [k for k, each in enumerate(reversal.codes) if each] if isinstance(reversal, at.DenseArrayAttr) else []
    # The loops: group, batch, output feature and output place; then the place in the window, and the input feature.
    rank = 4 + 2 * spatial
    group, batch, output = map(Dimension, range(3))
    places = [Dimension(3 + k) for k in range(spatial)]
    elements = [Dimension(3 + spatial + k) for k in range(spatial)]
    feature = Dimension(rank - 1)
    maps = (
        map_of(rank, [group, batch, feature, *(written.element(k, places[k], elements[k]) for k in range(spatial))]),
        map_of(rank, [group, feature, output, *elements]),
        map_of(rank, [group, batch, output, *places]),
    )
    result = op.results[0].type
    types: list[ty.Type] = [
        ty.TensorType((None,) * (3 + spatial), ty.element_type(each.type)) for each in (*op.operands[:2], *op.results)
    ]
    types[2], then = sum_of(types[2], profile)
    structure = Structure(
        maps,
        (PARALLEL,) * (3 + spatial) + (REDUCTION,) * (spatial + 1),
        [SSAValue(each) for each in types[:2]],
        (SSAValue(types[2]),),
        multiply_and_add(types, profile),
    )

    def prepare(run: Run, values: Sequence[Value]) -> list[Value]:
        one = _grouped(values[0], left, groups, 0 if batches > 1 else 1)
        two = _grouped(values[1], right, groups, 1, flipped)
        shape = shape_of_lane(one)
        one_, none = (1, 1, 1), (0, 0, 0)
        window = written._replace(sizes=shape_of_lane(two)[3:])
        if len(values) > 2:
            low, high = _padding_given(op, values[2])
            window = window._replace(low=low, high=high)
        sizes_, strides, base, dilations, low, high = window
        whole = Window(one_ + sizes_, one_ + strides, one_ + base, one_ + dilations, none + low, none + high)
        zero = zeros((), ty.TensorType((), ty.element_type(one.type)))
        start = (groups, shape[1], shape_of_lane(two)[2], *window.places(shape[3:]))
        return [whole.padded(run, one, zero), two, zeros(start, types[2])]

    def finish(value: Value) -> Value:
        lead = int(over_lanes(value))
        shape = shape_of_lane(value)
        order = made.order
        back = [order.index(k) for k in range(len(order))]
        sizes = (shape[1], groups * shape[2], *shape[3:])

        def move(array: Any, trailing: tuple[int, ...]) -> Any:
            rest = range(lead + len(shape), array.ndim)
            turned = array.transpose(*range(lead), *(lead + k for k in (1, 0, *range(2, len(shape)))), *rest)
            joined = turned.reshape((*array.shape[:lead], *sizes, *trailing))
            rest = range(lead + len(sizes), joined.ndim)
            return joined.transpose(*range(lead), *(lead + k for k in back), *rest)

        return rearranged(value, result, move)

    return Loops(structure, prepare, finish, then)


_WINDOW_LISTS = {"stride": "window_strides", "lhs_dilate": "lhs_dilation", "rhs_dilate": "rhs_dilation"}


def _parse_convolution(p: OpParser, at_: int, definition: d.OpDefinition) -> Operation:
    name = definition.name
    tokens = parenthesised(p)
    p.keyword(definition, "dim_numbers")
    p.expect("=")
    with custom_form("stablehlo.convolution"):
        numbers = convolution_numbers(read_dimensions(p))
    properties: dict[str, at.Attribute] = {"dimension_numbers": numbers}
    p.expect(",")
    p.keyword(definition, "window")
    p.expect("=")
    p.expect("{")
    seen = set[str]()

    def pair() -> tuple[int, ...]:
        found = read_integers(p, name)
        if len(found) != 2:
            p.wrong(name, f"Expected array with 2 elements, got {len(found)} elements instead")
        return found

    while p.tokens[p.pos] != "}":
        word = kinds.identifier(p)
        if word in seen or word not in (*_WINDOW_LISTS, "pad", "reverse"):
            p.wrong(name, f"Unexpected keyword {word}")
        seen.add(word)
        p.expect("=")
        if word == "pad":
            p.expect("[")
            pairs = list(p.until("]", pair))
            flat = np.array(pairs, np.int64).view(np.uint64).reshape(len(pairs), 2)
            properties["padding"] = at.DenseElementsAttr(ty.TensorType(flat.shape, ty.I64), flat)
        elif word == "reverse":
            p.expect("[")
            flags = p.until("]", lambda: _read_flag(p, name))
            properties["window_reversal"] = at.DenseArrayAttr(ty.I1, tuple(map(int, flags)))
        else:
            properties[_WINDOW_LISTS[word]] = i64_array(read_integers(p, name))
        if not p.take(","):
            break
    p.expect("}")
    return read_rest(p, at_, definition, tokens, properties)


def _read_flag(p: OpParser, name: str) -> bool:
    token = p.tokens[p.pos]
    if token in ("true", "false"):
        p.pos += 1
        return token == "true"
    return read_integer(p, name) != 0


def _print_convolution(printer: OpPrinter, op: Operation) -> str:
    numbers = op.prop("dimension_numbers", DialectAttr)
    parts = []
    for word, name in (
        ("stride", "window_strides"),
        ("pad", "padding"),
        ("lhs_dilate", "lhs_dilation"),
        ("rhs_dilate", "rhs_dilation"),
        ("reverse", "window_reversal"),
    ):
        written = op.properties.get(name)
        if isinstance(written, at.DenseElementsAttr):
            low, high = padding_of(op, 0)
            parts.append(f"{word} = [{', '.join(f'[{a}, {b}]' for a, b in zip(low, high, strict=True))}]")
        elif isinstance(written, at.DenseArrayAttr):
            parts.append(f"{word} = [{written.values_text()}]")
    shown = {
        name: value
        for name, value in op.properties.items()
        if name in ("batch_group_count", "feature_group_count", "precision_config")
    } | op.attributes
    types = ty.FunctionType(tuple(value.type for value in op.operands), (op.results[0].type,))
    names = ", ".join(map(printer.name, op.operands))
    return (
        f"({names}) dim_numbers = {spelled_dimensions(numbers)}, window = {{{', '.join(parts)}}} "
        f"{printer.dictionary(shown)} : {printer.type(types)}"
    )


def _verify_layouts(op: Operation) -> Unprefixed | None:
    """Check the numbers of the dimensions."""
    layouts = _layouts(op)
    counts = [len(layout.spatial) for layout in layouts]
    if len(set(counts)) > 1:
        return Unprefixed(
            f"expects the same size for input, kernel and output spatial-dimensions, but got {counts[0]}, "
            f"{counts[1]}, and {counts[2]} resp."
        )
    rank = len(ty.shape_of(op.operands[0].type) or ())
    if not all(0 <= number < rank for layout in layouts for number in layout.order):
        return Unprefixed(f"expects input, kernel, and output dimension-numbers to be in-range [0, {rank}).")
    for (side, _, _), layout in zip(CONVOLUTION_SIDES, layouts, strict=True):
        if len(set(layout.order)) != len(layout.order):
            return Unprefixed(
                f"expects {side} dimension-numbers to be unique, got {{{', '.join(map(str, layout.order))}}}."
            )
    return None


def _verify_groups(op: Operation) -> Unprefixed | None:
    """Check the sizes of the dimensions that are not spatial against the numbers of groups."""
    left, right, _ = _layouts(op)
    features, batches = op.number("feature_group_count"), op.number("batch_group_count")
    if batches > 1 and features > 1:
        return Unprefixed(
            f"expects batch_group_count and feature_group_count not to be both greater than 1. Got {batches} and "
            f"{features} resp."
        )
    one, two = (ty.shape_of(value.type) or () for value in op.operands[:2])
    batch, given = one[left.first], one[left.second]
    taken, made = two[right.first], two[right.second]
    if batch is not None and batch % batches:
        return Unprefixed(
            f"expects input batch dimension ({batch}) to be divisible by batch_group_count. Got batch_group_count = "
            f"{batches}."
        )
    if given is not None and given % features:
        return Unprefixed(
            f"expects input feature dimension ({given}) to be a multiple of feature_group_count. Got "
            f"feature_group_count = {features}."
        )
    if given is not None and taken is not None and given // features != taken:
        return Unprefixed(
            f"expects input feature dimension ({given}) / feature_group_count = kernel input feature dimension "
            f"({taken}). Got feature_group_count = {features}."
        )
    if made is not None and made % batches:
        return Unprefixed(
            f"expects output feature dimension size ({made}) to be a multiple of batch_group_count. Got "
            f"batch_group_count = {batches}."
        )
    if made is not None and made % features:
        return Unprefixed(
            f"expects kernel output feature dimension ({made}) to be divisible by feature_group_count. For "
            f"feature_group_count = {features}."
        )
    return None


def _verify_sides(op: Operation) -> Unprefixed | None:
    """Check the arrays and the dimensions of a convolution, but not its window."""
    one, two = (value.type for value in op.operands[:2])
    rank = len(ty.shape_of(one) or ())
    if rank < 2:
        return Unprefixed(f"expects convolution arguments to have >= 2 dimensions. Got: '{one}' and '{two}'.")
    if rank != len(ty.shape_of(two) or ()):
        return Unprefixed(f"expects convolution arguments to have same number of dimensions. Got: '{one}' and '{two}'.")
    elements = ty.element_type(one), ty.element_type(two)
    if not any_quantized((one, two)) and not elements_fit(*elements):
        return Unprefixed(
            f"expects lhs and rhs to have compatible element type. Got: '{elements[0]}' and '{elements[1]}'"
        )
    found = _verify_layouts(op) or _verify_groups(op) or verify_precision(op)
    if found is not None:
        return found
    spatial = len(_layouts(op)[0].spatial)
    if rank != spatial + 2:
        return Unprefixed(f"expects convolution arguments to have {spatial + 2} dimensions. Got: {rank}")
    return None


def _verify_scales(op: Operation) -> str | None:
    left, right, result = op.operands[0].type, op.operands[1].type, op.results[0].type
    if not any_quantized((left, right, result)):
        return None
    _, kernel, made = _layouts(op)
    if axis_of(right) not in (None, kernel.second):
        return Unprefixed("quantization dimension of rhs should be same with kernel_output_feature_dimension")
    if axis_of(result) not in (None, made.second):
        return Unprefixed("quantization dimension of result should be same with output_feature_dimension")
    return verify_mixed_quantization(left, right, result)


def _verify_convolution(op: Operation) -> str | None:
    found = _verify_sides(op)
    if found is not None:
        return found
    left, right, made = _layouts(op)
    one, two = (ty.shape_of(value.type) or () for value in op.operands)
    kernel = [two[k] for k in right.spatial]
    found = verify_padding(op) or verify_window(op, kernel, *_CONVOLVED)
    if found is not None:
        return found
    batch, groups = one[left.first], op.number("batch_group_count")
    window = Window.of(op, tuple(size or 0 for size in kernel), *_CONVOLVED)
    places = places_of(window, [one[k] for k in left.spatial], kernel)
    sizes = {
        made.first: None if batch is None else batch // groups,
        made.second: two[right.second],
        **dict(zip(made.spatial, places, strict=True)),
    }
    return not_shaped([sizes[k] for k in sorted(sizes)], op.results[0].type) or _verify_scales(op)


def _multiplies_stored(op: Operation, found: Sequence[Quantization]) -> bool:
    """Tell whether StableHLO's interpreter computes a convolution on stored integers."""
    _, right, result = found
    rank = len(ty.shape_of(op.operands[0].type) or ())
    if any(right.zero_points) or any(number != 1 for number in optional_numbers(op, "lhs_dilation", rank - 2)):
        return False
    if right.axis is not None:
        ratios = [one / other for one, other in zip(result.scales, right.scales, strict=True)]
        if right.axis != rank - 1 or any(result.zero_points):
            return False
        if any(abs((ratio - ratios[0]) / ratios[0]) > _ONE_RATIO for ratio in ratios):
            return False
    spatial = tuple(range(rank - 2))
    features_last = Layout(0, rank - 1, tuple(k + 1 for k in spatial))
    kernel_first = Layout(rank - 2, rank - 1, spatial)
    behind = tuple(k + 2 for k in spatial)
    features_first, kernel_last = Layout(0, 1, behind), Layout(1, 0, behind)
    return rank in (4, 5) and _layouts(op) in (
        (features_last, kernel_first, features_last), (features_first, kernel_last, features_first)
    )  # fmt: skip


_ONE_RATIO = 0.001
"""The relative difference of ratios of scales that the interpreter takes for equal."""


def _padding_of_sides(op: Operation) -> tuple[Sequence[int], Sequence[int]]:
    """Return the padding of a convolution for all dimensions of its left side."""
    left, _, _ = _layouts(op)
    rank = len(left.order)
    found = []
    for numbers in padding_of(op, rank - 2):
        along = dict(zip(left.spatial, numbers, strict=True))
        found.append([along.get(axis, 0) for axis in range(rank)])
    return found[0], found[1]


_COUNTED = (
    d.Property("batch_group_count", POSITIVE),
    d.Property("dimension_numbers", CONVOLUTION),
    d.Property("feature_group_count", POSITIVE),
    d.Property("lhs_dilation", d.INTEGER_64_ARRAY_ATTR, optional=True),
)
_PRECISE = (
    d.Property("precision_config", PRECISIONS, optional=True),
    d.Property("rhs_dilation", d.INTEGER_64_ARRAY_ATTR, optional=True),
    d.Property("window_reversal", BOOLEAN_ARRAY, optional=True),
    d.Property("window_strides", d.INTEGER_64_ARRAY_ATTR, optional=True),
)
stablehlo.op(
    "convolution",
    custom=d.CustomForm(_parse_convolution, _print_convolution),
    operands={"lhs": PLAIN_TENSOR, "rhs": ANY_TENSOR},
    results={"result": ANY_TENSOR},
    properties=(*_COUNTED, d.Property("padding", I64_ELEMENTS, optional=True), *_PRECISE),
    verify=_verify_convolution,
    evaluate=between_casts(as_loops(_convolution), product_of_stored(_multiplies_stored, _padding_of_sides)),
)


def _verify_dynamic_conv(op: Operation) -> str | None:
    found = _verify_sides(op)
    if found is not None:
        return found
    rank, padding = len(ty.shape_of(op.operands[0].type) or ()), op.operands[2]
    shape = ty.shape_of(padding.type) or ()
    if len(shape) != 2:
        return Unprefixed(f"expects padding to be of rank 2 but got {len(shape)}")
    if shape != (rank - 2, 2):
        return Unprefixed(f"expects padding to be of shape [{rank - 2}, 2], but got [{shape[0]}, {shape[1]}]")
    if constant_numbers(padding) is not None:
        two, spatial = ty.shape_of(op.operands[1].type) or (), _layouts(op)[1].spatial
        found = verify_window(op, [two[k] for k in spatial], *_CONVOLVED, paddings=rank - 2)
    return found or _verify_scales(op)


stablehlo.op(
    "dynamic_conv",
    operands={
        "lhs": PLAIN_TENSOR, "rhs": PLAIN_TENSOR,
        "padding": tensor_of("I", "statically shaped 2-dimensional integer"),
    },
    results={"result": PLAIN_TENSOR},
    properties=(*_COUNTED, *_PRECISE),
    verify=_verify_dynamic_conv,
    evaluate=between_casts(as_loops(_convolution)),
)  # fmt: skip
