"""Vectors in code made of programs give what the executor gives: elements, poison, errors and their places, memory, steps."""

from typing import Any

import numpy as np
import pytest
from amounts import thinned
from code_of_programs import both, of, random_arguments

from halfulp.fp_formats.formats import ints_to_codes
from halfulp.interp.ir import types as ty
from halfulp.interp.run.limits import NotCompiled
from halfulp.interp.values.buffers import buffer_of
from halfulp.interp.values.value import Value

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

MOVES = {
    "vector.broadcast %s : i16 to vector<2x3xi16>": "vector<2x3xi16>",
    "vector.broadcast %r : vector<3xi16> to vector<2x3xi16>": "vector<2x3xi16>",
    "vector.shape_cast %v : vector<2x3xi16> to vector<6xi16>": "vector<6xi16>",
    "vector.transpose %v, [1, 0] : vector<2x3xi16> to vector<3x2xi16>": "vector<3x2xi16>",
    "vector.extract %v[1] : vector<3xi16> from vector<2x3xi16>": "vector<3xi16>",
    "vector.extract %v[1, 2] : i16 from vector<2x3xi16>": "i16",
    "vector.extract %r[%i] : i16 from vector<3xi16>": "i16",
    "vector.insert %r, %v[0] : vector<3xi16> into vector<2x3xi16>": "vector<2x3xi16>",
    "vector.insert %s, %v[0, %i] : i16 into vector<2x3xi16>": "vector<2x3xi16>",
    "vector.extract_strided_slice %v {offsets = [1], sizes = [1], strides = [1]} : vector<2x3xi16> to vector<1x3xi16>": (
        "vector<1x3xi16>"
    ),
    "vector.insert_strided_slice %r, %v {offsets = [1, 0], strides = [1]} : vector<3xi16> into vector<2x3xi16>": (
        "vector<2x3xi16>"
    ),
    "vector.shuffle %r, %r [5, 0, 3, 3] : vector<3xi16>, vector<3xi16>": "vector<4xi16>",
    "vector.interleave %r, %r : vector<3xi16> -> vector<6xi16>": "vector<6xi16>",
    "vector.from_elements %s, %s, %s : vector<3xi16>": "vector<3xi16>",
    "vector.bitcast %r : vector<3xi16> to vector<6xi8>": "vector<6xi8>",
    "arith.select %c, %v, %v : vector<2x3xi16>": "vector<2x3xi16>",
    "arith.addi %v, %v overflow<nsw> : vector<2x3xi16>": "vector<2x3xi16>",
    "arith.cmpi slt, %r, %r : vector<3xi16>": "vector<3xi1>",
    "arith.trunci %v : vector<2x3xi16> to vector<2x3xi8>": "vector<2x3xi8>",
    "arith.bitcast %v : vector<2x3xi16> to vector<2x3xbf16>": "vector<2x3xbf16>",
    "vector.reduction <add>, %r : vector<3xi16> into i16": "i16",
    "vector.reduction <minsi>, %r, %s : vector<3xi16> into i16": "i16",
    "vector.multi_reduction <xor>, %v, %r [0] : vector<2x3xi16> to vector<3xi16>": "vector<3xi16>",
    "vector.multi_reduction <maxui>, %v, %s [0, 1] : vector<2x3xi16> to i16": "i16",
}


@pytest.mark.parametrize("op", thinned(MOVES, 4))
def test_ops_on_vectors(op: str) -> None:
    """Also with arguments, results and poison that are vectors."""
    pair = both(
        f"""func.func @f(%v: vector<2x3xi16>, %r: vector<3xi16>, %s: i16, %i: index, %c: i1) -> {MOVES[op]} {{
          %x = {op}
          return %x : {MOVES[op]}
        }}""",
    )
    for seed in range(4):
        given = random_arguments(pair.types, seed)
        pair.check(lambda given=given, seed=seed: [*given[:3], of(seed, "index"), given[4]])  # type: ignore[misc]


