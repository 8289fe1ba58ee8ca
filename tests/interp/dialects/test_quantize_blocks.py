"""halfulp.quantize_blocks: blocks that share a scale, in programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.conformance.vectors.computation import ProgramComputation
from halfulp.conformance.vectors.recipe import Recipe

RNG = np.random.default_rng(3)


def _program(types: str, attributes: str, scale: bool = False) -> str:
    given, made = types.split(" to ")
    x, *rest = given.split(", ")
    results = made.split(", ")
    returned = ", ".join(f"%r#{number}" for number in range(len(results)))
    arguments = f"%x: {x}" + (", %t: f32" if rest else "")
    return f"""
    func.func @main({arguments}) -> ({made}) {{
      %r:{len(results)} = halfulp.quantize_blocks %x{" scaled %t" if rest else ""} {attributes} : {types}
      return {returned} : {made}
    }}"""


MX = _program("tensor<?x32xf32> to tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>", '{recipe = "mx"}')


@pytest.mark.parametrize("how", ["text", "generic", "bytecode"])
def test_a_block_by_hand(how: str) -> None:
    module = hu.load(MX)
    if how != "text":
        module = hu.load(hu.write_bytecode(module) if how == "bytecode" else hu.print_module(module, generic=True))
    assert 'halfulp.quantize_blocks %arg0 {recipe = "mx"} : tensor<?x32xf32> to' in hu.print_module(module)
    # OCP MX 1.0, 6.3: the scale is 2^(floor(log2(amax)) - 2); of amax 13 it is 2, of amax 0.7 it is 2^-3.
    x = np.zeros((2, 32), np.float32)
    x[0, :5] = 13, -1.25, 2.5, 0.2, -12
    x[1, :3] = 0.7, -0.03, 0.1
    elements, scales = hu.run(module, x)
    assert scales.tolist() == [[2.0], [0.125]]
    assert elements.tolist()[0][:5] == [6.0, -0.5, 1.0, 0.0, -6.0]  # 6.5 saturates, 1.25 is a tie
    assert elements.tolist()[1][:3] == [6.0, -0.0, 1.0]  # 5.6, -0.24, 0.8


RECIPES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ceil": ("tensor<4x64xf32> to tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>", '{recipe = "ceil"}', {}),
    "even": ("tensor<4x64xbf16> to tensor<4x64xf6E3M2FN>, tensor<4x2xf8E8M0FNU>", '{recipe = "even"}', {}),
    "rceil": (
        "vector<4x64xf32> to vector<4x64xf8E5M2>, vector<1x64xf8E8M0FNU>",
        'upward {recipe = "rceil", axis = 0 : i64, block = 4 : i64}',
        {"axis": 0, "block": 4, "rounding": "upward"},
    ),
    "floor": ("tensor<4x64xf64> to tensor<4x64xi8>, tensor<4x4xf8E8M0FNU>", '{recipe = "floor", block = 16 : i64}', {}),
    "nvfp4": ("tensor<4x64xf32> to tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>, f32", '{recipe = "nvfp4"}', {}),
    "nvfp4-te": ("tensor<4x64xf32> to tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>, f32", '{recipe = "nvfp4-te"}', {}),
    "one level": (
        "tensor<4x64xf16> to tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>",
        '{recipe = "nvfp4"}',
        {"tensor_scale": None},
    ),
    "given": (
        "tensor<4x64xf32>, f32 to tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>",
        '{recipe = "nvfp4"}',
        {"tensor_scale": 0.03},
    ),
}


@pytest.mark.parametrize("name", RECIPES)
def test_programs_and_lanes_give_what_the_function_gives(name: str) -> None:
    """The function is compared with torchao and others in tests/api/quantizing."""
    types, attributes, options = RECIPES[name]
    module = hu.load(_program(types, attributes))
    kind = types.split("x")[2].split(">")[0]
    batch = hu.convert(RNG.normal(size=(3, 4, 64)) * np.exp2(RNG.integers(-9, 9, (3, 4, 1))), kind)
    scale = (options["tensor_scale"],) if name == "given" else ()
    recipe = attributes.split('"')[1]
    options = {"block": 16, **options} if name == "floor" else options
    element = types.split(" to ")[1].split("x")[2].split(">")[0]
    together = hu.run(module, batch, *scale, batch=True)
    for lane in range(3):
        found = hu.run(module, batch[lane], *scale)
        expected = hu.quantize_blocks(batch[lane], element, recipe, **options)
        assert found[0].bits.tolist() == expected.elements.bits.tolist()
        assert found[1].bits.tolist() == expected.scales.bits.tolist()
        if len(found) > 2:
            assert expected.tensor_scale is not None
            assert found[2] == expected.tensor_scale
        assert all(np.array_equal(one.bits, many.bits[lane]) for one, many in zip(found, together, strict=True))


def test_poison_spoils_its_block() -> None:
    text = """
    func.func @main(%x: tensor<64xf32>) -> (tensor<64xf4E2M1FN>, tensor<2xf8E8M0FNU>) {
      %p = ub.poison : f32
      %c = arith.constant 40 : index
      %y = tensor.insert %p into %x[%c] : tensor<64xf32>
      %r:2 = halfulp.quantize_blocks %y {recipe = "mx"} : tensor<64xf32> to tensor<64xf4E2M1FN>, tensor<2xf8E8M0FNU>
      return %r#0, %r#1 : tensor<64xf4E2M1FN>, tensor<2xf8E8M0FNU>
    }"""
    elements, scales = hu.run(text, np.ones(64, np.float32))
    assert elements.poisoned.tolist() == [False] * 32 + [True] * 32
    assert scales.poisoned.tolist() == [False, True]


def test_vectors_have_whole_blocks_as_rows() -> None:
    text = _program("tensor<4xf16> to tensor<4xf4E2M1FN>, tensor<1xf8E8M0FNU>", '{recipe = "rceil", block = 4 : i64}')
    recipe = Recipe(ProgramComputation(text, "main"), "weighted", count=100)
    names = [column.name for column in recipe.columns]
    assert names[:9] == ["arg0_0", "arg0_1", "arg0_2", "arg0_3", *(f"result0_{k}" for k in range(4)), "result1_0"]
    (rows,) = list(recipe.chunks())
    for row in range(0, len(rows[0]), 7):
        x = hu.Value.from_bits(np.array([column[row] for column in rows[:4]]), "f16")
        expected = hu.quantize_blocks(x, "f4E2M1FN", "rceil", block=4)
        assert [int(column[row]) for column in rows[4:9]] == [*expected.elements.bits, *expected.scales.bits]


def test_random_blocks_fill_the_element_type() -> None:
    text = _program("tensor<32xf32> to tensor<32xf4E2M1FN>, tensor<1xf8E8M0FNU>", '{recipe = "mx"}')
    recipe = Recipe(ProgramComputation(text, "main"), "weighted", count=400)
    (rows,) = list(recipe.chunks())
    elements = np.stack(rows[32:64])
    assert np.unique(elements).size == 16
    assert (elements & 7 == 0).mean() < 0.5  # of elements that are drawn alone, nearly all become zero
    assert np.unique(rows[64]).size > 100
    parts = [column for chunk in recipe.chunks(size=64) for column in [chunk[40]]]
    assert np.array_equal(np.concatenate(parts), rows[40])


F4 = "tensor<4x32xf32> to tensor<4x32xf4E2M1FN>"
ERRORS = {
    (f"{F4}, tensor<4x1xf8E8M0FNU>", '{recipe = "mxx"}'): r"recipe is 'mxx', but must be one of .*did you mean `mx`",
    (f"{F4}, tensor<4x1xf8E8M0FNU>", ""): "requires attribute 'recipe'",
    (f"{F4}, tensor<4x2xf8E8M0FNU>", '{recipe = "mx"}'): "its shape must be 4x1",
    (f"{F4}, vector<4x1xf8E8M0FNU>", '{recipe = "mx"}'): "its shape must be 4x1",
    (f"{F4}, tensor<4x1xf8E4M3FN>", '{recipe = "mx"}'): "the recipe floor makes scales of f8E8M0FNU",
    (f"{F4}, tensor<4x1xf8E8M0FNU>", '{recipe = "mx", axis = 2 : i64}'): "axis is 2, but the input has 2 dimensions",
    (f"{F4}, tensor<4x1xf8E8M0FNU>", '{recipe = "mx", block = 5 : i64}'): "not a multiple of the block of 5",
    (f"{F4}, tensor<4x1xf8E8M0FNU>", '{recipe = "mx", block = 0 : i64}'): "block is 0",
    (f"{F4}, tensor<4x1xf8E8M0FNU>, f32", '{recipe = "mx"}'): "has no scale for the tensor",
    (f"{F4}, tensor<4x2xf8E4M3FN>", '{recipe = "nvfp4-te"}'): "has no form with one level",
    ("tensor<4x32xf32> to tensor<4x32xf16>, tensor<4x2xf8E4M3FN>", '{recipe = "nvfp4"}'): "does not take elements",
    ("tensor<4x32xf64> to tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>", '{recipe = "nvfp4"}'): "computes in f32",
    ("tensor<4x32xf128> to tensor<4x32xf4E2M1FN>, tensor<4x1xf8E8M0FNU>", '{recipe = "mx"}'): "up to 64 bits",
    ("tensor<4x32xf32>, f32 to tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>, f32", '{recipe = "nvfp4"}'): "not both",
    ("tensor<f32> to tensor<f4E2M1FN>, tensor<1xf8E8M0FNU>", '{recipe = "mx"}'): "ranked tensor or vector of floats",
}


@pytest.mark.parametrize("case", ERRORS, ids=str)
def test_errors(case: tuple[str, str]) -> None:
    with pytest.raises(hu.VerifyError, match=ERRORS[case]):
        hu.load(_program(*case))


def test_sizes_and_scales_at_run_time() -> None:
    text = _program("tensor<?xf32> to tensor<?xf4E2M1FN>, tensor<?xf8E8M0FNU>", '{recipe = "mx"}')
    assert hu.run(text, np.ones(64, np.float32))[1].shape == (2,)
    with pytest.raises(hu.UndefinedBehavior, match="dimension 0 has 40 elements, which is not a multiple"):
        hu.run(text, np.ones(40, np.float32))
    types, attributes, _ = RECIPES["given"]
    with pytest.raises(hu.UndefinedBehavior, match=r"the scale for the tensor is -1\.0, but must be positive"):
        hu.run(_program(types, attributes), np.ones((4, 64), np.float32), -1.0)


RESULTS = {
    "tensor<4x32xf4E2M1FN>": "expected 2 or more results, but found 1",
    "tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>, f32, f32": "expected 2 to 3 results, but found 4",
}


@pytest.mark.parametrize("results", RESULTS)
def test_an_op_has_two_or_three_results(results: str) -> None:
    count = results.count(", ") + 1
    with pytest.raises(hu.VerifyError, match=RESULTS[results]):
        hu.load(f"""func.func @main(%x: tensor<4x32xf32>) {{
          %r:{count} = "halfulp.quantize_blocks"(%x) <{{recipe = "nvfp4"}}> : (tensor<4x32xf32>) -> ({results})
          return
        }}""")
