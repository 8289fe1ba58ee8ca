"""Types from text, with mlir-opt's messages and positions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from halfulp.fp_formats.formats import BUILTIN_FORMATS, OTHER_FORMATS
from halfulp.interp.declare.registry import Registry, is_upstream
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import (
    AffineMapAttr,
    DictionaryAttr,
    IntegerAttr,
    OpaqueAttr,
    StridedLayoutAttr,
    StringAttr,
)
from halfulp.interp.ir.base import MARK, Attribute, Type
from halfulp.interp.ir.dialect_attributes import DialectAttr, EnumAttr
from halfulp.interp.text.affine_parser import TokenParser, is_integer

_INTEGER = re.compile(r"(si|ui|i)(\d+)")
_NAME = re.compile(r"[A-Za-z_][\w$.]*")
_SHAPED = re.compile(r"(tensor|vector|memref)<((?:(?:\d+|\?|\[\d+\])x)*|\*x)([a-z][A-Za-z0-9]*)>")
_SIGNEDNESS: Mapping[str, str] = {"i": "signless", "si": "signed", "ui": "unsigned"}
_MAX_DIMENSION = (1 << 63) - 1

_SIMPLE_SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9_.]*(?:<.*>)?", re.DOTALL)

SCALARS: dict[str, Type] = {
    **{name: ty.FloatType(format) for name, format in BUILTIN_FORMATS.items()},
    "index": ty.INDEX,
    "none": ty.NoneType(),
}
# The very objects that the solver of types uses: equal types are compared faster if they are one object.
_INTEGERS: dict[str, Type] = {str(type): type for type in (ty.I1, ty.I32, ty.I64)}


class TypeParser(TokenParser):
    """A parser of types.

    ``types`` maps spellings of one token to types: the scalars, the types that were read before, and ``!aliases``.
    ``attributes`` holds the aliases of attributes (``#name``) defined so far.
    """

    def __init__(self, text: str, filename: str, registry: Registry, allow_unregistered: bool) -> None:
        super().__init__(text, filename)
        self.registry = registry
        self.allow_unregistered = allow_unregistered
        self.types: dict[str, Type] = SCALARS | _INTEGERS
        self.attributes: dict[str, Attribute] = {}
        # Where the mnemonic of the dialect's type that is being read begins: its token, and how far in it.
        self._mnemonic = 0, 0
        # The names of the structs that are being read: a struct may contain itself.
        self.enclosing: list[str] = []

    def type(self) -> Type:
        """Read a type, which may be a function type."""
        known = self.types.get(self.tokens[self.pos])
        if known is not None:
            self.pos += 1
            return known
        if self.tokens[self.pos] == "(":
            return self.function_type()
        return self.non_function_type()

    def at_type(self) -> bool:
        """Tell whether the current token can start a type."""
        token = self.tokens[self.pos]
        return (
            token in self.types
            or token[:1] in ("(", "!")
            or token in _KEYWORDS
            or (token[-1:] == ">" and len(token) > 2)
            or _INTEGER.fullmatch(token) is not None
        )

    def function_type(self) -> ty.FunctionType:
        """Read ``(types) -> type`` or ``(types) -> (types)``."""
        inputs = self.type_list_parens()
        self.expect("->", "expected '->' in function type")
        return ty.FunctionType(inputs, self.function_results())

    def function_results(self) -> tuple[Type, ...]:
        """Read the results after ``->``: types in parentheses or one bare type."""
        return self.type_list_parens() if self.tokens[self.pos] == "(" else (self.non_function_type(),)

    def type_list_parens(self) -> tuple[Type, ...]:
        """Read ``(type, …)``."""
        self.expect("(")
        self.enter()
        types = [] if self.tokens[self.pos] == ")" else self.type_list()
        self.expect(")")
        self.leave()
        return tuple(types)

    def type_list(self) -> list[Type]:
        """Read ``type, …``, at least one."""
        return self.separated(self.type)

    def non_function_type(self) -> Type:
        """Read a type that does not start with a parenthesis."""
        token = self.tokens[self.pos]
        known = self.types.get(token)
        if known is not None:
            self.pos += 1
            return known
        if token[-1:] == ">" and len(token) > 2:
            simple = self._simple_shaped(token)
            if simple is not None:
                self.types[token] = simple
                self.pos += 1
                return simple
            self.unfold()
            token = self.tokens[self.pos]
        integer = _INTEGER.fullmatch(token)
        if integer is not None:
            self.types[token] = type = self._integer(integer)
            self.pos += 1
            return type
        if token[:1] == "!" and len(token) > 1:
            return self._dialect_type(token)
        parse = _KEYWORDS.get(token)
        if parse is None:
            hint = self.similar(token, (*SCALARS, *_KEYWORDS)) if token[:1].isalpha() else None
            if token in OTHER_FORMATS:
                hint = f'MLIR has no type {token}; write !halfulp.float<"{token}">'
            named = _NAME.fullmatch(token) is not None
            self.wrong_token(f"unknown type '{token}'" if named else "expected non-function type", hint)
        self.enter()
        type = parse(self)
        self.leave()
        return type

    def _integer(self, match: re.Match[str]) -> Type:
        width = int(match[2]) if len(match[2]) < 20 else ty.MAX_INTEGER_WIDTH + 1
        if width > ty.MAX_INTEGER_WIDTH:
            self.error(f"integer bitwidth is limited to {ty.MAX_INTEGER_WIDTH} bits")
        return ty.IntegerType(width, _SIGNEDNESS[match[1]])  # type: ignore[arg-type]

    def _simple_shaped(self, token: str) -> Type | None:
        """Return the type of a token such as ``tensor<4x?xf32>``; None for any other, which is read token by token."""
        match = _SHAPED.fullmatch(token)
        if match is None:
            return None
        kind, dimensions, name = match.groups()
        element = self.types.get(name)
        if element is None:
            integer = _INTEGER.fullmatch(name)
            if integer is None or len(integer[2]) > 7:
                return None
            element = self._integer(integer)
        if not is_element(kind, element):
            return None
        if dimensions == "*x":
            return None if kind == "vector" else _UNRANKED[kind](None, element)
        sizes = dimensions.split("x")[:-1]
        if any(len(size) > 18 for size in sizes):
            return None
        if kind == "vector":
            shape = tuple(int(size.strip("[]")) for size in sizes if size != "?")
            if len(shape) != len(sizes) or not all(shape):
                return None
            return ty.VectorType(shape, element, tuple(size[0] == "[" for size in sizes))
        if "[" in dimensions:
            return None
        return _UNRANKED[kind](tuple(None if size == "?" else int(size) for size in sizes), element)

    # Shaped types, token by token.

    def dimension(self) -> int:
        """Read an integer of a list of dimensions, and return it. The token ``0x4`` is read as the dimension 0, and
        ``x4`` remains.
        """
        token = self.tokens[self.pos]
        if token[1:2] == "x":
            self.join()
            self.split(1)
            token = "0"
        if not token.isdecimal() or len(token) > 20 or int(token) > _MAX_DIMENSION:
            self.error("invalid dimension")
        self.pos += 1
        return int(token)

    def dimension_separator(self) -> None:
        """Read the ``x`` between dimensions, which may be one token together with the text after it."""
        token = self.tokens[self.pos]
        if token[:1] != "x":
            self.wrong_token("expected 'x' in dimension list")
        if len(token) > 1:
            self.split(1)
        self.pos += 1

    def ranked_dimensions(self) -> tuple[int | None, ...]:
        """Read ``2x?x``, up to the element type."""
        shape: list[int | None] = []
        while is_integer(token := self.tokens[self.pos]) or token == "?":
            if token == "?":
                self.pos += 1
                shape.append(None)
            else:
                shape.append(self.dimension())
            self.dimension_separator()
        return tuple(shape)

    def _tensor(self) -> Type:
        start = self.pos
        self.pos += 1
        self.expect("<", "expected '<' in tensor type")
        shape = self._shape()
        at = self.pos
        element = self.type()
        encoding = self.attribute() if self.take(",") else None
        self.expect(">", "expected '>' in tensor type")
        if not is_element("tensor", element):
            self.error("invalid tensor element type", at)
        if shape is None and encoding is not None:
            self.error("cannot apply encoding to unranked tensor")
        type = ty.TensorType(shape, element, encoding)
        if isinstance(encoding, DialectAttr) and encoding.definition.verify_encoding is not None:
            message = encoding.definition.verify_encoding(encoding, type)
            if message is not None:
                self.error(message, start)
        return type

    def _shape(self) -> tuple[int | None, ...] | None:
        if self.take("*"):
            self.dimension_separator()
            return None
        return self.ranked_dimensions()

    def _vector(self) -> Type:
        start = self.pos
        self.pos += 1
        self.expect("<", "expected '<' in vector type")
        shape: list[int] = []
        scalable: list[bool] = []
        while is_integer(token := self.tokens[self.pos]) or token == "[":
            scalable.append(self.take("["))
            if not is_integer(self.tokens[self.pos]):
                self.wrong_token("expected integer in dimension list")
            shape.append(self.dimension())
            if scalable[-1] and not self.take("]"):
                self.wrong_token("missing ']' closing scalable dimension")
            self.dimension_separator()
        element = self.type()
        self.expect(">", "expected '>' in vector type")
        if not is_element("vector", element):
            self.error("failed to verify 'elementType': VectorElementTypeInterface instance", start)
        if not all(shape):
            self.error(f"vector types must have positive constant sizes but got {', '.join(map(str, shape))}", start)
        return ty.VectorType(tuple(shape), element, tuple(scalable))

    def _memref(self) -> Type:
        start = self.pos
        self.pos += 1
        self.expect("<", "expected '<' in memref type")
        shape = self._shape()
        at = self.pos
        element = self.type()
        if not is_element("memref", element):
            self.error("invalid memref element type", at)
        layout: AffineMapAttr | StridedLayoutAttr | None = None
        space: Attribute | None = None
        while self.take(","):
            attribute = self.attribute()
            if not isinstance(attribute, AffineMapAttr | StridedLayoutAttr):
                if space is not None:
                    self.error("multiple memory spaces specified in memref type")
                space = attribute
            elif shape is None:
                self.error("cannot have affine map for unranked memref type")
            elif space is not None:
                self.error("expected memory space to be last in memref type")
            else:
                layout = attribute
        self.expect(">", "expected ',' or '>' in memref type")
        if isinstance(space, IntegerAttr) and space.value == 0:
            space = None
        if space is not None and not isinstance(space, SPACES):
            self.error("unsupported memory space Attribute", start)
        return ty.MemRefType(
            shape, element, None if layout is None else self._layout(layout, shape or (), start), space
        )

    def _layout(
        self, layout: AffineMapAttr | StridedLayoutAttr, shape: tuple[int | None, ...], start: int
    ) -> Attribute | None:
        """Return the layout if it fits the rank, and None for the identity. Raises ParseError for a layout that does
        not fit.
        """
        if isinstance(layout, StridedLayoutAttr):
            if len(layout.strides) != len(shape):
                self.error("expected the number of strides to match the rank", start)
            return layout
        if layout.dimensions != len(shape):
            self.error(
                f"memref layout mismatch between rank and affine map: {len(shape)} != {layout.dimensions}", start
            )
        return None if layout.is_identity else layout

    # Other types.

    def _complex(self) -> Type:
        self.pos += 1
        self.expect("<", "expected '<' in complex type")
        at = self.pos
        element = self.type()
        self.expect(">", "expected '>' in complex type")
        if not isinstance(element, ty.FloatType | ty.IntegerType):
            self.error("invalid element type for complex", at)
        return ty.ComplexType(element)

    def _tuple(self) -> Type:
        self.pos += 1
        self.expect("<", "expected '<' in tuple type")
        elements = [] if self.tokens[self.pos] == ">" else self.type_list()
        self.expect(">", "expected '>' in tuple type")
        return ty.TupleType(tuple(elements))

    def _dialect_type(self, token: str) -> Type:
        start = self.pos
        name, _, mnemonic = token[1:].partition(".")
        self.pos += 1
        if not mnemonic and self.tokens[self.pos] != "<":
            self.wrong_token(f"undefined symbol alias id '{token[1:]}'")
        dialect = self.registry.dialects.get(name)
        if dialect is None:
            body, inner = self.symbol_body(name, mnemonic)
            if not self.allow_unregistered:
                self.error(f"dialect '{name}' not found for type '!{name}{body}'", start)
            return ty.OpaqueType(name, body, inner)
        wrapped = not mnemonic
        if wrapped:
            self.pos += 1
            mnemonic = self.tokens[self.pos]
            self._mnemonic = self.pos, 0
            self.pos += 1
        else:
            self._mnemonic = start, len(name) + 2
        parse = dialect.types.get(mnemonic)
        if parse is None and dialect.partial:
            self.pos = start + 1
            return ty.OpaqueType(name, *self.symbol_body(name, "" if wrapped else mnemonic))
        if parse is None:
            self.error_at_offset(dialect.no_type.format(mnemonic=mnemonic), self.mnemonic_offset)
        if self.tokens[self.pos] == "<":
            self.check_balanced()
        self.enter()
        type: Type = parse(self)
        self.leave()
        if wrapped:
            self.expect(">")
        return type

    @property
    def mnemonic_offset(self) -> int:
        """The offset of the mnemonic of the dialect's type that is being read, where mlir-opt reports errors."""
        token, distance = self._mnemonic
        return self.offset(token) + distance

    def symbol_body(self, dialect: str, mnemonic: str) -> tuple[str, tuple[Attribute | Type, ...]]:
        """Read the text after a dialect's name in ``!name.mnemonic<…>`` or ``!name<…>``, and return two things: the
        text as mlir-opt prints it, with marks in place of aliases, and the attributes and types that the marks stand
        for. In a dialect that MLIR does not know, the text of an alias is ordinary text.
        """
        start = self.pos
        body = self.bracketed() if self.tokens[start] == "<" else ""
        body, inner = self._without_aliases(start, body) if is_upstream(dialect) else (body, ())
        if mnemonic:
            return f".{mnemonic}{body}", inner
        # The wrapped form becomes the other one where its content looks like it and its brackets are one pair.
        # mlir-opt looks at the first and the last bracket only, and cannot read what it prints in the other cases.
        simple = _SIMPLE_SYMBOL.fullmatch(body[1:-1]) and self._is_one_pair(start + 1, self.pos - 1)
        return f".{body[1:-1]}" if simple else body, inner

    def _without_aliases(self, start: int, body: str) -> tuple[str, tuple[Attribute | Type, ...]]:
        """Replace the aliases in the text of some tokens by marks."""
        inner: list[Attribute | Type] = []
        text, done, base = "", 0, self.offset(start)
        for index in range(start, self.pos):
            token = self.tokens[index]
            known = (
                self.attributes.get(token) if token[:1] == "#" else self.types.get(token) if token[:1] == "!" else None
            )
            if known is not None:
                at = self.offset(index) - base
                text += body[done:at] + MARK
                done = at + len(token)
                inner.append(known)
        return text + body[done:], tuple(inner)

    def _is_one_pair(self, start: int, stop: int) -> bool:
        """Tell whether the last of these tokens closes the first bracket among them; True without a bracket."""
        after, opening = self.pos, next((k for k in range(start, stop) if self.tokens[k] == "<"), None)
        if opening is None:
            return True
        self.pos = opening
        closed = self.check_balanced()
        self.pos = after
        return closed == stop

    def check_balanced(self) -> int:
        """Return the index of the token after the brackets that open at the current token. Raises ParseError if they do
        not match.
        """
        opened: list[tuple[str, int]] = []
        closing = {"<": ">", "(": ")", "[": "]", "{": "}"}
        index = self.pos
        tokens = self.tokens
        while True:
            token = tokens[index]
            if token in closing:
                opened.append((token, index))
            elif token in (">", ")", "]", "}"):
                if closing[opened[-1][0]] != token:
                    self._unbalanced(opened[-1][0])
                opened.pop()
                if not opened:
                    return index + 1
            elif token == "" or token == '"':
                self._unbalanced(opened[0][0])
            index += 1

    def _unbalanced(self, bracket: str) -> None:
        self.error_at_offset(f"unbalanced '{bracket}' character in pretty dialect name", self.offset(self.pos))

    def bracketed(self) -> str:
        """Read the brackets that open here, and return their text as it was written."""
        end = self.check_balanced()
        text = self.source.text[self.offset(self.pos) : self.offset(end - 1) + 1]
        self.pos = end
        return text


_UNRANKED: Mapping[str, Callable[..., Type]] = {"tensor": ty.TensorType, "memref": ty.MemRefType}

_KEYWORDS: Mapping[str, Callable[[TypeParser], Type]] = {
    "tensor": TypeParser._tensor,
    "vector": TypeParser._vector,
    "memref": TypeParser._memref,
    "complex": TypeParser._complex,
    "tuple": TypeParser._tuple,
}

_QUANTIZED = ty.UniformQuantizedType | ty.AnyQuantizedType | ty.CalibratedQuantizedType
_NUMBER = ty.IntegerType | ty.IndexType | ty.FloatType
_SCALAR = _NUMBER | ty.OpaqueType | ty.DialectType
_ELEMENTS: Mapping[str, object] = {
    "vector": _NUMBER,
    "tensor": _SCALAR | ty.ComplexType | ty.VectorType | _QUANTIZED,
    "memref": _SCALAR | ty.ComplexType | ty.VectorType | ty.MemRefType,
}


# Types of dialects that vectors may have as elements.
_POINTERS = ("llvm.ptr", "ptr.ptr")

# The attributes that may be the memory space of a memref.
SPACES = (IntegerAttr, StringAttr, DictionaryAttr, OpaqueAttr, EnumAttr, DialectAttr)


def is_element(kind: str, element: Type) -> bool:
    """Tell whether a type may be the element type of a ``vector``, ``tensor`` or ``memref``."""
    if isinstance(element, ty.OpaqueType) and kind == "vector":
        return f"{element.dialect}{element.body.partition('<')[0]}" in _POINTERS
    if isinstance(element, ty.DialectType) and kind != "tensor":
        return f"{element.dialect}.{element.mnemonic}" in _POINTERS
    return isinstance(element, _ELEMENTS[kind])  # type: ignore[arg-type]
