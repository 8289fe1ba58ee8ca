"""Control flow, calls, vectors and tensors as terms agree with the executor on every input of narrow types."""

from itertools import product

import pytest
from term_values import Function

from halfulp.conformance.proving import walk
from halfulp.conformance.proving.solving import NotProvable

pytestmark = pytest.mark.z3

IF = """
  %p = arith.cmpi slt, %a, %b : i3
  %r = scf.if %p -> (i3) {
    %q = arith.divui %a, %b : i3
    scf.yield %q : i3
  } else {
    %s = arith.addi %a, %b overflow<nsw> : i3
    scf.yield %s : i3
  }
  return %r : i3"""

NESTED = """
  %zero = arith.constant 0 : i3
  %p = arith.cmpi ne, %b, %zero : i3
  %q = arith.cmpi ugt, %a, %b : i3
  %r:2 = scf.if %p -> (i3, i3) {
    %i = scf.if %q -> (i3) {
      %d = arith.remui %a, %b : i3
      scf.yield %d : i3
    } else {
      scf.yield %a : i3
    }
    scf.yield %i, %b : i3, i3
  } else {
    scf.yield %b, %a : i3, i3
  }
  %s = arith.shli %r#0, %r#1 : i3
  return %s : i3"""

IF_WITHOUT_RESULTS = """
  %zero = arith.constant 0 : i3
  %p = arith.cmpi eq, %b, %zero : i3
  scf.if %p {
    cf.assert %p, "never fails"
    %q = arith.divui %a, %b : i3
  }
  return %a : i3"""

DIAMOND = """
  %p = arith.cmpi ult, %a, %b : i3
  cf.cond_br %p, ^one(%a : i3), ^two
^one(%x: i3):
  %y = arith.subi %x, %b : i3
  cf.br ^end(%y, %x : i3, i3)
^two:
  %z = arith.divsi %a, %b : i3
  cf.cond_br %p, ^one(%z : i3), ^end(%z, %a : i3, i3)
^end(%m: i3, %n: i3):
  %r = arith.xori %m, %n : i3
  return %r : i3"""

TWO_RETURNS = """
  %p = arith.cmpi sle, %a, %b : i3
  cf.cond_br %p, ^one, ^two
^one:
  return %a : i3
^two:
  %r = arith.addi %b, %b overflow<nuw> : i3
  return %r : i3"""

UNREACHABLE = """
  %p = arith.cmpi sle, %a, %b : i3
  cf.cond_br %p, ^one, ^two
^one:
  return %a : i3
^two:
  ub.unreachable"""

SWITCH = """
  cf.switch %a : i3, [
    default: ^other,
    1: ^one(%b : i3),
    6: ^six
  ]
^one(%x: i3):
  return %x : i3
^six:
  %y = arith.divui %b, %b : i3
  return %y : i3
^other:
  return %a : i3"""

ASSERT = """
  %p = arith.cmpi ne, %b, %a : i3
  cf.assert %p, "they differ"
  %r = arith.remsi %a, %b : i3
  %q = arith.cmpi ne, %r, %a : i3
  cf.assert %q, "the remainder is another"
  return %r : i3"""

POISON_BRANCH = """
  %s = arith.addi %a, %b overflow<nsw> : i3
  %p = arith.cmpi slt, %s, %b : i3
  %r = scf.if %p -> (i3) {
    scf.yield %a : i3
  } else {
    scf.yield %b : i3
  }
  return %r : i3"""

POISON_ARM = """
  %s = arith.addi %a, %b overflow<nsw> : i3
  %p = arith.cmpi slt, %a, %b : i3
  %r = arith.select %p, %s, %b : i3
  %q = arith.select %p, %r, %s : i3
  return %q : i3"""

EXECUTE_REGION = """
  %r = scf.execute_region -> i3 {
    %p = arith.cmpi sle, %a, %b : i3
    cf.cond_br %p, ^one, ^two
  ^one:
    scf.yield %a : i3
  ^two:
    %q = arith.divui %a, %b : i3
    scf.yield %q : i3
  }
  return %r : i3"""

FOR = """
  %from = arith.constant -3 : i8
  %to = arith.constant 7 : i8
  %step = arith.constant 4 : i8
  %r = scf.for %i = %from to %to step %step iter_args(%x = %a) -> (i3) : i8 {
    %t = arith.trunci %i : i8 to i3
    %y = arith.addi %x, %t : i3
    %z = arith.divui %y, %b : i3
    scf.yield %z : i3
  }
  return %r : i3"""

