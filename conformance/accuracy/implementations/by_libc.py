"""Measure LLVM's C library."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.conformance.accuracy.implementations.by_libraries import Library
from halfulp.conformance.accuracy.questions import Question
from halfulp.conformance.oracles.llvm_libc import LlvmLibc
from halfulp.conformance.oracles.oracle import Answer
from halfulp.fp_formats.codes import Codes
from halfulp.fp_formats.policy import Rounding


class ByLlvmLibc:
    """The functions of ``libllvmlibc.a`` on f16, bf16, f32, f64 and wider types."""

    name = "llvm-libc"

    def __init__(self) -> None:
        self._library = LlvmLibc()
        self.version = self._library.version

    def refuses(self, asked: Question) -> str | None:
        """Refuse functions that the library does not have, and rounding modes."""
        if asked.rounding is not Rounding.TO_NEAREST_EVEN:
            return "llvm-libc is asked to round to nearest even only"
        one_type = {str(type_) for type_ in asked.operand_types} == {asked.result.name}
        if not one_type or self._library.symbol(asked.function or asked.case.op, asked.result.name) is None:
            return f"llvm-libc has no {asked}"
        return None

    def results(self, asked: Question, operands: Sequence[Codes]) -> Answer:
        """Call the function in a loop, in a child process."""
        path, symbol = self._library.shared(asked.function or asked.case.op, asked.result.name)
        return Library(str(path), symbol, "array").results(asked, operands)
