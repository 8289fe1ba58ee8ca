"""Random bodies of structured ops, as text: a few ops on scalars, in every type that has them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple

from halfulp.conformance.whole_programs.generator.grower import NAME, RandomFunction, Unfit
from halfulp.interp.loading import parse_module

# --- bodies: a few ops on scalars, in every type that has them --------------------------------------------------------

FLOATS = ("f32", "f32", "f64", "f16", "bf16", "f8E4M3FN", "f8E5M2")
INTEGERS = ("i32", "i32", "i64", "i8", "i16")

COMBINERS: Mapping[str, Sequence[str]] = {
    "float": ("arith.addf", "arith.addf", "arith.mulf", "arith.maximumf", "arith.minimumf"),
    "integer": ("arith.addi", "arith.addi", "arith.muli", "arith.maxsi", "arith.minui", "arith.xori", "arith.ori"),
}
"""Ops that reductions combine with, by the kind of type."""

_BINARY: Mapping[str, Sequence[str]] = {
    "float": ("arith.addf", "arith.subf", "arith.mulf", "arith.maximumf", "arith.minimumf", "arith.divf"),
    "integer": (
        *("arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori"),
        *("arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui"),
    ),
}
_UNARY: Mapping[str, Sequence[str]] = {"float": ("arith.negf", "math.absf"), "integer": ()}
_COMPARE: Mapping[str, tuple[str, Sequence[str]]] = {
    "float": ("arith.cmpf", ("olt", "oge", "ueq", "une", "ord")),
    "integer": ("arith.cmpi", ("slt", "uge", "eq", "ne", "ult")),
}
_LITERALS: Mapping[str, Sequence[str]] = {
    "float": ("0.0", "-0.0", "1.0", "-2.5", "0.125", "3.0"),
    "integer": ("0", "1", "-1", "3", "77"),
}


class Scalar(NamedTuple):
    """A value in a body."""

    name: str
    type: str


def kind(type_: str) -> str:
    """Return the kind of an element type: float or integer."""
    return "integer" if type_.startswith("i") else "float"


def width(type_: str) -> int:
    """Return the number of bits of an element type."""
    return {"bf16": 16, "f8E4M3FN": 8, "f8E5M2": 8}.get(type_) or int(type_[1:])


class Body:
    """The lines of a body that grows. ``fresh`` gives names that are not used yet."""

    def __init__(self, rng: random.Random, fresh: Callable[[], str], values: Sequence[Scalar]) -> None:
        self.rng = rng
        self.fresh = fresh
        self.lines: list[str] = []
        self.values = list(values)

    def add(self, text: str, type_: str) -> Scalar:
        """Append an op, make its result visible, and return the result."""
        value = self._hidden(text, type_)
        self.values.append(value)
        return value

    def _hidden(self, text: str, type_: str) -> Scalar:
        """Append an op whose result is not visible to other ops, and return the result."""
        value = Scalar(self.fresh(), type_)
        self.lines.append(f"{value.name} = {text}")
        return value

    def index(self, axis: int) -> Scalar:
        """Append a `linalg.index`, as an integer."""
        place = self._hidden(f"linalg.index {axis} : index", "index")
        return self.add(f"arith.index_cast {place.name} : index to i32", "i32")

    def cast(self, value: Scalar, type_: str) -> Scalar:
        """Append the conversion of a value to a type, by one op or two; no result is poison."""
        if value.type == type_:
            return value
        ways = {("float", "float"): self._resized_float, ("integer", "integer"): self._resized_integer}
        if (kind(value.type), kind(type_)) == ("float", "integer"):
            bits = self.add(
                f"arith.bitcast {value.name} : {value.type} to i{width(value.type)}", f"i{width(value.type)}"
            )
            return self.cast(bits, type_)
        if (kind(value.type), kind(type_)) == ("integer", "float"):
            op = self.rng.choice(("arith.sitofp", "arith.uitofp"))
            return self.add(f"{op} {value.name} : {value.type} to {type_}", type_)
        return ways[kind(value.type), kind(type_)](value, type_)

    def _resized_float(self, value: Scalar, type_: str) -> Scalar:
        if width(value.type) == width(type_):
            value = self.add(f"arith.extf {value.name} : {value.type} to f64", "f64")
        op = "arith.extf" if width(value.type) < width(type_) else "arith.truncf"
        return self.add(f"{op} {value.name} : {value.type} to {type_}", type_)

    def _resized_integer(self, value: Scalar, type_: str) -> Scalar:
        wider = self.rng.choice(("arith.extsi", "arith.extui"))
        op = wider if width(value.type) < width(type_) else "arith.trunci"
        return self.add(f"{op} {value.name} : {value.type} to {type_}", type_)

    def operand(self, type_: str) -> Scalar:
        """Return a value of a type: an existing value, a constant, or a conversion."""
        if self.rng.random() < 0.12:
            literal = self.rng.choice(_LITERALS[kind(type_)])
            return self.add(f"arith.constant {literal} : {type_}", type_)
        return self.cast(self.rng.choice(self.values[-4:]), type_)

    def grow(self, count: int) -> None:
        """Append about ``count`` ops."""
        for _ in range(count):
            type_ = self.rng.choice(self.values).type
            chance = self.rng.random()
            unary = _UNARY[kind(type_)]
            if chance < 0.15 and unary:
                self.add(f"{self.rng.choice(unary)} {self.operand(type_).name} : {type_}", type_)
            elif chance < 0.35:
                self._select(type_)
            else:
                left, right = self.operand(type_), self.operand(type_)
                op = self.rng.choice(_BINARY[kind(type_)])
                self.add(f"{op} {left.name}, {right.name} : {type_}", type_)

    def _select(self, type_: str) -> None:
        op, predicates = _COMPARE[kind(type_)]
        left, right = self.operand(type_), self.operand(type_)
        flag = self._hidden(f"{op} {self.rng.choice(predicates)}, {left.name}, {right.name} : {type_}", "i1")
        yes, no = self.operand(type_), self.operand(type_)
        self.add(f"arith.select {flag.name}, {yes.name}, {no.name} : {type_}", type_)


# --- functions on tensors ---------------------------------------------------------------------------------------------

MOST_ELEMENTS = 96
"""Most elements of one tensor, so that a program runs quickly in every stage."""

MOST_RESULTS = 4

Shape = tuple[int, ...]


class Tensor(NamedTuple):
    """A tensor in reach. ``element``: the spelling of its element type."""

    name: str
    shape: Shape
    element: str

    @property
    def type(self) -> str:
        """The spelling of its type, such as ``tensor<2x3xf32>``."""
        return spelled(self.shape, self.element)


def spelled(shape: Shape, element: str) -> str:
    """Return the spelling of a tensor type."""
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


class Program:
    """A function that grows. ``values``: the tensors in reach. ``elements``: its element types."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.values: list[Tensor] = []
        self.used: set[str] = set()
        self._names = 0
        floats = rng.sample(FLOATS, rng.choice((1, 1, 2)))
        self.elements = (*floats, *rng.sample(INTEGERS, rng.choice((0, 1, 1, 2))))
        self.arguments = [self._argument(number) for number in range(rng.randint(1, 3))]

    def _argument(self, number: int) -> Tensor:
        tensor = Tensor(f"%arg{number}", self.shape(), self.rng.choice(self.elements))
        self.values.append(tensor)
        return tensor

    def fresh(self) -> str:
        """Return a new name."""
        self._names += 1
        return f"%{self._names}"

    def shape(self) -> Shape:
        """Choose a shape."""
        while True:
            shape = tuple(self.rng.choice((1, 2, 3, 4, 5, 8)) for _ in range(self.rng.choice((1, 1, 2, 2, 2, 3, 4))))
            if prod(shape) <= MOST_ELEMENTS:
                return shape

    def tensor(self, suits: Callable[[Tensor], bool] = lambda tensor: True) -> Tensor:
        """Return a visible tensor that is suitable, preferably one that no op uses yet. Raises Unfit."""
        found = [tensor for tensor in self.values if suits(tensor)]
        if not found:
            raise Unfit
        unused = [tensor for tensor in found if tensor.name not in self.used]
        chosen = self.rng.choice(unused if unused and self.rng.random() < 0.6 else found)
        self.used.add(chosen.name)
        return chosen

    def add(self, text: str, shape: Shape, element: str) -> Tensor:
        """Append an op with one result, and show the result."""
        if prod(shape) > MOST_ELEMENTS:
            raise Unfit
        tensor = Tensor(self._hidden(text), shape, element)
        self.values.append(tensor)
        return tensor

    def add_into(self, op: str, start: str, shape: Shape, element: str, last: str = "") -> None:
        """Append an op that writes into a tensor. ``last``: the text after it; by default the type of the result."""
        type_ = spelled(shape, element)
        self.add(f"{op} outs({start} : {type_}) {last or f'-> {type_}'}", shape, element)

    def _hidden(self, text: str) -> str:
        """Append an op whose result is not visible to other ops, and return its name."""
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        return name

    def literal(self, element: str) -> str:
        """Append a scalar constant and return its name."""
        number = self.rng.choice(("0", "0", "1", "-3")) + (".0" if kind(element) == "float" else "")
        return self._hidden(f"arith.constant {number} : {element}")

    def index(self, number: int) -> str:
        """Append an index constant and return its name."""
        return self._hidden(f"arith.constant {number} : index")

    def empty(self, shape: Shape, element: str) -> str:
        """Append an empty tensor, which is not visible to other ops, and return its name."""
        if prod(shape) > MOST_ELEMENTS:
            raise Unfit
        return self._hidden(f"tensor.empty() : {spelled(shape, element)}")

    def filled(self, shape: Shape, element: str) -> str:
        """Return the name of a tensor in which each element has a value, for accumulators: a filled tensor or a visible
        one.
        """
        found = [tensor for tensor in self.values if (tensor.shape, tensor.element) == (shape, element)]
        if found and self.rng.random() < 0.3:
            return self.rng.choice(found).name
        zero, start, type_ = self.literal(element), self.empty(shape, element), spelled(shape, element)
        return self._hidden(f"linalg.fill ins({zero} : {element}) outs({start} : {type_}) -> {type_}")

    def text(self) -> str:
        """End the function and return its text."""
        unused = [tensor for tensor in self.values if tensor.name not in self.used and tensor not in self.arguments]
        results = unused[-MOST_RESULTS:] or self.values[-1:]
        takes = ", ".join(f"{tensor.name}: {tensor.type}" for tensor in self.arguments)
        types = ", ".join(tensor.type for tensor in results)
        names = ", ".join(tensor.name for tensor in results)
        body = "\n".join(f"  {line}" for line in self.lines)
        return f"func.func @{NAME}({takes}) -> ({types}) {{\n{body}\n  return {names} : {types}\n}}\n"


