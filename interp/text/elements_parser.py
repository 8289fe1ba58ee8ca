"""Elements from text: ``dense<…>``, ``sparse<…>``, ``array<…>`` and the numbers in them."""

from __future__ import annotations

import numpy as np

from halfulp.fp_formats.formats import ints_to_codes
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.declare.registry import Registry
from halfulp.interp.ir import base as loc
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import (
    DenseArrayAttr,
    DenseElementsAttr,
    DenseResourceAttr,
    DenseStringAttr,
    ElementsType,
    SparseElementsAttr,
)
from halfulp.interp.ir.blobs import elements_of_blob, no_elements
from halfulp.interp.ir.types import shape_problem, static_shape
from halfulp.interp.text.affine_parser import integer_value, is_integer
from halfulp.interp.text.type_parser import TypeParser

# --- location parser --------------------------------------------------------------------------------------------------
#
# Locations from text, with mlir-opt's messages and positions.


class LocationParser(TypeParser):
    """A parser of locations."""

    def location(self, what: str = "location") -> loc.Location:
        """Read ``loc(…)``. ``what``: its name in messages."""
        self.expect("loc", "expected location")
        self.expect("(", f"expected '(' in {what}")
        self.enter()
        location = self.location_instance()
        self.expect(")", f"expected ')' in {what}")
        self.leave()
        return location

    def location_instance(self) -> loc.Location:
        """Read the text between the brackets of ``loc(…)``."""
        token = self.tokens[self.pos]
        if token[:1] == "#" and len(token) > 1:
            return self._location_alias(token)
        if token[:1] == '"' and len(token) > 1:
            return self._named_location()
        if token == "unknown":
            self.pos += 1
            return loc.UnknownLoc()
        if token == "callsite":
            return self._callsite()
        if token != "fused":
            self.wrong_token("expected location instance")
        return self._fused()

    def _location_alias(self, token: str) -> loc.Location:
        self.pos += 1
        known = self.attributes.get(token)
        if known is None:
            self.wrong_token(f"undefined symbol alias id '{token[1:]}'")
        if not isinstance(known, loc.Location):
            self.error(f"expected location, but found '{known}'", self.pos - 1)
        return known

    def _named_location(self) -> loc.Location:
        text = self.string()
        if self.take(":"):
            # MLIR writes an empty name as a dash.
            return self._file_location(text or "-")
        if not self.take("("):
            return loc.NameLoc(text)
        self.enter()
        child = self.location_instance()
        self.expect(")", "expected ')' after child location of NameLoc")
        self.leave()
        return loc.NameLoc(text, child)

    def _file_location(self, file: str) -> loc.Location:
        line = self._line_number("expected integer line number in FileLineColRange")
        if not self.take(":"):
            return loc.FileRange(file, line, 0, line, 0)
        column = self._line_number("expected integer column number in FileLineColRange")
        if not self.take("to"):
            return loc.FileLineCol(file, line, column)
        end_line = line
        if is_integer(self.tokens[self.pos]):
            end_line = self._line_number("expected integer line number in FileLineColRange")
        elif self.tokens[self.pos] != ":":
            self.wrong_token("expected either integer or `:` post `to` in FileLineColRange")
        self.expect(":", "expected either integer or `:` post `to` in FileLineColRange")
        end_column = self._line_number("expected integer column number in FileLineColRange")
        return loc.FileRange(file, line, column, end_line, end_column)

    def _line_number(self, message: str) -> int:
        token = self.tokens[self.pos]
        value = integer_value(token) if is_integer(token) else -1
        if not 0 <= value < 1 << 32:
            self.wrong_token(message)
        self.pos += 1
        return value

    def _callsite(self) -> loc.Location:
        self.pos += 1
        self.expect("(", "expected '(' in callsite location")
        self.enter()
        callee = self.location_instance()
        self.expect("at", "expected 'at' in callsite location")
        caller = self.location_instance()
        self.expect(")", "expected ')' in callsite location")
        self.leave()
        return loc.CallSiteLoc(callee, caller)

    def _fused(self) -> loc.Location:
        self.pos += 1
        metadata: loc.Attribute | None = None
        self.enter()
        if self.take("<"):
            metadata = self.attribute()
            self.expect(">", "expected '>' after fused location metadata")
        self.expect("[", "expected '[' in fused location")
        parts = self.until("]", self.location_instance, "expected ']' in fused location")
        self.leave()
        return fused(parts, metadata)


