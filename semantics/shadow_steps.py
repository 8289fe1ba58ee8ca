"""The rules of shadows for functions that choose or jump: rounding to integers, clamping, copying a sign.

They have the form of those in `halfulp.semantics.shadows`. A function that jumps is enclosed by what it gives at both
ends of what is known of its operand, so its error is zero where both ends give the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from halfulp.semantics.shadows import RULES, UNIT, Errors, Floats, Rule, Shadow, Shadowed, exact, order, two_sum

Jump = Callable[[Floats, Floats], Floats]
"""Rounds ``n + t`` to an integer, for an even integer n and a t of which little is lost: the integer less n."""


def _floor(n: Floats, t: Floats) -> Floats:
    return np.floor(t)


def _ceil(n: Floats, t: Floats) -> Floats:
    return np.ceil(t)


def _trunc(n: Floats, t: Floats) -> Floats:
    return np.where(n + t >= 0, np.floor(t), np.ceil(t))


def _roundeven(n: Floats, t: Floats) -> Floats:
    return np.rint(t)


def _round(n: Floats, t: Floats) -> Floats:
    """Away from zero, if two integers are equally near."""
    down, up = np.floor(t), np.ceil(t)
    return np.where(n + t >= 0, down + (t - down >= 0.5), up - (up - t >= 0.5))


def jumping(jump: Jump) -> Rule:
    """Return the rule of a function that rounds to integers, and never decreases."""

    def rule(result: Floats, x: Shadowed) -> Errors:
        n = 2 * np.rint(x.value / 2)
        t = x.value - n
        at = t + x.error
        loose = x.radius + np.where((t != 0) & (x.error != 0), UNIT * np.abs(at), 0.0)
        low, high = (np.where(loose != 0, np.nextafter(at + way * loose, way * np.inf), at) for way in (-1, 1))
        own = jump(n, t)
        return Errors(_between(result, n, own, own), _between(result, n, jump(n, low), jump(n, high)))

    return rule


def _between(result: Floats, n: Floats, low: Floats, high: Floats) -> Shadow:
    """Return the error of a result whose exact number lies between ``n + low`` and ``n + high``."""
    base, rest = two_sum(n, -result)
    middle = (low + high) / 2
    error = base + middle
    # All terms are halves of integers in most cases, and below 2**52 so are their sums.
    whole = (rest == 0) & (np.abs(base) + np.abs(low) + np.abs(high) < 2.0**50) & (2 * base == np.rint(2 * base))
    lost = np.where(whole, 0.0, np.abs(rest) + 4 * UNIT * (np.abs(base) + np.abs(low) + np.abs(high)))
    return Shadow(error, (high - low) / 2 + lost)


def _clamp(result: Floats, x: Shadowed, low: Shadowed, high: Shadowed) -> Errors:
    lesser = np.minimum(x.value, high.value)
    first = RULES["minimum"](lesser, x, high).total
    return RULES["maximum"](result, Shadowed(lesser, *first), low)


def _copysign(result: Floats, x: Shadowed, y: Shadowed) -> Errors:
    """Where the sign of the exact number is not known, the result may have either. If nothing is known of the number,
    it may have none.
    """
    size = np.abs(x.value)
    magnitude = RULES["absolute"](size, x).total
    side, known = order(y, exact(np.zeros_like(y.value)))
    given = np.copysign(1.0, y.value)
    sign = np.where(side == 0, given, side)
    own = _apart(given * size, result, np.zeros_like(size), np.zeros_like(size))
    whole = _apart(sign * size, result, sign * magnitude.error, magnitude.radius)
    reach = (size + np.abs(magnitude.error) + magnitude.radius) * (1 + 4 * UNIT)
    either = ~known & ((y.error != 0) | (y.radius != 0))
    unknown = np.isnan(y.value) | (y.radius == np.inf)
    radius = np.where(unknown, np.inf, np.where(either, reach, whole.radius))
    return Errors(own, Shadow(np.where(either, -result, whole.error), radius))


def _apart(exact_: Floats, result: Floats, error: Floats, radius: Floats) -> Shadow:
    """Return ``exact_ + error - result``, up to a radius."""
    difference, rest = two_sum(exact_, -result)
    total = difference + rest
    found = total + error
    lost = UNIT * (np.abs(total) * (rest != 0) + np.abs(found) * ((total != 0) & (error != 0)))
    return Shadow(found, (radius + lost) * (1 + 4 * UNIT))


STEPS: Mapping[str, Rule] = {
    "floor": jumping(_floor),
    "ceil": jumping(_ceil),
    "trunc": jumping(_trunc),
    "roundeven": jumping(_roundeven),
    "round": jumping(_round),
    "clamp": _clamp,
    "copysign": _copysign,
}
"""The rules by names of functions."""
