"""Commands and their options: fields of a dataclass, which argparse and the code of a command both use."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from halfulp.command.console import EXIT_CODES


@dataclass(frozen=True)
class Command:
    """A command: its options, the function that executes it, and the texts of its help."""

    #: The dataclass of the options.
    arguments: type[Any]
    #: The function that executes the command. It takes the options and the `Sources` that are read, and returns the
    #: exit code. It may raise HalfulpError.
    execute: Callable[[Any, Any], int]
    description: str | None = None
    epilog: str = EXIT_CODES
    usage: str | None = None
    #: The title in the help for the options of each base class of ``arguments``.
    titles: Mapping[type[Any], str] = field(default_factory=dict)


class _Once(argparse.Action):
    """The action that stores the value of an option. It refuses a second value: otherwise the last one would count
    without a message.
    """

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        if hasattr(namespace, self.dest):
            raise argparse.ArgumentError(self, "may be given only once")
        setattr(namespace, self.dest, values)


def add_options(parser: argparse.ArgumentParser, command: Command) -> None:
    """Add the options of a command to its parser."""
    groups = {
        name: group
        for base, title in command.titles.items()
        for group in [parser.add_argument_group(title)]
        for name in (each.name for each in fields(base))
    }
    exclusive: Any = None
    for each in fields(command.arguments):
        names, keywords = each.metadata["names"](each.name), dict(each.metadata["keywords"])
        place: Any = groups.get(each.name, parser)
        if each.metadata["exclusive"]:
            place = exclusive = exclusive or parser.add_mutually_exclusive_group()
        if names:
            keywords = {"dest": each.name, "action": _Once, **keywords}
        # An option that is not given is not in the namespace: the dataclass has the defaults.
        place.add_argument(*(names or [each.name]), default=argparse.SUPPRESS, **keywords)
        if each.metadata["alias"] is not None:
            hidden = {**keywords, "help": argparse.SUPPRESS}
            place.add_argument(each.metadata["alias"], default=argparse.SUPPRESS, **hidden)


def taken(arguments: type[Any], given: Mapping[str, Any]) -> Any:
    """Return an object with the options of a command. ``given``: the values that argparse found."""
    return arguments(**{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()})


def duration(text: str) -> float:
    """Read a number of seconds, 0 or more. Raise argparse.ArgumentTypeError for anything else."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return seconds