NO_TRIP = """
  %from = arith.constant -3 : i8
  %to = arith.constant 7 : i8
  %step = arith.constant 4 : i8
  %r = scf.for unsigned %i = %from to %to step %step iter_args(%x = %a) -> (i3) : i8 {
    scf.yield %b : i3
  }
  return %r : i3"""

CALL = """
  %x = call @g(%a, %b) : (i3, i3) -> i3
  %y = call @g(%b, %x) : (i3, i3) -> i3
  return %y : i3"""

VECTOR = """
  %v = vector.broadcast %a : i3 to vector<2x3xi3>
  %w = vector.insert %b, %v[1, 2] : i3 into vector<2x3xi3>
  %d = arith.divui %w, %v : vector<2x3xi3>
  %k = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : vector<2x3xi3>
  %s = arith.addi %d, %k overflow<nsw> : vector<2x3xi3>
  %row = vector.extract %s[1] : vector<3xi3> from vector<2x3xi3>
  %one = vector.broadcast %row : vector<3xi3> to vector<2x3xi3>
  %col = vector.broadcast %b : i3 to vector<2x1xi3>
  %cols = vector.broadcast %col : vector<2x1xi3> to vector<2x3xi3>
  %m = arith.maxsi %one, %cols : vector<2x3xi3>
  %c = arith.cmpi slt, %m, %w : vector<2x3xi3>
  %z = arith.select %c, %s, %w : vector<2x3xi1>, vector<2x3xi3>
  %r = vector.extract %z[1, 2] : i3 from vector<2x3xi3>
  return %r : i3"""

DYNAMIC_PLACE = """
  %k = arith.constant dense<[5, 3, 1]> : tensor<3xi3>
  %i = arith.index_castui %a : i3 to index
  %t = tensor.insert %b into %k[%i] : tensor<3xi3>
  %j = arith.index_cast %b : i3 to index
  %r = tensor.extract %t[%j] : tensor<3xi3>
  return %r : i3"""

TENSORS = """
  %t = tensor.from_elements %a, %b : tensor<2xi3>
  %s = tensor.splat %b : tensor<2xi3>
  %p = arith.cmpi slt, %a, %b : i3
  %c = arith.select %p, %t, %s : tensor<2xi3>
  %u = arith.muli %c, %t overflow<nuw> : tensor<2xi3>
  %one = arith.constant 1 : index
  %r = tensor.extract %u[%one] : tensor<2xi3>
  return %r : i3"""

POISON_PLACE = """
  %i = arith.index_castui %a : i3 to index
  %big = arith.index_castui %b : i3 to index
  %j = arith.shli %i, %big overflow<nuw> : index
  %k = arith.constant dense<[5, 3]> : vector<2xi3>
  %r = vector.extract %k[%j] : i3 from vector<2xi3>
  return %r : i3"""

DIVIDED_PRODUCT = """
  %p = arith.muli %a, %b : i3
  %q = arith.divui %p, %a : i3
  %s = arith.divsi %p, %b : i3
  %n = arith.muli %b, %a overflow<nsw> : i3
  %t = arith.floordivsi %n, %b : i3
  %m = arith.muli %b, %b overflow<nuw> : i3
  %u = arith.divui %m, %b exact : i3
  %k = arith.cmpi ult, %q, %s : i3
  %x = arith.select %k, %t, %u : i3
  %y = arith.addi %q, %x : i3
  %r = arith.xori %y, %s : i3
  return %r : i3"""

EACH_DIVIDED_PRODUCT = [
    f"""
  %p = arith.muli %x, %y {flags} : i3
  %r = arith.{division} : i3
  return %r : i3""".replace("%x", f"%{x}").replace("%y", f"%{y}")
    for flags in ("", "overflow<nsw>", "overflow<nuw>")
    for division in ("divui %p, %a", "divsi %p, %b", "ceildivsi %p, %a", "floordivsi %p, %b", "divsi %p, %a exact")
    for x, y in ("ab", "ba", "aa")
]

