"""`iree_codegen.smt.constraints` evaluated: the document's examples, every op in a module, and configurations."""

import operator
from collections.abc import Callable
from functools import reduce
from itertools import product
from typing import Any

import pytest
from corpora.corpus_iree import entries
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from halfulp.codegen.constraints import Constraints, constraints
from halfulp.interp.bytecode.writer import write_bytecode
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.iree_codegen.knobs import Configuration, configuration
from halfulp.interp.dialects.iree_codegen.verdicts import ASSERTS, EVALUATORS
from halfulp.interp.ir.attributes import DenseArrayAttr
from halfulp.interp.ir.errors import HalfulpError, InputError, LimitExceeded, Unsupported
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.loading import parse_module, read_bytecode
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.value import Value
from halfulp.running import run


def around(body: str, arguments: str = "", knobs: str = "") -> str:
    """Constraints with this body; ``arguments``: names of dimensions, ``knobs``: of int_knobs, both with spaces."""
    dims = arguments.split()
    names = ", ".join(f"%{name}: !smt.int" for name in dims)
    template = ", ".join(f'{name} = #iree_codegen.smt.int_knob<"{name}">' for name in knobs.split())
    read = "\n".join(f'%{name} = iree_codegen.smt.knob "{name}" : !smt.int' for name in knobs.split())
    return (
        f"func.func @f(%size: index) {{\n"
        f"iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_codegen.no_pipeline, "
        f"knobs = {{{template}}} dims({', '.join(['%size'] * len(dims))}) {{\n"
        f"^bb0{f'({names})' if names else ''}:\n{read}\n{body}\n}}\nreturn\n}}\n"
    )


def only(module: Module | str, **given: Any) -> Constraints:
    (found,) = constraints(module, **given)
    return found


def words(module: Module | str, **given: Any) -> list[str]:
    return [verdict.verdict for verdict in only(module, **given).verdicts]


def texts(module: Module | str, **given: Any) -> list[str]:
    return [f"{verdict.verdict}: {verdict.text}" for verdict in only(module, **given).verdicts]


# --- the document -----------------------------------------------------------------------------------------------------


def document(function: str) -> list[Module]:
    """Return a module of the document's examples, read from the document's form, the generic form, and bytecode."""
    (text,) = (e.text for e in entries() if e.file == "document.mlir" and f"func.func @{function}(" in e.text)
    module = parse_module(text, "document.mlir")
    generic = parse_module(print_module(module, generic=True), "document.mlir")
    return [module, generic, read_bytecode(write_bytecode(module, schema=Schema.LLVM24), "document.mlir")]


def test_the_document_s_asserts() -> None:
    for module in document("assertions"):
        assert texts(module, knobs={"x": 16, "y": 32}) == ["holds: dim_0 == 128", "holds: wg_x (16) < wg_y (32)"]
        assert texts(module, knobs={"x": 64, "y": 32}) == ["FAILS: dim_0 == 128", "FAILS: wg_x (64) < wg_y (32)"]
        found = only(module, knobs={"y": 32})
        assert texts(module, knobs={"y": 32}) == ["unknown: dim_0 == 128", "unknown: wg_x (?) < wg_y (32)"]
        assert {verdict.because for verdict in found.verdicts} == {("knob x is not given",)}
        assert [verdict.values for verdict in found.verdicts] == [(), (None, 32)]


def test_the_document_s_constraints_assert_nothing() -> None:
    for module in document("constraints"):
        found = only(module, dims=[128, 256, 64], knobs={"wg_m": 32, "wg_n": 64})
        assert found.verdicts == ()
        assert found.verdict == "holds"
        assert found.knobs == (("wg_m", 32), ("wg_n", 64))
        assert [value for _, value in found.dims] == [128, 256, 64]
    assert [name for name, _ in only(document("constraints")[0]).dims] == ["%m", "%n", "%k"]


