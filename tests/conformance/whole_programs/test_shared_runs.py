"""Pairs of programs whose ops run once: the verdicts follow from arithmetic, or are those of `validation.compare`."""

from __future__ import annotations

import numpy as np
import pytest

from halfulp.conformance.oracles.mlir_opt import find_mlir_opt
from halfulp.conformance.oracles.tool import PassPipeline
from halfulp.conformance.whole_programs.fuzz_functions import compare
from halfulp.conformance.whole_programs.generator.kinds import programs_from
from halfulp.conformance.whole_programs.shared_runs import LANES, Known, Shared, SharedRuns, ends_of, names_of
from halfulp.conformance.whole_programs.two_runs import Version, settled
from halfulp.interp.loading import parse_module
from halfulp.interp.text.printer import print_module

LOADED = "%i = arith.constant 1 : index\n  %x = memref.load %a[%i] : memref<2xi8>\n  "

PAIRS = [
    # Types of arguments and results; what the first and the second program return, and the verdict.
    ("i8", "arith.addi %a, %b : i8", "arith.addi %a, %b : i8", Shared.UNCHANGED),
    ("i8", "arith.addi %a, %b : i8", "arith.addi %b, %a : i8", Shared.EQUAL),
    ("i8", "arith.addi %a, %b : i8", "arith.addi %a, %a : i8", Shared.UNKNOWN),
    ("vector<3xi8>", "arith.muli %a, %b : vector<3xi8>", "arith.muli %b, %a : vector<3xi8>", Shared.EQUAL),
    ("vector<3xi8>", "arith.subi %a, %b : vector<3xi8>", "arith.subi %b, %a : vector<3xi8>", Shared.UNKNOWN),
    # A flag takes results away, or gives freedom.
    ("i8", "arith.addi %a, %b : i8", "arith.addi %a, %b overflow<nsw> : i8", Shared.UNKNOWN),
    ("i8", "arith.addi %a, %b overflow<nsw> : i8", "arith.addi %a, %b : i8", Shared.EQUAL),
    ("tensor<2xf32>", "arith.addf %a, %b : tensor<2xf32>", "arith.addf %b, %a : tensor<2xf32>", Shared.EQUAL),
    ("f32", "arith.mulf %a, %b : f32", "arith.divf %a, %b : f32", Shared.UNKNOWN),
    # The second program may not be undefined where the first one is defined.
    ("i8", "arith.divui %a, %b : i8", "arith.divui %a, %b : i8\n  %u = arith.remui %a, %b : i8", Shared.EQUAL),
    ("i8", "arith.divui %a, %b : i8", "arith.divui %a, %b : i8\n  %u = arith.remui %b, %a : i8", Shared.UNKNOWN),
    ("i8", "arith.divui %a, %a : i8", "arith.ceildivui %a, %a : i8", Shared.EQUAL),
    (
        "i8",
        "arith.xori %a, %b : i8\n  %z = arith.constant 0 : i8\n  %u = arith.divui %a, %z : i8",
        "arith.ori %a, %b : i8",
        Shared.UNDEFINED,
    ),
    (
        "tensor<2xi8>",
        "tensor.generate {\n  ^bb0(%i: index):\n %x = tensor.extract %a[%i] : tensor<2xi8>\n"
        " tensor.yield %x : i8 } : tensor<2xi8>",
        "arith.andi %a, %a : tensor<2xi8>",
        Shared.EQUAL,
    ),
    ("memref<2xi8>", LOADED + "memref.store %x, %b[%i] : memref<2xi8>", "", Shared.UNKNOWN),
    (
        "memref<2xi8>",
        LOADED + "memref.store %x, %b[%i] : memref<2xi8>",
        LOADED + "%y = memref.load %a[%i] : memref<2xi8>\n  memref.store %y, %b[%i] : memref<2xi8>",
        Shared.EQUAL,
    ),
]


