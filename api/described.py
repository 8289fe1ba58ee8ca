"""Options, each described once as a field of a dataclass: the command line and functions of Python are made of them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, field, fields
from typing import Any, ClassVar


def option(*names: str, exclusive: bool = False, alias: str | None = None, **keywords: Any) -> Any:
    """Declare a field that is an option, or without ``names`` a positional argument.

    ``keywords``: those of `argparse.ArgumentParser.add_argument`; ``default`` is that of the field. A repeated option
    has a tuple, empty by default. ``exclusive``: at most one of the exclusive options may be given.
    ``alias``: another name, which help does not show.
    """
    required = keywords.get("required", not names and "nargs" not in keywords)
    usual = {"store_true": False, "append": ()}.get(keywords.get("action", ""))
    default = MISSING if required else keywords.pop("default", usual)
    metadata = {"names": names, "exclusive": exclusive, "alias": alias, "keywords": keywords}
    return field(default=default, metadata=metadata)


class Keywords:
    """A base of options that were given to a function of Python: its errors name its arguments."""

    #: Arguments whose name is not that of the field.
    ARGUMENTS: ClassVar[Mapping[str, str]] = {"source": "to"}


def written(options: Any, name: str, value: object = None) -> str:
    """Return how a user writes an option: ``--random-bits``, with a value ``--random-bits=3``; in Python
    ``random_bits``, with a value ``random_bits=3``.
    """
    if isinstance(options, Keywords):
        argument = options.ARGUMENTS.get(name, name)
        return argument if value is None else f"{argument}={value!r}"
    named = next(str(each.metadata["names"][0]) for each in fields(options) if each.name == name)
    return named if value is None else f"{named}={value}"


def first_given(options: Any, names: Iterable[str]) -> str | None:
    """Return the first of these options that differs from its default, as it is written; None where none does."""
    by_name = {each.name: each for each in fields(options)}
    for each in (by_name[name] for name in names if name in by_name):
        if getattr(options, each.name) != each.default:
            return written(options, each.name)
    return None


def positive(text: str) -> int:
    """Read a positive number of an option. Raise argparse.ArgumentTypeError for anything else."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return number


def profile_option(meaning: str = "the profile: the semantics where documents or tools differ") -> Any:
    """Declare the option ``--profile``."""
    help = f"{meaning} (default: spec)"
    return option("--profile", default="spec", metavar="NAME[,FIELD=VALUE...]", help=help)
