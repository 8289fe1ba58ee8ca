"""Planned launches: a kernel that is launched again gives the bits and the errors of a launch without a plan."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tables import each_row
from triton_programs import PROGRAMS, arguments

import halfulp as hu
from halfulp.interp.dialects.triton import launching, plans


@pytest.fixture(autouse=True)
def in_machine_code_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first run of a plan be by kernels, and the next ones by machine code."""
    monkeypatch.setattr(plans, "_RUNS", 2)


UNPLANNED = {
    "histogram_atomic": "the addresses follow from what is loaded",
    "cuda100.ttgir": "tensor memory has no plan",
}
"""Programs and targets without a plan."""
Arrays = list[Any]


def turned(given: Arrays) -> Arrays:
    """Return other arguments of the same kind: the elements of each array in the reverse order."""
    return [np.array(each.reshape(-1)[::-1]).reshape(each.shape) if _is_array(each) else each for each in given]


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def copied(given: Arrays) -> Arrays:
    return [each.copy() if _is_array(each) else each for each in given]


def plans_of(module: Any) -> list[plans.Plan | None]:
    """Return the plans that a module keeps; None for a launch that has none."""
    return [
        plan
        for program in module.programs.values()
        for made in program._made.values()
        if isinstance(made, launching._Plans)
        for plan in made.known.values()
    ]


def check(load: Callable[[], Any], launches: Sequence[Arrays], grid: Any, planned: bool = True) -> None:
    """Launch a kernel several times, and compare with launches of which each is the first one."""
    module = load()
    for given in launches:
        again, first = copied(given), copied(given)
        hu.run(module, *again, grid=grid)
        hu.run(load(), *first, grid=grid)
        for one, other in zip(again, first, strict=True):
            assert not _is_array(one) or one.tobytes() == other.tobytes()
    assert any(plans_of(module)) == planned


ROWS = json.loads((PROGRAMS / "programs.json").read_text())
FORMS = [path.name.split(".", 1) for path in sorted(PROGRAMS.glob("*.tt*"))]


def check_program(name: str, form: str) -> None:
    given, grid = arguments(name)
    values = list(given.values())
    launches = [values, values, values, turned(values)]
    check(lambda: hu.load(PROGRAMS / f"{name}.{form}"), launches, grid, not {name, form} & UNPLANNED.keys())


@each_row(
    ("tile_sums", "ttir"), ("cumsum_rows", "cuda90.ttgir"), ("argmax_rows", "ttir"), ("matmul_f32_ieee", "gfx942.ttgir"),
)  # fmt: skip
def test_programs_of_people(name: str, form: str) -> None:
    check_program(name, form)


@pytest.mark.long
@pytest.mark.parametrize(("name", "form"), [(name, form) for name, form in FORMS if name in ROWS])
def test_all_programs_of_people(name: str, form: str) -> None:
    check_program(name, form)


# --- small kernels ----------------------------------------------------------------------------------------------------

KERNEL = """module {{
  tt.func public @k(%x: !tt.ptr<i32>, %y: !tt.ptr<i32>, %n: i32) {{
    %program = tt.get_program_id x : i32
    %c4 = arith.constant 4 : i32
    %first = arith.muli %program, %c4 : i32
    %lane = tt.make_range {{end = 4 : i32, start = 0 : i32}} : tensor<4xi32>
    %firsts = tt.splat %first : i32 -> tensor<4xi32>
    %i = arith.addi %firsts, %lane : tensor<4xi32>
    %ns = tt.splat %n : i32 -> tensor<4xi32>
    %mask = arith.cmpi slt, %i, %ns : tensor<4xi32>
    %xs = tt.splat %x : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
    %ys = tt.splat %y : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
    %from = tt.addptr %xs, %i : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
    %to = tt.addptr %ys, %i : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
    {body}
    tt.return
  }}
}}"""
LOAD = "%a = tt.load %from, %mask : tensor<4x!tt.ptr<i32>>\n"
STORE = "tt.store %to, %r, %mask : tensor<4x!tt.ptr<i32>>"
OTHER = LOAD.replace("%mask", "%mask, %ns")
DIVIDE = OTHER + "%r = arith.divsi %ns, %a : tensor<4xi32>\n" + STORE
AT_LOADED = """
    %q = tt.addptr %ys, %a : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
    tt.store %q, %a, %mask : tensor<4x!tt.ptr<i32>>"""
