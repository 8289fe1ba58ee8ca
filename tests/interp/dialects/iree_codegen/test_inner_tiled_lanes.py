"""`iree_codegen.inner_tiled` distributed over the lanes of a batch, against the same op on whole tiles."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amounts import thinned
from tables import each_row
from tile_programs import (
    MFMA,
    ONE_LANE,
    SEED,
    UNDISTRIBUTED,
    attribute_of,
    computed,
    described,
    program,
    random_codes,
    small,
    spec_of,
    whole,
)

from halfulp.command.main import main
from halfulp.interp.dialects.iree_codegen import inner_tiled
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import UndefinedBehavior, Unsupported, VerifyError
from halfulp.interp.loading import parse_module
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.value import Value
from halfulp.running import run
from halfulp.semantics.kernel import Open, Origin, Origins
from halfulp.semantics.matrix_units.kinds import KINDS, LaneLayout, TileKind, distribute
from halfulp.traces.trace import trace

Array = npt.NDArray[Any]


def layouts_of(kind: TileKind, col_major: bool = False) -> list[LaneLayout]:
    assert kind.layouts is not None
    *inputs, acc = kind.layouts
    return [*inputs, acc.transposed if col_major else acc]


def share(codes: Array, layout: LaneLayout, kind: TileKind, number: int) -> Array:
    """Tiles [subgroup, outer…, *tile] as what each lane holds: [lane, outer…, *share of operand ``number``]."""
    assert kind.lane_shapes is not None
    held = distribute(codes, layout, kind.lanes)
    held = np.moveaxis(held, -2, 1)
    return np.ascontiguousarray(held).reshape(-1, *held.shape[2:-1], *kind.lane_shapes[number])


def shares(kind: TileKind, values: list[Value], col_major: bool = False) -> list[Value]:
    """Return the lanes' shares of the operands."""
    layouts = layouts_of(kind, col_major)
    return [
        Value.from_bits(share(value.bits, layout, kind, number), str(value.element_type))
        for number, (value, layout) in enumerate(zip(values, layouts, strict=True))
    ]


def per_lane(values: list[Value]) -> tuple[tuple[str, tuple[int | None, ...]], ...]:
    """Return the types in each lane of operands over lanes."""
    return tuple((element, shape[1:]) for element, shape in described(values))


# --- the document's example -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("subgroups", [1, 2])
@pytest.mark.parametrize("model", thinned(["exact", "ieee", "chip:cdna3"], 3))
def test_the_documents_example_runs_as_it_is_written(subgroups: int, model: str) -> None:
    """In batches of 64 and of 128 lanes, its outer sizes known when it runs: bit for bit what the whole tiles give."""
    rng, kind = np.random.default_rng(SEED), KINDS[MFMA]
    outer = ((2, 3), (4, 3), (2, 4))
    values = [
        random_codes(rng, element, (subgroups, *sizes, *tile))
        for element, sizes, tile in zip(("f16", "f16", "f32"), outer, kind.operand_shapes, strict=True)
    ]
    (result,) = run(ONE_LANE, *shares(kind, values), batch=True, mma=model)
    assert str(result.type) == f"tensor<{64 * subgroups}x2x4x16xf32>"
    expected = []
    for subgroup in range(subgroups):
        a, b, c = (value.bits[subgroup] for value in values)
        tiles = (a, "f16"), (np.ascontiguousarray(b.swapaxes(-1, -2)), "f16"), (c, "f32")
        expected.append(run(UNDISTRIBUTED, *(Value.from_bits(*tile) for tile in tiles), mma=model)[0].bits)
    assert np.array_equal(result.bits, share(np.stack(expected), layouts_of(kind)[2], kind, 2))


def test_the_documents_example_from_the_command_line(tmp_path: Path) -> None:
    rng, kind = np.random.default_rng(SEED), KINDS[MFMA]
    (tmp_path / "lanes.mlir").write_text(ONE_LANE)
    a, b = small(rng, (1, 1, 2, 32, 8), np.float16), small(rng, (1, 1, 2, 8, 32), np.float16)
    c = small(rng, (1, 1, 1, 32, 32), np.float32)
    expected = c + np.einsum("wmkia,wnkaj->wmnij", a.astype(np.float32), b.astype(np.float32))
    for number, (name, array) in enumerate((("a", a), ("b", b), ("c", c))):
        np.save(tmp_path / f"{name}.npy", share(array, layouts_of(kind)[number], kind, number))
    inputs = [f"--input=@{tmp_path / name}.npy" for name in "abc"]
    output = f"--output=@{tmp_path / 'd.npy'}"
    assert main(["run", str(tmp_path / "lanes.mlir"), "--batch", *inputs, output]) == 0
    assert np.array_equal(np.load(tmp_path / "d.npy"), share(expected, layouts_of(kind)[2], kind, 2))