# --- structured ops ---------------------------------------------------------------------------------------------------


def _map(rank: int, results: Sequence[str]) -> str:
    return f"affine_map<({', '.join(f'd{axis}' for axis in range(rank))}) -> ({', '.join(results)})>"


def _generic(
    program: Program,
    sizes: Shape,
    inputs: Sequence[tuple[Tensor, Sequence[str]]],
    outputs: Sequence[tuple[str, Shape, str, Sequence[str]]],
    reduced: frozenset[int],
    body: Body,
    yielded: Sequence[Scalar],
) -> None:
    """Append a linalg.generic. The last part of each input and output is the results of its indexing map."""
    rank = len(sizes)
    maps = [_map(rank, results) for results in (*(results for _, results in inputs), *(each[-1] for each in outputs))]
    kinds = ", ".join(f'"{"reduction" if axis in reduced else "parallel"}"' for axis in range(rank))
    types = ", ".join(spelled(shape, element) for _, shape, element, _ in outputs)
    ins = ""
    if inputs:
        names = ", ".join(tensor.name for tensor, _ in inputs)
        ins = f" ins({names} : {', '.join(tensor.type for tensor, _ in inputs)})"
    outs = f" outs({', '.join(name for name, *_ in outputs)} : {types})"
    arguments = ", ".join(f"{value.name}: {value.type}" for value in body.values[: len(inputs) + len(outputs)])
    results = f"({types})" if len(outputs) > 1 else types
    name = program.fresh()
    bound = f"{name}:{len(outputs)}" if len(outputs) > 1 else name
    ends = f"{', '.join(value.name for value in yielded)} : {', '.join(value.type for value in yielded)}"
    program.lines += [
        f"{bound} = linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{kinds}]}}{ins}{outs} {{",
        f"^bb0({arguments}):",
        *(f"  {line}" for line in body.lines),
        f"  linalg.yield {ends}",
        f"}} -> {results}",
    ]
    for number, (_, shape, element, _) in enumerate(outputs):
        program.values.append(Tensor(f"{name}#{number}" if len(outputs) > 1 else name, shape, element))


