"""Random programs of arith, quant and func ops, well-typed and free of undefined behaviour by construction.

The scalar kernel evaluates each op as soon as it is chosen, on concrete operands. An op with an undefined or poison
result gets other operands or is dropped. So all values of a program are known when it is done. Program i of a seed is
always the same.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import product
from math import prod
from typing import Any

from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.conformance.oracles.oracle import ClosedProgram
from halfulp.conformance.whole_programs.arguments import any_code
from halfulp.conformance.whole_programs.generator.grower import QUANTIZED
from halfulp.conformance.whole_programs.rewrite import definition_of, function, module_around, returnable
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, ints_to_codes
from halfulp.fp_formats.policy import MLIR_ROUNDINGS
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.dialects.arith.ops import CMPF_PREDICATE, CMPI_PREDICATE
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.errors import TypeMismatch, VerifyError
from halfulp.interp.ir.operations import Block, Operation, SSAValue
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Fault, FaultKind

FLOATS = tuple(FORMATS)
INTEGERS = ("i1", "i2", "i4", "i6", "i8", "i16", "i19", "i32", "i33", "i64", "i80", "i128", "index")
SHAPES = ((1,), (2,), (3,), (4,), (2, 2), (8,), (2, 3))
MODES = tuple(mode.spelling for mode in MLIR_ROUNDINGS)

MANDATORY = 4
"""Number of ops of each program that come from a shuffled list of all ops, so that none is rare."""

_FLOAT_OPS = ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf", "negf", "cmpf")
_INTEGER_OPS = (
    "addi", "subi", "muli", "divsi", "divui", "ceildivsi", "ceildivui", "floordivsi", "remsi", "remui", "andi", "ori",
    "xori", "shli", "shrsi", "shrui", "maxsi", "maxui", "minsi", "minui", "addui_extended", "mulsi_extended",
    "mului_extended", "cmpi",
)  # fmt: skip
_MOVES = ("arith.bitcast", "arith.select")
_SHIFTS = ("arith.shli", "arith.shrsi", "arith.shrui")
_FLAGS: dict[str, tuple[str, tuple[Any, ...], float]] = {
    **{
        f"arith.{op}": ("overflow", ("nsw", "nuw", "nsw,nuw"), 0.2) for op in ("addi", "subi", "muli", "shli", "trunci")
    },
    **{f"arith.{op}": ("exact", (True,), 0.15) for op in ("divsi", "divui", "shrsi", "shrui")},
    **{f"arith.{op}": ("rounding", MODES, 0.3) for op in ("truncf", "scaling_truncf")},
    **{f"arith.{op}": ("fastmath", ("nnan", "ninf", "nsz", "nnan,ninf"), 0.06) for op in _FLOAT_OPS},
}
"""For an op: a property, the values to choose from, and the probability that the op has it."""


@dataclass(frozen=True)
class Cell:
    """An op for element types: the unit in which the fuzzer counts results."""

    op: str
    operands: tuple[str, ...]
    result: str

    def __str__(self) -> str:
        operands = self.operands[:1] if len(set(self.operands)) == 1 else self.operands
        result = "" if (self.result,) == operands else f" -> {self.result}"
        return f"{self.op} {', '.join(operands)}{result}"


@cache
def cells() -> tuple[Cell, ...]:
    """Return all ops of MLIR 22's arith and quant on the types of this module."""
    found = [
        Cell(f"arith.{op}", (t, t)[: 1 + (op != "negf")], "i1" if op == "cmpf" else t)
        for op, t in product(_FLOAT_OPS, FLOATS)
    ]
    found += [Cell(f"arith.{op}", (t, t), "i1" if op == "cmpi" else t) for op, t in product(_INTEGER_OPS, INTEGERS)]
    found += [Cell("arith.select", ("i1", t, t), t) for t in (*INTEGERS, *FLOATS)]
    casts = [
        ("extf", FLOATS, FLOATS),
        ("truncf", FLOATS, FLOATS),
        ("bitcast", (*INTEGERS, *FLOATS), (*INTEGERS, *FLOATS)),
    ]
    casts += [(op, INTEGERS, INTEGERS) for op in ("extsi", "extui", "trunci", "index_cast", "index_castui")]
    casts += [(op, INTEGERS, FLOATS) for op in ("sitofp", "uitofp")] + [
        (op, FLOATS, INTEGERS) for op in ("fptosi", "fptoui")
    ]
    for op, sources, targets in casts:
        found += [
            Cell(f"arith.{op}", (a,), b)
            for a, b in product(sources, targets)
            if a != b and _accepts(f"arith.{op}", a, b)
        ]
    scales = ("f8E8M0FNU", "f32", "f8E4M3FN", "f16")
    for number, (a, b) in enumerate(product(FLOATS, FLOATS)):
        for op in ("scaling_extf", "scaling_truncf"):
            if _accepts(f"arith.{op.removeprefix('scaling_')}", a, b):
                found.append(Cell(f"arith.{op}", (a, scales[number % len(scales)]), b))
    for expressed, spelled in QUANTIZED:
        quantized = str(as_type(spelled))
        stored = f"i{element_width(as_type(spelled))}"
        found += [Cell("quant.qcast", (expressed,), quantized), Cell("quant.dcast", (quantized,), expressed)]
        found += [Cell("quant.scast", (quantized,), stored), Cell("quant.scast", (stored,), quantized)]
    assert all(definition_of(cell.op).since is Schema.MLIR22 for cell in found)
    return tuple(found)


