"""Translation validation by execution: the second version must do something that the first allows."""

import pytest
from amounts import thinned

import halfulp as hu
from halfulp.conformance.comparing.refinement import Verdict
from halfulp.conformance.whole_programs.counterexamples import counterexample_lines
from halfulp.conformance.whole_programs.validation import (
    Basis,
    Inputs,
    ValidationReport,
    common_functions,
    compare,
)


def compared(before: str, after: str, count: int = 200, profile: str = "spec") -> ValidationReport:
    one, two = hu.parse(before, "before.mlir"), hu.parse(after, "after.mlir")
    (pair,) = common_functions(one, two)
    return compare(one, two, pair, Inputs(count), hu.profiles[profile])


def lines_of(report: ValidationReport, after: str) -> list[str]:
    """Return the text of the first counterexample."""
    return counterexample_lines(hu.parse(after, "after.mlir").body[0], report.counterexamples[0])


def function(body: str, type_: str, arguments: int = 2, result: str | None = None) -> str:
    names = ", ".join(f"%{chr(97 + k)}: {type_}" for k in range(arguments))
    return f"func.func @f({names}) -> {result or type_} {{\n{body}\n}}\n"


def one_op(op: str, type_: str, operands: str = "%a, %b") -> str:
    count = operands.count("%")
    return function(f"  %0 = arith.{op} {operands} : {type_}\n  return %0 : {type_}", type_, count)


def test_all_inputs_of_a_small_function_are_run() -> None:
    report = compared(one_op("muli", "i8"), one_op("muli", "i8", "%b, %a"))
    assert (report.inputs, report.basis, report.differing) == (65536, Basis.EVERY_INPUT, 0)
    assert report.verdicts[Verdict.EQUAL] == 65536


def test_a_wrong_rewrite_has_a_counterexample() -> None:
    # x / 2 is no shift for negative odd x: there are 64 of them
    before = function("  %c = arith.constant 2 : i8\n  %0 = arith.divsi %a, %c : i8\n  return %0 : i8", "i8", 1)
    after = function("  %c = arith.constant 1 : i8\n  %0 = arith.shrsi %a, %c : i8\n  return %0 : i8", "i8", 1)
    report = compared(before, after)
    assert report.differing == 64
    assert lines_of(report, after) == [
        "after.mlir:1:1: error: @f gives a result that is not allowed",
        "  argument 0: i8=-127",
        "  before:   0xC1 (-63)",
        "  after:    0xC0 (-64)",
    ]


def test_undefined_behaviour_before_allows_anything_and_none_may_be_added() -> None:
    zero = function("  %c = arith.constant 0 : i4\n  %0 = arith.divui %a, %c : i4\n  return %0 : i4", "i4", 1)
    report = compared(zero, function("  return %a : i4", "i4", 1))
    assert (report.undefined, report.differing, report.compared, report.basis) == (16, 0, 0, Basis.NOTHING)
    divided = compared(one_op("divui", "i4"), one_op("divui", "i4"))
    assert (divided.undefined, divided.differing, divided.verdicts[Verdict.EQUAL]) == (16, 0, 240)
    added = compared(
        function("  return %a : i4", "i4", 1),
        function("  %c = arith.constant 1 : i4\n  %0 = arith.divui %c, %a : i4\n  return %a : i4", "i4", 1),
    )
    assert added.differing == 1
    assert lines_of(added, "func.func @f(%a: i4) { return }") == [
        "after.mlir:1:1: error: @f gives a result that is not allowed",
        "  argument 0: i4=0",
        "  before:   i4=0",
        "  after:    arith.divui: undefined behaviour: division by zero: lhs = 1, rhs = 0 (at after.mlir:3:8)",
    ]


def test_poison_before_allows_any_value_but_poison_after_is_a_difference() -> None:
    flagged = one_op("addi", "i4").replace(" : i4\n", " overflow<nsw> : i4\n", 1)
    assert compared(flagged, one_op("addi", "i4")).differing == 0
    report = compared(one_op("addi", "i4"), flagged)
    assert report.differing == 64  # the pairs of 4-bit numbers whose sum overflows
    assert report.counterexamples[0].mismatch is not None


