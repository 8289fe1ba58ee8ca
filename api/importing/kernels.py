"""Kernels of Triton: compile them for the target of a GPU, which need not be there, and launch them here.

Triton's own compiler makes the TTIR or TTGIR, in this process. Its Python interface is private, so the version counts.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from operator import index
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from halfulp.importing.common import as_printed, require, without_own_calls
from halfulp.interp.dialects.triton.launching import spanned, viewed
from halfulp.interp.dialects.triton.types import DescriptorType
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError, TypeMismatch, Unsupported
from halfulp.interp.ir.operations import Module, argument_types
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.coerce import as_array, is_tensor
from halfulp.interp.values.memref_layout import spanned as spanned_elements
from halfulp.interp.values.value import Value
from halfulp.loading import load_named
from halfulp.running import RunKeywords, RunOptions, run_options, run_with

VERSION = "3.9."
"""The beginning of the versions of Triton whose private interface is known."""

# --- targets ----------------------------------------------------------------------------------------------------------

_WARPS: Mapping[str, int] = {"gfx9": 64, "gfx1": 32}
"""The lanes of a wave, by the beginning of the name of an AMD GPU."""
_PLAIN = "cuda:90"
"""The target for which TTIR is made without one. Almost all of it is the same for every target."""


def _target(spelling: str | None) -> Any:
    """Return Triton's description of a target such as ``cuda:90`` or ``hip:gfx942``. Raises InputError."""
    kind, _, name = (_PLAIN if spelling is None else str(spelling)).partition(":")
    gpu: Any = import_module("triton.backends.compiler").GPUTarget
    lanes = next((lanes for start, lanes in _WARPS.items() if name.startswith(start)), None)
    if kind == "cuda" and name.isdigit():
        return gpu("cuda", int(name), 32)
    if kind == "hip" and lanes is not None:
        return gpu("hip", name, lanes)
    raise InputError(
        f"target is {spelling!r}, but must be cuda: and a compute capability times 10, or hip: and the name of a GPU",
        hint='target="cuda:90", target="hip:gfx942"',
    )


# --- sources ----------------------------------------------------------------------------------------------------------


class _Source(NamedTuple):
    """What Triton compiles: the kernel, the types of its arguments by name, the values of constants and the attributes
    of arguments by path, and options of its backend by name.
    """

    kernel: Any
    signature: Mapping[str, str]
    constants: Mapping[tuple[int, ...], Any]
    attributes: Mapping[tuple[int, ...], Any]
    options: Mapping[str, Any]


def _triton(what: str) -> None:
    """Raise Unsupported if Triton is absent or has another interface. ``what``: what needs it."""
    require("triton", what)
    version = import_module("triton").__version__
    if not version.startswith(VERSION):
        raise Unsupported(
            f"{what} works with Triton {VERSION}*, but {version} is installed", hint="pip install triton==3.9.0"
        )


def _jit_function(kernel: Any, what: str) -> Any:
    """Return a kernel without the decorators around it. Raises TypeMismatch for anything else."""
    jit: Any = import_module("triton.runtime.jit")
    if isinstance(kernel, jit.JITFunction):
        return kernel
    kind = type(kernel).__name__
    if kind == "Autotuner":
        first = ", ".join(f"{name}={value!r}" for name, value in kernel.configs[0].all_kwargs().items())
        raise Unsupported(
            f"{what}: the kernel is tuned: which of its {len(kernel.configs)} configurations is taken depends on times",
            hint=f"choose one: kernel.fn[grid] in place of kernel[grid], and {first}; in hu.triton_mode: tuned=…",
        )
    if kind == "InterpretedFunction":
        raise Unsupported(f"{what}: the kernel belongs to Triton's interpreter", hint="unset TRITON_INTERPRET")
    raise TypeMismatch(f"{what} takes a kernel, a function with @triton.jit, not {kind}")


_COMPILED: dict[tuple[Any, ...], Module] = {}
_MOST = 64
"""The number of modules that are kept."""