def fused(parts: list[loc.Location], metadata: loc.Attribute | None) -> loc.Location:
    """Return several locations as one, as FusedLoc::get of MLIR does: a fused location among them that has no metadata
    is replaced by its parts, and unknown or repeated parts are left out.
    """
    flat: dict[loc.Location, None] = {}
    for part in parts:
        if isinstance(part, loc.FusedLoc) and part.metadata == metadata:
            flat.update(dict.fromkeys(part.locations))
        elif part != loc.UnknownLoc():
            flat[part] = None
    if metadata is None and len(flat) < 2:
        return next(iter(flat), loc.UnknownLoc())
    return loc.FusedLoc(tuple(flat) or (loc.UnknownLoc(),), metadata)


# --- elements parser --------------------------------------------------------------------------------------------------


class ElementsParser(LocationParser):
    """A parser of elements. ``schema``: the version whose layout of blobs the text uses."""

    def __init__(self, text: str, filename: str, registry: Registry, allow_unregistered: bool) -> None:
        super().__init__(text, filename, registry, allow_unregistered)
        self.schema = Schema.MLIR22

    def _dense(self, type: loc.Type | None) -> loc.Attribute:
        start = self.pos
        self.pos += 1
        self.expect("<", "expected '<' after 'dense'")
        literal = _Literal(self) if self.tokens[self.pos] != ">" else None
        self.expect(">")
        return _dense_attribute(self, literal, self._elements_type(type, start), start)

    def _elements_type(self, type: loc.Type | None, start: int) -> ElementsType:
        if type is None:
            self.expect(":")
            type = self.type()
        if not isinstance(type, ty.ShapedType):
            self.error("elements literal must be a shaped type", start)
        if ty.is_dynamic(type):
            self.error("elements literal type must have static shape", start)
        return type

    def _sparse(self, type: loc.Type | None) -> loc.Attribute:
        start = self.pos
        self.pos += 1
        self.expect("<", "expected '<' after 'sparse'")
        if self.take(">"):
            elements = self._elements_type(type, start)
            empty = DenseElementsAttr(
                ty.TensorType((0, len(elements.shape or ())), ty.I64), np.zeros((0, 0), np.uint64)
            )
            return SparseElementsAttr(elements, empty, no_elements(ty.TensorType((0,), elements.element)))
        indices = _Literal(self)
        self.expect(",")
        values = _Literal(self)
        self.expect(">")
        elements = self._elements_type(type, start)
        shape = ty.static_shape(elements)
        # A single coordinate may be written without brackets: it is repeated.
        rank = len(shape)
        # mlir-opt prints equal coordinates as one, and cannot read that. Here it is repeated for each value.
        index_shape = indices.shape or (values.shape[0] if values.shape else 1, rank)
        value_shape = values.shape or (index_shape[0],)
        if index_shape != (value_shape[0], rank) and not (rank == 1 and index_shape == value_shape):
            self.error(
                f"expected shape ([{', '.join(map(str, shape))}]); inferred shape of indices literal "
                f"([{', '.join(map(str, indices.shape))}]); inferred shape of values literal "
                f"([{', '.join(map(str, values.shape))}])",
                start,
            )
        index_attr = _dense_attribute(self, indices, ty.TensorType(index_shape, ty.I64), start)
        value_attr = _dense_attribute(self, values, ty.TensorType(value_shape, elements.element), start)
        assert isinstance(index_attr, DenseElementsAttr)
        rows = index_attr.array().reshape(-1, rank).tolist()
        for number, row in enumerate(rows):
            if any(index >= size for index, size in zip(row, shape, strict=True)):
                self.error(
                    f"sparse index #{number} is not contained within the value shape, with index="
                    f"[{', '.join(map(str, row))}], and type='{elements}'",
                    start,
                )
        return SparseElementsAttr(elements, index_attr, value_attr)

    def _dense_array(self, type: loc.Type | None) -> loc.Attribute:
        self.pos += 1
        self.expect("<", "expected '<' after 'array'")
        at = self.pos
        element = self.non_function_type()
        if not isinstance(element, ty.IntegerType | ty.FloatType):
            self.error("expected an integer or floating point type", at)
        bits = element.format.bits if isinstance(element, ty.FloatType) else element.width
        if element != ty.I1 and bits % 8:
            self.error("element type bitwidth must be a multiple of 8", at)
        if self.take(">"):
            return DenseArrayAttr(element, ())
        self.expect(":", "expected ':' after dense array type")
        codes = self.separated(lambda: self._array_code(element))
        self.expect(">", "expected '>' to close an array attribute")
        return DenseArrayAttr(element, tuple(codes))

    def array_values(self, element: loc.Type) -> DenseArrayAttr:
        """Read ``[1, 2]``, the form of a dense array whose element type is known. Its integers are signed."""
        width = element.width if isinstance(element, ty.IntegerType) and element != ty.I1 else None
        self.expect("[")
        codes: list[int] = []
        while self.tokens[self.pos] != "]" or codes:
            codes.append(self._array_code(element) if width is None else self._signed_code(width))
            if not self.take(","):
                break
        self.expect("]")
        return DenseArrayAttr(element, tuple(codes))

    def _signed_code(self, width: int) -> int:
        at = self.pos
        value = self.integer()
        if not -(1 << width - 1) <= value < 1 << width - 1:
            self.error("integer value too large", at)
        return value & ((1 << width) - 1)

    def _array_code(self, element: loc.Type) -> int:
        token = self.tokens[self.pos]
        if element == ty.I1:
            # mlir-opt reports a wrong value at the token after it.
            self.pos += 1
            if token not in ("true", "false"):
                self.error("expected 'true' or 'false' values for i1 type")
            return int(token == "true")
        negative = self.take("-")
        at = self.pos
        token = self.tokens[at]
        if isinstance(element, ty.FloatType):
            if not token[:1].isdigit():
                self.wrong_token("expected floating point literal")
            self.pos += 1
            return self.float_code(token, at, negative, element)
        if not is_integer(token):
            self.error("expected integer literal")
        self.pos += 1
        return self.integer_code(token, at + 1, negative, element, "integer constant out of range")

    def _dense_resource(self, type: loc.Type | None) -> loc.Attribute:
        self.pos += 1
        self.expect("<", "expected '<' after 'dense_resource'")
        key = self.resource_key("expected identifier key for 'resource' entry")
        self.expect(">")
        at = self.pos
        if type is None:
            self.expect(":")
            at = self.pos
            type = self.type()
        if not isinstance(type, ty.ShapedType):
            self.error_at_offset("`dense_resource` expected a shaped type", self.offset(at - 1))
        return DenseResourceAttr(key, type)


