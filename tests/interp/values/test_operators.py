"""Operators on values equal the ops of halfulp, bit for bit, under every rule of broadcasting, poison and profiles."""

import operator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
from amounts import thinned
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row

import halfulp as hu
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, codes_to_ints, ints_to_codes

np: Any = numpy
"""NumPy without its types, which do not know that values are arrays."""

BINARY: dict[str, tuple[Any, dict[str, Any]]] = {
    "arith.addf": (operator.add, {}),
    "arith.subf": (operator.sub, {}),
    "arith.mulf": (operator.mul, {}),
    "arith.divf": (operator.truediv, {}),
    "arith.remf": (np.fmod, {}),
    "arith.maximumf": (np.maximum, {}),
    "arith.minimumf": (np.minimum, {}),
    "arith.maxnumf": (np.fmax, {}),
    "arith.minnumf": (np.fmin, {}),
}
PREDICATES = {
    "oeq": np.equal,
    "une": np.not_equal,
    "olt": operator.lt,
    "ole": operator.le,
    "ogt": operator.gt,
    "oge": operator.ge,
}
INTEGERS: dict[str, Any] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
    "arith.shli": operator.lshift,
}
SMALL = [name for name, fmt in FORMATS.items() if fmt.bits <= 8]
WIDE = [name for name, fmt in FORMATS.items() if fmt.bits > 8]
OWN = hu.FloatFormat("own10", 5, 4, 15)


def all_pairs(type_: Any, bits: int) -> tuple[hu.Value, hu.Value]:
    codes = np.arange(1 << bits, dtype=np.uint8)
    a, b = np.meshgrid(codes, codes, indexing="ij")
    return hu.Value.from_bits(a, type_), hu.Value.from_bits(b, type_)


def same(found: Any, expected: Any) -> None:
    assert found == expected
    assert found.type == expected.type
    if expected.poison is not None:
        index = tuple(map(int, np.argwhere(expected.poisoned)[0]))
        assert (found.origin(*index).op, found.origin(*index).reason) == (
            expected.origin(*index).op,
            expected.origin(*index).reason,
        )


@pytest.mark.long
@pytest.mark.parametrize("profile", ["spec", "ml_dtypes", "iree-3.13"])
@pytest.mark.parametrize("name", SMALL)
def test_all_pairs_of_small_formats(name: str, profile: str) -> None:
    a, b = all_pairs(name, FORMATS[name].bits)
    with hu.profile(profile):
        for op, (compute, attributes) in BINARY.items():
            same(compute(a, b), hu.eval(op, a, b, **attributes))
        for predicate, compute in PREDICATES.items():
            same(compute(a, b), hu.eval("arith.cmpf", a, b, predicate=predicate))
        same(-a, hu.eval("arith.negf", a))


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_all_pairs_of_small_integers(width: int) -> None:
    a, b = all_pairs(f"i{width}", width)
    for op, compute in INTEGERS.items():
        same(compute(a, b), hu.eval(op, a, b))
    same(np.equal(a, b), hu.eval("arith.cmpi", a, b, predicate="eq"))
    same(np.not_equal(a, b), hu.eval("arith.cmpi", a, b, predicate="ne"))
    zero, ones = (
        hu.Value.from_bits(a.bits * 0, a.element_type),
        hu.Value.from_bits(a.bits | (1 << width) - 1, a.element_type),
    )
    same(-a, hu.eval("arith.subi", zero, a))
    same(~a, hu.eval("arith.xori", a, ones))
    if width == 1:
        for ufunc, op in [(np.logical_and, "andi"), (np.logical_or, "ori"), (np.logical_xor, "xori")]:
            same(ufunc(a, b), hu.eval(f"arith.{op}", a, b))
        same(np.logical_not(a), ~a)


