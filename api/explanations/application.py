"""An op on given codes, computed by its kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from halfulp.explanations.roundable import Found
from halfulp.fp_formats.codes import ints_to_codes
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import Flags, Rounding
from halfulp.interp.declare.build import property_of, single_op_module
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import width_of
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.settings import Settings
from halfulp.number_reader import MODES
from halfulp.semantics.kernel import Fault, Kernel, Open
from halfulp.semantics.profile import Profile


class Application:
    """An op on given codes, computed by its kernel, in any mode and profile."""

    def __init__(
        self,
        name: str,
        operands: Sequence[ty.Type],
        result: ty.Type | None,
        properties: Mapping[str, Any],
        codes: list[int],
    ) -> None:
        """Raise VerifyError for types and properties that do not fit. ``result``: None where it follows."""
        self.name = name
        self._types = tuple(operands)
        self._properties = tuple(sorted(properties.items()))
        op = _operation(name, self._types, result, self._properties)
        self.results = tuple(value.type for value in op.results)
        self.result = self.results[0]
        self.has_to = result is not None
        self._codes = codes
        definition = default_registry().require(name)
        self.has_modes = property_of(definition, "rounding") is not None
        self.fixed = properties.get("rounding", properties.get("roundingmode", "to_nearest_even"))

    def kernel(self, mode: Rounding, profile: Profile) -> Kernel:
        """Return the kernel that `halfulp.eval` runs."""
        properties = dict(self._properties)
        if self.has_modes:
            properties.pop("roundingmode", None)
            properties["rounding"] = mode.spelling
        given = self.result if self.has_to else None
        return kernel_of(self.name, self._types, given, tuple(sorted(properties.items())), profile)

    def outcome(self, profile: Profile) -> Any:
        """Return the result of the scalar kernel: a code or a fault."""
        return self.kernel(MODES[self.fixed], profile).scalar(*self._codes)

    def __call__(self, fmt: FloatFormat | None, mode: Rounding, profile: Profile) -> Found:
        """Return what the op gives under a profile in a rounding mode, with its flags."""
        kernel = self.kernel(mode, profile)
        outcome = kernel.scalar(*self._codes)
        assert not isinstance(outcome, tuple)
        return Found(None if isinstance(outcome, Fault) else outcome, self._flags(kernel))

    def _flags(self, kernel: Kernel) -> Flags | None:
        return None if kernel.flags is None else Flags(int(kernel.flags(*self._arrays())[0]))

    def _arrays(self) -> tuple[Any, ...]:
        pairs = zip(self._codes, self._types, strict=True)
        return tuple(ints_to_codes([code], width_of(type_), (1,)) for code, type_ in pairs)

    def open(self, result: int | None, profile: Profile) -> str:
        """Say what the language leaves unspecified in the result."""
        rule = self.kernel(MODES[self.fixed], profile).open
        if rule is None or result is None:
            return ""
        mask = rule(self._arrays(), (ints_to_codes([result], width_of(self.result), (1,)),))
        bits = 0 if mask is None else int(np.ravel(mask)[0])
        return "; ".join(words for kind, words in _OPEN.items() if bits & kind.value)


_OPEN: Mapping[Open, str] = {
    Open.NAN: "the language allows any NaN here",
    Open.SIGN: "the language allows either sign here",
    Open.VALUE: "the fast-math flags allow other values; this is the strict one",
}


@lru_cache(maxsize=4096)
def kernel_of(
    name: str,
    operands: tuple[ty.Type, ...],
    result: ty.Type | None,
    properties: tuple[tuple[str, Any], ...],
    profile: Profile,
) -> Kernel:
    """Return the kernel of an op of these types and properties. Raise VerifyError where they do not fit."""
    op = _operation(name, operands, result, properties)
    assert op.definition is not None
    assert isinstance(op.definition.evaluate, Elementwise)
    return op.definition.evaluate.build(op, Settings(profile))


@lru_cache(maxsize=1024)
def _operation(
    name: str, operands: tuple[ty.Type, ...], result: ty.Type | None, properties: tuple[tuple[str, Any], ...]
) -> Operation:
    module = single_op_module(default_registry().require(name), list(operands), dict(properties), result)
    return module.body[0].regions[0].blocks[0].operations[0]
