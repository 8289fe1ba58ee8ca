"""Walk over the attributes and types inside others."""

from __future__ import annotations

from collections.abc import Iterator

from halfulp.interp.ir.attributes import (
    ArrayAttr,
    Attribute,
    DenseElementsAttr,
    DenseResourceAttr,
    DenseStringAttr,
    DictionaryAttr,
    DistinctAttr,
    IntegerAttr,
    OpaqueAttr,
    SparseElementsAttr,
    StringAttr,
    TypeAttr,
)
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.locations import CallSiteLoc, FusedLoc, NameLoc, UnknownLoc
from halfulp.interp.ir.types import (
    ComplexType,
    DialectType,
    FunctionType,
    MemRefType,
    OpaqueType,
    TensorType,
    TupleType,
    Type,
    VectorType,
)


def parts(thing: Attribute | Type) -> Iterator[Attribute | Type]:
    """Return the attributes and types inside something, in the order of printing."""
    if isinstance(thing, ArrayAttr):
        yield from thing.elements
    elif isinstance(thing, DictionaryAttr):
        yield from (value for _, value in thing.entries)
    elif isinstance(
        thing,
        TypeAttr | IntegerAttr | DenseElementsAttr | DenseStringAttr | SparseElementsAttr | DenseResourceAttr,
    ):
        yield thing.type
    elif isinstance(thing, StringAttr):
        if thing.type is not None:
            yield thing.type
    elif isinstance(thing, OpaqueAttr):
        yield from thing.inner
        if thing.type is not None:
            yield thing.type
    elif isinstance(thing, OpaqueType):
        yield from thing.inner
    elif isinstance(thing, DistinctAttr):
        yield thing.attribute
    elif isinstance(thing, DialectAttr | DialectType):
        yield from thing.parts
    elif isinstance(thing, NameLoc):
        if thing.child != UnknownLoc():
            yield thing.child
    elif isinstance(thing, CallSiteLoc):
        yield thing.callee
        yield thing.caller
    elif isinstance(thing, FusedLoc):
        if thing.metadata is not None:
            yield thing.metadata
        yield from thing.locations
    elif isinstance(thing, FunctionType):
        yield from thing.inputs
        yield from thing.results
    elif isinstance(thing, TupleType):
        yield from thing.elements
    elif isinstance(thing, ComplexType | VectorType):
        yield thing.element
    elif isinstance(thing, TensorType):
        yield thing.element
        if thing.encoding is not None:
            yield thing.encoding
    elif isinstance(thing, MemRefType):
        yield thing.element
        yield from (extra for extra in (thing.layout, thing.memory_space) if extra is not None)


def nested_size(thing: Attribute | Type, known: dict[int, int]) -> int:
    """Count the attributes and types that are printed for something. ``known``: sizes by id, of things that stay alive.

    Aliases share the things they name, so a short file can mean a spelling of any length. This counts without spelling.
    """
    number = known.get(id(thing))
    if number is None:
        number = known[id(thing)] = 1 + sum(nested_size(part, known) for part in parts(thing))
    return number
