"""quant.qcast and quant.dcast against the steps of the quant document, each rounded on its own with fractions.

The independent rounding is that of `neighbours`, which looks a number up between two values of the format.
"""

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from amounts import amounts, thinned
from float_samples import NAN, Number, neighbours
from float_samples import codes as sample_codes
from op_implementations import outcomes_of, value
from present import present

import halfulp as hu
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.interp.values.coerce import as_type


def plus(a: Number, b: Number) -> Number:
    if NAN in (a, b) or {a, b} == {"+inf", "-inf"}:
        return NAN
    for x in (a, b):
        if isinstance(x, str):
            return x
    assert isinstance(a, Fraction)
    assert isinstance(b, Fraction)
    return a + b


def minus(a: Number, b: Number) -> Number:
    if isinstance(b, str):
        return plus(a, {"+inf": "-inf", "-inf": "+inf"}.get(b, NAN))
    return plus(a, -b)


def scaled(a: Number, scale: Fraction, divide: bool) -> Number:
    if isinstance(a, str):
        return a
    return a / scale if divide else a * scale


def to_nearest_even(number: Fraction) -> int:
    whole = math.floor(number)
    rest = number - whole
    return whole + int(rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1))


TO_INTEGER: dict[str, Callable[[Fraction], int]] = {
    "to_nearest_even": to_nearest_even,
    "downward": math.floor,
    "upward": math.ceil,
    "toward_zero": int,
    "to_nearest_away": lambda n: math.floor(abs(n) + Fraction(1, 2)) * (-1 if n < 0 else 1),
}


@dataclass(frozen=True)
class Type:
    """One uniform type with one scale and zero point."""

    expressed: str
    width: int
    signed: bool
    scale: float
    zero: int = 0
    bounds: tuple[int, int] | None = None

    @property
    def range(self) -> tuple[int, int]:
        half = 1 << (self.width - 1)
        return (-half, half - 1) if self.signed else (0, 2 * half - 1)

    def __str__(self) -> str:
        storage = f"{'i' if self.signed else 'u'}{self.width}"
        bounds = "" if self.bounds is None else f"<{self.bounds[0]}:{self.bounds[1]}>"
        bits = np.float64(self.scale).view(np.uint64)
        return f"!quant.uniform<{storage}{bounds}:{self.expressed}, 0x{int(bits):016X}:{self.zero}>"

    # The document's steps. Every operation is rounded in the expressed format, the scale first of all.

    def dequantize(self, stored: int) -> Number:
        rounded = neighbours(FORMATS[self.expressed])
        scale = rounded(Fraction(self.scale))
        assert isinstance(scale, Fraction)
        difference = rounded(minus(rounded(Fraction(stored)), rounded(Fraction(self.zero))))
        return rounded(scaled(difference, scale, divide=False))

    def quantize(self, number: Number, rounding: str = "to_nearest_even", outside_is_poison: bool = False) -> Any:
        rounded = neighbours(FORMATS[self.expressed])
        scale = rounded(Fraction(self.scale))
        assert isinstance(scale, Fraction)
        zero = rounded(Fraction(self.zero))
        shifted = rounded(plus(rounded(scaled(number, scale, divide=True)), zero))
        if shifted == NAN:
            return "poison"
        low, high = self.range
        if isinstance(shifted, str):
            if outside_is_poison:
                return "poison"
            stored = low if shifted == "-inf" else high
        else:
            exact = TO_INTEGER[rounding](shifted)
            stored = min(max(exact, low), high)
            if outside_is_poison and stored != exact:
                return "poison"
        least, most = self.bounds or self.range
        return min(max(stored, least), most)


def run(op: str, source: str, target: str, argument: Any, profile: Any = "spec") -> hu.Value:
    text = f"func.func @f(%x: {source}) -> {target} {{\n  %y = quant.{op} %x : {source} to {target}\n"
    (found,) = hu.run(f"{text}  return %y : {target}\n}}\n", argument, profile=profile)
    return found


def same(got: Any, want: Number, fmt: FloatFormat) -> bool:
    return neighbours(fmt).read(got) == want


def types(expressed: Iterable[str], seed: int) -> list[Type]:
    """For every storage width and sign a type or two of each expressed format, scales and zero points at random."""
    rng = random.Random(seed)
    found = []
    for name in expressed:
        rounded = neighbours(FORMATS[name])
        largest = float(min(rounded.largest, Fraction(2) ** 1000))
        for width in (1, 2, 3, 4, 7, 8, 16, 31, 32):
            for signed in (True, False):
                low, high = Type(name, width, signed, 1.0).range
                bounds = None
                if rng.random() < 0.5 and high - low > 2:
                    least = rng.randint(low, high - 1)
                    bounds = least, rng.randint(least + 1, high)
                smallest = float(max(rounded.magnitude(1), Fraction(2) ** -1000))
                scale = min(max(rng.choice([1.0, 0.1, 3.0, 2.0**-3, rng.uniform(0.01, 4)]), smallest), largest)
                found.append(Type(name, width, signed, scale, rng.randint(low, high), bounds))
    return found


