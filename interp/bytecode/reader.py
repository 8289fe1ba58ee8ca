"""The reader of MLIR bytecode, versions 0 to 6: it makes the same module as the text."""

from __future__ import annotations

from halfulp.interp.bytecode.body import Body
from halfulp.interp.bytecode.container import Container, schema_of
from halfulp.interp.bytecode.encoding import Section
from halfulp.interp.bytecode.index import FileIndex
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.declare.registry import Registry, default_registry
from halfulp.interp.gc_pause import PausedCollector
from halfulp.interp.ir.errors import BytecodeError
from halfulp.interp.ir.operations import Module


def read_unverified(
    data: bytes | memoryview,
    filename: str = "<bytecode>",
    allow_unregistered: bool = True,
    registry: Registry | None = None,
    schema: Schema | None = None,
    skip_unknown: bool = False,
) -> Module:
    """Read a file of MLIR bytecode; the rules of the ops are not checked (`halfulp.interp.loading` does).

    The parameters are those of `halfulp.interp.loading.read_bytecode`. Raises BytecodeError with an offset.
    """
    with PausedCollector():
        try:
            return _read(Container(data), allow_unregistered, registry or default_registry(), schema, skip_unknown)
        except BytecodeError as error:
            error.filename = filename
            raise


def _read(
    file: Container, allow_unregistered: bool, registry: Registry, schema: Schema | None, skip_unknown: bool
) -> Module:
    schema = schema or schema_of(file.producer)
    if schema is not None:
        return read_as(file, schema, registry, allow_unregistered, skip_unknown)
    try:
        return read_as(file, Schema.MLIR22, registry, allow_unregistered, skip_unknown)
    except BytecodeError:
        return read_as(file, Schema.LLVM24, registry, allow_unregistered, skip_unknown)


def read_as(
    file: Container, schema: Schema, registry: Registry, allow_unregistered: bool, skip_unknown: bool = False
) -> Module:
    """Read the module of a file as one schema writes it; it is not verified."""
    index = FileIndex(file, schema, registry, allow_unregistered)
    try:
        return _module(index, skip_unknown)
    except RecursionError:
        # Python's limit was reached before ours.
        index.cursor.fail("attributes and types are nested too deep")


def _module(index: FileIndex, skip_unknown: bool) -> Module:
    index.read()
    operation = Body(index, skip_unknown).top(index.file.section(Section.IR))
    index.read_rest()
    module = Module(operation, None, index.resources)
    module.use_orders = index.use_orders
    module.dialect_versions = index.dialect_versions
    return module
