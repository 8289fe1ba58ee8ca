"""The loops that judge an op in one pass: marks and figures as NumPy finds them, and what they leave to it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from amounts import thinned

import halfulp as hu
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.paths import llvm
from halfulp.interp.run import shadow_loops
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.shadow_loops import BLOCK, Marked, ShadowFigures
from halfulp.interp.run.shadows import FORMS, Shadows
from halfulp.running import find_entry
from halfulp.semantics.kernel import Computes

pytest.importorskip("llvmlite")

OPS = ("addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf", "minnumf")
F32, F64 = FORMATS["f32"], FORMATS["f64"]
LOW = 63


class LoopCounts(NamedTuple):
    """How many results the loops were asked for, and how many they judged, without the parts left to NumPy."""

    asked: list[int]
    judged: list[int]


@pytest.fixture(autouse=True)
def taken(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopCounts]:
    """Let the loops judge, and count."""
    found, judged, before = LoopCounts([], []), shadow_loops.judged, llvm.backend()

    def counted(*given: Any) -> Any:
        result = judged(*given)
        if result is not None:
            found.asked.append(given[-1].size)
            found.judged.append(given[-1].size - sum(part.stop - part.start for part in result[0]))
        return result

    monkeypatch.setattr(shadow_loops, "judged", counted)
    llvm.use("llvm")
    with np.errstate(all="ignore"):
        yield found
    llvm.use(before)


def run(form: str, module: hu.Module, *arguments: Any) -> tuple[list[Any], list[ShadowFigures]]:
    """Return the marks of the results, and the figures of the ops."""
    recorder = Shadows(FORMS[form])
    results = program_for(module, Settings(recorder=recorder)).run(find_entry(module, None), arguments)
    return [np.asarray(value.open) for value in results], list(recorder.figures.values())


def by_numpy(form: str, module: hu.Module, *arguments: Any) -> tuple[list[Any], list[ShadowFigures]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shadow_loops, "judged", lambda *given: None)
        return run(form, module, *arguments)


def program(type_: str, count: int) -> hu.Module:
    """Return ops on exact numbers, and on others on either side or on both."""
    t = f"tensor<{count}x{type_}>"
    operands = ("%x, %y", "%a, %y", "%x, %b", "%a, %b")
    names = [f"%{op}{k}" for op in OPS for k in range(len(operands))]
    lines = [f"%{op}{k} = arith.{op} {each} : {t}" for op in OPS for k, each in enumerate(operands)]
    lines += [f"%n{each[1:]} = arith.negf {each} : {t}" for each in names[::4]]
    results = [*names, *(f"%n{each[1:]}" for each in names[::4])]
    body = "\n".join(lines)
    return hu.parse(f"""func.func @f(%x: {t}, %y: {t}, %z: {t}) -> ({", ".join([t] * len(results))}) {{
      %a = arith.mulf %x, %z : {t}
      %b = arith.divf %y, %z : {t}
      {body}
      return {", ".join(results)} : {", ".join([t] * len(results))}
    }}""")


def same(form: str, module: hu.Module, *arguments: Any) -> None:
    (marks, figures), (right, wanted) = run(form, module, *arguments), by_numpy(form, module, *arguments)
    assert figures == wanted
    for one, other in zip(marks, right, strict=True):
        assert np.array_equal(one.view(np.float64), other.view(np.float64), equal_nan=True)


def usual(count: int, seed: int) -> list[Any]:
    """Return numbers near 1, some of them twice or half another one, or the same."""
    rng = np.random.default_rng(seed)
    x, y, z = rng.uniform(0.5, 2, (3, count)) * rng.choice([-1.0, 1.0], (3, count))
    x[::7], x[1::7], x[2::7] = y[::7], -y[1::7] * z[1::7], 2 * y[2::7]
    x[3::11] *= 2.0**-12  # absorbed in formats with few bits
    return [x, y, z]


def unusual(type_: str, count: int, seed: int) -> list[Any]:
    """Return any codes, and those of zeros, of the least and of the largest numbers, of infinities and NaNs."""
    fmt = hu.float_format(type_)
    rng = np.random.default_rng(seed)
    top = 1 << fmt.bits - 1
    ends = [0, 1, 2, fmt.max_code, fmt.max_code - 1, *(1 << k for k in range(fmt.bits - 1))]
    ends += [each | top for each in ends]
    codes = rng.integers(0, 1 << fmt.bits, (3, count), np.uint64)
    some = rng.random((3, count)) < 0.3
    codes[some] = rng.choice(np.array(ends, np.uint64), int(some.sum()))
    return [hu.Value.from_bits(each.astype(fmt.storage_dtype), f"tensor<{count}x{type_}>") for each in codes]


@pytest.mark.long
@pytest.mark.parametrize(
    ("type_", "form"),
    thinned([("bf16", "f64"), ("f32", ""), ("f32", "f64"), ("f64", ""), ("f64", "f64"), ("bf16", "")], 6, rows=True),
)
def test_marks_and_figures(type_: str, form: str, taken: LoopCounts) -> None:
    """Most blocks are judged by loops: all but those with the largest errors."""
    count = 6 * BLOCK + 40
    same(form, program(type_, count), *(hu.convert(each, type_) for each in usual(count, 1)))
    if form and type_ == "f64":
        assert not taken.asked  # nothing is known of its results
    else:
        assert taken.asked == [count] * (2 + 5 * len(OPS))
        assert min(taken.judged) >= 3 * BLOCK


@pytest.mark.long
@pytest.mark.parametrize("form", thinned(["f64", ""], 2))
@pytest.mark.parametrize("type_", thinned(["f32", "f16", "f64", "f8E4M3FN", "f4E2M1FN"], 5))
def test_marks_and_figures_of_unusual_numbers(type_: str, form: str) -> None:
    """A block of each number alone, behind the block with the largest errors."""
    module = program(type_, 8 * BLOCK)
    for seed in range(3):
        ends = [hu.Value.from_bits(np.repeat(each.bits, BLOCK), f"tensor<{8 * BLOCK}x{type_}>") for each in
                unusual(type_, 8, seed)]  # fmt: skip
        same(form, module, *ends)


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", ["", "f64"])
@pytest.mark.parametrize("type_", ["f32", "bf16", "f16", "f64"])
def test_marks_and_figures_of_many_numbers(type_: str, form: str) -> None:
    count = 100_000
    same(form, program(type_, count), *(hu.convert(each, type_) for each in usual(count, 1)))
    module = program(type_, 2 * BLOCK)
    for each in zip(*(value.bits for value in unusual(type_, 200, 1)), strict=True):
        same(form, module, *(hu.Value.from_bits(np.repeat(code, 2 * BLOCK), f"tensor<{2 * BLOCK}x{type_}>")
                             for code in each))  # fmt: skip


# --- what is left to NumPy --------------------------------------------------------------------------------------------

ADD, MULTIPLY, DIVIDE = (Computes(rule, (F32, F32), F32) for rule in ("add", "multiply", "divide"))


def marked(numbers: Any, marks: Any = None, tag: int = 3, type_: str = "f32") -> Marked:
    fmt = FORMATS[type_]
    return Marked(fmt, hu.convert(np.asarray(numbers), type_).bits, marks, tag)


def marks_of(count: int, width: int, tag: int = 3) -> Any:
    """Return marks of small errors."""
    made = np.full((count, width), 2.0**-40)
    codes = made.view(np.uint64)
    codes[:, -1] = codes[:, -1] & ~np.uint64(LOW) | np.uint64(tag)
    return made.reshape(-1) if width == 1 else made.view(np.complex128).reshape(-1)


def judged(x: Marked, y: Marked, results: Marked, meaning: Computes, plain: bool) -> tuple[list[int], ShadowFigures]:
    """Return the blocks that a loop leaves, and the figures of the others."""
    out = np.empty(len(results.codes), np.float64 if plain else np.complex128)
    found = shadow_loops.judged(meaning, (x, y), results, plain, LOW, out)
    assert found is not None
    return [part.start // BLOCK for part in found[0]], found[1]


COUNT, AT = 2 * BLOCK + 9, BLOCK + 3
PLAIN = pytest.mark.parametrize("plain", [True, False])


def case(plain: bool) -> tuple[Any, Any, Any, Any]:
    """Return numbers, their results by a sum, and marks. The first block has all large errors, and is always left."""
    x, y, _ = usual(COUNT, 5)
    x[BLOCK:], y[BLOCK:] = 4.0, 2.0
    x, y = np.float32(x), np.float32(y)
    return x, y, x + y, marks_of(COUNT, 1 if plain else 2)


@pytest.mark.long
@PLAIN
def test_a_loop_judges_all_blocks_but_that_with_the_largest_errors(plain: bool) -> None:
    x, y, results, marks = case(plain)
    x[BLOCK:] = 2.0**-30
    results[BLOCK:] = 2.0
    left, found = judged(marked(x, marks), marked(y), marked(results), ADD, plain)
    assert left == [0]
    assert found.own.place is None  # of which NumPy finds the place
    assert found.absorbed == COUNT - BLOCK


@PLAIN
@pytest.mark.parametrize("which", ["x", "y"])
@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_numbers_that_are_not_finite(number: float, which: str, plain: bool) -> None:
    x, y, _, marks = case(plain)
    (x if which == "x" else y)[AT] = number
    assert judged(marked(x, marks), marked(y), marked(x + y), ADD, plain)[0] == [0, 1]


@PLAIN
def test_an_infinite_result(plain: bool) -> None:
    x, y, results, marks = case(plain)
    results[AT] = np.inf
    assert judged(marked(x, marks), marked(y), marked(results), ADD, plain)[0] == [0, 1]


@PLAIN
def test_a_quotient_by_zero(plain: bool) -> None:
    x, y, _, marks = case(plain)
    y[AT] = 0
    assert judged(marked(x, marks), marked(y), marked(x / y), DIVIDE, plain)[0] == [0, 1]


def test_a_divisor_that_may_be_zero(taken: LoopCounts) -> None:
    x, y, _, marks = case(False)
    marks[AT] = complex(0, marks_of(1, 2)[0].imag * 2.0**60)
    assert judged(marked(x), marked(y, marks), marked(x / y), DIVIDE, False)[0] == [0, 1]


@PLAIN
@pytest.mark.parametrize("which", ["x", "y"])
@pytest.mark.parametrize("tag", [0, 1, 2, 7, LOW])
def test_marks_of_another_format(tag: int, which: str, plain: bool) -> None:
    x, y, results, marks = case(plain)
    marks[AT] = marks_of(1, 1 if plain else 2, tag)[0]
    one, other = (marks, None) if which == "x" else (None, marks)
    assert judged(marked(x, one), marked(y, other), marked(results), ADD, plain)[0] == [0, 1]


@PLAIN
def test_marks_of_unknown_numbers(plain: bool) -> None:
    x, y, results, marks = case(plain)
    marks[AT] = np.nan if plain else complex(0, np.inf)
    for meaning in (ADD, Computes("maximum", (F32, F32), F32)):
        assert judged(marked(x, marks), marked(y), marked(results), meaning, plain)[0] == [0, 1]


def test_a_radius_that_is_too_large(taken: LoopCounts) -> None:
    x, y, results, marks = case(False)
    large = np.array([1e300])
    large.view(np.uint64)[:] = large.view(np.uint64) & ~np.uint64(LOW) | np.uint64(3)
    marks[AT] = complex(0, large[0])
    assert judged(marked(x, marks), marked(y), marked(results), ADD, False)[0] == [0, 1]


@PLAIN
def test_marks_of_exact_numbers_need_no_tag(plain: bool) -> None:
    x, y, results, marks = case(plain)
    marks[:] = 0
    assert judged(marked(x, marks), marked(y), marked(results), ADD, plain)[0] == [0]


@PLAIN
def test_results_that_are_flushed_and_sums_that_cancel(plain: bool) -> None:
    """The first such block has an infinite relative error, and is left; others are counted."""
    x, y, results, marks = case(plain)
    places = [AT, AT + BLOCK]
    y[places], results[places] = -x[places], 0
    left, found = judged(marked(x, marks), marked(y), marked(results), ADD, plain)
    assert left == [0, 1]
    assert (found.flushed, found.cancelled) == (0, F32.precision)
    x[places] = y[places] = 2.0**-100
    left, found = judged(marked(x), marked(y), marked(x * y), MULTIPLY, plain)
    assert left == [0, 1]
    assert (found.flushed, found.cancelled) == (1, 0)


def test_f64_whose_ulp_has_no_inverse() -> None:
    """But for zeros without an error."""
    x, y, _ = usual(COUNT, 5)
    x[BLOCK:] = y[BLOCK:] = 1.5
    meaning = Computes("multiply", (F64, F64), F64)
    x[AT] = 0.0

    def left() -> list[int]:
        one, other, product = (marked(each, None, 3, "f64") for each in (x, y, x * y))
        return judged(one, other, product, meaning, False)[0]

    assert left() == [0]
    x[AT] = 2.0**-1000
    assert left() == [0, 1]


def test_what_has_no_loop() -> None:
    numbers, wide = marked([1.0]), Marked(FORMATS["f128"], hu.convert(np.ones(1), "f128").bits, None, 3)
    exact, out = marked([1.0], type_="f64"), np.empty(1, np.complex128)
    assert shadow_loops.judged(Computes("exp", (F32,), F32), (numbers,), numbers, False, LOW, out) is None
    add = Computes("add", (wide.format,) * 2, F32)
    assert shadow_loops.judged(add, (wide, wide), numbers, False, LOW, out) is None
    assert shadow_loops.judged(Computes("add", (F64, F64), F64), (exact, exact), exact, True, LOW, out) is None


POISON = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.mulf %x, %x fastmath<nnan> : tensor<4xf32>
  %1 = arith.addf %0, %x : tensor<4xf32>
  return %1 : tensor<4xf32> }"""