WITH_ZERO = tuple(name for name, fmt in FORMATS.items() if fmt.zero)


def expressed_inputs(t: Type, count: int, seed: int) -> list[int]:
    """Codes of the expressed format: arbitrary ones, and some with a quotient near the storage range and near a tie."""
    fmt = FORMATS[t.expressed]
    rng = random.Random(seed)
    codes = sample_codes(fmt, count, seed)
    for _ in range(count):
        low, high = t.range
        stored = rng.choice([rng.randint(low - 3, high + 3), rng.randint(-3, 3), low, high])
        target = (stored - t.zero + Fraction(rng.choice([0, 1, -1]), 2)) * Fraction(t.scale)
        found = neighbours(fmt)
        index = min(found.index(abs(target)), fmt.max_magnitude)
        code = fmt.from_magnitude(index)
        codes.append(code | (fmt.sign_mask or 0 if target < 0 else 0))
    return codes


@pytest.mark.long
@pytest.mark.parametrize(
    ("expressed", "rounding"),
    [(e, m) for e in WITH_ZERO for m in TO_INTEGER if m == "to_nearest_even" or e in ("f32", "f8E5M2", "f80")],
)
@pytest.mark.parametrize("count", amounts(4, 12))
def test_qcast(expressed: str, rounding: str, count: int) -> None:
    profile = hu.Profile(qcast_rounding=rounding)
    fmt = FORMATS[expressed]
    read = neighbours(fmt).read
    for t in types([expressed], 1):
        codes = expressed_inputs(t, count, t.width)
        want = [t.quantize(read(code), rounding) for code in codes]
        mask = (1 << t.width) - 1
        want = [w if isinstance(w, str) else w & mask for w in want]
        tensor = f"tensor<{len(codes)}x{{}}>"
        argument = value(codes, tensor.format(expressed), (len(codes),))
        found = run("qcast", tensor.format(expressed), tensor.format(t), argument, profile)
        assert outcomes_of(found) == want, t
        for code, expected in list(zip(codes, want, strict=True))[:: len(codes) // 3]:  # the scalar implementation
            alone = run("qcast", expressed, str(t), value([code], expressed, ()), profile)
            assert outcomes_of(alone) == [expected], (t, hex(code))


@pytest.mark.long
@pytest.mark.parametrize("expressed", WITH_ZERO)
def test_dcast(expressed: str) -> None:
    fmt = FORMATS[expressed]
    for t in types([expressed], 2):
        rng = random.Random(t.width)
        low, high = t.range
        mask = (1 << t.width) - 1
        stored = [low, high, low + 1, 0, -1 if t.signed else 1, t.zero] + [rng.randint(low, high) for _ in range(10)]
        stored = [min(max(n, low), high) for n in stored]
        tensor = f"tensor<{len(stored)}x{{}}>"
        argument = value([n & mask for n in stored], tensor.format(t), (len(stored),))
        found = run("dcast", tensor.format(t), tensor.format(expressed), argument)
        assert found.poison is None
        want = [t.dequantize(n) for n in stored]
        got = outcomes_of(found)
        assert all(same(g, w, fmt) for g, w in zip(got, want, strict=True)), (t, got, want)
        alone = run("dcast", str(t), expressed, value([stored[-1] & mask], str(t), ()))
        assert outcomes_of(alone) == got[-1:]


@pytest.mark.exhaustive
@pytest.mark.parametrize("expressed", ["f16", "bf16"])
def test_qcast_of_every_code(expressed: str) -> None:
    fmt = FORMATS[expressed]
    read = neighbours(fmt).read
    for t in types([expressed], 3):
        codes = list(range(1 << fmt.bits))
        tensor = f"tensor<{len(codes)}x{{}}>"
        found = run(
            "qcast", tensor.format(expressed), tensor.format(t), value(codes, tensor.format(expressed), (65536,))
        )
        want = [t.quantize(read(code)) for code in codes]
        assert outcomes_of(found) == [w if isinstance(w, str) else w & ((1 << t.width) - 1) for w in want], t


def test_nan_is_poison_and_infinities_saturate() -> None:
    t = Type("f32", 8, True, 0.5, 3, (-100, 100))
    numbers = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38], np.float32)
    found = run("qcast", "tensor<5xf32>", f"tensor<5x{t}>", numbers)
    assert outcomes_of(found) == ["poison", 100, 256 - 100, 100, 256 - 100]
    origin = present(found.origin(0))
    assert (origin.op, origin.reason, origin.element) == ("quant.qcast", "quant.qcast of NaN", (0,))
    # In formats whose overflow is NaN a quotient that overflows is poison too: 448 / 0.5.
    fn = Type("f8E4M3FN", 8, True, 0.5)
    assert outcomes_of(run("qcast", "f8E4M3FN", str(fn), 448.0)) == ["poison"]


