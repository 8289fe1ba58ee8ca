"""The small ops of iree_codegen: barriers and hints pass on what they get, claims about lanes, null pointers, queries."""

import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import each_row

import halfulp as hu
from halfulp.command.main import main
from halfulp.interp.dialects.iree_codegen.ops import Claim
from halfulp.interp.ir.types import INDEX, TensorType
from halfulp.interp.run.frames import Lanes
from halfulp.interp.run.settings import Listener

# --- fusion_barrier ---------------------------------------------------------------------------------------------------

BARRIER = """
func.func @f(%t: tensor<?xf32>) -> tensor<?xf32> {
  %0 = iree_codegen.fusion_barrier %t : tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""


def test_a_barrier_changes_no_bit() -> None:
    codes = np.array([0x7F800001, 0x80000000, 0xFFC12345, 0x3F800000], np.uint32)
    (result,) = hu.run(BARRIER, hu.Value.from_bits(codes, "f32"))
    assert result.bits.tolist() == codes.tolist()
    poisoned = hu.convert(np.array([1e9, 2.0]), "i8")
    text = BARRIER.replace("f32", "i8")
    (result,) = hu.run(text, poisoned)
    assert result == poisoned
    assert result.poisoned.tolist() == [True, False]
    assert result.origin(0) == poisoned.origin(0)


def test_a_barrier_is_for_ranked_tensors_of_one_type() -> None:
    with pytest.raises(hu.errors.ParseError, match="invalid kind of type specified: expected builtin.tensor"):
        hu.load(BARRIER.replace("tensor<?xf32>", "tensor<*xf32>"))
    with pytest.raises(hu.errors.VerifyError, match="same type for all operands and results"):
        hu.load(
            "func.func @f(%t: tensor<?xf32>) -> tensor<4xf32> {\n"
            '  %0 = "iree_codegen.fusion_barrier"(%t) : (tensor<?xf32>) -> tensor<4xf32>\n'
            "  return %0 : tensor<4xf32>\n}"
        )


# --- index_hint -------------------------------------------------------------------------------------------------------


def hinted(hint: str) -> str:
    """Return a function with one hint on its argument."""
    return (
        "func.func @f(%x: index) -> index {\n"
        f"  %0 = iree_codegen.index_hint %x({hint}) : index\n"
        "  return %0 : index\n}\n"
    )


# Of the document.
TWO_HINTS = """
func.func @f(%row: index, %col: index) -> index {
  %0 = iree_codegen.index_hint %row(#iree_gpu.lane_constant<16>) : index
  %1 = iree_codegen.index_hint %col(#iree_gpu.lane_increment<16>) : index
  %2 = arith.addi %0, %1 : index
  return %2 : index
}
"""
HINTS = [
    "#iree_gpu.lane_constant<4>",
    "#iree_gpu.lane_increment<4>",
    "#iree_gpu.lane_increment<4, step = 8, aligned>",
    '"anything"',
    "#iree_gpu.lane_scope",
]


@pytest.mark.parametrize("hint", HINTS)
@pytest.mark.parametrize("check", [False, True])
def test_a_hint_is_the_index_itself(hint: str, check: bool) -> None:
    text = hinted(hint)
    assert hu.run(text, -5, check_hints=check)[0].item() == -5
    # Of one lane nothing can be wrong, and nothing is checked unless it is asked for.
    lanes = np.array([0, 3, 7, 7, 1])
    if not check:
        assert hu.run(text, lanes, batch=True)[0].numpy().tolist() == lanes.tolist()


def test_claims_that_hold() -> None:
    lanes = np.arange(64)
    (result,) = hu.run(TWO_HINTS, lanes // 16, lanes % 16, batch=True, check_hints=True)
    assert result.numpy().tolist() == (lanes // 16 + lanes % 16).tolist()
    holding = [
        ("#iree_gpu.lane_constant<16>", 5),
        ("#iree_gpu.lane_constant<1>", lanes * lanes),
        ("#iree_gpu.lane_increment<16, aligned>", lanes % 16),
        ("#iree_gpu.lane_increment<16, aligned>", lanes % 16 + 32 * (lanes // 16)),
        ("#iree_gpu.lane_increment<16>", lanes + 3),
        ("#iree_gpu.lane_increment<16, step = 4>", 4 * lanes - 1000),
        ("#iree_gpu.lane_increment<16, step = -4>", -4 * lanes),
        ("#iree_gpu.lane_increment<64, step = 0>", 7),
        # Round the end of what an index holds.
        ("#iree_gpu.lane_increment<64>", ((1 << 63) - 30 + lanes.astype(np.uint64)).view(np.int64)),
        ('"anything"', lanes * lanes),
    ]
    for hint, given in holding:
        argument = np.full(64, given) if isinstance(given, int) else given
        hu.run(hinted(hint), argument, batch=True, check_hints=True)


@each_row(
    (
        "#iree_gpu.lane_constant<16>",
        np.arange(32) // 8,
        [*range(8, 16), *range(24, 32)],
        "0 in lane 0, but 1 in lane 8",
    ),
    ("#iree_gpu.lane_constant<3>", np.array([1, 1, 1, 2, 2, 3, 4, 4]), [5], "2 in lane 3, but 3 in lane 5"),
    ("#iree_gpu.lane_increment<4>", np.array([0, 1, 2, 3, 9, 10, 12, 12]), [6], "9 in lane 4, but 12 in lane 6"),
    (
        "#iree_gpu.lane_increment<4, step = 2>",
        np.array([-2, 0, 2, 5]),
        [3],
        "-2 in lane 0, but 5 in lane 3",
    ),
    (
        "#iree_gpu.lane_increment<4, aligned>",
        np.array([4, 5, 6, 7, 1, 2, 3, 4]),
        [4, 5, 6, 7],
        "1 in lane 4, so that the first lane of its group, 4, has 1, which is not a multiple of 4",
    ),
)
def test_claims_that_do_not_hold(hint: str, values: Any, lanes: list[int], what: str) -> None:
    text = hinted(hint)
    assert hu.run(text, values, batch=True)[0].numpy().tolist() == values.tolist()
    told: list[hu.UndefinedBehavior] = []

    class Reports(Listener):
        def undefined_behavior(self, op: Any, report: hu.UndefinedBehavior) -> None:
            told.append(report)

    with pytest.raises(hu.UndefinedBehavior) as raised:
        hu.run(text, values, batch=True, check_hints=True, listeners=[Reports()])
    error = raised.value
    assert error.message.startswith(
        f"iree_codegen.index_hint: the hint {hint} does not hold: {what} (lane {lanes[0]}; "
    )
    assert error.lanes is not None
    assert error.lanes.tolist() == lanes
    assert str(error.location).endswith("2:8")
    assert told == [error]
    # It is a claim about the program, not an element that could be poison.
    with pytest.raises(hu.UndefinedBehavior):
        hu.run(text, values, batch=True, check_hints=True, on_ub="poison")


def test_one_number_for_all_lanes_does_not_increment() -> None:
    text = hinted("#iree_gpu.lane_increment<4>").replace("(%x: index)", "(%x: index, %y: index)")
    with pytest.raises(hu.UndefinedBehavior, match="5 in lane 0, but 5 in lane 1"):
        hu.run(text, 5, np.arange(8), batch=True, check_hints=True)
    hu.run(text, 5, np.arange(1), batch=True, check_hints=True)


PARTED = """
func.func @f(%x: index, %runs: i1) -> index {
  %0 = scf.if %runs -> index {
    %1 = iree_codegen.index_hint %x(#iree_gpu.lane_increment<4>) : index
    scf.yield %1 : index
  } else {
    scf.yield %x : index
  }
  return %0 : index
}
"""


def test_only_lanes_that_run_are_compared_by_their_own_numbers() -> None:
    values = np.array([0, 77, 2, 3, 9, 9, 9, 12])
    runs = np.array([1, 0, 1, 1, 1, 0, 0, 1], np.bool_)
    (result,) = hu.run(PARTED, values, runs, batch=True, check_hints=True)
    assert result.numpy().tolist() == values.tolist()
    runs[1] = True
    with pytest.raises(hu.UndefinedBehavior, match="0 in lane 0, but 77 in lane 1") as raised:
        hu.run(PARTED, values, runs, batch=True, check_hints=True)
    assert raised.value.lanes is not None
    assert raised.value.lanes.tolist() == [1]


def test_poison_lanes_are_left_out() -> None:
    text = """
    func.func @f(%x: index, %y: index) -> index {
      %0 = arith.addi %x, %y overflow<nuw> : index
      %1 = iree_codegen.index_hint %0(#iree_gpu.lane_constant<4>) : index
      return %1 : index
    }
    """
    addends = np.array([1, -1, 1, 1])
    (result,) = hu.run(text, 5, addends, batch=True, check_hints=True)
    assert result.poisoned.tolist() == [False, True, False, False]
    addends[0] = 2
    with pytest.raises(hu.UndefinedBehavior, match="7 in lane 0, but 6 in lane 2"):
        hu.run(text, 5, addends, batch=True, check_hints=True)


def test_random_claims_against_their_definition() -> None:
    """Claims that nearly hold, in some lanes of a batch, judged lane by lane."""
    rng = random.Random(5)
    verdicts = {True: 0, False: 0}
    for _ in range(400):
        size, step = rng.choice([1, 2, 3, 4, 8, 64]), rng.choice([0, 1, 2, -3, 1 << 40])
        claim = Claim(size, step, rng.random() < 0.4)
        count = rng.randint(1, 40)
        running = sorted(rng.sample(range(count), rng.randint(1, count)))
        start = rng.choice([0, size, 5, (1 << 63) - 2])
        given = {lane: start + lane // size * size + lane % size * step for lane in running}
        for lane in rng.sample(running, rng.randint(0, min(2, len(running)))):
            given[lane] += rng.choice([0, 1, size])
        wrong = []
        for lane in running:
            first = next(other for other in running if other // size == lane // size)
            base = given[lane] - lane % size * step
            grows = (given[lane] - given[first] - (lane - first) * step) % (1 << 64) == 0
            if not grows or (claim.aligned and _signed(base) % size):
                wrong.append(lane)
        codes = np.array([given[lane] % (1 << 64) for lane in running], np.uint64)
        lanes = Lanes(np.array(running), count)
        found = claim.broken(hu.Value(INDEX, codes), lanes, 64)
        assert wrong == [] if found is None else lanes.offending(found[0]).tolist() == wrong
        verdicts[found is None] += 1
    assert min(verdicts.values()) > 80


def _signed(number: int) -> int:
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def test_hints_at_32_bits() -> None:
    """Lanes that grow past the largest index of 32 bits go on from 0: at 32 bits by one, at 64 bits not."""
    text = hinted("#iree_gpu.lane_increment<8>")
    values = (np.arange(8) + (1 << 32) - 4) % (1 << 32)
    (result,) = hu.run(text, values, batch=True, check_hints=True, index_width=32)
    assert result.numpy().tolist() == values.tolist()
    with pytest.raises(hu.UndefinedBehavior, match="4294967292 in lane 0, but 0 in lane 4"):
        hu.run(text, values, batch=True, check_hints=True, index_width=64)
    values[6] += 1
    with pytest.raises(hu.UndefinedBehavior, match="-4 in lane 0, but 3 in lane 6"):
        hu.run(text, values, batch=True, check_hints=True, index_width=32)


def test_groups_without_lanes_cannot_be_checked() -> None:
    for hint in ("#iree_gpu.lane_constant<0>", "#iree_gpu.lane_increment<-4>"):
        text = hinted(hint)
        assert hu.run(text, 3)[0].item() == 3
        with pytest.raises(hu.Unsupported, match="cannot be checked: its groups hold"):
            hu.run(text, np.arange(4), batch=True, check_hints=True)


def test_hints_are_checked_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "hint.mlir"
    file.write_text(hinted("#iree_gpu.lane_constant<2>"))
    command = ["run", str(file), "--batch", "--input=1 1 2 3"]
    assert main(command) == 0
    assert capsys.readouterr().out == "result[0]: 4xindex=1 1 2 3\n"
    assert main([*command, "--check-hints"]) == 4
    told = capsys.readouterr().err
    assert "hint.mlir:2:8: error: iree_codegen.index_hint: the hint #iree_gpu.lane_constant<2> does not hold" in told
    assert "2 in lane 2, but 3 in lane 3 (lane 3; 1 of 4 lanes)" in told
    assert main(["run", "--trace", *command[1:], "--check-hints"]) == 4


def test_an_index_hint_is_for_an_index() -> None:
    with pytest.raises(hu.errors.VerifyError, match="must be index"):
        hu.load(
            "func.func @f(%x: i32) {\n"
            '  %0 = "iree_codegen.index_hint"(%x) <{hint = #iree_gpu.lane_constant<16>}> : (i32) -> i32\n  return\n}'
        )


# --- null_pointer -----------------------------------------------------------------------------------------------------

POINTERS = """
func.func private @pass(%p: !iree_codegen.null_pointer) -> !iree_codegen.null_pointer {
  return %p : !iree_codegen.null_pointer
}
func.func private @kernel(!iree_codegen.null_pointer, index) -> index
func.func @f(%x: index) -> (index, !iree_codegen.null_pointer) {
  %0 = iree_codegen.null_pointer
  %1 = call @pass(%0) : (!iree_codegen.null_pointer) -> !iree_codegen.null_pointer
  %2 = call @kernel(%1, %x) : (!iree_codegen.null_pointer, index) -> index
  return %2, %1 : index, !iree_codegen.null_pointer
}
"""
CHOICE = """
func.func @f(%c: i1, %x: index) -> index {
  %0 = iree_codegen.null_pointer
  %1 = scf.if %c -> !iree_codegen.null_pointer {
    %2 = iree_codegen.null_pointer
    scf.yield %2 : !iree_codegen.null_pointer
  } else {
    scf.yield %0 : !iree_codegen.null_pointer
  }
  %3 = iree_codegen.index_hint %x("h") : index
  return %3 : index
}
"""


def test_a_null_pointer_is_one_value_that_is_passed_on() -> None:
    got: list[Any] = []

    def kernel(pointer: hu.Value, x: hu.Value) -> int:
        got.append(pointer)
        return int(x.item()) + 1

    count, pointer = hu.run(POINTERS, 4, externals={"kernel": kernel}, function="f")
    assert count.item() == 5
    assert str(pointer.type) == "!iree_codegen.null_pointer"
    assert pointer.item() is None
    assert got == [pointer]
    assert pickle.loads(pickle.dumps(pointer)) == pointer
    assert repr(pointer) == "Value(!iree_codegen.null_pointer=None)"
    # What came out goes in again; nothing else is a null pointer.
    identity = POINTERS.split("func.func private @kernel")[0]
    assert hu.run(identity, pointer, function="pass") == (pointer,)
    with pytest.raises(hu.Unsupported, match="cannot be given as arrays"):
        hu.run(identity, 0, function="pass")


def test_null_pointers_in_traces_batches_and_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    traced = hu.trace(POINTERS, 4, externals={"kernel": lambda p, x: 1}, function="f", npz=tmp_path / "npz")
    assert "%0 !iree_codegen.null_pointer=None" in str(traced)
    (result,) = hu.run(CHOICE, np.array([True, False]), np.array([1, 2]), batch=True)
    assert result.numpy().tolist() == [1, 2]
    file = tmp_path / "null.mlir"
    file.write_text(
        "func.func @f() -> !iree_codegen.null_pointer {\n  %0 = iree_codegen.null_pointer\n"
        "  return %0 : !iree_codegen.null_pointer\n}\n"
    )
    assert main(["run", str(file)]) == 0
    assert capsys.readouterr().out == "result[0]: !iree_codegen.null_pointer=None\n"
    assert main(["run", str(file), f"--output=@{tmp_path}/a.npy"]) == 2
    assert "cannot be written to a file" in capsys.readouterr().err


def test_a_null_pointer_has_its_own_type() -> None:
    with pytest.raises(hu.errors.VerifyError, match="Pseudo null-pointer type"):
        hu.load('func.func @f() {\n  %0 = "iree_codegen.null_pointer"() : () -> index\n  return\n}')


# --- query_tile_sizes -------------------------------------------------------------------------------------------------

QUERY = """
func.func @f() -> (index, index) {
  %0:2 = iree_codegen.query_tile_sizes tensor<?x17xf32> -> index, index
  return %0#0, %0#1 : index, index
}
"""
NAME = "iree_codegen.query_tile_sizes"


@pytest.mark.parametrize("container", [tuple, list, np.array])
def test_tile_sizes_are_asked_of_the_user(container: Any) -> None:
    asked: list[TensorType] = []

    def sizes(type_: TensorType) -> Any:
        asked.append(type_)
        assert type_.shape is not None
        return container([8, type_.shape[1]])

    one, two = hu.run(QUERY, externals={NAME: sizes})
    assert (one.item(), two.item()) == (8, 17)
    assert str(one.type) == "index"
    assert [str(type_) for type_ in asked] == ["tensor<?x17xf32>"]
    assert asked[0].shape == (None, 17)
    assert str(asked[0].element) == "f32"


def test_one_tile_size_and_lanes() -> None:
    text = """
    func.func @f(%x: index) -> index {
      %0 = iree_codegen.query_tile_sizes tensor<4xi8> -> index
      %1 = arith.muli %0, %x : index
      return %1 : index
    }
    """
    assert hu.run(text, 3, externals={NAME: lambda type_: 4})[0].item() == 12
    calls: list[Any] = []

    def five(type_: Any) -> int:
        calls.append(type_)
        return 5

    (result,) = hu.run(text, np.arange(3), batch=True, externals={NAME: five})
    assert result.numpy().tolist() == [0, 5, 10]
    assert len(calls) == 1


def test_wrong_answers_about_tile_sizes() -> None:
    with pytest.raises(hu.TypeMismatch, match=f"the function bound to {NAME} returned 3 values; 2 are declared"):
        hu.run(QUERY, externals={NAME: lambda type_: (1, 2, 3)})
    with pytest.raises(hu.TypeMismatch, match="returned 1 values; 2 are declared"):
        hu.run(QUERY, externals={NAME: lambda type_: 7})
    with pytest.raises(hu.TypeMismatch, match=f"result 1 of the function bound to {NAME}: expected 'index'"):
        hu.run(QUERY, externals={NAME: lambda type_: (1, 2.5)})


def test_nobody_to_ask_about_tile_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(hu.Unsupported, match="asks what only the target knows") as raised:
        hu.run(QUERY)
    assert raised.value.hint == (
        "give a function that takes the tensor type and returns 2 integers: "
        'externals={"iree_codegen.query_tile_sizes": function}'
    )
    file = tmp_path / "query.mlir"
    file.write_text(QUERY)
    assert main(["run", str(file)]) == 3
    assert "query.mlir:3:10: error: 'iree_codegen.query_tile_sizes' asks" in capsys.readouterr().err
    with pytest.raises(hu.errors.VerifyError, match="Tensor type attribute"):
        hu.load(QUERY.replace("tensor<?x17xf32>", "vector<17xf32>"))


# --- workgroup_count_hint ---------------------------------------------------------------------------------------------


def test_a_count_hint_does_nothing_when_it_runs() -> None:
    text = """
    func.func @f(%x: index) -> index {
      iree_codegen.workgroup_count_hint(%x, 4, %x)
      return %x : index
    }
    """
    assert hu.run(text, 3)[0].item() == 3
    assert hu.run(text, np.arange(4), batch=True)[0].numpy().tolist() == [0, 1, 2, 3]
    traced = hu.trace(text, 3)
    assert "iree_codegen.workgroup_count_hint(%x, 4, %x)" in str(traced)


# --- one op by itself -------------------------------------------------------------------------------------------------


def test_small_ops_alone() -> None:
    tensor = np.array([1.5, -0.0], np.float32)
    assert hu.eval("iree_codegen.fusion_barrier", tensor).numpy().tolist() == tensor.tolist()
    hint = "#iree_gpu.lane_increment<16, aligned>"
    assert hu.eval("iree_codegen.index_hint", 5, type="index", hint=hint).item() == 5
    assert hu.eval("iree_codegen.null_pointer").item() is None
    map_ = "affine_map<(d0)[s0] -> (d0 ceildiv s0)>"
    assert hu.eval("affine.apply", 1000, 256, type="index", map=map_).item() == 4
    with pytest.raises(hu.errors.VerifyError, match="dimension and symbol count must match"):
        hu.eval("affine.apply", 1000, type="index", map=map_)
