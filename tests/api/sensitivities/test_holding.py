"""Programs with numbers in another format: what they compute, by hand and by NumPy, and that they are valid."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from amounts import thinned
from numpy.typing import NDArray
from tables import each_row

import halfulp as hu
from halfulp.conformance.whole_programs.generator.functions import random_function
from halfulp.conformance.whole_programs.generator.structured import structured_text
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Module, Operation, OpResult
from halfulp.sensitivities.flow import Flow, format_of, is_in_hidden_body, own_format, rounds
from halfulp.sensitivities.holding import Change, changed, has_all_numbers

F16 = NDArray[np.float16]


def named(module: Module, name: str) -> Operation:
    (found,) = [op for op in module.walk() if op.name == name and not is_in_hidden_body(op)]
    return found


def in_format(text: str, name: str, format: str) -> Module:
    """Return the program with its only op of a name in another format."""
    module = hu.load(text)
    change = Change(ty.F(format), frozenset([named(module, name)]))
    return changed(module, Flow(module, rounds), change)


# --- accumulators -----------------------------------------------------------------------------------------------------

HEAD = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  %z = arith.constant 0.0 : f16"""
SUMS = {
    "scf.for": f"""func.func @f(%x: tensor<64xf16>) -> f16 {{{HEAD}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z) -> (f16) {{
    %v = tensor.extract %x[%i] : tensor<64xf16>
    %q = arith.mulf %v, %v : f16
    %t = arith.addf %s, %q : f16
    scf.yield %t : f16
  }}
  return %r : f16
}}""",
    "two scf.for, one in the other": f"""func.func @f(%x: tensor<64xf16>) -> f16 {{{HEAD}
  %c8 = arith.constant 8 : index
  %r = scf.for %i = %c0 to %n step %c8 iter_args(%s = %z) -> (f16) {{
    %inner = scf.for %j = %c0 to %c8 step %c1 iter_args(%p = %s) -> (f16) {{
      %k = arith.addi %i, %j : index
      %v = tensor.extract %x[%k] : tensor<64xf16>
      %q = arith.mulf %v, %v : f16
      %t = arith.addf %p, %q : f16
      scf.yield %t : f16
    }}
    scf.yield %inner : f16
  }}
  return %r : f16
}}""",
    "scf.if": f"""func.func @f(%x: tensor<64xf16>) -> f16 {{{HEAD}
  %yes = arith.constant true
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z) -> (f16) {{
    %v = tensor.extract %x[%i] : tensor<64xf16>
    %q = arith.mulf %v, %v : f16
    %w = scf.if %yes -> (f16) {{
      %t = arith.addf %s, %q : f16
      scf.yield %t : f16
    }} else {{
      scf.yield %s : f16
    }}
    scf.yield %w : f16
  }}
  return %r : f16
}}""",
    "scf.while": f"""func.func @f(%x: tensor<64xf16>) -> f16 {{{HEAD}
  %r:2 = scf.while (%i = %c0, %s = %z) : (index, f16) -> (index, f16) {{
    %p = arith.cmpi slt, %i, %n : index
    scf.condition(%p) %i, %s : index, f16
  }} do {{
  ^bb0(%j: index, %u: f16):
    %v = tensor.extract %x[%j] : tensor<64xf16>
    %q = arith.mulf %v, %v : f16
    %t = arith.addf %u, %q : f16
    %k = arith.addi %j, %c1 : index
    scf.yield %k, %t : index, f16
  }}
  return %r#1 : f16
}}""",
    "affine.for": f"""func.func @f(%x: tensor<64xf16>) -> f16 {{{HEAD}
  %r = affine.for %i = 0 to 64 iter_args(%s = %z) -> (f16) {{
    %v = tensor.extract %x[%i] : tensor<64xf16>
    %q = arith.mulf %v, %v : f16
    %t = arith.addf %s, %q : f16
    affine.yield %t : f16
  }}
  return %r : f16
}}""",
    "branches": f"""func.func @f(%x: tensor<64xf16>) -> f16 {{{HEAD}
  cf.br ^head(%c0, %z : index, f16)
^head(%i: index, %s: f16):
  %p = arith.cmpi slt, %i, %n : index
  cf.cond_br %p, ^body, ^end(%s : f16)
^body:
  %v = tensor.extract %x[%i] : tensor<64xf16>
  %q = arith.mulf %v, %v : f16
  %t = arith.addf %s, %q : f16
  %k = arith.addi %i, %c1 : index
  cf.br ^head(%k, %t : index, f16)
^end(%r: f16):
  return %r : f16
}}""",
    "local memory": f"""func.func @f(%x: tensor<64xf16>) -> f16 {{{HEAD}
  %m = memref.alloca() : memref<1xf16>
  memref.store %z, %m[%c0] : memref<1xf16>
  scf.for %i = %c0 to %n step %c1 {{
    %v = tensor.extract %x[%i] : tensor<64xf16>
    %q = arith.mulf %v, %v : f16
    %s = memref.load %m[%c0] : memref<1xf16>
    %t = arith.addf %s, %q : f16
    memref.store %t, %m[%c0] : memref<1xf16>
  }}
  %r = memref.load %m[%c0] : memref<1xf16>
  return %r : f16
}}""",
    "linalg.generic": f"""func.func @f(%x: tensor<64xf16>) -> f16 {{{HEAD}
  %e = tensor.empty() : tensor<f16>
  %o = linalg.fill ins(%z : f16) outs(%e : tensor<f16>) -> tensor<f16>
  %d = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}}
      ins(%x : tensor<64xf16>) outs(%o : tensor<f16>) {{
  ^bb0(%v: f16, %s: f16):
    %q = arith.mulf %v, %v : f16
    %t = arith.addf %s, %q : f16
    linalg.yield %t : f16
  }} -> tensor<f16>
  %r = tensor.extract %d[] : tensor<f16>
  return %r : f16
}}""",
    "linalg.reduce": f"""func.func @f(%x: tensor<64xf16>) -> f16 {{{HEAD}
  %q = arith.mulf %x, %x : tensor<64xf16>
  %e = tensor.empty() : tensor<f16>
  %o = linalg.fill ins(%z : f16) outs(%e : tensor<f16>) -> tensor<f16>
  %d = linalg.reduce {{ arith.addf }} ins(%q : tensor<64xf16>) outs(%o : tensor<f16>) dimensions = [0]
  %r = tensor.extract %d[] : tensor<f16>
  return %r : f16
}}""",
}
WHOLE = {
    "linalg.dot": (
        "linalg.dot",
        f"""func.func @f(%x: tensor<64xf16>) -> f16 {{{HEAD}
  %e = tensor.empty() : tensor<f16>
  %o = linalg.fill ins(%z : f16) outs(%e : tensor<f16>) -> tensor<f16>
  %d = linalg.dot ins(%x, %x : tensor<64xf16>, tensor<64xf16>) outs(%o : tensor<f16>) -> tensor<f16>
  %r = tensor.extract %d[] : tensor<f16>
  return %r : f16
}}""",
    ),
    "vector.contract": (
        "vector.contract",
        f"""func.func @f(%x: tensor<64xf16>) -> f16 {{{HEAD}
  %v = vector.transfer_read %x[%c0], %z : tensor<64xf16>, vector<64xf16>
  %r = vector.contract {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
      iterator_types = ["reduction"]}} %v, %v, %z : vector<64xf16>, vector<64xf16> into f16
  return %r : f16
}}""",
    ),
}