PROGRAMS = {
    name: text for name, text in globals().items() if name.isupper() and isinstance(text, str) and text.startswith("\n")
}
CALLEE = """
func.func private @g(%m: i3, %n: i3) -> i3 {
  %p = arith.cmpi eq, %m, %n : i3
  cf.cond_br %p, ^one, ^two
^one:
  %q = arith.divui %m, %n : i3
  return %q : i3
^two:
  %s = arith.shli %m, %n : i3
  return %s : i3
}
"""


def function(body: str) -> Function:
    return Function(f"{CALLEE}func.func @f(%a: i3, %b: i3) -> i3 {{{body}\n}}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_terms_equal_the_executor_on_every_input(name: str) -> None:
    of = function(PROGRAMS[name])
    outcomes = [of.by_executor(codes) for codes in product(range(8), repeat=2)]
    assert len(set(outcomes)) > 2
    assert of.disagreements(product(range(8), repeat=2)) == []


def test_a_product_divided_by_a_factor_equals_the_executor() -> None:
    for body in EACH_DIVIDED_PRODUCT:
        assert function(body).disagreements(product(range(8), repeat=2)) == []


LOOP = """
  cf.br ^head(%a : i3)
^head(%x: i3):
  %p = arith.cmpi ult, %x, %b : i3
  %y = arith.addi %x, %x : i3
  cf.cond_br %p, ^head(%y : i3), ^end
^end:
  return %x : i3"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"func.func @f(%a: i3, %b: i3) -> i3 {{{LOOP}\n}}", "branches form a loop"),
        (
            "func.func @f(%a: i8) -> i8 {\n%0 = scf.while (%x = %a) : (i8) -> i8 {\n%t = arith.constant false\n"
            "scf.condition(%t) %x : i8\n} do {\n^bb0(%y: i8):\nscf.yield %y : i8\n}\nreturn %0 : i8\n}",
            "the proof does not cover scf.while",
        ),
        (
            "func.func @f(%a: index) {\n%c = arith.constant 1 : index\nscf.for %i = %c to %a step %c {\n}\nreturn\n}",
            "bounds are not constants",
        ),
        (
            "func.func @f() {\n%a = arith.constant 0 : index\n%b = arith.constant 65 : index\n"
            "%c = arith.constant 1 : index\nscf.for %i = %a to %b step %c {\n}\nreturn\n}",
            "more than 64 trips",
        ),
        ("func.func @f(%a: i8) -> i8 {\n%r = call @f(%a) : (i8) -> i8\nreturn %r : i8\n}", "more than 32 deep"),
        (
            "func.func private @g(i8) -> i8\n"
            "func.func @f(%a: i8) -> i8 {\n%r = call @g(%a) : (i8) -> i8\nreturn %r : i8\n}",
            "@g has no body",
        ),
        (
            "func.func @f(%a: i8) -> i8 {\n%m = memref.alloca() : memref<i8>\nmemref.store %a, %m[] : memref<i8>\n"
            "%r = memref.load %m[] : memref<i8>\nreturn %r : i8\n}",
            "the proof does not cover memory",
        ),
        (
            "func.func @f(%a: i8) -> i8 {\nvector.print %a : i8\nreturn %a : i8\n}",
            "the proof does not cover vector.print",
        ),
        ("func.func @f(%a: i257) -> i257 {\nreturn %a : i257\n}", "the proof does not cover the type 'i257'"),
        ("func.func @f() -> tensor<65xi8> {\n%a = ub.poison : tensor<65xi8>\nreturn %a : tensor<65xi8>\n}", "65xi8"),
        (
            "func.func @f() -> vector<[4]xi8> {\n%a = arith.constant dense<1> : vector<[4]xi8>\n"
            "return %a : vector<[4]xi8>\n}",
            "size of 'vector<\\[4\\]xi8>' is not known",
        ),
        (
            "func.func @f(%a: i8) -> i8 {\n%r = builtin.unrealized_conversion_cast %a : i8 to i8\nreturn %r : i8\n}",
            "the proof does not cover builtin.unrealized_conversion_cast",
        ),
    ],
)
def test_what_has_no_terms_is_refused(text: str, reason: str) -> None:
    with pytest.raises(NotProvable, match=reason):
        Function(text)


def test_a_large_function_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "MAX_OPS", 10)
    with pytest.raises(NotProvable, match="too large"):
        function("\n".join(["", *["%c = arith.constant 1 : i3".replace("%c", f"%c{k}") for k in range(11)]]) + IF)