@pytest.mark.parametrize("form", ["", "f64"])
def test_poison_is_left_to_numpy(form: str, taken: LoopCounts) -> None:
    module = hu.parse(POISON)
    same(form, module, hu.convert(np.array([1.1, np.nan, 1e-30, 3.3]), "f32"))
    assert not taken.asked
    same(form, module, hu.convert(np.array([1.1, 2.2, 1.3, 3.3]), "f32"))
    assert taken.asked == [4, 4]


def test_numpy_judges_where_it_is_chosen(taken: LoopCounts) -> None:
    llvm.use("numpy")
    run("", program("f32", 5000), *(hu.convert(each, "f32") for each in usual(5000, 1)))
    assert not taken.asked


@pytest.mark.long
@pytest.mark.parametrize("form", ["", "f64"])
def test_conversions_of_formats(form: str, taken: LoopCounts) -> None:
    """From one format to another: the tags differ."""
    module = hu.parse("""func.func @f(%x: tensor<9xf32>) -> (tensor<9xbf16>, tensor<9xf32>) {
      %0 = arith.mulf %x, %x : tensor<9xf32>
      %1 = arith.truncf %0 : tensor<9xf32> to tensor<9xbf16>
      %2 = arith.extf %1 : tensor<9xbf16> to tensor<9xf32>
      return %1, %2 : tensor<9xbf16>, tensor<9xf32> }""")
    same(form, module, hu.convert(usual(9, 1)[0], "f32"))
    assert taken.asked == [9] * 3


@pytest.mark.parametrize("form", ["", "f64"])
def test_overflow_to_the_largest_number(form: str, taken: LoopCounts) -> None:
    """It is counted, whatever else has a large error of its own."""
    count = 4 * BLOCK
    text = f"""func.func @f(%x: tensor<{count}xf32>) -> tensor<{count}xf6E3M2FN> {{
      %0 = arith.truncf %x : tensor<{count}xf32> to tensor<{count}xf6E3M2FN>
      return %0 : tensor<{count}xf6E3M2FN> }}"""
    x = np.full(count, 1.3, np.float32)
    x[3], x[2 * BLOCK + 1], x[3 * BLOCK] = 300.0, 33.0, -29.0
    found = [way(form, hu.parse(text), hu.convert(x, "f32"))[1][0].overflowed for way in (run, by_numpy)]
    # The largest number is 28, and its ulp 4: -29 rounds to -28.
    assert found == [2, 2]
    assert taken.asked
