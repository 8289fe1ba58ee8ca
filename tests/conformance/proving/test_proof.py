"""Proofs of rewrites: right ones are proven, each wrong one has a counterexample that the executor confirms."""

import time

import pytest

import halfulp as hu
from halfulp.conformance.proving import solving, walk
from halfulp.conformance.proving.arithmetic_terms import INTEGER_OPS
from halfulp.conformance.proving.proof import Decision, Proof, Ranges, SolverDisagrees, prove
from halfulp.conformance.whole_programs.arguments import one_input
from halfulp.conformance.whole_programs.validation import ValidationReport, common_functions, validate
from halfulp.interp.ir.errors import InputError
from halfulp.interp.ir.operations import argument_types
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import PROFILES

pytestmark = pytest.mark.z3

SECONDS = 60.0


def decided(
    before: str,
    after: str,
    seconds: float = SECONDS,
    settings: Settings | None = None,
    ranges: Ranges | None = None,
) -> Proof:
    one, two = hu.parse(before, "before.mlir"), hu.parse(after, "after.mlir")
    ((first, second),) = common_functions(one, two, "f")
    assert second is not None
    settings = settings or Settings()

    def run(values: tuple[Value, ...]) -> ValidationReport:
        return validate((one, first), (two, second), one_input(values, argument_types(first)), settings)

    return prove((one, first), (two, second), settings, seconds, run, ranges)


def rewrite(type_: str, before: str, after: str, *other: str, seconds: float = SECONDS) -> Proof:
    """Decide about two expressions of %a, %b and %c, each a body whose last value is %r, of this or the other type."""
    (result,) = other or (type_,)
    one, two = [
        f"func.func @f(%a: {type_}, %b: {type_}, %c: {type_}) -> {result} {{\n"
        + body.replace("$", type_)
        + f"\nreturn %r : {result}\n}}"
        for body in (before, after)
    ]
    return decided(one, two, seconds)


TWO = "%two = arith.constant 2 : $\n%one = arith.constant 1 : $\n%zero = arith.constant 0 : $\n%m = arith.constant -1 : $\n"
AVERAGE = "%x = arith.andi %a, %b : $\n%y = arith.xori %a, %b : $\n%o = arith.constant 1 : $\n"
RIGHT = {
    "a sum either way": ("%r = arith.addi %a, %b : $", "%r = arith.addi %b, %a : $"),
    "a dropped flag": ("%r = arith.addi %a, %b overflow<nsw> : $", "%r = arith.addi %a, %b : $"),
    "division by a power of two": (f"{TWO}%r = arith.divui %a, %two : $", f"{TWO}%r = arith.shrui %a, %one : $"),
    "exact division by a power of two": (
        f"{TWO}%r = arith.divsi %a, %two exact : $",
        f"{TWO}%r = arith.shrsi %a, %one : $",
    ),
    "a comparison of a sum": (
        f"{TWO}%s = arith.addi %a, %one overflow<nsw> : $\n%r = arith.cmpi sgt, %s, %a : $",
        "%r = arith.constant true",
        "i1",
    ),
    "the absolute value": (
        f"{TWO}%p = arith.cmpi slt, %a, %zero : $\n%n = arith.subi %zero, %a : $\n%r = arith.select %p, %n, %a : $",
        f"{TWO}%n = arith.subi %zero, %a : $\n%r = arith.maxsi %a, %n : $",
    ),
    "an average without overflow": (
        f"{AVERAGE}%z = arith.shrui %y, %o : $\n%r = arith.addi %x, %z : $",
        f"{AVERAGE}%i = arith.ori %a, %b : $\n%z = arith.shrui %y, %o : $\n"
        "%w = arith.subi %y, %z : $\n%r = arith.subi %i, %w : $",
    ),
    "a remainder by a power of two": (
        f"{TWO}%k = arith.constant 8 : $\n%r = arith.remui %a, %k : $",
        f"{TWO}%k = arith.constant 8 : $\n%q = arith.divui %a, %k : $\n%p = arith.muli %q, %k : $\n"
        "%r = arith.subi %a, %p : $",
    ),
    "undefined behaviour, replaced": (f"{TWO}%r = arith.divui %a, %b : $", f"{TWO}%r = arith.divui %a, %b : $"),
    "a select of constants": (
        f"{TWO}%p = arith.cmpi slt, %a, %b : $\n%r = arith.select %p, %m, %zero : $",
        "%p = arith.cmpi slt, %a, %b : $\n%r = arith.extsi %p : i1 to $",
    ),
}