def text_of(type_: str, body: str) -> str:
    results = "memref" not in type_
    head = f"func.func @f(%a: {type_}, %b: {type_})" + f" -> {type_}" * results
    end = f"return %r : {type_}" if results else "return"
    return print_module(parse_module(f"{head} {{ {'%r = ' * results}{body}\n {end} }}"), generic=True)


def judged(shared: SharedRuns, pairs: list[tuple[str, str]]) -> list[Known]:
    functions = [parse_module(before).lookup("f") for before, _ in pairs]
    return shared.judged(
        [(f, before, after) for f, (before, after) in zip(functions, pairs, strict=True) if f is not None]
    )


def test_verdicts_on_pairs() -> None:
    pairs = [(text_of(type_, before), text_of(type_, after)) for type_, before, after, _ in PAIRS]
    found = judged(SharedRuns(1, 1000), pairs)
    wrong = [(pair, known.outcome) for pair, known in zip(PAIRS, found, strict=True) if known.outcome is not pair[-1]]
    assert not wrong, wrong
    (undefined,) = (known for known in found if known.outcome is Shared.UNDEFINED)
    assert undefined.undefined == LANES


def test_ops_of_several_programs_run_once_and_give_what_each_gives_alone() -> None:
    bodies = [f"arith.addi %a, %b : i8\n  %s = arith.{op} %r, %a : i8" for op in ("muli", "subi", "muli")]
    texts = [text_of("i8", body).replace('"func.return"(%0)', '"func.return"(%1)') for body in bodies]
    shared = SharedRuns(1, 1000)
    judged(shared, [(text, text.replace("(%0, %arg0)", "(%arg0, %0)")) for text in texts])
    nodes = list(shared._nodes.values())
    ops = [node.text[0] for node in nodes if node.text[0]]
    assert sorted(ops) == ["arith.addi", "arith.muli", "arith.muli", "arith.subi", "arith.subi"]
    found = {node: node.values[0].bits for node in nodes if node.values is not None}
    a, b = (found[node] for node in nodes if not node.text[0])
    for node in nodes:
        if node.text[0] == "arith.muli":
            assert np.array_equal(found[node], (a + b) * a)


GENERIC = """func.func @f(%a: tensor<2x3xi8>, %b: tensor<3xi8>, %c: i8, %d: tensor<3x2xi8>, %e: tensor<i8>) -> tensor<3x2xi8> {{
  %r = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> ({map})>,
      affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}}
      ins(%a, %b, %c : tensor<2x3xi8>, tensor<3xi8>, i8) outs(%d : tensor<3x2xi8>) {{
  ^bb0(%x: i8, %y: i8, %z: i8, %w: i8):
    {body}
    linalg.yield %r : i8
  }} -> tensor<3x2xi8>
  return %r : tensor<3x2xi8>
}}"""

BODIES = {
    "moved operands": "%r = arith.subi %x, %y : i8",
    "a scalar, and the init": "%s = arith.xori %w, %z : i8\n %r = arith.subi %s, %x : i8",
    "a value of all points": "%k = arith.constant 3 : i8\n %s = arith.muli %k, %c : i8\n %r = arith.subi %s, %y : i8",
    "a region of all points": "%t = arith.trunci %c : i8 to i1\n %s = scf.if %t -> i8 { scf.yield %c : i8 } else {\n"
    "%v = tensor.extract %e[] : tensor<i8>\n scf.yield %v : i8 }\n %r = arith.subi %x, %s : i8",
    "a choice": "%t = arith.cmpi slt, %x, %y : i8\n %r = arith.select %t, %w, %y : i8",
    "poison": "%s = arith.addi %x, %y overflow<nsw> : i8\n %t = arith.cmpi slt, %z, %y : i8\n"
    "%r = arith.select %t, %s, %y : i8",
    "undefined points": "%k = arith.constant 7 : i8\n %s = arith.andi %y, %k : i8\n %r = arith.divui %x, %s : i8",
    "undefined for all points": "%k = arith.constant 7 : i8\n %s = arith.andi %c, %k : i8\n"
    "%v = arith.divui %c, %s : i8\n %r = arith.addi %x, %v : i8",
    "itself": "%r = arith.constant 3 : i8",
}


