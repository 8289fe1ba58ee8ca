"""Named structured ops, and those that are not structured: softmax, pack, unpack."""

import re
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from batches import agree
from code_of_programs import run_loops, same_numbers
from corpora.corpus import entries
from named_programs import Program, programs
from tables import each_row

import halfulp as hu
from halfulp.interp.declare.registry import default_registry

LIBRARY = re.compile(r"linalg\.(exp|log|tanh|erf|powf|rsqrt)\b")
"""Functions that mlir-runner takes from a library, which may round in another way."""


def outcome(text: str, arguments: Sequence[Any]) -> tuple[hu.Value, ...] | str:
    """Run a program; undefined behaviour is its first word."""
    try:
        return hu.run(text, *arguments)
    except hu.UndefinedBehavior:
        return "undefined"


def test_the_corpus_has_every_op() -> None:
    """Maps and bodies of all named ops stand in recorded generic forms."""
    linalg = default_registry().dialects["linalg"]
    texts = "\n".join(entry.text for entry in entries() if entry.file.startswith("ops/linalg/"))
    written = set(re.findall(r"linalg\.\w+", texts))
    assert linalg.ops.keys() <= written
    assert not linalg.partial


# --- values -----------------------------------------------------------------------------------------------------------


def one(text: str, *arguments: Any) -> Any:
    (result,) = hu.run(text, *arguments)
    return result.numpy()


def random(*shape: int, type_: str = "f4") -> Any:
    rng = np.random.default_rng(sum(shape))
    values = rng.normal(size=shape) * 8 if type_[0] == "f" else rng.integers(-128, 128, shape)
    return values.astype(type_)


def test_convolution_with_strides_and_dilations() -> None:
    """The image is read at ``o * stride + k * dilation``."""
    image, kernel = random(1, 8, 7, 2, type_="i1"), random(3, 2, 2, 3, type_="i1")
    out = np.ones((1, 2, 3, 3), np.int32)
    text = """
func.func @f(%a: tensor<1x8x7x2xi8>, %k: tensor<3x2x2x3xi8>, %o: tensor<1x2x3x3xi32>) -> tensor<1x2x3x3xi32> {
  %0 = linalg.conv_2d_nhwc_hwcf {strides = dense<[3, 2]> : tensor<2xi64>, dilations = dense<[2, 1]> : tensor<2xi64>}
    ins(%a, %k : tensor<1x8x7x2xi8>, tensor<3x2x2x3xi8>) outs(%o : tensor<1x2x3x3xi32>) -> tensor<1x2x3x3xi32>
  return %0 : tensor<1x2x3x3xi32>
}
"""
    expected = out.copy()
    for y, x, f, ky, kx, c in product(range(2), range(3), range(3), range(3), range(2), range(2)):
        expected[0, y, x, f] += int(image[0, 3 * y + 2 * ky, 2 * x + kx, c]) * int(kernel[ky, kx, c, f])
    assert one(text, image, kernel, out).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("cast", "convert"),
    [("", np.int8), ("{cast = #linalg.type_fn<cast_unsigned>} ", np.uint8)],
    ids=["signed", "unsigned"],
)
def test_transposed_matmul(cast: str, convert: Any) -> None:
    """The maps say which axis is reduced, and the cast how integers are extended."""
    a, b = random(4, 2, type_="i1"), random(3, 4, type_="i1")
    text = f"""
func.func @f(%a: tensor<4x2xi8>, %b: tensor<3x4xi8>, %c: tensor<2x3xi32>) -> tensor<2x3xi32> {{
  %0 = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
    {cast}ins(%a, %b : tensor<4x2xi8>, tensor<3x4xi8>) outs(%c : tensor<2x3xi32>) -> tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}}
"""
    left, right = (each.view(convert).astype(np.int32) for each in (a, b))
    assert one(text, a, b, np.zeros((2, 3), np.int32)).tolist() == (left.T @ right.T).tolist()


SOFTMAX = """
func.func @f(%a: tensor<2x?x3x{type}>) -> tensor<2x?x3x{type}> {{
  %0 = linalg.softmax dimension(1) ins(%a : tensor<2x?x3x{type}>) outs(%a : tensor<2x?x3x{type}>) -> tensor<2x?x3x{type}>
  return %0 : tensor<2x?x3x{type}>
}}
"""

