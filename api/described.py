"""Declarations of options. Each option is described once, as a field of a dataclass; the command line and Python
functions are both made from it.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, field, fields
from functools import partial
from typing import Any, ClassVar


def option(metavar: str | None, help: str, default: Any = None, *, name: str = "", **keywords: Any) -> Any:
    """Declare a field that is an option. Its name comes from the field, ``--max-steps`` from ``max_steps`` and ``-n``
    from ``n``, unless ``name`` has other names, separated by blanks.

    ``keywords``: further arguments of `argparse.ArgumentParser.add_argument`. With ``required`` the field has no
    default.
    ``exclusive``: at most one of the exclusive options may be given. ``alias``: another name, which help does not show.
    """
    given = {"help": help, **({} if metavar is None else {"metavar": metavar}), **keywords}
    metadata = {
        "names": partial(_names, name),
        **{key: given.pop(key, None) for key in ("exclusive", "alias")},
        "keywords": given,
    }
    return field(default=MISSING if "required" in given else default, metadata=metadata)


def flag(help: str, **keywords: Any) -> Any:
    """Declare an option without a value, False by default."""
    return option(None, help, False, action="store_true", **keywords)


def repeated(metavar: str | None, help: str, **keywords: Any) -> Any:
    """Declare an option that may be given several times: a tuple of texts."""
    return option(metavar, help, (), action="append", **keywords)


def amount(help: str, default: int | None = None, *, metavar: str = "N", **keywords: Any) -> Any:
    """Declare an option that is a positive number."""
    return option(metavar, help, default, type=positive, **keywords)


def choice(choices: Iterable[Any], help: str, default: Any = None, **keywords: Any) -> Any:
    """Declare an option that is one of some values."""
    return option(None, help, default, choices=choices, **keywords)


def argument(metavar: str, help: str, nargs: str | None = None, choices: Sequence[str] | None = None) -> Any:
    """Declare a positional argument; with ``nargs``, "?" or "*", one that may be left out, with "+" one or more."""
    given = {"nargs": nargs, "choices": choices}
    keywords = {"metavar": metavar, "help": help, **{name: each for name, each in given.items() if each is not None}}
    default: Any = MISSING if nargs in (None, "+") else () if nargs == "*" else None
    return field(
        default=default, metadata={"names": lambda _: [], "exclusive": None, "alias": None, "keywords": keywords}
    )


def _names(given: str, field: str) -> list[str]:
    """Return the names of an option that is a field. ``given``: other names than that of the field."""
    return given.split() or [f"-{'-' * (len(field) > 1)}{field.replace('_', '-')}"]


class Keywords:
    """The base class of options that were given to a Python function: errors name the arguments of that function."""

    #: For arguments whose name is not that of the field: the field, and the argument.
    ARGUMENTS: ClassVar[Mapping[str, str]] = {"source": "to"}


def written(options: Any, name: str, value: object = None) -> str:
    """Return an option as a user writes it: ``--random-bits``, or ``--random-bits=3`` with a value; in Python
    ``random_bits``, or ``random_bits=3`` with a value.
    """
    if isinstance(options, Keywords):
        argument = options.ARGUMENTS.get(name, name)
        return argument if value is None else f"{argument}={value!r}"
    named: str = next(each.metadata["names"](name)[0] for each in fields(options) if each.name == name)
    return named if value is None else f"{named}={value}"


def first_given(options: Any, names: Iterable[str]) -> str | None:
    """Return the first of these options that differs from its default, as a user writes it; None if none does."""
    by_name = {each.name: each for each in fields(options)}
    for each in (by_name[name] for name in names if name in by_name):
        if getattr(options, each.name) != each.default:
            return written(options, each.name)
    return None


def as_given(options: Any, names: Iterable[str]) -> str:
    """Return those of these options that differ from their defaults as a part of a command: `` --seed=3``."""
    by_name = {each.name: each for each in fields(options)}
    values = {name: getattr(options, name) for name in names if name in by_name}
    texts = (
        written(options, name, None if value is True else value)
        for name, value in values.items()
        if value != by_name[name].default
    )
    return "".join(f" {shlex.quote(text)}" for text in texts)


def positive(text: str) -> int:
    """Read a positive number of an option. Raise argparse.ArgumentTypeError for anything else."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return number


def profile_option(meaning: str = "the profile: the semantics where documents or tools differ") -> Any:
    """Declare the option ``--profile``."""
    return option("NAME[,FIELD=VALUE...]", f"{meaning} (default: spec)", "spec")