@pytest.mark.parametrize("type_", thinned([*WIDE, OWN], 4), ids=str)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_wide_formats(type_: Any, data: st.DataObject) -> None:
    fmt = type_ if isinstance(type_, hu.FloatFormat) else FORMATS[type_]
    codes = st.integers(0, (1 << fmt.bits) - 1) | st.sampled_from([0, 1, fmt.max_code, fmt.min_normal_code])
    drawn = data.draw(st.lists(st.tuples(codes, codes), min_size=1, max_size=4))
    a, b = (
        hu.Value.from_bits(ints_to_codes([pair[at] for pair in drawn], fmt.bits, (len(drawn),)), type_) for at in (0, 1)
    )
    for op, (compute, attributes) in BINARY.items():
        same(compute(a, b), hu.eval(op, a, b, **attributes))
    for predicate, compute in PREDICATES.items():
        same(compute(a, b), hu.eval("arith.cmpf", a, b, predicate=predicate))
    same(-a, hu.eval("arith.negf", a))


@pytest.mark.parametrize("width", thinned([0, 7, 16, 33, 64, 65, 200], 3))
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_wide_integers(width: int, data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(*[st.integers(0, (1 << width) - 1)] * 2), min_size=1, max_size=4))
    a, b = (
        hu.Value.from_bits(ints_to_codes([pair[at] for pair in pairs], width, (len(pairs),)), f"i{width}")
        for at in (0, 1)
    )
    for op, compute in INTEGERS.items():
        same(compute(a, b), hu.eval(op, a, b))
    assert codes_to_ints((a + b).bits, width) == [(x + y) % (1 << width) for x, y in pairs]


def test_an_index_computes_at_64_bits() -> None:
    value = hu.Value.from_bits([2**64 - 1, 5], "index")
    assert (value + 1).tolist() == [0, 6]
    assert (value + np.array([1, 2])).tolist() == [0, 7]
    same(value * value, hu.eval("arith.muli", value, value))


@pytest.mark.long
@pytest.mark.parametrize("name", [*FORMATS])
def test_absolute_values_and_classes(name: str) -> None:
    fmt = FORMATS[name]
    codes = (
        list(range(1 << fmt.bits))
        if fmt.bits <= 16
        else sorted(
            {
                code ^ sign
                for code in (0, 1, fmt.max_code, fmt.infinity_code or 0, fmt.nan_code or 0, fmt.min_normal_code)
                for sign in (0, fmt.sign_mask or 0)
            }
            | {(1 << fmt.bits) - 1, 1 << fmt.bits - 2}
        )
    )
    value = hu.Value.from_bits(codes, name)
    found = codes_to_ints(abs(value).bits, fmt.bits)
    for code, absolute, nan, infinite, finite, negative in zip(
        codes, found, *(ufunc(value).tolist() for ufunc in (np.isnan, np.isinf, np.isfinite, np.signbit)), strict=True
    ):
        exact = scalar.value(fmt, code)
        assert nan == fmt.is_nan(code)
        assert infinite == (not nan and exact is None)
        assert finite == (exact is not None)
        assert negative == (fmt.signed and bool(code >> fmt.bits - 1) and not (nan and not fmt.nan_has_payload))
        if exact is not None:
            assert scalar.value(fmt, absolute) == abs(exact)
            assert not (fmt.signed and absolute >> fmt.bits - 1)
        else:
            assert fmt.is_nan(absolute) == nan
            assert absolute == code or absolute == code & (1 << fmt.bits - 1) - 1


# Operands.


def test_shapes_broadcast_as_numpy_says() -> None:
    rng = np.random.default_rng(3)
    pairs = (("bf16", (3, 1), (4,)), ("f128", (2, 1, 3), (4, 1)), ("i8", (), (5,)), ("f80", (1,), (2, 2)))
    for type_, *shapes in pairs:
        a, b = (hu.convert(rng.integers(-9, 9, shape).astype(np.float64), type_) for shape in shapes)
        found = a * b
        numbers = (np.broadcast_to(np.array(v.tolist(), np.float64), found.shape).copy() for v in (a, b))
        full = [hu.convert(array, type_) for array in numbers]
        same(found, hu.eval("arith.muli" if type_ == "i8" else "arith.mulf", *full))
    with pytest.raises(ValueError, match=r"arith\.addf: the shapes 3 and 4 do not broadcast"):
        hu.convert(np.zeros(3), "bf16") + hu.convert(np.zeros(4), "bf16")
    assert (hu.convert(np.zeros((0, 3)), "bf16") + 1).shape == (0, 3)


