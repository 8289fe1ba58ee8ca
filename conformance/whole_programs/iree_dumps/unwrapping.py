"""Take IREE's wrappers off a lowered program: its functions, globals and buffer views become those of MLIR itself.

IREE prints functions as ``util.func``. Those that came from ONNX take and return ``!hal.buffer_view`` and
``!hal.fence``; a second function of the same name, a stub, waits for the first one. These ops only pass tensors on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from halfulp.conformance.whole_programs.iree_dumps.making import blocks_of, inherent, made
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.operations import BlockArgument, Module, Operation, SSAValue

_ASYNC = "$async"
"""The end of the name of a function that a stub of the name before it calls."""


def unwrap(module: Module) -> None:
    """Take the wrappers off a module that was read and not verified, in place.

    An op of IREE that is not a wrapper stays. It is named when the program reaches it.
    """
    functions = {op.symbol_name: op for op in module.body if op.name == "util.func"}
    stubs = {op for name, op in functions.items() if f"{name}{_ASYNC}" in functions}
    constants = {op.symbol_name: op for op in module.body if _is_constant(op)}
    block = module.operation.regions[0].blocks[0]
    block.operations[:] = [
        _function(op, constants) if op.name == "util.func" else op
        for op in module.body
        if op not in stubs and op not in constants.values()
    ]
    for op in block.operations:
        op.parent = block


def _function(op: Operation, constants: Mapping[str | None, Operation]) -> Operation:
    """Return the func.func of a util.func; its region moves there."""
    _Body(constants).rewrite(op)
    given = inherent(op)
    name = op.symbol_name or ""
    properties: dict[str, Attribute] = {"sym_name": at.StringAttr(name.removesuffix(_ASYNC))}
    if "sym_visibility" in given:
        properties["sym_visibility"] = given["sym_visibility"]
    properties["function_type"] = at.TypeAttr(_signature(op, given))
    return made("func.func", op, properties=properties, regions=op.regions)


def _signature(op: Operation, given: Mapping[str, Attribute]) -> ty.FunctionType:
    declared = given["function_type"]
    assert isinstance(declared, at.TypeAttr)
    assert isinstance(declared.type, ty.FunctionType)
    blocks = op.regions[0].blocks
    if not blocks:
        return declared.type
    returns = [each for block in blocks for each in block.operations if each.name == "func.return"]
    results = tuple(value.type for value in returns[0].operands) if returns else declared.type.results
    return ty.FunctionType(tuple(argument.type for argument in blocks[0].arguments), results)


@dataclass
class _Body:
    """The rewriting of one function. ``constants``: the globals that never change. ``instead``: the value that stands
    in place of one whose op is gone.
    """

    constants: Mapping[str | None, Operation]
    instead: dict[SSAValue, SSAValue] = field(default_factory=dict)

    def rewrite(self, function: Operation) -> None:
        """Rewrite the body of a function."""
        for block in blocks_of(function):
            block.operations[:] = [new for op in block.operations for new in self._rewritten(op)]
            for op in block.operations:
                op.parent = block
        for op in function.walk():
            op.operands[:] = [self._now(value) for value in op.operands]
            op.successors = [(target, [self._now(value) for value in values]) for target, values in op.successors]
        for entry in function.regions[0].blocks[:1]:
            entry.arguments[:] = [argument for argument in entry.arguments if not _is_hal(argument.type, "fence")]
            for index, argument in enumerate(entry.arguments):
                argument.index = index

    def _now(self, value: SSAValue) -> SSAValue:
        while value in self.instead:
            value = self.instead[value]
        return value

    def _rewritten(self, op: Operation) -> tuple[Operation, ...]:
        rule = _RULES.get(op.name)
        return (op,) if rule is None else rule(self, op)

    def passed_on(self, op: Operation) -> tuple[Operation, ...]:
        """Let the operands of an op stand for its results."""
        self.instead.update(zip(op.results, op.operands, strict=False))
        return ()

    def imported(self, op: Operation) -> tuple[Operation, ...]:
        """Let a buffer view that the function takes be the tensor that is imported from it."""
        view, tensor = op.operands[0], op.results[0]
        if not isinstance(view, BlockArgument) or not _is_hal(view.type, "buffer_view"):
            return (op,)
        view.type = tensor.type
        return self.passed_on(op)

    def dimension(self, op: Operation) -> tuple[Operation, ...]:
        """Ask the tensor for the size that was asked of the buffer view."""
        index = made("arith.constant", op, results=(ty.IndexType(),), properties={"value": inherent(op)["index"]})
        return index, self._replaced("tensor.dim", op, [op.operands[0], index.results[0]])

    def loaded(self, op: Operation) -> tuple[Operation, ...]:
        """Put a constant in place of the load of a global that never changes."""
        symbol = inherent(op).get("global")
        found = self.constants.get(symbol.root) if isinstance(symbol, at.SymbolRefAttr) else None
        if found is None:
            return (op,)
        return (self._replaced("arith.constant", op, [], {"value": inherent(found)["initial_value"]}),)

    def called(self, op: Operation) -> tuple[Operation, ...]:
        """Call a function of MLIR."""
        return (self._replaced("func.call", op, op.operands, {"callee": inherent(op)["callee"]}),)

    def returned(self, op: Operation) -> tuple[Operation, ...]:
        """Return from a function of MLIR."""
        return (self._replaced("func.return", op, op.operands),)

    def _replaced(
        self, name: str, op: Operation, operands: list[SSAValue], properties: dict[str, Attribute] | None = None
    ) -> Operation:
        new = made(name, op, operands, [each.type for each in op.results], properties, op.regions)
        self.instead.update(zip(op.results, new.results, strict=True))
        return new


_RULES: Mapping[str, Callable[[_Body, Operation], tuple[Operation, ...]]] = {
    "hal.buffer_view.dim": _Body.dimension,
    "hal.tensor.barrier": _Body.passed_on,
    "hal.tensor.export": _Body.passed_on,
    "hal.tensor.import": _Body.imported,
    "util.call": _Body.called,
    "util.global.load": _Body.loaded,
    "util.optimization_barrier": _Body.passed_on,
    "util.return": _Body.returned,
}
"""The ops of IREE that hand values over, and the method that replaces each."""


def _is_constant(op: Operation) -> bool:
    """Tell whether an op is a global with a value that never changes."""
    given = inherent(op) if op.name == "util.global" else {}
    return "initial_value" in given and "is_mutable" not in given


def _is_hal(type_: ty.Type, mnemonic: str) -> bool:
    return isinstance(type_, ty.OpaqueType) and (type_.dialect, type_.body) == ("hal", f".{mnemonic}")
