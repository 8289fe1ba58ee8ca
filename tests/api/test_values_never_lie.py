"""What leaves a value is its exact elements, correctly rounded ones, or an error that names the way on."""

from array import array
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy
import pytest
from amounts import thinned
from tables import each_row

import halfulp as hu
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, codes_to_ints
from halfulp.semantics.kernel import Origin, Origins

np: Any = numpy
"""NumPy without its types, which do not know that values are arrays."""

MY6 = hu.FloatFormat("my6", 3, 2, 3)
WAY_ON = r"v\.masked\(\).*v\.numpy\(poison=0\)"


def test_poison_is_not_a_number_to_numpy() -> None:
    value = hu.convert([1, np.nan], "f4E2M1FN")
    for leave in (np.asarray, lambda v: v.numpy(), np.array, lambda v: np.asarray(v, float), lambda v: v.tolist()):
        with pytest.raises(TypeError, match=WAY_ON):
            leave(value)
    with pytest.raises(TypeError, match="NaN is not representable in f4E2M1FN"):
        np.asarray(value)
    with pytest.raises(TypeError, match=r"hu\.sum"):
        np.mean(hu.convert([5.0, 300.0], "i8"))
    with pytest.raises(TypeError, match=WAY_ON):
        np.mean(np.asarray(hu.convert([5.0, 300.0], "i8")))


def test_poison_is_masked_or_replaced() -> None:
    value = hu.convert([[1.5, np.nan], [3, 300]], "i8")
    masked = value.masked()
    assert isinstance(masked, np.ma.MaskedArray)
    assert masked.dtype == np.int8
    assert masked.tolist() == [[1, None], [3, None]]
    assert value.numpy(poison=-7).tolist() == [[1, -7], [3, -7]]
    with pytest.raises(TypeError, match="'i8' has no NaN"):
        value.numpy(poison="nan")
    with pytest.raises(TypeError, match="outside the range of 'i8'"):
        value.numpy(poison=300)
    with pytest.raises(ValueError, match=r'"raise", "nan" or a number'):
        value.numpy(poison="zero")
    floats = hu.eval("arith.addf", hu.convert([1.0, np.nan], "bf16"), hu.convert([1.0, 1.0], "bf16"), fastmath="nnan")
    assert floats.poisoned.tolist() == [False, True]
    assert np.isnan(floats.numpy(poison="nan").astype(np.float32)).tolist() == [False, True]
    assert floats.numpy(poison=0.25).tolist() == [2, 0.25]


@pytest.mark.parametrize("name", [name for name, fmt in FORMATS.items() if fmt.bits <= 64])
def test_masked_arrays_of_every_natural_type(name: str) -> None:
    value = hu.Value.from_bits([1, 2], name)
    origins = Origins()
    ids = np.array([0, origins.id_of(Origin("op", "", "why"))], np.uint16)
    masked = hu.Value(value.type, value.bits, ids, None, origins).masked()
    assert masked.mask.tolist() == [False, True]
    assert masked.data.tobytes() == value.numpy().tobytes()


@pytest.mark.parametrize("type_", ["f80", "f128", MY6])
def test_a_type_that_numpy_lacks_is_refused(type_: Any) -> None:
    value = hu.convert([0.1, 0.2], type_)
    for leave in (np.asarray, lambda v: v.numpy(), lambda v: v.masked(), lambda v: v.dtype):
        with pytest.raises(TypeError, match=r'astype\("f64"\).*\.bits'):
            leave(value)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2])
