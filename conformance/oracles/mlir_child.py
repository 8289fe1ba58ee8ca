"""A program that does what mlir-opt does, by MLIR's Python bindings. `mlir_opt` starts it as a child process.

    python -P mlir_child.py PACKAGE [OPTION ...] < FILE      as mlir-opt
    python -P mlir_child.py PACKAGE --serve=BYTES            many requests, with at most so many bytes of memory

A request is a line of JSON, ``{"options": [...], "text": "..."}``. The reply is a line with what mlir-opt would give
for these options and this text: ``{"code", "printed", "said"}``. The first line of all is ``{"version"}``. This file
imports nothing of halfulp, so that the process starts fast and holds little beside MLIR.
"""

from __future__ import annotations

import ctypes
import io
import json
import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from ctypes.util import find_library
from importlib import import_module
from importlib.util import find_spec
from typing import Any

resource: Any = import_module("resource") if find_spec("resource") else None
"""Python's module, which Windows does not have."""

MARKER = "// -----\n"
MODULES_OF_A_CONTEXT = 2000
"""A context keeps every type and attribute that it has seen, so it is made anew after so many modules."""

_PLACE = re.compile(r'"([^"]+)":(\d+):(\d+)')
_PRINTED = {"--mlir-print-op-generic": "print_generic_op_form", "--mlir-print-debuginfo": "enable_debug_info"}
_DUMPED = {
    "--mlir-print-ir-before-all": "print_before_all",
    "--mlir-print-ir-after-all": "print_after_all",
    "--mlir-print-ir-module-scope": "print_module_scope",
}
_PIPELINE = "--pass-pipeline="
_SERVE = "--serve="
_INPUT = "--print-input"
"""Print each module also as it was before the passes, and `AFTER` after it."""
AFTER = "// ===== after\n"
_OTHERS = {_INPUT, "--allow-unregistered-dialect", "--split-input-file", "--mlir-disable-threading"}
_HEX = "--mlir-print-elementsattrs-with-hex-if-larger="
"""Bindings write more than 100 elements in hexadecimal, and fewer exactly in any case."""
_RESOURCES = "{-#"
ENTRY = "--entry="
"""Run this function of the module after the passes as machine code, and print what it prints in place of the module."""
_PRINTING = """
llvm.mlir.global private constant @halfulp.number("%llu\\00")
llvm.func @printf(!llvm.ptr, ...) -> i32
llvm.func @putchar(i32) -> i32
llvm.func @printU64(%number: i64) {
  %format = llvm.mlir.addressof @halfulp.number : !llvm.ptr
  %done = llvm.call @printf(%format, %number) vararg(!llvm.func<i32 (ptr, ...)>) : (!llvm.ptr, i64) -> i32
  llvm.return
}
""" + "".join(
    f"llvm.func @{name}() {{\n  %code = llvm.mlir.constant({code} : i32) : i32\n"
    "  %done = llvm.call @putchar(%code) : (i32) -> i32\n  llvm.return\n}\n"
    for name, code in (("printNewline", 10), ("printOpen", 40), ("printClose", 41))
)
"""Functions of mlir-runner's library, which bindings do not have."""
_PLAIN_X86 = '#llvm.target_features<["-avx512f"]>'
"""As `PLAIN_X86` of `jit`."""