def _compiled(source: _Source, target: str | None) -> Module:
    """Return the TTGIR of a source for a target, or its TTIR without one. Raises Unsupported with what Triton says."""
    compiler: Any = import_module("triton.compiler.compiler")
    ir: Any = import_module("triton._C.libtriton").ir
    gpu = _target(target)
    backend = compiler.make_backend(gpu)
    try:
        options = backend.parse_options({_FUSION: _fuses({}), **source.options})
    except Exception as error:
        raise _refused(source.kernel, error) from error
    unknown = next((name for name in source.options if not hasattr(options, name)), None)
    if unknown is not None:
        raise InputError(
            f"{source.kernel.fn.__name__}: {unknown} is not an option of a launch",
            hint=f"the options are {', '.join(options.__dict__)}",
        )
    made = compiler.ASTSource(source.kernel, source.signature, source.constants, source.attributes)
    key = (made.hash(), target, options.hash())
    if (known := _COMPILED.get(key)) is not None:
        return known
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, made.language)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    metadata = {"target": gpu, **options.__dict__}
    try:
        functions = backend.get_codegen_implementation(options)
        module = made.make_ir(gpu, options, functions, backend.get_module_map(), context)
        module = stages["ttir"](module, metadata)
        if target is not None:
            module = stages["ttgir"](module, metadata)
    except Exception as error:
        raise _refused(source.kernel, error) from error
    name = f"<triton {source.kernel.fn.__name__}>"
    inside = os.path.join(os.path.dirname(str(import_module("triton").__file__)), "")
    found = as_printed(load_named(str(module), name), lambda location: without_own_calls(location, (inside,)))
    while len(_COMPILED) >= _MOST:
        del _COMPILED[next(iter(_COMPILED))]
    _COMPILED[key] = found
    return found


_FUSION = "enable_fp_fusion"
_FUSION_OF_ALL = "TRITON_DEFAULT_FP_FUSION"


def _fuses(keywords: Mapping[str, Any]) -> bool:
    """Tell whether Triton fuses products into additions: Triton 3.9 does, unless a launch or the environment says
    otherwise, and warns if nothing does.
    """
    asked = keywords.get(_FUSION, None if _FUSION_OF_ALL in os.environ else True)
    return bool(import_module("triton.knobs").language.fp_fusion_enabled(asked))


def _refused(kernel: Any, error: Exception) -> HalfulpError:
    return Unsupported(f"Triton does not compile {kernel.fn.__name__}: {str(error).strip() or repr(error)}")


def _check_type(name: str, word: str) -> None:
    """Raise InputError for a word that is not a type of an argument."""
    known = import_module("triton._utils").type_canonicalisation_dict
    pointed = word.removeprefix("*").removeprefix("k")
    if pointed not in known and pointed not in known.values() and not word.startswith("tensordesc"):
        raise InputError(
            f"the type of {name} is {word!r}, which Triton does not know",
            hint="types are written i32, fp16, bf16, fp32, fp8e4nv, and a pointer *fp32",
        )


# --- from types -------------------------------------------------------------------------------------------------------

Signature = str | Sequence[Any] | Mapping[str, Any]


def from_triton(
    kernel: Any,
    signature: Signature,
    constants: Mapping[str, Any] = MappingProxyType({}),
    *,
    target: str | None = None,
    **options: Any,
) -> Module:
    """Return a kernel of Triton as a module: its TTGIR for a target, or its TTIR without one. No GPU is needed.

    ``kernel``: a function with ``@triton.jit``.
    ``signature``: the types of the arguments as Triton writes them, in a text with commas, a sequence in the order of
    the parameters or a mapping from their names: ``"*fp32:16, *fp32:16, i32"``. ``:16`` says that a pointer or an
    integer is a multiple of 16, as Triton finds in a launch. A number in place of a type is the value of a constant.
    ``constants``: the values of constants (``tl.constexpr``) by their names. A constant with a default may be left out.
    ``target``: "cuda:90", "hip:gfx942" and others that Triton knows.
    ``options``: options of a launch, such as ``num_warps`` and ``num_stages``.

        >>> hu.from_triton(add, "*fp32:16, *fp32:16, *fp32:16, i32", {"BLOCK": 256}, target="cuda:90")

    Raises InputError for a signature that does not fit the parameters, TypeMismatch if ``kernel`` is not a kernel, and
    Unsupported if Triton 3.9 is not installed or refuses the kernel.
    """
    _triton("hu.from_triton")
    function = _jit_function(kernel, "hu.from_triton")
    return _compiled(_of_types(function, signature, constants, options), target)


