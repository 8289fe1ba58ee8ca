"""The accumulators among which the one of an unknown unit is searched: the values of each field, and rules that give
the same results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics.matrix_units.accumulator import KEPT, OWN, Accumulator, shape_of
from halfulp.semantics.matrix_units.aligned_sums import fits, fits_register
from halfulp.semantics.matrix_units.kinds import TileOp, holds

DEFAULTS: Mapping[str, Any] = {each.name: each.default for each in fields(Accumulator)}

NOT_SOUGHT = ("dot", "width", "lsb", "msb", "register_overflow", "specials")
"""The fields that are not searched: those of scaled operands, of integers and of registers in fixed point, and those
about special operands.
"""

LONGEST_SHIFT = 48

_NEAREST = (Rounding.TO_NEAREST_EVEN.spelling, Rounding.TO_NEAREST_AWAY.spelling)
_SHRINKING = ("toward_zero", *_NEAREST)
"""The roundings that round a number far below the last kept bit to zero."""


def values_of(op: TileOp) -> dict[str, tuple[Any, ...]]:
    """Return the values that each field may have for the types and the length of an operation."""
    k, d = op.shape[2], FORMATS[op.d]
    most = 0
    while most < 64 and fits(Accumulator(bits=most), op):
        most += 1
    lowest = {FORMATS[name].emin for name in (op.a, op.b, op.d)} | {-126}
    zeros = {e - step for e in lowest for step in (0, 1)} | {*range(-40, 21)}
    zeros.add(FORMATS[op.a].emin + FORMATS[op.b].emin)
    wide = [name for name in _choices("steps") if name != OWN and all(holds(name, each) for each in (op.a, op.b))]
    steps = dict.fromkeys([OWN, *(_same_steps(name, op) for name in wide)])
    numbers: dict[str, tuple[Any, ...]] = {
        "group": tuple(range(k)),
        "order": tuple(range(k)),
        "steps": tuple(steps),
        "bits": (None, *range(most)),
        "guard": tuple(range(16)),
        "shifter": (None, *range(LONGEST_SHIFT)),
        "c_shifter": (None, *range(LONGEST_SHIFT)),
        "zero_exponent": (None, *sorted(zeros)),
        "fraction": (None, *range(1, d.mantissa_bits)),
        "product_overflow": (False, True),
        "flush": (False, True),
    }
    return {name: numbers.get(name) or _choices(name) for name in DEFAULTS if name not in NOT_SOUGHT}


def _choices(name: str) -> tuple[str, ...]:
    return next(tuple(each.metadata["choices"]) for each in fields(Accumulator) if each.name == name)


def near(values: Sequence[Any], now: Any) -> Iterator[Any]:
    """Yield the other values that a search tries for a field. If the field has few values, these are all of them. If it
    has many numbers, they are the numbers next to the current one and some others; without a current number, every
    third one.
    """
    numbers = [value for value in values if value is not None]
    for value in values:
        if value == now:
            continue
        if len(values) <= 8 or value is None:
            yield value
        elif now is None:
            if numbers.index(value) % 3 == 0:
                yield value
        elif abs(value - now) in _STEPS:
            yield value


_STEPS = (1, 2, 3, 5, 8, 13, 21)


def complexity(rule: Accumulator) -> int:
    """Return the number of fields of a rule that differ from their defaults."""
    return sum(getattr(rule, name) != value for name, value in DEFAULTS.items())


def differences(rule: Accumulator, other: Accumulator) -> dict[str, Any]:
    """Return the fields of ``other`` that differ from those of ``rule``, by name, with the values of ``other``."""
    return {name: getattr(other, name) for name in DEFAULTS if getattr(other, name) != getattr(rule, name)}


def changed(rule: Accumulator, **changes: Any) -> Accumulator | None:
    """Return a rule with these fields changed. Other fields that cannot be combined with them get their defaults. None
    if the changes cannot be combined with each other.
    """
    given = {**_given(rule), **changes}
    repairs = (
        (given["bits"] is None, ("guard", "shifter", "c_shifter", "zero_exponent")),
        (given["c"] != "last", ("guard",)),
        (given["tree"] == "even_odd" and given["c"] != "last", ("tree",)),
        (not given["group"], ("order",)),
        (given["products"] == "rounded" and given["partial"] == KEPT, ("products",)),
    )
    for needed, names in repairs:
        for name in names if needed else ():
            if name in changes and changes[name] != DEFAULTS[name]:
                return None
            given[name] = DEFAULTS[name]
    try:
        if given["nan"] == "payload" and "nan" not in changes and not Accumulator(**{**given, "nan": "default"}).plain:
            given["nan"] = "default"
        return Accumulator(**given)
    except ValueError:
        return None


def quick(rule: Accumulator, op: TileOp) -> bool:
    """Tell whether the array code supports a rule. Only the specification supports the other rules, and it is too slow
    for a search.
    """
    if rule.steps != OWN:
        op = _stepped(op, rule.steps)
    if rule.lsb is not None:
        return fits_register(op)
    return rule.bits is None or fits(rule, op)


@lru_cache(maxsize=64)
def _stepped(op: TileOp, steps: str) -> TileOp:
    return replace(op, a=steps, b=steps)


def _given(rule: Accumulator) -> dict[str, Any]:
    return {name: getattr(rule, name) for name in DEFAULTS}


def reduced(rule: Accumulator, op: TileOp) -> Accumulator:
    """Return the rule with defaults in all fields that cannot change a result of an operation.

    Two rules with the same reduced rule give the same results for all operands.
    """
    if rule.lsb is not None:
        return rule
    given, k = _given(rule), op.shape[2]
    a, b, d = (FORMATS[name] for name in (op.a, op.b, op.d))
    if rule.group >= k or not rule.group:
        given["group"] = given["order"] = 0
    elif rule.dealt(k) == list(range(k)):
        given["order"] = 0
    group = given["group"] or k
    sizes = {group, k % group or group}
    wide = 2 * max(a.emax, b.emax) + 2 <= d.emax  # no product is out of range
    if wide:
        given["product_overflow"] = False
    if rule.fraction == d.mantissa_bits:
        given["fraction"] = None
    with_c = rule.c != "last"
    # A tree of one term does not cut it off, where all terms at once would.
    pair = all(size + with_c == 2 or (rule.bits is None and size + with_c < 2) for size in sizes)
    if sizes == {1} if rule.tree == "even_odd" else pair:
        given["tree"] = "flat"
    elif rule.tree in ("neighbours", "halves"):
        given["tree"] = _same_tree(rule.tree, tuple(size + with_c for size in sizes))
    plain = rule.nan == "payload"
    if rule.bits is None:
        given.update(cut=DEFAULTS["cut"], cut_sums=DEFAULTS["cut_sums"])
        if rule.partial == KEPT and not plain:
            given["tree"] = "flat"
            given["c"] = "with" if rule.c == "last" else rule.c
        fraction = d.mantissa_bits if rule.fraction is None else rule.fraction
        exact = fraction >= a.mantissa_bits + b.mantissa_bits + 1 and wide and _no_product_is_small(op, fraction)
        if exact and rule.products == "rounded" and not rule.flush and rule.zero == "ieee" and not plain:
            given["products"] = "exact"
        if not rule.flush:
            given["steps"] = OWN
    elif given["tree"] == "flat" and rule.c != "last":
        given["cut_sums"] = DEFAULTS["cut_sums"]
    if given["tree"] == "flat" and given["c"] != "last" and given["products"] == "exact" and not plain:
        given["partial"] = KEPT
    if {rule.rounding, given["partial"]} <= {*_NEAREST, KEPT} and rule.overflow == "infinity":
        given["overflow"] = "default"
    if rule.bits is not None and {given["cut"], given["cut_sums"]} <= {*_SHRINKING}:
        # Farther below than these, a term is less than half a unit: it is 0 without a limit, too.
        above = 3 + (k + 1).bit_length()
        for name, bits in (("shifter", rule.bits + rule.guard + above), ("c_shifter", rule.bits + 1)):
            if getattr(rule, name) is not None and getattr(rule, name) >= bits:
                given[name] = None
    given["steps"] = _same_steps(given["steps"], op)
    if plain and not Accumulator(**{**given, "nan": "default"}).plain:
        return rule
    return Accumulator(**given)


@lru_cache(maxsize=1024)
def _same_tree(tree: str, terms: tuple[int, ...]) -> str:
    """Return the first tree that adds in the same way as ``tree``, for each of these numbers of terms."""
    shapes = {each: [shape_of(each, count) for count in terms] for each in ("sequential", "neighbours", "halves")}
    return next(each for each, shape in shapes.items() if shape == shapes[tree])


def _no_product_is_small(op: TileOp, fraction: int) -> bool:
    """Tell whether no product needs places below those of D with so many fraction bits."""
    a, b, d = (FORMATS[name] for name in (op.a, op.b, op.d))
    return a.emin - a.mantissa_bits + b.emin - b.mantissa_bits >= d.emin - fraction


def _same_steps(steps: str, op: TileOp) -> str:
    """Return the first type of steps with the same smallest normal number, so that the same numbers are subnormal."""
    if steps == OWN:
        return steps
    lowest = FORMATS[steps].emin
    if op.a == op.b and FORMATS[op.a].emin == lowest:
        return OWN
    names = [name for name in _choices("steps") if name != OWN and all(holds(name, each) for each in (op.a, op.b))]
    return next(name for name in names if FORMATS[name].emin == lowest)
