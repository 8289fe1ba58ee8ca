"""Runs with lineage: the same results as without, which the recorded ops give again when they run on recorded operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from code_of_programs import Executed

from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.run.lineage import Batch, Leaf, Lineage
from halfulp.interp.run.program import CompiledModule
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.value import Value


class Recorded:
    """A run with lineage. ``values``: its results, then what the memory of its arguments holds; with ids in ``open``."""

    def __init__(self, module: Module, op: Operation, make: Callable[[], Sequence[Any]], **settings: Any) -> None:
        self.lineage = Lineage()
        plain, _ = _run(Executed(module, Settings(**settings)), op, make())
        compiled = CompiledModule(module, Settings(recorder=self.lineage, **settings))
        found, self.values = _run(compiled, op, make())
        assert found == plain

    def check(self) -> int:
        """Compute all results again from recorded operands, and return the number of edges between recorded numbers."""
        made: dict[int, Any] = {}
        edges = 0
        for batch in self.lineage.batches:
            clean = np.ones(batch.shape, bool) if batch.poison is None else np.asarray(batch.poison == 0)
            operands = []
            for ids, codes in zip(batch.operands, batch.codes, strict=True):
                again, known = _recorded(made, ids, codes)
                # A wrong edge gives other codes.
                assert np.array_equal(_of_shape(again, batch)[clean], _of_shape(codes, batch)[clean])
                operands.append(again)
                edges += known
            for number, result in enumerate(batch.kernel.array(*operands).results):
                assert np.array_equal(result[clean], batch.results[number][clean])
                base = batch.base + number * batch.size
                made.update(zip(range(base, base + batch.size), result.reshape(batch.size, -1), strict=True))
        for value in self.values:
            of_value: Any = np.zeros(value.shape, np.int64) if value.open is None else value.open
            bits = value.bits.reshape(value.size, -1)
            for id_, code, bad in zip(of_value.ravel().tolist(), bits, value.poisoned.flat, strict=True):
                assert bad or id_ not in made or np.array_equal(made[id_], code)
        return edges

    def unknown(self) -> list[str]:
        """Return what made the elements of the results whose history is not known."""
        found = []
        for value in self.values:
            ids: Any = () if value.open is None else value.open.flat
            for id_ in map(int, ids):
                node = self.lineage.node(id_) if id_ > 0 else None
                if isinstance(node, Leaf) and node.unknown:
                    found.append(node.unknown)
        return found


def _recorded(made: dict[int, Any], ids: Any, codes: Any) -> tuple[Any, int]:
    """Return the codes of an operand where ops made them, and how many these are."""
    again, known = np.array(codes), 0
    if ids is None:
        return again, known
    for code, id_ in zip(again.reshape(ids.size, -1), ids.flat, strict=True):
        if int(id_) in made:
            code[...] = made[int(id_)]
            known += 1
    return again, known


def _of_shape(codes: Any, batch: Batch) -> Any:
    """Return the codes of an operand for each element."""
    rank = min(codes.ndim, len(batch.shape))
    return np.broadcast_to(codes, batch.shape + codes.shape[rank:])


def _run(program: CompiledModule, op: Operation, arguments: Sequence[Any]) -> tuple[Any, tuple[Value, ...]]:
    """Return what a run gives, and its values."""
    try:
        results = program.run(op, arguments)
    except HalfulpError as error:
        return (type(error), str(error)), ()
    values = (*results, *(each.load() for each in arguments if isinstance(each, Buffer)))
    return [(value, value.poisoned.tolist()) for value in values], values