class _Literal:
    """The elements of a `dense<…>` before its type is known: indices of tokens in row-major order, and the shape.

    Nested brackets are read iteratively.
    """

    def __init__(self, parser: ElementsParser) -> None:
        self.elements: list[int] = []
        self.shape: tuple[int, ...] = ()
        self.bracketed = parser.tokens[parser.pos] == "["
        self.start = parser.pos
        if self.bracketed:
            self._read_list(parser)
        else:
            self._element(parser)

    def _element(self, parser: ElementsParser) -> None:
        tokens = parser.tokens
        if tokens[parser.pos] == "(":
            parser.pos += 1
            self._number(parser)
            parser.expect(",", "expected ',' between complex elements")
            self._number(parser)
            parser.expect(")", "expected ')' after complex elements")
            return
        self._number(parser)

    def _number(self, parser: ElementsParser) -> None:
        token = parser.tokens[parser.pos]
        first = token[:1]
        if not first.isdigit() and token not in ("true", "false") and (first != '"' or len(token) < 2):
            if token != "-":
                parser.wrong_token("expected element literal of primitive type")
            parser.pos += 1
            if not parser.tokens[parser.pos][:1].isdigit():
                parser.wrong_token("expected integer or floating point literal")
        self.elements.append(parser.pos)
        parser.pos += 1

    def _read_list(self, parser: ElementsParser) -> None:
        # One entry per open bracket: [elements read in it, shape of the first of them].
        open: list[tuple[int, tuple[int, ...] | None]] = []
        tokens = parser.tokens
        done: tuple[int, ...] = ()
        while True:
            # At the start of an element.
            if tokens[parser.pos] == "[":
                open.append((0, None))
                parser.pos += 1
                if len(open) > _MAX_RANK:
                    parser.error(f"nesting is deeper than {_MAX_RANK} levels")
                if tokens[parser.pos] != "]":
                    continue
                open.pop()
                parser.pos += 1
                done = (0,)
            else:
                self._element(parser)
                done = ()
            # An element of shape `done` has ended.
            while open:
                count, shape = open[-1]
                if shape is not None and shape != done:
                    parser.error("tensor literal is invalid; ranks are not consistent between elements")
                open[-1] = (count + 1, done)
                if tokens[parser.pos] == ",":
                    parser.pos += 1
                    break
                parser.expect("]")
                open.pop()
                done = (count + 1, *done)
            else:
                self.shape = done
                return


_MAX_RANK = 1000


