"""The description of how a matrix unit adds products: of chips, and of accumulators of users.

`scalar_sums` is the specification on Python integers, `aligned_sums` does the same on arrays.
"""

from __future__ import annotations

from dataclasses import Field, dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Any, get_type_hints

from halfulp.fp_formats.aliases import did_you_mean, with_hint
from halfulp.fp_formats.formats import FORMATS, FloatFormat, NanEncoding
from halfulp.fp_formats.policy import MISLEADING_ROUNDINGS, Rounding, as_rounding
from halfulp.semantics.matrix_units.kinds import TileOp, holds

PREFIX = "custom:"
KEPT = "kept"
TO_ODD = Rounding.TO_ODD.spelling
NOTHING = "none"
OWN = "own"
NORMAL = "normal"

MOST_BITS = 4096
"""The most bits of a field: more would only take time."""

TREES = ("flat", "even_odd", "neighbours", "halves", "sequential")

_MODES = tuple(mode.spelling for mode in Rounding if mode is not Rounding.STOCHASTIC)


def _about(meaning: str, choices: tuple[str, ...] = (), low: int = 0) -> dict[str, Any]:
    """Make the ``metadata`` of a field: its meaning, its choices, and the lowest value of an integer."""
    return {"meaning": meaning, "choices": choices, "low": low}