NEXT = """
    %one = arith.constant dense<1> : tensor<4xi32>
    %before = arith.subi %i, %one : tensor<4xi32>
    %zero = arith.constant dense<0> : tensor<4xi32>
    %later = arith.cmpi sge, %before, %zero : tensor<4xi32>
    %some = arith.andi %later, %mask : tensor<4xi1>
    %last = tt.addptr %ys, %before : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
    %b = tt.load %last, %some, %zero : tensor<4x!tt.ptr<i32>>
    %r = arith.addi %a, %b : tensor<4xi32>
    """
ONE_PLACE = "tt.store %ys, %a : tensor<4x!tt.ptr<i32>>"
ADD = (
    "%old = tt.atomic_rmw {kind}, acq_rel, gpu, %ys, {value} : "
    "(tensor<4x!tt.ptr<{type}>>, tensor<4x{type}>) -> tensor<4x{type}>"
)
BRANCH = """
    %s = tt.load %x : !tt.ptr<i32>
    %odd = arith.trunci %s : i32 to i1
    scf.if %odd {
      tt.store %to, %i, %mask : tensor<4x!tt.ptr<i32>>
    }"""


def kernel(body: str) -> Callable[[], Any]:
    return lambda: hu.parse(KERNEL.format(body=body))


def integers(*numbers: int) -> npt.NDArray[np.int32]:
    return np.array(numbers, np.int32)


X, ZEROS = integers(3, 1, 4, 1, 5, 2), np.zeros(6, np.int32)


@each_row(
    (DIVIDE, True),
    # The elements that the mask leaves out are poison.
    (LOAD + "%r = arith.addi %a, %i : tensor<4xi32>\n" + STORE, True),
    # A program reads what another one stored before an atomic op: the programs run in order.
    (LOAD + "%n0 = arith.constant dense<0> : tensor<4xi32>\n" + ADD.format(kind="add", value="%n0", type="i32") + NEXT + STORE, True),
    (LOAD.replace("%mask", "%mask, %i") + ADD.format(kind="add", value="%a", type="i32"), True),
    (LOAD.replace("%mask", "%mask, %i") + ADD.format(kind="exch", value="%a", type="i32"), True),
    (LOAD.replace("%mask", "%mask, %i") + ADD.format(kind="umax", value="%a", type="i32"), True),
    (LOAD.replace("%mask", "%mask, %i") + AT_LOADED, False),
    (BRANCH, False),
)  # fmt: skip
def test_small_kernels(body: str, planned: bool) -> None:
    given = [X, ZEROS, 6]
    check(kernel(body), [given, given, given, turned(given), given], 2, planned)


def test_atomic_additions_of_floats_keep_their_order() -> None:
    body = LOAD.replace("%mask", "%mask, %i") + "%f = tt.bitcast %a : tensor<4xi32> -> tensor<4xf32>\n"
    body += ADD.format(kind="fadd", value="%f", type="f32")
    text = KERNEL.format(body=body).replace("%y: !tt.ptr<i32>", "%y: !tt.ptr<f32>")
    text = text.replace("%y : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>", "%y : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>")
    text = text.replace(
        "%to = tt.addptr %ys, %i : tensor<4x!tt.ptr<i32>>", "%to = tt.addptr %ys, %i : tensor<4x!tt.ptr<f32>>"
    )
    x = np.array([1e8, 1.5, -1e8, 0.7, 1e-9, 2.5], np.float32)
    given = [x.view(np.int32), np.zeros(6, np.float32), 6]
    check(lambda: hu.parse(text), [given, given, given, turned(given)], 2)


