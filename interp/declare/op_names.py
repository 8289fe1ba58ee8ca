"""Hints for names of ops that are not known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from halfulp.fp_formats.suggestions import asking, nearest
from halfulp.interp.declare.declarations import Dialect
from halfulp.interp.declare.upstream import is_upstream


class Renamed(NamedTuple):
    """The new names of an op that MLIR renamed, and a note on the difference between them."""

    names: tuple[str, ...]
    note: str


_NAN_RULES = "MLIR renamed {} in 2023; {} returns a NaN operand, {} ignores it"
RENAMED: Mapping[str, Renamed] = {
    "arith.maxf": Renamed(
        ("arith.maximumf", "arith.maxnumf"), _NAN_RULES.format("arith.maxf", "arith.maximumf", "arith.maxnumf")
    ),
    "arith.minf": Renamed(
        ("arith.minimumf", "arith.minnumf"), _NAN_RULES.format("arith.minf", "arith.minimumf", "arith.minnumf")
    ),
}


def number_family(mnemonic: str) -> str | None:
    """Return the kind of numbers an op computes with, by MLIR's suffixes: f for floats, i, si or ui for integers."""
    last = mnemonic.rpartition(".")[2]
    if last.endswith("f"):
        return "float"
    return "integer" if last.endswith("i") else None


def op_hint(name: str, dialects: Mapping[str, Dialect], functions: Collection[str] = ()) -> str | None:
    """Return a hint for the name of an op that is not known, with or without its dialect; None where none is near.

    ``functions``: the names of functions that are not ops of a dialect.
    """
    dialect, dot, mnemonic = name.partition(".")
    if not dot:
        return _hint_without_dialect(name, dialects, functions)
    if name in RENAMED:
        return _renamed(name)
    if mnemonic in functions:
        return asking([mnemonic])
    if dialect not in dialects:
        # A dialect of MLIR is not misspelled.
        near = () if is_upstream(name) else nearest(dialect, dialects)
        names = (f"{other}.{mnemonic}" for other in near)
        return asking(full for full in names if _is_op(full, dialects)) or unknown_dialect(dialect, dialects)
    known = [op.partition(".")[2] for op in dialects[dialect].ops]
    return asking(f"{dialect}.{near}" for near in nearest(mnemonic, known, number_family))


def unknown_dialect(dialect: str, dialects: Iterable[str]) -> str:
    """Return a hint for an op of a dialect that is not known."""
    return f"halfulp evaluates no op of the dialect {dialect}; it knows the dialects {', '.join(dialects)}"


def _is_op(name: str, dialects: Mapping[str, Dialect]) -> bool:
    return name in RENAMED or name in dialects[name.partition(".")[0]].ops


def _renamed(name: str) -> str:
    renamed = RENAMED[name]
    return f"{asking(renamed.names)} {renamed.note}"


def _hint_without_dialect(mnemonic: str, dialects: Mapping[str, Dialect], functions: Iterable[str]) -> str | None:
    exact = [f"{dialect}.{mnemonic}" for dialect in dialects if _is_op(f"{dialect}.{mnemonic}", dialects)]
    if exact:
        return _renamed(exact[0]) if exact[0] in RENAMED else asking(exact)
    known = {op.partition(".")[2]: op for dialect in dialects.values() for op in dialect.ops}
    known.update((name, name) for name in functions)
    return asking(known[near] for near in nearest(mnemonic, known, number_family))
