"""Attributes from text, with mlir-opt's messages and positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from halfulp.interp.declare.declarations import Dialect
from halfulp.interp.declare.parameters import read_parameters
from halfulp.interp.declare.registry import Registry
from halfulp.interp.ir import attributes
from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.types import I64, F, FloatType, IndexType, IntegerType, NoneType
from halfulp.interp.text.affine_parser import AffineParser, integer_value, is_integer
from halfulp.interp.text.elements_parser import ElementsParser

_UNIT = attributes.UnitAttr()


class AttributeParser(ElementsParser):
    """A parser of attributes."""

    def __init__(self, text: str, filename: str, registry: Registry, allow_unregistered: bool) -> None:
        super().__init__(text, filename, registry, allow_unregistered)
        self.distincts: dict[int, attributes.DistinctAttr] = {}

    # Attributes.

    def attribute(self, type: Type | None = None) -> Attribute:
        """Read an attribute. ``type``, if given, is the type of a literal that is written without one."""
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
            # In MLIR a string without a type has type none.
            return attributes.StringAttr(value, None if isinstance(type, NoneType) else type)
        if first == "@" and len(token) > 1:
            return self.symbol_reference()
        if first == "#" and len(token) > 1 and token != "#-}":
            return self._hash(token, type)
        if not self.at_type():
            self.wrong_token("expected attribute value")
        return attributes.TypeAttr(self.type())

    def number(self, type: Type | None = None) -> Attribute:
        """Read an integer or float literal with its type."""
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
            return attributes.FloatAttr(self.float_code(token, at, negative, type), type)
        if type is None:
            type = self.type() if self.take(":") else I64
        if isinstance(type, FloatType):
            return attributes.FloatAttr(self.float_code(token, at, negative, type), type)
        if not isinstance(type, IntegerType | IndexType):
            self.error("integer literal not valid for specified type", at)
        if negative and isinstance(type, IntegerType) and type.signedness == "unsigned":
            self.error("negative integer literal not valid for unsigned integer type", at)
        code = self.integer_code(token, at, negative, type, "integer constant out of range for attribute")
        return attributes.IntegerAttr(attributes.integer_of_code(code, type), type)

    def symbol_reference(self) -> attributes.SymbolRefAttr:
        """Read ``@root::@nested``."""
        root = self.symbol()
        nested = []
        while self.take("::"):
            nested.append(self.symbol("expected nested symbol reference identifier"))
        return attributes.SymbolRefAttr(root, tuple(nested))

    def _true(self, type: Type | None) -> Attribute:
        self.pos += 1
        return attributes.BoolAttr(True)

    def _false(self, type: Type | None) -> Attribute:
        self.pos += 1
        return attributes.BoolAttr(False)

    def _unit(self, type: Type | None) -> Attribute:
        self.pos += 1
        return _UNIT

    def _array(self, type: Type | None) -> Attribute:
        self.pos += 1
        elements = self.until("]", self.attribute, "expected ',' or ']'")
        return attributes.ArrayAttr(tuple(elements))

    def _dictionary(self, type: Type | None) -> Attribute:
        return attributes.DictionaryAttr.of(self.dictionary())

    def dictionary(self, entries: dict[str, Attribute] | None = None) -> dict[str, Attribute]:
        """Read ``{name = value, …}`` and return the entries in that order, added to ``entries`` if given."""
        entries = {} if entries is None else entries
        self.expect("{", "expected '{' in attribute dictionary")
        if self.take("}"):
            return entries
        while True:
            self.entry(entries)
            if not self.take(","):
                break
        self.expect("}", "expected '}' in attribute dictionary")
        return entries

    def entry(self, entries: dict[str, Attribute]) -> None:
        """Read ``name = value`` or ``name`` of a dictionary, and add it to ``entries``."""
        at = self.pos
        name = self._attribute_name()
        if name in entries:
            self.error(f"duplicate key '{name}' in dictionary attribute", at)
        entries[name] = self.attribute() if self.take("=") else _UNIT

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
        body, inner = self.symbol_body(name, mnemonic)
        if not self.allow_unregistered:
            self.error(f"dialect '{name}' not found for attribute '#{name}{body}'", start)
        if type is None and self.take(":"):
            type = self.type()
        return attributes.OpaqueAttr(name, body, type, inner)

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
            body, inner = self.symbol_body(dialect.name, mnemonic)
            return attributes.OpaqueAttr(dialect.name, body, None, inner)
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
            self.error_at_offset(dialect.no_attribute.format(mnemonic=mnemonic), offset)
        if "" in definition.cases:
            attribute = definition.attribute(definition.cases[""])
        else:
            if self.tokens[self.pos] == "<":
                self.check_balanced()
            bare = definition.bare and self.tokens[self.pos] != "<"
            attribute = definition.attribute(self.enum_keyword(definition)) if bare else self.enum_brackets(definition)
        if wrapped:
            self.expect(">")
        return attribute

    def enum_brackets(self, definition: EnumDefinition, prefix: str = "") -> Attribute:
        """Read ``<keyword>`` or ``<flag, flag>``. ``prefix``: the beginning of error messages."""
        self.expect("<")
        value = self.enum_keyword(definition, prefix)
        while definition.flags and self.take(","):
            value |= self.enum_keyword(definition, prefix)
        self.expect(">")
        return definition.attribute(value)

    def enum_keyword(self, definition: EnumDefinition, prefix: str = "") -> int:
        """Read one keyword of an enum and return its number. ``prefix``: the beginning of error messages."""
        word = self.tokens[self.pos].strip('"')
        value = definition.cases.get(word)
        if value is None:
            choices, hint = ", ".join(definition.cases), self.similar(word, definition.cases)
            self.error(f"{prefix}expected {definition.name} to be one of: {choices}", hint=hint)
        self.pos += 1
        return value

    # Maps, layouts and others.

    def _affine_map(self, type: Type | None) -> Attribute:
        start = self.pos + 2
        affine = self._affine("affine map")
        if affine.is_set:
            self.error("expected AffineMap, but got IntegerSet", start)
        return attributes.AffineMapAttr(affine.dimensions, affine.symbols, tuple(affine.results))

    def _affine_set(self, type: Type | None) -> Attribute:
        start = self.pos + 2
        affine = self._affine("integer set")
        if not affine.is_set:
            self.error("expected IntegerSet, but got AffineMap", start)
        return attributes.IntegerSetAttr(affine.dimensions, affine.symbols, tuple(affine.constraints))

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
        strides = self.until("]", self._stride)
        offset: int | None = 0
        if self.take(","):
            self.expect("offset", "expected 'offset' after comma")
            self.expect(":", "expected ':' after 'offset'")
            offset = self._stride()
        self.expect(">")
        return attributes.StridedLayoutAttr(tuple(strides), offset)

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
        known = self.distincts.setdefault(number, attributes.DistinctAttr(inner, number))
        if known.attribute != inner:
            self.error(f"referenced attribute does not match previous definition: {known.attribute}", start)
        return known

    # Locations.

    def _loc(self, type: Type | None) -> Attribute:
        return self.location("inline location")


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