def _operands(program: Program, sizes: Shape, most: int) -> list[tuple[Tensor, list[str]]]:
    """Choose tensors that can be read over an iteration space, with the results of their indexing maps."""
    chosen = []
    for _ in range(program.rng.randint(1, most)):
        tensor = program.tensor(lambda tensor: _places(program.rng, sizes, tensor.shape) is not None)
        places = _places(program.rng, sizes, tensor.shape)
        if places is not None:
            chosen.append((tensor, places))
    if not chosen:
        raise Unfit
    return chosen


def _places(rng: random.Random, sizes: Shape, shape: Shape) -> list[str] | None:
    """Return a dimension of the iteration space for each axis of a shape, each used once; constant 0 for size 1."""
    free = list(range(len(sizes)))
    rng.shuffle(free)
    places = []
    for size in shape:
        fitting = [axis for axis in free if sizes[axis] == size]
        if fitting:
            free.remove(fitting[0])
            places.append(f"d{fitting[0]}")
        elif size == 1:
            places.append("0")
        else:
            return None
    return places


def elementwise(program: Program) -> None:
    """Append a generic without reductions, of one result or two."""
    rng = program.rng
    base = program.tensor()
    sizes = base.shape
    inputs = [(base, [f"d{axis}" for axis in range(len(sizes))])]
    if rng.random() < 0.6:
        inputs += _operands(program, sizes, 2)
    elements = [rng.choice(program.elements) for _ in range(rng.choice((1, 1, 1, 2)))]
    arguments = [Scalar(program.fresh(), tensor.element) for tensor, _ in inputs]
    arguments += [Scalar(program.fresh(), element) for element in elements]
    body = Body(rng, program.fresh, arguments)
    unread = body.values[len(inputs) :]
    body.values = body.values[: len(inputs)]
    if sizes and rng.random() < 0.2:
        body.index(rng.randrange(len(sizes)))
    body.grow(rng.randint(1, 4))
    yielded = [body.cast(rng.choice(body.values[-2:]), element) for element in elements]
    body.values = [*body.values[: len(inputs)], *unread]
    order = list(range(len(sizes)))
    if rng.random() < 0.3:
        rng.shuffle(order)
    shape = tuple(sizes[axis] for axis in order)
    outputs = [(program.empty(shape, element), shape, element, [f"d{axis}" for axis in order]) for element in elements]
    _generic(program, sizes, inputs, outputs, frozenset(), body, yielded)


