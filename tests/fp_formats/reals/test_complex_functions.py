"""Functions of complex numbers against mpmath, exact quotients, and the tables of C23 as CPython's cmath has them."""

from __future__ import annotations

import cmath
import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.paths import complex_functions as paths
from halfulp.fp_formats.policy import SPEC
from halfulp.fp_formats.reals import complex_functions

F64 = FORMATS["f64"]


def codes(z: complex) -> tuple[int, int]:
    first, second = np.array([z.real, z.imag]).view(np.uint64).tolist()
    return first, second


def number(pair: tuple[int, int]) -> complex:
    return complex(*np.array(pair, np.uint64).view(np.float64).tolist())


def unary(name: str, z: complex) -> complex:
    return number(complex_functions.unary(name, F64, *codes(z)))


def binary(name: str, z: complex, w: complex) -> complex:
    return number(complex_functions.binary(name, F64, codes(z), codes(w), SPEC))


def same(one: float, other: float) -> bool:
    return (one == other and math.copysign(1, one) == math.copysign(1, other)) or (one != one and other != other)


POINTS = [
    complex(x, y) for x in (0.5, -1.25, 3.0, -1e-3, 20.0, -40.0) for y in (0.75, -2.0, 1e-3, 3.0, -30.0)
]  # fmt: skip

TRUTH: dict[str, Callable[[mpmath.mpc], mpmath.mpc]] = {
    **{
        name: getattr(mpmath, name)
        for name in (
            "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log", "sin", "sinh",
            "sqrt", "tan", "tanh",
        )
    },
    "cbrt": lambda z: mpmath.exp(mpmath.log(z) / 3),
    "log1p": lambda z: mpmath.log(1 + z),
    "rsqrt": lambda z: 1 / mpmath.sqrt(z),
    "sigmoid": lambda z: 1 / (1 + mpmath.exp(-z)),
    "sign": lambda z: z / abs(z),
    "square": lambda z: z * z,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(TRUTH))
def test_each_part_is_rounded_once(name: str) -> None:
    with mpmath.workdps(120):
        for z in POINTS:
            truth = TRUTH[name](mpmath.mpc(z))
            found = unary(name, z)
            assert (found.real, found.imag) == (float(truth.real), float(truth.imag)), z


def test_all_functions_have_a_truth() -> None:
    assert sorted(TRUTH) == sorted(complex_functions.NAMES)


@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("power", lambda z, w: mpmath.exp(w * mpmath.log(z))),
        ("atan2", lambda y, x: mpmath.log((x + 1j * y) / mpmath.sqrt(x * x + y * y)) / 1j),
    ],
)
def test_functions_of_two(name: str, truth: Callable[..., mpmath.mpc]) -> None:
    with mpmath.workdps(120):
        for z, w in itertools.islice(itertools.product(POINTS, POINTS), 0, None, 13):
            expected, found = truth(mpmath.mpc(z), mpmath.mpc(w)), binary(name, z, w)
            parts = float(expected.real), float(expected.imag)
            if name == "power" or z not in (w, -w, w.conjugate()):
                assert (found.real, found.imag) == parts, (z, w)


def test_quotients_are_exact_and_rounded_once() -> None:
    rng = np.random.default_rng(3)
    for row in (rng.normal(size=(200, 4)) * 10.0 ** rng.integers(-30, 30, size=(200, 4))).tolist():
        a, b, c, e = map(Fraction, row)
        length = c * c + e * e
        found = binary("divide", complex(*row[:2]), complex(*row[2:]))
        assert (found.real, found.imag) == (float((a * c + b * e) / length), float((b * c - a * e) / length))


INF, NAN = math.inf, math.nan
FREE = {
    ("exp", "-inf", "-inf"), ("cosh", "0", "nan"), ("cosh", "nan", "0"), ("sinh", "0", "nan"), ("sinh", "-inf", "nan"),
    ("tanh", "inf", "-inf"), ("tanh", "-inf", "-inf"), ("acos", "inf", "nan"), ("acos", "-inf", "nan"),
}  # fmt: skip
"""Functions and operands at which the standard leaves a sign open."""
NEWER = {("tanh", "0", "nan"), ("acosh", "0", "nan")}
"""Those where C23 gives a number and CPython a NaN as older standards."""


