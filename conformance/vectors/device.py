"""A device as changes of a computation, and the change that one cause makes: the parts of a diagnosis.

A device is a computation, with changes of its inputs and of its outputs, and with faults inside. A `Cause` changes one
of these parts, so two causes can be combined. A `Diagnosis` yields the causes of one kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np

from halfulp.conformance.vectors.columns import Chunk, Column, Role
from halfulp.conformance.vectors.computation import Computation, Computed, OpComputation
from halfulp.conformance.vectors.datapaths import Planted, Same, computed, outputs_of
from halfulp.conformance.vectors.sampling import Sample
from halfulp.fp_formats.formats import Codes, Mask
from halfulp.fp_formats.policy import Flags
from halfulp.interp.ir.errors import HalfulpError

InputChange = Callable[[Chunk], Chunk]
"""A change of the inputs."""
Datapath = Callable[[Any, Chunk], Computed | None]
"""Another way to compute the outputs of a computation; None where it does not apply."""
Write = Callable[[Sequence[Column], Chunk, Chunk], Chunk]
"""A change of the outputs, which have these columns, for these inputs."""


class Stage(IntEnum):
    """The place in which a device differs, in the order in which causes that fit equally well are listed."""

    ALIGNMENT = 0
    ENCODING = 1
    COMPUTATION = 2
    TABLE = 3


@dataclass(frozen=True)
class Device:
    """A device: it changes its inputs by ``reads``, computes by ``computation`` (by ``datapath`` if there is one, or
    with ``faults`` inside), and changes its outputs by ``writes``.
    """

    computation: Computation
    datapath: Datapath | None = None
    faults: tuple[Planted, ...] = ()
    reads: tuple[InputChange, ...] = ()
    writes: tuple[Write, ...] = ()

    def outputs(self, columns: Sequence[Column], inputs: Chunk, expected: Chunk) -> tuple[Chunk, Mask] | None:
        """Return the outputs of the device for some rows, and the mask of rows in which they are valid; None if it has
        no outputs.

        ``columns``: the columns of ``expected``, and of what is returned. Marks of poison and of open bits stay as
        expected.
        """
        made = self.computed(columns, inputs, expected)
        return None if made is None else (self.written(columns, made[0], inputs), made[1])

    def written(self, columns: Sequence[Column], made: Chunk, inputs: Chunk) -> Chunk:
        """Return the outputs after the changes of ``writes``. ``made``: the outputs before them."""
        for write in self.writes:
            made = write(columns, made, inputs)
        return made

    def computed(self, columns: Sequence[Column], inputs: Chunk, expected: Chunk) -> tuple[Chunk, Mask] | None:
        """Return the same as `outputs`, before the changes of ``writes``."""
        try:
            for read in self.reads:
                inputs = read(inputs)
            own = self.computation.outputs
            # A computation that rounds without random bits ignores them.
            inputs = inputs[: len(self.computation.inputs)]
            if self.datapath is not None:
                made = self.datapath(self.computation, inputs)
            elif self.faults and isinstance(self.computation, OpComputation):
                made = computed(self.computation, self.faults, inputs)
            else:
                hashed: Any = self.computation
                made = outputs_of(hashed, Same(inputs))
        except (HalfulpError, ValueError):
            return None
        if made is None:
            return None
        places = {column.name: k for k, column in enumerate(own)}
        given = list(expected)
        for k, column in enumerate(columns):
            if column.role in (Role.POISON, Role.OPEN):
                continue
            place = places.get(column.name)
            if place is None or own[place].width != column.width:
                return None
            given[k] = made.outputs[place]
        counts: Mask = np.ones(len(inputs[0]), np.bool_)
        if made.undefined is not None:
            counts &= ~made.undefined
        poison = [codes != 0 for column, codes in zip(own, made.outputs, strict=True) if column.role is Role.POISON]
        if poison:
            counts &= ~np.logical_and.reduce(poison)
        return tuple(given), counts


@dataclass(frozen=True)
class Cause:
    """One way in which a device may be wrong. ``name``: the name of the computation that has the device's results, as
    it stands in "all rows are what … gives".

    ``change``: makes a device with this cause from one without it; None if the two cannot be combined. ``slow``: True
    if it takes microseconds for each row.
    """

    name: str
    stage: Stage
    change: Callable[[Device], Device | None]
    slow: bool = False


@dataclass(frozen=True)
class Diagnosis:
    """A row of the table of diagnoses: a kind of causes."""

    #: What may be wrong, in words.
    about: str
    #: The causes of this kind that a computation of ``kinds`` can have. No cause changes the kind.
    found_by: Callable[..., Iterator[Cause]]
    kinds: tuple[type, ...] = (OpComputation,)
    #: Whether the sample tells a parameter of the cause, such as a code: it is the second argument of ``found_by``.
    fitted: bool = False

    def causes(self, computation: Computation, sample: Sample) -> Iterator[Cause]:
        """Return the causes of this kind that a computation can have. ``sample``: the rows that are known."""
        if not isinstance(computation, self.kinds):
            return iter(())
        return self.found_by(computation, sample) if self.fitted else self.found_by(computation)


def by(field: str, value: object, computation: Any) -> Computation:
    """Return a computation in which ``field`` has this value."""
    other: Computation = replace(computation, **{field: value})
    return other


def computing(name: str, other: Callable[[Any], Computation], slow: bool = False) -> Cause:
    """Return the cause that the device makes another computation. ``other``: makes it from the computation; it may
    raise HalfulpError or ValueError if there is none.
    """
    kept = lru_cache(maxsize=64)(other)

    def change(device: Device) -> Device | None:
        try:
            own: Any = device.computation
            computation = kept(own)
            return replace(device, computation=computation) if computation.outputs else None
        except (HalfulpError, ValueError):
            return None

    return Cause(name, Stage.COMPUTATION, change, slow)


def reading(name: str, stage: Stage, read: InputChange) -> Cause:
    """Return the cause that the device reads its inputs wrongly. ``read``: the change of the inputs."""
    return Cause(name, stage, lambda device: replace(device, reads=(*device.reads, read)))


def writing(name: str, write: Write, early: bool = False) -> Cause:
    """Return the cause that the device writes its outputs wrongly. ``write``: the change of the outputs; ``early``: it
    comes before other changes.
    """

    def change(device: Device) -> Device:
        return replace(device, writes=(write, *device.writes) if early else (*device.writes, write))

    return Cause(name, Stage.ENCODING, change)


def through(name: str, datapath: Datapath, slow: bool = False) -> Cause:
    """Return the cause that the device has another datapath."""

    def change(device: Device) -> Device | None:
        return None if device.datapath or device.faults else replace(device, datapath=datapath)

    return Cause(name, Stage.COMPUTATION, change, slow)


def planted(name: str, fault: Planted) -> Cause:
    """Return the cause that the datapath of an op has a fault. A device has a fault with one value of its parameter at
    a time.
    """

    def change(device: Device) -> Device | None:
        if device.datapath or any(other.fault is fault.fault for other in device.faults):
            return None
        return replace(device, faults=(*device.faults, fault))

    return Cause(name, Stage.COMPUTATION, change)


Recode = Callable[[Codes, int], Codes]
"""A change of codes of a width."""


def flag_name(flag: Flags) -> str:
    """Return the name of a flag in words."""
    return str(flag.name).lower().replace("_", " ")


def changed(
    applies: Callable[[Column], bool], change: Recode, columns: Sequence[Column], chunk: Chunk, inputs: Chunk = ()
) -> Chunk:
    """Return a chunk in which ``change`` was applied to all columns for which ``applies`` is true. ``inputs``: the
    inputs of the rows.
    """
    pairs = zip(columns, chunk, strict=True)
    return tuple(change(codes, column.width) if applies(column) else codes for column, codes in pairs)


def of_flags(column: Column) -> bool:
    """Tell whether a column has flags."""
    return column.role is Role.FLAGS


def with_flags(computation: Computation, result: Codes, flags: Codes | None) -> Computed | None:
    """Return outputs with this result and these flags; None for a computation with other outputs."""
    roles = [column.role for column in computation.outputs]
    given = {Role.RESULT: result} | ({} if flags is None else {Role.FLAGS: flags})
    if roles.count(Role.RESULT) > 1 or any(role not in given for role in roles):
        return None
    return Computed(tuple(given[role] for role in roles))


def chosen(where: Mask, one: Computed, other: Computed) -> Computed:
    """Return the outputs of ``one`` for the rows that a mask selects, else those of ``other``."""
    pairs = zip(one.outputs, other.outputs, strict=True)
    return Computed(tuple(np.where(where, first, second) for first, second in pairs), other.undefined)
