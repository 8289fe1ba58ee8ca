"""Judge the constraints of a module: `iree_codegen.smt.constraints` with numbers for its dimensions and knobs."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from reprlib import repr as short
from typing import Any

from halfulp.fp_formats.aliases import did_you_mean
from halfulp.inputs import names_arguments
from halfulp.interp.dialects.iree_codegen.attributes import CONSTRAINTS, ONE_OF_KNOB, knobs_in
from halfulp.interp.dialects.iree_codegen.knobs import configuration, function_of
from halfulp.interp.dialects.iree_codegen.verdicts import ConstraintVerdict, Word, judge, unjudged
from halfulp.interp.dialects.slices import constant
from halfulp.interp.ir.base import Location
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.errors import InputError, TypeMismatch
from halfulp.interp.ir.operations import Module, Operation
from halfulp.loading import Source, load
from halfulp.running import function_path
from halfulp.semantics.smt import INT64, MAX_BITS, SmtModel, Term, Unknown, as_model

MAX_LISTED = 20
"""The most names that an error lists."""

Dims = Mapping[str | int, int | None] | Sequence[int | None]


@dataclass(frozen=True, repr=False)
class Constraints:
    """The verdicts on one ``iree_codegen.smt.constraints``, and the numbers from which they were computed.

    ``function``: the name of the function that contains it; None outside of a function.
    ``target``: its set of root ops.
    ``dims``: the name and the value of each problem dimension.
    ``knobs``: the name and the value of each knob. A value is None if it is not known.
    ``verdicts``: one for each assert.
    ``unconfigured``: the reason why no knob is taken from the module; None if knobs are.
    """

    function: str | None
    target: int
    location: Location
    dims: tuple[tuple[str, int | None], ...]
    knobs: tuple[tuple[str, int | None], ...]
    verdicts: tuple[ConstraintVerdict, ...]
    unconfigured: str | None = None

    @property
    def verdict(self) -> Word:
        """`FAILS` if any assert fails, else ``unknown`` if any is unknown, else ``holds``."""
        words: tuple[Word, ...] = ("FAILS", "unknown")
        found = {verdict.verdict for verdict in self.verdicts}
        return next((word for word in words if word in found), "holds")

    def __str__(self) -> str:
        return "\n".join(map(str, self.verdicts))

    def __repr__(self) -> str:
        where = "" if self.function is None else f" of @{self.function}"
        lines = (f"{verdict.verdict}: {verdict.text}" for verdict in self.verdicts)
        return f"<set {self.target}{where}: {'; '.join(lines) or 'no asserts'}>"


@names_arguments
def constraints(
    module: Module | Source,
    *,
    knobs: Mapping[str, int | str] | None = None,
    dims: Dims | None = None,
    model: SmtModel | str = "smt",
    function: str | None = None,
    target: int | None = None,
) -> tuple[Constraints, ...]:
    """Judge whether the constraints of a module are satisfied. Return one verdict for each assert of each
    ``iree_codegen.smt.constraints``.

    Numbers that are not given come from the module: dimensions that are constants, and knobs from the lowering_config
    of the op marked with the root_op of the constraints and from the translation_info of the function. If all of these
    knobs match, they are used; otherwise none is used.

    ``knobs``: the numbers of knobs by name; for a one_of_knob, the index or the text of an option.
    ``dims``: the numbers of dimensions in order, or by name (the name of the block argument, ``m`` or ``%m``) or
    position; None for a dimension that is not given.
    ``model``: "smt" (SMT-LIB: unbounded, Euclidean division; the default), "solver" (like smt, but a lookup of a
    missing key gives the last value, as in the formulas that IREE passes to solvers) or "iree" (IREE's evaluator: 64
    bits, truncating division, fewer ops; without ``knobs`` it evaluates only constraints that match the module's
    configuration). Append ``,field=value`` to change a choice, or give an SmtModel.
    ``function``: only the constraints in this function (``@a::@b`` for a nested module).
    ``target``: only the constraints with this target.

    Raises InputError for a name that does not exist, TypeMismatch for a value that is not an integer, Unsupported for
    an op that the model does not evaluate.
    """
    chosen = as_model(model)
    given = () if dims is None else dims
    if not hasattr(given, "__len__"):
        raise TypeMismatch(
            f"dims is {short(dims)}, but must be a list of numbers, or a dict from names to numbers", values=(dims,)
        )
    found = _selected(module if isinstance(module, Module) else load(module), function, target)
    _check_names(found, knobs or {}, given)
    return tuple(_judged(one, knobs, given, chosen) for one in found)


class _ConstraintsOp:
    """An `iree_codegen.smt.constraints` in a module, with its function.

    ``function``, ``path``: the name of the function around it, and the path to find it.
    ``dims``: the names of the block arguments, with ``%``; for one without a name, its position.
    ``positions``: the position of every name that a dimension has.
    ``knobs``: those of the template by name, in its order.
    """

    def __init__(self, op: Operation) -> None:
        self.op = op
        function = function_of(op)
        self.function = None if function is None else function.symbol_name
        self.path = None if function is None else function_path(function)
        target = op.prop("target", DialectAttr)
        self.target: int = target["set"]
        arguments = op.regions[0].blocks[0].arguments
        self.dims = [str(index) if value.name is None else f"%{value.name}" for index, value in enumerate(arguments)]
        # A number is a position, but with a % it is a name.
        self.positions = {name: position for position, name in enumerate(self.dims)}
        self.positions |= {name.removeprefix("%"): position for name, position in self.positions.items()}
        self.positions |= {str(position): position for position in range(len(self.dims))}
        self.knobs = dict(reversed(list(knobs_in(op.properties["knobs"]))))


def _selected(module: Module, entry: str | None, target: int | None) -> list[_ConstraintsOp]:
    found = [_ConstraintsOp(op) for op in module.walk() if op.name == CONSTRAINTS]
    if not found:
        raise InputError(f"{module.filename} has no op {CONSTRAINTS}")
    if entry is not None:
        wanted = "::".join(f"@{name.removeprefix('@')}" for name in entry.split("::"))
        known = sorted({one.path for one in found if one.path is not None})
        found = [one for one in found if one.path == wanted]
        if not found:
            there = f"; there are some in {_listed(known)}" if known else ""
            raise InputError(f"no function {wanted} has constraints{there}", hint=did_you_mean(wanted, known))
    if target is not None:
        sets = sorted({one.target for one in found})
        found = [one for one in found if one.target == target]
        if not found:
            raise InputError(f"there are no constraints of set {target}, only of {_listed(sets)}")
    return found


def _listed(things: Iterable[object]) -> str:
    """List only the first names, so that an error does not grow with the file."""
    *some, last = [str(thing) for thing in islice(things, MAX_LISTED + 1)]
    return ", ".join([*some, last if len(some) < MAX_LISTED else "…"])


# --- what is given ----------------------------------------------------------------------------------------------------


def _check_names(found: Sequence[_ConstraintsOp], knobs: Mapping[str, int | str], dims: Dims) -> None:
    """Raise InputError for a knob or a dimension that belongs to none of the constraints."""
    for what, given, known in (
        ("knob", knobs, dict.fromkeys(name for one in found for name in one.knobs)),
        (
            "dimension",
            dims if isinstance(dims, Mapping) else {},
            dict.fromkeys(name for one in found for name in one.dims),
        ),
    ):
        for name in given:
            if what == "knob" and name in known:
                continue
            if what == "dimension" and any(str(name) in one.positions for one in found):
                continue
            there = f"; there are {_listed(known)}" if known else ""
            raise InputError(f"there is no {what} {name}{there}", hint=did_you_mean(str(name), known))


def _given_dims(one: _ConstraintsOp, dims: Dims) -> dict[int, Any]:
    """Return the given values by position. Raise InputError for too many values, and for a dimension that is given
    twice.
    """
    if not isinstance(dims, Mapping):
        if len(dims) > len(one.dims):
            have = f"{len(one.dims)} ({_listed(one.dims)})" if one.dims else "none"
            raise InputError(
                f"{len(dims)} dimensions are given, but the constraints of set {one.target} have {have}",
                location=one.op.location,
                op=one.op.name,
            )
        return {position: value for position, value in enumerate(dims) if value is not None}
    given: dict[int, Any] = {}
    for key, value in dims.items():
        position = one.positions.get(str(key))
        if position is None or value is None:
            continue
        if position in given:
            raise InputError(f"dimension {one.dims[position]} is given twice", location=one.op.location, op=one.op.name)
        given[position] = value
    return given


def _integer(value: Any, what: str, model: SmtModel) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeMismatch(f"{what} is {short(value)}, but must be an integer", values=(value,))
    if number.bit_length() > MAX_BITS:
        raise InputError(f"{what} has more than {MAX_BITS} bits")
    if model.arithmetic == "int64" and number not in INT64:
        raise InputError(f"{what} is {short(number)}, which does not fit in the model's 64 bits", values=(value,))
    return number


def _knob_value(knob: DialectAttr, value: Any, model: SmtModel) -> int:
    """Return the number of a knob. An option of a one_of_knob may be given by its spelling."""
    what = f"knob {knob['name'].value}"
    if knob.definition is not ONE_OF_KNOB:
        return _integer(value, what, model)
    options = [option.spell_untyped() for option in knob["options"].elements]
    if isinstance(value, str) and value in options:
        return options.index(value)
    if not isinstance(value, str) and _integer(value, what, model) in range(len(options)):
        return operator.index(value)
    numbered = _listed(f"{index}: {option}" for index, option in enumerate(options)) if options else "none"
    hint = did_you_mean(value, options) if isinstance(value, str) else None
    raise InputError(f"{what} is {short(value)}, which is none of its options: {numbered}", values=(value,), hint=hint)


# --- verdicts ---------------------------------------------------------------------------------------------------------


def _judged(one: _ConstraintsOp, knobs: Mapping[str, int | str] | None, dims: Dims, model: SmtModel) -> Constraints:
    op, module = one.op, configuration(one.op)
    given = _given_dims(one, dims)
    values = [
        _integer(given[position], f"dimension {name}", model) if position in given else constant(operand)
        for position, (name, operand) in enumerate(zip(one.dims, op.operands, strict=True))
    ]
    numbers = module.knobs | {
        name: _knob_value(one.knobs[name], value, model) for name, value in (knobs or {}).items() if name in one.knobs
    }
    if model.configuration == "required" and knobs is None and module.problem is not None:
        if module.missing:
            message = f"the configuration does not fit the knobs: {module.problem}"
            raise InputError(message, location=op.location, op=op.name)
        verdicts = unjudged(op, module.problem)
    else:
        terms: list[Term] = [
            Unknown((f"dimension {name} is not given",)) if value is None else value
            for name, value in zip(one.dims, values, strict=True)
        ]
        verdicts = judge(op, terms, numbers, model)
    return Constraints(
        one.function,
        one.target,
        op.location,
        tuple(zip(one.dims, values, strict=True)),
        tuple((name, numbers.get(name)) for name in one.knobs),
        verdicts,
        module.problem,
    )
