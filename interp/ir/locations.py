"""Source locations. A location is an attribute in MLIR; ``str`` gives the text between the brackets of ``loc(…)``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from halfulp.interp.ir.base import Attribute, immutable
from halfulp.interp.ir.literals import quoted


@immutable
class Location(Attribute):
    """The base of all locations."""

    def spell(self, names: Mapping[object, str]) -> str:
        """Spell the location as an attribute value, with ``loc(…)`` around it."""
        return f"loc({self.inner(names)})"

    def inner(self, names: Mapping[object, str]) -> str:
        """Spell the text between the brackets of ``loc(…)``; nested locations that have an alias are spelled by it."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.inner({})


@immutable
class UnknownLoc(Location):
    """An unknown location: ``?``."""

    def inner(self, names: Mapping[object, str]) -> str:
        """Spell ``unknown``."""
        return "unknown"


@immutable
class FileLineCol(Location):
    """``"file":line:column``. Lines and columns count from 1; 0 means unknown."""

    file: str
    line: int
    column: int

    def inner(self, names: Mapping[object, str]) -> str:
        """Spell the file, the line and the column."""
        return f"{quoted(self.file)}:{self.line}:{self.column}"


Position = tuple[str, int, int]
"""The file, the line and the column of a `FileLineCol` that is not made yet."""

Place = Location | Position
"""A location, or the position of one. Most ops have a position, and few of them are asked for a location."""


def location_at(place: Place) -> Location:
    """Return the location of a place."""
    return FileLineCol(*place) if isinstance(place, tuple) else place


@immutable
class FileRange(Location):
    """``"file":line:column to line:column``: a range. An end line equal to the first is left out, and so is an end
    equal to the start; MLIR still tells such a range from a single place.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def inner(self, names: Mapping[object, str]) -> str:
        """Spell the start and the end."""
        start = f"{quoted(self.file)}:{self.line}:{self.column}"
        if (self.end_line, self.end_column) == (self.line, self.column):
            return start
        end = "" if self.end_line == self.line else str(self.end_line)
        return f"{start} to {end}:{self.end_column}"


@immutable
class NameLoc(Location):
    """``"name"(child)``: a name; an unknown child is left out."""

    name: str
    child: Location = UnknownLoc()

    def inner(self, names: Mapping[object, str]) -> str:
        """Spell the name, and the child if it is known."""
        if self.child == UnknownLoc():
            return quoted(self.name)
        return f"{quoted(self.name)}({_nested(self.child, names)})"


@immutable
class CallSiteLoc(Location):
    """``callsite(callee at caller)``."""

    callee: Location
    caller: Location

    def inner(self, names: Mapping[object, str]) -> str:
        """Spell the callee, then the place that called it."""
        return f"callsite({_nested(self.callee, names)} at {_nested(self.caller, names)})"


@immutable
class FusedLoc(Location):
    """``fused<metadata>[location, …]``."""

    locations: tuple[Location, ...]
    metadata: Attribute | None = None

    def inner(self, names: Mapping[object, str]) -> str:
        """Spell the metadata, if there is any, and the parts."""
        metadata = "" if self.metadata is None else f"<{names.get(self.metadata) or self.metadata.spell(names)}>"
        return f"fused{metadata}[{', '.join(_nested(part, names) for part in self.locations)}]"


def _nested(location: Location, names: Mapping[object, str]) -> str:
    return names.get(location) or location.inner(names)


def _parts(location: Location) -> Iterator[Location]:
    if isinstance(location, NameLoc):
        yield location.child
    elif isinstance(location, CallSiteLoc):
        yield location.callee
        yield location.caller
    elif isinstance(location, FusedLoc):
        yield from location.locations


def file_position(location: Location) -> FileLineCol | None:
    """Return the first file position inside ``location``, for diagnostics; None where it has none."""
    stack = [location]
    while stack:
        current = stack.pop()
        if isinstance(current, FileLineCol):
            return current
        if isinstance(current, FileRange):
            return FileLineCol(current.file, current.line, current.column)
        stack.extend(reversed(list(_parts(current))))
    return None
