"""A launch of a kernel: its programs one after the other, on memory that they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

from halfulp.interp.dialects.llvm import memory as mem
from halfulp.interp.dialects.triton import memory
from halfulp.interp.dialects.triton.compiling import KernelCompiler
from halfulp.interp.dialects.triton.descriptors import Descriptor
from halfulp.interp.dialects.triton.planning import may_be_planned, record
from halfulp.interp.dialects.triton.plans import Plan
from halfulp.interp.dialects.triton.together import LaneKernelCompiler, programs_at_once
from halfulp.interp.dialects.triton.types import DescriptorType, PointerType
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, TypeMismatch
from halfulp.interp.ir.operations import Operation, argument_types
from halfulp.interp.ir.types import code_layout
from halfulp.interp.run.batch.frames import LaneFrame
from halfulp.interp.run.batch.run import LaneRun
from halfulp.interp.run.compiler import FunctionCompiler
from halfulp.interp.run.frames import Frame, FunctionCode, Lanes, Outside, Run, lower
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Allocation, Buffer
from halfulp.interp.values.coerce import as_array, is_tensor
from halfulp.interp.values.elements import check_clean
from halfulp.interp.values.memref_layout import row_major
from halfulp.interp.values.memref_layout import spanned as spanned_elements
from halfulp.interp.values.value import Value, to_value
from halfulp.semantics.kernel import Origins

# --- arguments --------------------------------------------------------------------------------------------------------


def pointed(data: Any, type_: ty.Type, what: str) -> Buffer:
    """Return the memory that an argument of a kernel points to.

    ``data``: a `Buffer`, or an array or CPU tensor of any shape with the elements of the pointer (or their raw bits, in
    unsigned integers): the kernel writes into it. If the elements of a view do not lie one after the other, as those of
    a transposed array, the kernel gets a flat array from the first element of the view to the end of what it is a view
    of. Any other data, such as a `Value`, a read-only array or an array in another byte order, must not be written.

    Raises TypeMismatch for other elements, for a buffer whose elements do not lie one after the other, and for a view
    that goes backwards.
    """
    assert isinstance(type_, PointerType | DescriptorType)
    element = type_.element
    if isinstance(data, Buffer):
        if data.type.element != element:
            raise TypeMismatch(f"{what}: expected memory of '{element}', for '{type_}', got a buffer of '{data.type}'")
        if not data.is_contiguous:
            raise TypeMismatch(f"{what}: the elements of the buffer do not lie one after the other")
        return data
    if isinstance(data, Value):
        value = to_value(data, ty.TensorType((None,) * len(data.shape), element), what)
        return _constant(Buffer.from_numpy(value))
    array = as_array(data, what)
    dtype, trailing = code_layout(element)
    codes = to_value(array, ty.TensorType((None,) * array.ndim, element), what)
    copied = not data.dtype.isnative if isinstance(data, np.ndarray) else array.base is None
    if trailing or array.dtype.itemsize != dtype.itemsize or copied:
        return _constant(Buffer.from_numpy(codes))
    shape, strides = array.shape, tuple(step // array.itemsize for step in array.strides)
    if not array.flags.c_contiguous:
        array = spanned(data, array, what)
    held = Allocation(element, 0, what)
    held.bits = array.reshape(-1).view(dtype)
    if not held.bits.size:
        held.bits = np.zeros(1, dtype)
    held.constant = not array.flags.writeable
    if isinstance(type_, DescriptorType):
        return _tensor(held, shape, strides, type_, what)
    shape = array.shape
    return Buffer(ty.MemRefType(shape, element), held, 0, shape, row_major(shape))


def _tensor(
    held: Allocation, shape: tuple[int, ...], strides: tuple[int, ...], type_: DescriptorType, what: str
) -> Buffer:
    """Return the memory of a tensor that a descriptor describes. Raises TypeMismatch."""
    if len(shape) != len(type_.shape):
        raise TypeMismatch(
            f"{what}: expected an array of rank {len(type_.shape)}, for '{type_}', got rank {len(shape)}"
        )
    layout = at.StridedLayoutAttr(strides) if strides != row_major(shape) else None
    return Buffer(ty.MemRefType(shape, type_.element, layout), held, 0, shape, strides)


def viewed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array that an array is a view of; itself if it is not a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def spanned(data: Any, array: np.ndarray[Any, Any], what: str) -> np.ndarray[Any, Any]:
    """Return a flat array from the first element of a view to the end of the array or tensor that it is a view of."""
    if any(step < 0 for step in array.strides):
        raise TypeMismatch(
            f"{what}: the array is a view that goes backwards",
            hint="give np.ascontiguousarray(x), and pass the strides to the kernel",
        )
    if is_tensor(data):
        size = data.untyped_storage().nbytes() - data.storage_offset() * array.itemsize
    else:
        size = byte_bounds(viewed(array))[1] - array.__array_interface__["data"][0]
    return as_strided(array, (size // array.itemsize,), (array.itemsize,))


def _constant(buffer: Buffer) -> Buffer:
    buffer.allocation.constant = True
    return buffer


_ZEROS = "give the load another value: other=0; profile='spec,masked_load=zero' runs it as GPUs do"


def check_stored(data: Any, memory_: Any, what: str) -> None:
    """Raise TypeMismatch if a kernel stored poison in an array of the caller, which cannot say so."""
    if isinstance(data, Buffer) or not isinstance(memory_, Buffer):
        return
    try:
        check_clean(memory_.load())
    except TypeMismatch as error:
        error.message = f"{what}: the kernel stored poison in the array: {error.message}"
        error.hint = "give a hu.Buffer, which says which elements are poison"
        if memory.LEFT_OUT in error.message:
            error.hint += f"; or {_ZEROS}"
        raise


# --- memory -----------------------------------------------------------------------------------------------------------


class _Lent(NamedTuple):
    """The memory of an argument while the kernel runs: the buffer of the caller, and its bytes."""

    buffer: Buffer
    memory: mem.Memory
    size: int


def _range(buffer: Buffer) -> slice:
    """Return which elements of its allocation a buffer reaches."""
    return slice(*spanned_elements(buffer.shape, buffer.strides, buffer.offset))


def _entered(type_: ty.Type, number: int, buffer: Buffer) -> Value | Descriptor:
    """Return what a kernel has for an argument: a pointer to the memory with a number, or a descriptor of it."""
    if isinstance(type_, DescriptorType):
        return Descriptor(number, 0, buffer.shape, buffer.strides, nan=False)
    return Value(type_, memory.code_of(number))


def _lend(buffer: Buffer, source: str, origins: Origins) -> _Lent:
    """Return the memory of a buffer as bytes: the same bytes, and a copy of the poison and the marks."""
    held = buffer.allocation
    part = _range(buffer)
    codes = held.bits[part]
    size = codes.dtype.itemsize
    lent = mem.Memory(source, codes.nbytes, mem.CALLER_ALIGNMENT, origins, written=True)
    lent.data, lent.constant = codes.view(np.uint8), held.constant
    if held.poison is not None and held.origins is not None:
        ids = np.repeat(origins.adopt(held.poison[part], held.origins), size)
        lent.ids_to_write(origins)[:] = ids
        np.frombuffer(lent.lost, np.uint8)[:] = np.where(ids != 0, 0xFF, 0)
    if held.open is not None:
        lent.open = np.repeat(held.open[part], size)
    return _Lent(buffer, lent, size)


def _give_back(lent: _Lent, origins: Origins) -> None:
    """Note the poison and the marks of the elements in the memory of the caller."""
    buffer, memory_, size = lent
    held, part = buffer.allocation, _range(buffer)
    if memory_.ids is not None:
        held.adopted(origins)
        if held.poison is None:
            held.poison = np.zeros(len(held), np.uint16)
        # An element is poison if any of its bytes is: an access of another type may have written a part.
        held.poison[part] = memory_.ids.reshape(-1, size).max(axis=1)
        if not held.poison.any():
            held.poison = None
    if memory_.open is not None:
        if held.open is None:
            held.open = np.zeros(len(held), memory_.open.dtype)
        held.open[part] = memory_.open[::size]


# --- launch -----------------------------------------------------------------------------------------------------------


class Compiled(Protocol):
    """The parts of a `halfulp.interp.run.program.CompiledModule` that a launch uses."""

    settings: Settings

    def compiled(self, op: Operation, compiler: type[FunctionCompiler]) -> FunctionCode:
        """Return the code that a compiler makes for a function with a body."""

    def finish(
        self,
        op: Operation,
        run: Run,
        frame: Frame,
        arguments: Sequence[Any],
        execute: Callable[[Frame], None] | None = None,
    ) -> tuple[Value, ...]:
        """Execute a run from its first frame."""

    def made(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what the program keeps under a key."""

    def draws(self, number: int) -> Any:
        """Return the random bits of the run with this number."""


