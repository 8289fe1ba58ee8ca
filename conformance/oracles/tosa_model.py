"""Ask Arm's reference model of TOSA: the programs of the package tosa-tools.

`tosa-opt` makes a flatbuffer of a function, and `tosa_reference_model` runs it on NumPy files. The model stops a whole
graph at the first element that does not satisfy a REQUIRE, so such elements are asked alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

from halfulp.conformance.comparing.op_case import OpCase, reference
from halfulp.conformance.oracles.oracle import (
    Answer,
    ClosedProgram,
    OracleError,
    Refused,
    Reply,
    Status,
    Unanswered,
    Unavailable,
    blank,
)
from halfulp.conformance.oracles.tool import Finished, Tool
from halfulp.fp_formats.formats import Codes, Mask, storage_dtype
from halfulp.interp.declare.build import single_op_module
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module, Operation, argument_types, result_types
from halfulp.interp.ir.types import width_of
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.value import Value
from halfulp.semantics.integer_kernels import Reading

_PACKAGE = "tosa-tools"
_FLOATS: Mapping[str, Any] = MappingProxyType(
    {
        "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8E4M3FN": ml_dtypes.float8_e4m3fn,
        "f8E5M2": np.uint8, "f8E8M0FNU": ml_dtypes.float8_e8m0fnu, "f6E2M3FN": np.uint8, "f6E3M2FN": np.uint8,
        "f4E2M1FN": np.uint8,
    }
)  # fmt: skip
"""The dtypes of the files by the name of the format. Elements of less than 8 bits are packed along the last axis."""
_INTEGERS: Mapping[int, Any] = MappingProxyType(
    {1: np.bool_, 4: np.int8, 8: np.int8, 16: np.int16, 32: np.int32, 48: np.int64, 64: np.int64}
)
_ONE_FOR_ALL: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"tosa.mul": (2,), "tosa.negate": (1, 2), "tosa.rescale": (3, 4)}
)
"""The operands that have one element for the whole tensor."""
_GROUPS = 64
"""The most combinations of such operands that are asked for at once."""
_ALONE = 4
"""The most elements with undefined behaviour that are asked alone."""


class TosaModel:
    """The reference model. Raises Unavailable if tosa-tools is not installed."""

    name = "tosa"
    profile = "spec"

    def __init__(self) -> None:
        found = find_spec("tosa_reference_model")
        try:
            self.version = version(_PACKAGE)
        except PackageNotFoundError:
            found = None
        if found is None or found.origin is None:
            raise Unavailable(f"the package {_PACKAGE} is not installed: pip install tosa-tools")
        folder = Path(found.origin).parent.parent / "bin"
        self._optimizer = Tool(str(folder / "tosa-opt"), self.version)
        self._program = str(folder / "tosa_reference_model")

    def refuses(self, case: OpCase) -> str | None:
        """Return a reason for ops of other dialects, and for types that its files do not have."""
        if not case.op.startswith("tosa."):
            return f"{case.op} is not an operator of TOSA"
        return next((why for type_ in (*case.operand_types, *case.result_types) if (why := _refused(type_))), None)

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Return the results of the model. An element for which it stops is a trap."""
        columns = [np.ravel(codes) for codes in inputs]
        count = len(columns[0])
        undefined = reference(case, columns, opened=False).undefined
        wrong = np.zeros(count, np.bool_) if undefined is None else undefined
        found = [
            (np.zeros(count, storage_dtype(width_of(type_))), np.full(count, Status.UNANSWERED, np.uint8))
            for type_ in case.result_types
        ]
        for rows in _groups(case, columns, ~wrong):
            values = self._asked(case, [column[rows] for column in columns])
            if values is None:
                raise OracleError("refusal", f"the model stops in {case}, which is defined for these operands")
            for (bits, status), value in zip(found, values, strict=True):
                bits[rows], status[rows] = value.bits, Status.VALUE
        for row in np.flatnonzero(wrong)[:_ALONE]:
            values = self._asked(case, [column[row : row + 1] for column in columns])
            for place, (bits, status) in enumerate(found):
                status[row] = Status.TRAP if values is None else Status.VALUE
                if values is not None:
                    bits[row] = values[place].bits[0]
        shape = case.shape(inputs)
        why = "too many combinations of operands of one element, or undefined behaviour"
        return tuple(Answer(bits.reshape(shape), status.reshape(shape), why) for bits, status in found)

    def run(self, programs: Sequence[ClosedProgram]) -> list[Reply]:
        """Return the results of functions with ops of TOSA only."""
        return [self._reply(program) for program in programs]

    def _reply(self, program: ClosedProgram) -> Reply:
        try:
            values = self._executed(program.module, program.operation, program.arguments)
        except OracleError as error:
            return error
        except (HalfulpError, Refused) as refusal:
            return Unanswered(str(refusal))
        if values is None:
            return tuple(
                blank(ty.static_shape(type_), width_of(ty.element_type(type_)), Status.TRAP)
                for type_ in result_types(program.operation)
            )
        return tuple(Answer(value.bits) for value in values)

    def _asked(self, case: OpCase, columns: Sequence[Codes]) -> tuple[Value, ...] | None:
        single = _ONE_FOR_ALL.get(case.op, ())
        sizes = [1 if place in single else len(column) for place, column in enumerate(columns)]
        properties = dict(case.properties)
        if case.op == "tosa.rescale":
            properties["per_channel"] = True
        types = [ty.TensorType((size,), type_) for size, type_ in zip(sizes, case.operand_types, strict=True)]
        module = single_op_module(case.definition, types, properties, case.result_types[0])
        values = [Value(type_, column[:size]) for type_, column, size in zip(types, columns, sizes, strict=True)]
        return self._executed(module, module.body[0], values)

    def _executed(self, module: Module, function: Operation, values: Sequence[Value]) -> tuple[Value, ...] | None:
        """Return the results of a function; None if the model stops. Raises Refused and OracleError."""
        if len(module.body) > 1:
            raise Refused("the reference model takes modules with one function")
        for type_ in (*argument_types(function), *result_types(function)):
            if (why := _refused(ty.element_type(type_))) is not None:
                raise Refused(why)
        text = print_module(module, schema=Schema.LLVM24, generic=True)
        with TemporaryDirectory(prefix="halfulp-tosa-") as name:
            folder = Path(name)
            graph, wanted = folder / "graph.tosa", result_types(function)
            self._optimizer.run(["--tosa-serialize", f"--tosa-flatbuffer-filename={graph}", "-"], text)
            if not graph.exists():
                raise OracleError("refusal", "tosa-opt made no flatbuffer")
            for place, value in enumerate(values):
                np.save(folder / f"in{place}.npy", _array(value))
            try:
                done = self._finished(folder, graph, len(values), len(wanted))
            except OracleError as error:  # after a division by zero it says so, and crashes
                if _stopped(error.said):
                    return None
                raise
            if done.code:
                if _stopped(done.said):
                    return None
                raise OracleError("refusal", f"the model ended with {done.code}: {done.said[:300]}", said=done.said)
            return tuple(_value(np.load(folder / f"out{place}.npy"), type_) for place, type_ in enumerate(wanted))

    def _finished(self, folder: Path, graph: Path, inputs: int, outputs: int) -> Finished:
        def names(prefix: str, count: int, ending: str = "") -> str:
            return ",".join(f"{prefix}{place}{ending}" for place in range(count))

        # A backtrace would start a debugger.
        return Tool("/usr/bin/env", self.version).finished(
            [
                "TOSA_MODEL_NO_BACKTRACE=1",
                self._program,
                f"--tosa_file={graph}",
                f"--flatbuffer_dir={folder}",
                f"--output_dir={folder}",
                *(
                    [f"--ifm_name={names('TosaInput_', inputs)}", f"--ifm_file={names('in', inputs, '.npy')}"]
                    * (inputs > 0)
                ),
                f"--ofm_name={names('TosaOutput_', outputs)}",
                f"--ofm_file={names('out', outputs, '.npy')}",
            ]
        )


