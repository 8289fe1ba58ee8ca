"""Hints for names of ops: of the same dialect and kind of numbers, by their new names, or that the dialect is unknown."""

import pytest
from tables import each_row

import halfulp as hu
from halfulp.interp.declare.registry import MODULES, RENAMED, default_registry, number_family, op_hint

DIALECTS = default_registry().dialects


@each_row(
    ("arith.adf", "did you mean `arith.addf`?"),
    ("arith.maximumff", "did you mean `arith.maximumf`?"),
    ("arith.divi", "did you mean `arith.divsi` or `arith.divui`?"),
    ("arith.minsf", None),  # not arith.minsi, which is of integers
    ("arith.frobnicate", None),
    ("arit.addf", "did you mean `arith.addf`?"),
    ("addf", "did you mean `arith.addf`?"),
    ("exq", "did you mean `complex.exp` or `linalg.exp` or `math.exp`?"),
    ("yield", "did you mean `scf.yield` or `tensor.yield`?"),
    ("nonsense", None),
)
def test_the_hint(name: str, hint: str | None) -> None:
    found = op_hint(name, DIALECTS)
    if name == "yield":
        assert found is not None
        assert "`scf.yield`" in found
    else:
        assert found == hint


@pytest.mark.parametrize("name", ["arith.maxf", "maxf", "arit.maxf"])
def test_renamed_ops_are_told_their_new_names(name: str) -> None:
    found = op_hint(name, DIALECTS)
    assert found is not None
    assert found.startswith("did you mean `arith.maximumf`" if name != "arit.maxf" else "did you mean `arith.maxf`?")


def test_the_new_names_exist() -> None:
    assert all(default_registry().find(new) for renamed in RENAMED.values() for new in renamed.names)
    assert not any(default_registry().find(old) for old in RENAMED)


@pytest.mark.parametrize("name", ["ml_program.output", "emitc.add", "torch.add", "xyz.addf"])
def test_an_unknown_dialect_is_said_to_be_unknown(name: str) -> None:
    dialect = name.partition(".")[0]
    wanted = f"halfulp evaluates no op of the dialect {dialect}; it knows the dialects {', '.join(MODULES)}"
    with pytest.raises(hu.Unsupported, match=f"no op named '{name}' is registered") as unknown:
        default_registry().require(name)
    assert unknown.value.hint is not None
    assert unknown.value.hint.startswith(wanted)
    with pytest.raises(hu.errors.ParseError, match=f"Dialect `{dialect}' not found") as unread:
        hu.parse(f"func.func @f(%a: f32) -> f32 {{ %0 = {name} %a : f32 return %0 : f32 }}")
    assert unread.value.hint == unknown.value.hint


def test_families_go_by_the_suffix() -> None:
    names = ("addf", "addi", "divsi", "remui", "select", "fptosi", "truncf")
    assert [number_family(name) for name in names] == [
        "float", "integer", "integer", "integer", None, "integer", "float",
    ]  # fmt: skip
