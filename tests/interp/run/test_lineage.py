"""Lineage: what a run records gives its results again, bit for bit, and each number that ops made has a history."""

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import amounts, thinned
from named_programs import programs
from shadow_programs import BITS, FORMATS, WIDE_FORMATS, Recorded, number_of, random_program
from tables import each_row
from tree import ROOT

import halfulp as hu
from halfulp.conformance.whole_programs.generator.kinds import KINDS, inputs_of
from halfulp.fp_formats.formats import codes_to_ints
from halfulp.fp_formats.paths import llvm
from halfulp.fp_formats.reals.functions import bits_of_precision
from halfulp.interp.declare.declarations import OpDefinition
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.structured import evaluate
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import LimitExceeded, Unsupported
from halfulp.interp.ir.operations import argument_types
from halfulp.interp.run import array_attribution
from halfulp.interp.run.array_attribution import ArrayAttribution
from halfulp.interp.run.attribution import Attribution
from halfulp.interp.run.batch.program import run_batch
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.lineage import Leaf, Lineage, Node
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import to_argument
from halfulp.interp.values.value import Value
from halfulp.running import find_entry
from halfulp.semantics.profile import as_profile

FOLDER = ROOT / "tests" / "data" / "programs"
MODELS = sorted(path for path in FOLDER.glob("*.mlir") if "stablehlo" not in path.name)
QUICK = ["softmax_bf16.linalg"]


def recorded(text: str, *arguments: Any, **settings: Any) -> Recorded:
    module = hu.parse(text)
    op = find_entry(module)
    types = argument_types(op)

    def make() -> list[Any]:
        return [to_argument(given, type_, "x", copy=True) for given, type_ in zip(arguments, types, strict=True)]

    return Recorded(module, op, make, **settings)


def nodes(found: Recorded, value: Value) -> Counter[str]:
    """Count the ops from which a value was made, each number once."""
    assert value.open is not None
    names: Counter[str] = Counter()
    seen: set[int] = set()
    left = [int(id_) for id_ in value.open.flat]
    while left:
        id_ = left.pop()
        if id_ == 0 or id_ in seen:
            continue
        seen.add(id_)
        node = found.lineage.node(id_)
        if isinstance(node, Node):
            names[node.op.name] += 1
            left += [operand.id for operand in node.operands]
        else:
            names[node.unknown or "argument"] += 1
    return names


def complete(found: Recorded) -> None:
    """Assert that each float among the results has a history, and that all of it is known."""
    assert found.unknown() == []
    for value in found.values:
        if not isinstance(value.element_type, ty.IntegerType | ty.IndexType):
            assert value.open is not None
            assert np.all(value.open > 0)


MARKED = [path if path.stem in QUICK else pytest.param(path, marks=pytest.mark.exhaustive) for path in MODELS]


