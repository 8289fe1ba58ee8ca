"""hu.eval of ops with several variadic operands, and with properties that are not keywords."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import halfulp
from tables import each_row
from tile_programs import MFMA, SEED, random_codes, small

import halfulp as hu
from halfulp.interp.declare import declarations
from halfulp.interp.declare.declarations import Arity, Dialect, Property, Slot, Trait
from halfulp.interp.declare.operands import operand_sizes
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import OnValues
from halfulp.interp.values.value import Value
from halfulp.semantics.matrix_units.kinds import KINDS

KIND = f"#iree_gpu.mma_layout<{MFMA}>"
TILED = "iree_codegen.inner_tiled"


def operands() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(SEED)
    a, b = small(rng, (32, 8), np.float16), small(rng, (8, 32), np.float16)
    return a, b, small(rng, (32, 32), np.float32)


# --- one tile ---------------------------------------------------------------------------------------------------------


def test_a_tile_needs_its_kind_only() -> None:
    a, b, c = operands()
    result = hu.eval(TILED, a, b, c, kind=KIND)
    assert str(result.type) == "tensor<32x32xf32>"
    assert np.array_equal(result.numpy(), c + a.astype(np.float32) @ b.astype(np.float32))
    vectors = hu.eval(TILED, a, b, c, kind=KIND, type=["vector<32x8xf16>", "vector<8x32xf16>", "vector<32x32xf32>"])
    assert str(vectors.type) == "vector<32x32xf32>"
    assert np.array_equal(vectors.bits, result.bits)


def test_every_property_can_be_given() -> None:
    a, b, c = operands()
    maps = ["affine_map<(m, k) -> (m, k)>", "affine_map<(m, k) -> (k)>", "affine_map<(m, k) -> (m)>"]
    tiles = np.stack([[a, a], [a, -a], [a, a]]), np.stack([b, b]).swapaxes(-1, -2), np.stack([c, c, c])
    keywords: dict[str, Any] = {"kind": KIND, "indexing_maps": maps, "permutations": [[0, 1], [1, 0], [0, 1]]}
    result = hu.eval(TILED, *tiles, **keywords)
    product = a.astype(np.float32) @ b.astype(np.float32)
    assert np.array_equal(result.numpy(), np.stack([c + 2 * product, c, c + 2 * product]))
    loops = ["#linalg.iterator_type<parallel>", "#linalg.iterator_type<reduction>"]
    semantics = "#iree_gpu.mma_semantics<distributed = false, opaque = true>"
    segments: dict[str, Any] = {"iterator_types": loops, "semantics": semantics, "operandSegmentSizes": [2, 1]}
    assert hu.eval(TILED, *tiles, **keywords, **segments) == result


def test_the_kind_says_what_arrays_of_bits_are() -> None:
    """f4 in bytes; scales; the accumulator: five operands, of which one is the output."""
    rng, kind = np.random.default_rng(SEED), KINDS["MFMA_SCALE_F32_16x16x128_B32"]
    types = "lhs_elem_type = f4E2M1FN, rhs_elem_type = f4E2M1FN, acc_elem_type = f32"
    elements = ("f4E2M1FN", "f4E2M1FN", "f8E8M0FNU", "f8E8M0FNU", "f32")
    values = [random_codes(rng, element, shape) for element, shape in zip(elements, kind.operand_shapes, strict=True)]
    spelled = f"#iree_gpu.scaled_mma_layout<intrinsic = {kind.name}, {types}>"
    given = [values[0].bits, values[1].bits, *values[2:4], values[4].numpy()]
    assert hu.eval(TILED, *given, kind=spelled) == hu.eval(TILED, *values, kind=spelled)


def test_the_model_is_chosen_as_for_a_run() -> None:
    """2^25 + 1 - 2^25: exact is 1; a chain of fused multiply-adds loses it after the first product."""
    a = np.tile(np.array([2.0**25, 1.0, -(2.0**25), 0.0], np.float32), (16, 1))
    rest = np.ones((4, 16), np.float32), np.zeros((16, 16), np.float32)
    kind = "#iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>"
    for model, expected in (("exact", 1), ("ieee", 0)):
        assert (hu.eval(TILED, a, *rest, kind=kind, mma=model).numpy() == expected).all()


def test_the_command_line_takes_the_same(tmp_path: Path) -> None:
    a, b, c = operands()
    inputs = []
    for name, array, type_ in (("a", a, "32x8xf16"), ("b", b, "8x32xf16"), ("c", c, "32x32xf32")):
        np.save(tmp_path / f"{name}.npy", array)
        inputs.append(f"--input={type_}=@{tmp_path / name}.npy")
    done = halfulp("eval", TILED, f"--attr=kind={KIND}", "--mma=chip:cdna3", *inputs, f"--output=@{tmp_path / 'd.npy'}")
    assert (done.code, done.err) == (0, "")
    assert np.array_equal(np.load(tmp_path / "d.npy"), c + a.astype(np.float32) @ b.astype(np.float32))
    done = halfulp("eval", TILED, "--attr=kind=#iree_gpu.mma_layout<MFMA>", *inputs)
    assert (done.code, "<attr kind>:1:" in done.err) == (2, True)


@each_row(
    ({}, hu.errors.VerifyError, "requires attribute 'kind'"),
    (
        {"kind": "#iree_gpu.mma_layout<MFMA>"},
        hu.errors.ParseError,
        f"kind of '{TILED}' is '#iree_gpu.mma_layout<MFMA>': expected",
    ),
    ({"kind": "3 : i8"}, hu.errors.VerifyError, "attribute 'kind' failed to satisfy constraint"),
    (
        {"kind": 3},
        hu.errors.VerifyError,
        "kind of 'iree_codegen.inner_tiled' is 3, but must be True, False, an attribute",
    ),
    ({"kind": KIND, "maps": []}, hu.errors.VerifyError, "has no property 'maps'; it has indexing_maps, "),
    ({"kind": KIND, "permutations": [[0, 1]]}, hu.errors.VerifyError, "mismatch between the number of permutations"),
    ({"kind": KIND, "operandSegmentSizes": [1, 1]}, hu.errors.VerifyError, "does not match with the total size (2)"),
    ({"kind": KIND, "operandSegmentSizes": "unit"}, hu.errors.VerifyError, "does not match with the total size (0)"),
    ({"kind": "#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>"}, hu.errors.VerifyError, "operand #0 inner tile"),
    ({"kind": KIND, "type": "bf16"}, hu.TypeMismatch, "operand 0 of iree_codegen.inner_tiled: expected"),
)
def test_wrong_properties_are_named(keywords: dict[str, Any], kind_of_error: type[Exception], message: str) -> None:
    with pytest.raises(kind_of_error) as caught:
        hu.eval(TILED, *operands(), **keywords)
    assert message in str(caught.value)


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_a_kind_says_how_many_operands_there_are(count: int) -> None:
    with pytest.raises(hu.errors.VerifyError) as caught:
        hu.eval(TILED, *[np.zeros((32, 32), np.float32)] * count, kind=KIND, type=["f32"] * count)
    assert "doesn't match expected number from kind" in str(caught.value)


def test_one_lane_has_no_result() -> None:
    semantics = "#iree_gpu.mma_semantics<distributed = true, opaque = false>"
    shares = np.ones(4, np.float16), np.ones(4, np.float16), np.ones(16, np.float32)
    with pytest.raises(hu.Unsupported, match="one lane's share of .* has no result"):
        hu.eval(TILED, *shares, kind=KIND, semantics=semantics)


# --- any op -----------------------------------------------------------------------------------------------------------


def _sums(op: Operation, settings: Any) -> Any:
    """Return the sum of the first operands, and how many there are of each."""
    assert op.definition is not None
    sizes = operand_sizes(op, op.definition)
    assert sizes is not None

    def count(run: Any, values: tuple[Value, ...]) -> tuple[Value, ...]:
        return (Value.from_bits(int("".join(map(str, sizes))), "i32"),)

    return count


def _verify_more(op: Operation) -> str | None:
    assert op.definition is not None
    left, _, right = operand_sizes(op, op.definition) or (0, 0, 0)
    return None if left > right else "more on the left are needed"


SEGMENTED = Dialect("segmented")
for name, verify in (("any", None), ("more", _verify_more)):
    SEGMENTED.op(
        name,
        operands=(
            Slot("left", declarations.ANY, Arity.VARIADIC),
            Slot("switch", declarations.INDEX, Arity.OPTIONAL),
            Slot("right", declarations.ANY, Arity.VARIADIC),
        ),
        results={"result": declarations.ANY},
        properties=(Property("text", declarations.STRING_ATTR, optional=True),),
        traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
        verify=verify,
        evaluate=OnValues(_sums),
    )


@pytest.fixture(scope="module", autouse=True)
def segmented() -> None:
    hu.register.dialect(SEGMENTED)


def eval_of(mnemonic: str, types: str, **keywords: Any) -> int:
    return int(
        hu.eval(f"segmented.{mnemonic}", *[1] * len(types.split()), type=types.split(), to="i32", **keywords).item()
    )


def test_operands_are_divided_where_that_goes_in_one_way() -> None:
    assert eval_of("more", "i8") == 100
    assert eval_of("more", "i8 i8") == 200  # not 1, 0, 1; and the switch is an index
    assert eval_of("more", "i8 i8 i8", operandSegmentSizes=[2, 0, 1]) == 201


def test_operands_that_can_be_divided_in_several_ways_need_to_be_told() -> None:
    with pytest.raises(hu.errors.VerifyError) as caught:
        eval_of("any", "i8 index i8")
    assert "3 operands can be left and switch and right of 'segmented.any' in several ways: " in str(caught.value)
    assert caught.value.hint == "say how many are which: operandSegmentSizes=[0, 0, 3]"
    assert eval_of("any", "i8 index i8", operandSegmentSizes=[1, 1, 1]) == 111
    assert eval_of("any", "i8 index i8", operandSegmentSizes="array<i32: 2, 0, 1>") == 201


def test_operands_that_cannot_be_divided_say_why() -> None:
    with pytest.raises(hu.errors.VerifyError) as caught:
        hu.eval("segmented.more", to="i32")
    assert "0 operands cannot be left and switch and right of 'segmented.more': as 0, 0, 0: more on the left" in str(
        caught.value
    )
    with pytest.raises(hu.errors.VerifyError, match="does not match with the total size"):
        eval_of("more", "i8", operandSegmentSizes=[1, 1, 1])


def test_variable_operands_and_lists_of_numbers() -> None:
    array = np.arange(4, dtype=np.float32)
    assert hu.eval("tensor.extract", array, 2, type=["f32", "index"]).item() == 2
    assert hu.eval("vector.extract", array, type="vector<4xf32>", static_position=[1]).item() == 1
    assert hu.eval("tensor.from_elements", 1, 2, type="i8", to="tensor<2xi8>").numpy().tolist() == [1, 2]
    assert hu.eval("memref.alloc", 3, type="index", to="memref<?xf32>").poisoned.tolist() == [True] * 3
    assert hu.eval("arith.constant", value="3 : i8").item() == 3
    with pytest.raises(hu.errors.VerifyError, match="expected 2 operands, but found 3"):
        hu.eval("arith.addi", 1, 2, 3, type="i8")


def test_text_is_a_string_where_the_property_is_one() -> None:
    assert eval_of("more", "i8", text="#not_an_attribute<") == 100
