"""Products, gathers with sizes at run time, scans and broadcasts of StableHLO and chlo, beside NumPy on small integers,
whose sums and products are exact; QR factors beside their matrix; tuples and tokens at the entry.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import halfulp as hu

RNG = np.random.default_rng(11)
Array = npt.NDArray[Any]


def small(*shape: int) -> Array:
    return RNG.integers(-4, 5, size=shape).astype(np.float32)


def type_of(array: Array) -> str:
    sizes = "".join(f"{size}x" for size in array.shape)
    return f"tensor<{sizes}{'f' if array.dtype.kind == 'f' else 'i'}{8 * array.dtype.itemsize}>"


def run(op: str, expected: Array, *operands: Array, attributes: str = "", result: str = "") -> Array:
    """Run an op in its generic form, or with ``$`` for its operands, and return its result."""
    names = ", ".join(f"%a{k}" for k in range(len(operands)))
    types, made = ", ".join(map(type_of, operands)), result or type_of(expected)
    arguments = ", ".join(f"%a{k}: {type_of(each)}" for k, each in enumerate(operands))
    body = op.replace("$", names) if "$" in op else f'"{op}"({names}) <{{{attributes}}}>'
    text = f"func.func @f({arguments}) -> {made} {{ %r = {body} : ({types}) -> {made} return %r : {made} }}"
    found: Array = hu.run(text, *operands)[0].numpy()
    return found


def test_older_products_are_those_of_numpy() -> None:
    for one, other in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4))):
        a, b = small(*one), small(*other)
        assert np.array_equal(run("stablehlo.dot $", np.asarray(a @ b), a, b), a @ b)
    for config, shapes in (
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("bij,bkj->kbi", [(2, 3, 4), (2, 5, 4)]),
        ("ij,ij->", [(2, 3), (2, 3)]),
        ("ij,k->jk", [(2, 3), (4,)]),
        ("ii,i->i", [(3, 3), (3,)]),
        ("ij->ji", [(2, 3)]),
        ("ij->i", [(2, 3)]),
        ("ii->i", [(3, 3)]),
    ):
        operands = [small(*shape) for shape in shapes]
        name = "einsum" if len(operands) == 2 else "unary_einsum"
        expected = np.asarray(np.einsum(config, *operands))
        assert np.array_equal(run(f'stablehlo.{name} $, config = "{config}"', expected, *operands), expected), config
    for config, message in (("ij,jk", "one letter for each"), ("i,j->ij", "one letter"), ("ij,jk->ii", "repeats")):
        with pytest.raises(hu.Unsupported, match=message):
            run(f'stablehlo.einsum $, config = "{config}"', small(2, 2), small(2, 2), small(2, 2))
    with pytest.raises(hu.errors.UndefinedBehavior, match="letter j stands for dimensions of different sizes, 3 and 2"):
        run('stablehlo.einsum $, config = "ij,jk->ik"', small(2, 2), small(2, 3), small(2, 2))


def test_elements_chosen_at_run_time() -> None:
    for shape, given, dim, batch in (((3, 4), (2,), 0, 0), ((3, 4), (2, 2), 1, 0), ((3, 4, 2), (3, 5), 2, 1)):
        a, index = small(*shape), RNG.integers(-1, 5, size=given).astype(np.int32)
        inside = np.clip(index, 0, shape[dim] - 1)
        rows = zip(a, inside, strict=False)
        expected = np.stack([np.take(*row, dim - 1) for row in rows]) if batch else np.take(a, inside, dim)
        attributes = f"batch_dims = {batch} : i64, dim = {dim} : i64"
        assert np.array_equal(run("stablehlo.torch_index_select", expected, a, index, attributes=attributes), expected)
    numbers = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"
    attributes, a = f"dimension_numbers = #stablehlo.gather<{numbers}>", small(3, 4)
    index = np.array([[2], [0]], np.int32)
    for sizes in ([1, 3], [1, 0]):
        found = run(
            "stablehlo.dynamic_gather", a, a, index, np.array(sizes, np.int32),
            attributes=attributes, result="tensor<?x?xf32>",
        )  # fmt: skip
        assert np.array_equal(found, a[[2, 0], : sizes[1]])
    for sizes in ([2, 3], [1, 5]):
        with pytest.raises(hu.errors.UndefinedBehavior, match="is larger than"):
            run(
                "stablehlo.dynamic_gather", a, a, index, np.array(sizes, np.int32),
                attributes=attributes, result="tensor<?x?xf32>",
            )  # fmt: skip
    cut = run(
        "stablehlo.set_dimension_size $, dim = 1", a, a, np.array(2, np.int32),
        result="tensor<3x?xf32, #stablehlo.bounds<?, 4>>",
    )  # fmt: skip
    assert np.array_equal(cut, a[:, :2])


def test_a_convolution_with_its_padding_at_run_time() -> None:
    signal, kernel = small(1, 6, 1), small(3, 1, 1)
    numbers = "dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>"
    attributes = f"batch_group_count = 1 : i64, feature_group_count = 1 : i64, {numbers}"
    for low, high in ((0, 0), (1, 2), (-1, 1)):
        found = run(
            "stablehlo.dynamic_conv", signal, signal, kernel, np.array([[low, high]], np.int32),
            attributes=attributes, result="tensor<1x?x1xf32>",
        )  # fmt: skip
        padded = np.pad(signal.reshape(-1)[max(-low, 0) :], (max(low, 0), high))
        assert np.array_equal(found.reshape(-1), np.convolve(padded, kernel.reshape(-1)[::-1], "valid"))


def test_ragged_products() -> None:
    """The three modes: groups of rows, of contracted elements, and of batches; and rows that are in no group."""

    def ragged(shape: tuple[int, ...], a: Array, b: Array, sizes: Any, **dims: list[int]) -> Array:
        fields = ", ".join(f"{name} = {numbers}" for name, numbers in dims.items())
        return run(
            "chlo.ragged_dot", np.zeros(shape, np.float32), a, b, np.array(sizes, np.int32),
            attributes=f"ragged_dot_dimension_numbers = #chlo.ragged_dot<{fields}>",
        )  # fmt: skip

    rows, stack = small(5, 3), small(3, 3, 4)
    found = ragged(
        (5, 4), rows, stack, [1, 3, 0], lhs_contracting_dimensions=[1], rhs_contracting_dimensions=[1],
        lhs_ragged_dimensions=[0], rhs_group_dimensions=[0],
    )  # fmt: skip
    assert np.array_equal(found, np.concatenate([rows[:1] @ stack[0], rows[1:4] @ stack[1], np.zeros((1, 4))]))
    a, b, sizes = small(2, 5, 3), small(3, 2, 3, 4), [[1, 3, 1], [0, 5, 2]]
    found = ragged(
        (2, 5, 4), a, b, sizes, lhs_batching_dimensions=[0], rhs_batching_dimensions=[1],
        lhs_contracting_dimensions=[2], rhs_contracting_dimensions=[2], lhs_ragged_dimensions=[1],
        rhs_group_dimensions=[0],
    )  # fmt: skip
    groups = [[0, 1, 1, 1, 2], [1, 1, 1, 1, 1]]
    assert np.array_equal(found, [[a[k, row] @ b[groups[k][row], k] for row in range(5)] for k in range(2)])
    a, b = small(5, 3), small(5, 4)
    found = ragged(
        (3, 3, 4), a, b, [1, 0, 3], lhs_contracting_dimensions=[0], rhs_contracting_dimensions=[0],
        lhs_ragged_dimensions=[0],
    )  # fmt: skip
    assert np.array_equal(found, [a[:1].T @ b[:1], np.zeros((3, 4)), a[1:4].T @ b[1:4]])
    a, b = small(4, 3, 5), small(4, 5, 2)
    dims = {"lhs_batching_dimensions": [0], "rhs_batching_dimensions": [0], "lhs_ragged_dimensions": [0]}
    found = ragged((4, 3, 2), a, b, [1, 2], lhs_contracting_dimensions=[2], rhs_contracting_dimensions=[1], **dims)
    assert np.array_equal(found, a @ b)
    with pytest.raises(hu.errors.UndefinedBehavior, match="size of a group is negative"):
        ragged(
            (3, 3, 4), small(5, 3), small(5, 4), [1, -1, 3], lhs_contracting_dimensions=[0],
            rhs_contracting_dimensions=[0], lhs_ragged_dimensions=[0],
        )  # fmt: skip


def test_scans_forwards_and_backwards() -> None:
    x, start = small(3, 4), small(3)
    part = "tensor<3xf32>"
    for reverse, given in ((False, x), (True, x[:, ::-1])):
        text = f"""func.func @f(%x: tensor<3x4xf32>, %c: {part}) -> (tensor<3x4xf32>, {part}) {{
          %0:2 = chlo.scan(%x) inits (%c) dimension=1 attributes {{is_reverse = {str(reverse).lower()}}} {{
            ^bb0(%i: {part}, %k: {part}):
              %s = stablehlo.add %k, %i : {part}
              %m = stablehlo.multiply %s, %i : {part}
              stablehlo.return %m, %s : {part}, {part}
          }} : (tensor<3x4xf32>, {part}) -> (tensor<3x4xf32>, {part})
          return %0#0, %0#1 : tensor<3x4xf32>, {part}
        }}"""
        sums = start[:, np.newaxis] + np.cumsum(given, axis=1)
        products, last = (value.numpy() for value in hu.run(text, x, start))
        assert np.array_equal(products[:, ::-1] if reverse else products, sums * given)
        assert np.array_equal(last, sums[:, -1])


def test_operands_are_broadcast_to_one_shape() -> None:
    a, b = small(2, 3), small(3)
    assert np.array_equal(run("chlo.broadcast_add $", a, a, b), a + b)
    attributes = "{broadcast_dimensions = array<i64: 0>, comparison_direction = #chlo<comparison_direction LT>}"
    less = run(f"chlo.broadcast_compare $ {attributes}", a, a, b[:2], result="tensor<2x3xi1>")
    assert np.array_equal(less, a < b[:2, np.newaxis])
    column, number = small(2, 1), np.array(7, np.float32)
    text = """func.func @f(%p: tensor<3xi1>, %a: tensor<2x1xf32>, %b: tensor<f32>) -> tensor<2x3xf32> {
      %r = chlo.broadcast_select %p, %a, %b : (tensor<3xi1>, tensor<2x1xf32>, tensor<f32>) -> tensor<2x3xf32>
      return %r : tensor<2x3xf32>
    }"""
    mask = np.array([True, False, True])
    assert np.array_equal(hu.run(text, mask, column, number)[0].numpy(), np.where(mask, column, number))
    like = 'func.func @f(%a: tensor<?xf32>) -> tensor<?xf32> { %r = "chlo.constant_like"(%a) <{value = 2.5 : f32}> : '
    assert hu.run(f"{like}(tensor<?xf32>) -> tensor<?xf32> return %r : tensor<?xf32> }}", b)[0].tolist() == [2.5] * 3


@pytest.mark.jax
@pytest.mark.parametrize("dtype", ["f4", "c8"])
def test_qr_factors_are_those_of_their_matrix(dtype: str) -> None:
    """The product of the factors differs from the matrix, and Q^H Q from the unit matrix, by the bound of Higham
    (Accuracy and Stability of Numerical Algorithms, 2nd edition, 19.3), a few times rows * columns roundings.
    """
    jnp = import_module("jax.numpy")
    for shape, mode, scale in (((4, 3), "reduced", 1e25), ((2, 3, 4), "complete", 1e-30), ((5, 2), "complete", 1)):
        a: Array = RNG.normal(size=shape) * scale
        a = (a + 1j * RNG.normal(size=shape) * scale if dtype[0] == "c" else a).astype(dtype)
        q, r = (value.numpy() for value in hu.run(lambda a, mode=mode: jnp.linalg.qr(a, mode=mode), a))
        bound = 4 * shape[-1] * shape[-2] * np.finfo(dtype).eps
        assert np.abs(q @ r - a).max() <= bound * np.abs(a).max()
        assert np.abs(np.swapaxes(q.conj(), -1, -2) @ q - np.eye(q.shape[-1])).max() <= bound
        assert not np.tril(r, -1).any()
        for found, expected in zip((q, r), jnp.linalg.qr(a, mode=mode), strict=True):
            assert np.abs(found - expected).max() <= bound * np.abs(expected).max()


def test_tuples_and_tokens_at_the_entry() -> None:
    line, token = "tensor<2xf32>", "!stablehlo.token"
    inner = f"tuple<{line}, {token}>"
    text = f"""func.func @f(%k: {token}, %a: tuple<{line}, {line}>) -> (tuple<{line}, {inner}>, {token}) {{
      %0 = stablehlo.get_tuple_element %a[0] : (tuple<{line}, {line}>) -> {line}
      %1 = stablehlo.get_tuple_element %a[1] : (tuple<{line}, {line}>) -> {line}
      %2 = stablehlo.tuple %1, %k : {inner}
      %3 = stablehlo.tuple %0, %2 : tuple<{line}, {inner}>
      return %3, %k : tuple<{line}, {inner}>, {token}
    }}"""
    a, b = small(2), small(2)
    found = hu.run(text, None, (a, b))
    assert [value.tolist() for value in found] == [a.tolist(), b.tolist()]
    for token_, pair, message in (
        (1, (a, b), "argument 0 of @f: expected None"),
        (None, a, "a tuple or list of 2"),
        (None, (a, small(3)), r"argument 1 of @f\[1\]"),
    ):
        with pytest.raises(hu.TypeMismatch, match=message):
            hu.run(text, token_, pair)
