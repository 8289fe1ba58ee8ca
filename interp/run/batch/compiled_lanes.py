"""Batches by machine code: one lane after the other, so that lanes which part cost nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Codes
from halfulp.fp_formats.paths import llvm
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.compiled.limits import NotCompiled, may_compile
from halfulp.interp.run.program import CompiledModule
from halfulp.interp.run.signature import argument_types, result_types
from halfulp.interp.run.tiering import is_covered
from halfulp.interp.values.lanes import over_lanes, ranked
from halfulp.interp.values.value import Value

if TYPE_CHECKING:
    from halfulp.interp.run.compiled.lane_code import LaneCode

PAYS = 1 << 16
"""The lanes from which machine code pays."""


class CompiledLanes:
    """A function of a program, with the lanes that have run so far, and its machine code once that pays."""

    def __init__(self, program: CompiledModule, op: Operation) -> None:
        self._program = program
        self._op = op
        self._spent = 0
        self._codes: dict[tuple[bool, ...], LaneCode] = {}
        self._outputs = result_types(op)
        self._failed = False

    @cached_property
    def promising(self) -> bool:
        """Whether the lanes have scalars alone, and do nothing but compute."""
        settings, types = self._program.settings, [*argument_types(self._op), *self._outputs]
        if not may_compile(settings) or settings.externals or settings.track_open or not self._outputs:
            return False
        scalars = all(isinstance(type_, ty.IntegerType | ty.FloatType | ty.IndexType) for type_ in types)
        # Lanes with memory of different shapes are refused by the executor.
        return scalars and is_covered(self._program, self._op, (ty.MemRefType,))

    def run(self, arguments: Sequence[Any], lanes: int) -> tuple[tuple[Value, ...], npt.NDArray[np.bool_]] | None:
        """Return the results of all lanes, and the mask of the lanes that stopped: theirs mean nothing. None where
        machine code does not pay, cannot be made, or an argument is not clean.
        """
        if not lanes or self._failed or not llvm.wanted() or not self.promising:
            return None
        if self._spent + lanes < PAYS and not llvm.at_once():
            self._spent += lanes
            return None
        codes = [_clean(value) for value in arguments]
        if any(each is None for each in codes):
            return None
        splats = tuple([not over_lanes(value) for value in arguments])
        given = [each for each in codes if each is not None]
        try:
            found, stopped = self._code(splats).run(given, lanes)
        except (NotCompiled, HalfulpError):
            self._failed = True
            return None
        values = [Value(ranked(type_, ()), each) for type_, each in zip(self._outputs, found, strict=True)]
        return tuple(values), stopped

    def _code(self, splats: tuple[bool, ...]) -> LaneCode:
        """Return the code for arguments, some of which all lanes share. Raises NotCompiled."""
        from halfulp.interp.run.compiled.lane_code import LaneCode

        code = self._codes.get(splats)
        if code is None:
            code = self._codes[splats] = LaneCode(self._program, self._op, splats)
        return code


def _clean(value: Any) -> Codes | None:
    """Return the codes of an argument; None if it is not clean."""
    if not isinstance(value, Value) or value.poison is not None or value.open is not None:
        return None
    return np.ascontiguousarray(value.bits)
