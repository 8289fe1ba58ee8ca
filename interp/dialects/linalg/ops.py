"""The linalg dialect (`LinalgOps.td`, `LinalgStructuredOps.td`): computations over an iteration space."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.linalg import bodies, declaring, forms
from halfulp.interp.dialects.linalg.bodies import Body
from halfulp.interp.dialects.linalg.declaring import linalg
from halfulp.interp.dialects.linalg.forms import generic_form, named_form, yielding
from halfulp.interp.dialects.linalg.moving_ops import declare_moving_ops, declare_softmax
from halfulp.interp.dialects.linalg.relayout import declare_relayouts
from halfulp.interp.dialects.regions import yielded
from halfulp.interp.dialects.structured.evaluate import INDEX
from halfulp.interp.dialects.structured.structure import (
    PARALLEL,
    REDUCTION,
    Maps,
    Reader,
    written_iterators,
    written_maps,
)
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import AffineConstant, AffineExpr, Dimension, add, multiply
from halfulp.interp.ir.attributes import Attribute
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.dialect_attributes import EnumAttr, EnumDefinition
from halfulp.interp.ir.operations import Block, Operation, OpResult, Rule, SSAValue
from halfulp.interp.run.evaluators import OnFrames
from halfulp.interp.text.op_parser import OpParser

# --- contraction rules ------------------------------------------------------------------------------------------------
#
# The rules of the maps that a contraction may have, in MLIR's words (`LinalgOps.cpp`).

_Axes = tuple[AffineExpr, ...]


def _axes(*positions: int) -> _Axes:
    return tuple(map(Dimension, positions))


_MATMUL = (_axes(0, 2), _axes(2, 1))
_BROADCAST = _axes(2)


def verify_matmul(op: Operation) -> str | None:
    """Return what is wrong with the maps of linalg.matmul, or None. Inputs may be transposed, or vectors along K."""
    for map_, default in zip(written_maps(op), _MATMUL, strict=False):
        if not set(map_.results) <= set(default):
            return "Unexpected dim expression in map result."
        if len(map_.results) < len(default) and map_.results != _BROADCAST:
            return "Invalid broadcast requested, should be (d2)."
    return None


class Batch(NamedTuple):
    """The maps of a matmul with a batch.

    ``inputs``: the axes of both inputs. ``broadcasts``: for each input, the smaller set of axes that it may have
    instead. ``output``: the axes of the result.
    """

    inputs: tuple[_Axes, _Axes]
    broadcasts: tuple[tuple[_Axes, ...], tuple[_Axes, ...]]
    output: _Axes


_INPUTS = (_axes(0, 1, 3), _axes(0, 3, 2))
_BROADCASTS = (
    (_axes(3), _axes(0, 3), _axes(1, 3)),
    (_axes(3), _axes(0, 3), _axes(3, 2)),
)
BATCH_MATMUL = Batch(_INPUTS, _BROADCASTS, _axes(0, 1, 2))
BATCH_REDUCE_MATMUL = Batch(_INPUTS, _BROADCASTS, _axes(1, 2))


def verify_batch(batch: Batch) -> Rule:
    """Return the function that verifies the maps of a matmul with a batch."""

    def verify(op: Operation) -> str | None:
        maps = written_maps(op)
        if len(maps) != 3:
            return "Indexing_map attribute must have 3 affine maps."
        *inputs, output = [map_.results for map_ in maps]
        for axes, default, broadcasts in zip(inputs, batch.inputs, batch.broadcasts, strict=True):
            if not set(axes) <= set(default):
                return "Unexpected result dim expression (outside the set of default result dims)."
            if len(axes) > 3:
                return "no. of result dim expressions exceeds 3."
            if len(axes) < 3 and axes not in broadcasts:
                return "Invalid broadcast requested."
            if len(axes) == 3 and axes[0] != Dimension(0):
                return "Invalid batch dimension expression."
        if len(output) != len(batch.output):
            return f"expects {len(batch.output)} dims, but got ({len(output)})."
        return "Invalid output map result dimension." if output != batch.output else None

    return verify


def verify_contract(op: Operation) -> str | None:
    """Return what is wrong with the maps of linalg.contract, or None. Each loop is parallel, or reduces both inputs."""
    maps = written_maps(op)
    loops = maps[0].dimensions if maps else 0
    for map_, value in zip(maps, op.operands, strict=False):
        if map_.dimensions != loops:
            return d.Unprefixed("iteration spaces of provided affine_maps differ")
        if map_.symbols or not _is_projection(map_.results):
            return d.Unprefixed("provided affine_map is not a projected permutation")
        if isinstance(value.type, ty.ShapedType):
            if len(map_.results) != len(ty.shape_of(value.type) or ()):
                return d.Unprefixed("ranks of shaped operand and results of corresponding affine_map differ")
        elif map_.results:
            return d.Unprefixed("affine_map specifies shaped access while operand has non-shaped type")
    return _verify_uses(maps)


def _is_projection(axes: _Axes) -> bool:
    return all(isinstance(axis, Dimension) for axis in axes) and len(set(axes)) == len(axes)


def _verify_uses(maps: Sequence[at.AffineMapAttr]) -> str | None:
    contracted = False
    for loop in range(maps[0].dimensions if maps else 0):
        *read, written = (map_.results.count(Dimension(loop)) for map_ in maps)
        uses = sum(read)
        if not uses and not written:
            return d.Unprefixed(f"iteration space dim at index {loop} not used to access any operand")
        if (uses, written) == (1, 0):
            return d.Unprefixed(
                f"iteration space dim at index {loop} is neither a contracting dim nor of parallel iteration type"
            )
        contracted |= (uses, written) == (2, 0)
    return None if contracted else d.Unprefixed("'indexing_maps' do not specify a contracting dimension")


# --- bodies -----------------------------------------------------------------------------------------------------------

_PAIRS = {
    "arith.addf": "arith.mulf",
    "arith.addi": "arith.muli",
    "arith.ori": "arith.andi",
    "complex.add": "complex.mul",
}


def verify_body(op: Operation) -> str | None:
    """Return an error message unless the body of a contraction multiplies two elements and adds the product; ops of one
    operand may be between.
    """
    block = op.regions[0].blocks[0]
    a, b, out = block.arguments
    total = _source(block.operations[-1].operands[0])
    terms = _operands(total, _PAIRS)
    if isinstance(total, OpResult) and out in terms:
        factors = _operands(terms[terms.index(out) - 1], (_PAIRS[total.owner.name],))
        if set(factors) == {a, b}:
            return None
    return d.Unprefixed("expected add/mul op in the body")


def _operands(value: SSAValue, names: Collection[str]) -> list[SSAValue]:
    """Return the operands of the op with one of these names that makes a value; none if another makes it."""
    if isinstance(value, OpResult) and value.owner.name in names:
        return [_source(operand) for operand in value.owner.operands]
    return []


def _source(value: SSAValue) -> SSAValue:
    while isinstance(value, OpResult) and len(value.owner.operands) == 1:
        value = value.owner.operands[0]
    return value


# --- named ------------------------------------------------------------------------------------------------------------
#
# The named structured ops: a row each, with the loops, the place of each operand in them, and the body.
#
# A row names the loops in order. For each operand it names the loop that indexes each axis. ``oh.kh`` is the index
# ``oh * stride + kh * dilation`` of a sliding window; the windows of a row take the strides and the dilations of the op
# one after the other. ``oh+kh`` is a window without them. A loop that does not index the last operand is a reduction.


class NamedOp(NamedTuple):
    """A named op. ``operands``: the axes of each operand, the init last. ``cast``: it has the property ``cast``."""

    name: str
    loops: str
    operands: Sequence[str]
    body: Body
    cast: bool = False

    @property
    def contracts(self) -> bool:
        """True if MLIR knows the op as a contraction."""
        return self.body in (bodies.multiply_and_add, bodies.signed_multiply_and_add) and not self.convolves

    @property
    def convolves(self) -> bool:
        """True if an input is read in sliding windows."""
        return "." in self.operands[0] or "+" in self.operands[0]

    @property
    def windows(self) -> list[str]:
        """The sliding windows, in the order in which the op writes their strides."""
        return [axis for axis in self.operands[0].split() if "." in axis]


_PRODUCT, _QUANTIZED = bodies.multiply_and_add, bodies.quantized_multiply_and_add

_CONTRACTIONS = (
    ("matvec", "m n", ("m n", "n", "m")),
    ("vecmat", "n m", ("m", "m n", "n")),
    ("batch_matvec", "b m k", ("b m k", "b k", "b m")),
    ("batch_vecmat", "b n k", ("b k", "b k n", "b n")),
    ("dot", "m", ("m", "m", "")),
    ("mmt4d", "m n k m0 n0 k0", ("m k m0 k0", "n k n0 k0", "m n m0 n0")),
    ("batch_mmt4d", "b m n k m0 n0 k0", ("b m k m0 k0", "b n k n0 k0", "b m n m0 n0")),
)

MATMULS: Sequence[NamedOp] = (
    NamedOp("matmul", "m n k", ("m k", "k n", "m n"), _PRODUCT, cast=True),
    NamedOp("batch_matmul", "b m n k", ("b m k", "b k n", "b m n"), _PRODUCT, cast=True),
    NamedOp("batch_reduce_matmul", "b m n k", ("b m k", "b k n", "m n"), bodies.signed_multiply_and_add, cast=True),
)
"""The named ops whose loops are fixed, but whose text may write other maps."""

_CONVOLUTIONS = (
    ("conv_1d", "ow kw", "ow+kw", "kw", "ow"),
    ("conv_2d", "oh ow kh kw", "oh+kh ow+kw", "kh kw", "oh ow"),
    ("conv_3d", "od oh ow kd kh kw", "od+kd oh+kh ow+kw", "kd kh kw", "od oh ow"),
    ("conv_1d_nwc_wcf", "n ow f kw c", "n ow.kw c", "kw c f", "n ow f"),
    ("conv_1d_ncw_fcw", "n f ow c kw", "n c ow.kw", "f c kw", "n f ow"),
    ("conv_2d_nhwc_hwcf", "n oh ow f kh kw c", "n oh.kh ow.kw c", "kh kw c f", "n oh ow f"),
    ("conv_2d_nhwc_fhwc", "n oh ow f kh kw c", "n oh.kh ow.kw c", "f kh kw c", "n oh ow f"),
    ("conv_2d_nchw_fchw", "n f oh ow c kh kw", "n c oh.kh ow.kw", "f c kh kw", "n f oh ow"),
    ("conv_2d_ngchw_fgchw", "n g f oh ow c kh kw", "n g c oh.kh ow.kw", "f g c kh kw", "n g f oh ow"),
    ("conv_2d_ngchw_gfchw", "n g f oh ow c kh kw", "n g c oh.kh ow.kw", "g f c kh kw", "n g f oh ow"),
    ("conv_2d_nhwgc_gfhwc", "n oh ow g f kh kw c", "n oh.kh ow.kw g c", "g f kh kw c", "n oh ow g f"),
    ("conv_3d_ndhwc_dhwcf", "n od oh ow f kd kh kw c", "n od.kd oh.kh ow.kw c", "kd kh kw c f", "n od oh ow f"),
    ("conv_3d_ncdhw_fcdhw", "n f od oh ow c kd kh kw", "n c od.kd oh.kh ow.kw", "f c kd kh kw", "n f od oh ow"),
    ("depthwise_conv_1d_nwc_wc", "n ow c kw", "n ow.kw c", "kw c", "n ow c"),
    ("depthwise_conv_1d_ncw_cw", "n ow c kw", "n c ow.kw", "c kw", "n c ow"),
    ("depthwise_conv_1d_nwc_wcm", "n ow c m kw", "n ow.kw c", "kw c m", "n ow c m"),
    ("depthwise_conv_2d_nhwc_hwc", "n oh ow c kh kw", "n oh.kh ow.kw c", "kh kw c", "n oh ow c"),
    ("depthwise_conv_2d_nchw_chw", "n oh ow c kh kw", "n c oh.kh ow.kw", "c kh kw", "n c oh ow"),
    ("depthwise_conv_2d_nhwc_hwcm", "n oh ow c m kh kw", "n oh.kh ow.kw c", "kh kw c m", "n oh ow c m"),
    ("depthwise_conv_3d_ndhwc_dhwc", "n od oh ow kd kh kw c", "n od.kd oh.kh ow.kw c", "kd kh kw c", "n od oh ow c"),
    ("depthwise_conv_3d_ncdhw_cdhw", "n od oh ow kd kh kw c", "n c od.kd oh.kh ow.kw", "c kd kh kw", "n c od oh ow"),
    (
        *("depthwise_conv_3d_ndhwc_dhwcm", "n od oh ow cm kd kh kw c"),
        *("n od.kd oh.kh ow.kw c", "kd kh kw c cm", "n od oh ow c cm"),
    ),
)
_QUANTIZED_CONVOLUTIONS = (
    *("conv_2d_nhwc_hwcf", "conv_2d_nhwc_fhwc", "conv_2d_nchw_fchw", "conv_2d_ngchw_gfchw", "conv_2d_nhwgc_gfhwc"),
    *("conv_3d_ndhwc_dhwcf", "depthwise_conv_2d_nhwc_hwc", "depthwise_conv_2d_nhwc_hwcm"),
)

_POOLED = {
    "nhwc": ("n oh ow c kh kw", "n oh.kh ow.kw c", "kh kw", "n oh ow c"),
    "nchw": ("n c oh ow kh kw", "n c oh.kh ow.kw", "kh kw", "n c oh ow"),
    "nwc": ("n ow c kw", "n ow.kw c", "kw", "n ow c"),
    "ncw": ("n c ow kw", "n c ow.kw", "kw", "n c ow"),
    "ndhwc": ("n od oh ow c kd kh kw", "n od.kd oh.kh ow.kw c", "kd kh kw", "n od oh ow c"),
}
_ALL_POOLED = ("sum", "max", "max_unsigned", "min", "min_unsigned")
_POOLINGS = {
    "nhwc": _ALL_POOLED,
    "nwc": _ALL_POOLED,
    "nchw": ("sum", "max"),
    "ncw": ("sum", "max"),
    "ndhwc": ("sum", "max", "min"),
}
_COMBINES = {"sum": "add", "max": "max_signed", "min": "min_signed"}


def _rows() -> list[NamedOp]:
    rows = [NamedOp(name, loops, operands, _PRODUCT) for name, loops, operands in _CONTRACTIONS]
    rows += [
        NamedOp("fill_rng_2d", "m n", ("", "", "", "m n"), bodies.random_number),
        NamedOp("quantized_matmul", "m n k", ("m k", "k n", "", "", "m n"), _QUANTIZED),
        NamedOp("quantized_batch_matmul", "b m n k", ("b m k", "b k n", "", "", "b m n"), _QUANTIZED),
    ]
    for name, loops, image, kernel, out in _CONVOLUTIONS:
        rows.append(NamedOp(name, loops, (image, kernel, out), _PRODUCT))
        if name in _QUANTIZED_CONVOLUTIONS:
            rows.append(NamedOp(f"{name}_q", loops, (image, kernel, "", "", out), _QUANTIZED))
    for layout, functions in _POOLINGS.items():
        loops, *operands = _POOLED[layout]
        rows += [
            NamedOp(f"pooling_{layout}_{each}", loops, operands, bodies.pooling(_COMBINES.get(each, each)))
            for each in functions
        ]
    return rows


CONTRACTIONS: Sequence[NamedOp] = tuple(_rows())
"""The named ops with fixed loops."""

ELEMENTWISE: Sequence[tuple[str, int, Body]] = (
    ("copy", 1, bodies.copy),
    *((name, 1, bodies.unary(name)) for name in bodies.UNARY),
    ("square", 1, bodies.square),
    ("reciprocal", 1, bodies.reciprocal),
    *((name, 2, bodies.binary(name)) for name in ("add", "sub", "mul", "div", "div_unsigned", "powf")),
    *((name, 2, bodies.binary(f"{name}_signed")) for name in ("max", "min")),
    ("select", 3, bodies.select),
)
"""The named ops on elements of one shape: their name, the number of inputs, and the body."""


# --- winograd ---------------------------------------------------------------------------------------------------------
#
# The three ops of a convolution by Winograd's method: read, verified and printed (`LinalgOps.td`).

_FMR = EnumDefinition("::mlir::linalg::WinogradConv2DFmr", {"F_2_3": 0, "F_4_3": 1, "F_2_5": 2}, storage_width=32)
_SIZES = {0: (2, 3), 1: (4, 3), 2: (2, 5)}
"""The sizes of the output tile and of the filter."""

_Shape = Sequence[int | None]
_UNEXPECTED = "the output shape is not expected"


def _sizes(op: Operation) -> tuple[int, int]:
    return _SIZES[op.number("fmr")]


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


def _tensor_of_rank(rank: int) -> d.TypeConstraint:
    def accepts(type_: ty.Type) -> bool:
        return isinstance(type_, ty.TensorType) and len(type_.shape or ()) == rank and type_.shape is not None

    def is_ranked(type_: ty.Type) -> bool:
        return isinstance(type_, ty.TensorType) and type_.shape is not None

    return d.TypeConstraint(f"{rank}D tensor of any type values", accepts, d.TypeKind("builtin.tensor", is_ranked))


def _declare(mnemonic: str, source: str, ranks: tuple[int, int], verify: Rule) -> None:
    one, two = map(_tensor_of_rank, ranks)
    linalg.op(
        f"winograd_{mnemonic}_transform",
        f"attr-dict `fmr` `(` $fmr `)` `ins` `(` ${source} `:` type(${source}) `)` "
        "`outs` `(` $output `:` type($output) `)` `->` type($result)",
        operands=(d.Slot(source, one), d.Slot("output", two)),
        results={"result": two},
        properties=(d.Property("fmr", _FMR),),
        type_rules=(d.same_element(source, "output", f"all of {{{source}, output}}"),),
        verify=lambda op: verify(op) or declaring.verify_destinations(op, op.operands[1:]),
    )


def declare_winograd() -> None:
    """Declare the winograd ops."""
    _declare("filter", "filter", (4, 4), _verify_filter)
    _declare("input", "input", (4, 6), _verify_input)
    _declare("output", "value", (6, 4), _verify_output)


# --- named ops --------------------------------------------------------------------------------------------------------
#
# The declarations of the named ops of `halfulp.interp.dialects.linalg.ops`.

_CAST = d.Property("cast", declaring.TYPE_FN, optional=True)


def _written_body(body: bodies.Body) -> forms.Body:
    def write(p: OpParser, op: Operation, block: Block) -> None:
        cast = op.properties.get("cast")
        body(
            bodies.Formula(p.registry, block),
            isinstance(cast, EnumAttr) and cast.value == declaring.TYPE_FN.cases["cast_unsigned"],
        )

    return write


# --- fixed loops ------------------------------------------------------------------------------------------------------


def _factors(op: Operation, name: str, count: int) -> Sequence[int]:
    """Return the strides or the dilations of an op: 1 where it has none."""
    written = op.properties.get(name)
    if not isinstance(written, at.DenseElementsAttr):
        return (1,) * count
    codes = [at.integer_of_code(int(code), ty.I64) for code in written.codes.reshape(-1)]
    return codes * count if written.splat else codes


def _verify_windows(op: Operation) -> str | None:
    """Return an error message if a window does not move along one of its loops, or for a second block, else None."""
    moves = (*_factors(op, "strides", 1), *_factors(op, "dilations", 1))
    if not all(moves):
        return d.Unprefixed("unexpected loop dimension for convolution op")
    return declaring.verify_blocks(op)


def _reader(row: NamedOp) -> Reader:
    loops = row.loops.split()
    place = {name: number for number, name in enumerate(loops)}
    windows = row.windows
    result = row.operands[-1].split()
    iterators = tuple(PARALLEL if name in result else REDUCTION for name in loops)

    def index(axis: str, op: Operation) -> AffineExpr:
        if "+" in axis:
            return add(*(Dimension(place[name]) for name in axis.split("+")))
        if "." not in axis:
            return Dimension(place[axis])
        outer, _, inner = axis.partition(".")
        number = windows.index(axis)
        stride, dilation = (_factors(op, name, len(windows))[number] for name in ("strides", "dilations"))
        return add(
            multiply(Dimension(place[outer]), AffineConstant(stride)),
            multiply(Dimension(place[inner]), AffineConstant(dilation)),
        )

    def maps(op: Operation) -> tuple[at.AffineMapAttr, ...]:
        return tuple(
            at.AffineMapAttr(len(loops), 0, tuple(index(axis, op) for axis in operand.split()))
            for operand in row.operands
        )

    return maps, lambda op: iterators


def _shaped_factors(count: int) -> d.AttributeConstraint:
    def accepts(attribute: Attribute) -> bool:
        return (
            isinstance(attribute, at.DenseElementsAttr)
            and ty.element_type(attribute.type) == ty.I64
            and ty.shape_of(attribute.type) == (count,)
        )

    return d.AttributeConstraint(f"64-bit signless int elements attribute of shape [{count}]", accepts)


def _contracting(op: Operation) -> str | None:
    return declaring.verify_structured(op) or verify_body(op)


def _remembering(row: NamedOp, reader: Reader) -> Rule:
    """Return a verifier that also adds the attribute with the maps, as MLIR's verifier does.

    If the attribute is there, MLIR computes with the maps in it. Here an op has only those of its declaration.
    """
    check = _contracting if row.contracts else declaring.verify_structured

    def verify(op: Operation) -> str | None:
        problem = check(op)
        if problem is not None:
            return problem
        maps = at.ArrayAttr(reader[0](op))
        given = op.attributes.setdefault(forms.MEMOIZED, maps)
        if given == maps:
            return None
        if row.convolves and isinstance(given, at.ArrayAttr) and given.elements[:1] != maps.elements[:1]:
            return d.Unprefixed("unexpected input index map for convolutions")
        return f"has other maps in '{forms.MEMOIZED}' than the op has; remove this attribute"

    return verify


# --- elementwise ------------------------------------------------------------------------------------------------------


def _rank(op: Operation) -> int:
    return len(ty.shape_of(op.operands[-1].type) or ()) if op.operands else 0


def _parallel(op: Operation) -> tuple[int, ...]:
    return (PARALLEL,) * _rank(op)


def _same_place(op: Operation) -> tuple[at.AffineMapAttr, ...]:
    rank = _rank(op)
    return (at.identity_map(rank),) * len(op.operands)


def _body_of_kind(p: OpParser, op: Operation, block: Block) -> None:
    kind = op.prop("kind", EnumAttr)
    bodies.ELEMENTWISE_KINDS[kind.keywords](bodies.Formula(p.registry, block), False)


def _arguments_of_kind(written: Mapping[str, Attribute]) -> int:
    return bodies.inputs_of_kind(narrowed(written["kind"], EnumAttr).keywords) + 1


# --- maps in the text -------------------------------------------------------------------------------------------------


def _as_property(maps: Maps) -> forms.Defaults:
    return lambda op: at.ArrayAttr(maps(op))


def _reducing(op: Operation) -> tuple[int, ...]:
    """Return the iterators that follow from maps: a dimension that does not index the last operand is a reduction."""
    maps = written_maps(op)
    kept = maps[-1].results if maps else ()
    return tuple(
        PARALLEL if Dimension(number) in kept else REDUCTION for number in range(maps[-1].dimensions if maps else 0)
    )


_MAPS_OF_MATMULS = (
    verify_matmul,
    verify_batch(BATCH_MATMUL),
    verify_batch(BATCH_REDUCE_MATMUL),
)


def _unless_default(maps: Maps, verify: Rule) -> Rule:
    given = _or_default(maps)
    return lambda op: None if given(op) == maps(op) else verify(op)


def _or_default(maps: Maps) -> Maps:
    """Return the maps that an op has, or those that an op without maps stands for."""
    return lambda op: written_maps(op) if "indexing_maps" in op.properties else maps(op)


# --- declarations -----------------------------------------------------------------------------------------------------


def declare_named_ops() -> None:
    """Declare all named ops."""
    for row in CONTRACTIONS:
        count, reader = len(row.windows), _reader(row)
        windows = tuple(d.Property(name, _shaped_factors(count), optional=True) for name in ("dilations", "strides"))
        declaring.structured(
            row.name,
            reader,
            forms.named_form(_written_body(row.body), len(row.operands)),
            properties=windows if count else (),
            verify=_verify_windows if count else declaring.verify_blocks,
            verify_regions=_remembering(row, reader),
        )
    for row, verify in zip(MATMULS, _MAPS_OF_MATMULS, strict=True):
        maps, iterators = _reader(row)
        declaring.structured(
            row.name,
            (_or_default(maps), iterators),
            forms.named_form(_written_body(row.body), len(row.operands), forms.Leading(_as_property(maps))),
            properties=(_CAST, d.Property("indexing_maps", d.AFFINE_MAP_ARRAY_ATTR, optional=True)),
            verify=_unless_default(maps, verify),
            verify_regions=_contracting,
        )
    declaring.structured(
        "contract",
        (written_maps, _reducing),
        forms.named_form(_written_body(bodies.multiply_and_add), 3, forms.Leading(lambda op: None, needed=True)),
        properties=(_CAST, d.Property("indexing_maps", d.AFFINE_MAP_ARRAY_ATTR)),
        verify=verify_contract,
        verify_regions=_contracting,
    )
    declaring.structured(
        "elementwise",
        (written_maps, _parallel),
        forms.named_form(
            _body_of_kind, _arguments_of_kind, forms.Leading(_as_property(_same_place), kind=declaring.ELEMENTWISE_KIND)
        ),
        properties=(
            d.Property("indexing_maps", d.AFFINE_MAP_ARRAY_ATTR, optional=True),
            d.Property("kind", declaring.ELEMENTWISE_KIND),
        ),
    )
    for name, inputs, body in ELEMENTWISE:
        declaring.structured(
            name,
            (_same_place, _parallel),
            forms.named_form(_written_body(body), inputs + 1),
            properties=(_CAST,) if name == "copy" else (),
        )


# --- fill -------------------------------------------------------------------------------------------------------------


def _fill_body(p: OpParser, op: Operation, block: Block) -> None:
    yielding(p, block, block.arguments[:1])


def _fill_maps(op: Operation) -> tuple[at.AffineMapAttr, ...]:
    rank = _rank(op)
    return at.AffineMapAttr(rank, 0, ()), at.identity_map(rank)


# --- declarations -----------------------------------------------------------------------------------------------------

declaring.structured(
    "generic",
    (written_maps, written_iterators),
    generic_form(declaring.ITERATOR_TYPE),
    properties=(
        d.Property("doc", d.STRING_ATTR, optional=True),
        d.Property("indexing_maps", d.AFFINE_MAP_ARRAY_ATTR),
        d.Property("iterator_types", declaring.ITERATOR_TYPES_ATTR),
        d.Property("library_call", d.STRING_ATTR, optional=True),
    ),
)
declaring.structured("fill", (_fill_maps, _parallel), named_form(_fill_body, 2), verify=declaring.verify_fill)
linalg.op(
    "yield",
    "($values^)? attr-dict (`:` type($values)^)?",
    operands=(d.variadic("values", d.ANY),),
    traits=(d.Trait.TERMINATOR, d.Trait.RETURN_LIKE),
    verify=declaring.verify_yield,
    evaluate=OnFrames(yielded),
)
linalg.op(
    "index",
    "$dim attr-dict `:` type($result)",
    results={"result": d.INDEX},
    properties=(d.Property("dim", d.NON_NEGATIVE_ATTR),),
    verify=declaring.verify_index,
    evaluate=INDEX,
)
declare_named_ops()
declare_moving_ops()
declare_relayouts()
declare_softmax()
declare_winograd()