def reduction(program: Program) -> None:
    """Append a generic that combines over some dimensions, with the accumulator first."""
    rng = program.rng
    base = program.tensor(lambda tensor: len(tensor.shape) > 0)
    sizes = base.shape
    reduced = frozenset(rng.sample(range(len(sizes)), rng.randint(1, len(sizes))))
    inputs = [(base, [f"d{axis}" for axis in range(len(sizes))])]
    if rng.random() < 0.4:
        inputs += _operands(program, sizes, 1)
    element = rng.choice(program.elements)
    arguments = [Scalar(program.fresh(), tensor.element) for tensor, _ in inputs]
    accumulator = Scalar(program.fresh(), element)
    body = Body(rng, program.fresh, arguments)
    if rng.random() < 0.5:
        body.grow(rng.randint(1, 2))
    term = body.cast(body.values[-1], element)
    op = rng.choice(COMBINERS[kind(element)])
    sides = (accumulator, term) if rng.random() < 0.8 else (term, accumulator)
    total = body.add(f"{op} {sides[0].name}, {sides[1].name} : {element}", element)
    body.values = [*arguments, accumulator]
    kept = [axis for axis in range(len(sizes)) if axis not in reduced]
    shape = tuple(sizes[axis] for axis in kept)
    outputs = [(program.filled(shape, element), shape, element, [f"d{axis}" for axis in kept])]
    _generic(program, sizes, inputs, outputs, reduced, body, [total])


