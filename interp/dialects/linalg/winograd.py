"""The three ops of a convolution by Winograd's method: read, verified and printed (`LinalgOps.td`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from halfulp.interp.declare.declarations import Property, Slot, TypeConstraint, TypeKind
from halfulp.interp.declare.type_rules import same_element
from halfulp.interp.dialects.linalg import rules
from halfulp.interp.dialects.linalg.declaring import linalg
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.operations import Operation

_FMR = EnumDefinition("::mlir::linalg::WinogradConv2DFmr", {"F_2_3": 0, "F_4_3": 1, "F_2_5": 2}, storage_width=32)
_SIZES = {0: (2, 3), 1: (4, 3), 2: (2, 5)}
"""The sizes of the output tile and of the filter."""

_Shape = Sequence[int | None]
_UNEXPECTED = "the output shape is not expected"


def _sizes(op: Operation) -> tuple[int, int]:
    fmr = op.properties["fmr"]
    assert isinstance(fmr, at.IntegerAttr)
    return _SIZES[fmr.value]


def _shapes(op: Operation) -> tuple[_Shape, _Shape]:
    one, two = (ty.shape_of(value.type) or () for value in op.operands)
    return one, two


def _compared(expected: _Shape, found: _Shape) -> str | None:
    fits = all(a is None or b is None or a == b for a, b in zip(expected, found, strict=True))
    return None if fits else _UNEXPECTED


def _verify_filter(op: Operation) -> str | None:
    m, r = _sizes(op)
    (f, height, width, channels), output = _shapes(op)
    for name, size in (("height", height), ("width", width)):
        if size not in (r, 1):
            return f"expect filter {name} either equals to r or 1"
    if height == width == 1:
        return "expect either filter height or width equals to r"
    tiles = [m + r - 1 if size == r else 1 for size in (height, width)]
    return _compared((*tiles, channels, f), output)


def _verify_input(op: Operation) -> str | None:
    m, r = _sizes(op)
    (n, height, width, channels), output = _shapes(op)
    tiles: list[int | None] = []
    counts: list[int | None] = []
    for size, found in zip((height, width), output, strict=False):
        transformed = found != 1
        tiles.append(m + r - 1 if transformed or size is None else 1)
        counts.append(size if size is None or not transformed else (size - (r - 1)) // m)
    return _compared((*tiles, *counts, n, channels), output)


def _verify_output(op: Operation) -> str | None:
    m, r = _sizes(op)
    (*tiles_and_counts, n, f), output = _shapes(op)
    sizes: list[int | None] = []
    for axis, name in enumerate(("height", "width")):
        tile, count = tiles_and_counts[axis], tiles_and_counts[axis + 2]
        if tile is None or count is None:
            sizes.append(None)
            continue
        if tile not in (1, m + r - 1):
            return f"expect input {name} equals to input tile size"
        sizes.append((1 if tile == 1 else m) * count)
    return _compared((n, *sizes, f), output)


def _tensor_of_rank(rank: int) -> TypeConstraint:
    def accepts(type_: ty.Type) -> bool:
        return isinstance(type_, ty.TensorType) and len(type_.shape or ()) == rank and type_.shape is not None

    def is_ranked(type_: ty.Type) -> bool:
        return isinstance(type_, ty.TensorType) and type_.shape is not None

    return TypeConstraint(f"{rank}D tensor of any type values", accepts, TypeKind("builtin.tensor", is_ranked))


def _declare(mnemonic: str, source: str, ranks: tuple[int, int], verify: Callable[[Operation], str | None]) -> None:
    one, two = map(_tensor_of_rank, ranks)
    linalg.op(
        f"winograd_{mnemonic}_transform",
        f"attr-dict `fmr` `(` $fmr `)` `ins` `(` ${source} `:` type(${source}) `)` "
        "`outs` `(` $output `:` type($output) `)` `->` type($result)",
        operands=(Slot(source, one), Slot("output", two)),
        results={"result": two},
        properties=(Property("fmr", _FMR),),
        type_rules=(same_element(source, "output", f"all of {{{source}, output}}"),),
        verify=lambda op: verify(op) or rules.verify_destinations(op, op.operands[1:]),
    )


def declare_winograd() -> None:
    """Declare these ops."""
    _declare("filter", "filter", (4, 4), _verify_filter)
    _declare("input", "input", (4, 6), _verify_input)
    _declare("output", "value", (6, 4), _verify_output)