@pytest.mark.parametrize("element", thinned(["f8E4M3FN", "f16", "bf16", "f32", "f64"], 2))
def test_floats_lane_by_lane(element: str) -> None:
    """Some lanes hold NaNs, whose bits are those of the rule."""
    type_ = f"vector<7x{element}>"
    pair = both(
        f"""func.func @f(%a: {type_}, %b: {type_}, %s: {element}) -> ({type_}, {element}, {element}) {{
          %p = arith.mulf %a, %b : {type_}
          %q = arith.addf %p, %a : {type_}
          %sum = vector.reduction <add>, %q, %s : {type_} into {element}
          %most = vector.reduction <maximumf>, %a : {type_} into {element}
          return %q, %sum, %most : {type_}, {element}, {element}
        }}""",
    )
    for seed in range(12):
        pair.check(lambda seed=seed: random_arguments(pair.types, seed))  # type: ignore[misc]
        assert not pair.stopped


def test_vectors_that_loops_and_calls_carry() -> None:
    pair = both(
        """func.func @f(%v: vector<4xi32>, %n: index) -> vector<4xi32> {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %k = arith.constant dense<[1, 2, 3, 4]> : vector<4xi32>
          %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %v) -> (vector<4xi32>) {
            %y = func.call @g(%x) : (vector<4xi32>) -> vector<4xi32>
            %z = arith.addi %y, %k : vector<4xi32>
            scf.yield %z : vector<4xi32>
          }
          return %r : vector<4xi32>
        }
        func.func private @g(%x: vector<4xi32>) -> vector<4xi32> {
          %y = arith.muli %x, %x : vector<4xi32>
          return %y : vector<4xi32>
        }""",
    )
    pair.check(lambda: [random_arguments(pair.types[:1], 1)[0], of(9, "index")])
    assert not pair.stopped


def test_long_vectors_are_left_to_the_executor() -> None:
    text = "func.func @f(%v: vector<65xi32>) -> vector<65xi32> {{ return %v : vector<65xi32> }}".replace("{{", "{")
    module = both("func.func @f(%v: vector<64xi32>) -> vector<64xi32> { return %v : vector<64xi32> }")
    module.check(lambda: random_arguments(module.types, 3))
    with pytest.raises(NotCompiled, match="vector<65xi32>"):
        both(text.replace("}}", "}"))


# --- what stops code, in the middle of a loop that has written -----------------------------------------------------------

