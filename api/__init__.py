"""halfulp runs MLIR numerics bit for bit: MLIR in, exact values out.

    import halfulp as hu
    (result,) = hu.run("func.func @f(%x: f8E4M3FN) -> f8E4M3FN { ... }", 1.5)

`run` executes a module on arrays, `eval` one op without any MLIR, `convert` one conversion; `float_formats` are the
float types. See the README for a tour.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halfulp import plot as plot
    from halfulp.codegen.constraints import constraints as constraints
    from halfulp.codegen.workgroups import Workgroups as Workgroups
    from halfulp.codegen.workgroups import workgroups as workgroups
    from halfulp.explanations.dot import explain_dot as explain_dot
    from halfulp.explanations.op import explain_op as explain_op
    from halfulp.explanations.rounding import explain as explain
    from halfulp.fp_formats.formats import FORMATS as float_formats  # noqa: F401
    from halfulp.fp_formats.formats import FloatFormat as FloatFormat
    from halfulp.fp_formats.formats import NanEncoding as NanEncoding
    from halfulp.fp_formats.formats import float_format as float_format
    from halfulp.interp.declare.declarations import Dialect as Dialect
    from halfulp.interp.declare.declarations import Trait as Trait
    from halfulp.interp.ir.errors import AssertionFailed as AssertionFailed
    from halfulp.interp.ir.errors import BytecodeError as BytecodeError
    from halfulp.interp.ir.errors import HalfulpError as HalfulpError
    from halfulp.interp.ir.errors import InputError as InputError
    from halfulp.interp.ir.errors import LimitExceeded as LimitExceeded
    from halfulp.interp.ir.errors import ParseError as ParseError
    from halfulp.interp.ir.errors import TypeMismatch as TypeMismatch
    from halfulp.interp.ir.errors import UndefinedBehavior as UndefinedBehavior
    from halfulp.interp.ir.errors import Unsupported as Unsupported
    from halfulp.interp.ir.errors import VerifyError as VerifyError
    from halfulp.interp.ir.operations import Module as Module
    from halfulp.interp.run.events import Listener as Listener
    from halfulp.interp.text.parser import parse_module as parse  # noqa: F401
    from halfulp.interp.text.printer import print_module as print_module
    from halfulp.interp.values.buffers import Buffer as Buffer
    from halfulp.interp.values.value import Value as Value
    from halfulp.runtime import convert as convert
    from halfulp.runtime import eval as eval
    from halfulp.runtime import load as load
    from halfulp.runtime import read_bytecode as read_bytecode
    from halfulp.runtime import register_cast as register_cast
    from halfulp.runtime import register_dialect as register_dialect
    from halfulp.runtime import register_external as register_external
    from halfulp.runtime import register_op as register_op
    from halfulp.runtime import run as run
    from halfulp.runtime import write_bytecode as write_bytecode
    from halfulp.semantics.profile import PROFILES as profiles  # noqa: F401
    from halfulp.semantics.profile import SEMANTICS_VERSION as semantics_version  # noqa: F401
    from halfulp.semantics.profile import Profile as Profile
    from halfulp.traces.trace import Trace as Trace
    from halfulp.traces.trace import trace as trace

_ERRORS = (
    "AssertionFailed BytecodeError HalfulpError InputError LimitExceeded ParseError TypeMismatch UndefinedBehavior "
    "Unsupported VerifyError"
)
_RUNTIME = (
    "convert eval load read_bytecode register_cast register_dialect register_external register_op run write_bytecode"
)

# Loaded on first use, so that importing halfulp, and the command line's help, stay quick.
_HOME: dict[str, tuple[str, str]] = {
    "Buffer": ("halfulp.interp.values.buffers", "Buffer"),
    "Dialect": ("halfulp.interp.declare.declarations", "Dialect"),
    "FloatFormat": ("halfulp.fp_formats.formats", "FloatFormat"),
    "Listener": ("halfulp.interp.run.events", "Listener"),
    "Module": ("halfulp.interp.ir.operations", "Module"),
    "NanEncoding": ("halfulp.fp_formats.formats", "NanEncoding"),
    "Profile": ("halfulp.semantics.profile", "Profile"),
    "Trait": ("halfulp.interp.declare.declarations", "Trait"),
    "Value": ("halfulp.interp.values.value", "Value"),
    "constraints": ("halfulp.codegen.constraints", "constraints"),
    "explain": ("halfulp.explanations.rounding", "explain"),
    "explain_dot": ("halfulp.explanations.dot", "explain_dot"),
    "explain_op": ("halfulp.explanations.op", "explain_op"),
    "float_format": ("halfulp.fp_formats.formats", "float_format"),
    "float_formats": ("halfulp.fp_formats.formats", "FORMATS"),
    "Trace": ("halfulp.traces.trace", "Trace"),
    "parse": ("halfulp.interp.text.parser", "parse_module"),
    "print_module": ("halfulp.interp.text.printer", "print_module"),
    "profiles": ("halfulp.semantics.profile", "PROFILES"),
    "semantics_version": ("halfulp.semantics.profile", "SEMANTICS_VERSION"),
    "trace": ("halfulp.traces.trace", "trace"),
    "Workgroups": ("halfulp.codegen.workgroups", "Workgroups"),
    "workgroups": ("halfulp.codegen.workgroups", "workgroups"),
    **{name: ("halfulp.interp.ir.errors", name) for name in _ERRORS.split()},
    **{name: ("halfulp.runtime", name) for name in _RUNTIME.split()},
}
# Modules that are reached as attributes of the package.
_MODULES = ("plot",)

__all__ = sorted([*_HOME, *_MODULES])


class _Front(ModuleType):
    """The package: `explain` stays the function, whoever imports the module ``halfulp.explanations.rounding`` first."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and value.__name__ == _HOME.get(name, ("",))[0]:
            value = getattr(value, _HOME[name][1])
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Front


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"halfulp.{name}")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'halfulp' has no attribute {name!r}")
    value = getattr(import_module(home[0]), home[1])
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_MODULES})