# --- kinds ------------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.layouts is not None and computed(kind)])
def test_lanes_of_two_subgroups_compute_two_tiles(name: str) -> None:
    """Bit for bit, with random data, under `exact`; with col_major, too."""
    kind = KINDS[name]
    values = whole(kind, np.random.default_rng(kind.code), (2, 3))
    text = program(spec_of(kind, "wm"), attribute_of(kind), described(values))
    (expected,) = run(text, *values)
    for col_major in (False, True):
        *_, acc = layouts_of(kind)
        if col_major and acc.shape[-1] != acc.shape[-2]:
            continue
        given = shares(kind, values, col_major)
        text = program(spec_of(kind, "m"), attribute_of(kind, col_major), per_lane(given), distributed=True)
        (result,) = run(text, *given, batch=True)
        assert not result.poisoned.any()
        assert np.array_equal(result.bits, share(expected.bits, layouts_of(kind, col_major)[-1], kind, -1))


@pytest.mark.parametrize("container", ["tensor", "vector"])
@pytest.mark.parametrize("opaque", [False, True])
def test_permuted_and_opaque_shares(container: str, opaque: bool) -> None:
    """NVIDIA's shares have two axes: exchanged; or, where nobody looks at their shape, in one."""
    kind = KINDS["NV_MMA_SYNC_F32_16x8x16_F16"]
    values = whole(kind, np.random.default_rng(SEED), (1, 1))
    text = program(spec_of(kind, "wm"), attribute_of(kind), described(values))
    expected = share(run(text, *values)[0].bits, layouts_of(kind)[2], kind, 2)
    given = shares(kind, values)
    if opaque:
        turned = [value.bits.reshape(32, 1, -1) for value in given]
        orders = None
    else:
        turned = [np.ascontiguousarray(value.bits.swapaxes(-1, -2)) for value in given]
        orders = ((1, 0),) * 3
    operands = [Value.from_bits(bits, str(value.element_type)) for bits, value in zip(turned, given, strict=True)]
    text = program(
        "m,m->m",
        attribute_of(kind),
        per_lane(operands),
        distributed=True,
        opaque=opaque,
        permutations=orders,
        container=container,
    )
    (result,) = run(text, *operands, batch=True)
    got = result.bits if opaque else result.bits.swapaxes(-1, -2)
    assert np.array_equal(got.reshape(32, -1), expected.reshape(32, -1))


@pytest.mark.parametrize("size", [2, 64])
def test_a_parallel_loop_of_all_operands_is_no_loop_over_lanes_in_a_batch(size: int) -> None:
    """A batched product stays one, also where it has as many parts as there are lanes."""
    kind = KINDS["MFMA_F32_16x16x16_F16"]
    values = whole(kind, np.random.default_rng(SEED), (1, size))
    (expected,) = run(program("wb,wb->wb", attribute_of(kind), described(values)), *values)
    given = shares(kind, values)
    (result,) = run(program("b,b->b", attribute_of(kind), per_lane(given), distributed=True), *given, batch=True)
    assert np.array_equal(result.bits, share(expected.bits, layouts_of(kind)[2], kind, 2))


def of_lane(value: Value, lane: int) -> Value:
    """What one lane has of a value without marks."""
    return Value.from_bits(value.bits[lane], str(value.element_type))


WHOLE = (
    ("MFMA_F32_16x16x16_F16", "exact"),
    ("MFMA_F32_16x16x16_F16", "chip:cdna3"),
    ("MFMA_I32_16x16x32_I8", "exact"),
    ("MFMA_SCALE_F32_16x16x128_B32", "exact"),
)


