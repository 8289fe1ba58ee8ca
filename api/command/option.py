"""Commands and their options: fields of a dataclass, which argparse and the code of a command both use."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from halfulp.command.console import EXIT_CODES


@dataclass(frozen=True)
class CommandHelp:
    """A command: the dataclass of its options, and the texts of its help.

    ``titles``: the dataclasses among the bases of ``arguments`` whose options help shows as a group under a title.
    """

    arguments: type[Any]
    description: str | None = None
    epilog: str = EXIT_CODES
    usage: str | None = None
    titles: Mapping[type[Any], str] = field(default_factory=dict)


def option(*names: str, exclusive: bool = False, **keywords: Any) -> Any:
    """Declare a field that is an option, or without ``names`` a positional argument.

    ``keywords``: those of `argparse.ArgumentParser.add_argument`; ``default`` is that of the field. A repeated option
    has a tuple, empty by default. ``exclusive``: at most one of the exclusive options may be given.
    """
    required = keywords.get("required", not names and "nargs" not in keywords)
    usual = {"store_true": False, "append": ()}.get(keywords.get("action", ""))
    default = MISSING if required else keywords.pop("default", usual)
    metadata = {"names": names, "exclusive": exclusive, "keywords": keywords}
    return field(default=default, metadata=metadata)


class _Once(argparse.Action):
    """Store the value of an option. Refuse a second value: otherwise the last one would count in silence."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        if hasattr(namespace, self.dest):
            raise argparse.ArgumentError(self, "may be given only once")
        setattr(namespace, self.dest, values)


def add_options(parser: argparse.ArgumentParser, command: CommandHelp) -> None:
    """Add the options of a command to its parser."""
    groups = {
        name: group
        for base, title in command.titles.items()
        for group in [parser.add_argument_group(title)]
        for name in (each.name for each in fields(base))
    }
    exclusive: Any = None
    for each in fields(command.arguments):
        names, keywords = each.metadata["names"], dict(each.metadata["keywords"])
        place: Any = groups.get(each.name, parser)
        if each.metadata["exclusive"]:
            place = exclusive = exclusive or parser.add_mutually_exclusive_group()
        if names:
            keywords = {"dest": each.name, "action": _Once, **keywords}
        # An option that is not given is not in the namespace: the dataclass has the defaults.
        place.add_argument(*(names or [each.name]), default=argparse.SUPPRESS, **keywords)


def taken(arguments: type[Any], given: Mapping[str, Any]) -> Any:
    """Make the options of a command from what argparse found."""
    return arguments(**{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()})


def first_given(arguments: Any, names: Iterable[str]) -> str | None:
    """Return the first of these options that differs from its default, as it is written; None where none does."""
    by_name = {each.name: each for each in fields(arguments)}
    for each in (by_name[name] for name in names if name in by_name):
        if getattr(arguments, each.name) != each.default:
            return str(each.metadata["names"][0])
    return None


def positive(text: str) -> int:
    """Read a positive number of an option. Raise argparse.ArgumentTypeError for anything else."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return number


def duration(text: str) -> float:
    """Read a number of seconds, 0 or more. Raise argparse.ArgumentTypeError for anything else."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return seconds