@pytest.mark.parametrize("type_", ["i32", "i64"])
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_rewrite_is_proven(name: str, type_: str) -> None:
    before, after, *result = RIGHT[name]
    assert rewrite(type_, before, after, *result).decision is Decision.PROVEN


WRONG = {
    "a signed division by a power of two": (
        f"{TWO}%r = arith.divsi %a, %two : $",
        f"{TWO}%r = arith.shrsi %a, %one : $",
    ),
    "an added flag": ("%r = arith.addi %a, %b : $", "%r = arith.addi %a, %b overflow<nsw> : $"),
    "a flag kept over a changed order": (
        "%s = arith.addi %a, %b overflow<nsw> : $\n%r = arith.addi %s, %c overflow<nsw> : $",
        "%s = arith.addi %b, %c overflow<nsw> : $\n%r = arith.addi %a, %s overflow<nsw> : $",
    ),
    "an average with overflow": (
        f"{AVERAGE}%z = arith.shrui %y, %o : $\n%r = arith.addi %x, %z : $",
        f"{AVERAGE}%s = arith.addi %a, %b : $\n%r = arith.shrui %s, %o : $",
    ),
    "an average rounded up": (
        f"{AVERAGE}%z = arith.shrui %y, %o : $\n%r = arith.addi %x, %z : $",
        f"{AVERAGE}%i = arith.ori %a, %b : $\n%z = arith.shrui %y, %o : $\n%r = arith.subi %i, %z : $",
    ),
    "undefined behaviour, moved out of a branch": (
        f"{TWO}%p = arith.cmpi ne, %b, %zero : $\n%r = scf.if %p -> ($) {{\n%q = arith.divui %a, %b : $\n"
        "scf.yield %q : $\n} else {\nscf.yield %zero : $\n}",
        f"{TWO}%p = arith.cmpi ne, %b, %zero : $\n%q = arith.divui %a, %b : $\n%r = arith.select %p, %q, %zero : $",
    ),
    "the smallest integer by -1": (
        f"{TWO}%r = arith.subi %zero, %a : $",
        f"{TWO}%r = arith.divsi %a, %m : $",
    ),
    "one value of 2^64": (
        "%r = arith.xori %a, %b : $",
        "%k = arith.constant 123456789 : $\n%p = arith.cmpi eq, %a, %k : $\n%q = arith.cmpi eq, %b, %k : $\n"
        "%pq = arith.andi %p, %q : i1\n%x = arith.xori %a, %b : $\n%r = arith.select %pq, %k, %x : $",
    ),
    "a shift by the width": (
        f"{TWO}%r = arith.constant 0 : $",
        "%w = arith.constant 31 : $\n%x = arith.andi %b, %w : $\n%o = arith.constant 1 : $\n"
        "%w32 = arith.shli %o, %x : $\n%r = arith.shrui %a, %w32 : $",
    ),
    "an unsigned comparison": (
        "%r = arith.cmpi slt, %a, %b : $",
        "%r = arith.cmpi ult, %a, %b : $",
        "i1",
    ),
    "poison where the arm was not chosen": (
        "%p = arith.cmpi slt, %a, %b : $\n%s = arith.subi %b, %a overflow<nuw> : $\n%r = arith.select %p, %c, %s : $",
        "%p = arith.cmpi slt, %a, %b : $\n%s = arith.subi %b, %a overflow<nuw> : $\n%t = arith.subi %s, %s : $\n"
        "%u = arith.select %p, %c, %s : $\n%r = arith.addi %u, %t : $",
    ),
}


@pytest.mark.parametrize("type_", ["i32", "i64"])
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rewrite_has_a_counterexample(name: str, type_: str) -> None:
    before, after, *result = WRONG[name]
    found = rewrite(type_, before, after, *result)
    assert found.decision is Decision.DIFFERENT
    assert found.report is not None
    assert found.report.differing == 1
    assert len(found.report.counterexamples) == 1


