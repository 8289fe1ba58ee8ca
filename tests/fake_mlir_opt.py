"""A shell script in the place of mlir-opt."""

import stat
from collections.abc import Callable
from pathlib import Path

TWICE = """\
func.func @f(%x: i8) -> i8 {
  %0 = arith.addi %x, %x : i8
  return %0 : i8
}
"""

FakeOpt = Callable[..., str]


def made_in(folder: Path) -> FakeOpt:
    """Return what makes an mlir-opt in a folder from the body of a script, and returns the option that names it. A second
    argument is the version that it tells.
    """

    def make(body: str, told: str = "99.1.0git") -> str:
        path = folder / "my-opt"
        version = f'if [ "$1" = --version ]; then echo "LLVM version {told}"; exit 0; fi'
        path.write_text(f"#!/bin/sh\n{version}\n{body}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return f"--mlir-opt={path}"

    return make