@pytest.mark.parametrize("together", [5000, 1 << 22])
@pytest.mark.parametrize("over", thinned(["abc", "a", "b", "c"], 3))
@pytest.mark.parametrize(("name", "model"), thinned(WHOLE, 2, rows=True))
def test_whole_tiles_of_many_lanes(
    name: str, model: str, over: str, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit what each lane gets alone; operands outside of ``over`` are the same in all lanes."""
    monkeypatch.setattr(inner_tiled, "ELEMENTS_AT_ONCE", together)
    kind, lanes = KINDS[name], 5
    inputs = len(kind.operand_shapes) - 1
    loops, names = [*("mk", "kn", "mk", "kn")[:inputs], "mn"], [*"abab"[:inputs], "c"]
    sizes = {"m": 2, "n": 1, "k": 3}
    rng = np.random.default_rng(SEED)
    values = [
        random_codes(rng, element, (lanes, *(sizes[loop] for loop in own), *shape))
        for own, (element, shape) in zip(loops, described(whole(kind, rng)), strict=True)
    ]
    text = program(",".join(loops[:-1]) + f"->{loops[-1]}", attribute_of(kind), per_lane(values))
    given = [value if name in over else of_lane(value, 0) for name, value in zip(names, values, strict=True)]
    (result,) = run(text, *given, batch=True, mma=model)
    for lane in range(lanes):
        own = [of_lane(value, lane) if name in over else value for name, value in zip(names, given, strict=True)]
        assert np.array_equal(result.bits[lane], run(text, *own, mma=model)[0].bits), lane


def test_poison_and_open_elements_of_whole_tiles_stay_in_their_lane() -> None:
    kind = KINDS["MFMA_F32_16x16x16_F16"]
    ones = np.full((4, 16, 16), 0x3C00, np.uint16)
    a = poisoned(ones, "f16", (2, 5, 3))
    open_ = np.zeros((4, 16, 16), np.uint8)
    open_[1, 7, 6] = Open.SIGN.value
    b = Value(ty.TensorType((4, 16, 16), ty.F("f16")), ones, None, open_)
    text = program(",->", attribute_of(kind), (("f16", (16, 16)), ("f16", (16, 16)), ("f32", (16, 16))))
    (result,) = run(text, a, b, np.zeros((16, 16), np.float32), batch=True, track_open=True)
    spoiled, unsure = np.zeros((2, 4, 16, 16), np.bool_)
    spoiled[2, 5] = True
    unsure[1, :, 6] = True
    assert np.array_equal(result.poisoned, spoiled)
    assert result.open is not None
    assert np.array_equal(result.open, np.where(unsure, np.uint8(Open.VALUE.value), 0))
    assert np.array_equal(result.numpy(poison=0), np.where(spoiled, np.float32(0), np.float32(16)))
    origin = result.origin(2, 5, 9)
    assert origin is not None
    assert (origin.op, origin.element) == ("ub.poison", (2, 5, 3))


def test_an_error_names_the_lanes_whose_tiles_have_no_known_result() -> None:
    """What this chip makes of infinities is not published."""
    text = program(
        ",->",
        attribute_of(KINDS["MFMA_F32_16x16x16_F16"]),
        (("f16", (16, 16)), ("f16", (16, 16)), ("f32", (16, 16))),
    )
    a, one = np.ones((4, 16, 16), np.float16), np.ones((16, 16), np.float32)
    a[[2, 3], 0, 0] = np.inf
    with pytest.raises(Unsupported, match=r"with infinite or NaN operands is not published \(lane 2; 2 of 4 lanes\)"):
        run(text, a, one.astype(np.float16), one, batch=True, mma="chip:cdna3")


@pytest.mark.parametrize("outer", [(0, 2, 2), (2, 0, 2), (2, 2, 0)])
def test_no_points_of_whole_tiles(outer: tuple[int, int, int]) -> None:
    m, n, k = outer
    operands = (("f16", (m, k, 16, 16)), ("f16", (k, n, 16, 16)), ("f32", (m, n, 16, 16)))
    text = program("mk,kn->mn", attribute_of(KINDS["MFMA_F32_16x16x16_F16"]), operands)
    c = small(np.random.default_rng(SEED), (3, m, n, 16, 16), np.float32)
    a, b = (np.ones((3, *shape), np.float16) for _, shape in operands[:2])
    (result,) = run(text, a, b, c, batch=True)
    assert np.array_equal(result.numpy(), c)


# --- in programs ------------------------------------------------------------------------------------------------------

ACCUMULATE = """
func.func @main(%a: tensor<?x4xf16>, %b: tensor<?x4xf16>, %n: index) -> vector<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %three = arith.constant 3 : index
  %none = arith.constant dense<0.0> : vector<4xf32>
  %r = scf.for %k = %zero to %n step %one iter_args(%acc = %none) -> vector<4xf32> {
    %a0 = tensor.extract %a[%k, %zero] : tensor<?x4xf16>
    %a1 = tensor.extract %a[%k, %one] : tensor<?x4xf16>
    %a2 = tensor.extract %a[%k, %two] : tensor<?x4xf16>
    %a3 = tensor.extract %a[%k, %three] : tensor<?x4xf16>
    %left = tensor.from_elements %a0, %a1, %a2, %a3 : tensor<4xf16>
    %b0 = tensor.extract %b[%k, %zero] : tensor<?x4xf16>
    %b1 = tensor.extract %b[%k, %one] : tensor<?x4xf16>
    %b2 = tensor.extract %b[%k, %two] : tensor<?x4xf16>
    %b3 = tensor.extract %b[%k, %three] : tensor<?x4xf16>
    %right = tensor.from_elements %b0, %b1, %b2, %b3 : tensor<4xf16>
    %next = iree_codegen.inner_tiled ins(%left, %right) outs(%acc) {
      indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [],
      kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>,
      semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>
    } : tensor<4xf16>, tensor<4xf16> into vector<4xf32>
    scf.yield %next : vector<4xf32>
  }
  return %r : vector<4xf32>
}"""


def test_a_loop_accumulates_in_the_order_of_a_reduction() -> None:
    """Lanes of two subgroups, which make different numbers of trips."""
    kind = KINDS["MFMA_F32_16x16x16_F16"]
    a, b, c = whole(kind, np.random.default_rng(SEED), (2, 5))
    trips = np.array([5, 3])
    given = shares(kind, [a, b, c])[:2]
    (result,) = run(ACCUMULATE, *given, np.repeat(trips, 64), batch=True)
    for subgroup, count in enumerate(trips.tolist()):
        tiles = [Value.from_bits(x.bits[subgroup, :count], "f16") for x in (a, b)]
        zero = np.zeros((16, 16), np.float32)
        text = program("k,k->", attribute_of(kind), (*described(tiles), ("f32", (16, 16))))
        (expected,) = run(text, *tiles, zero)
        held = share(expected.bits[None], layouts_of(kind)[2], kind, 2)
        assert np.array_equal(result.bits[64 * subgroup : 64 * subgroup + 64], held)


GUARDED = """
func.func @main(%a: tensor<4xf16>, %b: tensor<4xf16>, %c: tensor<4xf32>, %go: i1) -> tensor<4xf32> {
  %r = scf.if %go -> tensor<4xf32> {
    %d = iree_codegen.inner_tiled ins(%a, %b) outs(%c) {
      indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [],
      kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>,
      semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>
    } : tensor<4xf16>, tensor<4xf16> into tensor<4xf32>
    scf.yield %d : tensor<4xf32>
  } else {
    scf.yield %c : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}"""


def test_subgroups_may_part_but_not_the_lanes_of_one() -> None:
    a, b, c = np.ones((192, 4), np.float16), np.ones(4, np.float16), np.zeros(4, np.float32)
    go = np.repeat([True, False, True], 64)
    (result,) = run(GUARDED, a, b, c, go, batch=True)
    assert np.array_equal(result.numpy(), np.where(go[:, None], np.float32(16), np.float32(0)).repeat(4, axis=1))
    go[[3, 131]] = [False, False]
    go[64] = True
    for on_ub in ("raise", "poison"):
        with pytest.raises(UndefinedBehavior) as caught:
            run(GUARDED, a, b, c, go, batch=True, on_ub=on_ub)
        assert caught.value.message == (
            "iree_codegen.inner_tiled: undefined behaviour: MFMA_F32_16x16x16_F16 needs all 64 lanes of a subgroup "
            "together, but only 63 of subgroup 0 reach it (lane 0; 127 of 192 lanes)"
        )
        assert caught.value.op == "iree_codegen.inner_tiled"
        assert caught.value.location is not None
        assert caught.value.lanes is not None
        assert caught.value.lanes.tolist() == np.flatnonzero(go).tolist()
        assert caught.value.hint is None  # 192 lanes are whole subgroups


@pytest.mark.parametrize(("lanes", "offending"), [(63, range(63)), (65, [64]), (100, range(64, 100))])
def test_lanes_that_are_no_whole_number_of_subgroups(lanes: int, offending: Any) -> None:
    a, b, c = np.ones((lanes, 4), np.float16), np.ones(4, np.float16), np.zeros(4, np.float32)
    with pytest.raises(UndefinedBehavior) as caught:
        run(GUARDED, a, b, c, True, batch=True)
    assert caught.value.hint == f"the batch has {lanes} lanes: give it a multiple of 64"
    assert caught.value.lanes is not None
    assert caught.value.lanes.tolist() == list(offending)


def test_outer_sizes_that_disagree_are_told_by_the_loops_of_the_op() -> None:
    shapes = (((64, 2, 3, 4), np.float16), ((64, 4, 5, 4), np.float16), ((64, 2, 4, 16), np.float32))
    with pytest.raises(UndefinedBehavior, match="loop d2 runs over 3 tiles of one operand, 5 of another"):
        run(ONE_LANE, *(np.zeros(*shape) for shape in shapes), batch=True)


@pytest.mark.parametrize(("m", "n", "k"), [(0, 2, 2), (2, 0, 2), (2, 2, 0)])
def test_no_points(m: int, n: int, k: int) -> None:
    c = small(np.random.default_rng(SEED), (64, m, n, 16), np.float32)
    (result,) = run(ONE_LANE, np.ones((64, m, k, 4), np.float16), np.ones((64, n, k, 4), np.float16), c, batch=True)
    assert np.array_equal(result.numpy(), c)


def test_kinds_that_are_not_computed_are_refused() -> None:
    kind = KINDS["VDMFMA_F32_8x16x64x2_F16"]
    assert kind.lane_shapes is not None
    operands = tuple(zip((*kind.types[:2], kind.types[2]), kind.lane_shapes, strict=True))
    text = program(",->", attribute_of(kind), operands, distributed=True)
    arrays = [np.zeros((64, *shape), element.replace("f", "float")) for element, shape in operands]
    with pytest.raises(Unsupported, match=f"how hardware computes {kind.name} is not published"):
        run(text, *arrays, batch=True)


# --- poison and openness ----------------------------------------------------------------------------------------------


def poisoned(codes: Array, element: str, place: tuple[int, ...]) -> Value:
    origins = Origins()
    ids = np.zeros(codes.shape, np.uint16)
    ids[place] = origins.id_of(Origin("ub.poison", "here", "it is", place))
    return Value(ty.TensorType(codes.shape, ty.F(element)), codes, ids, None, origins)


def test_poison_of_one_lane_reaches_what_is_made_of_it() -> None:
    """Lane 101 is lane 37 of subgroup 1: its registers are elements 4 to 7 along K of row 5 of that tile."""
    kind = KINDS[MFMA]
    a = poisoned(np.full((128, 4), 0x3C00, np.uint16), "f16", (101, 2))
    operands = (("f16", (4,)), ("f16", (4,)), ("f32", (16,)))
    text = program(",->", attribute_of(kind), operands, distributed=True)
    (result,) = run(text, a, np.ones(4, np.float16), np.zeros(16, np.float32), batch=True)
    row = np.zeros((2, 32, 32), np.bool_)
    row[1, 5] = True
    assert np.array_equal(result.poisoned, share(row, layouts_of(kind)[2], kind, 2))
    assert (result.numpy(poison=0)[~result.poisoned] == 8).all()
    assert not result.bits[result.poisoned].any()
    lane = int(np.argmax(result.poisoned.any(axis=1)))
    origin = result.origin(lane, int(np.argmax(result.poisoned[lane])))
    assert origin is not None
    assert (origin.op, origin.element) == ("ub.poison", (101, 2))


def test_one_of_two_copies_that_is_poison_spoils_what_either_makes() -> None:
    """RDNA3 holds A and B twice, in lanes l and l + 16: which of them the hardware reads is not known."""
    kind = KINDS["WMMAR3_F32_16x16x16_F16"]
    operands = (("f16", (16,)), ("f16", (16,)), ("f32", (8,)))
    text = program(",->", attribute_of(kind), operands, distributed=True)
    b = np.ones(16, np.float16)
    for lane in (5, 21):
        a = np.full((32, 16), 0x3C00, np.uint16)
        a[lane, 3] = 0x4000  # poison may have any bits
        (result,) = run(text, poisoned(a, "f16", (lane, 3)), b, np.zeros(8, np.float32), batch=True)
        row = np.zeros((1, 16, 16), np.bool_)
        row[0, 5] = True
        assert np.array_equal(result.poisoned, share(row, layouts_of(kind)[2], kind, 2))
        assert (result.numpy(poison=0)[~result.poisoned] == 16).all()
    with pytest.raises(
        Unsupported, match="lanes of WMMAR3_F32_16x16x16_F16 have different values for the same element of operand #0"
    ):
        run(text, a.view(np.float16), b, np.zeros(8, np.float32), batch=True)


def test_what_the_language_leaves_open_in_one_lane_stays_open_in_others() -> None:
    kind = KINDS[MFMA]
    operands = (("f16", (4,)), ("f16", (4,)), ("f32", (16,)))
    text = program(",->", attribute_of(kind), operands, distributed=True)
    open_ = np.zeros((64, 4), np.uint8)
    open_[37, 2] = Open.SIGN.value
    a = Value(ty.TensorType((64, 4), ty.F("f16")), np.full((64, 4), 0x3C00, np.uint16), None, open_)
    (result,) = run(text, a, np.ones(4, np.float16), np.zeros(16, np.float32), batch=True, track_open=True)
    row = np.zeros((1, 32, 32), np.uint8)
    row[0, 5] = Open.VALUE.value
    assert result.open is not None
    assert np.array_equal(result.open, share(row, layouts_of(kind)[2], kind, 2))


def test_a_trace_shows_what_all_lanes_have() -> None:
    rng = np.random.default_rng(SEED)
    a, b = small(rng, (64, 2, 3, 4), np.float16), small(rng, (64, 4, 3, 4), np.float16)
    traced = trace(ONE_LANE, a, b, np.zeros((64, 2, 4, 16), np.float32), batch=True)
    (step,) = [step for step in traced.steps if step.op == "iree_codegen.inner_tiled"]
    assert [operand.shape for operand in step.operands] == [(64, 2, 3, 4), (64, 4, 3, 4), (64, 2, 4, 16)]
    assert step.results[0].text.startswith("64x2x4x16xf32=")
    assert traced.html()


def test_a_trace_says_by_which_model_matrix_units_add(tmp_path: Path) -> None:
    arguments = (
        np.ones((64, 2, 3, 4), np.float16),
        np.ones((64, 4, 3, 4), np.float16),
        np.ones((64, 2, 4, 16), np.float32),
    )
    by_default = trace(ONE_LANE, *arguments, batch=True)
    assert str(by_default).splitlines()[0].endswith("profile spec")
    traced = trace(ONE_LANE, *arguments, batch=True, mma="chip:cdna3", npz=tmp_path / "run")
    said = "profile spec, matrix units chip:cdna3"
    assert str(traced).splitlines()[0].endswith(said)
    assert said in traced.html()
    (index,) = (tmp_path / "run").glob("*.json")
    assert json.loads(index.read_text(encoding="utf-8"))["mma"] == "chip:cdna3"


# --- inner tiled memrefs ----------------------------------------------------------------------------------------------
#
# `iree_codegen.inner_tiled` on memrefs, which its document allows: read where they lie, updated in place.

KIND = "MFMA_F32_16x16x16_F16"
ATTRIBUTES = f"""kind = #iree_gpu.mma_layout<{KIND}>,
    semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>"""
SINGLE = "indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []"
LOOPS = """indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>,
      #linalg.iterator_type<reduction>]"""


def text(a: str, b: str, c: str, loops: str = SINGLE) -> str:
    """Return a function on these types with a memref as its output."""
    return f"""func.func @main(%a: {a}, %b: {b}, %c: {c}) {{
  iree_codegen.inner_tiled ins(%a, %b) outs(%c) <{loops}, {ATTRIBUTES}> : {a}, {b} into {c}
  return
}}"""


def test_memrefs_which_iree_opt_refuses_are_read_and_printed() -> None:
    given = text("memref<16x16xf16>", "tensor<16x16xf16>", "memref<16x16xf32>")
    module = parse_module(given)
    (op,) = [op for op in module.walk() if op.name == "iree_codegen.inner_tiled"]
    assert not op.results
    for generic in (False, True):
        assert print_module(parse_module(print_module(module, generic=generic))) == print_module(module)


def test_iree_opt_refuses_them(iree_opt: str) -> None:
    given = text("memref<16x16xf16>", "tensor<16x16xf16>", "memref<16x16xf32>")
    done = subprocess.run([iree_opt], input=given, capture_output=True, text=True, check=False)
    assert "operand #0 must be variadic of ranked tensor or vector of any non-token type values" in done.stderr


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        ("memref<?x?x16x16xf16>",) * 2 + ("memref<?x?x16x16xf32>",),
        (
            "memref<2x3x16x16xf16, strided<[1, 700, 40, 2], offset: 5>>",
            "tensor<3x4x16x16xf16>",
            "memref<2x4x16x16xf32>",
        ),
        ("tensor<2x?x16x16xf16>", "memref<?x4x16x16xf16>", "memref<2x4x16x16xf32, strided<[256, 512, 1, 16]>>"),
        ("tensor<?x3x16x16xf16>", "vector<3x4x16x16xf16>", "memref<?x4x16x16xf32, strided<[?, ?, ?, ?], offset: ?>>"),
    ],
)
def test_a_memref_is_updated_in_place_whatever_its_layout(a: str, b: str, c: str) -> None:
    rng = np.random.default_rng(SEED)
    x, y = small(rng, (2, 3, 16, 16), np.float16), small(rng, (3, 4, 16, 16), np.float16)
    z = small(rng, (2, 4, 16, 16), np.float32)
    output = Buffer.from_numpy(
        z, c.replace("strided<[?, ?, ?, ?], offset: ?>", "strided<[1500, 300, 17, 1], offset: 9>")
    )
    results = run(text(a, b, c, LOOPS), x, y, output)
    assert results == ()
    expected = z + np.einsum("mkia,knaj->mnij", x.astype(np.float32), y.astype(np.float32))
    assert np.array_equal(output.numpy(), expected)


