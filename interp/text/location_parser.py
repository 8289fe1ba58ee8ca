"""Locations from text, with mlir-opt's messages and positions."""

from __future__ import annotations

from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.locations import CallSiteLoc, FileLineCol, FileRange, FusedLoc, Location, NameLoc, UnknownLoc
from halfulp.interp.text.token_parser import integer_value, is_integer
from halfulp.interp.text.type_parser import TypeParser


class LocationParser(TypeParser):
    """A parser of locations."""

    def location(self, what: str = "location") -> Location:
        """Read ``loc(…)``. ``what``: the name of it in messages."""
        self.expect("loc", "expected location")
        self.expect("(", f"expected '(' in {what}")
        self.enter()
        location = self.location_instance()
        self.expect(")", f"expected ')' in {what}")
        self.leave()
        return location

    def location_instance(self) -> Location:
        """Read the text between the brackets of ``loc(…)``."""
        token = self.tokens[self.pos]
        if token[:1] == "#" and len(token) > 1:
            return self._location_alias(token)
        if token[:1] == '"' and len(token) > 1:
            return self._named_location()
        if token == "unknown":
            self.pos += 1
            return UnknownLoc()
        if token == "callsite":
            return self._callsite()
        if token != "fused":
            self.wrong_token("expected location instance")
        return self._fused()

    def _location_alias(self, token: str) -> Location:
        self.pos += 1
        known = self.attributes.get(token)
        if known is None:
            self.wrong_token(f"undefined symbol alias id '{token[1:]}'")
        if not isinstance(known, Location):
            self.error(f"expected location, but found '{known}'", self.pos - 1)
        return known

    def _named_location(self) -> Location:
        text = self.string()
        if self.take(":"):
            # MLIR writes an empty name as a dash.
            return self._file_location(text or "-")
        if not self.take("("):
            return NameLoc(text)
        self.enter()
        child = self.location_instance()
        self.expect(")", "expected ')' after child location of NameLoc")
        self.leave()
        return NameLoc(text, child)

    def _file_location(self, file: str) -> Location:
        line = self._line_number("expected integer line number in FileLineColRange")
        if not self.take(":"):
            return FileRange(file, line, 0, line, 0)
        column = self._line_number("expected integer column number in FileLineColRange")
        if not self.take("to"):
            return FileLineCol(file, line, column)
        end_line = line
        if is_integer(self.tokens[self.pos]):
            end_line = self._line_number("expected integer line number in FileLineColRange")
        elif self.tokens[self.pos] != ":":
            self.wrong_token("expected either integer or `:` post `to` in FileLineColRange")
        self.expect(":", "expected either integer or `:` post `to` in FileLineColRange")
        end_column = self._line_number("expected integer column number in FileLineColRange")
        return FileRange(file, line, column, end_line, end_column)

    def _line_number(self, message: str) -> int:
        token = self.tokens[self.pos]
        value = integer_value(token) if is_integer(token) else -1
        if not 0 <= value < 1 << 32:
            self.wrong_token(message)
        self.pos += 1
        return value

    def _callsite(self) -> Location:
        self.pos += 1
        self.expect("(", "expected '(' in callsite location")
        self.enter()
        callee = self.location_instance()
        self.expect("at", "expected 'at' in callsite location")
        caller = self.location_instance()
        self.expect(")", "expected ')' in callsite location")
        self.leave()
        return CallSiteLoc(callee, caller)

    def _fused(self) -> Location:
        self.pos += 1
        metadata: Attribute | None = None
        self.enter()
        if self.take("<"):
            metadata = self.attribute()
            self.expect(">", "expected '>' after fused location metadata")
        self.expect("[", "expected '[' in fused location")
        parts: list[Location] = []
        if not self.take("]"):
            parts.append(self.location_instance())
            while self.take(","):
                parts.append(self.location_instance())
            self.expect("]", "expected ']' in fused location")
        self.leave()
        return fused(parts, metadata)


def fused(parts: list[Location], metadata: Attribute | None) -> Location:
    """Fuse locations as MLIR's FusedLoc::get does: nested ones without metadata dissolve, and unknown or repeated parts
    vanish.
    """
    flat: dict[Location, None] = {}
    for part in parts:
        if isinstance(part, FusedLoc) and part.metadata == metadata:
            flat.update(dict.fromkeys(part.locations))
        elif part != UnknownLoc():
            flat[part] = None
    if metadata is None and len(flat) < 2:
        return next(iter(flat), UnknownLoc())
    return FusedLoc(tuple(flat) or (UnknownLoc(),), metadata)