def test_the_document_s_lookup() -> None:
    """The table of the document's example, with an assert that the example does not have."""
    table = "%found = iree_codegen.smt.lookup %idx [3, 7, 12] -> [16, 32, 64] : !smt.int"
    for module in document("lookup"):
        (lookup,) = (op for op in module.walk() if op.name == "iree_codegen.smt.lookup")
        tables = [lookup.properties[name] for name in ("keys", "values")]
        assert [table.values for table in tables if isinstance(table, DenseArrayAttr)] == [(3, 7, 12), (16, 32, 64)]
        assert only(module, knobs={"mma_idx": 0}).verdicts == ()
    text = around(f'{table}\n%yes = smt.constant true\niree_codegen.smt.assert %yes, "{{}}", %found : !smt.bool, !smt.int', knobs="idx")  # fmt: skip
    assert [texts(text, knobs={"idx": key})[0] for key in (3, 7, 12)] == ["holds: 16", "holds: 32", "holds: 64"]
    assert texts(text, knobs={"idx": 5}) == ["holds: ?"]
    assert texts(text, knobs={"idx": 5}, model="solver") == ["holds: 64"]


# --- every op ---------------------------------------------------------------------------------------------------------

# An op of %a, %b (integers) and %p, %q (truth values), and its value for a, b = -7, 2 and p, q = true, false.
INTEGERS = {
    "smt.int.constant": ("smt.int.constant -340282366920938463463374607431768211457", -(1 << 128) - 1),
    "smt.int.add": ("smt.int.add %a, %b, %b", -3),
    "smt.int.mul": ("smt.int.mul %a, %b, %b", -28),
    "smt.int.sub": ("smt.int.sub %a, %b", -9),
    "smt.int.div": ("smt.int.div %a, %b", -4),
    "smt.int.mod": ("smt.int.mod %a, %b", 1),
    "smt.int.abs": ("smt.int.abs %a", 7),
    "smt.ite": ("smt.ite %q, %a, %b : !smt.int", 2),
    "smt.declare_fun": ('smt.declare_fun "free" : !smt.int', None),
    "iree_codegen.smt.knob": ('iree_codegen.smt.knob "k" : !smt.int', 5),
    "iree_codegen.smt.lookup": ("iree_codegen.smt.lookup %b [1, 2] -> [-1, -2] : !smt.int", -2),
}
TRUTHS = {
    "smt.constant": ("smt.constant false", False),
    "smt.int.cmp": ("smt.int.cmp le %a, %b", True),
    "smt.eq": ("smt.eq %p, %q : !smt.bool", False),
    "smt.distinct": ("smt.distinct %a, %b : !smt.int", True),
    "smt.and": ("smt.and %p, %q", False),
    "smt.or": ("smt.or %p, %q", True),
    "smt.not": ("smt.not %q", True),
    "smt.xor": ("smt.xor %p, %q, %p", False),
    "smt.implies": ("smt.implies %p, %q", False),
}
VALUES = """\
%a = smt.int.constant -7
%b = smt.int.constant 2
%p = smt.int.cmp lt %a, %b
%q = smt.int.cmp gt %a, %b
"""


def test_every_op_of_the_dialect_is_evaluated() -> None:
    declared = set(default_registry().dialects["smt"].ops)
    declared |= {f"iree_codegen.smt.{name}" for name in ("assert", "knob", "lookup")}
    assert declared == {*EVALUATORS, *ASSERTS} == {*INTEGERS, *TRUTHS, *ASSERTS}


@pytest.mark.parametrize("op", INTEGERS)
def test_ops_on_integers(op: str) -> None:
    form, expected = INTEGERS[op]
    text = around(f'{VALUES}%r = {form}\niree_codegen.smt.assert %p, "{{}}", %r : !smt.bool, !smt.int')
    text = text.replace("knobs = {}", 'knobs = {k = #iree_codegen.smt.int_knob<"k">}')
    for module in (parse_module(text), parse_module(print_module(parse_module(text), generic=True))):
        (verdict,) = only(module, knobs={"k": 5}).verdicts
        assert verdict.values == (expected,)
        assert verdict.text == ("?" if expected is None else str(expected))


@pytest.mark.parametrize("op", TRUTHS)
def test_ops_on_truth_values(op: str) -> None:
    form, expected = TRUTHS[op]
    text = around(f'{VALUES}%r = {form}\niree_codegen.smt.assert %r, "r" : !smt.bool\nsmt.assert %r')
    for module in (parse_module(text), parse_module(print_module(parse_module(text), generic=True))):
        assert texts(module) == [f"{'holds' if expected else 'FAILS'}: {name}" for name in ("r", "smt.assert")]