@pytest.mark.long
def test_an_open_nan_may_change_and_a_number_may_not() -> None:
    report = compared(one_op("mulf", "f8E5M2"), one_op("mulf", "f8E5M2", "%b, %a"))
    assert report.differing == 0
    assert report.verdicts[Verdict.OPEN] > 0  # NaN times another NaN
    assert compared(one_op("mulf", "f8E5M2"), one_op("addf", "f8E5M2")).differing > 0


def test_tensors_and_branches_are_run_one_by_one() -> None:
    tensor = "tensor<3xf32>"
    report = compared(one_op("addf", tensor), one_op("addf", tensor, "%a, %b"), 50)
    assert (report.inputs, report.differing) == (50, 0)
    branch = """\
  %c = arith.constant 0 : i8
  %p = arith.cmpi slt, %a, %c : i8
  cf.cond_br %p, ^bb1, ^bb2
^bb1:
  %n = arith.subi %c, %a : i8
  return %n : i8
^bb2:
  return %a : i8"""
    straight = """\
  %c = arith.constant 0 : i8
  %n = arith.subi %c, %a : i8
  %0 = arith.maxsi %a, %n : i8
  return %0 : i8"""
    report = compared(function(branch, "i8", 1), function(straight, "i8", 1))
    assert (report.inputs, report.differing) == (256, 0)


def test_a_tensor_made_of_scalars_has_its_place_without_the_lane() -> None:
    body = "  %t = tensor.from_elements %a, %{0} : tensor<2xi8>\n  return %t : tensor<2xi8>"
    wrong = """  %c = arith.constant 77 : i8
  %e = arith.cmpi eq, %a, %c : i8
  %z = arith.xori %a, %a : i8
  %s = arith.select %e, %z, %a : i8
"""
    after = function(wrong + body.format("s"), "i8", 1, "tensor<2xi8>")
    report = compared(function(body.format("a"), "i8", 1, "tensor<2xi8>"), after, 256)
    assert (report.differing, report.verdicts[Verdict.EQUAL]) == (1, 511)
    lines = lines_of(report, after)
    assert lines[:2] == [
        "after.mlir:1:1: error: @f gives a result that is not allowed at element [1]",
        "  argument 0: i8=77",
    ]


def test_an_endless_loop_is_skipped_not_agreed_on() -> None:
    loop = "  cf.br ^bb1\n^bb1:\n  cf.br ^bb1"
    report = compared(function(loop, "i1", 1), function(loop, "i1", 1))
    assert report.skipped.total() == 2
    assert (report.compared, report.basis) == (0, Basis.NOTHING)


def test_a_loop_that_no_longer_ends_is_a_difference() -> None:
    test = "  %c = arith.constant 1 : i2\n  %p = arith.cmpi eq, %a, %c : i2\n"
    before = function(f"{test}  return %a : i2", "i2", 1)
    after = function(f"{test}  cf.cond_br %p, ^bb1, ^bb2\n^bb1:\n  cf.br ^bb1\n^bb2:\n  return %a : i2", "i2", 1)
    report = compared(before, after)
    assert (report.differing, report.skipped.total(), report.verdicts[Verdict.EQUAL]) == (1, 0, 3)
    assert report.counterexamples[0].trap.startswith("does not end: ")
    assert compared(after, before).skipped.total() == 1


def test_a_loop_over_what_an_op_computed_at_once_is_not_endless() -> None:
    before = """func.func @f(%a: tensor<64xi8>) -> tensor<64xi8> {
  %r = arith.addi %a, %a : tensor<64xi8>
  return %r : tensor<64xi8>
}"""
    after = """func.func @f(%a: tensor<64xi8>) -> tensor<64xi8> {
  %r = tensor.generate {
  ^bb0(%i: index):
    %x = tensor.extract %a[%i] : tensor<64xi8>
    %y = arith.addi %x, %x : i8
    tensor.yield %y : i8
  } : tensor<64xi8>
  return %r : tensor<64xi8>
}"""
    modules = hu.parse(before), hu.parse(after)
    (pair,) = common_functions(*modules)
    for steps, skipped, outcome in ((100, 3, Basis.NOTHING), (1000, 0, Basis.SAMPLES)):
        report = compare(*modules, pair, Inputs(3, max_steps=steps))
        assert (report.skipped.total(), report.basis) == (skipped, outcome)


