"""Programs that round stochastically: the bits that each op takes, and the same results by every way of running."""

from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amounts import thinned

import halfulp as hu
from halfulp.command.main import main
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import FloatPolicy, Rounding
from halfulp.interp.dialects.structured import arrays, evaluate
from halfulp.semantics.random_sources import philox

STOCHASTIC = "spec,program_rounding=stochastic"
SOURCES = ("philox:seed=3", "philox:seed=3,bits=4", "lfsr:width=16,taps=16+14+13+11,seed=0xACE1,bits=9")
F16, F32 = FORMATS["f16"], FORMATS["f32"]
RNG = np.random.default_rng(20)

SCALARS = """
func.func @main(%x: f32, %y: f32) -> (f16, f16) {
  %a = arith.truncf %x : f32 to f16
  %b = arith.truncf %y : f32 to f16
  %c = arith.addf %a, %b : f16
  %d = func.call @other(%c, %x) : (f16, f32) -> f16
  %e = func.call @other(%d, %y) : (f16, f32) -> f16
  return %c, %e : f16, f16
}
func.func private @other(%p: f16, %q: f32) -> f16 {
  %r = arith.truncf %q : f32 to f16
  %s = arith.divf %p, %r : f16
  return %s : f16
}
"""
NUMBERS = {"a": 2, "b": 3, "c": 4, "r": 9, "s": 10}
"""The numbers of the ops, counted in the text: 0 is the module, 1 and 8 are functions, 5 to 7 the ops between."""


def _floats(*shape: int) -> npt.NDArray[np.float32]:
    return RNG.normal(size=shape).astype(np.float32)


def _halves(*shape: int) -> npt.NDArray[np.float16]:
    return RNG.normal(size=shape).astype(np.float16)