def test_a_bool_may_be_declared_and_chosen() -> None:
    text = around(
        f'{VALUES}%free = smt.declare_fun "free" : !smt.bool\n%r = smt.ite %p, %q, %free : !smt.bool\nsmt.assert %r\n'
        "%s = smt.ite %q, %q, %free : !smt.bool\nsmt.assert %s\n%bits = smt.declare_fun : !smt.bv<8>\n"
        "%t = smt.eq %bits, %bits : !smt.bv<8>\nsmt.assert %t"
    )
    found = only(text)
    assert [verdict.verdict for verdict in found.verdicts] == ["FAILS", "unknown", "unknown"]
    assert [verdict.because for verdict in found.verdicts[1:]] == [
        ('smt.declare_fun "free" may have any value',),
        ("smt.declare_fun may have any value",),
    ]


@pytest.mark.parametrize("op", ["int.abs %a", "constant true", "distinct %a, %b : !smt.int", "xor %p, %q", "implies %p, %q"])  # fmt: skip
def test_what_iree_s_evaluator_does_not_handle(op: str) -> None:
    text = around(f"{VALUES}%r = smt.{op}\nsmt.assert %p")
    assert words(text) == ["holds"]
    name = f"smt.{op.split()[0]}"
    with pytest.raises(Unsupported, match=f"IREE's evaluator of constraints does not handle {name}") as caught:
        only(text, model="iree", knobs={})
    assert caught.value.op == name
    assert str(caught.value).startswith("<string>:9:6: error: ")
    with pytest.raises(Unsupported, match="does not handle smt.assert"):
        only(around(f"{VALUES}smt.assert %p"), model="iree", knobs={})


def test_other_ops_are_unsupported() -> None:
    for model in ("smt", "solver", "iree"):
        with pytest.raises(Unsupported, match="arith.constant is not evaluated in constraints"):
            only(around("%0 = arith.constant 1 : i32"), model=model, knobs={})
        with pytest.raises(Unsupported, match=r"smt.bv.add is not evaluated"):
            only(around('%0 = "smt.bv.add"() : () -> !smt.bv<8>'), model=model, knobs={})


# Wrong operands or attributes of each op, and what is said.
WRONG = {
    "smt.int.constant": ("%r = smt.int.constant true", "expected integer value"),
    "smt.int.add": ("%r = smt.int.add %a, %p", "expects different type"),
    "smt.int.mul": ('%r = "smt.int.mul"(%p) : (!smt.bool) -> !smt.int', "operand #0 must be"),
    "smt.int.sub": ('%r = "smt.int.sub"(%a) : (!smt.int) -> !smt.int', "expected 2 operands, but found 1"),
    "smt.int.div": ("%r = smt.int.div %a", "expected ','"),
    "smt.int.mod": ("%r = smt.int.mod %a, %q", "expects different type"),
    "smt.int.abs": ("%r = smt.int.abs %p", "expects different type"),
    "smt.ite": ("%r = smt.ite %a, %a, %b : !smt.int", "expects different type"),
    "smt.declare_fun": ("%r = smt.declare_fun : i32", "must be any SMT value type"),
    "iree_codegen.smt.knob": ('%r = iree_codegen.smt.knob "other" : !smt.int', "not found in knobs dict"),
    "iree_codegen.smt.lookup": ("%r = iree_codegen.smt.lookup %a [1, 2] -> [3] : !smt.int", "must have the same size"),
    "smt.constant": ('%r = smt.constant "a"', "invalid kind of attribute specified"),
    "smt.int.cmp": ("%r = smt.int.cmp eq %a, %b", "one of the following enum values"),
    "smt.eq": ("%r = smt.eq %a : !smt.int", "must have at least size 2"),
    "smt.distinct": ("%r = smt.distinct %a, %p : !smt.int", "expects different type"),
    "smt.and": ("%r = smt.and %a, %b", "expects different type"),
    "smt.or": ("%r = smt.or %p, %a", "expects different type"),
    "smt.not": ("%r = smt.not %a", "expects different type"),
    "smt.xor": ("%r = smt.xor %a", "expects different type"),
    "smt.implies": ("%r = smt.implies %p", "expected ','"),
    "smt.assert": ("smt.assert %a", "expects different type"),
    "iree_codegen.smt.assert": ('iree_codegen.smt.assert %p, "{} {}", %a : !smt.bool, !smt.int', "2 placeholder"),
}


@pytest.mark.parametrize("op", WRONG)
def test_each_op_used_wrongly(op: str) -> None:
    form, message = WRONG[op]
    with pytest.raises(HalfulpError, match=message) as caught:
        only(around(f"{VALUES}{form}"))
    assert str(caught.value).startswith("<string>:9:")


