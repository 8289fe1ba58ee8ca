"""The dialects scf, tensor and vector, and the rest of cf, func and ub: programs that run."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from tables import each_row

from halfulp.interp.ir.errors import AssertionFailed, LimitExceeded, UndefinedBehavior, Unsupported
from halfulp.interp.loading import parse_module
from halfulp.interp.run.settings import Listener
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.value import Value
from halfulp.running import run


def main(signature: str, body: str) -> str:
    return f"func.func @main{signature} {{\n{body}\n}}"


def items(values: tuple[Value, ...]) -> list[Any]:
    return [value.numpy().tolist() for value in values]


# --- scf --------------------------------------------------------------------------------------------------------------

IF = main(
    "(%c: i1, %x: i32) -> (i32, i32)",
    """  %0:2 = scf.if %c -> (i32, i32) {
    scf.yield %x, %x : i32, i32
  } else {
    %t = arith.addi %x, %x : i32
    scf.yield %t, %x : i32, i32
  }
  return %0#0, %0#1 : i32, i32""",
)


def test_if_runs_one_arm() -> None:
    assert items(run(IF, True, 3)) == [3, 3]
    assert items(run(IF, False, 3)) == [6, 3]


def test_if_without_else_and_the_arm_not_taken_is_never_undefined() -> None:
    text = main(
        "(%c: i1, %x: i8) -> i8",
        """  scf.if %c {
    %q = arith.divui %x, %x : i8
  }
  return %x : i8""",
    )
    assert items(run(text, False, 0)) == [0]
    with pytest.raises(UndefinedBehavior, match="division by zero"):
        run(text, True, 0)


FOR = main(
    "(%from: index, %to: index, %step: index, %x: i32) -> (i32, index)",
    """  %zero = arith.constant 0 : index
  %r:2 = scf.for %i = %from to %to step %step iter_args(%s = %x, %last = %zero) -> (i32, index) {
    %t = arith.addi %s, %s : i32
    scf.yield %t, %i : i32, index
  }
  return %r#0, %r#1 : i32, index""",
)


@each_row(((0, 5, 1), (32, 4)), ((0, 5, 2), (8, 4)), ((3, 3, 1), (1, 0)), ((5, 0, 1), (1, 0)), ((-3, 2, 4), (4, 1)))
def test_for_counts_as_python_does(bounds: tuple[int, int, int], expected: tuple[int, int]) -> None:
    assert len(range(*bounds)) == expected[0].bit_length() - 1
    assert tuple(items(run(FOR, *bounds, 1))) == expected


@pytest.mark.parametrize("step", [0, -1])
def test_a_step_that_is_not_positive_is_undefined(step: int) -> None:
    with pytest.raises(UndefinedBehavior, match=f"the step is {step}, but must be positive"):
        run(FOR, 0, 5, step, 1)


def test_for_compares_signed_unless_told_otherwise() -> None:
    loop = """  %zero = arith.constant 0 : i8
  %one = arith.constant 1 : i8
  %r = scf.for {unsigned}%i = %a to %b step %c iter_args(%n = %zero) -> (i8) : i8 {{
    %m = arith.addi %n, %one : i8
    scf.yield %m : i8
  }}
  return %r : i8"""
    signature = "(%a: i8, %b: i8, %c: i8) -> i8"
    signed, unsigned = (main(signature, loop.format(unsigned=word)) for word in ("", "unsigned "))
    assert items(run(signed, -128, 127, 51)) == [5]
    assert items(run(unsigned, -128, 127, 51)) == [0]
    assert items(run(unsigned, 0, 255, 51)) == [5]
    assert items(run(signed, 0, 255, 51)) == [0]


def test_the_type_has_the_value_of_the_induction_variable_after_the_last_iteration() -> None:
    """Rule 2 of scf.for in `SCFOps.td` of MLIR 24, for every loop on i4."""
    text = FOR.replace("index", "i4").replace("%last = %zero) -> (i32, i4) {", "%last = %zero) -> (i32, i4) : i4 {")
    for word, least, most in (("", -8, 7), ("unsigned ", 0, 15)):
        module = parse_module(text.replace("scf.for %", f"scf.for {word}%"))
        for lower, upper, step in product(range(least, most + 1), range(least, most + 1), range(1, most + 1)):
            positions = range(lower, upper, step)
            if lower + len(positions) * step > most:
                with pytest.raises(UndefinedBehavior, match="does not have [0-9]+, the induction variable after"):
                    run(module, lower, upper, step, 0)
            else:
                last = positions[-1] if positions else 0
                assert items(run(module, lower, upper, step, 0)) == [0, (last + 8) % 16 - 8]


