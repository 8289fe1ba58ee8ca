"""What the ops of the vector dialect compute: moves, masks, memory and combinations, with poison, faults and lanes."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from tables import each_row

import halfulp as hu


def run(signature: str, body: str, *arguments: Any, **options: Any) -> tuple[hu.Value, ...]:
    """Run a body that ends in a return."""
    return hu.run(f"func.func @f{signature} {{\n{body}\n}}", *arguments, **options)


def result(signature: str, body: str, *arguments: Any, **options: Any) -> Any:
    (value,) = run(signature, body, *arguments, **options)
    return value.numpy()


A = np.arange(24, dtype=np.int32).reshape(2, 3, 4)

# --- moves ------------------------------------------------------------------------------------------------------------

MOVES = {
    "vector.transpose %a, [2, 0, 1] : vector<2x3x4xi32> to vector<4x2x3xi32>": A.transpose(2, 0, 1),
    "vector.shape_cast %a : vector<2x3x4xi32> to vector<6x1x4xi32>": A.reshape(6, 1, 4),
    "vector.broadcast %a : vector<2x3x4xi32> to vector<2x2x3x4xi32>": np.stack([A, A]),
    "vector.extract_strided_slice %a {offsets = [1, 1], sizes = [1, 2], strides = [1, 1]} : "
    "vector<2x3x4xi32> to vector<1x2x4xi32>": A[1:, 1:],
    "vector.shuffle %a, %a [3, 0, 2] : vector<2x3x4xi32>, vector<2x3x4xi32>": A[[1, 0, 0]],
    "vector.interleave %a, %a : vector<2x3x4xi32> -> vector<2x3x8xi32>": A.repeat(2, axis=2),
    "vector.bitcast %a : vector<2x3x4xi32> to vector<2x3x16xi8>": A.view(np.int8),
    "vector.bitcast %a : vector<2x3x4xi32> to vector<2x3x2xi64>": A.view(np.int64),
}


@pytest.mark.parametrize("op", MOVES)
def test_elements_move(op: str) -> None:
    type_ = op.rpartition(" to ")[2] if " to " in op else op.rpartition(" -> ")[2]
    if "shuffle" in op:
        type_ = "vector<3x3x4xi32>"
    got = result(f"(%a: vector<2x3x4xi32>) -> {type_}", f"%0 = {op}\nreturn %0 : {type_}", A)
    np.testing.assert_array_equal(got, MOVES[op])


def test_bits_of_any_width_are_regrouped_with_their_poison() -> None:
    text = """
      %p = ub.poison : i5
      %v = vector.from_elements %a, %p, %b : vector<3xi5>
      %0 = vector.bitcast %v : vector<3xi5> to vector<5xi3>
      %1 = vector.bitcast %w : vector<3xi80> to vector<2xi120>
      return %0, %1 : vector<5xi3>, vector<2xi120>"""
    wide = [1 << 79 | 5, 3, 1 << 40]
    narrow, wider = run(
        "(%a: i5, %b: i5, %w: vector<3xi80>) -> (vector<5xi3>, vector<2xi120>)",
        text,
        hu.Value.from_bits(0b10110, "i5"),
        hu.Value.from_bits(0b00111, "i5"),
        hu.Value.from_bits(wide, "vector<3xi80>"),
    )
    # The bits of the elements 10110, ?????, 00111, the lowest first, are 01101 ????? 11100.
    assert narrow.poisoned.tolist() == [False, True, True, True, False]
    assert [narrow.bitstring(k).bin for k in (0, 4)] == ["110", "001"]
    joined = sum(code << 80 * place for place, code in enumerate(wide))
    assert [wider.bitstring(k).uint for k in (0, 1)] == [joined & (1 << 120) - 1, joined >> 120]


def test_a_place_of_minus_one_is_poison() -> None:
    text = """
      %0 = vector.shuffle %v, %v [-1, 2, -1] : vector<4xi8>, vector<4xi8>
      %1 = vector.extract %v[-1] : i8 from vector<4xi8>
      %2 = vector.insert %1, %v[-1] : i8 into vector<4xi8>
      return %0, %1, %2 : vector<3xi8>, i8, vector<4xi8>"""
    shuffled, taken, put = run(
        "(%v: vector<4xi8>) -> (vector<3xi8>, i8, vector<4xi8>)", text, np.arange(4, dtype=np.int8)
    )
    assert shuffled.poisoned.tolist() == [True, False, True]
    assert shuffled[1].item() == 2
    assert "the place in the mask is -1" in str(shuffled.origin(0))
    assert taken.poisoned.all()
    assert put.poisoned.all()


def test_elements_are_taken_apart_and_put_together() -> None:
    text = """
      %0:6 = vector.to_elements %v : vector<2x3xf16>
      %1 = vector.from_elements %0#5, %0#4, %0#3, %0#2, %0#1, %0#0 : vector<3x2xf16>
      %2, %3 = vector.deinterleave %1 : vector<3x2xf16> -> vector<3x1xf16>
      %4 = vector.insert_strided_slice %3, %1 {offsets = [0, 0], strides = [1, 1]} : vector<3x1xf16> into vector<3x2xf16>
      return %4 : vector<3x2xf16>"""
    got = result("(%v: vector<2x3xf16>) -> vector<3x2xf16>", text, np.arange(6, dtype=np.float16).reshape(2, 3))
    assert got.tolist() == [[4, 4], [2, 2], [0, 0]]


def test_scalable_vectors() -> None:
    text = """
      %0 = vector.step : vector<[2]xindex>
      %1 = vector.scalable.extract %0[2] : vector<2xindex> from vector<[2]xindex>
      %2 = vector.scalable.insert %1, %0[4] : vector<2xindex> into vector<[2]xindex>
      %3 = vector.vscale
      %4 = vector.constant_mask [2] : vector<[2]xi1>
      return %2, %3, %4 : vector<[2]xindex>, index, vector<[2]xi1>"""
    signature = "() -> (vector<[2]xindex>, index, vector<[2]xi1>)"
    put, multiple, mask = run(signature, text, vscale=3)
    assert (put.tolist(), multiple.item(), mask.tolist()) == ([0, 1, 2, 3, 2, 3], 3, [True] * 6)
    with pytest.raises(hu.Unsupported, match="vscale"):
        run(signature, text)


# --- masks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sizes", "expected"), [((2, 1), (2, 1)), ((-3, 2), (0, 0)), ((9, 9), (3, 4))])
def test_a_mask_is_cut_to_the_vector(sizes: tuple[int, int], expected: tuple[int, int]) -> None:
    text = "%0 = vector.create_mask %a, %b : vector<3x4xi1>\nreturn %0 : vector<3x4xi1>"
    got = result("(%a: index, %b: index) -> vector<3x4xi1>", text, *sizes)
    wanted = np.zeros((3, 4), np.bool_)
    wanted[: expected[0], : expected[1]] = True
    np.testing.assert_array_equal(got, wanted)


MASKED = """
  %k = vector.create_mask %n : vector<4xi1>
  %c0 = arith.constant 0 : index
  %f = arith.constant 7.0 : f32
  %0 = vector.mask %k { vector.reduction <add>, %v : vector<4xf32> into f32 } : vector<4xi1> -> f32
  %1 = vector.mask %k { vector.reduction <minnumf>, %v, %f : vector<4xf32> into f32 } : vector<4xi1> -> f32
  %2 = vector.mask %k, %v { vector.transfer_read %t[%c0], %f : tensor<?xf32>, vector<4xf32> } : vector<4xi1> -> vector<4xf32>
  %3 = vector.mask %k { vector.transfer_write %v, %t[%c0] : vector<4xf32>, tensor<?xf32> } : vector<4xi1> -> tensor<?xf32>
  %4 = vector.mask %k { vector.multi_reduction <mul>, %v, %f [0] : vector<4xf32> to f32 } : vector<4xi1> -> f32
  %5 = vector.mask %k, %v { vector.yield %2 : vector<4xf32> } : vector<4xi1> -> vector<4xf32>
  %6 = vector.mask %k { vector.contract {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} %v, %v, %f : vector<4xf32>, vector<4xf32> into f32 } : vector<4xi1> -> f32
  return %0, %1, %2, %3, %4, %5, %6 : f32, f32, vector<4xf32>, tensor<?xf32>, f32, vector<4xf32>, f32"""
SIGNATURE = (
    "(%n: index, %v: vector<4xf32>, %t: tensor<?xf32>) -> "
    "(f32, f32, vector<4xf32>, tensor<?xf32>, f32, vector<4xf32>, f32)"
)


def test_ops_under_a_mask() -> None:
    vector = np.array([3, 5, 9, 2], np.float32)
    memory = np.array([10, 20, 30], np.float32)
    got = [value.tolist() for value in run(SIGNATURE, MASKED, 2, vector, memory)]
    assert got == [8, 3, [10, 20, 9, 2], [3, 5, 30], 105, [10, 20, 9, 2], 7 + 9 + 25]
    nothing = [value.tolist() for value in run(SIGNATURE, MASKED, 0, vector, memory)]
    assert nothing == [0, 7, [3, 5, 9, 2], [10, 20, 30], 7, [3, 5, 9, 2], 7]


def test_lanes_of_a_batch_have_masks_of_their_own() -> None:
    vectors = np.array([[3, 5, 9, 2], [1, 2, 3, 4], [8, 7, 6, 5]], np.float32)
    memory = np.array([10, 20, 30], np.float32)
    together = run(SIGNATURE, MASKED, np.array([2, 0, 3]), vectors, memory, batch=True)
    for lane, size in enumerate([2, 0, 3]):
        alone = run(SIGNATURE, MASKED, size, vectors[lane], memory)
        assert [value[lane].tolist() for value in together] == [value.tolist() for value in alone]


# --- transfers --------------------------------------------------------------------------------------------------------

MAPS = [(0, 1), (1, 0), (0,), (1,), (None, 1), (1, None), (0, None, 1), ()]


@pytest.mark.parametrize("map_", MAPS)
@pytest.mark.parametrize("memory", ["tensor", "memref"])
def test_transfers_read_and_write_as_their_maps_say(map_: tuple[int | None, ...], memory: str) -> None:
    """Each element is read as the document says: at the start plus the indices that the map takes."""
    shape = (3, 4, 2)[: len(map_)]
    source = np.arange(12, dtype=np.float32).reshape(3, 4) + 1
    start = (1, 2)
    results = ", ".join("0" if dim is None else f"d{dim}" for dim in map_)
    bounds = ", ".join("true" if dim is None else "false" for dim in map_)
    attributes = f"{{in_bounds = [{bounds}], permutation_map = affine_map<(d0, d1) -> ({results})>}}"
    vector = f"vector<{''.join(f'{size}x' for size in shape)}f32>"
    text = f"""
      %f = arith.constant -1.0 : f32
      %0 = vector.transfer_read %m[%i, %j], %f {attributes} : {memory}<3x4xf32>, {vector}
      return %0 : {vector}"""
    got = result(f"(%m: {memory}<3x4xf32>, %i: index, %j: index) -> {vector}", text, source, *start)
    wanted = np.full(shape, -1, np.float32)
    for lane in product(*map(range, shape)):
        index = list(start)
        for axis, dim in enumerate(map_):
            if dim is not None:
                index[dim] += lane[axis]
        if index[0] < 3 and index[1] < 4:
            wanted[lane] = source[tuple(index)]
    np.testing.assert_array_equal(got, wanted)
    if None in map_ or memory == "memref":
        return
    text = f"""
      %0 = vector.transfer_write %v, %m[%i, %j] {attributes} : {vector}, tensor<3x4xf32>
      return %0 : tensor<3x4xf32>"""
    given = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 50
    got = result(
        f"(%v: {vector}, %m: tensor<3x4xf32>, %i: index, %j: index) -> tensor<3x4xf32>", text, given, source, *start
    )
    written = source.copy()
    for lane in product(*map(range, shape)):
        index = list(start)
        for axis, dim in enumerate(map_):
            assert dim is not None
            index[dim] += lane[axis]
        if index[0] < 3 and index[1] < 4:
            written[tuple(index)] = given[lane]
    np.testing.assert_array_equal(got, written)


@pytest.mark.parametrize("base", ["tensor<i8>", "memref<i8>"])
def test_transfers_of_rank_0(base: str) -> None:
    written = "%w" if base[0] == "t" else "%m"
    text = f"""
      {"%w = " if written == "%w" else ""}vector.transfer_write %v, %m[] : vector<i8>, {base}
      %0 = vector.transfer_read {written}[], %p : {base}, vector<i8>
      %1 = vector.broadcast %0 : vector<i8> to vector<2xi8>
      return %0, %1 : vector<i8>, vector<2xi8>"""
    signature = f"(%m: {base}, %v: vector<i8>, %p: i8) -> (vector<i8>, vector<2xi8>)"
    zero, two = run(signature, text, np.array(1, np.int8), np.array(5, np.int8), 7)
    assert (zero.numpy().tolist(), two.numpy().tolist()) == (5, [5, 5])


READ = """
  %f = arith.constant 0.0 : f32
  %0 = vector.transfer_read %t[%i], %f, %k {in_bounds = [BOUNDS]} : tensor<?xf32>, vector<4xf32>
  return %0 : vector<4xf32>"""
ALL = np.ones(4, np.bool_)


@each_row(
    ("true", 1, ALL, r"element \[3\] of the vector: index \[4\] is outside the shape 4"),
    ("false", -1, ALL, r"element \[0\] of the vector: index \[-1\] is outside"),
    ("true", 1, np.array([True, True, True, False]), None),
    ("false", 3, ALL, None),
    ("false", (1 << 63) - 4, ALL, None),
    ("false", (1 << 63) - 1, ALL, None),
    ("false", -1, np.array([False, True, True, True]), None),
)
def test_lanes_outside(bounds: str, start: int, mask: Any, problem: str | None) -> None:
    arguments = np.arange(4, dtype=np.float32), start, mask
    signature, text = (
        "(%t: tensor<?xf32>, %i: index, %k: vector<4xi1>) -> vector<4xf32>",
        READ.replace("BOUNDS", bounds),
    )
    if problem is not None:
        with pytest.raises(hu.UndefinedBehavior, match=problem):
            run(signature, text, *arguments)
        return
    lanes = min(start, 4) + np.arange(4)
    inside = mask & (lanes >= 0) & (lanes < 4)
    assert result(signature, text, *arguments).tolist() == np.where(inside, lanes, 0).tolist()


# --- masked accesses --------------------------------------------------------------------------------------------------

ACCESSES = """
  %0 = vector.maskedload %m[%c], %k, %v : memref<6xi32>, vector<4xi1>, vector<4xi32> into vector<4xi32>
  %1 = vector.expandload %m[%c], %k, %v : memref<6xi32>, vector<4xi1>, vector<4xi32> into vector<4xi32>
  %2 = vector.gather %m[%c] [%j], %k, %v : memref<6xi32>, vector<4xi32>, vector<4xi1>, vector<4xi32> into vector<4xi32>
  vector.maskedstore %a[%c], %k, %v : memref<6xi32>, vector<4xi1>, vector<4xi32>
  vector.compressstore %b[%c], %k, %v : memref<6xi32>, vector<4xi1>, vector<4xi32>
  vector.scatter %d[%c] [%j], %k, %v : memref<6xi32>, vector<4xi32>, vector<4xi1>, vector<4xi32>
  return %0, %1, %2 : vector<4xi32>, vector<4xi32>, vector<4xi32>"""


def test_masked_accesses_touch_the_active_lanes_only() -> None:
    memories = [hu.Buffer.from_numpy(np.arange(6, dtype=np.int32)) for _ in range(4)]
    loaded = run(
        "(%m: memref<6xi32>, %a: memref<6xi32>, %b: memref<6xi32>, %d: memref<6xi32>, %c: index, %k: vector<4xi1>, "
        "%v: vector<4xi32>, %j: vector<4xi32>) -> (vector<4xi32>, vector<4xi32>, vector<4xi32>)",
        ACCESSES,
        *memories,
        3,
        np.array([True, False, True, False]),
        np.array([70, 71, 72, 73], np.int32),
        np.array([2, 99, -3, 0], np.int32),
    )
    assert [value.tolist() for value in loaded] == [[3, 71, 5, 73], [3, 71, 4, 73], [5, 71, 0, 73]]
    stored = [memory.numpy().tolist() for memory in memories[1:]]
    assert stored == [[0, 1, 2, 70, 4, 72], [0, 1, 2, 70, 72, 5], [72, 1, 2, 3, 4, 70]]


@each_row(([9, 0], "%j", r"index \[9\] is outside the shape 4"), ([0, 0], "%p", "an index is poison"))
def test_a_gather_outside_or_by_poison_is_undefined(indices: list[int], poison: str, problem: str) -> None:
    text = f"""
      %c0 = arith.constant 0 : index
      %p = ub.poison : vector<2xi32>
      %k = arith.constant dense<true> : vector<2xi1>
      %0 = vector.gather %t[%c0] [{poison}], %k, %v : tensor<4xf32>, vector<2xi32>, vector<2xi1>, vector<2xf32> into vector<2xf32>
      return %0 : vector<2xf32>"""
    with pytest.raises(hu.UndefinedBehavior, match=problem):
        run(
            "(%t: tensor<4xf32>, %j: vector<2xi32>, %v: vector<2xf32>) -> vector<2xf32>",
            text,
            np.zeros(4, np.float32),
            np.array(indices, np.int32),
            np.zeros(2, np.float32),
        )


def test_a_scatter_into_a_tensor_keeps_the_last_of_equal_indices() -> None:
    text = """
      %c0 = arith.constant 0 : index
      %k = arith.constant dense<true> : vector<3xi1>
      %0 = vector.scatter %t[%c0] [%j], %k, %v : tensor<4xi8>, vector<3xindex>, vector<3xi1>, vector<3xi8> -> tensor<4xi8>
      return %0 : tensor<4xi8>"""
    signature = "(%t: tensor<4xi8>, %j: vector<3xindex>, %v: vector<3xi8>) -> tensor<4xi8>"
    got = result(signature, text, np.zeros(4, np.int8), np.array([1, 3, 1]), np.array([5, 6, 7], np.int8))
    assert got.tolist() == [0, 7, 0, 6]


# --- combinations -----------------------------------------------------------------------------------------------------


def test_a_reduction_goes_from_the_accumulator_through_the_elements() -> None:
    text = """
      %0 = vector.reduction <add>, %v, %a : vector<4xf32> into f32
      %1 = vector.reduction <add>, %v : vector<4xf32> into f32
      %2 = vector.multi_reduction <add>, %v, %a [0] : vector<4xf32> to f32
      return %0, %1, %2 : f32, f32, f32"""
    vector = np.array([1e8, 1, -1e8, 1], np.float32)
    signature = "(%v: vector<4xf32>, %a: f32) -> (f32, f32, f32)"
    assert [value.item() for value in run(signature, text, vector, 0.5)] == [1, 1, 1]
    # Without reassoc vector.reduction fixes the order, whatever the profile says.
    exact = hu.Profile(reduction_order="exact")
    assert [value.item() for value in run(signature, text, vector, 0.5, profile=exact)] == [1, 1, 2.5]
    loose = text.replace("%a : vector", "%a fastmath<reassoc> : vector", 1)
    assert run(signature, loose, vector, 0.5, profile=exact)[0].item() == 2.5
    open_ = run(signature, loose, vector, 0.5, track_open=True)
    assert [value.open is not None and bool(value.open.any()) for value in open_] == [True, False, False]


def test_a_reduction_along_no_axis_is_its_source() -> None:
    # As MLIR folds and lowers it (llvm/llvm-project#188983).
    text = """
      %0 = vector.multi_reduction <add>, %v, %a [] : vector<2xi32> to vector<2xi32>
      %1 = vector.mask %m { vector.multi_reduction <add>, %v, %a [] : vector<2xi32> to vector<2xi32> }
        : vector<2xi1> -> vector<2xi32>
      return %0, %1 : vector<2xi32>, vector<2xi32>"""
    signature = "(%v: vector<2xi32>, %a: vector<2xi32>, %m: vector<2xi1>) -> (vector<2xi32>, vector<2xi32>)"
    numbers = np.array([1, 2], np.int32)
    got = run(signature, text, numbers, 10 * numbers, np.array([True, False]))
    assert [value.numpy().tolist() for value in got] == [[1, 2], [1, 20]]


def test_a_sum_of_negative_zeros_without_an_accumulator_is_negative() -> None:
    text = "%0 = vector.reduction <add>, %v : vector<2xf32> into f32\nreturn %0 : f32"
    assert run("(%v: vector<2xf32>) -> f32", text, np.array([-0.0, -0.0], np.float32))[0].bitstring().bin[0] == "1"


def test_poison_enters_only_the_lanes_that_it_is_combined_with() -> None:
    text = """
      %p = ub.poison : i32
      %v = vector.insert %p, %a[0, 1] : i32 into vector<2x3xi32>
      %0 = vector.multi_reduction <maxsi>, %v, %z [1] : vector<2x3xi32> to vector<2xi32>
      return %0 : vector<2xi32>"""
    (got,) = run(
        "(%a: vector<2x3xi32>, %z: vector<2xi32>) -> vector<2xi32>",
        text,
        np.arange(6, dtype=np.int32).reshape(2, 3),
        np.zeros(2, np.int32),
    )
    assert got.poisoned.tolist() == [True, False]
    assert got[1].item() == 5


@pytest.mark.parametrize(("inclusive", "sums", "last"), [("true", [1, 3, 6], 6), ("false", [10, 11, 13], 13)])
def test_scans(inclusive: str, sums: list[int], last: int) -> None:
    text = f"""
      %0:2 = vector.scan <add>, %v, %i {{inclusive = {inclusive}, reduction_dim = 1}} : vector<1x3xi32>, vector<1xi32>
      return %0#0, %0#1 : vector<1x3xi32>, vector<1xi32>"""
    signature = "(%v: vector<1x3xi32>, %i: vector<1xi32>) -> (vector<1x3xi32>, vector<1xi32>)"
    got = run(signature, text, np.array([[1, 2, 3]], np.int32), np.array([10], np.int32))
    assert [value.tolist() for value in got] == [[sums], [last]]