def numbers(seed: int) -> F16:
    return np.random.default_rng(seed).uniform(0, 1, 64).astype(np.float16)


def accumulated(terms: Any, kind: Any) -> np.float16:
    """Add up as a loop does, in a format of NumPy, and round the sum to f16."""
    total = kind(0)
    for term in terms:
        total = kind(total + kind(term))
    return np.float16(total)


@pytest.mark.parametrize("text", thinned(SUMS.values(), 3), ids=SUMS)
def test_an_accumulator_changes_as_a_whole(text: str) -> None:
    module, apart = in_format(text, "arith.addf", "f32"), 0
    for seed in range(4):
        x = numbers(seed)
        rounded = x * x
        assert rounded.dtype == np.float16
        (plain,) = hu.run(text, x)
        assert plain.item() == accumulated(rounded, np.float16)
        (wide,) = hu.run(module, x)
        assert wide.item() == accumulated(rounded, np.float32)
        apart += plain.item() != wide.item()
    assert apart


@pytest.mark.parametrize(("name", "text"), WHOLE.values(), ids=WHOLE)
def test_a_contraction_runs_in_another_format(name: str, text: str) -> None:
    for seed in range(3):
        x = numbers(seed)
        products = x.astype(np.float32) ** 2  # 22 bits: exact
        (wide,) = hu.run(in_format(text, name, "f32"), x)
        assert wide.item() == accumulated(products, np.float32)