OPS = [
    *("addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "maxui", "minsi", "minui"),
    *("divsi", "divui", "remsi", "remui", "shli", "shrsi", "shrui", "floordivsi", "ceildivsi", "ceildivui"),
]
MUTANTS = [(OPS[k], OPS[(k + 1) % len(OPS)]) for k in range(len(OPS))]


@pytest.mark.parametrize(("right", "wrong"), MUTANTS)
def test_an_op_in_place_of_another_is_found(right: str, wrong: str) -> None:
    body = "%k = arith.constant 3 : $\n%s = arith.{} %a, %k : $\n%r = arith.xori %s, %b : $"
    assert rewrite("i32", body.format(right), body.format(wrong)).decision is Decision.DIFFERENT
    assert rewrite("i32", body.format(right), body.format(right)).decision is Decision.PROVEN


def test_operands_in_another_order_are_found() -> None:
    for op in ("subi", "shli", "divui", "remsi", "floordivsi"):
        one, two = (f"%r = arith.{op} {operands} : $" for operands in ("%a, %b", "%b, %a"))
        assert rewrite("i32", one, two).decision is Decision.DIFFERENT


def test_a_constant_off_by_one_is_found() -> None:
    body = "%k = arith.constant {} : $\n%p = arith.cmpi ult, %a, %k : $\n%r = arith.select %p, %b, %c : $"
    assert rewrite("i64", body.format(1 << 40), body.format((1 << 40) + 1)).decision is Decision.DIFFERENT


def test_each_element_of_each_result_counts() -> None:
    text = """func.func @f(%a: vector<4xi32>, %b: i64) -> (i64, vector<4xi32>) {{
  %k = arith.constant dense<[1, 2, 3, {}]> : vector<4xi32>
  %r = arith.addi %a, %k : vector<4xi32>
  return %b, %r : i64, vector<4xi32>
}}"""
    assert decided(text.format(4), text.format(4)).decision is Decision.PROVEN
    found = decided(text.format(4), text.format(5))
    assert found.decision is Decision.DIFFERENT
    assert found.report is not None
    (example,) = found.report.counterexamples
    assert example.mismatch is not None
    assert (example.mismatch.result, example.mismatch.element) == (1, (3,))


def test_a_function_without_arguments_is_decided() -> None:
    text = "func.func @f() -> i32 {{\n%r = arith.constant {} : i32\nreturn %r : i32\n}}"
    assert decided(text.format(4), text.format(4)).decision is Decision.PROVEN
    assert decided(text.format(4), text.format(5)).decision is Decision.DIFFERENT


def test_what_is_undefined_for_every_input_is_not_proven() -> None:
    text = (
        "func.func @f(%a: i32) -> i32 {\n%k = arith.constant 0 : i32\n%r = arith.divui %a, %k : i32\nreturn %r : i32\n}"
    )
    found = decided(text, text.replace("divui", "remui"))
    assert (found.decision, found.reason) == (
        Decision.NOT_PROVABLE,
        "the first version is undefined for every input",
    )


SQUARES = (
    "%x = arith.muli %a, %a : $\n%y = arith.muli %b, %b : $\n%s = arith.addi %x, %y : $\n%r = arith.muli %s, %c : $"
)
# (a + b)^2 c - 2abc, which is the same
FACTORED = (
    "%s = arith.addi %a, %b : $\n%q = arith.muli %s, %s : $\n%p = arith.muli %a, %b : $\n"
    "%d = arith.addi %p, %p : $\n%e = arith.subi %q, %d : $\n%r = arith.muli %e, %c : $"
)


def test_time_that_runs_out_is_unknown_and_kept() -> None:
    # A SAT solver does not find that both are the same polynomial.
    start = time.monotonic()
    found = rewrite("i64", SQUARES, FACTORED, seconds=1.0)
    assert (found.decision, found.reason) == (Decision.UNKNOWN, "the solver gave no answer within 1 s")
    assert time.monotonic() - start < 20


def test_no_time_proves_nothing() -> None:
    assert rewrite("i32", *RIGHT["the absolute value"], seconds=0.0).decision is not Decision.PROVEN


def test_a_function_without_terms_is_not_provable() -> None:
    text = "func.func @f(%a: f32, %b: f32) -> f32 {\n%r = arith.addf %a, %b : f32\nreturn %r : f32\n}"
    found = decided(text, text)
    assert (found.decision, found.reason) == (
        Decision.NOT_PROVABLE,
        "the proof does not cover arithmetic on 'f32'",
    )


@pytest.mark.parametrize(
    ("type_", "reason"),
    [
        ("memref<4xi8>", "the proof does not cover memory"),
        ("!quant.uniform<i8:f32, 2.0>", "the proof does not cover the type '!quant.uniform<i8:f32, 2.000000e+00>'"),
        ("complex<f32>", "the proof does not cover the type 'complex<f32>'"),
        ("vector<[4]xi8>", "the size of 'vector<[4]xi8>' is not known"),
        ("tensor<?xi8>", "the size of 'tensor<?xi8>' is not known"),
        ("tensor<*xi8>", "the size of 'tensor<*xi8>' is not known"),
    ],
)
def test_a_type_without_terms_is_not_provable(type_: str, reason: str) -> None:
    text = f"func.func @f(%a: {type_}) -> {type_} {{\nreturn %a : {type_}\n}}"
    assert decided(text, text) == Proof(Decision.NOT_PROVABLE, reason)


def test_a_scalable_vector_of_a_known_size_is_decided() -> None:
    text = """func.func @f(%a: vector<[4]xi32>) -> vector<[4]xi32> {{
  %k = arith.constant dense<{}> : vector<[4]xi32>
  %r = arith.muli %a, %k : vector<[4]xi32>
  return %r : vector<[4]xi32>
}}"""
    settings = Settings(vscale=2)
    assert decided(text.format(3), text.format(3), settings=settings).decision is Decision.PROVEN
    assert decided(text.format(3), text.format(4), settings=settings).decision is Decision.DIFFERENT


def test_a_profile_that_ignores_flags_changes_the_proof() -> None:
    text = "func.func @f(%a: i32, %b: i32) -> i32 {\n%r = arith.addi %a, %b : i32\nreturn %r : i32\n}"
    flagged = text.replace("%b :", "%b overflow<nsw> :")
    assert decided(text, flagged).decision is Decision.DIFFERENT
    assert decided(text, flagged, settings=Settings(PROFILES["mlir22-fold"])).decision is Decision.PROVEN


def test_an_index_has_64_bits() -> None:
    text = (
        "func.func @f(%a: i64) -> i64 {\n%x = arith.index_cast %a : i64 to index\n"
        "%r = arith.index_cast %x : index to i64\nreturn %r : i64\n}"
    )
    assert decided(text, "func.func @f(%a: i64) -> i64 {\nreturn %a : i64\n}").decision is Decision.PROVEN


def test_what_the_executor_does_not_confirm_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = INTEGER_OPS["arith.subi"]
    monkeypatch.setitem(walk.ROWS, "arith.addi", wrong)
    with pytest.raises(SolverDisagrees, match=r"@f differs for these arguments, and the run does not"):
        rewrite("i32", "%r = arith.addi %a, %b : $", "%r = arith.addi %b, %a : $")


def test_a_failure_of_the_solver_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "satisfiable", lambda condition, deadline: (solving.Answer.UNKNOWN, {}))
    assert rewrite("i32", *RIGHT["a sum either way"]).decision is Decision.UNKNOWN