def test_every_op_is_used_wrongly() -> None:
    assert WRONG.keys() == {*EVALUATORS, *ASSERTS}


def test_a_run_passes_over_constraints() -> None:
    """They say nothing of values, not even where they fail."""
    text = around(f"{VALUES}smt.assert %q").replace("(%size: index)", "(%size: index) -> index")
    text = text.replace("return", "return %size : index")
    assert words(text) == ["FAILS"]
    assert run(text, 5)[0] == Value.from_numpy(5, "index")
    assert run(text, [5, 6], batch=True)[0].numpy().tolist() == [5, 6]


def test_messages_are_filled_in_from_left_to_right() -> None:
    body = 'iree_codegen.smt.assert %p, "{{}} {a} }{ {} {", %a, %b : !smt.bool, !smt.int, !smt.int'
    assert texts(around(f"{VALUES}{body}")) == ["holds: {-7} {a} }{ 2 {"]


# --- programs ---------------------------------------------------------------------------------------------------------

# Of two integers, of two truth values, and of both, by ops that have no trap.
ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "smt.int.add": operator.add,
    "smt.int.sub": operator.sub,
    "smt.int.mul": operator.mul,
}
LOGIC: dict[str, Callable[[bool, bool], bool]] = {
    "smt.and": operator.and_,
    "smt.or": operator.or_,
    "smt.xor": operator.xor,
    "smt.implies": operator.le,
}
ORDER: dict[str, Callable[[int, int], bool]] = {
    "smt.int.cmp lt": operator.lt,
    "smt.int.cmp le": operator.le,
    "smt.int.cmp gt": operator.gt,
    "smt.int.cmp ge": operator.ge,
    "smt.eq": operator.eq,
    "smt.distinct": operator.ne,
}
steps = st.lists(
    st.tuples(st.sampled_from([*ARITHMETIC, *LOGIC, *ORDER]), st.integers(0, 99), st.integers(0, 99)),
    min_size=1,
    max_size=12,
)


def program(steps: list[tuple[str, int, int]]) -> tuple[str, Callable[[int, int, int], list[bool]]]:
    """Constraints on the dimension d and knobs x and y, and the same in Python: what becomes of each truth value."""
    integers, truths, body = ["%d", "%x", "%y"], ["%less"], ["%less = smt.int.cmp lt %x, %y"]
    plan: list[tuple[str, Any, str, str]] = []
    for number, (op, i, j) in enumerate(steps):
        name = f"%t{number}"
        pool = truths if op in LOGIC else integers
        left, right = pool[i % len(pool)], pool[j % len(pool)]
        plan.append((name, (ARITHMETIC | LOGIC | ORDER)[op], left, right))
        body.append(f"{name} = {op} {left}, {right}{' : !smt.int' if op in ('smt.eq', 'smt.distinct') else ''}")
        (integers if op in ARITHMETIC else truths).append(name)
    body += [f"smt.assert {name}" for name in truths]

    def run(d: int, x: int, y: int) -> list[bool]:
        values: dict[str, Any] = {"%d": d, "%x": x, "%y": y, "%less": x < y}
        for name, function, left, right in plan:
            values[name] = function(values[left], values[right])
        return [values[name] for name in truths]

    return around("\n".join(body), "d", "x y"), run


numbers = st.one_of(st.integers(-9, 9), st.integers())


@given(steps, numbers, numbers, numbers)
def test_programs_against_python(steps: list[tuple[str, int, int]], d: int, x: int, y: int) -> None:
    text, run = program(steps)
    expected = ["holds" if truth else "FAILS" for truth in run(d, x, y)]
    assert words(text, dims=[d], knobs={"x": x, "y": y}) == expected