def _of_types(kernel: Any, given: Signature, constants: Mapping[str, Any], options: Mapping[str, Any]) -> _Source:
    names = [parameter.name for parameter in kernel.params]
    if not isinstance(given, str | Sequence | Mapping) or not isinstance(constants, Mapping):
        what, kind = ("signature", given) if isinstance(constants, Mapping) else ("constants", constants)
        raise TypeMismatch(
            f"{what} of {kernel.fn.__name__} is of type {type(kind).__name__}",
            hint='hu.from_triton(add, "*fp32, *fp32, *fp32, i32", {"BLOCK": 256})',
        )
    if isinstance(given, Mapping):
        words = dict(given)
    else:
        listed = [each.strip() for each in re.split(r",(?![^<]*>)", given)] if isinstance(given, str) else list(given)
        free = [name for name in names if name not in constants]
        typed = [parameter.name for parameter in kernel.params if not parameter.is_constexpr]
        fitting = next((some for some in (names, free, typed) if len(some) == len(listed)), None)
        if fitting is None:
            raise InputError(
                f"the signature has {len(listed)} types, but {kernel.fn.__name__} has {len(free)} arguments without a "
                f"value in constants: {', '.join(free)}"
            )
        words = dict(zip(fitting, listed, strict=True))
    unknown = next((name for name in (*words, *constants) if name not in names), None)
    if unknown is not None:
        raise InputError(f"{kernel.fn.__name__} has no parameter {unknown}", hint=f"it has {', '.join(names)}")
    signature: dict[str, str] = {}
    values: dict[tuple[int, ...], Any] = {}
    attributes: dict[tuple[int, ...], Any] = {}
    for number, parameter in enumerate(kernel.params):
        name, default = parameter.name, parameter._param.default
        word = words.get(name)
        if name in constants or (parameter.is_constexpr and word is None and default is not inspect.Parameter.empty):
            signature[name], values[number,] = "constexpr", constants.get(name, default)
            continue
        if word is None:
            what = "a value in constants" if parameter.is_constexpr else "a type in the signature"
            raise InputError(f"{kernel.fn.__name__} needs {what} for {name}")
        constant = _constant(word)
        if constant is not None:
            signature[name], values[number,] = "constexpr", constant
            continue
        signature[name], _, multiple = str(word).partition(":")
        _check_type(name, signature[name])
        if multiple not in ("", "16"):
            raise InputError(f"the type of {name} is {word!r}: after the colon only 16 is possible")
        attributes[number,] = [["tt.divisibility", 16]] if multiple else []
    return _Source(kernel, signature, values, attributes, options)


def _constant(word: Any) -> Any:
    """Return the value of a constant that stands in the place of a type; None for a type."""
    if not isinstance(word, str):
        return word
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return None


# --- launches ---------------------------------------------------------------------------------------------------------