@pytest.mark.parametrize("source", ["f128", "f80", "f64", "bf16", "f8E4M3FN", MY6, "tf32"])
def test_a_float_dtype_gets_the_nearest_even_values(source: Any, dtype: Any) -> None:
    fmt = source if isinstance(source, hu.FloatFormat) else FORMATS[source]
    rng = np.random.default_rng(1)
    numbers = [0.1, -0.0, 1 / 3, 1 + 2.0**-24, 448.5, 2.0**-60, 3.0, *rng.standard_normal(50)]
    value = hu.convert(np.array(numbers), source)
    target = FORMATS[
        {"bfloat16": "bf16", "float8_e5m2": "f8E5M2"}.get(np.dtype(dtype).name, f"f{8 * np.dtype(dtype).itemsize}")
    ]
    found = np.asarray(value, dtype)
    assert found.dtype == dtype
    expected = [scalar.convert(fmt, target, code).code for code in codes_to_ints(value.bits, fmt.bits)]
    assert found.view(target.storage_dtype).tolist() == expected


def test_rounding_of_f128_to_double_is_correct() -> None:
    third = hu.eval("arith.divf", hu.convert(1.0, "f128"), hu.convert(3.0, "f128"))
    assert np.asarray(third, float) == 1 / 3
    tie = hu.Value.from_bits(hu.convert(1 + 2.0**-52, "f128").bits, "f128")
    assert np.asarray(tie, np.float32) == np.float32(1)
    huge = hu.eval("arith.mulf", hu.convert(1e300, "f128"), hu.convert(1e300, "f128"))
    assert np.asarray(huge, float) == np.inf
    assert huge.item() == Fraction(1e300) ** 2 - (Fraction(1e300) ** 2 - huge.item())
    assert isinstance(huge.item(), Fraction)


def test_exact_numbers_as_objects() -> None:
    third = hu.eval("arith.divf", hu.convert(1.0, "f128"), hu.convert(3.0, "f128"))
    assert np.asarray(third, object).item() == third.item() == Fraction(third.item())
    assert abs(third.item() - Fraction(1, 3)) < Fraction(1, 3 << 110)
    assert np.asarray(hu.convert([0.5, np.inf], "bf16"), object).tolist() == [0.5, np.inf]


def test_other_dtypes_are_refused() -> None:
    floats, integers = hu.convert([1.5, 2.5], "bf16"), hu.Value.from_numpy(np.array([-1, 2], np.int16))
    for value, dtype in [(floats, np.int32), (floats, bool), (floats, complex), (floats, "U8"), (integers, bool)]:
        with pytest.raises(TypeError, match=r"\.astype"):
            np.asarray(value, dtype)
    with pytest.raises(TypeError, match="-1 does not fit dtype uint16"):
        np.asarray(integers, np.uint16)
    assert np.asarray(integers, np.int64).tolist() == [-1, 2]
    assert np.asarray(integers, np.float32).tolist() == [-1, 2]
    with pytest.raises(TypeError, match="NaN is not representable in f4E2M1FN, element"):
        np.asarray(hu.convert([1.0, np.nan], "bf16"), ml_dtypes.float4_e2m1fn)
    big = np.asarray(hu.convert([1.5], "bf16"), np.dtype(">f8"))
    assert big.dtype == np.dtype(">f8")
    assert big.tolist() == [1.5]


def test_own_formats_give_numbers() -> None:
    value = hu.convert(0.1, MY6)
    assert value.item() == 0.125
    assert hu.convert([[0.1, 2], [-3, 4]], MY6).tolist() == [[0.125, 2], [-3, 4]]


