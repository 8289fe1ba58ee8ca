"""The bridge to LLVM: it takes assembly text and returns the address of a function. Machine code is kept on disk."""

from __future__ import annotations

import hashlib
import os
import warnings
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import _lru_cache_wrapper, cache
from importlib import import_module
from importlib.util import find_spec
from threading import Condition
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

# --- cpu --------------------------------------------------------------------------------------------------------------
#
# How many cores there are, and whether the CPU keeps subnormals, so that its own float arithmetic can be used.
#
# A thread can have modes in which subnormal operands and results become zero, and some libraries turn these on when
# they are loaded. After that was seen once, the process computes nothing natively any more.

Value = TypeVar("Value")

_SMALLEST = 5e-324
_keeps = _SMALLEST + _SMALLEST != 0
_forget: list[Callable[[], object]] = []


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def keeps_subnormals() -> bool:
    """Tell whether all calls of `check` have found that the CPU keeps subnormals."""
    return _keeps


def check() -> None:
    """Look whether the CPU keeps subnormals (see `keeps_subnormals`). Every run calls this at its start; it takes less
    than a microsecond.
    """
    global _keeps
    if _keeps and not _SMALLEST + _SMALLEST:
        _keeps = False
        for forget in _forget:
            forget()


def on_change(forget: Callable[[], object]) -> None:
    """Register a function that is called when the CPU is found to flush subnormals."""
    _forget.append(forget)


def forgotten(cached: _lru_cache_wrapper[Value]) -> _lru_cache_wrapper[Value]:
    """Register a cached function whose results depend on `keeps_subnormals`: they are forgotten when its answer
    changes. Return the function.
    """
    on_change(cached.cache_clear)
    return cached


# --- compiled ---------------------------------------------------------------------------------------------------------
#
# The settings of compiled code: whether arrays and programs become machine code, and on how many threads it runs.
#
# The environment variable HALFULP_BACKEND, or `use`, chooses the backend: ``auto`` (machine code where llvmlite is
# installed and it saves time), ``numpy`` (never) or ``llvm`` (from the first element and op on). HALFULP_THREADS, or
# `use_threads`, sets the number of threads that machine code uses; without it OMP_NUM_THREADS does. Results are the
# same.

BACKENDS = ("auto", "numpy", "llvm")
VARIABLE = "HALFULP_BACKEND"
THREADS, _ALL_THREADS = "HALFULP_THREADS", "OMP_NUM_THREADS"
_USUAL, _MOST = 4, 1024
"""The most threads where nobody sets their number, and at all."""


@cache
def installed() -> bool:
    """Tell whether llvmlite is installed: on CPython it comes with halfulp."""
    try:
        return find_spec("llvmlite") is not None
    except ValueError:  # the entry of sys.modules is None, which forbids the import
        return False


def _checked(backend: str, what: str) -> str:
    if backend == "numba":
        raise ValueError(f"{what} is 'numba', which is called 'llvm' since machine code is made by llvmlite")
    if backend not in BACKENDS:
        raise ValueError(f"{what} is {backend!r}, but must be one of {', '.join(BACKENDS)}")
    if backend == "llvm" and not installed():
        raise ValueError(f"{what} is 'llvm', but llvmlite is not installed: pip install llvmlite")
    return backend


_backend = _checked(os.environ.get(VARIABLE) or "auto", VARIABLE)


def backend() -> str:
    """Return the chosen backend, one of `BACKENDS`."""
    return _backend


def use(backend: str) -> None:
    """Choose the backend from now on, for all threads.

    Raises ValueError for a backend that is not among `BACKENDS` or not installed.
    """
    global _backend
    _backend = _checked(backend, "the backend")


def _number_of_threads() -> int:
    asked = os.environ.get(THREADS)
    if asked:
        if not _is_number(asked):
            raise ValueError(f"{THREADS} is {asked!r}, but must be a number of threads, from 1 to {_MOST}")
        return int(asked)
    first = os.environ.get(_ALL_THREADS, "").partition(",")[0].strip()
    return int(first) if _is_number(first) else min(cores(), _USUAL)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 5 and 0 < int(text) <= _MOST