def raised(module: Any, given: Arrays, grid: Any) -> str:
    with pytest.raises(hu.HalfulpError) as found:
        hu.run(module, *given, grid=grid)
    return str(found.value)


def test_errors_and_memory_are_those_of_a_launch_without_a_plan() -> None:
    load = kernel(DIVIDE)
    module = load()
    for _ in range(3):
        hu.run(module, X, ZEROS.copy(), 6, grid=2)
    assert any(plans_of(module))
    for x in (integers(3, 1, 4, 1, 0, 9), integers(0, 1, 4, 1, 5, 9)):
        for _ in range(4):
            y, other = ZEROS.copy(), ZEROS.copy()
            message = raised(module, [x, y, 6], 2)
            assert message == raised(load(), [x, other, 6], 2)
            assert "division by zero" in message
            assert f"(program [{0 if x[0] == 0 else 1}, 0, 0]" in message
            assert np.array_equal(y, other)
    hu.run(module, X, y := ZEROS.copy(), 6, grid=2)
    assert y.tolist() == [2, 6, 1, 6, 1, 3]


def test_what_a_plan_depends_on() -> None:
    """A launch with another number, grid, size or state of memory has no plan, or another one."""
    load = kernel(DIVIDE)
    module = load()
    for _ in range(2):
        hu.run(module, X, ZEROS.copy(), 6, grid=2)
    hu.run(module, X, y := ZEROS.copy(), 5, grid=2)
    assert y.tolist() == [1, 5, 1, 5, 1, 0]
    hu.run(module, X, y := ZEROS.copy(), 6, grid=1)
    assert y.tolist() == [2, 6, 1, 6, 0, 0]
    assert "outside of the 20 bytes" in raised(module, [X[:5], ZEROS.copy(), 6], 2)
    frozen = ZEROS.copy()
    frozen.flags.writeable = False
    assert "must not be written" in raised(module, [X, frozen, 6], 2)
    hu.run(module, y := X.copy(), y, 6, grid=2)
    assert y.tolist() == [2, 6, 1, 6, 1, 3]


def test_memory_that_overlaps_is_not_planned() -> None:
    load, whole = kernel(LOAD + "%r = arith.addi %a, %a : tensor<4xi32>\n" + STORE), np.arange(7, dtype=np.int32)
    module = load()
    for _ in range(3):
        both = [whole.copy(), whole.copy()]
        for each, arrays in zip((module, load()), both, strict=True):
            hu.run(each, arrays[:6], arrays[1:], 6, grid=2)
        assert np.array_equal(both[0], both[1])
    assert not plans_of(module)


def test_races_are_found_in_each_launch() -> None:
    load = kernel(LOAD.replace("%mask", "%mask, %i") + ONE_PLACE)
    module = load()
    for _ in range(2):
        hu.run(module, integers(7, 7, 7, 7), y := ZEROS.copy(), 4, grid=1)
        assert y[0] == 7
    assert "two elements are stored with different bits" in raised(module, [integers(7, 7, 8, 7), ZEROS.copy(), 4], 1)
    assert not any(plans_of(module))


@pytest.mark.triton
@pytest.mark.long
def test_random_kernels() -> None:
    from triton_random import TARGETS, arguments_of, compiled, functions_of, random_kernel

    numbers = range(300, 312)
    kernels = [random_kernel(number, number % 4 == 0) for number in numbers]
    functions = functions_of(kernels)
    planned = 0
    for number, each in zip(numbers, kernels, strict=True):
        for target in TARGETS:
            module = hu.parse(text := compiled(each, functions[each.name], target).ttgir)
            for seed in (0, 0, number, number + 1, 0):
                again, first = (arguments_of(each, seed) for _ in range(2))
                hu.run(module, *again, grid=1)
                hu.run(text, *first, grid=1)
                assert all(one.tobytes() == other.tobytes() for one, other in zip(again, first, strict=True))
            planned += any(plans_of(module))
    assert planned > len(numbers)
