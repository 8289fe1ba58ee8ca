"""Compare the printed values of two versions, in order."""

import pytest

import halfulp as hu
from halfulp.conformance.whole_programs.counterexamples import counterexample_lines
from halfulp.conformance.whole_programs.printed import Calls, prints
from halfulp.conformance.whole_programs.validation import Inputs, ValidationReport, common_functions, compare
from halfulp.conformance.whole_programs.validation import Inputs as Given


def compared(before: str, after: str) -> ValidationReport:
    one, two = hu.parse(before, "before.mlir"), hu.parse(after, "after.mlir")
    pair = common_functions(one, two)[0]
    return compare(one, two, pair, Given(50))


def program(body: str, arguments: str = "%x: f32, %y: i4") -> str:
    return f"func.func @f({arguments}) {{\n  {body}\n  return\n}}\n"


PRINT_X = "vector.print %x : f32"
PRINT_Y = "vector.print %y : i4"


@pytest.mark.parametrize(
    ("before", "after", "differs"),
    [
        (PRINT_X, PRINT_X, False),
        (PRINT_X, "", True),
        ("", PRINT_X, True),
        (PRINT_X, f"{PRINT_X}\n  {PRINT_X}", True),
        (f"{PRINT_X}\n  {PRINT_Y}", f"{PRINT_Y}\n  {PRINT_X}", True),
        (PRINT_X, "vector.print %x : f32 punctuation <no_punctuation>", True),
        ('vector.print str "a\\0A"', 'vector.print str "a\\0A"', False),
        ('vector.print str "a\\0A"', 'vector.print str "b\\0A"', True),
        # One zero is an element, the other stands in a text.
        (
            '%c = arith.constant 1 : i8\n  vector.print %c : i8 punctuation <no_punctuation>\n  vector.print str "0"',
            '%c = arith.constant 1 : i8\n  vector.print str "0"\n  vector.print %c : i8 punctuation <no_punctuation>',
            True,
        ),
        (PRINT_Y, "%z = arith.extsi %y : i4 to i32\n  vector.print %z : i32", False),
        (PRINT_Y, "%z = arith.extui %y : i4 to i32\n  vector.print %z : i32", True),
    ],
)
def test_texts_and_values_are_compared_in_order(before: str, after: str, differs: bool) -> None:
    assert (compared(program(before), program(after)).differing > 0) is differs


def test_values_are_compared_beyond_the_digits_that_are_printed() -> None:
    text = "%c = arith.constant {0} : f32\n  vector.print %c : f32"
    after = program(text.format("1.0000001"))
    report = compared(program(text.format("1.0")), after)
    assert report.differing == report.inputs == 50
    assert counterexample_lines(hu.parse(after, "after.mlir").body[0], report.counterexamples[0])[3:] == [
        "  printed before: '1\\n'",
        "  printed after:  '1\\n'",
        "  printed value 0",
        "  before:   0x3F800000 (1)",
        "  after:    0x3F800001 (1.0000001), 1 ulp away",
    ]


@pytest.mark.long
def test_a_vector_may_be_printed_element_by_element() -> None:
    whole = program("vector.print %v : vector<2xi4>", "%v: vector<2xi4>")
    parts = program(
        """vector.print punctuation <open>
  %a = vector.extract %v[0] : i4 from vector<2xi4>
  %b = vector.extract %v[1] : i4 from vector<2xi4>
  vector.print %a : i4 punctuation <comma>
  vector.print %b : i4 punctuation <no_punctuation>
  vector.print punctuation <close>
  vector.print punctuation <newline>""",
        "%v: vector<2xi4>",
    )
    assert compared(whole, parts).differing == 0
    assert compared(whole, parts.replace("%v[1]", "%v[0]")).differing > 0


def test_what_the_language_leaves_open_may_be_printed_otherwise() -> None:
    nan = "%n = arith.constant 0x7FC00000 : f32\n  %r = arith.{0} : f32\n  vector.print %r : f32"
    assert compared(program(nan.format("addf %n, %x")), program(nan.format("addf %x, %n"))).differing == 0
    poison = "%p = ub.poison : i4\n  vector.print %p : i4"
    assert compared(program(poison), program(PRINT_Y)).differing == 0
    assert compared(program(PRINT_Y), program(poison)).differing == 50


def test_functions_that_are_called_print_too() -> None:
    callee = f"func.func private @p(%x: f32) {{\n  {PRINT_X}\n  return\n}}\n"
    call = program("func.call @p(%x) : (f32) -> ()") + callee
    assert compared(call, program(PRINT_X)).differing == 0
    assert compared(call, program("")).differing == 50
    module = hu.parse(call)
    assert prints(module, module.body[0])
    quiet = hu.parse(program(""))
    assert not prints(quiet, quiet.body[0])


