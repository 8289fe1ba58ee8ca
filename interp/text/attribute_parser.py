"""Attributes and locations from text, with mlir-opt's messages and positions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

from halfulp.interp.declare.declarations import Dialect, EnumDefinition, Schema
from halfulp.interp.ir.attributes import (
    INDEX_WIDTH,
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    BoolAttr,
    Codes,
    DenseArrayAttr,
    DenseElementsAttr,
    DenseResourceAttr,
    DenseStringAttr,
    DictionaryAttr,
    DistinctAttr,
    ElementsType,
    FloatAttr,
    IntegerAttr,
    IntegerSetAttr,
    OpaqueAttr,
    SparseElementsAttr,
    StridedLayoutAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
    integer_of_code,
)
from halfulp.interp.ir.literals import read_decimal, unescaped
from halfulp.interp.ir.locations import (
    CallSiteLoc,
    FileLineCol,
    FileRange,
    FusedLoc,
    Location,
    NameLoc,
    UnknownLoc,
)
from halfulp.interp.ir.types import (
    I1,
    I64,
    ComplexType,
    F,
    FloatType,
    IndexType,
    IntegerType,
    NoneType,
    ShapedType,
    TensorType,
    Type,
    element_count,
    is_dynamic,
)
from halfulp.interp.text.affine_parser import AffineParser
from halfulp.interp.text.parameters import read_parameters
from halfulp.interp.text.type_parser import TypeParser, is_integer
from halfulp.interp.values.value import shape_problem

_ESCAPED = re.compile(r'(?:[^\\]|\\(?:["\\nt]|[0-9a-fA-F]{2}))*')
_UNIT = UnitAttr()


class AttributeParser(TypeParser):
    """Reads attributes. ``attributes`` holds the aliases (``#name``) defined so far."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.attributes: dict[str, Attribute] = {}
        self.distincts: dict[int, DistinctAttr] = {}
        # The version whose layout of blobs the text uses.
        self.schema = Schema.MLIR22

    # Tokens with a value.

    def string(self, message: str = "expected string") -> str:
        """A string literal."""
        token = self.tokens[self.pos]
        if token[:1] != '"' or len(token) < 2:
            self.wrong_token(message)
        text = self.string_of(token, self.pos)
        self.pos += 1
        return text

    def string_of(self, token: str, index: int) -> str:
        """The string a literal token stands for (after its ``@``, if it is a symbol)."""
        if "\\" not in token:
            return token[1:-1]
        start = 1 if token[0] == '"' else 2
        good = _ESCAPED.match(token, start, len(token) - 1)
        if good is not None and good.end() < len(token) - 1:
            self.error_at_offset("unknown escape in string literal", self.offset(index) + good.end())
        return unescaped(token[start:-1])

    def symbol(self, message: str = "expected valid '@'-identifier for symbol name") -> str:
        """``@name``, without its ``@``."""
        token = self.tokens[self.pos]
        if token[:1] != "@" or len(token) < 2:
            self.wrong_token(message)
        name = self.string_of(token[1:], self.pos) if token[1] == '"' else token[1:]
        self.pos += 1
        return name

    def integer(self, message: str = "expected integer value", wide: bool = False) -> int:
        """A plain integer, possibly negative, of 64 bits unless ``wide``."""
        at = self.pos
        negative = self.take("-")
        token = self.tokens[self.pos]
        if not is_integer(token):
            if negative:
                self.wrong_token(message)
            self.error(message)
        self.pos += 1
        value = integer_value(token)
        if negative:
            value = -value
        if not wide and not -(1 << 63) <= value < 1 << 63:
            self.error("integer value too large", at)
        return value

    # Attributes.

    def attribute(self, type: Type | None = None) -> Attribute:
        """An attribute value; ``type``, if given, is the type of a literal that has none written after it."""
        token = self.tokens[self.pos]
        parse = _KEYWORDS.get(token)
        if parse is not None:
            self.enter()
            attribute = parse(self, type)
            self.leave()
            return attribute
        first = token[:1]
        if first.isdigit() or first == "-":
            return self.number(type)
        if first == '"' and len(token) > 1:
            value = self.string()
            if type is None and self.take(":"):
                type = self.type()
            # To MLIR a string without a type is one of type none.
            return StringAttr(value, None if isinstance(type, NoneType) else type)
        if first == "@" and len(token) > 1:
            return self.symbol_reference()
        if first == "#" and len(token) > 1 and token != "#-}":
            return self._hash(token, type)
        if not self.at_type():
            self.wrong_token("expected attribute value")
        return TypeAttr(self.type())

    def number(self, type: Type | None = None) -> Attribute:
        """An integer or float literal with its type."""
        negative = self.take("-")
        at = self.pos
        token = self.tokens[at]
        if not token[:1].isdigit():
            self.wrong_token("expected constant integer or floating point value")
        self.pos += 1
        if "." in token:
            if type is None:
                type = self.type() if self.take(":") else F("f64")
            if not isinstance(type, FloatType):
                self.error("floating point value not valid for specified type")
            return FloatAttr(self.float_code(token, at, negative, type), type)
        if type is None:
            type = self.type() if self.take(":") else I64
        if isinstance(type, FloatType):
            return FloatAttr(self.float_code(token, at, negative, type), type)
        if not isinstance(type, IntegerType | IndexType):
            self.error("integer literal not valid for specified type", at)
        if negative and isinstance(type, IntegerType) and type.signedness == "unsigned":
            self.error("negative integer literal not valid for unsigned integer type", at)
        code = self.integer_code(token, at, negative, type, "integer constant out of range for attribute")
        return IntegerAttr(integer_of_code(code, type), type)

    def integer_code(self, token: str, at: int, negative: bool, type: Type, message: str) -> int:
        """The bit pattern of an integer literal; an error with ``message`` where it does not fit.

        A positive literal of a signless type may use all its bits (255 : i8); a signed type and index may not.
        """
        value = integer_value(token)
        width = type.width if isinstance(type, IntegerType) else INDEX_WIDTH
        signed = isinstance(type, IndexType) or (isinstance(type, IntegerType) and type.signedness == "signed")
        if value >> width:
            self.error(message, at)
        if negative:
            code = -value & ((1 << width) - 1)
            if width == 0 or not code >> (width - 1):
                self.error(message, at)
            return code
        if signed and width and value >> (width - 1):
            self.error(message, at)
        return value

    def float_code(self, token: str, at: int, negative: bool, type: FloatType) -> int:
        """The bit pattern of a literal of a float type: a decimal one rounded, a hexadecimal one as it is."""
        format = type.format
        if "." in token:
            if negative and not format.signed:
                self.error(f"negative literal not valid for the unsigned type '{type}'", at)
            return read_decimal(format, f"-{token}" if negative else token)
        if token[1:2] != "x":
            self.error(
                "unexpected decimal integer literal for a floating point value",
                at,
                notes=[(self.source.at_token(at), "add a trailing dot to make the literal a float")],
            )
        if negative:
            self.error("hexadecimal float literal should not have a leading minus", at)
        code = int(token, 16)
        if code >> format.bits:
            self.error("hexadecimal float constant out of range for type", at)
        return code

    def symbol_reference(self) -> SymbolRefAttr:
        """``@root::@nested``."""
        root = self.symbol()
        nested = []
        while self.take("::"):
            nested.append(self.symbol("expected nested symbol reference identifier"))
        return SymbolRefAttr(root, tuple(nested))

    def _true(self, type: Type | None) -> Attribute:
        self.pos += 1
        return BoolAttr(True)

    def _false(self, type: Type | None) -> Attribute:
        self.pos += 1
        return BoolAttr(False)

    def _unit(self, type: Type | None) -> Attribute:
        self.pos += 1
        return _UNIT

    def _array(self, type: Type | None) -> Attribute:
        self.pos += 1
        elements: list[Attribute] = []
        if not self.take("]"):
            elements.append(self.attribute())
            while self.take(","):
                elements.append(self.attribute())
            self.expect("]", "expected ',' or ']'")
        return ArrayAttr(tuple(elements))

    def _dictionary(self, type: Type | None) -> Attribute:
        return DictionaryAttr.of(self.dictionary())

    def dictionary(self, entries: dict[str, Attribute] | None = None) -> dict[str, Attribute]:
        """``{name = value, …}`` in the order written, added to ``entries`` if given."""
        entries = {} if entries is None else entries
        self.expect("{", "expected '{' in attribute dictionary")
        if self.take("}"):
            return entries
        while True:
            at = self.pos
            name = self._attribute_name()
            if name in entries:
                self.error(f"duplicate key '{name}' in dictionary attribute", at)
            entries[name] = self.attribute() if self.take("=") else _UNIT
            if not self.take(","):
                break
        self.expect("}", "expected '}' in attribute dictionary")
        return entries

    def _attribute_name(self) -> str:
        token = self.tokens[self.pos]
        if token[:1] == '"' and len(token) > 1:
            name = self.string()
            if not name:
                self.error("expected valid attribute name", self.pos - 1)
            return name
        if not (token[:1].isalpha() or token[:1] == "_") or not token.isascii() or token[-1] == ">":
            self.wrong_token("expected attribute name")
        self.pos += 1
        return token

    def _hash(self, token: str, type: Type | None) -> Attribute:
        known = self.attributes.get(token)
        if known is not None:
            self.pos += 1
            return known
        start = self.pos
        name, _, mnemonic = token[1:].partition(".")
        self.pos += 1
        if not mnemonic and self.tokens[self.pos] != "<":
            self.wrong_token(f"undefined symbol alias id '{token[1:]}'")
        dialect = self.registry.dialects.get(name)
        if dialect is not None:
            return self._dialect_attribute(dialect, mnemonic)
        body = self.symbol_body(mnemonic)
        if not self.allow_unregistered:
            self.error(f"dialect '{name}' not found for attribute '#{name}{body}'", start)
        if type is None and self.take(":"):
            type = self.type()
        return OpaqueAttr(name, body, type)

    def _dialect_attribute(self, dialect: Dialect, mnemonic: str) -> Attribute:
        at = self.pos - 1
        declared = dialect.attributes.get(mnemonic or self.tokens[self.pos + 1])
        if declared is not None:
            self.pos += 2 * (not mnemonic)
            if self.tokens[self.pos] == "<":
                self.check_balanced()
            parameters = read_parameters(self, declared)
            if not mnemonic:
                self.expect(">")
            return parameters
        if dialect.partial and (mnemonic or self.tokens[self.pos + 1]) not in dialect.enums:
            return OpaqueAttr(dialect.name, self.symbol_body(mnemonic))
        if not dialect.enums and not dialect.attributes:
            offset = self.offset(at) + len(dialect.name) + 2
            self.error_at_offset(f"dialect '{dialect.name}' provides no attribute parsing hook", offset)
        wrapped = not mnemonic
        if wrapped:
            self.pos += 1
            mnemonic = self.tokens[self.pos]
            self.pos += 1
        definition = dialect.enums.get(mnemonic)
        if definition is None:
            offset = self.offset(at) + len(dialect.name) + 2
            self.error_at_offset(f"unknown attribute `{mnemonic}` in dialect `{dialect.name}`", offset)
        if "" in definition.cases:
            attribute = definition.attribute(definition.cases[""])
        else:
            if self.tokens[self.pos] == "<":
                self.check_balanced()
            attribute = self.enum_brackets(definition)
        if wrapped:
            self.expect(">")
        return attribute

    def enum_brackets(self, definition: EnumDefinition, prefix: str = "") -> Attribute:
        """``<keyword>`` or ``<flag, flag>``; ``prefix`` stands in front of the messages."""
        self.expect("<")
        value = self.enum_keyword(definition, prefix)
        while definition.flags and self.take(","):
            value |= self.enum_keyword(definition, prefix)
        self.expect(">")
        return definition.attribute(value)

    def enum_keyword(self, definition: EnumDefinition, prefix: str = "") -> int:
        """One keyword of an enum."""
        word = self.tokens[self.pos].strip('"')
        value = definition.cases.get(word)
        if value is None:
            choices, hint = ", ".join(definition.cases), self.similar(word, definition.cases)
            self.error(f"{prefix}expected {definition.name} to be one of: {choices}", hint=hint)
        self.pos += 1
        return value

    # Elements.

    def _dense(self, type: Type | None) -> Attribute:
        start = self.pos
        self.pos += 1
        self.expect("<", "expected '<' after 'dense'")
        literal = _Literal(self) if self.tokens[self.pos] != ">" else None
        self.expect(">")
        return _dense_attribute(self, literal, self._elements_type(type, start), start)

    def _elements_type(self, type: Type | None, start: int) -> ElementsType:
        if type is None:
            self.expect(":")
            type = self.type()
        if not isinstance(type, ShapedType):
            self.error("elements literal must be a shaped type", start)
        if is_dynamic(type):
            self.error("elements literal type must have static shape", start)
        return type

    def _sparse(self, type: Type | None) -> Attribute:
        start = self.pos
        self.pos += 1
        self.expect("<", "expected '<' after 'sparse'")
        if self.take(">"):
            elements = self._elements_type(type, start)
            empty = DenseElementsAttr(TensorType((0, len(elements.shape or ())), I64), np.zeros((0, 0), np.uint64))
            return SparseElementsAttr(elements, empty, _empty(TensorType((0,), elements.element)))
        indices = _Literal(self)
        self.expect(",")
        values = _Literal(self)
        self.expect(">")
        elements = self._elements_type(type, start)
        shape = tuple(size or 0 for size in elements.shape or ())
        # A single coordinate may stand without brackets: it is repeated.
        rank = len(shape)
        # mlir-opt prints equal coordinates as one, and cannot read that: here it stands for one per value.
        index_shape = indices.shape or (values.shape[0] if values.shape else 1, rank)
        value_shape = values.shape or (index_shape[0],)
        if index_shape != (value_shape[0], rank) and not (rank == 1 and index_shape == value_shape):
            self.error(
                f"expected shape ([{', '.join(map(str, shape))}]); inferred shape of indices literal "
                f"([{', '.join(map(str, indices.shape))}]); inferred shape of values literal "
                f"([{', '.join(map(str, values.shape))}])",
                start,
            )
        index_attr = _dense_attribute(self, indices, TensorType(index_shape, I64), start)
        value_attr = _dense_attribute(self, values, TensorType(value_shape, elements.element), start)
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

    def _dense_array(self, type: Type | None) -> Attribute:
        self.pos += 1
        self.expect("<", "expected '<' after 'array'")
        at = self.pos
        element = self.non_function_type()
        if not isinstance(element, IntegerType | FloatType):
            self.error("expected an integer or floating point type", at)
        bits = element.format.bits if isinstance(element, FloatType) else element.width
        if element != I1 and bits % 8:
            self.error("element type bitwidth must be a multiple of 8", at)
        if self.take(">"):
            return DenseArrayAttr(element, ())
        self.expect(":", "expected ':' after dense array type")
        codes = [self._array_code(element)]
        while self.take(","):
            codes.append(self._array_code(element))
        self.expect(">", "expected '>' to close an array attribute")
        return DenseArrayAttr(element, tuple(codes))

    def array_values(self, element: Type) -> DenseArrayAttr:
        """``[1, 2]``: how a custom form writes a dense array of a known element type. Integers are signed there."""
        width = element.width if isinstance(element, IntegerType) and element != I1 else None
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

    def _array_code(self, element: Type) -> int:
        token = self.tokens[self.pos]
        if element == I1:
            # mlir-opt reports a wrong value at the token after it.
            self.pos += 1
            if token not in ("true", "false"):
                self.error("expected 'true' or 'false' values for i1 type")
            return int(token == "true")
        negative = self.take("-")
        at = self.pos
        token = self.tokens[at]
        if isinstance(element, FloatType):
            if not token[:1].isdigit():
                self.wrong_token("expected floating point literal")
            self.pos += 1
            return self.float_code(token, at, negative, element)
        if not is_integer(token):
            self.error("expected integer literal")
        self.pos += 1
        return self.integer_code(token, at + 1, negative, element, "integer constant out of range")

    def _dense_resource(self, type: Type | None) -> Attribute:
        self.pos += 1
        self.expect("<", "expected '<' after 'dense_resource'")
        key = self.resource_key("expected identifier key for 'resource' entry")
        self.expect(">")
        at = self.pos
        if type is None:
            self.expect(":")
            at = self.pos
            type = self.type()
        if not isinstance(type, ShapedType):
            self.error_at_offset("`dense_resource` expected a shaped type", self.offset(at - 1))
        return DenseResourceAttr(key, type)

    def resource_key(self, message: str) -> str:
        """The name of a resource: an identifier or a string."""
        token = self.tokens[self.pos]
        if token[:1] == '"' and len(token) > 1:
            return self.string()
        if not (token[:1].isalpha() or token[:1] == "_"):
            self.wrong_token(message)
        self.pos += 1
        return token

    # Maps, layouts and others.

    def _affine_map(self, type: Type | None) -> Attribute:
        start = self.pos + 2
        affine = self._affine("affine map")
        if affine.is_set:
            self.error("expected AffineMap, but got IntegerSet", start)
        return AffineMapAttr(affine.dimensions, affine.symbols, tuple(affine.results))

    def _affine_set(self, type: Type | None) -> Attribute:
        start = self.pos + 2
        affine = self._affine("integer set")
        if not affine.is_set:
            self.error("expected IntegerSet, but got AffineMap", start)
        return IntegerSetAttr(affine.dimensions, affine.symbols, tuple(affine.constraints))

    def _affine(self, what: str) -> AffineParser:
        self.pos += 1
        self.expect("<", f"expected '<' in {what}")
        affine = AffineParser(self)
        affine.read()
        self.expect(">", f"expected '>' in {what}")
        return affine

    def _strided(self, type: Type | None) -> Attribute:
        self.pos += 1
        self.expect("<", "expected '<' after 'strided'")
        self.expect("[")
        strides: list[int | None] = []
        if not self.take("]"):
            strides.append(self._stride())
            while self.take(","):
                strides.append(self._stride())
            self.expect("]")
        offset: int | None = 0
        if self.take(","):
            self.expect("offset", "expected 'offset' after comma")
            self.expect(":", "expected ':' after 'offset'")
            offset = self._stride()
        self.expect(">")
        return StridedLayoutAttr(tuple(strides), offset)

    def _stride(self) -> int | None:
        if self.take("?"):
            return None
        at = self.pos
        message = "expected a 64-bit signed integer or '?'"
        value = self.integer(message, wide=True)
        # -2^63 stands for `?` inside MLIR.
        if not -(1 << 63) < value < 1 << 63:
            self.error(message, at)
        return value

    def _distinct(self, type: Type | None) -> Attribute:
        start = self.pos
        self.pos += 1
        self.expect("[", "expected '[' after 'distinct'")
        token = self.tokens[self.pos]
        if not is_integer(token):
            self.wrong_token("expected distinct ID")
        self.pos += 1
        number = integer_value(token)
        if number >> 64:
            self.error("expected an unsigned 64-bit integer")
        self.expect("]", "expected ']' to close distinct ID")
        self.expect("<", "expected '<' after distinct ID")
        inner: Attribute = _UNIT if self.tokens[self.pos] == ">" else self.attribute()
        self.expect(">", "expected '>' to close distinct attribute")
        known = self.distincts.setdefault(number, DistinctAttr(inner, number))
        if known.attribute != inner:
            self.error(f"referenced attribute does not match previous definition: {known.attribute}", start)
        return known

    # Locations.

    def _loc(self, type: Type | None) -> Attribute:
        return self.location("inline location")

    def location(self, what: str = "location") -> Location:
        """``loc(…)``; ``what`` it is, in messages."""
        self.expect("loc", "expected location")
        self.expect("(", f"expected '(' in {what}")
        self.enter()
        location = self.location_instance()
        self.expect(")", f"expected ')' in {what}")
        self.leave()
        return location

    def location_instance(self) -> Location:
        """What stands between the brackets of ``loc(…)``."""
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
            # MLIR's name for no name.
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
    """MLIR's FusedLoc::get: nested ones without metadata dissolve, unknown parts and repetitions vanish."""
    flat: dict[Location, None] = {}
    for part in parts:
        if isinstance(part, FusedLoc) and part.metadata == metadata:
            flat.update(dict.fromkeys(part.locations))
        elif part != UnknownLoc():
            flat[part] = None
    if metadata is None and len(flat) < 2:
        return next(iter(flat), UnknownLoc())
    return FusedLoc(tuple(flat) or (UnknownLoc(),), metadata)


def integer_value(token: str) -> int:
    """The value of an integer literal, decimal or hexadecimal."""
    if token[:2] == "0x":
        return int(token, 16)
    # Python refuses to read more digits than this from a string at once.
    value = 0
    for start in range(0, len(token), 4000):
        part = token[start : start + 4000]
        value = value * 10 ** len(part) + int(part)
    return value


class _Literal:
    """The elements of a `dense<…>` before its type is known: tokens with their indices, row-major, and the shape.

    ``hex`` is the index of a blob's token. Nested brackets are read iteratively.
    """

    def __init__(self, parser: AttributeParser) -> None:
        self.elements: list[int] = []
        self.shape: tuple[int, ...] = ()
        self.bracketed = parser.tokens[parser.pos] == "["
        self.start = parser.pos
        if self.bracketed:
            self._read_list(parser)
        else:
            self._element(parser)

    def _element(self, parser: AttributeParser) -> None:
        tokens = parser.tokens
        if tokens[parser.pos] == "(":
            parser.pos += 1
            self._number(parser)
            parser.expect(",", "expected ',' between complex elements")
            self._number(parser)
            parser.expect(")", "expected ')' after complex elements")
            return
        self._number(parser)

    def _number(self, parser: AttributeParser) -> None:
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

    def _read_list(self, parser: AttributeParser) -> None:
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


def _empty(type: ElementsType) -> DenseElementsAttr:
    shape = tuple(size or 0 for size in type.shape or ())
    return DenseElementsAttr(type, np.zeros(shape + _element_shape(type.element), _dtype(type.element)))


def _dense_attribute(
    parser: AttributeParser, literal: _Literal | None, type: ElementsType, start: int
) -> DenseElementsAttr | DenseStringAttr:
    element = type.element
    count = element_count(type)
    assert count is not None
    problem = shape_problem(_static(type))
    # One element for all is not repeated in memory.
    if problem and not (count and literal is not None and not literal.bracketed and not _is_text(parser, literal)):
        parser.error(f"the elements of '{type}' cannot be held: it {problem}", start)
    if literal is None:
        if count:
            parser.error(f"parsed zero elements, but type ('{type}') expected at least 1", start)
        return _empty(type)
    scalar = element.element if isinstance(element, ComplexType) else element
    if not isinstance(scalar, IntegerType | IndexType | FloatType):
        return _string_elements(parser, literal, type, count, start)
    if not literal.bracketed and _is_text(parser, literal):
        return _blob_elements(parser, literal.elements[0], type, start)
    per_element = 2 if isinstance(element, ComplexType) else 1
    if literal.bracketed and literal.shape != _static(type):
        parser.error(
            f"inferred shape of elements literal ([{', '.join(map(str, literal.shape))}]) does not match type "
            f"([{', '.join(map(str, _static(type)))}])",
            start,
        )
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
        return _empty(type)
    values = [tuple(codes[i : i + per_element]) for i in range(0, len(codes), per_element)]
    splat = not literal.bracketed or values.count(values[0]) == len(values)
    array = store_codes(codes[:per_element] if splat else codes, scalar)
    shape = () if splat else _static(type)
    return DenseElementsAttr(type, array.reshape(shape + _element_shape(element)), splat)


def _is_text(parser: AttributeParser, literal: _Literal) -> bool:
    return bool(literal.elements) and parser.tokens[literal.elements[0]][:1] == '"'


def _static(type: ElementsType) -> tuple[int, ...]:
    return tuple(size or 0 for size in type.shape or ())


def _element_code(parser: AttributeParser, index: int, type: Type) -> int:
    token = parser.tokens[index]
    negative = parser.tokens[index - 1] == "-"
    if isinstance(type, FloatType):
        if not token[:1].isdigit():
            parser.error("expected floating point literal", index)
        return parser.float_code(token, index, negative, type)
    if token in ("true", "false"):
        if type != I1:
            parser.error("expected i1 type for 'true' or 'false' values", index)
        return int(token == "true")
    if token[:1] == '"':
        parser.error("expected integer elements, but parsed string", index)
    if "." in token:
        parser.error("expected integer elements, but parsed floating-point", index)
    if negative and isinstance(type, IntegerType) and type.signedness == "unsigned":
        parser.error("expected unsigned integer elements, but parsed negative value", index)
    return parser.integer_code(token, index, negative, type, "integer constant out of range for type")


def _string_elements(
    parser: AttributeParser, literal: _Literal, type: ElementsType, count: int, start: int
) -> DenseStringAttr:
    for index in literal.elements:
        if parser.tokens[index][:1] != '"':
            parser.error(f"expected string token, got {parser.tokens[index]}", start)
    values = tuple(parser.string_of(parser.tokens[index], index) for index in literal.elements)
    if literal.bracketed and literal.shape != _static(type):
        parser.error(
            f"inferred shape of elements literal ([{', '.join(map(str, literal.shape))}]) does not match type "
            f"([{', '.join(map(str, _static(type)))}])",
            start,
        )
    splat = bool(values) and values.count(values[0]) == len(values)
    return DenseStringAttr(type, values[:1] if splat else values, splat)


def _blob_elements(parser: AttributeParser, index: int, type: ElementsType, start: int) -> DenseElementsAttr:
    text = parser.tokens[index][1:-1]
    try:
        if not text.startswith("0x") or any(char.isspace() for char in text):
            raise ValueError
        data = bytes.fromhex(text[2:])
    except ValueError:
        parser.error("expected string containing hex digits starting with `0x`", index)
    attribute = elements_of_blob(data, type, parser.schema)
    if attribute is None:
        parser.error(f"elements hex data size is invalid for provided type: '{type}'", start)
    return attribute


def elements_of_blob(
    data: bytes | memoryview, type: ElementsType, schema: Schema = Schema.MLIR22
) -> DenseElementsAttr | None:
    """Elements from raw bytes as MLIR lays them out; None where their number is wrong.

    Each element takes whole bytes, little-endian (i0 none, i4 and f4 one, tf32 three, f80 ten, index eight); one
    element alone is a splat. MLIR 22 packs i1 eight to the byte, least significant bit first, a single byte 0x00 or
    0xFF being a splat; newer MLIR does as with any other type.
    """
    element = type.element
    count = element_count(type) or 0
    scalar = element.element if isinstance(element, ComplexType) else element
    shape = _static(type)
    if element == I1 and schema < Schema.LLVM24:
        if len(data) == 1 and data[0] in (0, 0xFF):
            return DenseElementsAttr(type, np.array(data[0] & 1, np.uint8), True)
        if len(data) != (count + 7) // 8:
            return None
        bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[:count]
        return DenseElementsAttr(type, bits.reshape(shape), False)
    width = INDEX_WIDTH
    if isinstance(scalar, IntegerType):
        width = scalar.width
    elif isinstance(scalar, FloatType):
        width = scalar.format.bits
    if not width:  # an i0 takes no byte at all
        return None if data else DenseElementsAttr(type, np.zeros(shape, np.uint8), False)
    size = (width + 7) // 8
    per_element = size * (2 if isinstance(element, ComplexType) else 1)
    splat = len(data) == per_element
    if not splat and len(data) != per_element * count:
        return None
    rows = np.frombuffer(data, np.uint8).reshape(-1, size)
    dtype = _dtype(scalar)
    limbs = max(1, -(-width // 64))
    padded = np.zeros((len(rows), limbs * dtype.itemsize), np.uint8)
    padded[:, :size] = rows
    codes: Codes = padded.view(dtype.newbyteorder("<")).astype(dtype)
    if width % 64 and limbs == 1:
        codes &= dtype.type((1 << width) - 1)
    elif width % 64:
        codes[:, -1] &= dtype.type((1 << width % 64) - 1)
    if not splat and count:
        # Bits beyond the width are gone by now: what prints alike is alike.
        elements = codes.reshape(count, -1)
        splat = bool((elements == elements[0]).all())
        codes = elements[0] if splat else codes
    return DenseElementsAttr(type, codes.reshape((() if splat else shape) + _element_shape(element)), splat)


def _dtype(type: Type) -> np.dtype[np.unsignedinteger]:
    """The storage type of a code of a scalar (or of a complex number's part)."""
    if isinstance(type, ComplexType):
        type = type.element
    width = INDEX_WIDTH
    if isinstance(type, IntegerType):
        width = type.width
    elif isinstance(type, FloatType):
        width = type.format.bits
    return np.dtype(next((f"u{size}" for size in (1, 2, 4) if width <= 8 * size), "u8"))


def _element_shape(type: Type) -> tuple[int, ...]:
    """The trailing axes of one element."""
    if isinstance(type, ComplexType):
        return (2, *_element_shape(type.element))
    width = type.width if isinstance(type, IntegerType) else type.format.bits if isinstance(type, FloatType) else 64
    return (-(-width // 64),) if width > 64 else ()


def store_codes(codes: list[int], type: Type) -> np.ndarray[tuple[int, ...], np.dtype[np.unsignedinteger]]:
    """Codes of a scalar type as an array, with an axis of limbs where the type is wider than 64 bits."""
    dtype = _dtype(type)
    limbs = _element_shape(type)
    if not limbs:
        return np.array(codes, dtype)
    data = b"".join(code.to_bytes(8 * limbs[0], "little") for code in codes)
    return np.frombuffer(data, "<u8").astype(np.uint64).reshape(-1, *limbs)


_KEYWORDS: Mapping[str, Callable[[AttributeParser, Type | None], Attribute]] = {
    "true": AttributeParser._true,
    "false": AttributeParser._false,
    "unit": AttributeParser._unit,
    "[": AttributeParser._array,
    "{": AttributeParser._dictionary,
    "dense": AttributeParser._dense,
    "sparse": AttributeParser._sparse,
    "array": AttributeParser._dense_array,
    "dense_resource": AttributeParser._dense_resource,
    "affine_map": AttributeParser._affine_map,
    "affine_set": AttributeParser._affine_set,
    "strided": AttributeParser._strided,
    "distinct": AttributeParser._distinct,
    "loc": AttributeParser._loc,
}