_NAMES: Mapping[str, str] = {
    "bool": "i1",
    "float16": "fp16",
    "float32": "fp32",
    "float64": "fp64",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2fnuz": "fp8e5b16",
    **{f"{sign}int{bits}": f"{'u' if sign else 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    # The spelling of types of MLIR.
    "f16": "fp16",
    "bf16": "bf16",
    "f32": "fp32",
    "f64": "fp64",
    "f8E4M3FN": "fp8e4nv",
    "f8E5M2": "fp8e5",
    "f8E4M3FNUZ": "fp8e4b8",
    "f8E5M2FNUZ": "fp8e5b16",
    **{f"i{bits}": f"i{bits}" for bits in (1, 8, 16, 32, 64)},
}
"""Triton's names of the elements to which a pointer points, by those of NumPy and ml_dtypes and by those of MLIR."""
_ALIGNED = 16


class _Memory:
    """An array as Triton's launcher looks at it: the type of the elements, the address and the range of addresses.

    On a GPU a tensor begins at a multiple of 256 bytes, so only the place of a view in its tensor counts.
    """

    def __init__(self, data: Any, what: str) -> None:
        if isinstance(data, Value | Buffer):
            name, self._start, self._bytes = str(ty.element_type(data.type)), 0, 0
        else:
            array = as_array(data, what)
            name, self._start, self._bytes = array.dtype.name, _start(data, array), array.nbytes
        if name not in _NAMES:
            raise TypeMismatch(
                f"{what}: Triton has no pointers to elements of type {name}",
                hint="give an array of floats, of integers of up to 64 bits or of bool, such as x.astype(np.float32)",
            )
        self.dtype = _NAMES[name]
        self.data = data

    def data_ptr(self) -> int:
        """Return the address on a GPU, but for multiples of 256."""
        return self._start

    def ptr_range(self) -> int:
        """Return the number of bytes that can be reached."""
        return self._bytes


def _start(data: Any, array: np.ndarray[Any, Any]) -> int:
    """Return where an array begins in the tensor or array that it is a view of, in bytes."""
    if is_tensor(data):
        return int(data.storage_offset()) * int(data.element_size())
    return int(array.__array_interface__["data"][0] - viewed(array).__array_interface__["data"][0])


@dataclass(frozen=True)
class Launch:
    """A launch of a kernel: the kernel, the grid, the options of Triton, and what is bound to the parameters, in their
    order.
    """

    kernel: Any
    grid: tuple[int, ...]
    keywords: Mapping[str, Any]
    bound: Mapping[str, Any]

    def settings(self, options: Mapping[str, Any]) -> RunOptions:
        """Return the options of the run, from those that the caller gave."""
        fusion = "on" if _fuses(self.keywords) else "off"
        return run_options("run", RunKeywords, {"grid": self.grid, "fp_fusion": fusion, **options})

    def program(self, target: str | None) -> tuple[Module, dict[str, Any]]:
        """Return the module that a target runs, and the arguments of its function by the names of the parameters:
        Triton leaves out constants, also integers that are 1.
        """
        jit: Any = import_module("triton.runtime.jit")
        compiler: Any = import_module("triton.compiler.compiler")
        backend = compiler.make_backend(_target(target))
        binder = jit.create_function_from_signature(self.kernel.signature, self.kernel.params, backend)
        try:
            bound, specialization, options = binder(**self.bound, **self.keywords)
            keywords = {_FUSION: _fuses({}), **self.keywords}
            packed = self.kernel._pack_args(backend, keywords, bound, specialization, options)
        except (AssertionError, KeyError, OverflowError, TypeError) as error:
            raise self._refused(error) from None
        chosen, signature, constants, attributes = packed
        given = {name: value for name, value in self.keywords.items() if name in chosen.__dict__}
        module = _compiled(_Source(self.kernel, signature, constants, attributes, given), target)
        (function,) = (op for op in module.body if op.symbol_name == self.kernel.fn.__name__)
        described = any(isinstance(type_, DescriptorType) for type_ in argument_types(function))
        values = [each for name, type_ in signature.items() for each in _kept(name, type_, self.bound[name], described)]
        return module, dict(values)

    def _refused(self, error: Exception) -> HalfulpError:
        """Return the error for arguments or options that Triton does not take."""
        name = self.kernel.fn.__name__
        for option in ("num_warps", "num_stages", "num_ctas"):
            value = self.keywords.get(option, 1)
            if not isinstance(value, int):
                return TypeMismatch(f"{name}: {option} is {value!r}, but must be an integer", hint=f"{option}=4")
        told = str(error.args[0] if error.args else error)
        hint = None
        if "unrecognised" in told:
            hint = f"it takes {', '.join(self.kernel.arg_names)}, options of a launch (num_warps) and of hu.run"
        return TypeMismatch(f"{name}: {told}", hint=hint)


def bound_launch(launcher: Any, arguments: Sequence[Any], keywords: Mapping[str, Any], what: str) -> Launch:
    """Return what a call of ``kernel[grid]`` would launch. Raises the errors of `launch`."""
    _triton(what)
    outer, grid = _parts_of(launcher, what)
    named = dict(keywords)
    while type(outer).__name__ == "Heuristics":
        for name, value_of in outer.values.items():
            named[name] = value_of({**dict(zip(outer.arg_names, arguments, strict=False)), **named})
        outer = outer.fn
    kernel = _jit_function(outer, what)
    parameters = {parameter.name: parameter for parameter in kernel.params}
    try:
        bound = kernel.signature.bind(*arguments, **{name: named.pop(name) for name in [*named] if name in parameters})
    except TypeError as error:
        raise TypeMismatch(f"{kernel.fn.__name__}: {error}") from None
    bound.apply_defaults()
    sizes = grid(dict(bound.arguments)) if callable(grid) else grid
    looked = {
        name: value if parameters[name].is_constexpr else _looked_at(name, value)
        for name, value in ((name, _plain(value)) for name, value in bound.arguments.items())
    }
    return Launch(kernel, _sizes(sizes), named, looked)


def _sizes(grid: Any) -> tuple[int, ...]:
    """Return the sizes of a grid. Raises TypeMismatch unless they are integers."""
    given = tuple(grid) if isinstance(grid, tuple | list) else (grid,)
    try:
        return tuple([index(size) for size in given])
    except TypeError:
        raise TypeMismatch(f"the grid is {grid!r}, but its sizes must be integers", hint="kernel[(4, 1)]") from None


def _parts_of(launcher: Any, what: str) -> tuple[Any, Any]:
    """Return the kernel and the grid of ``kernel[grid]``."""
    held = inspect.getclosurevars(launcher).nonlocals if inspect.isfunction(launcher) else {}
    if "self" not in held or "grid" not in held:
        raise TypeMismatch(
            f"{what} takes a kernel with its grid, not {type(launcher).__name__}", hint=f"{what}(kernel[grid], x, y, n)"
        )
    return held["self"], held["grid"]


def _plain(value: Any) -> Any:
    """Return a scalar of NumPy as a number of Python, as Triton takes it, and anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _kept(name: str, type_: Any, value: Any, described: bool) -> Iterator[tuple[str, Any]]:
    """Yield what of an argument the compiled kernel takes, each with its name there: no constants, of a tuple its
    elements, and the parts of a descriptor. ``described``: whether it takes descriptors as they are.
    """
    if isinstance(type_, tuple):
        for number, part in enumerate(zip(type_, value, strict=True)):
            yield from _kept(f"{name}.{number}", *part, described)
    elif _is_descriptor(value):
        array = _described(value, f"the argument {name}")
        sizes = [
            (f"{name}.{what}[{k}]", n) for what in ("shape", "strides") for k, n in enumerate(getattr(value, what))
        ]
        yield name, array
        if not described:
            # Triton passes the sizes twice: to the code that takes the place of the descriptor, and to the kernel.
            yield from ((f"{each} of the descriptor", size) for each, size in sizes)
            yield f"{name}.padding", value.padding == "nan"
            yield f"{name}.round_f32_to_tf32", value.round_f32_to_tf32
        elif value.padding == "nan" or value.round_f32_to_tf32:
            raise Unsupported(
                f"the argument {name}: a descriptor from the host that pads with NaNs or rounds to tf32 is not run",
                hint="make the descriptor in the kernel: tl.make_tensor_descriptor",
            )
        yield from sizes
    elif type_ != "constexpr":
        yield name, value.data if isinstance(value, _Memory) else value


def _is_descriptor(value: Any) -> bool:
    return type(value).__name__ == "TensorDescriptor"


def _described(value: Any, what: str) -> np.ndarray[Any, Any]:
    """Return the array that a descriptor describes, in the memory of its base. Raises TypeMismatch."""
    array = as_array(value.base, what)
    flat = array.reshape(-1) if array.flags.c_contiguous else spanned(value.base, array, what)
    _, count = spanned_elements(value.shape, value.strides, 0)
    if count > flat.size:
        raise TypeMismatch(f"{what}: the descriptor reaches {count} elements, but its base has {flat.size}")
    return as_strided(flat, value.shape, [step * array.itemsize for step in value.strides])


def _looked_at(name: str, value: Any) -> Any:
    """Return an argument as Triton's launcher takes it: memory for an array, a number of Python for a scalar."""
    if isinstance(value, tuple):
        parts = [_looked_at(f"{name}[{number}]", _plain(each)) for number, each in enumerate(value)]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if _is_descriptor(value):
        return value
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str | list):
        raise TypeMismatch(
            f"the argument {name} is a {type(value).__name__}", hint="give an array for a pointer, else a number"
        )
    return _Memory(value, f"the argument {name}")