# --- files ------------------------------------------------------------------------------------------------------------


def _stopped(said: str) -> bool:
    """Tell whether the model stopped because of a condition of the specification."""
    return any(words in said for words in ("REQUIRE() fails", "ERROR_IF() fails", "UNPREDICTABLE"))


def _refused(element: ty.Type) -> str | None:
    """Say why the files of the model cannot have elements of a type; None if they can."""
    if isinstance(element, ty.FloatType):
        known = element.format.name in _FLOATS
    else:
        known = isinstance(element, ty.IntegerType) and element.signedness == "signless" and element.width in _INTEGERS
    return None if known else f"the files of the reference model have no elements of type {element}"


def _groups(case: OpCase, columns: Sequence[Codes], wanted: Mask) -> Iterator[Mask]:
    """Yield masks of rows that have the same operands of one element, at most `_GROUPS`."""
    places = _ONE_FOR_ALL.get(case.op, ())
    if not places:
        if wanted.any():
            yield wanted
        return
    keys = np.stack([columns[place] for place in places], axis=1)
    for key in np.unique(keys[wanted], axis=0)[:_GROUPS]:
        yield wanted & (keys == key).all(axis=1)


def _packed(codes: Codes, width: int) -> Any:
    """Return codes of ``width`` bits, which fill whole bytes along the last axis, without the unused bits."""
    fields = np.unpackbits(codes[..., np.newaxis], axis=-1, count=width, bitorder="little")
    return np.packbits(fields.reshape(*codes.shape[:-1], -1), axis=-1, bitorder="little")


def _unpacked(packed: Any, width: int) -> Codes:
    fields = np.unpackbits(packed, axis=-1, bitorder="little").reshape(*packed.shape[:-1], -1, width)
    return np.asarray(np.packbits(fields, axis=-1, bitorder="little")[..., 0])


def _array(value: Value) -> Any:
    """Return a value as an array of a file."""
    element = value.element_type
    if isinstance(element, ty.FloatType):
        codes = value.bits if element.format.bits >= 8 else _packed(value.bits, element.format.bits)
        return codes.view(_FLOATS[element.format.name])
    width = width_of(element)
    if width == 1:
        return value.bits.astype(np.bool_)
    return Reading(width, True).values(value.bits).astype(_INTEGERS[width])


def _value(array: Any, type_: ty.Type) -> Value:
    """Return the value in a file; one without a rank is stored as a tensor of one element."""
    element = ty.element_type(type_)
    dtype = storage_dtype(width_of(element))
    if isinstance(element, ty.FloatType):
        bits = np.ascontiguousarray(array).view(dtype)
        bits = bits if element.format.bits >= 8 else _unpacked(bits, element.format.bits)
    else:
        bits = array.astype(np.int64).astype(np.uint64) & np.uint64((1 << width_of(element)) - 1)
    shape = () if ty.shape_of(type_) == () else bits.shape
    return Value(ty.TensorType(shape, element), bits.astype(dtype).reshape(shape))
