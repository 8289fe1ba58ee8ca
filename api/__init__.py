"""halfulp runs MLIR numerics bit for bit: MLIR in, exact values out.

    import halfulp as hu
    (result,) = hu.run("func.func @f(%x: f8E4M3FN) -> f8E4M3FN { ... }", 1.5)

`run` executes a module on arrays, `eval` one op without any MLIR, `convert` one conversion; `float_formats` are the
float types. See the README for a tour.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

_EXPORTS: Mapping[str, str] = {
    # Programs
    "load": "halfulp.loading",
    "parse": "halfulp.interp.loading:parse_module",
    "print_module": "halfulp.interp.text.printer",
    "read_bytecode": "halfulp.loading",
    "write_bytecode": "halfulp.loading",
    "write_portable": "halfulp.loading",
    "Module": "halfulp.interp.ir.operations",
    # Programs in other languages
    "compare": "halfulp.importing.comparison",
    "from_jax": "halfulp.importing.lowering",
    "from_onnx": "halfulp.importing.lowering",
    "from_stablehlo": "halfulp.importing.lowering",
    "from_torch": "halfulp.importing.torch_programs",
    "torch_mode": "halfulp.aten.mode",
    # Kernels of Triton
    "compare_targets": "halfulp.importing.targets",
    "from_triton": "halfulp.importing.kernels",
    "launch": "halfulp.importing.kernels",
    "same_order": "halfulp.importing.orders",
    "triton_mode": "halfulp.importing.kernels",
    # Compilations
    "bisect": "halfulp.bisecting",
    # Running
    "run": "halfulp.running",
    "eval": "halfulp.evaluating",
    "convert": "halfulp.converting",
    "Value": "halfulp.interp.values.value",
    "Buffer": "halfulp.interp.values.buffers",
    "Listener": "halfulp.interp.run.settings",
    # Files of tensors
    "open_tensors": "halfulp.tensors.opening",
    "write_tensors": "halfulp.tensors.opening",
    # Sums
    "dot": "halfulp.summing",
    "matmul": "halfulp.summing",
    "sum": "halfulp.summing",
    "Accumulator": "halfulp.semantics.matrix_units.accumulator",
    # Chips
    "fit_accumulator": "halfulp.chips.fitting",
    "tell_apart": "halfulp.chips.telling",
    "which_chip": "halfulp.chips.which",
    # Functions of exact reals
    "Real": "halfulp.fp_formats.reals.expressions",
    "round": "halfulp.exact_reals.calling",
    "round_rows": "halfulp.exact_reals.rows",
    # Quantising
    "quantize": "halfulp.quantizing.types",
    "dequantize": "halfulp.quantizing.types",
    "quantize_blocks": "halfulp.quantizing.blocks",
    "quant": "halfulp.quant:",
    # Float formats and profiles
    "float_format": "halfulp.fp_formats.aliases",
    "float_formats": "halfulp.fp_formats.formats:ALL_FORMATS",
    "FloatFormat": "halfulp.fp_formats.formats",
    "fixed": "halfulp.fixed:",
    "p3109": "halfulp.p3109:",
    "profile": "halfulp.semantics.profile",
    "profiles": "halfulp.semantics.profile:PROFILES",
    "semantics_version": "halfulp.semantics:SEMANTICS_VERSION",
    "Profile": "halfulp.semantics.profile",
    # Explanations, traces and pictures
    "explain": "halfulp.explanations.explaining",
    "explain_dot": "halfulp.explanations.dot",
    "explain_op": "halfulp.explanations.explaining",
    "explore": "halfulp.explorer.notebook",
    "trace": "halfulp.traces.trace",
    "exception_flags": "halfulp.traces.error_report",
    "plot": "halfulp.plot:",
    # Questions in one line
    "accuracy": "halfulp.accuracies",
    "program_accuracy": "halfulp.accuracies",
    "compare_formats": "halfulp.measuring.comparing",
    "error": "halfulp.measuring.errors",
    "all_values": "halfulp.measuring.spacing",
    "neighbours": "halfulp.measuring.spacing",
    "next_down": "halfulp.measuring.spacing",
    "next_up": "halfulp.measuring.spacing",
    "rank": "halfulp.sensitivities.ranking",
    "sensitivity": "halfulp.sensitivities.sensitivity",
    "ulp": "halfulp.measuring.spacing",
    # Golden vectors
    "check": "halfulp.golden.checking",
    "vectors": "halfulp.golden.vectors",
    "tosa_problems": "halfulp.golden.tosa",
    "tosa_verdict": "halfulp.golden.tosa",
    # Tuned kernels of IREE
    "iree": "halfulp.iree:",
    # What users add
    "register": "halfulp.register:",
    # Errors
    "errors": "halfulp.errors:",
    "BytecodeError": "halfulp.interp.ir.errors",
    "HalfulpError": "halfulp.interp.ir.errors",
    "ParseError": "halfulp.interp.ir.errors",
    "TypeMismatch": "halfulp.interp.ir.errors",
    "UndefinedBehavior": "halfulp.interp.ir.errors",
    "Unsupported": "halfulp.interp.ir.errors",
    "VerifyError": "halfulp.interp.ir.errors",
}
"""Public names and their homes: ``module``, ``module:name`` if the name there differs, ``module:`` for a module itself,
a namespace: `hu.errors.InputError`.

They are loaded when first used, so that importing halfulp is fast. `__init__.pyi` says the same to type checkers:
``python tests/public_names.py`` writes it from this table.
"""

_GUESSING = "halfulp.guessing"
"""The module that says what to write instead of a name that is not public. It is loaded at its first use."""

_HOMES = {**_EXPORTS, "__version__": "halfulp.release:VERSION"}

__all__ = sorted(_EXPORTS)


def _home(name: str) -> tuple[str, str]:
    """Return the module that defines a public name, and the name there; it is empty if the public name is the module
    itself.
    """
    module, colon, attribute = _HOMES[name].partition(":")
    return module, attribute if colon else name


class _Namespace(ModuleType):
    """A module of public names. It can be called, as the function that once had its name, and then says what to
    call.
    """

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        raise import_module(_GUESSING).not_callable(self.__name__.removeprefix("halfulp."))


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise import_module(_GUESSING).unknown_name(name, _EXPORTS)
    module, attribute = _home(name)
    value: Any = import_module(module)
    if attribute:
        value = getattr(value, attribute)
    else:
        value.__class__ = _Namespace
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, and those with two underscores that Python and its tools look for."""
    return sorted({*_HOMES, *(name for name in globals() if name.startswith("__"))})
