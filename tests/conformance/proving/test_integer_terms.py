"""The integer terms agree with the executor: on all inputs of narrow types, poison included, and on wide samples."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product

import pytest
from term_values import Function

from halfulp.conformance.proving import walk
from halfulp.conformance.proving.float_terms import FLOAT_OPS
from halfulp.conformance.proving.integer_terms import INTEGER_OPS
from halfulp.interp.dialects.arith.ops import arith
from halfulp.interp.run.settings import Settings
from halfulp.semantics.profile import PROFILES

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


@pytest.mark.parametrize(("form", "results"), list(binary_forms()))
def test_terms_equal_the_executor_on_all_inputs_of_narrow_types(form: str, results: int) -> None:
    for width in range(5):
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
"""Cases of wide types, over all ops and flags."""

WIDE = [(form, results, type_) for form, results in binary_forms() for type_ in ("i32", "i64", "index")]
WIDE_CASTS = list(cast_forms((32, 64)))
EACH = CASES // (len(WIDE) + len(WIDE_CASTS)) + 1


@pytest.mark.parametrize(("form", "results", "type_"), WIDE)
def test_terms_equal_the_executor_on_wide_types(form: str, results: int, type_: str) -> None:
    function = Function(binary(form, type_, results))
    rng = random.Random(f"{form} {type_}")
    inputs = [[corner_heavy(width, rng) for width in function.widths] for _ in range(EACH)]
    for pair in inputs[: EACH // 4]:  # amounts of shifts and divisors are small in programs
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