@dataclass(frozen=True, kw_only=True)
class Accumulator:
    """The rule by which a matrix unit adds products to C: the rule of a chip, or of a unit that you design.

    K is cut into groups, which are added to C one after the other. The terms of a group are its products and C.
    *Aligned* terms are added as integers: E is the largest exponent of the terms, and each term is rounded to a
    multiple of 2**(E - bits). The exponent of a product is the sum of the exponents of its factors; products and
    subnormal numbers are not normalised.

    The text form names the fields that differ from their defaults: ``custom:group=8,bits=25,rounding=toward_zero``.
    `Accumulator.from_text` reads it, and ``mma=`` and ``--mma`` accept it.

    Raises ValueError for a value that a field cannot have, and for fields that cannot be combined.
    """

    group: int = field(
        default=0, metadata=_about("the count of products that are added to C at a time; 0: all of an instruction")
    )
    tree: str = field(
        default="flat",
        metadata=_about(
            "the order of the additions in a group. flat: all terms at once. even_odd: the even k at once, the odd k "
            "at once, then these two sums. neighbours: terms 0 and 1, 2 and 3, and so on; then neighbouring sums. "
            "halves: term i and term i + n/2; then likewise. sequential: one term after the other, so that each is "
            "aligned with the sum so far",
            TREES,
        ),
    )
    order: int = field(
        default=0,
        metadata=_about(
            "the elements of an instruction are dealt to its groups in turn, so many neighbours at a time; 0: each "
            "group takes consecutive elements"
        ),
    )
    steps: str = field(
        default=OWN,
        metadata=_about(
            "the type of A and B in the groups. A unit that lacks their type computes an instruction in steps, each by "
            "an instruction of this type, to which A and B are first converted exactly. own: those of A and B",
            (OWN, "f16", "bf16", "tf32", "f32"),
        ),
    )
    c: str = field(
        default="with",
        metadata=_about(
            "C, or the sum so far, is the first term of a group (with), or is added to the sum of its products (last). "
            "end: the first group adds to +0, and C is added to the sum of all groups of an instruction as IEEE 754 "
            "adds, rounded to nearest even",
            ("with", "last", "end"),
        ),
    )
    products: str = field(
        default="exact", metadata=_about("products are exact, or rounded to D by `partial`", ("exact", "rounded"))
    )
    bits: int | None = field(
        default=None,
        metadata=_about("fraction bits that aligned terms keep below the largest exponent; none: all, sums are exact"),
    )
    guard: int = field(default=0, metadata=_about("more bits that the sum of the products keeps when C is added last"))
    cut: str = field(
        default="toward_zero",
        metadata=_about("the rounding of aligned products, and of C with them", _MODES),
    )
    cut_sums: str = field(
        default="toward_zero",
        metadata=_about("the rounding of aligned partial sums, and of C where it is last", _MODES),
    )
    shifter: int | None = field(
        default=None,
        metadata=_about(
            "the longest shift of an aligned product or partial sum; what is farther below counts as 0; none: any"
        ),
    )
    c_shifter: int | None = field(default=None, metadata=_about("the same for C"))
    zero_exponent: int | None = field(
        default=None,
        metadata=_about(
            "the exponent that a zero factor and a zero C have in alignments; none: zeros do not count", low=-MOST_BITS
        ),
    )
    partial: str = field(
        default=KEPT,
        metadata=_about(
            "the rounding of partial sums (and of products, where they are rounded) to D; kept: a partial sum stays "
            "the integer that it is, with the largest exponent of its terms",
            (KEPT, *_MODES),
        ),
    )
    rounding: str = field(default="to_nearest_even", metadata=_about("the rounding of the sum of a group to D", _MODES))
    fraction: int | None = field(
        default=None, metadata=_about("the fraction bits of a rounded sum, in the format of D; none: those of D")
    )
    overflow: str = field(
        default="default",
        metadata=_about(
            "a sum out of range: for floats what the rounding mode says, for integers wrapping around (default); an "
            "infinity; or the largest number (saturate)",
            ("default", "infinity", "saturate"),
        ),
    )
    product_overflow: bool = field(
        default=False, metadata=_about("products of 2**(emax + 1) of D and more are infinite")
    )
    zero: str = field(
        default="ieee",
        metadata=_about(
            "the sign of a zero. ieee: as IEEE 754 says, where all terms are -0 it is -0. sum: exact zeros are +0, and "
            "sums that round to zero keep their sign. positive: always +0",
            ("ieee", "sum", "positive"),
        ),
    )
    nan: str = field(
        default="default",
        metadata=_about(
            "the code of a NaN: the default NaN of D; all ones but the sign; or the payload that the IEEE operations "
            "give, which is known where all of them have two operands or are fused multiply-adds",
            ("default", "ones", "payload"),
        ),
    )
    flush: bool = field(
        default=False,
        metadata=_about(
            "subnormals and -0 in A, B and C count as +0, and so does such a sum in the next group; rounded products "
            "and partial sums, and the result of an instruction, become zeros of their sign"
        ),
    )
    dot: int = field(
        default=1,
        metadata=_about(
            "this many products with the same scales are added exactly, and count as one product with the exponent "
            "of its scales, whose signs are ignored: of f4E2M1FN with scales",
            low=1,
        ),
    )
    width: int | None = field(
        default=None,
        metadata=_about("the bits of the accumulator for integers, up to those of D; none: those of D", low=1),
    )
    lsb: int | None = field(
        default=None,
        metadata=_about(
            "a register in fixed point, as Kulisch's, holds the sum: its last place is 2**lsb. The products of each "
            "group, and C at the start of an instruction, are rounded to it by `cut` and added as integers; `rounding` "
            "gives D at the end of the instruction. A register has no -0; none: sums are floats",
            low=-MOST_BITS,
        ),
    )
    msb: int | None = field(
        default=None,
        metadata=_about(
            "the sign bit of the register, in two's complement: it has msb - lsb + 1 bits, for numbers from -2**msb to "
            "2**msb - 2**lsb; none: as many as the sums need",
            low=-MOST_BITS,
        ),
    )
    register_overflow: str = field(
        default="wrap",
        metadata=_about(
            "what the register does with C, or with the sum after a group, beyond its range: it keeps the low bits "
            "(wrap), or the nearest number that it has (saturate)",
            ("wrap", "saturate"),
        ),
    )
    specials: str = field(
        default="all",
        metadata=_about(
            "the special operands whose results are known: all; NaN alone; or none. normal: none, and the sums of "
            "groups must be zero or normal numbers",
            ("all", "nan", "none", NORMAL),
        ),
    )

    def __post_init__(self) -> None:
        for each in _every_field():
            value = getattr(self, each.name)
            if value is not each.default:
                named = _named(value, each.metadata["choices"])
                if named is not value:
                    object.__setattr__(self, each.name, named)
                _check(each.name, named, each.metadata, _OPTIONAL.get(each.name))
        rules = (
            (not self.guard or (self.c == "last" and self.bits is not None), "guard needs c=last and bits"),
            (not self.order or self.group, "order needs group, the size of what it deals elements to"),
            (self.products == "exact" or self.partial != KEPT, "products=rounded needs partial, the rounding"),
            (self.tree != "even_odd" or self.c == "last", "tree=even_odd needs c=last"),
            (
                self.nan != "payload" or self.plain,
                "nan=payload needs a rule of IEEE operations: fused multiply-adds, or sums of two",
            ),
            (
                self.bits is not None or (self.shifter, self.c_shifter, self.zero_exponent) == (None, None, None),
                "shifter, c_shifter and zero_exponent can be used only with bits",
            ),
            (
                self.lsb is None or self._is_register,
                "lsb, a register in fixed point, needs tree=flat, c=with or c=end, and products=exact; it "
                "cannot be used "
                "with bits, guard, partial, dot or specials=normal",
            ),
            (self.dot == 1 or self.steps == OWN, "dot, which adds products of f4E2M1FN, needs steps=own"),
            (self.msb is None or self.lsb is not None, "msb needs lsb, the last place of the register"),
            (self.msb is None or self.lsb is None or self.msb > self.lsb, "msb must be above lsb"),
            (self.register_overflow == "wrap" or self.msb is not None, "register_overflow needs msb, the sign bit"),
        )
        for kept, rule in rules:
            if not kept:
                raise ValueError(f"accumulator: {rule}")

    @cached_property
    def of_a_step(self) -> Accumulator:
        """The rule that adds one group to the running sum, for elements that are already converted and in the order of
        the groups.
        """
        return replace(self, order=0, steps=OWN, c="with" if self.c == "end" else self.c)

    def dealt(self, size: int) -> list[int]:
        """Return the indices along K of an instruction whose K is ``size``, in the order in which its groups take
        them.
        """
        groups = -(-size // self.group) if self.group else 1
        return sorted(range(size), key=lambda k: k // self.order % groups if self.order else 0)

    @property
    def _is_register(self) -> bool:
        form = (self.tree, self.products, self.bits, self.guard, self.partial, self.dot)
        return form == ("flat", "exact", None, 0, KEPT, 1) and self.c != "last" and self.specials != NORMAL

    @property
    def chain(self) -> bool:
        """Whether each product is added by a fused multiply-add with the running sum, as IEEE 754 defines it."""
        form = (self.tree, self.c, self.products, self.flush)
        return self._by_ieee and form == ("sequential", "with", "exact", False)

    @property
    def plain(self) -> bool:
        """Whether the rule consists of IEEE operations: a chain, or a tree of rounded products and sums of two."""
        trees = ("neighbours", "halves", "sequential")
        return self.chain or (self._by_ieee and self.products == "rounded" and self.c == "last" and self.tree in trees)

    @property
    def _by_ieee(self) -> bool:
        nearest = Rounding.TO_NEAREST_EVEN.spelling
        ieee = (self.bits, self.fraction, self.zero, self.partial, self.rounding) == (
            None, None, "ieee", nearest, nearest,
        )  # fmt: skip
        return ieee and self.overflow != "saturate" and not self.product_overflow

    @cached_property
    def text(self) -> str:
        """The rule in its text form."""
        return PREFIX + ",".join(
            f"{each.name}={spelled(getattr(self, each.name))}"
            for each in fields(self)
            if getattr(self, each.name) != each.default
        )

    def __str__(self) -> str:
        return self.text

    @staticmethod
    def from_text(text: str) -> Accumulator:
        """Read the text form. Raises ValueError for any other text."""
        return _from_text(text)

    def sum_format(self, d: str) -> FloatFormat:
        """Return the format to which sums are rounded if the result has the type ``d``: the format ``d``, with the
        number of fraction bits that the field ``fraction`` gives.
        """
        fmt = FORMATS[d]
        return fmt if self.fraction is None else _with_fraction(fmt, self.fraction)

    def check(self, types: tuple[str, str], d: str, scale: str = "") -> None:
        """Raise ValueError if the rule cannot be used with these element types of A and B, and of D."""
        if d not in FORMATS:
            given = [each.name for each in fields(self) if getattr(self, each.name) != each.default]
            about_floats = [name for name in given if name not in _FOR_INTEGERS]
            if about_floats:
                raise ValueError(f"accumulator: {about_floats[0]} is for floats, but {d} is an integer")
            if self.c == "end":
                raise ValueError(f"accumulator: c=end is for floats, but {d} is an integer")
            if self.overflow == "infinity":
                raise ValueError(f"accumulator: {d} has no infinity")
            if self.width is not None and self.width > int(d[1:]):
                raise ValueError(f"accumulator: width={self.width} does not fit into {d}: name a wider type of C and D")
            return
        fmt = FORMATS[d]
        if self.width is not None:
            raise ValueError(f"accumulator: width is for integers, but {d} is a float")
        if fmt.nan is not NanEncoding.IEEE or fmt.bits > 64:
            raise ValueError(f"accumulator: sums in {d} are not defined: C and D must be an IEEE type of up to 64 bits")
        if self.fraction is not None and not 1 <= self.fraction <= fmt.mantissa_bits:
            raise ValueError(
                f"accumulator: {d} has 1 to {fmt.mantissa_bits} fraction bits, not fraction={self.fraction}"
            )
        if self.order and scale:
            raise ValueError("accumulator: order cannot be used for operations with scales")
        if self.steps != OWN and not all(holds(self.steps, each) for each in types):
            raise ValueError(
                f"accumulator: steps={self.steps} does not have all values of {' or '.join(dict.fromkeys(types))}"
            )
        if self.dot > 1 and (types != ("f4E2M1FN", "f4E2M1FN") or not scale):
            raise ValueError("accumulator: dot can be used only for f4E2M1FN with scales")


@lru_cache(maxsize=1)
def _every_field() -> tuple[Field[Any], ...]:
    return fields(Accumulator)


def _check(name: str, value: Any, about: Any, optional: bool | None) -> None:
    """Raise ValueError if a field cannot have a value. ``optional``: see `_OPTIONAL`; None for other fields."""
    if about["choices"]:
        fine = value in about["choices"]
    elif optional is None:
        fine = isinstance(value, bool)
    elif value is None:
        fine = optional
    else:
        fine = isinstance(value, int) and not isinstance(value, bool) and about["low"] <= value <= MOST_BITS
    if not fine:
        hint = did_you_mean(str(value), about["choices"])
        if str(value) in MISLEADING_ROUNDINGS and _MODES[0] in about["choices"]:
            hint = f"{value!r} is not clear: {MISLEADING_ROUNDINGS[str(value)]}"
        raise ValueError(with_hint(f"accumulator: {name} is {value!r}, but must be {_allowed(about, optional)}", hint))


def _allowed(about: Any, optional: bool | None) -> str:
    """Tell in words which values a field can have."""
    if about["choices"]:
        return f"one of {', '.join(about['choices'])}"
    if optional is None:
        return "true or false"
    return f"an integer from {about['low']} to {MOST_BITS}{f', or {NOTHING}' if optional else ''}"


_OPTIONAL = {
    name: hint == int | None for name, hint in get_type_hints(Accumulator).items() if hint in (int, int | None)
}
"""The fields that are integers, and whether they may be None."""

_FOR_INTEGERS = ("group", "tree", "c", "overflow", "width", "specials")


def spelled(value: Any) -> str:
    """Return the value of a field as it is written in the text form."""
    return NOTHING if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@lru_cache(maxsize=256)
def _from_text(text: str) -> Accumulator:
    if not text.startswith(PREFIX):
        raise ValueError(f"{text!r} is not an accumulator: the text of one begins with {PREFIX}")
    known = {each.name: each for each in fields(Accumulator)}
    given: dict[str, Any] = {}
    for part in filter(None, text.removeprefix(PREFIX).split(",")):
        name, equals, value = (each.strip() for each in part.partition("="))
        if name not in known:
            near = did_you_mean(name, known) or f"the fields are {', '.join(known)}"
            raise ValueError(with_hint(f"an accumulator has no field {name!r}", near))
        if not equals or not value:
            allowed = _allowed(known[name].metadata, _OPTIONAL.get(name))
            raise ValueError(f"accumulator: {name} has no value; it must be {allowed}")
        if name in given:
            raise ValueError(f"accumulator: {name} is given twice")
        given[name] = _read(name, value, known[name].metadata["choices"])
    return Accumulator(**given)


def _named(value: Any, choices: tuple[str, ...]) -> Any:
    """Return MLIR's keyword for any name of a rounding mode; any other value stays as it is."""
    if _MODES[0] not in choices or not isinstance(value, str) or value in choices:
        return value
    try:
        return as_rounding(value).spelling
    except ValueError:
        return value


def _read(name: str, value: str, choices: tuple[str, ...]) -> Any:
    if choices:
        return value
    if name in _OPTIONAL:
        if value == NOTHING:
            return None
        digits = value.removeprefix("-")
        return int(value) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else value
    return {"true": True, "false": False}.get(value.lower(), value)


@lru_cache
def _with_fraction(fmt: FloatFormat, fraction: int) -> FloatFormat:
    return FloatFormat(f"{fmt.name} with {fraction} fraction bits", fmt.exponent_bits, fraction, fmt.bias)


def level_of(tree: str, terms: int) -> tuple[slice, slice, slice]:
    """Return which terms are added on one level of a tree: the first operands and the second operands of the additions,
    and the terms without a partner, as slices of the terms. On the next level the sums come first, then the terms
    without a partner.
    """
    half = terms // 2
    match tree:
        case "sequential":
            return slice(0, 1), slice(1, 2), slice(2, None)
        case "neighbours":
            return slice(0, 2 * half, 2), slice(1, 2 * half, 2), slice(2 * half, None)
    return slice(0, half), slice(half, 2 * half), slice(2 * half, None)


def shape_of(tree: str, terms: int) -> list[tuple[int, int]]:
    """Return the additions of a tree in order, each as the numbers of its two operands.

    The terms have the numbers from 0, and the sums have the numbers after them, in the order of the additions.
    """
    level, additions = list(range(terms)), list[tuple[int, int]]()
    while len(level) > 1:
        first, second, rest = level_of(tree, len(level))
        begin = terms + len(additions)
        additions += zip(level[first], level[second], strict=True)
        level = [*range(begin, terms + len(additions)), *level[rest]]
    return additions


def places_of(rule: Accumulator | None, op: TileOp, length: int) -> list[int]:
    """Return the places along K in the order in which a rule takes them. ``length``: the number of places."""
    order = range(op.shape[2]) if op.order is None else op.order
    places = [start + k for start in range(0, length, len(order)) for k in order]
    if rule is None or not rule.order:
        return places
    dealt = rule.dealt(op.shape[2])
    return [places[start + k] for start in range(0, length, op.shape[2]) for k in dealt]