@pytest.mark.parametrize("name", ["acos", "acosh", "asinh", "atanh", "cosh", "exp", "log", "sinh", "sqrt", "tanh"])
def test_special_values_are_those_of_annex_g(name: str) -> None:
    words = {"0": 0.0, "1": 1.0, "inf": INF, "nan": NAN}
    numbers = {**words, **{f"-{word}": -value for word, value in words.items() if value == value}}
    compared = 0
    for (first, x), (second, y) in itertools.product(numbers.items(), repeat=2):
        z, operands = complex(x, y), (name, first.replace("-0", "0"), second.replace("-0", "0"))
        if (math.isfinite(x) and math.isfinite(y) and x and y) or operands in FREE | NEWER:
            continue
        try:
            expected = getattr(cmath, name)(z)
        except ValueError:  # where the standard raises invalid or divide-by-zero
            continue
        found, compared = unary(name, z), compared + 1
        for one, other in ((found.real, expected.real), (found.imag, expected.imag)):
            assert same(one, other) or (one and abs(one - other) <= 1e-15), (name, z, found, expected)
    assert compared > 20


@pytest.mark.parametrize(
    ("name", "z", "expected"),
    [
        ("log", complex(0.0, 0.0), complex(-INF, 0.0)),
        ("log1p", complex(-1.0, 0.0), complex(-INF, 0.0)),
        ("log1p", complex(-1.0, 1.0), complex(0.0, math.pi / 2)),
        ("log1p", complex(-3.0, -0.0), complex(math.log(2.0), -math.pi)),
        ("atanh", complex(1.0, 0.0), complex(INF, 0.0)),
        ("exp", complex(1.0, INF), complex(NAN, NAN)),
        ("exp", complex(1e300, 2.0), complex(-INF, INF)),
        ("expm1", complex(-INF, 2.0), complex(-1.0, 0.0)),
        ("expm1", complex(-0.0, -0.0), complex(-0.0, -0.0)),
        ("sqrt", complex(-4.0, -0.0), complex(0.0, -2.0)),
        ("sqrt", complex(3.0, 4.0), complex(2.0, 1.0)),
        ("rsqrt", complex(3.0, 4.0), complex(0.4, -0.2)),
        ("rsqrt", complex(-4.0, 0.0), complex(0.0, -0.5)),
        ("cbrt", complex(-2.0, 2.0), complex(1.0, 1.0)),
        ("cbrt", complex(-8.0, 0.0), complex(1.0, math.sqrt(3.0))),
        ("sign", complex(3.0, -4.0), complex(0.6, -0.8)),
        ("sign", complex(-0.0, -0.0), complex(0.0, -0.0)),
        ("sign", complex(1.0, INF), complex(NAN, NAN)),
        ("sigmoid", complex(0.0, 2.0), complex(0.5, 0.7787038623274511)),
        ("tanh", complex(1000.0, 2.0), complex(1.0, -0.0)),
        ("sin", complex(1e-300, 1e-300), complex(1e-300, 1e-300)),
        ("square", complex(1e200, 1e200), complex(0.0, INF)),
    ],
)  # fmt: skip
def test_known_answers(name: str, z: complex, expected: complex) -> None:
    found = unary(name, z)
    assert same(found.real, expected.real), found
    assert same(found.imag, expected.imag), found