def test_memory_between_the_elements_of_the_output_stays_as_it_is() -> None:
    a, b = np.ones((16, 16), np.float16), np.ones((16, 16), np.float16)
    whole_memory = Buffer.from_numpy(np.full((16, 20), 7, np.float32))
    given = """func.func @main(%a: tensor<16x16xf16>, %b: tensor<16x16xf16>, %m: memref<16x20xf32>) {
      %c = memref.subview %m[0, 2] [16, 16] [1, 1] : memref<16x20xf32> to memref<16x16xf32, strided<[20, 1], offset: 2>>
      iree_codegen.inner_tiled ins(%a, %b) outs(%c) <SINGLE, ATTRIBUTES>
        : tensor<16x16xf16>, tensor<16x16xf16> into memref<16x16xf32, strided<[20, 1], offset: 2>>
      return
    }"""
    run(given.replace("SINGLE", SINGLE).replace("ATTRIBUTES", ATTRIBUTES), a, b, whole_memory)
    expected = np.full((16, 20), 7, np.float32)
    expected[:, 2:18] += 16
    assert np.array_equal(whole_memory.numpy(), expected)


def test_a_memref_as_an_input_leaves_the_result_to_a_tensor() -> None:
    rng = np.random.default_rng(SEED)
    a, b = small(rng, (16, 16), np.float16), small(rng, (16, 16), np.float16)
    c = small(rng, (16, 16), np.float32)
    given = program(",->", f"mma_layout<{KIND}>", (("f16", (16, 16)), ("f16", (16, 16)), ("f32", (16, 16))))
    left = Buffer.from_numpy(a, "memref<16x16xf16, strided<[1, 16]>>")
    (result,) = run(given.replace("tensor<16x16xf16>", "memref<16x16xf16, strided<[1, 16]>>"), left, b.copy(), c)
    assert np.array_equal(result.numpy(), c + a.astype(np.float32) @ b.astype(np.float32))
    assert np.array_equal(left.numpy(), a)


