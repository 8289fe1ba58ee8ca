"""LLVM's C library, whose functions of f16 and f32 claim correct rounding: its static library, made a shared one.

A small C file has a loop over each function. The compiler of the machine links it with ``libllvmlibc.a``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import weakref
from collections.abc import Mapping
from functools import cache
from glob import glob
from pathlib import Path
from tempfile import mkdtemp
from types import MappingProxyType

from halfulp.conformance.oracles.oracle import OracleError, Unavailable
from halfulp.conformance.oracles.tool import Tool

PACKAGE = "libllvmlibc-22-dev"
_PLACES = ("/usr/lib/llvm-22/lib/libllvmlibc.a", "/usr/lib/llvm-*/lib/libllvmlibc.a")
_TYPES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "f16": ("_Float16", "f16"),
        "bf16": ("unsigned short", "bf16"),  # a class with one integer: its functions take that in its register
        "f32": ("float", "f"),
        "f64": ("double", ""),
        "f80": ("long double", "l"),
        "f128": ("__float128", "f128"),
    }
)
"""The C type and the suffix of the names of functions, by float type."""
_NAMES = {"powf": "pow", "arith.remf": "fmod"}
_OTHERS = frozenset({"logbf16"})
"""Names that look like those of another function: this one is logb of f16."""
_TWO = frozenset({"atan2", "hypot", "pow", "fmod"})


class LlvmLibc:
    """The library: ``path`` of the shared one, and the functions in it. Raises Unavailable without it or a compiler."""

    def __init__(self) -> None:
        archive = _archive()
        compiler = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
        if compiler is None:
            raise Unavailable("no C compiler is on PATH: install gcc or clang")
        self.version = archive.parent.parent.name
        self._folder = Path(mkdtemp(prefix="halfulp-libc-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._compiler, self._archive = Tool(compiler, ""), archive
        self.functions = _functions(archive)

    def symbol(self, function: str, type_: str) -> str | None:
        """Return the C name of a function on a type; None if the library does not have it.

        ``function``: as in `halfulp.fp_formats.reals`, or an op of arith.
        """
        if type_ not in _TYPES:
            return None
        name = _NAMES.get(function, function) + _TYPES[type_][1]
        return name if name in self.functions - _OTHERS else None

    def shared(self, function: str, type_: str) -> tuple[Path, str]:
        """Return a shared library, and the symbol in it that applies a function to arrays:
        ``void f(const T *x, …, T *result, size_t count)``. Raises OracleError if it cannot be linked.
        """
        symbol = self.symbol(function, type_)
        assert symbol is not None
        path = self._folder / f"{symbol}.so"
        if not path.exists():
            source = self._folder / f"{symbol}.c"
            source.write_text(_loop(symbol, _TYPES[type_][0], _NAMES.get(function, function) in _TWO), encoding="utf-8")
            options = ["-shared", "-fPIC", "-O1", "-fno-builtin", str(source), "-o", str(path), str(self._archive)]
            try:
                # No other library may give the function.
                self._compiler.run([*options, "-nostdlib", "-Wl,-Bsymbolic", "-lgcc"])
            except OracleError as error:
                raise OracleError("refusal", f"{symbol} of {self._archive} does not link: {error}") from None
        return path, f"all_{symbol}"


def _archive() -> Path:
    named = os.environ.get("HALFULP_LLVM_LIBC")
    found = [named] if named else [path for pattern in _PLACES for path in sorted(glob(pattern))]
    if not found or not Path(found[0]).is_file():
        where = f"{named} does not exist" if named else "libllvmlibc.a is not in /usr/lib/llvm-*/lib"
        raise Unavailable(f"{where}: install {PACKAGE} (apt.llvm.org), or set HALFULP_LLVM_LIBC to the file")
    return Path(found[0])


@cache
def _functions(archive: Path) -> frozenset[str]:
    """Return the names that an archive defines."""
    reader = shutil.which("nm")
    if reader is None:
        raise Unavailable("nm is not on PATH: install binutils")
    done = subprocess.run([reader, "-g", "--defined-only", str(archive)], capture_output=True, text=True, check=False)
    return frozenset(line.split()[-1] for line in done.stdout.splitlines() if len(line.split()) == 3)


def _loop(symbol: str, c_type: str, two: bool) -> str:
    arguments = f"const {c_type} *x, const {c_type} *y" if two else f"const {c_type} *x"
    call, types = ("(x[k], y[k])", f"{c_type}, {c_type}") if two else ("(x[k])", c_type)
    return (
        f"{c_type} {symbol}({types});\n"
        f"void all_{symbol}({arguments}, {c_type} *result, unsigned long count) {{\n"
        f"  for (unsigned long k = 0; k < count; k++) result[k] = {symbol}{call};\n"
        "}\n"
    )