class Child:
    """MLIR of one package of bindings."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._ir: Any = import_module(f"{package}.ir")
        self._passes: Any = import_module(f"{package}.passmanager")
        # Only the wheel torch-mlir has this dialect. A new context does not have it by itself.
        self._torch: Any = None
        with suppress(ImportError):
            self._torch = import_module(f"{package}.dialects.torch")
        self._context: Any = None
        self._managers: dict[str, Any] = {}
        self._left = 0

    def version(self) -> str:
        """Return the version of MLIR, as bytecode names its producer."""
        with self._ir.Context():
            data = io.BytesIO()
            self._ir.Module.parse("").operation.write_bytecode(data)
        producer = data.getvalue()[5:].partition(b"\0")[0].decode()
        return producer.removeprefix("MLIR")

    def reply(self, options: list[str], text: str) -> dict[str, Any]:
        """Return what mlir-opt would print for these options, and its exit code."""
        options = [one for one in options if not one.startswith(_HEX)]
        entry = "".join(one.removeprefix(ENTRY) for one in options if one.startswith(ENTRY))
        options = [one for one in options if not one.startswith(ENTRY)]
        unknown = [one for one in options if one not in _PRINTED | _DUMPED and one not in _OTHERS]
        pipelines = [one.removeprefix(_PIPELINE) for one in unknown if one.startswith(_PIPELINE)]
        if len(pipelines) < len(unknown):
            return {"code": 1, "printed": "", "said": f"error: unknown options: {' '.join(unknown)}"}
        printed: list[str] = []
        said: list[str] = []
        for part in text.split("\n" + MARKER) if "--split-input-file" in options else [text]:
            printed.append("")
            try:
                for each in self._module(options, "".join(pipelines), part, entry):
                    printed[-1] += each
            except (self._ir.MLIRError, ValueError, RuntimeError) as error:
                said.append(self._message(error))
        return {"code": int(bool(said)), "printed": MARKER.join(printed), "said": "\n".join(said)}

    def _module(self, options: list[str], pipeline: str, text: str, entry: str) -> Iterator[str]:
        # A context keeps the resources of a module, and gives those of the next one other names.
        if not self._left or _RESOURCES in text:
            self._context = self._ir.Context()
            self._context.enable_multithreading(False)
            if self._torch is not None:
                self._torch.register_dialect(self._context)
            self._managers = {}
            self._left = 1 if _RESOURCES in text else MODULES_OF_A_CONTEXT
        self._left -= 1
        self._context.allow_unregistered_dialects = "--allow-unregistered-dialect" in options
        form = {name: option in options for option, name in _PRINTED.items()}
        with self._context:
            module = self._ir.Module.parse(text)
            if _INPUT in options:
                yield f"{module.operation.get_asm(**form)}\n{AFTER}"
            if pipeline:
                self._manager(options, pipeline, form).run(module.operation)
            if entry:
                yield self._executed(module, entry)
                return
            printed: str = module.operation.get_asm(**form)
        yield printed.replace('loc("-"', 'loc("<stdin>"') + "\n"

    def _executed(self, module: Any, entry: str) -> str:
        """Run a function without arguments, and return what it prints. Raises RuntimeError if there is no code."""
        body, printing = module.body, self._ir.Module.parse(_PRINTING)
        names = {str(op.attributes["sym_name"]) for op in printing.body}
        for op in list(body):
            if op.operation.name == "llvm.func" and str(op.attributes["sym_name"]) in names:
                op.operation.erase()
        for op in printing.body:
            body.append(op.operation.clone())
        for op in body:
            if op.operation.name != "llvm.func":
                continue
            if platform.machine() in ("x86_64", "AMD64"):
                op.attributes["target_features"] = self._ir.Attribute.parse(_PLAIN_X86)
            # The engine adds to each external function another one that calls it, with AVX-512.
            if op.operation.regions[0].blocks and op.attributes["sym_name"].value != entry:
                op.attributes["linkage"] = self._ir.Attribute.parse("#llvm.linkage<internal>")
        # Code for f128 and conversions of f16 and bf16 calls functions of the compiler's library.
        if (compiler := find_library("gcc_s")) is not None:
            ctypes.CDLL(compiler, ctypes.RTLD_GLOBAL)
        engines = import_module(f"{self._package}.execution_engine")
        engine = engines.ExecutionEngine(module, opt_level=0)
        address = engine.raw_lookup(entry)
        if not address:
            raise RuntimeError(f"there is no machine code of @{entry}")
        standard = os.dup(1)
        with tempfile.TemporaryFile() as output:
            os.dup2(output.fileno(), 1)
            try:
                ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(None)
                ctypes.CDLL(None).fflush(None)
            finally:
                os.dup2(standard, 1)
                os.close(standard)
            output.seek(0)
            return output.read().decode()

    def _manager(self, options: list[str], pipeline: str, form: dict[str, bool]) -> Any:
        if _DUMPED.keys() & set(options):
            manager = self._passes.PassManager.parse(pipeline)
            manager.enable_ir_printing(**{name: option in options for option, name in _DUMPED.items()}, **form)
            return manager
        # The first run of a manager takes milliseconds: it collects the patterns of all dialects.
        if pipeline not in self._managers:
            self._managers[pipeline] = self._passes.PassManager.parse(pipeline)
        return self._managers[pipeline]

    def _message(self, error: Exception) -> str:
        """Return the errors as mlir-opt prints them."""
        lines = []
        for each in getattr(error, "error_diagnostics", ()):
            place = _PLACE.search(str(each.location))
            file = place and ("<stdin>" if place[1] == "-" else place[1])
            lines.append(f"{f'{file}:{place[2]}:{place[3]}' if place else '<unknown>:0'}: error: {each.message}")
        return "\n".join(lines) or str(error).strip()


def main() -> None:
    """Do what mlir-opt does with standard input, or answer requests until it ends."""
    package, *options = sys.argv[1:]
    if not options or not options[0].startswith(_SERVE):
        done = Child(package).reply(options, sys.stdin.read())
        print(done["printed"], end="")
        print(done["said"], end="\n" * bool(done["said"]), file=sys.stderr)
        sys.exit(done["code"])
    limit = int(options[0].removeprefix(_SERVE))
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # What passes print to standard output must not get among the replies.
    replies = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    child = Child(package)
    print(json.dumps({"version": child.version()}), file=replies, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(child.reply(request["options"], request["text"])), file=replies, flush=True)


if __name__ == "__main__":
    main()