def _named(program: Program, op: str, inputs: Sequence[Tensor], start: str, shape: Shape, element: str) -> None:
    names, types = ", ".join(t.name for t in inputs), ", ".join(t.type for t in inputs)
    program.add_into(f"{op} ins({names} : {types})", start, shape, element)


def contraction(program: Program) -> None:
    """Append a product of matrices, of vectors, or of both."""
    rng = program.rng
    left = program.tensor(lambda tensor: len(tensor.shape) in (1, 2, 3))
    a = left.shape
    numbers = kind(left.element)

    def fits(right: Tensor) -> bool:
        return kind(right.element) == numbers and _product_of(a, right.shape) is not None

    right = program.tensor(fits)
    found = _product_of(a, right.shape)
    assert found is not None
    op, shape = found
    widest = max(width(left.element), width(right.element))
    element = rng.choice([e for e in (*program.elements, left.element) if kind(e) == numbers and width(e) >= widest])
    if any(width(e) == width(element) and e != element for e in (left.element, right.element)):
        raise Unfit
    _named(program, op, (left, right), program.filled(shape, element), shape, element)


def _product_of(a: Shape, b: Shape) -> tuple[str, Shape] | None:
    """Return the op that multiplies tensors of these shapes, and the shape of the result."""
    match len(a), len(b):
        case 1, 1 if a == b:
            return "linalg.dot", ()
        case 2, 1 if a[1] == b[0]:
            return "linalg.matvec", (a[0],)
        case 1, 2 if a[0] == b[0]:
            return "linalg.vecmat", (b[1],)
        case 2, 2 if a[1] == b[0]:
            return "linalg.matmul", (a[0], b[1])
        case 3, 3 if a[0] == b[0] and a[2] == b[1]:
            return "linalg.batch_matmul", (a[0], a[1], b[2])
    return None


def named_elementwise(program: Program) -> None:
    """Append a named op on tensors of one type."""
    first = program.tensor()
    second = program.tensor(lambda tensor: tensor.type == first.type)
    op = program.rng.choice(("add", "sub", "mul", "max"))
    start = program.empty(first.shape, first.element)
    _named(program, f"linalg.{op}", (first, second), start, first.shape, first.element)


def transpose(program: Program) -> None:
    """Append a transpose."""
    tensor = program.tensor(lambda tensor: len(tensor.shape) > 1)
    order = list(range(len(tensor.shape)))
    program.rng.shuffle(order)
    shape = tuple(tensor.shape[axis] for axis in order)
    start, op = program.empty(shape, tensor.element), f"linalg.transpose ins({tensor.name} : {tensor.type})"
    program.add_into(op, start, shape, tensor.element, f"permutation = {order}")


def broadcast(program: Program) -> None:
    """Append a broadcast along a new axis."""
    tensor = program.tensor(lambda tensor: len(tensor.shape) < 4)
    axis, size = program.rng.randint(0, len(tensor.shape)), program.rng.choice((2, 3))
    shape = (*tensor.shape[:axis], size, *tensor.shape[axis:])
    start, op = program.empty(shape, tensor.element), f"linalg.broadcast ins({tensor.name} : {tensor.type})"
    program.add_into(op, start, shape, tensor.element, f"dimensions = [{axis}]")


def reduce(program: Program) -> None:
    """Append a linalg.reduce in its short form."""
    rng = program.rng
    tensor = program.tensor(lambda tensor: len(tensor.shape) > 0)
    axes = sorted(rng.sample(range(len(tensor.shape)), rng.randint(1, len(tensor.shape))))
    shape = tuple(size for axis, size in enumerate(tensor.shape) if axis not in axes)
    start = program.filled(shape, tensor.element)
    op = f"linalg.reduce {{ {rng.choice(COMBINERS[kind(tensor.element)])} }} ins({tensor.name} : {tensor.type})"
    program.add_into(op, start, shape, tensor.element, f"dimensions = {axes}")


