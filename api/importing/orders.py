"""Whether two versions of a kernel of Triton add in the same order: `same_order`."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from halfulp.fp_formats.spelling import fragment, table, table_lines
from halfulp.interp.dialects.triton import same_order as proofs
from halfulp.interp.ir.errors import InputError
from halfulp.interp.ir.operations import Module
from halfulp.loading import Source, load

_HEAD = ("output", "order of additions", "why")
_WORDS = {True: "the same", False: "different", None: "not known"}


class OutputOrder(NamedTuple):
    """The order of the additions of what a kernel stores through an argument. ``output``: the name of the argument.
    ``same``: whether it is the same in both versions; None if that is not known. ``why``: the first sum that differs,
    or why it is not known.
    """

    output: str
    same: bool | None
    why: str


@dataclass(frozen=True, repr=False)
class OrderComparison:
    """The orders of additions in two versions of a kernel. ``outputs``: an `OutputOrder` for each argument that it
    stores through.
    """

    outputs: tuple[OutputOrder, ...]

    @property
    def same(self) -> bool | None:
        """True if the order is the same for all outputs, False if it differs for any, None if that is not known."""
        known = [each.same for each in self.outputs]
        return False if False in known else None if None in known else True

    def _rows(self) -> list[tuple[str, ...]]:
        return [(each.output, _WORDS[each.same], each.why) for each in self.outputs]

    def __repr__(self) -> str:
        return "\n".join(table_lines([_HEAD, *self._rows()]))

    def _repr_html_(self) -> str:
        return fragment(table([tuple(map(escape, row)) for row in self._rows()], _HEAD))


def same_order(one: Module | Source, other: Module | Source) -> OrderComparison:
    """Compare the order of additions in two TTGIRs of a kernel, such as those for two numbers of warps.

    ``one``, ``other``: modules of `from_triton` with a target, or what `load` takes.

    Nothing is run: the layouts give the order of each reduction, scan and dot. If it is the same for an output, and
    only layouts and the number of warps differ between the two, the output has the same bits for all inputs, except for
    what is open.

        >>> hu.same_order(*[hu.from_triton(norms, types, target="cuda:90", num_warps=n) for n in (4, 8)])

    Raises InputError for a module without a kernel, Unsupported for a target that is not known, and the errors of
    `load`.
    """
    first, second = (each if isinstance(each, Module) else load(each) for each in (one, other))
    kernels = [next((op for op in module.walk() if op.name == "tt.func"), None) for module in (first, second)]
    if kernels[0] is None or kernels[1] is None:
        raise InputError("same_order compares kernels of Triton, but a module has none", hint="hu.from_triton(...)")
    arguments = kernels[0].regions[0].blocks[0].arguments
    return OrderComparison(
        tuple(
            [
                OutputOrder(arguments[each.argument].label or f"argument {each.argument}", each.same, each.why)
                for each in proofs.same_order(first, second)
            ]
        )
    )
