"""Make modules of functions of JAX, modules of torch, ONNX models and StableHLO.

JAX lowers its functions to StableHLO, which halfulp runs as it is. IREE's compiler lowers StableHLO to linalg if a
caller asks for that, and the other languages always.
"""

from __future__ import annotations

import math
import os
import re
import sys
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from halfulp.conformance.oracles import iree
from halfulp.conformance.oracles.oracle import OracleError, Unavailable
from halfulp.conformance.oracles.tool import Tool
from halfulp.conformance.whole_programs.iree_dumps.chains import unwrap
from halfulp.fp_formats import scalar
from halfulp.importing.common import INSTALL, as_printed, name_arguments, name_constants, require
from halfulp.importing.repairs import explicit, repair
from halfulp.importing.torch_programs import To, checked_to, exported, is_exported, lowered_by_torch_mlir
from halfulp.inputs import read_file
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir.attributes import FloatAttr
from halfulp.interp.ir.base import FileLineCol, Location, quoted
from halfulp.interp.ir.errors import DocumentWarning, HalfulpError, InputError, LimitExceeded, TypeMismatch, Unsupported
from halfulp.interp.ir.operations import Module, argument_types
from halfulp.interp.ir.types import FloatType
from halfulp.interp.loading import parse_module
from halfulp.interp.values.coerce import as_array, is_tensor
from halfulp.interp.values.value import Value
from halfulp.loading import Source, decode_text, is_bytecode, is_text, load_named, opened
from halfulp.running import find_entry

# --- lowering ---------------------------------------------------------------------------------------------------------

Lower = Literal["stablehlo", "iree"]
"""What a program in StableHLO becomes: "stablehlo": it stays as it is; "iree": IREE's compiler lowers it to linalg."""


def checked_lower(lower: str) -> bool:
    """Tell whether IREE's compiler is to lower a program, which is so for "iree". Raise InputError for an unknown
    choice.
    """
    if lower not in ("stablehlo", "iree"):
        raise InputError(f"lower is {lower!r}, but must be one of stablehlo, iree")
    return lower == "iree"


SECONDS = 300.0
"""The most seconds that IREE's compiler and importer may take."""

FLAGS = (
    "--compile-to=input",
    # The generic form says all without IREE's own syntax, and the locations lead back to the program.
    "--mlir-print-op-generic",
    "--mlir-print-debuginfo",
    # By default IREE would compute in f32.
    "--iree-input-demote-f64-to-f32=false",
    "-o",
    "-",
)
_STDIN = "<stdin>"
_SHARDY = "Dialect `sdy' not found"
"""A part of the message of IREE's compiler about meshes of devices, which JAX writes."""
_SHARDY_HINT = (
    "JAX writes ops of sdy if a function calls Python (jax.debug.print, jax.pure_callback), splits arrays over "
    "devices, "
    "or takes a jax.random.key: remove such calls and splits, and give a jax.random.PRNGKey in place of the key"
)


def lowered_by_iree(text: str, name: str) -> Module:
    """Return the module that IREE lowers a program to: linalg on tensors, without IREE's wrappers.

    ``text``: StableHLO, or what iree-import-onnx prints.
    ``name``: the file name in its locations.

    Raises Unsupported if the compiler is not installed, or if it has no lowering for an op; InputError if it rejects
    the text; LimitExceeded if it takes too long.
    """
    tool = compiler_for(name)
    try:
        printed = tool.run(["-", *FLAGS], explicit(text, name), SECONDS)
    except OracleError as error:
        raise _failure(error, name) from None
    # A quote inside of a string is escaped, so only a location reads like this.
    located = printed.replace(f'loc("{_STDIN}":', f"loc({quoted(name)}:")
    module = parse_module(located, f"{name} (lowered)", verify=False, schema=Schema.LLVM24)
    unwrap(module)
    repair(module)
    return as_printed(module)


def compiler_for(name: str) -> Tool:
    """Return IREE's compiler, which is to lower the program of this name. Raise Unsupported if it is not installed."""
    try:
        return _compiler()
    except Unavailable as reason:
        message = f"{name} is lowered to linalg by IREE's compiler: {reason}"
        raise Unsupported(message, hint=INSTALL["iree.compiler"]) from None