CONTRACT = """
  %0 = vector.contract {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (j, i)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<KIND>} %a, %b, %c : vector<2x3xf16>, vector<3x4xf16> into vector<4x2xACC>
  return %0 : vector<4x2xACC>"""


@pytest.mark.parametrize("kind", ["add", "maximumf", "mul"])
@pytest.mark.parametrize("acc", ["f16", "f32"])
def test_a_contraction_rounds_products_and_combines_in_order(kind: str, acc: str) -> None:
    random = np.random.default_rng(7)
    a, b = random.normal(size=(2, 3)).astype(np.float16), random.normal(size=(3, 4)).astype(np.float16)
    dtype = np.float16 if acc == "f16" else np.float32
    c = random.normal(size=(4, 2)).astype(dtype)
    text = CONTRACT.replace("KIND", kind).replace("ACC", acc)
    got = result(
        f"(%a: vector<2x3xf16>, %b: vector<3x4xf16>, %c: vector<4x2x{acc}>) -> vector<4x2x{acc}>", text, a, b, c
    )
    combine = {"add": np.add, "maximumf": np.maximum, "mul": np.multiply}[kind]
    wanted = c.copy()
    for i, j, k in product(range(2), range(4), range(3)):
        wanted[j, i] = combine(wanted[j, i], dtype(a[i, k]) * dtype(b[k, j]))
    np.testing.assert_array_equal(got, wanted)