_threads = _number_of_threads()


def threads() -> int:
    """Return the number of threads that machine code uses, including the one that calls it."""
    return _threads


def use_threads(count: int) -> None:
    """Set the number of threads from now on: for example 1, where other processes share the work already.

    Raises ValueError for a number that is not from 1 to 1024.
    """
    global _threads
    if not 0 < count <= _MOST:
        raise ValueError(f"there cannot be {count} threads, only 1 to {_MOST}")
    _threads = count


# --- llvm -------------------------------------------------------------------------------------------------------------

Compiled = TypeVar("Compiled")
_LARGE = 1 << 17
"""The characters of assembly from which LLVM takes fewer passes, so that it does not take seconds."""
_HUGE = 1 << 18
"""The characters of assembly from which LLVM takes no passes."""


def machine_code_allowed() -> bool:
    """Tell whether machine code may be made: llvmlite is there, and the backend is not NumPy."""
    return backend() != "numpy" and installed()


SHORT = 1 << 12
"""The elements of a call below which NumPy computes, whatever was computed before."""


def may_pay(elements: int) -> bool:
    """Tell whether machine code can save time in a call with this number of elements."""
    return elements >= SHORT or _backend == "llvm"


def at_once() -> bool:
    """Tell whether machine code is made at the first call, even if it does not save time there."""
    return backend() == "llvm"


def unless_broken(make: Callable[[], Compiled]) -> Compiled | None:
    """Return the code that ``make`` makes. If LLVM fails, for example on a system that allows no new machine code, warn
    and return None; from then on NumPy computes everything, with the same results.
    """
    try:
        return make()
    except Exception as error:
        if at_once():
            raise
        use("numpy")
        from halfulp.fp_formats.paths.disk import FallbackWarning

        warnings.warn(f"halfulp goes on without machine code: {error!r}", FallbackWarning, stacklevel=2)
        return None


@cache
def ir() -> Any:
    """Return llvmlite's module that makes assembly. Importing it takes a while."""
    return import_module("llvmlite.ir")


@dataclass(frozen=True)
class Code:
    """Machine code in memory: the address of its entry, and the engine that owns it."""

    address: int
    engine: Any


@cache
def _target() -> tuple[Any, str]:
    """Return llvmlite's binding, and everything in addition to the assembly that machine code depends on."""
    binding = import_module("llvmlite.binding")
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    features = binding.get_host_cpu_features().flatten()
    return binding, f"{binding.llvm_version_info} {binding.get_host_cpu_name()} {features}"


@cache
def fuses() -> bool:
    """Tell whether the processor has an instruction for fused multiply-adds, and machine code can use it."""
    if not installed():
        return False
    binding, _ = _target()
    arm = binding.get_process_triple().startswith(("aarch64", "arm64"))
    return arm or bool(binding.get_host_cpu_features().get("fma"))


def _machine(binding: Any, level: int = 3) -> Any:
    return binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=level, jit=True
    )


def addresses(arrays: Sequence[npt.NDArray[Any]], start: int) -> npt.NDArray[np.uint64]:
    """Return the addresses of the elements number ``start`` of arrays of one dimension. An array of one element serves
    for all elements: its address does not depend on ``start``.
    """
    return np.array([each.ctypes.data + start * each.itemsize * (each.size > 1) for each in arrays], np.uint64)


def compile_assembly(text: str, entry: str, vectors: bool = True, straight: bool = True) -> Code:
    """Return the machine code of LLVM assembly, from disk if it is there. ``entry``: the name of the function to call.
    ``vectors``: whether LLVM may use instructions on vectors. ``straight``: whether it looks for these outside of loops
    too; for long code this takes most of the time of compiling.
    """
    from halfulp.fp_formats.paths import disk

    binding, version = _target()
    key = f"machine code {version} {vectors} {straight} {hashlib.sha256(text.encode()).hexdigest()}"
    module = binding.parse_assembly("")
    engine = binding.create_mcjit_compiler(module, _machine(binding))
    stored = disk.load(key)
    if stored is None:
        stored = _object_of(binding, text, vectors, straight)
        disk.store(key, stored)
    engine.add_object_file(binding.ObjectFileRef.from_data(stored))
    engine.finalize_object()
    return Code(engine.get_function_address(entry), engine)