def test_an_assertion_may_go_and_not_come() -> None:
    text = """func.func @f(%a: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %p = arith.cmpi ne, %a, %zero : i32
  cf.assert %p, "not zero"
  return %a : i32
}"""
    gone = "func.func @f(%a: i32) -> i32 {\nreturn %a : i32\n}"
    assert decided(text, text).decision is Decision.PROVEN
    assert decided(text, gone).decision is Decision.PROVEN
    assert decided(gone, text).decision is Decision.DIFFERENT


F16 = {
    "a sum either way": ("%r = arith.addf %a, %b : $", "%r = arith.addf %b, %a : $", True),
    "a product either way": ("%r = arith.mulf %a, %b : $", "%r = arith.mulf %b, %a : $", True),
    "twice": (
        "%k = arith.constant 2.0 : $\n%r = arith.mulf %a, %k : $",
        "%r = arith.addf %a, %a : $",
        True,
    ),
    "half": (
        "%k = arith.constant 2.0 : $\n%r = arith.divf %a, %k : $",
        "%k = arith.constant 0.5 : $\n%r = arith.mulf %a, %k : $",
        True,
    ),
    "a third": (
        "%k = arith.constant 3.0 : $\n%r = arith.divf %a, %k : $",
        "%k = arith.constant 0.333333 : $\n%r = arith.mulf %a, %k : $",
        False,
    ),
    "a sum in another order": (
        "%x = arith.addf %a, %b : $\n%r = arith.addf %x, %c : $",
        "%x = arith.addf %b, %c : $\n%r = arith.addf %a, %x : $",
        False,
    ),
    "plus zero": ("%k = arith.constant 0.0 : $\n%r = arith.addf %a, %k : $", "%r = arith.negf %b : $", False),
    "a negated difference": (
        "%x = arith.subf %a, %b : $\n%r = arith.negf %x : $",
        "%r = arith.subf %b, %a : $",
        False,
    ),
    "a difference by a negation": (
        "%n = arith.negf %b : $\n%r = arith.addf %a, %n : $",
        "%r = arith.subf %a, %b : $",
        True,
    ),
    "the greater": (
        "%r = arith.maximumf %a, %b : $",
        "%p = arith.cmpf ogt, %a, %b : $\n%r = arith.select %p, %a, %b : $",
        False,
    ),
    "two negations": (
        "%x = arith.negf %a : $\n%r = arith.negf %x : $",
        "%k = arith.addf %a, %b : $\n%r = arith.select %t, %a, %k : $",
        True,
    ),
}