@cache
def _compiler() -> Tool:
    """Return IREE's compiler as a tool. ``name``: the program that it is to lower, for the error. Raise Unsupported if
    it is not installed.
    """
    return iree.compiler()


def _failure(error: OracleError, name: str) -> HalfulpError:
    """Return the error for a run of the compiler that failed, with the compiler's message and its place."""
    if error.kind == "hang":
        return LimitExceeded(f"IREE's compiler: {error}")
    found = re.search(r'^"?([^\n"]+?)"?:(\d+):(\d+): error: (.*)$', error.said or "", re.MULTILINE)
    message = found[4] if found else str(error).partition("error: ")[2] or str(error)
    message = message.partition(" that was explicitly marked illegal")[0]
    file = name if found and found[1] in (_STDIN, "-") else found and found[1]
    location = FileLineCol(file, int(found[2]), int(found[3])) if found and file else None
    hint = _SHARDY_HINT if _SHARDY in message else None
    if message.endswith("'stablehlo.custom_call'"):
        target = re.search(r"""custom_call @([\w.$]+)|call_target_name = "([^"]+)""", error.said or "")
        called = (target[1] or target[2]) if target else ""
        message += f" of {called}" if called else ""
        hint = "it calls a library, such as LAPACK for jnp.linalg: compute that step outside of the program"
    elif hint is None and "failed to legalize operation" in message:
        hint = "it has no lowering for this op, or not for all its kinds: write it with other ops or compute it outside"
    kind = Unsupported if hint or error.kind != "refusal" or "legalize" in message else InputError
    return kind(f"IREE's compiler cannot lower the program: {message}", location=location, hint=hint)


# --- jax functions ----------------------------------------------------------------------------------------------------
#
# Modules from functions of JAX.


def from_jax(f: Callable[..., Any], /, *args: Any, lower: Lower = "stablehlo") -> Module:
    """Return a function of JAX as a module of StableHLO, whose public function is ``@main``.

    ``f``: a Python function of arrays, or the result of ``jax.jit``.
    ``args``: its arguments, or ``jax.ShapeDtypeStruct`` of their shapes and dtypes. Nested arguments and results are
    flattened, in the order of ``jax.tree.leaves``. Bind arguments that are not arrays before: ``functools.partial(f,
    axis=1)``.
    ``lower``: "stablehlo", the program that JAX makes; "iree": a module of linalg on tensors, to which IREE's compiler
    lowers that program, as described at `from_stablehlo`.

    JAX decides the types: without ``jax_enable_x64``, it converts float64 to f32. The ops of the module have their
    lines in the Python file as locations, and its arguments the names of those of ``f``.

        >>> module = hu.from_jax(lambda x: jnp.tanh(x) + 1, np.float32([0.5, 1.0]))
        >>> hu.run(module, np.float32([0.5, 1.0]))

    Raises Unsupported if a package is not installed, with the command that installs it, InputError for an unknown value
    of ``lower``, and the errors of JAX for a function that it cannot trace.
    """
    return traced(f, args, lower).module


_TRACED = (
    "halfulp traces the function with JAX: in it, compute with jax.numpy, not with NumPy or torch; bind arguments that "
    "are not arrays before the call, such as functools.partial(f, axis=1); hu.from_torch takes functions of torch"
)
"""A note on errors of JAX about what a function does with the arrays that it gets."""


@dataclass(frozen=True)
class Traced:
    """A function of JAX with the types of its arguments: the lowering by JAX, and its module."""

    name: str
    lowered: Any
    module: Module

    def inputs(self, arguments: tuple[Any, ...]) -> tuple[npt.NDArray[Any], ...]:
        """Return the arrays in the arguments that were traced. Raises InputError if an argument is static, and
        TypeMismatch if an argument has no values.
        """
        jax: Any = import_module("jax")
        given, kept = len(jax.tree.leaves(arguments)), len(jax.tree.leaves(self.lowered.args_info))
        if given != kept:
            raise InputError(
                f"{self.name} has {given} arguments, of which JAX takes {kept} as arrays; the others are static",
                hint="bind a static argument by its name before the call: functools.partial(f, n=3)",
            )
        return leaves_of(arguments)