def test_loops_nest_and_see_the_values_around_them() -> None:
    text = main(
        "(%n: index) -> index",
        """  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %n step %one iter_args(%s = %zero) -> (index) {
    %inner = scf.for %j = %zero to %i step %one iter_args(%t = %s) -> (index) {
      %p = arith.muli %i, %j : index
      %q = arith.addi %t, %p : index
      scf.yield %q : index
    }
    scf.yield %inner : index
  }
  return %r : index""",
    )
    assert items(run(text, 20)) == [sum(i * j for i in range(20) for j in range(i))]


def test_while_runs_until_its_condition_is_false() -> None:
    text = main(
        "(%n: i32) -> (i32, i32)",
        """  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %r:2 = scf.while (%x = %n, %steps = %zero) : (i32, i32) -> (i32, i32) {
    %go = arith.cmpi ne, %x, %one : i32
    scf.condition(%go) %x, %steps : i32, i32
  } do {
  ^bb0(%x: i32, %steps: i32):
    %bit = arith.andi %x, %one : i32
    %odd = arith.cmpi eq, %bit, %one : i32
    %next = scf.if %odd -> (i32) {
      %a = arith.muli %x, %three : i32
      %b = arith.addi %a, %one : i32
      scf.yield %b : i32
    } else {
      %c = arith.divui %x, %two : i32
      scf.yield %c : i32
    }
    %more = arith.addi %steps, %one : i32
    scf.yield %next, %more : i32, i32
  }
  return %r#0, %r#1 : i32, i32""",
    )
    assert items(run(text, 27)) == [1, 111]


def test_execute_region_may_branch() -> None:
    text = main(
        "(%c: i1, %x: i8) -> i8",
        """  %r = scf.execute_region -> i8 {
    cf.cond_br %c, ^a, ^b
  ^a:
    scf.yield %x : i8
  ^b:
    %y = arith.addi %x, %x : i8
    scf.yield %y : i8
  }
  return %r : i8""",
    )
    assert items(run(text, True, 5)) == [5]
    assert items(run(text, False, 5)) == [10]


def test_deciding_by_poison_is_undefined() -> None:
    condition = "  %c = ub.poison : i1\n"
    index = "  %p = ub.poison : index\n  %one = arith.constant 1 : index\n"
    bodies = {
        "scf.if: undefined behaviour: the condition is poison": condition + "  scf.if %c {\n  }\n  return",
        "scf.for: undefined behaviour: the upper bound is poison": index
        + "  scf.for %i = %one to %p step %one {\n  }\n  return",
        "scf.for: undefined behaviour: the step is poison": index
        + "  scf.for %i = %one to %one step %p {\n  }\n  return",
        "scf.condition: undefined behaviour: the condition is poison": condition
        + "  scf.while : () -> () {\n    scf.condition(%c)\n  } do {\n    scf.yield\n  }\n  return",
        "cf.assert: undefined behaviour: the condition is poison": condition + '  cf.assert %c, "x"\n  return',
    }
    for message, body in bodies.items():
        with pytest.raises(UndefinedBehavior, match=message):
            run(main("()", body), on_ub="poison")


def test_a_loop_of_a_trillion_trips_ends_at_the_step_limit() -> None:
    with pytest.raises(LimitExceeded, match="more than 100000 ops") as caught:
        run(FOR, 0, 10**12, 1, 1, max_steps=100_000)
    assert caught.value.location is not None


def test_calls_inside_loops_and_loops_inside_calls() -> None:
    text = """
    func.func private @power(%x: i32, %n: index) -> i32 {
      %zero = arith.constant 0 : index
      %step = arith.constant 1 : index
      %one = arith.constant 1 : i32
      %r = scf.for %i = %zero to %n step %step iter_args(%p = %one) -> (i32) {
        %q = arith.muli %p, %x : i32
        scf.yield %q : i32
      }
      return %r : i32
    }
    func.func @main(%n: index) -> i32 {
      %zero = arith.constant 0 : index
      %step = arith.constant 1 : index
      %none = arith.constant 0 : i32
      %two = arith.constant 2 : i32
      %r = scf.for %i = %zero to %n step %step iter_args(%s = %none) -> (i32) {
        %p = func.call @power(%two, %i) : (i32, index) -> i32
        %t = arith.addi %s, %p : i32
        scf.yield %t : i32
      }
      return %r : i32
    }"""
    assert items(run(text, 10)) == [1023]


