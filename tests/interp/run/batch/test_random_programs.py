"""Random programs in a batch: every lane gets what it gets alone."""

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from amounts import amounts
from batches import agree
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

INTEGERS = ("i8", "i32")
FLOATS = ("f32", "f8E4M3FN")
SHAPED = {"tensor<2x3xi8>": "i8", "tensor<?xi32>": "i32", "vector<4xf32>": "f32"}
BINARY = {
    **dict.fromkeys(
        INTEGERS,
        ("addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "floordivsi", "andi", "xori", "shrui", "maxsi"),
    ),
    **dict.fromkeys(FLOATS, ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minnumf")),
}
FLAGS = {"addi": " overflow<nsw>", "muli": " overflow<nuw>", "mulf": " fastmath<nnan>", "divf": " fastmath<ninf>"}
CASTS = (
    ("extsi", "i8", "i32"),
    ("trunci", "i32", "i8"),
    ("sitofp", "i8", "f32"),
    ("fptosi", "f32", "i8"),
    ("truncf", "f32", "f8E4M3FN"),
    ("extf", "f8E4M3FN", "f32"),
    ("uitofp", "i32", "f8E4M3FN"),
)
HELPERS = """
func.func private @gcd(%a: i8, %b: i8) -> i8 {
  %zero = arith.constant 0 : i8
  %done = arith.cmpi eq, %b, %zero : i8
  cf.cond_br %done, ^stop, ^go
^stop:
  return %a : i8
^go:
  %r = arith.remsi %a, %b : i8
  %g = call @gcd(%b, %r) : (i8, i8) -> i8
  return %g : i8
}
func.func private @factorial(%n: i8) -> i8 {
  %one = arith.constant 1 : i8
  %fifteen = arith.constant 15 : i8
  %low = arith.andi %n, %fifteen : i8
  %small = arith.cmpi sle, %low, %one : i8
  %r = scf.if %small -> i8 {
    scf.yield %one : i8
  } else {
    %less = arith.subi %low, %one : i8
    %f = func.call @factorial(%less) : (i8) -> i8
    %p = arith.muli %f, %low : i8
    scf.yield %p : i8
  }
  return %r : i8
}
"""


class Writer:
    """Writes a random function; ``values`` are those in scope, by type. ``shaped``: tensors and vectors as well."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any], shaped: bool) -> None:
        self.draw = draw
        self.shaped = tuple(SHAPED) if shaped else ()
        self.lines: list[str] = []
        self.values: dict[str, list[str]] = {type_: [] for type_ in (*INTEGERS, *FLOATS, *self.shaped, "i1")}
        self.count = 0

    def choose(self, choices: Sequence[Any]) -> Any:
        return choices[self.draw(st.integers(0, len(choices) - 1))]

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def any(self, type_: str) -> str:
        return str(self.choose(self.values[type_]))

    def new(self, type_: str, text: str) -> str:
        name = self.name()
        self.lines.append(f"{name} = {text}")
        self.values[type_].append(name)
        return name

    def type(self) -> str:
        return str(self.choose((*INTEGERS, *FLOATS, *self.shaped, *self.shaped)))

    def condition(self) -> str:
        type_ = str(self.choose((*INTEGERS, *FLOATS)))
        if type_ in INTEGERS:
            text = f"arith.cmpi {self.choose(('eq', 'slt', 'uge'))}, {self.any(type_)}, {self.any(type_)} : {type_}"
        else:
            text = f"arith.cmpf {self.choose(('oeq', 'olt', 'uge'))}, {self.any(type_)}, {self.any(type_)} : {type_}"
        return self.new("i1", text)

    def scoped(self, statements: int, depth: int, type_: str) -> str:
        """Write some statements in a region of their own, and return a value of the type that they yield."""
        outer = {key: list(names) for key, names in self.values.items()}
        self.statements(statements, depth)
        result = self.any(type_)
        self.values = outer
        return result

    def statements(self, count: int, depth: int) -> None:
        kinds = [self.binary, self.binary, self.cast, self.select, self.call]
        kinds += [self.by_elements, self.extract, self.insert, self.broadcast, self.dim] if self.shaped else []
        nested = [self.if_, self.for_, self.while_, self.diamond, self.cf_loop, self.switch] if depth else []
        for _ in range(count):
            kind = self.choose([*kinds, *nested, *nested])
            kind(depth - 1) if kind in nested else kind()

    def binary(self) -> None:
        type_ = self.type()
        op = self.choose(BINARY[SHAPED.get(type_, type_)])
        flags = self.choose(("", FLAGS.get(op, "")))
        self.new(type_, f"arith.{op} {self.any(type_)}, {self.any(type_)}{flags} : {type_}")

    def cast(self) -> None:
        op, source, target = self.choose(CASTS)
        self.new(target, f"arith.{op} {self.any(source)} : {source} to {target}")

    def select(self) -> None:
        type_ = self.type()
        condition = self.choose([*self.values["i1"], self.condition()])
        self.new(type_, f"arith.select {condition}, {self.any(type_)}, {self.any(type_)} : {type_}")

    def by_elements(self) -> None:
        """arith.select with a condition for each element."""
        type_ = str(self.choose(self.shaped))
        element, condition = SHAPED[type_], self.name()
        compare = "cmpf olt" if element == "f32" else "cmpi slt"
        self.lines.append(f"{condition} = arith.{compare}, {self.any(type_)}, {self.any(type_)} : {type_}")
        types = f"{type_.replace(element, 'i1')}, {type_}"
        self.new(type_, f"arith.select {condition}, {self.any(type_)}, {self.any(type_)} : {types}")

    def place(self, type_: str) -> str:
        """Return an element of a tensor or vector, or, of the tensor of two rows, sometimes none."""
        indices = []
        for mask in ("%two", "%two") if type_ == "tensor<2x3xi8>" else ("%two",):
            masked, index = self.new("i8", f"arith.andi {self.any('i8')}, {mask} : i8"), self.name()
            self.lines.append(f"{index} = arith.index_cast {masked} : i8 to index")
            indices.append(index)
        if type_ == "tensor<2x3xi8>" and self.draw(st.booleans()):
            indices[0] = "%first"
        return f"[{', '.join(indices)}]"

    def extract(self) -> None:
        type_ = str(self.choose(self.shaped))
        element, place = SHAPED[type_], self.place(type_)
        types = f"{element} from {type_}" if type_.startswith("vector") else type_
        self.new(element, f"{type_[:6]}.extract {self.any(type_)}{place} : {types}")

    def insert(self) -> None:
        type_ = str(self.choose(self.shaped))
        element, place = SHAPED[type_], self.place(type_)
        if type_.startswith("vector"):
            self.new(type_, f"vector.insert {self.any(element)}, {self.any(type_)} {place} : {element} into {type_}")
        else:
            self.new(type_, f"tensor.insert {self.any(element)} into {self.any(type_)}{place} : {type_}")

    def broadcast(self) -> None:
        type_ = self.choose(("tensor<2x3xi8>", "vector<4xf32>"))
        if type_ == "vector<4xf32>":
            self.new(type_, f"vector.broadcast {self.any('f32')} : f32 to {type_}")
        elif self.draw(st.booleans()):
            self.new(type_, f"tensor.splat {self.any('i8')} : {type_}")
        else:
            self.new(type_, f"tensor.from_elements {', '.join(self.any('i8') for _ in range(6))} : {type_}")

    def dim(self) -> None:
        size = self.name()
        self.lines.append(f"{size} = tensor.dim {self.any('tensor<?xi32>')}, %first : tensor<?xi32>")
        self.new("i8", f"arith.index_cast {size} : index to i8")

    def call(self) -> None:
        if self.draw(st.booleans()):
            self.new("i8", f"func.call @gcd({self.any('i8')}, {self.any('i8')}) : (i8, i8) -> i8")
        else:
            self.new("i8", f"func.call @factorial({self.any('i8')}) : (i8) -> i8")

    def if_(self, depth: int) -> None:
        type_, condition, name = self.type(), self.condition(), self.name()
        self.lines.append(f"{name} = scf.if {condition} -> {type_} {{")
        self.lines.append(f"scf.yield {self.scoped(2, depth, type_)} : {type_} }} else {{")
        self.lines.append(f"scf.yield {self.scoped(2, depth, type_)} : {type_} }}")
        self.values[type_].append(name)

    def for_(self, depth: int) -> None:
        type_, name, induction, carried = self.type(), self.name(), self.name(), self.name()
        step = self.choose(("%forty", "%forty", self.any("i8")))
        head = f"{name} = scf.for {induction} = {self.any('i8')} to {self.any('i8')} step {step}"
        self.lines.append(f"{head} iter_args({carried} = {self.any(type_)}) -> {type_} : i8 {{")
        outer = {key: list(names) for key, names in self.values.items()}
        self.values["i8"].append(induction)
        self.values[type_].append(carried)
        self.lines.append(f"scf.yield {self.scoped(2, depth, type_)} : {type_} }}")
        self.values = outer
        self.values[type_].append(name)

    def while_(self, depth: int) -> None:
        """Shifts a number to zero."""
        type_, name, number, carried, more, after, kept = self.type(), *(self.name() for _ in range(6))
        signature = f"({number} = {self.any('i8')}, {carried} = {self.any(type_)}) : (i8, {type_}) -> (i8, {type_})"
        self.lines.append(f"{name}:2 = scf.while {signature} {{")
        self.lines.append(f"{more} = arith.cmpi ne, {number}, %zero : i8")
        self.lines.append(f"scf.condition({more}) {number}, {carried} : i8, {type_} }} do {{")
        self.lines.append(f"^bb0({after}: i8, {kept}: {type_}):")
        outer = {key: list(names) for key, names in self.values.items()}
        self.values["i8"].append(after)
        self.values[type_].append(kept)
        result = self.scoped(2, depth, type_)
        self.values = outer
        shifted = self.name()
        self.lines.append(f"{shifted} = arith.shrui {after}, %two : i8")
        self.lines.append(f"scf.yield {shifted}, {result} : i8, {type_} }}")
        self.values["i8"].append(f"{name}#0")
        self.values[type_].append(f"{name}#1")

    def diamond(self, depth: int) -> None:
        type_, condition, name, left, right, argument = self.type(), self.condition(), *(self.name() for _ in range(4))
        left, right, end = (f"^{label[1:]}" for label in (left, right, argument))
        self.lines.append(f"{name} = scf.execute_region -> {type_} {{ cf.cond_br {condition}, {left}, {right}")
        for label, others in ((left, (right, end)), (right, (end,))):
            self.lines.append(f"{label}:")
            result, target = self.scoped(2, depth, type_), self.choose(others)
            passed = f"({result} : {type_})" if target == end else ""
            self.lines.append(f"cf.br {target}{passed}")
        self.lines.append(f"{end}({argument}: {type_}): scf.yield {argument} : {type_} }}")
        self.values[type_].append(name)

    def cf_loop(self, depth: int) -> None:
        """Add a loop of blocks that leaves from its middle, with its exit written first."""
        type_, start, name, number, carried = self.type(), self.any("i8"), *(self.name() for _ in range(3))
        head, body, end = (f"^{self.name()[1:]}" for _ in range(3))
        initial, more, shifted = self.any(type_), self.name(), self.name()
        self.lines.append(f"{name} = scf.execute_region -> {type_} {{")
        self.lines.append(f"cf.br {head}({start}, {initial} : i8, {type_})")
        self.lines.append(f"{end}: scf.yield {carried} : {type_}")
        self.lines.append(f"{head}({number}: i8, {carried}: {type_}):")
        self.lines.append(f"{more} = arith.cmpi ne, {number}, %zero : i8")
        self.lines.append(f"cf.cond_br {more}, {body}, {end}")
        self.lines.append(f"{body}:")
        outer = {key: list(names) for key, names in self.values.items()}
        self.values[type_].append(carried)
        result = self.scoped(2, depth, type_)
        self.values = outer
        self.lines.append(f"{shifted} = arith.shrui {number}, %two : i8")
        self.lines.append(f"cf.br {head}({shifted}, {result} : i8, {type_}) }}")
        self.values[type_].append(name)

    def switch(self, depth: int) -> None:
        type_, flag, name, argument = self.type(), self.any("i8"), self.name(), self.name()
        one, end = (f"^{self.name()[1:]}" for _ in range(2))
        self.lines.append(f"{name} = scf.execute_region -> {type_} {{")
        passed = [f"({self.any(type_)} : {type_})" for _ in range(2)]
        cases = f"default: {end}{passed[0]}, 0: {one}, 1: {end}{passed[1]}, 7: {one}"
        self.lines.append(f"cf.switch {flag} : i8, [ {cases} ]")
        self.lines.append(f"{one}:")
        self.lines.append(f"cf.br {end}({self.scoped(2, depth, type_)} : {type_})")
        self.lines.append(f"{end}({argument}: {type_}): scf.yield {argument} : {type_} }}")
        self.values[type_].append(name)


ARGUMENTS = {"%a": "i8", "%b": "i8", "%c": "i32", "%d": "f32", "%e": "f8E4M3FN"}
SHAPED_ARGUMENTS = {"%t": "tensor<2x3xi8>", "%u": "tensor<?xi32>", "%w": "vector<4xf32>"}
CONSTANTS = {"%zero": 0, "%two": 2, "%seven": 7, "%forty": 40}


@st.composite
def programs(draw: Callable[[st.SearchStrategy[Any]], Any], shaped: bool = False) -> str:
    writer = Writer(draw, shaped)
    arguments = ARGUMENTS | (SHAPED_ARGUMENTS if shaped else {})
    writer.lines.append("%first = arith.constant 0 : index")
    for name, value in CONSTANTS.items():
        writer.lines.append(f"{name} = arith.constant {value} : i8")
        writer.values["i8"].append(name)
    for name, type_ in arguments.items():
        writer.values[type_].append(name)
    writer.statements(draw(st.integers(1, 6)), 2)
    types = [type_ for type_ in writer.values if writer.values[type_]]
    returned = [writer.values[type_][-1] for type_ in types]
    signature = ", ".join(f"{name}: {type_}" for name, type_ in arguments.items())
    spelled = ", ".join(types)
    end = f"return {', '.join(returned)} : {spelled}"
    return f"{HELPERS}func.func @main({signature}) -> ({spelled}) {{\n" + "\n".join([*writer.lines, end]) + "\n}"


SPECIAL = np.array([0, 0x80000000, 0x7F800000, 0x7FC00001, 0x3F800000, 0xC0200000, 0x42C80000, 1], np.uint32)


def lanes_of(seed: int, count: int) -> tuple[npt.NDArray[Any], ...]:
    rng = np.random.default_rng(seed)
    small = rng.integers(-8, 9, count).astype(np.int8)
    wide = np.where(rng.random(count) < 0.5, rng.integers(-(2**31), 2**31, count), small).astype(np.int32)
    codes = rng.integers(0, 256, count).astype(np.uint8)
    return (
        rng.integers(-128, 128, count).astype(np.int8),
        small,
        wide,
        rng.choice(SPECIAL, count).view(np.float32),
        codes,
    )


EXAMPLES = amounts(30, 120)


@pytest.mark.long
@pytest.mark.parametrize("examples", EXAMPLES)
def test_every_lane_of_a_random_program_gets_what_it_gets_alone(examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(programs(), st.integers(0, 1000), st.sampled_from(["raise", "poison"]), st.booleans())
    def check(text: str, seed: int, on_ub: str, track_open: bool) -> None:
        *columns, codes = lanes_of(seed, 12)
        eighth = codes.view(np.dtype(ml_dtypes.float8_e4m3fn))
        agree(text, *columns, eighth, on_ub=on_ub, track_open=track_open, max_steps=20_000, max_depth=60)

    check()


@pytest.mark.long
@pytest.mark.parametrize("examples", EXAMPLES)
def test_every_lane_of_a_random_program_on_tensors_and_vectors_gets_what_it_gets_alone(examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(programs(shaped=True), st.integers(0, 1000), st.sampled_from(["raise", "poison"]), st.booleans())
    def check(text: str, seed: int, on_ub: str, track_open: bool) -> None:
        *columns, codes = lanes_of(seed, 8)
        eighth = codes.view(np.dtype(ml_dtypes.float8_e4m3fn))
        rng = np.random.default_rng(seed)
        shaped = (
            rng.integers(-4, 5, (8, 2, 3)).astype(np.int8),
            rng.integers(-(2**31), 2**31, (8, 3)).astype(np.int32),
            rng.choice(SPECIAL, (8, 4)).view(np.float32),
        )
        agree(text, *columns, eighth, *shaped, on_ub=on_ub, track_open=track_open, max_steps=20_000, max_depth=60)

    check()
