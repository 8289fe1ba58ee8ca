"""Mistakes of designers, planted in datapaths on Python integers that know nothing of halfulp.

`Unit` is a unit in the formats of IEEE 754 of any width: it decodes, computes, rounds and encodes by itself. Each function
of `MISTAKES` takes a random generator, ``dice``, and gives a unit with one mistake, and the names under which `vectors check`
may report it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from planted_devices import Dice, pick

from halfulp.codegen.tile_names import operation_named
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.columns import Chunk
from halfulp.conformance.vectors.computation import Computation, OpComputation
from halfulp.conformance.vectors.packing import LevelName
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.fp_formats.formats import storage_dtype
from halfulp.semantics.profile import as_profile

I, U, O, Z, V = 1, 2, 4, 8, 16  # noqa: E741
"""The flags: inexact, underflow, overflow, division by zero, invalid."""


class Fmt(NamedTuple):
    """A format of IEEE 754: the widths of its exponent and of its fraction."""

    name: str
    e: int
    m: int

    @property
    def bias(self) -> int:
        return (1 << self.e - 1) - 1

    @property
    def emin(self) -> int:
        return 1 - self.bias

    @property
    def bits(self) -> int:
        return 1 + self.e + self.m

    @property
    def inf(self) -> int:
        return ((1 << self.e) - 1) << self.m

    @property
    def nan(self) -> int:
        return self.inf | 1 << self.m - 1


F16, BF16, F32 = Fmt("f16", 5, 10), Fmt("bf16", 8, 7), Fmt("f32", 8, 23)
E5M2, E4M3 = Fmt("f8E5M2", 5, 2), Fmt("f8E4M3", 4, 3)
E6M9, E3M7 = (
    Fmt(f'!halfulp.float<"e{e}m{m}", exponent = {e}, mantissa = {m}, bias = {(1 << e - 1) - 1}>', e, m)
    for e, m in ((6, 9), (3, 7))
)
FMTS = (F16, BF16, E6M9, E3M7, E4M3, E5M2)
WIDER = (F16, BF16, E6M9, E3M7)

MODES = ("to_nearest_even", "toward_zero", "upward", "downward", "to_nearest_away")


class X(NamedTuple):
    """A number: (-1)**s * n * 2**e, of which the exponent field is ``f``; ``kind``: "", "inf", "nan" or "snan"."""

    s: int
    n: int
    e: int
    f: int
    kind: str
    code: int


@dataclass
class Unit:
    """A unit with mistakes. Each entry of ``wrong`` is a mistake with its parameter."""

    op: str
    src: Fmt
    dst: Fmt
    mode: str = "to_nearest_even"
    wrong: dict[str, Any] = field(default_factory=dict)

    def read(self, code: int, place: int = 0) -> X:
        fmt, wrong = self.src, self.wrong
        s, f, n = code >> fmt.bits - 1, code >> fmt.m & (1 << fmt.e) - 1, code & (1 << fmt.m) - 1
        if f == (1 << fmt.e) - 1:
            return X(s, 0, 0, f, ("nan" if n >> fmt.m - 1 else "snan") if n else "inf", code)
        e = max(f, 1) - fmt.bias - fmt.m
        here = wrong.get("at", place) == place
        implicit = f > 0
        if here and not f:
            if (n and "subnormal_as_normal" in wrong) or (not n and "zero_as_one" in wrong):
                implicit = True
            if n and "subnormal_as_zero" in wrong:
                n = 0
            if n and "subnormal_half" in wrong:
                e -= 1
        if here and "operand_power" in wrong and (n or implicit):
            e += wrong["operand_power"]
        return X(s, n | implicit << fmt.m, e, f, "", code)

    # Rounding.

    def pack(self, s: int, n: int, e: int, dst: Fmt | None = None, mode: str | None = None) -> tuple[int, int]:
        """Round a number other than 0."""
        fmt, wrong = dst or self.dst, self.wrong if dst is None else {}
        mode = mode or self.mode
        if "power" in wrong:
            e += wrong["power"]
        lead = n.bit_length() - 1 + e
        low = max(lead, fmt.emin) - fmt.m
        if e > low:
            n, e = n << e - low, low
        shift = low - e
        kept, rest = n >> shift, n & (1 << shift) - 1
        guard = rest >> shift - 1 & 1 if shift else 0
        under, width = rest & (1 << max(shift - 1, 0)) - 1, max(shift - 1, 0)
        if "sticky_lost" in wrong:
            under = 0
        if "sticky_first" in wrong:
            under = under >> max(width - wrong["sticky_first"], 0)
        if "sticky_not_first" in wrong:
            under &= (1 << max(width - wrong["sticky_not_first"], 0)) - 1
        if "sticky_not_last" in wrong:
            under = under >> wrong["sticky_not_last"]
        if "sticky_gap" in wrong:
            end = max(width - 1, 0)
            under &= ~((1 << end) - (1 << max(end - wrong["sticky_gap"], 0)))
        if "guard_lost" in wrong:
            guard = 0
        sticky = under != 0
        inexact = bool(guard or sticky)
        up = self.up(mode, s, kept & 1, guard, sticky)
        if "always_up" in wrong and inexact:
            up = True
        made = kept + up
        carry = up and made & (1 << fmt.m) - 1 == 0
        field = low + fmt.m - fmt.emin  # the integer bit adds 1
        size = (field << fmt.m) + made
        tiny = lead < fmt.emin and not (lead == fmt.emin - 1 and self.rounds_up_unbounded(fmt, mode, s, n, e, lead))
        flags = I * inexact | U * (inexact and tiny)
        if carry and size <= fmt.inf:
            first = size == 1 << fmt.m
            if ("carry_lost" in wrong and not first) or ("smallest_carry_lost" in wrong and first):
                size -= 1 << fmt.m
        if "field_power" in wrong and 0 < size < fmt.inf:
            size += wrong["field_power"] << fmt.m
            size = min(max(size, 0), fmt.inf)
        if size >= fmt.inf:
            if "overflow_code" in wrong:
                return wrong["overflow_code"][s], O | I
            to_inf = mode in ("to_nearest_even", "to_nearest_away") or mode == ("downward" if s else "upward")
            return s << fmt.bits - 1 | (fmt.inf if to_inf else fmt.inf - 1), O | I
        if "flush_code" in wrong and 0 <= size < 1 << fmt.m:
            return s << fmt.bits - 1, U | I
        return s << fmt.bits - 1 | size, flags

    @staticmethod
    def up(mode: str, s: int, odd: int, guard: int, sticky: bool) -> bool:
        return {
            "to_nearest_even": bool(guard and (sticky or odd)),
            "to_nearest_away": bool(guard),
            "toward_zero": False,
            "upward": bool((guard or sticky) and not s),
            "downward": bool((guard or sticky) and s),
        }[mode]

    def rounds_up_unbounded(self, fmt: Fmt, mode: str, s: int, n: int, e: int, lead: int) -> bool:
        shift = lead - fmt.m - e
        if shift <= 0:
            return False
        kept, rest = n >> shift, n & (1 << shift) - 1
        up = self.up(mode, s, kept & 1, rest >> shift - 1, rest & (1 << shift - 1) - 1 != 0)
        return kept + up == 1 << fmt.m + 1

    # Operations.

    def __call__(self, *codes: int) -> tuple[int, int]:
        xs = [self.read(code, k) for k, code in enumerate(codes)]
        code, flags = self.special(xs) or getattr(self, self.op)(*xs)
        return self.after(xs, code, flags)

    def after(self, xs: Sequence[X], code: int, flags: int) -> tuple[int, int]:
        """Change the flags and the code at the end."""
        fmt, wrong = self.dst, self.wrong
        size = code & (1 << fmt.bits - 1) - 1
        nan_operand, nan = any("nan" in x.kind for x in xs), size > fmt.inf
        if "nan_code" in wrong and nan:
            code = wrong["nan_code"]
        if "inf_sign" in wrong and size == fmt.inf:
            code = size
        if "zero_plus" in wrong and not size:
            code = 0
        if "invalid_quiet" in wrong and nan_operand:
            flags |= V
        if "invalid_never_snan" in wrong and any(x.kind == "snan" for x in xs):
            flags &= ~V
        if "overflow_infinite" in wrong and size != fmt.inf:
            flags &= ~O
        if "underflow_zero" in wrong and size:
            flags &= ~U
        if "underflow_exact" in wrong and 0 < size < 1 << fmt.m:
            flags |= U
        if "overflow_exact" in wrong and flags & O:
            flags &= ~I
        if "underflow_as_overflow" in wrong and flags & U:
            flags = flags & ~U | O
        if "no_inexact" in wrong:
            flags &= ~I
        return code, flags

    def quiet(self, x: X) -> int:
        """Return a NaN of the source in the target."""
        payload = x.code & (1 << self.src.m) - 1
        payload = payload << self.dst.m >> self.src.m if self.dst.m != self.src.m else payload
        return x.s << self.dst.bits - 1 | self.dst.nan | payload

    def special(self, xs: list[X]) -> tuple[int, int] | None:
        fmt = self.dst
        nans = [x for x in xs if "nan" in x.kind]
        if self.op == "fma" and not nans and {xs[0].kind, xs[1].kind} == {"inf", ""} and not (xs[0].n or xs[1].n):
            return fmt.nan, V
        if nans:
            one = nans[-1] if "last_nan" in self.wrong else nans[0]
            invalid = any(x.kind == "snan" for x in nans)
            if self.op == "fma" and "inf" in (xs[0].kind, xs[1].kind):
                pair = [x for x in xs[:2] if x.kind != "inf"]
                invalid |= bool(pair and not pair[0].kind and not pair[0].n)
            return self.quiet(one), V * invalid
        if not any(x.kind for x in xs):
            return None
        if self.op == "add":
            a, b = xs
            if a.kind and b.kind and a.s != b.s:
                return fmt.nan, V
            return (a if a.kind else b).s << fmt.bits - 1 | fmt.inf, 0
        if self.op == "mul":
            a, b = xs
            if any(not x.kind and not x.n for x in xs):
                return fmt.nan, V
            return (a.s ^ b.s) << fmt.bits - 1 | fmt.inf, 0
        if self.op == "fma":
            a, b, c = xs
            product = a.s ^ b.s
            if a.kind or b.kind:
                return (fmt.nan, V) if c.kind and c.s != product else (product << fmt.bits - 1 | fmt.inf, 0)
            return c.s << fmt.bits - 1 | fmt.inf, 0
        return xs[0].s << fmt.bits - 1 | fmt.inf, 0

    def sum(self, terms: list[tuple[int, int, int]]) -> tuple[int, int]:
        """Add two exact terms: sign, integer, exponent of its last bit."""
        low = min(e for _, _, e in terms)
        total = sum((-1) ** s * (n << e - low) for s, n, e in terms)
        if total:
            return self.pack(int(total < 0), abs(total), low)
        signs = {s for s, _, _ in terms}
        s = signs.pop() if len(signs) == 1 else int(self.mode == "downward")
        if "cancel_minus" in self.wrong and all(n for _, n, _ in terms):
            s = 1
        return s << self.dst.bits - 1, 0

    def aligned(self, terms: list[tuple[int, int, int]], fields: list[int]) -> list[tuple[int, int, int]]:
        """Shift the term of the smaller exponent, with the mistakes of a shifter. ``fields``: the exponents."""
        wrong = self.wrong
        if not {"shift_most", "shift_drop", "shift_bits", "drop_bit"} & wrong.keys() or not all(n for _, n, _ in terms):
            return terms
        diff = abs(fields[0] - fields[1])
        if fields[0] == fields[1]:
            k = 1 if terms[1][1] << 500 + terms[1][2] <= terms[0][1] << 500 + terms[0][2] else 0
        else:
            k = 0 if fields[0] < fields[1] else 1
        s, n, e = terms[k]
        if "shift_most" in wrong:
            e += max(diff - wrong["shift_most"], 0)
        if "shift_drop" in wrong and diff > wrong["shift_drop"]:
            n = 0
        if "shift_bits" in wrong:
            e += diff - diff % (1 << wrong["shift_bits"])
        if "drop_bit" in wrong and wrong.get("drop_at", diff) == diff:
            position = max(fields) - self.dst.m - wrong["drop_bit"] - e
            if position >= 0:
                n &= ~(1 << position)
        return [(s, n, e) if j == k else term for j, term in enumerate(terms)]

    def cut(self, terms: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        """Cut terms to the accumulator."""
        if "bits" not in self.wrong or not any(n for _, n, _ in terms):
            return terms
        low = max(n.bit_length() + e for _, n, e in terms if n) - self.wrong["bits"]
        return [(s, n >> low - e << low - e if low > e else n, e) for s, n, e in terms]

    def add(self, a: X, b: X) -> tuple[int, int]:
        terms = [(x.s, x.n, x.e) for x in (a, b)]
        if "sticky_anded" in self.wrong and a.s == b.s:
            # After the significand come guard, round, and a bit for all that follow. A carry shifts the last two out.
            top, low = max(a.e, b.e), min(a.e, b.e) - 3
            n = (a.n << a.e - low) + (b.n << b.e - low)
            round_bit, rest = n >> top - 2 - low & 1, n & (1 << top - 2 - low) - 1
            if n.bit_length() + low > top + self.src.m + 1 and round_bit != (rest > 0):
                n = n >> top - 1 - low << top - 1 - low
            return self.pack(a.s, n, low) if n else (a.s << self.dst.bits - 1, 0)
        return self.sum(self.cut(self.aligned(terms, [x.e + self.src.m for x in (a, b)])))

    def mul(self, a: X, b: X) -> tuple[int, int]:
        s = a.s ^ b.s
        if not a.n or not b.n:
            return s << self.dst.bits - 1, 0
        ((_, n, e),) = self.cut([(s, a.n * b.n, a.e + b.e)])
        return self.pack(s, n, e)

    def fma(self, a: X, b: X, c: X) -> tuple[int, int]:
        m = self.src.m
        product = (a.s ^ b.s, a.n * b.n, a.e + b.e)
        if "product_power" in self.wrong:
            product = (product[0], product[1], product[2] + self.wrong["product_power"])
        if "product_rounded" in self.wrong and product[1]:
            mode = "toward_zero" if self.wrong["product_rounded"] == "cut" else self.mode
            made = self.pack(*product, self.dst, mode)[0]
            x = Unit("", self.dst, self.dst).read(made)
            if not x.kind:
                product = (x.s, x.n, x.e)
        terms = [product, (c.s, c.n, c.e)]
        fields = [product[2] + 2 * m, c.e + m]
        return self.sum(self.cut(self.aligned(terms, fields)))

    def cvt(self, a: X) -> tuple[int, int]:
        return self.pack(a.s, a.n, a.e) if a.n else (a.s << self.dst.bits - 1, 0)


OPS = {"add": "arith.addf", "mul": "arith.mulf", "fma": "math.fma"}


class Mistake(NamedTuple):
    """A faulty unit. ``rows``: the right rows, ``outputs``: what it gives, ``names``: what may be said first."""

    computation: Computation
    rows: Chunk
    outputs: Chunk
    names: tuple[str, ...]


def computation_of(unit: Unit) -> OpComputation:
    if unit.op == "cvt":
        narrower = unit.dst.bits < unit.src.bits
        op = "arith.truncf" if narrower else "arith.convertf"
        return OpComputation(op_case(op, unit.src.name, unit.dst.name, **_rounding(unit)))
    return OpComputation(op_case(OPS[unit.op], unit.src.name, **_rounding(unit)))


def _rounding(unit: Unit) -> dict[str, str]:
    return {} if unit.mode == MODES[0] else {"rounding": unit.mode}


def right_rows(dice: Dice, computation: Computation, count: int = 3000) -> Chunk:
    level: LevelName = "weighted"
    if isinstance(computation, OpComputation):
        level = pick(dice, ("1", "2", "random", "weighted"))
    return Recipe(computation, level, seed=int(dice.integers(1 << 30)), count=count).vectors().gather()


def outputs_of(unit: Callable[..., tuple[int, ...]], computation: Computation, rows: Chunk) -> Chunk:
    """Return what a unit gives for the operands of rows."""
    given = rows[: len(computation.inputs)]
    made = [unit(*codes) for codes in zip(*(column.tolist() for column in given), strict=True)]
    columns = zip(*made, strict=True)
    return tuple(
        np.array(codes, storage_dtype(column.width))
        for codes, column in zip(columns, computation.outputs, strict=False)
    )


def planted(dice: Dice, unit: Unit, *names: str, count: int = 3000) -> Mistake:
    computation = computation_of(unit)
    rows = right_rows(dice, computation, count)
    return Mistake(computation, rows, outputs_of(unit, computation, rows), names)


def some(dice: Dice, ops: tuple[str, ...] = ("add", "mul", "fma"), fmts: tuple[Fmt, ...] = FMTS, **wrong: Any) -> Unit:
    """Return a unit of some op and format, or a conversion of f16, with mistakes."""
    op, fmt = pick(dice, ops), pick(dice, fmts)
    src, dst = (F32, pick(dice, (F16, BF16, E4M3, E5M2))) if op == "cvt" else (fmt, fmt)
    return Unit(op, src, dst, wrong=wrong)


# --- mistakes ---------------------------------------------------------------------------------------------------------

ALL_OPS = ("add", "mul", "fma", "cvt")


def plural(count: int) -> str:
    return f"{count} bit{'s'[: count > 1]}"


def sticky_lost(dice: Dice) -> Mistake:
    return planted(dice, some(dice, ("mul", "fma", "cvt"), sticky_lost=1), "the sticky bit lost")


def sticky_first(dice: Dice) -> Mistake:
    bits = int(dice.integers(1, 4))
    return planted(
        dice, some(dice, ("mul", "cvt"), (F16, BF16, E6M9, E3M7), sticky_first=bits),
        "the sticky bit of the first", "the sticky bit without the last",
    )  # fmt: skip


def sticky_not_first(dice: Dice) -> Mistake:
    unit = some(dice, ("mul", "cvt"), (F16, BF16, E6M9, E3M7), sticky_not_first=int(dice.integers(1, 4)))
    return planted(dice, unit, "the sticky bit without the first")


def sticky_not_last(dice: Dice) -> Mistake:
    unit = some(dice, ("mul",), (F16, BF16, E6M9, E3M7), sticky_not_last=int(dice.integers(1, 5)))
    return planted(dice, unit, "the sticky bit without the last", "the sticky bit of the first", "an accumulator of")


def sticky_gap(dice: Dice) -> Mistake:
    bits = int(dice.integers(1, 4))
    unit = some(dice, ("mul",), WIDER, sticky_gap=bits)
    return planted(dice, unit, f"the sticky bit without {plural(bits)} after the round bit")


def sticky_anded(dice: Dice) -> Mistake:
    return planted(
        dice,
        some(dice, ("add",), WIDER, sticky_anded=1),
        "the bits that a carry shifts out ANDed, not ORed",
        count=6000,
    )


def guard_lost(dice: Dice) -> Mistake:
    return planted(dice, some(dice, ("mul", "cvt"), guard_lost=1), "rounding=toward_zero", "the guard bit lost")


def guard_of_smaller(dice: Dice) -> Mistake:
    return planted(dice, some(dice, ("add", "fma"), drop_bit=1), "the guard bit of the smaller term dropped")


def round_of_smaller(dice: Dice) -> Mistake:
    return planted(dice, some(dice, ("add", "fma"), drop_bit=2), "the round bit of the smaller term dropped")


def guard_at_a_shift(dice: Dice) -> Mistake:
    at = int(dice.integers(1, 4))
    unit = some(dice, ("add",), WIDER, drop_bit=1, drop_at=at)
    return planted(dice, unit, f"the guard bit of the smaller term dropped where exponents differ by {at}", count=6000)


def shift_most(dice: Dice) -> Mistake:
    most = int(dice.integers(1, 7))
    return planted(dice, some(dice, ("add",), WIDER, shift_most=most), f"no alignment by more than {most} places")


def shift_drop(dice: Dice) -> Mistake:
    most = int(dice.integers(1, 7))
    unit = some(dice, ("add", "fma"), WIDER, shift_drop=most)
    return planted(dice, unit, f"terms dropped that are aligned by more than {most} places")


def shift_bits(dice: Dice) -> Mistake:
    bits = int(dice.integers(2, 4))
    return planted(dice, some(dice, ("add",), WIDER, shift_bits=bits), f"alignment by the last {bits} bits")


def narrow(dice: Dice) -> Mistake:
    unit = some(dice, ("add", "fma"))
    unit.wrong["bits"] = bits = unit.dst.m + 1 + int(dice.integers(-1, 3))
    return planted(dice, unit, f"an accumulator of {plural(bits)} without", "rounding=toward_zero")


def carry_lost(dice: Dice) -> Mistake:
    return planted(dice, some(dice, ALL_OPS, (E4M3, E5M2, E3M7), carry_lost=1), "the carry out of rounding", count=6000)


def smallest_carry_lost(dice: Dice) -> Mistake:
    unit = some(dice, ("mul", "cvt"), (E4M3, E5M2), smallest_carry_lost=1)
    return planted(
        dice, unit, "the carry into the smallest normal number lost", "the carry out of rounding", count=6000
    )


def cancelled_sign(dice: Dice) -> Mistake:
    unit = some(dice, ("add",), (E4M3, E5M2, E3M7), cancel_minus=1)
    return planted(dice, unit, "the sign of cancelled sums always -", count=6000)


def zero_plus(dice: Dice) -> Mistake:
    return planted(dice, some(dice, zero_plus=1), "the sign of zeros always +")


def one_nan(dice: Dice) -> Mistake:
    unit = some(dice)
    unit.wrong["nan_code"] = code = unit.dst.inf + 1 + int(dice.integers(2)) * (1 << unit.dst.bits - 1)
    return planted(dice, unit, f"NaN always 0x{code:0{-(-unit.dst.bits // 4)}X}", "nan_result=")


def last_nan(dice: Dice) -> Mistake:
    return planted(dice, some(dice, ("add", "mul"), (E4M3, E3M7), last_nan=1), "the NaN b before others", count=6000)


def invalid_for_quiet(dice: Dice) -> Mistake:
    return planted(dice, some(dice, ALL_OPS, invalid_quiet=1), "the flag invalid for every NaN")


def invalid_not_for_signalling(dice: Dice) -> Mistake:
    return planted(
        dice,
        some(dice, fmts=(E4M3, E5M2), invalid_never_snan=1),
        "the flag invalid never for signalling NaNs",
        "the flag invalid never raised",
        count=6000,
    )


def overflow_where_infinite(dice: Dice) -> Mistake:
    unit = some(dice, ALL_OPS, (E4M3, E5M2, E3M7), overflow_infinite=1)
    unit.mode = pick(dice, ("toward_zero", "upward", "downward"))
    return planted(
        dice, unit, "overflow raised only where the result is infinite", "the flag overflow never raised", count=6000
    )


def underflow_where_zero(dice: Dice) -> Mistake:
    unit = some(dice, ("mul", "fma", "cvt"), (E4M3, E5M2, E3M7), underflow_zero=1)
    return planted(dice, unit, "underflow raised only where the result is zero")


def underflow_where_exact(dice: Dice) -> Mistake:
    return planted(dice, some(dice, ALL_OPS, (E4M3, E5M2, E3M7), underflow_exact=1), "underflow raised for exact")


def inexact_not_with_overflow(dice: Dice) -> Mistake:
    return planted(dice, some(dice, ALL_OPS, (E4M3, E5M2, E3M7), overflow_exact=1), "inexact not raised with overflow")


def underflow_as_overflow(dice: Dice) -> Mistake:
    unit = some(dice, ("mul", "cvt"), underflow_as_overflow=1)
    return planted(dice, unit, "the flag overflow in place of underflow")


def no_inexact(dice: Dice) -> Mistake:
    return planted(dice, some(dice, ALL_OPS, no_inexact=1), "the flag inexact never raised")


def power(dice: Dice) -> Mistake:
    k = int(pick(dice, (-2, -1, 1, 2)))
    names = [f"{what} times 2^{k}" for what in ("the exact result", "the rounded result")]
    return planted(dice, some(dice, ALL_OPS, power=k), *names)


def field_power(dice: Dice) -> Mistake:
    k = int(pick(dice, (-2, -1, 1, 2)))
    return planted(
        dice,
        some(dice, ALL_OPS, WIDER, field_power=k),
        f"the rounded result times 2^{k}",
        f"the exact result times 2^{k}",
    )


def operand_power(dice: Dice) -> Mistake:
    k, at = int(pick(dice, (-2, -1, 1, 2))), int(dice.integers(2))
    return planted(dice, some(dice, ("add",), WIDER, operand_power=k, at=at), f"{'ab'[at]} times 2^{k}")


def product_power(dice: Dice) -> Mistake:
    k = int(pick(dice, (-2, -1, 1, 2)))
    return planted(dice, some(dice, ("fma",), WIDER, product_power=k), f"the product times 2^{k}", f"a times 2^{k}")


def overflow_code(dice: Dice) -> Mistake:
    unit = some(dice, ALL_OPS, (E4M3, E5M2, F16, E3M7))
    top = 1 << unit.dst.bits - 1
    code = int(dice.integers(unit.dst.inf >> 1, unit.dst.inf - 1))
    unit.wrong["overflow_code"] = (code, code | top)
    return planted(dice, unit, "overflow above gives", "overflow below gives")


def subnormal_as_normal(dice: Dice) -> Mistake:
    return planted(
        dice,
        some(dice, ALL_OPS[:3], (E4M3, E5M2, F16, E3M7), subnormal_as_normal=1),
        "subnormals with the implicit bit",
    )


def subnormal_of_one(dice: Dice) -> Mistake:
    at = int(dice.integers(2))
    unit = some(dice, ("add", "mul"), (E4M3, E5M2, F16, E3M7), subnormal_as_zero=1, at=at)
    return planted(dice, unit, f"subnormals of {'ab'[at]} taken as zero")


def subnormal_half(dice: Dice) -> Mistake:
    unit = some(dice, ("add", "mul", "fma"), (E4M3, E5M2, E3M7), subnormal_half=1)
    return planted(dice, unit, "subnormals with the exponent of field 0")


def zero_as_one(dice: Dice) -> Mistake:
    return planted(
        dice, some(dice, ("add", "fma"), (E4M3, E5M2, F16, E3M7), zero_as_one=1), "zeros with the implicit bit"
    )


def product_rounded(dice: Dice) -> Mistake:
    how = pick(dice, ("rounded", "cut"))
    return planted(dice, some(dice, ("fma",), product_rounded=how), f"the product {how} before the sum")


def flushed_by_code(dice: Dice) -> Mistake:
    unit = some(dice, ("mul", "cvt"), (E4M3, E5M2), flush_code=1)
    return planted(dice, unit, "denormals=flush_delivered", "denormals=flush_results", count=6000)


def infinity_sign(dice: Dice) -> Mistake:
    return planted(dice, some(dice, ALL_OPS, (E4M3, E5M2, E3M7), inf_sign=1), "the sign of infinities always +")


# Conversions to integers, and tables.


def bounds_of_integers(dice: Dice) -> Mistake:
    """An unsigned conversion with the bound of signed integers as what is too large; or the other way round."""
    src, signed = pick(dice, (F16, BF16)), bool(dice.integers(2))
    op, width = ("fcvt_to_si" if signed else "fcvt_to_ui"), 8
    case = op_case(op, src.name, f"i{width}", rounding="toward_zero")
    computation = OpComputation(case, as_profile("spec,float_to_int=saturate_nan_max"))
    low, high = (-128, 127) if signed else (0, 255)
    too_large = 255 if signed else 127

    def unit(code: int) -> tuple[int, int]:
        x = Unit("", src, src).read(code)
        if "nan" in x.kind:
            return high, V
        number = (x.n << x.e if x.e >= 0 else x.n >> -x.e) * (-1) ** x.s if not x.kind else (-1) ** x.s << 40
        exact = bool(x.kind) or x.e >= 0 or not x.n & (1 << -x.e) - 1
        if number > high or number < low:
            return (too_large if number > 0 else low & 255), V
        return number & 255, 0 if exact else I

    rows = Recipe(computation, "exhaustive").vectors().gather()
    return Mistake(
        computation, rows, outputs_of(unit, computation, rows), (f"a number too large gives 0x{too_large:02X}",)
    )


def table_off(dice: Dice) -> Mistake:
    """A table of 2^m fractions of which some neighbours are one too large."""
    fmt, op = pick(dice, ((E4M3, "math.exp2"), (F16, "math.sqrt"), (BF16, "math.exp2"), (F16, "math.exp2")))
    computation = OpComputation(op_case(op, fmt.name), flags=False)
    rows = Recipe(computation, "exhaustive").vectors().gather()
    codes, result = rows[0].astype(np.int64), rows[1].astype(np.int64)
    low = int(dice.integers(1, (1 << fmt.m) - 2))
    high = int(dice.integers(low, (1 << fmt.m) - 1))
    fraction = codes & (1 << fmt.m) - 1
    finite = (result & (1 << fmt.bits - 1) - 1 < fmt.inf - 1) & (result > 0)
    wrong = (fraction >= low) & (fraction <= high) & finite & (codes < fmt.inf)
    kept = ~((fraction >= low) & (fraction <= high)) | wrong
    rows = tuple(column[kept] for column in rows)
    made = (result + wrong)[kept].astype(rows[1].dtype)
    return Mistake(computation, rows, (made,), (f"its fraction from {low:#X} to {high:#X}".replace("0X", "0x"),))


# Dot products: a chain of fused multiply-adds in f32, and what is wrong with it.


@dataclass
class Dot:
    """A chain of multiply-adds of ``src`` in f32. ``order``: that of the products."""

    src: Fmt
    size: int
    how: str = "chain"
    order: Sequence[int] = ()
    dst: Fmt = F32
    wrong: dict[str, Any] = field(default_factory=dict)
    """What is wrong with the multipliers of rounded products."""
    sums: dict[str, Any] = field(default_factory=dict)
    """What is wrong with the adders."""

    def __call__(self, *codes: int) -> tuple[int, ...]:
        k, d = self.size, self.dst
        fma, add, multiply = Unit("fma", d, d), Unit("add", d, d, wrong=self.sums), Unit("mul", d, d, wrong=self.wrong)
        a, b = ([self.widened(code) for code in codes[i * k : i * k + k]] for i in (0, 1))
        total = codes[2 * k]
        order = list(self.order or range(k))
        if self.how == "last":
            total, c = 0, total
        for i in order:
            rounded = self.how == "rounded"
            total = add(total, multiply(a[i], b[i])[0])[0] if rounded else fma(a[i], b[i], total)[0]
        if self.how == "last":
            total = add(total, c)[0]
        return (total,)

    def widened(self, code: int) -> int:
        return Unit("cvt", self.src, self.dst)(code)[0]


def dotted(dice: Dice, dot: Dot, *names: str, count: int = 600) -> Mistake:
    name = {F16: "f16", BF16: "bf16", E5M2: "e5m2"}[dot.src]
    computation = TileComputation(
        operation_named(f"mma.m1n1k{dot.size}.{dot.dst.name}.{name}.{name}"),
        "custom:tree=sequential,partial=to_nearest_even" + ",products=rounded" * bool(dot.wrong or dot.sums),
    )
    rows = right_rows(dice, computation, count)
    finite = np.ones(len(rows[0]), np.bool_)
    for codes, fmt in zip(rows, [dot.src] * (2 * dot.size) + [dot.dst] * 2, strict=True):
        finite &= codes & (1 << fmt.bits - 1) - 1 < fmt.inf
    rows = tuple(codes[finite] for codes in rows)
    return Mistake(computation, rows, outputs_of(dot, computation, rows), names)


DOTS = (F16, BF16, E5M2)


def dot_last(dice: Dice) -> Mistake:
    return dotted(dice, Dot(pick(dice, DOTS), int(pick(dice, (4, 8))), "last"), "an accumulator with c=last")


def dot_rounded(dice: Dice) -> Mistake:
    return dotted(dice, Dot(F16, int(pick(dice, (4, 8))), "rounded", dst=F16), "an accumulator with products=rounded")


def dot_multiplier(dice: Dice) -> Mistake:
    how, told = pick(dice, (("sticky_lost", "sticky bit lost"), ("guard_lost", "guard bit lost")))
    dot = Dot(F16, int(pick(dice, (4, 8))), "rounded", dst=F16, wrong={how: 1})
    return dotted(dice, dot, f"products with the {told}")


def dot_adder(dice: Dice) -> Mistake:
    """A unit that ANDs what a carry shifts out in each sum, perhaps with a fault in its multipliers too."""
    wrong = {"sticky_anded": 1}
    name = "sums with the bits that a carry shifts out ANDed"
    dot = Dot(F16, int(pick(dice, (4, 8))), "rounded", dst=F16, sums=wrong)
    if dice.integers(2):
        dot.wrong = {"sticky_gap": 9}
        return dotted(dice, dot, *(f"products with {told} and {name}" for told in told_of_products(9)), count=3000)
    return dotted(dice, dot, name, count=3000)


def told_of_products(bits: int) -> list[str]:
    """Return what may be said of products of f16 whose sticky bit lacks all bits after the round bit."""
    gaps = [f"the sticky bit without {count} bits after the round bit" for count in (bits, bits + 1)]
    return ["the sticky bit of the first bit alone", f"the sticky bit without the last {bits} bits", *gaps]


def dot_reversed(dice: Dice) -> Mistake:
    size = int(pick(dice, (4, 8)))
    return dotted(dice, Dot(pick(dice, DOTS), size, order=range(size)[::-1]), "the products in the reverse order")


def dot_swapped(dice: Dice) -> Mistake:
    size = int(pick(dice, (4, 8)))
    one, other = sorted(int(k) for k in dice.choice(size, 2, replace=False))
    order = list(range(size))
    order[one], order[other] = other, one
    return dotted(dice, Dot(pick(dice, DOTS), size, order=order), f"the products {one} and {other} swapped")


MISTAKES: tuple[Callable[[Dice], Mistake], ...] = (
    sticky_lost, sticky_first, sticky_not_first, sticky_not_last, sticky_gap, guard_lost, guard_of_smaller,
    round_of_smaller, guard_at_a_shift, shift_most, shift_drop, shift_bits, narrow, carry_lost, smallest_carry_lost,
    cancelled_sign, zero_plus, one_nan, last_nan, invalid_for_quiet, invalid_not_for_signalling,
    overflow_where_infinite, underflow_where_zero, underflow_where_exact, inexact_not_with_overflow,
    underflow_as_overflow, no_inexact, power, field_power, operand_power, product_power, overflow_code,
    subnormal_as_normal, subnormal_of_one, subnormal_half, zero_as_one, product_rounded, flushed_by_code,
    infinity_sign, bounds_of_integers, table_off, dot_last, dot_rounded, dot_multiplier, dot_adder, dot_reversed, dot_swapped, sticky_anded,
)  # fmt: skip
"""The kinds of mistakes."""