def test_functions_of_the_runner_print_memory() -> None:
    text = """\
func.func private @printMemrefI32(memref<*xi32>)
func.func @f(%x: i32) {{
  %m = memref.alloc() : memref<1xi32>
  %z = arith.constant 0 : index
  %y = arith.{0} %x, %x : i32
  memref.store %y, %m[%z] : memref<1xi32>
  %u = memref.cast %m : memref<1xi32> to memref<*xi32>
  func.call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  return
}}
"""
    report = compared(text.format("addi"), text.format("addi"))
    assert (report.differing, report.verdicts.total()) == (0, 50)
    assert compared(text.format("addi"), text.format("subi")).differing > 30


# --- uninterpreted ----------------------------------------------------------------------------------------------------
#
# Ops that no dialect has, and calls of declarations, as unknown functions: the same in both versions.


def uninterpreted_compared(before: str, after: str, count: int = 50) -> ValidationReport:
    declared = "func.func private @use(i32)\nfunc.func private @see(memref<2xi32>)\n"
    one, two = hu.parse(declared + before, "before.mlir"), hu.parse(declared + after, "after.mlir")
    ((first, second),) = common_functions(one, two)
    return compare(one, two, (first, second), Inputs(count=count, unknown=Calls))


def function(body: str) -> str:
    return f"func.func @f(%a: i32, %b: i32) -> i32 {{\n{body}\n  return %r : i32\n}}\n"


USE_A, USE_B = "  call @use(%a) : (i32) -> ()\n", "  call @use(%b) : (i32) -> ()\n"
KEEP_A = "  %r = arith.ori %a, %a : i32"


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        pytest.param(USE_A + USE_B + KEEP_A, USE_A + USE_B + KEEP_A, True, id="same calls"),
        pytest.param(USE_A + USE_B + KEEP_A, USE_B + USE_A + KEEP_A, False, id="swapped"),
        pytest.param(USE_A + KEEP_A, KEEP_A, False, id="removed"),
        pytest.param(KEEP_A, USE_A + KEEP_A, False, id="added"),
        pytest.param(
            '  %r = "foo.bar"(%a) {k = 1 : i32} : (i32) -> i32', '  %r = "foo.bar"(%a) {k = 1 : i32} : (i32) -> i32',
            True, id="unknown op",
        ),
        pytest.param(
            '  %r = "foo.bar"(%a) {k = 1 : i32} : (i32) -> i32', '  %r = "foo.bar"(%a) {k = 2 : i32} : (i32) -> i32',
            False, id="another attribute",
        ),
        pytest.param(
            '  %r = "foo.bar"(%a) : (i32) -> i32', '  %r = "foo.bar"(%b) : (i32) -> i32', False, id="another operand",
        ),
        pytest.param(
            '  %p = ub.poison : i32\n  %r = "foo.bar"(%p) : (i32) -> i32', '  %r = "foo.bar"(%b) : (i32) -> i32',
            True, id="poison before allows any operand",
        ),
        pytest.param(
            '  %x = "foo.bar"() : () -> i32\n  %y = "foo.bar"() : () -> i32\n  %r = arith.subi %x, %y : i32',
            '  %x = "foo.bar"() : () -> i32\n  %y = "foo.bar"() : () -> i32\n  %r = arith.constant 0 : i32',
            False, id="two calls have two results",
        ),
        pytest.param(
            '  %r = "foo.bar"(%a) : (i32) -> i32', '  %r = "foo.bar"(%a) {foo.seen, __mark__} : (i32) -> i32',
            True, id="marks do not count",
        ),
    ],
)  # fmt: skip
def test_versions_make_the_same_calls(before: str, after: str, same: bool) -> None:
    report = uninterpreted_compared(function(before), function(after))
    assert (report.problem, report.tested, report.exhaustive) == (None, 50, False)
    assert (report.differing == 0) == same


def test_a_call_sees_the_memory_that_it_gets() -> None:
    body = (
        """  %m = memref.alloc() : memref<2xi32>
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  memref.store %a, %m[%0] : memref<2xi32>
  memref.store %{} , %m[%1] : memref<2xi32>
  call @see(%m) : (memref<2xi32>) -> ()
"""
        + KEEP_A
    )
    assert uninterpreted_compared(function(body.format("b")), function(body.format("b"))).differing == 0
    assert uninterpreted_compared(function(body.format("b")), function(body.format("a"))).differing


def test_an_op_of_mlir_that_halfulp_does_not_have_is_no_unknown_function() -> None:
    body = '  %r = "spirv.IAdd"(%a, %b) : (i32, i32) -> i32'
    report = uninterpreted_compared(function(body), function(body))
    assert not report.compared
    assert "spirv.IAdd" in next(iter(report.skipped))
