"""Structured ops: whole arrays and single points give the same, which is what the loops of real MLIR give."""

import re
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from amounts import amounts, thinned
from batches import agree
from code_of_programs import run_loops, same_numbers
from random_generics import Case, argument, generic
from tables import each_row

import halfulp as hu
from halfulp.interp.dialects.structured import arrays, evaluate


@pytest.fixture(params=["arrays", "points"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The two ways to run a structured op."""
    name: str = request.param
    if name == "points":
        monkeypatch.setattr(evaluate, "plan_of", lambda structure: None)
    return name


def outcome(case: Case, memrefs: bool, **options: Any) -> tuple[hu.Value, ...] | None:
    """Run a program anew; None for undefined behaviour."""
    given = [hu.Buffer.from_numpy(each) if memrefs else each for each in case.arguments]
    try:
        results = hu.run(hu.parse(case.text), *given, **options)
    except hu.UndefinedBehavior:
        return None
    return tuple(each.load() for each in given if isinstance(each, hu.Buffer)) if memrefs else results


def unspecified(value: hu.Value) -> list[int]:
    """Return the mask of unspecified elements."""
    return [0] * value.size if value.open is None else [int(mask) for mask in np.ravel(value.open)]


def check_both_ways(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Assert that a random program gives the same both ways, with blocks of a few points."""
    memrefs = seed % 3 == 0
    case = generic(seed, memrefs)
    options: dict[str, Any] = {"track_open": seed % 5 == 1, "on_ub": ("raise", "poison")[seed % 2]}
    options["profile"] = "mlir22-fold" if seed % 7 == 3 else "spec"
    with monkeypatch.context() as patch:
        patch.setattr(arrays, "AT_ONCE", seed % 11 + 1)
        patch.setattr(arrays, "ONE_BLOCK", seed % 11 + 1)
        patch.setattr(arrays, "LANES", 16 * (seed % 2))
        by_arrays = outcome(case, memrefs, **options)
        patch.setattr(evaluate, "plan_of", lambda structure: None)
        by_points = outcome(case, memrefs, **options)
    assert by_arrays == by_points, case.text
    for one, other in zip(by_arrays or (), by_points or (), strict=True):
        assert unspecified(one) == unspecified(other), case.text


@pytest.mark.parametrize("seeds", amounts(range(10), range(50, 10_000), long=range(10, 50)), ids=len)
def test_both_ways_agree(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random bodies, maps and types."""
    for seed in seeds:
        check_both_ways(seed, monkeypatch)


def columns_of(case: Case, seed: int, lanes: int) -> Iterator[hu.Value]:
    """Make arguments for several lanes."""
    rng = np.random.default_rng(seed)
    for one in case.arguments:
        type_ = str(one.element_type)
        rows = [argument(rng, one.shape, type_, False).bits for _ in range(lanes)]
        yield hu.Value.from_bits(np.stack(rows), type_)


@pytest.mark.parametrize("seed", thinned(range(12), 4))
def test_batches_agree_with_their_lanes(seed: int, way: str) -> None:
    """A lane of a batch gets what it gets alone."""
    case = generic(seed)
    agree(case.text, *columns_of(case, seed, 3), track_open=seed % 3 == 1, on_ub=("raise", "poison")[seed % 2])


def returning(case: Case) -> str:
    """Return the program of a generic on memrefs, changed to return those that it writes."""
    outs = re.search(r"outs\(([^:]*) : (.*)\) \{", case.text)
    assert outs is not None
    text = case.text.replace(") {\n", f") -> ({outs[2]}) {{\n", 1)
    return text.replace("  return ", f"  return {outs[1]} : {outs[2]}")


@pytest.mark.parametrize("seed", thinned(range(8), 4))
def test_batches_of_memrefs_agree_with_their_lanes(seed: int, way: str) -> None:
    """Each lane has its own memory."""
    case = generic(seed, memrefs=True)
    agree(returning(case), *columns_of(case, seed, 3), on_ub="poison")


@pytest.mark.mlir
@pytest.mark.parametrize("seeds", [range(50), pytest.param(range(50, 200), marks=pytest.mark.exhaustive)])
def test_loops_of_mlir_give_the_same(seeds: range) -> None:
    """Random programs on memrefs, beside mlir-runner after --convert-linalg-to-loops."""
    cases = [generic(seed, memrefs=True, plain=True) for seed in seeds]
    for case, rows in zip(cases, run_loops([(case.text, case.arguments) for case in cases]), strict=True):
        results = outcome(case, True)
        assert results is not None
        for value, row in zip(results, rows, strict=True):
            assert same_numbers(value, row, case.text), case.text


# --- orders -----------------------------------------------------------------------------------------------------------


def reduction(combine: str, type_: str, element_first: bool = False, seed: int = 0) -> str:
    """Write a reduction along the middle of three dimensions."""
    pair = "%x, %acc" if element_first else "%acc, %x"
    return f"""
#in = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d2)>
func.func @f(%a: tensor<?x?x?x{type_}>, %c: tensor<?x?x{type_}>) -> tensor<?x?x{type_}> {{
  %0 = linalg.generic {{indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction", "parallel"]}}
    ins(%a : tensor<?x?x?x{type_}>) outs(%c : tensor<?x?x{type_}>) {{
  ^bb0(%x: {type_}, %acc: {type_}):
    %s = {combine} {pair} : {type_}
    linalg.yield %s : {type_}
  }} -> tensor<?x?x{type_}>
  return %0 : tensor<?x?x{type_}>
}}
"""


def folded(name: str, first: hu.Value, rows: hu.Value, element_first: bool) -> hu.Value:
    """Combine element by element with hu.eval."""
    total = first
    for row in range(rows.shape[1]):
        pair = (rows[:, row], total) if element_first else (total, rows[:, row])
        total = hu.eval(name, *pair)
    return total


SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.0, -1.5], np.float32)


@pytest.mark.parametrize("element_first", [False, True])
@pytest.mark.parametrize("name", thinned(["addf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf", "subf"], 4))
def test_fold_in_sequence(name: str, element_first: bool) -> None:
    """Each combination is rounded once, in order, with NaNs, infinities and zeros of both signs."""
    rng = np.random.default_rng(1)
    numbers = np.where(rng.random((3, 40, 7)) < 0.1, rng.choice(SPECIAL, (3, 40, 7)), rng.standard_normal((3, 40, 7)))
    # Signalling NaNs too.
    bits = numbers.astype(np.float32).view(np.uint32)
    bits = np.where(rng.random(bits.shape) < 0.005, np.uint32(0x7F800123), bits)
    rows, first = hu.Value.from_bits(bits, "f32"), hu.Value.from_bits(bits[:, 0] ^ np.uint32(1 << 31), "f32")
    (found,) = hu.run(reduction(f"arith.{name}", "f32", element_first), rows, first)
    assert found == folded(f"arith.{name}", first, rows, element_first)


@pytest.mark.parametrize("element_first", [False, True])
@pytest.mark.parametrize(
    "mode", thinned(["downward", "upward", "toward_zero", "to_nearest_away", "to_nearest_even"], 4)
)
@pytest.mark.parametrize("name", ["addf", "mulf"])
def test_fold_with_a_rounding_mode(name: str, mode: str, element_first: bool) -> None:
    """Each combination is rounded by the mode of the op."""
    numbers = np.random.default_rng(4).standard_normal((2, 30, 40))
    rows, first = hu.convert(numbers, "f16"), hu.convert(numbers[:, 1] * 3, "f16")
    (found,) = hu.run(
        reduction(f"arith.{name}", "f16", element_first).replace(" : f16\n    linalg", f" {mode} : f16\n    linalg"),
        rows,
        first,
    )
    total = first
    for row in range(rows.shape[1]):
        total = hu.eval(f"arith.{name}", total, rows[:, row], rounding=mode)
    assert found == total


def test_the_exact_order_has_no_other_mode() -> None:
    text = reduction("arith.addf", "f16").replace(" : f16\n    linalg", " upward : f16\n    linalg")
    rows, first = hu.convert(np.ones((1, 3, 2)), "f16"), hu.convert(np.zeros((1, 2)), "f16")
    with pytest.raises(hu.Unsupported, match="this addition has another rounding mode"):
        hu.run(text, rows, first, profile=hu.Profile(reduction_order="exact"))


@pytest.mark.parametrize("name", ["addi", "muli", "andi", "xori", "maxsi", "minui", "subi"])
def test_fold_of_integers(name: str) -> None:
    """Wrapping integers of 8 bits."""
    rng = np.random.default_rng(2)
    rows = hu.Value.from_bits(rng.integers(0, 256, (2, 33, 5)).astype(np.uint8), "i8")
    first = hu.Value.from_bits(rng.integers(0, 256, (2, 5)).astype(np.uint8), "i8")
    (found,) = hu.run(reduction(f"arith.{name}", "i8"), rows, first)
    assert found == folded(f"arith.{name}", first, rows, False)


@pytest.mark.parametrize("order", ["sequential", "pairwise", "exact", "open"])
@pytest.mark.parametrize("type_", ["f32", "bf16", "f8E5M2"])
def test_reduction_order_of_a_profile(order: str, type_: str) -> None:
    """The field `reduction_order` gives what `halfulp.sum` gives in that order."""
    rng = np.random.default_rng(3)
    rows = hu.convert(rng.standard_normal((2, 37, 3)) * 4, type_)
    first = hu.convert(np.zeros((2, 3)), type_)
    text = reduction("arith.addf", type_)
    (found,) = hu.run(text, rows, first, profile=hu.Profile(reduction_order=order))
    expected = hu.sum(rows, axis=1, acc=type_, order=order)
    assert np.array_equal(found.bits, expected.bits)
    # An axis of size 1 in place of the one that is summed.
    text = text.replace("(d0, d2)>", "(d0, 0, d2)>").replace(f"tensor<?x?x{type_}>", f"tensor<?x1x?x{type_}>")
    (found,) = hu.run(text, rows, first[:, np.newaxis], profile=hu.Profile(reduction_order=order))
    assert np.array_equal(found.bits, expected.bits[:, np.newaxis])


def test_open_order_marks_what_depends_on_it() -> None:
    """With `track_open`, sums of several terms in any order are unspecified."""
    rows, first = hu.convert(np.ones((1, 3, 2)), "f32"), hu.convert(np.zeros((1, 2)), "f32")
    profile = hu.Profile(reduction_order="open")
    text = reduction("arith.addf", "f32")
    (found,) = hu.run(text, rows, first, profile=profile, track_open=True)
    assert unspecified(found) == [4, 4]
    (found,) = hu.run(text, rows[:, :1], first, profile=profile, track_open=True)
    assert unspecified(found) == [0, 0]


# --- errors and corners -----------------------------------------------------------------------------------------------


def test_division_by_zero_names_the_iteration(way: str) -> None:
    """The report has the indices of the point and the operands."""
    text = reduction("arith.divsi", "i32")
    rows = np.array([[[1, 1], [2, 0]]], np.int32)
    with pytest.raises(hu.UndefinedBehavior) as caught:
        hu.run(text, rows, np.array([[8, 8]], np.int32))
    assert "division by zero" in caught.value.message
    assert "at iteration [0, 1, 1]" in caught.value.message
    assert "lhs = 8, rhs = 0" in caught.value.message


def test_shapes_that_do_not_fit(way: str) -> None:
    """The report names both operands and both sizes."""
    with pytest.raises(hu.UndefinedBehavior) as caught:
        hu.run(reduction("arith.addf", "f32"), np.zeros((2, 3, 4), np.float32), np.zeros((2, 5), np.float32))
    assert "dimension 2 of operand #0 has 4 elements, and dimension 1 of operand #1 has 5" in caught.value.message


GATHER = """
func.func @f(%t: tensor<?xf32>, %i: tensor<?xindex>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %i, %c0 : tensor<?xindex>
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%i : tensor<?xindex>) outs(%e : tensor<?xf32>) {
  ^bb0(%k: index, %o: f32):
    %x = tensor.extract %t[%k] : tensor<?xf32>
    linalg.yield %x : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""


def test_gather(way: str) -> None:
    """tensor.extract in a body takes another element at each point."""
    table = np.arange(5, dtype=np.float32) * 10
    (found,) = hu.run(GATHER, table, np.array([4, 0, 2]))
    assert found.tolist() == [40, 0, 20]
    with pytest.raises(hu.UndefinedBehavior, match=r"index \[-1\] is outside the shape 5.*at iteration \[1\]"):
        hu.run(GATHER, table, np.array([4, -1, 9]))


@pytest.mark.parametrize(
    ("indices", "start", "message"),
    [
        ("%i, %c7", 2, r"index \[2, 7\] is outside the shape 5x1"),
        ("%c7, %i", -2, r"index \[7, -2\] is outside the shape 5x1"),
        ("%i, %i", 5, r"index \[5, 5\] is outside the shape 5x1"),
        ("%c7, %c7", 0, r"index \[7, 7\] is outside the shape 5x1"),
        ("%i, %p", 0, "an index is poison"),
        ("%p, %i", 0, "an index is poison"),
    ],
)
def test_an_index_that_is_the_same_at_all_points_is_outside(indices: str, start: int, message: str, way: str) -> None:
    program = f"""func.func @f(%t: tensor<5x1xf32>, %k: tensor<i32>) -> tensor<10xf32> {{
  %c7 = arith.constant 7 : index
  %p = ub.poison : index
  %e = tensor.empty() : tensor<10xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
    ins(%k : tensor<i32>) outs(%e : tensor<10xf32>) {{
  ^bb0(%in: i32, %out: f32):
    %i = arith.index_cast %in : i32 to index
    %x = tensor.extract %t[{indices}] : tensor<5x1xf32>
    linalg.yield %x : f32
  }} -> tensor<10xf32>
  return %r : tensor<10xf32>
}}"""
    with pytest.raises(hu.UndefinedBehavior, match=f"{message}.*at iteration \\[0\\]"):
        hu.run(program, np.ones((5, 1), np.float32), np.int32(start))


def on_memref(maps: tuple[str, str], body: str, sizes: tuple[int, int]) -> str:
    """Write a generic on two parts of one memref, shifted by an element."""
    one, other = maps
    return f"""
func.func @f(%m: memref<5xi32>) {{
  %a = memref.subview %m[{sizes[0]}] [4] [1] : memref<5xi32> to memref<4xi32, strided<[1], offset: {sizes[0]}>>
  %b = memref.subview %m[{sizes[1]}] [4] [1] : memref<5xi32> to memref<4xi32, strided<[1], offset: {sizes[1]}>>
  linalg.generic {{indexing_maps = [affine_map<{one}>, affine_map<{other}>], iterator_types = ["parallel"]}}
    ins(%a : memref<4xi32, strided<[1], offset: {sizes[0]}>>) outs(%b : memref<4xi32, strided<[1], offset: {sizes[1]}>>) {{
  ^bb0(%x: i32, %o: i32):
    {body}
  }}
  return
}}
"""


@pytest.mark.parametrize(
    ("maps", "offsets", "expected"),
    [
        (("(i) -> (i)", "(i) -> (i)"), (0, 1), [1, 3, 6, 10, 15]),  # each sum is read by the next point
        (("(i) -> (i)", "(i) -> (i)"), (1, 0), [3, 5, 7, 9, 5]),
        (("(i) -> (i)", "(i) -> (i)"), (0, 0), [2, 4, 6, 8, 5]),
        (("(i) -> (-i + 3)", "(i) -> (i)"), (0, 0), [5, 5, 8, 9, 5]),
    ],
)
def test_operands_that_share_memory(
    maps: tuple[str, str], offsets: tuple[int, int], expected: list[int], way: str
) -> None:
    """Elements are read and written in the order of the loops."""
    buffer = hu.Buffer.from_numpy(np.arange(1, 6, dtype=np.int32))
    body = "%s = arith.addi %x, %o : i32\n    linalg.yield %s : i32"
    hu.run(on_memref(maps, body, offsets), buffer)
    assert buffer.numpy().tolist() == expected


def test_last_write_stays() -> None:
    """Several points write one element: the last one in the order of the loops stays."""
    text = """
func.func @f(%a: tensor<2x3xi32>, %c: tensor<4xi32>, %d: tensor<2xi32>) -> (tensor<4xi32>, tensor<2xi32>) {
  %0:2 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i + j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<2x3xi32>) outs(%c, %d : tensor<4xi32>, tensor<2xi32>) {
  ^bb0(%x: i32, %o: i32, %p: i32):
    linalg.yield %x, %x : i32, i32
  } -> (tensor<4xi32>, tensor<2xi32>)
  return %0#0, %0#1 : tensor<4xi32>, tensor<2xi32>
}
"""
    given = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
    one, other = hu.run(text, given, np.zeros(4, np.int32), np.zeros(2, np.int32))
    assert (one.tolist(), other.tolist()) == ([1, 4, 5, 6], [3, 6])


def test_poison_stays_at_its_point(way: str) -> None:
    """An element that was never written spoils the sum that it enters, and no other."""
    text = """
func.func @f(%x: tensor<2x3xf32>, %i: tensor<3xi32>) -> (tensor<3xi32>, tensor<2xf32>) {
  %e = tensor.empty() : tensor<3xi32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%i : tensor<3xi32>) outs(%e : tensor<3xi32>) {
  ^bb0(%k: i32, %o: i32):
    %c = arith.constant 1 : i32
    %s = arith.shli %c, %k : i32
    linalg.yield %s : i32
  } -> tensor<3xi32>
  %f = tensor.empty() : tensor<2xf32>
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %g = tensor.insert %one into %f[%c1] : tensor<2xf32>
  %1 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<2x3xf32>) outs(%g : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<2xf32>
  return %0, %1 : tensor<3xi32>, tensor<2xf32>
}
"""
    shifted, sums = hu.run(text, np.ones((2, 3), np.float32), np.array([3, 40, 4], np.int32))
    assert shifted.poisoned.tolist() == [False, True, False]
    assert sums.poisoned.tolist() == [True, False]
    origin = shifted.origin(1)
    assert origin is not None
    assert (origin.op, origin.element) == ("arith.shli", (1,))
    assert sums[1].item() == 4.0


SAME_AT_ALL_POINTS = """
func.func @f(%t: tensor<2xi32>, %z: i32) -> tensor<2xi32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%t : tensor<2xi32>) {
  ^bb0(%x: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %d = arith.divsi %c1, WHICH : i32
    %s = arith.addi %x, %d : i32
    linalg.yield %s : i32
  } -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
"""


@pytest.mark.parametrize("which", ["%c0", "%z"])
def test_an_error_that_no_point_and_no_lane_decides(which: str, way: str) -> None:
    """A division whose operands come from outside fails at the first point, in all lanes."""
    text = SAME_AT_ALL_POINTS.replace("WHICH", which)
    rows = np.zeros((3, 2), np.int32)
    with pytest.raises(hu.UndefinedBehavior, match=r"division by zero.*at iteration \[0\]"):
        hu.run(text, rows[0], 0)
    with pytest.raises(hu.UndefinedBehavior, match=r"division by zero.*\(lane 0; 3 of 3 lanes\)"):
        hu.run(text, rows, 0, batch=True)
    (found,) = hu.run(text, rows[0], 0, on_ub="poison")
    assert found.poisoned.tolist() == [True, True]


OUTSIDE_IN_ALL_LANES = """
func.func @f(%t: tensor<3xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%c : tensor<4xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %x = tensor.extract %t[%i] : tensor<3xf32>
    linalg.yield %x : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def test_errors_of_what_lanes_share_name_all_of_them(way: str) -> None:
    """An index, or shapes, that are the same in all lanes."""
    with pytest.raises(hu.UndefinedBehavior, match=r"index \[3\] is outside.*2 of 2 lanes"):
        hu.run(OUTSIDE_IN_ALL_LANES, np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32), batch=True)
    rows, first = np.zeros((2, 2, 3, 4), np.float32), np.zeros((2, 2, 5), np.float32)
    with pytest.raises(hu.UndefinedBehavior, match="different shapes.*2 of 2 lanes") as caught:
        hu.run(reduction("arith.addf", "f32"), rows, first, batch=True)
    assert caught.value.lanes is not None
    assert caught.value.lanes.tolist() == [0, 1]


def test_the_origin_of_poison_that_is_read_again() -> None:
    """Poison that a point wrote keeps its own origin where a later point reads it, beside poison of another op."""
    text = """
func.func @f(%a: tensor<2x2xf32>, %o: tensor<2xf32>) -> tensor<2xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (1)>],
                       iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<2x2xf32>) outs(%o : tensor<2xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = ub.poison : f32
    %m = arith.maximumf %y, %x fastmath<ninf> : f32
    linalg.yield %m : f32
  } -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""
    (found,) = hu.run(text, np.array([[1, np.inf], [3, 4]], np.float32), np.zeros(2, np.float32))
    origin = found.origin(1)
    assert origin is not None
    assert (origin.op, origin.element) == ("arith.maximumf", (0, 1))


@each_row(
    ("(i) -> (i)>, affine_map<(i, j) -> (j)", 1, "expected indexing_map #1 to have 1 dim"),
    ("(i) -> (i)>, affine_map<(i, j) -> (i)", 1, "invalid indexing maps are non-invertible: ((d0, d1) -> (d0, d0))"),
    (
        "() -> ()>, affine_map<() -> ()",
        0,
        "expected operand #0 rank (1) to match the result rank of indexing_map (0)",
    ),
)
def test_maps_that_do_not_fit(maps: str, iterators: int, message: str) -> None:
    """The messages are those of mlir-opt."""
    text = f"""
func.func @f(%a: tensor<2xi1>, %b: tensor<2xi1>) -> tensor<2xi1> {{
  %0 = linalg.generic {{indexing_maps = [affine_map<{maps}>], iterator_types = [{", ".join(['"parallel"'] * iterators)}]}}
    ins(%a : tensor<2xi1>) outs(%b : tensor<2xi1>) {{
  ^bb0(%x: i1, %y: i1):
    linalg.yield %x : i1
  }} -> tensor<2xi1>
  return %0 : tensor<2xi1>
}}
"""
    with pytest.raises(hu.errors.VerifyError, match=re.escape(message)):
        hu.parse(text)


def test_no_points() -> None:
    """A reduction of nothing gives the init; a parallel dimension without points gives nothing."""
    text = reduction("arith.addf", "f32")
    (found,) = hu.run(text, np.zeros((2, 0, 2), np.float32), np.full((2, 2), 3, np.float32))
    assert found.tolist() == [[3, 3], [3, 3]]
    (found,) = hu.run(text, np.zeros((0, 4, 2), np.float32), np.zeros((0, 2), np.float32))
    assert found.shape == (0, 2)


def test_too_many_points() -> None:
    """A space too large to walk is refused at once."""
    text = """
func.func @f(%a: tensor<100000xi8>, %b: tensor<100000xi8>, %c: tensor<100000xi8>, %o: tensor<i8>) -> tensor<i8> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (j)>, affine_map<(i, j, k) -> (k)>,
                       affine_map<(i, j, k) -> ()>],
      iterator_types = ["reduction", "reduction", "reduction"]}
    ins(%a, %b, %c : tensor<100000xi8>, tensor<100000xi8>, tensor<100000xi8>) outs(%o : tensor<i8>) {
  ^bb0(%x: i8, %y: i8, %z: i8, %p: i8):
    %s = arith.addi %p, %x : i8
    linalg.yield %s : i8
  } -> tensor<i8>
  return %0 : tensor<i8>
}
"""
    columns = [np.zeros(100_000, np.int8)] * 3
    with pytest.raises(hu.errors.LimitExceeded, match="ran more than"):
        hu.run(text, *columns, np.zeros((), np.int8))


def test_traces(way: str) -> None:
    """On whole arrays an op is one step; point by point its body has steps. Lanes of a batch have values of their own."""
    text = reduction("arith.addf", "f32")
    rows, first = np.ones((1, 3, 1), np.float32), np.zeros((1, 1), np.float32)
    traced = hu.trace(text, rows, first)
    ops = [step.site.op for step in traced.steps]
    assert ("linalg.generic" in ops, ops.count("arith.addf")) == (True, 0 if way == "arrays" else 3)
    assert traced.results[0].tolist() == [[3]]
    lanes = hu.trace(text, np.stack([rows, rows * 2]), np.stack([first, first]), batch=True)
    assert lanes.results[0].tolist() == [[[3]], [[6]]]


def test_memory_is_bounded() -> None:
    """A space of 16 million points takes a few blocks of at most a million."""
    text = """
func.func @f(%a: tensor<64x4096xf32>, %b: tensor<4096x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<64x4096xf32>, tensor<4096x64xf32>) outs(%c : tensor<64x64xf32>)
    -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}
"""
    module = hu.parse(text)
    given = np.ones((64, 4096), np.float32), np.ones((4096, 64), np.float32), np.zeros((64, 64), np.float32)
    tracemalloc.start()
    try:
        (found,) = hu.run(module, *given)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.numpy().tolist() == np.full((64, 64), 4096.0).tolist()
    assert most < 4 * 4 * arrays.AT_ONCE


TYPES = """
func.func @f(%c: tensor<2x3xcomplex<f32>>, %i: tensor<2x3xi128>, %r: tensor<2xcomplex<f32>>, %s: tensor<2xi128>)
    -> (tensor<2xcomplex<f32>>, tensor<2xi128>) {
  %0:2 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                       affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
    ins(%c, %i : tensor<2x3xcomplex<f32>>, tensor<2x3xi128>) outs(%r, %s : tensor<2xcomplex<f32>>, tensor<2xi128>) {
  ^bb0(%x: complex<f32>, %y: i128, %a: complex<f32>, %b: i128):
    %t = complex.add %a, %x : complex<f32>
    %three = arith.constant 3 : i128
    %m = arith.muli %y, %three : i128
    %u = arith.addi %b, %m : i128
    linalg.yield %t, %u : complex<f32>, i128
  } -> (tensor<2xcomplex<f32>>, tensor<2xi128>)
  return %0#0, %0#1 : tensor<2xcomplex<f32>>, tensor<2xi128>
}
"""


def test_elements_of_several_words(way: str) -> None:
    """Complex numbers and wide integers have more axes."""
    numbers = np.arange(6).reshape(2, 3)
    zeros = hu.convert(np.zeros(2, np.int64), "i128")
    given = (numbers * (1 + 2j)).astype(np.complex64), hu.convert(numbers, "i128"), np.zeros(2, np.complex64), zeros
    one, other = hu.run(TYPES, *given)
    assert other.tolist() == [9, 36]
    assert str(one) == "Value(2xcomplex<f32>=(3,6) (12,24))"
    kept = """
    func.func @f(%a: tensor<4xi128>, %i: tensor<i128>) -> tensor<i128> {
      %r = linalg.reduce ins(%a : tensor<4xi128>) outs(%i : tensor<i128>) dimensions = [0]
        (%x: i128, %b: i128) { linalg.yield %b : i128 }
      return %r : tensor<i128>
    }"""
    (seven,) = hu.run(kept, hu.convert(range(4), "i128"), hu.convert(7, "i128"))
    assert seven.tolist() == 7