@given(steps, st.integers(-3, 3), st.sets(st.sampled_from(["d", "x", "y"]), min_size=1))
def test_a_verdict_is_right_whatever_is_not_given(steps: list[tuple[str, int, int]], y: int, free: set[str]) -> None:
    """A verdict that does not need a number is right for every number; an unknown one names what is missing."""
    text, run = program(steps)
    given = {name: y for name in "dxy" if name not in free}
    found = only(text, dims={name: value for name, value in given.items() if name == "d"}, knobs={name: value for name, value in given.items() if name != "d"})  # fmt: skip
    reasons = {f"knob {name} is not given" for name in free & {"x", "y"}}
    reasons |= {"dimension %d is not given" for _ in free & {"d"}}
    for verdict in found.verdicts:
        assert set(verdict.because) <= reasons
        assert bool(verdict.because) == (verdict.verdict == "unknown")
    for choice in product((-2, 0, 5), repeat=len(free)):
        filled = given | dict(zip(sorted(free), choice, strict=True))
        for verdict, truth in zip(found.verdicts, run(filled["d"], filled["x"], filled["y"]), strict=True):
            assert verdict.verdict in ("unknown", "holds" if truth else "FAILS")


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=5))
def test_ops_of_many_operands_against_python(values: list[int]) -> None:
    names = [f"%k{index}" for index in range(len(values))]
    body = [f"{name} = smt.int.constant {value}" for name, value in zip(names, values, strict=True)]
    body += [f"%sum = smt.int.add {', '.join(names)}", f"%product = smt.int.mul {', '.join(names)}"]
    body += ["%p = smt.int.cmp le %sum, %sum", 'iree_codegen.smt.assert %p, "{} {}", %sum, %product : !smt.bool, !smt.int, !smt.int']  # fmt: skip
    assert texts(around("\n".join(body))) == [f"holds: {sum(values)} {reduce(operator.mul, values)}"]


# --- configurations ---------------------------------------------------------------------------------------------------

INT, ONE_OF = '#iree_codegen.smt.int_knob<"{}">', '#iree_codegen.smt.one_of_knob<"{}", [{}]>'
A, B = INT.format("a"), INT.format("b")
ROOT = "root_op = #iree_codegen.root_op<set = 0>"
INFO = "workgroup_size = [64, 2, 1] subgroup_size = 32"


def configured(template: str, roots: str | list[str], info: str | None = INFO, pipeline: str = "VectorDistribute", before: str = "") -> Operation:  # fmt: skip
    """Return the constraints of a function with these attributes on ops before it."""
    roots = [f"{ROOT}, lowering_config = #iree_gpu.lowering_config<{{{roots}}}>"] if isinstance(roots, str) else roots
    ops = "\n".join(f"%{number} = arith.constant {{{root}}} 0 : i32" for number, root in enumerate(roots))
    translation = "" if info is None else (
        f" attributes {{translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> {info}>}}"
    )  # fmt: skip
    module = parse_module(
        f"{before}func.func @f(){translation} {{\n{ops}\niree_codegen.smt.constraints target = <set = 0>, "
        f"pipeline = #iree_gpu.pipeline<{pipeline}>, knobs = {{{template}}} dims() {{\n^bb0:\n}}\nreturn\n}}"
    )
    (op,) = (op for op in module.walk() if op.name == "iree_codegen.smt.constraints")
    return op


MFMA = "#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>"
OPTIONS = ", {{gpu_pipeline_options = #iree_gpu.pipeline_options<{}>}}"


