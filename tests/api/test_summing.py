"""hu.sum, hu.dot and hu.matmul: what they take, known answers, and their errors."""

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tables import each_row

import halfulp as hu

F8 = ml_dtypes.float8_e4m3fn


def test_a_sum_depends_on_the_order_and_the_accumulator() -> None:
    x = hu.convert([0.1] * 1000, "f8E4M3FN")
    # 0.1 becomes 0.1015625. In order, the sum stops at 2: half the distance to 2.25 is more than 0.1015625.
    assert hu.sum(x).numpy() == 2
    assert hu.sum(x, order="exact").numpy() == 104  # 101.5625 is between 96 and 104
    assert hu.sum(x, acc="f32").numpy() == 101.5625
    assert hu.sum(x, acc="f32").element_type == hu.sum(x, acc=hu.float_format("f32")).element_type


@pytest.mark.parametrize("order", ["sequential", "pairwise", "exact", "open"])
def test_arrays_lists_and_values_are_taken(order: str) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    for x in (array, array.tolist(), hu.Value.from_numpy(array)):
        assert hu.sum(x, 0, order=order).numpy().tolist() == [3, 5, 7]
        assert hu.sum(x, (0, 1), keepdims=True, order=order).numpy().tolist() == [[15]]
        assert hu.matmul(x, array.T if not isinstance(x, list) else array.T.tolist(), order=order).numpy().tolist() == [
            [5, 14],
            [14, 50],
        ]
    assert hu.dot(array[1], array[1], order=order).numpy() == 50


def test_lists_take_a_type() -> None:
    assert hu.sum([0.1, 0.1], type="f8E4M3FN").numpy() == 0.203125
    assert hu.sum(["0.1", "0.1"], type="f32") == hu.sum(np.full(2, 0.1, np.float32))
    half = np.array([[1, 2]], np.float16)
    assert hu.matmul(half, [[0.1], [0]]).numpy() == np.float16(0.1)
    assert hu.matmul([[0.1, 0]], half.T, acc="f32").numpy() == np.float32(np.float16(0.1))
    assert hu.dot([1, 2], [3, 4], type="f8E5M2").element_type == hu.sum([1], type="f8E5M2").element_type
    with pytest.raises(hu.TypeMismatch, match="type="):
        hu.sum(["0.1"])


def test_unsigned_arrays_and_bools_are_extended_by_zeros() -> None:
    assert hu.sum(np.array([200, 100], np.uint8), acc="i32").numpy() == 300
    assert hu.sum(np.array([200, 100], np.uint8)).numpy() == 44
    assert hu.sum(np.array([-100, -100], np.int8)).numpy() == 56
    assert hu.sum(np.array([-100, -100], np.int8), acc="i32").numpy() == -200
    assert hu.sum([True, False, True], acc="i32").numpy() == 2
    assert hu.dot(np.array([200, 1], np.uint8), np.array([-1, 1], np.int8), acc="i32").numpy() == -199


def test_products_are_rounded_in_the_accumulator() -> None:
    x, y = np.array([1 + 2**-10], np.float16), np.array([1 + 2**-10], np.float16)
    exact = (1 + 2**-10) ** 2
    assert float(hu.dot(x, y).numpy()) == float(np.float16(exact)) == 1 + 2**-9
    assert float(hu.dot(x, y, acc="f32").numpy()) == exact
    # Converting to the accumulator rounds each factor; the exact order does not.
    wide = np.array([1 + 2**-20, -1], np.float32), np.array([1, 1], np.float32)
    assert hu.dot(*wide, acc="f16").numpy() == 0
    assert hu.dot(*wide, acc="f16", order="exact").numpy() == 2**-20


def test_matrix_units_add_differently() -> None:
    a = np.array([[2048] + [0.125] * 15], np.float16)
    b = np.array([[2048]] + [[1]] * 15, np.float16)
    kind = "NV_MMA_SYNC_F32_16x8x16_F16"
    # The example of docs/matrix-units.md: 2**22 and 15 times 1/8.
    expected = {"exact": 4194306.0, "ieee": 4194304.0, "chip:ampere": 4194304.0, "chip:hopper": 4194305.5}
    for model, number in expected.items():
        assert hu.matmul(a, b, kind=kind, mma=model).numpy() == [[number]]
        assert hu.dot(a[0], b[:, 0], kind="mma.m16n8k16.f32.f16.f16", mma=model).numpy() == number
    assert hu.matmul(a, b, kind=kind) == hu.matmul(a, b, kind=kind, mma="exact")