@pytest.mark.parametrize("text", SUMS.values(), ids=SUMS)
def test_what_another_op_rounds_still_is(text: str) -> None:
    """A product that is held goes into the sum unrounded; the sum itself stays in f16."""
    x = numbers(5)
    (found,) = hu.run(in_format(text, "arith.mulf", "f64"), x)
    total = np.float16(0)
    for v in x.astype(np.float64):
        total = np.float16(np.float64(total) + v * v)  # exact in f64, so it is rounded once
    assert found.item() == total


# --- single ops -------------------------------------------------------------------------------------------------------

MOVED = """func.func @f(%a: f16, %b: f16, %c: tensor<2xf16>, %p: i1) -> tensor<2xf16> {
  %s = arith.addf %a, %b : f16
  %n = arith.negf %s : f16
  %w = arith.select %p, %n, %a : f16
  %t = tensor.splat %w : tensor<2xf16>
  %r = arith.mulf %t, %c : tensor<2xf16>
  return %r : tensor<2xf16>
}"""


def test_a_number_is_held_until_another_op_rounds() -> None:
    a, b, c = np.float16(0.1), np.float16(300.25), np.array([1.7, 0.01], np.float16)
    (found,) = hu.run(in_format(MOVED, "arith.addf", "f64"), a, b, c, True)
    exact = [-(Fraction(float(a)) + Fraction(float(b))) * Fraction(float(each)) for each in c]
    assert found.tolist() == [float(np.float16(float(each))) for each in exact]  # 53 bits hold them all
    (plain,) = hu.run(MOVED, a, b, c, True)
    assert plain.tolist() != found.tolist()


BEFORE_MATMUL = """func.func @f(%p: tensor<4x64xf32>, %v: tensor<64x8xbf16>, %b: tensor<4x8xf32>) -> tensor<4x8xbf16> {
  %pb = arith.truncf %p : tensor<4x64xf32> to tensor<4x64xbf16>
  %bb = arith.addf %b, %b : tensor<4x8xf32>
  %i = arith.truncf %bb : tensor<4x8xf32> to tensor<4x8xbf16>
  %o = linalg.matmul ins(%pb, %v : tensor<4x64xbf16>, tensor<64x8xbf16>) outs(%i : tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %o : tensor<4x8xbf16>
}"""


def multiplied(p: Any, v: Any, start: Any) -> Any:
    """Add up the products of bf16, each rounded, as linalg.matmul of bf16 does. No product has more than 53 bits."""
    narrow = ml_dtypes.bfloat16
    total = start.astype(np.float64)
    for k in range(p.shape[1]):
        product = np.multiply.outer(p[:, k].astype(np.float64), v[k].astype(np.float64)).astype(narrow)
        total = (total + product.astype(np.float64)).astype(narrow).astype(np.float64)
    return total


