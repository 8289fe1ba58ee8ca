"""Bodies of named structured ops: small formulas on scalars of any element type.

MLIR writes the same ops for integers, floats, booleans and complex numbers: the tables give the op for each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from halfulp.fp_formats import scalar
from halfulp.interp.declare.operands import add_defaults
from halfulp.interp.declare.registry import Registry
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, Operation, SSAValue

INTEGER, FLOAT, BOOL, COMPLEX = KINDS = "integer", "float", "bool", "complex"


def _extreme(name: str) -> Mapping[str, str]:
    """Return the ops of a signed maximum or minimum. As in MLIR, for a complex number it is an op that rejects it."""
    return {**dict.fromkeys(KINDS, f"arith.{name}si"), FLOAT: f"arith.{name}imumf"}


BINARY: Mapping[str, Mapping[str, str]] = {
    "add": {FLOAT: "arith.addf", INTEGER: "arith.addi", BOOL: "arith.ori", COMPLEX: "complex.add"},
    "sub": {FLOAT: "arith.subf", INTEGER: "arith.subi", COMPLEX: "complex.sub"},
    "mul": {FLOAT: "arith.mulf", INTEGER: "arith.muli", BOOL: "arith.andi", COMPLEX: "complex.mul"},
    "div": {FLOAT: "arith.divf", INTEGER: "arith.divsi", COMPLEX: "complex.div"},
    "div_unsigned": {INTEGER: "arith.divui"},
    "max_signed": _extreme("max"),
    "min_signed": _extreme("min"),
    "max_unsigned": {INTEGER: "arith.maxui"},
    "min_unsigned": {INTEGER: "arith.minui"},
    "powf": dict.fromkeys(KINDS, "math.powf"),
}
"""The op of a function of two operands, by the kind of their type."""

_MISSING = {
    "sub": "sub with bools",
    "div": "div with bools",
    **{f"{name}_unsigned": f"unsigned {name} not on uint" for name in ("div", "max", "min")},
}

UNARY: Mapping[str, str] = {
    "exp": "math.exp", "log": "math.log", "abs": "math.absf", "ceil": "math.ceil", "floor": "math.floor",
    "negf": "arith.negf", "round": "math.round", "sqrt": "math.sqrt", "rsqrt": "math.rsqrt", "tanh": "math.tanh",
    "erf": "math.erf",
}  # fmt: skip
"""The op of a function of one float."""

NEWER_UNARY: Mapping[str, str] = {
    name: f"math.{name}"
    for name in (
        *("sin", "cos", "tan", "acos", "acosh", "asin", "asinh", "atan", "atanh"),
        *("log10", "log1p", "log2"),
    )
}
"""Further functions of linalg.elementwise, of LLVM 24."""


def kind_of(type_: ty.Type) -> str | None:
    """Return the kind of a type, as the tables name it; None for a type that they do not have."""
    match type_:
        case ty.ComplexType():
            return COMPLEX
        case ty.FloatType():
            return FLOAT
        case ty.IntegerType():
            return BOOL if type_.width == 1 else INTEGER
    return None


class Unbuildable(Exception):
    """The error for a body that MLIR cannot write for these types, in its words."""


class Formula:
    """A body under construction: ops are appended to its block."""

    def __init__(self, registry: Registry, block: Block) -> None:
        self._registry = registry
        self._block = block
        self.arguments: Sequence[SSAValue] = block.arguments

    @property
    def out(self) -> SSAValue:
        """The element of the last init."""
        return self.arguments[-1]

    def op(
        self,
        name: str,
        operands: Sequence[SSAValue],
        result: ty.Type,
        properties: Mapping[str, at.Attribute] | None = None,
    ) -> SSAValue:
        """Append an op with one result, and return the result."""
        definition = self._registry.find(name)
        made = Operation(name, definition, list(operands), [result], dict(properties or {}))
        if definition is not None:
            add_defaults(definition, made.properties)
        self._block.append(made)
        return made.results[0]

    def constant(self, value: at.Attribute, type_: ty.Type) -> SSAValue:
        """Append a constant, and return it."""
        return self.op("arith.constant", (), type_, {"value": value})

    def cast(self, value: SSAValue, type_: ty.Type, unsigned: bool = False) -> SSAValue:
        """Append the conversion of a scalar to ``type_``, and return the result. A scalar that MLIR cannot convert is
        returned as it is.
        """
        if isinstance(type_, ty.ComplexType) and type_ != value.type:
            return self._complex(value, type_.element, unsigned)
        name = _cast(value.type, type_, unsigned)
        return value if name is None else self.op(name, [value], type_)

    def _complex(self, value: SSAValue, element: ty.Type, unsigned: bool) -> SSAValue:
        """Append the conversion to a complex number."""
        source = value.type
        if isinstance(source, ty.ComplexType):
            parts = [self.op(f"complex.{name}", [value], source.element) for name in ("re", "im")]
            parts = [self.cast(part, element) for part in parts]
        else:
            real = self.cast(value, element, unsigned)
            assert isinstance(element, ty.FloatType)
            parts = [real, self.constant(at.FloatAttr(0, element), element)]
        return self.op("complex.create", parts, ty.ComplexType(element))

    def binary(self, function: str, left: SSAValue, right: SSAValue) -> SSAValue:
        """Append an op that computes a function of two operands of one kind, and return its result. Raises
        Unbuildable.
        """
        one, two = kind_of(left.type), kind_of(right.type)
        if one is None or two is None or (one != two and {one, two} != {INTEGER, BOOL}):
            raise Unbuildable(
                "Cannot build binary Linalg operation: expects allComplex, allFloatingPoint, or allInteger, got "
                f"'{left.type}' and '{right.type}'"
            )
        kind = one if one == two else INTEGER
        if kind not in BINARY[function]:
            raise Unbuildable(f"unsupported operation: {_MISSING[function]}")
        return self.op(BINARY[function][kind], (left, right), left.type)

    def unary(self, function: str, value: SSAValue) -> SSAValue:
        """Append an op that computes a function of one float, and return its result. Raises Unbuildable."""
        return self.op({**UNARY, **NEWER_UNARY}[function], (_float(value),), value.type)

    def yields(self, *values: SSAValue) -> None:
        """End the body with linalg.yield of these values."""
        self._block.append(Operation("linalg.yield", self._registry.find("linalg.yield"), list(values)))


def _float(value: SSAValue) -> SSAValue:
    if not isinstance(value.type, ty.FloatType):
        raise Unbuildable("unsupported non numeric type")
    return value


def _cast(source: ty.Type, target: ty.Type, unsigned: bool) -> str | None:
    """Return the op that converts a scalar; None if there is none."""
    wider = ty.width_of(target) - ty.width_of(source) if _has_width(source) and _has_width(target) else 0
    match source, target:
        case ty.FloatType(), ty.FloatType() if wider:
            return "arith.extf" if wider > 0 else "arith.truncf"
        case ty.IntegerType(), ty.FloatType():
            return "arith.uitofp" if unsigned else "arith.sitofp"
        case ty.FloatType(), ty.IntegerType():
            return "arith.fptoui" if unsigned else "arith.fptosi"
        case ty.IndexType(), ty.IntegerType():
            return "arith.index_cast"
        case ty.IntegerType(), ty.IntegerType() if wider:
            return "arith.trunci" if wider < 0 else "arith.extui" if unsigned else "arith.extsi"
    return None


def _has_width(type_: ty.Type) -> bool:
    return isinstance(type_, ty.FloatType | ty.IntegerType)


Body = Callable[[Formula, bool], None]
"""Writes a body. The flag: integers are extended as unsigned ones."""


def multiply_and_add(f: Formula, unsigned: bool) -> None:
    """Make the body that yields out + a * b, after conversions to the type of out."""
    a, b = (f.cast(value, f.out.type, unsigned) for value in f.arguments[:2])
    f.yields(f.binary("add", f.out, f.binary("mul", a, b)))


def signed_multiply_and_add(f: Formula, unsigned: bool) -> None:
    """Make the body that yields out + a * b with signed conversions. linalg.batch_reduce_matmul has this body, since it
    ignores its property ``cast``.
    """
    multiply_and_add(f, unsigned=False)


def quantized_multiply_and_add(f: Formula, unsigned: bool) -> None:
    """Make the body that yields out + (a - zero of a) * (b - zero of b)."""
    a, b, zero_a, zero_b, out = f.arguments
    left = f.binary("sub", f.cast(a, out.type), f.cast(zero_a, out.type))
    right = f.binary("sub", f.cast(b, out.type), f.cast(zero_b, out.type))
    f.yields(f.binary("add", out, f.binary("mul", left, right)))


def pooling(function: str) -> Body:
    """Return the body of a pooling: it combines an element with the accumulator by ``function``, and does not use the
    value of the window.
    """

    def write(f: Formula, unsigned: bool) -> None:
        element = f.cast(f.arguments[0], f.out.type, function.endswith("unsigned"))
        f.yields(f.binary(function, f.out, element))

    return write


def unary(function: str) -> Body:
    """Return the body of a function of one float."""

    def write(f: Formula, unsigned: bool) -> None:
        f.yields(f.unary(function, f.arguments[0]))

    return write


def binary(function: str) -> Body:
    """Return the body of a function of two operands."""

    def write(f: Formula, unsigned: bool) -> None:
        f.yields(f.binary(function, *f.arguments[:2]))

    return write


def copy(f: Formula, unsigned: bool) -> None:
    """Make the body that yields the element, converted to the type of out."""
    f.yields(f.cast(f.arguments[0], f.out.type, unsigned))


def square(f: Formula, unsigned: bool) -> None:
    """Make the body that yields x * x."""
    x = _float(f.arguments[0])
    f.yields(f.op("arith.mulf", (x, x), x.type))


def reciprocal(f: Formula, unsigned: bool) -> None:
    """Make the body that yields 1 / x."""
    x = _float(f.arguments[0])
    assert isinstance(x.type, ty.FloatType)
    one = f.constant(at.FloatAttr(scalar.from_integer(x.type.format, 1).code, x.type), x.type)
    f.yields(f.op("arith.divf", (one, x), x.type))


def select(f: Formula, unsigned: bool) -> None:
    """Make the body that yields one of two elements, chosen by the first input."""
    f.yields(f.op("arith.select", f.arguments[:3], f.out.type))


_GENERATOR = 1103515245, 12345
_SCALE = Fraction("2.3283064e-10")  # about 2^-32


def random_number(f: Formula, unsigned: bool) -> None:
    """Make the body that yields a random number between the first two inputs, made of a seed and the place.

    A linear congruential generator makes a state from the seed and the row, and from this state and the column the
    state that gives the number.
    """
    least, most, seed, out = f.arguments
    f64 = ty.F("f64")

    def integer(value: int) -> SSAValue:
        return f.constant(at.IntegerAttr(value, ty.I64), ty.I64)

    def place(dimension: int) -> SSAValue:
        return f.cast(f.op("linalg.index", (), ty.INDEX, {"dim": at.IntegerAttr(dimension, ty.I64)}), ty.I32)

    def next_state(state: SSAValue) -> SSAValue:
        factor, increment = _GENERATOR
        product = f.binary("mul", state, f.cast(integer(factor), ty.I32))
        return f.binary("add", product, f.cast(integer(increment), ty.I32))

    half = f.cast(integer((1 << 31) - 1), f64)
    column, row = place(1), place(0)
    state = next_state(f.binary("add", column, next_state(f.binary("add", row, seed))))
    shifted = f.binary("add", half, f.cast(state, f64))
    width = f.binary("sub", most, least)
    scale = f.constant(at.FloatAttr(scalar.from_fraction(f64.format, _SCALE).code, f64), f64)
    scaled = f.binary("mul", shifted, f.binary("mul", width, scale))
    f.yields(f.cast(f.binary("add", scaled, least), out.type))


ELEMENTWISE_KINDS: Mapping[str, Body] = {
    **{name: unary(name) for name in (*UNARY, *NEWER_UNARY)},
    "reciprocal": reciprocal,
    "square": square,
    **{name: binary(name) for name in BINARY},
    "select": select,
}
"""The bodies of linalg.elementwise, by its kind."""


def inputs_of_kind(kind: str) -> int:
    """Return the number of inputs of a linalg.elementwise. ``kind``: its property ``kind``."""
    return 3 if kind == "select" else 2 if kind in BINARY else 1