@pytest.mark.parametrize("name", thinned(FORMATS, 3))
def test_item_is_the_exact_value_of_every_format(name: str) -> None:
    fmt = FORMATS[name]
    codes = range(1 << fmt.bits) if fmt.bits <= 8 else [0, 1, 2, fmt.max_code, fmt.min_normal_code, 3 << fmt.bits // 2]
    value = hu.Value.from_bits(list(codes), name)
    listed = value.tolist()
    for code, element, found in zip(codes, value, listed, strict=True):
        exact = scalar.value(fmt, code)
        number = element.item()
        assert type(number) is type(found)
        assert number == found or exact is None
        if exact is None:
            assert isinstance(number, float)
            assert np.isnan(number) == fmt.is_nan(code)
            assert np.isinf(number) == fmt.is_infinite(code)
        else:
            assert number == exact
            assert isinstance(number, float) or float(min(exact, Fraction(2) ** 1000)) != exact
            if not exact and isinstance(number, float):
                assert np.signbit(number) == (code != 0)


def test_the_sum_is_ours_and_not_that_of_ml_dtypes() -> None:
    value = hu.convert(np.full(1000, 0.1), "f8E4M3FN")
    total = 0.0
    for number in value.tolist():
        total = hu.convert(total + number, "f8E4M3FN").item()
    assert np.sum(value).item() == value.sum().item() == np.add.reduce(value).item() == total


def test_numbers_of_wide_types() -> None:
    assert hu.convert(0.1, "tf32").item() == float(Fraction(819, 8192))
    assert hu.convert(0.1, "f80").item() == hu.convert(0.1, "f128").item() == 0.1
    assert hu.Value.from_bits((1 << 128) - 1, "i128").item() == -1
    assert hu.Value.from_bits(1, "i1").item() is True


def test_an_unsigned_array_comes_back_as_it_was() -> None:
    value = hu.Value.from_numpy(np.array([200, 1], np.uint8))
    assert str(value.type) == "tensor<2xi8>"
    assert value.numpy().dtype == np.uint8
    assert value.numpy().tolist() == value.tolist() == [200, 1]
    assert hu.Value.from_numpy(np.array([200, 1], np.uint8), "tensor<2xi8>").numpy().tolist() == [200, 1]
    assert value.numpy(signed=True).tolist() == [-56, 1]
    assert value[0].item() == 200
    assert (value + 0).numpy().tolist() == [-56, 1]
    assert (value + 0).numpy(signed=False).tolist() == [200, 1]
    signed = hu.Value.from_numpy(np.array([-56, 1], np.int8))
    assert value == signed
    assert hash(value) == hash(signed)
    assert signed.numpy(signed=False).tolist() == [200, 1]
    assert hu.Value.from_numpy(np.array([2**63], np.uint64)).item() == 2**63
    assert value.astype("f32").tolist() == np.asarray(value, np.float32).tolist() == [200, 1]
    with pytest.raises(TypeError, match="signed=True can be used only with signless integers"):
        hu.convert([1.0], "bf16").numpy(signed=True)


@pytest.mark.parametrize(
    "arguments", [([0.1, 0.2], "bf16"), (0.1, "bf16"), ("bf16", [0.1]), ("bf16", np.array([1], np.uint16))]
)
def test_the_constructor_takes_a_type_and_codes(arguments: Any) -> None:
    with pytest.raises(hu.TypeMismatch, match=r"hu\.convert.*hu\.Value\.from_bits"):
        hu.Value(*arguments)


@each_row(
    ("bf16", np.zeros(2, np.float32)),
    ("bf16", np.zeros(2, np.uint8)),
    ("f80", np.zeros(2, np.uint64)[:, None]),
    ("f128", np.zeros(3, np.uint64)),
    ("i8", np.zeros(2, np.int8)),
)
def test_the_constructor_refuses_arrays_that_are_not_codes(spelling: str, bits: Any) -> None:
    type_ = hu.convert(0.0, "f32").astype(spelling).type if spelling != "i8" else hu.Value.from_bits(0, "i8").type
    with pytest.raises(hu.TypeMismatch, match="the codes of"):
        hu.Value(type_, bits)


def test_item_and_bool_say_what_is_wrong() -> None:
    two = hu.convert([1.0, np.nan], "i8")
    with pytest.raises(ValueError, match=r"the value has 2: write v\.item\(i\), or v\.tolist\(\)"):
        two.item()
    with pytest.raises(ValueError, match="poison: NaN"):
        two[1].item()
    with pytest.raises(ValueError, match="poison"):
        bool(two[1])
    with pytest.raises(ValueError, match=r"v\.any\(\) or v\.all\(\)"):
        bool(two)
    assert two.item(0) == 1
    assert not hu.convert(0.0, "bf16")
    assert hu.convert(0.5, "bf16")


@pytest.mark.parametrize("other", [1.0, 1, "1", [1.0], np.float32(1), (), object()])
def test_equality_beside_anything_else_is_refused(other: Any) -> None:
    value = hu.convert(1.0, "bf16")
    for compare in (lambda: value == other, lambda: value != other):
        with pytest.raises(TypeError, match=r"np\.equal\(v, x\).*hu\.convert"):
            compare()
    assert (value == None) is False  # noqa: E711
    assert (value != None) is True  # noqa: E711
    assert (value == hu.convert(1.0, "bf16")) is True
    assert (value != hu.convert(1.0, "f16")) is True
    with pytest.raises(TypeError, match=r"np\.equal"):
        _ = 1.0 in hu.convert([1.0], "bf16")


def test_matplotlib_draws_what_the_value_is() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    natural, wide = hu.convert([0.1, 0.2, 0.3], "f8E4M3FN"), hu.convert([0.1, 0.2, 0.3], "f128")
    figure, axes = plt.subplots()
    for value in (natural, wide):
        (line,) = axes.plot(value)
        assert line.get_ydata(orig=False).tolist() == value.tolist()
    with pytest.raises(TypeError, match="poison"):
        axes.plot(hu.convert([1, np.nan], "f4E2M1FN"))
    plt.close(figure)


def test_conversions_read_an_unsigned_array_as_it_was() -> None:
    value = hu.Value.from_numpy(np.array([200, 1], np.uint8))
    assert hu.convert(value, "f32") == value.astype("f32")
    assert value.astype("i16").tolist() == hu.convert(value, "i16").tolist() == [200, 1]
    with pytest.raises(TypeError, match=r'(?s)200, which .si8. does not have.*overflow="saturate"'):
        value.astype("si8")
    assert value.astype("si8", overflow="saturate").tolist() == [127, 1]
    assert (value + 0).astype("f32").tolist() == [-56, 1]


@each_row(
    (lambda v: v.to("f32"), AttributeError, r"\.astype"),
    (lambda v: v.__setitem__(0, 1), TypeError, r"\.numpy\(\)\.copy\(\)"),
    (lambda v: len(v[0]), TypeError, r"\.item\(\)"),
    (lambda v: iter(v[0]), TypeError, r"\.item\(\)"),
    (lambda v: np.logaddexp(v, v), TypeError, r'hu\.round\("log'),
    (np.sinc, TypeError, r'hu\.round\("sinpi'),
    (lambda v: v.foo, AttributeError, "'foo'"),
    (float, TypeError, r"\.tolist\(\)"),
    (lambda v: range(3)[v[0]], TypeError, r"int\(v\)"),
    (lambda v: f"{v:.2f}", TypeError, r"\.tolist\(\)"),
    (lambda v: v[2], IndexError, "index 2 is out of bounds"),
    (lambda v: v[1.0], IndexError, "integers"),
    (lambda v: v[hu.convert(1.0, "bf16")], IndexError, "masks of i1"),
    (lambda v: v.reshape(3), ValueError, "reshape"),
)
def test_what_a_value_cannot_do_names_what_can(use: Any, kind: type[Exception], way: str) -> None:
    with pytest.raises(kind, match=way):
        use(hu.convert([1.5, 2.5], "bf16"))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant not in (63, 112), reason="longdouble is f64 here")
