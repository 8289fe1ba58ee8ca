"""Random programs on quantised elements, of the ops that StableHLO's interpreter runs on them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

UNARY = (
    "abs", "cbrt", "ceil", "cosine", "exponential", "exponential_minus_one", "floor", "log", "log_plus_one", "logistic",
    "negate", "round_nearest_afz", "round_nearest_even", "rsqrt", "sign", "sine", "sqrt", "tan", "tanh",
)  # fmt: skip
BINARY = ("add", "atan2", "divide", "maximum", "minimum", "multiply", "power", "remainder", "subtract")


class Element(NamedTuple):
    """A quantised element type: the storage type, its bounds, the axis of the scales, and scales with zero points."""

    storage: str
    bounds: tuple[int, int] | None
    axis: int | None
    parameters: tuple[str, ...]

    @property
    def width(self) -> int:
        return int(self.storage.lstrip("ui"))

    @property
    def range(self) -> tuple[int, int]:
        """The least and the largest integer of the storage type."""
        half = 0 if self.storage[0] == "u" else 1 << self.width - 1
        return -half, (1 << self.width) - half - 1

    @property
    def text(self) -> str:
        bounds = "" if self.bounds is None else f"<{self.bounds[0]}:{self.bounds[1]}>"
        scales = ",".join(self.parameters)
        tail = f", {scales}" if self.axis is None else f":{self.axis}, {{{scales}}}"
        return f"!quant.uniform<{self.storage}{bounds}:f32{tail}>"


class Name(NamedTuple):
    """A value of a program."""

    name: str
    shape: tuple[int, ...]
    element: Element | str

    @property
    def type(self) -> str:
        element = self.element if isinstance(self.element, str) else self.element.text
        return tensor(self.shape, element)


def tensor(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


STORAGE = ("i2", "i4", "i8", "i16", "i32", "ui2", "ui4", "ui8", "ui16")
PRODUCTS = ("i4", "i8", "i16", "i32", "ui8")


class Program:
    """A program that is being written. ``storage``: storage types; ``products``, ``convolved``: those of the sides of
    dot_general and of convolution.
    """

    def __init__(
        self,
        seed: int,
        storage: Sequence[str] = STORAGE,
        products: Sequence[str] = PRODUCTS,
        convolved: Sequence[str] = PRODUCTS,
    ) -> None:
        self.draw = random.Random(seed)
        self.storage, self.products, self.convolved = storage, products, convolved
        self.lines: list[str] = []
        self.made: list[Name] = []
        self.shape = tuple([self.draw.randint(1, 4) for _ in range(self.draw.randint(1, 3))])
        self.values = [self.given(), self.given()]
        for _ in range(self.draw.randint(1, 4)):
            self.step()

    # --- types ---

    def element(self, storage: str = "", axis: int | None = None, channels: int = 1, plain: bool = False) -> Element:
        """Return a type. ``plain``: without zero points."""
        found = Element(storage or self.draw.choice(self.storage), None, axis, ())
        if self.draw.random() < 0.2 and found.width in (4, 8, 16):
            least, most = found.range
            middle = (least + most) // 2
            low = self.draw.randint(least, min(middle, 0))
            found = found._replace(bounds=(low, self.draw.randint(max(low + 1, middle, 0), most)))
        count = 1 if axis is None else channels
        return found._replace(parameters=tuple([self.parameter(found, plain) for _ in range(count)]))

    def parameter(self, element: Element, plain: bool = False) -> str:
        """Return a scale with a zero point."""
        scale = round(2 ** self.draw.uniform(-8, 1), 7)
        text = repr(scale) if self.draw.random() < 0.8 else self.draw.choice(("0.5", "1.0", "0.1"))
        low, high = element.bounds or element.range
        point = 0 if plain or self.draw.random() < 0.4 else self.draw.randint(max(low, -1000), min(high, 1000))
        return f"{text}:{point}" if point else text

    def of_shape(self, shape: Sequence[int]) -> Element:
        """Return a type for tensors of a shape, with one scale or with several."""
        if shape and self.draw.random() < 0.25:
            axis = len(shape) - 1  # the interpreter knows no other one
            return self.element(axis=axis, channels=shape[axis])
        return self.element()

    def same_storage(self, one: Name) -> Element:
        """Return a type that an op may give for an operand: of the same storage, with other scales or the same."""
        assert isinstance(one.element, Element)
        if self.draw.random() < 0.4:
            return one.element
        return one.element._replace(parameters=(self.parameter(one.element),))

    # --- values ---

    def add(self, shape: Sequence[int], element: Element | str, text: str) -> Name:
        found = Name(f"%{len(self.lines)}", tuple(shape), element)
        self.lines.append(f"{found.name} = {text}")
        if text.split()[0] not in ("stablehlo.constant", '"stablehlo.constant"'):
            self.made.append(found)
        return found

    def op(
        self, name: str, operands: Sequence[Name], shape: Sequence[int], element: Element | str, more: str = ""
    ) -> Name:
        made = Name("", tuple(shape), element).type
        types = f"({', '.join(each.type for each in operands)}) -> {made}"
        given = ", ".join(each.name for each in operands)
        return self.add(shape, element, f'"stablehlo.{name}"({given}) {more}: {types}')

    def floats(self, shape: Sequence[int]) -> Name:
        """Return a constant of floats, now and then a special one."""
        count = 1
        for size in shape:
            count *= size
        special = ("0x7F800000", "0xFF800000", "0x7FC00000", "-0.0", "1.0e30", "0.5", "1.5", "-2.5")

        def number() -> str:
            if self.draw.random() < 0.1:
                return self.draw.choice(special)
            return f"{self.draw.gauss(0, 1) * 10 ** self.draw.uniform(-2, 2):.6e}"

        return self.add(
            shape,
            "f32",
            f"stablehlo.constant {dense(shape, [number() for _ in range(count)])} : {tensor(shape, 'f32')}",
        )

    def given(self, shape: Sequence[int] | None = None, element: Element | None = None) -> Name:
        """Return quantised numbers: floats that are quantised, or stored integers."""
        shape = self.shape if shape is None else shape
        element = element or self.of_shape(shape)
        if self.draw.random() < 0.6:
            return self.op("uniform_quantize", [self.floats(shape)], shape, element)
        count = 1
        for size in shape:
            count *= size
        least, most = element.range
        if self.draw.random() < 0.5:
            least, most = max(least, -128), min(most, 127)
        numbers = [str(self.draw.randint(least, most)) for _ in range(count)]
        text = f"stablehlo.constant {dense(shape, numbers)} : {tensor(shape, element.storage)}"
        return self.op("bitcast_convert", [self.add(shape, element.storage, text)], shape, element)

    def like(self, one: Name) -> Name:
        """Return another value of a shape, per tensor."""
        found = [each for each in self.values if each.shape == one.shape and is_per_tensor(each) and each is not one]
        return self.draw.choice(found) if found and self.draw.random() < 0.5 else self.given(one.shape, self.element())

    def per_tensor(self, one: Name) -> Name:
        if is_per_tensor(one):
            return one
        return self.op("uniform_quantize", [one], one.shape, self.element())

    # --- ops ---

    def step(self) -> None:
        draw = self.draw
        one = draw.choice(self.values)
        kind = draw.choice(
            ("unary", "unary", "binary", "binary", "addition", "requantize", "dequantize", "compare", "select", "clamp", "dot",
             "hybrid_dot", "convolution", "hybrid_convolution", "move", "reduce_precision", "window")
        )  # fmt: skip
        found = getattr(self, kind)(one)
        if found is not None and not isinstance(found.element, str):
            self.values.append(found)

    def unary(self, one: Name) -> Name:
        one = self.per_tensor(one)
        return self.op(self.draw.choice(UNARY), [one], one.shape, self.same_storage(one))

    def binary(self, one: Name) -> Name:
        one = self.per_tensor(one)
        element = self.same_storage(one)
        other = self.given(one.shape, self.same_storage(one))
        return self.op(self.draw.choice(BINARY), [one, other], one.shape, element)

    def addition(self, one: Name) -> Name:
        return self.op("add", [one, self.given(one.shape, one.element)], one.shape, one.element)  # type: ignore[arg-type]

    def requantize(self, one: Name) -> Name:
        assert isinstance(one.element, Element)
        if one.element.axis is not None and self.draw.random() < 0.5:
            axis = one.element.axis
            return self.op("uniform_quantize", [one], one.shape, self.element(axis=axis, channels=one.shape[axis]))
        return self.op("uniform_quantize", [one], one.shape, self.element())

    def dequantize(self, one: Name) -> Name:
        return self.op("uniform_dequantize", [one], one.shape, "f32")

    def compare(self, one: Name) -> Name:
        one = self.per_tensor(one)
        direction = self.draw.choice(("EQ", "NE", "GE", "GT", "LE", "LT"))
        other = self.given(one.shape, self.same_storage(one))
        more = f"<{{comparison_direction = #stablehlo<comparison_direction {direction}>}}> "
        return self.op("compare", [one, other], one.shape, "i1", more)

    def select(self, one: Name) -> Name:
        one = self.per_tensor(one)
        condition = self.compare(one)
        other = self.given(one.shape, one.element)  # type: ignore[arg-type]
        return self.op("select", [condition, one, other], one.shape, self.same_storage(one))

    def clamp(self, one: Name) -> Name:
        one = self.per_tensor(one)
        bounds = [self.given(one.shape, self.same_storage(one)) for _ in range(2)]
        return self.op("clamp", [bounds[0], one, bounds[1]], one.shape, self.same_storage(one))

    def reduce_precision(self, one: Name) -> Name:
        one = self.per_tensor(one)
        more = (
            f"<{{exponent_bits = {self.draw.randint(2, 8)} : i32, mantissa_bits = {self.draw.randint(1, 23)} : i32}}> "
        )
        return self.op("reduce_precision", [one], one.shape, self.same_storage(one), more)

    def window(self, one: Name) -> Name | None:
        one = self.per_tensor(one)
        start = self.given((), one.element)  # type: ignore[arg-type]
        inner = start.type
        op = self.draw.choice(("maximum", "minimum"))
        sizes = [self.draw.randint(1, size) for size in one.shape]
        made = [size - window + 1 for size, window in zip(one.shape, sizes, strict=True)]
        body = (
            f"({{ ^bb0(%x: {inner}, %y: {inner}): %z = stablehlo.{op} %x, %y : {inner} "
            f'"stablehlo.return"(%z) : ({inner}) -> () }}) '
        )
        more = f"<{{window_dimensions = array<i64: {', '.join(map(str, sizes))}>}}> {body}"
        return self.op("reduce_window", [one, start], made, one.element, more)

    def product(
        self, left: Name, shape: Sequence[int], axis: int, channels: int, made: Sequence[int], out: int
    ) -> tuple[Name, Element | str]:
        """Return the right side of a product, and the type of the result. ``axis``, ``out``: those of the channels."""
        hybrid = isinstance(left.element, str)
        storage = self.draw.choice(self.products) if hybrid else left.element.storage  # type: ignore[union-attr]
        by_axis = self.draw.random() < 0.4
        right = self.element(storage, axis if by_axis else None, channels, plain=True)
        if hybrid:
            return self.given(shape, right), "f32"
        to = self.draw.choice(("i32", "i32", "i8", "i16"))
        element = self.element(to, out if by_axis else None, channels, plain=by_axis)
        return self.given(shape, right), element

    def dot(self, one: Name, hybrid: bool = False) -> Name:
        n, k, m = (self.draw.randint(1, 4) for _ in range(3))
        left = self.floats((n, k)) if hybrid else self.given((n, k), self.element(self.draw.choice(self.products)))
        right, element = self.product(left, (k, m), 1, m, (n, m), 1)
        more = "<{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> "
        return self.op("dot_general", [left, right], (n, m), element, more)

    def hybrid_dot(self, one: Name) -> Name:
        return self.dot(one, hybrid=True)

    def convolution(self, one: Name, hybrid: bool = False) -> Name:
        draw = self.draw
        h, w, f, o = draw.randint(2, 4), draw.randint(2, 4), draw.randint(1, 2), draw.randint(1, 3)
        kernel = (draw.randint(1, 2), draw.randint(1, 2), f, o)
        pad = [[0, 0], [0, 0]]
        element = None if hybrid else self.element(draw.choice(self.convolved))
        if draw.random() < 0.5 and (element is None or element.storage == "i8"):  # the interpreter pads with i8
            pad = [[draw.randint(0, 2), draw.randint(0, 1)] for _ in range(2)]
        left = self.floats((1, h, w, f)) if element is None else self.given((1, h, w, f), element)
        made = (1, h + sum(pad[0]) - kernel[0] + 1, w + sum(pad[1]) - kernel[1] + 1, o)
        right, result = self.product(left, kernel, 3, o, made, 3)
        more = (
            "<{batch_group_count = 1 : i64, feature_group_count = 1 : i64, dimension_numbers = "
            f"#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, padding = dense<{pad}> : tensor<2x2xi64>}}> "
        )
        return self.op("convolution", [left, right], made, result, more)

    def hybrid_convolution(self, one: Name) -> Name:
        return self.convolution(one, hybrid=True)

    def move(self, one: Name) -> Name:
        one, draw = self.per_tensor(one), self.draw
        kind = draw.choice(("transpose", "slice", "concatenate", "pad", "reshape", "broadcast_in_dim"))
        rank = len(one.shape)
        if kind == "transpose":
            order = draw.sample(range(rank), rank)
            more = f"<{{permutation = array<i64: {', '.join(map(str, order))}>}}> "
            return self.op(kind, [one], [one.shape[k] for k in order], one.element, more)
        if kind == "slice":
            ends = [draw.randint(1, size) for size in one.shape]
            zero, step = ", ".join("0" * rank), ", ".join("1" * rank)
            more = f"<{{start_indices = array<i64: {zero}>, limit_indices = array<i64: {', '.join(map(str, ends))}>, strides = array<i64: {step}>}}> "
            return self.op(kind, [one], ends, one.element, more)
        if kind == "concatenate":
            shape = (2 * one.shape[0], *one.shape[1:])
            other = self.given(one.shape, one.element)  # type: ignore[arg-type]
            return self.op(kind, [one, other], shape, one.element, "<{dimension = 0 : i64}> ")
        if kind == "pad":
            fill = self.given((), one.element)  # type: ignore[arg-type]
            low = [draw.randint(0, 2) for _ in one.shape]
            zero = ", ".join("0" * rank)
            more = f"<{{edge_padding_low = array<i64: {', '.join(map(str, low))}>, edge_padding_high = array<i64: {zero}>, interior_padding = array<i64: {zero}>}}> "
            return self.op(kind, [one, fill], [a + b for a, b in zip(one.shape, low, strict=True)], one.element, more)
        if kind == "reshape":
            count = 1
            for size in one.shape:
                count *= size
            return self.op(kind, [one], (count,), one.element)
        more = f"<{{broadcast_dimensions = array<i64: {', '.join(str(k + 1) for k in range(rank))}>}}> "
        return self.op(kind, [one], (2, *one.shape), one.element, more)

    # --- text ---

    @property
    def text(self) -> str:
        """The program: a function @main without arguments that returns all values as integers."""
        lines, results = list(self.lines), []
        for number, each in enumerate(self.made):
            source, type_ = each.name, each.type
            if isinstance(each.element, Element):
                bits = tensor(each.shape, each.element.storage)
                lines.append(f"%b{number} = stablehlo.bitcast_convert {source} : ({type_}) -> {bits}")
                source, type_ = f"%b{number}", bits
            element = type_.removesuffix(">").replace("<", "x").rpartition("x")[2]
            to = {"f32": "i32", "i1": "i8", "i2": "i8", "i4": "i8", "ui2": "ui8", "ui4": "ui8"}.get(element)
            if to is not None:
                op = "bitcast_convert" if element == "f32" else "convert"
                whole = tensor(each.shape, to)
                lines.append(f"%c{number} = stablehlo.{op} {source} : ({type_}) -> {whole}")
                source, type_ = f"%c{number}", whole
            results.append((source, type_))
        types = ", ".join(type_ for _, type_ in results)
        names = ", ".join(name for name, _ in results)
        body = "\n".join(f"  {line}" for line in lines)
        return f"func.func @main() -> ({types}) {{\n{body}\n  return {names} : {types}\n}}\n"


def is_per_tensor(name: Name) -> bool:
    return isinstance(name.element, Element) and name.element.axis is None


def dense(shape: Sequence[int], numbers: Sequence[str]) -> str:
    """Return the text of a dense attribute."""

    def part(sizes: Sequence[int], given: Sequence[str]) -> str:
        if not sizes:
            return given[0]
        step = len(given) // sizes[0]
        return f"[{', '.join(part(sizes[1:], given[k * step : (k + 1) * step]) for k in range(sizes[0]))}]"

    return f"dense<{part(shape, numbers)}>"
