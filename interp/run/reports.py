"""Errors of a run, completed by the op, the place and the lanes in which they happened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Mask
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Lanes

Reported = TypeVar("Reported", bound=HalfulpError)


def in_lanes(error: Reported, lanes: Lanes | None, mask: Mask | None = None) -> Reported:
    """Add to an error the lanes in which it happened; outside of a batch it stays unchanged."""
    if lanes is not None:
        error.lanes = lanes.offending(mask)
        error.message += f" ({_lanes_text(error.lanes, lanes)})"
    return error


def of_lanes(failed: Mapping[int, HalfulpError], lanes: Lanes) -> HalfulpError:
    """Return the error of the first lane that failed. It names all lanes that failed so, at the same place.

    ``failed``: the errors by the positions of their lanes, which ascend.
    """
    first = next(iter(failed.values()))
    like = [position for position, error in failed.items() if _failure(error) == _failure(first)]
    return in_lanes(first, lanes, np.isin(np.arange(len(lanes)), like))


def _failure(error: HalfulpError) -> tuple[object, ...]:
    return error.__class__, error.op, error.location


def _lanes_text(offending: npt.NDArray[np.intp], lanes: Lanes) -> str:
    return f"lane {offending[0]}; {len(offending)} of {lanes.total} lanes"


def located(error: HalfulpError, op: Operation) -> HalfulpError:
    """Add the location and the op to an error that was raised below, unless it has them."""
    if error.location is None:
        error.location = op.location
    if error.op is None:
        error.op = op.name
    return error