@pytest.mark.parametrize("name", ["f32", "f64", "f80", "bf16"])
def test_a_longdouble_is_a_number_not_words(name: str) -> None:
    value = hu.convert([[1.0, -0.5], [0.1, np.inf]], name)
    found = np.asarray(value, np.longdouble)
    assert found.dtype == np.longdouble
    assert found.shape == value.shape
    for place, number in np.ndenumerate(found):
        exact = value.item(*place)
        assert number == np.inf if exact == np.inf else Fraction(*number.as_integer_ratio()) == exact
    assert np.asarray(value[::-1].T, np.longdouble).tolist() == found[::-1].T.tolist()
    assert np.asarray(value[0, 0], np.longdouble).shape == ()


def test_a_mask_is_zero_or_one_in_every_type() -> None:
    mask = hu.convert([1.0, 2.0], "f32") > 1.5
    for name in ("f32", "bf16", "f80", "i8", "ui8", "i128"):
        for made in (mask.astype(name), hu.convert(mask, name)):
            assert [float(x) for x in made.tolist()] == [0, 1]
    assert np.asarray(mask, float).tolist() == [0, 1]


def test_whatever_is_unsigned_is_remembered() -> None:
    unsigned = np.uint8([200])
    for given in (unsigned, memoryview(unsigned), array("B", [200])):
        value = hu.Value.from_numpy(given)
        assert str(value.element_type) == "i8"
        assert value.numpy().tolist() == [200]
    assert hu.Value.from_numpy(2**63).item() == 2**63
    assert hu.Value.from_numpy(unsigned, "i8").tolist() == [200]
    assert hu.Value.from_numpy(np.uint64([2**63]), "index").tolist() == [2**63]
    assert np.concatenate([hu.Value.from_numpy(unsigned), unsigned]).tolist() == [200, 200]
    assert hu.Value.from_numpy(hu.convert(1.5, "f80")).item() == 1.5


