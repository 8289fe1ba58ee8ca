"""The operations of P3109 against the formulas of the interim report, written a second time on fractions."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
from amounts import thinned
from tables import each_row

import halfulp as hu
from halfulp.fp_formats.aliases import float_format
from halfulp.fp_formats.formats import FloatFormat
from halfulp.semantics.p3109 import ROUNDINGS, SATURATIONS

INF, NAN = math.inf, math.nan
Extended = Any  # a Fraction, or inf, -inf or nan
SIGNED = [f"binary8p{precision}se" for precision in range(1, 8)]


class Document:
    """Clauses 4.7.2 to 4.7.6 for one format, from its four parameters."""

    def __init__(self, name: str) -> None:
        parts = name.removeprefix("binary").replace("p", " ").split()
        self.K, self.P = int(parts[0]), int(parts[1][:-2])
        self.signed, self.extended = name[-2] == "s", name[-1] == "e"
        self.B = 2 ** (self.K - self.P - 1) if self.signed else 2 ** (self.K - self.P)
        self.values = [self.decode(code) for code in range(2**self.K)]
        finite = [x for x in self.values if isinstance(x, Fraction)]
        self.low, self.high = min(finite), max(finite)
        self.known: dict[tuple[Extended, str, str, int], int] = {}
        self.codes: dict[Extended, int] = {x: code for code, x in enumerate(self.values) if x == x}

    def decode(self, x: int) -> Extended:
        K, P = self.K, self.P
        if x == (2 ** (K - 1) if self.signed else 2**K - 1):
            return NAN
        if self.extended and x == (2 ** (K - 1) - 1 if self.signed else 2**K - 2):
            return INF
        if self.signed and x > 2 ** (K - 1):
            return -self.decode(x - 2 ** (K - 1))
        T, E = x % 2 ** (P - 1), x // 2 ** (P - 1)
        part = Fraction(T, 2 ** (P - 1))
        value: Fraction = part * Fraction(2) ** (1 - self.B) if E == 0 else (1 + part) * Fraction(2) ** (E - self.B)
        return value

    def round(self, X: Extended, mode: str, R: int = 0) -> Extended:
        """Clause 4.7.4. R: the random bits of the stochastic modes, of which there are N = 8."""
        if not isinstance(X, Fraction) or X == 0:
            return X
        size = abs(X)
        lead = size.numerator.bit_length() - size.denominator.bit_length()
        lead -= Fraction(2) ** lead > size
        Q = max(lead, 1 - self.B) - self.P + 1
        S = size / Fraction(2) ** Q
        whole = math.floor(S)
        v = S - whole
        even = whole % 2 == 0 if self.P > 1 else (whole == 0 or (Q + self.B) % 2 == 0)
        half, N = Fraction(1, 2), 8
        away = {
            "StochasticA": math.floor(v * 2**N) + R >= 2**N,
            "StochasticB": math.floor(v * 2 ** (N + 1)) + 2 * R + 1 >= 2 ** (N + 1),
            "StochasticC": round(v * 2**N) + R >= 2**N,
            "TowardZero": False,
            "TowardPositive": v > 0 and X > 0,
            "TowardNegative": v > 0 and X < 0,
            "NearestTiesToAway": v >= half,
            "NearestTiesToEven": v > half or (v == half and not even),
            "ToOdd": v > 0 and even,
        }[mode]
        return (1 if X > 0 else -1) * (whole + away) * Fraction(2) ** Q

    def saturate(self, X: Extended, sat: str, mode: str) -> Extended:
        low, high, e, s = self.low, self.high, self.extended, self.signed
        if isinstance(X, Fraction) and low <= X <= high:
            return X
        end = high if X > 0 else low
        if sat == "SatFinite":
            return end
        representable = e and (X > 0 or s)
        if sat == "SatPropagate":
            return X if X in (INF, -INF) and representable else end
        if X == INF:
            return INF if e else high
        if X == -INF:
            return (-INF if e else low) if s else NAN
        if high < X:
            stays = (mode == "ToOdd" and not s and e) or mode in ("TowardZero", "TowardNegative")
            return high if stays or not e else INF
        if mode in ("TowardZero", "TowardPositive"):
            return low
        return (-INF if e else low) if s else NAN

    def project(self, X: Extended, mode: str, sat: str, R: int = 0) -> int:
        key = (X, mode, sat, R)
        if key not in self.known:
            Z = X if X != X else self.saturate(self.round(X, mode, R), sat, mode)
            nan = 2 ** (self.K - 1) if self.signed else 2**self.K - 1
            self.known[key] = nan if Z != Z else self.codes[Z]
        return self.known[key]


def sign(x: Extended) -> int:
    return int(x > 0) - int(x < 0)


def add(x: Extended, y: Extended) -> Extended:
    if x != x or y != y:
        return NAN
    infinite = {each for each in (x, y) if each in (INF, -INF)}
    return x + y if not infinite else NAN if len(infinite) == 2 else infinite.pop()


def multiply(x: Extended, y: Extended) -> Extended:
    if x != x or y != y:
        return NAN
    if x in (INF, -INF) or y in (INF, -INF):
        return {-1: -INF, 0: NAN, 1: INF}[sign(x) * sign(y)]
    return x * y


def divide(x: Extended, y: Extended) -> Extended:
    if x != x or y != y or y == 0:
        return NAN
    if y in (INF, -INF):
        return NAN if x in (INF, -INF) else Fraction(0)
    return sign(x) * sign(y) * INF if x in (INF, -INF) else x / y


PAIRS: dict[str, Callable[[Extended, Extended], Extended]] = {
    "Add": add,
    "Subtract": lambda x, y: add(x, -y),
    "Multiply": multiply,
    "Divide": divide,
    "Minimum": lambda x, y: NAN if x != x or y != y else min(x, y),
    "Maximum": lambda x, y: NAN if x != x or y != y else max(x, y),
    "MinimumNumber": lambda x, y: y if x != x else x if y != y else min(x, y),
    "MaximumFinite": lambda x, y: max([z for z in (x, y) if isinstance(z, Fraction)] or [z for z in (x, y) if z == z] or [NAN]),  # type: ignore[list-item]
    "MinimumMagnitude": lambda x, y: NAN if x != x or y != y else min((abs(x), x), (abs(y), y))[1],
    "MaximumMagnitudeNumber": lambda x, y: y if x != x else x if y != y else max((abs(x), x), (abs(y), y))[1],
}  # fmt: skip


def compare(operation: str, name: str, to: str, mode: str, sat: str, codes: np.ndarray[Any, Any]) -> None:
    source, target = Document(name), Document(to)
    operands = [hu.Value.from_bits(column, name) for column in codes]
    found = hu.p3109.eval(operation, *operands, to=to, rounding=mode, saturation=sat)
    exact = PAIRS[operation]
    expected = [target.project(exact(source.values[x], source.values[y]), mode, sat) for x, y in codes.T.tolist()]
    assert found.bits.tolist() == expected, (operation, name, to, mode, sat)


@pytest.mark.long
@pytest.mark.parametrize("operation", PAIRS)
def test_operations_of_two(operation: str) -> None:
    rng = np.random.default_rng(sum(map(ord, operation)))
    for name in (*SIGNED, "binary8p4ue", "binary8p3uf", "binary8p3sf"):
        for mode in ROUNDINGS:
            sat = list(SATURATIONS)[int(rng.integers(3))]
            to = str(rng.choice([*SIGNED, "binary6p2ue", "binary6p3uf", "binary4p2sf"]))
            compare(operation, name, to, mode, sat, rng.integers(0, 256, (2, 30), np.uint8))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SIGNED)
@pytest.mark.parametrize("operation", ["Add", "Subtract", "Multiply", "Divide"])
def test_all_pairs(operation: str, name: str) -> None:
    codes = np.stack(
        [grid.reshape(-1) for grid in np.meshgrid(np.arange(256, dtype=np.uint8), np.arange(256, dtype=np.uint8))]
    )
    for sat in SATURATIONS:
        compare(operation, name, name, "NearestTiesToEven", sat, codes)


@pytest.mark.long
@pytest.mark.parametrize("to", thinned(["binary8p1se", "binary8p3sf", "binary8p4ue", "binary6p2uf", "binary5p5ue"], 3))
def test_every_projection_of_every_code(to: str) -> None:
    target, source = Document(to), Document("binary12p4se")
    codes = np.arange(0, 1 << 12, 13, dtype=np.uint16)
    x = hu.Value.from_bits(codes, "binary12p4se")
    for mode in ROUNDINGS:
        for sat in SATURATIONS:
            found = hu.p3109.eval("Convert", x, to=to, rounding=mode, saturation=sat).bits.tolist()
            assert found == [target.project(source.values[code], mode, sat) for code in codes.tolist()], (mode, sat)


STOCHASTIC = ("StochasticA", "StochasticB", "StochasticC")


@pytest.mark.parametrize("mode", STOCHASTIC)
@pytest.mark.parametrize("to", thinned(["binary8p1se", "binary8p3sf", "binary8p4ue", "binary5p5ue"], 3))
def test_modes_by_random_bits(to: str, mode: str) -> None:
    rng = np.random.default_rng(len(to))
    source, target = Document("binary12p4se"), Document(to)
    codes, bits = rng.integers(0, 1 << 12, 300, np.uint16), rng.integers(0, 256, 300, np.uint8)
    x = hu.Value.from_bits(codes, "binary12p4se")
    for sat in SATURATIONS:
        found = hu.p3109.eval("Convert", x, to=to, rounding=mode, saturation=sat, random=bits).bits.tolist()
        pairs = zip(codes.tolist(), bits.tolist(), strict=True)
        assert found == [target.project(source.values[code], mode, sat, r) for code, r in pairs]


@pytest.mark.parametrize("mode", STOCHASTIC)
def test_every_random_byte(mode: str) -> None:
    """A quotient that ends nowhere, a sum halfway between two multiples of 2**-8, and an irrational number."""
    target, every = Document("binary8p4se"), np.arange(256, dtype=np.uint8)
    exponential = sum(Fraction(1, math.factorial(n)) for n in range(30))
    for operation, operands, exact in (
        ("Divide", (1.0, 3.0), Fraction(1, 3)),
        ("Add", (1.0, 45 / 4096), 1 + Fraction(45, 4096)),
        ("Add", (-1.0, -43 / 4096), -1 - Fraction(43, 4096)),
        ("Exp", (1.0,), exponential),
    ):
        given = [hu.convert(np.full(256, x), "f32") for x in operands]
        found = hu.p3109.eval(operation, *given, to="binary8p4se", rounding=mode, random=every).bits.tolist()
        assert found == [target.project(exact, mode, "SatNone", r) for r in range(256)]


def test_random_bits_of_blocks() -> None:
    x = hu.convert([[6.5, -3.0, 1.0], [1.1, 0.3, 0.2]], "f32")
    of_elements, of_scales = np.arange(0, 252, 42, dtype=np.uint8).reshape(2, 3), np.array([200, 20], np.uint8)
    scale, elements = hu.p3109.eval(
        "ConvertToBlockMaxAbsFinite",
        x,
        to="binary6p3se",
        rounding="StochasticB",
        random=of_elements,
        scale_type="binary8p1ue",
        scale_rounding="StochasticA",
        scale_random=of_scales,
    )
    scales, target = Document("binary8p1ue"), Document("binary6p3se")
    largest = [Fraction(float(row.max())) for row in abs(x.numpy())]
    codes = [
        scales.project(number, "StochasticA", "SatNone", int(r)) for number, r in zip(largest, of_scales, strict=True)
    ]
    assert scale.bits.tolist() == codes
    expected = [
        [
            target.project(Fraction(float(number)) / scales.values[code], "StochasticB", "SatNone", int(r))
            for number, r in zip(row, bits, strict=True)
        ]
        for row, code, bits in zip(x.numpy(), codes, of_elements, strict=True)
    ]
    assert elements.bits.tolist() == expected


@each_row(
    ({"rounding": "StochasticA"}, "random"),
    ({"random": np.zeros(2, np.uint8)}, "the rounding is NearestTiesToEven"),
    ({"rounding": "StochasticA", "random": np.zeros(3, np.uint8)}, "shape"),
    ({"rounding": "StochasticA", "random": np.zeros(2, np.int8)}, "unsigned"),
    ({"rounding": "stochastic", "random": np.zeros(2, np.uint8)}, "ToOdd, StochasticA, StochasticB, StochasticC"),
)
def test_random_bits_that_do_not_fit(how: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, hu.TypeMismatch), match=words):
        hu.p3109.eval("Recip", [1.0, 3.0], type="binary8p4se", **how)


def test_arithmetic_of_halfulp_agrees_where_the_document_has_the_rules_of_ieee() -> None:
    x, y = (
        hu.Value.from_bits(np.random.default_rng(k).integers(0, 256, 2000, np.uint8), "binary8p1se") for k in (1, 2)
    )
    for op, name in (("arith.addf", "Add"), ("arith.mulf", "Multiply")):
        assert hu.eval(op, x, y) == hu.p3109.eval(name, x, y)


# Rows of the tables of clauses 4.10 and 4.11 that differ from IEEE 754.
CASES = {
    ("Divide", 1.0, 0.0): NAN,
    ("Recip", 0.0): NAN,
    ("RSqrt", 0.0): NAN,
    ("TanPi", 0.5): NAN,
    ("TanPi", -0.25): -1.0,
    ("ArcTan2", 0.0, 0.0): NAN,
    ("ArcTan2", INF, -INF): NAN,
    ("ArcTan2", -1.0, -INF): 3.25,  # pi, rounded to the four bits of the format
    ("ArcTan2Pi", -1.0, -1.0): -0.75,
    ("ArcTan2Pi", -1.0, 0.0): -0.5,
    ("ArcSinPi", 0.5): 0.171875,  # 1/6
    ("ArcCosPi", 1.0): 0.0,
    ("ArcTanPi", -INF): -0.5,
    ("Hypot", INF, NAN): NAN,
    ("Log", 0.0): -INF,
    ("LogOnePlus", -1.0): -INF,
    ("ExpMinusOne", -INF): -1.0,
    ("Softplus", -INF): 0.0,
    ("Clamp", 2.0, 3.0, 1.0): NAN,
    ("Clamp", INF, 0.0, 1.0): 1.0,
    ("Clamp", 2.0, INF, INF): INF,
    ("Clamp", -INF, -INF, 1.0): -INF,
    ("FMA", 0.0, INF, 1.0): NAN,
    ("FMA", 2.0, INF, -INF): NAN,
    ("FMA", 3.0, 5.0, 1.0): 16.0,
    ("FAA", INF, 1.0, -INF): NAN,
    ("CopySign", -2.0, 0.0): 2.0,
    ("Negate", 0.0): 0.0,
}


@pytest.mark.parametrize("case", CASES)
def test_rows_of_the_document(case: tuple[Any, ...]) -> None:
    name, *operands = case
    found = hu.p3109.eval(name, *operands, type="binary8p4se").item()
    assert found == CASES[case] or (found != found and CASES[case] != CASES[case])


def test_functions_are_those_of_halfulp_on_ordinary_numbers() -> None:
    x = hu.convert([0.25, 0.75, 0.5], "binary8p4se")
    for name, op in {"Exp": "math.exp", "Tanh": "math.tanh", "ArcSin": "math.asin", "Sqrt": "math.sqrt"}.items():
        assert hu.p3109.eval(name, x) == hu.eval(op, x)


def test_comparisons_and_predicates() -> None:
    x, y = hu.convert([1, 2, NAN, -INF], "binary8p4se"), hu.convert([1, 1, 1, NAN], "binary5p2sf")
    assert hu.p3109.eval("CompareLessEqual", x, y).tolist() == [True, False, False, False]
    assert hu.p3109.eval("TotalOrder", x, y).tolist() == [True, False, True, False]
    assert hu.p3109.eval("IsSignMinus", x).tolist() == [False, False, False, True]
    assert hu.p3109.eval("IsOne", x).tolist() == [True, False, False, False]


def test_blocks() -> None:
    """Clause 5.2.3: 6 is the largest finite magnitude; of 4 and 8, 4 has the even code, 130."""
    x = hu.convert([[6.0, -3.0, 1.0, INF], [0.0, 0.0, 0.0, 0.0]], "f32")
    scale, elements = hu.p3109.eval(
        "ConvertToBlockMaxAbsFinite", x, to="binary6p3se", scale_type="binary8p1ue", saturation="SatFinite"
    )
    assert scale.tolist() == [4.0, 0.0]
    assert elements.tolist() == [[1.5, -0.75, 0.25, elements.element_type.format.max_value], [0.0] * 4]
    finite = hu.convert([[6.0, -3.0, 1.0, 2.0]], "f32")
    block = hu.p3109.eval("ConvertToBlock", finite, scale=hu.convert(2.0, "binary8p1ue"), to="binary8p3se")
    assert hu.p3109.eval("ConvertFromBlock", block, to="f32") == finite
    assert hu.p3109.eval("BlockReduceAdd", block, to="f32").tolist() == [6.0]
    assert hu.p3109.eval("BlockReduceMultiply", block, to="f32").tolist() == [-36.0]
    assert hu.p3109.eval("BlockDotProduct", block, block, to="f32").tolist() == [50.0]
    scale, doubled = hu.p3109.eval("BlockAdd", block, block, scale=hu.convert(4.0, "binary8p1ue"))
    assert (scale.tolist(), doubled.tolist()) == ([4.0], [[3.0, -1.5, 0.5, 1.0]])
    _, signs = hu.p3109.eval("ConvertToBlock", finite, scale=hu.convert(INF, "binary8p1ue"), to="binary8p3se")
    assert signs.tolist() == [[1.0, -1.0, 1.0, 1.0]]


@pytest.mark.parametrize("name", ["binary8p3se", "binary8p3uf", "binary6p1ue", "binary5p4sf"])
def test_classes(name: str) -> None:
    """Table 2 of clause 4.13.1, by the values of all codes."""
    document = Document(name)
    smallest = Fraction(2) ** (1 - document.B)
    expected = []
    for x in document.values:
        if x == 0 or x != x:
            expected.append("ClsZero" if x == 0 else "ClsNaN")
            continue
        kind = "Infinity" if abs(x) == INF else "Normal" if abs(x) >= smallest else "Subnormal"
        expected.append(f"Cls{'Negative' if x < 0 else 'Positive'}{kind}")
    codes = np.arange(len(expected), dtype=np.uint8)
    found = hu.p3109.eval("Class", hu.Value.from_bits(codes, name))
    assert found.tolist() == expected
    assert hu.p3109.eval("Class", hu.convert(0.0, name)).item() == "ClsZero"


def test_kappa() -> None:
    """An exponential that is one value too high for negative operands, and NaN or infinity out of place."""

    def above(x: hu.Value) -> hu.Value:
        exact = hu.p3109.eval("Exp", x)
        bits = exact.bits.copy()
        low = np.array(x.tolist()) < -1
        bits[low & np.isfinite(exact.tolist())] += 1
        return hu.Value.from_bits(bits, exact.type)

    report = hu.p3109.kappa(above, "Exp", "binary8p3se")
    assert report.kappa == 1
    assert report.results == 256
    assert report.wrong == sum(x < -1 for x in Document("binary8p3se").values if x == x)
    assert report.worst is not None
    assert "kappa 1, first at 0x" in str(report)
    inside = hu.p3109.kappa(above, "Exp", "binary8p3se", within=lambda x: np.array(x.tolist()) >= -1)
    assert (inside.kappa, inside.worst) == (0, None)
    assert math.isnan(hu.p3109.kappa(lambda x: hu.p3109.eval("Abs", x), "Sqrt", "binary8p3se").kappa)
    finite = hu.p3109.kappa(lambda x: hu.p3109.eval("Exp", x, saturation="SatFinite"), "Exp", "binary8p3se")
    assert finite.kappa == INF


@pytest.mark.long
def test_kappa_of_stochastic_rounding() -> None:
    """A right unit, and one that cuts off: over all operands and all of eight random bits."""
    formats: dict[str, Any] = {"to": "binary4p2se", "saturation": "SatFinite"}
    masks = []

    def right(x: hu.Value, random: Any) -> hu.Value:
        return cast("hu.Value", hu.p3109.eval("Convert", x, rounding="StochasticA", random=random, **formats))

    def truncated(x: hu.Value, random: Any) -> hu.Value:
        assert random.dtype == np.uint8
        return cast("hu.Value", hu.p3109.eval("Convert", x, rounding="TowardZero", **formats))

    def middle(x: hu.Value, random: Any) -> Any:
        masks.append(random)
        return np.array(x.tolist()) == 1.25

    report = hu.p3109.kappa(right, "Convert", "binary6p4se", rounding="StochasticA", **formats)
    assert (report.kappa, report.worst, report.results) == (0, None, 1 << 14)
    report = hu.p3109.kappa(truncated, "Convert", "binary6p4se", rounding="StochasticA", **formats)
    assert report.kappa == 1
    # 1.25 lies in the middle of 1 and 1.5: rule A rounds it up for half of all random bits, 128 to 255.
    half = hu.p3109.kappa(truncated, "Convert", "binary6p4se", rounding="StochasticA", within=middle, **formats)
    assert (half.results, half.wrong, half.worst) == (256, 128, (hu.convert(1.25, "binary6p4se").bits.item(), 128))
    assert sorted(set(masks[0].tolist())) == list(range(256))


@each_row(
    (lambda x: hu.p3109.eval("Addd", x, x), "no operation 'Addd' of P3109 .*did you mean"),
    (lambda x: hu.p3109.eval("Class", x, x), "Class takes 1 operands"),
    (lambda x: hu.p3109.eval("Add", x), "Add takes 2 operands, not 1"),
    (lambda x: hu.p3109.eval("Add", x, x, rounding="stochastic"), "must be one of NearestTiesToEven"),
    (lambda x: hu.p3109.eval("Add", x, x, saturation="Sat"), "saturation is 'Sat'"),
    (lambda x: hu.p3109.eval("Add", x, x, to="f8E4M3FN"), "f8E4M3FN is not a format of P3109"),
    (lambda x: hu.p3109.eval("Add", x, x, to="i8"), "must be a float format"),
    (lambda x: hu.p3109.eval("Add", x, x[:1]), "different shapes"),
    (lambda x: hu.p3109.eval("BlockAdd", x, x), r"a block is a pair \(scale, elements\)"),
    (lambda x: hu.p3109.eval("BlockAbs", (x, x)), "scales of shape"),
    (lambda x: hu.p3109.eval("ConvertToBlock", x), "give the scale of the result"),
    (lambda _: hu.p3109.kappa(abs, "Add", "f16", "f16"), "more than 65,536"),
    (lambda _: hu.p3109.kappa(abs, "Sqrt", "binary9p3se", rounding="StochasticC"), "more than 65,536"),
    (lambda _: hu.p3109.kappa(abs, "IsZero", "f16"), "not a numeric operation"),
)
def test_errors(call: Callable[[hu.Value], Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        call(hu.convert([1.0, 2.0], "binary8p3se"))


def test_formats_of_the_document() -> None:
    """The example of clause 3.1: 2.0 in Binary8p4se is the code 0x48, and infinity 0x7F."""
    fmt = float_format("Binary8p4se")
    assert isinstance(fmt, FloatFormat)
    assert hu.convert([2.0, INF], fmt).bits.tolist() == [0x48, 0x7F]