@pytest.mark.parametrize("held", ["the operand", "the init"])
def test_a_matmul_that_reads_a_held_number_rounds_as_before(held: str) -> None:
    random, narrow, apart = np.random.default_rng(3), ml_dtypes.bfloat16, 0
    module = hu.load(BEFORE_MATMUL)
    chosen = [op for op in module.walk() if op.name == "arith.truncf"][held == "the init"]
    made = changed(module, Flow(module, rounds), Change(ty.F("f32"), frozenset([chosen])))
    for _ in range(3):
        p, b = (random.uniform(0.5, 1.5, shape).astype(np.float32) for shape in ((4, 64), (4, 8)))
        v = random.uniform(0.5, 1.5, (64, 8)).astype(narrow)
        (plain,), (found,) = (hu.run(each, p, hu.Value.from_numpy(v), b) for each in (module, made))
        rounded = p.astype(narrow), (b + b).astype(narrow)
        assert (plain.numpy() == multiplied(rounded[0], v, rounded[1])).all()
        expected = multiplied(p, v, rounded[1]) if held == "the operand" else multiplied(rounded[0], v, b + b)
        assert (found.numpy().astype(np.float64) == expected).all()
        apart += (plain.numpy() != found.numpy()).any()
    assert apart
    assert [op.name for op in made.walk() if op.name.startswith("linalg.g")] == ["linalg.generic"]


SUM_OF_F32 = """func.func @f(%x: tensor<64xf16>) -> f32 {
  %z = arith.constant 0.0 : f32
  %q = arith.mulf %x, %x : tensor<64xf16>
  %e = tensor.empty() : tensor<f32>
  %o = linalg.fill ins(%z : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %d = linalg.dot ins(%q, %q : tensor<64xf16>, tensor<64xf16>) outs(%o : tensor<f32>) -> tensor<f32>
  %r = tensor.extract %d[] : tensor<f32>
  return %r : f32
}"""


def test_an_accumulator_wider_than_what_is_read_stays_as_it_is() -> None:
    x = numbers(7)
    (found,) = hu.run(in_format(SUM_OF_F32, "arith.mulf", "f64"), x)
    total = np.float32(0)
    for q in x.astype(np.float64) ** 2:
        total += np.float32(q * q)  # 44 bits: exact in f64
    assert found.item() == total


CONTRACT = """func.func @f(%x: vector<64xf32>, %y: vector<64xf16>) -> f16 {
  %z = arith.constant 0.0 : f16
  %n = arith.truncf %x : vector<64xf32> to vector<64xf16>
  %r = vector.contract {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
      iterator_types = ["reduction"]} %n, %y, %z : vector<64xf16>, vector<64xf16> into f16
  return %r : f16
}"""
WHOLE_VECTORS = {
    "contract": CONTRACT,
    "reduction": """func.func @f(%x: vector<64xf32>, %y: vector<64xf16>) -> f16 {
  %n = arith.truncf %x : vector<64xf32> to vector<64xf16>
  %r = vector.reduction <add>, %n : vector<64xf16> into f16
  return %r : f16
}""",
    "multi_reduction": """func.func @f(%x: vector<64xf32>, %y: vector<64xf16>) -> f16 {
  %z = arith.constant 0.0 : f16
  %n = arith.truncf %x : vector<64xf32> to vector<64xf16>
  %r = vector.multi_reduction <add>, %n, %z [0] : vector<64xf16> to f16
  return %r : f16
}""",
    "softmax": """func.func @f(%x: tensor<64xf32>, %y: tensor<64xf16>) -> tensor<64xf16> {
  %e = tensor.empty() : tensor<64xf16>
  %n = arith.truncf %x : tensor<64xf32> to tensor<64xf16>
  %r = linalg.softmax dimension(0) ins(%n : tensor<64xf16>) outs(%e : tensor<64xf16>) -> tensor<64xf16>
  return %r : tensor<64xf16>
}""",
}


