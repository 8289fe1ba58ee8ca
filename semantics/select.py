"""arith.select on arrays. The arm that is not selected is ignored, even if it is poison."""

from __future__ import annotations

import numpy as np

from halfulp.fp_formats.codes import Codes
from halfulp.semantics.kernel import Kernel, Outcome
from halfulp.semantics.poison import PoisonIds


def spread(condition: Codes, target_ndim: int) -> Codes:
    """Give the condition trailing axes of one, so that it chooses whole elements, or whole values if it is a scalar."""
    return condition.reshape(condition.shape + (1,) * (target_ndim - condition.ndim))


def select(condition: Codes, yes: Codes, no: Codes) -> Codes:
    """Return the codes of the chosen arm. ``condition``: i1 codes of the arms' shape, or of their leading axes only."""
    return np.asarray(np.where(spread(condition, yes.ndim) != 0, yes, no))


KERNEL = Kernel(
    lambda condition, yes, no: yes if condition else no,
    lambda condition, yes, no: Outcome((select(condition, yes, no),)),
    words=lambda condition, yes, no: condition.choose(yes, no),
)
"""The choice of elements that are not poison."""


def select_poison(
    condition: Codes,
    of_condition: PoisonIds | None,
    yes: PoisonIds | None,
    no: PoisonIds | None,
    shape: tuple[int, ...],
) -> PoisonIds | None:
    """Return the poison of the chosen arm, and poison where the condition is poison. ``shape``: of the result's
    elements.
    """
    if of_condition is None and yes is None and no is None:
        return None
    clean = np.zeros((), np.uint16)
    chosen = np.where(spread(condition, len(shape)) != 0, clean if yes is None else yes, clean if no is None else no)
    if of_condition is not None:
        spoiled = spread(of_condition, len(shape))
        chosen = np.where(spoiled != 0, spoiled, chosen)
    ids = np.broadcast_to(chosen, shape)
    return ids.astype(np.uint16) if ids.any() else None
