"""What changed in MLIR 24: programs that MLIR 22 refuses, programs that MLIR 24 refuses, and what the new ones compute."""

import numpy as np
import pytest
from tables import each_row

import halfulp as hu
from halfulp.conformance.oracles.mlir_opt import find_mlir_opt
from halfulp.conformance.whole_programs.text_check import read_there
from halfulp.interp.bytecode.writer import write_bytecode
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.loading import parse_module, read_bytecode
from halfulp.interp.text.changes import CHANGES
from halfulp.interp.text.printer import print_module

MAPS = (
    "indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], "
    'iterator_types = ["reduction"], kind = #vector.kind<add>'
)
CONTRACT = f"%r = vector.contract {{{MAPS}}} %v, %v, %x : vector<4xf32>, vector<4xf32> into f32"

NEWER = {
    "math.fma %x, %x, %x upward : f32": "the property 'roundingmode' of 'math.fma'",
    CONTRACT.replace(
        "kind = ", "fastmath = #arith.fastmath<nnan>, kind = ", 1
    ): "the property 'fastmath' of 'vector.contract'",
    "vector.step : vector<4xi8>": "the type 'vector<4xi8>' of 'vector.step'",
    "vector.reduction <maximumnumf>, %v : vector<4xf32> into f32": "the kind 'maximumnumf' of 'vector.reduction'",
    "vector.expandload %m[%i], %k, %w : memref<?xf32>, vector<[4]xi1>, vector<[4]xf32> into vector<[4]xf32>": (
        "the mask 'vector<[4]xi1>' of 'vector.expandload'"
    ),
    "linalg.elementwise <sin> ins(%t : tensor<4xf32>) outs(%t : tensor<4xf32>) -> tensor<4xf32>": (
        "the kind 'sin' of 'linalg.elementwise'"
    ),
    "memref.cast %u : memref<*xf32> to memref<*xf32>": (
        "the cast to 'memref<*xf32>', which is not ranked either, of 'memref.cast'"
    ),
}
"""Ops that mlir-opt 22.1.8 rejects and mlir-opt 24.0.0 (2026-10-25) accepts, with what MLIR 22 does not have."""

OLDER = {
    "arith.addi %z, %z : i0": "the type 'i0' of 'arith.addi'",
    "arith.extui %z : i0 to i8": "the type 'i0' of 'arith.extui'",
    "vector.reduction <add>, %y : vector<2xi0> into i0": "the type 'vector<2xi0>' of 'vector.reduction'",
    "tosa.slice %t, %p, %p : (tensor<4xf32>, !tosa.shape<1>, !tosa.shape<1>) -> tensor<4xf32>": (
        "a size of 0 of 'tosa.slice'"
    ),
    **{
        f"tosa.slice %t, %{start}, %{size} : (tensor<4xf32>, !tosa.shape<1>, !tosa.shape<1>) -> {result}": (
            f"{said} of 'tosa.slice'"
        )
        for start, size, result, said in (
            ("minus2", "p2", "tensor<2xf32>", "a start of -2"),
            ("p", "minus2", "tensor<?xf32>", "a size of -2"),
            ("p", "p2", "tensor<3xf32>", "the sizes [2] for the result 'tensor<3xf32>'"),
            ("p3", "p2", "tensor<*xf32>", "the end 5 of axis 0, which has the size 4,"),
        )
    },
    "tensor.expand_shape %t [[0, 1]] output_shape [2, 3] : tensor<4xf32> into tensor<2x2xf32>": (
        "output_shape at pos 1 of 'tensor.expand_shape'"
    ),
    "tosa.concat_shape %p, %q : (!tosa.shape<1>, !tosa.shape<0>) -> !tosa.shape<1>": (
        "the shape '!tosa.shape<0>' of 'tosa.concat_shape'"
    ),
}
"""Ops that mlir-opt 22.1.8 accepts, and torch-mlir 24.0.0git and mlir-opt 24.0.0 reject."""