def test_shares_of_lanes_lie_in_memory_too() -> None:
    kind = KINDS[KIND]
    assert kind.layouts is not None
    values = whole(kind, np.random.default_rng(SEED))
    (expected,) = run(program(",->", f"mma_layout<{KIND}>", described(values)), *values)
    shares = [
        Value.from_bits(distribute(value.bits, layout, 64), str(value.element_type))
        for value, layout in zip(values, kind.layouts, strict=True)
    ]
    given = program("i,i->i", f"mma_layout<{KIND}>", described(shares), distributed=True)
    given = given.replace("tensor<64x4xf32>", "memref<64x4xf32>").replace(" -> memref<64x4xf32>", "")
    given = given.replace("%r = ", "").replace("return %r : memref<64x4xf32>", "return")
    output = Buffer.from_numpy(shares[2])
    assert run(given, *shares[:2], output) == ()
    assert np.array_equal(output.load().bits, distribute(expected.bits, kind.layouts[2], 64))


def test_poison_goes_into_memory_and_out_of_it() -> None:
    given = """func.func @main(%a: memref<16x16xf16>, %b: tensor<16x16xf16>, %c: memref<16x16xf32>, %i: index, %j: index) {
      %p = ub.poison : f16
      memref.store %p, %a[%i, %j] : memref<16x16xf16>
      iree_codegen.inner_tiled ins(%a, %b) outs(%c) <SINGLE, ATTRIBUTES>
        : memref<16x16xf16>, tensor<16x16xf16> into memref<16x16xf32>
      return
    }"""
    ones, output = np.ones((16, 16), np.float16), Buffer.from_numpy(np.zeros((16, 16), np.float32))
    run(given.replace("SINGLE", SINGLE).replace("ATTRIBUTES", ATTRIBUTES), ones, ones, output, 5, 2)
    value = output.load()
    row = np.zeros((16, 16), np.bool_)
    row[5] = True
    assert np.array_equal(value.poisoned, row)
    assert (value.numpy(poison=0)[~row] == 16).all()
    origin = value.origin(5, 0)
    assert origin is not None
    assert origin.op == "ub.poison"