def launch(
    program: Compiled, kernel: Operation, arguments: Sequence[Any], outside: Outside | None
) -> tuple[Value, ...]:
    """Run a kernel for each program of the grid of the settings; x counts fastest.

    ``arguments``: a `Buffer` for each pointer, else a `Value`. Raises TypeMismatch without a grid, and the errors of
    the programs, each with the place of its program.
    """
    grid = program.settings.grid
    if grid is None:
        raise TypeMismatch(
            f"@{kernel.symbol_name} is a kernel of Triton, which runs once for each program of a grid",
            location=kernel.location,
            hint="give the grid: grid=(4, 1) (--grid=4,1)",
        )
    assert not isinstance(grid, int)  # the settings make a tuple of it
    x, y, z = (*grid, 1, 1)[:3]
    sizes = x, y, z
    planned = _Planned.of(program, kernel, arguments, sizes)
    if planned is not None and planned.run():
        return ()
    recorder = program.settings.recorder
    origins, shared = Origins(), memory.Shared(prod(sizes) > 1)
    lent: dict[tuple[int, int], tuple[int, _Lent]] = {}
    given: list[Any] = []
    for number, (argument, type_) in enumerate(zip(arguments, argument_types(kernel), strict=True)):
        if not isinstance(argument, Buffer):
            given.append(argument)
            continue
        if recorder is not None:
            argument = recorder.argument(number, argument)
        key = _address(argument)
        if key not in lent:
            made = _lend(argument, f"argument {number}{_label(kernel, number)}", origins)
            lent[key] = shared.add(made.memory), made
        given.append(_entered(type_, lent[key][0], argument))
    launched = _Launch(program, kernel, given, outside, origins, shared, sizes)
    try:
        results = launched.run()
    finally:
        for _, each in lent.values():
            _give_back(each, origins)
    if planned is not None:
        planned.ran()
    return results