@pytest.mark.parametrize("text", WHOLE_VECTORS.values(), ids=WHOLE_VECTORS)
def test_an_op_that_rounds_many_times_takes_its_operands_in_their_format(text: str) -> None:
    x, y = np.random.default_rng(4).uniform(0, 1, 64).astype(np.float32), numbers(9)
    found = [hu.run(each, x, y)[0] for each in (text, in_format(text, "arith.truncf", "f32"))]
    assert found[0].bits.tolist() == found[1].bits.tolist()
    notes = hu.sensitivity(text, x, y, formats=["f32"]).notes
    assert any("takes its operands in their own format" in note for note in notes)


def test_an_op_that_reads_a_held_number_keeps_its_rounding_mode() -> None:
    text = """func.func @f(%a: f16, %b: f16) -> f16 {
      %p = arith.mulf %a, %b : f16
      %r = arith.addf %p, %b upward : f16
      return %r : f16
    }"""
    a, b = np.float16(1 + 2**-10), np.float16(1 + 2**-10)
    (found,) = hu.run(in_format(text, "arith.mulf", "f64"), a, b)
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(b))  # 2 + 3 * 2^-10 + 2^-20, with an ulp of 2^-9
    assert Fraction(found.item()) == 2 + Fraction(2, 512) > exact


def test_memory_that_an_op_reads_beside_a_held_number_is_rounded_as_before() -> None:
    text = """func.func @f(%x: tensor<64xf16>) -> f16 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 64 : index
      %z = arith.constant 0.0 : f16
      %m = memref.alloca() : memref<64xf16>
      %s = memref.alloca() : memref<f16>
      linalg.fill ins(%z : f16) outs(%s : memref<f16>)
      scf.for %i = %c0 to %n step %c1 {
        %v = tensor.extract %x[%i] : tensor<64xf16>
        %q = arith.mulf %v, %v : f16
        memref.store %q, %m[%i] : memref<64xf16>
      }
      linalg.dot ins(%m, %m : memref<64xf16>, memref<64xf16>) outs(%s : memref<f16>)
      %r = memref.load %s[] : memref<f16>
      return %r : f16
    }"""
    x = numbers(8)
    (found,) = hu.run(in_format(text, "arith.mulf", "f64"), x)
    total = np.float16(0)
    for q in x.astype(np.float64) ** 2:
        total = np.float16(np.float64(total) + np.float64(np.float16(q * q)))
    assert found.item() == total


def test_a_narrow_format_rounds_operands_and_result() -> None:
    text = "func.func @f(%a: f32, %b: f32) -> f32 { %r = arith.mulf %a, %b : f32 return %r : f32 }"
    a, b = np.float32(1.2345678), np.float32(7.654321)
    (found,) = hu.run(in_format(text, "arith.mulf", "bf16"), a, b)
    narrow = ml_dtypes.bfloat16
    product = np.float32(narrow(a)) * np.float32(narrow(b))  # 16 bits: exact
    assert found.item() == float(narrow(product))


def test_a_format_of_the_same_width_goes_through_a_wider_one() -> None:
    text = "func.func @f(%a: f16, %b: f16) -> f16 { %r = arith.mulf %a, %b : f16 return %r : f16 }"
    a, b = np.float16(1.2345), np.float16(7.654)
    (found,) = hu.run(in_format(text, "arith.mulf", "bf16"), a, b)
    narrow = ml_dtypes.bfloat16
    product = narrow(np.float32(narrow(np.float32(a))) * np.float32(narrow(np.float32(b))))
    assert found.item() == float(np.float16(np.float32(product)))


def test_a_conversion_of_the_program_is_left_out_where_it_is_held() -> None:
    text = """func.func @f(%a: f32) -> f32 {
      %n = arith.truncf %a : f32 to f16
      %w = arith.extf %n : f16 to f32
      %r = arith.addf %w, %w : f32
      return %r : f32
    }"""
    made = in_format(text, "arith.truncf", "f32")
    assert [op.name for op in made.walk()][2:] == ["arith.addf", "func.return"]
    (found,) = hu.run(made, np.float32(0.1))
    assert found.item() == float(np.float32(0.1) * 2)