@pytest.mark.parametrize("path", MARKED, ids=lambda path: path.stem)
def test_models(path: Path) -> None:
    data = np.load(FOLDER / f"{path.name.partition('.')[0]}.npz")
    module = hu.load(path.read_text(encoding="utf-8"))
    op = find_entry(module)
    types = argument_types(op)

    def make() -> list[Any]:
        tensors = [ty.TensorType(ty.shape_of(type_), ty.element_type(type_)) for type_ in types]
        values = [Value.from_bits(data[f"in{number}"], type_) for number, type_ in enumerate(tensors)]
        return [to_argument(value, type_, "x", copy=True) for value, type_ in zip(values, types, strict=True)]

    found = Recorded(module, op, make, max_steps=10**8)
    assert found.check() > 50
    complete(found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", amounts(10, 3000))
def test_random_programs(kind: str, count: int) -> None:
    edges = 0
    for function in KINDS[kind].functions(3, count, 0):
        for part in inputs_of(function.module, 7, KINDS[kind]).of(function.main).parts:
            rows = np.unique(np.arange(2) * part.count // 2)
            few = replace(part, columns=tuple([column[rows] for column in part.columns]))
            for row in range(len(rows)):
                found = Recorded(function.module, function.main, partial(few.fresh, row), max_steps=20_000)
                edges += found.check()
    assert edges > count


@pytest.mark.long
@pytest.mark.parametrize("memrefs", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("way", ["arrays", pytest.param("points", marks=pytest.mark.exhaustive)])
def test_named_structured_ops(memrefs: bool, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "points":
        monkeypatch.setattr(evaluate, "plan_of", lambda structure: None)
    for number, program in enumerate(programs(memrefs)):
        if number % 8 == 0 or memrefs or way == "points":
            found = recorded(program.text, *program.arguments)
            found.check()
            last = found.values[-1]
            if not isinstance(last.element_type, ty.IntegerType) and "fill" not in program.name:
                assert last.open is not None, program.name
                assert np.all(last.open > 0), program.name


SUM = """func.func @f(%v: vector<6xf32>, %a: f32) -> f32 {
  %r = vector.reduction <add>, %v, %a : vector<6xf32> into f32
  return %r : f32
}"""
REDUCED = """func.func @f(%v: tensor<6x3xf32>, %a: tensor<3xf32>) -> tensor<3xf32> {
  %r = linalg.reduce { arith.addf } ins(%v : tensor<6x3xf32>) outs(%a : tensor<3xf32>) dimensions = [0]
  return %r : tensor<3xf32>
}"""
LARGEST = REDUCED.replace("addf", "maximumf")
PRODUCT = """func.func @f(%a: tensor<2x4xf16>, %b: tensor<4x3xf16>, %c: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<2x4xf16>, tensor<4x3xf16>) outs(%c : tensor<2x3xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}"""
PARALLEL = """func.func @f(%m: memref<5xf32>, %a: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r = scf.parallel (%i) = (%c0) to (%c5) step (%c1) init (%a) -> f32 {
    %x = memref.load %m[%i] : memref<5xf32>
    scf.reduce(%x : f32) {
    ^bb0(%l: f32, %s: f32):
      %t = arith.addf %l, %s : f32
      scf.reduce.return %t : f32
    }
  }
  return %r : f32
}"""
CONTRACT = """func.func @f(%a: vector<2x4xf32>, %b: vector<4x3xf32>, %c: vector<2x3xf32>) -> vector<2x3xf32> {
  %r = vector.contract {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
    affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
    %a, %b, %c : vector<2x4xf32>, vector<4x3xf32> into vector<2x3xf32>
  return %r : vector<2x3xf32>
}"""


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(5).normal(size=shape).astype(dtype)


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        (SUM, (numbers(6), 0.5), {"arith.addf": 6, "argument": 7}),
        (REDUCED, (numbers(6, 3), numbers(3)), {"arith.addf": 18, "argument": 21}),
        (LARGEST, (numbers(6, 3), numbers(3)), {"arith.maximumf": 18, "argument": 21}),
        (
            PRODUCT,
            (numbers(2, 4, dtype=np.float16), numbers(4, 3, dtype=np.float16), numbers(2, 3)),
            {"arith.addf": 24, "arith.mulf": 24, "arith.extf": 20, "argument": 26},
        ),
        (PARALLEL, (numbers(5), 0.5), {"arith.addf": 5, "argument": 6}),
        (
            CONTRACT,
            (numbers(2, 4), numbers(4, 3), numbers(2, 3)),
            {"arith.addf": 24, "arith.mulf": 24, "argument": 26},
        ),
    ],
)
@pytest.mark.parametrize("profile", ["spec", "spec,reduction_order=pairwise"])
def test_reductions_record_single_steps(text: str, arguments: Any, expected: dict[str, int], profile: str) -> None:
    found = recorded(text, *arguments, profile=as_profile(profile))
    found.check()
    assert dict(nodes(found, found.values[0])) == expected


def test_a_sum_that_is_rounded_once_is_unknown() -> None:
    found = recorded(REDUCED, numbers(6, 3), numbers(3), profile=as_profile("spec,reduction_order=exact"))
    assert nodes(found, found.values[0]) == {"arith.addf, rounded once": 3}


LOOP = """func.func @f(%m: memref<?xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  %z = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z) -> f32 {
    %x = memref.load %m[%i] : memref<?xf32>
    %y = arith.mulf %x, %two : f32
    memref.store %y, %m[%i] : memref<?xf32>
    %t = arith.addf %s, %y : f32
    scf.yield %t : f32
  }
  return %r : f32
}"""


@pytest.mark.long
def test_loops_and_memory() -> None:
    """Long loops, which run as compiled code without lineage, are recorded op by op."""
    found = recorded(LOOP, numbers(1500), 1500)
    assert found.check() > 1500
    assert dict(nodes(found, found.values[0])) == {"arith.addf": 1500, "arith.mulf": 1500, "argument": 1500}
    complete(found)


def test_a_node_names_its_op_its_operands_and_its_place() -> None:
    found = recorded(LOOP, np.array([3], np.float32), 1)
    (result, memory) = found.values
    assert result.open is not None
    assert memory.open is not None
    node = found.lineage.node(int(result.open))
    assert isinstance(node, Node)
    assert (node.op.name, node.location.line, node.code) == ("arith.addf", 10, 0x40C00000)  # type: ignore[attr-defined]
    zero, product = node.operands
    assert (zero.id, zero.code) == (0, 0)
    assert found.lineage.history(zero.id, zero.type, zero.code) == Leaf(zero.type, 0)
    assert product.id == int(memory.open[0])
    made = found.lineage.node(product.id)
    assert isinstance(made, Node)
    assert found.lineage.node(made.operands[0].id) == Leaf(zero.type, 0x40400000, 0, (0,))


def test_a_number_that_is_not_what_its_id_says_is_unknown() -> None:
    """The two halves of a number are none of those that were stored."""
    text = """func.func @f(%v: vector<2xf32>) -> vector<4xf16> {
      %d = arith.addf %v, %v : vector<2xf32>
      %r = vector.bitcast %d : vector<2xf32> to vector<4xf16>
      %n = arith.addf %r, %r : vector<4xf16>
      return %n : vector<4xf16>
    }"""
    found = recorded(text, np.array([1.5, 2], np.float32))
    ids = found.values[0].open
    assert ids is not None
    node = found.lineage.node(int(ids[1]))
    assert isinstance(node, Node)
    for operand in node.operands:
        leaf = found.lineage.history(operand.id, operand.type, operand.code)
        assert isinstance(leaf, Leaf)
        assert leaf.unknown == "bits of other numbers"
    with pytest.raises(KeyError):
        found.lineage.node(len(found.lineage) + 1)


BYTES = """func.func @f(%x: f32, %y: f32) -> (f32, f32, f32) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %m = memref.alloc() : memref<8xi8>
  %a = memref.view %m[%c0][] : memref<8xi8> to memref<2xf32>
  %b = memref.view %m[%c2][] : memref<8xi8> to memref<1xf32>
  %c1 = arith.constant 1 : index
  memref.store %x, %a[%c0] : memref<2xf32>
  memref.store %y, %a[%c1] : memref<2xf32>
  %p = memref.load %a[%c0] : memref<2xf32>
  %q = memref.load %b[%c0] : memref<1xf32>
  %r = memref.load %a[%c1] : memref<2xf32>
  return %p, %q, %r : f32, f32, f32
}"""


def test_bytes_of_several_numbers_have_no_history() -> None:
    found = recorded(BYTES, 1.5, 2.5)
    ids = [int(value.open) for value in found.values if value.open is not None]
    assert [found.lineage.history(id_, ty.F("f32"), int(v.bits)) for id_, v in zip(ids, found.values, strict=True)] == [
        Leaf(ty.F("f32"), 0x3FC00000, 0, ()),
        Leaf(ty.F("f32"), int(found.values[1].bits), unknown="bits of other numbers"),
        Leaf(ty.F("f32"), 0x40200000, 1, ()),
    ]


POINTERS = """llvm.func @f(%x: f32, %v: vector<4xf32>) -> f32 {
  %two = llvm.mlir.constant(2 : i64) : i64
  %m = llvm.alloca %two x vector<4xf32> {alignment = 16 : i64} : (i64) -> !llvm.ptr
  %n = llvm.getelementptr %m[1] : (!llvm.ptr) -> !llvm.ptr, vector<4xf32>
  %p = llvm.getelementptr %n[2] : (!llvm.ptr) -> !llvm.ptr, f32
  %size = llvm.mlir.constant(16 : i64) : i64
  %y = llvm.fadd %x, %x : f32
  llvm.store %v, %m : vector<4xf32>, !llvm.ptr
  "llvm.intr.memcpy"(%n, %m, %size) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  llvm.store %y, %p : f32, !llvm.ptr
  %w = llvm.load %n : !llvm.ptr -> vector<4xf32>
  %r = "llvm.intr.vector.reduce.fadd"(%x, %w) <{fastmathFlags = #llvm.fastmath<none>}> : (f32, vector<4xf32>) -> f32
  llvm.return %r : f32
}"""


def test_memory_of_the_llvm_dialect_keeps_history() -> None:
    found = recorded(POINTERS, np.float32(1.5), numbers(4))
    found.check()
    complete(found)
    assert dict(nodes(found, found.values[0])) == {"llvm.fadd": 1, "arith.addf": 4, "argument": 4}


def test_what_python_computes_is_unknown() -> None:
    text = """func.func private @g(f32) -> f32
    func.func @f(%x: f32) -> f32 {
      %0 = func.call @g(%x) : (f32) -> f32
      %1 = arith.negf %0 : f32
      return %1 : f32
    }"""
    found = recorded(text, 2.0, externals={"g": lambda x: np.float32(3)})
    assert nodes(found, found.values[0]) == {"arith.negf": 1, "the function bound to @g": 1}


def test_limits() -> None:
    module = hu.parse(LOOP)
    op = find_entry(module)
    for lineage in (Lineage(most_nodes=2000), Lineage(most_batches=1000)):
        program = program_for(module, Settings(recorder=lineage))
        arguments = [
            to_argument(each, t, "x") for each, t in zip((numbers(1500), 1500), argument_types(op), strict=True)
        ]
        with pytest.raises(LimitExceeded, match="the lineage of this run has more than"):
            program.run(op, arguments)


def test_lineage_alone() -> None:
    with pytest.raises(ValueError, match="leave out one of them"):
        Settings(track_open=True, recorder=Lineage())


def test_a_batch_keeps_no_lineage() -> None:
    module = hu.parse("func.func @f(%x: f32) -> f32 { return %x : f32 }")
    program = program_for(module, Settings(recorder=Lineage()))
    with pytest.raises(Unsupported, match="a batch keeps no lineage"):
        run_batch(program, find_entry(module), (Value.from_numpy(np.array([1, 2], np.float32)),), 2)


ADDED = """func.func @f(%n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %two) -> f32 {
    %t = arith.addf %s, %two : f32
    scf.yield %t : f32
  }
  return %r : f32
}"""
CONSTANTS = """func.func @f() -> (tensor<5000xf32>, f32, tensor<5000xf32>) {
  %two = arith.constant 2.0 : f32
  %c = arith.constant dense<3.0> : tensor<5000xf32>
  %u = arith.mulf %c, %c : tensor<5000xf32>
  %v = arith.addf %u, %c : tensor<5000xf32>
  %w = arith.subf %v, %u : tensor<5000xf32>
  %few = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %init = tensor.from_elements %two : tensor<f32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
      iterator_types = ["reduction"]} ins(%few : tensor<4xf32>) outs(%init : tensor<f32>) {
  ^bb0(%x: f32, %acc: f32):
    %p = arith.mulf %x, %acc : f32
    %q = arith.addf %p, %acc : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  %last = tensor.extract %sum[] : tensor<f32>
  %to = tensor.empty() : tensor<5000xf32>
  %mapped = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%c : tensor<5000xf32>) outs(%to : tensor<5000xf32>) {
  ^bb0(%x: f32, %out: f32):
    %p = arith.mulf %x, %x : f32
    %q = arith.addf %p, %x : f32
    %s = arith.addf %q, %x : f32
    linalg.yield %s : f32
  } -> tensor<5000xf32>
  return %w, %last, %mapped : tensor<5000xf32>, f32, tensor<5000xf32>
}"""


@pytest.mark.long
def test_constants_alone_take_no_quick_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing comes in that would stop compiled code, chains of ops, and folds on integers."""
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    monkeypatch.setattr(llvm, "_backend", "llvm")
    found = recorded(ADDED, 2000)
    assert dict(nodes(found, found.values[0])) == {"arith.addf": 2000}
    found = recorded(CONSTANTS)
    counts = [dict(nodes(found, value)) for value in found.values]
    assert counts == [
        {"arith.mulf": 5000, "arith.addf": 5000, "arith.subf": 5000},
        {"arith.mulf": 4, "arith.addf": 4},
        # A constant has one element for all points.
        {"arith.mulf": 5000, "arith.addf": 10000},
    ]


def on_f32(op: OpDefinition, shape: str) -> str:
    """Return a program of one op whose operands and results are all f32."""
    type_ = f"tensor<{shape}f32>" if shape else "f32"
    taken, made = (", ".join([type_] * len(slots)) for slots in (op.operands, op.results))
    names = [f"%a{number}" for number in range(len(op.operands))]
    arguments = ", ".join(f"{name}: {type_}" for name in names)
    return f"""func.func @f({arguments}) -> ({made}) {{
      %r:{len(op.results)} = "{op.name}"({", ".join(names)}) : ({taken}) -> ({made})
      return {", ".join(f"%r#{number}" for number in range(len(op.results)))} : {made}
    }}"""


@pytest.mark.long
@pytest.mark.parametrize("shape", ["", "3x"])
def test_every_op_on_floats_is_recorded(shape: str) -> None:
    names = set()
    ops = [op for dialect in default_registry().dialects.values() for op in dialect.ops.values()]
    for op in ops:
        if isinstance(op.evaluate, Elementwise) and op.operands and not op.name.startswith(("index.", "affine.")):
            try:
                text = on_f32(op, shape)
                hu.parse(text)
            except hu.HalfulpError:
                continue  # it takes other types
            found = recorded(text, *[numbers(3) if shape else 0.75] * len(op.operands))
            found.check()
            for number, value in enumerate(found.values):
                assert value.open is not None, op.name
                for id_ in map(int, value.open.flat):
                    node = found.lineage.node(id_)
                    assert isinstance(node, Node)
                    assert (node.op.name, node.result) == (op.name, number)
                    leaves = [found.lineage.node(operand.id) for operand in node.operands]
                    assert [leaf.argument for leaf in leaves if isinstance(leaf, Leaf)] == [*range(len(op.operands))]
            names.add(op.name)
    assert len(names) > (45 if shape else 80)


# --- histories of programs --------------------------------------------------------------------------------------------
#
# The history of a number in balls: it encloses the exact number in all formats, f80 and f128 as well.

PLACES = 2
"""The elements of a result that are looked at: each one's history is a run of its own."""


def outside(seed: int, formats: dict[str, int]) -> tuple[list[str], int]:
    """Run a program; return which histories do not enclose the exact number, and how many know it."""
    program, lineage = random_program(seed, 12, seed % 2 == 0, formats), Lineage()
    module = hu.parse(program.text)
    run = program_for(module, Settings(recorder=lineage))
    results = run.run(find_entry(module, None), program.arguments)
    wrong, known = [], 0
    for step, value, exact in zip(program.steps, results, program.exact(results), strict=True):
        codes, ids = codes_to_ints(value.bits, ty.width_of(value.element_type)), value.open
        assert ids is not None
        for number, place in enumerate(list(np.ndindex(program.shape))[:PLACES]):
            if value.poisoned[place]:
                continue
            end = Attribution(lineage, int(ids[place]), value.element_type, codes[number]).end
            if end is None or not end.exact.is_finite():
                continue
            known += 1
            with bits_of_precision(BITS):
                if not exact[place].is_finite() or not end.exact.overlaps(exact[place]):
                    wrong.append(
                        f"{step} {place}: {number_of(value)[place]} {end.exact.str(20)} {exact[place].str(20)}"
                    )
    return wrong, known


@pytest.mark.long
@pytest.mark.parametrize("formats", [WIDE_FORMATS, FORMATS], ids=["wide", "all"])
def test_histories(formats: dict[str, int]) -> None:
    known = 0
    for seed in range(60):
        wrong, count = outside(seed, formats)
        assert not wrong, (seed, wrong[:3])
        known += count
    assert known > 300


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(1_000, 11_000, 1_000))
def test_many_histories(first: int) -> None:
    for seed in range(first, first + 1_000):
        wrong, _ = outside(seed, WIDE_FORMATS if seed % 3 else FORMATS)
        assert not wrong, (seed, wrong[:3])


# --- long histories ---------------------------------------------------------------------------------------------------


def both(
    text: str, *arguments: Any, result: int = 0, place: tuple[int, ...] = ()
) -> tuple[Attribution, ArrayAttribution]:
    """Return the history of a number by balls and by arrays."""
    module, lineage = hu.parse(text), Lineage()
    given = [hu.convert(each, "f32") for each in arguments]
    value = program_for(module, Settings(recorder=lineage)).run(find_entry(module, None), given)[result]
    code = int(value.bits[place])
    assert value.open is not None
    wanted = lineage, int(value.open[place]), value.element_type, code
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(array_attribution, "FEWEST_EACH", 0)
        return Attribution(*wanted), ArrayAttribution(*wanted)


LONG = {
    "chain": """%0 = arith.mulf %x, %y : {t} %1 = arith.addf %0, %x : {t} %2 = arith.divf %1, %y : {t}
      %3 = math.exp %2 : {t} %4 = math.tanh %0 : {t} %5 = math.fma %3, %4, %0 : {t} %6 = arith.subf %5, %3 : {t}""",
    "shared": """%0 = arith.divf %x, %y : {t} %1 = arith.mulf %0, %0 : {t} %2 = arith.mulf %1, %0 : {t}
      %3 = arith.maximumf %2, %1 : {t} %4 = math.copysign %3, %x : {t} %5 = math.sqrt %1 : {t} %6 = arith.addf %4, %5 : {t}""",
    "narrow": """%h = arith.truncf %x : {t} to {h} %e = arith.extf %h : {h} to {t} %0 = arith.mulf %e, %y : {t}
      %i = arith.fptosi %y : {t} to {i} %f = arith.sitofp %i : {i} to {t} %6 = arith.addf %0, %f : {t}""",
}


@pytest.mark.parametrize("fold", ["arith.addf", "arith.maximumf", "arith.mulf"])
@pytest.mark.parametrize("name", thinned(LONG, 3))
def test_arrays_find_what_balls_find(name: str, fold: str) -> None:
    """The effects of all ops, and the errors and weights of all numbers; all in f64, so not to the last bit."""
    t, h, i = (f"tensor<3x50x{each}>" for each in ("f32", "bf16", "i32"))
    ops = LONG[name].format(t=t, h=h, i=i)
    start = "dense<1.0>" if fold == "arith.mulf" else "dense<0.1>"
    text = f"""func.func @f(%x: {t}, %y: {t}) -> tensor<3xf32> {{
      {ops}
      %z = arith.constant {start} : tensor<3xf32>
      %r = linalg.reduce {{ {fold} }} ins(%6 : {t}) outs(%z : tensor<3xf32>) dimensions = [1]
      %q = arith.addf %r, %z : tensor<3xf32>
      return %q : tensor<3xf32>
    }}"""
    rng = np.random.default_rng(5)
    x, y = rng.uniform(0.5, 1.5, (2, 3, 50)).astype(np.float32)
    balls, arrays = both(text, x, y, place=(1,))
    assert balls.end is not None
    assert arrays.end is not None
    assert arrays.end.error == pytest.approx(balls.end.error, rel=1e-9)
    effects: dict[Any, float] = {}
    for each in balls.effects():
        effects[each.op] = effects.get(each.op, 0.0) + each.effect
    found: dict[Any, float] = {}
    for each in arrays.effects():
        found[each.op] = found.get(each.op, 0.0) + each.effect
    scale = max(map(abs, effects.values()))
    assert found == pytest.approx({op: effects.get(op, 0.0) for op in found}, abs=1e-9 * scale)
    assert sum(found.values()) == pytest.approx(arrays.end.error, rel=1e-9)
    for share in balls.in_order():
        made = arrays.share(share.id)
        assert made is not None
        assert made.error == pytest.approx(share.error, rel=1e-6, abs=1e-15)
        assert made.weight == pytest.approx(share.weight, rel=1e-6, abs=1e-12)


@each_row(
    ("%i = arith.bitcast %0 : {t} to {i} %1 = arith.bitcast %i : {i} to {t}", "numbers of other types"),
    ("%i = arith.fptosi %0 : {t} to {i} %j = arith.muli %i, %i : {i} %1 = arith.sitofp %j : {i} to {t}", "wrapped"),
    ("%i = math.exp %0 : {t} %j = arith.mulf %i, %i : {t} %1 = math.sin %j : {t}", "more bits"),
)
def test_what_arrays_leave_to_balls(ops: str, what: str) -> None:
    t, i = "tensor<50xf32>", "tensor<50xi32>"
    text = f"func.func @f(%x: {t}) -> {t} {{ %0 = arith.mulf %x, %x : {t} {ops.format(t=t, i=i)} return %1 : {t} }}"
    with pytest.raises(hu.Unsupported, match=what):
        both(text, np.full(50, 300.1 if what == "wrapped" else 6.1), place=(3,))
