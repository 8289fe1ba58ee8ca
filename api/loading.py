"""Load modules: from paths, MLIR text and bytecode; and write them as bytecode."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeGuard

from halfulp.inputs import read_file
from halfulp.interp import loading
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir.blobs import MAGIC, map_file
from halfulp.interp.ir.errors import InputError, TypeMismatch, UnknownOp
from halfulp.interp.ir.operations import Module

Source = str | os.PathLike[str] | bytes | bytearray | memoryview
Runnable = Module | Source | Callable[..., Any]
"""A program to run: a module, what `load` takes, or a function of JAX or a module of torch, which is lowered first."""
_LANGUAGES: Mapping[str, str] = {"torch": "a program of the torch dialect"}
"""The dialects that IREE's compiler has to lower before halfulp can run them, with the name of the language of each."""
_SCHEMAS: Mapping[str, Schema] = {"mlir22": Schema.MLIR22, "llvm24": Schema.LLVM24}


def load(source: Source) -> Module:
    """Read and verify a module: a path, MLIR text, or bytes. A file or bytes may be text, MLIR bytecode, a portable
    artifact of StableHLO, or what `jax.export` serialized.

    A string with a newline, a brace, a parenthesis or a quote is MLIR text; any other string is a path. Raises
    InputError if a file cannot be read; ParseError, BytecodeError or VerifyError, with the place, if the program is not
    valid MLIR; TypeMismatch for an argument that is not a program, such as a function.

    In a text, halfulp skips a function with ops whose syntax it does not know, and such ops at the top level, for
    example transform.named_sequence, if another function is left to run. A skipped part is kept as its text, and
    printed as one op. In bytecode, properties of unknown ops are skipped. `parse` and `read_bytecode` skip nothing.
    """
    return load_named(source, None)


def load_named(source: Source, name: str | None) -> Module:
    """Load a module as `load` does. ``name``: its file in locations and errors; by default the path."""
    if is_text(source):
        return _from_text(source, name or "<string>")
    data, path = opened(source)
    if not data:
        raise InputError(f"{name or path} is empty: there is no program in it")
    if is_bytecode(data):
        return loading.read_bytecode(data, name or path, skip_unknown=True)
    return _from_text(decode_text(data), name or path)


_IMPORTING = "halfulp.importing.lowering"
"""The module that lowers functions and models. It is imported late, because it imports this module."""


def program_of(source: Runnable, arguments: Sequence[Any]) -> tuple[Module, tuple[Any, ...]]:
    """Return a program and its arguments, to run. ``source``: a module, any input of `load`, or a function of JAX or a
    module of torch, which is lowered for these arguments. Nested arguments are flattened.

    Raises the errors of `load`, and those of `from_jax` and `from_onnx`.
    """
    if isinstance(source, Module):
        return source, tuple(arguments)
    if isinstance(source, type):
        raise _no_program(source)
    if callable(source):
        lowered: tuple[Module, tuple[Any, ...]] = import_module(_IMPORTING).lowered_call(source, arguments)
        return lowered
    return load(source), tuple(arguments)


def _from_text(text: str, name: str) -> Module:
    try:
        return loading.parse_module(text, name)
    except UnknownOp as error:
        if language := language_of(error.op):
            error.hint = (
                f'this is {language}: hu.from_stablehlo(…, lower="iree") lowers it to linalg, and so does halfulp run'
            )
            raise
        return loading.parse_without(error, text, name)


def language_of(op: str | None) -> str | None:
    """Return the name of the language to which an op belongs, if programs of that language must be lowered before they
    can run; else None.
    """
    return None if op is None else _LANGUAGES.get(op.partition(".")[0])


def language_in(module: Module) -> str | None:
    """Return the name of the language to which ops of a module belong, if the module must be lowered before it can run;
    else None.
    """
    return next((found for op in module.walk() if (found := language_of(op.name))), None)


def is_text(source: Source) -> TypeGuard[str]:
    """Tell whether a source is MLIR text, and not a path or bytes."""
    return isinstance(source, str) and (any(mark in source for mark in '\n{("') or not source.strip())


def read_bytecode(source: Source, *, schema: str | None = None, allow_unregistered: bool = True) -> Module:
    """Read and verify MLIR bytecode, versions 0 to 6, from a path or bytes.

    ``schema``: "mlir22" or "llvm24", whose ops and codes the file uses; None: the name of the producer determines it.
    ``allow_unregistered``: keep ops of unknown dialects.

    A file is mapped into memory, so that its resources are not copied.

    Raises BytecodeError with the offset of the error in the file, InputError and VerifyError.
    """
    data, name = opened(source)
    return loading.read_bytecode(data, name, allow_unregistered, schema=None if schema is None else _schema(schema))


def opened(source: Any) -> tuple[bytes | memoryview, str]:
    """Return the bytes of a path, or of an object that contains bytes, and a name for them. Bytes that cannot change
    are not copied. Of what `jax.export` serialized, return the artifact.
    """
    data, name = _opened(source)
    return unwrapped(data), name


