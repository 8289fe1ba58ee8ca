"""Mistakes in units in fixed point, planted in a unit of `Fraction`s that knows nothing of halfulp.

The rules are those of the reference manual of ac_fixed. `MISTAKES` has, by name, the parameters of a wrong unit and the
names under which `vectors check` may report it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor
from typing import Any

MODES: dict[str, Callable[[Fraction], int]] = {
    "AC_TRN": floor,
    "AC_TRN_ZERO": int,
    "AC_RND": lambda x: floor(x + Fraction(1, 2)),
    "AC_RND_MIN_INF": lambda x: ceil(x - Fraction(1, 2)),
    "AC_RND_ZERO": lambda x: floor(x + Fraction(1, 2)) if x < 0 else ceil(x - Fraction(1, 2)),
    "AC_RND_INF": lambda x: floor(x + Fraction(1, 2)) if x > 0 else ceil(x - Fraction(1, 2)),
    "AC_RND_CONV": round,
    "AC_RND_CONV_ODD": lambda x: round(x) if 2 * x % 2 != 1 else floor(x) | 1,
}
OPS: dict[str, Callable[..., Fraction]] = {
    "fixed_add": lambda x, y: x + y,
    "fixed_sub": lambda x, y: x - y,
    "fixed_mul": lambda x, y: x * y,
    "fixed_convert": lambda x: x,
}


@dataclass(frozen=True)
class Fixed:
    """A format: bits, bits before the point, sign and modes."""

    width: int
    before: int
    signed: bool = True
    rounding: str = "AC_TRN"
    overflow: str = "AC_WRAP"

    def __str__(self) -> str:
        return f"ac_fixed<{self.width}, {self.before}, {str(self.signed).lower()}, {self.rounding}, {self.overflow}>"

    @property
    def unit(self) -> Fraction:
        return Fraction(2) ** (self.before - self.width)

    @property
    def low(self) -> int:
        return -(1 << self.width - 1) if self.signed else 0

    @property
    def high(self) -> int:
        return self.low + (1 << self.width) - 1

    def value(self, code: int) -> Fraction:
        return (code - (1 << self.width) * (code > self.high)) * self.unit

    def fit(self, n: int, within: Fraction | None = None) -> int:
        """Bring an integer into the range; ``within``: the number that is compared with the range in its place."""
        seen = n if within is None else floor(within)
        if not self.low <= seen <= self.high:
            if self.overflow == "AC_SAT":
                return self.high if seen > 0 else self.low
            if self.overflow == "AC_SAT_ZERO":
                return 0
            if self.overflow == "AC_SAT_SYM":
                return self.high if seen > 0 else -self.high if self.signed else 0
        if self.overflow == "AC_SAT_SYM" and self.signed and n == self.low:
            return -self.high
        return (n - self.low) % (1 << self.width) + self.low


@dataclass(frozen=True)
class FixedUnit:
    """A unit; ``wrong`` has its mistakes with their parameters."""

    op: str
    sources: tuple[Fixed, ...]
    target: Fixed
    wrong: dict[str, Any] = field(default_factory=dict)

    def __call__(self, *codes: int) -> int:
        wrong, own = self.wrong, self.target
        target = replace(own, rounding=wrong.get("mode", own.rounding), overflow=wrong.get("overflow", own.overflow))
        values = []
        for place, (fmt, code) in enumerate(zip(self.sources, codes, strict=True)):
            if wrong.get("sign") == place:
                fmt = replace(fmt, signed=not fmt.signed)
            value = fmt.value(code)
            if wrong.get("power", (None, 0))[0] == place:
                value *= Fraction(2) ** wrong["power"][1]
            if "early" in wrong:
                value = MODES[wrong["early"]](value / target.unit) * target.unit
            values.append(value)
        exact = OPS[wrong.get("op", self.op)](*values)
        if "cut" in wrong:
            exact = floor(exact * 2 ** wrong["cut"]) / Fraction(2) ** wrong["cut"]
        if "bits" in wrong:
            half = Fraction(2) ** (wrong["bits"] - 1)
            exact = (exact + half) % (2 * half) - half
        exact *= Fraction(2) ** wrong.get("result", 0)
        n = MODES[target.rounding](exact / target.unit)
        made = target.fit(n, exact / target.unit if "early_range" in wrong else None)
        if "no_low" in wrong and n < target.low:
            made = (n - target.low) % (1 << target.width) + target.low
        if "largest" in wrong and n < target.low:
            made = target.high
        return made % (1 << target.width)


SAT = Fixed(8, 4, True, "AC_RND", "AC_SAT")
CONV = Fixed(8, 3, True, "AC_RND_CONV", "AC_SAT")
WRAP = Fixed(8, 4, True, "AC_RND")
FINE, WIDE, PLAIN = Fixed(8, 1), Fixed(8, 6), Fixed(8, 4, False)

MISTAKES: dict[str, tuple[FixedUnit, Sequence[str]]] = {
    "truncates": (FixedUnit("fixed_mul", (SAT, SAT), SAT, {"mode": "AC_TRN"}), ("AC_TRN in place of AC_RND",)),
    "ties to even": (FixedUnit("fixed_mul", (SAT, SAT), SAT, {"mode": "AC_RND_CONV"}), ("AC_RND_CONV in place of",)),
    "ties away": (FixedUnit("fixed_mul", (CONV, CONV), CONV, {"mode": "AC_RND_INF"}), ("AC_RND_INF in place of",)),
    "magnitude": (FixedUnit("fixed_mul", (SAT, FINE), SAT, {"mode": "AC_TRN_ZERO"}), ("AC_TRN_ZERO in place of",)),
    "wraps": (FixedUnit("fixed_add", (SAT, SAT), SAT, {"overflow": "AC_WRAP"}), ("AC_WRAP in place of AC_SAT",)),
    "saturates": (FixedUnit("fixed_sub", (WRAP, WRAP), WRAP, {"overflow": "AC_SAT"}), ("AC_SAT in place of AC_WRAP",)),
    "symmetric": (FixedUnit("fixed_add", (SAT, SAT), SAT, {"overflow": "AC_SAT_SYM"}), ("AC_SAT_SYM in place of",)),
    "both modes": (
        FixedUnit("fixed_mul", (SAT, SAT), SAT, {"mode": "AC_TRN", "overflow": "AC_WRAP"}),
        ("AC_TRN in place of AC_RND and AC_WRAP in place of AC_SAT", "AC_WRAP in place of AC_SAT and AC_TRN in place"),
    ),
    "signed a": (FixedUnit("fixed_mul", (PLAIN, SAT), SAT, {"sign": 0}), ("a read as signed",)),
    "unsigned b": (FixedUnit("fixed_mul", (PLAIN, SAT), SAT, {"sign": 1}), ("b read as unsigned",)),
    "not aligned": (FixedUnit("fixed_add", (SAT, FINE), SAT, {"power": (1, 3)}), ("b times 2^3",)),
    "point": (FixedUnit("fixed_mul", (SAT, SAT), CONV, {"result": 1}), ("the exact result times 2^1",)),
    "early": (FixedUnit("fixed_add", (FINE, FINE), SAT, {"early": "AC_RND"}), ("operands rounded to 4 fraction bits",)),
    "guard alone": (FixedUnit("fixed_mul", (CONV, CONV), CONV, {"cut": 6}), ("the exact result cut to 6 fraction",)),
    "no carry": (FixedUnit("fixed_add", (SAT, SAT), Fixed(6, 6), {"bits": 4}), ("the exact result wraps at 4",)),
    "range": (
        FixedUnit("fixed_convert", (Fixed(12, 5),), SAT, {"early_range": 1}),
        ("the range compared before rounding",),
    ),
    "low end": (FixedUnit("fixed_add", (SAT, SAT), SAT, {"no_low": 1}), ("no saturation to the smallest value",)),
    "largest": (
        FixedUnit("fixed_add", (SAT, SAT), SAT, {"largest": 1}),
        ("the largest value in place of the smallest",),
    ),
    "op": (FixedUnit("fixed_add", (SAT, SAT), SAT, {"op": "fixed_sub"}), ("fixed_sub",)),
    "narrowed": (FixedUnit("fixed_convert", (Fixed(12, 5),), CONV, {"mode": "AC_RND"}), ("AC_RND in place of",)),
}