def test_a_value_alone_is_rounded() -> None:
    text = "func.func @f(%a: f32) -> f32 { %r = arith.addf %a, %a : f32 return %r : f32 }"
    module = hu.load(text)
    (function,) = module.body
    flow = Flow(module, rounds)
    argument = function.regions[0].blocks[0].arguments[0]
    (found,) = hu.run(changed(module, flow, Change(ty.F("bf16"), stored=frozenset([argument]))), np.float32(0.1))
    assert found.item() == 2 * float(ml_dtypes.bfloat16(0.1))
    made: OpResult = named(module, "arith.addf").results[0]
    (found,) = hu.run(changed(module, flow, Change(ty.F("bf16"), stored=frozenset([made]))), np.float32(1.00001))
    assert found.item() == float(ml_dtypes.bfloat16(np.float32(1.00001) * 2))


def test_memory_of_arguments_is_not_changed() -> None:
    text = """func.func @f(%m: memref<4x4xf16>) {
      linalg.matmul ins(%m, %m : memref<4x4xf16>, memref<4x4xf16>) outs(%m : memref<4x4xf16>)
      return
    }"""
    with pytest.raises(hu.Unsupported, match="memory whose type cannot change"):
        in_format(text, "linalg.matmul", "f32")
    module = hu.load(text.replace("linalg.matmul", "linalg.add"))
    with pytest.raises(hu.Unsupported, match="memory whose type cannot change"):
        in_format(text.replace("linalg.matmul", "linalg.add"), "linalg.add", "f8E5M2")
    assert format_of(module.body[0].regions[0].blocks[0].arguments[0]) == ty.F("f16")


def test_a_mode_is_given_to_one_op() -> None:
    text = """func.func @f(%a: f32, %b: f32) -> (f32, f32) {
      %0 = arith.addf %a, %b : f32
      %1 = arith.addf %a, %b : f32
      return %0, %1 : f32, f32
    }"""
    module = hu.load(text)
    second = [op for op in module.walk() if op.name == "arith.addf"][1]
    made = changed(module, Flow(module, rounds), Change(modes={second: 2}))
    plain, upward = hu.run(hu.parse(hu.print_module(made)), np.float32(1), np.float32(2.0**-30))
    assert (plain.item(), upward.item()) == (1.0, 1 + 2.0**-23)


@each_row(
    ("f32", "f16", True),
    ("f32", "bf16", True),
    ("f64", "f32", True),
    ("f32", "f32", False),
    ("f16", "f32", False),
    ("bf16", "f16", False),  # fewer digits
    ("f16", "bf16", False),  # fewer binades
    ("tf32", "f16", True),
    ("f16", "f8E4M3FN", True),
    ("f16", "f8E5M2", True),
    ("bf16", "f8E8M0FNU", True),  # its least number, 2^-127, is a subnormal of bf16
    ("f80", "f64", True),
    ("f128", "f80", True),
)
def test_which_format_has_all_numbers_of_another(wide: str, narrow: str, expected: bool) -> None:
    assert has_all_numbers(hu.float_format(wide), hu.float_format(narrow)) is expected


# --- any program ------------------------------------------------------------------------------------------------------


def programs() -> Iterator[Module]:
    for index in range(20):
        yield hu.parse(hu.print_module(random_function(11, index).module))
        yield hu.parse(structured_text(11, index))


@pytest.mark.long
def test_every_change_of_a_random_program_is_valid_and_can_be_read_again() -> None:
    tried = 0
    for module in programs():
        flow = Flow(module, rounds)
        for op in flow.ops:
            for name in ("f32", "f64", "bf16", "f8E4M3FN") if rounds(op) else ():
                if own_format(op) == ty.F(name):
                    continue
                try:
                    made = changed(module, flow, Change(ty.F(name), frozenset([op])))
                except hu.Unsupported:
                    continue
                text = hu.print_module(made)
                assert hu.print_module(hu.parse(text)) == text
                tried += 1
        assert hu.print_module(module) == hu.print_module(hu.parse(hu.print_module(module)))
    assert tried > 100