def _word(seed: int, op: int, position: int, run: int = 0) -> int:
    """Return the word that docs/running.md names, from the generator that has the published answers."""
    words = [np.array([word], np.uint64) for word in (position // 4, 0, op, run)]
    return int(philox((words[0], words[1], words[2], words[3]), seed)[0, position % 4])


@pytest.mark.parametrize("rule", ["less", "p3109_a", "p3109_b", "p3109_c"])
@pytest.mark.parametrize("seed", range(5))
def test_each_op_takes_the_words_of_its_number(seed: int, rule: str) -> None:
    policy = FloatPolicy(stochastic=rule)
    x, y = (np.float32(each) for each in (1.2345678, -0.337))

    def rounded(name: str, op: int, time: int, *codes: int) -> int:
        bits = (_word(seed, op, time, run=6), 32)
        if name == "convert":
            return scalar.convert(F32, F16, codes[0], Rounding.STOCHASTIC, policy, bits).code
        operation: Any = getattr(scalar, name)
        return int(operation(F16, *codes, Rounding.STOCHASTIC, policy, bits).code)

    first, second = (int(each.view(np.uint32)) for each in (x, y))
    a = rounded("convert", NUMBERS["a"], 0, first)
    b = rounded("convert", NUMBERS["b"], 0, second)
    c = rounded("add", NUMBERS["c"], 0, a, b)
    d = rounded("divide", NUMBERS["s"], 0, c, rounded("convert", NUMBERS["r"], 0, first))
    e = rounded("divide", NUMBERS["s"], 1, d, rounded("convert", NUMBERS["r"], 1, second))
    profile = f"{STOCHASTIC},stochastic={rule}"
    found = hu.run(SCALARS, x, y, profile=profile, random=f"philox:seed={seed},run=6")
    assert [int(value.bits) for value in found] == [c, e]


def test_an_op_inside_another_one_has_a_number_of_its_own() -> None:
    text = """
    func.func @main(%x: vector<6xf16>) -> f16 {
      %r = vector.reduction <add>, %x : vector<6xf16> into f16
      return %r : f16
    }"""
    x = _halves(6)
    codes = [int(code) for code in x.view(np.uint16)]
    total = codes[0]
    for time, code in enumerate(codes[1:]):
        bits = (_word(9, 2 + (1 << 24), time), 32)
        total = scalar.add(F16, total, code, Rounding.STOCHASTIC, FloatPolicy(), bits).code
    (found,) = hu.run(text, x, profile=STOCHASTIC, random="philox:seed=9")
    assert int(found.bits) == total


@pytest.mark.parametrize("mask", [0, 1, 0b100000, 0b101101, 0b010110, 0b111111])
@pytest.mark.parametrize("start", [None, 0.7])
@pytest.mark.parametrize("seed", range(3))
def test_the_random_bits_of_an_element_do_not_depend_on_the_mask(seed: int, start: float | None, mask: int) -> None:
    """Without an accumulator, the first element takes no bits: no sum is made there."""
    given = "" if start is None else ", %c"
    text = f"""
    func.func @main(%x: vector<6xf16>, %m: vector<6xi1>, %c: f16) -> f16 {{
      %r = vector.mask %m {{ vector.reduction <add>, %x{given} : vector<6xf16> into f16 }} : vector<6xi1> -> f16
      return %r : f16
    }}"""
    x, c = _halves(6), np.float16(start or 0)
    total = None if start is None else int(c.view(np.uint16))
    for element, code in enumerate(x.view(np.uint16).tolist()):
        if mask >> element & 1:
            bits = (_word(seed, 3 + (1 << 24), element - (start is None)), 32) if total is not None else None
            rounding = Rounding.STOCHASTIC
            total = code if total is None else scalar.add(F16, total, code, rounding, FloatPolicy(), bits).code
    lanes = np.array([mask >> element & 1 for element in range(6)], np.bool_)
    (found,) = hu.run(text, x, lanes, c, profile=STOCHASTIC, random=f"philox:seed={seed}")
    assert int(found.bits) == (total or 0)  # no element: the neutral one, +0


MASKED: dict[str, str] = {
    "contract": """
      %r = vector.mask %m { vector.contract {indexing_maps = [#i, #i, #none], iterator_types = ["reduction"],
        kind = #vector.kind<add>} %x, %one, %c : vector<6xf16>, vector<6xf16> into f16 } : vector<6xi1> -> f16""",
    "multi_reduction": """
      %r = vector.mask %m { vector.multi_reduction <add>, %x, %c [0] : vector<6xf16> to f16 } : vector<6xi1> -> f16""",
    "reduction": """
      %r = vector.mask %m { vector.reduction <add>, %x, %c : vector<6xf16> into f16 } : vector<6xi1> -> f16""",
}
"""Three ways to write the same sum."""


@pytest.mark.long
@pytest.mark.parametrize("source", SOURCES[:2])
def test_masked_sums_take_the_same_bits_however_they_are_written(source: str) -> None:
    def run(name: str, mask: int) -> int:
        text = f"""
        #i = affine_map<(k) -> (k)>
        #none = affine_map<(k) -> ()>
        func.func @main(%x: vector<6xf16>, %m: vector<6xi1>, %c: f16) -> f16 {{
          %one = arith.constant dense<1.0> : vector<6xf16>{MASKED[name]}
          return %r : f16
        }}"""
        lanes = np.array([mask >> element & 1 for element in range(6)], np.bool_)
        (found,) = hu.run(text, x, lanes, np.float16(0.7), profile=STOCHASTIC, random=source)
        return int(found.bits)

    x = _halves(6)
    for mask in range(0, 64, 5):
        assert len({run(name, mask) for name in MASKED}) == 1, mask


def test_a_contraction_rounds_its_whole_result_for_one_index_after_the_other() -> None:
    a, b, c = _halves(4, 8), _halves(8, 3), _halves(4, 3)
    (found, _) = hu.run(CONTRACTION, a, b, c, profile=STOCHASTIC, random="philox:seed=3")
    for i, j in np.ndindex(4, 3):
        total = int(c.view(np.uint16)[i, j])
        for k in range(8):
            position = 12 * k + 3 * i + j
            factors = int(a.view(np.uint16)[i, k]), int(b.view(np.uint16)[k, j])
            multiplied, added = ((_word(3, 2 + (number << 24), position), 32) for number in (3, 1))
            product = scalar.multiply(F16, *factors, Rounding.STOCHASTIC, FloatPolicy(), multiplied).code
            total = scalar.add(F16, total, product, Rounding.STOCHASTIC, FloatPolicy(), added).code
        assert int(found.bits[i, j]) == total


def test_a_register_gives_its_numbers_in_the_order_of_the_ops() -> None:
    # x^4 + x^3 + 1 from 1: 1 8 4 2 9 12 6 (by hand, in tests/semantics/test_random_sources.py). An element rounds away
    # from zero if its number is less than 16 * 3/8 = 6.
    text = """
    func.func @main(%x: tensor<3xf32>, %y: f32, %z: tensor<2xf32>) -> (tensor<3xf16>, f16, tensor<2xf16>) {
      %a = arith.truncf %x : tensor<3xf32> to tensor<3xf16>
      %b = arith.truncf %y : f32 to f16
      %k = arith.truncf %y to_nearest_even : f32 to f16
      %c = arith.truncf %z : tensor<2xf32> to tensor<2xf16>
      return %a, %b, %c : tensor<3xf16>, f16, tensor<2xf16>
    }"""
    number = np.float32(1 + 3 / 8 * 2.0**-10)
    register = "lfsr:width=4,taps=4+3,seed=1,clocks=1"
    found = hu.run(text, [number] * 3, number, [number] * 2, profile=STOCHASTIC, random=register)
    up = [int(code) - 0x3C00 for value in found for code in np.atleast_1d(value.bits)]
    assert up == [1, 0, 1, 1, 0, 0]


MATMUL = """
func.func @main(%a: tensor<5x7xf16>, %b: tensor<7x3xf16>, %c: tensor<5x3xf16>) -> tensor<5x3xf16> {
  %r = linalg.matmul ins(%a, %b : tensor<5x7xf16>, tensor<7x3xf16>) outs(%c : tensor<5x3xf16>) -> tensor<5x3xf16>
  %s = linalg.matmul ins(%a, %b : tensor<5x7xf16>, tensor<7x3xf16>) outs(%r : tensor<5x3xf16>) -> tensor<5x3xf16>
  return %s : tensor<5x3xf16>
}
"""
SEVERAL = """
#whole = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @main(%a: tensor<5xf32>, %c: tensor<5x6xf16>, %d: tensor<5xf16>) -> (tensor<5x6xf16>, tensor<5xf16>) {
  %r:2 = linalg.generic {indexing_maps = [#row, #whole, #row], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<5xf32>) outs(%c, %d : tensor<5x6xf16>, tensor<5xf16>) {
  ^bb0(%x: f32, %y: f16, %z: f16):
    %t = arith.truncf %x : f32 to f16
    %u = arith.addf %t, %z : f16
    %v = arith.mulf %u, %t : f16
    linalg.yield %t, %v : f16, f16
  } -> (tensor<5x6xf16>, tensor<5xf16>)
  return %r#0, %r#1 : tensor<5x6xf16>, tensor<5xf16>
}
"""
STRUCTURED: dict[str, tuple[str, tuple[Any, ...]]] = {
    "matmul": (MATMUL, (_halves(5, 7), _halves(7, 3), _halves(5, 3))),
    "several": (SEVERAL, (_floats(5), _halves(5, 6), _halves(5))),
}


@pytest.mark.parametrize("source", thinned(SOURCES, 3))
@pytest.mark.parametrize("name", STRUCTURED)
def test_whole_arrays_round_as_the_loops_do(name: str, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, given = STRUCTURED[name]
    whole = hu.run(hu.parse(text), *given, profile=STOCHASTIC, random=source)
    assert whole != hu.run(text, *given)
    monkeypatch.setattr(arrays, "AT_ONCE", 8)
    assert hu.run(hu.parse(text), *given, profile=STOCHASTIC, random=source) == whole
    monkeypatch.setattr(evaluate, "runs_on_arrays", lambda structure: False)
    assert hu.run(hu.parse(text), *given, profile=STOCHASTIC, random=source) == whole


def test_a_body_rounds_at_each_point_though_its_operands_are_the_same() -> None:
    text, (_, other, start) = STRUCTURED["several"]
    found, _ = hu.run(text, np.full(5, 0.1, np.float32), other, start, profile=STOCHASTIC, random="philox:seed=1")
    assert np.unique(found.bits).size == 2


BRANCHES = """
func.func @main(%x: f32, %n: index) -> f16 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = arith.constant 0.0 : f16
  %t = arith.constant 0.0 : f32
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %start) -> f16 {
    %c = arith.cmpf ogt, %x, %t : f32
    %q = scf.if %c -> f16 {
      %e = arith.truncf %x : f32 to f16
      scf.yield %e : f16
    } else {
      %e = func.call @third(%x) : (f32) -> f16
      scf.yield %e : f16
    }
    %b = arith.addf %a, %q : f16
    scf.yield %b : f16
  }
  return %r : f16
}
func.func private @third(%x: f32) -> f16 {
  %c = arith.constant 3.0 : f32
  %e = arith.divf %x, %c : f32
  %h = arith.truncf %e : f32 to f16
  return %h : f16
}
"""
CONTRACTION = """
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
func.func @main(%a: vector<4x8xf16>, %b: vector<8x3xf16>, %c: vector<4x3xf16>) -> (vector<4x3xf16>, f16) {
  %r = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"],
    kind = #vector.kind<add>} %a, %b, %c : vector<4x8xf16>, vector<8x3xf16> into vector<4x3xf16>
  %f = vector.shape_cast %a : vector<4x8xf16> to vector<32xf16>
  %s = vector.reduction <add>, %f : vector<32xf16> into f16
  return %r, %s : vector<4x3xf16>, f16
}
"""
BATCHES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "scalars": (SCALARS, (_floats(12), np.float32(1 / 3))),
    "same in all lanes": (SCALARS, (np.full(12, 0.1, np.float32), np.float32(1 / 3))),
    "branches": (BRANCHES, (_floats(12), RNG.integers(0, 9, 12))),
    "matmul": (MATMUL, (_halves(4, 5, 7), _halves(7, 3), _halves(4, 5, 3))),
    "contraction": (CONTRACTION, (_halves(4, 4, 8), _halves(8, 3), _halves(4, 4, 3))),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", thinned(BATCHES, 3))
def test_a_lane_gets_what_its_run_gets_alone(name: str, source: str) -> None:
    text, given = BATCHES[name]
    module, lanes = hu.parse(text), len(given[0])

    def run(source: str, part: slice | int, batch: bool) -> list[Any]:
        own = [each[part] if np.shape(each)[:1] == (lanes,) else each for each in given]
        results = hu.run(module, *own, function="main", profile=STOCHASTIC, random=source, batch=batch)
        return [value.bits for value in results]

    whole = run(source, slice(None), batch=True)
    for lane in range(lanes):
        alone = run(f"{source},run={lane}" if source.startswith("philox") else source, lane, batch=False)
        assert all(np.array_equal(each[lane], one) for each, one in zip(whole, alone, strict=True)), lane
    if source.startswith("philox"):  # batches of any size give the same
        first, second = run(source, slice(0, 3), batch=True), run(f"{source},run=3", slice(3, None), batch=True)
        for each, *parts in zip(whole, first, second, strict=True):
            assert np.array_equal(each, np.concatenate(parts))


class _Nothing(hu.Listener):
    """A listener that does nothing: each op then runs on its own."""


@pytest.mark.parametrize("source", SOURCES)
def test_watched_and_stored_programs_round_alike(source: str) -> None:
    given = (_floats(), _floats())
    expected = hu.run(SCALARS, *given, function="main", profile=STOCHASTIC, random=source)
    options: Any = {"function": "main", "profile": STOCHASTIC, "random": source}
    assert hu.run(SCALARS, *given, listeners=[_Nothing()], **options) == expected
    assert hu.run(SCALARS, *given, track_open=True, **options) == expected
    assert hu.run(hu.write_bytecode(hu.parse(SCALARS)), *given, **options) == expected
    assert hu.trace(SCALARS, *given, **options).results == expected
    text = hu.print_module(hu.parse(SCALARS), generic=True)
    assert hu.run(text, *given, **options) == expected


KEPT = """
func.func @main(%x: tensor<64xf32>, %n: tensor<64xf6E2M3FN>) -> (tensor<64xf16>, tensor<64xf16>, tensor<64xf32>,
    tensor<64xf8E5M2>) {
  %a = arith.truncf %x to_nearest_even : tensor<64xf32> to tensor<64xf16>
  %b = arith.truncf %x upward : tensor<64xf32> to tensor<64xf16>
  %c = math.exp %x : tensor<64xf32>
  %d = arith.extf %n : tensor<64xf6E2M3FN> to tensor<64xf8E5M2>
  return %a, %b, %c, %d : tensor<64xf16>, tensor<64xf16>, tensor<64xf32>, tensor<64xf8E5M2>
}
"""


def test_ops_with_a_mode_and_other_ops_keep_theirs() -> None:
    given = _floats(64), np.arange(64, dtype=np.uint8)
    random: Any = {"profile": STOCHASTIC, "random": "philox:seed=1"}
    assert hu.run(KEPT, *given, **random) == hu.run(KEPT, *given)


EVERY = """
func.func @main(%x: tensor<99xf32>, %y: tensor<99xf16>, %i: tensor<99xi32>, %v: vector<99xf16>) -> (tensor<99xf16>,
    tensor<99xf16>, tensor<99xf16>, tensor<99xf16>, tensor<99xf16>, tensor<99xf16>, tensor<99xf16>, tensor<99xf16>,
    vector<99xf16>) {
  %t = arith.truncf %x : tensor<99xf32> to tensor<99xf16>
  %k = arith.constant dense<1.001> : tensor<99xf16>
  %a = arith.addf %k, %y : tensor<99xf16>
  %s = arith.subf %k, %y : tensor<99xf16>
  %m = arith.mulf %k, %y : tensor<99xf16>
  %d = arith.divf %k, %y : tensor<99xf16>
  %f = math.fma %y, %y, %k : tensor<99xf16>
  %p = arith.sitofp %i : tensor<99xi32> to tensor<99xf16>
  %q = arith.uitofp %i : tensor<99xi32> to tensor<99xf16>
  %w = vector.fma %v, %v, %v : vector<99xf16>
  return %t, %a, %s, %m, %d, %f, %p, %q, %w : tensor<99xf16>, tensor<99xf16>, tensor<99xf16>, tensor<99xf16>,
    tensor<99xf16>, tensor<99xf16>, tensor<99xf16>, tensor<99xf16>, vector<99xf16>
}
"""


def test_every_op_that_is_named_gives_one_of_the_two_neighbours() -> None:
    given = _floats(99), _halves(99), RNG.integers(4097, 9000, 99).astype(np.int32), _halves(99)
    down, up = (hu.run(EVERY, *given, profile=STOCHASTIC, random=f"lfsr:{each}") for each in _ALWAYS)
    found = hu.run(EVERY, *given, profile=STOCHASTIC, random="philox:seed=1")
    for low, high, value in zip(down, up, found, strict=True):
        codes = value.bits.astype(np.int64)
        lower, upper = low.bits.astype(np.int64), high.bits.astype(np.int64)
        inexact = lower != upper
        assert inexact.sum() > 20
        assert (np.abs(upper - lower) <= 1).all()
        assert ((codes == lower) | (codes == upper)).all()
        assert (codes[inexact] == lower[inexact]).any()
        assert (codes[inexact] == upper[inexact]).any()
    alone = hu.run(EVERY, *given, profile="spec,program_rounding=stochastic_conversions", random="philox:seed=1")
    assert alone[0] == found[0]
    assert alone[1:] == hu.run(EVERY, *given)[1:]


# Registers of x^16 + 1 go round and round: these give one number for ever.
_ALWAYS = (
    "width=16,taps=16,seed=0xFFFF",
    "width=16,taps=16,seed=0x0100,bits=8,clocks=16",
)


def test_poison_takes_its_bits_too() -> None:
    text = """
    func.func @main(%i: i32, %y: f32) -> (f4E2M1FN, f16) {
      %x = arith.sitofp %i : i32 to f32
      %nan = arith.divf %x, %x : f32
      %p = arith.truncf %nan : f32 to f4E2M1FN
      %a = arith.truncf %y : f32 to f16
      return %p, %a : f4E2M1FN, f16
    }"""
    register = "lfsr:width=16,taps=16+14+13+11,seed=0xACE1"
    lost, one = hu.run(text, 0, 0.1, profile=STOCHASTIC, random=register)
    kept, other = hu.run(text, 5, 0.1, profile=STOCHASTIC, random=register)
    assert [value.poison is not None for value in (lost, kept)] == [True, False]
    assert one == other


def test_unspecified_scalars_take_their_bits_once() -> None:
    """A NaN, whose bits are unspecified, is computed again as a value: the next op gets the next bits all the same."""
    text = """
    func.func @main(%x: f32, %y: f32) -> (f16, f16) {
      %nan = arith.divf %x, %x : f32
      %n = arith.truncf %nan : f32 to f16
      %a = arith.truncf %y : f32 to f16
      return %n, %a : f16, f16
    }"""
    options: Any = {"profile": STOCHASTIC, "random": "lfsr:width=16,taps=16+14+13+11,seed=0xACE1", "track_open": True}
    unsure, one = hu.run(text, 0.0, 0.1, **options)
    sure, other = hu.run(text, 5.0, 0.1, **options)
    assert [value.open is not None for value in (unsure, sure, one, other)] == [True, False, False, False]
    assert one == other


def test_errors() -> None:
    given = 1.0, 2.0
    with pytest.raises(hu.errors.InputError, match="has no random bits") as raised:
        hu.run(SCALARS, *given, profile=STOCHASTIC)
    assert "--random" in str(raised.value)
    with pytest.raises(hu.errors.InputError, match="does not round stochastically"):
        hu.run(SCALARS, *given, random="philox:seed=1")
    with pytest.raises(hu.errors.InputError, match="needs reduction_order=sequential"):
        hu.run(SCALARS, *given, profile=f"{STOCHASTIC},reduction_order=exact", random="philox:seed=1")
    with pytest.raises(hu.Unsupported, match=r"narrow_floats.*no stochastic rounding"):
        hu.run(SCALARS, *given, profile=f"{STOCHASTIC},narrow_floats=emulated", random="philox:seed=1")
    with pytest.raises(ValueError, match="random: philox needs seed"):
        hu.run(SCALARS, *given, profile=STOCHASTIC, random="philox:")
    number: Any = 5
    with pytest.raises(ValueError, match="random: 5 is not a source, as in philox:seed=1"):
        hu.run(SCALARS, *given, profile=STOCHASTIC, random=number)


def test_the_numbers_of_runs_have_32_bits() -> None:
    given = np.full(64, 0.1, np.float32), np.full(64, 0.3, np.float32)
    last = hu.run(
        SCALARS, *given, function="main", profile=STOCHASTIC, random=f"philox:seed=1,run={2**32 - 1}", batch=True
    )
    first = hu.run(SCALARS, *given, function="main", profile=STOCHASTIC, random="philox:seed=1", batch=True)
    for one, other in zip(last, first, strict=True):
        assert np.unique(one.bits).size > 1
        assert np.array_equal(one.bits[1:], other.bits[:-1])


REFUSALS: dict[str, Callable[[], object]] = {
    "bisect": lambda: hu.bisect(SCALARS, stages=[SCALARS], function="main", profile=STOCHASTIC),
    "accuracy": lambda: hu.program_accuracy(SCALARS, function="main", profile=STOCHASTIC),
    "workgroups": lambda: hu.iree.workgroups(SCALARS, 1.0, 2.0, function="main", profile=STOCHASTIC),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_takes_no_random_bits_says_so(name: str) -> None:
    with pytest.raises(hu.errors.InputError, match=f"rounds stochastically, but {name} takes no random bits") as raised:
        REFUSALS[name]()
    assert "leave out program_rounding" in str(raised.value)


COMMANDS = {
    "diff": ("p.mlir", "p.mlir"),
    "bisect": ("p.mlir", "p.mlir", "--function=main"),
    "reduce": ("p.mlir", "--function=main", "--test=true"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_that_take_no_random_bits_say_so(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.mlir").write_text(SCALARS)
    assert main([name, *COMMANDS[name], f"--profile={STOCHASTIC}"]) == 2
    assert f"rounds stochastically, but {name} takes no random bits" in capsys.readouterr().err


def test_an_op_outside_of_a_program_rounds_to_nearest() -> None:
    with hu.profile(STOCHASTIC):
        assert hu.eval("arith.addf", 2.0, 0.0001, type="f16").item() == 2.0
        assert hu.eval("arith.addf", 2.0, 0.0001, type="f16", flags=True)[1] == 1
    assert len(hu.vectors("arith.mulf", "f8E4M3FN", profile=STOCHASTIC)) > 100


@pytest.mark.exhaustive
@pytest.mark.parametrize("source", ["philox:seed=1", "philox:seed=2,bits=12", "lfsr:width=32,taps=32+22+2+1,seed=99"])
def test_the_share_that_rounds_up_is_the_discarded_fraction(source: str) -> None:
    count = 1 << 18
    text = f"""func.func @main(%x: tensor<{count}xf32>) -> tensor<{count}xf16> {{
      %r = arith.truncf %x : tensor<{count}xf32> to tensor<{count}xf16>
      return %r : tensor<{count}xf16> }}"""
    module = hu.parse(text)
    for numerator in range(0, 256, 3):
        # The fraction of the last place of f16 that f32 has: numerator / 256, so exact in 12 bits.
        x = np.full(count, 1 + numerator * 2.0**-18, np.float32)
        (found,) = hu.run(module, x, profile=STOCHASTIC, random=source)
        up = int((found.bits == 0x3C01).sum())
        assert up + int((found.bits == 0x3C00).sum()) == count
        share = numerator / 256
        assert abs(up - count * share) <= 5 * sqrt(count * share * (1 - share)), numerator
