"""The tensor dialect's ops on whole values, against NumPy, and what they refuse."""

import random
from math import prod
from typing import Any

import numpy as np
import pytest
from code_of_programs import LOOPS, run_loops
from tables import each_row

import halfulp as hu

PROGRAM = """
func.func @concat(%a: tensor<2x2xi32>, %b: tensor<2x?xi32>) -> tensor<2x?xi32> {
  %0 = tensor.concat dim(1) %a, %b, %a : (tensor<2x2xi32>, tensor<2x?xi32>, tensor<2x2xi32>) -> tensor<2x?xi32>
  return %0 : tensor<2x?xi32>
}
func.func @gather(%t: tensor<2x3x4xi32>, %i: tensor<2x2xi8>) -> (tensor<2x3xi32>, tensor<2x1x3x1xi32>) {
  %0 = tensor.gather %t[%i] gather_dims([0, 2]) unique : (tensor<2x3x4xi32>, tensor<2x2xi8>) -> tensor<2x3xi32>
  %1 = tensor.gather %t[%i] gather_dims([0, 2]) : (tensor<2x3x4xi32>, tensor<2x2xi8>) -> tensor<2x1x3x1xi32>
  return %0, %1 : tensor<2x3xi32>, tensor<2x1x3x1xi32>
}
func.func @scatter(%s: tensor<2x3xi32>, %t: tensor<2x3x4xi32>, %i: tensor<2x2xi8>) -> tensor<2x3x4xi32> {
  %0 = tensor.scatter %s into %t[%i] scatter_dims([0, 2]) unique
    : (tensor<2x3xi32>, tensor<2x3x4xi32>, tensor<2x2xi8>) -> tensor<2x3x4xi32>
  return %0 : tensor<2x3x4xi32>
}
func.func @reshape(%t: tensor<*xi32>, %s: tensor<?xi16>) -> (tensor<*xi32>, index) {
  %0 = tensor.reshape %t(%s) : (tensor<*xi32>, tensor<?xi16>) -> tensor<*xi32>
  %1 = tensor.rank %0 : tensor<*xi32>
  return %0, %1 : tensor<*xi32>, index
}
func.func @bitcast(%t: tensor<3xf32>) -> tensor<?xui32> {
  %0 = tensor.bitcast %t : tensor<3xf32> to tensor<?xui32>
  return %0 : tensor<?xui32>
}
func.func @generate(%n: index) -> tensor<?x3xindex> {
  %0 = tensor.generate %n {
  ^bb0(%i: index, %j: index):
    %ten = arith.constant 10 : index
    %a = arith.muli %i, %ten : index
    %b = arith.addi %a, %j : index
    tensor.yield %b : index
  } : tensor<?x3xindex>
  return %0 : tensor<?x3xindex>
}
func.func @branches(%n: index) -> tensor<?xi32> {
  %0 = tensor.generate %n {
  ^bb0(%i: index):
    %two = arith.constant 2 : index
    %less = arith.cmpi ult, %i, %two : index
    %v = scf.if %less -> i32 {
      %seven = arith.constant 7 : i32
      scf.yield %seven : i32
    } else {
      %k = arith.index_cast %i : index to i32
      scf.yield %k : i32
    }
    tensor.yield %v : i32
  } : tensor<?xi32>
  return %0 : tensor<?xi32>
}
func.func @pad(%t: tensor<?x2xi32>, %low: index) -> tensor<?x4xi32> {
  %0 = tensor.pad %t low[%low, 0] high[0, 2] {
  ^bb0(%i: index, %j: index):
    %a = arith.index_cast %i : index to i32
    %b = arith.index_cast %j : index to i32
    %ten = arith.constant 10 : i32
    %c = arith.muli %a, %ten : i32
    %d = arith.addi %b, %c : i32
    tensor.yield %d : i32
  } : tensor<?x2xi32> to tensor<?x4xi32>
  return %0 : tensor<?x4xi32>
}
func.func @around(%t: tensor<?xf32>, %v: f32) -> tensor<?xf32> {
  %0 = tensor.pad %t low[2] high[1] {
  ^bb0(%i: index):
    tensor.yield %v : f32
  } : tensor<?xf32> to tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @tile(%t: tensor<2xf32>, %n: index) -> tensor<4xf32> {
  %empty = tensor.empty() : tensor<4xf32>
  %0 = tensor.insert_slice %t into %empty[%n] [2] [2] : tensor<2xf32> into tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @quotients(%n: index, %d: tensor<?xi32>) -> tensor<?xi32> {
  %0 = tensor.generate %n {
  ^bb0(%i: index):
    %one = arith.constant 1 : i32
    %by = tensor.extract %d[%i] : tensor<?xi32>
    %q = arith.divsi %one, %by : i32
    tensor.yield %q : i32
  } : tensor<?xi32>
  return %0 : tensor<?xi32>
}
"""
MODULE = hu.parse(PROGRAM)
T = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
PLACES = np.array([[1, 3], [0, 2]], np.int8)
SLICES = np.arange(100, 106, dtype=np.int32).reshape(2, 3)


