"""The task of a job array: its number and the number of tasks, from the environment variables of batch systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from halfulp.interp.ir.errors import InputError


@dataclass(frozen=True)
class _System:
    """The variables of a batch system: the index of the task, the first and the last index of the array, the step
    between two, and the number of tasks. "" for one that the system lacks.
    """

    name: str
    index: str
    first: str
    last: str
    step: str
    count: str = ""


SYSTEMS = (
    _System(
        "Slurm",
        "SLURM_ARRAY_TASK_ID",
        "SLURM_ARRAY_TASK_MIN",
        "SLURM_ARRAY_TASK_MAX",
        "SLURM_ARRAY_TASK_STEP",
        "SLURM_ARRAY_TASK_COUNT",
    ),
    _System("LSF", "LSB_JOBINDEX", "", "LSB_JOBINDEX_END", "LSB_JOBINDEX_STEP"),
    _System("Grid Engine", "SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE"),
)
"""LSF does not tell the first index: it is 1."""

_HINT = "give --shard I/N, where I counts from 0"


def part_of_array(environment: Mapping[str, str]) -> tuple[int, int]:
    """Return the part of a task of a job array: its position, from 0, and the number of tasks.

    Raises InputError outside of a job array, and for an array with gaps, whose tasks cannot know their positions.
    """
    for system in SYSTEMS:
        index = _number(environment, system.index)
        # LSF sets 0, and Grid Engine a word, where the job is not an array.
        if index is not None and (index or system.name == "Slurm"):
            return _part(environment, system, index)
    names = ", ".join(f"{system.index} ({system.name})" for system in SYSTEMS)
    raise InputError(f"--shard array: this is not a task of a job array: none of {names} is set", hint=_HINT)


def _part(environment: Mapping[str, str], system: _System, index: int) -> tuple[int, int]:
    last = _number(environment, system.last)
    if last is None:
        raise InputError(f"--shard array: {system.name} sets {system.index}, but not {system.last}", hint=_HINT)
    first = _number(environment, system.first)
    first, step = 1 if first is None else first, _number(environment, system.step) or 1
    of, told = (last - first) // step + 1, _number(environment, system.count)
    place, rest = divmod(index - first, step)
    if rest or not 0 <= place < of or (told is not None and told != of):
        raise InputError(
            f"--shard array: task {index} is not one of {told or of} tasks from {first} to {last} in steps of {step}: "
            "the array has gaps",
            hint=_HINT,
        )
    return place, of


def _number(environment: Mapping[str, str], name: str) -> int | None:
    """Return the number in a variable; None where there is none."""
    text = environment.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