@pytest.mark.parametrize("type_", ["f8E4M3FN", "bf16", "f32", "f64", "f80", "i32", "i7"])
def test_views_compute_as_their_copies(type_: str) -> None:
    value = hu.convert(np.arange(1, 61, dtype=np.float64).reshape(6, 10), type_)
    for view in (value[::2], value.T, value[:, ::-3], value[1:, 1:], np.broadcast_to(value[0], (4, 10))):
        same(view + view, view.copy() + view.copy())
        same(view * 2, view.copy() * 2)
        assert view.copy().bits.flags.c_contiguous


def test_python_numbers_take_the_type() -> None:
    value = hu.convert([1.0, 2.0], "bf16")
    same(value + 0.1, value + hu.convert([0.1, 0.1], "bf16"))
    same(0.1 - value, hu.convert([0.1, 0.1], "bf16") - value)
    assert (value * -0.0).tolist() == [-0.0, -0.0]
    assert np.signbit((value * -0.0).numpy().astype(float)).all()
    assert not np.signbit((value * 0.0).numpy().astype(float)).any()
    assert (value + 1).tolist() == (1 + value).tolist() == [2, 3]
    integers = hu.Value.from_numpy(np.array([1, 2], np.int8))
    assert (integers + 255).tolist() == [0, 1]
    for operand, why in [(256, "256 is outside the range"), (1.5, "expected 'i8', got the float 1.5")]:
        with pytest.raises(TypeError, match=why):
            integers + operand
    with pytest.raises(TypeError, match="f4E2M1FN has no NaN"):
        hu.convert([1.0], "f4E2M1FN") + float("nan")


@pytest.mark.parametrize("other", [np.float32(1), np.ones(2), np.array([1, 2]), [1.0, 2.0], "1", None, 1j, object()])
def test_other_operands_must_have_exactly_the_type(other: Any) -> None:
    value = hu.convert([1.0, 2.0], "bf16")
    for compute in (lambda: value + other, lambda: other * value, lambda: value < other):
        with pytest.raises(TypeError, match=r"(?s)cannot be combined with a value of type 'bf16'.*hu\.convert"):
            compute()


@pytest.mark.parametrize("operation", [operator.add, operator.truediv, operator.lt, operator.ge, np.equal])
def test_a_float64_scalar_is_a_number_of_python(operation: Any) -> None:
    value = hu.convert([1.0, 2.5], "bf16")
    for number in (2.5, -0.0, 0.1, float("nan")):
        same(operation(value, np.float64(number)), operation(value, number))
        same(operation(np.float64(number), value), operation(number, value))
    with pytest.raises(TypeError, match=r"expected 'i32', got the float 2\.0"):
        np.float64(2) * hu.convert([1], "i32")
    # Beside f64 its bits count, also those of a NaN.
    payload = np.uint64(0x7FF8000000000123).view(np.float64)
    assert (hu.convert([1.0], "f64") + payload).bits.tolist() == [0x7FF8000000000123]


def operands(library: str) -> Any:
    """Return a function from numbers and the type of an array to an array of a library."""
    if library == "torch":
        torch = pytest.importorskip("torch")
        return lambda numbers, dtype: torch.tensor(numbers, dtype=getattr(torch, dtype))
    jnp = pytest.importorskip("jax.numpy")
    return lambda numbers, dtype: jnp.array(numbers, getattr(jnp, dtype))


