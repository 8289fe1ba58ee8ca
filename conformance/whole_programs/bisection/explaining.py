"""Explain why a number differs between two versions of a program, by its histories in both.

The comparison starts at the results and goes back to the operands. Two equal numbers need no explanation. If they
differ, the ops that computed them must differ only in their rounding. There are five such cases: the same op has
operands with an explanation; the same terms are added in another order; a product and a sum became a fused
multiply-add, or the reverse; a conversion was left out; a function became a formula. Any other difference has no
explanation.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from halfulp.conformance.comparing.refinement import ulp_distance
from halfulp.conformance.whole_programs.bisection import histories
from halfulp.conformance.whole_programs.bisection.histories import History, Number, Term, Tree
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import Mask
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.errors import HalfulpError, plural
from halfulp.interp.run.lineage import NO_ID, Leaf, Lineage, Node
from halfulp.interp.values.value import Value

MOST_ULP = 16
"""The largest distance in ulp of a formula from the correctly rounded function that it replaces."""
MOST_RELATIVE = Fraction(1, 32)
"""The largest distance of such a formula, divided by the result: in a type of few bits, 16 ulp can be as large as the
result itself.
"""
MOST_WORK = 400_000
"""The most ops of histories that are compared."""
MOST_ORDERS = 8
"""If a sum has at most this number of terms, all orders are tried."""
FP_CONTRACT: Mapping[str, str] = {"on": "", "off": "", "fast": "--fp-contract=fast"}
"""What allows a fused multiply-add of ops without the flag contract, by the names of LLVM's option --fp-contract. The
flag of an op allows it whatever the option is, as in LLVM.
"""
_DEEPEST = 24
"""The most ops in a row, each different because its operand is different, that are explained by recursion: Python
limits its depth. Numbers that lie deeper are explained first.
"""
_PAIRED = 4
"""The most terms for which all pairings are tried."""
_LONGEST = 1000
"""The most ops of a formula."""

FUNCTIONS = frozenset((
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2",
    "expm1", "fpowi", "log", "log10", "log1p", "log2", "powf", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh",
))  # fmt: skip
"""The functions for which MLIR prescribes no accuracy, so that a pass may put a formula in their place."""
_MOVING = frozenset(["negf", "absf", "copysign", "bitcast"])
"""Ops that move the payload of a NaN."""
_COMMUTATIVE = frozenset(["addf", "mulf", "fadd", "fmul", "maximumf", "minimumf", "maxnumf", "minnumf", "fma"])


class Ground(NamedTuple):
    """A reason why a number differs. ``allowed``: what allows it; "" if nothing does. ``ulps``: the distance of a
    formula from the function.
    """

    text: str
    allowed: str
    ulps: int = 0


Grounds = frozenset[Ground]
_SAME: Grounds = frozenset()


class TooLong(Exception):
    """The histories of two numbers have too many ops."""


Recorded = Callable[[], tuple[Lineage, Sequence[Value]]]
"""Runs a version on one input and records the lineage of its outputs, which are over one lane. Raises HalfulpError."""

EXPLAINED = 400
"""The most elements that are explained, of all that differ."""
NO_RULE = (
    "these bits are unspecified (fast-math flags, or the payload of a NaN), but nothing that is permitted gives them"
)
"""The text for an element that a flag or a NaN leaves open, but that nothing explains."""


def permission(
    runs: Sequence[tuple[Recorded, Recorded]],
    masks: Sequence[Sequence[Mask]],
    fp_contract: str = "on",
    flags_alone: bool = False,
) -> tuple[bool, str | None]:
    """Tell whether every number that differs in the second version is allowed, and return the reasons as text; None if
    a number has no explanation.

    ``runs``: both versions on each input. ``masks``: the elements that differ, for each input and output.
    ``flags_alone``: only flags of the ops and ``fp_contract`` allow a difference; an order that MLIR leaves open and
    the distance of a formula do not. All elements must then be explained, not only a sample.
    """
    total = sum(int(np.count_nonzero(mask)) for each in masks for mask in each)
    most = total if flags_alone else EXPLAINED
    grounds: set[Ground] = set()
    seen = 0
    for recorded, differing in zip(runs, masks, strict=True):
        try:
            one, two = (record() for record in recorded)
        except HalfulpError as error:
            return False, f"its lineage cannot be recorded: {error.message}"
        explainer = Explainer(History(one[0]), History(two[0]), MOST_WORK // len(runs), fp_contract)
        explained_here = 0
        for index, place in _chosen(differing, -(-most // len(runs))):
            try:
                reasons = explainer.explain(*(histories.number_at(values[index], place) for values in (one[1], two[1])))
            except TooLong:
                if not explained_here:
                    return False, "its history is too long to be explained"
                break
            if not reasons:
                return False, None
            grounds |= reasons
            explained_here += 1
        seen += explained_here
    text = "; ".join(_spelled(grounds))
    if seen < total:
        text += f"; {seen} of {total} elements explained"
    if flags_alone:
        return seen == total and all(map(_by_flags, grounds)), text
    return all(each.allowed for each in grounds), text


def _by_flags(ground: Ground) -> bool:
    """Tell whether flags of the ops, or the option --fp-contract, are all that allows a difference."""
    return all(each.startswith(("fastmath<", "--fp-contract=")) for each in ground.allowed.split(", "))


def _chosen(masks: Sequence[Mask], most: int) -> list[tuple[int, tuple[int, ...]]]:
    """Return elements that differ: the number of the output and the place of each, at most ``most`` of them, chosen
    from everywhere in an irregular order.
    """
    places = [(index, tuple(map(int, place))) for index, mask in enumerate(masks) for place in np.argwhere(mask)]
    return random.Random(0).sample(places, min(most, len(places)))


def _spelled(grounds: set[Ground]) -> Iterator[str]:
    """Yield the reasons, one text for each kind: the worst of several distances, and what allows all of them."""
    for text in dict.fromkeys(each.text for each in sorted(grounds)):
        alike = [each for each in grounds if each.text == text]
        ulps = max(each.ulps for each in alike)
        away = f", {plural(ulps, 'ulp')} away" if ulps else ""
        allowed = sorted({each.allowed for each in alike})
        yield f"{text}{away} ({', '.join(allowed) if all(allowed) else 'nothing allows it'})"


class _Deeper(Exception):
    """The exception for two numbers that must be explained before others can be."""

    def __init__(self, pair: tuple[Number, Number]) -> None:
        self.pair = pair


class Explainer:
    """An explainer of differences between the numbers of two runs. ``work``: the largest number of ops that it
    examines. ``fp_contract``: a key of `FP_CONTRACT`.
    """

    def __init__(self, before: History, after: History, work: int = MOST_WORK, fp_contract: str = "on") -> None:
        self._fp_contract = fp_contract
        self._before = before
        self._after = after
        self._found: dict[tuple[Number, Number], Grounds | None] = {}
        self._depth = 0
        self._work = work

    def explain(self, before: Number, after: Number) -> Grounds | None:
        """Return the reasons why a number is different after the pass: no reasons if it is the same; None if there is
        no explanation.

        Raises TooLong.
        """
        waiting = [(before, after)]
        while True:
            self._depth = 0
            try:
                found = self._pair(*waiting[-1])
            except _Deeper as first:
                waiting.append(first.pair)
                continue
            waiting.pop()
            if not waiting:
                return found

    def _pair(self, before: Number, after: Number) -> Grounds | None:
        if histories.same_number(before, after):
            return _SAME
        key = before, after
        if key not in self._found:
            if self._depth >= _DEEPEST:
                raise _Deeper(key)
            self._spend(1)
            self._depth += 1
            self._found[key] = self._explained(before, after)
            self._depth -= 1
        return self._found[key]

    def _spend(self, ops: int) -> None:
        self._work -= ops
        if self._work < 0:
            raise TooLong

    def _explained(self, before: Number, after: Number) -> Grounds | None:
        # A sum in another order may overflow. What follows an overflow is explained by it alone. The sign of a zero is
        # no matter of the order: only a fused multiply-add, which does not round the product, gives a zero another one.
        zeros = histories.value_of(before) == 0 == histories.value_of(after)
        rules: tuple[Callable[[Number, Number], Grounds | None], ...] = (
            (self._same_op, self._fused_once, self._other_sign)
            if zeros
            else (
                self._payload,
                self._other_sign,
                self._in_order,
                self._same_op,
                self._out_of_order,
                self._rewritten,
            )
        )
        if not isinstance(before.type, ty.FloatType):
            rules += (self._from_payload,)
        if not zeros:  # a conversion to fewer bits may overflow, also in the middle
            rules += (self._rounded,)
        if not zeros and histories.is_finite(before) and histories.is_finite(after):
            rules += (self._reciprocal, self._formula, self._unrecorded)
        found: Grounds | None = None
        for rule in rules:
            grounds = rule(before, after)
            if grounds and (found is None or _allowed(grounds)):
                found = grounds
            if found is not None and _allowed(found):
                break
        return found

    def _all(self, pairs: Sequence[tuple[Number, Number]]) -> Grounds | None:
        """Explain all pairs; None if one of them has no explanation."""
        grounds = _SAME
        for pair in pairs:
            found = self._pair(*pair)
            if found is None:
                return None
            grounds |= found
        return grounds

    # --- the same op ---

    def _same_op(self, before: Number, after: Number) -> Grounds | None:
        """Explain the results of one op by its operands."""
        one, two = self._before.made(before), self._after.made(after)
        if not isinstance(one, Node) or not isinstance(two, Node) or not _alike(one, two):
            return None
        orders = [two.operands]
        if histories.name_of(one.op) in _COMMUTATIVE and len(two.operands) > 1:
            orders.append((two.operands[1], two.operands[0], *two.operands[2:]))
        found = [self._all(list(zip(one.operands, order, strict=True))) for order in orders]
        return min((each for each in found if each), key=_cost, default=None)

    # --- signs and NaNs ---

    def _other_sign(self, before: Number, after: Number) -> Grounds | None:
        """Explain the sign of a zero or an infinity by an op under nsz, from whose zeros it comes."""
        if (
            not (histories.is_signless(before) and histories.is_signless(after))
            or before.type != after.type
            or histories.value_of(before) != histories.value_of(after)
        ):
            return None
        reasons: set[str] = set()

        def other_signs(node: Node, number: Number) -> Iterable[int]:
            found = histories.other_signs(node, number)
            reasons.update([histories.leaves_sign(node)] if found else ())
            return found

        codes = histories.possible_codes(self._before, before, other_signs, self._spend, histories.is_signless)
        text = "the sign of a zero is another one"
        return frozenset(Ground(text, reason) for reason in reasons) if after.code in codes else None

    def _payload(self, before: Number, after: Number) -> Grounds | None:
        """Explain a NaN by another NaN of its type, if an op computed it: then MLIR does not prescribe its payload."""
        if before.type != after.type or not histories.is_nan(before) or not histories.is_nan(after):
            return None
        made = self._before.made(before)
        while isinstance(made, Node) and histories.name_of(made.op) in _MOVING:
            made = self._before.made(made.operands[0])
        text = "another NaN"
        return frozenset([Ground(text, "the payload is open")]) if isinstance(made, Node) else None

    def _from_payload(self, before: Number, after: Number) -> Grounds | None:
        """Explain an integer by the bits of NaNs whose payload is open: it must follow from NaNs that are in the
        history of the other integer, or from those that no operand determines.
        """
        if before.type != after.type:
            return None
        grounds: set[Ground] = set()
        nans: dict[ty.FloatType, frozenset[int]] = {}

        def other_nans(node: Node, number: Number) -> frozenset[int]:
            # The number is an operand or the result; a bitcast from float to integer has one of each.
            if histories.name_of(node.op) != "bitcast" or isinstance(number.type, ty.FloatType):
                return frozenset()
            (source,) = node.operands
            type_, reasons = source.type, self._payload(source, source)
            if reasons is None or not isinstance(type_, ty.FloatType):
                return frozenset()
            width, default = type_.format.bits, type_.format.nan_code
            if default is None or ty.element_width(number.type) != width:
                return frozenset()
            grounds.update(reasons)
            if type_ not in nans:
                codes = histories.codes_of_history(self._after, after, width, self._spend)
                codes |= {default, scalar.negate(type_.format, default).code}
                nans[type_] = frozenset(code for code in codes if histories.is_nan(Number(NO_ID, type_, code)))
            return nans[type_]

        codes = histories.possible_codes(self._before, before, other_nans, self._spend)
        return frozenset(grounds) if after.code in codes else None

    # --- sums and products ---

    def _in_order(self, before: Number, after: Number) -> Grounds | None:
        """Explain a sum or a product by its terms. Only ops that something allows to exchange are split into terms."""
        return self._chain(before, after, lambda node: bool(_permission(node)))

    def _fused_once(self, before: Number, after: Number) -> Grounds | None:
        """Explain a fused multiply-add, the last op, that replaces the sum of a product and a number."""
        one, two = self._before.made(before), self._after.made(after)
        if not isinstance(one, Node) or not isinstance(two, Node) or histories.role_of(two) != histories.FUSED:
            return None
        added = histories.KINDS[histories.role_of(one)] == histories.ADD and histories.role_of(one) != histories.FUSED
        return self._chain(before, after, lambda node: False) if added else None

    def _out_of_order(self, before: Number, after: Number) -> Grounds | None:
        """Explain a sum or a product by its terms, taking apart all ops, even if nothing allows another order."""
        return self._chain(before, after, lambda node: True)

    def _chain(self, before: Number, after: Number, inner: Callable[[Node], bool]) -> Grounds | None:
        inside = before
        while self._before.role(inside) == histories.NEGATE:
            (inside,) = self._before.operands(inside)
        kind = histories.KINDS[self._before.role(inside)]
        if kind not in (histories.ADD, histories.MULTIPLY):
            return None
        one = Tree(self._before, before, kind, inner)
        wanted: dict[int, list[Term]] = defaultdict(list)
        for term in one.terms:
            wanted[_print(self._before, term)].append(term)
        pairs: list[tuple[Term, Term]] = []

        def is_term(term: Term) -> bool:
            """Tell whether this number is a term of the sum before the pass, and note the pair."""
            same = wanted.get(_print(self._after, term))
            if not same:
                return False
            best = next((each for each in same if _equal(each, term)), same[-1])
            same.remove(best)
            pairs.append((best, term))
            return True

        two = Tree(self._after, after, kind, lambda node: True, is_term)
        self._spend(len(one.nodes) + len(two.nodes))
        if one.sign != two.sign:
            return None
        left = [term for terms in wanted.values() for term in terms if not _neutral(self._before, term, kind)]
        taken = {id(term) for _, term in pairs}
        others = [term for term in two.terms if id(term) not in taken and not _neutral(self._after, term, kind)]
        return self._of_pairs(one, two, pairs, left, others)

    def _of_pairs(
        self, one: Tree, two: Tree, pairs: list[tuple[Term, Term]], left: Sequence[Term], others: Sequence[Term]
    ) -> Grounds | None:
        """Explain the terms by the terms in their places, and those that are ``left`` by ``others`` in some order."""
        grounds = _SAME
        for pair in pairs:
            found = self._term(*pair)
            if found is None:
                return None
            grounds |= found
        if len(left) != len(others) or len(left) > _PAIRED:
            return None
        for order in permutations(others):
            more = [(a, b) for a, b in zip(left, order, strict=True)]
            found_more = [self._term(*pair) for pair in more]
            if all(each is not None for each in found_more):
                grounds = grounds.union(*(each for each in found_more if each))
                return grounds | frozenset(self._of_trees(one, two, [*pairs, *more]))
        return None

    def _term(self, one: Term, two: Term) -> Grounds | None:
        """Explain a term by the term in its place."""
        if len(one.factors) == len(two.factors) == 1:
            if one.sign == two.sign:
                return self._pair(one.factors[0], two.factors[0])
            return _SAME if _negated(one.factors[0], two.factors[0]) else None
        factors = _factors(self._before, one), _factors(self._after, two)
        if factors[0] is None or factors[1] is None or factors[0].sign != factors[1].sign:
            return None
        orders = (factors[1].factors, factors[1].factors[::-1])
        found = [self._all(list(zip(factors[0].factors, order, strict=True))) for order in orders]
        return min((each for each in found if each is not None), key=_cost, default=None)

    def _of_trees(self, one: Tree, two: Tree, pairs: Sequence[tuple[Term, Term]]) -> Iterator[Ground]:
        """Yield the reasons why two trees with the same terms give different results."""
        shapes: dict[object, int] = {}
        numbers = [{id(pair[side]): place for place, pair in enumerate(pairs)} for side in (0, 1)]
        ops = [node for node in one.nodes if histories.KINDS[histories.role_of(node)] == one.kind]
        casts = [node for node in one.nodes if histories.role_of(node) == histories.CAST]
        over_casts = [histories.allows(node, histories.CONTRACT) for node in casts]
        what = plural(len(ops), "addition" if one.kind == histories.ADD else "multiplication")
        if one.shape(numbers[0], shapes) != two.shape(numbers[1], shapes):
            reordering = [histories.allows_reordering(node) for node in ops]
            yield Ground(f"the same {what} in another order", _common([*reordering, *over_casts]))
        elif one.casts == two.casts and one.shape(numbers[0], shapes, True) != two.shape(numbers[1], shapes, True):
            yield Ground(f"the same {what} with conversions at other places", _common(over_casts))
        if any(len(a.factors) < len(b.factors) for a, b in pairs):
            products = [node for a, b in pairs if len(a.factors) < len(b.factors) for node in self._product(a)]
            text = "a product and a sum became a fused multiply-add"
            yield Ground(text, _common([self._fusing(node) for node in (*ops, *products)]))
        if any(len(a.factors) > len(b.factors) for a, b in pairs):
            yield Ground("a fused multiply-add became a product and a sum", "")
        if one.casts != two.casts:
            fewer = bool(casts) and not two.casts - one.casts
            text = "conversions between them were left out" if fewer else "between them are other conversions"
            yield Ground(text, _common(over_casts) if fewer else "")

    def _rewritten(self, before: Number, after: Number) -> Grounds | None:
        """Explain a number by the same polynomial of the same numbers, for example a product of a sum that was
        multiplied out, or the reverse, without conversions. Ops that compute numbers that both versions have need no
        permission.
        """
        if self._before.fingerprint(before) != self._after.fingerprint(after):
            return None
        one, two = self._before.polynomial(before), self._after.polynomial(after)
        if one is None or two is None:
            return None
        upper = self._before.polynomial(before, two.inner), self._after.polynomial(after, one.inner)
        for a, b in (upper, (one, two)):
            if a is not None and b is not None and a.print == b.print and a.nodes and b.nodes:
                self._spend(len(a.nodes) + len(b.nodes))
                return frozenset([Ground("a polynomial in another form", self._for_rewriting(a.nodes, b.nodes))])
        return None

    def _fusing(self, node: Node) -> str:
        """Return why a product and a sum may become a fused multiply-add; "" if they may not."""
        return histories.allows(node, histories.CONTRACT) or FP_CONTRACT[self._fp_contract]

    def _for_rewriting(self, before: Sequence[Node], after: Sequence[Node]) -> str:
        """Return what allows computing a polynomial by other ops; "" if nothing does. LLVM's reassoc allows everything
        that is equal in algebra, but neither to fuse a product and a sum, nor to split them.
        """
        fused = [sum(histories.role_of(node) == histories.FUSED for node in nodes) for nodes in (before, after)]
        rounding = [node for node in before if histories.role_of(node) != histories.NEGATE]
        permissions = [histories.allows(node, histories.REASSOC) for node in rounding]
        if fused[1] > fused[0]:
            permissions += [self._fusing(node) for node in rounding]
        return _common(permissions) if fused[1] >= fused[0] else ""

    def _product(self, term: Term) -> Iterator[Node]:
        """Yield the op that made a term that is a product, and the conversions after it."""
        number = term.factors[0]
        while self._before.role(number) in (histories.NEGATE, histories.CAST, histories.MULTIPLY):
            made = narrowed(self._before.made(number), Node)
            if histories.role_of(made) != histories.NEGATE:
                yield made
            if histories.role_of(made) == histories.MULTIPLY:
                return
            (number,) = made.operands

    def _unrecorded(self, before: Number, after: Number) -> Grounds | None:
        """Explain a sum by a number whose history is not known: by some order, if there are few terms, else by a
        bound.
        """
        made, leaf = self._before.made(before), self._after.made(after)
        if not (isinstance(leaf, Leaf) and leaf.unknown and isinstance(made, Node) and before.type == after.type):
            return None
        if histories.KINDS.get(histories.role_of(made)) != histories.ADD or not isinstance(before.type, ty.FloatType):
            return None
        tree = Tree(self._before, before, histories.ADD, lambda node: bool(histories.allows_reordering(node)))
        format_ = before.type.format
        terms = []
        for term in tree.terms:
            if len(term.factors) > 1 or term.factors[0].type != before.type or not histories.is_finite(term.factors[0]):
                return None
            code = term.factors[0].code
            terms.append(code if term.sign > 0 else scalar.negate(format_, code).code)
        allowed = _common([histories.allows_reordering(node) for node in tree.nodes])
        count = plural(len(terms) - 1, "addition")
        if len(terms) <= MOST_ORDERS:
            if after.code not in histories.sums_in_all_orders(format_, terms):
                return None
            return frozenset(
                [Ground(f"some order of the same {count} gives it ({leaf.unknown} is not recorded)", allowed)]
            )
        low, high = histories.bounds_of_all_orders(format_, terms)
        value = histories.value_of(after)
        if value is None or not low <= value <= high:
            return None
        return frozenset(
            [Ground(f"it lies in the bounds of the same {count} ({leaf.unknown} is not recorded)", allowed)]
        )

    # --- conversions ---

    def _rounded(self, before: Number, after: Number) -> Grounds | None:
        """Explain a number by one that was not converted there and back, or not rounded in between."""
        one, casts = _without_casts(self._before, before)
        two, others = _without_casts(self._after, after)
        if len(casts) == len(others) or not (casts or others):
            return None
        found = self._pair(one, two)
        if found is None:
            return None
        fewer = len(others) < len(casts)
        allowed = (
            _common([histories.allows(node, histories.CONTRACT) for node in casts]) if fewer and not others else ""
        )
        text = "a conversion to fewer bits was left out" if fewer else "a conversion to fewer bits came in"
        return found | {Ground(text, allowed)}

    # --- functions ---

    def _reciprocal(self, before: Number, after: Number) -> Grounds | None:
        """Explain a quotient by the product with a reciprocal."""
        one = self._before.made(before)
        if (
            not isinstance(one, Node)
            or self._before.role(before) != histories.DIVIDE
            or self._after.role(after) != histories.MULTIPLY
        ):
            return None
        operands = self._after.operands(after)
        text = "a quotient became the product with a reciprocal"
        for factor, inverse in (operands, operands[::-1]):
            if self._after.is_constant(inverse) and _is_reciprocal(one.operands[1], inverse):
                found = self._pair(one.operands[0], factor)
                if found is not None:
                    return found | {Ground(text, histories.allows(one, histories.ARCP))}
            if self._after.role(inverse) == histories.DIVIDE:
                top, bottom = self._after.operands(inverse)
                found = self._all([(one.operands[0], factor), (one.operands[1], bottom)])
                if histories.value_of(top) == 1 and found is not None:
                    return found | {Ground(text, histories.allows(one, histories.ARCP))}
        return None

    def _formula(self, before: Number, after: Number) -> Grounds | None:
        """Explain a function by a formula of the same operands that is near to it."""
        one, two = self._before.made(before), self._after.made(after)
        if not isinstance(one, Node) or not isinstance(two, Node) or histories.name_of(one.op) not in FUNCTIONS:
            return None
        name = histories.name_of(one.op)
        # A pass may compute what depends on constants alone.
        wanted = [each for each in one.operands if not self._before.is_constant(each)]
        constants = not wanted
        wanted = wanted or [each for each in one.operands if isinstance(self._before.made(each), Node)]
        for numbers, names in _fronts(self._after, after, wanted, constants):
            if name in names or (len(names) == 1 and names <= FUNCTIONS and len(wanted) == len(one.operands)):
                return None  # another function of the same operands is not a formula
            self._spend(1)
            for order in product(numbers, repeat=len(wanted)):
                pairs = list(zip(wanted, order, strict=True))
                if len(set(order)) < len(numbers) or not all(self._may_be_same(*pair) for pair in pairs):
                    continue
                found = self._all(pairs)
                if found is not None:
                    ulps = self._from_function(one, dict(zip(map(id, wanted), order, strict=True)), after)
                    if ulps is None:
                        return None
                    most = most_ulp(one.type)
                    allowed = f"a formula may be {most} ulp away" if ulps <= most else ""
                    return found | {Ground(f"{one.op.name} became a formula", allowed, ulps)}
        return None

    def _may_be_same(self, before: Number, after: Number) -> bool:
        """Tell whether an explanation is likely: the numbers or their fingerprints are equal, or ops of the same name
        made them.
        """
        if histories.same_number(before, after) or self._before.fingerprint(before) == self._after.fingerprint(after):
            return True
        one, two = self._before.made(before), self._after.made(after)
        return (
            isinstance(one, Node) and isinstance(two, Node) and histories.name_of(one.op) == histories.name_of(two.op)
        )

    def _from_function(self, one: Node, given: dict[int, Number], after: Number) -> int | None:
        """Return the distance of a formula from the correctly rounded function of its own operands; None if one of the
        two is not a finite number, or their signs differ.
        """
        codes = [given.get(id(each), each) for each in one.operands]
        if any(number.type != each.type for number, each in zip(codes, one.operands, strict=True)):
            return None
        exact = one.kernel.scalar(*(number.code for number in codes))
        if not isinstance(exact, int) or after.type != one.type:
            return None
        right = Number(0, one.type, exact)
        values = histories.value_of(right), histories.value_of(after)
        if values[0] is None or values[1] is None or histories.is_negative(right) != histories.is_negative(after):
            return None
        return ulp_distance(one.type, exact, after.code)


def most_ulp(type_: ty.Type) -> int:
    """Return the largest distance in ulp of a formula from the correctly rounded function, for results of a type."""
    return max(1, min(MOST_ULP, int(MOST_RELATIVE * 2 ** ty.float_format(type_).mantissa_bits)))


def _factors(history: History, term: Term) -> Term | None:
    """Return the two factors of a term that is a product. They are not negations: those are in the sign of the term."""
    sign, number = term.sign, term.factors[0]
    factors = term.factors
    if len(factors) == 1:
        while history.role(number) in (histories.NEGATE, histories.CAST):
            sign *= -1 if history.role(number) == histories.NEGATE else 1
            (number,) = history.operands(number)
        if history.role(number) != histories.MULTIPLY:
            return None
        factors = history.operands(number)
    found = []
    for factor in factors:
        while history.role(factor) == histories.NEGATE:
            sign = -sign
            (factor,) = history.operands(factor)
        found.append(factor)
    return Term(sign, tuple(found))


def _is_reciprocal(number: Number, inverse: Number) -> bool:
    """Tell whether a number is the reciprocal of another one, rounded to nearest even."""
    if number.type != inverse.type or not isinstance(number.type, ty.FloatType):
        return False
    format_ = number.type.format
    one = scalar.from_fraction(format_, Fraction(1)).code
    return scalar.divide(format_, one, number.code).code == inverse.code


def _print(history: History, term: Term) -> int:
    return history.product(term.sign, term.factors)


def _neutral(history: History, term: Term, kind: str) -> bool:
    """Tell whether a term is a constant that leaves every sum, or every product, as it is."""
    (number, *others) = term.factors
    return (
        not others
        and history.is_constant(number)
        and histories.value_of(number) == (0 if kind == histories.ADD else term.sign)
    )


def _equal(one: Term, two: Term) -> bool:
    return len(one.factors) == len(two.factors) and all(map(histories.same_number, one.factors, two.factors))


def _negated(one: Number, two: Number) -> bool:
    values = histories.value_of(one), histories.value_of(two)
    return values[0] is not None and values[1] is not None and values[0] == -values[1] != 0


def _alike(one: Node, two: Node) -> bool:
    """Tell whether two ops do the same, apart from fast-math flags."""
    if histories.name_of(one.op) != histories.name_of(two.op) or one.result != two.result or one.type != two.type:
        return False
    if [each.type for each in one.operands] != [each.type for each in two.operands] or one.poison or two.poison:
        return False
    if one.op.name != two.op.name:
        return not any(name not in _FLAGS for op in (one.op, two.op) for name in op.properties)
    kept = [{name: value for name, value in node.op.properties.items() if name not in _FLAGS} for node in (one, two)]
    return kept[0] == kept[1]


_FLAGS = frozenset(["fastmath", "fastmathFlags"])


def _permission(node: Node) -> str:
    """Return why an op inside of a sum or product may be exchanged with its neighbours; "" if it may not."""
    role = histories.role_of(node)
    if role == histories.NEGATE:
        return "exact"
    return histories.allows(node, histories.CONTRACT) if role == histories.CAST else histories.allows_reordering(node)


def _common(permissions: Sequence[str]) -> str:
    """Return what allows all of some ops; "" if one of them is not allowed."""
    return ", ".join(dict.fromkeys(permissions)) if all(permissions) else ""


def _allowed(grounds: Grounds) -> bool:
    return all(each.allowed for each in grounds)


def _cost(grounds: Grounds) -> tuple[int, int]:
    return sum(not each.allowed for each in grounds), len(grounds)


def _without_casts(history: History, number: Number) -> tuple[Number, list[Node]]:
    casts = []
    while history.role(number) == histories.CAST:
        made = narrowed(history.made(number), Node)
        casts.append(made)
        (number,) = made.operands
    return number, casts


def _fronts(
    history: History, root: Number, wanted: Sequence[Number], constants: bool
) -> Iterator[tuple[list[Number], set[str]]]:
    """Yield sets of numbers from which ``root`` can be computed alone, with at most as many numbers as ``wanted`` has.
    With each set, yield the names of the ops between the set and ``root``. ``constants``: whether constants are wanted;
    if not, they do not count.
    """
    front, names = {(root.id, root.code): root}, set[str]()

    def counts(number: Number) -> bool:
        if not history.is_constant(number):
            return True
        return constants and (_is_one(number, wanted) or isinstance(history.made(number), Node))

    for _ in range(_LONGEST):
        others = [key for key, number in front.items() if not _is_one(number, wanted)]
        made = history.made(front.pop(max(others or front)))
        if not isinstance(made, Node):
            return
        names.add(histories.name_of(made.op))
        front |= {(each.id, each.code): each for each in made.operands if counts(each)}
        if not front:
            return
        if len(front) <= len(wanted):
            yield list(front.values()), names


def _is_one(number: Number, wanted: Sequence[Number]) -> bool:
    return any(histories.same_number(number, other) for other in wanted)