def test_each_instruction_of_a_unit_rounds() -> None:
    # 2**24, then 1 in each of the two next instructions: lost one by one, kept together.
    a, b = np.zeros((1, 48), np.float16), np.ones((48, 1), np.float16)
    a[0, 0], b[0, 0], a[0, 16], a[0, 32] = 4096, 4096, 1, 1
    assert hu.matmul(a, b, kind="MFMA_F32_16x16x16_F16").numpy() == 2**24
    assert hu.matmul(a, b, acc="f32", order="exact").numpy() == 2**24 + 2


def test_what_a_kernel_does_around_instructions() -> None:
    a, b = np.zeros((1, 48), np.float16), np.ones((48, 1), np.float16)
    a[0, 0], b[0, 0], a[0, 16], a[0, 32] = 4096, 4096, 1, 1

    def product(**options: Any) -> float:
        return float(hu.matmul(a, b, **{**H100, **options}).item())

    # An instruction keeps 25 bits below 2**24: it can add 1, and cuts off the sum to 24 bits.
    assert product() == 2**24
    assert product(split_k=3) == 2**24  # (2**24 + 1) + 1, to nearest even
    assert product(split_k=3, partial_order=[1, 2, 0]) == 2**24 + 2
    assert product(split_k=(16, 32)) == product(split_k=np.array([16, 32])) == 2**24 + 2
    assert product(split_k=np.int64(3), partial_order=np.array([1, 2, 0])) == 2**24 + 2
    assert product(promote=16) == 2**24
    assert product(k_order=[*range(16, 48), *range(16)]) == 2**24 + 2
    assert product(stream_k=(1, (64, 64, 16))) == 2**24
    c = np.full((1, 1), 3, np.float32)
    assert product(c=c) == 2**24 + 2  # 2**24 + 3 is cut off to 2**24 + 2; then 1 is lost, and 1
    assert product(c=c, alpha=1, beta=1) == 2**24 + 4
    assert product(c=c, alpha=0.5, beta=0) == 2**23
    assert product(c=3.0) == product(c=3) == product(c=[["3"]]) == product(c=c)  # without a dtype: the type of D
    # 1 + 2^-24 + 2^-60 is nearer to 1 + 2^-23 in f32; as f64 it would be a tie.
    assert product(alpha=1 + Fraction(1, 1 << 24) + Fraction(1, 1 << 60)) == 2**24 * (1 + 2.0**-23)
    assert product(c=c[0], alpha=2.0**-24, beta=0.1) == np.float32(1 + 3 * float(np.float32(0.1)))
    poisoned = hu.Value(hu.Value.from_numpy(c).type, c.view(np.uint32), np.ones((1, 1), np.uint16))
    spoiled = hu.matmul(a, b, c=poisoned, **H100)
    assert bool(spoiled.poisoned.all())
    assert not hu.matmul(a, b, c=poisoned, alpha=1.0, beta=0.0, **H100).poisoned.any()
    assert float(hu.dot(a[0], b[:, 0], **H100).item()) == 2**24


def test_profiles_apply() -> None:
    tiny = np.array([2**-149, 2**-149], np.float32)
    assert hu.sum(tiny).numpy() == 2**-148
    assert hu.sum(tiny, profile="spec,denormals=flush_both").numpy() == 0
    with hu.profile("spec,denormals=flush_both"):
        assert hu.sum(tiny).numpy() == 0
        assert hu.matmul(tiny, np.ones(2, np.float32)).numpy() == 0


HALVES, WIDE = np.ones((2, 2), np.float16), np.ones((2, 2), np.float32)
H100: dict[str, Any] = {"mma": "chip:h100", "instruction": "wgmma m64n8k16", "acc": "f32"}