def unwrapped(data: bytes | memoryview) -> bytes | memoryview:
    """Return the artifact in the data of a file of `jax.export`, and other data as they are."""
    # A file of `jax.export` begins with a small number of 32 bits.
    if is_bytecode(data) or b"\0" not in bytes(data[:4]):
        return data
    from halfulp.interp.bytecode.exported import artifact_in

    return artifact_in(data) or data


def _opened(source: Any) -> tuple[bytes | memoryview, str]:
    if isinstance(source, bytes):
        return source, "<bytes>"
    if isinstance(source, str | os.PathLike):
        return open_file(source), os.fspath(source)
    try:
        view = memoryview(source)
    except TypeError:
        raise _no_program(source) from None
    if view.itemsize != 1:
        raise _no_program(source)
    return view.cast("B") if view.readonly and view.c_contiguous else view.tobytes(), "<bytes>"


def _no_program(source: Any) -> TypeMismatch:
    """Return the error for an object that is neither a path nor text nor bytes. It says how to run that object."""
    name = getattr(source, "__name__", "")
    what = f"the function {name}" if name and not isinstance(source, type) else type(source).__name__
    if isinstance(source, Module):
        hint = "it is loaded already: hu.run and the other calls that take a program take it as it is"
    elif isinstance(source, type):
        what, hint = f"the class {name}", f"give an object of it, {name}(…), or a function"
    elif hasattr(source, "as_text"):
        hint = "JAX has it as text: hu.load(lowered.as_text())"
    elif hasattr(source, "mlir_module"):
        hint = "JAX has it as text: hu.load(exported.mlir_module())"
    elif hasattr(source, "SerializeToString"):
        hint = 'onnx.save(model, "model.onnx") writes it to a file, which hu.from_onnx reads'
    elif callable(source):
        hint = (
            "hu.run(f, x), hu.trace, hu.sensitivity and hu.compare take a function of JAX or a module of torch; "
            "hu.from_jax(f, x) makes a module of a function"
        )
    elif hasattr(source, "jaxpr"):
        hint = "give the function itself: hu.run(f, x), or hu.from_jax(f, x)"
    else:
        hint = "the program comes first, then its arguments: hu.run(program, x)"
    return TypeMismatch(f"expected a program, which is a path, MLIR text or bytes, not {what}", hint=hint)


def write_bytecode(module: Module, version: int = 6, schema: str = "mlir22", producer: str | None = None) -> bytes:
    """Return a module as MLIR bytecode. For mlir22 these are the bytes that mlir-opt 22 writes, except for the name of
    the producer.

    ``version``: the version of the format, 0 to 6.
    ``schema``: "mlir22" or "llvm24", the MLIR that will read it; both read version 4.
    ``producer``: the name in the file, by which halfulp recognises the schema (default: MLIR22-halfulp or
    MLIR24-halfulp). Raises InputError for a version that does not exist, Unsupported for parts of the module that the
    schema does not have.
    """
    from halfulp.interp.bytecode import writer

    _check_module(module, "hu.write_bytecode")
    return writer.write_bytecode(module, version, _schema(schema), producer)


def write_portable(module: Module, version: str = "1.20.0", strip_debug_info: bool = False) -> bytes:
    """Return a module of StableHLO as a portable artifact, the bytes that StableHLO itself writes. `load` reads it.

    ``version``: the version of StableHLO that will read it, 0.9.0 to 1.20.0. ``strip_debug_info``: leave the locations
    out. Raises InputError for another version, and Unsupported for what the version does not have.
    """
    from halfulp.interp.bytecode import portable

    _check_module(module, "hu.write_portable")
    return portable.write_portable(module, version, strip_debug_info)


def _check_module(module: object, function: str) -> None:
    if not isinstance(module, Module):
        raise TypeMismatch(
            f"{function} takes a module, not {type(module).__name__}", hint="hu.load makes a module of a path or text"
        )


def _schema(name: str) -> Schema:
    if name not in _SCHEMAS:
        raise ValueError(f"schema is {name!r}, but must be one of {', '.join(_SCHEMAS)}")
    return _SCHEMAS[name]


def open_file(path: str | os.PathLike[str]) -> bytes | memoryview:
    """Read a file as `read_file` does; bytecode in a regular file is mapped instead, however large it is.

    The file must not change as long as the module, or a value computed from its resources, is in use.
    """
    try:
        with Path(path).open("rb") as file:
            mapped = stat.S_ISREG(os.fstat(file.fileno()).st_mode) and file.read(len(MAGIC)) == MAGIC
        if mapped:
            return map_file(path)
    except (OSError, ValueError):
        # `read_file` says why a file cannot be opened, and reads one that cannot be mapped.
        pass
    return read_file(path)


def is_bytecode(data: bytes | memoryview) -> bool:
    """Tell whether data is MLIR bytecode, by its first four bytes."""
    return bytes(data[: len(MAGIC)]) == MAGIC


def decode_text(data: bytes | memoryview) -> str:
    """Decode MLIR text from the bytes of a file. Bytes that are not UTF-8 are kept as surrogates."""
    return bytes(data).decode("utf-8", "surrogateescape")
