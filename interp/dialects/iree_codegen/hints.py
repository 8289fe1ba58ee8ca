"""The evaluation of the small ops of iree_codegen: barriers and hints return their operand unchanged.

A hint on an index claims how the index varies over lanes. With ``Settings.check_hints``, a batch checks the claim over
the lanes that execute the hint together. ``#iree_gpu.lane_constant<N>``: the index is the same in all lanes of a group
of N consecutive ones; the first group begins at lane 0. ``#iree_gpu.lane_increment<N, step = S>``: it grows by S from
each lane of a group to the next; with ``aligned``, it is a multiple of N in the first lane of a group. Lanes whose
index is poison are not checked, since poison may be any number. The claims of other hints are not known here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from halfulp.fp_formats.codes import Mask
from halfulp.interp.dialects import iree_gpu as gpu
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.errors import UndefinedBehavior, Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.control import Compiler
from halfulp.interp.run.frames import Action, Function, Lanes, Run
from halfulp.interp.run.host import host_values
from halfulp.interp.run.reports import in_lanes
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

NULL_POINTER = ty.DialectType("iree_codegen", "null_pointer")
QUERY = "iree_codegen.query_tile_sizes"


def identity(op: Operation, settings: Settings) -> Function:
    """Return the operand."""
    return lambda run, slots: slots


def nothing(op: Operation, settings: Settings) -> Function:
    """Do nothing: the op only informs listeners."""
    return lambda run, slots: ()


def null_pointer(op: Operation, compiler: Compiler) -> Value:
    """Return the only value of its type, which can be passed on: as a Python object it is None."""
    return Value(NULL_POINTER, np.array(None, object))


def yielding(op: Operation, compiler: Compiler) -> Action:
    """End a region that runs by itself, such as that of dispatch_config: its operands are the results."""
    return compiler.leaving(compiler.slots(op.operands))


def query_tile_sizes(op: Operation, settings: Settings) -> Function:
    """Return the sizes that the user's function ``externals["iree_codegen.query_tile_sizes"]`` gives for the tensor
    type.
    """
    function = settings.externals.get(QUERY)
    wanted = op.properties["tensor_type"]
    assert isinstance(wanted, at.TypeAttr)
    types = [result.type for result in op.results]

    def query(run: Run, slots: tuple[Any, ...]) -> tuple[Any, ...]:
        if function is None:
            raise Unsupported(
                f"'{QUERY}' asks what only the target knows",
                hint=f"give a function that takes the tensor type and returns {len(types)} integers: "
                f'externals={{"{QUERY}": function}}',
            )
        sizes = function(wanted.type)
        if isinstance(sizes, list | np.ndarray):
            sizes = tuple(sizes)
        return host_values(sizes, types, f"the function bound to {QUERY}", settings)

    return query


# --- claims about lanes -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim of a hint: within each group of ``group`` lanes an index grows by ``step`` from lane to lane.
    ``aligned``: it starts at a multiple of ``group``.
    """

    group: int
    step: int = 0
    aligned: bool = False

    @staticmethod
    def of(hint: at.Attribute) -> Claim | None:
        """Return the claim of a hint; None for an unknown hint. Raises Unsupported for groups without lanes."""
        claim = None
        if isinstance(hint, DialectAttr) and hint.definition is gpu.LANE_CONSTANT:
            claim = Claim(hint["group_size"])
        elif isinstance(hint, DialectAttr) and hint.definition is gpu.LANE_INCREMENT:
            claim = Claim(hint["group_size"], hint["step"], hint["aligned"])
        if claim is not None and claim.group < 1:
            raise Unsupported(f"the hint {hint} cannot be checked: its groups hold {claim.group} lanes")
        return claim

    def broken(self, index: Value | int, lanes: Lanes, width: int) -> tuple[Mask, str] | None:
        """Return the lanes in which the claim is wrong, and the problem of the first of them; None where it holds.

        ``width``: the bits of an index, which wraps.
        """
        numbers = lanes.numbers.astype(np.int64)
        spare = np.int64(64 - width)
        bits = np.broadcast_to(np.asarray(index.bits if isinstance(index, Value) else index, np.uint64), numbers.shape)
        clean = np.ones(numbers.shape, np.bool_)
        if isinstance(index, Value) and index.poison is not None:
            clean = np.broadcast_to(~index.poisoned, numbers.shape)
        values = (bits.view(np.int64) << spare) >> spare
        places = np.flatnonzero(clean)
        within = numbers % self.group
        bases = ((values - within * np.int64(self.step)) << spare) >> spare
        # Lanes ascend, so that the first place of a group is its first lane.
        _, first, group = np.unique(numbers[places] // self.group, return_index=True, return_inverse=True)
        reference = places[first[group]]
        differs = bases[places] != bases[reference]
        wrong = differs | (bases[places] % self.group != 0) if self.aligned else differs
        if not wrong.any():
            return None
        mask = np.zeros(numbers.shape, np.bool_)
        mask[places[wrong]] = True
        at_fault = int(np.argmax(wrong))
        lane, other = places[at_fault], reference[at_fault]
        if differs[at_fault]:
            return mask, f"{values[other]} in lane {numbers[other]}, but {values[lane]} in lane {numbers[lane]}"
        return mask, (
            f"{values[lane]} in lane {numbers[lane]}, so that the first lane of its group, "
            f"{numbers[lane] - within[lane]}, has {bases[lane]}, which is not a multiple of {self.group}"
        )


def index_hint(op: Operation, settings: Settings) -> Function:
    """Return the index itself. In a batch whose settings check hints, compare all lanes before. Raises
    UndefinedBehavior.
    """
    hint = op.properties["hint"]
    claim = Claim.of(hint) if settings.check_hints else None
    if claim is None:
        return identity(op, settings)

    def checked(run: Run, slots: tuple[Any, ...]) -> tuple[Any, ...]:
        broken = None if run.lanes is None else claim.broken(slots[0], run.lanes, settings.index_width)
        if broken is not None:
            mask, what = broken
            report = UndefinedBehavior(
                f"{op.name}: the hint {hint} does not hold: {what}", location=op.location, op=op.name
            )
            raise in_lanes(report, run.lanes, mask)
        return slots

    return checked