def window(program: Program) -> None:
    """Append a convolution or a pooling in one dimension, perhaps with a stride."""
    rng = program.rng
    image = program.tensor(lambda tensor: len(tensor.shape) == 3 and tensor.shape[1] > 1)
    batch, length, channels = image.shape
    size, stride = rng.randint(1, min(3, length)), rng.choice((1, 1, 2))
    places = (length - size) // stride + 1
    options = f"{{strides = dense<{stride}> : tensor<1xi64>, dilations = dense<1> : tensor<1xi64>}}"
    pooled = rng.random() < 0.5
    names = {"float": ("sum", "max", "min"), "integer": ("sum", "max", "min", "max_unsigned", "min_unsigned")}
    if pooled:
        op = f"linalg.pooling_nwc_{rng.choice(names[kind(image.element)])}"
        kernel = Tensor(program.empty((size,), image.element), (size,), image.element)
        shape = (batch, places, channels)
    else:
        op = "linalg.conv_1d_nwc_wcf"
        kernel = program.tensor(lambda t: t.element == image.element and t.shape[:-1] == (size, channels))
        shape = (batch, places, kernel.shape[-1])
    start = program.filled(shape, image.element)
    _named(program, f"{op} {options}", (image, kernel), start, shape, image.element)


# --- moving elements --------------------------------------------------------------------------------------------------