@pytest.mark.parametrize(
    ("before", "after", "message", "code"),
    [
        (one_op("addi", "i8"), one_op("addi", "i4"), "the type of @f has changed from '(i8, i8) -> i8'", 3),
        (one_op("addi", "i8"), one_op("addi", "i8").replace("@f", "@g"), "@f has no body in the second version", 2),
        (one_op("addi", "i8"), "func.func private @f(i8, i8) -> i8", "@f has no body in the second version", 2),
        (
            "func.func @f(%a: none) { return }",
            "func.func @f(%a: none) { return }",
            "no values of type 'none' can be generated",
            3,
        ),
    ],
)
def test_functions_that_cannot_be_compared_have_a_reason(before: str, after: str, message: str, code: int) -> None:
    report = compared(before, after)
    assert report.basis is Basis.NOTHING
    assert report.problem is not None
    assert report.problem.exit_code == code
    assert message in str(report.problem)


def test_a_version_without_functions_is_wrong_use() -> None:
    private = hu.parse(one_op("addi", "i8").replace("@f", "private @f"))
    with pytest.raises(hu.errors.InputError, match="there is no public function"):
        common_functions(private, private)
    with pytest.raises(hu.errors.InputError, match="there is no function @g"):
        common_functions(private, private, "@g")


ASSERTS = function(
    """\
  %c = arith.constant 0 : i8
  %p = arith.cmpi ne, %a, %c : i8
  cf.assert %p, "a is zero"
  return %a : i8""",
    "i8",
    1,
)
IDENTITY = function("  return %a : i8", "i8", 1)


def test_an_assertion_may_go_but_none_may_come() -> None:
    gone = compared(ASSERTS, IDENTITY)
    assert (gone.undefined, gone.differing, gone.basis) == (1, 0, Basis.EVERY_INPUT)
    come = compared(IDENTITY, ASSERTS)
    assert (come.undefined, come.differing) == (0, 1)
    assert lines_of(come, ASSERTS) == [
        "after.mlir:1:1: error: @f gives a result that is not allowed",
        "  argument 0: i8=0",
        "  before:   i8=0",
        "  after:    cf.assert: a is zero (at after.mlir:4:3)",
    ]
    assert compared(ASSERTS, ASSERTS.replace("zero", "nothing")).differing == 0


def test_a_function_without_outputs_is_not_compared() -> None:
    nothing = "func.func @f(%a: i8) { return }"
    assert compared(nothing, nothing).basis is Basis.NOTHING
    # Undefined behaviour may not come there either.
    traps = "func.func @f(%a: i8) { %0 = arith.divui %a, %a : i8\n return }"
    assert compared(nothing, traps).differing == 1


def test_local_memory_is_compared_by_the_results() -> None:
    body = """\
  %c0 = arith.constant 0 : index
  %m = memref.alloca() : memref<1xi8>
  %y = arith.addi %a, %a : i8
  memref.store {0}, %m[%c0] : memref<1xi8>
  %r = memref.load %m[%c0] : memref<1xi8>
  return %r : i8"""
    before, after = (function(body.format(stored), "i8", 1) for stored in ("%a", "%y"))
    assert compared(before, after).differing == 255
    assert compared(before, before).basis is Basis.EVERY_INPUT


# --- memory ---

STORE = """\
func.func @f(%x: i8, %i: i2, %m: {type}) {{
  %k = arith.index_castui %i : i2 to index
  {ops}
  return
}}
"""