class Names(Listener):
    def __init__(self) -> None:
        self.events: list[tuple[str, str, list[Any]]] = []

    def op_will_run(self, op: Any, operands: Any) -> None:
        self.events.append(("will", op.name, [v.numpy().tolist() for v in operands]))

    def op_did_run(self, op: Any, operands: Any, results: Any) -> None:
        self.events.append(("did", op.name, [v.numpy().tolist() for v in results]))


def test_listeners_hear_an_op_with_regions_end_with_its_results() -> None:
    names = Names()
    run(IF, True, 3, listeners=[names])
    assert names.events == [
        ("will", "scf.if", [True]),
        ("will", "scf.yield", [3, 3]),
        ("did", "scf.if", [3, 3]),
        ("did", "scf.yield", []),
        ("will", "func.return", [3, 3]),
        ("did", "func.return", []),
    ]


# --- the rest of cf, func and ub --------------------------------------------------------------------------------------


def test_switch() -> None:
    text = main(
        "(%f: i8, %x: i32, %y: i32) -> i32",
        """  cf.switch %f : i8, [
    default: ^last(%x : i32),
    -1: ^last(%y : i32),
    7: ^seven
  ]
^seven:
  %z = arith.addi %x, %y : i32
  cf.br ^last(%z : i32)
^last(%r: i32):
  return %r : i32""",
    )
    assert [items(run(text, flag, 10, 20))[0] for flag in (0, -1, 255, 7)] == [10, 20, 20, 30]


def test_assert_stops_with_its_message() -> None:
    text = main("(%c: i1)", '  cf.assert %c, "x must be positive"\n  return')
    assert run(text, True) == ()
    with pytest.raises(AssertionFailed, match="cf.assert: x must be positive") as caught:
        run(text, False)
    assert caught.value.exit_code == 4
    assert caught.value.location is not None


def test_unreachable_is_undefined() -> None:
    with pytest.raises(UndefinedBehavior, match=r"ub\.unreachable: undefined behaviour"):
        run(main("()", "  ub.unreachable"))


def test_indirect_calls() -> None:
    text = """
    func.func private @double(%x: i32) -> i32 {
      %r = arith.addi %x, %x : i32
      return %r : i32
    }
    func.func private @square(%x: i32) -> i32 {
      %r = arith.muli %x, %x : i32
      return %r : i32
    }
    func.func @main(%c: i1, %x: i32) -> i32 {
      %d = constant @double : (i32) -> i32
      %s = constant @square : (i32) -> i32
      %f = arith.select %c, %d, %s : (i32) -> i32
      %r = call_indirect %f(%x) : (i32) -> i32
      return %r : i32
    }"""
    assert items(run(text, True, 7)) == [14]
    assert items(run(text, False, 7)) == [49]


# --- tensor -----------------------------------------------------------------------------------------------------------


def test_tensors_are_made_taken_apart_and_put_together() -> None:
    text = main(
        "(%x: f32, %t: tensor<2x3xf32>, %i: index, %j: index) -> (tensor<2xf32>, tensor<2x3xf32>, f32, tensor<2x3xf32>, index)",
        """  %a = tensor.from_elements %x, %x : tensor<2xf32>
  %s = tensor.splat %x : tensor<2x3xf32>
  %e = tensor.extract %t[%i, %j] : tensor<2x3xf32>
  %n = tensor.insert %x into %t[%i, %j] : tensor<2x3xf32>
  %d = tensor.dim %t, %i : tensor<2x3xf32>
  return %a, %s, %e, %n, %d : tensor<2xf32>, tensor<2x3xf32>, f32, tensor<2x3xf32>, index""",
    )
    t = np.arange(6, dtype=np.float32).reshape(2, 3)
    a, s, e, n, d = run(text, 9.0, t, 1, 2)
    changed = t.copy()
    changed[1, 2] = 9
    assert items((a, s, e, n, d)) == [[9, 9], [[9] * 3] * 2, 5, changed.tolist(), 3]
    assert t[1, 2] == 5


@pytest.mark.parametrize("index", [(-1, 0), (2, 0), (0, 3)])
def test_indices_outside_are_undefined(index: tuple[int, int]) -> None:
    signature = "(%t: tensor<2x3xf32>, %i: index, %j: index) -> f32"
    text = main(signature, "  %e = tensor.extract %t[%i, %j] : tensor<2x3xf32>\n  return %e : f32")
    with pytest.raises(UndefinedBehavior, match=r"is outside the shape 2x3"):
        run(text, np.zeros((2, 3), np.float32), *index)


