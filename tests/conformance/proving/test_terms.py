"""The integer terms agree with the executor: on all inputs of narrow types, poison included, and on wide samples."""

import random
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest
from amounts import amounts, thinned
from term_values import Function, z3

from halfulp.conformance.comparing.inputs import corner_codes
from halfulp.conformance.proving import walk
from halfulp.conformance.proving.arithmetic_terms import FLOAT_OPS, INTEGER_OPS
from halfulp.conformance.proving.solving import NotProvable, bit
from halfulp.interp.dialects.arith.ops import CMPF_PREDICATE, arith
from halfulp.interp.ir import types as ty
from halfulp.interp.run.settings import Settings
from halfulp.semantics.profile import PROFILES

pytestmark = pytest.mark.z3

OVERFLOW = ("", "overflow<nsw>", "overflow<nuw>", "overflow<nsw, nuw>")
EXACT = ("", "exact")
NNEG = ("", "nneg")
FLAGS = {
    **dict.fromkeys(("addi", "subi", "muli", "shli", "trunci"), OVERFLOW),
    **dict.fromkeys(("divsi", "divui", "shrsi", "shrui"), EXACT),
    **dict.fromkeys(("extui", "index_castui"), NNEG),
}
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
CASTS = ("extsi", "extui", "trunci", "index_cast", "index_castui")
EXTENDED = ("addui_extended", "subui_extended", "mulsi_extended", "mului_extended")
BINARY = (
    *("addi", "subi", "muli", "divsi", "divui", "ceildivsi", "ceildivui", "floordivsi", "remsi", "remui", "andi"),
    *("ori", "xori", "shli", "shrsi", "shrui", "maxsi", "maxui", "minsi", "minui"),
)


def binary_forms() -> Iterator[tuple[str, int]]:
    """Yield each op on two integers with each of its flags, and the number of its results."""
    for name in BINARY:
        for flags in FLAGS.get(name, ("",)):
            yield f"{name} %x, %y {flags}", 1
    for name in EXTENDED:
        yield f"{name} %x, %y", 2
    for predicate in PREDICATES:
        yield f"cmpi {predicate}, %x, %y", 1


def cast_forms(widths: Sequence[int]) -> Iterator[str]:
    """Yield each cast between integers of these widths, and between them and index, with each of its flags."""
    for name in ("extsi", "extui", "trunci"):
        for flags, one, two in product(FLAGS.get(name, ("",)), widths, widths):
            if one > two if name == "trunci" else one < two:
                yield f"{name} %x {flags} : i{one} to i{two}"
    for name, width in product(("index_cast", "index_castui"), widths):
        for flags in FLAGS.get(name, ("",)):
            yield f"{name} %x {flags} : i{width} to index"
            yield f"{name} %x {flags} : index to i{width}"


def binary(form: str, type_: str, results: int, poison: bool = False) -> str:
    """Return a function of one op on two arguments. ``poison``: two more arguments make the operands poison."""
    extended = form.partition(" ")[0]
    types = f"{type_}, {'i1' if 'ui_' in extended and 'mul' not in extended else type_}" if results == 2 else type_
    if form.startswith("cmpi"):
        types = "i1"
    written = types if extended in ("addui_extended", "subui_extended") else type_
    return _function(
        f"arith.{form} : {written}", {"x": type_, "y": type_}, [part.strip() for part in types.split(",")], poison
    )


def cast(form: str, poison: bool = False) -> str:
    """Return a function of one cast."""
    source, _, target = form.partition(" : ")[2].partition(" to ")
    return _function(f"arith.{form}", {"x": source}, [target], poison)


def _function(op: str, operands: dict[str, str], results: Sequence[str], poison: bool) -> str:
    arguments = [f"%{name}{'_' if poison else ''}: {type_}" for name, type_ in operands.items()]
    lines = []
    for name, type_ in operands.items() if poison else ():
        arguments.append(f"%no_{name}: i1")
        lines += [f"%p_{name} = ub.poison : {type_}"]
        lines += [f"%{name} = arith.select %no_{name}, %p_{name}, %{name}_ : {type_}"]
    types = ", ".join(results)
    names = "%r" if len(results) == 1 else "%r#0, %r#1"
    lines.append(f"%r{'' if len(results) == 1 else ':2'} = {op}")
    body = "\n".join(lines)
    return f"func.func @f({', '.join(arguments)}) -> ({types}) {{\n{body}\nreturn {names} : {types}\n}}"