@each_row(
    ({"order": "sequentially"}, ValueError, "order is 'sequentially', but must be one of sequential, pairwise, exact, open"),
    ({"acc": "f33"}, hu.errors.ParseError, "unknown type 'f33'"),
    ({"acc": "f8E8M0FNU"}, hu.TypeMismatch, "f8E8M0FNU has no zero"),
    ({"acc": "i32"}, hu.TypeMismatch, "elements of 'f16' cannot be added in 'i32'"),
    ({"mma": "chip:hopper"}, hu.errors.InputError, "needs the operation"),
    ({"mma": "MFMA_F32_16x16x16_F16"}, hu.errors.InputError, "no model is called 'MFMA_F32_16x16x16_F16'"),
    ({"mma": "chip:hoper"}, hu.errors.InputError, "no model is called 'chip:hoper'"),
    ({"kind": "MFMA_F32_16x16x16_F17"}, hu.errors.InputError, "no tile operation is called"),
    ({"kind": "MFMA_F32_16x16x4_F32"}, hu.TypeMismatch, "multiplies f32 by f32, but the elements are f16 and f16"),
    ({"kind": "MFMA_F32_16x16x16_F16", "order": "exact"}, hu.TypeMismatch, "the order is that of"),
    ({"kind": "MFMA_F32_16x16x16_F16", "acc": "f16"}, hu.TypeMismatch, "acc is 'f16', but"),
    ({"kind": "MFMA_F32_16x16x16_F16", "mma": "chip:hopper"}, hu.Unsupported, "not published"),
    ({"kind": "mma.m16n8k16.f32.f16.f16.f16"}, hu.TypeMismatch, "adds to f16 and gives f32"),
    ({"promote": 16, "c": HALVES}, hu.errors.InputError, "promote and c: only for products by a matrix unit"),
    ({**H100, "kind": "MFMA_F32_16x16x16_F16"}, hu.errors.InputError, "kind and instruction both name"),
    ({**H100, "instruction": "wgmma 64x8x16"}, hu.errors.InputError, "must be a unit and a shape"),
    ({**H100, "acc": None}, hu.errors.InputError, "needs the type of its result"),
    ({**H100, "instruction": "wgmma m64n8k8"}, hu.Unsupported, "not published"),
    ({**H100, "acc": "f16", "c": WIDE}, hu.TypeMismatch, "c is 'f32', but .* adds in 'f16'"),
    ({**H100, "c": HALVES}, hu.TypeMismatch, "c is 'f16', but .* adds in 'f32'"),
    ({**H100, "acc": None, "c": 1.0}, hu.errors.InputError, "needs the type of its result"),
    *(
        ({**H100, name: given}, hu.errors.InputError, f"{name} is .*, but must be {what}")
        for name, given, what in (
            ("split_k", None, "an integer or a list"), ("split_k", True, "an integer or a list"),
            ("split_k", "2", "an integer or a list"), ("split_k", (16, True), "a list of integers"),
            ("partial_order", [True, False], "a list of integers"), ("stream_k", (True, (1, 1, 16)), "a number of workers"),
            ("promote", 64.0, "an integer"), ("promote", "32", "an integer"), ("promote", True, "an integer"),
            ("alpha", [1.0], "a single number"),
        )
    ),
    ({**H100, "alpha": "x"}, hu.TypeMismatch, "alpha: 'x' is not a number"),
    ({**H100, "alpha": 1.0, "beta": 1j, "c": WIDE}, hu.TypeMismatch, "beta: complex numbers"),
    ({**H100, "instruction": "wgmma m64n7k16"}, hu.Unsupported, "m64n7k16.* is not published"),
    ({**H100, "mma": "chip:gfx950"}, hu.Unsupported, "chip:gfx950 has no model: CDNA 4 has"),
    ({**H100, "mma": "chip:mi-350"}, hu.Unsupported, "chip:mi-350 has no model: CDNA 4 has"),
    ({**H100, "mma": "AMD MI350X"}, hu.Unsupported, "AMD MI350X has no model: CDNA 4 has"),
    ({"alpha": np.ones(2)}, hu.errors.InputError, "alpha: only for products by a matrix unit"),
    ({**H100, "mma": "chip:sm_103"}, hu.Unsupported, "chip:sm_103 has no model: Blackwell Ultra has"),
    ({**H100, "c": np.ones((3, 2), np.float32)}, hu.TypeMismatch, "c has the shape 3x2, but the product has 2x2"),
    ({**H100, "beta": 1.0, "c": WIDE}, hu.errors.InputError, "beta needs alpha"),
    ({**H100, "alpha": 1.0, "c": WIDE}, hu.errors.InputError, "alpha and c need beta"),
    ({**H100, "alpha": 1.0, "beta": 1.0}, hu.errors.InputError, "beta needs c"),
    ({**H100, "promote": 24}, hu.errors.InputError, "promote is 24, but must be a multiple of 16"),
    ({**H100, "k_order": "abc"}, hu.errors.InputError, "k_order is 'abc', but must be a list of integers"),
    ({**H100, "stream_k": 3}, hu.errors.InputError, "must be a number of workers and M, N, K of a tile"),
)  # fmt: skip
def test_errors(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        hu.matmul(HALVES, HALVES, **options)


def test_hints() -> None:
    def hint(**options: Any) -> str:
        with pytest.raises(hu.HalfulpError) as found:
            hu.matmul(HALVES, HALVES, **options)
        return str(found.value.hint)

    assert hint(mma="chip:hopper") == (
        "kinds of chip:hopper for f16 and f16: NV_MMA_SYNC_F32_16x8x16_F16, NV_MMA_SYNC_F16_16x8x16_F16; "
        "its instructions for them: mma m16n8k16 to f32 or f16, mma m16n8k8 to f32 or f16, wgmma m64nNk16 to f32 or f16"
    )
    assert "kind='MFMA_F32_16x16x16_F16'" in hint(mma="MFMA_F32_16x16x16_F16")
    assert "wgmma 64xNx16 f16 * f16 + f32 to f32, N a multiple of 8 from 8 to 256, which differs in shape" in hint(
        **{**H100, "instruction": "wgmma m64n264k16"}
    )
    assert "the nearest chip that has one is chip:cdna3" in hint(mma="chip:mi355x")
    assert hint(kind="MFMA_F32_16x16x16_F17") == "did you mean `MFMA_F32_16x16x16_F16`?"
    assert "NV_MMA_SYNC_F32_16x8x16_F16" in hint(kind="MFMA_F32_16x16x4_F32")


def test_mixed_types_are_named() -> None:
    with pytest.raises(hu.TypeMismatch, match="dot: the elements have different types, 'f16' and 'f32'"):
        hu.dot(np.ones(2, np.float16), np.ones(2, np.float32))
    assert hu.dot(np.ones(2, np.float16), np.ones(2, F8), acc="f32").numpy() == 2


def test_scaled_kinds_take_the_types_of_the_operands() -> None:
    x = np.ones((2, 2), F8)
    with pytest.raises(hu.TypeMismatch, match="takes scales"):
        hu.matmul(x, x, kind="MFMA_SCALE_F32_16x16x128_B32")


def test_operators_are_sums_in_order() -> None:
    x = hu.convert(np.full(1000, 0.1), "f8E4M3FN")
    assert hu.sum(x) == x.sum() == np.sum(x)
    assert x @ x == hu.matmul(x, x) == np.dot(x, x)
    unsigned = hu.Value.from_numpy(np.array([200, 100], np.uint8))
    assert hu.sum(unsigned, acc="i32").numpy() == 300
    assert hu.sum(unsigned).item() == 44


def test_an_accumulator_of_ones_own() -> None:
    """Without a kind it adds all of K at once: of 16 + 0.75 + 0.75, four bits below 16 keep 16."""
    x, ones = hu.convert([16.0, 0.75, 0.75], "f16"), hu.convert([1.0, 1.0, 1.0], "f16")
    assert float(hu.dot(x, ones, acc="f32", mma="custom:bits=4")) == 16
    unit = hu.Accumulator(bits=4, cut="to_nearest_even")
    assert float(hu.dot(x, ones, acc="f32", mma=unit)) == 18
    assert float(hu.dot(x, ones, mma=unit)) == 18
    assert str(hu.dot(x, ones, mma=unit).type) == "f16"
    product = hu.matmul(x.numpy()[None], ones.numpy()[:, None], acc="f32", mma=unit)
    assert product.numpy().tolist() == [[18.0]]
    # With a kind, K is that of the kind: 16 products at a time.
    long = hu.convert([16.0] + [0.75] * 31, "f16")
    ones = hu.convert([1.0] * 32, "f16")
    assert float(hu.dot(long, ones, kind="MFMA_F32_16x16x16_F16", mma="custom:bits=4")) == 16
    assert float(hu.dot(long, ones, kind="MFMA_F32_16x16x16_F16", mma="custom:bits=5")) == 16 + 31 * 0.5


def test_models_of_any_length_need_no_kind() -> None:
    """In f16, 2048 + 1 is 2048 by IEEE operations; the exact sum 2050 is rounded once."""
    x, ones = hu.convert([2048.0, 1.0, 1.0], "f16"), hu.convert([1.0, 1.0, 1.0], "f16")
    assert [float(hu.dot(x, ones, mma=mma)) for mma in ("exact", "ieee")] == [2050, 2048]
    assert str(hu.dot(x, ones, acc="f32", mma="exact").type) == "f32"
    with pytest.raises(hu.errors.InputError, match="acc is f8E4M3FN, which does not have all values of f16"):
        hu.dot(x, ones, acc="f8E4M3FN", mma="exact")


def test_accumulators_of_integers() -> None:
    a = np.full(1000, 127, np.int8)
    assert int(hu.dot(a, a, acc="i32", mma="custom:width=24,overflow=saturate")) == (1 << 23) - 1
    assert int(hu.dot(a, -a, acc="i20", mma=hu.Accumulator(overflow="saturate"))) == -(1 << 19)
    assert int(hu.dot(a, a, acc="i64", mma="custom:width=24")) == 127 * 127 * 1000 - (1 << 24)


@each_row(
    ({"mma": "custom:bts=4"}, "an accumulator has no field 'bts'"),
    ({"mma": "custom:width=4"}, "width is for integers"),
    ({"mma": "custom:bits=4", "acc": "f8E4M3FN"}, "acc is f8E4M3FN, which does not have all values of f16"),
    ({"mma": "custom:bits=4", "acc": "i32"}, "not f16 by f16 in i32"),
)
def test_accumulators_that_do_not_fit(how: dict[str, str], message: str) -> None:
    x = hu.convert([1.0, 2.0], "f16")
    with pytest.raises(hu.errors.InputError, match=message):
        hu.dot(x, x, **how)