DECOMPOSED = """
#whole = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#rows = affine_map<(d0, d1, d2) -> (d0, d2)>
func.func @f(%a: tensor<2x?x3x{type}>) -> tensor<2x?x3x{type}> {{
  %0 = tensor.empty() : tensor<2x3x{type}>
  %nan = arith.constant {nan} : {type}
  %1 = linalg.fill ins(%nan : {type}) outs(%0 : tensor<2x3x{type}>) -> tensor<2x3x{type}>
  %2 = linalg.generic {{indexing_maps = [#whole, #rows], iterator_types = ["parallel", "reduction", "parallel"]}}
      ins(%a : tensor<2x?x3x{type}>) outs(%1 : tensor<2x3x{type}>) {{
  ^bb0(%in: {type}, %out: {type}):
    %x = arith.maxnumf %in, %out : {type}
    linalg.yield %x : {type}
  }} -> tensor<2x3x{type}>
  %3 = linalg.generic {{indexing_maps = [#whole, #rows, #whole], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%a, %2 : tensor<2x?x3x{type}>, tensor<2x3x{type}>) outs(%a : tensor<2x?x3x{type}>) {{
  ^bb0(%in: {type}, %most: {type}, %out: {type}):
    %x = arith.subf %in, %most : {type}
    %y = math.exp %x : {type}
    linalg.yield %y : {type}
  }} -> tensor<2x?x3x{type}>
  %zero = arith.constant 0.0 : {type}
  %4 = linalg.fill ins(%zero : {type}) outs(%0 : tensor<2x3x{type}>) -> tensor<2x3x{type}>
  %5 = linalg.generic {{indexing_maps = [#whole, #rows], iterator_types = ["parallel", "reduction", "parallel"]}}
      ins(%3 : tensor<2x?x3x{type}>) outs(%4 : tensor<2x3x{type}>) {{
  ^bb0(%in: {type}, %out: {type}):
    %x = arith.addf %in, %out : {type}
    linalg.yield %x : {type}
  }} -> tensor<2x3x{type}>
  %6 = linalg.generic {{indexing_maps = [#whole, #rows, #whole], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%3, %5 : tensor<2x?x3x{type}>, tensor<2x3x{type}>) outs(%a : tensor<2x?x3x{type}>) {{
  ^bb0(%in: {type}, %sum: {type}, %out: {type}):
    %x = arith.divf %in, %sum : {type}
    linalg.yield %x : {type}
  }} -> tensor<2x?x3x{type}>
  return %6 : tensor<2x?x3x{type}>
}}
"""
"""The ops that mlir-opt 22 writes for the softmax (transform.structured.decompose_interface)."""

SPECIAL = [[1.0, -2.5, 0.0], [np.inf, -np.inf, np.nan], [-np.inf, -np.inf, 3.0], [88.0, 1e30, -1e30]]


@each_row(("f32", "0xFFC00000"), ("bf16", "0xFFC0"), ("f16", "0xFE00"), ("f8E4M3FN", "0xFF"))
def test_softmax_is_its_decomposition(type_: str, nan: str) -> None:
    """Each op rounds, and infinities and NaNs go through the same ops."""
    values = hu.Value.from_numpy(np.array([SPECIAL, random(4, 3).tolist()], np.float32)).astype(type_)
    both = [hu.run(text.format(type=type_, nan=nan), values) for text in (SOFTMAX, DECOMPOSED)]
    assert both[0] == both[1]


def test_softmax_on_memrefs_and_in_batches() -> None:
    """A memref may be input and output; a lane of a batch gets what it gets alone."""
    text = """
func.func @f(%a: memref<3x4xf32>) {
  linalg.softmax dimension(0) ins(%a : memref<3x4xf32>) outs(%a : memref<3x4xf32>)
  return
}
"""
    values = random(3, 4)
    buffer = hu.Buffer.from_numpy(values)
    hu.run(text, buffer)
    powers = np.exp(values.astype(np.float64) - values.max(0))
    assert np.abs(buffer.load().numpy() - powers / powers.sum(0)).max() < 1e-6
    agree(SOFTMAX.format(type="f32"), hu.Value.from_numpy(random(3, 2, 5, 3)), track_open=True)


def test_softmax_keeps_poison_in_its_row() -> None:
    """A poison element makes its row poison, and no other."""
    text = """
func.func @f(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %p = ub.poison : f32
  %c = arith.constant 1 : index
  %0 = tensor.insert %p into %a[%c, %c] : tensor<2x3xf32>
  %1 = linalg.softmax dimension(1) ins(%0 : tensor<2x3xf32>) outs(%a : tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
"""
    (found,) = hu.run(text, random(2, 3))
    assert found.poisoned.tolist() == [[False] * 3, [True] * 3]


