"""What a device computes as far as a diagnosis supposes: a computation, with changes on the way in and on the way out.

A `Cause` changes one of these parts, so that two causes can be put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from halfulp.conformance.vectors.columns import Chunk, Column, Role
from halfulp.conformance.vectors.computation import Computation, Computed
from halfulp.fp_formats.codes import Mask
from halfulp.interp.ir.errors import HalfulpError

Read = Callable[[Chunk], Chunk]
"""A change of the inputs."""
Datapath = Callable[[Computation, Chunk], Computed | None]
"""Another way to compute the outputs of a computation; None where it does not apply."""
Write = Callable[[Sequence[Column], Chunk], Chunk]
"""A change of the outputs, which have these columns."""


class Stage(IntEnum):
    """The place in which a device differs, in the order in which causes that fit alike are listed."""

    ALIGNMENT = 0
    ENCODING = 1
    COMPUTATION = 2


@dataclass(frozen=True)
class Device:
    """``reads``, then the ``computation`` (by ``datapath``, where one is given), then ``writes``, in that order."""

    computation: Computation
    datapath: Datapath | None = None
    reads: tuple[Read, ...] = ()
    writes: tuple[Write, ...] = ()

    def outputs(self, columns: Sequence[Column], inputs: Chunk, expected: Chunk) -> tuple[Chunk, Mask] | None:
        """Return what the device gives for some rows, and where that means anything; None where it gives nothing.

        ``columns``: of ``expected``, and of what is returned. Marks of poison and of open bits stay the expected ones.
        """
        made = self.computed(columns, inputs, expected)
        return None if made is None else (self.written(columns, made[0]), made[1])

    def written(self, columns: Sequence[Column], made: Chunk) -> Chunk:
        """Return the outputs after the changes on the way out."""
        for write in self.writes:
            made = write(columns, made)
        return made

    def computed(self, columns: Sequence[Column], inputs: Chunk, expected: Chunk) -> tuple[Chunk, Mask] | None:
        """Return the same as `outputs`, without the changes on the way out."""
        try:
            for read in self.reads:
                inputs = read(inputs)
            own = self.computation.outputs
            # A computation that rounds without random bits ignores them.
            made = (self.datapath or _plain)(self.computation, inputs[: len(self.computation.inputs)])
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
        return tuple(given), counts & ~_without_result(own, made.outputs)


def _plain(computation: Computation, inputs: Chunk) -> Computed:
    return computation.compute(inputs)


def _without_result(columns: Sequence[Column], outputs: Chunk) -> Mask:
    poison = [codes != 0 for column, codes in zip(columns, outputs, strict=True) if column.role is Role.POISON]
    nothing: Mask = np.zeros(len(outputs[0]), np.bool_)
    return np.logical_and.reduce(poison) if poison else nothing


@dataclass(frozen=True)
class Cause:
    """One thing in which a device differs. ``name``: what gives its results, as in "all rows are what … gives".

    ``change``: makes the device of one without this cause; None where both cannot be together. ``slow``: takes
    microseconds for each row.
    """

    name: str
    stage: Stage
    change: Callable[[Device], Device | None]
    slow: bool = False


@dataclass(frozen=True)
class Diagnosis:
    """A row of the table of diagnoses: what it is about, and the causes of this kind that a computation can have."""

    about: str
    causes: Callable[[Computation], Iterator[Cause]]


def computing(name: str, other: Callable[[Computation], Computation | None]) -> Cause:
    """Return the cause of another computation. ``other`` may raise HalfulpError or ValueError where there is none."""

    def change(device: Device) -> Device | None:
        try:
            found = other(device.computation)
            if found is None or not found.outputs:
                return None
        except (HalfulpError, ValueError):
            return None
        return replace(device, computation=found)

    return Cause(name, Stage.COMPUTATION, change)


def reading(name: str, stage: Stage, read: Read) -> Cause:
    """Return the cause of a change of the inputs."""
    return Cause(name, stage, lambda device: replace(device, reads=(*device.reads, read)))


def writing(name: str, write: Write, early: bool = False) -> Cause:
    """Return the cause of a change of the outputs; ``early``: before others."""

    def change(device: Device) -> Device:
        return replace(device, writes=(write, *device.writes) if early else (*device.writes, write))

    return Cause(name, Stage.ENCODING, change)


def through(name: str, datapath: Datapath, slow: bool = False) -> Cause:
    """Return the cause of another datapath."""

    def change(device: Device) -> Device | None:
        return None if device.datapath is not None else replace(device, datapath=datapath)

    return Cause(name, Stage.COMPUTATION, change, slow)