_MOST_PLANS, _MOST_FAILURES_OF_PLANS = 4, 3
_MOST_IN_MEMORY = 1 << 20
"""The most elements in an allocation of a planned launch."""


class _Plans:
    """The plans of a kernel, by what they depend on; None for a launch that ran and has no plan yet. ``failures``: how
    often a planned launch had to run as usual.
    """

    def __init__(self) -> None:
        self.known: dict[Any, Plan | None] = {}
        self.failures: dict[Any, int] = {}


class _Held(NamedTuple):
    """Memory that a launch uses: its number, its codes, and whether it must not be written."""

    number: int
    codes: Any
    constant: bool


class _Planned(NamedTuple):
    """A launch that may have a plan (`halfulp.interp.dialects.triton.planning`), and what a plan of it depends on."""

    program: Compiled
    kernel: Operation
    arguments: Sequence[Any]
    sizes: tuple[int, int, int]
    plans: _Plans
    key: tuple[Any, ...]
    memories: Mapping[tuple[int, int], _Held]

    @classmethod
    def of(
        cls, program: Compiled, kernel: Operation, arguments: Sequence[Any], sizes: tuple[int, int, int]
    ) -> _Planned | None:
        """Return the launch; None if it cannot have a plan."""
        (may,) = program.made((kernel, may_be_planned), lambda: (may_be_planned(kernel, program.settings),))
        if not may:
            return None
        memories: dict[tuple[int, int], _Held] = {}
        key: list[Any] = [sizes]
        for argument in arguments:
            if not isinstance(argument, Buffer):
                if argument.poison is not None:
                    return None
                key.append(argument.bits.tobytes())
                continue
            held = argument.allocation
            codes = held.bits[_range(argument)]
            clean = held.poison is None and held.open is None
            if not clean or codes.ndim != 1 or codes.itemsize > _WIDEST or len(codes) > _MOST_IN_MEMORY:
                return None
            known = memories.setdefault(_address(argument), _Held(len(memories), codes, held.constant))
            sizes_of = argument.shape, argument.strides
            key.append((known.number, len(codes), codes.itemsize, held.constant, *sizes_of))
        given = [each.codes for each in memories.values()]
        if any(np.may_share_memory(one, other) for at, one in enumerate(given) for other in given[:at]):
            return None
        plans = program.made((kernel, _Plans), _Plans)
        return cls(program, kernel, arguments, sizes, plans, tuple(key), memories)

    def run(self) -> bool:
        """Run the launch by its plan, which is made if the same launch has run before. Return False, and leave memory
        as it is, if it has none or has to run as usual.
        """
        known, failures = self.plans.known, self.plans.failures
        if self.key not in known or failures.get(self.key, 0) >= _MOST_FAILURES_OF_PLANS:
            return False
        plan = known[self.key]
        if plan is None:
            plan = known[self.key] = self._made()
        if plan is not None and plan.run([each.codes for each in self.memories.values()]):
            return True
        failures[self.key] = failures.get(self.key, 0) + (1 if plan is not None else _MOST_FAILURES_OF_PLANS)
        return False

    def ran(self) -> None:
        """Note that the launch has run without an error."""
        known = self.plans.known
        while len(known) >= _MOST_PLANS and self.key not in known:
            self.plans.failures.pop(last := next(iter(known)), None)
            del known[last]
        known.setdefault(self.key, None)

    def _made(self) -> Plan | None:
        """Return the plan; None if there is none."""
        given: list[Any] = []
        for argument, type_ in zip(self.arguments, argument_types(self.kernel), strict=True):
            if isinstance(argument, Buffer):
                argument = _entered(type_, 1 + self.memories[_address(argument)].number, argument)
            given.append(lower(argument))
        buffers = [(len(codes), codes.itemsize, constant) for _, codes, constant in self.memories.values()]
        try:
            recorded = record(self.program, self.kernel, given, buffers, self.sizes)
            return Plan(recorded, [size for _, size, _ in buffers], self.program.settings)
        except HalfulpError:
            return None