@pytest.mark.parametrize("type_", ["f16", "bf16"])
@pytest.mark.parametrize("name", F16)
def test_rewrites_of_floats(name: str, type_: str) -> None:
    before, after, right = F16[name]
    after = "%t = arith.constant true\n" + after
    found = rewrite(type_, before, after)
    assert found.decision is (Decision.PROVEN if right else Decision.DIFFERENT)


def test_bits_that_the_language_leaves_open_are_not_proven() -> None:
    # The bits of a NaN that a sum makes are any; here they become an integer.
    body = "%x = arith.addf %a, %b : $\n%r = arith.bitcast %x : $ to i16"
    assert rewrite("f16", body, body, "i16") == Proof(
        Decision.NOT_PROVABLE, "the result depends on what the language leaves unspecified"
    )


def test_a_closed_nan_may_not_become_an_open_one() -> None:
    keeps = "%z = arith.constant 0x7E00 : f16\n%p = arith.cmpf uno, %a, %a : f16\n%r = arith.select %p, %z, %a : f16"
    # The sum of the quiet NaN and zero has its bits in a run, but another implementation may give other bits.
    makes = (
        "%z = arith.constant 0x7E00 : f16\n%p = arith.cmpf uno, %a, %a : f16\n%y = arith.addf %z, %z : f16\n"
        "%r = arith.select %p, %y, %a : f16"
    )
    assert rewrite("f16", keeps, makes).decision is Decision.NOT_PROVABLE
    assert rewrite("f16", makes, keeps).decision is Decision.PROVEN


def test_z3_is_named_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    solving._module.cache_clear()
    monkeypatch.setattr(solving, "import_module", missing)
    with pytest.raises(InputError, match=r"\.\[prove\]"):
        rewrite("i32", *RIGHT["a sum either way"])


def test_memory_that_runs_out_is_unknown_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "MAX_MEGABYTES", 100)
    start = time.monotonic()
    assert rewrite("i256", SQUARES, FACTORED).decision is Decision.UNKNOWN
    assert time.monotonic() - start < SECONDS / 2
    assert rewrite("i32", *RIGHT["the absolute value"]).decision is Decision.PROVEN


def test_only_the_inputs_in_a_range_count() -> None:
    text = "func.func @f(%a: i32, %b: i32) -> i1 {{\n%r = arith.cmpi {}, %a, %b : i32\nreturn %r : i1\n}}"
    signed, unsigned = text.format("slt"), text.format("ult")
    assert decided(signed, unsigned).decision is Decision.DIFFERENT
    positive = (0, 1 << 31)
    assert decided(signed, unsigned, ranges={0: positive, 1: positive}).decision is Decision.PROVEN
    assert decided(signed, unsigned, ranges={0: positive, 1: (0, (1 << 31) + 1)}).decision is Decision.DIFFERENT
    # From -1 on, two numbers: -1 and 0.
    assert decided(signed, unsigned, ranges={0: ((1 << 32) - 1, 2), 1: (0, 1)}).decision is Decision.DIFFERENT
    assert decided(signed, unsigned, ranges={0: ((1 << 32) - 1, 1), 1: (1 << 31, 1)}).decision is Decision.PROVEN
    assert decided(signed, unsigned, ranges={0: (0, 1 << 32)}).decision is Decision.DIFFERENT