# What iree-opt 3.13 finds (iree-codegen-verify-smt-constraints), asked of each.
@each_row(
    ("", "", INFO, {}),
    (f"a = {A}", "a = 5", INFO, {"a": 5}),
    (f"a = {A}", "a = -3 : index", INFO, {"a": -3}),
    # The bits as a signed number.
    (f"a = {A}", "a = true", INFO, {"a": -1}),
    (f"a = {A}", "a = 200 : ui8", INFO, {"a": -56}),
    (f"a = {A}", "a = 36893488147419103240 : i128", INFO, {"a": 8}),
    (f"workgroup = [{A}, {B}, 0]", "workgroup = [64, 32, 0], reduction = [0, 0, 16]", INFO, {"a": 64, "b": 32}),
    (f"a = {{c = {A}, b = [[1, {B}]]}}", "a = {c = 2, b = [[1, 7]], more = 1}", INFO, {"a": 2, "b": 7}),
    (f"a = {A}, b = 3 : i32", "a = 1, b = 3", INFO, {"a": 1}),
    (f"a = {A}, b = 255 : i8", "a = 1, b = -1", INFO, {"a": 1}),
    (f'a = {A}, b = ["x", unit, f32, 1.0, {MFMA}]', f'a = 1, b = ["x", unit, f32, 1.0, {MFMA}]', INFO, {"a": 1}),
    (f"a = #iree_gpu.lowering_config<{{b = {A}}}>", "a = #iree_gpu.lowering_config<{b = 1}>", INFO, {"a": 1}),
    ("a = " + ONE_OF.format("a", "16, 32"), "a = 32", INFO, {"a": 1}),
    ("a = " + ONE_OF.format("a", "16, 16"), "a = 16", INFO, {"a": 0}),
    ("a = " + ONE_OF.format("a", f"1, {MFMA}"), f"a = {MFMA}", INFO, {"a": 1}),
    ("a = " + ONE_OF.format("a", "[1, 2], [3, 4]"), "a = [3, 4]", INFO, {"a": 1}),
    # The last of a name.
    (f"a = {A}, b = {A}", "a = 1, b = 2", INFO, {"a": 2}),
    (f"workgroup_size = [{A}, 2, 1], subgroup_size = {B}", "", INFO, {"a": 64, "b": 32}),
    (f"subgroup_size = {A}", "", "", {"a": 0}),
    # The lowering_config comes first.
    (f"workgroup_size = [{A}], subgroup_size = {B}", "workgroup_size = [1], subgroup_size = 2", INFO, {"a": 1, "b": 2}),
    (f"gpu_pipeline_options = {{prefetch_num_stages = {A}}}", "", OPTIONS.format("prefetch_num_stages = 2"), {"a": 2}),
    (f"gpu_pipeline_options = {{prefetch_num_stages = {A}}}", "", "", {"a": 0}),
    (
        f"gpu_pipeline_options = {{no_reduce_shared_memory_bank_conflicts = {A}, use_igemm_convolution = {B}}}",
        "",
        OPTIONS.format("no_reduce_shared_memory_bank_conflicts = true, reorder_workgroups_strategy = <Transpose>"),
        {"a": -1, "b": 0}
    ),
)  # fmt: skip
def test_knobs_of_a_configuration(template: str, config: str, info: str, knobs: dict[str, int]) -> None:
    assert configuration(configured(template, config, info)) == Configuration(knobs)


@each_row(
    (f"a = {A}", "b = 2", "the configuration has no a"),
    (f"a = {{b = {A}}}", "a = {c = 1}", "the configuration has no a.b"),
    (f"a = [1], b = {A}", "a = [1]", "the configuration has no b"),
    (f"workgroup_size = [{A}]", "", "the configuration has no workgroup_size"),
    ("gpu_pipeline_options = {reorder_workgroups_strategy = 0}", "", "the configuration has no gpu_pipeline_options.reorder_workgroups_strategy"),
)  # fmt: skip
def test_entries_that_a_configuration_lacks(template: str, config: str, problem: str) -> None:
    assert configuration(configured(template, config, "")) == Configuration({}, problem, missing=True)


@each_row(
    (f"a = {A}", 'a = "x"', 'a is "x", not an integer'),
    (f"a = {{b = {A}}}", "a = 1", "a is 1, not a dictionary"),
    (f"a = [{A}]", "a = 1", "a is 1, not an array of 1"),
    (f"a = [{A}]", "a = [1, 2]", "a is [1, 2], not an array of 1"),
    (f"a = [{A}]", "a = array<i64: 1>", "a is array<i64: 1>, not an array of 1"),
    (f"a = {A}, b = [0, 3]", "a = 1, b = [0, 4]", "b[1] is 4, not 3"),
    (f"a = {A}, b = 3", 'a = 1, b = "x"', 'b is "x", not 3'),
    (f'a = {A}, b = "x"', 'a = 1, b = "y"', 'b is "y", not "x"'),
    (f"a = {A}, b = {MFMA}", "a = 1, b = unit", f"b is unit, not {MFMA}"),
    (f"a = {A}, b = 1.0", "a = 1, b = 1.0 : f32", "b is 1.000000e+00 : f32, not 1.000000e+00"),
    ("a = " + ONE_OF.format("a", "16, 32"), "a = 32 : i32", 'a is 32 : i32, none of the options of "a"'),
    # The first misfit, in the order of names.
    (f"a = 2, b = {A}", "a = 1", "a is 1, not 2"),
)
def test_configurations_that_do_not_fit(template: str, config: str, problem: str) -> None:
    assert configuration(configured(template, config)) == Configuration({}, problem)


