"""The quant dialect's document: type examples, op examples, and "Per-axis quantization integrity".

Correct examples run, and their values are worked out by hand beside them. Incorrect ones are rejected with a message
that names both numbers; where a dimension is dynamic, that happens when the program runs. The rules for sub-channel
types are those of MLIR 22, which came after the document.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from op_implementations import value

import halfulp as hu
from halfulp.interp.ir.errors import DocumentWarning
from halfulp.interp.ir.types import UniformQuantizedType, element_type
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value


def cast_program(op: str, source: str, target: str) -> str:
    body = f"  %result = quant.{op} %input : {source} to {target}\n  return %result : {target}\n"
    return f"func.func @f(%input: {source}) -> {target} {{\n{body}}}\n"


def floats(numbers: Any) -> Any:
    return np.array(numbers, np.float32)


# --- correct: types and ops of the document ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Example:
    """An op on the stored or expressed numbers ``given``; ``found`` are the numbers of the result."""

    op: str
    source: str
    target: str
    given: Any
    found: Any


PER_CHANNEL = "tensor<2x3x4x!quant.uniform<i8:f32:1, {3.0, 4.0, 5.0}>>"
DYNAMIC = "tensor<?x?x!quant.uniform<u16:f32:0, {2.0:10, 3.0:20}>>"
UNRANKED = "tensor<*x!quant.uniform<i8:f32:1, {2.0, 3.0}>>"

CORRECT = (
    # "An 8-bit signed integer type is used to represent a 32-bit float."
    Example("qcast", "f32", "!quant.uniform<i8:f32, 3.0>", 7.5, 2),  # 2.5 to even
    Example("qcast", "f32", "!quant.uniform<i8:f32, 3.0>", 10.5, 4),  # 3.5 to even
    Example("qcast", "f32", "!quant.uniform<i8:f32, 3.0>", -1000.0, -128),
    Example("dcast", "!quant.uniform<i8:f32, 3.0>", "f32", -128, -384.0),
    # "A 16-bit unsigned integer type … 0..1023 clamping range … scale 1.23 … zero point 512."
    Example("qcast", "f32", "!quant.uniform<u16<0:1023>:f32, 1.23:512>", 12.3, 522),
    Example("qcast", "f32", "!quant.uniform<u16<0:1023>:f32, 1.23:512>", 1e6, 1023),
    Example("qcast", "f32", "!quant.uniform<u16<0:1023>:f32, 1.23:512>", -1e6, 0),
    Example("dcast", "!quant.uniform<u16<0:1023>:f32, 1.23:512>", "f32", 0, float(np.float32(-512) * np.float32(1.23))),
    # "[*][0][*], [*][1][*], and [*][2][*] use scales 3.0, 4.0, and 5.0"
    Example(
        "qcast",
        "tensor<2x3x4xf32>",
        PER_CHANNEL,
        np.broadcast_to(floats([30.0, 60.0]).reshape(2, 1, 1), (2, 3, 4)),
        np.broadcast_to(np.array([[10, 8, 6], [20, 15, 12]]).reshape(2, 3, 1), (2, 3, 4)),  # 7.5 is 8
    ),
    Example(
        "dcast",
        PER_CHANNEL,
        "tensor<2x3x4xf32>",
        np.full((2, 3, 4), -7),
        np.broadcast_to(floats([-21.0, -28.0, -35.0]).reshape(1, 3, 1), (2, 3, 4)),
    ),
    # "Tensor elements [0][*] use scale 2.0 and zero point 10, while elements [1][*] use scale 3.0 and zero point 20."
    Example("qcast", "tensor<?x?xf32>", DYNAMIC, floats([[6.0, -30.0], [6.0, -30.0]]), [[13, 0], [22, 10]]),
    Example(
        "dcast", DYNAMIC, "tensor<?x?xf32>", [[0, 10, 65535], [0, 20, 65535]], [[-20, 0, 131050], [-60, 0, 196545]]
    ),
    # The examples of the ops.
    Example("dcast", "!quant.uniform<i8:f32, 2.0>", "f32", 21, 42.0),
    Example("dcast", "tensor<?x!quant.uniform<i8:f32, 2.0>>", "tensor<?xf32>", [1, -128], [2.0, -256.0]),
    Example("dcast", UNRANKED, "tensor<*xf32>", [[1, 1], [-2, -2]], [[2.0, 3.0], [-4.0, -6.0]]),
    Example("qcast", "f32", "!quant.uniform<i8:f32, 2.0>", 42.0, 21),
    Example("qcast", "tensor<?xf32>", "tensor<?x!quant.uniform<i8:f32, 2.0>>", floats([3.0, 5.0]), [2, 2]),
    Example("qcast", "tensor<*xf32>", UNRANKED, floats([[6.0, 6.0]]), [[3, 2]]),
    Example("scast", "!quant.uniform<i8:f32, 2.0>", "i8", -3, -3),
    Example("scast", "tensor<?x!quant.uniform<i8:f32, 2.0>>", "tensor<?xi8>", [1, -2], [1, -2]),
    Example("scast", "tensor<*xi8>", UNRANKED, [[1, -2]], [[1, -2]]),
    # The correct halves of the integrity section.
    Example("qcast", "tensor<2xf32>", "tensor<2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>", floats([6.0, 6.0]), [6, 3]),
    Example(
        "qcast", "tensor<1x2xf32>", "tensor<1x2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>", floats([[6.0, 6.0]]), [[6, 3]]
    ),
    Example(
        "qcast",
        "tensor<?x3xf32>",
        "tensor<?x3x!quant.uniform<i8:f32:1, {2.0, 3.0, 4.0}>>",
        floats([[12.0, 12.0, 12.0], [-24.0, -24.0, -24.0]]),
        [[6, 4, 3], [-12, -8, -6]],
    ),
    # Sub-channel: element [i, j] uses the parameters [i / 1][j / 2].
    Example(
        "qcast",
        "tensor<2x4xf32>",
        "tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0:1, 2.0:2}, {3.0:3, 4.0:4}}>>",
        floats([[12.0] * 4] * 2),
        [[13, 13, 8, 8], [7, 7, 7, 7]],
    ),
    Example(
        "dcast",
        "tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0:1, 2.0:2}, {3.0:3, 4.0:4}}>>",
        "tensor<2x4xf32>",
        [[10] * 4] * 2,
        [[9.0, 9.0, 16.0, 16.0], [21.0, 21.0, 24.0, 24.0]],
    ),
    # An axis that is not named is one block, and {} is one block in all.
    Example(
        "dcast",
        "tensor<2x4x!quant.uniform<i8:f32:{1:2}, {{1.0, 2.0}}>>",
        "tensor<2x4xf32>",
        [[1, 2, 3, 4], [5, 6, 7, 8]],
        [[1.0, 2.0, 6.0, 8.0], [5.0, 6.0, 14.0, 16.0]],
    ),
    Example("dcast", "tensor<2x!quant.uniform<i8:f32:{}, {2.0:1}>>", "tensor<2xf32>", [1, 2], [0.0, 2.0]),
)


def given_value(numbers: Any, type_: str) -> Value:
    array = np.asarray(numbers)
    element = as_type(type_)
    stored = getattr(element, "element", element)
    if array.dtype == np.float32 or not isinstance(stored, UniformQuantizedType):
        return hu.Value.from_numpy(np.asarray(numbers, np.float32 if "f32" in type_ else np.int8), type_)
    mask = (1 << stored.storage_width) - 1
    return value([int(n) & mask for n in array.ravel()], type_, array.shape)


@pytest.mark.parametrize("example", CORRECT, ids=lambda e: f"{e.op} {e.source} to {e.target}")
def test_correct_examples_run(example: Example) -> None:
    (result,) = hu.run(
        cast_program(example.op, example.source, example.target), given_value(example.given, example.source)
    )
    assert element_type(result.type) == element_type(as_type(example.target))
    assert result.poison is None
    np.testing.assert_array_equal(result.numpy(), np.asarray(example.found))


# --- incorrect: what the verifier refuses -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Refused:
    """A cast that is refused, with words and numbers that its message must have.

    ``mlir``: whether MLIR 22 refuses it too.
    """

    op: str
    source: str
    target: str
    words: tuple[str, ...]
    mlir: bool = True


def layer(storage: str, rest: str = ", 1.0", element: str = "f32") -> str:
    return f"!quant.uniform<{storage}:{element}{rest}>"


def channels(shape: str, rest: str) -> tuple[str, str]:
    return f"tensor<{shape}xf32>", f"tensor<{shape}x!quant.uniform<i8:f32:{rest}>>"


REFUSED = (
    # The incorrect halves of the integrity section.
    Refused("qcast", "f32", layer("i8", ":0, {1.0, 2.0}"), ("scalar", "per-axis")),
    Refused("qcast", *channels("1x2", "3, {1.0, 2.0}"), ("dimension 3", "rank 2")),
    Refused("qcast", *channels("?x3", "1, {1.0, 2.0, 3.0, 4.0}"), ("size 3", "4 scales")),
    # The same for the other ops.
    Refused("dcast", *channels("?x3", "1, {1.0, 2.0, 3.0, 4.0}")[::-1], ("size 3", "4 scales")),
    Refused("dcast", *channels("2", "1, {1.0, 2.0}")[::-1], ("dimension 1", "rank 1")),
    Refused("dcast", layer("i8", ":0, {1.0, 2.0}"), "f32", ("scalar", "per-axis")),
    Refused("scast", "tensor<3xi8>", "tensor<3x!quant.uniform<i8:f32:0, {1.0, 2.0}>>", ("size 3", "2 scales")),
    Refused("scast", "tensor<3x!quant.uniform<i8:f32:0, {1.0, 2.0}>>", "tensor<3xi8>", ("size 3", "2 scales")),
    # Storage: 1 to 32 bits, and bounds within them.
    Refused("qcast", "f32", layer("i0"), ("size: 0",)),
    Refused("qcast", "f32", layer("i33"), ("size: 33",)),
    Refused("qcast", "f32", layer("u64"), ("size: 64",)),
    Refused("qcast", "f32", layer("i8<-129:127>"), ("-129", "-128")),
    Refused("qcast", "f32", layer("i8<-128:128>"), ("128", "127")),
    Refused("qcast", "f32", layer("u8<0:256>"), ("256", "255")),
    Refused("qcast", "f32", layer("u8<-1:255>"), ("-1", "0")),
    Refused("qcast", "f32", layer("i8<10:-10>"), ("10:-10",)),
    Refused("qcast", "f32", layer("i8<5:5>"), ("5:5",)),
    # The scale: finite, positive, within the expressed type.
    Refused("qcast", "f32", layer("i8", ", 0.0"), ("scale 0", "e-45", "e+38")),
    Refused("qcast", "f32", layer("i8", ", -1.0"), ("scale -1", "e-45", "e+38")),
    Refused("qcast", "f32", layer("i8", ", 1.0e-46"), ("scale 1.0", "e-46", "e-45")),
    Refused("qcast", "f32", layer("i8", ", 1.0e+39"), ("scale 1.0", "e+39", "e+38")),
    Refused("qcast", "f64", layer("i8", ", 1.0e+309", "f64"), ("scale INF", "e+308")),
    Refused("qcast", "f32", layer("i8", ", 0x7FF8000000000000"), ("scale NAN", "e+38")),
    Refused("qcast", "f16", layer("i8", ", 65505.0", "f16"), ("scale 6.5505", "e+04")),
    Refused("qcast", "f32", layer("i8", ", 1"), ("decimal integer literal",)),
    # Sub-channel: ranked tensors; axis < rank; 0 < block <= dim; dim % block == 0; shape(params) = shape / blocks.
    Refused("qcast", "f32", layer("i8", ":{0:1}, {1.0}"), ("scalar", "sub-channel")),
    Refused("qcast", *channels("*", "{0:1}, {1.0}"), ("ranked",)),
    Refused("qcast", *channels("2x4", "{0:1, 2:2}, {{1.0, 2.0}, {3.0, 4.0}}"), ("dimension 2", "rank 2")),
    Refused("qcast", *channels("2x4", "{0:1, 1:0}, {{1.0, 2.0}, {3.0, 4.0}}"), ("size: 0",)),
    Refused("qcast", *channels("2x4", "{0:1, 1:8}, {{1.0}, {3.0}}"), ("8", "4")),
    Refused("qcast", *channels("2x4", "{0:1, 1:3}, {{1.0, 2.0}, {3.0, 4.0}}"), ("4", "3")),
    Refused("qcast", *channels("2x4", "{0:1, 1:2}, {{1.0, 2.0, 3.0}, {3.0, 4.0, 5.0}}"), ("3", "2")),
    Refused("qcast", *channels("2x4", "{0:1, 1:2}, {1.0, 2.0}"), ("1", "2", "rank")),
    Refused("qcast", *channels("2x4", "{}, {{1.0, 2.0}, {3.0, 4.0}}"), ("2", "1")),
    Refused("qcast", *channels("0x4", "{1:2}, {{1.0, 2.0}}"), ("0", "1")),
    Refused("qcast", *channels("2x4", "{0:1, 1:2}, {{1.0, 2.0}, {3.0}}"), ("ranks are not consistent",)),
    Refused("qcast", *channels("2x4", "{1:2, 1:2}, {{1.0, 2.0}}"), ("dimension 1", "twice"), mlir=False),
    # Constraints of the ops.
    Refused("qcast", "f16", layer("i8"), ("'f32'", "'f16'")),
    Refused("dcast", layer("i8"), "f64", ("'f32'", "'f64'")),
    Refused("scast", "i16", layer("i8"), ("8", "16")),
    Refused("scast", layer("u4"), "i8", ("4", "8")),
    Refused("scast", "i8", "i8", ("integer", "quantized")),
    Refused("scast", layer("i8"), layer("i8"), ("integer", "quantized")),
    Refused("qcast", "tensor<*xf32>", "tensor<2x!quant.uniform<i8:f32, 2.0>>", ("shape",)),
    Refused("qcast", "tensor<?xf32>", "tensor<2x!quant.uniform<i8:f32, 2.0>>", ("shape",)),
    Refused("qcast", "tensor<2xf32>", layer("i8"), ("both scalars or both tensors",)),
    Refused("qcast", "vector<2xf32>", "tensor<2x!quant.uniform<i8:f32, 2.0>>", ("scalar or tensor of floating-point",)),
    Refused("qcast", "vector<2xf32>", "vector<2x!quant.uniform<i8:f32, 2.0>>", ("VectorElementTypeInterface",)),
)


@pytest.mark.parametrize("case", REFUSED, ids=lambda c: f"{c.op} {c.source} to {c.target}")
def test_incorrect_examples_are_refused(case: Refused) -> None:
    with pytest.raises((hu.errors.ParseError, hu.errors.VerifyError)) as caught:
        hu.load(cast_program(case.op, case.source, case.target))
    assert caught.value.exit_code == 2
    assert caught.value.location is not None
    for word in case.words:
        assert word.lower() in caught.value.message.lower()
    if not case.mlir:
        assert isinstance(caught.value, hu.errors.VerifyError)


@pytest.mark.mlir
@pytest.mark.parametrize("case", REFUSED, ids=lambda c: f"{c.op} {c.source} to {c.target}")
def test_real_mlir_refuses_the_same(case: Refused, mlir_opt: Any) -> None:
    source = cast_program(case.op, case.source, case.target)
    if case.mlir:
        with pytest.raises(RuntimeError, match="error:"):
            mlir_opt(source)
    else:
        mlir_opt(source)


@pytest.mark.mlir
def test_real_mlir_accepts_the_correct_examples(mlir_opt: Any) -> None:
    mlir_opt("// -----\n".join(cast_program(e.op, e.source, e.target) for e in CORRECT), "--split-input-file")


# --- zero points ------------------------------------------------------------------------------------------------------

# Zero points outside the storage type, which MLIR 22 accepts: storage, rest, zero point, range.
OUTSIDE = (
    ("i8", ", 1.0:128", 128, "-128:127"),
    ("i8", ", 1.0:-129", -129, "-128:127"),
    ("u8", ", 1.0:-1", -1, "0:255"),
    ("u4", ", 1.0:99999999999", 99999999999, "0:15"),
)


@pytest.mark.parametrize(("storage", "rest", "zero", "range_"), OUTSIDE)
def test_a_zero_point_outside_the_storage_type_is_a_warning(storage: str, rest: str, zero: int, range_: str) -> None:
    """The cast computes with the zero point as it is written."""
    quantised = layer(storage, rest, "f64")
    text = cast_program("dcast", quantised, "f64")
    message = f"<string>:1:{{}}: warning: zero point {zero} is outside the storage type's range {range_}"
    with pytest.warns(DocumentWarning) as caught:
        module = hu.load(text)
    column = text.index(str(zero)) + 1
    assert str(caught[0].message) == message.format(column)
    assert hu.run(module, 3)[0].numpy() == 3 - zero
    with pytest.warns(DocumentWarning):
        stored = hu.run(cast_program("qcast", "f64", quantised), 3.0 - zero)
    assert int(stored[0].bits) == 3


def test_the_zero_point_of_each_channel_may_be_outside() -> None:
    quantised = channels("2", "0, {1.0:0, 1.0:300}")[1]
    with pytest.warns(DocumentWarning, match="zero point 300 is outside the storage type's range -128:127"):
        module = hu.load(cast_program("dcast", quantised, "tensor<2xf32>"))
    assert hu.run(module, np.array([1, 1], np.int8))[0].numpy().tolist() == [1.0, -299.0]


BLOCKS = "tensor<2x!quant.uniform<{}:f32:{{0:1}}, {{1.0:{}, 2.0}}>>"
# Sub-channel types keep their zero points in the storage type: what is written, what it is, and what is printed.
WRAPPED = (("i8", 999, -25, -25), ("u8", 300, 44, 44), ("u8", 456, 200, -56), ("i4", 8, -8, -8), ("u4", -9, 7, 7))


@pytest.mark.parametrize(("storage", "written", "zero", "printed"), WRAPPED)
def test_zero_points_of_blocks_wrap(storage: str, written: int, zero: int, printed: int) -> None:
    text = cast_program("dcast", BLOCKS.format(storage, written), "tensor<2xf32>")
    with pytest.warns(DocumentWarning, match=f"zero point {written} is outside"):
        module = hu.load(text)
    shown = hu.print_module(module)
    assert f":{printed}, 2.0" in shown
    assert hu.print_module(hu.load(shown)) == shown
    assert hu.run(module, np.array([1, 1], np.uint8))[0].numpy()[0] == 1 - zero


@pytest.mark.mlir
def test_real_mlir_prints_these_zero_points_alike(mlir_opt: Any) -> None:
    texts = [cast_program("dcast", layer(storage, rest, "f64"), "f64") for storage, rest, _, _ in OUTSIDE]
    texts += [cast_program("dcast", BLOCKS.format(row[0], row[1]), "tensor<2xf32>") for row in WRAPPED]
    for text in texts:
        with pytest.warns(DocumentWarning):
            module = hu.load(text)
        assert hu.print_module(module).strip() == mlir_opt(text).strip()


# --- dynamic dimensions: checked at run time --------------------------------------------------------------------------

AT_RUN_TIME = (
    ("tensor<?x?x{}>", "1, {1.0, 2.0, 3.0, 4.0}", (2, 3), ("size 3", "4 scales")),
    ("tensor<*x{}>", "1, {1.0, 2.0, 3.0, 4.0}", (2, 3), ("size 3", "4 scales")),
    ("tensor<*x{}>", "1, {1.0, 2.0}", (2,), ("dimension 1", "rank 1")),
    ("tensor<*x{}>", "0, {1.0, 2.0}", (), ("dimension 0", "rank 0")),
    ("tensor<2x?x{}>", "{0:1, 1:2}, {{1.0, 2.0, 3.0}, {3.0, 4.0, 5.0}}", (2, 4), ("3", "2")),
    ("tensor<2x?x{}>", "{0:1, 1:2}, {{1.0, 2.0}, {3.0, 4.0}}", (2, 5), ("5", "2")),
    ("tensor<?x{}>", "{0:4}, {1.0}", (3,), ("4", "3")),
)


@pytest.mark.parametrize("op", ["qcast", "dcast", "scast"])
@pytest.mark.parametrize(("container", "rest", "shape", "words"), AT_RUN_TIME)
def test_dynamic_dimensions_are_checked_at_run_time(
    op: str, container: str, rest: str, shape: tuple[int, ...], words: Sequence[str]
) -> None:
    quantized = container.format(f"!quant.uniform<i8:f32:{rest}>")
    plain = container.format("i8" if op == "scast" else "f32")
    source, target = (quantized, plain) if op == "dcast" else (plain, quantized)
    if container == "tensor<?x?x{}>" and op == "scast":
        assert hu.load(cast_program(op, target, source))  # both directions verify
    module = hu.load(cast_program(op, source, target))
    bits = np.zeros(shape, np.uint32 if op == "qcast" else np.uint8)
    argument = Value(as_type(plain), bits) if op != "dcast" else bits
    with pytest.raises((hu.UndefinedBehavior, hu.TypeMismatch)) as caught:
        hu.run(module, argument)
    # A result of the wrong shape is undefined behaviour of the op; an argument of the wrong shape is a wrong input.
    assert isinstance(caught.value, hu.TypeMismatch if op == "dcast" else hu.UndefinedBehavior)
    for word in words:
        assert word in caught.value.message


def test_a_dimension_that_fits_at_run_time_runs() -> None:
    module = hu.load(cast_program("qcast", "tensor<?x?xf32>", "tensor<?x?x!quant.uniform<i8:f32:1, {1.0, 2.0, 4.0}>>"))
    for rows in (0, 1, 5):
        (found,) = hu.run(module, np.full((rows, 3), 8.0, np.float32))
        np.testing.assert_array_equal(found.numpy(), np.broadcast_to([8, 4, 2], (rows, 3)))


# --- types without a defined cast -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "type_", ["!quant.any<i8:f32>", "!quant.any<i8<-8:7>>", "!quant.calibrated<f32<-5.000000e-01:5.000000e-01>>"]
)
def test_casts_of_types_without_a_scale_are_unsupported(type_: str) -> None:
    assert str(as_type(type_)) == type_
    source = cast_program("qcast", "f32", type_)
    module = hu.load(source)
    assert type_ in hu.print_module(module)
    with pytest.raises(hu.Unsupported, match=r"has no scale") as caught:
        hu.run(module, 1.0)
    assert caught.value.exit_code == 3
    assert caught.value.location is not None
    assert type_ in caught.value.message


def test_a_round_trip_is_not_the_identity() -> None:
    # Real MLIR folds dcast(qcast x) to x; the reference never does.
    text = """func.func @f(%x: f32) -> f32 {
  %q = quant.qcast %x : f32 to !quant.uniform<i8:f32, 2.0>
  %y = quant.dcast %q : !quant.uniform<i8:f32, 2.0> to f32
  return %y : f32
}
"""
    assert hu.run(text, 5.0)[0].item() == 4.0
    assert hu.run(text, 1e9)[0].item() == 254.0