def test_products_with_an_accumulator_are_fused() -> None:
    text = """
      %0 = vector.outerproduct %v, %s, %a : vector<1xf32>, f32
      %1 = vector.fma %v, %w, %a : vector<1xf32>
      %2 = vector.outerproduct %v, %s : vector<1xf32>, f32
      %3 = arith.addf %2, %a : vector<1xf32>
      return %0, %1, %3 : vector<1xf32>, vector<1xf32>, vector<1xf32>"""
    x = np.array([1 + 2**-12], np.float32)
    signature = "(%v: vector<1xf32>, %w: vector<1xf32>, %s: f32, %a: vector<1xf32>) -> (vector<1xf32>, vector<1xf32>, vector<1xf32>)"
    fused, fma, twice = (value.tolist()[0] for value in run(signature, text, x, x, hu.Value.from_numpy(x[0]), -(x * x)))
    assert fused == fma == 2**-24
    assert twice == 0


def test_a_masked_product_without_an_accumulator_leaves_poison() -> None:
    text = """
      %0 = vector.mask %k { vector.outerproduct %v, %v : vector<2xi8>, vector<2xi8> } : vector<2x2xi1> -> vector<2x2xi8>
      return %0 : vector<2x2xi8>"""
    (got,) = run(
        "(%k: vector<2x2xi1>, %v: vector<2xi8>) -> vector<2x2xi8>",
        text,
        np.array([[True, False], [True, True]]),
        np.array([3, 5], np.int8),
    )
    assert got.poisoned.tolist() == [[False, True], [False, False]]
    assert got.numpy(poison=0).tolist() == [[9, 0], [15, 25]]