def test_the_clamp_comes_after_saturation_and_the_zero_point_may_lie_outside_it() -> None:
    t = Type("f32", 8, False, 1.0, 200, (10, 20))
    assert run("qcast", "f32", str(t), 0.0).item() == 20
    assert run("qcast", "f32", str(t), -1000.0).item() == 10
    assert run("qcast", "f32", str(t), -185.0).item() == 15
    assert run("dcast", str(t), "f32", value([15], str(t), ())).item() == -185.0


def test_one_bit_signed_storage_is_minus_one_or_zero() -> None:
    t = Type("f32", 1, True, 1.0)
    found = run("qcast", "tensor<5xf32>", f"tensor<5x{t}>", np.array([-7, -1, -0.5, 0, 9], np.float32))
    np.testing.assert_array_equal(found.numpy(), [-1, -1, 0, 0, 0])
    back = run("dcast", f"tensor<2x{t}>", "tensor<2xf32>", value([0, 1], f"tensor<2x{t}>", (2,)))
    np.testing.assert_array_equal(back.numpy(), [0.0, -1.0])


# --- the quant lowering of MLIR 22 ------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("expressed", thinned(["f32", "f64", "f16", "bf16"], 4))
def test_mlir22_quant(expressed: str) -> None:
    fmt = FORMATS[expressed]
    read = neighbours(fmt).read
    for t in types([expressed], 4):
        codes = expressed_inputs(t, 15, t.width)
        want = [t.quantize(read(code), "toward_zero", outside_is_poison=True) for code in codes]
        want = [w if isinstance(w, str) else w & ((1 << t.width) - 1) for w in want]
        tensor = f"tensor<{len(codes)}x{{}}>"
        argument = value(codes, tensor.format(expressed), (len(codes),))
        assert outcomes_of(run("qcast", tensor.format(expressed), tensor.format(t), argument, "mlir22-quant")) == want
    t = Type("f32", 8, True, 1.0, 0, (-10, 10))
    assert run("qcast", "f32", str(t), 100.9, "mlir22-quant").item() == 10  # inside the type, outside the bounds
    assert outcomes_of(run("qcast", "f32", str(t), 597.0, "mlir22-quant")) == ["poison"]
    assert outcomes_of(run("qcast", "f32", str(t), 127.99, "mlir22-quant")) == [10]
    assert outcomes_of(run("qcast", "f32", str(t), 128.0, "mlir22-quant")) == ["poison"]


def test_mlir22_quant_wraps_the_zero_point() -> None:
    from dataclasses import replace

    from halfulp.interp.ir.types import UniformQuantizedType

    t = as_type(str(Type("f32", 8, True, 1.0)))
    assert isinstance(t, UniformQuantizedType)
    beyond = replace(t, zero_points=(200,))  # a VerifyError in text, where a program may build it
    stored = hu.eval("quant.qcast", hu.Value.from_numpy(np.float32(0)), to=beyond, profile="mlir22-quant")
    assert stored.item() == 200 - 256
    assert hu.eval("quant.qcast", hu.Value.from_numpy(np.float32(0)), to=beyond).item() == 127


# --- several parameters -----------------------------------------------------------------------------------------------


def parameters(count: int, rng: random.Random) -> list[Type]:
    return [Type("f32", 8, True, rng.choice([0.5, 1.0, 3.0, 0.1]), rng.randint(-20, 20)) for _ in range(count)]


def braces(leaves: Sequence[Type], shape: tuple[int, ...]) -> str:
    if not shape:
        return f"0x{int(np.float64(leaves[0].scale).view(np.uint64)):016X}:{leaves[0].zero}"
    size = len(leaves) // shape[0]
    return f"{{{', '.join(braces(leaves[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0]))}}}"


@pytest.mark.parametrize("dynamic", thinned(["static", "dynamic", "unranked"], 3))
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("storage", ["i8", "u8<3:200>"])
def test_per_channel_on_every_axis(axis: int, dynamic: str, storage: str) -> None:
    shape = (2, 3, 4)
    rng = random.Random(axis)
    leaves = parameters(shape[axis], rng)
    bounds = (3, 200) if storage[0] == "u" else None
    leaves = [Type("f32", 8, storage[0] == "i", t.scale, abs(t.zero), bounds) for t in leaves]
    quantized = f"!quant.uniform<{storage}:f32:{axis}, {braces(leaves, (shape[axis],))}>"
    check_blocks(shape, quantized, dynamic, lambda index: leaves[index[axis]])


