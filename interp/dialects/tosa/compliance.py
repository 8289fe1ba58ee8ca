"""Which profiles and extensions of TOSA the types of an op need: the rows of compliance.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from itertools import product
from typing import NamedTuple

from halfulp.interp.dialects.tosa.forms import type_of_variable
from halfulp.interp.dialects.tosa.types import MXINT8, BlockScaledType, ShapeType
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, SSAValue

PROFILES = ("pro_int", "pro_fp")

_BLOCKS = tuple(f"bs:{each}" for each in ("f8E4M3FN", "f8E5M2", "f6E3M2FN", "f6E2M3FN", "f4E2M1FN", "mxint8"))
_EXTENSIONS_OF: Mapping[str, tuple[str, ...]] = {
    "bf16": ("bf16",),
    "f8E4M3FN": ("fp8e4m3",),
    "f8E5M2": ("fp8e5m2",),
    "bs:f8E4M3FN": ("mx_common", "mx_fp8e4m3"),
    "bs:f8E5M2": ("mx_common", "mx_fp8e5m2"),
    "bs:f6E3M2FN": ("mx_common", "mx_fp6e3m2"),
    "bs:f6E2M3FN": ("mx_common", "mx_fp6e2m3"),
    "bs:f4E2M1FN": ("mx_common", "mx_fp4e2m1"),
    "bs:mxint8": ("mx_common", "mx_int8"),
}


class Row(NamedTuple):
    """Types of an op, and what they need.

    ``modes``: profiles, of which one is needed, or extensions, which are all needed. ``version``: that of the
    specification, "1.0" or "1.1.draft".
    """

    types: tuple[str, ...]
    modes: tuple[str, ...]
    version: str

    @property
    def is_profile(self) -> bool:
        """Whether the modes are profiles."""
        return self.modes[0] in PROFILES


@cache
def rows_of(op: str) -> tuple[Row, ...]:
    """Return the rows of an op, such as ``tosa.add``, profiles first; none for an op whose types need nothing."""
    rows = dict.fromkeys(row for line in _lines().get(op, ()) for row in _rows(line))
    return tuple(sorted(rows, key=lambda row: not row.is_profile))


@cache
def _lines() -> Mapping[str, list[str]]:
    text = files(__package__).joinpath("compliance.toml").read_text(encoding="utf-8")
    return {f"tosa.{op}": lines for ops, lines in tomllib.loads(text).items() for op in ops.split()}


def _rows(line: str) -> Iterator[Row]:
    head, _, rows = line.partition(": ")
    *version, modes = head.split()
    for row in rows.split(", "):
        for types in _expanded(row):
            needed = tuple(re.split("[|+]", modes)) if modes != "*" else _needed_by(types)
            if needed:
                yield Row(types, needed, "1.1.draft" if version else "1.0")


def _expanded(row: str) -> Iterator[tuple[str, ...]]:
    """Yield the types of a row, for each choice that it leaves."""
    places = [found[1].split() if found[1] else [found[0]] for found in re.finditer(r"\{([^}]*)\}|\S+", row)]
    choices = [[type_ for word in place for type_ in (_BLOCKS if word == "bs" else (word,))] for place in places]
    for chosen in product(*choices):
        types: list[str] = []
        for word in chosen:
            type_ = types[int(word[1:])] if word.startswith("~") else word
            types.append("f32" if word.startswith("~") and type_ in _BLOCKS else type_)
        yield tuple(types)


def _needed_by(types: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({each for type_ in types for each in _EXTENSIONS_OF.get(type_, ())}))


# --- ops --------------------------------------------------------------------------------------------------------------

_UNCOUNTED: Mapping[str, frozenset[int]] = {
    "tosa.mul": frozenset((2,)),
    "tosa.select": frozenset((0,)),
    "tosa.rescale": frozenset((1, 2)),
    "tosa.row_gather": frozenset((2,)),
}
"""The operands whose types do not count, beside shapes. Of tosa.concat, only the first one counts."""


def counted_types(op: Operation) -> tuple[str, ...]:
    """Return the types that decide what an op needs, as the rows have them."""
    if op.name == "tosa.variable":
        return (_named(ty.element_type(type_of_variable(op))),)
    operands = op.operands[:1] if op.name == "tosa.concat" else op.operands
    left_out = _UNCOUNTED.get(op.name, frozenset())
    types = [ty.element_type(each.type) for k, each in enumerate(operands) if k not in left_out and _is_tensor(each)]
    accumulator = op.properties.get("acc_type")
    if isinstance(accumulator, at.TypeAttr):
        types.append(accumulator.type)
    types += [ty.element_type(each.type) for each in op.results if _is_tensor(each)]
    return tuple(map(_named, types))


def _is_tensor(value: SSAValue) -> bool:
    return not isinstance(value.type, ShapeType)


def _named(element: ty.Type) -> str:
    if isinstance(element, BlockScaledType):
        return f"bs:{_named(element.value)}"
    return "mxint8" if element == MXINT8 else str(element)


def is_known(op: Operation) -> bool:
    """Tell whether a profile or an extension has the types of an op."""
    types = counted_types(op)
    return any(row.types == types for row in rows_of(op.name))