# --- limits -----------------------------------------------------------------------------------------------------------


@each_row(
    "vector.broadcast %i : index to vector<100000x100000xindex>",
    "vector.create_mask %i : vector<9000000000000000000xi1>",
    "vector.step : vector<9000000000000000000xindex>",
    "vector.constant_mask [1] : vector<9000000000000000000xi1>",
)
def test_vectors_too_large_are_refused(op: str) -> None:
    with pytest.raises(hu.errors.LimitExceeded):
        run("(%i: index)", f"%0 = {op}\nreturn", 1)
    with pytest.raises(hu.errors.LimitExceeded, match="results"):
        hu.load(
            "func.func @f(%v: vector<9000000000xi8>) {\n  vector.to_elements %v : vector<9000000000xi8>\n  return\n}"
        )


@each_row(
    # MLIR 22.1.8 and 24.0.0git crash: they ask the op for the type of its mask before they verify it.
    ("vector.contract {indexing_maps = [#ik, #kj, #ij], iterator_types = [\"parallel\", \"parallel\", \"reduction\"], "
     "kind = #vector.kind<add>} %x, %y, %y : vector<2x2x1xf32>, vector<2x2xf32> into vector<2x2xf32>",
     "'vector.contract' op expected indexing map 0 to have 3 number of outputs"),
    ("vector.multi_reduction <add>, %x, %y [4] : vector<2x2x1xf32> to vector<2x2xf32>",
     "'vector.multi_reduction' op"),
)  # fmt: skip
def test_an_invalid_op_inside_a_mask_is_an_error_of_this_op(op: str, message: str) -> None:
    maps = "#ik = affine_map<(i, j, k) -> (i, k)>\n#kj = affine_map<(i, j, k) -> (k, j)>\n"
    text = (
        maps + "#ij = affine_map<(i, j, k) -> (i, j)>\n"
        "func.func @f(%m: vector<2x2x2xi1>, %x: vector<2x2x1xf32>, %y: vector<2x2xf32>) {\n"
        f"  %r = vector.mask %m {{ {op} }} : vector<2x2x2xi1> -> vector<2x2xf32>\n  return\n}}\n"
    )
    with pytest.raises(hu.VerifyError, match=message):
        hu.parse(text)


@each_row(("2x2xi32", "2x1xi32"), ("2x1xi32", "2x2xi32"))
def test_a_mask_without_an_op_chooses_between_values_of_one_type(yielded: str, passthru: str) -> None:
    """MLIR accepts other types in the generic form."""
    signature = f"(%m: vector<2x2xi1>, %x: vector<{yielded}>, %p: vector<{passthru}>) -> vector<2x2xi32>"
    body = f"""%0 = "vector.mask"(%m, %p) ({{ "vector.yield"(%x) : (vector<{yielded}>) -> () }})
      : (vector<2x2xi1>, vector<{passthru}>) -> vector<2x2xi32>
    return %0 : vector<2x2xi32>"""
    given = (np.zeros([2, int(type_[2])], np.int32) for type_ in (yielded, passthru))
    with pytest.raises(hu.Unsupported, match=f"cannot choose from 'vector<{yielded}>' and 'vector<{passthru}>' for"):
        run(signature, body, np.ones((2, 2), bool), *given)