def _dense_attribute(
    parser: ElementsParser, literal: _Literal | None, type: ElementsType, start: int
) -> DenseElementsAttr | DenseStringAttr:
    element = type.element
    count = ty.element_count(type)
    assert count is not None
    problem = shape_problem(static_shape(type))
    # A splat is not repeated in memory.
    if problem and not (count and literal is not None and not literal.bracketed and not _is_text(parser, literal)):
        parser.error(f"the elements of '{type}' do not fit in an array: the type {problem}", start)
    if literal is None:
        if count:
            parser.error(f"parsed zero elements, but type ('{type}') expected at least 1", start)
        return no_elements(type)
    scalar = element.element if isinstance(element, ty.ComplexType) else element
    if not isinstance(scalar, ty.IntegerType | ty.IndexType | ty.FloatType):
        return _string_elements(parser, literal, type, count, start)
    if not literal.bracketed and _is_text(parser, literal):
        return _blob_elements(parser, literal.elements[0], type, start)
    per_element = 2 if isinstance(element, ty.ComplexType) else 1
    _check_shape(parser, literal, type, start)
    expected = per_element * (count if literal.bracketed else 1)
    if literal.bracketed and per_element == 1 and len(literal.elements) == 2 * expected and expected:
        parser.error(f"expected element literals of type '{element}', but parsed complex ones", start)
    if per_element == 1 and not literal.bracketed and len(literal.elements) != 1:
        parser.error(f"parsed complex elements, but type ('{type}') has none", start)
    if len(literal.elements) != expected:
        parser.error(
            f"parsed {len(literal.elements)} elements, but type ('{element}') expected {expected} elements", start
        )
    codes = [_element_code(parser, index, scalar) for index in literal.elements]
    if not codes:
        return no_elements(type)
    values = [tuple(codes[i : i + per_element]) for i in range(0, len(codes), per_element)]
    splat = not literal.bracketed or values.count(values[0]) == len(values)
    codes = codes[:per_element] if splat else codes
    shape = (*(() if splat else static_shape(type)), *((2,) if isinstance(element, ty.ComplexType) else ()))
    return DenseElementsAttr(type, ints_to_codes(codes, ty.width_of(scalar), shape), splat)


def _check_shape(parser: ElementsParser, literal: _Literal, type: ElementsType, start: int) -> None:
    if literal.bracketed and literal.shape != static_shape(type):
        parser.error(
            f"inferred shape of elements literal ([{', '.join(map(str, literal.shape))}]) does not match type "
            f"([{', '.join(map(str, static_shape(type)))}])",
            start,
        )


def _is_text(parser: ElementsParser, literal: _Literal) -> bool:
    return bool(literal.elements) and parser.tokens[literal.elements[0]][:1] == '"'


def _element_code(parser: ElementsParser, index: int, type: loc.Type) -> int:
    token = parser.tokens[index]
    negative = parser.tokens[index - 1] == "-"
    if isinstance(type, ty.FloatType):
        if not token[:1].isdigit():
            parser.error("expected floating point literal", index)
        return parser.float_code(token, index, negative, type)
    if token in ("true", "false"):
        if type != ty.I1:
            parser.error("expected i1 type for 'true' or 'false' values", index)
        return int(token == "true")
    if token[:1] == '"':
        parser.error("expected integer elements, but parsed string", index)
    if "." in token:
        parser.error("expected integer elements, but parsed floating-point", index)
    if negative and isinstance(type, ty.IntegerType) and type.signedness == "unsigned":
        parser.error("expected unsigned integer elements, but parsed negative value", index)
    return parser.integer_code(token, index, negative, type, "integer constant out of range for type")


def _string_elements(
    parser: ElementsParser, literal: _Literal, type: ElementsType, count: int, start: int
) -> DenseStringAttr:
    for index in literal.elements:
        if parser.tokens[index][:1] != '"':
            parser.error(f"expected string token, got {parser.tokens[index]}", start)
    values = tuple(parser.string_of(parser.tokens[index], index) for index in literal.elements)
    _check_shape(parser, literal, type, start)
    splat = bool(values) and values.count(values[0]) == len(values)
    return DenseStringAttr(type, values[:1] if splat else values, splat)


def _blob_elements(parser: ElementsParser, index: int, type: ElementsType, start: int) -> DenseElementsAttr:
    text = parser.tokens[index][1:-1]
    try:
        if not text.startswith("0x") or any(char.isspace() for char in text):
            raise ValueError
        data = bytes.fromhex(text[2:])
    except ValueError:
        parser.error("expected string containing hex digits starting with `0x`", index)
    attribute = elements_of_blob(data, type, parser.schema)
    if attribute is None and type.element == ty.I1 and len(data) == ty.element_count(type) and max(data) <= 1:
        # StableHLO prints the layout of newer MLIR. One byte may be of either layout, so it is not a splat.
        attribute = elements_of_blob(data, type, Schema.LLVM24)
    if attribute is None:
        parser.error(f"elements hex data size is invalid for provided type: '{type}'", start)
    return attribute