def test_unsigned_tensors_are_remembered() -> None:
    torch = pytest.importorskip("torch")
    assert hu.Value.from_numpy(torch.tensor([200], dtype=torch.uint8)).tolist() == [200]


@pytest.mark.parametrize(
    "nested",
    [
        [np.ma.masked, 1.0],
        [[np.ma.masked, 1]],
        [np.ma.array([1.0, 2.0], mask=[1, 0]), np.ma.array([1.0, 2.0], mask=[0, 0])],
        ([np.ma.array([1, 2], mask=[1, 0])],),
    ],
)
def test_masked_elements_in_lists_are_refused(nested: Any) -> None:
    for call in (lambda: hu.convert(nested, "f32"), lambda: hu.Value.from_numpy(nested)):
        with pytest.raises(hu.errors.InputError, match="masked"):
            call()
    assert hu.convert([np.ma.array([1.0, 2.0])], "f32").tolist() == [[1, 2]]


def test_masked_arrays_do_not_compute_on_values() -> None:
    value = hu.convert([1.0, 2.0], "bf16")
    masked = np.ma.array(value.numpy())
    for call in (lambda: masked + value, lambda: masked == value, lambda: np.ma.add(value, value)):
        with pytest.raises(TypeError, match="np.ma computes by NumPy"):
            call()
    assert (value + masked).tolist() == [2, 4]
    assert np.ma.array(value).tolist() == [1, 2]


def test_poison_that_is_given_has_an_origin_and_stays() -> None:
    clean = hu.convert([1.0, 2.0], "f32")
    value = hu.Value(clean.type, clean.bits, np.uint16([0, 7]))
    assert "given" in str(value.origin(1))
    assert np.concatenate([clean, value]).poisoned.tolist() == [False, False, False, True]
    assert value.sum().poisoned
    assert np.dot(clean, value).poisoned
    assert (value + hu.Value(clean.type, clean.bits, np.uint16([1, 0]))).poisoned.all()
    wrong: Any
    for wrong in (np.uint16([1]), np.int64([0, 1]), [0, 1]):
        with pytest.raises(TypeError, match="uint16 with the shape of the elements"):
            hu.Value(clean.type, clean.bits, wrong)


def test_nothing_of_a_value_is_deleted() -> None:
    value = hu.convert([1.0, 2.0], "f32")
    with pytest.raises(AttributeError, match="immutable"):
        del value.bits
    assert value.tolist() == [1, 2]


def test_numbers_beyond_a_float_name_the_way_on() -> None:
    with pytest.raises(OverflowError, match=r"v\.item\(\)"):
        float(hu.convert("1e4000", "f128"))
    with pytest.raises(TypeError, match="astype"):
        round(hu.convert(1.5, "f32"))