def _part(rng: random.Random, shape: Shape) -> tuple[list[int], list[int], list[int]]:
    """Choose offsets, sizes and strides inside a shape."""
    offsets, sizes, strides = [], [], []
    for size in shape:
        stride = rng.choice((1, 1, 1, 2))
        count = rng.randint(1, (size - 1) // stride + 1)
        offsets.append(rng.randint(0, size - 1 - (count - 1) * stride))
        sizes.append(count)
        strides.append(stride)
    return offsets, sizes, strides


def _written(program: Program, numbers: Sequence[int]) -> str:
    """Return the text of a list of numbers. Some programs have values of type index in place of some numbers."""
    dynamic = program.rng.random() < 0.3
    return f"[{', '.join(program.index(n) if dynamic and program.rng.random() < 0.5 else str(n) for n in numbers)}]"


def extract_slice(program: Program) -> None:
    """Append the extraction of a part, perhaps without the axes of size 1."""
    tensor = program.tensor(lambda tensor: len(tensor.shape) > 0)
    offsets, sizes, strides = _part(program.rng, tensor.shape)
    ones = program.rng.random() < 0.7
    shape = tuple(size for size in sizes if ones or size != 1)
    where = f"{_written(program, offsets)} {sizes} {strides}"
    type_ = spelled(shape, tensor.element)
    program.add(f"tensor.extract_slice {tensor.name}{where} : {tensor.type} to {type_}", shape, tensor.element)


def insert_slice(program: Program) -> None:
    """Append the insertion of a tensor into a larger one."""
    whole = program.tensor(lambda tensor: len(tensor.shape) > 0)
    part = program.tensor(
        lambda t: (
            t.element == whole.element
            and len(t.shape) == len(whole.shape)
            and all(a <= b for a, b in zip(t.shape, whole.shape, strict=True))
        )
    )
    offsets = [program.rng.randint(0, b - a) for a, b in zip(part.shape, whole.shape, strict=True)]
    where = f"{_written(program, offsets)} {list(part.shape)} {[1] * len(offsets)}"
    text = f"tensor.insert_slice {part.name} into {whole.name}{where} : {part.type} into {whole.type}"
    program.add(text, whole.shape, whole.element)


def pad(program: Program) -> None:
    """Append a padding by a constant."""
    tensor = program.tensor(lambda tensor: len(tensor.shape) > 0)
    low, high = ([program.rng.choice((0, 0, 1, 2)) for _ in tensor.shape] for _ in range(2))
    shape = tuple(a + size + b for a, size, b in zip(low, tensor.shape, high, strict=True))
    value = program.literal(tensor.element)
    indices = ", ".join(f"{program.fresh()}: index" for _ in shape)
    text = (
        f"tensor.pad {tensor.name} low{low} high{high} {{\n  ^bb0({indices}):\n"
        f"    tensor.yield {value} : {tensor.element}\n  }} : {tensor.type} to {spelled(shape, tensor.element)}"
    )
    program.add(text, shape, tensor.element)


def collapse(program: Program) -> None:
    """Append an op that joins neighbouring axes."""
    tensor = program.tensor(lambda tensor: len(tensor.shape) > 1)
    at = program.rng.randrange(len(tensor.shape) - 1)
    groups = [[axis] for axis in range(len(tensor.shape))]
    groups[at : at + 2] = [[at, at + 1]]
    shape = tuple(prod(tensor.shape[axis] for axis in group) for group in groups)
    type_ = spelled(shape, tensor.element)
    program.add(f"tensor.collapse_shape {tensor.name} {groups} : {tensor.type} into {type_}", shape, tensor.element)


def expand(program: Program) -> None:
    """Append an op that splits an axis into two."""
    tensor = program.tensor(lambda tensor: 0 < len(tensor.shape) < 4)
    at = program.rng.randrange(len(tensor.shape))
    size = tensor.shape[at]
    first = program.rng.choice([n for n in range(1, size + 1) if size % n == 0])
    shape = (*tensor.shape[:at], first, size // first, *tensor.shape[at + 1 :])
    groups = [[axis + (axis > at)] for axis in range(len(tensor.shape))]
    groups[at] = [at, at + 1]
    type_ = spelled(shape, tensor.element)
    text = f"tensor.expand_shape {tensor.name} {groups} output_shape {list(shape)} : {tensor.type} into {type_}"
    program.add(text, shape, tensor.element)


# --- control ----------------------------------------------------------------------------------------------------------


def loop(program: Program) -> None:
    """Append a loop that changes the elements of a tensor one after the other."""
    rng = program.rng
    tensor = program.tensor(lambda tensor: len(tensor.shape) == 1)
    zero, one, end = program.index(0), program.index(1), program.index(tensor.shape[0])
    name, counter, carried, element, after = (program.fresh() for _ in range(5))
    body = Body(rng, program.fresh, [Scalar(element, tensor.element)])
    body.grow(rng.randint(1, 3))
    value = body.cast(body.values[-1], tensor.element)
    inner = [
        f"{element} = tensor.extract {carried}[{counter}] : {tensor.type}",
        *body.lines,
        f"{after} = tensor.insert {value.name} into {carried}[{counter}] : {tensor.type}",
        f"scf.yield {after} : {tensor.type}",
    ]
    head = f"scf.for {counter} = {zero} to {end} step {one} iter_args({carried} = {tensor.name}) -> ({tensor.type})"
    program.lines += [f"{name} = {head} {{", *(f"  {line}" for line in inner), "}"]
    program.values.append(Tensor(name, tensor.shape, tensor.element))


WAYS: Sequence[tuple[Callable[[Program], None], float]] = (
    (elementwise, 4),
    (reduction, 3),
    (contraction, 2),
    (named_elementwise, 1),
    (transpose, 1),
    (broadcast, 1),
    (reduce, 1.5),
    (window, 2),
    (extract_slice, 1.5),
    (insert_slice, 1.5),
    (pad, 1),
    (collapse, 1),
    (expand, 1),
    (loop, 0.7),
)
"""The ways to continue a program, and how often each is chosen."""


def structured_text(seed: int, index: int) -> str:
    """Return the text of program ``index`` of a seed."""
    rng = random.Random(f"structured {seed} {index}")
    program = Program(rng)
    ways, weights = zip(*WAYS, strict=True)
    left, tries = rng.randint(1, 7), 60
    while left and tries:
        tries -= 1
        (way,) = rng.choices(ways, weights)
        begun = len(program.lines)
        try:
            way(program)
            left -= 1
        except Unfit:
            del program.lines[begun:]
    return program.text()


def structured_functions(seed: int, count: int, first: int = 0) -> Iterator[RandomFunction]:
    """Yield programs ``first`` to ``first + count - 1`` of a seed."""
    for index in range(first, first + count):
        text = structured_text(seed, index)
        yield RandomFunction(seed, index, parse_module(text, f"<program {index} of seed {seed}>"))