@pytest.mark.parametrize(
    ("name", "z", "w", "expected"),
    [
        ("power", 1 + 2j, 3 + 0j, complex(-11.0, -2.0)),
        ("power", complex(-4.0, 0.0), 0.25 + 0j, complex(1.0, 1.0)),
        ("power", complex(-3.0, 0.0), 0.5 + 0j, complex(0.0, math.sqrt(3.0))),
        ("power", 1j, 1j, complex(0.2078795763507619, 0.0)),
        ("power", 1j, 1e300 + 0j, complex(1.0, 0.0)),
        ("power", -1j, 100001 + 0j, complex(0.0, -1.0)),
        ("power", complex(-1.0, 0.0), 100000.5 + 0j, complex(0.0, 1.0)),
        ("power", 2 + 0j, 10 + 0j, complex(1024.0, 0.0)),
        ("power", 0j, 0j, complex(1.0, 0.0)),
        ("power", 0j, 2 + 1j, complex(0.0, 0.0)),
        ("divide", 1 + 1j, 0j, complex(INF, INF)),
        ("divide", complex(INF, 1.0), 1 + 1j, complex(INF, -INF)),
        ("divide", 1 + 1j, complex(INF, NAN), complex(0.0, 0.0)),
        ("divide", complex(0.0, 0.0), 0j, complex(NAN, NAN)),
        ("atan2", 1 + 0j, -1 + 0j, complex(3 * math.pi / 4, 0.0)),
    ],
)
def test_known_answers_of_two(name: str, z: complex, w: complex, expected: complex) -> None:
    found = binary(name, z, w)
    assert same(found.real, expected.real), found
    assert same(found.imag, expected.imag), found


def test_the_signs_of_zeros_say_on_which_side_of_a_cut_an_angle_is() -> None:
    """Each step of -i log((x + iy) / sqrt(x**2 + y**2)) as C computes it, with its signs of zeros, and then rounded."""
    for signs in itertools.product((1.0, -1.0), repeat=4):
        for a, b, c, e in ((0.0, 2.0, 1.0, 0.0), (0.0, 2.0, 0.0, 0.0), (0.0, 1.0, 3.0, 0.0), (0.5, 2.0, 1.0, 1.0)):
            y, x = complex(a * signs[0], b * signs[1]), complex(c * signs[2], e * signs[3])
            root = cmath.sqrt(x * x + y * y)
            above, length = complex(x.real - y.imag, x.imag + y.real), root.real**2 + root.imag**2
            real = (above.real * root.real + above.imag * root.imag) / length
            imag = (above.imag * root.real - above.real * root.imag) / length
            found = binary("atan2", y, x).real
            assert math.isclose(found, math.atan2(imag, real)), (y, x)


def _samples(dtype: type[np.floating[npt.NBitBase]], count: int) -> npt.NDArray[np.unsignedinteger[npt.NBitBase]]:
    rng = np.random.default_rng(1)
    special = [0, -0.0, 1, -1, 2, 0.5, INF, -INF, NAN, 1e-40, 1e30, 3, -4, 0.25]
    wide = np.exp(rng.normal(size=(count, 2)) * 20) * rng.choice([-1, 1], size=(count, 2))
    rows = [
        rng.normal(size=(count, 2)),
        rng.choice(special, size=(count, 2)),
        wide,
        rng.integers(-4, 5, size=(count, 2)),
    ]
    return np.concatenate(rows).astype(dtype).view(f"u{np.dtype(dtype).itemsize}")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [pytest.param(6, id="few"), pytest.param(400, id="many", marks=pytest.mark.long)])
def test_arrays_have_the_results_of_single_numbers(dtype: type[np.floating[npt.NBitBase]], count: int) -> None:
    fmt, z = FORMATS[np.dtype(dtype).name.replace("float", "f")], _samples(dtype, count)
    w = z[np.random.default_rng(2).permutation(len(z))]
    for name in complex_functions.NAMES:
        expected = [complex_functions.unary(name, fmt, *each) for each in z.tolist()]
        assert paths.unary(name, fmt, z).tolist() == list(map(list, expected)), name
    for name in complex_functions.PAIRS:
        pairs = zip(map(tuple, z.tolist()), map(tuple, w.tolist()), strict=True)
        expected = [complex_functions.binary(name, fmt, one, other, SPEC) for one, other in pairs]
        assert paths.binary(name, fmt, z, w).tolist() == list(map(list, expected)), name