def stores(ops: str, type_: str = "memref<4xi8>") -> str:
    return STORE.format(ops=ops.replace("TYPE", type_), type=type_)


def test_memory_is_compared_after_the_run() -> None:
    at_k = stores("memref.store %x, %m[%k] : TYPE")
    equal = compared(at_k, at_k, 100)
    assert (equal.differing, equal.verdicts[Verdict.EQUAL], equal.basis) == (0, 400, Basis.SAMPLES)
    nothing = stores("")
    report = compared(at_k, nothing, 100)
    assert report.differing > 50
    assert "  argument 2 after the run" in lines_of(report, nothing)
    found = report.counterexamples[0]
    assert found.mismatch is not None
    (place,) = found.mismatch.element
    assert place == int(found.arguments[1].bits)
    assert found.mismatch.expected == int(found.arguments[0].bits)
    assert found.mismatch.actual == int(found.arguments[2].bits[place])


@pytest.mark.parametrize(
    "type_",
    thinned(
        [
            "memref<4xi8, strided<[2]>>",
            "memref<4xi8, strided<[2], offset: 3>>",
            "memref<4xi8, strided<[?], offset: ?>>",
            "memref<?xi8, strided<[?], offset: ?>>",
            "memref<4xi8, affine_map<(d0) -> (d0 * 3)>>",
            "memref<?xi8>",
        ],
        3,
    ),
)
def test_memory_of_any_layout_is_compared_in_whole(type_: str) -> None:
    at_0 = "%z = arith.constant 0 : index\n  memref.store %x, %m[%z] : TYPE"
    before, after = stores(at_0, type_), stores("", type_)
    assert compared(before, before, 60).differing == 0
    assert compared(before, after, 60).differing > 30


def test_poison_in_memory_before_allows_anything_but_poison_after_is_a_difference() -> None:
    poison = stores("%p = ub.poison : i8\n  memref.store %p, %m[%k] : TYPE")
    plain = stores("memref.store %x, %m[%k] : TYPE")
    assert compared(poison, plain, 50).differing == 0
    assert compared(plain, poison, 50).differing == 50


def test_each_memref_is_memory_of_its_own() -> None:
    text = """\
func.func @f(%m: memref<1xi4>, %n: memref<1xi4>) -> i4 {{
  %z = arith.constant 0 : index
  %a = memref.load %m[%z] : memref<1xi4>
  %b = arith.addi %a, %a : i4
  memref.store %b, %n[%z] : memref<1xi4>
  %c = memref.load %m[%z] : memref<1xi4>
  return %{0} : i4
}}
"""
    # Equal only if a store to one does not change the other: all combinations of contents do not prove it.
    report = compared(text.format("c"), text.format("a"))
    assert (report.inputs, report.differing, report.basis) == (256, 0, Basis.SAMPLES)
    assert report.notes == ("memrefs do not overlap",)


# --- dynamic sizes ---


def test_dynamic_sizes_are_several() -> None:
    text = """\
func.func @f(%t: tensor<?x?xi8>) -> index {{
  %k = arith.constant {0} : index
  %d = tensor.dim %t, %k : tensor<?x?xi8>
  return %d : index
}}
"""
    assert compared(text.format(0), text.format(0)).differing == 0
    # The dimensions have different sizes in some inputs: the wrong one is found.
    assert compared(text.format(0), text.format(1)).differing > 0


def test_a_result_of_another_shape_is_a_difference() -> None:
    text = """\
func.func @f(%x: i8) -> tensor<?xi8> {{
  %k = arith.constant {0} : index
  %t = tensor.splat %x[%k] : tensor<?xi8>
  return %t : tensor<?xi8>
}}
"""
    report = compared(text.format(3), text.format(4))
    assert report.differing == 256
    assert report.counterexamples[0].trap == "result 0 has the shape 4, not 3"


