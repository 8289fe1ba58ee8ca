"""What a `Value` consists of, for functions that compute on values below the class itself."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Codes
from halfulp.interp.ir import types as ty
from halfulp.semantics.poison import Origins, PoisonIds


class Elements(Protocol):
    """The parts of a `Value` that computing on its elements takes."""

    @property
    def type(self) -> ty.Type:
        """The MLIR type."""

    @property
    def bits(self) -> Codes:
        """The codes, with the trailing axes of one element."""

    @property
    def poison(self) -> PoisonIds | None:
        """The ids of origins in the element shape; None when no element is poison."""

    @property
    def open(self) -> npt.NDArray[np.uint8] | None:
        """The mask of elements that the language leaves unspecified, where it is kept."""

    @property
    def origins(self) -> Origins | None:
        """The table that the ids of ``poison`` name."""


class Parts(NamedTuple):
    """The arguments from which a `Value` is made: ``Value(*parts)``."""

    type: ty.Type
    bits: Codes
    poison: PoisonIds | None = None
    open: npt.NDArray[np.uint8] | None = None
    origins: Origins | None = None
