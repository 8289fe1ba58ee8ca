"""The solver: z3, an optional package, loaded at its first use, and its bounds on time and memory."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from halfulp.fp_formats.suggestions import how_to_install
from halfulp.interp.ir.errors import InputError

MAX_MEGABYTES = 1024
"""The memory at which z3 gives up a question."""

Term = Any
"""A term of z3: z3 has no types that mypy could check. A condition is a term of sort Bool, or True or False."""


@cache
def _module() -> Any:
    try:
        return import_module("z3")
    except ModuleNotFoundError:
        raise InputError("a proof needs z3, which is not installed", hint=how_to_install("prove")) from None


class _Z3:
    """The names of the package z3."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_module(), name)


z3: Any = _Z3()


def installed() -> bool:
    """Tell whether z3 is installed."""
    return find_spec("z3") is not None


def require() -> None:
    """Raise InputError if z3 is not installed."""
    _module()


class Answer(Enum):
    """The answer of the solver to a question."""

    NO = "no"  # nothing satisfies the condition
    YES = "yes"
    UNKNOWN = "unknown"


@dataclass
class Deadline:
    """The end of the time that one function may take."""

    seconds: float
    start: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """The seconds that are left; 0 if none are."""
        return max(0.0, self.start + self.seconds - time.monotonic())


def satisfiable(condition: Term | bool, deadline: Deadline) -> tuple[Answer, Mapping[str, int]]:
    """Ask whether any values of the variables satisfy a condition. With YES come such values, by the names of the
    variables; those that do not matter are absent.

    Time or memory that runs out is the answer UNKNOWN, and so is every failure of the solver.
    """
    if isinstance(condition, bool):
        return Answer.YES if condition else Answer.NO, {}
    milliseconds = int(1000 * deadline.left)
    if not milliseconds:
        return Answer.UNKNOWN, {}
    try:
        context = z3.Context()  # what a question leaves in memory goes with its context
        solver = z3.Tactic("qffpbv", ctx=context).solver()
        solver.set("timeout", milliseconds)
        solver.set("max_memory", MAX_MEGABYTES)
        solver.add(condition.translate(context))
        found = solver.check()
        if found == z3.unsat:
            return Answer.NO, {}
        if found == z3.sat:
            model = solver.model()
            return Answer.YES, {
                name.name(): model[name].as_long() for name in model.decls() if z3.is_bv_value(model[name])
            }
    except z3.Z3Exception:
        pass
    return Answer.UNKNOWN, {}
