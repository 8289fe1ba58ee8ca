"""Chains of elementwise ops as one loop give what the ops give one by one."""

import random
import re
import tracemalloc
from collections.abc import Sequence

import float_samples
import numpy as np
import pytest
from amounts import thinned

import halfulp as hu
from halfulp.fp_formats.formats import FORMATS, Codes, ints_to_codes
from halfulp.fp_formats.paths import llvm
from halfulp.fp_formats.paths.array_loop import ArrayLoop, Plan
from halfulp.interp.ir import types as ty
from halfulp.interp.run import chains
from halfulp.interp.run.batch.program import CompiledLanes, run_batch
from halfulp.interp.run.chains import Link
from halfulp.interp.run.program import CompiledModule
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value

COUNT = 9000  # two whole blocks, and a part of a third
INTEGERS = ("addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "minui", "remsi", "shrui")
FLOATS = ("addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf", "minnumf")
CASTS = (
    ("truncf", "f32", "f8E4M3FN"), ("extf", "f8E4M3FN", "f32"), ("truncf", "f32", "bf16"), ("extf", "bf16", "f32"),
    ("truncf", "f64", "f32"), ("extf", "f32", "f64"), ("bitcast", "f32", "i32"), ("bitcast", "i32", "f32"),
    ("trunci", "i32", "i8"), ("extsi", "i8", "i32"), ("sitofp", "i32", "f32"), ("uitofp", "i8", "f64"),
)  # fmt: skip
TYPES = ("f32", "f64", "f16", "bf16", "f8E4M3FN", "f4E2M1FN", "i8", "i32", "i64", "i7")


WAYS = {"op by op": "numpy", "machine code": "llvm"}
"""The backend of each way to run a chain."""

pytest.importorskip("llvmlite", reason="llvmlite is not installed")
pytestmark = pytest.mark.backend("numpy")


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What each chain told: whether the loop gave its results."""
    told: list[bool] = []
    original = chains.Chain.at_once

    def telling(chain: chains.Chain, slots: list[object]) -> bool:
        told.append(original(chain, slots))
        return told[-1]

    monkeypatch.setattr(chains.Chain, "at_once", telling)
    return told


def samples(element: str, seed: int, usual: bool) -> Value:
    """Return codes of a type; ``usual``: none that a loop refuses."""
    type_ = as_type(f"tensor<{COUNT}x{element}>")
    rng = random.Random(f"{element} {seed}")
    if element in FORMATS:
        fmt = FORMATS[element]
        one = fmt.bias << fmt.mantissa_bits
        span = min(fmt.bits - 2, fmt.mantissa_bits + 1)
        codes = [one + rng.getrandbits(span) for _ in range(COUNT)] if usual else float_samples.codes(fmt, COUNT, seed)
        return Value(type_, ints_to_codes(codes, fmt.bits, (COUNT,)))
    element_type = ty.element_type(type_)
    assert isinstance(element_type, ty.IntegerType)
    width = element_type.width
    codes = [rng.getrandbits(width) | usual for _ in range(COUNT)]
    return Value(type_, ints_to_codes(codes, width, (COUNT,)))


def check(text: str, *arguments: Value, batch: bool = False) -> tuple[Value, ...] | tuple[type, str]:
    """Run a program in all ways, and compare: results, poison and its origins, or errors."""
    found = []
    given = [argument.bits.tobytes() for argument in arguments]
    runs = [(backend, CompiledLanes.run) for backend in WAYS.values()]
    if batch:
        # Else the whole function is machine code, which needs no chains.
        runs.append((WAYS["machine code"], lambda *_: None))
    for backend, run_lanes in runs:
        llvm.use(backend)
        try:
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(CompiledLanes, "run", run_lanes)
                values = hu.run(hu.parse(text), *arguments, batch=batch)
            found.append((values, [poisons(value) for value in values]))
        except hu.HalfulpError as error:
            found.append((type(error), str(error)))  # type: ignore[arg-type]
    assert all(each == found[0] for each in found)
    assert given == [argument.bits.tobytes() for argument in arguments]
    return found[0][0]


def poisons(value: Value) -> tuple[list[bool], list[str]]:
    """Return where a value is poison, and the origins."""
    ids = [] if value.poison is None else np.unique(value.poison[value.poison != 0]).tolist()
    return value.poisoned.tolist(), [str(value.origins[one]) for one in ids] if value.origins is not None else []


def looped(ran: list[bool]) -> bool:
    """Tell whether the second way ran its loop."""
    return ran == [False, True]


def program(lines: list[str], types: tuple[str, ...], result: tuple[str, str]) -> str:
    arguments = ", ".join(f"%x{number}: tensor<{COUNT}x{type_}>" for number, type_ in enumerate(types))
    name, type_ = result
    type_ = f"tensor<{COUNT}x{type_}>"
    body = "\n".join(lines)
    return f"func.func @f({arguments}) -> {type_} {{\n{body}\nreturn {name} : {type_}\n}}"


@pytest.mark.parametrize("usual", [True, False])
@pytest.mark.parametrize("element", thinned(TYPES, 4))
def test_chains_of_one_type(element: str, usual: bool, ran: list[bool]) -> None:
    rng = random.Random(f"{element} {usual}")
    ops = FLOATS if element in FORMATS else INTEGERS
    lines, names = [], ["%x0", "%x1"]
    for number in range(8):
        lines.append(
            f"%{number} = arith.{rng.choice(ops)} {names[-1]}, {rng.choice(names)} : tensor<{COUNT}x{element}>"
        )
        names.append(f"%{number}")
    check(program(lines, (element, element), ("%7", element)), samples(element, 1, usual), samples(element, 2, usual))
    assert len(ran) == len(WAYS)
    assert looped(ran) or not usual or element not in ("f32", "f64", "bf16", "f16")


@pytest.mark.parametrize("seed", thinned(range(12), 6))
def test_chains_of_several_types(seed: int, ran: list[bool]) -> None:
    rng = random.Random(f"several {seed}")
    types = ("f32", "i32", "f8E4M3FN", "f64")
    lines, names = [], {type_: [f"%x{number}"] for number, type_ in enumerate(types)}
    last = ("%x0", "f32")
    for number in range(12):
        op, source, target = rng.choice([cast for cast in CASTS if cast[1] in names])
        if rng.random() < 0.6:
            source = target = rng.choice(list(names))
            op = rng.choice(FLOATS if source in FORMATS else ("addi", "muli", "xori"))
            operands = ", ".join(rng.choice(names[source]) for _ in range(2))
            lines.append(f"%{number} = arith.{op} {operands} : tensor<{COUNT}x{source}>")
        else:
            kinds = f"tensor<{COUNT}x{source}> to tensor<{COUNT}x{target}>"
            lines.append(f"%{number} = arith.{op} {rng.choice(names[source])} : {kinds}")
        names.setdefault(target, []).append(f"%{number}")
        last = (f"%{number}", target)
    check(program(lines, types, last), *(samples(type_, seed, seed % 2 == 0) for type_ in types))
    assert looped(ran)


def test_the_loop_runs_and_constants_are_not_repeated(ran: list[bool]) -> None:
    type_ = f"tensor<{COUNT}xf32>"
    lines = [f"%c = arith.constant dense<1.5> : {type_}", f"%0 = arith.mulf %x0, %c : {type_}"]
    lines += [f"%1 = arith.addf %0, %c : {type_}", f"%2 = arith.cmpf olt, %1, %x0 : {type_}"]
    check(program(lines, ("f32",), ("%2", "i1")), samples("f32", 3, True))
    assert looped(ran)


def test_a_choice_is_part_of_a_chain(ran: list[bool]) -> None:
    """Also where the arm that is not chosen would have a fault, which the whole array has then."""
    type_, flags = f"tensor<{COUNT}xi32>", f"tensor<{COUNT}xi1>"
    lines = [
        f"%0 = arith.cmpi slt, %x0, %x1 : {type_}",
        f"%1 = arith.select %0, %x0, %x1 : {flags}, {type_}",
        f"%2 = arith.addi %1, %x1 overflow<nsw> : {type_}",
        f"%3 = arith.select %0, %2, %x1 : {flags}, {type_}",
        f"%4 = arith.xori %3, %x0 : {type_}",
    ]
    small = Value(as_type(type_), np.arange(COUNT, dtype=np.uint32))
    check(program(lines, ("i32", "i32"), ("%4", "i32")), small, Value(small.type, small.bits[::-1]))
    assert looped(ran)
    check(program(lines, ("i32", "i32"), ("%4", "i32")), samples("i32", 1, False), samples("i32", 2, False))


def test_a_fault_in_the_last_block() -> None:
    type_ = f"tensor<{COUNT}xi32>"
    text = program(
        [f"%0 = arith.addi %x0, %x0 : {type_}", f"%1 = arith.divsi %x0, %0 : {type_}"], ("i32",), ("%1", "i32")
    )
    codes = np.ones(COUNT, np.uint32)
    codes[-2] = 0
    found = check(text, Value(as_type(type_), codes))
    assert found is hu.UndefinedBehavior
    poison = program(
        [f"%0 = arith.addi %x0, %x0 overflow<nsw> : {type_}", f"%1 = arith.xori %0, %x0 : {type_}"],
        ("i32",),
        ("%1", "i32"),
    )
    codes = codes.copy()
    codes[-3] = 0x7FFFFFFF
    (value,) = hu.run(hu.parse(poison), Value(as_type(type_), codes))
    assert value.poisoned.nonzero()[0].tolist() == [COUNT - 3]
    check(poison, Value(as_type(type_), codes))
    check(text, value)


def test_values_in_any_layout() -> None:
    type_ = "tensor<90x100xf32>"
    text = f"""func.func @f(%x: {type_}, %y: {type_}) -> ({type_}, {type_}) {{
      %0 = arith.mulf %x, %y : {type_}
      %1 = arith.addf %0, %x : {type_}
      %2 = arith.subf %1, %0 : {type_}
      return %2, %0 : {type_}, {type_}
    }}"""
    numbers = np.arange(9000, dtype=np.float32).reshape(100, 90).T
    rows = np.broadcast_to(np.arange(100, dtype=np.float32), (90, 100))
    check(
        text,
        hu.run(f"func.func @g(%x: {type_}) -> {type_} {{ return %x : {type_} }}", numbers)[0],
        Value(as_type(type_), rows.view(np.uint32)),
    )


def test_short_chains_wait_until_code_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    llvm.use("auto")
    made: list[Plan] = []

    def noted(plan: Plan) -> ArrayLoop:
        made.append(plan)
        return ArrayLoop(plan)

    monkeypatch.setattr(chains, "ArrayLoop", noted)
    type_ = f"tensor<{COUNT}xf32>"
    text = program(
        [f"%0 = arith.mulf %x0, %x0 : {type_}", f"%1 = arith.addf %0, %x0 : {type_}"], ("f32",), ("%1", "f32")
    )
    module, value = hu.parse(text), samples("f32", 1, True)
    first = hu.run(module, value)
    assert not made
    monkeypatch.setattr(chains, "PAYS", 2 * COUNT)
    assert hu.run(module, value) == first
    assert len(made) == 1


def ten_ops(element: str, count: int) -> str:
    """Return a chain whose last op alone is needed."""
    names = ("mulf", "addf", "subf", "mulf", "divf", "maximumf", "minimumf", "addf", "mulf", "subf")
    type_ = f"tensor<{count}x{element}>"
    lines = [f"%c{n + 1} = arith.{name} %c{n}, %y : {type_}" for n, name in enumerate(names)]
    body = "\n".join(lines)
    return f"func.func @f(%c0: {type_}, %y: {type_}) -> {type_} {{\n{body}\nreturn %c10 : {type_}\n}}"


def test_values_between_ops_are_never_whole() -> None:
    count = 1 << 20
    numbers = np.linspace(0.5, 2, count, dtype=np.float32)
    module, peaks = hu.parse(ten_ops("f32", count)), {}
    for name, backend in WAYS.items():
        llvm.use(backend)
        hu.run(module, numbers, numbers)
        tracemalloc.start()
        hu.run(module, numbers, numbers)
        peaks[name] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peaks["machine code"] < numbers.nbytes + (2 << 20) < peaks["op by op"]


@pytest.mark.parametrize("usual", [True, False])
@pytest.mark.parametrize("element", thinned(["f32", "f64", "f16", "bf16"], 3))
def test_a_nan_in_one_block(element: str, usual: bool) -> None:
    fmt, count = FORMATS[element], 1 << 17
    one = fmt.bias << fmt.mantissa_bits
    codes = np.arange(2 * count, dtype=np.uint64).reshape(2, count) % (1 << fmt.mantissa_bits >> 1) + one
    codes[0, -5], codes[1, -5], codes[1, -9] = (fmt.max_code + 2, one, 0) if usual else (one, fmt.nan_code or 0, 0)
    codes[0, -9] = codes[0, -11] = fmt.sign_mask or 0  # zeros of both signs
    arguments = [Value(as_type(f"tensor<{count}x{element}>"), each.astype(fmt.storage_dtype)) for each in codes]
    value = check(ten_ops(element, count), *arguments)[0]
    assert isinstance(value, Value)
    assert FORMATS[element].is_nan(int(value.bits[-5]))


@pytest.mark.parametrize("element", thinned(["f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", "f6E2M3FN"], 2))
def test_one_table_for_a_chain(element: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "TABLE_PAYS", 0)
    monkeypatch.setattr(chains, "_TABLE_COST", 0)
    fmt = FORMATS[element]
    pairs = np.arange(1 << 16)
    arguments = [
        Value(as_type(f"tensor<65536x{element}>"), (codes & fmt.code_mask).astype(np.uint8))
        for codes in (pairs >> fmt.bits, pairs)
    ]
    made: list[Plan] = []
    original = chains.tabled

    def noted(links: Sequence[Link], plan: Plan, inputs: Sequence[Codes], results: Sequence[int]) -> Plan:
        made.append(original(links, plan, inputs, results))
        return made[-1]

    monkeypatch.setattr(chains, "tabled", noted)
    check(ten_ops(element, 1 << 16), *arguments)
    assert len(made) == 1


@pytest.mark.long
def test_tables_follow_the_codes_of_splats(monkeypatch: pytest.MonkeyPatch, ran: list[bool]) -> None:
    monkeypatch.setattr(chains, "TABLE_PAYS", 0)
    monkeypatch.setattr(chains, "_TABLE_COST", 0)
    module, type_ = hu.parse(ten_ops("bf16", COUNT)), as_type(f"tensor<{COUNT}xbf16>")
    value = samples("bf16", 1, True)
    for code in (0x3F80, 0x4000, 0x3F80, 0x7FC1):
        splat = Value(type_, np.broadcast_to(np.uint16(code), COUNT))
        found = []
        for backend in WAYS.values():
            llvm.use(backend)
            found.append(hu.run(module, value, splat))
        assert all(each == found[0] for each in found)
    assert ran == [False, True] * 4


def test_a_chain_whose_results_nothing_needs(monkeypatch: pytest.MonkeyPatch, ran: list[bool]) -> None:
    """Its ops are costly enough for a table, and may have faults, but it writes nothing."""
    monkeypatch.setattr(chains, "TABLE_PAYS", 0)
    type_ = f"tensor<{COUNT}xi8>"
    lines = [f"%0 = arith.ceildivsi %x0, %x1 : {type_}"]
    lines += [f"%{number} = arith.floordivsi %{number - 1}, %x1 : {type_}" for number in range(1, 8)]
    text = program(lines, ("i8", "i8"), ("%x0", "i8"))
    x, y = (Value(as_type(type_), np.full(COUNT, code, np.uint8)) for code in (1, 0))
    few = Value(as_type(type_), np.arange(COUNT, dtype=np.uint8) & 7)
    odd = Value(as_type(type_), few.bits | 1)
    assert check(text, few, odd) == (few,)
    assert looped(ran)
    assert check(text, x, y) is hu.UndefinedBehavior


def test_a_fault_in_a_middle_block() -> None:
    count = 1 << 18
    type_ = f"tensor<{count}xi32>"
    text = f"""func.func @f(%x: {type_}, %y: {type_}) -> {type_} {{
      %0 = arith.addi %x, %y : {type_}
      %1 = arith.divsi %x, %y : {type_}
      %2 = arith.xori %1, %0 : {type_}
      return %2 : {type_}
    }}"""
    x, y = np.arange(count, dtype=np.uint32), np.full(count, 3, np.uint32)
    values = [Value(as_type(type_), each) for each in (x, y)]
    assert isinstance(check(text, *values), tuple)
    y = y.copy()
    y[count // 2] = 0
    assert check(text, values[0], Value(as_type(type_), y)) is hu.UndefinedBehavior


@pytest.mark.long
def test_a_scale_of_one_channel() -> None:
    type_, stored = f"tensor<{COUNT}x1xf32>", f"tensor<{COUNT}x1xi8>"
    quantized = f"tensor<{COUNT}x1x!quant.uniform<i8:f32:1, {{0.5:3}}>>"
    text = f"""func.func @f(%x: {type_}) -> {stored} {{
      %0 = arith.addf %x, %x : {type_}
      %1 = quant.qcast %0 : {type_} to {quantized}
      %2 = quant.scast %1 : {quantized} to {stored}
      return %2 : {stored}
    }}"""
    codes = np.linspace(-9, 9, COUNT, dtype=np.float32).reshape(-1, 1)
    codes[7] = np.nan
    check(text, Value(as_type(type_), codes.view(np.uint32)))


MIXED = ("f32", "f64", "f16", "bf16", "f8E4M3FN", "f4E2M1FN", "i1", "i7", "i8", "i32", "i64")
MIXED_INTEGERS = (
    *INTEGERS,
    *("divsi", "divui", "remui", "ceildivsi", "floordivsi", "shli", "shrsi", "minsi", "maxui"),
    *("addi {0}, {1} overflow<nsw, nuw>", "muli {0}, {1} overflow<nsw>", "shli {0}, {1} overflow<nuw>"),
)
RELATIONS = {True: ("olt", "uge", "one", "ord", "ueq"), False: ("slt", "uge", "eq", "ne", "sle")}


def mixed_op(rng: random.Random, name: str, values: dict[str, list[str]]) -> tuple[str, str]:
    """Return a random op on some values, and the type of its result."""
    source = rng.choice([type_ for type_ in MIXED if values.get(type_)])
    is_float = source in FORMATS
    x, y = (rng.choice(values[source]) for _ in range(2))
    spelled = f"tensor<{COUNT}x{source}>"
    kind = rng.choice(("same", "same", "same", "compare", "cast", "cast", "negate"))
    if kind == "compare":
        return (
            f"{name} = arith.cmp{'f' if is_float else 'i'} {rng.choice(RELATIONS[is_float])}, {x}, {y} : {spelled}",
            "i1",
        )
    if kind == "same" and values.get("i1") and rng.random() < 0.2:
        condition = rng.choice(values["i1"])
        return f"{name} = arith.select {condition}, {x}, {y} : tensor<{COUNT}xi1>, {spelled}", source
    if kind == "negate" and is_float and source != "f8E8M0FNU":
        return f"{name} = arith.negf {x} : {spelled}", source
    if kind == "cast":
        target = rng.choice(MIXED)
        width, wanted = (FORMATS[t].bits if t in FORMATS else int(t[1:]) for t in (source, target))
        if is_float and target in FORMATS:
            cast = "truncf" if wanted < width else "extf" if wanted > width else ""
        elif is_float:
            cast = rng.choice(("fptosi", "fptoui", "bitcast" if width == wanted else "fptosi"))
        elif target in FORMATS:
            cast = rng.choice(("sitofp", "uitofp", "bitcast" if width == wanted else "sitofp"))
        else:
            cast = "trunci" if wanted < width else rng.choice(("extsi", "extui")) if wanted > width else ""
        if cast:
            return f"{name} = arith.{cast} {x} : {spelled} to tensor<{COUNT}x{target}>", target
    op = rng.choice(FLOATS if is_float else MIXED_INTEGERS)
    text = op.format(x, y) if "{" in op else f"{op} {x}, {y}"
    return f"{name} = arith.{text} : {spelled}", source


def mixed_program(seed: int) -> tuple[str, list[Value]]:
    """Return a program of ops on values of several types, with constants and several results, and its arguments."""
    rng = random.Random(f"mixed {seed}")
    types = rng.sample(MIXED, 3)
    values = {type_: [f"%x{number}"] for number, type_ in enumerate(types)}
    lines = []
    constant = rng.choice(types)
    literal = "1.5" if constant in FORMATS else "1" if constant != "i1" else "true"
    lines.append(f"%c = arith.constant dense<{literal}> : tensor<{COUNT}x{constant}>")
    values[constant].append("%c")
    made = []
    for number in range(rng.randint(3, 10)):
        line, type_ = mixed_op(rng, f"%{number}", values)
        lines.append(line)
        values.setdefault(type_, []).append(f"%{number}")
        made.append((f"%{number}", f"tensor<{COUNT}x{type_}>"))
    results = [made[-1], *rng.sample(made, min(2, len(made)))]
    names, spelled = (", ".join(part) for part in zip(*results, strict=True))
    arguments = ", ".join(f"%x{number}: tensor<{COUNT}x{type_}>" for number, type_ in enumerate(types))
    lines.append(f"return {names} : {spelled}")
    body = "\n".join(lines)
    usual = rng.random() < 0.7
    given = [samples(type_, seed, usual) for type_ in types]
    return f"func.func @f({arguments}) -> ({spelled}) {{\n{body}\n}}", given


@pytest.mark.parametrize(
    "seed", [*range(10), 1461, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(10, 600))]
)
def test_mixed_chains(seed: int) -> None:
    text, given = mixed_program(seed)
    check(text, *given)


def of_lanes(text: str) -> str:
    """Return the same program on scalars."""
    return re.sub(r"dense<([^>]*)>", r"\1", re.sub(rf"tensor<{COUNT}x(\w+)>", r"\1", text))


@pytest.mark.parametrize(
    "seed", [*thinned(range(8), 4), *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(8, 200))]
)
def test_mixed_chains_in_batches(seed: int) -> None:
    """A fault in one lane, and poison in some, also where one argument is the same in all lanes."""
    text, given = mixed_program(seed)
    text = of_lanes(text)
    check(text, *given, batch=True)
    alike = hu.Value(ty.element_type(given[0].type), given[0].bits[7])
    check(text, alike, *given[1:], batch=True)


def test_what_all_lanes_share_stays_one_number(monkeypatch: pytest.MonkeyPatch, ran: list[bool]) -> None:
    """So a loop whose bound follows from it makes the same trips in all lanes, and need not look. A NaN is refused."""
    text = """func.func @f(%x: i32, %n: i32, %q: f32) -> (i32, i32, f32) {
      %a = arith.addi %x, %x : i32
      %m = arith.muli %n, %n : i32
      %b = arith.xori %a, %m : i32
      %r = arith.addf %q, %q : f32
      return %b, %m, %r : i32, i32, f32
    }"""
    module = hu.parse(text)
    llvm.use("llvm")
    monkeypatch.setattr(CompiledLanes, "run", lambda *_: None)
    x = Value(as_type("i32"), np.arange(COUNT, dtype=np.uint32))
    for q in (0x3F800000, 0xFFC01234):
        one, other = (Value(as_type(type_), np.array(code, np.uint32)) for type_, code in (("i32", 7), ("f32", q)))
        first, second, third = run_batch(CompiledModule(module, Settings()), module.body[0], (x, one, other), COUNT)
        assert first.bits.tolist() == [2 * k ^ 49 for k in range(COUNT)]
        assert (second.bits.shape, int(second.bits)) == ((), 49)
        assert (third.bits.shape, int(third.bits)) == ((), 0x40000000 if q == 0x3F800000 else q)
    assert ran == [True, True]


@pytest.mark.long
def test_chains_of_lanes_that_part(ran: list[bool]) -> None:
    text = """func.func @f(%x: i32, %y: i32) -> i32 {
      %c = arith.cmpi slt, %x, %y : i32
      %r = scf.if %c -> i32 {
        %a = arith.muli %x, %y : i32
        %b = arith.xori %a, %x : i32
        %e = arith.addi %b, %y : i32
        scf.yield %e : i32
      } else {
        %a = arith.divsi %x, %y : i32
        %b = arith.subi %a, %x : i32
        scf.yield %b : i32
      }
      %q = arith.shli %r, %x : i32
      %s = arith.addi %q, %r : i32
      return %s : i32
    }"""
    check(text, samples("i32", 1, False), samples("i32", 2, True), batch=True)
    assert any(ran)


def of_points(text: str) -> str:
    """Return the same program as the body of a structured op, on 90 x 100 points."""
    scalars = of_lanes(text)
    found = re.fullmatch(r"func.func @f\((.*)\) -> \((.*)\) {\n(.*)\nreturn (.*) : .*\n}", scalars, re.DOTALL)
    assert found is not None
    arguments, results, body, names = found.groups()
    types = [argument.split(": ")[1] for argument in arguments.split(", ")]
    inputs, made = ([f"tensor<90x100x{type_}>" for type_ in each] for each in (types, results.split(", ")))
    empty = "\n".join(f"%o{number} = tensor.empty() : {type_}" for number, type_ in enumerate(made))
    outs, block = [f"%o{number}" for number in range(len(made))], [arguments]
    block += [f"{out}_: {type_}" for out, type_ in zip(outs, results.split(", "), strict=True)]
    maps = ", ".join(["affine_map<(i, j) -> (i, j)>"] * (len(inputs) + len(made)))
    names_in = [f"%t{number}" for number in range(len(inputs))]
    signature = ", ".join(f"{name}: {type_}" for name, type_ in zip(names_in, inputs, strict=True))
    return f"""func.func @f({signature}) -> ({", ".join(made)}) {{
      {empty}
      %r:{len(made)} = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}}
        ins({", ".join(names_in)} : {", ".join(inputs)}) outs({", ".join(outs)} : {", ".join(made)}) {{
      ^bb0({", ".join(block)}):
        {body}
        linalg.yield {names} : {results}
      }} -> ({", ".join(made)})
      return {", ".join(f"%r#{number}" for number in range(len(made)))} : {", ".join(made)}
    }}"""


@pytest.mark.parametrize(
    "seed", [*thinned(range(8), 4), *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(8, 200))]
)
def test_mixed_chains_in_bodies(seed: int) -> None:
    text, given = mixed_program(seed)
    points = [Value(as_type(f"tensor<90x100x{value.element_type}>"), value.bits.reshape(90, 100)) for value in given]
    check(of_points(text), *points)


def test_the_body_of_a_structured_op_is_a_loop(ran: list[bool]) -> None:
    """With an operand that is the same along one dimension it runs op by op: a row stands for all of them."""
    text = """func.func @f(%x: tensor<100x100xf32>, %y: tensor<{shape}xf32>, %s: f32) -> tensor<100x100xf32> {{
      %o = tensor.empty() : tensor<100x100xf32>
      %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ({map})>,
          affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
        ins(%x, %y : tensor<100x100xf32>, tensor<{shape}xf32>) outs(%o : tensor<100x100xf32>) {{
      ^bb0(%a: f32, %b: f32, %c: f32):
        %k = arith.constant 1.5 : f32
        %p = arith.mulf %a, %b : f32
        %q = arith.addf %p, %s : f32
        %d = arith.divf %q, %k : f32
        linalg.yield %d : f32
      }} -> tensor<100x100xf32>
      return %r : tensor<100x100xf32>
    }}"""
    half = Value(as_type("f32"), np.array(0x3F000000, np.uint32))
    x, y = (np.resize(samples("f32", seed, True).bits, (100, 100)) for seed in (1, 2))
    whole = as_type("tensor<100x100xf32>")
    check(text.format(shape="100x100", map="j, i"), Value(whole, x), Value(whole, y), half)
    assert looped(ran)
    ran.clear()
    check(text.format(shape="100", map="j"), Value(whole, x), Value(as_type("tensor<100xf32>"), y[0]), half)
    assert not any(ran)