def _accepts(op: str, source: str, target: str) -> bool:
    try:
        op_case(op, source, target)
    except (VerifyError, TypeMismatch):
        return False
    return True


@cache
def _cells_by_operand() -> dict[str, dict[str, list[tuple[Cell, int]]]]:
    """Return, by the type of an operand and the op's name, the cells and the number of that operand."""
    found: dict[str, dict[str, list[tuple[Cell, int]]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells():
        for position, operand in enumerate(cell.operands):
            found[operand][cell.op].append((cell, position))
    return found


@lru_cache(maxsize=4)
def _order(seed: int) -> tuple[Cell, ...]:
    order = list(cells())
    # Ops that folders answer only for exact results come twice.
    order += [
        cell for cell in order if cell.op == "arith.truncf" or (cell.op, cell.result) == ("arith.extf", "f8E8M0FNU")
    ]
    random.Random(f"order {seed}").shuffle(order)
    return tuple(order)


# --- ops on codes -----------------------------------------------------------------------------------------------------


class ReadyOp:
    """A case that is ready to be evaluated and built: with its scalar kernel, and with its unspecified results."""

    __slots__ = ("case", "cell", "evaluate", "has_open", "like", "mask_zero", "result_types")

    def __init__(self, cell: Cell, made: OpCase) -> None:
        self.cell = cell
        self.case = made
        self.evaluate: Callable[..., Any]
        self.like = made.operation(None)
        self.result_types = made.results
        if made.op == "arith.select":
            self.evaluate = lambda condition, yes, no: yes if condition else no
            self.has_open = self.mask_zero = False
            return
        kernel = made.kernel(())
        self.evaluate = kernel.scalar
        self.has_open = kernel.open is not None
        self.mask_zero = "nsz" in str(dict(made.properties).get("fastmath")) or made.op in (
            "arith.maxnumf",
            "arith.minnumf",
        )

    def is_open(self, code: int) -> bool:
        """Tell whether the language may leave this result unspecified: it is compared, but other ops do not use it."""
        type_ = self.case.result_types[0]
        fmt = type_.format if isinstance(type_, ty.FloatType) else None
        if fmt is not None and not fmt.signed and fmt.is_nan(code) and self.cell.op not in _MOVES:
            # A tool that keeps numbers beside bits may hold a negative number here.
            return True
        if not self.has_open:
            return False
        if fmt is None:
            return self.mask_zero
        return fmt.is_nan(code) or (self.mask_zero and (fmt.is_zero(code) or fmt.is_infinite(code)))


@cache
def _op(cell: Cell, properties: tuple[tuple[str, Any], ...]) -> ReadyOp:
    follows = cell.op not in ("arith.cmpf", "arith.cmpi", "arith.select") and cell.operands[:1] != (cell.result,)
    return ReadyOp(cell, op_case(cell.op, list(cell.operands), cell.result if follows else None, **dict(properties)))


@cache
def element(spelling: str) -> ty.Type:
    """Return the element type of that spelling."""
    return as_type(spelling)


@cache
def _width(spelling: str) -> int:
    return width_of(element(spelling))


def _properties(cell: Cell, rng: random.Random, plain: bool) -> tuple[tuple[str, Any], ...]:
    found: list[tuple[str, Any]] = []
    if cell.op == "arith.cmpi":
        found.append(("predicate", rng.choice(tuple(CMPI_PREDICATE.cases))))
    elif cell.op == "arith.cmpf":
        found.append(("predicate", rng.choice(tuple(CMPF_PREDICATE.cases))))
    name, values, often = _FLAGS.get(cell.op, ("", (), 0.0))
    if not plain and rng.random() < often:
        found.append((name, rng.choice(values)))
    return tuple(sorted(found))


def _fresh(cell: Cell, position: int, rng: random.Random) -> int:
    """Return a code for an operand. If the values of the operand matter for the op, the code tests the op."""
    spelling = cell.operands[position]
    chance = rng.random()
    if position and cell.op in _SHIFTS and chance < 0.9:
        return rng.randrange(max(1, _width(spelling))) & ((1 << _width(spelling)) - 1)
    source = element(spelling)
    if isinstance(source, ty.FloatType) and not position:
        target = element(cell.result)
        if cell.op == "arith.truncf" and chance < 0.6 and isinstance(target, ty.FloatType):
            return scalar.convert(target.format, source.format, any_code(target, rng)).code  # exact
        if cell.op == "arith.extf" and chance < 0.6 and isinstance(target, ty.FloatType):
            return _short(source.format, target.format, any_code(source, rng))
        if cell.op in ("arith.fptosi", "arith.fptoui") and chance < 0.85:
            return _near_integer(source.format, _width(cell.result), cell.op == "arith.fptosi", rng)
    return any_code(source, rng)


def _short(source: FloatFormat, target: FloatFormat, code: int) -> int:
    """Return a code near the given one whose number also exists in a format of less precision, if in its range."""
    spare = max(0, source.mantissa_bits - target.mantissa_bits)
    sign = 0 if target.signed else source.sign_mask or 0
    return code & ~((1 << spare) - 1) & ~sign


def _near_integer(fmt: FloatFormat, width: int, signed: bool, rng: random.Random) -> int:
    """Return a float near an integer of that width."""
    number = rng.getrandbits(rng.randint(0, max(0, width - signed)) or 1)
    if signed and fmt.signed and rng.random() < 0.5:
        number = -number
    code = scalar.from_integer(fmt, number).code
    return max(0, code + rng.randint(-3, 0)) & fmt.code_mask if rng.random() < 0.3 else code


# --- programs ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class EvaluatedValue:
    """A value: its element type, the codes of its elements, and whether ops may use it."""

    type: str
    codes: tuple[int, ...]
    usable: bool = True
    _array: Codes | None = None


@dataclass(slots=True)
class RandomOp:
    """An op, and the numbers of its operands and results among the program's values."""

    op: ReadyOp
    operands: tuple[int, ...]
    results: tuple[int, ...]
    faulty: bool = False


@dataclass(slots=True)
class RandomProgram:
    """Program ``index`` of a seed. ``container``: scalar, vector or tensor, of ``shape``.

    ``arguments``: the values that are not results of ops. ``outlined``: the range of steps that is in a separate
    function.
    """

    seed: int
    index: int
    container: str
    shape: tuple[int, ...]
    values: list[EvaluatedValue] = field(default_factory=list)
    steps: list[RandomOp] = field(default_factory=list)
    outlined: range = range(0)

    @property
    def name(self) -> str:
        """Return the words from which the program can be made again."""
        return f"--seed={self.seed} --first={self.index}"

    def type_of(self, spelling: str) -> ty.Type:
        """Return the type of a value of that element type."""
        return _contained(self.container, self.shape, spelling)

    def array(self, number: int) -> Codes:
        """Return the codes of a value."""
        value = self.values[number]
        if value._array is None:
            value._array = ints_to_codes(value.codes, _width(value.type), self.shape)
        return value._array


@cache
def _contained(container: str, shape: tuple[int, ...], spelling: str) -> ty.Type:
    made = element(spelling)
    return made if container == "scalar" else (ty.VectorType if container == "vector" else ty.TensorType)(shape, made)


def random_program(seed: int, index: int, allowed: Collection[FaultKind] = ()) -> RandomProgram:
    """Return program ``index`` of a seed.

    ``allowed``: kinds of faults that elements of results may have; such results are not operands of other ops.
    """
    rng = random.Random(f"{seed} {index}")
    chance = rng.random()
    container = "scalar" if chance < 0.5 else "vector" if chance < 0.75 else "tensor"
    program = RandomProgram(seed, index, container, () if container == "scalar" else rng.choice(SHAPES))
    growing = _Growing(program, rng, allowed)
    count = rng.randint(3, 15)
    order = _order(seed)
    for number in range(min(MANDATORY, count)):
        growing.add(order[(index * MANDATORY + number) % len(order)])
    for _ in range(count - MANDATORY):
        growing.add_chained()
    steps = len(program.steps)
    if steps > 2 and rng.random() < 0.2:
        start = rng.randrange(steps - 1)
        program.outlined = range(start, rng.randint(start + 1, steps))
    return program


class _Growing:
    """A program under construction."""

    def __init__(self, program: RandomProgram, rng: random.Random, allowed: Collection[FaultKind]) -> None:
        self.program = program
        self.rng = rng
        self.allowed = allowed
        self.size = prod(program.shape)
        self.usable: dict[str, list[int]] = {}

    def add_chained(self) -> None:
        """Add an op on an existing value."""
        if not self.usable:
            return
        spelling = self.rng.choice(list(self.usable))
        by_op = _cells_by_operand()[spelling]
        cell, position = self.rng.choice(by_op[self.rng.choice(list(by_op))])
        self.add(cell, {position: self.rng.choice(self.usable[spelling])})

    def add(self, cell: Cell, given: dict[int, int] | None = None) -> None:
        """Add an op on given, existing and new values; add none if a few tries give no defined result."""
        quantized = any(spelling.startswith("!") for spelling in (*cell.operands, cell.result))
        if quantized and self.program.container == "vector":
            return
        for attempt in range(5):
            op = _op(cell, _properties(cell, self.rng, plain=attempt > 2))
            if self._try(op, given or {}, 0.5 if attempt < 2 else 0.0):
                return

    def _try(self, op: ReadyOp, given: dict[int, int], reuse: float) -> bool:
        rng, cell, values = self.rng, op.cell, self.program.values
        present: list[int | None] = []
        for position, spelling in enumerate(cell.operands):
            number = given.get(position)
            if number is None and spelling in self.usable and rng.random() < reuse:
                number = rng.choice(self.usable[spelling])
            if number is None and spelling.startswith("!"):
                number = self._quantized(spelling)
            present.append(number)
        columns: list[Sequence[int]] = [() if number is None else values[number].codes for number in present]
        fresh: list[list[int]] = [[] for _ in present]
        outcomes: list[Any] = []
        for place in range(self.size):
            outcome = row = None
            for _ in range(6):
                row = [
                    _fresh(cell, position, rng) if number is None else columns[position][place]
                    for position, number in enumerate(present)
                ]
                outcome = op.evaluate(*row)
                if outcome.__class__ is not Fault or None not in present:
                    break
            if outcome.__class__ is Fault and outcome.kind not in self.allowed:
                return False
            assert row is not None
            outcomes.append(outcome)
            for position, code in enumerate(row):
                fresh[position].append(code)
        faulty = any(outcome.__class__ is Fault for outcome in outcomes)
        if not faulty and self._dull(op, outcomes):
            return False
        operands = []
        for position, number in enumerate(present):
            operands.append(self._new(cell.operands[position], fresh[position]) if number is None else number)
        self._finish(op, tuple(operands), outcomes, faulty)
        return True

    def _dull(self, op: ReadyOp, outcomes: list[Any]) -> bool:
        """Tell whether all results are NaN: most such ops are dropped, because they test little."""
        type_ = op.case.result_types[0]
        return (
            isinstance(type_, ty.FloatType)
            and all(type_.format.is_nan(code) for code in outcomes)
            and self.rng.random() < 0.7
        )

    def _finish(self, op: ReadyOp, operands: tuple[int, ...], outcomes: list[Any], faulty: bool) -> None:
        count = len(op.result_types)
        results = []
        for index, spelling in enumerate(op.result_types):
            codes = [outcome[index] for outcome in outcomes] if count > 1 and not faulty else outcomes
            if faulty:
                codes = [0] * self.size
            usable = not faulty and not any(map(op.is_open, codes))
            results.append(self._new(spelling, codes, usable))
        self.program.steps.append(RandomOp(op, operands, tuple(results), faulty))

    def _new(self, spelling: str, codes: Sequence[int], usable: bool = True) -> int:
        number = len(self.program.values)
        self.program.values.append(EvaluatedValue(spelling, tuple(codes), usable))
        if usable:
            self.usable.setdefault(spelling, []).append(number)
        return number

    def _quantized(self, spelling: str) -> int:
        """Add a value of a quantised type. The type has no constants, so integers are cast to it."""
        stored = f"i{_width(spelling)}"
        cell = Cell("quant.scast", (stored,), spelling)
        type_ = narrowed(element(spelling), ty.UniformQuantizedType)
        mask = (1 << type_.storage_width) - 1
        codes = [self.rng.randint(type_.storage_min, type_.storage_max) & mask for _ in range(self.size)]
        number = self._new(stored, codes)
        self._finish(_op(cell, ()), (number,), list(codes), False)
        return len(self.program.values) - 1


# --- as MLIR ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OracleProgram:
    """A program as an oracle gets it; ``returned``: the number of the value of each result."""

    program: ClosedProgram
    returned: tuple[int, ...]


def build(program: RandomProgram, leave_out: Callable[[OpCase], bool] = lambda case: False) -> OracleProgram | None:
    """Return the program in a module whose ``@main`` returns all values; None if no op is left.

    ``leave_out``: ops that are left out. Their results become arguments, if they can be.
    """
    return _Building(program, leave_out).built()


class _Building:
    def __init__(self, program: RandomProgram, leave_out: Callable[[OpCase], bool]) -> None:
        self.program = program
        self.kept: list[RandomOp] = []
        self.inside: list[RandomOp] = []
        made: set[int] = set()
        arguments: dict[int, None] = {}
        for number, step in enumerate(program.steps):
            missing = [value for value in step.operands if value not in made]
            if leave_out(step.op.case) or any(program.values[value].type.startswith("!") for value in missing):
                continue
            arguments.update(dict.fromkeys(missing))
            made.update(step.results)
            self.kept.append(step)
            if number in program.outlined:
                self.inside.append(step)
        self.arguments = list(arguments)

    def built(self) -> OracleProgram | None:
        """Return the module and its returned values."""
        program = self.program
        if not self.kept:
            return None
        main, functions = Block(), []
        values = {number: main.add_argument(self._type(number)) for number in self.arguments}
        scope: dict[int, SSAValue] = dict(values)
        waiting = iter(self.kept)
        for step in waiting:
            if not self.inside or step is not self.inside[0]:
                self._apply(main, scope, step)
                continue
            functions.append(self._call(main, scope))
            for _ in self.inside[1:]:
                next(waiting)
        returned = [number for step in self.kept for number in step.results]
        results = [returnable(scope[number], main) for number in returned]
        module = module_around([*functions, function("main", main, results)])
        arguments = tuple(Value(self._type(number), program.array(number)) for number in self.arguments)
        return OracleProgram(ClosedProgram(module, "main", arguments), tuple(returned))

    def _type(self, number: int) -> ty.Type:
        return self.program.type_of(self.program.values[number].type)

    def _apply(self, block: Block, scope: dict[int, SSAValue], step: RandomOp) -> None:
        like = step.op.like
        types = [self.program.type_of(spelling) for spelling in step.op.result_types]
        operands = [scope[number] for number in step.operands]
        op = Operation(like.name, like.definition, operands, types, dict(like.properties))
        block.append(op)
        scope.update(zip(step.results, op.results, strict=True))

    def _call(self, main: Block, scope: dict[int, SSAValue]) -> Operation:
        """Move the steps in the range ``outlined`` into a function, and return its call."""
        produced = [number for step in self.inside for number in step.results]
        needed = dict.fromkeys(number for step in self.inside for number in step.operands if number not in produced)
        block = Block()
        inner: dict[int, SSAValue] = {number: block.add_argument(self._type(number)) for number in needed}
        for step in self.inside:
            self._apply(block, inner, step)
        callee = function("inner", block, [inner[number] for number in produced])
        callee.properties["sym_visibility"] = at.StringAttr("private")
        call = Operation(
            "func.call",
            definition_of("func.call"),
            [scope[number] for number in needed],
            [self._type(number) for number in produced],
            {"callee": at.SymbolRefAttr("inner")},
        )
        main.append(call)
        scope.update(zip(produced, call.results, strict=True))
        return callee


def random_programs(
    seed: int, count: int, first: int = 0, allowed: Collection[FaultKind] = ()
) -> Iterator[RandomProgram]:
    """Yield programs ``first`` to ``first + count - 1`` of a seed."""
    return (random_program(seed, index, allowed) for index in range(first, first + count))
