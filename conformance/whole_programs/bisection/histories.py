"""The history of a number: the numbers and ops from which it was computed. Its form makes histories in two versions of
a program comparable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from fractions import Fraction
from hashlib import blake2b
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat, codes_to_ints
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.operations import Block, BlockArgument, Operation, OpResult
from halfulp.interp.run.lineage import NO_ID, Leaf, Lineage, Node, Operand
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Open

Number = Operand
"""A number of a run: its id, its type and its code."""

ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATE, FUSED, CAST = "add", "subtract", "multiply", "divide", "negate", "fma", "cast"

_ROLES: Mapping[str, str] = {
    **{f"arith.{name}f": role for name, role in (("add", ADD), ("sub", SUBTRACT), ("mul", MULTIPLY), ("div", DIVIDE))},
    **{f"llvm.f{name}": role for name, role in (("add", ADD), ("sub", SUBTRACT), ("mul", MULTIPLY), ("div", DIVIDE))},
    **dict.fromkeys(("arith.negf", "llvm.fneg"), NEGATE),
    **dict.fromkeys(("math.fma", "vector.fma", "llvm.intr.fma", "vector.outerproduct"), FUSED),
    **dict.fromkeys(("arith.extf", "arith.truncf", "arith.convertf", "llvm.fpext", "llvm.fptrunc"), CAST),
}
_OTHER_NAMES: Mapping[str, str] = {"pow": "powf", "fabs": "absf", "maxnum": "maxnumf", "minnum": "minnumf",
                                   "maximum": "maximumf", "minimum": "minimumf", "fadd": "addf", "fsub": "subf",
                                   "fmul": "mulf", "fdiv": "divf", "frem": "remf", "fneg": "negf", "fpext": "extf",
                                   "fptrunc": "truncf"}  # fmt: skip
_PREFIXES = ("llvm.intr.", "llvm.", "arith.", "math.", "vector.")

_PRIME = (1 << 127) - 1
_POLYNOMIAL = frozenset([ADD, SUBTRACT, MULTIPLY, NEGATE, FUSED])

MOST_IN_POLYNOMIAL = 1000
"""The most ops of a polynomial that is compared with another one."""

NumberKey = tuple[int, str, int]
"""The fingerprint of a number, its type and its code."""


def same_number(one: Number, other: Number) -> bool:
    """Tell whether two numbers are the same: the same code of one type, or the same value in two float types."""
    if one.type == other.type:
        return one.code == other.code
    if not isinstance(one.type, ty.FloatType) or not isinstance(other.type, ty.FloatType):
        return False
    values = value_of(one), value_of(other)
    if values[0] is None or values[0] != values[1]:
        return False
    return values[0] != 0 or is_negative(one) == is_negative(other)


def number_at(value: Value, place: tuple[int, ...]) -> Number:
    """Return an element of a value with lineage."""
    ids = 0 if value.open is None else int(value.open[place])
    element = value.element_type
    return Number(ids, element, codes_to_ints(np.asarray(value.bits[place]), ty.element_width(element) or 0)[0])


def value_of(number: Number) -> Fraction | None:
    """Return the value of a finite float, else None."""
    return scalar.value(number.type.format, number.code) if isinstance(number.type, ty.FloatType) else None


def is_finite(number: Number) -> bool:
    """Tell whether a number is neither an infinity nor a NaN."""
    return not isinstance(number.type, ty.FloatType) or value_of(number) is not None


def is_nan(number: Number) -> bool:
    """Tell whether a number is a NaN."""
    kinds = (scalar.QUIET_NAN, scalar.SIGNALLING_NAN)
    return isinstance(number.type, ty.FloatType) and scalar.unpack(number.type.format, number.code).kind in kinds


def is_signless(number: Number) -> bool:
    """Tell whether a number is a zero or an infinity: its sign comes from the signs of operands alone."""
    if not isinstance(number.type, ty.FloatType):
        return False
    return value_of(number) == 0 or scalar.unpack(number.type.format, number.code).kind == scalar.INFINITE


def is_negative(number: Number) -> bool:
    """Tell whether the sign of a float is set."""
    return bool(scalar.unpack(ty.float_format(number.type), number.code).sign)


def name_of(op: Operation) -> str:
    """Return the name of what an op computes, without its dialect. Ops that compute the same have the same name."""
    for prefix in _PREFIXES:
        if op.name.startswith(prefix):
            rest = op.name.removeprefix(prefix)
            return _OTHER_NAMES.get(rest, rest)
    return op.name


def role_of(node: Node) -> str:
    """Return the name of the operation on real numbers that an op rounds to nearest even: a sum, product, quotient or
    conversion. "" for any other op, and for an op with a rounding mode.
    """
    return "" if node.op.properties.get("roundingmode") is not None else _ROLES.get(node.op.name, "")


class History:
    """The histories of the numbers of one run."""

    def __init__(self, lineage: Lineage) -> None:
        self._lineage = lineage
        self._made: dict[tuple[int, int, ty.Type], Node | Leaf] = {}
        self._prints: dict[tuple[int, int, ty.Type], tuple[int, bool]] = {}

    def made(self, number: Number) -> Node | Leaf:
        """Return the op or the leaf that a number comes from."""
        key = number.id, number.code, number.type
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = self._lineage.history(number.id, number.type, number.code)
        return found

    def operands(self, number: Number) -> tuple[Number, ...]:
        """Return the operands of the op that made a number; none for a leaf."""
        made = self.made(number)
        return made.operands if isinstance(made, Node) else ()

    def role(self, number: Number) -> str:
        """Return `role_of` the op that made a number; "" for a leaf."""
        made = self.made(number)
        return role_of(made) if isinstance(made, Node) and not made.poison else ""

    def fingerprint(self, number: Number) -> int:
        """Return the value, modulo a prime, of the real function that computed a number.

        A constant has its own value. A random number replaces each other leaf, and each function that is not a sum or
        product of its operands. Conversions between float types change nothing. So two numbers with the same
        fingerprint are the same real function of the same numbers, except with a chance of about 2^-120.
        """
        return self._printed(number)[0]

    def product(self, sign: int, factors: Iterable[Number]) -> int:
        """Return the fingerprint of a product of numbers with a sign."""
        found = sign
        for factor in factors:
            found = found * self.fingerprint(factor) % _PRIME
        return found % _PRIME

    def is_constant(self, number: Number) -> bool:
        """Tell whether a number depends on no argument."""
        return self._printed(number)[1]

    def _printed(self, number: Number) -> tuple[int, bool]:
        stack = [number]
        while stack:
            top = stack[-1]
            key = top.id, top.code, top.type
            if key not in self._prints:
                operands = self.operands(top)
                missing = [each for each in operands if (each.id, each.code, each.type) not in self._prints]
                if missing:
                    stack += missing
                    continue
                self._prints[key] = self._computed(top, operands)
            stack.pop()
        return self._prints[number.id, number.code, number.type]

    def _computed(self, number: Number, operands: tuple[Number, ...]) -> tuple[int, bool]:
        made = self.made(number)
        prints = [self._prints[each.id, each.code, each.type] for each in operands]
        if isinstance(made, Leaf):
            constant = made.argument is None and not made.unknown
        else:
            constant = all(each for _, each in prints) and not made.poison
        if constant:
            return _of_constant(number), True
        if isinstance(made, Leaf):
            return _random("leaf", str(number.type), number.code), False
        operands_prints = [each for each, _ in prints]
        found = _combined(_ROLES.get(made.op.name, ""), operands_prints)
        return (_random(name_of(made.op), made.result, *operands_prints) if found is None else found), False

    def polynomial(
        self, root: Number, whole: Container[NumberKey] = frozenset(), most: int = MOST_IN_POLYNOMIAL
    ) -> Polynomial | None:
        """Return a number as a polynomial of other numbers, or None if it has more than ``most`` ops. ``whole``:
        numbers that are not taken apart; numbers that a conversion made are not taken apart either.
        """
        prints: dict[Number, int] = {}
        nodes: list[Node] = []
        stack = [root]
        while stack:
            top = stack[-1]
            if top not in prints:
                made = self.made(top)
                key = self._key(top)
                apart = self.role(top) in _POLYNOMIAL and not self.is_constant(top)
                if isinstance(made, Node) and apart and (top == root or key not in whole):
                    missing = [each for each in made.operands if each not in prints]
                    if missing:
                        stack += missing
                        continue
                    prints[top] = _combined(self.role(top), [prints[each] for each in made.operands]) or 0
                    nodes.append(made)
                    if len(nodes) > most:
                        return None
                else:
                    prints[top] = _of_constant(top) if self.is_constant(top) else _random("number", *key)
            stack.pop()
        return Polynomial(prints[root], nodes, frozenset(self._key(each) for each in prints if each != root))

    def _key(self, number: Number) -> NumberKey:
        return self.fingerprint(number), str(number.type), number.code


class Polynomial(NamedTuple):
    """A number as a polynomial of other numbers. ``print``: its fingerprint. It is equal for equal polynomials of the
    same numbers; for different ones it is equal with a chance of about 2^-120. ``nodes``: the ops that compute it.
    ``inner``: the numbers in it.
    """

    print: int
    nodes: list[Node]
    inner: frozenset[NumberKey]


def _combined(role: str, prints: Sequence[int]) -> int | None:
    """Return the fingerprint of a sum, a product or a conversion from the fingerprints of its operands; None for other
    ops.
    """
    a, b, c = [*prints, 0, 0, 0][:3]
    match role:
        case "add":
            return (a + b) % _PRIME
        case "subtract":
            return (a - b) % _PRIME
        case "multiply":
            return a * b % _PRIME
        case "negate":
            return -a % _PRIME
        case "fma":
            return (a * b + c) % _PRIME
        case "cast":
            return a
    return None


def _of_constant(number: Number) -> int:
    value = value_of(number)
    if value is None:
        return _random("constant", str(number.type), number.code)
    return value.numerator * pow(value.denominator, -1, _PRIME) % _PRIME


def _random(*parts: object) -> int:
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=16).digest(), "little") % _PRIME


# --- flags ------------------------------------------------------------------------------------------------------------

REASSOC, ARCP, CONTRACT, NSZ = "reassoc", "arcp", "contract", "nsz"
_UNORDERED = ("vector.multi_reduction", "vector.contract", "affine.parallel")


def allows(node: Node, flag: str) -> str:
    """Return ``fastmath<flag>`` if an op has the flag, else ""."""
    for each in () if node.op.definition is None else node.op.definition.properties:
        if isinstance(each.kind, EnumDefinition) and flag in each.kind.cases:
            set_ = getattr(node.op.properties.get(each.name), "value", 0)
            return f"fastmath<{flag}>" if isinstance(set_, int) and set_ & each.kind.cases[flag] else ""
    return ""


def allows_reordering(node: Node) -> str:
    """Return the reason why the op that made a number may be exchanged with neighbouring ops of the same kind; "" if it
    may not.
    """
    if allows(node, REASSOC):
        return allows(node, REASSOC)
    if node.around.name in _UNORDERED:
        of_products = node.around.name == "vector.contract" and role_of(node) == MULTIPLY
        return "" if of_products else f"the order of {node.around.name}"
    block = node.op.parent
    if block is None:
        return ""
    if node.op.parent_op is not None and node.op.parent_op.name == "scf.reduce":
        return "the order of scf.reduce" if _combines(node.op, block, 0) else ""
    if node.around.name.startswith("linalg.") and node.around is not node.op and _reduces(node.around):
        inputs = len(block.arguments) - len(block.operations[-1].operands)
        return f"the order of {node.around.name}" if _combines(node.op, block, inputs) else ""
    return ""


def _reduces(op: Operation) -> bool:
    """Tell whether a structured op has a dimension whose order is open. A named op without such a dimension has no
    accumulator.
    """
    kinds = op.properties.get("iterator_types")
    return kinds is None or "reduction" in str(kinds)


def _combines(op: Operation, block: Block, first: int) -> bool:
    """Tell whether an op in the body of a reduction is part of the chain of ops of one kind that leads from an
    accumulator to the value that the body yields. ``first``: the number of the first accumulator.
    """
    ends = (value.owner for value in block.operations[-1].operands if isinstance(value, OpResult))
    return any(op in _chain_to_accumulator(end, block, first) for end in ends)


def _chain_to_accumulator(end: Operation, block: Block, first: int) -> list[Operation]:
    """Return the ops of one name from an accumulator to an op; none if there is no such way."""
    chain = []
    for _ in range(len(block.operations)):
        chain.append(end)
        if any(isinstance(one, BlockArgument) and one.block is block and one.index >= first for one in end.operands):
            return chain
        inner = [one.owner for one in end.operands if isinstance(one, OpResult) and one.owner.name == end.name]
        if len(inner) != 1:
            break
        (end,) = inner
    return []


# --- sums and products, taken apart -----------------------------------------------------------------------------------


class Term(NamedTuple):
    """A term of a sum: a number, or the product of the two factors of a fused multiply-add, added or subtracted."""

    sign: int
    factors: tuple[Number, ...]


class Tree:
    """A sum or a product as a tree: its terms, and the ops between the terms and the result. ``sign``: the sign of a
    product, because its factors have no signs.

    ``inner``: a function that tells whether an op below the root is a part of the tree. ``is_term``: a function that
    tells whether a number is a term, which is not divided further.
    """

    def __init__(
        self,
        history: History,
        root: Number,
        kind: str,
        inner: Callable[[Node], bool],
        is_term: Callable[[Term], bool] = lambda term: False,
    ) -> None:
        self.kind = kind
        self.terms: list[Term] = []
        self.nodes: list[Node] = []
        self.casts: Counter[tuple[str, str]] = Counter()
        self.sign = 1
        self._postfix: list[Term | str | None] = []  # None combines the two before it; a text is a conversion
        stack: list[Term | str | None] = [Term(1, (root,))]
        while stack:
            term = stack.pop()
            if not isinstance(term, Term):
                self._postfix.append(term)
                continue
            if kind == MULTIPLY:
                self.sign *= term.sign
                term = Term(1, term.factors)
            made = history.made(term.factors[0]) if len(term.factors) == 1 else None
            parts = None
            if isinstance(made, Node) and not made.poison and (not self.nodes or (not is_term(term) and inner(made))):
                parts = _parts(made, term.sign, kind)
            elif self.nodes and not isinstance(made, Node):
                is_term(term)
            if parts is None or not isinstance(made, Node):
                self.terms.append(term)
                self._postfix.append(term)
                continue
            self.nodes.append(made)
            if role_of(made) == CAST:
                self.casts[str(made.operands[0].type), str(made.type)] += 1
                stack.append(f"to {made.type}")
            stack += [None] * (len(parts) - 1)
            stack += reversed(parts)

    def shape(self, places: Mapping[int, int], shapes: dict[object, int], casts: bool = False) -> int | None:
        """Return a number for the order of the ops. It is the same for the same order, and independent of the order of
        two operands. ``places``: the number of each term; other numbers are ignored. ``shapes``: the numbers of the
        orders that are known so far; new orders are added. ``casts``: also distinguish conversions.
        """
        stack: list[int | None] = []
        for term in self._postfix:
            if isinstance(term, str):
                if casts and stack[-1] is not None:
                    stack.append(shapes.setdefault((term, stack.pop()), len(shapes)))
                continue
            if term is not None:
                place = places.get(id(term))
                stack.append(None if place is None else shapes.setdefault(("term", place), len(shapes)))
                continue
            two, one = stack.pop(), stack.pop()
            if one is None or two is None:
                stack.append(two if one is None else one)
            else:
                stack.append(shapes.setdefault((min(one, two), max(one, two)), len(shapes)))
        return stack[-1]


KINDS: Mapping[str, str] = {
    ADD: ADD, SUBTRACT: ADD, FUSED: ADD, MULTIPLY: MULTIPLY, CAST: CAST, NEGATE: NEGATE, DIVIDE: DIVIDE, "": ""
}  # fmt: skip


def _parts(node: Node, sign: int, kind: str) -> list[Term] | None:
    """Return the terms of one op of a sum or a product; None for an op that is not part of one."""
    role = role_of(node)
    if KINDS[role] not in (kind, CAST, NEGATE):
        return None
    numbers = node.operands
    if role == FUSED:
        return [Term(sign, numbers[:2]), Term(sign, numbers[2:])]
    signs = {SUBTRACT: (sign, -sign), NEGATE: (-sign,), MULTIPLY: (sign, 1)}.get(role, (sign,) * len(numbers))
    return [Term(each, (number,)) for each, number in zip(signs, numbers, strict=True)]


# --- sums in all orders -----------------------------------------------------------------------------------------------


def sums_in_all_orders(format_: FloatFormat, terms: Sequence[int]) -> set[int]:
    """Return all results of additions of some codes, each rounded to nearest even, in any order and grouping."""
    found: dict[int, set[int]] = {1 << number: {code} for number, code in enumerate(terms)}
    for group in range(1, 1 << len(terms)):
        if group in found:
            continue
        sums = found[group] = set[int]()
        part = (group - 1) & group
        while part:
            if part > group ^ part:
                pairs = ((a, b) for a in found[part] for b in found[group ^ part])
                sums.update(scalar.add(format_, a, b).code for a, b in pairs)
            part = (part - 1) & group
    return found[(1 << len(terms)) - 1]


def bounds_of_all_orders(format_: FloatFormat, terms: Sequence[int]) -> tuple[Fraction, Fraction]:
    """Return bounds on the results of the additions of finite codes in any order."""
    values = [value for code in terms if (value := scalar.value(format_, code)) is not None]
    unit = Fraction(1, 1 << (format_.mantissa_bits + 1)) * (len(values) - 1)
    total, error = sum(values, Fraction(0)), sum(map(abs, values), Fraction(0)) * unit / (1 - unit)
    return total - error, total + error


# --- codes that are open ----------------------------------------------------------------------------------------------
#
# The codes that a number may have where ops in its history leave codes open: signs of zeros, payloads of NaNs.

Others = Callable[[Node, Number], Iterable[int]]
"""Returns the other codes that an op may use or give instead of a number, which is its operand or its result."""


def possible_codes(
    history: History,
    root: Number,
    others: Others,
    spend: Callable[[int], None],
    follows: Callable[[Number], bool] = lambda number: True,
) -> frozenset[int]:
    """Return the codes that a number may have: those that its ops compute from all codes that their operands may have.
    The operands of an op are chosen independently, unless they are one number.

    ``follows``: whether the history of an operand counts. ``spend``: gets the number of ops that are computed.
    """
    known: dict[Number, frozenset[int]] = {}
    waiting = [root]
    while waiting:
        number = waiting[-1]
        if number not in known:
            made = history.made(number) if number is root or follows(number) else None
            if isinstance(made, Node) and not made.poison:
                missing = [each for each in made.operands if each not in known]
                if missing:
                    waiting += missing
                    continue
                known[number] = _results(made, known, others, spend)
            else:
                known[number] = frozenset([number.code])
        waiting.pop()
    return known[root]


def _results(
    node: Node, known: dict[Number, frozenset[int]], others: Others, spend: Callable[[int], None]
) -> frozenset[int]:
    def widened(type_: ty.Type, codes: frozenset[int]) -> frozenset[int]:
        return codes.union(*(others(node, Number(NO_ID, type_, code)) for code in codes))

    given = {each: widened(each.type, known[each]) for each in node.operands}
    ways = prod(map(len, given.values()))
    spend(ways)
    found = {node.code}
    for chosen in product(*given.values()) if ways > 1 else ():
        codes = dict(zip(given, chosen, strict=True))
        made = node.kernel.scalar(*(codes[each] for each in node.operands))
        result = made[node.result] if isinstance(made, tuple) else made
        if isinstance(result, int):
            found.add(result)
    return widened(node.type, frozenset(found))


def leaves_sign(node: Node) -> str:
    """Return why either sign of a zero is right, "" if it is not: by a flag, or as TOSA compares zeros as equal."""
    if node.around.name.startswith("tosa.") and node.kernel.opens & Open.SIGN.value:
        return f"the zeros of {node.around.name}"
    return allows(node, NSZ)


def other_signs(node: Node, number: Number) -> Iterable[int]:
    """Return the zero of the other sign, if a number is a zero of an op under nsz, or of one of TOSA."""
    if value_of(number) != 0 or not leaves_sign(node):
        return ()
    return (scalar.negate(ty.float_format(number.type), number.code).code,)


def codes_of_history(history: History, root: Number, width: int, spend: Callable[[int], None]) -> frozenset[int]:
    """Return the codes of all numbers of a width in bits from which a number was computed, and its own."""
    waiting, met = [root], {root}
    while waiting:
        operands = set(history.operands(waiting.pop())) - met
        spend(1)
        waiting += operands
        met |= operands
    return frozenset(each.code for each in met if ty.element_width(each.type) == width)