def _object_of(binding: Any, text: str, vectors: bool, straight: bool) -> bytes:
    # A context of its own goes with all types and constants of the module; the usual one keeps them for ever.
    module = binding.parse_assembly(text, binding.create_context())
    module.verify()
    small, huge = len(text) < _LARGE, len(text) >= _HUGE
    machine = _machine(binding, 0 if huge else 3)
    options = binding.create_pipeline_tuning_options(speed_level=3 if small else 0 if huge else 1)
    options.loop_vectorization = small and vectors
    options.slp_vectorization = small and vectors and straight
    builder = binding.create_pass_builder(machine, options)
    manager = builder.getModulePassManager()
    manager.run(module, builder)
    _free(manager)
    return bytes(machine.emit_object(module))


def _free(manager: Any) -> None:
    """Free a manager of passes. In llvmlite 0.50, its class inherits a method that does nothing before the one that
    frees, so each compilation would keep 60 kB for ever.
    """
    passes, ffi = import_module("llvmlite.binding.newpassmanagers"), import_module("llvmlite.binding.ffi")
    if type(manager)._dispose is ffi.ObjectRef._dispose:
        passes.NewPassManager._dispose(manager)
        manager.detach()
    else:
        manager.close()


# --- threads ----------------------------------------------------------------------------------------------------------
#
# Machine code on several cores: each thread takes the next part of the elements, until none is left.
#
# A thread that has not begun, since its core is busy, is not waited for: the calling thread takes what is left. Results
# do not depend on the threads, as each part has elements of its own. `compiled.threads` tells how many there are.

Work = Callable[[int, int], None]
"""Does the elements from the first number on, before the second."""
_PARTS = 2
"""The parts that a thread has at least: for fewer elements it is not worth its start."""


def share(count: int, part: int, begin: Callable[[], Work]) -> None:
    """Compute ``count`` elements in parts of ``part`` elements, by all threads. ``begin`` is called once in each thread
    and returns the function ``work(start, stop)`` that computes a part.

    Raises what these functions raise, after all threads have finished. An interrupt also waits for them, since machine
    code cannot be interrupted.
    """
    shared = _Shared(range(0, count, part), part, count, begin)
    shared.help_of(min(threads(), -(-count // part) // _PARTS) - 1)
    try:
        shared.take()
    finally:
        shared.close()
    if shared.error is not None:
        raise shared.error


class _Shared:
    """The parts that are left, and the threads that work on some of them. A thread that comes too late finds no part
    left.
    """

    def __init__(self, starts: range, part: int, count: int, begin: Callable[[], Work]) -> None:
        self.error: BaseException | None = None
        self._starts = deque(starts)
        self._part, self._count = part, count
        self._begin: Callable[[], Work] | None = begin
        self._working = 0
        self._changed = Condition()

    def help_of(self, threads: int) -> None:
        """Start up to this many threads; fewer if the system allows no more."""
        try:
            for _ in range(threads):
                start_new_thread(self._help, ())
        except RuntimeError:
            return

    def _help(self) -> None:
        with self._changed:
            if self._begin is None:
                return
            self._working += 1
        try:
            self.take()
        except BaseException as error:
            self.error = error
            self._starts.clear()
        with self._changed:
            self._working -= 1
            self._changed.notify()

    def take(self) -> None:
        """Do parts until none is left."""
        begin, work = self._begin, None
        while True:
            try:
                start = self._starts.popleft()
            except IndexError:
                return
            assert begin is not None
            work = work or begin()
            work(start, min(start + self._part, self._count))

    def close(self) -> None:
        """Drop the parts that are left, and wait for the threads that work on one."""
        self._starts.clear()
        interrupt = None
        while True:
            try:
                with self._changed:
                    self._begin = None  # with its arrays
                    self._changed.wait_for(lambda: not self._working)
                break
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt
