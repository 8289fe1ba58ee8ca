"""Terms of the smt dialect (`SMT.td` of LLVM 24; integers and truth values), of which some may be unknown.

A term is an int, a bool, or `Unknown`, which says why. Ops are strict, that is, unknown if an operand is unknown,
except:

- ``and`` is false if any operand is false, ``or`` is true if any operand is true, ``implies`` is true if the first
  operand is false or the second true;
- ``ite`` needs only its condition and the operand that it chooses.

Where the documents specify nothing, or IREE differs, an `SmtModel` makes the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import ge, gt, le, lt
from types import MappingProxyType

MAX_BITS = 1 << 13
"""An integer of more bits is unknown: squaring it a few dozen times would fill any memory."""
MAX_REASONS = 16
"""The most reasons that an unknown term keeps."""
INT64 = range(-(1 << 63), 1 << 63)

CHOICES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "arithmetic": {
            "integers": "SMT-LIB's: unbounded; the remainder of a division is never negative",
            "int64": "IREE's: 64 bits that wrap; division truncates",
        },
        "lookup_miss": {
            "unknown": "IREE's evaluator: a key that is not in the table has no value",
            "last": "IREE's conversion to the smt dialect: it has the last value of the table",
        },
        "ops": {
            "all": "every op of the dialect that halfulp declares",
            "iree": "those that IREE's evaluator handles, the others are unsupported; truth values are not compared",
        },
        "configuration": {
            "optional": "constraints are evaluated whether the configuration of the module fits them or not",
            "required": "IREE's verification: without given knobs, only those that the configuration fits",
        },
    }
)
"""The fields of an `SmtModel`, and the meaning of each choice."""


@dataclass(frozen=True)
class SmtModel:
    """The rules of evaluating constraints: one of `CHOICES` for each field. Raises ValueError for any other value."""

    arithmetic: str = "integers"
    lookup_miss: str = "unknown"
    ops: str = "all"
    configuration: str = "optional"

    def __post_init__(self) -> None:
        for field in fields(self):
            value, choices = getattr(self, field.name), CHOICES[field.name]
            if value not in choices:
                raise ValueError(f"{field.name} is {value!r}, but must be one of {', '.join(choices)}")


MODELS: Mapping[str, SmtModel] = MappingProxyType(
    {
        "smt": SmtModel(),
        "solver": SmtModel(lookup_miss="last"),
        "iree": SmtModel("int64", "unknown", "iree", "required"),
    }
)
"""``smt``: SMT-LIB. ``solver``: the problem that IREE gives to a solver (iree-codegen-convert-constraints-to-smt).
``iree``: IREE 3.13's own evaluator (iree-codegen-verify-smt-constraints).
"""


def as_model(model: SmtModel | str) -> SmtModel:
    """Return the model itself, or the model with this spelling: a name, or ``name,field=value,…``. Raises
    ValueError.
    """
    if isinstance(model, SmtModel):
        return model
    name, *settings = model.split(",")
    if name not in MODELS:
        raise ValueError(f"the model is {name!r}, but must be one of {', '.join(MODELS)}")
    changed: dict[str, str] = {}
    for setting in settings:
        field, equals, value = setting.partition("=")
        if not equals or field not in CHOICES:
            raise ValueError(f"{setting!r} is not field=value; the fields are {', '.join(CHOICES)}")
        changed[field] = value
    return replace(MODELS[name], **changed)


@dataclass(frozen=True)
class Unknown:
    """A term without a known value. ``because``: the reasons, one or several."""

    because: tuple[str, ...]


Term = int | bool | Unknown
Op = Callable[[Sequence[Term], SmtModel], Term]


def _merged(unknown: Sequence[Unknown]) -> Unknown:
    return Unknown(tuple(dict.fromkeys(reason for term in unknown for reason in term.because))[:MAX_REASONS])


def integer(value: int, model: SmtModel) -> Term:
    """Return an integer by the rules of the model: its low 64 bits, or unknown if it is too large."""
    if model.arithmetic == "int64":
        return (value + INT64.stop) % (1 << 64) - INT64.stop
    return value if value.bit_length() <= MAX_BITS else Unknown((f"a number has more than {MAX_BITS} bits",))


def _strict(compute: Callable[[Sequence[int], SmtModel], Term]) -> Op:
    def op(terms: Sequence[Term], model: SmtModel) -> Term:
        unknown = [term for term in terms if isinstance(term, Unknown)]
        if unknown:
            return _merged(unknown)
        return compute([term for term in terms if not isinstance(term, Unknown)], model)

    return op


# --- integers ---------------------------------------------------------------------------------------------------------


def _folded(combine: Callable[[int, int], int], what: str) -> Op:
    def compute(values: Sequence[int], model: SmtModel) -> Term:
        if not values:
            return Unknown((f"{what} of no operands has no value",))
        result: Term = values[0]
        for value in values[1:]:
            if isinstance(result, Unknown):
                break
            result = integer(combine(result, value), model)
        return result

    return _strict(compute)


def _euclidean(a: int, b: int) -> tuple[int, int]:
    """Return quotient and remainder of SMT-LIB: a = b q + r with 0 <= r < |b|."""
    remainder = a % abs(b)
    return (a - remainder) // b, remainder


def _truncating(a: int, b: int) -> tuple[int, int]:
    """Return quotient and remainder of C++: the quotient is rounded toward zero."""
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - b * quotient


_DIVISIONS = {"integers": _euclidean, "int64": _truncating}


def _divided(part: int, word: str) -> Op:
    def compute(values: Sequence[int], model: SmtModel) -> Term:
        a, b = values
        if not b:
            # SMT-LIB has a value here, the same for equal dividends, but does not say which.
            return Unknown((f"{a} {word} 0 has no value",))
        if model.arithmetic == "int64" and (a, b) == (INT64.start, -1):
            # IREE crashes here: the processor traps.
            return Unknown((f"{a} {word} -1 overflows",))
        return _DIVISIONS[model.arithmetic](a, b)[part]

    return _strict(compute)


PREDICATES: Mapping[int, Callable[[int, int], bool]] = MappingProxyType({0: lt, 1: le, 2: gt, 3: ge})
"""The relations of ``smt.int.cmp``, by the number in its attribute."""


def compare(predicate: int, terms: Sequence[Term], model: SmtModel) -> Term:
    """Evaluate ``smt.int.cmp`` on two integers."""
    return _strict(lambda values, _: PREDICATES[predicate](*values))(terms, model)


def lookup(keys: Sequence[int], values: Sequence[int], index: Term, model: SmtModel) -> Term:
    """Evaluate ``iree_codegen.smt.lookup``: return the value at the position of the key."""
    if isinstance(index, Unknown):
        return index
    found = dict(zip(keys, values, strict=True)).get(index)
    if found is not None:
        return found
    return values[-1] if model.lookup_miss == "last" else Unknown((f"{index} is not a key of the lookup",))


# --- truth values -----------------------------------------------------------------------------------------------------


def _decided_by(decisive: bool) -> Op:
    """Return ``or`` (one true operand decides) or ``and`` (one false operand decides)."""

    def op(terms: Sequence[Term], model: SmtModel) -> Term:
        unknown = [term for term in terms if isinstance(term, Unknown)]
        if any(term is decisive for term in terms):
            return decisive
        return _merged(unknown) if unknown else not decisive

    return op


_or = _decided_by(True)


def _not(terms: Sequence[Term], model: SmtModel) -> Term:
    (term,) = terms
    return term if isinstance(term, Unknown) else not term


def _equal(values: Sequence[int], model: SmtModel) -> Term:
    if model.ops == "iree" and any(isinstance(value, bool) for value in values):
        return Unknown(("IREE's evaluator does not compare truth values",))
    return all(value == values[0] for value in values)


def _ite(terms: Sequence[Term], model: SmtModel) -> Term:
    condition, then, otherwise = terms
    if isinstance(condition, Unknown):
        return condition
    return then if condition else otherwise


OPS: Mapping[str, Op] = MappingProxyType(
    {
        "int.add": _folded(lambda a, b: a + b, "a sum"),
        "int.mul": _folded(lambda a, b: a * b, "a product"),
        "int.sub": _folded(lambda a, b: a - b, "a difference"),
        "int.div": _divided(0, "div"),
        "int.mod": _divided(1, "mod"),
        "int.abs": _strict(lambda values, model: integer(abs(values[0]), model)),
        "eq": _strict(_equal),
        "distinct": _strict(lambda values, model: len(set(values)) == len(values)),
        "and": _decided_by(False),
        "or": _or,
        "not": _not,
        "xor": _strict(lambda values, model: sum(values) % 2 == 1),
        "implies": lambda terms, model: _or([_not(terms[:1], model), terms[1]], model),
        "ite": _ite,
    }
)
"""The ops of the smt dialect, by mnemonic; those that need attributes are functions above."""

NOT_IN_IREE = frozenset({"constant", "int.abs", "distinct", "xor", "implies", "assert"})
"""Ops of the smt dialect that IREE's evaluator does not handle, by mnemonic."""
