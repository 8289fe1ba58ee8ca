"""Random programs and their exact results: the text, the arguments, and what exact arithmetic gives.

The programs have 1 to 50 ops on scalars, small tensors and tensors of 64 elements, in all formats that an f64 holds, in
all rounding modes. Arguments are close to 0, to 1 and to each other, so that differences cancel, divisors are 0 or
nearly so, and roots and logarithms meet numbers that may be negative.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from code_of_programs import Executed
from flint import arb

import halfulp as hu
from halfulp.fp_formats.reals.functions import bits_of_precision
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.run.lineage import Batch, Leaf, Lineage
from halfulp.interp.run.program import CompiledModule, program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.shadows import FORMS, Shadows
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.value import Value
from halfulp.running import find_entry

BITS = 2000
"""Bits of the balls of exact numbers."""
FORMATS = {
    "f32": 8, "f64": 5, "f16": 3, "bf16": 3, "tf32": 1, "f8E5M2": 2, "f8E4M3FN": 2, "f8E3M4": 1, "f8E4M3": 1,
    "f8E4M3FNUZ": 1, "f8E4M3B11FNUZ": 1, "f8E5M2FNUZ": 1, "f6E2M3FN": 1, "f6E3M2FN": 1, "f4E2M1FN": 1,
}  # fmt: skip
"""How often each format is drawn."""
WIDE_FORMATS = {"f80": 1, "f128": 1, "f64": 1}
MODES = ("to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away")
SHAPES: tuple[tuple[int, ...], ...] = ((), (), (), (1,), (3,), (2, 2))
LARGE = (64,)
"""A shape from which on elementary functions go by margins."""

Place = tuple[int, ...]
Numbers = dict[Place, arb]
"""The numbers of all elements of a value."""


class Step(NamedTuple):
    """An op: its name, the type of its result, its operands, counted with the arguments before them, the function that
    it rounds, of the numbers of one element, and its rounding mode, or the predicate of a choice. The functions of the
    ops in `BY_COMPUTED` also take the list of the numbers that the run computed for the operands.
    """

    name: str
    type: str
    operands: tuple[int, ...]
    function: Callable[..., arb]
    mode: str = ""


# --- what each op gives for exact numbers: written here, apart from the rules that are tested -------------------------


HUGE, TINY = arb(2) ** BITS, arb(2) ** -BITS
"""Beyond these, fractions are too long: the integers near a number are known by its size alone."""


def _whole(x: arb, half: Callable[[Fraction], int]) -> arb:
    """Return an integer near to a number, or a ball that holds all that it may be."""
    if not x.is_finite():
        return arb.nan()
    if x.abs_upper() > HUGE:
        return x + arb(0, 1)
    ends = [half(_not_too_small(end)) for end in ((x,) if x.is_exact() else (x.lower(), x.upper()))]
    return arb(ends[0]) if ends[0] == ends[-1] else arb(ends[0]).union(arb(ends[-1]))


def _not_too_small(x: arb) -> Fraction:
    """Return an exact number; one of its sign for one that a fraction cannot well hold."""
    return fraction(x) if x == 0 or abs(x) > TINY else fraction(TINY if x > 0 else -TINY)


def fraction(x: arb) -> Fraction:
    """Return an exact ball as a fraction."""
    significand, exponent = x.mid().man_exp()
    return Fraction(int(significand)) * Fraction(2) ** int(exponent)


def _away(x: Fraction) -> int:
    return int(x + Fraction(1, 2)) if x >= 0 else -int(-x + Fraction(1, 2))


def _with_sign(x: arb, y: arb, sign: float) -> arb:
    """``sign``: that of the computed number, which decides for an exact 0."""
    if y.is_nan():
        return y
    if y == 0:
        return abs(x) if sign > 0 else -abs(x)
    return abs(x) if y > 0 else -abs(x) if y < 0 else abs(x).union(-abs(x))


def _over(x: arb, y: arb) -> arb:
    return x / y if not y.contains(0) else arb.nan()


def _rest(x: arb, y: arb) -> arb:
    if y.contains(0) or not x.is_finite():
        return arb.nan()
    if x.is_exact() and y.is_exact() and all(TINY < abs(each) < HUGE for each in (x, y) if each != 0):
        a, b = fraction(x), fraction(y)
        return ball(a - int(a / b) * b)
    return x - _whole(x / y, int) * y


ONE: dict[str, Callable[[arb], arb]] = {
    "arith.negf": lambda x: -x,
    "math.absf": abs,
    "math.sqrt": arb.sqrt,
    "math.rsqrt": lambda x: 1 / x.sqrt() if not x.contains(0) else arb.nan(),
    "math.exp": arb.exp,
    "math.exp2": lambda x: (x * arb(2).log()).exp(),
    "math.expm1": arb.expm1,
    "math.log": arb.log,
    "math.log2": lambda x: x.log() / arb(2).log(),
    "math.log10": lambda x: x.log() / arb(10).log(),
    "math.log1p": arb.log1p,
    "math.sin": arb.sin,
    "math.cos": arb.cos,
    "math.tan": arb.tan,
    "math.tanh": arb.tanh,
    "math.sinh": arb.sinh,
    "math.atan": arb.atan,
    "math.asin": arb.asin,
    "math.acosh": arb.acosh,
    "math.erf": arb.erf,
    "math.floor": lambda x: _whole(x, lambda number: number.__floor__()),
    "math.ceil": lambda x: _whole(x, lambda number: number.__ceil__()),
    "math.trunc": lambda x: _whole(x, int),
    "math.round": lambda x: _whole(x, _away),
    "math.roundeven": lambda x: _whole(x, round),
}
TWO: dict[str, Callable[[arb, arb], arb]] = {
    "arith.addf": lambda x, y: x + y,
    "arith.subf": lambda x, y: x - y,
    "arith.mulf": lambda x, y: x * y,
    "arith.divf": _over,
    "arith.remf": _rest,
    "arith.maximumf": arb.max,
    "arith.minimumf": arb.min,
    "arith.maxnumf": arb.max,
    "arith.minnumf": arb.min,
    "math.atan2": lambda y, x: arb.atan2(y, x) if x > 0 or not y.contains(0) else (-arb.pi()).union(arb.pi()),
}
THREE: dict[str, Callable[[arb, arb, arb], arb]] = {
    "math.fma": lambda x, y, z: x * y + z,
    "math.clampf": lambda x, low, high: x.min(high).max(low),
}
EXACT: dict[str, Callable[..., arb]] = {**ONE, **TWO, **THREE}
ROUNDED = ("arith.addf", "arith.subf", "arith.mulf", "arith.divf")
"""The ops that have a rounding mode."""
RATIONAL = (
    *ROUNDED, "arith.remf", "arith.negf", "math.fma", "math.absf", "math.floor", "math.roundeven", "arith.maximumf",
)  # fmt: skip
PREDICATES: dict[str, Callable[[arb, arb], bool]] = {
    "oeq": lambda x, y: x == y,
    "ogt": lambda x, y: x > y,
    "oge": lambda x, y: x >= y,
    "olt": lambda x, y: x < y,
    "ule": lambda x, y: x <= y,
    "une": lambda x, y: x != y,
}
OPPOSITES: dict[str, Callable[[arb, arb], bool]] = {
    "oeq": lambda x, y: x != y,
    "ogt": lambda x, y: x <= y,
    "oge": lambda x, y: x < y,
    "olt": lambda x, y: x >= y,
    "ule": lambda x, y: x > y,
    "une": lambda x, y: x == y,
}
"""What is certain where the answer is no: two balls that overlap have no order."""


@dataclass
class ShadowProgram:
    """A program that returns every number that it computes. Step number k stands in line k + 2 of the text."""

    text: str
    arguments: list[hu.Value]
    steps: list[Step]
    shape: tuple[int, ...]

    def exact(self, computed: Sequence[hu.Value]) -> list[Numbers]:
        """Return the exact numbers of all results, as balls of BITS; ``computed``: the results. Where an op decides by
        numbers, the exact run goes the way of this one.
        """
        values = [number_of(value) for value in (*self.arguments, *computed)]
        with bits_of_precision(BITS):
            numbers = [{place: ball(value[place]) for place in np.ndindex(self.shape)} for value in values]
            exact = numbers[: len(self.arguments)]
            for step in self.steps:
                exact.append(self.of_step(step, [exact[k] for k in step.operands], [values[k] for k in step.operands]))
        return exact[len(self.arguments) :]

    def of_step(self, step: Step, given: Sequence[Numbers], computed: Sequence[Any]) -> Numbers:
        """Return what a step gives for these numbers. ``computed``: what the run computed of them."""
        if step.name == "linalg.reduce":
            total = sum(given[0].values(), arb(0))
            return dict.fromkeys(given[0], total)
        places = np.ndindex(self.shape)
        if step.name in BY_COMPUTED:
            return {
                place: step.function(*(one[place] for one in given), [one[place] for one in computed])
                for place in places
            }
        return {place: step.function(*(one[place] for one in given)) for place in places}


BY_COMPUTED = ("math.copysign", "arith.select", "arith.fptosi")
"""The ops whose exact number is that of a decision, which the run took by its own numbers."""


def number_of(value: hu.Value) -> Any:
    """Return an array of numbers, floats or fractions; NaN for poison."""
    numbers, spoiled = np.empty(value.shape, object), value.poisoned
    whole = np.array(None if spoiled.any() else value.tolist(), object)
    for place in np.ndindex(value.shape):
        numbers[place] = float("nan") if spoiled[place] else value[place].item() if spoiled.any() else whole[place]
    return numbers


def is_finite(number: float | Fraction) -> bool:
    """Tell whether a number is neither infinite nor a NaN."""
    return not isinstance(number, float) or bool(np.isfinite(number))


def ball(number: float | Fraction) -> arb:
    """Return a number as a ball; NaN for what is not finite."""
    if not is_finite(number):
        return arb.nan()
    whole = Fraction(number)
    return arb(whole.numerator) / arb(whole.denominator)


def run_with_shadows(
    text: str, *arguments: Any, form: str = "", **settings: Any
) -> tuple[tuple[hu.Value, ...], Shadows]:
    """Run a program; return its results and all that is known of its errors. ``form``: a key of `FORMS`."""
    module, shadows = hu.parse(text), Shadows(FORMS[form])
    function = find_entry(module, None)
    program = program_for(module, Settings(recorder=shadows, **settings))
    return program.run(function, arguments), shadows


def scalar(number: float, kind: str = "f32") -> hu.Value:
    """Return a number as a value."""
    return hu.convert(number, kind)


# --- programs ---------------------------------------------------------------------------------------------------------


def random_program(
    seed: int, most: int = 50, rational: bool = False, formats: dict[str, int] = FORMATS
) -> ShadowProgram:
    """Return a random program of 1 to ``most`` ops on scalars or small tensors; ``rational``: of rational ops alone."""
    return _Writer(random.Random(seed), rational, formats).program(most)


class _Writer:
    def __init__(self, draw: random.Random, rational: bool, formats: dict[str, int]) -> None:
        self._draw = draw
        self._formats = formats
        self._shape = LARGE if draw.random() < 0.04 else draw.choice(SHAPES)
        self._names = list(RATIONAL if rational else EXACT)
        kind = self._format()
        self._types = [kind] * draw.randint(1, 3)
        self._steps: list[Step] = []
        self._lines: list[str] = []

    def program(self, most: int) -> ShadowProgram:
        draw, count = self._draw, len(self._types)
        near = hu.convert(draw.uniform(0.5, 2), self._types[0])
        arguments = [self._argument(kind, float(near.item())) for kind in self._types]
        for _ in range(draw.randint(1, 12 if self._shape == LARGE else most)):
            draw.choices(list(WAYS), list(WAYS.values()))[0](self)
        if not self._steps:
            self._op()
        made = ", ".join(f"%{k}" for k in range(count, len(self._types)))
        results = ", ".join(map(self._spelled, self._types[count:]))
        parameters = ", ".join(f"%{k}: {self._spelled(self._types[k])}" for k in range(count))
        head = f"func.func @f({parameters}) -> ({results}) {{"
        text = "\n".join([head, *self._lines, f"  return {made} : {results}\n}}"])
        return ShadowProgram(text, arguments, self._steps, self._shape)

    def _format(self) -> str:
        return self._draw.choices(list(self._formats), list(self._formats.values()))[0]

    def _argument(self, kind: str, near: float) -> hu.Value:
        draw = self._draw
        spread = draw.choice([1.0, 1.0, 10.0, 100.0, 1e-3, 1e-30])
        numbers = [
            draw.choice([
                draw.uniform(-spread, spread), draw.uniform(0.5, 2), 1 + draw.random() / 64, 0.1, near, near,
                near * (1 + draw.choice([1, -1, 2]) * 2.0 ** -draw.randint(3, 52)), 0.0, float(draw.randint(-3, 3)),
            ])
            for _ in range(int(np.prod(self._shape)))
        ]  # fmt: skip
        rounded = hu.convert(np.array(numbers), kind).tolist()
        finite = [each if is_finite(each) else 1.0 for each in rounded]
        return hu.convert(np.array(finite).reshape(self._shape) if self._shape else finite[0], kind)

    def _spelled(self, kind: str) -> str:
        return f"tensor<{'x'.join(map(str, self._shape))}x{kind}>" if self._shape else kind

    def _like(self, operand: int, count: int) -> tuple[int, ...]:
        """Draw operands of the type of one; most of them are those that were made last."""
        draw = self._draw
        same = [k for k, type_ in enumerate(self._types) if type_ == self._types[operand]]
        return tuple(draw.choice(same[-4:] if draw.random() < 0.7 else same) for _ in range(count))

    def _add(self, step: Step, text: str) -> None:
        self._lines.append(f"  {text}")
        self._steps.append(step)
        self._types.append(step.type)

    @property
    def _next(self) -> int:
        return len(self._types)

    # --- the kinds of steps ---

    def _op(self) -> None:
        draw = self._draw
        name = draw.choice(self._names)
        operands = self._like(draw.randrange(self._next), 1 if name in ONE else 2 if name in TWO else 3)
        kind = self._types[operands[0]]
        given = ", ".join(f"%{k}" for k in operands)
        if name == "math.clampf":
            given = "%{} to [%{}, %{}]".format(*operands)
        mode = draw.choice(MODES) if name in ROUNDED and draw.random() < 0.4 else ""
        spelled = f"%{self._next} = {name} {given} {mode + ' ' if mode else ''}: {self._spelled(kind)}"
        self._add(Step(name, kind, operands, EXACT[name], mode), spelled)

    def _conversion(self) -> None:
        draw, source = self._draw, self._draw.randrange(self._next)
        kind, target = self._types[source], self._format()
        if kind == target:
            return
        mode = ""
        if _width(kind) == _width(target):
            name = "arith.convertf"
        elif _width(kind) < _width(target):
            name = "arith.extf"
        else:
            name, mode = "arith.truncf", draw.choice(("", "", *MODES))
        spelled = f"{mode + ' ' if mode else ''}: {self._spelled(kind)} to {self._spelled(target)}"
        self._add(Step(name, target, (source,), lambda x: x, mode), f"%{self._next} = {name} %{source} {spelled}")

    def _selection(self) -> None:
        draw = self._draw
        operands = self._like(draw.randrange(self._next), 4)
        kind, predicate = self._types[operands[0]], draw.choice(list(PREDICATES))
        type_, bit = self._spelled(kind), self._spelled("i1")
        x, y, first, second = operands

        def chosen(x: arb, y: arb, first: arb, second: arb, computed: Sequence[Any]) -> arb:
            number, other = computed[:2]
            unordered = any(isinstance(each, float) and np.isnan(each) for each in (number, other))
            taken = predicate[0] == "u" if unordered else _decided(predicate, number, other)
            return first if taken else second

        comparison = f"%c{self._next} = arith.cmpf {predicate}, %{x}, %{y} : {type_}"
        choice = f"%{self._next} = arith.select %c{self._next}, %{first}, %{second} : {bit}, {type_}"
        if not self._shape:
            choice = f"%{self._next} = arith.select %c{self._next}, %{first}, %{second} : {type_}"
        self._add(Step("arith.select", kind, operands, chosen, predicate), f"{comparison} {choice}")

    def _sign(self) -> None:
        operands = self._like(self._draw.randrange(self._next), 2)
        kind = self._types[operands[0]]

        def signed(x: arb, y: arb, computed: Sequence[Any]) -> arb:
            return _with_sign(x, y, np.copysign(1.0, float(computed[1])))

        text = f"%{self._next} = math.copysign %{operands[0]}, %{operands[1]} : {self._spelled(kind)}"
        self._add(Step("math.copysign", kind, operands, signed), text)

    def _integer(self) -> None:
        """A number of at most 3, cut to an integer and back."""
        source = self._draw.randrange(self._next)
        kind, k = self._types[source], self._next
        type_, whole = self._spelled(kind), self._spelled("i32")

        def cut(x: arb, computed: Sequence[Any]) -> arb:
            (number,) = computed
            return arb(int(number)) if is_finite(number) else arb.nan()

        text = f"%i{k} = arith.fptosi %{source} : {type_} to {whole} %{k} = arith.sitofp %i{k} : {whole} to {type_}"
        self._add(Step("arith.fptosi", kind, (source,), cut), text)

    def _scaled(self) -> None:
        draw, source, k = self._draw, self._draw.randrange(self._next), self._next
        kind, target, scale = self._types[source], self._format(), 2.0 ** draw.randint(-6, 6)
        if _width(kind) == _width(target):
            self._op()
            return
        grows = _width(kind) < _width(target)
        name = "arith.scaling_extf" if grows else "arith.scaling_truncf"
        type_ = self._spelled("f8E8M0FNU")
        written = f"{scale:e} : {type_}" if not self._shape else f"dense<{scale:e}> : {type_}"
        text = (
            f"%s{k} = arith.constant {written} "
            f"%{k} = {name} %{source}, %s{k} : {self._spelled(kind)}, {type_} to {self._spelled(target)}"
        )
        factor = arb(scale) if grows else arb(1 / scale)
        self._add(Step(name, target, (source,), lambda x: x * factor), text)

    def _sincos(self) -> None:
        """Both results of an op, of which one is added to the other."""
        source, k = self._draw.randrange(self._next), self._next
        kind = self._types[source]
        type_ = self._spelled(kind)
        text = f"%a{k}, %b{k} = math.sincos %{source} : {type_} %{k} = arith.negf %b{k} : {type_}"
        self._add(Step("cosine of two", kind, (source,), lambda x: -x.cos()), text)

    def _sum(self) -> None:
        if not self._shape:
            self._op()
            return
        source = self._draw.randrange(self._next)
        kind, k = self._types[source], self._next
        axes, whole = list(range(len(self._shape))), self._spelled(kind)
        text = (
            f"%z{k} = arith.constant dense<0.0> : tensor<{kind}> "
            f"%s{k} = linalg.reduce {{ arith.addf }} ins(%{source} : {whole}) outs(%z{k} : tensor<{kind}>) "
            f"dimensions = {axes} %e{k} = tensor.empty() : {whole} "
            f"%{k} = linalg.broadcast ins(%s{k} : tensor<{kind}>) outs(%e{k} : {whole}) dimensions = {axes}"
        )
        self._add(Step("linalg.reduce", kind, (source,), lambda x: x), text)


def _decided(predicate: str, x: Any, y: Any) -> bool:
    compared: dict[str, bool] = {
        "eq": x == y, "gt": x > y, "ge": x >= y, "lt": x < y, "le": x <= y, "ne": x != y,
    }  # fmt: skip
    return compared[predicate[1:]]


WAYS: dict[Callable[[_Writer], None], int] = {
    _Writer._op: 72, _Writer._conversion: 13, _Writer._selection: 6, _Writer._sign: 3, _Writer._integer: 3,
    _Writer._sum: 3, _Writer._scaled: 3, _Writer._sincos: 1,
}  # fmt: skip
"""The kinds of steps, and how often each is drawn."""


def _width(kind: str) -> int:
    return hu.float_format(kind).bits


# --- lineages ---------------------------------------------------------------------------------------------------------
#
# Runs with lineage: the same results as without, which the recorded ops give again when they run on recorded operands.


class Recorded:
    """A run with lineage. ``values``: its results, then what the memory of its arguments holds; with ids in ``open``."""

    def __init__(self, module: Module, op: Operation, make: Callable[[], Sequence[Any]], **settings: Any) -> None:
        self.lineage = Lineage()
        plain, _ = _run(Executed(module, Settings(**settings)), op, make())
        compiled = CompiledModule(module, Settings(recorder=self.lineage, **settings))
        found, self.values = _run(compiled, op, make())
        assert found == plain

    def check(self) -> int:
        """Compute all results again from recorded operands, and return the number of edges between recorded numbers."""
        made: dict[int, Any] = {}
        edges = 0
        for batch in self.lineage.batches:
            run = batch.run
            clean = np.ones(batch.shape, bool) if run.poison is None else np.asarray(run.poison == 0)
            operands = []
            for ids, codes in zip(batch.ids, run.codes, strict=True):
                again, known = _recorded(made, ids, codes)
                # A wrong edge gives other codes.
                assert np.array_equal(_of_shape(again, batch)[clean], _of_shape(codes, batch)[clean])
                operands.append(again)
                edges += known
            for number, result in enumerate(run.kernel.array(*operands).results):
                assert np.array_equal(result[clean], run.results[number][clean])
                base = batch.base + number * batch.size
                made.update(zip(range(base, base + batch.size), result.reshape(batch.size, -1), strict=True))
        for value in self.values:
            of_value: Any = np.zeros(value.shape, np.int64) if value.open is None else value.open
            bits = value.bits.reshape(value.size, -1)
            for id_, code, bad in zip(of_value.ravel().tolist(), bits, value.poisoned.flat, strict=True):
                assert bad or id_ not in made or np.array_equal(made[id_], code)
        return edges

    def unknown(self) -> list[str]:
        """Return what made the elements of the results whose history is not known."""
        found = []
        for value in self.values:
            ids: Any = () if value.open is None else value.open.flat
            for id_ in map(int, ids):
                node = self.lineage.node(id_) if id_ > 0 else None
                if isinstance(node, Leaf) and node.unknown:
                    found.append(node.unknown)
        return found


def _recorded(made: dict[int, Any], ids: Any, codes: Any) -> tuple[Any, int]:
    """Return the codes of an operand where ops made them, and how many these are."""
    again, known = np.array(codes), 0
    if ids is None:
        return again, known
    for code, id_ in zip(again.reshape(ids.size, -1), ids.flat, strict=True):
        if int(id_) in made:
            code[...] = made[int(id_)]
            known += 1
    return again, known


def _of_shape(codes: Any, batch: Batch) -> Any:
    """Return the codes of an operand for each element."""
    rank = min(codes.ndim, len(batch.shape))
    return np.broadcast_to(codes, batch.shape + codes.shape[rank:])


def _run(program: CompiledModule, op: Operation, arguments: Sequence[Any]) -> tuple[Any, tuple[Value, ...]]:
    """Return what a run gives, and its values."""
    try:
        results = program.run(op, arguments)
    except HalfulpError as error:
        return (type(error), str(error)), ()
    values = (*results, *(each.load() for each in arguments if isinstance(each, Buffer)))
    return [(value, value.poisoned.tolist()) for value in values], values