def run(entry: str, *arguments: Any, **options: Any) -> tuple[hu.Value, ...]:
    return hu.run(MODULE, *arguments, function=entry, **options)


def ints(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.int32).reshape(shape)


def scattered() -> Any:
    result = T.copy()
    result[1, :, 3], result[0, :, 2] = SLICES
    return result


def padded(source: Any, low: int) -> Any:
    rows, columns = np.indices((len(source) + low, 4), dtype=np.int32)
    result = 10 * rows + columns
    result[low:, :2] = source
    return result


@each_row(
    ("concat", (ints(2, 2), ints(2, 1)), np.concatenate([ints(2, 2), ints(2, 1), ints(2, 2)], 1)),
    ("gather", (T, PLACES), np.stack([T[1, :, 3], T[0, :, 2]])),
    ("scatter", (SLICES, T, PLACES), scattered()),
    ("reshape", (ints(2, 3), np.array([3, 1, 2], np.int16)), ints(3, 1, 2)),
    ("bitcast", (np.array([1, -2, 0], np.float32),), np.array([1, -2, 0], np.float32).view(np.uint32)),
    ("generate", (4,), 10 * np.arange(4)[:, None] + np.arange(3)),
    ("generate", (0,), np.zeros((0, 3))),
    ("branches", (5,), [7, 7, 2, 3, 4]),
    ("pad", (ints(2, 2) + 50, 1), padded(ints(2, 2) + 50, 1)),
    ("pad", (np.zeros((0, 2), np.int32), 3), padded(np.zeros((0, 2), np.int32), 3)),
    ("around", (np.array([1, 2], np.float32), 9.0), [9, 9, 1, 2, 9]),
)
def test_ops_move_elements_as_numpy_does(entry: str, arguments: tuple[Any, ...], wanted: Any) -> None:
    assert np.array_equal(run(entry, *arguments)[0].numpy(), wanted)


def test_a_gather_may_keep_the_dimensions_that_it_indexes() -> None:
    whole, reduced = run("gather", T, PLACES)[::-1]
    assert whole.shape == (2, 1, 3, 1)
    assert np.array_equal(whole.numpy().reshape(2, 3), reduced.numpy())
    assert run("reshape", ints(6), np.array([2, 3], np.int16))[1].item() == 2


