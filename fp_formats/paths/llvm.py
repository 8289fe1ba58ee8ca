"""The bridge to LLVM: assembly text in, the address of a function out. Machine code is kept on disk."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.paths import compiled, disk

Made = TypeVar("Made")
_LARGE = 1 << 17
"""The characters of assembly from which LLVM takes fewer passes, so that it does not take seconds."""
_HUGE = 1 << 18
"""The characters of assembly from which LLVM takes no passes."""


def wanted() -> bool:
    """Tell whether machine code may be made: llvmlite is there, and the backend is not NumPy."""
    return compiled.backend() != "numpy" and compiled.installed()


def at_once() -> bool:
    """Tell whether machine code is to be made before it pays."""
    return compiled.backend() == "llvm"


def unless_broken(make: Callable[[], Made]) -> Made | None:
    """Make code. Where LLVM fails, such as on a system that allows no new machine code, warn, and let NumPy compute
    everything from now on: it gives the same results.
    """
    try:
        return make()
    except Exception as error:
        if at_once():
            raise
        compiled.use("numpy")
        warnings.warn(f"halfulp goes on without machine code: {error!r}", RuntimeWarning, stacklevel=2)
        return None


@cache
def ir() -> Any:
    """Return llvmlite's maker of assembly. Importing it takes a while."""
    return import_module("llvmlite.ir")


@dataclass(frozen=True)
class Code:
    """Machine code in memory: the address of its entry, and the engine that owns it."""

    address: int
    engine: Any


@cache
def _target() -> tuple[Any, str]:
    """Return the binding, and what machine code depends on beside the assembly."""
    binding = import_module("llvmlite.binding")
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    features = binding.get_host_cpu_features().flatten()
    return binding, f"{binding.llvm_version_info} {binding.get_host_cpu_name()} {features}"


def _machine(binding: Any, level: int = 3) -> Any:
    return binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=level, jit=True
    )


def addresses(arrays: Sequence[npt.NDArray[Any]], start: int) -> npt.NDArray[np.uint64]:
    """Return the addresses of arrays of one dimension from an element on. An array of one element stands for all."""
    return np.array([each.ctypes.data + start * each.itemsize * (each.size > 1) for each in arrays], np.uint64)


def compile_assembly(text: str, entry: str, vectors: bool = True) -> Code:
    """Return the machine code of assembly, from disk if it is there. ``vectors``: whether LLVM is to look for
    instructions on vectors.
    """
    binding, version = _target()
    key = f"machine code {version} {vectors} {hashlib.sha256(text.encode()).hexdigest()}"
    module = binding.parse_assembly("")
    engine = binding.create_mcjit_compiler(module, _machine(binding))
    stored = disk.load(key)
    if stored is None:
        stored = _object_of(binding, text, vectors)
        disk.store(key, stored)
    engine.add_object_file(binding.ObjectFileRef.from_data(stored))
    engine.finalize_object()
    return Code(engine.get_function_address(entry), engine)


def _object_of(binding: Any, text: str, vectors: bool) -> bytes:
    # A context of its own goes with all types and constants of the module; the usual one keeps them for ever.
    module = binding.parse_assembly(text, binding.create_context())
    module.verify()
    small, huge = len(text) < _LARGE, len(text) >= _HUGE
    machine = _machine(binding, 0 if huge else 3)
    options = binding.create_pipeline_tuning_options(speed_level=3 if small else 0 if huge else 1)
    options.loop_vectorization = options.slp_vectorization = small and vectors
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))
