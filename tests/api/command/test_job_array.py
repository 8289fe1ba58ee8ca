"""Tasks of job arrays: the variables as the documents of the batch systems describe them."""

from __future__ import annotations

import pytest

from halfulp.command.sweep import part_of_array
from halfulp.interp.ir.errors import InputError


def slurm(index: int, first: int, last: int, step: int, count: int) -> dict[str, str]:
    names = ("ID", "MIN", "MAX", "STEP", "COUNT")
    return {f"SLURM_ARRAY_TASK_{n}": str(v) for n, v in zip(names, (index, first, last, step, count), strict=True)}


def grid_engine(*numbers: object) -> dict[str, str]:
    return {f"SGE_TASK_{n}": str(v) for n, v in zip(("ID", "FIRST", "LAST", "STEPSIZE"), numbers, strict=True)}


def lsf(*numbers: object) -> dict[str, str]:
    return {f"LSB_JOBINDEX{n}": str(v) for n, v in zip(("", "_END", "_STEP"), numbers, strict=True)}


@pytest.mark.parametrize(
    ("environment", "part"),
    [
        (slurm(0, 0, 63, 1, 64), (0, 64)),
        (slurm(63, 0, 63, 1, 64), (63, 64)),
        (slurm(11, 1, 11, 5, 3), (2, 3)),
        (slurm(7, 7, 7, 1, 1), (0, 1)),
        ({"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_MAX": "3"}, (1, 3)),
        (grid_engine(1, 1, 64, 1), (0, 64)),
        (grid_engine(91, 1, 100, 10), (9, 10)),
        (lsf(1, 64, 1), (0, 64)),
        (lsf(64, 64, 1), (63, 64)),
        # A job of LSF or Grid Engine that is not an array, from which Slurm was started, and the other way round.
        (grid_engine("undefined", "undefined", "undefined", "undefined") | slurm(3, 0, 7, 1, 8), (3, 8)),
        (lsf(0, 0, 0) | grid_engine(2, 1, 2, 1), (1, 2)),
    ],
)
def test_parts(environment: dict[str, str], part: tuple[int, int]) -> None:
    assert part_of_array(environment) == part


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "not a task of a job array: none of SLURM_ARRAY_TASK_ID"),
        (grid_engine("undefined", "undefined", "undefined", "undefined"), "not a task of a job array"),
        (lsf(0, 0, 0), "not a task of a job array"),
        ({"LSB_JOBINDEX": "3"}, "LSF sets LSB_JOBINDEX, but not LSB_JOBINDEX_END"),
        (slurm(3, 3, 7, 1, 2), "task 3 is not one of 2 tasks from 3 to 7 in steps of 1: the array has gaps"),
        (slurm(4, 1, 9, 2, 5), "the array has gaps"),
        (grid_engine(9, 1, 8, 1), "the array has gaps"),
    ],
)
def test_jobs_that_are_no_such_tasks(environment: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        part_of_array(environment)
    assert "give --shard I/N, where I counts from 0" in str(caught.value)
