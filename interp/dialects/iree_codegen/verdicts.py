"""Verdicts on `iree_codegen.smt.constraints`: do its asserts hold for given dimensions and knobs?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from halfulp.interp.dialects.smt.ops import smt_integer
from halfulp.interp.ir.attributes import DenseArrayAttr, IntegerAttr, StringAttr
from halfulp.interp.ir.base import Location
from halfulp.interp.ir.errors import Unsupported, spell_place
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.semantics.smt import NOT_IN_IREE, OPS, Op, SmtModel, Term, Unknown, compare, integer, lookup

Word = Literal["holds", "FAILS", "unknown"]


@dataclass(frozen=True, repr=False)
class ConstraintVerdict:
    """The verdict on one assert.

    ``text``: the message, with the values of its arguments (``?``: not known). An `smt.assert` has no message, so it is
    the op's name. ``values``: those values, None if not known. ``because``: the reasons for an unknown verdict; empty
    for any other.
    """

    text: str
    verdict: Word
    location: Location
    values: tuple[int | None, ...] = ()
    because: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = spell_place(self.location)
        why = f" ({'; '.join(self.because)})" if self.because else ""
        return f"{place}{': ' if place else ''}{self.verdict}: {self.text}{why}"

    def __repr__(self) -> str:
        return f"<{self.verdict}: {self.text}>"


def judge(
    constraints: Operation, dims: Sequence[Term], knobs: Mapping[str, int], model: SmtModel
) -> tuple[ConstraintVerdict, ...]:
    """Return a verdict on each assert of the constraints, in order.

    ``dims``: a term for each problem dimension; ``knobs``: the known knobs by name. Raises Unsupported at an op that is
    not evaluated.
    """
    block = constraints.regions[0].blocks[0]
    terms: dict[SSAValue, Term] = dict(zip(block.arguments, dims, strict=True))
    verdicts = []
    for op in block.operations:
        _check(op, model)
        found = [terms[value] for value in op.operands]
        if op.name in ASSERTS:
            verdicts.append(_verdict(op, found))
        else:
            terms[op.results[0]] = EVALUATORS[op.name](op, found, knobs, model)
    return tuple(verdicts)


def unjudged(constraints: Operation, why: str) -> tuple[ConstraintVerdict, ...]:
    """Return unknown verdicts for the asserts of constraints that are not evaluated."""
    return tuple(
        _verdict(op, [Unknown((why,))] * len(op.operands))
        for op in constraints.regions[0].blocks[0].operations
        if op.name in ASSERTS
    )


ASSERTS = ("iree_codegen.smt.assert", "smt.assert")


def _verdict(op: Operation, terms: Sequence[Term]) -> ConstraintVerdict:
    condition, *arguments = terms
    values = tuple(None if isinstance(term, Unknown) else term for term in arguments)
    message = op.properties.get("msg")
    text = op.name
    if isinstance(message, StringAttr):
        first, *rest = message.value.split("{}")
        text = first + "".join(
            f"{'?' if value is None else value}{piece}" for value, piece in zip(values, rest, strict=True)
        )
    if isinstance(condition, Unknown):
        return ConstraintVerdict(text, "unknown", op.location, values, condition.because)
    return ConstraintVerdict(text, "holds" if condition else "FAILS", op.location, values)


# --- ops --------------------------------------------------------------------------------------------------------------

Evaluator = Callable[[Operation, Sequence[Term], Mapping[str, int], SmtModel], Term]


def _plain(op: Op) -> Evaluator:
    return lambda _, terms, knobs, model: op(terms, model)


def _knob(op: Operation, terms: Sequence[Term], knobs: Mapping[str, int], model: SmtModel) -> Term:
    name = op.prop("name", StringAttr)
    return knobs.get(name.value, Unknown((f"knob {name.value} is not given",)))


def _lookup(op: Operation, terms: Sequence[Term], knobs: Mapping[str, int], model: SmtModel) -> Term:
    keys, values = op.prop("keys", DenseArrayAttr), op.prop("values", DenseArrayAttr)
    return lookup(keys.values, values.values, terms[0], model)


def _function(op: Operation, terms: Sequence[Term], knobs: Mapping[str, int], model: SmtModel) -> Term:
    name = op.properties.get("namePrefix")
    which = f" {name}" if isinstance(name, StringAttr) else ""
    return Unknown((f"smt.declare_fun{which} may have any value",))


def _number(op: Operation, name: str) -> int:
    found = op.prop(name, IntegerAttr)
    return found.value


EVALUATORS: Mapping[str, Evaluator] = MappingProxyType(
    {
        **{f"smt.{mnemonic}": _plain(op) for mnemonic, op in OPS.items()},
        "smt.constant": lambda op, *_: bool(_number(op, "value")),
        "smt.int.constant": lambda op, terms, knobs, model: integer(smt_integer(op.properties["value"]), model),
        "smt.int.cmp": lambda op, terms, knobs, model: compare(_number(op, "pred"), terms, model),
        "smt.declare_fun": _function,
        "iree_codegen.smt.knob": _knob,
        "iree_codegen.smt.lookup": _lookup,
    }
)
"""The function that computes the result of an op, by the op's name."""
_NOT_IN_IREE = {f"smt.{mnemonic}" for mnemonic in NOT_IN_IREE}


def _check(op: Operation, model: SmtModel) -> None:
    if op.name not in EVALUATORS and op.name not in ASSERTS:
        message = f"{op.name} is not evaluated in constraints"
    elif model.ops == "iree" and op.name in _NOT_IN_IREE:
        message = f"IREE's evaluator of constraints does not handle {op.name}"
    else:
        return
    raise Unsupported(message, location=op.location, op=op.name)