LIBRARIES = [pytest.param("torch", marks=pytest.mark.torch), pytest.param("jax", marks=pytest.mark.jax)]
SAME_DTYPE = {"bf16": "bfloat16", "f16": "float16", "f32": "float32", "f8E4M3FN": "float8_e4m3fn", "i32": "int32"}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("type_", "dtype"), SAME_DTYPE.items())
def test_arrays_of_other_libraries_are_operands(library: str, type_: str, dtype: str) -> None:
    array = operands(library)
    numbers = [[3, 4], [1, 5]]
    value, other = hu.convert([[1, 2], [7, 6]], type_), hu.convert(numbers, type_)
    theirs = array(numbers, dtype)
    for operation in (operator.add, operator.sub, operator.mul, operator.matmul, np.equal, np.multiply):
        if operation is operator.matmul and type_ == "i32":
            continue
        same(operation(value, theirs), operation(value, other))
        same(operation(theirs, value), operation(other, value))
    same(np.where(np.equal(value, 1), theirs, value), np.where(np.equal(value, 1), other, value))
    same(np.concatenate([theirs, value]), np.concatenate([other, value]))
    for wrong in (array([1, 2], "int16"), array(2.0, "float16" if type_ != "f16" else "float32")):
        for compute in (lambda wrong=wrong: value + wrong, lambda wrong=wrong: wrong * value):
            with pytest.raises(TypeError, match=rf"(?s)cannot be combined with a value of type '{type_}'.*hu\.convert"):
                compute()


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_rules_of_halfulp_compute_beside_other_libraries(library: str) -> None:
    # 448 + 448 = 896: beyond f8E4M3FN, whose result is NaN by the spec and 448 where a profile saturates.
    value, theirs = hu.convert([448.0], "f8E4M3FN"), operands(library)([448.0], "float8_e4m3fn")
    assert (theirs + value).bits.tolist() == [0x7F]
    with hu.profile("spec,arithmetic_overflow=saturate"):
        assert (theirs + value).bits.tolist() == [0x7E]


@pytest.mark.torch
def test_a_tensor_without_values_is_refused() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"(?s)np.add: the tensor has no values.*give x with values"):
        hu.convert([1.0], "f32") + torch.ones(1, device="meta")


def test_arrays_of_the_type_are_operands() -> None:
    value = hu.convert([1.0, 2.0], "f32")
    same(value + np.array([1, 2], np.float32), value + value)
    same(np.array([1, 2], np.float32) + value, value + value)
    same(np.float32(2) * value, value * 2)
    assert (hu.Value.from_numpy(np.uint8([1])) + np.uint8([255])).tolist() == [0]
    with pytest.raises(TypeError, match="cannot be combined with a value of type 'f80'"):
        hu.convert([1.0], "f80") + hu.convert([1.0], "f80").bits
    with pytest.raises(TypeError, match="different types, 'bf16' and 'f16'"):
        hu.convert(1.0, "bf16") + hu.convert(1.0, "f16")


def test_an_operator_on_the_left_side_makes_a_new_value() -> None:
    value = before = hu.convert([1.0, 2.0], "bf16")
    value += 1
    value *= 2
    assert before.tolist() == [1, 2]
    assert value.tolist() == [4, 6]
    array = np.ones(2, np.float32)
    with pytest.raises(TypeError, match="out="):
        array += hu.convert([1.0, 2.0], "f32")