def test_tensors_of_dynamic_size() -> None:
    text = main(
        "(%n: index, %x: i8) -> tensor<?x2xi8>",
        "  %s = tensor.splat %x[%n] : tensor<?x2xi8>\n  return %s : tensor<?x2xi8>",
    )
    (s,) = run(text, 3, 7)
    assert s.numpy().tolist() == [[7, 7]] * 3
    with pytest.raises(UndefinedBehavior, match="negative size"):
        run(text, -1, 7)
    with pytest.raises(LimitExceeded, match="takes 2000000000000 bytes"):
        run(text, 10**12, 7)


def test_an_empty_tensor_is_poison_until_written() -> None:
    text = main(
        "(%x: i8) -> tensor<2xi8>",
        """  %zero = arith.constant 0 : index
  %e = tensor.empty() : tensor<2xi8>
  %t = tensor.insert %x into %e[%zero] : tensor<2xi8>
  return %t : tensor<2xi8>""",
    )
    (t,) = run(text, 5)
    assert t.poisoned.tolist() == [False, True]
    assert t.numpy(poison=0)[0] == 5
    origin = t.origin(1)
    assert origin is not None
    assert origin.op == "tensor.empty"


def test_cast_checks_what_it_promises() -> None:
    text = main(
        "(%t: tensor<?xi8>) -> tensor<3xi8>",
        "  %c = tensor.cast %t : tensor<?xi8> to tensor<3xi8>\n  return %c : tensor<3xi8>",
    )
    assert items(run(text, np.ones(3, np.int8))) == [[1, 1, 1]]
    with pytest.raises(UndefinedBehavior, match="a value of shape 4 is not of type 'tensor<3xi8>'"):
        run(text, np.ones(4, np.int8))


def test_wide_elements_keep_their_limbs() -> None:
    text = main(
        "(%x: i128, %i: index) -> (tensor<2xi128>, i128)",
        """  %t = tensor.from_elements %x, %x : tensor<2xi128>
  %s = arith.addi %t, %t : tensor<2xi128>
  %e = tensor.extract %s[%i] : tensor<2xi128>
  %u = tensor.insert %x into %s[%i] : tensor<2xi128>
  return %u, %e : tensor<2xi128>, i128""",
    )
    assert items(run(text, 1 << 100, 1)) == [[1 << 101, 1 << 100], 1 << 101]


# --- vector -----------------------------------------------------------------------------------------------------------


def test_vectors_are_made_and_taken_apart() -> None:
    text = main(
        "(%x: f32, %v: vector<2x3xf32>, %i: index) -> (vector<2x3xf32>, vector<3xf32>, f32, vector<2x3xf32>, vector<2x3xf32>)",
        """  %b = vector.broadcast %x : f32 to vector<2x3xf32>
  %r = vector.extract %v[1] : vector<3xf32> from vector<2x3xf32>
  %e = vector.extract %v[1, %i] : f32 from vector<2x3xf32>
  %n = vector.insert %r, %v [0] : vector<3xf32> into vector<2x3xf32>
  %m = vector.insert %x, %n [%i, 1] : f32 into vector<2x3xf32>
  return %b, %r, %e, %n, %m : vector<2x3xf32>, vector<3xf32>, f32, vector<2x3xf32>, vector<2x3xf32>""",
    )
    v = np.arange(6, dtype=np.float32).reshape(2, 3)
    b, r, e, n, m = items(run(text, 9.0, v, 0))
    assert (b, r, e) == ([[9] * 3] * 2, [3, 4, 5], 3)
    assert n == [[3, 4, 5], [3, 4, 5]]
    assert m == [[3, 9, 5], [3, 4, 5]]


def test_a_vector_of_one_element_is_taken_for_a_scalar_and_back() -> None:
    text = main(
        "(%v: vector<2x3xf80>, %w: vector<2x1xf80>) -> (vector<1xf80>, f80)",
        """  %p = ub.poison : f80
  %q = vector.insert %p, %w [0, 0] : f80 into vector<2x1xf80>
  %a = vector.extract %v[1, 2] : vector<1xf80> from vector<2x3xf80>
  %b = vector.extract %q[1] : f80 from vector<2x1xf80>
  %c = vector.extract %q[0] : f80 from vector<2x1xf80>
  return %a, %b : vector<1xf80>, f80""",
    )
    v = np.zeros((2, 3, 2), np.uint64)
    v[1, 2] = 7, 5
    w = np.zeros((2, 1, 2), np.uint64)
    w[1, 0] = 3, 2
    a, b = run(text, v, w)
    assert (a.shape, a.bits.tolist(), b.shape, b.bits.tolist()) == ((1,), [[7, 5]], (), [3, 2])
    (lost,) = run(text.replace("(vector<1xf80>, f80)", "f80").replace("%a, %b : vector<1xf80>, f80", "%c : f80"), v, w)
    assert (lost.shape, bool(lost.poisoned)) == ((), True)


