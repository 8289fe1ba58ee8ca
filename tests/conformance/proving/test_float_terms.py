"""The float terms agree with the executor, by z3's own arithmetic and by the circuits that its solver gets."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest
from term_values import Function, z3

from halfulp.conformance.comparing.inputs import corner_codes
from halfulp.conformance.proving.float_terms import FLOAT_OPS
from halfulp.conformance.proving.solving import NotProvable, bit
from halfulp.interp.dialects.arith.ops import CMPF_PREDICATE
from halfulp.interp.ir import types as ty
from halfulp.interp.run.settings import Settings
from halfulp.semantics.profile import PROFILES

FORMATS = ("f16", "bf16", "f8E5M2", "f8E4M3", "f8E3M4")
MODES = ("", "to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away")
EXTREMA = ("maximumf", "minimumf", "maxnumf", "minnumf", "maximumnumf", "minimumnumf")
PREDICATES = list(CMPF_PREDICATE.cases)
INTEGERS = (1, 2, 5, 8, 13, 16, 17, 32, 64)

BINARY = [
    (f"{name} %x, %y {mode} : {type_}", type_, type_)
    for type_ in FORMATS
    for name, modes in (*((f"{op}f", MODES) for op in ("add", "sub", "mul", "div")), *((op, ("",)) for op in EXTREMA))
    for mode in modes
    if (type_, name) not in (("f8E5M2", "addf"), ("f8E5M2", "subf"))
] + [(f"cmpf {predicate}, %x, %y : {type_}", type_, "i1") for type_ in FORMATS for predicate in PREDICATES]

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


@pytest.mark.parametrize(("form", "source", "target"), [*BINARY, *UNARY, *FASTMATH])
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


CIRCUITS = [form for form in [*BINARY, *UNARY] if not form[0].startswith("cmpf") and "f64" not in form[0]]


@pytest.mark.parametrize(("form", "source", "target"), CIRCUITS)
def test_circuits_equal_the_executor(form: str, source: str, target: str) -> None:
    of = function(form, source, target)
    assert by_circuit(of, samples(of, 25, form)[:40]) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize(("form", "source", "target"), [form for form in BINARY if form[1].startswith("f8")])
def test_terms_equal_the_executor_on_every_pair(form: str, source: str, target: str) -> None:
    of = function(form, source, target)
    assert of.disagreements(product(range(256), repeat=2)) == []


@pytest.mark.parametrize(
    ("form", "type_", "reason"),
    [
        ("remf %x, %y : f16", "f16", "no terms for arith.remf"),
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
    tested = {f"arith.{form.split()[0]}" for form, _, _ in [*BINARY, *UNARY]}
    assert tested == FLOAT_OPS.keys()