def every_input(function: Function) -> Iterator[tuple[int, ...]]:
    return product(*(range(1 << width) for width in function.widths))


def test_every_integer_op_of_the_dialect_has_terms() -> None:
    others = {"arith.bitcast", "arith.constant", "arith.select"} | FLOAT_OPS.keys()
    others |= {"arith.remf", "arith.flush_denormals", "arith.scaling_extf", "arith.scaling_truncf"}
    assert arith.ops.keys() - others == INTEGER_OPS.keys()
    assert {f"arith.{name}" for name in (*BINARY, *EXTENDED, "cmpi", *CASTS)} == INTEGER_OPS.keys()


@pytest.mark.parametrize("widths", amounts(range(4), long=range(4, 5)), ids=str)
@pytest.mark.parametrize(("form", "results"), list(binary_forms()))
def test_terms_equal_the_executor_on_all_inputs_of_narrow_types(form: str, results: int, widths: range) -> None:
    for width in widths:
        function = Function(binary(form, f"i{width}", results, poison=True))
        assert function.disagreements(every_input(function)) == []


@pytest.mark.parametrize("form", list(cast_forms(range(5))))
def test_casts_equal_the_executor_on_all_inputs_of_narrow_types(form: str) -> None:
    function = Function(cast(form, poison=True))
    if "index to" not in form:
        assert function.disagreements(every_input(function)) == []
        return
    numbers = [*range(32), *(k & (1 << 64) - 1 for k in range(-32, 0)), 1 << 32, 1 << 63]
    assert function.disagreements(product(numbers, (0, 1))) == []


def test_a_wrong_row_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    for right, wrong in (("divsi", "floordivsi"), ("shrsi", "shrui"), ("addi", "subi"), ("remsi", "remui")):
        monkeypatch.setitem(walk.ROWS, f"arith.{right}", INTEGER_OPS[f"arith.{wrong}"])
        function = Function(binary(f"{right} %x, %y", "i2", 1))
        assert function.disagreements(every_input(function)) != []


def test_flags_change_nothing_where_the_profile_ignores_them() -> None:
    settings = Settings(PROFILES["mlir22-fold"])
    for form, results in binary_forms():
        if "overflow" in form or "exact" in form:
            function = Function(binary(form, "i3", results), settings)
            assert function.disagreements(every_input(function)) == []


def corner_heavy(width: int, rng: random.Random) -> int:
    """Draw an integer: a corner, one beside a power of two, a small one, or any."""
    kind = rng.randrange(5)
    if kind == 0:
        return rng.choice((0, 1, (1 << width) - 1, 1 << width - 1, (1 << width - 1) - 1))
    if kind == 1:
        return (1 << rng.randrange(width)) + rng.randrange(-2, 3) & (1 << width) - 1
    if kind == 2:
        return rng.randrange(-70, 70) & (1 << width) - 1
    if kind == 3:
        return rng.getrandbits(rng.randrange(1, width + 1))
    return rng.getrandbits(width)


CASES = 100_000
"""Cases of wide types in the long run, over all ops and flags."""

WIDE = [(form, results, type_) for form, results in binary_forms() for type_ in ("i32", "i64", "index")]
WIDE_CASTS = list(cast_forms((32, 64)))
EACH = CASES // (len(WIDE) + len(WIDE_CASTS)) + 1