# --- what is refused --------------------------------------------------------------------------------------------------

SHARED = """func.func @main(%m: memref<4x16x16xf32>) {{
  %a = memref.subview %m[{0}, 0, 0] [2, 16, 4] [1, 1, 1]
    : memref<4x16x16xf32> to memref<2x16x4xf32, strided<[256, 16, 1], offset: {1}>>
  %b = memref.subview %m[3, 0, 0] [1, 4, 16] [1, 1, 1]
    : memref<4x16x16xf32> to memref<4x16xf32, strided<[16, 1], offset: 768>>
  %c = memref.subview %m[0, 0, 0] [2, 16, 16] [1, 1, 1]
    : memref<4x16x16xf32> to memref<2x16x16xf32, strided<[256, 16, 1]>>
  iree_codegen.inner_tiled ins(%a, %b) outs(%c) <
    indexing_maps = [affine_map<(m) -> (m)>, affine_map<(m) -> ()>, affine_map<(m) -> (m)>],
    iterator_types = [#linalg.iterator_type<parallel>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>>
    : memref<2x16x4xf32, strided<[256, 16, 1], offset: {1}>>, memref<4x16xf32, strided<[16, 1], offset: 768>>
    into memref<2x16x16xf32, strided<[256, 16, 1]>>
  return
}}"""