@each_row(
    (
        "gather",
        (T, np.array([[1, 4], [0, 2]], np.int8)),
        r"the coordinates \[1, 4\] at \[0\] of the indices are outside",
    ),
    ("gather", (T, np.array([[1, 3], [-1, 2]], np.int8)), r"the coordinates \[-1, 2\] at \[1\]"),
    ("gather", (T, np.array([[1, 3], [1, 3]], np.int8)), r"\[1, 3\] appears more than once"),
    ("reshape", (ints(2, 3), np.array([4, 2], np.int16)), r"a tensor of shape 2x3 cannot be reshaped to \[4, 2\]"),
    ("reshape", (ints(2, 3), np.array([-2, -3], np.int16)), "cannot be reshaped"),
    ("generate", (-1,), r"the shape \[-1, 3\] has a negative size"),
    ("pad", (ints(2, 2), -1), r"the padding is negative: low \[-1, 0\]"),
    ("tile", (np.array([1, 2], np.float32), 2), "slice along dimension 0 runs out-of-bounds: 4 >= 4"),
    ("quotients", (2, np.array([1, 0], np.int32)), "division by zero"),
)
def test_what_lies_outside_is_undefined(entry: str, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(hu.UndefinedBehavior, match=message):
        run(entry, *arguments)


def test_what_was_never_written_is_poison() -> None:
    (tile,) = run("tile", np.array([1, 2], np.float32), 1)
    assert tile.poisoned.tolist() == [True, False, True, False]
    assert "an element of tensor.empty was never written" in str(tile.origin(0))


def test_poison_of_one_index_stays_there() -> None:
    (found,) = run("quotients", 3, np.array([1, 0, -1], np.int32), on_ub="poison")
    assert found.poisoned.tolist() == [False, True, False]
    (padded_,) = run("around", found_floats(), 9.0)
    assert padded_.poisoned.tolist() == [False, False, True, False, False]


def found_floats() -> hu.Value:
    return run("tile", np.array([1, 2], np.float32), 1)[0][:2]


def test_lanes_compute_what_each_computes_alone() -> None:
    many = np.stack([ints(2, 2), ints(2, 2) + 7])
    (lanes,) = run("pad", many, 1, batch=True)
    assert np.array_equal(lanes.numpy(), np.stack([padded(each, 1) for each in many]))
    (around,) = run("around", np.array([[1, 2], [3, 4]], np.float32), np.array([8, 9], np.float32), batch=True)
    assert around.numpy().tolist() == [[8, 8, 1, 2, 8], [9, 9, 3, 4, 9]]
    with pytest.raises(hu.Unsupported, match="the same sizes in all lanes"):
        run("generate", np.array([2, 3]), batch=True)


def test_unspecified_elements_go_along() -> None:
    module = hu.parse(
        """func.func @f(%a: f32, %b: f32) -> tensor<3xf32> {
  %0 = arith.addf %a, %b fastmath<reassoc> : f32
  %1 = tensor.from_elements %a, %0 : tensor<2xf32>
  %2 = tensor.pad %1 low[1] high[0] {
  ^bb0(%i: index):
    tensor.yield %b : f32
  } : tensor<2xf32> to tensor<3xf32>
  return %2 : tensor<3xf32>
}"""
    )
    (value,) = hu.run(module, 1.0, 2.0, track_open=True)
    assert value.open is not None
    assert (np.asarray(value.open) != 0).tolist() == [False, False, True]


@pytest.mark.parametrize("sizes", [1 << 40, 1 << 62])
def test_a_tensor_too_large_is_refused(sizes: int) -> None:
    with pytest.raises(hu.errors.LimitExceeded):
        run("generate", sizes)
    with pytest.raises(hu.errors.LimitExceeded, match="ran more than"):
        run("generate", 1000, max_steps=1000)


@each_row((3, 3, -1), (4, 3, -2), (2, 1, -1), (2, 1, 0), (1, 3, 0), (4, 5, -1))
def test_parts_with_strides_that_are_not_positive(start: int, count: int, step: int) -> None:
    """The part has the elements start + k * step. Put back, the last of several at one place stays."""
    text = """
    func.func @f(%t: tensor<5xi8>, %s: tensor<?xi8>, %a: index, %n: index, %d: index) -> (tensor<?xi8>, tensor<5xi8>) {
      %0 = tensor.extract_slice %t[%a] [%n] [%d] : tensor<5xi8> to tensor<?xi8>
      %1 = tensor.insert_slice %s into %t[%a] [%n] [%d] : tensor<?xi8> into tensor<5xi8>
      return %0, %1 : tensor<?xi8>, tensor<5xi8>
    }"""
    whole, part = np.arange(5, dtype=np.int8), np.arange(10, 10 + count, dtype=np.int8)
    taken, put = hu.run(text, whole, part, start, count, step)
    places = [start + k * step for k in range(count)]
    assert taken.numpy().tolist() == places
    expected = whole.tolist()
    for place, element in zip(places, part.tolist(), strict=True):
        expected[place] = element
    assert put.numpy().tolist() == expected


def test_an_empty_part_in_a_parallel_loop() -> None:
    text = """
    func.func @f(%t: tensor<4xi8>, %s: tensor<?xi8>, %n: index) -> tensor<4xi8> {
      %0 = scf.forall (%i) in (2) shared_outs(%o = %t) -> (tensor<4xi8>) {
        scf.forall.in_parallel {
          tensor.parallel_insert_slice %s into %o[%i] [%n] [1] : tensor<?xi8> into tensor<4xi8>
        }
      }
      return %0 : tensor<4xi8>
    }"""
    given = np.arange(4, dtype=np.int8)
    (found,) = hu.run(text, given, np.zeros(0, np.int8), 0)
    assert found.numpy().tolist() == given.tolist()


def test_no_elements_in_dimensions_too_large_for_any_array() -> None:
    text = """
    func.func @f(%t: tensor<?xi8>, %n: index, %m: index) -> tensor<?x?xi8> {
      %0 = tensor.expand_shape %t [[0, 1]] output_shape [%n, %m] : tensor<?xi8> into tensor<?x?xi8>
      return %0 : tensor<?x?xi8>
    }"""
    assert hu.run(text, np.zeros(0, np.int8), 0, 3)[0].shape == (0, 3)
    with pytest.raises(hu.errors.LimitExceeded, match="too large for any array"):
        hu.run(text, np.zeros(0, np.int8), 0, (1 << 63) - 1)


# --- tensor mlir ------------------------------------------------------------------------------------------------------
#
# Programs on tensors, bufferised by mlir-opt and run by mlir-runner, and here on the same memory.

PASSES = ("--one-shot-bufferize", "--scf-forall-to-for", *LOOPS, "--convert-scf-to-cf")
_FORM = """func.func @f(%m: memref<{source}xi32>, %p: memref<{part}xi32>, %o: memref<{out}xi32>) {{
  %t = bufferization.to_tensor %m restrict : memref<{source}xi32> to tensor<{source}xi32>
  %q = bufferization.to_tensor %p restrict : memref<{part}xi32> to tensor<{part}xi32>
{constants}
{body}
  bufferization.materialize_in_destination %r in restrict writable %o : (tensor<{out}xi32>, memref<{out}xi32>) -> ()
  return
}}"""
_CONSTANTS = "\n".join(f"  %c{k} = arith.constant {k} : index" for k in range(13)) + "\n  %v = arith.constant -7 : i32"
Program = tuple[str, tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def _x(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _made(body: str, source: tuple[int, ...], part: tuple[int, ...], out: tuple[int, ...]) -> Program:
    text = _FORM.format(source=_x(source), part=_x(part), out=_x(out), constants=_CONSTANTS, body=body)
    return text, source, part, out


def _number(choose: random.Random, number: int) -> tuple[str, bool]:
    """Write a number as itself or as an operand."""
    dynamic = choose.random() < 0.4
    return (f"%c{number}" if dynamic else str(number)), dynamic


def _slice(choose: random.Random, insert: bool) -> Program:
    shape = (choose.randint(2, 6), choose.randint(2, 6))
    starts, sizes, steps = [], [], []
    for size in shape:
        start = choose.randrange(size)
        step = choose.randint(1, 3)
        starts.append(start)
        steps.append(step)
        sizes.append(choose.randint(1, (size - 1 - start) // step + 1))
    lists = [", ".join(_number(choose, number)[0] for number in each) for each in (starts, steps)]
    place = f"[{lists[0]}] [{', '.join(map(str, sizes))}] [{lists[1]}]"
    whole, part = f"tensor<{_x(shape)}xi32>", f"tensor<{_x(tuple(sizes))}xi32>"
    if insert:
        body = f"  %r = tensor.insert_slice %q into %t{place} : {part} into {whole}"
        return _made(body, shape, tuple(sizes), shape)
    body = f"  %r = tensor.extract_slice %t{place} : {whole} to {part}"
    return _made(body, shape, (1,), tuple(sizes))


def _pad(choose: random.Random) -> Program:
    shape = (choose.randint(1, 3), choose.randint(1, 3))
    low, high = ([choose.randint(0, 2) for _ in shape] for _ in range(2))
    out = tuple(a + size + b for a, size, b in zip(low, shape, high, strict=True))
    value, lines = "%v", ""
    if choose.random() < 0.5:
        value = "%w"
        lines = "    %k = arith.muli %i, %c7 : index\n    %l = arith.addi %k, %j : index\n"
        lines += "    %w = arith.index_cast %l : index to i32\n"
    body = (
        f"  %r = tensor.pad %t low{low} high{high} {{\n  ^bb0(%i: index, %j: index):\n{lines}"
        f"    tensor.yield {value} : i32\n  }} : tensor<{_x(shape)}xi32> to tensor<{_x(out)}xi32>"
    )
    return _made(body, shape, (1,), out)


def _generate(choose: random.Random) -> Program:
    shape = (choose.randint(1, 4), choose.randint(1, 4))
    body = (
        "  %r = tensor.generate {\n  ^bb0(%j: index, %i: index):\n"
        f"    %e = tensor.extract %t[%i, %j] : tensor<{_x(shape)}xi32>\n    %s = arith.subi %e, %v : i32\n"
        f"    tensor.yield %s : i32\n  }} : tensor<{_x(shape[::-1])}xi32>"
    )
    return _made(body, shape, (1,), shape[::-1])


def _reshape(choose: random.Random) -> Program:
    a, b, c = (choose.randint(1, 3) for _ in range(3))
    body = (
        f"  %0 = tensor.collapse_shape %t [[0, 1], [2]] : tensor<{a}x{b}x{c}xi32> into tensor<{a * b}x{c}xi32>\n"
        f"  %1 = tensor.expand_shape %0 [[0], [1, 2]] output_shape [{a * b}, 1, {c}] "
        f": tensor<{a * b}x{c}xi32> into tensor<{a * b}x1x{c}xi32>\n"
        f"  %2 = tensor.insert %v into %1[%c0, %c0, %c0] : tensor<{a * b}x1x{c}xi32>\n"
        f"  %sizes = tensor.from_elements %c{c}, %c{a * b} : tensor<2xindex>\n"
        f"  %r = tensor.reshape %2(%sizes) : (tensor<{a * b}x1x{c}xi32>, tensor<2xindex>) -> tensor<{c}x{a * b}xi32>"
    )
    return _made(body, (a, b, c), (1,), (c, a * b))


def _parallel(choose: random.Random) -> Program:
    rows, columns = choose.randint(1, 4), choose.randint(1, 3)
    whole = f"tensor<{rows}x{columns}xi32>"
    body = (
        f"  %r = scf.forall (%i) in ({rows}) shared_outs(%s = %t) -> ({whole}) {{\n"
        f"    %d = tensor.extract_slice %t[%i, 0] [1, {columns}] [1, 1] : {whole} to tensor<{columns}xi32>\n"
        f"    %e = tensor.insert %v into %d[%c0] : tensor<{columns}xi32>\n    scf.forall.in_parallel {{\n"
        f"      tensor.parallel_insert_slice %e into %s[%i, 0] [1, {columns}] [1, 1] "
        f": tensor<{columns}xi32> into {whole}\n    }}\n  }}"
    )
    return _made(body, (rows, columns), (1,), (rows, columns))


@pytest.mark.mlir
@pytest.mark.parametrize("count", [5, pytest.param(35, marks=pytest.mark.exhaustive)])
def test_bufferized_programs_compute_the_same(count: int) -> None:
    choose = random.Random(19)
    makers = [_pad, _generate, _reshape, _parallel]
    programs = [_slice(choose, insert) for insert in (False, True) for _ in range(2 * count)]
    programs += [make(choose) for make in makers for _ in range(count)]
    given = []
    for text, *shapes in programs:
        arrays = [np.arange(prod(shape), dtype=np.int32).reshape(shape) * 3 + 1 for shape in shapes]
        given.append((text, [hu.Value.from_numpy(array) for array in arrays]))
    wanted = run_loops(given, PASSES)
    for (text, arguments), memories in zip(given, wanted, strict=True):
        buffers = [hu.Buffer.from_numpy(value) for value in arguments]
        hu.run(text, *buffers)
        found = buffers[-1].numpy().ravel()
        assert found.tolist() == memories[-1].view(np.int64).astype(np.int32).tolist(), text