def launch(launcher: Any, /, *arguments: Any, target: str | None = None, **keywords: Any) -> Module:
    """Launch a kernel of Triton here, as ``kernel[grid](*arguments)`` does on a GPU: it writes into the arrays.

    ``launcher``: ``kernel[grid]``, where ``kernel`` has ``@triton.jit``. The grid may be a function of the arguments.
    ``arguments``: NumPy or ml_dtypes arrays, CPU tensors or `Buffer`s for pointers, and numbers.
    ``target``: "cuda:90", "hip:gfx942" and others: the TTGIR for this target runs. Without one TTIR runs, in which sums
    and dots are exact or in order. No GPU is needed.
    ``keywords``: other arguments and constants by their names, options of the launch such as ``num_warps``, and options
    of `run` such as ``profile`` and ``mma``.

    Returns the module that ran.

        >>> hu.launch(add[(4,)], x, y, z, 1000, BLOCK=256, target="cuda:90")

    Raises TypeMismatch for arguments that do not fit the parameters, Unsupported if Triton 3.9 is not installed, if it
    refuses the kernel, or if the kernel is tuned, and the errors of `run`.
    """
    options = run_keywords(launcher, keywords)
    made = bound_launch(launcher, arguments, {k: v for k, v in keywords.items() if k not in options}, "hu.launch")
    module, values = made.program(target)
    run_with(module, list(values.values()), made.settings(options))
    return module