@pytest.mark.long
def test_sizes_follow_the_scales() -> None:
    type_ = "tensor<?x?x!quant.uniform<i8:f32:{0}>>"
    for spelled, shape in (("1, {2.0,3.0}", 2), ("0, {2.0,3.0,4.0,5.0,6.0}", 5)):
        quantised = type_.format(spelled)
        text = f"""\
func.func @f(%a: {quantised}) -> tensor<?x?xf32> {{
  %0 = quant.dcast %a : {quantised} to tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}}
"""
        report = compared(text, text)
        assert (report.differing, report.undefined, report.problem) == (0, 0, None)
        assert report.verdicts[Verdict.EQUAL] % shape == 0
    whole = "tensor<?x!quant.uniform<i8:f32:0, {2.0,3.0}>>"
    cast = f"func.func @f(%a: tensor<?xf32>) -> {whole} {{ %0 = quant.qcast %a : tensor<?xf32> to {whole}\n return %0 : {whole} }}"
    assert compared(cast, cast).verdicts[Verdict.EQUAL] > 0


def test_scalable_vectors_need_the_factor() -> None:
    text = one_op("addi", "vector<[2]xi8>")
    assert "vscale" in str(compared(text, text).problem)
    module = hu.parse(text)
    report = compare(module, module, common_functions(module, module)[0], Inputs(10, vscale=2))
    assert (report.differing, report.verdicts[Verdict.EQUAL]) == (0, 40)
    small = hu.parse(one_op("addi", "vector<[1]xi4>"))
    all_codes = compare(small, small, common_functions(small, small)[0], Inputs(vscale=2))
    assert (all_codes.inputs, all_codes.basis, all_codes.notes) == (65536, Basis.SAMPLES, ("vscale: 2",))


def test_casts_get_the_sizes_that_they_need() -> None:
    text = """\
func.func @f(%t: tensor<?x?xi8>) -> tensor<5x7xi8> {
  %0 = tensor.cast %t : tensor<?x?xi8> to tensor<5x7xi8>
  return %0 : tensor<5x7xi8>
}
"""
    report = compared(text, text)
    assert (report.basis, report.differing) == (Basis.SAMPLES, 0)
    assert report.verdicts[Verdict.EQUAL] == 35 * (report.inputs - report.undefined) > 0


def test_offsets_sizes_and_strides_fit_each_other_in_some_inputs() -> None:
    type_ = "memref<?xi8, strided<[?], offset: ?>>"
    text = f"""\
func.func @f(%m: memref<8xi8>, %a: index, %b: index, %c: index, %x: i8) {{
  %v = memref.subview %m[%a] [%b] [%c] : memref<8xi8> to {type_}
  %z = arith.constant 0 : index
  memref.store %x, %v[%z] : {type_}
  return
}}
"""
    report = compared(text, text)
    assert report.inputs - report.undefined > 20
    assert (
        compared(
            text,
            text.replace("memref.store %x", "memref.store %z8").replace("%z =", "%z8 = arith.constant 0 : i8\n  %z ="),
        ).differing
        > 10
    )


# --- what costs time ---

LOOP = """\
func.func @f(%from: index, %to: index, %by: index, %x: f32) -> f32 {
  %sum = scf.for %i = %from to %to step %by iter_args(%s = %x) -> f32 {
    %t = arith.mulf %s, %x : f32
    scf.yield %t : f32
  }
  return %sum : f32
}
"""


def test_loops_whose_bounds_are_made_up_make_few_trips() -> None:
    report = compared(LOOP, LOOP, 300)
    assert (report.differing, report.skipped.total()) == (0, 0)
    assert report.undefined < 100  # steps of 0 and -1
    wrong = LOOP.replace("arith.mulf %s, %x", "arith.addf %s, %x")
    assert compared(LOOP, wrong, 300).differing > 50


def test_undefined_inputs_are_found_together() -> None:
    text = """\
func.func @f(%a: i8, %b: i8) -> i8 {
  %0 = arith.remui %a, %a : i8
  %1 = arith.subi %0, %0 : i8
  %2 = arith.remui %b, %1 : i8
  return %2 : i8
}
"""
    report = compared(text, text)
    assert (report.undefined, report.inputs, report.basis) == (65536, 65536, Basis.NOTHING)