def test_an_input_in_the_memory_of_the_output_is_refused_where_points_follow_each_other() -> None:
    rng = np.random.default_rng(SEED)
    memory = small(rng, (4, 16, 16), np.float32)
    with pytest.raises(Unsupported, match="input #0 and the output share memory") as caught:
        run(SHARED.format(1, 256), Buffer.from_numpy(memory))
    assert caught.value.op == "iree_codegen.inner_tiled"
    apart = Buffer.from_numpy(memory)
    run(SHARED.format(2, 512), apart)
    expected = memory.copy()
    expected[:2] += memory[2:, :, :4] @ memory[3, :4]
    assert np.array_equal(apart.numpy(), expected)


def test_one_tile_reads_all_before_it_writes() -> None:
    """C = C * B + C."""
    rng = np.random.default_rng(SEED)
    c, b = small(rng, (16, 16), np.float16), small(rng, (16, 16), np.float16)
    given = f"""func.func @main(%b: tensor<16x16xf16>, %c: memref<16x16xf16>) {{
      iree_codegen.inner_tiled ins(%c, %b) outs(%c) <{SINGLE},
        kind = #iree_gpu.mma_layout<WMMAR3_F16_16x16x16_F16>,
        semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>>
        : memref<16x16xf16>, tensor<16x16xf16> into memref<16x16xf16>
      return
    }}"""
    output = Buffer.from_numpy(c)
    run(given, b, output)
    assert np.array_equal(output.numpy(), (c.astype(np.float64) @ b.astype(np.float64) + c).astype(np.float16))