@pytest.mark.parametrize("map_", ["d0", "0"])
@pytest.mark.parametrize("name", BODIES)
def test_a_body_runs_as_ops_of_all_programs_and_gives_what_the_op_gives(name: str, map_: str) -> None:
    module = parse_module(GENERIC.format(map=map_, body=BODIES[name]))
    (function,), text = module.body, print_module(module, generic=True)
    shared = SharedRuns(5, 1000)
    arguments = shared._arguments(function)
    assert arguments is not None
    found = shared._program(text, arguments)
    assert found is not None
    assert "linalg.generic" not in {node.text[0] for node in found.nodes}
    shared._evaluate(found.nodes)
    stopped, unknown = ends_of(found.nodes)
    assert not unknown.any()
    given = [node.values[0] for node in arguments if node.values is not None]
    whole = settled(Version(module, function, shared._settings, False), given, np.ones(LANES, np.bool_), 100_000)
    assert np.array_equal(whole.done, ~stopped)
    assert stopped.any() == name.startswith("undefined")
    ((node, number),) = found.returned
    assert node.values is not None
    one, two = (value.bits[whole.done] for value in (whole.results[0], node.values[number]))
    assert one.shape == two.shape == (int(whole.done.sum()), 3, 2)
    assert np.array_equal(one, two)
    expected, given_ = (value.poisoned[whole.done] for value in (whole.results[0], node.values[number]))
    assert np.array_equal(expected, given_)
    assert expected.any() == (name == "poison")


def test_a_body_with_indices_of_points_runs_as_a_whole() -> None:
    body = "%i = linalg.index 0 : index\n %j = arith.index_cast %i : index to i8\n %r = arith.addi %j, %x : i8"
    module = parse_module(GENERIC.format(map="d0", body=body))
    shared = SharedRuns(5, 1000)
    arguments = shared._arguments(module.body[0])
    assert arguments is not None
    found = shared._program(print_module(module, generic=True), arguments)
    assert found is not None
    assert [node.text[0] for node in found.nodes] == ["linalg.generic"]


def test_an_internal_error_leaves_the_programs_to_whole_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    text = print_module(parse_module("func.func @f(%a: i8) -> i8 { return %a : i8 }"), generic=True)
    function = parse_module(text).body[0]
    shared = SharedRuns(1, 1000)

    def broken(nodes: object) -> None:
        raise IndexError("beyond")

    with monkeypatch.context() as patch:
        patch.setattr(shared, "_evaluate", broken)
        assert shared.judged([(function, text, text)] * 2) == [Known(Shared.UNKNOWN)] * 2
    assert shared.judged([(function, text, text)]) == [Known(Shared.UNCHANGED)]


def test_names_of_ops() -> None:
    text = text_of("i8", "arith.addi %a, %b : i8")
    assert names_of(text) == ["func.func", "arith.addi", "func.return"]


@pytest.mark.torch_mlir
def test_what_is_judged_right_is_right_for_the_whole_comparison() -> None:
    pipeline = PassPipeline(find_mlir_opt("24"), "builtin.module(canonicalize)", in_generic_form=True)
    kind = programs_from("mutated", pipeline.tool, ("mixed",)).kind
    shared, compared = SharedRuns(3, kind.max_steps), 0
    programs = list(kind.functions(3, 45, 0))
    texts = pipeline.both([pipeline.given(program.module) for program in programs])
    pairs = [
        (program.main, before, after)
        for program, (before, after) in zip(programs, texts, strict=True)
        if isinstance(before, str) and isinstance(after, str)
    ]
    for (_, before, after), known in zip(pairs, shared.judged(pairs), strict=True):
        if known.outcome in (Shared.EQUAL, Shared.OPEN, Shared.UNDEFINED) and known.arguments is not None:
            found = compare(parse_module(before), parse_module(after), 3, kind=kind, arguments=known.arguments)
            assert not found.differing
            assert found.undefined == known.undefined, before
            compared += 1
    assert compared > 8