OPEN_SLICE = (
    "tosa.slice %t, %minus1, %p3 : (tensor<4xf32>, !tosa.shape<1>, !tosa.shape<1>) -> tensor<3xf32>",
    "tosa.slice %t, %p3, %minus1 : (tensor<4xf32>, !tosa.shape<1>, !tosa.shape<1>) -> tensor<2xf32>",
)
BOTH = (*OPEN_SLICE, "arith.select %c, %z, %z : i0", "arith.constant 0 : i0", "vector.step : vector<4xindex>", CONTRACT)


def program(op: str) -> str:
    result = "" if op.startswith("%") else "%r = "
    arguments = (
        "%x: f32, %v: vector<4xf32>, %z: i0, %y: vector<2xi0>, %c: i1, %m: memref<?xf32>, %i: index, "
        "%k: vector<[4]xi1>, %w: vector<[4]xf32>, %t: tensor<4xf32>, %u: memref<*xf32>"
    )
    shapes = (
        '%p = "tosa.const_shape"() <{values = dense<0> : tensor<1xindex>}> : () -> !tosa.shape<1>\n'
        '%q = "tosa.const_shape"() <{values = dense<> : tensor<0xindex>}> : () -> !tosa.shape<0>\n'
    ) + "".join(
        f'%{name} = "tosa.const_shape"() <{{values = dense<{size}> : tensor<1xindex>}}> : () -> !tosa.shape<1>\n'
        for name, size in (("minus1", -1), ("minus2", -2), ("p2", 2), ("p3", 3))
    )
    before = shapes if op.startswith("tosa") else ""
    return f"func.func @f({arguments}) {{\n  {before}{result}{op}\n  return\n}}\n"


def refusal(op: str, schema: Schema) -> str | None:
    try:
        text = print_module(parse_module(program(op)), schema=schema)
    except hu.Unsupported as error:
        return error.message
    again = print_module(parse_module(text), schema=schema)
    return None if again == text else f"read back: {again}"


@each_row(*{**NEWER, **OLDER}.items())
def test_the_version_that_lacks_it_refuses_it(op: str, what: str) -> None:
    lacking, having = Schema.MLIR22, Schema.LLVM24
    if op in OLDER:
        lacking, having = having, lacking
    name = {Schema.MLIR22: "MLIR 22", Schema.LLVM24: "LLVM 24"}[lacking]
    assert refusal(op, lacking) == f"{what} does not exist in {name}"
    assert refusal(op, having) is None


def test_other_ops_are_in_both() -> None:
    assert [op for op in BOTH for schema in Schema if refusal(op, schema) is not None] == []


def test_each_change_has_an_example() -> None:
    examples = {*NEWER, *OLDER}
    names = [{name.removesuffix("*") for name in change.ops} for change in CHANGES]
    assert [row for row in names if not any(op.startswith(tuple(row)) for op in examples)] == []


@pytest.mark.torch_mlir
@each_row(*OLDER)
def test_real_mlir_24_refuses_it(op: str) -> None:
    assert read_there(find_mlir_opt("24"), program(op)).error


# --- values -----------------------------------------------------------------------------------------------------------


def test_a_fused_multiply_add_rounds_by_its_mode() -> None:
    """(1 + 2**-12)**2 + 2**-40 is 1 + 2**-11 + 2**-24 + 2**-40: more than half way between two numbers of f32."""
    x, c = 1 + 2.0**-12, 2.0**-40
    low, high = np.float32(1 + 2.0**-11), np.float32(1 + 2.0**-11 + 2.0**-23)
    expected = {"to_nearest_even": high, "downward": low, "upward": high, "toward_zero": low, "to_nearest_away": high}
    for mode, result in expected.items():
        text = (
            f"func.func @f(%x: f32, %c: f32) -> f32 {{\n  %r = math.fma %x, %x, %c {mode} : f32\n  return %r : f32\n}}"
        )
        assert hu.run(text, np.float32(x), np.float32(c))[0] == hu.Value.from_numpy(result), mode
        assert hu.eval("math.fma", np.float32(x), np.float32(x), np.float32(c), rounding=mode).numpy() == result