def traced(f: Callable[..., Any], args: Sequence[Any], lower: Lower = "stablehlo") -> Traced:
    """Lower a function of JAX. Raise the errors of `from_jax`."""
    by_iree = checked_lower(lower)
    if is_torch(f):
        raise TypeMismatch(
            f"hu.from_jax takes a function of JAX, not a {type(f).__name__} of torch",
            hint="hu.from_torch(model, x) makes a module of it; hu.run(model, x), hu.trace and hu.compare take it, too",
        )
    require("jax", "hu.from_jax")
    jax: Any = import_module("jax")
    name = getattr(f, "__name__", "f")
    try:
        weakref.ref(f)
    except TypeError:  # jaxlib 0.10 ends the process at the second one
        raise TypeMismatch(
            f"JAX does not trace {name}, which is of the type {type(f).__name__}",
            hint=f"give a function of JAX, such as jax.numpy.{name}, or one that calls it: lambda x: ...",
        ) from None
    # JAX drops an argument that is not used, unless it is told to keep it.
    compiled = f if hasattr(f, "lower") else jax.jit(f, keep_unused=True)
    try:
        lowered = compiled.lower(*args)
    except TypeError as error:
        if "Tracer" in str(error) or isinstance(error, jax.errors.JAXTypeError):
            error.add_note(_TRACED)
        raise
    text, file = lowered.as_text(debug_info=True), f"<jax {name}>"
    module = lowered_by_iree(text, file) if by_iree else as_printed(load_named(text, file))
    given, kept = len(jax.tree.leaves(lowered.args_info)), len(argument_types(find_entry(module)))
    if given < kept:
        raise Unsupported(
            f"{name} has symbolic shapes: JAX adds an argument for each of their {kept - given} sizes",
            hint="give arrays, or jax.ShapeDtypeStruct with integers as sizes, once for each shape",
        )
    if given != kept:
        raise InputError(
            f"{name} has {given} arguments, but JAX kept only the {kept} that it uses",
            hint="give the function itself, or jax.jit(f, keep_unused=True)",
        )
    return Traced(name, lowered, module)


# --- onnx models ------------------------------------------------------------------------------------------------------
#
# Modules from ONNX models.

_IMPORTERS: Mapping[str, str] = {
    "torch-mlir": "torch_mlir.tools.import_onnx",
    "iree": "iree.compiler.tools.import_onnx",
}
"""The program that writes an ONNX model in the torch dialect, of each package that lowers it from there."""


def from_onnx(
    path: str | os.PathLike[str],
    *,
    to: To = "stablehlo",
    lower: Literal["torch-mlir", "iree"] = "torch-mlir",
    opset_version: int | None = None,
) -> Module:
    """Return an ONNX model as a module, whose function has the name of the model's graph.

    ``path``: the file of the model; weights in an external file next to it are read, too.
    ``to``: the dialect: "stablehlo" with chlo, "linalg" on tensors, or "tosa".
    ``lower``: "torch-mlir" imports and lowers the model; "iree": IREE's importer and compiler do, to linalg, as
    described at `from_stablehlo`: first iree-import-onnx, then ``iree-compile --compile-to=input``.
    ``opset_version``: a newer version of ONNX's ops, to which the model is updated first; IREE's importer needs 17 or
    newer.

    Raises Unsupported if a package is not installed, with the command that installs it, or if an op has no lowering;
    InputError if the file is not a model, or for an unknown value of an option; LimitExceeded if a tool takes too long.
    """
    if not isinstance(path, str | os.PathLike):
        what = "a torch module" if is_torch(path) else type(path).__name__
        raise TypeMismatch(
            f"hu.from_onnx reads a file, not {what}",
            hint="hu.from_torch(model, x) takes a torch module, and hu.run(model, x), too",
        )
    checked_to(to)
    if lower not in _IMPORTERS:
        raise InputError(f"lower is {lower!r}, but must be one of {', '.join(_IMPORTERS)}")
    name, by_iree = os.fspath(path), lower == "iree"
    if by_iree and to == "tosa":
        raise InputError("IREE's compiler lowers a model to linalg, not to tosa", hint='leave out lower="iree"')
    if by_iree:
        compiler_for(name)
    require("iree.compiler" if by_iree else "torch_mlir", "hu.from_onnx")
    require("onnx", "hu.from_onnx")
    read_file(path)
    update = [] if opset_version is None else ["--opset-version", str(opset_version)]
    importer = Tool(sys.executable, "")
    with TemporaryDirectory() as folder:
        # IREE's importer makes its temporary files in a folder of its own.
        own = [] if by_iree else ["--temp-dir", folder]
        # With -P nothing is imported from the current folder. An absolute path is never taken as an option.
        command = ["-P", "-m", _IMPORTERS[lower], os.path.abspath(name), "-o", "-", *own, *update]
        try:
            done = importer.finished(command, seconds=SECONDS)
        except OracleError as error:
            kind = LimitExceeded if error.kind == "hang" else InputError
            raise kind(f"the importer of {lower}, on {name}: {error}") from None
    if done.code:
        reason = next((line for line in reversed(done.said.splitlines()) if line.strip()), f"exit code {done.code}")
        raise InputError(f"the importer of {lower} cannot read {name}: {reason.strip()}")
    model: Any = import_module("onnx").load(name)
    if to != "stablehlo" or by_iree:
        _refuse_cuts(model, name)
    text = _without_wrong_ops(_located(done.printed, model), name)
    module = lowered_by_iree(text, name) if by_iree else lowered_by_torch_mlir(text, name, "onnx", to)
    _name_tensors(module, model)
    if by_iree and '"onnx.Gelu"' in done.printed:
        _warn_of_pi(module, name)
    return module