@pytest.mark.long
def test_attributes_that_are_nested_without_end() -> None:
    """Aliases nest as deeply as they like: 3000 arrays around a knob, or an option, or a number."""

    def chain(name: str, last: str) -> str:
        return f"#{name}0 = [{last}]\n" + "".join(f"#{name}{k} = [#{name}{k - 1}]\n" for k in range(1, 3000))

    before = chain("t", A) + chain("g", "7") + chain("o", "7")

    def found(template: str, config: str) -> Configuration:
        return configuration(configured(f"a = {template}", f"a = {config}", before=before))

    assert found("#t2999", "#g2999") == Configuration({"a": 7})
    assert found("[8]", "#g2999") == Configuration({}, "a[0] is something else, not 8")
    deep = found("#t2998", "#g2999").problem
    assert deep is not None
    assert deep.startswith("a[0][0]")
    assert deep.endswith(" is [7], not an integer")
    assert len(deep) < 300
    with pytest.raises(LimitExceeded, match="nested too deeply to be compared"):
        found(ONE_OF.format("a", "#o2999"), "#g2999")


GPU = "lowering_config = #iree_gpu.lowering_config<{{a = {}}}>"


@each_row(
    ([f"{ROOT}, {GPU.format(5)}", f"{ROOT}, {GPU.format(9)}"], {"a": 5}),
    # The first that has a configuration.
    ([ROOT, f"{ROOT}, lowering_config = {{a = 1}}", f"{ROOT}, {GPU.format(9)}"], {"a": 9}),
    (["root_op = #iree_codegen.root_op<set = 1>, " + GPU.format(1), f"{ROOT}, {GPU.format(9)}"], {"a": 9}),
)
def test_the_root_op(roots: list[str], knobs: dict[str, int]) -> None:
    assert configuration(configured(f"a = {A}", roots)) == Configuration(knobs)


SET = "root_op = #iree_codegen.root_op<set = 0>"


@each_row(
    ([], f"no op of the function has {SET}"),
    ([GPU.format(5)], f"no op of the function has {SET}"),
    (["root_op, " + GPU.format(5)], f"no op of the function has {SET}"),
    ([ROOT], f"the op with {SET} has no lowering_config"),
    (
        [f"{ROOT}, lowering_config = #iree_codegen.lowering_config<tile_sizes = [[1]]>", f"{ROOT}, {GPU.format(9)}"],
        f"the lowering_config of the op with {SET} is not an #iree_gpu.lowering_config",
    ),
    (
        [f"{ROOT}, lowering_config = #iree_cpu.lowering_config<a = 1>"],
        f"the lowering_config of the op with {SET} is not an #iree_gpu.lowering_config",
    ),
)  # fmt: skip
def test_functions_without_a_configured_root_op(roots: list[str], problem: str) -> None:
    assert configuration(configured(f"a = {A}", roots)) == Configuration({}, problem)
    # Without knobs there is nothing to look for.
    assert configuration(configured("", roots)) == Configuration()


def test_the_pipeline_decides_whether_constraints_are_meant() -> None:
    other = configuration(configured(f"a = {A}", "a = 1", pipeline="TileAndFuse"))
    assert other.problem == (
        "the pipeline of the function is #iree_gpu.pipeline<VectorDistribute>, not #iree_gpu.pipeline<TileAndFuse>"
    )
    none = configuration(configured(f"a = {A}", "a = 1", info=None))
    assert none.problem == "there is no function with a translation_info around the constraints"
    assert (other.missing, none.missing) == (False, False)


def test_iree_evaluates_only_what_the_configuration_fits() -> None:
    body = around(f'{VALUES}iree_codegen.smt.assert %q, "no" : !smt.bool', knobs="k")
    assert texts(body) == ["FAILS: no"]
    (verdict,) = only(body, model="iree").verdicts
    assert (verdict.verdict, verdict.because) == (
        "unknown",
        ("there is no function with a translation_info around the constraints",),
    )
    # Given knobs take the place of a configuration.
    assert texts(body, model="iree", knobs={"k": 1}) == texts(body, model="iree", knobs={}) == ["FAILS: no"]
    assert texts(body, model="iree,configuration=optional") == ["FAILS: no"]


def test_to_iree_a_missing_entry_is_an_error() -> None:
    text = module_around(configured(f"a = {A}", "b = 1"))
    assert words(text) == []
    with pytest.raises(InputError, match="the configuration does not fit the knobs: the configuration has no a"):
        only(text, model="iree")
    assert words(text, model="iree", knobs={"a": 1}) == []


def module_around(op: Operation) -> Module:
    """Return the module an op is in."""
    top = op
    while top.parent_op is not None:
        top = top.parent_op
    return Module(top)