def test_steps_of_small_integers_keep_the_low_bits() -> None:
    (found,) = hu.run(
        "func.func @f() -> vector<258xi8> {\n  %r = vector.step : vector<258xi8>\n  return %r : vector<258xi8>\n}"
    )
    assert found.bits.tolist() == [*range(256), 0, 1]


def test_flags_of_a_contraction_hold_for_its_products_and_sums() -> None:
    text = program(CONTRACT).replace("return\n", "return %r : f32\n").replace(") {", ") -> f32 {")
    text = text[: text.index("@f(")] + "@f(%x: f32, %v: vector<4xf32>) -> f32 {" + text[text.index(" {\n") + 2 :]
    values = np.array([1, 2, np.nan, 4], np.float32)
    assert np.isnan(hu.run(text, np.float32(0), values)[0].numpy())
    flagged = text.replace("kind = ", "fastmath = #arith.fastmath<nnan>, kind = ", 1)
    assert hu.run(flagged, np.float32(0), values)[0].poisoned


def test_combinations_by_maximum_number_ignore_nan() -> None:
    op = "vector.reduction <maximumnumf>, %v : vector<4xf32> into f32"
    text = f"func.func @f(%v: vector<4xf32>) -> f32 {{\n  %r = {op}\n  return %r : f32\n}}"
    assert hu.run(text, np.array([-3, np.nan, 2, -0.0], np.float32))[0].numpy() == 2


def test_unsigned_bounds_of_parallel_loops() -> None:
    """From 2**64 - 3 to 2**64 - 1 there are two points; as signed numbers -3 and -1, too. From 1 to 2**64 - 1 by 2**63
    there are two, but as signed numbers none.
    """
    body = "{\n    %o = arith.constant 1 : i32\n    scf.reduce(%o : i32) {\n    ^bb0(%p: i32, %q: i32):\n      %s = arith.addi %p, %q : i32\n      scf.reduce.return %s : i32\n    }\n  }"
    text = (
        "func.func @f(%a: index, %b: index, %c: index) -> i32 {\n  %z = arith.constant 0 : i32\n"
        f"  %n = scf.parallel unsigned (%i) = (%a) to (%b) step (%c) init (%z) -> i32 {body}\n  return %n : i32\n}}\n"
    )
    for bounds, count in {(-3, -1, 1): 2, (1, -1, 1 << 62): 4, (5, 3, 1): 0}.items():
        assert hu.run(text, *(np.uint64(b % (1 << 64)) for b in bounds))[0].numpy() == count, bounds
    with pytest.raises(hu.UndefinedBehavior):
        hu.run(text.replace("unsigned ", ""), 1, 2, -1)


EMPTY_BY_MLIR_24 = (
    "4d4cef520d4d4c495232342e302e300001230503070303070703030701030b0305070f031b0d03010d0b130b0b131301030f"
    "022b0509170101010d01050b1701030317010507050101043105015003010704210301050350090307040d03010505000b06"
    "0301050100590d05110f0f0b116275696c74696e0066756e63006d6f64756c650072657475726e003c737464696e3e006600"
    "081b05070101010f01050101070101"
)

# --- bytecode ---------------------------------------------------------------------------------------------------------


@each_row("func.func private @g() attributes {dlti = 1 : i8}\n", "func.func private @g()\n")
def test_builds_of_one_version_write_other_bytecode(text: str) -> None:
    """The newest builds have a property more in each module; the first builds read only what lacks it."""
    module = parse_module(text)
    assert print_module(read_bytecode(write_bytecode(module, schema=Schema.LLVM24))) == print_module(module)


def test_bytecode_of_the_newest_build() -> None:
    """What mlir-opt 24.0.0 of 2026-10-25 writes for an empty function."""
    assert print_module(read_bytecode(bytes.fromhex(EMPTY_BY_MLIR_24))) == (
        "module {\n  func.func @f() {\n    return\n  }\n}\n"
    )