PACK = """
func.func @f(%a: tensor<?x?xi16>, %d: tensor<?x?x?x?xi16>, %e: tensor<?x?xi16>, %x: i16, %n: index)
    -> (tensor<?x?x?x?xi16>, tensor<?x?xi16>) {
  %0 = linalg.pack %a padding_value(%x : i16) outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [%n, %n]
    into %d : tensor<?x?xi16> -> tensor<?x?x?x?xi16>
  %1 = linalg.unpack %0 outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [%n, %n]
    into %e : tensor<?x?x?x?xi16> -> tensor<?x?xi16>
  return %0, %1 : tensor<?x?x?x?xi16>, tensor<?x?xi16>
}
"""


def test_pack_and_unpack() -> None:
    """Element [J, I, j, i] is that at [I * n + i, J * n + j], or the padding outside."""
    source, n = random(5, 7, type_="i2"), 3
    packed, unpacked = hu.run(PACK, source, np.zeros((3, 2, n, n), np.int16), np.zeros((5, 7), np.int16), 77, n)
    for place in np.ndindex(packed.shape):
        row, column = place[1] * n + place[3], place[0] * n + place[2]
        expected = source[row, column] if row < 5 and column < 7 else 77
        assert packed.numpy()[place] == expected
    assert unpacked.tolist() == source.tolist()
    columns = [hu.Value.from_numpy(np.stack([each, each + 1])) for each in (source, packed.numpy(), source)]
    agree(
        PACK,
        *columns,
        hu.Value.from_numpy(np.array([7, 8], np.int16)),
        hu.Value.from_bits(np.array([3, 3], np.uint64), "index"),
    )


@each_row(
    ((3, 3, 3, 3), 3, "the packed tensor has the shape 3x3x3x3, but 5x7 in tiles [3, 3] of dimensions [1, 0]"),
    ((3, 2, 3, 3), 0, "the sizes of tiles are [0, 0]; each must be positive"),
)
def test_tiles_that_do_not_fit(shape: tuple[int, ...], n: int, words: str) -> None:
    """More tiles than needed, and no tiles, are undefined behaviour."""
    arguments = random(5, 7, type_="i2"), np.zeros(shape, np.int16), np.zeros((5, 7), np.int16), 0, n
    with pytest.raises(hu.UndefinedBehavior, match=re.escape(words)):
        hu.run(PACK, *arguments)


def test_softmax_of_integers() -> None:
    """MLIR reads it, but its decomposition has no ops for it."""
    text = SOFTMAX.format(type="i32")
    with pytest.raises(hu.Unsupported, match=r"linalg\.softmax only on floats, not on 'i32'"):
        hu.run(text, random(2, 4, 3, type_="i4"))


def test_an_axis_is_broadcast_along_once() -> None:
    """mlir-opt 22 crashes on this op."""
    text = """func.func @f(%x: memref<f64>, %out: memref<3x2xf64>) {
      linalg.broadcast ins(%x : memref<f64>) outs(%out : memref<3x2xf64>) dimensions = [0, 0]
      return
    }"""
    with pytest.raises(hu.VerifyError, match="dimension 1 is 0, as an earlier one is"):
        hu.load(text)


# --- all of them, beside MLIR -----------------------------------------------------------------------------------------


@pytest.mark.mlir
def test_generalised_programs_give_the_same(mlir_opt: Callable[..., str]) -> None:
    """Every named op gives what its linalg.generic gives, as mlir-opt writes it."""
    cases = list(programs(memrefs=False))
    text = "\n// -----\n".join(case.text for case in cases)
    generic = mlir_opt(text, "--split-input-file", "--linalg-generalize-named-ops").split("// -----")
    for case, other in zip(cases, generic, strict=True):
        assert case.name not in other
        assert outcome(case.text, case.arguments) == outcome(other, case.arguments), case.text


@pytest.mark.mlir
@pytest.mark.exhaustive
def test_loops_of_named_ops_give_the_same() -> None:
    """Every named op on memrefs, beside mlir-runner after --convert-linalg-to-loops."""
    cases = [case for case in programs(memrefs=True) if not LIBRARY.search(case.text)]
    mine: list[tuple[Program, list[hu.Value]]] = []
    for case in cases:
        buffers = [hu.Buffer.from_numpy(each) for each in case.arguments]
        if outcome(case.text, buffers) != "undefined":
            mine.append((case, [buffer.load() for buffer in buffers]))
    assert len(mine) > 300
    for first in range(0, len(mine), 12):
        some = mine[first : first + 12]
        theirs = run_loops([(case.text, case.arguments) for case, _ in some])
        for (case, values), rows in zip(some, theirs, strict=True):
            for value, row in zip(values, rows, strict=True):
                assert value.poison is not None or same_numbers(value, row, case.text), case.text
