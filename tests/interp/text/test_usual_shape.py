"""Ops of the usual shape of their form, and ops like the last of their name: what is read is what the parts of the form
read, in every detail.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from halfulp.conformance.corpora import fuzz_text
from halfulp.conformance.corpora.corpus import entries
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Operation
from halfulp.interp.loading import parse_module
from halfulp.interp.text import parser
from halfulp.interp.text.lexer import tokenize
from halfulp.interp.text.usual_shape import usual_shape

PROGRAM = """!t = i32
func.func @f(%a: i32, %b: i32, %x: f32, %y: f32, %i: index, %v: vector<4xf32>) -> i32 {
  %0 = arith.addi %a, %b : i32
  %1 = arith.addi %0, %a overflow<nsw> : i32
  %2 = arith.addi %1, %0 {k} : !t loc("here")
  %3 = arith.addf %x, %y : f32
  %4 = arith.addf %3, %y to_nearest_even fastmath<nnan> : f32
  %5 = arith.addf %v, %v : vector<4xf32>
  %6 = arith.cmpi slt, %2, %0 : i32
  %7 = arith.cmpi ult, %i, %i : index
  %8 = arith.cmpi slt, %a, %b : !t
  %9 = arith.select %6, %3, %4 : f32
  %10 = arith.extf %9 : f32 to f64
  %11 = arith.extf %5 : vector<4xf32> to vector<4xf64>
  %12 = arith.negf %10 : f64
  %13 = math.fma %12, %10, %12 : f64
  %14 = index.add %i, %i
  %15 = index.add %14, %i {k = 1 : i8}
  %16, %17 = arith.addui_extended %2, %0 : i32, i1
  %18:2 = arith.addui_extended %16, %2 : i32, i1
  cf.br ^after(%18#0 : i32)
^after(%c: i32):
  %19 = arith.addi %c, %18#0 : i32
  %20 = arith.shrui %19, %c exact : i32
  %21 = arith.shrui %20, %19 : i32
  return %21 : i32
}
"""


@contextmanager
def without_usual_shapes() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parser, "with_usual_shape", lambda p, definition, general: general)
        patch.setattr(parser.Parser, "_like_the_last", lambda p, met, at: None)
        yield


def outcome(text: str) -> object:
    """All that a module consists of, or its error."""
    try:
        module = parse_module(text)
    except HalfulpError as error:
        return type(error), str(error), str(error.location), error.hint, [(str(at), note) for at, note in error.notes]
    numbers: dict[object, int] = {}

    def described(op: Operation) -> object:
        for value in (*op.results, *(a for region in op.regions for block in region.blocks for a in block.arguments)):
            numbers[value] = len(numbers)
        attributes = [(name, type(a), str(a)) for kept in (op.properties, op.attributes) for name, a in kept.items()]
        return (
            (op.name, op.definition, len(op.properties), attributes, str(op.location)),
            [(result.type, result.name, result.index, result.owner is op) for result in op.results],
        )

    ops = list(module.walk())
    facts = [described(op) for op in ops]
    return facts, [[numbers[value] for value in op.operands] for op in ops]


def same_outcome(text: str) -> bool:
    """Read a text both ways. Return True if it was accepted."""
    with without_usual_shapes():
        expected = outcome(text)
    found = outcome(text)
    assert found == expected, text
    return isinstance(found, tuple) and len(found) == 2


GENERIC = """!t = i32
"func.func"() <{function_type = (i32, f32) -> (), sym_name = "f"}> ({
^bb0(%a: i32, %x: f32):
  %0 = "arith.addi"(%a, %a) : (i32, i32) -> i32
  %1 = "arith.addi"(%0, %a) <{overflowFlags = #arith.overflow<nsw>}> : (i32, i32) -> i32
  %2 = "arith.addi"(%1, %0) : (i32, i32) -> i32
  %3 = "arith.addi"(%2, %0) {k} : (i32, i32) -> i32
  %4 = "arith.addi"(%3, %2) <{overflowFlags = #arith.overflow<nsw>}> : (i32, i32) -> i32
  %5 = "arith.addi"(%4, %3) <{overflowFlags = #arith.overflow<nsw>}> : (!t, i32) -> i32
  %6 = "arith.negf"(%x) : (f32) -> f32
  %7 = "arith.negf"(%6) : (f32) -> f32 loc("there")
  %8:2 = "t.two"() : () -> (i32, !llvm.ptr)
  %9:2 = "t.two"() : () -> (i32, !llvm.ptr)
  %10 = "t.one"(%8#1) : (!llvm.ptr) -> !llvm.ptr
  %11 = "t.one"(%9#1) : (!llvm.ptr) -> !llvm.ptr
  %12 = "t.one"(%9#1) <"raw"> : (!llvm.ptr) -> !llvm.ptr
  "t.none"(%9#0, %8#0, %0) : (i32, i32, i32) -> ()
  "t.none"(%9#0, %8#0, %1) : (i32, i32, i32) -> ()
  "cf.br"()[^bb1] : () -> ()
^bb1:
  "func.return"() : () -> ()
}) : () -> ()
"""


@pytest.mark.parametrize("program", [PROGRAM, GENERIC])
def test_each_token_may_be_another(program: str) -> None:
    """The first op of a kind is read by the parts of the form; a damaged later one must be refused as they do."""
    rng = random.Random(7)
    tokens = tokenize(program)[:-2]
    others = [*dict.fromkeys(tokens), "%18#1", "%undefined", "{", "to", "f64", "tensor<2xf32>", "(", "loc", "%", "<"]
    assert same_outcome(program)
    counts: Counter[bool] = Counter()
    for _ in range(400):
        damaged = list(tokens)
        place = rng.randrange(20, len(tokens))
        damaged[place : place + rng.randrange(2)] = [rng.choice(others)] * rng.randrange(2)
        counts[same_outcome(" ".join(damaged))] += 1
    assert counts[True] > 15, counts
    assert counts[False] > 250, counts


def test_names_may_be_used_before_they_are_defined() -> None:
    assert same_outcome(
        "func.func @f(%a: i32) {\n  cf.br ^b\n^c:\n  %0 = arith.addi %a, %a : i32\n  %1 = arith.addi %2, %0 : i32\n"
        "  return\n^b:\n  %2 = arith.addi %a, %a : i32\n  cf.br ^c\n}"
    )


def test_a_type_of_several_tokens_is_not_kept() -> None:
    """A type of which only the first token is known may go on in another way."""
    body = "".join(f'  %{n} = "t.make"() : () -> {t}\n  %r{n} = arith.negf %{n} : {t}\n' for n, t in enumerate(TYPES))
    with without_usual_shapes():
        expected = outcome(body)
    assert outcome(body) == expected


TYPES = ("tensor<2xf32, #t.a>", "tensor<2xf32, #t.b>", "vector<[4]xf32>", "tensor<?x2xf32>", "tensor<2xf32>", "f32")


def test_ops_on_numbers_have_a_usual_shape() -> None:
    """But for constants."""
    ops = [op for name in ("arith", "math", "complex") for op in default_registry().dialects[name].ops.values()]
    without = {op.name for op in ops if usual_shape(op) is None and op.assembly is not None}
    assert without == {"arith.constant", "complex.constant"}


def test_modules_of_the_corpus() -> None:
    for entry in random.Random(3).sample(entries(), 60):
        same_outcome(entry.text)


@pytest.mark.exhaustive
def test_damaged_modules_of_the_corpus() -> None:
    for entry in entries():
        same_outcome(entry.text)
    accepted = sum(same_outcome(fuzz_text.mutant(41, number)) for number in range(20_000))
    assert accepted > 500