@pytest.mark.parametrize("part", ["vector<2xf32>", "vector<4xf32>"])
def test_nothing_says_what_inserting_a_vector_of_another_shape_does(part: str) -> None:
    text = main(
        "(%p: f32, %v: vector<2x3xf32>) -> vector<2x3xf32>",
        f"""  %b = vector.broadcast %p : f32 to {part}
  %r = vector.insert %b, %v[1] : {part} into vector<2x3xf32>
  return %r : vector<2x3xf32>""",
    )
    with pytest.raises(Unsupported) as caught:
        run(text, 1.0, np.zeros((2, 3), np.float32))
    message = f"vector.insert: the result of '{part}' in place of 'vector<3xf32>' is not defined"
    assert caught.value.message == message
    assert str(caught.value).startswith("<string>:3:8: ")


def test_broadcast_repeats_axes_of_one() -> None:
    text = main(
        "(%v: vector<2x1xi8>) -> vector<3x2x4xi8>",
        "  %b = vector.broadcast %v : vector<2x1xi8> to vector<3x2x4xi8>\n  return %b : vector<3x2x4xi8>",
    )
    v = np.array([[1], [2]], np.int8)
    assert items(run(text, v)) == [np.broadcast_to(v, (3, 2, 4)).tolist()]


def test_print_writes_what_mlirs_run_time_writes(capsys: pytest.CaptureFixture[str]) -> None:
    text = main(
        "(%i: i8, %p: vector<2xi8>)",
        """  %v = arith.constant dense<[1.0, 2.5, -0.0, 0x7FC00000]> : vector<4xf32>
  vector.print %v : vector<4xf32>
  %w = arith.constant dense<[[1, -2], [3, 4]]> : vector<2x2xi32>
  vector.print %w : vector<2x2xi32>
  %b = arith.constant dense<[true, false]> : vector<2xi1>
  vector.print %b : vector<2xi1>
  %s = arith.constant 3.14159274 : f32
  vector.print %s : f32
  %d = arith.constant 1.0e30 : f64
  vector.print %d : f64
  vector.print %i : i8
  vector.print %i : i8 punctuation <comma>
  vector.print str "hello"
  vector.print punctuation <newline>
  vector.print punctuation <open>
  vector.print punctuation <close>
  return""",
    )
    run(text, -7, np.ones(2, np.int8))
    # mlir-runner-22 writes this, through libmlir_c_runner_utils.
    expected = "( 1, 2.5, -0, nan )\n( ( 1, -2 ), ( 3, 4 ) )\n( 1, 0 )\n3.14159\n1e+30\n-7\n-7, hello\n(  )"
    assert capsys.readouterr().out == expected


def test_poison_passes_through_tensor_and_vector_ops() -> None:
    text = main(
        "(%x: i8) -> (i8, tensor<2xi8>, vector<2xi8>)",
        """  %p = ub.poison : i8
  %zero = arith.constant 0 : index
  %t = tensor.from_elements %x, %p : tensor<2xi8>
  %e = tensor.extract %t[%zero] : tensor<2xi8>
  %b = vector.broadcast %p : i8 to vector<2xi8>
  %v = vector.insert %x, %b [0] : i8 into vector<2xi8>
  return %e, %t, %v : i8, tensor<2xi8>, vector<2xi8>""",
    )
    e, t, v = run(text, 4)
    assert e.item() == 4
    assert t.poisoned.tolist() == [False, True]
    assert v.poisoned.tolist() == [False, True]


def test_casts_cannot_pass_through_tensors() -> None:
    text = main(
        "(%x: i8) -> tensor<1xf32>",
        """  %c = builtin.unrealized_conversion_cast %x : i8 to f32
  %t = tensor.from_elements %c : tensor<1xf32>
  return %t : tensor<1xf32>""",
    )
    with pytest.raises(Unsupported, match="from 'i8' to 'f32'"):
        run(text, 4)


# --- forall text ------------------------------------------------------------------------------------------------------
#
# Bounds of scf.forall that are constants.


def test_constant_bounds_from_zero_by_one_are_left_out_as_mlir_opt_does() -> None:
    text = """
func.func @f(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i) = (%c0) to (%n) step (%c1) {
  }
  scf.forall (%i) = (%c1) to (%n) step (%c1) {
  }
  return
}
"""
    lines = [line.strip() for line in print_module(parse_module(text)).splitlines() if "forall" in line]
    assert lines == ["scf.forall (%arg1) in (%arg0) {", "scf.forall (%arg1) = (%c1) to (%arg0) step (%c1) {"]