@each_row(
    (lambda v: v / 2, "arith.divsi.*arith.divui"),
    (lambda v: v // 2, "arith.floordivsi.*arith.divui"),
    (lambda v: v % 2, "arith.remsi.*arith.remui"),
    (lambda v: v >> 1, "arith.shrsi.*arith.shrui"),
    (lambda v: v < 2, "slt.*ult"),
    (lambda v: v <= 2, "sle.*ule"),
    (lambda v: v > 2, "sgt.*ugt"),
    (lambda v: v >= 2, "sge.*uge"),
    (abs, "math.absi"),
    (lambda v: np.maximum(v, 1), "arith.maxsi.*arith.maxui"),
    (lambda v: np.minimum(v, 1), "arith.minsi.*arith.minui"),
    (lambda v: divmod(v, 2), "arith.divsi.*arith.remui"),
    (lambda v: v**2, "math.ipowi"),
    (np.max, "arith.maxsi"),
)
def test_what_a_signless_integer_leaves_open_is_refused(compute: Any, ops: str) -> None:
    with pytest.raises(TypeError, match=ops):
        compute(hu.Value.from_numpy(np.array([1, 2], np.int8)))


@pytest.mark.parametrize("compute", [lambda v: v % 2, lambda v: v // 2, lambda v: divmod(v, 2)])
def test_remainders_of_floats_are_refused(compute: Any) -> None:
    with pytest.raises(TypeError, match=r"np\.fmod"):
        compute(hu.convert([1.0], "bf16"))


def complex_value() -> hu.Value:
    type_ = "tensor<2xcomplex<f32>>"
    text = f"func.func @f() -> {type_} {{ %0 = arith.constant dense<(1.0, 2.0)> : {type_} return %0 : {type_} }}"
    (value,) = hu.run(text)
    return value


def test_complex_elements_leave_and_move() -> None:
    value = complex_value()
    assert value.tolist() == np.asarray(value).tolist() == [1 + 2j] * 2
    assert value.dtype == np.complex64
    assert complex(value[0]) == value[0].item() == 1 + 2j
    assert np.concatenate([value, value[:1]]).shape == (3,)


@pytest.mark.parametrize("type_", ["si8", "ui8", "!quant.uniform<i8:f32, 2.0>", "complex"])
def test_types_that_no_op_takes_are_refused(type_: str) -> None:
    value = complex_value() if type_ == "complex" else hu.Value.from_bits([1, 2], type_)
    for compute in (lambda: value + value, lambda: -value, lambda: np.equal(value, value), lambda: np.max(value)):
        with pytest.raises(TypeError, match=r"from_bits|hu\.dequantize|halfulp has no such operation"):
            compute()


# Poison.


def poisoned() -> Any:
    return hu.convert([1.0, np.nan, 2.0], "f4E2M1FN")


def test_poison_goes_through_operators_with_its_origin() -> None:
    value = poisoned()
    for found in (
        value + value, 1 - value, value * 0, -value, abs(value), value < 1, np.maximum(value, 3), value + poisoned(),
    ):  # fmt: skip
        assert found.poisoned.tolist() == [False, True, False]
        assert str(found.origin(1)) == "NaN is not representable in f4E2M1FN (convert, element [1])"
        assert found.bits[1] == 0
    both = (value + 1)[:2] + hu.convert([np.nan, 1.0], "f4E2M1FN")
    assert both.poisoned.tolist() == [True, True]
    assert str(both.origin(0)) == str(both.origin(1)) == "NaN is not representable in f4E2M1FN (convert, element [1])"


def test_a_fault_names_the_op() -> None:
    quotient = hu.convert([1.0, 0.0], "f4E2M1FN") / 0
    assert str(quotient.origin(1)) == "NaN is not representable in f4E2M1FN (arith.divf, element [1])"
    again = quotient / hu.convert([[1.0], [0.0]], "f4E2M1FN")
    assert again.poisoned.tolist() == [[False, True], [False, True]]
    shifted = hu.Value.from_numpy(np.array([1, 1], np.int8)) << hu.Value.from_numpy(np.array([7, 8], np.int8))
    assert shifted.numpy(poison=0).tolist() == [-128, 0]
    assert shifted.origin(1).op == "arith.shli"
    assert quotient.origin(1) == quotient.origin(1)


def test_the_operands_tables_of_origins_do_not_change() -> None:
    value = poisoned()
    before = value.origins.known()
    for _ in range(3):
        value / 0 + hu.convert([0.0, 0.0, np.nan], "f4E2M1FN")
    assert value.origins.known() == before


def test_unspecified_elements_stay_marked() -> None:
    text = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> { %0 = arith.addf %x, %x fastmath<reassoc> : tensor<2xf32> return %0 : tensor<2xf32> }"
    value: Any = hu.run(text, np.float32([1, 2]), track_open=True)[0]
    assert value.open.tolist() == [4, 4]
    assert (value + 1).open.tolist() == value[::-1].open.tolist() == [4, 4]
    assert (hu.convert([1.0], "f32") + 1).open is None


# Profiles.


def test_operators_compute_under_the_profile_of_the_block() -> None:
    value = hu.convert([5e-324, 1.0], "f64")
    with hu.profile("spec,denormals=flush_both"):
        flushed = value + 0
        assert np.add(value, 0) == flushed
        assert value.astype("bf16").tolist() == [0, 1]
    assert flushed.tolist() == [0, 1]
    assert (value + 0).tolist() == [5e-324, 1]
    with hu.profile("ocp-saturate"):
        assert hu.convert(1000.0, "f64").astype("f8E4M3FN").item() == 448
        assert (hu.convert(448.0, "f8E4M3FN") * 2).tolist() != 448


@pytest.mark.long
def test_threads_compute_under_their_own_profile() -> None:
    value = hu.convert(np.full(100, 5e-324), "f64")

    def work(profile: str) -> set[float]:
        with hu.profile(profile):
            return {number for _ in range(200) for number in (value + 0)[:1].tolist()}

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, ["spec", "spec,denormals=flush_both"] * 8))
    assert found == [{5e-324}, {0.0}] * 8


@each_row(
    lambda v: np.sum(v, dtype=np.float64),
    lambda v: np.sum(v, None, np.float64),
    lambda v: np.sum(v, initial=5),
    lambda v: np.sum(v, where=[True, False]),
    lambda v: np.max(v, initial=5),
    lambda v: np.all(v > 0, where=v > 1),
    lambda v: np.clip(v, 1, 2, dtype=np.float32),
    lambda v: np.array_equal(v, v, equal_nan=True),
    lambda v: np.zeros_like(v, dtype=float),
)
def test_arguments_of_functions_are_never_ignored(call: Any) -> None:
    with pytest.raises(hu.TypeMismatch, match=r"(?s)= is not for values of halfulp.*hint"):
        call(hu.convert([1.0, 2.0], "f32"))


def test_arguments_of_functions_have_the_names_of_numpy() -> None:
    value = hu.convert([1.0, 2.0, 3.0], "f32")
    assert np.sum(a=value, axis=0, dtype=None, out=None, keepdims=True).tolist() == [6]
    assert np.sum(value, 0, None, None, True, where=True).tolist() == [6]
    assert np.max(value, None, None, True).tolist() == [3]
    assert np.clip(value, a_min=2, a_max=None).tolist() == [2, 2, 3]
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        assert np.clip(value, min=2).tolist() == [2, 2, 3]
    assert np.dot(value, value, out=None).item() == 14
    assert not np.all(value > 1, 0, None, True).item()
    assert np.zeros_like(value, order="C", subok=False, shape=2).tolist() == [0, 0]
    with pytest.raises(hu.TypeMismatch, match="object"):
        np.where(None, value, 0)


@each_row(
    (lambda v: np.append(v, v), lambda v: np.concatenate([v, v])),
    (lambda v: np.outer(v, v), lambda v: np.multiply.outer(v, v)),
    (np.diff, lambda v: v[1:] - v[:-1]),
    (np.ptp, lambda v: np.max(v) - np.min(v)),
    (np.isposinf, lambda v: np.isinf(v) & (v > 0)),
    (lambda v: np.triu(v[None]), lambda v: np.where([[True, False, True]], v, 0)),
)
def test_refusals_name_a_way_that_works(call: Any, way: Any) -> None:
    value = hu.convert([1.0, np.inf, 3.0], "f32")
    with pytest.raises(hu.TypeMismatch, match="hint: write (?!v.numpy)"):
        call(value)
    assert isinstance(way(value), hu.Value)


def test_an_origin_takes_one_index_for_each_axis() -> None:
    value = hu.convert([1.0, np.nan], "f4E2M1FN")
    assert value.origin(1) is not None
    for wrong in ((), (0, 0)):
        with pytest.raises(IndexError, match="takes 1 indices"):
            value.origin(*wrong)