@pytest.mark.parametrize("count", amounts(EACH // 5, long=EACH))
@pytest.mark.parametrize(("form", "results", "type_"), WIDE)
def test_terms_equal_the_executor_on_wide_types(form: str, results: int, type_: str, count: int) -> None:
    function = Function(binary(form, type_, results))
    rng = random.Random(f"{form} {type_} {count}")
    inputs = [[corner_heavy(width, rng) for width in function.widths] for _ in range(count)]
    for pair in inputs[: count // 4]:  # amounts of shifts and divisors are small in programs
        pair[1] = rng.choice((pair[0], rng.randrange(66), -rng.randrange(9) & (1 << function.widths[1]) - 1))
    assert function.disagreements(inputs) == []


@pytest.mark.parametrize("form", WIDE_CASTS)
def test_casts_equal_the_executor_on_wide_types(form: str) -> None:
    function = Function(cast(form))
    rng = random.Random(form)
    assert function.disagreements([(corner_heavy(function.widths[0], rng),) for _ in range(EACH)]) == []


def test_an_index_of_32_bits_wraps_there() -> None:
    narrow = Settings(index_width=32)
    for form, results in (("addi %x, %y overflow<nsw>", 1), ("muli %x, %y overflow<nuw>", 1), ("shli %x, %y", 1)):
        function = Function(binary(form, "index", results), narrow)
        rng = random.Random(form)
        inputs = [[corner_heavy(32, rng) for _ in range(2)] for _ in range(200)]
        assert function.disagreements(inputs) == []


# --- float terms ------------------------------------------------------------------------------------------------------
#
# The float terms agree with the executor, by z3's own arithmetic and by the circuits that its solver gets.

FORMATS = ("f16", "bf16", "f8E5M2", "f8E4M3", "f8E3M4")
MODES = ("", "to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away")
EXTREMA = ("maximumf", "minimumf", "maxnumf", "minnumf", "maximumnumf", "minimumnumf")
FLOAT_TERMS_PREDICATES = list(CMPF_PREDICATE.cases)
INTEGERS = (1, 2, 5, 8, 13, 16, 17, 32, 64)

FLOAT_TERMS_BINARY = [
    (f"{name} %x, %y {mode} : {type_}", type_, type_)
    for type_ in FORMATS
    for name, modes in (*((f"{op}f", MODES) for op in ("add", "sub", "mul", "div")), *((op, ("",)) for op in EXTREMA))
    for mode in modes
    if (type_, name) not in (("f8E5M2", "addf"), ("f8E5M2", "subf"))
] + [(f"cmpf {predicate}, %x, %y : {type_}", type_, "i1") for type_ in FORMATS for predicate in FLOAT_TERMS_PREDICATES]

UNARY = (
    [(f"negf %x : {type_}", type_, type_) for type_ in FORMATS]
    + [
        (f"extf %x : {one} to {two}", one, two)
        for one, two in product(FORMATS, (*FORMATS, "f32", "f64"))
        if ty.width_of(ty.F(one)) < ty.width_of(ty.F(two))
    ]
    + [
        (f"truncf %x {mode} : {one} to {two}", one, two)
        for one, two, mode in product((*FORMATS, "f32", "f64"), FORMATS, MODES)
        if ty.width_of(ty.F(one)) > ty.width_of(ty.F(two))
    ]
    + [
        (f"convertf %x {mode} : {one} to {two}", one, two)
        for one, two, mode in product(FORMATS, FORMATS, MODES)
        if one != two and ty.width_of(ty.F(one)) == ty.width_of(ty.F(two))
    ]
    + [
        (f"{name} %x : i{width} to {type_}", f"i{width}", type_)
        for name, width, type_ in product(("sitofp", "uitofp"), INTEGERS, FORMATS)
    ]
    + [
        (f"{name} %x : {type_} to i{width}", type_, f"i{width}")
        for name, width, type_ in product(("fptosi", "fptoui"), INTEGERS, FORMATS)
    ]
    + [("uitofp %x nneg : i16 to f16", "i16", "f16"), ("bitcast %x : f16 to bf16", "f16", "bf16")]
    + [("bitcast %x : bf16 to i16", "bf16", "i16")]
)
FASTMATH = [
    (f"{op} fastmath<{flags}> : f8E4M3", "f8E4M3", "i1" if op.startswith("cmpf") else "f8E4M3")
    for op in ("addf %x, %y", "mulf %x, %y", "maximumf %x, %y", "maxnumf %x, %y", "cmpf ult, %x, %y", "negf %x")
    for flags in ("nnan", "ninf", "nnan,ninf")
]


def function(form: str, source: str, target: str) -> Function:
    names = ("x", "y") if "%y" in form else ("x",)
    arguments = ", ".join(f"%{name}: {source}" for name in names)
    return Function(f"func.func @f({arguments}) -> {target} {{\n%r = arith.{form}\nreturn %r : {target}\n}}")


def samples(of: Function, count: int, seed: str) -> list[tuple[int, ...]]:
    """Return corners and random codes; every input where there are few."""
    rng = random.Random(seed)
    if sum(of.widths) <= 8:
        return list(product(*(range(1 << width) for width in of.widths)))
    corners = [list(corner_codes(type_)) for type_ in of.types]
    return [
        tuple(
            rng.choice(own) if rng.random() < 0.5 else rng.getrandbits(width)
            for own, width in zip(corners, of.widths, strict=True)
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize(("form", "source", "target"), [*FLOAT_TERMS_BINARY, *UNARY, *FASTMATH])
def test_terms_equal_the_executor(form: str, source: str, target: str) -> None:
    of = function(form, source, target)
    assert of.disagreements(samples(of, 150, form)) == []


def by_circuit(of: Function, inputs: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the inputs for which the circuit of the result, as the solver gets it, has other bits than a run."""
    (scalar,) = of.scalars
    width = scalar.width
    result, poison = z3.BitVec("result", width), z3.BitVec("poison", 1)
    goal = z3.Goal()
    goal.add(scalar.bits == result, bit(scalar.poison) == poison)
    circuit = z3.Then("simplify", "fpa2bv")(goal).as_expr()
    wrong = []
    for codes in inputs:
        run = of.by_executor(codes)
        lost = run == ("poison",)
        pairs: list[tuple[Any, Any]] = [
            (v, z3.BitVecVal(code, v.size())) for v, code in zip(of.variables, codes, strict=True)
        ]
        pairs.append((poison, z3.BitVecVal(int(lost), 1)))
        if not lost:
            pairs.append((result, z3.BitVecVal(int(run[0]), width)))
        solver = z3.Solver()
        solver.add(z3.simplify(z3.substitute(circuit, *pairs)))
        if solver.check() != z3.sat:
            wrong.append(codes)
    return wrong


CIRCUITS = [form for form in [*FLOAT_TERMS_BINARY, *UNARY] if not form[0].startswith("cmpf") and "f64" not in form[0]]


@pytest.mark.parametrize(("form", "source", "target"), thinned(CIRCUITS, 5, rows=True))
def test_circuits_equal_the_executor(form: str, source: str, target: str) -> None:
    of = function(form, source, target)
    assert by_circuit(of, samples(of, 25, form)[:40]) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("form", "source", "target"), [form for form in FLOAT_TERMS_BINARY if form[1].startswith("f8")]
)
def test_terms_equal_the_executor_on_every_pair(form: str, source: str, target: str) -> None:
    of = function(form, source, target)
    assert of.disagreements(product(range(256), repeat=2)) == []


@pytest.mark.parametrize(
    ("form", "type_", "reason"),
    [
        ("remf %x, %y : f16", "f16", "the proof does not cover arith.remf"),
        ("addf %x, %y : f8E5M2", "f8E5M2", "sums of 'f8E5M2'"),
        ("addf %x, %y : f32", "f32", "arithmetic on 'f32'"),
        ("addf %x, %y : f8E4M3FN", "f8E4M3FN", "arithmetic on 'f8E4M3FN'"),
        ("negf %x : f8E4M3FNUZ", "f8E4M3FNUZ", "arithmetic on 'f8E4M3FNUZ'"),
        ("maximumf %x, %y : f4E2M1FN", "f4E2M1FN", "arithmetic on 'f4E2M1FN'"),
        ("negf %x : f80", "f80", "arithmetic on 'f80'"),
        ("addf %x, %y fastmath<reassoc> : f16", "f16", "fast-math flags"),
        ("addf %x, %y fastmath<nsz> : f16", "f16", "fast-math flags"),
    ],
)
def test_what_the_theory_lacks_is_refused(form: str, type_: str, reason: str) -> None:
    with pytest.raises(NotProvable, match=reason):
        function(form, type_, type_)


def test_floats_of_another_profile_are_refused() -> None:
    text = "func.func @f(%x: f16, %y: f16) -> f16 {\n%r = arith.addf %x, %y : f16\nreturn %r : f16\n}"
    with pytest.raises(NotProvable, match="other profiles"):
        Function(text, Settings(PROFILES["ml_dtypes"]))


def test_every_op_with_terms_is_tested() -> None:
    tested = {f"arith.{form.split()[0]}" for form, _, _ in [*FLOAT_TERMS_BINARY, *UNARY]}
    assert tested == FLOAT_OPS.keys()