def test_an_output_with_elements_at_one_place_is_refused() -> None:
    layout = "memref<2x16x16xf32, strided<[0, 16, 1]>>"
    loops = SINGLE.replace("() -> ()", "(m) -> (m)").replace("[]", "[#linalg.iterator_type<parallel>]")
    given = text("memref<2x16x16xf16>", "memref<2x16x16xf16>", layout, loops)
    ones = np.ones((2, 16, 16), np.float16)
    with pytest.raises(Unsupported, match="elements of the output lie at the same place in memory"):
        run(given, ones, ones, Buffer.from_numpy(np.zeros((2, 16, 16), np.float32), layout))


def test_so_is_one_tile_with_elements_at_one_place() -> None:
    layout = "memref<16x16xf32, strided<[0, 1]>>"
    ones = np.ones((16, 16), np.float16)
    with pytest.raises(Unsupported, match="elements of the output lie at the same place in memory"):
        run(text("memref<16x16xf16>", "memref<16x16xf16>", layout), ones, ones, np.zeros((16, 16), np.float32))


def test_freed_memory_is_undefined_behaviour() -> None:
    given = """func.func @main(%a: tensor<16x16xf16>, %c: memref<16x16xf32>) {
      %b = memref.alloc() : memref<16x16xf16>
      memref.dealloc %b : memref<16x16xf16>
      iree_codegen.inner_tiled ins(%a, %b) outs(%c) <SINGLE, ATTRIBUTES>
        : tensor<16x16xf16>, memref<16x16xf16> into memref<16x16xf32>
      return
    }"""
    given = given.replace("SINGLE", SINGLE).replace("ATTRIBUTES", ATTRIBUTES)
    with pytest.raises(UndefinedBehavior, match="the memory of operand 1 was freed"):
        run(given, np.ones((16, 16), np.float16), np.zeros((16, 16), np.float32))


@each_row(
    ("memref<16x16xf16, affine_map<(i, j) -> (i floordiv 2, j)>>", "operand #0 must be variadic of ranked tensor"),
    ("memref<*xf16>", "operand #0 must be variadic of ranked tensor"),
    ("memref<16x8xf16>", "operand #0 inner tile 'tensor<16x8xf16>' is incompatible"),
)
def test_memrefs_that_do_not_fit_are_no_operands(a: str, message: str) -> None:
    with pytest.raises(VerifyError) as caught:
        parse_module(text(a, "memref<16x16xf16>", "memref<16x16xf32>"))
    assert message in caught.value.message
