"""The types of the llvm dialect: how they are written, and which types are compatible with it (`LLVMTypes.cpp`).

A type inside another one is written without ``!llvm.``: ``!llvm.struct<(ptr, array<2 x i64>)>``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from halfulp.interp.ir.base import Attribute, Type, immutable, quoted
from halfulp.interp.ir.types import DialectType, FloatType, IntegerType, VectorType
from halfulp.interp.text.type_parser import TypeParser

Names = Mapping[object, str]
_BINARY_FLOATS = ("bf16", "f16", "f32", "f64", "f80", "f128")


def spell_inner(type: Type, names: Names) -> str:
    """Return the text of a type inside a type of the dialect."""
    return type.pretty(names) if isinstance(type, LLVMType) else names.get(type) or type.spell(names)


@immutable
class LLVMType(DialectType):
    """A type of the dialect without parameters, such as ``!llvm.void``. Subclasses have parameters."""

    def spell(self, names: Names) -> str:
        """Return the text of the type with ``!llvm.``."""
        return f"!llvm.{self.pretty(names)}"

    def pretty(self, names: Names) -> str:
        """Return the text of the type without ``!llvm.``."""
        return self.mnemonic


@immutable
class PointerType(LLVMType):
    """``!llvm.ptr`` or ``!llvm.ptr<3>``: a pointer into an address space."""

    dialect: str = "llvm"
    mnemonic: str = "ptr"
    space: int = 0

    def pretty(self, names: Names) -> str:
        """Return the text ``ptr`` and its address space, unless that is 0."""
        return f"ptr<{self.space}>" if self.space else "ptr"


@immutable
class ArrayType(LLVMType):
    """An array type: ``!llvm.array<4 x f32>``."""

    dialect: str = "llvm"
    mnemonic: str = "array"
    size: int = 0
    element: Type = LLVMType("llvm", "void")

    @property
    def parts(self) -> tuple[Attribute | Type, ...]:
        """The element type."""
        return (self.element,)

    def pretty(self, names: Names) -> str:
        """Return the text ``array<…>``."""
        return f"array<{self.size} x {spell_inner(self.element, names)}>"


@immutable
class StructType(LLVMType):
    """A struct type: ``!llvm.struct<(i32, ptr)>``, also with a name, ``packed``, or ``opaque``.

    ``body`` None: the struct is opaque, or, with ``enclosing``, it is the struct of that name that contains this type.
    """

    dialect: str = "llvm"
    mnemonic: str = "struct"
    body: tuple[Type, ...] | None = ()
    name: str | None = None
    packed: bool = False
    enclosing: bool = False

    @property
    def parts(self) -> tuple[Attribute | Type, ...]:
        """The types of the elements."""
        return self.body or ()

    def pretty(self, names: Names) -> str:
        """Return the text ``struct<…>``."""
        name = "" if self.name is None else quoted(self.name)
        if self.enclosing:
            return f"struct<{name}>"
        head = f"{name}, " if name else ""
        if self.body is None:
            return f"struct<{head}opaque>"
        inner = ", ".join(spell_inner(element, names) for element in self.body)
        return f"struct<{head}{'packed ' if self.packed else ''}({inner})>"


@immutable
class FunctionType(LLVMType):
    """A function type: ``!llvm.func<i32 (ptr, ...)>``."""

    dialect: str = "llvm"
    mnemonic: str = "func"
    result: Type = LLVMType("llvm", "void")
    inputs: tuple[Type, ...] = ()
    variadic: bool = False

    @property
    def results(self) -> tuple[Type, ...]:
        """The types of the results of a call: none for ``void``."""
        return () if self.result == VOID else (self.result,)

    @property
    def parts(self) -> tuple[Attribute | Type, ...]:
        """The type of the result and those of the arguments."""
        return (self.result, *self.inputs)

    def pretty(self, names: Names) -> str:
        """Return the text ``func<…>``."""
        inputs = [spell_inner(input, names) for input in self.inputs]
        inner = ", ".join([*inputs, "..."] if self.variadic else inputs)
        return f"func<{spell_inner(self.result, names)} ({inner})>"


@immutable
class TargetType(LLVMType):
    """``!llvm.target<"spirv.Image", void, 0>``: a type that a target defines."""

    dialect: str = "llvm"
    mnemonic: str = "target"
    name: str = ""
    types: tuple[Type, ...] = ()
    numbers: tuple[int, ...] = ()

    @property
    def parts(self) -> tuple[Attribute | Type, ...]:
        """The types among the parameters."""
        return self.types

    def pretty(self, names: Names) -> str:
        """Return the text ``target<…>``."""
        inner = [quoted(self.name), *(spell_inner(type, names) for type in self.types), *map(str, self.numbers)]
        return f"target<{', '.join(inner)}>"


VOID, TOKEN, LABEL, METADATA = (LLVMType("llvm", name) for name in ("void", "token", "label", "metadata"))
POINTER = PointerType()
_OUTSIDE_AGGREGATES: tuple[Type, ...] = (VOID, LABEL, METADATA, TOKEN)


def is_outer(type: Type) -> bool:
    """Tell whether a type is compatible with the dialect, apart from the types inside it."""
    if isinstance(type, IntegerType):
        return type.signedness == "signless"
    if isinstance(type, FloatType):
        return is_float(type)
    if isinstance(type, VectorType):
        return len(type.shape) == 1
    return isinstance(type, LLVMType)


def is_compatible(type: Type) -> bool:
    """Tell whether a type and all types in it are compatible with the dialect."""
    if isinstance(type, VectorType):
        return is_outer(type) and is_compatible(type.element)
    inner = type.parts if isinstance(type, LLVMType) else ()
    return is_outer(type) and all(is_compatible(part) for part in inner if isinstance(part, Type))


def is_float(type: Type) -> bool:
    """Tell whether a type is a float type of LLVM."""
    return isinstance(type, FloatType) and type.format.name in _BINARY_FLOATS


# --- text -------------------------------------------------------------------------------------------------------------


def read_inner(p: TypeParser) -> Type:
    """Read a type inside a type of the dialect: any type, or one of the dialect without ``!llvm.``."""
    at = p.pos
    if p.at_type():
        return p.type()
    key = p.tokens[at]
    if not key[:1].isalpha():
        p.error("expected valid keyword")
    parse = PARSERS.get(key)
    if parse is None:
        p.error(f"unknown LLVM type: {key}")
    p.pos += 1
    p.enter()
    type = parse(p)
    p.leave()
    return type


def _pointer(p: TypeParser) -> Type:
    if not p.take("<"):
        return POINTER
    space = p.integer()
    p.expect(">")
    return PointerType(space=space)


def _array(p: TypeParser) -> Type:
    p.expect("<")
    if not p.tokens[p.pos][:1].isdigit():
        p.wrong_token("expected integer")
    size = p.dimension()
    p.dimension_separator()
    at = p.pos
    element = read_inner(p)
    p.expect(">")
    if element in _OUTSIDE_AGGREGATES or isinstance(element, FunctionType):
        p.error(f"invalid array element type: '{element}'", at)
    return ArrayType(size=size, element=element)


def _struct(p: TypeParser) -> Type:
    p.expect("<")
    name: str | None = None
    if p.tokens[p.pos][:1] == '"':
        name = p.string()
        if p.tokens[p.pos] == ">":
            if name not in p.enclosing:
                p.error("struct without a body only allowed in a recursive struct")
            p.pos += 1
            return StructType(body=None, name=name, enclosing=True)
        p.expect(",")
    at = p.pos
    if p.take("opaque"):
        if name is None:
            p.error("only identified structs can be opaque", at)
        p.expect(">")
        return StructType(body=None, name=name)
    if name is not None:
        if name in p.enclosing:
            p.error("identifier already used for an enclosing struct", at)
        p.enclosing.append(name)
    packed = p.take("packed")
    p.expect("(")
    body: list[Type] = []
    if p.tokens[p.pos] != ")":
        at = p.pos
        body.append(read_inner(p))
        while p.take(","):
            body.append(read_inner(p))
    p.expect(")")
    p.expect(">")
    if name is not None:
        p.enclosing.remove(name)
    for element in body:
        if element in _OUTSIDE_AGGREGATES or isinstance(element, FunctionType):
            p.error(f"invalid LLVM structure element type: '{element}'", at)
    return StructType(body=tuple(body), name=name, packed=packed)


def _function(p: TypeParser) -> Type:
    p.expect("<")
    at = p.pos
    result = read_inner(p)
    p.expect("(")
    inputs: list[Type] = []
    variadic = False
    while p.tokens[p.pos] != ")":
        if p.tokens[p.pos] == "...":
            p.pos += 1
            variadic = True
            break
        at_input = p.pos
        inputs.append(read_inner(p))
        if inputs[-1] == VOID or isinstance(inputs[-1], FunctionType):
            p.error(f"invalid function argument type: '{inputs[-1]}'", at_input)
        if not p.take(","):
            break
    p.expect(")")
    p.expect(">")
    if isinstance(result, FunctionType) or result in (LABEL, METADATA):
        p.error(f"invalid function result type: '{result}'", at)
    return FunctionType(result=result, inputs=tuple(inputs), variadic=variadic)


def _target(p: TypeParser) -> Type:
    p.expect("<")
    name = p.string()
    types: list[Type] = []
    numbers: list[int] = []
    while p.take(","):
        if p.tokens[p.pos].isdigit():
            numbers.append(p.integer())
        else:
            types.append(read_inner(p))
    p.expect(">")
    return TargetType(name=name, types=tuple(types), numbers=tuple(numbers))


def _plain(mnemonic: str) -> Callable[[TypeParser], Type]:
    type = LLVMType("llvm", mnemonic)
    return lambda p: type


PARSERS: Mapping[str, Callable[[TypeParser], Type]] = {
    **{name: _plain(name) for name in ("void", "ppc_fp128", "token", "label", "metadata", "x86_amx")},
    "ptr": _pointer,
    "array": _array,
    "struct": _struct,
    "func": _function,
    "target": _target,
}
