"""lit for tests that check results: %halfulp runs and compares programs, %filecheck checks what is printed.

    pip install '.[mlir]' lit filecheck
    lit -v examples/lit

The variable HALFULP_MLIR says which MLIR runs the passes, as --mlir of `halfulp diff` does: 24 (torch-mlir, the
default), 22, python:PACKAGE, or the path of an mlir-opt.
"""
# ruff: noqa: F821 - lit defines `config`

import os
import shutil
import sys

import lit.formats

config.name = "halfulp"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(os.environ.get("LIT_OUTPUT", config.test_source_root), "out")


def program(name: str) -> str:
    """Return the path of a program beside this Python, or on PATH."""
    return shutil.which(name, path=os.path.dirname(sys.executable)) or shutil.which(name) or name


filecheck = os.environ.get("FILECHECK") or program("FileCheck" if shutil.which("FileCheck") else "filecheck")
config.substitutions += [
    ("%halfulp", os.environ.get("HALFULP") or program("halfulp")),
    ("%filecheck", filecheck),
    ("%mlir", os.environ.get("HALFULP_MLIR", "24")),
]
config.environment["PATH"] = os.environ["PATH"]