_DEPTH = re.compile(
    r'^(?P<before> *%\w+ = torch\.operator "onnx\.DepthToSpace"\()(?P<operand>%[\w#]+)(?P<attributes>.*)"CRD"'
    r"(?P<rest>.* : \((?P<type>!torch\.vtensor<\[[^,]*,(?P<channels>[^,]*),.*?>)\).*)$",
    re.MULTILINE,
)
_SIZE = re.compile(r"onnx\.blocksize = (\d+)")
_EQUATION = re.compile(r'onnx\.Einsum".*onnx\.equation = "([^"]*)"')


def _without_wrong_ops(text: str, name: str) -> str:
    """Return a program of ONNX without the ops that torch-mlir, and so IREE's compiler, lowers to wrong results.

    DepthToSpace with the mode CRD is right only if there are two channels for each size of block 2 (torch-mlir #4544):
    it gets its channels in another order, and the mode DCR. Raises Unsupported for an Einsum that adds over an index of
    three operands: the first two are multiplied and added before the third is there.
    """
    for equation in _EQUATION.findall(text):
        operands, _, result = equation.replace(" ", "").partition("->")
        counts = Counter(index for operand in operands.split(",") for index in {*operand} if index.isalpha())
        added = [index for index, count in counts.items() if count > 2 and index not in result]
        if added:
            raise Unsupported(
                f"{name}: torch-mlir computes the Einsum '{equation}' wrongly, which adds over the index "
                f"'{added[0]}' of three operands",
                hint="write it as products of two operands each, and export the model again",
            )

    def by_depth(found: re.Match[str]) -> str:
        size = _SIZE.search(found["attributes"] + found["rest"])
        if size is None or not found["channels"].isdigit():
            raise Unsupported(
                f"{name}: torch-mlir computes DepthToSpace of the mode CRD wrongly, and the channels are open",
                hint="export the model with fixed channels",
            )
        channels, block = int(found["channels"]), int(size[1]) ** 2
        order = ", ".join(str(k * block + place) for place in range(block) for k in range(channels // block))
        new, type_ = f"%of_{found.start()}", f"!torch.vtensor<[{channels}],si64>"
        return (
            f'{new}i = torch.operator "onnx.Constant"() {{torch.onnx.value = dense<[{order}]> : '
            f"tensor<{channels}xsi64>}} : () -> {type_}\n"
            f'{new}g = torch.operator "onnx.Gather"({found["operand"]}, {new}i) {{torch.onnx.axis = 1 : si64}} : '
            f"({found['type']}, {type_}) -> {found['type']}\n"
            f'{found["before"]}{new}g{found["attributes"]}"DCR"{found["rest"]}'
        )

    return _DEPTH.sub(by_depth, text)


def _refuse_cuts(model: Any, name: str) -> None:
    """Raise Unsupported for a Pad with a negative size, which linalg drops if the sizes add to 0."""
    for node in model.graph.node:
        if node.op_type != "Pad":
            continue
        sizes = next((np.array(each.ints) for each in node.attribute if each.name == "pads"), None)  # before version 11
        sizes = _numbers(model, node.input[1]) if len(node.input) > 1 else sizes
        if sizes is not None and (sizes < 0).any():
            raise Unsupported(
                f"{name}: torch-mlir lowers the Pad {node.name!r} with the negative sizes {sizes.tolist()} wrongly",
                hint="leave out to=…, or write the negative part as a slice, x[:, 1:], and export the model again",
            )


def _numbers(model: Any, value: str) -> Any:
    """Return the array of a value of an ONNX model; None if it depends on the inputs, or the ONNX package has no
    reference for an op that computes it.
    """
    helper, graph = import_module("onnx.helper"), model.graph
    given = {tensor.name: tensor for tensor in graph.initializer}
    if value in given:
        return import_module("onnx.numpy_helper").to_array(given[value])
    needed, nodes = {value}, []
    for node in reversed(graph.node):  # which are in the order of their uses
        if not needed.isdisjoint(node.output):
            nodes.append(node)
            needed = needed.difference(node.output).union(filter(None, node.input))
    if not needed.issubset(given):
        return None
    part = helper.make_graph(
        nodes[::-1], "sizes", [], [helper.make_empty_tensor_value_info(value)], [given[each] for each in needed]
    )
    alone = helper.make_model(part, opset_imports=model.opset_import)
    try:
        return import_module("onnx.reference").ReferenceEvaluator(alone).run(None, {})[0]
    except Exception:  # of the package, of many kinds
        return None


_OPERATOR = re.compile(r' = torch\.operator "onnx\.(\w+)"')
_FRAME = re.compile(r'File "([^"\n]+)", line (\d+)')
_OF_TORCH = re.compile(r"[/\\]torch[/\\]")


def _located(text: str, model: Any) -> str:
    """Return what the importer prints, where each op has the name of its node in the modules of torch, and the line in
    the user's file, if the exporter of torch left these in the model.
    """
    lines, nodes = text.split("\n"), list(model.graph.node)
    ops = [(number, found[1]) for number, line in enumerate(lines) if (found := _OPERATOR.search(line))]
    # The weights come first: they are not nodes.
    ops = ops[len(ops) - len(nodes) :]
    if [name for _, name in ops] != [node.op_type for node in nodes]:
        return text
    for (number, _), node in zip(ops, nodes, strict=True):
        kept = {entry.key.rpartition(".")[2]: entry.value for entry in node.metadata_props}
        frames = [each for each in _FRAME.findall(kept.get("stack_trace", "")) if not _OF_TORCH.search(each[0])]
        if frames:
            scopes = ".".join(part for part in re.findall(r"'([^']*)'", kept.get("name_scopes", "")) if part)
            file, line = frames[-1]
            lines[number] += f" loc({quoted(scopes or node.name)}({quoted(file)}:{line}:1))"
    return "\n".join(lines)


def _name_tensors(module: Module, model: Any) -> None:
    """Give arguments and constants the names of inputs and weights of an ONNX model."""
    numpy_of = import_module("onnx.numpy_helper").to_array
    weights = {tensor.name: numpy_of(tensor) for tensor in model.graph.initializer}
    name_constants(module, weights)
    name_arguments(module, [each.name for each in model.graph.input if each.name not in weights])


_WRONG_FACTOR = math.sqrt(2 / (22 / 7))
"""The factor of the approximation of GELU by tanh as IREE's compiler has it: sqrt(2 / pi), with 22/7 for pi."""


def wrong_factor(module: Module) -> tuple[float, Location] | None:
    """Return the wrong factor that IREE's compiler puts into the lowering of a Gelu, and its place; None if the module
    has none.
    """
    for op in module.walk():
        value = op.properties.get("value")
        if op.name == "arith.constant" and isinstance(value, FloatAttr) and isinstance(value.type, FloatType):
            number = scalar.value(value.type.format, value.code)
            if number is not None and abs(number - _WRONG_FACTOR) < 1e-6:
                return float(number), op.location
    return None


def _warn_of_pi(module: Module, name: str) -> None:
    """Warn of the wrong factor that IREE's compiler gives to a Gelu."""
    found = wrong_factor(module)
    if found is not None:
        message = (
            f"{name}: IREE's compiler lowers Gelu with approximate=tanh with the constant {found[0]:.6f}, "
            "sqrt(2 / (22/7)), in place of 0.797885, sqrt(2 / pi): this changes results by thousands of ulp of "
            "f32; export the formula itself, or approximate=none"
        )
        warnings.warn(DocumentWarning(message, found[1]), stacklevel=3)


# --- functions and models that are called -----------------------------------------------------------------------------


def lowered_call(f: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Module, tuple[Any, ...]]:
    """Return a function of JAX or a module of torch as a module, and the arguments that it takes, in their order."""
    if is_torch(f):
        found = exported(f, () if is_exported(f) else arguments)
        return found.module, found.inputs(arguments)
    arguments = without_tensors(arguments)
    program = traced(f, arguments)
    return program.module, program.inputs(arguments)


def without_tensors(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Return arguments for a function of JAX, in which each tensor of torch and each value of halfulp is replaced by an
    array, because JAX accepts only arrays, in the byte order of the machine. Raises the errors of `as_array`.
    """
    require("jax", "hu.from_jax")
    tree: Any = import_module("jax.tree")
    found: tuple[Any, ...] = tree.map(
        lambda leaf: as_array(leaf, "an argument") if is_tensor(leaf) or isinstance(leaf, np.ndarray | Value) else leaf,
        tuple(arguments),
    )
    return found


def leaves_of(arguments: tuple[Any, ...]) -> tuple[npt.NDArray[Any], ...]:
    """Return the arrays in arguments for a function of JAX, with the dtypes that JAX gives to them."""
    jax: Any = import_module("jax")

    def array(leaf: Any) -> npt.NDArray[Any]:
        if isinstance(leaf, jax.ShapeDtypeStruct):
            raise TypeMismatch(
                f"an argument is {leaf}, which has no values", hint="give an array; hu.from_jax needs only shapes"
            )
        return as_array(jax.numpy.asarray(leaf), "an argument")

    return tuple(map(array, jax.tree.leaves(arguments)))


def is_torch(f: object) -> bool:
    """Tell whether an object is a module of torch, or a program of torch.export."""
    torch = sys.modules.get("torch")
    return torch is not None and (isinstance(f, torch.nn.Module) or is_exported(f))


# --- stablehlo --------------------------------------------------------------------------------------------------------
#
# Modules from StableHLO, and from the other languages that IREE's compiler reads.


def from_stablehlo(source: Source, *, name: str | None = None, lower: Lower = "stablehlo") -> Module:
    """Return a program in StableHLO as a module.

    ``source``: a path, text or bytes, as for `load`.
    ``name``: the name of the file in locations and errors.
    ``lower``: "stablehlo": the program as it is, which `load` returns, too; "iree": a module of linalg on tensors.

    For "iree", ``source`` is StableHLO as text, or the output of ``iree-import-onnx``. IREE's compiler lowers the
    program (``iree-compile --compile-to=input``), and halfulp removes IREE's wrappers around it. The lowering
    determines the order of additions and the type of each sum, and it replaces some functions by polynomials.

    Raises the errors of `load`, and InputError for an unknown value of ``lower``. For "iree": Unsupported if the
    compiler is not installed, with the command that installs it, or if it cannot lower an op, and for bytecode;
    InputError if it rejects the program; LimitExceeded if it takes too long.
    """
    if not checked_lower(lower):
        return load_named(source, name)
    if is_text(source):
        return lowered_by_iree(source, name or "<string>")
    data, path = opened(source)
    if is_bytecode(data):
        raise Unsupported(
            f"{name or path} is MLIR bytecode, but IREE's compiler gets StableHLO as text",
            hint='give the text of the program: hu.print_module(hu.load(…)); or leave out lower="iree"',
        )
    return lowered_by_iree(decode_text(data), name or path)
