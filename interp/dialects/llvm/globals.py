"""llvm.mlir.global and llvm.mlir.addressof: each run has the memory of its own, with the initial values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halfulp.interp.dialects.llvm import layout
from halfulp.interp.dialects.llvm.access import alignment_of
from halfulp.interp.dialects.llvm.contents import contents_of
from halfulp.interp.dialects.llvm.evaluate import constant_of
from halfulp.interp.dialects.llvm.memory import MALLOC_ALIGNMENT, Memory, Pointer
from halfulp.interp.dialects.llvm.stack import check_size
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.control import Compiler
from halfulp.interp.run.frames import Frame, Function, FunctionCode, Run


def address(op: Operation, compiler: Compiler) -> Function:
    """Return the function of addressof. Raises Unsupported for memory that the module only declares."""
    name = op.properties["global_name"]
    assert isinstance(name, at.SymbolRefAttr)
    found = compiler.module.lookup(name, op)
    assert found is not None
    if found.name == "llvm.func":
        return _kept(found, lambda run: _of_function(found, run))
    if found.name != "llvm.mlir.global":
        raise Unsupported(f"'{name}' is a {found.name}, which does not run", location=op.location, op=op.name)
    make = _maker(found, op, compiler)
    return _kept(found, make)


def _kept(found: Operation, make: Any) -> Function:
    def get(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        memory = run.kept.get(found)
        if memory is None:
            memory = make(run)
        return (Pointer(memory, 0),)

    return get


def _of_function(found: Operation, run: Run) -> Memory:
    memory = run.kept[found] = Memory(f"@{found.symbol_name}", 0, MALLOC_ALIGNMENT, run.origins)
    memory.function = found
    return memory


def _maker(found: Operation, op: Operation, compiler: Compiler) -> Any:
    type_attribute, value = found.properties["global_type"], found.properties.get("value")
    assert isinstance(type_attribute, at.TypeAttr)
    type_, source = type_attribute.type, f"llvm.mlir.global @{found.symbol_name}"
    size, alignment = layout.size_of(type_), alignment_of(found, type_)
    write = contents_of(type_)[1]
    check_size(op, size, compiler.settings)
    has_region = bool(found.regions[0].blocks)
    if value is None and not has_region and "external" in str(found.properties["linkage"]):
        raise Unsupported(
            f"'@{found.symbol_name}' is declared, but its memory is defined nowhere", location=op.location, op=op.name
        )
    initial = None if value is None else constant_of(value, type_, found, compiler)
    code_of = compiler.code_of

    def make(run: Run) -> Memory:
        memory = run.kept[found] = Memory(source, size, alignment, run.origins)
        if has_region:
            write(run, memory, 0, _returned(code_of(found), run))
        elif initial is not None:
            write(run, memory, 0, initial)
        memory.constant = "constant" in found.properties
        return memory

    return make


def _returned(code: FunctionCode, run: Run) -> Any:
    """Return what the region of a global returns, in the middle of a run."""
    frame, results = run.frame, run.results
    run.frame = None
    run.execute(Frame(code, run, None, (), None))
    (value,) = run.results
    run.frame, run.results = frame, results
    return value