_WIDEST = 8
"""The most bytes of an element."""


@dataclass
class _Launch:
    """A launch that runs. ``given``: the arguments of each program. ``sizes``: the grid."""

    program: Compiled
    kernel: Operation
    given: Sequence[Any]
    outside: Outside | None
    origins: Origins
    shared: memory.Shared
    sizes: tuple[int, int, int]

    def run(self) -> tuple[Value, ...]:
        """Run all programs, groups of them together where that is possible, and return what the last one returned."""
        self.steps = self.program.settings.max_steps
        self.both: set[int] = set()
        results: tuple[Value, ...] = ()
        each, programs = 1, range(prod(self.sizes))
        if len(programs) > 1:
            key = self.kernel, programs_at_once
            each = self.program.made(key, lambda: programs_at_once(self.kernel, self.program.settings))
        failures = 0
        for first in programs[::each]:
            group = programs[first : first + each]
            if len(group) > 1 and failures < _MOST_FAILURES:
                if self._together(first, group):
                    continue
                failures += 1
            for index in group:
                results = self._alone(index)
        return results

    def _place(self, index: int) -> tuple[int, int, int]:
        x, y, _ = self.sizes
        return index % x, index // x % y, index // (x * y)

    def _alone(self, index: int) -> tuple[Value, ...]:
        place = self._place(index)
        code = self.program.compiled(self.kernel, KernelCompiler)
        run = Run(self.program.settings, outside=self.outside)
        run.origins, run.steps = self.origins, self.steps
        run.draws = self.program.draws(index)
        memory.begin(run, self.shared, memory.Program(place, self.sizes, index))
        try:
            results = self.program.finish(self.kernel, run, Frame(code, run, None, (), None), self.given)
        except HalfulpError as error:
            error.message += f" (program {list(place)} of the grid {list(self.sizes)})"
            if error.hint is None and memory.LEFT_OUT in error.message:
                error.hint = _ZEROS
            raise
        self.steps = run.steps
        return results

    def _together(self, first: int, group: range) -> bool:
        """Run programs together. Return False, and leave memory as it was, if they have to run one after the other."""
        count = len(group)
        run = LaneRun(self.program.settings, Lanes(np.arange(count), count))
        most = run.steps = self.steps // count
        self.shared.log = log = memory.Log(first, count, self.both)
        memory.begin(run, self.shared, memory.Program(self._place(first), self.sizes, first))
        try:
            code = self.program.compiled(self.kernel, LaneKernelCompiler)
            self.program.finish(self.kernel, run, LaneFrame(code, run, None, (), None), self.given)
            log.check()
        except HalfulpError:
            log.undo()
            return False
        finally:
            self.shared.log = None
        self.steps -= (most - run.steps) * count
        return True


_MOST_FAILURES = 2
"""After so many groups that could not run together, the others are not tried."""


def _address(buffer: Buffer) -> tuple[int, int]:
    """Return what two arguments with the same memory have in common."""
    codes = buffer.allocation.bits[buffer.offset :]
    return int(codes.__array_interface__["data"][0]), prod(buffer.shape)


def _label(kernel: Operation, number: int) -> str:
    label = kernel.regions[0].blocks[0].arguments[number].label
    return f" ({label})" if label else ""