@contextmanager
def triton_mode(
    target: str | None = None, *, tuned: Callable[[Sequence[Any]], Any] | None = None, **options: Any
) -> Iterator[list[Module]]:
    """Run each launch of a kernel in a ``with`` block here, as `launch` does: also those within functions of a library.

    ``target``, ``options``: as for `launch`: the options are those of `run`.
    ``tuned``: chooses a configuration of a tuned kernel (``@triton.autotune``), such as ``lambda all: all[0]``.

    Gives a list of the modules that ran. The block holds for all threads.

        >>> with hu.triton_mode("cuda:90", tuned=lambda configurations: configurations[0]):
        ...     y = rms_norm(x, weight)

    Raises Unsupported for a tuned kernel without ``tuned``, if Triton 3.9 is not installed or within another block, and
    the errors of `launch`.
    """
    _triton("hu.triton_mode")
    jit, tuning = (import_module(f"triton.runtime.{name}") for name in ("jit", "autotuner"))
    kernels, tuners = jit.JITFunction, tuning.Autotuner
    usual = kernels.run, tuners.run
    if usual[0].__module__ == __name__:
        raise Unsupported("hu.triton_mode: the program is in another block of hu.triton_mode already")
    ran: list[Module] = []

    def run(self: Any, *arguments: Any, grid: Any, warmup: bool = False, **keywords: Any) -> None:
        if not warmup:
            ran.append(launch(self[grid], *arguments, target=target, **options, **keywords))

    def run_tuned(self: Any, *arguments: Any, **keywords: Any) -> Any:
        if tuned is None:
            return _jit_function(self, "hu.triton_mode")
        self.best_config = chosen = tuned(self.configs)  # libraries ask for it
        given = {**keywords, **chosen.all_kwargs()}
        if chosen.pre_hook is not None:
            chosen.pre_hook({**dict(zip(self.arg_names, arguments, strict=False)), **given})
        return self.fn.run(*arguments, **given)

    kernels.run, tuners.run = run, run_tuned
    try:
        yield ran
    finally:
        kernels.run, tuners.run = usual


def run_keywords(launcher: Any, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of `run` among the keywords of a launch: those that are not parameters of the kernel."""
    held = inspect.getclosurevars(launcher).nonlocals if inspect.isfunction(launcher) else {}
    own = getattr(held.get("self"), "arg_names", ())
    return {name: value for name, value in keywords.items() if name in RunKeywords.__annotations__ and name not in own}