_LOOP = """func.func @f(%m: memref<12xf32>, %o: memref<3x4xf32>, %n: index, %d: vector<4xi32>) -> vector<4xi32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %pad = arith.constant 2.5 : f32
  %none = ub.poison : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%k = %d) -> (vector<4xi32>) {{
    %at = arith.muli %i, %c4 : index
    {body}
    scf.yield %next : vector<4xi32>
  }}
  return %r : vector<4xi32>
}}"""
_READ = "vector.transfer_read %m[%at], {0} : memref<12xf32>, vector<4xf32>"
_WRITE = "vector.transfer_write %x, %o[%i, %c0] : vector<4xf32>, memref<3x4xf32>"
_SAME = "%next = arith.addi %k, %k : vector<4xi32>"
CASES = {
    "all inside": (f"%x = {_READ.format('%none')}\n{_WRITE}\n{_SAME}", 3, False),
    "padding behind the end": (f"%x = {_READ.format('%pad')}\n{_SAME}", 5, False),
    "poison behind the end": (f"%x = {_READ.format('%none')}\n{_SAME}", 5, True),
    "a part behind the end": (
        f"%from = arith.addi %at, %c1 : index\n%x = vector.transfer_read %m[%from], %pad : memref<12xf32>, "
        f"vector<4xf32>\n{_WRITE}\n{_SAME}",
        3,
        False,
    ),
    "a promise that does not hold": (
        "%from = arith.addi %at, %c1 : index\n%x = vector.transfer_read %m[%from], %pad {in_bounds = [true]} : "
        f"memref<12xf32>, vector<4xf32>\n{_WRITE}\n{_SAME}",
        3,
        True,
    ),
    "a write outside": (f"%x = vector.load %m[%c0] : memref<12xf32>, vector<4xf32>\n{_WRITE}\n{_SAME}", 4, True),
    "a load outside": (f"%x = vector.load %m[%at] : memref<12xf32>, vector<4xf32>\n{_SAME}", 4, True),
    "a store outside": (
        "%x = vector.load %m[%c0] : memref<12xf32>, vector<4xf32>\n"
        f"vector.store %x, %m[%at] : memref<12xf32>, vector<4xf32>\n{_SAME}",
        4,
        True,
    ),
    "a repeated row": (
        "%x = vector.transfer_read %o[%i, %c0], %pad {permutation_map = affine_map<(a, b) -> (0, a)>, in_bounds = "
        "[true, true]} : memref<3x4xf32>, vector<4x1xf32>\n"
        f"%y = vector.shape_cast %x : vector<4x1xf32> to vector<4xf32>\nvector.store %y, %m[%at] : memref<12xf32>, "
        f"vector<4xf32>\n{_SAME}",
        3,
        False,
    ),
    "columns for rows": (
        "%x = vector.transfer_read %o[%c0, %i], %pad {permutation_map = affine_map<(a, b) -> (b, a)>} : "
        "memref<3x4xf32>, vector<1x4xf32>\n"
        f"%y = vector.shape_cast %x : vector<1x4xf32> to vector<4xf32>\nvector.store %y, %m[%at] : memref<12xf32>, "
        f"vector<4xf32>\n{_SAME}",
        3,
        False,
    ),
    "a mask": (
        "%mask = vector.create_mask %i : vector<4xi1>\n%x = vector.transfer_read %m[%at], %pad, %mask : "
        f"memref<12xf32>, vector<4xf32>\n{_WRITE}\n{_SAME}",
        3,
        False,
    ),
    "a division by zero in one lane": (
        f"%x = {_READ.format('%none')}\n{_WRITE}\n%less = arith.constant dense<[1, 0, 2, 3]> : vector<4xi32>\n"
        "%e = arith.subi %k, %less : vector<4xi32>\n%next = arith.divsi %k, %e : vector<4xi32>",
        3,
        True,
    ),
    "an overflow in one lane": (
        f"%x = {_READ.format('%none')}\n{_WRITE}\n%next = arith.muli %k, %k overflow<nsw> : vector<4xi32>",
        3,
        True,
    ),
}


@pytest.mark.parametrize("name", thinned(CASES, 4))
def test_memory_in_a_loop(name: str) -> None:
    body, count, stops = CASES[name]
    pair = both(_LOOP.format(body=body))
    first, second = pair.types[:2]
    assert isinstance(first, ty.MemRefType)
    assert isinstance(second, ty.MemRefType)
    numbers = np.arange(12, dtype=np.float32) + np.float32(0.5)
    numbers[[3, 7]] = np.array([0x7FA00001, 0xFFC00002], np.uint32).view(np.float32)

    def make() -> list[Any]:
        lanes = Value(pair.types[3], ints_to_codes([5, 70000, 9, 1], 32, (4,)))
        zeros = np.zeros((3, 4), np.float32)
        return [buffer_of(numbers, first, "m"), buffer_of(zeros, second, "o"), of(count, "index"), lanes]

    pair.check(make)
    assert pair.stopped is stops


def test_a_choice_of_memory() -> None:
    pair = both(
        """func.func @f(%c: i1, %a: memref<2xi32>, %b: memref<2xi32>) -> i32 {
          %i = arith.constant 1 : index
          %m = arith.select %c, %a, %b : memref<2xi32>
          %x = memref.load %m[%i] : memref<2xi32>
          return %x : i32
        }""",
    )
    for choice in (0, 1):
        pair.check(lambda choice=choice: [of(choice, "i1"), *random_arguments(pair.types[1:], 5)])  # type: ignore[misc]
        assert not pair.stopped