def test_endless_inputs_share_a_budget() -> None:
    # Odd numbers never reach 0: half of all inputs run for ever.
    text = """\
func.func @f(%a: i8) -> i8 {
  %c = arith.constant 0 : i8
  %two = arith.constant 2 : i8
  cf.br ^head(%a : i8)
^head(%n: i8):
  %p = arith.cmpi eq, %n, %c : i8
  cf.cond_br %p, ^out, ^body
^body:
  %m = arith.subi %n, %two : i8
  cf.br ^head(%m : i8)
^out:
  return %n : i8
}
"""
    module = hu.parse(text)
    report = compare(module, module, common_functions(module, module)[0], Inputs(max_steps=20_000))
    assert (report.skipped.total(), report.differing, report.verdicts[Verdict.EQUAL]) == (128, 0, 128)
    assert report.basis is Basis.SAMPLES
    assert report.tested == 128


def test_an_op_that_is_not_run_is_a_reason_and_not_a_crash() -> None:
    text = one_op("addi", "i8").replace("arith.addi %a, %b : i8", '"test.op"(%a, %b) : (i8, i8) -> i8')
    report = compared(text, text)
    assert (report.basis, report.skipped.total()) == (Basis.NOTHING, 65536)
    assert list(report.skipped) == ["cannot execute 'test.op': no registered dialect has this op"]
    after = compared(one_op("addi", "i8"), text)
    assert after.basis is Basis.NOTHING
    assert all(why.startswith("second version: ") for why in after.skipped)


def test_few_inputs_that_are_not_run_do_not_hide_the_others() -> None:
    branch = function(
        """\
  %c = arith.constant 7 : i8
  %p = arith.cmpi eq, %a, %c : i8
  cf.cond_br %p, ^odd, ^rest
^odd:
  %0 = "test.op"(%a) : (i8) -> i8
  return %0 : i8
^rest:
  return %a : i8""",
        "i8",
        1,
    )
    report = compared(branch, branch)
    assert (report.skipped.total(), report.verdicts[Verdict.EQUAL], report.basis) == (1, 255, Basis.SAMPLES)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("%c = arith.constant 0x7E00 : f16", "%z = arith.constant 0.0 : f16\n%c = arith.divf %z, %z : f16"),
        (
            "%c = arith.constant 0.0 : f16",
            "%z = arith.constant 0.0 : f16\n%n = arith.constant -0.0 : f16\n%c = arith.maxnumf %z, %n : f16",
        ),
    ],
    ids=["nan", "zero"],
)
@pytest.mark.parametrize("shown", ["", "vector.print %c : f16\n"], ids=["returned", "printed"])
def test_bits_that_only_the_second_version_leaves_unspecified_are_not_proven(
    before: str, after: str, shown: str
) -> None:
    one, two = (f"func.func @f(%a: i2) -> f16 {{\n{body}\n{shown}return %c : f16\n}}" for body in (before, after))
    report = compared(one, two)
    assert report.loosened
    assert not report.differing
    assert report.basis is Basis.SAMPLES
    assert compared(two, one).basis is Basis.EVERY_INPUT
    assert compared(two, two).basis is Basis.EVERY_INPUT


@pytest.mark.parametrize(("shown", "known"), [("%c : i2", 3), ('str "one"', 0)], ids=["value", "text"])
def test_a_row_may_explain_printed_values_and_no_other_text(shown: str, known: int) -> None:
    body = "func.func @f(%a: i2) -> i2 {{\n%c = arith.constant 1 : i2\n{}\n}}"
    one = hu.parse(body.format("vector.print %a : i2\nreturn %a : i2"))
    two = hu.parse(body.format(f"vector.print {shown}\nreturn %c : i2"))
    (pair,) = common_functions(one, two)
    report = compare(one, two, pair, Inputs(8), explain=lambda part: [("a row",)] * part.count)
    assert report.known.total() == known
    assert report.differing == (0 if known else 4)