@pytest.mark.parametrize("dynamic", ["static", "dynamic"])
@pytest.mark.parametrize(
    "blocks", thinned([{0: 1, 1: 2}, {1: 2}, {0: 2, 2: 4}, {}, {0: 1, 1: 1, 2: 1}, {2: 2, 0: 1}], 4)
)
def test_sub_channel(blocks: dict[int, int], dynamic: str) -> None:
    shape = (2, 4, 8)
    grid = tuple(size // blocks.get(axis, size) for axis, size in enumerate(shape))
    leaves = parameters(math.prod(grid), random.Random(len(blocks)))
    sizes = ", ".join(f"{axis}:{size}" for axis, size in blocks.items())
    quantized = f"!quant.uniform<i8:f32:{{{sizes}}}, {braces(leaves, grid)}>"

    def of(index: tuple[int, ...]) -> Type:
        block = [k // blocks.get(axis, shape[axis]) for axis, k in enumerate(index)]
        return leaves[int(np.ravel_multi_index(block, grid))]

    check_blocks(shape, quantized, dynamic, of)


def check_blocks(shape: tuple[int, ...], quantized: str, dynamic: str, of: Any) -> None:
    """Both casts of a tensor of ``shape``; ``of`` says which parameters an element has."""
    rng = np.random.default_rng(1)
    numbers = rng.uniform(-120, 120, shape).astype(np.float32)
    dimensions = {"static": "x".join(map(str, shape)), "dynamic": "x".join("?" * len(shape)), "unranked": "*"}[dynamic]
    plain, stored = f"tensor<{dimensions}xf32>", f"tensor<{dimensions}x{quantized}>"
    found = run("qcast", plain, stored, numbers)
    want = [of(i).quantize(Fraction(float(numbers[i]))) & 0xFF for i in np.ndindex(shape)]
    assert outcomes_of(found) == want
    codes = rng.integers(0, 256, shape).astype(np.uint8)
    back = run("dcast", stored, plain, hu.Value(as_type(stored), codes))
    for index in np.ndindex(shape):
        t = of(index)
        low, _ = t.range
        number = int(codes[index]) - (256 if low and codes[index] > 127 else 0)
        assert Fraction(float(back.numpy()[index])) == t.dequantize(number)


def test_a_wide_expressed_type_per_channel() -> None:
    stored = "!quant.uniform<i8:f80:1, {1.0, 2.0, 4.0}>"
    codes = [3, 250, 7, 1, 2, 3]
    found = run("dcast", f"tensor<2x3x{stored}>", "tensor<2x3xf80>", value(codes, f"tensor<2x3x{stored}>", (2, 3)))
    read = neighbours(FORMATS["f80"]).read
    assert [read(code) for code in outcomes_of(found)] == [3, -12, 28, 1, 4, 12]  # type: ignore[arg-type]
    back = run("qcast", "tensor<2x3xf80>", f"tensor<2x3x{stored}>", found)
    assert outcomes_of(back) == codes


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
@pytest.mark.parametrize("op", ["qcast", "dcast", "scast"])
def test_zero_sized(op: str, shape: tuple[int, ...]) -> None:
    dimensions = "x".join(map(str, shape))
    quantized, plain = f"tensor<{dimensions}x{Type('f32', 8, True, 2.0)}>", f"tensor<{dimensions}xf32>"
    if op == "scast":
        plain = f"tensor<{dimensions}xi8>"
    source, target = (quantized, plain) if op != "qcast" else (plain, quantized)
    found = run(op, source, target, value([], source, shape))
    assert found.shape == shape
    assert found.poison is None


def test_poison_passes_through_casts() -> None:
    t = Type("f32", 8, True, 2.0)
    text = f"""func.func @f() -> f32 {{
  %p = ub.poison : f32
  %q = quant.qcast %p : f32 to {t}
  %i = quant.scast %q : {t} to i8
  %s = quant.scast %i : i8 to {t}
  %y = quant.dcast %s : {t} to f32
  return %y : f32
}}
"""
    origin = present(hu.run(text)[0].origin())
    assert origin.op == "ub.poison"


def test_e8m0_expressed() -> None:
    # No zero: the zero point 0 is 2**-127, and nothing is exact but powers of two.
    t = Type("f8E8M0FNU", 8, True, 2.0)
    assert run("qcast", "f8E8M0FNU", str(t), 64.0).item() == 32
    assert outcomes_of(run("qcast", "f8E8M0FNU", str(t), value([0xFF], "f8E8M0FNU", ()))) == ["poison"]
    assert outcomes_of(run("dcast", str(t), "f8E8M0FNU", value([0xFF], str(t), ()))) == [0xFF]  # -1 is NaN
